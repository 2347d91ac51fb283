#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086,SC2103
# How all commands behave: plans and what only reads change nothing; a reader who
# leaves is no failure; a signal ends who waits, and nothing is left; files keep
# their modes, times and holes.

load helper

meta=p/.scr/scr.dataset.1

setup() { in_no_job && export SCR_USER_NAME=genuser; }

# make OPTION...: make dataset 1 on prefix p, 8 ranks on 4 nodes, and their
# caches.
make() {
	gen -p p --nodes-dir nodes -n 8 -m 4 -f 2 -s 9000,700 --layout both "$@"
	ln -sfn nodes/node0 local
}

# indexed OPTION...: the same without a loss, in the index.
indexed() {
	make --lose "" "$@"
	scr_index -q -p p --build 1
}

# two: dataset 1 has lost a node; dataset 2 is in the index, and packed on another
# prefix.
two() {
	make --lose 1
	cp -a p lossy
	built p 2 -n 8 -m 4 -f 2 -s 9000,700 --lose "" --nodes-dir n2 \
		--name two --layout prefix
	cp -a p packed
	scr_container -q -p packed pack --size 20000 2
}

# through NAME: dataset 1 of p in the archive NAME.ar, imported to the prefix NAME.
through() {
	scr_archive -q -p p export -o "$1.ar" 1
	mkdir "$1"
	scr_archive -q -p "$1" import "$1.ar"
}

@test "a read-only prefix: everything that only reads" {
	privately && return
	indexed
	mkdir ro out
	mount -t tmpfs -o size=20m none ro
	cp -a p/. ro
	cp -a ro packed
	scr_container -q -p packed pack --size 20000 1
	cp -a packed ro/packed
	mount -o remount,bind,ro ro
	for cmd in "scr_archive -p ro export -o ar 1" \
		"scr_archive -p ro/packed export -o ar2 1" \
		"scr_container -p ro/packed extract -C out 1" \
		"scr_container -p ro/packed verify 1" \
		"scr_container -p ro/packed cat 1 ckpt.1/rank_0_0.ckpt" \
		"scr_index -p ro --verify --checksums --deep" \
		"scr_index -p ro" "scr_inspect ro" "scr_inspect -p ro -d 1" \
		"scr_rebuild -p ro -n 1" "scr_halt -l ro"; do
		ends 0 $cmd
	done
	mkdir q
	scr_archive -q -p q import ar
	diff -r p/ckpt.1 q/ckpt.1
}

@test "a prefix of another user: export reads without a lock" {
	become 1234
	indexed
	chmod -R go=rX p .
	mkdir -m 777 out
	ends 0 "${as[@]}" scr_archive -p p export -o out/ar 1
}

# All entries with all times, and of the directories, too.
snapshot() {
	find "$@" -printf '%p %y %m %U %G %s %T@ %C@ %l\n' | sort
}

@test "plans and dry runs change nothing" {
	two
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	mkdir empty
	while IFS= read -r line; do
		read -ra cmd <<<"${line//HOST/$HOSTNAME}"
		snapshot p lossy packed empty nodes >before
		try "${cmd[@]}"
		((status != 2)) || failed "$line"
		diff before <(snapshot p lossy packed empty nodes) ||
			failed "$line: changed something"
	done <<-'END'
		scr_index -p p --build 1 --dry-run
		scr_index -p lossy --build 1 --dry-run
		scr_index -p p --delete two --dry-run
		scr_index -p p --prune --keep 1 --dry-run
		scr_index -p packed --delete two --dry-run
		scr_index -p p --verify --checksums --deep
		scr_index -p p
		scr_inspect p
		scr_inspect -p p -d 1
		scr_inspect -p packed -d 2 --deep
		scr_rebuild -p p -n 1
		scr_rebuild -p p -n --deep 2
		scr_container -p p pack --dry-run --size 20000 2
		scr_container -p packed repack --dry-run --size 30000 2
		scr_container -p packed unpack --dry-run 2
		scr_container -p packed verify 2
		scr_container -p packed list 2
		scr_halt -n -c 3 p
		scr_halt -n -r p
		scr_halt -l p
		scr_postrun --plan -p empty -r local -w HOST -J 1000 --cachedir local/cache --cntldir local/cntl
		scr_postrun --plan -p lossy -r local -w HOST -J 1000 --cachedir local/cache --cntldir local/cntl
		scr_env interval -p p
		scr_env flush-file -p p --latest
	END
}

# Bytes on disk below $1.
used() {
	du -s --block-size=1 "$1" | cut -f 1
}

@test "sparse files stay sparse" {
	make --lose "" -s 1000000,1
	# Files of 1 MB: a page at the start, one in the middle.
	for file in p/ckpt.1/* nodes/*/cache/genuser/scr.1000/scr.dataset.1/*.ckpt; do
		cp --sparse=never "$file" t
		size=$(stat -c %s "$file")
		head -c 4096 t >"$file"
		truncate -s "$size" "$file"
		head -c 10000 t | dd of="$file" bs=4096 seek=100 conv=notrunc \
			status=none
	done
	rm t
	truncate -s 1 hole
	(($(used p/ckpt.1) < 1000000)) || skip "no sparse files here"
	rm -f $meta/*.redset
	scr_rebuild -q -p p --protect xor 1 || scr_index -q -p p --build 1
	scr_index -q -p p --build 1
	scr_rebuild -q -p p --protect xor 1 || :
	(cd p && sha256sum ckpt.1/*) >sums
	check() {
		(cd "$1" && sha256sum --quiet -c "$OLDPWD/sums") ||
			failed "$2: other bytes"
		(($(used "$1/ckpt.1") < 1000000)) ||
			failed "$2: $(used "$1/ckpt.1") bytes on disk"
	}
	through q
	check q import
	cp -a p packed
	scr_container -q -p packed pack --size 10000000 1
	(($(used packed/.scr/scr.dataset.1/.scr) < 1000000)) ||
		failed "pack: $(used packed/.scr/scr.dataset.1/.scr)"
	scr_container -q -p packed extract -C out 1
	check out extract
	scr_container -q -p packed unpack 1
	check packed unpack
	rm p/ckpt.1/rank_1_*.ckpt
	scr_rebuild -q -p p 1
	check p rebuild
}

@test "scr_copy: sparse files stay sparse" {
	one_node
	in_cache -s 4000000
	for file in local/cache/genuser/scr.1000/scr.dataset.1/*.ckpt; do
		size=$(stat -c %s "$file")
		truncate -s 4096 "$file"
		truncate -s "$size" "$file"
	done
	scr_copy --cntldir local/cntl/genuser/scr.1000 \
		--cachedir local/cache/genuser/scr.1000 --id 1 --prefix p >/dev/null
	cmp local/cache/genuser/scr.1000/scr.dataset.1/rank_1.ckpt p/ckpt.1/rank_1.ckpt
	(($(used p/ckpt.1) < 1000000)) || failed "$(used p/ckpt.1) bytes on disk"
}

@test "extract, import: modes and times of directories survive" {
	indexed --name run/a/ckpt.1
	chmod 750 p/run p/run/a
	chmod 2711 p/run/a/ckpt.1
	touch -d 2001-02-03T04:05:06.123456789 p/run/a/ckpt.1
	touch -d 2002-02-03T04:05:06 p/run/a
	touch -d 2003-02-03T04:05:06 p/run
	dirs() { (cd "$1" && find run -type d -printf '%p %m %T@\n' | sort); }
	# Set-id bits are none requested.
	dirs p | sed 's/ 2711 / 711 /' >before
	through q
	scr_container -q -p p extract -C plain 1
	scr_container -q -p p extract -C some 1 run/a/ckpt.1/rank_3_0.ckpt
	for how in plain some q; do
		diff before <(dirs $how) || failed "$how"
	done
	if command -v bsdtar >/dev/null; then
		mkdir tar
		bsdtar -xpf q.ar -C tar
		diff <(dirs p) <(dirs tar) || failed tar
	fi
	# A directory that was there stays as it is, but for its time.
	mkdir q2
	mkdir -m 700 q2/run q2/run/a
	scr_archive -q -p q2 import q.ar
	diff <(sed 's/ [^ ]*$//; s/ 750/ 700/' before | sort) \
		<(dirs q2 | sed 's/ [^ ]*$//')
	diff <(grep ckpt before) <(dirs q2 | grep ckpt)
	# Packing leaves the directories, unpacking gives them their times; from
	# the packed dataset they come with both, after a repack, too.
	dirs p >was
	scr_container -q -p p pack --size 20000 1
	scr_container -q -p p repack --size 30000 1
	scr_container -q -p p extract -C packed 1
	diff before <(dirs packed)
	cp -a p gone
	scr_container -q -p p unpack 1
	diff was <(dirs p)
	# A directory that is gone meanwhile is made as it was.
	rm -r gone/run
	scr_container -q -p gone unpack 1
	diff <(grep ckpt before) <(dirs gone | grep ckpt)
	# The group of a directory that hands it on.
	mkdir s
	chmod 2755 s
	scr_container -q -p p extract -C s 1
	[[ $(stat -c %a s/run/a/ckpt.1) == 2711 ]]
	# A user's own import fails with a directory closed to him: nothing is left.
	chmod 555 p/run/a/ckpt.1
	scr_archive -q -p p export -o ar 1
	chmod 755 p/run/a/ckpt.1
	mkdir -p q3/.scr/index.lock
	as=()
	! may_give || { chown -R 1234:4321 q3 && become 1234; }
	ends 1 "${as[@]}" scr_archive -p q3 import ar
	[[ ! -e q3/run ]] || failed "left:" "$(find q3)"
}

@test "a closed pipe is no failure: nothing is said, the verdict stays" {
	two
	# The reader is gone before the first byte, or after the first line.
	while IFS= read -r line; do
		run $line
		want=$status
		for reader in true "head -1"; do
			exec 8> >($reader >/dev/null)
			[[ $reader != true ]] || wait $! || true
			rc=0
			$line 2>err >&8 || rc=$?
			exec 8>&-
			((rc == want)) ||
				failed "$line | $reader: $rc, not $want" "$(<err)"
			! grep -i 'pipe\|cannot write' err || failed "$line | $reader"
		done
	done <<-'END'
		scr_index -p p --verify
		scr_index -p p --verify --json
		scr_index -p p --all
		scr_inspect -p p -d 1 --files
		scr_inspect -p p -d 1 --json
		scr_inspect p
		scr_rebuild -p p -n 1
		scr_container -p packed list 2
		scr_container -p packed verify 2
		scr_container -p packed cat 2 ckpt.1/rank_0_0.ckpt
		scr_env conf -p p
		scr_index --help
	END
}

@test "SIGHUP, SIGQUIT: temporary files are removed; one that is ignored stays so" {
	indexed -s 400000,1
	[[ -e ${SHIM-}/ || -e ${SHIM%/*}/slow.so ]] || skip "no slow shim"
	tree_stat p | grep -v '^\.scr/index' >before
	for sig in TERM HUP QUIT INT; do
		LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH=ctr. \
			SLOW_USEC=$((5000 * ${SCRKIT_SLOWNESS:-1})) \
			scr_container -q -p p pack --size 100000 1 2>err &
		pid=$!
		for _ in {1..100}; do
			[[ -z $(find p -name '.scrkit-*.tmp') ]] || break
			sleep 0.02
		done
		[[ -n $(find p -name '.scrkit-*.tmp') ]] || failed "too fast"
		kill -$sig $pid
		status=0
		wait $pid || status=$?
		((status == 1)) || failed "$sig: status $status" "$(<err)"
		diff before <(tree_stat p | grep -v '^\.scr/index') ||
			failed "$sig: left something"
	done
	(
		trap '' HUP
		exec env LD_PRELOAD="${SHIM%/*}/slow.so" SLOW_PATH=ctr. \
			SLOW_USEC=10000 scr_container -q -p p pack --size 400000 1
	) &
	pid=$!
	sleep 0.2
	kill -HUP $pid
	wait $pid
}

# silent FILE: a pipe that somebody holds open, and neither writes nor reads, with
# the beginning of the file already in it.
silent() {
	rm -f pipe
	mkfifo pipe
	exec 8<>pipe
	[[ ! -s $1 ]] || head -c 30000 "$1" >pipe
}

# The signals, each with a part of COMMAND..., and TERM with all of them; with
# SLOW=1 each.  Lines "SIGNAL COMMAND".
each_signal() {
	local i command signals=(TERM INT HUP QUIT)

	for ((i = 0; i < $#; i++)); do
		command=${*:i+1:1}
		if [[ -n ${SCRKIT_SLOW-} ]]; then
			printf "%s $command\n" "${signals[@]}"
		else
			echo "TERM $command"
			echo "${signals[i % 3 + 1]} $command"
		fi
	done
}

# ends_on SIGNAL COMMAND...: started without input from here, it waits; after the
# signal it ends soon with one line or by the signal.
ends_on() {
	local sig=$1 pid start looks

	shift
	# A shell lets its background processes ignore SIGINT, and read nothing.
	env --default-signal "$@" 2>err <&0 8>&- &
	pid=$!
	# It sleeps whenever one looks.
	for ((looks = 0; looks < 5; looks++)); do
		sleep 0.02
		[[ $(<"/proc/$pid/comm") == scr_* && $(<"/proc/$pid/stat") == *") S "* ]] ||
			looks=-1
		kill -0 $pid 2>/dev/null || failed "does not wait: $*" "$(<err)"
	done
	kill "-$sig" $pid
	start=$SECONDS
	while kill -0 $pid 2>/dev/null && ((SECONDS < start + 4)); do
		sleep 0.05
	done
	if kill -0 $pid 2>/dev/null; then
		kill -KILL $pid
		failed "deaf to SIG$sig: $*"
	fi
	status=0
	wait $pid || status=$?
	((status == 1 || status == 128 + $(kill -l "$sig"))) ||
		failed "$sig: $*: status $status" "$(<err)"
	(($(wc -l <err) <= 1)) || failed "$sig: $*:" "$(<err)"
}

@test "33.E a signal while JSON waits for its reader: one line; an endless log is not read" {
	built p 1 -n 300 -t SINGLE -s 10
	mkfifo pipe
	exec 8<>pipe
	head -c 65000 /dev/zero >pipe
	ends_on TERM scr_container -p p list --json 1 >pipe
	exec 8>&-
	assert_status 1
	grep -q "standard output: cannot write" err
	rm -r p
	indexed
	truncate -s 1T p/.scr/log 2>/dev/null || skip "no large files here"
	complains 1 "p/.scr/log;longer than the limit" timeout 10 scr_env interval -p p
}

@test "an archive that never comes: a signal ends import, nothing is left" {
	indexed
	scr_archive -q -p p export --with-redundancy -o whole 1
	: >none
	gzip -c whole >packed
	mkdir q
	mkfifo fifo # no writer at all
	while read -r sig part line; do
		silent "$part"
		read -ra cmd <<<"$line"
		ends_on "$sig" "${cmd[@]}" <pipe
		exec 8>&-
		[[ -z $(find q -mindepth 1) ]] ||
			failed "$sig, $part: left" "$(find q)"
	done < <(each_signal "none scr_archive -p q import fifo" \
		"none scr_archive -p q import -" "none scr_archive -p q import pipe" \
		"whole scr_archive -p q import -" "packed scr_archive -p q import pipe" \
		"whole scr_env crc32 pipe")
	# A slow writer is waited for.
	{ head -c 9000 whole; sleep 0.6; tail -c +9001 whole; } |
		scr_archive -q -p q import -
	diff -r p/ckpt.1 q/ckpt.1
	rm -rf q/* q/.scr
	{ sleep 0.5; cat whole >fifo; } &
	scr_archive -q -p q import fifo
	diff -r p/ckpt.1 q/ckpt.1
}

@test "a pipe that nobody reads: a signal ends the command" {
	indexed -s 90000,1
	"$GEN/gen_meta" --index 500 -p big
	silent /dev/null
	while read -r sig line; do
		read -ra cmd <<<"$line"
		ends_on "$sig" "${cmd[@]}" >pipe
	done < <(each_signal "scr_archive -p p export 1" \
		"scr_archive -p p export --compress gzip 1" \
		"scr_container -p p cat 1 ckpt.1/rank_0_0.ckpt" \
		"scr_index -p big --all --json")
	exec 8>&-
	# A reader that takes its time gets all of it.
	scr_archive -p p export 1 | { sleep 0.5; cat; } >slow
	scr_archive -q -p p export -o fast 1
	cmp slow fast
}

@test "a lock that somebody holds: a signal ends who waits for it" {
	indexed
	scr_archive -q -p p export -o ar 1
	mkdir -p q/.scr
	exec 8<>p/.scr/index.lock 9<>q/.scr/index.lock
	flock 8
	flock 9
	tree_stat p | grep -v index.lock >before
	while read -r sig line; do
		read -ra cmd <<<"$line"
		ends_on "$sig" "${cmd[@]}" 9>&-
	done < <(each_signal "scr_index -p p --drop ckpt.1" \
		"scr_index -p p --build 1" "scr_index -p p --current ckpt.1" \
		"scr_index -p p --delete ckpt.1" "scr_archive -p q import ar")
	exec 8>&- 9>&-
	diff before <(tree_stat p | grep -v index.lock)
	[[ $(find q -type f) == q/.scr/index.lock ]] ||
		failed "left:" "$(find q)"
}

@test "a value that is missing is a usage error; --help exits 0, and --version" {
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

@test "errors are on stderr, and stdout is empty" {
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

@test "a rebuild starts no processes, and no more threads than it may" {
	command -v strace >/dev/null || skip "no strace"
	strace -f -o /dev/null true 2>/dev/null || skip "may not trace"
	gen -p p -n 32 -m 32 --set-size 4 -s 1000 --lose 0,4,8,12,16,20,24,28
	warns 0 "rebuilt 8 files" env PATH="$PATH" strace -qq -f -e trace=process \
		-o calls "$BIN/scr_index" -p p --build 1 --jobs 2
	(($(grep -c 'execve(' calls) == 1)) || failed "$(cat calls)"
	# The number of live threads: started less ended.
	awk '/clone3?\(/ { now++ } / exit\(/ { now-- }
		now > most { most = now } END { exit most > 2 }' calls
}
