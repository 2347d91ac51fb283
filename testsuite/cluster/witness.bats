#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2034 # scripts of nodes
# What is known about nodes that do not answer, and about what they hold: lost is
# only what every node that could hold it was asked for, and answered.

load bed

setup_file() { bed_up 4; }

teardown() {
	local node

	for node in node1 node2 node3 node4; do
		on "$node" sh -c 'rm -f ~/.bashrc' 2>/dev/null || true
	done
	bed_wipe
}

# start_up NODE COMMAND: what the login shell of NODE does before it does what it
# is asked.
start_up() { on "$1" sh -c 'echo "$1" >~/.bashrc' - "$2"; }

# A set of four tolerates one loss, and two nodes do not answer.
@test "33.6 hung nodes are unknown, not dead: stopped sshd, endless or slow logins" {
	local start=$SECONDS

	bed_lay xor_8n4
	bed_freeze node1
	start_up node2 'while :; do echo x; sleep 0.1; done'
	answers 1 UNKNOWN post --plan -t 1
	assert_output_has "maybe alive: node[1-2]" "banner exchange"
	assert_output_lacks dead LOST
	bed_thaw node1
	# One that floods is ended at once; one of two really is dead.
	start_up node2 'exec yes'
	bed_unplug node1
	answers 1 UNKNOWN post --plan -t 1
	assert_output_has "maybe alive: node2" "1 of 4 nodes dead"
	start_up node2 'sleep 12'
	answers 1 UNKNOWN post --plan -t 1
	assert_output_has "maybe alive: node2" "1 of 4 nodes dead"
	soon "$start" 60
}

# Only by srun, which cannot tell a dead node from one whose daemon hangs.
@test "33.6 under SLURM: stopped daemons are unknown, nodes that SLURM marks late are lost" {
	bed_slurm_up
	bed_lay xor_8n4
	for node in node1 node2; do
		on $node pkill -STOP -x slurmd
	done
	answers 1 UNKNOWN post_in_slurm "" --plan
	assert_output_has "maybe alive: node[1-2]"
	assert_output_lacks dead LOST
	for node in node1 node2; do
		on $node pkill -CONT -x slurmd
	done
	{
		await test -e "$BED_DIR/pfs/go"
		sleep 3
		bed_slurm_lost node1 node2
	} 3>&- &
	rm -f "$BED_DIR/pfs/go"
	answers 4 LOST post_in_slurm "node1 node2" --plan
	assert_output_has "2 of 4 nodes dead" "slurm calls it down"
	wait $!
}

@test "33.24 under SLURM: --down, and a node that SLURM has taken from the job, are counted" {
	bed_slurm_up
	bed_lay xor_8n4
	lost=1 answers 4 "3 of 4 nodes dead" \
		post_in_slurm node3 --plan --down "node[1-2,9]"
	assert_output_has "3 of 4 members are missing" \
		"--down: node9: not among the nodes of the job"
}

# as_other NODE...: on these, scr_copy runs as a user who may not read the caches.
as_other() {
	local list=$*

	mkdir -p "$BED_DIR/pfs/bin"
	cat >"$BED_DIR/pfs/bin/copy" <<-EOF
		#!/bin/sh
		case " $list " in *" \$(hostname) "*)
			exec setpriv --reuid=4711 --clear-groups \\
				${OPEN_BIN-$BIN}/scr_copy "\$@" ;;
		esac
		exec scr_copy "\$@"
	EOF
	chmod +x "$BED_DIR/pfs/bin/copy"
}

@test "33.7 caches that may not be read are not absent: unknown" {
	bed_lay xor_8n4
	for node in node1 node2 node3 node4; do
		on $node chmod 700 "$lay_cache/golduser" "$lay_cntl/golduser"
	done
	as_other node1 node2
	answers 1 UNKNOWN post --plan --copy-program /pfs/bin/copy
	assert_output_has "node[1-2]: " "Permission denied" \
		"caches not readable on node[1-2]"
	assert_output_lacks LOST
	# Nothing is known at all.
	as_other node1 node2 node3 node4
	rm "$lay_pfs/.scr/flush.scr"
	answers 1 UNKNOWN post --plan --copy-program /pfs/bin/copy
}

@test "33.8 under SLURM: all components of a heterogeneous job are asked" {
	bed_slurm_up
	bed_lay xor_8n4
	mkdir "$BED_DIR/pfs/bin"
	printf '#!/bin/sh\nexit 1\n' >"$BED_DIR/pfs/bin/scontrol"
	cat >"$BED_DIR/pfs/script" <<-'EOF'
		#!/bin/sh
		scr_postrun -t 2 -v --plan -r "$1" 2>&1 || exit
		PATH=/pfs/bin:$PATH # the environment knows them, too
		exec scr_postrun -t 2 -v --plan -r "$1" 2>&1
	EOF
	chmod +x "$BED_DIR"/pfs/bin/scontrol "$BED_DIR/pfs/script"
	# srun alone reaches them, too.
	for way in "auto salloc -Q" "srun sbatch -Q -W -o /pfs/out"; do
		# shellcheck disable=SC2086 # words
		run -0 on login env "${lay_env[@]}" env -u SCR_NODELIST \
			${way#* } -N2 : -N2 /pfs/script ${way%% *}
		[[ $way != *sbatch* ]] || output=$(cat "$BED_DIR/pfs/out")
		for text in "nodes: 4: node" "8/8" "ckpt.1 (dataset 1) can"; do
			[[ $(grep -c "$text" <<<"$output") == 2 ]] ||
				failed "$way: $text" "$output"
		done
	done
}

@test "33.9 the prefix is another directory on some nodes: unknown, and nothing is written there" {
	local node

	bed_lay xor_8n4
	for node in node1 node2; do
		on $node sh -c 'umount "$1" && mkdir -p "$1"' - "$lay_prefix"
	done
	for plan in --plan ''; do
		# shellcheck disable=SC2086 # none
		answers 1 UNKNOWN post $plan
		assert_output_has "node[1-2]: " "another directory than where" \
			"maybe alive: node[1-2]"
	done
	[[ -z $(on node1 ls -A "$lay_prefix") ]]
	[[ ! -e $lay_pfs/ckpt.1 && -z $(ls -A "$lay_pfs"/.scr/.scrkit*) ]]
	answers 1 "failed   prefix      node[1-2]: the prefix is another" \
		on login env "${lay_env[@]}" scr_env doctor
	# One of four: the redundancy of the others suffices.
	on node2 mount --bind "/pfs/xor_8n4/prefix" "$lay_prefix"
	saves
	assert_output_has "maybe alive: node1"
	on node1 mount --bind "/pfs/xor_8n4/prefix" "$lay_prefix"
}
