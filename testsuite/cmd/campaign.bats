#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Random prefixes, damaged as in life: testsuite/campaign.

load helper

# A third of the cases each day.
campaign() {
	local of=${SCRKIT_SLOW:+1}

	TMPDIR=/dev/shm python3 "$TESTSUITE/campaign/campaign.py" \
		--part "$((EPOCHSECONDS / 86400 % ${of:=3}))/$of" "$@"
}

# What an offset hits depends on the length of recorded paths.
@test "33: a thousand damaged prefixes: no grave word without evidence" {
	campaign --cases 1000 --seconds 100 --expected "$TESTSUITE/campaign/expected"
}

@test "33: damaged prefixes that once were judged wrong" {
	campaign --once "$TESTSUITE/campaign/once"
}
