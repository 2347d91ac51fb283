#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# How the work of a command grows with ranks and datasets: counts of calls and
# instructions for n and 2n, never times.

load helper

setup() {
	: "${GEN:=$TESTSUITE/../build/plain/gen}"
	: "${SHIM:=$TESTSUITE/../build/plain/shim.so}"
	cd "$BATS_TEST_TMPDIR" || return 1
	# The fault shim is preloaded before the sanitizer.
	export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}
}

# calls KIND PATH COMMAND...: set $count to the number of calls of KIND on paths
# that contain PATH, $status and $output to the result of the command.
calls() {
	local kind=$1 path=$2

	shift 2
	rm -f calls
	LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH=$path \
		SLOW_COUNT_FILE=$PWD/calls try "$@"
	count=$(awk -v k="$kind" '$1 == k { sum += $2 } END { print sum + 0 }' \
		calls)
}

# dataset ID [options of gen_dataset]: a dataset on prefix p.
dataset() {
	"$GEN/gen_dataset" -q -p p --id "$1" --recorded-prefix "$PWD/p" \
		--size 10 "${@:2}"
}

# datasets FIRST LAST: whole datasets of one rank, in the index.
datasets() {
	local id

	for ((id = $1; id <= $2; id++)); do
		dataset "$id" --name "ckpt.$id" --ranks 1 --nodes 1 --files 2 \
			--type SINGLE
		scr_index -q -p p --build "$id"
	done
}

@test "--verify reads the index once, however many directories are gone" {
	"$GEN/gen_meta" --index 300 -p p
	calls open index.scr scr_index -p p --verify
	assert_status 4
	((count == 1)) || failed "$count opens of index.scr"
	calls open index.scr scr_inspect -p p
	((count <= 2)) || failed "$count opens of index.scr"
}

@test "--prune reads the metadata of each dataset once" {
	for n in 20 40; do
		datasets $((n > 20 ? 21 : 1)) "$n"
		rm -rf all
		cp -a p all
		calls open rank2file scr_index -q -p p --prune --keep 2
		assert_status 0
		[ "$(scr_index -p p -n | wc -l)" -eq 2 ]
		# rank2file and rank2file.0.0
		((count <= 2 * n)) || failed "$n datasets: $count opens"
		rm -rf p
		mv all p
		cp -a p all
		calls rename index.scr scr_index -q -p p --prune --keep 2
		((count <= 2)) || failed "$n datasets: $count times an index"
		rm -rf p
		mv all p
	done
}
