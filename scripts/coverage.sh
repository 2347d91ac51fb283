#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run the tests in a tree built with COV=1 and print the line coverage of each
# file of lib/, then "line coverage of lib/: NN.N %".  Fails below 90 %.
#     scripts/coverage.sh build/coverage
# Needs only the compiler's gcov (or the one named by GCOV).
set -eu
cd "$(dirname "$0")/.."
tree=${1:?usage: coverage.sh TREE}
least=90

find "$tree" -name '*.gcda' -delete
# Failures are ignored here; `make check` reports them.
testsuite/run.sh --quick "unit:$tree" "fuzz:$tree" "bats:$tree" \
	"examples:$tree" ||
	echo "coverage: some tests failed: the figures are too low" >&2

# A file of which nothing ran has only a .gcno; all its lines count as not
# covered.
for notes in "$tree"/lib/*.gcno "$tree"/lib/*/*.gcno; do
	source=${notes#"$tree/"}
	[ -e "${source%.gcno}.c" ] || continue
	"${GCOV:-gcov}" -n -o "${notes%/*}" "$notes" 2>/dev/null
done | awk -v least="$least" '
	/^File / { file = $2; gsub("\047", "", file) }
	/^Lines executed:/ && file ~ /^lib\/.*\.c$/ {
		split($0, part, /[:% ]+/)
		lines = part[5]
		run = int(lines * part[3] / 100 + 0.5)
		printf "%6.1f %%  %5d of %5d  %s\n", part[3], run, lines, file
		all += lines; hit += run
	}
	/^No executable lines/ || /^Lines executed:/ { file = "" }
	END {
		if (all == 0) {
			print "coverage: no data" >"/dev/stderr"
			exit 1
		}
		printf "line coverage of lib/: %.1f %%\n", 100 * hit / all
		exit 100 * hit / all < least
	}'
