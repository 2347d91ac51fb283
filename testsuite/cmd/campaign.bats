#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Random prefixes, damaged as in life: testsuite/campaign.

load helper

@test "33: a thousand damaged prefixes: no grave word without evidence" {
	local of=${SCRKIT_SLOW:+1}

	# A third of them each day.  What an offset hits depends on the length of recorded paths.
	TMPDIR=/dev/shm python3 "$TESTSUITE/campaign/campaign.py" --cases 1000 \
		--seconds 100 --part "$((EPOCHSECONDS / 86400 % ${of:=3}))/$of" \
		--expected "$TESTSUITE/campaign/expected"
}

@test "33: damaged prefixes that once were judged wrong" {
	TMPDIR=/dev/shm python3 "$TESTSUITE/campaign/campaign.py" \
		--once "$TESTSUITE/campaign/once"
}
