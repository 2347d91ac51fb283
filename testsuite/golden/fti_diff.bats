#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_fti diff: the variables and bytes in which two checkpoint files differ;
# scr_fti list and dump of POSIX files.

load golden

setup() { fti_setup; }

# one SET NAME: the path of the first file of this name in the set.
one() {
	find "$FTI/$1" -path "*$2" | LC_ALL=C sort | sed -n 1p
}

# posix NAME BYTES: a POSIX file of variables of 8 bytes, in a directory.
posix() {
	local n lines=()

	mkdir "$1"
	printf '%s' "$2" >"$1/Ckpt1-Rank0.fti"
	for ((n = 0; 8 * n < ${#2}; n++)); do
		lines+=("var${n}_id = $((n + 1))" "var${n}_size = 8")
	done
	sector "$1" "${lines[@]}"
}

@test "the same data in two forms do not differ; what the differential checkpoints changed" {
	[[ -d $FTI/loss ]] || skip "in the complete data"
	for n in 1 3 4 5; do
		prints "" scr_fti diff "$(one "dcp-F/ckpt$n" dCPFile-Rank1.fti)" \
			"$(one "dcp-posix/ckpt$n" dcp-id0-rank1.fti)"
	done
	for n in A-v1.1 B-v1.2 D-v1.4 E-v1.6; do
		ends 0 scr_fti diff "$(one "seed7-$n/ckpt5" Ckpt5-Rank0.fti)" \
			"$(one seed7-F-master/ckpt5 Ckpt5-Rank0.fti)"
	done
	ends 3 scr_fti diff "$(one dcp-F/ckpt1 dCPFile-Rank0.fti)" \
		"$(one dcp-posix/ckpt2 dcp-id0-rank0.fti)"
	assert_output_is "variable 1: bytes 20 to 23
variable 1: 4 bytes in 1 range changed
variable 2: bytes 23996 to 23999
variable 2: 4 bytes in 1 range changed
2 of 2 variables differ"
	ends 3 scr_fti diff "$(one dcp-F/ckpt2 dCPFile-Rank0.fti)" \
		"$(one dcp-F/ckpt3 dCPFile-Rank0.fti)"
	assert_output_is "variable 2: size was 24000, is 36000 bytes; no byte of those that both have changed
1 of 2 variables differ"
}

@test "layers of one file" {
	local file

	file=$(one dcp-posix 'ckpt5/*/dcp-id0-rank0.fti')
	ends 0 scr_fti diff "$file" "$file"
	ends 2 scr_fti diff --layer 7 "$file" "$file"
	ends 0 scr_fti list --layer 0 "$file"
	assert_output_has "POSIX, differential, checkpoint 1" "2  24000  int"
	ends 0 scr_fti dump "$file"
	assert_output_has "5 of blocks of 1024 bytes" \
		"LAYER  CHECKPOINT  BYTES  BLOCKS  BLOCKS AT" \
		"1           2   2068       2      36912" \
		"1       0   1024  36918      1"
}

@test "ranges are merged; only the first ones are listed" {
	local a b i

	a=$(printf 'a%.0s' {1..8}; printf 'b%.0s' {1..8})
	posix a "$a"
	posix b "aXXaaaXa${a:8}"
	ends 3 scr_fti diff a/Ckpt1-Rank0.fti b/Ckpt1-Rank0.fti
	assert_output_is "variable 1: bytes 1 to 6
variable 1: 3 bytes in 1 range changed
1 of 2 variables differ"
	yields 3 "" scr_fti diff -q a/Ckpt1-Rank0.fti b/Ckpt1-Rank0.fti
	prints "" scr_fti diff -v 2 a/Ckpt1-Rank0.fti b/Ckpt1-Rank0.fti
	ends 1 scr_fti diff -v 2 -v 3 a/Ckpt1-Rank0.fti b/Ckpt1-Rank0.fti
	assert_stderr_one_line "neither file has variable 3"
	posix c "$a${a:8}"
	ends 3 scr_fti diff a/Ckpt1-Rank0.fti c/Ckpt1-Rank0.fti
	assert_output_is "variable 3: added, 8 bytes
1 of 3 variables differ"
	ends 3 scr_fti diff c/Ckpt1-Rank0.fti b/Ckpt1-Rank0.fti
	assert_output_has "variable 3: removed, 8 bytes" "2 of 3 variables differ"
	# Many ranges: a byte in each 40.
	mkdir m n
	head -c 4000 /dev/zero | tr '\0' a >m/Ckpt1-Rank0.fti
	cp m/Ckpt1-Rank0.fti n
	for ((i = 0; i < 4000; i += 40)); do
		damage n/Ckpt1-Rank0.fti $i b
	done
	for b in m n; do
		sector $b "var0_id = 1" "var0_size = 4000"
	done
	ends 3 scr_fti diff m/Ckpt1-Rank0.fti n/Ckpt1-Rank0.fti
	assert_line_count 22
	assert_output_has "variable 1: bytes 760
variable 1: 100 bytes in 100 ranges changed (20 are listed; --all lists all)"
	ends 3 scr_fti diff --all m/Ckpt1-Rank0.fti n/Ckpt1-Rank0.fti
	assert_line_count 102
	ends 3 scr_fti diff --json m/Ckpt1-Rank0.fti n/Ckpt1-Rank0.fti
	assert_output_has '"range_count": 100' '"state": "changed"' \
		'"bytes_changed": 100'
}

@test "damage is named, and what cannot be compared" {
	local good=$FTI/bad-F/good.fti

	ends 0 scr_fti diff "$good" "$FTI/bad-F/pad-flip.fti"
	finds 4 "variable 1: bytes " scr_fti diff "$good" "$FTI/bad-F/data-flip.fti"
	assert_stderr_has "data-flip.fti: damaged" "differ from their sum"
	yields 1 "" scr_fti diff "$good" "$FTI/bad-F/footer-only.fti"
	ends 4 scr_fti diff "$good" "$FTI/bad-F/empty.fti"
	complains 1 "none: cannot open" scr_fti diff "$good" none
	ends 2 scr_fti diff "$good"
	ends 2 scr_fti diff "$good" "$good" "$good"
}

@test "more files than can be open at a time, and all of a directory" {
	local i

	mkdir -p job/Local/E/l1
	for i in {0..399}; do
		ln "$FTI/bad-F/good.fti" "job/Local/E/l1/Ckpt4-Rank$i.fti" ||
			cp "$FTI/bad-F/good.fti" "job/Local/E/l1/Ckpt4-Rank$i.fti"
	done 2>log
	cp "$FTI/bad-F/good.fti" job/Local/E/l1/other
	ends 0 bash -c 'ulimit -n 300; scr_fti verify job/Local/E/l1/Ckpt*'
	assert_line_count 400
	ends 0 scr_fti verify job
	assert_line_count 400
	assert_output_has "job/Local/E/l1/Ckpt4-Rank399.fti: intact"
	rm job/Local/E/l1/Ckpt4-Rank7.fti
	cp "$FTI/bad-F/data-flip.fti" job/Local/E/l1/Ckpt4-Rank7.fti
	ends 4 scr_fti verify -q job/ "$FTI/bad-F/good.fti" none
	assert_output_has "job/Local/E/l1/Ckpt4-Rank7.fti: damaged"
	assert_stderr_one_line "none: cannot open"
	mkdir empty
	complains 1 "empty: no checkpoint files of FTI" scr_fti verify empty
	try scr_fti list job
	[ "$(grep -c '^  VARIABLE' <<<"$output")" = 400 ]
}

@test "POSIX files are verified, and damage of each byte is seen" {
	local file i

	for file in "$FTI"/posix-levels*/*/Local/*/*/*/Ckpt*.fti \
		"$FTI"/posix-levels*/L4/Global/*/l4/*.fti \
		"$FTI"/l4archive-posix/Global/*/*/Ckpt*.fti \
		"$FTI"/dcp-posix/ckpt5/Global/*/dCP/*.fti; do
		[[ ! -e $file ]] || echo "$file"
	done >files
	[ -s files ]
	mapfile -t files <files
	ends 0 scr_fti verify "${files[@]}"
	assert_line_count ${#files[@]}
	assert_output_lacks damaged unknown "not an"
	posix p 0123456789abcdef
	for ((i = 0; i < 16; i++)); do
		mkdir "p$i"
		cp p/* "p$i"
		damage "p$i/Ckpt1-Rank0.fti" $i X
	done
	ends 4 scr_fti verify p*/Ckpt1-Rank0.fti
	(($(grep -c "fti: damaged" <<<"$output") == 16))
	(($(grep -c "fti: intact" <<<"$output") == 1))
	truncate -s 15 p/Ckpt1-Rank0.fti
	finds 4 "has 15 bytes, expected 16" scr_fti verify p/Ckpt1-Rank0.fti
	finds 4 "variables   unknown: ;ends at byte 15" scr_fti list p/Ckpt1-Rank0.fti
}
