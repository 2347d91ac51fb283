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
	ends 0 scr_halt p "$@"
	assert_output_is "$(theirs "$n" | sed "s,for halt\.scr:,for $FILE:,")"
	[[ ! -e $GOLD/step_$n.halt.scr ]] ||
		cmp "$FILE" "$GOLD/step_$n.halt.scr"
}

@test "every step of the session" {
	step 1 -l
	[[ ! -e $FILE ]]
	step 2 -c 5
	step 3 -b @2000000000
	step 4 -a 2030-03-17T17:46:40
	step 5 -s 600
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

# In LLNL's file, a condition that is set moves to the front.
@test "each step, starting with LLNL's file" {
	local n

	for n in 3 4 5 8 9 10 11; do
		mkdir -p p/.scr
		cat "$GOLD/step_$((n - 1)).halt.scr" >"$FILE"
		case $n in
		3) step 3 -b @2000000000 ;;
		4) step 4 -a @1900000000 ;;
		5) step 5 -s 10m ;;
		8) step 8 --unset-checkpoints ;;
		9) step 9 --unset-seconds ;;
		10) step 10 --unset-after --unset-before ;;
		11) step 11 --unset-reason ;;
		esac
	done
}

@test "the halt files of all golden runs are listed" {
	local file

	while IFS= read -r file; do
		rm -rf q
		mkdir -p q/.scr
		cp "$file" q/.scr/halt.scr
		shows "ExitReason:      SCR_FINALIZE_CALLED" scr_halt q -l
	done < <(find "$(golden scr3)" -path '*/.scr/halt.scr' | head -n 20)
}
