#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# rescue.sh [PREFIX] - at the end of a batch job: make the newest checkpoint
# that can be made whole the one to restart from.
#
# A scavenge has copied what it found in the caches of the surviving nodes to
# the prefix; this is what comes after it.  Exit status: 0 the newest dataset
# was saved, 3 an older one was, 4 none.
#
# Without PREFIX it shows how that goes on a prefix that it makes itself, with
# two datasets: the newer has lost more than its redundancy can give back.
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
		exit 77 # for `make check`: skipped
	}
	practise
	;;
*) prefix=$1 ;;
esac

# What is there.  The exit status says how bad it is; here it is only shown.
scr_inspect "$prefix" || true

# Newest first.
status=4 behind=0
for id in $(find "$prefix/.scr" -maxdepth 1 -name 'scr.dataset.*' |
	sed 's/.*\.//' | sort -rn); do
	if scr_index -p "$prefix" --build "$id"; then
		name=$(scr_inspect -m keyval \
			"$prefix/.scr/scr.dataset.$id/summary.scr" |
			sed -n 's/^    NAME = //p')
		# Outputs cannot be restarted from: look further.
		scr_index -p "$prefix" --current "$name" || continue
		status=$behind
		break
	fi
	behind=3
done
scr_index -p "$prefix" --list

# While practising it must come out as the text above says.
if [ $# -eq 0 ]; then
	[ "$status" -eq 3 ]
	"$GEN/gen_dataset" --prefix "$prefix" --ranks 4 --size 100000 --id 1 \
		--check
	exit 0
fi
exit "$status"
