#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086 # words without blanks
# What a dataset is called follows from all evidence: no witness alone says whole or
# lost, and what was not asked is unknown.

load helper

D=p/.scr/scr.dataset.1
setup() { in_no_job && one_node; }

# dataset [OPTION]...: dataset 1 of 4 ranks on prefix p, not built.
dataset() {
	rm -rf p
	gen -p p -n 4 -s 8K "$@"
}

# all STATUS: what inspect, verify and the dry runs say of dataset 1.
all() {
	ends "$1" scr_inspect -p p -d 1
	ends "$1" scr_index -p p --verify 1
	ends "$1" scr_index -p p --dry-run --build 1
}

@test "33.1 what is left of rank2file keeps its checksums, and is compared before it goes" {
	for type in XOR SINGLE; do
		dataset -t $type
		scr_index -q -p p --checksums --build 1
		damage p/ckpt.1/rank_0.ckpt 0 XXXX
		rm $D/rank2file
		[[ $type == SINGLE ]] || rm p/ckpt.1/rank_2.ckpt
		cp -a p kept
		ends 4 scr_index -p p --checksums --build 1
		ends 4 scr_index -p p --verify --deep --checksums 1
		diff -r p/ckpt.1 kept/ckpt.1
		rm -r kept
	done
	dataset -t XOR
	scr_index -q -p p --checksums --build 1
	cp $D/rank2file.0.0 older
	dataset -t XOR --seed 5
	scr_index -q -p p --checksums --build 1
	cp older $D/rank2file.0.0
	rm $D/rank2file
	ends 3 scr_inspect -p p -d 1
	warns 1 "next: scr_inspect -p p --checksums 1" scr_index -p p --build 1
	ends 1 scr_inspect -p p --checksums 1
	[[ ! -e $D/rank2file ]]
}

@test "33.1 an older summary makes no right file wrong, in containers or not" {
	for type in XOR RS PARTNER; do
		for pack in "" pack; do
			# Of the later run flush.scr tells.
			dataset --time 1690000000 -t $type
			scr_index -q -p p --build 1
			cp $D/summary.scr older
			dataset -t $type
			scr_index -q -p p --checksums --build 1
			cp -a p whole
			[[ -z $pack ]] || scr_container -q -p p pack --size 4000 1
			cp older $D/summary.scr
			# Computed from a wrong byte, a file is wrong.
			red=$(echo $D/reddesc.er.1.*.grp*)
			damage "$red" $(($(stat -c %s "$red") - 100)) X
			find p -name "ctr*" -exec sha256sum {} + >before
			all 3
			scr_index -q -p p --build 1
			find p -name "ctr*" -exec sha256sum {} + | diff before -
			ends 0 scr_index -p p --verify --checksums 1
			[[ -z $pack ]] || scr_container -q -p p unpack 1
			diff -r whole/ckpt.1 p/ckpt.1
			diff <(scr_inspect $D/summary.scr | grep CREATED) \
				<(scr_inspect whole/.scr/scr.dataset.1/summary.scr | grep CREATED)
			rm -r whole
		done
	done
}

@test "33.1 a part of an older map of containers: its copies are right" {
	for damage in rank2file.0.1 packed.1.scr rank2file "rank2file packed.1.scr"; do
		for type in SINGLE XOR; do
			dataset -t $type --seed 5
			scr_index -q -p p --build 1
			scr_container -q -p p pack --size 4000 --with-redundancy 1
			rm -rf older && mkdir older
			for file in $damage; do cp $D/$file older; done
			dataset -t $type
			scr_index -q -p p --build 1
			cp -a p whole
			scr_container -q -p p pack --size 4000 --with-redundancy 1
			cp older/* $D
			all 3
			ends 3 scr_index -p p --verify --deep --checksums 1
			assert_stderr_has ${damage%% *} "all data are present" \
				"next: scr_container -p p repack 1"
			scr_container -p p repack 1
			ends 0 scr_index -p p --verify --deep --checksums 1
			scr_container -q -p p unpack 1
			diff -r whole/ckpt.1 p/ckpt.1
			rm -r whole
		done
	done
}

@test "33.1 right bytes in a container are replaced only by what is proven" {
	dataset -t XOR
	scr_index -q -p p --build 1
	scr_container -q -p p pack --size 4000 1
	# Rank 0 is in ctr.0 to ctr.2; rank 2 has wrong bytes in ctr.5.
	truncate -s 100 $D/.scr/ctr.1.scr
	damage $D/.scr/ctr.5.scr 500 XXXX
	cp -a $D before
	for command in "scr_index -p p --build 1" "scr_rebuild -p p 1"; do
		ends 4 $command
		diff -r before $D
	done
	# What is proven is written, and all is right.
	dataset -t XOR
	scr_index -q -p p --build 1
	scr_container -q -p p pack --size 4000 1
	cp -a $D/.scr whole
	truncate -s 100 $D/.scr/ctr.1.scr
	damage $D/.scr/ctr.2.scr 0 XXXX
	scr_rebuild -q -p p 1
	diff -r whole $D/.scr
}

# refused COMMAND...: it cannot tell what is wrong, and changes no data, redundancy
# or checksums.
refused() {
	renew p kept
	warns 3 "is unknown" "$@"
	diff -r kept/ckpt.1 p/ckpt.1
	diff -r kept/.scr/scr.dataset.1 $D
}

@test "33.1 a set that lacks a piece is compared with what is left" {
	# One more than is needed: it shows that something is wrong.
	while read -r gone wrong at options; do
		dataset $options
		scr_index -q -p p --build 1
		rm p/$gone
		damage p/$wrong $at
		refused scr_index -p p --deep --checksums --build 1
		refused scr_index -p p --checksums --build 1
		refused scr_rebuild -p p --deep --checksums 1
		[[ $gone != *rank_3.ckpt ]] || refused scr_rebuild -p p 1
		ends 3 scr_inspect -p p --deep -d 1
	done <<-END
		.scr/scr.dataset.1/reddesc.er.3.* ckpt.1/rank_1.ckpt 100 -t RS -k 2
		ckpt.1/rank_3.ckpt ckpt.1/rank_1.ckpt 100 -t RS -k 2 -n 6
		.scr/scr.dataset.1/reddesc.er.3.* ckpt.1/rank_2.ckpt 9 -t PARTNER -k 2
		ckpt.1/rank_0_1.ckpt ckpt.1/rank_1_0.ckpt 9 -t XOR --set-size 2 -f 2
	END
	# Two more: the wrong one is named, and mended.
	for gone in "$D"/reddesc.er.3.rs.* p/ckpt.1/rank_3.ckpt; do
		dataset -t RS -k 3 -n 6
		scr_index -q -p p --build 1
		was=$(tree_sha p/ckpt.1)
		rm $gone
		damage p/ckpt.1/rank_1.ckpt 100
		scr_index -q -p p --deep --checksums --build 1
		[[ $was == "$(tree_sha p/ckpt.1)" ]]
		ends 0 scr_index -p p --verify --deep --checksums 1
	done
	# Nothing more: nothing contradicts.
	dataset -t XOR
	rm p/ckpt.1/rank_3.ckpt
	ends 0 scr_rebuild -p p --deep 1
}

@test "33.15 --deep mends every wrong file" {
	for type in "PARTNER -k 2" "RS -k 2"; do
		dataset -t $type -f 3 -s 300,500
		was=$(tree_sha p/ckpt.1)
		for file in 0 1 2; do
			damage p/ckpt.1/rank_2_$file.ckpt 50
			damage p/ckpt.1/rank_2_$file.ckpt 250
		done
		ends 0 scr_rebuild -p p --deep 1
		[[ $was == "$(tree_sha p/ckpt.1)" ]]
	done
}

@test "33.1 bytes behind a header that cannot be read prove nothing" {
	dataset -t PARTNER -s 600
	scr_index -q -p p --build 1
	was=$(tree_sha p/ckpt.1)
	cp -a p kept
	rm p/ckpt.1/rank_0.ckpt
	red=$(echo $D/reddesc.er.1.partner.*)
	size=$(stat -c %s $red)
	head -c $size /dev/zero >$red
	for command in "scr_index --build" "scr_index --deep --checksums --build" \
		scr_rebuild "scr_rebuild --deep" "scr_index --verify" "scr_inspect"; do
		read -ra words <<<"$command"
		ends 1 "${words[0]}" -p p "${words[@]:1}" 1
		[[ ! -e p/ckpt.1/rank_0.ckpt ]]
	done
	assert_output_has "next:       scr_rebuild -p p --partial 1"
	ends 1 scr_rebuild -p p --partial 1
	assert_stderr_has "${red##*/}" "unknown"
	[[ -e p/ckpt.1/rank_0.ckpt ]]
	# A recorded checksum proves what is computed.
	rm -r p && cp -a kept p
	scr_index -q -p p --checksums --build 1
	rm p/ckpt.1/rank_0.ckpt
	damage $red 60
	ends 0 scr_rebuild -p p 1
	[[ $was == "$(tree_sha p/ckpt.1)" ]]
}

@test "33.2 a lost filemap without redundancy: its file may be there" {
	dataset -t NONE
	rm $D/filemap_2
	ends 1 scr_index -p p --verify 1
	assert_stderr_has "ckpt.1/rank_2.ckpt may be one of them" \
		"next: scr_postrun -p p"
	finds 1 "next:       scr_postrun -p p" scr_inspect -p p -d 1
	ends 1 scr_index -p p --build 1
	ends 1 scr_rebuild -p p 1
	# Nothing is there that could be: lost.
	rm p/ckpt.1/rank_2.ckpt
	ends 4 scr_index -p p --verify 1
	ends 4 scr_inspect -p p -d 1
}

@test "33.3 --prune counts what the strongest check calls whole" {
	for id in 1 2; do
		built p $id --checksums -n 4 -s 8K -t SINGLE
	done
	damage p/ckpt.2/rank_1.ckpt 0 XXXX
	complains 3 ckpt.2 scr_index -p p --prune --keep 1
	[[ -e p/ckpt.1/rank_0.ckpt ]]
	scr_index -q -p p --delete 2
	ends 0 scr_index -p p --prune --keep 1
	[[ -e p/ckpt.1/rank_0.ckpt ]]
}

@test "33.12 the same data, the same word; the summary of another does not vouch for it" {
	# NONE, SINGLE: rank2file has what a lost filemap had.
	for type in NONE SINGLE; do
		dataset -t $type
		scr_index -q -p p --build 1
		rm $D/filemap_1
		all 0
		ends 0 scr_rebuild --dry-run -p p 1
	done
	# All filemaps of XOR, and the summary.
	dataset -t XOR
	scr_index -q -p p --build 1
	rm $D/filemap_* $D/summary.scr
	all 3
	scr_index -q -p p --build 1
	all 0
	# A directory in the place of a file.
	rm p/ckpt.1/rank_1.ckpt
	mkdir p/ckpt.1/rank_1.ckpt
	all 3
	# The index.
	dataset -t XOR
	scr_index -q -p p --build 1
	rm p/.scr/index.scr
	all 3
	two SINGLE
	rm $D/filemap_* $D/redd* p/.scr/index.scr p/.scr/flush.scr
	cp p/.scr/scr.dataset.2/summary.scr $D/
	printf 12345 >p/ckpt.1/rank_1.ckpt
	all 1
	warns 1 "nothing records the size" scr_index -p p --build 1
}

@test "33.14 metadata of another dataset are outvoted" {
	for damage in rank2file.0.0 filemap_1 \
		reddesc.er.2.xor.grp_1_of_1.mem_3_of_4.redset; do
		dataset -t XOR --set-size 4
		gen -p p -i 2 -n 4 -s 8K -t XOR --set-size 4
		scr_index -q -p p --build 1
		scr_index -q -p p --build 2
		cp -a p whole
		cp p/.scr/scr.dataset.2/$damage $D/
		rm p/ckpt.1/rank_2.ckpt
		if [[ $damage == redd* ]]; then
			rm -r p/ckpt.1 && cp -a whole/ckpt.1 p/
		fi
		ends 3 scr_inspect --deep -p p -d 1
		scr_index -q -p p --deep --build 1
		diff -r whole/ckpt.1 p/ckpt.1
		diff <(cd whole/.scr/scr.dataset.1 && sha256sum filemap_* redd*) \
			<(cd $D && sha256sum filemap_* redd*)
		rm -r whole
	done
}

# two TYPE: datasets 1 and 2 of one prefix, in the index.
two() {
	dataset -t "$1" --set-size 4
	gen -p p -i 2 -n 4 -s 8K -t "$1" --set-size 4
	scr_index -q -p p --build 1
	scr_index -q -p p --build 2
	renew p whole
}

@test "33.22 a part of another dataset: --verify advises what mends it, as inspect does" {
	dataset -t XOR
	gen -p p -n 4 -s 8K -t XOR -i 2 --seed 3
	for id in 1 2; do
		scr_index -q -p p --build $id
	done
	cp p/.scr/scr.dataset.2/rank2file.0.0 $D
	rm p/ckpt.1/rank_2.ckpt
	warns 3 "next: scr_index -p p --build 1" scr_index -p p --verify 1
	ends 3 scr_inspect -p p 1
	assert_output_has "next:       scr_index -p p --build 1"
	ends 0 scr_index -p p --build 1
	ends 0 scr_index -p p --verify 1
}

@test "33.14 metadata that name files of another dataset: no witness of this one" {
	# Nothing else names its files, as after a flush of LLNL's library.
	two XOR
	rm $D/filemap_* $D/redd*
	all 0
	cp p/.scr/scr.dataset.2/rank2file.0.0 $D/
	truncate -s 5 p/ckpt.1/rank_1.ckpt
	all 1
	assert_stderr_has "rank2file: names ckpt.2/rank_0.ckpt, a file of dataset 2"
	ends 1 scr_index -p p --build 1
	ends 0 scr_index -p p --verify 2
	# The index knows whose directory it is, too.
	rm p/.scr/flush.scr
	all 1
	# rank2file names the file that is gone, a filemap one that is there.
	two NONE
	cp p/.scr/scr.dataset.2/filemap_1 $D/
	all 0
	rm p/ckpt.1/rank_1.ckpt
	all 4
	# The other way round, newer than the dataset.
	two NONE
	rm p/ckpt.2/rank_1.ckpt
	cp $D/filemap_1 p/.scr/scr.dataset.2/
	ends 4 scr_index -p p --verify 2
	# All filemaps are those of another, and nothing contradicts them.
	two NONE
	cp p/.scr/scr.dataset.2/filemap_* $D/
	rm $D/rank2file*
	all 1
	assert_stderr_has "filemap_0 names ckpt.2/rank_0.ckpt, a file of dataset 2"
}

@test "33.14 a foreign or swapped filemap; checksums of an older rank2file: unknown" {
	two PARTNER
	cp p/.scr/scr.dataset.2/filemap_3 $D/
	rm p/ckpt.1/rank_1.ckpt
	all 3
	scr_index -q -p p --build 1
	diff -r whole/ckpt.1 p/ckpt.1
	cmp whole/.scr/scr.dataset.1/filemap_3 $D/filemap_3
	# Without rank2file, and half of the filemaps in the wrong place.
	two PARTNER
	rm -r p/.scr/index.scr $D/rank2file* $D/summary.scr p/ckpt.1/rank_0.ckpt
	mv $D/filemap_1 spare
	mv $D/filemap_3 $D/filemap_1
	mv spare $D/filemap_3
	ends 3 scr_inspect -p p -d 1
	scr_index -q -p p --build 1
	diff -r whole/ckpt.1 p/ckpt.1
	diff <(cd whole/.scr/scr.dataset.1 && sha256sum filemap_* redd*) \
		<(cd $D && sha256sum filemap_* redd*)
	# A redundancy file of an older run, of the same names and sizes.
	local red=reddesc.er.3.partner.grp_1_of_1.mem_4_of_4.redset
	dataset -t PARTNER --set-size 4 --time 1600000000 --seed 5
	cp $D/$red older
	dataset -t PARTNER --set-size 4
	renew p whole
	rm p/.scr/flush.scr p/ckpt.1/rank_3.ckpt
	cp older $D/$red
	ends 3 scr_inspect -p p -d 1
	scr_index -q -p p --build 1
	diff -r whole/ckpt.1 p/ckpt.1
	cmp whole/.scr/scr.dataset.1/$red $D/$red
	for type in XOR NONE; do
		dataset -t $type
		scr_index -q -p p --checksums --build 1
		cp $D/rank2file.0.0 older
		dataset -t $type --seed 5
		scr_index -q -p p --checksums --build 1
		cp older $D/rank2file.0.0
		ends 1 scr_index -p p --verify --checksums 1
		[[ $stderr == *"agree with their redundancy"* ||
			$stderr == *"it may be an older one"* ]]
		renew p kept
		ends 1 scr_index -p p --checksums --build 1
		diff -r p/ckpt.1 kept/ckpt.1
	done
}

@test "33.14 --protect keeps the filemaps that are there, and refuses wrong files" {
	dataset -t NONE --crc
	scr_index -q -p p --build 1
	rm $D/filemap_2
	sha256sum $D/filemap_* >sums
	ends 0 scr_rebuild -p p --protect xor 1
	sha256sum -c --quiet sums
	[[ -e $D/filemap_2 ]]
	# A total size that does not fit, a wrong checksum.
	for damage in "truncate -s 5 " "dd if=/dev/zero bs=9 count=1 conv=notrunc status=none of="; do
		dataset -t NONE --crc
		scr_index -q -p p --checksums --build 1
		rm $D/filemap_*
		renew p kept
		eval "${damage}p/ckpt.1/rank_2.ckpt"
		try scr_rebuild -p p --protect xor 1
		((status == 4))
		diff -r p/.scr kept/.scr
	done
}

@test "33.3 an older summary of a packed dataset: its files are in the containers" {
	dataset -t XOR --time 1600000000
	scr_index -q -p p --build 1
	cp $D/summary.scr older
	dataset -t XOR
	scr_index -q -p p --build 1
	scr_container -q -p p pack --size 4000 1
	renew p whole
	cp older $D/summary.scr
	damage "$(echo $D/reddesc.er.1.xor.*)" 9000 X
	cp -a p kept
	for index in "" p/.scr/index.scr; do # it contradicts the summary, too
		rm -r p
		cp -a kept p
		rm -f $index
		all 3
		scr_index -q -p p --deep --checksums --build 1
		ends 0 scr_index -p p --verify --deep --checksums 1
		diff -r whole/.scr/scr.dataset.1/.scr $D/.scr
		[[ ! -e p/ckpt.1/rank_0.ckpt ]]
	done
}

@test "33.11 a link of the owner in the place of the metadata: all follow it" {
	for type in XOR NONE; do
		dataset -t $type
		scr_index -q -p p --build 1
		rm -rf beside
		mv $D beside
		ln -s ../../beside $D
		all 0
		ends 0 scr_rebuild -p p --dry-run 1
		mv p/ckpt.1 p/ckpt.1.old
		all 3
		ends 3 scr_rebuild -p p --dry-run 1
	done
	# But it may be that of another prefix, too.
	ends 1 scr_index -p p --delete 1
	assert_stderr_has "a symbolic link: remove what it leads to"
	[[ -e beside/summary.scr && -e p/ckpt.1.old/rank_0.ckpt ]]
	# Lost, and not in the index any more.
	rm -r p/ckpt.1.old
	scr_index -q -p p --drop 1
	rm -f p/.scr/flush.scr
	finds 4 "next:       rm $D" scr_inspect -p p -d 1
}

@test "33.11 a link to what is not mounted: unknown; --delete refuses such a directory" {
	for type in NONE XOR; do
		for what in ckpt.1 ckpt.1/rank_2.ckpt; do
			[[ $type$what != XORckpt.1/* ]] || continue # rebuilt
			rm -rf away && mkdir away
			dataset -t $type
			scr_index -q -p p --build 1
			rm p/.scr/flush.scr
			mv p/$what away
			ln -s ../scratch/${what##*/} p/$what
			all 1
			to="$what: a link to ../scratch/${what##*/}, which is missing"
			warns 1 "$to" scr_rebuild -p p 1
			[[ $what != ckpt.1 ]] ||
				warns 1 "$to" scr_index -p p --delete 1
			rm p/$what && mv away/${what##*/} p/$what
			ends 0 scr_index -p p --verify 1
		done
	done
	# A container, whose files redundancy may have.
	for type in SINGLE XOR; do
		dataset -t $type
		scr_index -q -p p --build 1
		scr_container -q -p p pack 1 --size 8K
		mv $D/.scr/ctr.1.scr away
		ln -s ../scratch/ctr.1.scr $D/.scr/ctr.1.scr
		[[ $type == SINGLE ]] || { well scr_inspect -p p 1 && continue; }
		ends 1 scr_inspect -p p -d 1
		assert_output_has "ctr.1.scr: a link to ../scratch/ctr.1.scr, which is missing"
		assert_output_lacks "next:"
	done
}

@test "33.22 an older filemap, and nothing else: no advice to delete" {
	dataset -t NONE --crc --time 1600000000 --seed 5
	cp $D/filemap_3 older
	dataset -t NONE --crc
	rm p/.scr/flush.scr
	cp older $D/filemap_3
	ends 1 scr_inspect -p p --checksums -d 1
	assert_output_has "one of the two is that of another run"
	assert_output_lacks "--delete"
	ends 1 scr_index -p p --checksums --build 1
	scr_index -q -p p --build 1
	ends 1 scr_index -p p --verify --checksums 1
	# The others are as their filemaps say: a flipped bit is no doubt.
	dataset -t NONE --crc
	rm p/.scr/flush.scr
	touch -r p/ckpt.1/rank_3.ckpt time
	damage p/ckpt.1/rank_3.ckpt 0 X
	touch -r time p/ckpt.1/rank_3.ckpt
	ends 4 scr_inspect -p p --checksums -d 1
}

@test "33.15 a build looks at its result" {
	dataset -t XOR
	scr_index -q -p p --build 1
	scr_container -q -p p pack --size 4000 1
	rm $D/rank2file
	warns 3 "scr_container -p p repack 1" scr_index -p p --build 1
	for option in "" -n; do
		complains 3 "its copy was read" scr_rebuild $option -p p 1
		assert_stderr_has "next: scr_container -p p repack 1"
		assert_output_has "damaged: the map of the containers," \
			"not damaged: all files, filemaps"
		assert_output_lacks "nothing to rebuild"
	done
	# The header of a file that restores nothing is no damage.
	dataset -t SINGLE
	scr_index -q -p p --build 1
	truncate -s 20 $D/reddesc.er.1.single.*
	all 0
}

@test "33.22 no command advises itself, options are kept; what is unpacked is not repacked" {
	dataset -t RS
	scr_index -q -p p --build 1
	damage "$(echo $D/reddescmap.er.2.rs.*)" 40 XXXX
	ends 3 scr_inspect --deep -p p -d 1
	assert_output_has "next:       scr_rebuild -p p --deep 1"
	# A directory that was renamed.
	dataset -t NONE
	scr_index -q -p p --build 1
	mv p/ckpt.1 p/ckpt.1.old
	for command in "scr_index --build" scr_rebuild "scr_index --verify"; do
		read -ra words <<<"$command"
		ends 3 "${words[0]}" -p p "${words[@]:1}" 1
		assert_stderr_has "next: mv p/ckpt.1.old p/ckpt.1"
	done
	# ... and lacks a file: what is left shows when it is back.
	rm p/ckpt.1.old/rank_2.ckpt
	all 1
	ends 1 scr_rebuild -p p 1
	assert_stderr_has "to see what is left" "next: mv p/ckpt.1.old p/ckpt.1"
	# A directory in the place of a container.
	dataset -t XOR
	scr_index -q -p p --build 1
	scr_container -q -p p pack 1 --size 8K
	rm $D/.scr/ctr.1.scr
	mkdir $D/.scr/ctr.1.scr
	for command in "scr_inspect -p p 1" "scr_index -p p --verify 1"; do
		ends 3 $command
		[[ $output$stderr == *"rmdir $D/.scr/ctr.1.scr && scr_"* ]]
	done
	mv $D/.scr beside
	ln -s ../../../beside $D/.scr
	complains 1 "a symbolic link" scr_index -p p --delete 1
	rm $D/.scr
	mv beside $D/.scr
	touch $D/.scr/ctr.1.scr/file
	warns 0 "not a plain file, not removed" scr_index -p p --delete 1
	[[ -d $D/.scr/ctr.1.scr && ! -e $D/.scr/ctr.0.scr && ! -e $D/rank2file ]]
	rm -r $D
	# An empty directory, or a link, keeps no dataset.
	for damage in "mkdir ctr" "ln -s ../../../lost ctr"; do
		dataset -t SINGLE
		rm p/.scr/flush.scr
		scr_index -q -p p --build 1
		scr_container -q -p p pack 1 --size 8K
		mv $D/.scr/ctr.1.scr p/lost
		damage p/lost 0 XXXX
		truncate -s 10 p/lost
		$damage && mv -T ctr $D/.scr/ctr.1.scr
		follow scr_inspect -p p 1 # --drop
		follow scr_inspect -p p 1 # --delete
		[[ ! -e $D ]] || failed "${steps[@]}"
	done
	# A directory in the place of metadata.
	dataset -t NONE
	scr_index -q -p p --build 1
	rm $D/summary.scr
	mkdir $D/summary.scr
	finds 3 "rmdir p/.scr/scr.dataset.1/summary.scr && " scr_inspect -p p -d 1
	for damage in rank2file.0.1 packed.1.scr rank2file; do
		dataset -t XOR
		scr_index -q -p p --build 1
		scr_container -q -p p pack --size 4000 1
		: >$D/$damage
		ends 0 scr_container -p p unpack --dry-run 1
		assert_stderr_has "next: scr_container -p p repack 1"
		warns 0 $damage scr_container -p p unpack 1
		[[ $stderr != *next:* ]]
		all 0
	done
}

# follow COMMAND...: what the command advises, and so on; $steps has them all.
follow() {
	local next=$*

	steps=()
	while [[ -n $next && ${#steps[@]} -lt 9 ]]; do
		steps+=("$next")
		try bash -c "$next"
		next=$(sed -n '/next:/{s/.*next: *//p;q}' <<<"$output"$'\n'"$stderr")
	done
}

@test "33.22 what is lost is left in five steps" {
	for pack in "" pack; do
		rm -rf p
		for id in 1 2; do
			built p $id --checksums -n 4 -s 8K -t XOR
		done
		rm p/.scr/flush.scr
		for id in $([[ -z $pack ]] || echo 1 2); do
			scr_container -q -p p pack --size 4000 $id
		done
		# Wrong bytes, which only a rebuild and --checksums find, and a loss.
		if [[ -n $pack ]]; then
			D2=p/.scr/scr.dataset.2
			damage $D2/.scr/ctr.3.scr 0 XXXX
			rm $D2/.scr/ctr.7.scr
		else
			damage p/ckpt.2/rank_1.ckpt 0 XXXX
			rm p/ckpt.2/rank_3.ckpt
		fi
		cp -a p damaged
		for command in "scr_index -p p --build 2" "scr_rebuild -p p 2"; do
			renew damaged
			follow $command
			[[ ${steps[1]} == "scr_inspect -p p --checksums 2" ]] ||
				failed "${steps[@]}"
			[[ ${steps[2]} == *"scr_index -p p --current 1" ]]
			follow scr_inspect -p p --checksums 2
			[[ ${steps[*]} == *"scr_index -p p --drop 2"* ]]
			((${#steps[@]} < 5)) || failed "${steps[@]}"
		done
		rm -rf damaged
	done
}

@test "33.22 a loss that only redundancy shows: one word, and no circle" {
	dataset -n 2 -t XOR --crc -s 900,500
	rm p/.scr/flush.scr
	scr_index -q -p p --build 1
	rm p/ckpt.1/rank_1.ckpt
	truncate -s 10 p/ckpt.1/rank_0.ckpt
	red=$(echo $D/reddesc.er.1.xor.*)
	tr '\0-\377' x <"$red" >garbage && cp garbage "$red"
	for command in "scr_inspect -p p -d" "scr_index -p p --verify" \
		"scr_rebuild -p p --dry-run" "scr_index -p p --dry-run --build"; do
		ends 4 $command 1 --deep --checksums
	done
	follow scr_inspect -p p 1
	[[ ${steps[2]} == "scr_inspect -p p --deep 1" &&
		${steps[3]} == "scr_index -p p --drop 1" && ${#steps[@]} == 4 ]] ||
		failed "${steps[@]}"
}

@test "33.14 a header of SINGLE of another dataset is no witness" {
	gen -p q -n 4 -s 8K -t SINGLE -i 3
	dataset -t SINGLE
	scr_index -q -p p --build 1
	cp q/.scr/scr.dataset.3/reddesc.er.1.single.* $D
	all 0
	ends 0 scr_index -p p --verify --deep --checksums 1
}

@test "33.12 only redundancy of the filemaps is lost: no data are" {
	dataset -t XOR
	scr_index -q -p p --build 1
	rm $D/reddescmap.er.{0,2}.xor.* $D/filemap_2 p/ckpt.1/rank_2.ckpt
	all 3
	renew p damaged
	for command in "scr_index --build" scr_rebuild scr_inspect; do
		renew damaged
		read -ra words <<<"$command"
		well "${words[0]}" -p p "${words[@]:1}" 1
	done
}

@test "33.22 only redundancy is lost: it is computed again, unless it is packed" {
	for command in "scr_inspect -p p" "scr_index -p p --verify"; do
		# No file says how many losses the set tolerates.
		dataset -t RS -k 2
		scr_index -q -p p --build 1
		rm $D/reddesc.er.?.redset
		for red in "$D"/reddesc.er.*.rs.*; do echo garbage >"$red"; done
		all 3
		well $command 1
		[[ ${steps[1]} == "scr_rebuild -p p --protect rs 1" ]] ||
			failed "${steps[@]}"
		ends 0 scr_index -p p --verify --deep --checksums 1
		# What is left of it is rebuilt before the dataset is unpacked.
		dataset -n 2 -t PARTNER
		scr_index -q -p p --build 1
		scr_container -q -p p pack 1
		rm $D/filemap_1 $D/redd*.er.1.* "$(echo $D/reddesc.er.0.partner.*)"
		mkdir "$(echo $D/reddescmap.er.0.partner.* | sed s/map//)"
		follow $command 1
		[[ ${steps[1]} != *unpack* ]] || failed "${steps[@]}"
		well $command 1
	done
}

@test "33.22 --protect has compared checksums: so does the look that it advises" {
	dataset -t XOR
	scr_index -q -p p --checksums --build 1
	damage p/ckpt.1/rank_1.ckpt 0 XXXX
	rm p/ckpt.1/rank_2.ckpt
	warns 4 "next: scr_inspect -p p --checksums 1" \
		scr_rebuild -p p --protect xor 1
}

@test "33.14 filemaps that were swapped between sets: the headers of both show it" {
	gen -p p -n 4 -m 2 -t RS -k 1 -s 300,40
	mv $D/filemap_2 2 && mv $D/filemap_3 $D/filemap_2 && mv 2 $D/filemap_3
	ends 3 scr_inspect -p p --deep --checksums 1
	assert_output_has "that of another"
	well scr_inspect -p p --deep --checksums 1
}

@test "33.22 the summary of another dataset gives its name to none: it can be built" {
	rm -rf p
	for id in 1 2; do built p $id --checksums -n 4 -s 60 -t PARTNER; done
	scr_index -q -p p --drop id:1
	rm p/.scr/flush.scr $D/filemap_* $D/redd*
	cp p/.scr/scr.dataset.2/summary.scr $D
	warns 3 "next: scr_index -p p --build 1" scr_index -p p --verify id:1
	well scr_index -p p --verify id:1
}

@test "33.14 repack writes no map of files whose checksums are wrong" {
	dataset -t XOR
	scr_index -q -p p --checksums --build 1
	scr_container -q -p p pack --size 4000 1
	rm $D/rank2file.0.1 # its copy is read
	damage $D/.scr/ctr.0.scr 100 XXXX
	ends 3 scr_container -p p repack 1
	assert_stderr_has "scr_rebuild -p p --checksums 1"
	[[ ! -e $D/rank2file.0.1 ]]
	ends 3 scr_rebuild -p p --checksums 1 # the map is still damaged
	ends 0 scr_container -p p repack 1
	ends 0 scr_index -p p --verify --deep --checksums 1
}

@test "33.12 a container that is longer than recorded: one word, and a way out" {
	dataset -t XOR
	scr_index -q -p p --checksums --build 1
	scr_container -q -p p pack --size 4000 1
	echo more >>$D/.scr/ctr.1.scr
	ends 3 scr_inspect -p p -d 1
	ends 3 scr_index -p p --dry-run --build 1
	warns 3 "ctr.1.scr: 4005 bytes, should be 4000" scr_index -p p --verify 1
	assert_stderr_has "next: scr_container -p p unpack 1"
	finds 3 "damaged: a container," scr_rebuild -p p 1
	renew p longer
	scr_container -q -p p unpack 1
	ends 0 scr_index -p p --verify --deep --checksums 1
	# ... and a damaged map: repack refuses such a container.
	renew longer
	damage $D/packed.1.scr 100 XXXX
	for command in "scr_inspect -p p" "scr_index -p p --build" \
		"scr_index -p p --verify"; do
		renew p both
		well $command 1
		renew both
	done
}

@test "33.14 an older rank2file and one wrong file: what contradicts is unknown" {
	# The wrong file is that of the older run: only it has the recorded checksum.
	dataset -t RS -k 2 --time 1690000000
	scr_index -q -p p --checksums --build 1
	cp $D/rank2file.0.0 p/ckpt.1/rank_2.ckpt .
	dataset -t RS -k 2 --seed 5
	scr_index -q -p p --checksums --build 1
	cp rank2file.0.0 $D
	cp rank_2.ckpt p/ckpt.1
	ends 1 scr_inspect -p p -d 1 --deep --checksums
	ends 1 scr_index -p p --verify --deep --checksums 1
	# All but one file are there: no other has the recorded checksum.
	dataset -t XOR -n 2 --seed 5
	scr_index -q -p p --checksums --build 1
	cp $D/rank2file.0.0 older
	dataset -t XOR -n 2
	scr_index -q -p p --checksums --build 1
	cp older $D/rank2file.0.0
	rm p/ckpt.1/rank_1.ckpt $D/reddesc.er.1.*
	ends 1 scr_index -p p --verify --deep --checksums 1
}

@test "33.21 filemaps that are proven: their redundancy is wrong, and mended" {
	for type in XOR PARTNER; do
		dataset -t $type
		scr_index -q -p p --build 1
		red=$(echo $D/reddescmap.er.1.*_of_4.redset)
		damage $red $(($(stat -c %s $red) - 30)) XX
		ends 3 scr_inspect -p p -d 1 --deep
		ends 0 scr_rebuild -p p --deep 1
		ends 0 scr_index -p p --verify --deep 1
	done
}

@test "33.1 a rebuild compares all stripes of the set that it computes from" {
	dataset -t XOR --files 2
	scr_index -q -p p --build 1
	rm p/ckpt.1/rank_3_1.ckpt
	damage p/ckpt.1/rank_2_0.ckpt 10 XXXX
	cp -a p kept
	for command in "scr_rebuild -p p" "scr_index -p p --build"; do
		ends 3 $command 1
		assert_stderr_has "the wrong member is unknown"
		diff -r p/ckpt.1 kept/ckpt.1
	done
}

# well FIRST COMMAND...: what this advises, and so on, ends with dataset 1 whole.
well() {
	follow "$@"
	((status == 0 && ${#steps[@]} < 5)) || failed "${steps[@]}"
	all 0
}

@test "33.12 a mode that shuts its owner out, and a directory in the place of a file" {
	dataset -t XOR
	scr_index -q -p p --build 1
	renew p kept
	chmod 0 p/ckpt.1/rank_1.ckpt
	all 1
	ends 1 scr_index -p p --build 1
	ends 1 scr_rebuild -p p 1
	well scr_inspect -p p -d 1
	# Not built: nothing but the mode tells.
	dataset -t XOR
	chmod 0 p/ckpt.1/rank_1.ckpt
	all 1
	ends 1 scr_rebuild --dry-run -p p 1
	ends 1 scr_index -p p --build 1
	renew kept
	rm p/ckpt.1/rank_1.ckpt
	mkdir p/ckpt.1/rank_1.ckpt
	for command in "scr_index -p p --build 1" "scr_rebuild -p p 1"; do
		ends 3 ${command/ -p/ --dry-run -p}
		warns 1 "next: rmdir p/ckpt.1/rank_1.ckpt && $command" $command
	done
	touch p/ckpt.1/rank_1.ckpt/kept
	warns 1 "next: mv p/ckpt.1/rank_1.ckpt p/ckpt.1/rank_1.ckpt.old && $command" \
		$command
	well scr_index -p p --build 1
	diff -r kept/ckpt.1 p/ckpt.1 --exclude "*.old"
}

@test "33.22 advice for a link to nothing, a filemap of garbage and --current" {
	for damage in "rm p/ckpt.1/rank_1.ckpt; ln -s /nowhere/x p/ckpt.1/rank_1.ckpt" \
		"echo garbage >$D/filemap_1"; do
		dataset -t XOR --ckpt
		scr_index -q -p p --build 1
		renew p kept
		eval "$damage"
		renew p damaged
		for command in scr_inspect "scr_index --build" scr_rebuild; do
			renew damaged
			read -ra words <<<"$command"
			well "${words[0]}" -p p "${words[@]:1}" 1
			diff -r kept/ckpt.1 p/ckpt.1
		done
	done
	rm p/ckpt.1/rank_1.ckpt
	well scr_index -p p --current 1
	diff -r kept/ckpt.1 p/ckpt.1
}

@test "33.21 a flipped byte of redundancy beside files that their checksums prove" {
	for type in XOR RS PARTNER; do
		dataset -t $type --crc
		scr_index -q -p p --checksums --build 1
		red=$(echo $D/reddesc.er.1.${type,,}.*)
		sha256sum "$red" >sum
		flip "$red" $(($(stat -c %s "$red") - 50))
		ends 3 scr_inspect -p p --deep --checksums -d 1
		assert_output_has "${red##*/}: its contents are damaged"
		well scr_inspect -p p --deep --checksums 1
		sha256sum --quiet -c sum
	done
}

@test "33.12: a directory with a new name that may not be searched: unknown" {
	restricted
	dataset -t XOR
	scr_index -q -p p --build 1
	mv p/ckpt.1 p/ckpt.1.old
	chmod 0 p/ckpt.1.old
	for command in "scr_inspect -p p -d 1" "scr_index -p p --verify 1" \
		"scr_rebuild -p p 1" "scr_index -p p --build 1"; do
		ends 1 "${as[@]}" $command
		[[ $output$stderr == *"ckpt.1.old looks like it, but may not be searched"* ]]
	done
	chmod 755 p/ckpt.1.old
	ends 3 "${as[@]}" scr_inspect -p p -d 1
}

@test "33.12: a lost rank, and the only redundancy that names it as to filemaps" {
	for type in RS PARTNER; do
		for damage in ": >" "truncate -s 30" "rm"; do
			dataset -t $type -n 2 -k 1
			scr_index -q -p p --build 1
			renew p whole
			rm p/ckpt.1/rank_1.ckpt $D/filemap_1 $D/redd*.er.1.*
			eval "$damage" $D/reddescmap.er.0.*mem*
			all 3
			scr_index -q -p p --build 1
			all 0
			ends 0 scr_index -p p --verify --deep --checksums 1
			diff -r whole/ckpt.1 p/ckpt.1
			rm $D/filemap_0 p/ckpt.1/rank_0.ckpt
			scr_index -q -p p --build 1
			diff -r whole/ckpt.1 p/ckpt.1
		done
	done
	# Of a packed dataset: the filemap that is written is that of its header.
	dataset -t PARTNER
	scr_index -q -p p --checksums --build 1
	renew p whole
	scr_container -q -p p pack --size 40K 1
	rm $D/filemap_[03] $D/redd*.er.[03].*
	all 3
	scr_index -q -p p --build 1
	scr_container -q -p p unpack 1
	all 0
	diff -r whole/ckpt.1 p/ckpt.1
}

# alone: the datasets of prefix p, with nothing but filemaps and redundancy.
alone() { rm -rf p/.scr/flush.scr p/.scr/index.scr $D/summary.scr $D/rank2file*; }

@test "33.14: without a descriptor, older or foreign filemaps and headers are outvoted" {
	local kept="--time 1600000000 --seed 5"

	# A filemap of a dataset whose name nothing records.
	dataset -t XOR --set-size 2 --crc
	gen -p p -n 4 -s 8K -t XOR --set-size 2 --crc -i 2 --seed 7
	alone
	renew p whole
	cp p/.scr/scr.dataset.2/filemap_3 $D/
	damage p/ckpt.1/rank_0.ckpt 0 XXXX
	ends 3 scr_index -p p --verify --deep --checksums 1
	assert_stderr_lacks lost
	scr_index -q -p p --build 1 --deep --checksums
	diff -r whole/ckpt.1 p/ckpt.1
	cmp whole/.scr/scr.dataset.1/filemap_3 $D/filemap_3
	# A filemap of an older run.
	dataset -t XOR --crc $kept
	cp $D/filemap_0 older
	dataset -t XOR --crc
	alone
	renew p whole
	cp older $D/filemap_0
	truncate -s 100 p/ckpt.1/rank_1.ckpt
	ends 3 scr_inspect -p p -d 1 --deep --checksums
	scr_index -q -p p --build 1 --checksums
	diff -r whole/ckpt.1 p/ckpt.1
	cmp whole/.scr/scr.dataset.1/filemap_0 $D/filemap_0
	# Two headers of an older run, each as often contradicted as the other.
	dataset -t PARTNER $kept
	cp $D/reddesc.er.[02].*mem* .
	dataset -t PARTNER
	alone
	renew p whole
	mv reddesc.er.[02].*mem* $D/
	: >"$(echo $D/reddesc.er.3.*mem*)"
	truncate -s 100 p/ckpt.1/rank_0.ckpt
	ends 3 scr_inspect -p p -d 1
	scr_index -q -p p --build 1
	diff -r whole/ckpt.1 p/ckpt.1
}

@test "33.12: an older or foreign top of the containers' map, and a part lost: its copy is read" {
	for source in older foreign; do
		dataset -t PARTNER --time 1600000000 --seed 5 -n 3 -s 2K
		[[ $source == older ]] ||
			dataset -t PARTNER -n 2 -s 2K
		scr_index -q -p p --build 1
		scr_container -q -p p pack --size 4000 1
		cp $D/rank2file top
		dataset -t PARTNER
		scr_index -q -p p --build 1
		renew p whole
		scr_container -q -p p pack --size 4000 1
		cp top $D/rank2file
		rm $D/rank2file.0.1
		all 3
		scr_container -q -p p repack 1
		all 0
		scr_container -q -p p unpack 1
		diff -r whole/ckpt.1 p/ckpt.1
	done
}

@test "33.1: a foreign top of the containers' map alters no container" {
	dataset -t XOR -s 2K -n 2
	scr_index -q -p p --build 1
	scr_container -q -p p pack --size 7000 1
	cp $D/rank2file top
	dataset -t XOR
	scr_index -q -p p --build 1
	renew p whole
	scr_container -q -p p pack --size 8K 1
	cp -a $D/.scr containers
	cp top $D/rank2file
	rm $D/.scr/ctr.2.scr
	all 3
	assert_stderr_has "rank2file: not the map of its parts: its copy was read"
	scr_rebuild -q -p p 1 || (($? == 3))
	diff -r containers $D/.scr
	scr_container -q -p p repack 1
	all 0
}

@test "33.1: packed metadata of another dataset, and both tops of the map lost" {
	dataset -t XOR
	gen -p p -n 4 -s 8K -t XOR -i 2 --seed 3
	for id in 1 2; do
		scr_index -q -p p --build $id
	done
	scr_container -q -p p pack --size 8K 2
	scr_container -q -p p pack --size 8K --with-redundancy 1
	cp -a $D/.scr containers
	cp p/.scr/scr.dataset.2/packed.1.scr $D/
	rm $D/rank2file $D/copy.rank2file
	for file in ctr red; do
		damage $D/.scr/$file.1.scr 0 XX
	done
	ends 3 scr_inspect -p p -d 1
	assert_output_has "redundancy  XOR"
	scr_container -p p repack 1 || true
	[[ $(cd $D/.scr && echo *) == "$(cd containers && echo *)" ]]
}

@test "33.1: files and checksums of an older run are no proof against newer redundancy" {
	for type in PARTNER XOR; do
		dataset -t $type --time 1600000000 --seed 5
		scr_index -q -p p --checksums --build 1
		renew p older
		dataset -t $type
		scr_index -q -p p --checksums --build 1
		cp -a older/ckpt.1/. p/ckpt.1/
		cp older/.scr/scr.dataset.1/rank2file.0.0 $D/
		rm p/.scr/flush.scr
		renew p kept
		for command in "scr_index --build 1" "scr_rebuild 1"; do
			ends 3 $command --deep --checksums -p p
			[[ $stderr == *"is unknown"* ]]
			diff -r kept p
		done
	done
}

@test "33.15: redundancy over filemaps, of another dataset or damaged: --deep and no option agree" {
	dataset -t XOR -n 2 --time 1600000000 --seed 5
	cp $D/reddescmap.er.0.*mem* older
	dataset -t XOR -n 2
	scr_index -q -p p --build 1
	cp older "$(echo $D/reddescmap.er.0.*mem*)"
	damage "$(echo $D/reddescmap.er.1.*mem*)" 700 XXXX
	: >"$(echo $D/reddesc.er.1.*mem*)"
	scr_index -q -p p --deep --checksums --build 1
	all 0
}

@test "33.12: a top and a part of an older map of containers: most files say which" {
	for damage in "rank2file copy.rank2file.0.1" "copy.rank2file rank2file.0.1" \
		"rank2file packed.1.scr"; do
		dataset -t SINGLE --seed 5
		scr_index -q -p p --checksums --build 1
		scr_container -q -p p pack --size 4000 1
		for file in $damage; do
			cp $D/$file older.$file
		done
		dataset -t SINGLE
		scr_index -q -p p --checksums --build 1
		renew p whole
		scr_container -q -p p pack --size 4000 1
		for file in $damage; do
			mv older.$file $D/$file
		done
		all 3
		ends 3 scr_index -p p --verify --deep --checksums 1
		assert_stderr_lacks lost
		scr_container -q -p p repack 1
		all 0
		scr_container -q -p p unpack 1
		diff -r whole/ckpt.1 p/ckpt.1
	done
}

@test "33.14: redundancy over filemaps of another dataset, in a set of two: the other file is right" {
	dataset -t PARTNER -n 2
	gen -p p -n 2 -s 8K -t PARTNER -i 2 --seed 3
	scr_index -q -p p --build 1
	renew p whole
	cp p/.scr/scr.dataset.2/reddescmap.er.1.*mem* $D/
	truncate -s 100 $D/rank2file.0.0
	scr_index -q -p p --deep --checksums --build 1
	all 0
	diff <(cd whole/.scr/scr.dataset.1 && sha256sum filemap_* redd*) \
		<(cd $D && sha256sum filemap_* redd*)
}
