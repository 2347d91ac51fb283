#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Every command in README.md and in the EXAMPLES of the pages is run, in the
# directories that they speak of.  Those that need a job, a node or a compiler
# are named below, with the test that runs them.

load helper

DOCS=$TESTSUITE/..

# All tests work in one directory: $W; the datasets know its name.
setup_file() {
	export W=$BATS_FILE_TMPDIR/w HOME=$BATS_FILE_TMPDIR/w/home USER=alice TZ=UTC
	unset SCR_JOB_ID SCR_NODELIST SLURM_JOB_ID
	mkdir -p "$W"/{home,fake,p/run7,q,pfs,tape,dev,tmp,mnt}
	cd "$W" || return 1
	printf '#!/bin/sh\ncat >/dev/null\n' >fake/h5dump
	chmod +x fake/h5dump
	run7
	cp -a "$W" "$BATS_FILE_TMPDIR/run7"
}

setup() {
	untraced
	PATH=$W/fake:$PATH
	cd "$W" || return 1
	rm -rf -- *
	cp -a "$BATS_FILE_TMPDIR/run7/." .
}

dataset() # ID OPTION...: 8 ranks on 4 nodes below /p/run7, with XOR
{
	gen -p p/run7 --nodes-dir "nodes.$1" -n 8 -m 4 -t XOR --set-size 4 \
		-f 1 --ckpt -i "$@"
}

# /p/run7: checkpoints 3, 4 and 9 are whole and in the index.  Number 5 was
# scavenged, without the files of the third node.
run7() {
	local id

	for id in 3 4 9; do
		dataset "$id"
		scr_index -q -p p/run7 --build "$id"
	done
	scr_index -q -p p/run7 --current ckpt.4
	dataset 5 --lose 2
}

# Texts in which times, and what differs between users, look alike.
alike() {
	sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}/TIME/g' \
		-e 's/by [a-z]+, job/by USER, job/' -e "s#$W##g"
}

# Is command $1 run elsewhere?  Where:
elsewhere() {
	case $1 in
	*mpiexec* | *srun* | *sbatch* | "mpicc "*) ;; # cluster/examples.bats
	"make "*) ;;				      # install.bats
	*scr_halt*--immediate*) ;;		      # cluster/halt.bats
	*pdsh*) ;;				      # cluster/ways.bats
	scr_postrun* | "echo \$?") ;;		      # cluster/postrun.bats
	*) return 1 ;;
	esac
}

# A command of an example, in a shell of its own.
typed() { eval "$1"; }

# run_docs FILE [STATUS=PATTERN]...: run each example of FILE in a fresh world:
# what setup() and the test have made.  Every command has to succeed, but those
# that contain PATTERN end with STATUS.
run_docs() {
	local file=$DOCS/$1 number command want rule count=0 expected='' line said
	local world=$BATS_TEST_TMPDIR/world all

	shift
	cp -a "$W" "$world"
	all=(*)
	touch "$world.at"
	while IFS=$'\t' read -r number command; do
		if [[ -z $number ]]; then
			cd "$W" || return 1
			# Most examples change nothing.
			[[ -n $(find . -cnewer "$world.at" -print -quit) ]] ||
				continue
			rm -rf -- "${all[@]}"
			cp -a "$world/." .
			touch "$world.at"
			continue
		fi
		if [[ $number = "=" ]]; then
			expected+=$command$'\n'
			continue
		fi
		printf '# %s:%s: %s\n' "${file##*/}" "$number" "$command" >&3
		count=$((count + 1))
		if elsewhere "$command"; then
			expected=
			continue
		fi
		want=0
		for rule; do
			[[ $command != *"${rule#*=}"* ]] || want=${rule%%=*}
		done
		# Absolute paths are those of this world.
		command=$(sed -E "s#(^|[ <>='\"])/(p|q|pfs|tape|dev|tmp|mnt)/#\1$W/\2/#g" \
			<<<"${command//\\n/$'\n'}")
		attempt typed "$command"
		[[ $status = "$want" ]] || failed "$number: $command"
		[[ $stderr != *"not found"* ]] || failed "$number: $command"
		[[ $command != "cd "* ]] || eval "$command"
		[[ -z $expected ]] || said=$'\n'$(alike <<<"$output"$'\n'"$stderr")$'\n'
		while IFS= read -r line; do
			[[ $said == *$'\n'"$line"$'\n'* ]] ||
				failed "$number: $command" "expected: $line"
		done < <([[ -z $expected ]] || alike <<<"${expected%$'\n'}")
		expected=
	done < <(echo; python3 "$TESTSUITE/cmd/doc_commands.py" "$file")
	((count > 0)) || failed "$file: no examples"
}

@test "README.md" {
	export LC_ALL=C.UTF-8
	scr_index -q -p p/run7 --delete ckpt.9
	run_docs README.md 3=scr_inspect
}

@test "scr_container(1)" {
	scr_index -q -p p/run7 --build 5
	run_docs man/scr_container.1
}

@test "scr_rebuild(1)" {
	built p/run7 6 --nodes-dir nodes.6 -n 8 -m 4 -t NONE --ckpt
	# Dataset 5 in the caches of the nodes that are left.
	dataset 5 --lose 2 --layout cache --nodes-dir mnt
	for n in 0 1 3; do
		mv "mnt/node$n/cache/genuser" "mnt/node$n/cache/alice"
	done
	run_docs man/scr_rebuild.1 "3=--dry-run"
}

@test "scrkit(7)" {
	echo SCR_CACHE_BYPASS=0 >p/run7/.scrconf
	run_docs man/scrkit.7 3=scr_inspect
}

@test "scrkit.conf(5)" {
	printf '%s\n' SCR_CACHE_BYPASS=0 SCR_FLUSH=5 \
		"# The nodes' disks" "STORE=/ssd COUNT=2" >p/run7/.scrconf
	run_docs man/scrkit.conf.5
}

@test "scr_env(1)" {
	export SCR_JOB_ID=1000 SCR_NODELIST='node[1-4]' SCR_REMOTE=local
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	export SCRKIT_SYSTEM_CONF=/nonexistent
	SCR_END_TIME=$(($(date +%s) + 3600))
	export SCR_END_TIME
	mkdir dev/shm
	printf '%s\n' "SCR_CNTL_BASE=$W/dev/shm" \
		"SCR_CACHE_BASE=$W/dev/shm" >p/run7/.scrconf
	scr_env log-event -p p/run7 -T START
	scr_env log-event -p p/run7 -T CHECKPOINT_END --dset 3 \
		--start "$SCR_END_TIME" -L 5
	run_docs man/scr_env.1 "1=retries-halt"
}

# The third node was down when number 5 was scavenged.
@test "scr_copy(1)" {
	mkdir -p dev/shm/alice q/run7
	dataset 5 --layout cache
	mv nodes.5/node2 p/local
	mv p/local/cntl/genuser/scr.1000 dev/shm/alice/
	ln -s "$W/p/local/cache/genuser" tmp/alice
	run_docs man/scr_copy.1
}

@test "scr_archive(1)" {
	mkdir q/run8
	run_docs man/scr_archive.1
}

# job: an FTI job that lost node 2; saved: one whose checkpoint is of level 1.
@test "scr_fti(1)" {
	local at=rescue/node0/a5be2627/l1 fti=$TESTSUITE/data/golden/fti dir

	mkdir -p "$at"
	cp "$fti/bad-F/good.fti" "$at/Ckpt4-Rank0.fti"
	tee temperature >pressure <<<"raw bytes"
	cp -R "$fti/dcp-F/ckpt4" fti
	cp -R "$fti/levels-E-v1.6/L3" job
	cp -R job saved
	cp -R "$fti/head-F/L4" run
	chmod -R u+w job saved run
	rm -r job/Local/node2
	find saved -name '*RSed*' -delete
	for dir in saved/Local/node*/*/l3; do
		mv "$dir" "${dir%3}1"
	done
	sed -i 's/^failure .*/failure = 0/' run/config.fti
	run_docs man/scr_fti.1 "3=scan job" "3=rebuild -n job"
}

@test "scr_inspect(1)" {
	scr_container -q -p p/run7 pack --size 100KB --with-redundancy 9
	for id in 6 7; do
		gen -p pfs --nodes-dir nodes.cache --layout cache -n 8 -m 4 \
			-t XOR --set-size 4 --ckpt -i "$id"
	done
	for n in 0 1 2 3; do
		mkdir -p "mnt/node$n/tmp"
		mv "nodes.cache/node$n/cache/genuser" "mnt/node$n/tmp/user"
	done
	run_docs man/scr_inspect.1 "3=scr_inspect /p/run7" "3=--map 5" "3=.html 5"
}

@test "kvtree(5)" {
	ln -sf "$BIN/scr_inspect" fake/kvtree_print
	ln -sf "$BIN/scr_inspect" fake/scr_print
	run_docs man/kvtree.5 "1=scr_inspect /tmp/cut"
}

@test "scr-redset(5)" {
	gen -p p/run7 --nodes-dir nodes.7 -n 8 -m 4 -t PARTNER --set-size 4 \
		--ckpt -i 7 --lose 0
	run_docs man/scr-redset.5
}

@test "scr-dataset(5)" {
	ln -sf "$BIN/scr_inspect" fake/scr_print
	run_docs man/scr-dataset.5
}

# /dev/shm is in memory, but only of this test.
@test "scr_store(1)" {
	privately && return
	mkdir "$BATS_TEST_TMPDIR/mem"
	mount -t tmpfs none "$BATS_TEST_TMPDIR/mem"
	ln -s "$BATS_TEST_TMPDIR/mem" dev/shm
	: >input
	run_docs man/scr_store.1
}

@test "scr_index(1)" { run_docs man/scr_index.1; }
@test "container-format(5)" { run_docs man/container-format.5; }
@test "scrkit-json(5)" { run_docs man/scrkit-json.5; }
@test "scr_postrun(1)" { run_docs man/scr_postrun.1; }
@test "scr_halt(1)" { run_docs man/scr_halt.1; }
@test "scr_prerun(1)" { run_docs man/scr_prerun.1; }
