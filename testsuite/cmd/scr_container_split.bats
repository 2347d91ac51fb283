#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2086,SC2154,SC2164 # texts of scripts, words; set by try
# Archives in pieces: scr_container export --split, and import of the pieces, in
# any order by one run, or by many, the last piece last.  The result must be that
# of one archive.

load helper

# Prefix p with dataset 1; its archive `ar`, imported as r; its pieces a.001 to
# a.004.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	built p 1 -n 4 -f 3 -s 9000,7000
	chmod 640 p/ckpt.1/rank_2_*
	touch -d "2001-02-03 04:05:06.789012345" p/ckpt.1/rank_1_*
	scr_container -q -p p export -o ar 1
	scr_container -q -p p export -o a --split 60K 1
	mkdir r
	scr_container -q -p r import ar
	rm r/.scr/index.*
}

setup() {
	in_no_job
	cp -a "$BATS_FILE_TMPDIR"/{p,r,ar,a.00?} .
	stub_ssh
	sed -i 's/^export NODE=.*/&; echo "$NODE $*" >>"$RAN"; [ ! -e "$RAN.$NODE" ] || . "$RAN.$NODE"/' \
		stub/ssh
	export RAN=$PWD/ran
	: >ran
}

fresh() { rm -rf q && mkdir q; }

import() { scr_container -p q import "$@"; }

split() { scr_container -p p export --split 60K -o b "$@" 1; }

# What q has, without the index: as one archive would have made it.
whole() {
	diff -r -x 'index.*' -x "*.lock" q r
	diff <(cd q && find . -type f ! -path '*.scr/*' -printf '%P %m %U %G %T@\n' | sort) \
		<(cd r && find . -type f ! -path '*.scr/*' -printf '%P %m %U %G %T@\n' | sort)
	shows "whole" scr_index -p q --verify --checksums 1
}

# Nobody calls dataset 1 of q whole, or puts it into the index.
partial() {
	rejects scr_index -p q --verify 1
	rejects scr_index -p q --add 1
	rejects scr_index -p q --build 1
	rejects scr_index -p q --current 1
	rejects scr_inspect -p q 1
	[[ ! -e q/.scr/scr.dataset.1 ]]
}

# Except times of access.
listed() { tar tf "$1" && tar xOf "$1"; }

# The pieces in b are those in a.
same_pieces() {
	local n

	for n in a.00?; do cmp <(listed "$n") <(listed "b.${n#a.}"); done
	[[ ! -e b.005 && -z $(find . -maxdepth 1 -name '.*' -type f) ]]
}

@test "each piece is an archive of whole files, with their checksums" {
	local n size

	shows "a.*, 4 pieces" scr_container -p p export -o a --split 60K 1
	# They are the same in each run, and on one thread.
	ends 0 split -j 1 --json
	assert_output_has '"piece_count": 4'
	same_pieces
	for n in 1 2 3 4; do
		size=$(stat -c %s "a.00$n")
		((size <= 60 * 1024))
		mkdir "t$n"
		tar xf "a.00$n" -C "t$n"
		tar xf "a.00$n" --one-top-level=t
		(cd "t$n" && sha256sum --quiet --strict -c \
			".scr/scr.dataset.1/manifest.$n-of-4.sha256")
		# All files are in the manifest.
		diff <(cd "t$n" && find . -type f ! -name "manifest.$n-*" -printf '%P\n' | sort) \
			<(sed 's/^[^ ]*  //' "t$n/.scr/scr.dataset.1/manifest.$n-of-4.sha256" | sort)
	done
	# Together they are the dataset.
	(cd t && sha256sum --quiet --strict -c .scr/scr.dataset.1/manifest.sha256)
	diff -r -x 'manifest.*-of-*' t r
	ends 0 scr_index -p t --build 1
	shows whole scr_index -p t --verify --checksums 1
	try scr_inspect -p t 1
	[[ $output$stderr != *manifest* ]]
}

@test "sizes: the smallest that works is named, nothing is written" {
	local size

	misused "--split needs --output" scr_container -p p export --split 60K 1
	misused "--split" scr_container -p q import --split 60K a.001
	misused "--nodes needs --split" scr_container -p p export -w a -o b 1
	misused "need --nodes" scr_container -p p export --split 60K -r ssh -o b 1
	misused "need --nodes" scr_container -p p list -r ssh 1
	for size in 1 10K 20K; do
		refuses 2 "is the smallest" \
			scr_container -p p export -o b --split "$size" 1
		[[ $stderr == *ckpt.1/rank_*": "1????" bytes do not fit"* ]]
		size=${stderr#*--split }
		prints "" find . -name '*b.*'
	done
	size=${size%% *}
	ends 0 scr_container -p p export -o b --split "$size" 1
	refuses 2 "--split $size is the smallest" \
		scr_container -p p export -o c --split "$((size - 1))" 1
	for n in b.*; do (($(stat -c %s "$n") <= size)); done
	# Pieces of an export that had more of them.
	refuses 2 ": a piece of an older export" split
	rm b.*
	touch b.0001
	refuses 2 "b.0001: a piece of an older export: remove it first" split
	[[ ! -e b.001 ]]
	# These are none.
	mkdir b.0002
	mv b.0001 b.12
	ends 0 split
	# Pieces have names, and so has what is noted beside them.
	size=$(printf '%0246d' 0)
	refuses 2 "too long for the names of pieces" \
		scr_container -p p export -o "$size" --split 60K 1
	prints "" find . -name '*000*' -type f
	ends 0 scr_container -p p export -o "${size#0}" --split 60K 1
}

@test "names of any bytes, empty files, directories" {
	local dir n

	dir=$(printf 'd\n\\ \303\244\377/%0100d/%0150d' 1 2)
	rm -rf p
	built p 1 -n 6 -f 4 -s 0,3000 --dir "$dir"
	chmod 750 "p/${dir%%/*}"
	scr_container -q -p p export -o b --split 40K 1
	for n in b.*; do
		(($(stat -c %s "$n") <= 40 * 1024))
		tar xf "$n" --one-top-level=t
	done
	(cd t && sha256sum --quiet --strict -c .scr/scr.dataset.1/manifest.sha256)
	fresh
	import b.* >out
	shows whole scr_index -p q --verify --checksums 1
	diff -r -x .scr p q
	[[ $(stat -c %a "q/${dir%%/*}") == 750 ]]
}

@test "import: every order, at once, and one by one" {
	local orders order n

	mapfile -t orders < <(python3 -c 'import itertools
for o in itertools.permutations("1234"): print(*o)')
	pick 3 "${orders[@]}"
	for order in "${picked[@]}" "4 1 2 3"; do
		fresh
		calm import ${order//[1-4]/a.00&}
		assert_output_has "ckpt.1: dataset 1, 12 files;in the index"
		whole
	done
	for order in "1 2 3" "3 1 2"; do
		fresh
		for n in $order; do
			complains 0 "dataset 1: files of piece $n (of 4) imported; not in the index: import the last piece when" \
				import -q "a.00$n"
			partial
		done
		# Again, and with a pipe.
		complains 0 "files of piece 1, 3 (of 4)" import a.003 a.001
		calm import - <a.004
		assert_output_has "in the index"
		whole
	done
	# All but some.
	fresh
	ends 0 import a.002 a.003
	calm import a.004 a.001
	whole
}

@test "import: the last piece comes too early" {
	fresh
	ends 0 import a.002
	complains 1 "6 files are missing or different, first ckpt.1/rank_0_2.ckpt: import pieces 1-3, then again a.004" \
		import a.004
	partial
	complains 1 "import pieces 2-3, then again a.004" import a.001 a.004
	ends 0 import --json a.003
	assert_output_has '"complete": false;"pieces_missing": "1-2, 4";"piece": 3'
	ends 0 import --json a.004
	assert_output_has '"name": "ckpt.1";"complete": true;"files_unchanged"'
	whole
	complains 1 "has a dataset 1 already" import a.002
	calm import -f a.00?
	whole
	# Only the last one, as the files are there.
	fresh
	cp -a p/ckpt.1 q
	shows "in the index" import a.004
	fresh
	warns 0 "files of piece 2 (of 4) can be imported" import -n a.002
	prints "" find q -mindepth 1
	shows "can be imported" import -n a.00?
	prints "" find q -mindepth 1
	warns 1 "import pieces 1-3" import -n a.004
	prints "" find q -mindepth 1
}

@test "two processes import the same pieces at once" {
	local n

	for n in 1 2 3; do
		fresh
		import a.00? >out 2>&1 &
		try import a.00?
		wait $! || :
		try import a.00?
		whole
	done
	# One is stopped while it writes: the other takes over.
	fresh
	LD_PRELOAD=$SHIM SHIM_PATH=rank_ SHIM_OP=rename SHIM_STOP_AT=2 \
		scr_container -p q import -j 1 a.00? >one 2>&1 3>&- &
	until [[ $(<"/proc/$!/stat") == *" T "* ]]; do kill -0 $! && sleep 0.05; done
	try import -f a.00?
	kill -CONT $!
	wait $! || grep -E "another process|No such file" one
	try import -f a.00?
	assert_status 0
	whole
}

@test "damage: nothing of the call is placed; files that changed since" {
	fresh
	cp a.002 bad
	damage bad 9000 $'\377'
	complains 1 "bad: ckpt.1/rank" import a.001 bad a.004 a.003
	assert_stderr_has "differs from the manifest"
	prints "" find q -mindepth 1
	head -c 30000 a.002 >bad
	warns 1 "bad" import a.001 bad
	prints "" find q -mindepth 1
	# A file that changed since.
	ends 0 import a.001 a.002 a.003
	flip q/ckpt.1/rank_1_0.ckpt 77
	complains 1 "1 file is missing or different, first ckpt.1/rank_1_0.ckpt" import a.004
	partial
	warns 1 "exists with other contents" import a.002
	rm q/ckpt.1/rank_1_0.ckpt
	calm import a.002 a.004
	whole
	# Another file in the place of one.
	fresh
	mkdir q/ckpt.1
	echo other >q/ckpt.1/rank_3_1.ckpt
	complains 1 "rank_3_1.ckpt: exists with other contents" import a.00?
	prints q/ckpt.1/rank_3_1.ckpt find q -type f
	calm import -f a.00?
	whole
}

@test "pieces of other archives, twice, with whole ones: refused" {
	built p 2 -n 4 -f 3 -s 9000,7000
	scr_container -q -p p export -o c --split 60K 2
	scr_container -q -p p export -o d --split 100K 1
	fresh
	complains 1 "c.002: .scr/scr.dataset.2/manifest.2-of-4.sha256: the archive is of dataset 1" \
		import a.001 c.002 a.002
	complains 1 "d.001: is one of 2 pieces, the others are of 4" import a.001 d.001
	complains 1 "a.002: piece 2 is given twice" import a.002 a.002 a.001
	complains 1 "ar: not a piece" import a.001 ar
	prints "" find q -mindepth 1
	# Of another export with as many pieces.
	rm -rf p
	built p 1 -n 4 -f 3 -s 9000,7000 --seed 1
	split >out
	complains 1 "manifest.sha256: ckpt.1/rank" import a.001 a.002 a.003 b.004
	assert_stderr_has "differs from the manifest"
	prints "" find q -mindepth 1
	ends 0 import a.001 a.002 a.003
	complains 1 "missing or different" import b.004
	partial
}

@test "archives that contradict themselves" {
	local m=.scr/scr.dataset.1

	mkdir t
	tar xf a.004 -C t
	# repack FILE [NAME...]: a.004 with other entries behind its own.
	repack() {
		: >empty
		tar cf "$1" --transform "s,.*,$m/manifest.4-of-4.sha256," empty
		(cd t && tar rf "../$1" --hard-dereference \
			--exclude='*4-of-4*' ckpt.1 .scr "${@:2}" &&
			tar rf "../$1" $m/manifest.4-of-4.sha256)
	}
	fresh
	repack b
	warns 1 "import pieces 1-3" import -n b
	cp t/$m/manifest.sha256 t/$m/manifest.3-of-4.sha256
	repack b
	complains 1 "unexpected manifest" import b a.00[123]
	rm t/$m/manifest.3-of-4.sha256
	repack b $m/summary.scr
	complains 1 "summary.scr: occurs twice" import b a.00[123]
	echo more >t/ckpt.1/more
	repack b
	complains 1 "more: is not in the manifest" import b a.00[123]
	prints "" find q -mindepth 1
}

@test "a user's file with the name of a manifest" {
	rm -rf p
	built p 1 -n 2 -f 1 -s 0,100 --dir x
	scr_container -q -p p export -o b 1
	mkdir t
	tar xf b -C t
	: >t/x/manifest.1-of-2.sha256
	(cd t && tar cf ../c x/manifest.1-of-2.sha256 && tar rf ../c --exclude=manifest.1-* x .scr)
	fresh
	# It is a file like another one, that no manifest lists.
	complains 1 "x/manifest.1-of-2.sha256: is not in the manifest" import c
}

@test "files that another dataset owns" {
	built q 3 -n 4 -f 3 -s 100 --name other --dir ckpt.1
	for n in 2 1; do mv "q/ckpt.1/rank_1_$n.ckpt" .; done
	cp -a q before
	# Also the names of those that it misses.
	for n in 1 2; do
		ends 1 import a.002
		diff -r q/ckpt.1 before/ckpt.1
		cp rank_1_?.ckpt q/ckpt.1
		cp rank_1_?.ckpt before/ckpt.1
	done
	shows whole scr_index -p q --verify 3
	try import -f a.00?
	assert_status 0
	whole || diff -r q/ckpt.1 r/ckpt.1
	rejects scr_index -p q --verify 3
}

@test "another dataset of this number: replaced with --force only" {
	local how

	for how in "a.001 a.002 a.003 a.004" "a.001;a.002 a.003;a.004" "a.003;a.001 a.002 a.004"; do
		fresh
		built q 1 -n 4 -f 3 -s 5000,100 --seed 3 --type XOR
		rm -f q/.scr/{flush,nodes}.scr
		try import ${how%%;*}
		assert_status 1
		assert_stderr_has "has a dataset 1 already"
		shows whole scr_index -p q --verify --checksums 1
		while [[ $how == *";"* ]]; do
			warns 0 "not in the index" import -f ${how%%;*}
			rejects scr_index -p q --verify 1
			rejects scr_index -p q --add 1
			how=${how#*;}
		done
		ends 0 import -f $how
		whole
	done
}

@test "many small files in a piece, under valgrind" {
	rm -rf p && mkdir p
	built p 1 -n 30 -f 100 -s 10
	scr_container -q -p p export --split 16MB -o b 1
	fresh
	try valgrind -q --error-exitcode=9 scr_archive -q -p q import b.001
	assert_status 0
	shows "3000" scr_index -p q --verify --checksums 1
}

@test "a full disk at any operation of an export and an import" {
	local n total

	operations scr_container -q -p p export --split 60K -j 1 -o b 1
	for n in $(moments "$total" 6); do
		rm -f b.* .b.*
		try env LD_PRELOAD="$SHIM" SHIM_FAIL_AT="$n" SHIM_STICKY=1 \
			SHIM_ERRNO=ENOSPC scr_container -p p export --split 60K \
			-j 1 -o b 1
		((status == 0)) || assert_stderr_has "o space"
		ends 0 split -j 1
		same_pieces
	done
	fresh
	operations scr_container -q -p q import -j 1 a.00?
	for n in $(moments "$total" 6); do
		fresh
		try env LD_PRELOAD="$SHIM" SHIM_FAIL_AT="$n" SHIM_STICKY=1 \
			SHIM_ERRNO=ENOSPC scr_container -p q import -j 1 a.00?
		((status == 0)) || {
			assert_stderr_has "o space"
			[[ ! -e q/.scr/index.scr ]] || scr_index -p q --verify 1 ||
				rejects scr_index -p q --verify 1
			ends 0 import -f a.00?
		}
		whole
	done
}

@test "kill -9 at any operation of an export and an import, and again" {
	local n total

	operations scr_container -q -p p export --split 60K -j 1 -o b 1
	for n in $(moments "$total" 6); do
		rm -f b.* .b.*
		LD_PRELOAD=$SHIM SHIM_KILL_AT=$n scr_container -q -p p export \
			--split 60K -j 1 -o b 1 2>err || :
		ends 0 split -j 1
		same_pieces
	done
	fresh
	operations scr_container -q -p q import -j 1 a.004 a.002 a.001 a.003
	for n in $(moments "$total" 12); do
		fresh
		LD_PRELOAD=$SHIM SHIM_KILL_AT=$n scr_container -q -p q import \
			-j 1 a.004 a.002 a.001 a.003 2>err || :
		try import a.001 a.002 a.003 a.004
		# It may have come to the end, or nearly.
		((status == 0)) || {
			assert_stderr_has "has a dataset 1 already"
			ends 0 import -f a.00?
		}
		whole
	done
}

@test "an export that was killed is taken up" {
	LD_PRELOAD=$SHIM SHIM_KILL_AT=1 SHIM_OP=rename SHIM_PATH=b.003 \
		scr_container -q -p p export --split 60K -j 1 -o b 1 2>err || :
	[[ -e b.002 && ! -e b.003 ]]
	touch -d 2001-01-01 b.001
	# This one was changed since: a piece that is not what was noted is
	# written again.
	echo >>b.002
	split >out
	[[ $(stat -c %Y b.001) == $(date -d 2001-01-01 +%s) ]]
	same_pieces
	# Of another dataset nothing is taken up.
	LD_PRELOAD=$SHIM SHIM_KILL_AT=1 SHIM_OP=rename SHIM_PATH=b.003 \
		scr_container -q -p p export --split 60K -j 1 -o b 1 2>err || :
	rm -rf p
	built p 1 -n 4 -f 3 -s 9000,7000 --seed 1
	touch -d "2001-02-03 04:05:06" p/ckpt.1/*
	split >out
	[[ $(listed a.001 | cksum) != $(listed b.001 | cksum) ]]
	fresh
	import b.00? >out
	cmp p/ckpt.1/rank_0_0.ckpt q/ckpt.1/rank_0_0.ckpt
}

# stops ID SHIM=VALUE...: an export of the dataset that stops there.
stops() {
	env LD_PRELOAD="$SHIM" "${@:2}" scr_container -q -p p export --split 60K \
		-j 1 -o b "$1" 2>"err$1" 3>&- &
	until [[ $(<"/proc/$!/stat") == *" T "* ]]; do kill -0 $! && sleep 0.05; done
}

@test "two exports to one file at once" {
	local one two

	built p 2 -n 4 -f 3 -s 9000,7000 --seed 1
	stops 1 SHIM_OP=rename SHIM_PATH=b.003 SHIM_STOP_AT=1
	one=$!
	scr_container -q -p p export --split 60K -o b 2 2>err2 3>&- &
	two=$!
	sleep 0.5
	cmp <(listed a.001) <(listed b.001)
	kill -CONT $one
	wait $one
	wait $two
	fresh
	import b.00? >out
	shows whole scr_index -p q --verify --checksums 2
	# Without locks: neither takes the pieces of the other for its own.
	rm b.*
	stops 1 SHIM_START=b.002.done SHIM_OP=open SHIM_PATH=.scrkit- SHIM_STOP_AT=2
	one=$!
	rm .scrkit.shares
	stops 2 SHIM_OP=rename SHIM_PATH=b.004 SHIM_STOP_AT=1
	two=$!
	kill -CONT $one
	! wait $one || false
	kill -CONT $two
	! wait $two || false
	grep "b.001: written by another export; run this again" err1
	grep "b.003: written by another export; run this again" err2
	ends 0 split
	same_pieces
	prints "" find . -maxdepth 1 -name '.*' -type f
}

# Have these pieces users' files, redundancy, or both?
kinds() {
	local n

	for n; do
		tar tf "$n" | sed -n "s/.*redset.*/R/p; s/^ckpt.*ckpt$/F/p" |
			uniq | tr -d '\n'
		echo
	done | xargs
}

@test "compression, redundancy, packed datasets" {
	local filter

	for filter in gzip xz zstd; do
		rm -f b.*
		split --compress "$filter" >out
		fresh
		import b.00? >out
		whole
	done
	rm -f b.*
	scr_container -q -p p export --split 60K --with-redundancy -o b 1
	scr_container -q -p p export --with-redundancy -o ar 1
	for n in b.*; do (($(stat -c %s "$n") <= 60 * 1024)); done
	# It is behind the users' files, if it can be in the last piece alone.
	prints "F F F F R R R" kinds b.*
	scr_container -q -p p export --split 130K --with-redundancy -o c 1
	prints "F F R" kinds c.*
	scr_container -q -p p export --split 200K --with-redundancy -o d 1
	prints "F R" kinds d.*
	rm -rf r && mkdir r
	scr_container -q -p r import ar
	fresh
	calm import b.*
	diff -r -x 'index.*' -x 'manifest*' q r
	fresh
	set -- b.*
	for n in "${@:1:$#-1}"; do
		partial
		ends 0 import "$n"
	done
	try import "${!#}"
	# The redundancy is in several pieces.
	if ((status != 0)); then
		assert_stderr_one_line "together with ${!#}"
		partial
		calm import "$@"
	fi
	diff -r -x 'index.*' -x 'manifest*' q r
	scr_index -q -p q --verify --checksums --deep 1
	for f in "" --with-redundancy; do
		rm -f b.*
		renew "$BATS_FILE_TMPDIR/p"
		scr_container -q -p p pack $f --size 50K 1
		scr_container -q -p p export --split 60K --with-redundancy -o b 1
		fresh
		import b.* >out
		rm -rf r && mkdir r
		scr_container -q -p p export --with-redundancy 1 |
			scr_container -q -p r import -
		diff -r -x 'index.*' -x 'manifest*' q r
		scr_index -q -p q --verify --checksums --deep 1
	done
}

# --- Nodes ---

@test "nodes write pieces: the same ones" {
	local filter

	for nodes in a a,b "n[1-7]"; do
		rm -f b.*
		: >ran
		split -r ssh -w "$nodes" -j 2 >out
		same_pieces
		grep -q -- --part= ran
	done
	[[ $(wc -l <ran) == 3 ]]
	rm -f b.*
	mkdir "o o"
	(cd "o o" && scr_container -p ../p export --split 60K -o b -r ssh -w a,b ckpt.1)
	cmp <(listed a.002) <(listed "o o/b.002")
	prints "" find "o o" -name '.*'
	split --compress gzip -r ssh -w a,b >out
	fresh
	import b.00? >out
	whole
}

@test "nodes that are not reached, die or fail" {
	local n total

	warns 0 "gone1: " split -r ssh -w a,gone1,b
	same_pieces
	rm -f b.*
	warns 0 "gone" split -r ssh -w gone1,gone2
	same_pieces
	rm -f b.*
	operations scr_container -q -p p export --split 60K -j 1 -o b 1
	for n in $(moments "$total" 6); do
		echo "export LD_PRELOAD=$SHIM SHIM_PATH=$PWD/ SHIM_KILL_AT=$n" >ran.b
		rm -f b.*
		ends 0 split -r ssh -w a,b
		same_pieces
	done
	# What is complete is not written again.
	echo "export LD_PRELOAD=$SHIM SHIM_PATH=b.002 SHIM_OP=rename SHIM_KILL_AT=1" \
		>ran.a
	rm -f b.*
	split -r ssh -w a -j 1 >out 2>err
	same_pieces
	rm ran.?
	# It sees another dataset.
	echo "touch $PWD/p/ckpt.1/rank_0_0.ckpt" >ran.a
	rm -f b.*
	warns 0 "the dataset looks different here" split -r ssh -w a,b
	[[ -e b.004 ]]
	rm -f b.*
	# The same directory has another contents there.
	mkdir other
	echo "shift; exec sh -c \"\$(echo \"\$*\" | sed 's,=$PWD/b,=$PWD/other/b,')\"" >ran.a
	warns 0 "a: gave another answer than it should" split -r ssh -w a,b
	[[ -e other/b.001 ]]
	rm -r other
	same_pieces
	echo "exec echo hello" >ran.a
	ends 0 split -r ssh -w a,b
	[[ ! -e b.005 ]]
}

@test "who shares the export out is killed, and run again" {
	local n

	for n in 1 2 3 4; do
		rm -f b.* .b.*
		timeout -s KILL "0.0$((RANDOM % 90 + 10))" scr_container -q \
			-p p export --split 60K -o b -r ssh -w a,b 1 2>err || :
		ends 0 split -r ssh -w a,b
		sleep 0.2
		rm -f .b.*
		same_pieces
	done
}
