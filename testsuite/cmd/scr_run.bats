#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016 # scripts of the program
# scr_run on this machine: what it launches, when it stops, and its status.  Real jobs
# on several nodes: cluster/ends.bats and examples.bats.  The decision itself: t_run.c.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export SCR_PREFIX=$PWD/p SCR_CACHE_BASE=$PWD/cache SCR_CNTL_BASE=$PWD/cntl
	export SCR_CONF_FILE=/dev/null
	export SCR_REMOTE=local
	unset SCR_JOB_ID SCR_NODELIST SCR_RUNS
}

# Wait until the program has begun.
begun() {
	for ((n = 0; n < 200; n++)); do
		[[ ! -e runs ]] || return 0
		sleep 0.05
	done
	failed "it does not run"
}

# program STATUS [COMMAND]: a program that notes each run in the file `runs`.
program() {
	printf '#!/bin/sh\necho run >>runs\n%s\nexit %s\n' "${2-:}" "$1" >app
	chmod +x app
}

runs() { wc -l <runs 2>/dev/null || echo 0; }

record() { scr_json "$1" <p/.scr/run.json; }

scr_json() {
	python3 -c 'import json,sys
print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

# Each row: options; status and command of the program; exit status and runs; words.
@test "the program's status, a table" {
	while IFS='|' read -r options status command want count words; do
		echo "$options, $status, $command"
		rm -rf p runs
		program "$status" "$command"
		# shellcheck disable=SC2086 # several options
		ends "$want" scr_run --pause 0 $options ./app
		[[ $(runs) == "$count" ]] || failed "runs: $(runs)"
		[[ -z $words ]] || assert_stderr_has "$words"
		[[ $(record state) == ended && $(record status) == "$want" ]]
	done <<-'END'
		|0||0|1|
		--runs 3|0||0|1|
		|7||7|1|no run is left
		--runs 5|7||7|2|failed twice at once
		--runs -1|7||7|2|failed twice at once
		--runs 3|0|[ $(wc -l <runs) -gt 1 ] && exit 0; exit 9|0|2|run 1 ended with status 9
		--runs 3|127||127|1|cannot be started
		--runs 3|0|kill -SEGV $$|139|2|
		--runs 3 --timeout 1 --start-timeout 1 --grace 1|0|exec sleep 60|124|3|no progress
	END
}

@test "what cannot be launched; usage" {
	warns 2 "no command given" scr_run
	ends 2 scr_run --runs 0 ./app
	ends 2 scr_run --restart-cmd x ./app
	ends 2 scr_run --no-such-option ./app
	SCR_RUNS=x ends 2 scr_run true
	warns 2 'there is no such program' scr_run --postrun "./nosuch -x" true
	for wrong in SCR_HALT_SECONDS=x SCR_MIN_NODES=x SCR_NODE_TIMEOUT=x \
		SCR_EXCLUDE_NODES='n['; do
		warns 2 "${wrong%=*}" env "$wrong" scr_run true
	done
	SCR_REMOTE=foo warns 2 "foo: no way to run commands" scr_run true
	warns 2 "fewer than --min-nodes" scr_run --nodes 2 --min-nodes 3 true
	[[ ! -e p ]]
	warns 127 "nosuch: cannot execute it" scr_run nosuch
	echo >notexec
	ends 126 scr_run ./notexec
	mkdir p2 && echo junk >p2/.scr
	ends 125 scr_run -p p2 true
}

@test "a prefix that belongs to somebody else: its owner is named" {
	become 65534
	mkdir theirs
	chmod 755 . theirs
	ends 125 "${as[@]}" scr_run -p theirs true
	assert_stderr_has "theirs: belongs to user $(id -un), not to you" "Permission denied"
}

@test "output, input, arguments and environment are the program's own" {
	program 0 'cat; printf "%s\n" "$@" >&2; echo "$SCR_RUN_NODES" "$SCR_JOB_ID"'
	attempt scr_run ./app -h --json "a  b" '$x' -- --prefix <<<"in"
	assert_status 0
	assert_output_is "in
$(uname -n) $(scr_env job-id)"
	assert_stderr_has "a  b" '$x' --prefix
	ends 4 scr_run -- sh -c 'exit 4' x
	# Output is not held back.
	mkfifo pipe
	scr_run sh -c 'echo first; read x <go' >pipe 2>/dev/null 3>&- &
	mkfifo go
	read -r line <pipe
	[[ $line == first ]]
	echo >go
	wait $!
}

@test "SCR_ENABLE=0: only the program, with its output" {
	program 5 'echo "says $*"'
	SCR_ENABLE=0 ends 5 scr_run ./app -h
	assert_output_is "says -h"
	[[ ! -e p && $(runs) == 1 ]]
	SCR_ENABLE=0 warns 0 "only the program would be run" scr_run -n ./app
	[[ $(runs) == 1 ]]
}

@test "what ended LLNL's scr_run: no USER, no ping, sizes in the configuration, -rc of the program" {
	mkdir -p p/.scr
	echo "CNTLDIR=$SCR_CNTL_BASE BYTES=1K" >site.conf
	echo "CACHEDIR=$SCR_CACHE_BASE BYTES=1K" >p/.scrconf
	program 6 'echo "$*"'
	mkdir bare
	for tool in sh wc uname; do ln -s "$(type -P $tool)" bare; done
	ends 6 env -u USER -u SCR_CACHE_BASE -u SCR_CNTL_BASE SCR_CONF_FILE="$PWD/site.conf" \
		PATH="$PWD/bare:$BIN" scr_run ./app -rc x -rs=y -h
	assert_output_is "-rc x -rs=y -h"
	[[ $(runs) == 1 && -d p/.scr ]]
}

@test "signals end the program, and the caches are saved" {
	while IFS='|' read -r signal options want; do
		rm -rf p runs
		program 0 'exec sleep 60'
		# shellcheck disable=SC2086 # several options
		scr_run $options ./app 2>said 3>&- &
		begun
		sleep 0.2
		kill "-$signal" $!
		rc=0
		wait $! || rc=$?
		((rc == want)) || failed "$signal: $rc" "$(cat said)"
		grep -q "a signal asks to stop" said
		grep -q "^scr_postrun: " said
	done <<-'END'
		TERM||143
		HUP||129
		USR1||0
		USR1|--requeue-status 75|75
	END
}

@test "the time of the job ends; a halt is no failure" {
	program 0 'exec sleep 60'
	SCR_END_TIME=$(($(date +%s) + 5)) attempt scr_run --save-time 3 ./app
	assert_status 0
	assert_stderr_has "s: the last 3 s are for saving the caches" \
		"s: the run is ended"
	rm -rf p runs
	program 3 'scr_halt -q "$SCR_PREFIX"'
	ends 75 scr_run --runs 5 --requeue-status 75 ./app
	[[ $(runs) == 1 ]]
	assert_stderr_has "HALT RUN"
	# It is in the way of the next job, too.
	ends 0 scr_run --runs 5 --requeue-status 75 ./app
	[[ $(runs) == 1 ]]
	# A program that obeys it ends with 0: it is to be submitted again, too.
	for obey in 'scr_halt -q -a @1' \
		'scr_halt -q -a @1 -R SCR_FINALIZE_CALLED' \
		'scr_halt -q -R SCR_FINALIZE_CALLED' ''; do
		rm -rf p runs
		program 0 "$obey"
		want=75
		[[ $obey == *-a* ]] || want=0
		ends "$want" scr_run --requeue-status 75 ./app
		[[ $want == 0 || $stderr == *"a halt condition is met"* ]]
	done
	# One that calls SCR_Finalize, and one that nobody stops.
	app=$BIN/../mpi/app_restart
	for want in 75 0; do
		[[ -x $app ]] || continue
		rm -rf p runs
		program 0 "[ $want = 0 ] || scr_halt -q; cd p && exec $app 1"
		SCR_JOB_ID=j$want ends "$want" scr_run --requeue-status 75 ./app
	done
	program 0 'scr_halt -q -R SCR_FINALIZE_CALLED'
	SCR_END_TIME=$(($(date +%s) + 9)) ends 75 scr_run --save-time 5 --requeue-status 75 ./app
	# What has finished is not in the way; of a dry run neither.
	rm -rf p runs
	program 0
	scr_prerun -q && scr_halt -q -R SCR_FINALIZE_CALLED p
	warns 0 "launch: first run" scr_run -n ./app
	SCR_END_TIME=$(($(date +%s) - 9)) warns 0 "the time of the job has ended" scr_run ./app
	[[ ! -e runs ]]
}

@test "data that are not saved have statuses of their own" {
	while read -r saved want; do
		printf '#!/bin/sh\nexit %s\n' "$saved" >post
		chmod +x post
		program 0
		ends "$want" scr_run --postrun "./post -x" ./app
		program 9
		ends 9 scr_run --postrun ./post ./app
	done <<-'END'
		0 0
		3 122
		4 121
	END
}

@test "nodes: excluded ones, spares, the hosts of mpiexec; a dry run" {
	export SCR_EXCLUDE_NODES=b SCR_NODE_TIMEOUT=5
	stub mpiexec <<<$'#!/bin/sh\necho "$@"; cat p/.scr/run.hosts'
	here=$(uname -n)
	SCR_NODELIST=$here,b ends 0 scr_run --min-nodes 1 mpiexec -n 2 app
	assert_output_is "-machinefile $PWD/p/.scr/run.hosts -n 2 app
$here"
	assert_stderr_has "b is not used any more: User excluded"
	run scr_env run
	assert_output_has "scr_run     ended since" "status 0" \
		"not used    b: User excluded"
	[[ $(record excluded) == *"'node': 'b'"* ]]
	ends 125 scr_run mpiexec -hosts "$here,b" app
	assert_stderr_has "too few nodes are left: 1 can be used, 2 are needed"
	# Options of the program are its own; words that cannot be changed.
	ends 0 scr_run --min-nodes 1 mpiexec -l -n 2 ./app -f missing --host b
	assert_output_has "-l -n 2 ./app -f missing --host b"
	export SCR_NODELIST=$here,b
	for option in "" -n; do # as a dry run, too
		# shellcheck disable=SC2086 # or none
		ends 125 scr_run $option --min-nodes 1 mpiexec -hosts b app
		assert_stderr_has "b: none of its nodes can be used"
	done
	unset SCR_NODELIST
	warns 0 "launch: first run" scr_run -n -p fresh true
	[[ ! -e fresh ]]
	ends 0 scr_run -n mpiexec -hosts "$here,b" app
	assert_stderr_has "no launch: too few nodes" "command: mpiexec -hosts $here app"
	# Fewer ranks, where the user allows it; what the caches have is saved before.
	export SCR_NODELIST=$here,b
	ends 0 scr_run --min-ranks 3 --postrun "echo saved" mpiexec -n 6 app
	assert_output_is "-machinefile $PWD/p/.scr/run.hosts -n 3 app
$here"
	assert_stderr_has "3 ranks on 1 node" "saved -p $PWD/p"
	[[ $(grep -c "^saved" <<<"$stderr") == 2 ]] || failed "$stderr"
	ends 125 scr_run --min-ranks 4 mpiexec -n 6 app
	assert_stderr_has "1 of 2 nodes are left, for 3 ranks: at least 4 are needed"
	ends 125 scr_run --min-ranks 1 mpiexec app
	assert_stderr_has "does not say how many ranks"
	SCR_MIN_NODES=1 ends 0 scr_run --min-ranks 3 mpiexec -n 6 app
	assert_output_has "run.hosts -n 6 app"
	unset SCR_NODELIST
}

@test "a record that cannot be written: said, and not left as it was" {
	program 3 'rm p/.scr/run.json; mkdir -p p/.scr/run.json/x'
	warns 3 "run.json: cannot" scr_run ./app
	rm -r p/.scr/run.json
	# What waits for a scavenge ends.
	flock p/.scr/scavenge.lock sleep 60 3>&- &
	one=$!
	sleep 0.2
	scr_run ./app 2>said 3>&- &
	sleep 1
	kill $!
	rc=0
	wait $! || rc=$?
	[[ $rc == 143 && $(runs) == 1 ]] || failed "$rc" "$(cat said)"
	kill $one
}

@test "killed, and started again: it takes over; two at once are refused" {
	program 0 'echo $$ >pid; exec sleep 60'
	scr_run --runs 2 ./app 2>/dev/null 3>&- &
	one=$!
	begun
	warns 125 "scr_run runs this job already" scr_run ./app
	shows "scr_run     running since" scr_env run
	kill -KILL $one
	wait $one || true
	# The launcher does not survive it.
	for ((n = 0; n < 100; n++)); do
		kill -0 "$(cat pid)" 2>/dev/null || break
		sleep 0.05
	done
	run ! kill -0 "$(cat pid)"
	ends 0 scr_env run
	assert_output_has "killed while running since" "run 1, 1 left" \
		"process $one: scr_run --resume"
	# Its command line is in the record; runs that are left, too.
	program 0 '[ "$x" = 1 ] && exit 3'
	mkdir other
	x=1 attempt env -u SCR_PREFIX -C other scr_run -p ../p --resume
	assert_status 3
	assert_stderr_has "was killed in run 1: taking over"
	[[ $(record runs) == 3 && $(record status) == 3 ]]
	warns 125 "scr_run has ended with status 3: nothing to resume" scr_run --resume
}

@test "the command ends, and its processes do not: they are ended before the caches are saved" {
	program 0 'sleep 60 & echo $! >pid'
	warns 0 "not all of its processes (1): they are ended" scr_run ./app
	for ((n = 0; n < 100; n++)); do
		kill -0 "$(<pid)" 2>/dev/null || break
		sleep 0.05
	done
	((n < 100))
}

@test "killed while it saves: what has ended is not launched again" {
	printf '#!/bin/sh\n[ -e go ] || exec sleep 60\nexit $(cat go)\n' >post
	chmod +x post
	# The status of the program and of scr_postrun, those of the end; options.
	while read -r ends saved want options; do
		rm -rf go p runs
		program "$ends"
		# shellcheck disable=SC2086 # several options
		scr_run --postrun ./post $options ./app 2>/dev/null 3>&- &
		for ((n = 0; n < 200; n++)); do
			[[ ! -e runs ]] || ! grep -q '"saving".*"status"' p/.scr/run.json || break
			sleep 0.05
		done
		kill -KILL $!
		wait $! || true
		echo "$saved" >go
		ends "$want" scr_run --resume
		assert_stderr_has "was killed while it saved run 1: taking over"
		[[ $(runs) == 1 && $(record status) == "$want" ]]
		[[ $(record runs_left) == $((${options##* } == 3 ? 2 : 0)) ]]
	done <<-'END'
		0 0 0 --runs 3
		0 3 122 --runs 3
		3 3 3 --runs 1
		0 4 121 --requeue-status 75
	END
	ends 2 scr_run --resume --runs 9
}

@test "killed again and again without a new dataset: the runs come to an end" {
	program 3 'sleep 60'
	for run in 1 2; do
		scr_run --pause 0 ./app 2>/dev/null 3>&- &
		for ((n = 0; n < 200; n++)); do
			[[ $(runs) != "$run" ]] || break
			sleep 0.05
		done
		kill -KILL $!
		wait $! || true
	done
	ends 125 scr_run --resume
	assert_stderr_has "not launched again: no run is left"
	[[ $(runs) == 2 ]]
}

# no_locks COMMAND...: on a file system without locks.
no_locks() { LD_PRELOAD=${SHIM%/*}/profile.so PROFILE=noflock PROFILE_PATH=$PWD/p "$@"; }

@test "without locks: a record that changes shows that scr_run lives" {
	program 0 'exec sleep 60'
	no_locks scr_run ./app 2>first 3>&- &
	one=$!
	begun
	ends 125 no_locks scr_run --resume
	assert_stderr_has "no locks: waiting up to 90 s" "runs this job already"
	# Another one has taken over, for example while this one was stopped.
	sed -i 's/\("mark":"[^"]*\)"/\1x"/' p/.scr/run.json
	rc=0
	wait $one || rc=$?
	((rc == 143)) || failed "status $rc" "$(cat first)"
	grep -q "has taken over: this one ends" first
	[[ $(record state) == running && $(record mark) == *x ]]
	[[ -n ${SCRKIT_SLOW-} ]] || return 0
	program 0
	warns 0 "was killed in run 1: taking over" no_locks scr_run ./app
}

# cpu COMMAND...: milliseconds of processor time that a run of it takes.  On a busy
# machine, time by the clock says nothing.
cpu() {
	local TIMEFORMAT='%U %S' LC_ALL=C

	{ time for _ in {1..10}; do "$@" >/dev/null 2>&1; done; } 2>&1 |
		awk '{ printf "%d\n", ($1 + $2) * 100 }'
}

# 20 ms where a command starts in 2 ms: seven of them are run.
@test "scr_run adds no more than the time of ten commands to the launcher's" {
	command -v mpiexec >/dev/null || skip "no mpiexec here"
	[[ -z ${SCRKIT_VALGRIND-} ]] || skip "slow"
	one=$(cpu scr_env --version)
	alone=$(cpu mpiexec -n 1 true)
	within=$(cpu scr_run mpiexec -n 1 true)
	echo "# a command: $one ms, mpiexec: $alone ms, within scr_run: $within ms" >&3
	((within - alone <= 10 * one + 5)) || failed "$one $alone $within"
}

# mpiexec cuts lines of several ranks apart: eight processes take its place.
@test "a million lines of 8 ranks arrive unchanged, at once, and as fast" {
	[[ -n ${SCRKIT_SLOW-} ]] || skip "slow"
	local text='BEGIN { for (i = 1; i <= 125000; i++) { print r, i; fflush() } }'

	program 0 "for r in 0 1 2 3 4 5 6 7; do awk -v r=\$r '$text' & done; wait
		sleep \$1"
	for r in {0..7}; do seq -f "$r %.0f" 125000; done | sort >want
	# The first line is here while the program still runs.
	scr_run ./app 3 2>/dev/null 3>&- | {
		read -r line && cp p/.scr/run.json during && { echo "$line" && cat; } >all
	}
	grep -q '"state":"running"' during
	sort all | cmp - want
	alone=$(cpu ./app 0)
	within=$(cpu scr_run ./app 0)
	echo "# alone: $alone ms, within scr_run: $within ms" >&3
	((within <= alone * 11 / 10 + 50)) || failed "$alone $within"
}

# managers: stand-ins of the commands of SLURM, Flux and LSF.  A file of steps/ is a
# step: its name is the id, its content the process of its launcher.  Number 1 is
# somebody else's, and so is 2, which begins after ours: LSF does not tell whose it is.  The launcher ignores
# SIGTERM, and its step outlives it.
managers() {
	mkdir -p steps
	sleep 1000 3>&- &
	echo $! >steps/1
	stub launch <<-'END'
		#!/bin/bash
		trap "" TERM
		echo $$ >steps/5
		tr '\0' '\n' </proc/$$/environ >spec
		echo run >>runs
		sleep 2
		echo $PPID >steps/2
		sleep 30 &
		wait
		sleep 28
	END
	stub squeue <<<'ls steps | sed "s/^/7./"'
	stub scontrol <<-'END'
		for s in $(ls steps); do
			echo "StepId=7.$s UserId=0 SrunHost:Pid=$(uname -n):$(cat steps/$s)"
		done
	END
	stub jslist <<<'ls steps | sed "s/$/ x Running/"'
	stub jskill <<<'echo "$*" >>ended; for s; do rm -f "steps/$s"; done'
	stub scancel <<<'shift; echo "$*" >>ended; for s; do rm -f "steps/${s#7.}"; done'
	stub flux <<-'END'
		case $1/$2 in
		jobs/*) ls steps ;;
		job/info) test "$3" != 5 || cat spec ;;
		job/kill) shift 3; echo "$*" >>ended; for s; do rm -f "steps/$s"; done ;;
		*) exit 1 ;;
		esac
	END
	sed -i '1{/^#!/!s/^/#!\/bin\/bash\n/}' stub/*
}

# own_steps MANAGER STEP LEFT VARIABLES: in a directory of its own; STEP is ended, and
# LEFT are not.
own_steps() {
	local one count

	mkdir "$1" && cd "$1" || return
	export SCR_PREFIX=$PWD/p SCR_CACHE_BASE=$PWD/cache SCR_CNTL_BASE=$PWD/cntl
	export SCR_NODELIST=$HOSTNAME SCR_RESOURCE_MANAGER=$1
	managers
	# shellcheck disable=SC2086 # several variables
	ends 124 env $4 scr_run --start-timeout 3 --grace 1 --pause 0 launch
	[[ $(cd steps && echo *) == "$3" ]] ||
		failed "$1: $(cat ended)" "left: $(ls steps)"
	# Killed, and taken over.
	rm -f ended runs
	# shellcheck disable=SC2086
	env $4 scr_run --pause 0 launch 2>said 3>&- &
	one=$!
	begun
	for ((count = 0; count < 100; count++)); do
		! grep -q '"steps":\[{' p/.scr/run.json || break
		sleep 0.05
	done
	kill -KILL $one
	wait $one || true
	# shellcheck disable=SC2086
	ends 0 env $4 scr_run --pause 0 true
	# LSF counts from 1 again when a job is requeued: none is ended.
	if [[ -z $2 ]]; then
		[[ ! -e ended ]] || failed "$1: $(cat ended)"
	else
		[[ $(sort -u ended) == "$2" && ! -e steps/5 ]] ||
			failed "$1: $(cat ended)" "left: $(ls steps)"
	fi
	kill "$(cat steps/1)"
}

@test "it ends its own steps, not those of others in the allocation" {
	local all=() row

	# Most of the time is waiting.
	while IFS='|' read -r -a row; do
		own_steps "${row[@]}" 3>&- &
		all+=($!)
	done <<-'END'
		slurm|7.5|1 2|SLURM_JOB_ID=7
		flux|5|1 2|FLUX_URI=x FLUX_ENCLOSING_ID=7
		lsf||1|LSB_JOBID=7
	END
	for row in "${all[@]}"; do
		wait "$row"
	done
}

@test "a checkpoint that kills its reader: the restarts are counted, an older one is taken" {
	mpi=$BIN/../mpi
	[[ -x $mpi/app_restart ]] || skip "built without MPI"
	export SCR_COPY_TYPE=SINGLE SCR_CACHE_SIZE=3 SCR_FLUSH=0 SCR_CACHE_BYPASS=0
	export SCR_JOB_ID=j
	mkdir p
	(cd p && "$mpi/app_restart" 3 files=2 >/dev/null)
	scr_halt -q --remove p
	program 0 "cd p
		[ \$(wc -l <../runs) -gt 3 ] || exec $mpi/app_restart 0 files=2 die=1
		exec $mpi/app_restart 0 files=2"
	ends 0 scr_run --runs -1 --pause 0 ./app
	assert_stderr_has "restart 1 of 3 from dataset 3 has failed" \
		"restart 3 of 3 from dataset 3 has failed: this dataset is not tried again"
	assert_output_has "restart ckpt.2"
	[[ $(runs) == 4 ]]
	# Without such a count, runs end: no checkpoint is read for ever.
	rm -r runs p
	program 0 'exec sleep 60'
	ends 124 scr_run --runs -1 --pause 0 --start-timeout 1 ./app
	assert_stderr_has "five runs in a row ended without a new dataset"
	[[ $(runs) == 5 ]]
}

@test "the log has when a run died, so that its cost is known" {
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0 SCR_JOB_ID=7
	program 0 'for event in START COMPUTE_START; do
		scr_env log-event -p p -T $event
	done
	sleep 1.1
	[ $(wc -l <runs) -gt 1 ] || exit 9
	scr_env log-event -p p -T HALT'
	ends 0 scr_run --runs 2 --pause 0 ./app
	[[ $(sed 's/.*event=//; s/[.][0-9]*$//' p/.scr/log | xargs) == \
		"RUN_START, note=run=1 START COMPUTE_START RUN_END, note=run=1, secs="[1-9]*" RUN_START, note=run=2 START COMPUTE_START HALT RUN_END, note=run=2, secs="* ]] ||
		failed "$(cat p/.scr/log)"
	ends 0 scr_env log -p p --json
	jq -e '.log_failures | length == 1 and .[0].died != null and
		.[0].restarted_from == 0 and .[0].lost_milliseconds > 0 and
		.[0].lost_milliseconds == .[0].lost_milliseconds_at_most' \
		<<<"$output" || failed "$output"
	# It stops nobody.
	rm -r runs p
	mkdir -p p/.scr/log
	program 0
	warns 0 ".scr/log" scr_run ./app
}

@test "a dataset that appears in a cache is progress" {
	program 0 'for n in 1 2 3 4; do
		mkdir -p "$SCR_CACHE_BASE/$USER/scr.j/scr.dataset.$n"; sleep 1.5
	done'
	export SCR_JOB_ID=j USER=${USER:-$(id -un)}
	ends 0 scr_run --timeout 4 --start-timeout 4 --node-watch 1 ./app
	rm -r cache
	ends 124 scr_run --timeout 4 --start-timeout 4 --node-watch 0 --grace 1 ./app
	assert_stderr_has "no progress for 4 s (last dataset: 0, in the caches 0)"
}

@test "scr_watchdog: a process or a step that hangs; one that ends" {
	ends 2 scr_watchdog -p .
	ends 2 scr_watchdog --pid 77 -j 7.5 --timeout 1
	ends 2 scr_watchdog --pid $$ # no time
	sleep 1000 3>&- &
	ends 124 scr_watchdog --dir . --pid $! --timeout 1 --start-timeout 1
	assert_stderr_has "no progress for 1 s (last dataset: 0): the run is ended"
	run ! kill -0 $!
	warns 1 "process $!: does not run" scr_watchdog -d . --pid $! --timeout 100
	sleep 1 3>&- &
	ends 0 scr_watchdog -d . --pid $! --timeout 100
	managers
	echo 1 >steps/5
	export SCR_RESOURCE_MANAGER=slurm
	SCR_WATCHDOG_TIMEOUT=1 ends 124 scr_watchdog -d . -j 7.5 --start-timeout 1
	[[ $(<ended) == 7.5 && -e steps/1 ]]
	ends 0 scr_watchdog -d . -j 7.5 --timeout 100
	kill "$(cat steps/1)"
}

# The names of the processes of this test: with its prefix in their environment.
left() {
	local file

	for file in $(env -u SCR_PREFIX grep -lsz "^SCR_PREFIX=$PWD/p\$" /proc/[0-9]*/environ); do
		cat "${file%environ}comm" 2>/dev/null || true
	done
}

@test "a run that hangs: the stacks of its ranks" {
	type -P gdb >/dev/null || skip "no gdb"
	[[ $EUID == 0 || $(cat /proc/sys/kernel/yama/ptrace_scope || echo 0) == 0 ]] ||
		skip "processes may not be traced"
	attempt scr_run --timeout 1 --start-timeout 1 --grace 1 --traces \
		mpiexec -n 2 sleep 60
	assert_status 124
	assert_stderr_has "the stacks of its ranks: $PWD/p/.scr/run.traces"
	for rank in 0 1; do
		grep -A 3 "^rank $rank, process .*: sleep 60" p/.scr/run.traces |
			grep "^#.*nanosleep" || failed "$(<p/.scr/run.traces)"
	done
	# Without gdb, and without a run.
	mkdir bare
	for tool in sh tr sed grep head; do ln -s "$(type -P $tool)" bare; done
	PATH=$PWD/bare "$BIN/scr_env" traces --nodes "$(uname -n)" | grep "no gdb"
	ends 1 scr_env traces -p none
	assert_stderr_has "none: no scr_run"
	# A record that somebody else may have written names nothing to end.
	sleep 60 3>&- &
	sed -i "s|SCRKIT_RUN=[^\"]*|HOME=$HOME|" p/.scr/run.json
	ends 1 scr_env end-ranks --nodes "$(uname -n)"
	assert_stderr_has "has no mark"
	sed -i 's|"HOME=[^"]*|"SCRKIT_RUN=x|' p/.scr/run.json
	chmod 666 p/.scr/run.json
	ends 1 scr_env end-ranks --nodes "$(uname -n)"
	assert_stderr_has "not yours alone"
	chmod 644 p/.scr/run.json
	ends 0 scr_env end-ranks # on the node of the record
	chmod 666 p/.scr/run.json
	kill $!
	# Nor its runs and nodes.
	for mode in 644 666; do
		sed -i 's/"state":"[a-z]*"/"state":"running"/' p/.scr/run.json
		chmod $mode p/.scr/run.json
		attempt scr_run true
		[[ $stderr == *"taking over"* ]] || [ $mode = 666 ] || failed "$mode"
		[[ $stderr != *"taking over"* ]] || [ $mode = 644 ] || failed "$mode"
	done
}

@test "SIGKILL at 50 random moments of a job that is launched again and again" {
	[[ -n ${SCRKIT_SLOW-} && -x $BIN/../mpi/app_kills ]] || skip "slow, or no MPI"
	export SCR_JOB_ID=j SCR_COPY_TYPE=SINGLE SCR_CACHE_SIZE=3 SCR_CACHE_BYPASS=0
	printf '#!/bin/bash\ncd p && echo run >>../runs && exec timeout 1.5 \
		mpiexec -n 2 %s/../mpi/app_kills "$(wc -l <../runs)" ../journal \
		pause=20\n' "$BIN" >app
	chmod +x app
	RANDOM=${SEED:-1}
	for _ in {1..50}; do
		setsid scr_run --runs -1 --pause 0 ./app >>said 2>&1 3>&- &
		one=$!
		sleep "$((RANDOM % 4)).$((RANDOM % 10))"
		kill -KILL $one
		wait $one || true
		# Those that do not end by themselves end when it is taken over.
		for ((n = 0; n < 20; n++)); do
			[[ -n $(left) ]] || break
			sleep 0.1
		done
		((n < 20)) || stayed=$((${stayed-0} + 1))
	done
	# Never from an older checkpoint than the newest.
	echo "# $(grep -c ^restart journal) starts, $(grep -c ^complete journal)" \
		"checkpoints, $(grep -c "taking over" said) taken over," \
		"${stayed-0} launchers stayed" >&3
	awk '/^complete/ { last = $2 }
		/^restart/ && $2 + 0 < last { print last, $0; bad = 1 }
		END { exit bad || last < 50 }' journal ||
		failed "$(tail -n 20 said)"
	program 0
	warns 0 "is saved" scr_run ./app
	[[ -z $(left) ]] || failed "left: $(left)"
}

@test "restarts have another command; names of launchers" {
	stub srun <<<$'#!/bin/sh\necho "words $*"'
	prints "words -n 2 app -x 1" scr_srun --run-cmd="app -x  1" -n 2
	prints "words -n 2 --runs=5 app -h" scr_srun -n 2 --runs=5 app -h
	prints "words -n 2 app x" scr_srun -rc "app x" -n 2
	prints "words -n 2 app x" scr_run -rs=no -rc="app x" srun -n 2
	shows "Usage: scr_srun" scr_srun --help
	gen -p p -n 2 -s 1000 -i 3 --name ckpt.3
	scr_index -q -p p --build 3
	rm -f p/.scr/flush.scr p/.scr/nodes.scr
	ends 0 scr_run --run-cmd "app" --restart-cmd "app --from SCR_CKPT_NAME" srun
	assert_output_is "words app --from ckpt.3"
	shows "  scr_run     ended since" scr_inspect p
}

@test "a prefix that cannot be prepared: nothing is launched, and the record says that it ended" {
	program 0
	mkdir -p p/.scr/flush.scr.bak/full
	echo junk >p/.scr/flush.scr
	run -125 --separate-stderr scr_run ./app
	assert_stderr_has "nothing is launched"
	[[ $(record state) == ended && ! -e runs ]]
}
