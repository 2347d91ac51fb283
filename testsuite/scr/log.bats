#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The log of events (scenario 64).

load helper

setup() {
	job_setup
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	STAMP='[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]'
}

# logged: the lines of the log are, in order, these behind host and job ("S" for
# a number of seconds).
logged() {
	local line n=0

	while IFS= read -r line; do
		n=$((n + 1))
		[[ $(sed -n "${n}p" .scr/log) =~ ^$STAMP:\ host=node0,\ jobid=j1,\ (.*)$ ]] ||
			failed "line $n: $(sed -n "${n}p" .scr/log)"
		[[ $(sed -E 's/secs=[0-9]+\.[0-9]{6}/secs=S/' \
			<<<"${BASH_REMATCH[1]}") == "$line" ]] ||
			failed "line $n: ${BASH_REMATCH[1]}" "expected: $line"
	done
	[[ $(wc -l <.scr/log) -eq $n ]] || failed "$(cat .scr/log)"
}

@test "a checkpoint, as LLNL's library logs it (64)" {
	works "0 0 1" app_ckpt files=2 size=100
	set=$SSD/tester/scr.j1/scr.dataset.1
	logged <<-END
	event=START, procs=3, nodes=2
	event=COMPUTE_START
	event=COMPUTE_END, secs=S
	event=CHECKPOINT_START, note="$SSD", dset=1, name="ckpt.1"
	xfer=WRITE, from=$SSD, to=$set, dset=1, name="ckpt.1", secs=S, bytes=600.000000, files=6
	xfer=ENCODE, from=$SSD, to=$set, dset=1, name="ckpt.1", secs=S, bytes=600.000000, files=6
	event=CHECKPOINT_END, note="$SSD", dset=1, name="ckpt.1", secs=S
	xfer=CHECKPOINT, from=$SSD, to=$set, dset=1, name="ckpt.1", secs=S, bytes=600.000000, files=6
	event=COMPUTE_START
	event=HALT, note="SCR_FINALIZE_CALLED"
	END
	[[ $(stat -c %a .scr/log) == 600 ]] || failed "mode"
}

@test "output, a dataset that fails, a job that is halted; one START a run (64)" {
	works "0 1" app_ckpt flags=2 size=0 invalid=1 steps=2 flags2=2
	set=$SSD/tester/scr.j1/scr.dataset.2
	logged <<-END
	event=START, procs=2, nodes=2
	event=COMPUTE_START
	event=COMPUTE_END, secs=S
	event=OUTPUT_START, note="$SSD", dset=1, name="ckpt.1"
	event=OUTPUT_END, note="$SSD", dset=1, name="ckpt.1", secs=S
	event=COMPUTE_START
	event=COMPUTE_END, secs=S
	event=OUTPUT_START, note="$SSD", dset=2, name="ckpt.2"
	xfer=WRITE, from=$SSD, to=$set, dset=2, name="ckpt.2", secs=S, bytes=0.000000, files=2
	xfer=ENCODE, from=$SSD, to=$set, dset=2, name="ckpt.2", secs=S, bytes=0.000000, files=2
	event=OUTPUT_END, note="$SSD", dset=2, name="ckpt.2", secs=S
	xfer=OUTPUT, from=$SSD, to=$set, dset=2, name="ckpt.2", secs=S, bytes=0.000000, files=2
	event=FLUSH_START, dset=2, name="ckpt.2"
	event=FLUSH_SUCCESS, dset=2, name="ckpt.2", secs=S
	xfer=FLUSH_SYNC, from=$set, to=$PREFIX, dset=2, name="ckpt.2", secs=S, bytes=0.000000, files=2
	event=COMPUTE_START
	event=HALT, note="SCR_FINALIZE_CALLED"
	END
	try scr_halt --reason STOP "$PREFIX"
	SCR_HALT_EXIT=1 works "0 1" app_ckpt
	[[ $(grep -c event=START .scr/log) -eq 2 ]] || failed "START"
	[[ $(tail -n 1 .scr/log) == *'event=HALT, note="STOP"' ]] ||
		failed "$(tail -n 1 .scr/log)"
}

@test "switched off in parts" {
	SCR_LOG_TXT_ENABLE=0 works "0 1" app_ckpt
	SCR_LOG_ENABLE=0 works "0 1" app_ckpt
	[[ ! -e .scr/log ]] || failed "a log"
}

@test "a log that cannot be written is no failure" {
	mkdir -p .scr/log
	works "0 1" app_ckpt
	[[ $output == *"complete 1 0"* ]] || failed "complete"
	warned "WARNING: rank 0 .*event log: .*/.scr/log"
}

# told FILTER TEXT: scr_env log answers so of job j1.
told() {
	local value

	value=$(scr_env log -p "$PREFIX" --job j1 --json | jq -rc "$1")
	[[ $value == "$2" ]] || failed "$1: $value" "expected: $2" \
		"$(cat .scr/log)"
}

@test "scr_env log: two failures, what each cost, and from where the job restarted" {
	dies "0 1" app_ckpt steps=3 die=3 pause=200
	# Killed in a checkpoint: what was computed since the last is known.
	dies "0 1" app_ckpt steps=2 die=2 pause=200 name=b.%d
	works "0 1" app_ckpt steps=1 pause=200 name=c.%d
	told '.log_jobs[0] | .run_count, .failure_count, .last_run' \
		$'3\n2\nended'
	told '.log_failures[] | .run, .restarted_from' $'1\n2\n2\n3'
	told '.log_failures[] | .died, .next_job' $'null\nj1\nnull\nj1'
	told '[.log_failures[].lost_milliseconds] == [.log_failures[].lost_milliseconds_at_most]' true
	# What was lost is the last computation of each of these runs.
	told '[.log_failures[].lost_milliseconds]' "$(awk -F 'secs=' '
		/event=START/ && last { list = list "," last }
		/event=COMPUTE_END/ { last = sprintf("%d", $2 * 1000 + 0.5) }
		END { print "[" substr(list, 2) "]" }' .scr/log)"
	told '.log_phases[0].spent_milliseconds - (.log_jobs[0] | .work_milliseconds + .lost_milliseconds) | fabs < 3' true
	told '[.log_datasets[] | select(.phase == "rebuild") | .id]' '[2,3]'
}

@test "scr_env log --html: a job of scr_run that dies twice and flushes behind" {
	local page=$BATS_TEST_TMPDIR/x.html

	export SCR_FLUSH=1 SCR_FLUSH_ASYNC=1 SCR_REMOTE=local SCR_CONF_FILE=/dev/null
	cat >"$BATS_TEST_TMPDIR/app" <<-END
		#!/bin/sh
		echo run >>"$BATS_TEST_TMPDIR/runs"
		case \$(wc -l <"$BATS_TEST_TMPDIR/runs") in
		1) set -- steps=3 die=3 ;;
		2) set -- steps=2 die=2 name=b.%d ;;
		*) set -- steps=2 name=c.%d ;;
		esac
		exec ${as_root[*]} mpiexec -n 2 "$TESTSUITE/scr/node.sh" "0 1" \\
			"$MPI/app_ckpt" pause=1500 "\$@" </dev/null
	END
	chmod +x "$BATS_TEST_TMPDIR/app"
	ends 0 timeout 100 scr_run -p "$PREFIX" --pause 0 --runs 3 --min-nodes 1 \
		"$BATS_TEST_TMPDIR/app"
	[[ $(wc -l <"$BATS_TEST_TMPDIR/runs") -eq 3 ]] || failed "not three runs"
	ends 0 scr_env log -p "$PREFIX" --html "$page"
	# The answer in the page: 3 runs, and 2 failures that are listed.
	sed -n 's|.*<script id="answer" type="application/json">\(.*\)</script>.*|\1|p' \
		"$page" >"$page.json"
	[[ $(jq -c '[.log_jobs[0].run_count, .log_jobs[0].failure_count,
		(.log_failures | length)]' "$page.json") == '[3,2,2]' ]] ||
		failed "the answer in the page: $(cat "$page.json")"
	command -v node >/dev/null || skip "no node"
	node "$TESTSUITE/cmd/page.js" "$page" >"$page.drawn"
	grep -q '^<p>3 runs from' "$page.drawn"
	# Two marks, each with what scr_env log --json calls lost.
	paste <(grep -o '✕ lost [0-9.]*' "$page.drawn" | cut -d' ' -f3) \
		<(scr_env log -p "$PREFIX" --json |
			jq '.log_failures[].lost_milliseconds') |
		awk '{ d = $1 * 1000 - $2; n += d < 51 && d > -51 } END { exit n != 2 }' ||
		failed "not what it lost: $(grep -o '✕ lost [^<]*' "$page.drawn")"
	# Computations between three starts, two failures and 5 checkpoints.
	[[ $(grep -o '<title>compute[:,]' "$page.drawn" | wc -l) -ge 5 ]]
	grep -q '<title>async_flush of dataset' "$page.drawn"
}
