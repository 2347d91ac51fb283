#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034 # for tables
# What the configuration makes of a job: its descriptors and sets of ranks, its
# failure groups, its stores and their directories.  The numbers are those of the
# scenarios that all of libscr has to pass.

load helper

# configured: each line "SETTINGS|CONF;CONF...|MAP|PROGRAM|LINE;LINE...|WARNING;..." on
# stdin: with these lines in .scrconf, the program prints each LINE, and each WARNING
# once; others there are only if the last one is "...".
configured() {
	local settings conf map program wanted warnings all line row

	while IFS= read -r -u 7 row; do
		eval "row=\"${row//\"/\\\"}\""
		echo "$row"
		IFS='|' read -r settings conf map program wanted warnings <<<"$row"
		rm -rf "${NODES:?}"/* .scrconf
		IFS=';' read -ra all <<<"$conf"
		((${#all[@]} == 0)) || printf '%s\n' "${all[@]}" >.scrconf
		# shellcheck disable=SC2086 # words
		env_of "$settings" works "$map" $program
		IFS=';' read -ra all <<<"$wanted"
		for line in "${all[@]}"; do assert_line "$line"; done
		IFS=';' read -ra all <<<"$warnings"
		for line in "${all[@]}"; do [[ $line == ... ]] || warned "$line"; done
		[[ $warnings == *... || $(grep -c . <<<"$stderr") -eq ${#all[@]} ]] ||
			failed "other warnings"
	done 7<&0
}

# env_of SETTINGS COMMAND...: a function, in this environment.
env_of() {
	local word

	for word in $1; do local -x "${word?}"; done
	"${@:2}"
}

@test "descriptors and the sets of ranks (13, 14, 63)" {
	local file=SCR_COPY_TYPE=FILE xor="0/1 XOR(XOR1) 0,1"

	# SET_SIZE of each line counts.  Of two lines with OUTPUT=1, or with the same
	# word, the first counts.  Uneven nodes are protected as far as possible.  Unknown
	# names are left out; a store that all nodes share needs no redundancy.
	configured <<-'END'
		$file|CKPT=2 TYPE=PARTNER INTERVAL=4;CKPT=0 TYPE=XOR SET_SIZE=2;CKPT=1 TYPE=RS SET_FAILURES=1 OUTPUT=1 INTERVAL=2;CKPT=3 TYPE=XOR ENABLED=0|0 1 2 3|prefix levels|2: 0/1 XOR(XOR1) 2,3 1/2o XOR(XOR1) 0,1,2,3 2/4 PARTNER(PARTNER1) 0,1,2,3
		$file|CKPT=0 TYPE=XOR;CKPT=2 TYPE=SINGLE OUTPUT=1;CKPT=10 TYPE=PARTNER OUTPUT=1|0 1|prefix levels|0: $xor 10/1o PARTNER(PARTNER1) 0,1 2/1o SINGLE(SINGLE0) 0|CKPT=2: OUTPUT=1 is ignored: CKPT=10 has it, and sorts first as text
		$file|CKPT=0 TYPE=XOR;CKPT=1 TYPE=PARTNER INTERVAL=2;CKPT=0 TYPE=SINGLE SET_SIZE=2 OUTPUT=1|0 1 2 3|prefix levels|0: 0/1o XOR(XOR1) 0,1 1/2 PARTNER(PARTNER1) 0,1,2,3|/.scrconf:3: CKPT=0: line 1 has this word, too: only properties that it lacks are taken from here
		||0 0 1 1 2|prefix levels|4: 0/1 XOR(XOR1) 0,2,4;1: 0/1 XOR(XOR1) 1,3
		$file|CKPT=0 TYPE=XOR;CKPT=1 TYPE=RAID;CKPT=2 STORE=/nowhere;CKPT=3 GROUP=NONE;CKPT=4 TYPE=RS SET_FAILURES=9 SET_SIZE=4;CKPT=5 INTERVAL=0;CKPT=6 SET_SIZE=x;CKPT=7 TYPE=RAID ENABLED=0|0 1|prefix levels|0: $xor|CKPT=1: TYPE: "RAID";CKPT=2: STORE: "/nowhere": no such store;CKPT=3: GROUP: "NONE": no such group;CKPT=4: SET_FAILURES: 9;CKPT=5: INTERVAL;CKPT=6: SET_SIZE
		$file|CKPT=0 TYEP=SINGLE|0 1|app_calls init finalize||/.scrconf:1: CKPT=0: unknown property TYEP. did you mean TYPE?
		SCR_GROUP=NOSUCH|STORE=$SSD/x GROUP=NONE;CKPT=0 STORE=$SSD/x|0 1|prefix levels|0: $xor|SCR_GROUP: "NOSUCH": no such group: NODE is used;1 CKPT line is ignored: SCR_COPY_TYPE=FILE uses them;...
		$file|STORE=$SSD/x GROUP=NONE;CKPT=0 STORE=$SSD/x|0 1|prefix levels||CKPT=0: STORE: "$SSD/x": this store is not used;no usable CKPT line has INTERVAL=1: XOR is used;...
		$file||0 1|prefix levels|1: $xor|SCR_COPY_TYPE=FILE: no usable CKPT line has INTERVAL=1
		SCR_CACHE_BASE=$PREFIX/all|STORE=$PREFIX/all GROUP=WORLD|0 1|prefix levels|0: 0/1 SINGLE(SINGLE0) 0
	END
	for type in XOR PARTNER RS; do
		SCR_COPY_TYPE=$type works "0 0 0 1" prefix levels
		warned "2 of 4 ranks are not protected by $type"
		grep -q "^3: .* 0,3$" <<<"$output"
	done
}

@test "failure groups: ranks of one host, hosts with one value; what one host does not define" {
	configured <<-'END'
		||1 0 1 0|prefix groups|0: NODE=0/2 WORLD=0/1;1: NODE=1/2 WORLD=0/1;2: NODE=0/2 WORLD=0/1;3: NODE=1/2 WORLD=0/1
		|GROUPS=node0 POWER=a SWITCH=x;GROUPS=node1 POWER=a SWITCH=y;GROUPS=node2 POWER=b SWITCH=x;GROUPS=node2 CABLE=1|0 1 2|prefix groups|0: NODE=0/3 WORLD=0/1 POWER=0/2 SWITCH=0/2;1: NODE=1/3 WORLD=0/1 POWER=0/2 SWITCH=1/2;2: NODE=2/3 WORLD=0/1 POWER=2/2 SWITCH=0/2|...
		|GROUPS=node0 POWER=a RACK=1;GROUPS=node1 RACK=1|0 1 2|prefix groups|2: NODE=2/3 WORLD=0/1|group POWER: left out: no GROUPS line defines it for the host of rank 1;group RACK: left out: no GROUPS line defines it for the host of rank 2
		|GROUPS=node0 NODE=a WORLD=1;GROUPS=node1 NODE=a WORLD=2|0 1|prefix groups|1: NODE=1/2 WORLD=0/1|...
	END
}

@test "stores: without lines one, made on each node; STORE lines, and the bases that have none" {
	local own=$SSD/tester/scr.j1

	umask 027
	configured <<-'END'
		||0 0 1|prefix stores|0: $own 2 of 2 control;2: $own 2 of 1 control|...
	END
	[[ $(stat -c %a "$NODES/1/tester/scr.j1") == 750 ]]
	[[ $(stat -c %a "$NODES/0/tester") == 750 ]]
	configured <<-'END'
		|STORE=$SSD/a FLUSH=pthread;STORE=$SSD/b FLUSH=NOPE|0 1|prefix stores||STORE=$SSD/b: FLUSH: "NOPE": expected SYNC, .*the default is used
		|STORE=$SSD/a GROUP=NONE;STORE=$SSD/b COUNT=many;STORE=$SSD/c MKDIR=0;STORE=$SSD/d VIEW=GLOBAL MKDIR=0;STORE=d|0|prefix stores|0: $SSD/a off $SSD/b/tester/scr.j1 2 of 1 $SSD/c off $SSD/d off d off $own 2 of 1 control|store $SSD/a: not used: no such GROUP;STORE=$SSD/b: COUNT: .*the default is used;store d: not used: not an absolute path;store $SSD/d: not used: VIEW=GLOBAL needs MKDIR=1;...
		SCR_CNTL_BASE=$SSD/control|STORE=$SSD/a/ COUNT=7 GROUP=WORLD;STORE=$SSD COUNT=3;STORE=$SSD/off ENABLED=0|0 1|prefix stores|0: $SSD/a/tester/scr.j1 7 of 2 $own 3 of 1 $SSD/off off $SSD/control/tester/scr.j1 0 of 1 control|...
	END
	# One rank makes what all share.
	[[ -d $NODES/0/a/tester && ! -e $NODES/1/a && ! -e $NODES/0/off ]]
	# VIEW=GLOBAL: a directory for each node, numbered by host name.
	configured <<-'END'
		SCR_CACHE_BASE=$PREFIX/all|STORE=$PREFIX/all VIEW=GLOBAL GROUP=WORLD|3 1 3|prefix stores|0: $PREFIX/all/tester/scr.j1/node.1 2 of 2 $own 0 of 2 control;1: $PREFIX/all/tester/scr.j1/node.0 2 of 1 $own 0 of 1 control|...
	END
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
	line "restart ckpt.1" works "0 1 1" app_restart 0
}

@test "a store that one node cannot make is disabled on all" {
	mkdir -p "$NODES/1"
	echo >"$NODES/1/file"
	echo "STORE=$SSD/file" >.scrconf
	works "0 1" prefix stores
	assert_line "0: $SSD/file off $SSD/tester/scr.j1 2 of 1 control"
	assert_line "1: $SSD/file off $SSD/tester/scr.j1 2 of 1 control"
	warned "store $SSD/file: not used: node1: "
}

@test "a link in place of the user's directory is refused" {
	mkdir -p "$NODES/0" "$PREFIX/elsewhere"
	ln -s "$PREFIX/elsewhere" "$NODES/0/tester"
	job "0" prefix stores
	((status != 0)) || failed "it began"
	grep -q "tester: a link or a file, expected a directory" <<<"$stderr"
	grep -q "ABORT: .*no control directory can be made" <<<"$stderr"
	[[ -z $(ls "$PREFIX/elsewhere") ]]
}
