#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What every command answers with --json: one object that follows
# share/schema/scrkit.json, for errors as well.

load helper

setup() {
	in_no_job
	export SCR_USER_NAME=genuser
	P=$PWD/p
}

# dataset ID OPTION...: a dataset of four ranks, in the index.
dataset() {
	built "$P" "$1" -n 4 -s 3000 --dir "ckpt.$1" --name "ckpt.$1" \
		--seed "$1" -t XOR -m 4 "${@:2}"
}

# answers STATUS COMMAND...: the command exits so, and its answer names the
# command, and has the status and the messages of stderr.  teardown_file()
# compares it with the schema.
answers() {
	local name=$2 messages

	[[ $name != scr_env && $name != scr_fti ]] || name+=" $3"
	ends "$1" "${@:2}" --json
	messages=$(sed -n "s/^$2: //p" <<<"$stderr" | sort)
	says '.command, .status, ((.errors + .warnings) | sort | .[])' \
		"$name"$'\n'"$1${messages:+$'\n'$messages}"
}

# gives STATUS FILTER TEXT COMMAND...: the same, and a value in the answer.
gives() {
	answers "$1" "${@:4}"
	says "$2" "$3"
}

# says FILTER TEXT: a value in the answer.
says() {
	local value

	value=$(jq -rc "$1" <<<"$output")
	[[ $value == "$2" ]] || failed "$1: expected $2" "not $value"
}

@test "the schema is valid, and a name has one type" { json_check --itself; }

@test "an answer that does not follow the schema is found" {
	dataset 1
	scr_index -p "$P" --list --json >good
	json_check good
	jq '.datasets[0].valid = "yes"' good >kind
	jq '.datasets[0].colour = "red"' good >member
	jq '.datasets[0].flushed = "2026-11-21T10:00:00"' good >zone
	jq '.verdict = "fine"' good >place
	jq 'del(.status)' good >missing
	ends 1 json_check kind member zone place missing
	[[ $(cut -d : -f 1 <<<"$output" | xargs) == "kind member zone place missing" ]]
}

@test "scr_index" {
	dataset 1
	dataset 2
	dataset 3
	gives 0 '.prefix, (.datasets | length)' "$P"$'\n3' scr_index -p "$P" --list
	answers 0 scr_index -p "$P" --verify
	answers 0 scr_index -p "$P" --build 2
	answers 0 scr_index -p "$P" --build 2 --dry-run
	gives 0 .current ckpt.2 scr_index -p "$P" --current 2
	answers 0 scr_index -p "$P" --uncurrent
	gives 0 '.dropped[]' ckpt.3 scr_index -p "$P" --drop 3
	gives 0 '.datasets[0].id' 3 scr_index -p "$P" --add 3
	answers 0 scr_index -p "$P" --drop-after 2
	answers 0 scr_index -p "$P" --prune --keep 1 --dry-run
	gives 0 '.datasets[0].deleted' true scr_index -p "$P" --delete 2
	rm p/ckpt.1/rank_1.ckpt
	gives 3 '.datasets[] | select(.id == 1) | .state, .next' \
		"damaged"$'\n'"scr_index -p $P --build 1" scr_index -p "$P" --verify
	answers 0 scr_index -p "$P" --drop-all
	answers 1 scr_index -p "$P" --current none
	answers 1 scr_index -p "$P/none" --list
	answers 2 scr_index -p "$P" --unknown
	echo broken >p/.scr/index.scr
	answers 3 scr_index -p "$P" --list
}

@test "times are in UTC" {
	dataset 1
	TZ=EST5 scr_index -q -p "$P" --build 1
	TZ=EST5 try scr_index -p "$P" --list --json
	here=$(jq -r '.datasets[0].flushed' <<<"$output")
	shown=$(TZ=EST5 scr_index -p "$P" --list | awk 'END { print $3 }')
	[[ $(date -u -d "$here" +%s) == "$(TZ=EST5 date -d "$shown" +%s)" ]]
	says '.datasets[0].created' 2023-11-14T22:13:20.000000Z
}

@test "scr_inspect" {
	dataset 1
	dataset 2
	rm p/ckpt.2/rank_1.ckpt
	answers 3 scr_inspect -p "$P"
	answers 3 scr_inspect -p "$P" --files --deep id:2
	answers 0 scr_inspect "$P/.scr/index.scr"
	echo '{ not SCR' >log
	answers 1 scr_inspect log
	rm p/ckpt.1/rank_[01].ckpt
	answers 4 scr_inspect -p "$P" id:1
	answers 1 scr_inspect -p "$P" id:7
	scr_halt -q -c 3 -b 'tomorrow' -s 60 "$P"
	gives 4 '.prefixes[0].halt.checkpoints_left' 3 scr_inspect -p "$P"
}

@test "scr_rebuild, scr_halt, scr_prerun and scr_postrun" {
	dataset 1
	rm p/ckpt.1/rank_1.ckpt
	answers 3 scr_rebuild -p "$P" --dry-run 1
	gives 0 .rebuilt.file_count 1 scr_rebuild -p "$P" --verify 1
	answers 0 scr_rebuild -p "$P" 1
	rm p/ckpt.1/rank_[01].ckpt
	answers 4 scr_rebuild -p "$P" 1
	answers 1 scr_rebuild -p "$P" 9
	answers 2 scr_rebuild -p "$P"
	answers 0 scr_halt -c 3 -b tomorrow -a now+1h -s 60 -R why "$P"
	gives 0 '.prefixes[0].checkpoints_left' 3 scr_halt --list "$P"
	answers 0 scr_halt --remove "$P"
	echo broken >p/.scr/halt.scr
	answers 3 scr_halt --list "$P"
	gives 0 .job_id 7 scr_prerun -p "$PWD" --job-id 7
	SCR_ENABLE=0 answers 0 scr_prerun -p "$PWD"
	says .enabled false
	dataset 1
	answers 0 scr_postrun -p "$P" --plan -w localhost -r local -J 77
	says '.verdict, .answer' \
		'newest checkpoint ckpt.1 (dataset 1) is saved'$'\n'null
	answers 1 scr_postrun -p "$P/none" --plan -w localhost -r local -J 77
}

@test "scr_container and scr_archive" {
	dataset 1
	dataset 2
	for verb in pack list verify repack; do
		answers 0 scr_container $verb -p "$P" 1
	done
	gives 0 '.prefixes[0].datasets[0].packed' true scr_inspect -p "$P" --files id:1
	answers 0 scr_container extract -p "$P" -C "$PWD" 1
	answers 2 scr_container cat -p "$P" 1 ckpt.1/rank_0.ckpt
	damage "$(find p -name 'ctr.0.scr')" 7 x
	answers 3 scr_container verify -p "$P" 1
	says '.datasets[0].problems[0].path' ckpt.1/rank_0.ckpt
	answers 0 scr_archive export -p "$P" -o a.tar 2
	mkdir q
	gives 0 '.datasets[0].id' 2 scr_archive import -p q a.tar
	answers 1 scr_archive import -p q a.tar
	answers 0 scr_archive import --force -p q a.tar
	answers 2 scr_archive export -p "$P" 2
}

@test "scr_fti" {
	local fti=$TESTSUITE/data/golden/fti bad
	bad=$fti/bad-F

	answers 0 scr_fti scan "$fti/levels-E-v1.6/L3"
	says '.executions[0] | .node_count, .group_size, (.fti_checkpoints[0] |
		.level, .checkpoint_id, .state, .is_current, .files)' \
		$'4\n4\nL3\n3\nwhole\ntrue\nnull'
	answers 0 scr_fti scan --files "$fti/levels-E-v1.6/L3"
	says '[.executions[0].fti_checkpoints[0].files[] | .kind] | unique | join(" ")' \
		'data parity'
	answers 1 scr_fti scan "$PWD"
	cp -R "$fti/levels-E-v1.6/L3" lost
	rm -r lost/Local/node[012]
	answers 4 scr_fti scan --files lost
	says '.executions[0].fti_checkpoints[0] | .state, .ranks_bad, .is_current,
		([.files[] | select(.found == "missing")] | length)' \
		$'lost\n6\nfalse\n12'

	gives 0 '.checkpoint_files[0] | .state, .data_intact, .variables, .fti_layout' \
		$'intact\ntrue\nnull\nF' scr_fti verify "$bad/good.fti"
	answers 3 scr_fti verify "$bad/good.fti" "$bad/containerid-flip.fti"
	says '.checkpoint_files[1].problems[0] | .offset, .field, .container_number' \
		$'2874\ncontainerid\n1'
	answers 4 scr_fti list "$bad/data-flip.fti"
	says '[.checkpoint_files[0].variables[].variable] | join(" ")' '1 2 7'
	answers 3 scr_fti dump "$bad/fs-flip.fti"
	gives 1 '.checkpoint_files | length' 1 scr_fti verify none "$bad/good.fti"
	answers 2 scr_fti verify
	ends 4 scr_fti dump --json "$bad"/*.fti
}

@test "scr_fti restart and archive" {
	local e=4d8ae264-3ea9-404f-ad30-ebfb97a8c05f

	taken "$TESTSUITE/data/golden/fti/head-F/L4" j
	answers 0 scr_fti archive --list j
	says '.executions, .answer[]' $'null\nj/fti_archive: no archived checkpoint'
	gives 0 '.dry_run, .bytes_written, (.files[] | .path, .action)' \
		$'true\n0\nj/fti_archive/'"$e/Ckpt_4"$'\narchive' scr_fti archive -n j
	gives 0 '.dry_run, .bytes_written > 26000' $'false\ntrue' scr_fti archive --copy j
	gives 0 '.executions[0].fti_checkpoints[0] | .level, .checkpoint_id, .state' \
		$'archive\n4\nwhole' scr_fti archive --list j
	answers 1 scr_fti archive --id 9 j

	rm -r "j/Global/$e"
	answers 0 scr_fti restart --select 4 -n j
	says '[.files[].action] | unique | join(" ")' put
	gives 0 '.files | length' 8 scr_fti restart --select 4 j
	answers 0 scr_fti restart --undo j
	answers 1 scr_fti restart --select 3 j
	rm "j/fti_archive/$e/Ckpt_4/Global/$e/l4/Ckpt4-Rank1.fti"
	gives 1 .next "scr_fti scan --checksums --files j" scr_fti restart --select 4 j
	answers 2 scr_fti restart j
}

@test "scr_fti: verbs that write" {
	local fti=$TESTSUITE/data/golden/fti
	local bad=$fti/bad-F one=Ckpt4-Rank3.fti

	cp "$bad/good.fti" $one
	cp "$bad/chunkhash-flip.fti" refused.fti
	gives 0 '.dry_run, .bytes_written, (.files[0] | .action, .rank)' \
		$'true\n0\nwrite\n3' scr_fti repair -n --id 9 $one
	says '.answer[1]' "  byte 3035: ckptId: 4 -> 9"
	answers 0 scr_fti repair --in-place $one refused.fti
	says '.bytes_written, (.files[] | .action)' $'3092\nkeep\nwrite'
	answers 0 scr_fti convert --to F --compact -o out/ $one
	says '.dry_run, .bytes_written, (.files[0] | .path, .size, .from)' \
		$'false\n3092\nout/Ckpt4-Rank3.fti\n3092\nCkpt4-Rank3.fti'
	answers 2 scr_fti convert --to F -o out/ $one
	answers 3 scr_fti convert --to F -o small/ $one "$bad/data-flip.fti"
	says '[.files[].action] | join(" ")' 'keep refuse'
	answers 0 scr_fti convert --to E -o e/ $one
	says '.files[0] | .path, .from, .size' "e/$one"$'\n'"$one"$'\n3040'
	answers 0 scr_fti convert --to posix -o p "$fti/levels-A-v1.1/L3"
	says '(.files | length), .next' $'8\nscr_fti rebuild p'
	answers 3 scr_fti convert --to A -o b "$bad/data-flip.fti"
	says '.files[0].action, .next' $'refuse\n'"scr_fti scan --checksums $bad"
	gives 0 '[.files[].size] | join(" ")' '800 1600 400' scr_fti extract -o vars $one
	answers 0 scr_fti pack --to F --id 3 -o new 1=vars/var1.bin
	says '.files[0] | .path, .action' $'new\nwrite'
	answers 2 scr_fti pack new
	answers 3 scr_fti diff $one new
	says '[.variables[].state] | join(" ")' 'same removed removed'
	answers 0 scr_fti diff $one refused.fti
	taken "$fti/levels-E-v1.6/L3" job
	rm -r job/Local/node2
	gives 3 .dry_run true scr_fti rebuild -n job
	gives 0 '[.files[].action] | unique | join(" ")' rebuild scr_fti rebuild job
}

# The members of a dump are the fields as they are in the file.
@test "scr_fti dump: the records of a file" {
	local good=$TESTSUITE/data/golden/fti/bad-F/good.fti at

	answers 0 scr_fti dump "$good"
	says '.checkpoint_files[0] | .block_count, .container_count,
		.metadata_record.ckptSize' $'1\n3\n3092'
	says '.checkpoint_files[0].metadata_record.offset' 2986
	says '[.checkpoint_files[0].fti_containers[] | .fptr] | join(" ")' \
		"$(for at in 2824 2882 2940; do
			od -A n -t u8 -j $((at + 6)) -N 8 "$good"
		done | xargs)"
	says '[.checkpoint_files[0].fti_containers[] | .hash] | join(" ")' \
		"$(for at in 2824 2882 2940; do
			od -A n -t x1 -v -j $((at + 30)) -N 16 "$good" |
				tr -d ' \n'
			echo
		done | xargs)"
}

@test "scr_env: every verb" {
	dataset 1
	export SCR_CNTL_BASE=$PWD/cntl SCR_CACHE_BASE=$PWD/cache
	mkdir cntl cache
	scr_env log-event -p "$P" -T START -j 1
	local verbs
	verbs=$(scr_env --dump-options | awk '$1 == "verb" { print $2 }')
	for verb in $verbs; do
		case $verb in
		hostlist) answers 0 scr_env "$verb" 'n[1-3]' ;;
		crc32) answers 0 scr_env "$verb" p/ckpt.1/rank_0.ckpt ;;
		log-event | log-transfer)
			answers 0 scr_env "$verb" -p "$P" -T START
			;;
		conf)
			answers 0 scr_env "$verb" -p "$P"
			answers 0 scr_env "$verb" -p "$P" SCR_FLUSH
			;;
		flush-file)
			answers 0 scr_env "$verb" -p "$P"
			gives 0 '.answer[]' 1 scr_env "$verb" -p "$P" --list-ckpt
			;;
		user)
			gives 0 '.answer[]' genuser scr_env "$verb"
			;;
		down-nodes)
			try scr_env "$verb" -p "$P" --json --free --nodes "$(hostname)"
			;;
		run)
			gives 0 .exists false scr_env "$verb" -p "$P"
			SCR_REMOTE=local ends 7 scr_run --min-nodes 1 -p "$P" sh -c 'exit 7'
			gives 0 '.state, .job_status' ended$'\n'7 scr_env "$verb" -p "$P"
			;;
		interval)
			gives 1 '.interval_seconds' null scr_env "$verb" -p "$P"
			;;
		*)
			try scr_env "$verb" -p "$P" --json
			[[ -n $output ]] || failed "$verb answers nothing"
			;;
		esac
	done
}
