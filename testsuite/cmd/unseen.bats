#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # bats sets them
# What could not be looked at is unknown (status 1), not lost; what was renamed
# by hand is named; lines about a loss name only what is lost.

load helper

setup() {
	in_no_job
	# A directory that a stranger can reach.
	place=$(mktemp -d /tmp/scrkit-unseen.XXXXXX)
	chmod 755 "$place"
	cd "$place" || return 1
}

teardown() {
	rm -rf "$place"
}

# saved [ID [OPTION]...]: checkpoint ID of 4 ranks on prefix p, in the index.
saved() {
	local id=${1-1}

	"$GEN/gen_dataset" -q -p p -n 4 --set-size 2 -s 1000 -i "$id" \
		--recorded-prefix "$PWD/p" "${@:2}"
	scr_index -q -p p --build "$id"
	meta=p/.scr/scr.dataset.$id
}

assert_stderr_lacks() {
	[[ $stderr != *"$1"* ]] || failed "not expected in stderr: $1"
}

# stranger STATUS COMMAND...: as somebody who is neither root nor the owner.
stranger() {
	become 65534
	ends "$1" "${as[@]}" "${@:2}"
}

# unknown TEXT: for a stranger, dataset 1 is unknown because of TEXT, and the
# other datasets are still shown.
unknown() {
	stranger 1 scr_inspect -p p
	[[ $output =~ ckpt.1.*unknown ]] || failed "ckpt.1 is not unknown"
	[[ $output =~ ckpt.2.*whole ]] || failed "ckpt.2 is not whole"
	assert_output_has "$1"
	assert_output_lacks " lost"
	stranger 1 scr_index -p p --verify
	[[ $output =~ 1\ unknown ]] || failed "1 is not unknown"
	[[ $output =~ 2\ whole ]] || failed "2 is not whole"
	assert_stderr_has "$1"
}

@test "what another user may not read or search is unknown" {
	saved 1
	saved 2
	cp -a p good
	while IFS='|' read -r text damage; do
		echo "$damage"
		chmod -R u+rwX p
		rm -rf p q
		cp -a good p
		eval "$damage"
		unknown "$text"
	done <<-'END'
		Permission denied|chmod 700 p/.scr/scr.dataset.1
		Permission denied|chmod 000 p/ckpt.1
		Permission denied|chmod 000 p/ckpt.1; flushed
		Permission denied|mv p q; ln -s q p; chmod 000 q/ckpt.1
		filemap_2|chmod 600 p/.scr/scr.dataset.1/filemap_2
		summary.scr|chmod 600 p/.scr/scr.dataset.1/summary.scr
		rank2file.0.0|chmod 600 p/.scr/scr.dataset.1/rank2file.0.0
		Permission denied|rm p/ckpt.1/rank_1.ckpt; chmod 600 p/.scr/scr.dataset.1/redd*
		rank_1.ckpt|chmod 000 p/ckpt.1/rank_1.ckpt
		rank_1.ckpt|chmod 000 p/ckpt.1/rank_1.ckpt; flushed
	END
}

# As a flush of LLNL's library leaves dataset 1.
flushed() { rm p/.scr/scr.dataset.1/{filemap,reddesc}*; }

# At first sight, and as when it is read.  Nothing is rebuilt or indexed.
@test "a file that this user may not read, without an index" {
	become 65534
	for type in XOR SINGLE; do
		for mode in 000 600; do
			rm -rf p nodes
			"$GEN/gen_dataset" -q -p p -n 4 -t $type -s 1000 \
				--owner 65534
			chown -R 65534 p
			chmod $mode p/ckpt.1/rank_1.ckpt
			[[ $mode == 000 ]] || chown 0 p/ckpt.1/rank_1.ckpt
			kept=$(tree_sha p)
			next="  next:       chmod u+r p/ckpt.1/rank_1.ckpt"
			[[ $mode == 000 ]] || next="Permission denied"
			for deep in "" --deep; do
				stranger 1 scr_inspect -p p -d 1 ${deep:+"$deep"}
				assert_output_has "state       unknown" \
					"ckpt.1/rank_1.ckpt: cannot read: Permission denied" \
					"$next"
				assert_output_lacks tolerates lack "to be rebuilt"
				stranger 1 scr_index -p p ${deep:+"$deep"} --build 1
				assert_stderr_has rank_1.ckpt "next: scr_inspect -p p ${deep:+$deep }1"
			done
			stranger 1 scr_rebuild -p p 1
			assert_stderr_has rank_1.ckpt "next: scr_inspect -p p 1"
			stranger 1 scr_inspect --json -p p -d 1
			[[ $(grep -c '"state": "unknown"' <<<"$output") == 2 ]]
			diff <(echo "$kept") <(tree_sha p)
			ends 0 scr_inspect -p p -d 1
		done
		# Redundancy does not replace it, either.
		rm p/ckpt.1/rank_2.ckpt
		stranger $((${#type} > 3 ? 4 : 1)) scr_rebuild -p p 1
	done
	# The next line leads on.
	rm -rf p
	"$GEN/gen_dataset" -q -p p -n 4 -t XOR -s 1000
	chmod 0 p/ckpt.1/rank_1.ckpt
	chown -R 65534 . p
	"${as[@]}" chmod u+r p/ckpt.1/rank_1.ckpt
	stranger 0 scr_index -p p --build 1
	stranger 0 scr_inspect -p p 1
}

@test "a file in a cache that this user may not read" {
	dir=nodes/node0/cache/genuser/scr.1000/scr.dataset.1
	become 65534
	one_node
	in_cache -n 4
	chmod 0 $dir/rank_1.ckpt
	chown -R 65534 .
	stranger 1 scr_inspect $dir
	assert_output_has "rank_1.ckpt: cannot read: Permission denied"
	for plan in --plan ""; do
		stranger 1 scr_postrun "${args[@]}" ${plan:+"$plan"}
		assert_output_has UNKNOWN
		assert_output_lacks LOST
	done
}

@test "containers that may not be read, with and without redundancy" {
	saved 1
	saved 2
	scr_index -q -p p --build 1 --checksums
	scr_container -q pack -p p 1
	chmod 600 p/.scr/scr.dataset.1/.scr/ctr*
	for _ in 1 2; do
		stranger 1 scr_container verify -p p 1
		assert_stderr_has "Permission denied"
		assert_output_has unknown
		assert_output_lacks "no redundancy" damaged
		stranger 1 scr_index -p p --verify --checksums 1
		stranger 1 scr_inspect -p p -d 1 --checksums
		assert_output_lacks " lost"
		rm -f p/.scr/scr.dataset.1/{filemap,reddesc}*
	done
}

@test "a renamed metadata directory is named" {
	saved 4
	saved 5
	mv p/.scr/scr.dataset.4 p/.scr/scr.dataset.4.old
	ends 3 scr_index -p p --verify
	assert_stderr_one_line ckpt.4 scr.dataset.4.old "rename it back"
	ends 3 scr_inspect -p p
	assert_output_has scr.dataset.4.old
	assert_output_lacks lost
	mv p/.scr/scr.dataset.4.old p/.scr/kept
	ends 3 scr_index -p p --verify 4
	assert_stderr_one_line ckpt.4 kept
	rm -r p/.scr/kept
	ends 4 scr_index -p p --verify
}

@test "a renamed directory of data is named, and counts as damage" {
	saved 4
	saved 5
	for like in ckpt.4.old save-ckpt.4; do
		mv p/ckpt.4 "p/$like"
		ends 3 scr_index -p p --verify
		assert_stderr_one_line "ckpt.4: missing, with 4 files" \
			"$like looks like it"
		ends 3 scr_inspect -p p
		assert_output_has "$like looks like it"
		assert_output_lacks " lost"
		mv "p/$like" p/ckpt.4
	done
	rm "$meta"/../scr.dataset.4/{filemap,reddesc}*
	mv p/ckpt.4 p/ckpt.4.old
	complains 3 "ckpt.4: missing, with 4 files" scr_index -p p --verify
	truncate -s 1 p/ckpt.4.old/rank_0.ckpt
	rm p/ckpt.4.old/rank_*
	ends 4 scr_index -p p --verify
	# The directory of another dataset with files of these names.
	mv p/ckpt.5 p/ckpt.40
	mkdir p/ckpt.5
	ends 4 scr_index -p p --verify 4
}

@test "a directory of data with a new name is found by its files" {
	saved 4 -t SINGLE
	saved 5
	mv p/ckpt.4 p/before-the-upgrade
	ends 3 scr_index -p p --verify
	assert_stderr_one_line "ckpt.4: missing, with 4 files" \
		"before-the-upgrade looks like it: rename it back"
	for detail in "" "-d 4"; do
		# shellcheck disable=SC2086 # words
		ends 3 scr_inspect -p p $detail
		assert_output_has "before-the-upgrade looks like it"
		assert_output_lacks " lost"
	done
	# One file of it is gone: not all of it is found again.
	cp -a p/before-the-upgrade kept
	rm p/before-the-upgrade/rank_{2,3}.ckpt
	ends 4 scr_index -p p --verify 4
	assert_stderr_has "ckpt.4: missing, with 2 files" \
		"rank_2.ckpt: missing (rank 2): lost"
	# Another directory with files of these names, sizes, but not these times.
	touch kept/*
	rm -r p/before-the-upgrade
	cp -a kept p/before-the-upgrade
	ends 4 scr_index -p p --verify 4
	assert_stderr_lacks looks
	# Nor is it the directory of another dataset.
	rm -r p/before-the-upgrade
	ends 4 scr_index -p p --verify
	assert_stderr_lacks looks
}

@test "the same, when only rank2file names the files, with their sizes" {
	saved 4
	saved 5
	scr_index -q -p p --build 4 --checksums
	rm p/.scr/scr.dataset.4/{filemap,reddesc}*
	mv p/ckpt.4 p/before-the-upgrade
	ends 3 scr_index -p p --verify
	assert_stderr_one_line "ckpt.4: missing, with 4 files" \
		"before-the-upgrade looks like it: rename it back"
	# The files of dataset 5 have the same names and sizes.
	rm -r p/before-the-upgrade
	ends 4 scr_index -p p --verify
	assert_stderr_lacks looks
}

@test "a loss names what is lost, and counts the ranks of unknown files" {
	saved 1 -t SINGLE
	rm "$meta"/filemap_{1,2} "$meta"/rank2file* p/ckpt.1/rank_{1,2}*
	ends 4 scr_index -p p --verify
	assert_stderr_has "filemaps of ranks 1 2: lost" \
		"the files of 2 ranks are unknown"
	[[ $stderr != *"ranks are lost"* && $stderr != *"rank_0.ckpt"* ]] ||
		failed "calls more lost than is"
	ends 4 scr_inspect -p p
	assert_output_has "the files of 2 of 4 ranks are unknown"
}

@test "--deep names the ranks that may be wrong, and does not advise to index" {
	"$GEN/gen_dataset" -q -p p -n 4 --set-size 2 -s 1000 \
		--recorded-prefix "$PWD/p"
	damage p/ckpt.1/rank_1.ckpt 100
	ends 3 scr_inspect -p p --deep
	assert_output_has "ranks 0 1"
	assert_output_lacks "scr_index --build" "puts it"
	ends 3 scr_inspect -p p -d 1 --deep
	assert_output_lacks --build
	complains 3 "ranks 0 1" scr_index -p p --build 1 --deep
	try scr_index -p p
	assert_output_lacks ckpt.1
}
