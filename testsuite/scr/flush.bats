#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# From the caches to the prefix.

load helper

NODE_MAP="0 1 2 3"

setup() {
	job_setup
	export SCR_FLUSH=1
}

# The dataset to restart from.
current() {
	scr_index --prefix "$PREFIX" --list --json |
		jq -r '.datasets[] | select(.is_current) | .name'
}

# No temporary file and no unfinished directory is below the prefix.
no_litter() {
	[[ -z $(find "$PREFIX" -path "$PREFIX/.scr" -prune -o -name '.*' \
		! -path "$PREFIX" -print) ]]
}

@test "what is due is on the prefix, at the end the newest, unless SCR_FLUSH is 0 (34)" {
	SCR_FLUSH=2 works "$NODE_MAP" prefix write=ckpt.1 write=ckpt.2 \
		write=ckpt.3 write=ckpt.4 write=ckpt.5 write=ckpt.6
	whole 2 4 6
	[[ $(cd "$PREFIX" && echo ckpt.*) == "ckpt.2 ckpt.4 ckpt.6" ]]
	[[ $(ids .valid) == "2 4 6" && -z $(ids ".valid == false") ]]
	[[ $(current) == ckpt.6 ]]
	cmp "$PREFIX/ckpt.6/rank_1" "$NODES/1/tester/scr.j1/scr.dataset.6/rank_1"
	cmp "$PREFIX/ckpt.6/sub/2/b" "$NODES/2/tester/scr.j1/scr.dataset.6/b"
	no_litter
	ends 1 scr_flush_file --dir "$PREFIX" --need-flush 6
	ends 0 scr_flush_file --dir "$PREFIX" --need-flush 5
	job_setup
	SCR_FLUSH=10 works "$NODE_MAP" prefix write=ckpt.1 write=ckpt.2 finalize
	whole 2
	[[ $(ids .valid) == 2 && ! -e $PREFIX/ckpt.1 ]]
	SCR_FLUSH=0 works "$NODE_MAP" prefix write=ckpt.3 finalize
	[[ $(ids .valid) == 2 && ! -e $PREFIX/ckpt.3 ]]
}

@test "33.9 the prefix is another directory on one node: nothing is flushed" {
	ELSEWHERE=2 job "$NODE_MAP" prefix write=ckpt.1
	assert_stderr_has "on node2: another directory than on the other nodes"
	[[ ! -e $PREFIX/ckpt.1 && -z $(find "$NODES/2/pfs" -name 'rank_*') ]]
	[[ -z $(ids .valid) ]]
	works "$NODE_MAP" prefix restart
	[[ $(ids .valid) == 1 ]]
	no_litter
	[[ -z $(find "$PREFIX" -maxdepth 1 -name '.scrkit*') ]]
}

@test "after a restart: what was not flushed is; all if asked for" {
	SCR_FLUSH=0 job "$NODE_MAP" prefix write=ckpt.1 write=ckpt.2
	SCR_FLUSH=2 works "$NODE_MAP" prefix restart
	[[ $(ids .valid) == 2 ]]
	SCR_FLUSH=0 SCR_FLUSH_ON_RESTART=1 job "$NODE_MAP" prefix restart
	[[ $(ids .valid) == "1 2" ]]
	whole 1 2
}

@test "a prefix that refuses files: the dataset stays in cache (41)" {
	job "$NODE_MAP" prefix write=ckpt.1
	mkdir "$PREFIX/ckpt.2"
	touch "$PREFIX/ckpt.2/sub"
	works "$NODE_MAP" prefix write=ckpt.2 write=ckpt.3 write=ckpt.4 held flush=2
	[[ $stderr == *"dataset 2: not flushed, stays in the cache: "*sub* ]]
	assert_line "flush=2 -> failed"
	# It is neither called complete nor evicted, and the next ones are.
	[[ $(ids .valid) == "1 3 4" && $(ids ".valid == false") == 2 ]]
	grep -q "held:.* ckpt.2!" <<<"$output"
	[[ ! -e $PREFIX/ckpt.2/rank_0 ]]
	no_litter
	rm "$PREFIX/ckpt.2/sub"
	works "$NODE_MAP" prefix restart
	whole 1 2 3 4
}

@test "unknown SCR_FLUSH_TYPE: one warning (42)" {
	SCR_FLUSH_TYPE=NOPE works "$NODE_MAP" prefix write=ckpt.1
	warned 'SCR_FLUSH_TYPE .*"NOPE"'
	whole 1
}

@test "files of an older dataset are replaced, which is retired first" {
	job "$NODE_MAP" prefix write=same
	[[ $(ids .valid) == 1 ]]
	cp "$PREFIX/same/rank_1" "$BATS_TEST_TMPDIR/link"
	ln "$PREFIX/same/rank_1" "$BATS_TEST_TMPDIR/old"
	works "$NODE_MAP" prefix write=same:1:5000
	[[ $(ids .valid) == 2 && -z $(ids ".valid == false") ]]
	whole 2
	# By a rename, not in place.
	cmp "$BATS_TEST_TMPDIR/old" "$BATS_TEST_TMPDIR/link"
	try scr_index --prefix "$PREFIX" --add 1
	((status != 0))
}

@test "a flush that fails, or is killed, before its first rename: the older dataset is back" {
	local name

	# Files of the same contents and time would be in place already.
	for name in one two; do
		rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
		job "$NODE_MAP" app_ckpt name=one dir=same
		LD_PRELOAD=$SHIM SHIM_OP=rename SHIM_ERRNO=ENOSPC SHIM_FAIL_AT=1 \
			SHIM_STICKY=1 SHIM_PATH=/same/ \
			job "$NODE_MAP" app_ckpt name=$name dir=same size=999
		[[ $stderr == *"dataset 1 (one): marked unfinished"* &&
			$stderr == *"dataset 1: valid again"* ]] ||
			failed "messages"
		[[ $(ids .valid) == 1 && $(current) == one ]] || failed "index"
		whole 1
		lose 0 1 2 3
		job "$NODE_MAP" prefix fetch # its contents are others
		assert_line "fetched 1 one"
	done
	rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
	job "$NODE_MAP" prefix write=same
	LD_PRELOAD=$SHIM SHIM_OP=rename SHIM_KILL_AT=1 SHIM_PATH=/same/ \
		dies "$NODE_MAP" prefix write=same:1:5000
	[[ -z $(ids .valid) ]] || failed "not retired"
	lose 0 1 2 3
	line "fetched 1 same" job "$NODE_MAP" prefix fetch
	[[ $(ids .valid) == 1 && $(current) == same ]] || failed "index"
	whole 1
}

@test "files that somebody removed are not made up for" {
	job "$NODE_MAP" prefix write=same
	rm -r "$PREFIX/same"
	LD_PRELOAD=$SHIM SHIM_OP=rename SHIM_KILL_AT=1 SHIM_PATH=rank2file \
		dies "$NODE_MAP" prefix write=same
	[[ $stderr == *"dataset 1 (same): marked unfinished"* ]] ||
		failed "message"
	[[ -z $(ids .valid) ]] || failed "index"
}

@test "a flipped byte in the cache is not flushed" {
	SCR_FLUSH=0 job "$NODE_MAP" prefix write=ckpt.1 flip=1 flush=1
	assert_line "flush=1 -> failed"
	[[ $stderr == *"rank_0: checksum"* && -z $(ids .valid) ]]
}

@test "a prefix that refuses modes and times is flushed to" {
	local call

	for call in fchmod futimens; do
		LD_PRELOAD=$SHIM SHIM_OP=$call SHIM_FAIL_AT=1 SHIM_STICKY=1 \
			SHIM_ERRNO=EPERM works "$NODE_MAP" prefix write=ckpt.1
		whole 1
		rm -rf "$PREFIX" && mkdir "$PREFIX" && cd "$PREFIX"
		lose 0 1 2 3
	done
}

@test "SCR_COPY_METADATA: files on the prefix have the times of those in cache" {
	local file=$NODES/1/tester/scr.j1/scr.dataset.1/rank_1

	job "$NODE_MAP" prefix write=ckpt.1
	[[ $(stat -c %a.%y ckpt.1/rank_1) == $(stat -c %a.%y "$file") ]]
	SCR_COPY_METADATA=0 job "$NODE_MAP" prefix write=ckpt.2
	file=${file/set.1/set.2}
	[[ $(stat -c %a ckpt.2/rank_1) == $(stat -c %a "$file") ]]
	[[ $(stat -c %y ckpt.2/rank_1) != $(stat -c %y "$file") ]]
	whole 1 2
}
