#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2054,SC2086,SC2164 # words, and for tables
# Metadata of another dataset: filemaps and redundancy count only if they belong
# to the dataset that summary and rank2file describe.

load damaged

# of NAME OPTION...: another dataset 1, of an older run, on prefix NAME.
of() {
	gen -p "$1" -i 1 --time 1600000000 --seed 5 -s 8K "${@:2}"
	scr_index -q -p "$1" --build 1 --checksums
}

# later SECONDS: flush.scr says that the dataset was created so much later.
later() {
	scr_inspect -m tree p/.scr/flush.scr |
		sed "/CREATED/{n;s/1700000000/$((1700000000 + $1))/}" >edited
	craft p/.scr/flush.scr <edited
}

# copied SUM: a scavenge has recorded this checksum of rank 2's file as it copied it.
copied() {
	local file=$f/rank_2.ckpt time

	time=$(stat -c %.9Y $file)
	printf '  %s\n' FILE '  ckpt.1/rank_2.ckpt' '    SIZE' \
		"      $(stat -c %s $file)" '    CRC' "      $1" \
		'    MTIME_SECS' "      ${time%.*}" '    MTIME_NSECS' \
		"      $((10#${time#*.}))" | craft "$D/copied_2.scr"
}

@test "filemaps and redundancy of another dataset of this number, of other ranks or clocks" {
	local S=six/${D#p/} W=seven/${D#p/} L=larger/${D#p/} type
	# shellcheck disable=SC2016 # damaged.bash evaluates it
	local their='cp $O/filemap_* $O/redd* $D'
	local lost="another dataset;!any 1 rank;!can be rebuilt;!--build"

	of six -n 6 -t PARTNER
	of seven -n 7 -t XOR
	of larger -n 4 -t XOR -s 9000
	# A job has flushed over the remains of a scavenge of another one, with checksums
	# or without: what was scavenged is not used.  New redundancy replaces it.
	damaged <<-END
		XOR forgotten or RS sums forgotten|$their|0|filemaps;another dataset;!any 1 rank
		XOR forgotten or RS sums forgotten or PARTNER forgotten|$their; rm \$f/rank_2.ckpt|4|$lost|refused 4
		PARTNER forgotten|rm \$D/filemap_* \$D/redd*; cp \$S/filemap_* \$S/redd* \$D|0
		PARTNER forgotten|rm \$D/filemap_* \$D/redd*; cp \$S/filemap_* \$S/redd* \$D; rm \$f/rank_2.ckpt|4|$lost|refused 4
		XOR sums forgotten|$their; scr_rebuild -q -p p --protect xor --set-size 4 1; rm \$f/rank_2.ckpt|3||~build
	END
	base XOR forgotten
	eval "$their"
	complains 0 "another dataset" scr_inspect -p p 1
	((${#stderr} < 130)) || failed "a long line"
	# Of a node that is lost, the dataset before has left its files: they are rebuilt.
	# A node's clock that is slow is no reason to doubt it.
	damaged <<-'END'
		XOR|cp -n $W/* $D; cp -n seven/ckpt.1/* $f; rm $f/rank_1.ckpt p/.scr/index.scr|3||~eval scr_index -q -p p --build 1 && rm $f/rank_[456]*
		XOR bare|later 4; rm $f/rank_2.ckpt|3|!another dataset|~build
		XOR bare|later 90; rm $f/rank_2.ckpt|3|!another dataset|~build
	END
	for type in XOR RS PARTNER; do
		rm -rf before
		of before -n 4 -t $type -s 5000
		damaged <<-END
			$type|cp -a before/ckpt.1/rank_3.ckpt \$f; cp before/${D#p/}/{filemap_3,summary.scr,rank2file*,redd*.er.3.*} \$D; rm p/.scr/index.scr|3|1 filemap and 2 redundancy;another dataset;rank 3|build
		END
	done
	# Times show nothing, as the clock was ahead: sizes in rank2file do, or checksums
	# there, or those of a scavenge.
	damaged <<-'END'
		XOR forgotten|cp -a larger/ckpt.1/. $f; cp $L/{summary.scr,rank2file*} $D; rm $f/rank_2.ckpt|4|another dataset|refused 4
		XOR sums forgotten|cp -a older/ckpt.1/. $f; cp $O/{summary.scr,rank2file*} $D; rm $f/rank_2.ckpt|||refused 4
		XOR bare|copied 0x12345678; rm $f/rank_2.ckpt|||refused 4
	END
	assert_stderr_has ckpt.1/rank_2.ckpt 0x12345678
}

@test "a --moved-from that does not match: refused in one line, nothing changes" {
	built p 1 --checksums -n 4 -f 2 -t XOR -s 5000,300 --recorded-prefix /job/p
	cp -a p whole
	for lost in "" p/ckpt.1/rank_2_0.ckpt "$D/rank2file"; do
		renew whole
		[[ -z $lost ]] || rm "$lost"
		tree_sha p >before
		for from in /job /other /job/p/ckpt.1; do
			for cmd in "rebuild " "rebuild -n" "rebuild --protect xor" \
				"index --build" "index --verify" "index --current"; do
				try scr_${cmd/ / -p p --moved-from $from } 1
				[[ $status -eq 1 || $status -eq 2 ]] ||
					failed "$cmd"
				assert_stderr_one_line \
					"--moved-from $from does not match"
			done
			ends 1 scr_inspect -p p --moved-from $from 1
			assert_output_has "--moved-from $from does not match"
			assert_stderr_empty
		done
		tree_sha p | diff before -
	done
	# The right one does.
	renew whole
	rm p/ckpt.1/rank_2_0.ckpt
	scr_rebuild -q -p p --moved-from /job/p 1
	diff -r whole/ckpt.1 p/ckpt.1
	# Packed, the same.
	scr_container -q -p p pack --with-redundancy 1
	tree_sha p >before
	for from in /job /other; do
		try scr_rebuild -p p --moved-from $from 1
		assert_stderr_one_line "--moved-from $from does not match"
	done
	tree_sha p | diff before -
}
