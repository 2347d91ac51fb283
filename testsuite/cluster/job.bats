#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Real MPI jobs with libscr on several nodes die, and scr_postrun saves what
# they left.

load bed
load job

setup_file() { bed_up 5; }

@test "a rank dies in its third checkpoint; the next job restarts from the second" {
	dies 3 dataset.3/.scr/reddesc
	grep -qx 'written 3' "$JOURNAL"
	run ! grep -qx 'complete 3' "$JOURNAL"
	says 0 3 "newest checkpoint ckpt.2 (dataset 2) is saved"
	job_restarts 2 1
}

# dies N FILE [SETTING]...: a job that ends while its rank 1 writes dataset N.
dies() {
	job_lay "${@:3}"
	job_direct 4 "die=$1:1:$2"
	((status != 0))
}

# says STATUS N TEXT: scr_postrun does, and that dataset N is unfinished.
says() {
	job_post
	assert_status "$1"
	assert_output_has "$3" "dataset $2 is unfinished"
}

# --- The job dies while it writes: which checkpoint is left -------------------

@test "the caches hold one dataset, the newest completed one was flushed" {
	dies 3 dataset.3/rank_1 SCR_CACHE_SIZE=1 SCR_FLUSH=1
	job_post --plan
	assert_status 0
	says 0 3 "newest checkpoint ckpt.2 (dataset 2) is saved"
	job_restarts 2 1
}

@test "the caches hold one dataset, and the newest completed one is in none" {
	dies 4 dataset.4/rank_1 SCR_CACHE_SIZE=1 SCR_FLUSH=2
	says 3 4 "OLDER checkpoint ckpt.2 (dataset 2) is saved"
	job_restarts 2 1
}

@test "the caches hold one dataset, and nothing was flushed" {
	dies 3 dataset.3/rank_1 SCR_CACHE_SIZE=1
	says 4 3 LOST
	# Without flush.scr, too.
	rm "$BED_DIR/pfs/run/.scr/flush.scr"
	says 4 3 "LOST: no completed checkpoint is left"
	assert_output_has "dataset 2 is in no cache and not in the index"
}

@test "it was the first checkpoint: nothing is lost" {
	dies 1 dataset.1/rank_1
	says 0 1 "no checkpoint was completed"
	job_restarts none
}

@test "bypass: files of the unfinished one are on the prefix" {
	dies 3 /pfs/run/ckpt.3/d1/rank_1.1 SCR_CACHE_BYPASS=1
	[[ -n $(ls "$BED_DIR/pfs/run/ckpt.3") ]]
	says 0 3 "newest checkpoint ckpt.2 (dataset 2) is saved"
	job_restarts 2 1
}

@test "SINGLE, and a node is lost: the older one on the prefix is named" {
	dies 4 dataset.4/rank_1 SCR_COPY_TYPE=SINGLE SCR_FLUSH=2
	bed_kill node2
	says 3 4 "OLDER checkpoint ckpt.2 (dataset 2) is saved"
	assert_output_has "newest ckpt.3 (dataset 3) is not"
	bed_revive node2
	job_restarts 2 1
}
