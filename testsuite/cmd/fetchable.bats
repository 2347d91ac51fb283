#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# "Whole" and "saved" mean that the library of SCR 3.1 would fetch a dataset and
# get the right bytes: --verify, --current, --add, scr_inspect, scr_postrun.

load helper

setup() { in_no_job && one_node; }

# saved: checkpoint 1 of 4 ranks on prefix p, in the index.
saved() {
	built p 1 -n 4 --set-size 2 -s 1000
	meta=p/.scr/scr.dataset.1
}

# Leave of dataset 1 what a flush of LLNL's library leaves.
as_flushed() {
	find "$meta" \( -name "filemap_*" -o -name "reddesc*" \) -delete
}

# scavenged ID...: checkpoints in the cache of this node, saved by scr_postrun.
# Then nothing is left in the cache.
scavenged() {
	local id

	for id; do
		in_cache -i "$id"
		scr_postrun "${args[@]}" >/dev/null
	done
	rm -r local/cache
}

# other NAME OPTION...: the metadata of another dataset with the same number.
other() {
	built o 1 -n 4 --set-size 2 -s 1000 "${@:2}"
	mv o/.scr/scr.dataset.1 "$1"
	rm -r o
}

# says STATUS TEXT: all that judge dataset 1 agree.
says() {
	local state=damaged kept

	(($1 == 3)) || state=lost
	(($1 > 1)) || state=unknown
	finds "$1" " $state" scr_index -p p --verify
	assert_stderr_has "$2"
	finds "$1" "  $state;$2" scr_inspect -p p
	finds "$1" "  state       $state;$2" scr_inspect -p p -d 1
	kept=$(tree_sha p/.scr)
	complains "$1" "ckpt.1;$2;--force" scr_index -p p --current ckpt.1
	diff <(echo "$kept") <(tree_sha p/.scr)
}

@test "whole: all agree, and --current takes it; --add of one that cannot be fetched" {
	saved
	ends 0 scr_inspect -p p
	scr_index -p p --current ckpt.1
	as_flushed
	ends 0 scr_index -p p --verify
	scr_index -p p --uncurrent
	scr_index -p p --current ckpt.1
	rm -r p
	saved
	scr_index -p p --drop ckpt.1
	rm "$meta/rank2file.0.0"
	ends 3 scr_index -p p --add ckpt.1
	assert_stderr_one_line "scr.dataset.1: not added: rank2file" \
		rank2file.0.0 "repair it with --build 1"
	as_flushed
	ends 1 scr_index -p p --add ckpt.1
}

# Each row: of a dataset as a flush leaves it or with filemaps, what is done to its
# metadata, and what all say.
@test "summary, rank2file or files are missing, broken or another dataset's" {
	saved
	cp -a p good
	other o.time --time 1800000000
	other o.ranks -n 8
	other o.files --files 2
	while IFS='|' read -r flushed want text damage; do
		echo "$flushed: $damage"
		renew good
		[[ -z $flushed ]] || as_flushed
		(cd $meta && eval "$damage")
		says "$want" "$text"
		[[ $text != "add up"* ]] || [[ $(scr_index -p p --verify \
			2>/dev/null | awk '{ print $4 }') == $'BAD\n?' ]]
		[[ $want == 3 && $text != another* ]] || continue
		[[ $text != summary*missing ]] || for command in \
			"scr_index -p p --verify" "scr_inspect -p p" \
			"scr_inspect -p p -d 1"; do
			# shellcheck disable=SC2086 # words
			try $command
			[[ $output$stderr =~ next:\ +"scr_index -p p --build 1" ]]
		done
		scr_index -q -p p --build 1
		scr_index -p p --verify
	done <<-'END'
		|3|summary.scr: missing|rm summary.scr
		flushed|3|summary.scr: missing|rm summary.scr
		|3|summary.scr: |truncate -s 40 summary.scr
		|3|summary.scr: no descriptor|cp rank2file summary.scr
		flushed|3|summary.scr: no descriptor|cp rank2file summary.scr
		|3|another dataset|cp ../../../o.time/summary.scr .
		flushed|3|another dataset|cp ../../../o.time/summary.scr .
		|3|rank2file: |rm rank2file
		|3|rank2file: |echo "no tree" >rank2file
		|3|rank2file.0.0: |rm rank2file.0.0
		|3|rank2file.0.0: |echo "no tree" >rank2file.0.0
		flushed|1|rank2file.0.0: |rm rank2file.0.0
		|3|rank2file: has 8 ranks|cp ../../../o.ranks/rank2file* .
		|3|rank2file: names other files of rank 0|cp ../../../o.files/rank2file* .
		flushed|4|add up to|truncate -s 500 ../../ckpt.1/rank_2.ckpt
		flushed|4|rank_2.ckpt|rm ../../ckpt.1/rank_2.ckpt
	END
}

# with_ranks N FILE: let a file of rank2file say that the job had N ranks.
with_ranks() {
	scr_inspect -m tree "$2" | sed "/RANKS\$/{n;s/[0-9]*\$/$1/}" >printout
	craft "$2" <printout
}

@test "the same in small parts, as LLNL's library writes them" {
	saved
	printf '%s\n' RANKS '  4' LEVEL '  1' RANK '  2' '    FILE' '      .0.2' \
		'    OFFSET' '      0' '  0' '    FILE' '      .0.0' \
		'    OFFSET' '      0' | sed 's/^/  /' |
		craft "$meta/rank2file"
	for part in 0 2; do
		printf '%s\n' RANKS '  4' LEVEL '  0' RANK "  $((part + 1))" \
			'    FILE' "      ckpt.1/rank_$((part + 1)).ckpt" \
			"  $part" '    FILE' "      ckpt.1/rank_$part.ckpt" |
			sed 's/^/  /' | craft "$meta/rank2file.0.$part"
	done
	scr_index -p p --verify
	with_ranks 2 "$meta/rank2file.0.2"
	says 3 "rank2file.0.2: says that the job had 2 ranks, not 4"
	scr_index -q -p p --build 1
	scr_index -p p --verify
}

@test "postrun: rank2file is one that LLNL's library refuses: written again" {
	scavenged 1 2
	with_ranks 1 p/.scr/scr.dataset.2/rank2file.0.0
	warns 0 "dataset 2: repaired on the prefix: rank2file.0.0" scr_postrun "${args[@]}"
	ends 0 scr_index -p p --verify
}

@test "--current --force takes any checkpoint; --current takes a packed one" {
	saved
	rm "$meta/summary.scr"
	scr_index -p p --current ckpt.1 --force
	shows " * ckpt.1" scr_index -p p
	misused --force scr_index -p p --uncurrent --force
	rm -r p
	saved
	scr_container -q pack -p p 1
	shows "whole;packed" scr_index -p p --verify
	ends 0 scr_index -p p --current ckpt.1
	rm p/.scr/scr.dataset.1/.scr/ctr.0.scr
	ends 3 scr_index -p p --current ckpt.1
}

@test "--verify says what it compared" {
	saved
	shows "sizes only" scr_index -p p --verify
	shows "sizes only" scr_index -p p --verify --checksums
	scr_index -q -p p --build 1 --checksums
	shows "sizes, checksums of 3.9 KiB" scr_index -p p --verify --checksums
	shows "sizes, redundancy" scr_index -p p --verify --deep
	shows '"compared": "sizes only"' scr_index -p p --verify --json
	assert_output_has '"bytes_compared": 0'
	as_flushed
	shows "sizes, checksums of 3.9 KiB" scr_index -p p --verify --checksums
	rm "$meta"/rank2file*
	finds 1 nothing scr_index -p p --verify
}

@test "postrun: the summary is gone: written again, and said" {
	scavenged 1 2
	rm p/.scr/scr.dataset.2/summary.scr
	try scr_postrun "${args[@]}" --plan
	assert_stderr_has "dataset 2: in the index, but damaged: summary.scr"
	[[ ! -e p/.scr/scr.dataset.2/summary.scr ]]
	warns 0 "dataset 2: repaired on the prefix: summary.scr" scr_postrun "${args[@]}"
	ends 0 scr_index -p p --verify
	# As LLNL's library flushes: no filemaps.
	rm p/.scr/scr.dataset.2/{filemap,reddesc}* p/.scr/scr.dataset.2/summary.scr
	ends 0 scr_postrun "${args[@]}"
	ends 0 scr_index -p p --verify
}

@test "postrun: one is lost, nothing names the files of the other" {
	scavenged 1 2
	truncate -s 10 p/ckpt.1/rank_0.ckpt
	rm p/.scr/scr.dataset.2/*
	finds 1 UNKNOWN scr_postrun "${args[@]}"
}

@test "postrun: the index has another dataset with that number" {
	scavenged 1 2
	in_cache -i 2 --time 1800000000
	truncate -s 10 local/cache/genuser/scr.1000/scr.dataset.2/rank_1.ckpt
	finds 3 "OLDER checkpoint ckpt.1" scr_postrun "${args[@]}"
}

@test "a directory in the place of a file: an empty one makes way, a full one is no loss" {
	in_cache -i 1 --name ckpt.1
	mkdir -p p/ckpt.1/rank_1.ckpt/full
	run -1 --separate-stderr scr_postrun "${args[@]}"
	assert_stderr_has "to be moved away: p/ckpt.1/rank_1.ckpt; not saved; it is still in the caches"
	[[ $stderr != *LOST* && -e local/cache/genuser/scr.1000/scr.dataset.1/rank_1.ckpt ]]
	rmdir p/ckpt.1/rank_1.ckpt/full
	ends 0 scr_postrun "${args[@]}"
	ends 0 scr_index -p p --verify 1 --checksums
	cmp p/ckpt.1/rank_1.ckpt local/cache/genuser/scr.1000/scr.dataset.1/rank_1.ckpt
}
