#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2034,SC2086,SC2154 # words
# Checkpoints named by time step: the name of one is the number of another.  The
# words of every verb of every command that name a dataset, as tables.

load helper

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	export TZ=UTC SCR_USER_NAME=genuser
	unset SCR_JOB_ID SCR_NODELIST
	make_steps
}

# make ID NAME OPTION...: make dataset ID on the prefix, as after a scavenge.
make() {
	local id=$1 name=$2

	shift 2
	gen -p p -i "$id" --name "$name" -n 4 -t XOR -s 3000 "$@"
}

# Make checkpoints 1 to 6, named 2, 4, 6, ... 12: the words 2, 4 and 6 are the
# name of one and the number of another.  The newest first, so that a plain
# number is no other's name yet when it is built.
make_steps() {
	local id

	for id in 6 5 4 3 2 1; do
		make $id $((2 * id))
		scr_index -q -p p --build $id
	done
}

steps() {
	rm -rf p
	cp -a "$BATS_FILE_TMPDIR/p" .
}

# Everything below p, but not the locks.
state() {
	(cd p && find . -type f ! -name '*.lock' -exec sha256sum {} + | sort -k 2)
}

# refused_by COMMAND...: each command refuses the word 4 with both readings.
refused_by() { rows < <(printf 'both|%s\n' "$@"); }

# --- Refused -----------------------------------------------------------------

@test "every verb of every command refuses a name that is another's number" {
	steps
	scr_container -q -p p pack name:12
	state >before
	refused_by "scr_index -p p --"{delete,drop,drop-after,current,add,build,verify}" 4" \
		"scr_index -p p --"{"delete 4 --dry-run","build 4 "{--dry-run,--deep},"verify 4 --checksums"} \
		"scr_inspect "{"-p p "{,"-d ","--deep ","--html x.html "},"p -d "}4 \
		"scr_rebuild -p p "{,"-n ","--protect xor ","--deep "}4 \
		"scr_container -p p "{pack,unpack,repack,list,verify,"extract -C .","export -o x"}" 4" \
		"scr_container -p p cat 4 x" "scr_archive export -p p -o x 4"
	ends 2 scr_index -p p --json --delete 4
	assert_output_has '"status": 2' id:4 name:4
	state | diff before -
	[[ ! -e x && ! -e x.html ]]
}

@test "a name that only a summary or the flush file records counts, too" {
	for id in 4 2; do
		make $id $((2 * id))
		scr_index -q -p p --build $id
	done
	scr_index -q -p p --drop-all
	rm p/.scr/flush.scr
	# The names are in summaries; no dataset is in the index.
	refused_by "scr_index -p p --"{build,add,delete}" 4" \
		{scr_rebuild,scr_inspect}" -p p 4" "scr_container -p p list 4"
	# One of them is.
	scr_index -q -p p --build id:4
	refused_by "scr_index -p p --delete 4"
	rm -r p
	# The names are in the flush file only.
	make 4 8
	make 2 4
	refused_by "scr_index -p p --build 4" {scr_inspect,scr_rebuild}" -p p 4"
}

# --- id: and name: -----------------------------------------------------------

@test "scr_index: delete, current, drop, drop-after, add, build, verify by id: and name:" {
	steps
	rm p/.scr/flush.scr # which says that dataset 2 is in the caches
	rows <<-'END'
		0|scr_index -p p --delete name:4|dataset 2 (4): deleted|=1=2,3=6,4=8,5=10,6=12 -4 +8/rank_0.ckpt +2/rank_0.ckpt
		0|scr_index -p p --delete id:6||=1=2,3=6,4=8,5=10 -12 +6/rank_0.ckpt
		0|scr_index -p p --delete 4||=1=2,3=6,5=10
	END
	steps
	# The number in a path stays one.
	for id in 1 2 3 4 5 6; do
		rows <<-END
			0|scr_inspect p/.scr/scr.dataset.$id|dataset $id  $((2 * id))
			0|env -C p/.scr/scr.dataset.$id scr_inspect .|dataset $id
		END
	done
	rm p/4/rank_1.ckpt p/8/rank_1.ckpt
	rows <<-'END'
		0|scr_rebuild p/.scr/scr.dataset.4||+8/rank_1.ckpt -4/rank_1.ckpt
		0|scr_rebuild -p p name:4||+4/rank_1.ckpt
		0|scr_index -p p --current id:4||*8
		0|scr_index -p p --current name:4||*4
		0|scr_index -p p --current id:2||*4
		0|scr_index -p p --current name:2||*2
		0|scr_index -p p --current id:5||*10
		0|scr_index -p p --current 5||*10
		0|scr_index -p p --current 12||*12
		0|scr_index -p p --drop name:4||=1=2,3=6,4=8,5=10,6=12
		0|scr_index -p p --drop id:4||=1=2,3=6,5=10,6=12
		both|scr_index -p p --add 4
		0|scr_index -p p --add name:4||=1=2,2=4,3=6,5=10,6=12
		0|scr_index -p p --add id:4||=1=2,2=4,3=6,4=8,5=10,6=12
		0|scr_index -p p --drop-after id:5||=1=2,2=4,3=6,4=8,5=10
		0|scr_index -p p --drop-after name:4||=1=2,2=4
		0|scr_index -p p --build name:6|dataset 3 (6)
		0|scr_index -p p --build id:4|dataset 4 (8)|=1=2,2=4,3=6,4=8
		0|scr_index -p p --verify id:4|   4 whole
		0|scr_index -p p --verify name:4 --json|"id": 2;"name": "4"
		0|scr_index -p p --drop 1||=2=4,3=6,4=8
	END
}

@test "scr_inspect, scr_rebuild, scr_container and scr_archive by id: and name:" {
	steps
	rm p/4/rank_1.ckpt p/8/rank_1.ckpt
	mkdir q
	rows <<-'END'
		3|scr_inspect -p p id:4|dataset 4  8
		3|scr_inspect -p p name:4|dataset 2  4
		3|scr_inspect -p p -d id:2|dataset 2  4
		0|scr_inspect -p p -d name:2|dataset 1  2
		0|scr_inspect -p p 5|dataset 5  10
		0|scr_inspect -p p 10|dataset 5  10
		0|scr_rebuild -p p name:4||+4/rank_1.ckpt -8/rank_1.ckpt
		0|scr_rebuild -p p id:4||+8/rank_1.ckpt
		0|mkdir -p id:4/.scr && rm p/8/rank_2.ckpt
		0|scr_rebuild -p p id:4||+8/rank_2.ckpt
		0|scr_inspect -p p id:4|dataset 4  8
		0|scr_container -p p pack id:4||-8/rank_0.ckpt +4/rank_0.ckpt
		0|scr_container -p p pack name:4||-4/rank_0.ckpt
		0|scr_container -p p list name:4|4/rank_0.ckpt
		0|scr_container -p p list id:4|8/rank_0.ckpt
		0|scr_container -p p verify id:4 name:4
		0|scr_container -p p repack id:4 name:4
		0|scr_container -p p extract -C p/x name:4||+x/4/rank_0.ckpt -x/8
		0|scr_archive export -p p -o 4.tar id:4
		0|scr_archive import -p q 4.tar|dataset 4,
		0|scr_archive export -p p -o 2.tar name:4
		0|scr_archive import -p q 2.tar|dataset 2,
	END
	scr_container -p p cat id:4 8/rank_0.ckpt >out
	scr_container -q -p p unpack id:4 name:4
	cmp out p/8/rank_0.ckpt
	[[ -e p/4/rank_0.ckpt ]]
}

@test "a dataset named id:4, one named name:x; --protect and packing work on the chosen one" {
	make 4 four
	make 7 id:4
	make 8 name:x
	for id in 4 7 8; do
		scr_index -q -p p --build $id
	done
	for word in id:4=4 name:id:4=7 four=4 7=7 name:name:x=8 id:8=8; do
		rows <<-END
			0|scr_index -p p --verify ${word%=*} --json|"id": ${word#*=}
			0|scr_inspect -p p ${word%=*}|dataset ${word#*=}
		END
	done
	ends 1 scr_index -p p --verify name:x
	prints "$(printf '%s\n' name:name:x name:id:4 four)" \
		scr_index -p p --dump-datasets=
	rm -r p
	for id in 4 2; do
		make $id $((2 * id)) -t NONE
		scr_index -q -p p --build $id
		rm p/.scr/scr.dataset.$id/filemap_*
	done
	# A table of all datasets, and the containers of each.
	rows <<-'END'
		0|scr_rebuild -p p --protect xor id:4||+.scr/scr.dataset.4/filemap_0 -.scr/scr.dataset.2/filemap_0
		0|grep 8/rank_0.ckpt p/.scr/scr.dataset.4/filemap_0
		0|scr_container -q -p p pack id:4
		0|scr_inspect -p p --map id:4|containers
	END
}

# --- Numbers that come from elsewhere ----------------------------------------

# Outputs in the cache of this node, named as another's number.
@test "scr_postrun: saves and packs the right one; --id takes the words" {
	one_node
	save() {
		gen -p p -n 2 -m 1 --layout cache --nodes-dir nodes -t SINGLE \
			-s 1000 --lose "" -i "$1" --output --name "$2"
	}
	save 1 2
	ends 0 scr_postrun "${args[@]}"
	save 2 4
	save 3 6
	save 4 8
	rows <<-'END'
		0|scr_postrun "${args[@]}" --id 2 --containers||+2/rank_0.ckpt -4/rank_0.ckpt +.scr/scr.dataset.2 -.scr/scr.dataset.4
		0|scr_postrun "${args[@]}" --id name:6||+6/rank_0.ckpt -8
		0|scr_postrun "${args[@]}" --id id:4||+8/rank_0.ckpt
		1|scr_postrun "${args[@]}" --id name:nothing|name:nothing
	END
	misused abc scr_postrun "${args[@]}" --id abc
	assert_stderr_has --id
}

@test "scr_copy --id and scr_env flush-file take id: and name:; numbers stay numbers" {
	for id in 2 4; do
		gen -p p -n 2 -m 1 --layout cache --lose "" -t SINGLE -s 1000 \
			-i $id --name $((2 * id))
	done
	args=(--cntldir nodes/node0/cntl/genuser/scr.1000
		--cachedir nodes/node0/cache/genuser/scr.1000 -d p)
	rows <<-'END'
		0|scr_copy "${args[@]}" --id 4||+8/rank_0.ckpt -4
		0|rm -r p/8
		0|scr_copy "${args[@]}" --id id:4||+8/rank_0.ckpt -4
		0|scr_copy "${args[@]}" --id name:4||+4/rank_0.ckpt
		1|scr_copy "${args[@]}" --id name:6|name:6
	END
	for word in abc id:0 id:x 0; do
		misused "$word" scr_copy "${args[@]}" --id $word
		assert_stderr_has --id
	done
	rm -rf p nodes
	for id in 2 4; do
		make $id $((2 * id)) --layout cache
	done
	for word in 4=8 id:4=8 name:4=4 name:8=8; do
		prints "${word#*=}" scr_env flush-file -p p --name "${word%=*}"
	done
	rows < <(for verb in --location --need-flush; do
		printf '%s|scr_env flush-file -p p '$verb' %s\n' 0 id:4 0 name:4 1 name:6
	done)
	prints 2 scr_env flush-file -p p --list-ckpt --before id:4
	# LLNL's scripts pass numbers.
	prints 8 scr_flush_file -d p --name 4
	for word in abc id:x 0; do
		misused "$word" scr_env flush-file -p p --name $word
	done
}

# --- Hints -------------------------------------------------------------------

@test "printed commands name the dataset that they speak of" {
	steps
	rm p/8/rank_1.ckpt p/10/rank_1.ckpt
	rows <<-'END'
		3|scr_inspect -p p id:4|next:       scr_rebuild -p p id:4
		3|scr_inspect -p p id:5|next:       scr_rebuild -p p 5
		0|scr_index -p p --drop id:4
		3|scr_index -p p --add id:4|--build id:4
		3|scr_inspect -p p|next:       scr_index -p p --build id:4
	END
	# The command as it is printed.
	hint=$(scr_inspect -p p id:4 | sed -n 's/^ *next: *//p') || :
	rows <<-'END'
		0|bash -c "$hint"||+8/rank_1.ckpt -10/rank_1.ckpt =1=2,2=4,3=6,4=8,5=10,6=12
		0|scr_index -p p --drop id:5
		0|scr_rebuild -p p 5|next: scr_index -p p --build 5
		0|scr_index -p p --build 5
	END
}

@test "messages do not look like the number of another; an id stays an id; names are quoted" {
	steps
	scr_index -p p --current name:6
	rm p/.scr/flush.scr
	complains 0 "the restart point is name:4 now" scr_index -p p --drop name:6
	rm p/4/rank_0.ckpt p/4/rank_1.ckpt
	# shellcheck disable=SC2028 # as it is printed
	rows <<-'END'
		4|scr_index -p p --verify name:4|scr_index: name:4:
		2|scr_container cat "a'b c"|scr_container list 'a'\''b c'
	END
	steps
	rm p/.scr/scr.dataset.{4,5}/summary.scr
	complains 3 "summary.scr: missing" scr_index -p p --verify id:4
	rows <<-'END'
		3|scr_index -p p --verify id:4|next: scr_index -p p --build id:4
		0|scr_index -p p --build id:4
		0|scr_index -p p --verify id:4
		0|rm p/.scr/index.scr
		3|scr_index -p p|dataset 5: not listed;as it has no valid summary: --build id:5 adds it to the index
		0|rm p/.scr/scr.dataset.2/summary.scr
		3|scr_index -p p|datasets 2 5: not listed;as they have no valid summary: --build id:N adds them to the index
	END
}

# --- Completion --------------------------------------------------------------

@test "--dump-datasets: names that begin so; name: if it is another's number" {
	steps
	# offers BEGINNING WORD...
	offers() {
		prints "$(printf '%s\n' "${@:2}")" scr_index -p p "--dump-datasets=$1"
	}
	offers "" 12 10 8 name:6 name:4 name:2
	offers 1 12 10
	offers name: name:{12,10,8,6,4,2}
	offers name:1 name:{12,10}
	offers id: id:{6,5,4,3,2,1}
	offers id:4 id:4
	prints "" scr_index -p p --dump-datasets nothing
	# Each word that is offered is understood.
	for word in $(scr_index -p p --dump-datasets=); do
		shows " ${word#name:}" scr_index -p p --verify "$word"
	done
	# Datasets that are not in the index, by number; 12 is another's name.
	mkdir p/.scr/scr.dataset.12 p/.scr/scr.dataset.77
	offers 7 77
	offers id: id:{6,5,4,3,2,1,77,12}
	offers "" name:12 10 8 name:6 name:4 name:2 77 id:12
	# The list of names is as it was.
	prints $'12\n10\n8\n6\n4\n2' scr_index -p p --names-only --all
}

# Outside bats, which makes each command of a shell slow: complete a word, and
# all words; print the candidates of the first, the number of the second, and
# the processor time of list, word and all, in milliseconds.  The least of three
# runs counts.  (The elapsed time depends on what else runs.)
measure() {
	WORD=$1 bash -s <<'END'
source "$TESTSUITE/../share/completions/scrkit.bash"
tab() {
	COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
	_scrkit
}
least_time() {
	local TIMEFORMAT=%3U i

	for i in 1 2 3; do
		{ time "$@" >/dev/null 2>&1; } 2>>times
	done
	sort -n times | sed -n '1{s/[.]//;s/^0*//;p}'
	rm times
}
tab "scr_index -p p --drop $WORD"
printf '%s\n' "${COMPREPLY[*]}"
tab "scr_index -p p --drop "
echo "${#COMPREPLY[@]}"
least_time scr_index -p p --names-only --all
least_time tab "scr_index -p p --drop $WORD"
least_time tab "scr_index -p p --drop "
quoted() {
	local list words

	mapfile -t list < <(scr_index -p p --names-only --all)
	mapfile -t words < <(printf '%q\n' "${list[@]}")
}
least_time quoted
END
}

# To complete one word costs about as much as the plain list of all names, which
# the shell would otherwise look through.  To offer all names costs about as much
# as the shell takes to read and quote them.
@test "completion with many datasets: only what begins so is printed" {
	local n=30000 word=ckpt.2999

	[[ -z ${SCRKIT_SLOW-} ]] || n=100000 word=ckpt.9999
	"$GEN/gen_meta" --prefix p --index "$n"
	run measure "$word"
	[[ ${lines[0]} == "$(echo "$word"{9,8,7,6,5,4,3,2,1,0,})" ]]
	[[ ${lines[1]} == "$n" ]]
	[[ $(scr_index -p p --dump-datasets "$word" | wc -l) == 11 ]]
	echo "$output"
	((lines[3] < 3 * lines[2]))
	((lines[4] < 2 * lines[5]))
}
