# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# plant.bash - a dataset and its caches, and what a user can put in the place of
# a file; for hostile.bats and planted.bats.  Loaded after helper.bash.

setup() {
	untraced
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

# plant KIND PATH: put it in the place of a file.
plant() {
	[[ $1 == sparse ]] || rm -rf "$2" "$2.to"
	mkdir -p "${2%/*}"
	case $1 in
	link) ln -s "$PWD/canary" "$2" ;;
	dangling) ln -s "$PWD/made" "$2" ;;
	loop) ln -s "${2##*/}" "$2" ;;
	fifo) mkfifo "$2" ;;
	socket)
		[[ -S socket ]] || python3 -c 'import socket
socket.socket(socket.AF_UNIX).bind("socket")'
		cp -a socket "$2"
		;;
	dir) mkdir "$2" ;;
	sink) mknod -m 666 "$2" c 1 3 ;; # as /dev/null
	device) mknod "$2" c 1 5 ;;	 # /dev/zero has no end
	hardlink) ln canary "$2" ;;
	sparse)
		# What was there, and a terabyte behind it.
		[[ ! -d $2 ]] || rm -rf "$2"
		truncate -s 1T "$2"
		;;
	link_*)
		plant "${1#link_}" "$2.to"
		ln -s "$PWD/$2.to" "$2"
		;;
	esac
}
