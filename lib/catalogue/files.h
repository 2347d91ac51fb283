/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.h - the files of one dataset, and their checksums: of a rank2file, or
 * of a plan.  For this room.
 */
#ifndef CATALOGUE_FILES_H
#define CATALOGUE_FILES_H

#include "catalogue/catalogue_impl.h"
#include "rescue/plan.h"

struct dataset;
struct rank2file_seg;

/* --- files.c --- */

struct catalogue_file {
	const char *path; /* untrusted */
	size_t number;	  /* for the caller */
	uint32_t rank;
	bool has_size, has_crc; /* recorded values */
	bool may_lack;		/* empty file in a packed dataset: may be
				   absent; after the check: is absent */
	uint64_t size;
	uint32_t crc;
	size_t nsegs; /* > 0: the data are in containers */
	const struct rank2file_seg *segs;
	/* Results of the check: */
	enum file_state state;
	bool unsafe;	 /* the path leaves the prefix */
	bool unreadable; /* its mode lets not even its owner read it */
	bool summed;	 /* found_crc is valid */
	uint64_t found_size;
	uint32_t found_crc;
};

struct catalogue_files {
	size_t count;
	struct catalogue_file *list; /* sorted by rank */
	int dirfd;		     /* directory of the container names */
};

/* Make the list from a rank2file in directory `dirfd`.  Strings are borrowed
 * from `r`. */
int catalogue_files_from(const struct rank2file *r, int dirfd,
			 struct catalogue_files *out, struct error *err);
void catalogue_files_free(struct catalogue_files *f);

/* stat all files.  With `sum`, also read those that are not found to be wrong,
 * and compare their checksums. */
int catalogue_files_check(struct catalogue *c, struct catalogue_files *f,
			  bool sum, const struct catalogue_options *o,
			  struct error *err);

/* Describe what is wrong with `f`: "PATH: missing (rank 3)".  Return `to`. */
const char *catalogue_file_problem(const struct catalogue_file *f, char *to,
				   size_t size);

/* Totals of a checked list. */
struct catalogue_tally {
	size_t files, bad, unchecked, summed;
	uint64_t bytes;			    /* of the files present */
	uint64_t summed_bytes;		    /* whose checksum was compared */
	const struct catalogue_file *first; /* the first bad file, or NULL */
	bool unsafe; /* the path of a bad file leaves the prefix */
};

void catalogue_files_tally(const struct catalogue_files *f,
			   struct catalogue_tally *t);

/*
 * Is a dataset complete that only its rank2file describes?  Every rank must
 * have an entry, and every file must be right.  If sizes are missing (LLNL's
 * flush records none), the total must equal that of the descriptor `view`, if
 * it records one; with `must_add_up`, it has to.  ERROR_LOST, ERROR_UNSAFE.
 */
int catalogue_files_whole(const struct rank2file *r,
			  const struct catalogue_tally *t,
			  const struct dataset *view, bool must_add_up,
			  struct error *err);

/* --- sums.c --- */

/* The checksum of one file, to be recorded in rank2file. */
struct catalogue_sum {
	bool known;
	bool carried; /* taken from an earlier record, not compared yet */
	bool wanted;  /* catalogue_sums_read() reads the file */
	uint32_t crc;
};

/* Take the checksums from `old` (may be NULL), and set them in the plan.
 * Return an array with the sum of each file of the plan, for mem_free(). */
struct catalogue_sum *
catalogue_sums(struct plan *p, const struct rank2file *old, struct error *err);

/*
 * If copied_R.scr in the dataset's directory records checksums, use those of
 * files that have not changed since they were copied.  Then files that no
 * scavenge has copied, and that nothing else confirms, are marked wrong.
 */
int catalogue_copied_take(struct catalogue *c, const struct catalogue_dir *d,
			  struct plan *p, struct catalogue_sum *sums,
			  struct error *err);

/* The content of file `f` was wrong when it was copied: forget the checksum of
 * the copy, and remove the copied_R.scr that records it. */
void catalogue_copied_forget(const struct catalogue_dir *d, struct plan_file *f,
			     struct catalogue_sum *sum);

/* Read the files that are wanted and not packed.  A file with a wrong checksum
 * is marked in the plan; if the files were `rebuilt`, it is ERROR_DAMAGED. */
int catalogue_sums_read(struct catalogue *c, struct plan *p,
			struct catalogue_sum *sums, bool rebuilt,
			const struct catalogue_options *o, struct error *err);

/* Read the present files with a known checksum, to compare it; with `all`, also
 * files without one.  The plan has compared the checksums in the filemaps. */
int catalogue_sums_compare(struct catalogue *c, struct plan *p,
			   struct catalogue_sum *sums, bool all,
			   const struct catalogue_options *o,
			   struct error *err);

/* --- replaced.c --- */

/* Are the checksums of all files outside of containers recorded? */
bool catalogue_sums_recorded(const struct rank2file *r);

/* The same for a plan.  PLAN_CHECKSUMS compares those of the files that are
 * present. */
bool catalogue_plan_proved(const struct plan *p);

/* ERROR_LOST: files of dataset `id` were replaced by those of dataset `by`, and
 * no checksums prove the rest. */
int catalogue_unproved(int64_t id, int64_t by, struct error *err);

#endif /* CATALOGUE_FILES_H */
