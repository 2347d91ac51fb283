#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034
# Jobs that are killed at any moment restart from what was last complete.  To
# run N rounds of the random test, with a seed that failed before:
#
#     KILLS=N SEED=S testsuite/run.sh --only scr/kills mpi:build/plain

load helper
load kills

setup() {
	kills_setup
	pretend_ssh
}

# pick WORD...: one of them, into $picked.
pick() {
	picked=${!#}
	shift $((RANDOM % $#))
	picked=$1
}

# The settings of some rounds: a scheme, ranks on nodes, what goes to the
# prefix.  $storage: how many nodes may lose their storage, or all.
choose_life() {
	local -a maps=("0 1 2 3" "0 0 1 1" "0 1 1 2" "0 1 2 3")

	kills_fresh
	pick SINGLE PARTNER XOR XOR RS RS
	export SCR_COPY_TYPE=$picked
	MAP=${maps[RANDOM % 4]}
	pick cache cache every third bypass
	mode=$picked
	export SCR_CACHE_BYPASS=0 SCR_FLUSH=0 SCR_SET_FAILURES=2
	storage=1
	[[ $SCR_COPY_TYPE != SINGLE ]] || storage=0
	[[ $SCR_COPY_TYPE != RS || $MAP != "0 1 2 3" ]] || storage=2
	[[ $MAP != "0 1 1 2" ]] || storage=0
	case $mode in
	every) SCR_FLUSH=1 storage=all ;;
	third) SCR_FLUSH=3 ;;
	bypass) SCR_CACHE_BYPASS=1 storage=all ;;
	esac
	pick 0 300 5000 200000 1500000
	size=$picked
	pick 1 2 3
	files=$picked
	choose_background
}

# Some lives flush while the application computes.
choose_background() {
	same=0
	export SCR_FLUSH_WIDTH=256 SCR_PREFIX_SIZE=0 SCR_CACHE_SIZE=2
	export SCR_FLUSH_ASYNC_BW=0 SCR_CONTAINER_SIZE
	pick 0 1
	export SCR_USE_CONTAINERS=${CONTAINERS-$picked}
	[[ $SCR_USE_CONTAINERS == 0 || $mode == bypass ]] || mode+=,\ packed
	pick 100GB $((size + 1000)) $((size * files * 2 + 1000))
	SCR_CONTAINER_SIZE=$picked
	pick 0 0 1
	export SCR_CONTAINER_REDUNDANCY=$picked
	pick 0 1
	export SCR_FLUSH_ASYNC=${BACKGROUND-$picked}
	[[ $SCR_FLUSH_ASYNC == 1 ]] || return 0
	mode+=,\ async
	pick 1 2 256
	SCR_FLUSH_WIDTH=$picked
	# A dataset takes half a second, or no time.
	pick 0 $((size * files * 4 + 1000))
	SCR_FLUSH_ASYNC_BW=$picked
	[[ $mode != bypass* ]] || return 0
	pick 0 1 2
	SCR_PREFIX_SIZE=$picked
	pick 1 2 3 6
	SCR_CACHE_SIZE=$picked
	[[ $storage == all ]] || pick 2 3 6
	SCR_CACHE_SIZE=$picked
	pick 0 0 1
	same=$picked
}

# The end of an allocation: what the nodes have goes to the prefix.
end_allocation() {
	echo "allocation ends"
	try scr_postrun -p "$PREFIX" -r ssh \
		-w "node$(tr ' ' '\n' <<<"$MAP" | sort -u | paste -sd ,| sed 's/,/,node/g')"
	echo "$status: $output $stderr"
	((status < 3)) || failed "scr_postrun" "$(tail -n 40 "$JOURNAL")"
	check_prefix
	lose 0 1 2 3
	echo "lost all" >>"$JOURNAL"
}

# Some nodes lose their storage, if the job has recovered from the last time.
lose_storage() {
	local -a nodes
	local n=$storage

	read -ra nodes <<<"$MAP"
	awk '/^restart/ { ok = 1 } /^lost/ { ok = 0 } END { exit !ok }' \
		"$JOURNAL" || return 0
	case $storage in
	0) return ;;
	all) lose 0 1 2 3 ;;
	*)
		local k=$((RANDOM % 4))

		for ((; n > 0; n--)); do
			lose "${nodes[k]}"
			k=$(((k + 1) % 4))
		done
		;;
	esac
	echo "lost $storage" >>"$JOURNAL"
	# What is in flight then is lost.
	[[ $storage != all || $SCR_FLUSH_ASYNC == 0 ]] ||
		echo "left $(scr_index -p "$PREFIX" --list --json | jq -r '
			.datasets[] | select(.is_current) | .name' |
			sed 's/.*\.//')" >>"$JOURNAL"
}

# Wait, sometimes for the restart, and then for a part of a second.
wait_a_moment() {
	local until

	pick round restart restart
	until=$picked
	while [[ $until == restart && -e /proc/$JOB ]] &&
		! grep -qE "^(restart|failed|wrong)" <(awk -v n="$ROUND" \
			'/^round/ { on = $2 == n } on' "$JOURNAL"); do
		sleep 0.05
	done
	sleep "0.$(printf %03d $((RANDOM % ${SPAN:-700})))"
}

@test "jobs killed at random moments restart from what was last complete (23)" {
	local rounds=${KILLS:-6} seed=${SEED:-$RANDOM} life=0 n
	local mode storage size files same picked begun=$SECONDS

	[[ -z ${SCRKIT_SLOW-} || -n ${KILLS-} ]] || rounds=200
	echo "seed $seed"
	RANDOM=$seed
	for ((n = 0; n < rounds; n++)); do
		if ((life-- == 0)); then
			choose_life
			life=$((RANDOM % 5 + 2))
		fi
		echo "round $((ROUND + 1)): $SCR_COPY_TYPE, $mode, nodes" \
			"$MAP, $files files of $size bytes"
		begin_round "size=$size" "files=$files" "same=$same"
		wait_a_moment
		if ! kill_round || ! judge; then
			tail -n 40 "$JOURNAL"
			failed "round $ROUND, seed $seed"
		fi
		last_note >>"$BATS_TEST_TMPDIR/moments"
		check_prefix
		((RANDOM % 3)) || lose_storage
		[[ $mode != *async ]] || ((RANDOM % 5)) || end_allocation
	done
	begin_round "size=$size" "files=$files" "same=$same" steps=1
	end_round 0
	judge
	echo "# $rounds rounds, seed $seed, $((SECONDS - begun)) s; killed" \
		"after $(sort "$BATS_TEST_TMPDIR/moments" | uniq -c |
			awk '{ print $2 " " $1 }' | paste -sd ,)" >&3
}

# After a job has died: the next one, with these options, restarts and ends.
restarts() {
	MPIEXEC_OPTION='' begin_round steps=2 "$@"
	end_round 0
	judge || failed "$(<"$JOURNAL")"
	grep -q "^restart [1-9]" "$JOURNAL" || failed "$(<"$JOURNAL")"
}

@test "a job of which one rank is killed: a leader, another rank, all" {
	local who n=0

	MAP="0 0 1 1"
	for who in 0 1 2 3 all; do
		for SCR_FLUSH in 0 1; do
			((n++ % 3 == 0)) || [[ -n ${SCRKIT_SLOW-} ]] || continue
			export SCR_FLUSH
			kills_fresh
			begin_round steps=3 "lone=$who"
			end_round
			[[ $status != 0 && $status != 124 ]] ||
				failed "rank $who is killed"
			[[ $(last_note) == begin || $(last_note) == written ]]
			restarts
			[[ $(grep -c ^complete "$JOURNAL") == 3 ]]
		done
	done
}

@test "one rank is killed, and the launcher lets the others wait" {
	kills_fresh
	MPIEXEC_OPTION=-disable-auto-cleanup begin_round steps=3 lone=1
	until grep -q ^complete "$JOURNAL" || [[ ! -e /proc/$JOB ]]; do
		sleep 0.1
	done
	sleep 1
	# The others may have noticed.
	kill_round || true
	[[ $(grep -c ^complete "$JOURNAL") == 1 ]]
	restarts
}

@test "the launcher gets SIGTERM or SIGINT" {
	local signal pid n

	for signal in TERM INT; do
		for ((n = 0; n < ${SCRKIT_SLOW:+2} + 1; n++)); do
			kills_fresh
			begin_round size=100000
			while [[ $(grep -c ^complete "$JOURNAL") -lt 2 ]]; do
				sleep 0.1
			done
			sleep "0.0$((RANDOM % 100))"
			pid=$(child_of "$(child_of "$JOB")")
			[[ $(<"/proc/$pid/comm") == mpiexec* ]]
			kill -"$signal" "$pid"
			end_round
			# MPICH's launcher may end with 0 then.
			((status != 124))
			[[ $(tail -n 1 "$JOURNAL") != end* ]]
			restarts size=100000
		done
	done
}
