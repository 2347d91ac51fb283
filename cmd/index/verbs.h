/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs.h - shared by the files of scr_index.
 */
#ifndef CMD_INDEX_VERBS_H
#define CMD_INDEX_VERBS_H

#include <stdbool.h>
#include <stdint.h>

#include "catalogue/catalogue.h"

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
	const char *prefix, *moved_from;
	struct catalogue_filter filter;
	bool all, names_only, json, dry_run, deep, checksums, force;
	uint64_t jobs, memory, keep; /* 0: not given */
};

/* --- scr_index.c --- */

/* Fill in the options of the library; calls app_work_start(). */
int verbs_options(struct catalogue_options *o, const struct settings *s,
		  struct error *err);

/* A name made printable for a message.  Returns `to`. */
const char *verbs_shown(const char *name, char to[static 256]);

/* With --json, print `j` (NULL: an empty object) with status and error.  Report
 * the error.  Returns the exit status. */
int verbs_finish(const struct settings *s, struct json *j, int status,
		 struct error *why);

/* --- each.c --- */

/* --delete, --prune and --verify.  Returns the exit status. */
int verbs_each(const struct settings *s, struct catalogue *c);

#endif /* CMD_INDEX_VERBS_H */
