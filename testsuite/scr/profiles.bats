#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# libscr on other file systems, as the profiles of testsuite/shim/profile.c
# imitate them: the prefix, or the cache of all ranks.

load restarts

: "${GEN:=$BIN/../gen}"

setup() {
	job_setup
	export SCR_FLUSH=1 PROFILE_FILE=$BATS_TEST_TMPDIR/calls
	profile=${SHIM%/*}/profile.so
	[[ -e $profile ]] || skip "no shim"
	not_sanitized "two libraries are preloaded"
}

# on PROFILE WHERE PROGRAM ARG...: a job whose ranks see a file system like that
# on all paths that contain WHERE.
on() {
	: >"$PROFILE_FILE"
	RANK_PRELOAD="$profile:$RANK_PRELOAD" PROFILE=$1 PROFILE_PATH=$2 \
		job "${map-0 1 2 3}" "${@:3}"
}

# touched: the profile has changed calls.
touched() {
	[[ -s $PROFILE_FILE ]] || failed "no call was changed"
}

# round PROFILE WHERE: write, protect and flush, restart from the cache with a
# node lost, write again, restart from the prefix.
round() {
	on "$1" "$2" app_restart 2 files=rank size=20000
	printf '%s %s\n' "$output" "$stderr"
	assert_status 0
	touched
	assert_line "complete 2 0"
	whole 1 2
	lose 2
	map="3 4 1 0" on "$1" "$2" app_restart 1 files=rank size=20000
	assert_status 0
	assert_line "restart ckpt.2"
	assert_line "complete 3 0"
	lose 0 1 3 4
	on "$1" "$2" app_restart 1 files=rank size=20000
	assert_status 0
	assert_line "restart ckpt.3"
	whole 1 2 3 4
	[[ -z $(find "$PREFIX" -name '*.tmp' -o -name '.nfs*') ]]
}

# bypassing PROFILE: datasets are written on the prefix; equal names retire
# older ones.
bypassing() {
	export SCR_CACHE_BYPASS=1

	on "$1" /prefix app_restart 2 files=rank size=20000
	printf '%s %s\n' "$output" "$stderr"
	assert_status 0
	touched
	assert_line "complete 2 0"
	whole 1 2
	on "$1" /prefix app_restart 1 files=rank size=20000
	assert_status 0
	assert_line "restart ckpt.2"
	whole 1 2 3
}

@test "the prefix: noflock" { round noflock /prefix; }
@test "the prefix, without a cache: noflock" { bypassing noflock; }
@test "the prefix: acl-only" { round acl-only /prefix; }
@test "the prefix: short-io" { round short-io /prefix; }
@test "the prefix, without a cache: short-io" { bypassing short-io; }
@test "the prefix: nfs" { round nfs /prefix; }
@test "the prefix, without a cache: nfs" { bypassing nfs; }
@test "the prefix: fuse" { round fuse /prefix; }
@test "the prefix, without a cache: fuse" { bypassing fuse; }
@test "the prefix: stale" { round stale /prefix; }
@test "the prefix, without a cache: stale" { bypassing stale; }
@test "the caches: short-io" { round short-io /ssd/; }
@test "the caches: nfs" { round nfs /ssd/; }

# failing PROFILE REASON: a flush that fails is reported with its reason and the
# file, the index calls nothing whole, and the checkpoint stays in the caches.
failing() {
	on "$1" /prefix/ckpt app_restart 1 files=rank size=20000
	touched
	printf '%s %s\n' "$output" "$stderr"
	[[ "$output$stderr" == *"$2"* ]] || failed "reason missing: $stderr"
	try scr_index --prefix "$PREFIX" --verify 1
	((status != 0)) || failed "called whole"
	SCR_FLUSH=0 works "0 1 2 3" app_restart 1 files=rank size=20000
	assert_line "restart ckpt.1"
}

@test "over quota at fsync" { failing quota "quota exceeded"; }
@test "over quota at close" { failing quota-close "quota exceeded"; }
@test "a disk fails at fsync" { failing eio "Input/output error"; }
