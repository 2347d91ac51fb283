#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The dataset being written: routing, owners of files, metadata in the caches.

load helper

DATASET=tester/scr.j1/scr.dataset.1

setup() {
	job_setup
	LISTS=$BATS_TEST_TMPDIR/list
	OWN=("from=$LISTS" show=2)
}

# list RANK "NAME BYTES"...: the files of a rank.
list() { printf '%s\n' "${@:2}" | tr ' ' '\t' >"$LISTS.$1"; }

@test "a file of two ranks ends the job, in a cache of nodes (44)" {
	for r in 0 1 2 3; do list $r "ckpt.1/own.$r 10"; done
	list 1 "ckpt.1/own.1 10" "ckpt.1/shared 20"
	list 3 "./ckpt.1//shared 20" "ckpt.1/own.3 10"
	dies "0 1 2 3" app_ckpt "${OWN[@]}"
	[[ $stderr == *"rank 3 "*"Multiple procs registered file while not in \
bypass mode: \`$PREFIX/ckpt.1/shared'"* ]]
	[[ $(grep -c "rank 1 .*Multiple procs" <<<"$stderr") == 0 ]]
	[[ $stderr == *"ABORT: "*"Shared file access detected while not in \
bypass mode"* ]]
	# It was not committed: neither listed, nor noted.
	[[ -z $(find "$NODES" "$PREFIX" -name cindex.scrinfo -o -name flush.scr) ]]
}

@test "with bypass a file of all ranks belongs to the lowest (44)" {
	for r in 0 1 2 3; do
		list $r "ckpt.1/shared 20" "ckpt.1/d/own.$r 10"
	done
	SCR_CACHE_BYPASS=1 works "0 1 2 3" app_ckpt "${OWN[@]}"
	[[ $output == *"ckpt.1/shared -> $PREFIX/ckpt.1/shared"* ]]
	[[ -s $PREFIX/ckpt.1/d/own.3 ]]
	run scr_inspect "$NODES/0/$DATASET/.scr/filemap_0"
	[[ $output == *"/shared"* && $output == *own.0* ]]
	run scr_inspect "$NODES/2/$DATASET/.scr/filemap_2"
	[[ $output != *"/shared"* && $output == *own.2* ]]
	# The data have no redundancy, the filemaps do.
	[[ -z $(find "$NODES" -name 'reddesc.er*') ]]
	[[ $(find "$NODES" -name 'reddescmap.er*' | wc -l) -eq 16 ]]
	run scr_inspect -m keyval "$PREFIX/.scr/flush.scr"
	[[ $output == *"FILES = 5"* && $output == *"LOCATION"*"CACHE"* ]] || failed "flush.scr"
}

@test "equal names in different directories do not collide" {
	for r in 0 1 2 3; do
		list $r "ckpt.1/$r/a/x 1000" "ckpt.1/$r/b/x 2000" \
			"ckpt.1/$r/a/x 1000" "ckpt.1/$r/c/x 0" \
			"ckpt.1/$r/x.$r.3 3" "ckpt.1/$r/d/x 4"
	done
	works "0 1 2 3" app_ckpt "${OWN[@]}"
	[[ $(grep -c "/a/x -> $SSD/$DATASET/x\$" <<<"$output") -eq 2 ]]
	grep -qE "2/b/x -> $SSD/$DATASET/x\.[0-9a-f]{16}\$" <<<"$output"
	[[ -z $(find "$NODES" -name 'claim.*') ]]
	saved 1
	[[ $(stat -c %s "$PREFIX/ckpt.1/3/a/x") -eq 1000 ]]
	[[ $(stat -c %s "$PREFIX/ckpt.1/3/b/x") -eq 2000 ]]
	[[ $(stat -c %s "$PREFIX/ckpt.1/3/c/x") -eq 0 ]]
	[[ $(stat -c %s "$PREFIX/ckpt.1/3/x.3.3") -eq 3 ]]
	[[ $(stat -c %s "$PREFIX/ckpt.1/3/d/x") -eq 4 ]]
}

@test "equal names of two ranks of a node do not collide" {
	for r in 0 1 2 3; do
		list $r "ckpt.1/$r/x 1${r}0" "ckpt.1/$r/sub/x 2${r}0"
	done
	works "0 0 1 1" app_ckpt "${OWN[@]}"
	[[ $(find "$NODES/0/$DATASET" -maxdepth 1 -name 'x*' | wc -l) -eq 4 ]]
	saved 1 0 1
	for r in 0 1 2 3; do
		[[ $(stat -c %s "$PREFIX/ckpt.1/$r/x") -eq 1${r}0 ]]
		[[ $(stat -c %s "$PREFIX/ckpt.1/$r/sub/x") -eq 2${r}0 ]]
	done
}

@test "a file of all ranks in a cache of all ranks (44)" {
	for r in 0 1 2 3; do
		list $r "ckpt.1/shared 20" "ckpt.1/own.$r 10"
	done
	echo "STORE=$SSD GROUP=WORLD" >.scrconf
	works "0 0 0 0" app_ckpt "${OWN[@]}"
	run scr_inspect "$NODES/0/$DATASET/.scr/filemap_0"
	[[ $output == *"/shared"* ]]
	run scr_inspect "$NODES/0/$DATASET/.scr/filemap_3"
	[[ $output != *"/shared"* && $output == *own.3* ]]
	# There, two files of one name, too.
	list 2 "ckpt.1/a/x 20" "ckpt.1/b/x 10"
	rm -rf "${NODES:?}"/* .scr
	works "0 0 0 0" app_ckpt "${OWN[@]}"
	[[ $(find "$NODES/0/$DATASET" -maxdepth 1 -name 'x*' | wc -l) -eq 2 ]]
}

@test "a file outside of the prefix ends the job" {
	list 2 "../elsewhere 10"
	dies "0 1 2 3" app_ckpt "${OWN[@]}"
	[[ $stderr == *"File \`$BATS_TEST_TMPDIR/elsewhere' must be under \
SCR_PREFIX \`$PREFIX'"* ]]
}

@test "the application finds no room: the message names the device" {
	privately && return
	mkdir -p "$NODES/1"
	mount -t tmpfs -o size=320k none "$NODES/1"
	job "0 1" app_ckpt size=600000
	umount "$NODES/1"
	grep -q "rank 1 reported its files of dataset 1 .* as not valid: $SSD: .*free.*: free space there, or choose another SCR_CACHE_BASE" \
		<<<"$stderr" || failed "no room is named"
	# With room, nothing is said of it.
	job "0 1" app_ckpt invalid=1
	grep -q "rank 1 reported its files of dataset 1 .* as not valid\$" <<<"$stderr" ||
		failed "another reason"
}

@test "checksums are those of the files" {
	list 0 "ckpt.1/a.0 2500000" "ckpt.1/b.0 77"
	list 1 "ckpt.1/a.1 400000"
	SCR_MPI_BUF_SIZE=4096 SCR_COPY_TYPE=RS works "0 1 2 3" app_ckpt "${OWN[@]}"
	run scr_inspect -m keyval "$NODES/0/$DATASET/.scr/filemap_0"
	for f in a.0 b.0; do
		sum=$(gzip -c "$NODES/0/$DATASET/$f" | tail -c 8 |
			od -An -N 4 -t x4 --endian=little | tr -d ' 0' )
		[[ $(tr -d 0 <<<"$output") == *"CRC = x$sum"* ]]
	done
}

# rebuilt LOST...: save the dataset to the prefix, lose the files of these ranks
# there, and compute them again.
rebuilt() {
	local k

	rm -rf "$BATS_TEST_TMPDIR/old"
	mkdir "$BATS_TEST_TMPDIR/old"
	saved 1
	cp -a "$PREFIX/." "$BATS_TEST_TMPDIR/old"
	for k; do
		find "$PREFIX" -name "*.er.$k.*" ! -name "*.er.$k.redset" -delete
		find "$PREFIX" \( -name "filemap_$k" -o -name "*.r$k" \) -delete
	done
	ends 3 scr_inspect --prefix "$PREFIX" --dataset ckpt.1
	ends 0 scr_rebuild --prefix "$PREFIX" ckpt.1
	diff -r --exclude=index.scr --exclude='summary.scr' \
		--exclude='rank2file*' "$BATS_TEST_TMPDIR/old" "$PREFIX"
	ends 0 scr_inspect --prefix "$PREFIX" --deep --checksums --dataset ckpt.1
}

# Files of very different size: none, empty ones, one byte, large ones.
@test "each member of XOR can be computed again, of PARTNER and RS two" {
	local type failures all lost

	list 0 "ckpt.1/a.r0 100000" "ckpt.1/b.r0 0" "ckpt.1/c.r0 1"
	list 1 "ckpt.1/a.r1 0" "ckpt.1/b.r1 2500000" "ckpt.1/c.r1 0"
	list 3 "ckpt.1/a.r3 1"
	while IFS=: read -r type failures all; do
		rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
		SCR_COPY_TYPE=$type SCR_SET_FAILURES=$failures \
			works "0 1 2 3" app_ckpt "${OWN[@]}"
		IFS=, read -ra all <<<"$all"
		pick 2 "${all[@]}"
		for lost in "${picked[@]}"; do
			# shellcheck disable=SC2086 # ranks
			rebuilt $lost
		done
	done <<-'END'
		XOR:1:0,1,2,3
		PARTNER:1:0,1,2,3,0 2,1 3
		RS:2:0 1,2 3,0,0 2,1 3,3
	END
}
