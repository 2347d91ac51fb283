/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.h - the data string of a rank: its files concatenated, read piece by
 * piece in any order, with the CRC of each file.
 */
#ifndef TEAM_SOURCE_H
#define TEAM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct redundancy_file;

#define SOURCE_OPEN 32 /* files kept open */

struct source {
	struct redundancy_file *files;
	size_t nfiles;
	uint64_t *start; /* by file: offset in the string; last: its length */
	int fd[SOURCE_OPEN];
	size_t open[SOURCE_OPEN]; /* the file open as fd[i], if fd[i] >= 0 */
};

/* Unknown CRCs are set to 0.  ERROR_NOMEM. */
int source_open(struct source *s, struct redundancy_file *files, size_t nfiles,
		struct error *err);
void source_close(struct source *s);

uint64_t source_bytes(const struct source *s);

/* Are the CRCs of all files known? */
bool source_summed(const struct source *s);

/* Read `len` bytes at `at`. After every byte was read once, in any order, the
 * unknown CRCs are set.  ERROR_CORRUPT: a file ends early; ERROR_SYSTEM. */
int source_read(struct source *s, uint64_t at, void *to, size_t len,
		struct error *err);

#endif /* TEAM_SOURCE_H */
