#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034
# From the prefix to the caches.

load helper

NODE_MAP="0 1 2 3"
JOB_BASE=$BATS_FILE_TMPDIR/job

setup() {
	job_setup
	export SCR_FLUSH=1
	once works "$NODE_MAP" prefix write=ckpt.1 write=ckpt.2 write=ckpt.3
	lose 0 1 2 3
}

# The VALID column of a dataset.
valid() {
	scr_index --prefix "$PREFIX" --list --json |
		jq -r ".datasets[] | select(.id==$1) | .valid"
}

fetched() {
	line "fetch -> ok;fetched $1" works "$NODE_MAP" prefix fetch held
}

@test "the summary or the top of rank2file is missing: written again (26)" {
	rm "$PREFIX/.scr/scr.dataset.3/summary.scr"
	fetched "3 ckpt.3"
	lose 0 1 2 3
	rm "$PREFIX/.scr/scr.dataset.3/rank2file"
	fetched "3 ckpt.3"
	lose 0 1 2 3
	rm "$PREFIX/.scr/scr.dataset.3"/rank2file*
	fetched "2 ckpt.2"
	[[ $stderr == *rank2file* ]]
}

@test "SCR_CURRENT, once; SCR_Current() (29)" {
	export SCR_CURRENT=ckpt.2
	fetched "2 ckpt.2"
	[[ $(valid 3) == true ]]
	job "$NODE_MAP" prefix fetch write=ckpt.4
	[[ -d $PREFIX/.scr/scr.dataset.4 ]]
	unset SCR_CURRENT
	line "current=ckpt.1 -> ok;held:;fetched 1 ckpt.1" \
		job "$NODE_MAP" prefix current=ckpt.1 held fetch
	lose 0 1 2 3
	SCR_CURRENT=nothing fetched "1 ckpt.1"
	[[ $stderr == *"named in SCR_CURRENT does not exist"* ]]
}

@test "a damaged index is kept, and made again (30)" {
	for how in garbage empty gone; do
		rm -f "$PREFIX"/.scr/index.scr.bak*
		case $how in
		garbage) echo garbage >"$PREFIX/.scr/index.scr" ;;
		empty) : >"$PREFIX/.scr/index.scr" ;;
		gone) rm "$PREFIX/.scr/index.scr" ;;
		esac
		lose 0 1 2 3
		fetched "3 ckpt.3"
		[[ $stderr == *index.scr* ]]
		# Each line is a message.
		run -1 grep -v "^SCR v.* WARNING: rank 0 on " <<<"$stderr"
		[[ $(valid 1) == true && $(valid 2) == true ]]
		[[ $how == gone || -e $PREFIX/.scr/index.scr.bak ]]
	done
}

# A job of MAP fails in SCR_Have_restart(), because of `why`, and marks nothing; who
# wants it starts over.
refused() {
	line "have_restart -> 1 0" job "$1" app_calls init have_restart finalize
	warned "ERROR: .*SCR_Have_restart: dataset 3 .*$2.*SCR_START_OVER=1"
	[[ $(ids .valid) == "1 2 3" ]]
	SCR_START_OVER=1 works "$1" app_calls init have_restart finalize
	assert_line "have_restart -> 0 0"
}

@test "33.4: checkpoints that cannot be used are no reason to start over" {
	local id

	refused "0 1 2" "written by 4 ranks, but this job has 3"
	for id in 1 2 3; do
		mv "ckpt.$id" "$BATS_TEST_TMPDIR"
		ln -s "$BATS_TEST_TMPDIR/ckpt.$id" .
	done
	chmod 777 . # anybody's link
	refused "$NODE_MAP" "leads out"
}

@test "33.4: a checkpoint that cannot be read is no reason to start over" {
	local path code

	while read -r path code; do
		SHIM_RANKS=all SHIM_OP=open SHIM_PATH=$path SHIM_ERRNO=$code \
			SHIM_FAIL_AT=1 SHIM_STICKY=1 \
			job "$NODE_MAP" app_calls init have_restart finalize
		assert_line "have_restart -> 1 0"
		warned "ERROR: .*SCR_Have_restart: dataset 3 .*SCR_START_OVER=1"
		[[ $(ids .valid) == "1 2 3" ]]
	done <<-END
		rank_2 EIO
		rank_2 EACCES
		rank2file EACCES
		summary.scr EIO
	END
}

@test "33.4: checkpoints that are renamed or not mounted are no reason to start over" {
	local id

	for id in 1 2 3; do
		mv "ckpt.$id" "ckpt.$id.old"
	done
	refused "$NODE_MAP" "ckpt.3"
	for id in 1 2 3; do
		ln -s "../elsewhere/ckpt.$id" "ckpt.$id"
	done
	refused "$NODE_MAP" "ckpt.3"
	for id in 1 2 3; do
		rm "ckpt.$id"
		mv "ckpt.$id.old" "ckpt.$id"
		mv ".scr/scr.dataset.$id" ".scr/old.$id"
	done
	refused "$NODE_MAP" "ckpt.3"
	for id in 1 2 3; do
		mv ".scr/old.$id" ".scr/scr.dataset.$id"
	done
	fetched "3 ckpt.3"
}

@test "what a rebuild on the prefix can save is rebuilt" {
	SCR_FLUSH=0 job "$NODE_MAP" prefix write=ckpt.4
	saved 4
	ends 0 scr_index --prefix "$PREFIX" --current ckpt.4
	rm "$PREFIX/ckpt.4/rank_2" "$PREFIX/ckpt.4/sub/2/b"
	lose 0 1 2 3
	fetched "4 ckpt.4"
	[[ $stderr == *"rebuilt on the prefix"* && $(valid 4) == true ]]
	[[ -s $PREFIX/ckpt.4/rank_2 ]]
}

# split PART...: cut the rank2file of dataset 3 into parts, of the ranks from each
# PART on; with none, into one file without parts.
split() {
	local meta=$PREFIX/.scr/scr.dataset.3 map=$BATS_TEST_TMPDIR/map part

	[[ -e $map ]] ||
		scr_inspect -m tree "$meta/rank2file.0.0" | sed 's/^  //' >"$map"
	rm "$meta"/rank2file*
	if (($# == 0)); then
		sed 's/^/  /' "$map" | craft "$meta/rank2file"
		return
	fi
	printf '%s\n' RANKS "  4" LEVEL "  1" RANK >"$map.top"
	for part; do
		printf '%s\n' "  $part" "    FILE" "      .0.$part" \
			"    OFFSET" "      0" >>"$map.top"
		awk -v from="$part" -v all="$* 4" '
		BEGIN {
			n = split(all, first)
			for (i = n; i > 0; i--)
				if (first[i] + 0 > from + 0)
					to = first[i]
		}
		/^[^ ]/ { ranks = $1 == "RANK"; print; next }
		/^  [0-9]/ && ranks { keep = $1 >= from && $1 < to }
		!ranks || keep' "$map" | sed 's/^/  /' |
			craft "$meta/rank2file.0.$part"
	done
	sed 's/^/  /' "$map.top" | craft "$meta/rank2file"
}

@test "rank2file in parts, which several ranks read; and without parts" {
	local parts

	for parts in "0 2" "0 1 2 3" "0 3" ""; do
		lose 0 1 2 3
		# shellcheck disable=SC2086 # a list
		split $parts
		[[ -z $parts || -e $PREFIX/.scr/scr.dataset.3/rank2file.0.${parts##* } ]]
		fetched "3 ckpt.3"
		cmp "$PREFIX/ckpt.3/rank_1" \
			"$NODES/1/tester/scr.j1/scr.dataset.3/rank_1"
	done
}

@test "a damaged part of rank2file: the next older dataset" {
	split 0 2
	damage "$PREFIX/.scr/scr.dataset.3/rank2file.0.2" 90 x
	fetched "2 ckpt.2"
	[[ $stderr == *"ckpt.3"*"not fetched: rank2file.0.2: "* ]]
	# Its files may be whole: it is not marked.
	[[ $(valid 3) == true ]]
}

@test "a part of rank2file is missing, or two have the same rank" {
	split 0 2
	cp "$PREFIX/.scr/scr.dataset.3/rank2file.0.0" \
		"$PREFIX/.scr/scr.dataset.3/rank2file.0.2"
	fetched "2 ckpt.2"
	[[ $stderr == *"ckpt.3"*"not fetched: "*"rank 0 is in two parts"* ]]
	lose 0 1 2 3
	rm "$PREFIX"/.scr/scr.dataset.2/rank2file.0.*
	fetched "1 ckpt.1"
	[[ $stderr == *"ckpt.2"*"not fetched: "*rank2file.0.0* ]]
}

# packed [OPTION]...: dataset 3 is in containers, and its files are kept aside.
packed() {
	before=$BATS_TEST_TMPDIR/before
	cp -a "$PREFIX/ckpt.3" "$before"
	scr_container -q pack --prefix "$PREFIX" "$@" 3
	[[ ! -e $PREFIX/ckpt.3/rank_1 ]] || failed "not packed"
	meta=$PREFIX/.scr/scr.dataset.3
}

# The caches have the files that were packed, with their modes and times.
same() {
	local k file is from

	for k in 0 1 2 3; do
		for file in "rank_$k" b; do
			from=$before/$file
			[[ $file != b ]] || from=$before/sub/$k/b
			is=$NODES/$k/tester/scr.j1/scr.dataset.3/$file
			[[ -e $from || -e $is ]] || continue
			cmp "$from" "$is"
			[[ $(stat -c '%a %y' "$from") == "$(stat -c '%a %y' "$is")" ]] ||
				failed "$(stat -c '%n %a %y' "$from" "$is")"
		done
	done
}

@test "packed: bytes, modes and times, in one container or many, by threads" {
	chmod 640 "$PREFIX/ckpt.3/rank_2"
	touch -d 2021-02-03T04:05:06.789 "$PREFIX/ckpt.3/sub/2/b"
	packed --size 300
	for SCR_FLUSH_TYPE in SYNC PTHREAD; do
		export SCR_FLUSH_TYPE
		lose 0 1 2 3
		fetched "3 ckpt.3"
		[[ -z $stderr ]]
		same
	done
	scr_container -q repack --prefix "$PREFIX" --size 1GB 3
	lose 0 1 2 3
	fetched "3 ckpt.3"
	same
	# Modes and times are those of new files, if they are not wanted.
	lose 0 1 2 3
	SCR_COPY_METADATA=0 fetched "3 ckpt.3"
	[[ $(stat -c %a "$NODES/2/tester/scr.j1/scr.dataset.3/rank_2") == 644 ]]
	whole 3
}

@test "packed: 1,000 files, some of them empty or larger than a piece" {
	local k n list=$BATS_TEST_TMPDIR/list

	rm -rf "${PREFIX:?}"/* "$PREFIX/.scr"
	for k in 0 1 2 3; do
		for n in {0..249}; do
			printf '%s\t%s\n' "f$k.$n" $((n % 50 * 77))
		done >"$list.$k"
	done
	echo "f2.large	20000001" >>"$list.2"
	works "$NODE_MAP" app_ckpt from="$list" name=ckpt.%d
	sha256sum f[0-3].* >"$list.sums"
	[[ $(wc -l <"$list.sums") -eq 1001 ]]
	scr_container -q pack --prefix "$PREFIX" --size 7000000 1
	rm f[0-3].*
	for SCR_FLUSH_TYPE in SYNC PTHREAD; do
		export SCR_FLUSH_TYPE
		lose 0 1 2 3
		line "have_restart -> 0 1 ckpt.1" works "$NODE_MAP" \
			app_calls init have_restart finalize
		mkdir "$BATS_TEST_TMPDIR/$SCR_FLUSH_TYPE"
		find "$NODES" -name 'f[0-3].*' -exec mv -t \
			"$BATS_TEST_TMPDIR/$SCR_FLUSH_TYPE" {} +
		(cd "$BATS_TEST_TMPDIR/$SCR_FLUSH_TYPE" &&
			sha256sum --quiet -c "$list.sums")
	done
}

@test "packed: the map is damaged: its copies are read" {
	packed --size 300
	cp -a "$meta" "$BATS_TEST_TMPDIR/meta"
	for file in rank2file rank2file.0.1 packed.1.scr; do
		for how in damage rm; do
			rm -rf "$meta"
			cp -a "$BATS_TEST_TMPDIR/meta" "$meta"
			case $how in
			damage) damage "$meta/$file" 90 x ;;
			rm) rm "$meta/$file" ;;
			esac
			lose 0 1 2 3
			fetched "3 ckpt.3"
			same
		done
	done
	# Without modes and times there are still bytes.
	rm "$meta"/*packed.1.scr
	lose 0 1 2 3
	fetched "3 ckpt.3"
	warned "modes and times of files are unknown: packed.1.scr"
}

@test "packed: a container is missing or damaged: says which, and takes an older dataset" {
	packed --size 300
	cp -a "$meta" "$BATS_TEST_TMPDIR/meta"
	while IFS='|' read -r how said; do
		rm -rf "$meta"
		cp -a "$BATS_TEST_TMPDIR/meta" "$meta"
		scr_index -q --prefix "$PREFIX" --current 3
		(cd "$meta/.scr" && eval "$how")
		lose 0 1 2 3
		fetched "2 ckpt.2"
		warned "ckpt.3.*not fetched: $said.*verify the containers of dataset id:3"
		# What the message says to run names the container.
		ends 4 scr_container -p "$PREFIX" verify id:3
		[[ $output$stderr == *ctr.4.scr* ]]
	done <<-'END'
		rm ctr.4.scr|.scr/scr.dataset.3/.scr/ctr.4.scr: cannot open: No such file
		truncate -s 7 ctr.4.scr|.scr/scr.dataset.3/.scr/ctr.4.scr: .*
		damage ctr.4.scr 7 x|ckpt.3/rank_.* (in .*ctr.3.scr to ctr.6.scr): checksum
	END
}

@test "packed: what redundancy can rebuild is rebuilt in its containers; marks" {
	SCR_FLUSH=0 job "$NODE_MAP" prefix write=ckpt.4
	saved 4
	ends 0 scr_index --prefix "$PREFIX" --current ckpt.4
	scr_container -q pack --prefix "$PREFIX" --with-redundancy 4
	rm "$PREFIX/.scr/scr.dataset.4/.scr/ctr.1.scr"
	lose 0 1 2 3
	fetched "4 ckpt.4"
	warned "ckpt.4.*rebuilt on the prefix: .*ctr.1.scr"
	# An interrupted rebuild has left its marks.
	printf '  %s\n' FILE '  .scr/ctr.1.scr' '    0' '      LENGTH' \
		'        100' | craft "$PREFIX/.scr/scr.dataset.4/rebuild.scr"
	lose 0 1 2 3
	fetched "4 ckpt.4"
	warned "ckpt.4.*rebuilt on the prefix: .*ctr.1.scr: its rebuild was interr"
	[[ ! -e $PREFIX/.scr/scr.dataset.4/rebuild.scr ]]
	whole 4
}

@test "packed: bypass: containers are copied into the cache, which one line says" {
	packed
	SCR_FETCH_BYPASS=1 fetched "3 ckpt.3"
	warned "ckpt.3): no bypass: its files are in containers"
	same
	lose 0 1 2 3
	SCR_CACHE_BYPASS=1 fetched "3 ckpt.3"
	warned "ckpt.3): no bypass"
	same
}

# hostile FILTER: this filter of sed changes the map of dataset 3.
hostile() {
	scr_inspect -m tree "$meta/rank2file.0.1" | sed "$1" |
		craft "$meta/rank2file.0.1"
	# Without sums of parts: the map of another program.
	scr_inspect -m tree "$meta/rank2file" |
		sed '/^    COPY$/,/^    [^ ]/{/^    COPY$/d;/^      /d}' |
		craft "$meta/rank2file"
	rm "$meta"/copy.* "$meta"/packed.*
}

@test "packed: names of containers are confined, and sums that overflow refused" {
	packed --size 300
	cp -a "$meta" "$BATS_TEST_TMPDIR/meta"
	while IFS='|' read -r filter said; do
		rm -rf "$meta"
		cp -a "$BATS_TEST_TMPDIR/meta" "$meta"
		hostile "$filter"
		scr_index -q --prefix "$PREFIX" --current 3 --force
		lose 0 1 2 3
		fetched "2 ckpt.2"
		warned "ckpt.3.*not fetched: $said"
	done <<-'END'
		s,\.scr/ctr.4.scr,../../../ckpt.2/rank_0,|.*not a plain path
		s,\.scr/ctr.4.scr,/etc/passwd,|.*not a plain path
		/OFFSET/{n;s/[0-9].*/9223372036854775807/}|.*beyond 2^63
		/LENGTH/{n;s/[0-9].*/5/}|.*bytes, its segments
		/LENGTH/{n;s/[0-9].*/0/}|.*
	END
}

@test "SCR 1.1.8: its datasets are fetched, in containers and unpacked" {
	local case name

	for case in seed_example many; do
		for how in packed unpacked; do
			lose 0 1 2 3
			rm -rf "${PREFIX:?}"/* "$PREFIX/.scr"
			cp -R "$(golden "containers/$case")/." "$PREFIX"
			chmod -R u+rwX "$PREFIX"
			[[ $how == packed ]] ||
				scr_container -q -p "$PREFIX" unpack 1
			map="0 0 1 1"
			[[ $case != many ]] || map="0 0 0 1 1 1"
			line "have_restart -> 0 1 scr.dataset.1" works "$map" \
				app_calls init have_restart finalize
			while read -r sum _ name; do
				file=$(find "$NODES" -name "${name##*/}" -type f)
				[[ $(sha256sum <"$file") == "$sum "* ]] ||
					failed "$case, $how: $name"
			done <"$(golden "containers/$case.sha256")"
		done
	done
}
