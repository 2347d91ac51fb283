#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2053,SC2086
# Thirteen prefixes as an operator meets them at 3 a.m.  Only the `next:` lines of
# the commands are followed, and at most three of them, until the dataset is whole
# or given up.

load damaged

setup() {
	in_no_job
	export SCR_USER_NAME=genuser
	P=$PWD/p
	# What the scavenge still lacks outside of a job (33.22).
	nodes="--nodes NODES  # NODES: those of the job, which no resource manager names here"
}

# dataset ID OPTION...: a dataset of four ranks on four nodes, with redundancy
# XOR, and its files in right.ID.
dataset() {
	gen -p "$P" -n 4 -s 3000 --dir "ckpt.$1" -i "$1" --name "ckpt.$1" \
		--seed "$1" -t XOR -m 4 "${@:2}"
	gen -p "right.$1" -n 4 -s 3000 --dir "ckpt.$1" -i "$1" \
		--name "ckpt.$1" --seed "$1" -t SINGLE
}

# indexed ID...: whole datasets that the index lists.
indexed() {
	local id

	for id; do
		dataset "$id"
		scr_index -q -p "$P" --build "$id"
	done
}

# next_line: the command that the last `try` named; there is at most one.
next_line() {
	local lines

	lines=$(printf '%s\n%s\n' "$output" "$stderr" |
		sed -n 's/^\([a-z_]*:\)\{0,1\} *next: *//p')
	[[ $lines != *$'\n'* ]] || failed "several next steps: $lines"
	echo "$lines"
}

# next_is COMMAND: it is what the last `try` named.
next_is() { [[ $(next_line) == "$1" ]] || failed "next: $(next_line)"; }

# took PATTERN: all the commands that were run.
took() {
	[[ ${taken[*]} == $1 ]] || failed "took: ${taken[*]}"
}

# look_after ID: look at the dataset, and run what is named until nothing is.  Sets
# `taken`, the commands that were run.
look_after() {
	local command

	taken=()
	while ((${#taken[@]} <= 3)); do
		try scr_inspect -p "$P" --checksums "id:$1"
		command=$(next_line)
		[[ -n $command ]] || break
		# Acting finds what looking has found.
		taken+=("$command")
		echo "# dataset $1: $command" >&3
		bash -c "$command" >out 2>&1 || true
		[[ -e $P/.scr/scr.dataset.$1 ]] || break
	done
	((${#taken[@]} <= 3)) || failed "more than three: ${taken[*]}"
}

# chase COMMAND...: run it, then what it names, and what that names, until nothing
# is named.  Sets `taken`, the commands that were named.
chase() {
	local command

	taken=()
	try "$@"
	while ((${#taken[@]} <= 3)); do
		command=$(next_line)
		[[ -n $command ]] || break
		taken+=("$command")
		echo "# $1: $command" >&3
		try bash -c "$command"
	done
	((${#taken[@]} <= 3)) || failed "more than three: ${taken[*]}"
}

# whole ID: a job can restart from it, and its bytes are right.
whole() {
	ends 0 scr_index -p "$P" --verify --checksums "id:$1"
	diff -r "right.$1/ckpt.$1" "$P/ckpt.$1" || failed "wrong bytes"
}

# given_up ID: neither in the index nor on the prefix.
given_up() {
	ends 1 scr_inspect -p "$P" "id:$1"
	[[ ! -e $P/ckpt.$1 ]] || failed "files are left"
}

# restarts_from NAME
restarts_from() {
	[[ $(scr_index -p "$P" -l --json |
		jq -r '.datasets[] | select(.is_current) | .name') == "$1" ]] ||
		failed "$(scr_index -p "$P")"
}

@test "1 to 13: one dataset, damaged as in life: what the looks name makes it whole" {
	local look

	# Lost filemaps; no flush.scr, and a scavenge that was interrupted; a corrupt index;
	# a moved prefix; a truncated file; a wrong byte of parity; a lost container; one
	# that is too long; packed redundancy that is lost.
	damaged <<-'END'
		XOR|rm $D/filemap_*|3||~well scr_inspect -p p 1
		XOR bare forgotten|rm $f/rank_2.ckpt $D/filemap_2 $D/*.er.2.*|3||~well scr_inspect -p p 1
		XOR two|damage p/.scr/index.scr 20 garbage|||well scr_inspect -p p
		XOR --recorded-prefix /job/p|rm $f/rank_2.ckpt|3||well scr_inspect -p p 1
		XOR two forgotten|truncate -s 1000 $f/rank_1.ckpt|3||well scr_inspect -p p 1
		XOR sums|behind $(red 1) 9|3 --deep --checksums|mem_2_of_4.redset: its contents are damaged|well scr_inspect -p p --deep --checksums 1
		XOR two pack=4000 red|rm $C/ctr.1.scr|3||~well scr_inspect -p p 1
		XOR two pack=8000|printf X >>$C/ctr.0.scr|3|next: scr_container -p p unpack 1|well scr_inspect -p p 1
		SINGLE two pack=4000 red|rm $C/red.0.scr|||~well scr_inspect -p p 1
	END
	# A byte of a file is wrong, packed or not.
	for look in "scr_inspect --checksums" "scr_inspect --deep" \
		"scr_inspect --checksums --deep" "scr_index --checksums --verify" \
		"scr_index --deep --verify" "scr_rebuild -n --checksums" \
		"scr_rebuild -n --deep"; do
		damaged <<-END
			XOR sums|damage \$f/rank_0.ckpt 100|||well $look 1 -p p
			XOR sums pack=100M red|damage \$C/ctr.0.scr 100|||~well $look 1 -p p
		END
	done
}

@test "1: nothing names the files: they are not deleted, as the nodes may have the filemaps" {
	indexed 1
	scr_index -q -p "$P" --drop 1
	rm "$P"/.scr/scr.dataset.1/{filemap_*,rank2file*,summary.scr}
	ends 1 scr_inspect -p "$P" 1
	next_is "scr_postrun -p $P $nodes"
	SCR_NODELIST=n1 try scr_inspect -p "$P" 1
	next_is "scr_postrun -p $P"
}

@test "6: one truncated file too many" {
	indexed 1 2
	rm "$P/.scr/flush.scr" # nor is it in the caches
	scr_index -q -p "$P" --current ckpt.2
	truncate -s 1000 "$P"/ckpt.2/rank_{1,2}.ckpt
	rm "$P"/.scr/scr.dataset.2/reddesc.er.{1,2}.*
	look_after 2
	given_up 2
	restarts_from ckpt.1
}

@test "11: deleted by hand: the files, the metadata, both" {
	indexed 1 2 3 4
	rm "$P/.scr/flush.scr"
	scr_index -q -p "$P" --current ckpt.4
	rm -r "$P/ckpt.4"
	look_after 4
	given_up 4
	restarts_from ckpt.3
	rm -r "$P/.scr/scr.dataset.3"
	try scr_inspect -p "$P" id:3
	bash -c "$(next_line)"
	restarts_from ckpt.2
	try scr_inspect -p "$P" id:3
	bash -c "$(next_line)"
	ends 1 scr_inspect -p "$P" id:3
	whole 2
	whole 1
}

# made TYPE: datasets 1 and 2 are whole and in the index; a job restarts from 2.
made() {
	local id

	for id in 1 2; do
		built "$P" $id -n 8 -m 4 -s 3000 -t "$1" --set-size 4 \
			--dir ckpt.$id --name ckpt.$id
	done
	scr_index -q -p "$P" --current ckpt.2
}

@test "redundancy of the filemaps alone tolerates no loss; an index that cannot be read" {
	made XOR
	rm "$P"/.scr/scr.dataset.2/reddesc.er.*grp*
	shows "tolerates   no loss" scr_inspect -p "$P" 2
	SHIM_READS=1 SHIM_OP=pread SHIM_PATH=index.scr SHIM_FAIL_AT=1 SHIM_STICKY=1 \
		LD_PRELOAD=$SHIM ends 1 scr_inspect -p "$P"
	assert_stderr_has "the datasets of the index are unknown"
	[[ $output != *--build* ]]
}

# cached TYPE ID LOST...: a checkpoint in the caches of four nodes.
cached() {
	gen -p "$P" --nodes-dir nodes --layout cache -n 8 -m 4 -s 3000 -t "$1" \
		--set-size 4 -i "$2" --name "ckpt.$2" --lose "$3"
}

@test "caches given as directories, which belong to no prefix" {
	mkdir there && cd there
	cached XOR 1 1
	# The working directory is no prefix.
	chase scr_inspect ../there/nodes
	[[ ${#taken[@]} == 1 && ${taken[0]} == "scr_rebuild "*" ../there/"* ]] ||
		failed "${taken[*]}"
	ends 0 scr_inspect nodes
	rm -r nodes && cached XOR 1 1
	chase scr_rebuild --dry-run nodes
	[[ ${#taken[@]} == 1 ]]
	ends 0 scr_inspect nodes
	# Too much is lost here: other nodes may have it.
	rm -r nodes && cached XOR 1 1,2
	chase scr_rebuild nodes
	took "*scr_postrun $nodes"
	try scr_inspect -p "$P" --json nodes
	[[ $(jq -r '.caches[0].next' <<<"$output") == "scr_postrun -p $P $nodes" ]]
	# More directories than fit into a command.
	rm -r nodes
	gen -p "$P" --nodes-dir nodes --layout cache -n 40 -m 40 -s 30 -t XOR \
		--set-size 4 -i 1 --lose 1
	try scr_inspect nodes
	next_is "scr_postrun $nodes"
}

@test "two datasets of one name: the newer one stays in the index" {
	for id in 1 2; do
		gen -p "$P" -n 4 -s 3000 --dir "d$id" -i "$id" --name ck \
			--seed "$id" -t XOR -m 4
	done
	# The last command of these adds a dataset.
	for id in 1 2; do
		scr_index -q -p "$P" --build id:$id
		k=0
		while ((k++ < 3)); do
			try scr_inspect -p "$P"
			[[ -n $(next_line) ]] || break
			bash -c "$(next_line)"
		done
		((k <= 2)) || failed "in turn"
		[[ $(scr_index -p "$P" --json | jq '.datasets[].id') == 2 ]]
	done
	assert_output_has "dataset 1: not in the index: dataset 2 has its name"
	shows "not in the index: dataset 2 has its name" scr_inspect -p "$P" id:1
	[[ -z $(next_line) ]]
	try scr_index -p "$P" --verify id:1
	[[ -z $(next_line) ]]
	# Damage of the older one is repaired; the index stays.
	rm "$P/d1/rank_1.ckpt"
	chase scr_inspect -p "$P" id:1
	took "scr_rebuild -p $P 1"
	ends 0 scr_inspect -p "$P" id:1
	# If the newer one is dropped, the older one is added.
	scr_index -q -p "$P" --drop ck
	try scr_inspect -p "$P" id:1
	next_is "scr_index -p $P --build 1"
}

# job_here: the job's one node is this machine, with storage in local.
job_here() {
	export SCR_JOB_ID=1000 SCR_REMOTE=local SCR_CACHE_BASE=local/cache \
		SCR_CNTL_BASE=local/cntl
	SCR_NODELIST=$(uname -n)
	export SCR_NODELIST
	rm -rf local nodes "$P" right.*
	ln -s nodes/node0 local
}

# in_caches ID: a checkpoint there, of three ranks.
in_caches() {
	gen -p "$P" -n 3 -m 1 --layout cache --nodes-dir nodes -t SINGLE \
		-s 1000 --lose "" -i "$1" --time $((1700000000 + 1000 * $1)) \
		--name "ckpt.$1" --seed "$1"
}

@test "lost in the caches alone: the scavenge does not send back to the report" {
	cache=local/cache/genuser/scr.1000
	job_here
	in_caches 1
	in_caches 2
	truncate -s 10 $cache/scr.dataset.2/rank_1.ckpt
	chase scr_inspect -p p 2
	out_has ckpt.1 took "scr_postrun -p p scr_index -p p"
	# Nothing at all is left.
	scr_index -q -p p --delete ckpt.1
	truncate -s 10 $cache/scr.dataset.1/rank_1.ckpt
	chase scr_postrun -p p
	[[ ${#taken[@]} == 0 ]] || failed "${taken[*]}"
	assert_status 4
	# A part of it is on the prefix: with the rest, once; then that is all.
	scr_postrun -p p --id 2 2>/dev/null || true
	rm p/.scr/scr.dataset.2/filemap_1
	chase scr_inspect -p p 2
	took "scr_postrun -p p*scr_index -p p --delete 2"
	[[ ! -e p/.scr/scr.dataset.2 ]]
}

@test "build, add and current of lost data: what is done about them" {
	indexed 1 2
	rm "$P/.scr/flush.scr" "$P"/ckpt.2/*
	for command in "--build 2 --dry-run" "--build 2" "--add 2" \
		"--current ckpt.2"; do
		ends 4 scr_index -p "$P" $command
		next_is "scr_inspect -p $P 2"
		try scr_index -p "$P" --json $command
		[[ $output == *'"next": "scr_inspect -p '* ]] || failed json
	done
	chase scr_index -p "$P" --build 2 --dry-run
	[[ ${#taken[@]} -gt 1 ]] || failed "${taken[*]}"
	look_after 2
	given_up 2
	# What can be rebuilt.
	rm "$P/ckpt.1/rank_1.ckpt"
	for command in "--build 1 --dry-run" "--add 1" "--current 1"; do
		ends 3 scr_index -p "$P" $command
		next_is "scr_index -p $P --build 1"
	done
	chase scr_index -p "$P" --current 1
	whole 1
}

@test "the metadata directory was deleted: each command leads on" {
	indexed 1 2
	rm "$P/.scr/flush.scr"
	scr_index -q -p "$P" --current ckpt.2
	rm -r "$P/.scr/scr.dataset.2"
	for command in "scr_rebuild -p $P" "scr_rebuild -p $P -n" "scr_index -p $P --build" \
		"scr_index -p $P --add" "scr_index -p $P --current"; do
		try $command 2
		next_is "scr_inspect -p $P 2"
	done
	chase scr_rebuild -p "$P" 2
	[[ ${taken[1]} == "scr_index -p $P --current 1" ]] || failed "${taken[*]}"
	restarts_from ckpt.1
	[[ -e $P/ckpt.2/rank_1.ckpt ]]
}

@test "a damaged index, and datasets that are whole, damaged or lost: one step" {
	for state in whole damaged lost; do
		for command in scr_inspect scr_index "scr_index --verify"; do
			rm -rf "$P" right.*
			indexed 1 2
			rm "$P/.scr/flush.scr"
			truncate -s 40 "$P/.scr/index.scr"
			[[ $state == whole ]] || rm "$P/ckpt.2/rank_1.ckpt"
			[[ $state != lost ]] || rm "$P/ckpt.2/rank_2.ckpt"
			chase $command -p "$P"
			((${#taken[@]} >= 1)) || failed "$state, $command: none"
			ends 0 scr_index -p "$P"
			if [[ $state == lost ]]; then
				restarts_from ckpt.1
			else
				whole 2
			fi
		done
	done
	truncate -s 40 "$P/.scr/index.scr"
	try scr_index -p "$P" --json
	[[ $(jq -r .next <<<"$output") == "scr_inspect -p $P" ]]
}

@test "data or parity is wrong: no job restarts from it, but it is kept" {
	indexed 1 2
	rm "$P/.scr/flush.scr"
	scr_index -q -p "$P" --current ckpt.2
	file=$(echo "$P"/.scr/scr.dataset.2/reddesc.er.1.xor.*)
	damage "$file" $(($(stat -c %s "$file") - 9)) '\377\376\375'
	cp -a "$P" wrong
	for command in "scr_inspect -p $P --deep" "scr_index -p $P --deep --verify" \
		"scr_index -p $P --deep --build" "scr_rebuild -p $P --deep" \
		"scr_rebuild -p $P -n --deep"; do
		renew wrong "$P"
		for want in "--current 1" ""; do
			ends 3 $command 2
			[[ "$output$stderr" == *"its data or its parity"* ]] ||
				failed "$command: facts"
			next_is "${want:+scr_index -p $P $want}"
			bash -c "$(next_line)" 2>/dev/null
		done
		restarts_from ckpt.1
		diff -r "right.2/ckpt.2" "$P/ckpt.2"
	done
}

# saved ID...: checkpoints in the caches and on the prefix.
saved() {
	local id

	job_here
	for id; do
		in_caches "$id"
		scr_postrun -q -p "$P" --id "$id"
		scr_index -q -p "$P" --checksums --build "$id"
		mkdir "right.$id"
		cp -a "$P/ckpt.$id" "right.$id"
	done
}

@test "lost on the prefix, perhaps still in the caches: a scavenge before --delete" {
	for state in indexed dropped listed; do
		for command in "scr_inspect -p $P" "scr_index -p $P --verify" \
			"scr_index -p $P --build" "scr_rebuild -p $P"; do
			[[ $state == indexed || $command == scr_inspect ]] ||
				continue
			saved 1 2
			[[ $state != dropped ]] || scr_index -q -p "$P" --drop 2
			[[ $state != listed ]] || rm "$P"/.scr/*.2/*map*
			rm "$P/ckpt.2/rank_1.ckpt"
			chase $command 2
			took "*scr_postrun -p $P"
			restarts_from ckpt.2
			whole 2
		done
	done
	# A scavenge leaves a dataset alone whose files have the right size.  If
	# one is moved away, it replaces the other wrong ones, too.
	for state in indexed listed; do
		for command in "scr_inspect" "scr_index --verify"; do
			saved 1 2
			[[ $state != listed ]] || rm "$P"/.scr/*.2/*map*
			damage "$P/ckpt.2/rank_1.ckpt" 100
			damage "$P/ckpt.2/rank_0.ckpt" 100
			chase $command --checksums -p "$P" 2
			took "mv $P/ckpt.2/rank_0.ckpt * && scr_postrun -p $P"
			rm "$P"/ckpt.2/*.old
			whole 2
		done
	done
}

@test "lost on the prefix and in the caches: given up, step by step" {
	saved 1 2
	rm "$P/ckpt.2/rank_1.ckpt"
	rm -r nodes/node0/cache/genuser/scr.1000/scr.dataset.2
	chase scr_inspect -p "$P" 2
	took "scr_postrun -p $P scr_index -p $P --*"
	restarts_from ckpt.1
	for ((k = 0; k < 3; k++)); do
		[[ -e $P/.scr/scr.dataset.2 ]] || break
		chase scr_inspect -p "$P" 2
		took "scr_postrun -p $P scr_index -p $P --d*"
	done
	[[ ! -e $P/.scr/scr.dataset.2 && ! -e $P/ckpt.2 ]]
	restarts_from ckpt.1
	# What was moved by hand is not given up.
	saved 1 2
	mv "$P/ckpt.2" "$P/old.2"
	rm -r nodes/node0/cache/genuser/scr.1000/scr.dataset.2
	chase scr_postrun -p "$P"
	took "mv $P/old.2 $P/ckpt.2"
	whole 2
}

@test "several datasets in the caches alone: one scavenge, named last" {
	cached XOR 1 1
	cached XOR 2 1
	cached XOR 3 1
	scr_index -q -p "$P" --build 1 2>/dev/null || true
	for look in "" "1 2 3"; do
		try scr_inspect -p "$P" $look
		next_is "scr_postrun -p $P $nodes"
		[[ ${lines[*]: -1} == "  next:       scr_postrun -p $P $nodes" ]] ||
			failed "$look: not last"
	done
	try scr_inspect -p "$P" --json
	[[ $(jq '[.prefixes[0].datasets[].next] | unique | length' <<<"$output") == 1 ]]
	# In the caches, too much is lost of both.
	rm -r nodes
	cached XOR 1 1,2
	cached XOR 2 1,2
	try scr_inspect nodes
	next_is "scr_postrun $nodes"
	try scr_inspect -d 1 -d 2 nodes
	next_is "scr_postrun $nodes"
}

@test "33.22 the scavenge of one dataset has the options of that of all" {
	one_node
	in_cache -i 2 --name ckpt.2
	truncate -s 10 local/cache/genuser/scr.1000/scr.dataset.2/rank_1.ckpt
	try scr_postrun "${args[@]}" --id 2
	ends 4 scr_postrun "${args[@]}"
	next_is "scr_postrun -p p --job-id 1000 --nodes $(uname -n) --cntldir local/cntl --cachedir local/cache --remote local --id 2"
	ends 4 bash -c "$(next_line)"
}
