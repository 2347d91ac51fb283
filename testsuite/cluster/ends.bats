#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2030,SC2031,SC2034,SC2154 # bats and job.bash use them
# Twelve ends of a job, under SLURM and with plain ssh.  The jobs are run by the
# batch scripts of examples/, with an MPI program linked with libscr, which
# really dies.  Looked at after each: the verdict and the status of scr_postrun,
# the status of the job, the checkpoint from which the next job restarts, its
# content, and what is left on the nodes.

load bed
load job

setup_file() { bed_up 8; }
teardown() { batch_stop; }

clean_end()
{
	batch "$1" 4 steps=3
	batch_end
	assert_status 0
	assert_output_has "checkpoint ckpt.3 (dataset 3) is saved" \
		"ended with 0, scr_postrun with 0"
	batch_left_nothing
	job_restarts 3 1
}

@test "1. clean end (slurm)" { clean_end slurm; }
@test "1. clean end (ssh)" { clean_end ssh; }

# failed_saved STEP: the application failed, and its checkpoint is saved.
failed_saved()
{
	batch_end
	((status != 0))
	assert_output_has "checkpoint ckpt.$1 (dataset $1) is saved" \
		"scr_postrun with 0"
	batch_left_nothing
}

abort()
{
	batch "$1" 4 abort=3:1
	failed_saved 2
	job_restarts 2 1
}

@test "2. abort of a rank (slurm)" { abort slurm; }
@test "2. abort of a rank (ssh)" { abort ssh; }

writing()
{
	batch "$1" 4 die=3:1:dataset.3/rank_1
	failed_saved 2
	[[ $(job_cached node1) == "2 3" ]] || failed "cached: $(job_cached node1)"
	job_restarts 2 1
}

@test "3. killed while writing (slurm)" { writing slurm; }
@test "3. killed while writing (ssh)" { writing ssh; }

# Today libscr flushes before it returns, also where the background was asked
# for.
flushing()
{
	LAY=(SCR_FLUSH=3 SCR_FLUSH_ASYNC=1)
	batch "$1" 4 die=3:1:/pfs/run/ckpt.3
	failed_saved 3
	job_restarts 3 1
}

@test "4. killed in asynchronous flush (slurm)" { flushing slurm; }
@test "4. killed in asynchronous flush (ssh)" { flushing ssh; }

dead_node()
{
	batch "$1" 4 hold=3:/pfs/held
	job_await held
	batch_lose node2
	batch_end
	((status != 0 && status != 124))
	assert_output_has "checkpoint ckpt.2 (dataset 2) is saved" \
		"scr_postrun with 0"
	bed_revive node2
	batch_left_nothing
	job_restarts 2 1
}

@test "5. dead node (slurm)" { dead_node slurm; }
@test "5. dead node (ssh)" { dead_node ssh; }

# The second run restarts on the spare node from what is rebuilt in the caches.
spare()
{
	SET=(SCR_RUNS=2 NEEDED=4 SCR_MIN_NODES=4)
	batch "$1" 5 steps=3 hold=3:/pfs/held
	job_await held
	batch_lose -s node2
	batch_go_on
	batch_end
	assert_status 0
	grep -qx "restart 2 1" "$JOURNAL"
	assert_output_has "checkpoint ckpt.5 (dataset 5) is saved" \
		"ended with 0, scr_postrun with 0"
	bed_revive node2
	batch_left_nothing
	job_restarts 5 1
}

@test "6. dead node, and a spare (slurm)" { spare slurm; }
@test "6. dead node, and a spare (ssh)" { spare ssh; }

# Checkpoint 2 was flushed, 3 is lost with its set.
two_dead()
{
	LAY=(SCR_FLUSH=2)
	batch "$1" 4 hold=4:/pfs/held
	job_await held
	batch_lose -s node2 node3
	batch_end
	((status != 0 && status != 124))
	assert_output_has "lost: set 1 of 1" \
		"OLDER checkpoint ckpt.2 (dataset 2) is saved" \
		"scr_postrun with 3"
	bed_revive node2 node3
	batch_left_nothing
	job_restarts 2 1
}

@test "7. two dead nodes of a set (slurm)" { two_dead slurm; }
@test "7. two dead nodes of a set (ssh)" { two_dead ssh; }

# The application does not look at the time: the script stops it.
time_limit()
{
	local try

	if [[ $1 == slurm ]]; then
		MINUTES=1 SBATCH=(--signal=B:USR1@40)
	else
		SET=(SCR_END_TIME=$(($(date +%s) + 9)) GRACE=5
			SCR_HALT_SECONDS=0)
	fi
	JOB_LIMIT=120 batch "$1" 4 pause=300
	batch_end
	# SLURM may send the signal a minute early, before the first checkpoint.
	for try in 1 2 3; do
		[[ $output == *"caches hold no dataset"* ]] || break
		batch_stop
		JOB_LIMIT=120 batch "$1" 4 pause=300
		batch_end
	done
	((status != 0))
	assert_output_has "is saved" "scr_postrun with 0"
	batch_left_nothing
	job_restarts "$(grep complete "$JOURNAL" | tail -n 1 | cut -d ' ' -f 2)" 1
}

@test "8. time limit (slurm)" { time_limit slurm; }
@test "8. time limit (ssh)" { time_limit ssh; }

halt()
{
	batch "$1" 4 exit=1 hold=3:/pfs/held
	job_await held
	try on login scr_halt --checkpoints 1 /pfs/run
	assert_status 0
	batch_go_on
	batch_end
	assert_status 0
	assert_output_has "checkpoint ckpt.3 (dataset 3) is saved" \
		"ended with 0, scr_postrun with 0"
	batch_left_nothing
	job_id=later job_direct 4 steps=0
	# The halt file stops the next job, until it is removed.
	assert_status 0
	try on login scr_halt --remove /pfs/run
	assert_status 0
	job_restarts 3 1
}

@test "9. halt at the next checkpoint (slurm)" { halt slurm; }
@test "9. halt at the next checkpoint (ssh)" { halt ssh; }

halt_now()
{
	local which=()

	batch "$1" 4 hold=3:/pfs/held
	job_await held
	[[ $1 == slurm ]] ||
		which=(--pid "$(on login pgrep -f -o 'mpiexec.*/pfs/ap[p]')")
	try on login scr_halt --immediate --grace 3 "${which[@]}" /pfs/run
	assert_status 0
	batch_end
	((status != 124))
	assert_output_has "checkpoint ckpt.2 (dataset 2) is saved" \
		"scr_postrun with 0"
	batch_left_nothing
	try on login scr_halt --remove /pfs/run
	job_restarts 2 1
}

@test "10. halt now (slurm)" { halt_now slurm; }
@test "10. halt now (ssh)" { halt_now ssh; }

# start_slow slurm|ssh: a job of three checkpoints, whose scavenge takes long as
# node2 writes slowly; returns while it copies.
start_slow()
{
	SIZE=3000000
	batch "$1" 4 steps=3 "size=$SIZE" hold=3:/pfs/held
	job_await held
	bed_slow node2 400000 /pfs
	batch_go_on
	job_await run/.scr/scr.dataset.3
	sleep 1
}

# As if the time limit had come: the script and all that it started are killed.
cut_off()
{
	if [[ $way == slurm ]]; then
		first=$(on login squeue -h -o %A)
		on login scancel "$first"
	else
		first=first
		on login pkill -KILL -f 'examples/ssh.jo[b]' || true
		on login pkill -KILL -x scr_postrun || true
	fi
	wait "$JOB" || true
	bed_fast node2
	sleep 1
}

cut_scavenge()
{
	start_slow "$1"
	cut_off
	run on login scr_index -p /pfs/run
	[[ $output != *"3 YES"* ]] || failed "indexed before it was whole"
	# The next job, before anything else.
	try on login env "${job_env[@]}" scr_postrun --job-id "$first" \
		--nodes 'node[1-4]'
	assert_status 0
	assert_output_has "checkpoint ckpt.3 (dataset 3) is saved"
	batch_left_nothing
	job_restarts 3 1
}

@test "11. scavenge cut off, finished by the next job (slurm)" {
	cut_scavenge slurm
}
@test "11. scavenge cut off, finished by the next job (ssh)" {
	cut_scavenge ssh
}

# A second job, on the other nodes, with this application.
second_job()
{
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

too_early()
{
	local one

	start_slow "$1"
	one=$JOB
	cp "$BED_DIR/pfs/journal" "$BATS_TEST_TMPDIR/first"
	echo 2 >"$BED_DIR/pfs/round"
	second_job steps=1 size=3000000
	sleep 2
	bed_fast node2
	wait "$one" || failed "status $?: $(<"$BED_DIR/pfs/out")"
	assert_saved_first
	wait "$JOB" || failed "status $?: $(<"$BED_DIR/pfs/out2")"
	cat "$BED_DIR/pfs/out2"
	grep -qx 'restart 3 1' "$JOURNAL"
	grep -q 'checkpoint ckpt.4 (dataset 4) is saved' "$BED_DIR/pfs/out2"
	batch_left_nothing
	ROUND=2 job_restarts 4 2
}

# What the first job said.
assert_saved_first()
{
	output=$(cat "$BED_DIR/pfs/out")
	assert_output_has "checkpoint ckpt.3 (dataset 3) is saved" \
		"scr_postrun with 0"
}

@test "12. a second job starts too early (slurm)" { too_early slurm; }
@test "12. a second job starts too early (ssh)" { too_early ssh; }
