#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# scr_fti protect: copies and parity for checkpoints of levels 1 and 4 that the
# real FTI wrote; where FTI has written the same data at level 2 or 3, they are
# the same bytes.

load golden

setup() { fti_setup; }

# lower SET LEVEL TO: c is SET, whose checkpoint of LEVEL is one of level TO (1
# or 4) without copies and parity.
lower() {
	local dir exec file

	copy "$1"
	for dir in c/Local/node*/*/"l$2"; do
		rm -f "$dir"/*-RSed* "$dir"/*-Pcof*
		exec=$(basename "$(dirname "$dir")")
		if [ "$3" = 1 ]; then
			mv "$dir" "$(dirname "$dir")/l1"
		else
			mkdir -p "c/Global/$exec/l4"
			mv "$dir"/* "c/Global/$exec/l4"
			rm -r "$dir"
		fi
	done
	for dir in c/Meta/*/"l$2"; do
		[ -d "$dir" ] || continue
		for file in "$dir"/*; do
			sed -i '/rsed_checksum/d' "$file"
		done
		mv "$dir" "$(dirname "$dir")/l$3"
	done
}

# The words that FTI leaves undefined in a file, or in parity: those with the
# pad bytes of the records.  It writes what its memory has, we write 0.
pads() {
	case $1 in
	levels-A* | posix*) ;;
	levels-B*) echo 44 ;;
	*) find "$FTI/$1" -path "*/l$2/*-Rank*" -printf '%s\n' |
		while read -r size; do echo $(((size - 1) / 2)); done ;;
	esac
}

# same SET LEVEL: the files of LEVEL in c are those of SET, bit for bit; but for
# pad bytes, and the record of parity.
same() {
	local file size pads byte record

	record=$(record_size "$1")
	pads=" $(pads "$1" "$2" | tr '\n' ' ')"
	diff <(cd c && find . -path "*/l$2/*" -type f | sort) \
		<(cd "$FTI/$1" && find . -path "*/l$2/*" -type f | sort) ||
		failed "$1: other files"
	while read -r file; do
		size=$(stat -c %s "$FTI/$1/$file")
		[ "$(stat -c %s "c/$file")" = "$size" ] ||
			failed "$file: another size"
		[[ $file != *-RSed* ]] || size=$((size - record))
		cmp -l -n "$size" "c/$file" "$FTI/$1/$file" |
			while read -r byte _; do
				[[ $pads == *" $(((byte - 1) / 2)) "* ]] ||
					failed "$file: byte $byte"
			done
	done < <(cd c && find . -path "*/l$2/*" -type f)
}

@test "the same bytes as FTI wrote at the level" {
	local set level from plan n=0 sets=(levels-A-v1.1 levels-E-v1.6)

	[ ! -d "$FTI/loss" ] || sets+=(levels-B-v1.2 levels-C-v1.3
		levels-D-v1.4 levels-F-even levels-F-odd head-F posix-levels
		posix-levels-odd)
	for set in "${sets[@]}"; do
		for level in 2 3; do
			[ -e "$FTI/$set/L$level/config.fti" ] || continue
			for from in 1 4; do
				((n++ % 2 == 0)) || [[ -n ${SCRKIT_SLOW-} ]] ||
					continue
				lower "$set/L$level" "$level" "$from"
				find c | sort >before
				run scr_fti protect --level "$level" -n c
				[ "$status" = 0 ] || failed "$set: $output"
				plan=$(sed -n 's/.*L[23]: //p' <<<"$output")
				diff before <(find c | sort)
				answers 0 "" scr_fti protect --level "$level" c
				[ "$(sed -n 's/.*L[23]: //p' <<<"$output" |
					sed 's/ read/ to read/
						s/ written/ to write/')" = \
					"$plan" ] || failed "not $plan"
				same "$set/L$level" "$level"
			done
		done
	done
}

@test "levels 1 and 4 at any level: all is whole, and can lose a node" {
	local set from level sets=(head-F/L4)

	[ ! -d "$FTI/loss" ] || sets+=(levels-F-even/L1 levels-F-odd/L1
		levels-F-odd/L4 head-F/L1 posix-levels/L1 posix-levels-odd/L4)
	pick 2 "${sets[@]}"
	for set in "${picked[@]}"; do
		for level in 2 3; do
			copy "$set"
			answers 0 "FTI restarts from L" scr_fti protect \
				--level "$level" c
			answers 0 "" scr_fti scan --checksums c
			grep -q "^  L$level .* whole *$" <<<"$output" ||
				failed "$set: $output"
			answers 0 "already" scr_fti protect --level "$level" c
			cp -R c/Local saved
			rm -rf c/Local/node2
			answers 0 "" scr_fti rebuild c
			run scr_fti scan --checksums --level "$level" c
			diff -r -x l1 -x lL4Dir -x '*RSed*' c/Local saved ||
				failed "$set"
			rm -r saved
		done
	done
}

@test "protect: usage, and what it refuses" {
	copy head-F/L4
	answers 2 "no level given" scr_fti protect c
	answers 2 "" scr_fti protect --level 1 c
	answers 1 "no such checkpoint" scr_fti protect --level 2 --id 3 c
	answers 0 "" scr_fti protect --level 2 c
	# Files of another checkpoint at the level: FTI could take either.
	for file in c/Local/node*/*/l2/*; do
		mv "$file" "${file/Ckpt4/Ckpt3}"
	done
	answers 2 "L2 has checkpoint 3 already" scr_fti protect --level 2 c
	# A checkpoint that lacks a file.
	copy head-F/L4
	rm -r c/Local
	rm c/Global/*/l4/Ckpt4-Rank5.fti
	find c | sort >before
	answers 4 "is lost, not whole" scr_fti protect --level 3 c
	diff before <(find c | sort)
	# Damaged data get no parity.
	copy head-F/L4
	rm -r c/Local
	damage "$(echo c/Global/*/l4/Ckpt4-Rank5.fti)" 99 x
	run scr_fti protect --level 3 c
	[ "$status" = 4 ] || failed "$output"
	follow
	[[ $status = 4 && $output == *" 5     1  damaged "* ]] ||
		failed "$output"
}

@test "33.22: a flat copy: the run does what the dry run promises, or both refuse" {
	local level set sets=(levels-E-v1.6) geometry="--node-size 2 --group-size 4"

	[ ! -d "$FTI/loss" ] || sets+=(posix-levels-odd)
	for set in "${sets[@]}"; do
		for level in 2 3; do
			rm -rf c
			mkdir c
			find "$FTI/$set/L3" -name '*Rank*.fti' -path '*/l3/*' \
				-exec cp {} c \;
			find "$FTI/$set/L3" -name 'sector*' -path '*/l3/*' \
				-exec cp {} c \;
			chmod -R u+w c
			sed -i '/rsed_checksum/d' c/sector* 2>/dev/null || true
			find c | sort >before
			answers 1 "--node-size and --group-size tell it" \
				scr_fti protect -n --level "$level" c
			answers 1 "--node-size and --group-size tell it" \
				scr_fti protect --level "$level" c
			# shellcheck disable=SC2086 # two options
			answers 0 "8 data" scr_fti protect -n --level "$level" \
				$geometry c
			diff before <(find c | sort)
			# shellcheck disable=SC2086 # two options
			answers 0 "8 data" scr_fti protect --level "$level" $geometry c
			rm "c/l$level/Ckpt3-Rank2.fti"
			# shellcheck disable=SC2086 # two options
			answers 0 "rebuilt 1 file" scr_fti rebuild $geometry c
			# shellcheck disable=SC2086 # two options
			answers 0 "already" scr_fti protect --level "$level" $geometry c
		done
	done
	# Damaged data: a dry run finds them, too, and nothing is left behind.
	rm -r c/l3
	damage c/Ckpt3-Rank7.fti 99 x
	find c | sort >before
	for level in "-n" ""; do
		# shellcheck disable=SC2086 # options
		answers 4 "" scr_fti protect $level --level 3 $geometry c
		diff before <(find c | sort)
	done
}
