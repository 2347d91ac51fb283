/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * step_impl.h - what the parts of step share: the resource managers.
 */
#ifndef SITE_STEP_IMPL_H
#define SITE_STEP_IMPL_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "site/step.h"

struct error;
struct hostlist;

/* Words of a command line; those behind fn's own are ids of steps. */
#define STEP_WORDS 256

struct step_command {
	const char *words[STEP_WORDS]; /* ended by NULL; borrowed */
	size_t count;
};

/* Add a word; false: there is no room for it. */
bool step_add_word(struct step_command *c, const char *word);

/* Run it, without a shell, here; `out`: what it printed.  ERROR_SYSTEM: it is
 * not there, failed, or took too long. */
int step_run(const struct step_where *w, const struct step_command *c,
	     struct buf *out, struct error *err);

/* An error as it is, for the caller.  Returns -1. */
int step_give(struct error *err, const struct error *why);

struct step_manager {
	const char *name;    /* of resmgr_name() */
	const char *command; /* that lists the steps */
	/* ERROR_USAGE: that job cannot be reached from here.  May be NULL. */
	int (*check)(const struct step_where *w, struct error *err);
	/* Add the steps that may be stopped to `out`. */
	int (*list)(const struct step_where *w, struct hostlist *out,
		    struct error *err);
	/* Begin the command that sends SIGTERM, or SIGKILL, to the steps whose
	 * ids are added to it. */
	void (*signal)(const struct step_where *w, bool hard,
		       struct step_command *c);
};

/* NULL: it cannot end steps, or there is none of that name. */
const struct step_manager *step_manager_find(const char *name);

#endif /* SITE_STEP_IMPL_H */
