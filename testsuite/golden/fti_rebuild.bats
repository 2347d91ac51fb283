#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_fti rebuild: lost and damaged files of checkpoints that the real FTI wrote
# come back bit for bit.

load golden

setup() { fti_setup; }

# same SET: c has the files of SET, bit for bit.
same() {
	local file size record

	record=$(record_size "$1")
	diff <(cd c && find . -type f | sort) \
		<(cd "$FTI/$1" && find . -type f | sort) ||
		failed "$1: other files"
	while read -r file; do
		size=$(stat -c %s "$FTI/$1/$file")
		[ "$(stat -c %s "c/$file")" = "$size" ] ||
			failed "$file: another size"
		[[ $file != *-RSed* ]] || size=$((size - record))
		cmp -n "$size" "c/$file" "$FTI/$1/$file" || failed "$file"
	done < <(cd c && find . -type f)
}

# counted TEXT: files, bytes to read and to write that a plan or result names.
counted() {
	sed -n 's/.*: \(rebuilt \)\?\([0-9]* file.*\)/\2/p' <<<"$1" |
		sed 's/ to read/ read/; s/ to write/ written/'
}

# lose NODES: remove the directories of these nodes.
lose() {
	local node

	echo "without nodes $1"
	for node in $1; do
		rm -r "c/Local/node$node"
	done
}

# back SET NODES: the files of these nodes come back.
back() {
	local plan

	copy "$1"
	lose "$2"
	answers 3 "" scr_fti rebuild -n c
	plan=$(counted "$output")
	find c >before
	diff before <(find c) || failed "a dry run changes nothing"
	answers 0 "" scr_fti rebuild c
	[ "$(counted "$output")" = "$plan" ] || failed "not as planned: $plan"
	same "$1"
	answers 0 "" scr_fti scan --checksums c
	answers 0 "nothing to rebuild" scr_fti rebuild c
}

# refused SET NODES: beyond what can be computed; nothing changes.
refused() {
	copy "$1"
	lose "$2"
	tree_stat c >before
	run scr_fti rebuild c
	[ "$status" = 4 ] ||
		failed "$1, $2: $output"
	diff before <(tree_stat c) || failed "something changed"
}

@test "L3: any two of four nodes come back, in all layouts" {
	local set nodes n=0 sets=(levels-A-v1.1 levels-E-v1.6)

	[ ! -d "$FTI/loss" ] || sets+=(levels-B-v1.2 levels-C-v1.3
		levels-D-v1.4 levels-F-even levels-F-odd head-F posix-levels
		posix-levels-odd)
	for set in "${sets[@]}"; do
		[ -d "$FTI/$set/L3" ] || continue
		# Of ten losses other ones for each set.
		for nodes in 0 1 2 3 "0 1" "0 2" "0 3" "1 2" "1 3" "2 3"; do
			((n++ % 5 == 0)) || [[ -n ${SCRKIT_SLOW-} ]] || continue
			back "$set/L3" "$nodes"
		done
		for nodes in "0 1 2" "1 2 3" "0 1 2 3"; do
			[ "$nodes" = "0 1 2 3" ] || refused "$set/L3" "$nodes"
		done
	done
}

@test "L2: nodes that are no neighbours come back" {
	local set nodes n=0

	[ -d "$FTI/loss" ] || skip "needs all golden data"
	for set in levels-A-v1.1 levels-B-v1.2 levels-C-v1.3 levels-D-v1.4 \
		levels-E-v1.6 levels-F-even levels-F-odd head-F posix-levels \
		posix-levels-odd; do
		[ -d "$FTI/$set/L2" ] || continue
		for nodes in 0 1 2 3 "0 2" "1 3"; do
			((n++ % 5 == 0)) || [[ -n ${SCRKIT_SLOW-} ]] || continue
			back "$set/L2" "$nodes"
		done
		for nodes in "0 1" "1 2" "2 3" "0 3" "0 1 2"; do
			refused "$set/L2" "$nodes"
		done
	done
}

@test "the losses that were tried with FTI" {
	local loss of

	[ -d "$FTI/loss" ] || skip "needs all golden data"
	while read -r loss of; do
		copy "loss/$loss"
		# Parity alone is no loss.
		[[ $loss == *RSed* ]] && set -- 0 " whole" || set -- 3 " rebuildable"
		answers "$1" "$2" scr_fti scan --checksums c
		[[ $loss != posix* || $output == *"FTI itself would get the last byte"* ]]
		answers 0 "" scr_fti rebuild c
		same "$of"
	done <<-'END'
		l2-node1-lost levels-F-even/L2
		l2-node0+2-lost levels-F-even/L2
		l2-rank3-file-lost levels-F-even/L2
		l3-node1-lost levels-F-even/L3
		l3-node1+2-lost levels-F-even/L3
		l3-all-RSed-lost levels-F-even/L3
		l3odd-node1+2-lost levels-F-odd/L3
		posix-l3odd-node3-lost posix-levels-odd/L3
	END
	for loss in l2-node1+2-lost-UNRECOVERABLE l3-node1+2+3-lost-UNRECOVERABLE; do
		refused "loss/$loss" ""
		answers 4 " lost" scr_fti scan --checksums c
	done
}

@test "damaged files: found by their checksums, replaced by proven ones" {
	local set=levels-A-v1.1/L3 file other

	copy "$set"
	file=$(cd c && echo Local/node2/*/l3/Ckpt3-Rank4.fti)
	other=$(cd c && echo Local/node1/*/l3/Ckpt3-RSed2.fti)
	flip "c/$file" 2000
	flip "c/$other" 100
	answers 0 "nothing to rebuild" scr_fti rebuild c
	answers 0 "1 data, 1 parity" scr_fti rebuild --checksums c
	same "$set"
	# The damaged file is used before its checksum is compared: what is
	# computed from it has another one, and nothing changes.
	flip "c/$file" 2000
	rm "c/$(dirname "$other")/Ckpt3-Rank2.fti"
	tree_stat c >before
	run scr_fti rebuild c
	[[ $status != 0 && $output == *"are wrong"* ]] || failed "$output"
	diff before <(tree_stat c)
	follow
	[ "$status" = 0 ] || failed "$output"
	same "$set"
	# The same if only parity is computed, which no sum proves.
	flip "c/$file" 2000
	rm "c/$other"
	tree_stat c >before
	run scr_fti rebuild c
	[[ $status != 0 && $output == *"Ckpt3-Rank4.fti"* ]]
	diff before <(tree_stat c)
	follow
	[ "$status" = 0 ] || failed "$output"
	same "$set"
}

@test "scan's next line rebuilds; nothing follows" {
	copy levels-E-v1.6/L3
	lose "1 2"
	answers 3 "" scr_fti scan c
	follow
	[ "$status" = 0 ]
	same levels-E-v1.6/L3
	run scr_fti scan c
	[[ $status = 0 && $output != *next:* ]]
	# Parity alone: all data are there.
	find c -name '*RSed*' -delete
	answers 0 "8 of 8 parity files are missing" scr_fti scan c
	follow
	[ "$status" = 0 ]
	same levels-E-v1.6/L3
}

@test "what stands in the way is not replaced; choosing a checkpoint" {
	local dir

	copy levels-E-v1.6/L3
	dir=$(echo c/Local/node1/*/l3)
	mv "$dir/Ckpt3-Rank2.fti" elsewhere
	ln -s /etc/passwd "$dir/Ckpt3-Rank2.fti"
	answers 2 "exists" scr_fti rebuild c
	[ -L "$dir/Ckpt3-Rank2.fti" ]
	rm "$dir/Ckpt3-Rank2.fti"
	answers 1 "no such checkpoint" scr_fti rebuild --id 4 c
	answers 1 "" scr_fti rebuild --level 2 c
	answers 1 "no such checkpoint" scr_fti rebuild --level 4 c
	answers 1 "" scr_fti rebuild --exec other c
	answers 0 "" scr_fti rebuild --exec "$(basename "$(dirname "$dir")")" c
	same levels-E-v1.6/L3
	answers 2 "" scr_fti rebuild c c
	run scr_fti rebuild -q c
	[[ $status = 0 && -z $output ]]
	# Without config.fti the size of the groups is not known.
	rm "$dir/Ckpt3-Rank2.fti" c/config.fti
	answers 1 "--group-size" scr_fti rebuild c
	answers 0 "" scr_fti rebuild --group-size 4 c
	[ -e "$dir/Ckpt3-Rank2.fti" ]
}

@test "rebuild waits for the lock that restart and archive take" {
	local pid

	copy levels-E-v1.6/L3
	rm -r c/Local/node2
	exec 8<>c/.scrkit.lock
	flock 8
	scr_fti rebuild c 2>err 8>&- 3>&- &
	pid=$!
	until grep -q "waiting" err; do
		kill -0 $pid || failed "$(<err)"
		sleep 0.05
	done
	[ ! -e c/Local/node2 ]
	exec 8>&-
	wait $pid
	same levels-E-v1.6/L3
}

@test "POSIX files without metadata stay as they are" {
	[ -d "$FTI/loss" ] || skip "needs all golden data"
	copy posix-levels/L3
	lose 1
	rm c/Meta/*/l3/sector0-group1.fti
	tree_stat c >before
	answers 1 "lack their metadata" scr_fti rebuild c
	diff before <(tree_stat c)
}
