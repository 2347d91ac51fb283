# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2030,SC2031,SC2034,SC2086 # words; used by tests
#
# damaged.bash - what all commands say of a damaged dataset, and what repairs it, as
# tables: `load damaged`.  Also loads helper.bash.

load helper

D=p/.scr/scr.dataset.1 T=p/.scr/scr.dataset.2 O=older/.scr/scr.dataset.1
f=p/ckpt.1 C=$D/.scr # its files, its containers

# base TYPE [WORD]...: dataset 1 of this redundancy on prefix p, in the index; whole: a
# copy before it was packed; older: the same of an earlier run, with other bytes.
# Words: sums (checksums are recorded), pack=SIZE (into containers), red (with
# redundancy), two (and dataset 2), bare (not in the index), forgotten (flush.scr does
# not list it), alone (nothing but filemaps and redundancy); else options of gen.
base() {
	local word id kept=base.$* ids=1 gen=() sums='' pack='' red='' bare='' gone=''

	kept=${kept//[ \/]/_}
	for word in "${@:2}"; do
		case $word in
		sums) sums=--checksums ;;
		pack=*) pack=${word#*=} ;;
		red) red=--with-redundancy ;;
		two) ids="1 2" ;;
		bare) bare=1 ;;
		forgotten) gone=p/.scr/flush.scr ;;
		alone) gone="p/.scr/*.scr $D/summary.scr $D/rank2file*" ;;
		*) gen+=("$word") ;;
		esac
	done
	if [[ ! -e $kept ]]; then
		mkdir "$kept"
		for run in "--time 1600000000 --seed 5" ""; do
			rm -rf p whole
			for id in $ids; do
				gen -p p -i $id -n 4 -s 8K -t "$1" --seed $id "${gen[@]}" $run
				[[ -n $bare ]] || scr_index -q -p p $sums --build $id
			done
			rm -f $gone
			cp -a p whole
			[[ -z $pack ]] || scr_container -q -p p pack --size $pack $red 1
			[[ -e $kept/older ]] || mv p "$kept/older"
		done
		mv p whole "$kept"
	fi
	rm -rf p whole older
	cp -a "$kept/." .
}

# all STATUS [OPTION]...: what inspect, verify and the dry runs say of dataset 1; `said`.
all() {
	ends "$1" scr_inspect -p p "${@:2}" -d 1
	said=$output
	ends "$1" scr_index -p p --verify "${@:2}" 1
	said+=$stderr
	ends "$1" scr_index -p p --dry-run "${@:2}" --build 1
	said+=$stderr
}

# refused STATUS [OPTION]...: no rebuild can tell what is wrong, and none changes data,
# redundancy or checksums.
refused() {
	local command

	renew p kept
	for command in "scr_index -p p --build" "scr_rebuild -p p"; do
		ends "$1" $command 1 "${@:2}"
		diff -r kept/ckpt.1 $f
		diff -r -x .scrkit.lock kept/.scr/scr.dataset.1 $D
	done
	[[ $1 != 3 ]] || assert_stderr_has "is unknown"
}

# follow COMMAND...: what the command advises, and so on; $steps has them all.
follow() {
	local next=$*

	steps=()
	while [[ -n $next && ${#steps[@]} -lt 9 ]]; do
		steps+=("$next")
		try bash -c "$next"
		next=$(sed -n '/next:/{s/.*next: *//p;q}' <<<"$output"$'\n'"$stderr")
	done
}

# well FIRST COMMAND...: what this advises, and so on, ends with dataset 1 whole.
well() {
	follow "$@"
	((status == 0 && ${#steps[@]} < 5)) || failed "${steps[@]}"
	all 0
}

# same: dataset 1 is whole for the strongest look, and its files, filemaps and
# redundancy are the bytes of the job.
same() {
	data --deep
	diff <(cd whole/.scr/scr.dataset.1 && sha256sum filemap_* redd*) \
		<(cd $D && sha256sum filemap_* redd*)
}

# data [OPTION]...: dataset 1 is whole, and its files are those of the job.
data() {
	local was=whole/.scr/scr.dataset.1/summary.scr

	all 0
	ends 0 scr_index -p p --verify --checksums "$@" 1
	[[ ! -e $C ]] || scr_container -q -p p unpack 1
	diff -r whole/ckpt.1 $f -x "*.old"
	diff <(cd whole/ckpt.1 && stat -c '%n %a %Y %s' -- *) \
		<(cd $f && stat -c '%n %a %Y %s' -- * | grep -v "^[^ ]*\.old ")
	[[ ! -e $was || $(scr_inspect $was $D/summary.scr | grep CREATED | uniq | wc -l) == 1 ]]
}

# red RANK [KIND]: its redundancy file, or that of its filemap (map).
red() { echo $D/reddesc${2-}.er.$1.*grp*; }

# behind FILE N [TEXT]: damage it so many bytes before its end.
behind() { damage "$1" $(($(stat -c %s "$1") - $2)) "${3-X}"; }

# swap FILE FILE
swap() { mv "$1" spare && mv "$2" "$1" && mv spare "$2"; }

# damaged: each line "BASE|DAMAGE|LOOKS|WORDS|WAY" on stdin, BASE several with " or "
# between: after DAMAGE, all commands end as LOOKS says, "STATUS [OPTION]...", with
# commas between, and the last time say all WORDS, with semicolons ("!": none says it).
# WAY leads to what `same` looks at: "build", "rebuild", "repack" and options, "well
# COMMAND" by its advice; with "~" before it to `data`; "refused STATUS [OPTION]...":
# nothing does.
damaged() {
	local bases base damage looks words way look word

	while IFS='|' read -r -u 7 bases damage looks words way; do
		while [[ -n $bases ]]; do
			base=${bases%% or *} bases=${bases#"$base"}
			bases=${bases# or }
			echo "$base|$damage"
			eval "base $base"
			eval "$damage"
			judged
		done
	done 7<&0
}

# judged: what `damaged` does with a damaged dataset.
judged() {
	local word look looks=$looks words=$words

	IFS=, read -ra looks <<<"$looks"
	for look in "${looks[@]}"; do [[ -z $look ]] || all $look; done
	eval "words=\"$words\""
	IFS=';' read -ra words <<<"$words"
	for word in "${words[@]}"; do
		[[ $word != !* && $said == *"$word"* || $word == !* && $said != *"${word#!}"* ]] ||
			failed "expected: $word" "$said"
	done
	case ${way#\~} in
	"") return ;;
	build*) ends 0 scr_index -p p ${way#*build} --build 1 ;;
	rebuild*) ends 0 scr_rebuild -p p ${way#*rebuild} 1 ;;
	repack) ends 0 scr_container -p p repack 1 ;;
	refused*)
		IFS=, read -ra looks <<<"${way#refused}"
		for look in "${looks[@]}"; do refused $look; done
		return
		;;
	*) ${way#\~} ;;
	esac
	case $way in
	~build*) data ${way#*build} ;;
	~*) data ;;
	build* | re* | well*) same ;;
	esac
}
