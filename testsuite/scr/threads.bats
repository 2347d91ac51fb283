#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# SCR_FLUSH_TYPE=PTHREAD: several threads of a rank copy.  The bytes are cut in
# pieces of 8 MiB, so files here are larger.

load helper

SIZE=20000003

setup() {
	job_setup
	(($(nproc) >= 2)) || skip "one processor"
	export SCR_FLUSH=1 SCR_FLUSH_TYPE=PTHREAD SCR_COPY_TYPE=SINGLE
	export REAL_CORES=1
}

# A rank that is not bound shares the cores with the others of its node.
write_one() # MAP
{
	SCR_DEBUG=1 works "$1" app_ckpt size=$SIZE files=2
	grep -qx "complete 1 0" <<<"$output" || failed "complete"
}

@test "a rank flushes with threads, each bound to a core, and says where" {
	command -v strace >/dev/null || skip "no strace"
	not_sanitized strace
	RANK_COMMAND="strace -f -o $BATS_TEST_TMPDIR/calls \
		-e trace=sched_setaffinity,pwrite64,set_mempolicy \
		-e inject=pwrite64:delay_enter=3000" write_one 0
	[[ $output =~ ([0-9]+)" threads copy the files of this rank, \
on processing units "([0-9,-]+) ]] ||
		failed "what it says"
	((BASH_REMATCH[1] >= 2 && BASH_REMATCH[1] <= 16))
	# MPI has the first process look at each processor.
	rank=$(awk 'NR == 1 { print $1 }' "$BATS_TEST_TMPDIR/calls")
	(($(grep -v "^$rank " "$BATS_TEST_TMPDIR/calls" |
		grep -cE 'sched_setaffinity\(0, [0-9]+, \[[0-9]+\]') == \
		BASH_REMATCH[1] - 1)) || failed "threads are bound"
	(($(grep -E 'pwrite64.* = 262144' "$BATS_TEST_TMPDIR/calls" |
		cut -d ' ' -f 1 | sort -u | wc -l) >= 2)) || failed "two threads write"
	ends 0 scr_index --prefix "$PREFIX" --verify --checksums 1
	for f in "$NODES"/0/tester/scr.j1/scr.dataset.1/rank_0.*; do
		cmp "$f" "$PREFIX/ckpt.1/${f##*/}"
	done
}

@test "SYNC, the default: the rank itself" {
	SCR_FLUSH_TYPE=SYNC write_one 0
	[[ $output != *" threads copy "* ]]
	unset SCR_FLUSH_TYPE
	rm -rf "$PREFIX"/{ckpt.1,.scr} "${NODES:?}"/*
	write_one 0
	[[ $output != *" threads copy "* ]]
}

@test "as many ranks as cores: each copies alone" {
	local map

	map=$(yes 0 | head -n "$(nproc)" | paste -sd ' ')
	write_one "$map"
	[[ $output != *[2-9]" threads copy"* ]]
	ends 0 scr_index --prefix "$PREFIX" --verify --checksums 1
}

@test "fetched with threads: the same bytes; one byte flipped, and it is refused" {
	works "0 1" app_restart 2 size=$SIZE
	lose 0 1
	works "0 1" app_restart 1 size=$SIZE
	grep -qx "restart ckpt.2" <<<"$output" || failed "the newest"
	lose 0 1
	# In the last piece of a file.
	find "$PREFIX/ckpt.3" -name "rank_1*" -type f | grep . | while read -r f; do
		damage "$f" 19000000 '\377'
	done
	works "0 1" app_restart 0 size=$SIZE
	grep -qx "restart ckpt.2" <<<"$output" || failed "the one before"
	[[ $stderr == *"ckpt.3"*"not fetched"*"checksum 0x"* ]]
}

@test "one store flushes with threads" {
	unset SCR_FLUSH_TYPE
	echo "STORE=$SSD FLUSH=PTHREAD" >.scrconf
	write_one 0
	[[ $output == *" threads copy "* ]]
	ends 0 scr_index --prefix "$PREFIX" --verify --checksums 1
}

@test "no room on the prefix: the dataset stays in cache" {
	privately && return
	mkdir ckpt.1
	mount -t tmpfs -o size=30m none ckpt.1
	works 0 app_ckpt size=$SIZE files=2
	[[ $stderr == *"dataset 1: not flushed"*"No space left"* ]]
	[[ -s $NODES/0/tester/scr.j1/scr.dataset.1/rank_0.1 ]]
}
