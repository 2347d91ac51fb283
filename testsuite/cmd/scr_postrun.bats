#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086 # words
# Which datasets are saved, in which order, and the exit status; on a single
# node, this machine.  Tests with several nodes: testsuite/cluster.

load helper

setup() { in_no_job && one_node; }

# checkpoints ID..., outputs ID...: make datasets in the cache of this node.
datasets() {
	local kind=$1 name=$2 id

	shift 2
	for id; do
		in_cache -i "$id" --time $((1700000000 + 1000 * id)) "--$kind" \
			--name "$name.$id"
	done
}
# protected TYPE ID [OPTION]...: a checkpoint of four ranks, protected by TYPE,
# all of them in the cache of this node.
protected() {
	local k

	gen -p p -n 4 -m 4 --layout cache --nodes-dir nodes -t "$1" -s 10000 \
		--lose "" -i "$2" --name "ckpt.$2" \
		--time $((1700000000 + 1000 * $2)) "${@:3}"
	for k in 1 2 3; do
		cp -a "nodes/node$k/cache/." nodes/node0/cache/
	done
	rm p/.scr/nodes.scr # this node has all of them
}

# unchanged TYPE ID: its files on the prefix are those of the job.
unchanged() {
	gen -p p -n 4 -m 4 -t "$1" -s 10000 --name "ckpt.$2" \
		--time $((1700000000 + 1000 * $2)) --check "${@:3}"
}

# changed ID RANK[_FILE]: a byte of a cached file, but neither its size nor its time.
changed() {
	flip "local/cache/genuser/scr.1000/scr.dataset.$1/rank_$2.ckpt" 1234
}

checkpoints() { datasets ckpt ckpt "$@"; }
outputs() { datasets output out "$@"; }

# post STATUS [OPTION]...: scr_postrun ends with STATUS.
post() { ends "$1" scr_postrun "${args[@]}" "${@:2}"; }

# failing STATUS [OPTION]...: the same, while what the variables SHIM_* tell fails.
failing() {
	SHIM_FAIL_AT=1 SHIM_STICKY=1 LD_PRELOAD=$SHIM post "$@"
}

# unreadable PATH STATUS [OPTION]...
unreadable() { SHIM_READS=1 SHIM_PATH=$1 failing "${@:2}"; }

# lose ID: truncate a file beyond what its redundancy can restore.
lose() {
	truncate -s 10 "local/cache/genuser/scr.1000/scr.dataset.$1/rank_1.ckpt"
}

# The ids of the datasets in the index, the current one marked: "7* 6 3".
indexed() {
	scr_index -p p --all | awk 'NR > 1 { printf "%s%s ", $1,
		/ \* / ? "*" : "" }'
}

@test "usage errors; no nodes: an error with advice" {
	misused nonsense scr_postrun --nonsense
	misused p scr_postrun p
	misused --containers scr_postrun --containers --no-containers
	misused 0 scr_postrun --fanout 0
	complains 2 telepathy scr_postrun -p . -w n1 -r telepathy
	complains 2 'node list' scr_postrun -p . -w 'n[1-'
	mkdir -p p/.scr
	warns 1 SCR_NODELIST env -i PATH="$PATH" scr_postrun -p p --resource-manager none
}

@test "nothing in the caches: nothing to save, status 0; SCR_ENABLE=0: nothing is done" {
	mkdir -p p/.scr nodes/node0/cache nodes/node0/cntl
	shows "nothing to save" scr_postrun "${args[@]}"
	checkpoints 1
	SCR_ENABLE=0 post 0
	[[ ! -e p/ckpt.1 ]]
}

# agree STATUS [OPTION]...: --plan says what the run then does.
agree() {
	post "$1" --plan "${@:2}"
	post "$@"
}

# verdicts: each line "MAKE|DAMAGE|STATUS [OPTION]...|WORDS|INDEX" on stdin: of the
# datasets that MAKE leaves in the caches, after DAMAGE, the plan and the run end so ("run": the
# run alone); the run says all WORDS, with semicolons between ("!": not), and INDEX is `indexed` then.
verdicts() {
	local make damage want words ids word kept

	while IFS='|' read -r -u 7 make damage want words ids; do
		echo "$make|$damage"
		rm -rf p nodes
		kept="$BATS_TEST_TMPDIR.${make//[ \/]/_}"
		if [[ ! -e $kept ]]; then
			eval "$make"
			mkdir "$kept"
			cp -a p nodes "$kept"
		else
			cp -a "$kept/." .
		fi
		eval "$damage"
		case $want in
		run*) post ${want#run} ;; # the plan reads no bytes
		*) agree $want ;;
		esac
		IFS=';' read -ra words <<<"$words"
		for word in "${words[@]}"; do
			[[ $word != !* && $output$stderr == *"$word"* ||
				$word == !* && $output$stderr != *"${word#!}"* ]] ||
				failed "expected: $word"
		done
		[[ -z $ids || $(indexed) == "$ids " ]] || failed "in the index: $(indexed)"
	done 7<&0
}

@test "what is saved, older, unknown and lost" {
	local cache=local/cache/genuser/scr.1000/scr.dataset
	local mixed="checkpoints 2 4 5 7; outputs 3 6" never="!LOST;!is lost"
	local filemaps="unknown, not lost;only filemaps tell their places on the prefix;left in the caches;!LOST;!could not be read"

	verdicts <<-END
		$mixed||0|newest checkpoint ckpt.7;output: 2 of 2 saved|7* 6 3
		$mixed|lose 6|4|OLDER checkpoint ckpt.5;output: 1 of 2 saved, 1 LOST|5* 3
		$mixed|lose 3|4|OLDER checkpoint ckpt.2;output: 0 of 2 saved, 2 LOST|2*
		checkpoints 1 2 3|lose 3|3|OLDER checkpoint ckpt.2;ckpt.3 (dataset 3) is not;dataset 3 ckpt.3: lost|2*
		checkpoints 1 2|lose 1; lose 2|4|LOST: no checkpoint
		checkpoints 1 2|rm -r $cache.2|3|OLDER checkpoint ckpt.1
		protected XOR 1|changed 1 3|run 1|UNKNOWN;1 dataset could not be judged;set 1 of 1 (XOR) is inconsistent;--no-compare;$never
		protected PARTNER 1|changed 1 3|run 1|UNKNOWN;(PARTNER): the data of rank 3 and their copy at rank;$never
		protected XOR 1|changed 1 3|run 1 --id 1|!LOST
		protected XOR 1|changed 1 3|run 0 --no-compare
		protected XOR 1; protected XOR 2|changed 2 3|run 3|OLDER checkpoint ckpt.1;ckpt.2 (dataset 2) could not be judged;dataset 2: set 1 of 1 (XOR) is inconsistent: 1 byte differs;ranks 0 1 2 3|1*
		protected XOR 1; protected XOR 2|changed 2 3; post 3|run 3
		protected XOR 1; protected XOR 2|changed 2 3; post 3|run 1 --id 2|--no-compare saves it as it is;!--build;!--delete
		protected XOR 1; protected XOR 2|changed 2 3; post 3|run 0 --no-compare||2* 1
		protected XOR 1 --crc|changed 1 3|run 0|rank_3.ckpt: checksum
		protected XOR 7|rm $cache.7/rank_1.ckpt|0|scr_postrun: dataset 7: 1 of 1 redundancy set has lost files: contents compared only in part
		checkpoints 1; protected XOR 2|rm $cache.2/.scr/filemap_*|3|$filemaps
		protected XOR 2|rm $cache.2/.scr/filemap_*|1|$filemaps
		checkpoints 1; protected SINGLE 2|rm $cache.2/.scr/filemap_*|3|$filemaps
		checkpoints 1; protected XOR 2|rm $cache.2/.scr/filemap_* $cache.2/rank_[12]*|3|lost:
		protected XOR 2|rm $cache.2/.scr/filemap_* $cache.2/rank_[12]*|4|lost:
		checkpoints 1; protected SINGLE 2|rm $cache.2/.scr/filemap_* $cache.2/rank_[12]*|3|lost:
		protected SINGLE 2|rm $cache.2/.scr/*|1|no filemap and no redundancy file is left that names the files
		protected SINGLE 2|rm -r $cache.2/.scr|1|no filemap and no redundancy file is left that names the files
		protected SINGLE 2|rm $cache.2/.scr/* $cache.2/rank*|4
		protected SINGLE 2|rm -r $cache.2/.scr $cache.2/rank*|4
		checkpoints 1 2|rm -r $cache.2|run 4 --id 2|!still in the caches
	END
	# Redundancy headers name the files; these schemes restore filemaps.
	for type in RS PARTNER; do
		verdicts <<<"protected $type 2|rm $cache.2/.scr/filemap_*|0"
		unchanged $type 2
	done
	verdicts <<<"protected XOR 1 --crc|changed 1 3|run 0"
	unchanged XOR 1
	verdicts <<<"$mixed||0"
	[[ ! -e p/ckpt.5 ]]
	out_has "newest checkpoint ckpt.7 (dataset 7) " post 0 --plan
}

# gone RANK...: all files of a rank ("_F": only file F), and its metadata ("dead").
gone() {
	local rank dir=local/cache/genuser/scr.1000/scr.dataset.2

	for rank; do
		[[ $rank != dead* ]] || rm "$dir"/.scr/*{"_${rank#dead}",".er.${rank#dead}."*}
		rm "$dir"/rank_"${rank#dead}"*
	done
}

@test "--plan looks at the files: what is gone from the caches is not saved" {
	while read -r type lost want; do
		verdicts <<<"checkpoints 1; protected $type 2 -f 2|gone ${lost//,/ }|$want"
	done <<-END
		XOR 1 0
		XOR 0,1 3
		XOR 0_0,1_1 0
		XOR 0_0,1_0 3
		XOR 0,1,2,3 3
		XOR dead1,2 3
		XOR dead2,1_1 3
		XOR dead2 0
		RS 0,1 0
		RS dead0,1 0
		RS dead0,1,3 0
		RS dead0,dead1,2 3
		PARTNER 0,2 0
		PARTNER dead1,0 3
		PARTNER dead1,2 0
	END
}

@test "--plan looks at files that the job wrote to the prefix itself" {
	for id in 1 2; do
		datasets ckpt ckpt $id
		dir=nodes/node0/cache/genuser/scr.1000/scr.dataset.$id
		cache=$(scr_inspect "$dir/.scr/filemap_0" | sed -n 2p)
		cache=$(dirname "${cache//[[:space:]]/}")
		for rank in 0 1; do
			scr_inspect -m tree "$dir/.scr/filemap_$rank" |
				sed "s,$cache/,$PWD/p/ckpt.$id/," |
				craft new
			cp new "$dir/.scr/filemap_$rank"
		done
		rm "$dir"/.scr/redd*
		mkdir p/ckpt.$id
		mv "$dir"/rank* p/ckpt.$id
	done
	scr_inspect -m tree local/cntl/genuser/scr.1000/cindex.scrinfo |
		sed '/BYPASS/{n;s/0/1/}' | craft new
	cp new local/cntl/genuser/scr.1000/cindex.scrinfo
	cp -a p whole
	agree 0
	renew whole
	truncate -s 5 p/ckpt.2/rank_1.ckpt
	out_has "OLDER checkpoint ckpt.1" agree 3
	renew whole
	rm p/ckpt.?/rank_1.ckpt
	agree 4
}

@test "the newest is lost: what can be copied on request; the same in JSON" {
	verdicts <<<"checkpoints 1 2 3|lose 3; post 3|3"
	# The remaining files of the lost dataset can be copied on request.
	post 4 --id 3
	assert_output_is "scr_postrun: LOST: ckpt.3 (dataset 3) cannot be saved"
	cmp p/ckpt.3/rank_0.ckpt local/cache/genuser/scr.1000/scr.dataset.3/rank_0.ckpt
	rm -rf p nodes
	checkpoints 1 2
	lose 2
	post 3 --plan --json
	assert_output_has '"state": "lost"' '"state": "complete"' '"status": 3' \
		'"newest_id": 2' '"saved_id": 1' '"state": "alive"'
	post 3 --json
	assert_output_has '"state": "saved"' '"verdict": "OLDER'
	[[ $output =~ '"bytes_copied": '[1-9] ]]
}

@test "RS: bytes that have changed are repaired, and the checksums are the right ones" {
	protected RS 1 -f 2
	changed 1 3_0
	changed 1 3_1
	cp -a nodes before
	err_has "ckpt.1/rank_3_0.ckpt of rank 3: its contents are damaged;byte 1234" \
		post 0
	unchanged RS 1 -f 2
	ends 0 scr_index -p p --verify --deep --checksums
	diff -r before nodes
}

@test "contents that nothing verifies: the line names the dataset, as others do" {
	checkpoints 6
	post 0
	assert_stderr_one_line "scr_postrun: dataset 6: no redundancy and no recorded checksums: contents not verified"
}

@test "files with recorded checksums are not read again to be compared" {
	for crc in "" --crc; do
		rm -rf p nodes calls
		protected XOR 1 $crc
		LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH=p/ckpt.1 SLOW_COUNT_FILE=calls \
			ends 0 scr_postrun "${args[@]}"
		grep -q read calls || [[ -n $crc ]] || failed "$(cat calls)"
	done
	! grep read calls || failed "$(cat calls)"
}

@test "--id: the verdict is on that dataset, before and after" {
	checkpoints 1 2 3
	outputs 4
	lose 1
	for plan in --plan ""; do
		post 4 ${plan:+"$plan"} --id 1
		assert_output_has "LOST: ckpt.1 (dataset 1) cannot be saved"
		assert_output_lacks newest "can be"
		for id in 2 4; do
			out_has "(dataset $id) " post 0 ${plan:+"$plan"} --id $id
			assert_output_lacks newest OLDER LOST
		done
		post 1 ${plan:+"$plan"} --id 7
		assert_output_is ""
		assert_stderr_one_line "dataset 7: no node has it in its cache"
	done
	[[ $(indexed) == "4 2 " ]]
	rm -r local/cache/genuser/scr.1000/scr.dataset.2
	yields 1 "" scr_postrun -p p -r local -w nosuchnode -d nosuchnode -J 1000 --id 7
}

@test "the prefix has a newer checkpoint, of a later job: it stays current" {
	checkpoints 1 5
	scr_postrun "${args[@]}"
	rm -r nodes p/.scr/flush.scr
	checkpoints 2
	out_has "newest checkpoint ckpt.5 (dataset 5) is saved" post 0
	[[ $(indexed) == "5* " ]]
	# Not whole any more, it is no reason to leave the older one.
	rm p/ckpt.5/rank_0.ckpt
	out_has "OLDER checkpoint ckpt.2;ckpt.5 (dataset 5) is not" post 3
	[[ $(indexed) == "5 2* " ]]
}

@test "33.10 what the prefix has is no loss: whole but not in the index; a part, and the caches the rest" {
	cache=local/cache/genuser/scr.1000/scr.dataset
	checkpoints 1
	cp -a p/.scr/flush.scr .
	post 0
	scr_index -p p --drop 1
	cp flush.scr p/.scr
	rm -r $cache.1
	out_has "newest checkpoint ckpt.1 (dataset 1) is saved" agree 0
	[[ $(indexed) == "1* " ]]

	# An interrupted scavenge; then the nodes of ranks 0 and 1 die.
	rm -rf p nodes flush.scr
	protected XOR 2
	scr_copy -d p -i 2 --cntldir local/cntl/genuser/scr.1000 \
		--cachedir local/cache/genuser/scr.1000 --ranks 0-1 >/dev/null
	rm $cache.2/rank_[01]* $cache.2/.scr/*{_[01],.er.[01].*}
	agree 0
	unchanged XOR 2
	# A rank less is still enough, two are lost.
	rm -rf p nodes
	protected XOR 2
	scr_copy -d p -i 2 --cntldir local/cntl/genuser/scr.1000 \
		--cachedir local/cache/genuser/scr.1000 --ranks 0 >/dev/null
	rm $cache.2/rank_[01]* $cache.2/.scr/*{_[01],.er.[01].*}
	cp -a . "$BATS_TEST_TMPDIR.made"
	agree 0
	unchanged XOR 2
	rm -rf p nodes
	cp -a "$BATS_TEST_TMPDIR.made/." .
	rm $cache.2/rank_2* $cache.2/.scr/*{_2,.er.2.*}
	post 4
}

@test "33.10 datasets of another job that flush.scr lists are not lost ones of this job" {
	checkpoints 1
	cp local/cntl/genuser/scr.1000/cindex.scrinfo .
	checkpoints 7
	cp cindex.scrinfo local/cntl/genuser/scr.1000
	rm -r local/cache/genuser/scr.1000/scr.dataset.7
	scr_inspect -m tree p/.scr/flush.scr >flush
	awk '/ckpt.7/ { seven = 1 } seven && /^ *1000$/ { sub(1000, 2000) } 1' \
		flush | craft p/.scr/flush.scr
	out_has "newest checkpoint ckpt.1 (dataset 1) is saved" agree 0
	assert_stderr_has "dataset 7: of job 2000: not looked for" "--job-id 2000"
	# With none of our own: we look for the wrong job.
	rm -r local/cache/genuser local/cntl/genuser
	rm p/.scr/index.scr
	post 1
}

# The job restarts from 3 and writes 4 to 6, on nodes whose clocks are behind.
@test "33.16 clocks are behind: the order of the jobs counts" {
	checkpoints 3
	scr_postrun "${args[@]}"
	rm -r nodes p/.scr/flush.scr
	for id in 4 5 6; do
		in_cache -i $id --ckpt --name ckpt.$id --time $((1700002000 + id))
	done
	scr_inspect -m tree p/.scr/index.scr >index
	sed 's/^\( *\)1000$/\1999/' index | craft p/.scr/index.scr
	cp -a . "$BATS_TEST_TMPDIR.made"
	out_has "newest checkpoint ckpt.6 (dataset 6) can be saved" post 0 --plan
	assert_output_lacks restarts
	out_has "newest checkpoint ckpt.6 (dataset 6) is saved" post 0
	assert_output_lacks restarts
	[[ $(indexed) == "3 6* " || $(indexed) == "6* 3 " ]]
	# Nothing proves it: the later clock counts, and the verdict says so.
	rm -rf p nodes
	cp -a "$BATS_TEST_TMPDIR.made/." .
	rm p/.scr/flush.scr
	for plan in --plan ''; do
		# shellcheck disable=SC2086 # none
		post 0 $plan
		assert_output_has "ckpt.6 (dataset 6)" \
			"; the next job restarts from ckpt.3 (dataset 3)"
	done
	[[ $(indexed) == "3* 6 " || $(indexed) == "6 3* " ]]
}

@test "nothing describes a newer dataset: the checkpoint is not called newest" {
	checkpoints 1
	cp -a p/.scr/flush.scr local/cntl/genuser/scr.1000/cindex.scrinfo .
	checkpoints 2
	rm p/.scr/flush.scr
	cp -a cindex.scrinfo local/cntl/genuser/scr.1000
	for done in can is; do
		plan=()
		[[ $done == is ]] || plan=(--plan)
		post 1 "${plan[@]}"
		assert_output_has "checkpoint ckpt.1 (dataset 1) $done" \
			"dataset 2 may be a newer one"
		assert_output_lacks newest "2  unknown     checkpoint"
	done
	[[ $(indexed) == "1* " ]]
	# Nothing of it can be read.
	out_has "dataset 2 may be a newer one" unreadable scr.dataset.2 1
	# flush.scr of the job does not list it: the job did not complete it.
	cp -a flush.scr p/.scr
	post 0 --plan
	assert_output_has "newest checkpoint ckpt.1 (dataset 1) is saved" \
		"dataset 2 is unfinished" "2  unfinished  unknown"
	assert_stderr_has "dataset 2: unfinished" "--id 2 saves the files that exist"
	post 0
	[[ $(indexed) == "1* " ]]
	post 0 --id 2
}

@test "the index calls the newest valid, and it cannot be read: it stays current" {
	checkpoints 1 2
	scr_postrun "${args[@]}" --id 1
	scr_postrun "${args[@]}"
	rm -r local/cache/genuser/scr.1000/scr.dataset.2
	[[ $(indexed) == "2* 1 " ]]
	unreadable scr.dataset.2/summary.scr 1
	assert_output_has "OLDER checkpoint ckpt.1" \
		"newest ckpt.2 (dataset 2) could not be judged"
	[[ $(indexed) == "2* 1 " ]]
}

@test "--plan, and the index cannot be read: that is said" {
	checkpoints 1
	scr_postrun "${args[@]}"
	checkpoints 2
	unreadable .scr/index.scr 0 --plan
	assert_stderr_has "index.scr: cannot open: Input/output error: not used"
}

# Whatever fails while a dataset is built and indexed, it is in the caches: also
# if only the newest fails, and the older one is saved.
@test "building fails: unknown, not lost; the next run saves it" {
	checkpoints 1 2
	cp -a p saved
	while read -r error op path; do
		renew saved
		# Old C libraries have another name for it.
		[[ $op != fstatat ]] || nm -D "$BIN/scr_postrun" |
			grep -q " U fstatat" || continue
		echo "$error $op $path"
		# The flush file is not needed.
		want=1
		[[ $op/$path != rename/flush.scr ]] || want=0
		SHIM_ALL=1 SHIM_ERRNO=$error SHIM_OP=$op SHIM_PATH=$path \
			failing $want
		assert_output_lacks LOST
		[[ $path == *.2* ]] || assert_output_lacks OLDER
		post 0
		[[ $(indexed) == "2* "* ]]
	done <<-END
		EIO open index.scr
		ENOSPC rename index.scr
		ENOSPC open summary.scr
		EIO rename summary.scr
		EIO open rank2file
		ENOSPC rename rank2file
		ENOSPC open flush.scr
		EIO rename flush.scr
		EIO open scr.dataset.2/rank2file
		ESTALE open scr.dataset.2/summary.scr
		ENOENT rename scr.dataset.2/rank2file
		ESTALE fstatat ckpt.2/rank_1.ckpt
		EIO readdir p/.scr/scr.dataset.2
	END
}

@test "the newest is packed on the prefix: LLNL's library cannot restart from it" {
	checkpoints 1
	scr_postrun "${args[@]}"
	scr_container -q -p p pack 1
	err_has "dataset 1: saved in containers;unpack the dataset" post 0
	calm scr_postrun "${args[@]}" --containers --pack-current
	scr_container -q -p p unpack 1
	calm scr_postrun "${args[@]}"
}

@test "what cannot be mended is not called saved; records that stay do not matter" {
	checkpoints 1 2
	scr_postrun "${args[@]}"
	rm -r local/cache/genuser/scr.1000/scr.dataset.*
	rm p/.scr/scr.dataset.2/summary.scr
	SHIM_PATH=summary.scr SHIM_OP=rename failing 1
	assert_output_lacks "can be saved" "is saved" LOST
	err_has "repaired on the prefix" post 0
	rm -rf p nodes
	checkpoints 1 2
	SHIM_PATH=copied_ SHIM_OP=unlink failing 0
	assert_output_has "newest checkpoint ckpt.2 (dataset 2) is saved"
	assert_stderr_has .scr: cannot remove
	post 0
	scr_index -p p --verify 2
}

@test "--keep: a window of checkpoints, as with SCR_PREFIX_SIZE" {
	for id in 1 2 3; do
		checkpoints "$id"
		post 0
	done
	[[ $(indexed) == "3* 2 1 " ]]
	checkpoints 4
	post 0 --keep 2
	[[ $(indexed) == "4* 3 " && ! -e p/ckpt.2 ]]
	checkpoints 5
	echo "SCR_PREFIX_SIZE=1" >p/.scrconf
	post 0
	[[ $(indexed) == "5* " ]]
}

@test "--keep and --clean: the first scavenge of a prefix makes the index" {
	checkpoints 1 2 3
	[[ ! -e p/.scr/index.scr ]]
	# Of an earlier run that was killed: the directory of a dataset.
	mkdir -p p/.scr/scr.dataset.1
	cp -a local/cache/genuser/scr.1000/scr.dataset.1/.scr/filemap_* \
		p/.scr/scr.dataset.1
	out_has "newest checkpoint ckpt.3 (dataset 3) is saved" post 0 --keep 1 --clean
	assert_stderr_has "removed from the caches: 3"
	[[ $(indexed) == "3* " ]]
}

@test "--keep: an index that is remade from summaries is not pruned by" {
	for how in missing damaged entry; do
		rm -rf p nodes
		checkpoints 1 2
		scr_postrun "${args[@]}" --id 1
		scr_postrun "${args[@]}"
		scr_inspect -m tree p/.scr/index.scr >printed
		rm p/.scr/index.scr
		case $how in
		damaged) echo broken >p/.scr/index.scr ;;
		entry) # right checksum, one value that is none
			sed '/^      COMPLETE/,+1s/1$/x/' printed |
				craft p/.scr/index.scr
			;;
		esac
		checkpoints 3
		out_has "newest checkpoint ckpt.3 (dataset 3) is saved" post 0 --keep 1
		assert_stderr_has "older checkpoints are not all deleted: the index is damaged or missing"
		[[ $how == missing ]] ||
			assert_stderr_has "from the summaries" index.scr.bak
		[[ $how == missing || -e p/.scr/index.scr.bak ]]
		[[ $(indexed) == "3* 2 1 " ]]
	done
}

# Output 5 and checkpoint 4 are saved as such; so is 5 if the nodes copy it, and the
# user builds it.
output_and_checkpoint() {
	try scr_index -p p --all -o id,kind,name
	[[ $output =~ 5\ +output\ +out\.5 && $output =~ 4\ +ckpt\ +ckpt\.4 ]] ||
		failed "kinds"
	ends 0 scr_index -p p --verify
	rm -r p/.scr/scr.dataset.5 p/.scr/index.scr p/out.5
	scr_copy -d p -i 5 --cntldir local/cntl/genuser/scr.1000
	[[ -e p/.scr/scr.dataset.5/copied_0.scr ]]
	ends 0 scr_index -p p --build 5
	try scr_index -p p --json --outputs
	assert_output_has '"name": "out.5"' '"checkpoint": false'
}

# Another job has used the prefix since: its dataset 5 is a checkpoint, written
# earlier or later than the output 5 in the caches of this job.
@test "flush.scr of another job, or none: kind and name are those of the caches" {
	for time in 1690000000 1710000000; do
		rm -rf p nodes other other.nodes
		outputs 5
		checkpoints 4
		gen -p other -n 2 -m 1 --layout cache --nodes-dir other.nodes \
			-t SINGLE -s 500 --lose "" -i 5 --ckpt --name theirs.5 \
			--time $time
		scr_inspect -m tree other/.scr/flush.scr | sed 's/ 1000$/ 2000/' |
			craft p/.scr/flush.scr
		try scr_postrun "${args[@]}" --plan
		assert_output_lacks theirs.5
		shows "output: 1 of 1 saved" scr_postrun "${args[@]}"
		output_and_checkpoint
	done
	rm -rf p nodes other other.nodes
	outputs 5
	checkpoints 3 4
	rm p/.scr/flush.scr
	shows "output: 1 of 1 saved" scr_postrun "${args[@]}"
	[[ $stderr != *identified* ]]
	output_and_checkpoint
}

# The next job restarts from the current checkpoint, and LLNL's library fetches
# files only.
@test "into containers: all but the restart point; that too with --pack-current" {
	checkpoints 1
	outputs 2
	post 0 --containers
	[[ $(indexed) == "2 1* " ]]
	[[ -e p/ckpt.1/rank_0.ckpt && ! -e p/.scr/scr.dataset.1/.scr ]]
	[[ ! -e p/out.2/rank_0.ckpt && -e p/.scr/scr.dataset.2/.scr ]]
	ends 0 scr_container -p p verify 1 2
	# The restart point moves: the old one is packed now.
	checkpoints 3
	SCR_USE_CONTAINERS=1 post 0
	[[ $(indexed) == "3* 2 1 " ]]
	[[ -e p/ckpt.3/rank_0.ckpt && ! -e p/.scr/scr.dataset.3/.scr ]]
	[[ ! -e p/ckpt.1/rank_0.ckpt && -e p/.scr/scr.dataset.1/.scr ]]
	checkpoints 4
	SCR_USE_CONTAINERS=1 post 0 --no-containers
	[[ -e p/ckpt.4/rank_0.ckpt && -e p/ckpt.3/rank_0.ckpt ]]
	# With --id, the restart point stays what it was.
	checkpoints 5
	post 0 --containers --id 5
	[[ -e p/ckpt.4/rank_0.ckpt && ! -e p/ckpt.5/rank_0.ckpt ]]
	rm -rf p nodes
	misused --pack-current scr_postrun "${args[@]}" --pack-current --no-containers
	checkpoints 1
	post 0 --containers --pack-current
	[[ ! -e p/ckpt.1/rank_0.ckpt && -e p/.scr/scr.dataset.1/.scr ]]
	ends 0 scr_container -p p verify 1
	scr_container -q -p p unpack 1
	[[ -e p/ckpt.1/rank_0.ckpt ]]
}

@test "checksums taken while copying are in the index's metadata" {
	checkpoints 1
	post 0
	[[ -z $(find p -name 'copied_*') ]]
	[[ $(scr_inspect p/.scr/scr.dataset.1/rank2file.0.0 | grep -c CRC) == 2 ]]
	ends 0 scr_index -p p --verify --checksums
	# A file that was changed after the copy does not get its checksum.
	checkpoints 2
	ends 0 scr_copy --cntldir local/cntl/genuser/scr.1000 --prefix "$PWD/p" --id \
		2
	[[ -e p/.scr/scr.dataset.2/copied_0.scr ]]
	damage p/ckpt.2/rank_0.ckpt 5 XX
	ends 0 scr_index -p p --build 2
	[[ $(scr_inspect p/.scr/scr.dataset.2/rank2file.0.0 | grep -c CRC) == 1 ]]
	ends 0 scr_index -p p --delete 2
	[[ ! -e p/.scr/scr.dataset.2 ]]
}

@test "--moved-from: the prefix is somewhere else now" {
	checkpoints 1
	mv p q
	post 0 -p q --moved-from "$PWD/p"
	[[ -e q/ckpt.1/rank_1.ckpt && ! -e p ]]
}

# A copy program that prints nothing.
@test "no node answers: success if everything was saved before" {
	checkpoints 1 2
	err_has "none of 1 nodes answered;run this again" post 1 --copy-program false
	post 0
	# According to flush.scr only dataset 1 needs a flush; it is older than
	# a saved one, and its loss is not reported.
	post 0 --copy-program false
	assert_output_has "newest checkpoint ckpt.2 (dataset 2) is saved"
	assert_stderr_has "none of 1 nodes answered" "nothing is left to save"
	rm -r local/cache
	out_has "newest checkpoint ckpt.2 (dataset 2) is saved" post 0
	# Without flush.scr it is unknown whether anything is left to save.
	rm p/.scr/flush.scr
	post 1 --copy-program false
}

@test "--plan estimates the time from the last copies" {
	checkpoints 1
	SCR_LOG_ENABLE=1 post 0
	grep -q "xfer=SCAVENGE.* bytes=[1-9]" p/.scr/log
	checkpoints 2
	printf '%s: host=n, jobid=1, xfer=SCAVENGE, dset=1, secs=%s\n' \
		2026-11-20T12:00:00 '1000000.000000, bytes=1.000000' >p/.scr/log
	post 0 --plan
	grep -Eq '^ *2 +complete .* [0-9.]+ h +ckpt\.2$' <<<"$output"
	rm p/.scr/log
	try scr_postrun "${args[@]}" --plan
	grep -Eq '^ *2 +complete .* \? +ckpt\.2$' <<<"$output"
}

@test "--clean: what is whole on the prefix goes from the caches, the rest stays" {
	cache=local/cache/genuser/scr.1000
	checkpoints 1 2 3 4
	lose 3
	# Not by default, and not by a plan.
	post 0 --id 2
	try scr_postrun "${args[@]}" --plan --clean
	[[ -e $cache/scr.dataset.2 && -e $cache/scr.dataset.4 ]]
	post 0 --clean
	assert_stderr_has "removed from the caches: 2 4: " \
		"left in the caches, as not whole on the prefix: 1 3"
	[[ ! -e $cache/scr.dataset.2 && ! -e $cache/scr.dataset.4 ]]
	[[ -e $cache/scr.dataset.1/rank_0.ckpt && -e $cache/scr.dataset.3 ]]
	try scr_copy --list --cntldir local/cntl/genuser/scr.1000
	assert_output_lacks '"id":2' '"id":4'
	assert_output_has '"id":1' '"id":3'
	scr_index -p p --verify ckpt.4
	# Again: the same verdict, and nothing left to remove.
	post 0 --clean
	[[ $stderr != *removed* ]]
}

@test "--clean: damaged on the prefix, or another dataset: it stays in the cache" {
	cache=local/cache/genuser/scr.1000
	checkpoints 5
	post 0
	# The copy is undone behind its back: a file is cut, and cannot be written.
	truncate -s 5 p/ckpt.5/rank_0.ckpt
	cp -a nodes saved
	rm local/cache/genuser/scr.1000/scr.dataset.5/rank_0.ckpt
	warns 4 "left in the caches;: 5" scr_postrun "${args[@]}" --clean
	[ -e $cache/scr.dataset.5/rank_1.ckpt ]
	# By hand: only with its time.
	rm -r nodes && mv saved nodes
	refuses 1 "dataset 5: not removed: it was created at ;not at 12345" scr_copy \
		--cntldir local/cntl/genuser/scr.1000 --cachedir $cache --id 5 \
		--clean 12345
	[ -e $cache/scr.dataset.5/rank_0.ckpt ]
	shows '"cleaned":0' scr_copy --cntldir local/cntl/genuser/scr.1000 \
		--cachedir $cache --id 6 --clean 12345
	assert_stderr_one_line "dataset 6: nothing removed"
	ends 2 scr_copy --cntldir local/cntl/genuser/scr.1000 --clean 12345
	try scr_copy --cntldir local/cntl/genuser/scr.1000 --id 5 --clean 12345
	assert_usage_error "--clean needs --cntldir, --cachedir"
}

@test "no node has a directory of the job: that is said, not that its caches are empty" {
	checkpoints 1
	rm p/.scr/flush.scr
	# nodes.scr: a job has run.
	post 1 --user nobody
	assert_stderr_has "none of 1 nodes has local/cntl/nobody/scr.1000" \
		"left no flush.scr, which lists its datasets"
	rm p/.scr/nodes.scr
	post 0 --user nobody
	assert_output_has "nothing to save: no node has local/cntl/nobody/scr.1000" \
		"job 1000 of user nobody"
	assert_output_lacks "the caches hold no dataset"
}

# --- Flaws of LLNL's tools ---

# Make prefix p with its dataset in the cache of a node, which
# is this machine; set the variables of the job.
cached() {
	gen -p p -m 1 -n 4 -s 1000 --crc -t SINGLE --layout cache
	export SCR_CNTL_BASE=$PWD/nodes/node0/cntl
	export SCR_CACHE_BASE=$PWD/nodes/node0/cache
	export SCR_USER_NAME=genuser SCR_JOB_ID=1000 SCR_NODELIST=localhost
	CACHE=$SCR_CACHE_BASE/genuser/scr.1000/scr.dataset.1
}

# LLNL's scr_poststage.py completes what the job's flush started.

@test "no resource manager: SCR_NODELIST, SCR_JOB_ID, SCR_USER_NAME; USER unset" {
	me=$(id -un)
	cached
	unset USER SCR_USER_NAME
	prints "$SCR_CNTL_BASE/$me/scr.1000" scr_list_dir control
	shows "is saved" scr_postrun -p p --user genuser
	rm -rf p nodes
	cached
	prints $'genuser\n1000\nlocalhost' scr_env -u -j -n
	prints "$SCR_CNTL_BASE/genuser/scr.1000" scr_list_dir control
	shows "ckpt.1 (dataset 1) is saved" scr_postrun -p p --resource-manager none
}

@test "settings in the prefix's file: log, halt, buffer; wherever they are asked" {
	cached
	printf '%s\n' SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0 \
		SCR_HALT_SECONDS=600 >p/.scrconf
	scr_log_event -p p -T RUN_START
	grep -q RUN_START p/.scr/log
	scr_halt -q -b now+5m p
	ends 0 scr_retries_halt --dir p
	echo SCR_FILE_BUF_SIZE=few >>p/.scrconf
	complains 2 "SCR_FILE_BUF_SIZE;few;p/.scrconf" scr_postrun -p p
	[[ ! -e p/.scr/scr.dataset.1 ]]
	rm -rf p nodes
	mkdir p elsewhere
	scr_halt -q -b now+50s p
	echo SCR_HALT_SECONDS=1000 >p/.scrconf
	echo SCR_HALT_SECONDS=1 >elsewhere/.scrconf
	for there in . p elsewhere; do
		(cd "$there" && scr_retries_halt --dir "$BATS_TEST_TMPDIR/p")
	done
}

@test "a second scr_postrun copies nothing, and the flush file knows" {
	cached
	ends 0 scr_flush_file --dir p --need-flush 1
	shows copied scr_postrun -p p
	ends 1 scr_flush_file --dir p --need-flush 1
	prints 'PFS CACHE' scr_env flush-file -p p --location 1
	find p -name 'rank_*' -printf '%p %i %C@\n' | sort >before
	[[ -s before ]]
	ends 0 scr_postrun -p p
	assert_output_lacks copied
	find p -name 'rank_*' -printf '%p %i %C@\n' | sort | diff before -
}

@test "stderr of the nodes is printed, through pdsh, too" {
	cached
	damage "$CACHE/rank_2.ckpt" 77 xxxx
	stub_ssh
	for remote in local ssh pdsh; do
		[[ $remote != pdsh ]] || command -v pdsh >/dev/null || continue
		cp -r p q
		ends 4 scr_postrun -p q --moved-from "$PWD/p" -w n1 -r $remote
		assert_stderr_has "n1: dataset 1: scr_copy: rank 2: rank_2.ckpt"
		rm -r q
	done
	try scr_postrun -p p -w n1,gone1 -r ssh
	assert_stderr_has "gone1: ssh: connect to host gone1 port 22: No route"
}

@test "33.10 what flush.scr lacks, as libscr could not write it, is complete if the caches say so" {
	app=$BIN/../mpi/app_restart
	[[ -x $app ]] || skip "built without MPI"
	mkdir -p job && cd job || return
	export SCR_PREFIX=$PWD SCR_CACHE_BASE=$PWD/../cache SCR_CNTL_BASE=$PWD/../cntl
	export SCR_CONF_FILE=/dev/null SCR_JOB_ID=j SCR_COPY_TYPE=SINGLE SCR_FLUSH=0
	export SCR_CACHE_SIZE=2 SCR_CACHE_BYPASS=0 SCR_REMOTE=local SCR_NODELIST=$HOSTNAME
	"$app" 1 >/dev/null
	cp .scr/flush.scr ../old
	"$app" 3 >/dev/null
	cp ../old .scr/flush.scr
	cp -r . ../other
	ends 0 scr_postrun
	assert_output_has "newest checkpoint ckpt.4 (dataset 4) is saved"
	# A filemap that is missing.
	rm "$SCR_CACHE_BASE"/*/scr.j/scr.dataset.4/.scr/filemap_0
	ends 0 scr_postrun -p ../other --moved-from "$PWD"
	assert_output_has "newest checkpoint ckpt.3 (dataset 3) is saved" \
		"ckpt.4 (dataset 4) is unfinished"
}
