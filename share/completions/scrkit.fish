# SPDX-License-Identifier: BSD-3-Clause
# fish completion of the scrkit commands.  A command says itself what it takes,
# when TAB is pressed: `CMD [VERB] --dump-options` (lib/opt.h, lib/usage.h).
# Where it says nothing, fish completes names of files.

# Candidates for a value or an argument of the kind $argv[1], called $argv[2];
# $argv[3] stands before it in the same word, $argv[4] is the first argument.
# $argv[5..] is scr_index as it is to be asked for names of datasets.
function __scrkit_value -a kind name before dataset
	set -l typed (commandline -ct)
	set -l rest (string sub -s (math 1 + (string length -- "$before")) -- $typed)
	switch $kind
		case words
			printf '%s\n' $before(string split '|' -- $name)
		case dataset
			# In an open quote, fish chooses from all of them.
			set -l begin (string unescape -- "$rest")
			set -l names ($argv[5] "--dump-datasets=$begin" $argv[6..] 2>/dev/null)
			printf '%s\n' $before$names
		case packed
			set -l container (string replace -r 'scr_index$' scr_container -- $argv[5])
			set -l begin (string unescape -- "$rest")
			$container list "--dump-paths=$begin" $argv[6..] -- $dataset 2>/dev/null
		case dir
			printf '%s\n' $before(__fish_complete_directories "$rest")
		case file
			printf '%s\n' $before(__fish_complete_path "$rest")
	end
end

function __scrkit
	set -l words (commandline -opc)
	set -l typed (commandline -ct)
	set -l command (string replace -r '^~/' "$HOME/" -- $words[1])
	test -x "$command"; or set command (string replace -r '.*/' '' -- $command)
	set -l index (string replace -r '[^/]*$' scr_index -- $command)
	set -l first (string match -r '^[a-z][a-z0-9-]*$' -- "$words[2]")
	set -l lines ($command $first --dump-options 2>/dev/null </dev/null)
	if not set -q lines[1]
		__fish_complete_path $typed
		return
	end

	# What a line is about: LETTER NAME VALUE KIND shown|hidden HELP, or "verb"
	# NAME ARGUMENTS KINDS usage HELP.
	set -l options # and their descriptions
	set -l verbs
	set -l keys # options with values, verbs; and of each the
	set -l kinds
	set -l values
	for line in $lines
		set -l f (string split \t -- $line)
		if test "$f[1]" = verb
			test "$f[2]" = -; or set -a verbs $f[2]\t"$f[6]"
			set -a keys "verb $f[2]"
			set -a kinds $f[4]
			set -a values $f[3]
			continue
		end
		for option in (string match -rv -- '^-+$' -$f[1] --$f[2])
			test "$f[5]" != shown; or set -a options $option\t"$f[6]"
			test "$f[3]" != -; or continue
			set -a keys $option
			set -a kinds $f[4]
			set -a values $f[3]
		end
	end

	# The words before: the verb, how many arguments are given behind it, the
	# option whose value comes next.
	set -l verb 'verb -'
	set -l given 1
	set -l dataset ''
	set -l option
	set -l ended
	for word in $words[2..-1]
		if set -q option[1]
			contains -- $option -p --prefix; and set index[2] --prefix=$word
			set -e option[1]
		else if set -q ended[1]; or not string match -qr -- '^-.' $word
			if test "$verb" = 'verb -'; and contains -- "verb $word" $keys
				set verb "verb $word"
			else
				test $given -gt 1; or set dataset (string unescape -- $word)
				set given (math $given + 1)
			end
		else if test $word = --
			set ended 1
		else if string match -q -- '--prefix=*' $word
			set index[2] $word
		else if contains -- $word $keys
			set option $word
		end
	end

	set -l before ''
	set -l name (string match -r -- '^--[^=]+(?==)' $typed)
	if not set -q option[1]; and not set -q ended[1]; and contains -- "$name" $keys
		set option $name
		set before $name=
	end
	if set -q option[1]
		set -l at (contains -i -- $option $keys)
		__scrkit_value $kinds[$at] $values[$at] "$before" "$dataset" $index
	else if not set -q ended[1]; and string match -q -- '-*' $typed
		printf '%s\n' $options
	else if set -q verbs[1]; and test "$verb" = 'verb -'
		printf '%s\n' $verbs
	else
		set -l at (contains -i -- "$verb" $keys)
		set -l kind (string split ' ' -- $kinds[$at])
		set -l value (string split ' ' -- $values[$at])
		test $given -le (count $kind); or set given (count $kind)
		__scrkit_value $kind[$given] $value[$given] '' "$dataset" $index
		contains -- $kind[$given] any dataset; and __fish_complete_path $typed
	end
end

for command in scr_aprun scr_archive scr_check_node scr_ckpt_interval \
		scr_container scr_copy scr_crc32 scr_env scr_flush_file \
		scr_flux scr_fti scr_halt scr_hostlist scr_index scr_inspect \
		scr_jsrun scr_list_dir scr_list_down_nodes scr_log_event \
		scr_log_transfer scr_lrun scr_mpiexec scr_mpirun \
		scr_nodes_file scr_postrun scr_poststage scr_prerun scr_rebuild \
		scr_retries_halt scr_run scr_should_exit scr_srun \
		scr_store scr_watchdog
	complete -c $command -f -a '(__scrkit)'
end
