#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2164 # plain names
# What can be recovered is not given up: redundancy lost or damaged beside whole
# data, packed or not; filemaps lost beside rank2file.

load helper

D=p/.scr/scr.dataset.1

# Make p: $1 ranks, redundancy $2, in the index with checksums.
make() {
	gen=(-q -p p -n "$1" -f 2 -t "$2" -s "5K,300")
	gen "${gen[@]}"
	scr_index -q -p p --build 1 --checksums
	cp -a p whole
}

# All files have their bytes, modes and times, and the redundancy fits them.
same() {
	gen "${gen[@]}" --check
	ends 0 scr_index -p p --verify --deep --checksums 1
}

# The same with filemaps and redundancy in containers.
make_packed() {
	make "$@"
	scr_container -q -p p pack --with-redundancy --size 6000 1
	cp -a p packed
}

# What is lost, without more than the scheme restores of data.
@test "headers of neighbours, or more filemaps than the scheme restores, are lost: computed again" {
	while IFS='|' read -r types lost; do
		for type in $types; do
			make 6 "$type"
			(cd "$D" && eval "$lost")
			ends 3 scr_inspect -p p 1
			scr_index -q -p p --build 1
			same
			# New filemaps and their redundancy are like others.
			rm "$D"/filemap_3 p/ckpt.1/rank_3_0.ckpt
			scr_rebuild -q -p p 1
			same
			rm -rf p whole
		done
	done <<-'END'
		XOR RS PARTNER|truncate -s 0 *.er.[123].*mem_*
		XOR RS PARTNER|rm filemap_[1234] ../../ckpt.1/rank_2_*
	END
}

@test "all filemaps are lost" {
	make 6 XOR
	rm "$D"/*map* p/ckpt.1/rank_2_*
	scr_index -q -p p --build 1
	gen "${gen[@]}" --check
}

@test "containers of redundancy are lost, the data whole: unpack, computed again" {
	make_packed 6 XOR
	rm "$D"/.scr/red.*
	complains 0 "12 redundancy files were lost" scr_container -p p unpack 1
	diff -r p/ckpt.1 whole/ckpt.1
	scr_rebuild -q -p p --protect xor 1
	rm p/ckpt.1/rank_2_*
	scr_index -q -p p --build 1
	diff -r p/ckpt.1 whole/ckpt.1
	rm -r p whole packed
	make_packed 6 XOR
	for lost in 'red.*' 'red.0.scr' 'red.[12].scr'; do
		renew packed
		# shellcheck disable=SC2086 # a pattern
		(cd "$D/.scr" && rm $lost)
		warns 3 "scr_rebuild" scr_container -p p verify 1
		ends 0 scr_rebuild -p p --deep 1
		ends 0 scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt
		ends 0 scr_rebuild -p p --deep --dry-run 1
		rm "$D/.scr/ctr.1.scr"
		ends 0 scr_rebuild -p p 1
		scr_container -q -p p unpack 1
		diff -r p/ckpt.1 whole/ckpt.1
	done
}

# sound: nothing is wrong, for anybody.
sound() {
	ends 0 scr_container -p p verify 1
	assert_stderr_empty
	ends 0 scr_index -p p --verify --deep --checksums 1
	assert_stderr_empty
	[[ ! -e $D/rebuild.scr ]]
}

@test "computed again over packed filemaps: what comes after is right" {
	for type in XOR RS PARTNER; do
		make_packed 6 $type
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
		try scr_container -p p pack --with-redundancy 1
		assert_output_has "is packed already"
		sound
		rm "$D/.scr/ctr.2.scr"
		scr_rebuild -q -p p 1
		sound
		# Unpack: nothing is said to be lost.
		ends 0 scr_container -p p unpack 1
		assert_stderr_empty
		diff -r p/ckpt.1 whole/ckpt.1
		sound
		rm p/ckpt.1/rank_3_* "$D"/filemap_3
		scr_index -q -p p --build 1
		diff -r p/ckpt.1 whole/ckpt.1
		# Delete leaves nothing.
		renew packed
		scr_index -q -p p --delete 1
		[[ ! -e $D && ! -e p/ckpt.1 ]]
		rm -rf p whole
	done
}

@test "the same, killed at any moment, and run again" {
	make_packed 4 XOR
	rm "$D"/.scr/red.*
	renew p packed
	operations scr_rebuild -q -j 1 -p p 1
	for n in $(moments "$total"); do
		renew packed
		try env LD_PRELOAD="$SHIM" SHIM_KILL_AT="$n" \
			scr_rebuild -q -j 1 -p p 1
		scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt |
			cmp - whole/ckpt.1/rank_0_0.ckpt
		scr_rebuild -q -p p 1
		sound
	done
}

@test "a rebuild that was interrupted blocks only what it wrote" {
	make_packed 6 RS
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
	scr_container -q -p p unpack 1
	diff -r p whole
}

@test "packed redundancy that is damaged is known by its checksum, and rebuilds no data" {
	make_packed 6 XOR
	for red in "$D"/.scr/red.*; do
		renew packed
		for ((at = 700; at < $(stat -c %s "$red"); at += 1500)); do
			flip "$red" $at
		done
		ends 0 scr_rebuild -p p --deep 1
		ends 0 scr_container -p p verify 1
		scr_container -q -p p unpack 1
		same
		rm -rf p
	done
	rm -r whole packed
	make_packed 6 RS
	renew packed
	# The bodies of the redundancy files are at their ends.
	flip "$D/.scr/red.0.scr" 5200
	rm "$D/.scr/ctr.2.scr"
	ends 0 scr_rebuild -p p 1
	scr_container -q -p p unpack 1
	diff -r p/ckpt.1 whole/ckpt.1
}

@test "all filemaps and the summary are lost: the index tells of rank2file" {
	for type in XOR RS PARTNER SINGLE; do
		make 6 $type
		rm "$D"/filemap_* "$D"/summary.scr
		ends 3 scr_index -p p --verify 1
		scr_index -q -p p --build 1
		gen "${gen[@]}" --check
		scr_index -p p --verify --checksums 1
		rm -r p whole
	done
	# In containers.
	make 6 XOR
	scr_container -q -p p pack 1
	rm "$D"/filemap_[0-4] "$D"/summary.scr
	ends 3 scr_index -p p --verify 1
	scr_index -q -p p --build 1
	scr_container -q -p p unpack 1
	gen "${gen[@]}" --check
	# Not if it is another dataset that the index has, or none.
	for index in another none; do
		rm -r p
		cp -a whole p
		rm "$D"/filemap_* "$D"/summary.scr
		if [[ $index == none ]]; then
			rm p/.scr/index.scr
		else
			built q 1 -n 6 --time 1800000000
			cp q/.scr/index.scr p/.scr
		fi
		ends 1 scr_index -p p --build 1
	done
}

@test "more filemaps are lost than the scheme restores: headers have the names" {
	for type in XOR RS; do
		make 6 $type
		rm "$D"/filemap_[1234] "$D"/rank2file* "$D"/summary.scr
		ends 3 scr_inspect -p p 1
		scr_index -q -p p --build 1
		same
		diff -r p/ckpt.1 whole/ckpt.1
		# With one of these files missing nothing tells where it was.
		rm "$D"/filemap_[1234] "$D"/rank2file* "$D"/summary.scr
		rm p/ckpt.1/rank_2_0.ckpt
		ends 1 scr_index -p p --build 1
		rm -rf p whole
	done
}

@test "the same without redundancy: the data are whole" {
	make 4 SINGLE
	rm "$D"/filemap_[12] "$D"/rank2file*
	ends 3 scr_index -p p --verify 1
	scr_index -q -p p --build 1
	ends 0 scr_index -p p --verify 1
	assert_stderr_empty
	rm "$D"/filemap_[03]
	ends 0 scr_inspect -p p 1
	rm p/ckpt.1/rank_2_0.ckpt
	ends 4 scr_inspect -p p 1
}
