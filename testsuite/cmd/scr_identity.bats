#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2054,SC2086,SC2164 # words
# Metadata of another dataset: filemaps and redundancy count only if they belong
# to the dataset that summary and rank2file describe.

load helper

D=p/.scr/scr.dataset.4

# edit FILE SED...: change a metadata file by its printout.
edit() {
	local file=$1

	shift
	scr_inspect -m tree "$file" | sed "$@" >edited
	craft "$file" <edited
}

# Job A's scavenge of dataset 4, $1 ranks, redundancy $2: data, filemaps and
# parity are on the prefix, and in the index.
scavenge_of_a() {
	built p 4 -n "$1" -t "$2" -s 5000,300
}

# Ids start again: index and flush.scr are dropped.  LLNL's library flushes
# another dataset 4 of $1 ranks, a year later: it writes data, rank2file and
# summary, and nothing else.  $2: the job id.
flush_of_b() {
	local r

	rm -f p/.scr/index.scr p/.scr/flush.scr "$D"/rank2file*
	# Other bytes of the same size, written now.
	perl -0777 -pi -e 's/(.)/chr(255 - ord $1)/ges' p/ckpt.4/*
	edit "$D/summary.scr" -e "/CREATED/{n;s/1700000000/1731536000/}" \
		-e "/JOBID/{n;s/1000/$2/}" -e "/FILES/{n;s/[0-9]\+/$1/}" \
		-e "/SIZE/{n;s/[0-9]\+/$(cat p/ckpt.4/* | wc -c)/}"
	printf '  %s\n' RANKS "  $1" LEVEL '  1' RANK '  0' '    FILE' \
		'      .0.0' '    OFFSET' '      0' | craft "$D/rank2file"
	{
		printf '  %s\n' RANKS "  $1" LEVEL '  0' RANK
		for ((r = $1 - 1; r >= 0; r--)); do
			printf '  %s\n' "  $r" '    FILE' \
				"      ckpt.4/rank_$r.ckpt"
		done
	} | craft "$D/rank2file.0.0"
	scr_index -q -p p --add ckpt.4
	cp -a p after_flush
}

# The same, with checksums in our rank2file.
build_of_b() {
	flush_of_b "$@"
	scr_index -q -p p --build 4 --checksums
	grep -q CRC <(scr_inspect -m tree "$D/rank2file.0.0")
}

# After a loss: no command rebuilds from the redundancy of A, and all say why.
refused() {
	tree_sha p >before
	complains 4 "another dataset" scr_inspect -p p 4
	assert_output_lacks "any 1 rank" "can be rebuilt" "--build"
	warns 4 "another dataset" scr_rebuild -p p 4
	ends 4 scr_index -p p --build 4
	assert_stderr_has "another dataset" "ckpt.4/rank_2.ckpt"
	warns 4 "another dataset" scr_index -p p --verify 4
	tree_sha p | diff before -
}

# damaged TEXT...: build and rebuild say that data are damaged, and change
# nothing.
damaged() {
	tree_sha p >before
	for cmd in "scr_index -p p --build 4" "scr_rebuild -p p 4"; do
		ends 4 $cmd
		assert_stderr_has "$@"
	done
	tree_sha p | diff before -
}

@test "redundancy of another job's dataset 4, with an id or none: not used" {
	scavenge_of_a 4 XOR
	flush_of_b 4 2000
	ends 0 scr_index -p p --verify 4
	ends 0 scr_inspect -p p 4
	assert_output_lacks "any 1 rank"
	assert_stderr_one_line "filemaps" "another dataset"
	((${#stderr} < 130)) || failed "a long line"
	rm p/ckpt.4/rank_2.ckpt
	refused
	rm -rf p nodes cache
	scavenge_of_a 4 RS
	build_of_b 4 1000
	rm p/ckpt.4/rank_2.ckpt
	refused
	# Job A had more ranks than job B.
	rm -r p
	scavenge_of_a 6 PARTNER
	rm p/ckpt.4/rank_[45].ckpt
	flush_of_b 4 1000
	ends 0 scr_index -p p --verify 4
	rm p/ckpt.4/rank_2.ckpt
	refused
}

@test "new redundancy replaces that of another dataset" {
	scavenge_of_a 4 XOR
	build_of_b 4 2000
	cp p/ckpt.4/rank_2.ckpt want
	ends 0 scr_rebuild -p p --protect xor --set-size 4 4
	ends 0 scr_inspect -p p 4
	assert_stderr_empty
	rm p/ckpt.4/rank_2.ckpt
	scr_index -q -p p --build 4
	cmp want p/ckpt.4/rank_2.ckpt
}

# B, 4 ranks, is scavenged over the remains of A, $2 ranks.
scavenge_of_b_over_a() {
	rm -rf p b
	scavenge_of_a "$2" "$1"
	rm p/.scr/index.scr p/.scr/flush.scr
	b=("$GEN/gen_dataset" -q -i 4 -n 4 -t "$1" -s 6000,300
		--time 1731536000)
	"${b[@]}" -p b --recorded-prefix "$PWD/p"
}

# The dataset on the prefix is built, and is B.
builds_b() {
	scr_index -q -p p --build 4
	"${b[@]}" -p p --check
	ends 0 scr_index -p p --verify --deep 4
}

# Node 3 of B is lost, so filemap, data and redundancy of rank 3 are those of A,
# and so are summary and rank2file.
@test "a lost node's files of the dataset before: rebuilt, not used" {
	for type in XOR RS PARTNER; do
		scavenge_of_b_over_a $type 4
		rm b/.scr/scr.dataset.4/*map_3 b/ckpt.4/rank_3.ckpt \
			b/.scr/scr.dataset.4/reddesc*.er.3.*
		cp -a b/. p/
		ends 3 scr_inspect -p p 4
		assert_stderr_has "1 filemap and 2 redundancy" "another dataset"
		assert_output_has "rank 3"
		builds_b
		assert_stderr_empty
	done
	# Of another number of ranks.
	scavenge_of_b_over_a XOR 7
	rm b/ckpt.4/rank_1.ckpt p/ckpt.4/rank_1.ckpt
	cp -a b/. p/
	builds_b
}

@test "a node whose clock is slow: its files confirm its filemap" {
	gen -p p -i 4 -n 4 -t XOR -s 5000,300
	edit "p/.scr/flush.scr" -e "/CREATED/{n;s/1700000000/1700000001/}"
	rm p/ckpt.4/rank_2.ckpt
	# Clocks differ a little, or much.
	for t in 1700000004 1700000090; do
		edit "p/.scr/flush.scr" -e "/CREATED/{n;s/17[0-9]*/${t}000000/}"
		ends 3 scr_inspect -p p 4
		assert_stderr_empty
	done
	scr_index -q -p p --build 4
	gen -p p -i 4 -n 4 -t XOR -s 5000,300 --check
}

# As flush_of_b, but the clock of A's nodes was ahead: times show nothing.  $1:
# the size of B's files differs from A's (yes) or not.
build_of_b_by_other_clocks() {
	built p 4 -n 4 -t XOR -s 5000,300 --time 1731536100
	cp "$D/summary.scr" summary
	edit "$D/summary.scr" "/CREATED/{n;s/1731536100/1700000000/}"
	[[ $1 != yes ]] || truncate -s +9 p/ckpt.4/rank_0.ckpt
	cp -a p/.scr/flush.scr .
	flush_of_b 4 1000
	mv "$D"/*.redset "$D"/filemap_* .
	scr_index -q -p p --build 4 --checksums
	mv ./*.redset filemap_* "$D/"
}

@test "times show nothing: sizes in rank2file do; nor do sizes: checksums there do" {
	build_of_b_by_other_clocks yes
	rm p/ckpt.4/rank_2.ckpt
	refused
	rm -rf p q nodes
	build_of_b_by_other_clocks no
	rm p/ckpt.4/rank_2.ckpt
	damaged "reddesc.er" "contents are damaged"
}

@test "what a scavenge recorded when it copied a file is compared as well" {
	local file=p/ckpt.4/rank_2.ckpt time

	gen -p p -i 4 -n 4 -t XOR -s 5000,300
	time=$(stat -c %.9Y $file)
	printf '  %s\n' FILE '  ckpt.4/rank_2.ckpt' '    SIZE' \
		"      $(stat -c %s $file)" '    CRC' '      0x12345678' \
		'    MTIME_SECS' "      ${time%.*}" '    MTIME_NSECS' \
		"      $((10#${time#*.}))" | craft "$D/copied_2.scr"
	rm $file
	damaged "ckpt.4/rank_2.ckpt" 0x12345678
}

@test "a --moved-from that does not match: refused in one line, nothing changes" {
	built p 4 --checksums -n 4 -f 2 -t XOR -s 5000,300 \
		--recorded-prefix /job/p
	cp -a p whole
	for lost in "" p/ckpt.4/rank_2_0.ckpt "$D/rank2file"; do
		renew whole
		[[ -z $lost ]] || rm "$lost"
		tree_sha p >before
		for from in /job /other /job/p/ckpt.4; do
			for cmd in "rebuild " "rebuild -n" "rebuild --protect xor" \
				"index --build" "index --verify" \
				"index --current"; do
				try scr_${cmd/ / -p p --moved-from $from } 4
				[[ $status -eq 1 || $status -eq 2 ]] ||
					failed "$cmd"
				assert_stderr_one_line \
					"--moved-from $from does not match"
			done
			ends 1 scr_inspect -p p --moved-from $from 4
			assert_output_has "--moved-from $from does not match"
			assert_stderr_empty
		done
		tree_sha p | diff before -
	done
	# The right one does.
	renew whole
	rm p/ckpt.4/rank_2_0.ckpt
	scr_rebuild -q -p p --moved-from /job/p 4
	diff -r whole/ckpt.4 p/ckpt.4
	# Packed, the same.
	scr_container -q -p p pack --with-redundancy 4
	tree_sha p >before
	for from in /job /other; do
		try scr_rebuild -p p --moved-from $from 4
		assert_stderr_one_line "--moved-from $from does not match"
	done
	tree_sha p | diff before -
}
