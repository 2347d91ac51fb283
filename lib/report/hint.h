/* SPDX-License-Identifier: BSD-3-Clause */
/* hint.h - command lines for the user to run. */
#ifndef REPORT_HINT_H
#define REPORT_HINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue/catalogue.h"

struct catalogue;
struct index;
struct plan;

/*
 * Write a command that works on one dataset: "scr_index -p DIR --build 5",
 * quoted for the shell.  `word` names the dataset: see catalogue_word(); NULL:
 * the command takes none.  Without -p if `prefix` is the default one, or NULL.
 * Returns `to`.
 */
char *report_command(const char *command, const char *prefix, const char *word,
		     char *to, size_t size);

/* The same for dataset `id` of a prefix. */
char *report_next(const char *command, struct catalogue *c, int64_t id,
		  char *to, size_t size);

/* The command of report_command() that repairs the damage found by a check of
 * this kind; NULL: none does. */
const char *report_mend(enum verify_mend mend, bool deep, bool checksums);

/* What a check has found, and report_next_step() goes by. */
struct next_case {
	int status;  /* STATUS_FAILED: unknown */
	bool absent; /* unfinished: no files are expected */
	bool barred; /* unknown: this user may not read something */
	/* if a rebuild of files is all that is missing: its command, with the
	 * option that finds the damage again; else NULL */
	const char *rebuild;
	bool kept;	  /* no data are lost, only redundancy */
	bool packed;	  /* with `kept`: unpacking drops what is damaged */
	const char *mend; /* the command that repairs all damage; if the status
			     is unknown, the one to run again; or NULL */
	/* a directory below the prefix that was renamed: its old name and the
	 * new one; NULL or "": none */
	const char *was, *is;
	int64_t newest[2]; /* of index_newest() */
};

/*
 * Write the one command to run next for dataset `id` that is not whole, or not
 * in the index: repair it; if it is lost, restart from the newest other
 * checkpoint, drop it from the index, delete it; look again if it is unknown.
 * "" if there is nothing to do.  `ix`: NULL if there is no index.  Returns
 * `to`.
 */
char *report_next_step(struct catalogue *c, const struct index *ix, int64_t id,
		       const struct next_case *n, char *to, size_t size);

/* Write the command that lets their owner read the files of the plan, or "" if
 * the owner may read all of them.  Returns `to`. */
char *report_chmod(const struct plan *p, char *to, size_t size);

#endif /* REPORT_HINT_H */
