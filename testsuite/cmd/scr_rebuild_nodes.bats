#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2054,SC2154 # texts of scripts, lists; set by try
# scr_rebuild -w: other nodes share the work.  The result must be that of one
# process, byte for byte, whatever becomes of a node.

load helper

# The nodes are this machine; `ran` has a line for each command that one runs.
# What a node does before its command is in $NODE.sh.
setup() {
	in_no_job
	stub_ssh
	sed -i 's/^export NODE=.*/&; echo "$NODE $*" >>"$RAN"; [ ! -e "$RAN.$NODE" ] || . "$RAN.$NODE"/' \
		stub/ssh
	export RAN=$PWD/ran
	args=(-n 16 -m 16 -f 2 -s 30000,9000 --set-size 4
		--recorded-prefix /job/p)
}

# make TYPE [OPTION]...: p with a lost rank in each of three sets, and whole.
make() {
	local type=$1

	shift
	rm -rf whole lost n
	gen -p whole --nodes-dir n -t "$type" "${args[@]}" "$@" --lose ""
	gen -p lost --nodes-dir n -t "$type" "${args[@]}" "$@" --lose 1,6,11
	renew lost
	: >ran
}

same() { diff -r -x flush.scr p whole && [[ -z $(find p -name '.scrkit*') ]]; }

# did NODE: the parts that it was given.
did() { sed -n "s/^$1 .*--part=\([0-9]*-[0-9]*\):.*/\1/p" ran | xargs; }

# full NODE...: the prefix is full for what it writes.
full() {
	local node

	for node; do
		echo "export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/p SHIM_OP=pwrite
			export SHIM_FAIL_AT=3 SHIM_STICKY=1 SHIM_ERRNO=ENOSPC" \
			>"ran.$node"
	done
}

share() { scr_rebuild -p p -r ssh -w "$@" 1; }

@test "each scheme: the sets are shared out, and rebuilt bit for bit" {
	local type out

	for type in XOR RS PARTNER; do
		make "$type"
		out=$(scr_rebuild -p p 1 2>&1)
		same
		renew lost
		[[ $(share a,b,c 2>&1) == "$out" ]]
		same
		# Set 4 has lost nothing.
		[[ "$(did a) $(did b) $(did c)" == "4-4 5-5 6-6" ]]
		# Nothing is left to do: no node is asked.
		: >ran
		shows "nothing to rebuild" share a,b
		[[ ! -s ran ]]
	done
}

@test "more nodes than sets, one node, and each way to be told" {
	make XOR
	share "n[1-9]" >out
	same
	[[ $(wc -l <ran) == 3 ]]
	renew lost
	share a >out
	same
	[[ $(tail -n 1 ran) == *--part=4-6:* ]]
	renew lost
	scr_rebuild -p p -r local -w a,b 1 >out
	same
	renew lost
	SCR_REMOTE=ssh scr_rebuild -p p --nodes a,b -j 2 --memory 2M --json 1 >out
	json_check out
	grep -q '"file_count": 6' out
	grep -q -- "--jobs=2' '--memory=2097152'" ran
	same
}

@test "a prefix that was moved, and a name with blanks" {
	make XOR
	mv p "p p"
	scr_rebuild -p "p p" -r ssh -w a,b 1
	mv "p p" p
	same
}

@test "nodes that are not reached: others do their parts, or this one" {
	make XOR
	warns 0 "gone1: " share a,gone1,b
	assert_stderr_has "others do what is left"
	same
	renew lost
	: >ran
	ends 0 share gone1,gone2
	assert_stderr_has "gone[1-2]: " "others do what is left"
	same
	[[ ! -s ran ]]
}

@test "a node that is killed at any moment" {
	local n total

	make XOR
	operations scr_rebuild -q -p p 1
	for n in $(moments "$total" 8); do
		echo "export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/p SHIM_KILL_AT=$n" \
			>ran.b
		renew lost
		share a,b,c >out 2>err
		same
	done
	# The last of them killed none.
	[[ $(<err) != *"others do what is left"* ]]
}

@test "a node that fails: its part is done here" {
	make XOR
	full b
	warns 0 "b: " share a,b,c
	assert_stderr_has "No space left"
	same
	# It sees another dataset than this one.
	make RS
	echo "rm -f $PWD/p/ckpt.1/rank_4_*" >ran.b
	warns 0 "b: the dataset looks different here" share a,b,c
	same
	# Its command is another one.
	renew lost
	echo "exec echo hello" >ran.b
	ends 0 share a,b,c
	same
}

@test "all is full: an honest stop, and nothing is damaged" {
	make XOR
	full a b c
	ends 1 env "LD_PRELOAD=$SHIM" "SHIM_PATH=$PWD/p" SHIM_OP=pwrite \
		SHIM_FAIL_AT=3 SHIM_STICKY=1 SHIM_ERRNO=ENOSPC \
		scr_rebuild -p p -r ssh -w a,b,c 1
	assert_stderr_has "No space left" "run this again"
	rm ran.?
	share a,b >out
	same
}

@test "a node that freezes, and thaws when it was given up" {
	local worker=''

	make XOR
	freezes b rename 1
	share a,b --node-timeout 2 >out 2>err 3>&- &
	frozen $!
	until grep "no output" err; do kill -0 $! && sleep 0.1; done
	# It holds its lock: nobody else writes its files.
	sleep 1
	kill -0 $!
	kill -CONT "$worker"
	wait $!
	same
}

@test "who shares the work out is killed at any moment, and run again" {
	local n rounds=6

	make XOR
	((${SCRKIT_SLOW:-0} == 0)) || rounds=50
	for ((n = 0; n < rounds; n++)); do
		renew lost
		timeout -s KILL "0.0$((RANDOM % 90 + 10))" \
			scr_rebuild -q -p p -r ssh -w a,b,c 1 2>err || :
		ends 0 share a,b,c
		same
	done
}

@test "damage that is found by the nodes" {
	local type

	make RS --crc
	for f in rank_2_0 rank_9_1; do flip "lost/ckpt.1/$f.ckpt" 7000; done
	for o in --checksums --deep; do
		renew lost
		scr_rebuild -p p $o 1 >one 2>one.err
		same
		renew lost
		: >ran
		share a,b,c $o >all 2>all.err
		same
		diff one all
		# Each node has a part, also of the whole sets.
		[[ $(did a) == 4-* && $(did c) == *-7 ]]
		grep "rank_2_0.ckpt" one.err && grep "^scr_rebuild: a: .*rank_2_0.ckpt" \
			all.err
	done
	# Which member is wrong is unknown: the same words, and the same status.
	make XOR
	renew whole
	damage p/ckpt.1/rank_2_0.ckpt 5000 xxxx
	renew p q
	ends 3 scr_rebuild -p q --deep 1
	err=$stderr
	ends 3 share a,b,c --deep
	[[ ${stderr##*scr_rebuild: set} == "${err##*scr_rebuild: set}" ]] ||
		[[ $stderr == *"the wrong member is unknown"* ]]
}

@test "what other nodes cannot help with is done here" {
	make XOR
	share a --dry-run >out || :
	[[ ! -s ran ]]
	misused "--nodes" scr_rebuild -p p -w a --protect XOR 1
	misused "need --nodes" scr_rebuild -p p -r local 1
	misused "need --nodes" scr_index -p p --build 1 --node-timeout 5
	misused "--nodes" scr_rebuild -w a --xor p/.scr/scr.dataset.1/reddesc*
	gen -p c --layout cache --nodes-dir c.nodes -n 4 -m 2
	complains 2 "is for datasets on a prefix" scr_rebuild -w a \
		c.nodes/node*/cache/*/scr.*/scr.dataset.1
	refuses 2 "bad[" share "bad["
	refuses 2 "no-such-way" scr_rebuild -p p -r no-such-way -w a 1
	complains 2 "FROM-TO" scr_rebuild -p p --part=5 1
}

@test "a build, with damage in what was copied" {
	local out

	for o in "" --crc; do
		make RS $o
		damage lost/ckpt.1/rank_13_0.ckpt 7000 xxxx
		touch -r whole/ckpt.1/rank_13_0.ckpt lost/ckpt.1/rank_13_0.ckpt
		for deep in "" --deep; do
			renew lost
			renew lost q
			: >ran
			scr_index -p q --build 1 $deep 2>out || :
			scr_index -p p --build 1 $deep -r ssh -w a,b,c 2>err || :
			diff -r -x index.scr p q
			[[ -z $deep ]] || diff -r p/ckpt.1 whole/ckpt.1
			[[ -n $(did c) ]]
			grep "rebuilt .* files" err
			diff <(grep rebuilt out) <(grep rebuilt err)
			[[ -z $deep ]] || shows whole scr_index -p p --verify --deep 1
		done
	done
	misused "--nodes cannot be used with" scr_index -p p --delete 1 -w a
	# Nothing is promised of other nodes.
	renew lost
	: >ran
	ends 3 scr_index -p p --build 1 --dry-run -r ssh -w a
	[[ ! -s ran ]]
}

@test "what a verification reads is shared, and its words are the same" {
	local o case look

	make RS --crc
	scr_index -q -p whole --build 1
	for case in good damaged missing; do
		renew whole
		case $case in
		damaged) flip p/ckpt.1/rank_9_1.ckpt 700 ;;
		missing) rm p/ckpt.1/rank_9_1.ckpt ;;
		esac
		for o in --deep --checksums both; do
			look=("$o")
			[[ $o != both ]] || look=(--deep --checksums)
			: >ran
			try scr_index -p p --verify "${look[@]}" 1
			one="$status $output $stderr"
			try scr_index -p p --verify "${look[@]}" 1 -r ssh -w a,b,gone1
			[[ "$status $output $(grep -v " a: \| b: \|gone1" <<<"$stderr")" == \
				"$one" ]] || failed "$one" "$status $output $stderr"
			[[ $(did a) == 4-* ]]
			json_check <(scr_index -p p --verify "${look[@]}" 1 -r ssh \
				-w a,b --json)
		done
	done
	# Sizes alone are not worth a node.
	: >ran
	try scr_index -p p --verify 1 -r ssh -w a,b
	[[ ! -s ran ]]
}
