/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scene.h - small datasets with redundancy in a scratch directory, for the
 * tests of lib/rescue and lib/catalogue: made by the plain text of formats.md
 * 4.2 and 5, and kept in memory to compare with what a rebuild brings back.
 *
 * Rank r is member r / sets of set r % sets, and lives on node r / sets.  On
 * the prefix its files lie in ckpt/dir_r; in a cache (one directory a node)
 * beside each other.
 */
#ifndef SCENE_H
#define SCENE_H

#include "buf.h"
#include "error.h"
#include "meta/filemap.h"
#include "meta/redset.h"
#include "rescue/plan.h"
#include "scratch.h"
#include "treetest.h"

#define SCENE_ID 7

struct scene {
	/* What is wanted. */
	enum redset_type type;
	unsigned ranks, sets, failures, files;
	bool crc, cache;
	const char *was;    /* the prefix's recorded name; NULL: its own */
	const char *prefix; /* our key PREFIX in filemaps, or NULL */
	uint64_t (*size)(unsigned rank, unsigned file);

	/* What there is. */
	char root[96];			/* a directory of the test's own */
	struct tree kept;		/* what scene_same() compares with */
	struct redset_member *lists[2]; /* by rank: of data, of filemaps */
	struct buf *maps;		/* images, by rank */
	struct arena *arena;
};

/* --- Names --- */

/* Names, as fmt() makes them: the prefix. */
char *scene_prefix(const struct scene *s);

/* Where the files of a node lie, and their metadata. */
char *scene_node(const struct scene *s, unsigned node);

/* Where the metadata of a rank lie; one of its files; its filemap. */
char *scene_meta(const struct scene *s, unsigned rank);
char *scene_data(const struct scene *s, unsigned rank, unsigned file);
char *scene_map(const struct scene *s, unsigned rank);

/* The redundancy file of a rank, or its descriptor. */
char *scene_red(const struct scene *s, unsigned rank, bool map,
		bool descriptor);

/* --- Contents --- */

/* The size of a file where scene.size is NULL. */
uint64_t scene_default_size(unsigned rank, unsigned file);

/* Write a file with the attributes `a`, of which the size is the data's. */
void scene_put(const char *path, const void *data, const struct attr *a);

/* --- Keeping and comparing --- */

/* Remember all files as they are now. */
void scene_keep(struct scene *s);

/* Is all as it was when it was kept: no file changed, lost, or new? */
bool scene_same(struct scene *s);

/* --- Life --- */

/* Make (anew) the dataset that is described, and keep it in mind. */
void scene_make(struct scene *s);

/* The end of it: nothing is left. */
void scene_end(struct scene *s);

/* --- Losses --- */

/* Remove the data files of a rank, or its redundancy files of one kind. */
void scene_lose_data(const struct scene *s, unsigned rank);
void scene_lose_reds(const struct scene *s, unsigned rank, bool map);

/* All that rank's node had of it. */
void scene_lose(const struct scene *s, unsigned rank);

/* --- Plans --- */

/* The plan of a rebuild of the dataset; for plan_free(). */
struct plan *scene_plan_with(const struct scene *s,
			     const struct plan_options *o, struct error *err);
struct plan *scene_plan(const struct scene *s, unsigned flags,
			struct error *err);

/* The file `rank`, `file` in a plan. */
struct plan_file *scene_find(const struct plan *p, unsigned rank,
			     unsigned file);

/* Without openat2 (old kernels, valgrind) every symbolic link is refused: no
 * case for those that lead somewhere. */
bool links_resolve(const char *what);

#endif /* SCENE_H */
