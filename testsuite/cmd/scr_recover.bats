#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2086 # words; for tables
# What can be recovered is not given up: redundancy lost or damaged beside whole
# data, packed or not; filemaps lost beside rank2file.

load damaged

setup() {
	in_no_job
	six="-n 6 -f 2 -s 5K,300 sums"
}

@test "headers of neighbours, filemaps and the summary are lost: computed again" {
	built q 1 -n 6 --time 1800000000
	local more="rm $D/filemap_[1234]" top="$D/rank2file* $D/summary.scr"

	# What is computed is like the others.  The index or flush.scr has the size of what
	# rank2file names; else headers have the names.
	damaged <<-'END'
		XOR $six or RS $six or PARTNER $six|truncate -s 0 $D/*.er.[123].*mem_*|3||~build
		XOR $six or RS $six or PARTNER $six|$more $f/rank_2_*|3||~build
		XOR $six or RS $six or PARTNER $six|truncate -s 0 $D/*.er.[123].*mem_*; scr_index -q -p p --build 1; rm $D/filemap_3 $f/rank_3_0.ckpt|||~rebuild
		XOR $six or RS $six or PARTNER $six|$more $f/rank_2_*; scr_index -q -p p --build 1; rm $D/filemap_3 $f/rank_3_0.ckpt|||~rebuild
		XOR $six|rm $D/*map* $f/rank_2_*|||~build
		XOR $six or RS $six or PARTNER $six or SINGLE $six|rm $D/filemap_* $D/summary.scr|3||~build
		XOR $six pack=10M|rm $D/filemap_[0-4] $D/summary.scr|3||~build
		XOR $six|rm $D/filemap_* $D/summary.scr p/.scr/index.scr|3||~build
		XOR $six|rm $D/filemap_* $D/summary.scr; cp q/.scr/index.scr p/.scr|||~build
		XOR $six|rm $D/filemap_* $D/summary.scr p/.scr/{index,flush}.scr|1||ends 1 scr_index -p p --build 1
		XOR $six or RS $six|$more $top|3||~build
		XOR $six or RS $six|$more $top $f/rank_2_0.ckpt|||ends 1 scr_index -p p --build 1
		SINGLE -n 4 -f 2 sums|rm $D/filemap_[12] $D/rank2file*|3||~build
		SINGLE -n 4 -f 2 sums|rm $D/filemap_[12] $D/rank2file*; scr_index -q -p p --build 1; rm $D/filemap_[03]|0
		SINGLE -n 4 -f 2 sums|rm $D/filemap_[12] $D/rank2file*; scr_index -q -p p --build 1; rm $D/filemap_[03] $f/rank_2_0.ckpt|4
		RS $six pack=6000 red|flip $C/red.0.scr 5200; rm $C/ctr.2.scr|||~rebuild
	END
}

@test "containers of redundancy are lost, the data whole: unpack, computed again" {
	base XOR $six pack=6000 red
	rm "$D"/.scr/red.*
	complains 0 "12 redundancy files were lost" scr_container -p p unpack 1
	diff -r p/ckpt.1 whole/ckpt.1
	scr_rebuild -q -p p --protect xor 1
	rm p/ckpt.1/rank_2_*
	scr_index -q -p p --build 1
	data
	for lost in 'red.*' 'red.0.scr' 'red.[12].scr'; do
		base XOR $six pack=6000 red
		# shellcheck disable=SC2086 # a pattern
		(cd "$D/.scr" && rm $lost)
		warns 3 "scr_rebuild" scr_container -p p verify 1
		ends 0 scr_rebuild -p p --deep 1
		ends 0 scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt
		ends 0 scr_rebuild -p p --deep --dry-run 1
		rm "$D/.scr/ctr.1.scr"
		ends 0 scr_rebuild -p p 1
		data
	done
}

# sound: nothing is wrong, for anybody.
sound() {
	calm scr_container -p p verify 1
	calm scr_index -p p --verify --deep --checksums 1
	[[ ! -e $D/rebuild.scr ]]
}

@test "computed again over packed filemaps: what comes after is right" {
	for type in XOR RS PARTNER; do
		base $type $six pack=6000 red
		rm "$D"/.scr/red.*
		scr_rebuild -q -p p 1
		ls "$D"/reddescmap.*mem_* >/dev/null
		sound
		renew p packed
		# Lose a member: of the data, and of the filemaps' redundancy.
		rm "$D/.scr/ctr.1.scr" "$D"/reddescmap.*mem_3_*
		scr_rebuild -q -p p 1
		sound
		rm "$D/.scr/red.2.scr"
		scr_rebuild -q -p p 1
		sound
		# Repack, and pack again, which removes nothing.
		scr_container -q -p p repack --size 9000 1
		sound
		shows "is packed already" scr_container -p p pack --with-redundancy 1
		sound
		rm "$D/.scr/ctr.2.scr"
		scr_rebuild -q -p p 1
		sound
		# Unpack: nothing is said to be lost.
		calm scr_container -p p unpack 1
		diff -r p/ckpt.1 whole/ckpt.1
		sound
		rm p/ckpt.1/rank_3_* "$D"/filemap_3
		scr_index -q -p p --build 1
		diff -r p/ckpt.1 whole/ckpt.1
		# Delete leaves nothing.
		renew packed
		scr_index -q -p p --delete 1
		[[ ! -e $D && ! -e p/ckpt.1 ]]
	done
}

@test "the same, killed at any moment, and run again" {
	base XOR -n 4 -f 2 -s 5K,300 sums pack=6000 red
	rm "$D"/.scr/red.*
	renew p packed
	operations scr_rebuild -q -j 1 -p p 1
	for n in $(moments "$total"); do
		renew packed
		try env LD_PRELOAD="$SHIM" SHIM_KILL_AT="$n" scr_rebuild -q -j 1 -p p 1
		scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt |
			cmp - whole/ckpt.1/rank_0_0.ckpt
		scr_rebuild -q -p p 1
		sound
	done
}

@test "a rebuild that was interrupted blocks only what it wrote" {
	base RS $six pack=6000 red
	printf '  %s\n' FILE '  .scr/red.0.scr' '    0' '      LENGTH' \
		'        100' | craft "$D/rebuild.scr"
	ends 0 scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt
	ends 0 scr_container -p p extract -C out 1
	diff -r out/ckpt.1 whole/ckpt.1
	printf '  %s\n' FILE '  .scr/ctr.0.scr' '    0' '      LENGTH' \
		'        100' | craft "$D/rebuild.scr"
	complains 3 "interrupted" scr_container -p p extract -C out2 1
	last=$(scr_container -p p list 1 | awk '/rank_/ { f = $3 } END { print f }')
	ends 0 scr_container -p p extract -C out2 1 "$last"
	scr_rebuild -q -p p 1
	same
}

@test "packed redundancy that is damaged is known by its checksum, and rebuilds no data" {
	base XOR $six pack=6000 red
	renew p packed
	for red in "$D"/.scr/red.*; do
		renew packed
		for ((at = 700; at < $(stat -c %s "$red"); at += 1500)); do
			flip "$red" $at
		done
		ends 0 scr_rebuild -p p --deep 1
		ends 0 scr_container -p p verify 1
		data --deep
	done
}
