#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016 # scripts of jobs
# scr_halt --immediate under real SLURM: the steps end, but the allocation and
# the caches remain.

load bed

setup_file() { bed_up 4; }

teardown() {
	[[ -z ${BED_DIR-} ]] || on login scancel --full --quiet --user root ||
		true
	bed_wipe
}

# job SCRIPT: start a batch job on all nodes; sets $job once its first step
# runs.
job() {
	bed_slurm_up
	printf '#!/bin/bash\n%s\n' "$1" >"$BED_DIR/pfs/job.sh"
	job=$(on login sbatch --parsable -N4 -n4 -o /pfs/job.out /pfs/job.sh)
	await step 0
	mkdir "$BED_DIR/pfs/run"
}

# Step NUMBER runs; no step does.
step() { [[ $(steps) == *".$1"* ]]; }
no_step() { [[ -z $(steps) ]]; }

# stops TEXT OPTION...: scr_halt --immediate stops a step, and says TEXT; the
# job goes on.
stops() {
	warns 0 "$1" on login scr_halt --immediate --job-id "$job" "${@:2}" /pfs/run
	assert_stderr_has "stopped 1 step"
	[[ $(state) == RUNNING ]]
}

state() {
	on login squeue -h -j "$job" -o %T
}

steps() {
	on login squeue -h -s -j "$job" -o %i | grep -v -e batch -e extern
}

@test "from inside of the job: our own step is left alone" {
	job 'srun -n4 --overlap sleep 300 &
		sleep 2
		srun -n1 -N1 --overlap scr_halt -i --grace 5 /pfs/run \
			>/pfs/halt.out 2>&1
		echo $? >/pfs/halt.rc; sleep 300'
	await test -s "$BED_DIR/pfs/halt.rc"
	prints 0 cat "$BED_DIR/pfs/halt.rc"
	shows "stopping step $job.0" cat "$BED_DIR/pfs/halt.out"
	assert_output_has "stopped 1 step"
	[[ $(state) == RUNNING ]]
	no_step
}

@test "no running step, and an unknown job" {
	job 'srun -n1 -N1 sleep 0.5; sleep 300'
	await no_step
	ends 0 on login scr_halt -q -i --job-id "$job" /pfs/run
	warns 1 "job 4711: slurm has no record of it" \
		on login scr_halt -i --job-id 4711 /pfs/run
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
	step 0
	stops "stopping step $job.0" --grace 10
	await step 1
	sleep 1
	stops "killing step $job.1" --grace 2
	assert_stderr_has "stopped 1 step, by SIGKILL"
	no_step
}

@test "a job that is not the one of the prefix is refused" {
	job 'srun -n4 sleep 300; sleep 300'
	# Its flush.scr names job 1000.
	on login gen_dataset --prefix /pfs/run --layout both
	complains 2 "names job 1000" \
		on login scr_halt --immediate --job-id "$job" /pfs/run
	assert_stderr_has "job $job" "--force"
	step 0
	stops "stopping step $job.0" --force
	# Without an id the flush file names the job.
	warns 1 "job 1000: slurm has no record of it" \
		on login scr_halt --immediate /pfs/run
}
