#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016 # for shells there; for one test
# The test bed itself: faults that no other test would miss, and no traces.  What
# the others show: golden caches, launchers, SLURM, MPI, slow storage.

load bed

setup_file() { bed_up 4; }

# seconds CMD...: print the run time of a command in whole seconds; its status
# is ignored.
seconds() {
	local start=$SECONDS

	"$@" >/dev/null 2>&1
	echo $((SECONDS - start))
}

# The machine's processes that belong to the bed in $1: "PID START".
processes() {
	local pids more

	read -r pids _ <"$1/outer"
	more=$pids
	while more=$(ps -o pid= --ppid "${more//[^0-9]/,}" | tr -d ' '); do
		[[ -n $more ]] || break
		pids+=$'\n'$more
	done
	for more in $pids; do
		stat -c "$more %Y" "/proc/$more"
	done
}

# The network and process namespaces of these processes.
namespaces() {
	local pid

	while read -r pid _; do
		readlink "/proc/$pid/ns/net" "/proc/$pid/ns/pid"
	done <<<"$1" | sort -u
}

# gone DIR PROCESSES NAMESPACES: all of them disappear, within 20 seconds.
gone() {
	local i pid start left

	for ((i = 0; i < 200; i++)); do
		left=
		while read -r pid start; do
			[[ -z $start || ! -e /proc/$pid/exe ]] ||
				[[ $(stat -c %Y "/proc/$pid") != "$start" ]] ||
				left+=" $pid"
		done <<<"$2"
		[[ -n $left ]] || break
		sleep 0.1
	done
	[[ -z $left ]] || failed "processes left:$left"
	! grep -sF "$1" /proc/[0-9]*/mountinfo || failed "mounts left"
	[[ -z $3 ]] || ! readlink /proc/[0-9]*/ns/* | grep -Fx "$3" ||
		failed "namespaces left"
}

# --- Commands and nodes ------------------------------------------------------

@test "a command on a node: its arguments, input, output and status" {
	try on node3 sh -c 'hostname; cat; echo "$1" >&2; exit 7' - 'a "b" $c' <<<hello
	assert_status 7
	assert_output_is $'node3\nhello'
	[[ $stderr == 'a "b" $c' ]]
	cd "$BIN"
	[[ $(on node1 pwd) == "$(pwd)" ]]
	complains 1 node9 on node9 true
}

@test "storage: a node's own, and shared by all" {
	for dir in /ssd /dev/shm /tmp /root /etc; do
		on node2 sh -c "echo mine >$dir/bed.test"
		ends 2 on node1 ls "$dir/bed.test"
		[[ ! -e $dir/bed.test ]]
	done
	on node2 sh -c 'echo ours >/pfs/f'
	[[ $(on node1 cat /pfs/f) == ours && $(cat "$BED_DIR/pfs/f") == ours ]]
	bed_wipe
	[[ -z $(on node2 find /ssd /dev/shm /tmp /pfs -type f -xdev) ]]
}

# --- Death -----------------------------------------------------------------------

@test "silent death: connections hang, new ones time out; back and empty" {
	on node2 sh -c 'echo x >/ssd/f; echo x >/dev/shm/f'
	on login ssh node2 'sleep 60' &
	sleep 0.7
	bed_kill node2
	try on login pdsh -S -t 1 -R ssh -w 'node[1-2]' hostname
	((status != 0))
	assert_output_is "node1: node1"
	assert_stderr_has "node2" "timed out"
	kill -0 $! || failed "ssh noticed"
	complains 1 "node2 is down" on node2 true
	"$BED" status | grep -qx "node2 down, to be healed by: revive"
	bed_revive node2
	[[ -z $(on login ssh node2 find /ssd /dev/shm -type f) ]]
	[[ $("$BED" status | grep -c ' up$') == 5 ]]
	on login pkill -x ssh
	wait $! || true
}

@test "noisy death: connections end at once" {
	on login ssh node2 'sleep 60' &
	sleep 0.7
	bed_kill_soft node2
	[[ $(seconds wait $!) -le 3 ]]
	bed_heal
	on login ssh node2 true
}

# A look-up of its address that began while it was dead must not fail those who
# ask for the node afterwards.
@test "a node that is back is reached at once" {
	local fault cure

	for fault in kill:revive unplug:plug; do
		cure=${fault#*:} fault=${fault%:*}
		on login ip neigh flush to 10.77.0.2
		"bed_$fault" node2
		! on login timeout 0.4 bash -c ': <>/dev/tcp/node2/22' 2>&1
		[[ $(on login ip neigh show 10.77.0.2) == *INCOMPLETE* ]]
		sleep 1.8
		"bed_$cure" node2
		on login timeout 2 bash -c ': <>/dev/tcp/node2/22'
	done
}

@test "cut off, refusing, frozen; and healed" {
	ssh=(on login ssh -o ConnectTimeout=1 node3 true)
	for fault in unplug:'timed out' refuse:refused freeze:'timed out'; do
		"bed_${fault%:*}" node3
		warns 255 "${fault#*:}" "${ssh[@]}"
		bed_heal
		ends 0 "${ssh[@]}"
	done
	bed_unplug node1 node2
	bed_plug node1 node2
	bed_freeze node1
	bed_thaw node1
	bed_refuse node1
	bed_accept node1
	on login ssh node1 true
	[[ $("$BED" status) != *healed* ]]
}

# --- Storage ---------------------------------------------------------------------

@test "full: one node's storage, or the shared one; then free again" {
	on node1 sh -c 'head -c 100000 /dev/zero >/ssd/f'
	bed_fill node1
	bed_fill node1 /pfs
	warns 1 "No space left" on node1 dd if=/dev/zero of=/ssd/g bs=4k count=1
	warns 1 "No space left" on node2 dd if=/dev/zero of=/pfs/g bs=4k count=1
	on node2 sh -c 'echo x >/ssd/f'
	[[ $(on node1 stat -c %s /ssd/f) == 100000 ]]
	bed_drain node1
	on node1 sh -c 'head -c 9000000 /dev/zero >/ssd/g'
	bed_heal
	on node2 sh -c 'head -c 9000000 /dev/zero >/pfs/g'
}

@test "read-only: the node's own storage, or its view of the shared" {
	for dir in /ssd /pfs; do
		bed_readonly node1 "$dir"
		warns 1 Read-only on node1 touch "$dir/f"
		on node2 touch "$dir/f"
		bed_writable node1 "$dir"
		on node1 touch "$dir/f"
	done
}

@test "a clock that is behind, and with it the times of the node's own files" {
	ahead() {
		on "$1" perl -e 'open(F, ">", $ARGV[0]); close(F);
			print time - $ARGV[1], " ", (stat $ARGV[0])[9] - $ARGV[1]' \
			"$2" "$EPOCHSECONDS"
	}
	bed_slow node1 1000000 /none
	bed_skew 300 node1
	bed_fast node1
	[[ $(ahead node1 /ssd/f) =~ ^-(29.|300)\ -(29.|300)$ ]]
	[[ $(ahead node1 /pfs/f) =~ ^-(29.|300)\ .$ ]]
	[[ $(ahead node2 /ssd/f) =~ ^.\ .$ ]]
	bed_heal
	[[ $(ahead node1 /ssd/f) =~ ^.\ .$ ]]
}

# --- No traces ---------------------------------------------------------------

@test "kill -9 of the one process that holds a bed up leaves nothing" {
	export BED_DIR=$BATS_TEST_TMPDIR/own
	bed_up 3
	dir=$BED_DIR
	on login ssh node2 sleep 60 3>&- &
	sleep 0.5
	all=$(processes "$dir")
	spaces=$(namespaces "$all")
	(($(wc -l <<<"$all") >= 8 && $(wc -l <<<"$spaces") >= 10))
	read -r pid _ <"$dir/outer"
	kill -KILL "$pid"
	gone "$dir" "$all" "$spaces"
	[[ ! -e $dir/pfs/. ]]
	ends 1 "$BED" status
	bed_down
	try "$BED" exec node1 true
	assert_stderr_one_line "not up"
}

@test "a bed ends with the process it is tied to, and after its lifetime" {
	export BED_DIR=$BATS_TEST_TMPDIR/own
	sleep 60 3>&- &
	BED_TIE=$! "$BED" up 1
	all=$(processes "$BED_DIR")
	kill $!
	gone "$BED_DIR" "$all" ""
	BED_LIFE=7 BED_TIE=$$ "$BED" up 1
	all=$(processes "$BED_DIR")
	"$BED" exec node1 true
	gone "$BED_DIR" "$all" ""
	bed_down
}

@test "up is ended half-way, by TERM or KILL: nothing is left" {
	export BED_DIR=$BATS_TEST_TMPDIR/own BED_TIE=$$
	for at in TERM:0.05 KILL:0.1 TERM:0.2 KILL:0.25; do
		"$BED" up 4 3>&- 2>/dev/null &
		sleep "${at#*:}"
		# On a fast machine `up` may have finished before the kill.
		kill -s "${at%:*}" $! || "$BED" down
		wait $! || true
		await eval '! grep -qsF "$BED_DIR" /proc/[0-9]*/mountinfo'
		! grep -lszxF "BED_DIR=$BED_DIR" /proc/[0-9]*/environ ||
			failed "processes left after $at"
		"$BED" down
	done
}
