#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The pretend nodes of MPI jobs: the tests of libscr rely on them.

load helper

@test "each rank has the host name and the storage of its node" {
	works "0 0 3 1" where
	[[ $(cat "$NODES/0/rank_1") == "node0 4" ]]
	[[ $(cat "$NODES/3/rank_2") == "node3 4" ]]
	[[ $(cat "$NODES/1/rank_3") == "node1 4" ]]
	[[ $(find "$NODES" -type f | wc -l) -eq 4 && -z $(ls "$SSD") ]]
	lose 0
	[[ $(find "$NODES" -type f | wc -l) -eq 2 ]]
}

@test "a job that hangs is ended" {
	export JOB_LIMIT=2
	job "0 1" where forever
	assert_status 124
	sleep 0.5
	run ! pgrep -f "$MPI/where foreve[r]"
}

@test "a rank that waits leaves the processor to others" {
	ldd "$MPI/where" | grep -q libucp || skip "MPI without UCX"
	works "0 1" where late
	((output < 400)) || failed "$output ms of processor in a second"
}
