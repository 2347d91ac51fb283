#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Datasets written by an application, from SCR_Start_output to the end of
# SCR_Complete_output, and what our commands make of what is left.

load helper

# completed STEP...: these steps, and no others, were written.
completed() {
	local expected

	assert_status 0
	expected=$(printf 'complete %d 0\n' "$@")
	[[ $(grep '^complete .* 0$' <<<"$output") == "$expected" ]] ||
		failed "expected: $expected"
	grep -qx end <<<"$output" || failed "no end"
}

# fresh: nothing is left of earlier jobs.
fresh() { rm -rf "${NODES:?}" "${PREFIX:?}"/.scr "${PREFIX:?}"/*; }

@test "ids go on above those of the prefix, the flush file and the caches" {
	job "0 1" app_ckpt steps=2
	completed 1 2
	job "0 1" app_ckpt
	[[ $(cached 0) == "2 3" ]] || failed "caches: $(cached 0)"
	# Only the flush file remembers.
	lose 0 1
	job "0 1" app_ckpt
	[[ $(cached 0) == 4 ]] || failed "flush file: $(cached 0)"
	# Only the index.
	saved 4 0 1
	lose 0 1
	rm -rf .scr/flush.scr .scr/scr.dataset.4
	job "0 1" app_ckpt
	[[ $(cached 0) == 5 ]] || failed "index: $(cached 0)"
	# Only a directory on the prefix.
	lose 0 1
	rm -rf .scr/flush.scr
	mkdir .scr/scr.dataset.17
	job "0 1" app_ckpt
	[[ $(cached 0) == 18 ]] || failed "directory: $(cached 0)"
	run scr_inspect -m keyval .scr/flush.scr
	[[ $output == *"CKPT = 5"* ]] || failed "checkpoint number"
}

@test "the descriptor, and a name of the library's own" {
	SCR_JOB_NAME=sim SCR_CLUSTER_NAME=big job "0 1" app_ckpt name= flags=3 \
		size=10 files=3
	completed 1
	try scr_inspect -m keyval .scr/flush.scr
	for line in "NAME = scr.dataset.1" "FLAG_CKPT = 1" "FLAG_OUTPUT = 1" \
		"FILES = 6" "SIZE = 60" "COMPLETE = 1" "USER = tester" \
		"JOBNAME = sim" "JOBID = j1" "CLUSTER = big" "CKPT = 1" \
		"  PFS" "  CACHE"; do
		grep -q "$line\$" <<<"$output" || failed "expected: $line"
	done
}

@test "output is no checkpoint, and does not count as one (45, 47)" {
	SCR_CACHE_SIZE=3 job "0 1" app_ckpt steps=3 flags=1 flags2=2
	completed 1 2 3
	try scr_env flush-file --dir "$PREFIX" --list-output
	[[ $output == 2 ]] || failed "outputs"
	try scr_env flush-file --dir "$PREFIX" --list-ckpt
	[[ $(xargs -n 1 <<<"$output" | sort -n | paste -sd ' ') == "1 3" ]] ||
		failed "checkpoints"
	saved 3 0 1
	run scr_inspect -m keyval .scr/flush.scr
	[[ $output == *"CKPT = 2"* ]] || failed "checkpoint number"
}

@test "a descriptor for output, and one that checkpoints keep (46)" {
	mkdir "$BATS_TEST_TMPDIR/o"
	printf '%s\n' SCR_COPY_TYPE=FILE "STORE=$SSD GROUP=NODE COUNT=2" \
		"CKPT=0 INTERVAL=1 STORE=$SSD TYPE=XOR" \
		"CKPT=1 INTERVAL=100 STORE=$SSD TYPE=PARTNER OUTPUT=1" >.scrconf
	job "0 1" app_ckpt steps=4 flags=1 flags2=2
	completed 1 2 3 4
	# The newest checkpoint stays beside the newest output.
	[[ $(cached 0) == "3 4" ]] || failed "cached: $(cached 0)"
	[[ -n $(find "$NODES/0" -path '*dataset.4*' -name '*partner*') ]] ||
		failed "output is not protected by PARTNER"
	[[ -n $(find "$NODES/0" -path '*dataset.3*' -name '*xor*') ]] ||
		failed "checkpoint is not protected by XOR"
	job "0 1" app_ckpt steps=3 flags=2
	[[ $(cached 0) == "3 7" ]] || failed "cached then: $(cached 0)"
}

@test "a dataset that is neither checkpoint nor output (48)" {
	job "0 1" app_ckpt flags=0
	completed 1
	[[ $(cached 0) == 1 ]] || failed "not cached"
	try scr_env flush-file --dir "$PREFIX" --list-ckpt
	[[ -z $output ]] || failed "listed"
}

@test "one rank says that its files are not valid (58); a file that was not written (59)" {
	job "0 1" app_ckpt steps=2 invalid=1
	completed 2
	grep -qx "complete 1 1" <<<"$output" || failed "step 1"
	warned 'ERROR: rank 0 .*SCR_Complete_output: rank 1 reported its files'
	[[ $(cached 0) == 2 && $(cached 1) == 2 ]] || failed "cached"
	saved 2 0 1
	run scr_inspect -m keyval .scr/flush.scr
	[[ $output != *ckpt.1* ]] || failed "flush file"
	job_setup
	job "0 1" app_ckpt steps=2 unwritten=1
	completed 2
	grep -qx "complete 1 1" <<<"$output" || failed "step 1"
	grep -q 'ERROR: rank 0 .*/rank_1.0: No such file' <<<"$stderr" ||
		failed "message"
	[[ $(cached 0) == 2 ]] || failed "cached"
}

@test "a name that cannot be: SCR_Start_output fails, the next does not" {
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	works "0 1" app_calls init start_output=$'a\nb' \
		start_output="$(printf '%01024d' 0)" start_output=fine \
		complete_output finalize
	[[ $(grep -c ' -> 1$' <<<"$output") -eq 2 ]] || failed "2 failures"
	[[ $(grep -c 'ERROR: rank 0 .*SCR_Start_output: a dataset name has at most 1023' \
		<<<"$stderr") -eq 2 ]] || failed "messages"
	[[ $output == *"start_output=fine -> 0"* ]] || failed "fine"
	[[ $output == *"complete_output -> 0"* ]] || failed "complete"
	[[ $(grep -c COMPUTE_END .scr/log) -eq 1 ]] || failed "log"
}

@test "a device without room: the dataset fails, the next is complete" {
	privately && return
	mkdir -p "$NODES/1"
	mount -t tmpfs -o size=600k none "$NODES/1"
	SCR_CACHE_SIZE=1 works "0 1" app_ckpt size=400000
	grep -qx "complete 1 1" <<<"$output" || failed "complete"
	grep -q "ERROR: rank 0 .*No space left" <<<"$stderr" || failed "message"
}

# traced OPENS SYNCS OPENS0 SYNCS0: one dataset more, with the eviction of an old
# one, costs each rank, and rank 0, at most that many opens for writing and syncs.
traced() {
	local r opens syncs

	command -v strace >/dev/null || skip "no strace"
	not_sanitized strace
	cat >traced <<-EOF
		#!/bin/sh
		exec strace -f -e trace=openat,open,creat,fsync,fdatasync,syncfs,sync_file_range \
			-o "$BATS_TEST_TMPDIR/\$STEPS.\$PMI_RANK" "$MPI/app_ckpt" "\$@"
	EOF
	chmod +x traced
	for STEPS in 3 4; do
		export STEPS
		rm -rf "${NODES:?}" .scr ckpt.*
		job "0 1 2 3" "$PWD/traced" steps="$STEPS" finalize=0
		completed $(seq "$STEPS")
	done
	for r in 0 1 2 3; do
		opens=0 syncs=0
		for STEPS in 3 4; do
			opens=$((-opens + $(grep -E "\"($SSD|$PREFIX)|\.(scr|er|redset|grp)|scrinfo|filemap_|shuffile|log" \
				"$BATS_TEST_TMPDIR/$STEPS.$r" |
				grep -cE 'O_(WRONLY|RDWR).*= [0-9]')))
			syncs=$((-syncs + $(grep -cE 'sync(fs)?\(' \
				"$BATS_TEST_TMPDIR/$STEPS.$r" || :)))
		done
		echo "rank $r: $opens opens for writing, $syncs syncs"
		((opens >= 1 && opens <= (r == 0 ? $3 : $1))) || failed "opens"
		((syncs >= 1 && syncs <= (r == 0 ? $4 : $2))) || failed "syncs"
	done
}

# The limits are what was counted: none may grow.  The lock of the index, which
# rank 0 opens twice for a dataset on the prefix, is not counted: LLNL's library
# has none.
#
# LLNL's: 20 opens and 27 syncs, rank 0: 23 and 33.
@test "at most half of the opens and a third of the syncs of LLNL's library" {
	traced 10 4 11 6
	# LLNL's: 21 and 31, rank 0: 32 and 51.  A third of the syncs, but one and two
	# opens more than half: a cindex when the old dataset goes, and flush.scr once for
	# the caches and once for the prefix, as LLNL's scripts read it in between.
	job_setup
	SCR_FLUSH=1 traced 11 8 18 17
	# LLNL's: 13 and 19, rank 0: 25 and 41.  A third of the syncs, but two opens more
	# than half: each rank leads a node here, and the format alone needs seven files.
	job_setup
	SCR_CACHE_BYPASS=1 traced 8 4 14 13
}

valid() { ids .valid; }

@test "bypass over the files of an older dataset: the index knows it before" {
	export SCR_CACHE_BYPASS=1
	job "0 0 1 1" app_ckpt name=keep.%d files=2
	job "0 0 1 1" app_ckpt name=a.%d dir=latest files=2
	[[ $(valid) == "1 2" ]] || failed "valid: $(valid)"
	dies "0 0 1 1" app_ckpt name=b.%d dir=latest files=2 die=1
	warned 'dataset 2 (a.1): marked unfinished: dataset 3 replaces'
	[[ $(valid) == 1 ]] || failed "valid: $(valid)"
	# Its filemaps in the cache are right, but its files may be mixed.
	job "0 0 1 1" app_ckpt steps=0
	[[ $stderr == *"dataset 2 \`a.1': dataset 3 has replaced its files"* ]] ||
		failed "restart"
}

@test "bypass over the files that another number of ranks has written" {
	export SCR_CACHE_BYPASS=1
	job "0 1 2 3" app_ckpt name=keep.%d
	job "0 1 2 3" app_ckpt name=a.%d dir=latest
	[[ $(valid) == "1 2" ]] || failed "valid: $(valid)"
	lose 0 1 2 3
	dies "0 0 1" app_ckpt name=b.%d dir=latest die=1
	[[ $(valid) == 1 ]] || failed "valid: $(valid)"
	job "0 0 1" app_ckpt name=c.%d
	[[ $(valid) == "1 4" ]] || failed "valid: $(valid)"
}

@test "bypass, and then nothing is written: the older dataset is back" {
	export SCR_CACHE_BYPASS=1
	job "0 0 1 1" app_ckpt name=a.%d dir=latest
	job "0 0 1 1" app_ckpt name=b.%d dir=latest silent=1
	[[ $(valid) == 1 ]] || failed "valid: $(valid)"
	# The same job replaces it in its next step.
	dies "0 0 1 1" app_ckpt name=c.%d dir=latest silent=1 steps=2 die=2
	[[ -z $(valid) ]] || failed "valid: $(valid)"
}

@test "33.24: fixed file names, flushed; a prefix named through a link" {
	SCR_FLUSH=1 job "0 1" app_ckpt dir=latest steps=4
	completed 1 2 3 4
	warned "marked unfinished"
	lose 0 1
	rm -r .scr
	ln -s "$PREFIX" "$BATS_TEST_TMPDIR/link"
	SCR_FLUSH=1 SCR_PREFIX=$BATS_TEST_TMPDIR/link works "0 1" app_restart 1
	SCR_PREFIX=$BATS_TEST_TMPDIR/link line "restart ckpt.1" works "0 1" app_restart 0
	[[ -s ckpt.1/d1/rank_1.0 ]]
}

@test "33.11: an owner's link to another file system, for writer, reader and delete" {
	local bypass

	for bypass in 0 1; do
		export SCR_CACHE_BYPASS=$bypass SCR_FLUSH=1
		rm -rf "${NODES:?}"/* .scr out "$BATS_TEST_TMPDIR"/away*
		mkdir "$BATS_TEST_TMPDIR"/away{,.scr}
		ln -s "$BATS_TEST_TMPDIR/away" out
		ln -s "$BATS_TEST_TMPDIR/away.scr" .scr
		works "0 1" app_ckpt dir=out/d steps=1
		[[ -s $BATS_TEST_TMPDIR/away/d/rank_1.0 && -z $stderr ]] ||
			failed "written"
		lose 0 1
		works "0 1" app_calls init have_restart finalize
		assert_line "have_restart -> 0 1 ckpt.1"
		whole 1
		ends 0 scr_index --prefix "$PREFIX" --delete 1
		[[ -z $(find "$BATS_TEST_TMPDIR/away/" -type f) ]] ||
			failed "left behind"
	done
}

@test "bypass over files that another rank of the job has written" {
	local step

	export SCR_CACHE_BYPASS=1
	for step in 2 3; do
		dies "0 1" app_ckpt name="$step.%d" dir=latest rotate=1 steps=3 die=$step
		[[ -z $(valid) ]] || failed "step $step, valid: $(valid)"
	done
	job "0 1" app_ckpt dir=latest rotate=1 steps=3
	completed 1 2 3
	[[ $(scr_index --prefix "$PREFIX" --list --json |
		jq -r '.datasets[] | select(.valid) | .name') == ckpt.3 ]]
}

@test "bypass, and nobody knows what a file is: it is not replaced" {
	# Before glibc 2.33 the shim does not see it.
	printf '%s\n' 'glibc 2.33' "$(getconf GNU_LIBC_VERSION)" | sort -VC ||
		skip "no fstatat()"
	export SCR_CACHE_BYPASS=1
	job "0 1" app_ckpt name=a.%d dir=latest
	cp -a latest kept
	lose 0 1
	SHIM_ALL=1 SHIM_RANKS=all SHIM_OP=fstatat SHIM_PATH=latest/rank_0.0 \
		SHIM_FAIL_AT=1 SHIM_STICKY=1 job 0 app_ckpt name=b.%d dir=latest
	[[ $stderr == *"latest/rank_0.0: Input/output error"* ]] ||
		failed "message"
	diff -r latest kept
	[[ $(valid) == 1 ]] || failed "valid: $(valid)"
}

@test "bypass, always to the same files: the newest is valid" {
	export SCR_CACHE_BYPASS=1
	job "0 1" app_ckpt dir=latest steps=3
	completed 1 2 3
	[[ $(valid) == 3 ]] || failed "valid: $(valid)"
	warned "marked unfinished" # 33.24
	lose 0 1
	job "0 1" app_ckpt dir=latest steps=1
	[[ $(valid) == 4 ]] || failed "valid: $(valid)"
	[[ $stderr == *"dataset 3 (ckpt.3): marked unfinished"* ]] ||
		failed "message"
}

@test "never more than COUNT, the oldest goes first; what is unfinished goes at the next start (54)" {
	local cache=tester/scr.j1

	dies "0 0 1" app_ckpt steps=4 die=4
	[[ $(cached 0) == "3 4" && $(cached 1) == "3 4" ]] || failed "$(cached 0)"
	mkdir -p "$NODES/1/$cache/scr.dataset.x" keep
	ln -s "$PREFIX/keep" "$NODES/1/$cache/scr.dataset.9"
	touch keep/me
	works "0 0 1" app_ckpt steps=0
	[[ $(cached 0) == 3 && $(cached 1) == "x 3" && -f keep/me ]]
	# Entries elsewhere than in the job's cache are left out.
	SCR_JOB_ID=j2 works "0 0 1" app_ckpt steps=0
	cp "$NODES/0/$cache/cindex.scrinfo" "$NODES/0/tester/scr.j2/"
	SCR_JOB_ID=j2 works "0 0 1" app_calls init have_restart finalize
	assert_line "have_restart -> 0 0"
	[[ $stderr == *"dataset 3: left out: not in a cache directory of this job"* ]]
	[[ $(cached "0/$cache") == 3 ]]
	# Stores are counted apart.
	fresh
	printf '%s\n' "STORE=$SSD/a COUNT=1" "STORE=$SSD COUNT=3" \
		"CKPT=0 STORE=$SSD" "CKPT=1 STORE=$SSD/a INTERVAL=2" >.scrconf
	SCR_COPY_TYPE=FILE works "0 1" app_ckpt steps=6
	[[ $(cached 0) == "1 3 5 6" && $(cached 1/a) == 6 ]] || failed "$(cached 0)"
}
