#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2034,SC2154 # bats, bed_lay and we set them, for bed.bash
# Which way leads to a node, and what a node that is not reached means: dead is
# what no way reaches, unreachable is what refuses.

load bed

setup_file() { bed_up 4; }

teardown()
{
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

ssh_config_back()
{
	on login sh -c '[ ! -e /tmp/ssh_config ] ||
		mv /tmp/ssh_config ~/.ssh/config'
}

# What the caches hold.
caches()
{
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
	remote=auto run post_in_slurm "" -v
	assert_status 0
	assert_output_has "by srun, then by pdsh with ssh" "is saved"
	[[ $output != *dead* ]]
	assert_saved xor_8n4
}

@test "in a job of SLURM: srun is broken, ssh saves, and is asked at once" {
	bed_slurm_up
	bed_lay xor_8n4
	program srun 'echo x >>/pfs/tried
		echo "srun: error: Unable to create step for job 1: Requested nodes are busy" >&2
		exit 1'
	remote=auto run post_in_slurm "" -v
	assert_status 0
	assert_saved xor_8n4
	# Twice for each node, when it is asked, and not again for the copy.
	[[ $(wc -l <"$BED_DIR/pfs/tried") == 8 ]]
}

@test "in a job of SLURM: two dead nodes of a set, by every way: lost" {
	local start=$SECONDS

	bed_slurm_up
	bed_lay xor_8n4
	remote=auto run post_in_slurm "node1 node2" -v
	assert_status 4
	assert_output_has "LOST" "2 of 4 nodes dead"
	# Two attempts by srun (5 s), two by ssh, three pauses.
	((SECONDS - start < 35))
}

@test "an srun older than --overlap is used without it" {
	bed_slurm_up
	bed_lay xor_8n4
	program srun 'for a do
			shift
			[ "$a" != --overlap ] || {
				echo "srun: unrecognized option '\''--overlap'\''"
				echo "Try \"srun --help\" for more information"
				exit 1
			} >&2
			set -- "$@" "$a"
		done
		exec /usr/bin/srun "$@"'
	remote=srun run post_in_slurm ""
	assert_status 0
	assert_saved xor_8n4
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
	remote=auto run post
	assert_status 1
	assert_output_has "Host key verification failed" "node[1-2]" \
		"UNKNOWN" "make them reachable"
	[[ $output != *LOST* && $output != *dead* ]]
	[[ $(caches) == "$before" ]]
	run post --plan --json
	assert_status 1
	assert_output_has '"state": "unreachable"' '"status": 1'

	# Where the redundancy suffices all goes on.
	ssh_config "node1" "StrictHostKeyChecking yes" \
		"UserKnownHostsFile /tmp/wrong"
	remote=auto run post
	assert_status 0
	assert_output_has "node1"
	ssh_config_back
	remote=auto run post
	assert_status 0
	assert_saved xor_8n4
}

@test "the user says that unreachable nodes are gone: lost" {
	bed_lay xor_8n4
	bed_refuse node1 node2
	run post
	assert_status 1
	assert_output_has "UNKNOWN" "--down"
	run post --down "node[1-2]"
	assert_status 4
	assert_output_has "LOST"
}

@test "no process can be started here: unknown, not lost" {
	bed_lay xor_8n4
	chmod -R a+rwX "$lay_pfs"
	run on login env "${lay_env[@]}" PATH="${OPEN_BIN-$BIN}:$PATH" \
		setpriv --reuid=4711 --clear-groups \
		sh -c 'ulimit -u 1; exec scr_postrun -r ssh -t 2 "$@"' - --jobs 1
	assert_status 1
	[[ $output != *LOST* ]]
	run post
	assert_status 0
	assert_saved xor_8n4

	# Or not by ssh, which has a process of its own for some nodes.
	bed_wipe
	bed_lay xor_8n4
	program ssh 'case " $* " in *" node"[12]" "*)
			echo "fork: Resource temporarily unavailable" >&2
			exit 255 ;;
		esac
		exec /usr/bin/ssh "$@"'
	remote=ssh run post
	assert_status 1
	assert_output_has "UNKNOWN" "node[1-2]"
}

@test "pdsh without its module exec, and a master connection that hangs" {
	bed_lay xor_8n4
	program pdsh 'case " $* " in *" -R exec "*)
			echo "pdsh@login: No such rcmd module \"exec\"" >&2
			exit 1 ;;
		esac
		exec /usr/bin/pdsh "$@"'
	remote=auto run post
	assert_status 0
	assert_saved xor_8n4

	bed_wipe
	bed_lay xor_8n4
	# shellcheck disable=SC2016 # for perl
	on login sh -c "exec perl -MIO::Socket::UNIX -e '
		my \$s = IO::Socket::UNIX->new(Local => q(/tmp/master),
			Listen => 9); sleep 60' >/dev/null 2>&1 &"
	ssh_config "node*" "ControlMaster auto" "ControlPath /tmp/master"
	for remote in ssh pdsh; do
		run post
		assert_status 0
	done
	ssh_config_back
	on login rm -f /tmp/master
	assert_saved xor_8n4
}

@test "a node that prints without end is ended, and rebuilt from the others" {
	local start=$SECONDS

	bed_lay xor_8n4
	program talk '[ "$(hostname)" != node2 ] || exec yes
		exec scr_copy "$@"'
	remote=ssh run post --copy-program /pfs/bin/talk
	assert_status 0
	assert_output_has "node2: printed more than"
	((SECONDS - start < 50))
	assert_saved xor_8n4

	bed_wipe
	bed_lay xor_8n4
	start=$SECONDS
	program talk '[ "$(hostname)" != node2 ] ||
			while :; do echo; sleep 0.1; done
		exec scr_copy "$@"'
	remote=ssh run post --copy-program /pfs/bin/talk --limit 4
	assert_status 0
	assert_output_has "node2: not done within 4 s"
	((SECONDS - start < 20))
	assert_saved xor_8n4
}

# cut_off TIMES: the connection to node2 ends TIMES times while it copies.
cut_off()
{
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
}

@test "a node that is cut off while it copies is asked once more" {
	bed_lay single_4
	cut_off 1
	remote=ssh run post
	bed_fast node2
	[[ $(wc -l <"$BED_DIR/pfs/cuts") == 1 ]]
	assert_status 0
	assert_output_has "node2: dataset 1: cut off before the command ended"
	[[ $output != *"not reached"* ]]
	assert_saved single_4

	# Twice: it may live, and nothing is called lost.
	bed_wipe
	bed_lay single_4
	cut_off 2
	remote=ssh run post
	bed_fast node2
	[[ $(wc -l <"$BED_DIR/pfs/cuts") == 2 ]]
	assert_status 1
	assert_output_has UNKNOWN "not reached, and maybe alive: node2"
	run post
	assert_status 0
	assert_saved single_4
}

@test "the same complaint of several nodes is one line" {
	bed_lay rs2_8n4
	bed_refuse node2 node3 node4
	remote=ssh run post
	assert_status 1
	assert_output_has "node[2-4]: ssh: connect to host NODE port 22"
	run on login env "${lay_env[@]}" scr_env down-nodes --reason \
		--remote ssh
	assert_status 0
	assert_output_has "node[2-4]: Failed to echo UP: ssh: connect to host NODE port 22"
	[[ $(grep -c refused <<<"$output") == 1 ]]
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

@test "doctor: four nodes; one dead, one that refuses" {
	bed_lay xor_8n4
	run on login env "${lay_env[@]}" scr_env doctor
	assert_status 0
	assert_output_has "ok       nodes       4 of 4 answered" \
		"directories writable on 4 of 4 nodes"
	bed_unplug node3
	bed_refuse node2
	run on login env "${lay_env[@]}" scr_env doctor --timeout 4
	assert_status 1
	assert_output_has "failed   node        node2: " \
		"failed   node        node3: " "2 of 4 answered" \
		"writable on 2 of 4 nodes"
}
