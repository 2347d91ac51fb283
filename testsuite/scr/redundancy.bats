#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # bats sets them
# Redundancy over MPI: the same bytes as LLNL's library writes.

load helper

DATASET=tester/scr.j1/scr.dataset.1

# A metadata file as text, without what differs from run to run: paths of cache
# and prefix, times of access and change; and without what LLNL's has not:
# checksums, when the dataset was created.
text()
{
	scr_inspect -m keyval --sort "$1" |
		sed -E -e '/^ *(CRC|CREATED|[AC]TIME_N?SECS) = /d' \
			-e "s|$SSD/tester/scr.j1|CACHE|; s|$PREFIX|PREFIX|" \
			-e 's|/tmp/scrgold/[^/]*/local/cache/golduser/scr.1000|CACHE|' \
			-e 's|/tmp/scrgold/[^/]*/prefix|PREFIX|'
}

# What follows the header.
body()
{
	local size

	size=$(od -An -j 8 -N 8 -t u8 --endian=big "$1")
	tail -c +$((size + 1)) "$1"
}

# like CASE MAP TYPE FAILURES SIZE: write the files of a dataset of LLNL's
# library, and compare all that is written then.
like()
{
	local map=$2 from node file name
	local -i files=0

	from=$(golden "scr3/$1/cache")
	job "$map" dataset "$3" "$4" "$5" "$from"
	assert_status 0
	for node in "$from"/nodes/node*; do
		for file in "$node"/cache/golduser/scr.1000/scr.dataset.1/.scr/*; do
			name=$NODES/${node##*/node}/$DATASET/.scr/${file##*/}
			case $file in
			*/reddesc.er.*.grp*)
				cmp <(body "$name") <(body "$file")
				text "$name" | grep -q MTIME_SECS ||
					[[ $1 == *empty || $1 == *uneven ]]
				diff <(text "$name") <(text "$file")
				;;
			*/reddescmap.er.*.grp*) [[ -s $name ]] ;;
			*.er.er | *.redset) cmp "$name" "$file" ;;
			*) diff <(text "$name") <(text "$file") ;;
			esac
			files+=1
		done
	done
	((files >= 9))
	# Nothing else is there.
	[[ $(find "$NODES" -path '*/.scr/*' -type f | wc -l) -eq $files ]]
}

# rebuilt LOST...: save the dataset to the prefix, lose the files of these ranks
# there, and compute them again.
rebuilt()
{
	local k

	rm -rf "$BATS_TEST_TMPDIR/old"
	mkdir "$BATS_TEST_TMPDIR/old"
	for k in 0 1 2 3; do
		PMI_RANK=0 try "$TESTSUITE/scr/node.sh" "$k" scr_copy --id 1 \
			--cntldir "$SSD/tester/scr.j1" --prefix "$PREFIX"
		assert_status 0
	done
	try scr_index --prefix "$PREFIX" --build 1
	assert_status 0
	cp -a "$PREFIX/." "$BATS_TEST_TMPDIR/old"
	for k; do
		find "$PREFIX" -name "*.er.$k.*" ! -name "*.er.$k.redset" -delete
		find "$PREFIX" \( -name "filemap_$k" -o -name "*.r$k" \) -delete
	done
	try scr_inspect --prefix "$PREFIX" --dataset ckpt.1
	assert_status 3
	try scr_rebuild --prefix "$PREFIX" ckpt.1
	assert_status 0
	diff -r --exclude=index.scr --exclude='summary.scr' \
		--exclude='rank2file*' "$BATS_TEST_TMPDIR/old" "$PREFIX"
	try scr_inspect --prefix "$PREFIX" --deep --checksums --dataset ckpt.1
	assert_status 0
}

# Files of very different size: none, empty ones, one byte, large ones.
lists()
{
	mkdir "$BATS_TEST_TMPDIR/lists"
	cd "$BATS_TEST_TMPDIR/lists" || return
	printf 'ckpt.1/a.r0 100000\nckpt.1/b.r0 0\nckpt.1/c.r0 1\n' >list.0
	printf 'ckpt.1/a.r1 0\nckpt.1/b.r1 2500000\nckpt.1/c.r1 0\n' >list.1
	printf 'ckpt.1/a.r3 1\n' >list.3
	cd "$PREFIX" || return
}

@test "XOR: the bytes of LLNL's library" { like xor_4 "0 1 2 3" XOR 1 8; }
@test "XOR, two ranks a node" { like xor_8n4 "0 0 1 1 2 2 3 3" XOR 1 8; }
@test "XOR, files of different sizes" { like xor_4_uneven "0 1 2 3" XOR 1 8; }
@test "XOR, empty files only" { like xor_4_allempty "0 1 2 3" XOR 1 8; }
@test "XOR, large files" { like xor_4_big "0 1 2 3" XOR 1 8; }
@test "XOR, two sets" { like xor_7_set3 "0 1 2 3 4 5 6" XOR 1 3; }
@test "SINGLE" { like single_8n4 "0 0 1 1 2 2 3 3" SINGLE 0 8; }
@test "SINGLE, a rank a node" { like single_4 "0 1 2 3" SINGLE 0 8; }
@test "XOR, eight nodes" { like xor_8 "0 1 2 3 4 5 6 7" XOR 1 8; }
@test "PARTNER" { like partner_4 "0 1 2 3" PARTNER 1 8; }
@test "PARTNER, files of different sizes" {
	like partner_4_uneven "0 1 2 3" PARTNER 1 8
}
@test "PARTNER, two ranks a node" {
	like partner_8n4 "0 0 1 1 2 2 3 3" PARTNER 1 8
}
@test "RS of one failure is XOR" { like rs1_4 "0 1 2 3" RS 1 8; }
@test "RS, two failures" { like rs2_4 "0 1 2 3" RS 2 8; }
@test "RS, files of different sizes" { like rs2_4_uneven "0 1 2 3" RS 2 8; }
@test "RS, two ranks a node" { like rs2_8n4 "0 0 1 1 2 2 3 3" RS 2 8; }
@test "RS, three failures" { like rs3_4 "0 1 2 3" RS 3 8; }
@test "RS, three failures, eight ranks" {
	like rs3_8 "0 1 2 3 4 5 6 7" RS 3 8
}

@test "many small messages: the same bytes" {
	export SLICE=4096
	like xor_4_big "0 1 2 3" XOR 1 8
	rm -rf "$NODES"
	like rs2_4 "0 1 2 3" RS 2 8
	rm -rf "$NODES"
	like partner_8n4 "0 0 1 1 2 2 3 3" PARTNER 1 8
}

@test "each member of XOR can be computed again" {
	lists
	job "0 1 2 3" dataset XOR 1 8 "$BATS_TEST_TMPDIR/lists"
	assert_status 0
	for k in 0 1 2 3; do rebuilt $k; done
}

@test "each member of PARTNER" {
	lists
	job "0 1 2 3" dataset PARTNER 1 8 "$BATS_TEST_TMPDIR/lists"
	assert_status 0
	for k in 0 1 2 3; do rebuilt $k; done
	rebuilt 0 2
}

@test "each two members of RS" {
	lists
	job "0 1 2 3" dataset RS 2 8 "$BATS_TEST_TMPDIR/lists"
	assert_status 0
	rebuilt 0 1
	rebuilt 1 3
	rebuilt 2 3
	rebuilt 0
}
