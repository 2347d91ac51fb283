#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Older kernels: the tests of paths, links, copying and processes once more
# without the system calls that Linux has got since 4.18, which a filter answers
# with ENOSYS.  Every second test, day by day in turn; SCRKIT_SLOW: all, without
# each of them, and more tests.

load helper

WITHOUT=$BIN/../without

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	"$WITHOUT" openat2 true || skip "no filter of system calls"
	[[ -n ${SCRKIT_SLOW-} ]] ||
		(((BATS_TEST_NUMBER + EPOCHSECONDS / 86400) % 2)) || skip "not today"
}

# again CALLS FILE [FILTER]: the tests of FILE whose names match, without CALLS.
again() {
	local ran path

	# Bats in bats: none of the outer one's variables and programs.
	path=$(tr : '\n' <<<"$PATH" | grep -v bats-core | paste -s -d :)
	try env -i HOME="${HOME-/}" PATH="$path" BIN="$BIN" GEN="$GEN" SHIM="$SHIM" \
		MPI="${MPI-}" TESTSUITE="$TESTSUITE" LC_ALL=C.UTF-8 TZ=UTC \
		SCRKIT_ROOT="${SCRKIT_ROOT-}" SCRKIT_GOLDEN="${SCRKIT_GOLDEN-}" \
		SCRKIT_WITHOUT="$1" TMPDIR="$BATS_TEST_TMPDIR" "$WITHOUT" "$1" \
		bats --tap ${3:+-f "$3"} "$TESTSUITE/$2"
	ran=$(grep -c '^ok' <<<"$output") || true
	echo "# without $1: $2: $ran passed or skipped" >&3
	((status == 0 && ran > 0)) ||
		failed "without $1: $2" "$(grep -A 12 '^not ok' <<<"$output")"
}

@test "unit tests, without any of these calls" {
	for test in path path_walk io put pump transfer copy \
		remote ${SCRKIT_SLOW:+pathcache rebuild hidden}; do
		# Some read files of the source.
		try env -C "$TESTSUITE/.." "$WITHOUT" all "$BIN/../test/t_$test"
		((status == 0)) || failed "t_$test: $status" \
			"$(grep -A 3 '^not ok' <<<"$output")"
	done
}

@test "links, without openat2" {
	again openat2 cmd/confinement.bats \
		"links in|the log|belongs to the owner|scavenge|hard link"
}

@test "a link that stays inside the prefix: the newest checkpoint is saved" {
	export SCR_USER_NAME=genuser
	for call in statx openat2; do
		rm -rf p nodes real
		mkdir -p p real
		gen -p p -n 2 -m 1 --nodes-dir nodes -s 3000 --dir data/new \
			-i 1 -t SINGLE --layout cache
		mkdir -p p/disk2
		ln -s disk2 p/data
		shows "is saved" env -C "$PWD" "$WITHOUT" $call scr_postrun -p p \
			-r local -w "$(uname -n)" -J 1000 --cachedir nodes/node0/cache \
			--cntldir nodes/node0/cntl
		[[ -f p/disk2/new/rank_1_0.ckpt || -f p/disk2/new/rank_1.ckpt ]] ||
			failed "$(find p)"
		ends 0 "$WITHOUT" $call scr_index -p p --verify
		# One that leads out is refused as before.
		rm p/data
		ln -s ../real p/data
		chmod 777 p # anybody's
		warns 1 "leads out of" "$WITHOUT" $call scr_index -p p --verify
		ends 1 env -C "$PWD" "$WITHOUT" $call scr_index -p p --build 1
		[[ -z $(ls real) ]]
	done
}

@test "copying and rebuilding, without any of these calls" {
	again all cmd/scr_copy.bats "every scheme|full prefix"
	again all cmd/scr_rebuild.bats "restores is restored|surviving"
	again all cmd/scr_archive.bats "existing|nothing gets"
}

@test "each call alone, and all the tests of what a user can plant" {
	[[ -n ${SCRKIT_SLOW-} ]] || skip "slow"
	for call in openat2 statx renameat2 close_range pidfd_open \
		copy_file_range clone3 faccessat2 all; do
		for file in confinement conduct scr_copy scr_postrun scr_rebuild \
			scr_archive; do
			again "$call" "cmd/$file.bats"
		done
	done
}
