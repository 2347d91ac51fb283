/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h - one node's part of a scavenge: what its cache has of a dataset gets
 * to the prefix, each file to where the job meant it, with its redundancy
 * files and, last, the filemap that names them.
 *
 * Every file is written beside its place, synced, and renamed, so that at any
 * moment a target is what it was, or right.  copied_R.scr (meta/copied.h)
 * remembers what is right, with checksums; so a second call copies nothing
 * twice, whoever ended the first one.  What somebody else has copied, an
 * asynchronous flush say, is adopted if it is the same.  Nothing outside of the
 * prefix is written, whatever the metadata say.
 */
#ifndef SCAVENGE_COPY_H
#define SCAVENGE_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scavenge/nodecache.h"

struct arena;
struct error;
struct work;

/* --- Which ranks --- */

struct copy_range {
	uint32_t first, last;
};

struct copy_ranks {
	size_t count;
	struct copy_range *list; /* ascending, in the arena given */
};

/* "0-3,7": ERROR_USAGE quotes what is wrong.  "" is none. */
int copy_ranks_parse(const char *text, struct arena *a, struct copy_ranks *out,
		     struct error *err);

/*
 * The ranks that `host` is to copy by file `name` below `dirfd`: lines "HOST
 * RANKS", of which several may be of one host.  None names it: no ranks.
 */
int copy_ranks_assigned(int dirfd, const char *name, const char *host,
			struct arena *a, struct copy_ranks *out,
			struct error *err);

bool copy_ranks_has(const struct copy_ranks *r, int64_t rank);

/* --- Copying --- */

/* For who wants to tell how far it is: bytes. */
struct copy_meter {
	atomic_uint_least64_t done, total;
};

#define COPY_BLOCK ((size_t)256 << 10)

struct copy_options {
	const char *prefix;
	const char *moved_from; /* the prefix when the job ran; NULL: look */
	int64_t id;
	const struct copy_ranks *ranks; /* NULL: all that are here */
	size_t block; /* bytes read at a time, 1 MiB at most; 0: COPY_BLOCK */
	struct copy_meter *meter; /* or NULL */
	/* Each bad file is logged.  dry_run: what has the right size counts as
	 * adopted.  `memory` has no meaning. */
	const struct work *work;
};

/* files = copied + adopted + skipped + bad: data, redundancy, filemaps. */
struct copy_result {
	uint64_t files;
	uint64_t copied;
	uint64_t adopted; /* were there, and the same */
	uint64_t skipped; /* were copied before; or the job wrote them there */
	uint64_t bad;	  /* missing, short, wrong checksum, outside */
	uint64_t bytes;	  /* of those copied */
};

/*
 * Copy dataset o->id from wherever `w` leads to it.  Bad files do not stop it:
 * *r counts them.  -1: ERROR_ABSENT (no such dataset here), ERROR_USAGE (the
 * prefix has moved, and it cannot be told from where), ERROR_SYSTEM (the prefix
 * is full, cannot be written; stopped): what is right stays, and *r counts it.
 */
int copy_run(const struct nodecache_where *w, const struct copy_options *o,
	     struct copy_result *r, struct error *err);

#endif /* SCAVENGE_COPY_H */
