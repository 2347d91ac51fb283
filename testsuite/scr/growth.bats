#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # bats and job set them
# What a call costs each rank as the job grows: collectives, messages, bytes and
# file operations are counted, not seconds.  Two ranks a node, sets of two.
# Prints a table; the laws are those of lib/scr/README.md.

load helper

setup()
{
	job_setup
	export SCR_FLUSH=4 SCR_SET_SIZE=2 JOB_LIMIT=600
}

# count RANKS: counts of a first run, of a restart from the caches, and of a
# restart from the prefix, into the file $BATS_TEST_TMPDIR/RANKS.
count()
{
	local map out=$BATS_TEST_TMPDIR/$1 nodes=$(($1 / 2))

	map=$(seq 0 $(($1 - 1)) | awk '{ print int($1 / 2) }' | xargs)
	rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
	job "$map" app_growth write
	assert_status 0
	printf '%s\n' "$output" >"$out"
	job "$map" app_growth restart
	assert_status 0
	sed -n 's/^Init /Init_cached /p' <<<"$output" >>"$out"
	grep -E '^(Start|Complete)_restart' <<<"$output" >>"$out"
	# shellcheck disable=SC2046 # numbers
	lose $(seq 0 $((nodes - 1)))
	job "$map" app_growth restart
	assert_status 0
	sed -n 's/^Have_restart /Have_restart_fetch /p' <<<"$output" >>"$out"
}

# table RANKS...: counts of rank 0 and of the others, side by side.
table()
{
	local n

	for n; do
		sed "s/^/$n /" "$BATS_TEST_TMPDIR/$n"
	done | awk -v all="$*" '
	!(($2, $3) in seen) { seen[$2, $3]; order[++rows] = $2 SUBSEP $3 }
	{ cell[$2, $3, $1] = $4 "/" $5; some[$2, $3] += $4 + $5 }
	END {
		n = split(all, ranks)
		printf "# %-19s %-12s", "rank 0/others", "ranks:"
		for (i = 1; i <= n; i++)
			printf " %12s", ranks[i]
		print ""
		for (r = 1; r <= rows; r++) {
			split(order[r], k, SUBSEP)
			if (some[k[1], k[2]] == 0)
				continue
			printf "# %-19s %-12s", k[1], k[2]
			for (i = 1; i <= n; i++)
				printf " %12s", cell[k[1], k[2], ranks[i]]
			print ""
		}
	}' >&3
}

# grows RANKS RANKS: check the laws between two sizes of the job; print what
# breaks one.
grows()
{
	awk -v p="$1" -v q="$2" '
	# Small numbers get more digits, and paths other homes.
	function most(c, was) {
		if (c == "messages" || c == "bytes")
			return was + 10
		# Of the makers of two directories one makes their parent.
		if (c == "fileops")
			return was + 3
		return c == "msgbytes" ? was * 1.1 + 500 : was
	}
	function check(who, is, limit) {
		if (is > limit) {
			print $1, $2, who ": " is ", at most " limit
			bad = 1
		}
	}
	FNR == NR { zero[$1, $2] = $3; other[$1, $2] = $4; next }
	{
		a = most($2, zero[$1, $2])
		b = most($2, other[$1, $2])
		# A part leader has the lists of its ranks; who makes a
		# directory hears of it from each node.
		part = $1 == "with_flush" || $1 == "Have_restart_fetch"
		if (part && $2 == "messages") {
			a += q - p + (q - p)
			b += q - p
		}
		if (part && $2 == "msgbytes") {
			a += (q - p) * 500
			b += (q - p) * 50
		}
		check("rank 0", $3, a)
		check("another rank", $4, b)
	}
	END { exit bad }' "$BATS_TEST_TMPDIR/$1" "$BATS_TEST_TMPDIR/$2"
}

@test "4 and 16 ranks: no rank does more in the larger job" {
	count 4
	count 16
	table 4 16
	try grows 4 16
	[[ -z $output ]] || failed "a law is broken"
}

@test "64 and 256 ranks, too" {
	[[ -n ${SCRKIT_SLOW-} ]] || skip "slow"
	count 4
	count 64
	count 256
	table 4 64 256
	try grows 4 64
	[[ -z $output ]] || failed "a law is broken"
	try grows 64 256
	[[ -z $output ]] || failed "a law is broken"
}
