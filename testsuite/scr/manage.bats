#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Datasets on the prefix: drop, delete, current, the window.

load helper

NODE_MAP="0 1 2 3"

setup() {
	job_setup
	export SCR_FLUSH=1
}

# Names in the index, oldest first; "*" after the current one.
names() {
	scr_index --prefix "$PREFIX" --list --json |
		jq -r '.datasets | sort_by(.id)[] |
			.name + (if .is_current then "*" else "" end)' |
		paste -sd ' '
}

@test "delete: files, directories, metadata, caches; foreign files stay (51)" {
	job "$NODE_MAP" prefix write=ckpt.1 write=ckpt.2
	touch "$PREFIX/ckpt.2/mine"
	line "delete=ckpt.2 -> ok;held: ckpt.1" \
		works "$NODE_MAP" prefix held delete=ckpt.2 held
	[[ $(names) == "ckpt.1*" ]]
	[[ $(find "$PREFIX/ckpt.2" -type f) == "$PREFIX/ckpt.2/mine" ]]
	[[ ! -e $PREFIX/.scr/scr.dataset.2 ]]
	[[ -z $(find "$NODES" -path '*dataset.2*') ]]
	run scr_inspect -m keyval "$PREFIX/.scr/flush.scr"
	[[ $output != *ckpt.2* ]]
	job "$NODE_MAP" prefix delete=ckpt.1
	[[ ! -e $PREFIX/ckpt.1 && -z $(names) ]]
}

@test "drop: the index entry only; current moves (51)" {
	works "$NODE_MAP" prefix write=ckpt.1 write=ckpt.2 drop=ckpt.2
	[[ $(names) == "ckpt.1*" && -s $PREFIX/ckpt.2/rank_0 ]]
	[[ -e $PREFIX/.scr/scr.dataset.2/summary.scr ]]
}

@test "unknown names are failures with a message, of drop a warning (51)" {
	works "$NODE_MAP" "$MPI/app_calls" init current=none drop=none \
		delete=none finalize
	assert_line "current=none -> 1"
	assert_line "drop=none -> 0"
	assert_line "delete=none -> 1"
	[[ $stderr == *"SCR_Current: none"* && $stderr == *"SCR_Drop: none"* ]]
	[[ $stderr == *"SCR_Delete: none: no dataset of this name"* ]]
	assert_line "finalize -> 0"
}

@test "a name that is the number of another dataset" {
	works "$NODE_MAP" prefix write=2 write=1 delete=2
	[[ $(names) == "1*" && -e $PREFIX/1/rank_0 && ! -e $PREFIX/2 ]]
	line "drop=1 -> ok" job "$NODE_MAP" prefix drop=1
	[[ -z $(names) ]]
}

@test "SCR_DROP_AFTER_CURRENT" {
	SCR_CACHE_SIZE=3 job "$NODE_MAP" prefix write=ckpt.1 write=ckpt.2 write=ckpt.3
	SCR_CACHE_SIZE=3 SCR_DROP_AFTER_CURRENT=1 line "held: ckpt.1" \
		job "$NODE_MAP" prefix current=ckpt.1 held
	[[ $(names) == "ckpt.1*" ]]
}

@test "the sliding window, without and with bypass (52); SCR_PREFIX_PURGE (53)" {
	SCR_PREFIX_SIZE=2 works "$NODE_MAP" prefix write=ckpt.1 write=ckpt.2 \
		write=ckpt.3:3 write=ckpt.4 write=ckpt.5 write=ckpt.6
	[[ $(names) == "ckpt.3 ckpt.5 ckpt.6*" ]]
	[[ ! -e $PREFIX/ckpt.1 && ! -e $PREFIX/ckpt.4 && -e $PREFIX/ckpt.3 ]]
	job_setup
	SCR_CACHE_BYPASS=1 SCR_PREFIX_SIZE=2 works "$NODE_MAP" prefix \
		write=ckpt.1 write=ckpt.2 write=ckpt.3
	[[ $(names) == "ckpt.2 ckpt.3*" && ! -e $PREFIX/ckpt.1 ]]
	job_setup
	job "$NODE_MAP" prefix write=ckpt.1 write=out.2:2 write=ckpt.3
	SCR_PREFIX_PURGE=1 works "$NODE_MAP" prefix held
	[[ -z $(names) && ! -e $PREFIX/ckpt.3 && ! -e $PREFIX/out.2 ]]
}
