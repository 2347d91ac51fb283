#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # bats sets them
# make install and uninstall: every command, under all of its names, runs where
# it was installed and has its man page and completions.  uninstall removes all.

load helper

setup() {
	root=$(cd "$TESTSUITE/.." && pwd)
	tree=$(cd "$BIN/.." && pwd)
	to=$BATS_TEST_TMPDIR/to
}

# Keep the flags that the tree was built with.
make_in() {
	make -o all -C "$root" --no-print-directory O="$tree" DESTDIR="$to" \
		PREFIX=/opt/scr "$@"
}

@test "install, use, uninstall" {
	local name at=$to/opt/scr page

	run make_in install
	((status == 0))
	for name in "$BIN"/*; do
		name=${name##*/}
		[[ -x $at/bin/$name && -e $at/share/man/man1/$name.1 ]]
		[[ -e $at/share/bash-completion/completions/$name ]]
		[[ -e $at/share/fish/vendor_completions.d/$name.fish ]]
		run env PATH="$at/bin:/usr/bin:/bin" "$name" --help
		((status == 0))
		grep -q "$name" <<<"$output"
	done
	[[ -e $at/share/zsh/site-functions/_scrkit ]]
	for page in "$root"/man/*; do
		cmp "$page" "$at/share/man/man${page##*.}/${page##*/}"
	done
	# Installing over an installation works, too.
	run make_in install
	((status == 0))
	run make_in uninstall
	((status == 0))
	[[ -z $(find "$to" ! -type d) ]]
}
