#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2154 # scripts of nodes; set by bed_lay and try
# Several nodes rebuild one dataset: how fast, and what if one is lost.

load bed

setup_file() { bed_up 4; }

# Bytes that a process of a node reads and writes in a second.
rate=6000000

# lay TYPE [SIZE]: /pfs/lost has lost what each of four sets tolerates (of what is
# left, nothing is compared before); /pfs/whole none.
lay() {
	local name lose

	for name in whole lost; do
		lose=
		[[ $name == whole ]] || lose=0,5,10,15
		[[ -z $lose || $1 != RS ]] || lose+=,1,6,11,14
		on login gen_dataset -q -p "/pfs/$name" --nodes-dir "/pfs/n.$name" \
			-n 16 -m 16 -t "$1" --set-size 4 -s "${2:-8000000}" \
			--recorded-prefix /job/p --lose "$lose"
	done
}

same() {
	diff -r -x flush.scr "$BED_DIR/pfs/p" "$BED_DIR/pfs/whole"
	[[ -z $(find "$BED_DIR/pfs/p" -name '.scrkit*') ]]
}

again() { rm -rf "$BED_DIR/pfs/p" && cp -a "$BED_DIR/pfs/lost" "$BED_DIR/pfs/p"; }

# share NODES [OPTION]...
share() {
	on login scr_rebuild -p /pfs/p -r pdsh -j 1 -w "$@" 1
}

# The time until the command ends, as seen on its node: entering the bed takes
# longer than all that other nodes cost.
@test "twice the nodes, half the time" {
	local type nodes ms moved n ideal

	for type in XOR RS; do
		lay "$type"
		for n in 1 2 3 4; do bed_slow "node$n" $rate /pfs; done
		for nodes in 1 2 4; do
			[[ $type == XOR || $nodes == 4 ]] || continue
			again
			ms=$(on login bash -c 'start=$(date +%s%N)
				scr_rebuild -p /pfs/p -r pdsh -j 1 -w "$1" --json 1 >/tmp/out
				echo $((($(date +%s%N) - start) / 1000000))' - \
				"node[1-$nodes]")
			same
			moved=$(on login awk \
				'/"bytes_(read|written)":/ { n += $2 } END { print n }' /tmp/out)
			ideal=$((moved * 1000 / rate / nodes))
			printf '# %s, %s nodes: %d ms, ideal %d, ratio %s\n' \
				"$type" "$nodes" "$ms" $ideal \
				"$(awk "BEGIN { printf \"%.3f\", $ms / $ideal }")" >&3
			((ms * 100 <= ideal * 115 * ${SCRKIT_SLOWNESS:-1}))
		done
		bed_wipe
	done
}

# lay_fti LEVEL: /pfs/whole and /pfs/lost are checkpoints of FTI: 8 nodes of 4 ranks,
# 8 groups; two nodes are lost.
lay_fti() {
	local rank dir whole=$BED_DIR/pfs/whole

	mkdir -p "$whole"/{Local/node{0..7}/e/l1,Meta/e/l1}
	printf '%s\n' "[basic]" "head = 0" "node_size = 4" "group_size = 4" \
		"ckpt_dir = ./Local" "glbl_dir = ./Global" "meta_dir = ./Meta" \
		"ckpt_io = 3" "[restart]" "exec_id = e" "[advanced]" \
		"local_test = 1" >"$whole/config.fti"
	: >"$whole/Meta/e/Topology.fti"
	for ((rank = 0; rank < 32; rank++)); do
		dir=$whole/Local/node$((rank / 4))/e/l1
		head -c 4000000 /dev/urandom >"$BATS_TEST_TMPDIR/v"
		scr_fti pack -q --to F --id 1 -o "$dir/Ckpt1-Rank$rank.fti" \
			0="$BATS_TEST_TMPDIR/v"
	done
	on login scr_fti protect -q --level "$1" /pfs/whole
	rm -r "$whole"/Local/node*/e/l1
	find "$whole" -name '*RSed*' -delete
	on login scr_fti rebuild -q /pfs/whole
	cp -a "$whole" "$BED_DIR/pfs/lost"
	rm -r "$BED_DIR"/pfs/lost/Local/node[16]
}

@test "FTI: twice the nodes, half the time" {
	local level nodes ms moved n ideal

	for level in 2 3; do
		lay_fti "$level"
		for n in 1 2 3 4; do bed_slow "node$n" $rate /pfs; done
		for nodes in 1 2 4; do
			[[ $level == 2 || $nodes == 4 ]] || continue
			again
			ms=$(on login bash -c 'start=$(date +%s%N)
				scr_fti rebuild -r pdsh -j 1 -w "$1" --json /pfs/p >/tmp/out
				echo $((($(date +%s%N) - start) / 1000000))' - \
				"node[1-$nodes]")
			same
			# What is written is read again.
			moved=$(on login awk '/"bytes_read":/ { n += $2 }
				/"bytes_written":/ { n += 2 * $2 }
				END { print n }' /tmp/out)
			ideal=$((moved * 1000 / rate / nodes))
			printf '# L%s, %s nodes: %d ms, ideal %d, ratio %s\n' \
				"$level" "$nodes" "$ms" $ideal \
				"$(awk "BEGIN { printf \"%.3f\", $ms / $ideal }")" >&3
			((ms * 100 <= ideal * 115 * ${SCRKIT_SLOWNESS:-1}))
		done
		bed_wipe
	done
}

@test "a node is killed, unplugged or frozen while it rebuilds" {
	local fault n

	lay XOR
	for fault in kill unplug freeze; do
		for n in 1 2 3 4; do bed_slow "node$n" $rate /pfs; done
		again
		share "node[1-4]" --node-timeout 3 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		await on node2 pgrep -f -- --part
		sleep 0.5
		"bed_$fault" node2
		# It may hold its lock as long as it lives.
		[[ $fault == kill ]] || {
			await grep "node2: " "$BATS_TEST_TMPDIR/out"
			bed_heal
		}
		wait $! || failed "$fault: status $?" "$(<"$BATS_TEST_TMPDIR/out")"
		grep "node2: .* others do what is left" "$BATS_TEST_TMPDIR/out"
		bed_heal
		while on node2 pgrep -f -- --part; do sleep 0.2; done
		same
	done
}

@test "in a job of SLURM, through srun" {
	bed_slurm_up
	lay RS 200000
	again
	on login salloc -Q -N4 scr_rebuild -p /pfs/p -r srun -w "node[1-4]" 1
	same
}

@test "scr_postrun: the nodes that are left rebuild" {
	local case

	for case in xor_8n4 rs2_8n4; do
		bed_lay "$case"
		bed_kill node3
		answers 0 "" post --rebuild-on all -v
		[[ $output$stderr =~ on\ [23]\ nodes ]]
		assert_saved
		run -0 on login scr_index -p "$lay_prefix" --verify --deep
		[[ -z $(find "$lay_pfs" -name '.scrkit*') ]]
		bed_heal
		bed_wipe
	done
}

@test "scr_postrun in a job of SLURM: through srun" {
	bed_slurm_up
	bed_lay rs2_8n4
	answers 0 "" post_in_slurm node2 --rebuild-on all -v
	[[ $output$stderr =~ on\ [23]\ nodes ]]
	assert_saved
}
