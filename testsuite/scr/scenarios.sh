#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scenarios.sh [RESULTS]: print the scenarios of libscr that the last run of the
# tests has shown, from build/results, which testsuite/run.sh writes: number,
# result, seconds, file, test.  A test names its scenarios at the end, "(18, 21)".
# The exit status is 1 if one of 1 to 34, 41 to 64 and 67 failed or is missing.
set -o pipefail
awk -F '\t' '
$1 == "mpi" && match($5, /\([0-9][0-9, ]*\)$/) {
	count = split(substr($5, RSTART + 1, RLENGTH - 2), n, /, */)
	name = substr($5, 1, RSTART - 2)
	sub(/.*\//, "", $2)
	for (i = 1; i <= count; i++) {
		printf "%2d  %-6s %6.1f s  %-19s %s\n", n[i], $3, $4 / 1000,
			$2, name
		if ($3 == "ok")
			shown[n[i] + 0]
		else
			bad = 1
	}
}
END {
	for (i = 1; i <= 67; i++)
		if (!(i in shown) && i !~ /^(3[5-9]|40|65|66)$/) {
			printf "%2d  missing\n", i
			bad = 1
		}
	exit bad
}' "${1:-build/results}" | sort -n
