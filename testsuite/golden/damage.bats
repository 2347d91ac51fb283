#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086,SC2012 # words; plain names
# Damaged datasets, malformed files and the history of an index: each has its
# right outcome, which sometimes differs from that of LLNL's tools.

load golden

# --- Damaged datasets: xor_4, with all four nodes scavenged, then damaged ----

setup() {
	at=$BATS_TEST_TMPDIR/elsewhere/prefix
	meta=$at/.scr/scr.dataset.1
}

# build STATUS: build dataset 1 of the damaged case in $at.
build() {
	yields "$1" "" scr_index --prefix "$at" --build 1 "${@:2}"
}

# The dataset is in the index and as it was before the damage.
assert_whole() {
	xor_4_whole "$at"
	run -0 scr_index --prefix "$at"
	[[ ${lines[1]} == "   1 YES   20"??-??-??T??:??:??"     ckpt.1" ]]
}

# assert_descriptor: the dataset's descriptor in index and summary is that of
# xor_4.
assert_descriptor() {
	local from

	from=$(golden scr3/xor_4/rebuilt/prefix/.scr)
	diff <(plain_index "$from/index.scr") <(plain_index "$at/.scr/index.scr")
	diff <(tree "$from/scr.dataset.1/summary.scr") <(tree "$meta/summary.scr")
}

# assert_mtimes: the user files have their recorded modes and times.
assert_mtimes() {
	local from

	from=$(golden scr3/xor_4)
	diff <(grep '/ckpt\.1/' "$from/rebuilt.stat.txt" |
		sed 's,\./prefix/,./,' | cut -d ' ' -f 1,4- | sort) \
		<(cd "$at" && find ./ckpt.1 -type f -printf '%m %s %T@ %p\n' |
			sort)
}

# repaired CASE TEXT [mtimes]: the damage is named, and all is as it was.
repaired() {
	rm -rf "$at"
	snapshot "dmg_$1" before "$at"
	ends 3 scr_inspect "$at"
	build 0
	assert_stderr_one_line "$2"
	assert_whole
	assert_descriptor
	[[ -z ${3-} ]] || assert_mtimes
}

@test "a file is missing or truncated; a filemap; redundancy, which LLNL does not restore" {
	repaired missing_datafile "rebuilt 1 file" mtimes
	repaired truncated_datafile "rebuilt 1 file" mtimes
	repaired missing_filemap "1 filemap"
	repaired missing_redset "1 redundancy file"
	# So that any node can be lost again.
	rm "$at/ckpt.1/rank_2.ckpt"
	build 0
	assert_whole
	assert_mtimes
}

@test "no_flush_file: the descriptor is inferred; a summary left by LLNL's build is ignored" {
	snapshot dmg_no_flush_file before "$at"
	[[ ! -e $at/.scr/flush.scr ]]
	ends 3 scr_inspect "$at"
	build 0
	assert_whole
	assert_mtimes
	# The summary has the keys that LLNL's fetch needs.
	output=$(tree "$meta/summary.scr" | tr -d ' \n')
	assert_output_has VERSION6 COMPLETE1 ID1 NAMEckpt.1 FLAG_CKPT1 \
		FLAG_OUTPUT0 FILES14 SIZE158686
	[[ $output =~ CKPT[0-9]+ ]]
	rm -r "$at"
	snapshot dmg_no_flush_file after "$at"
	build 0
	assert_whole
	assert_mtimes
}

@test "corrupt_redset: rebuilt, and the header repaired, also after LLNL's failed build" {
	local from

	snapshot dmg_corrupt_redset before "$at"
	# Nothing but its size vouches for the body behind the damaged header.
	ends 1 scr_inspect "$at"
	build 1
	ends 1 scr_rebuild -p "$at" --partial 1
	build 0
	assert_whole
	assert_descriptor
	assert_mtimes
	# Expected: the result of LLNL's tools for xor_4.
	from=$(golden scr3/xor_4)
	(cd "$at/.." && grep -v 'index\.scr$' "$from/rebuilt.sha256" |
		sha256sum -c --quiet)
	rm -r "$at"
	snapshot dmg_corrupt_redset after "$at"
	warns 3 "dataset 1:" scr_index --prefix "$at"
	ends 1 scr_rebuild -p "$at" --partial 1
	build 0
	assert_whole
}

# --- Damage that only the redundancy shows ---

# What all commands say then: damaged.bash.
@test "flipped_bit: a plain build does not see it, --deep reports it" {
	snapshot dmg_flipped_bit before "$at"
	build 0
	warns 3 "set 1 of 1" scr_index --prefix "$at" --verify 1 --deep
	err_has "set 1 of 1" build 3 --deep
	ends 0 scr_index --prefix "$at" --verify 1
}

# --- kvtree_bad --------------------------------------------------------------

@test "kvtree_bad: one clear line each, or the tree; no crash" {
	local root file name
	# Unusual, but valid trees.
	local valid=" good dupkeys noflag_nocrc trailing unknown_flag "

	root=$(golden scr3/kvtree_bad)
	for file in "$root"/*.kv; do
		name=${file##*/}
		try timeout 5 scr_inspect -m tree "$file"
		if [[ $valid == *" ${name%.kv} "* ]]; then
			assert_status 0
			[[ -n $output ]]
			((${#stderr_lines[@]} <= 1))
		else
			assert_status 1
			assert_output_is ""
			assert_stderr_one_line "$file"
		fi
	done
	# The same output as LLNL's printer.
	for name in $valid; do
		diff <(scr_inspect -m tree "$root/$name.kv" 2>/dev/null) \
			<(sed -n "/^== $name\\.kv\$/,/^rc=/p" \
				"$root/kvtree_print.txt" | sed '1d;$d')
	done
}

@test "kvtree_bad in the place of an index: kept, and nothing crashes" {
	local root file

	root=$(golden scr3/kvtree_bad)
	snapshot xor_4 rebuilt "$BATS_TEST_TMPDIR/elsewhere"
	cp -a "$at" "$at.whole"
	for file in "$root"/*.kv; do
		renew "$at.whole" "$at"
		cp "$file" "$at/.scr/index.scr"
		finds 3 "   1 YES" timeout 5 scr_index --prefix "$at"
		cmp "$file" "$at/.scr/index.scr"
		ends 0 timeout 5 scr_index --prefix "$at" --current ckpt.1
		# The damaged index is kept beside the new one.
		cmp "$file" "$at/.scr/index.scr.bak"
		shows "   1 YES;* ckpt.1" scr_index --prefix "$at"
	done
}

# --- index_multi -------------------------------------------------------------

# same_list STATE: our list is equal to that of LLNL's tool, byte for byte.
same_list() {
	local root

	root=$(golden scr3/index_multi)
	scr_index --prefix "$at" >"$BATS_TEST_TMPDIR/list"
	sed '/^rc=/d' "$root"/"$1"_*/list.txt | cmp - "$BATS_TEST_TMPDIR/list"
}

# same_index STATE: our index is equal, too, except for times and for the order
# of keys, which LLNL's tool reverses at each change.
same_index() {
	local root filter='s/20..-..-..T..:..:../STAMP/; / ROOT = /d'

	root=$(golden scr3/index_multi)
	diff <(sed "$filter" "$root/$1"_*/index.scr_print.txt) \
		<(scr_inspect --sort -m keyval "$at/.scr/index.scr" |
			sed "$filter")
}

@test "index_multi: lists of all states, byte for byte" {
	local root state count=0

	root=$(golden scr3/index_multi)
	mkdir -p "$at/.scr"
	for state in "$root"/s[0-9]_*; do
		cp "$state/index.scr" "$at/.scr/index.scr"
		chmod u+w "$at/.scr/index.scr"
		state=${state##*/}
		same_list "${state%%_*}"
		count=$((count + 1))
	done
	((count == 10))
}

# Our commands on the same prefix give the same lists, except for times and for
# CURRENT, which LLNL's tool leaves at a dropped dataset.
@test "index_multi: the same commands, the same results" {
	local root stamp='s/20..-..-..T..:..:../STAMP/'

	root=$(golden scr3/index_multi)
	mkdir -p "$at"
	cp -R "$root/prefix_after_run/." "$at"
	chmod -R u+w "$at"
	diff <(sed '/^rc=/d' "$root"/s0_*/list.txt) <(scr_index --prefix "$at")

	run -0 scr_index --prefix "$at" --current ckpt.1
	same_list s1
	same_index s1
	for args in "--current out.2" "--current nosuch" "--drop nosuch"; do
		complains 1 "${args##* }" scr_index --prefix "$at" $args
	done
	same_list s2
	same_index s2
	run -0 scr_index --prefix "$at" --drop both.3
	same_list s3
	same_index s3
	run -0 scr_index --prefix "$at" --add both.3
	same_index s4
	diff <(sed "/^rc=/d; $stamp" "$root"/s4_*/list.txt) \
		<(scr_index --prefix "$at" | sed "$stamp")
	for args in "--add nosuch" "--build 99"; do
		ends 1 scr_index --prefix "$at" $args
		assert_stderr_one_line
	done
	ends 2 scr_index --prefix "$at" --build abc

	# Start with the state after the failed fetch.
	cp "$root/s6_fetch_failed/index.scr" "$at/.scr/index.scr"
	run -0 scr_index --prefix "$at" --drop-after ckpt.1
	# LLNL's CURRENT is a dropped dataset (formats.md 13 (f)); ours moves to
	# the remaining checkpoint.
	diff <(sed '/^rc=/d; s/     ckpt.1/   * ckpt.1/' "$root"/s7_*/list.txt) \
		<(scr_index --prefix "$at")
	run -0 scr_index --prefix "$at" --drop ckpt.1
	same_list s8
	run ! grep -q '^  CURRENT$' <(tree "$at/.scr/index.scr")

	# Rebuilt from the directories alone.
	rm "$at/.scr/index.scr"
	run -0 scr_index --prefix "$at" --build 1
	scr_index --prefix "$at" | grep -q '^   1 YES .* ckpt\.1$'
}
