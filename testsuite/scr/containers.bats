#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Flushes into containers.

load helper

setup() {
	job_setup
	export SCR_FLUSH=1 SCR_USE_CONTAINERS=1
	map="0 1 2 3"
}

# same_packed [OPTION]...: what scr_container packs of the same files, which are
# those of a job that ran without containers, is the same.
same_packed() {
	local ctr=.scr/scr.dataset.1/.scr

	mkdir -p "$BATS_TEST_TMPDIR/plain"
	PREFIX=$BATS_TEST_TMPDIR/plain
	rm -rf "${NODES:?}"/*
	(cd "$PREFIX" && SCR_USE_CONTAINERS=0 works "$@")
	ends 0 scr_container pack --prefix "$PREFIX" --size "$SCR_CONTAINER_SIZE" 1
	diff -r "$PREFIX/$ctr" "$BATS_TEST_TMPDIR/prefix/$ctr"
}

@test "what is flushed is packed; the containers are those of scr_container" {
	export SCR_CONTAINER_SIZE=700000
	works "$map" app_ckpt steps=1 size=300000 files=3
	ends 0 scr_container verify 1
	whole 1
	same_packed "$map" app_ckpt steps=1 size=300000 files=3
}

@test "ranks without files, empty files, and a dataset without bytes" {
	export SCR_CONTAINER_SIZE=100000
	works "$map" app_ckpt steps=1 size=30000 files=rank
	whole 1
	ends 0 scr_container verify 1
	same_packed "$map" app_ckpt steps=1 size=30000 files=rank
	job_setup
	export SCR_FLUSH=1
	works "$map" app_ckpt steps=2 size=0 files=2
	whole 1 2
	job_setup
	export SCR_FLUSH=1
	works "$map" app_restart 1 files=rank
	lose 0 1 2 3
	line "restart ckpt.1" works "$map" app_restart 0 files=rank
}

@test "ranks of a node are together, whatever their numbers" {
	export SCR_CONTAINER_SIZE=100000
	works "0 1 0 1" app_ckpt steps=1 size=70000
	ends 0 scr_container list --json 1
	jq -e '[.datasets[0].packed_files[] | [.path[-8:], .segments[0].offset]] == [
		["rank_0.0", 0], ["rank_1.0", 40000], ["rank_2.0", 70000],
		["rank_3.0", 10000]]' <<<"$output" || failed "$output"
	whole 1
	lose 0 1
	line "have_restart -> 0 1 ckpt.1" works "0 0 1 1" app_calls init \
		have_restart start_restart complete_restart=1 finalize
}

@test "in the background: a job restarts from what it flushed" {
	export SCR_FLUSH_ASYNC=1 SCR_CONTAINER_SIZE=100000 SCR_CACHE_SIZE=4
	works "$map" app_restart 4 files=2 size=90000
	[[ $(ids .valid) == "1 2 3 4" && ! -e ckpt.4 ]]
	whole 1 2 3 4
	lose 0 1 2 3
	line "restart ckpt.4" works "$map" app_restart 2 files=2 size=90000
	[[ $(ids .valid) == "1 2 3 4 5 6" ]]
	[[ -z $(find . -name '.scrkit-*') ]] || failed "litter"
}

@test "the window removes containers; the files of a dataset can be taken out" {
	export SCR_PREFIX_SIZE=2 SCR_CONTAINER_SIZE=100000
	works "$map" app_ckpt steps=4 size=70000 dir=same
	[[ $(ids .valid) == "3 4" && ! -e .scr/scr.dataset.2 ]]
	ends 0 scr_container unpack 4
	cmp same/rank_1.0 "$NODES/1/tester/scr.j1/scr.dataset.4/rank_1.0"
	whole 3 4
}

@test "only who may read all files may read a container" {
	umask 027
	works "$map" app_ckpt steps=1
	[[ $(stat -c %a .scr/scr.dataset.1/.scr/ctr.0.scr) == 640 ]]
	SCR_COPY_METADATA=0 works "$map" app_ckpt steps=1 name=b.%d
	[[ $(stat -c %a .scr/scr.dataset.2/.scr/ctr.0.scr) == 640 ]]
	umask 077
	works "$map" app_ckpt steps=1 name=c.%d
	[[ $(stat -c %a .scr/scr.dataset.3/.scr/ctr.0.scr) == 600 ]]
}

@test "a prefix that refuses bytes: nothing is left of the flush, the next job makes it" {
	local async

	export SCR_CONTAINER_SIZE=100000
	for async in 0 1; do
		job_setup
		export SCR_FLUSH=1 SCR_FLUSH_ASYNC=$async
		LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_ERRNO=ENOSPC SHIM_FAIL_AT=1 \
			SHIM_STICKY=1 SHIM_PATH=prefix/.scr/scr.dataset.1/.scr/ works "$map" app_ckpt \
			steps=1 size=70000
		[[ $stderr == *"dataset 1: not flushed, stays in the cache: "* ]]
		[[ -z $(ids .valid) && ! -e .scr/scr.dataset.1/rank2file ]]
		[[ -z $(find . -name '.scrkit-*' -o -name 'ctr.*') ]] ||
			failed "$(find .)"
		works "$map" app_calls init finalize
		[[ $(ids .valid) == 1 ]]
		whole 1
	done
}

@test "files that bypass the cache are files of their own" {
	SCR_CACHE_BYPASS=1 works "$map" app_ckpt steps=1
	[[ -e ckpt.1/rank_0.0 && ! -e .scr/scr.dataset.1/.scr ]]
	unset SCR_CACHE_BYPASS
	works "$map" app_ckpt steps=1 name=b.%d
	[[ ! -e b.1 && -e .scr/scr.dataset.2/.scr/ctr.0.scr ]]
	whole 1 2
}

@test "another number, a file that another left: what others put there is not used" {
	works "$map" app_ckpt steps=1
	mkdir -p .scr/scr.dataset.2/.scr
	echo old >.scr/scr.dataset.2/.scr/ctr.7.scr
	ln -s "$PWD/target" .scr/scr.dataset.2/.scr/ctr.0.scr
	echo target >target
	rm -rf "${NODES:?}"/*
	SCR_FETCH=0 works "$map" app_ckpt steps=2 name=b.%d
	[[ $(<target) == target ]]
	whole 1 3 4
	[[ ! -e .scr/scr.dataset.3/.scr/ctr.7.scr ]]
}

@test "each node begins at a multiple, in a container that ends at one" {
	export SCR_CONTAINER_SIZE=200000 SCR_CONTAINER_ALIGN=65536 SCR_PREFIX_SIZE=0
	works "0 1 1 2" app_restart 1 size=90000 files=rank
	whole 1
	ends 0 scr_container verify 1
	ends 0 scr_container list --json 1
	jq -e '.datasets[0] | .container_size == 196608 and
		([.packed_files[] | select(.rank == 3) | .segments[0].offset][0] %
			65536 == 0)' <<<"$output" || failed "$output"
	lose 0 1 2
	line "restart ckpt.1" works "0 1 1 2" app_restart 0 size=90000 files=rank
	# It is packed anew without gaps.
	ends 0 scr_container repack --size 50000 1
	ends 0 scr_container verify 1
	job_setup
	export SCR_FLUSH=1 SCR_CONTAINER_REDUNDANCY=1
	works "$map" app_restart 1 size=90000 files=3
	lose 0 1 2 3
	cp -a .scr/scr.dataset.1 kept
	for ctr in kept/.scr/*.scr; do
		rm ".scr/scr.dataset.1/.scr/${ctr##*/}"
		ends 0 scr_rebuild 1
		cmp "$ctr" ".scr/scr.dataset.1/.scr/${ctr##*/}"
	done
	line "restart ckpt.1" works "$map" app_restart 0 size=90000 files=3
}

@test "with redundancy: whichever container is lost, the job restarts after a rebuild" {
	local type ctr name

	export SCR_CONTAINER_REDUNDANCY=1 SCR_CONTAINER_SIZE=200000
	for type in XOR RS PARTNER; do
		job_setup
		export SCR_FLUSH=1 SCR_COPY_TYPE=$type
		works "$map" app_restart 1 size=150000 files=3
		whole 1
		ends 0 scr_container verify 1
		ends 0 scr_inspect 1
		assert_output_has "the loss of any "
		lose 0 1 2 3
		cp -a .scr/scr.dataset.1 kept
		for ctr in kept/.scr/*.scr; do
			name=${ctr##*/}
			rm ".scr/scr.dataset.1/.scr/$name"
			ends 0 scr_rebuild 1
			cmp "$ctr" ".scr/scr.dataset.1/.scr/$name"
		done
		rm ".scr/scr.dataset.1/.scr/ctr.0.scr"
		ends 0 scr_rebuild 1
		line "restart ckpt.1" works "$map" app_restart 0 size=150000 files=3
	done
}

@test "killed in any step: never called lost; the next job, or postrun, has it whole" {
	local op at step=0 where=prefix/.scr/scr.dataset.1

	export SCR_CONTAINER_SIZE=70000 SCR_FLUSH_ASYNC=1
	for op in pwrite fsync rename; do
		for at in 1 2 3 4 5 6 7 8 9; do
			[[ -n ${SCRKIT_SLOW-} || $((at % 4)) == 2 ]] || continue
			job_setup
			export SCR_FLUSH=1
			LD_PRELOAD=$SHIM SHIM_OP=$op SHIM_KILL_AT=$at \
				SHIM_PATH=$where job "$map" app_ckpt steps=1 \
				size=50000 files=2
			echo "$op $at: status $status, step $step"
			never_lost
			case $((step++ % 3)) in
			0)
				works "$map" app_calls init have_restart finalize
				[[ $(ids .valid) == 1 ]] || failed "$stderr"
				ends 0 scr_container verify 1
				[[ -z $(find .scr -name '.scrkit-*') ]] ||
					failed "$(find .scr)"
				;;
			1)
				saved 1
				;;
			2)
				# Built of what is there: it is whole, or not.
				try scr_index --build 1
				echo "built: $status"
				never_lost
				[[ -z $(ids .valid) ]] || whole 1
				SCR_CONTAINER_SIZE=90000 works "$map" app_calls init \
					have_restart finalize
				[[ $(ids .valid) == 1 ]] || failed "$stderr"
				;;
			esac
			whole 1
		done
	done
}

never_lost() {
	scr_index -p "$PREFIX" --verify --checksums 1 >out 2>&1 || true
	! grep -q '1 lost' out || failed "$(cat out; find .scr)"
}

@test "an output of the same name: the containers of the older one go" {
	SCR_CACHE_SIZE=3 works "0 1" app_ckpt steps=3 size=50000 name=a dir=d flags=2
	[[ $(ids .valid) == 3 && $(echo .scr/scr.dataset.*) == .scr/scr.dataset.3 ]]
	whole 3
}

# dies_at OP TEXT [ARG]...: app_ckpt, killed before the first such operation on
# the prefix.
dies_at() {
	LD_PRELOAD=$SHIM SHIM_OP=$1 SHIM_KILL_AT=1 \
		SHIM_PATH=prefix/.scr/scr.dataset.1/$2 dies "${@:3}"
}

@test "a map that an interrupted flush has written stays until there is a better one" {
	local -a calls=(init have_restart finalize)

	# The next job cannot read a file of its cache.
	dies_at rename summary.scr "$map" app_ckpt steps=1 size=50000
	LD_PRELOAD=$SHIM SHIM_OP=pread SHIM_READS=1 SHIM_FAIL_AT=1 SHIM_STICKY=1 \
		SHIM_PATH=/rank_1 SCR_COPY_TYPE=SINGLE job "$map" app_calls "${calls[@]}"
	lose 0 1 2 3
	[[ $(ids .valid) == 1 ]] || ends 0 scr_index --build 1
	whole 1
	line "have_restart -> 0 1 ckpt.1" works "$map" app_calls "${calls[@]}"
	# On other nodes the containers get other bytes: the old map goes first.
	job_setup
	export SCR_FLUSH=1
	dies_at rename summary.scr "0 0 1 1" app_ckpt steps=1 size=50000
	dies_at pwrite .scrkit- "0 1 0 1" app_calls "${calls[@]}"
	try scr_index --build 1
	[[ -z $(ids .valid) ]] || whole 1
	works "0 1 0 1" app_calls "${calls[@]}"
	whole 1
	[[ -z $(find .scr -name '.scrkit-*') ]] || failed "$(find .scr)"
}

@test "a job that has just written a dataset looks for no containers of it" {
	local trace=$BATS_TEST_TMPDIR/trace

	LD_PRELOAD=$SHIM SHIM_TRACE=$trace SHIM_PATH=prefix/.scr/scr.dataset.1 \
		works "0 1" app_ckpt steps=1 size=50000
	[[ $(head -n 1 "$trace") == "1 mkdirat "* ]] || failed "$(head "$trace")"
}

@test "holes stay holes, also if the flush is taken up" {
	dies_at rename .scr/ctr "0 1" app_ckpt steps=1 size=30000000 sparse=1
	works "0 1" app_calls init finalize
	whole 1
	(($(du -sk .scr | cut -f 1) < 1000)) || failed "$(du -sk .scr)"
}

# postrun [OPTION]...: scr_postrun of all nodes.
postrun() {
	pretend_ssh
	ends "${STATUS-0}" scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh "$@"
}

# tree DIR: its files, with modes and checksums.
tree() {
	(cd "$1" && find . -type f -printf '%P %m %s\n' | sort &&
		find . -type f -exec md5sum {} + | sort -k 2)
}

# packed FILE: where scr_container finds the files of dataset 1.
packed() {
	scr_container list --json 1 | jq -S '.datasets[0] |
		[.packed_files, .container_size, [.containers[] | .name, .size]]' >"$1"
}

@test "scr_postrun writes straight into containers, as the job's flush does" {
	local trace=$BATS_TEST_TMPDIR/trace where
	local -a app=(app_restart 1 size=150000 files=rank)

	export SCR_CONTAINER_SIZE=400000
	for where in "0 1 2 0 3" "3 2 1 0"; do
		job_setup
		rm -f "$trace"
		export SCR_USE_CONTAINERS=1 SCR_FLUSH=0
		works "$where" "${app[@]}"
		LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_PATH=prefix/ SHIM_TRACE=$trace \
			postrun --pack-current
		grep -q '/scr.dataset.1/.scr/' "$trace"
		! grep '/ckpt.1/' "$trace" || failed "files were written"
		whole 1
		ends 0 scr_container verify 1
		[[ -z $(find . -name '.scrkit-*' -o -name 'copied_*') ]] ||
			failed "$(find .)"
		packed straight
		mv .scr/scr.dataset.1/.scr straight.d
		rm -r .scr "${NODES:?}"/*
		SCR_FLUSH=1 works "$where" "${app[@]}"
		packed flushed
		diff straight flushed
		diff -r straight.d .scr/scr.dataset.1/.scr
		lose 0 1 2 3
		line "restart ckpt.1" works "$where" app_restart 0 size=150000 files=rank
	done
}

@test "a flush into containers that was killed: scr_postrun writes only what is missing" {
	local trace=$BATS_TEST_TMPDIR/trace at there written

	export SCR_CONTAINER_SIZE=3000000 SCR_FLUSH_ASYNC=1
	for at in 2 5 9; do
		job_setup
		rm -f "$trace"
		export SCR_FLUSH=1
		LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_KILL_AT=$at SHIM_RANKS=1 \
			SHIM_PATH=prefix/.scr/scr.dataset.1/.scr/ SHIM_TRACE=$trace dies \
			"$map" app_ckpt steps=1 size=2097152 pause=3000
		there=$(wc -l <"$trace")
		LD_PRELOAD=$SHIM SHIM_OP=pwrite SHIM_PATH=prefix/.scr/scr.dataset.1/.scr/ \
			SHIM_TRACE=$trace postrun
		written=$(wc -l <"$trace")
		echo "killed at $at: $there blocks, then $((written - there))"
		# Of 34, and each rank was in one.
		((written >= 34 && written <= 38))
		whole 1
		[[ ! -e ckpt.1 ]] || failed "files were written"
	done
}

@test "scr_postrun into containers, killed in any step, or a node lost: saved by the next" {
	local op at where=prefix/.scr/scr.dataset.1

	export SCR_CONTAINER_SIZE=70000 SCR_FLUSH=0
	works "$map" app_ckpt steps=1 size=50000 files=2 finalize=0
	pretend_ssh
	for op in pwrite fsync rename unlink; do
		for at in 1 2 3 4 5 6 7 8 9; do
			[[ -n ${SCRKIT_SLOW-} || $((at % 3)) == 1 ]] || continue
			rm -rf "${PREFIX:?}"/.scr "$PREFIX"/ckpt.1
			LD_PRELOAD=$SHIM SHIM_OP=$op SHIM_KILL_AT=$at SHIM_PATH=$where try \
				scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh --pack-current
			echo "$op $at: status $status"
			((status != 0)) || whole 1
			never_lost
			((at % 2)) || SCR_USE_CONTAINERS=0 postrun
			postrun --pack-current
			whole 1
			ends 0 scr_container verify 1
			[[ -z $(find . -name '.scrkit-*.tmp') ]] ||
				failed "$(find .)"
		done
	done
	rm -rf "${PREFIX:?}"/.scr "$PREFIX"/ckpt.1
	lose 2
	postrun --pack-current
	whole 1
	ends 0 scr_container verify 1
}

# ssh_does PATTERN COMMAND: what ssh does first, for such arguments.
ssh_does() {
	pretend_ssh
	mv "$BATS_TEST_TMPDIR/bin/ssh" "$BATS_TEST_TMPDIR/bin/real"
	cat >"$BATS_TEST_TMPDIR/bin/ssh" <<-END
		#!/bin/bash
		case "\$*" in
		$1) $2 ;;
		esac
		exec "$BATS_TEST_TMPDIR/bin/real" "\$@"
	END
	chmod +x "$BATS_TEST_TMPDIR/bin/ssh"
}

saves() { ends 0 scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh "$@"; }

@test "what a scavenge that was cut off still writes reaches no container of another size" {
	local pid

	export SCR_FLUSH=0 SCR_CONTAINER_SIZE=700000
	works "$map" app_ckpt steps=1 size=600000 finalize=0
	ssh_does '*node3*--containers*' "export LD_PRELOAD=$SHIM SHIM_OP=pwrite \
		SHIM_STOP_AT=2 SHIM_PATH=scr.dataset.1/.scr/
		exec '$BATS_TEST_TMPDIR/bin/real' \"\$@\""
	scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh --pack-current >out 2>&1 3>&- &
	await_copy
	kill -9 $!
	pretend_ssh
	SCR_CONTAINER_SIZE=450000 saves --pack-current
	# It is killed some time after its scr_postrun.
	kill -CONT "$pid" || true
	while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
	whole 1
	ends 0 scr_container verify 1
}

# await_copy: until a copy is stopped, $pid.
await_copy() {
	local i

	for ((i = 0; i < 600; i++)); do
		pid=$(pgrep -f "^[^ ]*scr_copy .*$PREFIX .*--containers") &&
			grep -q '^State:.*T' "/proc/$pid/status" && return
		sleep 0.1
	done
	failed "no copy is stopped"
}

@test "straight into containers: nodes that die, what is in the way, a map of parts" {
	local kind dead="rm -rf '$NODES/2' '$NODES/3'; exit 255"

	export SCR_FLUSH=0 SCR_CONTAINER_SIZE=300000
	works "$map" app_ckpt steps=1 size=50000 finalize=0
	cp -a "$NODES" "$BATS_TEST_TMPDIR/nodes.kept"
	# A link that leads out is neither followed nor fatal.
	for kind in file link fifo; do
		rm -rf .scr/scr.dataset.1 .scr/index.scr ckpt.1
		mkdir -p .scr/scr.dataset.1 out.d
		case $kind in
		file) echo >.scr/scr.dataset.1/.scr ;;
		link) ln -s "$PWD/out.d" .scr/scr.dataset.1/.scr ;;
		fifo) mkfifo .scr/scr.dataset.1/.scr ;;
		esac
		postrun --pack-current
		[[ $stderr == *"dataset 1: as files, not in containers: "* ]] || failed "$stderr"
		whole 1
		[[ -z $(ls out.d) ]]
	done
	# One node dies, and another one is cut off.
	rm -rf .scr ckpt.1
	ssh_does '*node1*--containers*' "rm -rf '$NODES/1'; exit 255 ;;
		*node2*--containers*) [ -e once ] || { : >once; timeout 0.01 sleep 1; exit 255; }"
	saves --pack-current
	whole 1
	# A full disk at the last name of the map: what its parts name stays.
	job_setup
	export SCR_FLUSH=1
	LD_PRELOAD=$SHIM SHIM_OP=rename SHIM_ERRNO=ENOSPC SHIM_FAIL_AT=2 SHIM_STICKY=1 \
		SHIM_PATH=prefix/.scr/scr.dataset.1/rank2file works "$map" app_ckpt steps=1
	[[ $stderr == *"not flushed, stays in the cache"* && -z $(ids .valid) ]]
	never_lost
	lose 0 1 2 3
	ends 0 scr_index --build 1
	whole 1
	# Whole by the parts of its map, before the caches are lost.
	job_setup
	export SCR_FLUSH=1
	LD_PRELOAD=$SHIM SHIM_OP=rename SHIM_KILL_AT=2 \
		SHIM_PATH=prefix/.scr/scr.dataset.1/rank2file dies "$map" app_ckpt steps=1
	[[ ! -e .scr/scr.dataset.1/rank2file ]]
	ssh_does '*node[23]*"--id 1"*' "$dead"
	saves
	whole 1
}

@test "a flush into containers was killed: a lost filemap is restored, what is lost is told" {
	local cache=tester/scr.j1/scr.dataset.1

	export SCR_CONTAINER_SIZE=300000 SCR_FLUSH_ASYNC=1
	dies_at pwrite .scr/ "$map" app_ckpt steps=1 size=50000 pause=3000
	cp -a "$NODES" kept
	rm "$NODES/2/$cache/.scr/filemap_2" "$NODES/1/$cache/rank_1.0"
	postrun
	whole 1
	job_setup
	export SCR_FLUSH=1
	dies_at pwrite .scr/ "$map" app_ckpt steps=1 size=50000 pause=3000
	rm "$NODES/2/$cache/rank_2.0" "$NODES/1/$cache/rank_1.0"
	ends 1 scr_index --verify 1
	assert_output_lacks lost
	STATUS=4 postrun
	STATUS=4 postrun --id 1
	ends 4 scr_index --verify 1
}
