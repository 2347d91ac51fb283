#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086 # words

load helper

# make NAME OPTION...: make a dataset on prefix NAME, 8 ranks on 4 nodes.
make() {
	local name=$1

	shift
	gen -p "$name" --nodes-dir "$name.nodes" -n 8 -m 4 -s 10000,5000 \
		--recorded-prefix /job/p "$@"
}

# --- Usage -------------------------------------------------------------------

@test "usage errors; missing and foreign files give one line and exit status 1" {
	mkdir empty
	printf 'hello\n' >text
	for arg in nowhere empty text; do
		complains 1 "$arg" scr_inspect "$arg"
		assert_output_is ""
	done
	complains 1 "no index and no datasets" scr_inspect
	misused nonsense scr_inspect --nonsense
	misused xml scr_inspect -m xml file
	misused 0 scr_inspect -j 0 file
}

# --- Metadata files -----------------------------------------------------------

@test "bytes behind an image are reported, the image is printed" {
	make p
	cp p/.scr/nodes.scr longer
	printf behind >>longer
	prints "  NODES = 4" scr_inspect longer
	assert_stderr_one_line "6 bytes after the metadata"
	try scr_inspect -q longer
	assert_stderr_empty
}

@test "of a redundancy file the header is printed, and the size of its body; JSON" {
	make p
	f=p/.scr/scr.dataset.1/reddesc.er.0.xor.grp_1_of_2.mem_1_of_4.redset
	ends 0 scr_inspect "$f"
	assert_stderr_empty
	chunk=$(sed -n 's/^  CHUNK = //p' <<<"$output")
	[ "$chunk" -gt 0 ]
	assert_line "^  \(then $chunk bytes of redundancy\)$"
	# LLNL's formats do not contain it.
	try scr_inspect -m keyval "$f"
	assert_output_lacks redundancy
	ends 0 scr_inspect --json p/.scr/nodes.scr
	assert_output_has '"format": "kvtree"' '"NODES": "4"' '"status": 0'
	ends 1 scr_inspect --json p/.scr/nodes.scr nowhere
	assert_output_has '"NODES": "4"' '"errors": [' nowhere '"status": 1'
}

@test "the log is printed as it is, and as JSON line by line" {
	cat >log <<-'END'
	2026-11-20T22:53:38: host=node0, jobid=1000, event=START, procs=4, nodes=4
	2026-11-20T22:53:40: host=node0, jobid=1000, event=FLUSH_SUCCESS, dset=1, name="a, b", secs=1.5
	nonsense
	END
	scr_inspect log | cmp - log
	ends 0 scr_inspect --json log
	assert_output_has '"event": "START"' '"process_count": 4' '"name": "a, b"' \
		'"seconds": 1.5' '"unparsed": "nonsense"'
}

# --- A prefix ----------------------------------------------------------------

@test "a whole dataset: exit status 0, and what could be lost next" {
	make p
	ends 0 scr_inspect p
	assert_output_has "prefix p" "XOR, 2 sets of 4" \
		"the loss of any 1 rank in each set" "scr_index -p p --build 1"
	assert_line "^ +1 +ckpt.1 .* whole "
	before=$(tree_stat p)
	scr_inspect p --deep --checksums --files --map >/dev/null
	[ "$before" = "$(tree_stat p)" ]
}

@test "a lost node: exit status 3, the ranks, the files, the command to run" {
	make p --lose 2 --files 2
	ends 3 scr_inspect p
	assert_output_has "4 files (" "2 filemaps" "4 redundancy files" damaged
	ends 3 scr_inspect -p p ckpt.1
	assert_output_has "ranks 4 5 lack 4 files" \
		"next:       scr_index -p p --build 1" \
		"after a rebuild the loss of any 1 rank in each set"
	assert_line "^ +4  ckpt.1/rank_4_0.ckpt .* missing +can be rebuilt$"
	assert_line "^ +5  filemap_5 +missing +can be rebuilt$"
	assert_line "^  2 of 2  files +XOR +0 of 1 .* 1 3 5 7  5 +can be rebuilt$"
}

@test "two lost nodes: exit status 4, and why; only of what is there is told what could be lost" {
	make p --lose 1,2
	ends 4 scr_inspect p
	assert_line "^ +1  ckpt.1 .* lost *$"
	assert_output_has "cannot be rebuilt: ranks 2 4"
	assert_output_has "next:       scr_postrun -p p"
	assert_output_lacks "any 1 rank" "no loss"
	ends 4 scr_inspect -p p 1
	assert_output_lacks "tolerates"
	finds 4 '"state": "lost"' scr_inspect --json -p p 1
	# Of the sets, too, only those that are not lost.
	(($(grep -o '"tolerance_left": [0-9]*' <<<"$output" | wc -l) <
	$(grep -o '"tolerance":' <<<"$output" | wc -l)))
	make single --type SINGLE
	shows "tolerates   no loss" scr_inspect -p single 1
}

@test "redundancy of the data alone: the loss of a rank loses its filemap" {
	local sums lost

	for sums in "" --checksums; do
		rm -rf p
		make p -t RS
		[[ -z $sums ]] || scr_index -q -p p $sums --build 1
		rm p/.scr/*/reddescmap.*
		lost="no loss"
		# rank2file has the sizes, and restores filemaps.
		[[ -z $sums ]] || lost="the loss of any 2 ranks in each set"
		ends 0 scr_inspect -p p -d 1
		assert_line "tolerates   $lost\$"
		rm p/.scr/*/filemap_5 p/.scr/*/*.er.5.* p/ckpt.1/rank_5.ckpt
		ends $((${#sums} > 0 ? 3 : 4)) scr_inspect -p p -d 1
	done
	make q -t RS --layout cache
	rm q.nodes/node*/cache/*/*/*/.scr/reddescmap.*
	try scr_inspect q.nodes/node*/cache/*/*/scr.dataset.1
	assert_line "tolerates   no loss\$"
}

# formats.md 1.1: readers stop at the end of the image.
@test "bytes behind the kvtree of a filemap do not count, with --deep or not" {
	local deep sum

	make p
	scr_index -q -p p --build 1
	printf junk | tee -a p/.scr/*/filemap_2 >>"$(echo p/.scr/*/filemap_3)"
	for deep in "" --deep; do
		ends 0 scr_inspect -p p -d 1 ${deep:+"$deep"}
		assert_line "state       whole"
		assert_line "tolerates   the loss of any 1 rank in each set"
	done
	# The set restores a filemap from the bytes that it protects.
	sum=$(md5sum <p/.scr/scr.dataset.1/filemap_4)
	rm p/.scr/scr.dataset.1/filemap_4
	scr_rebuild -q -p p 1
	[[ $(md5sum <p/.scr/scr.dataset.1/filemap_4) == "$sum" ]]
	# Redundancy made now protects the bytes as they are.
	rm p/.scr/*/reddescmap.er.*.grp_2_of_2.*
	scr_index -q -p p --build 1
	ends 0 scr_inspect -p p -d 1 --deep
	assert_line "deep check  4 sets read"
}

@test "RS survives two nodes, PARTNER two that are not neighbours" {
	while read -r name code text options; do
		make "$name" $options
		finds "$code" "$text" scr_inspect "$name"
	done <<-'END'
		rs 3 k=2, --type RS --failures 2 --lose 0,1
		partner 3 PARTNER, --type PARTNER --lose 0,2
		partner2 4 PARTNER, --type PARTNER --lose 0,1
		single 4 SINGLE --type SINGLE --lose 3
	END
}

@test "a wrong size, a directory, a damaged header; unknown files are counted" {
	make p
	printf x >>p/ckpt.1/rank_0.ckpt
	finds 3 "wrong size" scr_inspect -p p 1
	rm p/ckpt.1/rank_0.ckpt
	mkdir p/ckpt.1/rank_0.ckpt
	damage p/.scr/scr.dataset.1/filemap_3 40 x
	ends 3 scr_inspect -p p 1
	assert_output_has "not a file" "checksum mismatch"
	rm -r p
	make p
	rm p/.scr/scr.dataset.1/{filemap_{0,2},reddesc*.er.*}
	ends 1 scr_inspect -p p 1
	assert_output_has "; the files of 2 ranks are unknown" \
		"ranks 0 2 lack 2 filemaps"
}

@test "lost redundancy of data that are there is damage, not loss" {
	make p
	rm p/.scr/scr.dataset.1/reddesc.er.{0,2}.xor.*
	finds 3 damaged scr_inspect -p p 1
	rm p/.scr/scr.dataset.1/reddesc*
	shows "redundancy  none" scr_inspect -p p 1
	[ "$status" -ne 4 ]
}

@test "a flipped bit: --checksums where one is recorded, --deep without; RS tells where" {
	make p --crc
	damage p/ckpt.1/rank_1.ckpt 500
	ends 0 scr_inspect p
	finds 3 "wrong checksum" scr_inspect -p p --checksums 1
	for type in XOR RS; do
		make $type --type $type
		damage $type/ckpt.1/rank_1.ckpt 500
		ends 0 scr_inspect $type
		finds 3 "set 2 of 2" scr_inspect -p $type --deep 1
	done
	assert_output_has "rank_1.ckpt of rank 1" "byte 500"
	ends 3 scr_inspect -p RS --deep --json 1
	assert_output_has '"findings": [' '"path": "ckpt.1/rank_1.ckpt"' \
		'"path_offset": 500'
}

@test "what filemaps tolerate does not hide that the data tolerate nothing" {
	make X --type XOR --ranks 4 --set-size 4
	rm X/ckpt.1/rank_1*
	ends 3 scr_inspect -p X 1
	assert_line "tolerates   no loss; after a rebuild the loss of any 1 rank"
}

@test "--deep: the damage counts in what is tolerated" {
	make XOR --type XOR
	damage XOR/ckpt.1/rank_1.ckpt 500
	ends 3 scr_inspect -p XOR --deep 1
	assert_line "  tolerates   no loss in some sets, 1 rank in others"
	make RS --type RS
	cp -a RS packed
	damage RS/ckpt.1/rank_1.ckpt 500
	ends 3 scr_inspect -p RS --deep 1
	assert_output_has "state       damaged: rank 1 lacks 1 file" \
		"tolerates   the loss of any 1 rank in each set, up to 2 in some; after a rebuild the loss of any 2 ranks"
	scr_index -q -p packed --build 1
	scr_container pack -q -p packed --size 1MB --with-redundancy 1
	damage packed/.scr/scr.dataset.1/.scr/ctr.0.scr 500
	try scr_inspect -p packed 1
	assert_line "  tolerates   the loss of any 2 containers"
	for how in --deep --checksums; do
		ends 3 scr_inspect -p packed $how 1
		assert_output_has "  tolerates   the loss of any 1 container; after a rebuild the loss of any 2 containers"
	done
}

@test "a set without redundancy files has lost them, in text and JSON" {
	make p --type PARTNER --set-size 4
	rm p/.scr/scr.dataset.1/reddesc.er.*2_of_2*
	try scr_inspect -p p 1
	assert_status 3 # computed again from whole data
	rm p/ckpt.1/rank_1.ckpt
	ends 4 scr_inspect -p p 1
	assert_line " lost +no redundancy file of it survived"
	try scr_inspect -p p 1 --json
	[[ $(jq -c '[.prefixes[0].datasets[0].plan.sets[].state]' <<<"$output") == \
		'["whole","whole","whole","lost"]' ]]
}

@test "a flushed dataset is checked by its rank2file" {
	dir=$(golden scr3/xor_4)
	cp -R "$dir/flushed/prefix" p
	chmod -R u+w p
	shows "restart from ckpt.1" scr_inspect p
	assert_line "^ +1  \*  ckpt.1 .* none +whole"
	rm p/ckpt.1/rank_2.ckpt
	finds 4 "rank_2.ckpt of rank 2: missing" scr_inspect p
	finds 4 "rank_2.ckpt of rank 2: missing" scr_inspect -p p 1
}

@test "halt conditions, nodes, restart point, datasets in the index only" {
	dir=$(golden scr3/index_multi)
	cp -R "$dir/s0_after_run" p0
	mkdir -p p/.scr
	cp p0/index.scr p/.scr
	cp "$(golden scr3/halt)/step_12.halt.scr" p/.scr/halt.scr
	try scr_inspect p
	assert_output_has "restart from ckpt.5" "reason with spaces" \
		"after 10 more checkpoints" "30 s before the allocation ends"
	# The directories of the files are missing.
	assert_status 4
	assert_line "5: its metadata directory is missing"
}

@test "a damaged index is reported, and the datasets are found all the same" {
	make p
	scr_index -q -p p --build 1
	damage p/.scr/index.scr 50 x
	sum=$(sha256sum <p/.scr/index.scr)
	ends 3 scr_inspect p
	assert_stderr_has index.scr "checksum mismatch"
	assert_line "^ +1 .* whole"
	[ "$sum" = "$(sha256sum <p/.scr/index.scr)" ]
}

@test "datasets are named by path, name and number; SCR_PREFIX is the default" {
	make p --name first
	for args in "-p p first" "-p p 1" "-p p -d first" "p -d 1" \
		p/.scr/scr.dataset.1; do
		ends 0 scr_inspect $args
		[[ $output == "dataset 1  first"* ]]
	done
	SCR_PREFIX=p ends 0 scr_inspect first
	warns 1 second scr_inspect -p p second
	cd p/.scr/scr.dataset.1
	ends 0 scr_inspect .
	[[ $output == "dataset 1  first"* ]]
}

@test "a moved prefix: reported, and --moved-from if it cannot be inferred" {
	make p
	shows "it was written as /job/p" scr_inspect -p p 1
	rm -r p/ckpt.1
	finds 1 --moved-from scr_inspect -p p 1
	ends 4 scr_inspect -p p --moved-from /job/p 1
}

# --- Pictures and lists ------------------------------------------------------

@test "the list has columns and an order, as that of scr_index" {
	local id

	for id in 1 2 10; do
		built p $id --nodes-dir p.nodes -n 4 -m 4 \
			-s $((3000 - 200 * id))
	done
	rm p/ckpt.2/rank_1.ckpt
	ends 3 scr_inspect -p p -o id,state,name
	assert_output_is "ID  STATE    NAME
 1  whole    ckpt.1
 2  damaged  ckpt.2
10  whole    ckpt.10"
	try scr_inspect -p p -o name --sort-by -size
	assert_output_is $'NAME\nckpt.1\nckpt.2\nckpt.10'
	try scr_inspect -p p -o id,current --sort-by name
	assert_output_is $'ID  CURRENT\n 1  -\n 2  -\n10  -'
	ends 3 scr_inspect -p p --sort-by -id
	assert_output_has "prefix p" "dataset 2: 1 file "
	[[ $(grep -o ' ckpt\.[0-9]*' <<<"$output" | xargs) == \
		"ckpt.10 ckpt.2 ckpt.1" ]]
	try scr_inspect -p p -o id,colour
	assert_usage_error "unknown column 'colour': one of id, current, name"
	for more in "-d 1" --json --map --files "--svg x"; do
		misused "cannot be used together" scr_inspect -p p -o id $more
	done
	complains 2 "2: --columns and --sort-by are for the list" scr_inspect -p p --sort-by id 2
	# Of caches, too, also of one dataset.
	gen -p c --nodes-dir nodes -n 4 -m 4 -s 100 --layout cache
	prints $'ID  RANKS\n 1      4' scr_inspect -o id,ranks nodes/*/cache
}

@test "--map draws lost nodes as a column, in ASCII where UTF-8 is not; whole sets share a line" {
	make p --lose 2
	try scr_inspect -p p --map 1
	assert_line "^  set 1 +0 #  2 #  4 o  6 #$"
	assert_line "^  set 2 +1 #  3 #  5 o  7 #$"
	assert_line "# whole   o to be rebuilt$"
	LC_ALL=C.UTF-8 try scr_inspect -p p --map 1
	assert_line "^  set 1 +0 ●  2 ●  4 ○  6 ●$"
	assert_output_lacks $'\e'
	make q --lose 1,2
	try scr_inspect -p q --map 1
	assert_line "^  set 1 +0 #  2 X  4 X  6 #$"
	make r
	rm r/.scr/scr.dataset.1/reddesc.er.4.xor*
	try scr_inspect -p r --map 1
	assert_line "^  set 1 +0 #  2 #  4 \+  6 #$"
	assert_output_has "only its redundancy"
	rm -r p
	gen -p p -n 64 -m 4 --set-size 4 -s 10
	shows "1-16 of 16" scr_inspect -p p --map 1
	assert_line "^  sets 1-16 +# all of them$"
	rm p/ckpt.1/rank_33.ckpt
	ends 3 scr_inspect -p p --map 1
	assert_line "^  set [0-9]+ .*33 o"
}

@test "colours only on a terminal, and not with NO_COLOR" {
	local command="scr_inspect -p p --map 1"

	command -v script >/dev/null || skip "no script(1)"
	make p --lose 2
	TERM=xterm run script -qec "$command" /dev/null
	[[ $output == *$'\e['* ]]
	NO_COLOR=1 TERM=xterm run script -qec "$command" /dev/null
	[[ $output != *$'\e['* ]]
}

@test "--files lists all; without it many problems are cut short" {
	make p --files 20 --lose 2
	finds 3 "... and " scr_inspect -p p 1
	assert_output_lacks rank_0_0.ckpt
	try scr_inspect -p p --files 1
	assert_output_lacks "... and "
	assert_line "rank_0_0.ckpt .* present$"
}

@test "JSON of a prefix, brief and with the plan" {
	make p --lose 2
	ends 3 scr_inspect --json p
	assert_output_has '"status": 3' '"prefix": "p"' '"state": "damaged"' \
		'"tolerates": "no loss"' '"indexed": false'
	assert_output_lacks '"plan"'
	ends 3 scr_inspect --json -p p 1
	assert_output_has '"plan": {' '"files_to_rebuild": 2' \
		'"scheme": "XOR"' '"action": "rebuild"' \
		'"recorded_root": "/job/p"'
	assert_output_lacks rank_0.ckpt
	finds 3 rank_0.ckpt scr_inspect --json --files -p p 1
}

# --- Caches ------------------------------------------------------------------

@test "caches of several nodes are judged as one; in bypass mode they have only filemaps" {
	make p --layout cache
	ends 0 scr_inspect p.nodes
	assert_output_has "4 directories" "XOR, 2 sets of 4" "state       whole"
	ends 0 scr_inspect p.nodes/*/cache/*/scr.1000/scr.dataset.1
	rm -r p.nodes/node1
	ends 3 scr_inspect p.nodes/*
	assert_output_has "3 directories" "ranks 2 3 lack"
	finds 4 "caches of other nodes can be named" scr_inspect p.nodes/node0
	dir=$(golden scr3/xor_4_bypass)
	mapfile -t dirs < <(find "$dir" -type d -name 'scr.dataset.*' \
		-path '*/cache/*' ! -path '*/.scr/*')
	shows "over the filemaps only" scr_inspect "${dirs[@]}"
}

@test "several datasets in caches: a table; one of them by number" {
	make p --layout cache
	make p --layout cache --id 2 --lose 3
	ends 3 scr_inspect p.nodes
	assert_line "^ +1 +scr.1000 +4 directories .* whole"
	assert_line "^ +2 +scr.1000 +3 directories .* damaged"
	ends 0 scr_inspect -d 1 p.nodes
	[[ $output == "dataset 1"* ]]
	complains 1 7 scr_inspect -d 7 p.nodes
	ends 3 scr_inspect --json p.nodes
	assert_output_has '"caches": [' '"job_id": "scr.1000"'
}

@test "caches without filemaps: redundancy headers name the files" {
	local type maps

	for type in "XOR filemap_* 8" "XOR filemap_[357] 3" \
		"SINGLE filemap_[357] 3"; do
		read -r type maps count <<<"$type"
		rm -rf p*
		make p -t $type --layout cache
		rm p.nodes/node*/cache/*/*/*/.scr/$maps
		ends 3 scr_inspect --map p.nodes/node*/cache/*/*/scr.dataset.1
		assert_line "size        8 ranks, 8 files, [0-9.]+ KiB\$"
		assert_line "state       damaged: ranks .* filemaps; no data are lost"
		assert_line "because     .* filemaps are lost: redundancy headers name the files, but nothing tells where they belong"
		try scr_inspect --json p.nodes/node*/cache/*/*/scr.dataset.1
		assert_output_has '"filemaps_unplaced": '"$count" \
			'"files_lost": 0'
		complains 3 "filemaps are lost: redundancy headers name" \
			scr_rebuild p.nodes/node*/cache/*/*/scr.dataset.1
		assert_output_lacks scr_postrun
		[[ $count == 3 ]] || continue
		rm p.nodes/node*/cache/*/*/*/rank_1.ckpt
		try scr_inspect p.nodes/node*/cache/*/*/scr.dataset.1
		assert_status $((${#type} > 3 ? 4 : 3))
		if [[ $type == SINGLE ]]; then
			assert_line "because     .*\(SINGLE\) cannot be rebuilt: rank 1 missing"
			continue
		fi
		# The data can be rebuilt by what the headers name.
		scr_rebuild -q p.nodes/node*/cache/*/*/scr.dataset.1 || true
		[[ -s $(echo p.nodes/node0/cache/*/*/*/rank_1.ckpt) ]]
		rm p.nodes/node*/cache/*/*/*/rank_[13].ckpt
		ends 4 scr_inspect p.nodes/node*/cache/*/*/scr.dataset.1
		assert_line "because     .*\(XOR\) cannot be rebuilt"
	done
}

# As the pages say.
@test "what a look without --deep sees of a wrong byte in a header" {
	local member wanted deep

	in_no_job
	for member in 1 2; do
		rm -rf p
		built p 1 -n 4 --set-size 2
		damage "$(ls p/.scr/*/reddesc.er.*.grp_1_of_2.mem_${member}_*)" 60
		wanted=$((member == 1 ? 3 : 0))
		for deep in "" --deep; do
			ends "$wanted" scr_inspect -p p -d 1 $deep
			ends "$wanted" scr_rebuild -p p -n 1 $deep
			ends "$wanted" scr_index -p p --verify $deep
			wanted=3
		done
	done
}
