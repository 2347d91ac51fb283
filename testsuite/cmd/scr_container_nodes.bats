#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2054,SC2154 # texts of scripts, lists; set by try
# scr_container -w: other nodes copy the bytes.  The result must be that of one
# process, byte for byte, whatever becomes of a node.

load helper

# The nodes are this machine, as in scr_rebuild_nodes.bats.
setup() {
	in_no_job
	stub_ssh
	sed -i 's/^export NODE=.*/&; echo "$NODE $*" >>"$RAN"; [ ! -e "$RAN.$NODE" ] || . "$RAN.$NODE"/' \
		stub/ssh
	export RAN=$PWD/ran
	# 12 files of 6 MB: just enough to ask nodes.
	built whole 1 --checksums -t XOR -n 6 -m 6 -f 2 -s 6000000 --set-size 3
	scr_container list -p whole --json 1 >files
	: >ran
}

# did NODE: the parts that it was given, in all transfers.
did() { sed -n "s/^$1 .*--part=\([0-9]*-[0-9]*\):.*/\1/p" ran | xargs; }

# share VERB ARGUMENT...
share() { scr_container "$1" -p p -r ssh "${@:2}" 1; }

# no_temps: nothing is left of an interrupted run.
no_temps() { [[ -z $(find p -name '.scrkit*') ]]; }

# same [DIR]: p is unpacked, and its files are the original ones, with their
# times and modes.
same() {
	no_temps
	diff -r "whole/ckpt.1" "p/ckpt.1"
	diff <(cd whole/ckpt.1 && stat -c "%n %Y %a" -- *) \
		<(cd p/ckpt.1 && stat -c "%n %Y %a" -- *)
	diff files <(scr_container list -p p --json 1)
}

# packed DIR: p is packed, as p was in DIR.
packed() {
	no_temps
	diff -r "$1/.scr/scr.dataset.1/.scr" p/.scr/scr.dataset.1/.scr
	diff <(scr_container list -p "$1" --json -v 1) \
		<(scr_container list -p p --json -v 1)
	shows "whole" scr_container verify -p p 1
}

# A container is bigger than the share of a node, and as many are smaller.
one() {
	renew whole one
	scr_container pack -q -p one --size "${1:-20MB}" 1 2>none
}

@test "pack, verify, unpack: shared out, and the same bytes" {
	local size nodes

	for size in 9MB 200MB; do
		one $size
		for nodes in a a,b,c "n[1-9]"; do
			renew whole
			: >ran
			share pack -w "$nodes" --size $size >out 2>&1
			packed one
			# They read the files, and the containers again.
			[[ $(grep -c . ran) -ge 2 && $(did "${nodes::1}") == 0-* ]] ||
				[[ $nodes == n* ]]
			: >ran
			shows "whole: 12 files" share verify -w "$nodes"
			[[ -s ran ]]
			: >ran
			share unpack -w "$nodes" >out 2>&1
			[[ -s ran ]]
			same
		done
	done
	# The bytes are in about equal shares.
	renew whole
	: >ran
	share pack -w a,b --keep >out
	[[ $(did a) =~ ^0-(1[0-9])$ && $(did b) == "$((BASH_REMATCH[1] + 1))"-* ]]
}

@test "repack and extract" {
	built big 1 -t SINGLE -n 2 -m 2 -f 3 -s 100000000
	renew big
	scr_container pack -q -p p --size 110MB 1 2>none
	renew p one
	scr_container repack -q -p one --size 99MB --order name 1
	: >ran
	share repack -w a,b,c --size 99MB --order name
	[[ $(did b) == *-*" "*-* ]]
	packed one
	: >ran
	share extract -w a,b,c -C e
	diff -r big/ckpt.1 e/ckpt.1
	[[ -n $(did c) ]]
	# What is asked of one file is not worth a node.
	: >ran
	scr_container extract -p p -r ssh -w a,b -C f 1 ckpt.1/rank_0_0.ckpt
	[[ -n $(did a) && $(find f -type f | wc -l) == 1 ]] || failed "$(<ran)"
}

@test "JSON, threads, memory; a link, a name with blanks" {
	one
	ln -s "$PWD/q q" l
	renew whole "q q"
	scr_container pack -p l -r ssh -w a,b -j 2 --memory 2M --size 20MB --json \
		1 >out
	json_check out
	grep -q '"bytes": 72000000' out
	grep -q -- "--jobs=2 --memory=2097152\|'--jobs=2' '--memory=2097152'" ran
	mv "q q" p
	packed one
}

@test "nodes that are not reached: others do their parts, or this one" {
	one
	renew whole
	warns 0 "gone1: " share pack -w a,gone1,b --size 20MB
	assert_stderr_has "others do what is left"
	packed one
	renew whole
	: >ran
	ends 0 share pack -w gone1,gone2 --size 20MB
	assert_stderr_has "gone[1-2]: " "others do what is left"
	packed one
	[[ ! -s ran ]]
}

@test "a node that is killed at any moment" {
	local n

	one
	for n in $([[ -z ${SCRKIT_SLOW-} ]] && echo 3 20 90 || seq 1 12 200); do
		echo "export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/p SHIM_KILL_AT=$n" \
			>ran.b
		renew whole
		share pack -w a,b,c --size 20MB >out 2>err
		packed one
		share unpack -w a,b,c >out 2>err
		same
	done
}

@test "a node that fails: its part is done here" {
	local fault

	one
	for fault in pwrite:ENOSPC pread:EIO fsync:EIO open:EMFILE; do
		echo "export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/p
			export SHIM_OP=${fault%:*} SHIM_ERRNO=${fault#*:}
			export SHIM_FAIL_AT=1 SHIM_STICKY=1 SHIM_READS=1" >ran.b
		renew whole
		warns 0 "b: " share pack -w a,b,c --size 20MB
		packed one
	done
	# Its files are others than these.
	renew whole
	renew whole away
	echo 'shift; exec sh -c "$(echo "$*" | sed "s,/p/,/away/,g")"' >ran.b
	warns 0 "b: " share pack -w a,b,c --size 20MB
	packed one
	# Its command is another one, or says what is no answer.
	for answer in hello '{"part": 0}' '{"part": 99, "sums": "00"}' \
		'{"part": 0, "sums": "zz"}'; do
		renew whole
		echo "echo '@'; echo '$answer'; exit" >ran.b
		echo "shift; exec sh -c \"echo '$answer'\"" >ran.b
		ends 0 share pack -w b,c --size 20MB
		packed one
	done
}

@test "all is full: an honest stop, and nothing is damaged" {
	local node

	one
	for node in a b c; do
		echo "export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/p SHIM_OP=pwrite
			export SHIM_FAIL_AT=3 SHIM_STICKY=1 SHIM_ERRNO=ENOSPC" \
			>ran.$node
	done
	renew whole
	ends 1 env "LD_PRELOAD=$SHIM" "SHIM_PATH=$PWD/p" SHIM_OP=pwrite \
		SHIM_FAIL_AT=9 SHIM_STICKY=1 SHIM_ERRNO=ENOSPC \
		scr_container pack -p p -r ssh -w a,b,c --size 20MB 1
	assert_stderr_has "No space left"
	rm ran.?
	same
	share pack -w a,b --size 20MB >out
	packed one
}

@test "a node that freezes, and thaws when it was given up" {
	local worker=''

	one 200MB
	renew whole
	freezes b pwrite 9
	share pack -w a,b --size 200MB --node-timeout 2 >out 2>err 3>&- &
	frozen $!
	wait $!
	grep "no output" err
	packed one
	# It has files open that are gone, and finds no other.
	kill -CONT "$worker"
	for ((i = 0; i < 100; i++)); do
		[[ -e /proc/$worker ]] || break
		sleep 0.1
	done
	[[ ! -e /proc/$worker ]]
	packed one
}

@test "who shares the work out is killed at any moment, and run again" {
	local n rounds=6 verb
	local -A more=([pack]="--size=20MB" [unpack]="-j2")

	one
	((${SCRKIT_SLOW:-0} == 0)) || rounds=50
	for ((n = 0; n < rounds; n++)); do
		renew whole
		for verb in pack unpack; do
			timeout -s KILL "0.$((RANDOM % 5))$((RANDOM % 10))" \
				scr_container $verb -q -p p -r ssh -w a,b,c \
				"${more[$verb]}" 1 2>err || :
			# Those that it has started end by themselves.
			if [[ $verb == pack ]]; then
				ends 0 share pack -w a,b,c --size 20MB
				packed one
			else
				ends 0 share unpack -w a,b,c
				same
			fi
		done
	done
}

@test "damage: the same words, and the same status" {
	local case verb

	one
	for case in good flipped short missing unread; do
		renew one
		cd p/.scr/scr.dataset.1/.scr
		case $case in
		flipped) flip ctr.2.scr 700 ;;
		short) truncate -s 9000000 ctr.1.scr ;;
		missing) rm ctr.3.scr ;;
		unread) export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/ctr.1.scr SHIM_OP=pread \
			SHIM_FAIL_AT=1 SHIM_STICKY=1 SHIM_ERRNO=EIO ;;
		esac
		cd "$BATS_TEST_TMPDIR"
		for verb in verify unpack; do
			renew p q
			try scr_container $verb -p p 1
			one="$status $output $stderr"
			rm -rf p
			mv q p
			try share $verb -w a,b
			[[ "$status $output $(grep -v "^scr_container: [ab]: \|^scr_container: a\[\|^scr_container: \[a-b\]" <<<"$stderr")" == \
				"$one" ]] || failed "$one" "$status $output $stderr"
		done
		unset LD_PRELOAD
	done
	# A file that has another checksum than recorded is not packed.
	renew whole
	flip p/ckpt.1/rank_3_0.ckpt 5000000
	try scr_container pack -p p 1
	one="$status $output $stderr"
	try share pack -w a,b
	[[ "$status $output $stderr" == "$one" ]] || failed "$one" \
		"$status $output $stderr"
	no_temps
}

@test "what commands of other names read of containers is shared, too" {
	local case

	scr_container pack -q -p whole --with-redundancy --size 30MB 1 2>none
	renew whole one
	for case in good flipped missing; do
		renew one
		case $case in
		flipped) flip p/.scr/scr.dataset.1/.scr/ctr.1.scr 700 ;;
		missing) rm p/.scr/scr.dataset.1/.scr/ctr.2.scr ;;
		esac
		: >ran
		try scr_index -p p --verify --checksums 1
		one="$status $output $stderr"
		try scr_index -p p --verify --checksums 1 -r ssh -w a,b
		[[ "$status $output $stderr" == "$one" ]] || failed "$one" \
			"$status $output $stderr"
		# What is left of three containers is not worth a node.
		[[ $case == missing || ($(did a) == 0-* && $(did b) != "$(did a)") ]]
		no_temps
		# A dry run writes nothing, and so asks nobody.
		: >ran
		renew p q
		try scr_rebuild -p q --checksums 1
		one="$status $output ${stderr// in +([0-9.]) s/}"
		try scr_rebuild -p p --checksums --dry-run 1 -r ssh -w a,b
		[[ ! -s ran ]]
		try scr_rebuild -p p --checksums 1 -r ssh -w a,b
		[[ "$status $output ${stderr// in +([0-9.]) s/}" == "$one" ]] ||
			failed "$one" "$status $output $stderr"
		[[ $case == missing || -s ran ]]
		no_temps
		diff -r q p
	done
}

@test "what other nodes cannot help with" {
	renew whole
	misused "--nodes cannot be used with list" share list -w a
	misused "--nodes cannot be used with cat" scr_container cat -w a 1 x
	misused "need --nodes" scr_container pack -p p -r local 1
	misused "FROM-TO" scr_container --part=5 list
	refuses 2 "bad[" share pack -w "bad["
	refuses 2 "no-such-way" scr_container pack -p p -r no-such-way -w a 1
	# No list, or another one.
	ends 1 scr_container --part=0-1:0,100,00 p/none
	echo "no list" >list
	ends 1 scr_container --part=0-1:0,100,00 list
	ends 3 scr_container --part=0-1:0,9999999999999,00 list
	share pack -w a --dry-run >out
	[[ ! -s ran ]]
}
