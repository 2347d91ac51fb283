#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Every function of libc that deals with files does in a store under the preload
# what it does in a plain directory.

load helper

# transcripts [fresh]: of all cases (CALLS: of these) in both directories; each with a
# new pool, or one of files that were deleted.
transcripts() {
	local name fast bad=0 some=" ${CALLS-} "

	while read -r -u 8 name fast; do
		[[ $some == "  " || $some == *" $name "* ]] || continue
		# No name has a history.
		tool set "$STORE" earlier 0
		[[ -z ${1-} ]] || { rm -rf "$STORE/.scrkit-store" && beside "${STORE%/*}"; }
		warm
		(cd "$PLAIN" && timeout 60 "$STORES/calls" "$name") >plain.says 2>&1 ||
			echo "status $?" >>plain.says
		(cd "$STORE" && preloaded timeout 60 "$STORES/calls" "$name") \
			>store.says 2>&1 || echo "status $?" >>store.says
		tree "$PLAIN" >>plain.says
		tool tend "$STORE" >/dev/null
		tree "$STORE" >>store.says
		rm -rf "${PLAIN:?}"/* "${STORE:?}"/*
		if ! diff -U 2 plain.says store.says >differ; then
			echo "$name: plain directory, store:"
			sed -n '3,40p' differ
			bad=1
		fi
		if [[ -n $fast ]]; then
			was_fast || { echo "$name" && bad=1; }
		fi
		rm -f "$TAKEN"
	done 8< <("$STORES/calls") >&2
	return $bad
}

@test "all calls, small pages" {
	transcripts fresh
}

@test "all calls, large pages" {
	privately && return
	huge_pages
	transcripts
}
