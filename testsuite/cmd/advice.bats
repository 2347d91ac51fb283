#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# 33.22: the library of these tests follows each `next:` that a command prints.

load helper

# A command that ends with the status in the file `state`, and says what
# `advice.STATUS` has; its argument is the new state.
setup() {
	in_no_job
	unshare -m true 2>/dev/null || skip "may not mount"
	stub scr_state <<-'END'
		#!/bin/sh
		[ -z "$1" ] || [ "$1" = --verify ] || echo "$1" >state
		read -r now <state
		echo "state $now"
		[ ! -e "advice.$now" ] || cat "advice.$now"
		exit "$now"
	END
	echo 3 >state
}

# advises STATE COMMAND: what is named there.
advises() { echo "scr_state: next: $2" >"advice.$1"; }

# fails TEXT: to follow what is named fails the test, for this reason.
fails() {
	local said

	rm -f "$BATS_RUN_TMPDIR/seen."*
	said=$(try scr_state --verify 2>&1) && failed "nothing failed: $said"
	[[ $said == *$'\n'"$1" ]] || failed "expected: $1" "$said"
	[[ $(<state) == 3 ]] || failed "the state has changed"
}

@test "33.22: advice that leads to a good end, or to a clear stop" {
	advises 3 "scr_state 0"
	ends 3 scr_state --verify
	[[ $output == *"next: scr_state 0" && $(<state) == 3 ]]
	advises 3 "test -d $PWD/stub && scr_state 0"
	try env A=B scr_state --verify
	advises 3 "touch other && scr_state 3"
	try sh -c 'cat advice.3 >&2; rm advice.3; exit 4'
	[[ ! -e other ]]
}

@test "33.22: advice that is not good" {
	advises 3 "scr_state 1"
	fails "ends worse than it began"
	advises 3 "scr_state 4"
	fails "ends worse than it began"
	advises 3 "scr_state 2"
	fails "usage error"
	advises 3 "scr_missing"
	fails "cannot be run, or does not end"
	advises 3 "scr_state 3"
	fails "goes round"
	advises 3 "true"
	fails "is named again"
	advises 3 "scr_state 1 more"
	advises 1 "scr_state 3 more"
	fails "goes round"
	for n in 1 2 3 4 5 6; do
		advises $((n + 9)) "scr_state $((n + 10))"
	done
	advises 3 "scr_state 10"
	fails "more than 5 steps"
}

@test "33.22: what is advised changes nothing else" {
	mkdir "$BATS_FILE_TMPDIR/there"
	touch here
	there=$BATS_FILE_TMPDIR/there/file
	advises 3 "touch $there && rm here && scr_state 0"
	try scr_state --verify
	[[ -e here && ! -e $there ]]
	advises 3 "touch $TESTSUITE/file"
	fails "ends worse than it began"
	[[ ! -e $TESTSUITE/file ]]
}
