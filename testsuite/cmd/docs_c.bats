#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The examples in C of the pages of libscr compile against scr.h, without
# warnings.  scr/pages.bats runs the program of scr(3).

load helper

MAN=$TESTSUITE/../man

setup() {
	MPICC=${MPICC:-mpicc}
	command -v "$MPICC" >/dev/null || skip "no $MPICC"
	cd "$BATS_TEST_TMPDIR" || return 1
}

# compile FILE: is it valid C, with prototypes as in scr.h?
compile() {
	try "$MPICC" -std=c99 -Wall -Wextra -Werror \
		-I "$TESTSUITE/../lib/scr" -c -o example.o "$1"
}

@test "the examples in the pages of section 3 compile" {
	for page in "$MAN/scr.3" "$MAN"/SCR_*.3; do
		[[ ! -L $page ]] || continue
		count=$(python3 "$TESTSUITE/cmd/doc_c.py" "$page")
		((count > 0)) || failed "${page##*/}: no example in C"
		for ((i = 1; i <= count; i++)); do
			printf '# %s: example %s\n' "${page##*/}" "$i" >&3
			python3 "$TESTSUITE/cmd/doc_c.py" "$page" "$i" >example.c
			compile example.c
			assert_status 0
		done
	done
}

@test "an example with a wrong call does not compile" {
	sed 's/SCR_Route_file(name, path)/SCR_Route_file(name)/' \
		"$MAN/SCR_Route_file.3" >wrong.3
	python3 "$TESTSUITE/cmd/doc_c.py" wrong.3 1 >example.c
	compile example.c
	((status != 0)) || failed "expected an error"
	[[ $stderr == *wrong.3:* ]] || failed "expected the line of the page"
}
