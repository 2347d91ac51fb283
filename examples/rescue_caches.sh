#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# rescue_caches.sh DIR... - rebuild a dataset where it lies: in the caches of
# the nodes that survived, each mounted or copied below a directory of its own.
#
# Each DIR is one node's .../scr.dataset.ID, or a directory above it that holds
# no other dataset.  Without DIR it shows how that goes on four pretend nodes.
# Exit status: that of scr_rebuild.
set -eu

if [ $# -eq 0 ]; then
	[ -x "${GEN:-}/gen_dataset" ] || {
		echo "usage: rescue_caches.sh DIR..." >&2
		exit 77 # for `make check`: skipped
	}
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	"$GEN/gen_dataset" --prefix "$dir/run7" --nodes-dir "$dir/nodes" \
		--ranks 8 --nodes 4 --type RS --failures 2 --size 100000 \
		--layout cache --lose 0,3
	set -- "$dir"/nodes/*
fi

# Is there anything to do, and can it be done?
status=0
scr_inspect --map "$@" || status=$?
case $status in
0) echo "nothing is missing" ;;
3) scr_rebuild --verify "$@" ;;
*) exit "$status" ;;
esac
