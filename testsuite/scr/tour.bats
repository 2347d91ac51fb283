#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A tour of what libscr does, in few jobs: also for builds with sanitizers and
# for valgrind, which end a rank that they complain about with another status.

load restarts

export JOB_LIMIT=120

# clean MAP PROGRAM [ARG]...: `works`, and no sanitizer reports anything.
clean() {
	works "$@"
	[[ $stderr != *"Sanitizer"* && $stderr != *"runtime error:"* ]] ||
		failed "$stderr"
}

eval "restarts_$(declare -f setup)"

# Under valgrind each job takes ten seconds: one test each day.
setup() {
	[[ ! -v SCRKIT_VALGRIND || -v SCRKIT_SLOW ]] ||
		((BATS_TEST_NUMBER == 1)) ||
		((BATS_TEST_NUMBER == 2 + EPOCHSECONDS / 86400 % 6)) ||
		skip "slow under valgrind: in turn, day by day; SLOW=1 runs it"
	restarts_setup
}

# lost_and_found SCHEME FLIP: node 2 is lost, and with FLIP a byte of a file;
# the ranks go on elsewhere.
lost_and_found() {
	export SCR_COPY_TYPE=$1 SCR_MPI_BUF_SIZE=4096

	clean "0 1 2 3" app_restart 2 files=rank size=50000
	assert_line "complete 2 0"
	[[ -z $2 ]] || flip "$(dataset 3 2)/rank_3.0" 100
	lose 2
	clean "3 4 1 0" app_restart 1 files=rank size=50000
	assert_line "restart ckpt.2"
	assert_line "complete 3 0"
}

@test "the programs are those of this tree" {
	if [[ $BIN == *address* ]]; then
		[[ $RANK_PRELOAD == *libasan* ]]
		nm -D "$MPI/app_restart" | grep -q asan
	fi
	if [[ -v SCRKIT_VALGRIND ]]; then
		[[ $RANK_COMMAND == valgrind* ]]
	fi
}

@test "RS: a node lost, a byte flipped" { lost_and_found RS flip; }

@test "XOR: a node lost, then another one" {
	lost_and_found XOR ''
	lose 1
	clean "3 4 1 0" app_restart 0 files=rank size=50000
	assert_line "restart ckpt.3"
}

@test "PARTNER: a node lost, a byte flipped" { lost_and_found PARTNER flip; }

@test "flushed, lost, fetched" {
	SCR_FLUSH=1 SCR_PREFIX_SIZE=2 clean "0 1 2 3" app_restart 3 files=2
	lose 0 1 2 3
	clean "0 1 2 3" app_restart 0 files=2
	assert_line "restart ckpt.3"
}

@test "not fetched, deleted, dropped" {
	SCR_FLUSH=1 clean "0 1 2 3" app_restart 3 files=2
	truncate -s 10 ckpt.3/d1/rank_1.0
	lose 0 1 2 3
	clean "0 1 2 3" app_restart 0 files=2
	assert_line "restart ckpt.2"
	clean "0 1 2 3" app_calls init current=ckpt.2 drop=ckpt.3 delete=ckpt.2 \
		should_exit need_checkpoint have_restart finalize
	assert_line "delete=ckpt.2 -> 0"
	assert_line "have_restart -> 0 1 ckpt.1"
}

@test "bypass, output, what fails, a second life in one process" {
	SCR_CACHE_BYPASS=1 clean "0 0 1 1" app_restart 1 files=2 again=2 shared=1
	assert_line "restart ckpt.1"
	rm -rf "${NODES:?}" .scr
	clean "0 0 1 1" app_ckpt steps=3 invalid=1 flags2=2 files=2 need=0
	assert_line "complete 1 1"
	assert_line "complete 3 0"
	SCR_START_OVER=1 clean "0 1 2" app_restart 0
	assert_line none
}
