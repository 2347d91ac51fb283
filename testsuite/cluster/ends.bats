#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034
# Twelve ends of a job, with plain ssh and under SLURM.  The jobs are run by the
# batch scripts of examples/, with an MPI program linked with libscr, which
# really dies.  Looked at after each: the verdict and the status of scr_postrun,
# the status of the job, the checkpoint from which the next job restarts, its
# content, and what is left on the nodes.

load bed
load job

setup_file() { bed_up 8; }
teardown() { batch_stop; }

# both NODES END: one rank a node.  Of both ways one, day by day in turn; SLOW=1: both.
both() {
	local ways=(ssh slurm) one

	[[ -n ${SCRKIT_SLOW-} ]] ||
		ways=("${ways[(BATS_TEST_NUMBER + EPOCHSECONDS / 86400) % 2]}")
	for one in "${ways[@]}"; do
		each "$one" 1 "$@"
	done
}

@test "1. clean end" { both 4 clean_end; }
@test "2. abort of a rank" { both 4 abort; }

writing() {
	batch "$@" die=3:1:dataset.3/rank_1
	ended failed 2
	[[ $(job_cached node1) == "2 3" ]] || failed "cached: $(job_cached node1)"
	job_restarts 2 1
}

@test "3. killed while writing" { both 4 writing; }

# Today libscr flushes before it returns, also where the background was asked
# for.
flushing() {
	LAY=(SCR_FLUSH=3 SCR_FLUSH_ASYNC=1)
	batch "$@" die=3:1:/pfs/run/ckpt.3
	ended failed 3
	job_restarts 3 1
}

@test "4. killed in asynchronous flush" { both 4 flushing; }
@test "5. dead node" { both 4 silent_node; }
@test "6. dead node, and a spare" { both 5 dead_node; }

# Checkpoint 2 was flushed, 3 is lost with its set.
two_dead() {
	LAY=(SCR_FLUSH=2)
	batch "$@" hold=4:/pfs/held
	job_await held
	batch_lose -s node2 node3
	batch_end
	((status != 0))
	assert_output_has "lost: set 1 of 1" \
		"OLDER checkpoint ckpt.2 (dataset 2) is saved" \
		"ended with $status, scr_postrun with 3"
	bed_revive node2 node3
	batch_left_nothing
	job_restarts 2 1
}

@test "7. two dead nodes of a set" { both 4 two_dead; }
@test "8. time limit" { both 4 time_limit; }
@test "9. halt at the next checkpoint" { both 4 halt; }

halt_now() {
	local which=()

	batch "$@" hold=3:/pfs/held
	job_await held
	[[ $1 == slurm ]] ||
		which=(--pid "$(on login pgrep -f -o 'mpiexec.*/pfs/ap[p]')")
	ends 0 on login scr_halt --immediate --grace 3 "${which[@]}" /pfs/run
	batch_end
	assert_status 0
	assert_output_has "checkpoint ckpt.2 (dataset 2) is saved"
	batch_left_nothing
	ends 0 on login scr_halt --remove /pfs/run
	job_restarts 2 1
}

@test "10. halt now" { both 4 halt_now; }

# start_slow WAY NODES: a job of three checkpoints, whose scavenge takes long as
# node2 writes slowly; returns while it copies.
start_slow() {
	SIZE=3000000
	batch "$@" steps=3 "size=$SIZE" hold=3:/pfs/held
	job_await held
	bed_slow node2 100000 /pfs
	batch_go_on
	job_await run/.scr/scr.dataset.3
	sleep 1
}

# As if the time limit had come: the script and all that it started are killed.
# The next job completes the scavenge, before anything else.
cut_scavenge() {
	local first=first

	start_slow "$@"
	if [[ $way == slurm ]]; then
		first=$(on login squeue -h -o %A)
		on login scancel "$first"
	else
		on login pkill -KILL -x scr_run || true
		on login pkill -KILL -x scr_postrun || true
	fi
	wait "$JOB" || true
	bed_fast node2
	sleep 1
	run on login scr_index -p /pfs/run
	[[ $output != *"3 YES"* ]] || failed "indexed before it was whole"
	shows "checkpoint ckpt.3 (dataset 3) is saved" \
		on login env "${job_env[@]}" scr_postrun --job-id "$first" \
		--nodes 'node[1-4]'
	batch_left_nothing
	job_restarts 3 1
}

@test "11. scavenge cut off, finished by the next job" { both 4 cut_scavenge; }

# A second job, on the other nodes, with this application.
second_job() {
	local job=("$TESTSUITE/../examples/ssh.job" /pfs/launch "$@")

	if [[ $way == slurm ]]; then
		job=(sbatch -Q -W -N4 -t 60 -o /pfs/out2
			"$TESTSUITE/../examples/slurm.sbatch" /pfs/app "$@")
	else
		job_env+=(SCR_JOB_ID=second 'SCR_NODELIST=node[5-8]')
	fi
	on login env "${job_env[@]}" \
		sh -c 'cd /pfs/run && exec "$@" >>/pfs/out2 2>&1' - "${job[@]}" \
		</dev/null 3>&- &
	JOB=$!
}

too_early() {
	local one

	start_slow "$@"
	one=$JOB
	echo 2 >"$BED_DIR/pfs/round"
	second_job steps=1 size=3000000
	sleep 2
	bed_fast node2
	wait "$one" || failed "status $?: $(<"$BED_DIR/pfs/out")"
	output=$(<"$BED_DIR/pfs/out")
	assert_output_has "checkpoint ckpt.3 (dataset 3) is saved"
	wait "$JOB" || failed "status $?: $(<"$BED_DIR/pfs/out2")"
	output=$(<"$BED_DIR/pfs/out2")
	assert_output_has "checkpoint ckpt.4 (dataset 4) is saved"
	grep -qx 'restart 3 1' "$JOURNAL"
	batch_left_nothing
	ROUND=2 job_restarts 4 2
}

@test "12. a second job starts too early" { both 4 too_early; }

# scr_run is started on node8, which has no rank, and dies with it: the ranks go on,
# and nothing ends them.  Another one, on login, takes over.
node_of_wrapper() {
	local from

	job_lay "${LAY[@]}"
	ROUND=1
	job_env+=(SCR_JOB_ID=first 'SCR_NODELIST=node[1-4]' SCR_NODE_TIMEOUT=5)
	on node8 env "${job_env[@]}" sh -c 'cd /pfs/run && exec scr_run --runs 2 \
		--pause 0 --node-watch 1 mpiexec -launcher ssh \
		-hosts node1,node2,node3,node4 -ppn 1 -n 4 /pfs/app "$@"' - \
		steps=3 hold=3:/pfs/held </dev/null >/dev/null 2>&1 3>&- &
	JOB=$!
	job_await held
	sleep "0.$((RANDOM % 10))"
	"bed_kill$1" node8
	wait "$JOB" || true
	JOB=
	sleep 1
	[[ -n $1 ]] || on node1 pgrep -x app_kills
	batch_go_on
	try on login env "${job_env[@]}" scr_run -p /pfs/run --resume
	assert_status 0
	# The ranks may have completed checkpoint 3 in the meantime.
	from=$(sed -n 's/^restart \([23]\) 1$/\1/p' "$JOURNAL")
	[[ -n $from ]] || failed "$(<"$JOURNAL")"
	assert_stderr_has "scr_run on node8, process" "taking over" \
		"checkpoint ckpt.$((from + 3)) (dataset $((from + 3))) is saved"
	batch_left_nothing
	bed_heal
	job_restarts $((from + 3)) 1
}

@test "13. the node of scr_run dies: another one takes over" {
	local n how=("" _soft)

	[[ -n ${SCRKIT_SLOW-} ]] && how=("" _soft "" _soft "" _soft "" _soft "" _soft) ||
		how=("${how[EPOCHSECONDS / 86400 % 2]}")
	for n in "${how[@]}"; do
		node_of_wrapper "$n"
		batch_stop
	done
}

# Two nodes fall silent.  After the first one the program is launched again; after
# the second one somebody stops the job.  The next job fetches what was saved.
life() {
	local which=() grace=20

	LAY=("SCR_COPY_TYPE=$scheme") SET=(SCR_RUNS=3) OPTIONS="--grace 3"
	batch "$@" hold=3:/pfs/held
	job_times
	job_await held
	rm "$BED_DIR/pfs/held"
	mark node2 dies
	batch_lose node2
	job_await held
	bed_kill node3
	mark halt
	if [[ $1 == slurm ]]; then # it would notice the node too late
		{ sleep 0.5 && bed_slurm_lost node3; } 3>&- &
	else
		which=(--pid "$(on login pgrep -f -o 'mpiexec.*/pfs/ap[p]')")
		grace=3
	fi
	ends 0 on login scr_halt --immediate --grace $grace "${which[@]}" /pfs/run
	batch_end
	assert_status 0
	assert_output_has "checkpoint ckpt.4 (dataset 4) is saved"
	batch_left_nothing
	ends 0 on login scr_halt --remove /pfs/run
	bed_heal
	job_id=next job_direct 4 steps=2
	assert_status 0
	job_id=next job_post
	assert_status 0
	job_restarts 6 2
	[[ $(grep -E '^(round|restart)' "$JOURNAL" | paste -sd ,) == "round 1,restart none,\
round 1,restart 2 1,round 2,restart 4 1,round 3,restart 6 2" ]] || failed "$(<"$JOURNAL")"
	echo "# $scheme: $(took noticed "node2 dies" "run 1 ended"
		took "launched again" "run 1 ended" "round 1"
		took "restarted after" "run 1 ended" "restart 2"
		took halted halt "run 2 ended"
		took saved "run 2 ended" "is saved"
		took fetched "round 2" "restart 4")" >&3
}

@test "14. relaunched, halted, fetched by the next job" {
	local scheme schemes=(XOR RS PARTNER)

	[[ -n ${SCRKIT_SLOW-} ]] || schemes=("${schemes[EPOCHSECONDS / 86400 % 3]}")
	for scheme in "${schemes[@]}"; do
		both 5 life
	done
}

# Ends that only SLURM knows.  batch_end_as STATE: what it says of the job.  sbatch
# does not wait for the end of a job that is cancelled.
batch_end_as() {
	status=0
	wait "$JOB" || status=$?
	# shellcheck disable=SC2016 # for eval
	await eval '[[ -z $(on login squeue -h) ]]'
	output=$(<"$BED_DIR/pfs/out") stderr=
	[[ $(slurm_says) == " $1 "* ]] || failed "$(slurm_says)"
}

# The wrapper knows the end, and needs no signal.
end_of_time() {
	MINUTES=1 OPTIONS='--save-time 50'
	JOB_LIMIT=120 batch "$@" pause=300
	batch_end_as COMPLETED
	assert_status 0
	assert_output_has "s: the run is ended" "is saved"
	batch_left_nothing
}

# That of the wrapper, too.
all_lost() {
	SBATCH=(--no-requeue)
	batch "$@" hold=3:/pfs/held
	job_await held
	batch_lose node{1..5}
	batch_end_as NODE_FAIL
	bed_heal
}

cancelled() {
	local id

	batch "$@" hold=3:/pfs/held
	job_await held
	id=$(on login squeue -h -t R -o %A)
	on login scancel "$id"
	batch_end_as CANCELLED
	assert_output_has "not launched again: a signal asks to stop"
	batch_left_nothing
	# Loaded machines: SLURM may have cut the scavenge short.
	ends 0 on login env "${job_env[@]}" scr_postrun --job-id "$id" \
		--nodes 'node[1-5]'
	job_restarts 2 1
}

@test "15. SLURM: all nodes lost, scancel, end of the time" {
	each slurm 1 5 all_lost cancelled
	[[ -z ${SCRKIT_SLOW-} ]] || each slurm 1 5 end_of_time
}

@test "16. SLURM: a heterogeneous job" {

	bed_slurm_up
	job_lay SCR_RUNS=2
	printf '#!/bin/sh\nexec scr_run --pause 0 %s "$@"\n' \
		"srun --het-group=0,1 --kill-on-bad-exit=1 /pfs/app" >"$BED_DIR/pfs/het"
	chmod +x "$BED_DIR/pfs/het"
	status=0
	ROUND=1 way=slurm
	on login env "${job_env[@]}" sh -c 'cd /pfs/run && exec "$@"' - \
		sbatch -Q -W --no-kill -o /pfs/out -N2 : -N2 /pfs/het abort=2:1 </dev/null ||
		status=$?
	output=$(<"$BED_DIR/pfs/out") stderr=
	((status != 0))
	assert_output_has "checkpoint ckpt.2 (dataset 2) is saved" "run 2 ended"
	grep -qx "restart 1 1" "$JOURNAL"
	batch_left_nothing
	NODES=4 job_restarts 2 1
}

# A node stops, and its connections stay: it is given up, and the job goes on.
frozen_node() {
	SET=(SCR_RUNS=2 SCR_NODE_TIMEOUT=2) OPTIONS="--grace 3"
	batch "$@" steps=3 hold=3:/pfs/held
	job_await held
	bed_freeze node2
	await grep -q "run 1 ended" "$BED_DIR/pfs/out"
	batch_go_on
	batch_end
	assert_status 0
	assert_output_has "node2 is not used any more" \
		"checkpoint ckpt.5 (dataset 5) is saved"
	grep -qx "restart 2 1" "$JOURNAL"
	bed_heal
	job_restarts 5 1
}

# The ranks hang.
hung() {
	SET=(SCR_RUNS=2) OPTIONS="--grace 3 --timeout 4 --start-timeout 40"
	batch "$@" steps=3 hold=3:/pfs/held
	job_await held
	await grep -q "no progress" "$BED_DIR/pfs/out"
	batch_go_on
	ended ok 5
	grep -qx "restart 2 1" "$JOURNAL"
}

# A flush takes longer than the time for a checkpoint.
slow_flush() {
	LAY=(SCR_FLUSH=2)
	OPTIONS="--grace 3 --timeout 2 --start-timeout 40 --flush-timeout 60"
	bed_slow node2 100000 /pfs
	batch "$@" steps=3 size=1000000
	ended ok 3
	[[ $output != *"no progress"* ]] || failed "$output"
}

# A fetch takes longer than the time for a checkpoint, and up to the first one.
slow_fetch() {
	job_lay SCR_FLUSH=1
	job_direct 4 steps=1 size=1000000
	LAY=()
	OPTIONS="--grace 3 --timeout 4 --start-timeout 6 --flush-timeout 60"
	bed_slow node2 100000 /pfs
	batch "$@" steps=1 size=1000000
	ended ok 2
	[[ $output != *"no progress"* ]] || failed "$output"
	grep -qx "restart 1 1" "$JOURNAL"
}

@test "17. a frozen node, ranks that hang, a slow flush, a slow fetch" {
	each ssh 1 5 frozen_node hung slow_flush slow_fetch
}
