#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Real MPI jobs with libscr on several nodes die, and scr_postrun saves what
# they left.

load bed
load job

setup_file() { bed_up 5; }

# says STATUS N TEXT: scr_postrun does, and that dataset N is unfinished.
says() {
	job_post
	assert_status "$1"
	assert_output_has "$3" "dataset $2 is unfinished"
}

# Each line: the job dies while its rank 1 writes file FILE of checkpoint N, with
# these settings; nodes that die; status and text of scr_postrun; the checkpoint and
# the round from which the next job restarts.
@test "the job dies while it writes: which checkpoint is left" {
	local n file set dead want text restart

	while IFS='|' read -r -u 7 n file set dead want text restart; do
		echo "$n, $file, $set"
		# shellcheck disable=SC2086 # words
		job_lay $set
		job_direct 4 "die=$n:1:$file"
		((status != 0))
		[[ $file != /pfs* || -n $(ls "$BED_DIR/pfs/run/ckpt.3") ]]
		# shellcheck disable=SC2086 # words
		bed_kill $dead
		says "$want" "$n" "$text"
		[[ -z $dead ]] || assert_output_has "newest ckpt.3 (dataset 3) is not"
		bed_heal
		# shellcheck disable=SC2086 # words
		[[ -z $restart ]] || job_restarts $restart
		[[ $want != 4 ]] || {
			# Without flush.scr, too.
			rm "$BED_DIR/pfs/run/.scr/flush.scr"
			says 4 3 "LOST: no checkpoint of the caches can be saved"
			assert_output_has "dataset 2 is in no cache and not in the index"
		}
		bed_wipe
	done 7<<-'END'
		3|dataset.3/.scr/reddesc|||0|newest checkpoint ckpt.2 (dataset 2) is saved|2 1
		3|dataset.3/rank_1|SCR_CACHE_SIZE=1 SCR_FLUSH=1||0|newest checkpoint ckpt.2 (dataset 2) is saved|2 1
		4|dataset.4/rank_1|SCR_CACHE_SIZE=1 SCR_FLUSH=2||3|OLDER checkpoint ckpt.2 (dataset 2) is saved|2 1
		3|dataset.3/rank_1|SCR_CACHE_SIZE=1||4|LOST|
		1|dataset.1/rank_1|||0|no completed checkpoint in the caches|none
		3|/pfs/run/ckpt.3/d1/rank_1.1|SCR_CACHE_BYPASS=1||0|newest checkpoint ckpt.2 (dataset 2) is saved|2 1
		4|dataset.4/rank_1|SCR_COPY_TYPE=SINGLE SCR_FLUSH=2|node2|3|OLDER checkpoint ckpt.2 (dataset 2) is saved|2 1
	END
}

# --- One job after another: what the prefix proves ----------------------------

# empty NODE...: what was in their caches is gone, as after a reboot.
empty() {
	local node

	for node; do on "$node" find /ssd -mindepth 1 -delete; done
}

# The next job has other nodes.
other_nodes() { empty node1 node2 node3 node4; }

# plans_and_runs STATUS TEXT [ABSENT]...: scr_postrun --plan, then scr_postrun.
plans_and_runs() {
	local verb

	for verb in can\ be is; do
		if [[ $verb == is ]]; then job_post; else job_post --plan; fi
		assert_status "$1"
		assert_output_has "$2 $verb saved"
		assert_output_lacks "${@:3}"
	done
}

# The number of the dataset that is the restart point.
restart_point() {
	on login scr_index -p /pfs/run | sed -n 's/^ *\([0-9]*\) YES .*\* .*/\1/p'
}

@test "33.10 killed when all of a checkpoint was on the prefix, and two caches are lost: saved" {
	job_lay SCR_FLUSH=3 SHIM_OP=rename
	job_direct 4 die=3:0:scr.dataset.3/summary
	((status != 0))
	empty node2 node3
	plans_and_runs 0 "newest checkpoint ckpt.3 (dataset 3)" "3 lost"
	job_restarts 3 1
}

@test "33.10 what the job before has left in its caches is not lost by this one" {
	job_lay SCR_FLUSH=4 SCR_CACHE_SIZE=4
	job_direct 4 abort=6:0
	other_nodes
	# The application of the second one did not start.
	job_id=j2 job_post --plan
	assert_status 1
	assert_stderr_has "dataset 5: of job j1: not looked for; see --job-id j1"
	job_id=j2 job_direct 4 abort=2:0
	grep -qx "restart 4 1" "$JOURNAL"
	job_id=j2 plans_and_runs 0 "newest checkpoint ckpt.5 (dataset 6)" lost
}

# When a dataset was made, as a text that can be compared.
made() {
	on login scr_inspect -p /pfs/run "$1" | sed -n 's/.*, made \(.*\) by .*/\1/p'
}

# second_job [OPTION]...: job j1 is saved; j2 restarts from checkpoint 3, and
# writes 4 to 6 on nodes whose clocks are five minutes behind.
second_job() {
	job_direct 4 steps=3 "$@"
	assert_status 0
	job_post
	assert_status 0
	other_nodes
	bed_skew 300 node1 node2 node3 node4
	job_id=j2 job_direct 4 abort=4:0 "$@"
	grep -qx "restart 3 1" "$JOURNAL"
}

@test "33.16 clocks are five minutes behind: what a job wrote after its restart is newer" {
	job_lay SCR_CACHE_SIZE=4
	second_job
	job_id=j2 job_post --plan
	assert_status 0
	assert_output_has "newest checkpoint ckpt.6 (dataset 6) can be saved"
	assert_output_lacks "restarts from"
	bed_kill node3
	job_id=j2 job_post
	assert_status 0
	assert_output_has "newest checkpoint ckpt.6 (dataset 6) is saved"
	assert_output_lacks "restarts from"
	[[ $(restart_point) == 6 && $(made 6) < $(made 3) ]]
	run -0 on login scr_index -p /pfs/run --verify --deep --checksums
	answers 0 ckpt.3 on login scr_index -p /pfs/run --prune --keep=1 --dry-run
	assert_output_lacks ckpt.6
	bed_heal
	job_restarts 6 2

	# The next one fetches 6, which then is damaged.  3, whose clock is ahead
	# of it, is in no cache, and not lost.
	other_nodes
	job_id=j3 job_direct 4 abort=1:0
	truncate -s 1 "$BED_DIR"/pfs/run/ckpt.6/d*/rank_[02].1
	job_id=j3 plans_and_runs 0 "newest checkpoint ckpt.6 (dataset 6)" lost
	[[ $(restart_point) == 6 ]]
}

@test "33.16 the same, and each checkpoint replaces the files of the one before" {
	job_lay SCR_CACHE_SIZE=3
	second_job same=1
	job_id=j2 plans_and_runs 0 "newest checkpoint ckpt.6 (dataset 6)" lost
	[[ $(restart_point) == 6 ]]
	bed_heal
	job_id=j3 job_direct 4 steps=0 same=1
	[[ $(tail -n 2 "$JOURNAL") == "restart 6 2"$'\n'end ]]
}
