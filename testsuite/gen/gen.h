/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gen.h - shared by the parts of gen_dataset, which writes one dataset as
 * LLNL's library leaves it, without that library.
 *
 * Everything follows from the options, contents, times and modes included.  So
 * a run with lost nodes and one without differ only in the lost files, and
 * `diff -r` shows whether a rebuild was right.
 *
 * What fails ends the program.
 */
#ifndef GEN_GEN_H
#define GEN_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"
#include "meta/redset.h"

struct arena;
struct buf;
struct error;
struct kvtree;

#define GEN_USER "genuser"
#define GEN_JOB "1000"

/* Size of the buffer for each member of a set and for writing files. */
#define GEN_BLOCK ((size_t)128 << 10)

struct gen_file {
	const char *rel;	/* path below the prefix */
	const char *base;	/* last component of `rel`: the name in cache */
	const char *cache_path; /* path in cache, as recorded */
	struct attr attr;
	uint32_t crc; /* only with --crc */
};

struct gen_rank {
	uint32_t node;
	uint32_t set, member;	/* indexes in gen.sets and its members */
	struct gen_file *files; /* gen.nfiles files, in the order of routing */
	const char *map_path;	/* path of the filemap, as recorded */
	void *map;		/* encoded filemap */
	struct attr map_attr;
};

struct gen_set {
	uint32_t n;
	uint32_t *ranks; /* world rank of each member, ascending */
};

struct gen {
	/* Input. */
	const char *prefix;    /* directory that is written */
	const char *recorded;  /* path of the prefix in the metadata */
	const char *nodes_dir; /* parent of node0, node1 ... */
	const char *name;
	const char *dir; /* of the files, below the prefix */
	uint64_t seed;	 /* of their contents */
	int64_t id;
	uint32_t nranks, nnodes, nfiles, set_size, failures;
	enum redset_type type;
	uint64_t size, spread;
	int64_t time;		 /* from which all recorded times are derived */
	uint32_t mode, uid, gid; /* as recorded; mode 0: by rank */
	bool none;		 /* no redundancy */
	bool cyclic, is_ckpt, is_output, crc, in_prefix, in_cache;
	bool *lost; /* for each node */

	/* Derived from the input. */
	struct arena *arena;   /* owns the arrays below */
	const char *cache_dir; /* directory of the dataset, as recorded */
	struct gen_rank *ranks;
	struct gen_set *sets;
	uint32_t nsets;
};

/* arena_alloc() that does not fail; a text in g->arena. */
void *gen_alloc(struct arena *arena, size_t count, size_t size);
__attribute__((format(printf, 2, 3))) const char *
gen_printf(const struct gen *g, const char *format, ...);

/* --- sets.c --- */

/* Assign ranks to nodes and sets (formats.md 6); ERROR_USAGE if a set is too
 * small for the scheme. */
int sets_assign(struct gen *g, struct error *err);

/* Fill in the descriptor of member `member` of set `set`. */
void sets_desc(const struct gen *g, uint32_t set, uint32_t member,
	       struct redset_desc *out);

/* --- place.c: contents and places of the files of a rank --- */

/* Compute the bytes off ... off + len - 1 of file `file` of rank `rank`; other
 * ones for each value of `variant`. */
void content_fill(uint64_t variant, uint32_t rank, uint32_t file, uint64_t off,
		  size_t len, unsigned char *to);

/* Make the directories. */
void place_open(struct gen *g);

/* A file that is being written in up to two places; in none if its node is
 * lost. */
struct place_file {
	int n;
	int fd[2];
	const char *name; /* for messages */
};

/* Create a data file (`rel` below the prefix, `base` in cache) or, if `rel` is
 * NULL, the metadata file `base`. */
void place_create(const struct gen *g, uint32_t rank, const char *rel,
		  const char *base, struct place_file *out);
void place_write(struct place_file *f, const void *data, size_t len,
		 uint64_t off);

/* Close the file.  `attr`, if not NULL, sets mode and times. */
void place_done(struct place_file *f, const struct attr *attr);

/* Write a whole metadata file; a tree, with its directory. */
void place_meta(const struct gen *g, uint32_t rank, const char *name,
		const struct buf *data, const struct attr *attr);
void place_tree(const char *path, const struct kvtree *t);

/* --- metawrite.c: all files except data and redundancy --- */

/* Fill in ranks[].files and their attributes, except the CRC. */
void metawrite_plan(struct gen *g);

/* Encode and write all filemaps. */
void metawrite_filemaps(struct gen *g);

/* Write flush.scr, nodes.scr and, for each node, cindex.scrinfo and the er and
 * shuffile files.  Needs ranks[].set.  Entries of other datasets are kept. */
void metawrite_indexes(const struct gen *g);

/* Encode all sets and write their redundancy files, over the filemaps or over
 * the data files. */
void redundancy_write(const struct gen *g, bool map);

#endif /* GEN_GEN_H */
