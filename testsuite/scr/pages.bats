#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # bats and job set them
# The program in scr(3) is one that works.

load helper

# compile: the program of the page, as ./program.
compile()
{
	local -a mpi

	sed -n '/^\.\\" program: begin/,/^\.\\" program: end/p' \
		"$TESTSUITE/../man/scr.3" | grep -v '^\.' | sed 's/\\e/\\/g' \
		>program.c
	read -ra mpi < <(pkg-config --cflags --libs mpich 2>/dev/null ||
		pkg-config --cflags --libs ompi-c)
	try cc -Wall -Wextra -Werror -I "$TESTSUITE/../lib/scr" -o program \
		program.c -L "$MPI/.." -lscr "-Wl,-rpath,$MPI/.." "${mpi[@]}"
	assert_status 0
}

@test "the program of scr(3) checkpoints, and restarts on a spare node" {
	[[ $MPI != *address* ]] || skip "built without sanitizers"
	compile
	# The page promises a program that is read in a minute.
	[[ $(wc -l <program.c) -le 70 ]] || failed "it is long"
	SCR_CHECKPOINT_INTERVAL=30 job "0 1 2" "$PWD/program"
	assert_status 0
	[[ -z $stderr ]] || failed "no messages"
	[[ -e $NODES/1/tester/scr.j1/scr.dataset.3/rank.1 ]] || failed "ckpt.90"
	lose 1
	SCR_CHECKPOINT_INTERVAL=1 SCR_DEBUG=1 job "0 3 2" "$PWD/program"
	assert_status 0
	[[ $output == *"Starting dataset 4 \`ckpt.91'"* ]] || failed "step 91"
	[[ $output != *"dataset 14 "* ]] || failed "10 steps"
	grep -qx 100 "$NODES/3/tester/scr.j1/scr.dataset.13/rank.1" ||
		failed "the last step"
}
