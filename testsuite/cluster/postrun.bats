#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034
# shellcheck disable=SC2119,SC2120 # post takes options, and mostly has none
# Save the caches of a dead job by real pdsh and ssh, from nodes that died,
# hang, are full or cut off.

load bed

setup_file() { bed_up 4; }

# The index lists the dataset as valid and as the restart point.
assert_indexed() {
	answers 0 "1 YES" on login scr_index -p "$lay_prefix"
	assert_output_has "*"
}

@test "one node of an XOR set dead: saved, rebuilt, indexed, current" {
	bed_lay xor_8n4
	bed_kill node3
	lay_env+=(SCR_LOG_ENABLE=1)
	saves
	assert_output_has "is saved" "1 of 4 nodes dead"
	grep -q "event=SCAVENGE_START, dset=1, name=\"ckpt.1\"" "$lay_pfs/.scr/log"
	grep -q "event=SCAVENGE_END, dset=1, name=\"ckpt.1\", secs=" \
		"$lay_pfs/.scr/log"
	assert_indexed
	run -0 on login scr_index -p "$lay_prefix" --verify --deep
}

# Each scheme of the golden data loses as many nodes as it tolerates, and each
# launcher is used.  The time of each phase is reported.
saves_by() # REMOTE CASE [NODE...]
{
	local remote=$1 case=$2 start

	shift 2
	bed_lay "$case"
	start=$SECONDS
	if [[ $remote == srun || $remote == pdsh:exec ]]; then
		run post_in_slurm "$*" -vv
	else
		bed_kill "$@"
		start=$SECONDS
		run post -vv
	fi
	assert_status 0
	assert_output_has "is saved"
	# srun alone cannot tell.
	(($# == 0)) || assert_output_has "$(if [[ $remote == *srun ||
		$remote == mpiexec || $remote == pdsh:exec ]]; then
		echo "maybe alive"; else echo "$# of 4 nodes dead"; fi)"
	sed -n "s/^.*\(asking .* s, copying.*\)/# $remote $case, $# dead: \1/p" \
		<<<"$output" >&3
	# Dead nodes delay the probe and the copy by one time-out in all.
	((SECONDS - start < 15))
	assert_saved
	assert_indexed
}

@test "Reed-Solomon, two nodes dead, by ssh" {
	saves_by ssh rs2_8n4 node1 node4
}

@test "PARTNER, two nodes dead that are no neighbours" {
	saves_by pdsh partner_8n4 node1 node3
}

@test "every scheme through every launcher" {
	local remote

	[[ -n ${SCRKIT_SLOW-} ]] || skip "slow: one way for each scheme"
	command -v mpiexec >/dev/null || skip "no MPI here"
	bed_slurm_up
	for remote in pdsh ssh mpiexec srun pdsh:exec; do
		for job in "xor_8n4 node3" "rs2_8n4 node1 node4" \
			"partner_8n4 node1 node3" single_8n4; do
			# shellcheck disable=SC2086 # words
			saves_by "$remote" $job
			bed_wipe
		done
	done
}

# (D14 below: lost, if a node is dead.)
@test "SINGLE: saved if no node is dead" {
	bed_lay single_8n4
	saves
}

@test "a plan reports, and copies nothing" {
	bed_lay xor_8n4
	bed_kill node2
	find "$lay_pfs" | sort >"$BATS_TEST_TMPDIR/before"
	answers 0 recoverable post --plan
	assert_output_has "6/8" "can be saved"
	find "$lay_pfs" | grep -v scavenge.lock | sort |
		diff "$BATS_TEST_TMPDIR/before" -
	answers 0 '"state": "recoverable"' post --plan --json
	assert_output_has '"ranks_missing": 2' '"state": "dead"' '"status": 0'
}

@test "D3: caches that are full, or cannot be written, are read" {
	bed_lay xor_8n4
	bed_fill node1
	bed_fill node2
	bed_readonly node3
	bed_fill node4
	saves
	assert_output_lacks dead
}

@test "a node hangs, another refuses: each delays by its time-out, both may live" {
	local start=$SECONDS

	bed_lay rs2_8n4
	bed_freeze node2
	bed_refuse node3
	saves
	bed_thaw node2
	assert_output_has "maybe alive: node[2-3]"
	assert_output_lacks dead
	((SECONDS - start < 25))
}

@test "no node answers: status 1, and the caches are unchanged" {
	bed_lay xor_8n4
	bed_unplug node1 node2 node3 node4
	answers 1 "none of 4 nodes answered" post
	bed_plug node1 node2 node3 node4
	saves
}

@test "one cache for all nodes: copied once, the work split" {
	bed_lay -s xor_8n4
	bed_kill node2
	saves -v
	[[ $(grep -c '"copied":[1-9]' \
		"$lay_pfs"/.scr/scr.dataset.1/scavenge.o1000) -ge 2 ]]
}

# In an allocation of real SLURM: SLURM reports the nodes and which of them are
# down, and srun reaches them.
@test "under SLURM, over srun, with a dead node" {
	bed_slurm_up
	bed_lay xor_8n4
	lost=1 run post_in_slurm node3 -v
	assert_status 0
	assert_output_has "nodes: 4: node[1-2,4,3] (slurm)" \
		"slurm calls it down" "1 of 4 nodes dead"
	assert_line "; [1-9][^ ]* KiB copied"
	assert_saved
	assert_indexed
}

@test "under SLURM, over srun, a node dies and SLURM does not know it yet" {
	bed_slurm_up
	bed_lay rs2_8n4
	run -0 post_in_slurm node2
	assert_output_has "maybe alive: node2"
	assert_output_lacks dead
	assert_saved
	assert_indexed
}

# --- Defects of LLNL's tools, D1 to D15: scrkit does the right thing ---

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
