#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
#
# Completions in bash, zsh and fish, which ask the commands for their options.

load helper

SHARE=$TESTSUITE/../share/completions

# The mock command has kinds of options that the real ones may lack.
setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir fake man
	export HOME=$PWD # fish writes to it
	# shellcheck disable=SC2016 # characters that shells care for
	dump 'b\tbuild\tID\tany\tshown\tbuild: it'\''s [one] \\ $HOME `x`' \
		'-\tadd\tNAME\tdataset\tshown\tadd one' \
		'r\tremove\tNAME\tdataset\thidden\t' \
		'p\tprefix\tDIR\tdir\tshown\tthe prefix' \
		'-\tformat\ttree|json|text\twords\tshown\tthe form' \
		'x\txor\tFILE\tfile\tshown\ta file' 'j\t-\tN\tany\tshown\tthreads' \
		'q\tquiet\t-\tany\tshown\tless'
}

# Make fake/scr_index, which prints each argument as a line of its dump, and
# three names of datasets; fake/scr_container, with a few verbs; and fake/scr_env,
# whose verbs have options of their own.
dump() {
	printf '%b\n' "$@" >fake/dump
	cat >fake/scr_index <<-'END'
		#!/bin/sh
		begin() {
			typed=${1#--dump-datasets=}
			shift
			for name; do
				case $name in "$typed"*) printf '%s\n' "$name" ;; esac
			done
		}
		case $* in
		*--dump-options) cat "${0%/*}/dump" ;;
		--dump-datasets=*--prefix=/there) begin "$1" ckpt.there ;;
		--dump-datasets=*"--prefix=/a b'c") begin "$1" ckpt.quoted ;;
		--dump-datasets=*) begin "$1" ckpt.5 'ckpt.$(touch pwned)' 'a b' name:7 ;;
		esac
	END
	cat >fake/scr_container <<-'END'
		#!/bin/sh
		case $* in
		*--dump-options)
			printf '%b\n' '-\tprefix\tDIR\tdir\tshown\tthe prefix' \
				'-\tjson\t-\tany\tshown\tprint JSON' \
				'verb\tpack\tDATASET\tdataset\tusage\t' \
				'verb\tunpack\tDATASET\tdataset\tusage\t' \
				'verb\tcat\tDATASET PATH\tdataset packed\tusage\t'
			;;
		'list --dump-paths='*' --prefix=/there -- ckpt.there')
			for path in out/a 'out/b $(touch pwned)' other; do
				case $path in
				"${2#--dump-paths=}"*) printf '%s\n' "$path" ;;
				esac
			done
			;;
		esac
	END
	cat >fake/scr_env <<-'END'
		#!/bin/sh
		case $* in
		--dump-options)
			printf '%b\n' 'u\tuser\t-\tany\tshown\tthe user' \
				'verb\tjob-id\t-\tany\tusage\tthe job' \
				'verb\tnodes\t-\tany\tusage\tthe nodes'
			;;
		'job-id --dump-options')
			printf '%b\n' 'p\tprefix\tDIR\tdir\tshown\tthe prefix' \
				'verb\tjob-id\t-\tany\tusage\t'
			;;
		'nodes --dump-options')
			printf '%b\n' 'c\tcount\t-\tany\tshown\thow many' \
				'm\tmodel\ta|b\twords\tshown\thow' \
				'verb\tnodes\tone|two\twords\tusage\t'
			;;
		*) exit 1 ;;
		esac
	END
	chmod +x fake/scr_*
	PATH=$PWD/fake:$PATH
}

# Set commands to the paths of the real commands, or skip the test.
real_commands() {
	local file

	commands=()
	for file in "$BIN"/scr_*; do
		[[ ! -x $file ]] || commands+=("$file")
	done
	((${#commands[@]} > 0)) || skip "no commands in $BIN"
}

# The candidates of bash at the end of the line $1, one on a line.  In a
# subshell, without the trap of bats, which makes each command slow.
complete_bash() {
	set +T
	trap - DEBUG
	# shellcheck disable=SC1091 # made just now
	source "$SHARE/scrkit.bash"
	COMP_LINE=$1
	COMP_POINT=${#1}
	COMPREPLY=()
	_scrkit
	((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
}

# completes LINE [CANDIDATE...]: bash offers these at the end of the line.
completes() {
	output=$(complete_bash "$1")
	assert_output_is "$(printf '%s\n' "${@:2}")"
}

# Print each line of $tabbed as a real $1 completes it when TAB is pressed.  A
# key binding prints and clears the line.
press_tab() {
	local line i

	command -v "$1" script >/dev/null || skip "no $1, or no script(1)"
	cat >.bashrc <<-END
		source '$SHARE/scrkit.bash'
		bind -x '"\C-xw": printf "%s\n" "\$READLINE_LINE" >>lines; READLINE_LINE='
		touch ready
	END
	cat >.zshrc <<-END
		fpath=('$SHARE' \$fpath)
		autoload -U compinit && compinit -u -D
		w() { print -r -- \$BUFFER >>lines; BUFFER= }
		zle -N w && bindkey '^Xw' w
		touch ready
	END
	rm -f lines ready
	touch lines
	{
		for ((i = 0; i < 100; i++)); do
			[[ ! -e ready ]] || break
			sleep 0.1
		done
		i=0
		while IFS='|' read -r line _; do
			printf '%s\t\030w' "$line"
			i=$((i + 1))
			for ((k = 0; k < 100; k++)); do
				[[ $(wc -l <lines) != "$i" ]] || break
				sleep 0.05
			done
		done <<<"$tabbed"
		printf 'exit\n'
	} | ZDOTDIR=$PWD TERM=dumb timeout 60 script -qec "$2" /dev/null >log 2>&1
	sed -E 's/[ =]$//' lines
}

# Lines, and what TAB adds at their ends.
tabbed="scr_index --bu|ild
scr_index --format=tr|ee
scr_index --prefix=/there --add ck|pt.there
scr_container --json un|pack
scr_container --prefix /there cat ckpt.there ot|her
scr_container pack 'a| b'
scr_env nodes --mo|del
scr_env nodes tw|o
nothing; scr_env jo|b-id
scr_index --prefix ma|n/
scr_nothing fak|e/"

@test "completions: bash completes values" {
	completes "scr_index --format " tree json text
	completes "scr_index --format=t" tree text
	completes "scr_index --add ckpt" ckpt.5 'ckpt.\$\(touch\ pwned\)'
	output=$(complete_bash "scr_index --add=")
	assert_output_has 'a\ b'
	# readline replaces what stands behind the colon
	completes "scr_index --add na" name:7
	completes "scr_index --add name:" 7
	completes "scr_index --add=name:" 7
	completes "scr_index --prefix=/there --add " ckpt.there
	completes "scr_index -p /there --add ckpt" ckpt.there
	completes "scr_index -qp/there --add ckpt" ckpt.there
	[[ ! -e pwned ]]
	# a number: no candidates, and no options
	completes "scr_index -j --"
}

# shellcheck disable=SC2016 # characters that shells care for
@test "completions: bash, names of options, blanks and quotes" {
	completes "scr_index -p '/a b'\\'c --add " ckpt.quoted
	completes 'scr_index --prefix="/a b'"'"'c" --add ckpt' ckpt.quoted
	completes "scr_index --prefix=/a\\ b\\'c --add ckpt" ckpt.quoted
	completes "scr_index --add 'ckpt.\$" 'ckpt.$(touch pwned)'
	completes 'scr_index --add "ckpt.\$' 'ckpt.\$(touch pwned)'
	completes 'scr_index --add a\ ' 'a\ b'
	[[ ! -e pwned ]]
	completes "scr_index --bu" --build
	completes "scr_index -" --build --add --prefix --format --xor -j --quiet
	completes "/usr/bin/scr_index x --q" --quiet
	completes "$PWD/fake/scr_index x --q" --quiet
	completes "scr_index -- --q"
}

@test "completions: bash completes verbs, and what is behind them" {
	completes "scr_container " pack unpack cat
	completes "scr_container --json --prefix=pack un" unpack
	completes "scr_container -" --prefix --json
	completes "scr_container pack --j" --json
	completes "scr_container pack a" 'a\ b'
	completes "scr_container --prefix /there pack one " ckpt.there
	completes "scr_container --prefix /there cat ckpt.there out/" \
		out/a 'out/b\ \$\(touch\ pwned\)'
	completes "scr_container cat --prefix=/there ckpt.there out/a ot" other
	completes "scr_container --prefix /there cat one ck"
	[[ ! -e pwned ]]
	# a value, not a verb
	completes "scr_container --prefix pa"
	completes "scr_container -- -"
	completes "scr_container -- pack ckpt.5" ckpt.5
	completes "scr_index pa"
}

@test "completions: bash completes verbs, and their own options; a command that fails" {
	completes "scr_env " job-id nodes
	completes "scr_env -" --user
	completes "scr_env nodes -" --count --model
	completes "scr_env nodes --model " a b
	completes "scr_env job-id --" --prefix
	# readline completes files; no verbs or datasets
	completes "scr_env nodes j"
	completes "scr_env nodes t" two
	completes "scr_other --q"
	completes "scr_env nothing --q"
	completes "/no/such/scr_other x"
}

@test "completions: every command, in every shell" {
	real_commands
	PATH=$BIN:$PATH
	# shellcheck disable=SC1091
	source "$SHARE/scrkit.bash"
	for command in "${commands[@]}"; do
		command=${command##*/}
		complete -p "$command"
		completes "$command --versi" --version
		head -n 1 "$SHARE/_scrkit" | grep -qw -- "$command"
		grep -qw -- "$command" <(sed -n '/^for command/,$p' \
			"$SHARE/scrkit.fish")
	done
}

@test "completions: a real bash" {
	run press_tab bash "bash --noprofile --rcfile .bashrc -i"
	((status == 0)) || skip "$output"
	assert_output_is "${tabbed//|/}"
}

@test "completions: a real zsh" {
	type zsh >/dev/null || skip "zsh is not installed"
	zsh -n "$SHARE/_scrkit"
	run press_tab zsh "zsh -i"
	((status == 0)) || skip "$output"
	assert_output_is "${tabbed//|/}"
}

# shellcheck disable=SC2016 # characters that shells care for
@test "completions: fish" {
	type fish >/dev/null || skip "fish is not installed"
	cp "$SHARE/scrkit.fish" out
	fish -n out
	diff <(fish -c 'source out; for line in $argv; complete -C $line; end' \
		"scr_env n" "scr_env --" "scr_env nodes --c" \
		"scr_env nodes --model " "scr_env nodes --model=" \
		"scr_container --prefix=x u" "scr_container --prefix=/there cat ckpt." \
		"scr_container --prefix=/there cat ckpt.there ot" \
		"scr_index --bu") - <<-'END'
		nodes	the nodes
		--user	the user
		--count	how many
		a
		b
		--model=a
		--model=b
		unpack
		ckpt.there
		other
		--build	build: it's [one] \ $HOME `x`
	END
	output=$(fish -c 'source out; for line in $argv; complete -C $line; end' \
		"scr_index --prefix=/there --add ckpt.t" "scr_other fak")
	assert_output_has ckpt.there fake/
	[[ ! -e pwned ]]
}
