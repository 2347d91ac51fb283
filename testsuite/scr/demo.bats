#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# `make demo`, and that it notices when something is not as it tells.

load helper

setup() {
	job_setup
	not_sanitized "applications are built without"
	unset "${!SCR_@}"
	tree=$(cd "$MPI/.." && pwd)
	mkdir "$BATS_TEST_TMPDIR/bin"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# A command that the demo finds before the real one.
stand_in() {
	cat >"$BATS_TEST_TMPDIR/bin/$1"
	chmod +x "$BATS_TEST_TMPDIR/bin/$1"
}

# demo [TMPDIR]
demo() {
	TMPDIR=${1-$BATS_TEST_TMPDIR} try timeout -k 5 300 \
		"$TESTSUITE/../scripts/demo.sh" "$tree" </dev/null 3>&-
	[[ -z $(find "$BATS_TEST_TMPDIR" -name 'scrkit-demo.*') ]] ||
		failed "it left its directory behind"
}

@test "two nodes die, and the result is the same" {
	demo
	assert_status 0
	assert_stderr_empty
	assert_output_has "node[2,4]: ssh: connect to host" "2 of 5 nodes dead" \
		"3 of 5 nodes dead" \
		"nodes/5/tester/scr.1000" "The result of these three runs is"
	[[ $(grep -c "^heat: restarts from ckpt" <<<"$output") -eq 2 ]]
}

@test "a file that differs ends it" {
	# The file on the spare node differs.
	stand_in cmp <<-'END'
	#!/bin/sh
	case $1 in
	*/nodes/5/*) echo "$1 differs" && exit 1 ;;
	esac
	exec /usr/bin/cmp "$@"
	END
	demo
	assert_status 1
	assert_stderr_has "rod.1 differs from that of the undisturbed job"
	assert_output_lacks "5. The machine"
}

@test "without namespaces it says what it leaves out; 33.E a blank in TMPDIR" {
	stand_in unshare <<-'END'
	#!/bin/sh
	exit 1
	END
	mkdir "$BATS_TEST_TMPDIR/a b"
	demo "$BATS_TEST_TMPDIR/a b"
	assert_status 0
	assert_output_has "The tour leaves out the death of nodes" \
		"The result of these three runs is"
	assert_output_lacks "nodes dead" "node 2"
}
