#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086 # words
# scr_inspect of packed datasets.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	built p 1 -n 8 -m 4 -f 2 -s 10000,5000
	cp -a p red
	scr_container pack -q -p p --size 30000 1
	scr_container pack -q -p red --size 30000 --with-redundancy 1
}

# make NAME [FROM]: a dataset on prefix NAME, 8 ranks on 4 nodes, 16 files in 7
# containers; FROM red: its redundancy is packed, too.
make() {
	rm -rf "$1"
	cp -a "$BATS_FILE_TMPDIR/${2-p}" "$1"
}

# The containers of prefix NAME.
ctr() {
	echo "$1/.scr/scr.dataset.1/.scr"
}

# A file is XML, according to the tools that are installed.
assert_xml() {
	if command -v xmllint >/dev/null; then
		xmllint --noout "$1"
	else
		python3 -c 'import sys, xml.dom.minidom
xml.dom.minidom.parse(sys.argv[1])' "$1"
	fi
}

# --- Usage -------------------------------------------------------------------

@test "--svg: one packed dataset, one thing on standard output, a file that can be written" {
	make p
	gen -p n -n 4 -m 4 -s 100
	misused "standard output" scr_inspect --json --svg - p
	ends 0 scr_inspect --svg x.svg -p n 1
	assert_xml x.svg
	rm x.svg
	gen -p two -n 4 -m 4 -s 100
	gen -p two -n 4 -m 4 -s 100 -i 2
	for id in 1 2; do
		gen -p c --nodes-dir nodes -n 4 -m 4 -s 100 --layout cache \
			-i $id
	done
	# Refused before anything is shown or drawn.
	while IFS='|' read -r args text; do
		complains 2 "$text" scr_inspect $args
		assert_output_is ""
		[ ! -e x.svg ]
	done <<-'END'
		--svg x.svg p p|one dataset only
		--html x.svg p n|one dataset only
		-p p --svg x.svg 1 1|one dataset only
		--html x.svg -d 1 p n|one dataset only
		--svg x.svg -d 1 -d 1 p|one dataset only
		--svg x.svg nodes/node0/cache nodes/node1/cache|one dataset only
	END
	complains 2 "no dataset given: there are 2" scr_inspect --svg x.svg two
	complains 2 "only datasets are drawn" \
		scr_inspect --svg x.svg p/.scr/index.scr
	ends 2 scr_inspect --json --svg x.svg p p
	assert_output_lacks '"datasets"'
	[ ! -e x.svg ]
	ends 0 scr_inspect --svg x.svg -d 2 nodes/*/cache
	assert_xml x.svg
	make p
	complains 1 nowhere/x.svg scr_inspect --svg nowhere/x.svg p
	mkfifo pipe
	complains 2 "pipe: not a regular file" scr_inspect --svg pipe p
	[ -p pipe ]
}

# --- Whole -------------------------------------------------------------------

@test "a line in the summary; a table with -v or --files; packed redundancy and metadata" {
	make p
	before=$(tree_stat p)
	ends 0 scr_inspect -p p 1
	assert_line "^  containers  7 of 29.3 KiB, 189.2 KiB in 16 files$"
	assert_output_lacks .scr/ctr
	for option in -v --files; do
		ends 0 scr_inspect $option -p p 1
		assert_line "^  .scr/ctr.0.scr +29.3 KiB +100.0 % +3  whole$"
		assert_line "^  .scr/ctr.6.scr +13.4 KiB +45.8 % +2  whole$"
	done
	[ "$before" = "$(tree_stat p)" ]
	# A dataset that is not packed has no containers.
	scr_container unpack -q -p p 1
	ends 0 scr_inspect -v -p p 1
	assert_output_lacks containers CONTAINER
	make p red
	ends 0 scr_inspect -v --map -p p 1
	assert_output_has "16 files, redundancy in 4 more, metadata packed too" \
		"and of the redundancy" "red.3 "
	assert_line "^  .scr/red.3.scr +[0-9.]+ KiB +[0-9.]+ % +[0-9]+  whole$"
}

@test "the picture: 80 columns, ASCII where UTF-8 is not; a half-finished rebuild shows" {
	make p
	ends 0 scr_inspect -p p --map 1
	assert_line "^  bytes by container \(a full row: 29.3 KiB\)$"
	assert_line "^  ctr.0 +=+#+=+$"
	assert_line "^ +# = one file, the next$"
	# It follows the picture of the ranks.
	[[ $output == *"ranks by set"*"# whole"*"bytes by container"* ]]
	[ "$(sed -n '/bytes by/,$p' <<<"$output" | wc -L)" -eq 80 ]
	LC_ALL=C.UTF-8 try scr_inspect -p p --map 1
	assert_output_has "  ctr.0           ▒▒▒" "▒█" "█▒" "█ ▒ one file"
	assert_output_lacks $'\e['
	make p
	truncate -s 20000 "$(ctr p)/ctr.2.scr"
	truncate -s 30000 "$(ctr p)/ctr.2.scr"
	ends 0 scr_inspect -p p 1
	# The mark of an interrupted rebuild.
	printf '  %s\n' FILE '  .scr/ctr.2.scr' '    11605' '      LENGTH' \
		'        13312' |
		craft p/.scr/scr.dataset.1/rebuild.scr
	finds 3 "; 1 damaged" scr_inspect -p p --map 1
	assert_line "^  ctr.2 +[#=]+X+[#=]+  half rebuilt$"
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
	finds 3 "16 files; 1 damaged" scr_inspect -p p --map 1
	assert_line "^  ctr.1 +X+  missing$"
	assert_line "^  .scr/ctr.1.scr .* 4  missing$"
	assert_output_lacks .scr/ctr.0.scr
	make q
	# Too long: these are bytes that no file needs.
	echo >>"$(ctr q)/ctr.4.scr"
	ends 3 scr_inspect -p q 1
	assert_output_has "; 1 damaged" "too long"
	truncate -s 15000 "$(ctr q)/ctr.1.scr"
	finds 3 "; 2 damaged" scr_inspect -p q --map 1
	assert_line "^  ctr.1 +[#=]+X+  truncated$"
	assert_line "^  ctr.4 +[#=]+  too long$"
	assert_output_has "truncated: 15000 B, not 30000" \
		"too long: 30001 B, not 30000"
}

@test "a flipped byte: only with --checksums, and only where it is" {
	make p
	damage "$(ctr p)/ctr.3.scr" 9000
	ends 0 scr_inspect -p p --map 1
	assert_output_lacks "missing or wrong"
	finds 3 "; 1 damaged" scr_inspect -p p --map --checksums 1
	assert_line "^  ctr.2 +[#=]+$"
	assert_line "^  ctr.3 +[#=]+X+[#=]+  wrong checksum$"
	assert_line "^ +4  ckpt.1/rank_4_1.ckpt .* wrong checksum "
}

@test "a flushed dataset, which nothing can repair: exit status 4" {
	make p
	# Without filemaps and redundancy, as after a flush.
	rm p/.scr/scr.dataset.1/{filemap,reddesc}*
	shows "containers  7 of" scr_inspect -p p --checksums 1
	damage "$(ctr p)/ctr.3.scr" 7000
	rm "$(ctr p)/ctr.5.scr"
	ends 4 scr_inspect -p p 1
	assert_output_has "; 1 damaged" "rank_7_1.ckpt"
	ends 4 scr_inspect -p p --map --checksums 1
	assert_output_has "; 2 damaged" "rank_7_1.ckpt" "rank_3_0.ckpt"
	assert_line "^  ctr.3 +X+[#=]+  wrong checksum$"
	assert_line "^  ctr.5 +X+  missing$"
	# The table of all datasets shows it, too.
	ends 4 scr_inspect --checksums p
}

# --- SVG ---------------------------------------------------------------------

@test "--checksums reads packed redundancy files, as verify does" {
	make p red
	cp -a p whole
	# A header, a body; over files, over filemaps: the next line repairs it.
	for at in 20 2000 "$(($(stat -c %s "$(ctr p)/red.1.scr") - 5))"; do
		renew whole
		damage "$(ctr p)/red.1.scr" "$at"
		ends 3 scr_container -p p verify 1
		assert_stderr_has "next: scr_rebuild -p p --checksums 1"
		ends 3 scr_inspect -p p --checksums
		assert_output_has "1 redundancy file missing or damaged" \
			"next:       scr_rebuild -p p --checksums 1"
		ends 3 scr_inspect -p p --checksums 1
		assert_output_has "packed too; 1 damaged" \
			"next:       scr_rebuild -p p --checksums 1"
		assert_line "red.1.scr .* 4  wrong checksum$"
		ends 3 scr_index -p p --verify --checksums 1
		shows " 1 redundancy file," scr_rebuild -p p --checksums 1
		ends 0 scr_inspect -p p --checksums 1
		ends 0 scr_container -p p verify 1
	done
}

@test "--svg writes a picture, all or nothing" {
	make p red
	ends 0 scr_inspect --svg x.svg -p p 1
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
	ends 0 scr_inspect -p p --svg - 1
	assert_stderr_empty
	cmp x.svg <(echo "$output")
	truncate -s 15000 "$(ctr p)/ctr.1.scr"
	finds 3 '"state": "truncated"' scr_inspect --svg x.svg --json -p p 1
	assert_xml x.svg
	grep -q 'missing or wrong<.title>' x.svg
	grep -q '>truncated<' x.svg
}

# A map of 3000 ranks with 8 files each, in one container.
@test "--svg of a large dataset is bounded" {
	local o=p/scr.dataset.1/.scr

	mkdir -p $o
	printf '  %s\n' RANKS '  3000' LEVEL '  1' RANK '  0' '    OFFSET' \
		'      0' '    FILE' '      .scr/rank2file.0.0.scr' |
		craft $o/rank2file.scr
	awk 'function put(key, value) {
		print at key "\n" at "  " value
	}
	BEGIN {
		print "  RANKS\n    3000\n  LEVEL\n    0\n  RANK"
		for (r = 0; r < 3000; r++) {
			print "    " r "\n      FILE"
			for (f = 0; f < 8; f++) {
				print "        f" r "_" f
				at = "          "
				put("SIZE", 10)
				put("SEG", 0)
				at = at "    "
				put("LENGTH", 10)
				put("FILE", ".scr/ctr.0.scr")
				put("OFFSET", 80 * r + 10 * f)
			}
		}
	}' | craft $o/rank2file.0.0.scr
	truncate -s 240000 $o/ctr.0.scr
	ends 0 scr_inspect -q --svg x.svg p/scr.dataset.1
	assert_xml x.svg
	[ "$(grep -c '<rect' x.svg)" -le 20100 ]
	[ "$(stat -c %s x.svg)" -lt 6000000 ]
	grep -q '<title>8 files of rank 7$' x.svg
}

# --- JSON --------------------------------------------------------------------

@test "JSON: containers, and with --files where each file is" {
	make p
	truncate -s 15000 "$(ctr p)/ctr.1.scr"
	ends 3 scr_inspect --json -p p 1
	assert_output_has '"container_size": 30000' '"layout": 3' \
		'"state": "truncated"' '"found_size": 15000'
	assert_output_lacks packed_files
	try scr_inspect --json p
	assert_output_lacks '"containers"'
	ends 3 scr_inspect --json --files -p p 1
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
		ends 0 scr_inspect --map -v --checksums $args
		assert_stderr_empty
		assert_output_has "containers  10, 929.9 KiB in 9 files" \
			"state       whole"
		assert_line "^  ctr.5 +[#=]+$"
		assert_line "^  .scr/ctr.9.scr +51.0 KiB .* whole$"
	done
	ends 0 scr_inspect --json --files -p p 1
	assert_output_has '"layout": 1' '"path": "g.dat"'
	ends 0 scr_inspect -q --svg x.svg -p p 1
	assert_xml x.svg
	grep -q '<title>g.dat$' x.svg
	warns 1 nothing scr_inspect -p p nothing
}

@test "damage of a dataset of SCR 1.1.8" {
	dir=$(golden containers/seed_example)
	cp -R "$dir" p
	chmod -R u+w p
	damage p/scr.dataset.1/.scr/ctr.2.scr 1000
	ends 0 scr_inspect -p p 1
	ends 4 scr_inspect -p p --checksums --map 1
	assert_output_has "rank_2.ckpt (rank 2): checksum is" "damaged"
	truncate -s 1 p/scr.dataset.1/.scr/ctr.0.scr
	ends 4 scr_inspect p/scr.dataset.1
	assert_output_has "state       lost" "truncated: 1 B, not 300000"
}
