#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2164 # plain names
# scr_halt: conditions set, listed, removed; damaged files; the file shared with
# a running job; --immediate.

load helper

setup() {
	in_no_job
	mkdir p
	FILE=$PWD/p/.scr/halt.scr
}

# The settings of prefix $1, without the heading.
settings() {
	scr_halt --list "${1:-p}" | sed 1d
}

settings_are() { prints "$1" settings "${@:2}"; }

@test "what makes no sense is refused, and nothing is written" {
	for bad in '-c x' '-c -1' '-c 1.5' '-c 2147483648' '-b soonish' \
		'-a 25:00' '-s never' '-s 2147483648' '--remove -c 1' \
		'-r --immediate' '-c 1 --unset-checkpoints' '--force -l' \
		'--grace 5' '--pid 77' '--job-id 5 -l' \
		'-i --pid 1' '-i --pid 77 --job-id 5' \
		'-i --unset-reason' '--frobnicate' '-c'; do
		# shellcheck disable=SC2086 # words
		misused '' scr_halt p $bad
		[[ ! -e p/.scr ]] || failed "$bad made something"
	done
	misused --reason scr_halt p --reason ''
	misused "--before;2026-13-01T00:00:00" scr_halt p -b '2026-13-01T00:00:00'
	complains 2 "--pid" scr_halt -i p
	complains 2 "--pid" scr_halt -i p --resource-manager pbs --job-id 5
	assert_stderr_lacks "--job-id"
	complains 2 quux scr_halt -i p --resource-manager quux
	[[ ! -e p/.scr ]]
}

@test "the prefix with and without --prefix; several, blanks and quotes; the default" {
	ends 0 scr_halt -p p -c 3
	[[ $(settings p) == *3* ]] || failed "$(settings p)"
	[[ $(scr_halt --list -p p) == "$(scr_halt --list p)" ]]
	SCR_PREFIX=$PWD/nothing scr_halt --prefix=p --remove
	[[ ! -e p/.scr/halt.scr ]]
	misused '' scr_halt -p p p
	mkdir q
	scr_halt -q p q -c 2
	[[ -e $FILE && -e q/.scr/halt.scr ]]
	complains 1 "none: cannot open the prefix directory" scr_halt -l p none q
	assert_output_has "for $FILE:" "for $PWD/q/.scr/halt.scr:"
	scr_halt -q -c 3
	[[ -e .scr/halt.scr ]]
	SCR_PREFIX=$PWD/q scr_halt -q -c 4
	settings_are "  CheckpointsLeft: 4" q
	mkdir "a 'b\$c"
	scr_halt -q "a 'b\$c" -c 1
	run settings "a 'b\$c"
	assert_output_is "  CheckpointsLeft: 1"
}

@test "without a condition: after the next checkpoint, before the first run; zero is zero" {
	complains 0 "no job has run with this prefix yet" scr_halt p
	assert_output_is "Setting ExitReason

Halt file settings for $FILE:
  ExitReason:      JOB_HALTED"
	[[ $(stat -c %a "$FILE") == 644 ]]
	scr_halt -q --remove p
	scr_halt -q p -c 0 -s 0
	settings_are "  CheckpointsLeft: 0
  HaltSeconds:     0"
}

@test "conditions combine, options after directories are options" {
	scr_halt -q p --checkpoints 10
	scr_halt -q p --before 2033-05-18T03:33:20
	scr_halt p --quiet -R 'disk full' -s 1h
	settings_are "  ExitReason:      disk full
  CheckpointsLeft: 10
  ExitBefore:      Wed May 18 03:33:20 2033
  HaltSeconds:     3600
  ExitBefore - HaltSeconds: Wed May 18 02:33:20 2033"
	scr_halt -q p --unset-reason --unset-before -c 3
	settings_are "  CheckpointsLeft: 3
  HaltSeconds:     3600"
}

@test "the times that the guide promises, and those beyond 2038" {
	scr_halt -q p -a '12:00pm today'
	shows "$(date +%Y);12:00:00" settings
	scr_halt -q p -a '8:30am tomorrow'
	shows "$(LC_ALL=C date -d tomorrow '+%a %b %e') 08:30:00" settings
	now=$(date +%s)
	scr_halt -q p -a now+2h
	soon=$(date -d "$(scr_halt -l --json p |
		jq -r '.prefixes[0].exit_after')" +%s)
	((soon >= now + 7200 && soon <= now + 7205))
	scr_halt -q p -a 'in 30m'
	scr_halt -q p -a 2138-11-19T09:46:40
	settings_are "  ExitAfter:       Wed Nov 19 09:46:40 2138"
	shows "$(date -d 2138-11-19T09:46:40 +%s)" scr_inspect -m tree "$FILE"
}

@test "setting and listing together, a dry run, quiet" {
	shows "Would set CheckpointsLeft;Nothing was changed;CheckpointsLeft: 7" \
		scr_halt -n -c 7 p
	assert_output_lacks Setting
	[[ ! -e p/.scr ]]
	mkdir p/.scr
	touch p/.scr/nodes.scr # a job has run
	calm scr_halt -l -c 7 p
	assert_output_has "Setting CheckpointsLeft" "CheckpointsLeft: 7"
	prints "" scr_halt -q -c 8 p
	assert_stderr_empty
	complains 0 "would be removed" scr_halt -n -r p
	[[ -e $FILE ]]
}

@test "the file is removed; a missing one is no error; nothing to unset: none is made" {
	scr_halt -q p
	calm scr_halt --remove p
	[[ ! -e $FILE ]]
	complains 0 "p: no halt file" scr_halt --remove p
	shows "  None" scr_halt -r -l p
	rm -r p/.scr
	shows "  None" scr_halt p --unset-reason
	[[ ! -e p/.scr ]]
}

@test "a list of nothing, and JSON" {
	ends 0 scr_halt -l p
	assert_output_is "Halt file settings for $FILE:
  None"
	[[ ! -e p/.scr ]]
	scr_halt -q p -b 2033-05-18T03:33:20 -s 600
	ends 0 scr_halt --json -l p
	printf '%s' "$output" | perl -MJSON::PP -e '
		my $all = decode_json(join "", <STDIN>);
		my $p = $$all{prefixes}[0];
		$$p{prefix} eq "p" && $$p{exists} && !$$p{due} &&
			$$p{exit_before} eq "2033-05-18T03:33:20Z" &&
			$$p{stop_at} eq "2033-05-18T03:23:20Z" &&
			!defined $$p{reason} && !defined $$p{damage} &&
			@{$$p{met}} == 0 or die;'
	scr_halt -q p -c 0
	shows "HALT RUN: No checkpoints remaining." scr_halt -lv p
}

@test "a damaged file is reported, means stop, and changes only by force" {
	mkdir p/.scr
	echo junk >"$FILE"
	ends 3 scr_halt -l p
	assert_output_is "Halt file settings for $FILE:
  Damaged"
	assert_stderr_one_line "$FILE: damaged" "will stop" "--remove" "--force"
	ends 3 scr_halt -l --json p
	assert_output_has '"due": true' '"damage": "not a kvtree file'
	complains 1 "$FILE: damaged;--force" scr_halt -c 5 p
	[[ $(cat "$FILE") == junk ]]
	ends 0 scr_halt -c 5 --force p
	[[ $(cat "$FILE.bak") == junk ]]
	settings_are "  CheckpointsLeft: 5"
	echo junk >"$FILE"
	ends 0 scr_halt -r p
	[[ ! -e $FILE ]]
}

@test "a value that is none is damage; force replaces it" {
	scr_halt -q p
	scr_inspect -m tree "$FILE" | sed 's/ExitReason/ExitBefore/; s/JOB_HALTED/soon/' |
		craft "$FILE"
	complains 3 "damaged;ExitBefore: not a number" scr_halt -l p
	complains 1 "so it is not changed: ExitBefore" scr_halt -c 1 p
	ends 0 scr_halt -c 1 -f p
	settings_are "  CheckpointsLeft: 1"
}

@test "what is no file, or another user's" {
	mkdir p/.scr
	ln -s "$PWD/none/x" "$FILE"
	for how in -l "-c 1"; do
		# shellcheck disable=SC2086 # words
		complains 1 "p/.scr/halt.scr: is a symbolic link" scr_halt $how p
	done
	calm scr_halt -r p # the link itself
	[[ ! -L $FILE ]]
	mkdir "$FILE"
	complains 3 "$FILE: damaged;not a regular file" scr_halt -l p
	complains 1 p/.scr/halt.scr scr_halt -c 1 p
	rm -d "$FILE" p/.scr
	: >p/.scr
	complains 1 p/.scr: scr_halt -l p
	complains 1 p/.scr: scr_halt -c 1 p
	complains 1 "none: cannot open the prefix" scr_halt -r none
	become 65534
	rm p/.scr
	scr_halt -q p
	chmod 444 "$FILE"
	chmod 555 p/.scr
	shows JOB_HALTED "${as[@]}" scr_halt -l p
	complains 1 "p/.scr/halt.scr;Permission denied" "${as[@]}" scr_halt -c 1 p
}

@test "a full disk is reported, and leaves no partial file" {
	privately && return
	mkdir small
	mount -t tmpfs -o size=4k none small
	head -c 4096 /dev/zero >small/fill
	complains 1 "small/.scr/halt.scr;No space left" scr_halt small -c 1
	[[ -z $(ls small/.scr) ]]
}

# The job's library may lock by fcntl(), too.
@test "two commands and a running job lose no changes" {
	local rounds=12 start=1000000 option i pids

	[[ -z ${SCRKIT_SLOW-} ]] || rounds=1000
	for option in "" --fcntl; do
		pids=()
		scr_halt -q p -c "$start"
		"$GEN/gen_halt_update" ${option:+"$option"} --rounds "$rounds" "$FILE" &
		pids+=($!)
		for ((i = 1; i <= rounds; i++)); do
			scr_halt -q p -b "@$((2000000000 + i))" || exit 1
			scr_halt -l p >b.txt || exit 1
			grep -q "ExitBefore: .*$(date -d "@$((2000000000 + i))" +%T)" \
				b.txt || exit 1
		done &
		pids+=($!)
		for ((i = 1; i <= rounds; i++)); do
			scr_halt -q p -s "$i" || exit 1
			scr_halt -l p >s.txt || exit 1
			grep -q "HaltSeconds: *$i\$" s.txt || exit 1
		done &
		pids+=($!)
		for i in "${pids[@]}"; do
			wait "$i" || failed "one of three lost something"
		done
		shows "CheckpointsLeft: $((start - rounds));HaltSeconds:     $rounds" \
			settings
		shows "$((2000000000 + rounds))" scr_inspect -m tree "$FILE"
	done
}

# (bats uses $i itself.)
@test "killed at any moment, the file is old or new, or reported as damaged" {
	scr_halt -q p -c 1000
	for ((round = 0; round < 15; round++)); do
		bash -c 'timeout -s KILL "0.00$1" scr_halt -q p -c "$2"' - \
			"$((1 + round % 9))" "$round" 2>/dev/null || true
		try scr_halt -l p
		((status == 0 || status == 3)) || failed "status"
		((status == 0)) || scr_halt -q -f p -c 0
	done
	scr_halt -q p -c 5
}

# Mock commands of SLURM: a step is a file in steps/ that contains the signal
# that ends it.
slurm() {
	mkdir -p bin steps
	cat >bin/squeue <<-'END'
		#!/bin/sh
		[ "$*" = "-h -s -j 77 -o %i" ] || exit 1
		ls "${0%/*}/../steps"
	END
	cat >bin/scancel <<-'END'
		#!/bin/sh
		cd "${0%/*}/.." || exit 1
		echo "$*" >>calls
		sig=${1#--signal=}
		shift
		cat p/.scr/halt.scr >halt.seen 2>/dev/null
		for id; do
			if grep -q "$sig" "steps/$id"; then rm "steps/$id"; fi
		done
	END
	chmod +x bin/*
	PATH=$PWD/bin:$PATH
	echo TERM >steps/77.0
	touch steps/77.batch steps/77.extern
	export SLURM_JOB_ID=77
}

@test "--immediate writes the condition, then stops the steps" {
	slurm
	warns 0 "stopping step 77.0;stopped 1 step;allocation" scr_halt -i p
	assert_output_has "ExitReason:      JOB_HALTED"
	prints $'77.batch\n77.extern' ls steps
	[[ $(cat calls) == "--signal=TERM 77.0" ]]
	cmp halt.seen "$FILE" # written before the signal
	complains 0 "no process of the job is running" scr_halt -i p
}

@test "--immediate does not stop a job that would be restarted" {
	slurm
	mkdir p/.scr
	echo junk >"$FILE"
	warns 1 "--force;was not stopped" scr_halt -i p
	[[ -e steps/77.0 && ! -e calls ]]
	warns 0 "would stop step 77.0" scr_halt -i --dry-run -f p
	[[ -e steps/77.0 && $(cat "$FILE") == junk ]]
}

@test "--immediate, but the resource manager refuses" {
	slurm
	printf '#!/bin/sh\necho "scancel: error: Access denied" >&2\nexit 1\n' \
		>bin/scancel
	ends 1 scr_halt -i --grace 1 p
	assert_stderr_has "Access denied" "the halt condition stays set" \
		"a reason holds only until a job calls SCR_Finalize"
	attempt settings
	assert_output_has JOB_HALTED # everything possible was done
}

@test "--immediate with --pid: a process here, and those it started" {
	setsid -w bash -c 'echo $$ >pid; sleep 60 & wait' &
	until [[ -s pid ]]; do sleep 0.05; done
	pid=$(cat pid)
	ends 0 scr_halt -i --pid "$pid" --grace 5 p
	assert_stderr_has "stopping process $pid" "stopped 1 process"
	run kill -0 "$pid"
	((status != 0))
	ends 1 scr_halt -i --pid "$pid" p
	assert_stderr_has "process $pid: no such process" "the halt condition stays set"
}

@test "large numbers are exact, or refused" {
	try scr_halt -a 2138-11-19T09:46:40 p
	assert_output_has "ExitAfter:       Wed Nov 19 09:46:40 2138"
	try scr_retries_halt --dir p
	assert_status 1 # not yet
	# 4294967297 must not be truncated to 1.
	misused 4294967297 scr_halt -c 4294967297 p
	misused 4294967297 scr_flush_file --dir p --location 4294967297
	misused 4294967297 scr_index -p p --build 4294967297
}
