#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034
# Restart from the caches after failures: no loss, moved ranks, lost nodes,
# damage (libscr.md 21, scenarios 2 to 11, 17 to 22, 28).

load restarts

@test "flush.scr lists what the caches have, from the start on" {
	export SCR_COPY_TYPE=SINGLE
	fresh
	[[ $(scr_flush_file --dir "$PREFIX" --list-ckpt) == "3 2" ]]
	rm "$(dataset 2 3)/rank_2.0"
	works "0 1 2 3" app_restart 0 files=2 skip=1
	[[ $(cached 2) == 2 ]]
	[[ $(scr_flush_file --dir "$PREFIX" --list-ckpt) == 2 ]]
	# The numbers of what this start removes are not used again.
	lose 0 1 2 3
	line "none" job "0 1 2 3" app_restart 1 files=2
	[[ $(cached 0) == 3 ]] || failed "$(cached 0)"
}

# Settings, the nodes that are lost one after the other and what a job restarts from,
# and what the last one says.
@test "what each scheme survives, and what not (2 to 6)" {
	local settings losses words loss all

	while IFS='|' read -r settings losses words; do
		# shellcheck disable=SC2086,SC2163 # several
		export SCR_SET_SIZE=8 $settings
		echo "$settings"
		fresh
		IFS=, read -ra all <<<"$losses"
		for loss in "${all[@]}"; do
			after "${loss%:*}" "${loss#*:}"
		done
		[[ $stderr == *"$words"* ]] || failed "$words"
		[[ $SCR_COPY_TYPE != SINGLE || -z $(cached 0)$(cached 2) ]]
	done <<-'END'
		SCR_COPY_TYPE=SINGLE|2:none|dataset 3 `ckpt.3': rank 2: all redundancy files of its set
		SCR_COPY_TYPE=PARTNER|1:ckpt.3,0 2:ckpt.3,1 2:none|
		SCR_COPY_TYPE=XOR|2:ckpt.3,0 1:none|set 1 of 1 (XOR over filemaps) cannot be rebuilt
		SCR_COPY_TYPE=XOR SCR_SET_SIZE=2|0 2:ckpt.3,0 1:none|
		SCR_COPY_TYPE=RS SCR_SET_FAILURES=2|0 1:ckpt.3,0 2:ckpt.3,1 3:ckpt.3,2 3:ckpt.3,0 1 3:none|
		SCR_COPY_TYPE=RS SCR_SET_FAILURES=3|0 1 2:ckpt.3,0 1 3:ckpt.3,1 2 3:ckpt.3,0 1 2 3:none|
	END
}

@test "a spare node, and a second failure after a rebuild (7, 8)" {
	for SCR_COPY_TYPE in PARTNER XOR RS; do
		story <<-'END'
			fresh; lose 2|0 1 4 3|ckpt.3
			[[ -s $(dataset 4 3)/rank_2.0 ]]; lose 1|0 1 4 3|ckpt.3
			cp -r "$(dataset 1 3)" "$BATS_TEST_TMPDIR/before"|0 1 4 3|ckpt.3
		END
		diff -r "$(dataset 1 3)" "$BATS_TEST_TMPDIR/before"
		rm -rf "$BATS_TEST_TMPDIR/before"
	done
}

@test "permuted ranks: files move, none stays behind; and a node lost (9, 10)" {
	for SCR_COPY_TYPE in $SCHEMES; do
		fresh
		restarts "3 2 1 0" ckpt.3
		[[ $(cd "$(dataset 0 3)" && echo rank_*) == "rank_3.0 rank_3.1" ]]
		[[ -z $(find "$NODES" -name '.regain.*') ]]
		[[ $(find "$NODES/1" -name '*er.*.redset') != *er.1.* ]]
		restarts "3 2 1 0" ckpt.3
		[[ $SCR_COPY_TYPE != SINGLE ]] || continue
		fresh
		lose 2
		restarts "3 4 1 0" ckpt.3
		restarts "3 4 1 0" ckpt.3
	done
}

@test "several ranks on a node: both are rebuilt (11); names without directory" {
	# As old applications ask.
	story <<-'END'
		fresh "0 0 1 1 2 2"; lose 1|0 0 1 1 2 2|ckpt.3
		fresh||ckpt.3 base=1
	END
}

@test "another number of ranks is refused, and the caches stay (17, 33.4)" {
	fresh
	job "0 1 2" app_restart 0 files=2
	[[ $status -ne 0 && $stderr == *"dataset 3 \`ckpt.3': written by 4 ranks, but \
this job has 3: start 4 ranks, or save the caches on the prefix and set \
SCR_RESTART_ANY_RANKS=1; not used for this restart, stays in the cache"* ]]
	warned "SCR_Have_restart: dataset 3 .*, but this job has 3: .*SCR_START_OVER=1"
	SCR_START_OVER=1 restarts "0 1 2 3 4" none
	[[ $stderr == *"written by 4 ranks, but this job has 5"* ]]
	restarts "0 1 2 3" ckpt.3
}

@test "another number of ranks flushes nothing of what it could not prove whole" {
	local settings ranks

	for settings in SCR_FLUSH=1 SCR_FLUSH_ON_RESTART=1 SCR_GLOBAL_RESTART=1 \
		"SCR_FLUSH=1 SCR_FLUSH_ASYNC=1" SCR_RESTART_ANY_RANKS=1; do
		for ranks in "0 1 2" "0 1 2 3 0"; do
			echo "$settings, $ranks"
			fresh
			# shellcheck disable=SC2086,SC2163 # several
			(export $settings SCR_START_OVER=1 && works "$ranks" app_restart 0 skip=1)
			[[ -z $(find "$PREFIX" -name 'rank_*') ]]
			[[ $(scr_flush_file --dir "$PREFIX" --list-ckpt) == "3 2" ]]
			scr_flush_file --dir "$PREFIX" --need-flush 3
			restarts "0 1 2 3" ckpt.3
		done
	done
}

# unwritable OP PATH ERRNO STICKY ARG...: rank 0 fails to do this with files of PATH,
# once or always.
unwritable() {
	SHIM_RANKS=0 SHIM_OP=$1 SHIM_PATH=$2 SHIM_ERRNO=$3 SHIM_FAIL_AT=1 \
		SHIM_STICKY=$4 works "0 1 2 3" app_restart "${@:5}"
	warned "WARNING: .*/\.scr: .*: the job continues"
}

@test "33.19: files for the commands are no condition of success" {
	local file

	fresh
	unwritable open:w "$PREFIX" ENOSPC 1 2 files=2
	assert_line "restart ckpt.3"
	assert_line "complete 5 0"
	restarts "0 1 2 3" ckpt.5
	SCR_FLUSH=1 fresh
	lose 0 1 2 3
	unwritable open:w "$PREFIX" EROFS 1 0 files=2
	assert_line "restart ckpt.3"
	# Once it is possible, the job writes them.
	for file in flush.scr app.conf nodes.scr; do
		rm -rf "${NODES:?}" .scr
		unwritable rename "$PREFIX/.scr/$file" ENOSPC 0 2 files=2
		[[ -e .scr/app.conf && -e .scr/nodes.scr ]]
		[[ $(scr_inspect -m tree .scr/flush.scr | grep -c CACHE) -eq 2 ]]
	done
}

@test "33.19: a prefix that is mounted read-only: one warning, and none is missing later" {
	privately && return
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0 SCR_HALT_SECONDS=1
	fresh
	rm -rf .scr/* && mount --bind "$PREFIX" "$PREFIX"
	cd "$PREFIX" && mount -o remount,ro,bind "$PREFIX"
	line "restart ckpt.3;complete 5 0" works "0 1 2 3" app_restart 2 files=2
	[[ $(grep -c WARNING <<<"$stderr") -eq 1 ]] || failed "not one warning"
	warned "WARNING: .*/\.scr: .*Read-only file system: the job continues"
	mount -o remount,rw,bind "$PREFIX"
	restarts "0 1 2 3" ckpt.5
	[[ $stderr != *WARNING* ]] || failed "a warning is left"
	[[ $(scr_flush_file --dir "$PREFIX" --list-ckpt) == "5 4" ]]
	[[ -e .scr/app.conf && -e .scr/nodes.scr ]]
}

@test "files, parity and headers removed, truncated, extended, flipped (18, 19, 21)" {
	for SCR_COPY_TYPE in XOR PARTNER RS; do
		# 33.24: the operator hears of it, and once of the rebuild.
		SCR_DEBUG=1 story <<-'END'
			fresh; f=$(dataset 1 3)/rank_1.0; rm "$f"||ckpt.3
			truncate -s 10 "$f"; echo more >>"$(dataset 3 3)/rank_3.1"||ckpt.3
			echo more >>"$f"; rm "$(dataset 1 3)/rank_1.1" # empty||ckpt.3
			fresh; flip "$(dataset 2 3)/rank_2.0" 500||ckpt.3
		END
		warned "rank 2 on node2: dataset 3: .*/rank_2.0: its checksum is wrong"
		[[ $(grep -c "Rebuilt dataset 3" <<<"$output") -eq 1 ]]
	done
	for SCR_COPY_TYPE in $SOME; do
		story <<-'END'
			fresh; rm "$(dataset 2 3)"/.scr/*_of_*||ckpt.3
			[[ $(echo "$(dataset 2 3)"/.scr/*_of_*.redset) == *" "* ]]; lose 1||ckpt.3
			fresh; for red in "$(dataset 1 3)"/.scr/reddesc*_of_*; do flip "$red" 60; done||ckpt.3
			flip "$(dataset 0 3)/.scr/filemap_0" 60||ckpt.3
			lose 2||ckpt.3
		END
	done
	SCR_COPY_TYPE=SINGLE story <<-'END'
		fresh; flip "$(dataset 2 3)/rank_2.0" 500||ckpt.2|dataset 3 `ckpt.3'*removed
	END
}

@test "more than a scheme restores: the older one (20)" {
	story <<-'END'
		fresh; near_end "$(echo "$(dataset 1 3)"/.scr/reddesc.er.1.xor.*)" 100; lose 3||ckpt.2|dataset 3*the checksum is wrong
		fresh; flip "$(dataset 1 3)/rank_1.0" 500; lose 3||ckpt.2|dataset 3*cannot be rebuilt
	END
	# Rank 2 has the copy of rank 1, rank 3 that of rank 2.
	SCR_COPY_TYPE=PARTNER story <<-'END'
		fresh; flip "$(dataset 1 3)/rank_1.0" 500; lose 3||ckpt.3
		flip "$(dataset 2 3)/rank_2.0" 500; lose 3||ckpt.2|dataset 3*cannot be rebuilt
	END
}

@test "a node lost, and a flipped byte of a file of another one" {
	local where

	export SCR_COPY_TYPE=RS SCR_SET_FAILURES=2
	# The first file of the string, the last one; the first byte, the last.
	pick 2 "1 0" "2 500" "1 20479" "2 0" "1 500" "2 20479"
	for where in "${picked[@]}"; do
		fresh "0 1 2 3" size=20480
		flip "$(dataset "${where% *}" 3)/rank_${where% *}.0" "${where#* }"
		after 3 ckpt.3 size=20480
		scr_inspect --checksums "$NODES"/?/"$CACHE"/scr.dataset.3
		[[ -z $(find "$NODES" -name '.regain.*') ]]
	done
}

# read_bytes NAME SIZE: how often each byte of a file was read, by all ranks.
read_bytes() {
	cat "$BATS_TEST_TMPDIR"/trace.* | awk -v name="/$1>" -v size="$2" '
	index($0, name) && $NF > 0 { n += $NF }
	END { print n / size }'
}

@test "a restart reads each file once, with and without losses" {
	local k lost map="0 1 2 3"

	command -v strace >/dev/null || skip "no strace"
	not_sanitized strace
	cat >"$BATS_TEST_TMPDIR/traced" <<-EOF
		#!/bin/sh
		exec strace -f -y -s 0 -e trace=pread64 \
			-o "$BATS_TEST_TMPDIR/trace.\$PMI_RANK" \
			"$MPI/app_calls" "\$@"
	EOF
	chmod +x "$BATS_TEST_TMPDIR/traced"
	export SCR_CACHE_SIZE=1
	for SCR_COPY_TYPE in $SOME; do
		for lost in "" 3; do
			fresh "$map" size=100000
			[[ -z $lost ]] || lose "$lost"
			works "$map" "$BATS_TEST_TMPDIR/traced" init finalize
			for k in 0 1 2; do
				size=$(stat -c %s "$(dataset $k 3)/rank_$k.0")
				echo "$SCR_COPY_TYPE, lost: $lost, rank $k"
				((size > 100000))
				[[ $(read_bytes "rank_$k.0" "$size") == 1 ]]
			done
			# What was computed is not read again.
			[[ -z $lost || $(read_bytes rank_3.0 1) == 0 ]]
		done
	done
}

@test "damaged metadata of a node (22); none of a dataset, or nothing of it" {
	for k in 0 2; do
		story <<-'END'
			fresh; rm -r "$(dataset $k 3)/.scr"||ckpt.3
			rm -r "$(dataset $k 3)"||ckpt.3
		END
	done
	story <<-'END'
		fresh; echo garbage >"$NODES/1/$CACHE/cindex.scrinfo"||ckpt.3
		truncate -s 20 "$(dataset 2 3)/.scr/filemap_2"||ckpt.3
		for k in 0 1 2 3; do truncate -s 20 "$(dataset $k 3)/.scr/filemap_$k"; done||ckpt.2
		for k in 0 1 2 3; do echo garbage >"$NODES/$k/$CACHE/cindex.scrinfo"; done||none
	END
}

@test "a rank rejects a checkpoint: the next older one (28), removed or not" {
	fresh
	line "rejected ckpt.3;restart ckpt.2;complete 4 0" \
		works "0 1 2 3" app_restart 2 files=2 reject=1
	restarts "0 1 2 3" ckpt.4
	# It cannot be removed, and is not offered again.
	fresh
	SHIM_RANKS=2 SHIM_OP=rename SHIM_PATH=cindex SHIM_FAIL_AT=1 \
		SHIM_STICKY=1 works "0 1 2 3" app_restart 0 files=2 reject=1
	assert_line "rejected ckpt.3"
	assert_line "restart ckpt.2"
	[[ $stderr == *"dataset 3"*"not removed from the cache"* ]]
}

@test "a checkpoint that was evicted is not offered again" {
	fresh
	SCR_CACHE_SIZE=1 works "0 1 2 3" app_calls init have_restart flags=1 \
		complete_output have_restart start_restart complete_restart finalize
	assert_line "have_restart -> 0 1 ckpt.3"
	assert_line "have_restart -> 0 1 set"
	assert_line "start_restart -> 0 set"
	fresh
	SCR_CACHE_SIZE=1 dies "0 1 2 3" app_calls init have_restart flags=1 \
		complete_output start_restart
	[[ $stderr == *"Can only call SCR_Start_restart()"* ]]
}

@test "a checkpoint whose restart cannot begin is not offered again" {
	local f=$SSD/$CACHE/scr.dataset.3/.scr/filemap_2

	# With and without SCR_Complete_restart().
	for complete in "" complete_restart; do
		fresh
		works "0 1 2 3" app_calls init have_restart "unlink=$f" \
			start_restart $complete \
			have_restart start_restart complete_restart finalize
		assert_line "start_restart -> 1 ckpt.3"
		[[ -z $complete ]] || assert_line "complete_restart -> 1"
		assert_line "have_restart -> 0 1 ckpt.2"
		assert_line "start_restart -> 0 ckpt.2"
		assert_line "complete_restart -> 0"
		[[ $(cached 0) == 2 ]] || failed "$(cached 0)"
	done
	# A job that ends there removes nothing.
	fresh
	job "0 1 2 3" app_calls init have_restart "unlink=$f" start_restart finalize
	assert_line "start_restart -> 1 ckpt.3"
	restarts "0 1 2 3" ckpt.3
}

@test "a checkpoint that kills the job is given up; a restart that ends counts anew" {
	# A restart that ends the job.
	killer=(dies "0 1 2 3" app_restart 0 files=2 die=1)
	fresh
	for _ in 1 2 3; do "${killer[@]}"; done
	restarts "0 1 2 3" ckpt.2
	[[ $stderr == *"ckpt.3': 3 restarts in a row failed"* ]]
	export SCR_RESTART_ATTEMPTS=2
	fresh
	for _ in 1 2; do
		"${killer[@]}"
		restarts "0 1 2 3" ckpt.3
	done
	# All of them are given up: that is no reason to start over.
	for SCR_FLUSH in 0 1; do
		fresh
		for _ in 1 2 3 4 5 6 7; do "${killer[@]}"; done
		for _ in 1 2; do
			dies "0 1 2 3" app_restart 1 files=2
			[[ $stderr == *"SCR_START_OVER=1"* ]] || failed "$stderr"
		done
	done
	SCR_START_OVER=1 restarts "0 1 2 3" none
	# Whoever knows better takes the mark away.
	ends 0 scr_index -q -p "$PREFIX" --checksums --build 3
	restarts "0 1 2 3" ckpt.3
}

@test "ranks with 0 to 3 files, sizes over several messages (49, 50)" {
	export SCR_MPI_BUF_SIZE=4096
	for SCR_COPY_TYPE in $SOME; do
		once job "0 1 2 3" app_restart 1 files=rank size=100000
		pick 2 0 1 2 3
		for k in "${picked[@]}"; do
			lose "$k"
			job "3 2 1 0" app_restart 0 files=rank size=100000
			assert_line "restart ckpt.1"
			job "0 1 2 3" app_restart 0 files=rank size=100000
			assert_line "restart ckpt.1"
		done
	done
}

# The files are those of another program, so what is offered is rejected.
@test "an output dataset is lost: checkpoints after it do not count (47)" {
	cat >"$PREFIX/.scrconf" <<-LINES
		CKPT=0 TYPE=XOR
		CKPT=1 TYPE=SINGLE OUTPUT=1
	LINES
	export SCR_CACHE_SIZE=4 SCR_COPY_TYPE=FILE
	line "complete 3 0" job "0 1 2 3" app_ckpt steps=3 flags=1 flags2=2
	scr_index -q -p "$PREFIX" --delete id:2
	rm "$PREFIX/.scr/flush.scr"
	lose 1
	line "rejected ckpt.1" works "0 1 2 3" app_restart 0
	[[ $output != *ckpt.3* ]]
	[[ $stderr == *"dataset 2 \`ckpt.2'"*"removed from the cache"* ]]
}

@test "equal names of the ranks of a node: lost, a spare one, flushed, fetched, saved (54)" {
	for SCR_COPY_TYPE in $SOME; do
		fresh "0 0 1 1 2 2" equal=1
		lose 1
		restarts "0 0 1 1 2 2" ckpt.3 equal=1
		lose 2
		restarts "0 0 1 1 3 3" ckpt.3 equal=1
	done
	SCR_COPY_TYPE=XOR
	SCR_FLUSH=1 fresh "0 0 1 1" equal=1
	[[ $(find "$PREFIX/ckpt.3" -type f | wc -l) -eq 8 ]] || failed "flushed"
	lose 0 1
	restarts "0 0 1 1" ckpt.3 equal=1
	fresh "0 0 1 1" equal=1
	saved 3 0 1
	lose 0 1
	restarts "0 0 1 1" ckpt.3 equal=1
}

@test "equal names that meet on one node: not taken, and not damaged" {
	fresh "0 1 2 3" equal=1
	lose 1
	SCR_START_OVER=1 restarts "0 0 2 3" none equal=1
	[[ $stderr == *": f: two ranks on node node0 have a file of this name"* ]] ||
		failed "message"
	[[ $stderr == *"stays in the cache"* ]] || failed "kept"
	restarts "0 1 2 3" ckpt.3 equal=1
	# Ranks may swap places.
	restarts "3 2 1 0" ckpt.3 equal=1
}

# A job whose ids start again writes ckpt.1 to 3 once more; then node 1 is the
# one that was away meanwhile, whose cindex may be damaged.
@test "a node comes back with older datasets of the same numbers" {
	local what cindex

	for SCR_COPY_TYPE in XOR SINGLE; do
		what=none
		[[ $SCR_COPY_TYPE == SINGLE ]] || what=ckpt.3
		for cindex in kept damaged missing; do
			fresh
			mv "$NODES/1" "$BATS_TEST_TMPDIR/away"
			fresh "0 1 2 3" size=1001
			rm -r "$NODES/1"
			mv "$BATS_TEST_TMPDIR/away" "$NODES/1"
			case $cindex in
			damaged) echo garbage >"$NODES/1/$CACHE/cindex.scrinfo" ;;
			missing) rm "$NODES/1/$CACHE/cindex.scrinfo" ;;
			esac
			restarts "0 1 2 3" $what size=1001
			grep -q 'on node1: .*/scr.dataset.3: removed: other' \
				<<<"$stderr" || failed "$cindex: message"
			after 2 $what size=1001
		done
	done
}

@test "a rebuild does not make a dataset complete: who does that is the job that wrote it" {
	local at

	works "0 1 2 3" app_ckpt steps=1 size=100000
	cp -a "$NODES" kept
	for ((at = 3; at < 20; at++)); do
		# It was killed before it could say so; the next one while it
		# rebuilds.
		rm -rf .scr/flush.scr "${NODES:?}"
		cp -a kept "$NODES"
		lose 1
		LD_PRELOAD=$SHIM SHIM_KILL_AT=$at SHIM_PATH=/scr.dataset.1/ \
			job "0 1 2 3" app_calls init finalize
		! grep -aqs SYNC_FLUSHING .scr/flush.scr || break
	done
	((at < 20))
	! grep -aq CACHE .scr/flush.scr || failed "called complete"
	saved 1 0 2 3
}
