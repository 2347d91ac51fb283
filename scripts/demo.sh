#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A tour for newcomers: an MPI job that checkpoints with libscr loses a node and
# restarts, is stopped, loses another node, and the next job continues from what
# scr_postrun saved.  Every file is compared with those of an undisturbed job.
#     scripts/demo.sh build/plain
# The nodes are pretend ones, as in the tests of libscr: testsuite/scr/node.sh.
# Without namespaces there is one node, which does not die.
set -eu
tree=$(cd "${1:?usage: demo.sh TREE}" && pwd)
cd "$(dirname "$0")/.."
source=$PWD
unset "${!SCR_@}"
export LC_ALL=C.UTF-8 USER=${USER:-$(id -un)}
# A user has to be root of a namespace.  It is one for all ranks: MPICH's ranks
# share memory.
if [ "$(id -u)" -ne 0 ] && unshare -r -m -u true 2>/dev/null; then
	exec unshare -r "$source/scripts/demo.sh" "$tree"
fi

# The flags of pkg-config are words: no blank in a path.
[[ ${TMPDIR-} != *[[:space:]]* ]] || TMPDIR=/tmp
work=$(mktemp -d "${TMPDIR:-/tmp}/scrkit-demo.XXXXXX")
trap leave EXIT
trap 'exit 130' INT TERM
mpi='' # process number of a running mpiexec
shown=0 # lines of its output that the reader has seen

bold='' plain=''
[ -t 1 ] && bold=$'\e[1m' plain=$'\e[0m'

# A signal to all ranks.  The shell's own kill: a bare machine has no other.
each_rank() {
	local pids

	mapfile -t pids < <(cat "$work"/pid/*)
	kill "-$1" "${pids[@]}"
}

leave() {
	if [ -n "$mpi" ]; then
		# The ranks first: frozen ones do not notice that it ends.
		each_rank KILL || true
		wait "$mpi" || true
	fi 2>/dev/null
	rm -rf "$work"
}

say() {
	printf '\n%s%s%s\n' "$bold" "$*" "$plain"
}

# tell TEXT OTHERWISE: say TEXT, or OTHERWISE if there are no pretend nodes.
tell() {
	if [ -n "$spaces" ]; then
		say "$1"
	else
		say "$2"
	fi
}

fail() {
	echo "demo: $*" >&2
	exit 1
}

# Paths as the reader would like them.
tidy() {
	sed "s|$work/||g"
}

typed() {
	printf '%s$ %s%s\n' "$bold" "$*" "$plain"
}

# run STATUS COMMAND...: show a command as typed, and its output.  It must end
# with STATUS.
run() {
	local want=$1 status=0

	shift
	typed "$*" | tidy
	"$@" >"$work/output" 2>&1 || status=$?
	tidy <"$work/output"
	[ "$status" -eq "$want" ] || fail "exit status $status, expected $want"
	[ "$status" -eq 0 ] || echo "[exit status $status]"
}

# same DIRECTORY FILE...: these files of a job are, byte for byte, the files of
# the same names that the undisturbed job has in DIRECTORY.
same() {
	local file

	for file in "${@:2}"; do
		cmp "$file" "$work/calm/$1/${file##*/}" ||
			fail "$file differs from that of the undisturbed job"
	done
}

# --- Pretend nodes ---

# Node K has its storage in $NODES/K; its processes see it at $SSD.
export NODES=$work/nodes SSD=$work/ssd
spaces=yes
unshare -m -u true 2>/dev/null || spaces='' SSD=$NODES/1
mkdir -p "$NODES" "$SSD" "$work/bin" "$work/pid" "$work/run7" "$work/calm"
# The loader would split a path with blanks.
cp "$tree/patient.so" "$work"

# A rank of a job begins here, and leaves its process number.  So does what ssh
# starts; a node without storage is dead.
cat >"$work/bin/rank" <<END
#!/bin/sh
echo \$\$ >"$work/pid/\${PMI_RANK:-\${OMPI_COMM_WORLD_RANK:-0}}"
[ -z "$spaces" ] || exec "$source/testsuite/scr/node.sh" "\$@"
shift
exec "\$@"
END
cat >"$work/bin/ssh" <<END
#!/bin/sh
until [ "\$1" = -- ]; do
	shift
done
node=\$2
shift 2
[ -d "$NODES/\${node#node}" ] || {
	echo "ssh: connect to host \$node port 22: No route to host" >&2
	exit 255
}
[ -n "$spaces" ] || exec sh -c "\$*"
exec "$source/testsuite/scr/node.sh" "\${node#node}" sh -c "\$*"
END
chmod +x "$work/bin/rank" "$work/bin/ssh"

# die NODE [RANK]: with what it stores, and with the rank that runs there.
die() {
	[ -z "${2-}" ] || kill -KILL "$(cat "$work/pid/$2")"
	[ -z "$spaces" ] || rm -rf "${NODES:?}/$1"
}

# Stop all ranks for a look at the caches; let them run again.
freeze() { each_rank STOP; }
thaw() { each_rank CONT; }

# --- Jobs ---

# Open MPI wants to be asked before root starts more ranks than there are cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
steps=80
# start MAP [STATUS]: start the job; rank R runs on node K, the R-th word of MAP.
start() {
	[ -n "$spaces" ] || set -- "1 1 1 1"
	typed "mpiexec -n 4 ./heat $steps${spaces:+      # on nodes ${1// /, }}"
	# Emptied here: the shell in the background may do it too late for
	# until_said().
	rm -f "$work"/pid/*
	: >"$work/log"
	LD_PRELOAD=$work/patient.so mpiexec -n 4 "$work/bin/rank" "$1" \
		"$work/bin/heat" "$steps" 50 >>"$work/log" 2>&1 </dev/null &
	mpi=$!
	shown=0
}

# until_said PATTERN COUNT: wait until the job has printed so many such lines.
until_said() {
	local tries

	for ((tries = 0; tries < 2400; tries++)); do
		[ "$(grep -cE -- "$1" "$work/log")" -lt "$2" ] || return 0
		kill -0 "$mpi" 2>/dev/null || break
		sleep 0.05
	done
	cat "$work/log" >&2
	fail "the job did not say: $1"
}

# Print what the job said since the last time.
show() {
	tail -n "+$((shown + 1))" "$work/log" | grep -E '^(heat|SCR)' | tidy ||
		true
	shown=$(wc -l <"$work/log")
}

# ended WELL: wait for the end of the job, which must be good (WELL is 0), not
# (1), or either ("").  Prints what the job said.
ended() {
	local status=0

	wait "$mpi" || status=$?
	mpi=''
	show
	if [ "$((status != 0))" -ne "${1:-$((status != 0))}" ]; then
		cat "$work/log" >&2
		fail "mpiexec: exit status $status"
	fi
	[ "$status" -eq 0 ] || echo "[exit status $status]"
}

# The step of the newest checkpoint that the job reported, or restarted from.
newest() {
	sed -nE 's/^heat: (ckpt\.([0-9]+) is complete|restarts from ckpt.([0-9]+))$/\2\3/p' \
		"$work/log" | tail -n 1
}

# between STEP FROM TO: a job that dies may have completed one checkpoint more
# than it could report.
between() {
	if [ "$1" -lt "$2" ] || [ "$1" -gt "$3" ]; then
		fail "restart from step $1, expected $2 to $3"
	fi
}

# The files of checkpoint ckpt.$1 in the caches: one dataset for each ten steps.
cached() {
	find "$NODES" -path "*/scr.dataset.$(($1 / 10))/rod.*"
}

# --- The tour ---

[ -n "$spaces" ] ||
	say "This machine has no mount and UTS namespaces, so all ranks run on one node.
The tour leaves out the death of nodes, and redundancy; instead a rank dies."

say "1. heat.c is an MPI application that writes its files through libscr.  libscr
   was installed below opt; building the application takes nothing else:"
# Make knows no names with blanks: a relative one.
make -C "$source" -o all -s O="${tree#"$source/"}" PREFIX="$work/opt" install
lib=$work/opt/lib
export PATH=$work/bin:$work/opt/bin:$PATH
export PKG_CONFIG_PATH=$lib/pkgconfig:${PKG_CONFIG_PATH-}
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
typed "cc heat.c -o heat \$(pkg-config --cflags --libs scr)"
# shellcheck disable=SC2046,SC2086 # several words
${CC:-cc} "$source/examples/heat.c" -o "$work/bin/heat" \
	$(pkg-config --cflags --libs scr)

say "2. First a job that nothing happens to.  Its checkpoints (all copied to its
   prefix directory, calm) and its result are what later ones are compared with."
export SCRKIT_SYSTEM_CONF=/dev/null
export SCR_CNTL_BASE=$SSD SCR_CACHE_BASE=$SSD SCR_CACHE_SIZE=2
cd "$work/calm"
export SCR_JOB_ID=999 SCR_FLUSH=1
start "1 2 3 4"
ended 0
unset SCR_FLUSH
rm -rf "${NODES:?}"/*
[ "$(cat result/rod.* | wc -l)" -eq 40000 ] || fail "no result"

tell "3. Now job 1000, with prefix run7.  Its checkpoints stay in the caches of its
   nodes: only each tenth is copied.  Each node has files and XOR parity of the
   other nodes' files.  Node 2 dies, and the whole job with it:" \
	"3. Now job 1000, with prefix run7.  Its checkpoints stay in the cache of its
   node: only each tenth is copied.  Rank 1 dies, and the whole job with it:"
cd "$work/run7"
export SCR_JOB_ID=1000 SCR_NODELIST="node[1-5]"
[ -n "$spaces" ] || SCR_NODELIST=node1
start "1 2 3 4"
until_said "is complete" 3
die 2 1
ended 1
saved=$(newest)
[ "$(find . -name 'rod.*' | wc -l)" -eq 0 ] || fail "flushed already"

tell "4. The batch script starts it again, with spare node 5 in the place of node 2.
   libscr computes the files of rank 1 from the other nodes' files and parity,
   and the application restarts as if nothing had happened:" \
	"4. The batch script starts it again.  libscr finds the newest checkpoint in the
   cache, and the application restarts as if nothing had happened:"
start "1 5 3 4"
until_said "restarts from" 1
freeze
from=$(newest)
between "$from" "$saved" $((saved + 10))
mapfile -t files < <(cached "$from")
[ ${#files[@]} -eq 4 ] || fail "ckpt.$from: ${#files[@]} of 4 files in cache"
same "ckpt.$from" "${files[@]}"
[ -z "$spaces" ] || [[ "${files[*]}" == *"$NODES/5/"*/rod.1* ]] ||
	fail "rank 1 has no file on node 5"
show
printf '%s\n' "${files[@]}" | sort | tidy
echo "(All four files in the caches are those of job 999, byte for byte.)"
thaw
until_said "is complete" 2

say "5. The time of the job is over, and the resource manager stops it.  The newest
   checkpoint is in the caches only:"
run 0 kill "$mpi"
ended '' # what mpiexec makes of SIGTERM depends on the moment
saved=$(newest)
[ "$saved" -lt "$steps" ] || fail "the job was not stopped"
[ "$(find . -name 'rod.*' | wc -l)" -eq 0 ] || fail "flushed already"

tell "6. And node 4 dies, too.  Can the checkpoint be saved?  scr_postrun asks all
   nodes what they hold, and tells, without copying:" \
	"6. Can the checkpoint be saved?  scr_postrun asks the node what it holds, and
   tells, without copying:"
die 4
run 0 scr_postrun --remote=ssh --plan

if [ -n "$spaces" ]; then
	say "7. Had node 1 died as well, XOR could not restore two of four members.  That
   is said, and the exit status is another:"
	run 4 scr_postrun --remote=ssh --plan --down=node1
fi

tell "8. Save it, as the end of a batch script does: the nodes copy what they have,
   the files of the dead node are rebuilt on the prefix, the index is updated." \
	"8. Save it, as the end of a batch script does: the node copies what it has, and
   the index is updated."
run 0 scr_postrun --remote=ssh
run 0 scr_index
from=$(scr_index --list | sed -nE 's/.*\* ckpt\.([0-9]+)$/\1/p')
between "${from:-0}" "$saved" $((saved + 10))

tell "9. Verify it: sizes, and the data against their parity." \
	"9. Verify it:"
run 0 scr_index --verify --deep "ckpt.$from"
run 0 ls "ckpt.$from"
files=("ckpt.$from"/rod.[0-3])
same "ckpt.$from" "${files[@]}"
echo "(Once more those of job 999, byte for byte.)"

say "10. Few large files suit a parallel file system better than many small ones.
   Pack the checkpoint into containers, verify them, and take the files out:"
run 0 scr_container pack "ckpt.$from"
run 0 scr_container verify "ckpt.$from"
run 0 scr_container unpack "ckpt.$from"

say "11. The next job, 1001, gets other nodes.  Their caches are empty, so libscr
   fetches the checkpoint from the prefix, and the job runs to its end:"
rm -rf "${NODES:?}"/*
export SCR_JOB_ID=1001
start "6 7 8 9"
ended 0
grep -qx "heat: restarts from ckpt.$from" "$work/log" ||
	fail "job 1001 did not restart from ckpt.$from"
run 0 ls result
same result result/rod.[0-3]

say "The result of these three runs is that of the undisturbed job, byte for byte.
Next: README.md, examples/heat.c, and the batch scripts in examples/."
