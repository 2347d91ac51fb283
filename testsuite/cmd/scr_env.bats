#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154 # bats sets them
#
# scr_env: its verbs, and LLNL's names of them.

load helper

setup() { in_no_job; }

# A prefix as LLNL's library left it: two datasets, both saved; or one that is
# only in cache.
saved() {
	local dir

	dir=$(golden scr3/index_multi)
	cp -a "$dir/prefix_after_run" p
	chmod -R u+w p
}
unsaved() {
	local dir

	dir=$(golden scr3/xor_4)
	cp -a "$dir/cache/prefix" p
	chmod -R u+w p
}

# A mock ssh whose nodes are this machine: dead* hang, gone* refuse.
stub_ssh() {
	mkdir -p stub
	cat >stub/ssh <<-'END'
		#!/bin/sh
		while :; do
			case $1 in
			-o | -l | -p) shift 2 ;;
			-*) shift ;;
			*) break ;;
			esac
		done
		node=$1
		shift
		case $node in
		gone*) echo "ssh: connect to host $node port 22: No route" >&2; exit 255 ;;
		dead*) exec sleep 60 ;;
		esac
		exec sh -c "$*"
	END
	chmod +x stub/ssh
	PATH=$PWD/stub:$PATH
}

# Directories of the job that can be made on this machine.
storage() {
	export SCR_CNTL_BASE=$PWD/shm SCR_CACHE_BASE=$PWD/ssd
}

# --- Common to all verbs ---

@test "usage errors" {
	try scr_env
	assert_usage_error "no verb given"
	try scr_env frobnicate
	assert_usage_error "frobnicate: no such verb"
	try scr_env down-node
	assert_usage_error "down-node: no such verb; did you mean down-nodes?"
	try scr_env -v conf SCR_FLUSH
	assert_usage_error "conf: give the verb before all options"
	try scr_env hostlist
	assert_usage_error "no node list given"
	try scr_env user extra
	assert_usage_error "extra: unexpected argument"
	try scr_list_dir
	assert_usage_error "control or cache"
	try scr_list_dir both
	assert_usage_error "both: neither control nor cache"
	try scr_env log-event
	assert_usage_error "no event given"
	try scr_log_event -i
	assert_usage_error "'--jobid' needs a value"
	try scr_log_transfer -T X -S
	assert_usage_error "'--start' needs a value"
	try scr_crc32
	assert_usage_error "no file given"
	try scr_env interval --model best
	assert_usage_error "best is neither daly nor young"
}

@test "--help lists the verbs, and each has its own" {
	local verb verbs

	try scr_env --help
	assert_status 0
	assert_output_has "down-nodes" "flush-file"
	verbs=$(sed -n 's/^  \([a-z0-9-]*\)  .*/\1/p' <<<"$output" |
		grep -v '^-')
	(($(wc -w <<<"$verbs") >= 18))
	for verb in $verbs; do
		try scr_env "$verb" --help
		assert_status 0
		assert_output_has "Usage: scr_env $verb"
	done
}

@test "the manual page has every option of every verb" {
	local verb option page=$TESTSUITE/../man/scr_env.1

	for verb in $(scr_env --help |
		sed -n 's/^  \([a-z][a-z0-9-]*\)  .*/\1/p'); do
		grep -q "^\.It Cm $verb" "$page" || failed "no $verb in $page"
		for option in $(scr_env "$verb" --dump-options |
			awk -F'\t' '$5 == "shown" && $2 != "-" { print $2 }'); do
			grep -q "Fl -$option\b" "$page" ||
				failed "$verb --$option is not in $page"
		done
	done
}

@test "LLNL's names work, and appear in messages" {
	local name

	for name in check_node ckpt_interval crc32 flush_file hostlist \
		list_dir list_down_nodes log_event log_transfer nodes_file \
		retries_halt should_exit; do
		try "scr_$name" --help
		assert_status 0
		assert_output_has "Usage: scr_$name"
	done
	try scr_nodes_file --dir none
	assert_status 1
	assert_stderr_one_line "scr_nodes_file: " "none/.scr"
	ln -s "$BIN/scr_env" scr_hostlist.py
	try ./scr_hostlist.py 'n[1-2]'
	assert_output_is 'n[1-2]'
}

# --- The job ---

@test "who, which, when: one line each, with a newline" {
	try scr_env user
	assert_output_is me
	SCR_JOB_ID=77 try scr_env job-id
	assert_output_is 77
	try scr_env job-id --job-id 78
	assert_output_is 78
	SCR_END_TIME=5000000000 try scr_env end-time
	assert_output_is 5000000000
	SCR_JOB_ID=77 SCR_END_TIME=9 SCR_NODELIST='n[1-3]' try scr_env -u -j -e -n
	assert_output_is $'me\n77\n9\nn1,n2,n3'
	# D: LLNL's tool prints no newline, and crashes without USER.
	[ "$(env -u USER scr_env user | wc -l)" = 1 ]
}

@test "--resource-manager, and --resmgr as it was once called" {
	export SLURM_JOB_ID=9
	try scr_env job-id --resource-manager slurm
	assert_output_is 9
	try scr_env job-id --resource-manager none
	[[ $output == "$(basename "$PWD")"-* ]]
	none=$output
	try scr_env job-id --resmgr none
	assert_output_is "$none"
	try scr_env job-id --resource-manager condor
	assert_status 2
	assert_stderr_one_line condor
}

@test "nodes: given, set, or none" {
	try scr_env nodes --nodes 'r1i0n[0-3],vm'
	assert_output_is 'r1i0n[0-3],vm'
	try scr_env nodes -e --nodes 'n[08-10]'
	assert_output_is n08,n09,n10
	try scr_env nodes --count --nodes 'n[08-10]'
	assert_output_is 3
	echo "SCR_NODELIST=a,b" >.scrconf
	try scr_env nodes
	assert_output_is a,b
	rm .scrconf
	try scr_env nodes
	assert_status 1
	assert_stderr_one_line "SCR_NODELIST"
}

@test "directories, also of a prefix elsewhere" {
	mkdir -p "else where"
	printf '%s\n' 'SCR_CNTL_BASE=/cntl' 'CACHEDIR=/ssd BYTES=1GB' \
		'CACHEDIR=/nvme' >"else where/.scrconf"
	try scr_env cntl-dir -p "else where" --job-id 5
	assert_output_is /cntl/me/scr.5
	try scr_env cache-dir -b -p "else where"
	assert_output_has /ssd /nvme
	try scr_list_dir -p "else where" cache
	assert_line_count 1
	assert_output_has /ssd/me/scr.else_where- " /nvme/me/scr.else_where-"
	try scr_list_dir -b -p "else where" control
	assert_output_is /cntl
}

@test "conf: values and where they come from" {
	echo 'SCR_FLUSH=7' >.scrconf
	printf '%s\n' 'STORE=/ssd GROUP=NODE COUNT=2' 'STORE=/nvme' >>.scrconf
	try scr_env conf SCR_FLUSH
	assert_output_has 'SCR_FLUSH=7' .scrconf
	SCR_FLUSH=8 try scr_env conf SCR_FLUSH
	assert_output_is $'SCR_FLUSH=8\tenvironment\tcheckpoints'
	try scr_env conf --value SCR_FLUSH
	assert_output_is 7
	try scr_env conf STORE
	assert_line_count 2
	assert_output_has 'STORE=/ssd GROUP=NODE COUNT=2' 'STORE=/nvme'
	try scr_env conf SCR_NO_SUCH SCR_FLUSH
	assert_status 1
	assert_output_has SCR_FLUSH=7
	assert_stderr_one_line "SCR_NO_SUCH: not set"
	try scr_env conf
	assert_status 0
	assert_output_has 'SCR_FLUSH=7' $'built in'
	try scr_env conf --json SCR_FLUSH
	assert_output_has '"value": "7"' '"source": '
}

@test "conf: all in force, with unit, file and line" {
	local at=$PWD/.scrconf

	printf '%s\n' '# mine' '' 'SCR_FLUSH=7' 'SCR_FLUSH=8' 'CKPT=0 TYPE=XOR' \
		'SCR_FLUSH_POSTSTAGE=1' 'SCR_GROUP=POWER' >.scrconf
	export SCR_HALT_SECONDS=60 SCR_JOB_ID=9
	try scr_env conf -p "$PWD" --user me
	assert_status 0
	assert_stderr_empty
	assert_output_has $'SCR_FLUSH=7\t'"$at:3"$'\tcheckpoints\n' \
		$'SCR_HALT_SECONDS=60\tenvironment\tseconds\n' \
		$'SCR_MPI_BUF_SIZE=1048576\tbuilt in\tbytes\n' \
		$'SCR_GROUP=POWER\t'"$at:7"$'\n' $'CKPT=0 TYPE=XOR\t'"$at:5" \
		$'SCR_FLUSH_POSTSTAGE=1\t'"$at:6"$'\tno effect\n' \
		$'SCR_RESTART_ATTEMPTS=3\tbuilt in\trestarts\n' \
		$'SCR_COPY_METADATA=1\tbuilt in\n'
	# Found out, or given by an option.
	assert_output_has "SCR_PREFIX=$PWD"$'\tgiven\n' \
		$'SCR_USER_NAME=me\tgiven\n' $'SCR_JOB_ID=9\tenvironment\n'
	# Without effect, and not set.
	[[ $output != *SCR_LOG_DB* && $output != *SCR_CURRENT* ]]
	try scr_env conf -p "$PWD" --json SCR_FLUSH SCR_GROUP SCR_FLUSH_POSTSTAGE
	try python3 -c 'import json, sys
for p in json.loads(sys.argv[1])["parameters"]:
    print(p["name"], p["value"], p["line"], p.get("unit"), p["ignored"])' \
		"$output"
	assert_output_is "SCR_FLUSH 7 3 checkpoints False
SCR_GROUP POWER 7 None False
SCR_FLUSH_POSTSTAGE 1 6 None True"
}

@test "conf: a value that does not parse, an unknown parameter" {
	printf '%s\n' '' 'SCR_SET_SIZE=many' 'SCR_FLUHS=1' 'SCR_FLUHS=2' >.scrconf
	try scr_env conf -p "$PWD"
	assert_status 0
	assert_output_has $'SCR_SET_SIZE=8\tbuilt in\tranks\n'
	assert_stderr_has \
		"SCR_SET_SIZE from $PWD/.scrconf:2: \"many\"" "8 is used instead"
	[[ $(grep -c "$PWD/.scrconf:3: unknown parameter SCR_FLUHS; did you mean SCR_FLUSH?" \
		<<<"$stderr") -eq 1 && $stderr != *:4:* ]] || failed "the name"
	printf '%s\n' 'CKPT=0 TYPE=XOR' 'CKPT=1 TYEP=RS INTERVAL=2' \
		'STORE=/ssd COLOUR=red COUNT=2' 'GROUPS=a ANY=1' >>.scrconf
	try scr_env conf -p "$PWD" CKPT
	assert_status 0
	assert_stderr_has \
		"$PWD/.scrconf:6: CKPT=1: unknown property TYEP; did you mean TYPE?" \
		"$PWD/.scrconf:7: STORE=/ssd: unknown property COLOUR"
	[[ $(grep -c property <<<"$stderr") -eq 2 ]] || failed "two properties"
	# Each command says so, once.
	try scr_prerun -p "$PWD"
	[[ $(grep -c "unknown parameter SCR_FLUHS" <<<"$stderr") -eq 1 ]] ||
		failed "scr_prerun"
}

# --- Node lists ---

@test "hostlist: any name, nothing lost" {
	try scr_hostlist x1000c0s0b0n0,x1000c0s0b0n1 vm ip-10-0-0-1
	assert_output_is 'x1000c0s0b0n[0-1],vm,ip-10-0-0-1'
	try scr_hostlist nid00008 'nid[00009-00010]'
	assert_output_is 'nid[00008-00010]'
	try scr_hostlist -e 'n[1-2]' n2 n3
	assert_output_is n1,n2,n3
	try scr_hostlist --repeats -e 'n[1-2]' n2
	assert_output_is n1,n2,n2
	try scr_hostlist -e -d ' ' 'n[1-2]'
	assert_output_is 'n1 n2'
	try scr_hostlist -c 'n[1-100]'
	assert_output_is 100
	try scr_hostlist -n 2 'n[1-4]'
	assert_output_is n2
	try scr_hostlist -n -1 'n[1-4]'
	assert_output_is n4
	try scr_hostlist -s 2 'n[1-4]'
	assert_output_is 'n[1-2]'
	try scr_hostlist -s -2 'n[1-4]'
	assert_output_is 'n[3-4]'
	try scr_hostlist -m 'n[1-4]' n2 n4
	assert_output_is 'n[1,3]'
	try scr_hostlist -i 'n[1-4]' 'n[3-9]'
	assert_output_is 'n[3-4]'
	try scr_hostlist -m n1 n1
	assert_status 0
	assert_output_is ''
	try scr_hostlist -n 5 'n[1-4]'
	assert_status 1
	assert_stderr_one_line "no node 5 in a list of 4"
	try scr_hostlist -n 0 n1
	assert_usage_error "counted from 1"
	try scr_hostlist -m -i n1
	assert_usage_error
	try scr_hostlist 'n[3-1]'
	assert_status 2
	assert_stderr_one_line
}

# --- Healthy nodes ---

@test "down-nodes: no output if all nodes are healthy" {
	stub_ssh
	storage
	try scr_env down-nodes --remote ssh --nodes 'n[1-3]'
	assert_status 0
	assert_output_is ''
	[ -d shm ] && [ -d ssd ]
	# D: LLNL's tool prints an empty line.
	try scr_list_down_nodes -j srun --remote ssh 'n[1-3]'
	[ "$(scr_list_down_nodes -j srun --remote ssh n1 | wc -c)" = 0 ]
}

@test "down-nodes: dead, refusing, excluded, given; in bounded time" {
	stub_ssh
	storage
	export SCR_EXCLUDE_NODES=n4
	SECONDS=0
	try scr_list_down_nodes --remote ssh --timeout 2 -d n2 \
		'n[1-4],dead[1-3],gone1'
	assert_status 0
	assert_output_is 'n[2,4],dead[1-3],gone1'
	((SECONDS < 9))
	try scr_list_down_nodes -r --remote ssh --timeout 2 -d n2 'n[1-4],gone1'
	assert_line_count 3
	assert_output_has 'n2: Specified as down' \
		'n4: User excluded via SCR_EXCLUDE_NODES' 'gone1: ' 'No route'
	try scr_env down-nodes --json --remote ssh --timeout 2 n1 n4
	assert_output_has '"state": "excluded"' '"usable": true'
}

@test "down-nodes: templates with sizes (D2), small and missing storage" {
	stub_ssh
	mkdir base
	printf '%s\n' "CNTLDIR=$PWD/base BYTES=1" \
		"CACHEDIR=$PWD/base BYTES=1KB" >.scrconf
	try scr_env down-nodes -r --remote ssh n1
	assert_status 0
	assert_output_is ''
	printf '%s\n' "CNTLDIR=$PWD/base BYTES=1" \
		"CACHEDIR=$PWD/base BYTES=900PB" >.scrconf
	try scr_env down-nodes -r --remote ssh n1
	assert_output_has 'n1: small: ' 'needed'
	# A cache that is too small can still be read.
	try scr_env down-nodes -r --read --remote ssh n1
	assert_output_is ''
	printf '%s\n' "CNTLDIR=$PWD/base" "CACHEDIR=/proc/none" >.scrconf
	try scr_env down-nodes -r --remote ssh n1
	assert_output_has 'n1: missing: /proc/none: '
}

@test "down-nodes: events in the log" {
	stub_ssh
	mkdir p
	echo 'SCR_LOG_ENABLE=1 ' >p/.scrconf
	echo 'SCR_LOG_SYSLOG_ENABLE=0' >>p/.scrconf
	try scr_list_down_nodes -p p -l -s 12 --remote ssh -d n1 n1 --job-id 9
	assert_status 0
	grep -q 'jobid=9, event=NODE_FAIL, note="n1: Specified as down", secs=12.0' \
		p/.scr/log
}

@test "down-nodes: no nodes, unknown launcher" {
	try scr_list_down_nodes
	assert_status 1
	assert_stderr_one_line "SCR_NODELIST"
	try scr_list_down_nodes --remote carrier-pigeon n1
	assert_status 2
	assert_stderr_one_line "carrier-pigeon"
}

@test "check-node: PASS, or why not" {
	try scr_check_node --cntl "$PWD/a,$PWD/b:1024" --cache "$PWD/c"
	assert_status 0
	assert_output_is "scr_check_node: PASS"
	[ -d a ] && [ -d b ] && [ -d c ] && [ -z "$(ls -A a)" ]
	try scr_env check-node --cache "$PWD/with, comma:1K"
	assert_status 0
	[ -d "with, comma" ]
	try scr_check_node --cache "$PWD/c:900PB" --cntl /proc/none
	assert_status 1
	assert_line_count 2
	assert_output_has "scr_check_node: FAIL: small: $PWD/c: " \
		"scr_check_node: FAIL: missing: /proc/none: "
	try scr_env check-node --read --cache "$PWD/d"
	assert_status 1
	[ ! -e d ]
}

# --- Exit or continue ---

@test "should-exit: 0 stop, 1 go on, 2 cannot tell" {
	mkdir -p p
	try scr_should_exit -p p
	assert_status 1
	assert_output_is ''
	try scr_should_exit -p p --runs 1
	assert_status 1
	try scr_should_exit -p p --runs -1
	assert_status 1
	try scr_should_exit -p p --runs -2
	assert_usage_error -2
	try scr_should_exit -p p --runs many
	assert_usage_error many
	try scr_should_exit -p p --runs 0
	assert_status 0
	assert_output_is 'runs_remaining=0'
	SCR_NODELIST='n[1-4]' try scr_should_exit -p p --down n1 --min-nodes 4
	assert_status 0
	assert_output_is 'nodes_remaining=3 < nodes_needed=4'
	SCR_NODELIST='n[1-4]' try scr_should_exit -p p --down n1 --min-nodes 3
	assert_status 1
	SCR_NODELIST='n[1-4]' try scr_should_exit -p p --down n1
	assert_status 0
	echo SCR_MIN_NODES=2 >p/.scrconf
	SCR_NODELIST='n[1-4]' try scr_should_exit -p p --down n1
	assert_status 1
	# C: an internal error must not mean "continue".
	try scr_should_exit -p p --down n1
	assert_status 2
	assert_stderr_one_line "SCR_NODELIST"
	try scr_should_exit -p p --down 'n['
	assert_status 2
	echo SCR_MIN_NODES=few >p/.scrconf
	SCR_NODELIST='n[1-4]' try scr_should_exit -p p --down n1
	assert_status 2
	assert_stderr_has SCR_MIN_NODES few
}

@test "should-exit: as many nodes as the last run had" {
	saved
	rm p/.scr/halt.scr
	SCR_NODELIST='n[1-5]' try scr_should_exit -p p --down n1
	assert_status 1
	SCR_NODELIST='n[1-5]' try scr_should_exit -p p --down n1,n2
	assert_status 0
	assert_output_is 'nodes_remaining=3 < nodes_needed=4'
	echo junk >p/.scr/nodes.scr
	SCR_NODELIST='n[1-5]' try scr_should_exit -p p --down n1
	assert_status 2
	assert_stderr_has nodes.scr
}

@test "retries-halt: a reason, none, and a damaged file (D12)" {
	mkdir -p p/.scr
	try scr_retries_halt --dir p
	assert_status 1
	assert_output_has "CONTINUE RUN"
	rm -r p
	saved
	try scr_retries_halt --dir p
	assert_status 0
	assert_output_has "HALT RUN: Reason: SCR_FINALIZE_CALLED."
	try scr_should_exit -p p
	assert_status 0
	assert_output_has "SCR_FINALIZE_CALLED"
	echo junk >p/.scr/halt.scr
	try scr_retries_halt -d p
	assert_status 0
	try scr_should_exit -p p
	assert_status 0
}

@test "retries-halt: the prefix decides, not the working directory" {
	mkdir -p p/.scr elsewhere
	scr_halt -b "@$(($(date +%s) + 50))" p
	echo SCR_HALT_SECONDS=100000 >p/.scrconf
	try scr_retries_halt --dir p
	assert_status 0
	(cd elsewhere && scr_retries_halt --dir ../p)
}

# --- Files of a prefix ---

@test "flush-file: lists, places, names" {
	saved
	try scr_flush_file --dir p --list-output
	assert_output_is 3
	try scr_flush_file --dir p --list-ckpt
	assert_output_is "5 3"
	try scr_flush_file -d p --list-ckpt --before 5
	assert_output_is 3
	try scr_flush_file -d p -c -b 3
	assert_status 1
	assert_output_is ''
	try scr_env flush-file -p p -c -b 3
	assert_status 0
	assert_output_is ''
	try scr_flush_file -d p --latest
	assert_output_is 5
	try scr_flush_file -d p --location 5
	assert_output_is PFS
	try scr_env flush-file -p p --location 5
	assert_output_is 'PFS CACHE'
	try scr_flush_file -d p -L 4
	assert_status 1
	assert_output_is NONE
	try scr_flush_file -d p -s 3
	assert_output_is both.3
	try scr_flush_file -d p -s 99
	assert_status 1
	try scr_flush_file -d p --need-flush 5
	assert_status 1
	try scr_env flush-file -p p --json
	assert_output_has '"name": "both.3"' '"needs_flush": false'
	rm -rf p
	unsaved
	try scr_flush_file -d p --need-flush 1
	assert_status 0
	assert_output_is ''
}

@test "flush-file: usage errors, and options that were removed" {
	saved
	try scr_flush_file -d p
	assert_usage_error "no query given"
	# D: LLNL's tool accepts two operations and ignores one of them.
	try scr_flush_file -d p --latest --list-ckpt
	assert_usage_error
	try scr_flush_file -d p --location abc
	assert_usage_error "abc"
	try scr_flush_file -d p --location 99999999999
	assert_usage_error
	try scr_flush_file -d p --latest --before 3
	assert_usage_error "--before needs"
	try scr_flush_file -d p --resume -s 5
	assert_usage_error "scr_postrun"
	try scr_flush_file -d p --summary -s 5
	assert_usage_error "scr_index --build 5"
	try scr_flush_file -d none --latest
	assert_status 1
	assert_stderr_one_line "none/.scr"
	echo junk >p/.scr/flush.scr
	try scr_flush_file -d p --latest
	assert_status 1
	assert_stderr_one_line "p/.scr" flush.scr
}

@test "flush-file: a prefix with a blank (D4)" {
	saved
	mv p "run 5"
	try scr_flush_file -d "run 5" --list-ckpt
	assert_output_is "5 3"
	SCR_PREFIX="run 5" try scr_env flush-file --latest
	assert_output_is 5
}

@test "nodes-file" {
	saved
	try scr_nodes_file --dir p
	assert_status 0
	assert_output_is 4
	cp p/.scr/flush.scr p/.scr/nodes.scr
	try scr_nodes_file --dir p
	assert_status 1
	assert_output_is 0
}

@test "log-event and log-transfer: lines as LLNL's" {
	mkdir p
	try scr_log_event -p p -T RUN_START
	assert_status 0
	[ ! -e p/.scr ]
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	try scr_log_event -p p -u me -j name -i 7 -s 1 -T RUN_END -N 'run="1"' \
		-D 3 -n 'ckpt, 3' -S 0 -L 1.5
	assert_status 0
	assert_output_is ''
	grep -qxE '1970-01-01T00:00:00: host=[^,]*, jobid=7, event=RUN_END, note="run="1"", dset=3, name="ckpt, 3", secs=1.500000' \
		p/.scr/log
	# C: LLNL's tool limits numbers to 32 bits.
	try scr_log_transfer -p p -i 7 -T FLUSH_SYNC -X /a -Y '/b c' \
		-B 3000000000 -F 5 -S 100
	assert_status 0
	grep -q 'xfer=FLUSH_SYNC, from=/a, to=/b c, bytes=3000000000.000000, files=5$' \
		p/.scr/log
	# The job id is optional.
	try scr_env log-event -p p -T RUN_START -S '2026-11-20 10:00'
	assert_status 0
	grep -q '^2026-11-20T10:00:00: .*jobid=p-[0-9a-f]*, event=RUN_START$' \
		p/.scr/log
	(($(wc -l <p/.scr/log) == 3))
	try scr_log_event -p none -T X
	assert_status 1
	assert_stderr_one_line none
	try scr_log_event -p p -T X -L soon
	assert_usage_error soon
}

@test "interval: Daly, Young, percent, from a real log" {
	local daly young percent

	saved
	daly=$(scr_env interval -p p)
	young=$(scr_ckpt_interval --prefix p --model young)
	((daly > 0 && young > daly))
	percent=$(scr_ckpt_interval --prefix p --percent)
	[[ $percent =~ ^[0-9]+\.[0-9]$ && $percent != 10.0 ]]
	try scr_env interval --logfile p/.scr/log --stats
	assert_output_has "runs: 1, " "flushes of checkpoints: 3, "
	try scr_env interval -p p --json
	assert_status 0
	assert_output_has '"model": "daly"' '"interval_seconds": '
}

@test "interval: an error without data" {
	mkdir p
	try scr_env interval -p p
	assert_status 1
	assert_output_is ''
	assert_stderr_one_line p/.scr/log
	try scr_ckpt_interval --prefix p
	assert_status 1
	assert_output_is ''
	# Scripts set SCR_CHECKPOINT_OVERHEAD to this.
	try scr_ckpt_interval --prefix p --percent
	assert_status 0
	assert_output_is 10.0
	assert_stderr_one_line "10.0 is assumed"
	try scr_env interval --prefix p --percent
	assert_status 1
}

@test "crc32: as LLNL's prints it" {
	printf 123456789 >a
	: >b
	try scr_crc32 a
	assert_output_is cbf43926
	try scr_crc32 b
	assert_output_is 0
	try scr_env crc32 a b
	assert_output_is $'cbf43926  a\n00000000  b'
	try scr_crc32 none
	assert_status 1
	assert_stderr_one_line none
}

@test "a full disk is an error" {
	[ -w /dev/full ] || skip "no /dev/full"
	run bash -c 'scr_env user 2>&1 >/dev/full'
	[ "$status" = 1 ]
	[[ $output == *"cannot write"* ]]
}

# --- doctor ------------------------------------------------------------------

# healthy OPTION...: doctor of a job on this machine.
healthy() {
	SCR_CHECKPOINT_SECONDS=0 SCR_JOB_ID=7 SCR_END_TIME=$(($(date +%s) + 600)) SCR_CACHE_BASE=$PWD/c \
		SCR_CNTL_BASE=$PWD/c try scr_env doctor -p p \
		--nodes "$(uname -n)" --remote local "$@"
}

@test "doctor: all is well; JSON of the same" {
	mkdir -p p c
	healthy
	assert_status 0
	assert_stderr_empty
	[[ $(grep -c '^ok ' <<<"$output") -eq 8 ]] || failed "$output"
	[[ $output != *warning* && $output != *failed* ]]
	assert_output_has "1 of 1 answered" "next: scr_postrun -p $PWD/p --plan"
	[[ -z $(find p -type f) ]] || failed "files are left"
	healthy --json
	assert_status 0
	[[ $(jq -r '.status, (.checks | length), .next' <<<"$output" |
		paste -sd ' ') == "0 8 scr_postrun -p $PWD/p --plan" ]]
}

@test "doctor: each thing that is wrong has its remedy" {
	local node

	node=$(uname -n)
	mkdir -p p c
	try scr_env doctor -p p --nodes "$node" --remote local
	assert_status 0
	assert_output_has "warning  job" "--job-id" "warning  end" SCR_END_TIME \
		"warning  checkpoints" "one is due every 600 seconds"
	rmdir p
	healthy
	assert_status 1
	assert_output_has "failed   prefix" "scr_prerun -p $PWD/p"
	mkdir p
	# Another version, and a wrong clock.
	# shellcheck disable=SC2016 # for sh
	printf '#!/bin/sh\n[ "$1" = probe ] || exec scr_env "$@"\necho 0.0.1 5\n' \
		>helper
	chmod +x helper
	healthy --helper "$PWD/helper"
	assert_status 1
	assert_output_has "failed   version     $node: install" \
		"warning  clock       $node: set the clock"
	# A node that is not there; the directories of another.
	healthy --helper "$PWD/nothing"
	assert_status 1
	assert_output_has "failed   node        $node" "0 of 1 answered"
	rmdir c
	touch c
	healthy
	assert_status 1
	assert_output_has "failed   directories $node" SCR_CACHE_BASE
	try scr_env doctor -p p --remote local
	assert_status 1
	assert_output_has "failed   nodes" --nodes
	[[ $output != *next:* ]] || failed "scr_postrun has no nodes, either"
	(ulimit -n 100 && healthy && echo "$output" >limits) || true
	grep -q "warning  limits .*ulimit -n" limits
	[[ $(scr_env probe) =~ ^[0-9.]+\ [0-9]+$ ]]
}
