#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Redundancy over MPI: the same bytes as LLNL's library writes.

load helper

DATASET=tester/scr.j1/scr.dataset.1

# A metadata file as text, without what differs from run to run: paths of cache
# and prefix, times of access and change; and without what LLNL's has not:
# checksums, when the dataset was created.
text() {
	scr_inspect -m keyval --sort "$1" |
		sed -E -e '/^ *(CRC|CREATED|[AC]TIME_N?SECS) = /d' \
			-e "s|$SSD/tester/scr.j1|CACHE|; s|$PREFIX|PREFIX|" \
			-e 's|/tmp/scrgold/[^/]*/local/cache/golduser/scr.1000|CACHE|' \
			-e 's|/tmp/scrgold/[^/]*/prefix|PREFIX|'
}

# What follows the header.
body() {
	local size

	size=$(od -An -j 8 -N 8 -t u8 --endian=big "$1")
	tail -c +$((size + 1)) "$1"
}

# like CASE MAP TYPE FAILURES SIZE: write the files of a dataset of LLNL's
# library, and compare all that is written then.
like() {
	local map=$2 from node file name
	local -i files=0

	from=$(golden "scr3/$1/cache")
	works "$map" dataset "$3" "$4" "$5" "$from"
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
	try scr_inspect --prefix "$PREFIX" --deep --checksums --dataset ckpt.1
	assert_status 0
}

# likes: `like` with the lines "[+]CASE TYPE FAILURES SIZE MAP"; "+": only with
# SCRKIT_SLOW.  Cases that only the complete data have are left out.
likes() {
	local case type failures size map n=0

	while read -r case type failures size map; do
		[[ $case != +* || -n ${SCRKIT_SLOW-} ]] || continue
		case=${case#+}
		[[ -e $SCRKIT_GOLDEN/scr3/$case/cache ]] || continue
		echo "$case"
		rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
		like "$case" "$map" "$type" "$failures" "$size"
		n=$((n + 1))
	done
	((n > 0)) || skip "no golden data"
}

@test "XOR, SINGLE, PARTNER: the bytes of LLNL's library" {
	likes <<-'END'
		+xor_4 XOR 1 8 0 1 2 3
		xor_8n4 XOR 1 8 0 0 1 1 2 2 3 3
		xor_4_uneven XOR 1 8 0 1 2 3
		xor_4_allempty XOR 1 8 0 1 2 3
		+xor_4_big XOR 1 8 0 1 2 3
		xor_7_set3 XOR 1 3 0 1 2 3 4 5 6
		+xor_8 XOR 1 8 0 1 2 3 4 5 6 7
		single_8n4 SINGLE 0 8 0 0 1 1 2 2 3 3
		+single_4 SINGLE 0 8 0 1 2 3
		+partner_4 PARTNER 1 8 0 1 2 3
		partner_4_uneven PARTNER 1 8 0 1 2 3
	END
}

@test "RS: the bytes of LLNL's library" {
	likes <<-'END'
		rs1_4 RS 1 8 0 1 2 3
		rs2_4_uneven RS 2 8 0 1 2 3
		rs2_8n4 RS 2 8 0 0 1 1 2 2 3 3
		+rs3_4 RS 3 8 0 1 2 3
		rs3_8 RS 3 8 0 1 2 3 4 5 6 7
	END
}

@test "many small messages: the same bytes" {
	SLICE=4096 likes <<-'END'
		xor_4_big XOR 1 8 0 1 2 3
		rs2_4 RS 2 8 0 1 2 3
		partner_8n4 PARTNER 1 8 0 0 1 1 2 2 3 3
	END
}

# protected TYPE FAILURES: a dataset with files of very different size: none,
# empty ones, one byte, large ones.
protected() {
	local lists=$BATS_TEST_TMPDIR/lists

	rm -rf "$lists" "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/*
	mkdir "$lists"
	printf 'ckpt.1/a.r0 100000\nckpt.1/b.r0 0\nckpt.1/c.r0 1\n' >"$lists/list.0"
	printf 'ckpt.1/a.r1 0\nckpt.1/b.r1 2500000\nckpt.1/c.r1 0\n' >"$lists/list.1"
	printf 'ckpt.1/a.r3 1\n' >"$lists/list.3"
	works "0 1 2 3" dataset "$1" "$2" 8 "$lists"
}

@test "each member of XOR can be computed again, of PARTNER and RS two" {
	local type failures all lost

	while IFS=: read -r type failures all; do
		protected "$type" "$failures"
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
