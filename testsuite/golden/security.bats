#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2012 # for sh
# Forged metadata, and links in place of files: they are refused with a message, in
# bounded memory and time, and nothing outside the prefix is read or written.
# Other types of files: planted.bats.
#
# $canary is outside.  Its files and times are compared, and no system call may
# open or name it successfully.

load golden

setup() {
	local kept=$BATS_FILE_TMPDIR/canary

	base=$BATS_TEST_TMPDIR/p
	at=$base/prefix
	meta=$at/.scr/scr.dataset.1
	canary=$BATS_TEST_TMPDIR/canary
	snapshot xor_4 scavenged "$base"
	if [[ ! -e $kept ]]; then
		mkdir "$kept"
		cp -a "$at/ckpt.1" "$meta" "$kept"
		echo "nobody's business" >"$kept/secret"
		head -c 24110 /dev/zero >"$kept/rank_1.ckpt"
	fi
	cp -a "$kept" "$canary"
	canary_was=$(canary_now)
	inner='reddesc.er.2.xor.grp_1_of_1.mem_3_of_4.redset'
	outer='reddescmap.er.2.xor.grp_1_of_1.mem_3_of_4.redset'
}

# The time of the last change tells of contents, too.
canary_now() {
	find "$canary" -printf '%P %y %m %U %G %s %T@ %C@\n' | sort
}

# craft FILE SED...: edit a metadata file as text; bytes behind the metadata are
# kept.
craft() {
	local file=$1

	shift
	tree "$file" | sed "$@" >"$BATS_TEST_TMPDIR/printout"
	"$GEN/gen_craft" --output "$file.new" --body "$file" \
		<"$BATS_TEST_TMPDIR/printout"
	! cmp -s "$file" "$file.new" || failed "$file: not edited"
	mv "$file.new" "$file"
}

# Is strace installed and permitted?
can_trace() {
	if [[ -z ${traceable-} ]]; then
		strace -f --seccomp-bpf -o /dev/null true 2>/dev/null &&
			traceable=1 || traceable=0
	fi
	((traceable == 1))
}

# All control characters except newline and tab.  In the C locale no byte is
# part of a longer character.
CONTROL=$'\x01-\x08\x0b-\x1f\x7f'

canary_lives() {
	[[ $(canary_now) == "$canary_was" ]] || failed "the canary changed"
}

teardown() {
	[[ -n $BATS_TEST_SKIPPED ]] || canary_lives
}

# harmless TEXT: a terminal does not act on it.
harmless() {
	[[ $1 != *[$CONTROL]* && $1 != *$'\xc2\x9b'* ]] ||
		failed "control characters: ${1@Q}"
}

# guarded COMMAND...: run with 1 GiB of address space and 5 seconds of processor
# time, where anybody may have made links.  The status must be below 5, the output safe for a terminal, and no
# system call may touch the canary.
guarded() {
	local trace=$BATS_TEST_TMPDIR/trace tracer=()

	rm -f "$trace"
	find "$at" -type d -exec chmod o+w {} +
	! can_trace || tracer=(strace -f --seccomp-bpf -y -qq -e trace=%file
		-o "$trace")
	try bash -c 'ulimit -v 1048576 -t 5 && exec "$@"' - \
		"${tracer[@]}" timeout 60 "$@"
	((status <= 4)) || failed "$*"
	harmless "$output$stderr"
	# Reading a link does not follow it.
	[[ ! -e $trace ]] || awk -v at="$canary" '
		index($0, at) && !/ = -1 E|readlink|execve/ { print; bad = 1 }
		END { exit bad }' "$trace" >&2 || failed "$*: canary touched"
}

# refused STATUS COMMAND...: fails with one line, or a second one that names the
# unusable file; and perhaps the next step.
refused() {
	local line count=0

	guarded "${@:2}"
	for line in "${stderr_lines[@]}"; do
		[[ $line == *": next: "* ]] || ((++count))
	done
	[[ " $1 " == *" $status "* ]] || failed "${*:2}: expected status $1" ||
		return
	((status == 0 || count == 1 || count == 2)) ||
		failed "expected a line or two"
}

# For sh: run a command whose status has to be below 5.
OK='ok() { "$@" || [ $? -le 4 ] || exit 9; }'

# survived SCRIPT: guarded, with `ok` and "$p", the prefix.
survived() {
	guarded sh -c "$OK"$'\n'"$1" sh "$at"
}

# attack STATUS [PATTERN]: run commands that read all of dataset 1, and --build
# last, with this status ("1 4": either), below one strace.  If the build
# succeeds, the dataset must be whole except for files that match; "-": do not
# compare.
attack() {
	local said=$BATS_TEST_TMPDIR/said

	refused "$1" sh -c "$OK"'
		{
			ok scr_index -p "$1"
			ok scr_inspect -p "$1" -d 1 --map --files --deep
			ok scr_index -p "$1" --verify 1 --deep --checksums
			ok scr_index -p "$1" --add ckpt.1
		} >"$2" 2>&1
		exec scr_index --prefix "$1" --build 1' sh "$at" "$said"
	harmless "$(tr -d '\0' <"$said")"
	[[ $status != 0 || ${2-} == - ]] || xor_4_whole "$at" "${2-}"
	[[ -z $(find "$at" -name '.scrkit-*' -type f) ]] || failed "left behind"
	canary_lives
}

# again: restore the dataset.
again() {
	rm -rf "$at"
	snapshot xor_4 scavenged "$base"
}

# again_built: restore it as a build leaves it, kept for all tests.
again_built() {
	local built=$BATS_FILE_TMPDIR/built

	rm -rf "$at"
	if [[ ! -d $built ]]; then
		snapshot xor_4 scavenged "$base"
		refused 0 scr_index --prefix "$at" --build 1
		cp -a "$at" "$built"
	fi
	[[ -d $at ]] || cp -a "$built" "$at"
}

# again_open: restore it with all filemaps but without redundancy for them
# (otherwise an edited filemap would just be damaged), and without a data file
# of rank 2.
again_open() {
	again_built
	rm "$meta"/reddescmap.* "$meta/summary.scr" "$meta"/rank2file* \
		"$at/.scr/index.scr" "$at/ckpt.1/nested/dir level 2/data file 2.bin"
}

# again_flushed: restore it as a flush left it, without filemaps.
again_flushed() {
	rm -rf "$at"
	snapshot xor_4 flushed "$base"
}

# deleted: without its index the dataset is listed, added and deleted.
deleted() {
	rm -f "$at/.scr/index.scr"
	survived 'ok scr_index -p "$1"
		ok scr_index -p "$1" --add ckpt.1
		ok scr_index -p "$1" --delete 1'
	canary_lives
}

# forged STEP AGAIN FILE EDIT STATUS PATTERN WORD...: attack with each STEP-th
# word in the place of @ in this edit of a metadata file, restored by AGAIN; and
# with DELETE delete it.
forged() {
	local word

	pick "$1" "${@:7}"
	for word in "${picked[@]}"; do
		"$2"
		craft "$meta/$3" "${4%@*}$word${4##*@}"
		attack "$5" "$6"
		[[ -z ${DELETE-} ]] || deleted
	done
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
	local edit='s,^\(          \)/tmp/scrgold/xor_4/prefix/ckpt\.1$,\1@,'
	local was=/tmp/scrgold/xor_4/prefix
	local paths=("$canary/ckpt.1" "$was/ckpt.1/../../canary/ckpt.1"
		"$was/../canary" "/" "" "." ".." "../canary"
		"${was}es/ckpt.1" "$was/ckpt.1/../../.." "/etc")

	# All paths may have another common root.
	forged 5 again_open filemap_0 "$edit" "1 2 4" "" "${paths[@]}"
	forged 5 again filemap_0 "$edit" "1 4" "" "${paths[@]}"
	# The old name of the prefix is given, so a path outside it is refused.
	again_open
	craft "$meta/filemap_0" "${edit/@/$canary/ckpt.1}"
	refused 1 scr_index --prefix "$at" --build 1 --moved-from "$was"
	assert_stderr_has "outside of the prefix"
}

@test "filemap: NAME that is a path; sizes beyond all reason, and none" {
	# The headers of the redundancy name its files, too.
	forged 4 again_open filemap_0 's,^          rank_0.ckpt$,          @,' \
		"0 1 4" "filemap_0|reddescmap" "../../canary/secret" \
		"$canary/secret" ".." "." "" "a/b" "/etc/passwd"
	forged 4 again_open filemap_0 's,^          20011$,          @,' \
		"0 1 4" 'filemap_0|reddescmap|rank2file' 9223372036854775808 \
		18446744073709551615 9223372036854775807 -1 1e9 ""
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

@test "filemap: cache paths that lead out do not matter; a file in the place of the index" {
	again_open
	craft "$meta/filemap_0" \
		's,^    /tmp/.*/rank_0.ckpt$,    ../../../canary/secret,'
	attack "0 1 4" 'filemap_0|rank2file|reddesc'
	again
	again_open
	craft "$meta/filemap_2" \
		-e 's,^          /tmp/scrgold/xor_4/prefix/ckpt\.1/nested/.*,          /tmp/scrgold/xor_4/prefix/.scr,' \
		-e 's,^          data file 2\.bin$,          index.scr,'
	attack 1
	[[ ! -e $at/.scr/index.scr ]]
}

# --- Links -------------------------------------------------------------------

@test "directories of the dataset are links that lead out; one that stays inside is followed" {
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
	again
	mv "$at/ckpt.1" "$at/elsewhere"
	ln -s elsewhere "$at/ckpt.1"
	refused 0 scr_index --prefix "$at" --build 1
	cmp "$canary/ckpt.1/rank_0.ckpt" "$at/elsewhere/rank_0.ckpt"
	[[ -f $at/elsewhere/rank_1.ckpt ]]
}

@test "links in the place of files: those that are there, those to be written" {
	local file

	pick 3 {"$canary/rank_1.ckpt","$canary/nothing",../../../canary/secret}\
,rank_{0.ckpt,1.{ckpt,empty}}
	for file in "${picked[@]}"; do
		again
		ln -sf "${file%,*}" "$at/ckpt.1/${file##*,}"
		attack "0 1 4"
	done
}

@test "links in the place of metadata and the index" {
	local file

	pick 5 "$canary/scr.dataset.1/"{filemap_0,"$inner","$outer"} \
		../../../../canary/secret/{filemap_{0,1},"$inner","$outer"} \
		../../../../canary/secret/{summary.scr,rank2file{,.0.0}} \
		../../../../canary/secret/reddesc.er.1.redset \
		../../../../canary/secret/"${inner/er.2*mem_3/er.1.xor.grp_1_of_1.mem_2}"
	for file in "${picked[@]}"; do
		again
		ln -sf "${file/secret\/*/secret}" "$meta/${file##*/}"
		attack "0 1 4"
	done
	pick 2 flush.scr index.lock index.scr.bak
	for file in "${picked[@]}"; do
		again
		ln -sf "$canary/secret" "$at/.scr/$file"
		attack "0 1 4"
	done
	again
	cp "$(golden scr3/xor_4/rebuilt/prefix/.scr/index.scr)" "$canary"
	canary_was=$(canary_now)
	ln -s "$canary/index.scr" "$at/.scr/index.scr"
	attack "0 1"
	again
	ln -s ../../../canary/nothing "$at/.scr/index.scr"
	attack "0 1"
	[[ ! -e $canary/nothing ]]
}

@test "links under the names of temporary files and locks, and a directory" {
	local name dir

	pick 4 ckpt.1/rank_1.ckpt ckpt.1/extra/tiny_1 \
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
	again
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

@test "filemap: ranks beyond all reason" {
	local n file

	forged 4 again_open filemap_0 's,^          4$,          @,' "0 1 4" \
		"filemap_0|reddescmap" 4294967296 9223372036854775807 0 -1 3
	# The same number in all files.
	pick 2 2147483647 100000
	for n in "${picked[@]}"; do
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
	local n values=(18446744073709551615)

	[[ -z ${SCRKIT_SLOW-} ]] || values+=(4294967296 0 x)
	for n in "${values[@]}"; do
		forged 4 again "$inner" "/^ *@\$/{n;s/[^ ].*/$n/}" "0 1 4" \
			"$inner|rank2file|reddesc.er.1" CHUNK GROUPS RANKS \
			WRANKS RANK FILES SIZE MODE GROUP
	done
}

@test "headers of all survivors agree on an absurd chunk or size" {
	local n file

	pick 4 18446744073709551615 9223372036854775807 1152921504606846976 \
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

	pick 6 reddesc.er.2.xor.grp_1_of_1.mem_3_of_4294967295.redset \
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

# huge OPTION NUMBER: put such a file of gen_craft in place of each of these in
# turn, in a dataset that is otherwise whole.
huge() {
	local file bad=$BATS_TEST_TMPDIR/bad

	"$GEN/gen_craft" "$1" "$2" --output "$bad"
	pick 8 "${METADATA[@]}"
	for file in "${picked[@]}"; do
		again_built
		rm -f "$at/.scr/$file"
		cp -a "$bad" "$at/.scr/$file"
		[[ $file == index.scr ]] || rm "$at/.scr/index.scr"
		guarded scr_inspect "$at/.scr/$file"
		[[ $status == 1 ]] || failed "inspect $file"
		assert_stderr_one_line
		attack "0 1 4" "${file##*/}"
	done
}

@test "nested a million levels deep" { huge --nest 1000000; }
@test "four billion keys announced, none there" { huge --count 4294967295; }
@test "exabytes announced" { huge --size 4611686018427387904; }

# --- Names -------------------------------------------------------------------

EVIL='a\\nb\\x1b[31m\\x1b]0;x\\x07\\xc2\\x9bm\\x7f\\x80z'

@test "names with newlines and escape sequences are printed safely" {
	craft "$at/.scr/flush.scr" "s/ckpt\\.1/$EVIL/"
	refused 0 scr_index --prefix "$at" --build 1
	guarded scr_index --prefix "$at"
	# The header and one line.
	assert_line_count 2
	while IFS='|' read -r want line; do
		eval "guarded $line"
		[[ " ${want:-0 1 2 3 4} " == *" $status "* ]] || failed "$line"
	done <<-'END'
		0|scr_index --prefix "$at" --all
		0|scr_index --prefix "$at" --names-only
		0|scr_index --prefix "$at" --json
		|scr_index --prefix "$at" --verify --deep
		|scr_inspect "$at"
		|scr_inspect --dataset 1 --prefix "$at"
		1|scr_index --prefix "$at" --drop nosuch$'\x1b'[31m
		1|scr_index --prefix "$at" --drop-after $'a\nb'
		|scr_index --prefix "$at" --current $'\x9b31m'
		|scr_inspect $'/nosuch\x1b[31m\n'
		|scr_rebuild --prefix "$at" $'nosuch\x1b[31m\n'
		2|scr_index --$'\x1b[31m'
		|scr_index --prefix $'/nosuch\x1b[31m\n'
		2|scr_index --prefix "$at" --build $'1\x1b[31m'
		0|scr_index --prefix "$at" --delete 1
	END
}

@test "file names with newlines and escape sequences are printed safely" {
	craft "$meta/filemap_0" "s/^          rank_0.ckpt\$/          $EVIL/"
	attack "1 4"
	again
	# The metadata of a flushed dataset.
	again_flushed
	craft "$meta/rank2file.0.0" "s,ckpt.1/rank_0.ckpt,ckpt.1/$EVIL,"
	attack "1 4" '\.scr/'
	refused "0 1 4" scr_index --prefix "$at" --delete 1 --dry-run
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

@test "rank2file: paths that leave the prefix, and links, are neither checked nor deleted" {
	DELETE=1 forged 4 again_flushed rank2file.0.0 \
		's,ckpt.1/rank_0.ckpt,@,' "1 4" '\.scr/' ../../canary/secret \
		"$canary/secret" ckpt.1/../../../canary/secret . .. "" \
		"ckpt.1/" "./ckpt.1" "ckpt.1//rank_0.ckpt" /etc/passwd
	again_flushed
	mv "$at/ckpt.1" "$at/away"
	ln -s "$canary/ckpt.1" "$at/ckpt.1"
	attack "1 4" '\.scr/'
	deleted
	again_flushed
	ln -sf "$canary/ckpt.1/rank_0.ckpt" "$at/ckpt.1/rank_0.ckpt"
	attack "1 4" '\.scr/'
	deleted
}

@test "rank2file: parts whose names lead out, absurd ranks and sizes" {
	local ranks=(4294967296 -1 0 1000000000000 "")

	forged 4 again_flushed rank2file 's,\.0\.0$,@,' "0 1 4" '\.scr/' \
		"/../../../canary/secret" "../../canary/secret" \
		".0.4294967295" "" "$canary/secret"
	forged 4 again_flushed rank2file '/RANKS/{n;s/4/@/}' "1 4" '\.scr/' \
		"${ranks[@]}"
	forged 4 again_flushed rank2file.0.0 '/RANKS/{n;s/4/@/}' "0 1 4" \
		'\.scr/' "${ranks[@]}"
}

@test "summary: absurd numbers, names of other datasets" {
	DELETE=1 forged 4 again_flushed summary.scr @ "0 1 4" '\.scr/' \
		'/ID$/{n;s/1/99999999999999999999/}' '/ID$/{n;s/1/2/}' \
		'/FILES$/{n;s/14/-1/}' 's/ckpt\.1/../' 's/ckpt\.1//' \
		'/SIZE$/{n;s/158686/18446744073709551616/}' \
		's,ckpt\.1,../../canary/secret,' '/CKPT$/{n;s/1/x/}' \
		's/^    6$/    7/' '/CREATED/,+1d'
}

@test "index: absurd ids and names do not lead out" {
	local edit

	pick 2 's/^    1$/    ..\/..\/canary/' 's/^        1$/        -1/' \
		's/^    1$/    99999999999999999999/' \
		's,ckpt\.1,../../canary,' '/ROOT/{n;s,[^ ].*,/,}' \
		'/ROOT/{n;s,[^ ].*,../..,}'
	for edit in "${picked[@]}"; do
		again_built
		craft "$at/.scr/index.scr" "$edit"
		survived 'ok scr_index -p "$1" --all
			ok scr_index -p "$1" --verify
			ok scr_index -p "$1" --delete 1
			ok scr_index -p "$1" --delete ../../canary
			ok scr_index -p "$1" --build 1'
	done
}

# --- scr_rebuild: caches, and files given by hand ----------------------------

@test "cache: filemaps and headers that lead out of it" {
	local dir=$BATS_TEST_TMPDIR/c/scr.dataset.1 cached path what
	local cache=/tmp/scrgold/xor_4/local/cache/golduser/scr.1000/scr.dataset.1

	snapshot xor_4 cache "$BATS_TEST_TMPDIR/cache"
	pick 2 "$canary" "$cache/../../../canary" ".." "$cache/sub" ""
	for path in "${picked[@]}"; do
		for what in filemap_0 'reddesc*.er.*.xor.*'; do
			rm -rf "$BATS_TEST_TMPDIR/c"
			mkdir -p "$dir"
			for cached in 0 2 3; do
				cp -a "$BATS_TEST_TMPDIR/cache/nodes/node$cached/$IN_CACHE/." "$dir"
			done
			# shellcheck disable=SC2086 # a pattern
			for cached in "$dir"/.scr/$what; do
				craft "$cached" "s,$cache,$path,"
			done
			guarded scr_inspect "$dir" --files
			refused "0 1 3 4" scr_rebuild "$dir"
		done
	done
}

@test "files given by hand: headers that lead out of the directory" {
	local dir=$BATS_TEST_TMPDIR/d path rank
	local cache=/tmp/scrgold/xor_4/local/cache/golduser/scr.1000/scr.dataset.1

	snapshot xor_4 cache "$BATS_TEST_TMPDIR/cache"
	pick 2 "$canary" "$cache/../../../canary" "../canary" ".." ""
	for path in "${picked[@]}"; do
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
