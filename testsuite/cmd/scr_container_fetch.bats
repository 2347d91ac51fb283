#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086 # words
# LLNL's library of today fetches files only: an unpacked dataset can be fetched
# again, and those of SCR 1.1.8 have a way to it.

load helper

# mark_failed PREFIX: what LLNL's library writes after a fetch that failed.
mark_failed() {
	local tree

	tree=$(scr_inspect -m tree "$1/.scr/index.scr" |
		sed '0,/^      COMPLETE$/s//      FAILED\n        2026-11-22T03:00:00\n      COMPLETE/')
	craft "$1/.scr/index.scr" <<<"$tree"
}

# fetchable PREFIX ID SUMS [FROM]: would LLNL 3.1's library fetch it?  The entry
# is valid and a checkpoint, summary and rank2file decode, and each file is
# there below the prefix; with the contents in the list SUMS of hash, size,
# name, below FROM.
fetchable() {
	local dir=$1/.scr/scr.dataset.$2

	scr_index -p "$1" --list --json >list
	grep -q '"checkpoint": true' list
	grep -q '"valid": true' list
	run ! grep -q '"fetch_failed": "' list
	scr_inspect -m keyval "$dir/summary.scr" >summary
	grep -q ' FLAG_CKPT = 1' summary
	grep -q ' COMPLETE = 1' summary
	scr_inspect -m tree "$dir/rank2file" >/dev/null
	scr_inspect -m tree "$dir"/rank2file.0.* >part
	run ! grep -q SEG part
	sed -n '/^      FILE$/,/^    [^ ]/s/^        \([^ ].*\)/\1/p' part >paths
	diff <(sort paths) <(sed "s,^\S* \S* ,${4-}," "$3" | sort)
	sed -E 's/^(\S+) \S+ /\1  /' "$3" >sums
	(cd "$1/${4-}" && sha256sum --quiet -c) <sums
}

# The files below a directory: hash, size, name.
sums() {
	(cd "$1" && find . -path ./.scr -prune -o -type f -printf '%P\0' |
		sort -z | xargs -0 sha256sum | sed 's/  / ? /')
}

# Is dataset 1 on prefix p marked by a fetch that failed?
is_marked() {
	scr_index -p p --list --json | grep -q '"fetch_failed": "2026-11-22T03'
}

@test "unpack: the mark of the failed fetch goes" {
	built p 1 -n 4 -m 4 --recorded-prefix /x
	sums p >want
	fetchable p 1 want
	scr_container -q -p p pack 1
	mark_failed p
	is_marked
	try scr_container -p p unpack -n 1
	is_marked
	warns 0 "mark of the failed fetch" scr_container -p p unpack 1
	fetchable p 1 want
	# An interrupted run may have left it: the next one removes it.
	mark_failed p
	ends 0 scr_container -p p unpack 1
	fetchable p 1 want
	# It stays when a file is missing.
	mark_failed p
	rm p/ckpt.1/rank_2.ckpt
	try scr_container -p p unpack 1
	is_marked
}

@test "pack says that the next job restarts from it" {
	for id in 1 2; do
		built p $id --recorded-prefix /x
	done
	scr_index -q -p p --current 1
	for opt in -n --with-redundancy ""; do
		ends 0 scr_container -p p pack $opt 1
		assert_stderr_one_line "ckpt.1: the next job restarts from it" \
			"scr_container -p p unpack 1"
	done
	# Quiet, kept, of the old layout, and not the restart point.
	for opt in "-q 1" "--layout 1 2" "--keep 2" 2; do
		calm scr_container -p p pack $opt
	done
	# None is marked as current: it is the newest valid checkpoint.
	scr_container -q -p p unpack 1 2
	scr_index -q -p p --uncurrent
	calm scr_container -p p pack 1
	complains 0 "ckpt.2: the next job restarts from it" scr_container -p p pack 2
}

# old CASE: a dataset of SCR 1.1.8 on prefix p.
old() {
	from=$(golden "containers/$1.sha256")
	golden "containers/$1/scr.dataset.1/.scr/ctr.0.scr" >/dev/null
	cp -R "${from%.sha256}" p
	chmod -R u+rwX p
}

@test "1.1.8: export and import, packed and unpacked, into SCR 3.1" {
	for case in seed_example many; do
		rm -rf p q
		old $case
		for _ in packed unpacked; do
			rm -rf q a.tar
			mkdir q
			scr_container -q -p p export -o a.tar 1
			scr_container -q -p q import a.tar
			fetchable q 1 "$from" scr.dataset.1/
			scr_index -p q --list | grep -q "scr.dataset.1"
			ends 0 scr_index -p q --verify --checksums
			# Its directory is not one of SCR 3.1.
			complains 2 "a dataset of SCR 1.1.8: export and import bring it to SCR 3.1" \
				scr_index -p p --add 1
			scr_container -q -p p unpack 1
		done
	done
	# A damaged file: no archive.
	rm -r p a.tar
	old seed_example
	scr_container -q -p p unpack 1
	[[ -s p/scr.dataset.1/rank_2.ckpt ]]
	truncate -s 5 p/scr.dataset.1/rank_2.ckpt
	warns 3 "scr.dataset.1/rank_2.ckpt" scr_container -p p export -o a.tar 1
	[[ ! -e a.tar ]]
}
