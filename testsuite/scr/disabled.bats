#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# SCR_ENABLE=0, and environments in which little is set (scenarios 61, 62).

load helper

every_call=(init config=SCR_FLUSH have_restart start_restart route_file=a
	complete_restart need_checkpoint start_output=a route_file=b
	complete_output start_checkpoint complete_checkpoint current=a
	drop=a delete=a should_exit finalize)

# Each call fails but for routing, which copies the name; nothing is written.
harmless() {
	assert_status 0
	local line

	while IFS= read -r line; do
		case $line in
		config=SCR_FLUSH*) [[ $line == *" -> 1" ]] ;;
		config=*) ;;
		route_file=a*) [[ $line == *" -> 0 a" ]] ;;
		route_file=b*) [[ $line == *" -> 0 b" ]] ;;
		have_restart* | need_checkpoint* | should_exit*)
			[[ $line == *" -> 1 0" ]]
			;;
		*) [[ $line == *" -> 1" ]] ;;
		esac || failed "wrong: $line"
	done <<<"$output"
	[[ $(wc -l <<<"$output") -ge ${#every_call[@]} ]] || failed "calls"
	[[ -z $stderr ]] || failed "no messages"
	[[ -z $(find "$NODES" "$PREFIX" -mindepth 1 ! -path "$NODES/[01]" \
		! -name .scrconf) ]] || failed "files: $(find "$NODES" "$PREFIX")"
}

@test "SCR_ENABLE=0 in the environment makes all calls harmless (61)" {
	SCR_ENABLE=0 job "0 1" app_calls "${every_call[@]}"
	harmless
}

@test "SCR_ENABLE=0 in the user's file, and set by SCR_Config (61)" {
	echo SCR_ENABLE=0 >.scrconf
	job "0 1" app_calls "${every_call[@]}"
	harmless
	rm .scrconf
	job "0 1" app_calls config=SCR_ENABLE=0 "${every_call[@]}"
	harmless
}

@test "a disabled library leaves an application alone that skips the end" {
	SCR_ENABLE=0 works "0 1" app_calls init start_output=a start_output=b finalize
}

@test "without USER and HOME, and without anything (62)" {
	job "0 1" app_calls init ask=SCR_USER_NAME finalize
	[[ $output == *"SCR_USER_NAME -> tester"* ]] || failed "USER"
	unset USER LOGNAME HOME
	works "0 1" app_calls init ask=SCR_USER_NAME finalize
	user=$("${as_root[@]}" id -un)
	[[ $output == *"SCR_USER_NAME -> $user"* ]] || failed "account"
	[[ -d $NODES/0/$user/scr.j1 ]] || failed "directory"
}

@test "a base that is no directory: one clear line, and Init fails (62)" {
	SCR_CNTL_BASE=/dev/null/x SCR_CACHE_BASE=/dev/null/x \
		works "0 1" app_calls init need_checkpoint finalize
	[[ $output == *"init -> 1"*"need_checkpoint -> 1 0"* ]] || failed "init"
	grep -q 'ERROR: rank 0 on node0: SCR_Init: .*/dev/null/x' <<<"$stderr" ||
		failed "no reason"
}
