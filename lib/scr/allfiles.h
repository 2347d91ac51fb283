/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * allfiles.h - the files of all ranks of the checkpoint that is being read:
 * with SCR_RESTART_ANY_RANKS it stays on the prefix, and any rank reads any of
 * them.  A file in containers is copied into the cache when a rank asks for it.
 */
#ifndef SCR_ALLFILES_H
#define SCR_ALLFILES_H

#include <stddef.h>
#include <stdint.h>

#include "scr/scr.h"

struct allfiles; /* opaque */
struct arena;
struct error;
struct held_set;
struct rank2file_file;
struct run;

/* Gather the lists of dataset `s` from its map, in `a`; `s` and `run` are
 * borrowed.  Collective.  Errors: as lists_read(). */
struct allfiles *allfiles_gather(const struct run *run,
				 const struct held_set *s, struct arena *a,
				 struct error *err);

/* Remove what was copied into the cache.  Local; NULL is ignored. */
void allfiles_end(struct allfiles *all);

/* The number of ranks that wrote the dataset. */
uint32_t allfiles_ranks(const struct allfiles *all);

/* File `i`, in the order of ranks, and its rank.  -1: there are no more. */
int allfiles_get(const struct allfiles *all, size_t i, uint32_t *rank,
		 struct rank2file_file *out);

/* Get the path to read `path` from, a file relative to the prefix.
 * ERROR_ABSENT: no rank has written it; ERROR_SYSTEM, or an error of its
 * containers.  Local. */
int allfiles_route(const struct allfiles *all, const char *path,
		   char file[static SCR_MAX_FILENAME], struct error *err);

#endif /* SCR_ALLFILES_H */
