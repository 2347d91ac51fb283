/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodecache.h - what the cache of one node holds: read on that node, and passed
 * as one line of JSON to where a scavenge is planned.
 *
 * Only metadata are read, and of data files their size.  Whatever is damaged,
 * or cannot be read, is told as a `problem` of the rank, the dataset or the
 * node; all the rest is reported as it is.  Nothing on disk is changed.
 */
#ifndef SCAVENGE_NODECACHE_H
#define SCAVENGE_NODECACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/filemap.h"
#include "meta/redset.h"

struct arena;
struct buf;
struct error;
struct kvtree;

/* Bytes of the longest line of JSON that is accepted. */
#define NODECACHE_MAX ((size_t)256 << 20)

/* --- Where to look --- */

struct nodecache_where {
	const char *cntl; /* control directory, with cindex.scrinfo; or NULL */
	/* Directories that hold scr.dataset.ID, or node.N/scr.dataset.ID: for
	 * what the cache index does not know, or cannot tell any more. */
	const char *const *cachedirs;
	size_t ncachedirs;
};

/* A directory of one dataset.  Strings are in the arena given. */
struct nodecache_found {
	int64_t id;
	const char *dir;     /* NULL: the index does not say */
	const char *name;    /* NULL: not known, for it is not in the index */
	const char *problem; /* NULL: none */
	bool bypass, ckpt, output; /* as the index says */
};

/*
 * All of them: *count, in *list, by id.  *problem: what is wrong with the
 * cache index, or with a cache directory; NULL: nothing.  -1: ERROR_NOMEM.
 */
int nodecache_dirs(const struct nodecache_where *w, struct arena *a,
		   struct nodecache_found **list, size_t *count,
		   const char **problem, struct error *err);

/* --- One directory --- */

/* What the directory .scr has of one rank. */
struct nodecache_slot {
	int64_t rank;
	bool map; /* filemap_<rank> */
	size_t nred;
	const char **red; /* names of its redundancy files, descriptors too */
};

struct nodecache_dir {
	struct arena *arena;
	const char *path;
	int fd, meta; /* the directory, and .scr in it */
	size_t count;
	struct nodecache_slot *slots; /* by rank */
};

/* For nodecache_dir_close(), in any case. */
int nodecache_dir_open(struct nodecache_dir *d, const char *path,
		       struct error *err);
void nodecache_dir_close(struct nodecache_dir *d);

/*
 * Read filemap_<rank> below `meta` into `raw`, its bytes, and `out`, whose
 * strings are in `a`; `t` is for scratch.
 */
int nodecache_dir_map(int meta, int64_t rank, struct buf *raw, struct kvtree *t,
		      struct arena *a, struct filemap *out, struct error *err);

/* Does the file lie in the prefix itself (bypass), by what is recorded? */
bool nodecache_dir_bypass(const struct filemap_file *f);

/*
 * Open file `f` of the directory for reading; nothing below it is left through
 * a link.  ERROR_ABSENT, ERROR_DAMAGED: it is there, but not as long as it
 * should be, no file, or was never completed.  -1, or a descriptor.
 */
int nodecache_dir_file(const struct nodecache_dir *d,
		       const struct filemap_file *f, struct error *err);

/* The same for redundancy file `name`, or any other in .scr. */
int nodecache_dir_meta(const struct nodecache_dir *d, const char *name,
		       struct error *err);

/* --- All of a node --- */

/* A place in a redundancy set, as the name of the file says. */
struct nodecache_red {
	bool there; /* the file is, and is whole */
	enum redset_type type;
	uint32_t set, sets, member, members; /* numbers from 1 on */
	uint32_t failures; /* members that may be lost; PARTNER: copies */
};

struct nodecache_rank {
	int64_t rank;
	bool map;	       /* its filemap can be read */
	uint64_t files, bytes; /* there, of the right size, completed */
	uint64_t bad;	       /* missing, short, never completed */
	struct nodecache_red red, mapred; /* of its data, of its filemap */
	uint64_t redundancy;		  /* bytes of the files of these */
	const char *problem;
};

struct nodecache_dataset {
	int64_t id;
	const char *name, *dir; /* NULL: not known */
	bool bypass, ckpt, output;
	int64_t world; /* ranks of the job; -1: not known */
	/* Equal on two nodes: they see the same directory. */
	const char *store;
	size_t nranks;
	struct nodecache_rank *ranks; /* ascending */
	const char *problem;
};

struct nodecache {
	struct arena *arena; /* owns all strings */
	const char *host, *cntl;
	size_t ndatasets;
	struct nodecache_dataset *datasets; /* by id */
	const char *problem;
};

/* Look.  -1: ERROR_NOMEM only.  For nodecache_free(), in any case. */
int nodecache_read(struct nodecache *n, const struct nodecache_where *w,
		   struct error *err);
void nodecache_free(struct nodecache *n);

/* As JSON, without a newline at its end, appended to `out`: one line, or where
 * that would be long several. */
int nodecache_json(const struct nodecache *n, struct buf *out,
		   struct error *err);

/* And back, from `len` untrusted bytes.  ERROR_CORRUPT names the member.  For
 * nodecache_free(), in any case. */
int nodecache_parse(struct nodecache *n, const char *text, size_t len,
		    struct error *err);

#endif /* SCAVENGE_NODECACHE_H */
