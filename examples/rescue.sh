#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# rescue.sh [PREFIX] - run at the end of a batch job, after a scavenge has
# copied the caches of the surviving nodes to the prefix: rebuild the newest
# checkpoint that can be rebuilt and make it the restart point.  Exit status: 0
# the newest dataset was saved, 3 an older one was, 4 none.
#
# Without PREFIX, the script demonstrates itself on a prefix that it makes, with
# two datasets: the newer one has lost more than its redundancy can restore.
set -eu

practise() {
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	prefix=$dir/run7
	"$GEN/gen_dataset" --prefix "$prefix" --ranks 4 --size 100000 --id 1 \
		--lose 2
	"$GEN/gen_dataset" --prefix "$prefix" --ranks 4 --size 100000 --id 2 \
		--lose 1,2
}

case $# in
0)
	[ -x "${GEN:-}/gen_dataset" ] || {
		echo "usage: rescue.sh PREFIX" >&2
		exit 77 # `make check` counts 77 as skipped
	}
	practise
	;;
*) prefix=$1 ;;
esac

# Show the state of all datasets; the exit status is ignored here.
scr_inspect "$prefix" || true

# From the newest to the oldest.
status=4 behind=0
for id in $(find "$prefix/.scr" -maxdepth 1 -name 'scr.dataset.*' |
	sed 's/.*\.//' | sort -rn); do
	# With "id:" it is a number, even if it is the name of another dataset.
	if scr_index -p "$prefix" --build "id:$id"; then
		# An output is no restart point; try the next dataset.
		scr_index -p "$prefix" --current "id:$id" || continue
		status=$behind
		break
	fi
	behind=3
done
scr_index -p "$prefix" --list

# The demonstration must end as described above.
if [ $# -eq 0 ]; then
	[ "$status" -eq 3 ]
	"$GEN/gen_dataset" --prefix "$prefix" --ranks 4 --size 100000 --id 1 \
		--check
	exit 0
fi
exit "$status"
