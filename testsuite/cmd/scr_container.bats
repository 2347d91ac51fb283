#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2030,SC2031 # bats sets them; `try` is no subshell

load helper

: "${GEN:=$BIN/../gen}" "${SHIM:=$BIN/../shim.so}"

# Most tests use dataset 1 on prefix p: its metadata, its containers.
meta=p/.scr/scr.dataset.1
ctr=$meta/.scr

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	umask 022
}

# --- Datasets ----------------------------------------------------------------

# make NAME OPTION...: make dataset 1 on prefix NAME, 8 ranks on 4 nodes, as
# after a scavenge and `scr_index --build`, with various modes and owners.
make() {
	local at=$1/ckpt.1

	"$GEN/gen_dataset" -q --prefix "$1" --nodes-dir "$1.nodes" \
		--ranks 8 --nodes 4 --size 10000,5000 --files 2 \
		--recorded-prefix /job/p "${@:2}"
	chmod 600 "$at/rank_1_0.ckpt"
	chmod 755 "$at/rank_2_0.ckpt"
	chmod 444 "$at/rank_3_0.ckpt"
	scr_index -q -p "$1" --build 1
}

# Write the tree on stdin, as printed by scr_inspect, to metadata file $1.
craft() {
	"$GEN/gen_craft" --output "$1"
}

# change FILE KEY OLD NEW: change the value of a key in a metadata file.
change() {
	edit "$1" sed "/^ *$2\$/{n;s|^\\( *\\)$3\$|\\1$4|}"
}

# edit FILE COMMAND...: filter the tree of a metadata file through a command.
edit() {
	local tree

	tree=$(scr_inspect -m tree "$1" | "${@:2}")
	craft "$1" <<<"$tree"
}

# Print the line of a tree that stands for a path.
escaped() {
	local path=${1//\\/\\\\}

	printf '%s\n' "${path//$'\n'/\\n}"
}

# files ROOT SIZE=PATH...: make files of these sizes below ROOT/, one for each
# rank, and dataset 1 of them, "few".  Its map has no sizes and the layout of
# SCR 3.
files() {
	local root=$1 dir=$1/.scr/scr.dataset.1

	shift
	mkdir -p "$dir"
	rank_files "$root" "$@" | craft "$dir/rank2file.0.0"
	top "$#" .0.0 | craft "$dir/rank2file"
	craft "$root/.scr/index.scr" <<-'END'
		  VERSION
		    2
		  NAME
		    few
		      DSET
		        1
		  DSET
		    1
		      COMPLETE
		        1
		      FLUSHED
		        2026-11-21T16:00:00
		      DSET
		        ID
		          1
		        NAME
		          few
		        COMPLETE
		          1
	END
}

# The same in the layout of SCR 1.1.8; ROOT is the dataset's directory.
old_files() {
	local root=$1 dir=$1/.scr

	shift
	mkdir -p "$dir"
	rank_files "$root" "$@" | craft "$dir/rank2file.0.0.scr"
	top "$#" .scr/rank2file.0.0.scr | craft "$dir/rank2file.scr"
}

# Write the top file of a map: ranks, name of the part.
top() {
	printf '  RANKS\n    %d\n  LEVEL\n    1\n  RANK\n    0\n' "$1"
	printf '      OFFSET\n        0\n      FILE\n        %s\n' "$2"
}

rank_files() {
	local root=$1 rank=0 spec path

	shift
	printf '  RANKS\n    %d\n  LEVEL\n    0\n  RANK\n' "$#"
	for spec; do
		path=$root/${spec#*=}
		mkdir -p "${path%/*}"
		yes "${spec#*=}" | head -c "${spec%%=*}" >"$path"
		printf '    %d\n      FILE\n        %s\n' "$rank" \
			"$(escaped "${spec#*=}")"
		rank=$((rank + 1))
	done
}

# --- State of a prefix -------------------------------------------------------

# All files below a prefix except the map: contents, modes, owners, times.
state() {
	tree_sha "$1" | grep -v '/rank2file'
	tree_stat "$1" | grep -v '/rank2file'
}

# Names of all files below a prefix, without the numbers of parts.
names() {
	find "$1" -mindepth 1 -printf '%P\n' |
		sed -E 's/(rank2file\.0|packed)\.[0-9]+/\1.N/' | sort
}

# assert_state WAS: prefix p is unchanged.
assert_state() {
	diff - <(state p) <<<"$1"
}

# flip FILE OFFSET: damage one byte.
flip() {
	local byte

	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	# shellcheck disable=SC2059 # the format is the byte
	printf "\\x$(printf %x $((byte ^ 0x20)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# The output is JSON, and (if jq is installed) filter $1 prints $2.
assert_json() {
	if command -v jq >/dev/null; then
		diff <(echo "$2") <(jq -rc "$1" <<<"$output")
	elif command -v python3 >/dev/null; then
		python3 -m json.tool <<<"$output" >/dev/null
	fi
}

# containers_are SIZE FILE...: the containers hold the bytes of these files in
# that order.
containers_are() {
	local size=$1 i=0 piece

	shift
	rm -rf want
	mkdir want
	cat -- "$@" | split -b "$size" -d -a 4 - want/
	for piece in want/*; do
		cmp "$piece" "$ctr/ctr.$i.scr"
		i=$((i + 1))
	done
	[ ! -e "$ctr/ctr.$i.scr" ]
}

# --- Usage -------------------------------------------------------------------

@test "usage errors: no verb, a wrong one, no dataset, no file" {
	try scr_container
	assert_usage_error "no verb given" pack unpack list cat extract verify \
		export import
	try scr_container squeeze 1
	assert_usage_error squeeze "not one of pack, unpack, "
	try scr_container -p p unpak 1
	assert_usage_error "unpak: no such verb; did you mean unpack?"
	for verb in pack unpack list verify cat extract; do
		try scr_container $verb
		assert_usage_error "no dataset given"
	done
	try scr_container cat 1
	assert_usage_error "no file given" "list 1"
	try scr_container pack --nonsense 1
	assert_usage_error nonsense
}

@test "usage errors: options that do not go with the verb" {
	for option in --size=5:pack --order=rank:pack --with-redundancy:pack \
		--keep:pack --dry-run:pack,unpack --force:unpack,extract \
		--fast:verify --directory=x:extract \
		--json:pack,unpack,list,extract,verify; do
		for verb in pack unpack list cat extract verify; do
			[[ ,${option#*:}, != *,$verb,* ]] || continue
			try scr_container $verb "${option%:*}" 1 x
			name=${option%:*}
			assert_usage_error \
				"${name%=*} cannot be used with $verb"
		done
	done
}

@test "usage errors: values that make no sense" {
	for option in --size=0 --size=x --size=-1 --order=size --jobs=0 \
		--memory=1K --size=99999999999999999999; do
		try scr_container pack $option 1
		assert_usage_error "${option%=*}"
	done
}

@test "--dump-paths: for completions, the files that begin so" {
	make p
	scr_container pack -q -p p 1
	[ "$(scr_container list -p p --dump-paths= 1 | wc -l)" -eq 16 ]
	[ "$(scr_container list -p p --dump-paths=ckpt.1/rank_3 1 | sort)" = \
		"$(printf 'ckpt.1/rank_3_%s.ckpt\n' 0 1)" ]
	[ -z "$(scr_container list -p p --dump-paths=x 1)" ]
	try scr_container cat -p p 1 --dump-paths=x y
	assert_usage_error "--dump-paths cannot be used with cat"
}

@test "--help and --version exit 0" {
	try scr_container --help
	assert_status 0
	assert_output_has "Usage: scr_container pack" --with-redundancy \
		"Exit status"
	run awk 'length > 79' <<<"$output"
	assert_output_is ""
	try scr_container --version
	assert_status 0
}

@test "missing datasets and files: one line, exit 1" {
	mkdir -p p/.scr
	for verb in pack unpack list verify; do
		try scr_container -p p $verb 1
		assert_status 1
		assert_output_is ""
		assert_stderr_one_line "1: no dataset of this name or number"
	done
	try scr_container -p p list nothing
	assert_status 1
	assert_stderr_has nothing
	try scr_container -p nowhere list 1
	assert_status 1
	assert_stderr_one_line nowhere
	try scr_container --json -p p list nothing
	assert_status 1
	assert_json .datasets "[]"
}

@test "a dataset that was not indexed: an error with advice" {
	"$GEN/gen_dataset" -q --prefix p --ranks 2
	for verb in pack unpack list verify "extract -C out" cat; do
		# shellcheck disable=SC2086 # words
		try scr_container -p p $verb 1 x
		assert_status 1
		assert_output_is ""
		assert_stderr_has "rank2file" "scr_index -p p --build 1"
	done
	[ ! -e out ]
	[ ! -e $ctr ]
}

@test "several datasets: all are worked on, the exit status is the worst" {
	make p
	make p --id 2 --name ckpt.2
	scr_index -q -p p --build 2
	try scr_container -p p pack --size 10KB 1 nothing ckpt.2
	assert_status 1
	assert_output_has "ckpt.1: 16 files" "ckpt.2: 16 files"
	assert_stderr_has nothing
	rm p/.scr/scr.dataset.2/.scr/ctr.0.scr
	try scr_container -p p verify 2 1
	[ "$status" -eq 3 ] || [ "$status" -eq 4 ]
	assert_output_has "ckpt.1: whole" "ckpt.2: damaged"
	# A file that cannot be read is worse than damage.
	scr_container -q -p p unpack 1
	rm p/ckpt.1/rank_0_0.ckpt
	try scr_container -p p pack 1 nothing
	assert_status 1
	try scr_container -p p pack nothing 1
	assert_status 1
}

# --- Round trips -------------------------------------------------------------

# round OPTION...: pack p, check it in every way, unpack it.
round() {
	local was path

	was=$(state p)
	rm -rf out whole
	cp -a p whole
	try scr_container -p p pack "$@" 1
	assert_status 0
	[ -z "$stderr" ] ||
		assert_stderr_one_line "the next job restarts from it"
	assert_output_has packed
	[ -z "$(find p -path 'p/.scr' -prune -o -type f -size +0 -print)" ]
	[ -z "$(find p -name '.scrkit*')" ]
	try scr_container -p p verify 1
	assert_status 0
	assert_stderr_empty
	assert_output_has "whole: "
	try scr_container -p p extract -C out 1
	assert_status 0
	diff -r -x .scr whole out
	try scr_container -p p unpack 1
	assert_status 0
	assert_stderr_empty
	assert_output_has unpacked
	assert_state "$was"
}

@test "sizes and orders: all files are restored" {
	make p
	for size in 997 10000 64KB 1GB; do
		for order in node rank name; do
			round --size $size --order $order
		done
	done
}

@test "with redundancy: metadata files come back as well" {
	for type in XOR RS PARTNER SINGLE; do
		rm -rf p p.nodes
		make p --type $type
		touch -d @1234567890.123456789 $meta/filemap_2
		chmod 640 $meta/reddesc.er.3.redset
		for size in 999 100KB; do
			round --size $size --with-redundancy
		done
	done
}

@test "with redundancy: what is packed, and where" {
	make p
	count=$(find $meta -name 'reddesc*' -o -name 'filemap_*' | wc -l)
	try scr_container -p p pack --with-redundancy --size 20000 1
	assert_output_has "packed into " " containers, metadata too"
	[ -z "$(find $meta -name 'reddesc*' -o -name 'filemap_*')" ]
	[ -e $ctr/ctr.0.scr ]
	[ -e $ctr/red.0.scr ]
	try scr_container -p p list 1
	assert_output_has "$count metadata files packed too" .scr/red.0.scr
	# Data are readable without their redundancy.
	rm $ctr/red.*
	scr_container -p p extract -C out 1
	[ -e out/ckpt.1/rank_7_1.ckpt ]
}

@test "a dataset without redundancy; a dataset with nothing but one byte" {
	make p --type NONE
	round --size 5000
	round --size 5000 --with-redundancy
	rm -rf p
	files p 1=x
	round --size 1
	round
}

@test "checksums are recorded, and were before: --checksums" {
	make p
	scr_index -q -p p --build 1 --checksums
	before=$(scr_inspect --sort -m keyval $meta/rank2file.0.*)
	scr_container -q -p p pack --size 12345 1
	scr_container -q -p p unpack 1
	diff <(echo "$before") <(scr_inspect --sort -m keyval $meta/rank2file.0.*)
}

@test "the string: files end to end, cut at the size" {
	files p 100=d/b 250=d/a 0=d/e 1=d/c 300=a/z
	scr_container -q -p p pack --keep --size 64 1
	containers_are 64 p/d/b p/d/a p/d/c p/a/z
	rm -rf p
	files p 100=d/b 250=d/a 0=d/e 1=d/c 300=a/z
	scr_container -q -p p pack --keep --size 64 --order name 1
	containers_are 64 p/a/z p/d/a p/d/b p/d/c
	rm -rf p
	files p 100=d/b 250=d/a 0=d/e 1=d/c 300=a/z
	scr_container -q -p p pack --keep --size 64 --order rank 1
	containers_are 64 p/d/b p/d/a p/d/c p/a/z
}

@test "the string: order of nodes" {
	# The ranks in the order of their bytes.
	ranks() {
		scr_container -p p list 1 |
			sed -nE 's/^ *([0-9]+) .*ctr\.0\.scr ([0-9]+)\+.*/\2 \1/p' |
			sort -n | cut -d " " -f 2 | uniq | xargs
	}
	make p --cyclic
	scr_container -q -p p pack --size 1MB 1
	run ranks
	assert_output_is "0 4 1 5 2 6 3 7"
	scr_container -q -p p unpack 1
	scr_container -q -p p pack --size 1MB --order rank 1
	run ranks
	assert_output_is "0 1 2 3 4 5 6 7"
}

@test "files that end at the border of a container, or a byte beside it" {
	size=1000
	for first in 1 499 999 1000 1001; do
		rm -rf p
		files p $first=f0 999=f1 1000=f2 1001=f3 1=f4 1999=f5 2000=f6 \
			2001=f7 0=f8 3000=f9
		cp -a p same
		scr_container -q -p p pack --keep --size $size 1
		containers_are $size p/f?
		rm -rf p
		mv same p
		round --size $size
	done
}

@test "containers of one byte: of few bytes yes, of many no" {
	files p 3=a 0=b 7=c
	round --size 1
	scr_container -q -p p pack --size 1 1
	[ "$(find $ctr -name 'ctr.*.scr' -size 1c | wc -l)" -eq 10 ]
	rm -rf p
	files p 10=a
	truncate -s 17000000 p/a
	was=$(state p)
	try scr_container -p p pack --size 1 1
	assert_status 2
	assert_stderr_one_line "17000000 containers" "use a larger size"
	assert_state "$was"
}

@test "one container for all: by default" {
	make p
	size=$(cat p/ckpt.1/* | wc -c)
	scr_container -q -p p pack 1
	run ls $ctr
	assert_output_is ctr.0.scr
	[ "$(stat -c %s $ctr/ctr.0.scr)" -eq "$size" ]
	try scr_container -p p list 1
	assert_output_has "in 1 container of 100.0 GiB"
}

@test "names with blanks, newlines and worse" {
	names=("a b" $'new\nline' " blank first" "last " 'back\slash' "Zürich"
		$'tab\tin' "*" "-n" "deep/er/and er/x" $'\x01\xff' "\$(id)" "'")
	specs=()
	for name in "${names[@]}"; do
		specs+=("$((RANDOM % 500 + 1))=dir/$name")
	done
	files p "${specs[@]}"
	cp -a p whole
	round --size 333
	scr_container -q -p p pack --size 333 1
	for name in "${names[@]}"; do
		scr_container -p p cat 1 "dir/$name" | cmp - "whole/dir/$name"
	done
	# One line for each file, whatever its name.
	try scr_container -p p list 1
	[ "$(grep -c ' dir/' <<<"$output")" -eq "${#names[@]}" ]
	assert_output_has 'new\nline' 'tab\tin' '\x01\xff' 'back\\slash'
	try scr_container -p p --json list 1
	assert_json '.datasets[0].packed_files | length' "${#names[@]}"
	assert_json '.datasets[0].packed_files[1].path' $'dir/new\nline'
}

@test "empty files: no segment, and whole with or without a file" {
	files p 0=a 10=b 0=c/d
	round --size 4
	scr_container -q -p p pack --size 4 1
	[ -e p/a ]
	[ -e p/c/d ]
	rm -r p/a p/c
	try scr_container -p p verify 1
	assert_status 0
	try scr_container -p p cat 1 a
	assert_status 0
	assert_output_is ""
	scr_container -q -p p extract -C empty 1 c/d
	[ -f empty/c/d ]
	scr_container -q -p p unpack 1
	[ -f p/a ]
	[ -f p/c/d ]
	[ ! -s p/a ]
	# Only empty files; no files at all.
	rm -rf p
	files p 0=a 0=b
	round
	rm -rf p
	files p
	try scr_container -p p pack 1
	assert_status 0
	try scr_container -p p unpack 1
	assert_status 0
	assert_stderr_empty
}

@test "more than 8192 ranks: several parts; ranks without files" {
	"$GEN/gen_dataset" -q --prefix p --type NONE --ranks 8200 --nodes 100 \
		--size 10
	rm p/.scr/scr.dataset.1/filemap_*
	rm p/ckpt.1/rank_*
	specs=()
	for i in {0..9}; do
		specs+=("100=f$i")
	done
	files q "${specs[@]}"
	# The files belong to ranks 8190 to 8199; the other ranks have none.
	for part in 0 8192; do
		{
			printf '  RANKS\n    8200\n  LEVEL\n    0\n  RANK\n'
			for ((i = part; i < 8200 && i < part + 8192; i++)); do
				printf '    %d\n      FILES\n' $i
				if ((i < 8190)); then
					printf '        0\n'
				else
					printf '        1\n      FILE\n        f%d\n' \
						$((i - 8190))
				fi
			done
		} | craft "q/.scr/scr.dataset.1/rank2file.0.$part"
	done
	{
		top 8200 .0.0
		printf '    8192\n      OFFSET\n        0\n      FILE\n        .0.8192\n'
	} | craft q/.scr/scr.dataset.1/rank2file
	rm -rf p
	mv q p
	round --size 333
	round --size 333 --with-redundancy
}

@test "the layout of SCR 1.1.8, by directory" {
	old_files p/old 100=a 0=b 250="d/c c" 1=e
	cp -a p whole
	try scr_container -p p pack --size 64 old
	assert_status 0
	assert_stderr_empty
	[ "$(find p/old -type f -size +0 -not -path '*/.scr/*')" = "" ]
	[ "$(find p/old/.scr -name 'ctr.?.scr' | wc -l)" -eq 6 ]
	[ "$(find p/old/.scr -name '*.scr' -prune -o -type f -print)" = "" ]
	try scr_container -p p verify old
	assert_status 0
	scr_container -p p cat old "d/c c" | cmp - "whole/old/d/c c"
	try scr_container -p p pack --with-redundancy old
	assert_status 0
	assert_output_has "is packed already"
	try scr_container -p p unpack old
	assert_status 0
	diff -r -x 'rank2file*' whole p
	diff <(tree_stat whole | grep -v rank2file) \
		<(tree_stat p | grep -v rank2file)
	try scr_container -p p pack --with-redundancy old
	assert_status 2
	assert_stderr_one_line "no redundancy"
	diff -r -x 'rank2file*' whole p
}

@test "the prefix may move while it is packed" {
	make p
	was=$(state p)
	scr_container -q -p p pack --size 9999 --with-redundancy 1
	mv p q
	ln -s q link
	try env SCR_PREFIX=link scr_container unpack ckpt.1
	assert_status 0
	rm link
	mv q p
	assert_state "$was"
}

@test "any number of threads, little memory" {
	make p --size 100000,70000
	for jobs in 1 2 7; do
		round --size 12347 -j $jobs --memory 64KB
	done
}

# --- Reading -----------------------------------------------------------------

@test "cat: bytes of files, in the order asked for" {
	make p
	cp -a p/ckpt.1 whole
	check() {
		for name in rank_0_0 rank_5_1; do
			scr_container -p p cat 1 ckpt.1/$name.ckpt |
				cmp - whole/$name.ckpt
		done
		scr_container -q -p p cat 1 ckpt.1/rank_5_1.ckpt \
			ckpt.1/rank_0_0.ckpt |
			cmp - <(cat whole/rank_5_1.ckpt whole/rank_0_0.ckpt)
		[ "$(scr_container -p p cat 1 'ckpt.1/rank_?_1.ckpt' | wc -c)" \
			-eq "$(cat whole/rank_?_1.ckpt | wc -c)" ]
	}
	scr_container -q -p p pack --size 5000 1
	check
	scr_container -q -p p unpack 1
	check
}

@test "cat, extract, list, verify of a map that knows no sizes" {
	make p
	grep -q SIZE <(scr_inspect -m tree $meta/rank2file.0.0) &&
		skip "scr_index records sizes"
	scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt |
		cmp - p/ckpt.1/rank_0_0.ckpt
	scr_container -p p extract -C out 1
	diff -r p/ckpt.1 out/ckpt.1
	try scr_container -p p list 1
	assert_status 0
	assert_output_has "16 files, not packed"
	assert_output_lacks " 0  ckpt.1/rank_0_0.ckpt"
	try scr_container -p p verify 1
	assert_status 0
	rm p/ckpt.1/rank_0_0.ckpt
	try scr_container -p p verify 1
	assert_status 3
	assert_stderr_has "ckpt.1/rank_0_0.ckpt (rank 0): missing"
}

@test "cat: a reader that stops, a file that is not there" {
	make p
	scr_container -q -p p pack --size 5000 1
	try scr_container -p p cat 1 ckpt.1/nothing
	assert_status 1
	assert_output_is ""
	assert_stderr_one_line ckpt.1/nothing "no file of dataset ckpt.1"
	try scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt 'no*thing'
	assert_status 1
	assert_output_is ""
	run bash -c 'scr_container -p p cat 1 "*" 2>/dev/null | head -c 10 | wc -c'
	assert_output_is 10
	try bash -c 'scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt >/dev/full'
	assert_status 1
	assert_stderr_one_line "No space left on device"
}

@test "extract: some files, with modes and times, not over others" {
	make p
	cp -a p whole
	scr_container -q -p p pack --size 5000 1
	try scr_container -p p extract -C deep 1 'ckpt.1/rank_[13]_*' \
		ckpt.1/rank_4_0.ckpt
	assert_status 0
	assert_output_has "ckpt.1: 5 files" "extracted to deep"
	[ "$(find deep -type f | wc -l)" -eq 5 ]
	diff <(tree_stat deep | grep -v '/ d ') \
		<(tree_stat whole | grep -E '^ckpt.1/rank_([13]_.|4_0)\.')
	before=$(tree_stat deep)
	try scr_container -p p extract -C deep 1 ckpt.1/rank_2_0.ckpt \
		ckpt.1/rank_3_0.ckpt
	assert_status 1
	assert_stderr_one_line ckpt.1/rank_3_0.ckpt "File exists" --force
	[ "$before" = "$(tree_stat deep)" ]
	echo other >deep/ckpt.1/rank_1_0.ckpt
	try scr_container -p p extract -f -C deep 1
	assert_status 0
	diff -r deep/ckpt.1 whole/ckpt.1
	diff <(tree_stat deep/ckpt.1) <(tree_stat whole/ckpt.1)
	# The working directory is the default.
	mkdir here
	(cd here && scr_container -q -p ../p extract 1 'ckpt.1/rank_0_*')
	cmp here/ckpt.1/rank_0_1.ckpt whole/ckpt.1/rank_0_1.ckpt
}

@test "extract: through no link" {
	make p
	scr_container -q -p p pack --size 5000 1
	mkdir out canary
	ln -s ../canary out/ckpt.1
	try scr_container -p p extract -f -C out 1
	[ "$status" -ne 0 ]
	[ -z "$(ls canary)" ]
	rm out/ckpt.1
	mkdir out/ckpt.1
	touch canary/file
	ln -s ../../canary/file out/ckpt.1/rank_0_0.ckpt
	try scr_container -p p extract -C out 1
	assert_status 1
	[ ! -s canary/file ]
	try scr_container -p p extract -C canary/file 1
	assert_status 1
	assert_stderr_one_line canary/file
}

@test "list: ranks, sizes, segments; containers and how full they are" {
	files p 100=a 0=b 250=c
	try scr_container -p p list 1
	assert_status 0
	assert_output_has "3 files, not packed"
	scr_container -q -p p pack --size 140 1
	try scr_container -p p list 1
	assert_status 0
	assert_stderr_empty
	assert_output_has "3 files, 350 B in 3 containers of 140 B"
	run sed -E 's/  +/ /g; s/0x[0-9a-f]{8}/SUM/' <<<"$output"
	assert_output_has " 0 100 a .scr/ctr.0.scr 0+100" " 1 0 b" \
		" 2 250 c .scr/ctr.0.scr 100+40, .scr/ctr.1.scr 0+140, .scr/ctr.2.scr 0+70" \
		" 140 140 100.0 % 2 SUM .scr/ctr.0.scr" \
		" 70 70 50.0 % 1 SUM .scr/ctr.2.scr"
}

@test "list: columns and an order, as those of scr_index" {
	files p 100=d/b10 250=d/b9 300=a/z
	scr_container -q -p p pack --size 300 1
	try scr_container -p p list -o file,size 1
	assert_output_is $'FILE   SIZE\nd/b10   100\nd/b9    250\na/z     300'
	try scr_container -p p list --columns rank --sort -file 1
	assert_output_is $'RANK\n   0\n   1\n   2'
	try scr_container -p p list --columns rank,where --sort -size 1
	assert_output_is "RANK  WHERE
   2  .scr/ctr.1.scr 50+250, .scr/ctr.2.scr 0+50
   1  .scr/ctr.0.scr 100+200, .scr/ctr.1.scr 0+50
   0  .scr/ctr.0.scr 0+100"
	try scr_container -p p list --sort -size 1
	assert_output_has "few: 3 files" "CONTAINER"
	[[ $(grep -oE '(d/b|a/z)[0-9]*' <<<"$output" | xargs) == \
		"a/z d/b9 d/b10" ]]
	try scr_container -p p list -o rnk 1
	assert_usage_error "unknown column 'rnk': did you mean rank? one of rank, size, file"
	try scr_container -p p list --json --sort size 1
	assert_usage_error "--sort and --json cannot be used together"
	try scr_container -p p verify --columns size 1
	assert_usage_error "--columns"
}

@test "list: not more than 200 files without -v" {
	specs=()
	for i in {1..210}; do
		specs+=("1=f$i")
	done
	files p "${specs[@]}"
	scr_container -q -p p pack 1
	try scr_container -p p list 1
	assert_output_has "... and 10 more (-v: all)"
	assert_output_lacks " f210 "
	try scr_container -v -p p list 1
	assert_output_lacks more
	assert_output_has " f210 "
}

@test "JSON of everything" {
	files p 100=a 0=b 250=c
	try scr_container --json -p p pack --size 140 1
	assert_status 0
	assert_json '.datasets[0] | [.file_count, .bytes, .container_count, .removed, .done_before]' \
		'[2,350,3,2,false]'
	try scr_container --json -p p pack 1
	assert_json '.datasets[0].done_before' true
	try scr_container --json -p p list 1
	assert_status 0
	assert_json '.datasets[0] | [.id, .layout, .packed, .bytes, .container_size]' \
		'[1,3,true,350,140]'
	assert_json '.datasets[0].packed_files[2] | [.path, .rank, .size, (.crc32 | type)]' \
		'["c",2,250,"string"]'
	assert_json '.datasets[0].packed_files[2].segments[1]' \
		'{"container":".scr/ctr.1.scr","offset":0,"length":140}'
	assert_json '[.datasets[0].containers[] | [.name, .size, .used_bytes, .file_count]]' \
		'[[".scr/ctr.0.scr",140,140,2],[".scr/ctr.1.scr",140,140,1],[".scr/ctr.2.scr",70,70,1]]'
	try scr_container --json -p p verify 1
	assert_status 0
	assert_json '.datasets[0] | [.file_count, .files_bad, .container_count, .status, .problems]' \
		'[3,0,3,0,[]]'
	flip $ctr/ctr.1.scr 7
	try scr_container --json -p p verify 1
	assert_status 4
	assert_json '.datasets[0] | [.files_bad, .containers_bad, .status]' '[1,1,4]'
	assert_json '[.datasets[0].problems[] | .path // .container]' \
		'["c",".scr/ctr.1.scr"]'
	flip $ctr/ctr.1.scr 7
	try scr_container --json -p p extract -C out 1 a b
	assert_status 0
	assert_json '.datasets[0] | [.file_count, .bytes]' '[2,100]'
	try scr_container --json -p p unpack 1
	assert_status 0
	assert_json '.datasets[0] | [.file_count, .container_count, .removed, .adopted]' '[2,3,3,1]'
}

@test "-q prints only errors" {
	make p
	for verb in "pack --size 5000" "pack" list verify "extract -C out" \
		unpack unpack list verify; do
		# shellcheck disable=SC2086 # words
		try scr_container -q -p p $verb 1
		assert_status 0
		assert_output_is ""
		assert_stderr_empty
	done
	rm p/ckpt.1/rank_0_0.ckpt
	try scr_container -q -p p pack 1
	assert_status 3
	assert_output_is ""
	assert_stderr_one_line rank_0_0.ckpt
}

# --- Repeated and partial runs -----------------------------------------------

@test "pack twice, unpack twice: nothing to do" {
	make p
	scr_container -q -p p pack --size 5000 --with-redundancy 1
	was=$(state p)
	for option in "" --keep "--size 77" --with-redundancy --dry-run; do
		# shellcheck disable=SC2086 # may be nothing
		try scr_container -q -p p pack $option 1
		assert_status 0
		assert_stderr_empty
		# shellcheck disable=SC2086 # may be nothing
		try scr_container -p p pack $option 1
		assert_output_is "ckpt.1: is packed already: nothing to do"
		assert_state "$was"
	done
	for option in "" "--size 5000" --dry-run; do
		# shellcheck disable=SC2086 # may be nothing
		try scr_container -p p repack $option 1
		assert_status 0
		assert_output_has "ckpt.1: its 41 containers have this size" \
			" and order already: nothing to do; "
		assert_state "$was"
	done
	scr_container -q -p p unpack 1
	was=$(state p)
	try scr_container -p p unpack 1
	assert_status 0
	assert_stderr_empty
	assert_output_is "ckpt.1: is unpacked already: nothing to do"
	assert_state "$was"
}

# --dry-run refuses what the run refuses, and promises what it does.
@test "unpack --dry-run looks at the containers, as the run does" {
	make whole
	scr_container -q -p whole pack --size 20000 --with-redundancy 1
	local change said
	for change in "rm $ctr/ctr.3.scr" "truncate -s -5 $ctr/ctr.3.scr" \
		"truncate -s +5 $ctr/ctr.3.scr" "truncate -s 0 $ctr/ctr.0.scr" \
		"rm $ctr/red.1.scr" "truncate -s -5 $ctr/red.1.scr" \
		"rm $ctr/ctr.3.scr && mkdir $ctr/ctr.3.scr"; do
		rm -rf p
		cp -a whole p
		eval "$change"
		was=$(state p)
		try scr_container -p p unpack --dry-run 1
		assert_state "$was"
		said=$status:${output/would be /}:$stderr
		try scr_container -p p unpack 1
		[ "$said" = "$status:$output:$stderr" ] ||
			failed "after $change: $said"
	done
	rm -rf p
	cp -a whole p
	rm "$ctr/ctr.3.scr"
	try scr_container -p p unpack --dry-run 1
	assert_status 3
	assert_output_is ""
	assert_stderr_one_line "ctr.3.scr: missing: scr_rebuild -p p 1"
	# A container that no missing file needs.
	make plain
	cp -a plain/ckpt.1 p
	try scr_container -p p unpack --dry-run 1
	assert_status 0
	assert_output_has "16 were present already"
}

@test "--dry-run counts what the run does" {
	make p
	json_of() { try scr_container -p p --json "$@" 1 && assert_status 0; }
	for verb in "pack --keep --with-redundancy" pack "repack --size 9000" \
		repack unpack unpack pack pack; do
		was=$(state p)
		# shellcheck disable=SC2086 # words
		json_of $verb --dry-run
		promised=$output
		assert_state "$was"
		# shellcheck disable=SC2086 # words
		json_of $verb
		assert_output_is "$promised"
	done
	scr_container -q -p p unpack 1
	scr_container -q -p p pack --keep 1
	try scr_container -p p pack --dry-run 1
	assert_output_is \
		"ckpt.1: is packed already, 16 left-over files would be removed"
}

@test "--dry-run reports what would be done, changes nothing" {
	make p
	was=$(state p)
	for option in "" --with-redundancy "--order name"; do
		# shellcheck disable=SC2086 # words
		try scr_container -p p pack -n --size 50000 $option 1
		assert_status 0
		assert_output_has "16 files (" "would be packed into "
		assert_state "$was"
	done
	scr_container -q -p p pack --keep --size 50000 --with-redundancy 1
	was=$(state p)
	for verb in pack unpack; do
		try scr_container -p p $verb -n 1
		assert_status 0
		assert_state "$was"
	done
}

@test "--keep leaves the originals, another pack removes them" {
	make p
	was=$(state p)
	try scr_container -p p pack --keep --size 5000 1
	assert_status 0
	[ -e p/ckpt.1/rank_0_0.ckpt ]
	[ -e $ctr/ctr.0.scr ]
	try scr_container -p p verify 1
	assert_status 0
	try scr_container -p p pack 1
	assert_status 0
	assert_output_has "16 left-over files removed"
	[ ! -e p/ckpt.1/rank_0_0.ckpt ]
	scr_container -q -p p unpack 1
	assert_state "$was"
	# Originals that exist when it is unpacked.
	scr_container -q -p p pack --keep --size 5000 1
	try scr_container -p p unpack 1
	assert_status 0
	assert_output_has "16 were present already"
	assert_state "$was"
}

@test "--keep with redundancy: another pack removes these, too" {
	make p
	was=$(state p)
	scr_container -q -p p pack --keep --size 50000 --with-redundancy 1
	[ -e $meta/filemap_0 ]
	scr_container -q -p p pack 1
	[ -z "$(find $meta -name 'reddesc*' -o -name 'filemap_*')" ]
	scr_container -q -p p unpack 1
	assert_state "$was"
}

@test "an original that changed after it was packed is kept, and reported" {
	make p
	scr_container -q -p p pack --keep --size 5000 1
	printf '\nmore\n' >>p/ckpt.1/rank_0_0.ckpt
	time=$(stat -c %y p/ckpt.1/rank_0_1.ckpt)
	flip p/ckpt.1/rank_0_1.ckpt 5
	touch -d "$time" p/ckpt.1/rank_0_1.ckpt
	try scr_container -p p pack 1
	assert_status 0
	assert_output_has "2 files kept"
	[ "$(find p/ckpt.1 -type f | wc -l)" -eq 2 ]
	tail -n 1 p/ckpt.1/rank_0_0.ckpt | grep -qx more
}

@test "unpack: a file in the way is not replaced without --force" {
	make p
	was=$(state p)
	scr_container -q -p p pack --size 5000 1
	packed=$(tree_sha p | grep /ctr)
	echo other >p/ckpt.1/rank_6_1.ckpt
	try scr_container -p p unpack 1
	assert_status 1
	assert_stderr_one_line ckpt.1/rank_6_1.ckpt "differs from the packed file" --force
	[[ $stderr != *"File exists"* ]]
	[ "$(cat p/ckpt.1/rank_6_1.ckpt)" = other ]
	[ "$packed" = "$(tree_sha p | grep /ctr)" ]
	[ "$(find p/ckpt.1 -type f | wc -l)" -eq 1 ]
	try scr_container -p p unpack --force 1
	assert_status 0
	assert_state "$was"
}

@test "unpack: no directory and no link is replaced, --force or not" {
	make p
	was=$(state p)
	scr_container -q -p p pack --size 5000 1
	echo canary >canary
	for how in "mkdir" "ln -s ../../canary"; do
		for force in "" --force; do
			$how p/ckpt.1/rank_6_1.ckpt
			# shellcheck disable=SC2086 # may be nothing
			try scr_container -p p unpack $force 1
			[ "$status" -ne 0 ]
			assert_stderr_one_line ckpt.1/rank_6_1.ckpt
			rm -d p/ckpt.1/rank_6_1.ckpt
		done
	done
	[ "$(cat canary)" = canary ]
	try scr_container -p p unpack 1
	assert_status 0
	assert_state "$was"
	# A link in place of a directory.
	scr_container -q -p p pack --size 5000 1
	rmdir p/ckpt.1
	mkdir other
	ln -s ../other p/ckpt.1
	try scr_container -p p unpack --force 1
	[ "$status" -ne 0 ]
	[ -z "$(ls other)" ]
	rm p/ckpt.1
	# Directories are restored.
	scr_container -q -p p unpack 1
	assert_state "$was"
}

@test "containers are no more readable than the files in them" {
	files p 100=a 250=c
	chmod 600 p/a p/c
	scr_container -q -p p pack --size 140 1
	run stat -c %a $ctr/ctr.0.scr
	assert_output_is 600
}

# --- Refusals ----------------------------------------------------------------

# refused STATUS TEXT...: packing p fails with one line and changes nothing.
refused() {
	local was

	was=$(state p)
	for option in "" --with-redundancy --keep; do
		# shellcheck disable=SC2086 # may be nothing
		try scr_container -p p pack --size 5000 $option 1
		assert_status "$1"
		assert_output_is ""
		assert_stderr_one_line "${@:2}"
		assert_state "$was"
	done
}

@test "pack: originals that are missing or not as recorded" {
	make p
	scr_index -q -p p --build 1 --checksums
	cp -a p whole
	file=p/ckpt.1/rank_3_0.ckpt
	again() {
		rm -rf p
		cp -a whole p
	}
	rm $file
	refused 3 ckpt.1/rank_3_0.ckpt "rank 3" missing
	again
	rm -r p/ckpt.1
	refused 3 ckpt.1/rank_ missing
	again
	chmod u+w $file
	truncate -s -1 $file
	refused 3 ckpt.1/rank_3_0.ckpt "bytes long, should be"
	again
	chmod u+w $file
	truncate -s +1 $file
	refused 3 ckpt.1/rank_3_0.ckpt "bytes long, should be"
	again
	chmod u+w $file
	flip $file 77
	refused 3 ckpt.1/rank_3_0.ckpt "rank 3" "checksum is 0x" "should be 0x"
	again
	mv $file away
	ln -s ../../away $file
	refused 3 ckpt.1/rank_3_0.ckpt "not a plain file"
	again
	rm $file
	mkdir $file
	refused 3 ckpt.1/rank_3_0.ckpt "not a plain file"
}

@test "pack: files that two ranks name" {
	files p 100=a 250=c
	edit $meta/rank2file.0.0 sed 's/^        c$/        a/'
	refused 2 "a: is a file of rank 0 and of rank 1"
}

@test "pack: a map that does not know all files" {
	files p 100=a 250=c
	edit $meta/rank2file.0.0 sed 's/^    1$/    5/'
	refused 1 "no rank of the job"
	rm -rf p
	files p 100=a 250=c
	printf '  RANKS\n    2\n  LEVEL\n    0\n  RANK\n    0\n      FILE\n        a\n' |
		craft $meta/rank2file.0.0
	refused 3 "files of rank 1 are missing" "scr_index -p p --build 1"
}

# with_room SIZE: mount a file system of this size as the empty prefix p;
# teardown unmounts it.  A dataset leaves at least a quarter free.
with_room() {
	mkdir -p p
	((EUID == 0)) || skip "only root can mount a small file system"
	mount -t tmpfs -o "size=$1" scrkit-test p 2>/dev/null ||
		skip "no small file system can be mounted"
}

teardown() {
	cd /
	! mountpoint -q "$BATS_TEST_TMPDIR/p" 2>/dev/null ||
		umount "$BATS_TEST_TMPDIR/p"
}

@test "no room: noticed before anything is written" {
	with_room 1m
	make p --type NONE --size 40000,10000
	was=$(state p)
	for option in "" -n --with-redundancy --keep; do
		# shellcheck disable=SC2086 # may be nothing
		try scr_container -p p pack --size 100000 $option 1
		assert_status 1
		assert_stderr_one_line "needed for the containers" free \
			"No space left on device"
		assert_state "$was"
	done
}

@test "no room to unpack: the same" {
	with_room 2m
	make p --type NONE --size 40000,10000
	was=$(state p)
	scr_container -q -p p pack --size 100000 1
	head -c 900K /dev/zero >p/ballast
	packed=$(state p)
	for option in "" -n; do
		# shellcheck disable=SC2086 # may be nothing
		try scr_container -p p unpack $option 1
		assert_status 1
		assert_stderr_one_line "needed for the files" free
		assert_state "$packed"
	done
	try scr_container -p p extract -C p/out 1
	assert_status 1
	assert_stderr_has "No space left on device"
	[ -z "$(find p/out -type f 2>/dev/null)" ]
	rm -rf p/ballast p/out
	scr_container -q -p p unpack 1
	assert_state "$was"
}

@test "space is needed only for files that are still to be written" {
	with_room 2m
	make p --type NONE --size 40000,10000
	was=$(state p)
	scr_container -q -p p pack --keep --size 100000 1
	head -c "$(df --output=avail -B 1 p | tail -n 1)" /dev/zero >p/ballast ||
		true
	truncate -s -100000 p/ballast
	try scr_container -p p unpack 1
	assert_status 0
	rm p/ballast
	assert_state "$was"
}

# --- Damage ------------------------------------------------------------------

# packed: files a (100 bytes), b (250) and c (200) in containers of 140 bytes: b
# is at the end of ctr.0.scr, fills ctr.1.scr, and ends at byte 70 of ctr.2.scr.
packed() {
	rm -rf p
	files p 100=a 250=b 200=c
	scr_container -q -p p pack --size 140 1
}

# damaged STATUS TEXT...: verify has this status and each TEXT in its messages,
# no command can read file b, and nothing is changed.
damaged() {
	local was

	was=$(state p)
	try scr_container -p p verify 1
	assert_status "$1"
	[[ $output == *": damaged: "* || $output == *": lost: "* ]]
	assert_stderr_has "${@:2}"
	try scr_container -p p extract -C out 1 b
	[ "$status" -ne 0 ]
	[ -z "$(find out -type f)" ]
	try scr_container -p p cat 1 b
	[ "$status" -ne 0 ]
	try scr_container -p p unpack 1
	[ "$status" -ne 0 ]
	assert_state "$was"
}

@test "a flipped byte: verify names the file and the container" {
	for at in ctr.0.scr:100 ctr.1.scr:0 ctr.1.scr:139 ctr.2.scr:69; do
		packed
		flip $ctr/${at%:*} "${at#*:}"
		damaged 4 "b (rank 1): checksum is 0x" \
			".scr/${at%:*}: checksum is 0x"
		try scr_container -p p verify 1
		assert_output_has "lost: 1 of 3 files and 1 of 4 containers"
		# The other files are readable.
		scr_container -q -p p cat 1 a c >/dev/null
		# Sizes do not show the damage.
		try scr_container -p p verify --fast 1
		assert_status 0
	done
	try bash -c 'scr_container -p p cat 1 b >/dev/null'
	assert_status 3
	assert_stderr_one_line "b (rank 1): checksum is 0x"
	try scr_container -p p unpack 1
	assert_status 3
	assert_stderr_one_line "b (rank 1): checksum is 0x"
}

@test "a container that is too short, too long, or missing" {
	packed
	truncate -s 100 $ctr/ctr.1.scr
	damaged 4 ".scr/ctr.1.scr: 100 bytes long, its files need 140" \
		"b (rank 1): damaged: bytes 0 to 139 of .scr/ctr.1.scr"
	try scr_container -p p verify --fast 1
	assert_status 4
	packed
	truncate -s 0 $ctr/ctr.2.scr
	damaged 4 ".scr/ctr.2.scr: 0 bytes long" "b (rank 1)" "c (rank 2)"
	packed
	rm $ctr/ctr.1.scr
	damaged 4 ".scr/ctr.1.scr: missing" "b (rank 1)"
	try scr_container -p p verify --fast 1
	assert_status 4
	packed
	rm -r $ctr
	damaged 4 "a (rank 0)" "b (rank 1)" "c (rank 2)"
	packed
	echo more >>$ctr/ctr.1.scr
	try scr_container -p p verify 1
	assert_status 3
	assert_stderr_has ".scr/ctr.1.scr: 145 bytes long, recorded are 140"
}

@test "containers that were swapped; a link or a directory in their place" {
	packed
	mv $ctr/ctr.1.scr x
	mv $ctr/ctr.2.scr $ctr/ctr.1.scr
	mv x $ctr/ctr.2.scr
	damaged 4 "b (rank 1): checksum" "c (rank 2): checksum" \
		".scr/ctr.1.scr: checksum" ".scr/ctr.2.scr: checksum"
	packed
	mv $ctr/ctr.1.scr x
	ln -s ../../../../x $ctr/ctr.1.scr
	try scr_container -p p verify 1
	[ "$status" -ne 0 ]
	assert_stderr_has .scr/ctr.1.scr
	try scr_container -p p cat 1 b
	[ "$status" -ne 0 ]
	assert_output_is ""
	rm $ctr/ctr.1.scr
	mkdir $ctr/ctr.1.scr
	damaged 4 .scr/ctr.1.scr "b (rank 1)"
}

@test "a FIFO in place of a container does not hang" {
	packed
	rm $ctr/ctr.1.scr
	mkfifo $ctr/ctr.1.scr
	try timeout 10 scr_container -p p verify 1
	assert_status 4
	try timeout 10 scr_container -p p cat 1 b
	[ "$status" -ne 0 ] && [ "$status" -ne 124 ]
	try timeout 10 scr_container -p p unpack 1
	[ "$status" -ne 0 ] && [ "$status" -ne 124 ]
}

@test "packed redundancy that is damaged or missing" {
	for how in "flip $ctr/red.0.scr 10" "truncate -s 10 $ctr/red.0.scr" \
		"rm $ctr/red.0.scr"; do
		rm -rf p p.nodes
		make p
		scr_container -q -p p pack --size 1MB --with-redundancy 1
		$how
		try scr_container -p p verify 1
		[ "$status" -ne 0 ]
		assert_stderr_has red.0.scr
	done
}

@test "packed redundancy is not lost when it cannot be unpacked" {
	make p
	scr_container -q -p p pack --size 1MB --with-redundancy 1
	was=$(tree_sha p)
	flip $ctr/red.0.scr 10
	try scr_container -p p unpack 1
	assert_status 3
	assert_stderr_one_line reddesc
	assert_stderr_has "scr_rebuild -p p --checksums 1"
	flip $ctr/red.0.scr 10
	diff <(tree_sha p) - <<<"$was"
}

@test "lost redundancy does not prevent unpack" {
	make p
	(cd p/ckpt.1 && sha256sum -- *) >sums
	scr_container -q -p p pack --size 1MB --with-redundancy 1
	cp -a p whole
	for how in "rm $ctr/red.1.scr" "truncate -s 10 $ctr/red.2.scr" \
		"rm $ctr/red.0.scr $ctr/red.2.scr" "rm $(echo $ctr/red.*)"; do
		for force in "" -f; do
			rm -rf p
			cp -a whole p
			$how
			try scr_container -p p unpack -n 1
			assert_status 0
			assert_stderr_one_line "redundancy files were lost"
			# shellcheck disable=SC2086 # no word
			try scr_container -p p unpack $force 1
			assert_status 0
			assert_stderr_one_line "redundancy files were lost"
			(cd p/ckpt.1 && sha256sum --quiet -c) <sums
			[ ! -e $ctr ]
		done
		[[ $how = *red.*red.* ]] || scr_rebuild -q -p p 1
	done
}

# More of this: scr_container_map.bats.
@test "the metadata beside the map are damaged or missing" {
	make p
	scr_container -q -p p pack --size 1MB --with-redundancy 1
	cp -a p whole
	for how in "rm $meta/packed.*.scr $meta/copy.packed.*" \
		"truncate -s 50 $meta/packed.0.scr $meta/packed.1.scr $meta/copy.packed.0.scr $meta/copy.packed.1.scr"; do
		rm -rf p
		cp -a whole p
		# shellcheck disable=SC2086 # several words
		$how
		for verb in unpack pack repack; do
			try scr_container -p p $verb 1
			assert_status 3
			assert_stderr_has "packed."
		done
		try scr_container -p p list 1
		assert_status 0
		assert_stderr_one_line "packed."
		try scr_container -p p verify 1
		assert_status 3
		assert_stderr_one_line "packed."
	done
}

@test "damage of files that are not packed" {
	make p
	try scr_container -p p verify 1
	assert_output_is "ckpt.1: whole: 16 files, 189.2 KiB, not packed"
	scr_index -q -p p --build 1 --checksums
	try scr_container -p p verify 1
	assert_status 0
	assert_output_has whole
	flip p/ckpt.1/rank_2_0.ckpt 5
	try scr_container -p p verify 1
	[ "$status" -ge 3 ]
	assert_stderr_has "ckpt.1/rank_2_0.ckpt (rank 2): checksum is 0x"
	try scr_container -p p verify --fast 1
	assert_status 0
	truncate -s 5 p/ckpt.1/rank_2_0.ckpt
	try scr_container -p p verify --fast 1
	[ "$status" -ge 3 ]
	assert_stderr_has "ckpt.1/rank_2_0.ckpt (rank 2): 5 bytes long"
}

@test "no more than 20 flaws without -v" {
	specs=()
	for i in {1..30}; do
		specs+=("10=f$i")
	done
	files p "${specs[@]}"
	scr_container -q -p p pack 1
	rm $ctr/ctr.0.scr
	try scr_container -p p verify 1
	assert_status 4
	assert_stderr_has "(-v shows all)"
	[ "$(wc -l <<<"$stderr")" -eq 21 ]
	try scr_container -v -p p verify 1
	[ "$(grep -c 'f[0-9]* (rank' <<<"$stderr")" -eq 30 ]
}

# --- Malformed maps ----------------------------------------------------------

# The part of the map.
part() {
	echo $meta/rank2file.0.*
}

@test "segments: gaps, overlaps, sums" {
	packed
	change "$(part)" OFFSET 100 90
	try scr_container -p p verify 1
	assert_status 4
	assert_stderr_has ".scr/ctr.0.scr: bytes 90 to 99 belong to a and to b" \
		".scr/ctr.0.scr: bytes 130 to 139 belong to no file"
	packed
	change "$(part)" LENGTH 40 30
	damaged 4 "b: 250 bytes long, its segments 240" \
		".scr/ctr.0.scr: bytes 130 to 139 belong to no file"
	packed
	change "$(part)" LENGTH 40 50
	damaged 4 "b: 250 bytes long, its segments 260" \
		".scr/ctr.0.scr: b reaches 10 bytes beyond its recorded end"
	packed
	change "$(part)" SIZE 250 3
	damaged 4 "b: 3 bytes long, its segments 250"
	# A hole in the map: b is in only two containers, or in one twice.
	packed
	change "$(part)" FILE .scr/ctr.1.scr .scr/ctr.3.scr
	damaged 4 "bytes 0 to 129 belong to c and to b"
}

@test "malicious maps are refused" {
	for name in ../x /etc/passwd .scr/../../../../x .; do
		packed
		edit "$(part)" sed "s,\\.scr/ctr\\.1\\.scr,$name,"
		for verb in verify list pack unpack "extract -C out"; do
			# shellcheck disable=SC2086 # words
			try scr_container -p p $verb 1
			assert_status 1
			assert_output_is ""
			assert_stderr_one_line "not a plain path below"
		done
	done
	for number in 9223372036854775807 18446744073709551615 -1 x ""; do
		packed
		change "$(part)" OFFSET 100 "$number"
		try scr_container -p p unpack 1
		assert_status 1
		assert_stderr_one_line "scr.dataset.1: "
		[ ! -e p/a ]
	done
	packed
	change "$(part)" LENGTH 40 0
	try scr_container -p p verify 1
	assert_status 1
	assert_stderr_one_line "rank 1, b, segment 0: of no bytes"
}

@test "malicious paths are refused" {
	echo canary >canary
	for path in ../canary /tmp/scrkit-canary a/../../canary; do
		packed
		edit "$(part)" sed "s,^        b\$,        $path,"
		for verb in "extract -C out" unpack; do
			# shellcheck disable=SC2086 # words
			try scr_container -p p $verb 1
			[ "$status" -ne 0 ]
			assert_stderr_has "$path"
		done
		[ "$(cat canary)" = canary ]
		[ ! -e /tmp/scrkit-canary ]
		[ ! -e p/a ]
	done
}

# --- Interruptions -----------------------------------------------------------

# survives HOW VERB OPTION...: run the verb on a prefix p as made by `fresh`.
# Whenever it fails or is killed, all files are readable.  Run again, it
# succeeds, with the same files as an undisturbed run.
survives() {
	local how=$1 verb=$2 total n want left=""

	shift 2
	cp -a fresh p
	scr_container -q -j 1 -p p extract -C whole 1
	env LD_PRELOAD="$SHIM" SHIM_COUNT_FILE=count \
		scr_container -q -j 1 -p p "$verb" "$@" 1
	total=$(cat count)
	want=$(names p)
	((total > 20))
	for n in $(moments "$total"); do
		rm -rf p out
		cp -a fresh p
		try env LD_PRELOAD="$SHIM" "$how=$n" \
			scr_container -q -j 1 -p p "$verb" "$@" 1
		[ "$status" -ne 0 ] || [ "$how" = SHIM_FAIL_AT ] ||
			failed "operation $n: not killed"
		try scr_container -p p verify 1
		[ "$status" -eq 0 ] || failed "operation $n: damaged"
		scr_container -q -p p extract -C out 1
		diff -r whole out || failed "operation $n: other contents"
		try scr_container -q -j 1 -p p "$verb" "$@" 1
		[ "$status" -eq 0 ] || failed "operation $n: not again"
		diff <(echo "$want") <(names p) || left+=" $n"
		scr_container -q -p p unpack 1
		diff <(state plain) <(state p | grep -v /packed) ||
			failed "operation $n: not as before"
	done
	[ -z "$left" ] || failed "left-over files, operations$left"
}

# A small dataset with files of all kinds, to interrupt its packing.
small() {
	[ -e "$SHIM" ] || skip "no fault shim"
	"$GEN/gen_dataset" -q --prefix plain --ranks 2 --nodes 2 --files 2 \
		--size 1000,500 --recorded-prefix /job/p
	scr_index -q -p plain --build 1 --checksums
}

@test "pack killed at any moment" {
	small
	cp -a plain fresh
	survives SHIM_KILL_AT pack --size 1500
}

@test "pack with redundancy killed at any moment" {
	small
	cp -a plain fresh
	survives SHIM_KILL_AT pack --size 3000 --with-redundancy
}

@test "pack with any operation failing" {
	small
	cp -a plain fresh
	survives SHIM_FAIL_AT pack --size 3000 --with-redundancy
}

@test "unpack killed at any moment" {
	small
	cp -a plain fresh
	scr_container -q -p fresh pack --size 1500 1
	survives SHIM_KILL_AT unpack
}

@test "unpack with redundancy killed at any moment" {
	small
	cp -a plain fresh
	scr_container -q -p fresh pack --size 3000 --with-redundancy 1
	survives SHIM_KILL_AT unpack
}

@test "unpack with any operation failing" {
	small
	cp -a plain fresh
	scr_container -q -p fresh pack --size 3000 --with-redundancy 1
	survives SHIM_FAIL_AT unpack
}

@test "an abandoned pack: unpack removes its files" {
	small
	cp -a plain p
	try env LD_PRELOAD="$SHIM" SHIM_KILL_AT=6 SHIM_PATH=ctr. \
		scr_container -q -j 1 -p p pack --size 1500 1
	[ "$status" -eq 137 ]
	[ -e $ctr/ctr.0.scr ]
	scr_container -q -p p unpack 1
	diff <(state plain) <(state p)
}

@test "another size after an interrupted pack: no old container is left" {
	small
	cp -a plain p
	try env LD_PRELOAD="$SHIM" SHIM_KILL_AT=6 SHIM_PATH=ctr. \
		scr_container -q -j 1 -p p pack --size 1500 1
	[ "$status" -eq 137 ]
	[ -e $ctr/ctr.1.scr ]
	scr_container -q -p p pack --size 1MB 1
	run ls $ctr
	assert_output_is ctr.0.scr
}

@test "the disk becomes full while it is packed: nothing is left of it" {
	small
	cp -a plain p
	was=$(state p)
	try env LD_PRELOAD="$SHIM" SHIM_FAIL_AT=6 SHIM_PATH=ctr. \
		SHIM_ERRNO=ENOSPC SHIM_STICKY=1 \
		scr_container -q -j 1 -p p pack --size 1500 1
	assert_status 1
	assert_stderr_one_line "No space left on device"
	assert_state "$was"
}

@test "an original that changes while it is packed is not removed" {
	files p 100=a
	yes | head -c 64M >p/a
	# Change the file as soon as its container has data.
	(
		until [ -s $ctr/ctr.0.scr ]; do :; done
		echo more >>p/a
	) 3>&- &
	try scr_container -p p pack -j 1 1
	wait
	tail -n 1 p/a | grep -qx more
	# Usually the change is noticed before originals are removed.
	[ "$status" -eq 0 ] || {
		assert_status 1
		assert_stderr_one_line "a: changed while it was packed"
	}
}

@test "SIGTERM: exit status, whole dataset, no rubbish" {
	files p 100=a 250=c
	truncate -s 400M p/c
	was=$(tree_stat p | grep -v /rank2file)
	try timeout -s TERM 0.15 "$BIN/scr_container" -q -p p pack --size 100MB 1
	[ "$status" -ne 0 ] || skip "too fast"
	diff <(tree_stat p | grep -v /rank2file) - <<<"$was"
	try scr_container -p p verify 1
	assert_status 0
}

@test "a lock held by another process: reported, and waited for" {
	command -v flock >/dev/null || skip "no flock(1)"
	make p
	lock=$meta/.scrkit.lock
	for verb in pack unpack; do
		flock "$lock" sleep 1 3>&- &
		until [ -e "$lock" ] && ! flock -n "$lock" true; do
			sleep 0.05
		done
		# A command that changes nothing does not wait.
		try scr_container -p p verify 1
		assert_status 0
		assert_stderr_empty
		try scr_container -p p $verb 1
		assert_status 0
		assert_stderr_has waiting
		wait
	done
	flock "$lock" sleep 5 3>&- &
	holder=$!
	until [ -e "$lock" ] && ! flock -n "$lock" true; do
		sleep 0.05
	done
	try timeout -s INT 0.3 "$BIN/scr_container" -q -p p pack 1
	[ "$status" -ne 0 ]
	kill "$holder"
	wait
	[ ! -e $ctr ]
}

@test "several at once do not disturb each other" {
	make p --size 300000,100000
	was=$(state p)
	for i in 1 2 3; do
		scr_container -p p pack --size 100000 1 >"out.$i" 2>&1 3>&- &
	done
	wait
	cat out.?
	[ "$(grep -c "packed already" out.? | grep -c :1)" -eq 2 ]
	scr_container -q -p p verify 1
	for i in 1 2 3; do
		scr_container -p p unpack 1 >"out.$i" 2>&1 3>&- &
	done
	wait
	[ "$(grep -c "unpacked already" out.? | grep -c :1)" -eq 2 ]
	assert_state "$was"
}
