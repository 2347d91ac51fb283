#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016 # texts of scripts
# --limit-rate: commands move the bytes of datasets no faster, whatever their threads
# and nodes, and not much slower.

load helper

setup_file() {
	in_no_job
	cd "$BATS_FILE_TMPDIR" || return 1
	built whole 1 --checksums -t XOR -n 6 -m 6 -f 2 -s 500000 --set-size 3
	renew whole packed
	scr_container pack -q -p packed 1 2>none
	scr_archive export -q -p whole -o archive 1
}

setup() { in_no_job; }

# took BYTES COMMAND...: at 4 MB/s it moves so many, and starts and ends in two seconds
# on a busy machine.  $ENDS: its status.
took() {
	local start=$EPOCHREALTIME

	ends "${ENDS-0}" "${@:2}" --limit-rate 4000000
	awk -v took="$((${EPOCHREALTIME/./} - ${start/./}))" -v bytes="$1" 'BEGIN {
		least = bytes / 4
		exit !(took > .95 * least && took < 1.2 * least + 2000000) }' ||
		failed "$*: $((${EPOCHREALTIME/./} - ${start/./})) us"
}

@test "scr_index and scr_rebuild: what is read, and what is computed from it" {
	renew "$BATS_FILE_TMPDIR/whole"
	took 6000000 scr_index -p p --verify 1 --checksums
	took 6000000 scr_index -p p --build 1 --checksums
	# Two chunks of data and one of parity, each from two others.
	rm p/ckpt.1/rank_1_*
	took 4500000 scr_rebuild -p p -j 4 1
	diff -r "$BATS_FILE_TMPDIR/whole/ckpt.1" p/ckpt.1
}

@test "scr_container and scr_archive: each verb" {
	local all=$BATS_FILE_TMPDIR

	renew "$all/packed"
	took 6000000 scr_container verify -p p 1
	took 6000000 scr_container extract -p p -C x 1
	took 6000000 scr_container export -p p -o a 1
	# What is written is read again.
	took 12000000 scr_container repack -p p --size 1MB 1
	took 6000000 scr_container unpack -p p 1
	took 12000000 scr_container pack -p p 1
	mkdir q
	took 6000000 scr_archive import -p q "$all/archive"
	# What is there is compared.
	took 12000000 scr_archive import --force -p q "$all/archive"
}

# fti: f, a checkpoint of level 2 on 8 nodes in 2 groups, g, one of level 4, and h, of
# level 3.
fti() {
	local rank dir

	mkdir -p f/Meta/e/l1 g/Global/e/l4
	: >f/Meta/e/Topology.fti
	printf '%s\n' "[basic]" "head = 0" "node_size = 1" "group_size = 4" \
		"ckpt_dir = ./Local" "glbl_dir = ./Global" "meta_dir = ./Meta" \
		"ckpt_io = 3" "[restart]" "exec_id = e" "[advanced]" \
		"local_test = 1" >f/config.fti
	head -c 1000000 /dev/urandom >v
	for ((rank = 0; rank < 8; rank++)); do
		dir=f/Local/node$rank/e/l1
		mkdir -p "$dir"
		scr_fti pack -q --to C --id 1 -o "$dir/Ckpt1-Rank$rank.fti" 0=v
		((rank > 3)) || cp "$dir"/* g/Global/e/l4
	done
	cp f/config.fti g
	cp -r f h
	scr_fti protect -q --level 3 h 2>none
	rm -r h/Local/node*/e/l1 h/Meta/e/l1
	scr_fti protect -q --level 2 f 2>none
	rm -r f/Local/node*/e/l1 f/Meta/e/l1
	scr_fti rebuild -q f
}

# nodes: a and b are this machine; `ran` has a line for each command that one runs.
nodes() {
	stub_ssh
	sed -i 's/^export NODE=.*/&; echo "$NODE $*" >>ran/' stub/ssh
}

# shares: both nodes had a half.
shares() {
	[[ $(grep -c -- '^a .*--limit-rate=2000000\b' ran) -gt 0 &&
		$(grep -c -- '^b .*--limit-rate=2000000\b' ran) -gt 0 &&
		$(grep -vc -- '--limit-rate=2000000\b' ran) == 0 ]] || failed "$(cat ran)"
	rm ran
}

@test "scr_fti: rebuild, alone and with nodes, verify, archive" {
	nodes
	fti
	rm -r f/Local/node1 f/Local/node5
	renew f lost
	# Of each group a file and a copy: read, written, and read again.
	took 12000000 scr_fti rebuild f
	took 8000000 scr_fti verify f/Local/*/e/l2/Ckpt1-Rank?.fti
	# Verified, copied, and read back.
	took 12000000 scr_fti archive --copy g
	# A dry run computes a file from four others.
	rm -r h/Local/node1
	ENDS=3 took 4000000 scr_fti rebuild -n h
	renew lost f
	took 12000000 scr_fti rebuild -r ssh -w a,b f
	shares
}

@test "nodes keep the rate together" {
	nodes
	renew "$BATS_FILE_TMPDIR/whole"
	rm p/ckpt.1/rank_1_* p/ckpt.1/rank_4_*
	took 9000000 scr_rebuild -p p -r ssh -w a,b 1
	shares
	took 6000000 scr_index -p p -r ssh -w a,b --verify 1 --checksums
	shares
	took 6000000 scr_archive export -p p -r ssh -w a,b --split 2MB -o a 1
	shares
	# A node with less than 1 KiB/s would be refused.
	renew "$BATS_FILE_TMPDIR/whole"
	timeout 1 scr_index -p p -r ssh -w 'n[1-9]' --limit-rate 2K --verify 1 \
		--checksums >out 2>&1 || true
	[[ $(grep -c -- --limit-rate=1024 ran) == 2 && $(wc -l <ran) == 2 ]]
}

@test "scr_container: nodes keep the rate together" {
	local start

	nodes
	built p 1 -t XOR -n 6 -m 6 -f 2 -s 6000000 --set-size 3
	scr_container pack -q -p p 1 2>none
	start=$EPOCHREALTIME
	scr_container verify -p p -r ssh -w a,b --limit-rate 48000000 1 >out
	((${EPOCHREALTIME/./} - ${start/./} > 1450000))
	[[ $(grep -c -- --limit-rate=24000000 ran) == 2 ]]
}

@test "SIGINT ends a wait at once" {
	local line start

	renew "$BATS_FILE_TMPDIR/packed"
	renew "$BATS_FILE_TMPDIR/whole" q
	rm q/ckpt.1/rank_1_*
	fti
	# Each would take five minutes or more.
	while read -r line; do
		start=$EPOCHREALTIME
		# shellcheck disable=SC2086 # words
		rejects timeout --preserve-status -s INT 1 $line --limit-rate 20000
		((${EPOCHREALTIME/./} - ${start/./} < 2000000)) || failed "$line"
	done <<-END
		scr_container verify -p p 1
		scr_container unpack -p p 1
		scr_archive export -p p -o a 1
		scr_archive import --dry-run -p q $BATS_FILE_TMPDIR/archive
		scr_rebuild -p q 1
		scr_index -p q --verify 1 --checksums
		scr_fti archive --copy g
	END
	[[ -z $(find p q g -name '.scrkit*') ]]
	scr_rebuild -q -p q 1
	diff -r "$BATS_FILE_TMPDIR/whole/ckpt.1" q/ckpt.1
}

@test "a wrong rate is refused" {
	local command

	for command in "scr_rebuild 1" "scr_index --verify 1" "scr_container pack 1" \
		"scr_archive import a" "scr_fti rebuild p"; do
		# shellcheck disable=SC2086 # words
		misused "'1023' is less than 1024 bytes" $command --limit-rate 1023
		# shellcheck disable=SC2086 # words
		misused "expected a number of bytes" $command --limit-rate fast
	done
}
