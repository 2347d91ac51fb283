# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034 # used by those who load it
# shellcheck shell=bash
#
# golden.bash - shared by the tests on golden data: `load golden`.  The data are
# files written by LLNL's programs, and the results of its tools; MANIFEST.md
# there explains how.  A test fails if our result differs, unless theirs is a
# defect listed in formats.md 13.

load ../cmd/helper

export GEN SHIM TZ=UTC

# The directory of a dataset, relative to that of its node.
IN_CACHE=cache/golduser/scr.1000/scr.dataset.1

# complete FROM DEST LIST: copy files that were left out of a snapshot because
# the case has them elsewhere.  LIST has "path TAB identical file of the case".
complete() {
	local path same

	while IFS=$'\t' read -r path same; do
		[[ -d $2/${path%/*} ]] || mkdir -p "$2/${path%/*}"
		cp "$1/$same" "$2/$path"
	done <"$3"
}

# attributes DEST LIST: restore modes and times, which the stored data may have
# lost.  LIST has "mode uid gid size mtime path".
attributes() {
	local mode mtime path

	while read -r mode _ _ _ mtime path; do
		chmod "$mode" "$1/$path"
		touch -m -d "@$mtime" "$1/$path"
	done <"$2"
}

# answers STATUS "TEXT;TEXT..." COMMAND...: `run`, with this status, and each TEXT is
# printed, on either stream.
answers() {
	run "${@:3}"
	stderr=
	assert_status "$1"
	assert_output_has "$2"
}

# The fixture of the tests of scr_fti: $FTI has the files that FTI wrote.
fti_setup() {
	FTI=$SCRKIT_GOLDEN/fti
	[ -d "$FTI" ] || skip "no golden data of FTI"
	cd "$BATS_TEST_TMPDIR" || return 1
}

# copy SET: SET of these files as the directory c, which can be changed.
copy() {
	echo "$1"
	taken "$FTI/$1" c
}

# follow: run the command of the line "next: ".
follow() {
	local command

	command=$(sed -n 's/^\(scr_fti: \)\?next: //p' <<<"$output")
	[ -n "$command" ] || failed "no next line: $output"
	# shellcheck disable=SC2086 # it has no quotes
	run $command
}

# sector DIR LINE...: POSIX metadata of DIR/Ckpt1-Rank0.fti, $size bytes (its own), which
# end with these lines.
sector() {
	local file=$1/Ckpt1-Rank0.fti

	printf '%s\n' "[0]" "ckpt_file_name = Ckpt1-Rank0.fti" \
		"ckpt_file_size = ${size:-$(stat -c %s "$file")}" \
		"ckpt_checksum = $(md5sum <"$file" | cut -c -32)" "${@:2}" \
		>"$1/sector0-group0.fti"
}

# Bytes of the record behind the parity of a set; its time and two unused fields
# are no longer known.
record_size() {
	case $1 in
	levels-A*) echo 96 ;;
	levels-B*) echo 90 ;;
	levels-[CD]*) echo 110 ;;
	levels-E*) echo 82 ;;
	posix*) echo 0 ;;
	*) echo 106 ;;
	esac
}

# Are these the complete golden data, not the project's selection?
whole_collection() {
	[[ -e $SCRKIT_GOLDEN/scr3/MANIFEST.md ]]
}

# snapshot CASE NAME DEST: restore snapshot NAME of CASE.  Made once for each
# test file, because most snapshots are used several times.
snapshot() {
	local from keep=$BATS_FILE_TMPDIR/$1.$2

	if [[ ! -d $keep ]]; then
		from=$(golden "scr3/$1/$2")
		from=${from%/*}
		mkdir -p "$keep"
		cp -R "$from/$2/." "$keep"
		chmod -R u+rwX,go=rX "$keep"
		[[ ! -e $from/$2.dedup.txt ]] ||
			complete "$from" "$keep" "$from/$2.dedup.txt"
		[[ ! -e $from/$2.stat.txt ]] ||
			attributes "$keep" "$from/$2.stat.txt"
		[[ ! -e $from/$2.sha256 ]] ||
			(cd "$keep" && sha256sum -c --quiet "$from/$2.sha256")
	fi
	[[ -d $3 ]] || mkdir -p "$3"
	cp -a "$keep/." "$3"
}

# A metadata file as printed by LLNL's kvtree_print.
tree() {
	scr_inspect -m tree "$1"
}

# cut_keys KEY...: remove these top-level keys and their children from a tree.
cut_keys() {
	awk -v keys=" $* " '
	/^  [^ ]/ { cut = index(keys, " " substr($0, 3) " ") > 0 }
	!cut'
}

# Remove from an index the times of indexing and our own key ROOT, which LLNL's
# readers ignore.
plain_index() {
	tree "$1" | awk '
	{ match($0, /^ */) }
	cut != "" && RLENGTH > length(cut) { next }
	{ cut = "" }
	/^ *ROOT$/ { cut = substr($0, 1, RLENGTH); next }
	stamp { sub(/[^ ].*/, "STAMP"); stamp = 0 }
	/^ *FLUSHED$/ { stamp = 1 }
	{ print }'
}

# same_but INDEX-PREFIX PATTERN: compare two `tree_sha` or `tree_stat` lists
# without the lines that match the extended regular expression.
same_but() {
	diff <(grep -Ev -- "$3" <<<"$1") <(grep -Ev -- "$3" <<<"$2")
}

# Our lock files and the reserve for the index may remain; results do not
# include them.
LOCKS='\.scr/index\.(lock|spare)|\.scrkit\.lock'

# Files that indexing a dataset changes.
INDEX="\\.scr/index\\.scr|$LOCKS"

# The sha256 sums of a rebuilt xor_4: user files and rank2file as made by LLNL,
# filemaps and redundancy as in the cache.
xor_4_files() {
	local from

	from=$(golden scr3/xor_4)
	sed -n 's,  prefix/,  ,; /  \.scr\//!p; /\/rank2file/p' "$from/rebuilt.sha256"
	sed -n 's,  nodes/.*/\.scr/,  .scr/scr.dataset.1/,
		/filemap_\|\.redset$/p' "$from/cache.sha256"
}

# xor_4_whole PREFIX [PATTERN]: all these files are present, except those that
# match and those that contain times.
xor_4_whole() {
	local but="${2:-^\$}|  \.scr/([a-z.]*|scr\.dataset\.1/summary\.scr)\$"
	local want=$BATS_FILE_TMPDIR/xor_4.files

	[[ -e $want ]] || xor_4_files | sort >"$want"
	diff <(grep -Ev "$but" "$want") <(tree_sha "$1" | grep -Ev "$but" | sort)
}
