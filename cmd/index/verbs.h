/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.h - shared by the files of scr_index.
 */
#ifndef CMD_INDEX_VERBS_H
#define CMD_INDEX_VERBS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "catalogue/catalogue.h"
#include "catalogue/share.h"
#include "report/list.h"
#include "str.h"
#include "when.h"

struct error;
struct json;

enum {
	VERB_LIST,
	VERB_BUILD,
	VERB_ADD,
	VERB_DROP,
	VERB_DROP_AFTER,
	VERB_DROP_ALL,
	VERB_CURRENT,
	VERB_UNCURRENT,
	VERB_DELETE,
	VERB_PRUNE,
	VERB_VERIFY,
	VERB_DUMP,
};

struct settings {
	int verb;
	const char *word; /* argument of the verb, or NULL */
	const char *prefix;
	struct catalogue_options o; /* its index is set by the verb */
	struct list_filter filter;
	struct list_look look;
	const char *columns, *sort, *keep_within; /* as given, or NULL */
	struct catalogue_keep rules;
	char before[WHEN_TEXT], since[WHEN_TEXT], within[WHEN_TEXT];
	bool all, names_only, force;
	bool barred; /* the job may not read some files: scr_inspect says
			which */
	uint64_t jobs, keep, keep_daily; /* 0: not given */
	struct share_nodes nodes;
	struct share share; /* the nodes; none before verbs_start() */
	char program[PATH_MAX], reader[PATH_MAX];
};

/* --- scr_index.c --- */

/* app_work_start() for s->o.work, and share_open() for the nodes. */
int verbs_start(struct settings *s, struct error *err);

/* A name made printable for a message: an argument of printf, valid until the
 * end of the block. */
#define verbs_shown(name) \
	str_printable((char[256]){ 0 }, 256, (name) != NULL ? (name) : "?")

/* Answer `j` (NULL: nothing) with the command to run next, unless that is "" or
 * does not help against the error, and report the error.  Returns the exit
 * status. */
int verbs_finish(struct settings *s, struct json *j, const char *next,
		 int status, struct error *why);

/* --- each.c --- */

/* --delete, --prune and --verify.  Returns the exit status. */
int verbs_each(struct settings *s, struct catalogue *c);

#endif /* CMD_INDEX_VERBS_H */
