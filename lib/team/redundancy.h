/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redundancy.h - protect files: write the redundancy files of one rank,
 * together with the other members of its set (scr-redset(5)).
 *
 * The files of a rank are one data string, in order of the list.  It is read
 * once, in pieces of SCR_MPI_BUF_SIZE.  Each piece is sent directly to the
 * members that code it, in an order in which every member sends and receives
 * all the time.  Several pieces are in transit while others are read and coded.
 * Memory does not depend on the size of files.
 */
#ifndef TEAM_REDUNDANCY_H
#define TEAM_REDUNDANCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"
#include "team/sets.h"

struct error;
struct team;

struct redundancy_file {
	const char *path; /* absolute */
	struct attr attr; /* of the file now, for the headers */
	bool has_crc;	  /* `crc` is known; else these functions set it */
	uint32_t crc;	  /* CRC-32 of the contents */
};

struct redundancy_job {
	const struct team *world, *members; /* members: the set of this rank */
	const struct sets_mine *set;
	const char *dir; /* .scr of the dataset, for the redundancy files; the
			    files are in the directory above */
	bool map;  /* the file is the filemap, in `dir`: stem "reddescmap.er" */
	bool sync; /* sync the redundancy files to disk */
	uint64_t buffer; /* SCR_MPI_BUF_SIZE */
	size_t nfiles;
	struct redundancy_file *files;
};

/*
 * Write both redundancy files of this rank, and set the CRCs.  Collective over
 * the job.  The result is that of this rank; the caller calls team_agree().
 * ERROR_CORRUPT: a file got shorter; ERROR_SYSTEM, ERROR_NOMEM.
 */
int redundancy_files(const struct redundancy_job *j, struct error *err);

/* Only set the CRCs that are not known.  Local.  Errors: as above. */
int redundancy_sums(struct redundancy_file *files, size_t n, struct error *err);

/* Write the name of a redundancy file of this rank into `to`, and return
 * `to`. */
#define REDUNDANCY_NAME 160
char *redundancy_name(const struct redundancy_job *j, bool descriptor,
		      char to[static REDUNDANCY_NAME]);

#endif /* TEAM_REDUNDANCY_H */
