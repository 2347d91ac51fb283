#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The files of the project, each with a NUL: those that git tracks, or, in a tree
# without git or that git refuses (another owner), all but build/ and .git.
set -u
cd "$(dirname "$0")/.." || exit 1
if [ -e .git ] && git rev-parse --git-dir >/dev/null 2>&1; then
	exec git ls-files -z
fi
echo "no git here: all files outside of build/ are taken" >&2
exec find . \( -path ./build -o -path ./.git \) -prune -o ! -type d -printf '%P\0'
