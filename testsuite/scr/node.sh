#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# node.sh MAP PROGRAM [ARG]...: run the program of one MPI rank on its pretend
# node: rank R is on node K if K is the R-th word of MAP (from 0).  A node has
# its own host name, nodeK, and its own storage: $NODES/K, seen at $SSD.
# RANK_PRELOAD is preloaded, before LD_PRELOAD; into the ranks of SHIM_RANKS, or
# "all", the fault shim, too.  On node ELSEWHERE the prefix is another directory.
# It needs root, or a namespace in which the user is root; ranks that share
# memory are in one.  job() of helper.bash calls it.
map=$1
shift
rank=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-0}}}
at=0
for k in $map; do
	[ "$at" -ne "$rank" ] || break
	at=$((at + 1))
done
case " ${SHIM_RANKS-} " in
*" $rank "* | " all ")
	export RANK_PRELOAD="${RANK_PRELOAD:+$RANK_PRELOAD:}$SHIM"
	;;
esac
# Under MPICH no rank explores the machine, which takes a quarter of
# a start; with REAL_CORES it does, and under valgrind, which finds an error in how
# hwloc reads these words.
[ -z "${PMI_RANK-}" ] || [ -n "${REAL_CORES-}${RANK_COMMAND-}" ] ||
	export HWLOC_SYNTHETIC=pu:2
mkdir -p "$NODES/$k" "$SSD" || exit 1
# shellcheck disable=SC2016 # for the shell there
exec unshare -m -u sh -c '
	hostname "node$0" && mount --bind "$NODES/$0" "$SSD" &&
	{ [ "$0" != "${ELSEWHERE-}" ] || { mkdir -p "$NODES/$0/pfs" &&
		mount --bind "$NODES/$0/pfs" "$PREFIX"; }; } &&
	exec ${RANK_PRELOAD:+env \
		LD_PRELOAD="$RANK_PRELOAD${LD_PRELOAD:+:$LD_PRELOAD}"} "$@"' \
	"$k" "$@"
