# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # set for those who load it
#
# bed.bash - tests on several pretend nodes; loaded by `load bed`.  Each test
# file has one bed, started in setup_file (or in a single test):
#
#     setup_file() { bed_up 4; }
#
#     @test "the dead node is named" {
#             bed_lay xor_4
#             bed_kill node2
#             try on login env "${lay_env[@]}" scr_postrun ...
#             assert_status 0
#     }
#
# The commands under test come first in PATH on every node.  A file with its own
# setup, teardown or teardown_file must call bed_ready, bed_wipe or bed_down
# there.  Also loads golden.bash and helper.bash.

load ../golden/golden

BED=$TESTSUITE/cluster/bed.sh
export BED

# bed_up [N]: start a bed of login and node1..nodeN (4).  The bed ends with the
# calling process in any case.  If no bed is possible here, bed_ready skips each
# test of the file (bats cannot skip in setup_file).  $BED_DIR/pfs is /pfs, seen
# from the machine.
bed_up() {
	local reason tree

	if ! reason=$("$BED" check); then
		unset BED_DIR
		export BED_MISSING="no test bed: $reason"
		[[ -z ${BATS_TEST_TMPDIR-} ]] || bed_ready
		return 0
	fi
	tree=$(cd "$BIN/.." && pwd)
	export BED_DIR=${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}/bed
	# As long as run.sh waits for the file.
	BED_TIE=$$ BED_LIFE=$((${TEST_TIMEOUT:-3600} * ${SCRKIT_SLOWNESS:-1})) \
		BED_PRELOAD=$tree BED_SHARE=$(cd "$TESTSUITE/.." && pwd) BED_WRITE=$tree \
		BED_PATH=$tree/bin:$tree/gen "$BED" up "${1:-4}"
}

# bed_ready: skip the test if the bed is not running.
bed_ready() {
	[[ -z ${BED_MISSING-} ]] || skip "$BED_MISSING"
}

# bed_down: stop the bed and remove all of it.
bed_down() {
	[[ -z ${BED_DIR-} ]] || "$BED" down
}

setup() { bed_ready; }
teardown() { bed_wipe; }
teardown_file() { bed_down; }

# bed_slurm_up: start SLURM on the bed (once; revived nodes join again).  Skips
# the test if SLURM is not installed.
bed_slurm_up() {
	local reason

	reason=$("$BED" check slurm) || skip "no SLURM: $reason"
	"$BED" slurm-up
}

# bed_slurm_lost NODE...: make SLURM mark dead nodes down now.  It takes more
# than 15 seconds to notice them itself.
bed_slurm_lost() {
	local node

	for node; do
		"$BED" exec login scontrol update "nodename=$node" state=down \
			reason=lost || return
	done
}

# on NODE CMD...: run a command on a node with its input, output and status.  It
# is killed, with status 124, after BED_LIMIT seconds (60), on a slow machine later.
# It may leave background processes: bats does not wait for them.
on() {
	timeout -k 2 $((${BED_LIMIT:-60} * ${SCRKIT_SLOWNESS:-1})) "$BED" exec "$@" 3>&-
}

# soon START N: fewer than N seconds have passed since $SECONDS was START; on a slow
# machine more.
soon() {
	((SECONDS - $1 < $2 * ${SCRKIT_SLOWNESS:-1})) ||
		failed "after $((SECONDS - $1)) s"
}

# await CMD...: until it succeeds, for at most 30 s, on a slow machine longer.
await() {
	local i

	for ((i = 0; i < 300 * ${SCRKIT_SLOWNESS:-1}; i++)); do
		! "$@" || return 0
		sleep 0.1
	done
	failed "in vain: $*"
}

# bed_each CMD NODE...: run a command of bed.sh for each of these nodes.
bed_each() {
	local node

	for node in "${@:2}"; do
		"$BED" "$1" "$node" || return
	done
}

# The faults of bed.sh: those of NODE...
bed_kill() { bed_each kill "$@"; }
bed_kill_soft() { bed_each kill-soft "$@"; }
bed_revive() { bed_each revive "$@"; }
bed_freeze() { bed_each freeze "$@"; }
bed_thaw() { bed_each thaw "$@"; }
bed_unplug() { bed_each unplug "$@"; }
bed_plug() { bed_each plug "$@"; }
bed_refuse() { bed_each refuse "$@"; }
bed_accept() { bed_each accept "$@"; }

# Those of NODE [DIR].
bed_fill() { "$BED" fill "$@"; }
bed_drain() { "$BED" drain "$@"; }
bed_readonly() { "$BED" readonly "$@"; }
bed_writable() { "$BED" writable "$@"; }

# bed_slow NODE BYTES_PER_SECOND [DIR]; bed_fast NODE undoes it.
bed_slow() { "$BED" slow "$@"; }
bed_fast() { "$BED" fast "$@"; }

# bed_skew SECONDS NODE...: their clocks are so far behind.
bed_skew() {
	local node

	for node in "${@:2}"; do
		"$BED" skew "$node" "$1" || return
	done
}

# bed_heal: undo all faults.  bed_wipe: also empty all storage and undo bed_lay.
bed_heal() { "$BED" heal; }
bed_wipe() {
	[[ ! -e ${BED_DIR-}/committed ]] || "$BED" wipe
}

# bed_lay [-s] CASE [DIR]: lay out the golden snapshot `cache` of CASE, the
# state at the end of its job.  Node K of the case is node K+1 here.  On each of
# them, these paths from the metadata exist:
#
#     /tmp/scrgold/CASE/local         is /ssd/CASE (the cache, in cache/)
#     /tmp/scrgold/CASE/local/cntl    is /dev/shm/CASE (the control directory)
#     /tmp/scrgold/CASE/prefix        is /pfs/DIR, DIR is CASE/prefix; on all
#                                     nodes and login
#
# So faults of /ssd affect the cache, and a revived node has these directories,
# but empty.  With -s all nodes share one cache in /pfs/CASE/local.  Sets
#
#     lay_case     CASE
#     lay_prefix   the prefix on the nodes, as recorded
#     lay_pfs      the same, seen from the machine
#     lay_cache, lay_cntl   the base directories
#     lay_env      an array of the job's SCR_* settings, for
#                  `on login env "${lay_env[@]}" CMD...`
bed_lay() {
	local shared='' case snap root node count nodes=() at i

	[[ $1 != -s ]] || { shared=1 && shift; }
	case=$1
	snap=$BATS_FILE_TMPDIR/lay.$case
	[[ -d $snap ]] || snapshot "$case" cache "$snap"
	count=$(find "$snap/nodes" -mindepth 1 -maxdepth 1 | wc -l)
	root=/tmp/scrgold/$case
	for ((i = 1; i <= count; i++)); do
		nodes+=("node$i")
	done
	at=/ssd/$case
	[[ -z $shared ]] || at=/pfs/$case/local
	{
		for node in "${nodes[@]}"; do
			printf '%s\t%s\t%s\n' "$node" "$at" "$root/local" \
				"$node" "/dev/shm/$case" "$root/local/cntl"
		done
		for node in $("$BED" status | cut -d ' ' -f 1); do
			printf '%s\t%s\t%s\n' "$node" \
				"/pfs/${2:-$case/prefix}" "$root/prefix"
		done
	} | "$BED" bind
	for ((i = 1; i <= count; i++)); do
		tar -C "$snap/nodes/node$((i - 1))" -cf - . |
			on "node$i" tar -C "$root/local" --no-overwrite-dir -xf -
	done
	cp -a "$snap/prefix/." "$BED_DIR/pfs/${2:-$case/prefix}"
	lay_case=$case
	lay_prefix=$root/prefix
	lay_pfs=$BED_DIR/pfs/${2:-$case/prefix}
	lay_cache=$root/local/cache
	lay_cntl=$root/local/cntl
	lay_env=(SCR_USER_NAME=golduser SCR_JOB_ID=1000 SCR_JOB_NAME=goldjob
		SCR_CLUSTER_NAME=goldcluster SCR_CONF_FILE=/dev/null
		"SCR_PREFIX=$lay_prefix" "SCR_CACHE_BASE=$lay_cache"
		"SCR_CNTL_BASE=$lay_cntl" SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=4
		"SCR_NODELIST=$(IFS=, && echo "${nodes[*]}")")
}

# The prefix has exactly the files of the job that was laid out, as LLNL's tools
# rebuilt them.
assert_saved() {
	local from

	from=$(golden "scr3/$lay_case")
	grep -E ' [^ ]*prefix/' "$from/rebuilt.sha256" |
		grep -v '/\.scr/' | sed 's|  .*prefix/|  |' >"$BATS_TEST_TMPDIR/want"
	[[ -s $BATS_TEST_TMPDIR/want ]]
	(cd "$lay_pfs" && sha256sum --quiet -c "$BATS_TEST_TMPDIR/want")
}

# post ARG...: run scr_postrun on the login node, as in the job's batch script,
# through $remote (pdsh).
post() {
	on login env "${lay_env[@]}" scr_postrun -r "${remote:-pdsh}" -t 2 \
		--node-timeout 5 "$@"
}

# saves ARG...: `post` succeeds, and all of the job's files are on the prefix.
saves() {
	run -0 post "$@"
	assert_saved
}

# post_in_slurm "NODE..." ARG...: the same in an allocation of all nodes, in
# which these nodes die; through $remote (srun).
post_in_slurm() {
	local dead status=0

	IFS=' ' read -ra dead <<<"$1"
	shift
	rm -f "$BED_DIR/pfs/ready" "$BED_DIR/pfs/go"
	on login env "${lay_env[@]}" env -u SCR_NODELIST salloc -Q -N4 --no-kill sh -c '
			touch /pfs/ready
			while [ ! -e /pfs/go ]; do sleep 0.1; done
			exec scr_postrun -t 2 --node-timeout 5 -r "$@"' - \
		"${remote:-srun}" "$@" 3>&- &
	await test -e "$BED_DIR/pfs/ready"
	bed_kill "${dead[@]}"
	[[ -z ${lost-} ]] || bed_slurm_lost "${dead[@]}"
	touch "$BED_DIR/pfs/go"
	wait $! || status=$?
	# Otherwise SLURM waits more than a minute for the steps of dead nodes.
	[[ -n ${lost-} ]] || bed_slurm_lost "${dead[@]}"
	return $status
}
