#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2012,SC2030,SC2031 # bats sets them; plain names
# Forged metadata, and other types of files in place of files: they are refused
# with a message, in bounded memory and time, and nothing outside the prefix is
# read or written.
#
# $canary is outside.  Its files and times are compared, and no system call may
# open or name it successfully.

load golden

setup()
{
	base=$BATS_TEST_TMPDIR/p
	at=$base/prefix
	meta=$at/.scr/scr.dataset.1
	canary=$BATS_TEST_TMPDIR/canary
	snapshot xor_4 scavenged "$base"
	mkdir -p "$canary/ckpt.1"
	cp -a "$at/ckpt.1/." "$canary/ckpt.1"
	cp -a "$meta" "$canary/scr.dataset.1"
	echo "nobody's business" >"$canary/secret"
	head -c 24110 /dev/zero >"$canary/rank_1.ckpt"
	canary_was=$(canary_now)
	inner='reddesc.er.2.xor.grp_1_of_1.mem_3_of_4.redset'
	outer='reddescmap.er.2.xor.grp_1_of_1.mem_3_of_4.redset'
}

canary_now()
{
	tree_sha "$canary"
	tree_stat "$canary"
}

# craft FILE SED...: edit a metadata file as text; bytes behind the metadata are
# kept.
craft()
{
	local file=$1

	shift
	tree "$file" | sed "$@" >"$BATS_TEST_TMPDIR/printout"
	"$GEN/gen_craft" --output "$file.new" --body "$file" \
		<"$BATS_TEST_TMPDIR/printout"
	run ! cmp -s "$file" "$file.new"
	mv "$file.new" "$file"
}

# Is strace installed and permitted?
can_trace()
{
	if [[ -z ${traceable-} ]]; then
		strace -f --seccomp-bpf -o /dev/null true 2>/dev/null &&
			traceable=1 || traceable=0
	fi
	((traceable == 1))
}

# All control characters except newline and tab.  In the C locale no byte is
# part of a longer character.
CONTROL=$'\x01-\x08\x0b-\x1f\x7f'

canary_lives()
{
	[[ $(canary_now) == "$canary_was" ]] || failed "the canary changed"
}

teardown()
{
	[[ -n $BATS_TEST_SKIPPED ]] || canary_lives
}

# guarded COMMAND...: run with 1 GiB of address space and 5 seconds of processor
# time.  The status must be below 5, the output safe for a terminal, and no
# system call may touch the canary.
guarded()
{
	local trace=$BATS_TEST_TMPDIR/trace tracer=()

	rm -f "$trace"
	! can_trace || tracer=(strace -f --seccomp-bpf -y -qq -e trace=%file
		-o "$trace")
	try bash -c 'ulimit -v 1048576 -t 5 && exec "$@"' - \
		"${tracer[@]}" timeout 60 "$@"
	((status <= 4)) || failed "$*"
	[[ $output$stderr != *[$CONTROL]* && $output$stderr != *$'\xc2\x9b'* ]] ||
		failed "$*: control characters"
	# Reading a link does not follow it.
	[[ ! -e $trace ]] || ! grep -F "$canary" "$trace" |
		grep -Ev ' = -1 E|readlink|execve' || failed "$*: canary touched"
}

# refused STATUS COMMAND...: fails with one line, or a second one that names the
# unusable file; and perhaps the next step.
refused()
{
	local line count=0

	guarded "${@:2}"
	for line in "${stderr_lines[@]}"; do
		[[ $line == *": next: "* ]] || ((++count))
	done
	[[ " $1 " == *" $status "* ]] || failed "${*:2}: expected status $1"
	((status == 0 || count == 1 || count == 2)) ||
		failed "expected a line or two"
}

# attack STATUS [PATTERN]: run commands that read all of dataset 1, and --build
# last, with this status ("1 4": either).  If the build succeeds, the dataset
# must be whole except for files that match; "-": do not compare.
attack()
{
	# The worst status of the three, below one strace.
	# shellcheck disable=SC2016 # for sh
	guarded sh -c '
		worst=0
		scr_inspect -p "$0" -d 1 --map --files --deep || worst=$?
		scr_index -p "$0" --verify 1 --deep --checksums ||
			worst=$(($? > worst ? $? : worst))
		scr_index -p "$0" --add ckpt.1 ||
			worst=$(($? > worst ? $? : worst))
		exit $worst' "$at"
	refused "$1" scr_index --prefix "$at" --build 1
	[[ $status != 0 || ${2-} == - ]] || xor_4_whole "$at" "${2-}"
	[[ -z $(find "$at" -name '.scrkit-*' -type f) ]] || failed "left behind"
	canary_lives
}

# again: restore the dataset.
again()
{
	rm -rf "$at"
	snapshot xor_4 scavenged "$base"
}

# again_open: restore it with all filemaps but without redundancy for them
# (otherwise an edited filemap would just be damaged), and without a data file
# of rank 2.
again_open()
{
	again
	scr_index --quiet --prefix "$at" --build 1
	rm "$meta"/reddescmap.* "$meta/summary.scr" "$meta"/rank2file* \
		"$at/.scr/index.scr" "$at/ckpt.1/nested/dir level 2/data file 2.bin"
}

# again_flushed: restore it as a flush left it, without filemaps.
again_flushed()
{
	rm -rf "$at"
	snapshot xor_4 flushed "$base"
}

@test "strace is there to look on" {
	can_trace || skip "strace cannot be used: only contents are compared"
	guarded scr_index --prefix "$at" --build 1
	assert_status 0
	# The trace would show an access.
	try strace -f -y -qq -e trace=%file -o "$BATS_TEST_TMPDIR/trace" \
		cat "$canary/secret"
	grep -F "$canary" "$BATS_TEST_TMPDIR/trace" | grep -qv ' = -1 E'
}

# --- Paths in filemaps --------------------------------------------------------

@test "filemap: PATH outside the prefix, or with .. in it" {
	local was='/tmp/scrgold/xor_4/prefix/ckpt\.1' path

	pick 3 "$canary/ckpt.1" "&/../../canary/ckpt.1" \
		"/tmp/scrgold/xor_4/prefix/../canary" "/" "" "." ".." \
		"../canary" "/tmp/scrgold/xor_4/prefixes/ckpt.1" \
		"&/../../.." "/etc"
	for path in "${picked[@]}"; do
		again_open
		craft "$meta/filemap_0" "s,^          $was\$,          $path,"
		# All paths may have another common root.
		attack "1 2 4"
		again
		craft "$meta/filemap_0" "s,^          $was\$,          $path,"
		attack "1 4"
	done
	# The old name of the prefix is given, so a path outside it is refused.
	again_open
	craft "$meta/filemap_0" "s,^          $was\$,          $canary/ckpt.1,"
	refused 1 scr_index --prefix "$at" --build 1 \
		--moved-from /tmp/scrgold/xor_4/prefix
	assert_stderr_has "outside of the prefix"
}

@test "filemap: NAME that is a path" {
	local name

	pick 2 "../../canary/secret" "$canary/secret" ".." "." "" "a/b" \
		"/etc/passwd"
	for name in "${picked[@]}"; do
		again_open
		craft "$meta/filemap_0" "s,^          rank_0.ckpt\$,          $name,"
		# The headers of the redundancy name its files, too.
		attack "0 1 4" "filemap_0|reddescmap"
	done
}

@test "filemap: every PATH outside, so that the moved prefix is guessed" {
	local rank

	again_open
	for rank in 0 1 2 3; do
		craft "$meta/filemap_$rank" \
			"s,/tmp/scrgold/xor_4/prefix,$canary,"
	done
	# The recorded root may be anything, because no files are opened below
	# it.
	attack "0 1 2 4" 'filemap_.|reddescmap'
	refused "2" scr_index --prefix "$at" --build 1 --moved-from /
	refused "1 2 4" scr_index --prefix "$at" --build 1 --moved-from ..
}

@test "filemap: cache paths that lead out do not matter on a prefix" {
	again_open
	craft "$meta/filemap_0" \
		's,^    /tmp/.*/rank_0.ckpt$,    ../../../canary/secret,'
	attack "0 1 4" 'filemap_0|rank2file|reddesc'
}

@test "filemap: a file in the place of the index" {
	again_open
	craft "$meta/filemap_2" \
		-e 's,^          /tmp/scrgold/xor_4/prefix/ckpt\.1/nested/.*,          /tmp/scrgold/xor_4/prefix/.scr,' \
		-e 's,^          data file 2\.bin$,          index.scr,'
	attack 1
	[[ ! -e $at/.scr/index.scr ]]
}

# --- Links -------------------------------------------------------------------

@test "directories of the dataset are links that lead out" {
	mv "$at/ckpt.1" "$at/away"
	ln -s "$canary/ckpt.1" "$at/ckpt.1"
	attack 1
	rm "$at/ckpt.1"
	ln -s ../../canary/ckpt.1 "$at/ckpt.1"
	attack 1
	# The same one level down, where files are only written.
	again
	mv "$at/ckpt.1/nested" "$at/away"
	ln -s "$canary" "$at/ckpt.1/nested"
	attack 1
	again
	rm -rf "$at/ckpt.1/extra"
	ln -s "$canary" "$at/ckpt.1/extra"
	attack 1
}

@test "a link that stays inside is followed" {
	mv "$at/ckpt.1" "$at/elsewhere"
	ln -s elsewhere "$at/ckpt.1"
	refused 0 scr_index --prefix "$at" --build 1
	cmp "$canary/ckpt.1/rank_0.ckpt" "$at/elsewhere/rank_0.ckpt"
	[[ -f $at/elsewhere/rank_1.ckpt ]]
}

@test "links in the place of files: those that are there, those to be written" {
	local file

	for file in rank_1.ckpt rank_1.empty rank_0.ckpt; do
		ln -sf "$canary/rank_1.ckpt" "$at/ckpt.1/$file"
		attack "0 1 4"
		again
		ln -sf "$canary/nothing" "$at/ckpt.1/$file"
		attack "0 1 4"
		[[ ! -e $canary/nothing ]]
		again
		ln -sf ../../../canary/secret "$at/ckpt.1/$file"
		attack "0 1 4"
		again
	done
}

@test "links in the place of metadata" {
	local file

	for file in filemap_0 "$inner" "$outer"; do
		ln -sf "$canary/scr.dataset.1/$file" "$meta/$file"
		attack "0 1 4"
		again
	done
	pick 3 filemap_0 filemap_1 "$inner" "$outer" summary.scr rank2file \
		rank2file.0.0 reddesc.er.1.redset \
		reddesc.er.1.xor.grp_1_of_1.mem_2_of_4.redset
	for file in "${picked[@]}"; do
		ln -sf ../../../../canary/secret "$meta/$file"
		attack "0 1 4"
		again
	done
	for file in flush.scr index.lock index.scr.bak; do
		ln -sf "$canary/secret" "$at/.scr/$file"
		attack "0 1 4"
		again
	done
}

@test "links in the place of the index" {
	cp "$(golden scr3/xor_4/rebuilt/prefix/.scr/index.scr)" "$canary"
	canary_was=$(canary_now)
	ln -s "$canary/index.scr" "$at/.scr/index.scr"
	attack "0 1"
	again
	ln -s ../../../canary/nothing "$at/.scr/index.scr"
	attack "0 1"
	[[ ! -e $canary/nothing ]]
}

@test "links under the names of temporary files and locks" {
	local name dir

	pick 2 ckpt.1/rank_1.ckpt ckpt.1/extra/tiny_1 \
		".scr/scr.dataset.1/filemap_1" \
		".scr/scr.dataset.1/summary.scr" ".scr/index.scr" \
		".scr/scr.dataset.1/rank2file.0.0" \
		".scr/scr.dataset.1/reddesc.er.1.xor.grp_1_of_1.mem_2_of_4.redset"
	for name in "${picked[@]}"; do
		dir=$at/${name%/*}
		ln -s "$canary/$([[ $name == *1* ]] && echo secret || echo nothing)" \
			"$dir/$("$GEN/gen_craft" --temp-name "${name##*/}")"
		attack 0
		[[ ! -e $canary/nothing ]]
		again
	done
	ln -s "$canary/nothing" "$meta/.scrkit.lock"
	attack "0 1"
	[[ ! -e $canary/nothing ]]
}

@test "a temporary name that is a directory" {
	mkdir "$at/ckpt.1/$("$GEN/gen_craft" --temp-name rank_1.ckpt)"
	attack "0 1"
}

@test "dataset directory, .scr and the dataset's metadata linked out" {
	mv "$meta" "$meta.away"
	ln -s "$canary/scr.dataset.1" "$meta"
	attack 1
	again
	cp -a "$at/.scr" "$canary/dot_scr"
	canary_was=$(canary_now)
	rm -rf "$at/.scr"
	ln -s "$canary/dot_scr" "$at/.scr"
	attack 1
	# The same with a relative link.
	ln -sfn ../../canary/dot_scr "$at/.scr"
	attack 1
}

# --- Numbers -----------------------------------------------------------------

@test "filemap: sizes beyond all reason, and none" {
	local size

	pick 2 9223372036854775808 18446744073709551615 \
		9223372036854775807 -1 1e9 ""
	for size in "${picked[@]}"; do
		again_open
		craft "$meta/filemap_0" "s,^          20011\$,          $size,"
		attack "0 1 4" 'filemap_0|reddescmap|rank2file'
	done
}

@test "filemap: ranks beyond all reason" {
	local n file

	pick 2 4294967296 9223372036854775807 0 -1 3
	for n in "${picked[@]}"; do
		again_open
		craft "$meta/filemap_0" "s,^          4\$,          $n,"
		attack "0 1 4" "filemap_0|reddescmap"
	done
	# The same number in all files.
	for n in 2147483647 100000; do
		again_open
		for file in "$meta"/filemap_*; do
			craft "$file" "s,^          4\$,          $n,"
		done
		attack "1 4"
	done
	again_open
	cp "$meta/filemap_0" "$meta/filemap_4000000000"
	attack "0 1 4" "reddescmap|filemap_4"
}

@test "redundancy headers: every number in turn is absurd" {
	local key n values=(18446744073709551615)

	[[ -z ${SCRKIT_SLOW-} ]] || values+=(4294967296 0 x)
	pick 3 CHUNK GROUPS RANKS WRANKS RANK FILES SIZE MODE GROUP
	for key in "${picked[@]}"; do
		for n in "${values[@]}"; do
			craft "$meta/$inner" "/^ *$key\$/{n;s/[^ ].*/$n/}"
			attack "0 1 4" "$inner|rank2file|reddesc.er.1"
			again
		done
	done
}

@test "headers of all survivors agree on an absurd chunk or size" {
	local n file

	pick 3 18446744073709551615 9223372036854775807 1152921504606846976 \
		68719476736 0 1
	for n in "${picked[@]}"; do
		for file in "$meta"/reddesc.er.*.xor.*; do
			craft "$file" "/^  CHUNK\$/{n;s/[^ ].*/$n/}"
		done
		attack "1 4"
		again
		for file in "$meta"/reddesc.er.*.xor.*; do
			tree "$file" | grep -q "rank_1.ckpt" || continue
			craft "$file" "/^ *SIZE\$/{n;s/[^ ].*/$n/}"
		done
		attack "1 4"
		again
	done
}

@test "names of redundancy files with absurd numbers" {
	local name

	pick 3 reddesc.er.2.xor.grp_1_of_1.mem_3_of_4294967295.redset \
		reddesc.er.2.xor.grp_1_of_4294967295.mem_3_of_4.redset \
		reddesc.er.4294967295.xor.grp_1_of_1.mem_1_of_4.redset \
		reddesc.er.2147483647.xor.grp_1_of_1.mem_1_of_4.redset \
		reddesc.er.2.xor.grp_0_of_0.mem_0_of_0.redset \
		reddesc.er.2.xor.grp_9_of_1.mem_9_of_4.redset \
		reddesc.er.2.xor.grp_1_of_1.mem_3_of_99999999999999999999.redset \
		reddesc.er.99999999999999999999.redset \
		filemap_99999999999999999999 filemap_-1 filemap_2147483647
	for name in "${picked[@]}"; do
		cp "$meta/$inner" "$meta/$name"
		attack "0 1 4" "$name"
		again
	done
}

# --- Trees -------------------------------------------------------------------

# Metadata files that are read, below .scr.
METADATA=(index.scr flush.scr scr.dataset.1/filemap_0
	scr.dataset.1/summary.scr scr.dataset.1/rank2file
	scr.dataset.1/rank2file.0.0
	scr.dataset.1/reddesc.er.2.xor.grp_1_of_1.mem_3_of_4.redset
	scr.dataset.1/reddescmap.er.2.xor.grp_1_of_1.mem_3_of_4.redset)

# each_file STATUS [-]: put the file $bad in place of each of these in turn, in
# a dataset that is otherwise whole.
each_file()
{
	local file

	pick 4 "${METADATA[@]}"
	for file in "${picked[@]}"; do
		again
		refused 0 scr_index --prefix "$at" --build 1
		rm -f "$at/.scr/$file"
		cp -a "$bad" "$at/.scr/$file"
		[[ $file == index.scr ]] || rm "$at/.scr/index.scr"
		guarded scr_inspect "$at/.scr/$file"
		[[ $status == 1 ]] || failed "inspect $file"
		assert_stderr_one_line
		guarded scr_index --prefix "$at"
		attack "$1" "${2-${file##*/}}"
	done
}

@test "nested a million levels deep" {
	bad=$BATS_TEST_TMPDIR/bad
	"$GEN/gen_craft" --nest 1000000 --output "$bad"
	each_file "0 1 4"
}

@test "four billion keys announced, none there" {
	bad=$BATS_TEST_TMPDIR/bad
	"$GEN/gen_craft" --count 4294967295 --output "$bad"
	each_file "0 1 4"
}

@test "exabytes announced" {
	bad=$BATS_TEST_TMPDIR/bad
	"$GEN/gen_craft" --size 4611686018427387904 --output "$bad"
	each_file "0 1 4"
}

@test "eight terabytes of nothing" {
	bad=$BATS_TEST_TMPDIR/bad
	truncate -s 8T "$bad" || skip "no such large files here"
	# cp would read it.
	cp() { if [[ $2 == "$bad" ]]; then truncate -s 8T "$3"; else
		command cp "$@"; fi; }
	each_file "0 1 4" -
}

@test "a FIFO in the place of a file does not hang" {
	local file

	bad=$BATS_TEST_TMPDIR/bad
	mkfifo "$bad"
	each_file "0 1 4"
	for file in ckpt.1/rank_0.ckpt ckpt.1/rank_1.ckpt ckpt.1/rank_1.empty \
		.scr/index.lock .scr/scr.dataset.1/.scrkit.lock \
		"ckpt.1/$("$GEN/gen_craft" --temp-name rank_1.ckpt)"; do
		again
		rm -f "$at/$file"
		mkfifo "$at/$file"
		attack "0 1 4"
	done
}

@test "a device in the place of a file does not hang" {
	bad=$BATS_TEST_TMPDIR/bad
	mknod "$bad" c 1 5 && head -c 1 "$bad" >/dev/null ||
		skip "devices cannot be made here"
	each_file "0 1 4"
	again
	rm "$at/ckpt.1/rank_0.ckpt"
	cp -a "$bad" "$at/ckpt.1/rank_0.ckpt"
	attack "0 1 4"
}

@test "directories in the place of files" {
	local file

	pick 3 ckpt.1/rank_0.ckpt ckpt.1/rank_1.ckpt \
		.scr/scr.dataset.1/filemap_0 .scr/scr.dataset.1/filemap_1 \
		".scr/scr.dataset.1/$inner" .scr/index.scr .scr/flush.scr \
		.scr/scr.dataset.1/summary.scr
	for file in "${picked[@]}"; do
		again
		rm -f "$at/$file"
		mkdir -p "$at/$file/precious"
		attack "0 1 4" "rank_0.ckpt"
		# A damaged index is moved aside, whatever its type.
		[[ -d $at/$file/precious || -d $at/$file.bak/precious ]] ||
			failed "$file: removed"
	done
}

# --- Names -------------------------------------------------------------------

EVIL='a\\nb\\x1b[31m\\x1b]0;x\\x07\\xc2\\x9bm\\x7f\\x80z'

@test "names with newlines and escape sequences are printed safely" {
	craft "$at/.scr/flush.scr" "s/ckpt\\.1/$EVIL/"
	refused 0 scr_index --prefix "$at" --build 1
	guarded scr_index --prefix "$at"
	# The header and one line.
	assert_line_count 2
	for args in --all --names-only --json; do
		guarded scr_index --prefix "$at" $args
		assert_status 0
	done
	guarded scr_index --prefix "$at" --verify --deep
	guarded scr_inspect "$at"
	guarded scr_inspect --dataset 1 --prefix "$at"
	guarded scr_index --prefix "$at" --drop nosuch$'\x1b'[31m
	assert_status 1
	guarded scr_index --prefix "$at" --drop-after $'a\nb'
	assert_status 1
	guarded scr_index --prefix "$at" --current $'\x9b31m'
	guarded scr_inspect $'/nosuch\x1b[31m\n'
	guarded scr_rebuild --prefix "$at" $'nosuch\x1b[31m\n'
	guarded scr_index --$'\x1b[31m'
	assert_status 2
	guarded scr_index --prefix $'/nosuch\x1b[31m\n'
	guarded scr_index --prefix "$at" --build $'1\x1b[31m'
	assert_status 2
	guarded scr_index --prefix "$at" --delete 1
	assert_status 0
}

@test "file names with newlines and escape sequences are printed safely" {
	craft "$meta/filemap_0" "s/^          rank_0.ckpt\$/          $EVIL/"
	attack "1 4"
	again
	# The metadata of a flushed dataset.
	again_flushed
	craft "$meta/rank2file.0.0" "s,ckpt.1/rank_0.ckpt,ckpt.1/$EVIL,"
	attack "1 4" '\.scr/'
	refused "1 4" scr_index --prefix "$at" --delete 1 --dry-run ||
		assert_status 0
}

@test "metadata with wild keys are printed safely on a terminal" {
	local text c0=$'\x01-\x08\x0b-\x1f'

	command -v script >/dev/null || skip "script(1) is not there"
	craft "$at/.scr/flush.scr" "s/ckpt\\.1/$EVIL/"
	text=$(script -qec "scr_inspect '$at/.scr/flush.scr'" /dev/null |
		tr -d '\r')
	[[ $text == *DSETDESC* && $text != *[$CONTROL]* ]]
	[[ $text != *$'\xc2\x9b'* ]]
	# JSON escapes control characters itself, except DEL and C1.
	text=$(scr_inspect --json "$at/.scr/flush.scr")
	[[ $text == *DSETDESC* && $text != *[$c0]* ]]
}

# --- Flushed datasets: rank2file and summary ---------------------------------

@test "rank2file: paths that leave the prefix are neither checked nor deleted" {
	local path

	pick 3 ../../canary/secret "$canary/secret" \
		ckpt.1/../../../canary/secret . .. "" "ckpt.1/" "./ckpt.1" \
		"ckpt.1//rank_0.ckpt" /etc/passwd
	for path in "${picked[@]}"; do
		again_flushed
		craft "$meta/rank2file.0.0" "s,ckpt.1/rank_0.ckpt,$path,"
		attack "1 4" '\.scr/'
		guarded scr_index --prefix "$at" --delete 1
		[[ -e $canary/secret ]]
	done
}

@test "rank2file: directories on the way are links that lead out" {
	again_flushed
	mv "$at/ckpt.1" "$at/away"
	ln -s "$canary/ckpt.1" "$at/ckpt.1"
	attack "1 4" '\.scr/'
	guarded scr_index --prefix "$at" --delete 1
	[[ -e $canary/ckpt.1/rank_0.ckpt ]]
}

@test "rank2file: files that are links are not followed by a deletion" {
	again_flushed
	ln -sf "$canary/ckpt.1/rank_0.ckpt" "$at/ckpt.1/rank_0.ckpt"
	attack "1 4" '\.scr/'
	guarded scr_index --prefix "$at" --delete 1
	[[ -e $canary/ckpt.1/rank_0.ckpt ]]
}

@test "rank2file: parts whose names lead out, absurd ranks and sizes" {
	local n

	for n in "/../../../canary/secret" "../../canary/secret" \
		".0.4294967295" "" "$canary/secret"; do
		again_flushed
		craft "$meta/rank2file" "s,\\.0\\.0\$,$n,"
		attack "0 1 4" '\.scr/'
	done
	pick 2 4294967296 -1 0 1000000000000 ""
	for n in "${picked[@]}"; do
		again_flushed
		craft "$meta/rank2file" "/RANKS/{n;s/4/$n/}"
		attack "1 4" '\.scr/'
		again_flushed
		craft "$meta/rank2file.0.0" "/RANKS/{n;s/4/$n/}"
		attack "0 1 4" '\.scr/'
	done
}

@test "summary: absurd numbers, names of other datasets" {
	local edit

	for edit in '/ID$/{n;s/1/99999999999999999999/}' '/ID$/{n;s/1/2/}' \
		'/FILES$/{n;s/14/-1/}' '/SIZE$/{n;s/158686/18446744073709551616/}' \
		's/ckpt\.1/../' 's/ckpt\.1//' 's,ckpt\.1,../../canary/secret,' \
		'/CKPT$/{n;s/1/x/}' 's/^    6$/    7/' '/CREATED/,+1d'; do
		again_flushed
		craft "$meta/summary.scr" "$edit"
		attack "0 1 4" '\.scr/'
		rm -f "$at/.scr/index.scr"
		guarded scr_index --prefix "$at"
		guarded scr_index --prefix "$at" --add ckpt.1
		guarded scr_index --prefix "$at" --delete 1
	done
}

@test "index: absurd ids and names do not lead out" {
	local edit

	for edit in 's/^    1$/    ..\/..\/canary/' 's/^        1$/        -1/' \
		's/^    1$/    99999999999999999999/' \
		's,ckpt\.1,../../canary,' '/ROOT/{n;s,[^ ].*,/,}' \
		'/ROOT/{n;s,[^ ].*,../..,}'; do
		again
		refused 0 scr_index --prefix "$at" --build 1
		craft "$at/.scr/index.scr" "$edit"
		guarded scr_index --prefix "$at" --all
		guarded scr_index --prefix "$at" --verify
		guarded scr_index --prefix "$at" --delete 1
		guarded scr_index --prefix "$at" --delete ../../canary
		guarded scr_index --prefix "$at" --build 1
	done
}

# --- scr_rebuild: caches, and files given by hand ----------------------------

@test "cache: filemaps and headers that lead out of it" {
	local dir=$BATS_TEST_TMPDIR/c/scr.dataset.1 cached path
	local cache=/tmp/scrgold/xor_4/local/cache/golduser/scr.1000/scr.dataset.1

	snapshot xor_4 cache "$BATS_TEST_TMPDIR/cache"
	for path in "$canary" "$cache/../../../canary" ".." "$cache/sub" ""; do
		rm -rf "$BATS_TEST_TMPDIR/c"
		mkdir -p "$dir"
		for cached in 0 2 3; do
			cp -a "$BATS_TEST_TMPDIR/cache/nodes/node$cached/$IN_CACHE/." "$dir"
		done
		craft "$dir/.scr/filemap_0" "s,$cache,$path,"
		guarded scr_inspect "$dir" --files
		refused "0 1 3 4" scr_rebuild "$dir"
		rm -rf "$dir"
		mkdir -p "$dir"
		for cached in 0 2 3; do
			cp -a "$BATS_TEST_TMPDIR/cache/nodes/node$cached/$IN_CACHE/." "$dir"
		done
		for cached in "$dir"/.scr/reddesc.er.*.xor.* \
			"$dir"/.scr/reddescmap.er.*.xor.*; do
			craft "$cached" "s,$cache,$path,"
		done
		guarded scr_inspect "$dir" --files
		refused "0 1 3 4" scr_rebuild "$dir"
	done
}

@test "files given by hand: headers that lead out of the directory" {
	local dir=$BATS_TEST_TMPDIR/d path rank
	local cache=/tmp/scrgold/xor_4/local/cache/golduser/scr.1000/scr.dataset.1

	snapshot xor_4 cache "$BATS_TEST_TMPDIR/cache"
	for path in "$canary" "$cache/../../../canary" "../canary" ".." ""; do
		rm -rf "$dir"
		mkdir -p "$dir"
		for rank in 0 2 3; do
			cp -a "$BATS_TEST_TMPDIR/cache/nodes/node$rank/$IN_CACHE"/* \
				"$BATS_TEST_TMPDIR/cache/nodes/node$rank/$IN_CACHE"/.scr/*.xor.* \
				"$dir"
		done
		for rank in "$dir"/reddesc.er.*; do
			craft "$rank" "s,$cache,$path,"
		done
		cd "$dir"
		refused "0 1 2 4" scr_rebuild --xor reddesc.er.*.xor.*
		refused "0 1 2 4" scr_rebuild --moved-from "$cache" --xor reddesc.er.*.xor.*
		refused "0 1 2 4" scr_rebuild --moved-from "${canary%/*}" \
			--xor reddesc.er.*.xor.*
	done
}
