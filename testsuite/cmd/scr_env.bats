#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# scr_env: its verbs, and LLNL's names of them.

load helper

# A prefix as LLNL's library left it: two datasets, both saved; or another one.
saved() {
	local dir

	dir=$(golden "scr3/${1-index_multi/prefix_after_run}")
	taken "$dir"
}

# Directories of the job that can be made on this machine.
storage() {
	export SCR_CNTL_BASE=$PWD/shm SCR_CACHE_BASE=$PWD/ssd
}

@test "usage errors; --help lists the verbs, and each has its own" {
	misused "no verb given" scr_env
	misused "frobnicate: no such verb" scr_env frobnicate
	misused "no such verb; did you mean down-nodes?" scr_env down-node
	misused "give the verb before all options" scr_env -v conf SCR_FLUSH
	misused "no node list given" scr_env hostlist
	misused "extra: unexpected argument" scr_env user extra
	misused "control or cache" scr_list_dir
	misused "both: neither control nor cache" scr_list_dir both
	misused "no event given" scr_env log-event
	misused "'--jobid' needs a value" scr_log_event -i
	misused "'--start' needs a value" scr_log_transfer -T X -S
	misused "no file given" scr_crc32
	misused "best is neither daly nor young" scr_env interval --model best
	misused "not a --logfile" scr_env log --db x --logfile y
	verbs=$(scr_env --help | sed -n 's/^  \([a-z][a-z0-9-]*\)  .*/\1/p')
	(($(wc -w <<<"$verbs") >= 18))
	for verb in $verbs; do
		shows "Usage: scr_env $verb" scr_env "$verb" --help
	done
}

@test "LLNL's names work, and appear in messages" {
	for name in check_node ckpt_interval crc32 flush_file hostlist \
		list_dir list_down_nodes log_event log_transfer nodes_file \
		retries_halt should_exit; do
		shows "Usage: scr_$name" "scr_$name" --help
	done
	complains 1 "scr_nodes_file: ;none/.scr" scr_nodes_file --dir none
	ln -s "$BIN/scr_env" scr_hostlist.py
	prints 'n[1-2]' ./scr_hostlist.py 'n[1-2]'
}

@test "who, which, when: one line each, with a newline" {
	prints me scr_env user
	SCR_JOB_ID=77 prints 77 scr_env job-id
	prints 78 scr_env job-id --job-id 78
	SCR_END_TIME=5000000000 prints 5000000000 scr_env end-time
	SCR_JOB_ID=77 SCR_END_TIME=9 SCR_NODELIST='n[1-3]' try scr_env -u -j -e -n
	assert_output_is $'me\n77\n9\nn1,n2,n3'
	# D: LLNL's tool prints no newline, and crashes without USER.
	[ "$(env -u USER scr_env user | wc -l)" = 1 ]
}

@test "--resource-manager, and --resmgr as it was once called" {
	export SLURM_JOB_ID=9
	prints 9 scr_env job-id --resource-manager slurm
	try scr_env job-id --resource-manager none
	[[ $output == "$(basename "$PWD")"-* ]]
	none=$output
	prints "$none" scr_env job-id --resmgr none
	complains 2 condor scr_env job-id --resource-manager condor
}

@test "nodes: given, set, or none" {
	prints 'r1i0n[0-3],vm' scr_env nodes --nodes 'r1i0n[0-3],vm'
	prints n08,n09,n10 scr_env nodes -e --nodes 'n[08-10]'
	prints 3 scr_env nodes --count --nodes 'n[08-10]'
	echo "SCR_NODELIST=a,b" >.scrconf
	prints a,b scr_env nodes
	rm .scrconf
	complains 1 "SCR_NODELIST" scr_env nodes
}

@test "directories, also of a prefix elsewhere" {
	mkdir -p "else where"
	printf '%s\n' 'SCR_CNTL_BASE=/cntl' 'CACHEDIR=/ssd BYTES=1GB' \
		'CACHEDIR=/nvme' >"else where/.scrconf"
	prints /cntl/me/scr.5 scr_env cntl-dir -p "else where" --job-id 5
	shows "/ssd;/nvme" scr_env cache-dir -b -p "else where"
	try scr_list_dir -p "else where" cache
	assert_line_count 1
	assert_output_has /ssd/me/scr.else_where- " /nvme/me/scr.else_where-"
	prints /cntl scr_list_dir -b -p "else where" control
}

@test "conf: values and where they come from" {
	echo 'SCR_FLUSH=7' >.scrconf
	printf '%s\n' 'STORE=/ssd GROUP=NODE COUNT=2' 'STORE=/nvme' >>.scrconf
	shows "SCR_FLUSH=7;.scrconf" scr_env conf SCR_FLUSH
	SCR_FLUSH=8 try scr_env conf SCR_FLUSH
	assert_output_is $'SCR_FLUSH=8\tenvironment\tcheckpoints'
	prints 7 scr_env conf --value SCR_FLUSH
	try scr_env conf STORE
	assert_line_count 2
	assert_output_has 'STORE=/ssd GROUP=NODE COUNT=2' 'STORE=/nvme'
	finds 1 SCR_FLUSH=7 scr_env conf SCR_NO_SUCH SCR_FLUSH
	assert_stderr_one_line "SCR_NO_SUCH: not set"
	ends 0 scr_env conf
	assert_output_has 'SCR_FLUSH=7' $'built in'
	try scr_env conf --json SCR_FLUSH
	assert_output_has '"value": "7"' '"source": '
}

@test "conf: all in force, with unit, file and line" {
	at=$PWD/.scrconf
	printf '%s\n' '# mine' '' 'SCR_FLUSH=7' 'SCR_FLUSH=8' 'CKPT=0 TYPE=XOR' \
		'SCR_CRC_ON_COPY=1' 'SCR_GROUP=POWER' >.scrconf
	export SCR_HALT_SECONDS=60 SCR_JOB_ID=9
	calm scr_env conf -p "$PWD" --user me
	assert_output_has $'SCR_FLUSH=7\t'"$at:3"$'\tcheckpoints\n' \
		$'SCR_HALT_SECONDS=60\tenvironment\tseconds\n' \
		$'SCR_MPI_BUF_SIZE=1048576\tbuilt in\tbytes\n' \
		$'SCR_GROUP=POWER\t'"$at:7"$'\n' $'CKPT=0 TYPE=XOR\t'"$at:5" \
		$'SCR_CRC_ON_COPY=1\t'"$at:6"$'\tno effect\n' \
		$'SCR_RESTART_ATTEMPTS=3\tbuilt in\trestarts\n' \
		$'SCR_COPY_METADATA=1\tbuilt in\n'
	# Found out, or given by an option.
	assert_output_has "SCR_PREFIX=$PWD"$'\tgiven\n' \
		$'SCR_USER_NAME=me\tgiven\n' $'SCR_JOB_ID=9\tenvironment\n'
	# Without effect, and not set.
	[[ $output != *SCR_LOG_DB_USER* && $output != *SCR_CURRENT* ]]
	try scr_env conf -p "$PWD" --json SCR_FLUSH SCR_GROUP SCR_CRC_ON_COPY
	[[ $(jq -r '.parameters[] | "\(.name) \(.value) \(.line) \(.unit) \(
		.ignored)"' <<<"$output") == "SCR_FLUSH 7 3 checkpoints false
SCR_GROUP POWER 7 null false
SCR_CRC_ON_COPY 1 6 null true" ]]
}

@test "conf: a value that does not parse, an unknown parameter" {
	printf '%s\n' '' 'SCR_SET_SIZE=many' 'SCR_FLUHS=1' 'SCR_FLUHS=2' >.scrconf
	shows $'SCR_SET_SIZE=8\tbuilt in\tranks\n' scr_env conf -p "$PWD"
	assert_stderr_has \
		"SCR_SET_SIZE from $PWD/.scrconf:2: \"many\"" "8 is used instead"
	[[ $(grep -c "$PWD/.scrconf:3: unknown parameter SCR_FLUHS; did you mean SCR_FLUSH?" \
		<<<"$stderr") -eq 1 && $stderr != *:4:* ]] || failed "the name"
	printf '%s\n' 'CKPT=0 TYPE=XOR' 'CKPT=1 TYEP=RS INTERVAL=2' \
		'STORE=/ssd COLOUR=red COUNT=2' 'GROUPS=a ANY=1' >>.scrconf
	ends 0 scr_env conf -p "$PWD" CKPT
	assert_stderr_has \
		"$PWD/.scrconf:6: CKPT=1: unknown property TYEP; did you mean TYPE?" \
		"$PWD/.scrconf:7: STORE=/ssd: unknown property COLOUR"
	[[ $(grep -c property <<<"$stderr") -eq 2 ]] || failed "two properties"
	# Each command says so, once.
	try scr_prerun -p "$PWD"
	[[ $(grep -c "unknown parameter SCR_FLUHS" <<<"$stderr") -eq 1 ]] ||
		failed "scr_prerun"
}

@test "hostlist: any name, nothing lost" {
	try scr_hostlist x1000c0s0b0n0,x1000c0s0b0n1 vm ip-10-0-0-1
	assert_output_is 'x1000c0s0b0n[0-1],vm,ip-10-0-0-1'
	prints 'nid[00008-00010]' scr_hostlist nid00008 'nid[00009-00010]'
	prints n1,n2,n3 scr_hostlist -e 'n[1-2]' n2 n3
	prints n1,n2,n2 scr_hostlist --repeats -e 'n[1-2]' n2
	prints 'n1 n2' scr_hostlist -e -d ' ' 'n[1-2]'
	prints 100 scr_hostlist -c 'n[1-100]'
	prints n2 scr_hostlist -n 2 'n[1-4]'
	prints n4 scr_hostlist -n -1 'n[1-4]'
	prints 'n[1-2]' scr_hostlist -s 2 'n[1-4]'
	prints 'n[3-4]' scr_hostlist -s -2 'n[1-4]'
	prints 'n[1,3]' scr_hostlist -m 'n[1-4]' n2 n4
	prints 'n[3-4]' scr_hostlist -i 'n[1-4]' 'n[3-9]'
	prints '' scr_hostlist -m n1 n1
	complains 1 "no node 5 in a list of 4" scr_hostlist -n 5 'n[1-4]'
	misused "counted from 1" scr_hostlist -n 0 n1
	misused '' scr_hostlist -m -i n1
	ends 2 scr_hostlist 'n[3-1]'
	assert_stderr_one_line
}

@test "down-nodes: no output if all nodes are healthy" {
	stub_ssh
	storage
	prints '' scr_env down-nodes --remote ssh --nodes 'n[1-3]'
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
	prints 'n[2,4],dead[1-3],gone1' scr_list_down_nodes --remote ssh \
		--timeout 2 -d n2 'n[1-4],dead[1-3],gone1'
	((SECONDS < 9))
	SCR_NODE_TIMEOUT=2 try scr_list_down_nodes -r --remote ssh -d n2 'n[1-4],gone1'
	assert_line_count 3
	assert_output_has 'n2: Specified as down' \
		'n4: User excluded via SCR_EXCLUDE_NODES' 'gone1: ' 'No route'
	try scr_env down-nodes --json --remote ssh --timeout 2 n1 n4
	assert_output_has '"state": "excluded"' '"usable": true'
}

@test "down-nodes: what each node's check says, also to those who only read" {
	local list=good1,full1,worse1,odd1,gone1,dead1,good2,dead2,good3

	stub_ssh
	stub helper <<-'END'
		#!/bin/sh
		echo "$NODE $*" >>asked
		echo 'Welcome to this machine'
		case $NODE in
		full* | worse*) echo 'scr_check_node: FAIL: full: /ssd: No space left' ;;
		odd*) echo 'oh dear' >&2; exit 7 ;;
		esac
		case $NODE in
		full*) exit 1 ;;
		worse*) echo 'scr_check_node: FAIL: missing: /x: gone'; exit 1 ;;
		esac
		echo 'scr_check_node: PASS'
	END
	export SCR_EXCLUDE_NODES=good2,dead2 SCR_CNTL_BASE=/shm SCR_JOB_ID=1
	export SCR_CACHE_BASE="/ssd with blank"
	ask() {
		ends 0 scr_env down-nodes --remote ssh --timeout 1 \
			--helper "$PWD/stub/helper" -d good3 "$@" $list
	}
	states() { # STATE of each node, with these options of `ask`
		ask --json "${@:10}"
		[[ $(jq -r '.nodes[].state' <<<"$output" | xargs) == "${*:1:9}" ]]
	}
	SECONDS=0
	ask -r
	((SECONDS < 8)) # a dead node holds nobody up
	assert_output_is "full1: full: /ssd: No space left
worse1: full: /ssd: No space left; missing: /x: gone
odd1: its check failed, status 7: oh dear
gone1: Failed to echo UP: ssh: connect to host gone1 port 22: No route
dead1: Failed to echo UP: not done within 1 s
good2,dead2: User excluded via SCR_EXCLUDE_NODES
good3: Specified as down"
	# Those known to be bad are not asked.
	[[ $(sort asked) == "$(printf \
		'%s1 check-node --cntl /shm:0 --cache /ssd with blank:0\n' full good odd worse)" ]]
	ask
	assert_output_is full1,worse1,odd1,gone1,dead1,good2,dead2,good3
	states ok full missing unreachable unreachable unreachable excluded excluded \
		specified
	ask -r --read
	assert_output_has "missing: /x: gone;dead2: User excluded via SCR_EXCLUDE_NODES; Failed"
	assert_output_lacks full1 good2
	states ok full missing unreachable unreachable unreachable ok excluded specified \
		--read
	SCR_EXCLUDE_NODES='a[1-' complains 2 "SCR_EXCLUDE_NODES from environment" \
		scr_env down-nodes --remote ssh n1
	complains 1 ssh env PATH="$BIN" scr_env down-nodes --remote ssh n1
}

@test "down-nodes: templates with sizes (D2), small and missing storage; no nodes" {
	stub_ssh
	mkdir base
	printf '%s\n' "CNTLDIR=$PWD/base BYTES=1" \
		"CACHEDIR=$PWD/base BYTES=1KB" >.scrconf
	prints '' scr_env down-nodes -r --remote ssh n1
	printf '%s\n' "CNTLDIR=$PWD/base BYTES=1" \
		"CACHEDIR=$PWD/base BYTES=900PB" >.scrconf
	shows "n1: small: ;needed" scr_env down-nodes -r --remote ssh n1
	# A cache that is too small can still be read.
	prints '' scr_env down-nodes -r --read --remote ssh n1
	printf '%s\n' "CNTLDIR=$PWD/base" "CACHEDIR=/proc/none" >.scrconf
	shows 'n1: missing: /proc/none: ' scr_env down-nodes -r --remote ssh n1
	rm .scrconf
	complains 1 "SCR_NODELIST" scr_list_down_nodes
	complains 2 "carrier-pigeon" scr_list_down_nodes --remote carrier-pigeon n1
}

@test "down-nodes: events in the log" {
	stub_ssh
	mkdir p
	echo 'SCR_LOG_ENABLE=1 ' >p/.scrconf
	echo 'SCR_LOG_SYSLOG_ENABLE=0' >>p/.scrconf
	scr_list_down_nodes -p p -l -s 12 --remote ssh -d n1 n1 --job-id 9
	grep -q 'jobid=9, event=NODE_FAIL, note="n1: Specified as down", secs=12.0' \
		p/.scr/log
}

@test "check-node: PASS, or why not" {
	prints "scr_check_node: PASS" scr_check_node \
		--cntl "$PWD/a,$PWD/b:1024" --cache "$PWD/c"
	[ -d a ] && [ -d b ] && [ -d c ] && [ -z "$(ls -A a)" ]
	scr_env check-node --cache "$PWD/with, comma:1K"
	[ -d "with, comma" ]
	ends 1 scr_check_node --cache "$PWD/c:900PB" --cntl /proc/none
	assert_line_count 2
	assert_output_has "scr_check_node: FAIL: small: $PWD/c: " \
		"900.0 PiB needed" "scr_check_node: FAIL: missing: /proc/none: "
}

@test "check-node: what a directory is fit for" {
	((EUID == 0)) || skip "nothing may be mounted read-only"
	privately && return
	mkdir c small
	: >file
	mount -t tmpfs -o size=256k none small
	while IFS='|' read -r deed args want; do
		echo "$deed|$args"
		eval "$deed"
		# shellcheck disable=SC2086 # an option, or none
		try scr_env check-node ${args% *} --cache "${args##* }"
		[[ $output == *"${want:-PASS}"* && $status == $((${#want} > 0)) ]] ||
			failed "$want"
	done <<-END
		|--read $PWD/d|FAIL: missing: $PWD/d: No such file
		[[ ! -e d ]]|--read $PWD/c:900PB|
		|-f $PWD/c:1|
		| $PWD/file|FAIL: missing: $PWD/file
		| c|not an absolute path
		|--read /proc/self|
		| /sys/kernel|FAIL: unwritable: /sys/kernel
		| $PWD/small:200K|
		| $PWD/small:1M|FAIL: small: $PWD/small
		head -c 192K /dev/zero >small/x| $PWD/small:200K|
		|-f $PWD/small:200K|FAIL: full: $PWD/small
		head -c 64K /dev/zero >small/y| $PWD/small:200K|FAIL: full: $PWD/small: No space left
		|--read $PWD/small:200K|
		mount -o remount,ro small| $PWD/small|FAIL: unwritable: $PWD/small
	END
}

@test "should-exit: 0 stop, 1 go on, 2 cannot tell" {
	mkdir -p p
	yields 1 '' scr_should_exit -p p
	ends 1 scr_should_exit -p p --runs 1
	ends 1 scr_should_exit -p p --runs -1
	misused -2 scr_should_exit -p p --runs -2
	misused many scr_should_exit -p p --runs many
	prints 'runs_remaining=0' scr_should_exit -p p --runs 0
	# C: an internal error must not mean "continue".
	complains 2 "SCR_NODELIST" scr_should_exit -p p --down n1
	export SCR_NODELIST='n[1-4]'
	ends 2 scr_should_exit -p p --down 'n['
	ends 0 scr_should_exit -p p --down n1 --min-nodes 4
	assert_output_is 'nodes_remaining=3 < nodes_needed=4'
	ends 1 scr_should_exit -p p --down n1 --min-nodes 3
	ends 0 scr_should_exit -p p --down n1
	echo SCR_MIN_NODES=2 >p/.scrconf
	ends 1 scr_should_exit -p p --down n1
	echo SCR_MIN_NODES=few >p/.scrconf
	warns 2 "SCR_MIN_NODES;few" scr_should_exit -p p --down n1
}

@test "retries-halt: a reason, none, damaged (D12); should-exit: as many nodes as last" {
	mkdir -p p/.scr
	finds 1 "CONTINUE RUN" scr_retries_halt --dir p
	saved
	shows "HALT RUN: Reason: SCR_FINALIZE_CALLED." scr_retries_halt --dir p
	shows "SCR_FINALIZE_CALLED" scr_should_exit -p p
	echo junk >p/.scr/halt.scr
	ends 0 scr_retries_halt -d p
	ends 0 scr_should_exit -p p
	saved
	rm p/.scr/halt.scr
	export SCR_NODELIST='n[1-5]'
	ends 1 scr_should_exit -p p --down n1
	prints 'nodes_remaining=3 < nodes_needed=4' scr_should_exit -p p --down n1,n2
	echo junk >p/.scr/nodes.scr
	warns 2 nodes.scr scr_should_exit -p p --down n1
}

@test "flush-file: lists, places, names, a prefix with a blank (D4); nodes-file" {
	saved
	prints 3 scr_flush_file --dir p --list-output
	prints "5 3" scr_flush_file --dir p --list-ckpt
	prints 3 scr_flush_file -d p --list-ckpt --before 5
	yields 1 '' scr_flush_file -d p -c -b 3
	prints '' scr_env flush-file -p p -c -b 3
	prints 5 scr_flush_file -d p --latest
	prints PFS scr_flush_file -d p --location 5
	prints 'PFS CACHE' scr_env flush-file -p p --location 5
	yields 1 NONE scr_flush_file -d p -L 4
	prints both.3 scr_flush_file -d p -s 3
	ends 1 scr_flush_file -d p -s 99
	ends 1 scr_flush_file -d p --need-flush 5
	try scr_env flush-file -p p --json
	assert_output_has '"name": "both.3"' '"needs_flush": false'
	saved xor_4/cache/prefix
	prints '' scr_flush_file -d p --need-flush 1
	saved
	mv p "run 5"
	prints "5 3" scr_flush_file -d "run 5" --list-ckpt
	SCR_PREFIX="run 5" prints 5 scr_env flush-file --latest
	saved
	prints 4 scr_nodes_file --dir p
	cp p/.scr/flush.scr p/.scr/nodes.scr
	yields 1 0 scr_nodes_file --dir p
}

@test "flush-file: usage errors, and options that were removed" {
	saved
	misused "no query given" scr_flush_file -d p
	# D: LLNL's tool accepts two operations and ignores one of them.
	misused '' scr_flush_file -d p --latest --list-ckpt
	misused "abc" scr_flush_file -d p --location abc
	misused '' scr_flush_file -d p --location 99999999999
	misused "--before needs" scr_flush_file -d p --latest --before 3
	misused "resume" scr_flush_file -d p --resume -s 5
	misused "summary" scr_flush_file -d p --summary -s 5
	complains 1 "none/.scr" scr_flush_file -d none --latest
	echo junk >p/.scr/flush.scr
	complains 1 "p/.scr;flush.scr" scr_flush_file -d p --latest
}

@test "log-event and log-transfer: lines as LLNL's" {
	mkdir p
	ends 0 scr_log_event -p p -T RUN_START
	[ ! -e p/.scr ]
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	prints '' scr_log_event -p p -u me -j name -i 7 -s 1 -T RUN_END -N \
		'run="1"' -D 3 -n 'ckpt, 3' -S 0 -L 1.5
	grep -qxE '1970-01-01T00:00:00: host=[^,]*, jobid=7, event=RUN_END, note="run="1"", dset=3, name="ckpt, 3", secs=1.500000' \
		p/.scr/log
	# C: LLNL's tool limits numbers to 32 bits.
	ends 0 scr_log_transfer -p p -i 7 -T FLUSH_SYNC -X /a -Y '/b c' \
		-B 3000000000 -F 5 -S 100
	grep -q 'xfer=FLUSH_SYNC, from=/a, to=/b c, bytes=3000000000.000000, files=5$' \
		p/.scr/log
	# The job id is optional.
	ends 0 scr_env log-event -p p -T RUN_START -S '2026-11-20 10:00'
	grep -q '^2026-11-20T10:00:00: .*jobid=p-[0-9a-f]*, event=RUN_START$' p/.scr/log
	(($(wc -l <p/.scr/log) == 3))
	complains 1 none scr_log_event -p none -T X
	misused soon scr_log_event -p p -T X -L soon
}

@test "interval: Daly, Young, percent, from a real log; an error without data" {
	saved
	daly=$(scr_env interval -p p)
	young=$(scr_ckpt_interval --prefix p --model young)
	((daly > 0 && young > daly))
	percent=$(scr_ckpt_interval --prefix p --percent)
	[[ $percent =~ ^[0-9]+\.[0-9]$ && $percent != 10.0 ]]
	try scr_env interval --logfile p/.scr/log --stats
	assert_output_has "runs: 1, " "flushes of checkpoints: 3, "
	ends 0 scr_env interval -p p --json
	assert_output_has '"model": "daly"' '"interval_seconds": '
	rm -rf p
	mkdir p
	refuses 1 p/.scr/log scr_env interval -p p
	yields 1 '' scr_ckpt_interval --prefix p
	# Scripts set SCR_CHECKPOINT_OVERHEAD to this.
	prints 10.0 scr_ckpt_interval --prefix p --percent
	assert_stderr_one_line "10.0 is assumed"
	ends 1 scr_env interval --prefix p --percent
}

# happens TIME JOB TEXT: a line of the log.
happens() {
	echo "2026-11-20T$1: host=n1, jobid=$2, $3" >>p/.scr/log
}

# A job of two runs: one of ten minutes, which died after its second checkpoint,
# and one that ended.
two_runs() {
	mkdir -p p/.scr
	happens 10:00:00 7 'event=START, procs=8, nodes=2'
	happens 10:00:00 7 'event=COMPUTE_START'
	for id in 1 2; do
		happens 10:0$((id * 2)):00 7 'event=COMPUTE_END, secs=100.0'
		happens 10:0$((id * 2)):00 7 "event=CHECKPOINT_START, dset=$id, name=\"c, $id\""
		happens 10:0$((id * 2)):20 7 "event=CHECKPOINT_END, dset=$id, secs=20.0"
		happens 10:0$((id * 2)):00 7 "xfer=CHECKPOINT, from=/a, to=/b, dset=$id, name=\"c, $id\", secs=20.0, bytes=2097152.000000, files=8"
		happens 10:0$((id * 2)):20 7 'event=COMPUTE_START'
	done
	happens 10:06:00 7 'event=RUN_END, secs=360'
	happens 10:07:00 7 'event=START, procs=8, nodes=2'
	happens 10:07:30 7 'event=REBUILD_SUCCESS, dset=2, secs=29.5'
	happens 10:07:30 7 'event=RESTART_SUCCESS, dset=2, secs=30.0'
	happens 10:07:30 7 'event=COMPUTE_START'
	happens 10:10:00 7 'event=HALT, note="SCR_FINALIZE_CALLED"'
}

# tells ROW...: scr_env log prints these lines, among others; several blanks
# count as one.
tells() {
	ends 0 scr_env log -p p --datasets
	for row; do
		tr -s ' ' <<<"$output" | grep -qxF -e "$row" ||
			failed "not there: $row" "$output"
	done
}

@test "log: a job, its failures, its datasets" {
	two_runs
	tells "7 2026-11-20 10:00:00 2 1 ended 600 350.0 100.0 100.0 58 100.0 133.9" \
		"7 compute 3 0 350.0 ? ?" \
		"7 checkpoint 2 0 40.0 4194304 104857" \
		"7 rebuild 1 0 29.5 ? ?" \
		"7 1 2026-11-20 10:04:20 2026-11-20 10:06:00 2026-11-20 10:07:00 7 2 100.0 100.0 30" \
		"7 2 c, 2 checkpoint 1 0 20.0 2097152 104857"
	ends 0 scr_env log -p p --json
	jq -e '.log_failures[0] | .lost_milliseconds == 100000 and
		.restarted_from == 2 and .restart_seconds == 30' <<<"$output"
	# Without RUN_END: a range, or unknown.
	sed -i /RUN_END/d p/.scr/log
	tells "7 1 2026-11-20 10:04:20 ? 2026-11-20 10:07:00 7 2 0.0 160.0 30"
	sed -i '/RESTART_SUCC\|REBUILD/d' p/.scr/log
	tells "7 2026-11-20 10:00:00 2 1 ended 600 350.0 ? ? ? 100.0 119.7" \
		"7 1 2026-11-20 10:04:20 ? 2026-11-20 10:07:00 7 ? ? ? 30"
	# Several jobs, one of which may run; and what is no line.
	happens 11:00:00 8 'event=START'
	printf 'what?\n2026-11-20T11:00:01: host=n1, jobid=8, event=HA' >>p/.scr/log
	tells "8 2026-11-20 11:00:00 1 0 unknown 0 0.0 0.0 0.0 ? ? ?"
	assert_stderr_has "1 line of 17 skipped"
	ends 0 scr_env log -p p --job 8
	assert_output_lacks "compute"
	complains 1 "job 9: not in the log" scr_env log -p p --job 9
	rm p/.scr/log
	refuses 1 p/.scr/log scr_env log -p p
	: >empty
	prints '' scr_env log --logfile empty
	# Of LLNL's library.
	rm -rf p
	saved
	tells "1000 2026-11-20 23:00:11 1 0 ended 23 4.9 0.0 0.0 21 1.2 ?" \
		"1000 checkpoint 4 0 11.6 220684 18952" \
		"1000 flush 4 0 6.3 82664 13194"
}

# sql TEXT: what the database x answers, fields and rows separated by blanks.
sql() {
	python3 -c 'import sqlite3, sys
for row in sqlite3.connect("x").execute(sys.argv[1]): print(*row)' "$1" | xargs
}

@test "log: a database of SQLite, with LLNL's tables" {
	local who

	who=$(id -un)
	two_runs
	try scr_env log -v -p p --db x
	[[ $stderr != *"built without SQLite"* ]] || skip "built without SQLite"
	assert_status 0
	assert_stderr_has "x: 18 lines imported"
	[[ $(sql 'select u.name, n.name, start, prefix from jobs j
		join usernames u on u.id = username_id
		join jobnames n on n.id = jobname_id') == \
		"$who 7 2026-11-20 10:00:00 $PWD/p" ]]
	[[ $(sql 'select t.name, dset_id, dset_name, start, end, secs, bytes,
		files, bw, "from", "to" from transfers
		join types t on t.id = type_id where dset_id = 2') == \
		"CHECKPOINT 2 c, 2 2026-11-20 10:04:00 2026-11-20 10:04:20 20.0 2097152.0 8 104857.6 /a /b" ]]
	[[ $(sql 'select t.name, dset_id, start, secs, note from events e
		join types t on t.id = type_id order by e.id desc limit 2') == \
		"HALT None 2026-11-20 10:10:00 None SCR_FINALIZE_CALLED COMPUTE_START None 2026-11-20 10:07:30 None None" ]]
	# Only what is new, and whole; lines cannot speak to the database.
	warns 0 "x: 0 lines imported" scr_env log -v -p p --db x
	happens 11:00:00 "8'; drop table jobs" 'event=START'
	printf '2026-11-20T11:00:01: host=n, jobid=8, event=HAL' >>p/.scr/log
	warns 0 "x: 1 line imported" scr_env log -v -p p --db x
	echo 'T, note="b"' >>p/.scr/log
	# As it is configured.
	export SCR_LOG_DB_ENABLE=1 SCR_LOG_DB_NAME=$PWD/x
	warns 0 "x: 1 line imported" scr_env log -v -p p
	[[ $(sql 'select count(*), max(start) from events') == \
		"18 2026-11-20 11:00:01" ]] || failed "$(sql 'select * from events')"
	# Another prefix, with a job of the same id.
	mv p q && two_runs
	mkdir -p r && mv p/.scr r && rmdir p && mv q p
	warns 0 "18 lines imported" scr_env log -v -p r
	[[ $(sql 'select count(*) from jobs') == 4 ]]
	# A log that is older than what was imported, or was changed; a newer one.
	before=$(sql 'select count(*) from events')
	sed -i 1d p/.scr/log
	warns 1 "has changed since" scr_env log -p p
	[[ $(sql 'select count(*) from events') == "$before" ]]
	rm p/.scr/log
	happens 12:00:00 9 'event=START'
	warns 0 "x: 1 line imported" scr_env log -v -p p
	# What is no file, no database.
	SCR_LOG_DB_NAME=scr warns 0 "not the absolute path" scr_env log -p p
	echo "a text that is long enough to be no header of a database" >y
	warns 1 "y: file is not a database" scr_env log -p p --db y
	warns 1 "none/x: unable to open" scr_env log -p p --db none/x
}

@test "crc32: as LLNL's prints it; a full disk is an error" {
	printf 123456789 >a
	: >b
	prints cbf43926 scr_crc32 a
	prints 0 scr_crc32 b
	prints $'cbf43926  a\n00000000  b' scr_env crc32 a b
	complains 1 none scr_crc32 none
	[ -w /dev/full ] || skip "no /dev/full"
	run bash -c 'scr_env user 2>&1 >/dev/full'
	[[ "$status" == 1 && $output == *"cannot write"* ]]
}

# healthy STATUS OPTION...: doctor of a job on this machine.
healthy() {
	SCR_CHECKPOINT_SECONDS=0 SCR_JOB_ID=7 SCR_END_TIME=$((EPOCHSECONDS + 600)) \
		SCR_CACHE_BASE=$PWD/c SCR_CNTL_BASE=$PWD/c ends "$1" scr_env \
		doctor -p p --nodes "$(uname -n)" --remote local "${@:2}"
}

@test "doctor: all is well; JSON of the same" {
	mkdir -p p c
	healthy 0
	[[ $(grep -c '^ok ' <<<"$output") -eq 8 ]] || failed "$output"
	[[ $output != *warning* && $output != *failed* ]]
	assert_output_has "1 of 1 answered"
	[[ $stderr =~ ^scr_env:\ next:\ (scr_postrun.*)$ ]]
	next=${BASH_REMATCH[1]}
	[[ $next == "scr_postrun -p $PWD/p --plan --nodes $(uname -n) --remote local" ]]
	SCR_JOB_ID=7 SCR_CACHE_BASE=$PWD/c SCR_CNTL_BASE=$PWD/c shows \
		"nothing to save: no node has $PWD/c/" bash -c "$next"
	[[ -z $(find p -type f) ]] || failed "files are left"
	healthy 0 --json
	[[ $(jq -r '.status, (.checks | length), .next' <<<"$output" |
		paste -sd ' ') == "0 8 $next" ]]
}

@test "doctor: each thing that is wrong has its remedy" {
	node=$(uname -n)
	mkdir -p p c
	ends 0 scr_env doctor -p p --nodes "$node" --remote local
	assert_output_has "warning  job" "--job-id" "warning  end" SCR_END_TIME \
		"warning  checkpoints" "one is due every 600 seconds"
	rmdir p
	out_has "failed   prefix;scr_prerun -p $PWD/p" healthy 1
	mkdir p
	# Another version, and a wrong clock.
	# shellcheck disable=SC2016 # for sh
	printf '#!/bin/sh\n[ "$1" = probe ] || exec scr_env "$@"\necho 0.0.1 5\n' \
		>helper
	chmod +x helper
	healthy 1 --helper "$PWD/helper"
	assert_output_has "failed   version     $node: install" \
		"warning  clock       $node: set the clock"
	# A node that is not there; the directories of another.
	healthy 1 --helper "$PWD/nothing"
	assert_output_has "failed   node        $node" "0 of 1 answered"
	rmdir c
	touch c
	out_has "failed   directories $node;SCR_CACHE_BASE" healthy 1
	finds 1 "failed   nodes;--nodes" scr_env doctor -p p --remote local
	[[ $stderr != *next:* ]] || failed "scr_postrun has no nodes, either"
	rm c
	mkdir c
	ulimit -n 100
	healthy 0
	[[ $output =~ warning\ \ limits\ .*ulimit\ -n ]]
	[[ $(scr_env probe) =~ ^[0-9.]+\ [0-9]+$ ]]
}

# other DEED [SSH]: scr_env of the node "bad" does this when it is probed, or ssh
# does; any other node is this machine.
other() {
	# shellcheck disable=SC2016 # for the script
	printf '#!/bin/bash\n[[ $NODE$1 != badprobe ]] || { %s; }\nexec scr_env "$@"\n' \
		"$1" >helper
	stub ssh <<-END
		#!/bin/bash
		while [[ \$1 == -* ]]; do
			case \$1 in -o | -l | -p) shift 2 ;; *) shift ;; esac
		done
		[[ \$1 != bad ]] || { ${2-:}; }
		export NODE=\$1
		shift
		exec sh -c "\$*"
	END
	chmod +x helper
}

# Each row: what is done; settings; options; what doctor says.  The node "bad" of
# the first rows is reached by ssh.
@test "doctor: eighteen misconfigurations" {
	privately && return
	local rows=0 version
	local here no=$PWD/file/c

	here=$(uname -n)
	version=$(scr_env probe)
	version=${version% *}
	export SCR_CHECKPOINT_SECONDS=0 SCR_JOB_ID=7 SCR_CACHE_BASE=$PWD/c \
		SCR_CNTL_BASE=$PWD/c
	mkdir p c full ro lib
	touch file lib/libscr.so
	mount -t tmpfs -o size=8k none full
	head -c 8192 /dev/zero >full/x || true
	mount -t tmpfs -o ro none ro
	stub scontrol <<<'echo JobId=7 TimeLimit=UNLIMITED EndTime=Unknown'
	sed -i '1s/^/#!\/bin\/sh\n/' stub/scontrol
	while IFS='|' read -r deed settings options want; do
		rm -f p/.scrconf
		eval "$deed"
		if [[ $options == *--remote* ]]; then
			options+=" --helper $PWD/helper"
		else
			options+=" --nodes $here --remote local"
		fi
		# shellcheck disable=SC2086 # several settings, several options
		output=$(env $settings scr_env doctor -p p $options 2>&1) || true
		[[ $output == *"$want"* ]] ||
			failed "$deed|$settings|$options|$want" || exit 1
		rows=$((rows + 1))
	done <<-END
		other 'echo $version \$EPOCHSECONDS; echo root $PWD/full; exit'|SCR_CACHE_BASE=$PWD/full|--nodes bad,x,y --remote ssh|failed   mount       bad: the cache is not mounted
		other 'echo $version \$EPOCHSECONDS elsewhere; exit'||--nodes bad,x --remote ssh|failed   prefix      bad: the prefix is another directory
		other : 'echo Permission denied, publickey >&2; exit 255'||--nodes bad,x --remote ssh|failed   node        bad: Permission denied, publickey
		other 'echo $version \$((EPOCHSECONDS - 3600)); exit'||--nodes bad,x --remote ssh|warning  clock       bad: set the clock
		|SCR_FLUSH=ten||warning  settings    SCR_FLUSH from environment: "ten": expected
		|SCR_COPY_TYPE=XORR||warning  settings    XORR: no such redundancy scheme
		echo CKPT=0 TYPE=XORR >p/.scrconf|||warning  settings    XORR: no such redundancy scheme
		|LD_LIBRARY_PATH=/none:$PWD/lib||warning  library     $PWD/lib/libscr.so is another libscr
		echo CNTLDIR=$PWD/c >p/.scrconf|-u SCR_CNTL_BASE||failed   control     CNTLDIR=$PWD/c is for commands only
		gen -p p -n 2 -s 10 -i 1|SCR_JOB_ID=1000 SCR_USER_NAME=other||warning  user        other, but job
		|SLURM_JOB_ID=7|--resource-manager slurm|warning  end         no time limit
		|SCR_CACHE_BASE=$no||failed   directories $here: missing: $no: Not a directory
		|SCR_CACHE_BASE=$PWD/ro||failed   directories $here: unwritable: $PWD/ro: Read-only
		|SCR_CACHE_BASE=$PWD/full||failed   directories $here: full: $PWD/full: No space
		echo STORE=/proc TYPE=MEMORY >p/.scrconf|||warning  store       /proc: not in memory on this machine: in /etc/fstab: scr_store /proc tmpfs
		echo STORE=$PWD/full TYPE=memory >p/.scrconf|||warning  store       $PWD/full: in memory, without huge pages: in
		echo STORE=$PWD/c TYPE=MEMORY SPILL=$no >p/.scrconf|||warning  spill       $no: Not a directory: make
		echo CACHEDIR=$PWD/c BYTES=9PB >p/.scrconf|||failed   directories $here: small: $PWD/c:
	END
	((rows == 18))
	output=$(LD_LIBRARY_PATH=$BIN/..:$PWD/lib scr_env doctor -p p \
		--nodes "$here" --remote local) || true
	[[ $output != *library* ]] || failed "our own library" || exit 1
}

@test "without ping no node counts as down" {
	stub_ssh
	# PATH has only the commands that the mock needs.
	ln -s "$(command -v sh)" stub
	export SCR_CNTL_BASE=$PWD/cntl SCR_CACHE_BASE=$PWD/cache
	prints '' env "PATH=$BIN:$PWD/stub" scr_list_down_nodes -r --remote ssh n1 n2
	assert_stderr_empty
}

@test "settings in the prefix's file: which job, which nodes; scr_should_exit -p" {
	mkdir p
	echo SCR_MIN_NODES=1 >.scrconf
	printf '%s\n' 'SCR_JOB_ID=55' 'SCR_USER_NAME=you' \
		'SCR_NODELIST=n[1-4]' 'SCR_EXCLUDE_NODES=n2' \
		'SCR_NODE_TESTS=echo' 'SCR_MIN_NODES=4' \
		'SCR_CNTL_BASE=/cntl' 'SCR_CACHE_BASE=/ssd' >p/.scrconf
	prints $'you\n55\nn1,n2,n3,n4' scr_env -p p -u -j -n
	prints /ssd/you/scr.55 scr_list_dir -p p cache
	prints 'nodes_remaining=3 < nodes_needed=4' \
		scr_should_exit -p p --down n1
	stub_ssh
	# /cntl is missing, but with named tests it is not checked.
	prints n2 scr_list_down_nodes -p p --remote ssh
}

@test "scr_env -v prints the nodes, too" {
	SCR_NODELIST='n[1-3]' prints me scr_env user -v
	assert_stderr_has 'nodes: 3: n[1-3] (SCR_NODELIST from environment)'
	# Without -v, missing nodes are not reported.
	warns 0 "prefix: " scr_env user -v
	[[ $stderr != *"nodes: "* ]]
}
