#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_prerun: prepares a prefix, and leaves the files of other jobs alone.

load helper

# A prefix with a flush file of job 1000; all its datasets are saved, or not.
prefix() {
	local dir

	dir=$(golden scr3)
	rm -rf p
	case $1 in
	saved) cp -a "$dir/index_multi/prefix_after_run" p ;;
	unsaved) cp -a "$dir/xor_4/cache/prefix" p ;;
	esac
	chmod -R u+w p
}

# A mock SLURM in which these jobs run, given with their states.
slurm() {
	stub squeue <<<$'#!/bin/sh\ncat <<END\n'"$1"$'\nEND'
	export SLURM_JOB_ID=7 SLURM_JOBID=7
}

@test "usage errors; a prefix that cannot be made" {
	misused "extra: unexpected argument" scr_prerun extra
	complains 2 condor scr_prerun --resource-manager condor
	: >file
	complains 1 file scr_prerun -p file
	restricted
	mkdir ro
	chmod 500 ro
	complains 1 ro/p "${as[@]}" scr_prerun -p ro/p
}

@test "makes the prefix, needs neither pdsh nor a resource manager; SCR_ENABLE=0: nothing" {
	SCR_ENABLE=0 ends 0 scr_prerun -p p
	[ ! -e p ]
	mkdir q
	echo SCR_ENABLE=0 >q/.scrconf
	ends 0 scr_prerun -p q
	[ ! -e q/.scr ]
	calm env PATH="$BIN" "$BIN/scr_prerun" -p "a new/one"
	assert_output_is ''
	[ -d "a new/one/.scr" ]
	SCR_PREFIX=two ends 0 scr_prerun
	[ -d two/.scr ]
}

# Each row: the datasets of job 1000, the jobs that run, our own id and options; what
# is said, and which files of that job are left.
@test "files of a job that has ended go or are kept aside; of others they stay" {
	while IFS='|' read -r found jobs own options said left; do
		echo "$found, $jobs, $own $options"
		prefix "${found/junk/saved}"
		cp p/.scr/flush.scr old
		[[ $found != junk ]] || echo junk | tee old >p/.scr/flush.scr
		slurm "${jobs//,/$'\n'}"
		[[ $own == 7 ]] || unset SLURM_JOB_ID SLURM_JOBID
		[[ -n $jobs ]] || rm stub/squeue
		# shellcheck disable=SC2086 # several words
		ends 0 scr_prerun -p p $options
		[[ -n $said ]] || assert_stderr_empty
		[[ -z $said ]] || assert_stderr_one_line "$said"
		[[ $(cd p/.scr && shopt -s nullglob &&
			echo flush.* nodes.*) == "$left" ]]
		[[ $left != *bak* ]] || cmp old p/.scr/flush.scr.bak
		[[ $found == unsaved || -e p/.scr/halt.scr && -e p/.scr/index.scr ]]
	done <<-'END'
		saved|7 R|7|||
		unsaved|7 R|7||flush.scr.bak|flush.scr.bak
		junk|7 R|7||flush.scr.bak|flush.scr.bak
		unsaved|7 R,1000 R|7||job 1000 runs|flush.scr nodes.scr
		unsaved|7 R,1000 CG|7||never saved|flush.scr.bak
		unsaved|||--job-id 7|job 1000, which may still run|flush.scr nodes.scr
		unsaved|||--job-id 7 --force|flush.scr.bak|flush.scr.bak
		unsaved|||--job-id 1000 --force||flush.scr nodes.scr
		unsaved|||--job-id 1000||flush.scr nodes.scr
		unsaved|7 R||--job-id 8|of job 1000 was never saved|flush.scr.bak
		unsaved|7 R,1000 R||--job-id 8|job 1000 runs|flush.scr nodes.scr
		unsaved|7 R||--job-id 8 --resource-manager none|which may still run|flush.scr nodes.scr
	END
}

@test "states of jobs that have ended" {
	while read -r program state manager; do
		prefix unsaved
		stub "$program" <<<"#!/bin/sh"$'\n'"echo '1000 $state'"
		complains 0 "never saved" scr_prerun -p p --resource-manager "$manager" --job-id 7
	done <<-'END'
		bjobs EXIT lsf
		squeue TO slurm
		squeue OOM slurm
	END
}

@test "-n reports what would be done, and changes nothing" {
	slurm '7 R'
	for found in saved unsaved; do
		prefix $found
		(cd p && find . -exec stat -c '%n %s %y %z' {} +) >before
		calm scr_prerun -n -p p
		case $found in
		saved) assert_output_has "flush file of job 1000 would be removed" ;;
		unsaved) assert_output_has "of job 1000 was never saved" \
			"would be renamed to flush.scr.bak" ;;
		esac
		(cd p && find . -exec stat -c '%n %s %y %z' {} +) | diff before -
	done
	shows "nothing left by an earlier job" scr_prerun --dry-run -p new
	[ ! -e new ]
	prefix saved
	scr_halt -q --reason SCR_FINALIZE_CALLED p
	cp p/.scr/halt.scr was
	shows "its halt reason would be removed" scr_prerun -n -p p
	cmp was p/.scr/halt.scr
	[ -e p/.scr/flush.scr ]
}

@test "a halt file that stops the job at once is named, with the remedy" {
	mkdir "p q"
	try scr_halt --reason "stop it" "p q"
	ends 0 scr_prerun -p "p q"
	assert_stderr_one_line "stops this job at once (Reason: stop it" "stop it" "scr_halt -r 'p q'"
	try sh -c "scr_halt -r ${stderr##*scr_halt -r}"
	calm scr_prerun -p "p q"
	# Conditions that are not met yet.
	try scr_halt --checkpoints 5 --after +1h "p q"
	calm scr_prerun -p "p q"
	echo junk >"p q/.scr/halt.scr"
	complains 0 "damaged;scr_halt -r" scr_prerun -p "p q"
}

@test "LSF, PBS and Flux say whether a job runs" {
	stub bjobs <<<$'#!/bin/sh\necho "1000 RUN"; echo "7 RUN"'
	stub qstat <<-'END'
		#!/bin/sh
		echo "Job id  Name  User  Time Use S Queue"
		echo "------- ----- ----- -------- - -----"
		echo "1000.srv  a   me    00:00:00 R batch"
	END
	stub flux <<<$'#!/bin/sh\necho "f1000 1000"'
	prefix unsaved
	LSB_JOBID=7 try scr_prerun -p p --resource-manager lsf --job-id 7
	assert_stderr_has "job 1000 runs"
	PBS_JOBID=7.srv try scr_prerun -p p --resource-manager pbs --job-id 7
	assert_stderr_has "job 1000 runs"
	FLUX_JOB_ID=f7 try scr_prerun -p p --resource-manager flux --job-id 7
	assert_stderr_has "job 1000 runs"
	stub bjobs <<<$'#!/bin/sh\necho "7 RUN"; echo "1000 DONE"'
	# an old name of the option
	LSB_JOBID=7 try scr_prerun -p p --resmgr lsf --job-id 7
	[ ! -e p/.scr/flush.scr ]
}

# The library ignores that reason when it starts, but a loop of runs would not.
@test "the job before had finished: its reason to halt goes, others stay" {
	mkdir p
	ends 0 scr_halt --reason SCR_FINALIZE_CALLED --checkpoints 5 p
	ends 0 scr_retries_halt --dir p
	warns 0 "previous job finished" scr_prerun -v -p p
	ends 1 scr_retries_halt --dir p
	shows "CheckpointsLeft" scr_halt --list p
	try scr_halt --reason "stop it" p
	ends 0 scr_prerun -p p
	shows "stop it" scr_retries_halt --dir p
}

# held SECONDS: as a scavenge that works on p for so long.
held() {
	mkdir -p p/.scr
	printf 'job 41 on here (process 7)' >p/.scr/scavenge.lock
	flock p/.scr/scavenge.lock sh -c ': >p/held; sleep '"$1" 3>&- &
	until [ -e p/held ]; do sleep 0.05; done
}

@test "a scavenge works here: it is waited for; two jobs that start do not wait" {
	held 1
	complains 0 "the scavenge of job 41 on here;waiting;600 s" scr_prerun -p p
	[ -z "$(cat p/.scr/scavenge.lock)" ] || rm p/.scr/scavenge.lock
	calm scr_prerun -p p
	rm -r p
	mkdir -p p/.scr
	flock -s p/.scr/scavenge.lock sleep 2 3>&- &
	sleep 0.2
	ends 0 scr_prerun -p p --wait 0
	wait
}

@test "a scavenge still works here after --wait: status 1, nothing is put away" {
	prefix unsaved
	held 3
	complains 1 "the scavenge of job 41 on here;--wait" scr_prerun -p p --wait 0
	[ -e p/.scr/flush.scr ]
	warns 1 "waiting for it, at most 1 s;run this again" scr_prerun -p p --wait 1
	wait
}

# A prefix on a small file system of its own.
small() {
	mkdir -p p
	mount -t tmpfs -o "$1" none p
}

@test "a prefix that is full, in bytes or in inodes: status 1" {
	privately && return
	for dir in "" .scr; do
		small size=16k
		mkdir -p p/$dir
		head -c 16k /dev/zero >p/data
		complains 1 "0 B free" scr_prerun -p p
		assert_stderr_has "No space left" p
		umount p
	done
	small nr_inodes=3
	mkdir p/.scr
	: >p/data
	complains 1 "no inode free" scr_prerun -p p
	small size=64k
	calm scr_prerun -p p
}

@test "a prefix that cannot be written: status 1" {
	privately && return
	small size=64k
	mkdir p/.scr
	mount -o remount,bind,ro p
	complains 1 "Read-only" scr_prerun -p p
}

@test "a prefix that another user may not write: status 1" {
	become 65534
	mkdir -p p/.scr
	complains 1 "p;Permission denied" "${as[@]}" scr_prerun -p p
}

@test "caches of other jobs on this node are named with their size" {
	export SCR_USER_NAME=me SCR_JOB_ID=7 SCR_CACHE_BASE=$PWD/ssd \
		SCR_CNTL_BASE=$PWD/cntl
	mkdir -p ssd/me/scr.7 ssd/me/scr.6/empty ssd/me/scr.41/scr.dataset.1 \
		ssd/me/scr.42 ssd/you/scr.43
	for job in me/scr.7 me/scr.41/scr.dataset.1 me/scr.42 you/scr.43; do
		head -c 3000 /dev/zero >"ssd/$job/rank_0"
	done
	ln -s /etc ssd/me/scr.42/link
	ends 0 scr_prerun -p p
	assert_stderr_one_line "$PWD/ssd/me: 2 caches of other jobs, 5.9 KiB" \
		scr.41 scr.42 --clean
	prints "scr_check_node: PASS" scr_check_node --cache "$PWD/ssd"
	assert_stderr_one_line "2 caches of other jobs, 5.9 KiB"
	rm -r ssd/me/scr.4?
	calm scr_prerun -p p
}
