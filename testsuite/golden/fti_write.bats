#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086 # words
# The verbs of scr_fti that write checkpoint files, on files that the real FTI
# wrote: repair, convert, pack.

load golden

setup() { fti_setup; }

# verdict FILE: what scr_fti verify says of it, without its name.
verdict() {
	scr_fti verify "$1" | sed -n '1s/.*\.fti: //p'
}

# listed FILE...: "FILE ID SHA256" of each variable, from the containers that dump
# lists: ID CONTAINERID HASCONTENT DPTR FPTR CHUNKSIZE.
listed() {
	{ scr_fti dump "$@" || true; } | awk '
		/^[^ ].*: / { file = $1; sub(/:$/, "", file); on = 0 }
		on && NF >= 9 { print $2, $6, $7, file }
		$1 == "BLOCK" { on = $2 == "ID" }' |
		python3 "$TESTSUITE/golden/fti_parts.py"
}

# variables FILE: "ID SHA256" of each.
variables() {
	listed "$1" | cut -d ' ' -f 2-
}

# same_variables FILE...: each has the variables that the file `want` lists.
same_variables() {
	local file line

	diff <(for file; do
		while read -r line; do echo "$file $line"; done <want
	done) <(listed "$@")
}

# forms: of these files, one of each layout and kind; with SCRKIT_SLOW all.  The
# last of a set has the most containers.
forms() {
	awk -F / -v skip="${FTI//[!\/]/}" -v slow="${SCRKIT_SLOW-}" '
	{
		form = $(length(skip) + 2)
		gsub(/^(levels|seed7)-|-(v|even|odd|master).*/, "", form)
		sub(/^(loss|repaired|keeplast|l4archive).*/, "F", form)
		form = $NF ~ /Pcof/ ? "Pcof" : form
		last[slow ? NR : form] = $0
	}
	END { for (form in last) print last[form] }' | sort
}

# intact FILE...: all of them are.
intact() {
	[ "$(scr_fti verify "$@" | grep -c ': intact$')" = $# ] ||
		failed "not intact: $(scr_fti verify "$@")"
}

# same_but_pad A B: the files are equal but for the last byte, which layouts C
# to F do not use.
same_but_pad() {
	cmp <(head -c -1 "$1") <(head -c -1 "$2")
}

@test "33.13: repair: damaged records become those of the good file, or are refused" {
	local good=$FTI/bad-F/good.fti name
	local same="good chunkhash-flip checksum-flip ckptid-flip ckptsize-flip
		fs-flip maxfs-flip ptfs-flip dbsize-flip containerid-flip
		dptr-flip hascontent-flip metasize-flip pad-flip fptr-flip
		datasize-flip timestamp-flip myhash-flip"
	local unproven="hasckpt-flip"

	for name in data-flip truncated-half trailing-5 all-zero empty footer-only \
		truncated-100 numvars-flip chunksize-flip containersize-flip; do
		warns 3 "$name.fti: " scr_fti repair --id 4 -o "$name.fti" \
			"$FTI/bad-F/$name.fti"
		assert_stderr_has "next: scr_fti scan "
		[ ! -e "$name.fti" ] || failed "$name: written"
	done
	for name in $same $unproven; do
		ends 0 scr_fti repair --id 4 -o "$name.fti" "$FTI/bad-F/$name.fti"
		[[ $unproven == *"$name"* ]] ||
			same_but_pad "$name.fti" "$good" ||
			failed "$name: not as it was"
	done
	intact ./*.fti
}

@test "repair names each problem, a dry run, too; files whose bytes are those of parity stay" {
	local bad=$FTI/bad-F

	try scr_fti repair -n --id 9 "$bad/dptr-flip.fti" "$bad/ckptid-flip.fti"
	[ "$status" = 0 ]
	[[ $output == *"dptr-flip.fti: damaged; its data are intact: would be written"* ]]
	[[ $output == *"  byte 2880: container 1: dptr is 16384, expected 0"* ]]
	[[ $output == *"  byte 3035: ckptId: 68 -> 9"* ]]
	mkdir out
	diff <(scr_fti repair --id 9 -o out "$bad/dptr-flip.fti" \
		"$bad/ckptid-flip.fti" | grep byte) <(grep byte <<<"$output")
	# The bytes named are the only ones that differ.
	try cmp -l "$bad/ckptid-flip.fti" out/ckptid-flip.fti
	[ "$(awk '$1 < 3092 { print $1 - 1 }' <<<"$output")" = 3035 ]
	try scr_fti repair -n "$bad/myhash-flip.fti"
	[[ $output == *"  byte 3019: the metadata record differs"* &&
		$output != *"no sum proves"* ]]
	local file

	file=$(find "$FTI" -path '*-F*/L3/*' -name 'Ckpt*-Rank*.fti' |
		head -n 1)
	[ -n "$file" ] || file=$(find "$FTI" -path '*/L3/*' \
		-name 'Ckpt*-Rank*.fti' ! -path '*posix*' | head -n 1)
	cp "$file" a.fti
	ends 0 scr_fti repair --in-place a.fti
	scr_fti list a.fti | grep -q checkpoint || return 0
	ends 2 scr_fti repair --id 77 --in-place a.fti
	[[ $stderr == *"parity of its group"* ]]
	cmp "$file" a.fti
}

@test "33.13: repair: at level 3 a byte of timestamp or maxFs comes back, two are refused" {
	local set=levels-E-v1.6/L3 good file at

	copy $set
	file=$(find c -name Ckpt3-Rank1.fti)
	good=$FTI/$set/${file#c/}
	# The last fields of the record are maxFs, ptFs and timestamp.
	for at in 1 4 9 12; do
		cp "$good" "$file"
		flip "$file" $(($(stat -c %s "$good") - 1 - at))
		ends 0 scr_fti repair --in-place "$file"
		cmp "$good" "$file"
	done
	for at in 1 9; do
		cp "$good" "$file"
		flip "$file" $(($(stat -c %s "$good") - 1 - at))
		flip "$file" $(($(stat -c %s "$good") - 2 - at))
		cp "$file" bad
		ends 2 scr_fti repair --in-place "$file"
		[[ $stderr == *"parity of its group"* ]]
		cmp bad "$file"
	done
	# Without parity it stays as it is: scan advises no repair.
	find c -name '*RSed*' -delete
	answers 3 refused scr_fti scan c
	[[ $output == *"next: scr_fti scan --checksums"* ]] || failed "$output"
	answers 3 refused scr_fti scan --checksums c
	[[ $output != *"scr_fti repair"* ]] || failed "$output"
	cp "$good" "$file"
	flip "$file" $(($(stat -c %s "$good") - 2))
	answers 3 refused scr_fti scan --checksums c
	follow
	[ "$status" = 0 ] || failed "$output"
	cmp "$good" "$file"
}

@test "repair: files that FTI refuses after a variable has shrunk, in place" {
	local file n=0 files

	# In FTI-FF, without the damaged ones.
	mapfile -t files < <(find "$FTI" \( -name 'Ckpt*-Rank*.fti' -o \
		-name 'Ckpt*-Pcof*.fti' -o -name 'dCPFile*.fti' \) \
		! -path '*/bad-F/*' ! -path '*posix*' | sort)
	while read -r file; do
		n=$((n + 1))
		cp "$file" "$n.fti"
		chmod u+w "$n.fti"
		variables "$n.fti" >before
		ends 2 scr_fti repair "$n.fti"
		cmp "$file" "$n.fti"
		scr_fti repair --in-place "$n.fti" >changed
		grep -q 'the checksum is over old sums of' changed
		variables "$n.fti" | diff before -
		[ "$(stat -c %Y "$file")" = "$(stat -c %Y "$n.fti")" ] ||
			! whole_collection
		cp "$n.fti" once
		scr_fti repair --in-place "$n.fti" | grep "nothing to repair"
		cmp once "$n.fti"
	done < <({ scr_fti verify "${files[@]}" || true; } |
		sed -n 's/: [^:]*FTI refuses it$//p' | forms)
	((n > 0))
	intact ./*.fti
	# All bytes are those that FTI accepted, but for sums of empty containers.
	[ -d "$FTI/repaired-F" ] || return 0
	for file in "$FTI"/repaired-F/*; do
		cp "$FTI"/seed7-F-master/ckpt7/Local/node?/*/l1/"${file##*/}" 7.fti
		scr_fti repair -q --replace -o 8.fti 7.fti
		[ "$(cmp -l 8.fti "$file" | wc -l)" -lt 66 ]
		diff <(scr_fti dump 8.fti) <(scr_fti dump "$file") >differ ||
			run ! grep -v -e : -e '^[^<>]' -e 'empty$' differ
	done
}

@test "convert --compact: one container for each variable, several files" {
	local one

	one=$(find "$FTI/dcp-F/ckpt4" -name 'dCPFile-Rank0.fti')
	cp "$one" a.fti
	cp "$one" b.fti
	scr_fti convert --to F --compact -o new/sub a.fti b.fti
	cmp new/sub/a.fti new/sub/b.fti
	[ "$(verdict new/sub/a.fti)" = intact ]
	(($(stat -c %s new/sub/a.fti) < $(stat -c %s "$one")))
	scr_fti list new/sub/a.fti | grep "(100 %)"
}

@test "outputs that exist stay, whatever is wrong nothing is written" {
	local good=$FTI/bad-F/good.fti

	cp "$good" a.fti
	cp "$good" b.fti
	chmod u+w b.fti
	echo mine >x.fti
	ends 2 scr_fti convert --to F -o x.fti a.fti
	[[ $stderr == "scr_fti: x.fti: exists already; --replace replaces it" ]]
	[ "$(cat x.fti)" = mine ]
	# One of the files is refused: none is written.
	damage b.fti 100 '\125'
	warns 3 "b.fti: container 0: its data differ" scr_fti repair -o out a.fti b.fti
	[ ! -e out ]
	# An input is no output.
	warns 2 "a.fti: is one of the files to read" \
		scr_fti repair --replace -o a.fti a.fti
	warns 2 "two files would get this name" scr_fti repair -o out a.fti ./a.fti
	for args in "" "a.fti" "-o out" "--in-place -o out a.fti" \
		"--replace --in-place a.fti" "--id x -o out a.fti" \
		"--layout Z -o out a.fti"; do
		ends 2 scr_fti repair $args
	done
	ends 1 scr_fti repair -o out nothing a.fti
	ln -s a.fti link.fti
	ends 2 scr_fti repair --in-place --id 9 link.fti
	mkfifo pipe
	ends 1 scr_fti repair -o out pipe
	[ ! -e out ]
	cmp "$good" a.fti
	scr_fti convert --to F --replace -o x.fti a.fti
	[ "$(verdict x.fti)" = intact ]
}

# --- convert ---

@test "convert: what a layout lacks comes from the name, an option, the time of the file, and is said" {
	local good=$FTI/bad-F/good.fti

	scr_fti convert --to A -o Ckpt5-Rank0.fti "$good" >said
	grep "time of the checkpoint: modification time" said
	touch -d @1700000000 Ckpt5-Rank0.fti
	scr_fti convert --to F -o f Ckpt5-Rank0.fti >said
	grep "id of the checkpoint: from the name" said
	scr_fti list f | grep "checkpoint 5"
	scr_fti convert --to F --id 6 -o g Ckpt5-Rank0.fti >said
	scr_fti list g | grep "checkpoint 6"
	cp Ckpt5-Rank0.fti nameless
	warns 2 "nameless: neither the file nor its name has the id" \
		scr_fti convert --to F -o h nameless
	[ ! -e h ]
	# The full time is kept where there is room for it.
	scr_fti convert --to D -o Ckpt5-Rank1.fti Ckpt5-Rank0.fti >said
	run ! grep "time of" said
	diff <(scr_fti list Ckpt5-Rank0.fti | grep -o "written .*") \
		<(scr_fti list Ckpt5-Rank1.fti | grep -o "written .*")
	[ "$(stat -c %Y Ckpt5-Rank1.fti)" = 1700000000 ]
	# By a layout with all of the time and back: no byte differs.
	cp --preserve=timestamps "$good" Ckpt4-Rank0.fti
	scr_fti convert --to B -o b/Ckpt4-Rank0.fti Ckpt4-Rank0.fti
	scr_fti convert --to F -o back b/Ckpt4-Rank0.fti
	same_but_pad back "$good"
}

# containers FILE...: the ids and places in the data of all; of those in use the sums.
containers() {
	scr_fti dump "$@" | awk '
		/^[^ ].*: / { on = 0 }
		on && NF >= 9 { print $1, $2, $3, $4, $5, $7, $8, $NF == "empty" ? "" : $9 }
		$1 == "BLOCK" { on = $2 == "ID" }'
}

@test "each file to each layout and back, compacted, packed: intact, with its variables" {
	local file files id list n=0 own to

	mapfile -t list < <(find "$FTI" \( -name 'Ckpt*-Rank*.fti' -o \
		-name 'dCPFile*.fti' \) ! -path '*/bad-F/*' ! -path '*posix*' \
		! -path '*/loss*' ! -path '*realsize*' | sort | forms)
	for file in "${list[@]}"; do
		echo "$file"
		rm -rf w
		id=$(grep -oi 'ckpt[0-9]*' <<<"$file" | tail -n 1)
		variables "$file" >want
		containers "$file" >had
		own=$(scr_fti dump "$file" | awk '$1 == "layout" { print $2 }')
		for to in A B C D E F; do
			scr_fti convert -q --to $to --id ${id:4} -o w/$to "$file"
		done
		scr_fti convert -q --to "$own" --id ${id:4} -o w/back w/?
		containers w/? w/back/? |
			diff - <(cat had had had had had had had had had had had had)
		scr_fti convert -q --to "$own" --compact --id ${id:4} \
			-o w/small "$file"
		scr_fti dump w/small | grep -q "(100 %)"
		rm -rf raw
		scr_fti extract -q -o raw "$file"
		mapfile -t files < <(sed 's,\([0-9]*\) .*,\1=raw/var\1.bin,' want)
		scr_fti pack -q --to F --id ${id:4} -o w/packed "${files[@]}"
		files=(w/? w/back/? w/small w/packed)
		intact "${files[@]}"
		same_variables "${files[@]}"
		# Neither old sums, nor bytes left in room, nor undefined ones.
		scr_fti dump "$file" | grep -q "(100 %)" && [ "$own" != A ] ||
			continue
		same_but_pad "$file" w/$own
		n=$((n + 1))
	done
	((n > 0))
}

@test "convert: layer by layer, differential files are what the application had" {
	local file layer

	[ -d "$FTI/dcp-posix/ckpt5" ] || skip "only in the complete data"
	file=$(find "$FTI/dcp-posix/ckpt5" -name 'dcp-id0-rank0.fti')
	for layer in 0 4; do
		scr_fti convert --layer $layer --to F -o $layer.fti "$file"
		awk -v c=$((layer + 1)) '$1 == c && $2 == 0 { print $3, $5 }' \
			"$FTI/dcp-posix/EXPECTED.tsv" | sort -n >want
		same_variables $layer.fti
		scr_fti list $layer.fti | grep "checkpoint $((layer + 1))"
	done
	# A variable grew and shrank later: no file has its size of that time.
	warns 3 "sizes of some variables are not recorded" \
		scr_fti convert --layer 2 --to F -o 2.fti "$file"
}

# tree_files DIR: "PATH ID SHA256" of all variables of FTI-FF files.
tree_files() {
	local files

	mapfile -t files < <(cd "$1" && find . -name 'Ckpt*-Rank*.fti' \
		! -path '*/lL4Dir/*' | sort)
	(cd "$1" && listed "${files[@]}")
}

@test "convert: whole directories to each layout, to POSIX, and back" {
	local set to sets=()

	for set in head-F/L4 levels-{A-v1.1/L3,E-v1.6/L3,F-odd/L{1,2},C-v1.3/L3} \
		head-F/L2 keeplast-F; do
		[ ! -e "$FTI/$set/config.fti" ] || sets+=("$set")
	done
	pick 4 "${sets[@]}"
	for set in "${picked[@]}"; do
		rm -rf s w
		mkdir s
		cp -R --preserve=timestamps "$FTI/$set/." s
		chmod -R u+w s
		tree_files s >want
		[ -s want ]
		for to in A B C D E F; do
			scr_fti convert --to $to -o w/$to s >said ||
				failed "$set to $to"
			tree_files w/$to | diff want - ||
				failed "$set to $to: variables"
			scr_fti scan --checksums w/$to >scanned || true
			! grep -E "refused|lost|unknown" scanned ||
				failed "$set to $to"
		done
		scr_fti convert --to posix -o w/posix s >said
		grep -q "ckpt_io .*= 1$" w/posix/config.fti
		scr_fti convert --to F -o w/back w/posix >said
		tree_files w/back | diff want - || failed "$set: back"
		grep -q "ckpt_io .*= 3$" w/back/config.fti
		# Names, and other files, are the same.
		diff <(cd w/back && find . | sort) <(cd w/F && find . | sort) ||
			[ -n "$(find w/posix -name 'sector*')" ]
		cmp "$(find w/back -name Topology.fti)" "$(find s -name Topology.fti)"
	done
}

@test "convert: differential checkpoints become ordinary ones where they must" {
	local set=$FTI/dcp-F/ckpt4 to history

	taken "$set" s
	awk '$1 == 4 && $2 == 1 { print $3, $5 }' "$FTI/dcp-F/EXPECTED.tsv" |
		sort -n >want
	scr_fti convert --to C -o C s >said
	scr_fti scan --checksums C
	same_variables "$(find C/Global -name dCPFile-Rank1.fti)"
	cmp "$(find C -name Checkpoint.fti)" "$(find s -name Checkpoint.fti)"
	for to in posix A; do
		scr_fti convert --to $to -o $to s >said
		scr_fti scan --checksums $to
		history=$(find $to -name Checkpoint.fti)
		grep "checkpoint 4: F -> .*, now at L4" said
		[ -z "$(find $to -name 'dCP*')" ]
		run ! grep -E "is_dcp *= 1" "$history"
		scr_fti convert --to F -o $to.fti \
			"$(find $to/Global -path '*/l4/Ckpt4-Rank1.fti')"
		same_variables $to.fti
	done
	grep -E "io_mode *= 1001" "$(find posix -name Checkpoint.fti)"
	grep -E "io_mode *= 1003" "$(find A -name Checkpoint.fti)"
}

@test "convert: the metadata of POSIX files are as FTI writes them" {
	local set=$FTI/posix-levels-odd/L4 file

	cp -R "$set/." s
	chmod -R u+w s
	scr_fti convert --to F -o f s >said
	scr_fti convert --to posix -o p f >said
	scr_fti convert --to posix -o q s >said
	for file in $(cd s && find . -name 'sector*'); do
		# Only the types are missing, which FTI-FF does not have.
		diff <(grep -Ev "type(id|size)" "s/$file") "p/$file"
		cmp "s/$file" "q/$file"
	done
	for file in $(cd s && find . -name 'Ckpt*'); do
		cmp "s/$file" "p/$file"
		cmp "s/$file" "q/$file"
	done
}

@test "convert: copies and parity are left, and the sizes for them are in the files" {
	local pt max to next

	scr_fti convert --to F -o f "$FTI/levels-A-v1.1/L3" >said 2>&1
	grep "8 copies and parity files of levels 2 and 3 are not converted" said
	grep "^scr_fti: next: scr_fti rebuild f$" said
	max=$(find f -name 'Ckpt3-Rank[0246].fti' -printf '%s\n' |
		sort -n | tail -n 1)
	scr_fti dump "$(find f -name Ckpt3-Rank4.fti)" |
		grep "maxFs $((max + 8)), ptFs -1"
	# The next command makes them, in each layout; then a node may die.
	tree_files "$FTI/levels-A-v1.1/L3" >want
	for to in A D E F posix; do
		rm -rf g
		scr_fti convert --to $to -o g "$FTI/levels-A-v1.1/L3" 2>said
		next=$(sed -n 's/^scr_fti: next: //p' said)
		eval "$next" >said
		scr_fti scan --checksums g
		rm -r g/Local/node1 g/Local/node2
		scr_fti rebuild g >said
		[ $to = posix ] || tree_files g | diff want - || failed "$to"
		scr_fti scan --checksums g
	done
	[ -e "$FTI/levels-B-v1.2/L2/config.fti" ] ||
		skip "level 2 is in the complete data"
	scr_fti convert --to F -o h "$FTI/levels-B-v1.2/L2" >said
	pt=$(stat -c %s "$(find h -name Ckpt2-Rank6.fti)")
	scr_fti dump "$(find h -name Ckpt2-Rank0.fti)" |
		grep "maxFs -1, ptFs $pt"
	scr_fti rebuild h
	cmp "$(find h -name Ckpt2-Pcof0.fti)" "$(find h -name Ckpt2-Rank6.fti)"
}

@test "convert: a directory that lacks files, has other ids, or is the output" {
	copy head-F/L4
	mv c s
	for out in s s/x .; do
		ends 2 scr_fti convert --to A -o $out s
		[[ $stderr == *"give another directory"* ]]
	done
	mv "$(find s/Global -name 'Ckpt4-Rank5.fti')" gone
	warns 3 "L4, checkpoint 4: rank 5 has no file" scr_fti convert --to A -o a s
	[[ $stderr == *"next: scr_fti scan --checksums s" && ! -e a ]]
	cp gone "$(dirname "$(find s/Global -name 'Ckpt4-Rank4.fti')")/Ckpt4-Rank5.fti"
	scr_fti repair --id 9 --replace -o "$(find s/Global -name 'Ckpt4-Rank5.fti')" gone
	warns 3 "is of checkpoint 9, expected 4" scr_fti convert --to A -o a s
	[ ! -e a ]
	ends 1 scr_fti convert --to A --checkpoint 7 -o a s
	for args in "" "--to A" "--to A -o a" "--to G -o a s" \
		"--to A -o a s s" "--to A --ini x -o a gone" \
		"--to A --id 3 -o a s" "--to A --checkpoint 4 -o a gone"; do
		ends 2 scr_fti convert $args
	done
	[ ! -e a ]
}

# --- pack ---

@test "pack: the variables of another file, in each layout; usage" {
	local to list=("1=raw/var1.bin" "2=raw/var2.bin" "7=raw/var7.bin")

	variables "$FTI/bad-F/good.fti" >want
	scr_fti extract -q -o raw "$FTI/bad-F/good.fti"
	for to in A B C D E F; do
		scr_fti pack --to $to --id 8 -o $to.fti "${list[@]}"
	done
	scr_fti pack --to posix --id 8 -o p/Ckpt8-Rank0.fti "${list[@]}"
	scr_fti convert --to F -o back.fti p/Ckpt8-Rank0.fti
	scr_fti pack --to F --id 8 -o room.fti --room 30 "${list[@]}"
	same_variables ./*.fti
	intact ./*.fti
	rm -rf ./*.fti p raw
	echo data >raw
	for args in "" "--to F --id 1 -o f" "--to F -o f 1=raw" \
		"--to F --id 1 1=raw" "--id 1 -o f 1=raw" "--to F --id 1 -o f raw" \
		"--to F --id 1 -o f x=raw" "--to F --id 1 -o f 1=raw 1=raw" \
		"--to F --id -1 -o f 1=raw" "--to F --id 1 -o f -1=raw" \
		"--to X --id 1 -o f 1=raw" "--to F --id 1 --ini x -o f 1=raw" \
		"--to posix --id 1 --room 3 -o f 1=raw"; do
		ends 2 scr_fti pack $args
		[ ! -e f ]
	done
	ends 1 scr_fti pack --to F --id 1 -o f 1=nothing
	scr_fti pack -n --to F --id 1 -o f 1=raw | grep "would be written"
	[ ! -e f ]
	scr_fti pack --to A -o f 1=raw
	ends 2 scr_fti pack --to A -o f 1=raw
	[[ $stderr == *"f: exists already; --replace replaces it" ]]
}

# npy TYPE SHAPE FILE: a NumPy file with these raw bytes.
npy() {
	local header="{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
	local len

	while (((${#header} + 11) % 64 != 0)); do header+=" "; done
	len=$((${#header} + 1))
	printf '\223NUMPY\001\000%b%s\n' \
		"$(printf '\\x%02x\\x%02x' $((len % 256)) $((len / 256)))" "$header"
	cat "$3"
}

@test "pack: NumPy files, whose headers are checked" {
	local type shape at

	head -c 240 "$FTI/bad-F/good.fti" >raw
	while read -r type shape; do
		npy "$type" "$shape" raw >a.npy
		scr_fti pack --numpy --to F --id 1 --replace -o f 3=a.npy ||
			failed "$type $shape"
		diff <(variables f) <(sha256sum <raw | sed 's/^/3 /; s/ *-$//')
	done <<-'END'
		<f8 (30,)
		<i4 (3, 4, 5)
		|u1 (240,)
		|b1 (2, 120)
		<c16 (15,)
		<U2 (30,)
		<M8[ns] (30,)
		|S24 (10,)
	END
	npy "<f8" "()" <(head -c 8 raw) >a.npy
	scr_fti pack --numpy --to F --id 1 --replace -o f 3=a.npy
	while read -r status type shape; do
		npy "$type" "$shape" raw >a.npy
		run -"$status" scr_fti pack --numpy --to F --id 1 -o g 3=a.npy
		[ ! -e g ]
	done <<-'END'
		1 <f8 (31,)
		1 <f8 (30
		1 <f8 (4294967296, 4294967296, 30)
		1 <f8 (-1,)
		1 f (30,)
		1  (30,)
		2 >f8 (30,)
		2 |O8 (30,)
	END
	# Every header that is cut, or has another byte.
	npy "<i4" "(60,)" raw >good.npy
	for ((at = 0; at < 128; at += 11)); do
		head -c $at good.npy >cut.npy
		ends 1 scr_fti pack --numpy --to F --id 1 -o g 3=cut.npy
		cp good.npy bad.npy
		damage bad.npy $at '\001'
		try scr_fti pack --numpy --to F --id 1 --replace -o g 3=bad.npy
		((status < 3)) || failed "byte $at: $status"
		rm -f g
	done
}

# --- Interruptions and failures ---

# A directory of FTI, a list of files of which each can be converted and
# repaired, and for each verb what it leaves if nothing disturbs it.
disturbed_setup() {
	local i

	mkdir fresh
	cp -R "$FTI/head-F/L4" fresh/tree
	mkdir fresh/files
	for i in 1 2 3; do
		cp "$(find "$FTI/dcp-F/ckpt4" -name dCPFile-Rank0.fti)" \
			fresh/files/$i.fti
	done
	chmod -R u+w fresh
}

# The cases: a name, then the arguments of scr_fti.
cases() {
	cat <<-'END'
		tree convert -j 1 --to B -o w/out w/tree
		posix convert -j 1 --to posix -o w/out w/tree
		beside convert -j 1 --to F --compact -o w/out w/files/1.fti w/files/2.fti w/files/3.fti
		repair repair -j 1 --in-place w/files/1.fti w/files/2.fti w/files/3.fti
	END
}

# undisturbed ARG...: keep the result of the command in "done", and the number
# of its operations in $total.
undisturbed() {
	rm -rf "done"
	renew fresh w
	operations scr_fti "$@"
	mv w "done"
	sums fresh old_sums
	sums "done" new_sums
}

# sums DIR NAME: the associative array NAME gets the checksum of each file.
sums() {
	local sum file

	declare -gA "$2=()"
	local -n to=$2
	while read -r sum file; do
		# shellcheck disable=SC2004 # the index is no number
		to[$file]=$sum
	done < <(cd "$1" && find . -type f -exec md5sum {} +)
}

# check_disturbed WHAT ARG...: after the command was disturbed, originals are
# whole, or complete in their new form; run again, it completes.
check_disturbed() {
	local what=$1 file again=()

	shift
	sums w is_sums
	for file in "${!old_sums[@]}"; do
		[[ ${is_sums[$file]-} == "${old_sums[$file]}" ||
			${is_sums[$file]-} == "${new_sums[$file]-none}" ]] ||
			failed "$what: $file is neither old nor new"
	done
	for file in "${!is_sums[@]}"; do
		[[ $file != ./out/*.fti ||
			${is_sums[$file]} == "${new_sums[$file]-}" ]] ||
			failed "$what: $file is incomplete"
	done
	[[ " $* " != *" -o "* ]] || again=(--replace)
	scr_fti "$@" "${again[@]}" >said || failed "$what: not again"
	diff -r "done" w || failed "$what: other results"
}

@test "killed at random moments: originals are whole, run again it completes" {
	local name args total k moment
	local kills=$((${SCRKIT_KILLS:-50} / 16))

	disturbed_setup
	RANDOM=${SCRKIT_SEED:-$$}
	echo "seed ${SCRKIT_SEED:-$$}"
	export SHIM_ALL=1
	while read -r name args; do
		undisturbed $args
		for ((k = 0; k < kills; k++)); do
			moment=$((RANDOM * 32768 + RANDOM))
			moment=$((moment % total + 1))
			renew fresh w
			try env SHIM_KILL_AT=$moment LD_PRELOAD="$SHIM" scr_fti $args
			[ "$status" = 137 ] || [ "$status" = 0 ] ||
				failed "$name $moment: $status"
			check_disturbed "$name, operation $moment" $args
		done
	done < <(cases)
}

# fails_at ERROR STICKY [ALL]: each file operation of each verb fails in turn.
fails_at() {
	local name args total at step=1

	while read -r name args; do
		undisturbed $args
		[ -n "${SCRKIT_SLOW-}" ] || step=$((total / 4 + 1))
		for ((at = 1; at <= total; at += step)); do
			renew fresh w
			try env SHIM_FAIL_AT=$at SHIM_ERRNO="$1" \
				${2:+SHIM_STICKY=$2} LD_PRELOAD="$SHIM" scr_fti $args
			# A hint to the kernel may fail without a loss.
			[ "$status" = 1 ] || diff -r "done" w >differs ||
				failed "$name, operation $at: $status $stderr"
			[ "$status" = 0 ] || [ -n "$stderr" ]
			check_disturbed "$name, operation $at" $args
		done
	done < <(cases)
}

@test "each operation fails in turn, or the disk stays full: run again it completes" {
	disturbed_setup
	fails_at EIO ""
	fails_at ENOSPC 1
}

@test "two runs with the same output: what the first one has written is whole" {
	local first second status

	head -c 30000000 /dev/urandom >raw
	scr_fti pack --to F --id 1 -o in.fti 1=raw
	scr_fti convert --to D -q -j 1 -o out.fti in.fti &
	first=$!
	# The second one begins while the first one writes, and is killed.
	while [ -z "$(find . -name '.scrkit-*')" ]; do sleep 0.01; done
	scr_fti convert --to D -q -j 1 --replace -o out.fti in.fti &
	second=$!
	wait $first && status=0 || status=1
	kill -9 $second
	wait $second || true
	[ "$status" = 1 ] || scr_fti verify -q out.fti
	scr_fti convert --to D -q --replace -o out.fti in.fti
	scr_fti verify -q out.fti
	[ -z "$(find . -name '.scrkit-*')" ]
}

@test "a disk without room is noticed before the first byte is written" {
	local k

	privately && return
	mkdir small
	for k in 1 2 3 4; do cp "$FTI/bad-F/good.fti" $k.fti; done
	mount -t tmpfs -o size=16k none small
	head -c 12288 /dev/zero >small/filler
	warns 1 "the files" scr_fti repair -o small/out [1-4].fti
	[ "$(find small -type f)" = small/filler ]
}
