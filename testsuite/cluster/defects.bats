#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2034 # bats, bed_lay and we set them, for bed.bash
# shellcheck disable=SC2119,SC2120 # post takes options, and mostly has none
# The known defects D1 to D15 of LLNL's tools, each reproduced on the bed:
# scrkit must do the right thing.

load bed

setup_file() { bed_up 4; }

# change FILE: change four bytes of it, but neither its size nor its time.
# flip NODE RANK: the same, in the cache of this node.
# shellcheck disable=SC2016 # for the shell in there
change='touch -r "$1" /tmp/time.$$
	printf XXXX | dd of="$1" bs=1 seek=10 conv=notrunc status=none
	touch -r /tmp/time.$$ "$1"
	rm /tmp/time.$$'
change() { sh -c "$change" - "$1"; }
flip()
{
	on "$1" sh -c "$change" - \
		"$lay_cache/golduser/scr.1000/scr.dataset.1/rank_$2.ckpt"
}

@test "D1: a failed build does not stick" {
	bed_lay xor_8n4
	bed_unplug node1 node2
	# All available files are copied, but the dataset cannot be built.
	run post --id 1
	assert_status 4
	[[ ! -e $lay_pfs/.scr/scr.dataset.1/summary.scr ]]
	run on login scr_index -p "$lay_prefix" --build 1
	assert_status 4
	assert_output_has "ranks"
	bed_plug node1 node2
	run post
	assert_status 0
	assert_saved xor_8n4
}

@test "D2: the template's CNTLDIR=... BYTES=... works" {
	bed_lay xor_8n4
	cat >"$lay_pfs/.scrconf" <<-EOF
		# as in the template
		CNTLDIR=$lay_cntl BYTES=1GB
		CACHEDIR=$lay_cache BYTES=50GB
		SCR_USE_CONTAINERS=0 # a comment
	EOF
	run on login env -u SCR_CONF_FILE SCR_USER_NAME=golduser \
		SCR_JOB_ID=1000 "SCR_NODELIST=node[1-4]" \
		scr_postrun -p "$lay_prefix" -r pdsh -t 2
	assert_status 0
	assert_saved xor_8n4
}

@test "D3: a node with a full cache is not dead" {
	bed_lay xor_8n4
	bed_fill node1
	bed_fill node2
	bed_fill node3
	bed_fill node4
	run post
	assert_status 0
	[[ $output != *dead* ]]
	assert_saved xor_8n4
}

@test "D4: a prefix with blanks, quotes and dollars" {
	local name="run 5/it's \$HOME"

	bed_lay xor_8n4 "$name"
	for remote in pdsh ssh; do
		run post -p "/pfs/$name" --moved-from "$lay_prefix"
		assert_status 0
		assert_saved xor_8n4
	done
}

@test "D5: a lost dataset is reported, with status 4" {
	bed_lay partner_8n4
	bed_kill node2 node3
	run post
	assert_status 4
	assert_output_has "LOST" "set 1 of 2 (PARTNER"
}

@test "D6: commands run on the nodes, whatever the launcher" {
	bed_lay xor_8n4
	# These cannot start a command on a node given by name, so another
	# launcher is chosen.
	for remote in jsrun lrun aprun; do
		run post -v --plan
		assert_status 0
		assert_output_has "complete" "8/8" "pdsh"
	done
	# The requested launcher is missing: it is reported, and no other is
	# used.
	remote=flux
	run post
	assert_status 1
	assert_output_has flux
	remote=mpirun
	if ! on login sh -c 'command -v mpiexec' >/dev/null; then
		run post
		assert_status 1
		assert_output_has mpiexec
		skip "no mpiexec; the others were tried"
	fi
	run post
	assert_status 0
	assert_saved xor_8n4
}

@test "D7: bytes that changed in a cache: RS finds and rebuilds the file" {
	bed_lay rs2_8n4
	flip node3 4
	run post
	assert_status 0
	assert_output_has "ckpt.1/rank_4.ckpt of rank 4: its contents are damaged" \
		"(RS) is consistent without it"
	assert_saved rs2_8n4
	run on login scr_index -p "$lay_prefix" --verify --deep --checksums
	assert_status 0
}

@test "D7: bytes that changed in a cache: XOR and PARTNER name the set" {
	bed_lay xor_8n4
	flip node3 4
	run post
	assert_status 4
	assert_output_has "set 1 of 2 (XOR) is inconsistent: 4 bytes differ" \
		"one of the ranks 0 2 4 6" "--no-compare"
	[[ ! -e $lay_pfs/.scr/scr.dataset.1/summary.scr ]]
	# Another run copies nothing and reports the same.
	run post
	assert_status 4
	assert_output_has "one of the ranks 0 2 4 6"
	run post --id 1 --no-compare
	assert_status 0
	bed_lay partner_8n4
	flip node3 4
	run post
	assert_status 4
	assert_output_has "(PARTNER): the data of rank 4 and their copy at rank" \
		"which of them is wrong is unknown"
}

@test "D7: bytes that changed in a cache: with SINGLE, or with a dead node, nothing can show it" {
	bed_lay single_8n4
	flip node3 4
	run post
	assert_status 0
	assert_output_has "dataset 1: no redundancy and no recorded checksums: contents not verified"
	bed_lay xor_8n4
	flip node3 4
	bed_kill node2
	run post
	assert_status 0
	assert_output_has "dataset 1: 2 of 2 redundancy sets have lost files: contents not compared"
}

@test "D7: bytes that changed on the prefix after they were copied are found" {
	bed_lay xor_8n4
	run post
	assert_status 0
	change "$lay_pfs/ckpt.1/rank_3.ckpt"
	run on login scr_index -p "$lay_prefix" --verify --checksums
	assert_status 3
	assert_output_has ckpt.1/rank_3.ckpt checksum
	run on login scr_index -p "$lay_prefix" --build 1 --checksums
	assert_status 0
	assert_saved xor_8n4
}

@test "D8: the catalogue looks at the data" {
	bed_lay xor_8n4
	run post
	assert_status 0
	truncate -s 3 "$lay_pfs/ckpt.1/rank_3.ckpt"
	run on login scr_index -p "$lay_prefix" --verify
	assert_status 3
	assert_output_has ckpt.1/rank_3.ckpt
}

@test "D9: ranges of nodes that SLURM calls down are understood" {
	local i

	bed_slurm_up
	bed_lay rs2_8n4
	bed_kill node2 node3
	bed_slurm_lost node2 node3
	for ((i = 0; i < 50; i++)); do
		run on login sinfo -ho %N -t down
		[[ $output != "node[2-3]" ]] || break
		sleep 0.2
	done
	assert_output_is "node[2-3]"
	run on login env "${lay_env[@]}" SLURM_JOB_ID=1 scr_env down-nodes -r \
		--remote pdsh --timeout 2
	assert_output_has "node[2-3]: "
}

@test "D10: any host names" {
	run on login scr_hostlist x1000c0s0b0n0,x1000c0s0b0n1 vm ip-10-0-0-1
	assert_status 0
	assert_output_is "x1000c0s0b0n[0-1],vm,ip-10-0-0-1"
	run on login scr_hostlist node01,node02,node10
	assert_output_is "node[01-02,10]"
	run on login scr_hostlist -e "nid[00008-00010]"
	assert_output_has nid00008 nid00009 nid00010
}

@test "D11: concurrent scavenges do not harm each other" {
	local i pids=() failed=0

	bed_lay xor_8n4
	run post
	assert_status 0
	for i in 1 2 3 4 5 6; do
		on login scr_index -p "$lay_prefix" --build 1 >/dev/null 2>&1 &
		pids+=($!)
		on login scr_index -p "$lay_prefix" --current ckpt.1 \
			>/dev/null 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || failed=$((failed + 1))
	done
	((failed == 0))
	run on login scr_index -p "$lay_prefix"
	assert_output_has "1 YES"
	# The second of two scavenges waits, or reports why it does not run.
	bed_slow node1 20000 /tmp/scrgold
	rm -r "$lay_pfs"/.scr/scr.dataset.1 "$lay_pfs"/.scr/index.scr "$lay_pfs"/ckpt.1
	post >/dev/null 2>&1 3>&- &
	sleep 1.5
	run post --wait 0
	assert_status 1
	assert_output_has "scavenge of job 1000 on login" "is working here"
	wait $!
	assert_saved xor_8n4
}

@test "D12: a corrupt halt file means stop" {
	bed_lay xor_8n4
	echo junk >"$lay_pfs/.scr/halt.scr"
	run on login scr_retries_halt --dir "$lay_prefix"
	assert_status 0
	assert_output_has halt.scr
}

@test "D13: a prefix that was moved is built all the same" {
	bed_lay xor_8n4
	bed_kill node1
	run post
	assert_status 0
	cp -a "$lay_pfs" "$BED_DIR/pfs/moved"
	rm "$BED_DIR"/pfs/moved/.scr/scr.dataset.1/summary.scr \
		"$BED_DIR"/pfs/moved/ckpt.1/rank_6.ckpt
	run on login scr_index -p /pfs/moved --build 1
	assert_status 0
	lay_pfs=$BED_DIR/pfs/moved
	assert_saved xor_8n4
}

@test "D14: a redundancy set without remaining files is named" {
	bed_lay single_8n4
	bed_kill node4
	run post --id 1
	assert_status 4
	assert_output_has "rank"
	run on login scr_index -p "$lay_prefix" --build 1
	assert_status 4
	assert_output_has "rank"
}

@test "D15: an interrupted scavenge is completed later" {
	bed_lay xor_8n4
	bed_slow node2 10000 /tmp/scrgold
	run on login env "${lay_env[@]}" timeout -s INT 2 scr_postrun -r pdsh
	assert_status 124
	bed_fast node2
	run post
	assert_status 0
	assert_saved xor_8n4
}
