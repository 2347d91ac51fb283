/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.h - one node's part of a scavenge: copy the files of a dataset from the
 * cache of this node to the prefix.  Each file goes to the path that the job
 * recorded for it.  Redundancy files follow, and last the filemap that names
 * them.
 *
 * Every file is written to a temporary file beside its target, synced and
 * renamed.  So a target is at any time either unchanged or complete.  A target
 * that exists with other contents may belong to another dataset: it is replaced
 * only if the caller allows it.
 * copied_R.scr (meta/copied.h) records the files of rank R that are verified,
 * with checksums: a repeated run skips the recorded files, however the first
 * run ended.  A target that another program has written (an asynchronous flush,
 * for instance) is adopted if its content is the same.  Nothing outside of the
 * prefix is written, whatever the metadata contain.
 */
#ifndef SCAVENGE_COPY_H
#define SCAVENGE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scavenge/nodecache.h"

struct arena;
struct error;
struct work;

/* --- Which ranks --- */

struct copy_ranks {
	size_t count;
	struct copy_range {
		uint32_t first, last;
	} * list; /* in the arena given */
};

/* Parse a list such as "0-3,7".  ERROR_USAGE quotes the invalid text.  An empty
 * text selects no rank. */
int copy_ranks_parse(const char *text, struct arena *a, struct copy_ranks *out,
		     struct error *err);

/*
 * Read the ranks that `host` is to copy.  They are listed in file `name` below
 * `dirfd`.  Each line is "HOST RANKS"; a host may have several lines.  A host
 * without a line gets no ranks.
 */
int copy_ranks_assigned(int dirfd, const char *name, const char *host,
			struct arena *a, struct copy_ranks *out,
			struct error *err);

bool copy_ranks_has(const struct copy_ranks *r, int64_t rank);

/* --- Copying --- */

struct copy_options {
	const char *prefix;
	/* The path of the prefix when the job ran; NULL: infer it. */
	const char *moved_from;
	int64_t id;
	const struct copy_ranks *ranks; /* NULL: all in the cache */
	size_t block; /* bytes per read, at most 1 MiB; 0: PUMP_BLOCK */
	/* Replace files of other contents: their owners are already marked in
	 * the index. */
	bool replace;
	/* The data go into containers, to the places of the layout that the
	 * dataset's directory has (gather_pack.c); others give these their
	 * names. */
	bool containers;
	/* Called for each file that was not replaced, one at a time; or
	 * NULL. */
	void (*taken)(const char *rel);
	/* Each bad file is logged.  With dry_run, a target of the right size
	 * counts as adopted.  `memory` is not used. */
	const struct work *work;
};

/* files = copied + adopted + skipped + taken + bad; counts data files,
 * redundancy files and filemaps. */
struct copy_result {
	uint64_t files;
	uint64_t copied;
	uint64_t adopted; /* existed with the same content */
	uint64_t skipped; /* copied earlier, or written there by the job */
	/* not copied: a file with other contents, perhaps of another dataset,
	 * exists */
	uint64_t taken;
	uint64_t bad; /* missing, damaged, or outside of the prefix */
	/* of the bad ones: contents unknown because of an I/O error */
	uint64_t unread;
	uint64_t bytes; /* size of the copied files */
};

/*
 * Copy dataset o->id from the cache that `w` describes.  A bad file does not
 * stop the copy: *r counts it.  Returns -1 on ERROR_ABSENT (the dataset is not
 * in this cache), ERROR_USAGE (the prefix was moved, and its former path cannot
 * be inferred) and ERROR_SYSTEM (the prefix is full or not writable, or the
 * copy was stopped).  Files that are already right stay, and *r counts them.
 */
int copy_run(const struct nodecache_where *w, const struct copy_options *o,
	     struct copy_result *r, struct error *err);

#endif /* SCAVENGE_COPY_H */
