#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Caches that are stores in memory (STORE lines with TYPE=MEMORY), and files of them
# that were moved to a disk.

load restarts

# A store is on a tmpfs.
[[ $(stat -f -c %T "$BATS_FILE_TMPDIR") == tmpfs ]] ||
	JOB_BASE=/dev/shm/scrkit-store.$UID.$PPID

PRELOAD=$BIN/../libscr_preload.so
BIG=size=$((4 << 20))

setup() {
	job_setup
	pretend_ssh
	export SCR_COPY_TYPE=XOR
	echo "STORE=$SSD TYPE=MEMORY SIZE=256M" >.scrconf
}

teardown_file() { rm -rf "${JOB_BASE:?}"; }

# spill ID NODE...: move the files of the dataset and its redundancy to the disk.
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

# pooled K: the files in the pool of node K, or deleted and not clean yet.
pooled() { find "$NODES/$1/tester/.scrkit-store" -mindepth 2 -type f | wc -l; }

@test "with the preloaded library all large files are recycled, without it redundancy files; every byte is right" {
	local with

	for with in "" "$PRELOAD"; do
		rm -rf "${NODES:?}"/*/tester/scr.* .scr
		RANK_PRELOAD=$RANK_PRELOAD:$with SCR_STORE_STATS=$PREFIX/stats \
			line "complete 6 0" works "0 1 2 3" app_restart 6 "$BIG"
		[[ $stderr != *ordinary* ]] || failed "no store"
		(($(pooled 0) > 0)) || failed "nothing is recycled"
		if [[ -n $with ]]; then
			# DAEMON taken N writes N bytes N given N
			awk '{ taken += $3; given += $9 }
				END { exit !(taken >= 4 && given >= 20) }' stats ||
				failed "$(cat stats)"
		fi
		lose 2
		line "restart ckpt.6;end" works "0 1 2 3" app_restart 0 "$BIG"
	done
}

@test "a job is killed, a node lost: scr_postrun saves the stores, spilled files too; the next job restarts" {
	local RANK_PRELOAD=$RANK_PRELOAD:$PRELOAD

	for what in : "spill 3 0 2"; do
		export SCR_JOB_ID=j1
		fresh "" "$BIG"
		dies "0 1 2 3" app_ckpt steps=1 die=1 name=x.%d "$BIG"
		$what
		lose 1
		ends 0 scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh
		ends 0 scr_inspect -p "$PREFIX" --deep --checksums -d ckpt.3
		SCR_JOB_ID=j2 restarts "0 1 2 3" ckpt.3 "$BIG"
	done
}

# tended: the store of each node was tended; `copies` are those of spilled files.
tended() {
	local k

	for k in 0 1 2 3; do
		ends 0 on_node $k scr_store gc "$SSD/tester"
	done
	copies=$(find "$NODES" -path '*/disk/*' -type f -printf '%f\n' | sort)
	[[ -n $copies ]] || failed "nothing is spilled"
}

# linked: these have links.
linked() {
	find "$NODES" -path '*/disk/*' -type f -printf '%f\n' | sort >copies
	find "$NODES" -path '*/scr.dataset.*' -type l -printf '%l\n' |
		sed 's|.*/||' | sort |
		diff copies - || failed "copies without links"
}

@test "what does not fit is spilled; its copies go with it, in an eviction and with --clean" {
	local copies

	echo "STORE=$SSD TYPE=MEMORY SIZE=16M POOL=4M SPILL=$SSD/disk" >.scrconf
	export SCR_CACHE_SIZE=3
	works "0 1 2 3" app_ckpt steps=3 "$BIG"
	tended
	works "0 1 2 3" app_ckpt steps=2 "$BIG"
	linked
	sed -i 's/16M/8M/' .scrconf # the newest one, too
	works "0 1 2 3" app_ckpt steps=0
	tended
	lose 1
	ends 0 scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh --clean
	ends 0 scr_inspect -p "$PREFIX" --deep --checksums -d ckpt.2
	[[ $(cached 0) == "3 4" ]] || failed "not clean: $(cached 0)"
	linked
}

@test "a job restarts from spilled files, rebuilds from them, moves them to other nodes" {
	fresh
	spill 3 0 1 2 3
	restarts "0 1 2 3" ckpt.3
	[[ $stderr != *removed* && -L $(dataset 0 3)/rank_0.0 ]]
	after 1 ckpt.3
	restarts "1 0 3 2" ckpt.3
	# Not by a link that others could have made.
	fresh
	spill 3 0
	chmod g+w "$(dataset 0 3)"
	restarts "0 1 2 3" ckpt.3
	[[ ! -L $(dataset 0 3)/rank_0.0 ]]
}

@test "what cannot be the user's own store in memory is an ordinary cache" {
	local what why

	while IFS='|' read -r -u 7 what why; do
		rm -rf "${NODES:?}"/*
		mkdir -p "$NODES"/{0,1}/tester
		$what "$NODES/1/tester"
		works "0 0 1" app_restart 1 files=2
		warned "store $SSD: an ordinary cache: .*tester: $why"
		[[ ! -e $NODES/1/tester/.scrkit-store ]] || failed "a store"
		restarts "0 0 1" ckpt.1
	done 7<<-END
		chmod 770|others may write to it
		$( ((EUID != 0)) || echo "chown 1|belongs to user 1")
	END
}
