#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034
# A rank is killed before each of its file operations in turn, in a job that
# writes a dataset in the caches and flushes it, and in one that restarts.  The
# fault shim does it.  SCRKIT_SLOW visits every operation, otherwise some.

load helper
load kills

setup() {
	kills_setup
	export SHIM_PATH=$BATS_TEST_TMPDIR SCR_COPY_TYPE=XOR SCR_FLUSH=1
}

# operations RANK OPTION...: how many there are in an undisturbed round, into
# $operations.
operations() {
	rm -f "$BATS_TEST_TMPDIR/count"
	SHIM_COUNT_FILE=$BATS_TEST_TMPDIR/count SHIM_RANKS=$1 begin_round "${@:2}"
	end_round 0
	operations=$(<"$BATS_TEST_TMPDIR/count")
	((operations > 20))
}

# each_step RANK OPTION...: kill the rank before each operation of a round that
# begins with what is kept; then look at what is there, and restart twice.
each_step() {
	local rank=$1 n step=1

	shift
	kills_bring_back
	operations "$rank" "$@"
	[[ -n ${SCRKIT_SLOW-} ]] || step=$operations
	echo "rank $rank: $operations operations"
	for ((n = RANDOM % step + 1; n <= operations; n += step)); do
		kills_bring_back
		SHIM_KILL_AT=$n SHIM_RANKS=$rank begin_round "$@"
		end_round
		echo "killed at $n: $status"
		((status != 124)) || failed "rank $rank, operation $n: hangs"
		# A few operations come and go.
		((status != 0 || n > operations - 10)) ||
			failed "rank $rank, operation $n: not killed"
		check_prefix || failed "rank $rank, operation $n"
		begin_round steps=1
		end_round 0
		judge || failed "rank $rank, operation $n: $(<"$JOURNAL")"
		check_prefix || failed "rank $rank, operation $n"
		[[ -z $(find "$PREFIX" "$NODES" -name '*.regain.*' -o \
			-path "$PREFIX/ckpt.*" -name '.*') ]] ||
			failed "rank $rank, operation $n"
	done
}

# each_step on ranks 0 and 1, after two checkpoints, and what `$1` does then.
all_steps() {
	begin_round steps=2
	end_round 0
	"$@"
	kills_keep
	each_step 0 steps=1
	each_step 1 steps=1
}

@test "killed at each operation: a dataset in the caches, and its flush" {
	all_steps true
}

@test "killed at each operation: a node's files are rebuilt" {
	SCR_FLUSH=0 all_steps lose 1
}

@test "killed at each operation: files move to other nodes" {
	move() { MAP="1 4 2 0"; }
	SCR_FLUSH=0 SCR_COPY_TYPE=RS all_steps move
}

@test "killed at each operation: a dataset is fetched" {
	all_steps lose 0 1 2 3
}

@test "killed at each operation: bypass" {
	SCR_CACHE_BYPASS=1 all_steps lose 1
}
