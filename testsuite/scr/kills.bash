# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # set for those who load it; bats
#
# kills.bash - jobs that are killed and started again, for kills.bats and
# steps.bats.  Loaded after helper.bash.  A test has
#     $MAP       the nodes of the ranks, as for `job`
#     $JOURNAL   what app_kills did, and what happened to its nodes
# and counts rounds in $ROUND.

: "${SHIM:=$BIN/../shim.so}"
export SHIM

kills_setup() {
	job_setup
	(unshare_pid true) 2>/dev/null || skip "no PID namespaces"
	export SCR_CACHE_SIZE=2 SCR_SET_SIZE=4
	MAP="0 1 2 3"
	JOURNAL=$BATS_FILE_TMPDIR/journal
	ROUND=0
	: >"$JOURNAL"
}

# Begin anew, with empty nodes and an empty prefix.
kills_fresh() {
	rm -rf "${NODES:?}" "${PREFIX:?}"
	mkdir -p "$NODES" "$PREFIX"
	cd "$PREFIX" || return
	echo fresh >"$JOURNAL"
}

# Keep the nodes and the prefix as they are now, or bring them back.
kills_keep() {
	rm -rf "$BATS_TEST_TMPDIR/kept"
	mkdir "$BATS_TEST_TMPDIR/kept"
	cp -a "$NODES" "$PREFIX" "$BATS_TEST_TMPDIR/kept"
	cp "$JOURNAL" "$JOURNAL.kept"
}

kills_bring_back() {
	rm -rf "${NODES:?}" "${PREFIX:?}"
	cp -a "$BATS_TEST_TMPDIR/kept/." "$BATS_TEST_TMPDIR"
	cp "$JOURNAL.kept" "$JOURNAL"
	cd "$PREFIX" || return
}

# Replace this shell by a command that is process 1 of a PID namespace: if it is
# killed, the system kills all that it has started.
unshare_pid() {
	local root=

	((EUID == 0)) || root=-r
	exec unshare $root --pid --fork --kill-child --mount-proc "$@"
}

# begin_round [OPTION]...: start app_kills in the background.
begin_round() {
	local -a words

	read -ra words <<<"$MAP"
	((++ROUND))
	LD_PRELOAD=$MPI/../patient.so unshare_pid timeout -k 2 \
		$((${JOB_LIMIT:-30} * ${SCRKIT_SLOWNESS:-1})) \
		mpiexec ${MPIEXEC_OPTION:+"$MPIEXEC_OPTION"} -n "${#words[@]}" \
		"$TESTSUITE/scr/node.sh" "$MAP" "$MPI/app_kills" "$ROUND" \
		"$JOURNAL" "$@" \
		</dev/null >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	JOB=$!
}

# end_round [STATUS]: wait for the job; its status and messages are those of `try`.
end_round() {
	status=0
	wait "$JOB" || status=$?
	output=$(<"$BATS_TEST_TMPDIR/out")
	stderr=$(<"$BATS_TEST_TMPDIR/err")
	[[ -z ${1-} ]] || assert_status "$1"
}

# The only child of a process; waits until it has one, or has ended.
child_of() {
	local child=

	while [[ -z $child && -e /proc/$1 ]]; do
		read -r child <"/proc/$1/task/$1/children" || true
	done 2>/dev/null
	echo "$child"
}

# Kill the job, all processes at once; fails if it has ended.
kill_round() {
	local rc=0

	kill -KILL "$(child_of "$JOB")" || rc=1
	end_round
	return $rc
}

# The last thing that the job of this round did.
last_note() {
	awk '$1 !~ /^(lost|left)$/ { what = $1 } END { print what }' "$JOURNAL"
}

# judge [ROUND]: is each restart of the journal one that must be?  Prints what is
# wrong.  A restart is from the checkpoint that was last reported complete, or
# from one that was being completed when the job was killed.  In ROUND faults
# happen: it may restart from an older one, and checkpoints may fail; the next
# one may restart from the last but one, if the last is on the prefix alone, and
# from one that failed, if most nodes have committed it.  What was in flight when
# all caches were lost may be whole on the prefix, and found there.
judge() {
	awk -v faulty="${1-0}" '
	function wrong(text) {
		print "line " NR ": " $0 ": " text
		bad = 1
		exit
	}
	$1 == "fresh" { n = 0; begun = "" }
	$1 == "round" { round = $2 }
	$1 == "begin" { begun = "" }
	$1 == "written" { begun = $2 " " round }
	$1 == "left" {
		while (n > 0 && done[n - 1] !~ "^" $2 " ")
			failed[done[--n]]
		if (begun !~ "^" $2 " ") {
			failed[begun]
			begun = ""
		}
	}
	$1 == "complete" { done[n++] = $2 " " round; begun = "" }
	$1 == "failed" { failed[$2 " " round] }
	$1 == "wrong" || ($1 == "failed" && round != faulty) {
		wrong("no such thing may happen")
	}
	$1 == "restart" && $2 == "none" {
		if (n > 0)
			wrong("expected a restart from " done[n - 1])
	}
	$1 == "restart" && round == faulty {
		for (i = n - 1; i >= 0; i--)
			if ($2 " " $3 == done[i])
				break
		if (i < 0)
			wrong("expected a restart from a complete one")
	}
	$1 == "restart" && $2 != "none" && round != faulty {
		is = $2 " " $3
		if (round == faulty + 1 && n > 1 && is == done[n - 2])
			n--
		if (is == begun || is in failed)
			done[n++] = is
		else if (n == 0 || is != done[n - 1])
			wrong("expected " (n > 0 ? done[n - 1] : "none") \
				(begun != "" ? " or " begun : ""))
		begun = ""
	}
	END { exit bad }' "$JOURNAL"
}

# Whatever the index calls valid is whole.
check_prefix() {
	[[ -e $PREFIX/.scr/index.scr ]] || return 0
	[[ -n $(scr_index -p "$PREFIX" --list --json |
		jq -r '.datasets[] | select(.valid) | .id') ]] || return 0
	ends 0 scr_index -p "$PREFIX" --verify --deep --checksums
}
