#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # bats and bed_lay set them
# The batch scripts of examples/: those for SLURM and plain ssh run for real,
# and a node dies during the job.

load bed

setup_file() { bed_up 4; }

# wait_for FILE: wait until the file exists on /pfs.
wait_for()
{
	local i

	for ((i = 0; i < 150; i++)); do
		[[ ! -e $BED_DIR/pfs/$1 ]] || return 0
		sleep 0.1
	done
	return 1
}

# An application that has a checkpoint in the caches and fails when its node
# dies; its second run succeeds.  It leaves flush.scr as the earlier job did.
application()
{
	cat >"$BED_DIR/pfs/app" <<-'EOF'
		#!/bin/sh
		[ ! -e /pfs/second ] || exit 0
		cp /pfs/flush.scr "$SCR_PREFIX/.scr/"
		touch /pfs/running
		while [ ! -e /pfs/dead ]; do sleep 0.1; done
		exit 1
	EOF
	chmod +x "$BED_DIR/pfs/app"
	cp "$lay_pfs/.scr/flush.scr" "$BED_DIR/pfs/"
}

@test "slurm.sbatch: a node dies, the job goes on, the checkpoint is saved" {
	bed_slurm_up
	bed_lay xor_8n4
	application
	on login env "${lay_env[@]}" env -u SCR_NODELIST PAUSE=0 NEEDED=1 \
		sbatch -Q -W --no-kill -N4 -o /pfs/out \
		"$TESTSUITE/../examples/slurm.sbatch" /pfs/app 3>&- &
	wait_for running
	bed_kill node3
	bed_slurm_lost node3
	touch "$BED_DIR/pfs/second" "$BED_DIR/pfs/dead"
	wait $! || status=$?
	cat "$BED_DIR/pfs/out"
	((${status:-0} == 0))
	grep -q "the job ended with 0, scr_postrun with 0" "$BED_DIR/pfs/out"
	assert_saved xor_8n4
}

@test "ssh.job: a node dies, the job goes on, the checkpoint is saved" {
	bed_lay xor_8n4
	application
	on login env "${lay_env[@]}" PAUSE=0 SCR_REMOTE=ssh SCR_MIN_NODES=1 \
		"$TESTSUITE/../examples/ssh.job" /pfs/app \
		>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	wait_for running
	bed_kill node2
	touch "$BED_DIR/pfs/second" "$BED_DIR/pfs/dead"
	wait $! || status=$?
	cat "$BATS_TEST_TMPDIR/out"
	((${status:-0} == 0))
	grep -q "the job ended with 0, scr_postrun with 0" "$BATS_TEST_TMPDIR/out"
	assert_saved xor_8n4
}
