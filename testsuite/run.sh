#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run test suites, several files at a time: one more than there are processors, those
# on pretend nodes (cluster) twice as many.  Prints a line for each file with its
# seconds, those of the processor ("busy"), and its failures, then all failures once
# more, and the totals as the last line: "N passed, N failed[, N skipped]".
# The exit status is 1 if anything failed.
#
#     run.sh [--only TEXT] [--list FILE] [--jobs N] [--quick] [--tell]
#         SUITE:TREE... | --slowness
#
# --list: only the files that FILE names, the end of a path on a line.  Behind
# that of a bats file a pattern selects tests by their names.
# --tell: only say how long it will take; the trees need not have been built.
# --slowness: only say how many times slower this machine is than that of
# testsuite/times.
#
# The files that took longest come first: by build/times, which a run leaves, else
# by testsuite/times, which has those of two seconds or more, and the speed of its
# machine: the processor's milliseconds for 30 programs.  What is silent for 15
# seconds is named; on a terminal one line counts the files and the time, and only
# failures are listed.
#
# The last line is in build/totals (TOTALS), too.
# build/results has a line for each test of a bats file: suite, file, "ok", "not
# ok" or "skip", milliseconds, name; separated by tabs.
#
# TREE is a build tree, such as build/plain.  Suites:
#     unit      TREE/test/t_*, TAP
#     valgrind  a third of testsuite/valgrind.list under valgrind, in turn, day by day;
#               slow: all units
#     fuzz      TREE/fuzz/replay_X with the files of testsuite/data/corpus/X
#     bats      testsuite/cmd/*.bats, testsuite/golden/*.bats and testsuite/store/*.bats
#     mpi       testsuite/scr/*.bats: libscr, with MPI ranks on pretend nodes;
#               skipped if there is no MPI or the machine does not allow them
#     behind    those with the scenarios 1 to 34, flushed in the background
#     tour      testsuite/scr/tour.bats alone, for a tree with sanitizers
#     tour-valgrind  the same, each rank under valgrind
#     cluster   testsuite/cluster/*.bats, on several pretend nodes; skipped
#               if the machine does not allow them
#     examples  examples/*.sh: exit status 0, or 77 for "skipped"
#
# Tests see these variables:
#     BIN, GEN, MPI, SHIM  the tree's commands (first in PATH as well),
#                     generators, MPI programs, and fault shim to be preloaded
#     OPEN_BIN        commands that another user reaches: BIN, or a copy
#     SCRKIT_ROOT     the source tree, also the working directory
#     SCRKIT_GOLDEN   golden data: all of it, or the project's selection
#     SCRKIT_VALGRIND set under valgrind, to shorten tests that take minutes
#     SCRKIT_SLOW     set unless slow cases should be skipped (--quick)
#     TMPDIR          a directory for this test; unit tests must leave it empty.  That
#                     of run.sh, else in /dev/shm (--quick), else in /tmp
#     SCRKIT_SLOWNESS how many times longer than usual it takes here to start a
#                     program: limits of time are to be multiplied by it
# A program that crashes, prints nothing for TEST_TIMEOUT seconds (900; with slow
# cases 3600), prints no plan or fewer results than planned counts as one more
# failure.  Needs bash 5.1.
set -u

usage() {
	echo "usage: run.sh [--only TEXT] [--list FILE] [--jobs N] [--quick]" \
		"[--tell] SUITE:TREE... | --slowness" >&2
	exit 2
}

cd "$(dirname "$0")/.." || exit 1
root=$PWD
only=
list=()
declare -A patterns=() # by the names of --list
slow=1
ask=
tell=
jobs=
while :; do
	case ${1-} in
	--only) only=${2?} && shift 2 ;;
	--list)
		while read -r name pattern; do
			list+=("$name")
			patterns[$name]=$pattern
		done < <(grep -v '^#' "${2?}")
		shift 2
		;;
	--jobs) jobs=${2?} && shift 2 ;;
	--quick) slow='' && shift ;;
	--tell) tell=1 && shift ;;
	--slowness) ask=1 && shift ;;
	--*) usage ;;
	*) break ;;
	esac
done
[ $# -gt 0 ] || [ -n "$ask" ] || usage
# --- The machine ----------------------------------------------------------------

# speed: processor's milliseconds for 30 programs.
speed() {
	local i TIMEFORMAT='%U %S'

	{ time for i in {1..30}; do /bin/true; done; } 2>&1 |
		awk '{ printf "%d\n", 1000 * ($1 + $2) + 1 }'
}

speed=$(speed)
theirs=$(sed -n 's/^speed - //p' testsuite/times)
slowness=$(((speed + theirs / 2) / theirs))
[ "$slowness" -ge 1 ] || slowness=1
export SCRKIT_SLOWNESS=$slowness
if [ -n "$ask" ]; then
	echo "$slowness"
	exit
fi

# Not in /tmp, where a test forbids to run programs.
open=$(mktemp -d /var/tmp/scrkit-check.XXXXXX) && chmod 755 "$open" || exit 1
trap 'rm -rf "$open"' EXIT
# The system's python3, which has the modules that the tests use: that of a version
# manager is a shell script, and takes ten times as long to start.
mkdir "$open/path"
! /usr/bin/python3 -c 'import jsonschema' 2>/dev/null || ln -s /usr/bin/python3 "$open/path/python3"
# The loader splits a path with a blank: the tests see another.
if [[ $root == *[[:space:]:]* ]]; then
	ln -s "$root" "$open/tree" && cd "$open/tree" || exit 1
	root=$PWD
fi
export SCRKIT_ROOT=$root
if [ -z "${SCRKIT_GOLDEN-}" ] && [ -d "$root/../shared/golden" ]; then
	SCRKIT_GOLDEN=$(cd "$root/../shared/golden" && pwd)
fi
# Otherwise use the selection in the source tree.
: "${SCRKIT_GOLDEN:=$root/testsuite/data/golden}"
export SCRKIT_GOLDEN
# Tests must not depend on the user's environment.
export LC_ALL=C.UTF-8 TZ=UTC
unset "${!SCR_@}"
umask 022
limit=${TEST_TIMEOUT:-${slow:+3600}}
: "${limit:=900}"
# in_memory DIRECTORY: is it one, with 2 GB, in which programs can be run?
in_memory() {
	local file=$1/scrkit-check.$$

	[ "$(stat -f -c %T "$1" 2>/dev/null)" = tmpfs ] &&
		[ "$(df -k --output=avail "$1" | tail -n 1)" -gt 2000000 ] &&
		cp /bin/true "$file" 2>/dev/null || return 1
	"$file" 2>/dev/null
	set -- $?
	rm -f "$file"
	return "$1"
}

# The commands sync all that they write: on a disk that is most of the time of the
# tests.  The slow cases are for a disk, and the pretend nodes have a /dev/shm of
# their own.
if [ -z "${TMPDIR-}" ] && [ -z "$slow" ] && [[ $* != *cluster:* ]] &&
	in_memory /dev/shm; then
	TMPDIR=/dev/shm
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/scrkit-check.XXXXXX") || exit 1
: >"$scratch/results"
: >"$scratch/busy"
trap 'chmod -R u+rwx "$scratch" 2>/dev/null; rm -rf "$scratch" "$open"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; wait; exit 130' INT TERM

# open_bin TREE: the directory of its commands, or, if others cannot reach that,
# as in the home of root, a copy: some tests run commands as another user.
open_bin() {
	local bin=$root/$1/bin copy

	if [ "$EUID" != 0 ] || [ ! -e "$bin" ] || setpriv --reuid 65534 --regid 65534 \
		--clear-groups test -x "$bin/scr_index" 2>/dev/null; then
		echo "$bin"
		return
	fi
	copy=$open/${1//\//-}
	[ -e "$copy" ] || { mkdir -p "$copy" && cp -a "$bin/." "$copy"; }
	echo "$copy"
}

# --- One test file --------------------------------------------------------

# Run the test file of job $1 (suite, tree and file in the arrays).  Its output
# goes to $scratch/$1.out, its exit status to $scratch/$1.rc.
run_one() {
	local suite=${suites[$1]} tree=$root/${trees[$1]} file=${files[$1]}
	local log=$scratch/$1.out dir=$scratch/$1.tmp
	local -a args=() bats=(bats --tap --timing)

	mkdir "$dir"
	[ -z "${pattern_of[$1]}" ] || bats+=(--filter "${pattern_of[$1]}")
	export TMPDIR=$dir BIN=$tree/bin OPEN_BIN=${bins[${trees[$1]}]} GEN=$tree/gen MPI=$tree/mpi
	export SHIM=$tree/shim.so
	export PATH=$BIN:$open/path:$PATH SCRKIT_SLOW=$slow
	[ -n "$slow" ] || unset SCRKIT_SLOW
	export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
	export LSAN_OPTIONS=suppressions=$root/testsuite/scr/lsan.supp
	export LSAN_OPTIONS+=:print_suppressions=0
	export UBSAN_OPTIONS=print_stacktrace=1
	case $suite in
	unit) args=("$file") ;;
	valgrind)
		unset SCRKIT_SLOW
		export SCRKIT_VALGRIND=1
		args=(valgrind -q --error-exitcode=99 --leak-check=full
			"--errors-for-leak-kinds=definite,indirect,possible"
			--log-file="$scratch/$1.vg.%p" "$file")
		;;
	tour-valgrind)
		export SCRKIT_VALGRIND=1
		RANK_COMMAND="valgrind -q --error-exitcode=99 --leak-check=full"
		RANK_COMMAND+=" --errors-for-leak-kinds=definite,indirect,possible"
		export RANK_COMMAND+=" --log-file=$scratch/$1.vg.%p"
		args=("${bats[@]}" "$file")
		;;
	fuzz) args=("$file" "testsuite/data/corpus/${file##*/replay_}") ;;
	behind)
		export SCR_FLUSH_ASYNC=1
		args=("${bats[@]}" "$file")
		;;
	bats | mpi | tour | cluster) args=("${bats[@]}" "$file") ;;
	examples) args=("$file") ;;
	esac
	# In the background, so that it can be killed with this script.  The
	# shell's own "Aborted" is hidden; report() prints the reason.  `timeout`
	# passes the signal of end_silent() on to all its processes.
	timeout -k 10 1d "${args[@]}" >"$log" 2>&1 </dev/null &
	echo $! >"$scratch/$1.pid"
	trap 'kill $!; wait; exit 1' TERM
	wait $! 2>/dev/null
	echo $? >"$scratch/$1.rc"
	times >"$scratch/$1.cpu"
	cat "$scratch/$1".vg.* >"$scratch/$1.vg" 2>/dev/null
	if [ "$suite" = unit ] || [ "$suite" = valgrind ]; then
		find "$dir" -mindepth 1 -printf '%P\n' >"$scratch/$1.left"
	fi
	chmod -R u+rwx "$dir" 2>/dev/null
	rm -rf "$dir"
}

# End the jobs that have printed nothing for too long: a slow machine may take any
# time for all tests of a file, but not for one of them.
end_silent() {
	local i since

	for i in "${running[@]}"; do
		[ ! -e "$scratch/$i.rc" ] || continue
		since=$(stat -c %Y "$scratch/$i.out" 2>/dev/null) || continue
		[ $((EPOCHSECONDS - since)) -lt $((limit * slowness)) ] &&
			continue
		: >"$scratch/$i.silent"
		kill "$(<"$scratch/$i.pid")" 2>/dev/null
	done
}

# --- Results --------------------------------------------------------------

# Counts of a TAP stream as "passed failed skipped planned"; planned is -1 if
# there is no plan.
count_tap() {
	awk '
	/^ok / { if (tolower($0) ~ /# skip/) skipped++; else passed++ }
	/^not ok / { failed++ }
	/^1\.\.[0-9]+/ { sub(/^1\.\./, ""); planned = $1 + 0; seen = 1 }
	END { print passed + 0, failed + 0, skipped + 0, seen ? planned : -1 }
	' "$1"
}

# Lines of build/results from a TAP stream of suite $2, file $3.
time_tap() {
	awk -v OFS='\t' -v suite="$2" -v file="$3" '
	/^(not )?ok [0-9]+ .* in [0-9]+ms/ {
		result = /^not/ ? "not ok" : tolower($0) ~ /# skip/ ? "skip" : "ok"
		sub(/^(not )?ok [0-9]+ /, "")
		match($0, / in [0-9]+ms/)
		print suite, file, result, substr($0, RSTART + 4, RLENGTH - 6),
			substr($0, 1, RSTART - 1)
	}' "$1"
}

# Print failed checks with their remarks, and all lines that are not TAP; at
# most 30 lines at a stretch, and 200 in all.
show_failures() {
	awk '
	/^ok / || /^1\.\.[0-9]+/ { show = lines = 0; next }
	/^not ok / { show = 1; lines = 0 }
	show || !/^#/ {
		if (++lines <= 30)
			print "    " $0
		else if (lines == 31)
			print "    ..."
	}
	' "$1" | head -n 200
}

# Print why exit status $1 means a crash, if it does.
crash_reason() {
	case $1 in
	0 | 1) ;;
	99) echo "valgrind found errors" ;;
	137) echo "killed by SIGKILL" ;;
	*)
		if [ "$1" -gt 128 ]; then
			echo "crashed: signal $(kill -l $(($1 - 128)))"
		else
			echo "exit status $1"
		fi
		;;
	esac
}

total_passed=0 total_failed=0 total_skipped=0

# Judge the finished job $1, print its line, add to the totals.
report() {
	local log=$scratch/$1.out rc passed=0 failed=0 skipped=0 planned=0
	local reason='' left='' busy

	rc=$(cat "$scratch/$1.rc" 2>/dev/null || echo 255)
	# Of the processes that somebody waited for: "0m1.2s 0m0.3s" in the second line.
	busy=$(awk -F '[ms ]+' 'NR == 2 { printf "%.1f", 60 * $1 + $2 + 60 * $3 + $4 }' \
		"$scratch/$1.cpu" 2>/dev/null)
	echo "${suites[$1]}:${trees[$1]} ${busy:-0}" >>"$scratch/busy"
	if [ "${suites[$1]}" = examples ]; then
		case $rc in
		0) passed=1 ;;
		77) skipped=1 ;;
		*) reason="exit status $rc" ;;
		esac
	else
		read -r passed failed skipped planned <<<"$(count_tap "$log")"
		reason=$(crash_reason "$rc")
		[ ! -e "$scratch/$1.silent" ] ||
			reason="killed: nothing printed for $((limit * slowness)) s"
		[ -s "$scratch/$1.left" ] && left=$(head -n 3 "$scratch/$1.left")
		if [ -n "$reason" ]; then
			:
		elif [ "$planned" -lt 0 ]; then
			reason="no plan"
		elif [ "$((passed + failed + skipped))" -ne "$planned" ]; then
			reason="$((passed + failed + skipped)) results, planned $planned"
		elif [ "$rc" -ne 0 ] && [ "$failed" -eq 0 ]; then
			reason="exit status $rc, but no check failed"
		elif [ -n "$left" ]; then
			reason="left files behind: ${left//$'\n'/, }"
		fi
	fi
	[ -z "$reason" ] || failed=$((failed + 1))
	total_passed=$((total_passed + passed))
	total_failed=$((total_failed + failed))
	total_skipped=$((total_skipped + skipped))
	{
		printf '%-5s %-9s %s: %d passed%s%s%s (%d s, %.0f busy)\n' \
			"$([ "$failed" -eq 0 ] && echo ok || echo FAIL)" \
			"${suites[$1]}" "${files[$1]}" "$passed" \
			"$([ "$failed" -eq 0 ] || echo ", $failed failed")" \
			"$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")" \
			"${reason:+: $reason}" $((SECONDS - started[$1])) "${busy:-0}"
		if [ "$failed" -gt 0 ]; then
			if [ "${suites[$1]}" = examples ]; then
				sed 's/^/    /' "$log" | tail -n 60
			else
				show_failures "$log"
			fi
			[ ! -s "$scratch/$1.vg" ] || sed 's/^/    /' "$scratch/$1.vg"
		fi
	} >"$scratch/$1.says"
	if [ -z "$tty" ] || [ "$failed" -gt 0 ]; then
		cat "$scratch/$1.says"
	fi
	[ "$failed" -eq 0 ] || cat "$scratch/$1.says" >>"$scratch/failures"
	time_tap "$log" "${suites[$1]}" "${files[$1]}" >>"$scratch/results"
	# List every skipped test.
	sed -n 's/^ok .*# [sS][kK][iI][pP] *//p' "$log" >>"$scratch/skips"
	rm -f "$scratch/$1".*
}

# --- Main -------------------------------------------------------------------

suites=() trees=() files=() pattern_of=() started=()

# is_listed FILE: by --list; `pattern` for its tests.
is_listed() {
	local path

	pattern=
	[ "${#list[@]}" -gt 0 ] || return 0
	for path in "${list[@]}"; do
		[[ /$1 == *"/$path" ]] || continue
		pattern=${patterns[$path]}
		found[$path]=1
		return 0
	done
	return 1
}

declare -A bins=() found=()

# add SUITE TREE FILE...: add the files that match --only and --list.
add() {
	local suite=$1 tree=$2 file pattern

	for file in "${@:3}"; do
		[[ $file == *"$only"* ]] || continue
		is_listed "$file" || continue
		[ -e "$file" ] || [ -n "$tell" ] || continue
		suites+=("$suite") trees+=("$tree") files+=("$file")
		pattern_of+=("$pattern")
	done
}

# programs DIRECTORY SOURCE...: of the files, which need not be there yet; one
# without a source is left over from an earlier build.
programs() {
	programs=("${@:2}")
	programs=("${programs[@]##*/}")
	programs=("${programs[@]%.c}")
	programs=("${programs[@]/#/$1/}")
}

for arg; do
	tree=${arg#*:}
	tree=${tree%/}
	[ -n "${bins[$tree]-}" ] || bins[$tree]=$(open_bin "$tree")
	case $arg in
	unit:*)
		programs "$tree/test" testsuite/unit/t_*.c
		add unit "$tree" "${programs[@]}"
		;;
	valgrind:*)
		mapfile -t some < <(grep -v '^#' testsuite/valgrind.list |
			awk -v day=$((EPOCHSECONDS / 86400)) '(NR + day) % 3 == 0')
		[ -z "$slow" ] || some=(testsuite/unit/t_*.c)
		programs "$tree/test" "${some[@]}"
		add valgrind "$tree" "${programs[@]}"
		;;
	fuzz:*)
		some=(testsuite/data/corpus/*)
		add fuzz "$tree" "${some[@]/#*\//$tree/fuzz/replay_}"
		;;
	bats:*)
		add bats "$tree" testsuite/cmd/*.bats testsuite/golden/*.bats \
			testsuite/store/*.bats
		;;
	mpi:*) add mpi "$tree" testsuite/scr/*.bats ;;
	behind:*)
		add behind "$tree" \
			testsuite/scr/{restart,scenes,levels,fetch,flush,kills}.bats
		;;
	tour:* | tour-valgrind:*)
		add "${arg%%:*}" "$tree" testsuite/scr/tour.bats
		;;
	cluster:*) add cluster "$tree" testsuite/cluster/*.bats ;;
	examples:*) add examples "$tree" examples/*.sh ;;
	*) usage ;;
	esac
done

for path in "${list[@]}"; do
	[ -n "${found[$path]-}" ] || [ -n "$only" ] || {
		echo "run.sh: no such test: $path" >&2
		exit 1
	}
done

# --- Times ------------------------------------------------------------------

declare -A expected=() here=()
# SUITE FILE SECONDS; of a file in a tree, the name in all trees is the same.
# Tests wait for a third of their time, those on pretend nodes for most of it; on a
# slow machine, all for its processors.
if [ -z "$jobs" ]; then
	jobs=$(nproc 2>/dev/null || echo 1)
	if [ "$slowness" -lt 2 ]; then
		[[ $* == *cluster:* ]] && jobs=$((2 * jobs)) || jobs=$((jobs + 1))
	fi
fi
while read -r suite file secs; do
	expected["$suite $file"]=$(((secs * speed + theirs / 2) / theirs))
done <testsuite/times
[ ! -e build/times ] || while read -r suite file secs; do
	expected["$suite $file"]=$secs here["$suite $file"]=1
done <build/times

# Set `key` to the name of job $1 in these tables.
key_of() {
	key="${suites[$1]} ${files[$1]#"${trees[$1]}"/}"
	[ -z "${pattern_of[$1]}" ] || key="some-$key"
	[[ ${trees[$1]} != *address* ]] || key="san-$key"
}

# The numbers of all jobs, those that take longest first; `left`: seconds of all.
left=0 order=() source='as they took here'
mapfile -t order < <(
	for i in "${!suites[@]}"; do
		key_of "$i"
		echo "${expected[$key]-0} $i"
	done | sort -k1,1rn -k2,2n
)
for i in "${!order[@]}"; do
	key_of "$i"
	[ -n "${here[$key]-}" ] || source='a guess from another machine'
	left=$((left + ${order[i]% *}))
	order[i]=${order[i]#* }
done

# If not all of the long ones may have their turn, another one is the first, day by
# day.
if [ -n "${RUN_UNTIL-}" ] && ((left / jobs > RUN_UNTIL - EPOCHSECONDS)); then
	long=0
	for job in "${order[@]}"; do
		key_of "$job"
		[ "${expected[$key]-0}" -le 10 ] || long=$((long + 1))
	done
	day=$((EPOCHSECONDS / 86400))
	at=$((long > 0 ? day * (long / 3 + 1) % long : 0))
	order=("${order[@]:at:long-at}" "${order[@]::at}" "${order[@]:long}")
fi

# minutes SECONDS
minutes() {
	if [ "$1" -lt 90 ]; then
		echo "$1 s"
	else
		echo "$((($1 + 30) / 60)) min"
	fi
}

finished=0
# What is left: files done, and the time.
progress() {
	echo "$finished of ${#suites[@]} files, about $(minutes $((left / jobs))) left"
}

# Name the running files and their seconds.
name_running() {
	local i text=

	for i in "${running[@]}"; do
		text+=", ${files[i]##*/} ($((SECONDS - started[i])) s)"
	done
	echo "      $(progress): ${text#, }"
}

declare -A running=()
tty='' ticker=''
[ ! -t 1 ] || tty=1

# Wait for one job, and report it.
next() {
	local pid said=$SECONDS

	while :; do
		[ -z "$tty" ] || printf '\r\e[K%s' "$(progress)"
		if [ -z "$ticker" ]; then
			sleep 15 &
			ticker=$!
		fi
		wait -n -p pid
		[ -z "$tty" ] || printf '\r\e[K'
		if [ "$pid" = "$ticker" ]; then
			ticker=''
			end_silent
			[ -n "$tty" ] || [ $((SECONDS - said)) -lt 10 ] ||
				name_running
			continue
		fi
		break
	done
	i=${running[$pid]}
	key_of "$i"
	left=$((left - ${expected[$key]-0}))
	finished=$((finished + 1))
	echo "$key $((SECONDS - started[i]))" >>"$scratch/times"
	report "$i"
	unset "running[$pid]"
}

echo "${#suites[@]} test files: about $(minutes $((left / jobs))), $source"
[ -z "$tell" ] || exit 0
late=()
for job in "${order[@]}"; do
	[ "${#running[@]}" -lt "$jobs" ] || next
	if [ -n "${RUN_UNTIL-}" ] && [ "$EPOCHSECONDS" -ge "$RUN_UNTIL" ]; then
		key_of "$job"
		if [ "${expected[$key]-0}" -gt 10 ]; then
			late+=("${suites[job]} ${files[job]}")
			continue
		fi
	fi
	started[job]=$SECONDS
	run_one "$job" &
	running[$!]=$job
done
while [ "${#running[@]}" -gt 0 ]; do
	next
done
[ -z "$ticker" ] || kill "$ticker" 2>/dev/null

if [ -s "$scratch/failures" ]; then
	echo
	echo "failed:"
	cat "$scratch/failures"
fi
if [ "${#late[@]}" -gt 0 ]; then
	total_skipped=$((total_skipped + ${#late[@]}))
	printf '\nout of time, not run: %d files\n' "${#late[@]}"
	printf '    %s\n' "${late[@]}"
fi
if [ -s "$scratch/skips" ]; then
	echo
	sort "$scratch/skips" | uniq -c | sed 's/^ *\([0-9]*\) /skipped \1: /' |
		head -n 40
fi
if [ "$((total_passed + total_failed + ${#late[@]}))" -eq 0 ]; then
	echo "no tests were run"
	total_failed=1
fi
awk '{ n[$1]++; s[$1] += $2; all += $2 }
END {
	print "\nprocessor time, in seconds:"
	for (k in n)
		printf "    %-36s %4d files %6d\n", k, n[k], s[k] | "sort"
	close("sort")
	printf "    %-36s %17d\n", "all", all
}' "$scratch/busy"
totals="$total_passed passed, $total_failed failed"
[ "$total_skipped" -eq 0 ] || totals+=", $total_skipped skipped"
mkdir -p build && sort "$scratch/results" >build/results
# Times of this run replace older ones.
touch build/times
echo "speed - $speed" >>"$scratch/times"
awk '{ t[$1 " " $2] = $3 } END { for (k in t) print k, t[k] }' build/times \
	"$scratch/times" 2>/dev/null | sort >"$scratch/all" && cp "$scratch/all" build/times
echo "$totals" | tee "${TOTALS:-build/totals}"
[ "$total_failed" -eq 0 ]
