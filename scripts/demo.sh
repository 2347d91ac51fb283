#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A tour for newcomers: a checkpoint on four pretend nodes loses a node, and
# comes back.
#     scripts/demo.sh build/plain
set -eu
cd "$(dirname "$0")/.."
tree=$PWD/${1:?usage: demo.sh TREE}
export PATH=$tree/bin:$tree/gen:$PATH LC_ALL=C.UTF-8
unset SCR_PREFIX

work=$(mktemp -d "${TMPDIR:-/tmp}/scrkit-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

bold='' plain=''
[ -t 1 ] && bold=$'\e[1m' plain=$'\e[0m'

say() {
	printf '\n%s%s%s\n' "$bold" "$*" "$plain"
}

# run STATUS COMMAND...: show a command as it is typed, and what it prints; it
# must end with STATUS.
run() {
	local want=$1 status=0

	shift
	printf '%s$ %s%s\n' "$bold" "$*" "$plain"
	"$@" 2>&1 || status=$?
	if [ "$status" -ne "$want" ]; then
		echo "demo: exit status $status, expected $want" >&2
		exit 1
	fi
	[ "$status" -eq 0 ] || echo "[exit status $status]"
}

job=(--prefix run7 --ranks 8 --nodes 4 --type XOR --size "4M,1M")

say "1. A job of 8 ranks on 4 nodes wrote checkpoint ckpt.1 into the memory of
   its nodes, and parity with it: any one node may die.  Node 2 did, and took
   ranks 4 and 5 along.  What the others had was copied to the prefix, run7:"
gen_dataset "${job[@]}" --lose 2
run 0 ls -C run7/ckpt.1

say "2. Can it be saved?  (Exit status 3: damaged, but nothing is lost.)"
run 3 scr_inspect run7

say "3. A picture: one row for each redundancy set, one column for each node."
printf '%s$ scr_inspect -p run7 --map ckpt.1%s\n' "$bold" "$plain"
scr_inspect -p run7 --map ckpt.1 | sed -n '/ranks by set/,/^$/p' |
	sed '/^$/d' || true

say "4. Compute what is missing from the rest, and put the dataset into the
   index, from which jobs restart:"
run 0 scr_index -p run7 --build 1

say "5. Is all of it there, and right?  Files, and parity against data:"
run 0 scr_index -p run7 --verify --deep ckpt.1
run 0 ls -C run7/ckpt.1

say "6. The next job may restart from it:"
run 0 scr_index -p run7 --current ckpt.1
run 0 scr_index -p run7 --list

say "7. Had two nodes died, their files could not be computed.  That is said,
   with the ranks, and nothing is touched:"
rm -rf run7
gen_dataset "${job[@]}" --lose 1,2
run 4 scr_rebuild -p run7 1

rm -rf run7
gen_dataset "${job[@]}" --lose 2
scr_rebuild -q -p run7 1
gen_dataset "${job[@]}" --check
say "Compared with what the job wrote: every rebuilt file is the same, byte for
byte, with its mode and times.  Next: README.md, man/scr_inspect.1."
