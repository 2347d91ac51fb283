#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# The generated completions, and the check that man pages name all options.

load helper

SCRIPTS=$TESTSUITE/../scripts

# A command that has nothing but options, for what the real ones may lack.
setup()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir fake man
	export HOME=$PWD # fish writes there
	# shellcheck disable=SC2016 # characters that shells care for
	dump 'b\tbuild\tID\tany\tshown\tbuild: it'\''s [one] \\ $HOME `x`' \
		'-\tadd\tNAME\tdataset\tshown\tadd one' \
		'r\tremove\tNAME\tdataset\thidden\t' \
		'p\tprefix\tDIR\tdir\tshown\tthe prefix' \
		'-\tformat\ttree|json|text\twords\tshown\tthe form' \
		'x\txor\tFILE\tfile\tshown\ta file' \
		'j\t-\tN\tany\tshown\tthreads' \
		'q\tquiet\t-\tany\tshown\tless'
	cat >man/scr_index.1 <<-'END'
		.It Fl b Ar ID , Fl -build Ns = Ns Ar ID
		.It Fl -add Ns = Ns Ar NAME
		.It Xo
		.Fl p Ar DIR ,
		.Fl Fl prefix Ns = Ns Ar DIR
		.Xc
		Not as
		.Fl -nothing .
		.It Fl \-format=tree
		.It Fl x Ar FILE , -xor Ar FILE
		.It Fl x , -xor
		.It Fl j Ar N
		.It Fl q , -quiet
	END
}

# Make fake/scr_index, which prints each argument as a line of its dump, and
# three names of datasets; and fake/scr_verbs, with a few verbs.
dump()
{
	printf '%b\n' "$@" >fake/dump
	cat >fake/scr_index <<-'END'
		#!/bin/sh
		case $* in
		--dump-options) cat "${0%/*}/dump" ;;
		'--names-only --all --prefix=/there') echo ckpt.there ;;
		'--names-only --all') printf '%s\n' ckpt.5 'ckpt.$(touch pwned)' 'a b' ;;
		esac
	END
	cat >fake/scr_verbs <<-'END'
		#!/bin/sh
		case $* in
		--dump-options)
			printf '%b\n' '-\tprefix\tDIR\tdir\tshown\tthe prefix' \
				'-\tjson\t-\tany\tshown\tprint JSON'
			;;
		--help)
			printf '%s\n' 'Usage: scr_verbs pack|unpack [OPTION]...' \
				'       scr_verbs cat DATASET FILE...' '' \
				'       scr_verbs no verb'
			;;
		esac
	END
	cat >fake/scr_own <<-'END'
		#!/bin/sh
		case $* in
		--dump-options) printf '%b\n' 'u\tuser\t-\tany\tshown\tthe user' ;;
		'job-id --dump-options')
			printf '%b\n' 'p\tprefix\tDIR\tdir\tshown\tthe prefix'
			;;
		'nodes --dump-options')
			printf '%b\n' 'c\tcount\t-\tany\tshown\thow many' \
				'm\tmodel\ta|b\twords\tshown\thow'
			;;
		--help)
			printf '%s\n' 'Usage: scr_own VERB [OPTION]...' '' \
				'Verbs, each with options:' '  job-id  the job' \
				'  nodes   the nodes' '' '  no  verb'
			;;
		*) exit 1 ;;
		esac
	END
	chmod +x fake/scr_index fake/scr_verbs fake/scr_own
	PATH=$PWD/fake:$PATH
}

# The real commands, or skip.
real_commands()
{
	local file

	commands=()
	for file in "$BIN"/scr_*; do
		[[ ! -x $file ]] || commands+=("$file")
	done
	((${#commands[@]} > 0)) || skip "no commands in $BIN"
}

# What bash would offer behind the words given, the last of which is being
# typed; separated by newlines.
complete_bash()
{
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_scrkit "$1"
	printf '%s\n' "${COMPREPLY[@]}"
}

@test "completions: usage errors" {
	try "$SCRIPTS/completions.sh"
	assert_status 2
	try "$SCRIPTS/completions.sh" tcsh fake/scr_index
	assert_status 2
	try "$SCRIPTS/completions.sh" bash
	assert_status 2
	assert_line_count 0
}

@test "completions: a command that fails leaves no half file" {
	printf '#!/bin/sh\nexit 1\n' >fake/scr_bad
	chmod +x fake/scr_bad
	try "$SCRIPTS/completions.sh" bash fake/scr_index fake/scr_bad
	assert_status 1
	assert_line_count 0
	assert_stderr_has "scr_bad"
}

@test "completions: bash completes names of options" {
	"$SCRIPTS/completions.sh" bash fake/scr_index >out
	# shellcheck disable=SC1091 # made just now
	source ./out
	run complete_bash scr_index --bu
	assert_output_is --build
	run complete_bash scr_index -
	assert_output_is "$(printf '%s\n' --build --add --prefix --format \
		--xor -j --quiet)"
	run complete_bash /usr/bin/scr_index x --q
	assert_output_is --quiet
	run complete_bash scr_index -- --q
	assert_output_is ""
	run complete_bash scr_other --q
	assert_output_is ""
	complete -p scr_index
}

@test "completions: bash completes values" {
	"$SCRIPTS/completions.sh" bash fake/scr_index >out
	# shellcheck disable=SC1091 # made just now
	source ./out
	run complete_bash scr_index --format ""
	assert_output_is "$(printf '%s\n' tree json text)"
	run complete_bash scr_index --format = t
	assert_output_is "$(printf '%s\n' tree text)"
	run complete_bash scr_index --add ckpt
	assert_output_is "$(printf '%s\n' ckpt.5 'ckpt.\$\(touch\ pwned\)')"
	run complete_bash scr_index --add =
	assert_output_has 'a\ b'
	run complete_bash scr_index --prefix = /there --add ""
	assert_output_is ckpt.there
	run complete_bash scr_index -p /there --add ckpt
	assert_output_is ckpt.there
	[[ ! -e pwned ]]
	# a number: nothing, and least of all options
	run complete_bash scr_index -j --
	assert_output_is ""
}

@test "completions: bash completes verbs, and datasets behind them" {
	"$SCRIPTS/completions.sh" bash fake/scr_index fake/scr_verbs >out
	# shellcheck disable=SC1091 # made just now
	source ./out
	run complete_bash scr_verbs ""
	assert_output_is "$(printf '%s\n' pack unpack cat)"
	run complete_bash scr_verbs --json --prefix = pack un
	assert_output_is unpack
	run complete_bash scr_verbs -
	assert_output_is "$(printf '%s\n' --prefix --json)"
	run complete_bash scr_verbs pack --j
	assert_output_is --json
	run complete_bash scr_verbs pack a
	assert_output_is 'a\ b'
	run complete_bash scr_verbs --prefix /there pack one ""
	assert_output_is ckpt.there
	# a value, and no verb
	run complete_bash scr_verbs --prefix pa
	assert_output_is ""
	run complete_bash scr_verbs -- -
	assert_output_is ""
	run complete_bash scr_verbs -- pack ckpt.5
	assert_output_is ckpt.5
	run complete_bash scr_index pa
	assert_output_is ""
}

@test "completions: bash completes verbs, and their own options" {
	"$SCRIPTS/completions.sh" bash fake/scr_index fake/scr_own >out
	# shellcheck disable=SC1091 # made just now
	source ./out
	run complete_bash scr_own ""
	assert_output_is "$(printf '%s\n' job-id nodes)"
	run complete_bash scr_own -
	assert_output_is --user
	run complete_bash scr_own nodes -
	assert_output_is "$(printf '%s\n' --count --model)"
	run complete_bash scr_own nodes --model ""
	assert_output_is "$(printf '%s\n' a b)"
	run complete_bash scr_own job-id --
	assert_output_is --prefix
	# files, by readline, and neither a verb nor a dataset
	run complete_bash scr_own nodes j
	assert_output_is ""
}

@test "completions: bash, all commands" {
	real_commands
	"$SCRIPTS/completions.sh" bash "${commands[@]}" >out
	bash -n out
	# shellcheck disable=SC1091 # made just now
	source ./out
	for command in "${commands[@]}"; do
		complete -p "${command##*/}"
		run complete_bash "${command##*/}" --versi
		assert_output_is --version
	done
	[[ ! -x $BIN/scr_index ]] || {
		run complete_bash scr_index --bu
		assert_output_is --build
	}
}

@test "completions: zsh" {
	type zsh >/dev/null || skip "zsh is not installed"
	"$SCRIPTS/completions.sh" zsh fake/scr_index fake/scr_verbs \
		fake/scr_own >out
	[[ $(head -n 1 out) == "#compdef scr_index scr_verbs scr_own" ]]
	grep -Fq "1:verb:(pack unpack cat)" out
	grep -Fq "1:verb:(job-id nodes)" out
	grep -Fq "'scr_own nodes')" out
	zsh -n out
}

@test "completions: zsh, all commands" {
	real_commands
	type zsh >/dev/null || skip "zsh is not installed"
	"$SCRIPTS/completions.sh" zsh "${commands[@]}" >out
	zsh -n out
}

@test "completions: fish" {
	type fish >/dev/null || skip "fish is not installed"
	"$SCRIPTS/completions.sh" fish fake/scr_index fake/scr_verbs \
		fake/scr_own >out
	fish -n out
	run fish -c 'source out; complete -C "scr_own n"'
	assert_output_is nodes
	run fish -c 'source out; complete -C "scr_own --"'
	assert_output_is "$(printf '%s\t%s' --user "the user")"
	run fish -c 'source out; complete -C "scr_own nodes --c"'
	assert_output_is "$(printf '%s\t%s' --count "how many")"
	run fish -c 'source out; complete -C "scr_own nodes --model "'
	assert_output_is "$(printf '%s\thow\n' a b)"
	run fish -c 'source out; complete -C "scr_verbs --prefix=x u"'
	assert_output_is unpack
	run fish -c 'source out; complete -C "scr_verbs --prefix=/there cat ckpt."'
	assert_output_is ckpt.there
	run fish -c 'source out; complete -C "scr_index --bu"'
	# shellcheck disable=SC2016
	assert_output_is "$(printf '%s\t%s' --build \
		'build: it'\''s [one] \ $HOME `x`')"
	run fish -c 'source out; complete -C "scr_index --prefix=/there --add ckpt.t"'
	assert_output_has ckpt.there
	[[ ! -e pwned ]]
}

@test "completions: fish, all commands" {
	real_commands
	type fish >/dev/null || skip "fish is not installed"
	"$SCRIPTS/completions.sh" fish "${commands[@]}" >out
	fish -n out
}

@test "check-options: a page with all options" {
	try "$SCRIPTS/check-options.sh" man fake/scr_index
	assert_status 0
	assert_output_is ""
	assert_stderr_empty
}

@test "check-options: options that the page lacks, or has too many" {
	sed -i -e '/quiet/d' -e '/Fl j/d' man/scr_index.1
	printf '.It Fl %s\n' '-remove Ar NAME' 'z , -zeal' >>man/scr_index.1
	try "$SCRIPTS/check-options.sh" man fake/scr_index
	assert_status 1
	page=man/scr_index.1
	none="which the command does not have"
	assert_output_is "$(printf 'scr_index: %s\n' \
		"option --quiet is not in $page" "option -j is not in $page" \
		"option -q is not in $page" \
		"$page documents --zeal, $none" "$page documents -z, $none")"
}

@test "check-options: no page, no command" {
	rm man/scr_index.1
	try "$SCRIPTS/check-options.sh" man fake/scr_index
	assert_status 1
	assert_output_is "scr_index: man/scr_index.1 is missing"
	try "$SCRIPTS/check-options.sh" man fake/scr_nothing
	assert_status 1
	try "$SCRIPTS/check-options.sh" man
	assert_status 2
}

@test "check-options: all commands" {
	local file own=()

	real_commands
	# links are in the page of what they lead to
	for file in "${commands[@]}"; do
		[[ -L $file ]] || own+=("$file")
	done
	try "$SCRIPTS/check-options.sh" "$TESTSUITE/../man" "${own[@]}"
	assert_output_is ""
	assert_status 0
}
