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

# run STATUS COMMAND...: show a command and what it prints; it must end with
# STATUS.
run() {
	local want=$1 status=0

	shift
	printf '%s$ %s%s\n' "$bold" "$*" "$plain"
	"$@" 2>&1 || status=$?
	[ "$status" -eq 0 ] || echo "[exit status $status]"
	if [ "$status" -ne "$want" ]; then
		echo "demo: expected exit status $want" >&2
		exit 1
	fi
}

job=(--ranks 8 --nodes 4 --type XOR --files 2 --size "4M,1M" --name ckpt.1)

say "A job of 8 ranks on 4 nodes wrote a checkpoint into its nodes' memory, and
parity with it (XOR: any one node may die).  Then node 2 died, and took the
files of ranks 4 and 5 along.  What the other nodes had was copied to the
parallel file system, the prefix directory:"
gen_dataset --prefix prefix "${job[@]}" --lose 2
run 0 ls prefix/ckpt.1

say "What is lost, and can it be had back?  (3: damaged, but recoverable)"
run 3 scr_inspect prefix

say "Compute what is missing, and put the checkpoint into the index:"
run 0 scr_index --prefix prefix --build 1

say "Nothing but whole files?"
run 0 scr_index --prefix prefix --verify --deep ckpt.1
run 0 ls prefix/ckpt.1

say "The job may restart from it:"
run 0 scr_index --prefix prefix --current ckpt.1
run 0 scr_index --prefix prefix --list

gen_dataset --prefix prefix "${job[@]}" --check
say "All files are byte for byte what the job wrote."
