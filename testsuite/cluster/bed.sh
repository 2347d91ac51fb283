#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A test bed of several pretend nodes on one Linux machine, made of namespaces;
# README.md explains how it works.  Needs root.
#
#     bed.sh check [slurm]       print why there can be no bed (or no SLURM) here
#     bed.sh up N | down         login, node1..nodeN; in about a second
#     bed.sh status              a line for each node: up or down, its faults
#     bed.sh exec NODE CMD...    run a command there: its status, its output
#     bed.sh slurm-up            start munge and SLURM on all of them
#     bed.sh bind                lines "NODE TAB SOURCE TAB TARGET" on stdin:
#                                bind mount SOURCE at TARGET on NODE, also after
#                                the node was revived
#     bed.sh switch CMD...       run a command in the network of the bridge
#
# Faults.  heal undoes them all; each has a command that undoes it:
#     kill NODE                  silent, like a power cut
#     kill-soft NODE             peers see their connections closed
#     revive NODE                start it with the same address, empty storage
#     freeze | thaw NODE         stop all its processes; the kernel still answers
#     unplug | plug NODE         cut it off the network; its processes run
#     refuse | accept NODE       stop sshd: connections are refused
#     fill | drain NODE [DIR]    fill DIR (/ssd); /pfs for all nodes
#     readonly | writable NODE [DIR]
#                                make DIR (/ssd) read-only; /pfs for this node
#     slow NODE RATE [DIR] | fast NODE
#                                RATE bytes per second from and to DIR (/ssd)
#     skew NODE SECONDS | unskew NODE
#                                its clock is so far behind
#     heal                       undoes all of these
#     wipe                       heal, then empty all storage, /pfs too
#
# Settings, in the environment of `up`:
#     BED_DIR      the bed's directory: one bed each ($TMPDIR/scrkit-bed)
#     BED_TIE      number of a process with which the bed ends
#     BED_LIFE     seconds after which the bed ends in any case (1800)
#     BED_SHARE    directories, separated by ":", that all nodes see at the same
#                  path, read-only; BED_WRITE: the same, writable
#     BED_PATH     directories that come first in PATH on all nodes
#     BED_PRELOAD  directory of slowdisk.so and skew.so
#     BED_SSD, BED_PFS   size of /ssd (256m), and of /pfs, which all share (2g)
# Below BED_DIR, `pfs` is the nodes' /pfs and `log` holds the logs of the nodes.
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

# Print when process $1 started, according to the /proc at $2, to detect reuse
# of its number.  A zombie counts as dead.
started() {
	local line fields

	line=$(cat "${2:-/proc}/$1/stat" 2>/dev/null) || return 1
	read -ra fields <<<"${line##*) }"
	case ${fields[0]} in Z | X) return 1 ;; esac
	echo "${fields[19]}"
}

# Print the number, on the machine, of the process that keeps the bed alive.
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

# Run a function of inside.bash or slurm.bash in the outer namespaces.
inside() {
	in_outer env BED_DIR="$BED_DIR" bash "$bed" __inside "do_${1//-/_}" "${@:2}"
}

# --- Requirements ------------------------------------------------------------

# Print in one line why there can be no bed here, and fail.
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

# The bed depends on one process, the outer init, which `up` starts and leaves
# running.
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

	# Until `committed` exists, the outer init also ends with this process.
	child=
	trap 'leave_up $?' EXIT
	trap 'exit 130' INT TERM HUP
	start_outer "$count" &
	child=$!
	# Opened for reading and writing, so that it never blocks if the other
	# end died.
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

# Save the settings of `up` for later commands.
settings() {
	printf '%s=%q\n' BED_SSD "${BED_SSD:-256m}" BED_PFS "${BED_PFS:-2g}" \
		BED_SHARE "${BED_SHARE-}" BED_WRITE "${BED_WRITE-}" \
		BED_PATH "${BED_PATH-}" BED_PRELOAD "${BED_PRELOAD-}" \
		BED_LIFE "${BED_LIFE:-1800}" BED_TIE "${BED_TIE-}"
}

# Become the parent of the outer init, in a new session and without inherited
# descriptors (bats waits until all of its own are closed).
start_outer() {
	local fd

	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		[ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
	done
	# This time limit is for an init that hangs.
	exec setsid timeout --foreground -s KILL $((${BED_LIFE:-1800} + 60)) \
		unshare --fork --kill-child --pid --mount --net --ipc --uts \
		env -i PATH="$system_path" BED_DIR="$BED_DIR" \
		bash "$bed" __outer "$1" $$ </dev/null >"$BED_DIR/log/outer" 2>&1
}

# The kernel cleans up: it removes all processes, mounts and links with the
# outer init.
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

# --- Main --------------------------------------------------------------------

case ${1-} in
check) check "${2-}" ;;
up) up "${2-4}" ;;
down) down ;;
switch)
	shift
	in_outer "$@"
	;;
status | bind | kill | kill-soft | revive | freeze | thaw | unplug | plug | \
	refuse | accept | fill | drain | readonly | writable | slow | fast | \
	skew | unskew | heal | wipe | slurm-up)
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
