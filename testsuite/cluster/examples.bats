#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034
# The batch scripts of examples/, with MPI jobs of one and two ranks a node, with
# and without spare nodes; ends.bats has more ends of jobs of one rank a node.
# SLURM and ssh are real; LSF, Flux and PBS cannot be installed here: for them, the
# tests show what the scripts do, not what the managers do: whether jsrun and flux
# end the other ranks and notice a silent node is not tested.  SCRKIT_SLOW tries
# all shapes.

load bed
load job

setup_file() { bed_up 5; }
teardown() { batch_stop; }

# The application leaves at a checkpoint in time before the end.
halt_seconds() {
	if [[ $1 == slurm ]]; then
		MINUTES=1 SET=(SCR_HALT_SECONDS=50) SBATCH=(--signal=B:USR1@1)
	else
		SET=(SCR_END_TIME=$(($(date +%s) + 60)) SCR_HALT_SECONDS=54)
		OPTIONS='--save-time 5'
	fi
	batch "$@" exit=1 pause=300
	batch_end
	assert_status 0
	assert_output_has "is saved"
}

# The application succeeds.  Then two nodes lose their caches of checkpoint 3, and
# so does the job's status.
lost_after() {
	mkdir -p "$BED_DIR/pfs/bin"
	cat >"$BED_DIR/pfs/bin/scr_postrun" <<-EOF
		#!/bin/sh
		for n in node1 node2; do
			ssh "\$n" 'rm -r /ssd/tester/scr.*/scr.dataset.3'
		done
		exec "$BIN/scr_postrun" "\$@"
	EOF
	chmod +x "$BED_DIR/pfs/bin/scr_postrun"
	OPTIONS='--postrun /pfs/bin/scr_postrun'
	batch "$@" steps=3
	batch_end
	assert_status 122
	assert_output_has "OLDER checkpoint ckpt.2 (dataset 2) is saved" \
		"ended with 122, scr_postrun with 3"
}

@test "ssh: two ranks a node, with a spare node" {
	each ssh 2 3 abort dead_node halt_seconds
}

@test "SLURM: two ranks a node, with a spare node" {
	each slurm 2 3 abort dead_node halt_seconds
}

@test "all of them: the application succeeds, and its last checkpoint is lost" {
	local way

	for way in slurm ssh lsf flux pbs; do
		each "$way" 1 4 lost_after
	done
}

@test "PBS: a silent node" {
	[[ -n ${SCRKIT_SLOW-} ]] || skip "slow"
	each pbs 1 4 silent_node
}

@test "LSF, Flux and PBS, whose commands others stand in for" {
	local way

	each lsf 2 3 dead_node
	for way in lsf flux pbs; do
		each "$way" 2 3 clean_end abort halt
	done
}

@test "all of them, with one rank and two, with and without spare nodes" {
	[[ -n ${SCRKIT_SLOW-} ]] || skip "slow"
	for way in slurm ssh lsf flux pbs; do
		for spare in 0 1; do
			for ranks in 1 2; do
				each "$way" $ranks $((4 / ranks + spare)) \
					clean_end abort dead_node halt \
					halt_seconds time_limit
			done
		done
	done
}

# The launcher is killed, and its step goes on.  It is ended before the program is
# launched again; a step of somebody else in the same allocation is not.
own_steps() {
	local steps

	SET=(SCR_RUNS=2) OPTIONS='--pause 5 --grace 5'
	batch "$@" steps=3 hold=3:/pfs/held
	job_await held
	on login srun --jobid="$(on login squeue -h -o %A)" --overlap -N1 \
		sleep 300 </dev/null 3>&- &
	# shellcheck disable=SC2016 # for eval
	await eval '[[ $(on login squeue -h -s -o %j) == *sleep* ]]'
	await grep -q "\"steps\":.{" "$BED_DIR/pfs/run/.scr/run.json"
	on node1 pkill -KILL -x srun
	await grep -q "run 1 ended" "$BED_DIR/pfs/out"
	steps=$(on login squeue -h -s -o %j)
	[[ $steps == *sleep* && $steps != *app* ]] || failed "steps: $steps"
	batch_go_on
	batch_end
	assert_status 0
	grep -qx "restart 2 1" "$JOURNAL"
	batch_left_nothing
}

@test "SLURM: its own step is ended, that of another program is not" {
	each slurm 1 4 own_steps
}
