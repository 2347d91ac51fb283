#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2046,SC2086 # words
# How the work of a command grows with ranks and datasets: counts of calls and
# instructions for n and 2n, never times.

load helper

# calls KIND PATH COMMAND...: set $count to the number of calls of KIND on paths
# that contain PATH, $status and $output to the result of the command.
calls() {
	local kind=$1 path=$2

	shift 2
	rm -f calls
	LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH=$path \
		SLOW_COUNT_FILE=$PWD/calls try "$@"
	count=$(awk -v k="$kind" '$1 == k { sum += $2 } END { print sum + 0 }' calls)
}

# dataset ID [options of gen_dataset]: a dataset on prefix p.
dataset() {
	gen -p p -i "$1" -s 10 "${@:2}"
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
	for n in 8 16; do
		datasets $((n > 8 ? 9 : 1)) "$n"
		cp -a p all
		calls open rank2file scr_index -q -p p --prune --keep 2
		assert_status 0
		[ "$(scr_index -p p -n | wc -l)" -eq 2 ]
		# rank2file and rank2file.0.0, and of those that are kept once
		# more, before the first is deleted.
		((count <= 2 * n + 8)) || failed "$n datasets: $count opens"
		renew all
		calls rename index.scr scr_index -q -p p --prune --keep 2
		((count <= 2)) || failed "$n datasets: $count times an index"
		rm -rf p
		mv all p
	done
}

@test "nothing missing: inspect and a dry rebuild open one file a rank" {
	for n in 64 ${SCRKIT_SLOW:+128}; do
		rm -rf p
		dataset 1 --ranks "$n" --nodes 16 --type XOR --set-size 16
		scr_index -q -p p --build 1
		# One header of each set over files, and of each over filemaps.
		most=$((n + 2 * n / 16 + 2 * 16))
		for command in "scr_inspect 1" "scr_inspect" "scr_rebuild -n 1"; do
			calls open "$PWD/p" env SCR_PREFIX="$PWD/p" $command
			assert_status 0
			((count <= most)) || failed "$command: $count opens"
		done
	done
}

@test "redundancy files that are cut are not sampled over, whatever the scheme" {
	meta=p/.scr/scr.dataset.1
	for scheme in XOR "RS --failures 3" PARTNER; do
		rm -rf p whole
		dataset 1 --ranks 8 --nodes 8 --set-size 8 --type $scheme
		scr_index -q -p p --build 1
		cp -a p whole
		for rank in 0 5; do
			red=$(basename "$meta"/reddesc.er.$rank.*_*)
			size=$(stat -c %s "$meta/$red")
			spoils=("truncate -s $((size / 2))")
			# Or empty, a link, missing.
			[[ $scheme$rank != XOR5 ]] ||
				spoils+=("truncate -s 10" "truncate -s 0"
					"ln -sf /dev/null" rm)
			for spoil in "${spoils[@]}"; do
				$spoil "$meta/$red"
				ends 3 scr_inspect -p p 1
				assert_output_lacks "tolerates   the loss of any 1"
				ends 0 scr_rebuild -p p 1
				cmp "$meta/$red" "whole/${meta#p/}/$red"
			done
		done
	done
	rm p/ckpt.1/rank_5.ckpt
	ends 3 scr_inspect -p p 1
	scr_rebuild -q -p p 1
	cmp p/ckpt.1/rank_5.ckpt whole/ckpt.1/rank_5.ckpt
}

# a_file MOST COMMAND...: it makes at most MOST calls for each of the 256 files
# of ckpt.1.
a_file() {
	local sum

	rm -f calls
	LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH=$PWD/p/ckpt.1/ \
		SLOW_COUNT_FILE=$PWD/calls ends 0 "${@:2}" -q -j 1 -p p 1
	sum=$(awk '{ sum += $2 } END { print sum * 100 / 256 }' calls)
	((${sum%.*} <= $1 * 100 + 40)) ||
		failed "${*:2}: $sum calls for 100 files: $(xargs <calls)"
}

@test "each file costs few calls" {
	dataset 1 --ranks 8 --nodes 8 --files 32 --crc
	scr_index -q -p p --build 1
	a_file 1 scr_index --verify         # stat
	a_file 4 scr_index --verify --deep  # it, open, read, close
	# Twice a stat, open, read, close, stat; stat, unlink.
	a_file 8 scr_container pack
	a_file 6 scr_container unpack # create, write, times, sync, close, rename
	rm p/ckpt.1/rank_3_* p/.scr/scr.dataset.1/{*.er.3.*,filemap_3}
	a_file 5 scr_rebuild # seven eighths are read
}

@test "a moved prefix: its files are looked up by many threads" {
	dataset 1 --name run/ckpt.1 --ranks 64 --nodes 4 --type SINGLE
	mv p q
	# No rank2file, so only filemaps and files tell.
	for command in scr_inspect "scr_index --verify"; do
		rm -f alone
		LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH=$PWD/q/run \
			SLOW_USEC=3000 SLOW_ALONE_FILE=$PWD/alone \
			try $command -p q -j 16 1
		[[ $output == *"64"* ]] || failed "$command"
		serial=$(awk '{ sum += $2 } END { print sum + 0 }' alone)
		((serial < 64)) || failed "$command: $serial calls one by one"
	done
}

@test "import: small files are synced by many threads" {
	dataset 1 --ranks 128 --nodes 4 --files 2 --type NONE
	scr_index -q -p p --build 1
	scr_archive -q export -p p -o ar 1
	mkdir q
	LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH=$PWD/q/ckpt.1/ SLOW_USEC=2000 \
		SLOW_COUNT_FILE=$PWD/calls SLOW_ALONE_FILE=$PWD/alone \
		ends 0 scr_archive import -q -p q -j 16 ar
	all=$(awk '$1 == "sync" { print $2 }' calls)
	((all >= 256)) || failed "$all calls"
	serial=$(awk '$1 == "sync" { sum += $2 } END { print sum + 0 }' alone)
	((serial < all / 4)) || failed "$serial calls one by one"
	diff -r p/ckpt.1 q/ckpt.1
}

@test "cat and extract read only what the files named need" {
	# The map and the attributes have a file for every 8192 ranks.
	dataset 1 --name ckpt.1 --ranks 8200 --nodes 10 --type NONE
	scr_index -q -p p --build 1
	scr_container pack -q -p p --keep 1
	calls open /packed. scr_container cat -p p 1 ckpt.1/rank_8195.ckpt
	assert_status 0
	((count == 0)) || failed "cat: $count opens of attributes"
	for names in "rank_8195 1" "rank_5 1" "rank_819[0-3] 2"; do
		rm -rf out
		calls open /packed. scr_container extract -q -p p -C out 1 \
			"ckpt.1/${names% *}.ckpt"
		assert_status 0
		((count == ${names#* })) || failed "$names: $count opens"
		diff -r out/ckpt.1 p/ckpt.1 | grep -v "^Only in p" && failed
		# A window at a time, whatever the size of the map.
		calls read /rank2file.0. scr_container extract -q -p p -C out \
			--force 1 "ckpt.1/${names% *}.ckpt"
		size=$(cat p/.scr/scr.dataset.1/rank2file.0.* | wc -c)
		((count > size / 262144)) || failed "$names: $count reads"
	done
	# One call for each name, not one for each name and file.
	for n in 500 1000; do
		calls read /ctr. scr_container cat -p p 1 \
			$(seq -f 'ckpt.1/rank_%.0f.ckpt' "$n")
		((count <= n)) || failed "$n names: $count reads"
	done
}

# instructions COMMAND...: set $count to those of the command, in one thread.
instructions() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" \
		>/dev/null 2>instructions || [[ $? == [34] ]] || failed "$*"
	count=$(sed -n 's/.*refs: *//p' instructions | tr -d ,)
	[ -n "$count" ] || failed "$(cat instructions)"
}

@test "the next step for a lost dataset reads no list of all" {
	command -v valgrind >/dev/null || skip "no valgrind"
	! nm "$BIN/scr_index" | grep -q __asan_init || skip "a sanitizer"
	for n in 200 800; do
		rm -rf p
		"$GEN/gen_meta" --index "$n" -p p
		instructions scr_index -j1 -p p --verify
		echo "$n datasets: $((count / n)) each"
		((n > 200)) || small=$((count / n))
	done
	((count / n < small * 3 / 2)) || failed "$((count / n)) each"
}

@test "one lost member costs a large set what its members cost" {
	command -v valgrind >/dev/null || skip "no valgrind"
	! nm "$BIN/scr_inspect" | grep -q __asan_init || skip "a sanitizer"
	for n in 60 240; do
		rm -rf p
		dataset 1 --name ckpt.1 --ranks "$n" --nodes "$n" --type XOR \
			--set-size "$n"
		scr_index -q -p p --build 1
		rm p/ckpt.1/rank_3.ckpt
		for command in "scr_rebuild -n 1" ${SCRKIT_SLOW:+"scr_inspect 1"}; do
			instructions ${command/ / -j1 -p p }
			echo "$n $command: $((count / n)) a member"
			if ((n == 60)); then
				small[${#command}]=$((count / n))
			else
				((count / n < small[${#command}] * 3 / 2)) ||
					failed "$command: $((count / n)) a member"
			fi
		done
	done
}
