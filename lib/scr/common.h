/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * common.h - metadata common to the ranks that share a dataset directory in
 * cache: its state, and the lists of files of each rank (*.er.er and
 * *.er.shuffile, scr-dataset(5)).
 */
#ifndef SCR_COMMON_H
#define SCR_COMMON_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct redundancy_job;
struct run;
struct device;

struct common {
	const struct run *run;
	const struct device *store;
	const char *dir, *meta; /* of the dataset; its .scr */
	int metafd;		/* of `meta` */
	/* The protected files: those of this rank (NULL: bypass), and its
	 * filemap. */
	const struct redundancy_job *data, *map;
	int64_t created_us; /* of the descriptor; -1: unknown */
};

/* Write the metadata, and sync all files of the directory.  Collective. */
int common_write(const struct common *c, struct error *err);

/* Does the directory of a dataset below `fd` say that this was created at
 * another time?  LLNL's library does not note when. */
bool common_differs(int fd, const char *name, int64_t created_us);

#endif /* SCR_COMMON_H */
