#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # bats and job.bash set them
# Real MPI jobs with libscr on several nodes die, and scr_postrun saves what
# they left.

load bed
load job

setup_file() { bed_up 5; }

@test "a job ends well; the caches are saved; the next job restarts" {
	job_lay
	job_direct 4 steps=3
	assert_status 0
	grep -qx 'complete 3' "$JOURNAL"
	[[ $(job_cached node2) == "2 3" ]]
	job_post
	assert_status 0
	job_restarts 3 1
}

@test "a rank dies in its third checkpoint; the next job restarts from the second" {
	job_lay
	job_direct 4 steps=3 die=3:1:dataset.3/.scr/reddesc
	((status != 0))
	grep -qx 'written 3' "$JOURNAL"
	run ! grep -qx 'complete 3' "$JOURNAL"
	job_post
	job_restarts 2 1
}
