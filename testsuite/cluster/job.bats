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
	assert_status 0
	assert_output_has "newest checkpoint ckpt.2 (dataset 2) is saved" \
		"dataset 3 is unfinished"
	job_restarts 2 1
}

# --- The job dies while it writes: which checkpoint is left -------------------

@test "the caches hold one dataset, the newest completed one was flushed" {
	job_lay SCR_CACHE_SIZE=1 SCR_FLUSH=1
	job_direct 4 die=3:1:dataset.3/rank_1
	((status != 0))
	job_post --plan
	assert_status 0
	job_post
	assert_status 0
	assert_output_has "newest checkpoint ckpt.2 (dataset 2) is saved" \
		"dataset 3 is unfinished"
	job_restarts 2 1
}

@test "the caches hold one dataset, and the newest completed one is in none" {
	job_lay SCR_CACHE_SIZE=1 SCR_FLUSH=2
	job_direct 4 die=4:1:dataset.4/rank_1
	((status != 0))
	job_post
	assert_status 3
	assert_output_has "OLDER checkpoint ckpt.2 (dataset 2) is saved" \
		"dataset 4 is unfinished"
	job_restarts 2 1
}

@test "the caches hold one dataset, and nothing was flushed" {
	job_lay SCR_CACHE_SIZE=1
	job_direct 4 die=3:1:dataset.3/rank_1
	((status != 0))
	job_post
	assert_status 4
	assert_output_has LOST "dataset 3 is unfinished"
	# Without flush.scr, too.
	rm "$BED_DIR/pfs/run/.scr/flush.scr"
	job_post
	assert_status 4
	assert_output_has "LOST: no completed checkpoint is left" \
		"dataset 2 is in no cache and not in the index" \
		"dataset 3 is unfinished"
}

@test "it was the first checkpoint: nothing is lost" {
	job_lay
	job_direct 4 die=1:1:dataset.1/rank_1
	((status != 0))
	job_post
	assert_status 0
	assert_output_has "no checkpoint was completed" "dataset 1 is unfinished"
	job_restarts none
}

@test "bypass: files of the unfinished one are on the prefix" {
	job_lay SCR_CACHE_BYPASS=1
	job_direct 4 die=3:1:/pfs/run/ckpt.3/d1/rank_1.1
	((status != 0))
	[[ -n $(ls "$BED_DIR/pfs/run/ckpt.3") ]]
	job_post
	assert_status 0
	assert_output_has "newest checkpoint ckpt.2 (dataset 2) is saved" \
		"dataset 3 is unfinished"
	job_restarts 2 1
}

@test "SINGLE, and a node is lost: the older one on the prefix is named" {
	job_lay SCR_COPY_TYPE=SINGLE SCR_FLUSH=2
	job_direct 4 die=4:1:dataset.4/rank_1
	((status != 0))
	bed_kill node2
	job_post
	assert_status 3
	assert_output_has "OLDER checkpoint ckpt.2 (dataset 2) is saved" \
		"newest ckpt.3 (dataset 3) is not" "dataset 4 is unfinished"
	bed_revive node2
	job_restarts 2 1
}
