#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2086 # words
# Checkpoints named by time step: the name of one is the number of another.  The
# words of every verb of every command that name a dataset.

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
	cp -a "$BATS_FILE_TMPDIR/p" .
}

# refused_by: each command on stdin refuses a word with both readings.
refused_by() {
	local args

	while read -r args; do
		try $args
		assert_both_readings
	done
}

# Everything below p, but not the locks.
state() {
	(cd p && find . -type f ! -name '*.lock' -exec sha256sum {} + | sort -k 2)
}

# Print the datasets in the index, the oldest first: "1=2 2=4 ...".
index() {
	scr_index -p p --all | awk 'NR > 1 { print $1, $0 }' | sort -n |
		sed -E 's/^([0-9]+) .* ([^ ]+) *$/\1=\2/' | xargs
}

current() {
	scr_index -p p | sed -n 's/^.\{33\}\* //p'
}

# A refusal: status 2, both readings, nothing on stdout.
assert_both_readings() {
	assert_status 2
	[[ -z $output ]] || failed "expected nothing on stdout"
	assert_stderr_one_line id:4 name:4 "dataset 2"
}

# --- Refused -----------------------------------------------------------------

@test "every verb of every command refuses a name that is another's number" {
	steps
	scr_container -q -p p pack name:12
	state >before
	refused_by <<-'END'
		scr_index -p p --delete 4
		scr_index -p p --drop 4
		scr_index -p p --drop-after 4
		scr_index -p p --current 4
		scr_index -p p --add 4
		scr_index -p p --build 4
		scr_index -p p --verify 4
		scr_index -p p --delete 4 --dry-run
		scr_index -p p --build 4 --dry-run
		scr_index -p p --build 4 --deep
		scr_index -p p --verify 4 --checksums
		scr_inspect -p p 4
		scr_inspect -p p -d 4
		scr_inspect p -d 4
		scr_inspect -p p --deep 4
		scr_inspect -p p --svg x.svg 4
		scr_rebuild -p p 4
		scr_rebuild -p p -n 4
		scr_rebuild -p p --protect xor 4
		scr_rebuild -p p --deep 4
		scr_container -p p pack 4
		scr_container -p p unpack 4
		scr_container -p p repack 4
		scr_container -p p list 4
		scr_container -p p verify 4
		scr_container -p p cat 4 x
		scr_container -p p extract -C . 4
		scr_container -p p export -o x 4
		scr_archive export -p p -o x 4
	END
	ends 2 scr_index -p p --json --delete 4
	assert_output_has '"status": 2' id:4 name:4
	state | diff before -
	[[ ! -e x && ! -e x.svg ]]
}

@test "a name that only a summary or the flush file records counts, too" {
	for id in 4 2; do
		make $id $((2 * id))
		scr_index -q -p p --build $id
	done
	scr_index -q -p p --drop-all
	rm p/.scr/flush.scr
	# The names are in summaries; no dataset is in the index.
	refused_by <<-'END'
		scr_index -p p --build 4
		scr_index -p p --add 4
		scr_index -p p --delete 4
		scr_rebuild -p p 4
		scr_inspect -p p 4
		scr_container -p p list 4
	END
	# One of them is.
	scr_index -q -p p --build id:4
	refused_by <<<"scr_index -p p --delete 4"
	rm -r p
	# The names are in the flush file only.
	make 4 8
	make 2 4
	refused_by <<-'END'
		scr_index -p p --build 4
		scr_inspect -p p 4
		scr_rebuild -p p 4
	END
}

@test "a number that is the name of the same dataset, or of none, is not refused" {
	make 3 3
	make 5 7
	scr_index -q -p p --build 3
	scr_index -q -p p --build 5
	for word in 3 id:3 name:3; do
		shows "   3 whole" scr_index -p p --verify $word
	done
	for word in 5 7 id:5 name:7; do
		shows "   5 whole" scr_index -p p --verify $word
		ends 0 scr_inspect -p p $word
		[[ $output == "dataset 5  7"* ]]
	done
	for word in id:7 name:5 name:id:5 id:name:7 id: name: id:x; do
		for args in "scr_index -p p --verify" "scr_index -p p --drop" \
			"scr_inspect -p p" "scr_rebuild -p p" \
			"scr_container -p p list"; do
			complains 1 "$word" $args $word
		done
	done
	[[ $(index) == "3=3 5=7" ]]
}

# --- id: and name: -----------------------------------------------------------

@test "scr_index --delete id:4 and name:4 delete these; the number in a path stays one" {
	steps
	rm p/.scr/flush.scr # which says that dataset 2 is in the caches
	warns 0 "dataset 2 (4): deleted" scr_index -p p --delete name:4
	[[ $(index) == "1=2 3=6 4=8 5=10 6=12" ]]
	[[ ! -e p/4 && -e p/8/rank_0.ckpt && -e p/2/rank_0.ckpt ]]
	ends 0 scr_index -p p --delete id:6
	[[ $(index) == "1=2 3=6 4=8 5=10" && ! -e p/12 && -e p/6/rank_0.ckpt ]]
	# Now dataset 4 alone goes by this word.
	ends 0 scr_index -p p --delete 4
	[[ $(index) == "1=2 3=6 5=10" ]]
	rm -r p
	steps
	for id in 1 2 3 4 5 6; do
		ends 0 scr_inspect p/.scr/scr.dataset.$id
		[[ $output == "dataset $id  $((2 * id))"* ]]
		(cd p/.scr/scr.dataset.$id && scr_inspect .) >out
		grep -q "^dataset $id  " out
	done
	rm p/4/rank_1.ckpt p/8/rank_1.ckpt
	ends 0 scr_rebuild p/.scr/scr.dataset.4
	[[ -e p/8/rank_1.ckpt && ! -e p/4/rank_1.ckpt ]]
}

@test "scr_index: current, drop, drop-after, add, build, verify by id: and name:" {
	steps
	for word in id:4=8 name:4=4 id:2=4 name:2=2 id:5=10 5=10 12=12; do
		scr_index -p p --current "${word%=*}"
		[[ $(current) == "${word#*=}" ]]
	done
	scr_index -q -p p --drop name:4
	[[ $(index) == "1=2 3=6 4=8 5=10 6=12" ]]
	scr_index -q -p p --drop id:4
	[[ $(index) == "1=2 3=6 5=10 6=12" ]]
	try scr_index -p p --add 4
	assert_both_readings
	scr_index -q -p p --add name:4
	[[ $(index) == "1=2 2=4 3=6 5=10 6=12" ]]
	scr_index -q -p p --add id:4
	[[ $(index) == "1=2 2=4 3=6 4=8 5=10 6=12" ]]
	scr_index -q -p p --drop-after id:5
	[[ $(index) == "1=2 2=4 3=6 4=8 5=10" ]]
	scr_index -q -p p --drop-after name:4
	[[ $(index) == "1=2 2=4" ]]
	warns 0 "dataset 3 (6)" scr_index -p p --build name:6
	warns 0 "dataset 4 (8)" scr_index -p p --build id:4
	[[ $(index) == "1=2 2=4 3=6 4=8" ]]
	shows "   4 whole" scr_index -p p --verify id:4
	ends 0 scr_index -p p --verify name:4 --json
	assert_output_has '"id": 2' '"name": "4"'
	# An entry without a usable NAME goes by its number.
	scr_index -q -p p --drop 1
	[[ $(index) == "2=4 3=6 4=8" ]]
}

@test "scr_inspect and scr_rebuild by id: and name:" {
	steps
	for args in "id:4=4  8" "name:4=2  4" "-d id:2=2  4" "-d name:2=1  2" \
		"5=5  10" "10=5  10"; do
		ends 0 scr_inspect -p p ${args%=*}
		[[ $output == "dataset ${args#*=}"* ]] || failed "$args"
	done
	rm p/4/rank_1.ckpt p/8/rank_1.ckpt
	ends 0 scr_rebuild -p p name:4
	[[ -e p/4/rank_1.ckpt && ! -e p/8/rank_1.ckpt ]]
	ends 0 scr_rebuild -p p id:4
	[[ -e p/8/rank_1.ckpt ]]
	# A file or directory of this name does not get in the way.
	mkdir -p id:4/.scr
	rm p/8/rank_2.ckpt
	ends 0 scr_rebuild -p p id:4
	[[ -e p/8/rank_2.ckpt ]]
	try scr_inspect -p p id:4
	[[ $output == "dataset 4  8"* ]]
}

@test "scr_container and scr_archive by id: and name:" {
	steps
	scr_container -q -p p pack id:4
	[[ ! -e p/8/rank_0.ckpt && -e p/4/rank_0.ckpt ]]
	scr_container -q -p p pack name:4
	[[ ! -e p/4/rank_0.ckpt ]]
	shows 4/rank_0.ckpt scr_container -p p list name:4
	shows 8/rank_0.ckpt scr_container -p p list id:4
	for verb in verify repack; do
		ends 0 scr_container -p p $verb id:4 name:4
	done
	scr_container -p p cat id:4 8/rank_0.ckpt >out
	scr_container -q -p p extract -C x name:4
	[[ -e x/4/rank_0.ckpt && ! -e x/8 ]]
	for word in id:4=4 name:4=2; do
		scr_archive export -q -p p -o "a.tar" "${word%=*}"
		mkdir q
		shows "dataset ${word#*=}," scr_archive import -p q a.tar
		rm -r q
	done
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
		ends 0 scr_index -p p --verify "${word%=*}" --json
		assert_output_has "\"id\": ${word#*=}"
		ends 0 scr_inspect -p p "${word%=*}"
		[[ $output == "dataset ${word#*=} "* ]]
	done
	ends 1 scr_index -p p --verify name:x
	run scr_index -p p --dump-datasets=
	assert_output_is "$(printf '%s\n' name:name:x name:id:4 four)"
	rm -r p
	for id in 4 2; do
		make $id $((2 * id)) -t NONE
		scr_index -q -p p --build $id
		rm p/.scr/scr.dataset.$id/filemap_*
	done
	ends 0 scr_rebuild -p p --protect xor id:4
	[[ -e p/.scr/scr.dataset.4/filemap_0 ]]
	[[ ! -e p/.scr/scr.dataset.2/filemap_0 ]]
	grep -q 8/rank_0.ckpt p/.scr/scr.dataset.4/filemap_0
	# A table of all datasets, and the containers of each.
	scr_container -q -p p pack id:4
	shows containers scr_inspect -p p --map id:4
}

@test "one name of several datasets: the index decides, else it is refused" {
	for id in 3 7; do
		make $id sameX
		rm -f p/.scr/index.scr
		scr_index -q -p p --build $id
		mv p/.scr/scr.dataset.$id .
		rm p/.scr/*.scr
	done
	mv scr.dataset.[37] p/.scr
	scr_index -q -p p --drop-all
	state >before
	for args in "scr_index -p p --build sameX" "scr_index -p p --add sameX" \
		"scr_index -p p --delete sameX" "scr_inspect -p p sameX" \
		"scr_rebuild -p p name:sameX"; do
		ends 2 $args
		assert_stderr_one_line sameX id:3 id:7
	done
	state | diff before -
	scr_index -q -p p --add id:3
	shows "   3 whole" scr_index -p p --verify sameX
	# But which of them is to be added is open.
	ends 2 scr_index -p p --add sameX
}

# --- Numbers that come from elsewhere ----------------------------------------

# Outputs in the cache of this node, named as another's number.
@test "scr_postrun: saves and packs the right one; --id takes the words" {
	ln -s nodes/node0 local
	args=(-p p -r local -w "$(uname -n)" -J 1000 --cachedir local/cache
		--cntldir local/cntl)
	save() {
		gen -p p -n 2 -m 1 --layout cache --nodes-dir nodes -t SINGLE \
			-s 1000 --lose "" -i "$1" --output --name "$2"
	}
	save 1 2
	ends 0 scr_postrun "${args[@]}"
	save 2 4
	save 3 6
	save 4 8
	ends 0 scr_postrun "${args[@]}" --id 2 --containers
	[[ -e p/2/rank_0.ckpt && ! -e p/4/rank_0.ckpt ]]
	[[ -d p/.scr/scr.dataset.2 && ! -e p/.scr/scr.dataset.4 ]]
	ends 0 scr_postrun "${args[@]}" --id name:6
	[[ -e p/6/rank_0.ckpt && ! -e p/8 ]]
	ends 0 scr_postrun "${args[@]}" --id id:4
	[[ -e p/8/rank_0.ckpt ]]
	complains 1 name:nothing scr_postrun "${args[@]}" --id name:nothing
	try scr_postrun "${args[@]}" --id abc
	assert_usage_error --id abc
}

@test "scr_copy --id takes id: and name:" {
	for id in 2 4; do
		gen -p p -n 2 -m 1 --layout cache --lose "" -t SINGLE -s 1000 \
			-i $id --name $((2 * id))
	done
	args=(--cntldir nodes/node0/cntl/genuser/scr.1000
		--cachedir nodes/node0/cache/genuser/scr.1000 -d p)
	ends 0 scr_copy "${args[@]}" --id 4
	[[ -e p/8/rank_0.ckpt && ! -e p/4 ]]
	rm -r p/8
	ends 0 scr_copy "${args[@]}" --id id:4
	[[ -e p/8/rank_0.ckpt && ! -e p/4 ]]
	ends 0 scr_copy "${args[@]}" --id name:4
	[[ -e p/4/rank_0.ckpt ]]
	complains 1 name:6 scr_copy "${args[@]}" --id name:6
	for word in abc id:0 id:x 0; do
		try scr_copy "${args[@]}" --id $word
		assert_usage_error --id "$word"
	done
}

@test "scr_env flush-file: numbers stay numbers; id: and name:" {
	for id in 2 4; do
		make $id $((2 * id)) --layout cache
	done
	for word in 4=8 id:4=8 name:4=4 name:8=8; do
		prints "${word#*=}" scr_env flush-file -p p --name "${word%=*}"
	done
	for verb in --location --need-flush; do
		ends 0 scr_env flush-file -p p $verb id:4
		ends 0 scr_env flush-file -p p $verb name:4
		ends 1 scr_env flush-file -p p $verb name:6
	done
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
	finds 3 "next:       scr_rebuild -p p id:4" scr_inspect -p p id:4
	finds 3 "next:       scr_rebuild -p p 5" scr_inspect -p p id:5
	scr_index -q -p p --drop id:4
	warns 3 "--build id:4" scr_index -p p --add id:4
	finds 3 "next:       scr_index -p p --build id:4" scr_inspect -p p
	# The command as it is printed.
	hint=$(scr_inspect -p p id:4 |
		sed -n 's/^ *next: *//p') || :
	ends 0 bash -c "$hint"
	[[ -e p/8/rank_1.ckpt && ! -e p/10/rank_1.ckpt ]]
	[[ $(index) == "1=2 2=4 3=6 4=8 5=10 6=12" ]]
	scr_index -q -p p --drop id:5
	hint=$(scr_rebuild -p p 5 | sed -n 's/^next: \(scr_index .*\)/\1/p')
	[[ $hint == "scr_index -p p --build 5" ]]
	bash -c "$hint" 2>/dev/null
}

@test "messages do not look like the number of another; hints quote names for the shell" {
	steps
	scr_index -p p --current name:6
	rm p/.scr/flush.scr
	ends 0 scr_index -p p --drop name:6
	assert_stderr_one_line "the restart point is name:4 now"
	rm p/4/rank_0.ckpt p/4/rank_1.ckpt
	warns 4 "scr_index: name:4: " scr_index -p p --verify name:4
	ends 2 scr_container cat "a'b c"
	# shellcheck disable=SC2028 # as it is printed
	assert_stderr_has "scr_container list 'a'\\''b c'"
	ends 2 scr_env flush-file --summary --name 'a b'
	assert_stderr_has "scr_index --build 'a b'"
}

# --- Completion --------------------------------------------------------------

@test "--dump-datasets: names that begin so; name: if it is another's number" {
	steps
	# offers BEGINNING WORD...
	offers() {
		prints "$(printf '%s\n' "${@:2}")" \
			scr_index -p p "--dump-datasets=$1"
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

@test "the words in hints: an id stays an id" {
	steps
	rm p/.scr/scr.dataset.{4,5}/summary.scr
	try scr_index -p p --verify id:4
	assert_stderr_one_line "summary.scr: missing"
	assert_stderr_has "next: scr_index -p p --build id:4"
	scr_index -q -p p --build id:4
	scr_index -p p --verify id:4
	rm p/.scr/index.scr
	try scr_index -p p
	assert_stderr_has "dataset 5: not listed" \
		"as it has no valid summary: --build id:5 adds it to the index"
	rm p/.scr/scr.dataset.2/summary.scr
	try scr_index -p p
	assert_stderr_has "datasets 2 5: not listed" \
		"as they have no valid summary: --build id:N adds them to the index"
}
