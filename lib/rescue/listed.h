/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listed.h - the files that a rank2file lists: are they present and right?  For
 * datasets without filemaps; where there are filemaps, the plan checks.
 */
#ifndef RESCUE_LISTED_H
#define RESCUE_LISTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rescue/plan.h"

struct dataset;
struct error;
struct rank2file;
struct rank2file_seg;
struct work;

struct listed_file {
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

struct listed {
	size_t count;
	struct listed_file *list; /* sorted by rank */
	int dirfd;		  /* directory of the container names */
};

/* Make the list from a rank2file in directory `dirfd`.  Strings are borrowed
 * from `r`. */
int listed_from(const struct rank2file *r, int dirfd, struct listed *out,
		struct error *err);
void listed_free(struct listed *f);

/* stat all files below `prefix_fd`.  With `sum`, also read those that are not
 * found to be wrong, and compare their checksums. */
int listed_check(int prefix_fd, struct listed *f, bool sum,
		 const struct work *work, struct error *err);

/* Describe what is wrong with `f`: "PATH: missing (rank 3)".  Return `to`. */
const char *listed_problem(const struct listed_file *f, char *to, size_t size);

/* Totals of a checked list. */
struct listed_tally {
	size_t files, bad, unchecked, summed;
	uint64_t bytes;			 /* of the files present */
	uint64_t summed_bytes;		 /* whose checksum was compared */
	const struct listed_file *first; /* the first bad file, or NULL */
	bool unsafe; /* the path of a bad file leaves the prefix */
};

void listed_tally(const struct listed *f, struct listed_tally *t);

/*
 * Is a dataset complete that only its rank2file describes?  Every rank must
 * have an entry, and every file must be right.  If sizes are missing (LLNL's
 * flush records none), the total must equal that of the descriptor `view`, if
 * it records one; with `must_add_up`, it has to.  ERROR_LOST, ERROR_UNSAFE.
 */
int listed_whole(const struct rank2file *r, const struct listed_tally *t,
		 const struct dataset *view, bool must_add_up,
		 struct error *err);

/* Are the checksums of all files outside of containers recorded? */
bool listed_all_summed(const struct rank2file *r);

#endif /* RESCUE_LISTED_H */
