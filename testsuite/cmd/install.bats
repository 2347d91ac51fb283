#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# make install and uninstall: every command, under all of its names, runs where
# it was installed and has its man page and completions.  An application needs
# nothing but what pkg-config says of scr.  uninstall removes all.

load helper

setup_file() {
	root=$(cd "$TESTSUITE/.." && pwd)
	tree=$(cd "$BIN/.." && pwd)
	to=$BATS_FILE_TMPDIR/to
	make_in install
}

setup() {
	root=$(cd "$TESTSUITE/.." && pwd)
	tree=$(cd "$BIN/.." && pwd)
	to=$BATS_TEST_TMPDIR/to
	installed=$BATS_FILE_TMPDIR/to
}

# Keep the flags that the tree was built with.
make_in() {
	make -o all -C "$root" --no-print-directory O="$tree" DESTDIR="$to" \
		PREFIX=/opt/scr "$@"
}

@test "install, use, uninstall" {
	local name at=$to/opt/scr

	cp -a "$installed" "$to"
	for name in "$BIN"/*; do
		name=${name##*/}
		[[ -x $at/bin/$name && -e $at/share/man/man1/$name.1 ]]
		[[ -e $at/share/bash-completion/completions/$name ]]
		[[ -e $at/share/fish/vendor_completions.d/$name.fish ]]
		shows "$name" env PATH="$at/bin:/usr/bin:/bin" "$name" --help
	done
	shows "the preload" "$at/bin/scr_store" check sort
	[[ -e $at/share/zsh/site-functions/_scrkit ]]
	(cd "$root/man" && md5sum -- *) | sed -E 's,  (.*\.(.))$,  man\2/\1,' |
		(cd "$at/share/man" && md5sum --quiet -c)
	# Installing over an installation works, too.
	ends 0 make_in install
	ends 0 make_in uninstall
	[[ -z $(find "$to" ! -type d) ]]
}

# --- libscr ---

# use_libscr: that in $to; or skip if the tree was built without MPI.
use_libscr() {
	[[ -e $tree/libscr.so ]] || skip "built without MPI"
	lib=$to/opt/scr/lib
	# As if the files were where they say they are.
	pc=(pkg-config "--define-variable=prefix=$to/opt/scr" --print-errors)
	export PKG_CONFIG_PATH=$lib/pkgconfig
	export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}

# compiles COMPILER... SOURCE: as an application, with warnings as errors.  The
# program is $BATS_TEST_TMPDIR/program.
compiles() {
	local source=${!#}
	local -a flags libs

	read -ra flags < <("${pc[@]}" --cflags scr)
	read -ra libs < <("${pc[@]}" "${static[@]}" --libs scr)
	calm "${@:1:$#-1}" -Wall -Wextra -Werror -pedantic "${flags[@]}" \
		-o "$BATS_TEST_TMPDIR/program" "$source" "${libs[@]}"
}

# The program, as a job of one rank, says that it counts.
counts() {
	cd "$BATS_TEST_TMPDIR" || return
	export USER=tester SCR_CNTL_BASE=$PWD/c SCR_CACHE_BASE=$PWD/c
	prints "counting from $1" timeout 60 ./program
}

# The names that a library defines for others.
exported() {
	nm "$@" | awk 'NF == 3 { print $3 }' | sort -u
}

@test "libscr: files, modes, links; only the functions of scr.h are exported" {
	local want

	to=$installed
	use_libscr
	try env -C "$to/opt/scr" find include lib -printf '%p %y%m>%l\n'
	# That of a Fortran compiler, if there is one.
	output=$(grep -vx 'include/scr.mod f644>' <<<"$output" | sort)
	assert_output_is "include d755>
include/scr.f90 f644>
include/scr.h f644>
include/scrf.h f644>
lib d755>
lib/cmake d755>
lib/cmake/scr d755>
lib/cmake/scr/scrConfig.cmake f644>
lib/cmake/scr/scrConfigVersion.cmake f644>
lib/libscr.a f644>
lib/libscr.so l777>libscr.so.3
lib/libscr.so.3 l777>libscr.so.3.1.0
lib/libscr.so.3.1.0 f755>
lib/libscr_preload.so f755>
lib/libscrf.a f644>
lib/libscrf.so l777>libscrf.so.3
lib/libscrf.so.3 l777>libscrf.so.3.1.0
lib/libscrf.so.3.1.0 f755>
lib/pkgconfig d755>
lib/pkgconfig/scr.pc f644>
lib/pkgconfig/scrf.pc f644>"
	cmp "$root/lib/scr/scr.h" "$to/opt/scr/include/scr.h"
	[[ $(objdump -p "$lib/libscr.so") == *SONAME*libscr.so.3$'\n'* ]]
	want=$(grep -oE 'SCR_[A-Z][a-z]\w*\(' "$root/lib/scr/scr.h" | tr -d '(' |
		sort -u)
	[[ $(wc -l <<<"$want") -eq 20 ]]
	[[ $(exported -D --defined-only "$lib/libscr.so") == "$want" ]]
	[[ $(exported -g --defined-only "$lib/libscr.a") == "$want" ]]
	# Of libscrf: routines, with an underscore behind them and without.
	want=$(sed -n 's/^ *subroutine \(.*\)(.*/\1\n\1_/p' \
		"$root/bindings/fortran/scr.f90" | sort)
	[[ $(wc -l <<<"$want") -eq 38 ]]
	[[ $(exported -D --defined-only "$lib/libscrf.so") == "$want" ]]
	[[ $(exported -g --defined-only "$lib/libscrf.a") == "$want" ]]
	[[ $(objdump -p "$lib/libscrf.so") == *SONAME*libscrf.so.3$'\n'* ]]
}

@test "libscr: an application in C99 and in C++11" {
	local version

	to=$installed
	use_libscr
	version=$("${pc[@]}" --modversion scr)
	grep -qx "#define SCR_VERSION \"v$version\"" "$root/lib/scr/scr.h"
	compiles cc -std=c99 "$root/examples/minimal.c"
	counts 0
	command -v c++ >/dev/null || skip "no C++ compiler"
	cat >"$BATS_TEST_TMPDIR/version.cc" <<-'END'
	#include <scr.h>
	#include <scr.h>
	#include <cstdio>
	int main() { return std::puts(SCR_Get_version()) < 0; }
	END
	compiles c++ -std=c++11 "$BATS_TEST_TMPDIR/version.cc"
	prints "v$version" "$BATS_TEST_TMPDIR/program"
}

@test "libscr.a: --static; names of the application do not clash" {
	cp -a "$installed" "$to"
	use_libscr
	rm "$lib"/libscr.so*
	# The application has functions that the library has inside, too.
	exported -g --defined-only "$tree/libcore.a" | grep -E '^(buf|io|path)_' |
		sed 's/.*/int &(void);int &(void){return 1;}/' \
			>"$BATS_TEST_TMPDIR/app.c"
	(($(wc -l <"$BATS_TEST_TMPDIR/app.c") > 20))
	cat "$root/examples/minimal.c" >>"$BATS_TEST_TMPDIR/app.c"
	static=(--static)
	compiles cc -std=c99 "$BATS_TEST_TMPDIR/app.c"
	counts 0
	counts 3
}

@test "without MPI: the commands are installed, and libscr left out" {
	ends 0 make_in install MPI_CFLAGS= MPI_LIBS=
	[[ -x $to/opt/scr/bin/scr_postrun ]]
	[[ $(ls "$to/opt/scr/lib") == libscr_preload.so && ! -e $to/opt/scr/include ]]
	# What `make` would do, for it must not be done in the tree under test.
	ends 0 make -n -C "$root" --no-print-directory O="$tree" MPI_CFLAGS= \
		MPI_LIBS= all
	[[ $(grep -c "libscr is left out: no MPI" <<<"$output") -eq 1 ]]
	assert_output_lacks "LD  $tree/libscr.so"
	try make -n -C "$root" --no-print-directory O="$tree" all
	assert_output_lacks "left out"
}

@test "MPI from mpicc, from pkg-config, from settings" {
	local dir=$BATS_TEST_TMPDIR/bin

	mkdir "$dir"
	printf '#!/bin/sh\necho cc -O2 -I/m/inc -L/m/lib -Wl,-rpath -Wl,/m/lib -lmpi\n' \
		>"$dir/mpicc"
	printf 'Name: mpich\nDescription: m\nVersion: 1\nCflags: -I/p/inc\nLibs: -lp\n' \
		>"$dir/mpich.pc"
	chmod +x "$dir/mpicc"
	export PKG_CONFIG_PATH=$dir
	try make_in MPICC="$dir/mpicc" -pn help
	assert_output_has "mpi_cflags := -I/m/inc"$'\n' \
		"mpi_libs := -L/m/lib -Wl,-rpath -Wl,/m/lib -lmpi"$'\n'
	try make_in MPICC=/nonexistent -pn help
	assert_output_has "mpi_cflags := -I/p/inc"$'\n' "mpi_libs := -lp"$'\n'
}

# --- Places and names ---

# everywhere: an installation in directories of its own.
everywhere=(BINDIR=/x/bin MANDIR=/x/man DOCDIR=/x/doc LIBEXECDIR=/x/exec
	SYSCONFDIR=/x/etc LIBDIR=/x/lib INCLUDEDIR=/x/include)

@test "each directory can be chosen; examples, licence and a sample scr.conf" {
	local file conf=$BATS_TEST_TMPDIR/conf

	ends 0 make_in install "${everywhere[@]}"
	[[ -x $to/x/bin/scr_postrun && -e $to/x/man/man1/scr_postrun.1 ]]
	if [[ -e $tree/libscr.so ]]; then
		[[ -e $to/x/lib/libscr.so.3 && -e $to/x/include/scr.h ]]
		try env PKG_CONFIG_PATH="$to/x/lib/pkgconfig" pkg-config --cflags --libs scr
		assert_output_has "-I/x/include" "-L/x/lib -lscr"
	fi
	for file in LICENSE README.md NEWS.md scr.conf examples/slurm.sbatch; do
		[[ -e $to/x/doc/$file ]] || failed "no $file"
	done
	# The sample has valid lines only, with the built-in values.
	sed -n 's/^#\(SCR_[A-Z_]*=\)/\1/p' "$to/x/doc/scr.conf" >"$conf"
	(($(wc -l <"$conf") > 8))
	for file in "$conf" /dev/null; do
		calm env SCRKIT_SYSTEM_CONF=/dev/null SCR_CONF_FILE="$file" \
			"$BIN/scr_env" conf
		run ! grep -vxF -f <(cut -f 1 <<<"$output") "$conf"
	done
	try make_in uninstall "${everywhere[@]}"
	[[ -z $(find "$to" ! -type d) ]]
}

@test "PREFIX=/usr: the configuration is /etc/scr.conf" {
	shows '"/etc/scr.conf"' make -n -C "$root" --no-print-directory O="$tree/none" \
		PREFIX=/usr "$tree/none/lib/conf.o"
	try make -n -C "$root" --no-print-directory O="$tree/none" \
		PREFIX=/opt/scr "$tree/none/lib/conf.o"
	assert_output_has '"/opt/scr/etc/scr.conf"'
}

@test "LLNL's names: scr_print, kvtree_print, scr_rebuild_xor" {
	local at=$installed/opt/scr/bin file=$BATS_TEST_TMPDIR/p/.scr/index.scr

	"$tree/gen/gen_dataset" -q -p "$BATS_TEST_TMPDIR/p" -n 4
	scr_index -q -p "$BATS_TEST_TMPDIR/p" --build 1
	cmp <("$at/scr_print" "$file") <(scr_inspect -m keyval --sort "$file")
	cmp <("$at/kvtree_print" "$file") <(scr_inspect -m tree "$file")
	cmp <("$at/kvtree_print" -m keyval "$file") <(scr_inspect -m keyval "$file")
	try "$at/scr_rebuild_xor"
	assert_usage_error
}

@test "PROGRAM_PREFIX: beside LLNL's commands, with pages and completions" {
	local at=$to/opt/scr name

	ends 0 make_in install PROGRAM_PREFIX=sk-
	shows "the preload" "$at/libexec/scrkit/scr_store" check sort
	[[ -z $(find "$at/bin" "$at/share/man/man1" -name 'scr_*') ]]
	for name in scr_index scr_hostlist scr_print scr_rebuild_rs; do
		[[ -L $at/bin/sk-$name && -e $at/share/man/man1/sk-$name.1 ]]
		[[ -e $at/share/bash-completion/completions/sk-$name ]]
	done
	grep -q "^.Nm sk-scr_postrun" "$at/share/man/man1/sk-scr_postrun.1"
	# The links lead to where it is to be: make that so.
	for name in "$at"/bin/*; do
		ln -sf "$at/libexec/scrkit/$(basename "$(readlink "$name")")" "$name"
	done
	in_no_job
	export SCR_USER_NAME=genuser
	"$tree/gen/gen_dataset" -q -p p -n 2 -m 1 --nodes-dir nodes -t SINGLE \
		--layout cache --recorded-prefix "$PWD/p"
	# scr_copy is found beside scr_postrun, and not another one in PATH.
	ends 0 env PATH="$at/bin:/usr/bin:/bin" sk-scr_postrun -p p -r local \
		-w "$(uname -n)" -J 1000 --cachedir nodes/node0/cache \
		--cntldir nodes/node0/cntl
	[[ $(env PATH="$at/bin:/usr/bin:/bin" sk-scr_hostlist -e 'n[1-3]') == n1* ]]
	# Commands that are named have the same beginning.
	shows "1 of 1 answered" env PATH="$at/bin:/usr/bin:/bin" sk-scr_env doctor \
		-p p --remote local --nodes "$(uname -n)"
	assert_stderr_has "next: sk-scr_postrun -p "
	try make_in uninstall PROGRAM_PREFIX=sk-
	[[ -z $(find "$to" ! -type d) ]]
}

@test "make dist: an archive that builds without git" {
	local archive

	git -C "$root" rev-parse 2>/dev/null || skip "no checkout"
	archive=$(make -s -C "$root" dist | tail -n 1)
	tar -C "$BATS_TEST_TMPDIR" --exclude '*/testsuite/data/*' -xzf "$root/$archive"
	cd "$BATS_TEST_TMPDIR"/scrkit-* || return
	[[ ! -e .git ]]
	ends 0 env GIT_DIR=/none make -n all
	[[ -x scripts/demo.sh && -e testsuite/run.sh && -e LICENSE ]]
}
