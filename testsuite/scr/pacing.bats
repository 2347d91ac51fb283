#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# SCR_Need_checkpoint, SCR_Should_exit and the conditions to stop (scenarios 55
# and 56).

load helper

# The flags that a call returned, as "0 0 1".
flags() {
	awk -v call="$1" '$1 == call { print $4 }' <<<"$output" | paste -sd ' '
}

# answers CALL FLAGS: these, and the job ended by itself.
answers() {
	assert_status 0
	[[ $(flags "$1") == "$2" ]] || failed "$1: $(flags "$1")"
	grep -qx end <<<"$output" || failed "no end"
}

# leaves TEXT REASON: the job ended early, with status 0, this message, and this
# reason in the halt file.
leaves() {
	assert_status 0
	! grep -qx end <<<"$output" || failed "it went on"
	warned "rank 0 on node0: Job exiting: "
	grep -qE "Job exiting: $1\$" <<<"$stderr" || failed "expected: $1"
	reason "$2"
}

# reason TEXT: that in the halt file.
reason() {
	try scr_inspect -m keyval .scr/halt.scr
	grep -q "ExitReason = $1\$" <<<"$output" || failed "reason: $1"
}

@test "each third call; after some seconds; by what checkpoints cost; never (55)" {
	SCR_CHECKPOINT_INTERVAL=3 job "0 1" app_ckpt need=1 steps=7
	answers need "0 0 1 0 0 1 0"
	SCR_CHECKPOINT_SECONDS=1 job "0 1" app_ckpt need=1 steps=5 pause=400
	answers need "0 0 1 0 0"
	SCR_CHECKPOINT_OVERHEAD=50 works "0 1" app_ckpt need=1 steps=3 pause=600
	[[ $(flags need) == "1 "* ]] || failed "the first: $(flags need)"
	# A cost that time has not outweighed yet.
	SCR_CHECKPOINT_OVERHEAD=0.0001 job "0 1" app_ckpt need=1 steps=3
	answers need "1 0 0"
	job "0 1" app_ckpt need=1 steps=3 exit=1
	answers need "0 0 0"
	[[ $(flags exit) == "0 0 0" ]] || failed "exit"
}

@test "a condition to stop: checkpoint and leave, as the application likes" {
	try scr_halt "$PREFIX" --reason MYREASON
	job "0 1" app_ckpt need=1 exit=1 steps=3
	answers need 1
	[[ $(flags exit) == 1 ]] || failed "exit: $(flags exit)"
	[[ $stderr != *"Job exiting"* ]] || failed "message"
}

@test "a reason in the halt file (56a)" {
	try scr_halt --reason MYREASON "$PREFIX"
	SCR_HALT_EXIT=1 job "0 1" app_ckpt steps=3
	leaves 'Reason: MYREASON\.' MYREASON
	[[ $output != *"init 0"* && $output != *"start 1"* ]] || failed "Init"
}

@test "CheckpointsLeft counts checkpoints, not output (56b)" {
	try scr_halt --checkpoints 2 "$PREFIX"
	SCR_HALT_EXIT=1 job "0 1" app_ckpt steps=9 flags=1 flags2=2
	leaves 'No more checkpoints remaining\.' NO_CHECKPOINTS_LEFT
	[[ $output != *"complete 3"* ]] || failed "step 3 returned"
	[[ $(find "$NODES/0" -maxdepth 3 -name 'scr.dataset.3' | wc -l) -eq 1 ]] ||
		failed "the second checkpoint"
	# Without SCR_HALT_EXIT the application is told.
	rm .scr/halt.scr
	try scr_halt --checkpoints 2 "$PREFIX"
	job "0 1" app_ckpt steps=9 exit=1
	answers exit "0 1"
	try scr_inspect -m keyval .scr/halt.scr
	[[ $output == *"CheckpointsLeft = 0"* ]] || failed "count"
}

@test "a checkpoint that fails does not count" {
	try scr_halt --checkpoints 1 "$PREFIX"
	job "0 1" app_ckpt steps=1 exit=1 invalid=0
	answers exit 0
}

@test "the end of the allocation (56c)" {
	export SCR_END_TIME SCR_HALT_EXIT=1
	SCR_END_TIME=$(($(date +%s) + 50))
	SCR_HALT_SECONDS=100 job "0 1" app_ckpt
	leaves 'Reached time limit: \(seconds remaining = [45][0-9]\) <= \(SCR_HALT_SECONDS = 100\)\.' \
		TIME_LIMIT
	rm .scr/halt.scr
	SCR_HALT_SECONDS=10 job "0 1" app_ckpt exit=1
	answers exit 0
	# What the halt file says counts.
	try scr_halt --seconds 0 "$PREFIX"
	SCR_HALT_SECONDS=100 job "0 1" app_ckpt exit=1
	answers exit 0
}

@test "the end of the allocation, from SLURM" {
	export SLURM_JOB_ID=7 SLURM_JOB_NODELIST=node0 SCR_HALT_SECONDS=100
	mkdir bin
	cat >bin/scontrol <<-END
		#!/bin/sh
		echo "\$*" >>"$PWD/asked"
		echo "JobId=7 TimeLimit=01:00:00 EndTime=$(date -d "@$(($(date +%s) + 50))" +%Y-%m-%dT%H:%M:%S)"
	END
	chmod +x bin/scontrol
	PATH=$PWD/bin:$PATH job "0 1" app_ckpt exit=1 steps=5 need=1
	answers exit 1
	[[ $(wc -l <asked) -eq 1 ]] || failed "asked: $(wc -l <asked)"
}

@test "ExitBefore and ExitAfter (56d)" {
	export SCR_HALT_EXIT=1
	ends 0 scr_halt --before @$(($(date +%s) + 50)) --seconds 100 "$PREFIX"
	SCR_END_TIME=0 job "0 1" app_ckpt
	leaves 'Current time \(.*\) is past ExitBefore-HaltSeconds time \(.*\)\.' \
		EXIT_BEFORE_TIME
	rm .scr/halt.scr
	ends 0 scr_halt --after @$(($(date +%s) - 1)) "$PREFIX"
	job "0 1" app_ckpt
	leaves 'Current time \(.*\) is past ExitAfter time \(.*\)\.' EXIT_AFTER_TIME
}

@test "SCR_Finalize is recorded, and does not stop the next run (56f)" {
	export SCR_HALT_EXIT=1
	for _ in 1 2; do
		job "0 1" app_ckpt exit=1
		answers exit 0
		reason SCR_FINALIZE_CALLED
	done
	# Another job of this prefix ends while this one runs.
	cp .scr/halt.scr finished
	(sleep 1.5 && cp finished .scr/halt.scr) 3>&- &
	job "0 1" app_ckpt steps=8 exit=1 pause=400
	answers exit "0 0 0 0 0 0 0 0"
}

@test "a damaged halt file stops the job, and is left alone" {
	mkdir .scr
	echo garbage >.scr/halt.scr
	job "0 1" app_ckpt exit=1 finalize=0
	answers exit 1
	SCR_HALT_EXIT=1 works "0 1" app_ckpt
	grep -q 'Job exiting: .*halt.scr: damaged' <<<"$stderr" || failed "why"
	[[ $(cat .scr/halt.scr) == garbage ]] || failed "it was changed"
}
