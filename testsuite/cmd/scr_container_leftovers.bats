#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086 # words
# What interrupted runs leave: unpack and extract write each file under a
# temporary name; whatever is run next removes the files with such names.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	umask 022
	built plain 1 --checksums -n 2 -m 2 -f 12 -s 1000,500 --recorded-prefix /job/p
	cp -a plain packed
	scr_container -q -p packed pack --with-redundancy 1
	mkdir whole
	cp -a plain/ckpt.1 whole/
}

setup() {
	in_no_job
	ln -s "$BATS_FILE_TMPDIR"/{plain,whole} .
	cp -a "$BATS_FILE_TMPDIR/packed" .
}

temps() {
	find "$1" -name '.scrkit-*.tmp' | sort
}

# at_each_kill THEN: kill unpack at a sample of its operations; then the
# function THEN is called, and leaves no temporary file.
at_each_kill() {
	local n
	local unpack=(scr_container -q -j 1 -p p unpack 1)

	rmdir packed/ckpt.1
	cp -a packed p
	for n in $(moments "$(operations "${unpack[@]}")" 6); do
		renew packed
		killed "$n" "${unpack[@]}"
		"$1"
		[[ -z $(temps p) ]] || failed "operation $n: $(temps p)"
	done
}

# killed OPERATION COMMAND...: run it, and kill it there.
killed() {
	try env LD_PRELOAD="$SHIM" SHIM_KILL_AT="$1" "${@:2}"
}

# operations COMMAND...: how many operations the command makes.
operations() {
	rm -f count
	env LD_PRELOAD="$SHIM" SHIM_COUNT_FILE=count "$@" >/dev/null
	cat count
}

@test "unpack is killed, and the dataset deleted" {
	delete_it() {
		scr_index -q -p p --delete 1
		[[ ! -e p/ckpt.1 && ! -e p/.scr/scr.dataset.1 ]]
	}
	at_each_kill delete_it
}

@test "extract is killed, and run again" {
	local n seen=0 total
	local extract=(scr_container -q -j 1 -p packed extract -C out 1)

	total=$(operations "${extract[@]}")
	for n in $(moments "$total" 6); do
		rm -rf out
		killed "$n" "${extract[@]}"
		[[ -z $(temps out) ]] || seen=1
		# Each file has its name with all its bytes, or not at all.
		run ! grep differ <(diff -rq out whole)
		scr_container -q -f -p packed extract -f -C out 1
		diff -r whole out
	done
	((seen)) || failed "no kill left a temporary file"
}

@test "the directory that pack has emptied is filled, and keeps mode, owner and attributes" {
	cp -a packed p
	chmod 2751 p/ckpt.1
	was=$(stat -c '%a %u %g' p/ckpt.1)
	scr_container -q -j 1 -p p unpack 1
	diff -r plain/ckpt.1 p/ckpt.1
	[[ $(stat -c '%a %u %g' p/ckpt.1) == "$was" ]]
	renew packed
	setfattr -n user.stripes -v 4 p/ckpt.1 2>/dev/null ||
		skip "no extended attributes here"
	scr_container -q -p p unpack 1
	diff -r plain/ckpt.1 p/ckpt.1
	getfattr --only-values -n user.stripes p/ckpt.1 | grep -qx 4
}
