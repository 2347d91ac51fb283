#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Sizes and counts that are read from disk are bounded by what can be there.

load helper

@test "33.24 extreme numbers in metadata: every command ends soon, with a status" {
	cd "$BATS_TEST_TMPDIR"
	ends 0 python3 "$TESTSUITE/cmd/bounds.py" $((${SCRKIT_SLOW:-0} > 0 ? 400 : 10))
}
