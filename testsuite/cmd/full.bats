#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2154,SC2016 # bats sets them; for the shell in there
# A full file system: what makes room works, and messages say what is short.

load helper

: "${GEN:=$BIN/../gen}"
: "${SHIM:=$BIN/../shim.so}"
export GEN SHIM

setup() {
	in_no_job
	unshare -m true 2>/dev/null || skip "may not make a mount namespace"
	mkdir mnt
	cat >functions <<'END'
# On a small file system: three datasets, t3 current.
make() {
	mount -t tmpfs -o size=1m,nr_inodes=120 none mnt || exit 9
	local id
	for id in 1 2 3; do
		"$GEN/gen_dataset" -q -p mnt/p -n 2 -m 1 -s 20000 -i $id \
			--name t$id -t "${type:-SINGLE}" || exit 8
		scr_index -q -p mnt/p --build $id || exit 7
	done
	scr_index -q -p mnt/p --current t3 || exit 6
}
# Take every byte and every inode.
fill() {
	local n=0
	if [[ $1 == *inodes* ]]; then
		while : 2>/dev/null >mnt/inode.$n; do n=$((n + 1)); done
	else
		: >mnt/bytes
	fi 2>/dev/null
	if [[ $1 == *bytes* ]]; then
		[[ -e mnt/bytes ]] || mv mnt/inode.0 mnt/bytes
		dd if=/dev/zero of=mnt/bytes bs=4096 2>/dev/null
		dd if=/dev/zero of=mnt/bytes bs=1 seek="$(stat -c %s mnt/bytes)" \
			count=4096 2>/dev/null
	fi
	true
}
END
}

# inside SCRIPT ARGUMENT...: run it with the functions and private mounts.
inside() {
	local script=$1

	shift
	unshare -m --propagation private bash -c ". ./functions; $script" "$@"
}

@test "delete, drop, prune and current work without a byte or an inode" {
	local what verb

	for what in bytes inodes bytes,inodes; do
		for verb in "--delete t2" "--drop t2" "--prune --keep 1" \
			"--current t1" "--uncurrent" "--drop-after t1" \
			"--drop-all"; do
			inside 'make; fill $0
				scr_index -p mnt/p $1 2>err || {
					cat err; df mnt; df -i mnt; exit 1; }
				scr_index -p mnt/p --all >list || exit 2
				[[ -z $(find mnt -name "*.tmp") ]]' \
				"$what" "$verb" || failed "$what: $verb"
			case $verb in
			*delete* | "--drop t2") ! grep -q t2 list && grep -q "t3" list ;;
			*prune*) ! grep -q "t[12]" list ;;
			*current\ t1) grep -q "\* .*t1" list ;;
			--uncurrent) ! grep -q "\*" list ;;
			*after*) ! grep -q "t[23]" list ;;
			*) ! grep -q "t[123]" list ;;
			esac || failed "$what: $verb: $(cat list)"
		done
	done
}

@test "the same without the reserve, and without locks of our own" {
	local what verb

	for what in bytes inodes bytes,inodes; do
		for verb in "--delete t2" "--drop t2" "--current t1" \
			"--prune --keep 1"; do
			inside 'make; rm -f mnt/p/.scr/index.{spare,lock}
				fill $0; scr_index -p mnt/p $1 &&
				scr_index -p mnt/p --all' \
				"$what" "$verb" || failed "$what: $verb"
		done
	done
}

@test "killed and run again on a full file system, the index is whole" {
	[[ -e $SHIM ]] || skip "no fault shim"
	inside 'make; fill bytes,inodes; cp -a mnt/p p
		for verb in "--delete t3" "--drop t3" "--current t1"; do
			for ((n = 1; n < 400; n++)); do
				LD_PRELOAD=$SHIM SHIM_KILL_AT=$n \
					scr_index -p mnt/p $verb >/dev/null 2>&1
				status=$?
				scr_index -p mnt/p --all >list 2>err || exit 1
				[[ ! -s err ]] || { cat err; exit 2; }
				for id in 1 2 3; do
					grep -q "t$id\$" list || continue
					grep -q " YES .*t$id\$" list || continue
					diff -r p/t$id mnt/p/t$id || exit 3
				done
				! grep "NO .*\*" list || exit 4
				((status > 1)) || break
			done
			((status <= 1)) || exit 5
			# Room for the copy comes from the filler.
			rm -rf mnt/p mnt/bytes mnt/inode.*
			cp -a p mnt/p && fill bytes,inodes || exit 6
		done'
}

@test "messages about room name the file system, the need and what is free" {
	inside 'make; fill bytes
		"$GEN/gen_dataset" -q -p p -n 2 -m 1 -s 90000 -i 4 --name t4 \
			-t SINGLE && scr_index -q -p p --build 4 || exit 1
		scr_archive -p p export -o archive 4 || exit 2
		! scr_archive -p mnt/p import archive 2>err || exit 3
		cat err
		grep -q "mnt: .* free" err || exit 4
		! scr_index -p mnt/p --build 1 --checksums 2>err || true
		! scr_container -p mnt/p pack 2 2>err || exit 5
		cat err
		grep -q "mnt: .* needed.*, .* free" err'
}

# Each writer, with room for some of what it writes, or for no file.
@test "every command that writes says which file system is full" {
	local what line

	for what in bytes inodes; do
		while IFS= read -r line; do
			inside 'make; "$GEN/gen_dataset" -q -p p -n 2 -m 1 -s 90000 \
					-i 4 --name t4 -t SINGLE &&
				scr_index -q -p p --build 4 &&
				scr_archive -q -p p export -o archive 4 &&
				cp -a p packed &&
				scr_container -q -p packed pack 4 || exit 1
				cp -a packed mnt/packed && mkdir mnt/out || exit 2
				fill $0
				$1 2>err && { echo "did it"; exit 3; }
				cat err
				grep -q "mnt: .* free" err || exit 4
				[[ $0 != inodes ]] || grep -q "no inode" err || exit 5
				[[ -z $(find mnt -name "*.tmp") ]] || exit 6' \
				"$what" "$line" || failed "$what: $line"
		done <<-'END'
			scr_archive -p p export -o mnt/out/archive 4
			scr_archive -p mnt/p import archive
			scr_container -p p extract -C mnt/out 4
			scr_container -p packed extract -C mnt/out 4
			scr_container -p mnt/packed unpack 4
			scr_container -p mnt/p pack 1
			scr_container -p mnt/packed repack --size 50000 4
		END
	done
}
