#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run fuzzers for SECONDS each, as many at a time as there are processors:
#     scripts/fuzz.sh TREE SECONDS NAME...
# They start from testsuite/data/corpus/NAME and the inputs found by earlier
# runs (build/fuzz/NAME).  An input that crashes, leaks, hangs or takes more
# than 512 MiB is saved in build/fuzz/NAME.findings, and the exit status is 1.
# To keep it: `cp build/fuzz/NAME.findings/* testsuite/data/corpus/NAME/`.
set -eu
cd "$(dirname "$0")/.."
tree=${1:?usage: fuzz.sh TREE SECONDS NAME...} seconds=${2:?}
shift 2

# AddressSanitizer delays the release of freed memory, which would count against
# the limit.
export ASAN_OPTIONS=quarantine_size_mb=16:allocator_release_to_os_interval_ms=500

fuzz_one() {
	local found=build/fuzz/$1 seeds=testsuite/data/corpus/$1

	mkdir -p "$found" "$found.findings"
	if "$tree/fuzz/fuzz_$1" -max_total_time="$seconds" -rss_limit_mb=512 \
		-timeout=10 -max_len=65536 -print_final_stats=1 \
		-artifact_prefix="$found.findings/" "$found" "$seeds" \
		>"$found.log" 2>&1; then
		echo "ok   $1: $(sed -n \
			's/^stat::number_of_executed_units: *//p' \
			"$found.log") runs in $seconds s, nothing found"
	else
		echo "FAIL $1: see $found.log, $found.findings"
		grep -E 'ERROR|SUMMARY|#[0-9] |written to' "$found.log" |
			head -n 20 | sed 's/^/    /'
		return 1
	fi
}

[ $# -gt 0 ] || { echo "no fuzz targets" && exit 1; }
status=0 pids=()
for name; do
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
		sleep 1
	done
	fuzz_one "$name" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || status=1
done
exit "$status"
