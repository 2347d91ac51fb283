#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2119,SC2120,SC2030,SC2031 # bats sets them; arguments are optional
# What a user can put in the place of each file, of the prefix and of the nodes,
# against each command that opens it: none hangs, follows a link out, shows or
# changes another's file, or takes memory or time without bounds.
# Each 37th of all pairs; SCRKIT_SLOW: all of them.

load helper
load plant

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

# All tests work in one directory; "fresh" and "node0" are what was there.
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

setup() { cd "$BATS_FILE_TMPDIR" || return; }

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
