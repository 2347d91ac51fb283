/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * opt.h - one option table per command.  Parsing, --help, the shell completions
 * and the check that the man page names every option all use it.
 *
 * Long options take "--name=VALUE" or "--name VALUE", short ones "-nVALUE" or
 * "-n VALUE", flags may be combined ("-qv").  Options and arguments may be
 * mixed; "--" ends the options.  An unambiguous prefix of a long name is
 * accepted.  Nothing here prints or exits; `app` does.
 */
#ifndef OPT_H
#define OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;

enum opt_type {
	OPT_TYPE_END = 0,
	OPT_TYPE_GROUP,	 /* a heading in --help */
	OPT_TYPE_FLAG,	 /* bool *: set to true */
	OPT_TYPE_COUNT,	 /* int *: incremented each time (-vv) */
	OPT_TYPE_STRING, /* const char **: borrowed from argv */
	OPT_TYPE_LIST,	 /* struct opt_list *: may be given several times */
	OPT_TYPE_U64,	 /* uint64_t *: min..max */
	OPT_TYPE_BYTES,	 /* uint64_t *: as num_bytes(), min..max */
	OPT_TYPE_CHOICE, /* int *: the value of the option's `min` field; a
			    verb: several options share one variable, and giving
			    two different ones, or one with two values, is a
			    usage error */
};

/* What completions offer for a value. */
enum opt_complete {
	OPT_ANY = 0,
	OPT_FILE,
	OPT_DIR,
	OPT_DATASET, /* words of datasets: `scr_index --dump-datasets` */
	OPT_WORDS,   /* the words of `metavar` (or words), separated by '|' */
};

struct opt_list {
	const char **items; /* borrowed strings */
	size_t count, cap;
};

struct opt {
	enum opt_type type;
	char letter;	     /* 0: none */
	const char *name;    /* without the dashes; NULL: none */
	void *target;	     /* see opt_type */
	const char *metavar; /* "DIR"; NULL: takes no value */
	/* One clause, no capital, no full stop.  NULL: accepted but not shown
	 * (an old spelling). */
	const char *help;
	uint64_t min, max;
	enum opt_complete complete;
	const char *words;  /* for OPT_WORDS, in place of metavar; or NULL */
	const char **value; /* CHOICE with a value: the target of the value */
};

#define OPT_GROUP(title) \
	{ \
		.type = OPT_TYPE_GROUP, .help = (title) \
	}
#define OPT_OF(type_name, l, n, t, h, ...) \
	{ \
		.type = OPT_TYPE_##type_name, .letter = (l), .name = (n), \
		.target = (t), .help = (h), __VA_ARGS__ \
	}
#define OPT_FLAG(l, n, t, h) OPT_OF(FLAG, l, n, t, h, .metavar = NULL)
#define OPT_COUNT(l, n, t, h) OPT_OF(COUNT, l, n, t, h, .metavar = NULL)
#define OPT_STRING(l, n, t, m, c, h) \
	OPT_OF(STRING, l, n, t, h, .metavar = (m), .complete = (c))
/* The value has words of columns (columns.h). */
#define OPT_COLUMNS(l, n, t, m, w, h) \
	OPT_OF(STRING, l, n, t, h, .metavar = (m), .complete = OPT_WORDS, \
	       .words = (w))
#define OPT_LIST(l, n, t, m, c, h) \
	OPT_OF(LIST, l, n, t, h, .metavar = (m), .complete = (c))
#define OPT_U64(l, n, t, m, lo, hi, h) \
	OPT_OF(U64, l, n, t, h, .metavar = (m), .min = (lo), .max = (hi))
#define OPT_BYTES(l, n, t, m, lo, hi, h) \
	OPT_OF(BYTES, l, n, t, h, .metavar = (m), .min = (lo), .max = (hi))
/* A verb without a value, and one with (`v`: const char **). */
#define OPT_VERB(l, n, t, id, h) OPT_OF(CHOICE, l, n, t, h, .min = (id))
#define OPT_VERB_ARG(l, n, t, id, v, m, c, h) \
	OPT_OF(CHOICE, l, n, t, h, .min = (id), .value = (v), .metavar = (m), \
	       .complete = (c))
#define OPT_END \
	{ \
		.type = OPT_TYPE_END \
	}

/*
 * Parse argv[1..argc-1].  Arguments that are not options are moved to the front
 * of argv and terminated by NULL.  With `command` the first of them begins a
 * command line, whose words are not options of ours.  Returns their number, or
 * -1 with ERROR_USAGE.  OPT_TYPE_LIST items are borrowed from argv; the caller
 * frees the array with opt_list_free().
 */
int opt_parse(const struct opt *opts, int argc, char **argv, bool command,
	      struct error *err);
void opt_list_free(struct opt_list *list);

/* Append the options part of --help, wrapped at 79 columns. */
void opt_help(const struct opt *opts, struct buf *out);

/*
 * Append one line per shown or hidden option, for completions and the checks of
 * man pages: LETTER or "-", TAB, NAME or "-", TAB, METAVAR or "-", TAB,
 * any|file|dir|dataset|words, TAB, shown|hidden, TAB, help.
 */
void opt_dump(const struct opt *opts, struct buf *out);

/*
 * Append one line for each verb of each usage line, or one for a usage line
 * without a verb: "verb", TAB, VERB or "-", TAB, ARGUMENTS or "-", TAB, KINDS
 * or "any", TAB, "usage", TAB.  ARGUMENTS and KINDS are separated by blanks;
 * the last one also applies to all further arguments.
 *
 * `usage` is the text after `name` in "Usage: NAME ...", as in app_info:
 * "pack|list [OPTION]... DATASET...\n       NAME cat DATASET FILE...".  A first
 * word in lower case is a verb, or several verbs joined by '|'.  The kind of an
 * argument follows from its name: "dataset" if the name contains DATASET,
 * "packed" for PATH (of a file in the containers of the first argument, a
 * dataset), "file" for FILE or ARCHIVE, "dir" for DIR, "words" for lower-case words
 * separated by '|', else "any".
 */
void opt_dump_usage(const char *name, const char *usage, struct buf *out);

#endif /* OPT_H */
