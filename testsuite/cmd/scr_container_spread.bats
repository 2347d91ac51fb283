#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2012,SC2046,SC2086 # plain names, and words
# Members of a redundancy set are in different containers: the loss of any
# container can be repaired, and reports count in containers.

load helper

ctr=p/.scr/scr.dataset.1/.scr

# make TYPE OPTION...: make prefix "plain", 8 ranks in 2 sets of 4.
make() {
	rm -rf plain p
	built plain 1 --checksums -n 8 -m 4 -f 2 -s 10000,5000 \
		--recorded-prefix /job/p -t "$1" --set-size 4 "${@:2}"
	cp -a plain p
}

# each_container_can_go [NAMES]: containers are removed in turn, and rebuilt; of
# many, a sample.
each_container_can_go() {
	local one all

	renew p whole
	mapfile -t all < <(ls -v $ctr/${1-*})
	for one in $(moments ${#all[@]} 3); do
		one=${all[one - 1]}
		rm "$one"
		warns 3 "scr_rebuild" scr_container -p p verify 1
		ends 3 scr_inspect -p p 1
		scr_rebuild -q -p p 1 || failed "without $one: not rebuilt"
		ends 0 scr_container -p p verify 1
		rm -rf out
		scr_container -q -p p extract -C out 1
		diff -r plain/ckpt.1 out/ckpt.1
		renew whole
	done
}

@test "with redundancy: any container can go, also those smaller than a node's files" {
	for type in XOR PARTNER RS "XOR --ranks 7 --nodes 7"; do
		make $type
		shows "tolerates the loss of any 1 container" \
			scr_container -p p pack --with-redundancy 1
		[[ $type != *7 ]] || break
		[[ $(ls $ctr/ctr.*.scr | wc -l) -eq 4 ]]
		each_container_can_go
		shows "tolerates   the loss of any " scr_inspect -p p 1
		assert_output_lacks "of each set" "no container"
	done
	# Sets of different sizes.
	each_container_can_go
	make XOR
	for options in "pack --with-redundancy --size 12000" \
		"repack --size 20000" "repack --size 1GB"; do
		shows "tolerates the loss of any 1 container" \
			scr_container -p p $options 1
		each_container_can_go
	done
	[[ $(ls $ctr/ctr.*.scr | wc -l) -eq 4 ]]
}

# spread: do what the last command of scr_container advises.
spread() {
	[[ $way != unpack* ]] || scr_container -q -p p unpack 1
	shows "tolerates the loss of any 1 container" scr_container -p p ${way#*then } 1
}

@test "members of a set share a container: pack and inspect say so" {
	make XOR
	for options in "" "--with-redundancy --order rank" \
		"--with-redundancy --order name"; do
		renew plain
		try scr_container -p p pack -n $options 1
		assert_output_has "losing one container may lose the dataset" \
			"(pack --with-redundancy --order node spreads them)"
		shows "losing one container may lose the dataset" scr_container -p p pack $options 1
		way="unpack, then pack --with-redundancy"
		[[ -z $options ]] || way="repack --order node"
		assert_output_has "($way spreads them)"
		shows "tolerates   no loss: each of 1" scr_inspect -p p 1
		assert_output_lacks "of each set"
		spread
	done
	# Packed with its redundancy, it can be spread later.
	try scr_container -p p repack --order name --size 30000 1
	assert_output_has "repacked into" "(repack --order node spreads them)"
	spread
	each_container_can_go 'ctr.*'
}

@test "no redundancy: losing one container loses the dataset; a missing one: the command" {
	make XOR
	rm plain/.scr/scr.dataset.1/*redset plain/.scr/scr.dataset.1/filemap_*
	renew plain
	shows "losing one container loses the dataset" scr_container -p p pack 1
	ends 0 scr_container -p p --json list 1
	rm $ctr/ctr.0.scr
	ends 4 scr_container -p p verify 1
	make XOR
	scr_container -q -p p pack --with-redundancy 1
	for how in "truncate -s 100" rm; do
		$how $ctr/ctr.1.scr
		for verb in unpack repack extract; do
			complains 3 "ckpt.1;scr_" scr_container -p p $verb 1
		done
	done
	file=$(scr_container -p p list 1 | awk '/ctr.1.scr 0\+/ { print $3 }')
	ends 3 scr_container -p p cat 1 "$file"
	assert_stderr_one_line ".scr/ctr.1.scr" "ckpt.1" "scr_rebuild -p p 1"
	ends 3 scr_archive -p p export -o a.tar 1
	assert_stderr_one_line ".scr/ctr.1.scr" "scr_rebuild -p p 1"
	[[ ! -e a.tar ]]
}

