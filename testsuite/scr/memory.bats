#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Memory depends on the configuration, not on the size of files.

load helper

setup() {
	job_setup
	export JOB_LIMIT=120 SCR_FLUSH=1
}

# peak SIZE STEPS: run a job; $peak is what a rank had resident at most, in KiB.
peak() {
	works "0 1 2 3" app_ckpt size="$1" steps="$2" sparse=1 peak=1
	peak=$(awk '$1 == "peak" { print $2 }' <<<"$output")
	[[ -n $peak ]]
}

@test "encode, flush and rebuild: 256 MiB a rank in 16 buffers" {
	local small large type bound

	for type in XOR RS PARTNER; do
		export SCR_COPY_TYPE=$type SCR_SET_FAILURES=2
		peak 1000 1
		small=$peak
		rm -rf "${NODES:?}"/* "${PREFIX:?}"/* "$PREFIX/.scr"
		# 16 times SCR_MPI_BUF_SIZE, and 4 MiB for MPI.
		bound=$((small + 20 * 1024))
		peak $((256 << 20)) 1
		large=$peak
		[[ -n $(find "$PREFIX/ckpt.1" -size 262144k) ]]
		((large < bound)) || failed "$type: $large KiB, $small for 1000 bytes"
		lose 2
		peak 1000 0
		cmp "$NODES/2/tester/scr.j1/scr.dataset.1/rank_2.0" \
			"$PREFIX/ckpt.1/rank_2.0"
		((peak < bound)) || failed "$type, rebuild: $peak KiB, $small for 1000 bytes"
		rm -rf "${NODES:?}"/* "${PREFIX:?}"/* "$PREFIX/.scr"
	done
}
