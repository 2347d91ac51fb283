#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Small files on a prefix where each call takes a millisecond, as on a parallel
# file system: the time of each command with 1 and with 64 threads, the calls on
# the prefix per file, and the same for cp and tar.
#
#   calls.sh BUILD-TREE [FILES]
#
# Output, TSV: name, seconds with 1 thread, seconds with 64, calls per file,
# calls per file of each kind.  FILES: number of small files in the dataset
# (default 2000).  CALLS_BIN: the directory of the commands to measure (default
# BUILD-TREE/bin).  BENCH_TMP: scratch space (default /dev/shm).
set -u
tree=$(cd "$1" && pwd) || exit 1
files=${2:-2000}
counted=$files # number of files to divide the calls by
bin=${CALLS_BIN:-$tree/bin} gen=$tree/gen
tmp=$(mktemp -d "${BENCH_TMP:-/dev/shm}/scrkit-calls.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
ranks=8

# slow COMMAND...: prints the seconds it takes with slow calls on the prefix
slow() {
	local start=$EPOCHREALTIME status
	rm -f "$tmp/counts"
	LD_PRELOAD=$tree/slow.so SLOW_PATH="$tmp/prefix" SLOW_USEC=1000 \
		SLOW_COUNT_FILE=$tmp/counts "$@" >"$tmp/out" 2>&1
	status=$?
	awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'
	((status == 0)) || {
		cat "$tmp/out" >&2
		printf ' FAILED'
	}
}

# calls: prints the calls per file of the last slow command.
calls() {
	awk -v n="$counted" '{ sum[$1] += $2; all += $2 } END {
		printf "%.1f\t", all / n
		for (k in sum)
			if (sum[k] >= n / 20)
				printf "%s %.1f ", k, sum[k] / n
		print "" }' "$tmp/counts"
}

# each NAME PREPARATION COMMAND...: prints a line of output; JOBS in COMMAND is
# replaced by the number of threads
each() {
	local name=$1 prepare=$2 one
	shift 2
	$prepare
	one=$(slow "${@/JOBS/1}")
	$prepare
	printf '%s\t%s\t%s\t%s\n' "$name" "$one" "$(slow "${@/JOBS/64}")" \
		"$(calls)"
}

generate() {
	"$gen/gen_dataset" -q -p prefix -n $ranks -m 1 -f $((files / ranks)) \
		-s 1K --recorded-prefix "$tmp/prefix" "$@"
}
cached() {
	rm -rf prefix nodes
	mkdir prefix
	generate -t SINGLE --layout cache --nodes-dir nodes
}
whole() {
	rm -rf prefix out out.tar
	generate -t XOR --set-size 8 --crc -m $ranks
	"$bin/scr_index" -q -p prefix --build 1
	mkdir -p other
}
packed() {
	whole
	"$bin/scr_container" -q -p prefix pack 1
}
archived() {
	whole
	"$bin/scr_archive" -q -p prefix export -o out.tar 1
	rm -rf prefix
	mkdir prefix
}
lost() {
	whole
	rm -rf prefix/ckpt.1/rank_3_* prefix/.scr/scr.dataset.1/*.er.3.* \
		prefix/.scr/scr.dataset.1/{filemap_3,rank2file*,summary.scr}
}
copied() {
	whole
	mv prefix from
	mkdir prefix
}

printf 'name\t1 thread\t64 threads\tcalls a file\n'
node=nodes/node0
each scavenge cached "$bin/scr_copy" --cntldir $node/cntl/genuser/scr.1000 \
	--cachedir $node/cache/genuser/scr.1000 --id 1 --prefix prefix -j JOBS
each pack whole "$bin/scr_container" -q -p prefix -j JOBS pack 1
each unpack packed "$bin/scr_container" -q -p prefix -j JOBS unpack 1
each export whole "$bin/scr_archive" -q -p prefix -j JOBS export -o out.tar 1
each import archived "$bin/scr_archive" -q -p prefix -j JOBS import out.tar
counted=$((files / ranks)) # one rank is lost
each rebuild lost "$bin/scr_rebuild" -q -p prefix -j JOBS 1
counted=$files
each "cp -a" copied cp -a from/ckpt.1 prefix/
rm -rf from
each "tar c" whole tar cf out.tar prefix/ckpt.1
archived
each "tar x" archived tar xf out.tar -C prefix
