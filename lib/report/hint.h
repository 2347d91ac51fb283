/* SPDX-License-Identifier: BSD-3-Clause */
/* hint.h - command lines for the user to run. */
#ifndef REPORT_HINT_H
#define REPORT_HINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue/catalogue.h"
#include "container/packed.h"
#include "error.h"

struct buf;
struct catalogue;
struct index;
struct job_where;
struct plan;

/*
 * Write a command that works on one dataset: "scr_index -p DIR --build 5",
 * quoted for the shell.  `word` names the dataset: see catalogue_word(); NULL:
 * the command takes none.  Without -p if `prefix` is the default one, or NULL.
 * Returns `to`.
 */
char *report_command(const char *command, const char *prefix, const char *word,
		     char *to, size_t size);

/* The same as an argument of printf, valid until the end of the block. */
#define report_command_str(command, prefix, word) \
	report_command(command, prefix, word, (char[8192]){ 0 }, 8192)

/* Append `before`, and `text` as one printable word for the shell. */
void report_add_quoted(struct buf *out, const char *before, const char *text);

/* Append those of the options that choose a job which are given. */
void report_add_options(struct buf *out, const struct job_where *w,
			const char *down, const char *remote);

/* --- The command to run next --- */

/*
 * What a command has found, or what has stopped it.  The functions below are
 * the only ones that know what is to be run then; they return `to`, "" if there
 * is nothing to do.
 */
struct next_case {
	int status; /* STATUS_FAILED: unknown */
	/* what repairs all damage; if the status is unknown, what is to be run
	 * again */
	enum error_remedy remedy;
	bool deep, checksums; /* the options that find the damage again */
	bool look;	      /* a report shows more */
	bool absent;	      /* unfinished: no files are expected */
	bool rebuild;	      /* a rebuild of files is all that is missing */
	bool kept;	      /* no data are lost, only redundancy */
	bool packed;	      /* with `kept`: unpacking drops what is damaged */
	/* data and redundancy differ, and it is unknown which is wrong:
	 * another checkpoint becomes the current one, but it is kept */
	bool undecided;
	/* nothing names the files of some ranks: a scavenge may find them */
	bool nameless;
	/* a scavenge has searched the caches of all nodes: what is lost is not
	 * there */
	bool searched;
	struct plan_way way;
};

/*
 * For dataset `id` that is not whole, or not in the index: repair it; if it is
 * lost, restart from the newest other checkpoint, drop it from the index,
 * delete it, but search the caches before; look again if it is unknown.  A
 * dataset is not added to the index in place of a newer one of its name.  `ix`:
 * NULL if there is no index.
 */
char *report_next_step(struct catalogue *c, const struct index *ix, int64_t id,
		       const struct next_case *n,
		       char to[static ERROR_TEXT_MAX]);

/* The same, with the index read now. */
char *report_next_now(struct catalogue *c, int64_t id,
		      const struct next_case *n,
		      char to[static ERROR_TEXT_MAX]);

/* The same after the error *why; n->remedy is what to run again, or NONE. */
char *report_next_after(struct catalogue *c, int64_t id,
			const struct error *why, struct next_case n,
			char to[static ERROR_TEXT_MAX]);

/* For a dataset in caches: n->remedy with their directories.  If there is none,
 * or they are too many: a scavenge to `prefix` (NULL: the default one). */
char *report_next_dirs(const struct next_case *n, const char *const *dirs,
		       size_t ndirs, const char *prefix,
		       char to[static ERROR_TEXT_MAX]);

/* For a dataset that may be packed; REMEDY_NONE: what repairs its map. */
char *report_next_packed(enum error_remedy what, struct catalogue *c,
			 const struct packed *p,
			 char to[static ERROR_TEXT_MAX]);

/* After this check of its containers. */
char *report_next_health(struct catalogue *c, const struct packed *p,
			 const struct packed_health *h, int status,
			 char to[static ERROR_TEXT_MAX]);

/* The command of a remedy for dataset `id`. */
char *report_next(enum error_remedy what, struct catalogue *c, int64_t id,
		  char to[static ERROR_TEXT_MAX]);

/* Add the command that removes the cause of the error in *err, if one is known,
 * to its sentence; `id`: the dataset in `c`. */
void report_remedy(struct error *err, struct catalogue *c, int64_t id);

/* The command that searches the caches of all nodes; `obstacle`: of a plan_way,
 * or NULL. */
char *report_scavenge(const char *prefix, const char *obstacle,
		      char to[static ERROR_TEXT_MAX]);

/* Write the command that lets their owner read the files of the plan, or "" if
 * the owner may read all of them.  Returns `to`. */
char *report_chmod(const struct plan *p, char to[static ERROR_TEXT_MAX]);

#endif /* REPORT_HINT_H */
