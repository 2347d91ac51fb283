#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Flushes while the application computes.

load helper

setup() {
	job_setup
	export SCR_FLUSH=1 SCR_FLUSH_ASYNC=1 SCR_CACHE_SIZE=2
	map="0 1 2 3"
}

current() {
	scr_index --prefix "$PREFIX" --list --json |
		jq -r '.datasets[] | select(.is_current) | .name'
}

@test "what is due is on the prefix in the end (35, 37)" {
	SCR_FLUSH=2 SCR_CACHE_SIZE=3 works "$map" app_ckpt steps=6 size=300000
	[[ $(ids .valid) == "2 4 6" && $(current) == ckpt.6 ]]
	[[ $(echo ckpt.*) == "ckpt.2 ckpt.4 ckpt.6" ]]
	job_setup
	export SCR_FLUSH=1 SCR_CACHE_SIZE=3
	works "$map" app_ckpt steps=5 size=300000 files=3
	[[ $(ids .valid) == "1 2 3 4 5" && $(current) == ckpt.5 ]]
	lose 0 1 2 3
	line "have_restart -> 0 1 ckpt.5" works "$map" app_calls init have_restart \
		start_restart complete_restart=1 finalize
	whole 1 2 3 4 5
	[[ -z $(find "$PREFIX" -name '.scrkit-*') ]] || failed "litter"
}

@test "files are complete on the prefix though the application makes no call (39)" {
	# The ranks sleep for three seconds after the first checkpoint.
	works "$map" app_ckpt steps=2 size=2000000 pause=3000 finalize=0 &
	for ((n = 0; n < 100; n++)); do
		sleep 0.05
		found=$(find ckpt.1 -name '.scrkit-*' -size +1900k 2>/dev/null |
			wc -l)
		((found < 4)) || break
	done
	((found == 4)) || failed "$found files"
	[[ ! -e $NODES/1/tester/scr.j1/scr.dataset.2 ]] || failed "a call was made"
	[[ -z $(ids .valid) ]] || failed "nobody can have noticed"
	wait $!
	[[ $(ids .valid) == 1 ]]
}

@test "SCR_Start_output waits if the cache is full, and says for how long (36)" {
	SCR_CACHE_SIZE=1 SCR_FLUSH_ASYNC_BW=4000000 works "$map" app_ckpt steps=3 \
		size=500000
	warned "Waiting on async flush of dataset 1: the cache is full.*: [0-9.]* seconds"
	[[ $(ids .valid) == "1 2 3" ]]
	# With room for two, nobody waits before the end.
	job_setup
	export SCR_FLUSH=1
	SCR_CACHE_SIZE=3 SCR_FLUSH_ASYNC_BW=4000000 works "$map" app_ckpt steps=3 \
		size=500000
	[[ $stderr != *"Waiting on"* && $(ids .valid) == "1 2 3" ]]
}

@test "files of the same names: one flush after the other, the newest is there" {
	SCR_CACHE_SIZE=3 works "$map" app_ckpt steps=4 size=300000 dir=same
	[[ $(ids .valid) == 4 ]]
	cmp "$PREFIX/same/rank_1.0" "$NODES/1/tester/scr.j1/scr.dataset.4/rank_1.0"
	whole 4
	# Also if other ranks write them.
	rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
	SCR_CACHE_SIZE=3 SCR_FLUSH_ASYNC_BW=4000000 works "$map" app_ckpt steps=3 \
		size=300000 dir=same rotate=1
	[[ $(ids .valid) == 3 && $stderr != *"not flushed"* ]]
	cmp "$PREFIX/same/rank_0.0" "$NODES/1/tester/scr.j1/scr.dataset.3/rank_0.0"
	whole 3
}

@test "a prefix that refuses files: the dataset stays in the cache" {
	works "$map" app_ckpt steps=1
	LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_ERRNO=ENOSPC SHIM_FAIL_AT=1 SHIM_STICKY=1 \
		SHIM_PATH=/b.1/ works "$map" app_ckpt steps=3 size=300000 name=b.%d
	[[ $stderr == *"dataset 2: not flushed, stays in the cache: "* ]]
	[[ $(ids .valid) == "1 3 4" && -e $NODES/1/tester/scr.j1/scr.dataset.2 ]]
	works "$map" app_calls init finalize
	whole 1 2 3 4
}

# What each job wrote to files of dataset 1 on the prefix, in blocks.
blocks() {
	grep -c "pwrite.*/ckpt.1/" "$BATS_TEST_TMPDIR/trace" || true
}

@test "killed in the middle: the next job writes what is missing (38)" {
	local at there

	for at in 1 4 8; do
		rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
		LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_KILL_AT=$at SHIM_PATH=/ckpt.1/ \
			dies "$map" app_ckpt steps=1 size=2097152 pause=3000
		[[ -z $(ids .valid) ]] || failed "whole at $at"
		there=$(find ckpt.1 -type f -printf '%s\n' |
			awk '{ n += int($1 / 262144) } END { print n + 0 }')
		: >"$BATS_TEST_TMPDIR/trace"
		LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_PATH=/ckpt.1/ \
			SHIM_TRACE=$BATS_TEST_TMPDIR/trace works "$map" app_calls \
			init have_restart finalize
		[[ $(ids .valid) == 1 ]] || failed "not whole after $at"
		(($(blocks) == 32 - there)) ||
			failed "at $at: $(blocks) blocks written, $there were there"
		whole 1
	done
	# Between the renames: no block is written.
	rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
	LD_PRELOAD=$SHIM SHIM_OP=rename SHIM_KILL_AT=2 SHIM_PATH=/ckpt.1/ \
		dies "$map" app_ckpt steps=1 size=2097152 files=3
	[[ -z $(ids .valid) && -n $(find ckpt.1 -name 'rank_*') ]]
	: >"$BATS_TEST_TMPDIR/trace"
	LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_PATH=/ckpt.1/ \
		SHIM_TRACE=$BATS_TEST_TMPDIR/trace works "$map" app_calls init \
		have_restart finalize
	[[ $(ids .valid) == 1 && $(blocks) == 0 ]] || failed "$(blocks) blocks"
	whole 1
	# If all have their names, these are on disk before the index says so.
	rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
	LD_PRELOAD=$SHIM SHIM_OP=rename SHIM_KILL_AT=1 SHIM_PATH=/rank2file \
		dies "$map" app_ckpt steps=1
	: >"$BATS_TEST_TMPDIR/trace"
	LD_PRELOAD=$SHIM SHIM_OP=fsync SHIM_PATH=/ckpt.1 \
		SHIM_TRACE=$BATS_TEST_TMPDIR/trace works "$map" app_calls init finalize
	grep -q '/ckpt.1$' "$BATS_TEST_TMPDIR/trace" || failed "not synced"
	whole 1
}

@test "what an interrupted flush left is no evidence: other bytes are replaced" {
	LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_KILL_AT=5 SHIM_PATH=/ckpt.1/ \
		dies "$map" app_ckpt steps=1 size=2097152 pause=3000
	for f in ckpt.1/.scrkit-*; do
		printf 'other' | dd of="$f" bs=1 seek=70000 conv=notrunc status=none
		truncate -s 3M "$f"
	done
	works "$map" app_calls init have_restart finalize
	[[ $(ids .valid) == 1 ]]
	cmp ckpt.1/rank_2.0 "$NODES/2/tester/scr.j1/scr.dataset.1/rank_2.0"
}

@test "SCR_FLUSH_WIDTH: all ranks have their turn, before one has several" {
	SCR_CACHE_SIZE=4 SCR_FLUSH_WIDTH=1 SCR_FLUSH_ASYNC_BW=4000000 LD_PRELOAD=$SHIM \
		SHIM_OP=pwrite SHIM_PATH=/prefix/ckpt SHIM_TRACE=$BATS_TEST_TMPDIR/trace \
		works "$map" app_ckpt steps=4 size=300000
	awk '/ckpt.4/ { begun = 1 } /ckpt.1/ && begun { exit 1 }' \
		"$BATS_TEST_TMPDIR/trace" || failed "$(<"$BATS_TEST_TMPDIR/trace")"
	whole 1 2 3 4
}

# The seconds that the flush of the last job took.
flush_seconds() {
	sed -n 's/.*ASYNC_FLUSH_SUCCESS.*secs=//p' .scr/log | tail -n 1
}

# is_about N TIMES M: within a fifth.
is_about() {
	awk -v n="$1" -v k="$2" -v m="$3" \
		'BEGIN { exit !(n > k * m * 0.8 && n < k * m * 1.2) }' ||
		failed "$1, not $2 times $3"
}

@test "SCR_FLUSH_ASYNC_BW, SCR_FLUSH_ASYNC_PERCENT" {
	local secs all

	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	# 6 MB take 3 seconds.
	SCR_FLUSH_ASYNC_BW=2000000 works "$map" app_ckpt steps=1 size=1500000
	secs=$(flush_seconds)
	awk -v s="$secs" 'BEGIN { exit !(s > 2.5 && s < 5) }' || failed "$secs s"
	# A rank writes 64 blocks, each in 20 ms or more.
	export SLOW_PATH=/ckpt.1/ SLOW_USEC=20000
	for percent in 100 50; do
		rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
		LD_PRELOAD=$MPI/../slow.so SCR_FLUSH_ASYNC_PERCENT=$percent \
			works "0 1" app_ckpt steps=1 size=16777216
		secs=$(flush_seconds)
		echo "$percent %: $secs s"
		[[ $percent != 100 ]] || all=$secs
		is_about "$secs" $((100 / percent)) "$all"
	done
}

@test "deleted, current, dropped: not before the flush has ended" {
	SCR_FLUSH_ASYNC_BW=4000000 works "$map" app_ckpt steps=2 size=500000 finalize=0
	works "$map" app_calls init delete=ckpt.1 finalize
	[[ $(ids .valid) == 2 && ! -e ckpt.1 ]]
}

@test "killed when it was complete, and flush.scr did not say so: not flushed again" {
	LD_PRELOAD=$SHIM SHIM_OP=rename SHIM_KILL_AT=2 SHIM_PATH=/flush.scr \
		dies "$map" app_ckpt steps=1
	[[ $(ids .valid) == 1 ]]
	LD_PRELOAD=$SHIM SHIM_OP=rename SHIM_KILL_AT=1 SHIM_PATH=/ckpt.1/ \
		works "$map" app_calls init finalize
	whole 1
}

@test "killed in the middle: scr_postrun writes what is missing" {
	local there

	LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_KILL_AT=5 SHIM_PATH=/ckpt.1/ \
		dies "$map" app_ckpt steps=1 size=2097152 pause=3000
	there=$(find ckpt.1 -type f -printf '%s\n' |
		awk '{ n += int($1 / 262144) } END { print n + 0 }')
	((there >= 4))
	pretend_ssh
	LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_PATH=/ckpt.1/ \
		SHIM_TRACE=$BATS_TEST_TMPDIR/trace ends 0 scr_postrun -p "$PREFIX" \
		-w 'node[0-3]' -r ssh
	whole 1
	(($(blocks) == 32 - there)) || failed "$(blocks) blocks, $there were there"
}

@test "SCR_FLUSH_POSTSTAGE=1: SCR_Finalize waits for nothing, scr_poststage completes it" {
	local there

	export SCR_FLUSH=2 SCR_CACHE_SIZE=4 SCR_FLUSH_POSTSTAGE=1
	SCR_FLUSH_ASYNC_BW=2000000 works "$map" app_ckpt steps=5 size=2097152
	[[ -z $(ids .valid) ]] || failed "$(ids .valid)"
	there=$(find ckpt.2 -name '.scrkit-*' -printf '%s\n' |
		awk '{ n += $1 } END { print n + 0 }')
	((there > 0)) || failed "nothing was begun"
	pretend_ssh
	ends 0 scr_poststage -w 'node[0-3]' -r ssh "$PREFIX"
	[[ $(ids .valid) == "2 4 5" && $(current) == ckpt.5 ]] ||
		failed "$(ids .valid), $(current)"
	whole 2 4 5
	[[ -z $(find . -name '.scrkit-*.tmp') ]] || failed "litter"
}

@test "rejected while it is being flushed: an older one is next, and the index says why" {
	SCR_FLUSH=0 works "$map" app_ckpt steps=2 size=2097152 finalize=0
	SCR_FLUSH=1 SCR_FLUSH_ASYNC_BW=8000000 line \
		"have_restart -> 0 1 ckpt.2;have_restart -> 0 1 ckpt.1" works "$map" \
		app_calls init have_restart start_restart complete_restart=0 \
		have_restart start_restart complete_restart=1 finalize
	[[ $(ids .valid) == 1 ]] || failed "$(ids .valid)"
	[[ ! -e $NODES/1/tester/scr.j1/scr.dataset.2 ]]
}

# --- Bypass: the thread takes the checksums ---

# From here on the jobs write to the prefix, which has nothing yet.
bypass() {
	export SCR_CACHE_BYPASS=1
	rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
}

# summed DATASET...: rank2file has the checksums of all four files, and they are
# right.
summed() {
	local id

	for id; do
		(($(scr_inspect -m tree ".scr/scr.dataset.$id/rank2file.0.0" |
			grep -c CRC) == 4)) || failed "dataset $id: not all sums"
	done
	whole "$@"
}

# cut [OPTION=VALUE]...: a job that ends, after its only checkpoint, before the
# thread has taken the sums, which need three seconds.
cut() {
	bypass
	SCR_FLUSH_ASYNC_BW=2000000 works "$map" app_ckpt steps=1 size=1500000 \
		finalize=0 "$@"
}

@test "bypass: SCR_Complete_output waits for no checksum, SCR_Finalize for all" {
	bypass
	works "$map" app_ckpt steps=3 size=300000
	[[ $(ids .valid) == "1 2 3" && $(current) == ckpt.3 ]]
	summed 1 2 3
	LD_PRELOAD=$SHIM SHIM_READS=1 SHIM_OP=pread SHIM_PATH=/ckpt.1/ \
		SHIM_TRACE=$BATS_TEST_TMPDIR/trace cut
	(($(wc -l <"$BATS_TEST_TMPDIR/trace") < 12)) || failed "all is read"
	[[ -z $(ids .valid) && $(ids true) == 1 ]] || failed "whole"
	# Nobody waits for what has no sum.
	cut shared=1
	[[ $(ids .valid) == 1 ]] || failed "shared"
	SCR_CRC_ON_FLUSH=0 cut
	[[ $(ids .valid) == 1 ]] || failed "no sums"
}

@test "bypass: killed before it was summed: the next job sums it, or scr_postrun saves it" {
	local at

	for at in 1 5; do
		for SCR_FLUSH_ASYNC in 1 0; do
			bypass
			SCR_FLUSH_ASYNC=1 LD_PRELOAD=$SHIM SHIM_READS=1 \
				SHIM_OP=pread SHIM_KILL_AT=$at SHIM_PATH=/ckpt.1/ \
				dies "$map" app_ckpt steps=1 size=1500000
			[[ -z $(ids .valid) ]] || failed "whole at $at"
			line "have_restart -> 0 1 ckpt.1" works "$map" app_calls \
				init have_restart finalize
			[[ $(ids .valid) == 1 ]] || failed "$(ids .valid) after $at"
			summed 1
		done
	done
	export SCR_FLUSH_ASYNC=1
	cut
	pretend_ssh
	ends 0 scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh
	[[ $(ids .valid) == 1 && $(current) == ckpt.1 ]]
	whole 1
}

@test "bypass: SCR_FLUSH_POSTSTAGE=1: scr_poststage completes it" {
	SCR_FLUSH_POSTSTAGE=1 cut finalize=1
	[[ -z $(ids .valid) ]] || failed "SCR_Finalize has waited"
	pretend_ssh
	ends 0 scr_poststage -w 'node[0-3]' -r ssh "$PREFIX"
	[[ $(ids .valid) == 1 && $(current) == ckpt.1 ]]
	whole 1
}

@test "bypass: written again by the next dataset: not before the sums are taken" {
	bypass
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	SCR_FLUSH_ASYNC_BW=4000000 works "$map" app_ckpt steps=3 size=600000 dir=same
	[[ $(ids .valid) == 3 && $(grep -c ASYNC_FLUSH_SUCCESS .scr/log) == 3 ]]
	[[ $stderr != *"not flushed"* ]]
	summed 3
	# Other ranks write them; a level in between has a cache.
	bypass
	printf '%s\n' "CKPT=0 INTERVAL=1 TYPE=XOR BYPASS=1" \
		"CKPT=1 INTERVAL=2 TYPE=XOR BYPASS=0" >.scrconf
	SCR_COPY_TYPE=FILE SCR_FLUSH_ASYNC_BW=4000000 works "$map" app_ckpt steps=3 \
		size=600000 dir=same rotate=1
	[[ $(ids .valid) == 3 && $stderr != *"not flushed"* ]]
	summed 3
	rm .scrconf
}

# during COMMAND...: it runs while the thread takes the sums of dataset 1.
during() {
	local n

	bypass
	SCR_FLUSH_ASYNC_BW=4000000 works "$map" app_ckpt steps=1 size=2097152 &
	for ((n = 0; n < 100; n++)); do
		sleep 0.05
		[[ ! -e .scr/flush.scr ]] || break
	done
	[[ -e .scr/flush.scr ]] || failed "no dataset"
	sleep 0.3
	[[ -z $(ids .valid) ]] || failed "it came too late"
	"$@"
	wait $!
}

# overwrite OFFSET FILE: a byte of it.
overwrite() {
	printf X | dd of="$2" bs=1 conv=notrunc status=none seek="$1"
}

@test "bypass: a file that is changed or cut while it is summed is not called whole" {
	local how

	for how in "truncate -s 2000000" "truncate -s 3000000" rm \
		"overwrite 5" "overwrite 2000000"; do
		# shellcheck disable=SC2086
		during $how ckpt.1/rank_2.0
		[[ -z $(ids .valid) ]] || failed "$how: whole"
		# Nor by the next job, however it looks.
		line "have_restart -> 0 0" works "$map" app_calls init \
			have_restart finalize
		[[ -z $(ids .valid) && ! -e $NODES/1/tester/scr.j1/scr.dataset.1 ]] ||
			failed "$how: whole in the next job"
	done
	during true
	summed 1
}

@test "bypass: deleted, dropped, current: not before the sums are taken" {
	local call

	for call in delete drop current; do
		cut
		SCR_FLUSH_ASYNC_BW=4000000 works "$map" app_calls init \
			$call=ckpt.1 finalize
		case $call in
		delete) [[ -z $(ids true) && ! -e ckpt.1 ]] ;;
		drop) [[ -z $(ids true) && -e ckpt.1 ]] ;;
		current) summed 1 && [[ $(current) == ckpt.1 ]] ;;
		esac || failed "$call: $(ids true), $(ids .valid)"
	done
}

@test "bypass: the sums of the prefix prove the files to a job that restarts" {
	bypass
	works "$map" app_ckpt steps=2 size=300000
	printf other | dd of=ckpt.2/rank_1.0 bs=1 seek=5000 conv=notrunc status=none
	line "have_restart -> 0 1 ckpt.1" works "$map" app_calls init have_restart \
		finalize
	# Though who wrote to a file left no trace in its times.
	bypass
	works "$map" app_ckpt steps=2 size=300000
	touch -r ckpt.2/rank_1.0 before
	printf other | dd of=ckpt.2/rank_1.0 bs=1 seek=5000 conv=notrunc status=none
	touch -r before ckpt.2/rank_1.0
	SCR_FLUSH_ASYNC=0 line "have_restart -> 0 1 ckpt.1" works "$map" app_calls \
		init have_restart finalize
}
