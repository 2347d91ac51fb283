#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_store: makes stores in memory, looks after them, runs programs in them.

load helper

# $S is a place for stores: a directory in memory, $H, has what is written to it.
setup() {
	in_no_job
	unset SCR_STORE LD_PRELOAD
	[[ $(stat -f -c %T /dev/shm) == tmpfs ]] || skip "no tmpfs at /dev/shm"
	H=$(mktemp -d /dev/shm/scrkit-store.XXXXXX)
	S=$H/s
}

teardown() { rm -rf "$H" ${D:+"$D"}; }

# $D: a directory that is not in memory.
on_disk() {
	D=$(mktemp -d /var/tmp/scrkit-store.XXXXXX)
	[[ $(stat -f -c %T "$D") != tmpfs ]] || skip "no disk at /var/tmp"
}

# made DIR...: stores, without a mount of their own.
made() {
	local dir

	for dir; do
		scr_store run --store "$dir" true
	done
}

# fact DIR NAME: of scr_store status --json.
fact() { scr_store status --json "$1" | jq -r ".stores[0].$2"; }

# until COMMAND...: within ten seconds it succeeds.
until_so() {
	local n

	for ((n = 0; n < 200; n++)); do
		! "$@" || return 0
		sleep 0.05
	done
	failed "never: $*"
}

@test "usage errors; directories that are no stores" {
	on_disk
	cd "$D"
	mkdir plain "$H/plain"
	: >plain/file
	rows <<-END
		use|scr_store
		use|scr_store mont
		use|scr_store -q status
		use|scr_store mount
		use|scr_store mount a b
		use|scr_store mount --size 1K a
		use|scr_store rm
		use|scr_store status|no store is named
		use|scr_store populate --count 1 $S
		use|scr_store run --store $S
		use|scr_store run true|no store is named
		use|scr_store check
		use|scr_store bench a b
		1|scr_store status plain|one;not a store
		1|scr_store status $H/plain|one;not a store
		1|scr_store rm plain $H/plain|plain: not a store
		1|scr_store populate --file-size 1M --count 1 plain|one;not a store
		1|scr_store run --store plain true|one
		1|scr_store check /no/such|one;no such program
		2|scr_store bench plain|one;not in memory
		0|scr_store gc plain $H/plain /no/such|2=
	END
	[[ -e plain/file && -d $H/plain ]]
	[[ $(find plain) == plain$'\n'plain/file ]]
}

@test "run: the program's environment, output, status and signals" {
	ln -s "$H" link
	rows <<-END
		0|scr_store run --store $S echo -n words|=words;2=
		7|scr_store run --store $S -- sh -c 'exit 7'|2=
		137|scr_store run --store $S -- sh -c 'kill -9 \$\$'
		127|scr_store run --store $S /no/such|one
		126|scr_store run --store $S $TESTSUITE|one
		0|scr_store run --store $S sh -c 'echo \$SCR_STORE'|=$S
		0|scr_store run --store link/s sh -c 'echo \$SCR_STORE'|=$S
		0|scr_store run --store $PWD/link/s sh -c 'echo \$SCR_STORE'|=$PWD/link/s
		0|env SCR_STORE=$S scr_store run sh -c 'echo \$SCR_STORE'|=$S
		1|env SCR_STORE=/no/such:$S scr_store status|$S;one;/no/such: No such
		0|env SCR_STORE=$S: scr_store run sh -c 'echo \$LD_PRELOAD'|/libscr_preload.so
		0|env LD_PRELOAD=$SHIM scr_store run --store $S sh -c 'echo \$LD_PRELOAD'|so:$SHIM
	END
	mkfifo ready
	# shellcheck disable=SC2016
	scr_store run --store "$S" -- sh -c 'trap "exit 9" TERM
		echo >ready; while :; do sleep 0.1; done' &
	cat ready
	kill -TERM $!
	wait $! || status=$?
	assert_status 9
}

@test "run: files are files; those deleted go to the pool, which somebody tends" {
	# shellcheck disable=SC2016
	ends 0 scr_store run --store "$S" --pool 16M -- bash -c '
		set -e
		head -c 5M /dev/urandom >from
		for n in 1 2 3; do
			cp from "$SCR_STORE/f.$n"
			cmp from "$SCR_STORE/f.$n"
		done
		rm "$SCR_STORE/f.1"
		for n in {1..200}; do
			scr_store status --json | grep -q "clean_files\": 1" && exit
			sleep 0.05
		done
		exit 1'
	cmp from "$S/f.2"
	[[ $(fact "$S" pool_limit) == $((16 << 20)) ]]
	(($(fact "$S" clean_bytes) >= 5 << 20))
	shows "$S" scr_store status "$H"
}

@test "populate fills the pool, and says if it is full" {
	made "$S"
	calm scr_store populate --file-size 2M --count 3 "$S"
	[[ $(fact "$S" clean_files) == 3 ]]
	[[ $(fact "$S" "numa | map(.clean_bytes) | add") == $((6 << 20)) ]]
	made "$H/t"
	scr_store run --store "$H/u" --pool 4M true
	refuses 1 "room for 2 of 3 files" \
		scr_store populate --file-size 2M --count 3 "$H/u"
}

@test "rm: with all that it has, but not if it is used" {
	made "$S"
	mkdir "$S/d"
	: >"$S/d/file"
	scr_store populate --file-size 2M --count 1 "$S"
	exec 7<"$S/d/file"
	refuses 2 "in use by process" scr_store rm "$S"
	exec 7<&-
	sleep 100 7<"$S/d/file" &
	refuses 2 "in use by process $!: end it" scr_store rm "$S"
	kill $!
	wait $! 2>/dev/null || true
	mkfifo hold
	python3 -c "import mmap
f = open('$S/map', 'wb+'); f.truncate(9); m = mmap.mmap(f.fileno(), 9)
f.close(); open('mapped', 'w').close(); open('hold').read()" &
	until_so test -e mapped
	refuses 2 "in use by process $!: end it" scr_store rm "$S"
	[[ -e $S/d/file && -e $S/map ]]
	calm scr_store rm --force "$S"
	[[ ! -e $S ]]
	: >hold
	wait
	made "$S"
	: >"$S/file"
	calm scr_store rm "$S/"
	[[ ! -e $S ]]
}

# A mock SLURM in which these jobs run, or which does not answer (-).
slurm() {
	stub squeue <<<"#!/bin/sh
[ '$1' != - ] || exit 1
printf '%s R\n' $1"
}

# Each row: the job of the store, the jobs that run, is it still there, and its state.
@test "gc: stores of jobs that have ended go, and nothing else" {
	export SLURM_JOB_ID=7
	slurm 7
	ends 1 scr_store run --store "$S" --job 99 true
	assert_stderr_one_line "job 99 does not run"
	[[ ! -e $S/.scrkit-store ]]
	while IFS='|' read -r job jobs left state; do
		echo "$job, $jobs"
		slurm "${job:-7}"
		scr_store run --store "$S" ${job:+--job "$job"} true
		: >"$S/file"
		slurm "$jobs"
		[[ $(fact "$S" job_runs) == "$state" ]]
		calm scr_store gc -q --dry-run "$H"
		[[ -e $S/file ]]
		sleep 100 7<"$S/file" &
		if [[ $left == no ]]; then
			refuses 2 "in use by process $!" scr_store gc "$H"
			[[ -e $S/file ]]
		fi
		kill $!
		wait $! 2>/dev/null || true
		ends 0 scr_store gc "$H"
		if [[ $left == no ]]; then
			assert_stderr_one_line "$S: job $job has ended: removed"
			[[ ! -e $S ]]
		else
			assert_stderr_empty
			[[ -e $S/file ]]
			scr_store rm "$S"
		fi
	done <<-END
		|7|yes|null
		7|7|yes|true
		8|7 8|yes|true
		8|7|no|false
		8|-|yes|null
	END
	slurm 7
	refuses 2 "job 8 does not run" scr_store mount --job 8 "$S"
}

@test "a store of another user is refused; root has no more rights in it than its owner" {
	become 1234
	gives
	made "$S"
	chmod 755 "$H"
	: >"$S/file"
	for verb in status rm gc "run --store"; do
		# shellcheck disable=SC2086 # words
		ends 1 "${as[@]}" scr_store $verb "$S" true
		assert_stderr_has "$S"
	done
	[[ -e $S/file ]]
	# Root, and a user whose store leads to what is root's.
	mkdir "$H/root"
	cp -a "$S" "$H/root/s"
	chown -R 1234:1234 "$S"
	calm scr_store status "$S"
	calm scr_store populate --file-size 1M --count 1 "$S"
	[[ $(stat -c %u "$S/.scrkit-store/pool/"*) == 1234 ]]
	for name in .scrkit-store .scrkit-store/dirty .scrkit-store/state; do
		cp -a "$S" "$H/t"
		rm -r "$H/t/$name"
		ln -s "$H/root/s/$name" "$H/t/$name"
		for verb in status rm; do
			ends 1 scr_store "$verb" "$H/t"
		done
		scr_store gc "$H/t" || true
		rm -r "$H/t"
	done
	ln -s root/s "$H/t"
	ends 1 scr_store status "$H/t"
	ln -s "$H/root" "$S/link"
	calm scr_store rm "$S"
	[[ -e $H/root/s/file && -e $H/root/s/.scrkit-store/state ]]
}

@test "mount: large pages; by others than root a directory in memory, else a line of fstab" {
	privately && return
	calm scr_store mount --size 128M "$S"
	[[ $(stat -f -c %S "$S") == 4096 && $(stat -c %a "$S") == 700 ]]
	[[ $(fact "$S" memory_size) == $((128 << 20)) ]]
	calm scr_store mount --size 128M --pool 2M "$S"
	[[ $(fact "$S" pool_limit) == $((2 << 20)) ]]
	[[ $(grep -c "^scr_store $S " /proc/self/mounts) == 1 ]]
	[[ $(findmnt -n -o OPTIONS "$S") != *huge=* ]] ||
		[[ $(fact "$S" page) == $((2 << 20)) ]]
	calm scr_store umount "$S"
	[[ ! -e $S && $(</proc/self/mounts) != *"$S"* ]]
	# One that others mounted stays.
	mkdir "$S"
	mount -t tmpfs -o mode=0755 other "$S"
	ends 0 scr_store mount "$S"
	assert_stderr_one_line "/etc/fstab: scr_store $S tmpfs mode=1777,huge=within_size 0 0"
	: >"$S/file"
	calm scr_store rm "$S"
	mountpoint -q "$S" && [[ -z $(ls -A "$S") ]]
	umount "$S"
	misused "no user no.such" scr_store mount --user no.such "$S"
	# Names that others have taken in a directory of all.
	mkdir "$H/target"
	ln -s target "$H/link"
	refuses 1 "$H/link" scr_store mount --user nobody "$H/link"
	if may_give; then
		chown 1234 "$H/target"
		refuses 1 "belongs to user 1234" scr_store mount --user nobody "$H/target"
	fi
	[[ $(</proc/self/mounts) != *target* ]]
	if setpriv --reuid=1234 --clear-groups true 2>/dev/null; then
		chmod 1777 "$H"
		become 1234
		ends 0 "${as[@]}" scr_store mount "$H/t"
		assert_stderr_one_line "huge=within_size"
		"${as[@]}" scr_store status "$H/t"
		on_disk
		chmod 1777 "$D"
		refuses 2 "/etc/fstab: scr_store $D/s tmpfs" \
			"${as[@]}" scr_store mount "$D/s"
		[[ $(getent passwd nobody) != nobody:*:65534:* ]] ||
			{
				calm scr_store mount --user nobody "$S"
				[[ $(stat -c %u "$S" "$S/.scrkit-store/state") == 65534$'\n'65534 ]]
			}
	fi
}

@test "check: which calls pass by" {
	cat >p.c <<-'END'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		int main(int n, char **a) {
			char x[] = "XXXXXX";
			if (n > 1) return puts("it was started") < 0;
			return open(x, O_CREAT | O_RDWR, 0600) + mkstemp(x);
		}
	END
	cc -o p p.c
	cc -static -o static p.c
	cp p setuid
	chmod u+s setuid
	head -c 200 p >part
	sed 's/^\(....\)\x02/\1\x01/' p >other
	printf '#!/bin/sh\n' >script
	chmod +x part other script
	sed -n '/mkstemp/d; p' p.c >q.c
	printf 'int main(void) { return 0; }' | cc -x c -o q -
	printf '#include <unistd.h>\nint main(void) { return link("a", "b"); }' | cc -x c -o r -
	rows <<-END
		0|scr_store check ./p|=./p: the preload does not see mkstemp
		0|scr_store check ./q|=the preload sees all calls
		0|scr_store check ./r|=the preload sees all calls
		0|scr_store check --interpose ./r|=./r: the preload does not see link
		0|scr_store check ./static|=static: all calls pass by
		0|scr_store check ./setuid|rights of its owner: all calls pass by
		0|scr_store check --json ./p|see mkstemp"
		1|scr_store check ./part|one;./part
		2|scr_store check ./other|one;no program for this processor
		2|scr_store check ./script|one;a script
	END
	PATH=$PWD:$PATH shows mkstemp scr_store check p
}

@test "bench: each way of writing" {
	calm scr_store bench --size 2M "$H"
	assert_output_has PLAIN COLD FIRST WARM BARE "2.0 MiB"
	awk '$2 == "MiB" { for (i = 4; i <= 8; i++) n += $i > 0 }
		END { exit n != 20 }' <<<"$output"
	[[ -z $(ls -A "$H") ]]
}
