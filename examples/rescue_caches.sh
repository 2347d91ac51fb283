#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# rescue_caches.sh DIR... - rebuild a dataset in the caches of the surviving
# nodes, each mounted or copied below its own directory.
#
# Each DIR is one node's .../scr.dataset.ID, or a directory above it that holds
# no other dataset.  Without DIR, the script demonstrates itself on four pretend
# nodes.  Exit status: that of scr_rebuild.
set -eu

if [ $# -eq 0 ]; then
	[ -x "${GEN:-}/gen_dataset" ] || {
		echo "usage: rescue_caches.sh DIR..." >&2
		exit 77 # `make check` counts 77 as skipped
	}
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	"$GEN/gen_dataset" --prefix "$dir/run7" --nodes-dir "$dir/nodes" \
		--ranks 8 --nodes 4 --type RS --failures 2 --size 100000 \
		--layout cache --lose 0,3
	set -- "$dir"/nodes/*
fi

# Is a rebuild necessary and possible?
status=0
scr_inspect --map "$@" || status=$?
case $status in
0) echo "nothing is missing" ;;
3) scr_rebuild --verify "$@" ;;
*) exit "$status" ;;
esac
