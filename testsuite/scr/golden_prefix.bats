#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The files of a job of LLNL's library, written again with libscr: caches and
# redundancy have the same bytes, the prefix has the same metadata; and what LLNL's
# library has flushed is fetched.

load helper

FROM=$BATS_TEST_TMPDIR/from
CACHED=golduser/scr.1000/scr.dataset.1

# snapshot CASE MAP TYPE FAILURES SIZE: the files that the job left are below $FROM,
# with a list for each rank beside it; the settings of the job are in the environment.
snapshot() {
	local map path mode mtime
	local -A place=()

	golden=$(golden "scr3/$1/cache")
	golden=${golden%/*}
	rm -rf "${NODES:?}"/* "${PREFIX:?}"/.scr "${PREFIX:?}"/* "$FROM"*
	for map in "$golden"/cache/nodes/*/"cache/$CACHED"/.scr/filemap_*; do
		# LLNL's library lists the last file first.
		scr_inspect -m tree "$map" | sed -n '/^ *ORIG$/{n;s,.*/prefix/,,p}' |
			tac >"$FROM.${map##*_}"
		while IFS= read -r path; do
			place[${path##*/}]=$path
			mkdir -p "$FROM/${path%/*}"
		done <"$FROM.${map##*_}"
	done
	while read -r mode _ _ _ mtime path; do
		[[ $path == */"$CACHED"/* && $path != */.scr/* ]] || continue
		cp "$golden/cache/$path" "$FROM/${place[${path##*/}]}"
		chmod "$mode" "$FROM/${place[${path##*/}]}"
		touch -m -d "@$mtime" "$FROM/${place[${path##*/}]}"
	done <"$golden/cache.stat.txt"
	[[ ! -e $golden/flushed ]] || cp -a "$golden/flushed/prefix/.scr" "$FROM"
	export SCR_USER_NAME=golduser SCR_JOB_ID=1000 SCR_JOB_NAME=goldjob
	export SCR_CLUSTER_NAME=goldcluster SCR_FLUSH=1
	export SCR_COPY_TYPE=$3 SCR_SET_FAILURES=$4 SCR_SET_SIZE=$5
}

# A metadata file, key by key: without times, and without paths of cache and prefix;
# without what LLNL's library does not know: checksums, when the dataset was created,
# and the files of a rank2file.
text() {
	scr_inspect -m keyval --sort "$1" |
		sed -E -e 's/^( *FLUSHED = ).*/\1TIME/' \
			-e '/^ *(CRC|CREATED|[AC]TIME_N?SECS) = /d' \
			-e "s|$SSD/golduser/scr.1000|CACHE|; s|$PREFIX|PREFIX|" \
			-e 's|/tmp/scrgold/[^/]*/local/cache/golduser/scr.1000|CACHE|' \
			-e 's|/tmp/scrgold/[^/]*/prefix|PREFIX|' |
		if [[ $1 == *rank2file* ]]; then
			sed -E -e '/^ +(SIZE|FILES) = /d' \
				-e 's/^( +)FILE = (.*)/\1FILE\n\1  \2/'
		else
			cat
		fi
}

# What follows the header.
body() {
	local size

	size=$(od -An -j 8 -N 8 -t u8 --endian=big "$1")
	tail -c +$((size + 1)) "$1"
}

# cached CASE: what is beside the files in the caches is what LLNL's library wrote.
cached() {
	local node file name
	local -i files=0

	for node in "$golden"/cache/nodes/node*; do
		for file in "$node/cache/$CACHED"/.scr/*; do
			name=$NODES/${node##*/node}/$CACHED/.scr/${file##*/}
			case $file in
			*/reddesc.er.*.grp*)
				cmp <(body "$name") <(body "$file")
				text "$name" | grep -q MTIME_SECS ||
					[[ $1 == *empty || $1 == *uneven ]]
				diff <(text "$name") <(text "$file")
				;;
			*/reddescmap.er.*.grp*) [[ -s $name ]] ;;
			*.er.er | *.redset) cmp "$name" "$file" ;;
			*) diff <(text "$name") <(text "$file") ;;
			esac
			files+=1
		done
	done
	((files >= 9))
	# Nothing else is there.
	[[ $(find "$NODES" -path '*/.scr/*' -type f | wc -l) -eq $files ]]
}

# listing DIR: names, sizes, modes and times of its files, and their contents.
listing() {
	cd "$1" || return
	find . -path ./.scr -prune -o -type f -printf '%p %s %m %T@\n' | sort
	find . -path ./.scr -prune -o -type f -print0 | sort -z |
		xargs -0 sha256sum
}

# The metadata files, but for the log, and what keeps our index safe.
metadata() {
	(cd "$1" && find .scr -type f ! -name log ! -name index.lock \
		! -name index.spare | sort)
}

# flushed CASE MAP TYPE FAILURES SIZE: the job that wrote the snapshot, with libscr.
flushed() {
	local f

	snapshot "$@"
	line "complete 1 0" works "$2" app_ckpt from="$FROM" below="$PREFIX/"
	cached "$1"
	diff <(listing "$FROM") <(listing "$PREFIX")
	[[ -e $FROM/.scr ]] || return 0
	diff <(metadata "$FROM") <(metadata "$PREFIX")
	while IFS= read -r f; do
		[[ $f != */app.conf ]] || continue # not a tree
		[[ -n $(text "$PREFIX/$f") ]] || failed "$f is empty"
		diff <(text "$FROM/$f") <(text "$PREFIX/$f")
	done < <(metadata "$PREFIX")
}

# fetched CASE MAP TYPE FAILURES SIZE: the snapshot is the prefix of a new job.
fetched() {
	local name rank=0

	snapshot "$@"
	[[ -e $FROM/.scr ]] || return 0
	cp -a "$FROM/." "$PREFIX"
	line "have_restart -> 0 1 ckpt.1" works "$2" app_calls init have_restart finalize
	[[ $stderr != *WARNING* ]] || failed "$stderr"
	for node in $2; do
		while IFS= read -r name; do
			cmp "$FROM/$name" "$NODES/$node/$CACHED/${name##*/}"
		done <"$FROM.$rank"
		rank=$((rank + 1))
	done
	ends 0 scr_index --prefix "$PREFIX" --verify 1
	# And what was fetched can be lost.
	if [[ $3 != SINGLE ]]; then
		rm "$PREFIX/.scr/index.scr"
		lose "${2##* }"
		SCR_FETCH=0 job "$2" app_calls init have_restart finalize
		assert_line "have_restart -> 0 1 ckpt.1"
	fi
}

# each CALL: with each line "[+]CASE TYPE FAILURES SIZE MAP"; "+": only with
# SCRKIT_SLOW.  Cases that only the complete data have are left out.
each() {
	local case type failures size map n=0

	while read -r case type failures size map; do
		[[ $case != +* || -n ${SCRKIT_SLOW-} ]] || continue
		case=${case#+}
		[[ -e $SCRKIT_GOLDEN/scr3/$case/cache ]] || continue
		echo "$case"
		"$1" "$case" "$map" "$type" "$failures" "$size"
		n=$((n + 1))
	done
	((n > 0)) || skip "no golden data"
}

@test "flushed: caches, redundancy, files, index, summary, rank2file, flush file, by key" {
	each flushed <<-'END'
		+xor_4 XOR 1 8 0 1 2 3
		xor_8n4 XOR 1 8 0 0 1 1 2 2 3 3
		xor_4_uneven XOR 1 8 0 1 2 3
		xor_4_allempty XOR 1 8 0 1 2 3
		xor_7_set3 XOR 1 3 0 1 2 3 4 5 6
		+xor_8 XOR 1 8 0 1 2 3 4 5 6 7
		single_8n4 SINGLE 1 8 0 0 1 1 2 2 3 3
		+single_4 SINGLE 1 8 0 1 2 3
		+partner_4 PARTNER 1 8 0 1 2 3
		partner_4_uneven PARTNER 1 8 0 1 2 3
		rs1_4 RS 1 8 0 1 2 3
		rs2_4_uneven RS 2 8 0 1 2 3
		rs2_8n4 RS 2 8 0 0 1 1 2 2 3 3
		+rs3_4 RS 3 8 0 1 2 3
		rs3_8 RS 3 8 0 1 2 3 4 5 6 7
	END
}

@test "many small messages: the same bytes" {
	SCR_MPI_BUF_SIZE=4096 each flushed <<-'END'
		xor_4_big XOR 1 8 0 1 2 3
		rs2_4 RS 2 8 0 1 2 3
		partner_8n4 PARTNER 1 8 0 0 1 1 2 2 3 3
	END
}

@test "what LLNL's library has flushed is fetched, and protected" {
	each fetched <<-'END'
		single_8n4 SINGLE 1 8 0 0 1 1 2 2 3 3
		+partner_4_uneven PARTNER 1 8 0 1 2 3
		partner_8n4 PARTNER 1 8 0 0 1 1 2 2 3 3
		xor_4 XOR 1 8 0 1 2 3
		xor_4_uneven XOR 1 8 0 1 2 3
		+xor_4_allempty XOR 1 8 0 1 2 3
		+xor_8n4 XOR 1 8 0 0 1 1 2 2 3 3
		rs2_4 RS 2 8 0 1 2 3
		rs2_4_uneven RS 2 8 0 1 2 3
		rs2_8n4 RS 2 8 0 0 1 1 2 2 3 3
	END
}
