#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2034 # scripts of nodes
# Which way leads to a node, and what a node that is not reached means: dead is
# what no way reaches, unreachable is what refuses.

load bed

setup_file() { bed_up 4; }

teardown() {
	ssh_config_back
	bed_wipe
}

# Programs of these tests come first in PATH on all nodes.
program() # NAME TEXT
{
	mkdir -p "$BED_DIR/pfs/bin"
	{ echo '#!/bin/sh' && echo "$2"; } >"$BED_DIR/pfs/bin/$1"
	chmod +x "$BED_DIR/pfs/bin/$1"
	lay_env+=("PATH=/pfs/bin:$BIN:/usr/sbin:/usr/bin:/sbin:/bin")
}

# The user's configuration of ssh on login, for these nodes; until the end of the
# test.
ssh_config() # "NODE..." LINE...
{
	local hosts=$1

	shift
	on login sh -c 'cp -n ~/.ssh/config /tmp/ssh_config'
	{
		printf 'Host %s\n' "$hosts"
		printf '  %s\n' "$@"
		on login cat /tmp/ssh_config
	} | on login sh -c 'cat >~/.ssh/config'
}

ssh_config_back() {
	on login sh -c '[ ! -e /tmp/ssh_config ] ||
		mv /tmp/ssh_config ~/.ssh/config'
}

# What the caches hold.
caches() {
	local node

	for node in node1 node2 node3 node4; do
		on "$node" sh -c "cd $lay_cache && find . -type f -print0 |
			sort -z | xargs -0 sha256sum"
	done
}

@test "in a job of SLURM: two nodes refuse ssh, srun saves" {
	bed_slurm_up
	bed_lay xor_8n4
	bed_refuse node1 node2
	remote=auto answers 0 "by srun, then by ssh" post_in_slurm "" -v
	assert_output_has "is saved"
	assert_output_lacks dead
	assert_saved
}

@test "in a job of SLURM: srun is broken, ssh saves, and is asked at once" {
	bed_slurm_up
	bed_lay xor_8n4
	program srun 'echo x >>/pfs/tried
		echo "srun: error: Unable to create step for job 1: Requested nodes are busy" >&2
		exit 1'
	remote=auto answers 0 "is saved" post_in_slurm "" -v
	assert_saved
	# Twice for each node, when it is asked, and not again for the copy.
	[[ $(wc -l <"$BED_DIR/pfs/tried") == 8 ]]
}

@test "in a job of SLURM: two dead nodes of a set, by every way: lost" {
	local start=$SECONDS

	bed_slurm_up
	bed_lay xor_8n4
	remote=auto answers 4 LOST post_in_slurm "node1 node2" -v
	assert_output_has "2 of 4 nodes dead"
	# Two attempts by srun (2 s), two by ssh, three pauses.
	soon "$start" 30
}

@test "wrong host keys of two nodes: unknown, the caches stay; mended: saved" {
	local before

	bed_lay xor_8n4
	before=$(caches)
	on login sh -c 'rm -f /tmp/k && ssh-keygen -q -t ed25519 -N "" -f /tmp/k &&
		for n in 1 2; do
			echo "node$n,10.77.0.$n $(cut -d " " -f 1,2 /tmp/k.pub)"
		done >/tmp/wrong'
	ssh_config "node1 node2" "StrictHostKeyChecking yes" \
		"UserKnownHostsFile /tmp/wrong"
	remote=auto answers 1 "Host key verification failed" post
	assert_output_has "node[1-2]" "UNKNOWN" "repair that, or name them with --down"
	assert_output_lacks LOST dead
	[[ $(caches) == "$before" ]]
	answers 1 '"state": "unreachable"' post --plan --json
	assert_output_has '"status": 1'

	# Where the redundancy suffices all goes on.
	ssh_config "node1" "StrictHostKeyChecking yes" "UserKnownHostsFile /tmp/wrong"
	remote=auto answers 0 node1 post
	ssh_config_back
	remote=auto saves
}

@test "no process can be started here: unknown, not lost" {
	bed_lay xor_8n4
	chmod -R a+rwX "$lay_pfs"
	run on login env "${lay_env[@]}" PATH="${OPEN_BIN-$BIN}:$PATH" \
		setpriv --reuid=4711 --clear-groups \
		sh -c 'ulimit -u 1; exec scr_postrun -r ssh -t 2 "$@"' - --jobs 1
	assert_status 1
	assert_output_lacks LOST
	saves

	# Or not by ssh, which has a process of its own for some nodes.
	bed_wipe
	bed_lay xor_8n4
	program ssh 'case " $* " in *" node"[12]" "*)
			echo "fork: Resource temporarily unavailable" >&2
			exit 255 ;;
		esac
		exec /usr/bin/ssh "$@"'
	remote=ssh answers 1 UNKNOWN post
	assert_output_has "node[1-2]"
}

@test "a master connection that hangs" {
	bed_lay xor_8n4
	# shellcheck disable=SC2016 # for perl
	on login sh -c "exec perl -MIO::Socket::UNIX -e '
		my \$s = IO::Socket::UNIX->new(Local => q(/tmp/master),
			Listen => 9); sleep 60' >/dev/null 2>&1 &"
	ssh_config "node*" "ControlMaster auto" "ControlPath /tmp/master"
	for remote in ssh pdsh; do
		run -0 post
	done
	assert_saved
}

@test "--limit: a node that works for ever is ended, and rebuilt from the others" {
	local start=$SECONDS

	bed_lay xor_8n4
	program talk '[ "$(hostname)" != node2 ] ||
			while :; do echo; sleep 0.1; done
		exec scr_copy "$@"'
	remote=ssh saves --copy-program /pfs/bin/talk --limit 2
	assert_output_has "node2: not done within 2 s"
	soon "$start" 20
}

# cut_off TIMES STATUS TEXT: the connection to node2 ends TIMES times while it
# copies.
cut_off() {
	bed_lay single_4
	program ssh 'case " $* " in *" node2 "*"--prefix"*)
			[ "$(wc -l <"/pfs/cuts")" = '"$1"' ] || {
				echo x >>/pfs/cuts
				timeout 2 /usr/bin/ssh "$@"
				exit 255
			} ;;
		esac
		exec /usr/bin/ssh "$@"'
	: >"$BED_DIR/pfs/cuts"
	bed_slow node2 10000 /tmp/scrgold
	remote=ssh answers "$2" "$3" post
	bed_fast node2
	[[ $(wc -l <"$BED_DIR/pfs/cuts") == "$1" ]]
}

@test "a node that is cut off while it copies is asked once more" {
	cut_off 1 0 "node2: dataset 1: cut off before the command ended"
	assert_output_lacks "not reached"
	assert_saved

	# Twice: it may live, and nothing is called lost.
	bed_wipe
	cut_off 2 1 "not reached, and maybe alive: node2"
	assert_output_has UNKNOWN
	saves
}

@test "in a job of SLURM: the health check asks by the same ways" {
	bed_slurm_up
	bed_lay xor_8n4
	bed_refuse node1 node2
	run on login env "${lay_env[@]}" env -u SCR_NODELIST \
		salloc -Q -N4 scr_list_down_nodes
	assert_status 0
	[[ -z $output ]]
}
