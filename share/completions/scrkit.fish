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

complete -c scr_index -s l -l list -d 'list the checkpoints in the index (default)'
complete -c scr_index -s b -l build -x -d 'rebuild what dataset ID lacks, and index it'
complete -c scr_index -s a -l add -x -d 'index a dataset that has a summary'
complete -c scr_index -s d -l drop -x -a '(__scrkit_datasets)' -d 'forget a dataset; its files stay'
complete -c scr_index -l drop-after -x -a '(__scrkit_datasets)' -d 'forget all datasets newer than NAME'
complete -c scr_index -l drop-all -d 'forget all datasets'
complete -c scr_index -s c -l current -x -a '(__scrkit_datasets)' -d 'restart from this checkpoint'
complete -c scr_index -l uncurrent -d 'mark no checkpoint to restart from'
complete -c scr_index -l delete -x -a '(__scrkit_datasets)' -d 'delete a dataset and its files'
complete -c scr_index -l prune -d 'delete checkpoints older than the --keep newest valid ones'
complete -c scr_index -l verify -d 'check the files of all datasets, or of NAME'
complete -c scr_index -s p -l prefix -x -a '(__fish_complete_directories)' -d 'prefix directory (default $SCR_PREFIX, then .)'
complete -c scr_index -l moved-from -x -d 'where the prefix was when the job wrote it'
complete -c scr_index -l all -d 'outputs, too; files, size and the reason for NO'
complete -c scr_index -s n -l names-only -d 'names only'
complete -c scr_index -l valid -d 'only valid ones'
complete -c scr_index -l checkpoints -d 'only checkpoints'
complete -c scr_index -l outputs -d 'only outputs; with --prune: these, too'
complete -c scr_index -l before -x -d 'only if flushed before YYYY-MM-DD[THH:MM:SS]'
complete -c scr_index -l after -x -d 'only if flushed then or later'
complete -c scr_index -l json -d 'print JSON'
complete -c scr_index -l dry-run -d 'build, delete, prune: change nothing'
complete -c scr_index -l keep -x -d 'prune: how many to keep'
complete -c scr_index -l deep -d 'build, verify: check the redundancy as well'
complete -c scr_index -l checksums -d 'build, add, verify: read all files and compare checksums; --build records them'
complete -c scr_index -s j -l jobs -x -d 'threads (default: one a processor)'
complete -c scr_index -l memory -x -d 'memory for a rebuild'
complete -c scr_index -s q -l quiet -d 'no warnings and no progress, only errors'
complete -c scr_index -s v -l verbose -d 'tell more; twice: still more'
complete -c scr_index -s h -l help -d 'show this help and exit'
complete -c scr_index -s V -l version -d 'show the version and exit'
complete -c scr_inspect -s p -l prefix -x -a '(__fish_complete_directories)' -d 'prefix directory (default $SCR_PREFIX, then .)'
complete -c scr_inspect -s d -l dataset -x -a '(__scrkit_datasets)' -d 'this dataset, by name or number, in detail'
complete -c scr_inspect -l map -d 'in detail: draw the ranks by redundancy sets'
complete -c scr_inspect -l files -d 'in detail: list every file'
complete -c scr_inspect -l checksums -d 'read the files whose checksum is recorded'
complete -c scr_inspect -l deep -d 'compare redundancy with data: reads everything'
complete -c scr_inspect -l moved-from -x -d 'where the prefix was when the job wrote it'
complete -c scr_inspect -s m -l mode -x -a 'tree keyval' -d 'exactly as LLNL\'s kvtree_print (tree) or, with --sort, scr_print (keyval)'
complete -c scr_inspect -l sort -d 'keys in order of their bytes'
complete -c scr_inspect -l json -d 'print JSON'
complete -c scr_inspect -s j -l jobs -x -d 'threads (default: one a processor)'
complete -c scr_inspect -l memory -x -d 'memory for --deep'
complete -c scr_inspect -s q -l quiet -d 'no warnings and no progress, only errors'
complete -c scr_inspect -s v -l verbose -d 'tell more; twice: still more'
complete -c scr_inspect -s h -l help -d 'show this help and exit'
complete -c scr_inspect -s V -l version -d 'show the version and exit'
complete -c scr_rebuild -s n -l dry-run -d 'only say what would be computed from what'
complete -c scr_rebuild -l partial -d 'rebuild what can be, although other sets are lost'
complete -c scr_rebuild -l checksums -d 'first read files whose checksum is recorded: wrong ones are rebuilt'
complete -c scr_rebuild -l deep -d 'first compare redundancy with data: what is known to be wrong is rebuilt'
complete -c scr_rebuild -l verify -d 'read all of it again afterwards, and compare'
complete -c scr_rebuild -s p -l prefix -x -a '(__fish_complete_directories)' -d 'prefix directory (default $SCR_PREFIX, then .)'
complete -c scr_rebuild -l moved-from -x -d 'where the prefix was when the job wrote it'
complete -c scr_rebuild -l xor -d 'of type XOR'
complete -c scr_rebuild -l rs -d 'of type Reed-Solomon'
complete -c scr_rebuild -l partner -d 'of type PARTNER'
complete -c scr_rebuild -l json -d 'print JSON'
complete -c scr_rebuild -s j -l jobs -x -d 'threads (default: one a processor)'
complete -c scr_rebuild -l memory -x -d 'memory for buffers (default: 4 MiB a thread)'
complete -c scr_rebuild -s q -l quiet -d 'no warnings and no progress, only errors'
complete -c scr_rebuild -s v -l verbose -d 'tell more; twice: still more'
complete -c scr_rebuild -s h -l help -d 'show this help and exit'
complete -c scr_rebuild -s V -l version -d 'show the version and exit'
