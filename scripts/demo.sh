#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A tour for newcomers: a checkpoint loses a node and is rebuilt; then the whole
# end of a job on four pretend nodes, if the machine allows them.
#     scripts/demo.sh build/plain
set -eu
tree=$(cd "${1:?usage: demo.sh TREE}" && pwd)
cd "$(dirname "$0")/.."
bed=$PWD/testsuite/cluster/bed.sh
export PATH=$tree/bin:$tree/gen:$PATH LC_ALL=C.UTF-8
unset "${!SCR_@}"

work=$(mktemp -d "${TMPDIR:-/tmp}/scrkit-demo.XXXXXX")
trap 'leave' EXIT
cd "$work"
up='' # are the pretend nodes running?

bold='' plain=''
[ -t 1 ] && bold=$'\e[1m' plain=$'\e[0m'

say() {
	printf '\n%s%s%s\n' "$bold" "$*" "$plain"
}

leave() {
	[ -z "$up" ] || "$bed" down
	rm -rf "$work"
}

# run STATUS COMMAND...: show a command as typed, and its output.  It must end
# with STATUS.
run() {
	local want=$1 status=0

	shift
	printf '%s%s$ %s%s\n' "$bold" "$up" "$*" "$plain"
	if [ -n "$up" ]; then
		"$bed" exec login env -C /pfs/run7 "${batch[@]}" "$@" 2>&1 ||
			status=$?
	else
		"$@" 2>&1 || status=$?
	fi
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
byte, with its mode and times."

# --- The end of a batch script ---

# Make the nodes of a job with the same checkpoint: its caches are in memory
# below /dev/shm, and run7 is on the shared /pfs.
nodes_up() {
	local k

	export BED_DIR=$work/bed BED_TIE=$$ BED_LIFE=300 BED_SHARE=$tree
	export BED_PATH=$tree/bin
	"$bed" up 4
	up=login
	rm -rf run7
	gen_dataset "${job[@]}" --layout cache --recorded-prefix /pfs/run7
	cp -a run7 "$BED_DIR/pfs/"
	for k in 1 2 3 4; do
		mkdir -p nodes/all/root/scr.1000
		mv "nodes/node$((k - 1))"/c*/genuser/scr.1000/* \
			nodes/all/root/scr.1000
		tar -C nodes/all -cf - . |
			"$bed" exec "node$k" tar -C /dev/shm -xf - \
				--no-overwrite-dir
		rm -rf nodes/all
	done
}
batch=(SCR_JOB_ID=1000 "SCR_NODELIST=node[1-4]" LC_ALL=C.UTF-8)

if ! reason=$("$bed" check); then
	say "The tour ends with a job's last minute on four pretend nodes, but not here:
$reason.  Next: README.md, man/scr_postrun.1."
	exit 0
fi

say "8. All of that, and the copying, is one command at the end of a batch script.
   Here are four pretend nodes with real ssh: the same checkpoint is in their
   memory, and nothing of it on the prefix, /pfs/run7.  A resource manager
   would tell which job this is; we do:"
nodes_up
printf "%slogin$ export SCR_JOB_ID=1000 SCR_NODELIST='node[1-4]'%s\n" \
	"$bold" "$plain"
run 0 ssh node3 ls -C /dev/shm/root/scr.1000/scr.dataset.1

say "9. node3 dies without a word.  What can be saved?  (-t 2: a node that does not
   let us in within 2 seconds is dead.)"
"$bed" kill node3
run 0 scr_postrun -t 2 --plan

say "10. Save it: the others copy what they have, at the same time, with
   checksums; ranks 4 and 5 are rebuilt from that; the index learns of it."
run 0 scr_postrun -t 2
run 0 scr_index
run 0 ls -C ckpt.1

say "11. Few large files suit a parallel file system better than many small ones:
   pack the checkpoint into containers, and read them again to verify them:"
run 0 scr_container pack 1
run 0 scr_container list 1
run 0 scr_container verify 1

say "12. Take the files out again, as the next job would:"
run 0 scr_container unpack 1
rm -rf run7
cp -a "$BED_DIR/pfs/run7" .
gen_dataset "${job[@]}" --recorded-prefix /pfs/run7 --check
say "Once more compared with what the job wrote: the same, byte for byte.  Next:
README.md, man/scr_postrun.1, and examples/ for batch scripts."
