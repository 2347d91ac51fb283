#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Failure groups of a job.

load helper

@test "ranks of one host are a group, whatever their order" {
	works "1 0 1 0" parts groups
	assert_line "0: NODE=0/2 WORLD=0/1"
	assert_line "1: NODE=1/2 WORLD=0/1"
	assert_line "2: NODE=0/2 WORLD=0/1"
	assert_line "3: NODE=1/2 WORLD=0/1"
}

@test "GROUPS lines: hosts with the same value are a group; what one host does not define" {
	cat >.scrconf <<-END
	GROUPS=node0 POWER=a SWITCH=x
	GROUPS=node1 POWER=a SWITCH=y
	GROUPS=node2 POWER=b SWITCH=x
	GROUPS=node2 CABLE=1
	END
	works "0 1 2" parts groups
	assert_line "0: NODE=0/3 WORLD=0/1 POWER=0/2 SWITCH=0/2"
	assert_line "1: NODE=1/3 WORLD=0/1 POWER=0/2 SWITCH=1/2"
	assert_line "2: NODE=2/3 WORLD=0/1 POWER=2/2 SWITCH=0/2"
	printf '%s\n' "GROUPS=node0 POWER=a RACK=1" "GROUPS=node1 RACK=1" \
		>.scrconf
	works "0 1 2" parts groups
	assert_line "2: NODE=2/3 WORLD=0/1"
	warned "group POWER: left out: no GROUPS line defines it for the host of rank 1"
	warned "group RACK: left out: no GROUPS line defines it for the host of rank 2"
	printf '%s\n' "GROUPS=node0 NODE=a WORLD=1" \
		"GROUPS=node1 NODE=a WORLD=2" >.scrconf
	works "0 1" parts groups
	assert_line "1: NODE=1/2 WORLD=0/1"
}
