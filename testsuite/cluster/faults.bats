#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # bats and bed_lay set them
# shellcheck disable=SC2119,SC2120 # post takes options, and mostly has none
# Faults during a scavenge.  At the end the prefix must have the best dataset
# that the survivors allow, and the status must be right.

load bed

setup_file() { bed_up 4; }

# The dataset is valid in the index, whole, and has parity; no temporary files
# are left.
assert_whole()
{
	run on login scr_index -p "$lay_prefix"
	assert_output_has "1 YES"
	run on login scr_index -p "$lay_prefix" --verify --deep
	assert_status 0
	[[ -z $(find "$lay_pfs" -name '.scrkit-*.tmp') ]]
}

@test "a node dies while it is copied from" {
	bed_lay xor_8n4
	# The node reads slowly, and is killed during the copy.
	bed_slow node2 20000 /tmp/scrgold
	post >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	sleep 2
	bed_kill node2
	wait $! || status=$?
	cat "$BATS_TEST_TMPDIR/out"
	((${status:-0} == 0))
	# It answered the probe and died later.
	grep -q "node2: dataset 1: " "$BATS_TEST_TMPDIR/out"
	assert_saved xor_8n4
	assert_whole
}

@test "its network is cut while it is copied from" {
	bed_lay rs2_8n4
	bed_slow node3 20000 /tmp/scrgold
	post >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	sleep 2
	bed_unplug node3
	wait $! || status=$?
	bed_plug node3
	cat "$BATS_TEST_TMPDIR/out"
	((${status:-0} == 0))
	grep -q "node3: dataset 1: " "$BATS_TEST_TMPDIR/out"
	# What runs there still notices that nobody listens, and cleans up.
	while on node3 pgrep -x scr_copy >/dev/null; do sleep 0.2; done
	assert_saved rs2_8n4
	assert_whole
}

@test "a slow node is waited for" {
	bed_lay xor_8n4
	bed_slow node1 10000 /tmp/scrgold
	local start=$SECONDS
	run post
	assert_status 0
	[[ $output != *dead* ]]
	# Longer than the time-out for a silent node.
	((SECONDS - start > 5))
	assert_saved xor_8n4
	assert_whole
}

@test "the prefix fills up: status 1; with free space it resumes" {
	bed_lay xor_8n4
	bed_fill login /pfs
	run post
	assert_status 1
	assert_output_has "run it again"
	bed_drain login /pfs
	run post
	assert_status 0
	assert_saved xor_8n4
	assert_whole
}

@test "a damaged filemap, a short file, a flipped bit of metadata" {
	bed_lay xor_8n4
	on node1 sh -c "printf junk >$lay_cache/golduser/scr.1000/scr.dataset.1/.scr/filemap_0"
	run post
	assert_status 0
	assert_saved xor_8n4
	assert_whole
	bed_wipe
	bed_lay xor_8n4
	on node3 sh -c "truncate -s 5 $lay_cache/golduser/scr.1000/scr.dataset.1/rank_4.ckpt"
	run post
	assert_status 0
	assert_saved xor_8n4
	assert_whole
	bed_wipe
	bed_lay xor_8n4
	on node2 sh -c "printf junk >$lay_cntl/golduser/scr.1000/cindex.scrinfo"
	run post
	assert_status 0
	assert_saved xor_8n4
	assert_whole
}

# Kill it at random moments and run it again while the processes it started on
# the nodes may still be working.  In half of the rounds one node is dead, which
# makes the probe a second longer.
@test "killed at random moments, and run again" {
	local rounds=8 killed=0 i ms

	((${SCRKIT_SLOW:-0} == 0)) || rounds=50
	for ((i = 0; i < rounds; i++)); do
		bed_lay xor_8n4
		ms=$((RANDOM % 550))
		((i % 2)) || { bed_kill node3 && ms=$((ms + 950)); }
		status=0
		on login env "${lay_env[@]}" timeout -s KILL \
			"$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))" \
			scr_postrun -r pdsh -t 1 --node-timeout 4 || status=$?
		((status == 0)) || killed=$((killed + 1))
		# LLNL's tool of the same name finds no unfinished dataset in
		# the index: it prints YES only for whole ones.
		if on login scr_index -p "$lay_prefix" 2>/dev/null |
			grep -q "1 YES"; then
			on login scr_index -q -p "$lay_prefix" --verify
		fi
		run post
		assert_status 0
		assert_saved xor_8n4
		assert_whole
		bed_wipe
	done
	echo "# $killed of $rounds killed" >&3
	((killed > 0))
}

@test "SIGTERM: it stops, reports it, and resumes later" {
	bed_lay xor_8n4
	bed_slow node1 10000 /tmp/scrgold
	run on login env "${lay_env[@]}" timeout -s TERM 3 scr_postrun -r pdsh
	bed_fast node1
	assert_status 124
	assert_output_has "run it again"
	run post
	assert_status 0
	assert_saved xor_8n4
	assert_whole
}
