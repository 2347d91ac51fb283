/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalogue_impl.h - what the parts of the catalogue share.  Private to
 * lib/catalogue.
 *
 *   catalogue.c the prefix, its directories, small helpers
 *   store.c     reading, changing, and re-making index.scr
 *   edit.c      drop, drop after, current: the index alone
 *   describe.c  where a dataset's descriptor comes from
 *   files.c     lists of files: are they there, are they right
 *   whole.c     plans, and what they mean here
 *   sums.c      checksums recorded in rank2file, for a plan
 *   build.c     the parts of catalogue_build() in order
 *   record.c    rank2file and summary written, index entry made
 *   add.c       catalogue_add()
 *   verify.c    catalogue_verify()
 *   delete.c    catalogue_delete()
 *   claims.c    which files are one dataset's own
 *   erase.c     files and directories taken away, through no link
 *   list.c      tables, JSON, what to prune: no files
 */
#ifndef CATALOGUE_CATALOGUE_IMPL_H
#define CATALOGUE_CATALOGUE_IMPL_H

#include <sys/stat.h>

#include "buf.h"
#include "catalogue/catalogue.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "rescue/plan.h"

struct kvtree;

#define CATALOGUE_LOCK "index.lock"

/* Our key in an index entry: where the prefix was when the metadata of the
 * dataset were written. */
#define CATALOGUE_ROOT "ROOT"

struct catalogue {
	char *path;
	int prefix_fd;
	int scr_fd; /* -1: there is no .scr yet */
	struct buf notice;
	int64_t building; /* dataset that will get its entry in any case, and so
			     is worth no notice; 0: none */
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

/* Open the directory of dataset `id`; ERROR_ABSENT. */
int catalogue_dir_open(struct catalogue *c, int64_t id, struct catalogue_dir *d,
		       struct error *err);

/* Wait for whoever works on this dataset.  ERROR_ABSENT: it was deleted in the
 * meantime.  On a file system without locks: a word to the log, no error. */
int catalogue_dir_lock(struct catalogue *c, struct catalogue_dir *d,
		       const struct catalogue_options *o, struct error *err);
void catalogue_dir_close(struct catalogue_dir *d);

/* Open .scr, or make it if `make`; ERROR_ABSENT. */
int catalogue_open_scr(struct catalogue *c, bool make, struct error *err);

/* Read the kvtree file `rel` below `dirfd` into `into`, through no link that
 * leads out; `st` (may be NULL) receives its stat. */
int catalogue_read_tree(int dirfd, const char *rel, struct kvtree *into,
			struct buf *scratch, struct stat *st,
			struct error *err);

/* Replace the notice. */
void catalogue_notify(struct catalogue *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- store.c --- */

enum catalogue_state {
	CATALOGUE_GOOD,
	CATALOGUE_MISSING, /* there is no index.scr */
	CATALOGUE_DAMAGED, /* there is one that breaks the format */
	CATALOGUE_OLD,	   /* there is one of SCR 1.1.8, and it was read */
};

/* index.scr as it is; NULL with 0 returned where it is missing or damaged:
 * err->text then says how.  -1: anything else. */
int catalogue_load(struct catalogue *c, struct index **ix,
		   enum catalogue_state *state, struct error *err);

/* The descriptor in the entry of dataset `id`, borrowed; NULL: none. */
const struct kvtree *catalogue_entry_desc(struct index *ix, int64_t id);

/* --- describe.c --- */

enum catalogue_source {
	CATALOGUE_FLUSH,    /* flush.scr */
	CATALOGUE_SUMMARY,  /* the dataset's summary.scr */
	CATALOGUE_ENTRY,    /* the index */
	CATALOGUE_COMPOSED, /* put together from what else is there */
};

/* The descriptor of a dataset. */
struct catalogue_desc {
	struct kvtree *tree; /* its children are the descriptor; for
				kvtree_free() */
	struct dataset view; /* of `tree` */
	enum catalogue_source from;
};

/* What may tell of a dataset. */
struct catalogue_sources {
	struct catalogue *c;
	const struct catalogue_dir *dir;
	struct index *ix;	 /* or NULL */
	const struct plan *plan; /* NULL: no descriptor is composed */
	const struct catalogue_options *o;
};

/* Find the descriptor of the dataset, or compose one; ERROR_ABSENT. */
int catalogue_describe(const struct catalogue_sources *from,
		       struct catalogue_desc *out, struct error *err);
void catalogue_desc_free(struct catalogue_desc *d);

/* The descriptor in a summary: ERROR_ABSENT (no file), ERROR_CORRUPT (also: no
 * descriptor, or that of another dataset).  *complete as struct summary. */
int catalogue_read_summary(const struct catalogue_dir *d,
			   struct catalogue_desc *out, int *complete,
			   struct error *err);

/* --- files.c --- */

struct catalogue_file {
	const char *path; /* untrusted */
	uint32_t rank;
	bool has_size, has_crc; /* what is recorded */
	bool may_lack;		/* empty, and packed: may be no file at all */
	uint64_t size;
	uint32_t crc;
	size_t nsegs; /* > 0: no file of its own, its bytes lie there */
	const struct rank2file_seg *segs;
	/* What was found. */
	enum file_state state;
	bool unsafe; /* the path leaves the prefix */
	bool summed; /* found_crc is valid */
	uint64_t found_size;
	uint32_t found_crc;
};

struct catalogue_files {
	size_t count;
	struct catalogue_file *list; /* rank after rank */
	int dirfd;		     /* where the names of containers start */
};

/* From a rank2file in directory `dirfd`; its strings are borrowed. */
int catalogue_files_from(const struct rank2file *r, int dirfd,
			 struct catalogue_files *out, struct error *err);
void catalogue_files_free(struct catalogue_files *f);

/* stat all files; with `sum` read those that are right so far. */
int catalogue_files_check(struct catalogue *c, struct catalogue_files *f,
			  bool sum, const struct catalogue_options *o,
			  struct error *err);

/* "PATH: missing (rank 3)": what is wrong with `f`. */
const char *catalogue_file_problem(const struct catalogue_file *f, char *to,
				   size_t size);

/* Sums over a checked list. */
struct catalogue_tally {
	size_t files, bad, unchecked, summed;
	uint64_t bytes;			    /* of those that are there */
	const struct catalogue_file *first; /* bad one, or NULL */
	bool unsafe; /* one of the bad leaves the prefix */
};

void catalogue_files_tally(const struct catalogue_files *f,
			   struct catalogue_tally *t);

/*
 * Is a dataset of which only rank2file tells all there?  Every rank must have
 * an entry, every file be right, and the sizes add up to what the descriptor
 * (may be NULL) says: LLNL's flush records no other size.  `must_add_up`: the
 * descriptor has to know.  ERROR_LOST, ERROR_UNSAFE.
 */
int catalogue_files_whole(const struct rank2file *r,
			  const struct catalogue_files *f,
			  const struct dataset *view, bool must_add_up,
			  struct error *err);

/* --- whole.c --- */

/* plan_prefix(); where the recorded root cannot be told from the files, the
 * one that the index remembers is tried.  NULL: see plan_prefix(). */
struct plan *catalogue_plan(struct catalogue *c, int64_t id, unsigned flags,
			    const struct catalogue_options *o,
			    struct error *err);

/* Refuse a dataset that the job itself gave up: ERROR_LOST. */
int catalogue_check_given_up(const struct catalogue_dir *d,
			     const struct catalogue_desc *desc,
			     struct error *err);

/* Does `p` know all files of all ranks, and are they all there and right? */
bool catalogue_data_whole(const struct plan *p);

/*
 * Does the rank2file know more than `p`?  So it is where a dataset was
 * flushed, and a scavenge added the filemaps of some ranks only.  What the
 * plan knows must be right all the same.
 */
bool catalogue_flush_knows(const struct catalogue_dir *d, const struct plan *p);

/* --- sums.c --- */

/* What is to be recorded in rank2file of one file. */
struct catalogue_sum {
	bool known;
	bool carried; /* from an earlier rank2file */
	uint32_t crc;
};

struct catalogue_sums {
	struct catalogue_sum *list; /* one for each file of the plan */
};

/* Take over the checksums in `old` (NULL: none), and tell the plan of them. */
int catalogue_sums_init(struct catalogue_sums *s, struct plan *p,
			const struct rank2file *old, struct error *err);
void catalogue_sums_fini(struct catalogue_sums *s);

enum catalogue_want {
	CATALOGUE_RECORDED, /* compare what rank2file records */
	CATALOGUE_ALL,	    /* and note the sums of files that have none */
};

/* Read files that are there, but for those that the plan has compared.  One
 * that is not what is recorded is marked in the plan. */
int catalogue_sums_read(struct catalogue *c, struct plan *p,
			struct catalogue_sums *s, enum catalogue_want want,
			const struct catalogue_options *o, struct error *err);

/* The same for the files that were `rebuilt` (by file of the plan): a wrong
 * one is ERROR_DAMAGED. */
int catalogue_sums_again(struct catalogue *c, struct plan *p,
			 struct catalogue_sums *s, const bool *rebuilt,
			 const struct catalogue_options *o, struct error *err);

/* --- sums_copied.c --- */

/* The same from copied_R.scr in the dataset's directory: of files that are as
 * they were when they were copied. */
int catalogue_copied_take(struct catalogue *c, const struct catalogue_dir *d,
			  struct plan *p, struct catalogue_sums *sums,
			  struct error *err);

/* Remove them: what they say is in rank2file. */
int catalogue_copied_sweep(struct catalogue_dir *d, struct error *err);

/* --- record.c --- */

/* Write what is to be known of a whole dataset; each step is skipped where the
 * file says it already.  *changed is set if anything was written. */
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

/* --- claims.c --- */

/* The files of one dataset that may be deleted with it. */
struct catalogue_claims {
	struct rank2file r2f; /* as read */
	struct plan *plan;    /* NULL: none */
	bool have_ranks;
	size_t count, cap;
	struct claim {
		const char *path; /* clean; borrowed from r2f or plan */
		bool shared;	  /* another dataset names it, too */
	} * list;
	struct map *by_path; /* path -> index in list */
	size_t refused;	     /* named, but no path that may be touched */
};

/* All files that rank2file or filemaps of the dataset in `d` name. */
int catalogue_claims_init(struct catalogue *c, const struct catalogue_dir *d,
			  const struct catalogue_options *o,
			  struct catalogue_claims *out, struct error *err);
void catalogue_claims_fini(struct catalogue_claims *k);

/* Mark those that another dataset names. */
int catalogue_claims_share(struct catalogue *c, int64_t id,
			   const struct index *ix,
			   const struct catalogue_options *o,
			   struct catalogue_claims *k, struct error *err);

/* --- erase.c --- */

struct eraser; /* opaque */

/* To erase files below `root`; with `o->dry_run` only to count.  `out` counts
 * what is gone.  NULL: ERROR_NOMEM. */
struct eraser *catalogue_eraser_new(int root, const struct catalogue_options *o,
				    struct delete_result *out,
				    struct error *err);
void catalogue_eraser_free(struct eraser *e);

/* Erase `path` (clean) if it is a plain file that no link leads to; none: 0.
 * Anything else there is kept, and told. */
int catalogue_erase(struct eraser *e, const char *path, struct error *err);

/* Remove the directories above all paths given so far that are empty now. */
int catalogue_erase_dirs(struct eraser *e, struct error *err);

#endif /* CATALOGUE_CATALOGUE_IMPL_H */
