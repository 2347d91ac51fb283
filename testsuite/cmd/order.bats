#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086
# The index tells the truth while files of one dataset replace those of another:
# an application that always writes the same names.  At every moment each
# dataset that the index calls valid has its own bytes.

load helper

setup() {
	in_no_job
	one_node
	size=5000
	dir=latest
}

# generate ID SEED OPTION...: a dataset whose files are $dir/rank_N.ckpt, with
# contents and times that depend on SEED; a copy of its files in right.SEED.
# $size: bytes of a file.
generate() {
	local id=$1 seed=$2

	shift 2
	gen -p p -n 4 -m 1 --nodes-dir nodes -s "$size" --dir "$dir" -i "$id" \
		--name "t$seed" --seed "$seed" --lose "" \
		--time $((1700000000 + seed * 1000)) -t SINGLE "$@"
	gen -p "right.$seed" -n 4 -m 1 -s "$size" --dir "$dir" -i "$id" \
		--name "t$seed" --seed "$seed" -t SINGLE
}

# saved ID SEED OPTION...: the same on the prefix, and current.
saved() {
	generate "$1" "$2" --layout prefix "${@:3}"
	scr_index -q -p p --build "$1"
	scr_index -q -p p --current "t$2"
}

# An older dataset, saved: t1 (dataset 1).  A newer one in the caches: t2.
prepare() {
	saved 1 1
	[[ $(valid) == "1* " ]]
	generate 2 2 --layout cache "$@"
}

# The ids of the datasets that are valid by the index, the current one marked.
valid() {
	scr_index -p p --all --valid | awk 'NR > 1 { printf "%s%s ", $1,
		/ \* / ? "*" : "" }'
}

# Does the index tell the truth?  Each valid dataset has its own bytes and
# metadata (with $copied, the filemaps may be another one's), and what is current
# is valid.
truth() {
	local name at good

	for name in $(scr_index -p p --names-only --valid); do
		at=$(ls "right.${name#t}")
		good=1
		if ! scr_index -p p --verify "$name" >verified 2>&1; then
			if [[ -z ${copied-} ]] || ! grep -qa "$at/rank" \
				p/.scr/scr.dataset.1/rank2file.0.0; then
				good=
			fi
		fi
		! grep "describes another" verified || good=
		diff -r -x ".scrkit-*" "right.${name#t}/$at" "p/$at" || good=
		[[ -n $good ]] ||
			failed "$name is valid by the index: $1" "$(cat verified)" ||
			return
	done
	! scr_index -p p --all | grep -q 'NO.*\*' ||
		failed "what is current is not valid: $1"
}

# killed_at_each WHAT COMMAND...: run COMMAND, which replaces t1 by dataset $to
# (2), killed before and after each rename; then once more.
killed_at_each() {
	local what=$1 n kill count

	shift
	cp -a p saved
	env LD_PRELOAD="$SHIM" SHIM_OP=rename SHIM_COUNT_FILE="$PWD/count" "$@"
	count=$(sort -n count | tail -1)
	((count > 3))
	for n in $(moments "$count" 3); do
		for kill in KILL_AT KILL_AFTER; do
			renew saved
			env LD_PRELOAD="$SHIM" SHIM_OP=rename SHIM_$kill="$n" \
				"$@" >out 2>&1 || true
			truth "$what killed at rename $n ($kill): $(scr_index \
				-p p --all; cat out)"
		done
	done
	"$@"
	truth "$what"
	[[ $(valid) =~ ^${to-2}.?\ $ ]]
}

@test "scavenge: valid is what has its bytes, killed at every rename" {
	prepare
	killed_at_each scavenge scr_postrun "${args[@]}"
	scr_index -p p --all | grep "^ *1 .*files replaced by dataset 2"
}

# An older dataset 1, t1, on the prefix, and another one with this number, t5, in
# the caches.  Less redundancy than the old one had: that must not stay.
same_number() {
	rm -rf p saved right.* count nodes/*
	dir=latest saved 1 1 -t XOR -m 4
	generate 1 5 --layout cache
}

@test "scavenge: a valid dataset with the same number stays" {
	for dir in latest elsewhere; do
		same_number
		cp -a p before
		for more in --plan "" "--id 1"; do
			ends 1 scr_postrun "${args[@]}" $more
			assert_stderr_has "dataset 1: not saved; it is still in" \
				"an older dataset of this number, t1" \
				"scr_index -p p --delete id:1"
			assert_output_has "left in the caches"
			[[ $more == --id* ]] || assert_output_has \
				"NO checkpoint of the caches is saved; the next job restarts from t1 (dataset 1)"
		done
		diff -r -x "scavenge.*" before p
		rm -rf before
		scr_index -q -p p --delete id:1
		ends 0 scr_postrun "${args[@]}"
		truth "after --delete"
		[[ $(valid) == "1* " ]]
		scr_index -p p --names-only --valid | grep -qx t5
	done
}

@test "scavenge: another dataset with the same number takes the place of a dropped one" {
	to=1
	for dir in latest elsewhere; do
		same_number
		scr_index -q -p p --drop t1
		killed_at_each "scavenge to $dir" scr_postrun "${args[@]}"
		scr_index -p p --names-only --valid | grep -qx t5
		[[ -z $(find p/.scr/scr.dataset.1 -name "*.xor.*") ]]
	done
}

@test "scavenge: caches of an older job replace nothing newer of the same number" {
	for dir in latest elsewhere; do
		rm -rf p nodes/* right.*
		dir=latest saved 1 5
		rm p/.scr/flush.scr
		cp -a p before
		generate 1 1 --layout cache
		warns 0 "a newer one of this number" scr_postrun "${args[@]}"
		[[ -z $(find p -name "rank_*" -newer before/.scr/index.scr) ]]
		diff -r before/latest p/latest
		scr_index -q -p p --verify t5
		# Damaged, it is not filled up with the older one.
		rm p/latest/rank_2.ckpt
		ends 4 scr_postrun "${args[@]}"
		[[ ! -e p/latest/rank_2.ckpt ]]
		rm -rf before
	done
}

# hidden ID: dataset ID, t6, in $dir; it is not there before appear() is run.
hidden() {
	local to=$dir

	saved "$1" 6
	mkdir later
	mv "p/.scr/scr.dataset.$1" p/.scr/index.scr "p/$to" later
	cat >appear <<-END
		rm -rf p/.scr/scr.dataset.$1
		mv later/scr.dataset.$1 later/index.scr p/.scr
		mv later/$to p
	END
}

# scr_postrun; another job's dataset appears before a node copies.
meanwhile() {
	cat >copy <<-END
		#!/bin/sh
		cd '$PWD' || exit
		case " \$* " in
		*" --list "*) ;;
		*) [ ! -e appear ] || { sh -e appear && rm appear; } >&2 ;;
		esac
		exec scr_copy "\$@"
	END
	chmod +x copy
	try scr_postrun "${args[@]}" --copy-program "$PWD/copy"
	[[ ! -e appear ]]
}

@test "scavenge: a restart point that another job sets meanwhile stays" {
	dir=new hidden 6
	dir=old generate 4 4 --layout cache
	meanwhile
	assert_stderr_has "dataset 4: saved; the restart point stays t6"
	[[ $(valid) == "6* 4 " ]]
	truth "a newer restart point"
	# One that is lost is left for an older one that is whole.
	rm -r p/new p/.scr/scr.dataset.4 p/old
	scr_index -q -p p --drop t4
	try scr_postrun "${args[@]}"
	[[ $(valid) == *"4* " ]]
}

@test "scavenge: a dataset of the same number, or newer files, that another job writes meanwhile stay" {
	dir=new hidden 4
	dir=old generate 4 4 --layout cache
	# As the library flushes it.
	find later/scr.dataset.4 -type f ! -name "rank2file*" ! -name summary.scr \
		-delete
	cp later/index.scr index
	meanwhile
	assert_status 1
	assert_stderr_has "dataset 4: not saved" "a newer dataset of this number, t6"
	[[ $(valid) == "4* " ]]
	cmp index p/.scr/index.scr
	scr_index -q -p p --verify t6
	diff -r right.6/new p/new
	rm -rf p nodes right.* later appear
	dir=latest hidden 6
	generate 4 4 --layout cache
	meanwhile
	assert_status 1
	assert_stderr_has "dataset 4: not saved; it is still in the caches" "t6"
	[[ $(valid) == "6* " ]]
	truth "newer files"
}

@test "--build: the older dataset with the same number goes first" {
	to=1
	saved 1 1 -t XOR -m 4
	dir=elsewhere generate 1 5 --layout cache
	# So far only flush.scr tells of t5: what is there is t1.
	scr_index -p p --build 1
	truth "before the copy"
	scr_index -p p --names-only --valid | grep -qx t1
	scr_copy --cntldir local/cntl/genuser/scr.1000 \
		--cachedir local/cache/genuser/scr.1000 --id 1 --prefix p
	copied="the filemaps of t5 are there"
	killed_at_each build scr_index -p p --build 1
	scr_index -p p --names-only --valid | grep -qx t5
}

@test "--build: what an older dataset has in containers is not the new one's" {
	for lost in 1 "[0-3]" none; do
		rm -rf p nodes right.*
		saved 1 1
		scr_container -q -p p pack 1
		generate 1 5 --layout cache
		rm -f local/cache/genuser/scr.1000/scr.dataset.1/rank_$lost.ckpt
		try scr_copy --cntldir local/cntl/genuser/scr.1000 --prefix p \
			--cachedir local/cache/genuser/scr.1000 --id 1
		if [[ $lost == none ]]; then
			scr_index -p p --build 1
			[[ $(valid) == 1* ]]
			truth "built"
			continue
		fi
		tree_sha p/.scr/scr.dataset.1 >before
		for command in "--verify 1" "--build 1" "--build 1 --checksums"; do
			warns 4 "cannot be rebuilt" scr_index -p p $command
		done
		# The older one is not given up for it.
		tree_sha p/.scr/scr.dataset.1 | diff before -
		scr_container -p p extract id:1 -C old
		diff -r right.1/latest old/latest
		rm -r old
	done
}

# On a small file system: scavenge t2 over t1 with each amount of room, in pages
# and in inodes, then again with enough.
@test "scavenge: valid is what has its bytes when the file system is full" {
	local room step=6 replaced=0 failures=0 marked=0

	privately && return
	mkdir p
	mount -t tmpfs -o size=2m,nr_inodes=300 none p
	size=40000 saved 1 1
	# Each file is larger than the one that it replaces.
	size=60000 generate 2 2 --layout cache
	cp -a p saved
	[[ -z ${SCRKIT_SLOW-} ]] || step=2
	for room in $(seq 0 $step 60) $(seq 1000 $step 1050); do
		find p -mindepth 1 -delete
		cp -a saved/. p
		if ((room < 1000)); then
			truncate -s 2m p/filler
			fallocate -l $((($(stat -f -c %a p) - room) * 4096)) p/filler
		else
			mkdir p/inodes
			for ((n = $(stat -f -c %d p); n > room - 1000; n--)); do
				: >p/inodes/$n
			done
		fi
		if scr_postrun "${args[@]}" >out 2>&1; then
			truth "saved with $room"
			[[ $(valid) == 2* ]]
			continue
		fi
		failures=$((failures + 1))
		truth "full with $room: $(cat out)"
		if ! diff -rq right.1/latest p/latest >differ; then
			replaced=$((replaced + 1))
			[[ $(scr_index -p p --names-only --valid) != *t1* ]]
		else
			# It was marked, perhaps, and that is taken back.
			marked=$((marked + $(grep -c "valid again" out || :)))
			[[ $(valid) == "1* " ]] || failed "$(cat out)"
			scr_index -p p --verify 1
		fi
		rm -rf p/filler p/inodes
		ends 0 scr_postrun "${args[@]}"
		truth "again after $room"
		[[ $(valid) == "2* " ]]
	done
	echo "# $failures failures, $replaced of them with files replaced," \
		"$marked with the mark taken back" >&3
	((failures > 5 && replaced > 2 && marked > 0))
}

@test "killed before the first file is replaced: --build takes the mark back" {
	prepare
	# A rename, and what is there if the process is killed at it: t1 as it
	# was, marked, or replaced.
	while read -r path kill want; do
		renew p kept
		env LD_PRELOAD="$SHIM" SHIM_OP=rename SHIM_PATH="$path" \
			"SHIM_KILL_$kill=1" scr_postrun "${args[@]}" >out 2>&1 ||
			true
		truth "$path $kill: $(cat out)"
		case $want in
		was)
			[[ $(valid) == "1* " ]]
			;;
		marked)
			diff -r -x ".scrkit-*" right.1/latest p/latest
			[[ $(valid) == "" ]]
			ends 3 scr_index -p p --verify 1
			[[ $path != latest/ ]] ||
				assert_stderr_has "and replaced none"
			assert_stderr_has "next: scr_index -p p --build 1"
			ends 3 scr_inspect -p p 1
			scr_index -q -p p --build 1
			[[ $(valid) == "1 " ]]
			;;
		replaced)
			[[ $(valid) == "" ]]
			warns 4 "dataset 2 replaced its files" scr_index -p p --build 1
			;;
		esac
		truth "$path $kill, built"
		# Not copied: that gives the files other inodes.
		if [[ $want != replaced ]]; then
			rm -rf p/.scr
			cp -a kept/.scr p/
		fi
	done <<-END
		index.scr AT was
		index.scr AFTER marked
		summary.scr AT marked
		summary.scr AFTER marked
		latest/ AT marked
		latest/ AFTER replaced
	END
	# A copy of the prefix has other inodes: nothing is proved.
	rm -rf p
	mv kept p
	env LD_PRELOAD="$SHIM" SHIM_OP=rename SHIM_PATH=latest/ SHIM_KILL_AT=1 \
		scr_postrun "${args[@]}" >out 2>&1 || true
	cp -a p q
	ends 4 scr_index -p q --build 1
	scr_index -q -p p --build 1
}

@test "files deleted by hand: new ones of the same names are not theirs, others change nothing" {
	for lost in "rank_*" rank_2.ckpt; do
		rm -rf p nodes/* right.*
		prepare
		rm p/latest/$lost
		cp -a p saved
		# Killed when N new files have their names.  Others of the same
		# names and sizes may be left, and their filemaps missing.
		for n in 1 2 3; do
			renew saved
			env LD_PRELOAD="$SHIM" SHIM_OP=rename SHIM_PATH=latest/ \
				SHIM_KILL_AFTER=$n scr_postrun "${args[@]}" ||
				true
			[[ $(valid) != *1* ]]
			truth "killed after $n"
		done
		rm -rf p && mv saved p
		scr_postrun "${args[@]}"
		[[ $(valid) == "2* " ]]
		truth "saved"
		ends 3 scr_index -p p --add 1
		warns 4 "dataset 2 replaced its files" scr_index -p p --build 1
	done
	rm -rf p nodes/* right.*
	saved 1 1 -t XOR -m 4
	rm p/latest/rank_2.ckpt
	dir=elsewhere generate 2 2 --layout cache
	warns 0 "dataset 1: valid again" scr_postrun "${args[@]}"
	[[ $(valid) == "2* 1 " ]]
	scr_index -q -p p --build 1
	diff -r right.1/latest p/latest
}

@test "import, unpack and rebuild that fail take the mark back" {
	with_archive
	cp -a p before
	for at in 1 2; do
		ends 1 env LD_PRELOAD="$SHIM" SHIM_OP=rename SHIM_PATH=latest/ \
			SHIM_FAIL_AT=$at SHIM_ERRNO=ENOSPC \
			scr_archive -p p import --force archive
		if ((at == 1)); then
			diff -r right.1/latest p/latest
			[[ $(valid) == "1* " ]]
			assert_stderr_has "dataset 1: valid again"
		else
			[[ $(valid) != *1* ]]
		fi
		truth "import failed at $at"
		scr_index -p p --verify
		renew before
	done
}

# 2 restarted from 1, and was made by a clock that was behind.
@test "33.16 a mark is taken back: the restart point is again what it was" {
	dir=elsewhere saved 1 9
	saved 2 1
	[[ $(valid) == "2* 1 " ]]
	generate 3 3 --layout cache
	ends 1 env LD_PRELOAD="$SHIM" SHIM_OP=rename SHIM_PATH=latest/ \
		SHIM_FAIL_AT=1 SHIM_ERRNO=ENOSPC scr_postrun "${args[@]}"
	assert_stderr_has "dataset 2: valid again"
	[[ $(valid) == "2* 1 " ]]
	truth "a scavenge failed"
}

# scavenge_of NODE...: copy dataset 2 from these of 4 nodes, as a scavenge does.
copy_from() {
	local node

	for node; do
		scr_copy --cntldir "nodes/node$node/cntl/genuser/scr.1000" \
			--cachedir "nodes/node$node/cache/genuser/scr.1000" \
			--id 2 --prefix p --replace || return
	done
}

@test "a rank of a dead node: the older dataset's file is not taken for its own" {
	prepare -m 4 -t XOR
	scr_index -p p --drop t1
	copy_from 0 1 3
	scr_index -p p --build 2
	truth "after a scavenge without node 2"
	[[ $(valid) == "2 " ]]
	# Of two dead nodes it is not whole, and the files do not hide that: nothing
	# says that they are not its own.
	rm -r p right.*
	prepare -m 4 -t XOR
	scr_index -p p --drop t1
	copy_from 0 3
	ends 1 scr_index -p p --build 2
	[[ $(valid) == "" ]]
}

@test "scr_copy: a file with other contents is replaced only with --replace" {
	prepare
	set -- --cntldir local/cntl/genuser/scr.1000 \
		--cachedir local/cache/genuser/scr.1000 --id 2 --prefix p
	ends 3 scr_copy "$@"
	assert_output_has '"copied":16,' '"taken":4,' '{"taken":"latest/rank_0.ckpt"}'
	assert_stderr_has "rank 3: latest/rank_3.ckpt: exists with other contents"
	diff -r right.1/latest p/latest
	# No filemap may name files that are not there.
	[[ ! -e p/.scr/scr.dataset.2/filemap_0 ]]
	ends 0 scr_copy "$@" --replace
	diff -r right.2/latest p/latest
}

@test "scr_rebuild and --build replace no file of a valid dataset" {
	generate 1 1 --layout prefix -t XOR -m 4 --crc
	size=6000
	generate 2 2 --layout both -t XOR -m 4
	scr_index -p p --build 2
	for cmd in "scr_rebuild -p p 1" "scr_index -p p --build 1"; do
		cp "right.2/latest/rank_1.ckpt" p/latest/
		cp -p right.1/latest/rank_[023].ckpt p/latest/
		warns 3 "dataset 2 (t2);would replace files" $cmd
		cmp right.2/latest/rank_1.ckpt p/latest/rank_1.ckpt
	done
	scr_index -p p --drop t2
	scr_rebuild -p p 1
	diff -r right.1/latest p/latest
}

# refused STATUS COMMAND...: it does not take t1 for whole, says why, and changes
# nothing.
refused() {
	local wanted=$1

	shift
	ends "$wanted" "$@"
	[[ $output$stderr == *"dataset 2 replaced its files"* ]] ||
		failed "$*: no reason"
	rm -rf after && cp -a p after && rm -f after/.scr/index.{lock,spare}
	diff -r -x .scrkit.lock -x .scrkit.shares before after ||
		failed "$*: changed something"
}

@test "a replaced dataset does not come back by its sizes, dropped, without summary or not" {
	prepare
	scr_postrun "${args[@]}"
	renew p replaced
	# A full file system costs it its summary.  Third column: not tried after that.
	for how in : "scr_index -p p --drop t1" "rm p/.scr/scr.dataset.1/summary.scr"; do
		renew replaced
		$how
		renew p before && rm -f before/.scr/index.{lock,spare}
		while IFS='|' read -r status command not; do
			[[ -z $not || ! $how =~ $not ]] || continue
			refused $status $command
			[[ $how == rm* || $command != scr_inspect* ]] ||
				assert_output_lacks "tolerates"
		done <<-'END'
			4|scr_index -p p --build 1
			4|scr_index -p p --build 1 --checksums|summary.scr
			3|scr_index -p p --add 1|summary.scr
			4|scr_rebuild -p p 1
			4|scr_index -p p --verify 1
			4|scr_inspect -p p 1
			3|scr_rebuild -p p --protect xor 1|summary.scr
			3|scr_container -p p pack 1
			3|scr_container -p p extract 1 -C elsewhere|summary.scr
			3|scr_archive -p p export -o archive 1|summary.scr
			4|scr_index -p p --current t1|[t1r]$
		END
		[[ ! -e elsewhere && ! -s archive && $(valid) == "2* " ]]
		truth refused
	done
}

@test "without room for a new summary the mark is written over the old one" {
	prepare
	LD_PRELOAD=$SHIM SHIM_PATH=scr.dataset.1/.scrkit- SHIM_FAIL_AT=1 \
		SHIM_ERRNO=ENOSPC SHIM_TRACE=$PWD/trace scr_postrun "${args[@]}"
	grep -q "open.*scr.dataset.1/.scrkit-" trace
	scr_index -p p --drop t1
	cp -a p before && rm -f before/.scr/index.{lock,spare}
	refused 4 scr_index -p p --build 1
}

@test "recorded checksums prove what a replaced dataset has left" {
	generate 1 1 --layout prefix -t XOR -m 4
	scr_index -p p --build 1 --checksums
	scr_index -p p --current t1
	generate 2 2 --layout cache
	cp -a p saved
	# Killed before the N-th file is replaced, and at once when it is asked again.
	cat >copy <<-'END'
		#!/bin/sh
		case " $* " in *" --replace "*)
			[ ! -e tried ] || kill -9 $$
			: >tried ;;
		esac
		exec scr_copy "$@"
	END
	chmod +x copy
	for n in 1 2 3 4; do
		rm -rf p tried && cp -a saved p
		env LD_PRELOAD="$SHIM" SHIM_OP=rename SHIM_PATH=latest/ \
			SHIM_KILL_AT=$n scr_postrun --copy-program ./copy \
			"${args[@]}" >out 2>&1 || true
		truth "killed at file $n: $(cat out)"
		if ((n < 3)); then
			# XOR rebuilds one.
			grep "dataset 1: repaired on the prefix" out
			[[ $(valid) == "1* " ]]
		else
			ends 4 scr_index -p p --build 1
			[[ $(valid) == "" ]]
		fi
	done
	# All files replaced: the checksums tell.
	renew saved
	scr_postrun "${args[@]}"
	ends 4 scr_index -p p --build 1
	[[ $(valid) == "2* " ]]
	# Its own files come back: proved as well.
	scr_index -p p --drop t2
	cp right.1/latest/* p/latest
	scr_index -p p --build 1
	truth "its own files"
	[[ $(valid) == "1 " ]]
}

# two_valid OPTION...: t1 and t2, valid over the same files, as LLNL's library
# leaves them (it retires nobody); the bytes are those of t2.  $sums: of --build.
two_valid() {
	generate 1 1 --layout prefix "$@"
	scr_index -p p --build 1 ${sums:+"$sums"}
	cp -a p/.scr/scr.dataset.1 .
	rm -r p/latest
	generate 2 2 --layout prefix "$@"
	scr_index -p p --build 2 ${sums:+"$sums"}
	rm -r p/.scr/scr.dataset.1
	cp -a scr.dataset.1 p/.scr
	scr_index -p p --add 1
}

@test "a missing file of a valid dataset does not become another one's" {
	two_valid -t XOR -m 4
	rm p/latest/rank_1.ckpt
	for command in "scr_rebuild -p ../../../p 2" "scr_index -p ../../../p --build 2" \
		"scr_rebuild --xor $(basename -a p/.scr/scr.dataset.2/*c.er.*.xor.* |
			tr '\n' ' ')"; do
		cd p/.scr/scr.dataset.2
		try $command
		cd ../../..
		assert_status 3
		assert_stderr_has "dataset 1 (t1)"
		[[ ! -e p/latest/rank_1.ckpt ]]
	done
	scr_index -p p --drop t1
	scr_rebuild -p p 2
	diff -r right.2/latest p/latest
	# Its summary knows.
	warns 3 "dataset 2 replaced its files" scr_index -p p --add 1
}

# An archive of t2; t1 is saved, and has its files.
with_archive() {
	generate 2 2 --layout prefix
	scr_index -p p --build 2
	scr_archive -p p export -o archive t2
	rm -r p
	prepare
	rm -r local/cache
}

@test "import --force: valid is what has its bytes, killed at every rename" {
	with_archive
	ends 1 scr_archive -p p import archive
	truth "import without --force"
	[[ $(valid) == "1* " ]]
	killed_at_each import scr_archive -p p import --force archive
}

@test "unpack and extract --force tell the index" {
	generate 1 1 --layout prefix
	scr_index -p p --build 1
	scr_container -p p pack 1
	[[ ! -e p/latest/rank_0.ckpt ]]
	saved 2 2
	cp -a p packed
	scr_container -p p unpack --force 1
	truth unpack
	[[ $(valid) == "1* " ]]
	rm -r p && mv packed p
	scr_container -p p extract --force -C p t1 latest/rank_3.ckpt
	[[ $(valid) == "1* " ]]
	scr_index -p p --all | grep "^ *2 .*NO .*files replaced by dataset 1"
}

@test "two valid datasets over the same files: verify names them" {
	sums=--checksums two_valid
	[[ $(scr_index -p p --all --valid | grep -c ' t[12]$') == 2 ]]
	warns 3 "t2: latest/rank_;dataset 1 has this file, too (4 files in all)" \
		scr_index -p p --verify 2
	ends 3 scr_index -p p --verify --json
	assert_output_has "dataset 2 has this file, too" "dataset 1 has this file, too"
	# Without checksums nobody can tell, and it is said.
	scr_index -p p --drop 2
	rm p/.scr/scr.dataset.2/rank2file*
	scr_index -p p --build 2
	ends 0 scr_index -p p --verify 2
	assert_stderr_has "dataset 1 has this file, too (4 files in all); without checksums"
	scr_index -p p --drop 1
	calm scr_index -p p --verify
}

@test "pack leaves the files that another valid dataset has, too" {
	for id in 1 2; do
		gen -p p -n 4 -m 1 -s 5000 --dir latest -i $id --name t$id -t SINGLE
		scr_index -p p --build $id
	done
	cp -a p/latest files
	ends 0 scr_container -p p pack 2 --json
	assert_output_has '"shared": 4' '"removed": 0'
	assert_stderr_has "t2: 4 files belong to another dataset, too: kept"
	diff -r files p/latest
	# Once more: it looks for left-overs.
	scr_container -p p pack 2
	diff -r files p/latest
	scr_index -p p --verify --checksums 1
	# Without the other one they are left-overs.
	scr_index -p p --drop 1
	rm -r p/.scr/scr.dataset.1
	scr_container -p p pack 2
	[[ ! -e p/latest/rank_0.ckpt ]]
	scr_container -p p unpack 2
	diff -r files p/latest
}
