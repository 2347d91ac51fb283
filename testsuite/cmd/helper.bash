# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# helper.bash - shared by the tests of all commands: `load helper`.
#
# BIN is the directory of the commands under test, and first in PATH.  A test
# keeps its files in $BATS_TEST_TMPDIR, which bats makes and removes.

bats_require_minimum_version 1.5.0

TESTSUITE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${BIN:=$TESTSUITE/../build/plain/bin}"
export TESTSUITE BIN
: "${GEN:=$BIN/../gen}" "${SHIM:=$BIN/../shim.so}"
PATH=$BIN:$PATH

# Tests must not depend on the caller's environment.
unset SCR_PREFIX SCR_CONF_FILE
export LC_ALL=C

# A helper called in $(...) cannot end the test itself; it signals the main
# shell.
trap 'skip "no golden data: not in \$SCRKIT_GOLDEN"' USR1

# Print the path of a directory (or file) of golden data, or skip the test if it
# is missing.  Use `dir=$(golden scr3/xor_8)` on a line of its own.
golden() {
	local path=${SCRKIT_GOLDEN:-/nonexistent}/$1

	if [[ -e $path ]]; then
		printf '%s\n' "$path"
	elif ((BASH_SUBSHELL > 0)); then
		kill -USR1 $$
	else
		skip "no golden data: \$SCRKIT_GOLDEN/$1"
	fi
}

# pick STEP WORD...: set `picked` to every STEP-th of these cases; where it begins
# differs from test to test.  With SLOW=1: all of them.
pick() {
	local step=$1 i

	shift
	[[ -z ${SCRKIT_SLOW-} ]] || step=1
	picked=()
	for ((i = BATS_TEST_NUMBER % step; i < $#; i += step)); do
		picked+=("${@:i+1:1}")
	done
	((${#picked[@]} > 0)) || picked=("$1")
}

# untraced: from here on bats notes only which line of a test it runs, not those of
# functions: that takes a millisecond for each command there, most of the time of
# the tests.  BATS_TRACED: all, to see where in a function a test fails.
untraced() {
	[[ -n ${BATS_TRACED-} || $- != *T* ]] || {
		set +T
		# They end the trace at a failure.
		declare -ft bats_error_trap bats_check_status_from_trap \
			2>/dev/null || true
	}
}

# Run a command like `run --separate-stderr`, which starts five processes for
# each and took most of the time of the tests.
attempt() {
	local out=$BATS_FILE_TMPDIR/out.$BASHPID err=$BATS_FILE_TMPDIR/err.$BASHPID
	local flags

	untraced
	flags=${-//[cs]/} # not to be set again: how bash was called
	set +eET
	if declare -F "$1" >"$out"; then
		("$@") >"$out" 2>"$err"
	else
		"$@" >"$out" 2>"$err"
	fi
	status=$?
	IFS= read -r -d '' output <"$out" && output=$(tr -d '\0' <"$out")
	output=${output%"${output##*[!$'\n']}"}
	IFS=$'\n' read -r -d '' -a lines <"$out"
	read -r -d '' stderr <"$err"
	IFS=$'\n' read -r -d '' -a stderr_lines <"$err"
	set "-$flags"
	[[ $1 != *scr_* || $output$stderr != *"next: "* ]] ||
		next_comes_last "$*"
	followed "$@"
}

# next_comes_last COMMAND: 33.22: on no stream of this one command a line follows a
# line `next:`, except others of these.
next_comes_last() {
	local stream line seen

	for stream in "$output" "$stderr"; do
		seen=
		while IFS= read -r line; do
			if [[ $line =~ ^([a-z_-]+:)?\ *next:\  ]]; then
				seen=1
			elif [[ -n $seen ]]; then
				failed "$1: behind next: $line"
			fi
		done <<<"$stream"
	done
}

# What names commands, in lines and in JSON; each becomes a line.
export NEXT_IN='s/^\([a-z_]*: \)\? *next: *//p; s/.*; next: //p
/^ *"next": "/{s///; s/",\?$//; s/\\\(["\\]\)/\1/g; p}'

# followed COMMAND...: what it has named as "next: " in $output and $stderr is followed
# in a copy of the test's directory, by advice.sh, which says what fails.  Commands of
# a file that differ only in numbers are followed once for each verdict, with SLOW=1
# always.  What a script of several lines, or in a file,
# prints may be about a state that has passed.  Nodes of the bed are elsewhere.
followed() {
	[[ $output$stderr != *next@(:|'": "')* || $* == *$'\n'* || $* != *scr_* ||
		$1 == on ]] || ! may_follow || (follow_each "$@")
}

# Suites whose advice is followed; SLOW=1: that of all.
FOLLOWED=" advice evidence full growth hints json next order scr_identity scr_index \
scr_inspect scr_inspect_containers scr_rebuild slips unknown "

# Without a mount namespace of its own nothing can be followed safely.
may_follow() {
	local suite=${BATS_TEST_FILENAME##*/}

	[[ -n ${SCRKIT_SLOW-} || $FOLLOWED == *" ${suite%.bats} "* ]] || return
	if [[ -z ${MAY_FOLLOW-} ]]; then
		MAY_FOLLOW=no
		! unshare -m true 2>/dev/null || MAY_FOLLOW=yes
	fi
	[[ $MAY_FOLLOW == yes ]]
}

follow_each() {
	local here dir base copy=$BATS_RUN_TMPDIR/copy.$BASHPID rc bad=0 next key
	local seen=$BATS_RUN_TMPDIR/seen.${BATS_TEST_FILENAME##*/} known=''

	set +eET
	trap - ERR EXIT DEBUG
	shopt -s extglob
	unset LD_PRELOAD "${!SHIM_@}"
	here=$(pwd -P) base=$here
	for dir in "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR"; do
		dir=$(realpath "$dir")
		[[ $here/ != "$dir"/* ]] || base=$dir
	done
	[[ $(realpath "$TESTSUITE") != "$here"/* ]] || base=$dir
	[[ ! -e $seen ]] || IFS= read -r -d '' known <"$seen"
	while IFS= read -r next; do
		next=${next%$'\r'}
		key="|$status ${next//+([0-9])/N}|"
		[[ -n ${SCRKIT_SLOW-} || $known != *"$key"* ]] || continue
		known+=$key
		cp -a "$base" "$copy"
		unshare -m "$TESTSUITE/cmd/advice.sh" "$copy" "$base" "$status" "$next" "$@" \
			>"$copy.said" 2>&1
		rc=$?
		chmod -R u+rwX "$copy" 2>/dev/null
		rm -rf "$copy" "$copy.over"
		if ((rc == 1)); then
			bad=1
			printf '%s\n-> status %d\n%s\n%s\n' "$*" "$status" "$output" "$stderr"
			cat "$copy.said"
		elif ((rc != 0)); then
			echo "$next" >>"$BATS_RUN_TMPDIR/unfollowed"
		fi >&2
	done < <(sed -n "$NEXT_IN" <<<"$output"$'\n'"$stderr")
	printf %s "$known" >"$seen"
	rm -f "$copy.said"
	return "$bad"
}

# run: that of bats; what the command advises is followed.
eval "bats_$(declare -f run)"
run() {
	stderr=
	bats_run "$@"
	while [[ ${1-} == [-!]* ]]; do
		shift
	done
	followed "$@"
}

# The same; what it answers in JSON has to follow the schema.  Python is slow to
# start: teardown_file looks at all answers of a file at once.
try() {
	attempt "$@" || return
	[[ " $* " != *" --json "* || $output != "{"* ]] || keep_answer
}

keep_answer() {
	local to=$BATS_FILE_TMPDIR/answer.$BATS_TEST_NUMBER.$BASHPID

	answer_count=$((answer_count + 1))
	printf '%s\n' "$output" >"$to.$answer_count"
}

teardown_file() {
	local all=("$BATS_FILE_TMPDIR/answer."*)

	[[ ! -e $BATS_RUN_TMPDIR/unfollowed ]] ||
		echo "# not followed, as nothing can be mounted: $(wc -l \
			<"$BATS_RUN_TMPDIR/unfollowed") lines \"next:\"" >&3
	[[ ! -e ${all[0]} ]] || json_check "${all[@]}"
}

# become USER: a command before others, in the array `as`, with which user and
# group USER run them.  Skips the test if that cannot be.
become() {
	as=(setpriv "--reuid=$1" "--regid=$1" --clear-groups
		env PATH="${OPEN_BIN-$BIN}:$PATH")
	"${as[@]}" true 2>/dev/null || skip "may not become another user"
	"${as[@]}" test -x "${OPEN_BIN-$BIN}/scr_index" -a -r . ||
		skip "another user does not reach ${OPEN_BIN-$BIN}, or this directory"
}

# restricted: a command before others, in the array `as`: the modes of files hold
# for them, whoever runs them.
restricted() {
	as=()
	: >closed && chmod 0 closed
	! cat closed 2>/dev/null ||
		as=(setpriv --bounding-set "-dac_override,-dac_read_search")
	"${as[@]}" true && ! "${as[@]}" cat closed 2>/dev/null ||
		skip "root may read everything"
	rm -f closed
}

# may_give: may files be given to somebody else?
may_give() {
	local file=$BATS_FILE_TMPDIR/given.$BASHPID rc=0

	: >"$file"
	chown 1234:4321 "$file" 2>/dev/null || rc=1
	rm "$file"
	return $rc
}

# gives: the test needs that.
gives() {
	may_give || skip "may not give files to others"
}

# own_mounts: a command before others, in the array `own`: they see their own
# mounts, and may mount.
own_mounts() {
	local try=(mount -t tmpfs none "$BATS_TEST_TMPDIR")

	own=(unshare -m)
	"${own[@]}" "${try[@]}" 2>/dev/null || own=(unshare -rm)
	"${own[@]}" "${try[@]}" 2>/dev/null || skip "may not mount"
}

# A test that mounts begins with `privately && return`: it is run once more, in a
# process of its own, which may do that.
privately() {
	local script=$BATS_FILE_TMPDIR/privately

	[[ -z ${PRIVATELY-} ]] || return 1
	own_mounts
	# All that can be set again.  Setup was done.
	declare -p | grep -Ev '^declare -([a-zA-Z]*r|[-a-zA-Z]+ (BASH|FUNC|DIRS|PIPE))' \
		>"$script"
	declare -f >>"$script"
	# shellcheck disable=SC2016 # for the shell there
	PRIVATELY=1 "${own[@]}" bash -c '. "$0"; bats_test_begin() { :; }; set -eE
		trap "echo \"failed: \$BASH_COMMAND\" >&2" ERR; "$1"' \
		"$script" "$BATS_TEST_NAME" || exit 1
}

# moments COUNT [SOME]: numbers up to COUNT of the operations to disturb: SOME
# (10) of them, or a few more, with the first and the last; with SCRKIT_SLOW
# all.
moments() {
	local step=1

	[[ -n ${SCRKIT_SLOW-} ]] || step=$(($1 / ${2-10} + 1))
	seq 1 "$step" "$1"
	((($1 - 1) % step == 0)) || echo "$1"
}

# json_check FILE...: json_check.py with a Python that has what it needs: the
# first one in PATH may not be the system's.  Without one it does nothing:
# json.bats needs it.  Python is slow to start: look for it once in a test.
json_check() {
	json_python
	"$JSON_PYTHON" "$TESTSUITE/cmd/json_check.py" "$@"
}

json_python() {
	[[ -z ${JSON_PYTHON-} ]] || return 0
	for JSON_PYTHON in python3 /usr/bin/python3 true; do
		! "$JSON_PYTHON" -c 'import jsonschema' 2>/dev/null || break
	done
}

# Fail the test, with the expectation and the output of the command.
failed() {
	{
		printf '%s\n' "$@"
		printf 'status: %s\nstdout:\n%s\n' "${status-}" "${output-}"
		printf 'stderr:\n%s\n' "${stderr-}"
	} >&2
	return 1
}

assert_status() {
	((status == $1)) || failed "expected status $1"
}

# ends STATUS COMMAND...: run it like `try`; it has to end with STATUS.
ends() {
	try "${@:2}"
	((status == $1)) || failed "${*:2}: expected status $1"
}

# calm COMMAND...: it succeeds, and stderr is empty.
calm() {
	ends 0 "$@"
	assert_stderr_empty
}

# yields STATUS TEXT COMMAND...: it ends with STATUS, and stdout is TEXT.
yields() {
	ends "$1" "${@:3}"
	assert_output_is "$2"
}

# prints TEXT COMMAND...: it succeeds, and stdout is TEXT.
prints() { yields 0 "$@"; }

# out_has, err_has TEXT COMMAND...: a helper such as `ends`, and stdout or stderr
# contains TEXT.  Here and below, "TEXT;TEXT" is two.
out_has() {
	"${@:2}"
	assert_output_has "$1"
}

err_has() {
	"${@:2}"
	assert_stderr_has "$1"
}

# finds STATUS TEXT COMMAND...: it ends with STATUS, and stdout contains TEXT.
finds() { out_has "$2" ends "$1" "${@:3}"; }

# shows TEXT COMMAND...: it succeeds, and stdout contains TEXT.
shows() { finds 0 "$@"; }

# warns STATUS TEXT COMMAND...: it ends with STATUS, and stderr contains TEXT.
warns() { err_has "$2" ends "$1" "${@:3}"; }

# rejects COMMAND...: it does not succeed.
rejects() {
	try "$@"
	((status != 0)) || failed "$*: expected a failure"
}

# complains STATUS TEXT COMMAND...: it ends with STATUS, and stderr is one line
# that contains TEXT.
complains() {
	ends "$1" "${@:3}"
	assert_stderr_one_line "$2"
}

# refuses STATUS TEXT COMMAND...: the same, and nothing is on stdout.
refuses() {
	complains "$@"
	assert_output_is ""
}

# misused TEXT COMMAND...: a usage error, whose message contains TEXT.
misused() {
	try "${@:2}"
	assert_usage_error "$1"
}

# rows: each line "STATUS|COMMAND|TEXT;TEXT...|FACT..." on stdin in turn: it ends so,
# each TEXT is in its output ("2>": on stderr; "!": not; "=": stdout is this; "one":
# stderr is one line, "2=": nothing), and each FACT holds after it: "+PATH", "-PATH":
# this is below p, or not; "=1=2,2=4": the datasets in the index, the oldest first;
# "*NAME": the restart point, or none.  Status "": nothing is looked at; "use": a usage
# error; "both": a refusal of the word 4 with both readings.
rows() {
	local want line texts facts text fact

	while IFS='|' read -r -u 7 want line texts facts; do
		echo "$line"
		[[ -n $want ]] || { eval "$line" && continue; }
		eval "try $line"
		case $want in
		both)
			assert_status 2
			assert_output_is ""
			assert_stderr_one_line id:4 name:4 "dataset 2"
			;;
		use) assert_usage_error ;;
		*) [[ $status == $want ]] || failed "$line: expected status $want" ;;
		esac
		while [[ -n $texts ]]; do
			text=${texts%%;*} texts=${texts#"$text"}
			texts=${texts#;}
			case $text in
			one) assert_stderr_one_line ;;
			2=) assert_stderr_empty ;;
			=*) assert_output_is "${text#=}" ;;
			2\>*) assert_stderr_has "${text#2>}" ;;
			!*) [[ $output$stderr != *"${text#!}"* ]] || failed "$line: $text" ;;
			*) [[ $'\n'$output$'\n'$stderr == *"$text"* ]] ||
				failed "$line: expected: $text" ;;
			esac
		done
		for fact in $facts; do
			case $fact in
			+*) [[ -e p/${fact#+} ]] ;;
			-*) [[ ! -e p/${fact#-} ]] ;;
			=*) [[ $(index) == "${fact#=}" ]] ;;
			\**) [[ $(current) == "${fact#\*}" ]] ;;
			esac || failed "$line: not so: $fact" "$(index)"
		done
	done 7<&0
}

# The datasets in the index of p, the oldest first: "1=2,2=4,...".
index() {
	scr_index -p p --all | awk 'NR > 1 { print $1, $0 }' | sort -n |
		sed -E 's/^([0-9]+) .* ([^ ]+) *$/\1=\2/' | paste -s -d ,
}

# The name of its restart point.
current() { scr_index -p p | sed -n 's/^.\{33\}\* //p'; }

# looked: each line "MAKE|DAMAGE|STATUS ARGUMENT...|WORD|WORD..." on stdin: dataset 1 is
# made anew on prefix p by `make p`, a function of the file, with these options (same: it
# is not), and damaged; scr_inspect with the arguments ends so, and prints each WORD ("~":
# a line that matches; "!": not).
looked() {
	local row word

	while IFS='|' read -r -u 7 -a row; do
		echo "${row[*]}"
		if [[ ${row[0]} != same ]]; then
			rm -rf p p.nodes
			# shellcheck disable=SC2086 # words
			make p ${row[0]}
		fi
		eval "${row[1]}"
		eval "ends ${row[2]%% *} scr_inspect ${row[2]#* }"
		for word in "${row[@]:3}"; do
			case $word in
			"~"*) assert_line "${word#?}" ;;
			!*) assert_output_lacks "${word#?}" ;;
			*) assert_output_has "$word" ;;
			esac
		done
	done 7<&0
}

# stdout has N lines.
assert_line_count() {
	local count=0

	[[ -z $output ]] || count=$(printf '%s\n' "$output" | wc -l)
	((count == $1)) || failed "expected $1 lines, not $count"
}

assert_output_is() {
	[[ $output == "$1" ]] || failed "expected on stdout:" "$1"
}

# parts TEXT...: set `parts` to what their semicolons divide; one before a blank does
# not.
parts() {
	local mark=$'\1' rest text

	parts=()
	for text; do
		rest="${text//; /$mark};"
		while [[ -n $rest ]]; do
			parts+=("${rest%%;*}")
			rest=${rest#*;}
		done
	done
	parts=("${parts[@]//"$mark"/; }")
}

# each_in STREAM WANTED TEXT...: stdout or stderr contains (yes) each, or none (no).
each_in() {
	local all=$output text is

	[[ $1 == stdout ]] || all=$stderr
	parts "${@:3}"
	for text in "${parts[@]}"; do
		[[ $all == *"$text"* ]] && is=yes || is=no
		[[ $is == "$2" ]] || failed "expected in $1: $2: $text"
	done
}

assert_output_has() { each_in stdout yes "$@"; }
assert_output_lacks() { each_in stdout no "$@"; }
assert_stderr_has() { each_in stderr yes "$@"; }
assert_stderr_lacks() { each_in stderr no "$@"; }

# A line of stdout matches the extended regular expression.
assert_line() {
	grep -Eq -- "$1" <<<"$output" || failed "expected a line: $1"
}

# After `try`: stderr is empty.
assert_stderr_empty() {
	[[ -z $stderr ]] || failed "expected nothing on stderr"
}

# After `try`: stderr is one line, a message "NAME: ..." that contains each
# argument.
assert_stderr_one_line() {
	local lines

	lines=$(grep -v '^[a-z_]*: next: ' <<<"$stderr")
	[[ -n $lines && $lines != *$'\n'* ]] ||
		failed "expected one line on stderr"
	[[ $stderr =~ ^[a-z0-9_]+:\ . ]] || failed "expected 'NAME: ...'"
	assert_stderr_has "$@"
}

# After `try`: it was a usage error, with its hint.
assert_usage_error() {
	assert_status 2
	[[ -z $output || $output == *'"schema"'* ]] ||
		failed "expected nothing on stdout"
	[[ $stderr == *$'\n'* && $stderr != *$'\n'*$'\n'* ]] ||
		failed "expected two lines on stderr"
	assert_stderr_has "Try '" "--help' for more information." "$@"
}

# waits_for LOCK COMMAND...: while this file is locked, the command says that it
# waits; then it succeeds.
waits_for() {
	exec 9>"$1"
	flock 9
	"${@:2}" >waiting.out 2>&1 3>&- 9>&- &
	until grep -q waiting waiting.out; do
		kill -0 $!
		sleep 0.02
	done
	exec 9>&-
	wait $!
}

# damage FILE OFFSET [TEXT]: write TEXT (Z), with escapes, over the bytes there.
damage() {
	printf %b "${3-Z}" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# flip FILE OFFSET: change a bit; the file keeps its times.
flip() {
	local byte

	touch -r "$1" "$BATS_TEST_TMPDIR/times"
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	damage "$1" "$2" "$(printf '\\x%x' $((byte ^ 4)))"
	touch -r "$BATS_TEST_TMPDIR/times" "$1"
}

# operations COMMAND...: set `total` to the number of its operations, which the shim
# counts.
operations() {
	rm -f "$BATS_TEST_TMPDIR/count"
	LD_PRELOAD=$SHIM SHIM_COUNT_FILE=$BATS_TEST_TMPDIR/count "$@" >/dev/null
	total=$(tail -n 1 "$BATS_TEST_TMPDIR/count")
	((total > 0))
}

# gen OPTION...: a dataset; its metadata have the path of the prefix.
gen() { "$GEN/gen_dataset" -q "$@"; }

# built PREFIX ID [--checksums] OPTION...: the same, in the index.
built() {
	local prefix=$1 id=$2 sums=()

	shift 2
	[[ ${1-} != --checksums ]] || { sums=("$1") && shift; }
	gen -p "$prefix" -i "$id" "$@"
	scr_index -q -p "$prefix" "${sums[@]}" --build "id:$id"
}

# renew FROM [TO]: TO (p) becomes a copy of FROM.
renew() { rm -rf "${2-p}" && cp -a "$1" "${2-p}"; }

# taken FROM [TO]: the same of golden data, which may be read-only.
taken() {
	renew "$@"
	chmod -R u+w "${2-p}"
}

# craft FILE: write the tree on stdin, as printed by scr_inspect, to a metadata file.
craft() { "$GEN/gen_craft" --output "$1"; }

# The contents of all files below a directory: "SHA256  NAME", sorted.
tree_sha() {
	(
		cd "$1" || exit
		find . -type f -printf '%P\0' | sort -z |
			xargs -0 -r sha256sum --
	)
}

# All entries below a directory: name, type, mode, owner, group; except for
# directories also size, modification time and link target.
tree_stat() {
	find "$1" -mindepth 1 \
		\( -type d -printf '%P/ %y %m %U %G\n' \) -o \
		-printf '%P %y %m %U %G %s %T@ %l\n' | sort
}

# in_no_job: change to the test's directory and remove all variables of a job, a
# resource manager or the system's configuration.  The shim may be preloaded before
# a sanitizer.
in_no_job() {
	local name

	untraced
	cd "$BATS_TEST_TMPDIR" || return 1
	umask 022
	export TZ=UTC USER=me SCRKIT_SYSTEM_CONF=$BATS_FILE_TMPDIR/none
	export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}
	unset NO_COLOR
	for name in ${!SLURM*} ${!LSB*} ${!FLUX*} ${!PBS*} ${!SCR_*}; do
		unset "$name"
	done
}

# What a file that needs no more has.
setup() { in_no_job; }

# stub NAME: a mock command in stub/, which is first in PATH, from stdin.
stub() {
	mkdir -p stub
	cat >"stub/$1"
	chmod +x "stub/$1"
	[[ $PATH == "$PWD/stub:"* ]] || PATH=$PWD/stub:$PATH
}

# A mock ssh whose nodes, each named by $NODE there, are this machine: dead* hang,
# gone* refuse.
stub_ssh() {
	stub ssh <<-'END'
		#!/bin/sh
		while :; do
			case $1 in
			-o | -l | -p) shift 2 ;;
			-*) shift ;;
			*) break ;;
			esac
		done
		case $1 in
		gone*)
			echo "ssh: connect to host $1 port 22: No route" >&2
			exit 255 ;;
		dead*) exec sleep 60 ;;
		esac
		export NODE=$1
		shift
		exec sh -c "$*"
	END
}

# freezes NODE OPERATION N: what that stub node does with files of p stops before its
# N-th operation.  What ends the connection does not end the command there.
freezes() {
	cat >"ran.$1" <<-END
		shift
		LD_PRELOAD=$SHIM SHIM_PATH=$PWD/p SHIM_OP=$2 SHIM_STOP_AT=$3 \
			setsid sh -c "\$*" | cat
		exit
	END
}

# frozen PID: wait until it has stopped, while that process lives; sets `worker`.
frozen() {
	local dir state words

	until [[ -n $worker ]]; do
		kill -0 "$1"
		sleep 0.1
		for dir in /proc/[0-9]*; do
			read -r _ _ state _ <"$dir/stat" || continue
			[[ $state == T ]] || continue
			mapfile -d '' -t words <"$dir/cmdline" || continue
			[[ "${words[*]}" != *"$PWD/p"[\ /]*--part=* ]] ||
				worker=${dir##*/}
		done 2>"$BATS_TEST_TMPDIR/none"
	done
}

# one_node: a job whose node is this machine; `args` for scr_postrun.
one_node() {
	export SCR_USER_NAME=genuser
	unset SCR_JOB_ID SCR_NODELIST
	# The path of the node's storage in the generator's metadata.
	ln -sfn nodes/node0 local
	args=(-p p -r local -w "$(uname -n)" -J 1000 --cachedir local/cache
		--cntldir local/cntl)
}

# in_cache OPTION...: a checkpoint of two ranks in its cache.
in_cache() {
	gen -p p -n 2 -m 1 --layout cache --nodes-dir nodes -t SINGLE -s 1000 \
		--lose "" "$@"
}

# write_part FILE: write the tree on stdin, as printed by scr_inspect, to a
# metadata file.  Of a part of a packed map, rank2file has the checksum.
write_part()
{
	local top=${1%/*}/rank2file old tree

	old=$(scr_crc32 "$1")
	craft "$1"
	[[ $1 == */rank2file.* ]] || return 0
	tree=$(scr_inspect -m tree "$top")
	craft "$top" <<<"${tree//0x${old#0}/0x$(scr_crc32 "$1")}"
}
