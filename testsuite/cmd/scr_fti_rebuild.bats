#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_fti rebuild and protect, killed at any moment or with any file operation
# failing: originals stay, no file with a name is wrong, and another run
# completes the work.  SCRKIT_KILLS: how often they are killed (9; with
# SCRKIT_SLOW 200).

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	kills=${SCRKIT_KILLS:-$((${#SCRKIT_SLOW} > 0 ? 200 : 9))}
	taken "$TESTSUITE/data/golden/fti/levels-E-v1.6/L3" right
	# Rebuilt parity has another time in its record.
	find right -name '*RSed[2-5].fti' -delete
	scr_fti rebuild -q right
	cp -R right lost
	rm -r lost/Local/node1
	: >"$(echo lost/Local/node2/*/l3/Ckpt3-Rank4.fti)"
	damaged=$(cd lost && echo Local/node2/*/l3/Ckpt3-Rank4.fti)
}

# fresh: c is what is left after the loss.
fresh() {
	renew lost c
}

# intact: each file in c has the bytes of `right`, or is the damaged one;
# temporary files and the lock aside.
intact() {
	local left

	# Nothing is another or gone; more is temporary, or what was lost.
	left=$(diff -rq -x ".scrkit[-.]*" right c | grep -v "^Only in right") || true
	[[ -z $left ]] || {
		[[ $left == "Files right/$damaged and c/$damaged differ" &&
			! -s c/$damaged ]] || failed "$1: $left"
	}
	# What was there is still there.
	left=$(diff -rq lost c | grep "^Only in lost") || true
	[[ -z $left ]] || failed "$1: removed: $left"
}

# completes WHAT: another run gives `right`, without leftovers; the lock file of
# a killed run may stay if nothing was left to do.
completes() {
	try scr_fti rebuild c
	[[ $status = 0 ]] || failed "$1: another run"
	diff -r -x .scrkit.lock right c || failed "$1: another result"
}

# count_operations OPTION...: how many file operations a rebuild has.
count_operations() {
	fresh
	rm -f count
	env "$@" LD_PRELOAD="$SHIM" SHIM_COUNT_FILE="$PWD/count" \
		scr_fti rebuild -q -j 1 c
	diff -r right c
	total=$(tail -n 1 count)
	((total > 20))
}

@test "rebuild killed at random moments: originals whole, run again completes" {
	count_operations SHIM_ALL=1
	for ((round = 0; round < kills; round++)); do
		n=$((RANDOM % total + 1))
		when=KILL_AT
		((RANDOM % 2)) || when=KILL_AFTER
		fresh
		try env LD_PRELOAD="$SHIM" SHIM_ALL=1 "SHIM_$when=$n" \
			scr_fti rebuild -q -j $((round % 2 + 1)) c
		intact "killed ($when $n of $total)"
		completes "killed ($when $n of $total)"
	done
}

@test "rebuild with each file operation failing in turn" {
	count_operations
	for errno in EIO ENOSPC; do
		for n in $(moments "$total" 5); do
			fresh
			try env LD_PRELOAD="$SHIM" SHIM_FAIL_AT="$n" \
				SHIM_ERRNO=$errno scr_fti rebuild -q -j 1 c
			intact "$errno at $n of $total"
			if ((status == 0)); then
				diff -r -x .scrkit.lock right c || failed "$errno at $n"
			else
				[[ $stderr == "scr_fti: "* ]] ||
					failed "$errno at $n: no message"
			fi
			completes "$errno at $n of $total"
		done
	done
}

@test "rebuild with each read failing in turn" {
	count_operations SHIM_OP=pread SHIM_READS=1
	for n in $(moments "$total" 5); do
		fresh
		try env LD_PRELOAD="$SHIM" SHIM_OP=pread SHIM_READS=1 \
			SHIM_FAIL_AT="$n" scr_fti rebuild -q -j 1 c
		intact "read $n of $total"
		completes "read $n of $total"
	done
}

@test "a stop by a signal leaves no temporary file" {
	fresh
	ends 1 env LD_PRELOAD="$SHIM" SHIM_OP=fsync SHIM_FAIL_AT=1 scr_fti rebuild c
	[[ -z $(find c -name '.scrkit-*') ]]
	intact "failed sync"
}

@test "a full file system is said before anything is written" {
	fresh
	tree_sha c >before
	warns 1 "No space left" env LD_PRELOAD="$SHIM" SHIM_OP=pwrite SHIM_FAIL_AT=1 \
		SHIM_STICKY=1 SHIM_ERRNO=ENOSPC scr_fti rebuild c
	diff before <(tree_sha c)
}

@test "protect killed at random moments: run again completes" {
	find right -name '*RSed*' -delete
	for dir in right/Local/node*/*/l3; do
		mv "$dir" "${dir%3}1"
	done
	mv right from
	cp -R from right
	scr_fti protect -q --level 3 right
	renew from c
	env LD_PRELOAD="$SHIM" SHIM_ALL=1 SHIM_COUNT_FILE="$PWD/count" \
		scr_fti protect -q --level 3 -j 1 c
	total=$(tail -n 1 count)
	for ((round = 0; round < kills / 3; round++)); do
		n=$((RANDOM % total + 1))
		renew from c
		try env LD_PRELOAD="$SHIM" SHIM_ALL=1 SHIM_KILL_AT=$n \
			scr_fti protect -q --level 3 -j 1 c
		diff -r -x l3 -x .scrkit.lock from c || failed "killed at $n"
		try scr_fti protect --level 3 c
		[[ $status = 0 ]] || failed "killed at $n of $total"
		diff -r -x .scrkit.lock right c || failed "killed at $n of $total"
	done
}
