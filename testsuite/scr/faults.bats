#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034
# File operations that fail, one after the other, on one rank or on all: the job
# ends or continues with a message, and neither hangs nor crashes; nothing valid
# is lost, and nothing invalid is called whole, neither by our commands nor by
# the next job.  The fault shim does it.  SCRKIT_SLOW visits every kind of
# operation on every file, otherwise each test takes some; to take N of each, with
# a seed that failed before:
#
#     FAULTS=N SEED=S testsuite/run.sh --only scr/faults mpi:build/plain
#
# EVERY="KIND..." visits instead each operation of these kinds.

load helper
load kills

# KIND ERRNO...: an operation whose name begins with KIND fails in one of these
# ways.  All operations of a job are of one of these kinds.
KINDS="open:r EIO EMFILE EACCES ENOENT
open:w EIO EMFILE EACCES ENOSPC
read EIO
pread EIO
write EIO ENOSPC
pwrite EIO ENOSPC
posix_fallocate ENOSPC
ftruncate EIO
fsync EIO ENOSPC
syncfs EIO ENOSPC
rename EIO ENOSPC EACCES
link EIO EPERM ENOSPC
symlink EIO EACCES ENOSPC
unlink EIO EACCES
mkdir EIO EACCES ENOSPC
fstat EIO EACCES ENOENT
stat EIO EACCES
lstat EIO EACCES
access EIO EACCES
faccessat EIO EACCES
close EIO
flock ENOLCK EIO
fcntl ENOLCK
fchmod EPERM
fchown EPERM
futimens EPERM
mmap ENOMEM"

setup() {
	kills_setup
	export SHIM_PATH=$BATS_TEST_TMPDIR SCR_COPY_TYPE=XOR SCR_FLUSH=1
	export SHIM_ALL=1 JOB_LIMIT=20
	RANDOM=${SEED:=$RANDOM}
	echo "SEED=$SEED"
}

# It has ended by itself, and has said why if it failed.
ended_well() {
	local -a crashes=(Segmentation AddressSanitizer "runtime error"
		Assertion WRONG "EXIT CODE: 139" "EXIT CODE: 134")
	local text

	((status != 124 && status != 137)) || failed "hangs" || return
	((status == 0)) || [[ $stderr == *"SCR v"* ]] || failed "silent" || return
	for text in "${crashes[@]}"; do
		[[ $stderr != *"$text"* ]] || failed "$text" || return
	done
}

# The newest step whose dataset scr_inspect can restore from the caches, into
# $cached; 0: none.  Filemaps have its name.
cached_step() {
	local id step

	cached=0
	try scr_inspect --deep --checksums --json "$NODES"/*/tester/scr.j1
	while read -r id; do
		step=$(cat "$NODES"/*/tester/scr.j1/scr.dataset."$id"/.scr/filemap_* |
			grep -aom 1 'ckpt\.[0-9]*' | sed -n '1s/.*\.//p')
		((${step:=0} <= cached)) || cached=$step
	done < <(jq -r '.caches[] | select(.state != "lost") | .id' <<<"$output")
}

# Is the dataset of a step valid on the prefix?
on_prefix() {
	[[ -e $PREFIX/.scr/index.scr ]] &&
		scr_index -p "$PREFIX" --list --json | jq -e --arg name \
			"ckpt.$1" '.datasets[] |
			select(.valid and .name == $name)' >/dev/null
}

# The step that was last reported complete, or from which the job went on: then
# later ones make room.
complete_step() {
	awk '$1 == "complete" || $1 == "restart" { n = $2 }
		END { print n + 0 }' "$JOURNAL"
}

# As if nothing had happened: what was reported complete is there, the next job
# restarts, and all is whole.  It does not begin with less than the commands say
# is there, but for a dataset of which the job has said that it failed.
goes_on() {
	local cached step

	check_prefix || failed "prefix" "$output$stderr" || return
	cached_step
	step=$(complete_step)
	((step <= cached)) || on_prefix "$step" ||
		failed "step $step was complete" "$output" || return
	! on_prefix "$cached" || cached=0
	begin_round steps=1
	end_round
	assert_status 0 && judge $((ROUND - 1)) || return
	step=$(awk '$1 == "restart" { n = $2 } END { print n + 0 }' "$JOURNAL")
	((step >= cached)) || grep -qx "failed $cached" "$JOURNAL" ||
		failed "scr_inspect: step $cached is there" || return
	check_prefix || failed "prefix, then" "$output$stderr" || return
	ends 0 scr_inspect --deep --checksums "$NODES"/*/tester/scr.j1
}

# fault RANKS KIND ERRNO NTH STICKY OPTION...: a round in which it happens, and
# one in which nothing does.  A failure is counted, and told.
fault() {
	local what="$3 of $2 number $4 on rank $1, sticky $5" said

	kills_bring_back
	SHIM_RANKS=$1 SHIM_OP=$2 SHIM_ERRNO=$3 SHIM_FAIL_AT=$4 SHIM_STICKY=$5 \
		begin_round "${@:6}"
	end_round
	said=$stderr
	echo "$what: $status $(grep -o "SCR v.*" <<<"$said" | head -n 1)"
	if ended_well && goes_on; then
		return
	fi
	((++failures))
	failed "FAILED: $what" "$said" "$(<"$JOURNAL")" || true
}

# faults_of RANK OPTION...: add the arguments of `fault` for a round in which
# nothing fails to the list: one of the operations of each kind on each file,
# where files whose names differ by numbers are one; and for each kind one after
# which all of the kind fail, here and on all ranks.
faults_of() {
	local trace=$BATS_TEST_TMPDIR/trace

	rm -f "$trace"
	kills_bring_back
	SHIM_TRACE=$trace SHIM_RANKS=$1 begin_round "${@:2}"
	end_round 0
	awk -v seed=$RANDOM -v rank="$1" -v every="${EVERY-}" '
	function random(n) { return int(rand() * n) + 1 }
	function error(k) { return errors[k, random(number[k])] }
	# Not that nothing is there any more.
	function lasting(k, e) {
		do
			e = error(k)
		while (e == "ENOENT")
		return e
	}
	BEGIN { srand(seed) }
	FNR == NR {
		split($1, part, ":")
		if (every != "" && !index(" " every " ", " " $1 " "))
			next
		name[$1] = part[1]
		use[$1] = part[2]
		number[$1] = NF - 1
		for (i = 2; i <= NF; i++)
			errors[$1, i - 1] = $i
		next
	}
	{
		found = 0
		for (k in name)
			if (index($2, name[k]) == 1 &&
			    (use[k] == "" || $2 ~ ":" use[k] "$")) {
				path = $3
				gsub(/scrkit-[0-9a-f]+/, "T", path)
				sub(/(\/\.\.)+(\/\.scr)?$/, "", path)
				gsub(/[0-9]+/, "N", path)
				file = k SUBSEP path
				if (every != "")
					file = k SUBSEP count[k]
				if (random(++files[file]) == 1)
					nth[file] = count[k] + 1
				count[k]++
				found = 1
			}
		if (!found && every == "")
			print "of no kind: " $0 >"/dev/stderr"
	}
	END {
		for (file in files) {
			split(file, part, SUBSEP)
			print rank, part[1], error(part[1]), nth[file], 0
		}
		for (k in count) {
			print rank, k, lasting(k), random(count[k]), 1
			print "all", k, lasting(k), random(count[k]), 1
		}
	}' - "$trace" <<<"$KINDS" 2>"$trace.bad" | sort >>"$trace.list"
	[[ ! -s $trace.bad ]] || failed "$(<"$trace.bad")"
}

# each_fault OPTION...: all of the list or some, on what is kept.
each_fault() {
	local -a list
	local n at failures=0 count words

	: >"$BATS_TEST_TMPDIR/trace.list"
	faults_of 0 "$@"
	faults_of 1 "$@"
	mapfile -t list <"$BATS_TEST_TMPDIR/trace.list"
	count=${FAULTS:-${SCRKIT_SLOW:+${#list[@]}}}
	echo "${#list[@]} faults"
	for ((n = 0; n < ${count:=3}; n++)); do
		# The next card of a shuffled pack.
		at=$((n + (RANDOM * 32768 + RANDOM) % (${#list[@]} - n)))
		read -ra words <<<"${list[at]}"
		list[at]=${list[n]}
		fault "${words[@]}" "$@"
	done
	((failures == 0))
}

@test "faults while a job restarts from the caches, writes and flushes" {
	begin_round steps=2
	end_round 0
	kills_keep
	each_fault steps=2
}

@test "faults while what a node has lost is rebuilt" {
	export SCR_FLUSH=0
	begin_round steps=2
	end_round 0
	lose 2
	kills_keep
	each_fault steps=1
}

@test "faults while a job restarts from the prefix" {
	begin_round steps=2
	end_round 0
	lose 0 1 2 3
	kills_keep
	each_fault steps=1
}

@test "faults with bypass, and on the only copy" {
	SCR_CACHE_BYPASS=1 begin_round steps=2
	end_round 0
	kills_keep
	SCR_CACHE_BYPASS=1 each_fault steps=1
	kills_fresh
	export SCR_COPY_TYPE=SINGLE SCR_FLUSH=0
	begin_round steps=2
	end_round 0
	kills_keep
	each_fault steps=1
}

@test "the storage of a node is full" {
	privately && return
	export SCR_FLUSH=0
	unset SHIM_ALL
	mkdir -p "$NODES/1"
	mount -t tmpfs -o size=400k none "$NODES/1"
	begin_round steps=2
	end_round 0
	head -c 1M /dev/zero >"$NODES/1/full" 2>/dev/null || true
	begin_round steps=2
	end_round
	((status != 124)) || failed "hangs"
	assert_stderr_has "No space left on device"
	rm "$NODES/1/full"
	begin_round steps=1
	end_round
	grep -q "^failed" "$JOURNAL" || failed "$(<"$JOURNAL")"
	assert_status 0
	judge 2 || failed "$(<"$JOURNAL")"
	[[ $(grep -c "^restart [12]" "$JOURNAL") -ge 1 ]]
}
