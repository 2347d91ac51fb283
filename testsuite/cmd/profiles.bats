#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2086 # for sh; words
# Every command on a prefix of another file system, as the profiles of
# testsuite/shim/profile.c imitate them, on small machines and under odd accounts (no
# threads, few descriptors, a user without a name, no HOME, no /dev/shm, nothing that may
# be run in /tmp): the status, the data, and what is said.  Prints a table.

load helper

PROFILES=${SHIM%/*}/profile.so

setup() {
	[[ -e $PROFILES ]] || skip "no shim"
	# Other users may not reach the directory of the test.
	HERE=$(mktemp -d /var/tmp/scrkit-profiles.XXXXXX)
	chmod 755 "$HERE"
	in_no_job
	cd "$HERE" || return 1
	export SCR_USER_NAME=genuser
	ln -s nodes/node0 local
	post=(scr_postrun -p pfs -r local -w "$(uname -n)" -J 1000 --cachedir
		local/cache --cntldir local/cntl)
	mkdir saved
	(cd saved && generate 1 --layout prefix -t XOR -m 4 &&
		generate 2 --layout cache && scr_index -q -p pfs --build 1)
	said=$PWD/said
}

teardown() { rm -rf "${HERE:?}"; }

# generate ID OPTION...: a dataset of four ranks, and its files in right.ID.
generate() {
	gen -p pfs -n 4 -m 1 --nodes-dir nodes -s 5000 --dir "ckpt.$1/sub" \
		-i "$1" --name "ckpt.$1" --seed "$1" --lose "" -t SINGLE \
		--recorded-prefix "$HERE/pfs" "${@:2}"
	gen -p "right.$1" -n 4 -m 1 -s 5000 --dir "ckpt.$1/sub" -i "$1" \
		--name "ckpt.$1" --seed "$1" -t SINGLE
}

# start_over: dataset 1 on the prefix and in the index, 2 in the caches.
start_over() {
	chmod -R u+rwX pfs nodes 2>/dev/null || true
	rm -rf pfs nodes right.* out.tar
	cp -a saved/. .
	: >"$said"
	# Another user works in it.
	[[ -z ${other-} ]] || chmod -R a+rwX .
}

# on NAME COMMAND...: run it on such a file system, like `try`; with `around` before it,
# if NAME is none of the profiles.
on() {
	around=("${other[@]}")
	[[ -n ${other-} ]] || around=(env LD_PRELOAD="$PROFILES" PROFILE="$1"
		PROFILE_PATH="$PWD/pfs" PROFILE_FILE="$said")
	[[ $2 != scr_postrun || -z ${post_as-} ]] || around=("${post_as[@]}")
	try "${around[@]}" "${@:2}"
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
	local name command facts

	start_over
	while IFS='|' read -r -u 7 name command facts; do
		if [[ $command == post ]]; then
			works "$1" "$name" "${post[@]}"
		else
			works "$1" "$name" $command
		fi
		[[ $1 != acl-only || $name != postrun ||
			$stderr == *"does not take modes and times"* ]]
		eval "$facts"
	done 7<<-'END'
		list|scr_index -p pfs
		verify|scr_index -p pfs --verify --checksums -j 8
		inspect|scr_inspect pfs
		prerun|scr_prerun -p pfs
		halt|scr_halt -c 3 pfs|[[ -s pfs/.scr/halt.scr ]]
		halt --list|scr_halt -l pfs
		halt --remove|scr_halt -r pfs|[[ ! -e pfs/.scr/halt.scr ]]
		postrun|post|has 1 2
		postrun again|post|rm pfs/.scr/index.scr
		build|scr_index -p pfs --build 1
		build 2|scr_index -p pfs --build 2
		current|scr_index -p pfs --current ckpt.1|rm pfs/ckpt.1/sub/rank_2.ckpt
		rebuild|scr_rebuild -p pfs -j 8 1|has 1 2
		pack|scr_container -p pfs pack -j 8 2
		verify packed|scr_container -p pfs verify 2
		repack|scr_container -p pfs repack 2
		unpack|scr_container -p pfs unpack -j 8 2|has 1 2
		export|scr_container -p pfs export -o out.tar 2
		delete|scr_index -p pfs --delete 2|[[ ! -e pfs/ckpt.2 && ! -e pfs/.scr/scr.dataset.2 ]]
		import|scr_container -p pfs import out.tar|has 1 2
		prune|scr_index -p pfs --prune --keep 1
		inspect again|scr_inspect pfs
	END
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

# --- Small machines and odd accounts ---

# all_in PREFIX...: the same with this before each command; scr_postrun with $post_as.
all_in() {
	local other=("$@")

	all_work machine
}

another_user() {
	become 4711
	chmod a+rwx .
	"${as[@]}" test -w . || skip "another user cannot get here"
	! getent passwd 4711 || skip "user 4711 has a name"
}

@test "a user without a name, and no HOME" {
	another_user
	all_in env -u HOME -u USER -u LOGNAME "${as[@]}"
}

@test "no thread can be started" {
	another_user
	# scr_postrun needs processes in any case.
	post_as=("${as[@]}")
	all_in "${as[@]}" prlimit --nproc=1
}

@test "32 descriptors suffice for four ranks; what 16 do not, is said" {
	all_in sh -c 'ulimit -n 32; exec "$@"' -
	start_over
	rm pfs/ckpt.1/sub/rank_2.ckpt
	try sh -c 'ulimit -n 16; exec scr_rebuild -p pfs 1'
	if ((status != 0)); then
		assert_status 1
		assert_stderr_has "Too many open files: raise the limit (ulimit -n)"
		assert_output_lacks lost
	fi
	scr_rebuild -q -p pfs 1
	has 1
}

@test "no /dev/shm, and nothing in /tmp may be run" {
	own_mounts
	[[ $(realpath "$BIN") != /tmp/* ]] || skip "the commands are in /tmp"
	all_in "${own[@]}" sh -c 'mount -t tmpfs -o ro,size=4k none /dev/shm &&
		mount --bind /tmp /tmp && mount -o remount,bind,noexec /tmp &&
		exec "$@"' -
}
