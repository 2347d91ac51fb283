#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# make bench: every figure is a ratio of two commands run in turn, in five pairs
# (nine for short commands).  A/A pairs (the reference against itself) show the
# noise.
#
#   run.sh BUILD-TREE [PATTERN]
#
# Output, TSV: name, seconds ours, seconds reference, wall ratio, least..
# greatest, processor ratio, goal, verdict.  Scratch space: BENCH_TMP (default
# /dev/shm, a tmpfs) and, for the cold runs, BENCH_DISK (default the build tree,
# which should be on a real disk).  Sizes: BENCH_SIZE of a file (256 MiB),
# BENCH_NODE_SIZE of a node's files for the scavenge (1.5 GiB if memory allows).
set -u
shopt -s lastpipe # what ends a pipe may count what is missed
tree=$(cd "$1" && pwd) || exit 1
pattern=${2:-}
rounds=${BENCH_ROUNDS:-5}
size=${BENCH_SIZE:-268435456}
here=$(cd "$(dirname "$0")" && pwd)
bed=$here/../cluster/bed.sh pairs=$here/pairs.py
bin=$tree/bin gen=$tree/gen bench=$tree/bench
tmp=$(mktemp -d "${BENCH_TMP:-/dev/shm}/scrkit-bench.XXXXXX") || exit 1
disk=$(mktemp -d "${BENCH_DISK:-$tree}/scrkit-bench.XXXXXX") || exit 1
export BED_DIR=${TMPDIR:-/tmp}/scrkit-bench-bed.$$
trap '[ ! -e "$BED_DIR" ] || { "$bed" down; rm -rf "$BED_DIR"; }
	umount "$tmp"/{always,within_size} 2>/dev/null
	rm -rf "$tmp" "$disk"' EXIT
missed=0

note() { printf '# %s\n' "$*"; }
wanted() { [[ -z $pattern || $1 == *$pattern* ]]; }

# result NAME GOAL [arguments of pairs.py]
result() {
	local line
	line=$("$pairs" "$1" "$2" "${@:3}" 2>&1 | tail -n 1)
	printf '%s\n' "$line"
	# No result counts as a missed goal.
	[[ $line == *$'\t'* && $line != *MISSED* ]] || missed=$((missed + 1))
}
# measure NAME GOAL [options of pairs.py]
measure() { result "$1" "$2" "$rounds" "${@:3}"; }
# Measure the reference against itself.
noise() { measure "$1 A/A" - -a "$2" -b "$2"; }

# The arguments of ref_rebuild for prefix $1 with ranks $2 (blank separated)
# lost.
members() {
	local r d
	for r in 0 1 2 3 4 5 6 7; do
		if [[ " $2 " == *" $r "* ]]; then
			printf -- '- - '
			continue
		fi
		d=$1/.scr/scr.dataset.1
		printf '%s %s ' "$1/ckpt.1/rank_$r.ckpt" \
			"$(echo "$d"/reddesc.er."$r".*grp*)"
	done
}

lose() { # print a command that removes the ranks again
	local r cmd=
	for r in $2; do
		cmd+="rm -f $1/ckpt.1/rank_$r.ckpt $1/.scr/scr.dataset.1/*.er.$r.* "
		cmd+="$1/.scr/scr.dataset.1/filemap_$r; "
	done
	echo "$cmd"
}

# rebuild NAME TYPE K LOST THREADS
rebuild() {
	local p=$tmp/p out=$tmp/out refs
	mkdir -p "$out"
	refs=$(members "$p" "$4")
	measure "$1 threads=$5" 1.15 -s "$(lose "$p" "$4")" \
		-a "$bin/scr_rebuild -q --jobs $5 --prefix $p 1" \
		-t "rm -f $out/*" \
		-b "$bench/ref_rebuild $2 $3 $5 $size $out $refs"
	noise "$1 threads=$5" \
		"$bench/ref_rebuild $2 $3 $5 $size $out $refs"
	for r in $4; do
		cmp "$p/ckpt.1/rank_$r.ckpt" "$out/data.$r" ||
			missed=$((missed + 1))
	done
}

rebuilds() {
	note "rebuild of 8 x $((size >> 20)) MiB on tmpfs, against the same reads, arithmetic, checksums and writes"
	"$gen/gen_dataset" -q -p "$tmp/p" -n 8 -t XOR -s "$size" --crc
	rebuild rebuild-xor xor 1 3 1
	rebuild rebuild-xor xor 1 3 2
	rm -rf "$tmp/p" "$tmp/out"
	"$gen/gen_dataset" -q -p "$tmp/p" -n 8 -t RS -k 2 -s "$size" --crc
	rebuild rebuild-rs2 rs 2 "3 6" 1
	rebuild rebuild-rs2 rs 2 "3 6" 2
	note "peak memory of a rebuild, KiB, with 1 and 2 threads (bound: 65536 + 4096 x threads + metadata)"
	for t in 1 2; do
		sh -c "$(lose "$tmp/p" "3 6")"
		"$pairs" peak "$bin/scr_rebuild" -q --jobs "$t" --prefix "$tmp/p" 1
	done
	rm -rf "$tmp/p" "$tmp/out"
}

# fti_rebuild NAME ROOT HOW THREADS: scr_fti rebuild of two data files of a group of four
# below ROOT against ref_fti.
fti_rebuild() {
	local p=$2 out=$2/out f
	local lose="rm -f $p/Local/node[23]/*/l3/Ckpt1-Rank*.fti"
	local ref="$bench/ref_fti $3 $4 $out"

	for f in "$p"/Local/node[01]/*/l3/Ckpt1-Rank?.fti \
		"$p"/Local/node[01]/*/l3/Ckpt1-RSed?.fti; do
		ref+=" $f"
	done
	cp "$p"/Local/node2/*/l3/Ckpt1-Rank2.fti "$tmp/right"
	measure "$1 threads=$4" 1.2 -s "$lose" \
		-a "$bin/scr_fti rebuild -q --jobs $4 $p" \
		-t "rm -f $out.*" -b "$ref"
	noise "$1 threads=$4" "$ref"
	cmp -n "$size" "$out.2" "$tmp/right" || missed=$((missed + 1))
	cmp "$p"/Local/node2/*/l3/Ckpt1-Rank2.fti "$tmp/right" ||
		missed=$((missed + 1))
}

# fti_job ROOT: an FTI job of four ranks on as many nodes, with an FTI-FF
# checkpoint of level 1.
fti_job() {
	local r id=2026-01-01_00-00-00 at

	mkdir -p "$1/Meta/$id"
	printf '%s\n' '[basic]' 'head = 0' 'node_size = 1' 'ckpt_dir = ./Local' \
		'glbl_dir = ./Global' 'meta_dir = ./Meta' 'group_size = 4' \
		'ckpt_io = 3' '[restart]' 'failure = 1' "exec_id = $id" \
		'[advanced]' 'local_test = 1' >"$1/config.fti"
	printf '%s\n' '[topology]' '0 = node0' '1 = node1' '2 = node2' \
		'3 = node3' >"$1/Meta/$id/Topology.fti"
	for r in 0 1 2 3; do
		at=$1/Local/node$r/$id/l1
		mkdir -p "$at"
		head -c $((size + 1000 * r)) /dev/urandom >"$tmp/var"
		"$bin/scr_fti" pack -q --to F --id 1 -o "$at/Ckpt1-Rank$r.fti" "1=$tmp/var"
	done
	rm "$tmp/var"
}

fti_rebuilds() {
	local p
	for p in "$tmp/fti" "$disk/fti"; do
		fti_job "$p"
		"$bin/scr_fti" protect -q --level 3 "$p"
		rm -r "$p"/Local/node*/*/l1
	done
	note "FTI level 3: 4 x $((size >> 20)) MiB, 2 lost, on tmpfs, against the same reads, arithmetic, sums and writes"
	fti_rebuild fti-rebuild "$tmp/fti" sums 1
	fti_rebuild fti-rebuild "$tmp/fti" sums 2
	note "the same on disk, against the same with fsync; and against one without sums, which proves nothing"
	fti_rebuild fti-rebuild-disk "$disk/fti" sums,sync 2
	fti_rebuild fti-rebuild-disk-bare "$disk/fti" sync 2
	note "peak memory, KiB"
	rm -f "$tmp"/fti/Local/node[23]/*/l3/Ckpt1-Rank*.fti
	"$pairs" peak "$bin/scr_fti" rebuild -q --jobs 2 "$tmp/fti"
	rm -rf "$tmp/fti" "$disk/fti" "$tmp/right"
}

cold() {
	local p=$disk/p
	local files="$p/ckpt.1/* $p/.scr/scr.dataset.1/*grp*"
	# Written back and dropped from the page cache: the next read is of the disk.
	local evict="for f in $files; do dd of=\$f oflag=nocache \
		conv=notrunc,fdatasync count=0 status=none; done"
	note "rebuild from a cold disk, against reading the same bytes once and writing the results"
	"$gen/gen_dataset" -q -p "$p" -n 8 -t XOR -s "$size" --crc
	sh -c "$(lose "$p" 3)"
	measure rebuild-cold 1.2 \
		-s "$(lose "$p" 3) $evict" \
		-a "$bin/scr_rebuild -q --prefix $p 1" \
		-t "$(lose "$p" 3) rm -f $disk/w; $evict" \
		-b "cat $files >/dev/null; dd if=/dev/zero of=$disk/w bs=1M count=$((size * 8 / 7 >> 20)) conv=fsync 2>$tmp/n"
	rm -rf "$p" "$disk/w"
}

index() {
	local n
	note "index: listing, and its growth (linear: about 2)"
	for n in 8000 16000 100000; do
		mkdir -p "$tmp/i$n"
		"$gen/gen_meta" -q --index "$n" -p "$tmp/i$n"
	done
	measure list-100000 2 -a "$bin/scr_index -p $tmp/i100000 >$tmp/a" \
		-b "$bench/ref_index $tmp/i100000/.scr/index.scr >$tmp/b"
	noise list-100000 "$bench/ref_index $tmp/i100000/.scr/index.scr >$tmp/b"
	measure list-16k/8k 2.3 -a "$bin/scr_index -p $tmp/i16000 >$tmp/a" \
		-b "$bin/scr_index -p $tmp/i8000 >$tmp/b"
}

# forget PREFIX: print a command that removes the files of a build
forget() { echo "rm -f $1/.scr/scr.dataset.1/rank2* $1/.scr/scr.dataset.1/summ*"; }

builds() {
	local g p
	note "scr_index --build with nothing missing, against reading the filemaps and a stat of every file"
	for g in "1000 10" "16000 1" "1 16000" "8000 1" "1 8000"; do
		# shellcheck disable=SC2086 # two words
		set -- $g
		p=$tmp/s$1x$2
		"$gen/gen_dataset" -q -p "$p" -n "$1" -m "$1" -f "$2" -t SINGLE -s 1K
	done
	for g in 1000x10 16000x1 1x16000; do
		p=$tmp/s$g
		measure "build-$g" 2 -s "$(forget "$p")" \
			-a "$bin/scr_index -q -p $p --build 1" \
			-b "$bench/ref_scan $p/.scr/scr.dataset.1 / / >$tmp/b"
		noise "build-$g" "$bench/ref_scan $p/.scr/scr.dataset.1 / / >$tmp/b"
	done
	for g in "16000x1 8000x1" "1x16000 1x8000"; do
		# shellcheck disable=SC2086 # two words
		set -- $g
		measure "build-$1/$2" 2.3 \
			-s "$(forget "$tmp/s$1")" \
			-a "$bin/scr_index -q -p $tmp/s$1 --build 1" \
			-t "$(forget "$tmp/s$2")" \
			-b "$bin/scr_index -q -p $tmp/s$2 --build 1"
	done
	rm -rf "$tmp"/s*
}

# Print a set-up command that unpacks the dataset in $1.
unpacked() {
	local d=$1/.scr/scr.dataset.1
	echo "rm -rf $1/ckpt.1 $d/.scr $d/packed.* $d/rank2file*; " \
		"cp -al $1/saved $1/ckpt.1; cp $1/meta/* $d/;"
}

# pack NAME RANKS FILES SIZE
pack() {
	local p=$tmp/p out=$tmp/out t mode c="$bin/scr_container"
	mkdir -p "$out"
	"$gen/gen_dataset" -q -p "$p" -n "$2" -m "$2" -f "$3" -t SINGLE -s "$4"
	"$bin/scr_index" -q -p "$p" --build 1
	mkdir "$p/meta" && cp "$p"/.scr/scr.dataset.1/rank2file* "$p/meta/"
	mv "$p/ckpt.1" "$p/saved"
	for t in 1 2; do
		measure "pack-$1 --keep threads=$t" 1.15 -s "$(unpacked "$p")" \
			-a "$c pack -q -j $t --keep -p $p 1" \
			-t "rm -f $out/*" \
			-b "$bench/ref_pack pack $t $p/saved $out >$tmp/n"
		measure "pack-$1 threads=$t" 1.15 -s "$(unpacked "$p")" \
			-a "$c pack -q -j $t -p $p 1" -t "rm -f $out/*" \
			-b "$bench/ref_pack repeat $t $p/saved $out >$tmp/n"
		mode=1
		[[ $t == 1 ]] || mode=0.71
		measure "pack-$1/tar threads=$t" $mode -s "$(unpacked "$p")" \
			-a "$c pack -q -j $t --keep -p $p 1" \
			-t "rm -f $tmp/tar" -b "tar cf $tmp/tar -C $p saved"
		sh -c "$(unpacked "$p") $c pack -q -p $p 1"
		measure "extract-$1 threads=$t" 1.15 \
			-s "rm -rf $tmp/x" \
			-a "$c extract -q -j $t -p $p -C $tmp/x 1" \
			-t "rm -rf $tmp/files; mkdir $tmp/files" \
			-b "$bench/ref_pack unpack $t $out $tmp/files >$tmp/n"
		measure "extract-$1/tar threads=$t" $mode \
			-s "rm -rf $tmp/x" \
			-a "$c extract -q -j $t -p $p -C $tmp/x 1" \
			-t "rm -rf $tmp/files; mkdir $tmp/files" \
			-b "tar xf $tmp/tar -C $tmp/files"
		# unpack also removes the containers, and so must the reference.
		measure "unpack-$1 threads=$t" 1.15 \
			-s "$(unpacked "$p") $c pack -q -p $p 1" \
			-a "$c unpack -q -j $t -p $p 1" \
			-t "rm -rf $tmp/files; mkdir $tmp/files; cp -r $out $out.2" \
			-b "$bench/ref_pack unpack $t $out.2 $tmp/files >$tmp/n; rm -r $out.2"
		rm -rf "$tmp/x"
		rm -rf "$tmp/files"
	done
	noise "pack-$1" "rm -f $out/*; $bench/ref_pack pack 1 $p/saved $out >$tmp/n"
	sh -c "$(unpacked "$p") $c pack -q -p $p 1"
	for t in 1 2; do
		measure "verify-$1 threads=$t" 1.25 \
			-a "$c verify -q -j $t -p $p 1" \
			-b "$bench/ref_pack raw $t $out >$tmp/n"
	done
	note "peak memory of packing and unpacking, KiB"
	sh -c "$(unpacked "$p")"
	"$pairs" peak "$c" pack -q -p "$p" 1
	"$pairs" peak "$c" unpack -q -p "$p" 1
	rm -rf "$p" "$out" "$tmp/tar"
}

packs() {
	local n c=$bin/scr_container

	note "packing, against the same reads, checksums and writes, and against tar (processor time; wall with two threads)"
	pack big 4 1 512M
	rounds=${BENCH_ROUNDS:-9} pack small 100 100 64K
	note "one file of many in containers, and the growth with their number"
	for n in 50 100; do
		"$gen/gen_dataset" -q -p "$tmp/m$n" -n "$n" -m "$n" -f 1000 -t SINGLE -s 10
		"$bin/scr_index" -q -p "$tmp/m$n" --build 1
		"$c" pack -q -p "$tmp/m$n" 1
	done
	measure map-100k/50k 2.3 -a "$c list -p $tmp/m100 1 >$tmp/a" -b "$c list -p $tmp/m50 1 >$tmp/b"
	measure cat-100k/50k 1.5 -a "$c cat -p $tmp/m100 1 ckpt.1/rank_7_0.ckpt >$tmp/a" \
		-b "$c cat -p $tmp/m50 1 ckpt.1/rank_7_0.ckpt >$tmp/b"
	rm -rf "$tmp"/m*
}

# nodes_up [OPTION]...: make four nodes with a job's checkpoint in their caches:
# $share bytes of files each, and their parity.  Options for the generator.
nodes_up() {
	local k from

	rm -rf "$tmp/job" "$tmp/nodes" "$tmp/cache"
	BED_TIE=$$ BED_LIFE=3600 BED_SHARE=$tree BED_PATH=$bin BED_WRITE='' \
		BED_SSD=$((share * 2 >> 20))m BED_PFS=$((share * 8 >> 20))m \
		"$bed" up 4 || return
	"$gen/gen_dataset" -q -p "$tmp/job" --nodes-dir "$tmp/nodes" -n 8 -m 4 -t XOR \
		-s $((share / 2)) --layout cache --recorded-prefix /pfs/p "$@" ||
		return
	mkdir -p "$tmp/cache/genuser/scr.1000"
	for k in 1 2 3 4; do
		from=$tmp/nodes/node$((k - 1))
		mv "$from"/c*/genuser/scr.1000/* "$tmp/cache/genuser/scr.1000"
		tar -C "$tmp/cache" -cf - . | "$bed" exec "node$k" \
			tar -C /ssd --no-overwrite-dir -xf - || return
		rm -rf "$tmp/cache/genuser/scr.1000"/*
	done
}

# /pfs before each run: the prefix as the job left it, and an empty directory.
nodes_clear="rm -rf $BED_DIR/pfs/*; mkdir $BED_DIR/pfs/ref"
nodes_clear+="; cp -a $tmp/job $BED_DIR/pfs/p"

# phase NAME GOAL A B: as pairs, but for A only the copying phase counts, as A
# reports it.  Processor time is not measured: other processes spend it.
phase() {
	local i a b start

	for ((i = -1; i < rounds; i++)); do
		sh -c "$nodes_clear"
		a=$(sh -c "$3" | grep -o '"copy": *[0-9]*') || return
		sh -c "$nodes_clear"
		start=$EPOCHREALTIME
		sh -c "$4" || return
		b=$EPOCHREALTIME
		((i < 0)) || echo "${a##*[!0-9]} $start $b"
	done | awk '{ print $1 / 1000, $3 - $2 }' | result "$1" "$2"
}

scavenges() {
	local on="$bed exec login" reason dir=/ssd/genuser/scr.1000/scr.dataset.1
	local ours cp memory share

	note "a node list of 100,000 hosts, read and compressed again; its growth"
	measure hosts-100k/50k 2.3 \
		-a "$bin/scr_env hostlist \$(seq -f n%.0f 100000) >$tmp/a" \
		-b "$bin/scr_env hostlist \$(seq -f n%.0f 50000) >$tmp/b"
	if ! reason=$("$bed" check); then
		note "no scavenge measured: $reason"
		return
	fi
	# Caches and prefix are in memory, with parity: 11 times the share.
	memory=$(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo)
	share=$((memory * 1024 / 15))
	share=${BENCH_NODE_SIZE:-$((share < 3 << 29 ? share >> 20 << 20 : 3 << 29))}
	note "scavenge of 4 x $((share >> 20)) MiB and parity, from 4 pretend nodes that share this machine, checksums on,"
	note "against cp and sync of the same files, started on the same nodes by pdsh and ssh, without checksums."
	note "whole: with asking the nodes, which is one more round of ssh, and the index; copy: what scr_postrun says of its copying."
	if ! nodes_up --crc; then
		note "the nodes did not come up"
		missed=$((missed + 1))
		return
	fi
	ours="$on env -C /pfs/p SCR_JOB_ID=1000 SCR_NODELIST=node[1-4] SCR_CACHE_BASE=/ssd SCR_CNTL_BASE=/ssd scr_postrun -q -r ssh --json"
	cp="$on pdsh -S -R ssh -w node[1-4] 'cd /pfs/ref && cp -p $dir/rank_* $dir/.scr/* . && sync -f .'"
	# Caches and memory placement make single runs vary by a tenth.
	rounds=${BENCH_ROUNDS:-15} measure scavenge-whole 1.11 -w -s "$nodes_clear" -a "$ours >$tmp/a" \
		-t "$nodes_clear" -b "$cp"
	rounds=${BENCH_ROUNDS:-9} phase scavenge-copy 1.11 "$ours" "$cp"
	measure "scavenge A/A" - -s "$nodes_clear" -a "$cp" -t "$nodes_clear" \
		-b "$cp"
	"$bed" down
	note "the same without checksums: data compared with their parity here, against --no-compare. The prefix is in memory."
	nodes_up && measure scavenge-compare - -w -s "$nodes_clear" -a "$ours" \
		-t "$nodes_clear" -b "$ours --no-compare"
	"$bed" down
}

# speed RANKS WHAT BYTES [FILES]: run testsuite/mpi/speed with each rank on a node.
speed() {
	[[ $2 == init ]] || rm -rf "${NODES:?}"/* "${SCR_PREFIX:?}"/* "$SCR_PREFIX/.scr"
	mpiexec -n "$1" "$mpi/../../../testsuite/scr/node.sh" \
		"$(seq -s' ' 0 $(($1 - 1)))" "$mpi/speed" "${@:2:2}" "$rounds" "${@:4}"
}

# The arguments of ref_rebuild for the caches in $NODES with node 3 lost.
cached() {
	local k d

	for k in 0 1 2 3 4 5 6 7; do
		d=$NODES/$k/tester/scr.j1/scr.dataset.1
		[[ $k != 3 ]] || d=-
		[[ $k == 3 ]] || d="$d/rank_$k.0 $(echo "$d"/.scr/reddesc.er."$k".*grp*)"
		printf '%s ' "$d"
		[[ $k != 3 ]] || printf -- '- '
	done
}

# restarts NAME TYPE K: SCR_Init() with node 3 lost, against ref_rebuild.
restarts() {
	local i a TIMEFORMAT='%R %U %S'

	mkdir -p "$tmp/out"
	rounds=0 speed 8 encode $((64 << 20)) || return
	for ((i = -1; i < rounds; i++)); do
		rm -rf "${NODES:?}/3"
		read -ra a < <(speed 8 init 1)
		rm -rf "${NODES:?}/3" "$tmp"/out/*
		# shellcheck disable=SC2046 # words
		b=$({ time "$bench/ref_rebuild" "$2" "$3" "$(nproc)" \
			$((64 << 20)) "$tmp/out" $(cached); } 2>&1)
		((i < 0)) || awk -v a="${a[0]}" -v c="${a[2]}" \
			'{ print a, $1, c, $2 + $3 }' <<<"$b"
	done | result "$1" 1.3
	rm -rf "$tmp/out"
}

# Say how long the steps took, as `speed parts` tells in file $1.
parts() {
	awk '$1 == "parts" { n++; for (i = 2; i <= 6; i++) s[i] += $i }
		END { if (n) printf "# seconds: application writes %.3f, reading and checksums %.3f, MPI %.3f, coding %.3f, check bytes %.3f\n",
			s[2] / n, s[3] / n, s[4] / n, s[5] / n, s[6] / n }' "$1"
}

libscr() {
	local mpi=$tree/mpi type b=$tmp/scr
	local -x NODES=$b/nodes SSD=$b/ssd USER=tester SCR_JOB_ID=j1 \
		SCRKIT_SYSTEM_CONF=/dev/null SCR_CNTL_BASE=$b/ssd \
		SCR_CACHE_BASE=$b/ssd SCR_CACHE_BYPASS=0 SCR_FLUSH=0 \
		SCR_PREFIX=$b/prefix SCR_SET_FAILURES=2 SCR_COPY_TYPE

	if [[ ! -x $mpi/speed ]]; then
		note "libscr is not measured: no MPI"
		return
	fi
	mkdir -p "$NODES" "$SSD" "$SCR_PREFIX"
	note "libscr: 8 ranks x 64 MiB on 8 pretend nodes, all in memory, $(nproc) cores"
	note "encode: from SCR_Start_output, with the application's writing, to the end of SCR_Complete_output;"
	note "against copying the same files in the caches, all ranks at once, plus the coding time of one core;"
	note "parts: against its steps one by one, with this MPI (testsuite/mpi/speed.c)"
	for type in SINGLE PARTNER XOR RS; do
		SCR_COPY_TYPE=$type
		case $type in
		XOR | RS) speed 8 encode $((64 << 20)) | result "encode-$type" 1.3 ;;
		*) speed 8 encode $((64 << 20)) | result "encode-$type" - ;;
		esac
		speed 8 parts $((64 << 20)) | tee "$tmp/parts" | sed '/^parts/d' |
			result "parts-$type" -
		parts "$tmp/parts"
	done
	SCR_COPY_TYPE=XOR
	note "store: encode of 4 ranks twice a second, the cache a store in memory (with libscr_preload.so; without it), against the same cache without a store"
	speed 4 late $((64 << 20)) >"$tmp/plain"
	echo "STORE=$SSD TYPE=MEMORY SIZE=400M" >"$SCR_PREFIX/.scrconf"
	RANK_PRELOAD=$tree/libscr_preload.so speed 4 late $((64 << 20)) |
		paste - "$tmp/plain" | awk '{ print $1, $5, $3, $7 }' |
		result encode-store -
	speed 4 late $((64 << 20)) | paste - "$tmp/plain" |
		awk '{ print $1, $5, $3, $7 }' | result encode-store-alone -
	rm "$SCR_PREFIX/.scrconf"
	SCR_COPY_TYPE=SINGLE
	note "flush and fetch against cp -p and sync on all nodes at once; fetch-XOR also protects"
	speed 8 flush $((64 << 20)) | result flush 1.11
	speed 8 fetch $((64 << 20)) | result fetch 1.11
	note "fetch-packed: from containers, against that of files; 1,000 files of 16 KiB"
	PATH=$tree/bin:$PATH speed 8 packed $((64 << 20)) | result fetch-packed 1.11
	PATH=$tree/bin:$PATH speed 4 packed $((16 << 10)) 250 |
		result fetch-packed-small -
	note "flush-packed: into containers; small: 10,000 files of 4 ranks: of their own against cp; in containers against cp and tar"
	SCR_USE_CONTAINERS=1 PATH=$tree/bin:$PATH speed 8 flush $((64 << 20)) |
		result flush-packed 1.15
	speed 4 flush 4096 2500 | result flush-small -
	SCR_USE_CONTAINERS=1 PATH=$tree/bin:$PATH speed 4 flush 4096 2500 |
		result flush-packed-small -
	SCR_USE_CONTAINERS=1 PATH=$tree/bin:$PATH speed 4 tar 4096 2500 |
		result flush-packed-small/tar -
	note "behind: the same in the background; blocks: what SCR calls take for it, against a flush for which the job waits"
	SCR_FLUSH_ASYNC=1 speed 2 behind $((256 << 20)) | result flush-behind -
	SCR_FLUSH_ASYNC=1 speed 2 blocks $((256 << 20)) | result flush-blocks 0.1
	note "beside: a computation without calls and the flush of four files of 64 MiB, against the computation alone; of one rank, and of $(nproc): no core is free"
	SCR_FLUSH_ASYNC=1 speed 1 beside $((64 << 20)) 4 | result flush-beside -
	SCR_FLUSH_ASYNC=1 speed "$(nproc)" beside $((64 << 20)) 4 |
		result flush-beside-full -
	note "flush-threads: one rank with four files of 128 MiB, and SCR_FLUSH_TYPE=PTHREAD"
	SCR_FLUSH_TYPE=PTHREAD speed 1 flush $((128 << 20)) 4 |
		result flush-threads 1.11
	SCR_COPY_TYPE=XOR
	speed 8 fetch $((64 << 20)) | result fetch-XOR -
	note "restart: SCR_Init with one of 8 nodes lost, against the bare rebuild with $(nproc) threads"
	restarts restart-XOR xor 1
	SCR_COPY_TYPE=RS restarts restart-RS rs 2
	note "small: a dataset of 4 ranks x 4 KiB, against one barrier and one new file with fsync; in memory and on disk"
	SCR_COPY_TYPE=XOR
	speed 4 small 4096 | result small -
	NODES=$disk/nodes SCR_PREFIX=$disk/prefix
	mkdir -p "$NODES" "$SCR_PREFIX"
	speed 4 small 4096 | result small-disk -
	note "flush and fetch between caches in memory and a prefix on disk, and from a disk that is not cached"
	NODES=$b/nodes SCR_COPY_TYPE=SINGLE
	speed 8 flush $((64 << 20)) | result flush-disk 1.11
	SCR_FLUSH_ASYNC=1 speed 8 behind $((64 << 20)) | result flush-behind-disk 1.11
	SCR_USE_CONTAINERS=1 PATH=$tree/bin:$PATH speed 8 flush $((64 << 20)) |
		result flush-packed-disk 1.15
	speed 4 flush 4096 2500 | result flush-small-disk -
	SCR_USE_CONTAINERS=1 PATH=$tree/bin:$PATH speed 4 flush 4096 2500 |
		result flush-packed-small-disk -
	SCR_USE_CONTAINERS=1 PATH=$tree/bin:$PATH speed 4 tar 4096 2500 |
		result flush-packed-small-disk/tar -
	speed 8 fetch $((64 << 20)) | result fetch-disk 1.11
	rm -rf "$b" "$disk/nodes" "$disk/prefix"
}

# fti_files: checkpoint files of FTI.
fti_files() {
	local d=$tmp/fti v t to file=Ckpt1-Rank0.fti vars=()

	if ! command -v openssl >"$tmp/n"; then
		note "files of FTI are not measured: no openssl"
		return
	fi
	note "scr_fti verify of a file of $((size >> 20)) MiB in 8 variables, against openssl md5 of the same bytes, which has one thread;"
	note "A has two sums over all bytes; a POSIX file has one sum, which only one thread can compute"
	mkdir -p "$d"
	for v in 1 2 3 4 5 6 7 8; do
		head -c $((size / 8)) /dev/urandom >"$d/$v"
		vars+=("$v=$d/$v")
	done
	for to in F posix A; do
		"$bin/scr_fti" pack -q --to "$to" --id 1 -o "$d/$to/$file" \
			"${vars[@]}"
	done
	measure "fti-verify-F threads=1" 1.1 \
		-a "$bin/scr_fti verify -q -j 1 $d/F/$file" \
		-b "openssl md5 $d/F/$file >$tmp/n"
	noise fti-verify-F "openssl md5 $d/F/$file >$tmp/n"
	note "with several threads: against one openssl md5 (only on a quiet machine), and against as many, which share the bytes"
	for ((t = 2; t <= $(nproc) && t <= 8; t *= 2)); do
		measure "fti-verify-F threads=$t/1" \
			"$(awk -v t="$t" 'BEGIN { print 1.1 / t }')" -w \
			-a "$bin/scr_fti verify -q -j $t $d/F/$file" \
			-b "openssl md5 $d/F/$file >$tmp/n"
		measure "fti-verify-F threads=$t" 1.1 -w \
			-a "$bin/scr_fti verify -q -j $t $d/F/$file" \
			-b "echo $d/[1-8] | xargs -P $t -n $((8 / t)) openssl md5 >$tmp/n"
	done
	measure "fti-verify-posix threads=1" 1.1 \
		-a "$bin/scr_fti verify -q -j 1 $d/posix/$file" \
		-b "openssl md5 $d/posix/$file >$tmp/n"
	measure "fti-verify-A threads=1" 2.2 \
		-a "$bin/scr_fti verify -q -j 1 $d/A/$file" \
		-b "openssl md5 $d/A/$file >$tmp/n"
	note "extract of all variables, with its verification, against openssl md5 and cp; diff with the verification of both, against openssl md5 and cmp"
	measure "fti-extract threads=1" 1.15 -s "rm -rf $d/out" \
		-a "$bin/scr_fti extract -q -j 1 -o $d/out $d/F/$file" \
		-t "rm -f $d/copy" \
		-b "openssl md5 $d/F/$file >$tmp/n; cp $d/F/$file $d/copy"
	measure "fti-diff threads=1" 1.15 \
		-a "$bin/scr_fti diff -j 1 $d/F/$file $d/posix/$file" \
		-b "openssl md5 $d/F/$file $d/posix/$file >$tmp/n; cmp -n $size $d/F/$file $d/posix/$file"
	rm -rf "$d"
}

# against NAME GOAL COLUMN REFERENCE: a result of two columns of $tmp/rows.
against() {
	awk -v a="$3" -v b="$4" '!/^#/ { print $a, $b }' "$tmp/rows" |
		result "$1" "$2"
}

# first_goal GOAL FRESH NEW: the goal of new processes against one that has used its
# pages before; none where the machine makes each process pay for its first access to
# a page, as virtual machines without page tables of their own do.
first_goal() {
	awk -v goal="$1" -v a="$2" -v b="$3" '!/^#/ { x += $a; y += $b }
		END { print (x > 1.5 * y ? "-" : goal) }' "$tmp/rows"
}

# in_memory TIMES [arguments of bench/store]: write $tmp/rows, of TIMES as many
# rounds as others have, and print GB/s.
in_memory() {
	local -x BENCH_PRELOAD=$tree/libscr_preload.so

	"$bench/store" -r $((rounds * $1)) "${@:2}" >"$tmp/rows"
	sed -n "s|^\(# [a-z]*\)=$tmp/\([a-z_]*\)/[^:]*|\1, \2|p" "$tmp/rows"
	rm -rf "$tmp"/{always,within_size,default}/*
}

# huge KIND: mount a tmpfs with huge=KIND at $tmp/KIND.
huge() {
	mkdir -p "$tmp/$1"
	mount -t tmpfs -o "huge=$1,size=50%" scrkit-bench "$tmp/$1"
}

stores() {
	local always=$tmp/always within=$tmp/within_size default=$tmp/default
	local d kind mib p free n
	local plain=1.0526 # 0.95 of the speed of a plain tmpfs

	note "files in memory, new ones: in the store, by write(), and the bare copy past the cache into a mapped file;"
	note "after WAY and huge= of its tmpfs (default: pages of 4 KiB): median and best GB/s of all processes"
	mkdir "$default"
	if ! huge always 2>"$tmp/n" || ! huge within_size 2>"$tmp/n"; then
		note "not measured: no tmpfs with huge pages can be mounted here"
		return
	fi
	for mib in 64 512; do
		for p in 1 2; do
			free=$(awk '/^MemAvailable/ { print int($2 / 1024) }' \
				/proc/meminfo)
			if ((p > $(nproc) || p * mib * 7 > free)); then
				note "not measured: $p x $mib MiB: too few processors, or memory"
				continue
			fi
			d="$mib MiB x $p"
			n=$((mib < 100 ? 6 : 3))
			note "$d, 16 MiB a call"
			in_memory $n -p "$p" -s $((mib << 20)) -c $((16 << 20)) \
				store="$always/s" first="$always/f" \
				copy="$always/c" new="$always/n" \
				fresh="$always/r" new="$default/n"
			against "store-warm/copy $d" 1.11 1 3
			against "store-first/copy $d" "$(first_goal 1.18 5 4)" 2 3
			against "store-first/always $d" "$plain" 2 5
			against "store-warm/always $d" "$plain" 1 4
			against "store-warm/default $d" "$plain" 1 6
			in_memory $n -p "$p" -s $((mib << 20)) -c $((16 << 20)) \
				store="$default/s" first="$default/f" \
				copy="$default/c" new="$default/n" fresh="$default/r"
			against "store-warm $d default" "$plain" 1 4
			against "store-first $d default" "$plain" 2 5
		done
	done
	for kind in default always within_size; do
		d=$tmp/$kind
		n=10000
		[[ $kind != always ]] || n=500 # of 2 MiB each
		for p in 1 2; do
			note "$n files of 4 KiB x $p: create, write and close each, then unlink each"
			in_memory 6 -p "$p" -n $n -s 4096 store="$d/s" \
				new="$d/n"
			against "store-small x $p $kind" "$plain" 1 2
		done
		note "64 MiB in appends of 1 KiB, and in writes of 4 KiB, 64 KiB and 1 MiB"
		in_memory 4 -a -c 1024 store="$d/s" new="$d/n"
		against "store-append 1 KiB $kind" "$plain" 1 2
		for n in 4 64 1024; do
			in_memory 4 -c $((n << 10)) store="$d/s" new="$d/n" \
				copy="$d/c"
			against "store-write $n KiB $kind" "$plain" 1 2
			against "store-write/copy $n KiB $kind" - 1 3
		done
	done
	note "open, write and close of a file that is not in the store; 10 ns of each open, write and close are those of any preload"
	for n in 1 64; do
		in_memory 12 -n 10000 -s $((n << 10)) -c $((n << 10)) \
			-S "$default/s" apart="$default/a" place="$default/p"
		against "store-apart $n KiB" \
			"$([[ $n == 1 ]] && echo - || echo $plain)" 1 2
	done
	umount "$always" "$within"
}

interposed() {
	local plain=$tree/interpose/others b=$tmp/scr n
	local -x SCR_CNTL_BASE=$b/c SCR_CACHE_BASE=$b/c USER=tester SCR_JOB_ID=j1 \
		SCR_PREFIX=$b SCRKIT_SYSTEM_CONF=/dev/null

	if [[ ! -x $plain ]]; then
		note "libscr_preload.so is not measured: no MPI"
		return
	fi
	note "libscr_preload.so with patterns: open, write and close of a file that is no checkpoint,"
	note "against libc's own functions, and against those of a library that only calls these, as any preload does; nanoseconds"
	mkdir -p "$b/results" "$b/c"
	for n in 1 64; do
		(cd "$b" && LD_PRELOAD=$tree/libscr_preload.so \
			SCR_INTERPOSE_PATTERN='0-N:ckpt\.[0-9]+' mpiexec -n 1 \
			"$plain" $((n << 10)) $((rounds * 40)) "$tree/stub.so") \
			>"$tmp/rows"
		against "interpose-stub $n KiB" - 3 2
		against "interpose-others/stub $n KiB" 1.01 1 3
		# What any preload costs, here by the machine, is not ours.
		against "interpose-others $n KiB" "$(awk '{ s += $3; l += $2 }
			END { print s < 1.005 * l ? 1.01 : "-" }' "$tmp/rows")" 1 2
	done
	rm -rf "$b"
}

spills() {
	note "files in a store, of which some percent go to the disk meanwhile (bench/spill):"
	note "GB/s until the writes returned, until all is durable; expected as the sum, as the maximum"
	if ! huge always 2>"$tmp/n"; then
		note "not measured: no tmpfs with huge pages can be mounted here"
		return
	fi
	"$bench/spill" "$tmp/always/s" "$disk/spilled" || missed=$((missed + 1))
	umount "$tmp/always"
}

startup() {
	local c
	note "start-up, twenty times, against a trivial program"
	for c in "$bin"/*; do
		# scr_archive loads libarchive; users start it through
		# scr_container.
		[[ $c != */scr_archive ]] || continue
		measure "start-$(basename "$c")" 2 \
			-a "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do $c --version; done >$tmp/a" \
			-b "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do /bin/true; done >$tmp/b"
	done
}

printf 'name\tours\treference\tratio\tleast..greatest\tcpu ratio\tgoal\tverdict\n'
for part in rebuilds fti_rebuilds cold index builds packs fti_files \
	scavenges libscr interposed stores spills startup; do
	if wanted "$part"; then $part; fi
done
note "$missed missed"
