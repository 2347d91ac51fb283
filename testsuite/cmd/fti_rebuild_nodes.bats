#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2154 # texts of scripts; set by try
# scr_fti rebuild -w: other nodes share the groups of a checkpoint.  The result
# must be that of one process, byte for byte, whatever becomes of a node.

load helper

# lay LEVEL LAYOUT DIR: a checkpoint of 8 nodes with 3 ranks each: 6 groups of 4.
lay() {
	local rank dir

	mkdir -p "$3/Meta/e/l1"
	: >"$3/Meta/e/Topology.fti"
	printf '%s\n' "[basic]" "head = 0" "node_size = 3" "group_size = 4" \
		"ckpt_dir = ./Local" "glbl_dir = ./Global" "meta_dir = ./Meta" \
		"ckpt_io = 3" "[restart]" "exec_id = e" "[advanced]" \
		"local_test = 1" >"$3/config.fti"
	for ((rank = 0; rank < 24; rank++)); do
		dir=$3/Local/node$((rank / 3))/e/l1
		mkdir -p "$dir"
		seq "$((rank * 10000))" "$((rank * 10000 + 2000 + rank % 5))" >v
		scr_fti pack -q --to "$2" --id 1 -o "$dir/Ckpt1-Rank$rank.fti" 0=v
	done
	scr_fti protect -q --level "$1" "$3" 2>/dev/null
	rm -r "$3"/Local/node*/e/l1 "$3/Meta/e/l1"
	# Rebuilt parity has another time in its record.
	find "$3" -name '*RSed*' -delete
	scr_fti rebuild -q "$3"
}

setup_file() {
	in_no_job
	cd "$BATS_FILE_TMPDIR" || return 1
	lay 2 C l2-c
	lay 3 F l3-f
	scr_fti convert -q --to posix -o l3-posix l3-f 2>/dev/null
	scr_fti rebuild -q l3-posix
	scr_fti convert -q --to posix -o l2-posix l2-c 2>/dev/null
	scr_fti rebuild -q l2-posix
}

# The nodes are this machine; `ran` has a line for each command that one runs.
# What a node does before its command is in ran.$NODE.
setup() {
	in_no_job
	stub_ssh
	sed -i 's/^export NODE=.*/&; echo "$NODE $*" >>"$RAN"; [ ! -e "$RAN.$NODE" ] || . "$RAN.$NODE"/' \
		stub/ssh
	export RAN=$PWD/ran
	: >ran
}

# lose CASE: `whole`, and p and `lost`, which lack what each group can lose.
lose() {
	renew "$BATS_FILE_TMPDIR/$1" whole
	renew whole lost
	rm -r lost/Local/node1 lost/Local/node6
	[[ $1 != l3* ]] || rm -r lost/Local/node3
	renew lost
	: >ran
}

same() { diff -r p whole && [[ -z $(find p -name '.scrkit*') ]]; }

# did NODE: the parts that it was given.
did() { sed -n "s/^$1 .*--part=\([0-9]*-[0-9]*\):.*/\1/p" ran | xargs; }

share() { scr_fti rebuild -r ssh -w "$@" p; }

# reads COMMAND...: set `total` to how often this process reads.
reads() {
	for node in a b c; do echo "unset LD_PRELOAD" >"ran.$node"; done
	SHIM_OP=pread SHIM_READS=1 operations "$@"
	rm ran.?
}

# full NODE...: the file system is full for what it writes.
full() {
	local node

	for node; do
		echo "export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/p SHIM_OP=pwrite
			export SHIM_FAIL_AT=3 SHIM_STICKY=1 SHIM_ERRNO=ENOSPC" \
			>"ran.$node"
	done
}

@test "each level and form: the groups are shared out, and rebuilt bit for bit" {
	local case out

	for case in l2-c l3-f l2-posix l3-posix; do
		lose "$case"
		out=$(scr_fti rebuild -v p 2>&1)
		same
		renew lost
		[[ $(share a,b,c -v 2>&1 | grep -v ", on .* nodes$") == "$out" ]]
		same
		[[ "$(did a) $(did b) $(did c)" == "0-1 2-3 4-5" ]]
		# Nothing is left to do: no node is asked.
		: >ran
		shows "nothing to rebuild" share a,b
		[[ ! -s ran ]]
	done
}

@test "golden files of FTI, with one to four nodes" {
	local from nodes golden=$TESTSUITE/data/golden/fti

	[[ ! -d ${SCRKIT_GOLDEN-}/fti ]] || golden=$SCRKIT_GOLDEN/fti
	pick 3 "$golden"/{levels-*,posix-levels*,head-F}/L[23]
	for from in "${picked[@]}"; do
		[[ -d $from/Local/node1 ]] || continue
		# In testsuite/data it has the first of two groups only.
		[[ $from != "$TESTSUITE"/*/posix-levels-odd/* ]] || continue
		taken "$from" whole
		find whole -name '*RSed*' -delete
		scr_fti rebuild -q whole
		for nodes in a a,b "n[1-3]" "n[1-4]"; do
			renew whole
			rm -r p/Local/node2
			[[ $from != */L3 ]] || rm -r p/Local/node0
			: >ran
			share "$nodes" >out
			same
			[[ -s ran ]] || failed "$from: nobody was asked"
		done
	done
}

@test "more nodes than groups, other ways, and options that they are given" {
	lose l3-f
	share "n[1-9]" >out
	same
	[[ $(wc -l <ran) == 6 ]]
	renew lost
	scr_fti rebuild -r local -w a,b p >out
	same
	renew lost
	(umask 077 && SCR_REMOTE=ssh scr_fti rebuild --nodes a -j 2 \
		--node-size 3 --group-size 4 --json p >out)
	json_check out
	[[ $(grep -c '"action": "rebuild"' out) == 18 ]]
	grep -q -- "--node-size=3' '--group-size=4' '--jobs=2'" ran
	same
	[[ $(stat -c %a p/Local/node1/e/l3/Ckpt1-Rank3.fti) == 600 ]]
	# Only some groups lack files.
	renew whole
	rm p/Local/node5/e/l3/*Rank16.fti p/Local/node5/e/l3/*RSed17.fti
	: >ran
	share a,b >out
	same
	[[ "$(did a) $(did b)" == "4-4 5-5" ]]
	# A name with blanks.
	renew lost "p p"
	scr_fti rebuild -r ssh -w a,b "p p" >out
	diff -r "p p" whole
}

@test "nodes that are not reached, or see another directory" {
	lose l2-c
	warns 0 "gone1: " share a,gone1,b
	assert_stderr_has "others do what is left"
	same
	renew lost
	ends 0 share gone1,gone2
	assert_stderr_has "gone[1-2]: " "others do what is left"
	same
	# Node-local directories: it is said once, and this node does all.
	renew lost
	for node in a b; do
		echo 'set -- x "$(shift; echo "$*" | sed "s|$PWD/p|/elsewhere|")"' \
			>ran.$node
	done
	warns 0 "a,b: /elsewhere: " share a,b
	[[ $(grep -c "its part is done here" <<<"$stderr") == 1 ]]
	[[ $(wc -l <<<"$stderr") == 1 ]]
	same
	# One of them sees other files.
	rm ran.a
	renew lost
	echo "touch -d @1 $PWD/p/Local/node4/e/l2/Ckpt1-Rank12.fti" >ran.b
	warns 0 "b: $PWD/p: looks different here" share a,b
	diff -r p whole
	# Its command is another one.
	renew lost
	echo "exec echo hello" >ran.b
	ends 0 share a,b
	same
}

@test "a node that is killed at any moment" {
	local n total

	lose l3-f
	operations scr_fti rebuild -q p
	for n in $(moments "$total" 8); do
		echo "export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/p SHIM_KILL_AT=$n" \
			>ran.b
		renew lost
		share a,b,c >out 2>err
		same
	done
}

@test "a full disk: of one node, and an honest stop" {
	lose l3-f
	full b
	warns 0 "b: " share a,b,c
	assert_stderr_has "No space left"
	same
	renew lost
	full a b c
	tree_sha p >before
	ends 1 env "LD_PRELOAD=$SHIM" "SHIM_PATH=$PWD/p" SHIM_OP=pwrite \
		SHIM_FAIL_AT=3 SHIM_STICKY=1 SHIM_ERRNO=ENOSPC \
		scr_fti rebuild -r ssh -w a,b,c p
	assert_stderr_has "No space left"
	diff before <(tree_sha p)
	rm ran.?
	share a,b >out
	same
}

@test "a node that freezes, and thaws when it was given up" {
	local worker=''

	lose l3-posix
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

	lose l3-f
	((${SCRKIT_SLOW:-0} == 0)) || rounds=50
	for ((n = 0; n < rounds; n++)); do
		renew lost
		timeout -s KILL "0.0$((RANDOM % 90 + 10))" \
			scr_fti rebuild -q -r ssh -w a,b,c p 2>err || :
		ends 0 share a,b,c
		diff -r -x .scrkit.lock p whole
	done
}

@test "checksums: each node reads its groups, and nobody reads them again" {
	local case file one look

	for case in l3-f l2-posix; do
		lose "$case"
		file=$(cd lost && echo Local/node4/e/*/Ckpt1-Rank13.fti)
		flip "lost/$file" 3000
		renew lost
		one=$(scr_fti rebuild --checksums -v p)
		same
		renew lost
		: >ran
		[[ $(share a,b,c --checksums -v 2>err) == "$one" ]]
		same
		# Whole groups, too: nobody knows that they are.
		renew whole
		: >ran
		shows "nothing to rebuild" share a,b,c --checksums
		[[ "$(did a) $(did b) $(did c)" == "0-1 2-3 4-5" ]]
		reads scr_fti rebuild p
		look=$total
		reads share a,b,c --checksums
		((total == 2 * look)) || failed "$total reads, look $look"
		# What a node cannot tell is decided here, with the same words.
		renew whole
		damage "p/${file/Rank13/Rank14}" 3000 xxxx
		find p -name 'Ckpt1-*' ! -name '*Rank*' -delete
		renew p q
		try scr_fti rebuild --checksums q
		one=$status$output${stderr//q/p}
		full a b c
		try share a,b,c --checksums
		[[ $status == "${one:0:1}" ]] || failed "$one" "$status" "$stderr"
		rm ran.?
	done
}

@test "what other nodes cannot help with is done here" {
	lose l3-posix
	share a --dry-run >out || :
	[[ ! -s ran ]]
	misused "need --nodes" scr_fti rebuild -r local p
	misused "need --nodes" scr_fti rebuild --node-timeout 5 p
	misused "option '-w'" scr_fti scan -w a p
	misused "option '--nodes'" scr_fti protect --level 2 --nodes a p
	refuses 2 "bad[" share "bad["
	refuses 2 "no-such-way" scr_fti rebuild -r no-such-way -w a p
	complains 2 "FROM-TO" scr_fti rebuild --part=5 p
	# A lost checkpoint is not changed.
	rm -r p/Local/node0
	tree_sha p >before
	ends 4 share a,b
	[[ ! -s ran ]]
	diff before <(tree_sha p)
	# Metadata, to which sums are added.
	renew whole
	sed -i /rsed_checksum/d p/Meta/e/l3/sector0-group1.fti
	rm p/Local/node5/e/l3/*RSed*
	renew p q
	scr_fti rebuild q >one
	share a,b,c >out
	diff one out
	diff -r p q
	[[ "$(did a) $(did b) $(did c)" == "3-3 4-4 5-5" ]]
}
