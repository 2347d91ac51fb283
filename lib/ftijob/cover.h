/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cover.h - copies (L2) or parity (L3) for a checkpoint that has none: of L1,
 * or of L4 (fti.md 5).
 *
 * The files of the ranks are written again for the level, with the sizes in
 * their metadata that FTI expects there, into the directories where it looks;
 * those that are there already stay.  Then copies or parity are made as by a
 * rebuild (renew.h).  The checkpoint itself does not change.  Another run
 * completes an interrupted one.
 */
#ifndef FTIJOB_COVER_H
#define FTIJOB_COVER_H

#include <stddef.h>
#include <stdint.h>

#include "ftijob/renew.h"

/* The plan. */
struct fti_protect {
	struct fti_sets *sets;
	struct fti_set *from;
	struct fti_set *there; /* the same checkpoint at the level, or NULL */
	enum fti_level level;
	const char *exec;		/* the name of its execution there */
	struct fti_rebuild_file *files; /* by group */
	size_t count, room;
	size_t parts[FTI_PARTS]; /* how many of `files` are of each part */
	const char **dirs;	 /* by node */
	uint64_t bytes_read, bytes_written;
};

/*
 * Plan for the examined checkpoint `from`; all others of its execution are
 * examined, too.  It is of L1 or L4, whole or refused; the level is 2 or 3.
 * ERROR_USAGE: it is one file, or the level has another checkpoint, which FTI
 * could take instead; ERROR_SYSTEM: its geometry is not known; ERROR_ABSENT:
 * the directories are not known.  Call fti_protect_fini() also after a failure.
 */
int fti_protect_plan(struct fti_protect *p, struct fti_sets *s,
		     struct fti_set *from, enum fti_level level,
		     struct error *err);
void fti_protect_fini(struct fti_protect *p);

/* Check the room, and unless work.dry_run write the files. */
int fti_protect_run(const struct fti_protect *p, const struct work *w,
		    struct error *err);

#endif /* FTIJOB_COVER_H */
