#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_fti on files that the real FTI wrote, in all six layouts, and on files in
# which a bit was changed; each bit: t_fti_flip.c.

load golden

setup() { fti_setup; }

# verdict FILE: what scr_fti verify says of it, without its name.
verdict() {
	scr_fti verify "$1" | sed -n '1s/.*\.fti: //p'
}

@test "each changed bit has the verdict that the list demands" {
	local name expected got

	while read -r name expected; do
		got=$(verdict "$FTI/bad-F/$name.fti") || true
		[[ $got == "$expected" ]] || failed "$name: $got"
	done <<-'END'
		good intact
		data-flip damaged
		chunkhash-flip intact, but FTI refuses it
		checksum-flip damaged; its data are intact
		myhash-flip damaged; its data are intact
		ckptsize-flip damaged; its data are intact
		metasize-flip damaged; its data are intact
		datasize-flip damaged; its data are intact
		fs-flip damaged; its data are intact
		maxfs-flip damaged; its data are intact
		ptfs-flip damaged; its data are intact
		timestamp-flip damaged; its data are intact
		numvars-flip damaged
		dbsize-flip damaged; its data are intact
		dptr-flip damaged; its data are intact
		fptr-flip damaged; its data are intact
		chunksize-flip damaged
		containersize-flip damaged
		containerid-flip damaged; its data are intact
		hascontent-flip damaged; its data are intact
		hasckpt-flip intact
		id-flip intact
		ckptid-flip intact
		pad-flip intact
		footer-only damaged
		truncated-100 not an FTI-FF file
		truncated-half not an FTI-FF file
		trailing-5 not an FTI-FF file
		empty not an FTI-FF file
		all-zero not an FTI-FF file
	END
}

@test "the damaged field is named, with its offset; a file cut anywhere is never intact" {
	answers 3 "byte 2874: container 1: containerid is 64, expected 0" \
		scr_fti verify "$FTI/bad-F/containerid-flip.fti"
	answers 4 "container 0: its data differ from their sum (variable 1)" \
		scr_fti verify "$FTI/bad-F/data-flip.fti"
	local good=$FTI/bad-F/good.fti i

	mkdir cut
	for ((i = 1; i < 3092; i += 7)); do
		head -c $i "$good" >cut/$i.fti
	done
	answers 1 "" scr_fti verify cut/*.fti
	[[ $output != *": intact"* ]]
}

# judged SET STATE STATUS: scan with checksums says STATE of the only checkpoint.
judged() {
	run scr_fti scan --checksums "$FTI/$1"
	[ "$status" = "$3" ] || failed "$1: status $status: $output"
	grep -qE "^  (L[1-4]|replica|dCP) .* $2( |$)" <<<"$output" ||
		failed "$1: $output"
}

@test "scan: what is lost, what can be rebuilt" {
	judged head-F/L4 whole 0
	judged levels-A-v1.1/L3 whole 0
	judged levels-E-v1.6/L3 whole 0
	taken "$FTI/levels-A-v1.1/L3" l3
	FTI=. judged l3 whole 0
	rm -r l3/Local/node1 l3/Local/node2
	FTI=. judged l3 rebuildable 3
	rm -r l3/Local/node3
	FTI=. judged l3 lost 4
	[[ $output == *"FTI finds no checkpoint that it accepts"*"FTI skips L3, checkpoint 3: files are lost" ]]
}

# copy SET: a copy of golden files that can be changed: DIR/c.
@test "scan: several files of a rank; one that cannot be read is not called missing" {
	mkdir d
	cp -R "$FTI/levels-E-v1.6/L3" d/a
	cp -R "$FTI/levels-E-v1.6/L3" d/b
	chmod -R u+w d
	FTI=. judged d whole 0
	# The good files may be those that were not looked at.
	rm -r d/a/Local/node[123]
	truncate -s 100 d/a/Local/node0/*/l3/Ckpt3-Rank0.fti
	FTI=. judged d unknown 1
	[[ $output == *" has several files, also b/Local/node"* ]]
	run -1 scr_fti rebuild d
	FTI=. judged d/b whole 0
	restricted
	cp -R "$FTI/levels-E-v1.6/L3" .
	chmod -R u+w L3
	chmod 000 L3/Local/node2/*/l3/Ckpt3-Rank4.fti
	answers 1 "1 of 8 ranks lack a good file; Local/node2/$(basename L3/Local/node2/*)/l3/Ckpt3-Rank4.fti is unknown: " \
		"${as[@]}" scr_fti scan L3
}

@test "scan: POSIX files, by the metadata of their group" {
	local sector file

	[ -d "$FTI/loss" ] || skip "in the complete data"
	judged dcp-posix/ckpt5 whole 0
	[[ $output == *"FTI restarts from dCP"* ]]
	copy posix-levels-odd/L3
	FTI=. judged c whole 0
	file=$(echo c/Local/node2/*/l3/Ckpt3-Rank4.fti)
	damage "$file" 1000 x
	run scr_fti scan c
	[ "$status" = 0 ] # sizes only
	FTI=. judged c rebuildable 3
	[[ $output == *"1 of 8 ranks lack a good file"* ]]
	truncate -s -1 "$file"
	answers 3 "has 3160 bytes, expected 3161" scr_fti scan --files c
	sector=$(echo c/Meta/*/l3/sector0-group1.fti)
	rm "$sector"
	answers 1 "" scr_fti scan c
	[[ $output == *" unknown "*"4 of 8 ranks lack their metadata"* ]]
	echo '[0]' >"$sector"
	answers 1 "describes no checkpoint file" scr_fti scan c
	# Without all metadata nothing says that these are POSIX files.
	rm -r c/Meta
	answers 1 "no file is of FTI-FF" scr_fti scan c
	judged dcp-posix/ckpt3 whole 0
	judged l4archive-posix whole 0
	judged posix-levels-odd/L1 whole 0
	judged posix-levels/L4 whole 0
}

@test "scan finds all levels, heads and differential checkpoints" {
	answers 0 "4 nodes of 3 ranks, the first one a head, groups of 4" \
		scr_fti scan "$FTI/head-F/L4"
	[[ $output == *"FTI restarts from L4, checkpoint 4"* ]]
	[ -d "$FTI/loss" ] || skip "the others are in the complete data"
	judged dcp-F/ckpt3 whole 0
	judged dcp-F/ckpt4 refused 3
}

@test "usage, and files that cannot be read" {
	answers 2 "" scr_fti
	answers 2 "did you mean verify" scr_fti verfy x
	answers 2 "" scr_fti verify
	answers 2 "" scr_fti verify --layout G "$FTI/bad-F/good.fti"
	answers 1 "" scr_fti verify nothing "$FTI/bad-F/good.fti"
	[[ $output == *nothing* && $output == *"good.fti: intact"* ]]
	mkdir empty
	answers 1 "no checkpoint files of FTI" scr_fti scan empty
	answers 0 "" scr_fti list "$FTI/bad-F/good.fti"
	[[ $output == *VARIABLE* && $output != *HASCONTENT* ]]
	answers 0 "" scr_fti dump "$FTI/bad-F/good.fti"
	[[ $output == *HASCONTENT* && $output == *"checkpoint 4"* ]]
}
