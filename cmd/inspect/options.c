/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.c - the command line of scr_inspect.
 */
#include "inspect.h"

#include "app.h"

static const struct app_info info = {
	.name = "scr_inspect",
	.summary =
		"report the state of datasets, and print metadata files of SCR",
	.usage = "[OPTION]... [FILE|DIR|DATASET]...",
	.notes = "FILE is any metadata file; DIR a prefix, the directory "
		 "of a dataset in it, or\n"
		 "the cache of one or more nodes; DATASET a name or "
		 "number on the prefix,\n"
		 "name:NAME or id:NUMBER.  Default: the prefix.\n"
		 "Exit status: 0 all are whole; 1 failed or unknown; 2 "
		 "usage; 3 damaged, but no\n"
		 "data are lost; 4 data are lost.",
};

char **
inspect_parse(struct inspect *in, int argc, char **argv)
{
	struct catalogue_options *o = &in->look;
	char words[COLUMNS_WORDS];
	const char *name = app_called(argc, argv), *other = NULL;
	int count = 0;
	const struct opt opts[] = {
		OPT_GROUP("Datasets"),
		APP_OPT_PREFIX(&in->prefix),
		OPT_LIST('d', "dataset", &in->datasets, "NAME", OPT_DATASET,
			 "show this dataset, by name or number, in detail"),
		OPT_COLUMNS('o', "columns", &in->columns, "LIST", words,
			    "columns of the list of datasets, for example "
			    "id,state"),
		OPT_COLUMNS(0, "sort-by", &in->order, "COLUMN", words,
			    "sort that list by a column; -COLUMN: descending"),
		OPT_FLAG(0, "map", &in->choice.map,
			 "also draw the ranks by redundancy sets"),
		OPT_FLAG(0, "files", &in->choice.all_files,
			 "also list every file"),
		OPT_STRING(0, "svg", &in->svg, "FILE", OPT_FILE,
			   "draw the containers, or the ranks if the dataset "
			   "is not packed (-: standard output)"),
		OPT_STRING(0, "html", &in->html, "FILE", OPT_FILE,
			   "a page with its ranks, sets, containers and the "
			   "timeline"),
		OPT_FLAG(0, "checksums", &o->checksums,
			 "read the files and compare recorded checksums"),
		OPT_FLAG(0, "verify", &o->checksums, NULL),
		OPT_FLAG(0, "deep", &o->deep,
			 "read everything and compare redundancy with data"),
		APP_OPT_MOVED_FROM(&o->moved_from),
		OPT_GROUP("Metadata files"),
		OPT_STRING('m', "mode", &in->mode, "tree|keyval", OPT_WORDS,
			   "exactly as LLNL's kvtree_print (tree) or, with "
			   "--sort, scr_print (keyval)"),
		OPT_FLAG(0, "sort", &in->sort, "keys in order of their bytes"),
		OPT_GROUP("Work"),
		APP_OPT_JOBS(&in->jobs),
		APP_OPT_MEMORY(&o->work.memory, 1 << 20, "memory for --deep"),
		OPT_END,
	};

	/* LLNL's programs, which print metadata files. */
	if (str_eq(name, "kvtree_print"))
		in->mode = "tree";
	in->sort = str_eq(name, "scr_print");
	if (in->sort)
		in->mode = "keyval";
	table_words(report_overview, words);
	argv = app_start(&info, argc, argv, opts, &count);
	in->choice.all_containers = in->choice.all_files || app_verbosity() > 0;
	in->nargs = (size_t)count;
	if (in->mode != NULL && !str_eq(in->mode, "tree") &&
	    !str_eq(in->mode, "keyval"))
		app_usage("-m %s: must be tree or keyval", in->mode);
	app_columns(&in->chosen, words, in->columns, "--sort-by", in->order);
	/* Refuse options of the list together with those of a dataset. */
	other = app_json()		 ? "--json"
		: in->datasets.count > 0 ? "--dataset"
		: in->choice.map	 ? "--map"
		: in->choice.all_files	 ? "--files"
		: inspect_draws(in)	 ? "--svg or --html"
					 : NULL;
	if ((in->columns != NULL || in->order != NULL) && other != NULL)
		app_usage("%s and %s cannot be used together",
			  in->columns != NULL ? "--columns" : "--sort-by",
			  other);
	if (app_json() && inspect_on_stdout(in))
		app_usage(
			"--json and a picture on -: both go to standard output");
	return argv;
}
