#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause

load ../golden/golden

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	host=$(uname -n)
	args=(--ranks 8 --nodes 4 --files 2 --recorded-prefix "$PWD/p q")
}

# make OPTION...: make a dataset in the caches of 4 nodes, and an empty prefix
# with a blank in its name.
make() {
	gen -p "p q" --nodes-dir nodes "${args[@]}" --layout cache "$@"
}

# The prefix has the files of the job.
assert_right() {
	gen -p "p q" "${args[@]}" "$@" --check
}

# Set cmd to the command that node NODE runs in a scavenge.
on() {
	local node=nodes/node$1/

	cmd=(scr_copy --cntldir "$node"cntl/genuser/scr.1000
		--cachedir "$node"cache/genuser/scr.1000
		--id 1 --prefix "p q")
}

# copy NODE OPTION...
copy() {
	on "$1"
	shift
	"${cmd[@]}" "$@"
}

# Print a value of the result.
result() {
	grep '^{"host"' <<<"$output" | grep -o "\"$1\":[0-9]*" | cut -d: -f2
}

no_temps() {
	[[ -z $(find "p q" -name '.scrkit-*.tmp') ]]
}

@test "usage errors; missing files are reported in one line" {
	misused --cntldir scr_copy --id 1
	misused --id scr_copy --cntldir x
	misused '' scr_copy --cntldir x --id 0
	misused 1x scr_copy --cntldir x --id 1x
	misused "unexpected argument" scr_copy --cntldir x --id 1 more
	misused --assign scr_copy --cntldir x --id 1 --ranks 1 --assign y
	misused '' scr_copy --cntldir x --id 1 --buf 1
	shows "Usage: scr_copy;--assign;--heartbeat;Exit status" scr_copy --help
	make
	complains 1 "dataset 7;not in the cache" copy 0 --id 7
	assert_output_has "Return code: 1"
	complains 1 nowhere copy 0 --prefix nowhere
	complains 1 nowhere/cindex.scrinfo scr_copy --cntldir nowhere --id 1 --prefix "p q"
	complains 2 '"1-"' copy 0 --ranks 1-
	complains 1 nofile copy 0 --assign nofile
}

@test "LLNL's options, its line at the end" {
	make
	ends 0 scr_copy -c nodes/node1/cntl/genuser/scr.1000 \
		--cachedir nodes/node1/cache/genuser/scr.1000 -i 1 -d "p q" -b 1MB -r
	assert_output_has "scr_copy: $host: Return code: 0"
	[[ ${output##*$'\n'} == "scr_copy: $host: Return code: 0" ]]
}

@test "--list: one line of JSON; --dry-run changes nothing" {
	local r bytes map set ranks=''

	make --size 1000 --type RS
	calm scr_copy --list --cntldir nodes/node1/cntl/genuser/scr.1000 \
		--cachedir nodes/node1/cache/genuser/scr.1000
	assert_line_count 1
	[[ $output =~ \"store\":\"([0-9]+:[0-9.]+)\" ]]
	output=${output/"${BASH_REMATCH[1]}"/S}
	for r in 2 3; do
		bytes=$(find nodes/node1/cache -name "*.er.$r.*grp*" \
			-printf '%s\n' | awk '{ n += $1 } END { print n }')
		((bytes > 1000))
		map=$(stat -c %s nodes/node1/cache/*/*/*/.scr/filemap_$r)
		set="\"type\":\"RS\",\"set\":$((r - 1)),\"sets\":2,\"member\":2,\"members\":4,\"failures\":2"
		ranks+=${ranks:+,}"{\"rank\":$r,\"map\":true,\"files\":2,\"bytes\":2000,\"bad\":0,$(
			)\"red\":{$set,\"chunk\":1000,\"bytes\":2000,\"left\":2000,\"left_rank\":$((r - 2))},$(
			)\"mapred\":{$set,\"chunk\":$(((map + 1) / 2)),\"bytes\":$map,\"left\":$(
			stat -c %s nodes/node0/cache/*/*/*/.scr/filemap_$((r - 2))),\"left_rank\":$((r - 2))},$(
			)\"redundancy\":$bytes}"
	done
	assert_output_is "{\"format\":1,\"host\":\"$host\",$(
		)\"cntl\":\"nodes/node1/cntl/genuser/scr.1000\",$(
		)\"there\":3,\"datasets\":[$(
		){\"id\":1,\"name\":\"ckpt.1\",$(
		)\"dir\":\"nodes/node1/cache/genuser/scr.1000/scr.dataset.1\",$(
		)\"bypass\":false,\"ckpt\":true,\"output\":false,$(
		)\"created\":1700000000000000,\"world\":8,$(
		)\"place\":\"$PWD/p q/ckpt.1\",$(
		)\"store\":\"S\",\"ranks\":[$ranks],$(
		)\"problem\":null}],\"problem\":null}"
	shows '"datasets":[],"problem":"nowhere/cindex.scrinfo' scr_copy --list --cntldir nowhere
	rm -rf "p q" nodes
	make --size 1000
	before=$(tree_stat "p q")
	ends 0 copy 0 --dry-run
	(($(result copied) == 12 && $(result bytes) > 4000))
	[[ $(tree_stat "p q") == "$before" ]]
}

@test "all nodes, every scheme: all files are copied, by a second run none" {
	for type in XOR PARTNER RS SINGLE; do
		rm -rf "p q" nodes
		make --type $type --size 100000,5000
		for n in 0 1 2 3; do
			calm copy $n
			(($(result bad) == 0))
			(($(result copied) == $(result files)))
		done
		no_temps
		assert_right --type $type --size 100000,5000
		before=$(tree_stat "p q")
		ends 0 copy 2
		(($(result copied) == 0 && $(result bytes) == 0))
		[[ $(tree_stat "p q") == "$before" ]]
		ends 0 scr_index -p "p q" --build 1
	done
}

# With more ranks than are committed at once, directories are synced once for
# each group of ranks, not for each rank.
@test "200 ranks of a node: all recorded, few syncs of directories" {
	make --ranks 200 --nodes 1 --type SINGLE --size 300
	on 0
	if command -v strace >/dev/null && strace true 2>/dev/null; then
		try strace -f -y -e trace=fsync -o trace "${cmd[@]}"
		dirs=$(grep -c 'fsync([0-9]*<.*/\(ckpt\.1\|scr\.dataset\.1\)>' trace)
		((dirs > 0 && dirs <= 40))
	else
		try "${cmd[@]}"
	fi
	assert_status 0
	assert_right --ranks 200 --nodes 1 --type SINGLE --size 300
	(($(find "p q" -name 'copied_*.scr' | wc -l) == 200))
	(($(find "p q" -name 'filemap_*' | wc -l) == 200))
	no_temps
	ends 0 copy 0
	[[ $(result copied),$(result adopted),$(result bad) == 0,0,0 ]]
}

# A rank that cannot be committed does not affect the files of others.
@test "a record that cannot be written does not affect other ranks" {
	make --ranks 100 --nodes 1 --type SINGLE --size 300
	mkdir -p "p q/.scr/scr.dataset.1/filemap_7/x"
	warns 1 filemap_7 copy 0
	no_temps
	rm -r "p q/.scr/scr.dataset.1/filemap_7"
	ends 0 copy 0
	assert_right --ranks 100 --nodes 1 --type SINGLE --size 300
	(($(find "p q" -name 'filemap_*' | wc -l) == 100))
}

# Copies of LLNL's golden caches, from the nodes on which its own scr_copy ran,
# must give the same prefix.
golden_copy() {
	local case=$1 user=golduser/scr.1000 n lost

	snapshot "$case" cache c
	snapshot "$case" scavenged theirs
	mv c/prefix p
	lost=$(sed -n "s/.*lost_nodes='\([0-9 ]*\)'.*/\1/p" \
		"$SCRKIT_GOLDEN/scr3/$case/PARAMS.txt")
	for n in c/nodes/node*; do
		[[ " $lost " != *" ${n#c/nodes/node} "* ]] || continue
		scr_copy --cntldir "$n/cntl/$user" \
			--cachedir "$n/cache/$user" --id 1 --prefix p \
			--moved-from "/tmp/scrgold/$case/prefix"
	done
	diff -r -x 'copied_*' -x 'scavenge.*' -x log -x halt.scr p theirs/prefix
	ends 0 scr_index -p p --moved-from "/tmp/scrgold/$case/prefix" --build 1
	(cd p && sed -n 's|  \(\./\)\{0,1\}prefix/ckpt|  ckpt|p' \
		"$SCRKIT_GOLDEN/scr3/$case/rebuilt.sha256" |
		grep '  ckpt' | sha256sum -c --quiet)
	rm -rf c p theirs
}

@test "golden caches give what LLNL's scavenge gave" {
	golden scr3/xor_4 >/dev/null
	golden_copy xor_4
	whole_collection || return 0
	for case in xor_8n4 rs2_8n4 partner_8n4 partner_4 rs2_4; do
		golden_copy $case
	done
}

@test "killed at some moments: only whole files, and it resumes" {
	make --size 2000000
	on 1
	dir=nodes/node1/cache/genuser/scr.1000/scr.dataset.1
	for i in $(moments 20 6); do
		"${cmd[@]}" >/dev/null 2>&1 &
		pid=$!
		sleep "0.0$((RANDOM % 60 + 10))"
		kill -9 $pid 2>/dev/null || true
		wait $pid 2>/dev/null || true
		while IFS= read -r file; do
			cmp "$file" "$dir/${file##*/}"
		done < <(find "p q" -name '*.ckpt')
		for map in "p q"/.scr/scr.dataset.1/filemap_*; do
			[[ -e $map ]] || continue
			cmp "$map" "$dir/.scr/${map##*/}"
			rank=${map##*_}
			(($(find "p q" -name "rank_${rank}_*.ckpt" |
				wc -l) == 2))
		done
		# Leave some files to copy.
		((i % 3)) || rm -rf "p q"/ckpt.1 "p q"/.scr/scr.dataset.1
	done
	for n in 0 1 2 3; do copy $n; done
	no_temps
	assert_right --size 2000000
}

@test "SIGTERM: stops, reports it, resumes" {
	make --size 20000000
	on 1
	stopped=0
	for i in $(moments 10 2); do
		"${cmd[@]}" --jobs 1 --buf 4K >out 2>err &
		pid=$!
		# Wait until it has started to copy.
		while kill -0 $pid 2>/dev/null && no_temps; do :; done
		kill -TERM $pid 2>/dev/null || true
		status=0
		wait $pid || status=$?
		((status != 0)) || break
		((status == 1))
		grep -q "scr_copy: stopped" err
		grep -q "Return code: 1" out
		no_temps
		stopped=$((stopped + 1))
	done
	((stopped > 0))
	copy 1
	no_temps
}

@test "a new file takes at most seven calls on the prefix" {
	args=(--ranks 1 --files 200 --recorded-prefix "$PWD/p q")
	make --type SINGLE --size 1000
	on 0
	LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH="p q" SLOW_COUNT_FILE=calls \
		"${cmd[@]}" --jobs 2
	calls=$(awk '{ sum += $2 } END { print sum }' calls)
	# 50 are for directories, locks and metadata.
	((calls > 200 && calls <= 200 * 7 + 50)) || failed "$(cat calls)"
	assert_right --type SINGLE --size 1000
}

# Up to 45 if all of them run at the same moment, with files in memory.
@test "many nodes at once: at most 50 more calls of each on the prefix" {
	files=0
	case ${SCRKIT_WITHOUT-} in
	openat2 | all) skip "the walk in place of openat2 takes more calls" ;;
	esac
	args=(--ranks 8 --nodes 8 --files 1 --recorded-prefix "$PWD/p q")
	make --set-size 4 --size 1000
	# The command that starts the nodes makes this directory.
	mkdir -p "p q/.scr/scr.dataset.1"
	for k in 0 1 2 3 4 5 6 7; do
		on $k
		LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH="p q" \
			SLOW_COUNT_FILE=calls "${cmd[@]}" --jobs 2 >out.$k &
	done
	wait
	assert_right --set-size 4 --size 1000
	output=$(cat out.*)
	for k in $(result files); do
		files=$((files + k))
	done
	((files == 8 * 6))
	calls=$(awk '{ sum += $2 } END { print sum }' calls)
	((calls > files && calls <= files * 7 + 8 * 50)) ||
		failed "$calls" "$(sort calls)"
}

# Copy node 0 while its file rank_0_0.ckpt is read slowly; `pid` copies.
copy_slowly() {
	make --type SINGLE --size 40000
	file=nodes/node0/cache/genuser/scr.1000/scr.dataset.1/rank_0_0.ckpt
	on 0
	LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH=scr.dataset.1/rank_0_0.ckpt \
		SLOW_USEC=60000 "${cmd[@]}" --buf 4K >out 2>err &
	pid=$!
	while [[ -z $(find "p q" -name '.scrkit-*.tmp') ]]; do sleep 0.01; done
	sleep 0.2
}

@test "a file that changes while it is copied is copied again; one that never stops is bad" {
	copy_slowly
	damage $file 0 XXXX
	wait $pid || failed "$(cat err)"
	cmp $file "p q/ckpt.1/rank_0_0.ckpt"
	no_temps
	rm -rf "p q" nodes
	status=0
	copy_slowly
	while kill -0 $pid 2>/dev/null; do
		touch $file
		sleep 0.02
	done
	wait $pid || status=$?
	((status == 3)) || failed "$status" "$(cat err)"
	grep -q 'rank 0: rank_0_0.ckpt: changes while it is copied' err
	[[ ! -e "p q/ckpt.1/rank_0_0.ckpt" ]]
	no_temps
}

@test "a sign of life every second, also while it waits" {
	make --size 1000
	copy 0 >/dev/null
	file=$(find "p q" -name rank_0_0.ckpt)
	rm "$file"
	# Another process copies the same rank, and takes its time.
	on 0
	LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH=rank_0_0.ckpt SLOW_USEC=300000 \
		"${cmd[@]}" >other &
	sleep 0.4
	shows "scr_copy: $host: progress " copy 0
	(($(result copied) == 0))
	wait
	grep -q '"copied":1,' other
	no_temps
	ends 0 copy 0 --quiet
	assert_output_lacks progress
}

@test "a full prefix: how much is missing; with free space it resumes" {
	privately && return
	make --size 600000
	mount -t tmpfs -o size=2m none "p q"
	ends 1 copy 1 --jobs 1
	grep -q "p q: full: .*: .* needed, .* free.*; make room there" <<<"$stderr"
	no_temps
	[[ -n $(find "p q" -name "*.ckpt") ]]
	mount -o remount,size=20m none "p q"
	ends 0 copy 1
	(($(result skipped) > 0))
}

@test "no inode, or over quota: the prefix, and what to do, are named" {
	make --size 1000
	on 1
	for why in ENOSPC EDQUOT; do
		for n in 1 2 3 4; do
			ends 1 env LD_PRELOAD="$SHIM" SHIM_PATH="p q/" SHIM_STICKY=1 \
				SHIM_FAIL_AT=$n SHIM_ERRNO=$why "${cmd[@]}"
			assert_stderr_one_line "p q: full: " "make room"
		done
	done
	ends 0 "${cmd[@]}"
}
