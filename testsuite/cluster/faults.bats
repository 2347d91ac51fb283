#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2119,SC2120 # post takes options, and mostly has none
# Faults during a scavenge.  At the end the prefix must have the best dataset
# that the survivors allow, and the status must be right.

load bed

setup_file() { bed_up 4; }

# The dataset is valid in the index, whole, and has parity; no temporary files
# are left.
assert_whole() {
	answers 0 "1 YES" on login scr_index -p "$lay_prefix"
	run -0 on login scr_index -p "$lay_prefix" --verify --deep
	[[ -z $(find "$lay_pfs" -name '.scrkit-*.tmp') ]]
}

@test "a node dies, or its network is cut, while it is copied from" {
	local row case node fault

	for row in "xor_8n4 node2 kill" "rs2_8n4 node3 unplug"; do
		read -r case node fault <<<"$row"
		bed_lay "$case"
		bed_slow "$node" 20000 /tmp/scrgold
		post >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		await test -d "$lay_pfs/ckpt.1"
		await on "$node" pgrep -x scr_copy
		"bed_$fault" "$node"
		wait $! ||
			failed "$fault: status $?" "$(<"$BATS_TEST_TMPDIR/out")"
		# It answered the probe and died later.
		grep "$node: dataset 1: " "$BATS_TEST_TMPDIR/out"
		bed_heal
		# What runs there still notices that nobody listens.
		while on "$node" pgrep -x scr_copy; do sleep 0.2; done
		assert_saved
		assert_whole
		bed_wipe
	done
}

# Kill it at random moments and run it again while the processes it started on
# the nodes may still be working.  In half of the rounds one node is dead, which
# makes the probe a second longer.
@test "killed at random moments, and run again" {
	local rounds=6 killed=0 n ms

	((${SCRKIT_SLOW:-0} == 0)) || rounds=50
	# Not i, which `run -N` of bats 1.8 changes.
	for ((n = 0; n < rounds; n++)); do
		bed_lay xor_8n4
		ms=$((RANDOM % 550))
		((n % 2)) || { bed_kill node3 && ms=$((ms + 950)); }
		status=0
		on login env "${lay_env[@]}" timeout -s KILL \
			"$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))" \
			scr_postrun -r pdsh -t 2 --node-timeout 5 || status=$?
		((status == 0)) || killed=$((killed + 1))
		# LLNL's tool of the same name finds no unfinished dataset in
		# the index: it prints YES only for whole ones.
		if on login scr_index -p "$lay_prefix" 2>/dev/null |
			grep -q "1 YES"; then
			on login scr_index -q -p "$lay_prefix" --verify
		fi
		saves
		assert_whole
		bed_wipe
	done
	echo "# $killed of $rounds killed" >&3
	((killed > 0))
}

@test "SIGTERM: it stops, reports it, and resumes later" {
	bed_lay xor_8n4
	bed_slow node1 20000 /tmp/scrgold
	run on login env "${lay_env[@]}" timeout -s TERM 2 scr_postrun -r pdsh
	bed_fast node1
	assert_status 124
	assert_output_has "run it again"
	saves
	assert_whole
}
