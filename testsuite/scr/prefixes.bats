#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Jobs of two prefixes: a dataset of one is never a checkpoint of the other, be
# the caches theirs alone (no job id) or common (one id, or LLNL's "defjobid").

load helper

setup() {
	job_setup
	mkdir a b
	ids=("" j1)
}

# in PREFIX: run in this directory, with job id $id, or without any.
in_prefix() {
	cd "$PREFIX/$1" || return
	shift
	if [[ -n $id ]]; then
		export SCR_JOB_ID=$id
	else
		unset SCR_JOB_ID
	fi
	"$@"
	cd "$PREFIX" || return
}

# starts PREFIX NAME: a job there restarts from NAME, or from none; then it
# writes two checkpoints more.
starts() {
	in_prefix "$1" works "0 1" app_restart 2
	[[ $(grep -cE "^(restart $2|$2)\$" <<<"$output") -eq 1 ]] ||
		failed "id '$id', $1: expected $2"
	echo "$stderr" >"$BATS_TEST_TMPDIR/said.$1"
}

# said PREFIX TEXT: the last job there printed it.
said() { grep -qF -- "$2" "$BATS_TEST_TMPDIR/said.$1"; }

# All files of the datasets of a prefix in the caches, with their checksums.
files_of() {
	grep -rlsF "$PREFIX/$1" "$NODES" --include='filemap_*' |
		sed 's|/\.scr/.*||' | sort -u | xargs -I@ find @ -type f |
		sort | xargs cksum
}

@test "each goes on from its own checkpoint, in cache and in bypass" {
	local bypass id before

	for bypass in 0 1; do
		for id in "${ids[@]}"; do
			export SCR_CACHE_BYPASS=$bypass
			lose 0 1
			rm -rf a b && mkdir a b
			starts a none
			before=$(files_of a)
			[[ -n $before ]]
			starts b none
			[[ $(files_of a) == "$before" ]] || failed "a's files"
			if [[ -n $id ]]; then
				said b "in the cache is of the prefix $PREFIX/a: left alone"
			else
				! said b "left alone" || failed "caches in common"
			fi
			starts a ckpt.2
			starts b ckpt.2
			[[ $bypass = 0 ]] || continue
			! said a ": removed" || failed "removed"
		done
	done
}

@test "without an id: one directory for all names of a prefix" {
	local id=''

	ln -s a link
	starts a none
	starts link ckpt.2
	SCR_PREFIX=$PREFIX/link/../a/. in_prefix b works "0 1" app_restart 0
	assert_line "restart ckpt.4"
	[[ $(find "$NODES/0" -name 'scr.a-*' | wc -l) -eq 1 ]]
	[[ $(cd a && scr_env job-id) == "$(scr_env job-id -p link)" ]]
}

@test "a prefix that was moved keeps its caches; those of a deleted one stay" {
	local id=j1

	starts a none
	mv a c
	starts c ckpt.2
	rm -rf c
	starts b none
	said b "is of the prefix $PREFIX/c"
}

@test "a fetch does not replace the cached dataset of another prefix" {
	local id=j1 before

	SCR_FLUSH=1 starts b none
	lose 0 1
	starts a none
	before=$(files_of a)
	in_prefix b job "0 1" app_restart 2
	[[ $status -ne 0 ]] || failed "it went on"
	grep -q "is of another prefix, and keeps its place: save it with" \
		<<<"$stderr" || failed "no reason"
	[[ $(files_of a) == "$before" ]] || failed "a's files"
	# With another id it is as before.
	SCR_JOB_ID=j2 id=j2
	starts b ckpt.2
}

@test "a scavenge saves the datasets of its prefix only" {
	local id=j1

	pretend_ssh
	starts a none
	try scr_postrun -p b -w 'node[0-1]' -r ssh
	assert_stderr_has "is of the prefix $PREFIX/a; save it with that one (-p)"
	[[ ! -e b/ckpt.2 ]]
	ends 0 scr_postrun -p a -w 'node[0-1]' -r ssh
	assert_output_has "newest checkpoint ckpt.2 (dataset 2) is saved"
}

@test "the cached dataset of another prefix gives way if that has it whole" {
	local id=j1

	export SCR_FLUSH=1
	starts b none
	lose 0 1
	starts a none
	starts b ckpt.2
	said b "dataset 2 of the prefix $PREFIX/a is flushed there: removed from the cache"
	lose 0 1
	starts a ckpt.2
}

@test "nodes on which jobs of two prefixes ran: no dataset is destroyed" {
	local id=j1 first before

	for first in a b; do
		lose 0 1
		rm -rf a b && mkdir a b
		if [[ $first = a ]]; then
			in_prefix a job "0 0" app_restart 2
			in_prefix b job "1 1" app_restart 2
		else
			in_prefix b job "1 1" app_restart 2
			in_prefix a job "0 0" app_restart 2
		fi
		before=$(files_of a; files_of b)
		[[ $before == */0/*/1/* ]]
		starts b none
		said b "is of the prefix $PREFIX/a: left alone"
		awk '{ print $3 }' <<<"$before" | xargs cksum |
			diff - <(echo "$before") ||
			failed "$first first"
	done
}

@test "a scavenge leaves what a node without files has of another prefix" {
	local id=j1

	pretend_ssh
	in_prefix a job "0 1" app_restart 2 files=rank
	try scr_postrun -p b -w 'node[0-1]' -r ssh
	assert_stderr_has "is of the prefix $PREFIX/a; save it with that one (-p)"
	! grep -qE "lost|UNKNOWN|--moved-from" <<<"$output$stderr" ||
		failed "it tried"
	[[ ! -e b/ckpt.2 ]]
}

@test "a scavenge does not save the datasets of a prefix that was deleted" {
	local id=j1

	pretend_ssh
	starts a none
	rm -rf a
	mkdir b/.scr
	starts b none
	try scr_postrun -p b -w 'node[0-1]' -r ssh
	assert_output_has "newest checkpoint ckpt.2 (dataset 4) is saved"
	assert_stderr_has "dataset 2 ckpt.2: unfinished"
}

@test "datasets of LLNL's defjobid are saved without an id" {
	local id=defjobid

	pretend_ssh
	starts a none
	unset SCR_JOB_ID
	ends 0 scr_postrun -p a -w 'node[0-1]' -r ssh
	assert_output_has "newest checkpoint ckpt.2 (dataset 2) is saved"
}

@test "no interval is set: one line, and a checkpoint every ten minutes" {
	works "0 1" app_ckpt need=1 steps=3
	warned "SCR_CHECKPOINT_SECONDS is not set: a checkpoint is due every 600 seconds"
	[[ $(awk '$1 == "need" { print $4 }' <<<"$output" | paste -sd ' ') == "0 0 0" ]]
	SCR_CHECKPOINT_SECONDS=0 job "0 1" app_ckpt need=1 steps=1
	! grep -q "not set" <<<"$stderr" || failed "0 is set"
	# What is no number says nothing.
	SCR_CHECKPOINT_SECONDS=often job "0 1" app_ckpt need=1 steps=1
	grep -q "a checkpoint is due every 600 seconds" <<<"$stderr"
}

@test "bypass: nothing is said of redundancy, which it does not need" {
	SCR_CACHE_BYPASS=1 job "0 0" app_ckpt
	! grep -q "protected" <<<"$stderr" || failed "bypass"
	SCR_CACHE_BYPASS=0 job "0 0" app_ckpt
	grep -q "CKPT=0: no rank is protected by XOR" <<<"$stderr"
}
