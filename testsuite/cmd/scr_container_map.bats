#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2059,SC2086 # words
# The map of a packed dataset is no single point of failure: each of its files
# has a second copy.

load helper

meta=p/.scr/scr.dataset.1

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	umask 022
	built plain 1 --checksums -n 4 -m 4 -f 2 -s 3000,1500 \
		--recorded-prefix /job/p -t XOR --set-size 4
	chmod 640 plain/ckpt.1/rank_1_0.ckpt
	mkdir whole
	cp -a plain/ckpt.1 whole/
	for options in "" --with-redundancy; do
		cp -a plain "packed$options"
		scr_container -q -p "packed$options" pack --size 4000 $options 1
	done
}

setup() {
	in_no_job
	ln -s "$BATS_FILE_TMPDIR"/{plain,whole} .
}

# packed [--with-redundancy]: make prefix p, packed like that.
packed() {
	renew "$BATS_FILE_TMPDIR/packed${1-}"
}

# reads STATUS: all verbs that read work, and verify ends with this status.
reads() {
	shows ckpt.1/rank_3_1.ckpt scr_container -p p list 1
	scr_container -p p cat 1 ckpt.1/rank_2_0.ckpt 2>/dev/null |
		cmp - plain/ckpt.1/rank_2_0.ckpt
	rm -rf out
	ends 0 scr_container -p p extract -C out 1
	diff -r whole out
	ends "$1" scr_container -p p verify 1
}

# outlives TEXT...: the map of p is damaged, and the data are not: all can be
# read, messages have each TEXT, unpack restores the files, and repack the map.
outlives() {
	reads 3
	assert_stderr_has "$@" "next: scr_container -p p repack 1"
	assert_output_has "no data are missing"
	# A dry rebuild, inspect and the index see no loss.
	ends 3 scr_rebuild -n -p p 1
	try scr_inspect -p p 1
	[[ $status -eq 0 || $status -eq 3 ]]
	assert_output_lacks lost
	cp -a p p.2
	scr_container -q -p p unpack 1
	diff -r plain/ckpt.1 p/ckpt.1
	diff <(tree_stat plain/ckpt.1) <(tree_stat p/ckpt.1)
	rm -rf p
	mv p.2 p
	scr_container -q -p p repack 1
	reads 0
	assert_stderr_empty
}

@test "a file of the map is damaged: its copy is read, and repack repairs it" {
	local file how cases=() more=()

	packed --with-redundancy
	for file in "$meta"/rank2file{,.0.*} "$meta"/packed.*.scr; do
		more+=("$file flip $file 0" "$file truncate -s 20 $file"
			"$file flip $file $(($(stat -c %s "$file") - 1))"
			"$file truncate -s 0 $file")
		how=("$file flip $file 60" "$file rm $file")
		((${#cases[@]} % 4 == 0)) || how=("${how[1]}" "${how[0]}")
		cases+=("${how[@]}")
	done
	((${#cases[@]} == 6))
	pick 2 "${cases[@]}"
	[[ -z ${SCRKIT_SLOW-} ]] || picked+=("${more[@]}")
	for how in "${picked[@]}"; do
		packed --with-redundancy
		read -r file how <<<"$how"
		$how
		ends 0 scr_container -p p list 1
		assert_stderr_one_line "${file##*/}" "copy was read" \
			"next: scr_container -p p repack 1"
		outlives "${file##*/}"
	done
}

@test "a copy of the map is damaged: nothing depends on it" {
	packed
	for file in "$meta"/copy.*; do
		echo rubbish >"$file"
	done
	reads 0
	assert_stderr_empty
	scr_container -q -p p unpack 1
	diff -r plain/ckpt.1 p/ckpt.1
	[[ -z $(find p -name 'copy.*') ]]
	packed
	rm $meta/copy.*
	scr_container -q -p p pack 1
	[[ $(find $meta -name 'copy.*' | wc -l) -eq 3 ]]
	reads 0
}

@test "modes and times are lost, both copies: the data are not" {
	packed
	for file in "$meta"/{,copy.}packed.*; do
		echo rubbish >"$file"
	done
	cp -a p p.2
	out_has "no data are missing" reads 3
	assert_stderr_has "modes and times"
	scr_container -q -p p unpack 1
	diff -r plain/ckpt.1 p/ckpt.1
	ends 0 scr_container -p p verify 1
	rm -rf p
	mv p.2 p
	scr_container -q -p p repack 1
	reads 0
	# The top file as well.
	packed
	rm $meta/{,copy.}rank2file $meta/{,copy.}packed.*
	reads 3
}

# The parts have what the top file has, and packed.N.scr has the same tables.
@test "the top file or a part is lost, both copies: others tell the same" {
	local options how files cases=()

	for options in "" --with-redundancy; do
		for how in "rm -f" "truncate -s 60"; do
			for files in rank2file "rank2file.0.*" "rank2file*" \
				"rank2file* $meta/packed.*"; do
				cases+=("$options|$how|$files")
			done
		done
	done
	pick 3 "${cases[@]}"
	for one in "${picked[@]}"; do
		IFS='|' read -r options how files <<<"$one"
		packed $options
		if [[ $files == rank2file ]]; then
			$how $meta/{,copy.}rank2file
			outlives rank2file "its parts were read"
		else
			$how $meta/copy.rank2file* $meta/$files
			outlives rank2file " read; all data are present"
		fi
		# Containers can be rebuilt.
		if [[ -n $options ]]; then
			rm $meta/.scr/ctr.1.scr
			scr_rebuild -q -p p 1
			reads 0
		fi
	done
}

@test "the parts of another program's or another map do not make a top file, nor old ones" {
	packed
	cp plain/.scr/scr.dataset.1/rank2file.0.0 $meta/
	rm $meta/{,copy.}rank2file{,.0.1}
	warns 1 rank2file scr_container -p p list 1
	packed
	cp $meta/packed.*.scr older
	scr_container -q -p p repack --size 5000 1
	rm $meta/{,copy.}rank2file.0.* $meta/copy.packed.*
	cp older "$(echo $meta/packed.*.scr)"
	warns 4 "from a backup" scr_container -p p list 1
	packed
	rm $meta/{,copy.}rank2file*
	touch -d "1 minute" $meta/summary.scr
	warns 4 "from a backup" scr_container -p p list 1
}

# Make prefix p whose map is lost, with packed.N.scr.
lost() {
	packed --with-redundancy
	rm -f $meta/{,copy.}packed.* $meta/{,copy.}rank2file*
}

@test "a part is lost, and packed.N.scr, too: that is a loss, and said" {
	local how files verb

	pick 2 "rm -f|rank2file.0.*" "rm -f|rank2file*" \
		"truncate -s 60|rank2file*" "truncate -s 60|rank2file.0.*"
	for one in "${picked[@]}"; do
		IFS='|' read -r how files <<<"$one"
		packed --with-redundancy
		$how $meta/$files $meta/copy.$files $meta/{,copy.}packed.*
		was=$(tree_sha p)
		for verb in "container list" "container verify" \
			"container unpack" "container repack" "container pack" \
			"container extract" "archive export -o a.tar" rebuild \
			inspect "index --build" "index --verify" "index --current"; do
			named_a_loss "$verb" 1
		done
		diff <(tree_sha p) - <<<"$was"
	done
}

# named_a_loss VERB DATASET: it ends with 4 and advises a backup.
named_a_loss() {
	local verb=${1#* }

	[[ $verb != "$1" ]] || verb=
	ends 4 scr_${1%% *} -p p $verb "$2"
	[[ $output$stderr == *"from a backup"* ]] || failed "$1"
}

@test "a dataset whose map is lost can be deleted, dropped and pruned" {
	local verb

	for verb in "--delete 1" "--prune --keep 1"; do
		lost
		touch p/ckpt.1/stranger
		built p 2 -n 4 -m 1 -s 100 --name two -t SINGLE
		ends 0 scr_index --dry-run -p p $verb
		[[ -e $meta/.scr/ctr.0.scr ]]
		warns 0 "its segment map is lost" scr_index -p p $verb
		[[ ! -e $meta && -e p/ckpt.1/stranger ]]
		scr_index -q -p p --verify --checksums 2
		[[ $(scr_index -p p --names-only) == two ]]
	done
	lost
	scr_index -q -p p --drop 1
	[[ -z $(scr_index -p p --names-only) ]]
	scr_index -q -p p --delete id:1
	[[ ! -e $meta ]]
	# And it keeps none of the others from being deleted.
	lost
	built p 2 -n 4 -m 1 -s 100 --name two -t SINGLE
	scr_index -q -p p --delete 2
	[[ -e $meta/.scr/ctr.0.scr ]]
}

@test "layout 1: a map that is lost is found again, or named" {
	local o=p/scr.dataset.1/.scr how files verb

	cp -a plain/ one
	scr_container -q -p one pack --layout 1 --size 4000 1
	rm -rf one/.scr/scr.dataset.1 one/ckpt.1
	scr_index -q -p one --drop 1
	pick 2 "rm -f|rank2file.scr" "truncate -s 60|rank2file.scr" \
		"truncate -s 60|rank2file.0.0.scr" "rm -f|rank2file.0.0.scr" \
		"rm -f|rank2file*" "truncate -s 60|rank2file*"
	for one in "${picked[@]}"; do
		IFS='|' read -r how files <<<"$one"
		rm -rf p out
		cp -a one p
		$how $o/$files
		warns 3 scr.dataset.1 scr_container -p p verify scr.dataset.1
		assert_stderr_has "repack scr.dataset.1"
		scr_container -q -p p extract -C out scr.dataset.1
		diff -r whole out
		scr_container -q -p p repack scr.dataset.1
		scr_container -p p verify scr.dataset.1
	done
	pick 2 "rm -f|rank2file*" "truncate -s 60|rank2file*" \
		"truncate -s 60|rank2file.0*" "rm -f|rank2file.0*"
	for one in "${picked[@]}"; do
		IFS='|' read -r how files <<<"$one"
		renew one
		# As SCR 1.1.8 writes it, without packed.N.scr.
		rm $o/packed.*
		$how $o/$files
		for verb in "container list" "container verify" \
			"container unpack" "container extract" \
			"archive export -o a.tar" inspect; do
			named_a_loss "$verb" scr.dataset.1
			assert_stderr_has scr.dataset.1 rank2file
		done
	done
}

@test "packed filemaps are lost, both copies: unpack and repack refuse" {
	for how in "truncate -s 50" rm; do
		packed --with-redundancy
		$how $meta/{,copy.}packed.*
		reads 3
		assert_stderr_one_line "packed."
		was=$(tree_sha p)
		for verb in unpack repack pack; do
			warns 3 "packed." scr_container -p p $verb 1
		done
		diff <(tree_sha p) - <<<"$was"
		complains 0 "packed." scr_container -p p list 1
	done
	warns 3 "packed metadata are lost" scr_container -p p unpack 1
	scr_container -q -p p unpack -f 1
	diff -r plain/ckpt.1 p/ckpt.1
}

@test "the copy of an older map is not used for the top file or another part of a later one" {
	local part=$meta/rank2file.0.0 size=5000 damage verb words

	packed
	until [[ ! -e $part ]]; do
		scr_container -q -p p repack --size $((size += 1000)) 1
	done
	# As LLNL's library writes another dataset over it.
	cp plain/.scr/scr.dataset.1/rank2file* $meta/
	for damage in "truncate -s 30" rm; do
		$damage $meta/rank2file
		for verb in list verify "extract -C out" "unpack --force"; do
			read -ra words <<<"$verb"
			try scr_container -p p "${words[@]}" 1
			[[ $status != [03] ]] || failed "$verb: status"
			[[ ! -e out ]] || failed "$verb: old data"
		done
		try scr_index -p p --verify 1
		[[ $status != 0 && $stderr != *"copy was read"* ]]
	done
	packed
	until [[ -e $part ]]; do
		scr_container -q -p p repack --size $((size += 1000)) 1
	done
	# As LLNL's library writes it over the old one: the same names.
	cp plain/.scr/scr.dataset.1/rank2file* $meta/
	shows "not packed" scr_container -p p list 1
	truncate -s 30 $meta/rank2file
	warns 1 rank2file scr_container -p p list 1
	cp plain/.scr/scr.dataset.1/rank2file $meta/
	truncate -s 30 "$part"
	ends 1 scr_container -p p list 1
}
