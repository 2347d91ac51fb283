#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Redundancy descriptors and the sets of ranks.  The numbers are those of the
# scenarios that all of libscr has to pass.

load helper

@test "several descriptors, SET_SIZE of each line counts (13)" {
	cat >.scrconf <<-END
	CKPT=2 TYPE=PARTNER INTERVAL=4
	CKPT=0 TYPE=XOR SET_SIZE=2
	CKPT=1 TYPE=RS SET_FAILURES=1 OUTPUT=1 INTERVAL=2
	CKPT=3 TYPE=XOR ENABLED=0
	END
	SCR_COPY_TYPE=FILE works "0 1 2 3" parts levels
	assert_line "2: 0/1 XOR(XOR1) 2,3 1/2o XOR(XOR1) 0,1,2,3 \
2/4 PARTNER(PARTNER1) 0,1,2,3"
	[[ -z $stderr ]]
}

@test "of two lines with OUTPUT=1, or with the same word, the first counts, with a warning" {
	cat >.scrconf <<-END
	CKPT=0 TYPE=XOR
	CKPT=2 TYPE=SINGLE OUTPUT=1
	CKPT=10 TYPE=PARTNER OUTPUT=1
	END
	SCR_COPY_TYPE=FILE works "0 1" parts levels
	assert_line "0: 0/1 XOR(XOR1) 0,1 10/1o PARTNER(PARTNER1) 0,1 \
2/1o SINGLE(SINGLE0) 0"
	warned "CKPT=2: OUTPUT=1 is ignored: CKPT=10 has it, and sorts first as text"
	[[ $(wc -l <<<"$stderr") -eq 1 ]]
	cat >.scrconf <<-END
	CKPT=0 TYPE=XOR
	CKPT=1 TYPE=PARTNER INTERVAL=2
	CKPT=0 TYPE=SINGLE SET_SIZE=2 OUTPUT=1
	END
	SCR_COPY_TYPE=FILE works "0 1 2 3" parts levels
	assert_line "0: 0/1o XOR(XOR1) 0,1 1/2 PARTNER(PARTNER1) 0,1,2,3"
	SCR_COPY_TYPE=FILE works "0 1 2 3" app_calls init finalize
	warned "/.scrconf:3: CKPT=0: line 1 has this word, too: only properties that it lacks are taken from here"
	[[ $(wc -l <<<"$stderr") -eq 1 ]]
}

@test "uneven nodes are protected as far as possible (14)" {
	local type

	for type in XOR PARTNER RS; do
		SCR_COPY_TYPE=$type works "0 0 0 1" parts levels
		warned "2 of 4 ranks are not protected by $type"
		grep -q "^3: .* 0,3$" <<<"$output"
	done
	works "0 0 1 1 2" parts levels
	assert_line "4: 0/1 XOR(XOR1) 0,2,4"
	assert_line "1: 0/1 XOR(XOR1) 1,3"
	[[ -z $stderr ]]
}

@test "unknown names are left out, with a warning each (63); the one that may be meant" {
	cat >.scrconf <<-END
	CKPT=0 TYPE=XOR
	CKPT=1 TYPE=RAID
	CKPT=2 STORE=/nowhere
	CKPT=3 GROUP=NONE
	CKPT=4 TYPE=RS SET_FAILURES=9 SET_SIZE=4
	CKPT=5 INTERVAL=0
	CKPT=6 SET_SIZE=x
	CKPT=7 TYPE=RAID ENABLED=0
	END
	SCR_COPY_TYPE=FILE works "0 1" parts levels
	assert_line "0: 0/1 XOR(XOR1) 0,1"
	warned 'CKPT=1: TYPE: "RAID"'
	warned 'CKPT=2: STORE: "/nowhere": no such store'
	warned 'CKPT=3: GROUP: "NONE": no such group'
	warned "CKPT=4: SET_FAILURES: 9"
	warned "CKPT=5: INTERVAL"
	warned "CKPT=6: SET_SIZE"
	[[ $(wc -l <<<"$stderr") -eq 6 ]]
	printf '%s\n' 'CKPT=0 TYEP=SINGLE' >.scrconf
	SCR_COPY_TYPE=FILE works "0 1" app_calls init finalize
	warned "/.scrconf:1: CKPT=0: unknown property TYEP; did you mean TYPE?"
	[[ $(wc -l <<<"$stderr") -eq 1 ]]
}

@test "SCR_GROUP that is not there, a store that is not used, FILE without lines" {
	echo "STORE=$SSD/x GROUP=NONE" >.scrconf
	echo "CKPT=0 STORE=$SSD/x" >>.scrconf
	SCR_GROUP=NOSUCH works "0 1" parts levels
	assert_line "0: 0/1 XOR(XOR1) 0,1"
	warned 'SCR_GROUP: "NOSUCH": no such group: NODE is used'
	warned "1 CKPT line is ignored: SCR_COPY_TYPE=FILE uses them"
	SCR_COPY_TYPE=FILE works "0 1" parts levels
	warned "CKPT=0: STORE: \"$SSD/x\": this store is not used"
	warned "no usable CKPT line has INTERVAL=1: XOR is used"
	rm .scrconf
	SCR_COPY_TYPE=FILE works "0 1" parts levels
	assert_line "1: 0/1 XOR(XOR1) 0,1"
	warned "SCR_COPY_TYPE=FILE: no usable CKPT line has INTERVAL=1"
}

@test "a store that all nodes share needs no redundancy" {
	echo "STORE=$PREFIX/all GROUP=WORLD" >.scrconf
	SCR_CACHE_BASE=$PREFIX/all works "0 1" parts levels
	assert_line "0: 0/1 SINGLE(SINGLE0) 0"
	[[ -z $stderr ]]
}
