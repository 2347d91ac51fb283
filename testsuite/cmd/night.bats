#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2030,SC2031 # bats sets them
# Thirteen prefixes as an operator meets them at 3 a.m.  Only the `next:` lines of
# the commands are followed, and at most three of them, until the dataset is whole
# or given up.

load helper

: "${GEN:=$BIN/../gen}"

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	in_no_job
	export SCR_USER_NAME=genuser
	P=$PWD/p
}

# dataset ID OPTION...: a dataset of four ranks on four nodes, with redundancy
# XOR, and its files in right.ID.
dataset() {
	"$GEN/gen_dataset" -q -p "$P" -n 4 -s 3000 --dir "ckpt.$1" -i "$1" \
		--name "ckpt.$1" --seed "$1" -t XOR -m 4 "${@:2}"
	"$GEN/gen_dataset" -q -p "right.$1" -n 4 -s 3000 --dir "ckpt.$1" \
		-i "$1" --name "ckpt.$1" --seed "$1" -t SINGLE
}

# indexed ID...: whole datasets that the index lists.
indexed() {
	local id

	for id; do
		dataset "$id"
		scr_index -q -p "$P" --build "$id"
	done
}

# next_line: the command that the last `try` named; there is at most one.
next_line() {
	local lines

	lines=$(printf '%s\n%s\n' "$output" "$stderr" |
		sed -n 's/^\([a-z_]*:\)\{0,1\} *next: *//p')
	[[ $lines != *$'\n'* ]] || failed "several next steps: $lines"
	echo "$lines"
}

# follow ID: look at the dataset, and run what is named until nothing is.  Sets
# `taken`, the commands that were run.
follow() {
	local command

	taken=()
	while ((${#taken[@]} <= 3)); do
		try scr_inspect -p "$P" --checksums "id:$1"
		command=$(next_line)
		[[ -n $command ]] || break
		# Acting finds what looking has found.
		taken+=("$command")
		echo "# dataset $1: $command" >&3
		bash -c "$command" >out 2>&1 || true
		[[ -e $P/.scr/scr.dataset.$1 ]] || break
	done
	((${#taken[@]} <= 3)) || failed "more than three: ${taken[*]}"
}

# whole ID: a job can restart from it, and its bytes are right.
whole() {
	try scr_index -p "$P" --verify --checksums "id:$1"
	assert_status 0
	diff -r "right.$1/ckpt.$1" "$P/ckpt.$1" || failed "wrong bytes"
}

# given_up ID: neither in the index nor on the prefix.
given_up() {
	try scr_inspect -p "$P" "id:$1"
	assert_status 1
	[[ ! -e $P/ckpt.$1 ]] || failed "files are left"
}

# restarts_from NAME
restarts_from() {
	[[ $(scr_index -p "$P" -l --json |
		jq -r '.datasets[] | select(.is_current) | .name') == "$1" ]] ||
		failed "$(scr_index -p "$P")"
}

@test "1: all filemaps are missing" {
	indexed 1
	rm "$P"/.scr/scr.dataset.1/filemap_*
	follow 1
	whole 1
	# Without rank2file, too, nothing names the files.  They are not deleted:
	# the nodes may have the filemaps.
	scr_index -q -p "$P" --drop 1
	rm "$P"/.scr/scr.dataset.1/{rank2file*,summary.scr}
	try scr_inspect -p "$P" 1
	assert_status 4
	[[ $(next_line) == "scr_postrun -p $P" ]] || failed "$(next_line)"
}

@test "2: no flush.scr, and the scavenge was interrupted before its summary" {
	dataset 1 --lose 2
	rm -f "$P/.scr/flush.scr"
	follow 1
	whole 1
}

@test "3: the index is corrupt" {
	indexed 1 2
	printf 'garbage' | dd of="$P/.scr/index.scr" bs=1 seek=20 conv=notrunc \
		status=none
	try scr_inspect -p "$P"
	assert_status 3
	bash -c "$(next_line)"
	try scr_inspect -p "$P"
	assert_status 0
	whole 1
	whole 2
}

@test "4: the prefix was moved" {
	indexed 1
	mv "$P" q
	P=$PWD/q
	rm "$P/ckpt.1/rank_2.ckpt"
	follow 1
	whole 1
}

@test "5: two datasets half scavenged" {
	dataset 1 --lose 1
	dataset 2 --lose 3
	follow 2
	follow 1
	whole 1
	whole 2
}

@test "6: a truncated file; and one too many" {
	indexed 1 2
	rm "$P/.scr/flush.scr" # nor is it in the caches
	scr_index -q -p "$P" --current ckpt.2
	truncate -s 1000 "$P/ckpt.2/rank_1.ckpt"
	follow 2
	whole 2
	truncate -s 1000 "$P"/ckpt.2/rank_{1,2}.ckpt
	rm "$P"/.scr/scr.dataset.2/reddesc.er.{1,2}.*
	follow 2
	given_up 2
	restarts_from ckpt.1
}

@test "7: a flipped byte of parity" {
	indexed 1
	scr_index -q -p "$P" --checksums --build 1
	local file

	file=$(echo "$P"/.scr/scr.dataset.1/reddesc.er.1.xor.*)
	printf '\377' | dd of="$file" bs=1 conv=notrunc status=none \
		seek=$(($(stat -c %s "$file") - 9))
	try scr_inspect -p "$P" --deep --checksums 1
	assert_status 3
	assert_output_has "mem_2_of_4.redset: its contents are damaged"
	bash -c "$(next_line)"
	try scr_inspect -p "$P" --deep --checksums 1
	assert_status 0
	whole 1
}

@test "8: the disk is full" {
	indexed 1
	rm "$P/ckpt.1/rank_2.ckpt"
	try env LD_PRELOAD="$BIN/../profile.so" PROFILE=quota \
		PROFILE_PATH="$P" scr_rebuild -p "$P" 1
	assert_status 1
	assert_stderr_has quota
	bash -c "$(next_line)"
	whole 1
}

@test "9: permission denied" {
	((EUID == 0)) || skip "needs root, to be somebody else"
	command -v setpriv >/dev/null || skip "no setpriv"
	indexed 1
	chmod 700 "$P"
	chmod 755 "$BATS_TEST_TMPDIR" || true
	try setpriv --reuid 65534 --regid 65534 --clear-groups \
		env PATH="$PATH" scr_inspect -p "$P" 1
	assert_status 1
	[[ "$output$stderr" != *[Ll]ost* ]]
	assert_stderr_has "Permission denied"
	follow 1
	whole 1
}

@test "10: a container is lost" {
	indexed 1 2
	scr_container -q -p "$P" pack --with-redundancy 1
	rm "$P"/.scr/scr.dataset.1/.scr/ctr.1.scr
	follow 1
	scr_container -q -p "$P" unpack 1
	whole 1
}

@test "11: deleted by hand: the files, the metadata, both" {
	indexed 1 2 3 4
	rm "$P/.scr/flush.scr"
	scr_index -q -p "$P" --current ckpt.4
	rm -r "$P/ckpt.4"
	follow 4
	given_up 4
	restarts_from ckpt.3
	rm -r "$P/.scr/scr.dataset.3"
	try scr_inspect -p "$P" id:3
	bash -c "$(next_line)"
	restarts_from ckpt.2
	try scr_inspect -p "$P" id:3
	bash -c "$(next_line)"
	try scr_inspect -p "$P" id:3
	assert_status 1
	whole 2
	whole 1
}

@test "12: names with blanks and digits" {
	P="$PWD/a b'c"
	"$GEN/gen_dataset" -q -p "$P" -n 4 -s 3000 --dir "7 of 9" -i 1 \
		--name "7 of 9" --seed 1 -t XOR -m 4 --lose 1
	"$GEN/gen_dataset" -q -p "$P" -n 4 -s 3000 --dir 1 -i 7 --name 1 \
		--seed 7 -t XOR -m 4 --lose 2
	follow 1
	follow 7
	for id in 1 7; do
		try scr_index -p "$P" --verify "id:$id"
		assert_status 0
	done
}

@test "13: a byte of a file is wrong, packed or not, found in three ways" {
	local look bytes kind

	indexed 1
	scr_index -q -p "$P" --checksums --build 1
	cp -a "$P" unpacked
	scr_container -q -p "$P" pack --with-redundancy 1
	cp -a "$P" packed
	for kind in unpacked packed; do
		for look in "scr_inspect --checksums" "scr_inspect --deep" \
			"scr_inspect --checksums --deep" \
			"scr_index --checksums --verify" \
			"scr_index --deep --verify" \
			"scr_rebuild -n --checksums" "scr_rebuild -n --deep"; do
			rm -rf "$P"
			cp -a $kind "$P"
			bytes=$P/.scr/scr.dataset.1/.scr/ctr.0.scr
			[[ $kind = packed ]] || bytes=$P/ckpt.1/rank_0.ckpt
			printf '\377' | dd of="$bytes" bs=1 seek=100 \
				conv=notrunc status=none
			# shellcheck disable=SC2086 # several words
			try $look -p "$P" 1
			assert_status 3
			bash -c "$(next_line)" || failed "$look: $(next_line)"
			try scr_inspect -p "$P" --checksums --deep 1
			assert_status 0
			[[ $kind = unpacked ]] ||
				scr_container -q -p "$P" unpack 1
			whole 1
		done
	done
}

# --- Found by trying what operators do ---

# made TYPE: datasets 1 and 2 are whole and in the index; a job restarts from 2.
made() {
	local id

	for id in 1 2; do
		"$GEN/gen_dataset" -q -p "$P" -n 8 -m 4 -s 3000 -t "$1" \
			--set-size 4 --dir ckpt.$id -i $id --name ckpt.$id
		scr_index -q -p "$P" --build $id
	done
	scr_index -q -p "$P" --current ckpt.2
}

# ends_whole: one command makes dataset 2 whole.
ends_whole() {
	follow 2
	[[ ${#taken[@]} == 1 ]]
	try scr_inspect -p "$P" 2
	assert_status 0
}

@test "a container is too long, packed redundancy is lost: nothing is given up" {
	made XOR
	scr_container -q -p "$P" pack --size 8000 2
	printf X >>"$P/.scr/scr.dataset.2/.scr/ctr.0.scr"
	try scr_container -p "$P" verify 2
	assert_output_has "no data are missing" "next: scr_container -p $P unpack 2"
	ends_whole
	rm -rf p
	made SINGLE
	scr_container -q -p "$P" pack --with-redundancy --size 4000 2
	rm "$P/.scr/scr.dataset.2/.scr/red.0.scr"
	ends_whole
}

@test "prune keeps the last checkpoint that is whole" {
	made XOR
	rm -r "$P/ckpt.2"
	try scr_index -p "$P" --prune --keep 1
	assert_status 3
	assert_stderr_has "no checkpoint that would be kept is whole, ckpt.2"
	[[ -e $P/ckpt.1/rank_0.ckpt ]]
	try scr_index -p "$P" --prune --keep 1 --dry-run
	assert_status 3
	scr_index -q -p "$P" --delete ckpt.2
	try scr_index -p "$P" --prune --keep 1
	assert_status 0
	[[ -e $P/ckpt.1/rank_0.ckpt ]]
}

@test "redundancy of the filemaps alone tolerates no loss" {
	made XOR
	rm "$P"/.scr/scr.dataset.2/reddesc.er.*grp*
	try scr_inspect -p "$P" 2
	assert_status 0
	assert_output_has "tolerates   no loss"
}

@test "an index that cannot be read: unknown, not absent" {
	made XOR
	SHIM_READS=1 SHIM_OP=pread SHIM_PATH=index.scr SHIM_FAIL_AT=1 \
		SHIM_STICKY=1 LD_PRELOAD=$SHIM try scr_inspect -p "$P"
	assert_status 1
	assert_stderr_has "the datasets of the index are unknown"
	[[ $output != *--build* ]]
}
