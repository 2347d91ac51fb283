#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2154 # scripts of jobs; bats and bed.bash set them
# scr_halt --immediate under real SLURM: the steps end, but the allocation and
# the caches remain.

load bed

setup_file() { bed_up 4; }

teardown()
{
	[[ -z ${BED_DIR-} ]] || on login scancel --full --quiet --user root ||
		true
	bed_wipe
}

# job SCRIPT: start a batch job on all nodes; sets $job once its first step
# runs.
job()
{
	local i

	bed_slurm_up
	printf '#!/bin/bash\n%s\n' "$1" >"$BED_DIR/pfs/job.sh"
	job=$(on login sbatch --parsable -N4 -n4 -o /pfs/job.out /pfs/job.sh)
	for ((i = 0; i < 100; i++)); do
		on login squeue -h -s -j "$job" -o %i | grep -q '\.0$' && break
		sleep 0.1
	done
	((i < 100)) || failed "no step"
	mkdir "$BED_DIR/pfs/run"
}

state()
{
	on login squeue -h -j "$job" -o %T
}

steps()
{
	on login squeue -h -s -j "$job" -o %i | grep -v -e batch -e extern
}

@test "the step ends, not the allocation: the batch script goes on" {
	job 'srun -n4 bash -c "touch /ssd/cached; sleep 300"
		echo "step ended" >/pfs/after; sleep 300'
	try on login scr_halt --immediate --job-id "$job" --grace 5 /pfs/run
	assert_status 0
	assert_stderr_has "stopping step $job.0" "stopped 1 step"
	[[ $(state) == RUNNING ]]
	[[ -z $(steps) ]]
	for i in 1 2 3 4; do
		on "node$i" test -e /ssd/cached
	done
	for ((k = 0; k < 50; k++)); do
		[[ ! -e $BED_DIR/pfs/after ]] || break
		sleep 0.1
	done
	[[ -e $BED_DIR/pfs/after ]]
	run on login scr_halt --list /pfs/run
	assert_output_has JOB_HALTED
	run on login scr_retries_halt --dir /pfs/run
	assert_status 0
}

@test "a step that ignores SIGTERM is killed after the grace" {
	job 'srun -n4 bash -c "trap : TERM; while :; do sleep 1; done"
		sleep 300'
	try on login scr_halt -i --job-id "$job" --grace 3 /pfs/run
	assert_status 0
	assert_stderr_has "killing step $job.0" "by SIGKILL"
	[[ $(state) == RUNNING && -z $(steps) ]]
}

@test "from inside of the job: our own step is left alone" {
	job 'srun -n4 --overlap sleep 300 &
		sleep 2
		srun -n1 -N1 --overlap scr_halt -i --grace 5 /pfs/run \
			>/pfs/halt.out 2>&1
		echo $? >/pfs/halt.rc; sleep 300'
	for ((k = 0; k < 150; k++)); do
		[[ ! -s $BED_DIR/pfs/halt.rc ]] || break
		sleep 0.1
	done
	run cat "$BED_DIR/pfs/halt.rc"
	assert_output_is 0
	run cat "$BED_DIR/pfs/halt.out"
	assert_output_has "stopping step $job.0" "stopped 1 step"
	[[ $(state) == RUNNING && -z $(steps) ]]
}

@test "no running step, and an unknown job" {
	job 'srun -n1 -N1 sleep 0.5; sleep 300'
	for ((k = 0; k < 50; k++)); do
		[[ -n $(steps) ]] || break
		sleep 0.2
	done
	try on login scr_halt -q -i --job-id "$job" /pfs/run
	assert_status 0
	try on login scr_halt -i --job-id 4711 /pfs/run
	assert_status 1
	assert_stderr_has "job 4711: slurm has no record of it"
}

# scancel reports an error for such a step, though it delivers the signal.
@test "a step that has lost a task ends, by SIGTERM or by SIGKILL" {
	job 'srun -n4 bash -c "[ \$SLURM_PROCID != 1 ] || kill -KILL \$\$
			while :; do sleep 1; done"
		srun -n4 bash -c "trap : TERM
			[ \$SLURM_PROCID != 2 ] || kill -KILL \$\$
			while :; do sleep 1; done"
		sleep 300'
	sleep 1
	[[ -n $(steps) ]]
	try on login scr_halt --immediate --job-id "$job" --grace 10 /pfs/run
	assert_status 0
	assert_stderr_has "stopping step $job.0" "stopped 1 step"
	for ((k = 0; k < 100; k++)); do
		[[ $(steps) != *.1* ]] || break
		sleep 0.1
	done
	sleep 1
	try on login scr_halt --immediate --job-id "$job" --grace 3 /pfs/run
	assert_status 0
	assert_stderr_has "killing step $job.1" "stopped 1 step, by SIGKILL"
	[[ $(state) == RUNNING && -z $(steps) ]]
}

@test "a job that is not the one of the prefix is refused" {
	job 'srun -n4 sleep 300; sleep 300'
	# Its flush.scr names job 1000.
	on login gen_dataset --prefix /pfs/run --layout both
	try on login scr_halt --immediate --job-id "$job" /pfs/run
	assert_status 2
	assert_stderr_one_line "job $job" "names job 1000" "--force"
	[[ -n $(steps) ]]
	try on login scr_halt --immediate --force --job-id "$job" /pfs/run
	assert_status 0
	assert_stderr_has "stopped 1 step"
	# Without an id the flush file names the job.
	try on login scr_halt --immediate /pfs/run
	assert_status 1
	assert_stderr_has "job 1000: slurm has no record of it"
}
