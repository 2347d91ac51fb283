#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Caches that are stores in memory (STORE lines with TYPE=MEMORY), and files of them
# that were moved to a disk.

load restarts

# A store is on a tmpfs.
[[ $(stat -f -c %T "$BATS_FILE_TMPDIR") == tmpfs ]] ||
	JOB_BASE=/dev/shm/scrkit-store.$UID.$PPID

setup() {
	job_setup
	pretend_ssh
	export SCR_COPY_TYPE=XOR
	echo "STORE=$SSD TYPE=MEMORY SIZE=64M SPILL=$SSD/disk" >.scrconf
}

teardown_file() { rm -rf "${JOB_BASE:?}"; }

# spill ID NODE...: the data and redundancy files of the dataset are on the disk.
spill() {
	local k id=$1

	for k in "${@:2}"; do
		# shellcheck disable=SC2016 # for the shell there
		on_node "$k" sh -c 'cd "$1" && mkdir -p "$2" &&
			for f in rank_* .scr/*_of_*; do
				mv "$f" "$2/${f##*/}" && ln -s "$2/${f##*/}" "$f" || exit
			done' . "$SSD/$CACHE/scr.dataset.$id" "$SSD/disk/tester/$id"
	done
}

@test "a job is killed, a node lost: scr_postrun saves the stores, the next job restarts" {
	fresh
	spill 3 0 2
	lose 1
	ends 0 scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh
	ends 0 scr_inspect -p "$PREFIX" --deep --checksums -d ckpt.3
	lose 0 1 2 3
	SCR_JOB_ID=j2 restarts "0 1 2 3" ckpt.3
}

@test "spilled files restart, are rebuilt from, moved to other nodes, and deleted with their dataset" {
	fresh
	spill 3 0 1 2 3
	restarts "0 1 2 3" ckpt.3
	[[ $stderr != *removed* && -L $(dataset 0 3)/rank_0.0 ]]
	after 1 ckpt.3
	restarts "1 0 3 2" ckpt.3
	line "complete 5 0" works "0 1 2 3" app_restart 2 files=2
	[[ $(cached 0) == "4 5" ]]
	[[ -z $(find "$NODES" -path '*/disk/*' -type f) ]]
}
