#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2030,SC2031,SC2034,SC2086 # words without blanks
# What a dataset is called follows from all evidence: no witness alone says whole or
# lost, and what was not asked is unknown.

load damaged

setup() { in_no_job && one_node; }

@test "33.1 no run's remains and no single file overrule all others" {
	damaged <<-'END'
		XOR sums|damage $f/rank_0.ckpt 0 XXXX; rm $D/rank2file $f/rank_2.ckpt|4 --deep --checksums||refused 4 --checksums
		SINGLE sums|damage $f/rank_0.ckpt 0 XXXX; rm $D/rank2file|4 --deep --checksums||refused 4 --checksums
		XOR sums|cp $O/rank2file.0.0 $D; rm $D/rank2file|3, 1 --checksums||refused 1 --checksums
		XOR sums|cp -a older/ckpt.1/rank_1.ckpt $f|3, 3 --checksums||ends 3 scr_container -p p pack 1
		XOR --crc|rm $f/rank_1.ckpt; damage $(red 2) 3000 XXXX|4 --checksums, 4 --deep --checksums||refused 4 --checksums
		XOR or RS or PARTNER|cp $O/summary.scr $D; behind $(red 1) 100|3||~build
		XOR pack=4000 or RS pack=4000 or PARTNER pack=4000|cp $O/summary.scr $D; behind $(red 1) 100|3||~build
		XOR pack=4000|cp $O/summary.scr $D; damage $(red 1) 9000 X|3||~build --deep --checksums
		XOR pack=4000|cp $O/summary.scr $D; damage $(red 1) 9000 X; rm p/.scr/index.scr|3||~build --deep --checksums
		XOR pack=4000|truncate -s 100 $C/ctr.1.scr; damage $C/ctr.5.scr 500 XXXX|||refused 4
		XOR pack=4000|truncate -s 100 $C/ctr.1.scr; damage $C/ctr.2.scr 0 XXXX|||rebuild
		XOR -f 2|rm $f/rank_3_1.ckpt; damage $f/rank_2_0.ckpt 10 XXXX|||refused 3
		PARTNER sums or XOR sums|cp -a older/ckpt.1/. $f; cp $O/rank2file.0.0 $D; rm p/.scr/flush.scr|||refused 3 --deep --checksums
	END
}

@test "33.1 a set that lacks a piece is compared with what is left" {
	# One more than is needed: it shows that something is wrong.  Two more: the wrong
	# one is named, and mended.  Nothing more: nothing contradicts.
	damaged <<-'END'
		RS -k 2|rm $(red 3); damage $f/rank_1.ckpt 100|3 --deep||refused 3 --deep --checksums, 3 --checksums
		RS -k 2 -n 6|rm $f/rank_3.ckpt; damage $f/rank_1.ckpt 100|3 --deep||refused 3 --deep --checksums, 3 --checksums, 3
		PARTNER -k 2|rm $(red 3); damage $f/rank_2.ckpt 9|3 --deep||refused 3 --deep --checksums, 3 --checksums
		XOR --set-size 2 -f 2|rm $f/rank_0_1.ckpt; damage $f/rank_1_0.ckpt 9|3 --deep||refused 3 --deep --checksums, 3 --checksums
		RS -k 2 -n 6|swap $f/rank_1.ckpt $f/rank_4.ckpt|3 --deep|the wrong member is unknown|refused 3 --deep --checksums
		RS -k 3 -n 6|rm $(red 3); damage $f/rank_1.ckpt 100|||build --deep --checksums
		RS -k 3 -n 6|rm $f/rank_3.ckpt; damage $f/rank_1.ckpt 100|||build --deep --checksums
		XOR|rm $f/rank_3.ckpt|||rebuild --deep
		PARTNER -k 2 -f 3 -s 300,500 or RS -k 2 -f 3 -s 300,500|for n in 0 1 2; do damage $f/rank_2_$n.ckpt 50; damage $f/rank_2_$n.ckpt 250; done|||rebuild --deep
		PARTNER -s 600 sums|rm $f/rank_0.ckpt; damage $(red 1) 60|||rebuild
	END
}

@test "33.1 bytes behind a header that cannot be read prove nothing" {
	damaged <<-'END'
		PARTNER -s 600|rm $f/rank_0.ckpt; red=$(red 1); size=$(stat -c %s $red); head -c $size /dev/zero >$red|1, 1 --deep --checksums||refused 1, 1 --deep --checksums
	END
	finds 1 "next:       scr_rebuild -p p --partial 1" scr_inspect -p p 1
	warns 1 "${red##*/};unknown" scr_rebuild -p p --partial 1
	[[ -e $f/rank_0.ckpt ]]
}

@test "33.1 the map of containers, of an older run or of another dataset: its copies are right" {
	local damage

	for damage in rank2file.0.1 packed.1.scr rank2file "rank2file packed.1.scr"; do
		damaged <<-END
			SINGLE pack=4000 red or XOR pack=4000 red|for name in $damage; do cp \$O/\$name \$D; done|3, 3 --deep --checksums|${damage%% *};all data are present;next: scr_container -p p repack 1|repack
		END
	done
	# Most files say which run.
	for damage in "rank2file copy.rank2file.0.1" "copy.rank2file rank2file.0.1" \
		"rank2file packed.1.scr"; do
		damaged <<-END
			SINGLE sums pack=4000|for name in $damage; do cp \$O/\$name \$D; done|3, 3 --deep --checksums|!lost|repack
		END
	done
	# An older or foreign top, and a part lost.
	damaged <<-'END'
		PARTNER -n 3 -s 2K pack=4000|mv $D/rank2file top
		PARTNER pack=4000|cp top $D/rank2file; rm $D/rank2file.0.1|3||repack
		PARTNER -n 2 -s 2K pack=4000|mv $D/rank2file top
		PARTNER pack=4000|cp top $D/rank2file; rm $D/rank2file.0.1|3||repack
		XOR -s 2K -n 2 pack=7000|mv $D/rank2file top
		XOR pack=8K|cp top $D/rank2file; rm $C/ctr.2.scr|3|rank2file: not the map of its parts: its copy was read
	END
	# It alters no container.
	scr_rebuild -q -p p 1 || (($? == 3))
	diff -r base.XOR_pack=8K/$C $C
	scr_container -q -p p repack 1
	all 0
}

@test "33.2 33.12 the same data, the same word; what nothing can replace may be there" {
	damaged <<-'END'
		NONE bare|rm $D/filemap_2|1|ckpt.1/rank_2.ckpt may be one of them;next: scr_postrun -p p|refused 1
		NONE bare|rm $D/filemap_2 $f/rank_2.ckpt|4
		NONE or SINGLE|rm $D/filemap_1|0||ends 0 scr_rebuild --dry-run -p p 1
		XOR|rm $D/filemap_* $D/summary.scr|3||~build
		XOR|rm $f/rank_1.ckpt; mkdir $f/rank_1.ckpt|3
		XOR|rm p/.scr/index.scr|3
		XOR|rm $D/reddescmap.er.{0,2}.xor.* $D/filemap_2 $f/rank_2.ckpt|3||~well scr_index -p p --build 1
		XOR|rm $D/reddescmap.er.{0,2}.xor.* $D/filemap_2 $f/rank_2.ckpt|||~well scr_rebuild -p p 1
		XOR|rm $D/reddescmap.er.{0,2}.xor.* $D/filemap_2 $f/rank_2.ckpt|||~well scr_inspect -p p 1
		XOR -n 2|cp $O/reddescmap.er.0.*mem* "$(red 0 map)"; damage "$(red 1 map)" 700 XXXX; : >"$(red 1)"|||~build --deep --checksums
		SINGLE|truncate -s 20 $(red 1)|0
	END
	# A lost rank, and the only redundancy that names it as to filemaps.
	for damage in ": >" "truncate -s 30" "rm"; do
		damaged <<-END
			RS -n 2 -k 1 or PARTNER -n 2 -k 1|rm $f/rank_1.ckpt $D/filemap_1 $D/redd*.er.1.*; $damage \$(red 0 map)|3||~build
			RS -n 2 -k 1 or PARTNER -n 2 -k 1|rm $f/rank_1.ckpt $D/filemap_1 $D/redd*.er.1.*; $damage \$(red 0 map); scr_index -q -p p --build 1; rm $D/filemap_0 $f/rank_0.ckpt|||~build
		END
	done
	damaged <<-'END'
		PARTNER sums pack=40K|rm $D/filemap_[03] $D/redd*.er.[03].*|3||~build
		XOR or PARTNER|damage $(red 1 map) $(($(stat -c %s $(red 1 map)) - 30)) XX|3 --deep||rebuild --deep
		XOR --crc sums or RS --crc sums or PARTNER --crc sums|flip $(red 1) $(($(stat -c %s $(red 1)) - 50))|3 --deep --checksums||well scr_inspect -p p --deep --checksums 1
	END
}

@test "33.14 metadata of another dataset, or of an older run, are outvoted" {
	damaged <<-'END'
		XOR two|cp $T/rank2file.0.0 $D; rm $f/rank_2.ckpt|3 --deep, 3|next: scr_index -p p --build 1|build
		XOR two|cp $T/rank2file.0.0 $D; rm $f/rank_2.ckpt|||well scr_inspect -p p 1
		XOR two|cp $T/filemap_1 $D; rm $f/rank_2.ckpt|3 --deep||build --deep
		XOR two|cp $T/reddesc.er.2.xor.grp_1_of_1.mem_3_of_4.redset $D|3 --deep||build --deep
		PARTNER two|cp $T/filemap_3 $D; rm $f/rank_1.ckpt|3||build
		PARTNER two|rm p/.scr/index.scr $D/rank2file* $D/summary.scr $f/rank_0.ckpt; swap $D/filemap_1 $D/filemap_3|3||build
		PARTNER forgotten|cp $O/reddesc.er.3.* $D; rm $f/rank_3.ckpt|3||build
		SINGLE sums -s 5000,300 or XOR sums -s 5000,300 or RS sums -s 5000,300|cp $D/filemap_2 $D/filemap_1|||~build
		SINGLE -s 5000,300 or XOR -s 5000,300 or RS -s 5000,300|cp $D/filemap_2 $D/filemap_1; rm $D/rank2file* $D/summary.scr|||~build
		PARTNER -n 2 two|cp $T/reddescmap.er.1.*mem* $D; truncate -s 100 $D/rank2file.0.0|||build --deep --checksums
		RS -m 2 -k 1 -s 300,40|swap $D/filemap_2 $D/filemap_3|3 --deep --checksums|that of another|well scr_inspect -p p --deep --checksums 1
		XOR --set-size 2 --crc two alone|cp $T/filemap_3 $D; damage $f/rank_0.ckpt 0 XXXX|3 --deep --checksums|!: lost|build --deep --checksums
		XOR --crc alone|cp $O/filemap_0 $D; truncate -s 100 $f/rank_1.ckpt|3 --deep --checksums||build --checksums
		PARTNER alone|cp $O/reddesc.er.[02].*mem* $D; : >$(red 3); truncate -s 100 $f/rank_0.ckpt|3||~build
		XOR sums|cp $O/rank2file.0.0 $D|1 --checksums|agree with their redundancy|refused 1 --checksums
		NONE sums|cp $O/rank2file.0.0 $D|1 --checksums|it may be an older one|refused 1 --checksums
		RS -k 2 sums|cp $O/rank2file.0.0 $D; cp -a older/ckpt.1/rank_2.ckpt $f|3 --deep --checksums|has the checksums of an older run|build --deep --checksums
		XOR -n 2 sums|cp $O/rank2file.0.0 $D; rm $f/rank_1.ckpt $D/reddesc.er.1.*|1 --deep --checksums
		SINGLE two|rm $D/filemap_* $D/redd* p/.scr/index.scr p/.scr/flush.scr; cp $T/summary.scr $D; printf 12345 >$f/rank_1.ckpt|1|nothing records the size|refused 1
		XOR bare|cp -a older/ckpt.1/rank_1.ckpt $f; cp $O/filemap_1 $O/redd*.er.1.* $D|3|belong to another dataset
		PARTNER -s 60 sums two|scr_index -q -p p --drop id:1; rm p/.scr/flush.scr $D/filemap_* $D/redd*; cp $T/summary.scr $D
	END
	warns 3 "next: scr_index -p p --build 1" scr_index -p p --verify id:1
	well scr_index -p p --verify id:1
	gen -p q -n 4 -s 8K -t SINGLE -i 3
	damaged <<-'END'
		SINGLE|cp q/.scr/scr.dataset.3/reddesc.er.1.single.* $D|0, 0 --deep --checksums
	END
}

@test "33.14 metadata that name files of another dataset: no witness of this one" {
	local names="names ckpt.2/rank_0.ckpt, a file of dataset 2"

	# Nothing else names its files, as after a flush of LLNL's library; then the index
	# alone knows whose directory it is.
	damaged <<-'END'
		XOR two|rm $D/filemap_* $D/redd*|0
		XOR two|rm $D/filemap_* $D/redd*; cp $T/rank2file.0.0 $D; truncate -s 5 $f/rank_1.ckpt|1|rank2file: $names|refused 1
		XOR two forgotten|rm $D/filemap_* $D/redd*; cp $T/rank2file.0.0 $D; truncate -s 5 $f/rank_1.ckpt|1||ends 0 scr_index -p p --verify 2
		XOR two|rm $D/filemap_* $D/redd* $T/summary.scr p/.scr/index.scr; cp $T/rank2file.0.0 $D|1|rank2file: $names|refused 1
		XOR two|rm $D/filemap_* $D/redd*; mv $T/rank2file* $D|1|rank2file: $names|refused 1
		NONE two|cp $T/filemap_1 $D|0
		NONE two|cp $T/filemap_1 $D; rm $f/rank_1.ckpt|4
		NONE two|rm p/ckpt.2/rank_1.ckpt; cp $D/filemap_1 $T|||ends 4 scr_index -p p --verify 2
		NONE two|cp $T/filemap_* $D; rm $D/rank2file*|1|filemap_0 $names
		NONE two|scr_index -q -p p --drop id:2; rm $T/rank2file* $T/summary.scr; cp $T/filemap_* $D; rm $D/rank2file*|1|filemap_0 $names
	END
}

@test "33.1: packed metadata of another dataset, and both tops of the map lost" {
	base XOR two
	scr_container -q -p p pack --size 8K 2
	scr_container -q -p p pack --size 8K --with-redundancy 1
	cp -a $C containers
	cp $T/packed.1.scr $D/
	rm $D/rank2file $D/copy.rank2file
	damage $C/ctr.1.scr 0 XX
	damage $C/red.1.scr 0 XX
	finds 3 "redundancy  XOR" scr_inspect -p p -d 1
	scr_container -p p repack 1 || true
	[[ $(cd $C && echo *) == "$(cd containers && echo *)" ]]
}

@test "33.14 --protect keeps the filemaps that are there, and refuses wrong files" {
	base NONE --crc
	rm $D/filemap_2
	sha256sum $D/filemap_* >sums
	ends 0 scr_rebuild -p p --protect xor 1
	sha256sum -c --quiet sums
	[[ -e $D/filemap_2 ]]
	# A total size that does not fit, a wrong checksum.
	for damage in "truncate -s 5 " "dd if=/dev/zero bs=9 count=1 conv=notrunc status=none of="; do
		base NONE --crc sums
		rm $D/filemap_*
		renew p kept
		eval "$damage$f/rank_2.ckpt"
		ends 4 scr_rebuild -p p --protect xor 1
		diff -r p/.scr kept/.scr
	done
	# It has compared checksums: so does the look that it advises.
	base XOR sums
	damage $f/rank_1.ckpt 0 XXXX
	rm $f/rank_2.ckpt
	warns 4 "next: scr_inspect -p p --checksums 1" scr_rebuild -p p --protect xor 1
}

@test "33.11 a link of the owner in the place of the metadata: all follow it" {
	damaged <<-'END'
		XOR or NONE|rm -rf beside; mv $D beside; ln -s ../../beside $D|0||ends 0 scr_rebuild -p p --dry-run 1
		XOR or NONE|rm -rf beside; mv $D beside; ln -s ../../beside $D; mv $f $f.old|3||ends 3 scr_rebuild -p p --dry-run 1
	END
	# But it may be that of another prefix, too.
	warns 1 "a symbolic link: remove what it leads to" scr_index -p p --delete 1
	[[ -e beside/summary.scr && -e $f.old/rank_0.ckpt ]]
	# Lost, and not in the index any more.
	rm -r $f.old
	scr_index -q -p p --drop 1
	rm -f p/.scr/flush.scr
	finds 4 "next:       rm $D" scr_inspect -p p -d 1
	follow scr_inspect -p p -d 1
	[[ ! -L $D && -e beside/summary.scr ]]
}

# away PATH: it is elsewhere, and a link to a third place is there.
away() {
	rm -rf away && mkdir away
	mv $1 away
	ln -s ../scratch/${1##*/} $1
	to="${1#p/}: a link to ../scratch/${1##*/}, which is missing"
}

@test "33.11 a link to what is not mounted: unknown; --delete refuses such a directory" {
	local what to

	for what in "NONE $f" "NONE $f/rank_2.ckpt" "XOR $f"; do
		damaged <<<"${what% *} forgotten|away ${what#* }|1|\$to"
		what=${what#* }
		warns 1 "$to" scr_rebuild -p p 1
		[[ $what != "$f" ]] || warns 1 "$to" scr_index -p p --delete 1
		rm $what && mv away/${what##*/} $what
		ends 0 scr_index -p p --verify 1
	done
	# A container, whose files redundancy may have.
	damaged <<-'END'
		XOR pack=8K|away $C/ctr.1.scr|||well scr_inspect -p p 1
		SINGLE pack=8K|away $C/ctr.1.scr
	END
	finds 1 "ctr.1.scr: a link to ../scratch/ctr.1.scr, which is missing" \
		scr_inspect -p p -d 1
	assert_output_lacks "next:"
}

@test "33.22 an older filemap, and nothing else: no advice to delete" {
	damaged <<-'END'
		NONE --crc bare forgotten|damage $f/rank_3.ckpt 0 X; touch -r whole/ckpt.1/rank_3.ckpt $f/rank_3.ckpt|4 --checksums
		NONE --crc bare forgotten|cp $O/filemap_3 $D|1 --checksums|one of the two is that of another run;!--delete
	END
	scr_index -q -p p --build 1
	ends 1 scr_index -p p --verify --checksums 1
}

@test "33.15 a build looks at its result" {
	base XOR pack=4000
	rm $D/rank2file
	# It writes the map again, of its copy.
	ends 0 scr_index -p p --build 1
	[[ $stderr != *repack* ]] || failed "$stderr"
	ends 0 scr_index -p p --verify 1
	rm $D/rank2file
	for option in "" -n; do
		complains 3 "its copy was read" scr_rebuild $option -p p 1
		assert_stderr_has "next: scr_container -p p repack 1"
		assert_output_has "damaged: the map of the containers," \
			"not damaged: all files, filemaps"
		assert_output_lacks "nothing to rebuild"
	done
}

@test "33.3 --prune counts what the strongest check calls whole" {
	for damage in "damage p/ckpt.2/rank_1.ckpt 0 XXXX" "rm -r p/ckpt.2"; do
		base SINGLE sums two
		scr_index -q -p p --current ckpt.2
		$damage
		for dry in --dry-run ""; do
			complains 3 ckpt.2 scr_index -p p --prune $dry --keep 1
			assert_stderr_has "only 0 of the checkpoints that would be kept"
		done
		[[ -e $f/rank_0.ckpt ]]
		scr_index -q -p p --delete 2
		ends 0 scr_index -p p --prune --keep 1
		[[ -e $f/rank_0.ckpt ]]
	done
}

@test "33.22 no command advises itself, options are kept" {
	damaged <<-'END'
		RS|damage "$(red 2 map)" 40 XXXX
		NONE|mv $f $f.old|3|next: mv $f.old $f
		NONE|mv $f $f.old; rm $f.old/rank_2.ckpt|1|to see what is left;next: mv $f.old $f
		NONE|rm $D/summary.scr; mkdir -p $D/summary.scr/x|3|mv $D/summary.scr $D/summary.scr.old &&
		XOR pack=8K|rm $C/ctr.1.scr; mkdir $C/ctr.1.scr|3|rmdir $C/ctr.1.scr && scr_
	END
	mv $C beside
	ln -s ../../../beside $C
	complains 1 "a symbolic link" scr_index -p p --delete 1
	rm $C
	mv beside $C
	touch $C/ctr.1.scr/file
	warns 0 "not a plain file, not removed" scr_index -p p --delete 1
	[[ -d $C/ctr.1.scr && ! -e $C/ctr.0.scr && ! -e $D/rank2file ]]
	# Actions, too.
	base RS
	damage "$(red 2 map)" 40 XXXX
	finds 3 "next:       scr_rebuild -p p --deep 1" scr_inspect --deep -p p -d 1
	base NONE
	mv $f $f.old
	for command in "scr_index -p p --build" "scr_rebuild -p p"; do
		warns 3 "next: mv p/ckpt.1.old p/ckpt.1" $command 1
	done
	rm $f.old/rank_2.ckpt
	warns 1 "to see what is left" scr_rebuild -p p 1
	# An empty directory, or a link, keeps no dataset.
	for damage in "mkdir ctr" "ln -s ../../../lost ctr"; do
		base SINGLE forgotten pack=8K
		mv $C/ctr.1.scr p/lost
		damage p/lost 0 XXXX
		truncate -s 10 p/lost
		$damage && mv -T ctr $C/ctr.1.scr
		follow scr_inspect -p p 1 # --drop
		follow scr_inspect -p p 1 # --delete
		[[ ! -e $D ]] || failed "${steps[@]}"
	done
	# What is unpacked is not repacked.
	for damage in rank2file.0.1 packed.1.scr rank2file; do
		base XOR pack=4000
		: >$D/$damage
		warns 0 "next: scr_container -p p repack 1" scr_container -p p unpack --dry-run 1
		warns 0 $damage scr_container -p p unpack 1
		assert_stderr_lacks next:
		all 0
	done
}

@test "33.22 what is lost is left in five steps" {
	for pack in "" pack=4000; do
		base XOR sums two forgotten $pack
		# Wrong bytes, which only a rebuild and --checksums find, and a loss.
		if [[ -n $pack ]]; then
			scr_container -q -p p pack --size 4000 2
			damage $T/.scr/ctr.3.scr 0 XXXX
			rm $T/.scr/ctr.7.scr
		else
			damage p/ckpt.2/rank_1.ckpt 0 XXXX
			rm p/ckpt.2/rank_3.ckpt
		fi
		renew p damaged
		for command in "scr_index -p p --build 2" "scr_rebuild -p p 2"; do
			renew damaged
			follow $command
			[[ ${steps[1]} == "scr_inspect -p p --checksums 2" &&
				${steps[2]} == *"scr_index -p p --current 1" ]] ||
				failed "${steps[@]}"
			follow scr_inspect -p p --checksums 2
			[[ ${steps[*]} == *"scr_index -p p --drop 2"* ]]
			((${#steps[@]} < 5)) || failed "${steps[@]}"
		done
	done
}

@test "33.22 a loss that only redundancy shows: one word, and no circle" {
	damaged <<-'END'
		XOR -n 2 --crc -s 900,500 forgotten|rm $f/rank_1.ckpt; truncate -s 10 $f/rank_0.ckpt; red=$(red 1); tr '\0-\377' x <"$red" >garbage; cp garbage "$red"|4 --deep --checksums
	END
	ends 4 scr_rebuild -p p --dry-run 1 --deep --checksums
	follow scr_inspect -p p 1
	[[ ${steps[2]} == "scr_inspect -p p --deep 1" &&
		${steps[3]} == "scr_index -p p --drop 1" && ${#steps[@]} == 4 ]] ||
		failed "${steps[@]}"
}

@test "33.22 only redundancy is lost: it is computed again, unless it is packed" {
	for command in "scr_inspect -p p" "scr_index -p p --verify"; do
		# No file says how many losses the set tolerates.
		base RS -k 2
		rm $D/redd*.er.?.redset
		for red in "$D"/redd*.er.*.rs.*; do echo garbage >"$red"; done
		all 3
		well $command 1
		[[ ${steps[1]} == "scr_rebuild -p p --protect rs 1" ]] ||
			failed "${steps[@]}"
		ends 0 scr_index -p p --verify --deep --checksums 1
		# What is left of it is rebuilt before the dataset is unpacked.
		base PARTNER -n 2 pack=100M
		rm $D/filemap_1 $D/redd*.er.1.* "$(red 0)"
		mkdir "$(red 0 | sed s/map//)"
		follow $command 1
		[[ ${steps[1]} != *unpack* ]] || failed "${steps[@]}"
		well $command 1
	done
}

@test "33.14 repack writes no map of files whose checksums are wrong" {
	base XOR sums pack=4000
	rm $D/rank2file.0.1 # its copy is read
	damage $C/ctr.0.scr 100 XXXX
	warns 3 "scr_rebuild -p p --checksums 1" scr_container -p p repack 1
	[[ ! -e $D/rank2file.0.1 ]]
	ends 3 scr_rebuild -p p --checksums 1 # the map is still damaged
	ends 0 scr_container -p p repack 1
	same
}

@test "33.12 a container that is longer than recorded: one word, and a way out" {
	damaged <<-'END'
		XOR sums pack=4000|echo more >>$C/ctr.1.scr|3|ctr.1.scr: 4005 bytes, should be 4000;next: scr_container -p p unpack 1
	END
	finds 3 "damaged: a container," scr_rebuild -p p 1
	renew p longer
	scr_container -q -p p unpack 1
	same
	# ... and a damaged map: repack refuses such a container.
	for command in "scr_inspect -p p" "scr_index -p p --build" "scr_index -p p --verify"; do
		renew longer
		damage $D/packed.1.scr 100 XXXX
		well $command 1
	done
}

@test "33.12 a mode that shuts its owner out, and a directory in the place of a file" {
	damaged <<-'END'
		XOR|chmod 0 $f/rank_1.ckpt|1||refused 1
		XOR|chmod 0 $f/rank_1.ckpt|||eval well scr_inspect -p p 1
		XOR bare|chmod 0 $f/rank_1.ckpt|1||refused 1
	END
	ends 1 scr_rebuild --dry-run -p p 1
	base XOR
	rm $f/rank_1.ckpt
	mkdir $f/rank_1.ckpt
	touch $f/rank_1.ckpt/kept
	cp -a p blocked
	for command in "scr_index -p p --build 1" "scr_rebuild -p p 1"; do
		ends 3 ${command/ -p/ --dry-run -p}
		warns 1 "next: mv $f/rank_1.ckpt $f/rank_1.ckpt.old && $command" $command
		well $command
		# An empty one makes way by itself.
		renew blocked
		rm $f/rank_1.ckpt/kept
		ends 0 $command
		same
		renew blocked
	done
}

@test "33.22 advice for a link to nothing, a filemap of garbage and --current" {
	for damage in "rm $f/rank_1.ckpt; ln -s /nowhere/x $f/rank_1.ckpt" \
		"echo garbage >$D/filemap_1"; do
		damaged <<-END
			XOR --ckpt|$damage|||well scr_inspect -p p 1
			XOR --ckpt|$damage|||well scr_index -p p --build 1
			XOR --ckpt|$damage|||well scr_rebuild -p p 1
		END
	done
	rm $f/rank_1.ckpt
	well scr_index -p p --current 1
	same
}

@test "33.12: a directory with a new name that may not be searched: unknown" {
	restricted
	base XOR
	mv $f $f.old
	chmod 0 $f.old
	for command in "scr_inspect -p p -d 1" "scr_index -p p --verify 1" \
		"scr_rebuild -p p 1" "scr_index -p p --build 1"; do
		ends 1 "${as[@]}" $command
		[[ $output$stderr == *"ckpt.1.old looks like it, but may not be searched"* ]]
	done
	chmod 755 $f.old
	ends 3 "${as[@]}" scr_inspect -p p -d 1
}

@test "a container behind a link: nothing is written into what is not it, and no mark is left" {
	local D=p/.scr/scr.dataset.1

	gen -p p -n 4 -s 8K -t XOR
	scr_index -q -p p --build 1
	scr_container -q -p p pack 1 --size 8K
	echo mine >beside
	ln -sfn "$PWD/beside" $D/.scr/ctr.0.scr
	for command in "scr_rebuild -p p 1" "scr_index -p p --build 1"; do
		complains 1 "put the container in its place, then run this again" $command
		[[ $(<beside) == mine && ! -e $D/rebuild.scr ]]
	done
}
