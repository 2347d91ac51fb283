#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Calls in the wrong state, and arguments that differ between ranks, end the job
# with one clear line (libscr.md 2, scenario 57).

load helper

# aborts TEXT CALL...: these calls end the job of two ranks with this message.
aborts() {
	local text=$1

	shift
	job "0 1" app_calls "$@"
	assert_status 255
	grep -qE "^SCR v3\.1\.0 ABORT: rank (-1|0|1) on .*: " <<<"$stderr" ||
		failed "no line of the right shape"
	grep -qE ' @ [a-z_]+\.c:[0-9]+$' <<<"$stderr" || failed "no place"
	grep -qF ": $text @ " <<<"$stderr" || failed "expected: $text"
}

@test "calls in the wrong state (57)" {
	local text calls start="Must call SCR_Start_"

	while IFS=: read -r text calls; do
		# shellcheck disable=SC2086 # words
		aborts "$text" $calls
	done <<-END
		Must call SCR_Init() before SCR_Finalize():finalize
		Must call SCR_Init() before SCR_Start_output():start_output=a
		Must call SCR_Init() before SCR_Need_checkpoint():need_checkpoint
		Must call SCR_Init() before SCR_Should_exit():should_exit
		Must call SCR_Init() before SCR_Have_restart():have_restart
		Must call SCR_Init() before SCR_Start_restart():start_restart
		Must call SCR_Init() before SCR_Current():current=a
		Must call SCR_Init() before SCR_Drop():init finalize drop=a
		Must call SCR_Init() before SCR_Delete():init finalize delete=a
		Called SCR_Init() when already initialized:init init
		${start}output() before SCR_Complete_output():init complete_output
		${start}checkpoint() before SCR_Complete_checkpoint():init complete_checkpoint
		${start}restart() before SCR_Complete_restart():init complete_restart
		${start}checkpoint() before SCR_Complete_checkpoint():init start_output=a complete_checkpoint
		${start}output() before SCR_Complete_output():init start_checkpoint complete_output
		Called SCR_Config() from invalid state 1:init config=SCR_DEBUG=1
	END
	aborts "Can only call SCR_Start_restart() if SCR_Have_restart() indicates a checkpoint is available" \
		init start_restart
}

@test "names, flags and SCR_Config that differ between ranks, nonsense" {
	local differ="must be identical on all processes"

	aborts "SCR_Config string $differ" config=@
	aborts "SCR_Config: C has no value: a text either sets properties or queries one" \
		"config=A=1 B=2 C"
	aborts "Dataset name provided to SCR_Start_output $differ" init start_output=@
	aborts "Dataset flags provided to SCR_Start_output $differ" init flags=@
	aborts "Dataset name provided to SCR_Current $differ" init current=@
}

@test "a file name that is too long" {
	local long

	long=$(printf '%01024d' 0)
	aborts "file name ($long) is longer than SCR_MAX_FILENAME (1024)" \
		init "route_file=$long"
}

@test "SCR_Route_file without a name or a buffer fails; outside of a region it copies" {
	works "0 1" app_calls route_file= route_file=NULL route_nowhere=a \
		init route_file= route_file=NULL route_nowhere=a finalize
	[[ $(grep -c '^route.* -> 1$' <<<"$output") -eq 6 ]] || failed "6 failures"
	works "0 1" app_calls route_file=a/b init route_file=a/../b
	[[ $output == *"route_file=a/b -> 0 a/b"* ]] || failed "before"
	[[ $output == *"route_file=a/../b -> 0 a/../b"* ]] || failed "after"
}
