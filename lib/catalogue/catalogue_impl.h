/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalogue_impl.h - what the files of lib/catalogue share, and what they do:
 *
 *   catalogue.c    the prefix, its directories, helpers
 *   store.c        read, change and rebuild index.scr, also without room
 *   edit.c         drop, drop after, current: the index only; catalogue_add();
 *                  after a failed fetch
 *   overview.c     all datasets of a prefix, from all sources
 *   word.c         the dataset that a word names, and back
 *   describe.c     find the descriptor of a dataset
 *   whole.c        plans, and what they mean to the catalogue; the names of
 *                  the files of a dataset
 *   build.c        the steps of catalogue_build()
 *   record.c       write rank2file, summary and index entry
 *   verify.c       catalogue_verify()
 *   fetchable.c    what LLNL's library reads before the files
 *   renamed.c      directories renamed by hand
 *   delete.c       catalogue_delete_all(): order, index, locks, and the files
 *                  that go with a dataset
 *   remove.c       remove one dataset, never through a link
 *   replaced.c     mark a dataset whose files are replaced; read the mark,
 *                  refuse such a dataset, or take it back
 *   owners.c       which datasets own which paths
 *   prune.c        which datasets a prune deletes
 *   packed_find.c  packed datasets by name
 */
#ifndef CATALOGUE_CATALOGUE_IMPL_H
#define CATALOGUE_CATALOGUE_IMPL_H

#include "buf.h"
#include "catalogue/catalogue.h"
#include "catalogue/owners.h"
#include "error.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
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
	/* Files looked for in renamed directories so far; and is a search going
	 * on, which makes plans of other datasets? */
	size_t looks;
	bool weighing;
	struct catalogue_unnamed *unnamed; /* word.c; NULL: not read yet */
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

/* --- word.c --- */

void catalogue_unnamed_free(struct catalogue_unnamed *u);

/* --- store.c --- */

enum catalogue_state {
	CATALOGUE_GOOD,
	CATALOGUE_MISSING, /* index.scr does not exist */
	CATALOGUE_DAMAGED, /* index.scr violates the format */
	CATALOGUE_OLD,	   /* index.scr of SCR 1.1.8, converted */
};

/* At most this many ids are named in a notice; the rest are only counted. */
#define CATALOGUE_REPORTED_MAX 20

/* The index as it is on disk, or rebuilt; and while it is changed, locked. */
struct catalogue_change {
	struct catalogue *c;
	struct index *ix;
	enum catalogue_state state; /* of the file */
	struct error why;	    /* of a file that is not good */
	size_t added, left;
	char left_ids[CATALOGUE_REPORTED_MAX * 12 + 1];
	size_t left_len;
	int lock; /* -1: on a file system without locks */
};

/*
 * Lock and read the index, and after changing t->ix replace index.scr.  The
 * function catalogue_end() takes what became of the change: `rc` is 0 to write
 * the index, 1 to leave it (a damaged index is repaired nevertheless), or -1 to
 * fail without writing; it returns 0 or -1.  Call it also if catalogue_begin()
 * failed.  PREFIX/.scr is made if it is missing.
 */
int catalogue_begin(struct catalogue *c, struct catalogue_change *t,
		    struct error *err);
int catalogue_end(struct catalogue_change *t, int rc, struct error *err);

/* Load index.scr without repair.  If it is missing or damaged, return 0 with
 * *ix NULL, *state set, and the reason in err->text. -1: any other error. */
int catalogue_load(struct catalogue *c, struct index **ix,
		   enum catalogue_state *state, struct error *err);

/* The index in `o`, or else the one on disk, which is also stored in *read for
 * index_free().  NULL: as catalogue_read(). */
const struct index *catalogue_index(struct catalogue *c,
				    const struct catalogue_options *o,
				    struct index **read, struct error *err);

/* Write the summary; on a full file system over the old one. */
int catalogue_write_summary(const struct catalogue_dir *d,
			    const struct kvtree *t, struct error *err);

/* --- describe.c --- */

/* The descriptor of a dataset. */
struct catalogue_desc {
	struct kvtree *tree; /* its children are the descriptor; for
				kvtree_free() */
	struct dataset view; /* of `tree` */
	bool composed;	     /* from other traces */
	int complete;	     /* summary: as in struct summary; -1: unusable */
	int64_t replaced;    /* summary: dataset that replaced its files; 0 */
};

/* Sources for a descriptor. */
struct catalogue_sources {
	struct catalogue *c;
	const struct catalogue_dir *dir;
	struct index *ix; /* may be NULL */
	const struct plan *plan;
	const struct catalogue_options *o;
};

/* Find the descriptor of the dataset, or compose one. */
int catalogue_describe(const struct catalogue_sources *from,
		       struct catalogue_desc *out, struct error *err);
void catalogue_desc_free(struct catalogue_desc *d);

/* Make the descriptor from a record, which may be out->view. */
int catalogue_desc_make(struct catalogue_desc *out, const struct dataset *d,
			struct error *err);

/* Read the descriptor in a summary.  ERROR_ABSENT: no file.  ERROR_CORRUPT,
 * also if the descriptor is missing or that of another dataset. */
int catalogue_read_summary(const struct catalogue_dir *d,
			   struct catalogue_desc *out, struct error *err);

/* ERROR_LOST if the job declared the dataset invalid. */
int catalogue_check_given_up(const struct catalogue_dir *d,
			     const struct catalogue_desc *desc,
			     struct error *err);

/* --- record.c --- */

/*
 * Write rank2file, summary and index entry of a complete dataset.  A file that
 * is already right is not written again.  *changed is set if a file was
 * written.
 */
int catalogue_record_ranks(const struct catalogue_dir *d,
			   const struct rank2file *old,
			   const struct rank2file *r, bool *changed,
			   struct error *err);
int catalogue_record_summary(const struct catalogue_dir *d,
			     const struct catalogue_desc *desc, bool *changed,
			     struct error *err);
int catalogue_record_entry(struct catalogue *c,
			   const struct catalogue_desc *desc, const char *root,
			   bool changed, const struct catalogue_options *o,
			   struct error *err);

/* --- whole.c --- */

/* Make the plan that `o` needs: with headers for the deep check, and with
 * checksums.  NULL: see catalogue_plan(). */
struct plan *catalogue_plan_as(struct catalogue *c, int64_t id,
			       const struct catalogue_options *o,
			       struct error *err);

/* --- fetchable.c --- */

/* The metadata that LLNL's library reads before the files. */
struct catalogue_fetch {
	const struct rank2file *ranks; /* of the plan, or `own`; NULL: none */
	struct rank2file own;
	bool packed;		    /* rank2file has files in containers */
	struct catalogue_desc desc; /* of the summary; no tree: unusable */
	/* Why the library would refuse each of them; ERROR_NONE: good. */
	struct error no_ranks, no_summary;
	int64_t replaced; /* dataset that replaced its files; 0 */
	bool unproved;	  /* and not all checksums are recorded */
};

/* Read summary and rank2file of dataset e->id in `d`, the latter from its plan
 * `p` (NULL: none), and compare the summary with the index entry `e`, if that
 * has a descriptor.  A flaw of them is a
 * result.  -1: they could not be read.  Call catalogue_fetch_free() also on
 * failure. */
int catalogue_fetch_read(struct catalogue_fetch *f,
			 const struct catalogue_dir *d,
			 const struct index_entry *e, const struct plan *p,
			 struct error *err);
void catalogue_fetch_free(struct catalogue_fetch *f);

/* Record that the files were not replaced after all: see
 * catalogue_replaced(). */
void catalogue_fetch_spared(struct catalogue_fetch *f);

/* Compare rank2file with the filemaps that `p` was made from. */
int catalogue_fetch_match(struct catalogue_fetch *f, const struct plan *p,
			  struct error *err);

/* --- renamed.c --- */

void catalogue_strays_free(struct catalogue_strays *s);

/* Find a directory in .scr that has the metadata of dataset `id` under another
 * name. 1: found, *name is borrowed; 0: none. */
int catalogue_renamed_meta(struct catalogue *c, int64_t id, const char **name,
			   struct error *err);

/* Directories of a plan that are missing, and others beside them that have
 * their files, which no other dataset owns. */
struct catalogue_renamed {
	struct owners_guard asks; /* for this dataset, with `all` */
	struct arena *arena;	  /* the plan's */
	bool sure;		  /* what is missing can be computed */
	const char *from, *to;	  /* the first, below the prefix; NULL: none */
	bool barred;	    /* one has its name, but may not be searched */
	bool tired;	    /* there was more to look at */
	size_t files, lost; /* found; of them, those that cannot be rebuilt */
	size_t similar;	    /* of the same size, but written at another time */
};

/* Look for the missing files, and mark those that are found (astray). */
int catalogue_find_renamed(struct plan *p, struct catalogue_renamed *r,
			   struct error *err);

/* Is the error about the metadata, rather than a failed system call? */
bool catalogue_is_verdict(const struct error *why);

/* The metadata that name the files of a dataset: rank2file and, with `both` or
 * if it is unusable, the filemaps.  A dataset without either has no files. -1:
 * *why is the error of metadata that are unusable, or a failed system call.  1:
 * the map of a packed dataset is lost; its data are in containers in its own
 * directory, and it owns no path outside.  Call catalogue_names_free() also on
 * failure. */
int catalogue_names_read(struct catalogue *c, const struct catalogue_dir *d,
			 bool both, const struct catalogue_options *o,
			 struct catalogue_names *n, struct error *why);

/* Paths of files that go with their dataset: clean, and no other one's. */
struct catalogue_claims {
	const char **paths;
	size_t count, cap;
	size_t refused; /* number of names that are not acceptable paths */
	size_t shared;	/* number of paths that another dataset names, too */
};

/* --- remove.c --- */

/* Remove the dataset in `dir` with the files in `k`: all but its index entry.
 * In a dry run, only count; `out` has the counts. */
int catalogue_remove(struct catalogue *c, struct catalogue_dir *dir,
		     const struct catalogue_claims *k,
		     const struct catalogue_options *o,
		     struct delete_result *out, struct error *err);

/* May catalogue_remove() reach all files?  ERROR_UNSAFE: not those behind a
 * link that is not trusted. */
int catalogue_erasable(int root, const struct catalogue_claims *k,
		       struct error *err);

/* --- owners.c --- */

struct owners; /* opaque: a table of paths */

/* A path in it.  The user of the table sets all members except `hash`. */
struct owned {
	uint64_t hash; /* 0: a free slot */
	uint64_t size;
	uint32_t crc;
	uint32_t left;
	bool kept; /* owners_mark() found it */
	bool has_size, has_crc;
};

struct owners *owners_new(struct error *err);
void owners_free(struct owners *t); /* NULL is allowed */

/* Find a path (NULL: none), or add a missing one, all 0.  Borrowed until the
 * next owners_add(). */
struct owned *owners_find(const struct owners *t, const char *path);
struct owned *owners_add(struct owners *t, const char *path, struct error *err);

/* Set `kept` of all paths that dataset `id` owns.  *found is their number. -1:
 * the paths are unknown because of *why. */
int owners_mark(struct catalogue *c, int64_t id,
		const struct catalogue_options *o, struct owners *t,
		size_t *found, struct error *why);

/* The content of some files is neither proved by a checksum nor compared with
 * redundancy: say so. */
void catalogue_say_unproved(const struct plan *p, const char *subject,
			    const struct work *work);

#endif /* CATALOGUE_CATALOGUE_IMPL_H */
