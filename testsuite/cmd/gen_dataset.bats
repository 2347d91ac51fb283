#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The generator that other tests use: what they rely on without seeing it.

load helper

# Everything below a directory: path, mode, contents; times of data files.
tree_of() {
	(cd "$1" && find . -printf '%p %m\n' | sort &&
		find . -name '*.ckpt' -printf '%p %T@\n' | sort &&
		find . -type f -exec sha256sum {} + | sort)
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
