#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The pretend nodes of MPI jobs: the tests of libscr rely on them.

load helper

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
