/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gen.h - one dataset as LLNL's library leaves it, made without it: what the
 * parts of gen_dataset share.
 *
 * Everything follows from the options: contents, times and modes included.  So
 * two runs, one with and one without lost nodes, differ in nothing but what is
 * lost, and `diff -r` says whether a rebuild was right.
 */
#ifndef GEN_GEN_H
#define GEN_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"
#include "meta/redset.h"

struct arena;
struct error;

#define GEN_USER "genuser"
#define GEN_JOB "1000"

/* Working memory for each member of a set, and for writing files. */
#define GEN_BLOCK ((size_t)128 << 10)

struct gen_file {
	const char *rel;	/* below the prefix */
	const char *base;	/* its last component: the name in cache */
	const char *cache_path; /* as recorded */
	struct attr attr;
	uint32_t crc; /* with --crc */
};

struct gen_rank {
	uint32_t node;
	uint32_t set, member;	/* in gen.sets */
	struct gen_file *files; /* gen.nfiles of them, as they were routed */
	const char *map_path;	/* of the filemap, as recorded */
	void *map;		/* image of the filemap */
	struct attr map_attr;
};

struct gen_set {
	uint32_t n;
	uint32_t *ranks; /* world rank of each member, ascending */
};

struct gen {
	/* What is wanted. */
	const char *prefix;    /* where it is written */
	const char *recorded;  /* where the metadata say the prefix is */
	const char *nodes_dir; /* the nodes' directories node0, node1 ... */
	const char *name;
	int64_t id;
	uint32_t nranks, nnodes, nfiles, set_size, failures;
	enum redset_type type;
	uint64_t size, spread;
	int64_t time; /* base of all recorded times */
	bool none;    /* no redundancy at all */
	bool cyclic, is_ckpt, is_output, crc, in_prefix, in_cache;
	bool *lost; /* by node */

	/* What follows. */
	struct arena *arena;   /* owns all below */
	const char *cache_dir; /* directory of the dataset, as recorded */
	struct gen_rank *ranks;
	struct gen_set *sets;
	uint32_t nsets;
	int prefix_fd, nodes_fd; /* -1: not written */
};

/* --- sets.c --- */

/* Put ranks on nodes and into sets (formats.md 6); ERROR_USAGE if a set is too
 * small for the scheme. */
int sets_assign(struct gen *g, struct error *err);

/* The descriptor of member `member` of set `set`. */
void sets_desc(const struct gen *g, uint32_t set, uint32_t member,
	       struct redset_desc *out);

/* --- content.c --- */

/* The bytes off ... off + len - 1 of file `file` of rank `rank`. */
void content_fill(uint32_t rank, uint32_t file, uint64_t off, size_t len,
		  unsigned char *to);

/* --- place.c: where the files of a rank lie --- */

/* Make the directories; open prefix_fd and nodes_fd. */
int place_open(struct gen *g, struct error *err);
void place_close(struct gen *g);

/* One file in the making, in up to two places; none if its node is lost. */
struct place_file {
	int n;
	int fd[2];
	const char *name; /* for messages */
};

/* A data file (`rel` below the prefix, `base` in cache), or, `rel` NULL, the
 * metadata file `base`. */
int place_create(const struct gen *g, uint32_t rank, const char *rel,
		 const char *base, struct place_file *out, struct error *err);
int place_write(struct place_file *f, const void *data, size_t len,
		uint64_t off, struct error *err);

/* Close; `attr`, if not NULL, gives mode and times. */
int place_done(struct place_file *f, const struct attr *attr,
	       struct error *err);
void place_abort(struct place_file *f);

/* A whole metadata file. */
int place_meta(const struct gen *g, uint32_t rank, const char *name,
	       const void *data, size_t len, const struct attr *attr,
	       struct error *err);

/* A file of one node that only caches have; `dir` below node<K>/. */
int place_node_file(const struct gen *g, uint32_t node, const char *dir,
		    const char *name, const void *data, size_t len,
		    struct error *err);

/* --- metawrite.c: the files that are not data nor redundancy --- */

/* Fill in ranks[].files and their attributes, but for the CRC. */
int metawrite_plan(struct gen *g, struct error *err);

/* Make the images of all filemaps, and write them. */
int metawrite_filemaps(struct gen *g, struct error *err);

/* flush.scr, nodes.scr; of each node cindex.scrinfo, er and shuffile files
 * (they need ranks[].set).  Entries of other datasets stay. */
int metawrite_indexes(const struct gen *g, struct error *err);

/* --- redundancy.c --- */

/* Encode all sets and write their redundancy files: over the filemaps, or over
 * the data files. */
int redundancy_write(const struct gen *g, bool map, struct error *err);

#endif /* GEN_GEN_H */
