/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalogue_impl.h - the prefix, the directories of its datasets, and the
 * index.  Private to lib/catalogue, as are describe.h, whole.h, renamed.h
 * and claims.h.  What the files of the room do:
 *
 *   catalogue.c    the prefix, its directories, helpers
 *   store.c        read, change and rebuild index.scr, also on a full file system
 *   edit.c         drop, drop after, current: the index only
 *   overview.c     all datasets of a prefix, from all sources
 *   resolve.c      the dataset that a word names, and back
 *   describe.c     find the descriptor of a dataset
 *   whole.c        plans, and what they mean to the catalogue
 *   build.c        the steps of catalogue_build()
 *   record.c       write rank2file, summary and index entry
 *   add.c          catalogue_add(), also for SCR 1.1.8; after a fetch that failed
 *   verify.c       catalogue_verify()
 *   fetchable.c    what LLNL's library reads before the files
 *   renamed.c      directories renamed by hand
 *   delete.c       catalogue_delete_all(): order, index, locks
 *   remove.c       remove one dataset, never through a link
 *   replaced.c     mark a dataset whose files are replaced; read the mark, refuse
 *                  such a dataset, or take it back
 *   claims.c       the files of a dataset that can be deleted with it
 *   owners.c       which datasets own which paths
 *   prune.c        which datasets a prune deletes
 *   packed_find.c  packed datasets by name
 */
#ifndef CATALOGUE_CATALOGUE_IMPL_H
#define CATALOGUE_CATALOGUE_IMPL_H

#include "buf.h"
#include "catalogue/catalogue.h"
#include "error.h"
#include "meta/dataset_dir.h"
#include "meta/summary.h"

struct catalogue_strays;
struct catalogue_unnamed;
struct stat;

#define CATALOGUE_LOCK "index.lock"

struct catalogue {
	char *path;
	int prefix_fd;
	int scr_fd;	    /* -1: .scr does not exist yet */
	bool (*stop)(void); /* NULL: never */
	struct buf notice;
	bool damaged; /* index.scr, when it was last read */
	/* An index that listed datasets was lost, and remade from summaries,
	 * which have neither FAILED nor CURRENT. */
	bool remade;
	struct catalogue_strays *strays; /* NULL: not listed yet */
	/*
	 * Searches for renamed directories of data so far, and names examined.
	 */
	size_t searches, looks;
	struct catalogue_unnamed *unnamed; /* resolve.c; NULL: not read yet */
	int64_t building; /* id of the dataset being built, which a rebuilt
			     index need not report; 0: none */
};

/* --- catalogue.c --- */

/* PREFIX/.scr/scr.dataset.ID, open. */
struct catalogue_dir {
	int64_t id;
	char name[DATASET_DIR_NAME];
	int fd;	  /* -1: not open */
	int lock; /* -1: not locked */
};

#define CATALOGUE_DIR_INIT \
	{ \
		.fd = -1, .lock = -1 \
	}

/* Open the directory of dataset `id`.  ERROR_ABSENT. */
int catalogue_dir_open(struct catalogue *c, int64_t id, struct catalogue_dir *d,
		       struct error *err);

/* Lock the dataset; wait while another process works on it.  ERROR_ABSENT: the
 * dataset was deleted meanwhile.  On a file system without locks, only write a
 * message to the log. */
int catalogue_dir_lock(struct catalogue *c, struct catalogue_dir *d,
		       const struct catalogue_options *o, struct error *err);
void catalogue_dir_close(struct catalogue_dir *d);

/* Remove a file of the directory, if it exists. */
int catalogue_dir_unlink(const struct catalogue_dir *d, const char *name,
			 struct error *err);

/* Remove the files of these kinds (meta/dataset_dir.h): bits of a set. */
#define CATALOGUE_KIND(kind) (1u << DATASET_DIR_##kind)
int catalogue_dir_clear(const struct catalogue_dir *d, unsigned kinds,
			struct error *err);

/* Read the summary of dataset `id`, which borrows from the tree; for
 * kvtree_free().  `st` (may be NULL) receives its stat data. */
struct kvtree *catalogue_summary(struct catalogue *c, int64_t id,
				 struct summary *out, struct stat *st,
				 struct error *err);

/* --- resolve.c --- */

void catalogue_unnamed_free(struct catalogue_unnamed *u);

/* --- renamed.c --- */

void catalogue_strays_free(struct catalogue_strays *s);

/* --- store.c --- */

enum catalogue_state {
	CATALOGUE_GOOD,
	CATALOGUE_MISSING, /* index.scr does not exist */
	CATALOGUE_DAMAGED, /* index.scr violates the format */
	CATALOGUE_OLD,	   /* index.scr of SCR 1.1.8, converted */
};

/* Load index.scr without repair.  If it is missing or damaged, return 0 with
 * *ix NULL, *state set, and the reason in err->text. -1: any other error. */
int catalogue_load(struct catalogue *c, struct index **ix,
		   enum catalogue_state *state, struct error *err);

/* The index in `o`, or else the one on disk, which is also stored in *read for
 * index_free().  NULL: as catalogue_read(). */
const struct index *catalogue_index(struct catalogue *c,
				    const struct catalogue_options *o,
				    struct index **read, struct error *err);

/* Without room for a new file, overwrite one of at most a page.  ERROR_SYSTEM
 * with ENOSPC: it is larger. */
int catalogue_write_in_place(int dirfd, const char *name,
			     const struct buf *image, struct error *err);

/* --- claims.c --- */

/* Is the error about the metadata, rather than a failed system call? */
bool catalogue_is_verdict(const struct error *why);

#endif /* CATALOGUE_CATALOGUE_IMPL_H */
