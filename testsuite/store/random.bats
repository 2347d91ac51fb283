#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Random operations on files of a store against a model, and writers that are killed
# at random moments.  To run what failed before, or more of it:
#
#     SEED=S TIMES=N testsuite/run.sh --only store/random bats:build/plain

load helper

# served COMMAND...: preloaded, in the store, which is tended meanwhile.
served() {
	local rc=0

	warm
	exec 8> >(exec "$STORES/tool" serve "$STORE" $((8 << 20)) 12)
	(cd "$STORE" && preloaded "$@") 8>&- || rc=$?
	exec 8>&-
	return $rc
}

# model FILES THREADS OPERATIONS
model() {
	local seed=${SEED:-$RANDOM} times=$3

	[[ -z ${SCRKIT_SLOW-} ]] || times=$((1000000 / $2))
	echo "seed $seed"
	served timeout $((3000 * ${SCRKIT_SLOWNESS:-1})) "$STORES/model" "$1" "$2" "${TIMES:-$times}" "$seed"
	was_fast 10 10000000
}

@test "one file: written, mapped, cut, punched, renamed, by children" {
	model 1 1 2000
}

@test "many files of three threads, large pages" {
	privately && return
	huge_pages
	model 6 3 700
}

# kills ROUNDS [OPTION]: in a file system of their own, whose bytes are counted.
kills() {
	local seed=${SEED:-$RANDOM} times=$1

	mount -t tmpfs -o "size=1g,mode=755${2:+,$2}" none "$STORE" ||
		skip "cannot mount: $2"
	tool make "$STORE" $((256 << 20))
	[[ -z ${SCRKIT_SLOW-} ]] || times=5000
	times=${TIMES:-$times}
	"$STORES/kills" "$STORE" "$PRELOAD" "$times" "$seed" >says
	cat says
	# It has done what it is for.
	[[ $(<says) =~ cut\ ([0-9]+).*recycled\ ([0-9]+).*counted\ $times$ ]] || failed
	((BASH_REMATCH[1] > 0 || times < 1000)) || failed "no file was cut"
	((BASH_REMATCH[2] > 0 || times < 1000)) || failed "no file was recycled"
}

@test "writers killed at random moments" {
	privately && return
	kills 60
}

@test "writers killed at random moments, large pages" {
	privately && return
	kills 60 huge=always
}
