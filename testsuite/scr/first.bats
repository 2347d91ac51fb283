#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The walk of scrkit(7), FIRST STEPS, as a newcomer types it: its commands, read
# from the page, in an empty directory, with an installation and nothing else.

load helper

# The literal blocks of FIRST STEPS: commands behind "$ ", and what they print.
# A line that ends with a backslash goes on in the next.
walk() {
	awk '/^\.Sh/ { here = $0 == ".Sh FIRST STEPS" }
		/^\.Ed/ { show = 0 }
		here && show && sub(/ *\\e$/, "") { line = line $0; next }
		here && show { print line $0; line = "" }
		here && /^\.Bd/ { show = 1 }' "$TESTSUITE/../man/scrkit.7"
}

@test "from an MPI program to its first restart" {
	local opt=$BATS_TEST_TMPDIR/opt root line count=0 expected=0

	[[ $MPI != *address* ]] || skip "built without sanitizers"
	root=$(cd "$TESTSUITE/.." && pwd)
	make -C "$root" -s -o all O="build/plain" PREFIX="$opt" install
	mkdir "$BATS_TEST_TMPDIR/empty"
	# One shell for all: it exports the id of the job.
	{
		echo "set -e"
		while IFS= read -r line; do
			case $line in
			"\$ "*)
				count=$((count + 1))
				line=${line#"\$ "}
				printf 'echo "%% %s"\n%s\n' "$count" \
					"${line//\/usr\/local/$opt}"
				;;
			?*) expected=$((expected + 1)) ;;
			esac
		done < <(walk)
	} >"$BATS_TEST_TMPDIR/walk.sh"
	((count > 10 && expected >= 3)) || failed "the page has lost its walk"
	cd "$BATS_TEST_TMPDIR/empty"
	export USER=first$$
	try env -i HOME="$PWD" USER="$USER" PATH="$opt/bin:$PATH" \
		PKG_CONFIG_PATH="$opt/lib/pkgconfig" \
		timeout 120 bash "$BATS_TEST_TMPDIR/walk.sh" </dev/null 3>&-
	rm -rf "/dev/shm/$USER"
	assert_status 0
	# What the page says that they print.
	while IFS= read -r line; do
		[[ $line == "\$ "* || -z $line ]] ||
			grep -qxF -- "$line" <<<"$output" ||
			failed "not printed: $line"
	done < <(walk)
	[[ $stderr == *"no rank is protected"* ]]
	[[ $output == *"YES"*" count.9"* ]] || failed "the index"
}

# Its application and srun are stand-ins, its five nodes this machine.  The first
# run fails, and node n2 is down from then on.
@test "the batch script of README" {
	local there=$BATS_TEST_TMPDIR/script

	[[ $MPI != *address* ]] || skip "built without sanitizers"
	mkdir -p "$there/bin" "$there/run7" "$there/ssd"
	cat >"$there/bin/srun" <<-'END'
		#!/bin/sh
		echo "$*" >>"$SCR_PREFIX/runs"
		[ "$(wc -l <"$SCR_PREFIX/runs")" = 1 ] || exit 0
		echo SCR_EXCLUDE_NODES=n2 >>"$SCR_PREFIX/.scrconf"
		exit 1
	END
	chmod 755 "$there/bin/srun"
	sed -n '/^    #!\/bin\/bash/,/^$/b x;/^    cd/,/^$/b x;b;:x;s/^    //p' \
		"$TESTSUITE/../README.md" |
		sed "s,=/p/,=$there/,;s,=/ssd,=$there/ssd," >"$there/job"
	ends 0 env PATH="$there/bin:$PATH" SCR_JOB_ID=1 SCR_NODELIST='n[1-5]' \
		SCR_REMOTE=local SCR_CNTL_BASE="$there/cntl" bash "$there/job"
	[[ $(<"$there/run7/runs") == "-K -N 4 ./my_app
--exclude=n2 -K -N 4 ./my_app" ]] || failed "the runs"
	[[ $stderr == *"scr_postrun: nothing to save"* ]] || failed "no scr_postrun"
}
