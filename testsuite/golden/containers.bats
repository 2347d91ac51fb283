#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2094
# Datasets packed by SCR 1.1.8: read, unpacked, and packed again to the same
# bytes.  The project's selection has only their maps; tests that need the
# containers are skipped with it.

load golden

# scratch CASE: make a copy of it with prefix $at, whose dataset is $old;
# expected values are in $from.txt and $from.sha256.
scratch() {
	from=$(golden "containers/$1.sha256")
	golden "containers/$1/scr.dataset.1/.scr/ctr.0.scr" >/dev/null
	from=${from%.sha256}
	at=$BATS_TEST_TMPDIR/$1
	old=$at/scr.dataset.1
	cp -R "$from" "$at"
	chmod -R u+rwX,go=rX "$at"
}

# The files below a directory in the form of *.sha256: hash, size, name.
contents() {
	local name

	(
		cd "$1" || exit
		find . -path ./.scr -prune -o -type f -printf '%P\n' | sort |
			while IFS= read -r name; do
				printf '%s %s %s\n' \
					"$(sha256sum <"$name" | cut -c 1-64)" \
					"$(stat -c %s "$name")" "$name"
			done
	)
}

# The entries of all files, key by key, sorted.
entries() {
	cat "$1"/.scr/rank2file.0.*.scr >"$BATS_TEST_TMPDIR/part"
	scr_inspect --sort -m keyval "$BATS_TEST_TMPDIR/part"
}

# reads CASE: none of these commands changes a file.
reads() {
	local sha stat hash size name

	scratch "$1"
	sha=$(tree_sha "$at") stat=$(tree_stat "$at")
	diff "$from.txt" <(tree "$old/.scr/rank2file.0.0.scr")

	# By number, and by directory.
	calm scr_container -p "$at" list 1
	assert_output_has "scr.dataset.1: $(wc -l <"$from.sha256") files, "
	while read -r hash size name; do
		grep -Eq "^ +[0-9]+ +$size  $name  (\\.scr/ctr\\.|-\$)" \
			<<<"$output" || failed "not listed: $name"
		[[ $(scr_container -p "$at" cat 1 "$name" | sha256sum) == "$hash "* ]]
	done <"$from.sha256"
	for name in "$old"/.scr/ctr.*.scr; do
		assert_output_has " .scr/${name##*/}"
	done
	cd "$at" || return
	for name in 1 scr.dataset.1; do
		for option in "" --fast; do
			# shellcheck disable=SC2086 # may be nothing
			calm scr_container verify $option $name
			assert_output_has "whole: $(wc -l <"$from.sha256") files"
		done
	done

	ends 0 scr_container extract -C "$BATS_TEST_TMPDIR/out" 1
	diff "$from.sha256" <(contents "$BATS_TEST_TMPDIR/out")
	same_but "$sha" "$(tree_sha "$at")" '^$'
	same_but "$stat" "$(tree_stat "$at")" '^$'
}

@test "many: list, cat, extract, verify" { reads many; }
@test "seed_example: list, cat, extract, verify" { reads seed_example; }

# The segments in the example of the format's description.
@test "seed_example: the segments of rank 2" {
	scratch seed_example
	try scr_container -p "$at" list 1
	assert_output_has "rank_2.ckpt  .scr/ctr.1.scr 224295+75705, .scr/ctr.2.scr 0+300000, .scr/ctr.3.scr 0+148591"
	ends 0 scr_container --json -p "$at" list 1
	tr -d ' \n' <<<"$output" | grep -Fq '"layout":1,"packed":true'
	tr -d ' \n' <<<"$output" |
		grep -Fq '{"container":".scr/ctr.1.scr","offset":224295,"length":75705}'
}

# there_and_back CASE SIZE: unpack, and pack again in containers of this size.
there_and_back() {
	local name before index

	scratch "$1"
	before=$(entries "$old")
	index=$(tree_sha "$at/.scr")
	calm scr_container -p "$at" unpack 1
	diff "$from.sha256" <(contents "$old")
	run find "$old/.scr" -name 'ctr.*' -o -name 'packed.*'
	assert_output_is ""
	run ! grep -q SEG <(entries "$old")
	diff <(awk '
	{ match($0, /^ */) }
	cut && RLENGTH > cut { next }
	{ cut = $1 == "SEG" ? RLENGTH : 0 }
	!cut' <<<"$before") <(entries "$old")
	shows "$(wc -l <"$from.sha256") files" scr_container -p "$at" verify 1

	calm scr_container -p "$at" pack --size "$2" 1
	for name in "$from"/scr.dataset.1/.scr/ctr.*.scr; do
		cmp "$name" "$old/.scr/${name##*/}"
	done
	diff <(cd "$from/scr.dataset.1/.scr" && ls -d ctr.*) \
		<(cd "$old/.scr" && ls -d ctr.*)
	diff <(echo "$before") <(entries "$old")
	# The keys in the top file that SCR 1.1.8 reads are unchanged, except
	# for the number in the name of the part.
	diff <(scr_inspect --sort -m keyval "$from/scr.dataset.1/.scr/rank2file.scr") \
		<(scr_inspect --sort -m keyval "$old/.scr/rank2file.scr" |
			cut_keys CTR |
			sed 's/rank2file\.0\.[0-9]*\.scr/rank2file.0.0.scr/')
	[[ -e $old/$(tree "$old/.scr/rank2file.scr" |
		grep -o '\.scr/rank2file\.0\..*') ]]
	# Exactly the empty files are files.
	diff <(grep ' 0 ' "$from.sha256") <(contents "$old")
	[[ $index == "$(tree_sha "$at/.scr")" ]]
	cmp "$from/scr.dataset.1/.scr/summary.scr" "$old/.scr/summary.scr"
	ends 0 scr_container -p "$at" verify 1
}

@test "many: unpacked, and packed again to the same bytes" {
	there_and_back many 100000
}
@test "seed_example: unpacked, and packed again to the same bytes" {
	there_and_back seed_example 300000
}

@test "files packed without modes and times are unpacked with defaults" {
	umask 027
	scratch many
	scr_container -q -p "$at" unpack 1
	run stat -c %a "$old/a.dat" "$old/j.dat"
	assert_output_is $'640\n640'
	# From now on the modes are kept.
	chmod 604 "$old/a.dat"
	touch -d @1234567890.5 "$old/a.dat"
	scr_container -q -p "$at" pack --size 100000 1
	scr_container -q -p "$at" unpack 1
	run stat -c '%a %.1Y' "$old/a.dat"
	assert_output_is "604 1234567890.5"
}

# Make a dataset in the newer layout with the files of golden case $1 in their
# order, as a flush of the job would leave it.
newer() {
	local d=p/.scr/scr.dataset.1 golden rank path n=0

	golden "containers/$1/scr.dataset.1/.scr/ctr.0.scr" >/dev/null
	golden=$(golden "containers/$1")
	mkdir -p "$d" raw
	cp -r "$golden/." raw
	chmod -R u+w raw
	scr_container -q -p raw extract -C p 1
	scr_container -q -p raw unpack 1
	scr_container -p raw list -o rank,file 1 >list
	{
		printf '  RANKS\n    %d\n  LEVEL\n    0\n  RANK\n' "$2"
		for ((rank = 0; rank < $2; rank++)); do
			printf '    %d\n' "$rank"
			n=0
			while read -r path; do
				[[ $((n++)) != 0 ]] || printf '      FILE\n'
				printf '        %s\n' "$path"
			done < <(awk -v r="$rank" \
				'NF == 2 && $1 == r { print $2 }' list)
		done
	} | "$GEN/gen_craft" --output "$d/rank2file.0.0"
	printf '  RANKS\n    %d\n  LEVEL\n    1\n  RANK\n    0\n      OFFSET
        0\n      FILE\n        .0.0\n' "$2" |
		"$GEN/gen_craft" --output "$d/rank2file"
	scr_inspect -m tree raw/scr.dataset.1/.scr/summary.scr |
		sed 's/^    CKPT$/    FLAG_CKPT\n      1\n    CKPT/' |
		"$GEN/gen_craft" --output "$d/summary.scr"
	scr_index -q -p p --add scr.dataset.1
}

# A metadata file of golden case $1 and that of p are equal with sorted keys.
same_keys() {
	diff <(scr_inspect -m tree --sort \
		"$(golden "containers/$1/scr.dataset.1/.scr/$2")") \
		<(scr_inspect -m tree --sort "p/scr.dataset.1/.scr/$2")
}

@test "pack --layout 1: containers and metadata as SCR 1.1.8 wrote them" {
	cd "$BATS_TEST_TMPDIR"
	while read -r name ranks size; do
		rm -rf p raw list
		newer "$name" "$ranks"
		ends 0 scr_container -p p pack --layout 1 --size "$size" 1
		for file in "$(golden "containers/$name/scr.dataset.1/.scr")"/ctr.*; do
			cmp "$file" "p/scr.dataset.1/.scr/${file##*/}"
		done
		# The only additions are our table of containers and attributes.
		diff <(cd "$(golden "containers/$name/scr.dataset.1")" &&
			find . -type f | sort) <(cd p/scr.dataset.1 && find . -type f \
				! -name 'packed.*' | sort)
		same_keys "$name" rank2file.0.0.scr
		same_keys "$name" summary.scr
		diff <(scr_inspect -m tree --sort "$(golden \
			"containers/$name/scr.dataset.1/.scr/rank2file.scr")") \
			<(scr_inspect -m tree --sort \
				p/scr.dataset.1/.scr/rank2file.scr |
				awk '/^  [^ ]/ { cut = $1 == "CTR" } !cut')
		# The dataset itself is unchanged; the copy has the old layout.
		scr_index -q -p p --verify
		scr_container -q -p p verify p/scr.dataset.1 ||
			scr_container -q -p p verify scr.dataset.1
		# Now it has one.
		ends 1 scr_container -p p pack --layout 1 --size "$size" 1
	done <<-'END'
	many 6 100000
	seed_example 4 300000
	END
}

@test "the index of SCR 1.1.8 is listed, and kept when it changes" {
	scratch seed_example
	calm scr_index -p "$at"
	assert_output_has "   1 YES   2026-11-20T23:07:46   * scr.dataset.1"
	cmp "$from/.scr/index.scr" "$at/.scr/index.scr"
	shows "whole;1.5 MiB" scr_index -p "$at" --verify --checksums
	shows "whole" scr_inspect "$at"

	warns 0 "SCR 1.1.8;index.scr.bak" scr_index -p "$at" --uncurrent
	cmp "$from/.scr/index.scr" "$at/.scr/index.scr.bak"
	shows "   1 YES   2026-11-20T23:07:46     scr.dataset.1" scr_index -p "$at"
	ends 0 scr_container -p "$at" verify 1

	# It has no metadata in the directory that --delete expects.
	warns 2 "SCR 1.1.8;--drop" scr_index -p "$at" --delete scr.dataset.1
	diff "$from.sha256" <(scr_container -q -p "$at" unpack 1 &&
		contents "$old")
	scr_container -q -p "$at" pack 1

	rm "$old/.scr/ctr.0.scr"
	warns 4 "ctr.0.scr: missing" scr_index -p "$at" --verify
	finds 4 "lost" scr_inspect "$at"
}
