#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The program in scr(3), and the examples of scrkit.conf(5), work.

load helper

# compile: the program of the page, as ./program.
compile() {
	local -a mpi

	sed -n '/^\.\\" program: begin/,/^\.\\" program: end/p' \
		"$TESTSUITE/../man/scr.3" | grep -v '^\.' | sed 's/\\e/\\/g' >program.c
	read -ra mpi < <(pkg-config --cflags --libs mpich 2>/dev/null ||
		pkg-config --cflags --libs ompi-c)
	ends 0 cc -Wall -Wextra -Werror -I "$TESTSUITE/../lib/scr" -o program \
		program.c -L "$MPI/.." -lscr "-Wl,-rpath,$MPI/.." "${mpi[@]}"
}

@test "the program of scr(3) checkpoints, and restarts on a spare node" {
	[[ $MPI != *address* ]] || skip "built without sanitizers"
	compile
	# The page promises a program that is read in a minute.
	[[ $(wc -l <program.c) -le 75 ]] || failed "it is long"
	SCR_CHECKPOINT_INTERVAL=30 works "0 1 2" "$PWD/program"
	[[ -z $stderr ]] || failed "no messages"
	[[ -e $NODES/1/tester/scr.j1/scr.dataset.3/rank.1 ]] || failed "ckpt.90"
	lose 1
	SCR_CHECKPOINT_INTERVAL=1 SCR_DEBUG=1 works "0 3 2" "$PWD/program"
	[[ $output == *"Starting dataset 4 \`ckpt.91'"* ]] || failed "step 91"
	[[ $output != *"dataset 14 "* ]] || failed "10 steps"
	grep -qx 100 "$NODES/3/tester/scr.j1/scr.dataset.13/rank.1" ||
		failed "the last step"
}

# example N: the N-th example of scrkit.conf(5), as .scrconf on these nodes.
example() {
	awk -v n="$1" '/^\.Sh/ { here = $2 == "EXAMPLES" }
		/^\.Ed/ { show = 0 }
		here && show { print }
		here && /^\.Bd/ { show = ++k == n }
		' "$TESTSUITE/../man/scrkit.conf.5" |
		sed "s|=/dev/shm|=$SSD/memory|; s|=/ssd|=$SSD/disk|
			s|=/p/scratch|=$PREFIX/all|" >.scrconf
	[[ -s .scrconf ]] || failed "no example $1"
	unset SCR_CACHE_BYPASS SCR_CACHE_SIZE SCR_CACHE_BASE SCR_FLUSH
	# What is built in, /dev/shm, belongs to all pretend nodes.
	export SCR_CNTL_BASE=$SSD/memory
	grep -q SCR_CACHE_BASE .scrconf || export SCR_CACHE_BASE=$SSD/memory
}

@test "the examples of scrkit.conf(5): SSDs, several descriptors, groups" {
	local cache=tester/scr.j1

	(
		example 1
		works "0 1" app_ckpt steps=4
		[[ -z $stderr ]] || failed "messages"
		[[ $(find "$NODES/1/disk" -name 'scr.dataset.*' | wc -l) -eq 3 ]] ||
			failed "COUNT=3"
	)
	rm -rf "${NODES:?}"/* .scr
	(
		example 2
		works "0 1 2 3" app_ckpt steps=5
		[[ -z $stderr ]] || failed "messages"
		[[ -n $(find "$NODES/1/memory/$cache/scr.dataset.4" -name '*.xor.*') &&
			-n $(find "$NODES/1/disk/$cache/scr.dataset.5" -name '*.rs.*') ]] ||
			failed "the fifth in RS"
		# Output with bypass: the files are on the prefix only.
		job "0 1 2 3" app_ckpt steps=1 flags=2 name=out
		[[ -n $(find out* -type f) ]] || failed "output"
	)
	rm -rf "${NODES:?}"/* .scr
	(
		example 3
		line "0: 0/1 XOR(XOR1) 0,2" works "1 2 3 4" prefix levels
		[[ -z $stderr ]] || failed "messages"
	)
}
