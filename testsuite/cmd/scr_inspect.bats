#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2086 # words

load helper

D=p/.scr/scr.dataset.1 f=p/ckpt.1

# make NAME OPTION...: make a dataset on prefix NAME, 8 ranks on 4 nodes.
make() {
	local name=$1

	shift
	gen -p "$name" --nodes-dir "$name.nodes" -n 8 -m 4 -s 10000,5000 \
		--recorded-prefix /job/p "$@"
}

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

@test "bytes behind an image are reported, the image is printed" {
	make p
	cp p/.scr/nodes.scr longer
	printf behind >>longer
	prints "  NODES = 4" scr_inspect longer
	assert_stderr_one_line "6 bytes after the metadata"
	calm scr_inspect -q longer
}

@test "of a redundancy file the header is printed, and the size of its body; JSON" {
	make p
	f=p/.scr/scr.dataset.1/reddesc.er.0.xor.grp_1_of_2.mem_1_of_4.redset
	calm scr_inspect "$f"
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

@test "what is damaged, lost, and tolerated, and the command to run" {
	looked <<-'END'
		--|before=$(tree_stat p)|0 p|prefix p|XOR, 2 sets of 4|the loss of any 1 rank in each set|scr_index -p p --build 1|~^ +1 +ckpt.1 .* whole +
		same|scr_inspect p --deep --checksums --files --map >/dev/null; [[ $before == "$(tree_stat p)" ]]|0 p
		--lose 2 --files 2||3 p|4 files (|2 filemaps|4 redundancy files|damaged
		same||3 -p p ckpt.1|ranks 4 5 lack 4 files|next:       scr_index -p p --build 1|after a rebuild the loss of any 1 rank in each set|~^ +4  ckpt.1/rank_4_0.ckpt .* missing +can be rebuilt$|~^ +5  filemap_5 +missing +can be rebuilt$|~^  2 of 2  files +XOR +0 of 1 .* 1 3 5 7  5 +can be rebuilt$
		--lose 1,2||4 p|~^ +1  ckpt.1 .* lost *$|cannot be rebuilt: ranks 2 4|next:       scr_postrun -p p|!any 1 rank|!no loss
		same||4 -p p 1|!tolerates
		same||4 --json -p p 1|"state": "lost"
		same|(($(grep -c '"tolerance_left"' <<<"$output") < $(grep -c '"tolerance":' <<<"$output")))|4 p
		-t SINGLE||0 -p p 1|tolerates   no loss
		-t RS|rm $D/reddescmap.*|0 -p p -d 1|~tolerates   no loss$
		same|rm $D/filemap_5 $D/*.er.5.* $f/rank_5.ckpt|4 -p p -d 1
		-t RS|scr_index -q -p p --checksums --build 1; rm $D/reddescmap.*|0 -p p -d 1|~tolerates   the loss of any 2 ranks in each set$
		same|rm $D/filemap_5 $D/*.er.5.* $f/rank_5.ckpt|3 -p p -d 1
		-t RS --layout cache|rm p.nodes/node*/cache/*/*/*/.scr/reddescmap.*|0 p.nodes/node*/cache/*/*/scr.dataset.1|~tolerates   no loss$
		-t RS --failures 2 --lose 0,1||3 p|k=2,
		-t PARTNER --lose 0,2||3 p|PARTNER,
		-t PARTNER --lose 0,1||4 p|PARTNER,
		-t SINGLE --lose 3||4 p|SINGLE
		--|printf x >>$f/rank_0.ckpt|3 -p p 1|wrong size
		--|rm $f/rank_0.ckpt; mkdir $f/rank_0.ckpt; damage $D/filemap_3 40 x|3 -p p 1|not a file|checksum mismatch
		--|rm $D/{filemap_{0,2},reddesc*.er.*}|1 -p p 1|; the files of 2 ranks are unknown|ranks 0 2 lack 2 filemaps
		--|rm $D/reddesc.er.{0,2}.xor.*|3 -p p 1|damaged
		same|rm $D/reddesc*|0 -p p 1|redundancy  none
		--crc|damage $f/rank_1.ckpt 500|0 p
		same||3 -p p --checksums 1|wrong checksum
		-t XOR|damage $f/rank_1.ckpt 500|0 p
		same||3 -p p --deep 1|set 2 of 2|~  tolerates   no loss in some sets, 1 rank in others
		-t RS|damage $f/rank_1.ckpt 500|0 p
		same||3 -p p --deep 1|set 2 of 2|rank_1.ckpt of rank 1|byte 500|state       damaged: rank 1 lacks 1 file|tolerates   the loss of any 1 rank in each set, up to 2 in some; after a rebuild the loss of any 2 ranks
		same||3 -p p --deep --json 1|"findings": [|"path": "ckpt.1/rank_1.ckpt"|"path_offset": 500
		-t XOR --ranks 4 --set-size 4|rm $f/rank_1*|3 -p p 1|~tolerates   no loss; after a rebuild the loss of any 1 rank
		-t RS|scr_index -q -p p --build 1; scr_container pack -q -p p --size 1MB --with-redundancy 1; damage $D/.scr/ctr.0.scr 500|0 -p p 1|~  tolerates   the loss of any 2 containers
		same||3 -p p --deep 1|  tolerates   the loss of any 1 container; after a rebuild the loss of any 2 containers
		same||3 -p p --checksums 1|  tolerates   the loss of any 1 container; after a rebuild the loss of any 2 containers
		-t PARTNER --set-size 4|rm $D/reddesc.er.*2_of_2*|3 -p p 1
		same|rm $f/rank_1.ckpt|4 -p p 1|~ lost +no redundancy file of it survived
		same||4 -p p 1 --json
		same|[[ $(jq -c '[.prefixes[].datasets[].plan.sets[].state]' <<<"$output") == '["whole","whole","whole","lost"]' ]]|4 p
		--||0 -p p 1|it was written as /job/p
		same|rm -r $f|1 -p p 1|--moved-from
		same||4 -p p --moved-from /job/p 1
		--files 20 --lose 2||3 -p p 1|... and |!rank_0_0.ckpt
		same||3 -p p --files 1|!... and |~rank_0_0.ckpt .* present$
		--lose 2||3 --json p|"status": 3|"prefix": "p"|"state": "damaged"|"tolerates": "no loss"|"indexed": false|!"plan"
		same||3 --json -p p 1|"plan": {|"files_to_rebuild": 2|"scheme": "XOR"|"action": "rebuild"|"recorded_root": "/job/p"|!rank_0.ckpt
		same||3 --json --files -p p 1|rank_0.ckpt
	END
}

@test "--map draws lost nodes as a column, in ASCII where UTF-8 is not; whole sets share a line" {
	looked <<-'END'
		--lose 2||3 -p p --map 1|~^  set 1 +0 #  2 #  4 o  6 #$|~^  set 2 +1 #  3 #  5 o  7 #$|~# whole   o to be rebuilt$
		--lose 1,2||4 -p p --map 1|~^  set 1 +0 #  2 X  4 X  6 #$
		--|rm $D/reddesc.er.4.xor*|3 -p p --map 1|~^  set 1 +0 #  2 #  4 \+  6 #$|only its redundancy
		-n 64 --set-size 4 -s 10 -f 1||0 -p p --map 1|1-16 of 16|~^  sets 1-16 +# all of them$
		same|rm $f/rank_33.ckpt|3 -p p --map 1|~^  set [0-9]+ .*33 o
		--lose 2||3 -p p --map 1
	END
	LC_ALL=C.UTF-8 try scr_inspect -p p --map 1
	assert_line "^  set 1 +0 ●  2 ●  4 ○  6 ●$"
	assert_output_lacks $'\e'
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

@test "the list has columns and an order, as that of scr_index" {
	local id

	for id in 1 2 10; do
		built p $id --nodes-dir p.nodes -n 4 -m 4 -s $((3000 - 200 * id))
	done
	rm p/ckpt.2/rank_1.ckpt
	ends 3 scr_inspect -p p -o id,state,name
	assert_output_is "ID  STATE    NAME
 1  whole    ckpt.1
 2  damaged  ckpt.2
10  whole    ckpt.10"
	yields 3 $'NAME\nckpt.1\nckpt.2\nckpt.10' scr_inspect -p p -o name --sort-by -size
	try scr_inspect -p p -o id,current --sort-by name
	assert_output_is $'ID  CURRENT\n 1  -\n 2  -\n10  -'
	finds 3 "prefix p;dataset 2: 1 file " scr_inspect -p p --sort-by -id
	[[ $(grep -o ' ckpt\.[0-9]*' <<<"$output" | xargs) == "ckpt.10 ckpt.2 ckpt.1" ]]
	try scr_inspect -p p -o id,colour
	assert_usage_error "unknown column 'colour': one of id, current, name"
	for more in "-d 1" --json --map --files "--html x"; do
		misused "cannot be used together" scr_inspect -p p -o id $more
	done
	complains 2 "2: --columns and --sort-by are for the list" scr_inspect -p p --sort-by id 2
	# Of caches, too, also of one dataset.
	gen -p c --nodes-dir nodes -n 4 -m 4 -s 100 --layout cache
	prints $'ID  RANKS\n 1      4' scr_inspect -o id,ranks nodes/*/cache
}

@test "caches of several nodes are judged as one; in bypass mode they have only filemaps" {
	make p --layout cache
	shows "4 directories;XOR, 2 sets of 4;state       whole" scr_inspect p.nodes
	ends 0 scr_inspect p.nodes/*/cache/*/scr.1000/scr.dataset.1
	rm -r p.nodes/node1
	finds 3 "3 directories;ranks 2 3 lack" scr_inspect p.nodes/*
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

	for type in "XOR filemap_* 8" "XOR filemap_[357] 3" "SINGLE filemap_[357] 3"; do
		read -r type maps count <<<"$type"
		rm -rf p*
		make p -t $type --layout cache
		rm p.nodes/node*/cache/*/*/*/.scr/$maps
		ends 3 scr_inspect --map p.nodes/node*/cache/*/*/scr.dataset.1
		assert_line "size        8 ranks, 8 files, [0-9.]+ KiB\$"
		assert_line "state       damaged: ranks .* filemaps; no data are lost"
		assert_line "because     .* filemaps are lost: redundancy headers name the files, but nothing tells where they belong"
		try scr_inspect --json p.nodes/node*/cache/*/*/scr.dataset.1
		assert_output_has '"filemaps_unplaced": '"$count" '"files_lost": 0'
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
