#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# An application finds an installed libscr: by pkg-config, by CMake, by hand; in C,
# C++ and Fortran; shared and static; also where the tree was moved to.

load helper

EXAMPLES=$TESTSUITE/../examples

setup_file() {
	[[ -e $MPI/../libscrf.so && $MPI != *address* ]] || return 0
	make -o all -s -C "$TESTSUITE/.." O="$(cd "$MPI/.." && pwd)" \
		PREFIX="$BATS_FILE_TMPDIR/first" install >&2
	# What says where it was is of no use.
	mv "$BATS_FILE_TMPDIR/first" "$BATS_FILE_TMPDIR/moved"
}

setup() {
	[[ $MPI != *address* ]] || skip "built without sanitizers"
	[[ -e $MPI/../libscrf.so ]] || skip "built without MPI"
	job_setup
	at=$BATS_FILE_TMPDIR/moved
	export PKG_CONFIG_PATH=$at/lib/pkgconfig
	cd "$BATS_TEST_TMPDIR" || return
}

needs() {
	local name

	for name; do
		command -v "$name" >/dev/null || skip "no $name"
	done
}

# pc WORD...: pkg-config's words for the moved tree.
pc() {
	pkg-config "--define-variable=prefix=$at" "$@"
}

# counts PROGRAM: minimal.c or minimal.f90, run and run again.
counts() {
	export SCR_JOB_ID=${1##*/}
	cd "$PREFIX" || return
	LD_LIBRARY_PATH=${libs-} line "counting from 0" works "0 1" "$BATS_TEST_TMPDIR/$1"
	LD_LIBRARY_PATH=${libs-} line "counting from 3" works "0 1" "$BATS_TEST_TMPDIR/$1"
	cd "$BATS_TEST_TMPDIR" || return
}

# needed PROGRAM: the libraries of SCR that it loads.
needed() {
	objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }' | grep libscr | xargs
}

@test "pkg-config: only the user's flags" {
	local file word mpi

	for file in scr scrf; do
		for word in $(pc --cflags --libs "$file") $(pc --static --libs "$file"); do
			[[ $word == -[IDLl]* || $word == -pthread ||
				$word == -Wl,-rpath* || $word == -Wl,/* ||
				$word == /*.so* ]] || failed "$file: $word"
		done
		[[ $(pc --modversion "$file") == 3.1.0 ]]
	done
	[[ " $(pc --libs scrf) " == *" -lscrf -lscr "* ]] || failed "order"
	[[ $(pc --cflags scrf) == *-I$at/include* ]] || failed "includes"
	# With flags of a distribution.
	mkdir bin
	cat >bin/mpicc <<-'EOF'
		#!/bin/sh
		echo 'gcc -O2 -g -ffile-prefix-map=/b=. -Wl,-z,relro -flto=auto' \
			'-Wl,-O1 -Wl,--as-needed -specs=/x/hard -I/m/inc -DM -L/m/lib' \
			'-Xlinker -rpath -Xlinker "/m/lib" -Wl,-rpath -Wl,/m/two -lmpi'
	EOF
	chmod +x bin/mpicc
	mpi=$(make -C "$TESTSUITE/.." -pn MPICC="$PWD/bin/mpicc" help 2>/dev/null)
	grep -qxF "mpi_cflags := -I/m/inc -DM" <<<"$mpi" || failed "cflags"
	grep -qxF "mpi_libs := -L/m/lib -Wl,-rpath -Wl,/m/lib -Wl,-rpath -Wl,/m/two -lmpi" \
		<<<"$mpi" || failed "$(grep '^mpi_libs' <<<"$mpi")"
}

@test "pkg-config: C, shared and static" {
	# shellcheck disable=SC2046 # several words
	ends 0 cc "$EXAMPLES/minimal.c" -o shared $(pc --cflags --libs scr)
	[[ $(needed shared) == libscr.so.3 ]] || failed "$(needed shared)"
	libs=$at/lib counts shared
	cp -a "$at" static.only
	at=$PWD/static.only
	rm "$at"/lib/libscr*.so*
	# shellcheck disable=SC2046 # several words
	ends 0 cc "$EXAMPLES/minimal.c" -o static $(pc --static --cflags --libs scr)
	[[ -z $(needed static) ]] || failed "$(needed static)"
	counts static
}

@test "pkg-config and by hand: Fortran, shared and static" {
	needs mpifort gfortran
	# shellcheck disable=SC2046 # several words
	ends 0 mpifort "$EXAMPLES/minimal.f90" -o shared_f $(pc --cflags --libs scrf)
	libs=$at/lib counts shared_f
	# As LLNL's users do: libscr is found beside libscrf.
	ends 0 mpifort -I"$at/include" "$EXAMPLES/minimal.f90" -o by_hand \
		-L"$at/lib" -lscrf "-Wl,-rpath,$at/lib"
	counts by_hand
	cp -a "$at" static.only
	at=$PWD/static.only
	rm "$at"/lib/libscr*.so*
	# shellcheck disable=SC2046 # several words
	ends 0 mpifort "$EXAMPLES/minimal.f90" -o static_f \
		$(pc --static --cflags --libs scrf)
	[[ -z $(needed static_f) ]] || failed "$(needed static_f)"
	counts static_f
}

@test "INCLUDEDIR=/usr/include: pkg-config still says where scrf.h is" {
	ends 0 make -o all -s -C "$TESTSUITE/.." O="$(cd "$MPI/.." && pwd)" \
		PREFIX=/usr DESTDIR="$PWD/root" install
	[[ $(PKG_CONFIG_PATH=$PWD/root/usr/lib/pkgconfig pkg-config --cflags scrf) == \
		*-I/usr/include/.* ]] || failed "no -I"
}

# project LANGUAGE... -- LINE...: CMakeLists.txt of a project in these languages.
project() {
	local -a languages=()

	while [[ $1 != -- ]]; do
		languages+=("$1")
		shift
	done
	shift
	{
		echo "cmake_minimum_required(VERSION 3.14)"
		echo "project(application ${languages[*]})"
		echo "find_package(scr 3.1 REQUIRED)"
		printf '%s\n' "$@"
	} >CMakeLists.txt
	cp "$EXAMPLES/"minimal.* .
}

# cmakes: configure and build it with the moved tree.
cmakes() {
	ends 0 cmake -S . -B build -DCMAKE_PREFIX_PATH="$at" "$@"
	ends 0 cmake --build build --verbose
	[[ $output != *"$BATS_FILE_TMPDIR/first"* ]] || failed "where it was"
}

@test "CMake: C, shared and static" {
	needs cmake
	project C -- 'add_executable(shared minimal.c)' \
		'target_link_libraries(shared scr::scr)' \
		'add_executable(static minimal.c)' \
		'target_link_libraries(static scr::scr-static)'
	cmakes
	[[ $(needed build/shared) == libscr.so.3 ]] || failed "$(needed build/shared)"
	[[ -z $(needed build/static) ]] || failed "$(needed build/static)"
	counts build/shared
	counts build/static
}

@test "CMake: C++ alone, and beside C; variables" {
	needs cmake c++
	cat >use.cc <<-'END'
		#include <mpi.h>
		#include <scr.h>
		int main(int argc, char **argv)
		{
			MPI_Init(&argc, &argv);
			bool good = SCR_Init() == SCR_SUCCESS &&
				    SCR_Finalize() == SCR_SUCCESS;
			MPI_Finalize();
			return good ? 0 : 1;
		}
	END
	project CXX -- 'add_executable(use use.cc)' \
		"target_link_libraries(use \${scr_LIBRARIES})" \
		"message(STATUS \"found \${scr_VERSION} \${scr_INCLUDE_DIRS}\")"
	cmakes
	works "0 1" "$PWD/build/use"
	ends 0 cmake -S . -B build
	[[ $output == *"found 3.1.0 $at/include"* ]] || failed "version"
	rm -r build
	project C CXX -- 'add_executable(use use.cc minimal.c)' \
		'target_link_libraries(use scr::scr)' \
		'set_source_files_properties(minimal.c PROPERTIES' \
		'COMPILE_DEFINITIONS main=other)'
	cmakes
	works "0 1" "$PWD/build/use"
}

@test "CMake: which versions are accepted" {
	local wanted max answer

	needs cmake
	project C --
	sed -i 's/3.1 REQUIRED/4 REQUIRED/' CMakeLists.txt
	try cmake -S . -B build -DCMAKE_PREFIX_PATH="$at"
	((status != 0)) || failed "accepted: 4"
	[[ $stderr == *"version: 3.1.0"* ]] || failed "why"
	# What find_package() does, without looking for compilers each time.
	while read -r wanted max answer; do
		printf 'set(PACKAGE_FIND_%s)\n' "VERSION \"${wanted/-/}\"" \
			"VERSION_MAJOR \"${wanted%%[.-]*}\"" >ask.cmake
		[[ $max == - ]] || printf 'set(PACKAGE_FIND_%s)\n' \
			'VERSION_RANGE TRUE' "VERSION_RANGE_MAX ${max%:*}" \
			"VERSION_MAX ${max#*:}" >>ask.cmake
		printf '%s\n' "include($at/lib/cmake/scr/scrConfigVersion.cmake)" \
			"message(\"\${PACKAGE_VERSION_COMPATIBLE}/\${PACKAGE_VERSION_EXACT}\")" \
			>>ask.cmake
		try cmake -P ask.cmake
		[[ $stderr == "$answer" ]] || failed "$wanted $max: not $answer"
	done <<-'END'
		- - TRUE/FALSE
		3 - TRUE/FALSE
		3.0.1 - TRUE/FALSE
		3.1 - TRUE/TRUE
		3.1.0 - TRUE/TRUE
		3.1.1 - FALSE/FALSE
		3.2 - FALSE/FALSE
		2.9 - FALSE/FALSE
		4 - FALSE/FALSE
		3.0 INCLUDE:3.9 TRUE/FALSE
		3.0 INCLUDE:3.1.0 TRUE/FALSE
		3.0 EXCLUDE:3.1.0 FALSE/FALSE
		3.0 INCLUDE:3.0.9 FALSE/FALSE
	END
}

@test "CMake: Fortran alone, and beside C; another compiler's module" {
	needs cmake mpifort gfortran
	project Fortran -- 'add_executable(shared_f minimal.f90)' \
		'target_link_libraries(shared_f scr::scrf)' \
		'add_executable(static_f minimal.f90)' \
		'target_link_libraries(static_f scr::scrf-static)'
	cmakes
	[[ $(needed build/shared_f) == libscrf.so.3* ]] || failed "shared"
	[[ -z $(needed build/static_f) ]] || failed "$(needed build/static_f)"
	counts build/shared_f
	counts build/static_f
	rm -r build
	# Without scr.mod the project compiles its source.
	cp -a "$at" no.mod
	at=$PWD/no.mod
	rm "$at/include/scr.mod"
	project C Fortran -- \
		"add_executable(own minimal.f90 \${scr_FORTRAN_MODULE})" \
		'target_link_libraries(own scr::scrf)' \
		'add_executable(beside minimal.c)' \
		'target_link_libraries(beside scr::scr)'
	cmakes
	counts build/own
	[[ $(needed build/beside) == libscr.so.3 ]] || failed "beside"
}

@test "CMake: found twice, in subdirectories; other directories of the installation" {
	needs cmake
	ends 0 make -o all -s -C "$TESTSUITE/.." O="$(cd "$MPI/.." && pwd)" \
		PREFIX="$PWD/opt" LIBDIR="$PWD/opt/lib64/deep" \
		INCLUDEDIR="$PWD/opt/include/scr" install
	mv opt elsewhere
	at=$PWD/elsewhere
	project C -- 'find_package(scr REQUIRED)' 'add_subdirectory(sub)'
	mkdir sub
	mv minimal.c sub
	printf '%s\n' 'find_package(scr 3 REQUIRED)' 'add_executable(shared minimal.c)' \
		'target_link_libraries(shared scr::scr)' >sub/CMakeLists.txt
	cmakes -Dscr_DIR="$at/lib64/deep/cmake/scr"
	counts build/sub/shared
}

@test "without a Fortran compiler: all but scr.mod" {
	local tree=$PWD/tree

	mkdir tree
	ln -s "$(cd "$MPI/.." && pwd)"/{bin,libscr*} tree
	ends 0 make -s -C "$TESTSUITE/.." O="$tree" FC=/none \
		"$tree/fortran/module"
	[[ $output == *"the Fortran compiler failed: see $tree/fortran/module"* ]] ||
		failed "why"
	ends 0 make -o all -s -C "$TESTSUITE/.." O="$tree" FC=/none PREFIX="$PWD/to" \
		install
	[[ -e to/include/scr.f90 && -e to/include/scrf.h && -e to/lib/libscrf.so &&
		! -e to/include/scr.mod ]] || failed "$(ls to/include to/lib)"
	ends 0 make -s -C "$TESTSUITE/.." O="$tree" FC=/none PREFIX="$PWD/to" uninstall
	[[ -z $(find to ! -type d) ]] || failed "$(find to ! -type d)"
}
