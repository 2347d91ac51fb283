#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Caches that LLNL's library has left restart here without their lost nodes:
# every file comes back byte for byte, redundancy files included.

load helper

teardown() {
	rmdir -p "$SSD" 2>/dev/null || :
}

# caches NAME NODES LOST: the snapshot of caches, NODES, of the case NAME,
# without the nodes LOST; and the flush file beside it, which shows that they
# are of this prefix: the recorded one is gone, as if it had been moved.
caches() {
	local node

	rm -rf "${NODES:?}" "${PREFIX:?}"/.scr
	mkdir -p "$NODES" "$PREFIX/.scr"
	cp "$2/../prefix/.scr/flush.scr" "$PREFIX/.scr"
	# Recorded paths name the store.
	export SSD=/tmp/scrgold/$1/local
	export SCR_CNTL_BASE=$SSD/cntl SCR_CACHE_BASE=$SSD/cache
	export USER=golduser SCR_JOB_ID=1000
	for node in "$2"/node*; do
		cp -a "$node" "$NODES/${node##*node}"
	done
	# shellcheck disable=SC2086 # several nodes
	lose $3
}

# restored NAME MAP LOST: the snapshot NAME, without the nodes LOST.
restored() {
	local from map=$2

	from=$(golden "scr3/$1/cache")
	caches "$1" "$from/nodes" "$3"
	works "$map" app_restart 0 skip=1
	[[ $stderr != *WARNING* ]] || failed "$stderr"
	# The lists of a node have another order.
	(cd "$NODES" && grep -v -e shuffile -e cindex "$from.sha256" |
		grep ' nodes/' | sed 's, nodes/node, ,' |
		sha256sum --quiet -c -)
}

# The cases, the nodes of their ranks, and nodes that are lost; "+": only with
# SCRKIT_SLOW.
@test "each scheme: what the lost nodes had is restored" {
	local case map lost n=0

	while IFS=: read -r case map lost; do
		[[ $case != +* || -n ${SCRKIT_SLOW-} ]] || continue
		case=${case#+}
		[[ -e $SCRKIT_GOLDEN/scr3/$case/cache ]] || continue
		echo "$case"
		restored "$case" "$map" "$lost"
		n=$((n + 1))
	done <<-'END'
		partner_4:0 1 2 3:0 2
		+partner_4_uneven:0 1 2 3:0
		partner_8n4:0 0 1 1 2 2 3 3:1 3
		+rs2_4:0 1 2 3:0 3
		rs2_4_uneven:0 1 2 3:0 3
		+rs3_4:0 1 2 3:0 1 2
		rs2_8n4:0 0 1 1 2 2 3 3:0 1
		rs3_8:0 1 2 3 4 5 6 7:0 4 7
		+xor_4:0 1 2 3:1
		xor_4_uneven:0 1 2 3:3
		xor_4_allempty:0 1 2 3:2
		rs1_4:0 1 2 3:3
		xor_4_big:0 1 2 3:1
		xor_7_set3:0 1 2 3 4 5 6:1 6
		+xor_8:0 1 2 3 4 5 6 7:7
		xor_8n4:0 0 1 1 2 2 3 3:2
		+single_4:0 1 2 3:
		single_8n4:0 0 1 1 2 2 3 3:
	END
	((n > 0)) || skip "no golden data"
}

# LLNL's filemaps have no checksums.
@test "33.18: a byte of a file, or of its redundancy, flipped: not restarted, not removed" {
	local case map from file n=0

	for case in "partner_8n4:0 0 1 1 2 2 3 3" "rs2_4_uneven:0 1 2 3" \
		"xor_8n4:0 0 1 1 2 2 3 3"; do
		map=${case#*:} case=${case%%:*}
		[[ -e $SCRKIT_GOLDEN/scr3/$case/cache ]] || continue
		from=$(golden "scr3/$case/cache")
		for file in 'rank_*' 'reddesc.er.2.*_*.redset'; do
			caches "$case" "$from/nodes"
			file=$(find "$NODES" -name "$file" -size +9c | head -n 1)
			damage "$file" $(($(stat -c %s "$file") - 5)) '\377'
			job "$map" app_calls init have_restart finalize
			assert_line "have_restart -> 1 0"
			[[ $stderr == *"differ, and no checksum tells which"*"stays in the cache"* ]] ||
				failed "$stderr"
			[[ -e $file ]]
			n=$((n + 1))
		done
	done
	((n > 0)) || skip "no golden data"
}

@test "33.1 bytes behind a damaged header: not restarted, not removed" {
	local from file

	from=$(golden scr3/xor_8n4/cache)
	caches xor_8n4 "$from/nodes" 3
	file=$(find "$NODES" -name 'reddesc.er.2.*_*.redset')
	dd if=/dev/zero of="$file" bs=1 count=60 conv=notrunc status=none
	job "0 0 1 1 2 2 3 3" app_calls init have_restart finalize
	assert_line "have_restart -> 1 0"
	[[ $stderr == *"which no checksum confirms"*"stays in the cache"* ]] ||
		failed "$stderr"
	[[ -e $file ]]
}

@test "SINGLE, a node lost: nothing is restarted, nothing is left" {
	local from

	from=$(golden scr3/single_4_lost/cache)
	caches single_4_lost "$from/nodes" 2
	line "have_restart -> 0 0" works "0 1 2 3" app_calls init have_restart finalize
	[[ -z $(find "$NODES" -name 'rank_*') ]]
}

# The same but for lists of a node, which have another order.
same_caches() {
	diff -r --exclude='*.shuffile' --exclude=cindex.scrinfo "$1/node$2" "$NODES/$2"
}

@test "two datasets with two descriptors" {
	local from k

	from=$(golden scr3/conf_crc)
	export SCR_CONF_FILE=$from/scr.conf
	pick 2 0 1 2 3
	for k in "${picked[@]}"; do
		caches conf_crc "$from/nodes" "$k"
		job "0 1 2 3" app_calls init have_restart finalize
		assert_line "have_restart -> 0 1 ckpt.2"
		same_caches "$from/nodes" "$k"
	done
}

@test "bypass" {
	local from k

	from=$(golden scr3/xor_4_bypass)
	# Recorded paths name the prefix.
	cat >in_place <<-END
		#!/bin/sh
		mkdir -p /tmp/scrgold/xor_4_bypass/prefix
		mount --bind "$PREFIX" /tmp/scrgold/xor_4_bypass/prefix
		cd /tmp/scrgold/xor_4_bypass/prefix && exec "\$@"
	END
	chmod +x in_place
	export SCR_CACHE_BYPASS=1
	for k in 0 3; do
		caches xor_4_bypass "$from/nodes" $k
		cp -a "$from/prefix/." .
		works "0 1 2 3" "$PWD/in_place" "$MPI/app_calls" init \
			have_restart start_restart \
			route_file=ckpt.1/rank_0.ckpt complete_restart finalize
		assert_line "have_restart -> 0 1 ckpt.1"
		[[ $output == *"rank_0.ckpt -> 0 /tmp/scrgold/xor_4_bypass/"* ]]
		same_caches "$from/nodes" "$k"
	done
	rm ckpt.1/rank_3.ckpt
	job "0 1 2 3" "$PWD/in_place" "$MPI/app_calls" init have_restart finalize
	assert_line "have_restart -> 0 0"
}
