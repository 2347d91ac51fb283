#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # bats sets them
# I/O errors while a dataset is looked at: what a verdict would need to have
# read is unknown (status 1), neither lost nor whole nor saved.  A rebuild does
# without it where the rest suffices, and says so.

load helper

setup() {
	: "${GEN:=$BIN/../gen}" "${SHIM:=$BIN/../shim.so}"
	in_no_job
	meta=p/.scr/scr.dataset.1
	part=$meta/reddesc.er.1.xor.grp_1_of_2.mem_2_of_2.redset
}

# saved [OPTION]...: checkpoint 1 of 4 ranks on prefix p, in the index.
saved() {
	"$GEN/gen_dataset" -q -p p -n 4 --set-size 2 -s 1000 \
		--recorded-prefix "$PWD/p" "$@"
	scr_index -q -p p --build 1
}

# eio PATH COMMAND...: reading files whose path contains PATH fails.
eio() {
	local path=$1

	shift
	SHIM_READS=1 SHIM_OP=pread SHIM_PATH=$path SHIM_FAIL_AT=1 \
		SHIM_STICKY=1 LD_PRELOAD=$SHIM try "$@"
}

# unknown PATH TEXT [OPTION]: while PATH cannot be read, all call dataset 1
# unknown because of TEXT, and nothing is changed.
unknown() {
	local path=$1 text=$2 kept

	shift 2
	kept=$(tree_sha p)
	eio "$path" scr_index -p p --verify "$@"
	assert_status 1
	assert_output_has unknown
	assert_stderr_has "$text"
	assert_stderr_lacks ": lost"
	eio "$path" scr_inspect -p p "$@"
	assert_status 1
	assert_output_has unknown "$text"
	assert_output_lacks lost
	eio "$path" scr_inspect -p p -d 1 "$@"
	assert_status 1
	assert_output_has "state       unknown" "$text"
	assert_output_lacks lost
	eio "$path" scr_inspect -p p -d 1 --map --json "$@"
	assert_status 1
	assert_output_lacks '"lost"'
	eio "$path" scr_index -p p --build 1 "$@"
	assert_status 1
	assert_stderr_has "$text"
	eio "$path" scr_rebuild -p p 1 "$@"
	assert_status 1
	assert_stderr_has "$text"
	diff <(echo "$kept") <(tree_sha p)
}

# mended PATH TEXT [OPTION]: PATH is computed again although it may be right,
# which is said.
mended() {
	local path=$1 text=$2 kept

	shift 2
	kept=$(tree_sha p)
	eio "$path" scr_index -p p --verify "$@"
	assert_status 3
	assert_stderr_has "$text"
	eio "$path" scr_inspect -p p "$@"
	assert_status 3
	eio "$path" scr_rebuild -p p 1 --dry-run "$@"
	assert_status 3
	assert_output_has "cannot" "can be rebuilt"
	eio "$path" scr_rebuild -p p 1 "$@"
	assert_status 0
	assert_stderr_has "$text" "taken for lost"
	diff <(echo "$kept") <(tree_sha p)
}

assert_stderr_lacks() {
	[[ $stderr != *"$1"* ]] || failed "not expected in stderr: $1"
}

@test "a filemap that nothing can restore" {
	saved -t SINGLE
	# A good rank2file is enough.
	eio filemap_2 scr_index -p p --verify
	assert_status 0
	rm "$meta"/rank2file* "$meta"/reddesc*
	unknown filemap_2 "filemap_2: cannot read: Input/output error"
}

@test "a filemap of a set that has lost another" {
	saved
	rm "$meta/filemap_1" "$meta"/rank2file* "$meta"/reddesc.er* \
		"$meta"/reddescmap.er.1.*
	unknown filemap_0 "filemap_0: cannot read: Input/output error"
}

@test "a redundancy file that a lost file needs" {
	saved
	rm p/ckpt.1/rank_0.ckpt
	unknown "${part##*/}" "Input/output error"
}

@test "a data file without redundancy, whose checksum is recorded" {
	saved -t SINGLE
	scr_index -q -p p --build 1 --checksums
	unknown rank_2.ckpt "rank_2.ckpt: cannot be read (I/O error)" \
		--checksums
	rm "$meta"/{filemap,reddesc}*
	eio rank_2.ckpt scr_index -p p --verify --checksums
	assert_status 1
	assert_output_has unknown
}

@test "summary and rank2file" {
	saved
	for file in summary.scr rank2file rank2file.0.0; do
		eio "$meta/$file" scr_index -p p --verify
		assert_status 1
		assert_output_has unknown
		eio "$meta/$file" scr_index -p p --current ckpt.1
		assert_status 1
	done
}

@test "what is recorded of a lost file cannot be read: it is not rebuilt" {
	saved
	scr_index -q -p p --build 1 --checksums
	rm p/ckpt.1/rank_0.ckpt
	for file in summary.scr rank2file rank2file.0.0; do
		eio "$meta/$file" scr_rebuild -p p 1
		assert_status 1
		assert_stderr_one_line "$file" "Input/output error"
		[[ ! -e p/ckpt.1/rank_0.ckpt ]]
	done
	scr_rebuild -q -p p 1
	[[ -e p/ckpt.1/rank_0.ckpt ]]
}

@test "a filemap, and a redundancy file, that can be computed" {
	saved
	mended filemap_2 "filemap_2: cannot read: Input/output error"
	mended "${part##*/}" "Input/output error" --deep
}

@test "a data file that can be computed, and compared with its checksum" {
	saved
	scr_index -q -p p --build 1 --checksums
	mended rank_2.ckpt "rank_2.ckpt: cannot be read" --checksums
	# Its redundancy is wrong: what is computed is not taken.
	was=$(sha256sum p/ckpt.1/rank_2.ckpt)
	printf Z | dd of="$meta/reddesc.er.3.xor.grp_2_of_2.mem_2_of_2.redset" \
		bs=1 seek=2000 conv=notrunc status=none
	eio rank_2.ckpt scr_rebuild -p p 1 --checksums
	assert_status 1
	assert_stderr_has "rank_2.ckpt: cannot be read" "cannot be rebuilt"
	[[ $was == "$(sha256sum p/ckpt.1/rank_2.ckpt)" ]]
}

@test "postrun calls nothing saved or lost that it could not read" {
	export SCR_USER_NAME=genuser
	ln -s nodes/node0 local
	"$GEN/gen_dataset" -q -p p -n 2 -m 1 --layout cache --nodes-dir nodes \
		-t SINGLE -s 1000 --lose "" --ckpt --recorded-prefix "$PWD/p"
	args=(-p p -r local -w "$(uname -n)" -J 1000 --cachedir local/cache
		--cntldir local/cntl)
	scr_postrun "${args[@]}" >/dev/null
	rm -r local/cache
	for file in "$meta/summary.scr" "$meta/rank2file.0.0"; do
		eio "$file" scr_postrun "${args[@]}"
		assert_status 1
		assert_stderr_has "dataset 1: in the index, but unknown" \
			"Input/output error"
		assert_output_lacks LOST "is saved"
	done
	try scr_postrun "${args[@]}"
	assert_status 0
}
