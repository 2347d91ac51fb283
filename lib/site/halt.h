/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * halt.h - the halt file of a prefix directory, PREFIX/.scr/halt.scr: read,
 * changed under its lock, and judged.  Its contents:
 * meta/haltfile.h.
 *
 * A running job reads and rewrites the same file.  So it is locked itself, and
 * rewritten in place; see io_open_locked().
 *
 * A file of 0 bytes was made, but nobody came to write a condition into it: it
 * has none.  A file that cannot be understood may have held any condition: it
 * counts as damaged, and a job is to stop.
 */
#ifndef SITE_HALT_H
#define SITE_HALT_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "error.h"
#include "meta/haltfile.h"

struct conf;
struct json;
struct kvtree;

/* How long a change waits for the lock, in seconds. */
#define HALT_WAIT 10

/* The reason that is written if none is given. */
#define HALT_DEFAULT_REASON "JOB_HALTED"

struct halt_state {
	struct buf path; /* PREFIX/.scr/halt.scr */
	bool exists;
	bool created;	     /* by halt_update() */
	bool damaged;	     /* `why` says how; neither tree nor conditions */
	struct kvtree *tree; /* what it says; empty if there is none */
	struct halt is;	     /* the same; borrowed from the tree */
	struct error why;
};

/* Back to nothing held; one of zeros is fine. */
void halt_state_free(struct halt_state *s);

/*
 * Read the halt file.  A damaged one is no error: see *out.  One whose lock
 * somebody keeps, or that may only be read, is read without.  -1 (*out is
 * nothing then): ERROR_ABSENT: no such prefix; ERROR_SYSTEM, ERROR_UNSAFE
 * (symbolic link), ERROR_NOMEM.
 */
int halt_load(const char *prefix, struct halt_state *out, struct error *err);

enum {
	HALT_CREATE = 1,  /* make PREFIX/.scr and the file if they are missing,
			     else there is nothing to change */
	HALT_FORCE = 2,	  /* put a damaged file aside as halt.scr.bak */
	HALT_DRY_RUN = 4, /* change nothing: *out is how it would be */
};

/*
 * Change the halt file by fn(tree, arg), while nobody else reads or changes it;
 * *out is how it is afterwards.  -1, and the file is as it was: ERROR_CORRUPT
 * (damaged, and no HALT_FORCE), ERROR_SYSTEM (errnum EWOULDBLOCK: locked for
 * longer than HALT_WAIT), what fn() says, and those of halt_load().
 */
int halt_update(const char *prefix, unsigned flags,
		int (*fn)(struct kvtree *t, void *arg, struct error *err),
		void *arg, struct halt_state *out, struct error *err);

/*
 * A new job begins: the reason SCR_FINALIZE_CALLED, by which the one before
 * said that it had finished on purpose, goes; nothing else does.  *was: it was
 * there.  A damaged file is left (halt_check() tells of it).
 */
int halt_begin(const char *prefix, bool *was, struct error *err);

/* Remove the halt file, damaged or not; *was: there was one.  With `dry_run`
 * only look. */
int halt_remove(const char *prefix, bool dry_run, bool *was, struct error *err);

/*
 * Which conditions are met at `now` (seconds since the epoch)?  `remaining`:
 * seconds until the allocation ends, -1: unknown; `halt_seconds`: used unless
 * the file says another number.  A line "HALT RUN: ..." for each is added to
 * `why` (may be NULL).  Returns their number, or -1: ERROR_NOMEM.
 */
int halt_due(const struct halt *h, int64_t now, int64_t remaining,
	     uint64_t halt_seconds, struct buf *why, struct error *err);

/*
 * Must the loop that relaunches a job stop?  *stop, and lines "HALT RUN: ..." or
 * "CONTINUE RUN: ..." are added to `lines`.  SCR_HALT_SECONDS and
 * SCR_END_TIME are taken from `c`, which may be NULL.  Without a halt file the
 * answer is no; with a damaged one, or one that cannot be read, yes.
 * -1, *stop is true: ERROR_USAGE (a parameter is no number), ERROR_NOMEM.
 */
int halt_check(const char *prefix, const struct conf *c, int64_t now,
	       bool *stop, struct buf *lines, struct error *err);

/* The settings as LLNL's scr_halt lists them; and as a JSON object, which also
 * tells which conditions are met at `now`. */
int halt_text(const struct halt_state *s, struct buf *out, struct error *err);
struct json *halt_json(const char *prefix, const struct halt_state *s,
		       int64_t now);

#endif /* SITE_HALT_H */
