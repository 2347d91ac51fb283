#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2012 # plain names
# scr_fti restart: an older checkpoint becomes the one that FTI takes, whatever
# interrupts the command; and scr_fti archive, where older ones come from.

load golden

setup() {
	FTI=$SCRKIT_GOLDEN/fti
	[ -d "$FTI/head-F/L4" ] || skip "no golden data of FTI"
	cd "$BATS_TEST_TMPDIR" || return 1
	E=4d8ae264-3ea9-404f-ad30-ebfb97a8c05f
}

# renumbered FROM ID TO: a file of layout F with another id: that field is in no
# sum.
renumbered() {
	cp -p "$1" "$3"
	damage "$3" $(($(stat -c %s "$3") - 106 + 49)) "\\x$(printf %02x "$2")"
	touch -d @1700000000.123456789 "$3"
}

# job DIR: checkpoint 4 of 8 ranks at L4, and newer ones, 5 and 6, at L1.
job() {
	local r id at

	mkdir "$1"
	cp -Rp "$FTI/head-F/L4/." "$1"
	chmod -R u+w "$1"
	rm -r "$1"/Local/node*/"$E"/lL4Dir
	for r in 1 2 4 5 7 8 10 11; do
		at=$1/Local/node$((r / 3))/$E/l1
		mkdir -p "$at"
		for id in 5 6; do
			renumbered "$1/Global/$E/l4/Ckpt4-Rank$r.fti" $id \
				"$at/Ckpt$id-Rank$r.fti"
		done
	done
	sed -i 's/^failure .*/failure=0 ; FTI: nothing failed/' "$1/config.fti"
	touch -d @1700000001 "$1/config.fti"
}

# state DIR: names, modes, times and contents of all files, and all directories.
state() {
	(
		cd "$1" || exit 1
		find . -type f -printf '%p %m %T@\n' | sort
		find . ! -type f | sort
		find . -type f -exec sha256sum {} + | sort
	)
}

# contents DIR: what the checkpoint files have, whatever their names.
contents() {
	find "$1" -name '*-Rank*' -exec sha256sum {} + | cut -c 1-64 | sort
}

# chosen DIR: what FTI would take.
chosen() {
	scr_fti scan "$1" | sed -n 's/^ *FTI restarts from //p'
}

# undo: everything is as it was `before`.
undo() {
	scr_fti restart --undo j
	state j | diff before -
}

# takes ID LEVEL [OPTION]...: after this restart FTI takes it.
takes() {
	scr_fti restart --select "$1" "${@:3}" j
	[[ $(chosen j) == "$2, checkpoint $1" ]]
}

@test "a checkpoint at a higher level, or beside another: what hides it comes back" {
	job j
	state j >before
	[[ $(chosen j) == "L1, checkpoint 5, or any rank from another one"* ]]
	answers 0 "hide Local/node0/$E/l1" scr_fti restart --select 4 -n j
	state j | diff before -
	answers 0 "FTI restarts from L4, checkpoint 4" scr_fti restart --select 4 j
	[[ $(chosen j) == "L4, checkpoint 4" && ! -e "j/Local/node0/$E/l1" ]]
	answers 0 "FTI restarts from it already" scr_fti restart --select 4 j
	undo
	answers 1 ": no restart was prepared here" scr_fti restart --undo j
	takes 6 L1
	ls "j/Local/node0/$E/l1" | diff - <(printf 'Ckpt6-Rank%d.fti\n' 1 2)
	# Then an older one, and back step by step.
	takes 4 L4
	run -1 scr_fti restart --select 5 j
	[[ $output == *"no checkpoint 5; there are 4 (L4); an earlier restart has hidden some"* ]]
	[[ $output == *"next: scr_fti restart --undo j" ]]
	scr_fti restart --undo j
	[[ $(chosen j) == "L1, checkpoint 6" ]]
	undo
}

@test "config.fti keeps every byte but the two values" {
	job j
	sed -i "s/^exec_id .*/exec_id = old # of last week/" j/config.fti
	printf '# the end, without a line end' >>j/config.fti
	chmod 640 j/config.fti
	cp -p j/config.fti old
	scr_fti restart --select 4 j
	diff old j/config.fti >changes && false
	diff changes - <<-END
		$(grep -n ^failure old | cut -d: -f1),$(grep -n ^exec_id old | cut -d: -f1)c$(grep -n ^failure old | cut -d: -f1),$(grep -n ^exec_id old | cut -d: -f1)
		< failure=0 ; FTI: nothing failed
		< exec_id = old # of last week
		---
		> failure=1 ; FTI: nothing failed
		> exec_id = $E # of last week
	END
	[[ $(stat -c %a j/config.fti) == 640 ]]
	scr_fti restart --undo j
	cmp old j/config.fti
	# Without one the files are arranged, and the values are named.
	rm j/config.fti
	run -0 scr_fti restart --select 4 --heads --node-size 3 j
	[[ $output == *"no config.fti below j: set failure = 1 and exec_id = $E"* ]]
}

@test "what is not whole is refused, with the next command, and nothing changes" {
	job j
	truncate -s -200 "j/Global/$E/l4/Ckpt4-Rank1.fti"
	state j >before
	answers 1 "checkpoint 4 of L4 is unknown, not whole: " scr_fti restart --select 4 j
	[[ $output == *"next: scr_fti scan --checksums --files j" ]]
	# A byte of the data: only a look at all of them finds it.
	cp "$FTI/head-F/L4/Global/$E/l4/Ckpt4-Rank1.fti" "j/Global/$E/l4"
	damage "j/Global/$E/l4/Ckpt4-Rank1.fti" 7 '\377'
	[[ $(scr_fti scan j) == *"L4"*"whole"* ]]
	state j >before
	run -4 scr_fti restart --select 4 j
	state j | diff before -

	cp -Rp "$FTI/levels-E-v1.6/L3" k
	rm -r k/Local/node1
	answers 3 "is rebuildable, not whole" scr_fti restart --select 3 k
	[[ $output == *"next: scr_fti rebuild --level 3 --id 3 --checksums k" ]]

	# FTI refuses a file: the sum of a container is damaged.  Following the
	# next line gets there.
	rm -r j
	job j
	damage "j/Global/$E/l4/Ckpt4-Rank2.fti" \
		$(($(stat -c %s "j/Global/$E/l4/Ckpt4-Rank2.fti") - 106 - 16)) '\377'
	answers 3 "is refused, not whole" scr_fti restart --select 4 j
	[[ ${lines[-1]} == "scr_fti: next: scr_fti repair --in-place j/Global/$E/l4/Ckpt4-Rank2.fti" ]]
	run -3 scr_fti scan --checksums j
	[[ ${lines[-1]} == "scr_fti: next: scr_fti repair --in-place j/Global/$E/l4/Ckpt4-Rank2.fti" ]]
	${lines[-1]#scr_fti: next: }
	scr_fti restart --select 4 j
	scr_fti restart --undo j
	state j >before

	run -1 scr_fti restart --select 9 j
	[[ $output == *"no checkpoint 9; there are 5 (L1), 6 (L1), 4 (L4)"* ]]
	run -1 scr_fti restart --select 5 --level 4 j
	run -2 scr_fti restart j
	run -2 scr_fti restart --select 4 --undo j
	state j | diff before -

	cp -Rp "$FTI/head-F/L4/Global" .
	run -2 scr_fti archive --heads --node-size 3 "Global/$E/l4"
	[[ $output == *"is a directory of one level"* ]]
}

@test "what was written since is not undone away; scan reports what was interrupted" {
	job j
	scr_fti restart --select 4 j
	mkdir "j/Local/node2/$E/l1"
	touch "j/Local/node2/$E/l1/Ckpt7-Rank7.fti"
	state j >since
	run -2 scr_fti restart --undo j
	[[ $output == *"j/Local/node2/$E/l1: was changed since the restart was prepared"* ]]
	state j | diff since -
	rm -r "j/Local/node2/$E/l1"
	sed -i 's/^verbosity.*/verbosity = 3/' j/config.fti
	answers 2 "j/config.fti: was changed since" scr_fti restart --undo j
	rm -r j
	job j
	state j >before
	scr_fti restart --select 4 j
	run -0 scr_fti scan j
	[[ $output != *next:* ]]
	sed -i 's/"state":"done"/"state":"begun"/' j/scr_fti.restart.1
	answers 0 "preparing a restart from checkpoint 4 was interrupted" scr_fti scan j
	run -2 scr_fti restart --select 5 j
	[[ $output == *"was interrupted: undo it, or select that checkpoint again"* ]]
	[[ ${lines[-1]} == "scr_fti: next: scr_fti restart --undo j" ]]
	run -0 scr_fti scan j
	[[ ${lines[-1]} == "scr_fti: next: scr_fti restart --undo j" ]]
	${lines[-1]#scr_fti: next: }
	state j | diff before -
}

@test "POSIX files: metadata and files change together, also from the archive of FTI" {
	local e=70fa035e-cccd-40ce-b7a9-a0794b098142 from

	from=$FTI/l4archive-posix
	[[ -d $from ]] || skip "not in the selection"
	taken "$from" j
	state j >before
	scr_fti archive j
	run -0 scr_fti archive --list j
	[[ $output == *" archive "*" 3 "*POSIX*whole* ]]
	mv j/fti_archive kept
	takes 1 L4
	cmp "j/Meta/$e/l4/sector0-group0.fti" \
		"$from/Meta/$e/l4_archive/Ckpt_1/sector0-group0.fti"
	scr_fti verify "j/Global/$e/l4/Ckpt1-Rank0.fti"
	undo
	# From our archive, where FTI has nothing at level 4.
	rm -r "j/Global/$e/l4" "j/Meta/$e/l4"
	state j >before
	takes 3 L4 --from kept
	diff -r "$from/Meta" j/Meta
	diff -r "$from/Global" j/Global
	undo
}

@test "archive, and a restart from what it kept" {
	job j
	answers 0 "checkpoint 4 of $E: would archive 9 files, " scr_fti archive -n j
	[ ! -e j/fti_archive ]
	answers 0 "checkpoint 4 of $E: archived: 9 files linked, 0 copied" scr_fti archive j
	answers 0 "archived already" scr_fti archive j
	# What the archive has can be scanned by itself.
	run -0 scr_fti scan --checksums "j/fti_archive/$E/Ckpt_4"
	[[ $output == *" 8/8 "*whole* ]]
	# FTI replaces the checkpoint of level 4.
	rm "j/Global/$E/l4"/*
	for r in 1 2 4 5 7 8 10 11; do
		renumbered "j/fti_archive/$E/Ckpt_4/Global/$E/l4/Ckpt4-Rank$r.fti" 8 \
			"j/Global/$E/l4/Ckpt8-Rank$r.fti"
	done
	state j >before
	run -0 scr_fti archive --copy j
	[[ $output == *"checkpoint 8 of $E: archived: 0 files linked, 9 copied"* ]]
	rm -r "j/fti_archive/$E/Ckpt_8"
	answers 0 "checkpoint 4 of L4 (archived): whole" scr_fti restart --select 4 j
	[[ $(chosen j) == "L4, checkpoint 4" ]]
	undo
	[[ $(chosen j) == "L1, checkpoint 5"* ]]
	# L4 was deleted altogether.
	rm -r j/Global
	find j -type d -empty -delete
	state j >before
	takes 4 L4
	undo
}

@test "archive elsewhere, and --from" {
	job j
	scr_fti archive --to elsewhere/kept --copy j
	run -0 scr_fti archive --list --to elsewhere/kept
	[[ $output == *"execution $E"*" archive "*" 8/8 "*whole* ]]
	rm -r "j/Global/$E/l4"
	state j >before
	run -1 scr_fti restart --select 4 j
	takes 4 L4 --from elsewhere/kept
	undo
	run -0 scr_fti archive --list j
	[[ $output == "j/fti_archive: no archived checkpoint" ]]
}

# generations ID...: let FTI replace the checkpoint of level 4 by these, and
# archive each.
generations() {
	local id r

	for id; do
		rm "j/Global/$E/l4"/*
		for r in 1 2 4 5 7 8 10 11; do
			renumbered "$FTI/head-F/L4/Global/$E/l4/Ckpt4-Rank$r.fti" \
				"$id" "j/Global/$E/l4/Ckpt$id-Rank$r.fti"
		done
		scr_fti archive -q j
	done
}

kept() {
	ls "j/fti_archive/$E"
}

@test "archive --keep removes the oldest, never the last whole one" {
	job j
	generations 7 8 9
	[[ $(kept | xargs) == "Ckpt_7 Ckpt_8 Ckpt_9" ]]
	answers 0 "checkpoint 7 of $E: would be removed" scr_fti archive --keep 2 -n j
	[[ $(kept | xargs) == "Ckpt_7 Ckpt_8 Ckpt_9" ]]
	scr_fti archive --keep 2 j
	[[ $(kept | xargs) == "Ckpt_8 Ckpt_9" ]]
	# A dry run counts what would be archived first.
	rm -r "j/fti_archive/$E/Ckpt_9"
	answers 0 "checkpoint 8 of $E: would be removed" scr_fti archive --keep 1 -n j
	scr_fti archive j
	# Damage the newest, and the one at level 4 which is linked to it.
	cp --remove-destination "j/Global/$E/l4/Ckpt9-Rank1.fti" x
	damage x 7 '\377'
	cp -p --remove-destination x \
		"j/fti_archive/$E/Ckpt_9/Global/$E/l4/Ckpt9-Rank1.fti"
	answers 2 "has another checkpoint Ckpt_9" scr_fti archive --keep 1 j
	[[ $(kept | xargs) == "Ckpt_8 Ckpt_9" ]]
	touch -r "j/Global/$E/l4/Ckpt9-Rank1.fti" \
		"j/fti_archive/$E/Ckpt_9/Global/$E/l4/Ckpt9-Rank1.fti"
	run -0 scr_fti archive --keep 1 j
	[[ $output == *"checkpoint 8 of $E: stays, as the newest that is whole"* ]]
	[[ $(kept | xargs) == "Ckpt_8 Ckpt_9" ]]
	# What is not whole is not archived, and then nothing is removed.
	cp x "j/Global/$E/l4/Ckpt9-Rank1.fti"
	rm -r "j/fti_archive/$E/Ckpt_9"
	answers 4 "checkpoint 9 of L4 is lost, not whole" scr_fti archive --keep 1 j
	[[ $(kept | xargs) == "Ckpt_8" ]]
	run -1 scr_fti archive --id 3 j
	run -2 scr_fti archive --list --keep 1 j
}

# --- Interruptions -----------------------------------------------------------

# Of a state: all but the time at which two files were written.
plain() {
	sed '/scr_fti\.restart/d; s|\(config.fti 644\) .*|\1|'
}

# disturbed HOW LOOK ARG...: scr_fti ARG... in copies j of `fresh`, at some of its
# operations.  After each failure or kill the function LOOK does what follows.
disturbed() {
	local how=$1 look=$2 n total

	cp -Rp fresh j
	operations scr_fti "${@:3}"
	state j >after
	((total > 20))
	for n in $(moments "$total" "${SCRKIT_KILLS-8}"); do
		renew fresh j
		run env LD_PRELOAD="$SHIM" "$how=$n" scr_fti "${@:3}"
		echo "operation $n: status $status"
		[[ $status != 0 || $how == SHIM_FAIL_AT || $look == undone ]]
		"$look"
	done
}

# prepared HOW: prepare a restart from checkpoint 4.  No checkpoint is lost; the
# command run again completes it, and --undo restores everything.
prepared() {
	state fresh >before
	contents fresh >data
	disturbed "$1" again restart -q -j 1 --select 4 j
}

again() {
	[[ -z $(contents j | comm -23 data -) ]] || failed "a checkpoint is gone"
	renew j again
	scr_fti restart -q -j 1 --select 4 again
	diff <(plain <after) <(state again | plain)
	run scr_fti restart -q --undo j
	state j | diff before -
}

undone() {
	run scr_fti restart -q --undo j
	state j | diff before -
}

# archived DIR: a job whose checkpoint 4 only the archive has whole.
archived() {
	job "$1"
	scr_fti archive -q "$1"
	rm "$1/Global/$E/l4/Ckpt4-Rank1.fti"
}

@test "restart, also from the archive, and undoing killed at any moment or failing" {
	job fresh
	prepared SHIM_KILL_AT
	rm -rf fresh j
	archived fresh
	prepared SHIM_KILL_AT
	rm -rf j
	prepared SHIM_FAIL_AT
	rm -rf j
	state fresh >before
	scr_fti restart -q --select 4 fresh
	disturbed SHIM_KILL_AT undone restart -q --undo j
	diff before after
}

@test "restart from the archive killed before it hid anything: undo deletes nothing" {
	local n

	archived fresh
	state fresh >before
	for ((n = 1; n < 200; n++)); do
		renew fresh j
		run env LD_PRELOAD="$SHIM" SHIM_KILL_AT="$n" \
			scr_fti restart -q -j 1 --select 4 j
		[ "$status" != 0 ] || failed "never killed with a journal"
		[ -e j/scr_fti.restart.1 ] || continue
		[ ! -e "j/Global/$E/scr_fti.hidden.1/l4" ] || break
		scr_fti restart -q --undo j
		state j | diff before - || failed "operation $n"
		touch seen
	done
	[ -e seen ]
}

@test "archive killed at any moment" {
	# At any moment a whole one is there.
	kept_one() {
		[[ $(scr_fti archive --list j) == *whole* ]]
		scr_fti archive -q --copy --keep 1 j
		state j | diff after -
	}
	job j
	generations 7 8
	rm -r "j/fti_archive/$E/Ckpt_8"
	mv j fresh
	disturbed SHIM_KILL_AT kept_one archive -q -j 1 --copy --keep 1 j
}

# --- Untrusted input ---------------------------------------------------------

@test "a crafted journal or configuration leads nowhere" {
	local field

	job j
	mkdir outside
	touch outside/file
	sed -i 's,^glbl_dir .*,glbl_dir = ../../outside,' j/config.fti
	run -0 scr_fti restart --select 4 j
	[[ $output == *"FTI may look elsewhere: glbl_dir of config.fti leads out of the directory"* ]]
	cp j/scr_fti.restart.1 journal
	for field in 's,"from":"Local,"from":"../outside,' \
		's,"to":"Local,"to":"../outside,' 's,"from":"Local,"from":"/etc,' \
		's,scr_fti.hidden.1,l4,' 's,"config":"config.fti","config":"../outside/file",' \
		's/"version":1/"version":2/' 's/"level":4/"level":9/' 's/{//'; do
		sed "$field" journal >j/scr_fti.restart.1
		state j >before
		run -1 scr_fti restart --undo j
		state j | diff before - || failed "$field"
	done
	# Directories that are links are not gone through.
	cp journal j/scr_fti.restart.1
	mv "j/Local/node0/$E/scr_fti.hidden.1" outside/stolen
	ln -s "$PWD/outside/stolen" "j/Local/node0/$E/scr_fti.hidden.1"
	chmod 777 "j/Local/node0/$E" # anybody's link
	run scr_fti restart --undo j
	[[ $status != 0 && -d outside/stolen/l1 ]]
}
