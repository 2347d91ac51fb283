#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Every command on a prefix of another file system, as the profiles of
# testsuite/shim/profile.c imitate them: the status, the data, and what is said.
# Prints a table.

load helper

PROFILES=${SHIM%/*}/profile.so

setup() {
	[[ -e $PROFILES ]] || skip "no shim"
	in_no_job
	export SCR_USER_NAME=genuser
	ln -s nodes/node0 local
	post=(scr_postrun -p pfs -r local -w "$(uname -n)" -J 1000 --cachedir
		local/cache --cntldir local/cntl)
	mkdir saved
	(cd saved && generate 1 --layout prefix -t XOR -m 4 &&
		generate 2 --layout cache && scr_index -q -p pfs --build 1)
	said=$PWD/said
}

# generate ID OPTION...: a dataset of four ranks, and its files in right.ID.
generate() {
	gen -p pfs -n 4 -m 1 --nodes-dir nodes -s 5000 --dir "ckpt.$1/sub" \
		-i "$1" --name "ckpt.$1" --seed "$1" --lose "" -t SINGLE \
		--recorded-prefix "$BATS_TEST_TMPDIR/pfs" "${@:2}"
	gen -p "right.$1" -n 4 -m 1 -s 5000 --dir "ckpt.$1/sub" -i "$1" \
		--name "ckpt.$1" --seed "$1" -t SINGLE
}

# start_over: dataset 1 on the prefix and in the index, 2 in the caches.
start_over() {
	chmod -R u+rwX pfs nodes 2>/dev/null || true
	rm -rf pfs nodes right.* out.tar
	cp -a saved/. .
	: >"$said"
}

# on NAME COMMAND...: run it on such a file system, like `try`.
on() {
	try env LD_PRELOAD="$PROFILES" PROFILE="$1" PROFILE_PATH="$PWD/pfs" \
		PROFILE_FILE="$said" "${@:2}"
}

# row PROFILE COMMAND: a line of the table.
row() {
	printf '# %-9s %-20s %s  %3d calls  %s\n' "$1" "$2" "$status" \
		"$(wc -l <"$said")" "$(head -n 1 <<<"$stderr" | cut -c 1-100)" >&3
	: >"$said"
}

has() { # ID...: the data files of these datasets are right.
	local id

	for id; do
		diff -r "right.$id/ckpt.$id" "pfs/ckpt.$id" ||
			failed "dataset $id is not right"
	done
}

# no_leftovers: no temporary or hidden file, no lock.
no_leftovers() {
	local left

	left=$(find pfs \( -name '.nfs*' -o -name '*.tmp' -o \
		-name '.scrkit.lock' -o -name '.scrkit.shares' \) -print)
	[[ -z $left ]] || failed "left: $left"
}

# works PROFILE NAME COMMAND...: it succeeds, and says nothing of a loss.
works() {
	on "$1" "${@:3}"
	row "$1" "$2"
	((status == 0)) || failed "$1: $2"
	[[ "$output$stderr" != *[Ll][Oo][Ss][Tt]* ]] || failed "$1: $2"
}

# all_work PROFILE: everything that an operator does with a prefix works there.
all_work() {
	start_over
	works "$1" list scr_index -p pfs
	works "$1" verify scr_index -p pfs --verify --checksums
	works "$1" inspect scr_inspect pfs
	works "$1" prerun scr_prerun -p pfs
	works "$1" halt scr_halt -c 3 pfs
	[[ -s pfs/.scr/halt.scr ]]
	works "$1" "halt --list" scr_halt -l pfs
	works "$1" "halt --remove" scr_halt -r pfs
	[[ ! -e pfs/.scr/halt.scr ]]
	works "$1" postrun "${post[@]}"
	has 1 2
	[[ $1 != acl-only || $stderr == *"does not take modes and times"* ]]
	works "$1" "postrun again" "${post[@]}"
	rm pfs/.scr/index.scr
	works "$1" build scr_index -p pfs --build 1
	works "$1" "build 2" scr_index -p pfs --build 2
	works "$1" current scr_index -p pfs --current ckpt.1
	rm pfs/ckpt.1/sub/rank_2.ckpt
	works "$1" rebuild scr_rebuild -p pfs 1
	has 1 2
	works "$1" pack scr_container -p pfs pack 2
	works "$1" "verify packed" scr_container -p pfs verify 2
	works "$1" repack scr_container -p pfs repack 2
	works "$1" unpack scr_container -p pfs unpack 2
	has 1 2
	works "$1" export scr_container -p pfs export -o out.tar 2
	works "$1" delete scr_index -p pfs --delete 2
	[[ ! -e pfs/ckpt.2 && ! -e pfs/.scr/scr.dataset.2 ]] ||
		failed "$1: left: $(find pfs/ckpt.2 pfs/.scr/scr.dataset.2)"
	works "$1" import scr_container -p pfs import out.tar
	has 1 2
	works "$1" prune scr_index -p pfs --prune --keep 1
	works "$1" "inspect again" scr_inspect pfs
	no_leftovers
}

@test "nothing is changed: as here" {
	all_work none
	[[ ! -s $said ]]
}

@test "no locks (Lustre without flock)" { all_work noflock; }
@test "modes and times cannot be set (access lists, CIFS)" { all_work acl-only; }
@test "directories cannot be synced, said in another way (FUSE)" { all_work fuse; }
@test "short reads and writes" { all_work short-io; }
@test "NFS: open files that are removed, no sync of directories, whole seconds" {
	all_work nfs
}

# fails_clean PROFILE NAME COMMAND...: it fails, names what it could not write,
# says the reason, and calls nothing lost.
fails_clean() {
	on "$1" "${@:3}"
	row "$1" "$2"
	((status == 1)) || failed "$1: $2"
	assert_stderr_has "$reason"
	[[ "$output$stderr" != *LOST* && "$output$stderr" != *" lost"* ]] ||
		failed "$1: $2"
}

all_fail() {
	start_over
	fails_clean "$1" postrun "${post[@]}"
	has 1
	ends 0 "${post[@]}"
	has 1 2
	rm pfs/.scr/index.scr
	fails_clean "$1" build scr_index -p pfs --build 1
	scr_index -q -p pfs --build 1
	scr_index -q -p pfs --build 2
	rm pfs/ckpt.1/sub/rank_2.ckpt
	fails_clean "$1" rebuild scr_rebuild -p pfs 1
	scr_rebuild -q -p pfs 1
	has 1 2
	fails_clean "$1" pack scr_container -p pfs pack 2
	has 1 2
	scr_container -q -p pfs pack 2
	fails_clean "$1" unpack scr_container -p pfs unpack 2
	scr_container -q -p pfs unpack 2
	has 1 2
	fails_clean "$1" halt scr_halt -c 3 pfs
	[[ ! -e pfs/.scr/halt.scr ]] || failed "left: an unfinished halt.scr"
	scr_index -p pfs --verify
	no_leftovers
}

@test "each name has a stale handle at first: the second attempt works" {
	all_work stale
}

@test "over quota, noticed when a file is written back" {
	reason="quota" all_fail quota
}
@test "over quota, noticed when a file is closed" {
	reason="quota" all_fail quota-close
}
@test "a disk fails when a file is written back" {
	reason="Input/output error" all_fail eio
}
