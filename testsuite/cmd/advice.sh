#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Follow what a command of a test advised, in a mount namespace of its own: a copy of
# the test's directory is in its place, so that all paths are true, and everything else
# is read only.  helper.bash calls it (`followed`).
#
#     advice.sh COPY DIRECTORY STATUS NEXT COMMAND...
#
# COMMAND, run in the working directory, ended with STATUS and printed "next: NEXT", or
# that in JSON.
# Faults that a test injects (the shim, limits, a full disk) do not last: whoever
# follows the advice has mended their cause.  The user and the environment do.
#
# The chain is printed, and fails, if a command in it is a usage error, cannot be run,
# or does not end; if it goes round, or has more than five commands; if its end is a
# worse verdict than its begin. If all succeeded, a look (scr_inspect, --verify, a dry
# run, ...) is taken again: it must not name the same command.
set -u

readonly LONGEST=5 # commands

# Ends at which no command can help, each with what only the reader knows.
stops=(
	# Which nodes the job had.
	"no resource manager reports the nodes of the job; SCR_NODELIST can"
	# Only that user may.
	"; run this as "
	# Whether the link goes, or what it led to comes back.
	"a symbolic link blocks the path"
)

# apart COMMAND...: no file but those of the copy can be changed, and of directories
# that the command names nothing that is written lasts.
apart() {
	local over=$copy.over at options dir done=:

	mkdir "$over" || return
	while read -r _ at _ options _; do
		[[ ,$options, == *,rw,* && $done != *:"$at":* ]] || continue
		[[ $at != /@(proc|sys|dev)@(|/*) || $at == /dev/shm ]] || continue
		mount -o remount,bind,ro "$at" || return
		done+=$at:
	done </proc/self/mounts
	mount --bind "$copy" "$base" && mount -o remount,bind,rw "$base" || return
	for dir in "${SCRKIT_GOLDEN:-none}" "$BATS_FILE_TMPDIR"; do
		[[ $* == *"$dir"* && $dir != "$base" ]] || continue
		mount -t tmpfs none "$over" && mkdir "$over"/{upper,work} &&
			mount -t overlay none "$dir" \
				-o "lowerdir=$dir,upperdir=$over/upper,workdir=$over/work" ||
			return
	done
}

# advice_in TEXT: set `advice` to the commands that it names.
advice_in() {
	mapfile -t advice < <(sed -n "$NEXT_IN" <<<"$1")
}

# take COMMAND...: run it; set `said` and `rc`.
take() {
	said=$(timeout -k 5 60 "$@" 2>&1 </dev/null)
	rc=$?
	printf '%s\n-> status %d\n%s\n' "$*" "$rc" "$said"
}

# looks COMMAND...: does it change nothing?
looks() {
	case " $* " in
	*" scr_inspect "* | *" --verify "* | *" --dry-run "* | *" -n "* | *" --plan "* | \
		*" scr_fti scan "* | *" scr_fti verify "* | *" --list "* | \
		*" scr_container "*" verify "*) ;;
	*) false ;;
	esac
}

# chain NEXT COMMAND...: sets `wrong`, if something is.
chain() {
	local next=$1 first=$1 again=1 stop rank=(0 2 9 1 2)
	local -a before=() who=()

	shift
	# The same user and environment; no limits, no functions of the test.
	while (($# > 0)) && [[ $1 != *scr_* || $1 == *=* ]]; do
		[[ $1 == @(LD_PRELOAD|SHIM|PROFILE)*=* ]] || who+=("$1")
		shift
	done
	[[ ${who[0]-} == @(env|setpriv) ]] || who=()
	case ${1-} in
	*"&&"*) set -- ;;
	*" "*) set -- bash -c "$1" ;;
	esac
	while [[ -n $next ]]; do
		# A clear stop: which nodes the job had only the reader knows.
		[[ $next != *"--nodes NODES"* ]] || return
		((${#before[@]} < 2 * LONGEST)) || { wrong="more than $LONGEST steps" && return; }
		take "${who[@]}" bash -c "$next"
		((rc != 2)) || { wrong="usage error" && return; }
		((rc < 124)) || { wrong="cannot be run, or does not end" && return; }
		case " ${before[*]@Q} " in
		*" ${next@Q} ${said@Q} "*) wrong="goes round" && return ;;
		esac
		before+=("$next" "$said")
		# Who was told of a loss or a failure, or gave up, does not look again.
		((rc == 0)) || { ((rc < 4)) && looks "$next"; } || again=0
		[[ $next != *" --d"[re][lo]* ]] || again=0
		advice_in "$said"
		next=${advice[0]-}
		if [[ -z $next ]] && ((rc == 0 && again)) && looks "$@"; then
			take "${who[@]}" "$@"
			advice_in "$said"
			case " ${advice[*]@Q} " in
			*" ${first@Q} "*) wrong="is named again" && return ;;
			esac
		fi
	done
	for stop in "${stops[@]}"; do
		[[ $said != *"$stop"* ]] || return
	done
	# A stronger look may find more.
	[[ ${before[-2]} != @(*--checksums*|*--deep*|*"scr_container "*@(verify|repack|unpack)*) || \
		" $* " == @(*" --checksums "*|*" --deep "*) ]] || return
	((${rank[rc]-9} <= ${rank[status]-9})) || wrong="ends worse than it began"
}

copy=$1 base=$2 status=$3 here=$PWD wrong=
shift 3
cd / && apart "$@" && cd "$here" || exit 125
chain "$@"
[[ -z $wrong ]] || echo "$wrong" && [[ -z $wrong ]]
