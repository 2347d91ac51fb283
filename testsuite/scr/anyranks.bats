#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034
# SCR_RESTART_ANY_RANKS: a checkpoint is read by another number of ranks.

load helper

setup() {
	job_setup
	export SCR_FLUSH=1
}

# written: ckpt.1 and 2 of four ranks, on the prefix alone, as in a new allocation.
written() {
	JOB_BASE=$BATS_TEST_TMPDIR works "0 1 2 3" app_anyranks write=2
	assert_line "complete 2 0"
	lose 0 1 2 3
}

# reads MAP LINES [ARG]...
reads() {
	SCR_RESTART_ANY_RANKS=1 line "$2" works "$1" app_anyranks "${@:3}"
}

# Ways to write: settings. Four ranks have 1 + 2 + 3 + 1 files.
@test "1, 2, 3, 4, 5 and 6 ranks read all files of four, from files and containers" {
	while read -r settings; do
		echo "$settings"
		# shellcheck disable=SC2086,SC2163 # several
		export $settings
		rm -rf "${PREFIX:?}"/.scr "${PREFIX:?}"/*
		written
		for map in 0 "0 1" "0 1 2" "0 1 2 3" "0 0 1 1 2" "0 1 2 3 4 5"; do
			reads "$map" "restart ckpt.2 4 7"
			[[ -z $(find "$NODES" -name 'rank_*') ]]
		done
		ends 0 scr_index --verify
	done <<-'END'
		SCR_USE_CONTAINERS=0 SCR_COPY_TYPE=XOR
		SCR_USE_CONTAINERS=1 SCR_CONTAINER_SIZE=300000
		SCR_USE_CONTAINERS=0 SCR_CACHE_BYPASS=1
	END
}

@test "the job that continues numbers its checkpoints after it, and restarts from them" {
	written
	reads "0 1 2" "restart ckpt.2 4 7;complete 3 0" then=3
	# In the caches of the same job, and in another one.
	reads "0 1 2" "restart ckpt.3 3 6"
	ends 0 scr_index
	[[ $output == *"3 YES"*ckpt.3* ]]
	lose 0 1 2
	reads "0 1" "restart ckpt.3 3 6"
}

@test "a checkpoint without files is read by another number of ranks" {
	works "0 1 2 3" app_ckpt steps=1 files=0
	lose 0 1 2 3
	reads "0 1" "restart ckpt.1 4 0"
}

@test "without it: refused in one line that says the way" {
	written
	dies "0 1 2" app_anyranks
	warned "ERROR: .*written by 4 ranks, but this job has 3: start 4 ranks, or set \
SCR_RESTART_ANY_RANKS=1"
}

@test "rejected: the older one; a file lost or changed: the older one" {
	written
	reads "0 1 2" "rejected ckpt.2;restart ckpt.1 4 7" reject=1
	ends 0 scr_index
	[[ $output == *"2 NO "*ckpt.2* ]]
	for damage in "rm ckpt.1/d/rank_2.1" "flip ckpt.1/d/rank_3.0 5"; do
		written
		$damage
		SCR_RESTART_ANY_RANKS=1 works "0 1 2" app_anyranks
		assert_line "restart ckpt.2 4 7"
		rm -rf "${PREFIX:?}"/.scr "${PREFIX:?}"/*
		written
		${damage//ckpt.1/ckpt.2}
		reads "0 1 2" "restart ckpt.1 4 7"
	done
}

@test "names that lead elsewhere, and of no file" {
	written
	echo secret >"$BATS_TEST_TMPDIR/secret"
	for alien in "$BATS_TEST_TMPDIR/secret" ../secret nofile ckpt.2/d/rank_9.0 \
		ckpt.1/d/rank_0.0 ckpt.2/d .scr/index.scr; do
		reads "0 1 2" "restart ckpt.2 4 7" alien="$alien"
		[[ $stderr == *"dataset 2 \`ckpt.2' has no such file"* ]]
	done
}

@test "killed while it reads, from containers: nothing is left in the caches" {
	export SCR_USE_CONTAINERS=1
	written
	SCR_RESTART_ANY_RANKS=1 dies "0 1 2" app_anyranks die=1
	[[ -n $(find "$NODES" -name 'rank_*') ]]
	reads "0 1 2" "restart ckpt.2 4 7"
	[[ -z $(find "$NODES" -name 'rank_*') ]]
}

@test "the same allocation: what is in the caches is saved first, or told" {
	export SCR_FLUSH=0
	works "0 1 2 3" app_anyranks write=2
	# The same number of ranks saves it.
	reads "0 1 2 3" "restart ckpt.2 4 7"
	[[ -e $PREFIX/ckpt.2/d/rank_2.2 ]]
	rm -rf "${PREFIX:?}"/.scr "${PREFIX:?}"/*
	lose 0 1 2 3
	works "0 1 2 3" app_anyranks write=2
	SCR_RESTART_ANY_RANKS=1 dies "0 1 2" app_anyranks
	warned "SCR_Have_restart: dataset 2 .*save the caches"
	[[ -n $(find "$NODES" -name rank_2.2) ]]
}

@test "a node is lost: the caches are saved, three ranks go on in the same allocation" {
	export SCR_FLUSH=0 SCR_COPY_TYPE=XOR
	pretend_ssh
	for pack in "" --pack-current; do
		rm -rf "${PREFIX:?}"/.scr "${PREFIX:?}"/*
		lose 0 1 2 3
		works "0 1 2 3" app_anyranks write=2
		lose 3
		# shellcheck disable=SC2086 # none or one
		ends 0 scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh $pack
		reads "0 1 2" "restart ckpt.2 4 7;complete 3 0" then=3
		reads "0 1 2" "restart ckpt.3 3 6"
	done
}

@test "SCR_CURRENT: from the prefix, never from what three of four ranks have in the caches" {
	works "0 1 2 3" app_anyranks write=2
	SCR_CURRENT=ckpt.2 dies "0 1 2" app_anyranks
	warned "ERROR: .*SCR_Have_restart: dataset 2 .*written by 4 ranks"
	SCR_CURRENT=ckpt.1 reads "0 1 2" "restart ckpt.1 4 7"
}

@test "what cannot be flushed is not read: it is said, and stays" {
	export SCR_FLUSH=0
	works "0 1 2 3" app_anyranks write=2
	SCR_RESTART_ANY_RANKS=1 SHIM_RANKS=1 SHIM_OP=open:w SHIM_PATH=/ckpt. \
		SHIM_ERRNO=ENOSPC SHIM_FAIL_AT=1 SHIM_STICKY=1 dies "0 1 2 3" app_anyranks
	warned "ERROR: .*SCR_Have_restart: dataset 2 .*it could not be flushed"
	reads "0 1 2 3" "restart ckpt.2 4 7"
}

@test "a full cache is no fault of the checkpoints: none is marked, and the job ends" {
	export SCR_USE_CONTAINERS=1
	written
	SCR_RESTART_ANY_RANKS=1 SHIM_RANKS=1 SHIM_OP=pwrite SHIM_PATH=/rank_ \
		SHIM_ERRNO=ENOSPC SHIM_FAIL_AT=1 SHIM_STICKY=1 dies "0 1 2" app_anyranks
	warned "ERROR: .*SCR_Have_restart: a file of a checkpoint .*make room there"
	reads "0 1 2" "restart ckpt.2 4 7"
}

@test "asked again: after a refusal, after SCR_Delete" {
	written
	SCR_RESTART_ANY_RANKS=1 line "have_restart -> 0 1 ckpt.2;have_restart -> 0 1 ckpt.1" \
		works "0 1 2" app_calls init have_restart delete=ckpt.2 have_restart finalize
	export SCR_FLUSH=0
	works "0 1 2 3" app_anyranks write=2
	SCR_RESTART_ANY_RANKS=1 works "0 1 2" app_calls init have_restart have_restart finalize
	[[ $(grep -c "have_restart -> 1 0" <<<"$output") == 2 ]]
}

@test "a checkpoint that kills the job: an older one after three attempts" {
	written
	for _ in 1 2 3; do
		SCR_RESTART_ANY_RANKS=1 dies "0 1 2" app_anyranks die=1
	done
	reads "0 1 2" "restart ckpt.1 4 7"
	warned "dataset 2 (ckpt.2): 3 restarts in a row failed"
}

@test "SCR_Restart_ranks, SCR_Restart_files without it: files of this rank" {
	written
	line "restart ckpt.2 4 1" works "0 1 2 3" app_anyranks
}
