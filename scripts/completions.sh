#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# completions.sh bash|zsh|fish BINARY... - print one file of completions for
# all the commands, made of what each `BINARY --dump-options` says (opt.h).
# Hidden options are left out.  Verbs, behind which a command wants datasets,
# are found in the usage lines of --help: "Usage: NAME pack|unpack [OPTION]...".
# Verbs that have options of their own are listed there behind the line "Verbs",
# each with two blanks before it; their options are asked for one by one.

set -eu

usage="usage: ${0##*/} bash|zsh|fish BINARY..."

# Print the verbs of command $1, named $2, if it has any: name, "verbs", and
# the verbs with blanks between them.
dump_verbs()
{
	"$1" --help | awk -v name="$2" '
	/^$/ { exit }
	{ sub(/^Usage:/, "") }
	$1 == name && $2 ~ /^[a-z]+(\|[a-z]+)*$/ {
		gsub(/\|/, " ", $2)
		verbs = verbs (verbs != "" ? " " : "") $2
	}
	END {
		if (verbs != "")
			print name "\tverbs\t" verbs
	}'
}

# Print the verbs of command $1 that have options of their own.
own_verbs()
{
	"$1" --help | sed -n '/^Verbs/,/^$/s/^  \([a-z][a-z0-9-]*\)  .*/\1/p'
}

# Print the options of command $1, under the name $2; behind it a verb, if any.
dump_options()
{
	binary=$1 name=$2
	shift 2
	text=$("$binary" "$@" --dump-options) || {
		echo "${0##*/}: $binary $* --dump-options failed" >&2
		return 1
	}
	printf '%s\n' "$text" | awk -v name="$name${1:+ $1}" '{
		print name "\t" $0
	}'
}

# Print the verbs and the options of all commands.  Options: the command's
# name, a tab, the line as it was dumped; those of a verb with "NAME VERB" for
# the name.  Behind the verbs that have options of their own stands "own".
dump_all()
{
	for command in "$@"; do
		dump_verbs "$command" "${command##*/}"
		verbs=$(own_verbs "$command" | paste -sd ' ' -)
		[ -z "$verbs" ] ||
			printf '%s\tverbs\t%s\town\n' "${command##*/}" "$verbs"
		dump_options "$command" "${command##*/}" || return 1
		for verb in $verbs; do
			dump_options "$command" "${command##*/}" "$verb" ||
				return 1
		done
	done
}

# What does not depend on the options: bash.
bash_engine()
{
	cat <<'END'
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# bash completion of the scrkit commands
# Made by scripts/completions.sh; changes belong there.

# Names of datasets that begin with $1, in the prefix that the line gives.
# The names are data, not words for the shell: no compgen -W here.
_scrkit_datasets()
{
	local i word name prefix=""
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case $word in
		-p | --prefix)
			prefix=${COMP_WORDS[i + 1]}
			if [[ $prefix == "=" ]]; then
				prefix=${COMP_WORDS[i + 2]}
			fi
			;;
		--prefix=*) prefix=${word#*=} ;;
		esac
	done
	prefix=${prefix/#\~\//$HOME/}
	while IFS= read -r name; do
		if [[ $name == "$1"* ]]; then
			COMPREPLY+=("$(printf '%q' "$name")")
		fi
	done < <(scr_index --names-only --all ${prefix:+"--prefix=$prefix"} \
		2>/dev/null)
}

_scrkit()
{
	local IFS=$' \t\n' i cur word kind="" words="" options="" verbs=""
	local place=0 ended="" own="" command=${1##*/}
	COMPREPLY=()
	_scrkit_options "$command" ""
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ -n $ended ]]; then
			place=$((place + 1))
		elif [[ $word == "=" ]]; then
			continue # "--name=value" mostly comes as three words
		elif [[ -n $kind ]]; then
			kind=""
		elif [[ $word == "--" ]]; then
			ended=1
		elif [[ $word == -* ]]; then
			_scrkit_options "$command" "$word"
		elif [[ -n $own && " $verbs " == *" $word "* ]]; then
			command+=" $word" own="" verbs=""
			_scrkit_options "$command" ""
		else
			place=$((place + 1))
		fi
	done
	cur=${COMP_WORDS[COMP_CWORD]}
	if [[ $cur == "=" ]]; then
		cur=""
	elif [[ -z $kind && -n $verbs && ($cur != -* || -n $ended) ]]; then
		kind=dataset
		[[ $place != 0 ]] || kind=words words=$verbs
	fi
	case $kind in
	dataset) _scrkit_datasets "$cur" ;;
	dir) compopt +o default -o dirnames 2>/dev/null || : ;;
	file) ;; # as readline does by default
	any) compopt +o default 2>/dev/null || : ;;
	words)
		for word in $words; do
			[[ $word == "$cur"* ]] && COMPREPLY+=("$word")
		done
		;;
	*)
		[[ $cur == -* && -z $ended ]] || return 0
		for word in $options; do
			[[ $word == "$cur"* ]] && COMPREPLY+=("$word")
		done
		;;
	esac
	return 0
}

END
}

# $options, $verbs: what can be offered; $own: the verbs have options of their
# own, and nothing is known of what follows them; $kind: what follows the
# option $2.
bash_options()
{
	awk -F '\t' '
	function end_command() {
		if (command == "")
			return
		print "\t\toptions=" q options q
		if (verbs != "")
			print "\t\tverbs=" q verbs q own
		print "\t\tcase $2 in"
		printf "%s", values
		print "\t\tesac"
		print "\t\t;;"
	}
	BEGIN {
		q = "\047"
		print "_scrkit_options()"
		print "{"
		print "\tcase $1 in"
	}
	$1 != command {
		end_command()
		command = $1
		if (command !~ / /)
			commands = commands " " command
		options = values = verbs = own = ""
		print "\t" (command ~ / / ? q command q : command) ")"
	}
	$2 == "verbs" {
		verbs = $3
		own = $4 != "" ? " own=1" : ""
	}
	$6 == "shown" {
		long = $3 != "-" ? "--" $3 : ""
		short = $2 != "-" ? "-" $2 : ""
		options = options (options != "" ? " " : "") \
			(long != "" ? long : short)
		if ($4 == "-")
			next
		either = short (short != "" && long != "" ? " | " : "") long
		set = "kind=" q $5 q
		if ($5 == "words") {
			gsub(/\|/, " ", $4)
			set = set " words=" q $4 q
		}
		values = values "\t\t" either ") " set " ;;\n"
	}
	END {
		end_command()
		print "\tesac"
		print "}"
		print ""
		print "complete -o default -F _scrkit" commands
	}'
}

zsh_engine()
{
	cat <<END
#compdef $*
END
	cat <<'END'
# SPDX-License-Identifier: BSD-3-Clause
# zsh completion of the scrkit commands
# Made by scripts/completions.sh; changes belong there.

# Names of datasets in the prefix that the line gives.
_scrkit_datasets()
{
	local prefix=${(Q)${opt_args[--prefix]:-${opt_args[-p]}}}
	local -a names
	prefix=${prefix/#\~\//$HOME/}
	names=(${(f)"$(scr_index --names-only --all ${prefix:+--prefix=$prefix} \
		2>/dev/null)"})
	compadd "$@" -a names
}

END
}

# A command and a verb with options of its own: $command, as if they were one
# word.
zsh_verbs()
{
	awk -F '\t' '
	BEGIN { print "local command=$service" }
	$2 == "verbs" && $4 != "" {
		gsub(/ /, "|", $3)
		print "if [[ $service == " $1 " && $words[2] == (" $3 ") ]] &&"
		print "\t(( CURRENT > 2 )); then"
		print "\tcommand=\"" $1 " $words[2]\""
		print "\tshift words"
		print "\t(( CURRENT-- ))"
		print "fi"
	}'
}

zsh_options()
{
	awk -F '\t' '
	function quoted(s) {
		gsub(q, q "\\" q q, s)
		return q s q
	}
	function escaped(s, characters) {
		gsub(characters, "\\\\&", s)
		return s
	}
	function end_command() {
		if (command == "")
			return
		if (verbs != "")
			print "\t\t" quoted("1:verb:(" verbs ")") " \\"
		if (verbs != "" && !own) {
			print "\t\t" quoted("*:dataset:" \
				"{_scrkit_datasets || _files}")
		} else {
			print "\t\t" quoted("*:file:_files")
		}
		print "\t;;"
	}
	function add(option, value) {
		print "\t\t" quoted("*" option "[" \
			escaped($7, "[][\\\\]") "]" value) " \\"
	}
	BEGIN {
		q = "\047"
		action["any"] = " "
		action["file"] = "_files"
		action["dir"] = "_files -/"
		action["dataset"] = "_scrkit_datasets"
		print "case $command in"
	}
	$1 != command {
		end_command()
		command = $1
		verbs = own = ""
		print (command ~ / / ? quoted(command) : command) ")"
		print "\t_arguments -s -S \\"
	}
	$2 == "verbs" {
		verbs = $3
		own = $4
	}
	$6 == "shown" {
		value = ""
		if ($4 != "-") {
			words = $4
			gsub(/\|/, " ", words)
			value = ":" escaped($4, "[:\\\\]") ":"
			value = value ($5 == "words" ? \
				"(" words ")" : action[$5])
		}
		if ($2 != "-")
			add("-" $2 ($4 != "-" ? "+" : ""), value)
		if ($3 != "-")
			add("--" $3 ($4 != "-" ? "=" : ""), value)
	}
	END {
		end_command()
		print "esac"
	}'
}

fish_engine()
{
	cat <<'END'
# SPDX-License-Identifier: BSD-3-Clause
# fish completion of the scrkit commands
# Made by scripts/completions.sh; changes belong there.

# Names of datasets in the prefix that the line gives.
function __scrkit_datasets
	set -l words (commandline -opc)
	set -l prefix
	for i in (seq (count $words))
		switch $words[$i]
		case -p --prefix
			set prefix $words[(math $i + 1)]
		case '--prefix=*'
			set prefix (string replace -- --prefix= '' $words[$i])
		end
	end
	set -l option
	if set -q prefix[1]
		set prefix (string replace -r '^~/' "$HOME/" -- $prefix)
		set option --prefix=$prefix
	end
	scr_index --names-only --all $option 2>/dev/null
end

# Is the word behind the command one of these?
function __scrkit_verb
	set -l words (commandline -opc)
	test (count $words) -ge 2; and contains -- $words[2] $argv
end

END
}

fish_options()
{
	awk -F '\t' '
	function quoted(s) {
		gsub(/[\\\047]/, "\\\\&", s)
		return q s q
	}
	BEGIN {
		q = "\047"
		value["any"] = " -x"
		value["file"] = " -r -F"
		value["dir"] = " -x -a " quoted("(__fish_complete_directories)")
		value["dataset"] = " -x -a " quoted("(__scrkit_datasets)")
	}
	$1 != command {
		command = $1
		own = ""
		split(command, name, " ")
		if (name[2] != "")
			own = " -n " quoted("__scrkit_verb " name[2])
	}
	$2 == "verbs" && $4 != "" {
		print "complete -c " $1 " -x -n " \
			quoted("not __scrkit_verb " $3) " -a " quoted($3)
		own = " -n " quoted("not __scrkit_verb " $3)
	}
	$2 == "verbs" && $4 == "" {
		seen = "__fish_seen_subcommand_from " $3
		print "complete -c " $1 " -x -n " quoted("not " seen) \
			" -a " quoted($3)
		print "complete -c " $1 " -n " quoted(seen) \
			" -a " quoted("(__scrkit_datasets)")
	}
	$6 == "shown" {
		line = "complete -c " name[1] own
		if ($2 != "-")
			line = line " -s " $2
		if ($3 != "-")
			line = line " -l " $3
		if ($4 != "-" && $5 == "words") {
			gsub(/\|/, " ", $4)
			line = line " -x -a " quoted($4)
		} else if ($4 != "-") {
			line = line value[$5]
		}
		print line " -d " quoted($7)
	}'
}

[ $# -ge 2 ] || {
	echo "$usage" >&2
	exit 2
}
shell=$1
shift
case $shell in
bash | zsh | fish) ;;
*)
	echo "$usage" >&2
	exit 2
	;;
esac

# Not as a pipe: nothing is printed if a command fails.
table=$(dump_all "$@")
case $shell in
zsh)
	names=
	for binary in "$@"; do
		names="$names ${binary##*/}"
	done
	# shellcheck disable=SC2086 # words on purpose
	zsh_engine $names
	printf '%s\n' "$table" | zsh_verbs
	;;
*) "${shell}_engine" ;;
esac
printf '%s\n' "$table" | "${shell}_options"
