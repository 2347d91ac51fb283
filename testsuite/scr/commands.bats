#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The commands on what libscr has left in the caches and on the prefix, and jobs
# that go on from what the commands have made of it.

load restarts

setup() {
	job_setup
	pretend_ssh
}

# A new allocation, on other nodes: nothing of its caches is there.
elsewhere() {
	lose 0 1 2 3
	export SCR_JOB_ID=j2
}

# verified DATASET...
verified() {
	local name

	for name; do
		ends 0 scr_index --prefix "$PREFIX" --verify --checksums "$name"
		ends 0 scr_inspect --prefix "$PREFIX" --deep --checksums \
			--dataset "$name"
	done
}

@test "scr_inspect reads every metadata file" {
	local f kind n answers=$BATS_TEST_TMPDIR/answers
	local errors=$BATS_TEST_TMPDIR/errors
	local -A seen

	for SCR_COPY_TYPE in $SCHEMES; do
		export SCR_FLUSH=2
		fresh
		n=0
		seen=()
		: >"$answers"
		while IFS= read -r f; do
			# Two whose names differ only in their numbers; SLOW=1:
			# all.
			kind=${f##*/}
			kind=${kind//[0-9]/}
			seen[$kind]=$((${seen[$kind]-0} + 1))
			((${seen[$kind]} <= 2)) || [[ -n ${SCRKIT_SLOW-} ]] ||
				continue
			scr_inspect --json "$f" >>"$answers" 2>"$errors" ||
				failed "$f"
			[[ ! -s $errors ]] || failed "$f: $(cat "$errors")"
			n=$((n + 1))
		done < <(find "$NODES" "$PREFIX/.scr" -type f \( -path '*/.scr/*' \
			-o -name cindex.scrinfo \) ! -name app.conf \
			! -name log ! -name index.lock ! -name index.spare)
		[[ -n ${seen[filemap_]-} && -n ${seen[cindex.scrinfo]-} &&
			-n ${seen[summary.scr]-} && -n ${seen[index.scr]-} ]] ||
			failed "kinds: ${!seen[*]}"
		jq -es "length == $n" "$answers" >/dev/null ||
			failed "not $n answers in JSON"
	done
}

@test "scr_postrun saves the caches, a node lost; a new job fetches (66)" {
	for SCR_COPY_TYPE in PARTNER XOR RS; do
		export SCR_JOB_ID=j1
		fresh
		lose 1
		ends 0 scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh
		verified ckpt.3
		elsewhere
		restarts "0 1 2 3" ckpt.3
	done
	# What cannot be saved is not called whole.
	export SCR_COPY_TYPE=XOR SCR_JOB_ID=j1
	fresh
	lose 1 2
	try scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh
	((status != 0))
	elsewhere
	restarts "0 1 2 3" none
}

@test "scr_copy and scr_index --build after a job with bypass" {
	local k

	export SCR_CACHE_BYPASS=1
	fresh
	rm .scr/index.scr .scr/scr.dataset.3/summary.scr
	for k in 0 1 2 3; do
		ends 0 on_node "$k" scr_copy --id 3 --cntldir "$SSD/$CACHE" \
			--prefix "$PREFIX"
	done
	ends 0 scr_index --prefix "$PREFIX" --build 3
	verified ckpt.3
	elsewhere
	restarts "0 1 2 3" ckpt.3
}

@test "scr_index: the index again, drop, add, current" {
	export SCR_FLUSH=1
	fresh
	verified ckpt.1 ckpt.2 ckpt.3
	rm .scr/index.scr
	for k in 1 2 3; do
		ends 0 scr_index --prefix "$PREFIX" --add ckpt.$k
	done
	ends 0 scr_index --prefix "$PREFIX" --drop ckpt.3
	elsewhere
	restarts "0 1 2 3" ckpt.2
	ends 0 scr_index --prefix "$PREFIX" --add ckpt.3
	ends 0 scr_index --prefix "$PREFIX" --current ckpt.3
	after "0 1 2 3" ckpt.3
}

@test "scr_rebuild on the prefix: what scr_copy saved, a rank's files lost" {
	for SCR_COPY_TYPE in PARTNER XOR RS; do
		export SCR_JOB_ID=j1
		fresh
		ends 0 scr_postrun -p "$PREFIX" -w 'node[0-3]' -r ssh
		rm ckpt.3/d2/rank_2.*
		ends 0 scr_rebuild --prefix "$PREFIX" ckpt.3
		verified ckpt.3
		elsewhere
		restarts "0 1 2 3" ckpt.3
	done
}

@test "scr_container: packed, verified, unpacked; a job restarts from either" {
	export SCR_FLUSH=1
	fresh
	ends 0 scr_container pack --prefix "$PREFIX" ckpt.3
	[[ ! -e ckpt.3/d1/rank_1.0 ]] || failed "not packed"
	ends 0 scr_container verify --prefix "$PREFIX" ckpt.3
	try scr_container list --prefix "$PREFIX" ckpt.3
	[[ $output == *ckpt.3/d1/rank_1.0* ]] || failed "list"
	elsewhere
	restarts "0 1 2 3" ckpt.3
	ends 0 scr_container unpack --prefix "$PREFIX" ckpt.3
	verified ckpt.3
	try scr_index --prefix "$PREFIX" --current ckpt.3
	after "0 1 2 3" ckpt.3
}

@test "scr_container: exported, imported elsewhere; a job restarts there" {
	export SCR_FLUSH=1
	fresh
	ends 0 scr_container export --prefix "$PREFIX" -o all.tar ckpt.3
	tar -tf all.tar | grep -q 'd3/rank_3.0$' || failed "archive"
	mkdir other
	ends 0 scr_container import --prefix "$PREFIX/other" all.tar
	elsewhere
	cd other
	restarts "0 1 2 3" ckpt.3
	assert_line "from $SSD/tester/scr.j2/scr.dataset.$(
		find .scr -maxdepth 1 -name 'scr.dataset.*' | sed 's/.*\.//'
	)/rank_0.0"
}
