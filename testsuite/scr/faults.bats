#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2030,SC2031,SC2034,SC2154 # bats and others use them
# File operations that fail, one kind after the other, on one rank, on rank 0 or
# on all: the job ends or continues with a message, and neither hangs nor
# crashes; nothing valid is lost, and nothing invalid is called whole.  The fault
# shim does it.  SCRKIT_SLOW: all kinds on all ranks, at several moments.

load helper
load kills

# KIND ERRNO: operations whose names begin with KIND.
KINDS="open:EIO open:EMFILE open:EACCES openat2:EIO read:EIO pread:EIO \
write:ENOSPC pwrite:ENOSPC pwrite:EIO fsync:EIO syncfs:EIO rename:EIO \
rename:ENOSPC mkdir:ENOSPC unlink:EIO link:EPERM fchmod:EPERM futimens:EPERM \
fstat:EIO stat:EIO access:EIO flock:ENOLCK fcntl:ENOLCK close:EIO mmap:ENOMEM \
ftruncate:EIO"

setup()
{
	kills_setup
	export SHIM_PATH=$BATS_TEST_TMPDIR SCR_COPY_TYPE=XOR SCR_FLUSH=1
	export SHIM_ALL=1 JOB_LIMIT=20
}

# It has ended by itself, and has said why if it failed.
ended_well()
{
	local -a crashes=(Segmentation AddressSanitizer "runtime error"
		Assertion WRONG "EXIT CODE: 139" "EXIT CODE: 134")
	local text

	((status != 124 && status != 137)) || return
	((status == 0)) || [[ $stderr == *"SCR v"* ]] || return
	for text in "${crashes[@]}"; do
		[[ $stderr != *"$text"* ]] || return
	done
}

# As if nothing had happened: the next job restarts, and all is whole.
goes_on()
{
	check_prefix || return
	begin_round steps=1
	end_round
	assert_status 0 && judge $((ROUND - 1)) && check_prefix
}

# fault RANKS KIND:ERRNO NTH STICKY OPTION...: a round in which it happens, and
# one in which nothing does.  A failure is counted, and told.
fault()
{
	local what="$2 on rank $1, number $3, sticky $4"

	kills_bring_back
	SHIM_RANKS=$1 SHIM_OP=${2%:*} SHIM_ERRNO=${2#*:} SHIM_FAIL_AT=$3 \
		SHIM_STICKY=$4 begin_round "${@:5}"
	end_round
	echo "$what: $status $(grep -o "SCR v.*" <<<"$stderr" | head -n 1)"
	if ended_well && goes_on; then
		return
	fi
	((++failures))
	failed "FAILED: $what" "$(<"$JOURNAL")" || true
}

# each_fault OPTION...: all of them, on what is kept.
each_fault()
{
	local ranks kind nth sticky failures=0

	for kind in $KINDS; do
		for ranks in 1 0 all; do
			[[ -n ${SCRKIT_SLOW-} ]] ||
				((RANDOM % 18 == 0)) || continue
			for nth in 1 3 9; do
				for sticky in 1 0; do
					[[ -n ${SCRKIT_SLOW-} ]] ||
						((RANDOM % 6 == 0)) || continue
					fault "$ranks" "$kind" "$nth" \
						"$sticky" "$@"
				done
			done
		done
	done
	((failures == 0))
}

@test "faults while a job restarts from the caches, writes and flushes" {
	begin_round steps=2
	end_round
	assert_status 0
	kills_keep
	each_fault steps=2
}

@test "faults while what a node has lost is rebuilt" {
	export SCR_FLUSH=0
	begin_round steps=2
	end_round
	assert_status 0
	lose 2
	kills_keep
	each_fault steps=1
}

@test "faults while a job restarts from the prefix" {
	begin_round steps=2
	end_round
	assert_status 0
	lose 0 1 2 3
	kills_keep
	each_fault steps=1
}

@test "faults with bypass, and on the only copy" {
	SCR_CACHE_BYPASS=1 begin_round steps=2
	end_round
	assert_status 0
	kills_keep
	SCR_CACHE_BYPASS=1 each_fault steps=1
	kills_fresh
	export SCR_COPY_TYPE=SINGLE SCR_FLUSH=0
	begin_round steps=2
	end_round
	assert_status 0
	kills_keep
	each_fault steps=1
}

@test "the storage of a node is full" {
	local rc full text

	export SCR_FLUSH=0
	unset SHIM_ALL
	mkdir -p "$NODES/1"
	mount -t tmpfs -o size=400k none "$NODES/1" 2>/dev/null ||
		skip "cannot mount"
	begin_round steps=2
	end_round
	rc=$status
	head -c 1M /dev/zero >"$NODES/1/full" 2>/dev/null || true
	begin_round steps=2
	end_round
	full=$status text=$stderr
	rm "$NODES/1/full"
	begin_round steps=1
	end_round
	umount "$NODES/1"
	((rc == 0)) || failed "$text"
	((full != 124)) || failed "$text"
	[[ $text == *"No space left on device"* ]] || failed "$text"
	grep -q "^failed" "$JOURNAL" || failed "$(<"$JOURNAL")"
	assert_status 0
	judge 2 || failed "$(<"$JOURNAL")"
	[[ $(grep -c "^restart [12]" "$JOURNAL") -ge 1 ]]
}
