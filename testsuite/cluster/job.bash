# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # set for those who load it; bats
#
# job.bash - MPI jobs linked with libscr on the bed.  Loaded after bed.bash:
#
#     load bed
#     load job
#     setup_file() { bed_up 5; }
#
#     @test "a rank dies in its second checkpoint" {
#             job_lay
#             job_direct 4 steps=3 die=2:1:dataset.2/.scr/reddesc
#             ((status != 0))
#             job_post
#             assert_status 0
#     }
#
# The application is testsuite/mpi/app_kills.c: it restarts from the checkpoint
# that libscr offers, verifies every byte of it, and writes more; $JOURNAL is
# what it did.  Each run is a round.  After job_lay:
#
#     $job_prefix     /pfs/run, also the working directory of the job
#     $job_env        an array: settings of the job, for `env`
#     /pfs/app        runs the application on a node, with its options
#     /ssd            caches and control directories
#
# The bed's home directory for ssh works for mpiexec, too.

: "${MPI:=$BIN/../mpi}"

# job_lay [SETTING]...: an empty prefix; the settings of the jobs to come.
job_lay() {
	local tree

	command -v mpiexec >/dev/null || skip "no mpiexec here"
	[[ -x $MPI/app_kills ]] || skip "built without MPI"
	tree=$(cd "$BIN/.." && pwd)
	job_prefix=/pfs/run
	JOURNAL=$BED_DIR/pfs/journal
	ROUND=0
	mkdir -p "$BED_DIR/pfs/run"
	: >"$JOURNAL"
	job_env=(SCR_USER_NAME=tester SCR_CONF_FILE=/dev/null
		"SCR_PREFIX=$job_prefix" SCR_CACHE_BASE=/ssd SCR_CNTL_BASE=/ssd
		SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_FLUSH=0
		SCR_COPY_TYPE=XOR SCR_SET_SIZE=4 "$@")
	# libscr needs no ssh; ranks that wait leave their core to others.
	cat >"$BED_DIR/pfs/app" <<-EOF
		#!/bin/sh
		export LD_PRELOAD=$tree/finshim.so:$tree/patient.so:$tree/shim.so
		export SHIM_PATH=/none
		exec $tree/mpi/app_kills "\$(cat /pfs/round)" /pfs/journal "\$@"
	EOF
	chmod +x "$BED_DIR/pfs/app"
	echo 1 >"$BED_DIR/pfs/round"
}

# job_direct NODES OPTION...: run the application with a rank on each of
# node1 to nodeNODES ("1 2 5": on these), without a batch script, like `try`.
job_direct() {
	local nodes=$1 list=()

	shift
	[[ $nodes == *' '* ]] || nodes=$(seq -s ' ' "$nodes")
	read -ra list <<<"$nodes"
	nodes=$(printf 'node%s,' "${list[@]}")
	# Another round.
	echo $((++ROUND)) >"$BED_DIR/pfs/round"
	BED_LIMIT=${JOB_LIMIT:-60} try on login env "${job_env[@]}" \
		SCR_JOB_ID="${job_id:-j1}" sh -c 'cd /pfs/run && exec "$@"' - \
		mpiexec -launcher ssh -hosts "${nodes%,}" -ppn "${PPN:-1}" \
		-n $((${PPN:-1} * ${#list[@]})) /pfs/app "$@" </dev/null
}

# job_post ARG...: run scr_postrun for the job of job_direct on nodes 1 to
# ${NODES:-4}, like `try`.
job_post() {
	try on login env "${job_env[@]}" SCR_JOB_ID="${job_id:-j1}" \
		"SCR_NODELIST=node[1-${NODES:-4}]" \
		scr_postrun -t 2 --node-timeout 5 "$@"
}

# job_restarts STEP ROUND: a new job, on nodes without caches, restarts from
# checkpoint STEP that ROUND wrote; "none": from nothing.  It verifies the
# content and writes nothing.  $SIZE: that of the files (1000).
job_restarts() {
	local want="restart $1${2:+ $2}"

	job_id=later job_direct "${RESTART_NODES:-${NODES:-4}}" steps=0 \
		"size=${SIZE:-1000}"
	assert_status 0
	[[ $(grep restart "$JOURNAL" | tail -n 1) == "$want" ]] ||
		failed "expected: $want" "$(tail -n 3 "$JOURNAL")"
}

# What is in the caches of a node, as "1 2".
job_cached() {
	on "$1" find /ssd -name 'scr.dataset.*' | sed 's/.*\.//' | sort -n |
		paste -sd ' '
}

# job_await FILE: wait until /pfs/FILE exists.
job_await() { await test -e "$BED_DIR/pfs/$1"; }

# --- Jobs run by the batch scripts of examples/ ------------------------------

# batch slurm|ssh|lsf|flux|pbs NODES OPTION...: start a job of four ranks on node1
# to nodeNODES, ${PPN:-1} ranks on a node.  $LAY: settings for job_lay; $SET: more
# of them; $MINUTES: its time limit; $SBATCH: options, an array.  LSF and Flux are
# their stand-ins in standin/, and PBS is its environment.
batch() {
	local scripts=$TESTSUITE/../examples need=$((4 / ${PPN:-1})) script=()
	local post=$TESTSUITE/cluster/standin/scr_postrun

	way=$1
	shift
	job_lay "${LAY[@]}"
	ROUND=1
	job_env+=(SCR_RUNS=1 "NEEDED=$need" SCR_NODE_TIMEOUT=5
		"OPTIONS=--pause 0 --node-watch 1 --postrun=$post ${OPTIONS-}"
		"${SET[@]}")
	cat >"$BED_DIR/pfs/launch" <<-'EOF'
		#!/bin/sh
		exec mpiexec -launcher ssh -hosts "$SCR_RUN_NODES" -ppn "${PPN:-1}" -n 4 \
			/pfs/app "$@"
	EOF
	chmod +x "$BED_DIR/pfs/launch"
	if [[ $way == slurm ]]; then
		bed_slurm_up
		set -- sbatch -Q -W -N"$1" --ntasks-per-node="${PPN:-1}" \
			-t "${MINUTES:-60}" -o /pfs/out "${SBATCH[@]}" \
			"$scripts/slurm.sbatch" /pfs/app "${@:2}"
	else
		batch_around "$1"
		set -- sh -c 'PATH=$1:$PATH; shift; exec "$@" >/pfs/out 2>&1' - \
			"$TESTSUITE/cluster/standin" "${script[@]}" "${@:2}"
	fi
	BED_LIMIT=${JOB_LIMIT:-100} on login env "${job_env[@]}" \
		sh -c 'cd /pfs/run && exec "$@"' - "$@" </dev/null >/dev/null 3>&- &
	JOB=$!
}

# batch_around NODES: the environment of a job that is not one of SLURM, in
# $job_env, and its $script.
batch_around() {
	local i slots=()

	job_env+=("PPN=${PPN:-1}" "PER_NODE=${PPN:-1}")
	for ((i = 0; i < $1 * ${PPN:-1}; i++)); do
		slots+=("node$((i / ${PPN:-1} + 1))")
	done
	case $way in
	ssh)
		script=("$scripts/ssh.job" /pfs/launch)
		job_env+=(SCR_JOB_ID=first "SCR_NODELIST=node[1-$1]")
		;;
	lsf)
		script=("$scripts/lsf.bsub" /pfs/app)
		printf '%s\n' login "${slots[@]}" >"$BED_DIR/pfs/hosts"
		job_env+=(LSB_JOBID=first LSB_DJOB_HOSTFILE=/pfs/hosts)
		;;
	flux)
		script=("$scripts/flux.batch" /pfs/app)
		job_env+=(FLUX_URI=local:///none "FLUX_STANDIN=$(
			seq -f 'node%g' -s , "$1")")
		;;
	pbs)
		script=("$scripts/pbs.qsub" /pfs/app)
		printf '%s\n' "${slots[@]}" >"$BED_DIR/pfs/hosts"
		job_env+=(PBS_JOBID=first PBS_NODEFILE=/pfs/hosts)
		;;
	esac
}

# Wait for its end: $status is that of the job, $output what it said.
batch_end() {
	status=0
	wait "$JOB" || status=$?
	output=$(cat "$BED_DIR/pfs/out") stderr=
	JOB=
	[[ $output == *"scr_postrun: "* ]] || failed "the job hangs"
}

# Let the application go on that holds at /pfs/held.
batch_go_on() { mv "$BED_DIR/pfs/held" "$BED_DIR/pfs/held.over"; }

# batch_lose [-s] NODE...: power is cut; -s: the connections of the last one are
# closed, which mpiexec notices at once.  SLURM would notice either later.
batch_lose() {
	if [[ $1 == -s ]]; then
		shift
		(($# == 1)) || bed_kill "${@:1:$#-1}"
		bed_kill_soft "${@: -1}"
	else
		bed_kill "$@"
	fi
	[[ $way != slurm ]] || bed_slurm_lost "$@"
}

# No process of the application runs, and no half-made file is there.
batch_left_nothing() {
	local node

	for node in $("$BED" status | sed -n 's/ up.*//p'); do
		! "$BED" exec "$node" pgrep -x app_kills ||
			failed "$node: the application still runs"
	done
	[[ -z $(find "$BED_DIR/pfs/run" -path '*/ckpt.*/.*') ]] ||
		failed "left: $(find "$BED_DIR/pfs/run" -path '*/ckpt.*/.*')"
}

# ended ok|failed STEP: the job ends, and scr_postrun has saved checkpoint STEP.
ended() {
	batch_end
	if [[ $1 == ok ]]; then
		assert_status 0
	else
		((status != 0)) || failed "expected a failure"
		assert_output_has "ended with $status, scr_postrun with 0"
	fi
	assert_output_has "checkpoint ckpt.$2 (dataset $2) is saved"
	batch_left_nothing
	bed_heal
}

# Teardown: a job that hangs must not disturb the next test.
batch_stop() {
	local i

	[[ -e ${BED_DIR-}/committed ]] || return 0
	if [[ ${way-} == slurm ]]; then
		on login scancel --full --quiet --user root || true
		for ((i = 0; i < 100; i++)); do
			[[ -n $(on login squeue -h) ]] || break
			sleep 0.1
		done
	fi
	bed_heal
	for i in $("$BED" status | sed 's/ .*//'); do
		"$BED" exec "$i" sh -c 'pkill -KILL -x app_kills
			pkill -KILL -x scr_postrun' || true
	done
	bed_wipe
}

# --- Times ------------------------------------------------------------------

# job_times: from now on, $TIMES has the lines of the journal and of the job, each
# after the time when it came.  `mark TEXT` adds one of the test.
job_times() {
	TIMES=$BATS_TEST_TMPDIR/times
	tail -qF -n +1 --pid=$$ "$JOURNAL" "$BED_DIR/pfs/out" 2>/dev/null 3>&- |
		while read -r line; do echo "$EPOCHREALTIME $line"; done >"$TIMES" 3>&- &
}

mark() { echo "$*" >>"$JOURNAL"; }

# took NAME FROM TO: the seconds from the first line with FROM to the next one with
# TO, as "NAME 1.23 s, ".
took() {
	awk -v from="$2" -v to="$3" -v name="$1" '
		start != "" && index($0, to) { end = $1; exit }
		start == "" && index($0, from) { start = $1 }
		END { printf end == "" ? "%s ?, " : "%s %.2f s, ", name, end - start }
	' "$TIMES"
}

# --- Ends of a job, for each(): WAY NODES ------------------------------------

# SLURM: the state and the exit code of the last job.
slurm_says() {
	[[ $way != slurm ]] || on login scontrol -o show job | tail -n 1 |
		sed 's/.* JobState=\([A-Z_]*\) .* ExitCode=\([0-9:]*\) .*/ \1 \2/'
}

# each WAY PPN NODES END...: a job for each end.
each() {
	local way=$1 end start

	PPN=$2
	for end in "${@:4}"; do
		start=$SECONDS
		MINUTES='' SET=() SBATCH=() LAY=() SIZE='' OPTIONS=''
		NODES=$((4 / PPN)) "$end" "$way" "$3"
		echo "# $way, $PPN ranks a node, $3 nodes, $end: status" \
			"$status$(slurm_says), $((SECONDS - start)) s" >&3
		batch_stop
	done
}

# restarts STEP: the next job does; not with the stand-ins, as mpiexec obeys the
# environment of their managers.
restarts() {
	[[ $way != slurm && $way != ssh ]] || job_restarts "$1" 1
}

clean_end() {
	SET=(SCR_RUNS=-1)
	batch "$@" steps=3
	ended ok 3
	[[ $(grep -c round "$JOURNAL") -eq 1 ]]
	restarts 3
}

# It is started again, gets one step further, and aborts again.
abort() {
	SET=(SCR_RUNS=2)
	batch "$@" abort=2:1
	ended failed 2
	grep -qx "restart 1 1" "$JOURNAL"
	restarts 2
}

# A node falls silent, which the script itself has to notice.
silent_node() {
	batch "$@" hold=3:/pfs/held
	job_await held
	batch_lose node2
	ended failed 2
	restarts 2
}

# With a spare node the job goes on, and restarts from what is rebuilt in the
# caches; else it must end.
dead_node() {
	SET=(SCR_RUNS=2)
	batch "$@" steps=3 hold=3:/pfs/held
	job_await held
	batch_lose -s node2
	batch_go_on
	if ((4 / PPN < $2)); then
		ended ok 5
		grep -qx "restart 2 1" "$JOURNAL"
		restarts 5
	else
		ended failed 2
		assert_output_has "not launched again"
	fi
}

halt() {
	SET=(SCR_RUNS=2)
	batch "$@" exit=1 hold=3:/pfs/held
	job_await held
	ends 0 on login scr_halt --checkpoints 1 /pfs/run
	batch_go_on
	ended ok 3
	ends 0 on login scr_halt --remove /pfs/run
	restarts 3
}

# The application does not look at the time: the script stops it.
time_limit() {
	local try

	if [[ $1 == slurm ]]; then
		MINUTES=1 SBATCH=(--signal=B:USR1@40)
		OPTIONS='--requeue-status 75'
	else
		SET=(SCR_END_TIME=$(($(date +%s) + 12)) SCR_HALT_SECONDS=0)
		OPTIONS='--save-time 5 --requeue-status 75'
	fi
	# SLURM may send the signal a minute early, before the first checkpoint.
	for try in 1 2 3 4; do
		JOB_LIMIT=120 batch "$@" pause=300
		batch_end
		[[ $output == *"caches hold no dataset"* ]] || break
		batch_stop
	done
	assert_status 75
	assert_output_has "is saved" "ended with 75, scr_postrun with 0"
	batch_left_nothing
	restarts "$(sed -n 's/^complete \([0-9]*\).*/\1/p' "$JOURNAL" |
		tail -n 1)"
}
