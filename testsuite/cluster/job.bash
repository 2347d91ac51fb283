# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # set for those who load it; bats
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

# Skip the test if no MPI job can run here.
job_ready()
{
	command -v mpiexec >/dev/null || skip "no mpiexec here"
	[[ -x $MPI/app_kills ]] || skip "built without MPI"
}

# job_lay [SETTING]...: an empty prefix; the settings of the jobs to come.
job_lay()
{
	local tree

	job_ready
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

# The next run of the application is another round.
job_round()
{
	echo $((++ROUND)) >"$BED_DIR/pfs/round"
}

# job_direct NODES OPTION...: run the application with a rank on each of
# node1 to nodeNODES ("1 2 5": on these), without a batch script, like `try`.
job_direct()
{
	local nodes=$1 list

	shift
	[[ $nodes == *' '* ]] || nodes=$(seq -s ' ' "$nodes")
	list=$(printf 'node%s,' $nodes)
	job_round
	BED_LIMIT=${JOB_LIMIT:-60} try on login env "${job_env[@]}" \
		SCR_JOB_ID="${job_id:-j1}" sh -c 'cd /pfs/run && exec "$@"' - \
		mpiexec -launcher ssh -hosts "${list%,}" -ppn "${PPN:-1}" \
		-n $((${PPN:-1} * $(wc -w <<<"$nodes"))) /pfs/app "$@" </dev/null
}

# job_post ARG...: run scr_postrun for the job of job_direct on nodes 1 to
# ${NODES:-4}, like `try`.
job_post()
{
	try on login env "${job_env[@]}" SCR_JOB_ID="${job_id:-j1}" \
		"SCR_NODELIST=node[1-${NODES:-4}]" \
		scr_postrun -t 2 --node-timeout 5 "$@"
}

# job_restarts STEP ROUND: a new job, on nodes without caches, restarts from
# checkpoint STEP that ROUND wrote; "none": from nothing.  It verifies the
# content and writes nothing.
job_restarts()
{
	local want="restart $1${2:+ $2}"

	job_id=later job_direct "${RESTART_NODES:-${NODES:-4}}" steps=0
	assert_status 0
	[[ $(grep restart "$JOURNAL" | tail -n 1) == "$want" ]] ||
		failed "expected: $want" "$(tail -n 3 "$JOURNAL")"
}

# What is in the caches of a node, as "1 2".
job_cached()
{
	on "$1" find /ssd -name 'scr.dataset.*' | sed 's/.*\.//' | sort -n |
		paste -sd ' '
}

# job_await FILE: wait until /pfs/FILE exists.
job_await()
{
	local i

	for ((i = 0; i < ${2:-300}; i++)); do
		[[ ! -e $BED_DIR/pfs/$1 ]] || return 0
		sleep 0.1
	done
	failed "/pfs/$1 did not appear"
}
