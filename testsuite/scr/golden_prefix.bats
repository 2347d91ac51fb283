#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The prefix: libscr flushes what LLNL's library has flushed, and leaves the
# same metadata; it fetches what LLNL's library has flushed.

load helper

# snapshot CASE MAP TYPE FAILURES: the prefix that LLNL's library left is in
# $BATS_TEST_TMPDIR/from, with a list of files for each rank beside it; the
# settings of that job are in the environment.
snapshot() {
	local from print r

	from=$(golden "scr3/$1/flushed/prefix")
	print=$(golden "scr3/$1/flushed.print.txt")
	rm -rf "${NODES:?}" "${PREFIX:?}"/.scr "${PREFIX:?}"/*
	rm -rf "$BATS_TEST_TMPDIR"/from*
	cp -a "$from" "$BATS_TEST_TMPDIR/from"
	r=0
	for _ in $2; do
		: >"$BATS_TEST_TMPDIR/from.$r"
		r=$((r + 1))
	done
	awk -v to="$BATS_TEST_TMPDIR/from." '
	/^#####/ { part = /rank2file\.[0-9]/ }
	part && /^    [0-9]+$/ { rank = $1 }
	part && /^        [^ ]/ { print substr($0, 9) >(to rank) }' "$print"
	export SCR_USER_NAME=golduser SCR_JOB_ID=1000 SCR_JOB_NAME=goldjob
	export SCR_CLUSTER_NAME=goldcluster SCR_FLUSH=1
	export SCR_COPY_TYPE=$3 SCR_SET_FAILURES=$4
}

# A metadata file, key by key: without values that are times, and without what
# LLNL's library does not know about the files of a rank2file.
text() {
	scr_inspect -m keyval --sort "$1" |
		sed -E -e 's/^( *(CREATED|FLUSHED) = ).*/\1TIME/' |
		if [[ $1 == *rank2file* ]]; then
			sed -E -e '/^ +(CRC|SIZE|FILES) = /d' \
				-e 's/^( +)FILE = (.*)/\1FILE\n\1  \2/'
		else
			cat
		fi
}

# listing DIR: names, sizes, modes and times of its files, and their contents.
listing() {
	cd "$1" || return
	find . -path ./.scr -prune -o -type f -printf '%p %s %m %T@\n' | sort
	find . -path ./.scr -prune -o -type f -print0 | sort -z |
		xargs -0 sha256sum
}

# The metadata files, but for the log, and what keeps our index safe.
metadata() {
	(cd "$1" && find .scr -type f ! -name log ! -name index.lock \
		! -name index.spare | sort)
}

# flushed CASE MAP TYPE FAILURES: the job that wrote the snapshot, with libscr.
flushed() {
	local f

	snapshot "$@"
	works "$2" app_ckpt from="$BATS_TEST_TMPDIR/from"
	assert_line "complete 1 0"
	diff <(listing "$BATS_TEST_TMPDIR/from") <(listing "$PREFIX")
	diff <(metadata "$BATS_TEST_TMPDIR/from") <(metadata "$PREFIX")
	while IFS= read -r f; do
		[[ $f != */app.conf ]] || continue # not a tree
		[[ -n $(text "$PREFIX/$f") ]] || failed "$f is empty"
		diff <(text "$BATS_TEST_TMPDIR/from/$f") <(text "$PREFIX/$f")
	done < <(metadata "$PREFIX")
}

# fetched CASE MAP TYPE FAILURES: the snapshot is the prefix of a new job.
fetched() {
	local name rank

	snapshot "$@"
	cp -a "$BATS_TEST_TMPDIR/from/." "$PREFIX"
	works "$2" app_calls init have_restart finalize
	assert_line "have_restart -> 0 1 ckpt.1"
	[[ $stderr != *WARNING* ]] || failed "$stderr"
	rank=0
	for node in $2; do
		while IFS= read -r name; do
			cmp "$BATS_TEST_TMPDIR/from/$name" \
				"$NODES/$node/golduser/scr.1000/scr.dataset.1/${name##*/}"
		done <"$BATS_TEST_TMPDIR/from.$rank"
		rank=$((rank + 1))
	done
	ends 0 scr_index --prefix "$PREFIX" --verify 1
	# And what was fetched can be lost.
	if [[ $3 != SINGLE ]]; then
		rm "$PREFIX/.scr/index.scr"
		lose "${2##* }"
		SCR_FETCH=0 job "$2" app_calls init have_restart finalize
		assert_line "have_restart -> 0 1 ckpt.1"
	fi
}

# CALL: with each case; "+": only with SCRKIT_SLOW.
for_each_case() {
	local case type failures map n=0

	while read -r case type failures map; do
		[[ $case != +* || -n ${SCRKIT_SLOW-} ]] || continue
		case=${case#+}
		[[ -e $SCRKIT_GOLDEN/scr3/$case/flushed ]] || continue
		"$1" "$case" "$map" "$type" "$failures"
		n=$((n + 1))
	done <<-'END'
		single_8n4 SINGLE 1 0 0 1 1 2 2 3 3
		+partner_4_uneven PARTNER 1 0 1 2 3
		partner_8n4 PARTNER 1 0 0 1 1 2 2 3 3
		xor_4 XOR 1 0 1 2 3
		xor_4_uneven XOR 1 0 1 2 3
		+xor_4_allempty XOR 1 0 1 2 3
		+xor_8n4 XOR 1 0 0 1 1 2 2 3 3
		+rs2_4 RS 2 0 1 2 3
		rs2_4_uneven RS 2 0 1 2 3
		rs2_8n4 RS 2 0 0 1 1 2 2 3 3
	END
	((n > 0)) || skip "no golden data"
}

@test "flushed: files, index, summary, rank2file, flush file, key by key" {
	for_each_case flushed
}

@test "what LLNL's library has flushed is fetched, and protected" {
	for_each_case fetched
}
