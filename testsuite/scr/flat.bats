#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A job that runs for long: what it uses does not grow.

load helper

@test "a thousand checkpoints: memory and descriptors stay as they are" {
	local step kib bytes fds first_kib first_bytes first_fds

	[[ -v SCRKIT_SLOW ]] || skip "slow: SLOW=1 runs it"
	export SCR_FLUSH=20 SCR_PREFIX_SIZE=2
	JOB_LIMIT=600 works "0 1 2 3" app_ckpt steps=1000 files=2 usage=100
	[[ $(grep -c '^complete .* 0$' <<<"$output") -eq 1000 ]]
	# Of all ranks, the most.
	read -r _ step first_kib first_bytes first_fds \
		<<<"$(grep '^usage' <<<"$output" | head -n 1)"
	((step == 100 && first_kib > 0 && first_bytes > 0 && first_fds > 0))
	read -r _ step kib bytes fds <<<"$(grep '^usage' <<<"$output" | tail -n 1)"
	((step == 1000))
	echo "KiB: $first_kib, then $kib; allocated: $first_bytes, then $bytes"
	((fds == first_fds)) || failed "descriptors: $first_fds, then $fds"
	((kib <= first_kib + 512)) || failed "KiB: $first_kib, then $kib"
	# 40 bytes a checkpoint would be seen.
	((bytes <= first_bytes + 36000)) ||
		failed "allocated: $first_bytes, then $bytes"
}
