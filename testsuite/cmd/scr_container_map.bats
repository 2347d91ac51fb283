#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2030,SC2031 # bats sets them; `try` is no subshell
# The map of a packed dataset is no single point of failure: each of its files
# has a second copy.

load helper

: "${GEN:=$BIN/../gen}" "${SHIM:=$BIN/../shim.so}"

meta=p/.scr/scr.dataset.1

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	umask 022
	"$GEN/gen_dataset" -q --prefix plain --ranks 4 --nodes 4 --files 2 \
		--size 3000,1500 --recorded-prefix /job/p -t XOR --set-size 4
	scr_index -q -p plain --build 1 --checksums
	chmod 640 plain/ckpt.1/rank_1_0.ckpt
}

# packed OPTION...: make prefix p, packed with these options.
packed()
{
	rm -rf p whole
	cp -a plain p
	scr_container -q -p p pack --size 4000 "$@" 1
	[[ -e whole ]] || {
		mkdir -p whole
		cp -a plain/ckpt.1 whole/
	}
}

# flip FILE OFFSET: damage one byte.
flip()
{
	local byte

	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	# shellcheck disable=SC2059 # the format is the byte
	printf "\\x$(printf %x $((byte ^ 0x20)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# The files of the map: the first copies.
map_files()
{
	ls $meta/rank2file $meta/rank2file.0.* $meta/packed.*.scr
}

# reads STATUS: all verbs that read work, and verify ends with this status.
reads()
{
	try scr_container -p p list 1
	assert_status 0
	assert_output_has ckpt.1/rank_3_1.ckpt
	scr_container -p p cat 1 ckpt.1/rank_2_0.ckpt 2>/dev/null |
		cmp - plain/ckpt.1/rank_2_0.ckpt
	rm -rf out
	try scr_container -p p extract -C out 1
	assert_status 0
	diff -r whole out
	try scr_container -p p verify 1
	assert_status "$1"
}

@test "a file of the map is damaged: its copy is read, and repack repairs it" {
	local file how hows

	packed --with-redundancy
	[[ $(map_files | wc -l) -eq 3 ]]
	for file in $(map_files); do
		hows=("flip $file 60" "rm $file")
		[[ -z ${SCRKIT_SLOW-} ]] ||
			hows+=("flip $file 0" "truncate -s 20 $file"
				"flip $file $(($(stat -c %s "$file") - 1))"
				"truncate -s 0 $file")
		for how in "${hows[@]}"; do
			rm -rf p.damaged
			cp -a p p.whole
			$how
			try scr_container -p p list 1
			assert_status 0
			assert_stderr_one_line "${file##*/}" "copy was read" \
				"next: scr_container -p p repack 1"
			reads 3
			assert_stderr_has "${file##*/}"
			assert_output_has "no data are missing" \
				"next: scr_container -p p repack 1"
			# A dry rebuild, inspect and the index see no loss.
			try scr_rebuild -n -p p 1
			assert_status 0
			try scr_inspect -p p 1
			[[ $status -eq 0 || $status -eq 3 ]]
			cp -a p p.damaged
			scr_container -q -p p unpack 1
			diff -r plain/ckpt.1 p/ckpt.1
			diff <(tree_stat plain/ckpt.1) <(tree_stat p/ckpt.1)
			rm -rf p
			mv p.damaged p
			scr_container -q -p p repack 1
			try scr_container -p p list 1
			assert_stderr_empty
			reads 0
			rm -rf p
			mv p.whole p
		done
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
	reads 3
	assert_output_has "no data are missing"
	assert_stderr_has "modes and times"
	cp -a p p.2
	scr_container -q -p p unpack 1
	diff -r plain/ckpt.1 p/ckpt.1
	try scr_container -p p verify 1
	assert_status 0
	rm -rf p
	mv p.2 p
	scr_container -q -p p repack 1
	reads 0
}

@test "the top file is lost, both copies: its parts tell the same" {
	for options in "" --with-redundancy; do
		# shellcheck disable=SC2086 # or none
		packed $options
		for how in "rm -f" "truncate -s 60"; do
			cp -a p p.whole
			$how $meta/rank2file $meta/copy.rank2file
			reads 3
			assert_stderr_has rank2file "its parts were read"
			assert_output_has "no data are missing" \
				"next: scr_container -p p repack 1"
			try scr_rebuild -n -p p 1
			assert_status 0
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
			# Containers can be rebuilt.
			if [[ -n $options ]]; then
				rm $meta/.scr/ctr.1.scr
				scr_rebuild -q -p p 1
				reads 0
			fi
			rm -rf p
			mv p.whole p
		done
		# With modes and times lost, too: the data are not.
		if [[ -z $options ]]; then
			rm $meta/{,copy.}rank2file $meta/{,copy.}packed.*
			reads 3
		fi
	done
}

@test "the parts of another program's map do not make a top file" {
	packed
	cp plain/.scr/scr.dataset.1/rank2file.0.0 $meta/
	rm $meta/{,copy.}rank2file{,.0.1}
	try scr_container -p p list 1
	assert_status 1
	assert_stderr_has rank2file
}

@test "a part is lost, both copies: packed.N.scr has the same tables" {
	local how=(rm -f) files options

	for options in "" --with-redundancy; do
		# shellcheck disable=SC2086 # or none
		packed $options
		cp -a p p.whole
		for files in "rank2file.0.*" "rank2file*" \
			"rank2file* $meta/packed.*"; do
			# shellcheck disable=SC2086 # patterns
			"${how[@]}" $meta/copy.rank2file* $meta/$files
			reads 3
			assert_stderr_has rank2file " read; all data are present"
			assert_output_has "no data are missing" \
				"next: scr_container -p p repack 1"
			try scr_rebuild -n -p p 1
			assert_status 0
			cp -a p p.2
			scr_container -q -p p unpack 1
			diff -r plain/ckpt.1 p/ckpt.1
			diff <(tree_stat plain/ckpt.1) <(tree_stat p/ckpt.1)
			rm -rf p
			mv p.2 p
			scr_container -q -p p repack 1
			reads 0
			assert_stderr_empty
			rm -rf p
			cp -a p.whole p
		done
		rm -rf p.whole
		how=(truncate -s 60)
	done
}

@test "... but not of another map, and not if the summary is younger" {
	packed
	cp $meta/packed.*.scr older
	scr_container -q -p p repack --size 5000 1
	rm $meta/{,copy.}rank2file.0.* $meta/copy.packed.*
	cp older "$(echo $meta/packed.*.scr)"
	try scr_container -p p list 1
	assert_status 4
	assert_stderr_has "from a backup"
	packed
	rm $meta/{,copy.}rank2file*
	touch -d "1 minute" $meta/summary.scr
	try scr_container -p p list 1
	assert_status 4
	assert_stderr_has "from a backup"
}

# Make prefix p whose map is lost, with packed.N.scr.
lost() {
	packed --with-redundancy
	rm -f $meta/{,copy.}packed.* $meta/{,copy.}rank2file*
}

@test "a part is lost, and packed.N.scr, too: that is a loss, and said" {
	packed --with-redundancy
	for how in "rm -f" "truncate -s 60"; do
		for files in "rank2file.0.*" "rank2file*"; do
			cp -a p p.whole
			# shellcheck disable=SC2086 # patterns
			$how $meta/$files $meta/copy.$files \
				$meta/{,copy.}packed.*
			was=$(tree_sha p)
			for cmd in "container list" "container verify" \
				"container unpack" "container repack" \
				"container pack" "container extract" \
				"archive export -o a.tar" rebuild inspect \
				"index --build" "index --verify" \
				"index --current"; do
				verb=${cmd#* }
				[[ $verb != "$cmd" ]] || verb=
				# shellcheck disable=SC2086 # words
				try scr_${cmd%% *} -p p $verb 1
				assert_status 4
				[[ $output$stderr == *"from a backup"* ]] ||
					failed "$cmd"
			done
			diff <(tree_sha p) - <<<"$was"
			rm -rf p
			mv p.whole p
		done
	done
}

@test "a dataset whose map is lost can be deleted, dropped and pruned" {
	local verb

	for verb in "--delete 1" "--prune --keep 1"; do
		lost
		touch p/ckpt.1/stranger
		"$GEN/gen_dataset" -q -p p -n 4 -m 1 -s 100 -i 2 --name two \
			-t SINGLE
		scr_index -q -p p --build 2
		# shellcheck disable=SC2086 # words
		try scr_index --dry-run -p p $verb
		assert_status 0
		[[ -e $meta/.scr/ctr.0.scr ]]
		# shellcheck disable=SC2086 # words
		try scr_index -p p $verb
		assert_status 0
		assert_stderr_has "its segment map is lost"
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
	"$GEN/gen_dataset" -q -p p -n 4 -m 1 -s 100 -i 2 --name two -t SINGLE
	scr_index -q -p p --build 2
	scr_index -q -p p --delete 2
	[[ -e $meta/.scr/ctr.0.scr ]]
}

@test "layout 1: a map that is lost is found again, or named" {
	local o=p/scr.dataset.1/.scr how files cmd verb

	cp -a plain p
	scr_container -q -p p pack --layout 1 --size 4000 1
	rm -rf p/.scr/scr.dataset.1 p/ckpt.1 whole
	mkdir whole
	cp -a plain/ckpt.1 whole/
	scr_index -q -p p --drop 1
	cp -a p p.whole
	for how in "rm -f" "truncate -s 60"; do
		for files in rank2file.scr rank2file.0.0.scr "rank2file*"; do
			# shellcheck disable=SC2086 # patterns
			$how $o/$files
			try scr_container -p p verify scr.dataset.1
			assert_status 3
			assert_stderr_has scr.dataset.1
			assert_output_has "repack scr.dataset.1"
			rm -rf out
			scr_container -q -p p extract -C out scr.dataset.1
			diff -r whole out
			scr_container -q -p p repack scr.dataset.1
			scr_container -p p verify scr.dataset.1
			rm -rf p
			cp -a p.whole p
		done
		for files in "rank2file*" "rank2file.0*"; do
			# As SCR 1.1.8 writes it, without packed.N.scr.
			rm $o/packed.*
			# shellcheck disable=SC2086 # patterns
			$how $o/$files
			for cmd in "container list" "container verify" \
				"container unpack" "container extract" \
				"archive export -o a.tar" inspect; do
				verb=${cmd#* }
				[[ $verb != "$cmd" ]] || verb=
				# shellcheck disable=SC2086 # words
				try scr_${cmd%% *} -p p $verb scr.dataset.1
				assert_status 4
				assert_stderr_has scr.dataset.1 rank2file \
					"from a backup"
			done
			rm -rf p
			cp -a p.whole p
		done
	done
}

@test "packed filemaps are lost, both copies: unpack and repack refuse" {
	packed --with-redundancy
	rm $meta/{,copy.}packed.*
	reads 3
	was=$(tree_sha p)
	for verb in unpack repack pack; do
		try scr_container -p p $verb 1
		assert_status 3
		assert_stderr_has "packed metadata are lost"
	done
	diff <(tree_sha p) - <<<"$was"
	scr_container -q -p p unpack -f 1
	diff -r plain/ckpt.1 p/ckpt.1
}

@test "the copy of an older map is not used for the top file of a later one" {
	local size=5000 damage verb words

	packed
	until [[ ! -e $meta/rank2file.0.0 ]]; do
		scr_container -q -p p repack --size $((size++)) 1
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
		[[ $status != 0 ]]
		[[ $stderr != *"copy was read"* ]]
	done
}

@test "the copy of an older map is not used" {
	local part=$meta/rank2file.0.0 size=5000

	packed
	until [[ -e $part ]]; do
		scr_container -q -p p repack --size $((size++)) 1
	done
	# As LLNL's library writes it over the old one: the same names.
	cp plain/.scr/scr.dataset.1/rank2file* $meta/
	try scr_container -p p list 1
	assert_status 0
	assert_output_has "not packed"
	truncate -s 30 $meta/rank2file
	try scr_container -p p list 1
	assert_status 1
	assert_stderr_has rank2file
	cp plain/.scr/scr.dataset.1/rank2file $meta/
	truncate -s 30 "$part"
	try scr_container -p p list 1
	assert_status 1
}

@test "killed while the map is switched: it is one or the other" {
	local n total

	[[ -e $SHIM ]] || skip "no fault shim"
	cp -a plain p
	rm -f count
	env LD_PRELOAD="$SHIM" SHIM_COUNT_FILE=count SHIM_PATH=rank2file \
		scr_container -q -j 1 -p p pack --size 4000 1
	total=$(cat count)
	mkdir whole
	cp -a plain/ckpt.1 whole/
	for n in $(seq "$total"); do
		rm -rf p
		cp -a plain p
		try env LD_PRELOAD="$SHIM" SHIM_KILL_AT="$n" SHIM_PATH=rank2file \
			scr_container -q -j 1 -p p pack --size 4000 1
		reads 0
		scr_container -q -p p pack --size 4000 1
		# And the copies are right: without the first ones.
		rm $meta/rank2file $meta/rank2file.0.*
		reads 3
	done
}

# The headers of the other members have all that the lost one had.
@test "the header of a packed redundancy file is damaged, and data are lost" {
	local type n total file k=

	for type in XOR RS; do
		rm -rf plain p
		[[ $type == XOR ]] || k="-k 1"
		# shellcheck disable=SC2086 # words
		"$GEN/gen_dataset" -q --prefix plain --ranks 4 --nodes 4 \
			--files 2 --size 3000,1500 --recorded-prefix /job/p \
			-t $type --set-size 4 $k
		scr_index -q -p plain --build 1 --checksums
		cp -a plain p
		scr_container -q -p p pack --size 8000 --with-redundancy 1
		file=$(scr_container -p p list 1 | sed -n 's/.*rank_2_0.ckpt  \(\S*\) .*/\1/p')
		# Of one rank the header, of another the data.
		flip $meta/.scr/red.1.scr 300
		rm "$meta/$file"
		cp -a p damaged
		rm -f count
		LD_PRELOAD=$SHIM SHIM_COUNT_FILE=count scr_rebuild -q -p p 1
		total=$(tail -n 1 count)
		((total > 10))
		for n in $(moments "$total"); do
			rm -rf p
			cp -a damaged p
			try env LD_PRELOAD="$SHIM" SHIM_KILL_AT="$n" \
				scr_rebuild -q -p p 1
			((status > 100)) || failed "$type, not killed at $n"
			try scr_rebuild -p p 1
			[[ $status == 0 ]] ||
				failed "$type, killed at $n of $total"
		done
		try scr_rebuild -p p 1
		assert_status 0
		try scr_index -p p --verify --deep --checksums
		assert_status 0
		scr_container -q -p p verify 1
		scr_container -q -p p unpack 1
		diff -r plain/ckpt.1 p/ckpt.1
		rm -rf damaged
	done
}
