# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # set for those who load it; bats
#
# restarts.bash - jobs of app_restart, for tests of failures between two jobs.
# Loads helper.bash.

load helper

CACHE=tester/scr.j1
SCHEMES="SINGLE PARTNER XOR RS"
JOB_BASE=$BATS_FILE_TMPDIR/job

# Two of all schemes, and one or two of those that protect: others in each test.
setup() {
	job_setup
	export SCR_COPY_TYPE=XOR
	pick 2 PARTNER XOR RS
	SOME=${picked[*]}
	# shellcheck disable=SC2086 # a list
	pick 2 $SCHEMES
	SCHEMES=${picked[*]}
}

# fresh [MAP [ARG]...]: nothing is left of earlier jobs; then ckpt.1 to 3 are
# written.
fresh() {
	once job "${1:-0 1 2 3}" app_restart 3 files=2 "${@:2}"
	assert_status 0
	assert_line "complete 3 0"
}

# restarts MAP NAME [ARG]...: a job reads NAME ("none": nothing), every byte
# verified, and writes nothing more.
restarts() {
	works "$1" app_restart 0 files=2 "${@:3}"
	if [[ $2 == none ]]; then
		assert_line none
	else
		assert_line "restart $2"
	fi
	assert_line end
}

# after LOST NAME [ARG]...: these nodes are lost, one rank on each; then `restarts`.
after() {
	# shellcheck disable=SC2086 # a list
	lose $1
	restarts "0 1 2 3" "${@:2}"
}

# The directory of a dataset on node K.
dataset() { echo "$NODES/$1/$CACHE/scr.dataset.$2"; }

# story: each line "BEFORE|MAP|NAME [ARG]...|WORD;WORD..." on stdin in turn: after BEFORE,
# a job on MAP (0 1 2 3) restarts from NAME, and says each WORD (a pattern).
story() {
	local before map what words all word

	while IFS='|' read -r -u 7 before map what words; do
		echo "$SCR_COPY_TYPE: $before"
		eval "$before"
		# shellcheck disable=SC2086 # words
		restarts "${map:-0 1 2 3}" $what
		IFS=';' read -ra all <<<"$words"
		for word in "${all[@]}"; do
			# shellcheck disable=SC2053 # a pattern
			[[ $output$'\n'$stderr == *$word* ]] || failed "expected: $word"
		done
	done 7<&0
}

# near_end FILE BYTES: a bit so many bytes before its end is changed.
near_end() { flip "$1" $(($(stat -c %s "$1") - $2)); }
