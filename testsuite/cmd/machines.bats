#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2015 # for sh
# Small machines and odd accounts: no threads, few descriptors, a user without a
# name, no HOME, no /dev/shm, nothing that may be run in /tmp.

load helper

setup() {
	# Other users may not reach the directory of the test.
	HERE=$(mktemp -d /var/tmp/scrkit-machines.XXXXXX)
	chmod 755 "$HERE"
	in_no_job
	cd "$HERE" || return 1
	export SCR_USER_NAME=genuser
	mkdir saved
	(cd saved && generate 1 --layout prefix -t XOR -m 4 &&
		generate 2 --layout cache && scr_index -q -p p --build 1 &&
		ln -s nodes/node0 local)
	# Another user works in it.
	chmod -R a+rwX saved
}

teardown() {
	rm -rf "${HERE:?}"
}

generate() {
	gen -p p -n 4 -m 1 --nodes-dir nodes -s 5000 --dir "ckpt.$1" -i "$1" \
		--name "ckpt.$1" --seed "$1" --lose "" -t SINGLE \
		--recorded-prefix "$HERE/tried/p" "${@:2}"
	gen -p "right.$1" -n 4 -m 1 -s 5000 --dir "ckpt.$1" -i "$1" \
		--name "ckpt.$1" --seed "$1" -t SINGLE
}

# all_in PREFIX...: every command, with this before it, works and gives the right
# data; scr_postrun with $post_as before it, if that is set.
all_in() {
	local post=(scr_postrun -p p -r local -w "$(uname -n)" -J 1000
		--cachedir local/cache --cntldir local/cntl)

	rm -rf tried && cp -a saved tried && cd tried || return
	chmod a+rwx .
	works "$@" scr_index -p p
	works "$@" scr_index -p p --verify --checksums -j 8
	works "$@" scr_inspect p
	works "$@" scr_prerun -p p
	works "$@" scr_halt -c 3 p
	[[ -v post_as ]] || local post_as=("$@")
	works "${post_as[@]}" "${post[@]}"
	works "$@" scr_index -p p --build 1
	rm p/ckpt.1/rank_2.ckpt
	works "$@" scr_rebuild -p p -j 8 1
	works "$@" scr_container -p p pack -j 8 2
	works "$@" scr_container -p p verify 2
	works "$@" scr_container -p p unpack -j 8 2
	works "$@" scr_container -p p export -o out.tar 2
	works "$@" scr_index -p p --delete 2
	works "$@" scr_container -p p import out.tar
	diff -r right.1/ckpt.1 p/ckpt.1
	diff -r right.2/ckpt.2 p/ckpt.2
	cd ..
}

works() {
	try "$@"
	((status == 0)) || failed "$*"
}

another_user() {
	become 4711
	"${as[@]}" test -w saved/p || skip "another user cannot get here"
	! getent passwd 4711 || skip "user 4711 has a name"
}

@test "as here" { all_in env; }

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
	rm -rf tried && cp -a saved tried && cd tried
	rm p/ckpt.1/rank_2.ckpt
	try sh -c 'ulimit -n 16; exec scr_rebuild -p p 1'
	if ((status != 0)); then
		assert_status 1
		assert_stderr_has "Too many open files: raise the limit (ulimit -n)"
		assert_output_lacks lost
	fi
	scr_rebuild -q -p p 1
	diff -r right.1/ckpt.1 p/ckpt.1
}

@test "no /dev/shm, and nothing in /tmp may be run" {
	own_mounts
	[[ $(realpath "$BIN") != /tmp/* ]] || skip "the commands are in /tmp"
	all_in "${own[@]}" sh -c 'mount -t tmpfs -o ro,size=4k none /dev/shm &&
		mount --bind /tmp /tmp && mount -o remount,bind,noexec /tmp &&
		exec "$@"' -
}
