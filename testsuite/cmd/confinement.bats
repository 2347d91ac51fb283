#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016,SC2086,SC2103,SC2164
# Nothing leaves the prefix: forged metadata, and links, FIFOs, devices, hard links
# and sparse files in the places of files, against the commands that open them.
# None hangs, reads, shows or changes what is outside, takes memory or time without
# bounds, or prints what a terminal acts on; and what root makes is the user's.
#
# A row is a world (a prefix p), a recipe that changes it, and the commands that
# meet it.  $canary is outside: after each row it is compared with what it was, and
# no system call may have opened or named it.  A part of the rows; SCRKIT_SLOW: all.

load ../golden/golden

meta=p/.scr/scr.dataset.1
inner=reddesc.er.2.xor.grp_1_of_1.mem_3_of_4.redset
outer=reddescmap.er.2.xor.grp_1_of_1.mem_3_of_4.redset

setup_file() {
	# A sanitizer reserves terabytes of addresses.
	sanitized=$(nm "$BIN/scr_index" 2>/dev/null | grep -m 1 __asan_init) || true
	export sanitized
	# Below a limit of memory and processor time, each argument as a command:
	# the status and the output are those of the last.
	cat >"$BATS_FILE_TMPDIR/each" <<-'END'
		[ -n "$sanitized" ] || ulimit -v 2097152 -t 5
		for line; do
			eval "timeout -k 1 $((20 * ${SCRKIT_SLOWNESS:-1})) $line" >../out 2>../err </dev/null
			rc=$?
			cat ../out ../err >>../said
			[ $rc -le 4 ] || { echo "$line: $rc" && exit 9; }
		done
		cat ../out
		cat ../err >&2
		exit $rc
	END
}

setup() {
	local kept=$BATS_FILE_TMPDIR/canary

	in_no_job
	export SCR_USER_NAME=genuser SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	canary=$PWD/canary
	mkdir w
	cd w
	if [[ ! -e $kept ]]; then
		snapshot xor_4 scavenged base
		mkdir "$kept"
		cp -a base/prefix/ckpt.1 base/prefix/.scr/scr.dataset.1 "$kept"
		echo "SECRET=topsecret" >"$kept/secret"
		head -c 24110 /dev/zero >"$kept/rank_1.ckpt"
		rm -r base
	fi
	cp -a "$kept" "$canary"
	chmod 600 "$canary/secret"
	canary_was=$(canary_now)
}

# The time of the last change tells of contents, too; a hard link changes it.
canary_now() {
	cat "$canary/secret"
	find "$canary" -name secret -printf '%P %y %m %U %G %s %T@\n' -o \
		-printf '%P %y %m %U %G %s %T@ %C@\n'
}

canary_lives() {
	[[ $(canary_now) == "$canary_was" ]] || failed "${1-}: the canary changed"
}

teardown() { [[ -n $BATS_TEST_SKIPPED ]] || canary_lives; }

# Is strace installed and permitted?
can_trace() {
	[[ -n ${traceable-} ]] ||
		{ strace -f --seccomp-bpf -o /dev/null true 2>/dev/null && traceable=1; } ||
		traceable=0
	((traceable == 1))
}

# harmless TEXT: a terminal does not act on it: no control characters but newline
# and tab.  In the C locale no byte is part of a longer character.
CONTROL=$'\x01-\x08\x0b-\x1f\x7f'
harmless() {
	[[ $1 != *[$CONTROL]* && $1 != *$'\xc2\x9b'* ]] ||
		failed "control characters: ${1@Q}"
}

# meets COMMAND...: run each, where anybody may have made links, or (`his`) only the
# owner, whose links are followed, but show and change nothing.  The status must be
# below 5, the output safe, the canary as it was.
meets() {
	local tracer=() said

	rm -f ../trace ../said
	[[ -n ${his-} ]] || {
		find p -type d -exec chmod o+w {} +
		! can_trace || tracer=(strace -f --seccomp-bpf -y -qq -e trace=%file -o ../trace)
	}
	attempt "${tracer[@]}" bash "$BATS_FILE_TMPDIR/each" "$@"
	where="${where-}: $*"
	((status <= 4)) || failed "$where"
	said=$(tr -d '\0' <../said)
	harmless "$said"
	[[ $said != *topsecret* && $said != *emory* ]] || failed "$where: $said"
	# Reading a link does not follow it.
	[[ ! -e ../trace ]] || awk -v at="$canary" '
		index($0, at) && !/ = -1 E|readlink|execve/ { print; bad = 1 }
		END { exit bad }' ../trace >&2 || failed "$where: opened the canary"
	[[ -z $(find p -name '.scrkit-*' -type f) ]] || failed "$where: left behind"
	canary_lives "$where"
}

# refused STATUS COMMAND...: the last fails with one line, or a second one that names
# the unusable file; and perhaps the next step.
refused() {
	local line count=0

	meets "${@:2}"
	for line in "${stderr_lines[@]}"; do
		[[ $line == *": next: "* ]] || ((++count))
	done
	[[ " $1 " == *" $status "* ]] || failed "$where: expected status $1"
	((status == 0 || count == 1 || count == 2)) ||
		failed "$where: expected a line or two"
}

# --- Worlds and recipes ----------------------------------------------------------

# world NAME: make p anew.
world() {
	local kept=$BATS_FILE_TMPDIR/world.$1

	rm -rf p n nodes
	[[ -d $kept ]] || {
		make_$1
		mkdir "$kept"
		mv [pn] "$kept" 2>/dev/null || :
	}
	cp -a "$kept/." .
}

# As a scavenge left it, rank 1 lost; as a flush left it; as a build leaves it.
make_scavenged() { snapshot xor_4 "${1-scavenged}" base && mv base/prefix p; }
make_flushed() { make_scavenged flushed; }
make_built() { world scavenged && scr_index -q -p p --build 1; }

# All filemaps, but without redundancy for them (otherwise an edited one would just
# be damaged), and without a data file of rank 2.
make_open() {
	world built
	rm $meta/reddescmap.* $meta/summary.scr $meta/rank2file* p/.scr/index.scr \
		"p/ckpt.1/nested/dir level 2/data file 2.bin"
}

# Of the user 1234: 8 ranks on 4 nodes, and their caches; the same in containers.
make_indexed() {
	gen -p p --nodes-dir nodes -n 8 -m 4 -f 2 -s 9000,700 --layout both --lose ""
	scr_index -q -p p --build 1
	! may_give || chown -R 1234:4321 p nodes
	mv nodes n
}

make_packed() { world indexed && scr_container -q -p p pack --size 20000 1; }

# edit FILE SED...: edit metadata as text; bytes behind the metadata are kept.
edit() {
	local file=$1

	[[ -e $file ]] || file=$meta/$1
	tree "$file" | sed "${@:2}" >printout
	"$GEN/gen_craft" --output "$file.new" --body "$file" <printout
	! cmp -s "$file" "$file.new" || failed "$file: not edited"
	mv "$file.new" "$file"
}

# link TARGET NAME...: a link in the place of each file; directories go.
link() {
	local name

	for name in "${@:2}"; do
		rm -rf "p/$name"
		ln -s "$1" "p/$name"
	done
}

# plant KIND PATH: put it in the place of a file.
plant() {
	[[ $1 == sparse ]] || rm -rf "$2" "$2.to"
	mkdir -p "${2%/*}"
	case $1 in
	link) ln -s "$canary/secret" "$2" ;;
	dangling) ln -s "$canary/nothing" "$2" ;;
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
	hardlink) ln "$canary/secret" "$2" ;;
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

# --- Forged metadata, and links, in a dataset to be built -------------------------

# row WORLD STATUS BUT RECIPE [STEP WORD...]: commands that read all of dataset 1,
# and --build last, with this status ("1 4": either).  If it succeeds, the dataset
# is whole except for files that match BUT ("-": not compared).  With words, each
# STEP-th of them in the place of @.
row() {
	local word where

	picked=("")
	(($# == 4)) || pick "${@:5}"
	for word in "${picked[@]}"; do
		where="$4 ($word)"
		world "$1"
		eval "${4//@/"$word"}"
		refused "$2" "scr_index -p p" \
			"scr_inspect -p p -d 1 --map --files --deep" \
			"scr_index -p p --verify 1 --deep --checksums" \
			"scr_index -p p --add ckpt.1" "scr_index -p p --build 1"
		[[ $status != 0 || $3 == - ]] || xor_4_whole p "$3"
		# Listed, added and deleted, too.
		[[ $1 != flushed ]] || {
			rm -f p/.scr/index.scr
			meets "scr_index -p p" "scr_index -p p --add ckpt.1" \
				"scr_index -p p --delete 1"
		}
	done
}

@test "strace is there to look on" {
	can_trace || skip "strace cannot be used: only contents are compared"
	world scavenged
	refused 0 "scr_index -p p --build 1"
	# The trace would show an access.
	strace -f -y -qq -e trace=%file -o ../trace cat "$canary/secret" >/dev/null
	grep -F "$canary" ../trace | grep -qv ' = -1 E'
}

was=/tmp/scrgold/xor_4/prefix

@test "filemap: PATH outside the prefix, or with .. in it" {
	paths=('$canary/ckpt.1' "$was/ckpt.1/../../canary/ckpt.1" "$was/../canary" / ""
		. .. ../canary "${was}es/ckpt.1" "$was/ckpt.1/../../.." /etc)
	recipe='edit filemap_0 "s,^\(          \)$was/ckpt\.1\$,\1@,"'
	# All paths may have another common root.
	row open "1 2 4" "" "$recipe" 5 "${paths[@]}"
	row scavenged "1 4" "" "$recipe" 5 "${paths[@]}"
	# The old name of the prefix is given, so a path outside it is refused.
	world open
	eval "${recipe/@/\$canary/ckpt.1}"
	refused 1 "scr_index -p p --build 1 --moved-from $was"
	assert_stderr_has "outside of the prefix"
	# The recorded root may be anything, because no files are opened below it.
	row open "0 1 2 4" 'filemap_.|reddescmap' \
		'for rank in 0 1 2 3; do edit filemap_$rank "s,$was,$canary,"; done'
	refused 2 "scr_index -p p --build 1 --moved-from /"
	refused "1 2 4" "scr_index -p p --build 1 --moved-from .."
}

@test "filemap: NAME that is a path; sizes and ranks beyond all reason; cache paths" {
	# The headers of the redundancy name its files, too.
	row open "0 1 4" "filemap_0|reddescmap" \
		'edit filemap_0 "s,^          rank_0.ckpt\$,          @,"' 4 \
		../../canary/secret '$canary/secret' .. . "" a/b /etc/passwd
	row open "0 1 4" 'filemap_0|reddescmap|rank2file' \
		'edit filemap_0 "s,^          20011\$,          @,"' 4 9223372036854775808 \
		18446744073709551615 9223372036854775807 -1 1e9 ""
	ranks='"s,^          4\$,          @,"'
	row open "0 1 4" "filemap_0|reddescmap" "edit filemap_0 $ranks" 4 4294967296 \
		9223372036854775807 0 -1 3
	row open "1 4" "" "for f in $meta/filemap_*; do edit \$f $ranks; done" 2 \
		2147483647 100000
	row open "0 1 4" "reddescmap|filemap_4" "cp $meta/filemap_{0,4000000000}"
	row open "0 1 4" 'filemap_0|rank2file|reddesc' \
		'edit filemap_0 "s,^    /tmp/.*/rank_0.ckpt\$,    ../../../canary/secret,"'
	# A file in the place of the index.
	row open 1 "" 'edit filemap_2 -e "s,^\( *\)$was/ckpt\.1/nested/.*,\1$was/.scr," \
		-e "s,^          data file 2\.bin\$,          index.scr,"'
	[[ ! -e p/.scr/index.scr ]]
}

@test "links in the place of directories: out of the prefix; inside one is followed" {
	row scavenged 1 "" 'mv p/ckpt.1 p/away; ln -s @ p/ckpt.1' 1 \
		'$canary/ckpt.1' ../../canary/ckpt.1
	# The same one level down, where files are only written.
	row scavenged 1 "" 'link $canary ckpt.1/@' 1 nested extra
	row scavenged 1 "" 'link $canary/scr.dataset.1 .scr/scr.dataset.1'
	row scavenged 1 "" 'cp -a p/.scr $canary/dot_scr; canary_was=$(canary_now); link @ .scr' \
		1 '$canary/dot_scr' ../../canary/dot_scr
	world scavenged
	mv p/ckpt.1 p/elsewhere
	ln -s elsewhere p/ckpt.1
	refused 0 "scr_index -p p --build 1"
	cmp "$canary/ckpt.1/rank_0.ckpt" p/elsewhere/rank_0.ckpt
	[[ -f p/elsewhere/rank_1.ckpt ]]
}

@test "links in the place of files, metadata and the index" {
	local dots=../../../../canary/secret

	# Those that are there, those to be written.
	row scavenged "0 1 4" "" 'link @' 3 {'$canary/rank_1.ckpt','$canary/nothing',../../../canary/secret}' ckpt.1/rank_'{0.ckpt,1.{ckpt,empty}}
	row scavenged "0 1 4" "" 'link $canary/scr.dataset.1/@ .scr/scr.dataset.1/@' 2 \
		filemap_0 "$inner" "$outer"
	row scavenged "0 1 4" "" "link $dots .scr/scr.dataset.1/@" 5 filemap_{0,1} \
		"$inner" "$outer" summary.scr rank2file{,.0.0} reddesc.er.1.redset \
		"${inner/er.2*mem_3/er.1.xor.grp_1_of_1.mem_2}"
	row scavenged "0 1 4" "" 'link $canary/secret .scr/@' 2 flush.scr index.lock \
		index.scr.bak
	row scavenged "0 1" "" 'cp -a "$(golden scr3/xor_4/rebuilt)/prefix/.scr/index.scr" $canary
		canary_was=$(canary_now); link @ .scr/index.scr' 1 '$canary/index.scr' \
		../../../canary/nothing
	# Under the names of temporary files and locks; and a directory.
	temp='dir=p/$(dirname @); name=$(basename @); ln -s $canary/$(
		[[ $name == *1* ]] && echo secret || echo nothing) \
		$dir/$("$GEN/gen_craft" --temp-name $name)'
	row scavenged 0 "" "$temp" 4 ckpt.1/{rank_1.ckpt,extra/tiny_1} .scr/index.scr \
		.scr/scr.dataset.1/{filemap_1,summary.scr,rank2file.0.0} \
		".scr/scr.dataset.1/reddesc.er.1.xor.grp_1_of_1.mem_2_of_4.redset"
	row scavenged "0 1" "" 'link $canary/nothing .scr/scr.dataset.1/.scrkit.lock'
	row scavenged "0 1" "" 'mkdir p/ckpt.1/$("$GEN/gen_craft" --temp-name rank_1.ckpt)'
}

@test "headers of redundancy: absurd numbers, one by one and agreed on; names of files" {
	local n values=(18446744073709551615)

	[[ -z ${SCRKIT_SLOW-} ]] || values+=(4294967296 0 x)
	for n in "${values[@]}"; do
		row scavenged "0 1 4" "$inner|rank2file|reddesc.er.1" \
			"edit $inner \"/^ *@\\\$/{n;s/[^ ].*/$n/}\"" 4 CHUNK GROUPS RANKS \
			WRANKS RANK FILES SIZE MODE GROUP
	done
	values=(18446744073709551615 9223372036854775807 1152921504606846976 68719476736 0 1)
	row scavenged "1 4" "" 'for f in $meta/reddesc.er.*.xor.*; do
		edit "$f" "/^  CHUNK\$/{n;s/[^ ].*/@/}"; done' 4 "${values[@]}"
	row scavenged "1 4" "" 'for f in $meta/reddesc.er.*.xor.*; do
		! tree "$f" | grep -q rank_1.ckpt || edit "$f" "/^ *SIZE\$/{n;s/[^ ].*/@/}"
		done' 4 "${values[@]}"
	for n in reddesc.er.2.xor.grp_{1_of_1.mem_3_of_4294967295,1_of_4294967295.mem_3_of_4}.redset \
		reddesc.er.{4294967295,2147483647}.xor.grp_1_of_1.mem_1_of_4.redset \
		reddesc.er.2.xor.grp_{0_of_0.mem_0_of_0,9_of_1.mem_9_of_4}.redset \
		reddesc.er.2.xor.grp_1_of_1.mem_3_of_99999999999999999999.redset \
		{reddesc.er.99999999999999999999.redset,filemap_{99999999999999999999,-1,2147483647}}; do
		names+=("$n")
	done
	pick 6 "${names[@]}"
	for n in "${picked[@]}"; do
		row scavenged "0 1 4" "$n" "cp $meta/{$inner,$n}"
	done
}

# Of metadata that are read, one in turn is absurd.
@test "nested a million levels deep; four billion keys, exabytes announced" {
	for option in "--nest 1000000" "--count 4294967295" "--size 4611686018427387904"; do
		"$GEN/gen_craft" $option --output ../bad
		pick 8 index.scr flush.scr scr.dataset.1/{filemap_0,summary.scr,rank2file{,.0.0},"$inner","$outer"}
		for file in "${picked[@]}"; do
			recipe="rm -f p/.scr/{$file,index.scr}; cp -a ../bad p/.scr/$file"
			row built "0 1 4" "${file##*/}" "$recipe"
			eval "$recipe"
			refused 1 "scr_inspect p/.scr/$file"
			assert_stderr_one_line
		done
	done
}

EVIL='a\\nb\\x1b[31m\\x1b]0;x\\x07\\xc2\\x9bm\\x7f\\x80z'

@test "names with newlines and escape sequences are printed safely" {
	world scavenged
	edit p/.scr/flush.scr "s/ckpt\\.1/$EVIL/"
	refused 0 "scr_index -p p --build 1"
	meets "scr_index -p p"
	# The header and one line.
	assert_line_count 2
	while IFS='|' read -r want line; do
		meets "$line"
		[[ " ${want:-0 1 2 3 4} " == *" $status "* ]] || failed "$line"
	done <<-'END'
		0|scr_index -p p --all
		0|scr_index -p p --names-only
		0|scr_index -p p --json
		|scr_index -p p --verify --deep
		|scr_inspect p
		|scr_inspect --dataset 1 -p p
		1|scr_index -p p --drop nosuch$'\x1b'[31m
		1|scr_index -p p --drop-after $'a\nb'
		|scr_index -p p --current $'\x9b31m'
		|scr_inspect $'/nosuch\x1b[31m\n'
		|scr_rebuild -p p $'nosuch\x1b[31m\n'
		2|scr_index --$'\x1b[31m'
		|scr_index -p $'/nosuch\x1b[31m\n'
		2|scr_index -p p --build $'1\x1b[31m'
		0|scr_index -p p --delete 1
	END
	row scavenged "1 4" "" "edit filemap_0 's/^          rank_0.ckpt\$/          $EVIL/'"
	row flushed "1 4" '\.scr/' "edit rank2file.0.0 's,ckpt.1/rank_0.ckpt,ckpt.1/$EVIL,'"
	world flushed
	edit rank2file.0.0 "s,ckpt.1/rank_0.ckpt,ckpt.1/$EVIL,"
	refused "0 1 4" "scr_index -p p --delete 1 --dry-run"
	# On a terminal.
	command -v script >/dev/null || skip "script(1) is not there"
	world scavenged
	edit p/.scr/flush.scr "s/ckpt\\.1/$EVIL/"
	text=$(script -qec "scr_inspect p/.scr/flush.scr" /dev/null | tr -d '\r')
	[[ $text == *DSETDESC* ]]
	harmless "$text"
	# JSON escapes control characters itself, except DEL and C1.
	text=$(scr_inspect --json p/.scr/flush.scr)
	[[ $text == *DSETDESC* && $text != *[$'\x01-\x08\x0b-\x1f']* ]]
}

@test "rank2file: paths and links that lead out, parts, absurd ranks and sizes" {
	local ranks=(4294967296 -1 0 1000000000000 "")

	row flushed "1 4" '\.scr/' 'edit rank2file.0.0 "s,ckpt.1/rank_0.ckpt,@,"' 4 \
		../../canary/secret '$canary/secret' ckpt.1/../../../canary/secret . .. \
		"" ckpt.1/ ./ckpt.1 ckpt.1//rank_0.ckpt /etc/passwd
	row flushed "1 4" '\.scr/' 'mv p/ckpt.1 p/away; link $canary/ckpt.1 ckpt.1'
	row flushed "1 4" '\.scr/' 'link $canary/ckpt.1/rank_0.ckpt ckpt.1/rank_0.ckpt'
	row flushed "0 1 4" '\.scr/' 'edit rank2file "s,\.0\.0\$,@,"' 4 \
		/../../../canary/secret ../../canary/secret .0.4294967295 "" '$canary/secret'
	row flushed "1 4" '\.scr/' 'edit rank2file "/RANKS/{n;s/4/@/}"' 4 "${ranks[@]}"
	row flushed "0 1 4" '\.scr/' 'edit rank2file.0.0 "/RANKS/{n;s/4/@/}"' 4 "${ranks[@]}"
}

@test "summary and index: absurd numbers and names do not lead out" {
	row flushed "0 1 4" '\.scr/' "edit summary.scr '@'" 4 \
		'/ID$/{n;s/1/99999999999999999999/}' '/ID$/{n;s/1/2/}' \
		'/FILES$/{n;s/14/-1/}' 's/ckpt\.1/../' 's/ckpt\.1//' \
		'/SIZE$/{n;s/158686/18446744073709551616/}' \
		's,ckpt\.1,../../canary/secret,' '/CKPT$/{n;s/1/x/}' \
		's/^    6$/    7/' '/CREATED/,+1d'
	pick 2 's/^    1$/    ..\/..\/canary/' 's/^        1$/        -1/' \
		's/^    1$/    99999999999999999999/' \
		's,ckpt\.1,../../canary,' '/ROOT/{n;s,[^ ].*,/,}' \
		'/ROOT/{n;s,[^ ].*,../..,}'
	for where in "${picked[@]}"; do
		world built
		edit p/.scr/index.scr "$where"
		meets "scr_index -p p --all" "scr_index -p p --verify" \
			"scr_index -p p --delete 1" "scr_index -p p --delete ../../canary" \
			"scr_index -p p --build 1"
	done
}

@test "cache, and files given by hand: filemaps and headers that lead out" {
	local cached path what dir cache=/tmp/scrgold/xor_4/local/$IN_CACHE

	mkdir p
	snapshot xor_4 cache cache
	pick 2 "$canary" "$cache/../../../canary" .. "$cache/sub" ../canary ""
	for path in "${picked[@]}"; do
		for what in filemap_0 'reddesc*.er.*.xor.*'; do
			rm -rf c d
			dir=c/scr.dataset.1
			mkdir -p $dir d
			for cached in cache/nodes/node[023]/"$IN_CACHE"; do
				cp -a "$cached/." $dir
				cp -a "$cached"/* "$cached"/.scr/*.xor.* d
			done
			for cached in $dir/.scr/$what; do
				edit "$cached" "s,$cache,$path,"
			done
			meets "scr_inspect $dir --files"
			refused "0 1 3 4" "scr_rebuild $dir"
		done
		for cached in d/reddesc.er.*; do
			edit "$cached" "s,$cache,$path,"
		done
		for what in "" "--moved-from $cache" "--moved-from ${canary%/*}"; do
			refused "0 1 2 4" "env -C d scr_rebuild $what --xor $(
				cd d && echo reddesc.er.*.xor.*)"
		done
	done
}

# --- What is no regular file, in the place of each file ----------------------------

# Everything that commands open below a prefix.
names() {
	local d=.scr/scr.dataset.1

	printf '%s\n' .scrconf .scr/{app.conf,log,{index,flush,halt}.scr{,.bak}} \
		.scr/{index.lock,nodes.scr,scavenge.lock} ckpt.1/rank_1_0.ckpt \
		$d/{summary.scr,rank2file{,.0.0},filemap_1,copied_1.scr} \
		$d/reddesc.er.1{,.xor.grp_2_of_2.mem_1_of_4}.redset \
		$d/{.scrkit.{lock,shares},scavenge.{shares,o1000,e1000}} \
		$d/{rebuild.scr,packed.0.scr,.scr/ctr.0.scr,manifest.sha256}
}

in_job="local/cntl/genuser/scr.1000 --cachedir local/cache/genuser/scr.1000"
postrun="-p p -r local -w $HOSTNAME -J 1000 --cachedir local/cache --cntldir local/cntl"

# Commands that open them.
commands() {
	cat <<-END
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
		scr_postrun $postrun
		scr_copy --cntldir $in_job --id 1 --prefix p
		scr_copy --cntldir $in_job --id 1 --prefix p --assign .scr/scr.dataset.1/scavenge.shares
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
	local red=xor.grp_1_of_2.mem_1_of_4.redset

	printf '%s\n' c{ntl,ache}/genuser/scr.1000 cntl/genuser/scr.1000/cindex.scrinfo \
		cache/genuser/scr.1000/scr.dataset.1{,/rank_0_0.ckpt,/.scr} \
		cache/genuser/scr.1000/scr.dataset.1/.scr/{filemap_0,copied_0.scr} \
		cache/genuser/scr.1000/scr.dataset.1/.scr/reddesc{.er.{0.redset,0.$red,shuffile},map.er.0.$red}
}

node_commands() {
	local all

	all=$(echo n/node*/cache/genuser/scr.1000/scr.dataset.1)
	cat <<-END
		scr_inspect ${in_job##* }/scr.dataset.1
		scr_inspect --files --deep $all
		scr_rebuild -n $all
		scr_rebuild $all
		scr_copy --cntldir $in_job --list
		scr_copy --cntldir $in_job --id 1 --prefix p
		scr_postrun $postrun
		scr_postrun --plan $postrun
		scr_env check-node --cntl local/cntl --cache local/cache
		scr_prerun -p p
	END
}

# below KIND ROOT NAMES COMMANDS: plant it below ROOT under each name, and run some of
# the commands: each 37th of all pairs, of each kind others.
below() {
	local name i shift where his=1
	local -a all some

	mapfile -t all < <("$4")
	shift=$((${#1} * 4))
	while IFS= read -r name; do
		some=()
		for ((i = 0; i < ${#all[@]}; i++)); do
			# A file of unrecorded size is packed and exported as it is,
			# all of it.
			[[ $1 == sparse && $name == ckpt.1/* && ${all[i]} =~ export|pack ]] ||
				{ [[ -z ${SCRKIT_SLOW-} ]] && (((i + shift) % 37 != 0)); } ||
				some+=("${all[i]}")
		done
		shift=$((shift + 1))
		((${#some[@]} == 0)) || world indexed
		for i in "${!some[@]}"; do
			where="$1: $name"
			plant "$1" "$2/$name"
			meets "${some[i]}"
		done
	done < <("$3")
}

# everywhere KIND
everywhere() {
	case $1 in
	device) mknod endless c 1 5 2>/dev/null || skip "may not make one" ;;
	# All that commands run as root find belongs to a user.
	hardlink) gives ;;
	esac
	ln -sfn n/node0 local
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
@test "a terabyte, mostly a hole" { everywhere sparse; }
@test "a hard link to another's file" {
	everywhere hardlink
	# These open it to write.
	his=1
	while read -r name line; do
		world packed
		plant hardlink "p/$name"
		meets "$line"
	done <<-'END'
		.scr/log scr_env log-event -p p -T NOTE -N x
		.scr/index.lock scr_index -p p --drop ckpt.1
		.scr/index.spare scr_index -p p --drop ckpt.1
		.scr/halt.scr scr_halt -c 3 p
		.scr/halt.scr scr_halt -r p
		.scr/scr.dataset.1/.scr/ctr.0.scr scr_rebuild -p p 1
		.scr/scr.dataset.1/.scr/ctr.0.scr scr_index -p p --build 1
		.scr/scr.dataset.1/.scr/ctr.0.scr scr_container -p p repack 1
		.scr/scr.dataset.1/.scrkit.lock scr_container -p p repack 1
	END
	# The user's own file with two names may be changed.
	world packed
	: >other
	chown 1234:4321 other
	ln other p/.scr/log
	ends 0 scr_env log-event -p p -T NOTE -N x
	[[ -s other ]]
}

# Kinds of what is no regular file.  Only root makes a device.
kinds() {
	echo fifo socket dir link_fifo
	[[ ! -e sink ]] && ! mknod -m 666 sink c 1 3 2>/dev/null ||
		echo sink link_sink
}

# unmoved PLACE ends|complains STATUS WORD...: each command on stdin, with each kind
# in this PLACE, which stays what it is: type, mode, owner, device, inode and time
# of status change.
unmoved() {
	local line kind

	while IFS= read -r line; do
		for kind in $(kinds); do
			renew "$([[ $line == *import* ]] && echo plain || echo p)" q
			plant "$kind" "$1"
			stat -c '%n %F %a %u %g %t:%T %i %Z' "${1%/*}/"* >before
			ends "$2" timeout $((20 * ${SCRKIT_SLOWNESS:-1})) $line
			assert_stderr_one_line "${1##*/}" "${@:3}"
			stat -c '%n %F %a %u %g %t:%T %i %Z' "${1%/*}/"* |
				diff before - || failed "$kind: $line"
		done
	done
}

@test "output: what is no regular file is refused and stays as it is, with --force too" {
	world indexed
	mkdir plain
	cp -a p/ckpt.1 plain
	scr_archive -q -p p export -o ar 1
	rm -rf p
	world packed
	unmoved out/file 2 "not a regular file" "standard output" <<-'END'
		scr_archive -p p export -o out/file 1
		scr_container -p p export -o out/file 1
		scr_inspect -p p --html out/file 1
	END
	unmoved q/ckpt.1/rank_1_0.ckpt 1 <<-'END'
		scr_container -p q unpack --force 1
		scr_container -p p extract --force -C q 1
		scr_archive -p q import --force ar
	END
	# A file, or a link to one, is replaced.
	rm -rf out/*
	echo old >out/file
	ln -s file out/link
	for name in file link; do
		scr_archive -q -p p export -o out/$name 1
	done
	cmp out/file out/link
}

@test "the log: a link or a FIFO is refused in one line; a FIFO as any argument" {
	mkdir -p p/.scr
	ln -s "$canary/nothing" p/.scr/log
	ends 1 timeout -k 1 $((20 * ${SCRKIT_SLOWNESS:-1})) scr_env log-event -p p -T NOTE -N x
	assert_stderr_one_line "p/.scr/log" "symbolic link"
	rm p/.scr/log
	mkfifo p/.scr/log
	ends 1 timeout -k 1 $((20 * ${SCRKIT_SLOWNESS:-1})) scr_env log-event -p p -T NOTE -N x
	assert_stderr_one_line "p/.scr/log" "not a regular file"
	world indexed
	ln -sfn n/node0 local
	mkfifo fifo
	while IFS= read -r line; do
		attempt timeout -k 1 $((15 * ${SCRKIT_SLOWNESS:-1})) $line </dev/null
		((status == 1 || status == 2)) || failed "$line: $status"
		((${#lines[@]} + ${#stderr_lines[@]} <= 3)) || failed "$line: $output"
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

# --- Maps and archives that name what is no file of the dataset --------------------

# add_to_archive FROM TO FILE...: add files of directory extra to an archive, and
# to its manifest.
add_to_archive() {
	local from=$1 to=$2 file manifest=.scr/scr.dataset.1/manifest.sha256

	rm -rf t
	mkdir t
	bsdtar -xf "$from" -C t
	for file in "${@:3}"; do
		mkdir -p "t/$(dirname "$file")"
		cp "extra/$file" "t/$file"
		(cd t && sha256sum "$file") >>t/$manifest
	done
	(cd t && { find . -type f ! -name manifest.sha256 -printf '%P\n' |
		LC_ALL=C sort && echo $manifest; } \
		>../list && bsdtar -cf "../$to" --format pax -T ../list)
}

@test "import: only files that the archive's own rank2file names" {
	command -v bsdtar >/dev/null || skip "bsdtar is not installed"
	world indexed
	scr_archive -q -p p export -o ar 1
	add_to_archive ar same
	mkdir q
	scr_archive -q -p q import same
	for file in .scrconf evil ckpt.1/rank_99.ckpt .scr/app.conf .scr/log other/.scrconf; do
		rm -rf q extra
		mkdir -p q "$(dirname "extra/$file")"
		echo SCR_DEBUG=1 >"extra/$file"
		add_to_archive ar bad "$file"
		complains 1 "$file" scr_archive -p q import bad
		[[ -z $(find q -mindepth 1) ]] || failed "left:" "$(find q)"
	done
}

# in_map OLD NEW: change a path in the map of p.
in_map() {
	local part tree

	part=$(echo $meta/rank2file.0.*)
	tree=$(scr_inspect -m tree "$part")
	write_part "$part" <<<"${tree//"$1"/$2}"
}

@test "unpack, extract: a map that names .scrconf or metadata, or one path twice" {
	for bad in .scrconf .scr/app.conf .scr/halt.scr; do
		for how in unpack "extract -C ." "extract -C out"; do
			world packed
			in_map ckpt.1/rank_2_0.ckpt "$bad"
			tree_stat p >before
			cd p
			complains 1 "$bad" scr_container $how 1
			cd ..
			diff before <(tree_stat p)
			[[ ! -e p/out/$bad && ! -e p/$bad ]]
		done
	done
	text="ckpt.1/rank_1_0.ckpt: is a file of rank 1 and of rank 2"
	world indexed
	rm -f $meta/filemap_* $meta/*.redset
	scr_container -q -p p pack --size 20000 1
	in_map ckpt.1/rank_2_0.ckpt ckpt.1/rank_1_0.ckpt
	ends 1 scr_index -p p --verify
	[[ $output$stderr == *"$text"* ]] || failed "$text"
	try scr_container -p p verify 1
	((status == 1 || status == 3 || status == 4)) || failed "status"
	[[ $output$stderr == *"$text"* ]] || failed "$text"
	tree_stat p >before
	complains 3 "$text: cannot be unpacked" scr_container -p p unpack 1
	diff before <(tree_stat p)
	unpack=$stderr
	ends 3 scr_container -p p extract -C out 1
	[[ $stderr == "$unpack" ]] || failed "expected" "$unpack"
	[[ ! -d out || -z $(find out -type f) ]]
	# What is not concerned can be had.
	scr_container -q -p p extract -C out 1 ckpt.1/rank_4_0.ckpt
}

# --- Owners and modes of what root makes --------------------------------------------

give() { chown -R 1234:4321 "$@"; }

# What below $1 does not belong to the user 1234 and the group 4321.
foreign() { find "$1" \( ! -uid 1234 -o ! -gid 4321 \) -printf '%P %u:%g %M\n'; }

assert_his() {
	local dir

	for dir; do
		[[ -z $(foreign "$dir") ]] || failed "not the user's:" "$(foreign "$dir")"
	done
}

# made OPTION...: dataset 1 on prefix p, 8 ranks on 4 nodes, and their caches.
made() {
	gen -p p --nodes-dir nodes -n 8 -m 4 -f 2 -s 9000,700 --layout both "$@"
	ln -sfn nodes/node0 local
}

# copies PREFIX OPTION...: what the node local has.
copies() { scr_copy --cntldir $in_job --id 1 --prefix "$@" >/dev/null; }

@test "root: what is made belongs to the owner of the prefix" {
	gives
	made --lose 1
	mkdir q x
	give p q x
	while IFS= read -r line; do
		$line
		assert_his p q x
	done <<-'END'
		scr_index -q -p p --build 1
		scr_container -q -p p pack --size 20000 --with-redundancy 1
		scr_container -q -p p repack --size 30000 1
		scr_archive -q -p p export --with-redundancy -o x/ar 1
		scr_container -q -p p extract -C x/files 1
		scr_container -q -p p unpack 1
		scr_container -q -p p pack --layout 1 1
		scr_archive -q -p q import x/ar
		scr_halt -q --seconds 10 q
		scr_env log-event -p q -T NOTE -N x
		scr_index -q -p q --current ckpt.1
	END
	rm -rf p/ckpt.1 p/.scr p/scr.dataset.1
	scr_prerun -q -p p || :
	assert_his p
	copies p
	assert_his p
}

@test "root: a scavenge into a user's prefix" {
	gives
	one_node
	in_cache
	mkdir -p p/.scr
	rm p/.scr/nodes.scr
	chown 1234:4321 p
	ends 0 scr_postrun "${args[@]}"
	rest=$(foreign p)
	[[ $rest == ".scr "* && $rest != *$'\n'* ]] || failed "not the user's:" "$rest"
}

# Metadata and files that ask for what root must not give: set-id and sticky bits,
# user and group 12.
ask_for_too_much() {
	made --lose "" --mode 7755 --owner 12 --crc "$@"
	scr_index -q -p p --build 1
	chown -R 12:12 p/ckpt.1
	find p/ckpt.1 nodes -type f -exec chmod 7755 {} +
	mkdir q
	give p/.scr nodes q
	chown 1234:4321 p
}

# What is in q has no such bits and owners, only the metadata ask for them.  Files,
# filemaps, redundancy and descriptors of two ranks are lost.
two_lost() {
	cp -a p/. q
	give q
	find q -type f -exec chmod a-st {} +
	rm q/ckpt.1/rank_[23]_* q/.scr/scr.dataset.1/{filemap_[23],*er.[23].*}
}

# An archive as another program makes it.
tarred() {
	mkdir t
	tar -xf ar -C t
	chown -R 12:12 t
	chmod -R 7755 t
	(cd t && find . ! -name 'manifest*' >../list &&
		tar -cf ../ar2 --no-recursion -T ../list ./.scr/scr.dataset.1/manifest.sha256)
	tar --numeric-owner -tvf ar2 | grep -q '^-rwsr-sr-t 12/12'
}

@test "root: set-id bits, sticky bits and owners that are asked for are not given" {
	gives
	while IFS='|' read -r how line; do
		rm -rf p q t nodes ar ar2
		if [[ $how == postrun ]]; then
			ask_for_too_much -m 1 -t SINGLE
		elif [[ -e asked ]]; then
			cp -a asked/. .
		else
			ask_for_too_much
			mkdir asked
			cp -a p q nodes asked
		fi
		eval "$line"
		bad=$(foreign q; find q -perm /7000 -printf '%P %M\n')
		[[ -z $bad ]] || failed "$how:" "$bad"
		# The other bits are as they were asked for.
		[[ $(find q -name "rank_2_[01].ckpt" -printf '%m ') == "755 755 " ]] ||
			failed "$how: $(find q -name "rank_2_*" -printf '%f %m ')"
	done <<-'END'
		scavenge|mkdir -p q/.scr/scr.dataset.1; cp p/.scr/{flush,nodes}.scr q/.scr; give q; for node in 0 1 2 3; do ln -sfn nodes/node$node local; copies q --moved-from "$PWD/p"; done; ln -sfn nodes/node0 local
		postrun|cp -a p/.scr q/.scr; rm -rf q/.scr/scr.dataset.1 q/.scr/index*; scr_postrun ${postrun/-p p/-p q} --moved-from "$PWD/p" >/dev/null
		rebuild|two_lost; scr_rebuild -q -p q 1
		build|two_lost; rm q/.scr/{index.scr,scr.dataset.1/{summary,rank2file}*}; scr_index -q -p q --build 1
		caches|c=genuser/scr.1000/scr.dataset.1; give nodes; find nodes -type f -exec chmod a-st {} +; rm -rf nodes/node1/cache/$c/{rank_2*,.scr/*er.2.*}; scr_rebuild -q nodes/node*/cache/$c; [[ -e nodes/node1/cache/$c/rank_2_0.ckpt ]]; mv nodes q/nodes
		extract|scr_container -q -p p extract -C q 1
		extract_packed|scr_container -q -p p pack --size 20000 1; scr_container -q -p p extract -C q 1
		unpack|cp -a p/. q; scr_container -q -p q pack --size 20000 --with-redundancy 1; give q; scr_container -q -p q unpack 1
		import|scr_archive -q -p p export --with-redundancy -o ar 1; scr_archive -q -p q import ar
		import_tar|scr_archive -q -p p export --with-redundancy -o ar 1; tarred; scr_archive -q -p q import ar2
	END
}
