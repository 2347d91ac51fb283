#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A command that a message prints can be run as it stands, from the same
# directory: it names the prefix, and the dataset by a word that is not
# ambiguous, quoted for the shell.

load helper

dir="it's p"
meta=.scr/scr.dataset.2

# Dataset 2 is named 1, dataset 1 is named 2.
setup() {
	in_no_job
	for id in 1 2; do
		built plain $id --checksums -n 4 -m 4 -s 3000,1500 \
			--name $((3 - id)) --dir d$id --recorded-prefix /job/p \
			-t XOR --set-size 4
	done
	renew plain "$dir"
	scr_container -q -p "$dir" pack --size 4000 --with-redundancy id:2
	mv "$dir" packed
}

# hints COMMAND...: run it, and print the commands that it names.
hints() {
	local said

	said=$("$@" 2>&1) || :
	# "scr_index: " begins a message.
	grep -oE "scr_[a-z]+( -p 'it'\\\\''s p')?( --?[a-z]+| pack| unpack| repack| list| verify)*( [a-z]*:?[0-9]+)?" \
		<<<"$said" | grep ' ' || {
		printf 'no command in: %s\n' "$said" >&2
		return 1
	}
}

# each_hint DAMAGE COMMAND...: each command that COMMAND names works on dataset
# id:2 of the prefix, of $base; afterwards it is whole, or it ends with $want.
each_hint() {
	local damage=$1 hint all

	renew "${base:-packed}" "$dir"
	(cd "$dir" && eval "$damage")
	all=$(hints "${@:2}")
	while read -r hint; do
		[[ $hint == "scr_"*" -p 'it'\\''s p'"*" id:2" ]] ||
			failed "$damage: ${*:2}: not complete: $hint"
		renew "${base:-packed}" "$dir"
		(cd "$dir" && eval "$damage")
		ends "${want:-0}" eval "$hint"
		[[ -n ${want-} ]] || {
			ends 0 scr_index -p "$dir" --verify id:2
		}
	done <<<"$all"
}

@test "each command that a message names works as it stands" {
	local base want damage commands command all

	while IFS='|' read -r -u 7 base want damage commands; do
		IFS=';' read -ra all <<<"$commands"
		for command in "${all[@]}"; do
			read -ra words <<<"$command"
			each_hint "$damage" "${words[0]}" -p "$dir" "${words[@]:1}" id:2
		done
	done 7<<-END
		packed||rm $meta/rank2file $meta/rank2file.*|scr_index --verify;scr_inspect;scr_container verify;scr_container list;scr_rebuild
		packed||rm $meta/packed.*.scr|scr_index --verify;scr_index --build;scr_inspect;scr_container verify;scr_container list;scr_rebuild
		packed||rm $meta/rank2file|scr_index --verify;scr_inspect;scr_container verify;scr_container list;scr_rebuild
		packed||rm $meta/*packed.*.scr|scr_index --verify;scr_container verify;scr_container list
		packed||rm $meta/.scr/ctr.1.scr|scr_container extract -C out;scr_container verify
		packed|3|rm $meta/.scr/ctr.1.scr|scr_container repack
		plain||rm d2/rank_1.ckpt|scr_index --verify;scr_inspect
		plain||damage d2/rank_1.ckpt 50 X|scr_index --checksums --verify;scr_inspect --checksums
		plain||rm $meta/summary.scr|scr_index --current
	END
	# It is said once, in the same words.
	said="rank2file: cannot open: No such file or directory: its copy was"
	said+=" read; all data are present"
	renew packed "$dir"
	rm "$dir/$meta/rank2file"
	for command in "scr_index --verify" scr_inspect "scr_container verify" \
		scr_rebuild; do
		read -ra words <<<"$command"
		[[ $({ "${words[0]}" -p "$dir" "${words[@]:1}" id:2 2>&1 ||
			:; } |
			grep -o "$said" | wc -l) -eq 1 ]] ||
			failed "$command: not once"
	done
}

@test "usage, refusals and advice" {
	renew packed "$dir"
	[[ $(hints scr_container -p "$dir" cat id:2) == \
	"scr_container -p 'it'\\''s p' list id:2"* ]]
	base=plain
	each_hint "scr_index -q -p . --drop id:2" scr_inspect -p "$dir"
	renew plain "$dir"
	rm -f "$dir/$meta"/{filemap,redd,rank2}*
	warns 1 "scr_index -p 'it'\\''s p' --verify id:2" scr_rebuild -p "$dir" id:2
	warns 1 "scr_inspect -p 'it'\\''s p' " scr_rebuild -p "$dir" id:7
	renew plain "$dir"
	scr_index -q -p "$dir" --current id:2
	warns 0 "LLNL's library cannot;scr_container -p 'it'\\''s p' unpack id:2 before" \
		scr_container -p "$dir" pack id:2
	# The environment has another prefix.
	renew plain "$dir"
	cd "$dir"
	rm d2/rank_1.ckpt
	SCR_PREFIX=/nowhere try scr_index -p . --verify id:2
	assert_stderr_has "scr_index -p . --build id:2"
}
