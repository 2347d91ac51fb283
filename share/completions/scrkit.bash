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
	local place=0 ended=""
	COMPREPLY=()
	_scrkit_options "${1##*/}" ""
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
			_scrkit_options "${1##*/}" "$word"
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

_scrkit_options()
{
	case $1 in
	scr_archive)
		options='--output --format --compress --with-redundancy --force --prefix --json --jobs --quiet --verbose --help --version'
		verbs='export import'
		case $2 in
		-o | --output) kind='file' ;;
		--format) kind='words' words='pax zip 7zip cpio' ;;
		--compress) kind='words' words='none gzip xz zstd' ;;
		-p | --prefix) kind='dir' ;;
		-j | --jobs) kind='any' ;;
		esac
		;;
	scr_container)
		options='--size --order --with-redundancy --keep --layout --force --dry-run --fast --directory --output --format --compress --prefix --json --jobs --memory --quiet --verbose --help --version'
		verbs='pack unpack repack list verify cat extract export import'
		case $2 in
		--size) kind='any' ;;
		--order) kind='words' words='node rank name' ;;
		--layout) kind='any' ;;
		-C | --directory) kind='dir' ;;
		-o | --output) kind='file' ;;
		--format) kind='words' words='pax zip 7zip cpio' ;;
		--compress) kind='words' words='none gzip xz zstd' ;;
		-p | --prefix) kind='dir' ;;
		-j | --jobs) kind='any' ;;
		--memory) kind='any' ;;
		esac
		;;
	scr_index)
		options='--list --build --add --drop --drop-after --drop-all --current --uncurrent --delete --prune --verify --prefix --moved-from --all --names-only --valid --checkpoints --outputs --before --after --json --dry-run --keep --deep --checksums --jobs --memory --quiet --verbose --help --version'
		case $2 in
		-b | --build) kind='any' ;;
		-a | --add) kind='any' ;;
		-d | --drop) kind='dataset' ;;
		--drop-after) kind='dataset' ;;
		-c | --current) kind='dataset' ;;
		--delete) kind='dataset' ;;
		-p | --prefix) kind='dir' ;;
		--moved-from) kind='any' ;;
		--before) kind='any' ;;
		--after) kind='any' ;;
		--keep) kind='any' ;;
		-j | --jobs) kind='any' ;;
		--memory) kind='any' ;;
		esac
		;;
	scr_inspect)
		options='--prefix --dataset --map --files --svg --checksums --deep --moved-from --mode --sort --json --jobs --memory --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		-d | --dataset) kind='dataset' ;;
		--svg) kind='file' ;;
		--moved-from) kind='any' ;;
		-m | --mode) kind='words' words='tree keyval' ;;
		-j | --jobs) kind='any' ;;
		--memory) kind='any' ;;
		esac
		;;
	scr_rebuild)
		options='--dry-run --partial --checksums --deep --verify --protect --set-size --failures --prefix --moved-from --xor --rs --partner --json --jobs --memory --quiet --verbose --help --version'
		case $2 in
		--protect) kind='words' words='xor rs' ;;
		--set-size) kind='any' ;;
		--failures) kind='any' ;;
		-p | --prefix) kind='dir' ;;
		--moved-from) kind='any' ;;
		-j | --jobs) kind='any' ;;
		--memory) kind='any' ;;
		esac
		;;
	esac
}

complete -o default -F _scrkit scr_archive scr_container scr_index scr_inspect scr_rebuild
