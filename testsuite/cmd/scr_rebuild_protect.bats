#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2164 # plain names
# scr_rebuild --protect: redundancy for datasets without it.

load helper

# Make p: $1 ranks with two files each, flushed, so without redundancy and
# filemaps.
flushed() {
	built p 1 -n "$1" -m "$1" -f 2 -t NONE -s 5K,300
	D=p/.scr/scr.dataset.1
	rm "$D"/filemap_*
	cp -a p whole
}

whole() {
	diff -r p/ckpt.1 whole/ckpt.1
	diff <(cd p && stat -c '%n %a %Y %s' ckpt.1/*) \
		<(cd whole && stat -c '%n %a %Y %s' ckpt.1/*)
}

@test "usage errors" {
	misused '' scr_rebuild --protect
	misused '' scr_rebuild --protect partner 1
	misused '' scr_rebuild --set-size 4 1
	misused '' scr_rebuild --protect xor --failures 2 1
	misused '' scr_rebuild --protect rs --deep 1
	misused '' scr_rebuild --protect rs --set-size 1 1
}

@test "XOR: any one rank of each set; Reed-Solomon: as many as asked for, and no more" {
	flushed 20
	shows "protected by 40 redundancy files" scr_rebuild -p p --protect xor --verify 1
	scr_index -q -p p --build 1
	scr_index -q -p p --verify --deep
	rm p/ckpt.1/rank_3_* p/ckpt.1/rank_8_* "$D/filemap_3"
	ends 0 scr_rebuild -p p --verify 1
	whole
	rm -rf p p.* whole
	flushed 12
	scr_rebuild -q -p p --protect rs --failures 3 --set-size 12 1
	run find "$D" -name 'reddesc.er.*.rs.*'
	assert_line_count 12
	rm p/ckpt.1/rank_[357]_*
	ends 0 scr_rebuild -p p 1
	whole
	rm p/ckpt.1/rank_[3578]_*
	warns 4 "members (ranks 3 5 7 8) are missing; RS can restore 3" scr_rebuild -p p 1
}

@test "a packed dataset; the lost files are in a container" {
	flushed 16
	scr_container -q -p p pack --size 20000 1
	scr_rebuild -q -p p --protect rs --failures 2 1
	scr_container -q -p p verify 1
	rm "$D/.scr/ctr.1.scr"
	ends 3 scr_container -p p verify 1
	ends 0 scr_rebuild -p p 1
	scr_container -q -p p verify 1
	scr_container -q -p p unpack 1
	whole
}

@test "all lists of a rank are lost: made again in the same order" {
	flushed 8
	scr_rebuild -q -p p --protect rs --failures 2 1
	find "$D" -name '*.redset' -exec sha256sum {} + | sort >before
	rm "$D"/reddesc.er.[345].rs.*
	ends 0 scr_rebuild -p p --verify 1
	diff before <(find "$D" -name '*.redset' -exec sha256sum {} + | sort)
}

@test "again: the same; another kind, not all there, or too few ranks: refused" {
	flushed 8
	scr_rebuild -q -p p --protect xor 1
	find "$D" -name '*.redset' -exec sha256sum {} + | sort >before
	rm "$D"/reddesc.er.[0-3].*
	ends 0 scr_rebuild -p p --protect xor 1
	diff before <(find "$D" -name '*.redset' -exec sha256sum {} + | sort)
	warns 2 "has redundancy already (XOR)" scr_rebuild -p p --protect rs 1
	rm -rf p p.* whole
	flushed 4
	rm p/ckpt.1/rank_2_1.ckpt
	try scr_rebuild -p p --protect xor 1
	[[ $status == 3 || $status == 1 || $status == 4 ]]
	assert_stderr_has rank_2_1
	run find "$D" -name '*.redset'
	assert_output_is ""
	rm -rf p whole
	flushed 2
	warns 2 "cannot tolerate 2 failures" scr_rebuild -p p --protect rs --failures 2 1
}

@test "--dry-run writes nothing, and has the numbers of the run, which are those on disk" {
	built p 1 -n 8 -m 8 -t NONE -s 5K
	find p -type f | sort >before
	shows "would be protected by 16 redundancy files" scr_rebuild -p p --protect xor --dry-run 1
	diff before <(find p -type f | sort)
	rm -rf p p.* whole
	for type in xor rs; do
		rm -rf p
		built p 1 -n 8 -m 8 -f 2 -t NONE -s 5K,300
		ends 0 scr_rebuild -p p --json --protect $type --dry-run 1
		promised=$output
		touch before
		prints "$promised" scr_rebuild -p p --json --protect $type 1
		written=$(find p -newer before -name '*.redset' -printf '%s+')
		[ "$(jq .protected.bytes_written <<<"$output")" = "$((${written}0))" ]
		[ "$(jq .protected.descriptor_count <<<"$output")" = 16 ]
	done
}

@test "killed at some moments, and run again" {
	flushed 6
	for n in 3 20 50 90 130 170 210 250 300; do
		renew whole
		SHIM_KILL_AT=$n LD_PRELOAD=$SHIM \
			scr_rebuild -q -p p --protect xor 1 || true
		whole
		scr_rebuild -q -p p --protect xor 1
		scr_rebuild -q -p p --deep --dry-run 1
		whole
	done
}
