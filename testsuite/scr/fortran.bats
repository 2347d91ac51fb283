#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# libscrf: programs in Fortran (testsuite/fortran), by gfortran and by flang.

load helper

SOURCES=$TESTSUITE/fortran
BINDING=$TESTSUITE/../bindings/fortran

# flags PATTERN: words of the MPI compiler's command that match.
flags() {
	mpifort -show | tr ' ' '\n' | grep -E -- "$1" | xargs
}

# build NAME COMPILER...: compile the module and all programs in a directory NAME
# of this file; nothing but warnings is said.
build() {
	local name=$1 source dir=$BATS_FILE_TMPDIR/$1

	shift
	mkdir -p "$dir"
	cd "$dir" || return
	"$@" -c "$BINDING/scr.f90" || return
	for source in calls.f90 steps.f growth.f90; do
		# shellcheck disable=SC2046 # several words
		"$@" -I"$BINDING" $(flags '^-I') "$SOURCES/$source" -o "${source%.*}" \
			-L"$MPI/.." -lscrf "-Wl,-rpath,$MPI/.." $(flags '^-[lL]') ||
			return
	done
}

# The newest flang that links a program.
find_flang() {
	local name

	printf 'end\n' >"$BATS_FILE_TMPDIR/empty.f90"
	for name in $(compgen -c flang | grep -xE 'flang(-new)?(-[0-9]+)?' |
		sort -rV); do
		! "$name" -o "$BATS_FILE_TMPDIR/empty" "$BATS_FILE_TMPDIR/empty.f90" \
			>/dev/null 2>&1 || { echo "$name" && return; }
	done
}

setup_file() {
	local flang

	command -v mpifort gfortran >/dev/null && [[ -e $MPI/../libscrf.so ]] || return 0
	if build gfortran gfortran -Wall >"$BATS_FILE_TMPDIR/gfortran.log" 2>&1; then
		echo gfortran >"$BATS_FILE_TMPDIR/compilers"
	else
		sed 's/^/# /' "$BATS_FILE_TMPDIR/gfortran.log" >&3
		return 1
	fi
	flang=$(find_flang)
	[[ -n $flang ]] || return 0
	if build flang "$flang" >"$BATS_FILE_TMPDIR/flang.log" 2>&1; then
		echo flang >>"$BATS_FILE_TMPDIR/compilers"
	else
		sed 's/^/# /' "$BATS_FILE_TMPDIR/flang.log" >&3
		return 1
	fi
}

setup() {
	[[ $MPI != *address* ]] || skip "built without sanitizers"
	[[ -e $MPI/../libscrf.so ]] || skip "built without MPI"
	[[ -e $BATS_FILE_TMPDIR/compilers ]] || skip "no mpifort, or no gfortran"
	job_setup
	export SCR_COPY_TYPE=XOR
	use gfortran
}

# use COMPILER: its programs.
use() {
	bin=$BATS_FILE_TMPDIR/$1
}

# flang: go on with its programs, or skip the test.
flang() {
	grep -qx flang "$BATS_FILE_TMPDIR/compilers" || skip "no flang that links programs"
	use flang
}

# calls MAP CALL...: `job` of calls.f90.
calls() {
	job "$1" "$bin/calls" "${@:2}"
}

# gives EXPECTED CALL...: one rank makes these calls, and prints exactly these lines,
# which are separated by ';'.
gives() {
	calls 0 "${@:2}"
	assert_status 0
	assert_output_is "$(tr ';' '\n' <<<"$1")"
}

# --- A job that fails ---

# fixed_form: run, kill, restart on a spare node.
fixed_form() {
	line "none;complete 1 0;complete 2 0" works "0 1 2" "$bin/steps" 2
	dies "0 1 2" "$bin/steps" 3 4
	assert_line "restart ckpt.2"
	assert_line "complete 3 0"
	lose 1
	line "restart ckpt.3;complete 4 0" works "0 3 2" "$bin/steps" 1
	# The name has a blank, none behind it, and is not cut off.
	[[ -e "$NODES/3/tester/scr.j1/scr.dataset.4/rank 1" ]] ||
		failed "$(find "$NODES/3")"
	flip "$NODES/0/tester/scr.j1/scr.dataset.4/rank 0" 100
	lose 3
	line "restart ckpt.3" works "0 3 2" "$bin/steps" 0
}

@test "fixed form, INCLUDE: a job is killed, loses a node, and restarts" {
	fixed_form
}

@test "the same by flang" {
	flang
	fixed_form
}

@test "from C to Fortran and back: one dataset, one name" {
	works "0 1" app_ckpt steps=1 name=mixed
	calls "0 1" init have_restart start_restart route_file=mixed/rank_0.0 \
		complete_restart finalize
	assert_line "have_restart -> 0 1 <mixed>"
	assert_line "start_restart -> 0 <mixed>"
	assert_line "complete_restart -> 0"
	calls "0 1" init checkpoint=next complete_output finalize
	assert_status 0
	line "have_restart -> 0 1 next" works "0 1" app_calls init have_restart
}

# --- Each routine ---

# each_routine: with results as in C.
each_routine() {
	calls "0 1" config=SCR_PREFIX_SIZE=3 config=SCR_DEBUG= init get_version \
		have_restart need_checkpoint should_exit \
		start_checkpoint complete_checkpoint start_output=a/b \
		complete_output checkpoint=c complete_output=0 \
		config=SCR_PREFIX_SIZE finalize
	assert_status 0
	assert_output_is "config=SCR_PREFIX_SIZE=3 -> 0 <>
config=SCR_DEBUG= -> 0 <>
init -> 0
get_version -> 0 <v3.1.0>
have_restart -> 0 0
need_checkpoint -> 0 0
should_exit -> 0 0
start_checkpoint -> 0
complete_checkpoint -> 0
start_output=a/b -> 0
complete_output -> 0
checkpoint=c -> 0
complete_output=0 -> 1
config=SCR_PREFIX_SIZE -> 0 <3>
finalize -> 0"
	calls "0 1" init have_restart start_restart complete_restart current=nowhere \
		drop=nowhere delete=scr.dataset.1 delete=nowhere finalize
	assert_status 0
	assert_output_is "init -> 0
have_restart -> 0 1 <scr.dataset.1>
start_restart -> 0 <scr.dataset.1>
complete_restart -> 0
current=nowhere -> $1
drop=nowhere -> $2
delete=scr.dataset.1 -> 0
delete=nowhere -> $3
finalize -> 0"
}

# in_c CALL: what C returns.
in_c() {
	works 0 app_calls init "$1"
	echo "${output##* }"
}

@test "the module: every routine, with the results of C" {
	each_routine "$(in_c current=nowhere)" "$(in_c drop=nowhere)" \
		"$(in_c delete=nowhere)"
}

@test "the module by flang" {
	flang
	each_routine "$(in_c current=nowhere)" "$(in_c drop=nowhere)" \
		"$(in_c delete=nowhere)"
}

@test "two ranks restart from a checkpoint of three" {
	SCR_FLUSH=1 works "0 1 2" app_anyranks write=1
	lose 0 1 2
	SCR_RESTART_ANY_RANKS=1 calls "0 1" init have_restart start_restart restart_ranks \
		restart_files=5 route_file=ckpt.1/d/rank_2.2 complete_restart=1 finalize
	assert_status 0
	assert_line "restart_ranks -> 0 3"
	[[ $output == *"restart_files=5 -> 0 2 <$PREFIX/ckpt.1/d/rank_2."* ]]
	assert_line "route_file=ckpt.1/d/rank_2.2 -> 0 <$PREFIX/ckpt.1/d/rank_2.2>"
	assert_line "complete_restart=1 -> 0"
}

@test "the files of a restart, if libscr can tell; else a failure" {
	works "0 1" app_ckpt steps=1
	calls "0 1" init have_restart start_restart restart_ranks restart_files=0 \
		restart_files=9 complete_restart finalize
	assert_status 0
	assert_line "complete_restart -> 0"
	if nm -D --defined-only "$MPI/../libscr.so" | grep -qw SCR_Restart_files; then
		assert_line "restart_ranks -> 0 2"
		[[ $output == *"restart_files=0 -> 0 0 <"*/rank_0.0">"* ]] ||
			failed "file 0"
	else
		assert_line "restart_ranks -> 1"
		assert_line "restart_files=0 -> 1 <>"
	fi
	[[ $output == *"restart_files=9 -> 1"* ]] || failed "no tenth file"
}

@test "SCR_ENABLE=0, and a failed init: the same results as in C" {
	export SCR_ENABLE=0
	gives "init -> 1;have_restart -> 1 0;start_output=a -> 1;route_file=b -> 0 <b>;\
complete_output -> 1;finalize -> 1" \
		init have_restart start_output=a route_file=b complete_output finalize
	unset SCR_ENABLE
	SCR_CNTL_BASE=/dev/null/x SCR_CACHE_BASE=/dev/null/x calls 0 init finalize
	assert_output_is "init -> 1"$'\n'"finalize -> 1"
}

# --- Texts ---

texts() {
	local n=1024 name

	# All but one character of SCR_MAX_FILENAME, and all.
	printf -v name '%01023d' 0
	gives "route_file=a b -> 0 <a b>;route_file=a b -> 0 <a b>;\
route_file=a b -> 0 <a b>;route_file= -> 1 <>;route_file=$name -> 0 <$name>;\
route_file=$name -> 0 <$name>" \
		"route_file=a b" pad=1 "route_file=a b" room=3 "route_file=a b" \
		route_file= pad=2000 room=$n "route_file=$name" \
		room=$((n - 1)) "route_file=$name"
	gives "route_file= -> 1 <>;route_file=ab -> 1 <>;route_file=ab -> 1;\
get_version -> 1 <>;get_version -> 0 <v3.1.0>;route_file=$name -> 1 <>;\
route_file=${name}0 -> 1 <>" \
		pad=5 route_file= pad=0 room=1 route_file=ab room=0 route_file=ab \
		room=5 get_version room=6 get_version \
		room=$((n - 2)) "route_file=$name" room=$n "route_file=${name}0"
	[[ $(grep -c "ERROR: rank 0 on node0: scr_" <<<"$stderr") -eq 5 ]] ||
		failed "five messages"
	grep -q "scr_get_version: the result has 6 .* room for 5$" <<<"$stderr" ||
		failed "numbers"
	gives "config=SCR_PREFIX_SIZE=77 -> 0 <>;config=SCR_PREFIX_SIZE -> 0 <77>;\
config=SCR_PREFIX_SIZE -> 1 <>;config=SCR_PREFIX_SIZE= -> 0 <>;config=SCR_NONE -> 1 <>;\
config= -> 1 <>;config= CKPT = 1 TYPE = RS -> 0 <>;config=CKPT=1 TYPE -> 0 <RS>;\
config=CKPT=2 TYPE -> 1 <>;config=CKPT=1 SET_SIZE -> 1 <>" \
		pad=3 config=SCR_PREFIX_SIZE=77 room=2 config=SCR_PREFIX_SIZE room=1 \
		config=SCR_PREFIX_SIZE config=SCR_PREFIX_SIZE= room=80 config=SCR_NONE config= \
		"config= CKPT = 1 TYPE = RS" "config=CKPT=1 TYPE" \
		"config=CKPT=2 TYPE" "config=CKPT=1 SET_SIZE"
}

@test "names: blanks, empty, full, too long; variables that are just long enough" {
	texts
}

@test "names by flang" {
	flang
	texts
}

# A name of a dataset that is too long fails on all ranks, and nothing hangs.
@test "datasets: a name of 1023 characters, one of 1024, blanks" {
	local name

	printf -v name '%01023d' 0
	calls "0 1" init "checkpoint=$name" complete_output finalize
	assert_status 0
	calls "0 1" init have_restart room=1022 have_restart start_restart room=1023 \
		complete_restart=0 "checkpoint=${name}0" complete_output "delete=${name}0" \
		"drop=${name}0" "current=${name}0" checkpoint= complete_output pad=9 \
		checkpoint= complete_output "checkpoint=a  b" complete_output finalize
	assert_status 0
	assert_output_is "init -> 0
have_restart -> 0 1 <$name>
have_restart -> 1 1 <>
start_restart -> 1 <>
complete_restart=0 -> 1
checkpoint=${name}0 -> 1
complete_output -> 1
delete=${name}0 -> 1
drop=${name}0 -> 1
current=${name}0 -> 1
checkpoint= -> 0
complete_output -> 0
checkpoint= -> 0
complete_output -> 0
checkpoint=a  b -> 0
complete_output -> 0
finalize -> 0"
	warned "rank 0 on node0: scr_have_restart: the result has 1023 .*for 1022"
	calls "0 1" init room=4 have_restart finalize
	assert_line "have_restart -> 0 1 <a  b>"
}

@test "have_restart leaves the name alone if there is no checkpoint" {
	# Else blanks would be printed.
	gives "init -> 0;have_restart -> 0 0;finalize -> 0" init have_restart finalize
}

@test "lengths that are int, with dirt above; symbols with and without underscore" {
	ends 0 mpicc -Wall -Wextra -Werror "$SOURCES/lengths.c" -o lengths -L"$MPI/.." \
		-lscrf "-Wl,-rpath,$MPI/.."
	job 0 "$PWD/lengths"
	assert_status 0
	assert_output_is "scr_route_file_ -> 0 <a/b c   >
scr_route_file -> 0 <a/b c   >
scr_route_file_ -> 1 <        >
scr_config_ -> 0 <        >
scr_config_ -> 0 <7       >
scr_get_version -> 0 <v3.1.0  >"
}

# --- Misuse ---

# text COMMAND...: of a job that is aborted, the line that says why, without places.
text() {
	job "0" "$@"
	assert_status 255
	sed -n 's/^SCR v3\.1\.0 ABORT: rank [-0-9]* on [^:]*: \(.*\) @ .*/\1/p' \
		<<<"$stderr"
}

@test "misuse ends the job with the same text as in C" {
	local calls in_c in_fortran count=0

	while read -r calls; do
		echo "$calls"
		# shellcheck disable=SC2086 # words
		in_c=$(text app_calls $calls)
		# shellcheck disable=SC2086 # words
		in_fortran=$(text "$bin/calls" $calls)
		[[ -n $in_c && $in_fortran == "$in_c" ]] ||
			failed "in C: $in_c" "in Fortran: $in_fortran"
		count=$((count + 1))
	done <<-'END'
		finalize
		init complete_restart
		init start_output=a start_output=b
		init config=SCR_DEBUG=1
		config=?
	END
	((count == 5))
}

@test "the module finds wrong calls" {
	cat >wrong.f90 <<-'END'
		program wrong
		use scr
		integer :: ierror
		integer(8) :: long
		call scr_init(ARGUMENT)
		end program wrong
	END
	cp "$bin/scr.mod" .
	# The first one is right.
	ends 0 gfortran -cpp -DARGUMENT=ierror -c wrong.f90
	ends 1 gfortran -cpp -DARGUMENT= -c wrong.f90
	ends 1 gfortran -cpp -DARGUMENT=long -c wrong.f90
}

@test "scrf.h and the module have the constants of scr.h" {
	local name value count=0

	while read -r _ name value; do
		grep -qx " *PARAMETER ($name=$value)" "$BINDING/scrf.h" ||
			failed "scrf.h: $name"
		grep -qx " *integer(c_int), parameter :: $name = $value" \
			"$BINDING/scr.f90" || failed "scr.f90: $name"
		count=$((count + 1))
	done < <(grep -E '^#define SCR_[A-Z_]+ [0-9]+$' "$TESTSUITE/../lib/scr/scr.h")
	((count == 5))
	# Each routine has an interface, and each interface is one of libscrf.
	diff <(sed -n 's/^ *subroutine \(.*\)(.*/\1/p' "$BINDING/scr.f90" | sort) \
		<(nm -D --defined-only "$MPI/../libscrf.so" |
			sed -n 's/.* T \(scr_.*\)_$/\1/p' | sort)
	while read -r name; do
		[[ $name != configf ]] || continue
		grep -q "subroutine scr_$name(" "$BINDING/scr.f90" ||
			failed "scr.f90: no scr_$name"
		grep -q "^call scr_$name(" "$TESTSUITE/../man/scrf.3" ||
			failed "scrf(3): no scr_$name"
	done < <(sed -nE 's/^[a-z].*[ *]SCR_([A-Za-z_]+)\(.*/\L\1/p' \
		"$TESTSUITE/../lib/scr/scr.h")
}

# --- Memory ---

# With SLOW=1 a thousand.
@test "free form, INCLUDE: checkpoints and texts do not let memory grow" {
	local steps=${SCRKIT_SLOW:+1000} first last

	: "${steps:=200}"
	JOB_LIMIT=600 works "0 1" "$bin/growth" "$steps" 50
	assert_line "failures 0"
	first=$(awk '$1 == "usage" && $2 == 50 { print $3 }' <<<"$output")
	last=$(awk -v n="$steps" '$1 == "usage" && $2 == n { print $3 }' <<<"$output")
	echo "KiB: $first, then $last"
	((first > 0 && last > 0 && last - first < 256)) ||
		failed "KiB: $first, then $last"
}
