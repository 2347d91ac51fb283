#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2016 # for sed
# From one job to the next with nothing but scr.h: descriptors and groups, the
# prefix, output, management (libscr.md 21, by the numbers in parentheses).

load restarts

# The datasets of the index, oldest first: "NAME" if valid, else "NAME!".
names() {
	scr_index --prefix "$PREFIX" --list --json |
		jq -r '.datasets | sort_by(.id)[] |
			.name + (if .valid then "" else "!" end)' |
		paste -sd ' '
}

# The schemes of the redundancy files of a dataset in cache.
schemes() {
	find "$NODES" -path "*/scr.dataset.$1/*" -name 'reddesc.er.*_of_*' |
		sed -E 's/.*er\.[0-9]+\.([a-z]+)\.grp_[0-9]+_of_([0-9]+)\..*/\1\2/' |
		sort -u | paste -sd ' '
}

@test "nodes that share power fail together (12)" {
	printf '%s\n' "GROUPS=node"{0,1}" POWER=a" "GROUPS=node"{2,3}" POWER=b" \
		>.scrconf
	export SCR_GROUP=POWER
	for SCR_COPY_TYPE in $SOME; do
		export SCR_SET_FAILURES=1
		fresh
		after "0 1" ckpt.3
		after "2 3" ckpt.3
		after "0 2" none
	done
}

@test "each descriptor writes its datasets, SET_SIZE of its line (13)" {
	cat >.scrconf <<-END
	CKPT=0 TYPE=XOR SET_SIZE=2 INTERVAL=1
	CKPT=1 TYPE=RS SET_FAILURES=1 INTERVAL=2 OUTPUT=1
	CKPT=2 TYPE=PARTNER INTERVAL=4
	END
	export SCR_COPY_TYPE=FILE SCR_CACHE_SIZE=3
	line "complete 6 0" job "0 1 2 3" app_restart 6 files=2
	[[ $(cached 0) == "4 5 6" ]]
	[[ $(schemes 4) == partner1 && $(schemes 5) == xor2 &&
		$(schemes 6) == xor1 ]]
	after 1 ckpt.6
	after "0 2" ckpt.5 # of one set of RS, of two sets of XOR
	after "0 1" none
}

@test "uneven nodes: protected as far as can be, all restart (14)" {
	for SCR_COPY_TYPE in $SOME; do
		export SCR_SET_FAILURES=2
		fresh "0 0 0 1"
		[[ $stderr == *WARNING*"not protected by $SCR_COPY_TYPE"* ]]
		restarts "0 0 0 1" ckpt.3
		fresh "0 0 1 1 2"
		lose 2
		restarts "0 0 1 1 2" ckpt.3
	done
}

@test "fewer nodes than the scheme needs (15), than before: new datasets are written (16)" {
	export SCR_COPY_TYPE=RS SCR_SET_FAILURES=2
	fresh "0 1"
	[[ $stderr == *WARNING*"2 of 2 ranks tolerate fewer than 2 losses"* ]]
	lose 1
	restarts "0 1" ckpt.3
	for SCR_COPY_TYPE in $SOME; do
		fresh "0 0"
		[[ $(schemes 3) == single* ]]
		restarts "0 0" ckpt.3
		lose 0
		restarts "0 0" none
	done
	unset SCR_SET_FAILURES
	for SCR_COPY_TYPE in $SOME; do
		fresh
		lose 3
		line "restart ckpt.3;complete 4 0" works "0 1 2 2" app_restart 1 files=2
		restarts "0 1 2 2" ckpt.4
	done
}

@test "RS, PARTNER: flipped parity and a lost node: no wrong byte (20)" {
	local red at n repaired=0

	# Two check blocks: the lost rank needs one of them, or the other.
	export SCR_COPY_TYPE=RS SCR_SET_FAILURES=2
	for at in 100 600; do
		for n in 0 1 2; do
			fresh
			near_end "$(echo "$(dataset $n 3)"/.scr/reddesc.er.$n.rs.*)" $at
			after 3 ckpt.3
			[[ $stderr == *"damaged, now rebuilt"* ]] || continue
			((++repaired))
			lose $(((n + 1) % 3)) $(((n + 2) % 3))
			restarts "0 1 2 3" ckpt.3
		done
	done
	((repaired >= 2))
	# Both are damaged, or the other one is lost.
	fresh
	for n in 0 1 2; do
		red=$(echo "$(dataset $n 3)"/.scr/reddesc.er.$n.rs.*)
		near_end "$red" 100
		near_end "$red" 600
	done
	after 3 ckpt.2
	[[ $stderr == *"dataset 3"*"the checksum is wrong"* ]]
	# Rank 1 has the copy of rank 0.
	export SCR_COPY_TYPE=PARTNER
	story <<-'END'
		fresh; near_end "$(echo "$(dataset 1 3)"/.scr/reddesc.er.1.partner.*)" 100; lose 3||ckpt.3
		lose 0||ckpt.2|dataset 3*the checksum is wrong
	END
}

@test "all nodes lost, two of a set of XOR lost: fetched (24, 25)" {
	export SCR_FLUSH=1 SCR_DEBUG=1
	story <<-'END'
		fresh; lose 0 1 2 3||ckpt.3|Attempting fetch: ckpt.3
		cmp ckpt.3/d2/rank_2.0 "$(dataset 2 3)/rank_2.0"; [[ $(schemes 3) == xor1 ]]; lose 1 # what was fetched is protected||ckpt.3
		fresh; lose 1 2||ckpt.3|Attempting fetch: ckpt.3;dataset 2 *removed*dataset 3 *removed
	END
	[[ $(cached 0) == 3 ]]
}

@test "corrupt on the prefix: the older one, and then none (26)" {
	export SCR_FLUSH=1
	story <<-'END'
		fresh; rm ckpt.3/d1/rank_1.0; lose 0 1 2 3||ckpt.2|ckpt.3*not fetched*ckpt.3/d1/rank_1.0
		[[ $(names) == "ckpt.1 ckpt.2 ckpt.3!" ]]; flip ckpt.2/d2/rank_2.0 500; lose 0 1 2 3||ckpt.1|ckpt.2/d2/rank_2.0: checksum
		truncate -s 10 ckpt.1/d3/rank_3.0; lose 0 1 2 3||none|ckpt.1/d3/rank_3.0: has 10 bytes, expected 10
	END
	[[ $(names) == "ckpt.1! ckpt.2! ckpt.3!" ]]
	# A fresh start gets ids that are free.
	line "none;complete 1 0" job "0 1 2 3" app_restart 1 files=2
	[[ -d .scr/scr.dataset.4 ]]
}

@test "marked failed: only asked for is it tried again (27); rejected: then the prefix (28)" {
	export SCR_FLUSH=1
	fresh
	mv ckpt.3/d1/rank_1.0 away
	after "0 1 2 3" ckpt.2
	mv away ckpt.3/d1/rank_1.0
	after "0 1 2 3" ckpt.2
	[[ $stderr != *ckpt.3* ]]
	lose 0 1 2 3
	ends 0 scr_index --prefix "$PREFIX" --current ckpt.3
	restarts "0 1 2 3" ckpt.3
	fresh
	after "0 1 2 3" ckpt.3 # alone in cache
	line "rejected ckpt.3;restart ckpt.2" \
		works "0 1 2 3" app_restart 0 files=2 reject=1
	[[ $(names) == "ckpt.1 ckpt.2 ckpt.3!" ]]
	line "rejected ckpt.2;rejected ckpt.1;none" \
		job "0 1 2 3" app_restart 0 files=2 reject=3 times=2
	[[ $(names) == "ckpt.1! ckpt.2! ckpt.3!" ]]
}

@test "global restart reads from the prefix (31); fetched in place, not fetched at all (32)" {
	fresh
	SCR_GLOBAL_RESTART=1 restarts "0 1 2 3" ckpt.3
	assert_line "from $PREFIX/ckpt.3/d0/rank_0.0"
	[[ $(names) == "ckpt.2 ckpt.3" && -z $(find "$NODES" -name 'rank_*') ]]
	export SCR_FLUSH=1
	fresh
	SCR_FETCH=0 after "0 1 2 3" none
	SCR_FETCH_BYPASS=1 restarts "0 1 2 3" ckpt.3
	assert_line "from $PREFIX/ckpt.3/d0/rank_0.0"
	[[ -z $(find "$NODES" -name 'rank_*') ]]
	after "0 1 2 3" ckpt.3
	assert_line "from $SSD/$CACHE/scr.dataset.3/rank_0.0"
	truncate -s 1 ckpt.3/d3/rank_3.0
	SCR_FETCH_BYPASS=1 after "0 1 2 3" ckpt.2
	SCR_DISTRIBUTE=0 SCR_FETCH=0 restarts "0 1 2 3" none
	[[ -z $(cached 0)$(cached 1) ]]
}

@test "restarts in a row, between jobs and in one process (1, 33)" {
	for SCR_COPY_TYPE in $SCHEMES; do
		fresh
		restarts "0 1 2 3" ckpt.3
		restarts "0 1 2 3" ckpt.3 again=3
		[[ $(grep -c "^restart ckpt.3" <<<"$output") -eq 3 ]]
		line "restart ckpt.3;restart ckpt.7;complete 9 0" \
			job "0 1 2 3" app_restart 2 files=2 again=3
		[[ $(cached 2) == "8 9" ]]
	done
	# The first in the process finds nothing, the next what it wrote.
	rm -rf "${NODES:?}" .scr
	SCR_FLUSH=1 line "none;restart ckpt.2" job "0 1 2 3" app_restart 2 files=2 again=2
	[[ $(names) == "ckpt.1 ckpt.2 ckpt.3 ckpt.4" ]]
}

@test "bypass: node loss is harmless, a truncated or flipped file is not (43, 33.18)" {
	export SCR_CACHE_BYPASS=1
	for SCR_COPY_TYPE in $SCHEMES; do
		story <<-'END'
			fresh; [[ -z $(find "$NODES" -name "rank_*") && -s ckpt.3/d1/rank_1.0 ]]||ckpt.3
			lose 2||ckpt.3
		END
	done
	story <<-'END'
		truncate -s 10 ckpt.3/d1/rank_1.0||ckpt.2
		lose 0 1 2 3||ckpt.2
		fresh; rm ckpt.3/d2/rank_2.0||ckpt.2
		fresh; flip ckpt.3/d1/rank_1.0 500||ckpt.2
		fresh; flip ckpt.3/d1/rank_1.0 500; lose 0 1 2 3||ckpt.2
	END
	whole 1 2
	# Shared files have no checksum, and who wants none has none.
	fresh "0 1 2 3" shared=1
	SCR_CRC_ON_FLUSH=0 fresh
	scr_inspect -m tree .scr/scr.dataset.3/rank2file.0.0 >printout
	[[ $(<printout) == *FILE* && $(<printout) != *CRC* ]]
}

@test "a file of all ranks, back after a restart (44)" {
	export SCR_CACHE_BYPASS=1
	fresh "0 1 2 3" shared=1
	restarts "0 1 2 3" ckpt.3 shared=1
	after "0 1 2 3" ckpt.3 shared=1
	export SCR_CACHE_BYPASS=0
	echo "STORE=$PREFIX/all GROUP=WORLD COUNT=2" >.scrconf
	SCR_CACHE_BASE=$PREFIX/all fresh "0 1 2 3" shared=1
	[[ -n $(find "$PREFIX/all" -name shared) ]]
	SCR_CACHE_BASE=$PREFIX/all after 1 ckpt.3 shared=1
}

@test "output is on the prefix at once, and no checkpoint (45)" {
	export SCR_FLUSH_ASYNC=0
	works "0 1 2 3" app_ckpt steps=4 name=set.%d flags=2 finalize=0
	[[ $(names) == "set.1 set.2 set.3 set.4" && -s set.4/rank_2.0 ]]
	restarts "0 1 2 3" none
	after "0 1 2 3" none
	job "0 1 2 3" app_ckpt steps=2 name=both.%d flags2=3 finalize=0
	[[ $(names) == *" both.2" && -s both.2/rank_3.0 && ! -e both.1 ]]
	job "0 1 2 3" app_calls init have_restart finalize
	assert_line "have_restart -> 0 1 both.2"
	lose 0 1 2 3
	job "0 1 2 3" app_calls init have_restart finalize
	assert_line "have_restart -> 0 1 both.2"
}

@test "CheckpointsLeft: the last one is on the prefix (56)" {
	try scr_halt --checkpoints 2 "$PREFIX"
	SCR_FLUSH=10 SCR_HALT_EXIT=1 works "0 1 2 3" app_ckpt steps=9
	[[ $stderr == *"Job exiting: No more checkpoints remaining."* ]]
	[[ $(names) == ckpt.2 && -s ckpt.2/rank_3.0 ]]
}

@test "a dataset that one rank calls invalid is nowhere (58)" {
	local bypass

	for bypass in 0 1; do
		rm -rf "${NODES:?}" .scr ckpt.*
		SCR_CACHE_BYPASS=$bypass SCR_FLUSH=1 line "complete 1 1" \
			works "0 1 2 3" app_ckpt steps=1 invalid=1
		[[ -z $(cached 0) && $(names) != *ckpt.1 ]]
		SCR_CACHE_BYPASS=$bypass line "have_restart -> 0 0" \
			job "0 1 2 3" app_calls init have_restart finalize
	done
}

# events: those of the log since the last START, with their datasets, "xfer"s
# in capitals alone.
events() {
	sed -nE '/event=START,/h; //!H; ${x; p}' .scr/log |
		sed -E 's/.*(event|xfer)=([A-Z_]+)(.*, dset=([0-9]+))?.*/\2 \4/;
			s/ $//' | paste -sd,
}

@test "restart, rebuild and fetch in the log (64)" {
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0 SCR_FLUSH=1
	fresh
	after 1 ckpt.3
	[[ $(events) == "START,REBUILD_START 2,REBUILD_SUCCESS 2,\
REBUILD_START 3,REBUILD_SUCCESS 3,RESTART_SUCCESS 3,COMPUTE_START,HALT" ]] ||
		failed "$(events)"
	lose 0 1
	rm ckpt.3/d2/rank_2.0
	restarts "0 1 2 3" ckpt.2
	[[ $(events) == "START,REBUILD_START 2,REBUILD_FAIL 2,\
REBUILD_START 3,REBUILD_FAIL 3,RESTART_FAIL,COMPUTE_START,\
FETCH_START 3,FETCH_FAIL 3,FETCH_START 2,FETCH_SUCCESS 2,FETCH 2,HALT" ]] ||
		failed "$(events)"
	grep -q 'event=REBUILD_FAIL, dset=3, name="ckpt.3", secs=' .scr/log
	grep -q 'xfer=FETCH, .*dset=2, .*bytes=[1-9].*, files=8$' .scr/log
}

@test "the deprecated calls: written, lost, restarted by base name (67)" {
	export SCR_FLUSH=3
	fresh "0 1 2 3" pair=1
	[[ $(names) == scr.dataset.3 ]]
	after 2 scr.dataset.3 base=1
	after "0 1 2 3" scr.dataset.3 base=1
}
