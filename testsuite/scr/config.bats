#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016 # for the library
# The configuration: SCR_Config, files and the environment (scenario 60).

load helper

setup() {
	job_setup
	unset SCR_FLUSH SCR_CACHE_SIZE SCR_CACHE_BYPASS
	export SCRKIT_SYSTEM_CONF=$BATS_TEST_TMPDIR/system.conf
}

# says LINE...: the output has these lines.
says() {
	local line

	assert_status 0
	for line; do
		grep -qxF -- "$line" <<<"$output" || failed "expected: $line"
	done
}

@test "environment, then the user's file, SCR_Config, the system's file (60)" {
	printf 'SCR_SET_SIZE=11\nSCR_FLUSH=12\nSCR_DEBUG=0\nSCR_PREFIX_SIZE=13\n' \
		>"$SCRKIT_SYSTEM_CONF"
	printf 'SCR_DEBUG=0\nSCR_FLUSH=22\n' >.scrconf
	export SCR_CHECKPOINT_SECONDS=41
	job "0 1" app_calls ask=SCR_SET_SIZE=31 ask=SCR_FLUSH=32 \
		ask=SCR_CHECKPOINT_SECONDS=33 ask=SCR_FLUSH ask=SCR_SET_SIZE init \
		ask=SCR_CHECKPOINT_SECONDS ask=SCR_FLUSH ask=SCR_SET_SIZE \
		ask=SCR_PREFIX_SIZE ask=SCR_SET_FAILURES finalize
	says "SCR_FLUSH -> 22" "SCR_SET_SIZE -> 31" "init -> 0" "finalize -> 0" \
		"SCR_CHECKPOINT_SECONDS -> 41" "SCR_PREFIX_SIZE -> 13" \
		"SCR_SET_FAILURES -> (none)"
}

@test "lines of the user's file in all shapes (60)" {
	export PLACE=/there SIZE2=7
	printf '%s' $'# a comment\r\n\tSCR_SET_SIZE = 9\r\n' \
		$'SCR_GROUP=NODE#x # a comment\n' \
		$'SCR_JOB_NAME=$PLACE/a\nSCR_CLUSTER_NAME=${PLACE}b\\$c\n' \
		$'CKPT=0 TYPE=XOR SET_SIZE=$SIZE2\n' $'scr_flush=8' >.scrconf
	job "0 1" app_calls ask=SCR_SET_SIZE ask=SCR_GROUP ask=SCR_JOB_NAME \
		ask=SCR_CLUSTER_NAME "ask=CKPT=0 TYPE" "ask=CKPT=0 SET_SIZE" \
		ask=SCR_FLUSH
	says "SCR_SET_SIZE -> 9" "SCR_GROUP -> NODE#x" \
		"SCR_JOB_NAME -> /there/a" "SCR_CLUSTER_NAME -> /thereb\$c" \
		"CKPT=0 TYPE -> XOR" "CKPT=0 SET_SIZE -> 7" "SCR_FLUSH -> 8"
	[[ -z $stderr ]] || failed "no messages"
}

@test "a line that is wrong is named, and its neighbours count (60)" {
	printf '%s\n' SCR_FLUSH=4 'SCR_DEBUG 1' SCR_SET_SIZE=5 >.scrconf
	job "0 1" app_calls ask=SCR_FLUSH ask=SCR_SET_SIZE ask=SCR_DEBUG init finalize
	says "SCR_FLUSH -> 4" "SCR_SET_SIZE -> 5" "SCR_DEBUG -> (none)"
	grep -q 'WARNING: rank .*/\.scrconf:2: ' <<<"$stderr" || failed "line 2"
}

@test "values that do not parse, and unknown names, are warned about once" {
	printf 'SCR_SET_SIZE=many\nSCR_FLUHS=1\nSCR_FLUHS=2\n' >.scrconf
	export SCR_CHECKPOINT_OVERHEAD=1.5.2 SCR_FLUSH_TYPE=NOPE SCR_QQQQQ=1
	job "0 1" app_calls init ask=SCR_FLUSH finalize
	says "init -> 0"
	warned 'SCR_SET_SIZE from .*"many".*8 is used'
	warned 'unknown parameter SCR_FLUHS; did you mean SCR_FLUSH?'
	grep -q 'environment: unknown parameter SCR_QQQQQ$' <<<"$stderr" ||
		failed "SCR_QQQQQ"
	grep -q 'OVERHEAD from environment: "1.5.2".*0.0 is used' <<<"$stderr" ||
		failed "SCR_CHECKPOINT_OVERHEAD"
	grep -q 'SCR_FLUSH_TYPE.*"NOPE".*SYNC is used' <<<"$stderr" ||
		failed "SCR_FLUSH_TYPE"
	# Queries before SCR_Init() do not repeat it, and give what is used.
	job "0 1" app_calls ask=SCR_FLUSH ask=SCR_SET_SIZE init ask=SCR_FLUSH \
		ask=SCR_FLUSH_TYPE finalize
	says "SCR_FLUSH -> (none)" "SCR_SET_SIZE -> 8" "SCR_FLUSH_TYPE -> SYNC"
	warned 'unknown parameter SCR_FLUHS'
	grep -q 'SCR_SET_SIZE from .*\.scrconf:1: "many"' <<<"$stderr" ||
		failed "file and line"
	ends 0 scr_env conf
	grep -q 'unknown parameter SCR_FLUHS; did you mean SCR_FLUSH?' \
		<<<"$stderr" || failed "scr_env"
}

@test "SCR_Config sets, asks, unsets; app.conf tells the commands" {
	job "0 1" app_calls "ask=STORE=$SSD GROUP=NODE COUNT=3" \
		"ask=STORE=$SSD MKDIR=1" "ask=STORE=$SSD COUNT" ask=STORE \
		"ask=SCR_JOB_NAME = a=b" ask=SCR_JOB_NAME ask=SCR_FLUSH=7 \
		ask=SCR_FLUSH= ask=SCR_FLUSH init ask=SCR_JOB_NAME \
		"ask=STORE=$SSD MKDIR" ask=SCR_JOB_ID ask=SCR_PREFIX finalize
	says "STORE=$SSD COUNT -> 3" "STORE -> $SSD" "SCR_JOB_NAME -> a=b" \
		"SCR_FLUSH -> (none)" "STORE=$SSD MKDIR -> 1" "SCR_JOB_ID -> j1" \
		"SCR_PREFIX -> $PREFIX"
	try cat .scr/app.conf
	[[ $output == "STORE=$SSD GROUP=NODE COUNT=3 MKDIR=1
SCR_JOB_NAME=a\\=b" ]] || failed "app.conf"
	try scr_env conf --value SCR_JOB_NAME
	[[ $output == a=b ]] || failed "scr_env"
	# All is forgotten at SCR_Finalize.
	job "0 1" app_calls config=SCR_JOB_NAME=x init finalize \
		config=SCR_JOB_NAME init finalize
	says "config=SCR_JOB_NAME -> 0"
	[[ ! -s .scr/app.conf ]] || failed "app.conf is not empty"
}

@test "SCR_Config chooses the prefix and the user's file" {
	mkdir other
	echo SCR_FLUSH=5 >other/.scrconf
	echo SCR_FLUSH=6 >mine.conf
	job "0 1" app_calls ask=SCR_PREFIX=other ask=SCR_FLUSH init ask=SCR_FLUSH \
		finalize
	says "SCR_FLUSH -> 5"
	[[ -s other/.scr/nodes.scr && ! -e .scr ]] || failed "the prefix"
	job "0 1" app_calls ask=SCR_CONF_FILE=mine.conf ask=SCR_FLUSH
	says "SCR_FLUSH -> 6"
}

@test "each rank has its own bases, rank 0 decides the rest" {
	cat >own.sh <<-'END'
		#!/bin/sh
		read -r host </proc/sys/kernel/hostname
		[ "$host" = node0 ] || export SCR_FLUSH=9 SCR_USER_NAME=else
		SCR_CACHE_BASE=$SSD/$host exec "$@"
	END
	chmod +x own.sh
	job "0 1" "$PWD/own.sh" "$MPI/app_calls" init ask=SCR_FLUSH finalize
	says "init -> 0"
	[[ -d $NODES/0/tester && -d $NODES/1/tester ]] || failed "user"
	[[ -d $NODES/0/node0 && -d $NODES/1/node1 ]] || failed "bases"
}

@test "nodes.scr counts the nodes" {
	works "0 0 2" app_calls init finalize
	try scr_env nodes-file
	[[ $output == 2 ]] || failed "nodes"
}
