#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2030,SC2031 # bats sets them
# The verbs of scr_fti that write checkpoint files, on files that the real FTI
# wrote: repair, compact, convert, pack.

load golden

setup()
{
	FTI=$SCRKIT_GOLDEN/fti
	[ -d "$FTI" ] || skip "no golden data of FTI"
	cd "$BATS_TEST_TMPDIR" || return 1
}

# verdict FILE: what scr_fti verify says of it, without its name.
verdict()
{
	scr_fti verify "$1" | sed -n '1s/.*\.fti: //p'
}

# variables FILE: the id and SHA-256 of each, from the containers that dump
# lists: ID CONTAINERID HASCONTENT DPTR FPTR CHUNKSIZE.
variables()
{
	local id fptr size

	scr_fti dump "$1" >dumped || true
	awk 'on && NF >= 9 { print $2 } $1 == "BLOCK" { on = $2 == "ID" }' \
		dumped | sort -nu |
		while read -r id; do
			awk -v id="$id" 'on && NF >= 9 && $2 == id { print $6, $7 }
				$1 == "BLOCK" { on = $2 == "ID" }' dumped |
				while read -r fptr size; do
					tail -c +$((fptr + 1)) "$1" |
						head -c "$size"
				done | sha256sum | sed "s/^/$id /; s/ *-\$//"
		done
}

# ff_files: all data files in FTI-FF, without the damaged ones.
ff_files()
{
	find "$FTI" \( -name 'Ckpt*-Rank*.fti' -o -name 'Ckpt*-Pcof*.fti' -o \
		-name 'dCPFile*.fti' \) ! -path '*/bad-F/*' ! -path '*posix*' |
		sort
}

# same_but_pad A B: the files are equal but for the last byte, which layouts C
# to F do not use.
same_but_pad()
{
	cmp <(head -c -1 "$1") <(head -c -1 "$2")
}

@test "repair: damaged records become those of the good file, or are refused" {
	local good=$FTI/bad-F/good.fti name outcome

	while read -r name outcome; do
		try scr_fti repair --id 4 -o "$name.fti" "$FTI/bad-F/$name.fti"
		if [ "$outcome" = refused ]; then
			[ "$status" = 3 ] || failed "$name: status $status"
			[ ! -e "$name.fti" ] || failed "$name: written"
			[[ $stderr == *"$name.fti: "*"next: scr_fti scan "* ]] ||
				failed "$name: $stderr"
			continue
		fi
		[ "$status" = 0 ] || failed "$name: $status $stderr"
		[ "$(verdict "$name.fti")" = intact ] || failed "$name: verdict"
		[ "$outcome" = unproven ] || same_but_pad "$name.fti" "$good" ||
			failed "$name: not as it was"
	done <<-'END'
		good same
		chunkhash-flip same
		checksum-flip same
		ckptid-flip same
		ckptsize-flip same
		fs-flip same
		maxfs-flip same
		ptfs-flip same
		dbsize-flip same
		containerid-flip same
		dptr-flip same
		hascontent-flip same
		metasize-flip same
		pad-flip same
		myhash-flip unproven
		timestamp-flip unproven
		hasckpt-flip unproven
		data-flip refused
		numvars-flip refused
		fptr-flip refused
		chunksize-flip refused
		containersize-flip refused
		datasize-flip refused
		truncated-half refused
		trailing-5 refused
		all-zero refused
		empty refused
		footer-only refused
	END
}

@test "repair names each field, with offset, old and new value; a dry run says the same" {
	local bad=$FTI/bad-F

	try scr_fti repair -n --id 9 "$bad/dptr-flip.fti" "$bad/ckptid-flip.fti"
	[ "$status" = 0 ]
	[[ $output == *"dptr-flip.fti: damaged; its data are intact: would be written"* ]]
	[[ $output == *"  byte 2880: container 1: dptr: 16384 -> 0"* ]]
	[[ $output == *"  byte 3035: ckptId: 68 -> 9"* ]]
	mkdir out
	diff <(scr_fti repair --id 9 -o out "$bad/dptr-flip.fti" \
		"$bad/ckptid-flip.fti" | grep byte) <(grep byte <<<"$output")
	# The bytes named are the only ones that differ.
	try cmp -l "$bad/ckptid-flip.fti" out/ckptid-flip.fti
	[ "$(awk '$1 < 3092 { print $1 - 1 }' <<<"$output")" = 3035 ]
	try scr_fti repair -n "$bad/myhash-flip.fti"
	[[ $output == *"no sum proves maxFs, ptFs and timestamp"* ]]
}

@test "repair: files that FTI refuses after a variable has shrunk, in place" {
	local file n=0

	while read -r file; do
		[[ $(verdict "$file") == *"FTI refuses it" ]] || continue
		n=$((n + 1))
		cp "$file" "$n.fti"
		chmod u+w "$n.fti"
		variables "$n.fti" >before
		try scr_fti repair "$n.fti"
		[ "$status" = 2 ] || failed "in place without being asked"
		cmp "$file" "$n.fti"
		scr_fti repair --in-place "$n.fti" >changed
		grep -q 'checksum: [0-9a-f]* -> [0-9a-f]*$' changed
		[ "$(verdict "$n.fti")" = intact ]
		variables "$n.fti" | diff before -
		[ "$(stat -c %Y "$file")" = "$(stat -c %Y "$n.fti")" ] ||
			! whole_collection
		cp "$n.fti" once
		scr_fti repair --in-place "$n.fti" | grep "nothing to repair"
		cmp once "$n.fti"
	done < <(ff_files)
	((n > 0))
}

@test "repair leaves files alone whose bytes are those of parity" {
	local file

	file=$(find "$FTI" -path '*-F*/L3/*' -name 'Ckpt*-Rank*.fti' |
		head -n 1)
	[ -n "$file" ] || file=$(find "$FTI" -path '*/L3/*' \
		-name 'Ckpt*-Rank*.fti' ! -path '*posix*' | head -n 1)
	cp "$file" a.fti
	try scr_fti repair --in-place a.fti
	[ "$status" = 0 ]
	for verb in "repair --id 77" "compact --room 10"; do
		[ "$verb" != "repair --id 77" ] ||
			scr_fti list a.fti | grep -q checkpoint || continue
		# shellcheck disable=SC2086
		try scr_fti $verb --in-place a.fti
		[ "$status" = 2 ] || failed "$verb: $status $output"
		[[ $stderr == *"parity of its group"* ]]
		cmp "$file" a.fti
	done
}

@test "compact: one container for each variable, all variables the same" {
	local file n=0

	while read -r file; do
		n=$((n + 1))
		scr_fti compact -o "$n.fti" "$file" >said || failed "$file"
		[ "$(verdict "$n.fti")" = intact ] || failed "$file: verdict"
		variables "$file" >before
		variables "$n.fti" | diff before - || failed "$file: variables"
		scr_fti dump "$n.fti" | awk '
			on && NF >= 9 && ($7 != $8 || $3 != 0) { bad = 1 }
			$1 == "BLOCK" { on = $2 == "ID" } END { exit bad }'
		grep -q "saves $(($(stat -c %s "$file") - \
			$(stat -c %s "$n.fti"))) bytes\|takes" said
	done < <(ff_files)
	((n > 0))
}

@test "compact: room in the containers, in place, several files, nothing to do" {
	local one size

	one=$(find "$FTI/dcp-F/ckpt4" -name 'dCPFile-Rank0.fti')
	cp "$one" a.fti
	cp "$one" b.fti
	scr_fti compact --in-place --room 50 a.fti
	[ "$(verdict a.fti)" = intact ]
	scr_fti dump a.fti | awk '
		on && NF >= 9 && $8 != $7 + int($7 / 2) { bad = 1 }
		$1 == "BLOCK" { on = $2 == "ID" } END { exit bad }'
	scr_fti compact -o new/sub a.fti b.fti
	cmp new/sub/a.fti new/sub/b.fti
	size=$(stat -c %s new/sub/a.fti)
	scr_fti compact --in-place b.fti |
		grep "saves $(($(stat -c %s "$one") - size)) bytes"
	cmp b.fti new/sub/b.fti
	scr_fti compact --in-place b.fti | grep "nothing to do"
}

@test "outputs that exist stay, whatever is wrong nothing is written" {
	local good=$FTI/bad-F/good.fti

	cp "$good" a.fti
	cp "$good" b.fti
	chmod u+w b.fti
	echo mine >x.fti
	try scr_fti compact -o x.fti a.fti
	[ "$status" = 2 ]
	[[ $stderr == "scr_fti: x.fti: exists already; --replace replaces it" ]]
	[ "$(cat x.fti)" = mine ]
	# One of the files is refused: none is written.
	printf '\125' | dd of=b.fti bs=1 seek=100 conv=notrunc status=none
	try scr_fti compact -o out a.fti b.fti
	[ "$status" = 3 ]
	[[ $stderr == *"b.fti: container 0: its data differ"* ]]
	[ ! -e out ]
	# An input is no output.
	try scr_fti compact --replace -o a.fti a.fti
	[ "$status" = 2 ]
	[[ $stderr == *"a.fti: is one of the files to read"* ]]
	try scr_fti compact -o out a.fti ./a.fti
	[ "$status" = 2 ]
	[[ $stderr == *"two files would get this name"* ]]
	for args in "" "a.fti" "-o out" "--in-place -o out a.fti" \
		"--replace --in-place a.fti" "--room x -o out a.fti" \
		"--layout Z -o out a.fti"; do
		# shellcheck disable=SC2086
		try scr_fti compact $args
		[ "$status" = 2 ] || failed "$args: $status"
	done
	try scr_fti compact -o out nothing a.fti
	[ "$status" = 1 ]
	ln -s a.fti link.fti
	try scr_fti compact --in-place --room 9 link.fti
	[ "$status" = 2 ]
	mkfifo pipe
	try scr_fti compact -o out pipe
	[ "$status" = 1 ]
	[ ! -e out ]
	cmp "$good" a.fti
	scr_fti compact --replace -o x.fti a.fti
	[ "$(verdict x.fti)" = intact ]
}

@test "more files than are open at the same time" {
	local i

	mkdir in
	for ((i = 0; i < 150; i++)); do
		cp "$FTI/bad-F/good.fti" in/Ckpt4-Rank$i.fti
	done
	(ulimit -n 200 && scr_fti compact -j 3 -o out in/*.fti) |
		grep "saves 0 bytes"
	[ "$(find out -type f | wc -l)" = 150 ]
	scr_fti verify -q out/*.fti
	# The last one is damaged: no file is written.
	chmod u+w in/Ckpt4-Rank99.fti
	printf '\125' | dd of=in/Ckpt4-Rank99.fti bs=1 seek=9 conv=notrunc \
		status=none
	try scr_fti compact -o out2 in/*.fti
	[ "$status" = 3 ]
	[ ! -e out2 ]
}
