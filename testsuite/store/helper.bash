# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # set for those who load it; bats
#
# helper.bash - a store, and a plain directory beside it, for the tests of
# libscr_preload.so and lib/store: `load helper`.  A test has
#     $STORE     the store, with clean files in its pool
#     $PLAIN     a directory of the same file system
#     $TAKEN     what each process under the preload says at its end
# Also loads helper.bash of the commands' tests.

load ../cmd/helper

: "${STORES:=$BIN/../store}"
PRELOAD=$(realpath "$BIN/../libscr_preload.so")
tool() { "$STORES/tool" "$@"; }

# beside DIR: make both below this directory, in memory.
beside() {
	STORE=$1/store PLAIN=$1/plain TAKEN=$1/taken
	mkdir -p -m 755 "$STORE" "$PLAIN"
	tool make "$STORE" $((1 << 30))
}

setup() {
	in_no_job
	MEMORY=$BATS_TEST_TMPDIR
	if [[ $(stat -f -c %T "$MEMORY") != tmpfs ]]; then
		MEMORY=$(mktemp -d /dev/shm/scrkit-store.XXXXXX) ||
			skip "no memory file system"
	fi
	chmod 755 "$MEMORY"
	beside "$MEMORY"
}

teardown() {
	[[ $MEMORY == "$BATS_TEST_TMPDIR" ]] || rm -rf "$MEMORY"
}

# huge_pages: the same on a file system of large pages; for tests that run
# `privately`.
huge_pages() {
	mkdir -p "$MEMORY/huge"
	mount -t tmpfs -o size=2g,mode=755,huge=always none "$MEMORY/huge" 2>/dev/null || {
		echo "# no huge pages" >&2
		return
	}
	beside "$MEMORY/huge"
}

# warm [COUNT] [SIZE]: there are clean files.
warm() {
	tool tend "$STORE" >/dev/null
	tool fill "$STORE" "${2:-$((8 << 20))}" "${1:-12}" >/dev/null
}

# preloaded COMMAND...: with the store.
preloaded() {
	LD_PRELOAD=$PRELOAD SCR_STORE=$STORE SCR_STORE_STATS=$TAKEN "$@"
}

# taken: sum of what is in $TAKEN, which is forgotten: "FILES WRITES BYTES GIVEN".
taken() {
	awk '{ t += $3; w += $5; b += $7; g += $9 }
		END { printf "%d %d %d %d\n", t, w, b, g }' "$TAKEN" 2>/dev/null
	rm -f "$TAKEN"
}

# was_fast [FILES] [BYTES]: at least so many files of the pool were taken, and bytes
# written past the cache.
was_fast() {
	local files writes bytes given

	read -r files writes bytes given <<<"$(taken)"
	((${files:-0} >= ${1:-1} && ${bytes:-0} >= ${2:-1})) ||
		failed "expected files of the pool: ${1:-1}, ${2:-1} bytes;" \
			"$files taken, $bytes bytes by $writes writes"
}

# Names, types, modes, links and bytes of all files below a directory.
tree() {
	(cd "$1" && find . -path ./.scrkit-store -prune -o -type f -exec cksum {} + | sort)
	find "$1" -mindepth 1 -printf '%P %y %m %n %U %G %l ' \
		\( -type f -printf '%s\n' -o -printf '\n' \) | sed '/^\.scrkit/d' |
		sort
}

# same FILES BYTES COMMAND...: the command leaves and prints the same in both
# directories; in the store, where all that it starts is preloaded, files of the pool
# were taken, and bytes written past the cache: at least so many.
same() {
	local files=$1 bytes=$2 rc

	shift 2
	warm
	rm -f "$TAKEN"
	rc=0
	(cd "$PLAIN" && "$@") >plain.says 2>&1 </dev/null || rc=$?
	echo "status $rc" >>plain.says
	rc=0
	(cd "$STORE" && preloaded "$@") >store.says 2>&1 </dev/null || rc=$?
	echo "status $rc" >>store.says
	tree "$PLAIN" >>plain.says
	tool tend "$STORE" >tended
	tree "$STORE" >>store.says
	diff -U 3 plain.says store.says || failed "$*: plain directory, store" ""
	was_fast "$files" "$bytes"
	rm -rf "${PLAIN:?}"/* "${STORE:?}"/*
}
