#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# python.sh - run the Python programs of this directory with 4 ranks, and with
# scr.py as it is installed.  PYTHON is the interpreter (python3).  Each program
# is stopped in the middle, or started twice; its result must be that of an
# undisturbed run.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
python=$(command -v "${PYTHON:-python3}") || {
	echo "python.sh: no ${PYTHON:-python3}"
	exit 77 # `make check` counts 77 as skipped
}
command -v "${MPIEXEC:=mpiexec}" >/dev/null || {
	echo "python.sh: no mpiexec"
	exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# `make check` installs the tree that it tests, and nothing else is used.
if [ -n "${BIN:-}" ]; then
	[ -e "$BIN/../libscr.so" ] || {
		echo "python.sh: libscr was left out: no MPI"
		exit 77
	}
	make -C "$here/.." -o all -s O="${BIN%/bin}" PREFIX="$work/opt" install
	export PYTHONPATH="$work/opt/share/scr/python"
	export PATH="$work/opt/bin:$PATH"
fi

# Open MPI wants to be asked before root starts more ranks than there are cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export SCR_CNTL_BASE="$work/cntl" SCR_CACHE_BASE="$work/cache"
export USER="${USER:-user}" PYTHONDONTWRITEBYTECODE=1
# run JOB DIRECTORY PROGRAM [ARG]...: a job with this id and prefix.  It finds the
# caches of earlier runs with its id, as if it had their nodes.
run() {
	export SCR_JOB_ID="$1"
	dir=$work/$2 program=$here/$3
	shift 3
	mkdir -p "$dir"
	(
		cd "$dir"
		# With more ranks than cores: those that wait sleep.
		[ -z "${BIN:-}" ] || export LD_PRELOAD="$BIN/../patient.so"
		exec timeout 200 "$MPIEXEC" -n 4 "$python" "$program" "$@" </dev/null
	) >"$work/said" || return
	cat "$work/said"
}
# said LINE: the last job printed it.
said() {
	grep -qxF -- "$1" "$work/said" || {
		echo "python.sh: expected: $1"
		exit 1
	}
}

run 1 count minimal.py
said "counting from 0"
run 1 count minimal.py
said "counting from 3"

# An index that nobody can read may list a checkpoint, and without libscr there is
# none: no job starts.
mkdir -p "$work/blocked/.scr"
ln -s index.scr "$work/blocked/.scr/index.scr"
for name in minimal heat train; do
	if run 6 blocked "$name.py" || [ -s "$work/said" ]; then
		echo "python.sh: $name.py: expected a failure"
		exit 1
	fi
	if SCR_ENABLE=0 run 7 disabled "$name.py" || [ -s "$work/said" ]; then
		echo "python.sh: $name.py: SCR_Init failed: expected a failure"
		exit 1
	fi
done 2>"$work/errors"
grep -q "scr.Error: SCR_Have_restart failed" "$work/errors"
grep -q "scr.Error: SCR_Init failed" "$work/errors"

run 3 undisturbed heat.py
said "heat: result is complete"
mkdir "$work/halted"
scr_halt --checkpoints=3 "$work/halted"
run 4 halted heat.py
said "heat: stops after step 30"
scr_halt --remove "$work/halted"
# Other nodes, so the checkpoint comes from the prefix.
run 5 halted heat.py
said "heat: restarts from ckpt.30"
said "heat: result is complete"
for rank in 0 1 2 3; do
	cmp "$work/undisturbed/result/rod.$rank" "$work/halted/result/rod.$rank"
done

run 8 straight train.py 4
said "train: starts"
run 9 resumed train.py 2
run 9 resumed train.py 4
said "train: resumes after epoch 2"
cmp "$work/straight/model/weights" "$work/resumed/model/weights"
