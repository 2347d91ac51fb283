#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034
# shellcheck disable=SC2119,SC2120 # post takes options, and mostly has none
# The known defects D1 to D15 of LLNL's tools, reproduced on the bed: scrkit
# must do the right thing.  Not repeated here: D3 (postrun.bats), D8 and D10
# (scr_index.bats and scr_env.bats of testsuite/cmd), D12 (scr_env.bats), D15
# (verdict.bats).

load bed

setup_file() { bed_up 4; }

# flip NODE RANK: change four bytes in the cache of this node, but neither size
# nor time of the file.
flip() {
	# shellcheck disable=SC2016 # for the shell there
	on "$1" sh -c 'touch -r "$1" /tmp/time
		printf XXXX | dd of="$1" bs=1 seek=10 conv=notrunc status=none
		touch -r /tmp/time "$1"' - \
		"$lay_cache/golduser/scr.1000/scr.dataset.1/rank_$2.ckpt"
}

@test "D1, D5: a failed build does not stick: lost; a node is back: saved" {
	bed_lay xor_8n4
	bed_unplug node1 node2
	# All available files are copied, but the dataset cannot be built.
	answers 4 LOST post --id 1
	assert_output_has "set 1 of 2 (XOR"
	[[ ! -e $lay_pfs/.scr/scr.dataset.1/summary.scr ]]
	answers 4 ranks on login scr_index -p "$lay_prefix" --build 1
	bed_plug node2
	saves
	answers 0 "1 YES" on login scr_index -p "$lay_prefix"
}

@test "D2: the template's CNTLDIR=... BYTES=... works" {
	bed_lay xor_8n4
	cat >"$lay_pfs/.scrconf" <<-EOF
		# as in the template
		CNTLDIR=$lay_cntl BYTES=1GB
		CACHEDIR=$lay_cache BYTES=50GB
		SCR_USE_CONTAINERS=0 # a comment
	EOF
	run on login env -u SCR_CONF_FILE SCR_USER_NAME=golduser \
		SCR_JOB_ID=1000 "SCR_NODELIST=node[1-4]" \
		scr_postrun -p "$lay_prefix" -r pdsh -t 2
	assert_status 0
	assert_saved
}

@test "D4: a prefix with blanks, quotes and dollars" {
	local name="run 5/it's \$HOME"

	for remote in pdsh ssh; do
		bed_lay xor_8n4 "$name"
		bed_kill node4
		saves -p "/pfs/$name" --moved-from "$lay_prefix"
		bed_wipe
	done
}

@test "D5, D14: a lost dataset is reported, with status 4, and what lost it" {
	bed_lay partner_8n4
	bed_kill node2 node3
	answers 4 LOST post
	assert_output_has "set 1 of 2 (PARTNER"
	bed_wipe
	# A set without remaining files.
	bed_lay single_8n4
	bed_kill node4
	answers 4 LOST post
	assert_output_has "ranks 6 7" "1 of 4 nodes dead"
	# No file was copied in vain.
	[[ ! -e $lay_pfs/ckpt.1/rank_0.ckpt ]]
	# The dataset that is asked for is copied all the same.
	answers 4 rank post --id 1
	answers 4 rank on login scr_index -p "$lay_prefix" --build 1
}

@test "D6: commands run on the nodes, whatever the launcher" {
	bed_lay xor_8n4
	# These cannot start a command on a node given by name, so another
	# launcher is chosen.
	for remote in jsrun lrun aprun; do
		answers 0 complete post -v --plan
		assert_output_has "8/8" "pdsh"
	done
	# The requested launcher is missing: it is reported, and no other is
	# used.
	remote=flux answers 1 flux post
	remote=mpirun
	if ! on login sh -c 'command -v mpiexec' >/dev/null; then
		answers 1 mpiexec post
		skip "no mpiexec; the others were tried"
	fi
	saves
}

@test "D7: bytes that changed in a cache: RS finds and rebuilds the file" {
	bed_lay rs2_8n4
	flip node3 4
	saves
	assert_output_has "ckpt.1/rank_4.ckpt of rank 4: its contents are damaged" \
		"(RS) is consistent without it"
	run -0 on login scr_index -p "$lay_prefix" --verify --deep --checksums
}

@test "D7: bytes that changed in a cache: XOR and PARTNER name the set" {
	bed_lay xor_8n4
	flip node3 4
	answers 1 "set 1 of 2 (XOR) is inconsistent: 4 bytes differ" post
	assert_output_has "one of the ranks 0 2 4 6" "--no-compare"
	[[ ! -e $lay_pfs/.scr/scr.dataset.1/summary.scr ]]
	# Another run copies nothing and reports the same.
	answers 1 "one of the ranks 0 2 4 6" post
	run -0 post --id 1 --no-compare
	bed_lay partner_8n4
	flip node3 4
	answers 1 "which of them is wrong is unknown" post
	assert_output_has "(PARTNER): the data of rank 4 and their copy at rank"
}

@test "D9: ranges of nodes that SLURM calls down are understood" {
	bed_slurm_up
	bed_lay rs2_8n4
	bed_kill node2 node3
	bed_slurm_lost node2 node3
	down() { [[ $(on login sinfo -ho %N -t down) == "node[2-3]" ]]; }
	await down
	run on login env "${lay_env[@]}" SLURM_JOB_ID=1 scr_env down-nodes -r \
		--remote pdsh --timeout 2
	assert_output_has "node[2-3]: "
}

# turns.bats: a second scavenge waits, or reports why it does not run.
@test "D11: concurrent changes of the index do not harm each other" {
	local i pids=()

	bed_lay xor_8n4
	run -0 post
	for i in 1 2 3 4 5 6; do
		on login scr_index -p "$lay_prefix" --build 1 >/dev/null 2>&1 &
		pids+=($!)
		on login scr_index -p "$lay_prefix" --current ckpt.1 \
			>/dev/null 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || failed "status $?"
	done
	answers 0 "1 YES" on login scr_index -p "$lay_prefix"
	assert_saved
}

@test "D13: a prefix that was moved is built all the same" {
	bed_lay xor_8n4
	bed_kill node1
	run -0 post
	cp -a "$lay_pfs" "$BED_DIR/pfs/moved"
	rm "$BED_DIR"/pfs/moved/.scr/scr.dataset.1/summary.scr \
		"$BED_DIR"/pfs/moved/ckpt.1/rank_6.ckpt
	run -0 on login scr_index -p /pfs/moved --build 1
	lay_pfs=$BED_DIR/pfs/moved
	assert_saved
}
