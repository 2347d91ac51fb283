#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016 # scripts of nodes
# Two jobs on one prefix: the second one starts, or ends, while the scavenge of
# the first one works.  (ends.bats: a second job starts too early.)

load bed
load job

setup_file() { bed_up 4; }

# A scavenge of job 1000, in the background, for some seconds.
slow_scavenge() {
	bed_lay xor_8n4
	bed_slow node1 30000 /tmp/scrgold
	post >"$BATS_TEST_TMPDIR/first" 2>&1 3>&- &
	first=$!
	await grep -qs "job 1000" "$lay_pfs/.scr/scavenge.lock"
}

@test "a second scavenge waits for its turn" {
	slow_scavenge
	answers 1 "scavenge of job 1000 on login" post --wait 1
	assert_output_has "is working here"
	answers 0 waiting post
	assert_output_has "is saved"
	wait "$first" ||
		failed "the first scavenge" "$(<"$BATS_TEST_TMPDIR/first")"
	assert_saved
}

@test "a scavenge that was killed holds nobody up" {
	slow_scavenge
	on login sh -c 'kill -9 $(sed "s/.*process \([0-9]*\).*/\1/" \
		"$1/.scr/scavenge.lock")' - "$lay_prefix"
	run -0 on login env "${lay_env[@]}" SCR_JOB_ID=1001 scr_prerun
	assert_output_lacks waiting
	wait "$first" || true
	bed_fast node1
	saves
	# What the killed one has started on the node.
	while on node1 pgrep -x scr_copy >/dev/null; do sleep 0.2; done
}

@test "--clean: the caches of all nodes are empty afterwards, also a shared one" {
	local node

	bed_lay xor_8n4
	bed_kill node3
	saves --clean
	assert_output_has "removed from the caches: 1: "
	for node in node1 node2 node4; do
		[[ -z $(on "$node" find "$lay_cache/" -name "scr.dataset.*") ]]
	done
	run -0 post
	bed_wipe
	bed_lay -s xor_8n4
	saves --clean
	assert_output_has "removed from the caches: 1: "
	assert_output_lacks "not cleaned"
	[[ -z $(on node1 find "$lay_cache/" -name "scr.dataset.*") ]]
}

@test "after a job that ended well scr_prerun has nothing to say" {
	job_lay
	job_direct 4 steps=3
	assert_status 0
	job_post
	assert_status 0
	run -0 on login env "${job_env[@]}" SCR_JOB_ID=j2 scr_prerun --force
	assert_output_is ""
	[[ ! -e $BED_DIR/pfs/run/.scr/flush.scr.bak ]]
}
