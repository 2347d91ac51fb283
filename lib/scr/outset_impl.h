/* SPDX-License-Identifier: BSD-3-Clause */
/* outset_impl.h - shared by the files of module outset. */
#ifndef SCR_OUTSET_IMPL_H
#define SCR_OUTSET_IMPL_H

#include "scr/outset.h"

#include <stddef.h>
#include <stdint.h>

#include "scr/naming.h"
#include "team/redundancy.h"

struct arena;
struct map;

struct outset_file {
	const char *orig; /* as the application named it */
	const char *path; /* absolute, on the prefix */
	const char *to;	  /* where it is written */
	bool other;	  /* a lower rank owns it */
	bool has_crc;	  /* outset_summed() */
	uint32_t crc;
};

struct outset {
	const struct run *run;
	const struct level *level;
	const char *dir, *meta; /* in cache: of the dataset, and its .scr */
	int64_t id;		/* 0: it is being fetched */
	int metafd;		/* of `meta`; -1: not open */
	struct naming naming;
	struct arena *arena;
	struct map *paths; /* file on the prefix: its place in `files` */
	struct map *dirs;  /* directories that were made */
	size_t nfiles, cap;
	struct outset_file *files; /* in order of routing */
	/* Set by outset_complete(): */
	bool shared; /* ranks share a file of the dataset */
	size_t nowned;
	struct redundancy_file *owned;
	size_t *routed; /* for each of `owned`: its place in `files` */
};

/* Return its metadata directory, open until outset_free(); -1: error. */
int outset_meta(struct outset *o, struct error *err);

/* Write filemap_R, with the data protected. */
int outset_write_filemap(struct outset *o, struct redundancy_file *map,
			 struct error *err);

#endif /* SCR_OUTSET_IMPL_H */
