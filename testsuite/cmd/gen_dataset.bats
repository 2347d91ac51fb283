#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The generator that other tests use.

load helper

# Everything below a directory: path, mode, contents; times of data files.
tree_of() {
	(cd "$1" && find . -printf '%p %m\n' | sort &&
		find . -name '*.ckpt' -printf '%p %T@\n' | sort &&
		find . -type f -exec sha256sum {} + | sort)
}

@test "usage errors: no prefix, a bad type, a set too small, a bad node" {
	run -2 "$GEN/gen_dataset"
	run -2 "$GEN/gen_dataset" --prefix p --type ZFEC
	[[ $output == *ZFEC* ]]
	run -2 "$GEN/gen_dataset" --prefix p --type RS --ranks 2
	[[ $output == *"too small"* ]]
	run -2 "$GEN/gen_dataset" --prefix p --lose 4
	run -2 "$GEN/gen_dataset" --prefix p --ranks 2 --nodes 3
}

@test "two runs make the same, whatever the place" {
	mkdir a b
	for at in a b; do
		"$GEN/gen_dataset" --prefix $at/prefix --ranks 8 --nodes 4 \
			--files 2 --size 10000,5000 --layout both --crc \
			--recorded-prefix /job/prefix
	done
	diff <(tree_of a) <(tree_of b)
}

@test "a lost node takes its files, and changes nothing else" {
	mkdir a b
	args=(--type RS --ranks 8 --nodes 4 --size "10000,5000" --layout both
		--recorded-prefix /job/prefix)
	"$GEN/gen_dataset" --prefix a/prefix "${args[@]}"
	"$GEN/gen_dataset" --prefix b/prefix "${args[@]}" --lose 1,3
	run diff -r a b
	[ "$status" -eq 1 ]
	# Missing: two nodes in the caches and, for each of 4 ranks, a file, a
	# filemap and four redundancy files on the prefix.  No file differs.
	[ "$(grep -c '^Only in a' <<<"$output")" -eq $((2 + 4 * 6)) ]
	[ "${#lines[@]}" -eq $((2 + 4 * 6)) ]
}

@test "ranks are placed in blocks or in turn; a second dataset leaves the first in flush.scr" {
	"$GEN/gen_dataset" --prefix p --ranks 8 --nodes 4
	[ -e p/.scr/scr.dataset.1/reddesc.er.4.xor.grp_1_of_2.mem_3_of_4.redset ]
	"$GEN/gen_dataset" --prefix q --ranks 8 --nodes 4 --cyclic
	[ -e q/.scr/scr.dataset.1/reddesc.er.4.xor.grp_2_of_2.mem_1_of_4.redset ]
	"$GEN/gen_dataset" --prefix r --ranks 7 --set-size 3
	[ -e r/.scr/scr.dataset.1/reddesc.er.4.xor.grp_2_of_2.mem_1_of_3.redset ]
	rm -r p
	"$GEN/gen_dataset" --prefix p --id 1 --layout both
	"$GEN/gen_dataset" --prefix p --id 2 --output --name out.2 --layout both
	for word in ckpt.1 out.2; do
		grep -q $word p/.scr/flush.scr
		grep -q $word nodes/node0/cntl/genuser/scr.1000/cindex.scrinfo
	done
}

@test "--check finds a missing file, a wrong byte, mode and time" {
	args=(--prefix p --ranks 3 --size 5000)
	"$GEN/gen_dataset" "${args[@]}"
	run -0 "$GEN/gen_dataset" "${args[@]}" --check
	[ -z "$output" ]
	f=p/ckpt.1/rank_1.ckpt
	cp -p $f keep
	damage $f 4999 x
	touch -r keep $f
	run -1 "$GEN/gen_dataset" "${args[@]}" --check
	[[ $output == *"rank_1.ckpt: contents differ"* ]]
	cp -p keep $f
	chmod 600 $f
	run -1 "$GEN/gen_dataset" "${args[@]}" --check
	[[ $output == *"size, mode or time"* ]]
	rm $f
	run -1 "$GEN/gen_dataset" "${args[@]}" --check
	[[ $output == *"No such file"* ]]
}

@test "gen_meta: an index, a flat tree, usage errors" {
	"$GEN/gen_meta" --prefix p --index 1000
	[ "$(grep -ao 'ckpt\.[0-9]*' p/.scr/index.scr | sort -u | wc -l)" -eq 1000 ]
	"$GEN/gen_meta" --flat 1000 --output flat
	[ "$(grep -ao 'key\.[0-9]*' flat | wc -l)" -eq 1000 ]
	run -2 "$GEN/gen_meta"
	run -2 "$GEN/gen_meta" --flat 3
}
