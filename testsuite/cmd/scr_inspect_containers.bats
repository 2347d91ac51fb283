#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2086 # words
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
	renew "$BATS_FILE_TMPDIR/${2-p}" "$1"
}

# The containers of prefix NAME.
ctr() {
	echo "$1/.scr/scr.dataset.1/.scr"
}

# --- Whole -------------------------------------------------------------------

@test "what containers there are, and what is wrong with them" {
	local C=p/.scr/scr.dataset.1/.scr

	make p
	tree_stat p >before
	# Too long: bytes that no file needs.  A flipped byte shows with --checksums only,
	# and only where it is.  A flushed dataset, which nothing can repair.
	looked <<-'END'
		||0 -p p 1|~^  containers  7 of 29.3 KiB, 189.2 KiB in 16 files$|!.scr/ctr
		same||0 -v -p p 1|~^  .scr/ctr.0.scr +29.3 KiB +100.0 % +3  whole$|~^  .scr/ctr.6.scr +13.4 KiB +45.8 % +2  whole$
		same||0 --files -p p 1|~^  .scr/ctr.0.scr +29.3 KiB +100.0 % +3  whole$|~^  .scr/ctr.6.scr +13.4 KiB +45.8 % +2  whole$
		same|diff before <(tree_stat p); scr_container unpack -q -p p 1|0 -v -p p 1|!containers|!CONTAINER
		red||0 -v --map -p p 1|16 files, redundancy in 4 more, metadata packed too|and of the redundancy|red.3 |~^  .scr/red.3.scr +[0-9.]+ KiB +[0-9.]+ % +[0-9]+  whole$
		|rm $C/ctr.1.scr|3 -p p --map 1|16 files; 1 damaged|~^  ctr.1 +X+  missing$|~^  .scr/ctr.1.scr .* 4  missing$|!.scr/ctr.0.scr
		|echo >>$C/ctr.4.scr|3 -p p 1|; 1 damaged|too long
		same|truncate -s 15000 $C/ctr.1.scr|3 -p p --map 1|; 2 damaged|~^  ctr.1 +[#=]+X+  truncated$|~^  ctr.4 +[#=]+  too long$|truncated: 15000 B, not 30000|too long: 30001 B, not 30000
		|damage $C/ctr.3.scr 9000|0 -p p --map 1|!missing or wrong
		same||3 -p p --map --checksums 1|; 1 damaged|~^  ctr.2 +[#=]+$|~^  ctr.3 +[#=]+X+[#=]+  wrong checksum$|~^ +4  ckpt.1/rank_4_1.ckpt .* wrong checksum +
		|rm p/.scr/scr.dataset.1/{filemap,reddesc}*|0 -p p --checksums 1|containers  7 of
		same|damage $C/ctr.3.scr 7000; rm $C/ctr.5.scr|4 -p p 1|; 1 damaged|rank_7_1.ckpt
		same||4 -p p --map --checksums 1|; 2 damaged|rank_7_1.ckpt|rank_3_0.ckpt|~^  ctr.3 +X+[#=]+  wrong checksum$|~^  ctr.5 +X+  missing$
		same||4 --checksums p
		|truncate -s 15000 $C/ctr.1.scr|3 --json -p p 1|"container_size": 30000|"layout": 3|"state": "truncated"|"found_size": 15000|!packed_files
		same||3 --json p|!"containers"
		|rm -r p; cp -R "$(golden containers/many)" p; chmod -R u+w p|0 --map -v --checksums -p p 1|containers  10, 929.9 KiB in 9 files|state       whole|~^  ctr.5 +[#=]+$|~^  .scr/ctr.9.scr +51.0 KiB .* whole$
		same||0 --map -v --checksums -p p scr.dataset.1|containers  10, 929.9 KiB in 9 files|state       whole
		same||0 --map -v --checksums p/scr.dataset.1|containers  10, 929.9 KiB in 9 files|state       whole
		same|[[ -z $stderr ]]|0 --json --files -p p 1|"layout": 1|"path": "g.dat"
		same||0 -q --html x.html -p p 1
		same|grep -q '"path":"g.dat"' x.html|1 -p p nothing
		|rm -r p; cp -R "$(golden containers/seed_example)" p; chmod -R u+w p; damage p/scr.dataset.1/.scr/ctr.2.scr 1000|0 -p p 1
		same||4 -p p --checksums --map 1|rank_2.ckpt (rank 2): checksum is|damaged
		same|truncate -s 1 p/scr.dataset.1/.scr/ctr.0.scr|4 p/scr.dataset.1|state       lost|truncated: 1 B, not 300000
	END
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

# --- Redundancy in containers ---------------------------------------------------

@test "--checksums reads packed redundancy files, as verify does" {
	make p red
	cp -a p whole
	# A header, a body; over files, over filemaps: the next line repairs it.
	for at in 20 2000 "$(($(stat -c %s "$(ctr p)/red.1.scr") - 5))"; do
		renew whole
		damage "$(ctr p)/red.1.scr" "$at"
		warns 3 "next: scr_rebuild -p p --checksums 1" scr_container -p p verify 1
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

# --- JSON --------------------------------------------------------------------

@test "JSON: with --files where each file is" {
	make p
	truncate -s 15000 "$(ctr p)/ctr.1.scr"
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
