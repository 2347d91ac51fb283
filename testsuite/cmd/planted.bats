#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2119,SC2120 # arguments are optional
# What a user can put in the place of each file, of the prefix and of the nodes,
# against each command that opens it: none hangs, follows a link out, shows or
# changes another's file, or takes memory or time without bounds.  Each 37th of all
# pairs; SCRKIT_SLOW: all of them.  And outputs that are no files, and inputs that
# never come.

load helper

setup() { in_no_job && export SCR_USER_NAME=genuser; }

# make OPTION...: make dataset 1 on prefix p, 8 ranks on 4 nodes, and their
# caches, of which local is that of one node; put it into the index.
make() {
	gen -p p --nodes-dir nodes -n 8 -m 4 -f 2 -s 9000,700 --layout both \
		--lose "" "$@"
	ln -sfn nodes/node0 local
	scr_index -q -p p --build 1
}

# plant KIND PATH: put it in the place of a file.
plant() {
	[[ $1 == sparse ]] || rm -rf "$2" "$2.to"
	mkdir -p "${2%/*}"
	case $1 in
	link) ln -s "$PWD/canary" "$2" ;;
	dangling) ln -s "$PWD/made" "$2" ;;
	loop) ln -s "${2##*/}" "$2" ;;
	fifo) mkfifo "$2" ;;
	socket)
		[[ -S socket ]] || python3 -c 'import socket
socket.socket(socket.AF_UNIX).bind("socket")'
		cp -a socket "$2"
		;;
	dir) mkdir "$2" ;;
	sink) mknod -m 666 "$2" c 1 3 ;; # as /dev/null
	device) mknod "$2" c 1 5 ;;	 # /dev/zero has no end
	hardlink) ln canary "$2" ;;
	sparse)
		# What was there, and a terabyte behind it.
		[[ ! -d $2 ]] || rm -rf "$2"
		truncate -s 1T "$2"
		;;
	link_*)
		plant "${1#link_}" "$2.to"
		ln -s "$PWD/$2.to" "$2"
		;;
	esac
}

# Everything that commands open below a prefix.
names() {
	cat <<-'END'
		.scrconf
		.scr/app.conf
		.scr/log
		.scr/index.scr
		.scr/index.scr.bak
		.scr/index.lock
		.scr/flush.scr
		.scr/flush.scr.bak
		.scr/halt.scr
		.scr/halt.scr.bak
		.scr/nodes.scr
		.scr/scavenge.lock
		.scr/scr.dataset.1/summary.scr
		.scr/scr.dataset.1/rank2file
		.scr/scr.dataset.1/rank2file.0.0
		.scr/scr.dataset.1/filemap_1
		.scr/scr.dataset.1/reddesc.er.1.redset
		.scr/scr.dataset.1/reddesc.er.1.xor.grp_2_of_2.mem_1_of_4.redset
		.scr/scr.dataset.1/copied_1.scr
		.scr/scr.dataset.1/.scrkit.lock
		.scr/scr.dataset.1/.scrkit.shares
		.scr/scr.dataset.1/scavenge.shares
		.scr/scr.dataset.1/scavenge.o1000
		.scr/scr.dataset.1/scavenge.e1000
		.scr/scr.dataset.1/rebuild.scr
		.scr/scr.dataset.1/packed.0.scr
		.scr/scr.dataset.1/.scr/ctr.0.scr
		.scr/scr.dataset.1/manifest.sha256
		ckpt.1/rank_1_0.ckpt
	END
}

# Commands that open them.
commands() {
	cat <<-'END'
		scr_index -p p
		scr_index -p p --all
		scr_index -p p --build 1
		scr_index -p p --verify --checksums
		scr_index -p p --current ckpt.1
		scr_inspect p
		scr_inspect -p p -d 1 --files
		scr_rebuild -p p 1
		scr_container -p p pack --size 20000 1
		scr_container -p p unpack 1
		scr_container -p p verify 1
		scr_archive -p p export -o ar 1
		scr_halt -l p
		scr_halt -c 3 p
		scr_halt -r p
		scr_prerun -p p
		scr_postrun -p p -r local -w HOST -J 1000 --cachedir local/cache --cntldir local/cntl
		scr_copy --cntldir local/cntl/genuser/scr.1000 --cachedir local/cache/genuser/scr.1000 --id 1 --prefix p
		scr_copy --cntldir local/cntl/genuser/scr.1000 --cachedir local/cache/genuser/scr.1000 --id 1 --prefix p --assign .scr/scr.dataset.1/scavenge.shares
		scr_env log-event -p p -T NOTE -N x
		scr_env flush-file -p p --latest
		scr_env nodes-file -p p
		scr_env interval -p p
		scr_env conf -p p
		scr_index -p p --drop ckpt.1
		scr_index -p p --prune --keep 1
		scr_container -p p list 1
		scr_index -p p --delete ckpt.1
	END
}

# Everything that commands open on a node, below its storage.
node_names() {
	cat <<-'END'
		cntl/genuser/scr.1000
		cntl/genuser/scr.1000/cindex.scrinfo
		cache/genuser/scr.1000
		cache/genuser/scr.1000/scr.dataset.1
		cache/genuser/scr.1000/scr.dataset.1/rank_0_0.ckpt
		cache/genuser/scr.1000/scr.dataset.1/.scr
		cache/genuser/scr.1000/scr.dataset.1/.scr/filemap_0
		cache/genuser/scr.1000/scr.dataset.1/.scr/reddesc.er.0.redset
		cache/genuser/scr.1000/scr.dataset.1/.scr/reddesc.er.0.xor.grp_1_of_2.mem_1_of_4.redset
		cache/genuser/scr.1000/scr.dataset.1/.scr/reddescmap.er.0.xor.grp_1_of_2.mem_1_of_4.redset
		cache/genuser/scr.1000/scr.dataset.1/.scr/reddesc.er.shuffile
		cache/genuser/scr.1000/scr.dataset.1/.scr/copied_0.scr
	END
}

node_commands() {
	local cache=local/cache/genuser/scr.1000 cntl=local/cntl/genuser/scr.1000

	cat <<-END
		scr_inspect $cache/scr.dataset.1
		scr_inspect --files --deep $(echo n/node*/cache/genuser/scr.1000/scr.dataset.1)
		scr_rebuild -n $(echo n/node*/cache/genuser/scr.1000/scr.dataset.1)
		scr_rebuild $(echo n/node*/cache/genuser/scr.1000/scr.dataset.1)
		scr_copy --cntldir $cntl --cachedir $cache --list
		scr_copy --cntldir $cntl --cachedir $cache --id 1 --prefix p
		scr_postrun -p p -r local -w HOST -J 1000 --cachedir local/cache --cntldir local/cntl
		scr_postrun --plan -p p -r local -w HOST -J 1000 --cachedir local/cache --cntldir local/cntl
		scr_env check-node --cntl local/cntl --cache local/cache
		scr_prerun -p p
	END
}

is_planted() {
	case $1 in
	link | dangling | loop) [[ -L $2 ]] ;;
	fifo) [[ -p $2 ]] ;;
	socket) [[ -S $2 ]] ;;
	dir) [[ -d $2 && ! -L $2 ]] ;;
	device) [[ -c $2 ]] ;;
	hardlink) [[ $2 -ef canary ]] ;;
	sparse) [[ -f $2 && $(stat -c %s "$2") == 1099511627776 ]] ;;
	esac
}

# One command, with bounded memory and time.
limited() {
	[[ -n $sanitized ]] || ulimit -v 4000000
	exec timeout -k 1 20 "$@"
}

# These tests work in one directory; "fresh" and "node0" are what was there.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	umask 022
	export SCR_USER_NAME=genuser SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	make
	# A sanitizer reserves terabytes of addresses.
	sanitized=$(nm "$BIN/scr_index" 2>/dev/null | grep -m 1 __asan_init) || true
	printf 'SECRET=topsecret\n' >canary
	chmod 600 canary
	canary=$(stat -c '%u %a %s' canary)
	export sanitized canary
	# Kinds of what is no file of the dataset.
	kinds=" link dangling loop fifo socket dir sparse "
	! mknod endless c 1 5 2>/dev/null || kinds+="device "
	# All that commands run as root find belongs to a user.
	! may_give || { chown -R 1234:4321 p nodes && kinds+="hardlink "; }
	export kinds
	cp -a p fresh
	mv nodes n
	ln -sfn n/node0 local
	cp -a n/node0 node0
}

# below KIND ROOT NAMES COMMANDS: plant it below ROOT under each name, and run
# some of the commands.
below() {
	local name line i shift place where
	local -a cmd all some

	mapfile -t all < <("$4")
	# Each kind takes other pairs.
	place=${kinds%%" $1 "*}
	shift=$(($(wc -w <<<"$place") * 4))
	while IFS= read -r name; do
		some=()
		for ((i = 0; i < ${#all[@]}; i++)); do
			[[ -z ${SCRKIT_SLOW-} ]] && (((i + shift) % 37 != 0)) ||
				some+=("${all[i]}")
		done
		shift=$((shift + 1))
		((${#some[@]} == 0)) || {
			rm -rf p n/node0 ar
			cp -a fresh p
			cp -a node0 n/node0
		}
		for line in "${some[@]}"; do
			# A file of unrecorded size is packed and exported as it
			# is, all of it.
			[[ $1 != sparse || $name != ckpt.1/* ||
				! $line =~ export|pack ]] || continue
			is_planted "$1" "$2/$name" || plant "$1" "$2/$name"
			read -ra cmd <<<"${line//HOST/$HOSTNAME}"
			attempt limited "${cmd[@]}" </dev/null
			where="$1: $name: $line"
			((status <= 4)) || failed "$where: $status"
			[[ $(<canary) == "SECRET=topsecret" &&
				$(stat -c '%u %a %s' canary) == "$canary" ]] ||
				failed "$where: changed the canary"
			output+=$stderr
			[[ $output != *topsecret* ]] ||
				failed "$where: shows the canary"
			[[ $output != *emory* ]] || failed "$where: memory"
			[[ ! -e made ]] || failed "$where: made a file"
		done
	done < <("$3")
}

# everywhere KIND
everywhere() {
	[[ $kinds == *" $1 "* ]] || skip "may not make one"
	cd "$BATS_FILE_TMPDIR" || return
	below "$1" p names commands
	below "$1" local node_names node_commands
}

@test "a link to a file outside, in the place of each file" { everywhere link; }
@test "a link to nothing outside" { everywhere dangling; }
@test "a link to itself" { everywhere loop; }
@test "a FIFO" { everywhere fifo; }
@test "a socket" { everywhere socket; }
@test "a directory" { everywhere dir; }
@test "an endless device" { everywhere device; }
@test "a hard link to another's file" { everywhere hardlink; }
@test "a terabyte, mostly a hole" { everywhere sparse; }

# Kinds of what is no regular file.  Only root makes a device.
kinds() {
	echo fifo socket dir link_fifo
	[[ ! -e sink ]] && ! mknod -m 666 sink c 1 3 2>/dev/null ||
		echo sink link_sink
}

# Type, mode, owner, device, inode and time of status change.
identity() {
	stat -c '%n %F %a %u %g %t:%T %i %Z' "$@"
}

@test "output: a device, a pipe or a directory is refused and stays as it is" {
	make
	cp -a p packed
	scr_container -q -p packed pack --size 20000 1
	for kind in $(kinds); do
		while IFS= read -r line; do
			plant "$kind" out/file
			identity out out/* >before
			read -ra cmd <<<"$line"
			ends 2 timeout 20 "${cmd[@]}"
			assert_stderr_one_line out/file "not a regular file" \
				"standard output"
			diff before <(identity out out/*) ||
				failed "$kind: $line"
		done <<-'END'
			scr_archive -p p export -o out/file 1
			scr_container -p packed export -o out/file 1
			scr_inspect -p packed --svg out/file 1
		END
	done
	# A file, or a link to one, is replaced.
	rm -rf out/*
	echo old >out/file
	scr_archive -q -p p export -o out/file 1
	ln -s file out/link
	scr_archive -q -p p export -o out/link 1
	cmp out/file out/link
}

@test "output: what is no file is not replaced by --force either" {
	make
	scr_archive -q -p p export -o ar 1
	cp -a p packed
	scr_container -q -p packed pack --size 20000 1
	for kind in $(kinds); do
		while IFS= read -r line; do
			renew packed q
			[[ $line != *import* ]] || rm -rf q/.scr
			plant "$kind" q/ckpt.1/rank_1_0.ckpt
			identity q/ckpt.1/* >before
			read -ra cmd <<<"$line"
			complains 1 rank_1_0.ckpt timeout 20 "${cmd[@]}"
			diff before <(identity q/ckpt.1/*) ||
				failed "$kind: $line"
		done <<-'END'
			scr_container -p q unpack --force 1
			scr_container -p packed extract --force -C q 1
			scr_archive -p q import --force ar
		END
	done
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
	local sig=$1 pid start

	shift
	# A shell lets its background processes ignore SIGINT, and read nothing.
	env --default-signal "$@" 2>err <&0 8>&- &
	pid=$!
	sleep 0.4
	kill -0 $pid 2>/dev/null || failed "does not wait: $*" "$(<err)"
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
	make
	truncate -s 1T p/.scr/log 2>/dev/null || skip "no large files here"
	ends 1 timeout 10 scr_env interval -p p
	assert_stderr_one_line p/.scr/log "longer than the limit"
}

@test "an archive that never comes: a signal ends import, nothing is left" {
	make
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
		"none scr_archive -p q import -" \
		"none scr_archive -p q import pipe" \
		"whole scr_archive -p q import -" \
		"packed scr_archive -p q import pipe" \
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
	make -s 90000,1
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
	make
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

@test "a FIFO as any argument: refused, never waited for" {
	make
	mkfifo fifo
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	while IFS= read -r line; do
		read -ra cmd <<<"$line"
		run timeout -k 1 15 "${cmd[@]}" </dev/null
		((status == 1 || status == 2)) || failed "$line: $status"
		((${#lines[@]} <= 3)) || failed "$line: $output"
	done <<-'END'
		scr_inspect fifo
		scr_inspect -p fifo
		scr_inspect -p p --moved-from fifo fifo
		scr_index -p fifo
		scr_index -p fifo --verify
		scr_rebuild fifo
		scr_rebuild -p fifo 1
		scr_rebuild --xor fifo
		scr_rebuild --xor map fifo
		scr_container -p fifo list 1
		scr_container -p p extract -C fifo 1
		scr_archive -p fifo export -o ar 1
		scr_archive -p fifo import ar
		scr_halt -l fifo
		scr_halt -c 3 fifo
		scr_prerun -p fifo
		scr_postrun -p fifo -r local -J 1 -w localhost
		scr_postrun -p p --conf fifo -r local -J 1 -w localhost
		scr_prerun -p p --conf fifo
		scr_copy --cntldir fifo --id 1 --prefix p
		scr_copy --cntldir local/cntl/genuser/scr.1000 --cachedir fifo --id 1 --prefix fifo
		scr_copy --cntldir local/cntl/genuser/scr.1000 --id 1 --prefix p --assign ../fifo
		scr_env conf --conf fifo
		scr_env interval --logfile fifo
		scr_env interval -p fifo
		scr_env flush-file -p fifo --latest
		scr_env nodes-file -p fifo
		scr_env check-node --cntl fifo --cache fifo
		scr_env log-event -p fifo -T NOTE -N x
		scr_env down-nodes --conf fifo --remote local --nodes localhost
	END
}

@test "root: a file of somebody else, linked into the prefix, is not changed" {
	gives
	make
	scr_index -q -p p --build 1
	cp -a p packed
	scr_container -q -p packed pack --size 20000 1
	chown -R 1234:4321 p packed nodes
	echo "somebody else's" >canary
	chmod 640 canary
	was=$(stat -c '%u %g %a %s %Y' canary)
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	while read -r name line; do
		renew packed q
		rm -f "q/$name"
		ln canary "q/$name" || skip "no hard links here"
		read -ra cmd <<<"$line"
		run timeout -k 1 20 "${cmd[@]}" </dev/null
		((status <= 4)) || failed "$line: $status"
		[[ $(stat -c '%u %g %a %s %Y' canary) == "$was" ]] ||
			failed "$name: $line: changed it: $(stat -c '%U %a %s' canary)"
	done <<-'END'
		.scr/log scr_env log-event -p q -T NOTE -N x
		.scr/index.lock scr_index -p q --drop ckpt.1
		.scr/index.spare scr_index -p q --drop ckpt.1
		.scr/halt.scr scr_halt -c 3 q
		.scr/halt.scr scr_halt -r q
		.scr/scr.dataset.1/.scr/ctr.0.scr scr_rebuild -p q 1
		.scr/scr.dataset.1/.scr/ctr.0.scr scr_index -p q --build 1
		.scr/scr.dataset.1/.scr/ctr.0.scr scr_container -p q repack 1
		.scr/scr.dataset.1/.scrkit.lock scr_container -p q repack 1
	END
	# The user's own file with two names may be changed.
	renew p q
	: >other
	chown 1234:4321 other
	ln other q/.scr/log
	ends 0 scr_env log-event -p q -T NOTE -N x
	[[ -s other ]]
}
