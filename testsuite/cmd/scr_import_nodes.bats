#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2086,SC2154 # texts of scripts, words; set by try
# scr_container import -w: other nodes read the pieces of an archive.  The result
# must be that of one process, whatever becomes of a node.

load helper

# The pieces a.001 to a.004 of dataset 1 of the prefix s; its archive, imported as
# r.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	built s 1 -n 4 -f 3 -s 9000,7000
	touch -d "2001-02-03 04:05:06.789012345" s/ckpt.1/rank_1_*
	chmod 640 s/ckpt.1/rank_2_*
	scr_container -q -p s export -o ar 1
	scr_container -q -p s export -o a --split 60K 1
	mkdir r
	scr_container -q -p r import ar
	rm r/.scr/index.*
}

setup() {
	in_no_job
	cp -a "$BATS_FILE_TMPDIR"/{s,r,ar,a.00?} .
	stub_ssh
	sed -i 's/^export NODE=.*/&; echo "$NODE $*" >>"$RAN"; [ ! -e "$RAN.$NODE" ] || . "$RAN.$NODE"/' \
		stub/ssh
	export RAN=$PWD/ran
	: >ran
	fresh
}

fresh() { rm -rf p && mkdir p; }

# share NODES [OPTION...] ARCHIVE...
share() { scr_container -p p import -r ssh -w "$@"; }

# What p has, without the index: as one archive would have made it.  Times of
# directories are those of the import.
whole() {
	diff -r -x 'index.*' -x "*.lock" p r
	diff <(cd p && find . -type f ! -path './.scr*' -printf '%P %m %U %G %T@\n' | sort) \
		<(cd r && find . -type f ! -path './.scr*' -printf '%P %m %U %G %T@\n' | sort)
	no_temps
	shows "whole" scr_index -p p --verify --checksums 1
}

no_temps() { [[ -z $(find p -name '.scrkit*') ]]; }

@test "nodes read the pieces: the same files" {
	local nodes filter

	for nodes in a a,b,c "n[1-7]"; do
		fresh
		: >ran
		calm share "$nodes" -j 2 a.003 a.001 a.004 a.002
		assert_output_has "ckpt.1: dataset 1, 12 files;in the index"
		grep -q -- --part= ran
		whole
	done
	# Some of them, and the last one later; names with blanks; compressed.
	fresh
	warns 0 "files of piece 1-3 (of 4) imported" share a,b a.00[123]
	no_temps
	[[ ! -e p/.scr/scr.dataset.1 ]]
	ends 0 share a,b --json a.004
	assert_output_has '"complete": true'
	diff -r -x 'index.*' p r
	no_temps
	for filter in gzip zstd; do
		mkdir -p "o o"
		rm -f "o o"/*
		scr_container -q -p s export --split 60K --with-redundancy \
			--compress $filter -o "o o/b" 1
		fresh
		warns 0 "" share a,b -n "o o"/b.*
		prints "" find p -mindepth 1
		calm share a,b "o o"/b.*
		no_temps
		rm -rf r && mkdir r
		scr_container -q -p s export --with-redundancy 1 |
			scr_container -q -p r import -
		diff -r -x 'index.*' -x 'manifest*' p r
	done
}

@test "names of any bytes, empty files" {
	local dir

	dir=$(printf 'd\n\\ \303\244\377/%0100d/%0150d' 1 2)
	rm -rf s r && mkdir r
	built s 1 -n 6 -f 4 -s 0,3000 --dir "$dir"
	scr_container -q -p s export -o b --split 40K 1
	scr_container -q -p r import b.*
	rm r/.scr/index.*
	calm share a,b b.*
	grep -q -- --part= ran
	whole
}

@test "what nodes do not read: whole archives, pipes" {
	misused "need --nodes" scr_container -p p import -r ssh a.001
	calm share a,b ar
	[[ ! -s ran ]]
	whole
	fresh
	ends 0 share a,b a.001 - a.003 a.002 <a.004
	whole
	# One by one, in their order: the second one is the newer one.
	rm -rf t
	built t 2 -n 4 -f 3 -s 900
	scr_container -q -p t export -o new 2
	: >ran
	fresh
	ends 0 share a,b ar new
	[[ $output == *"dataset 1"*"dataset 2"* && ! -s ran ]]
	# Not all pieces: the one that is missing is not taken for read.
	fresh
	ends 1 share a,b a.001 a.003 a.004
	assert_stderr_has "import pieces 2"
	[[ ! -s ran && ! -e p/.scr/scr.dataset.1 ]]
	# Both in one call: an archive is no piece.
	fresh
	cp ar other
	ends 1 share a,b ar other
	assert_stderr_has "has a dataset 1 already"
	no_temps
	fresh
	warns 1 "ar: not a piece of the archive" share a,b a.001 ar
	prints "" find p -mindepth 1
	# A prefix that takes nothing says so once.
	fresh
	: >p/.scr
	for n in "" "-r ssh -w a,b"; do
		ends 1 scr_container -p p import $n a.00?
		[[ $(wc -l <<<"$stderr") == 1 ]] || failed "$stderr"
	done
	misused "FROM-TO" scr_archive import --part=5 a.001
	misused "FROM-TO" scr_archive import --part=0-9:x a.001
}

@test "nodes that are not reached, die or fail" {
	local n fault

	warns 0 "gone1: " share a,gone1,b a.00?
	whole
	fresh
	warns 0 "gone" share gone1,gone2 a.00?
	whole
	for n in 3 20 60 100 150; do
		echo "export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/p SHIM_KILL_AT=$n" >ran.b
		fresh
		ends 0 share a,b a.00?
		whole
	done
	for fault in pwrite:ENOSPC fsync:EIO rename:EIO open:EMFILE mkdir:EACCES; do
		echo "export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/p
			export SHIM_OP=${fault%:*} SHIM_ERRNO=${fault#*:}
			export SHIM_FAIL_AT=1 SHIM_STICKY=1" >ran.b
		fresh
		ends 0 share a,b a.00?
		whole
	done
	# What it has done is elsewhere; or nothing.
	mkdir other
	echo "shift; exec sh -c \"\$(echo \"\$*\" | sed 's,=$PWD/p,=$PWD/other,')\"" >ran.b
	fresh
	warns 0 "what nodes have put in place is not found here" share a,b a.00?
	whole
	echo "echo hello; exit" >ran.b
	fresh
	warns 0 "b: hello" share a,b a.00?
	whole
	# It is another command there.
	printf '#!/bin/sh\necho "$ANSWER"\n' >fake
	chmod +x fake
	echo "shift; exec sh -c \"\$(echo \"\$*\" | sed \"s,[^ ']*scr_archive,$PWD/fake,\")\"" >ran.b
	for n in '{}' '{"piece_count": 9, "files_placed": 0, "sum": 0}'; do
		fresh
		ANSWER=$n warns 0 "b: gave another answer than it should" share a,b a.00?
		whole
	done
	fresh
	ANSWER='{"piece_count": 1, "files_placed": 3, "sum": 5}' \
		warns 0 "not found here" share a,b a.00?
	whole
	# The sum of no files, or of those that are links.
	cp ran.b ran.a
	for n in "" rank_0_0.ckpt; do
		fresh
		[[ -z $n ]] || mkdir p/ckpt.1
		[[ -z $n ]] || ln -s "$PWD/r/ckpt.1/$n" p/ckpt.1
		ANSWER='{"piece_count": 3, "files_placed": 0, "sum": 0}' \
			try share a a.00?
		assert_stderr_has "not found here"
		if [[ -z $n ]]; then whole; else
			assert_stderr_has "exists with other contents"
		fi
	done
}

@test "a node that freezes, and thaws when it was given up" {
	local worker='' when

	for when in pwrite rename open; do
		fresh
		worker=
		freezes b $when 3
		share a,b --node-timeout 2 a.00? >out 2>err 3>&- &
		frozen $!
		wait $!
		grep "no output" err
		whole
		kill -CONT "$worker"
		for ((i = 0; i < 100; i++)); do
			[[ -e /proc/$worker ]] || break
			sleep 0.1
		done
		[[ ! -e /proc/$worker ]]
		whole
	done
}

@test "damage: the same words, what is in place is said, and taken up" {
	local case one left n

	cp a.002 bad
	damage bad 9000 $'\377'
	head -c 30000 a.002 >short
	for case in bad short a.001 none r; do
		fresh
		try scr_container -p p import a.001 "$case" a.004 a.003
		assert_status 1
		one="$status $output $stderr"
		fresh
		try share a,b a.001 "$case" a.003 a.004
		[[ $case != @(bad|short) ]] || assert_stderr_has "the next import takes them up"
		left=$(grep -v "^scr_container: [ab]\(,b\)\?: \|next import takes\|are read here" <<<"$stderr") || :
		[[ "$status $output $left" == "$one" ]] ||
			failed "$one" "$status $output $stderr"
		no_temps
		[[ ! -e p/.scr ]]
		ends 0 share a,b a.00?
		whole
	done
	# Older pieces of the same names are another archive.
	rm -rf s
	built s 1 -n 4 -f 3 -s 9000,6990
	fresh
	scr_container -q -p s export -o b --split 60K 1
	try share a,b a.00[123] b.004
	assert_status 1
	no_temps
	[[ ! -e p/.scr/scr.dataset.1 ]]
	assert_stderr_has "the next import takes them up"
	ends 0 share a,b a.00?
	whole
	fresh
	# The last piece without the manifest of all files.
	mkdir t
	tar -xf a.004 -C t
	chmod -R u+w t
	rm t/.scr/scr.dataset.1/manifest.sha256
	sed -i /manifest.sha256/d t/.scr/scr.dataset.1/manifest.4-of-4.sha256
	tar -tf a.004 | sed '1d; /\/$/d; /manifest.sha256$/d' >names
	(cd t && : >e && tar --format=pax --transform='s,^e$,.scr/scr.dataset.1/manifest.4-of-4.sha256,' \
		-cf ../z e -T ../names)
	fresh
	for n in "" "-r ssh -w a,b"; do
		warns 1 "z: has no manifest.sha256" scr_container -p p import $n a.00[123] z
		prints "" find p -mindepth 1
	done
	# A file on the prefix.
	mkdir p/ckpt.1
	echo other >p/ckpt.1/rank_3_2.ckpt
	warns 1 "rank_3_2.ckpt: exists with other contents" share a,b a.00?
	[[ $(<p/ckpt.1/rank_3_2.ckpt) == other && ! -e p/.scr ]]
	no_temps
	ends 0 share a,b -f a.00?
	diff -r -x 'index.*' p r
	no_temps
}

@test "who shares the import out is killed, and run again" {
	local n total rounds=4

	((${SCRKIT_SLOW:-0} == 0)) || rounds=50
	operations scr_container -q -p p import -r ssh -w a,b a.00?
	for n in $(moments "$total" 8); do
		fresh
		sed "s/^export NODE=.*/unset LD_PRELOAD; &/" stub/ssh >stub/new
		chmod +x stub/new
		mv stub/new stub/ssh
		LD_PRELOAD=$SHIM SHIM_KILL_AT=$n scr_container -q -p p import \
			-j 1 -r ssh -w a,b a.00? 2>err || :
		# Those that it has started end by themselves.
		try share a,b a.00?
		# It may have come to the end, or nearly.
		((status == 0)) || {
			assert_stderr_has "has a dataset 1 already"
			ends 0 share a,b -f a.00?
		}
		sleep 0.3
		diff -r -x 'index.*' -x "*.lock" p r
		no_temps
	done
	for ((n = 0; n < rounds; n++)); do
		fresh
		timeout -s KILL "0.0$((RANDOM % 90 + 10))" scr_container -q \
			-p p import -r ssh -w a,b a.00? 2>err || :
		# Alone, it clears up, too.
		try scr_container -p p import a.00?
		((status == 0)) || ends 0 scr_container -p p import -f a.00?
		sleep 0.3
		diff -r -x 'index.*' -x "*.lock" p r
	done
}
