# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# bash completion of the scrkit commands.  A command says itself what it takes,
# when TAB is pressed: `CMD [VERB] --dump-options` (lib/opt.h, lib/usage.h).
# Where it says nothing, bash completes names of files.

# Split the line up to the cursor into `words`, without their quotes.  The last
# is being typed: `quote` is open in it, and bash replaces what stands behind
# its first `cut` characters.
_scrkit_split()
{
	local line=${COMP_LINE:0:COMP_POINT} word="" began="" c i
	words=() quote="" cut=0
	for ((i = 0; i < ${#line}; i++)); do
		c=${line:i:1}
		if [[ $c == "$quote" ]]; then
			quote=""
		elif [[ $quote == \' ]]; then
			word+=$c
		elif [[ $quote == \" ]]; then
			if [[ $c${line:i+1:1} == \\[\"\\\$\`] ]]; then
				i=$((i + 1)) c=${line:i:1}
			fi
			word+=$c
		elif [[ $c == [[:blank:]] ]]; then
			[[ -z $began ]] || words+=("$word")
			word="" began="" cut=0
			continue
		elif [[ $c == [\'\"] ]]; then
			quote=$c cut=${#word}
		elif [[ $c == \\ ]]; then
			i=$((i + 1)) word+=${line:i:1}
		else
			word+=$c
			[[ $COMP_WORDBREAKS != *"$c"* ]] || cut=${#word}
		fi
		began=1
	done
	words+=("$word")
}

# Offer those of the words $2... that, with $1 before them, begin as the word
# that is being typed.  They are data, not words for the shell: no compgen -W.
_scrkit_offer()
{
	local before=$1 word
	shift
	for word; do
		word=$before$word
		[[ $word == "${words[-1]}"* ]] || continue
		word=${word:cut}
		case $quote in
		\') word=${word//\'/"'\\''"} ;;
		\")
			word=${word//\\/\\\\} word=${word//\"/\\\"}
			word=${word//\$/\\\$} word=${word//\`/\\\`}
			;;
		*) printf -v word %q "$word" ;;
		esac
		COMPREPLY+=("$word")
	done
}

# Offer the datasets of $prefix, with $1 before them.  scr_index prints those that
# begin as the word that is being typed.  There may be many: no loop if $1 is
# part of what bash keeps.
_scrkit_datasets()
{
	local before=$1 list index=${command%"${command##*/}"}scr_index
	local typed=${words[-1]#"$1"}
	mapfile -t list < <("$index" "--dump-datasets=$typed" \
		${prefix:+"--prefix=$prefix"} 2>/dev/null)
	if [[ -n $quote || $cut -lt ${#before} || ${#list[@]} -eq 0 ]]; then
		_scrkit_offer "$before" "${list[@]}"
		return
	fi
	typed=${typed:0:cut-${#before}}
	mapfile -t COMPREPLY < <(printf '%q\n' "${list[@]#"$typed"}")
}

# Offer the files in the containers of $dataset.
_scrkit_packed()
{
	local list
	mapfile -t list < <("${command%"${command##*/}"}scr_container" list \
		"--dump-paths=${words[-1]}" ${prefix:+"--prefix=$prefix"} \
		-- "$dataset" 2>/dev/null)
	_scrkit_offer "" "${list[@]}"
}

# Ask the command for its options, with values and without, and its verbs.
_scrkit_ask()
{
	local letter name value kind state first=""
	[[ ${#words[@]} -le 2 || ! ${words[1]} =~ ^[a-z][a-z0-9-]*$ ]] ||
		first=${words[1]}
	while IFS=$'\t' read -r letter name value kind state _; do
		if [[ $letter == verb ]]; then
			[[ $name == - ]] || verbs+=("$name")
			[[ -n ${kinds[verb $name]-} ]] ||
				kinds[verb $name]=$kind values[verb $name]=$value
			continue
		fi
		[[ $state != shown ]] || if [[ $name != - ]]; then
			options+=("--$name")
		else
			options+=("-$letter")
		fi
		[[ $value != - ]] || continue
		kinds[-$letter]=$kind values[-$letter]=$value
		kinds[--$name]=$kind values[--$name]=$value
	done < <("$command" ${first:+"$first"} --dump-options 2>/dev/null </dev/null)
}

# Walk over the words before the last: $verb, how many arguments are `given`
# behind it, the first of them as $dataset, the $option whose value comes next,
# the $prefix.
_scrkit_walk()
{
	local word i k
	for word in "${words[@]:1:${#words[@]}-2}"; do
		if [[ -n $option ]]; then
			[[ $option != -p && $option != --prefix ]] || prefix=$word
			option=""
		elif [[ -n $ended || $word != -?* ]]; then
			if [[ -z $verb && -n ${kinds[verb $word]-} ]]; then
				verb=$word
			else
				((given++ > 0)) || dataset=$word
			fi
		elif [[ $word == -- ]]; then
			ended=1
		elif [[ $word == --* ]]; then
			[[ $word != --prefix=* ]] || prefix=${word#*=}
			[[ -z ${kinds[$word]-} ]] || option=$word
		else
			for ((i = 1; i < ${#word}; i++)); do
				k=-${word:i:1}
				[[ -n ${kinds[$k]-} ]] || continue
				[[ $k != -p ]] || prefix=${word:i+1}
				[[ $((i + 1)) -lt ${#word} ]] || option=$k
				break
			done
		fi
	done
	prefix=${prefix/#\~\//$HOME/}
}

_scrkit()
{
	local IFS=$' \t\n' words quote cut command verb="" given=0 option=""
	local prefix="" dataset="" ended="" word before="" options=() verbs=() kind value list
	local -A kinds=() values=()
	COMPREPLY=()
	_scrkit_split
	command=${words[0]/#\~\//$HOME/}
	[[ -x $command ]] || command=${command##*/}
	_scrkit_ask
	_scrkit_walk
	word=${words[-1]}
	if [[ -z $option && -z $ended && $word == --*=* &&
		-n ${kinds[${word%%=*}]-} ]]; then
		option=${word%%=*} before=$option=
	fi
	if [[ -n $option ]]; then
		kind=${kinds[$option]} value=${values[$option]}
	elif [[ -z $ended && $word == -* ]]; then
		_scrkit_offer "" "${options[@]}"
		return
	elif [[ -z $verb && ${#verbs[@]} -gt 0 ]]; then
		_scrkit_offer "" "${verbs[@]}"
		return
	else
		read -ra list <<<"${kinds[verb ${verb:--}]-file}"
		((given < ${#list[@]})) || given=$((${#list[@]} - 1))
		kind=${list[given]}
		read -ra list <<<"${values[verb ${verb:--}]-}"
		value=${list[given]-}
	fi
	case $kind in
	words)
		IFS='|' read -ra list <<<"$value"
		_scrkit_offer "$before" "${list[@]}"
		;;
	dataset) _scrkit_datasets "$before" ;;
	packed)
		compopt +o default 2>/dev/null || :
		_scrkit_packed
		;;
	dir) compopt +o default -o dirnames 2>/dev/null || : ;;
	any) [[ -z $option ]] || compopt +o default 2>/dev/null || : ;;
	esac
}

complete -o default -F _scrkit scr_aprun scr_archive scr_check_node \
	scr_ckpt_interval scr_container scr_copy scr_crc32 scr_env \
	scr_flush_file scr_flux scr_fti scr_halt scr_hostlist scr_index \
	scr_inspect scr_jsrun scr_list_dir scr_list_down_nodes scr_log_event \
	scr_log_transfer scr_lrun scr_mpiexec scr_mpirun scr_nodes_file \
	scr_postrun scr_poststage scr_prerun scr_rebuild scr_retries_halt scr_run \
	scr_should_exit scr_srun scr_store scr_watchdog
