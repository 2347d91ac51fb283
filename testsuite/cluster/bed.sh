#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A test bed of several pretend nodes on one Linux machine, made of namespaces;
# README.md tells how it works.  Needs root.
#
#     bed.sh check [slurm]       say why there can be no bed (or no SLURM) here
#     bed.sh up N | down         login, node1..nodeN; in about a second
#     bed.sh status              a line for each node: up or down, its faults
#     bed.sh exec NODE CMD...    run a command there: its status, its output
#     bed.sh slurm-up            munge and SLURM on all of them
#     bed.sh bind                lines "NODE TAB SOURCE TAB TARGET" on stdin: make
#                                SOURCE visible as TARGET there, also when the
#                                node comes back from the dead
#     bed.sh switch CMD...       run a command where the cables end
#
# Faults.  heal undoes them all; each has a command that undoes it:
#     kill NODE [hard|soft]      hard: silent, like a power cut; soft: peers see
#                                their connections closed
#     revive NODE                back, with the same address and empty storage
#     freeze | thaw NODE         all of its processes stop; it still has a kernel
#     unplug | plug NODE         processes go on, nobody reaches them
#     refuse | accept NODE       sshd is gone: connections are refused
#     mute | unmute NODE         what comes for sshd is lost: connections hang
#     fill | drain NODE [DIR]    DIR (/ssd) has no room left; /pfs for all nodes
#     readonly | writable NODE [DIR]
#                                DIR (/ssd) cannot be written; /pfs for this node
#     slow NODE RATE [DIR [FSYNC_MS]]
#                                RATE bytes per second from and to DIR (/ssd)
#     broken NODE BYTES ERRNO [DIR]
#                                writing fails after so many bytes per process
#     fast NODE                  undoes both
#     heal                       all of these
#     wipe                       heal, then empty every storage, /pfs too
#
# Settings, in the environment of `up`:
#     BED_DIR      the bed's directory: one bed each ($TMPDIR/scrkit-bed)
#     BED_TIE      a process: when it goes, so does the bed
#     BED_LIFE     after this many seconds the bed goes anyway (1800)
#     BED_SHARE    directories, ":" between them, seen by all nodes at the same
#                  path, read-only; BED_WRITE: the same, writable
#     BED_PATH     directories that come first in PATH on all nodes
#     BED_PRELOAD  directory of slowdisk.so
#     BED_SHM, BED_SSD, BED_PFS   size of /dev/shm (512m), /ssd (256m), and of
#                  /pfs, which all nodes share (2g)
#     BED_CPUS     what each node claims to SLURM (4)
#     BED_SLURMD_TIMEOUT   seconds until SLURM gives up a silent node, at least (10)
# Below BED_DIR, `pfs` is the nodes' /pfs and `log` holds what they said.
# Exit status: 0, that of the command, or 1 with a message.
set -u

bed=$(readlink -f "$0")
here=${bed%/*}
BED_DIR=${BED_DIR:-${TMPDIR:-/tmp}/scrkit-bed}
ns=$BED_DIR/ns

# shellcheck source=testsuite/cluster/inside.bash
. "$here/inside.bash"
# shellcheck source=testsuite/cluster/slurm.bash
. "$here/slurm.bash"

die() {
	echo "bed: $*" >&2
	exit 1
}

usage() {
	sed -n '/^# A test bed/,/^set -u/s/^# \{0,1\}//p' "$bed" | sed '$d' >&2
	exit 2
}

# Print when process $1 started, by the /proc at $2: a number used again is no
# longer the same process.  A zombie is dead.
started() {
	local line fields

	line=$(cat "${2:-/proc}/$1/stat" 2>/dev/null) || return 1
	read -ra fields <<<"${line##*) }"
	case ${fields[0]} in Z | X) return 1 ;; esac
	echo "${fields[19]}"
}

# Print the machine's number of the process that holds the bed up.
outer_pid() {
	local pid start

	{ read -r pid start <"$BED_DIR/outer"; } 2>/dev/null || return 1
	[ "$(started "$pid")" = "$start" ] || return 1
	echo "$pid"
}

# Run a command in the outer namespaces.
in_outer() {
	local pid

	pid=$(outer_pid) || die "not up: $BED_DIR"
	nsenter -t "$pid" -m -p -n -i -- "$@"
}

# Run a function of inside.bash or slurm.bash there.
inside() {
	in_outer env BED_DIR="$BED_DIR" bash "$bed" __inside "do_${1//-/_}" "${@:2}"
}

# --- Can it be? ------------------------------------------------------------------

# Print why there can be no bed, as one line, and fail.
check() {
	local tool

	[ "$(id -u)" = 0 ] || { echo "needs root" && return 1; }
	for tool in ip unshare nsenter pivot_root setsid runuser flock \
		/usr/sbin/sshd ssh ssh-keygen; do
		command -v "$tool" >/dev/null ||
			{ echo "no ${tool##*/} here" && return 1; }
	done
	# shellcheck disable=SC2016 # for the shell inside
	unshare --fork --kill-child --pid --mount --net --ipc --uts sh -c '
		mount -t tmpfs bed /mnt && mkdir /mnt/l /mnt/u /mnt/w /mnt/r &&
		mount -t overlay -o lowerdir=/mnt/l:/,upperdir=/mnt/u,workdir=/mnt/w \
			bed /mnt/r && mount -t proc proc /mnt/r/proc &&
		ip link add bed0 type bridge && ip link add bed1 type veth peer bed2
		' >/dev/null 2>&1 ||
		{ echo "namespaces are not allowed here" && return 1; }
	[ "${1-}" != slurm ] || check_slurm
}

# --- Up and down -----------------------------------------------------------------

# The bed, from outside: everything lives and dies with one process, the outer
# init, which this starts and then leaves alone.
up() {
	local count=${1:-4} line='' reason

	[[ $count =~ ^[1-9][0-9]?$ ]] || die "1 to 99 nodes, not $count"
	reason=$(check) || die "$reason"
	mkdir -p "$ns" "$BED_DIR/log" || exit 1
	exec 9>"$BED_DIR/lock"
	flock -n 9 || die "somebody else works in $BED_DIR"
	outer_pid >/dev/null && die "is up already: $BED_DIR"
	rm -rf "$BED_DIR"/{outer,ready,committed,settings,pfs}
	mkfifo "$BED_DIR/ready" || exit 1
	settings >"$BED_DIR/settings"

	# Until `committed` exists the outer init watches this process, too.
	child=
	trap 'leave_up $?' EXIT
	trap 'exit 130' INT TERM HUP
	start_outer "$count" &
	child=$!
	# Read and write: opening never blocks, whoever has died.
	exec 7<>"$BED_DIR/ready"
	read -r -t 60 -u 7 line
	exec 7>&-
	if [ "$line" != ok ]; then
		cat "$BED_DIR"/log/* >&2
		die "did not come up: ${line:-no answer}"
	fi
	ln -s "/proc/$(outer_pid)/root$ns/pfs" "$BED_DIR/pfs" || exit 1
	: >"$BED_DIR/committed"
	trap - EXIT
}

leave_up() {
	trap - EXIT
	[ -z "$child" ] || { kill -KILL "$child" && wait "$child"; } 2>/dev/null
	down
	exit "$1"
}

# What `up` was told, for all that comes later.
settings() {
	printf '%s=%q\n' \
		BED_SHM "${BED_SHM:-512m}" BED_SSD "${BED_SSD:-256m}" \
		BED_PFS "${BED_PFS:-2g}" BED_SHARE "${BED_SHARE-}" \
		BED_WRITE "${BED_WRITE-}" BED_PATH "${BED_PATH-}" BED_CPUS "${BED_CPUS:-4}" \
		BED_PRELOAD "${BED_PRELOAD-}" BED_LIFE "${BED_LIFE:-1800}" \
		BED_TIE "${BED_TIE-}" \
		BED_SLURMD_TIMEOUT "${BED_SLURMD_TIMEOUT:-10}"
}

# Become the parent of the outer init, in a session of its own and without
# inherited descriptors (bats waits until its own are closed).
start_outer() {
	local fd

	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		[ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
	done
	# The time limit here is for an init that hangs.
	exec setsid timeout --foreground -s KILL $((${BED_LIFE:-1800} + 60)) \
		unshare --fork --kill-child --pid --mount --net --ipc --uts \
		env -i PATH="$system_path" BED_DIR="$BED_DIR" \
		bash "$bed" __outer "$1" $$ \
		</dev/null >"$BED_DIR/log/outer" 2>&1
}

# The kernel cleans up: with the outer init go all processes, mounts and links.
down() {
	local pid i

	if pid=$(outer_pid); then
		kill -KILL "$pid"
		for ((i = 0; i < 500; i++)); do
			started "$pid" >/dev/null || break
			sleep 0.02
		done
		started "$pid" >/dev/null && die "process $pid does not go"
	fi
	rm -rf "$BED_DIR"/{outer,ready,committed,settings,pfs,lock,ns}
}

# --- One command -------------------------------------------------------------------

case ${1-} in
check) check "${2-}" ;;
up) up "${2-4}" ;;
down) down ;;
switch)
	shift
	in_outer "$@"
	;;
status | bind | kill | revive | freeze | thaw | unplug | plug | refuse | \
	accept | mute | unmute | fill | drain | readonly | writable | slow | \
	broken | fast | heal | wipe | slurm-up)
	inside "$@"
	;;
exec)
	[ $# -ge 3 ] || usage
	inside exec "$2" "$PWD" "${@:3}"
	;;
__outer | __node | __inside)
	# shellcheck disable=SC1091 # made by `up`
	. "$BED_DIR/settings"
	name=${1#__}
	[ "$name" != inside ] || { name=$2 && shift; }
	"$name" "${@:2}"
	;;
*) usage ;;
esac
