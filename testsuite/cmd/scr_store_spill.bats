#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_store: files of a store go to a disk; drain; extents.
# shellcheck disable=SC2016 # scripts for until_so, and for other shells

load helper

# $S is a store in memory, ssd the disk.
setup() {
	in_no_job
	unset SCR_STORE LD_PRELOAD
	[[ $(stat -f -c %T /dev/shm) == tmpfs ]] || skip "no tmpfs at /dev/shm"
	H=$(mktemp -d /dev/shm/scrkit-store.XXXXXX)
	S=$H/s
}

teardown() { rm -rf "$H"; }

# store OPTION...: an empty store, whose files may have 4 MiB; the last one again, if
# it is one with these options: to make it takes a second.
store() {
	if [[ $* != "${made-none}" ]]; then
		rm -rf "$S" "$H/new" ssd
		scr_store run --store "$S" --size 8M --pool 4M \
			--spill "$PWD/ssd" "$@" true
		rm -rf "$S/.scrkit-store/spill"
		mv "$S" "$H/new"
		made=$*
	fi
	rm -rf "$S" ssd
	cp -a "$H/new" "$S"
	mkdir "$S/d"
}

# full OPTION...: a store with four files, two of which are too much; `sums` has
# what they hold.
full() {
	local n

	store "$@"
	for n in 1 2 3 4; do
		head -c $((2000000 + n)) /dev/urandom >"$S/d/f$n"
		touch -d "2020-01-0$n 01:02:03.123456789" "$S/d/f$n"
	done
	sums=$(cd "$S/d" && sha1sum f*)
}

# same WHERE: the directory has the files.
same() {
	diff <(cd "${1:-$S/d}" && sha1sum f*) - <<<"$sums" >&2 ||
		failed "${1-}: other files"
}

# moved FILE...: these are links into a directory of the store on the disk, which has
# nothing else; the other ones are files.
moved() {
	local f

	for f in "$S"/d/f*; do
		if [[ " $* " == *" ${f##*/} "* ]]; then
			[[ $(readlink "$f") == "$PWD"/ssd/*/"${f##*/}".* ]]
		else
			[[ ! -L $f ]]
		fi || failed "$*: $(ls -l "$S/d")"
	done
	[[ $(find ssd -type f | wc -l) == "$#" ]] || failed "$(find ssd)"
}

# until_so COMMAND...: within half a minute it succeeds.
until_so() {
	local n

	for ((n = 0; n < 300; n++)); do
		! ("$@") 2>/dev/null || return 0
		sleep 0.1
	done
	"$@"
}

# hold MODE FILE: a process has it open until `let`.
hold() {
	coproc HELD { exec python3 -c '
import sys
f = open(sys.argv[2], sys.argv[1])
print("open", flush=True)
sys.stdin.read()' "$@"; }
	read -r _ <&"${HELD[0]}"
}
let_go() {
	eval "exec ${HELD[1]}>&-"
	wait "$HELD_PID"
}

@test "the files changed longest ago are moved, until the others fit" {
	full
	chmod 640 "$S/d/f1"
	setfattr -n user.note -v words "$S/d/f1" 2>/dev/null || :
	had=$(stat -c '%s %a %u %g %y' "$S/d/f1"
		getfattr -d "$S/d/f1" 2>/dev/null | tail -n +2)
	calm scr_store gc "$S"
	moved f1 f2
	same
	[[ $had == "$(stat -L -c '%s %a %u %g %y' "$S/d/f1"
		getfattr -d "$S/d/f1" 2>/dev/null | tail -n +2)" ]]
	[[ $(stat -c %a ssd/* | uniq) == 700 ]]
	# Now there is room; the pages are in the pool.
	calm scr_store gc "$S"
	moved f1 f2
	[[ $(scr_store status --json "$S" | jq '.stores[0].clean_bytes') -gt 2000000 ]]
	# Our commands, and others, follow the link.
	calm scr_store drain -q "$S" out
	same out/d
	cat "$S/d/f1" >copy
	cmp copy out/d/f1
}

@test "what cannot be moved stays: open, small, with holes or two names, of others" {
	full
	rm "$S"/d/f[34]
	sums=$(cd "$S/d" && sha1sum f*)
	mkdir -m 777 "$S/all"
	chmod 777 "$S/all"
	head -c 2M /dev/urandom >"$S/all/a"
	head -c 1000000 /dev/urandom >"$S/small"
	head -c 2M /dev/urandom >"$S/two"
	ln "$S/two" "$S/names"
	truncate -s 9M "$S/holes"
	[[ $(id -u) != 0 ]] || {
		head -c 2M /dev/urandom >"$S/other"
		chown 65534 "$S/other"
	}
	touch -d 2019-01-01 "$S"/{all/a,small,two,holes,other}
	before=$(find "$S" -maxdepth 1 -type f -printf '%f %i %s %y\n' | sort)
	hold rb "$S/d/f1"
	calm scr_store gc "$S"
	moved f2
	let_go
	[[ $before == "$(find "$S" -maxdepth 1 -type f -printf '%f %i %s %y\n' | sort)" ]]
	[[ ! -L $S/all/a ]]
	calm scr_store gc "$S"
	moved f1 f2
	same
}

@test "a reader and a writer who come while a file is copied" {
	# Two seconds for a file.
	for how in rb r+b; do
		full --spill-rate 1M
		scr_store gc "$S" &
		gc=$!
		until_so eval '[[ -n $(find ssd -name "f1.*" -size +1) ]]'
		hold $how "$S/d/f1"
		wait $gc
		same
		[[ $how == rb ]] && moved f1 || [[ ! -L $S/d/f1 ]]
		let_go
	done
	calm scr_store gc "$S"
	[[ -L $S/d/f1 ]]
	same
}

@test "a copy without a link is removed if asked, one whose link was moved is not" {
	full
	calm scr_store gc "$S"
	all=$(find ssd -type f | wc -l)
	mkdir "$S/e"
	mv "$S/d/f1" "$S/e/other"
	rm "$S/d/f2"
	: >"$(echo ssd/*)/left.1"
	python3 -c 'import sys, time; f = open(sys.argv[1], "w"); time.sleep(60)' \
		"$(echo ssd/*)/opened" 3>&- &
	sleep 6
	calm scr_store gc "$S"
	[[ $(find ssd -type f | wc -l) == "$((all + 2))" ]]
	until_so eval 'scr_store gc --unlinked "$S"; [[ $(find ssd -type f | wc -l) == 2 ]]'
	kill $!
	[[ -e $(find ssd -name opened) ]]
	[[ $(sha1sum <"$S/e/other") == "${sums%% *}"* ]]
	# Others' files are nobody's business.
	mkdir ssd/other
	: >ssd/other/file
	until_so eval 'scr_store gc --unlinked "$S"; [[ -z $(find ssd -name opened) ]]'
	[[ -e ssd/other/file && -e $S/e/other ]]
	scr_store rm "$S"
	[[ $(find ssd -mindepth 1) == ssd/other$'\n'ssd/other/file ]]
}

@test "a program that moves a link out, or copies it and deletes the first, loses nothing" {
	full
	calm scr_store gc "$S"
	calm scr_store run --store "$S" mv "$S/d/f1" out
	calm scr_store run --store "$S" \
		sh -c 'cp -a "$0/f2" "$0/copy" && rm "$0/f2"' "$S/d"
	calm scr_store gc "$S"
	mv "$S/d/copy" "$S/d/f2"
	cp -L out "$S/d/f1"
	same
}

@test "a file that is larger than the memory begins on the disk" {
	store
	head -c 9000001 /dev/urandom >"$H/data"
	calm scr_store run --store "$S" sh -c 'head -c 9000000 /dev/zero >"$0/big.1"
		rm "$0/big.1"
		head -c 9000001 "$1" >"$0/big.2"
		head -c 9000001 "$1" >"$0/big.3"
		cd "$0" && head -c 9000001 "$1" >d/big.4
		echo more >>d/big.4' "$S" "$H/data"
	for f in big.2 big.3 d/big.4; do
		[[ $(readlink "$S/$f") == "$PWD"/ssd/*/"${f##*/}".* ]]
		[[ ! -L $(readlink "$S/$f") ]]
		cmp -n 9000001 "$S/$f" "$H/data"
	done
	[[ $(stat -L -c %s "$S"/d/big.4) == 9000006 ]]
	# Not in a directory of others, where nobody would follow the link.
	mkdir -m 777 "$S/all"
	chmod 777 "$S/all"
	calm scr_store run --store "$S" sh -c 'head -c 9000001 "$1" >"$0/big.5"' \
		"$S/all" "$H/data"
	[[ -e $S/all/big.5 && ! -L $S/all/big.5 ]]
}

@test "killed before or after any call: the file or the link, with all data" {
	local n count kill

	full
	SHIM_COUNT_FILE=$PWD/count SHIM_START=ssd SHIM_ALL=1 LD_PRELOAD=$SHIM \
		scr_store gc "$S"
	moved f1 f2
	count=$(<count)
	((count > 30))
	pick 5 $(seq "$count")
	for n in "${picked[@]}"; do
		for kill in KILL_AT KILL_AFTER; do
			full
			! env SHIM_START=ssd SHIM_ALL=1 LD_PRELOAD="$SHIM" \
				"SHIM_$kill=$n" scr_store gc "$S" 2>/dev/null ||
				continue
			same || failed "$kill $n"
			calm scr_store gc "$S"
			same || failed "$kill $n, again"
			[[ -L $S/d/f1 && -L $S/d/f2 && ! -L $S/d/f3 ]]
		done
	done
	# What the last one left goes, too.
	until_so eval 'scr_store gc --unlinked "$S"; moved f1 f2'
}

@test "killed at any moment" {
	python3 - "$BIN/scr_store" "$S" "$PWD/ssd" <<-'END'
	import hashlib, os, random, signal, subprocess, sys, time
	program, store, ssd = sys.argv[1:]
	subprocess.run([program, "run", "--store", store, "--size", "32M", "--pool",
	                "16M", "--spill", ssd, "true"], check=True)
	random.seed(7)
	data = [random.randbytes(3 << 20) for _ in range(4)]
	moved = 0
	took = None # by one that is not killed
	for turn in range(60):
	    for f in os.listdir(store):
	        if not f.startswith("."):
	            os.unlink(store + "/" + f)
	    for i in range(8):
	        with open("%s/f%d" % (store, i), "wb") as f:
	            f.write(data[i % 4])
	    start = time.monotonic()
	    p = subprocess.Popen([program, "gc", store], stdout=subprocess.DEVNULL)
	    if took is not None:
	        time.sleep(random.random() * took)
	        p.send_signal(signal.SIGKILL)
	    p.wait()
	    took = took or time.monotonic() - start
	    for i in range(8):
	        path = "%s/f%d" % (store, i)
	        moved += os.path.islink(path)
	        with open(path, "rb") as f:
	            assert f.read() == data[i % 4], path
	assert moved > 0
	END
	until_so eval 'scr_store gc --unlinked "$S"
		[[ $(find ssd -type f | wc -l) == $(find "$S" -type l -name "f*" | wc -l) ]]'
	scr_store run --store "$S" sh -c 'rm "$0"/f*' "$S"
	calm scr_store gc "$S"
	[[ -z $(find "$S/.scrkit-store/dirty" -type f) ]]
}

@test "any call fails: an error, and all files are as before" {
	local n count errnos=(ENOSPC EIO)

	full
	SHIM_COUNT_FILE=$PWD/count SHIM_START=ssd LD_PRELOAD=$SHIM scr_store gc "$S"
	count=$(<count)
	pick 2 $(seq "$count")
	for n in "${picked[@]}"; do
		full
		try env SHIM_START=ssd LD_PRELOAD="$SHIM" SHIM_FAIL_AT="$n" \
			SHIM_ERRNO="${errnos[RANDOM % 2]}" scr_store gc "$S"
		same || failed "$n"
		((status == 0)) || assert_stderr_one_line ""
		[[ $status == 1 || -L $S/d/f1 || -L $S/d/f2 ]] ||
			failed "$n: nothing said or done"
		calm scr_store gc "$S"
		same
	done
}

@test "a full disk, a limit, a disk that is gone, or not the user's" {
	privately && return
	H=$PWD/h S=$PWD/h/s
	mkdir h
	mount -t tmpfs none h
	store
	mkdir ssd
	mount -t tmpfs -o size=3m none ssd
	refill() {
		local n
		for n in 1 2 3 4; do
			head -c $((2000000 + n)) /dev/urandom >"$S/d/f$n"
			touch -d 2020-01-0$n "$S/d/f$n"
		done
		sums=$(cd "$S/d" && sha1sum f*)
	}
	refill
	# Room for one; then for none.
	complains 1 "d/f2;No space left" scr_store gc "$S"
	moved f1
	complains 1 "d/f2;No space left" scr_store gc "$S"
	moved f1
	same
	# It vanishes, with a file on it.
	umount ssd
	complains 1 "$PWD/ssd/;spilled files: No such file" scr_store gc "$S"
	finds 1 "1 not copied" scr_store drain "$S" out
	assert_stderr_has "d/f1: cannot read: No such file"
	[[ $(ls out/d) == f2$'\n'f3$'\n'f4 ]]
	# A limit.
	rm -rf "$S"
	store --spill-size 3M
	refill
	complains 1 "limit of 3.0 MiB" scr_store gc "$S"
	moved f1
	# Not ours.
	chmod 750 ssd/*
	complains 1 "not the user's alone" scr_store gc "$S"
	moved f1
	same
}

@test "drain: what is there is compared, what is being written is named" {
	full
	ln -s f1 "$S/d/latest"
	mkdir "$S/empty"
	calm scr_store drain "$S" out
	[[ $output == *"5 files (9.5 MiB) copied, 0 (0 B) were there, 0 not copied" ]]
	same out/d
	diff <(cd "$S/d" && stat -c '%n %s %y %a' f*) \
		<(cd out/d && stat -c '%n %s %y %a' f*)
	cmp out/d/latest "$S/d/f1"
	shows "0 files (0 B) copied, 5 (9.5 MiB) were there" scr_store drain "$S" out
	# Damage of the copies: contents, length, time, type.
	printf x | dd of=out/d/f1 bs=1 seek=7 conv=notrunc status=none
	touch -r "$S/d/f1" out/d/f1
	truncate -s 5 out/d/f2
	touch out/d/f3
	rm out/d/f4
	ln -s f1 out/d/f4
	shows "4 files" scr_store drain "$S" out
	same out/d
	[[ ! -L out/d/f4 ]]
	# One that is open for writing, one that is read, links that lead nowhere.
	rm -rf out
	ln -s none "$S/dangling"
	ln -s d "$S/directory"
	hold r+b "$S/d/f2"
	finds 1 "4 files" scr_store drain "$S" out
	assert_stderr_has "d/f2: unfinished" "dangling: cannot read" \
		"directory: cannot read"
	let_go
	hold rb "$S/d/f2"
	finds 1 "1 files" scr_store drain "$S" out
	let_go
	same out/d
	finds 1 "$(python3 -c '
import sys, zlib
print("\"crc32\": \"0x%08x\"" % zlib.crc32(open(sys.argv[1], "rb").read()))' "$S/d/f1")" \
		scr_store drain --json "$S" out
	rows <<-END
		use|scr_store drain $S
		1|scr_store drain $PWD out|not a store;one
		2|scr_store drain $S $S/d|in the store;one
		1|scr_store drain $S /proc/x|/proc/x;one
	END
}

@test "drain: killed or stopped, it is resumed; a writer stops it for his file" {
	full
	rm -rf out
	scr_store drain --limit-rate 3M -j 1 "$S" out &
	drain=$!
	until_so eval '[[ -n $(find out -name ".scrkit-*") ]]'
	kill -9 $drain
	wait $drain && failed "it was not ended"
	scr_store drain --limit-rate 3M -j 1 "$S" out >told 2>&1 &
	drain=$!
	until_so eval '[[ -n $(find out -name "f*") ]]'
	kill -TERM $drain
	wait $drain && failed "it was not ended"
	grep -q stopped told
	[[ -z $(find out -name '.scrkit-*') ]]
	shows "were there" scr_store drain "$S" out
	same out/d
	[[ $output != *" 0 (0 B) were there"* ]]
	rm -rf out
	scr_store drain --limit-rate 1M -j 1 "$S" out >told 2>&1 &
	drain=$!
	until_so eval '[[ -n $(find out -name ".scrkit-*") ]]'
	for f in "$S"/d/f*; do
		echo more >>"$f"
	done
	kill -TERM $drain
	wait $drain && failed "it was not ended"
	grep -q "unfinished" told
	calm scr_store drain "$S" out
	sums=$(cd "$S/d" && sha1sum f*)
	same out/d
}

@test "extents: a second process reads through the list" {
	full
	calm scr_store gc "$S"
	truncate -s 9M "$S/d/f5"
	printf end | dd of="$S/d/f5" bs=1M seek=4 conv=notrunc status=none
	: >"$S/d/f6"
	shows "$(readlink "$S/d/f1")" scr_store extents "$S"/d/f1
	scr_store extents --json "$S"/d/f* >list
	python3 - list <<-'END'
	import json, sys
	files = json.load(open(sys.argv[1]))["files"]
	assert len(files) == 6
	for f in files:
	    data = bytearray(f["size"])
	    for e in f["extents"]:
	        with open(e["path"], "rb") as held:
	            held.seek(e["file_offset"])
	            part = held.read(e["length"])
	        assert len(part) == e["length"]
	        data[e["offset"]:e["offset"] + e["length"]] = part
	    assert data == open(f["path"], "rb").read(), f["path"]
	assert sum(e["length"] for e in files[4]["extents"]) < 9 << 20
	END
	rows <<-END
		1|scr_store extents $S/d/f1 $S/none|one;none: cannot open
		1|scr_store extents $S/d|one;$S/d
		use|scr_store extents|no file is named
	END
}
