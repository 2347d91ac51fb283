#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2030,SC2031,SC2012 # bats sets them; plain names
# Members of a redundancy set are in different containers: the loss of any
# container can be repaired, and reports count in containers.

load helper

: "${GEN:=$BIN/../gen}"

ctr=p/.scr/scr.dataset.1/.scr

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	umask 022
}

# make TYPE OPTION...: make prefix "plain", 8 ranks in 2 sets of 4.
make()
{
	rm -rf plain p
	"$GEN/gen_dataset" -q --prefix plain --ranks 8 --nodes 4 --files 2 \
		--size 10000,5000 --recorded-prefix /job/p -t "$1" \
		--set-size 4 "${@:2}"
	scr_index -q -p plain --build 1 --checksums
	cp -a plain p
}

# each_container_can_go [NAMES]: each container is removed in turn, and rebuilt.
each_container_can_go()
{
	local one

	rm -rf whole
	cp -a p whole
	# shellcheck disable=SC2086 # a pattern
	for one in "$ctr"/${1-*}; do
		rm "$one"
		try scr_container -p p verify 1
		assert_status 3
		assert_output_has "scr_rebuild"
		try scr_inspect -p p 1
		assert_status 3
		scr_rebuild -q -p p 1 || failed "without $one: not rebuilt"
		try scr_container -p p verify 1
		assert_status 0
		rm -rf out
		scr_container -q -p p extract -C out 1
		diff -r plain/ckpt.1 out/ckpt.1
		rm -rf p
		cp -a whole p
	done
}

@test "with redundancy: any container can go" {
	for type in XOR PARTNER RS; do
		make $type
		try scr_container -p p pack --with-redundancy 1
		assert_status 0
		assert_output_has "tolerates the loss of any 1 container"
		[[ $(ls $ctr/ctr.*.scr | wc -l) -eq 4 ]]
		each_container_can_go
		try scr_inspect -p p 1
		assert_output_has "tolerates   the loss of any "
		assert_output_lacks "of each set" "no container"
	done
}

@test "with redundancy: containers smaller than the files of a node" {
	make XOR
	try scr_container -p p pack --with-redundancy --size 12000 1
	assert_output_has "tolerates the loss of any 1 container"
	each_container_can_go
	try scr_container -p p repack --size 20000 1
	assert_output_has "tolerates the loss of any 1 container"
	each_container_can_go
	try scr_container -p p repack --size 1GB 1
	assert_output_has "tolerates the loss of any 1 container"
	[[ $(ls $ctr/ctr.*.scr | wc -l) -eq 4 ]]
	each_container_can_go
}

@test "sets of different sizes" {
	make XOR --ranks 7 --nodes 7
	try scr_container -p p pack --with-redundancy 1
	assert_output_has "tolerates the loss of any 1 container"
	each_container_can_go
}

@test "members of a set share a container: pack and inspect say so" {
	make XOR
	for options in "" "--with-redundancy --order rank" \
		"--with-redundancy --order name"; do
		rm -rf p
		cp -a plain p
		# shellcheck disable=SC2086 # several words
		try scr_container -p p pack -n $options 1
		assert_output_has "losing one container may lose the dataset"
		case $options in
		"") assert_output_has "(--with-redundancy spreads them)" ;;
		*) assert_output_has "(--order node spreads them)" ;;
		esac
		# shellcheck disable=SC2086
		try scr_container -p p pack $options 1
		assert_status 0
		assert_output_has "losing one container may lose the dataset"
		try scr_inspect -p p 1
		assert_output_has "tolerates   no loss: each of 1"
		assert_output_lacks "of each set"
	done
	# Packed with its redundancy, it can be spread later.
	try scr_container -p p repack --order name --size 30000 1
	assert_output_has "repacked into" "(--order node spreads them)"
	try scr_container -p p repack --order node 1
	assert_output_has "tolerates the loss of any 1 container"
	each_container_can_go 'ctr.*'
}

@test "no redundancy: losing one container loses the dataset" {
	make XOR
	rm plain/.scr/scr.dataset.1/*redset plain/.scr/scr.dataset.1/filemap_*
	rm -rf p
	cp -a plain p
	try scr_container -p p pack 1
	assert_output_has "losing one container loses the dataset"
	try scr_container -p p --json list 1
	assert_status 0
	rm $ctr/ctr.0.scr
	try scr_container -p p verify 1
	assert_status 4
}

# --- A missing container ------------------------------------------------------

@test "a missing container: status 3, with the dataset and the command" {
	make XOR
	scr_container -q -p p pack --with-redundancy 1
	truncate -s 100 $ctr/ctr.1.scr
	for verb in unpack repack extract; do
		try scr_container -p p $verb 1
		assert_status 3
		assert_stderr_one_line "ckpt.1" "scr_"
	done
	rm $ctr/ctr.1.scr
	for verb in unpack repack extract; do
		try scr_container -p p $verb 1
		assert_status 3
		assert_stderr_one_line "ckpt.1" "scr_"
	done
	file=$(scr_container -p p list 1 | awk '/ctr.1.scr 0\+/ { print $3 }')
	try bash -c "scr_container -p p cat 1 '$file' >/dev/null"
	assert_status 3
	assert_stderr_one_line ".scr/ctr.1.scr" "ckpt.1" "scr_rebuild -p p 1"
	try scr_archive -p p export -o a.tar 1
	assert_status 3
	assert_stderr_one_line ".scr/ctr.1.scr" "scr_rebuild -p p 1"
	[[ ! -e a.tar ]]
}
