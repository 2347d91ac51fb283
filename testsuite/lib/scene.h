/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scene.h - small datasets with redundancy in a scratch directory, for the
 * tests of lib/rescue and lib/catalogue.  They are written according to
 * formats.md 4.2 and 5, and kept in memory to compare with the rebuilt files.
 *
 * Rank r is member r / sets of set r % sets, on node r / sets.  Below the
 * prefix, its files are in ckpt/dir_r.  In a cache (one directory for each
 * node), all files are in the same directory.
 */
#ifndef SCENE_H
#define SCENE_H

#include "meta/filemap.h"
#include "meta/redset.h"
#include "rescue/plan.h"
#include "treetest.h"

#define SCENE_ID 7

struct scene {
	/* Input. */
	enum redset_type type;
	unsigned ranks, sets, failures, files;
	bool crc, cache;
	bool bare;	    /* without redundancy files */
	const char *flat;   /* a cache that is one directory for all nodes, with
			       its metadata in this directory below it */
	const char *was;    /* recorded name of the prefix; NULL: its own */
	const char *prefix; /* value of our key PREFIX in filemaps, or NULL */
	uint64_t (*size)(unsigned rank, unsigned file);

	/* Result. */
	const char *from; /* plan_options.moved_from */
	char root[96];	  /* scratch directory */
	struct tree kept; /* the files that scene_same() expects */
	struct redset_member *lists[2]; /* data files, filemaps */
	struct buf *maps;		/* images of the filemaps, by rank */
	struct arena *arena;
};

/* The first members of a scene, for its initializer. */
#define SCENE(redset, of_ranks, in_sets, survives, each) \
	.type = REDSET_##redset, .ranks = (of_ranks), .sets = (in_sets), \
	.failures = (survives), .files = (each)

/* --- Names --- */

/* Path of the prefix.  Strings from this section are from fmt(). */
char *scene_prefix(const struct scene *s);

/* Directory of a node's files, and of its metadata. */
char *scene_node(const struct scene *s, unsigned node);

/* Metadata directory of a rank; one of its files; its filemap. */
char *scene_meta(const struct scene *s, unsigned rank);
char *scene_data(const struct scene *s, unsigned rank, unsigned file);
char *scene_map(const struct scene *s, unsigned rank);

/* The redundancy file of a rank, or its descriptor. */
char *scene_red(const struct scene *s, unsigned rank, bool map,
		bool descriptor);

/* --- Contents --- */

/* The size of a file if scene.size is NULL. */
uint64_t scene_default_size(unsigned rank, unsigned file);

/* --- Comparing --- */

/* Keep the current state of all files for scene_same(). */
void scene_keep(struct scene *s);

/* Is every file as scene_keep() found it, with none lost or added? */
bool scene_same(struct scene *s);

/* --- Making and removing --- */

/* Make the dataset, removing an old one, and keep its state. */
void scene_make(struct scene *s);

/* Remove all files and free all memory. */
void scene_end(struct scene *s);
#define auto_scene __attribute__((cleanup(scene_end))) struct scene

/* --- Losses --- */

/* Remove the data files of a rank, or its redundancy files of one kind. */
void scene_lose_data(const struct scene *s, unsigned rank);
void scene_lose_reds(const struct scene *s, unsigned rank, bool map);

/* Remove all files of that rank from its node. */
void scene_lose(const struct scene *s, unsigned rank);

/* --- Plans --- */

/* plan_prefix() for a prefix given by its path. */
struct plan *plan_at(const char *prefix, int64_t id,
		     const struct plan_options *o, struct error *err);

/* Make a rebuild plan for the dataset; free with plan_free(). */
struct plan *scene_plan_with(const struct scene *s,
			     const struct plan_options *o, struct error *err);
struct plan *scene_plan(const struct scene *s, unsigned flags,
			struct error *err);

/* The status of a new plan, STATUS_FAILED if there is none; its message. */
int scene_status(const struct scene *s, unsigned flags, struct error *err);

/* Check that each allocation of a plan with this status can fail. */
void scene_plan_no_memory(const struct scene *s, unsigned flags, int status);

/* Can the plan be carried out, and is then every file as it was kept?  Frees
 * the plan. */
bool scene_rebuilds(struct scene *s, struct plan *p);

/* Find file number `file` of `rank` in a plan. */
struct plan_file *scene_find(const struct plan *p, unsigned rank,
			     unsigned file);

#endif /* SCENE_H */
