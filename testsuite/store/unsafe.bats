#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What others, or accidents, have put into a store leads nowhere: programs under the
# preload write the files that they mean, tending ends, and no other file changes.

load helper

# remade [COUNT]: a new store, whose files of the pool are the slots from 0 on.
remade() {
	rm -rf "$STORE"
	beside "$MEMORY"
	warm "${1:-1}" $((4 << 20))
}

# victim: a file and a directory of the same file system that nobody may touch.
victim() {
	rm -rf "$MEMORY/victim"
	mkdir "$MEMORY/victim"
	head -c 3000000 /dev/zero | tr '\0' v >"$MEMORY/victim/file"
	chmod 600 "$MEMORY/victim/file"
	touch -d @1000000000 "$MEMORY/victim/file"
	VICTIM=$(stat -c '%a %s %U %Y %n' "$MEMORY/victim/file")$(cksum <"$MEMORY/victim/file")
}

# untouched: it is as it was, but for the number of its links.
untouched() {
	[[ $(stat -c '%a %s %U %Y %n' "$MEMORY/victim/file")$(cksum <"$MEMORY/victim/file") == \
		"$VICTIM" ]] || failed "the victim has changed"
}

# works: programs write, replace, delete files in the store, and it is tended; with all
# of it right.
works() {
	local name

	head -c 3000077 /dev/urandom >"$BATS_TEST_TMPDIR/bytes"
	(cd "$STORE" && umask 022 && preloaded timeout 20 bash -c "
		dd if='$BATS_TEST_TMPDIR/bytes' of=one bs=1M status=none &&
		dd if='$BATS_TEST_TMPDIR/bytes' of=two bs=1M status=none &&
		mv one two && cp two three && rm three &&
		dd if='$BATS_TEST_TMPDIR/bytes' of=one bs=1M status=none") || failed "$1: programs"
	# shellcheck disable=SC2153 # another directory
	timeout 20 "$STORES/tool" tend "$STORE" >/dev/null 2>&1 ||
		(($? == 1)) || failed "$1: tend"
	for name in one two; do
		cmp "$BATS_TEST_TMPDIR/bytes" "$STORE/$name" || failed "$1: $name"
		[[ $(stat -c '%F %a %h %u' "$STORE/$name") == "regular file 644 1 $EUID" ]] ||
			failed "$1: $name: $(stat "$STORE/$name")"
	done
	untouched
}

# crafted DIR NAME KIND: such a file there, if it can be made here.
crafted() {
	local at=$STORE/.scrkit-store/$1/$2 to=$MEMORY/victim

	rm -rf "$at"
	case $3 in
	link) ln -s "$to/file" "$at" ;;
	up) ln -s ../../../victim/file "$at" ;;
	directory-link) ln -s "$to" "$at" ;;
	dangling) ln -s missing "$at" ;;
	device) ln -s /dev/full "$at" ;;
	hard) ln "$to/file" "$at" ;;
	fifo) mkfifo "$at" ;;
	directory) mkdir -p "$at/below/it" && ln -s "$to" "$at/below/link" ;;
	socket) python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$at" 2>/dev/null ;;
	other) head -c 4M /dev/zero >"$at" && chown 1234 "$at" 2>/dev/null ;;
	size) head -c 4M /dev/zero | tr '\0' x >"$at" ;;
	sparse) truncate -s 4M "$at" ;;
	empty) : >"$at" ;;
	closed) fallocate -n -l 4M "$at" && chmod 0 "$at" ;;
	setuid) fallocate -n -l 4M "$at" && chmod 6777 "$at" ;;
	locked) fallocate -n -l 4M "$at" && chattr +a "$at" 2>/dev/null ;;
	xattr) fallocate -n -l 4M "$at" && setfattr -n user.x -v y "$at" 2>/dev/null ;;
	none) ;;
	esac
}

KINDS="link up directory-link dangling device hard fifo directory socket other size
	sparse empty closed setuid locked xattr none"

@test "crafted files in the pool, and among the deleted ones" {
	untraced
	local kind name

	victim
	for kind in $KINDS; do
		remade 3
		crafted pool 0 "$kind" || continue
		crafted pool 1 "$kind"
		crafted pool 1023 "$kind"
		works "pool: $kind"
		remade
		for name in x 0 .x .1 "$(printf 'a\nb')" ..x -rf; do
			crafted dirty "$name" "$kind"
		done
		crafted pool x "$kind"
		crafted pool 99999999999999999999 "$kind"
		crafted pool 01 "$kind"
		crafted pool 1024 "$kind"
		works "dirty: $kind"
		chattr -a "$STORE"/.scrkit-store/*/* 2>/dev/null || true
	done
}

@test "a state or a directory that is another's, or not one" {
	untraced
	local at what

	victim
	while read -r -u 8 what; do
		remade
		at=$STORE/.scrkit-store
		eval "$what" 2>/dev/null || continue
		complains 1 "" tool status "$STORE"
		works "$what"
		[[ ! -e $TAKEN || $(taken) == "0 0 0 0" ]] || failed "$what: taken"
	done 8<<-'END'
		mv $at/state $MEMORY/state && ln -s $MEMORY/state $at/state
		ln $at/state $MEMORY/state2
		rm $at/state && mkfifo $at/state
		rm $at/state && mkdir $at/state
		rm $at/state && ln -s $MEMORY/victim/file $at/state
		rm $at/state && ln $MEMORY/victim/file $at/state
		rm $at/state
		chmod 620 $at/state
		chmod 644 $at/state
		: >$at/state
		truncate -s 100 $at/state
		truncate -s -1 $at/state
		truncate -s +1 $at/state
		tool set $STORE magic 0
		tool set $STORE slots 3
		tool set $STORE spill 0x4141414141414141
		tool set $STORE job 0x4141414141414141
		chown 1234 $at/state
		chown 1234 $at
		chown 1234 $STORE
		chmod 777 $STORE
		chmod 770 $at
		chmod 722 $at/pool
		mv $at $MEMORY/meta && ln -s $MEMORY/meta $at && rm -rf $MEMORY/meta
		rmdir $at/dirty && ln -s $MEMORY/victim $at/dirty
		rm -r $at/pool && ln -s $MEMORY/victim $at/pool
		rm -r $at/pool && : >$at/pool
		rm -r $at && : >$at
	END
}

@test "a damaged state: any field has any value" {
	untraced
	local field value each=()

	victim
	for field in $(remade && tool set "$STORE"); do
		# Of text, and of these: above.
		[[ $field =~ ^(magic|slots|spill|job)$ ]] ||
			for value in 0 1 2 0x7fffffff 0xfffffffffffff000 \
				0xffffffffffffffff 0x8000000000000006; do
				each+=("$field $value")
			done
	done
	pick 3 "${each[@]}"
	for each in "${picked[@]}"; do
		remade
		for value in 0 1; do
			# shellcheck disable=SC2086 # two words
			tool set "$STORE" $each "$value"
		done
		works "$each"
	done
}

@test "a store of another user: neither he nor we use each other's" {
	become 65534
	local own

	# Where he may go, too.
	rm -rf "${MEMORY:?}"/*
	MEMORY=$(mktemp -d /dev/shm/scrkit-store.XXXXXX)
	chmod 755 "$MEMORY"
	beside "$MEMORY"
	own=$STORE
	victim
	cp "$PRELOAD" "$STORES/tool" "$MEMORY"
	PRELOAD=$MEMORY/libscr_preload.so
	warm
	mkdir -m 1777 "$STORE/free"
	: >"$TAKEN" && chmod 666 "$TAKEN"
	preloaded "${as[@]}" dd if=/dev/zero of="$STORE/free/his" bs=1M count=3 status=none
	[[ $(stat -c '%u %s' "$STORE/free/his") == "65534 3145728" ]]
	[[ $(taken) == "0 0 0 0" ]]
	try "${as[@]}" "$MEMORY/tool" status "$STORE"
	assert_status 1
	# His store, to which root goes.
	mkdir -m 755 "$MEMORY/theirs" && chown 65534 "$MEMORY/theirs"
	"${as[@]}" "$MEMORY/tool" make "$MEMORY/theirs" 100000000
	"${as[@]}" "$MEMORY/tool" fill "$MEMORY/theirs" 4000000 3
	STORE=$MEMORY/theirs
	preloaded dd if=/dev/zero of="$STORE/ours" bs=1M count=3 status=none
	[[ $(taken) == "0 0 0 0" ]]
	: >"$TAKEN" && chmod 666 "$TAKEN"
	preloaded "${as[@]}" dd if=/dev/zero of="$STORE/his" bs=1M count=3 status=none
	was_fast 1 3000000
	complains 1 "belongs to user 65534" tool status "$STORE"
	# Programs that change the user keep their hands off.
	STORE=$own
	preloaded python3 -c '
import os, sys
os.chdir(sys.argv[1])
os.seteuid(65534)
open("free/a", "wb").write(bytes(3000000))
os.seteuid(0)
open("free/b", "wb").write(bytes(3000000))' "$STORE"
	[[ $(stat -c %u "$STORE/free/a" "$STORE/free/b") == $'65534\n0' ]]
	[[ $(taken) == "1 "* ]]
	untouched
}
