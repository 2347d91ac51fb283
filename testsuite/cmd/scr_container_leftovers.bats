#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2030,SC2031 # bats sets them; `try` is no subshell
# What interrupted runs leave: unpack and extract fill a directory under a
# temporary name; whatever is run next leaves nothing of it.

load helper

: "${GEN:=$BIN/../gen}" "${SHIM:=$BIN/../shim.so}"

setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	umask 022
	[[ -e $SHIM ]] || skip "no fault shim"
	"$GEN/gen_dataset" -q --prefix plain --ranks 2 --nodes 2 --files 12 \
		--size 1000,500 --recorded-prefix /job/p
	scr_index -q -p plain --build 1 --checksums
	cp -a plain packed
	scr_container -q -p packed pack --with-redundancy 1
	mkdir whole
	cp -a plain/ckpt.1 whole/
}

temps()
{
	find "$1" -name '.scrkit-*.tmp' | sort
}

# killed OPERATION COMMAND...: run it, and kill it there.
killed()
{
	try env LD_PRELOAD="$SHIM" SHIM_KILL_AT="$1" "${@:2}"
}

# operations COMMAND...: how many operations the command makes.
operations()
{
	rm -f count
	env LD_PRELOAD="$SHIM" SHIM_COUNT_FILE=count "$@" >/dev/null
	cat count
}

@test "unpack is killed, and pack is run instead" {
	local n seen=0 total

	rmdir packed/ckpt.1
	cp -a packed p
	total=$(operations scr_container -q -j 1 -p p unpack 1)
	for n in $(moments "$total"); do
		rm -rf p
		cp -a packed p
		killed "$n" scr_container -q -j 1 -p p unpack 1
		[[ -z $(find p -path '*/.scrkit-*.tmp/*') ]] || seen=1
		scr_container -q -p p pack 1
		scr_container -q -p p verify 1
		[[ -z $(temps p) ]] || failed "operation $n: $(temps p)"
		scr_container -q -p p unpack 1
		diff -r plain/ckpt.1 p/ckpt.1
	done
	((seen)) || failed "no kill left a temporary directory"
}

@test "unpack is killed, and the dataset deleted" {
	local n total

	rmdir packed/ckpt.1
	cp -a packed p
	total=$(operations scr_container -q -j 1 -p p unpack 1)
	for n in $(moments "$total"); do
		rm -rf p
		cp -a packed p
		killed "$n" scr_container -q -j 1 -p p unpack 1
		scr_index -q -p p --delete 1
		[[ ! -e p/ckpt.1 && ! -e p/.scr/scr.dataset.1 ]]
		[[ -z $(temps p) ]] || failed "operation $n: $(temps p)"
	done
}

@test "extract is killed, and run again" {
	local n seen=0 total

	total=$(operations scr_container -q -j 1 -p packed extract -C out 1)
	for n in $(moments "$total"); do
		rm -rf out
		killed "$n" scr_container -q -j 1 -p packed extract -C out 1
		[[ -z $(find out -path '*/.scrkit-*.tmp/*') ]] || seen=1
		# Each file has its name with all its bytes, or not at all.
		for file in out/ckpt.1/*; do
			[[ ! -e $file ]] || cmp "$file" "plain/ckpt.1/${file##*/}"
		done
		scr_container -q -f -p packed extract -f -C out 1
		diff -r whole out
	done
	((seen)) || failed "no kill left a temporary directory"
}

@test "the directory that pack has emptied is filled by one rename" {
	cp -a packed p
	chmod 2751 p/ckpt.1
	was=$(stat -c '%a %u %g' p/ckpt.1)
	LD_PRELOAD=$SHIM SHIM_TRACE=$PWD/trace \
		scr_container -q -j 1 -p p unpack 1
	diff -r plain/ckpt.1 p/ckpt.1
	[[ $(stat -c '%a %u %g' p/ckpt.1) == "$was" ]]
	run grep -c 'rename.*rank_' trace
	assert_output_is 0
}

@test "a directory with more than a mode is filled, not replaced" {
	cp -a packed p
	setfattr -n user.stripes -v 4 p/ckpt.1 2>/dev/null ||
		skip "no extended attributes here"
	scr_container -q -p p unpack 1
	diff -r plain/ckpt.1 p/ckpt.1
	getfattr --only-values -n user.stripes p/ckpt.1 | grep -qx 4
}
