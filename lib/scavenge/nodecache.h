/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodecache.h - the survey of one node's cache: read on that node, and sent as
 * JSON to the process that plans the scavenge.
 *
 * Only metadata and the sizes of data files are read.  Damaged or unreadable
 * files are reported as a `problem` of the rank, the dataset or the node; the
 * rest of the survey is still complete.  Nothing on disk is changed.
 */
#ifndef SCAVENGE_NODECACHE_H
#define SCAVENGE_NODECACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/filemap.h"
#include "meta/redset.h"
#include "scheme/solve.h"

struct arena;
struct buf;
struct dataset;
struct error;
struct stat;

/* Longest JSON text that is accepted, in bytes. */
#define NODECACHE_MAX ((size_t)256 << 20)

/* --- Dataset directories --- */

struct nodecache_where {
	const char *cntl; /* control directory, with cindex.scrinfo; or NULL */
	/* Cache directories that hold scr.dataset.ID or node.N/scr.dataset.ID;
	 * scanned for datasets that the cache index does not list, or whose
	 * directory it does not give. */
	const char *const *cachedirs;
	size_t ncachedirs;
};

/* --- One directory --- */

/* Metadata files of one rank in the directory .scr. */
struct nodecache_slot {
	int64_t rank;
	bool map; /* filemap_<rank> exists */
	size_t nred;
	const char **red; /* names of its redundancy files, descriptors too */
};

struct nodecache_dir {
	struct arena *arena;
	int fd, meta; /* the directory, and its .scr */
	size_t count;
	struct nodecache_slot *slots; /* ranks ascending */
};

/* Call nodecache_dir_close() also on failure. */
int nodecache_dir_open(struct nodecache_dir *d, const char *path,
		       struct error *err);
void nodecache_dir_close(struct nodecache_dir *d);

/* Read filemap_<rank> below the directory `meta`: its bytes to `raw`, its
 * content, with strings in `a`, to *out. */
int nodecache_dir_map(int meta, int64_t rank, struct buf *raw,
		      struct filemap *out, struct arena *a, struct error *err);

/* Was the file written to the prefix directly (bypass)?  Judged from the paths
 * in the filemap. */
bool nodecache_dir_bypass(const struct filemap_file *f);

/*
 * Open file `f` of the directory for reading, without following a symbolic
 * link.  Returns a descriptor, or -1.  ERROR_ABSENT: missing.  ERROR_CORRUPT:
 * not a regular file.  ERROR_DAMAGED: of the wrong size, or unfinished.
 * ERROR_UNSAFE: a symbolic link, or not a clean path.
 */
int nodecache_dir_file(const struct nodecache_dir *d,
		       const struct filemap_file *f, struct error *err);

/* Open a regular file in the same way, such as a redundancy file in d->meta.
 * *st receives its attributes. */
int nodecache_dir_regular(int dirfd, const char *name, struct stat *st,
			  struct error *err);

/* --- The survey of a node --- */

/* A place in a redundancy set, from the name of the redundancy file. */
struct nodecache_red {
	bool there; /* the redundancy file is whole */
	enum redset_type type;
	uint32_t set, sets, member, members; /* set, member: from 1 */
	uint32_t failures; /* failures tolerated; PARTNER: copies */
	/* Of the header, in bytes: the size of a chunk, and of the data of the
	 * member and of its left neighbour, whose rank is left_rank (-1: both
	 * unknown). */
	uint64_t chunk, bytes, left;
	int64_t left_rank;
	/* Ranges of the member's data in files that are missing or damaged. */
	size_t nlost;
	const struct solve_range *lost;
};

struct nodecache_rank {
	int64_t rank;
	bool map;	       /* its filemap can be read */
	bool listed;	       /* it cannot, but the header of its redundancy
				  file lists its files: those counted here */
	uint64_t files, bytes; /* whole files */
	uint64_t bad;	       /* files missing, damaged or unfinished */
	uint64_t unfinished;   /* of these: never completed by the job */
	struct nodecache_red red, mapred; /* protects its files; its filemap */
	uint64_t redundancy;		  /* bytes of both redundancy files */
	const char *problem;
};

struct nodecache_dataset {
	int64_t id;
	const char *name, *dir;	   /* NULL: unknown */
	bool bypass, ckpt, output; /* from the cache index */
	uint64_t created; /* microseconds since the epoch; 0: unknown */
	/* the descriptor in the cache index of this node; not sent; NULL */
	const struct dataset *desc;
	int64_t world; /* ranks of the job; -1: unknown */
	bool nameless; /* the directory has files, but no metadata of a rank */
	const char *place; /* PATH of a file in a filemap: a directory of its
			      prefix; NULL: unknown */
	/* Equal on two nodes if they see the same directory. */
	const char *store;
	/* the first I/O error or lack of permission, which hides parts of it;
	 * NULL: none */
	const char *unread;
	size_t nranks;
	struct nodecache_rank *ranks; /* ascending */
	const char *problem;
};

struct nodecache {
	struct arena *arena; /* owns all arrays and strings */
	const char *host, *cntl;
	/* Which directories exist: bit 0 the control directory, then the cache
	 * directories in order.  Those past the last bit are not recorded. */
	uint64_t there;
	size_t ndatasets;
	struct nodecache_dataset *datasets; /* ids ascending */
	const char *problem;
	/* an I/O error or lack of permission, named in `problem`, may hide
	 * datasets */
	bool unread;
};

/*
 * List the dataset directories in n->datasets, sorted by id, then path, without
 * looking into them; n->arena must be set.  n->problem and n->unread: of the
 * cache index or a cache directory.
 */
void nodecache_dirs(struct nodecache *n, const struct nodecache_where *w);

/* Return the id of the dataset that the cache index calls `name`.  -1:
 * ERROR_ABSENT; ERROR_USAGE: several have this name. */
int64_t nodecache_named(const struct nodecache_where *w, const char *name,
			struct error *err);

/*
 * Remove dataset `id` from the caches: its entry in the cache index, and its
 * directory.  One that was not created at `created`, or whose directory is not
 * in a cache, stays.  Files that were written to the prefix directly are not in
 * the directory.  *bytes: the size of what is removed.  1: nothing is removed,
 * as the cache index has no such dataset.  ERROR_ABSENT: it was created at
 * another time.
 */
int nodecache_clean(const struct nodecache_where *w, int64_t id,
		    uint64_t created, uint64_t *bytes, struct error *err);

/* Read the cache, for nodecache_free(). */
void nodecache_read(struct nodecache *n, const struct nodecache_where *w);
void nodecache_free(struct nodecache *n);

/* Append the survey as JSON to `out`, without a final newline.  Long text is
 * broken into several lines. */
void nodecache_json(const struct nodecache *n, struct buf *out);

/* Parse `len` untrusted bytes of that JSON.  ERROR_CORRUPT names the bad
 * member.  Call nodecache_free() also on failure. */
int nodecache_parse(struct nodecache *n, const char *text, size_t len,
		    struct error *err);

#endif /* SCAVENGE_NODECACHE_H */
