#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Flushes into containers.

load helper

setup() {
	job_setup
	export SCR_FLUSH=1 SCR_USE_CONTAINERS=1
	map="0 1 2 3"
}

# same_packed [OPTION]...: what scr_container packs of the same files, which are
# those of a job that ran without containers, is the same.
same_packed() {
	local ctr=.scr/scr.dataset.1/.scr

	mkdir -p "$BATS_TEST_TMPDIR/plain"
	PREFIX=$BATS_TEST_TMPDIR/plain
	rm -rf "${NODES:?}"/*
	(cd "$PREFIX" && SCR_USE_CONTAINERS=0 works "$@")
	ends 0 scr_container pack --prefix "$PREFIX" --size "$SCR_CONTAINER_SIZE" 1
	diff -r "$PREFIX/$ctr" "$BATS_TEST_TMPDIR/prefix/$ctr"
}

@test "what is flushed is packed; the containers are those of scr_container" {
	export SCR_CONTAINER_SIZE=700000
	works "$map" app_ckpt steps=1 size=300000 files=3
	find . -type f
	ends 0 scr_container verify 1
	ends 0 scr_index --check 1
	same_packed "$map" app_ckpt steps=1 size=300000 files=3
}
