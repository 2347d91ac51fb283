#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2012,SC2155,SC2164 # plain names
# The scavenged files of every golden case, moved to another path: one
# `scr_index --build` gives the result of LLNL's, bit for bit.

load golden

# --- One case ---------------------------------------------------------------

# LLNL's tool does not restore the redundancy descriptors of lost ranks,
# "<stem>.er.R.redset" (formats.md 10); ours are those from the cache.
check_descriptors() {
	local from path found

	from=$(golden "scr3/$1")
	while read -r path; do
		found=$(find "$from/cache/nodes" -name "${path##*/}")
		cmp "$2/$path" "$found"
	done
}

# The files of rebuilt.sha256 exist with their contents, and no others.
check_contents() {
	local from extra skip='/index\.scr$'

	from=$(golden "scr3/$1")
	# LLNL's summary of a Reed-Solomon dataset contains scratch tables
	# (formats.md 13 (i)); the comparison ignores them.
	! grep -Eq '^  (RS|MAPRS)$' "$from/rebuilt.print.txt" ||
		skip+='|/summary\.scr$'
	tree_sha "$2" >"$BATS_TEST_TMPDIR/ours"
	sort -k 2 "$from/rebuilt.sha256" >"$BATS_TEST_TMPDIR/theirs"
	# All of their files are among ours.
	run comm -13 <(grep -Ev "$skip" "$BATS_TEST_TMPDIR/ours" | sort) \
		<(grep -Ev "$skip" "$BATS_TEST_TMPDIR/theirs" | sort)
	assert_output_is ""
	# The additional files of ours.
	extra=$(comm -23 <(cut -c 67- "$BATS_TEST_TMPDIR/ours" | sort) \
		<(cut -c 67- "$BATS_TEST_TMPDIR/theirs" | sort))
	run grep -Ev 'reddesc(map)?\.er\.[0-9]+\.redset$|/index\.(lock|spare)$' \
		<<<"$extra"
	assert_output_is ""
	check_descriptors "$1" "$2" < <(grep '\.redset$' <<<"$extra")
}

# Metadata with times or LLNL's scratch tables.
check_trees() {
	local at=$2/prefix/.scr from

	from=$(golden "scr3/$1/rebuilt/prefix/.scr")
	diff <(plain_index "$from/index.scr") <(plain_index "$at/index.scr")
	diff <(tree "$from/scr.dataset.1/summary.scr" | cut_keys RS MAPRS) \
		<(tree "$at/scr.dataset.1/summary.scr")
	# The index records the old path of the prefix, and the time of the
	# build.
	tree "$at/index.scr" | grep -A 1 '^ *ROOT$' |
		grep -q "^ */tmp/scrgold/$1/prefix\$"
	tree "$at/index.scr" | grep -A 1 '^ *FLUSHED$' |
		grep -Eq '^ *[0-9]{4}-[0-9]{2}-[0-9]{2}T([0-9]{2}:?){3}$'
}

# Modes and times of user files and filemaps; owners, if we may set them.
check_attributes() {
	local from=$(golden "scr3/$1") fields='1,4-'

	! may_give || fields='1-'
	diff <(grep -v '/\.scr/' "$from/rebuilt.stat.txt" |
		cut -d ' ' -f "$fields" | sort) \
		<(cd "$2" && find . -type f -not -path '*/.scr/*' \
			-printf '%m %U %G %s %T@ %p\n' |
			cut -d ' ' -f "$fields" | sort)
	diff <(grep '/filemap_' "$from/cache.stat.txt" |
		sed 's,\./.*/,,' | cut -d ' ' -f "$fields" | sort -u) \
		<(find "$2" -name 'filemap_*' -printf '%m %U %G %s %T@ %f\n' |
			cut -d ' ' -f "$fields" | sort) >"$BATS_TEST_TMPDIR/maps" || true
	# A scavenge gives the filemaps of survivors a new time; rebuilt ones
	# have the old one.
	run comm -12 <(grep '^>' "$BATS_TEST_TMPDIR/maps" | awk '{ print $NF }' |
		sort) <(printf '%s\n' "${lost_maps[@]}" | sort)
	assert_output_is ""
}

# rebuilds CASE: the test of all main cases but single_4_lost.
rebuilds() {
	local at=$BATS_TEST_TMPDIR/elsewhere sha stat lost_maps=() r

	snapshot "$1" scavenged "$at"
	for r in {0..7}; do
		[[ -e $at/prefix/.scr/scr.dataset.1/filemap_$r ]] ||
			lost_maps+=("filemap_$r")
	done
	yields 0 "" scr_index --prefix "$at/prefix" --build 1
	check_contents "$1" "$at"
	check_trees "$1" "$at"
	check_attributes "$1" "$at"
	diff <(scr_index --prefix "$at/prefix" | sed 's/20..-..-..T..:..:../STAMP/') \
		<(sed 's/20..-..-..T..:..:../STAMP/; /^rc=/d' \
			"$(golden "scr3/$1")/rebuilt.index_list.txt")

	# A second build changes only the time in the index.
	sha=$(tree_sha "$at") stat=$(tree_stat "$at")
	ends 0 scr_index --prefix "$at/prefix" --build 1
	same_but "$sha" "$(tree_sha "$at")" "$INDEX"
	same_but "$stat" "$(tree_stat "$at")" "$INDEX|/ d "
	check_trees "$1" "$at"

	# The dataset passes --verify, redundancy included.
	ends 0 scr_index --prefix "$at/prefix" --verify --deep
}

# rebuilds_all SCHEME...: the cases of these schemes; without SCRKIT_SLOW every
# other one.
rebuilds_all() {
	local scheme case cases=()

	cd "$(golden scr3)"
	for scheme; do
		for case in "$scheme"*/scavenged; do
			[[ ! -e $case/../rebuilt.index_list.txt ||
				$case == single_4_lost/* ]] ||
				cases+=("${case%/*}")
		done
	done
	((${#cases[@]} > 0)) || skip "no golden data"
	pick 2 "${cases[@]}"
	for case in "${picked[@]}"; do
		echo "$case"
		rm -rf "$BATS_TEST_TMPDIR/elsewhere"
		rebuilds "$case"
	done
}

@test "SINGLE and PARTNER" { rebuilds_all single partner; }
@test "XOR" { rebuilds_all xor; }
@test "Reed-Solomon" { rebuilds_all rs; }

# --- Refusals ---------------------------------------------------------------

# refused PREFIX TEXT...: a build of dataset 1 fails with one line that contains
# each TEXT, and changes nothing.
refused() {
	local at=$1 sha stat

	shift
	sha=$(tree_sha "$at") stat=$(tree_stat "$at")
	yields 4 "" scr_index --prefix "$at" --build 1
	assert_stderr_one_line "$@"
	same_but "$sha" "$(tree_sha "$at")" "$LOCKS"
	same_but "$stat" "$(tree_stat "$at")" "$LOCKS|/ d "
}

@test "single_4_lost" {
	local at=$BATS_TEST_TMPDIR/elsewhere

	snapshot single_4_lost scavenged "$at"
	refused "$at/prefix" "set 3 of 4" "SINGLE" "rank 2"
	[[ ! -e $at/prefix/.scr/index.scr ]]
}

# not_sticky CASE MESSAGE RANK...: without the files of these ranks a build is
# refused.  When they are available again, it succeeds.
not_sticky() {
	local case=$1 text=$2 at=$BATS_TEST_TMPDIR/elsewhere r away

	away=$BATS_TEST_TMPDIR/away
	rm -rf "$at" "$away"
	snapshot "$case" scavenged "$at"
	cp -a "$at" "$away"
	shift 2
	for r; do
		find "$at" \( -name "rank_$r.*" -o -name "*_$r" -o \
			-name "data file $r.bin" -o -name "*.er.$r.*" \) -type f -delete
	done
	refused "$at/prefix" "$text"
	cp -a "$away/." "$at"
	ends 0 scr_index --prefix "$at/prefix" --build 1
	check_contents "$case" "$at"
}

@test "a failed build has no after-effects: XOR, PARTNER, Reed-Solomon" {
	not_sticky xor_4 "set 1 of 1 (XOR over filemaps)" 3
	not_sticky rs2_8n4 "ranks 0 2 6 are missing" 6 7
	not_sticky partner_4 "set 1 of 1 (PARTNER over filemaps)" 1
}

@test "a summary that LLNL's failed build left does not make a build fail" {
	local at=$BATS_TEST_TMPDIR/elsewhere
	local summary=prefix/.scr/scr.dataset.1/summary.scr

	snapshot single_4_lost rebuilt "$at"
	snapshot single_4_lost flushed "$BATS_TEST_TMPDIR/flushed"
	snapshot single_4_lost cache "$BATS_TEST_TMPDIR/cache"
	run ! grep -q COMPLETE <(tree "$at/$summary" | grep '^  [A-Z]')
	refused "$at/prefix" "rank 2"
	cp -a "$BATS_TEST_TMPDIR/flushed/prefix/ckpt.1" "$at/prefix"
	cp -a "$BATS_TEST_TMPDIR/cache/nodes/node2/$IN_CACHE/.scr/"* \
		"$at/prefix/.scr/scr.dataset.1"
	ends 0 scr_index --prefix "$at/prefix" --build 1
	tree "$at/$summary" | grep -q '^  COMPLETE$'
}

# --- Caches -------------------------------------------------------------------

# The files of all nodes' caches that belong to ranks: "SHA256  NAME", with
# unique names.
cached() {
	find "$1" -path '*/scr.dataset.1/*' -type f \
		-not -name '*.er.er' -not -name '*.shuffile' \
		-not -name '*.lock' -exec sha256sum {} + |
		sed 's,  .*/,  ,' | sort -k 2
}

# After a restart, LLNL's rebuilt files have headers with stale entries
# (formats.md 11).  If we rebuild such a file, it is as the first run wrote it.
cache_survives() {
	local case=$1 snap=$2 at=$BATS_TEST_TMPDIR/nodes node dirs want first

	first=$(golden "scr3/$case")/cache.sha256
	rm -rf "$at.whole"
	snapshot "$case" "$snap" "$at.whole"
	pick 2 "$at.whole/nodes"/*
	for node in "${picked[@]}"; do
		node=${node##*/}
		renew "$at.whole" "$at"
		rm -rf "$at/nodes/$node/$IN_CACHE"
		mapfile -t dirs < <(ls -d "$at/nodes"/*/"$IN_CACHE")
		want=$(cached "$at.whole")
		ends 0 scr_rebuild --verify "${dirs[@]}"
		# Each file is as in this snapshot or as in the first run.
		diff <(cut -c 67- <<<"$want") <(cached "$at" | cut -c 67-)
		run comm -23 <(cached "$at" | sort) \
			<({ echo "$want" && sed 's,  .*/,  ,' "$first"; } |
				sort -u)
		assert_output_is ""
	done
}

# caches_survive SNAPSHOT CASE...: those of the cases that are there.
caches_survive() {
	local case n=0

	for case in "${@:2}"; do
		[[ -e $SCRKIT_GOLDEN/scr3/$case/$1 ]] || continue
		cache_survives "$case" "$1"
		n=$((n + 1))
	done
	((n > 0)) || skip "no golden data of $1"
}

@test "caches: any node lost and rebuilt" {
	caches_survive cache xor_8n4 partner_8n4 rs2_8n4
}

@test "caches after a restart: any node lost and rebuilt" {
	caches_survive restart xor_4 xor_8n4 partner_4 rs2_8n4
}

# Lay the caches of a restarted job on a prefix as a scavenge would, without one
# node in turn.
@test "scavenged after a restart: stale headers do no harm" {
	local at=$BATS_TEST_TMPDIR/p case node ranks

	for case in xor_4 partner_4 xor_8n4; do
		golden "scr3/$case/restart" >/dev/null
		snapshot "$case" restart "$BATS_TEST_TMPDIR/$case"
		snapshot "$case" flushed "$BATS_TEST_TMPDIR/$case.flushed"
		for node in "$BATS_TEST_TMPDIR/$case/nodes"/*; do
			renew "$BATS_TEST_TMPDIR/$case/prefix" "$at"
			rm -rf "$at/.scr/scr.dataset.1" "$at/.scr/index.scr"
			cp -a "$BATS_TEST_TMPDIR/$case.flushed/prefix/ckpt.1" "$at"
			mkdir "$at/.scr/scr.dataset.1"
			for other in "$BATS_TEST_TMPDIR/$case/nodes"/*; do
				[[ $other != "$node" ]] || continue
				cp -a "$other/$IN_CACHE/.scr/"*[0-9] \
					"$other/$IN_CACHE/.scr/"*.redset \
					"$at/.scr/scr.dataset.1"
			done
			mapfile -t ranks < <(cd "$node/$IN_CACHE/.scr" &&
				ls filemap_* | sed 's/.*_//')
			for r in "${ranks[@]}"; do
				find "$at" \( -name "rank_$r.*" -o -name "tiny_$r" -o \
					-name "data file $r.bin" \) -delete
			done
			ends 0 scr_index --prefix "$at" --build 1
			diff -r "$BATS_TEST_TMPDIR/$case.flushed/prefix/ckpt.1" \
				"$at/ckpt.1"
		done
	done
}

# --- Printouts ----------------------------------------------------------------

# prints LIST DIR: print the trees of all files of a list, with "##### ./path"
# before each as in the list.  For a file that LLNL's tool could not read, the
# list has its messages, and ours is one line on stderr.
prints() {
	local paths bad path want=$BATS_TEST_TMPDIR/want

	awk '
	/^##### / { if (head != "") print head; head = $0; next }
	/ ERROR: |^ERROR: / { head = ""; next }
	head != "" { print head; head = "" }
	{ print }
	END { if (head != "") print head }' "$1" >"$want"
	mapfile -t paths < <(sed -n 's/^##### //p' "$want")
	mapfile -t bad < <(comm -13 <(printf '%s\n' "${paths[@]}" | sort) \
		<(sed -n 's/^##### //p' "$1" | sort))
	((${#paths[@]} > 1))
	cd "$2"
	scr_inspect -m tree "${paths[@]}" | diff "$want" -
	for path in "${bad[@]}"; do
		refuses 1 "$path" scr_inspect -m tree "$path"
	done
}

@test "printouts of all snapshots, of bypass, CRC, poststage, flush file and AXL states" {
	local root list at count=0

	root=$(golden scr3)
	for list in "$root"/*/*.print.txt "$root"/*/print.txt "$root"/*/*/print.txt; do
		[[ -e $list ]] || continue
		at=${list%.print.txt}
		[[ $at != "$list" ]] || at=${list%/*}
		if [[ -e $at.dedup.txt ]]; then
			taken "$at" "$BATS_TEST_TMPDIR/snapshot"
			complete "${list%/*}" "$BATS_TEST_TMPDIR/snapshot" "$at.dedup.txt"
			at=$BATS_TEST_TMPDIR/snapshot
		fi
		prints "$list" "$at"
		count=$((count + 1))
	done
	((count >= 76)) || ! whole_collection
}

@test "asynchronous flush: every metadata file can be printed" {
	local root file count=0

	root=$(golden scr3/async)
	while IFS= read -r file; do
		calm scr_inspect -m tree "$file"
		count=$((count + 1))
	done < <(find "$root/prefix/.scr" -type f -not -name log -not -name app.conf)
	((count >= 5))
}

@test "index_multi: printouts of the index, tree and key-value" {
	local root state

	root=$(golden scr3/index_multi)
	for state in "$root"/s[0-9]_*; do
		diff "$state/index.tree.txt" <(tree "$state/index.scr")
		diff "$state/index.scr_print.txt" \
			<(scr_inspect --sort -m keyval "$state/index.scr")
	done
}

# printed LIST OPTION...: the printouts of a list are those of these options.
printed() {
	while IFS= read -r name; do
		echo "##### $name"
		scr_inspect "${@:2}" "$name" 2>/dev/null
	done < <(sed -n 's/^##### //p' "$1") | diff "$1" -
}

@test "kvtree_samples: tree, key-value and sorted printouts" {
	cd "$(golden scr3/kvtree_samples)"
	printed print_tree.txt -m tree
	printed print_keyval.txt -m keyval
	printed scr_print_default.txt --sort -m keyval
}
