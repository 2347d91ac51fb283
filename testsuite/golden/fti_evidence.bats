#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What scr_fti says of a checkpoint follows from all evidence: every file must fit
# its partners.

load golden

setup() { fti_setup; }

# The check has always the same cases, the slow form new ones: some FEW MANY.
some() { if [ -n "${SCRKIT_SLOW-}" ]; then echo "$2"; else echo "$1"; fi; }
seed() { echo "${SCRKIT_SEED:-$(some 1 "$RANDOM")}"; }

# judged STATE STATUS DIR: scan with checksums says so of the only checkpoint.
judged() {
	run scr_fti scan --checksums "$3"
	[ "$status" = "$2" ] || failed "$3: status $status: $output"
	grep -qE "^  (L[1-4]|dCP) .* $1( |$)" <<<"$output" || failed "$3: $output"
}

@test "33.5, 33.21: every combination of what the witnesses of a checkpoint say" {
	run python3 "$SCRKIT_ROOT/testsuite/campaign/fti_table.py" \
		--sample "$(some 80 1000000)" --seed "$(seed)"
	[[ $status = 0 && $output == *" combinations, 0 wrong; "* ]] || failed "$output"
}

@test "33: random damages of life" {
	run python3 "$SCRKIT_ROOT/testsuite/campaign/fti.py" \
		--cases "$(some 60 1000)" --seed "$(seed)"
	[ "$status" = 0 ] || failed "$output"
}

@test "33.13: each bit of a record or value comes back, or the checkpoint is unknown" {
	run python3 "$SCRKIT_ROOT/testsuite/campaign/fti.py" --sweep \
		--cases "$(some 100 3000)" --seed "$(seed)"
	[ "$status" = 0 ] || failed "$output"
}

@test "33.5: a rank's file copied over another's is not whole" {
	local set dir

	for set in levels-A-v1.1/L3 levels-E-v1.6/L3; do
		copy $set
		dir=$(echo c/Local/node1/*/l3)
		cp "$dir/Ckpt3-Rank2.fti" "$dir/Ckpt3-Rank3.fti"
		judged unknown 1 c
		[[ $output == *"contradict each other: move files"* ]] || failed "$output"
		rm "$dir/Ckpt3-Rank3.fti"
		judged rebuildable 3 c
		follow
		[ "$status" = 0 ] || failed "$output"
		cmp "$dir/Ckpt3-Rank3.fti" "$FTI/$set/${dir#c/}/Ckpt3-Rank3.fti"
		judged whole 0 c
	done
	# No other file tells which of the two is right.
	copy head-F/L4
	dir=$(echo c/Global/*/l4)
	cp "$dir/Ckpt4-Rank1.fti" "$dir/Ckpt4-Rank2.fti"
	judged unknown 1 c
	[[ $output == *"ranks 1 and 2 have the same file"* ]] || failed "$output"
	answers 1 "" scr_fti restart -n --select 4 c
	answers 1 "" scr_fti archive -n c
}

@test "33.13: damaged names, sizes and sums in POSIX metadata are no loss" {
	local level sector change words

	[ -d "$FTI/loss" ] || skip "in the complete data"
	for level in 1 2 3 4; do
		while IFS='|' read -r change words; do
			copy "posix-levels-odd/L$level"
			sector=$(echo c/Meta/*/"l$level/sector0-group1.fti")
			sed -i "$change" "$sector"
			run scr_fti scan --checksums --files c
			[[ $status = [13] && $output == *"$words"* ]] ||
				failed "L$level: $change: $output"
			run scr_fti rebuild c
			cmp "$sector" <(sed "$change" "$FTI/posix-levels-odd/L$level/${sector#c/}")
		done <<-'END'
			0,/ Ckpt/s// Dkpt/|lack their metadata
			0,/-Rank1[.]/s//-Rank7./|lack their metadata
			0,/\(_size *= \)[0-9]/s//\19/|ckpt_file_size is
			0,/\(_size *= \)[0-9]*/s//\1x/|ckpt_file_size: "x"
			0,/\(_checksum *= \)./s//\1x/|ckpt_checksum is damaged
		END
	done
	# What they say of parity; only level 3 has it.
	while IFS='|' read -r change words; do
		copy posix-levels-odd/L3
		sed -i "$change" c/Meta/*/l3/sector0-group1.fti
		judged whole 0 c
		[[ $output == *"FTI refuses 1 of "*" parity files; Ckpt"*"$words"* ]] ||
			failed "$change: $output"
	done <<-'END'
		0,/\(_maxs *= \)[0-9]/s//\19/|bytes, expected 9
		0,/\(rsed_checksum *= \)./s//\1x/|rsed_checksum is damaged
	END
}

@test "33.13: MPI-IO, one file of all ranks" {
	local dir r

	copy posix-levels-odd/L4
	dir=$(echo c/Global/*/l4)
	for r in 0 1 2 3 4 5 6 7; do
		cat "$dir/Ckpt4-Rank$r.fti"
	done >all
	rm "$dir"/*
	mv all "$dir/Ckpt4-mpiio.fti"
	judged whole 0 c
	[[ $output == *"MPI-IO"*"FTI restarts from L4, checkpoint 4"* ]]
	flip "$dir/Ckpt4-mpiio.fti" 5000
	judged lost 4 c
	[[ $output == *"1 of 8 ranks lack a good file"* ]]
}

@test "33.13: flat files, and directories with the names of nodes" {
	local set=levels-E-v1.6/L3 n=0 host

	copy $set
	mkdir flat
	cp c/Local/*/*/l3/*.fti flat
	judged whole 0 flat
	rm flat/Ckpt3-Rank[01].fti
	answers 0 "rebuilt 2 files" scr_fti rebuild --node-size 2 --group-size 4 flat
	cmp flat/Ckpt3-Rank1.fti "$FTI/$set"/Local/node0/*/l3/Ckpt3-Rank1.fti
	for host in nid0007 nid0009 nid0100 nid0101; do
		mv "c/Local/node$n" "c/Local/$host"
		sed -i "s/node$((n++))/$host/" c/Meta/*/Topology.fti
	done
	rm c/Local/nid0009/*/l3/*
	rmdir -p c/Local/nid0009/*/l3 || true
	sed -i '/node_size/d' c/config.fti
	judged rebuildable 3 c
	follow
	[ "$status" = 0 ] || failed "$output"
	cmp c/Local/nid0009/*/l3/Ckpt3-Rank2.fti \
		"$FTI/$set"/Local/node1/*/l3/Ckpt3-Rank2.fti
}

@test "33.13: flat files of a job with heads" {
	[ -d "$FTI/loss" ] || skip "in the complete data"
	local level

	for level in L1 L2 L3 L4; do
		rm -rf flat
		mkdir flat
		find "$FTI/head-F/$level" -name "Ckpt*" -exec cp {} flat \;
		answers 1 "if they are heads: --heads --node-size" scr_fti scan flat
		answers 1 "" scr_fti scan --group-size 4 flat
		answers 0 whole scr_fti scan --heads --node-size 3 flat
		rm flat/Ckpt?-Rank5.fti
		run scr_fti scan --group-size 4 --heads --node-size 3 flat
		case $level in
		L1 | L4) [ "$status" = 4 ] || failed "$output" ;;
		*)
			[ "$status" = 3 ] || failed "$output"
			follow
			[ "$status" = 0 ] || failed "$output"
			;;
		esac
	done
}

@test "33.17: FTI stops without Topology.fti; an empty one is enough" {
	copy levels-E-v1.6/L3
	rm c/Meta/*/Topology.fti
	judged whole 3 c
	[[ $output == *"it stops without its Topology.fti"* ]] || failed "$output"
	answers 3 "" scr_fti restart --select 3 c
	follow
	judged whole 0 c
	[[ $output == *"FTI restarts from L3, checkpoint 3" ]] || failed "$output"
}

@test "33.17: compacted files of level 3 do not fit the parity" {
	local set=levels-E-v1.6/L3 file

	copy $set
	for file in c/Local/*/*/l3/*Rank*.fti; do
		scr_fti convert -q --to E --compact -o x "$file"
		mv x "$file"
	done
	answers 1 "contradict each other" scr_fti scan c
	rm c/Local/*/*/l3/*Rank*.fti
	answers 3 rebuildable scr_fti scan c
	follow
	[ "$status" = 0 ] || failed "$output"
	cmp c/Local/node0/*/l3/Ckpt3-Rank0.fti "$FTI/$set"/Local/node0/*/l3/Ckpt3-Rank0.fti
}

@test "33.17: variables that have become smaller, at level 3" {
	run python3 "$SCRKIT_ROOT/testsuite/campaign/fti.py" --form shrunk \
		--cases "$(some 40 600)" --seed "$(seed)"
	[ "$status" = 0 ] || failed "$output"
}

@test "33.17: a differential checkpoint has its id" {
	answers 3 "" scr_fti scan "$FTI/dcp-F/ckpt4"
	[[ $output == *"dCP     4  FTI-FF F"* ]] || failed "$output"
	[ -d "$FTI/loss" ] || skip "in the complete data"
	answers 0 "FTI restarts from dCP, checkpoint 5" \
		scr_fti scan "$FTI/dcp-posix/ckpt5"
}

@test "33.23: what cannot be read is named only if it matters" {
	restricted
	copy head-F/L4
	rm -r c/Local
	mkdir -m 700 c/Global/stash
	chmod 0 c/Global/stash
	answers 0 whole "${as[@]}" scr_fti scan c
	rm c/Global/*/l4/Ckpt4-Rank1.fti
	answers 1 "directory that cannot be read: Global/stash" \
		"${as[@]}" scr_fti scan c
	rmdir c/Global/stash
	answers 4 lost "${as[@]}" scr_fti scan c
}

@test "33.23: a file that is cut is unknown, not lost, unless it is empty" {
	copy head-F/L4
	rm -r c/Local
	truncate -s -50 c/Global/*/l4/Ckpt4-Rank1.fti
	judged unknown 1 c
	truncate -s 0 c/Global/*/l4/Ckpt4-Rank1.fti
	judged lost 4 c
}

@test "33.24: the time of a checkpoint is that of its records; -q prints no table" {
	answers 0 "2026-11-20 23:01:42" scr_fti scan "$FTI/levels-A-v1.1/L3"
	run -0 scr_fti scan -q "$FTI/levels-A-v1.1/L3"
	[ -z "$output" ]
}

@test "33.13: what a level lacks, and another level has, is not lost" {
	[ -d "$FTI/loss" ] || skip "in the complete data"
	local exec file

	# A head copies L4 from its replica.
	copy head-F/L4
	rm c/Global/*/l4/Ckpt4-Rank[14].fti
	judged unknown 1 c
	file=$(sed -n 's/.*; \(.*Rank1.fti\) at replica may give it: copy it to \(.*Rank1.fti\).*/c\/\1 c\/\2/p' <<<"$output")
	# shellcheck disable=SC2086 # two names
	cp $file
	judged unknown 1 c
	[[ $output == *Rank4.fti* ]] || failed "$output"
	cp c/Local/*/*/lL4Dir/Ckpt4-Rank4.fti c/Global/*/l4
	judged whole 0 c
	# The replica of a node is lost with it; that is no loss.
	rm -r c/Local/node1
	answers 1 "L4        4  FTI-FF F    8/8 " scr_fti scan c
	[[ $output == *"FTI restarts from L4, checkpoint 4"* ]] || failed "$output"
	# L4 may come from L3, when that is rebuilt.
	copy levels-F-even/L4
	exec=$(basename c/Global/*)
	scr_fti protect -q --level 3 c
	rm c/Local/node1/"$exec"/l3/* c/Global/"$exec"/l4/Ckpt4-Rank2.fti
	answers 1 "the parity at L3 may give it" scr_fti scan c
	follow
	answers 1 "Ckpt4-Rank2.fti at L3 may give it: copy it to Global/$exec/l4/Ckpt4-Rank2.fti" \
		scr_fti scan c
	[[ $output == *"FTI restarts from L3, checkpoint 4"* ]] || failed "$output"
	# L1 may come from the copies at L2, when these are rebuilt.
	copy levels-F-even/L1
	scr_fti protect -q --level 2 c
	rm -r c/Local/node1
	answers 1 "the copy at L2 may give it" scr_fti scan c
	follow
	answers 1 "Ckpt1-Rank2.fti at L2 may give it: copy it to Local/node1/" \
		scr_fti scan c
	for file in c/Local/node1/*/l2/Ckpt1-Rank[23].fti; do
		mkdir -p "${file%/l2/*}/l1"
		cp "$file" "${file%/l2/*}/l1"
	done
	answers 0 "FTI restarts from L1, checkpoint 1" scr_fti scan c
}

@test "33.13: a lost file whose metadata have no checksum is unknown" {
	local sector

	[ -d "$FTI/loss" ] || skip "in the complete data"
	for set in posix-levels posix-levels-odd; do
		copy "$set/L3"
		sector=$(echo c/Meta/*/l3/sector0-group1.fti)
		sed -i '0,/^ckpt_checksum/{/^ckpt_checksum/d}' "$sector"
		judged unknown 1 c
		rm c/Local/node0/*/l3/Ckpt*-Rank1.fti
		judged unknown 1 c
		[[ $output == *"Rank1.fti: its metadata have no checksum of it"* &&
			$output != *contradict* && $output != *next:* ]] || failed "$output"
		run -1 scr_fti rebuild c
		[[ $output == *"have no checksum of it"* ]] || failed "$output"
	done
}

@test "33.13: a cut file does not tell the layout of the others" {
	[ -d "$FTI/loss" ] || skip "in the complete data"
	local file

	copy levels-C-v1.3/L3
	scr_fti convert -q --to D -o d c
	scr_fti rebuild -q d
	file=$(echo d/Local/node0/*/l3/Ckpt3-Rank0.fti)
	cp -R d whole
	truncate -s -33 "$file"
	rm "$(dirname "$file")"/Ckpt3-RSed1.fti
	answers 3 "FTI-FF D" scr_fti scan --checksums d
	[[ $output == *rebuildable* ]] || failed "$output"
	follow
	[ "$status" = 0 ] || failed "$output"
	diff -r -x .scrkit.lock -x '*RSed*' d whole || failed "not as before"
}
