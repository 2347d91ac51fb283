#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The stores of a job and their directories.

load helper

@test "without lines there is one, made on each node for the user's group" {
	umask 027
	works "0 0 1" parts stores
	assert_line "0: $SSD/tester/scr.j1 2 of 2 control"
	assert_line "2: $SSD/tester/scr.j1 2 of 1 control"
	[[ $(stat -c %a "$NODES/1/tester/scr.j1") == 750 ]]
	[[ $(stat -c %a "$NODES/0/tester") == 750 ]]
}

@test "STORE lines, and the bases that have none" {
	printf '%s\n' "STORE=$SSD/a/ COUNT=7 GROUP=WORLD" \
		"STORE=$SSD COUNT=3" "STORE=$SSD/off ENABLED=0" >.scrconf
	export SCR_CNTL_BASE=$SSD/control
	works "0 1" parts stores
	assert_line "0: $SSD/a/tester/scr.j1 7 of 2 $SSD/tester/scr.j1 3 of 1 \
$SSD/off off $SSD/control/tester/scr.j1 0 of 1 control"
	# One rank makes what all share.
	[[ -d $NODES/0/a/tester && ! -e $NODES/1/a && ! -e $NODES/0/off ]]
}

@test "VIEW=GLOBAL: a directory for each node, numbered by host name" {
	echo "STORE=$PREFIX/all VIEW=GLOBAL GROUP=WORLD" >.scrconf
	export SCR_CACHE_BASE=$PREFIX/all
	works "3 1 3" parts stores
	assert_line "0: $PREFIX/all/tester/scr.j1/node.1 2 of 2 \
$SSD/tester/scr.j1 0 of 2 control"
	assert_line "1: $PREFIX/all/tester/scr.j1/node.0 2 of 1 \
$SSD/tester/scr.j1 0 of 1 control"
	[[ -d all/tester/scr.j1/node.0 && -d all/tester/scr.j1/node.1 ]]
}

@test "33.20: one directory for all nodes: its cause and its cure" {
	export SCR_CACHE_BASE=$PREFIX/all
	job "0 1 1" app_restart 1
	[[ $status -ne 0 ]]
	warned "SCR_Init: $SCR_CACHE_BASE: .* in $PREFIX/.scrconf: STORE="
	sed -n 's/.*: \(STORE=.*\)/\1/p' <<<"$stderr" >.scrconf
	[[ -z $(find all -type f) ]]
	works "0 1 1" app_restart 1
	works "0 1 1" app_restart 0
	assert_line "restart ckpt.1"
}

@test "a store that one node cannot make is disabled on all" {
	mkdir -p "$NODES/1"
	echo >"$NODES/1/file"
	echo "STORE=$SSD/file" >.scrconf
	works "0 1" parts stores
	assert_line "0: $SSD/file off $SSD/tester/scr.j1 2 of 1 control"
	assert_line "1: $SSD/file off $SSD/tester/scr.j1 2 of 1 control"
	warned "store $SSD/file: not used: node1: "
}

@test "a link in place of the user's directory is refused" {
	mkdir -p "$NODES/0" "$PREFIX/elsewhere"
	ln -s "$PREFIX/elsewhere" "$NODES/0/tester"
	job "0" parts stores
	assert_status 1
	grep -q "tester: a link or a file, expected a directory" <<<"$stderr"
	grep -q "failed: .*no control directory can be made" <<<"$stderr"
	[[ -z $(ls "$PREFIX/elsewhere") ]]
}

@test "FLUSH is a word that SCR_FLUSH_TYPE may have; unknown groups and values, MKDIR=0" {
	printf '%s\n' "STORE=$SSD/a FLUSH=pthread" "STORE=$SSD/b FLUSH=NOPE" \
		>.scrconf
	works "0 1" parts stores
	[[ $(grep -c "STORE=$SSD/b: FLUSH: \"NOPE\": expected SYNC, .*the default is used" \
		<<<"$stderr") -eq 1 && $(wc -l <<<"$stderr") -eq 1 ]] ||
		failed "one warning"
	printf '%s\n' "STORE=$SSD/a GROUP=NONE" "STORE=$SSD/b COUNT=many" \
		"STORE=$SSD/c MKDIR=0" "STORE=$SSD/d VIEW=GLOBAL MKDIR=0" \
		"STORE=d" >.scrconf
	works "0" parts stores
	assert_line "0: $SSD/a off $SSD/b/tester/scr.j1 2 of 1 $SSD/c off \
$SSD/d off d off $SSD/tester/scr.j1 2 of 1 control"
	grep -q "store $SSD/a: not used: no such GROUP" <<<"$stderr"
	grep -q "STORE=$SSD/b: COUNT: .*the default is used" <<<"$stderr"
	grep -q "store d: not used: not an absolute path" <<<"$stderr"
	grep -q "store $SSD/d: not used: VIEW=GLOBAL needs MKDIR=1" <<<"$stderr"
}
