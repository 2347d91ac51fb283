#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2053,SC2086 # for tables
# What could not be looked at, for its rights or for I/O errors, is unknown (status
# 1), neither lost nor whole nor saved.  A rebuild does without it where the rest
# suffices, and says so.  What was renamed by hand is named; lines about a loss name
# only what is lost.

load damaged

setup() {
	in_no_job
	# A directory that a stranger can reach.
	place=$(mktemp -d /tmp/scrkit-unknown.XXXXXX)
	chmod 755 "$place"
	cd "$place" || return 1
	part=p/.scr/scr.dataset.1/reddesc.er.1.xor.grp_1_of_2.mem_2_of_2.redset
}

teardown() {
	rm -rf "$place"
}

# saved [ID] [OPTION]...: checkpoint ID (1) of 4 ranks on prefix p, in the index.
saved() {
	local id=1

	[[ ${1-} != [1-9] ]] || { id=$1 && shift; }
	((id != 1)) || rm -rf p
	built p "$id" -n 4 --set-size 2 -s 1000 "$@"
	meta=p/.scr/scr.dataset.$id
}

# eio STATUS PATH COMMAND...: reading files whose path contains PATH fails; it
# ends with STATUS, a pattern.
eio() { SHIM_OP=pread eio_any "$@"; }

# The same for every read, or for the operation in $SHIM_OP.
eio_any() {
	SHIM_READS=1 SHIM_OP=${SHIM_OP-} SHIM_PATH=$2 SHIM_FAIL_AT=1 \
		SHIM_STICKY=1 LD_PRELOAD=$SHIM try "${@:3}"
	[[ $status == $1 ]] || failed "${*:3}: expected status $1"
}

# unknown PATH TEXT [OPTION]: while PATH cannot be read, all call dataset 1
# unknown because of TEXT, and nothing is changed.
unknown() {
	local path=$1 text=$2 kept

	shift 2
	kept=$(tree_sha p)
	out_has unknown eio 1 "$path" scr_index -p p --verify "$@"
	assert_stderr_has "$text"
	assert_stderr_lacks ": lost"
	out_has "unknown;$text" eio 1 "$path" scr_inspect -p p "$@"
	assert_output_lacks lost
	out_has "state       unknown;$text" eio 1 "$path" scr_inspect -p p -d 1 "$@"
	assert_output_lacks lost
	eio 1 "$path" scr_inspect -p p -d 1 --map --json "$@"
	assert_output_lacks '"lost"'
	err_has "$text" eio 1 "$path" scr_index -p p --build 1 "$@"
	err_has "$text" eio 1 "$path" scr_rebuild -p p 1 "$@"
	diff <(echo "$kept") <(tree_sha p)
}

# mended PATH TEXT [OPTION]: PATH is computed again although it may be right,
# which is said.
mended() {
	local path=$1 text=$2 kept after=0

	shift 2
	# --deep reads what it wrote, which still fails here.
	[[ $* != *--deep* ]] || after=3
	kept=$(tree_sha p)
	err_has "$text" eio 3 "$path" scr_index -p p --verify "$@"
	eio 3 "$path" scr_inspect -p p "$@"
	out_has "cannot;can be rebuilt" eio 3 "$path" scr_rebuild -p p 1 --dry-run "$@"
	err_has "$text;treated as lost" eio $after "$path" scr_rebuild -p p 1 "$@"
	[[ $after == 0 ]] ||
		assert_stderr_has "after the rebuild" "next: scr_inspect -p p --deep 1"
	diff <(echo "$kept") <(tree_sha p)
}

@test "a filemap that nothing can restore, or of a set that has lost another; redundancy" {
	saved -t SINGLE
	# A good rank2file is enough.
	eio 0 filemap_2 scr_index -p p --verify
	rm "$meta"/rank2file* "$meta"/reddesc*
	unknown filemap_2 "filemap_2: cannot read: Input/output error"
	saved
	rm "$meta/filemap_1" "$meta"/rank2file* "$meta"/reddesc.er* \
		"$meta"/reddescmap.er.1.*
	unknown filemap_0 "filemap_0: cannot read: Input/output error"
	saved
	rm p/ckpt.1/rank_0.ckpt
	unknown "${part##*/}" "Input/output error"
}

@test "a data file without redundancy, whose checksum is recorded; summary and rank2file" {
	saved -t SINGLE
	scr_index -q -p p --build 1 --checksums
	unknown rank_2.ckpt "rank_2.ckpt: cannot be read (I/O error)" --checksums
	rm "$meta"/{filemap,reddesc}*
	out_has unknown eio 1 rank_2.ckpt scr_index -p p --verify --checksums
	saved
	for file in summary.scr rank2file rank2file.0.0; do
		out_has unknown eio 1 "$meta/$file" scr_index -p p --verify
		eio 1 "$meta/$file" scr_index -p p --current ckpt.1
	done
}

@test "what is recorded of a lost file cannot be read: it is not rebuilt" {
	saved
	scr_index -q -p p --build 1 --checksums
	rm p/ckpt.1/rank_0.ckpt
	for file in summary.scr rank2file rank2file.0.0; do
		eio 1 "$meta/$file" scr_rebuild -p p 1
		assert_stderr_one_line "$file" "Input/output error"
		[[ ! -e p/ckpt.1/rank_0.ckpt ]]
	done
	scr_rebuild -q -p p 1
	[[ -e p/ckpt.1/rank_0.ckpt ]]
}

@test "--deep: what cannot be read is unknown, the rest is judged" {
	local bad="rank_0.ckpt: cannot read at byte 0: Input/output error"
	local wrong="set 2 of 2 (XOR) is inconsistent"

	saved
	built p 2 -n 4 --set-size 2 -s 1000
	damage p/ckpt.1/rank_3.ckpt 20
	eio 1 ckpt.1/rank_0.ckpt scr_index -p p --deep --verify
	assert_stderr_has "$bad" "unknown" "$wrong"
	assert_output_has " 1 unknown " " 2 whole "
	out_has "$bad;whole" eio 1 ckpt.1/rank_0.ckpt scr_inspect -p p --deep
	eio 1 ckpt.1/rank_0.ckpt scr_inspect -p p --deep 1
	assert_output_has "state       unknown" "$bad" "$wrong"
	eio 1 ckpt.1/rank_0.ckpt scr_inspect -p p --deep --json 1
	assert_output_has '"unknown": true' "$wrong"
	# Nothing is rebuilt by guess, and the index is not told.
	kept=$(tree_sha p)
	for command in "scr_rebuild -p p --deep 1" "scr_index -p p --deep --build 1"; do
		eio "[13]" ckpt.1/rank_0.ckpt $command
	done
	diff <(echo "$kept") <(tree_sha p)
	# A redundancy file whose header can be read.
	SHIM_READS=1 SHIM_OP=pread SHIM_PATH="${part##*/}" SHIM_FAIL_AT=3 \
		SHIM_STICKY=1 LD_PRELOAD=$SHIM try scr_index -p p --deep --verify
	assert_status 1
	assert_stderr_has "unknown, as is set 1 of 2 (XOR)"
}

@test "a filemap, redundancy, and data with a checksum that can be computed" {
	saved
	scr_index -q -p p --build 1 --checksums
	mended rank_2.ckpt "rank_2.ckpt: cannot be read" --checksums
	# Its redundancy is wrong: what is computed is not taken.
	was=$(sha256sum p/ckpt.1/rank_2.ckpt)
	damage "$meta/reddesc.er.3.xor.grp_2_of_2.mem_2_of_2.redset" 2000
	eio 1 rank_2.ckpt scr_rebuild -p p 1 --checksums
	assert_stderr_has "rank_2.ckpt: cannot be read" "cannot be rebuilt"
	[[ $was == "$(sha256sum p/ckpt.1/rank_2.ckpt)" ]]
	saved
	mended filemap_2 "filemap_2: cannot read: Input/output error"
	mended "${part##*/}" "Input/output error" --deep
}

# rebuilt PATH TEXT [OPTION]: PATH fails while a rebuild computes lost files from
# it; the rebuild says so and does without it.  $whole: what the files were.
rebuilt() {
	local path=$1 text=$2

	shift 2
	err_has "$text" eio 0 "$path" scr_rebuild -p p 1 "$@"
	diff <(echo "$whole") <(tree_sha p) || failed "$path: other bytes"
}

@test "only the header of a redundancy file: its body is used" {
	saved
	whole=$(tree_sha p)
	rm p/ckpt.1/rank_0.ckpt
	export SHIM_BELOW=100
	for command in "scr_inspect -p p" "scr_index -p p --verify" \
		"scr_rebuild -p p 1" "scr_index -p p --build 1"; do
		eio 1 "${part##*/}" $command
		[[ ! -e p/ckpt.1/rank_0.ckpt ]]
	done
	assert_stderr_has "which nothing confirms"
	eio 1 "${part##*/}" scr_inspect -p p -d 1
	assert_output_has "next:       scr_rebuild -p p --partial 1"
	eio 1 "${part##*/}" scr_rebuild -p p --partial 1
	assert_stderr_has "header was damaged and is rewritten" \
		"what was computed from them is unknown"
	diff <(echo "$whole") <(tree_sha p)
	# The checksum of what is computed proves the body.
	scr_index -q -p p --build 1 --checksums
	whole=$(tree_sha p)
	rm p/ckpt.1/rank_0.ckpt
	rebuilt "${part##*/}" "${part##*/}: header: cannot read at byte 0"
	assert_stderr_has "header was damaged and is rewritten" "checksums confirm"
	rm p/ckpt.1/rank_0.ckpt
	damage "$part" $(($(stat -c %s "$part") - 500))
	eio 4 "${part##*/}" scr_rebuild -p p 1
	assert_stderr_has "cannot be rebuilt" "its contents are damaged"
	[[ ! -e p/ckpt.1/rank_0.ckpt ]]
}

@test "a header, and Reed-Solomon does without the file" {
	saved -t RS --set-size 4 --failures 2
	whole=$(tree_sha p)
	rm p/ckpt.1/rank_0.ckpt
	name=$(basename "$meta"/reddesc.er.1.rs.*)
	rebuilt "$name" "Input/output error: treated as lost"
	rm p/ckpt.1/rank_[02].ckpt
	SHIM_BELOW=100 rebuilt "$name" "Input/output error: treated as lost"
}

# each_fails LOST NAME...: dataset 1 lacks LOST; while each of the files NAME, one
# after the other, cannot be read (redundancy: behind its header), LOST is
# rebuilt, without the file if it was wanted.
each_fails() {
	local name wanted=0

	for name in "${@:2}"; do
		rm $1
		SHIM_FROM=$([[ $name == reddesc* ]] && echo 3000) rebuilt "$name" ""
		[[ -z $stderr ]] || {
			assert_stderr_has "$name" \
				": cannot be read (I/O error): treated as lost"
			wanted=$((wanted + 1))
		}
	done
	((wanted > 0)) || failed "none of $* was wanted"
}

@test "a file, or one of two copies, that fails while lost ones are computed from it" {
	saved -t RS --set-size 4 --failures 2 -s 50000
	whole=$(tree_sha p)
	each_fails p/ckpt.1/rank_0.ckpt rank_{1,2,3}.ckpt
	each_fails p/ckpt.1/rank_0.ckpt reddesc.er.{0,1,2,3}.rs.
	# Two lost, and a third that cannot be read.
	rm p/ckpt.1/rank_[03].ckpt "$meta"/reddesc.er.[03].rs.*
	eio 1 rank_2.ckpt scr_rebuild -p p 1
	assert_stderr_has "rank_2.ckpt: cannot be read (I/O error); without it"
	SHIM_FROM=3000 eio 1 reddesc.er.1.rs. scr_rebuild -p p 1
	assert_stderr_has "mem_2_of_4.redset: cannot be read (I/O error); without"
	# What can be computed without it is.
	diff <(echo "$whole") <(tree_sha p) | grep "^>" && failed "wrong bytes"
	[[ ! -e p/ckpt.1/rank_3.ckpt && -z $(find p -name "*.tmp") ]]
	saved -t PARTNER --set-size 4 --failures 2 -s 50000
	whole=$(tree_sha p)
	each_fails p/ckpt.1/rank_0.ckpt reddesc.er.{1,2}.partner.
	rm p/ckpt.1/rank_0.ckpt
	SHIM_FROM=3000 eio 1 .partner. scr_rebuild -p p 1
	assert_stderr_has "cannot be read (I/O error); without it"
	[[ ! -e p/ckpt.1/rank_0.ckpt ]]
}

@test "files of several sets that fail while they are used" {
	saved -t RS -n 12 -m 4 --set-size 4 --failures 2 -s 100000
	whole=$(tree_sha p)
	cp -a p lossy
	rm lossy/ckpt.1/rank_[048].ckpt lossy/ckpt.1/rank_1*.ckpt
	for name in rank_3 rank_5 rank_7 reddesc.er.3. reddesc.er.; do
		renew lossy
		SHIM_FROM=50000 eio '*' "$name" scr_rebuild -p p 1
		((status == 0)) || break
		diff <(echo "$whole") <(tree_sha p) || failed "$name: other bytes"
	done
	# All redundancy: nothing is written.
	assert_status 1
	assert_stderr_has "cannot be read (I/O error)" "more like it"
	diff -r lossy p
}

@test "a filemap that fails after it was read" {
	saved -t RS --set-size 4 --failures 2
	whole=$(tree_sha p)
	rm "$meta"/filemap_0 "$meta"/reddescmap.er.1.* "$meta"/rank2file*
	kept=$(tree_sha p)
	cp -a p lossy
	SHIM_READS=1 SHIM_OP=pread SHIM_PATH=filemap_2 SHIM_COUNT_FILE=count \
		LD_PRELOAD=$SHIM scr_rebuild -q -p p 1
	reads=$(tail -n 1 count)
	((reads > 0)) || skip "filemaps are read with read()"
	tree_sha p >was
	for ((n = 1; n <= reads; n++)); do
		renew lossy
		SHIM_READS=1 SHIM_OP=pread SHIM_PATH=filemap_2 SHIM_FAIL_AT=$n \
			SHIM_STICKY=1 LD_PRELOAD=$SHIM ends 0 scr_rebuild -p p 1
		assert_stderr_has "filemap_2: cannot" "treated as lost"
		diff was <(tree_sha p) || failed "$n: other bytes"
	done
}

@test "postrun calls nothing saved or lost that it could not read" {
	one_node
	in_cache
	scr_postrun "${args[@]}" >/dev/null
	rm -r local/cache
	for file in "$meta/summary.scr" "$meta/rank2file.0.0"; do
		err_has "dataset 1: in the index, but unknown;Input/output error" eio \
			1 "$file" scr_postrun "${args[@]}"
		assert_output_lacks LOST "is saved"
	done
	ends 0 scr_postrun "${args[@]}"
}

# What the next job or an operator would need of a cache that cannot be read.
@test "postrun: files in the caches of nodes that cannot be read" {
	one_node
	in_cache -n 4
	eio 1 cache/genuser/scr.1000/scr.dataset.1/rank_2.ckpt scr_postrun "${args[@]}"
	assert_output_has "UNKNOWN: the checkpoints cannot be read"
	assert_output_lacks LOST
	assert_stderr_has "rank 2: rank_2.ckpt: cannot read"
	# The rest is saved, and what could not be read the next time.
	for rank in 0 1 3; do
		[[ -s p/ckpt.1/rank_$rank.ckpt ]] || failed "rank $rank"
	done
	[[ ! -e p/ckpt.1/rank_2.ckpt ]]
	shows "newest checkpoint ckpt.1 (dataset 1) is saved" scr_postrun "${args[@]}"
	scr_index -p p --verify
	# Filemaps and the dataset directory.
	for file in scr.dataset.1/.scr/filemap_2 scr.dataset.1/.scr/; do
		rm -rf p/ckpt.1 p/.scr/{scr.dataset.1,index*}
		eio_any 1 "cache/genuser/scr.1000/$file" scr_postrun "${args[@]}"
		assert_output_has "UNKNOWN: the checkpoints cannot be read"
		assert_output_lacks LOST
		assert_stderr_has "Input/output error"
	done
	out_has unknown eio_any 1 cache/genuser/scr.1000/scr.dataset.1/.scr/filemap_2 \
		scr_postrun --plan "${args[@]}"
	# The index of the cache.
	rm -rf p/ckpt.1 p/.scr/{scr.dataset.1,index*}
	eio_any 0 cindex.scrinfo scr_postrun "${args[@]}"
	assert_output_has "newest checkpoint ckpt.1 (dataset 1) is saved"
	assert_stderr_has "cindex.scrinfo: cannot open: Input/output error"
	rm -rf p/ckpt.1 p/.scr/{scr.dataset.1,index*,flush.scr}
	eio_any 1 cindex.scrinfo scr_postrun "${args[@]}"
	assert_output_has "UNKNOWN: " "caches not readable"
	assert_stderr_has "to save it: --id 1"
	rm local/cntl/genuser/scr.1000/cindex.scrinfo
	ends 1 scr_postrun "${args[@]}"
	ends 0 scr_postrun --id 1 "${args[@]}"
	scr_index -p p --verify
}

@test "postrun: what redundancy restores, and an older checkpoint" {
	one_node
	in_cache -n 4 -i 1 --name ckpt.1
	in_cache -n 4 -i 2 --name ckpt.2
	eio_any 3 scr.dataset.2/rank_2.ckpt scr_postrun "${args[@]}"
	assert_output_has "OLDER checkpoint ckpt.1 (dataset 1) is saved"
	assert_stderr_has "dataset 2 ckpt.2: cannot be read: "
	rm -rf p local nodes
	ln -s nodes/node0 local
	in_cache -n 4 -m 4 -t XOR
	cache=cache/genuser/scr.1000/scr.dataset.1
	cp -a nodes/node[123]/$cache/. nodes/node0/$cache
	# Data, redundancy, and a header: computed again, and right.
	for file in rank_2.ckpt .scr/filemap_2 .scr/reddesc.er.3.xor; do
		rm -rf p/ckpt.1 p/.scr/{scr.dataset.1,index*}
		eio_any 0 "$cache/$file" scr_postrun "${args[@]}"
		assert_stderr_has "Input/output error"
		scr_index -p p --verify --deep
		for rank in 0 1 2 3; do
			cmp nodes/node0/$cache/rank_$rank.ckpt p/ckpt.1/rank_$rank.ckpt
		done
	done
	# More than XOR restores: unknown, neither lost nor saved.
	rm -rf p/ckpt.1 p/.scr/{scr.dataset.1,index*}
	eio_any 1 "$cache/rank_" scr_postrun "${args[@]}"
	assert_output_lacks LOST
	# An output cannot be read: later checkpoints are not saved either.
	rm -rf p nodes
	for kind in output ckpt; do
		in_cache --$kind -i $((++n)) --name $kind.$n
	done
	eio_any 1 scr.dataset.1/rank_0.ckpt scr_postrun "${args[@]}"
	assert_output_lacks LOST
	assert_output_has "1 dataset could not be read" \
		"output: 0 of 1 saved, 1 could not be judged"
}

# stranger STATUS COMMAND...: as somebody who is neither root nor the owner.
stranger() {
	become 65534
	ends "$1" "${as[@]}" "${@:2}"
}

# strange TEXT: for a stranger, dataset 1 is unknown because of TEXT, and the
# other datasets are still shown.
strange() {
	stranger 1 scr_inspect -p p
	[[ $output =~ ckpt.1.*unknown ]] || failed "ckpt.1 is not unknown"
	[[ $output =~ ckpt.2.*whole ]] || failed "ckpt.2 is not whole"
	assert_output_has "$1"
	assert_output_lacks " lost"
	stranger 1 scr_index -p p --verify
	[[ $output =~ 1\ unknown ]] || failed "1 is not unknown"
	[[ $output =~ 2\ whole ]] || failed "2 is not whole"
	assert_stderr_has "$1"
}

@test "what another user may not read or search is unknown" {
	saved 1
	saved 2
	cp -a p good
	while IFS='|' read -r text damage; do
		echo "$damage"
		chmod -R u+rwX p
		rm -rf p q
		cp -a good p
		eval "$damage"
		strange "$text"
	done <<-'END'
		Permission denied|chmod 700 p/.scr/scr.dataset.1
		Permission denied|chmod 000 p/ckpt.1
		Permission denied|chmod 000 p/ckpt.1; flushed
		Permission denied|mv p q; ln -s q p; chmod 000 q/ckpt.1
		filemap_2|chmod 600 p/.scr/scr.dataset.1/filemap_2
		summary.scr|chmod 600 p/.scr/scr.dataset.1/summary.scr
		rank2file.0.0|chmod 600 p/.scr/scr.dataset.1/rank2file.0.0
		Permission denied|rm p/ckpt.1/rank_1.ckpt; chmod 600 p/.scr/scr.dataset.1/redd*
		rank_1.ckpt|chmod 000 p/ckpt.1/rank_1.ckpt
		rank_1.ckpt|chmod 000 p/ckpt.1/rank_1.ckpt; flushed
	END
}

# As a flush of LLNL's library leaves dataset 1.
flushed() { rm p/.scr/scr.dataset.1/{filemap,reddesc}*; }

# At first sight, and as when it is read.  Nothing is rebuilt or indexed.
@test "a file that this user may not read, without an index" {
	become 65534
	for type in XOR SINGLE; do
		for mode in 000 600; do
			rm -rf p nodes
			gen -p p -n 4 -t $type -s 1000 --owner 65534
			chown -R 65534 p
			chmod $mode p/ckpt.1/rank_1.ckpt
			[[ $mode == 000 ]] || chown 0 p/ckpt.1/rank_1.ckpt
			kept=$(tree_sha p)
			next="  next:       chmod u+r p/ckpt.1/rank_1.ckpt"
			[[ $mode == 000 ]] || next="Permission denied"
			for deep in "" --deep; do
				stranger 1 scr_inspect -p p -d 1 ${deep:+"$deep"}
				assert_output_has "state       unknown" \
					"ckpt.1/rank_1.ckpt: cannot read: Permission denied" \
					"$next"
				assert_output_lacks tolerates lack "to be rebuilt"
				stranger 1 scr_index -p p ${deep:+"$deep"} --build 1
				assert_stderr_has rank_1.ckpt "next: scr_inspect -p p ${deep:+$deep }1"
			done
			stranger 1 scr_rebuild -p p 1
			assert_stderr_has rank_1.ckpt "next: scr_inspect -p p 1"
			stranger 1 scr_inspect --json -p p -d 1
			[[ $(grep -c '"state": "unknown"' <<<"$output") == 2 ]]
			diff <(echo "$kept") <(tree_sha p)
			# For root, too, who may read it.
			ends 1 scr_inspect -p p -d 1
			ends 1 scr_rebuild -p p 1
		done
		# Redundancy does not replace it, either.
		rm p/ckpt.1/rank_2.ckpt
		stranger $((${#type} > 3 ? 4 : 1)) scr_rebuild -p p 1
	done
	# The next line leads on.
	rm -rf p
	gen -p p -n 4 -t XOR -s 1000
	chmod 0 p/ckpt.1/rank_1.ckpt
	chown -R 65534 . p
	"${as[@]}" chmod u+r p/ckpt.1/rank_1.ckpt
	stranger 0 scr_index -p p --build 1
	stranger 0 scr_inspect -p p 1
}

# ends_there TEXT COMMAND...: for a stranger, `as`, it fails because of TEXT, and
# names no command.
ends_there() {
	warns 1 "$1" "${as[@]}" "${@:2}"
	assert_output_lacks next:
	assert_stderr_lacks next:
}

@test "33.22 another user, or a directory that its owner may not write: who or what helps" {
	local command next owner

	become 65534
	owner=$(id -un 1234 2>/dev/null || echo user 1234)
	for mode in 644 600; do
		for command in "scr_index -p p --build 1" "scr_rebuild -p p 1"; do
			rm -rf p
			gen -p p -n 4 -s 1000 -t XOR --owner 1234
			rm p/ckpt.1/rank_1.ckpt
			chown -R 1234 p
			chmod $mode p/ckpt.1/*
			# It is followed from the report to its end.
			ends 3 "${as[@]}" scr_inspect -p p 1
			next=$(sed -n 's/^ *next: *//p' <<<"$output")
			[[ $next == "scr_index -p p --build 1" ]]
			ends_there "run this as $owner, who owns p" $next
			ends_there "run this as $owner, who owns p" $command
		done
	done
	# What may not be looked at, by the one who looks.
	for path in p p/.scr/scr.dataset.1 p/.scr/scr.dataset.1/filemap_1; do
		rm -rf p
		built p 1 -n 4 -s 1000 -t XOR --owner 1234
		chown -R 1234 p
		chmod go= $path
		for command in "scr_index -p p --build 1" "scr_rebuild -p p 1" \
			"scr_index -p p --verify 1"; do
			ends_there "run this as $owner, who owns p" $command
		done
		[[ $path == p ]] || {
			ends 1 "${as[@]}" scr_inspect -p p 1
			assert_output_has "run this as $owner, who owns p"
			assert_output_lacks next:
		}
	done
	for command in "scr_index -p p --build 1" "scr_rebuild -p p 1" \
		"scr_index -p p --drop 1"; do
		rm -rf p
		built p 1 -n 4 -s 1000 -t XOR --owner 65534
		rm p/ckpt.1/rank_1.ckpt
		chown -R 65534 p
		chmod 555 p/ckpt.1 p/.scr
		ends_there "Permission denied; change its mode" $command
	done
}

@test "a file in a cache that this user may not read" {
	dir=nodes/node0/cache/genuser/scr.1000/scr.dataset.1
	become 65534
	one_node
	in_cache -n 4
	chmod 0 $dir/rank_1.ckpt
	chown -R 65534 .
	stranger 1 scr_inspect $dir
	assert_output_has "rank_1.ckpt: cannot read: Permission denied"
	for plan in --plan ""; do
		out_has UNKNOWN stranger 1 scr_postrun "${args[@]}" ${plan:+"$plan"}
		assert_output_lacks LOST
	done
}

@test "containers that may not be read, with and without redundancy" {
	saved 1
	saved 2
	scr_index -q -p p --build 1 --checksums
	scr_container -q pack -p p 1
	chmod 600 p/.scr/scr.dataset.1/.scr/ctr*
	for _ in 1 2; do
		err_has "Permission denied" stranger 1 scr_container verify -p p 1
		assert_output_has unknown
		assert_output_lacks "no redundancy" damaged
		stranger 1 scr_index -p p --verify --checksums 1
		stranger 1 scr_inspect -p p -d 1 --checksums
		assert_output_lacks " lost"
		rm -f p/.scr/scr.dataset.1/{filemap,reddesc}*
	done
}

@test "a renamed directory is named, and counts as damage; a loss names what is lost" {
	local like="looks like it" gone="missing, with 4 files"

	damaged <<-'END'
		XOR two|mv $f $f.old|3|ckpt.1: $gone;ckpt.1.old $like;!: lost
		XOR two|mv $f p/save-ckpt.1|3|ckpt.1: $gone;save-ckpt.1 $like;!: lost
		XOR two|rm $D/{filemap,reddesc}*; mv $f $f.old|3|ckpt.1: $gone
		XOR two|rm $D/{filemap,reddesc}* $f/rank_*; mv $f $f.old|4
		XOR two|rm $D/{filemap,reddesc}* $f/rank_*; mv p/ckpt.2 p/ckpt.20; mkdir p/ckpt.2|4
		SINGLE two|mv $f p/before-the-upgrade|3|ckpt.1: $gone;before-the-upgrade $like: rename it back;!: lost
		SINGLE two|rm $f/rank_{2,3}*; mv $f p/before-the-upgrade|1|ckpt.1: missing, with 2 files;rank_2.ckpt: missing (rank 2): unknown;to see what is left
		SINGLE two|touch $f/*; mv $f p/before-the-upgrade|4|!looks
		SINGLE two|mv $f $f.old; rm $f.old/rank_0.ckpt|1|missing, with 3 files;but lacks other files;next: mv $f.old $f
		SINGLE two|mv $f $f.old; touch $f.old/*|1|$gone;it has files of another time;next: mv $f.old $f
		SINGLE two|mv $f $f.old; mkdir $f|3|$gone;next: rmdir $f && mv $f.old $f
		XOR two|mv $f $f.old; mkdir $f|3|$gone;next: rmdir $f && mv $f.old $f
		SINGLE two|rm -r $f|4|!looks
		XOR sums two|rm $D/{filemap,reddesc}*; mv $f p/before-the-upgrade|3|ckpt.1: $gone;before-the-upgrade $like: rename it back
		XOR sums two|rm -r $D/{filemap,reddesc}* $f|4|!looks
		SINGLE two|rm $D/filemap_{1,2} $D/rank2file* $f/rank_{1,2}*|4|filemaps of ranks 1 2: lost;the files of 2 ranks are unknown;!ranks are lost;!rank_0.ckpt
	END
	# The metadata: in one line, also among all datasets.
	for damage in "mv $D p/.scr/kept" "rm -r $D"; do
		base XOR two
		$damage
		try scr_index -p p --verify 1
		assert_stderr_one_line ckpt.1
		[[ $status$damage == 3mv* && $stderr == *kept* || $status$damage == 4rm* ]]
	done
	for damage in "mv $D $D.old" "mv $f $f.old"; do
		base XOR two
		$damage
		complains 3 ckpt.1 scr_index -p p --verify
		assert_stderr_has "rename it back"
		finds 3 ".old" scr_inspect -p p
		assert_output_lacks " lost"
	done
	# Its files would be forgotten.
	complains 1 "rename it back first" scr_index -p p --delete 1
	[[ -e $D/rank2file ]]
	chmod 0 $f.old
	complains 1 "rename it back first" scr_index -p p --delete 1
	[[ -e $D/rank2file ]]
	finds 1 "next:       mv $f.old $f" scr_inspect -p p -d 1
	chmod 755 $f.old
}

@test "--deep names the ranks that may be wrong, and does not advise to index" {
	gen -p p -n 4 --set-size 2 -s 1000
	damage p/ckpt.1/rank_1.ckpt 100
	finds 3 "ranks 0 1" scr_inspect -p p --deep
	assert_output_lacks "scr_index --build" "puts it"
	ends 3 scr_inspect -p p -d 1 --deep
	assert_output_lacks --build
	complains 3 "ranks 0 1" scr_index -p p --build 1 --deep
	try scr_index -p p
	assert_output_lacks ckpt.1
}

@test "33.12: modes hold for root as for the owner: files, metadata, containers, directories" {
	local name command dir all

	restricted
	((${#as[@]} > 0)) || skip "not root"
	built plain 1 --checksums -n 4 -s 3000 -t XOR -m 4
	cp -a plain packed
	scr_container -q -p packed pack 1
	for dir in plain packed; do
		mapfile -t all < <(cd "$dir" && find . -mindepth 1 \
			! -name "*.lock" ! -name "*log" ! -name "*.spare" | sort)
		pick 5 "${all[@]}"
		for name in "${picked[@]}"; do
			for command in "scr_inspect -p p 1" "scr_rebuild -p p -n 1" \
				"scr_index -p p --verify --checksums 1" \
				"scr_index -p p --build 1" \
				"scr_container -p p verify 1"; do
				renew "$dir"
				chmod 0 "p/$name"
				try "${as[@]}" $command
				set -- "$status"
				renew "$dir"
				chmod 0 "p/$name"
				try $command
				[[ $status == "$1" ]] ||
					failed "$dir/$name: $command: not $1"
			done
		done
	done
}
