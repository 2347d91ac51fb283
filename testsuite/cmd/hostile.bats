#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2119,SC2120 # bats sets them; arguments are optional
# Outputs that are no files, inputs that never come, and whatever a user can put
# in the places of files and directories.

load helper

: "${GEN:=$BIN/../gen}"

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	umask 022
	export SCR_USER_NAME=genuser
}

# make OPTION...: make dataset 1 on prefix p, 8 ranks on 4 nodes, and their
# caches, of which local is that of one node; put it into the index.
make() {
	"$GEN/gen_dataset" -q -p p --nodes-dir nodes -n 8 -m 4 -f 2 \
		-s 9000,700 --recorded-prefix "$PWD/p" --layout both \
		--lose "" "$@"
	ln -sfn nodes/node0 local
	scr_index -q -p p --build 1
}

# Kinds of what is no regular file.  Only root makes a device.
kinds() {
	echo fifo socket dir link_fifo
	((EUID != 0)) || echo device link_device
}

# plant KIND PATH [CANARY]: put it at the path.
plant() {
	rm -rf "$2" "$2.to"
	mkdir -p "${2%/*}"
	case $1 in
	fifo) mkfifo "$2" ;;
	socket) python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$2" ;;
	dir) mkdir "$2" ;;
	device) mknod -m 666 "$2" c 1 3 ;; # as /dev/null
	link_*)
		plant "${1#link_}" "$2.to"
		ln -s "$PWD/$2.to" "$2"
		;;
	esac
}

# Type, mode, owner, device, inode and time of status change.
identity() {
	stat -c '%n %F %a %u %g %t:%T %i %Z' "$@"
}

# --- Outputs -------------------------------------------------------------------

@test "output: a device, a pipe or a directory is refused and stays as it is" {
	local kind line
	local -a cmd

	make
	cp -a p packed
	scr_container -q -p packed pack --size 20000 1
	for kind in $(kinds); do
		while IFS= read -r line; do
			plant "$kind" out/file
			identity out out/* >before
			read -ra cmd <<<"$line"
			try timeout 20 "${cmd[@]}"
			assert_status 2
			assert_stderr_one_line out/file "not a regular file" \
				"standard output"
			diff before <(identity out out/*) ||
				failed "$kind: $line"
		done <<-'END'
			scr_archive -p p export -o out/file 1
			scr_container -p packed export -o out/file 1
			scr_inspect -p packed --svg out/file 1
		END
	done
	# A file, or a link to one, is replaced.
	rm -rf out/*
	echo old >out/file
	scr_archive -q -p p export -o out/file 1
	ln -s file out/link
	scr_archive -q -p p export -o out/link 1
	cmp out/file out/link
}

@test "output: what is no file is not replaced by --force either" {
	local kind line
	local -a cmd

	make
	scr_archive -q -p p export -o ar 1
	cp -a p packed
	scr_container -q -p packed pack --size 20000 1
	for kind in $(kinds); do
		while IFS= read -r line; do
			rm -rf q
			cp -a packed q
			[[ $line != *import* ]] || rm -rf q/.scr
			plant "$kind" q/ckpt.1/rank_1_0.ckpt
			identity q/ckpt.1/* >before
			read -ra cmd <<<"$line"
			try timeout 20 "${cmd[@]}"
			assert_status 1
			assert_stderr_one_line rank_1_0.ckpt
			diff before <(identity q/ckpt.1/*) ||
				failed "$kind: $line"
		done <<-'END'
			scr_container -p q unpack --force 1
			scr_container -p packed extract --force -C q 1
			scr_archive -p q import --force ar
		END
	done
}
