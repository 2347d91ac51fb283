#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2119,SC2120 # arguments are optional
# The minor known defects of LLNL's tools: B (an unusable command), C (wrong or
# unsafe) and D (rough).  scrkit must do the right thing.  D1 to D15 need nodes:
# testsuite/cluster/defects.bats.
#
# Those that the tests of a command prove are not repeated here.  Defects of
# scr_run, its launchers, SCR_RUNS and scr_have_restart have no tests, because
# scrkit has no such commands.

load helper

# cached OPTION...: make prefix p with its dataset in the cache of a node, which
# is this machine; set the variables of the job.
cached() {
	gen -p p -m 1 -n 4 -s 1000 --crc -t SINGLE --layout cache "$@"
	export SCR_CNTL_BASE=$PWD/nodes/node0/cntl
	export SCR_CACHE_BASE=$PWD/nodes/node0/cache
	export SCR_USER_NAME=genuser SCR_JOB_ID=1000 SCR_NODELIST=localhost
	CACHE=$SCR_CACHE_BASE/genuser/scr.1000/scr.dataset.1
}

# LLNL's scr_poststage.py completes what the job's flush started.
@test "B: scr_poststage: files that are on the prefix are taken as they are" {
	cached
	mkdir p/ckpt.1
	cp "$CACHE"/rank_[0-2].ckpt p/ckpt.1
	ends 0 scr_postrun -p p
	grep -q '"adopted":3,' p/.scr/scr.dataset.1/scavenge.o1000
	try scr_index -p p
	assert_output_has "1 YES" "* ckpt.1"
}

@test "B: no resource manager: SCR_NODELIST, SCR_JOB_ID, SCR_USER_NAME; USER unset" {
	me=$(id -un)
	cached
	unset USER SCR_USER_NAME
	prints "$SCR_CNTL_BASE/$me/scr.1000" scr_list_dir control
	shows "is saved" scr_postrun -p p --user genuser
	rm -rf p nodes
	cached
	prints $'genuser\n1000\nlocalhost' scr_env -u -j -n
	prints "$SCR_CNTL_BASE/genuser/scr.1000" scr_list_dir control
	ends 0 scr_postrun -p p --resource-manager none
	assert_output_has "ckpt.1 (dataset 1) is saved"
}

@test "B: without ping no node counts as down" {
	stub_ssh
	# PATH has only the commands that the mock needs.
	ln -s "$(command -v sh)" stub
	export SCR_CNTL_BASE=$PWD/cntl SCR_CACHE_BASE=$PWD/cache
	ends 0 env "PATH=$BIN:$PWD/stub" scr_list_down_nodes -r --remote ssh n1 \
		n2
	assert_output_is ''
	assert_stderr_empty
}

@test "C: a value that is missing is a usage error; --help exits 0, and --version (D)" {
	bash <<-'END'
		for path in "$BIN"/scr_*; do
			options=$("$path" --dump-options | awk -F'\t' '
				$3 == "-" || $1 == "verb" { next }
				$2 != "-" { print "--" $2 }
				$1 != "-" { print "-" $1 }')
			for option in $options; do
				out=$("$path" "$option" 2>&1)
				rc=$?
				if [[ "$rc $out" != "2 "*"needs a value"* ]]
				then
					echo "$path $option: $rc: $out"
					exit 1
				fi
			done
		done
	END
	# (Run outside bats, which makes each command of a test slow.)
	bash -e <<-'END'
		for path in "$BIN"/scr_*; do
			name=${path##*/}
			echo "$name"
			"$name" --help >out 2>err
			grep -q "^Usage: $name" out
			"$name" --version >out 2>>err
			grep -q "^$name (scrkit) [0-9]" out
			grep -q "^built with " out
			[[ $(wc -l <out) == 2 && ! -s err ]]
		done
	END
}

@test "C: large numbers are exact, or refused" {
	mkdir -p p/.scr
	SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0 scr_log_transfer -p p -T X \
		-B 3000000000 -F 5
	grep -q 'bytes=3000000000\.' p/.scr/log
	try scr_halt -a 2138-11-19T09:46:40 p
	assert_output_has "ExitAfter:       Wed Nov 19 09:46:40 2138"
	try scr_retries_halt --dir p
	assert_status 1 # not yet
	# 4294967297 must not be truncated to 1.
	misused 4294967297 scr_halt -c 4294967297 p
	misused 4294967297 scr_flush_file --dir p --location 4294967297
	misused 4294967297 scr_index -p p --build 4294967297
}

@test "C: settings in the prefix's file: which job, which nodes; scr_should_exit -p" {
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

@test "C: settings in the prefix's file: log, halt, buffer; wherever they are asked" {
	cached
	printf '%s\n' SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0 \
		SCR_HALT_SECONDS=600 >p/.scrconf
	scr_log_event -p p -T RUN_START
	grep -q RUN_START p/.scr/log
	scr_halt -q -b now+5m p
	ends 0 scr_retries_halt --dir p
	echo SCR_FILE_BUF_SIZE=few >>p/.scrconf
	ends 2 scr_postrun -p p
	assert_stderr_one_line SCR_FILE_BUF_SIZE few p/.scrconf
	[[ ! -e p/.scr/scr.dataset.1 ]]
	rm -rf p nodes
	mkdir p elsewhere
	scr_halt -q -b now+50s p
	echo SCR_HALT_SECONDS=1000 >p/.scrconf
	echo SCR_HALT_SECONDS=1 >elsewhere/.scrconf
	for there in . p elsewhere; do
		(cd "$there" && scr_retries_halt --dir "$BATS_TEST_TMPDIR/p")
	done
}

@test "C: a second scr_postrun copies nothing, and the flush file knows" {
	cached
	ends 0 scr_flush_file --dir p --need-flush 1
	shows copied scr_postrun -p p
	ends 1 scr_flush_file --dir p --need-flush 1
	prints 'PFS CACHE' scr_env flush-file -p p --location 1
	find p -name 'rank_*' -printf '%p %i %C@\n' | sort >before
	[[ -s before ]]
	ends 0 scr_postrun -p p
	assert_output_lacks copied
	find p -name 'rank_*' -printf '%p %i %C@\n' | sort | diff before -
}

@test "C: errors are on stderr, and stdout is empty" {
	mkdir -p p/.scr
	echo junk >p/.scr/index.scr
	echo junk >junk
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	while read -r line; do
		# shellcheck disable=SC2086 # words
		try $line
		[[ $status != 0 ]] || failed "$line: status"
		[[ -z $output ]] || failed "$line: stdout"
		[[ $stderr == "${line%% *}: "* ]] || failed "$line: stderr"
	done <<-'END'
		scr_archive export -p p 9
		scr_container -p p list 9
		scr_copy --list --cntldir none --nonsense
		scr_crc32 none
		scr_env nodes
		scr_env nothing
		scr_flush_file --dir p --latest
		scr_halt --list none
		scr_hostlist n[1-
		scr_index -p none
		scr_index -p p --add nothing
		scr_index -p p --build 9
		scr_inspect -m tree junk
		scr_inspect none
		scr_list_dir nothing
		scr_list_down_nodes
		scr_log_event -p none -T X
		scr_log_transfer -p none -T X
		scr_postrun -p p
		scr_postrun -p p -w n[1-
		scr_prerun -p junk
		scr_rebuild -p p 9
		scr_retries_halt --nonsense
		scr_should_exit -p p --down n[1-
	END
}

@test "C: no tables of redundancy in summary.scr, whatever the ranks" {
	built p 1 -n 8 -m 4 -s 1000 -t RS -k 2 --lose 1
	run ! grep -E '^  [A-Z]*(RS|XOR|PARTNER)$' \
		<(scr_inspect -m tree p/.scr/scr.dataset.1/summary.scr)
	small=$(stat -c %s p/.scr/scr.dataset.1/summary.scr)
	built q 1 -n 64 -m 32 -s 1000 -t RS -k 2 --lose 1
	# (Longer numbers may add a few bytes.)
	(($(stat -c %s q/.scr/scr.dataset.1/summary.scr) <= small + 16))
}

@test "C: stderr of the nodes is printed, through pdsh, too" {
	cached
	damage "$CACHE/rank_2.ckpt" 77 xxxx
	stub_ssh
	for remote in local ssh pdsh; do
		[[ $remote != pdsh ]] || command -v pdsh >/dev/null || continue
		cp -r p q
		ends 4 scr_postrun -p q --moved-from "$PWD/p" -w n1 -r $remote
		assert_stderr_has "n1: dataset 1: scr_copy: rank 2: rank_2.ckpt"
		rm -r q
	done
	try scr_postrun -p p -w n1,gone1 -r ssh
	assert_stderr_has "gone1: ssh: connect to host gone1 port 22: No route"
}

# The number of sets does not matter.
@test "C: a rebuild starts no processes, and no more threads than it may" {
	command -v strace >/dev/null || skip "no strace"
	strace -f -o /dev/null true 2>/dev/null || skip "may not trace"
	gen -p p -n 32 -m 32 --set-size 4 -s 1000 --lose 0,4,8,12,16,20,24,28
	ends 0 env PATH="$PATH" strace -qq -f -e trace=process -o calls \
		"$BIN/scr_index" -p p --build 1 --jobs 2
	assert_stderr_has "rebuilt 8 files"
	(($(grep -c 'execve(' calls) == 1)) || failed "$(cat calls)"
	# The number of live threads: started less ended.
	awk '/clone3?\(/ { now++ } / exit\(/ { now-- }
		now > most { most = now } END { exit most > 2 }' calls
}

@test "D: scr_env -v prints the nodes, too" {
	SCR_NODELIST='n[1-3]' prints me scr_env user -v
	assert_stderr_has 'nodes: 3: n[1-3] (SCR_NODELIST from environment)'
	# Without -v, missing nodes are not reported.
	warns 0 "prefix: " scr_env user -v
	[[ $stderr != *"nodes: "* ]]
}
