#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2086 # several words, a pattern

load damaged

setup() {
	in_no_job
	all="-n 8 -m 4 -f 2 -s 10000,5000"
	args=(--ranks 8 --nodes 4 --size "10000,5000" --files 2
		--recorded-prefix /job/p)
}

# make NAME OPTION...: make a dataset on prefix NAME, 8 ranks on 4 nodes, and
# NAME.whole, which is the same without losses.
make() {
	local name=$1

	shift
	gen -p "$name" --nodes-dir "$name.nodes" "${args[@]}" "$@"
	gen -p "$name.whole" --nodes-dir "$name.whole.nodes" "${args[@]}" "$@" --lose ""
}

# The dataset is as it was before the loss.
assert_whole() {
	diff -r -x .scrkit.lock -x flush.scr "$1" "$1.whole"
}

@test "usage errors; missing datasets: one line with advice" {
	misused "no dataset given" scr_rebuild
	misused --rs scr_rebuild --xor --rs file
	misused nonsense scr_rebuild --nonsense 1
	misused 1K scr_rebuild --memory 1K 1
	mkdir -p p/.scr
	complains 1 "1;scr_inspect" scr_rebuild -p p 1
	complains 1 "nothing;scr_inspect" scr_rebuild -p p nothing
	complains 1 nowhere scr_rebuild -p nowhere 1
	complains 2 "of one dataset" scr_rebuild a b
}

# gone NODE...: the two ranks of each.
gone() {
	local node rank

	for node; do
		for rank in $((2 * node)) $((2 * node + 1)); do
			rm $f/rank_${rank}_* $D/filemap_$rank $D/*.er.$rank.*
		done
	done
}

# bare RANK...: their redundancy files.
bare() {
	local rank

	for rank; do rm $D/reddesc.er.$rank.*grp*; done
}

@test "what a scheme restores is restored bit for bit, data and redundancy" {
	local next="all of it can be rebuilt;next:       scr_rebuild -p p 1"

	damaged <<-'END'
		XOR $all|gone 2|3||rebuild
		PARTNER $all or RS $all|gone 1|3||rebuild
		PARTNER $all|gone 0 2|3||rebuild
		RS $all|gone 0 3|3||rebuild
		XOR $all|rm $f/rank_{0,2}_* $f/rank_1_0.ckpt; bare 0 2|4|set 1 of 2|ends 4 scr_rebuild -p p 1
		XOR $all --crc|damage $f/rank_3_0.ckpt 77|0, 3 --checksums||rebuild --checksums
		RS $all --crc|gone 2; damage $f/rank_0_0.ckpt 77|3||rebuild --verify
		RS $all|damage $f/rank_3_1.ckpt 77|0, 3 --deep||rebuild --deep --verify
		XOR $all|damage $f/rank_3_1.ckpt 77|3 --deep|is inconsistent|refused 3 --deep
	END
	# Redundancy that is lost is computed again from the data: of a part of a set,
	# and of a set without a file.
	damaged <<-'END'
		XOR $all or RS -k 2 $all or PARTNER $all|bare 0 2 4|3|ranks 0 2 4 lack;$next|rebuild
		RS -k 2 $all pack=8000 or PARTNER -k 2 $all pack=8000|bare 0 2 4|3|ranks 0 2 4 lack;$next|rebuild
		XOR $all or RS -k 2 $all or PARTNER -k 2 $all|bare 0 2 4 6|3|ranks 0 2 4 6 lack;$next|rebuild
		XOR $all pack=8000 or PARTNER $all pack=8000|bare 0 2 4 6|3|ranks 0 2 4 6 lack;$next|rebuild
	END
	# Of PARTNER, no file that is left may name the ranks of the members.  They are
	# those of the set over the filemaps, or any that are in no set.
	damaged <<-'END'
		PARTNER $all --cyclic|bare 0 1 2|3|$next|~rebuild
		PARTNER $all --cyclic|bare 0 1 2 3|3|$next|~rebuild
		PARTNER $all --cyclic|rm $D/reddesc{,map}.er.{0,1,2,4,5}.*|3|$next|~rebuild
		PARTNER $all --cyclic|rm $D/reddescmap.er.{0,1,5,6}.*|3|$next|~rebuild
		PARTNER $all --cyclic|rm $D/reddesc{,map}.er.{0,1,2,4,5}.*; scr_rebuild -q -p p 1; rm $f/rank_[05]_* $D/filemap_[05]|||~rebuild
		PARTNER $all --cyclic|rm $D/reddescmap.er.{0,1,5,6}.*; scr_rebuild -q -p p 1; rm $f/rank_[05]_* $D/filemap_[05]|||~rebuild
	END
}

# holds FILE: the first container that has bytes of it.
holds() { scr_container -p p list -o file,where 1 | awk -v f=$1 '$1 == f { print $2 }'; }

@test "packed: containers of data and redundancy, of any size, are rebuilt in place" {
	damaged <<-'END'
		XOR $all pack=30000 red|rm $C/ctr.2.scr|3|.scr/ctr.2.scr |rebuild
		XOR $all pack=1000 red|rm $C/red.3.scr|3|.scr/red.3.scr |rebuild
		XOR $all pack=1000 red|rm $C/ctr.{0,20}.scr|3||rebuild
		XOR -n 7 -m 7 --set-size 3 -f 2 -s 9000,0 pack=9000 red|rm $C/ctr.1.scr|3||rebuild
		RS $all -k 2 pack=30000 red|rm $C/ctr.1.scr $C/red.0.scr|3||rebuild
		RS -n 8 -m 8 -k 3 -f 2 -s 9000,0 pack=20000 red|rm $C/ctr.{0,1}.scr $C/red.1.scr|3||rebuild
		RS -k 2 pack=9000 red|rm $C/ctr.{0,3}.scr|3||rebuild
		PARTNER $all pack=20000 red|rm $C/ctr.0.scr|3||rebuild
		RS $all -k 2 sums pack=60000 red|flip $C/ctr.0.scr 100; flip $C/ctr.1.scr 20000|3 --checksums|ctr.0.scr;ctr.1.scr|rebuild --checksums
		XOR $all pack=50000 red|truncate -s 1234 $C/ctr.1.scr|3||build
		XOR $all pack=20000|rm $C/ctr.5.scr|3||rebuild
		XOR $all pack=30000 red|rm $C/ctr.1.scr; mv p q; ends 0 scr_rebuild -p q 1; mv q p|||same
		XOR -f 2 -s 3000,1500 sums pack=8000 red or RS -k 1 -f 2 -s 3000,1500 sums pack=8000 red|flip $C/red.1.scr 300; rm $D/$(holds ckpt.1/rank_2_0.ckpt)|3||rebuild
		XOR $all pack=30000 red|rm $C/ctr.[0-9].scr; renew p lost|4|set 1 of 2;members|ends 4 scr_rebuild -p p 1
	END
	diff -r -x .scrkit.lock p lost
}

@test "a second run finds nothing to do, and changes nothing; -q" {
	make p --lose 1
	shows "rebuilt: " scr_rebuild -p p 1
	[[ $stderr == "scr_rebuild: next: scr_index -p p --build 1" ]]
	rm -r p p.*
	make p --lose 1
	prints "" scr_rebuild -q --verify -p p 1
	assert_stderr_empty
	before=$(tree_stat p)
	shows "nothing to rebuild" scr_rebuild -p p 1
	[ "$before" = "$(tree_stat p)" ]
}

@test "33.24 nothing to rebuild: what was compared, and what was not" {
	gen -p p -n 4 -t XOR --crc
	gen -p q -n 4 -t SINGLE
	while IFS=: read -r prefix options words; do
		ends 0 scr_rebuild -p "$prefix" $options 1
		assert_line "^nothing to rebuild: all files, filemaps and redundancy files are present; $words\$"
	done <<-\END
		p::not compared: checksums [(]--checksums[)], redundancy [(]--deep[)]
		p:--deep:data and redundancy agree; not compared: checksums [(]--checksums[)]
		p:--checksums:checksums of 4 of 4 files compared; not compared: redundancy [(]--deep[)]
		p:--checksums --deep:checksums of 4 of 4 files compared; data and redundancy agree
		q:--checksums --deep:checksums of 0 of 4 files compared; no redundancy to compare the data with
	END
}

@test "--verify reads all of it again; JSON of a rebuild" {
	make p --lose 1
	shows "verified: 4 sets;agree" scr_rebuild --verify -p p ckpt.1
	shows "nothing to rebuild;verified: 4 sets" scr_rebuild --verify -p p ckpt.1
	rm -r p p.*
	make p --lose 2
	ends 0 scr_rebuild --json --verify -p p 1
	assert_output_has '"file_count": 4' '"filemap_count": 2' '"redundancy_file_count": 4' \
		'"findings": []' '"status": 0'
	make q --lose 1,2
	ends 4 scr_rebuild --json -p q 1
	assert_output_has '"dataset 1: set' '"status": 4'
}

# Lose a rank of the dataset, or two containers, and compare the bytes that the
# plan promises, those of the result, and those on disk.
@test "--dry-run has the bytes of the run" {
	dir=p/.scr/scr.dataset.1
	for type in XOR "RS --failures 2" PARTNER; do
		for packed in false true; do
			rm -rf p p.nodes
			built p 1 -n 8 -m 8 -f 2 -s 5K,300 -t $type
			if $packed; then
				scr_container -q -p p pack --size 9000 \
					--with-redundancy 1
				rm $dir/.scr/ctr.3.scr
			else
				rm p/ckpt.1/rank_3_* $dir/*.er.3.* $dir/filemap_3
			fi
			ends 3 scr_rebuild -n --json -p p 1
			promised=$(jq -c '.plan.totals | [.bytes_to_read,
				.bytes_to_write]' <<<"$output")
			find p -type f >before
			ends 0 scr_rebuild --json -p p 1
			[ "$promised" = "$(jq -c '.rebuilt | [.bytes_read,
				.bytes_written]' <<<"$output")" ] ||
				failed "promised: $promised"
			$packed || {
				written=$(find p -type f -printf '%s+ %p\n' |
					grep -vFf before -e scrkit.lock |
					cut -d ' ' -f 1 | tr -d '\n')
				[ "$(jq .rebuilt.bytes_written <<<"$output")" = \
					"$((${written}0))" ]
			}
		done
	done
}

@test "--dry-run reports what would be done, exit status 3, and does nothing" {
	make p --lose 2
	before=$(tree_stat p)
	ends 3 scr_rebuild -n -p p 1
	assert_output_has "set 1 of 2, XOR over the files: rank 4, computed from ranks 0 2 6" \
		"ckpt.1/rank_4_0.ckpt" "to be read: "
	[ "$before" = "$(tree_stat p)" ]
	ends 3 scr_rebuild -n --json -p p 1
	assert_output_has '"plan": {' '"status": 3'
	scr_rebuild -q -p p 1
	ends 0 scr_rebuild -n -p p 1
}

@test "too much is lost: refused with set and ranks, exit 4, nothing changed" {
	make p --lose 1,2
	before=$(tree_stat p)
	for more in "" --dry-run --verify --json; do
		ends 4 scr_rebuild $more -p p 1
	done
	[ "$before" = "$(tree_stat p | grep -v scrkit.lock)" ] ||
		diff <(echo "$before") <(tree_stat p | grep -v scrkit.lock)
	complains 4 "dataset 1: set 1 of 2 (XOR;ranks 2 4" scr_rebuild -p p 1
}

@test "--partial rebuilds the sets that can be, exit status 4" {
	make p --lose ""
	rm $f/rank_{0,2}_*.ckpt $f/rank_1_0.ckpt
	bare 0 2
	ends 4 scr_rebuild -p p 1
	[ ! -e $f/rank_1_0.ckpt ]
	warns 4 "set 1 of 2" scr_rebuild --partial -p p 1
	cmp $f/rank_1_0.ckpt p.whole/ckpt.1/rank_1_0.ckpt
	[ ! -e $f/rank_0_0.ckpt ]
}

# Names can claim more than a scheme can do: that is no reason to fail.
@test "names can claim too much" {
	make p --ranks 520 --files 1 --size 100 -t RS --set-size 4 -k 2
	scr_index -q -p p --build 1
	cd p/.scr/scr.dataset.1
	find . -name 'reddesc.er.*.rs.grp_*' ! -name '*.grp_1_of_*' -delete
	for file in reddesc.er.*.rs.grp_1_of_*; do
		mv "$file" "${file/grp_1_of_*.mem/grp_1_of_2.mem}"
	done
	cd ../../..
	for command in scr_inspect "scr_index --verify" scr_rebuild; do
		try $command -p p 1
		((status == 0 || status == 3))
	done
}

@test "the directory of a dataset, and SCR_PREFIX; bare redundancy files" {
	make p --lose 2
	ends 0 scr_rebuild p/.scr/scr.dataset.1
	assert_whole p
	make q --lose 2
	SCR_PREFIX=q ends 0 scr_rebuild ckpt.1
	assert_whole q
	dir=$(golden scr3/redset_rs/n5_k3)
	taken "$dir" r
	cd r
	names=(rank_*/*.rs.grp*)
	rm rank_1/* rank_3/a_3.dat rank_3/*.rs.grp*
	ends 0 scr_rebuild --rs --verify --moved-from \
		/tmp/scrgold/redset_rs/n5_k3 "${names[@]}"
	rm -f .scrkit.lock
	diff -r . "$dir"
}

@test "the caches of the surviving nodes" {
	make p --layout cache --lose 2
	ends 0 scr_rebuild --verify p.nodes/*/cache/*/scr.1000/scr.dataset.1
	# Without shuffile files LLNL's library does not find them.
	assert_output_has "not for a restart" scr_postrun
	assert_output_has "rebuilt: 4 files, 2 filemaps"
	ends 0 scr_inspect p.nodes
	for rank in 4 5; do
		for file in rank_${rank}_0.ckpt rank_${rank}_1.ckpt; do
			cmp "$(find p.nodes -name "$file")" \
				"$(find p.whole.nodes -name "$file")"
		done
	done
	make p --layout cache --id 2 --lose 2
	complains 2 "2 datasets" scr_rebuild p.nodes
}

@test "as LLNL's helpers: map first, then the data; called by their names" {
	make p --lose 2
	cd p/.scr/scr.dataset.1
	for set in 1 2; do
		shows "1 filemap" scr_rebuild --xor map \
			reddescmap.er.*.xor.grp_${set}_of_2.*
	done
	ends 0 scr_rebuild --xor xor reddesc.er.*.xor.grp_1_of_2.*
	[[ -e ../../ckpt.1/rank_4_0.ckpt && ! -e ../../ckpt.1/rank_5_0.ckpt ]]
	ends 0 scr_rebuild --xor --verify reddesc.er.*.xor.grp_2_of_2.*
	cd ../../..
	assert_whole p
	for type in XOR RS PARTNER; do
		name=${type,,}
		rm -rf p p.*
		make p --type $type --lose 1
		ln -s "$BIN/scr_rebuild" "scr_rebuild_$name"
		(
			cd p/.scr/scr.dataset.1
			../../../scr_rebuild_"$name" map reddescmap.er.*."$name".*
			../../../scr_rebuild_"$name" "$name" reddesc.er.*."$name".*
		)
		assert_whole p
	done
}

@test "files given by hand: wrong type, wrong name, none; filemaps come first" {
	make p --lose 2
	f=p/.scr/scr.dataset.1/reddesc.er.0.xor.grp_1_of_2.mem_1_of_4.redset
	complains 2 "type XOR, not RS" scr_rebuild --rs $f
	complains 2 "not the name of a redundancy file" \
		scr_rebuild --xor p/ckpt.1/rank_0_0.ckpt
	complains 2 "no redundancy file given" scr_rebuild --xor map
	cd p/.scr/scr.dataset.1
	before=$(tree_sha .)
	complains 4 filemap scr_rebuild --xor reddesc.er.*.xor.grp_1_of_2.*
	[ "$before" = "$(tree_sha . | grep -v scrkit.lock)" ]
}

@test "caches: redundancy of an older dataset with the same number is not used" {
	local dirs=() node

	in_no_job
	# Each node's redundancy of the older one is in older/node*, too.
	gen -p p -n 4 --layout cache --nodes-dir older -s 3000 --lose "" \
		--time 1700000000 --seed 1
	gen -p p -n 4 --layout cache --nodes-dir nodes -s 3000 --lose "" \
		--time 1700100000 --seed 2
	cp -a nodes good
	dirs=(nodes/node*/cache/*/*/scr.dataset.1)
	for node in 0 1 2 3; do
		cp "${dirs[node]/nodes/older}"/.scr/reddesc.er.$node.* \
			"${dirs[node]}/.scr"
	done
	rm "${dirs[2]}"/rank_2.*
	complains 4 "another dataset" scr_rebuild "${dirs[@]}"
	[[ -z $(ls "${dirs[2]}") ]]
	# Its own redundancy restores it.
	for node in 0 1 2 3; do
		cp "${dirs[node]/nodes/good}"/.scr/reddesc.er.$node.* \
			"${dirs[node]}/.scr"
	done
	scr_rebuild -q "${dirs[@]}"
	cmp "${dirs[2]}"/rank_2.* "${dirs[2]/nodes/good}"/rank_2.*
}
