#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Parameters that LLNL's library reads and ignores, and others that no test of a
# step shows: each does what scrkit.conf(5) says.

load helper

NODE_MAP="0 1 2 3"

# at_once TEXT STEP...: `prefix STEP...`, with each read and write of a file
# taking $delay (50000) microseconds more.  Sets `most` to the ranks that at the same time were busy
# with files whose paths contain TEXT.
at_once() {
	local text=$1

	shift
	rm -f "$BATS_TEST_TMPDIR"/trace.*
	cat >traced <<-END
		#!/bin/sh
		exec strace -f -ttt -y -e trace=pread64,pwrite64 \
			-e inject=pread64,pwrite64:delay_exit=${delay:-50000} \
			-o "$BATS_TEST_TMPDIR/trace.\$PMI_RANK" "$MPI/prefix" "\$@"
	END
	chmod +x traced
	JOB_LIMIT=60 works "$NODE_MAP" "$PWD/traced" "$@"
	most=$(awk -v text="$text" '
		index($0, text) {
			at = $1 ~ /[.]/ ? $1 : $2
			if (!(FILENAME in from)) from[FILENAME] = at
			to[FILENAME] = at
		}
		END { for (f in from) { print from[f], 1; print to[f], -1 } }
		' "$BATS_TEST_TMPDIR"/trace.* | sort -n |
		awk '{ now += $2; if (now > most) most = now } END { print most + 0 }')
}

traces() {
	command -v strace >/dev/null || skip "no strace"
	not_sanitized strace
	strace -e trace=pread64 -e inject=pread64:delay_exit=1 true \
		2>/dev/null || skip "strace cannot delay calls"
}

@test "SCR_FLUSH_WIDTH, SCR_FETCH_WIDTH: ranks that copy at the same time" {
	local width

	traces
	for width in 2 256; do
		rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/ckpt.*
		SCR_FLUSH=1 SCR_FLUSH_WIDTH=$width SCR_COPY_TYPE=SINGLE \
			at_once "$PREFIX/ckpt.1/" write=ckpt.1:1:2000000
		((most == (width < 4 ? width : 4))) ||
			failed "flush, $width: $most at the same time"
		lose 0 1 2 3
		SCR_FETCH_WIDTH=$width SCR_COPY_TYPE=SINGLE \
			at_once "$PREFIX/ckpt.1/" fetch
		((most == (width < 4 ? width : 4))) ||
			failed "fetch, $width: $most at the same time"
	done
}

@test "SCR_FLUSH_ASYNC_BW: bytes a second of all ranks together" {
	local secs bw

	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0 SCR_FLUSH=1
	for bw in 0 400000; do
		rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/ckpt.*
		SCR_FLUSH_ASYNC_BW=$bw works "$NODE_MAP" prefix write=ckpt.1:1:200000
		secs=$(sed -n 's/.*FLUSH_SUCCESS.*secs=//p' .scr/log)
		# 800 KB take 2 seconds.
		awk -v secs="$secs" -v bw="$bw" 'BEGIN {
			exit !(bw == 0 ? secs < 1.5 : secs > 1.8 && secs < 5) }' ||
			failed "$secs s at $bw"
	done
}

@test "SCR_CACHE_PURGE=1: nothing of an earlier run is left" {
	line "complete 2 0" job "0 1" app_restart 2
	SCR_CACHE_PURGE=1 line "none" works "0 1" app_restart 0
	[[ -z $(find "$NODES" -name 'scr.dataset.*') ]] || failed "datasets"
}

@test "SCR_MPI_BUF_SIZE: bytes of a message" {
	local size

	traces
	for size in 8192 65536; do
		rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr
		delay=1 SCR_COPY_TYPE=XOR SCR_MPI_BUF_SIZE=$size \
			at_once nothing write=ckpt.1:1:200000
		# Data strings are read in messages, in a set of four of half the
		# size.
		grep -h "pread64.*scr.dataset.1/rank_.*= [0-9]" "$BATS_TEST_TMPDIR"/trace.* |
			sed 's/.*= \([0-9]*\).*/\1/' | sort -n | tail -n 1 |
			grep -qx "$((size / 2))" || failed "messages of $size"
	done
}
