#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016 # scripts of nodes
# What scr_postrun can save, it does not give up; what it cannot find, it does not
# call lost.

load bed

# node5 is a spare: no job ran there.
setup_file() { bed_up 5; }

# cached NODE NAME: the path of a file of dataset 1 in the cache of NODE.
cached() {
	on "$1" find /ssd -path '*scr.dataset.1/*' -name "$2"
}

# Each line: the caches of a case, what happens to them, status and options of
# scr_postrun, what it says ("!": not).  With status 0 all files are saved then; a plan
# copies nothing, and each node that hangs delays it by its time-out.
@test "nodes that die, hang, refuse or lack files; caches that are full; nodes not asked" {
	local case faults want words all word start

	while IFS='|' read -r -u 7 case faults want words; do
		echo "$case: $faults: $want"
		bed_lay "$case"
		start=$SECONDS
		eval "$faults"
		# shellcheck disable=SC2086 # words
		run post ${want#?}
		# shellcheck disable=SC2034 # assert_status prints it
		stderr=
		assert_status "${want:0:1}"
		soon "$start" 25
		IFS=';' read -ra all <<<"$words"
		for word in "${all[@]}"; do
			[[ $word != !* && $output == *"$word"* ||
				$word == !* && $output != *"${word#!}"* ]] ||
				failed "expected: $word"
		done
		case $want in
		0) bed_heal && assert_saved ;;
		*--plan*) [[ ! -e $lay_pfs/ckpt.1 ]] ;;
		esac
		bed_wipe
	done 7<<-'END'
		xor_8n4|on node1 rm "$(cached node1 filemap_0)"; on node2 rm "$(cached node2 rank_2.ckpt)"|0 --plan|recoverable
		xor_8n4|on node1 rm "$(cached node1 filemap_0)"; on node2 rm "$(cached node2 rank_2.ckpt)"|0|
		xor_8n4|bed_kill node2|0 --plan|recoverable;6/8;can be saved
		xor_8n4|bed_kill node2|0 --plan --json|"state": "recoverable";"ranks_missing": 2;"state": "dead";"status": 0
		xor_8n4|bed_fill node1; bed_fill node2; bed_readonly node3; bed_fill node4|0|!dead
		rs2_8n4|bed_freeze node2; bed_refuse node3|0|maybe alive: node[2-3];!dead
		partner_8n4|bed_kill node2 node3|4|LOST;set 1 of 2 (PARTNER
		single_8n4|bed_kill node4|4|LOST;ranks 6 7;1 of 4 nodes dead
		xor_8n4|bed_kill node1 node2 node3 node4; lay_env+=("SCR_NODELIST=node[1-5]")|4|LOST;golduser/scr.1000 exists on 0 of 1 nodes;4 of 5 nodes dead
		xor_8n4|for n in 2 3; do on node$n rm -rf "$lay_cntl/golduser" "$lay_cache/golduser"; done|4|LOST;golduser/scr.1000 exists on 2 of 4 nodes
		xor_8n4||1 --plan -w node[1-2]|UNKNOWN;the job ran on 4 nodes, and 2 were not asked
		xor_8n4||0 --plan -w node[1-3]|can be saved
		xor_8n4|bed_refuse node1 node2|1|UNKNOWN;--down
		xor_8n4|bed_refuse node1 node2|4 --down node[1-2]|LOST
	END
}

@test "the plan after an interrupted run says what the next run copies" {
	local plan run

	bed_lay xor_8n4
	bed_slow node2 10000 /tmp/scrgold
	run on login env "${lay_env[@]}" timeout -s INT 2 scr_postrun -r pdsh
	assert_status 124
	bed_fast node2
	# What it started there ends later by itself.
	on node2 pkill -KILL -x scr_copy || true
	run -0 post --plan --json
	plan=$(sed -n 's/.*"bytes": *\([0-9]*\).*/\1/p' <<<"$output" | head -n 1)
	run -0 post --json
	run=$(sed -n 's/.*"bytes_copied": *\([0-9]*\).*/\1/p' <<<"$output")
	((plan == run && run > 0)) || failed "plan $plan, run $run"
	assert_saved
}

@test "--cachedir hides no STORE line of the configuration" {
	bed_lay -s xor_8n4
	echo "STORE=$lay_cache GROUP=WORLD VIEW=GLOBAL" >"$BED_DIR/pfs/conf"
	# The job's datasets are below node.N then.
	on node1 sh -c 'cd "$1" && d=$(dirname "$(find . -name scr.dataset.1)") &&
		mkdir "$d/node.0" && mv "$d/scr.dataset.1" "$d/node.0"' - \
		"$lay_cache"
	lay_env+=(SCR_CONF_FILE=/pfs/conf)
	answers 0 complete post --cachedir /ssd --plan
	assert_output_has 8/8
	saves --cachedir /ssd
}

# in_vain ALIVE OPTION...: it looks in the wrong place, says where, and calls
# nothing lost.
in_vain() {
	answers 1 "none of $1 nodes has" on login env -u SCR_JOB_ID \
		-u SCR_USER_NAME "${lay_env[@]:2}" scr_postrun -t 2 "${@:2}"
	assert_output_has "--job-id, --user"
}

@test "the wrong job, user or directory: nothing is called lost" {
	local owner="flush.scr lists datasets in the caches of job 1000 of user golduser"

	bed_lay xor_8n4
	in_vain 4 --job-id 4711
	assert_output_has "job 4711 of user root" /scr.4711 "$owner"
	in_vain 4 --user nobody
	assert_output_has "job 1000 of user nobody" "$owner"
	in_vain 4 --cachedir /dev/shm --cntldir /dev/shm
	assert_output_has /dev/shm/golduser/scr.1000 \
		"flush.scr lists datasets in its caches"
	# Neither is given: flush.scr names both.
	run -0 on login env "${lay_env[@]:2}" scr_postrun -t 2
	assert_saved
}

@test "the wrong job, user or directory, and dead nodes: nothing is called lost" {
	bed_lay xor_8n4
	bed_kill node2 node4
	in_vain 2 --job-id 4711
	# nodes.scr has four nodes: the job ran on those that answer.
	in_vain 2 --cachedir /dev/shm --cntldir /dev/shm
	# The right place: two of a set of four are lost.
	answers 4 LOST post
	assert_output_has "2 of 4 nodes dead"
}

@test "without flush.scr: a job has run, and no node has its caches" {
	bed_lay xor_8n4
	rm "$lay_pfs/.scr/flush.scr"
	in_vain 4 --job-id 4711 --user golduser
	assert_output_has "a job has run here, but left no flush.scr"
	# No job has run since scr_prerun.
	rm "$lay_pfs/.scr/nodes.scr"
	answers 0 "nothing to save: no node has" \
		on login env "${lay_env[@]}" SCR_JOB_ID=4711 scr_postrun -t 2
	assert_output_has "job 4711 of user golduser"
}

# crash NODE ID: on NODE, the cache of LLNL's library as a crash leaves it while
# dataset ID is written, 1 or 2: its files are there, one has no SIZE, all have
# COMPLETE 0, and it has no redundancy yet.
crash() {
	on "$1" sh -ec 'cd "$1"/golduser/scr.1000
		d=scr.dataset.$3
		[ -e "$d" ] || cp -a scr.dataset.1 "$d"
		rm "$d"/.scr/*red*
		for f in "$d"/.scr/filemap_*; do
			scr_inspect -m tree "$f" | sed "s/dataset\.1/dataset.$3/
				s/ckpt\.1/ckpt.$3/
				/^        SIZE$/{ \$!N; /\n *20/d; }
				/^        COMPLETE$/{ n; s/1/0/; }" |
				gen_craft --output "$f"
		done
		[ "$3" != 1 ] || exit 0
		f=$2/golduser/scr.1000/cindex.scrinfo
		scr_inspect -m tree "$f" >/tmp/one
		sed "1d; s/dataset\.1/dataset.2/; s/ckpt\.1/ckpt.2/; s/^    1$/    2/
			/ ID$/{ n; s/1/2/; }
			/ CREATED$/{ n; s/1795/1796/; }" /tmp/one |
			cat /tmp/one - | gen_craft --output "$f"' - \
		"$lay_cache" "$lay_cntl" "$2"
}

@test "LLNL's library was killed while it wrote dataset 2: 1 is the newest" {
	local node

	for case in xor_8n4 single_8n4 partner_8n4; do
		bed_lay $case
		for node in node1 node2 node3 node4; do
			crash $node 2
		done
		on node1 sh -c '! grep -aq SIZE.20011 \
			"$1"/golduser/scr.1000/scr.dataset.2/.scr/filemap_0' - \
			"$lay_cache"
		answers 0 unfinished post --plan
		saves
		assert_output_has "newest checkpoint ckpt.1 (dataset 1) is saved" \
			"ckpt.2 (dataset 2) is unfinished"
		bed_wipe
	done
}

@test "LLNL's library was killed in the first checkpoint: nothing is lost" {
	bed_lay xor_8n4
	for node in node1 node2 node3 node4; do
		crash $node 1
	done
	rm "$lay_pfs/.scr/flush.scr"
	answers 0 "no completed checkpoint in the caches" post
	assert_output_has "ckpt.1 (dataset 1) is unfinished"
	[[ ! -e $lay_pfs/ckpt.1 ]]
}
