/* SPDX-License-Identifier: BSD-3-Clause */
/* hint.h - command lines for the user to run. */
#ifndef REPORT_HINT_H
#define REPORT_HINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue/catalogue.h"
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

/* The same as report_command() for dataset `id` of a prefix. */
char *report_next(const char *command, struct catalogue *c, int64_t id,
		  char to[static ERROR_TEXT_MAX]);

enum report_check {
	REPORT_CHECK_BUILD,   /* scr_index --build */
	REPORT_CHECK_REBUILD, /* scr_rebuild */
	REPORT_CHECK_INSPECT, /* scr_inspect */
};

/* The command of report_command() that looks for damage, or repairs it, with
 * the options that find what a check with these found. */
const char *report_check(enum report_check what, bool deep, bool checksums);

/* The command of report_command() that repairs the damage found by a check of
 * this kind; NULL: none does. */
const char *report_mend(enum verify_mend mend, bool deep, bool checksums);

/* What a check has found, and report_next_step() goes by. */
struct next_case {
	int status;  /* STATUS_FAILED: unknown */
	bool absent; /* unfinished: no files are expected */
	/* if a rebuild of files is all that is missing: its command, with the
	 * option that finds the damage again; else NULL */
	const char *rebuild;
	bool kept;	  /* no data are lost, only redundancy */
	bool packed;	  /* with `kept`: unpacking drops what is damaged */
	const char *mend; /* the command that repairs all damage; if the status
			     is unknown, the one to run again; or NULL */
	/* data and redundancy differ, and it is unknown which is wrong:
	 * another checkpoint becomes the current one, but it is kept */
	bool undecided;
	const char *look; /* the report that shows more; NULL: none does */
	/* nothing names the files of some ranks: a scavenge may find them */
	bool nameless;
	/* a scavenge has searched the caches of all nodes: what is lost is not
	 * there */
	bool searched;
	struct plan_way way;
};

/* The command that searches the caches of all nodes; `obstacle`: of a plan_way,
 * or NULL. */
char *report_scavenge(const char *prefix, const char *obstacle,
		      char to[static ERROR_TEXT_MAX]);

/* The command of report_command() for the directories of a dataset in caches.
 * If it is NULL, or they are too many: a scavenge to `prefix` (NULL: the
 * default one).  `obstacle`: of a plan_way; NULL or "": none. */
char *report_next_dirs(const char *command, const char *const *dirs,
		       size_t ndirs, const char *prefix, const char *obstacle,
		       char to[static ERROR_TEXT_MAX]);

/*
 * Write the one command to run next for dataset `id` that is not whole, or not
 * in the index: repair it; if it is lost, restart from the newest other
 * checkpoint, drop it from the index, delete it, but search the caches before;
 * look again if it is unknown.  A dataset is not added to the index in place of
 * a newer one of its name.  "" if there is nothing to do.  `ix`: NULL if there
 * is no index.  Returns `to`.
 */
char *report_next_step(struct catalogue *c, const struct index *ix, int64_t id,
		       const struct next_case *n,
		       char to[static ERROR_TEXT_MAX]);

/* The same, with the index read now. */
void report_next_now(struct catalogue *c, int64_t id, const struct next_case *n,
		     char to[static ERROR_TEXT_MAX]);

/* Write the command that lets their owner read the files of the plan, or "" if
 * the owner may read all of them.  Returns `to`. */
char *report_chmod(const struct plan *p, char to[static ERROR_TEXT_MAX]);

#endif /* REPORT_HINT_H */
