#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_fti extract: variables of checkpoint files that the real FTI wrote, in all
# forms, and of files that are damaged or missing.

load golden

setup() { fti_setup; }

# one SET NAME: the path of the first file of this name in the set.
one() {
	find "$FTI/$1" -path "*$2" | LC_ALL=C sort | sed -n 1p
}

# rank_of SET FILE: the rank as EXPECTED.tsv counts.
rank_of() {
	local name=${2##*/} n
	n=${name%.fti}
	n=${n##*[!0-9]}
	[[ $1 != head-F ]] || n=$((n - n / 3 - 1)) # one of three is a head
	[[ $name != *Pcof* ]] || n=$(((n + 6) % 8)) # of the left neighbour
	echo "$n"
}

# holds SET CKPT RANK DIR: are the files in DIR the variables that are listed?
# Adds to $compared.  With $4 after it, variables may be missing.
holds() {
	local id rank var size sum list=
	while IFS=$'\t' read -r id rank var size sum; do
		[[ $id == "$2" && $rank == "$3" ]] || continue
		[[ -n ${5-} && ! -e $4/var$var.bin ]] ||
			list+="$sum  $4/var$var.bin"$'\n'
	done <"$FTI/$1/EXPECTED.tsv"
	[[ -n $list ]] || return 0
	sha256sum --quiet -c - <<<"${list%$'\n'}" || failed "$1 $2 $3"
	compared=$((compared + $(wc -l <<<"${list%$'\n'}")))
}

@test "each variable of each file has the bytes that the application wrote" {
	local set file name ckpt compared=0 rc n=0

	for set in "$FTI"/*/EXPECTED.tsv; do
		set=${set%/*} set=${set##*/}
		[[ $set != seed7-realsize ]] || continue
		while read -r file; do
			# Of some sets other ranks than of others.
			((n++ % 5 == 0)) || [[ -n ${SCRKIT_SLOW-} ]] || continue
			name=${file##*/}
			ckpt=${name#Ckpt}
			ckpt=${ckpt%%-*}
			[[ $name == Ckpt* ]] || {
				ckpt=${file#*/ckpt}
				ckpt=${ckpt%%/*}
			}
			rm -rf out
			rc=0
			scr_fti extract -q -o out "$file" || rc=$?
			((rc == 0)) || failed "$file: status $rc"
			holds "$set" "$ckpt" "$(rank_of "$set" "$file")" out
		done < <(find "$FTI/$set" -path "$FTI/$set/*/tmp/*" -prune -o \
			\( -name '*-Rank*.fti' -o -name '*-Pcof*.fti' -o \
			-name 'dcp-id*.fti' \) -print)
	done
	echo "$compared variables" >&2
	if [[ -d $FTI/seed7-A-v1.1 ]]; then
		((compared > 160))
	else
		((compared > 6))
	fi
}

@test "the document's example at its real size" {
	local file compared=0

	[[ -d $FTI/seed7-realsize ]] || skip "in the complete data"
	for file in "$FTI"/seed7-realsize/*/ckpt7/*/*/*/*/*.xz \
		"$FTI"/seed7-realsize/*/*ckpt7*.xz "$FTI"/seed7-realsize/*/Ckpt7*.xz; do
		[[ -e $file ]] || continue
		xz -dc "$file" >Ckpt7-Rank0.fti
		rm -rf out
		scr_fti extract -q -o out Ckpt7-Rank0.fti
		holds seed7-realsize 7 0 out
		rm Ckpt7-Rank0.fti
	done
	((compared > 0))
}

@test "--layer: the states between the differential checkpoints" {
	local file compared=0 layer

	file=$(one dcp-posix 'ckpt5/*/dcp-id0-rank0.fti')
	for layer in 0 1 2 3 4; do
		rm -rf out
		scr_fti extract -q --layer $layer -o out "$file"
		holds dcp-posix $((layer + 1)) 0 out some
	done
	((compared >= 6))
	warns 2 "has layers 0 to 4" scr_fti extract --layer 5 -o out "$file"
	warns 2 "has no layers" scr_fti extract --layer 1 -o out "$FTI/bad-F/good.fti"
	# A variable that shrank since: no file records its size after layer 1.
	warns 1 "variable 2" scr_fti extract --layer 1 -v 2 "$file"
}

@test "to standard output: one variable, or a range of it" {
	local file=$FTI/bad-F/good.fti range

	scr_fti extract -v 1 "$file" >whole
	head -c 800 "$file" | cmp - whole
	scr_fti extract -v 1 -o - "$file" | cmp - whole
	scr_fti extract -v 1 --range 100:64 "$file" |
		cmp - <(tail -c +101 whole | head -c 64)
	scr_fti extract -v 1 --range 700: "$file" |
		cmp - <(tail -c 100 whole)
	scr_fti extract -v 1 --range 800: "$file" | cmp - /dev/null
	for range in 801: 0:801 800:1 18446744073709551615:2 x:1 1 -1:5 ''; do
		yields 2 "" scr_fti extract -v 1 --range "$range" "$file"
	done
	# A range over several pieces of a differential file.
	file=$(one dcp-posix 'ckpt5/*/dcp-id0-rank0.fti')
	scr_fti extract -v 2 "$file" >whole
	scr_fti extract -v 2 --range 1000:9000 "$file" |
		cmp - <(tail -c +1001 whole | head -c 9000)
	# The reader ends early.
	scr_fti extract -v 2 "$file" | head -c 1 >one
	ends 2 scr_fti extract -v 1 "$FTI/bad-F/good.fti" --json
	if [[ -e /dev/full ]]; then
		run scr_fti extract -v 1 "$FTI/bad-F/good.fti" >/dev/full
		run bash -c 'scr_fti extract -v 1 "$1" >/dev/full' - \
			"$FTI/bad-F/good.fti"
		[[ "$status" == 1 && $output == *"No space left"* ]]
	fi
}

# numpy FILE TYPE SHAPE: the header, read without NumPy.
numpy() {
	python3 - "$@" <<-'END'
		import ast, struct, sys
		raw = open(sys.argv[1], "rb").read()
		assert raw[:8] == b"\x93NUMPY\x01\x00"
		n, = struct.unpack("<H", raw[8:10])
		assert (10 + n) % 64 == 0 and raw[9 + n:10 + n] == b"\n"
		head = ast.literal_eval(raw[10:10 + n].decode())
		assert head == {"descr": sys.argv[2], "fortran_order": False,
		                "shape": ast.literal_eval(sys.argv[3])}, head
		sys.stdout.buffer.write(raw[10 + n:])
	END
}

@test "--numpy: types and shapes as FTI records them; metadata that the user gives" {
	local file

	file=$(one posix-levels-odd 'L3/*/Ckpt3-Rank0.fti')
	scr_fti extract -q --numpy -o out "$file"
	numpy out/var1.npy '<i4' '(200,)' >one
	numpy out/var7.npy '|i1' '(401,)' >seven
	scr_fti extract -v 1 "$file" | cmp - one
	scr_fti extract -v 7 "$file" | cmp - seven
	scr_fti extract --numpy --dtype '>f8' -v 1 --range 80:160 "$file" >n
	numpy n '>f8' '(20,)' | cmp - <(tail -c +81 one | head -c 160)
	scr_fti extract --numpy -v 1 "$FTI/bad-F/good.fti" >n
	numpy n '|u1' '(800,)' >/dev/null
	# Dimensions, and a type of the application.
	mkdir flat
	printf 0123456789ab >flat/Ckpt1-Rank0.fti
	sector flat "var0_id = 3" "var0_typeid = 12" "var0_typesize = 2" \
		"var0_size = 12" "var0_name = grid" "var0_ndims = 2" \
		"var0_dim0 = 3" "var0_dim1 = 2"
	scr_fti extract --numpy -v 3 flat/Ckpt1-Rank0.fti >n
	numpy n '|V2' '(3, 2)' | cmp - flat/Ckpt1-Rank0.fti
	run scr_fti list flat/Ckpt1-Rank0.fti
	[[ $output == *"3     12  2 bytes  3 x 2       grid"* ]]
	warns 2 "12 bytes are not a whole number of elements of <f8" \
		scr_fti extract --numpy --dtype f8 -v 3 flat/Ckpt1-Rank0.fti
	ends 2 scr_fti extract --numpy --dtype f3 -v 3 flat/Ckpt1-Rank0.fti
	ends 2 scr_fti extract --dtype f4 -v 3 flat/Ckpt1-Rank0.fti
	rm -r flat
	local file

	file=$(one posix-levels-odd 'L3/*/Ckpt3-Rank2.fti')
	mkdir flat
	cp "$file" flat
	warns 1 "no metadata of POSIX files describe it" \
		scr_fti extract -v 1 flat/Ckpt3-Rank2.fti
	scr_fti extract -v 1 "$file" >want
	scr_fti extract -v 1 --meta "$(one posix-levels-odd 'L3/*/sector0-group0.fti')" \
		flat/Ckpt3-Rank2.fti | cmp - want
	warns 1 "does not describe Ckpt3-Rank2.fti" scr_fti extract -v 1 \
		--meta "$(one dcp-posix 'sector0-group0.fti')" flat/Ckpt3-Rank2.fti
}

@test "damaged data are refused, of a layer only what it holds; --force names them" {
	local file=$FTI/bad-F/data-flip.fti

	refuses 4 "variable 1 is damaged: bytes 0 to 799;--force" \
		scr_fti extract -v 1 "$file"
	ends 4 scr_fti extract -o out "$file"
	[ ! -e out ]
	ends 4 scr_fti extract -n -o out "$file"
	# The other variables are proven.
	scr_fti extract -v 2 "$file" |
		cmp - <(scr_fti extract -v 2 "$FTI/bad-F/good.fti")
	warns 4 "variable 1: bytes 0 to 799 are not proven by any sum" \
		scr_fti extract --force -o out "$file"
	head -c 800 "$file" | cmp - out/var1.bin
	# A record is damaged, the data are not.
	scr_fti extract -v 1 "$FTI/bad-F/myhash-flip.fti" |
		cmp - <(head -c 800 "$FTI/bad-F/good.fti")
	# Records that say another place; that contradict each other; and that
	# say none.
	for file in fptr datasize; do
		scr_fti extract -v 1 "$FTI/bad-F/$file-flip.fti" |
			cmp - <(scr_fti extract -v 1 "$FTI/bad-F/good.fti")
	done
	yields 1 "" scr_fti extract -v 1 "$FTI/bad-F/numvars-flip.fti"
	yields 1 "" scr_fti extract --force -v 1 "$FTI/bad-F/footer-only.fti"
	complains 1 "has no variable 9" scr_fti extract -v 9 "$FTI/bad-F/good.fti"
	rm -rf one
	local file

	cp -R "$FTI/dcp-posix/ckpt5" .
	chmod -R u+w ckpt5
	file=$(find ckpt5 -name dcp-id0-rank0.fti)
	scr_fti extract -q --layer 0 -o before "$file"
	# The block of layer 1 at byte 36918.
	damage "$file" 37000 X
	warns 4 "variable 1 is damaged: bytes 0 to 1023" scr_fti extract -v 1 "$file"
	scr_fti extract -v 1 --layer 0 "$file" | cmp - before/var1.bin
	scr_fti extract -v 1 --range 1024: "$file" |
		cmp - <(tail -c +1025 before/var1.bin)
	warns 4 "bytes 0 to 1023 are not proven" \
		scr_fti extract --force -v 1 -o one "$file"
}

@test "existing files: only --replace replaces them" {
	local file=$FTI/bad-F/good.fti

	mkdir out
	echo old >out/var2.bin
	complains 2 "var2.bin: exists already" scr_fti extract -o out "$file"
	[ "$(ls out)" = var2.bin ]
	ends 2 scr_fti extract -n -o out "$file"
	ends 2 scr_fti extract --force -o out "$file"
	[ "$(cat out/var2.bin)" = old ]
	ends 0 scr_fti extract --replace -n -o out "$file"
	assert_output_has "variable 1: 800 bytes would be written to out/var1.bin"
	[ "$(ls out)" = var2.bin ]
	ends 0 scr_fti extract --replace -o out "$file"
	assert_output_has "variable 2: 1600 bytes written to out/var2.bin"
	head -c 800 "$file" | cmp - out/var1.bin
	# A link is no file.
	rm out/var1.bin
	ln -s ../precious out/var1.bin
	ends 2 scr_fti extract --replace -o out "$file"
	[ ! -e precious ]
	# One variable: a file, or below a directory that exists.
	ends 0 scr_fti extract -v 1 -o single "$file"
	cmp single <(head -c 800 "$file")
	try scr_fti extract -v 7 -o out "$file"
	shows out/var7.bin scr_fti extract -v 7 --replace -o out "$file"
	ends 0 scr_fti extract -v 1 -o none/single "$file"
	cmp single none/single
	ends 0 scr_fti extract --json --replace -v 7 -o out "$file"
	[[ $output == *'"path": "out/var7.bin"'* ]]
}

@test "a failure to write leaves nothing unfinished under the names" {
	local file=$FTI/bad-F/good.fti at rc failures=0

	scr_fti extract -q -o want "$file"
	for ((at = 1; at < 25; at++)); do
		rm -rf out
		mkdir out
		rc=0
		LD_PRELOAD=$SHIM SHIM_FAIL_AT=$at SHIM_ERRNO=ENOSPC SHIM_PATH=$PWD/out \
			scr_fti extract -j 1 -o out "$file" >log 2>&1 || rc=$?
		if ((rc == 0)); then
			diff -r want out
			continue
		fi
		[ "$rc" = 1 ] || failed "call $at: status $rc: $(cat log)"
		failures=$((failures + 1))
		(($(wc -l <log) == 1)) || failed "$(cat log)"
		# What has a name is complete.
		diff -r want out >log || ! grep -v "^Only in want" log
	done
	((failures > 8)) || failed "$failures"
}

@test "through copies and parity, without a rebuild" {
	local set=posix-levels-odd file

	taken "$FTI/$set/L3" l3
	file=$(find l3 -name Ckpt3-Rank2.fti)
	scr_fti extract -q -o want "$file"
	# Damaged.
	damage "$file" 100 X
	complains 0 "damaged; its bytes come from the parity" scr_fti extract -o out "$file"
	diff -r want out
	# Missing, with its whole node.
	rm -rf "${file%/*/*/*}" out
	complains 0 "missing; its bytes come from the parity" scr_fti extract -o out "$file"
	diff -r want out
	# Another file of the group is damaged, which only its sum says: four
	# of eight are enough.
	damage "$(find l3 -name Ckpt3-RSed4.fti)" 9 X
	rm -rf out
	ends 0 scr_fti extract -o out "$file"
	diff -r want out
	# Too much is lost.
	rm "$(find l3 -name Ckpt3-Rank6.fti)" "$(find l3 -name Ckpt3-Rank4.fti)"
	rm -rf out
	warns 4 "next: scr_fti scan --checksums" scr_fti extract -o out "$file"
	[ ! -e out ]
}

@test "files of the group that contradict each other, or cannot be read: unknown" {
	local file strange

	# The sums are right, but one file is of another run.
	[ -d "$FTI/loss" ] || skip "in the complete data"
	taken "$FTI/posix-levels/L3" l3
	file=$(find l3 -name Ckpt3-Rank0.fti)
	scr_fti extract -q -o want "$file"
	strange=$(find l3 -name Ckpt3-Rank4.fti)
	damage "$strange" 100 X
	sed -i "/Ckpt3-Rank4.fti/,/ckpt_checksum/s/\(ckpt_checksum *= \).*/\1$(md5sum <"$strange" | cut -c -32)/" \
		l3/Meta/*/l3/sector0-group0.fti
	rm "$file"
	ends 1 scr_fti scan --checksums l3
	warns 1 "contradict each other: move files" scr_fti extract -o out "$file"
	[ ! -e out ]
	rm "$strange"
	ends 0 scr_fti extract -o out "$file"
	diff -r want out
	# Half of the group is left, and one file cannot be read.
	rm l3/Local/node[12]/*/l3/Ckpt3-RSed[24].fti
	rm l3/Local/node1/*/l3/Ckpt3-Rank2.fti
	ln -s nowhere "$strange"
	ends 1 scr_fti scan --checksums l3
	warns 1 "Rank4.fti is unknown" scr_fti extract -n -o out "$file"
	rm "$strange"
	ends 4 scr_fti extract -n -o out "$file"
}

@test "hostile files: an answer, never a crash, never bytes of nowhere" {
	local file rc bytes size at want

	for file in "$FTI"/bad-F/*.fti; do
		rc=0
		rm -rf out
		scr_fti extract --force -o out "$file" >log 2>&1 || rc=$?
		((rc == 0 || rc == 4 || rc == 1)) || failed "$file: $rc"
	done
	# Metadata that claim what is not there.
	mkdir flat
	printf 0123456789 >flat/Ckpt1-Rank0.fti
	while read -r bytes at size want; do
		sector flat "var0_id = 3" "var0_size = $bytes" "var0_pos = $at"
		try scr_fti extract --force -v 3 flat/Ckpt1-Rank0.fti
		# Metadata that cannot be read disprove nothing.
		[[ $status == "$want" && -z $output ]] ||
			failed "$bytes $at $size: $status"
	done <<-'END'
		11 0 11 4
		9223372036854775807 0 9223372036854775807 4
		1 9223372036854775807 10 1
		-1 0 10 1
		5 8 10 4
		8 5 9223372036854775807 4
	END
	# The same id twice would be the same file twice.
	size=10 sector flat var{0,1}"_id = 3" var{0,1}"_size = 5"
	try scr_fti extract -o out2 flat/Ckpt1-Rank0.fti
	[[ $status != 0 && ! -e out2 ]]
	assert_stderr_has "variable 3 occurs twice"
}

@test "files of more than 4 GiB" {
	local size=$(((4 << 30) + 70000))

	[[ -n ${SCRKIT_SLOW-} ]] || skip "slow"
	mkdir flat
	truncate -s $size flat/Ckpt1-Rank0.fti
	damage flat/Ckpt1-Rank0.fti $((size - 3)) END
	sector flat "var0_id = 1" "var0_size = $((size - 3))" "var1_id = 2" \
		"var1_size = 3"
	[ "$(scr_fti extract -v 2 flat/Ckpt1-Rank0.fti)" = END ]
	scr_fti extract -q -o out flat/Ckpt1-Rank0.fti
	[ "$(stat -c %s out/var1.bin)" = $((size - 3)) ]
	# Zeros stay holes.
	(($(stat -c %b out/var1.bin) < 10000))
}

@test "usage" {
	local file=$FTI/bad-F/good.fti args

	for args in "" "$file $file" "$file" "-v 1 -v 2 $file" "-v x $file" \
		"-v 4294967297 $file" "--replace -v 1 $file" "-v 1 --layout G $file"; do
		# shellcheck disable=SC2086 # words
		yields 2 "" scr_fti extract $args
	done
	complains 1 "none;No such file" scr_fti extract -v 1 none
	ends 1 scr_fti extract -v 1 .
	complains 1 "is a parity file: it holds no variables" \
		scr_fti extract -o out "$(one levels-E-v1.6 'L3/*/Ckpt3-RSed0.fti')"
}
