# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # set for those who load it; bats
#
# helper.bash - MPI jobs on pretend nodes, for the tests of libscr:
#
#     load helper
#
#     @test "four ranks agree" {
#             job "0 1 2 3" team agree
#             assert_status 0
#     }
#
# A test has the directories
#     $NODES/K   storage of node K; `lose K` empties it
#     $SSD       where a rank sees the storage of its node
#     $PREFIX    working directory of the jobs, and their prefix
# and the settings below in the environment; tests change them as they like.
# Programs are built from testsuite/mpi/NAME.c.  Also loads helper.bash of the
# commands' tests.

load ../cmd/helper

: "${MPI:=$BIN/../mpi}"
export MPI

# node.sh needs root: a user is root of one namespace with all ranks of a job.
as_root=(env)
((EUID == 0)) || as_root=(unshare -r)

# Open MPI: root may start more ranks than there are cores, of which none is bound.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1

# Preloaded into the program of each rank: the sanitizer's library first, if the
# tree has one, and shim/patient.c: ranks that wait sleep, so that many of them
# can share a core.
RANK_PRELOAD=$(ldd "$MPI/where" 2>/dev/null | awk '/libasan/ { print $3 ":" }')
export RANK_PRELOAD+=$MPI/../patient.so

# Why no job can run here; empty: it can.
job_missing() {
	if ! command -v mpiexec >/dev/null; then
		echo "no mpiexec"
	elif [[ ! -d $MPI ]]; then
		echo "built without MPI"
	elif ! "${as_root[@]}" unshare -m -u hostname node0 2>/dev/null; then
		echo "no mount and UTS namespaces"
	fi
}

# The fixture of each test.  A file with its own setup() calls it there.
job_setup() {
	local missing

	missing=$(job_missing)
	[[ -z $missing ]] || skip "$missing"
	: "${JOB_BASE:=$BATS_TEST_TMPDIR}"
	export NODES=$JOB_BASE/nodes SSD=$JOB_BASE/ssd PREFIX=$JOB_BASE/prefix
	rm -rf "$NODES" "$SSD" "$PREFIX"
	mkdir -p "$NODES" "$SSD" "$PREFIX"
	cd "$PREFIX" || return
	export USER=tester SCR_JOB_ID=j1 SCRKIT_SYSTEM_CONF=/dev/null
	export SCR_CNTL_BASE=$SSD SCR_CACHE_BASE=$SSD
	export SCR_CACHE_BYPASS=0 SCR_CACHE_SIZE=2 SCR_FLUSH=0
}

setup() { job_setup; }

# job MAP PROGRAM [ARG]...: run an MPI program with a rank for each word of MAP,
# the number of the rank's node, like `try`.  It is killed, with status 124,
# after JOB_LIMIT seconds (20), on a slow machine later.  RANK_COMMAND, such as valgrind with its options,
# runs the program.
job() {
	local map=$1 program=$2
	local -a words command

	shift 2
	read -ra words <<<"$map"
	read -ra command <<<"${RANK_COMMAND-}"
	[[ $program == */* ]] || program=$MPI/$program
	try timeout -k 2 $((${JOB_LIMIT:-20} * ${SCRKIT_SLOWNESS:-1})) "${as_root[@]}" \
		mpiexec -n "${#words[@]}" "$TESTSUITE/scr/node.sh" "$map" \
		"${command[@]}" "$program" "$@" </dev/null 3>&-
}

# on_node K COMMAND...: on this pretend node.
on_node() {
	PMI_RANK=0 "${as_root[@]}" "$TESTSUITE/scr/node.sh" "$@"
}

# works MAP PROGRAM [ARG]...: `job`, with status 0.
works() {
	job "$@"
	assert_status 0
}

# dies MAP PROGRAM [ARG]...: `job`, which ends with another status.
dies() {
	job "$@"
	((status != 0 && status != 124)) || failed "$*: status $status"
}

# line "LINE;LINE..." COMMAND...: `job` or another such one; these are lines of stdout.
line() {
	"${@:2}"
	parts "$1"
	for one in "${parts[@]}"; do
		assert_line "$one"
	done
}

# warned TEXT: a line of stderr matches, one whatever the number of ranks.
warned() {
	[[ $(grep -c -- "$1" <<<"$stderr") -eq 1 ]] ||
		failed "expected once on stderr: $1"
}

# once COMMAND...: the command begins with empty nodes and an empty prefix, but for
# hidden files.  If a test of this file has run it with the same settings, what it
# left and answered is brought back: set JOB_BASE, so that paths are the same.
once() {
	local kept

	kept=$({
		printf '%s\n' "$*"
		env | grep ^SCR_ | sort
		cat .scrconf
	} 2>/dev/null | md5sum)
	kept=$BATS_FILE_TMPDIR/once.${kept%% *}
	rm -rf "${NODES:?}" "${PREFIX:?}"/.scr "${PREFIX:?}"/*
	if [[ -e $kept ]]; then
		cp -a "$kept/nodes" "$JOB_BASE"
		cp -a "$kept/prefix/." "$PREFIX"
		status=$(<"$kept.status") output=$(<"$kept.output")
		stderr=$(<"$kept.stderr")
		return
	fi
	"$@"
	echo "$status" >"$kept.status"
	echo "$output" >"$kept.output"
	echo "$stderr" >"$kept.stderr"
	mkdir "$kept"
	cp -a "$NODES" "$PREFIX" "$kept"
}

# An ssh that reaches the pretend nodes; a node without storage is dead.
pretend_ssh() {
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	cat >"$BATS_TEST_TMPDIR/bin/ssh" <<-END
		#!/bin/sh
		until [ "\$1" = -- ]; do
			shift
		done
		node=\$2
		shift 2
		[ -d "$NODES/\${node#node}" ] || exit 255
		exec ${as_root[*]} "$TESTSUITE/scr/node.sh" "\${node#node}" sh -c "\$*"
	END
	chmod +x "$BATS_TEST_TMPDIR/bin/ssh"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# Skip a test in a tree with sanitizers, because of these words.
not_sanitized() {
	[[ $RANK_PRELOAD != *libasan* ]] || skip "not with sanitizers: $1"
}

# lose K...: the storage of these nodes is gone.
lose() {
	local k

	for k; do
		rm -rf "${NODES:?}/$k"
	done
}

# saved ID [NODE]...: these nodes (0 to 3) are saved, and the dataset is whole, also
# by its bytes.
saved() {
	local id=$1 k

	shift
	(($# > 0)) || set -- 0 1 2 3
	for k; do
		ends 0 on_node "$k" scr_copy --id "$id" \
			--cntldir "$SSD/tester/scr.j1" --prefix "$PREFIX"
	done
	ends 0 scr_index --prefix "$PREFIX" --build "$id"
	ends 0 scr_inspect --prefix "$PREFIX" --deep --checksums --dataset "$id"
}

# The ids of the datasets in the cache of node K, as "1 2".
cached() {
	find "$NODES/$1" -name 'scr.dataset.*' | sed 's/.*\.//' | sort -n |
		paste -sd ' '
}

# whole DATASET...: the commands call these datasets whole, with checksums.
whole() {
	local id

	for id; do
		ends 0 scr_index --prefix "$PREFIX" --verify --checksums "$id"
	done
}

# ids FILTER: ids of the datasets in the index for which this filter of jq is
# true, as "1 2".
ids() {
	scr_index --prefix "$PREFIX" --list --json |
		jq -r "[.datasets[] | select($1) | .id] | sort |
			map(tostring) | join(\" \")"
}

# stdout has exactly this line.
assert_line() {
	grep -qxF -- "$1" <<<"$output" || failed "expected a line on stdout:" "$1"
}
