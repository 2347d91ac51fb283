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
	grep -q "event=SCAVENGE_END, dset=1, name=\"ckpt.1\", secs=" "$lay_pfs/.scr/log"
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
	if [[ $remote == srun ]]; then
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
		$remote == mpiexec ]]; then
		echo "maybe alive"; else echo "$# of 4 nodes dead"; fi)"
	sed -n "s/^.*\(asking .* s, copying.*\)/# $remote $case, $# dead: \1/p" \
		<<<"$output" >&3
	# Dead nodes delay the probe and the copy by one time-out in all.
	soon "$start" 15
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
	for remote in pdsh ssh mpiexec srun; do
		for job in "xor_8n4 node3" "rs2_8n4 node1 node4" \
			"partner_8n4 node1 node3" single_8n4; do
			# shellcheck disable=SC2086 # words
			saves_by "$remote" $job
			bed_wipe
		done
	done
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

@test "D4: a prefix with blanks, quotes and dollars" {
	local name="run 5/it's \$HOME"

	for remote in pdsh ssh; do
		bed_lay xor_8n4 "$name"
		bed_kill node4
		saves -p "/pfs/$name" --moved-from "$lay_prefix"
		bed_wipe
	done
}

@test "D5, D14: a lost dataset is not copied in vain, unless it is asked for" {
	bed_lay single_8n4
	bed_kill node4
	answers 4 LOST post
	[[ ! -e $lay_pfs/ckpt.1/rank_0.ckpt ]]
	answers 4 rank post --id 1
	answers 4 rank on login scr_index -p "$lay_prefix" --build 1
}
