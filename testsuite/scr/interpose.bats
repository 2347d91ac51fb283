#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Programs that cannot be changed: libscr_preload.so routes their files (scr_preload(7)).

load helper

CACHE=tester/scr.j1
: "${PLAIN:=$BIN/../interpose}"
PRELOAD=$(realpath "$BIN/../libscr_preload.so")

setup() {
	job_setup
	export SCR_COPY_TYPE=XOR
	export SCR_INTERPOSE_PATTERN='0-N:ckpt\.[0-9.]+'
	export RANK_PRELOAD=$RANK_PRELOAD:$PRELOAD
}

# plain MAP "LINE;LINE..." STEPS [OPTION=VALUE]...: a job of this program, with status
# 0, whose first rank prints just these lines.
plain() {
	works "$1" "$PLAIN/plain" "${@:3}"
	[[ $output == "${2//;/$'\n'}" ]] || failed "$output" "$stderr"
}

# quiet: libscr_preload.so has said nothing.
quiet() { [[ $stderr != *libscr_preload* ]] || failed "$stderr"; }

@test "checkpoints are in the caches, not on the prefix; a node is lost, the job restarts" {
	plain "0 1 2 3" "none;wrote 1;wrote 2;wrote 3;end" 3
	quiet
	[[ $(cached 0) == "2 3" ]]
	[[ -z $(ls) ]] || failed "$(ls)"
	lose 2
	plain "0 1 2 3" "restart 3;wrote 4;end" 1
	quiet
	[[ $(cached 2) == "3 4" ]]
}

# survives STEPS [OPTION=VALUE]...: a job writes steps, a node is lost, the next one
# restarts from the last of them.
survives() {
	local n=$1 i wrote=

	shift
	rm -rf "${NODES:?}"/* "${PREFIX:?}"/* .scr
	for ((i = 1; i <= n; i++)); do
		wrote+="wrote $i;"
	done
	plain "0 1" "none;${wrote}end" "$n" "$@"
	quiet
	lose 1
	plain "0 1" "restart $n;wrote $((n + 1));end" 1 "$@"
	quiet
}

# on_prefix NAMES: there are just these files on the prefix, as "a b".
on_prefix() {
	local is

	is=$(find . -name .scr -prune -o -type f -printf '%P\n' | sort | paste -sd ' ')
	[[ $is == "$1" ]] || failed "on the prefix: $is" "expected: $1"
}

@test "each way to open files to write and to read, and each way to look for them" {
	local way look

	for way in fopen openat creat mmap both; do
		survives 2 way=$way
		on_prefix ""
	done
	for look in access stat fopen; do
		survives 2 look=$look
	done
}

@test "several files of a rank: a pattern for each; some ranks have more" {
	export SCR_INTERPOSE_PATTERN='0-N:ckpt\.[0-9]+\.0,0-N:ckpt\.[0-9]+\.1,0-N:ckpt\.[0-9]+\.2'
	survives 3 files=3
	[[ $(cd "$NODES/0/$CACHE/scr.dataset.4" && echo *) == "ckpt.0.0 ckpt.0.1 ckpt.0.2" ]]
	# One pattern twice is two files; LLNL's names.
	export SCR_INTERPOSE_PATTERN=
	SCR_CHECKPOINT_PATTERN='0-0:ckpt.;0-0:ckpt.;1-N:ckpt.;1-1:ckpt.' \
		SCR_CHECKPOINT_PATTERN_TOKEN=';' survives 2 files=2
}

@test "the step is part of the name; it looks for the newest, reads it back, deletes old ones" {
	survives 3 named=1 look=access again=1
	on_prefix ""
	# In directories that are not made.
	export SCR_INTERPOSE_DIR_PATTERN='sets$'
	survives 3 named=1 look=stat dir=sets
	[[ ! -e sets ]] || failed "made"
}

@test "written under another name and renamed, rotated" {
	SCR_INTERPOSE_TEMPORARY='\.tmp$' survives 3 tmp=.tmp
	on_prefix ""
	# It is not said which part of the name is temporary: copied.
	survives 3 tmp=.tmp
	on_prefix ""
	SCR_INTERPOSE_PATTERN='0-N:ckpt\.[0-9.]+$' survives 3 tmp=.tmp
	on_prefix ""
	# The older one is the program's own.
	SCR_INTERPOSE_PATTERN='0-N:ckpt\.[0-9.]+$' survives 3 old=1
	on_prefix "ckpt.0.0.old ckpt.1.0.old"
}

@test "appended to, written by duplicates, by threads, with children" {
	survives 2 append=1
	survives 2 append=1 way=fopen
	survives 2 dup=1
	survives 2 thread=1
	rm -rf "${NODES:?}"/* .scr
	plain "0 1" "none;wrote 1;wrote 2;end" 2 child=1
	quiet
	on_prefix "ckpt.child"
	lose 1
	plain "0 1" "restart 2;end" 0
}

@test "threads of a program that has not asked for MPI_THREAD_MULTIPLE are not routed" {
	plain "0 1" "none;wrote 1;end" 1 thread=2
	[[ $stderr == *"rank 1: $PREFIX/ckpt.1.0: not routed: another thread"* ]]
	on_prefix "ckpt.0.0 ckpt.1.0"
}

@test "a halt ends the job after a checkpoint, with SCR_HALT_EXIT=1" {
	mkdir -p .scr
	scr_halt -q --checkpoints 2 .
	SCR_HALT_EXIT=1 works "0 1" "$PLAIN/plain" 5
	[[ $output == none$'\n'"wrote 1" ]] || failed "$output"
	quiet
	scr_halt -q --remove .
	plain "0 1" "restart 2;end" 0
}

@test "a write fails on one rank: this checkpoint is none, the one before is read" {
	for way in open fopen; do
		rm -rf "${NODES:?}"/* .scr
		works "0 1" "$PLAIN/plain" 2 fail=2 way=$way
		assert_line "wrote 2"
		warned "rank 1 reported its files of dataset 2"
		[[ $(cached 0) == 1 ]]
		plain "0 1" "restart 1;wrote 2;end" 1 way=$way
	done
}

@test "a file that is open at MPI_Finalize is written where the program says" {
	works "0 1 2 3" "$PLAIN/plain" 2 open=1
	assert_line end
	[[ $stderr == *"rank 2: $PREFIX/ckpt.2.0: "*"open at MPI_Finalize"* ]] ||
		failed "$stderr"
	on_prefix "ckpt.0.0 ckpt.1.0 ckpt.2.0 ckpt.3.0"
	# They are those of step 2, by themselves.
	RANK_PRELOAD='' plain "0 1 2 3" "restart 2;end" 0
}

@test "patterns that are wrong, or leave out a rank, end the job with status 1" {
	local pattern words

	while IFS='|' read -r pattern words; do
		SCR_INTERPOSE_PATTERN=$pattern job "0 1 2 3" "$PLAIN/plain" 1
		assert_status 1
		warned "libscr_preload: SCR_INTERPOSE_PATTERN: .*$words"
		[[ -z $output ]] || failed "$output"
	done <<-'END'
		ckpt|expected RANKS:REGEX
		0-N|expected RANKS:REGEX
		0-N:|expected RANKS:REGEX
		0-x:ckpt|expected RANKS:REGEX
		0-2:ckpt|no pattern for rank 3 of 4
		1-N:ckpt|no pattern for rank 0 of 4
		0-0:ckpt,2-N:ckpt|no pattern for rank 1 of 4
		0-N:ck(pt|
		0-N:ckpt,9-9:a[|
	END
	SCR_INTERPOSE_PATTERN='' SCR_INTERPOSE=1 job "0 1" "$PLAIN/plain" 1
	assert_status 1
	warned "SCR_INTERPOSE_PATTERN: not set"
}

@test "the pattern in a configuration file counts if SCR_INTERPOSE=1" {
	echo "SCR_INTERPOSE_PATTERN=$SCR_INTERPOSE_PATTERN" >.scrconf
	unset SCR_INTERPOSE_PATTERN
	SCR_INTERPOSE=1 plain "0 1 2 3" "none;wrote 1;end" 1
	quiet
	on_prefix ".scrconf"
}

@test "without patterns, without MPI, or with SCR_INTERPOSE=0: as without the library" {
	SCR_INTERPOSE=0 plain "0 1 2 3" "none;wrote 1;wrote 2;end" 2
	quiet
	[[ ! -e .scr && -z $(ls "$NODES/0") ]]
	SCR_INTERPOSE_PATTERN='' plain "0 1 2 3" "restart 2;wrote 3;end" 1
	quiet
	[[ ! -e .scr && -z $(ls "$NODES/0") ]]
	ends 0 env LD_PRELOAD="$PRELOAD" sh -c 'echo one >ckpt.9.9; cat ckpt.9.9'
	[[ $output == one && -z $stderr ]]
}

@test "libscr cannot be used: the program writes its own files, and one line says so" {
	SCR_ENABLE=0 plain "0 1 2 3" "none;wrote 1;end" 1
	warned "libscr_preload: SCR_Init failed: nothing is routed"
	on_prefix "ckpt.0.0 ckpt.1.0 ckpt.2.0 ckpt.3.0"
	SCR_CNTL_BASE=/proc/none plain "0 1 2 3" "restart 1;wrote 2;end" 1
	warned "libscr_preload: SCR_Init failed: nothing is routed"
	# There is none, or the program uses it itself.
	mkdir alone
	cp "$PRELOAD" alone
	RANK_PRELOAD=$PREFIX/alone/libscr_preload.so plain "0 1 2 3" "restart 2;wrote 3;end" 1
	for rank in 0 1 2 3; do
		warned "libscr_preload: libscr.so.3: rank $rank: .*nothing is routed"
	done
	works "0 1 2 3" app_ckpt steps=1
	warned "libscr_preload: libscr.so.3: rank 2: the program calls it itself"
}

@test "another number of ranks: what the caches have stays, nothing is routed" {
	plain "0 1 2 3" "none;wrote 1;end" 1
	plain "0 1 2" "none;wrote 1;end" 1
	warned "libscr_preload: no restart: nothing is routed"
	on_prefix "ckpt.0.0 ckpt.1.0 ckpt.2.0"
	rm ckpt.*
	plain "0 1 2 3" "restart 1;end" 0
}

@test "names outside the prefix are not routed; checkpoints that lack a file are said" {
	SCR_PREFIX=$PREFIX/sub works "0 1" "$PLAIN/plain" 1
	[[ $(grep -c "not below SCR_PREFIX" <<<"$stderr") -eq 2 ]]
	on_prefix "ckpt.0.0 ckpt.1.0"
	rm ckpt.*
	SCR_INTERPOSE_PATTERN='0-N:ckpt,0-N:never' plain "0 1" "none;wrote 1;wrote 2;end" 2
	[[ $stderr == *"no file matched \"never\""* ]]
	on_prefix ""
	SCR_INTERPOSE_PATTERN='0-N:ckpt,0-N:never' plain "0 1" "restart 2;end" 0
}

@test "flushed, and all caches lost: read from the prefix" {
	export SCR_FLUSH=1
	plain "0 1 2 3" "none;wrote 1;wrote 2;end" 2
	on_prefix "ckpt.0.0 ckpt.1.0 ckpt.2.0 ckpt.3.0"
	lose 0 1 2 3
	plain "0 1 2 3" "restart 2;wrote 3;end" 1
	quiet
	# They are what the program reads without the library.
	RANK_PRELOAD='' plain "0 1 2 3" "restart 3;end" 0
	# No caches at all.
	lose 0 1 2 3
	rm -rf .scr ckpt.*
	SCR_CACHE_BYPASS=1 plain "0 1 2 3" "none;wrote 1;wrote 2;end" 2 way=both
	SCR_CACHE_BYPASS=1 plain "0 1 2 3" "restart 2;wrote 3;end" 1 way=both
	quiet
}

# calls MAP "LINE;LINE..." CALL...: a job of this program, with status 0, which prints
# these lines in any order.
calls() {
	works "$1" "$PLAIN/calls" "${@:3}"
	[[ $(sort <<<"$output") == "$(sort <<<"${2//;/$'\n'}")" ]] || failed "$output" "$stderr"
}

@test "a restart has the files of this rank: another one of the same last component is none" {
	calls "0 1" "0 w 6/ckpt.0 ok;1 w 6/ckpt.1 ok" "w 6/ckpt.% one"
	calls "0 1" "0 e 20/ckpt.0 ENOENT;0 r 20/ckpt.0 ENOENT;0 r 6/ckpt.0 one
1 e 20/ckpt.1 ENOENT;1 r 20/ckpt.1 ENOENT;1 r 6/ckpt.1 one" \
		"e 20/ckpt.%" "r 20/ckpt.%" "r 6/ckpt.%"
	[[ -z $stderr ]] || failed "$stderr"
	# One of the prefix is said.
	mkdir 20
	printf old | tee 20/ckpt.0 >20/ckpt.1
	calls "0 1" "0 r 20/ckpt.0 old;0 r 6/ckpt.0 one;1 r 20/ckpt.1 old;1 r 6/ckpt.1 one" \
		"r 20/ckpt.%" "r 6/ckpt.%"
	warned "rank 1: $PREFIX/20/ckpt.1: is read from the prefix: not a file of"
}

@test "a file of the restart that is gone is not read from the prefix" {
	calls "0 1" "0 w ckpt.0 ok;1 w ckpt.1 ok" "w ckpt.% new"
	printf old | tee ckpt.0 >ckpt.1
	calls "0 1" "0 r ckpt.0 new;1 e ckpt.1 ENOENT;1 r ckpt.1 ENOENT" \
		"1:s rm $SSD/$CACHE/scr.dataset.1/ckpt.1" b "1:e ckpt.%" "r ckpt.%"
	warned "rank 1: $PREFIX/ckpt.1: No such file or directory: this file of"
	# That is no verdict: the next job rebuilds it.
	calls "0 1" "0 r ckpt.0 new;1 r ckpt.1 new" "r ckpt.%"
	# It opens, and cannot be read.
	works "0 1" "$PLAIN/calls" "1:s rm $SSD/$CACHE/scr.dataset.1/ckpt.1;
		mkdir $SSD/$CACHE/scr.dataset.1/ckpt.1" b "r ckpt.%"
	warned "rank 1: $PREFIX/ckpt.1: Is a directory: this file of"
	[[ $(cached 0) == 1 ]] || failed "$(cached 0)"
}

@test "SCR_CACHE_SIZE=1: a file that loses what it had makes the checkpoint none" {
	local way

	export SCR_CACHE_SIZE=1
	export SCR_INTERPOSE_PATTERN='0-N:ckpt\.[0-9]+\.0$,0-N:ckpt\.[0-9]+\.1$'
	for way in a u; do
		rm -rf "${NODES:?}"/* .scr
		works "0 1" "$PLAIN/calls" "w ckpt.%.0 one" "w ckpt.%.1 one" \
			"w ckpt.%.0 two" "$way ckpt.%.1 two"
		[[ $stderr == *"rank 1: $PREFIX/ckpt.1.1: what it had is gone"* ]] ||
			failed "$stderr"
		warned "rank 0 reported its files of dataset 2"
		[[ -z $(cached 0) ]] || failed "$(cached 0)"
	done
	# The same where the next job begins.
	rm -rf "${NODES:?}"/* .scr
	works "0 1" "$PLAIN/calls" "w ckpt.%.0 one" "w ckpt.%.1 one"
	works "0 1" "$PLAIN/calls" "w ckpt.%.0 two" "a ckpt.%.1 two"
	warned "rank 0 reported its files of dataset 2"
	# It is renamed.
	rm -rf "${NODES:?}"/* .scr
	works "0 1" "$PLAIN/calls" "w ckpt.%.0 one" "w ckpt.%.1 one" \
		"w ckpt.%.0 two" "m ckpt.%.1 ckpt.7%.1" "w ckpt.%.1 two"
	warned "rank 0 reported its files of dataset 2"
	# With two, it has both.
	export SCR_CACHE_SIZE=2
	rm -rf "${NODES:?}"/* .scr
	works "0 1" "$PLAIN/calls" "w ckpt.%.0 one" "w ckpt.%.1 one" \
		"w ckpt.%.0 two" "a ckpt.%.1 two"
	quiet
	calls "0 1" "0 r ckpt.0.1 onetwo;1 r ckpt.1.1 onetwo" "r ckpt.%.1"
}

@test "an open that fails by the program's own doing neither begins nor ends a checkpoint" {
	local way

	for way in x X; do
		rm -rf "${NODES:?}"/* .scr
		# On one rank alone: no other rank waits.
		calls "0 1" "0 w ckpt.0 ok;1 $way ckpt.1 EEXIST;1 w ckpt.1 ok" \
			"w ckpt.% one" "1:$way ckpt.% two"
		quiet
		calls "0 1" "0 r ckpt.0 one;1 r ckpt.1 one;1 $way ckpt.1 EEXIST" \
			"1:$way ckpt.% two" "r ckpt.%"
		quiet
		calls "0 1" "0 $way ckpt.0.7 ok;1 $way ckpt.1.7 ok" "$way ckpt.%.7 new"
		quiet
		[[ $(cached 0) == "1 2" ]] || failed "$(cached 0)"
	done
	# It tries again.
	rm -rf "${NODES:?}"/* .scr
	export SCR_INTERPOSE_PATTERN='0-N:ckpt\.[0-9]+\.0$,0-N:ckpt\.[0-9]+\.1$'
	calls "0 1" "0 w ckpt.0.0 ok;1 w ckpt.1.0 ok;1 f ckpt.1.1 EMFILE;0 a ckpt.0.1 ok;1 a ckpt.1.1 ok" \
		"w ckpt.%.0 one" "1:f ckpt.%.1" "a ckpt.%.1 one"
	quiet
	calls "0 1" "0 r ckpt.0.1 one;1 r ckpt.1.1 one" "r ckpt.%.1"
}

@test "streams of descriptors, closed by another thread, null pointers, children" {
	calls "0 1" "0 w ckpt.0 ok;1 w ckpt.1 ok" "w ckpt.% one"
	# A new checkpoint, not the old one changed.
	calls "0 1" "0 d ckpt.0 ok;1 d ckpt.1 ok" "d ckpt.% two"
	quiet
	[[ $(cached 0) == "1 2" ]] || failed "$(cached 0)"
	calls "0 1" "0 r ckpt.0 onetwo;1 r ckpt.1 onetwo;0 c ckpt.0 ok;1 c ckpt.1 ok
0 c ckpt.0 ok;1 c ckpt.1 ok" "r ckpt.%" "c ckpt.% three" "c ckpt.% four"
	quiet
	calls "0 1" "0 r ckpt.0 four;1 r ckpt.1 four;0 n a EFAULT;1 n a EFAULT" \
		"s printenv SCR_INTERPOSE | grep -qx 0" "r ckpt.%" "n a"
	quiet
}

@test "the checkpoint is gone, as a rank lacks its file: the name of the others is theirs" {
	export SCR_INTERPOSE_TEMPORARY='\.tmp$'
	works "0 1" "$PLAIN/plain" 3 fail=2 tmp=.tmp
	assert_line "wrote 3"
	warned "rank 1 reported its files of dataset 2"
	# It is the last one.
	for way in open fopen; do
		rm -rf "${NODES:?}"/* .scr
		works "0 1" "$PLAIN/plain" 2 fail=2 tmp=.tmp way=$way
		assert_line "wrote 2"
		warned "rank 1 reported its files of dataset 2"
		on_prefix ""
		plain "0 1" "restart 1;wrote 2;end" 1 tmp=.tmp way=$way
	done
}

@test "MPI-IO is not routed, and that is said" {
	SCR_INTERPOSE_PATTERN='0-N:data' works "0 1 2 3" "$MPI/mpiio" data
	[[ $output == *", 0 wrong" ]]
	warned "libscr_preload: data: opened by MPI-IO: not routed"
	[[ -s data && -z $(cached 0) ]]
}

@test "C++ streams, and Fortran's OPEN" {
	local with

	for with in "mpicxx stream.cpp" "mpifort records.f90"; do
		if ! command -v "${with% *}" >/dev/null; then
			echo "# no ${with% *}" >&3
			continue
		fi
		"${with% *}" -O0 -o "$BATS_TEST_TMPDIR/app" \
			-J"$BATS_TEST_TMPDIR" "$TESTSUITE/interpose/${with#* }" \
			2>/dev/null ||
			"${with% *}" -O0 -o "$BATS_TEST_TMPDIR/app" \
				"$TESTSUITE/interpose/${with#* }"
		rm -rf "${NODES:?}"/* .scr
		works "0 1 2 3" "$BATS_TEST_TMPDIR/app" 3
		[[ $output == none$'\n'wrote\ 1$'\n'wrote\ 2$'\n'wrote\ 3$'\n'end ]]
		quiet
		on_prefix ""
		[[ $(cached 0) == "2 3" ]] || failed "$(cached 0)"
		lose 2
		works "0 1 2 3" "$BATS_TEST_TMPDIR/app" 1
		[[ $output == restart\ 3$'\n'wrote\ 4$'\n'end ]] || failed "$output"
		quiet
	done
}

@test "a module of Python, which loads MPI for itself alone" {
	command -v mpicc >/dev/null || skip "no mpicc"
	not_sanitized Python
	mpicc -w -shared -fPIC -o "$BATS_TEST_TMPDIR/plain.so" "$TESTSUITE/interpose/plain.c"
	cat >"$BATS_TEST_TMPDIR/app.py" <<-'END'
		import ctypes, sys
		words = [word.encode() for word in sys.argv[1:]]
		lib = ctypes.CDLL(words[0].decode())
		sys.exit(lib.main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words)))
	END
	# patient.so does not find what it wraps.
	export RANK_PRELOAD=$PRELOAD
	for map in "0 1" "2 1"; do
		works "$map" "$(command -v python3)" "$BATS_TEST_TMPDIR/app.py" \
			"$BATS_TEST_TMPDIR/plain.so" 1
		quiet
		on_prefix ""
	done
	assert_line "restart 1"
	# Without patterns, it is as if there were no preload.
	SCR_INTERPOSE_PATTERN='' works "0 1" "$(command -v python3)" \
		"$BATS_TEST_TMPDIR/app.py" "$BATS_TEST_TMPDIR/plain.so" 1
	on_prefix "ckpt.0.0 ckpt.1.0"
}

@test "a store in memory at the same time: its files are recycled" {
	[[ $(stat -f -c %T "$SSD") == tmpfs ]] || skip "not in memory"
	echo "STORE=$SSD TYPE=MEMORY SIZE=256M" >.scrconf
	plain "0 1 2 3" "none;wrote 1;wrote 2;wrote 3;end" 3 size=4194304
	lose 2
	# The next job fills the pool before its first checkpoint.
	SCR_STORE_STATS=$PREFIX/stats plain "0 1 2 3" \
		"restart 3;wrote 4;wrote 5;wrote 6;end" 3 size=4194304
	quiet
	awk '{ taken += $3; given += $9 } END { exit !(taken >= 4 && given >= 4) }' stats ||
		failed "$(cat stats)"
	lose 1
	plain "0 1 2 3" "restart 6;end" 0 size=4194304
}
