#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_inspect of packed datasets.

load helper

: "${GEN:=$BIN/../gen}"

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	unset NO_COLOR
}

# make NAME [OPTION]...: make a dataset on prefix NAME, 8 ranks on 4 nodes, 16
# files in 7 containers.
make() {
	local name=$1

	shift
	"$GEN/gen_dataset" --prefix "$name" --nodes-dir "$name.nodes" \
		--ranks 8 --nodes 4 --size 10000,5000 --files 2
	scr_index -q -p "$name" --build 1
	scr_container pack -q -p "$name" --size 30000 "$@" 1
}

# The containers of prefix NAME.
ctr() {
	echo "$1/.scr/scr.dataset.1/.scr"
}

# Damage a byte of a file.
damage() {
	printf Z | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# Remove filemaps and redundancy, as after a flush.
flushed() {
	make "$1"
	rm "$1"/.scr/scr.dataset.1/{filemap,reddesc}*
}

# A line of stdout matches the extended regular expression.
assert_line() {
	grep -Eq -- "$1" <<<"$output" || failed "expected a line: $1"
}

# A file is XML, according to the tools that are installed.
assert_xml() {
	if command -v xmllint >/dev/null; then
		xmllint --noout "$1"
	elif command -v python3 >/dev/null; then
		python3 -c 'import sys, xml.dom.minidom
xml.dom.minidom.parse(sys.argv[1])' "$1"
	fi
}

# --- Usage -------------------------------------------------------------------

@test "--svg: one packed dataset, and one thing on standard output" {
	make p
	"$GEN/gen_dataset" --prefix n --ranks 4 --nodes 4 --size 100
	try scr_inspect --json --svg - p
	assert_usage_error "standard output"
	try scr_inspect --svg x.svg -p n 1
	assert_status 0
	assert_xml x.svg
	rm x.svg
	# Refused before anything is shown or drawn.
	for args in "--svg x.svg p p" "--html x.svg p n" "-p p --svg x.svg 1 1" \
		"--html x.svg -d 1 p n" "--svg x.svg -d 1 -d 1 p"; do
		# shellcheck disable=SC2086 # words
		try scr_inspect $args
		assert_status 2
		assert_output_is ""
		assert_stderr_one_line "one dataset only"
		[ ! -e x.svg ]
	done
	try scr_inspect --json --svg x.svg p p
	assert_status 2
	assert_output_lacks '"datasets"'
	try scr_inspect --svg x.svg p/.scr/index.scr
	assert_status 2
	assert_stderr_one_line "only datasets are drawn"
	"$GEN/gen_dataset" --prefix n --ranks 4 --nodes 4 --size 100 --id 2
	try scr_inspect --svg x.svg n
	assert_status 2
	assert_stderr_one_line "no dataset given: there are 2"
	[ ! -e x.svg ]
	for id in 1 2; do
		"$GEN/gen_dataset" -q --prefix c --nodes-dir nodes --ranks 4 \
			--nodes 4 --size 100 --layout cache --id $id
	done
	try scr_inspect --svg x.svg nodes/*/cache
	assert_status 2
	assert_output_is ""
	assert_stderr_one_line "one dataset only"
	[ ! -e x.svg ]
	try scr_inspect --svg x.svg -d 2 nodes/*/cache
	assert_status 0
	assert_xml x.svg
}

@test "--svg: a file that cannot be written, or is none" {
	make p
	try scr_inspect --svg nowhere/x.svg p
	assert_status 1
	assert_stderr_one_line nowhere/x.svg
	mkfifo pipe
	try scr_inspect --svg pipe p
	assert_status 2
	assert_stderr_one_line "pipe: not a regular file"
	[ -p pipe ]
}

# --- Whole -------------------------------------------------------------------

@test "a line in the summary; a table with -v or --files" {
	make p
	before=$(tree_stat p)
	try scr_inspect -p p 1
	assert_status 0
	assert_line "^  containers  7 of 29.3 KiB, 189.2 KiB in 16 files$"
	assert_output_lacks .scr/ctr
	for option in -v --files; do
		try scr_inspect $option -p p 1
		assert_status 0
		assert_line "^  .scr/ctr.0.scr +29.3 KiB +100.0 % +3  whole$"
		assert_line "^  .scr/ctr.6.scr +13.4 KiB +45.8 % +2  whole$"
	done
	[ "$before" = "$(tree_stat p)" ]
	# A dataset that is not packed has no containers.
	scr_container unpack -q -p p 1
	try scr_inspect -v -p p 1
	assert_status 0
	assert_output_lacks containers CONTAINER
}

@test "packed redundancy and metadata" {
	make p --with-redundancy
	try scr_inspect -v --map -p p 1
	assert_status 0
	assert_output_has "16 files, redundancy in 4 more, metadata packed too" \
		"and of the redundancy" "red.3 "
	assert_line "^  .scr/red.3.scr +[0-9.]+ KiB +[0-9.]+ % +[0-9]+  whole$"
}

@test "the picture: 80 columns, ASCII where UTF-8 is not" {
	make p
	try scr_inspect -p p --map 1
	assert_status 0
	assert_line "^  bytes by container \(a full row: 29.3 KiB\)$"
	assert_line "^  ctr.0 +=+#+=+$"
	assert_line "^ +# = one file, the next$"
	# It follows the picture of the ranks.
	[[ $output == *"ranks by set"*"# whole"*"bytes by container"* ]]
	[ "$(sed -n '/bytes by/,$p' <<<"$output" | wc -L)" -eq 80 ]
	LC_ALL=C.UTF-8 try scr_inspect -p p --map 1
	assert_output_has "  ctr.0           ▒▒▒" "▒█" "█▒" "█ ▒ one file"
	assert_output_lacks $'\e['
}

@test "the picture in colours, as wide as the terminal" {
	command -v script >/dev/null || skip "no script(1)"
	make p
	rm "$(ctr p)/ctr.3.scr"
	TERM=xterm run script -qec "stty cols 50 && scr_inspect -p p --map 1" \
		/dev/null
	[[ $output == *$'\e[31mXXXXXXXXXXXXXXXX\e[0m  missing'* ]]
	NO_COLOR=1 TERM=xterm run script -qec \
		"stty cols 50 && scr_inspect -p p --map 1" /dev/null
	assert_line "^  ctr.0 +=+#+=+.$"
	[[ $output != *$'\e['* ]]
	[ "$(sed -n '/bytes by/,/missing or/p' <<<"$output" | tr -d '\r' |
		wc -L)" -le 50 ]
}

# --- Damaged -----------------------------------------------------------------

@test "missing, cut off, too long: reported, drawn and listed" {
	make p
	rm "$(ctr p)/ctr.1.scr"
	try scr_inspect -p p --map 1
	assert_status 3
	assert_output_has "16 files; 1 damaged"
	assert_line "^  ctr.1 +X+  missing$"
	assert_line "^  .scr/ctr.1.scr .* 4  missing$"
	assert_output_lacks .scr/ctr.0.scr
	make q
	truncate -s 15000 "$(ctr q)/ctr.1.scr"
	echo >>"$(ctr q)/ctr.4.scr"
	try scr_inspect -p q --map 1
	assert_status 3
	assert_output_has "; 2 damaged"
	assert_line "^  ctr.1 +[#=]+X+  truncated$"
	assert_line "^  ctr.4 +[#=]+  too long$"
	assert_output_has "truncated: 15000 B, not 30000" \
		"too long: 30001 B, not 30000"
}

@test "damage of bytes that no file needs: exit status 3, too" {
	make p
	echo >>"$(ctr p)/ctr.6.scr"
	try scr_inspect -p p 1
	assert_status 3
	assert_output_has "; 1 damaged" "too long"
}

@test "a flipped byte: only with --checksums, and only where it is" {
	make p
	damage "$(ctr p)/ctr.3.scr" 9000
	try scr_inspect -p p --map 1
	assert_status 0
	assert_output_lacks "missing or wrong"
	try scr_inspect -p p --map --checksums 1
	assert_status 3
	assert_output_has "; 1 damaged"
	assert_line "^  ctr.2 +[#=]+$"
	assert_line "^  ctr.3 +[#=]+X+[#=]+  wrong checksum$"
	assert_line "^ +4  ckpt.1/rank_4_1.ckpt .* wrong checksum "
}

@test "a flushed dataset, which nothing can repair: exit status 4" {
	flushed p
	try scr_inspect -p p --checksums 1
	assert_status 0
	assert_output_has "checked by its rank2file" "containers  7 of"
	damage "$(ctr p)/ctr.3.scr" 7000
	rm "$(ctr p)/ctr.5.scr"
	try scr_inspect -p p 1
	assert_status 4
	assert_output_has "; 1 damaged" "rank_7_1.ckpt: missing (rank 7): lost"
	try scr_inspect -p p --map --checksums 1
	assert_status 4
	assert_output_has "; 2 damaged" "rank_7_1.ckpt: missing (rank 7): lost" \
		"rank_3_0.ckpt (rank 3): checksum is"
	assert_line "^  ctr.3 +X+[#=]+  wrong checksum$"
	assert_line "^  ctr.5 +X+  missing$"
	# The table of all datasets shows it, too.
	try scr_inspect --checksums p
	assert_status 4
}

@test "a half-finished rebuild shows" {
	make p
	truncate -s 20000 "$(ctr p)/ctr.2.scr"
	truncate -s 30000 "$(ctr p)/ctr.2.scr"
	try scr_inspect -p p 1
	assert_status 0
	# Write the mark of an interrupted rebuild, as kvtree(5).
	python3 - p/.scr/scr.dataset.1/rebuild.scr <<-'END' || skip "no python3"
	import struct, sys, zlib
	def tree(d):
	    return struct.pack(">I", len(d)) + b"".join(
	        k.encode() + b"\0" + tree(v) for k, v in d.items())
	body = tree({"FILE": {".scr/ctr.2.scr": {
	    "11605": {"LENGTH": {"13312": {}}}}}})
	size = 20 + len(body)
	head = struct.pack(">IHHQI", 0x951fc3f5, 1, 1, size, 0)
	open(sys.argv[1], "wb").write(head + body)
	END
	try scr_inspect -p p --map 1
	assert_status 3
	assert_output_has "; 1 damaged"
	assert_line "^  ctr.2 +[#=]+X+[#=]+  half rebuilt$"
}

# --- SVG ---------------------------------------------------------------------

@test "--checksums reads packed redundancy files, as verify does" {
	make p --with-redundancy
	cp -a p whole
	# A header, a body; over files, over filemaps: the next line repairs it.
	for at in 20 2000 "$(($(stat -c %s "$(ctr p)/red.1.scr") - 5))"; do
		rm -rf p
		cp -a whole p
		damage "$(ctr p)/red.1.scr" "$at"
		try scr_container -p p verify 1
		assert_status 3
		assert_line "^next: scr_rebuild -p p --checksums 1$"
		try scr_inspect -p p --checksums
		assert_status 3
		assert_output_has "1 redundancy file missing or damaged" \
			"next:       scr_rebuild -p p --checksums 1"
		try scr_inspect -p p --checksums 1
		assert_status 3
		assert_output_has "packed too; 1 damaged" \
			"next:       scr_rebuild -p p --checksums 1"
		assert_line "red.1.scr .* 4  wrong checksum$"
		try scr_index -p p --verify --checksums 1
		assert_status 3
		try scr_rebuild -p p --checksums 1
		assert_status 0
		assert_output_has " 1 redundancy file,"
		try scr_inspect -p p --checksums 1
		assert_status 0
		try scr_container -p p verify 1
		assert_status 0
	done
}

@test "--svg writes a picture, all or nothing" {
	make p --with-redundancy
	try scr_inspect --svg x.svg -p p 1
	assert_status 0
	assert_output_has "dataset 1" "containers  8 of"
	assert_xml x.svg
	[ "$(grep -c '<title>ckpt.1/rank_' x.svg)" -eq 20 ]
	grep -q '<title>ckpt.1/rank_1_1.ckpt$' x.svg
	grep -qx 'rank 1, 5019 bytes from byte 0 of 10494 at offset 24981 of .scr/ctr.0.scr</title></rect>' \
		x.svg
	grep -q '^rank 7, .* of .scr/red.3.scr<' x.svg
	run ! grep -E '<script|href|@import|missing or wrong<.title' x.svg
	# No temporary file remains.
	[ "$(find . -maxdepth 1 -name '.*tmp*' | wc -l)" -eq 0 ]
	cp x.svg y.svg
	try scr_inspect -p p --svg - 1
	assert_status 0
	assert_stderr_empty
	cmp x.svg <(echo "$output")
	truncate -s 15000 "$(ctr p)/ctr.1.scr"
	try scr_inspect --svg x.svg --json -p p 1
	assert_status 3
	assert_output_has '"state": "truncated"'
	assert_xml x.svg
	grep -q 'missing or wrong<.title>' x.svg
	grep -q '>truncated<' x.svg
}

@test "--svg of a large dataset is bounded" {
	"$GEN/gen_dataset" --prefix p --ranks 3000 --nodes 30 --set-size 4 \
		--size 10 --files 8
	scr_index -q -p p --build 1
	scr_container pack -q -p p --size 1M 1
	try scr_inspect -q --svg x.svg p
	assert_status 0
	assert_xml x.svg
	[ "$(grep -c '<rect' x.svg)" -le 20100 ]
	[ "$(stat -c %s x.svg)" -lt 6000000 ]
	grep -q '<title>8 files of rank 7$' x.svg
}

# --- JSON --------------------------------------------------------------------

@test "JSON: containers, and with --files where each file is" {
	make p
	truncate -s 15000 "$(ctr p)/ctr.1.scr"
	try scr_inspect --json -p p 1
	assert_status 3
	assert_output_has '"container_size": 30000' '"layout": 3' \
		'"state": "truncated"' '"found_size": 15000'
	assert_output_lacks packed_files
	try scr_inspect --json p
	assert_output_lacks '"containers"'
	try scr_inspect --json --files -p p 1
	assert_status 3
	command -v python3 >/dev/null || skip "no python3"
	python3 -c '
import json, sys
d = json.load(sys.stdin)["prefixes"][0]["datasets"][0]
c = {x["name"]: x for x in d["containers"]}
assert len(c) == 7 and sum(x["used_bytes"] for x in c.values()) == d["packed_bytes"]
assert [n for n in c if c[n]["state"] != "whole"] == [".scr/ctr.1.scr"]
seen = {n: 0 for n in c}
for f in d["packed_files"]:
    assert sum(s["length"] for s in f["segments"]) == f["size"]
    for s in f["segments"]:
        seen[s["container"]] += s["length"]
        x = c[s["container"]]
        end = s["offset"] + s["length"]
        assert s.get("damaged", False) == (end > x["found_size"]), s
assert all(seen[n] == c[n]["used_bytes"] for n in c)
' <<<"$output"
}

# --- What SCR 1.1.8 wrote ----------------------------------------------------

@test "datasets of SCR 1.1.8, by name, number and directory" {
	dir=$(golden containers/many)
	cp -R "$dir" p
	chmod -R u+w p
	for args in "-p p 1" "-p p scr.dataset.1" p/scr.dataset.1; do
		# shellcheck disable=SC2086 # words
		try scr_inspect --map -v --checksums $args
		assert_status 0
		assert_stderr_empty
		assert_output_has "containers  10, 929.9 KiB in 9 files" \
			"state       whole"
		assert_line "^  ctr.5 +[#=]+$"
		assert_line "^  .scr/ctr.9.scr +51.0 KiB .* whole$"
	done
	try scr_inspect --json --files -p p 1
	assert_status 0
	assert_output_has '"layout": 1' '"path": "g.dat"'
	try scr_inspect -q --svg x.svg -p p 1
	assert_status 0
	assert_xml x.svg
	grep -q '<title>g.dat$' x.svg
	try scr_inspect -p p nothing
	assert_status 1
	assert_stderr_has nothing
}

@test "damage of a dataset of SCR 1.1.8" {
	dir=$(golden containers/seed_example)
	cp -R "$dir" p
	chmod -R u+w p
	damage p/scr.dataset.1/.scr/ctr.2.scr 1000
	try scr_inspect -p p 1
	assert_status 0
	try scr_inspect -p p --checksums --map 1
	assert_status 4
	assert_output_has "rank_2.ckpt (rank 2): checksum is" "damaged"
	truncate -s 1 p/scr.dataset.1/.scr/ctr.0.scr
	try scr_inspect p/scr.dataset.1
	assert_status 4
	assert_output_has "state       lost" "truncated: 1 B, not 300000"
}
