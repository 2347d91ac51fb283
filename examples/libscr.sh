#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# libscr.sh - build the applications of this directory with what pkg-config says
# of scr, and run them with 4 ranks.  CC is the compiler (cc).  heat is stopped
# by scr_halt in the middle; its result must be that of an undisturbed run.  Those
# in Fortran are built with scrf, by mpifort, if that works.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
command -v "${MPIEXEC:=mpiexec}" >/dev/null || {
	echo "libscr.sh: no mpiexec"
	exit 77 # `make check` counts 77 as skipped
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# `make check` installs the tree that it tests, and nothing else is used.
if [ -n "${BIN:-}" ]; then
	[ -e "$BIN/../libscr.so" ] || {
		echo "libscr.sh: libscr was left out: no MPI"
		exit 77
	}
	make -C "$here/.." -o all -s O="${BIN%/bin}" PREFIX="$work/opt" install
	lib=$work/opt/lib
	export PKG_CONFIG_PATH="$lib/pkgconfig:${PKG_CONFIG_PATH:-}"
	export LD_LIBRARY_PATH="$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	export PATH="$work/opt/bin:$PATH"
fi
mkdir "$work/bin"
for name in minimal config heat; do
	# shellcheck disable=SC2046,SC2086 # several words
	${CC:-cc} -Wall -Wextra -Werror "$here/$name.c" -o "$work/bin/$name" \
		$(pkg-config --cflags --libs scr)
done
programs="minimal config heat"
echo end >"$work/empty.f90"
if mpifort "$work/empty.f90" -o "$work/empty" 2>/dev/null; then
	for name in minimal heat; do
		# shellcheck disable=SC2046 # several words
		mpifort "$here/$name.f90" -o "$work/bin/$name.f90" \
			$(pkg-config --cflags --libs scrf)
		programs="$programs $name.f90"
	done
else
	echo "libscr.sh: no mpifort: Fortran is left out"
fi

# Open MPI wants to be asked before root starts more ranks than there are cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export SCR_CNTL_BASE="$work/cntl" SCR_CACHE_BASE="$work/cache"
export USER="${USER:-user}"
# run JOB DIRECTORY PROGRAM: a job with this id and prefix.  It finds the caches
# of earlier runs with its id, as if it had their nodes.
run() {
	mkdir -p "$work/$2"
	(
		export SCR_JOB_ID="$1"
		cd "$work/$2"
		# With more ranks than cores: those that wait sleep.
		[ -z "${BIN:-}" ] || export LD_PRELOAD="$BIN/../patient.so"
		exec timeout 200 "$MPIEXEC" -n 4 "$work/bin/$3" </dev/null
	) >"$work/said" || return
	cat "$work/said"
}
# said LINE: the last job printed it.
said() {
	grep -qxF -- "$1" "$work/said" || {
		echo "libscr.sh: expected: $1"
		exit 1
	}
}

run 1 count minimal
said "counting from 0"
run 1 count minimal
said "counting from 3"

# An index that nobody can read may list a checkpoint: no job starts over.
mkdir -p "$work/blocked/.scr"
ln -s index.scr "$work/blocked/.scr/index.scr"
# Nor does one for which libscr does nothing.
for name in $programs; do
	if { [ "$name" != config ] && run 6 blocked "$name"; } ||
		SCR_ENABLE=0 run 7 disabled "$name" ||
		grep -E "^(counting|heat)" "$work/said"; then
		echo "libscr.sh: $name: expected a failure"
		exit 1
	fi
done

run 2 config config
said "SCR_CACHE_SIZE is 2"
said "SCR_DEBUG is not set"
said "CKPT=1 TYPE is RS"

run 3 undisturbed heat
said "heat: result is complete"

# halted FIRST SECOND: the programs of two jobs.
halted() {
	rm -rf "$work/halted" && mkdir "$work/halted"
	scr_halt --checkpoints=3 "$work/halted"
	run "$1.$2.4" halted "$1"
	said "heat: stops after step 30"
	scr_halt --remove "$work/halted"
	# Other nodes, so the checkpoint comes from the prefix.
	run "$1.$2.5" halted "$2"
	said "heat: restarts from ckpt.30"
	said "heat: result is complete"
	for rank in 0 1 2 3; do
		cmp "$work/undisturbed/result/rod.$rank" \
			"$work/halted/result/rod.$rank"
	done
}
halted heat heat

[ -e "$work/bin/heat.f90" ] || exit 0
run 8 count_f90 minimal.f90
said "counting from 0"
run 8 count_f90 minimal.f90
said "counting from 3"
halted heat.f90 heat.f90
halted heat heat.f90
