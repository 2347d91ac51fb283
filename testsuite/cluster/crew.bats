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

# What each verb moves, in megabytes: packing reads the containers again.  The pieces
# of an archive have 12 MB each, and the last one is written and read here.
@test "containers and archives: twice the nodes, half the time" {
	local nodes ms n ideal verb counts=(4) rate args
	local -A moved=([pack]=288 [verify]=96 [unpack]=192)

	[[ -z ${SCRKIT_SLOW-} ]] || counts=(1 2 4)
	on login gen_dataset -q -p /pfs/lost --nodes-dir /pfs/n.lost -n 8 -m 8 \
		-t SINGLE -s 12000000
	on login scr_index -q -p /pfs/lost --checksums --build 1
	for nodes in "${counts[@]}"; do
		again
		rm -rf "$BED_DIR"/pfs/{a.*,q}
		mkdir "$BED_DIR/pfs/q"
		for verb in pack verify unpack "export --split 13M -o /pfs/a" import; do
			rate=6000000 args=(-p /pfs/p 1)
			[[ $verb != import ]] || args=(-p /pfs/q /pfs/a.00{1..8})
			[[ $verb != verify ]] || rate=3000000
			for n in 1 2 3 4; do bed_slow "node$n" $rate /pfs; done
			# shellcheck disable=SC2086 # words
			ms=$(on login bash -c 'start=$(date +%s%N)
				scr_container "$@" >/tmp/out 2>&1
				echo $((($(date +%s%N) - start) / 1000000))' - \
				$verb -r pdsh -j 1 -w "node[1-$nodes]" "${args[@]}")
			n=${moved[$verb]-$(((7 + nodes - 1) / nodes * nodes * 24))}
			ideal=$((n * 1000000 / (rate / 1000) / nodes))
			printf '# %s, %s nodes: %d ms, ideal %d, ratio %s\n' \
				"$verb" "$nodes" "$ms" $ideal \
				"$(awk "BEGIN { printf \"%.3f\", $ms / $ideal }")" >&3
			((ms * 100 <= ideal * 115 * ${SCRKIT_SLOWNESS:-1}))
		done
		for n in p q; do
			diff -r "$BED_DIR/pfs/lost/ckpt.1" "$BED_DIR/pfs/$n/ckpt.1"
		done
		[[ -e $BED_DIR/pfs/a.008 && ! -e $BED_DIR/pfs/a.009 ]]
		[[ -z $(find "$BED_DIR/pfs" -name '.a.*') ]]
		[[ -z $(find "$BED_DIR/pfs" -name '.scrkit*') ]]
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

@test "a node is killed, unplugged or frozen while it packs" {
	local fault n faults=(unplug)

	[[ -z ${SCRKIT_SLOW-} ]] || faults=(kill unplug freeze)
	on login gen_dataset -q -p /pfs/lost --nodes-dir /pfs/n.lost -n 8 -m 8 \
		-t SINGLE -s 12000000
	on login scr_index -q -p /pfs/lost --checksums --build 1
	for fault in "${faults[@]}"; do
		for n in 1 2 3 4; do bed_slow "node$n" $rate /pfs; done
		again
		on login scr_container pack -p /pfs/p -r pdsh --size 10MB \
			--node-timeout 3 -w "node[1-4]" 1 \
			>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		await on node2 pgrep -f -- --part
		sleep 1
		"bed_$fault" node2
		wait $! || failed "$fault: status $?" "$(<"$BATS_TEST_TMPDIR/out")"
		grep "node2: .* others do what is left" "$BATS_TEST_TMPDIR/out"
		# It comes back, and finds nothing of its own.
		bed_heal
		while on node2 pgrep -f -- --part; do sleep 0.2; done
		on login scr_container verify -p /pfs/p 1
		[[ -z $(find "$BED_DIR/pfs" -name '.scrkit*') ]]
		on login scr_container unpack -q -p /pfs/p 1
		diff -r "$BED_DIR/pfs/lost/ckpt.1" "$BED_DIR/pfs/p/ckpt.1"
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

# once ARG...: this command, on login, says once that 4 nodes rebuild, and they do.
once() {
	again
	run -0 on login "$@" -v -p /pfs/p 1
	[[ $(grep -c "on 4 nodes" <<<"$output$stderr") == 1 ]]
	[[ $(grep -c "rebuilt: " <<<"$output") == 1 ]]
	assert_output_lacks "what is left" "nothing to rebuild"
	same
}

@test "srun starts it on all nodes: one run, whatever its options are" {
	bed_slurm_up
	lay RS 200000
	once salloc -Q -N4 srun scr_rebuild
	once salloc -Q -N4 -n8 srun -l --ntasks-per-node=2 --mpi=none scr_rebuild
	once salloc -Q -N4 srun scr_rebuild -r ssh
	again
	# All on one node; and nodes that are named.
	run -0 on login salloc -Q -N4 srun -N1 -n4 --overcommit scr_rebuild -v -p /pfs/p 1
	assert_output_lacks " on "
	[[ $(grep -c "rebuilt: " <<<"$output") == 1 ]]
	again
	run -0 on login salloc -Q -N4 srun scr_rebuild -v -w node2 -p /pfs/p 1
	assert_output_has "on 1 node"
	same
	run -3 on login salloc -Q -N4 srun scr_rebuild -n -p /pfs/lost 1
	[[ $(grep -c "what a rebuild would do" <<<"$output") == 1 ]]
	on login gen_dataset -q -p /pfs/c --nodes-dir /pfs/n.c -n 8 -m 8 -t SINGLE \
		-s 12000000
	on login scr_index -q -p /pfs/c --build 1
	run -0 on login salloc -Q -N4 srun scr_container pack -v -p /pfs/c 1
	[[ $(grep -c "packed into" <<<"$output") == 1 ]]
	assert_output_has "on 4 nodes"
	run -0 on login salloc -Q -N4 srun scr_container verify -p /pfs/c 1
	[[ $(grep -c "whole" <<<"$output") == 1 ]]
}

@test "mpiexec starts it on all nodes: one run, by each way to them" {
	local hosts=node1,node2,node3,node4 way

	lay RS 200000
	for way in ssh mpiexec pdsh; do
		once mpiexec -hosts $hosts -n 8 scr_rebuild -r $way
	done
	run -0 on login mpiexec -hosts $hosts -n 4 scr_index -p /pfs/p --build 1
	[[ $(grep -c "in the index" <<<"$output") == 1 ]]
	run -0 on login mpiexec -n 3 scr_index -p /pfs/p --verify
	[[ $(grep -c DSET <<<"$output") == 1 ]]
	truncate -s 1000 "$BED_DIR"/pfs/p/ckpt.1/rank_3.ckpt
	run -3 on login mpiexec -hosts $hosts -n 4 scr_index -p /pfs/p --verify --checksums
	[[ $(grep -c "rank_3.*: can be rebuilt" <<<"$output$stderr") == 1 ]]
}

# In a launch by mpiexec process 0 is on node1.
@test "a process of a launch is killed" {
	local hosts=node1,node2,node3,node4 who n status

	lay XOR 2000000
	for who in "node1 -o" "node3 -f -- --part"; do
		for n in 1 2 3 4; do bed_slow "node$n" 1000000 /pfs; done
		again
		on login mpiexec -hosts $hosts -n 4 scr_rebuild -r ssh -j 1 -p /pfs/p 1 \
			>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		await on node3 pgrep -f -- --part
		sleep 0.5
		# shellcheck disable=SC2086 # words
		on ${who%% *} pkill -KILL ${who#* } scr_rebuild || on node3 pkill -KILL -f -- --part
		status=0
		wait $! || status=$?
		bed_heal
		for n in 1 2 3 4; do
			while on "node$n" pgrep scr_rebuild; do sleep 0.2; done
		done
		[[ $who != node3* ]] || { ((status == 0)) && same; }
		[[ $who == node3* ]] || {
			((status != 0))
			! grep "rebuilt: " "$BATS_TEST_TMPDIR/out"
			run -0 on login scr_rebuild -p /pfs/p 1
			same
		}
	done
}

# What one process of a launch runs alone is no business of process 0.
@test "a rank of an application asks for a verdict, and gets it" {
	local alone launch

	bed_slurm_up
	lay RS 200000
	printf '#!/bin/sh\nexec scr_index -p /pfs/lost --verify --json 2>/dev/null\n' \
		>"$BED_DIR/pfs/ask"
	chmod +x "$BED_DIR/pfs/ask"
	printf '0 /bin/true\n1 scr_index -p /pfs/lost --verify --json\n' \
		>"$BED_DIR/pfs/programs"
	run -3 on login /pfs/ask
	alone=$output
	for launch in \
		'mpiexec -n 3 sh -c "[ \$PMI_RANK != 1 ] || { /pfs/ask; exit; }"' \
		'mpiexec -n 1 /bin/true : -n 1 /pfs/ask' \
		'salloc -Q -N2 srun sh -c "[ \$SLURM_PROCID != 1 ] || exec /pfs/ask"' \
		'salloc -Q -N2 srun sh -c "[ \$SLURM_PROCID != 1 ] || { /pfs/ask; exit; }"' \
		'salloc -Q -N2 srun --multi-prog /pfs/programs'; do
		run -3 on login sh -c "$launch 2>/dev/null"
		[[ $output == "$alone" ]] || failed "$launch" "$output"
	done
}
