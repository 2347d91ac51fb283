#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What a call costs each rank as the job grows, and as a rank has more files:
# collectives, messages, bytes and file operations are counted, not seconds.  Two
# ranks a node, sets of two.  The laws are those of lib/scr/README.md.

load helper

setup() {
	job_setup
	export SCR_FLUSH=4 SCR_SET_SIZE=2 JOB_LIMIT=600
}

# rows NAME NEW: of what the job has printed, the lines of a call, by a new name,
# to $out.
rows() {
	sed -n "s/^$1 /$2 /p" <<<"$output" >>"$out"
}

# count RANKS FILES: counts of a first run, of a restart from the caches, of one
# after a lost node, and of one from the prefix, into RANKS.FILES below
# $BATS_FILE_TMPDIR; not again for another test.
count() {
	local map out=$BATS_FILE_TMPDIR/$1.$2 nodes=$(($1 / 2))

	[[ ! -e $out ]] || return 0
	map=$(seq 0 $(($1 - 1)) | awk '{ print int($1 / 2) }' | xargs)
	rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
	works "$map" app_growth write "$2"
	printf '%s\n' "$output" >"$out"
	works "$map" app_growth restart "$2"
	rows Init Init_cached
	rows Have_restart Have_restart
	rows Start_restart Start_restart
	rows Complete_restart Complete_restart
	lose 0
	works "$map" app_growth restart "$2"
	rows Init Init_rebuild
	# shellcheck disable=SC2046 # numbers
	lose $(seq 0 $((nodes - 1)))
	works "$map" app_growth restart "$2"
	rows Have_restart Have_restart_fetch
}

# Laws: sizes are "RANKS.FILES" of those counted.  Counts of rank 0 are
# in $4, the most of another rank is in $5.
sizes() {
	local n

	for n; do
		sed "s/^/$n /" "$BATS_FILE_TMPDIR/$n"
	done
}

# grows SIZE SIZE: check the laws between two sizes of the job; print what breaks
# one.
grows() {
	awk -v p="${1%.*}" -v q="${2%.*}" '
	# Small numbers get more digits, and paths other homes; in a small job
	# ranks have several duties, and need no message for that.
	function most(c, was) {
		if (c == "messages" || c == "bytes")
			return was + 16
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
	END { exit bad }' "$BATS_FILE_TMPDIR/$1" "$BATS_FILE_TMPDIR/$2"
}

# crosses RANKS RANKS FILES FILES: what more files of each rank cost a rank does
# not depend on how many ranks there are, but for the lists of a part of
# rank2file; print what breaks this.
crosses() {
	sizes "$1.$3" "$1.$4" "$2.$3" "$2.$4" | awk -v p="$1" -v q="$2" \
		-v f="$3" -v g="$4" '
	!(($2, $3) in seen) { seen[$2, $3]; order[++rows] = $2 SUBSEP $3 }
	{
		zero[$2, $3, $1] = $4
		other[$2, $3, $1] = $5
	}
	function more(of, row, ranks) {
		return of[row, ranks "." g] - of[row, ranks "." f]
	}
	function check(who, row, few, many, room) {
		if (many > few + room) {
			sub(SUBSEP, " ", row)
			print row, who ": " (g - f) " files more cost " few \
				" with " p " ranks, " many " with " q
			bad = 1
		}
	}
	END {
		for (r = 1; r <= rows; r++) {
			split(order[r], k, SUBSEP)
			room = part = 0
			# Each file more goes to one rank more, if there are
			# so many; paths have more digits, and times fewer if
			# files are written early in a second: three times in
			# each description of a file.  One entry for each
			# file of each rank more would be 100 bytes and more.
			if (k[2] == "messages")
				room = 3 * (g - f)
			if (k[2] == "fileops")
				room = 3
			if (k[2] == "msgbytes")
				room = 1500 + (g - f) * 300
			if (k[2] == "msgbytes" && (k[1] == "with_flush" ||
			    k[1] == "Have_restart_fetch"))
				part = (g - f) * (q - p) * 60
			check("rank 0", order[r], more(zero, order[r], p),
				more(zero, order[r], q), room + part)
			check("another rank", order[r], more(other, order[r], p),
				more(other, order[r], q), room)
		}
		exit bad
	}'
}

@test "4 and 16 ranks: no rank does more in the larger job" {
	count 4 2
	count 16 2
	ends 0 grows 4.2 16.2
}

@test "2 and 32 files of a rank: no cost grows with ranks times files" {
	count 4 2
	count 4 32
	count 16 2
	count 16 32
	ends 0 crosses 4 16 2 32
}

@test "64 and 256 ranks, too" {
	[[ -n ${SCRKIT_SLOW-} ]] || skip "slow"
	count 4 2
	count 64 2
	count 256 2
	ends 0 grows 4.2 64.2
	ends 0 grows 64.2 256.2
}
