#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# All checks of the source that do not run it:
#     scripts/lint.sh build/plain [CHECK...]
# Without names all checks run (the functions check_* below).  Each check prints
# its findings; the exit status is 1 if there are any.
# shellcheck disable=SC2317 # the checks are called by name
set -u
cd "$(dirname "$0")/.." || exit 1
tree=${1:?usage: lint.sh TREE [CHECK...]}
shift

if git rev-parse --git-dir >/dev/null 2>&1; then
	mapfile -t all < <(git ls-files -co --exclude-standard | sort -u)
else
	mapfile -t all < <(find . -path ./build -prune -o -path ./.git -prune \
		-o -type f -print | sed 's|^\./||' | sort)
fi

# files PATTERN...: project files that match a shell pattern ('*' matches '/',
# too).
files() {
	local file pattern

	for file in "${all[@]}"; do
		[ -f "$file" ] || continue
		# That header is Fortran: a text, and no C.
		[ "$*" = '*' ] || [ "$file" != bindings/fortran/scrf.h ] || continue
		for pattern; do
			# shellcheck disable=SC2053 # patterns, not strings
			[[ $file == $pattern ]] && echo "$file" && break
		done
	done
}

# FILES | each COMMAND...: run COMMAND for each file, in parallel.  Fails if one
# of them fails.
each() {
	xargs -d '\n' -r -n 1 -P "$(nproc)" "$@"
}

# The compiler flags of the Makefile.
flags=(-std=c11 -D_GNU_SOURCE -iquote lib -iquote testsuite
	-iquote testsuite/lib "-DSCRKIT_VERSION=\"lint\"" -pthread -Wall
	-Wextra -Wshadow -Wvla
	-Wmissing-prototypes -Wwrite-strings)
# MPI's, for lib/scr, lib/team and their tests; empty if there is none.
read -ra mpi < <(pkg-config --cflags mpich 2>/dev/null ||
	pkg-config --cflags ompi-c 2>/dev/null || echo)

# compiled PATTERN...: the files to compile that match: without MPI those of
# libscr are left out.
compiled() {
	local skip='^(lib/scr|lib/team|bindings|testsuite/(mpi|fortran))/|/t_levels\.c$'

	[ "${#mpi[@]}" -eq 0 ] || skip='^$'
	files "$@" | grep -vE "$skip"
}

# --- Compilers and analysers ---------------------------------------------------

# Each version formats some lines in its own way: only that of Debian 12 is asked.
check_format() {
	clang-format --version | grep -q 'version 14\.' ||
		{ echo "clang-format is not that of 14: not asked" && return; }
	files '*.c' '*.h' | xargs -d '\n' -r clang-format --dry-run -Werror
}

check_gcc_warnings() {
	compiled '*.c' | each gcc "${flags[@]}" "${mpi[@]}" -I lib/scr \
		-O2 -Werror -c -o /dev/null
}

check_clang_warnings() {
	compiled '*.c' | each clang "${flags[@]}" "${mpi[@]}" -I lib/scr \
		-Werror -fsyntax-only
}

# Each header compiles without other headers before it.
check_headers_alone() {
	compiled '*.h' | each gcc "${flags[@]}" "${mpi[@]}" -Werror \
		-Wno-unused-function -fsyntax-only -x c
}

check_clang_analyzer() {
	compiled 'lib/*.c' 'cmd/*.c' 'testsuite/gen/*.c' | each clang \
		"${flags[@]}" "${mpi[@]}" --analyze -Xclang -analyzer-output=text \
		-Xanalyzer -analyzer-werror -o /dev/null
}

# (readdir is safe if no two threads share a stream.)
check_cppcheck() {
	files 'lib/*.c' 'cmd/*.c' | xargs -d '\n' -r cppcheck -q \
		-j "$(nproc)" --std=c11 --library=posix --inline-suppr \
		--enable=warning,performance,portability --error-exitcode=1 \
		--suppress=missingIncludeSystem --suppress=readdirCalled \
		-D_GNU_SOURCE -D__linux__ -DSCRKIT_VERSION='""' -I lib
}

check_shell() {
	files '*.sh' '.ci/run' 'share/completions/scrkit.bash' |
		xargs -d '\n' -r shellcheck -x || return
	# bats sets some variables, and runs each test in a subshell.
	files '*.bats' |
		xargs -d '\n' -r shellcheck -x -e SC2154,SC2030,SC2031
}

# scr.py and the examples, which others read and run.
check_python() {
	files 'bindings/*.py' 'examples/*.py' |
		xargs -d '\n' -r /usr/bin/python3 -m pyflakes
}

# Does scrkit-json(5) say what the schema says?
check_json_page() {
	scripts/json_page.py --check
}

check_man_pages() {
	files 'man/*.[1357]' | xargs -d '\n' -r mandoc -Tlint -Wwarning
}

# Do the pages read the same in mandoc and in groff?
check_man_rendering() {
	files 'man/*.[1357]' | xargs -d '\n' -r scripts/man_render.py
}

# --- Structure of the source -------------------------------------------------

# The rooms of lib and the floor of each.  Rooms on the same floor do not
# include each other.
declare -A floors=([lib]=0 [lib/kvtree]=1 [lib/meta]=2 [lib/encode]=2
	[lib/transfer]=3 [lib/remote]=3 [lib/container]=4 [lib/site]=4
	[lib/fti]=4 [lib/scheme]=4 [lib/store]=4 [lib/team]=5 [lib/preload]=5 [lib/rescue]=5 [lib/ftijob]=5
	[lib/catalogue]=6 [lib/archive]=7 [lib/find]=7
	[lib/scavenge]=7 [lib/scr]=7 [lib/report]=8 [lib/run]=8)

# A file includes only headers of its own room and of rooms below it.  Only
# commands include lib/report.
check_layers() {
	local bad=0 file room floor header other

	for file in $(files 'lib/*.[ch]'); do
		room=${file%/*}
		floor=${floors[$room]-}
		[ -n "$floor" ] || { echo "$file: no floor for $room" && bad=1; }
		while IFS= read -r header; do
			other=lib/$header
			other=${other%/*}
			[ "$other" != "$room" ] || continue
			[ -n "${floors[$other]-}" ] &&
				[ "${floors[$other]}" -lt "${floor:-0}" ] && continue
			echo "$file: includes $header, which is not below it"
			bad=1
		done < <(sed -n 's/^#include "\(.*\)"/\1/p' "$file")
	done
	return "$bad"
}

# A module's private header is included only by the module: X_impl.h by X.c and
# X_*.c, or by the whole room if it has the room's name.
check_private_headers() {
	local bad=0 file header room module

	for file in $(files 'lib/*.[ch]' 'cmd/*.[ch]' 'testsuite/*.[ch]'); do
		while IFS= read -r header; do
			room=lib/$header
			room=${room%/*}
			module=${header##*/}
			module=${module%_impl.h}
			[ "${file%/*}" = "$room" ] &&
				{ [ "${room##*/}" = "$module" ] ||
					[[ ${file##*/} =~ ^${module}[_.] ]]; } &&
				continue
			[[ $file == testsuite/* ]] && continue
			echo "$file: includes the private $header"
			bad=1
		done < <(sed -n 's/^#include "\(.*_impl\.h\)"/\1/p' "$file")
	done
	return "$bad"
}

# Module names are unique.
check_module_names() {
	local twice

	twice=$(files 'lib/*.c' | sed 's|.*/||' | sort | uniq -d)
	[ -z "$twice" ] || { echo "two files of one name: $twice" && return 1; }
}

# foreign PATTERN FILE-PATTERN: only matching files may include matching
# headers.
foreign() {
	local file

	for file in $(files 'lib/*.[ch]' 'cmd/*.[ch]'); do
		[[ $file =~ ^($2)$ ]] && continue
		grep -HnE "#include <($1)" "$file" && return 1
	done
	return 0
}

check_foreign_headers() {
	local bad=0

	foreign jansson 'lib/json\.c' || bad=1
	foreign openssl/ 'lib/hash\.c' || bad=1
	foreign 'ini\.h' 'lib/inifile\.c' || bad=1
	foreign zlib 'lib/crc\.c' || bad=1
	foreign 'isa-l|isal' 'lib/crc\.c|lib/encode/[a-z_]*\.c' || bad=1
	foreign archive 'lib/archive/ark_(read|write)\.c' || bad=1
	foreign sqlite3 'lib/site/logdb\.c' || bad=1
	foreign hwloc 'lib/(team/cores|store/numa)\.[ch]' || bad=1
	return "$bad"
}

# The prefixes of symbols that a module may export: its own name (foo_* for
# foo.c and foo_bar.c), the room's name, and the names of the structs and enums
# in its headers.
allowed_prefixes() {
	local dir=${1%/*} name header stem

	name=$(basename "$1" .c)
	stem=${name%%_*}
	echo "$name"
	echo "$stem"
	[ "$dir" = lib ] || basename "$dir"
	for header in "$dir/$stem".h "$dir/$stem"_*.h; do
		[ -e "$header" ] || continue
		sed -nE 's/^(struct|enum) ([a-z0-9_]+)( \{|; \/\* opaque).*/\2/p' "$header"
	done
	# nodes.scr is too small for a module of its own.
	[ "$1" != lib/meta/cindex.c ] || echo nodes
	[ "$1" != lib/scr/api.c ] || echo SCR
	[ "$1" != lib/scr/setting.c ] || echo settings
	# The functions of both rooms of FTI begin with fti_.
	[ "$dir" != lib/ftijob ] || echo fti
}

check_symbols() {
	local bad=0 source object prefixes name

	for source in $(files 'lib/*.c'); do
		# Functions of libc and of MPI, which they replace.
		case $source in
		lib/preload/preload*.c | lib/preload/mpi.c) continue ;;
		esac
		object=$tree/${source%.c}.o
		[ -e "$object" ] || { echo "$object: not built" && bad=1; }
		prefixes=$(allowed_prefixes "$source" | sort -u | paste -sd '|')
		for name in $(nm -g --defined-only "$object" | awk '{print $3}'); do
			[[ $name =~ ^($prefixes)(_.*)?$ ]] && continue
			echo "$source: exports $name"
			bad=1
		done
	done
	return "$bad"
}

# State of the process is allowed only in mem (the switch for tests), in app, where
# an application calls libscr, and in fast: functions of io know no run of libscr.
# A pthread_once_t named `once` is allowed everywhere.
check_static_state() {
	local bad=0 source

	for source in $(files 'lib/*.c'); do
		case $source in
		lib/mem.c | lib/fast.c | lib/app.c | lib/app_answer.c | lib/scr/api.c | lib/team/say.c) continue ;;
		# A process has one table of descriptors, and one libc.
		lib/store/enter.c | lib/store/taken.c | lib/preload/*.c) continue ;;
		esac
		objdump -t "$tree/${source%.c}.o" 2>/dev/null |
			awk -v source="$source" '
			$0 ~ / \.(data|bss|tbss|tdata)\t/ && $NF !~ /^(\.|once)/ {
				print source ": mutable static " $NF; bad = 1
			}
			END { exit bad }' || bad=1
	done
	return "$bad"
}

# C sources as "FILE: CODE", without comments.
code_with_strings() {
	local file

	for file; do
		gcc -fpreprocessed -dD -E -P -w -x c - <"$file" 2>/dev/null |
			sed "s|^|$file: |"
	done
}

# The same with strings emptied.
code_of() {
	code_with_strings "$@" | sed -E 's/"([^"\\]|\\.)*"/""/g'
}

# calls PATTERN FILE...: report calls of matching functions.
calls() {
	local pattern=$1

	shift
	! code_of "$@" | grep -E "[^a-zA-Z0-9_>.]($pattern) ?\("
}

check_forbidden_calls() {
	local bad=0 lib

	mapfile -t lib < <(files 'lib/*.c' 'lib/*.h' 'cmd/*.c')
	calls 'atoi|atol|atoll|atof|v?sprintf|strcpy|strcat|strncat|gets|alloca|strtok|system|popen|tmpnam|mktemp|rand|srand' \
		"${lib[@]}" || bad=1
	# Only mem allocates and frees memory (json also frees jansson's).
	mapfile -t lib < <(files 'lib/*.c' 'cmd/*.c' |
		grep -vE '^lib/(mem|json)\.c$')
	calls 'malloc|calloc|realloc|reallocarray|free|strdup|strndup|v?asprintf|aligned_alloc|posix_memalign' \
		"${lib[@]}" || bad=1
	# The library neither prints nor exits, except app, progress, libscr and
	# the preloaded library on behalf of the application, and a child that
	# cannot execute its command.
	mapfile -t lib < <(files 'lib/*.c' |
		grep -vE '^lib/(app|progress|team/say|scr/api|run/child|preload/mpi)\.c$')
	calls 'v?printf|puts|putchar|perror|exit|_exit|abort|quick_exit|err|errx|warn|warnx' \
		"${lib[@]}" || bad=1
	! code_of "${lib[@]}" | grep -wE 'stderr' || bad=1
	return "$bad"
}

# No string of the library names a command: what is to be run is known to the
# commands, and to report, which writes for people.
check_command_names() {
	local lib names

	names=$(files 'cmd/scr_*.c' | sed -E 's|.*/(.*)\.c$|\1|' | paste -sd '|')
	# lib/run is that of one command.
	mapfile -t lib < <(files 'lib/*.c' 'lib/*.h' |
		grep -Ev '^lib/(report|run)/')
	# Names of files on disk are part of a format.
	! code_with_strings "${lib[@]}" | grep -v '#define FTI_OURS "' |
		grep -E "\"([^\"\\]|\\.)*\b($names)\b"
}

# Functions have at most 100 lines, files 600.
check_sizes() {
	local bad=0 sources

	mapfile -t sources < <(files '*.c' '*.h')
	awk '
	FNR == 1 { start = 0 }
	/^[a-zA-Z_].*\(/ { name = $0; sub(/\(.*/, "", name) }
	/^\{/ { start = FNR }
	/^\}/ && start { if (FNR - start - 1 > 100) {
		print FILENAME ":" start ": " name "() has " \
			FNR - start - 1 " lines"; bad = 1 }
		start = 0 }
	{ lines[FILENAME] = FNR }
	END { for (f in lines) if (lines[f] > 600) {
		print f ": " lines[f] " lines"; bad = 1 }
		exit bad }' "${sources[@]}" </dev/null || bad=1
	return "$bad"
}

# A function has at most six parameters.
check_parameters() {
	local sources

	mapfile -t sources < <(files 'lib/*.c' 'cmd/*.c')
	awk '
	/^[a-z_][a-z0-9_]*\(/ { name = $0; sub(/\(.*/, "", name); text = "" }
	FNR == 1 { name = "" }
	name != "" && /^\{/ {
		gsub(/\([^()]*\)\(/, "(", text)
		sub(/^[^(]*\(/, "", text)
		while (gsub(/\([^()]*\)/, "", text))
			;
		n = gsub(/,/, "", text) + 1
		if (n > 6) {
			print FILENAME ":" FNR ": " name "() has " n \
				" parameters: give it a struct"
			bad = 1
		}
		name = ""
	}
	name != "" { text = text $0 }
	END { exit bad }' "${sources[@]}" </dev/null
}

# The files in cmd that have a main().
commands() {
	files 'cmd/*.c' | xargs -d '\n' -r grep -l '^main(' |
		sed 's|cmd/\(.*\)\.c|\1|'
}

# --- User documentation ------------------------------------------------------

check_options() {
	local names

	mapfile -t names < <(commands)
	[ "${#names[@]}" -gt 0 ] || return 0
	scripts/check-options.sh man "${names[@]/#/$tree/bin/}"
}

# Each function of scr.h, and each symbol that libscr exports, has a page which
# declares it, and each page SCR_* is of such a function.
check_function_pages() {
	local bad=0 name names page

	names=$(sed -nE 's/^[a-z].*[ *](SCR_[A-Za-z_]+)\(.*/\1/p' lib/scr/scr.h)
	[ -n "$names" ] || { echo "lib/scr/scr.h: no functions" && bad=1; }
	[ ! -e "$tree/libscr.so" ] || names+=$'\n'$(nm -D --defined-only \
		"$tree/libscr.so" | awk '{ print $3 }')
	while IFS= read -r name; do
		grep -qsE "^\.Fn $name( |\$)" "man/$name.3" ||
			{ echo "man/$name.3: does not declare $name" && bad=1; }
		grep -qE "(^\.(Xr|Fn)|[ ,]) ?$name\b" man/scr.3 ||
			{ echo "man/scr.3: no word of $name" && bad=1; }
	done < <(sort -u <<<"$names")
	for page in $(files 'man/SCR_*.3'); do
		name=${page##*/}
		grep -qx "${name%.3}" <<<"$names" ||
			{ echo "$page: no such function" && bad=1; }
	done
	return "$bad"
}

# Each parameter in the table of lib/conf_params.c is in scrkit.conf(5), and the
# other way round.
check_parameter_pages() {
	local table page

	table=$(sed -nE 's/^\t[A-Z]+\((CONF_WORD, )?"(SCR_[A-Z_]+)".*/\2/p' \
		lib/conf_params.c | sort -u)
	page=$(sed -nE '/^\.It (Va|Ev) /p' man/scrkit.conf.5 |
		grep -oE 'SCR_[A-Z_]+' | sort -u)
	[ -n "$table" ] && diff <(echo "$table") <(echo "$page") || return 1
	# Those before the section of what has no effect are read somewhere.
	page=$(sed -nE '/^\.Ss Accepted/q; /^\.It (Va|Ev) /p' \
		man/scrkit.conf.5 | grep -oE 'SCR_[A-Z_]+' | sort -u)
	files 'lib/*.c' 'lib/*.h' 'cmd/*.c' | grep -v '^lib/conf_params\.c$' |
		xargs cat | grep -oE '"SCR_[A-Z_]+"' | tr -d '"' | sort -u |
		comm -13 - <(echo "$page") | sed 's/$/: nothing reads it/' |
		grep . && return 1
	return 0
}

# --- Text ----------------------------------------------------------------------------

# Text files written by people.  Test data have their own rules.
texts() {
	files '*' | grep -vE '^(testsuite/data/|LICENSE$)|[.]png$'
}

check_text() {
	local bad=0 file

	for file in $(texts); do
		grep -HnP '[ \t]+$|\r$| \t' "$file" && bad=1
		[ ! -s "$file" ] || [ -z "$(tail -c 1 "$file")" ] ||
			{ echo "$file: no newline at the end" && bad=1; }
	done
	return "$bad"
}

# 80 columns in C, except for strings, which are never split.
check_columns() {
	# shellcheck disable=SC2016 # awk's
	files '*.c' '*.h' | xargs awk '
		{
			columns = 0
			rest = $0
			while ((tab = index(rest, "\t")) > 0) {
				columns += tab - 1
				columns += 8 - columns % 8
				rest = substr(rest, tab + 1)
			}
			columns += length(rest)
		}
		columns > 80 && !/"/ {
			print FILENAME ":" FNR ": " columns " columns"
			bad = 1
		}
		END { exit bad }'
}

check_licence_lines() {
	local without

	without=$(files '*.c' '*.h' '*.sh' '*.bats' '.ci/run' Makefile \
		'man/*' 'bindings/*.py' 'examples/*.py' | grep -v '^testsuite/data/' |
		xargs awk '
			FNR <= 2 && /SPDX-License-Identifier: BSD-3-Clause/ { has[FILENAME] = 1 }
			END {
				for (i = 1; i < ARGC; i++)
					if (!(ARGV[i] in has))
						print ARGV[i] ": no licence line at the top"
			}')
	[[ -z $without ]] || { echo "$without" && return 1; }
}

# No unfinished work and no paths of the author's machine.
# What does not check allocations (lib/mem.h) is no part of libscr, and does not
# begin to check them again (but for what libarchive itself allocates).
check_memory() {
	local bad=0 rooms='lib/(archive|find|fti|ftijob|report|run|scavenge)/|cmd/'
	local unchecked

	rooms+='|lib/container/(pack|pack_o.*|unpack|repack|extract)\.c'

	mapfile -t unchecked < <(files 'lib/*.c' 'cmd/*.c' | grep -E "^($rooms)")
	grep -HnE 'error_no_memory|mem_fail_after' "${unchecked[@]}" |
		grep -v '^lib/archive/ark_' && bad=1
	[ -e "$tree/libscr.a" ] || return "$bad"
	comm -12 <(nm "$tree/libscr.a" | awk '$2 ~ /^[Tt]$/ { print $3 }' | sort -u) \
		<(printf '%s\n' "${unchecked[@]}" | grep '^lib/' |
			sed "s|^|$tree/|; s|c\$|o|" | xargs nm -g --defined-only |
			awk '$2 == "T" { print $3 }' | sort -u) | grep . && bad=1
	return "$bad"
}

check_leftovers() {
	local bad=0 parent sources

	mapfile -t sources < <(files 'lib/*' 'cmd/*' 'testsuite/*.[ch]')
	grep -HnwE 'TODO|FIXME|XXX|HACK' "${sources[@]}" && bad=1
	mapfile -t sources < <(texts | grep -v '^scripts/lint.sh$')
	grep -HnE '(^|[^a-zA-Z0-9_./])/(root|home/[a-z]+)/' "${sources[@]}" &&
		bad=1
	# The parent directory, unless its name is a common one.
	parent=$(dirname "$PWD")
	case $parent in
	/ | /tmp | /usr/src | /root | /home) ;;
	*) grep -HnF "$parent/" "${sources[@]}" && bad=1 ;;
	esac
	return "$bad"
}

# --- Main --------------------------------------------------------------------

if [ $# -eq 0 ]; then
	mapfile -t checks < <(sed -nE 's/^check_([a-z_]+)\(\) \{$/\1/p' "$0")
	set -- "${checks[@]}"
fi
status=0
for check; do
	# The analysers take minutes.
	while sleep 15 >/dev/null 2>&1; do
		echo "     ... $check"
	done &
	ticker=$!
	output=$("check_$check" 2>&1)
	rc=$?
	kill "$ticker"
	if [ "$rc" = 0 ]; then
		echo "ok   $check"
	else
		echo "FAIL $check"
		head -n "${LINT_LINES:-60}" <<<"    ${output//$'\n'/$'\n'    }"
		status=1
	fi
done
exit "$status"
