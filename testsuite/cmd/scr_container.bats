#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2046,SC2059,SC2086,SC2209 # words and formats

load helper

# Most tests use dataset 1 on prefix p: its metadata, its containers.
meta=p/.scr/scr.dataset.1
ctr=$meta/.scr

# packed: files a (100 bytes), b (250) and c (200) in containers of 140 bytes: b
# is at the end of ctr.0.scr, fills ctr.1.scr, and ends at byte 70 of ctr.2.scr.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	umask 022
	files packed 100=a 250=b 200=c
	scr_container -q -p packed pack --size 140 1
}

# copy NAME: as prefix p.
copy() {
	renew "$BATS_FILE_TMPDIR/$1"
}

# --- Datasets ----------------------------------------------------------------

# make NAME OPTION...: make dataset 1 on prefix NAME, 8 ranks on 4 nodes, as
# after a scavenge and `scr_index --build`, with various modes and owners.  It
# has no redundancy if no scheme is given.
make() {
	local at=$1/ckpt.1

	[[ $* == *--id* ]] || rm -rf "${1:?}"/* "$1"/.scr
	gen -p "$1" --nodes-dir "$1.nodes" -n 8 -m 4 -s 10000,5000 -f 2 \
		-t NONE --recorded-prefix /job/p "${@:2}"
	chmod 600 "$at/rank_1_0.ckpt"
	chmod 555 "$at/rank_2_0.ckpt" "$at/rank_3_0.ckpt"
	scr_index -q -p "$1" --build 1
}

# change FILE KEY OLD NEW: change the value of a key in a metadata file.
change() {
	edit "$1" sed "/^ *$2\$/{n;s|^\\( *\\)$3\$|\\1$4|}"
}

# edit FILE COMMAND...: filter the tree of a metadata file through a command.
edit() {
	local tree

	tree=$(scr_inspect -m tree "$1" | "${@:2}")
	write_part "$1" <<<"$tree"
}

# files ROOT SIZE=PATH...: make files of these sizes below ROOT/, one for each
# rank, and dataset 1 of them, "few".  Its map has no sizes and the layout of
# SCR 3.
files() {
	local dir=$1/.scr/scr.dataset.1

	mkdir -p "$dir"
	rank_files "$@" | craft "$dir/rank2file.0.0"
	top $(($# - 1)) .0.0 | craft "$dir/rank2file"
	printf '  %s\n' VERSION '  2' NAME '  few' '    DSET' '      1' DSET \
		'  1' '    COMPLETE' '      1' '    FLUSHED' \
		'      2026-11-21T16:00:00' '    DSET' '      ID' '        1' \
		'      NAME' '        few' '      COMPLETE' '        1' |
		craft "$1/.scr/index.scr"
}

# Write the top file of a map: ranks, name of the part.
top() {
	printf '  RANKS\n    %d\n  LEVEL\n    1\n  RANK\n    0\n' "$1"
	printf '      OFFSET\n        0\n      FILE\n        %s\n' "$2"
}

rank_files() {
	local root=$1 rank=0 spec size path text

	shift
	printf '  RANKS\n    %d\n  LEVEL\n    0\n  RANK\n' "$#"
	for spec; do
		size=${spec%%=*} path=${spec#*=}
		[[ $path != */* || -d $root/${path%/*} ]] ||
			mkdir -p "$root/${path%/*}"
		printf -v text '%*s' $((size / (${#path} + 1) + 1)) ''
		text=${text// /"$path"$'\n'}
		printf %s "${text:0:size}" >"$root/$path"
		path=${path//\\/\\\\}
		printf '    %d\n      FILE\n        %s\n' "$rank" "${path//$'\n'/\\n}"
		rank=$((rank + 1))
	done
}

# --- State of a prefix -------------------------------------------------------

# All files below a prefix except the map: contents, modes, owners, times.
state() {
	find "$1" -type f ! -path '*/rank2file*' -exec md5sum {} + | sort
	tree_stat "$1" | grep -v '/rank2file'
}

# assert_state WAS: prefix p is unchanged.
assert_state() {
	diff - <(state p) <<<"$1"
}

# assert_json FILTER TEXT: what the answer gives.
assert_json() { diff <(echo "$2") <(jq -rc "$1" <<<"$output"); }

# containers_are SIZE FILE...: the containers hold the bytes of these files in
# that order.
containers_are() {
	local size=$1 want have

	shift
	rm -rf want
	mkdir want
	cat -- "$@" | split -b "$size" -d -a 4 - want/
	want=(want/*)
	mapfile -t have < <(seq -f "$ctr/ctr.%.0f.scr" 0 $((${#want[@]} - 1)))
	[ ! -e "$ctr/ctr.${#want[@]}.scr" ]
	diff <(md5sum "${want[@]}" | cut -c 1-32) <(md5sum "${have[@]}" | cut -c 1-32)
}

# --- Usage -------------------------------------------------------------------

@test "usage errors: no verb, a wrong one, no dataset, no sense, options of other verbs" {
	misused "no verb given: pack, unpack, repack, list, cat, extract, " \
		scr_container
	while IFS='|' read -r args text; do
		misused "$text" scr_container $args
	done <<-'END'
		squeeze 1|squeeze: not one of pack, unpack,
		-p p unpak 1|unpak: no such verb; did you mean unpack?
		pack|no dataset given
		unpack|no dataset given
		list|no dataset given
		verify|no dataset given
		cat|no dataset given
		extract|no dataset given
		cat 1|no file given
		cat 1|list 1
		pack --nonsense 1|nonsense
		pack --size=0 1|--size
		pack --size=x 1|--size
		pack --size=-1 1|--size
		pack --size=99999999999999999999 1|--size
		pack --order=size 1|--order
		pack --jobs=0 1|--jobs
		pack --memory=1K 1|--memory
		cat -p p 1 --dump-paths=x y|--dump-paths cannot be used with cat
		list -p p -o rnk 1|unknown column 'rnk': did you mean rank?
		list --json --sort size 1|--sort and --json cannot
		verify --columns size 1|--columns
	END
	for option in --size=5:pack --order=rank:pack --with-redundancy:pack \
		--keep:pack --dry-run:pack,unpack --force:unpack,extract \
		--fast:verify --directory=x:extract \
		--json:pack,unpack,list,extract,verify; do
		for verb in pack unpack list cat extract verify; do
			[[ ,${option#*:}, != *,$verb,* ]] || continue
			misused "${option%%[=:]*} cannot be used with $verb" \
				scr_container $verb "${option%:*}" 1 x
		done
	done
}

@test "--dump-paths: for completions, the files that begin so" {
	make p
	scr_container pack -q -p p 1
	[ "$(scr_container list -p p --dump-paths= 1 | wc -l)" -eq 16 ]
	[ "$(scr_container list -p p --dump-paths=ckpt.1/rank_3 1 | sort)" = \
		"$(printf 'ckpt.1/rank_3_%s.ckpt\n' 0 1)" ]
	[ -z "$(scr_container list -p p --dump-paths=x 1)" ]
}

@test "datasets that are missing, or were not indexed: exit 1, with advice" {
	mkdir -p p/.scr
	for verb in pack unpack list verify; do
		refuses 1 "1: no dataset of this name or number" \
			scr_container -p p $verb 1
	done
	warns 1 nothing scr_container -p p list nothing
	complains 1 nowhere scr_container -p nowhere list 1
	ends 1 scr_container --json -p p list nothing
	assert_json .datasets "[]"
	gen -p p -n 2
	for verb in pack unpack list verify "extract -C out" cat; do
		yields 1 "" scr_container -p p $verb 1 x
		assert_stderr_has "rank2file" "scr_index -p p --build 1"
	done
	[[ ! -e out && ! -e $ctr ]]
}

@test "several datasets: all are worked on, the exit status is the worst" {
	make p --type XOR
	make p --type XOR --id 2 --name ckpt.2
	scr_index -q -p p --build 2
	ends 1 scr_container -p p pack --size 10KB 1 nothing ckpt.2
	assert_output_has "ckpt.1: 16 files" "ckpt.2: 16 files"
	assert_stderr_has nothing
	rm p/.scr/scr.dataset.2/.scr/ctr.0.scr
	try scr_container -p p verify 2 1
	[ "$status" -eq 3 ] || [ "$status" -eq 4 ]
	assert_output_has "ckpt.1: whole" "ckpt.2: damaged"
	# A file that cannot be read is worse than damage.
	scr_container -q -p p unpack 1
	rm p/ckpt.1/rank_0_0.ckpt
	ends 1 scr_container -p p pack 1 nothing
	ends 1 scr_container -p p pack nothing 1
}

# --- Round trips -------------------------------------------------------------

# round OPTION...: pack p, check it in every way, unpack it.
round() {
	local was path

	was=$(state p)
	rm -rf out whole
	cp -a p whole
	ends 0 scr_container -p p pack "$@" 1
	[ -z "$stderr" ] ||
		assert_stderr_one_line "the next job restarts from it"
	assert_output_has packed
	[ -z "$(find p -path 'p/.scr' -prune -o -type f -size +0 -print \
		-o -name '.scrkit*' -print)" ]
	calm scr_container -p p verify 1
	assert_output_has "whole: "
	ends 0 scr_container -p p extract -C out 1
	diff -r -x .scr whole out
	calm scr_container -p p unpack 1
	assert_output_has unpacked
	assert_state "$was"
}

@test "with redundancy: metadata files come back as well" {
	local one type

	pick 2 XOR:999 PARTNER:100KB NONE:5000 RS:999 SINGLE:100KB RS:100KB \
		XOR:100KB SINGLE:999 PARTNER:999 NONE:5000
	for one in "${picked[@]}"; do
		type=${one%:*}
		make p --type $type
		touch -d @1234567890.123456789 $meta/filemap_2
		[[ $type == NONE ]] || chmod 640 $meta/reddesc.er.3.redset
		round --size ${one#*:} --with-redundancy
	done
}

@test "with redundancy: what is packed, and where" {
	make p --type XOR
	count=$(find $meta -name 'reddesc*' -o -name 'filemap_*' | wc -l)
	try scr_container -p p pack --with-redundancy --size 20000 1
	assert_output_has "packed into " " containers, metadata too"
	[ -z "$(find $meta -name 'reddesc*' -o -name 'filemap_*')" ]
	[[ -e $ctr/ctr.0.scr && -e $ctr/red.0.scr ]]
	try scr_container -p p list 1
	assert_output_has "$count metadata files packed too" .scr/red.0.scr
	# Data are readable without their redundancy.
	rm $ctr/red.*
	scr_container -p p extract -C out 1
	[ -e out/ckpt.1/rank_7_1.ckpt ]
}

@test "checksums are recorded as they were; the prefix may move while it is packed" {
	make p
	scr_index -q -p p --build 1 --checksums
	before=$(scr_inspect --sort -m keyval $meta/rank2file.0.*)
	scr_container -q -p p pack --size 12345 1
	scr_container -q -p p unpack 1
	diff <(echo "$before") <(scr_inspect --sort -m keyval $meta/rank2file.0.*)
	make p --type XOR
	was=$(state p)
	scr_container -q -p p pack --size 9999 --with-redundancy 1
	mv p q
	ln -s q link
	SCR_PREFIX=link ends 0 scr_container unpack ckpt.1
	rm link
	mv q p
	assert_state "$was"
}

@test "the string: files end to end, cut at the size; the order of nodes" {
	for order in "node d/b d/a d/c a/z" "rank d/b d/a d/c a/z" \
		"name a/z d/a d/b d/c"; do
		rm -rf p
		files p 100=d/b 250=d/a 0=d/e 1=d/c 300=a/z
		scr_container -q -p p pack --keep --size 64 --order "${order%% *}" 1
		containers_are 64 $(printf 'p/%s\n' ${order#* })
	done
	# The ranks in the order of their bytes.
	ranks() {
		scr_container -p p list 1 |
			sed -nE 's/^ *([0-9]+) .*ctr\.0\.scr ([0-9]+)\+.*/\2 \1/p' |
			sort -n | cut -d " " -f 2 | uniq | xargs
	}
	make p --type XOR --cyclic
	scr_container -q -p p pack --size 1MB 1
	prints "0 4 1 5 2 6 3 7" ranks
	scr_container -q -p p unpack 1
	scr_container -q -p p pack --size 1MB --order rank 1
	prints "0 1 2 3 4 5 6 7" ranks
}

@test "containers of one byte: of many bytes there are none; names with blanks and worse" {
	files p 10=a
	truncate -s 17000000 p/a
	was=$(state p)
	ends 2 scr_container -p p pack --size 1 1
	assert_stderr_one_line "17000000 containers" "use a larger size"
	assert_state "$was"
	rm -r p
	names=("a b" $'new\nline' " blank first" "last " 'back\slash' "Zürich"
		$'tab\tin' "*" "-n" "deep/er/and er/x" $'\x01\xff' "\$(id)" "'")
	specs=()
	for name in "${names[@]}"; do
		specs+=("$((RANDOM % 500 + 1))=dir/$name")
	done
	files p "${specs[@]}"
	round --size 333
	scr_container -q -p p pack --size 333 1
	scr_container -p p cat 1 "${names[@]/#/dir/}" |
		cmp - <(cat "${names[@]/#/whole/dir/}")
	# One line for each file, whatever its name.
	try scr_container -p p list 1
	[ "$(grep -c ' dir/' <<<"$output")" -eq "${#names[@]}" ]
	assert_output_has 'new\nline' 'tab\tin' '\x01\xff' 'back\\slash'
	try scr_container -p p --json list 1
	assert_json '.datasets[0].packed_files | length, .[1].path' \
		"${#names[@]}"$'\ndir/new\nline'
}

@test "one container for all by default, no more readable than the files" {
	files p 100=a 250=c
	chmod 600 p/a p/c
	scr_container -q -p p pack 1
	prints ctr.0.scr ls $ctr
	prints "350 600" stat -c "%s %a" $ctr/ctr.0.scr
	shows "in 1 container of 100.0 GiB" scr_container -p p list 1
}

@test "empty files: no segment, and whole with or without a file" {
	files p 0=a 10=b 0=c/d
	round --size 4
	scr_container -q -p p pack --size 4 1
	[[ -e p/a && -e p/c/d ]]
	rm -r p/a p/c
	ends 0 scr_container -p p verify 1
	prints "" scr_container -p p cat 1 a
	scr_container -q -p p extract -C empty 1 c/d
	[ -f empty/c/d ]
	scr_container -q -p p unpack 1
	[[ -f p/a && -f p/c/d && ! -s p/a ]]
	# Only empty files; no files at all.
	rm -rf p
	files p 0=a 0=b
	round
	rm -rf p
	files p
	ends 0 scr_container -p p pack 1
	calm scr_container -p p unpack 1
}

@test "more than 8192 ranks: several parts; ranks without files" {
	local none='    %d\n      FILES\n        0\n'

	files p 100=f{0..9}
	# The files belong to ranks 8190 to 8199; the other ranks have none.
	head='  RANKS\n    8200\n  LEVEL\n    0\n  RANK\n'
	one='    %d\n      FILES\n        1\n      FILE\n        f%d\n'
	{
		printf "$head"
		printf "$none" {0..8189}
		printf "$one" 8190 0 8191 1
	} | craft $meta/rank2file.0.0
	{
		printf "$head"
		printf "$one" 8192 2 8193 3 8194 4 8195 5 8196 6 8197 7 8198 8 8199 9
	} | craft $meta/rank2file.0.8192
	{
		top 8200 .0.0
		printf '    8192\n      OFFSET\n        0\n      FILE\n        .0.8192\n'
	} | craft $meta/rank2file
	round --size 333
}

# --- Reading -----------------------------------------------------------------

@test "cat: bytes of files, in the order asked for; a reader that stops; no such file" {
	local two='ckpt.1/rank_5_1.ckpt ckpt.1/rank_0_0.ckpt'

	make whole
	cp -a whole p
	scr_container -q -p p pack --size 5000 1
	for _ in packed not; do
		scr_container -p p cat 1 $two | cmp - <(cd whole && cat $two)
		scr_container -p p cat 1 'ckpt.1/rank_?_1.ckpt' |
			cmp - <(cat whole/ckpt.1/rank_?_1.ckpt)
		refuses 1 "ckpt.1/nothing;no file of dataset ckpt.1" \
			scr_container -p p cat 1 ckpt.1/nothing
		yields 1 "" scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt 'no*thing'
		run bash -c 'scr_container -p p cat 1 "*" 2>/dev/null | head -c 10 | wc -c'
		assert_output_is 10
		complains 1 "No space left on device" bash -c \
			'scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt >/dev/full'
		scr_container -q -p p unpack 1
	done
}

@test "cat, extract, verify of a map that knows no sizes" {
	files p 100=a 250=c
	scr_container -p p cat 1 a | cmp - p/a
	scr_container -p p extract -C out 1
	cmp out/c p/c
	ends 0 scr_container -p p verify 1
	rm p/a
	warns 4 "a (rank 0): missing" scr_container -p p verify 1
}

@test "extract: some files, with modes and times, not over others" {
	make p
	cp -a p whole
	scr_container -q -p p pack --size 5000 1
	shows "ckpt.1: 5 files;extracted to deep" scr_container -p p extract -C deep 1 \
		'ckpt.1/rank_[13]_*' ckpt.1/rank_4_0.ckpt
	[ "$(find deep -type f | wc -l)" -eq 5 ]
	diff <(tree_stat deep | grep -v '/ d ') \
		<(tree_stat whole | grep -E '^ckpt.1/rank_([13]_.|4_0)\.')
	before=$(tree_stat deep)
	complains 1 "ckpt.1/rank_3_0.ckpt;File exists;--force" scr_container -p p \
		extract -C deep 1 ckpt.1/rank_2_0.ckpt ckpt.1/rank_3_0.ckpt
	[ "$before" = "$(tree_stat deep)" ]
	echo other >deep/ckpt.1/rank_1_0.ckpt
	ends 0 scr_container -p p extract -f -C deep 1
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
	chmod 777 out # anybody's link
	rejects scr_container -p p extract -f -C out 1
	[ -z "$(ls canary)" ]
	rm out/ckpt.1
	mkdir -m 777 out/ckpt.1
	touch canary/file
	ln -s ../../canary/file out/ckpt.1/rank_0_0.ckpt
	ends 1 scr_container -p p extract -C out 1
	[ ! -s canary/file ]
	complains 1 canary/file scr_container -p p extract -C canary/file 1
}

@test "list: ranks, sizes, segments; containers and how full they are" {
	files p 100=a 0=b 250=c
	shows "3 files, not packed" scr_container -p p list 1
	scr_container -q -p p pack --size 140 1
	calm scr_container -p p list 1
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
	shows "few: 3 files;CONTAINER" scr_container -p p list --sort -size 1
	[[ $(grep -oE '(d/b|a/z)[0-9]*' <<<"$output" | xargs) == "a/z d/b9 d/b10" ]]
}

@test "list: not more than 200 files, verify: than 20 flaws, without -v" {
	files p 1=f{1..210}
	scr_container -q -p p pack 1
	shows "... and 10 more (-v: all)" scr_container -p p list 1
	assert_output_lacks " f210 "
	try scr_container -v -p p list 1
	assert_output_lacks more
	assert_output_has " f210 "
	rm $ctr/ctr.0.scr
	warns 4 "(-v shows all)" scr_container -p p verify 1
	[ "$(wc -l <<<"$stderr")" -eq 22 ] # the last one: next
	try scr_container -v -p p verify 1
	[ "$(grep -c 'f[0-9]* (rank' <<<"$stderr")" -eq 210 ]
}

@test "JSON of everything" {
	files p 100=a 0=b 250=c
	while IFS=';' read -r status args filter want; do
		eval "$(sed -n 's/^!//p' <<<"$status")"
		[[ $status == !* ]] || {
			[[ -z $status ]] || ends $status scr_container --json -p p $args
			assert_json ".datasets[0] | $filter" "$want"
		}
	done <<-'END'
		0;pack --size 140 1;[.file_count, .bytes, .container_count, .removed, .done_before];[2,350,3,2,false]
		0;pack 1;.done_before;true
		0;list 1;[.id, .layout, .packed, .bytes, .container_size];[1,3,true,350,140]
		;;.packed_files[2] | [.path, .rank, .size, (.crc32 | type)];["c",2,250,"string"]
		;;.packed_files[2].segments[1];{"container":".scr/ctr.1.scr","offset":0,"length":140}
		;;[.containers[] | [.name, .size, .used_bytes, .file_count]];[[".scr/ctr.0.scr",140,140,2],[".scr/ctr.1.scr",140,140,1],[".scr/ctr.2.scr",70,70,1]]
		0;verify 1;[.file_count, .files_bad, .container_count, .status, .problems];[3,0,3,0,[]]
		!flip $ctr/ctr.1.scr 7
		4;verify 1;[.files_bad, .containers_bad, .status];[1,1,4]
		;;[.problems[] | .path // .container];["c",".scr/ctr.1.scr"]
		!flip $ctr/ctr.1.scr 7
		0;extract -C out 1 a b;[.file_count, .bytes];[2,100]
		0;unpack 1;[.file_count, .container_count, .removed, .adopted];[2,3,3,1]
	END
}

@test "-q prints only errors" {
	make p
	for verb in "pack --size 5000" "pack" list verify "extract -C out" \
		unpack unpack list verify; do
		prints "" scr_container -q -p p $verb 1
		assert_stderr_empty
	done
	rm p/ckpt.1/rank_0_0.ckpt
	refuses 4 rank_0_0.ckpt scr_container -q -p p pack 1
}

# --- Repeated and partial runs -----------------------------------------------

@test "pack twice, unpack twice: nothing to do" {
	make p --type XOR
	scr_container -q -p p pack --size 5000 --with-redundancy 1
	was=$(state p)
	for option in "" --keep "--size 77" --with-redundancy --dry-run; do
		prints "ckpt.1: is packed already: nothing to do" scr_container -p p pack $option 1
	done
	for option in "" "--size 5000" --dry-run; do
		ends 0 scr_container -p p repack $option 1
		assert_output_has "ckpt.1: its 41 containers have this size" \
			" and order already: nothing to do; "
	done
	assert_state "$was"
	scr_container -q -p p unpack 1
	was=$(state p)
	calm scr_container -p p unpack 1
	assert_output_is "ckpt.1: is unpacked already: nothing to do"
	assert_state "$was"
}

# --dry-run refuses what the run refuses, and promises what it does.
@test "unpack --dry-run looks at the containers, as the run does" {
	make whole --type XOR
	cp -a whole/ckpt.1 plain
	scr_container -q -p whole pack --size 20000 --with-redundancy 1
	local change said
	for change in "rm $ctr/ctr.3.scr" "truncate -s -5 $ctr/ctr.3.scr" \
		"truncate -s +5 $ctr/ctr.3.scr" "truncate -s 0 $ctr/ctr.0.scr" \
		"rm $ctr/red.1.scr" "truncate -s -5 $ctr/red.1.scr" \
		"rm $ctr/ctr.3.scr && mkdir $ctr/ctr.3.scr"; do
		renew whole
		eval "$change"
		was=$(state p)
		try scr_container -p p unpack --dry-run 1
		assert_state "$was"
		said=$status:${output/would be /}:$stderr
		try scr_container -p p unpack 1
		[ "$said" = "$status:$output:$stderr" ] ||
			failed "after $change: $said"
	done
	renew whole
	rm "$ctr/ctr.3.scr"
	refuses 3 "ctr.3.scr: missing: scr_rebuild -p p 1" \
		scr_container -p p unpack --dry-run 1
	# A container that no missing file needs.
	renew plain p/ckpt.1
	shows "16 were present already" scr_container -p p unpack --dry-run 1
}

@test "--dry-run counts what the run does, and changes nothing" {
	make p --type XOR
	was=$(state p)
	try scr_container -p p pack -n --size 50000 --order name 1
	assert_output_has "16 files (" "would be packed into "
	json_of() { ends 0 scr_container -p p --json "$@" 1; }
	for verb in "pack --keep --with-redundancy" pack "repack --size 9000" \
		repack unpack unpack pack pack; do
		json_of $verb --dry-run
		promised=$output
		assert_state "$was"
		json_of $verb
		assert_output_is "$promised"
		was=$(state p)
	done
	scr_container -q -p p unpack 1
	scr_container -q -p p pack --keep 1
	prints "ckpt.1: is packed already, 16 left-over files would be removed" \
		scr_container -p p pack --dry-run 1
}

@test "--keep leaves the originals, another pack removes them, but not what has changed" {
	make p
	scr_container -q -p p pack --keep --size 5000 1
	printf '\nmore\n' >>p/ckpt.1/rank_0_0.ckpt
	time=$(stat -c %y p/ckpt.1/rank_0_1.ckpt)
	flip p/ckpt.1/rank_0_1.ckpt 5
	touch -d "$time" p/ckpt.1/rank_0_1.ckpt
	shows "2 files kept" scr_container -p p pack 1
	[ "$(find p/ckpt.1 -type f | wc -l)" -eq 2 ]
	tail -n 1 p/ckpt.1/rank_0_0.ckpt | grep -qx more
	make p --type XOR
	was=$(state p)
	ends 0 scr_container -p p pack --keep --size 5000 --with-redundancy 1
	[[ -e p/ckpt.1/rank_0_0.ckpt && -e $meta/filemap_0 ]]
	[ -e $ctr/ctr.0.scr ]
	ends 0 scr_container -p p verify 1
	shows "56 left-over files removed" scr_container -p p pack 1
	[ ! -e p/ckpt.1/rank_0_0.ckpt ]
	[ -z "$(find $meta -name 'reddesc*' -o -name 'filemap_*')" ]
	scr_container -q -p p unpack 1
	assert_state "$was"
	# Originals that exist when it is unpacked.
	scr_container -q -p p pack --keep --size 5000 1
	shows "16 were present already" scr_container -p p unpack 1
	assert_state "$was"
}

@test "unpack: a file in the way is not replaced without --force" {
	make p
	was=$(state p)
	scr_container -q -p p pack --size 5000 1
	packed=$(tree_sha p | grep /ctr)
	echo other >p/ckpt.1/rank_6_1.ckpt
	ends 1 scr_container -p p unpack 1
	assert_stderr_one_line ckpt.1/rank_6_1.ckpt "differs from the packed file" --force
	[[ $stderr != *"File exists"* ]]
	[ "$(cat p/ckpt.1/rank_6_1.ckpt)" = other ]
	[ "$packed" = "$(tree_sha p | grep /ctr)" ]
	[ "$(find p/ckpt.1 -type f | wc -l)" -eq 1 ]
	ends 0 scr_container -p p unpack --force 1
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
			rejects scr_container -p p unpack $force 1
			assert_stderr_one_line ckpt.1/rank_6_1.ckpt
			rm -d p/ckpt.1/rank_6_1.ckpt
		done
	done
	[ "$(cat canary)" = canary ]
	ends 0 scr_container -p p unpack 1
	assert_state "$was"
	# A link in place of a directory.
	scr_container -q -p p pack --size 5000 1
	rmdir p/ckpt.1
	mkdir other
	ln -s ../other p/ckpt.1
	chmod 777 p # anybody's link
	rejects scr_container -p p unpack --force 1
	[ -z "$(ls other)" ]
	rm p/ckpt.1
	# Directories are restored.
	scr_container -q -p p unpack 1
	assert_state "$was"
}

# --- Refusals ----------------------------------------------------------------

# refused STATUS TEXT...: packing p fails with one line and changes nothing.
refused() {
	local was

	was=$(state p)
	for option in "" --with-redundancy --keep; do
		yields "$1" "" scr_container -p p pack --size 5000 $option 1
		assert_stderr_one_line "${@:2}"
	done
	assert_state "$was"
}

@test "pack: originals that are missing or not as recorded" {
	local file=p/ckpt.1/rank_3_0.ckpt name=ckpt.1/rank_3_0.ckpt status what texts

	make whole
	scr_index -q -p whole --build 1 --checksums
	chmod u+w "whole/$name"
	while IFS='|' read -r status what texts; do
		renew whole
		eval "$what"
		IFS='|' read -ra texts <<<"$texts"
		refused $status ckpt.1/rank_ "${texts[@]}"
	done <<-END
		4|rm $file|$name|rank 3|missing
		4|rm -r p/ckpt.1|missing
		4|truncate -s -1 $file|$name|bytes long, should be
		4|truncate -s +1 $file|$name|bytes long, should be
		4|flip $file 77|$name|rank 3|checksum is 0x|should be 0x
		3|mv $file away; ln -s ../../away $file|$name|not a plain file
		3|rm $file; mkdir $file|$name|not a plain file
	END
}

@test "pack: files that two ranks name, and a map that lacks some" {
	files whole 100=a 250=c
	for case in "s/^        c$/        a/|2|a: is a file of rank 0 and of" \
		"s/^    1$/    5/|1|no rank of the job" \
		"/^    1$/,\$d|3|scr_index -p p --build 1" \
		"/^    1$/,\$d|3|files of rank 1 are missing"; do
		IFS='|' read -r filter code text <<<"$case"
		renew whole
		edit $meta/rank2file.0.0 sed "$filter"
		refused "$code" "$text"
	done
}

@test "no room to pack or to unpack: noticed before anything is written" {
	privately && return
	mkdir p
	mount -t tmpfs -o size=2m none p
	make p --size 40000,10000
	head -c 1M /dev/zero >p/ballast
	was=$(state p)
	for option in "" -n --with-redundancy --keep; do
		complains 1 "needed for the containers;free;No space left on device" \
			scr_container -p p pack --size 100000 $option 1
		assert_state "$was"
	done
	rm p/ballast
	was=$(state p)
	scr_container -q -p p pack --size 100000 1
	head -c 900K /dev/zero >p/ballast
	packed=$(state p)
	for option in "" -n; do
		ends 1 scr_container -p p unpack $option 1
		assert_stderr_one_line "needed for the files" free
		assert_state "$packed"
	done
	warns 1 "No space left on device" scr_container -p p extract -C p/out 1
	[ -z "$(find p/out -type f 2>/dev/null)" ]
	rm -rf p/ballast p/out
	scr_container -q -p p unpack 1
	assert_state "$was"
	# Space is needed only for files that are still to be written.
	scr_container -q -p p pack --keep --size 100000 1
	head -c "$(df --output=avail -B 1 p | tail -n 1)" /dev/zero >p/ballast ||
		true
	truncate -s -100000 p/ballast
	ends 0 scr_container -p p unpack 1
	rm p/ballast
	assert_state "$was"
}

# --- Damage ------------------------------------------------------------------

# damaged HOW TEXT...: dataset packed is damaged by the command HOW.  verify
# ends with 4 and has each TEXT in its messages, no command can read file b, and
# nothing is changed.
damaged() {
	local was

	copy packed
	eval "$1"
	was=$(state p)
	ends 4 scr_container -p p verify 1
	[[ $output == *": damaged: "* || $output == *": lost: "* ]]
	assert_stderr_has "${@:2}"
	for verb in "extract -C out" cat; do
		rejects scr_container -p p $verb 1 b
	done
	[ -z "$(find out -type f)" ]
	rejects scr_container -p p unpack 1
	assert_state "$was"
}

@test "a flipped byte: verify names the file and the container" {
	for at in ctr.0.scr:100 ctr.1.scr:0 ctr.1.scr:139 ctr.2.scr:69; do
		damaged "flip $ctr/${at/:/ }" "b (rank 1): checksum is 0x" \
			".scr/${at%:*}: checksum is 0x"
		try scr_container -p p verify 1
		assert_output_has "lost: 1 of 3 files and 1 of 4 containers"
		# The other files are readable.
		scr_container -q -p p cat 1 a c >/dev/null
		# Sizes do not show the damage.
		ends 0 scr_container -p p verify --fast 1
	done
	for command in "cat -p p 1 b" "unpack -p p 1"; do
		complains 4 "b (rank 1): checksum is 0x" scr_container $command
	done
}

@test "33.24 damage that no redundancy can repair is called lost by every verb, with the next step" {
	local one=$ctr/ctr.0.scr status whole what verb

	gen -p x -n 4 -t XOR -s 5000
	gen -p s -n 4 -t SINGLE -s 5000
	for what in "4 x rm $one" "4 x truncate -s 100 $one" "3 x flip $one 2000" \
		"4 s rm $one" "4 s flip $one 2000"; do
		read -r status whole what <<<"$what"
		rm -rf p out
		cp -a $whole p
		scr_index -q -p p --build 1
		scr_container -q -p p pack 1
		$what
		for verb in "verify 1" "unpack 1" "repack --size 4000 1" \
			"extract -C out 1" "cat 1 ckpt.1/rank_0.ckpt"; do
			ends $status scr_container -p p $verb
			[[ $verb == verify* ]] || ((status == 3)) ||
				assert_stderr_one_line "no redundancy can restore it: scr_postrun -p p"
		done
		ends $status scr_archive -p p export -o out.tar 1
		ends $status scr_rebuild -p p --checksums -n 1
	done
}

@test "33: verify promises only a repair that was tried" {
	local red

	gen -p p -n 4 -t XOR -s 5000
	scr_index -q -p p --build 1
	scr_container -q -p p pack 1
	flip $ctr/ctr.0.scr 2000
	ends 3 scr_container -p p verify 1
	red=$(echo p/.scr/scr.dataset.1/reddesc.er.2.xor.*)
	flip "$red" $(($(stat -c %s "$red") - 1000))
	ends 4 scr_container -p p verify 1
	ends 4 scr_rebuild -p p --checksums -n 1
	ends 4 scr_rebuild -p p --checksums 1
}

@test "33.24 what stands in the place of an empty file loses no data" {
	local file what layout

	built whole 1 --checksums -n 2 -t SINGLE -f 2 -s 0,500
	scr_container -q -p whole pack --layout 1 1
	scr_container -q -p whole pack 1
	for layout in 1 3; do
		file=p/ckpt.1/rank_0_0.ckpt
		((layout == 3)) || file=p/scr.dataset.1/ckpt.1/rank_0_0.ckpt
		while IFS=: read -r what problem; do
			rm -rf p out
			cp -a whole p
			[[ -f $file ]]
			rm $file
			chmod o+w "${file%/*}" # whose links are not trusted
			eval "$what"
			if ((layout == 1)); then
				try scr_container -p p verify scr.dataset.1
			else
				try scr_container -p p verify 1
			fi
			((status == ${problem:+3}+0)) || failed "expected ${problem:+3}"
			assert_stderr_has "$problem"
		done <<-\END
			:
			ln -s nowhere $file:
			ln -s /nowhere $file:leaves the prefix
			ln -s /etc/passwd $file:leaves the prefix
			mkdir $file:not a file
			echo more >$file:5 bytes long, should be 0
		END
	done
}

@test "a container that is too short, too long, missing, swapped, no file" {
	local one=$ctr/ctr.1.scr two=$ctr/ctr.2.scr

	damaged "truncate -s 100 $one" \
		".scr/ctr.1.scr: 100 bytes long, its files need 140" \
		"b (rank 1): damaged: bytes 0 to 139 of .scr/ctr.1.scr"
	ends 4 scr_container -p p verify --fast 1
	damaged "truncate -s 0 $two" ".scr/ctr.2.scr: 0 bytes long" \
		"b (rank 1)" "c (rank 2)"
	damaged "rm $one" ".scr/ctr.1.scr: missing" "b (rank 1)"
	ends 4 scr_container -p p verify --fast 1
	damaged "rm -r $ctr" "a (rank 0)" "b (rank 1)" "c (rank 2)"
	damaged "mv $one x; mv $two $one; mv x $two" "b (rank 1): checksum" \
		"c (rank 2): checksum" ".scr/ctr.1.scr: checksum" \
		".scr/ctr.2.scr: checksum"
	for kind in mkdir mkfifo; do
		damaged "rm $one; $kind $one" .scr/ctr.1.scr "b (rank 1)"
	done
	copy packed
	echo more >>$one
	warns 3 ".scr/ctr.1.scr: 145 bytes long, recorded are 140" scr_container -p p verify 1
	copy packed
	mv $one x
	ln -s ../../../../x $one
	chmod 777 $ctr # anybody's link
	rejects scr_container -p p verify 1
	assert_stderr_has .scr/ctr.1.scr
	rejects scr_container -p p cat 1 b
	assert_output_is ""
}

@test "packed redundancy that is damaged or missing does not prevent unpack" {
	make whole --type XOR
	scr_container -q -p whole pack --size 1MB --with-redundancy 1
	for how in "flip $ctr/red.0.scr 10" "truncate -s 10 $ctr/red.0.scr" \
		"rm $ctr/red.0.scr"; do
		renew whole
		$how
		rejects scr_container -p p verify 1
		assert_stderr_has red.0.scr
	done
	# It is not lost when it cannot be unpacked.
	renew whole
	flip $ctr/red.0.scr 10
	complains 3 reddesc scr_container -p p unpack 1
	assert_stderr_has "scr_rebuild -p p --checksums 1"
	flip $ctr/red.0.scr 10
	diff <(tree_sha p) <(tree_sha whole)
	rm -rf p whole
	make p --type XOR
	(cd p/ckpt.1 && sha256sum -- *) >sums
	scr_container -q -p p pack --size 1MB --with-redundancy 1
	cp -a p whole
	for how in "rm $ctr/red.1.scr" "truncate -s 10 $ctr/red.2.scr" \
		"rm $ctr/red.0.scr $ctr/red.2.scr" "rm $(echo $ctr/red.*)"; do
		for force in "" -f; do
			renew whole
			$how
			for option in -n $force; do
				complains 0 "redundancy files were lost" \
					scr_container -p p unpack $option 1
			done
			[[ -n $force ]] || continue
			(cd p/ckpt.1 && sha256sum --quiet -c) <sums
			[ ! -e $ctr ]
		done
		[[ $how = *red.*red.* ]] || scr_rebuild -q -p p 1
	done
}

@test "damage of files that are not packed" {
	make p
	try scr_container -p p verify 1
	assert_output_is "ckpt.1: whole: 16 files, 189.2 KiB, not packed"
	scr_index -q -p p --build 1 --checksums
	shows whole scr_container -p p verify 1
	chmod u+w p/ckpt.1/*
	flip p/ckpt.1/rank_2_0.ckpt 5
	try scr_container -p p verify 1
	[ "$status" -ge 3 ]
	assert_stderr_has "ckpt.1/rank_2_0.ckpt (rank 2): checksum is 0x"
	ends 0 scr_container -p p verify --fast 1
	truncate -s 5 p/ckpt.1/rank_2_0.ckpt
	try scr_container -p p verify --fast 1
	[ "$status" -ge 3 ]
	assert_stderr_has "ckpt.1/rank_2_0.ckpt (rank 2): 5 bytes long"
}

# --- Malformed maps ----------------------------------------------------------

# The part of the map.
part() {
	echo $meta/rank2file.0.*
}

# contradicted HOW TEXT...: the same as damaged() for a map that contradicts itself: it
# is unknown what is lost, and nothing is rebuilt.
contradicted() {
	local was

	copy packed
	eval "$1"
	was=$(state p)
	finds 1 "whether the data can be repaired is unknown" scr_container -p p verify 1
	assert_stderr_has "${@:2}"
	for command in "scr_container unpack" "scr_container repack --size 90" \
		scr_rebuild "scr_index --build"; do
		rejects $command 1 -p p
		((status != 2)) || failed
	done
	assert_state "$was"
}

# shellcheck disable=SC2016 # for eval
@test "segments: gaps, overlaps, sums" {
	copy packed
	change "$(part)" OFFSET 100 90
	ends 1 scr_container -p p verify 1
	assert_stderr_has ".scr/ctr.0.scr: bytes 90 to 99 belong to a and to b" \
		".scr/ctr.0.scr: bytes 130 to 139 belong to no file"
	contradicted 'change "$(part)" LENGTH 40 30' \
		"b: 250 bytes long, its segments 240" \
		".scr/ctr.0.scr: bytes 130 to 139 belong to no file"
	contradicted 'change "$(part)" LENGTH 40 50' \
		"b: 250 bytes long, its segments 260" \
		".scr/ctr.0.scr: b reaches 10 bytes beyond its recorded end"
	contradicted 'change "$(part)" SIZE 250 3' "b: 3 bytes long, its segments 250"
	# 33.24: no rebuild writes at such an offset.
	contradicted 'change "$(part)" OFFSET 100 4611686018427387904' \
		"beyond its recorded end"
	# A hole in the map: b is in only two containers, or in one twice.
	contradicted 'change "$(part)" FILE .scr/ctr.1.scr .scr/ctr.3.scr' \
		"bytes 0 to 129 belong to c and to b"
}

@test "malicious maps and paths are refused" {
	for name in ../x /etc/passwd .scr/../../../../x .; do
		copy packed
		edit "$(part)" sed "s,\\.scr/ctr\\.1\\.scr,$name,"
		for verb in verify list pack unpack "extract -C out"; do
			refuses 1 "not a plain path below" scr_container -p p $verb 1
		done
	done
	for number in 9223372036854775807 18446744073709551615 -1 x ""; do
		copy packed
		rm $meta/copy.*
		change "$(part)" OFFSET 100 "$number"
		complains 1 "scr.dataset.1: " scr_container -p p unpack 1
		[ ! -e p/a ]
	done
	copy packed
	change "$(part)" LENGTH 40 0
	complains 1 "rank 1, b, segment 0: of no bytes" scr_container -p p verify 1
	echo canary >canary
	for path in ../canary /tmp/scrkit-canary a/../../canary; do
		copy packed
		edit "$(part)" sed "s,^        b\$,        $path,"
		for verb in "extract -C out" unpack; do
			rejects scr_container -p p $verb 1
			assert_stderr_has "$path"
		done
		[[ "$(cat canary)" == canary && ! -e /tmp/scrkit-canary ]]
		[ ! -e p/a ]
	done
}

# --- Interruptions -----------------------------------------------------------

@test "an original that changes while it is packed is not removed" {
	files p 1000=a
	# Change the file as soon as its container has data.
	(
		for _ in {1..1000}; do
			[ ! -s $ctr/ctr.0.scr ] || break
			sleep 0.01
		done
		echo more >>p/a
	) 3>&- &
	complains 1 "a: changed while it was packed" \
		env LD_PRELOAD="${SHIM%/*}/slow.so" SLOW_PATH=/ctr. \
		SLOW_USEC=200000 scr_container -p p pack -j 1 1
	wait
	tail -n 1 p/a | grep -qx more
}

@test "a lock held by another process: reported, and waited for" {
	local lock=$meta/.scrkit.lock

	command -v flock >/dev/null || skip "no flock(1)"
	make p
	# A command that changes nothing does not wait.
	calm flock $lock scr_container -p p verify 1
	rejects flock $lock timeout -s INT 0.3 scr_container -q -p p pack 1
	[ ! -e $ctr ]
	for verb in pack unpack; do
		waits_for $lock scr_container -p p $verb 1
	done
}

@test "several at once do not disturb each other" {
	make p
	was=$(state p)
	for verb in pack unpack; do
		for i in 1 2 3; do
			scr_container -p p $verb 1 >"out.$i" 2>&1 3>&- &
		done
		wait
		[ "$(cat out.? | grep -c "${verb}ed already")" -eq 2 ]
		scr_container -q -p p verify 1
	done
	assert_state "$was"
}

# abandoned STATUS [VARIABLE=VALUE]...: a pack of dataset small, as p, that fails at
# a container.
abandoned() {
	renew small
	ends "$1" env LD_PRELOAD="$SHIM" SHIM_PATH=ctr. "${@:2}" \
		scr_container -q -j 1 -p p pack --size 1500 1
}

@test "a pack that was killed, or met a full disk: nothing of it is left" {
	built small 1 --checksums -n 2 -m 2 -f 2 -s 1000,500 \
		--recorded-prefix /job/p
	abandoned 137 SHIM_KILL_AT=6
	[ -e $ctr/ctr.1.scr ]
	cp -a p q
	scr_container -q -p p unpack 1
	diff <(cd small && state .) <(cd p && state .)
	# Of another size: no old container is left.
	scr_container -q -p q pack --size 1MB 1
	prints ctr.0.scr ls q/.scr/scr.dataset.1/.scr
	abandoned 1 SHIM_FAIL_AT=6 SHIM_ERRNO=ENOSPC SHIM_STICKY=1
	assert_stderr_one_line "No space left on device"
	diff <(cd small && state .) <(cd p && state .)
}
