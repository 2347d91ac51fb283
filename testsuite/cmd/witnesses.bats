#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The table of evidence: witnesses.py.  With SLOW=1 all its rows.

load helper

@test "33: every combination of witnesses, every look: the word that the evidence allows" {
	every=24
	[[ -z ${SCRKIT_SLOW-} ]] || every=1
	cd "$BATS_TEST_TMPDIR"
	chmod 755 . .. ../..
	TMPDIR=$PWD python3 "$TESTSUITE/cmd/witnesses.py" --bin "$BIN" --gen "$GEN" \
		--every "$every" >out || failed "$(<out)"
	tail -n 1 out | sed 's/^/# /' >&3
}
