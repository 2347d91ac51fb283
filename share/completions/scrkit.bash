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

_scrkit_options()
{
	case $1 in
	scr_archive)
		options='--output --compress --with-redundancy --force --prefix --json --jobs --quiet --verbose --help --version'
		verbs='export import'
		case $2 in
		-o | --output) kind='file' ;;
		--compress) kind='words' words='none gzip xz zstd' ;;
		-p | --prefix) kind='dir' ;;
		-j | --jobs) kind='any' ;;
		esac
		;;
	scr_check_node)
		options='--cntl --cache --free --read --quiet --verbose --help --version'
		case $2 in
		--cntl) kind='dir' ;;
		--cache) kind='dir' ;;
		esac
		;;
	scr_ckpt_interval)
		options='--stats --model --percent --json --prefix --logfile --quiet --verbose --help --version'
		case $2 in
		--model) kind='words' words='daly young' ;;
		-p | --prefix) kind='dir' ;;
		--logfile) kind='file' ;;
		esac
		;;
	scr_container)
		options='--size --order --with-redundancy --keep --layout --force --dry-run --fast --directory --output --compress --prefix --json --jobs --memory --quiet --verbose --help --version'
		verbs='pack unpack repack list verify cat extract export import'
		case $2 in
		--size) kind='any' ;;
		--order) kind='words' words='node rank name' ;;
		--layout) kind='any' ;;
		-C | --directory) kind='dir' ;;
		-o | --output) kind='file' ;;
		--compress) kind='words' words='none gzip xz zstd' ;;
		-p | --prefix) kind='dir' ;;
		-j | --jobs) kind='any' ;;
		--memory) kind='any' ;;
		esac
		;;
	scr_copy)
		options='--cntldir --cachedir --id --ranks --assign --prefix --moved-from --buf --crc --jobs --dry-run --heartbeat --list --quiet --verbose --help --version'
		case $2 in
		-c | --cntldir) kind='dir' ;;
		--cachedir) kind='dir' ;;
		-i | --id) kind='any' ;;
		--ranks) kind='any' ;;
		--assign) kind='file' ;;
		-d | --prefix) kind='dir' ;;
		--moved-from) kind='dir' ;;
		-b | --buf) kind='any' ;;
		-j | --jobs) kind='any' ;;
		--heartbeat) kind='any' ;;
		esac
		;;
	scr_crc32)
		options='--quiet --verbose --help --version'
		case $2 in
		esac
		;;
	scr_env)
		options='--user --jobid --endtime --nodes --down --runnodes --prefix --quiet --verbose --help --version'
		verbs='job-id user end-time nodes cntl-dir cache-dir conf hostlist down-nodes check-node should-exit retries-halt flush-file nodes-file log-event log-transfer interval crc32' own=1
		case $2 in
		-p | --prefix) kind='dir' ;;
		esac
		;;
	'scr_env job-id')
		options='--prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	'scr_env user')
		options='--prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	'scr_env end-time')
		options='--prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	'scr_env nodes')
		options='--expand --count --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	'scr_env cntl-dir')
		options='--base --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	'scr_env cache-dir')
		options='--base --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	'scr_env conf')
		options='--value --json --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	'scr_env hostlist')
		options='--minus --intersect --expand --delimiter --count --nth --size --repeats --quiet --verbose --help --version'
		case $2 in
		-d | --delimiter) kind='any' ;;
		-n | --nth) kind='any' ;;
		-s | --size) kind='any' ;;
		esac
		;;
	'scr_env down-nodes')
		options='--reason --free --down --read --log --secs --json --joblauncher --remote --fanout --timeout --helper --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-d | --down) kind='any' ;;
		-s | --secs) kind='any' ;;
		-j | --joblauncher) kind='any' ;;
		--remote) kind='words' words='auto pdsh ssh srun flux mpiexec local' ;;
		--fanout) kind='any' ;;
		--timeout) kind='any' ;;
		--helper) kind='file' ;;
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	'scr_env check-node')
		options='--cntl --cache --free --read --quiet --verbose --help --version'
		case $2 in
		--cntl) kind='dir' ;;
		--cache) kind='dir' ;;
		esac
		;;
	'scr_env should-exit')
		options='--down --min-nodes --runs --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		--down) kind='any' ;;
		--min-nodes) kind='any' ;;
		--runs) kind='any' ;;
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	'scr_env retries-halt')
		options='--dir --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-d | --dir) kind='dir' ;;
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	'scr_env flush-file')
		options='--list-output --list-ckpt --before --need-flush --latest --location --name --json --prefix --dir --quiet --verbose --help --version'
		case $2 in
		-b | --before) kind='any' ;;
		-n | --need-flush) kind='any' ;;
		-L | --location) kind='any' ;;
		-s | --name) kind='any' ;;
		-p | --prefix) kind='dir' ;;
		-d | --dir) kind='dir' ;;
		esac
		;;
	'scr_env nodes-file')
		options='--prefix --dir --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		-d | --dir) kind='dir' ;;
		esac
		;;
	'scr_env log-event')
		options='--type --note --dset --name --start --secs --prefix --jobid --quiet --verbose --help --version'
		case $2 in
		-T | --type) kind='any' ;;
		-N | --note) kind='any' ;;
		-D | --dset) kind='any' ;;
		-n | --name) kind='any' ;;
		-S | --start) kind='any' ;;
		-L | --secs) kind='any' ;;
		-p | --prefix) kind='dir' ;;
		-i | --jobid) kind='any' ;;
		esac
		;;
	'scr_env log-transfer')
		options='--type --note --dset --name --start --secs --prefix --jobid --from --to --bytes --files --quiet --verbose --help --version'
		case $2 in
		-T | --type) kind='any' ;;
		-N | --note) kind='any' ;;
		-D | --dset) kind='any' ;;
		-n | --name) kind='any' ;;
		-S | --start) kind='any' ;;
		-L | --secs) kind='any' ;;
		-p | --prefix) kind='dir' ;;
		-i | --jobid) kind='any' ;;
		-X | --from) kind='any' ;;
		-Y | --to) kind='any' ;;
		-B | --bytes) kind='any' ;;
		-F | --files) kind='any' ;;
		esac
		;;
	'scr_env interval')
		options='--stats --model --percent --json --prefix --logfile --quiet --verbose --help --version'
		case $2 in
		--model) kind='words' words='daly young' ;;
		-p | --prefix) kind='dir' ;;
		--logfile) kind='file' ;;
		esac
		;;
	'scr_env crc32')
		options='--quiet --verbose --help --version'
		case $2 in
		esac
		;;
	scr_flush_file)
		options='--list-output --list-ckpt --before --need-flush --latest --location --name --json --prefix --dir --quiet --verbose --help --version'
		case $2 in
		-b | --before) kind='any' ;;
		-n | --need-flush) kind='any' ;;
		-L | --location) kind='any' ;;
		-s | --name) kind='any' ;;
		-p | --prefix) kind='dir' ;;
		-d | --dir) kind='dir' ;;
		esac
		;;
	scr_halt)
		options='--checkpoints --before --after --seconds --reason --immediate --list --unset-checkpoints --unset-before --unset-after --unset-seconds --unset-reason --remove --job-id --resource-manager --pid --grace --force --dry-run --json --quiet --verbose --help --version'
		case $2 in
		-c | --checkpoints) kind='any' ;;
		-b | --before) kind='any' ;;
		-a | --after) kind='any' ;;
		-s | --seconds) kind='any' ;;
		-R | --reason) kind='any' ;;
		--job-id) kind='any' ;;
		--resource-manager) kind='words' words='slurm flux lsf pbs none' ;;
		--pid) kind='any' ;;
		--grace) kind='any' ;;
		esac
		;;
	scr_hostlist)
		options='--minus --intersect --expand --delimiter --count --nth --size --repeats --quiet --verbose --help --version'
		case $2 in
		-d | --delimiter) kind='any' ;;
		-n | --nth) kind='any' ;;
		-s | --size) kind='any' ;;
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
	scr_list_dir)
		options='--base --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	scr_list_down_nodes)
		options='--reason --free --down --read --log --secs --json --joblauncher --remote --fanout --timeout --helper --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-d | --down) kind='any' ;;
		-s | --secs) kind='any' ;;
		-j | --joblauncher) kind='any' ;;
		--remote) kind='words' words='auto pdsh ssh srun flux mpiexec local' ;;
		--fanout) kind='any' ;;
		--timeout) kind='any' ;;
		--helper) kind='file' ;;
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	scr_log_event)
		options='--type --note --dset --name --start --secs --prefix --jobid --quiet --verbose --help --version'
		case $2 in
		-T | --type) kind='any' ;;
		-N | --note) kind='any' ;;
		-D | --dset) kind='any' ;;
		-n | --name) kind='any' ;;
		-S | --start) kind='any' ;;
		-L | --secs) kind='any' ;;
		-p | --prefix) kind='dir' ;;
		-i | --jobid) kind='any' ;;
		esac
		;;
	scr_log_transfer)
		options='--type --note --dset --name --start --secs --prefix --jobid --from --to --bytes --files --quiet --verbose --help --version'
		case $2 in
		-T | --type) kind='any' ;;
		-N | --note) kind='any' ;;
		-D | --dset) kind='any' ;;
		-n | --name) kind='any' ;;
		-S | --start) kind='any' ;;
		-L | --secs) kind='any' ;;
		-p | --prefix) kind='dir' ;;
		-i | --jobid) kind='any' ;;
		-X | --from) kind='any' ;;
		-Y | --to) kind='any' ;;
		-B | --bytes) kind='any' ;;
		-F | --files) kind='any' ;;
		esac
		;;
	scr_nodes_file)
		options='--prefix --dir --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		-d | --dir) kind='dir' ;;
		esac
		;;
	scr_postrun)
		options='--plan --id --containers --no-containers --keep --prefix --job-id --user --nodes --down --cntldir --cachedir --resource-manager --conf --moved-from --remote --fanout --connect-timeout --node-timeout --limit --jobs --copy-program --json --quiet --verbose --help --version'
		case $2 in
		-i | --id) kind='any' ;;
		--keep) kind='any' ;;
		-p | --prefix) kind='dir' ;;
		-J | --job-id) kind='any' ;;
		-u | --user) kind='any' ;;
		-w | --nodes) kind='any' ;;
		-d | --down) kind='any' ;;
		-c | --cntldir) kind='dir' ;;
		--cachedir) kind='dir' ;;
		--resource-manager) kind='any' ;;
		--conf) kind='file' ;;
		--moved-from) kind='any' ;;
		-r | --remote) kind='any' ;;
		-f | --fanout) kind='any' ;;
		-t | --connect-timeout) kind='any' ;;
		--node-timeout) kind='any' ;;
		--limit) kind='any' ;;
		--jobs) kind='any' ;;
		--copy-program) kind='file' ;;
		esac
		;;
	scr_prerun)
		options='--prefix --force --job-id --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	scr_rebuild)
		options='--dry-run --partial --checksums --deep --verify --protect --set-size --failures --prefix --moved-from --partner --xor --rs --json --jobs --memory --quiet --verbose --help --version'
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
	scr_retries_halt)
		options='--dir --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		-d | --dir) kind='dir' ;;
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	scr_should_exit)
		options='--down --min-nodes --runs --prefix --job-id --user --nodes --resource-manager --conf --quiet --verbose --help --version'
		case $2 in
		--down) kind='any' ;;
		--min-nodes) kind='any' ;;
		--runs) kind='any' ;;
		-p | --prefix) kind='dir' ;;
		--job-id) kind='any' ;;
		--user) kind='any' ;;
		--nodes) kind='any' ;;
		--resource-manager) kind='words' words='auto slurm flux lsf pbs none' ;;
		--conf) kind='file' ;;
		esac
		;;
	esac
}

complete -o default -F _scrkit scr_archive scr_check_node scr_ckpt_interval scr_container scr_copy scr_crc32 scr_env scr_flush_file scr_halt scr_hostlist scr_index scr_inspect scr_list_dir scr_list_down_nodes scr_log_event scr_log_transfer scr_nodes_file scr_postrun scr_prerun scr_rebuild scr_retries_halt scr_should_exit
