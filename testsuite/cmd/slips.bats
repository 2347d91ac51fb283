#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086
# Slips of an operator: a misspelled name, a prefix in the place of a dataset, an
# answer that cannot be given.  Each message says what to type.

load helper

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	gen -p p3 -n 2 -t XOR -s 100 --ckpt
	built p3 12 -n 2 -t XOR -s 100 --ckpt
}

@test "a misspelled dataset" {
	for command in "scr_index -p p3 --verify" "scr_rebuild -p p3" \
		"scr_inspect -p p3" "scr_container -p p3 list"; do
		complains 1 "chkpt.1: no dataset of this name in p3" \
			$command chkpt.1
	done
	misused "ckp.1: no dataset of this name" scr_index -p p3 --build ckp.1
}

@test "a prefix in the place of a dataset, or as an argument: -p" {
	warns 1 "p3: a prefix, not a dataset: name it with -p p3" scr_rebuild p3
	warns 1 "name it with -p p3" scr_container list p3
	for command in scr_index scr_postrun scr_prerun; do
		try "$command" p3
		assert_usage_error "p3: unexpected argument: name a prefix with -p p3"
		misused "p4: unexpected argument" "$command" p4
	done
}

@test "a misspelled column" {
	try scr_index -p p3 -o sizee
	assert_usage_error "unknown column 'sizee': did you mean size? one of id,"
	misused "unknown column 'xyzzyx': one of id," scr_index -p p3 --sort xyzzyx
	misused "did you mean name?" scr_inspect -p p3 -o nam
}

@test "an archive and JSON do not share standard output" {
	ends 2 scr_archive -p p3 export --json 12
	[[ $(jq -r '.errors[0]' <<<"$output") == *"use --output FILE" ]]
	ends 0 scr_archive -p p3 export --json -o ar 12
	tar -tf ar >/dev/null
	[[ $(jq .status <<<"$output") == 0 ]]
}

@test "the words of options with a few values are offered" {
	for command in "scr_postrun" "scr_env doctor"; do
		$command --dump-options | grep -q $'remote\t[^\t]*pdsh|ssh|srun' ||
			failed "$command --remote"
		$command --dump-options |
			grep -q $'resource-manager\t[^\t]*slurm|flux' ||
			failed "$command --resource-manager"
	done
}

@test "the page of a dataset: where, when and by which version" {
	ends 0 scr_inspect -p p3 --html page.html 12
	grep -qE "^<p class=\"dim\">scr_inspect --html in $PWD, 20[0-9]{2}-[^<]* UTC, scrkit [0-9]" page.html
}
