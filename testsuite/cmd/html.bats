#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The handbook of `make html`: all pages are there, and each link leads somewhere.

load helper

@test "README and all pages, each link leads somewhere" {
	local page

	command -v mandoc >/dev/null || skip "no mandoc"
	command -v cmark-gfm >/dev/null || skip "no cmark-gfm"
	cd "$BATS_TEST_TMPDIR"
	calm "$TESTSUITE/../scripts/html.sh" "$PWD/html"
	for page in "$TESTSUITE"/../man/*.[0-9]; do
		[[ -s html/${page##*/}.html ]] || failed "no ${page##*/}"
	done
	try python3 "$TESTSUITE/cmd/html_links.py" html
	[[ -z $output && $status -eq 0 ]] || failed "links"
	# Pages of others are not linked.
	grep -q 'href="scr_index.1.html"' html/scrkit.7.html
	run ! grep -q 'href="[a-z]*\.[0-9]\.html">mpiexec' html/scrkit.7.html
}
