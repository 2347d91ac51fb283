#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2164
# The halt file in a session of LLNL's tool: after each of our commands the file
# has the same bytes, and the listing is the same.

load golden

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir p
	FILE=$PWD/p/.scr/halt.scr
	GOLD=$(golden scr3/halt)
}

# The output of LLNL's tool for command N, without its exit status.
theirs() {
	awk -v n="$1" '/^\$ / { step++; next } /^rc=/ { next } step == n' \
		"$GOLD/session.txt"
}

# step N OPTION...: our command prints what theirs did, except for the path, and
# leaves the same file.
step() {
	local n=$1

	shift
	prints "$(theirs "$n" | sed "s,for halt\.scr:,for $FILE:,")" scr_halt p "$@"
	[[ ! -e $GOLD/step_$n.halt.scr ]] ||
		cmp "$FILE" "$GOLD/step_$n.halt.scr"
}

@test "every step of the session" {
	step 1 -l
	[[ ! -e $FILE ]]
	step 2 -c 5
	step 3 -b @2000000000
	step 4 -a @1900000000
	step 5 -s 10m
	step 6
	step 7 --list
	step 8 --unset-checkpoints
	step 9 --unset-seconds
	step 10 --unset-after --unset-before
	step 11 --unset-reason
	step 12 -c 10 -b 2033-05-18T03:33:20 -a @1900000000 -s 30 \
		-R 'reason with spaces'
}

# Our command does not write what theirs took for a number, but shows it as they
# do.
@test "values that we refuse to write can be read" {
	mkdir -p p/.scr
	cp "$GOLD/step_12.halt.scr" "$FILE"
	for bad in -1 abc; do
		misused "$bad" scr_halt p -c "$bad"
		cmp "$FILE" "$GOLD/step_12.halt.scr"
	done
	for n in 13 14; do
		cp "$GOLD/step_$n.halt.scr" "$FILE"
		ends 0 scr_halt p -l
		assert_output_is "$(theirs "$n" | sed -n '/^Halt file/,$p' |
			sed "s,for halt\.scr:,for $FILE:,")"
	done
	step 16 -l
}
