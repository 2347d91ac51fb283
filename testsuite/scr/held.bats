#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The datasets in the caches: what is listed, what makes room.

load helper

# Two committed checkpoints on two nodes.
two() {
	works "0 0 1" parts start=1 commit=1 start=2 commit=2
}

@test "never more than COUNT, the oldest goes first (54)" {
	two
	works "0 0 1" parts start=3 held commit=3 held start=4 commit=4 held
	assert_line "0: 2=ckpt.2+ 3=ckpt.3"
	assert_line "0: 2=ckpt.2+ 3=ckpt.3+"
	assert_line "2: 3=ckpt.3+ 4=ckpt.4+"
	[[ $(cached 0) == "3 4" && $(cached 1) == "3 4" ]]
	[[ -f $NODES/1/tester/scr.j1/scr.dataset.4/rank_2 ]]
	[[ -d $NODES/1/tester/scr.j1/scr.dataset.4/.scr ]]
}

@test "stores are counted apart" {
	printf '%s\n' "STORE=$SSD/a COUNT=1" "STORE=$SSD COUNT=2" \
		"CKPT=0 STORE=$SSD" "CKPT=1 STORE=$SSD/a INTERVAL=2" >.scrconf
	export SCR_COPY_TYPE=FILE
	works "0 1" parts start=1 commit=1 start=2 commit=2 start=3 commit=3 \
		start=4 commit=4 held
	assert_line "0: 1=ckpt.1+ 3=ckpt.3+ 4=ckpt.4+"
	[[ $(cached 1/a) == 4 ]]
}

@test "what was not committed is removed at the next start" {
	two
	job "0 0 1" parts start=3
	mkdir -p "$NODES/1/tester/scr.j1/scr.dataset.x"
	mkdir -p "$PREFIX/keep"
	ln -s "$PREFIX/keep" "$NODES/1/tester/scr.j1/scr.dataset.9"
	touch "$PREFIX/keep/me"
	[[ $(cached 0) == "2 3" ]]
	works "0 0 1" parts held
	assert_line "0: 2=ckpt.2+"
	[[ $(cached 0) == 2 && $(cached 1) == "x 2" && -f $PREFIX/keep/me ]]
}

@test "a lost node, a new node, a damaged cindex: what the others list stays" {
	two
	lose 0
	works "0 0 1" parts held
	assert_line "0: 1=ckpt.1 2=ckpt.2"
	assert_line "2: 1=ckpt.1+ 2=ckpt.2+"
	job "0 0 1" parts place=2 commit=2 remove=1 held
	assert_line "1: 2=ckpt.2+"
	echo garbage >"$NODES/1/tester/scr.j1/cindex.scrinfo"
	works "0 5 1" parts held
	assert_line "0: 2=ckpt.2+"
	assert_line "1: 2=ckpt.2"
	assert_line "2: 2=ckpt.2"
	grep -q "cindex.scrinfo: .*: treated as missing" <<<"$stderr"
	[[ $(cached 1) == 2 ]]
}

@test "no cindex can be read: the job starts afresh" {
	two
	truncate -s 40 "$NODES"/*/tester/scr.j1/cindex.scrinfo
	works "0 0 1" parts held start=1 commit=1 held
	assert_line "0:"
	assert_line "2: 1=ckpt.1+"
	[[ $(cached 0) == 1 && $(cached 1) == 1 ]]
}

@test "an entry elsewhere than in the job's cache is left out" {
	two
	SCR_JOB_ID=j2 job "0 0 1" parts held
	assert_line "0:"
	cp "$NODES/0/tester/scr.j1/cindex.scrinfo" "$NODES/0/tester/scr.j2/"
	SCR_JOB_ID=j2 works "0 0 1" parts held
	assert_line "0:"
	grep -q "dataset 1: left out: not in a cache directory of this job" \
		<<<"$stderr"
	[[ $(cached 0/tester/scr.j1) == "1 2" ]]
}

@test "the only good copy is kept, and so is the newest checkpoint" {
	two
	job "0 0 1" parts keep=1 start=3 commit=3 held
	assert_line "0: 1=ckpt.1+ 3=ckpt.3+"
	job "0 0 1" parts start=4:o commit=4 start=5:o commit=5 held
	assert_line "0: 3=ckpt.3+ 5=out.5+"
	SCR_CACHE_SIZE=1 job "0 0 1" parts start=6 commit=6 held
	assert_line "0: 6=ckpt.6+"
}

@test "purge, the note about SCR_CURRENT, LLNL's reader of the cindex" {
	two
	job "0 0 1" parts current=ckpt.2 held
	assert_line "2: 1=ckpt.1+ 2=ckpt.2+ current ckpt.2"
	ends 0 scr_inspect --json "$NODES/1/tester/scr.j1/cindex.scrinfo"
	job "0 7 1" parts purge held
	assert_line "1: current ckpt.2"
	[[ -z $(cached 0) && -z $(cached 1) ]]
}
