# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034 # used by those who load it
# shellcheck shell=bash
#
# golden.bash - what the tests on golden data share: `load golden`.  The data
# are what LLNL's programs wrote and what they made of it; MANIFEST.md there
# tells how.  A test fails where ours and theirs differ, unless theirs is a
# defect that formats.md 13 lists.

load ../cmd/helper

: "${GEN:=$BIN/../gen}" "${SHIM:=$BIN/../shim.so}"
export GEN SHIM TZ=UTC

# The directory of a dataset below that of its node.
IN_CACHE=cache/golduser/scr.1000/scr.dataset.1

# complete FROM DEST LIST: copy back what was left out of a snapshot because
# the case has it elsewhere.  LIST has "path TAB identical file of the case".
complete()
{
	local path same

	while IFS=$'\t' read -r path same; do
		[[ -d $2/${path%/*} ]] || mkdir -p "$2/${path%/*}"
		cp "$1/$same" "$2/$path"
	done <"$3"
}

# attributes DEST LIST: modes and times, which the data themselves may have
# lost.  LIST has "mode uid gid size mtime path".
attributes()
{
	local mode mtime path

	while read -r mode _ _ _ mtime path; do
		chmod "$mode" "$1/$path"
		touch -m -d "@$mtime" "$1/$path"
	done <"$2"
}

# Is this all of the golden data, and not the project's selection of them?
whole_collection()
{
	[[ -e $SCRKIT_GOLDEN/scr3/MANIFEST.md ]]
}

# snapshot CASE NAME DEST: snapshot NAME of CASE as it was when it was taken.
# It is made once a file of tests, for most are wanted several times.
snapshot()
{
	local from keep=$BATS_FILE_TMPDIR/$1.$2

	from=$(golden "scr3/$1/$2")
	from=${from%/*}
	if [[ ! -d $keep ]]; then
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
	mkdir -p "$3"
	cp -a "$keep/." "$3"
}

# A metadata file as LLNL's kvtree_print shows it.
tree()
{
	scr_inspect -m tree "$1"
}

# cut_keys KEY...: remove these top-level keys and all below them from a tree.
cut_keys()
{
	awk -v keys=" $* " '
	/^  [^ ]/ { cut = index(keys, " " substr($0, 3) " ") > 0 }
	!cut'
}

# An index without the times at which datasets were indexed and without our
# own key ROOT, which LLNL's readers ignore.
plain_index()
{
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
same_but()
{
	diff <(grep -Ev -- "$3" <<<"$1") <(grep -Ev -- "$3" <<<"$2")
}

# Our lock files stay, or not: they are no part of any result.
LOCKS='\.scr/index\.lock|\.scrkit\.lock'

# What keeps a name but not its contents or time when a dataset is indexed.
INDEX="\\.scr/index\\.scr|$LOCKS"

# The sha256 of what a rebuilt xor_4 should be: user files and rank2file as
# LLNL made them, filemaps and redundancy as they were in the cache.
xor_4_files()
{
	local from

	from=$(golden scr3/xor_4)
	sed -n 's,  prefix/,  ,; /  \.scr\//!p; /\/rank2file/p' \
		"$from/rebuilt.sha256"
	sed -n 's,  nodes/.*/\.scr/,  .scr/scr.dataset.1/,
		/filemap_\|\.redset$/p' "$from/cache.sha256"
}

# xor_4_whole PREFIX [PATTERN]: all that is there, apart from files that match
# and what holds times.
xor_4_whole()
{
	local but="${2:-^\$}|  \.scr/([a-z.]*|scr\.dataset\.1/summary\.scr)\$"

	diff <(xor_4_files | grep -Ev "$but" | sort) \
		<(tree_sha "$1" | grep -Ev "$but" | sort)
}
