#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086,SC2103 # words
# scr_index: listing, changing, building, deleting, verifying.

load helper

# --- Data ---

# multi [STEP]: a prefix with five datasets as LLNL's library left it, and the
# index of a step of the session; dataset 4 is missing.
multi() {
	local dir

	dir=$(golden scr3/index_multi)
	cp -a "$dir/prefix_after_run" p
	[ -z "${1-}" ] || cp -f "$dir/$1/index.scr" p/.scr/
	chmod -R u+w p
}

# flushed DIR ID NAME FILE...: make a checkpoint of one rank as after a flush.
# Files with plain paths are made, with one byte each.
flushed() {
	local dir=$1 id=$2 name=$3 meta=$1/.scr/scr.dataset.$2 file

	shift 3
	[[ -d $meta ]] || mkdir -p "$meta"
	printf '  %s\n' DSET '  ID' "    $id" '  NAME' "    $name" \
		'  FLAG_CKPT' '    1' '  FLAG_OUTPUT' '    0' '  CKPT' \
		"    $id" '  FILES' "    $#" '  SIZE' "    $#" '  COMPLETE' \
		'    1' COMPLETE '  1' VERSION '  6' | craft "$meta/summary.scr"
	printf '  %s\n' RANKS '  1' LEVEL '  1' RANK '  0' '    FILE' \
		'      .0.0' '    OFFSET' '      0' | craft "$meta/rank2file"
	printf '  %s\n' RANKS '  1' LEVEL '  0' RANK '  0' '    FILE' \
		"${@/#/      }" | craft "$meta/rank2file.0.0"
	for file; do
		case $file in /* | *..* | *\\* | .scr/*) continue ;; esac
		[[ $file != */* || -d $dir/${file%/*} ]] ||
			mkdir -p "$dir/${file%/*}"
		[ -e "$dir/$file" ] || printf x >"$dir/$file"
	done
}

# index_of ID NAME COMPLETE: an index that has this checkpoint alone.
index_of() {
	printf '  %s\n' VERSION '  2' NAME "  $2" '    DSET' "      $1" \
		DSET "  $1" '    COMPLETE' "      $3" '    DSET' '      ID' \
		"        $1" '      NAME' "        $2" '      FLAG_CKPT' \
		'        1' | craft p/.scr/index.scr
}

# added DIR ID NAME FILE...: the same, in the index.
added() {
	flushed "$@"
	scr_index -q -p "$1" --add "$3"
}

# disturb HOW THEN COMMAND...: a sample of the operations of the command fails
# (HOW is SHIM_FAIL_AT), or the command is killed there (SHIM_KILL_AT), each
# time on a copy p of `fresh`.  Then the function THEN looks.
disturb() {
	local how=$1 then=$2 n total

	shift 2
	renew fresh
	operations "$@"
	for n in $(moments "$total" 6); do
		renew fresh
		try env LD_PRELOAD="$SHIM" "$how=$n" "$@"
		if [[ $how == SHIM_FAIL_AT ]]; then
			[ "$status" -le 1 ]
			[ "$status" -eq 0 ] || [ -n "$stderr" ]
		fi
		echo "$how=$n"
		"$then"
	done
}

names() {
	scr_index -p p --names-only --all
}

# --- The command line ---

@test "usage errors; options that do not go with the verb are refused, not ignored" {
	mkdir -p p/.scr
	for id in abc 0 -1 1x '' 2147483648; do
		misused --build scr_index -p p "--build=$id"
	done
	for when in yesterday 2026-11-31 2026 15:99 +2h ''; do
		misused --since scr_index -p p --since "$when"
		misused --before scr_index -p p --before "$when"
	done
	while IFS='|' read -r args text; do
		misused "$text" scr_index -p p $args
	done <<-'END'
		--nosuch|nosuch
		word|word
		--verify a b|b: unexpected argument
		--build|--build
		--drop x --add x|'--drop' and '--add'
		--prune|--keep
		--prune --keep 0|--keep
		--keep 3|--keep
		--names-only --json|--json
		--columns id,colour|'colour': one of id, valid
		-o id, --json|--columns and --json
		-o id -n|--columns and --names-only
		--sort colour|--sort: unknown column 'colour'
		--prune --keep-within 2026-11-20|--keep-within
		--prune --keep-daily 0|--keep-daily
		--keep-within 2d|--keep-within
		--jobs 0|--jobs
	END
	for args in "--drop ckpt.1 --dry-run" "--current ckpt.1 --valid" \
		"--delete ckpt.1 --outputs" "--add ckpt.1 --deep" \
		"--list --checksums" "--verify --all" "--prune --force"; do
		misused "cannot be used with ${args%% *}" scr_index -p p $args
	done
}

@test "the prefix: --prefix, SCR_PREFIX, the working directory; none: what to do" {
	for dir in a b c; do
		added $dir 1 in.$dir f
	done
	cd c
	[ "$(scr_index -n)" = in.c ]
	[ "$(SCR_PREFIX=../b scr_index -n)" = in.b ]
	[ "$(SCR_PREFIX='' scr_index -n)" = in.c ]
	[ "$(SCR_PREFIX=../b scr_index -n --prefix ../a)" = in.a ]
	[ "$(SCR_PREFIX=../b scr_index -n --prefix=../a/)" = in.a ]
	cd ..
	complains 1 nosuch scr_index -p nosuch
	mkdir -p p
	complains 1 --prefix scr_index -p p
	[[ -z "$output" && ! -e p/.scr ]]
	mkdir p/.scr
	ends 1 scr_index -p p --json
	assert_output_has '"status": 1' '"errors": ['
}

# --- Lists ---

@test "names only, and filters" {
	multi s6_fetch_failed
	scr_index -p p -l | diff - <(scr_index -p p)
	scr_index -p p --list | diff - <(scr_index -p p)
	while IFS='|' read -r args want; do
		[[ $(eval "scr_index -p p -n $args" | xargs) == "$want" ]] || failed "$args"
	done <<-'END'
		|ckpt.5 both.3 ckpt.1
		--all|ckpt.5 both.3 out.2 ckpt.1
		--valid|both.3 ckpt.1
		--outputs|both.3 out.2
		--outputs --checkpoints|ckpt.5 both.3 out.2 ckpt.1
		--before 2026-11-20T23:00:20|ckpt.1
		--since 2026-11-20T23:00:34|ckpt.5 both.3
		--since '11pm nov 20 2026'|ckpt.5 both.3 ckpt.1
		--before 1s|ckpt.5 both.3 ckpt.1
		--since 1s|
		--after 2026-11-20|ckpt.5 both.3 ckpt.1
		--before 2026-11-20|
		--all --sort name|both.3 ckpt.1 ckpt.5 out.2
		--sort -flushed|both.3 ckpt.5 ckpt.1
	END
}

@test "a terminal: colours and folded lines; a pipe: neither" {
	multi
	type script >/dev/null || skip "no script(1)"
	TERM=xterm run script -qec "stty cols 60 && scr_index -p p --all" /dev/null
	assert_status 0
	assert_output_has $'   1 YES   2026-11-20T23:00:16     ckpt' \
		$'\r\n           ckpt.1'
	dir=$(golden scr3/index_multi)
	cp "$dir/s6_fetch_failed/index.scr" p/.scr/index.scr
	TERM=xterm run script -qec "scr_index -p p" /dev/null
	assert_output_has $'\e[31mNO\e[0m    2026'
	NO_COLOR=1 TERM=xterm run script -qec "scr_index -p p" /dev/null
	assert_output_lacks $'\e'
	[ "$(scr_index -p p --all | grep -c $'\e')" -eq 0 ]
	[ "$(scr_index -p p --all | wc -l)" -eq 5 ]
}

@test "columns and their order" {
	multi s6_fetch_failed
	ends 0 scr_index -p p --all -o name,id,size,fetched --bytes
	assert_output_is "NAME   DSET  SIZE FETCHED
ckpt.5    5 20666 2026-11-20T23:00:40
both.3    3 20666 2026-11-20T23:00:42
out.2     2 20666 -
ckpt.1    1 20666 -"
	[ "$(scr_index -p p --sort id --json | jq -c '[.datasets[].id]')" = \
		"[1,2,3,5]" ]
	# Every column can be chosen, and sorted by.
	for column in id valid flushed current kind files size name reason \
		fetched fetches failed moved-from; do
		ends 0 scr_index -p p -o "$column" --sort "$column"
		assert_line_count 4
		[ "$(grep -c "[^ ]" <<<"$output")" -eq 4 ]
	done
}

@test "the list: --all has outputs, kind, files, size and the reason for NO; JSON" {
	multi
	calm scr_index -p p --json
	assert_output_has '"current": "ckpt.5"' '"name": "out.2"' \
		'"flushed": "2026-11-20T23:00:26Z"' '"valid": true'
	[ "$(grep -c '"id"' <<<"$output")" -eq 4 ]
	try scr_index -p p --json --outputs
	[ "$(grep -c '"id"' <<<"$output")" -eq 2 ]
	rm -r p
	multi s6_fetch_failed
	ends 0 scr_index -p p --all
	assert_output_is \
"DSET VALID FLUSHED             CUR KIND     FILES       SIZE NAME   REASON
   5 NO    2026-11-20T23:00:34     ckpt         4   20.2 KiB ckpt.5 last fetch failed 2026-11-20T23:00:42
   3 YES   2026-11-20T23:00:36   * both         4   20.2 KiB both.3
   2 YES   2026-11-20T23:00:20     output       4   20.2 KiB out.2
   1 YES   2026-11-20T23:00:16     ckpt         4   20.2 KiB ckpt.1"
}

# --- Changes of the index ---

# The session of LLNL's tool: golden/damage.bats.
@test "drop and add again, drop-after: the summary, the restart point" {
	multi
	cp p/.scr/scr.dataset.3/summary.scr s3
	scr_index -p p --drop both.3
	scr_index -p p --add both.3
	cmp s3 p/.scr/scr.dataset.3/summary.scr
	complains 1 scr.dataset.99 scr_index -p p --build 99
	scr_index -p p -c ckpt.5
	# LLNL's tool left CURRENT at a dataset that no longer exists.
	complains 0 "restart point is ckpt.1" scr_index -p p --drop-after ckpt.1
	[ "$(current)" = ckpt.1 ]
	complains 0 "no valid checkpoint is left" scr_index -p p -d ckpt.1
	prints "DSET VALID FLUSHED             CUR NAME" scr_index -p p
}

@test "dropping the restart point: the latest earlier valid one; of the oldest" {
	multi
	rows <<-'END'
		0|scr_index -q -p p --drop ckpt.5||*both.3
		0|scr_index -q -p p --drop both.3||*ckpt.1
		0|scr_index -q -p p --add ckpt.5
		0|scr_index -p p -d ckpt.1|one;no checkpoint is marked as the restart point: the next job tries ckpt.5
		0|scr_index -p p --drop-all|2=
	END
}

@test "--drop-after works with outputs; --drop-all forgets all, and no file" {
	multi
	find p -name '*.dat' | sort >before
	# Once nothing newer is there, it is no error.
	rows <<-'END'
		0|scr_index -q -p p --drop-after out.2||=1=ckpt.1,2=out.2
		0|scr_index -q -p p --drop-after out.2||=1=ckpt.1,2=out.2
		1|scr_index -p p --drop-after nosuch
		0|scr_index -p p --drop-all --json|"ckpt.1";"out.2";"current": null|=
	END
	find p -name '*.dat' | sort | diff before -
	for name in ckpt.1 out.2 both.3 ckpt.5; do
		scr_index -q -p p --add $name
	done
	[[ "$(names | wc -l)" -eq 4 && -z "$(current)" ]]
}

@test "--uncurrent; --current of a dataset marked NO warns; a build clears the mark" {
	multi
	rows <<-END
		0|scr_index -p p --uncurrent||*
		0|scr_index -p p --uncurrent
		|cp "$(golden scr3/index_multi)/s6_fetch_failed/index.scr" p/.scr/index.scr
		0|scr_index -p p --current ckpt.5|one;2>ckpt.5;2>last fetch failed|*ckpt.5
		|rm -r p && multi s6_fetch_failed
		0|scr_index -p p --build 5|2>failed fetch|*both.3
	END
	[ "$(scr_index -p p -n --valid | head -n 1)" = ckpt.5 ]
}

@test "keys that we do not know survive a change" {
	mkdir -p p/.scr
	printf '  %s\n' VERSION '  2' THEIRS '  kept' NAME '  a' '    DSET' \
		'      1' '  b' '    DSET' '      2' DSET '  2' \
		'    COMPLETE' '      1' '    THEIRS' '      kept as well' \
		'    DSET' '      ID' '        2' '      NAME' '        b' \
		'  1' '    COMPLETE' '      1' '    DSET' '      ID' \
		'        1' '      NAME' '        a' | craft p/.scr/index.scr
	scr_index -q -p p --drop a
	[ "$(grep -ac kept p/.scr/index.scr)" -ge 1 ]
	[ "$(tr '\0' '\n' <p/.scr/index.scr | grep -ac kept)" -eq 2 ]
	[ "$(names)" = b ]
}

@test "many concurrent changes lose nothing" {
	for id in {1..12}; do
		flushed p "$id" "ckpt.$id" "file.$id"
	done
	scr_index -q -p p --drop-all
	for id in {1..12}; do
		scr_index -q -p p --add "ckpt.$id" &
	done
	wait
	[ "$(names | wc -l)" -eq 12 ]
	for id in {1..11..2}; do
		scr_index -q -p p --drop "ckpt.$id" &
		scr_index -q -p p --current "ckpt.$((id + 1))" &
	done
	wait
	[[ "$(names | xargs)" == "$(echo ckpt.{12..2..2})" && -n "$(current)" ]]
}

# --- Damaged index ---

@test "a damaged index: the list comes from the datasets, the file is kept" {
	multi
	rm -r p/.scr/scr.dataset.2/summary.scr
	echo rubbish >p/.scr/index.scr
	cp p/.scr/index.scr rubbish
	before=$(tree_sha p)
	finds 3 "ckpt.5;both.3;ckpt.1" scr_index -p p --all
	assert_output_lacks out.2
	assert_stderr_has index.scr "dataset 2:" index.scr.bak
	[ "$(tree_sha p)" = "$before" ]
	ends 3 scr_index -p p --prune --keep 1
	[ "$(tree_sha p)" = "$before" ]
	# A failed change writes nothing.
	ends 1 scr_index -p p --drop nosuch
	cmp rubbish p/.scr/index.scr
	[ ! -e p/.scr/index.scr.bak ]
	warns 0 index.scr.bak scr_index -p p --current both.3
	cmp rubbish p/.scr/index.scr.bak
	calm scr_index -p p --all
	assert_output_has ckpt.1 both.3 ckpt.5
	[ "$(current)" = both.3 ]
	# Another one does not overwrite the one that was kept.
	echo second >p/.scr/index.scr
	scr_index -q -p p --current ckpt.1
	cmp rubbish p/.scr/index.scr.bak
	[ "$(cat p/.scr/index.scr.bak.1)" = second ]
	[ "$(names | wc -l)" -eq 3 ]
}

@test "an index of another version, or with an entry that cannot be read, is damaged" {
	local edit

	for edit in '/^      COMPLETE/,+1s/1$/yes/' '/^  VERSION/,+1s/2$/3/' \
		'/^        FILES/,+1s/[0-9]$/-1/'; do
		rm -rf p
		multi
		scr_inspect -m tree p/.scr/index.scr | sed "$edit" >edited
		craft p/.scr/index.scr <edited
		cp p/.scr/index.scr damaged
		finds 3 "ckpt.5;both.3;ckpt.1" scr_index -p p --all
		[[ $stderr == *"index.scr: "*index.scr.bak* ]]
		ends 0 scr_index -p p --current both.3
		cmp damaged p/.scr/index.scr.bak
		[ "$(current)" = both.3 ]
	done
}

@test "a missing index is rebuilt; a build that fails keeps an existing entry" {
	multi
	rm p/.scr/index.scr
	finds 3 "ckpt.5;both.3;ckpt.1" scr_index -p p
	assert_stderr_has "index.scr is missing"
	[ ! -e p/.scr/index.scr ]
	scr_index -q -p p --current both.3
	ends 0 scr_index -p p
	[[ "$(names | wc -l)" -eq 4 && ! -e p/.scr/index.scr.bak ]]
	rm -r p
	built p 1 -n 4 -t XOR -s 5000
	rm p/ckpt.1/rank_0.ckpt p/ckpt.1/rank_1.ckpt
	tree_sha p >before
	warns 4 "set 1 of 1;ranks 0;next: scr_inspect -p p 1" scr_index -p p --build 1
	tree_sha p | diff before -
}

@test "repairing a damaged index with each step failing or killed" {
	flushed fresh 1 one f1
	flushed fresh 2 two f2
	echo rubbish >fresh/.scr/index.scr
	kept() {
		# The damaged index is kept, under one of its names.
		grep -qx rubbish p/.scr/index.scr p/.scr/index.scr.bak*
		[ "$(names 2>/dev/null | xargs)" = "two one" ]
		scr_index -q -p p --current two
		[ "$(current)" = two ]
		grep -qx rubbish p/.scr/index.scr.bak
	}
	for how in SHIM_FAIL_AT SHIM_KILL_AT; do
		disturb $how kept scr_index -q -p p --current two
	done
}

# --- Build ---

@test "without flush.scr the descriptor is inferred, and that is reported" {
	again() {
		renew "$dir/before"
		chmod -R u+w p
	}
	dir=$(golden scr3/dmg_no_flush_file)
	again
	warns 0 "no descriptor" scr_index -p p --build 1 --json
	assert_output_has '"descriptor_guessed": true' '"name": "ckpt.1"'
	try scr_index -p p --json
	assert_output_has '"user": "golduser"' '"job_id": "1000"' \
		'"checkpoint": true' '"file_count": 14' '"bytes": 158686' \
		'"checkpoint_id": 1' '"created": "2026-'
	# Without the log, the name comes from the directory of the files.
	again
	rm p/.scr/log
	scr_index -q -p p --build 1
	[ "$(names)" = ckpt.1 ]
	# A name that another dataset has is not taken.
	again
	rm p/.scr/log
	added p 9 ckpt.1 other
	scr_index -q -p p --build 1
	[ "$(names | xargs)" = "ckpt.1 scr.dataset.1" ]
}

@test "--build --dry-run: 3 if there is something to rebuild, no change" {
	gen -p p -n 4 -t XOR -s 5000 --lose 2
	tree_stat p >before
	ends 3 scr_index -p p --build 1 --dry-run --json
	assert_output_has '"dry_run": true' '"filemap_count": 1'
	tree_stat p | diff before -
	scr_index -q -p p --build 1
	tree_stat p >before
	# A second build changes nothing either.
	for option in --dry-run -q; do
		ends 0 scr_index -p p --build 1 $option
		tree_stat p | diff before -
	done
}

@test "a flushed dataset is built only if its files are there and add up" {
	multi
	scr_index -q -p p --drop ckpt.5
	tree_sha p >before
	mv p/ckpt.5_rank_2.dat away
	complains 4 ckpt.5_rank_2.dat scr_index -p p --build 5
	head -c 100 away >p/ckpt.5_rank_2.dat
	complains 4 "add up" scr_index -p p --build 5
	mv away p/ckpt.5_rank_2.dat
	tree_sha p | diff before -
	scr_index -q -p p --build 5
	[ "$(names | head -n 1)" = ckpt.5 ]
	# Files of LLNL's library are not changed.
	tree_sha p | grep -v index.scr | diff <(grep -v index.scr before) -
}

@test "filemaps of some ranks beside a complete flush do no harm" {
	dir=$(golden scr3/xor_4)
	taken "$dir/flushed" f
	cp "$dir"/cache/nodes/node1/cache/golduser/scr.1000/scr.dataset.1/.scr/filemap_1 \
		f/prefix/.scr/scr.dataset.1/
	scr_index -q -p f/prefix --drop-all
	ends 0 scr_index -p f/prefix --build 1
	ends 0 scr_index -p f/prefix --verify
	rm f/prefix/ckpt.1/rank_1.ckpt
	ends 4 scr_index -p f/prefix --build 1
}

@test "--checksums records sums, and a wrong file is rebuilt by them" {
	built p 1 --checksums -n 4 -t XOR -s 5000
	cp p/ckpt.1/rank_2.ckpt good
	damage p/ckpt.1/rank_2.ckpt 100
	ends 0 scr_index -p p --verify
	ends 3 scr_index -p p --verify --checksums
	assert_stderr_one_line rank_2.ckpt "wrong checksum" "can be rebuilt"
	ends 3 scr_index -p p --add ckpt.1 --checksums
	ends 0 scr_index -p p --build 1 --checksums
	cmp good p/ckpt.1/rank_2.ckpt
	# A build without the option keeps the checksums.
	scr_index -q -p p --build 1
	damage p/ckpt.1/rank_2.ckpt 100
	ends 3 scr_index -p p --verify --checksums
}

@test "--build --checksums: no checksum of data that its redundancy contradicts" {
	for type in "XOR" "RS -k 2" "PARTNER"; do
		rm -rf p
		built p 1 -n 6 -t $type -s 5000
		cp p/ckpt.1/rank_2.ckpt good
		damage p/ckpt.1/rank_2.ckpt 100
		tree_sha p >before
		# Nor in a container or an archive.
		ends 3 scr_container -p p pack 1
		said="unknown;a file that you distrust, move it away: scr_rebuild -p p 1"
		[[ $type != RS* ]] ||
			said="dataset 1: ckpt.1/rank_2.ckpt of rank 2:;scr_rebuild -p p --deep 1"
		rows <<-END
			3|scr_container -p p pack 1|one;$said
			3|scr_archive -p p export -o out.tar 1
			|[[ ! -e out.tar ]] && tree_sha p >after && diff before after
		END
		[[ $type == RS* ]] || rows <<-'END' # it does not tell which one is wrong
			3|scr_index -p p --build 1 --checksums
			|tree_sha p >after && diff before after && mv p/ckpt.1/rank_2.ckpt .
			0|scr_rebuild -p p 1
		END
		ends 0 scr_index -p p --build 1 --checksums
		cmp good p/ckpt.1/rank_2.ckpt
		ends 0 scr_index -p p --verify --deep --checksums
	done
}

@test "--checksums of a flushed dataset" {
	multi
	scr_index -q -p p --build 1 --checksums
	ends 0 scr_index -p p --verify ckpt.1 --checksums --json
	assert_output_has '"checksums_compared": 4' '"files_without_size": 0'
	damage p/ckpt.1_rank_1.dat 100
	ends 4 scr_index -p p --verify ckpt.1 --checksums
	assert_stderr_one_line ckpt.1_rank_1.dat "wrong checksum"
	ends 4 scr_index -p p --build 1 --checksums
}

@test "two builds of one dataset wait for each other; nothing is left over" {
	gen -p p -n 8 -m 4 -t XOR -s 50000 --lose 1
	for _ in 1 2 3; do
		scr_index -q -p p --build 1 &
	done
	wait
	ends 0 scr_index -p p --verify --deep
	[ -z "$(find p -name '.scrkit*')" ]
}

# --- Add ---

@test "--add looks at the files; two datasets of one name" {
	multi
	scr_index -q -p p --drop both.3
	mv p/both.3_rank_0.dat away
	complains 4 both.3_rank_0.dat scr_index -p p --add both.3
	[ "$(names | wc -l)" -eq 3 ]
	head -c 10 away >p/both.3_rank_0.dat
	ends 4 scr_index -p p --add both.3
	mv away p/both.3_rank_0.dat
	shows '"id": 3' scr_index -p p --add both.3 --json
	[ "$(current)" = ckpt.5 ]
	rm -r p
	flushed p 3 same f3
	flushed p 7 same f7
	complains 2 "id:3;id:7" scr_index -p p --add same
	scr_index -q -p p --build 3
	[ "$(scr_index -p p --all | awk '/same/ { print $1 }')" = 3 ]
	warns 0 "dataset 3" scr_index -p p --build 7
	[ "$(scr_index -p p --all | awk '/same/ { print $1 }')" = 7 ]
}

# --- Verify ---

@test "--verify: whole, lost, by name and number" {
	multi
	tree_stat p >before
	prints "$(scr_index -p p --verify)" scr_index -p p --verify
	assert_stderr_empty
	assert_line_count 5
	tree_stat p | diff before -
	rm p/out.2_rank_3.dat
	truncate -s 10 p/ckpt.1_rank_0.dat
	rows <<-'END'
		4|scr_index -p p --verify|2>out.2: out.2_rank_3.dat: missing (rank 3): lost;2>its 4 files add up to
		0|scr_index -p p --verify both.3|3 whole;!out.2
		4|scr_index -p p --verify 2 --json|"name": "out.2";"state": "lost";"files_bad": 1;out.2_rank_3.dat;2=
		1|scr_index -p p --verify 4|one;2>4
	END
}

@test "--verify, --add: a dataset that can be rebuilt is damaged, exit 3" {
	built p 1 -n 4 -t XOR -s 5000
	rows <<-'END'
		|rm p/ckpt.1/rank_2.ckpt
		3|scr_index -p p --verify|one;2>can be rebuilt
		0|scr_index -q -p p --build 1
		|rm p/.scr/scr.dataset.1/filemap_1 p/.scr/scr.dataset.1/reddesc.er.3.xor*
		3|scr_index -p p --verify|2>filemap of rank 1;2>reddesc.er.3.xor
		0|scr_index -q -p p --build 1
		0|scr_index -p p --verify
		0|scr_index -q -p p --drop ckpt.1
		|rm p/ckpt.1/rank_1.ckpt
		3|scr_index -p p --add ckpt.1|one;2>--build 1|=
	END
}

@test "--verify: unfinished datasets only if asked for" {
	added p 1 one f1
	added p 2 two f2
	# The state after an interrupted deletion.
	scr_index -q -p p --delete two --dry-run >/dev/null
	index_of 2 two 0
	rm p/f2 p/.scr/scr.dataset.2/summary.scr
	shows unfinished scr_index -p p --verify
	ends 4 scr_index -p p --verify two
	# scr_inspect has the same word, in JSON, too.
	rm -r p/.scr/scr.dataset.2
	shows "  state       unfinished" scr_inspect -p p 2
	shows '"state": "unfinished"' scr_inspect -p p 2 --json
}

@test "--verify: a dataset that is not in the index has its recorded name" {
	gen -p p -n 4 -m 4 -s 100 -i 5
	finds 3 " ckpt.5" scr_index -p p --verify 5
	assert_stderr_has "scr_index: ckpt.5: not in the index"
	finds 3 '"name": "ckpt.5"' scr_index -p p --verify 5 --json
	# Nothing records it.
	rm p/.scr/flush.scr
	warns 3 "scr_index: scr.dataset.5: not in the index" scr_index -p p --verify 5
}

@test "--verify: a renamed directory is not taken for that of a dataset that is not indexed" {
	local id

	for id in 3 5; do
		gen -p q --nodes-dir nodes.$id -n 8 -m 4 -t XOR --set-size 4 \
			-f 1 --ckpt -i $id
	done
	scr_index -q -p q --build 3
	mv q/ckpt.3 q/old
	warns 3 "next: mv q/old q/ckpt.3" scr_index -p q --verify 3
	[[ "$stderr" != *ckpt.5* ]]
	mv q/old q/ckpt.3
	ends 0 scr_index -p q --verify 3
}

# --- Delete ---

@test "--delete: files, metadata and empty directories go; others stay" {
	added p 1 one d/a d/sub/b d/sub/deep/c top
	added p 2 two e/f
	touch p/d/foreign
	ends 0 scr_index -p p --delete one --dry-run
	assert_line_count 2
	# d is kept; d/sub, d/sub/deep and the metadata would be removed.
	assert_output_has "1       4     3"
	[ -e p/d/sub/deep/c ]
	complains 0 "4 files" scr_index -p p --delete one
	[ "$(cd p && find . -path ./.scr -prune -o -type f -print | sort | xargs)" = \
		"./d/foreign ./e/f" ]
	[[ ! -e p/d/sub && ! -e p/.scr/scr.dataset.1 && "$(names)" == two ]]
	scr_index -q -p p --verify two
	scr_index -q -p p --delete 2
	[[ ! -e p/e && -d p && -z "$(names)" ]]
}

@test "--delete of scavenged files: filemaps list them" {
	gen -p p -n 4 -t XOR -f 2
	touch p/.scr/scr.dataset.1/notes p/.scr/scr.dataset.1/filemap_0.bak
	warns 0 "is kept;2 files" scr_index -p p --delete 1
	[ "$(find p -type f -path '*dataset*' | sort | xargs)" = \
		"p/.scr/scr.dataset.1/filemap_0.bak p/.scr/scr.dataset.1/notes" ]
	[ ! -e p/ckpt.1 ]
}

@test "--delete: files that another dataset names stay, also one not in the index" {
	added p 1 one shared mine.1
	added p 2 two shared mine.2
	rows <<-'END'
		0|scr_index -p p --delete two --json|"file_count": 1;"files_kept": 1;"deleted": true|+shared -mine.2
		0|scr_index -q -p p --verify one
		|flushed p 3 three shared mine.3
		0|scr_index -q -p p --delete one||+shared
		0|scr_index -q -p p --delete 3||-shared
	END
}

@test "--delete: unknown names and numbers; the files are unknown: nothing is removed" {
	added p 1 one f1
	added p 2 two f2
	echo rubbish >p/.scr/scr.dataset.2/rank2file.0.0
	tree_sha p >before
	complains 1 rank2file scr_index -p p --delete two
	complains 1 "dataset 2;--drop" scr_index -p p --delete one
	tree_sha p | diff before -
	scr_index -q -p p --drop two
	warns 0 "dataset 2" scr_index -p p --delete one
	[[ ! -e p/f1 && -e p/f2 ]]
	rm -r p before
	multi
	tree_sha p >before
	for name in nosuch 4 99 ckpt; do
		complains 1 $name scr_index -p p --delete $name
	done
	tree_sha p | diff before -
}

@test "--delete killed at each step: never a valid checkpoint with holes" {
	multi
	mv p fresh
	no_holes() {
		# Also if the index is lost.
		for index in "" lost; do
			[ -z "$index" ] || mv p/.scr/index.scr away
			if scr_index -q -p p -n --valid | grep -qx ckpt.5; then
				[ "$(echo p/ckpt.5* | wc -w)" -eq 4 ]
			fi
			[ -z "$index" ] || mv away p/.scr/index.scr
		done
		if names | grep -qx ckpt.5; then
			scr_index -q -p p --delete ckpt.5
		fi
		[ -z "$(find p -name 'ckpt.5*')" ]
		[ "$(names | xargs)" = "both.3 out.2 ckpt.1" ]
		[ "$(current)" = both.3 ]
	}
	disturb SHIM_KILL_AT no_holes scr_index -q -p p --delete ckpt.5
}

@test "--prune keeps the newest valid ones, outputs and the current one" {
	for id in 1 2 3 4 5 6; do
		added p $id ckpt.$id f$id
	done
	scr_index -p p --current ckpt.1
	ends 0 scr_index -p p --prune --keep 2 --dry-run
	assert_line_count 4
	assert_output_lacks ckpt.1 ckpt.5 ckpt.6
	[ "$(names | wc -l)" -eq 6 ]
	ends 0 scr_index -p p --prune --keep 2 --json
	[ "$(grep -c '"deleted": true' <<<"$output")" -eq 3 ]
	[ "$(names | xargs)" = "ckpt.6 ckpt.5 ckpt.1" ]
	[ "$(cd p && echo f*)" = "f1 f5 f6" ]
	scr_index -q -p p --prune --keep 2
	scr_index -q -p p --prune --keep 9
	[ "$(names | wc -l)" -eq 3 ]
}

@test "--prune counts valid ones only; newer ones that are not stay" {
	multi s6_fetch_failed
	# 5 is marked NO, so 3 is the newest valid one, and the restart point; 3 is an
	# output, too.
	rows <<-'END'
		0|scr_index -p p --prune --keep 1 --dry-run|ckpt.1;!ckpt.5;!both.3;!out.2
		0|scr_index -q -p p --prune --keep 1
		|[[ $(names) == $'ckpt.5\nboth.3\nout.2' ]]
		0|scr_index -q -p p --uncurrent
		|added p 8 ckpt.8 f8
		0|scr_index -q -p p --prune --keep 1||=2=out.2,3=both.3,8=ckpt.8
		0|scr_index -q -p p --prune --keep 1 --outputs||=2=out.2,8=ckpt.8
	END
}

@test "--prune by days and by age" {
	for id in 1 2 3 4 5 6; do
		added p $id ckpt.$id f$id
	done
	# Flushed 30 days ago, yesterday, today, and number 6 never.
	{
		printf '  %s\n' VERSION '  2' NAME
		for id in 1 2 3 4 5 6; do
			printf '  %s\n' "  ckpt.$id" '    DSET' "      $id"
		done
		echo '  DSET'
		for id in 1 2 3 4 5 6; do
			printf '  %s\n' "  $id"
			[ "$id" = 6 ] ||
				printf '  %s\n' '    FLUSHED' "      $(date -d "$((
					id < 3 ? 30 : id < 5)) days ago 00:00:0$id" \
					+%FT%T)"
			printf '  %s\n' '    COMPLETE' "      $((id < 6))" \
				'    DSET' '      ID' "        $id" '      NAME' \
				"        ckpt.$id" '      FLAG_CKPT' '        1'
		done
	} | craft p/.scr/index.scr
	[ "$(scr_index -p p -n | xargs)" = "ckpt.6 ckpt.5 ckpt.4 ckpt.3 ckpt.2 ckpt.1" ]
	goes() {
		scr_index -p p --prune --dry-run "$@" --json |
			jq -c '[.datasets[].id]'
	}
	[ "$(goes --keep 1)" = "[1,2,3,4]" ]
	[ "$(goes --keep-daily 2)" = "[1,2,3]" ]
	[ "$(goes --keep-daily 9)" = "[1,3]" ]
	[ "$(goes --keep-daily 2 --keep 3)" = "[1,2]" ]
	[ "$(goes --keep-within 1w)" = "[1,2]" ]
	[ "$(goes --keep-within 1w --keep-daily 3)" = "[1]" ]
	scr_index -q -p p --prune --keep-within 1w --keep-daily 3
	[ "$(names | xargs)" = "ckpt.6 ckpt.5 ckpt.4 ckpt.3 ckpt.2" ]
	[ "$(cd p && echo f*)" = "f2 f3 f4 f5 f6" ]
}

# Four checkpoints: the first two share a file, and so do the last two.
sharing() {
	added fresh 1 one d/a old
	added fresh 2 two e/b old new
	added fresh 3 three f/c
	added fresh 4 four g/d new
}

# After a run of --prune --keep 1 that was disturbed.
pruned_later() {
	scr_index -q -p p --verify
	scr_index -q -p p --prune --keep 1
	[ "$(names)" = four ]
	[ "$(cd p && find . -type f -not -path './.scr/*' | sort | xargs)" = \
		"./g/d ./new" ]
}

@test "--prune: a file goes with the last dataset that names it" {
	sharing
	mv fresh p
	ends 0 scr_index -p p --prune --keep 2 --json --dry-run
	[ "$(grep -c '"file_count": 2,' <<<"$output")" -eq 1 ]
	ends 0 scr_index -p p --prune --keep 2 --json
	[[ "$(grep -c '"files_kept": 1' <<<"$output")" -eq 2 && ! -e p/old ]]
	[ -e p/new ]
	scr_index -q -p p --verify
	[ "$(names | xargs)" = "four three" ]
}

@test "--prune failing or killed at each step: later datasets stay valid" {
	sharing
	restored=0
	# If one is half deleted, those after it are valid.
	later_valid() {
		[ "$status" -eq 0 ] || restored=$((restored + 1))
		left=$(find p/.scr -name summary.scr | wc -l)
		valid=$(scr_index -p p -n --valid | wc -l)
		((left - valid <= 1)) || failed "$left, $valid valid"
		pruned_later
	}
	disturb SHIM_FAIL_AT later_valid scr_index -q -p p --prune --keep 1
	((restored > 0))
	disturb SHIM_KILL_AT pruned_later scr_index -q -p p --prune --keep 1
}

# --- Hostile input ---

@test "names that could drive a terminal or look like paths" {
	# shellcheck disable=SC1003
	flushed p 1 'evil\nname' f1
	flushed p 2 ../../x f2
	flushed p 3 /abs/x f3
	ends 3 scr_index -p p --json
	scr_index -q -p p --add ../../x
	scr_index -q -p p --add /abs/x
	complains 1 'evil\nname' scr_index -p p --add $'evil\nname'
	ends 0 scr_index -p p
	assert_line_count 3
	scr_index -q -p p --delete ../../x
	scr_index -q -p p --delete /abs/x
	[ -z "$(names)" ]
	# A newline in a foreign index does not break the line.
	index_of 4 'a\nb' 1
	try scr_index -p p
	assert_line_count 2
	assert_output_has 'a\nb'
	prints 'a\nb' scr_index -p p -n
	scr_index -q -p p --drop $'a\nb'
	[ -z "$(names)" ]
}

@test "paths that leave the prefix are refused, and never deleted" {
	mkdir -p out p/dir p/.scr
	echo precious >out/f
	printf o >p/dir/file
	ln -s ../out p/link
	ln -s dir/file p/flink
	ln -s dir p/dlink
	chmod 777 p # anybody's links
	added p 1 neighbour dir/file
	flushed p 7 evil ../out/f "$PWD/out/f" link/f flink dlink/file \
		.scr/scr.dataset.1/summary.scr plain dir/../plain
	ends 1 scr_index -p p --add evil
	ends 1 scr_index -p p --build 7
	ends 1 scr_index -p p --verify 7
	[ "$(names)" = neighbour ]
	# What it cannot reach must not be forgotten (33.11).
	tree_sha p/.scr/scr.dataset.7 >before
	for dry in --dry-run ""; do
		# shellcheck disable=SC2086 # none
		warns 1 "link/f: behind a link" scr_index -p p $dry --delete 7
	done
	tree_sha p/.scr/scr.dataset.7 | diff before -
	rm p/link
	warns 1 "dlink/file: behind a link" scr_index -p p --delete 7
	rm p/dlink
	warns 0 "not removed" scr_index -p p --delete 7
	[[ "$(cat out/f)" == precious && "$(cat p/dir/file)" == o ]]
	[[ -L p/flink && ! -e p/plain && ! -e p/.scr/scr.dataset.7 ]]
	scr_index -q -p p --verify
	# The owner's links (33.11), but not to files of another dataset.
	chmod 755 p
	ln -s "$PWD/p/dir" p/back
	ln -s ../out p/link
	flushed p 8 linked link/f back/file
	complains 1 back/file scr_index -p p --delete 8
	rm p/back
	scr_index -q -p p --delete 8
	[ ! -e out/f ]
	scr_index -q -p p --verify
}

@test "no tables of redundancy in summary.scr, whatever the ranks" {
	built p 1 -n 8 -m 4 -s 1000 -t RS -k 2 --lose 1
	run ! grep -E '^  [A-Z]*(RS|XOR|PARTNER)$' \
		<(scr_inspect -m tree p/.scr/scr.dataset.1/summary.scr)
	small=$(stat -c %s p/.scr/scr.dataset.1/summary.scr)
	built q 1 -n 64 -m 32 -s 1000 -t RS -k 2 --lose 1
	# (Longer numbers may add a few bytes.)
	(($(stat -c %s q/.scr/scr.dataset.1/summary.scr) <= small + 16))
}
