#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The commands on what libscr has left in the caches and on the prefix, and jobs
# that go on from what the commands have made of it.

load restarts

setup() {
	job_setup
	pretend_ssh
}

# A new allocation, on other nodes: nothing of its caches is there.
elsewhere() {
	lose 0 1 2 3
	export SCR_JOB_ID=j2
}

# verified DATASET...
verified() {
	local name

	for name; do
		ends 0 scr_index --prefix "$PREFIX" --verify --checksums "$name"
		ends 0 scr_inspect --prefix "$PREFIX" --deep --checksums \
			--dataset "$name"
	done
}

@test "scr_inspect reads every metadata file" {
	local f kind n answers=$BATS_TEST_TMPDIR/answers
	local errors=$BATS_TEST_TMPDIR/errors
	local -A seen

	for SCR_COPY_TYPE in $SCHEMES; do
		export SCR_FLUSH=2
		fresh
		n=0
		seen=()
		: >"$answers"
		while IFS= read -r f; do
			# Two whose names differ only in their numbers; SLOW=1:
			# all.
			kind=${f##*/}
			kind=${kind//[0-9]/}
			seen[$kind]=$((${seen[$kind]-0} + 1))
			((${seen[$kind]} <= 2)) || [[ -n ${SCRKIT_SLOW-} ]] ||
				continue
			scr_inspect --json "$f" >>"$answers" 2>"$errors" ||
				failed "$f"
			[[ ! -s $errors ]] || failed "$f: $(cat "$errors")"
			n=$((n + 1))
		done < <(find "$NODES" "$PREFIX/.scr" -type f \( -path '*/.scr/*' \
			-o -name cindex.scrinfo \) ! -name app.conf \
			! -name log ! -name index.lock ! -name index.spare)
		[[ -n ${seen[filemap_]-} && -n ${seen[cindex.scrinfo]-} &&
			-n ${seen[summary.scr]-} && -n ${seen[index.scr]-} ]] ||
			failed "kinds: ${!seen[*]}"
		jq -es "length == $n" "$answers" >/dev/null ||
			failed "not $n answers in JSON"
	done
}

@test "scr_postrun saves the caches, a node lost; a new job fetches (66)" {
	for SCR_COPY_TYPE in PARTNER XOR RS; do
		export SCR_JOB_ID=j1
		fresh
		lose 1
		ends 0 scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh
		verified ckpt.3
		elsewhere
		restarts "0 1 2 3" ckpt.3
	done
	# What cannot be saved is not called whole.
	export SCR_COPY_TYPE=XOR SCR_JOB_ID=j1
	fresh
	lose 1 2
	try scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh
	((status != 0))
	elsewhere
	restarts "0 1 2 3" none
}

@test "scr_copy and scr_index --build after a job with bypass" {
	local k

	export SCR_CACHE_BYPASS=1
	fresh
	rm .scr/index.scr .scr/scr.dataset.3/summary.scr
	for k in 0 1 2 3; do
		ends 0 on_node "$k" scr_copy --id 3 --cntldir "$SSD/$CACHE" \
			--prefix "$PREFIX"
	done
	ends 0 scr_index --prefix "$PREFIX" --build 3
	verified ckpt.3
	elsewhere
	restarts "0 1 2 3" ckpt.3
}

@test "scr_index: the index again, drop, add, current" {
	export SCR_FLUSH=1
	fresh
	verified ckpt.1 ckpt.2 ckpt.3
	rm .scr/index.scr
	for k in 1 2 3; do
		ends 0 scr_index --prefix "$PREFIX" --add ckpt.$k
	done
	ends 0 scr_index --prefix "$PREFIX" --drop ckpt.3
	elsewhere
	restarts "0 1 2 3" ckpt.2
	ends 0 scr_index --prefix "$PREFIX" --add ckpt.3
	ends 0 scr_index --prefix "$PREFIX" --current ckpt.3
	after "0 1 2 3" ckpt.3
}

@test "scr_rebuild on the prefix: what scr_copy saved, a rank's files lost" {
	for SCR_COPY_TYPE in PARTNER XOR RS; do
		export SCR_JOB_ID=j1
		fresh
		ends 0 scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh
		rm ckpt.3/d2/rank_2.*
		ends 0 scr_rebuild --prefix "$PREFIX" ckpt.3
		verified ckpt.3
		elsewhere
		restarts "0 1 2 3" ckpt.3
	done
}

@test "scr_container: packed, verified, unpacked; a job restarts from either" {
	export SCR_FLUSH=1
	fresh
	ends 0 scr_container pack --prefix "$PREFIX" ckpt.3
	[[ ! -e ckpt.3/d1/rank_1.0 ]] || failed "not packed"
	ends 0 scr_container verify --prefix "$PREFIX" ckpt.3
	try scr_container list --prefix "$PREFIX" ckpt.3
	[[ $output == *ckpt.3/d1/rank_1.0* ]] || failed "list"
	elsewhere
	restarts "0 1 2 3" ckpt.3
	ends 0 scr_container unpack --prefix "$PREFIX" ckpt.3
	verified ckpt.3
	try scr_index --prefix "$PREFIX" --current ckpt.3
	after "0 1 2 3" ckpt.3
}

@test "scr_container: exported, imported elsewhere; a job restarts there" {
	export SCR_FLUSH=1
	fresh
	ends 0 scr_container export --prefix "$PREFIX" -o all.tar ckpt.3
	tar -tf all.tar | grep -q 'd3/rank_3.0$' || failed "archive"
	mkdir other
	ends 0 scr_container import --prefix "$PREFIX/other" all.tar
	elsewhere
	cd other
	restarts "0 1 2 3" ckpt.3
	assert_line "from $SSD/tester/scr.j2/scr.dataset.$(
		find .scr -maxdepth 1 -name 'scr.dataset.*' | sed 's/.*\.//'
	)/rank_0.0"
}

@test "beside a job whose flush is in the background: index, flush file, halt (65)" {
	local tmp=$BATS_TEST_TMPDIR

	# Slow enough for a flush to last until its end is looked for.
	export SCR_FLUSH=1 SCR_FLUSH_ASYNC=1 SCR_FLUSH_ASYNC_BW=1000000 SCR_CACHE_SIZE=3
	cd "$PREFIX"
	rm -rf "${NODES:?}"/* .scr ckpt.*
	works "0 1 2 3" app_kills 1 "$tmp/journal" steps=9 "hold=4:$tmp/hold" exit=1 &
	until [[ -e $tmp/hold ]]; do
		kill -0 $! || failed "no job"
		sleep 0.05
	done
	# The job cannot have noticed the end of the third flush.
	[[ $(ids .valid) == "1 2" && $(ids .is_current) == 2 ]] ||
		failed "$(ids .valid), $(ids .is_current)"
	ends 0 scr_flush_file --dir . --need-flush 3
	prints FLUSHING scr_flush_file --dir . --location 3
	ends 1 scr_flush_file --dir . --need-flush 2
	prints PFS scr_flush_file --dir . --location 2
	prints 3 scr_flush_file --dir . --latest
	prints "3 2 1" scr_flush_file --dir . --list-ckpt
	ends 0 scr_index --drop ckpt.1
	ends 0 scr_index --current ckpt.2
	ends 1 scr_index --add ckpt.3
	ends 0 scr_halt --checkpoints 1 .
	mv "$tmp/hold" "$tmp/hold.over"
	wait $!
	# It wrote one more, and has changed nothing of that.
	[[ $(grep -c ^complete "$tmp/journal") == 4 && $(tail -n 1 "$tmp/journal") == end ]]
	[[ $(ids .valid) == "2 3 4" && $(ids .is_current) == 4 ]] || failed "$(ids .valid)"
	ends 0 scr_index --add ckpt.1
	verified ckpt.1 ckpt.3 ckpt.4
	ends 1 scr_flush_file --dir . --need-flush 4
}

@test "scr_run: a rank is killed in the first run, the next one continues from the cache (65)" {
	local tmp=$BATS_TEST_TMPDIR ways

	cat >"$tmp/app" <<-END
		#!/bin/sh
		echo run >>$tmp/runs
		n=\$(wc -l <$tmp/runs)
		[ "\$n" -gt 1 ] || lone=lone=2
		exec ${as_root[*]} mpiexec -n 4 $TESTSUITE/scr/node.sh "0 1 2 3" \\
			$MPI/app_kills "\$n" $tmp/journal steps=3 \$lone
	END
	chmod +x "$tmp/app"
	# Nothing can be read from the prefix.
	export SCR_REMOTE=ssh SCR_NODELIST='node[0-3]' SCR_FETCH=0 SCR_RUNS=3
	for ways in "0 0 0" "1 0 0" "1 1 0" "1 1 1"; do
		read -r SCR_FLUSH SCR_FLUSH_ASYNC SCR_CACHE_BYPASS <<<"$ways"
		export SCR_FLUSH SCR_FLUSH_ASYNC SCR_CACHE_BYPASS
		rm -rf "${NODES:?}" .scr ckpt.* "$tmp/runs" "$tmp/journal"
		mkdir -p "$NODES"/{0..3}
		ends 0 scr_run --pause 0 "$tmp/app"
		[[ $(wc -l <"$tmp/runs") == 2 ]] || failed "$ways: $(wc -l <"$tmp/runs") runs"
		[[ $(grep -A 1 "^round 2" "$tmp/journal") == *"restart 1 1" ]] ||
			failed "$ways: $(<"$tmp/journal")"
		[[ $(tail -n 1 "$tmp/journal") == end ]]
		# Whatever was not flushed, scr_run has saved.
		scr_index --list --json | jq -e '[.datasets[] | select(.is_current) |
			.name] == ["ckpt.4"]' >/dev/null || failed "$ways"
		verified ckpt.4
	done
}
