/* SPDX-License-Identifier: BSD-3-Clause */
/* regain_impl.h - shared by the files of module regain: one dataset. */
#ifndef SCR_REGAIN_IMPL_H
#define SCR_REGAIN_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"
#include "meta/filemap.h"
#include "meta/redset.h"
#include "rescue/plan.h"

struct arena;
struct held_set;
struct run;

/* A redundancy file. */
struct regain_red {
	const char *name;      /* NULL: missing */
	struct redset_name is; /* its name, parsed */
	const void *head;      /* its header, or the remaining bytes of it */
	size_t head_size;
	uint64_t size; /* of the file */
	bool known;    /* the header is valid: */
	struct redset_header h;
};

/* The files of one rank in the directory of a node. */
struct regain_part {
	uint32_t rank;
	int64_t ranks;	 /* size of the job that wrote it; -1: unknown */
	const void *map; /* its filemap; NULL: missing or damaged */
	size_t map_size;
	struct filemap fm;	  /* decoded */
	enum file_state *states;  /* by file of `fm` */
	bool *verified;		  /* by file: its checksum was compared */
	struct regain_red red[2]; /* of data; of the filemap */
	const char *descriptor[2];
	uint64_t good; /* number of files present with the right size */
	bool unread;   /* some could not be read: they may be right */
};

/* A file that was rebuilt or moved, and has no name yet. */
struct regain_built {
	const char *temp, *name;
	int dirfd;
	bool has_attr;
	struct attr attr;
	size_t file; /* of the filemap of this rank; SIZE_MAX: none */
	bool wrong;  /* its checksum is not the recorded one */
};

struct regain_builts {
	size_t count, cap;
	struct regain_built *list; /* for mem_free() */
};

struct regain {
	struct run *run;
	const struct held_set *set;
	const char *meta; /* .scr of its directory */
	struct arena *arena;
	int dirfd, metafd; /* -1: missing on this node */
	/* The parts that this rank handles: its own first, then those of ranks
	 * that run on another node. */
	size_t nparts;
	struct regain_part *parts;
	struct regain_builts moved; /* files received, not metadata */
	bool changed; /* files of this rank were moved or rebuilt */
	bool doubted; /* a file that the set rebuilt was wrong */
	bool damaged; /* since the last plan, a file of this rank turned out to
			 be damaged or unreadable */
	bool told;    /* that one is */
	bool compare; /* regain_compare() runs */
	unsigned temps;
};

/* Find the parts in the directory of this node.  Collective. */
int regain_list(struct regain *g, struct error *err);

/* Examine all files of `p`, without checksums. */
int regain_look(const struct regain *g, struct regain_part *p,
		struct error *err);

/* Read the files of this rank that are not verified yet; sets g->damaged. */
void regain_verify(struct regain *g);

/* Record the state of a file of this rank. */
void regain_mark(struct regain *g, size_t file, enum file_state state);

/* Are all files of this rank right?  ERROR_LOST. */
int regain_check(const struct regain *g, struct error *err);

/* Move parts to the nodes of their ranks; the old ones stay.  Metadata are
 * renamed; files wait in g->moved for their names.  Collective. */
int regain_move(struct regain *g, struct error *err);

/*
 * Rename the moved files, after the filemaps are right.  ERROR_USAGE: ranks
 * that now run on one node have files of the same name; nothing is replaced.
 * Collective.
 */
int regain_commit(struct regain *g, struct error *err);

/* Remove the old parts that regain_move() left.  Collective. */
int regain_drop(const struct regain *g, struct error *err);

/*
 * Rebuild the losses of this rank's set over filemaps (`map`), or over files,
 * and verify the files.  A file gets its name if its checksum is right;
 * otherwise a redundancy file of the set is damaged, and the set is rebuilt
 * without it, if possible.  Collective.  ERROR_LOST: a set cannot be rebuilt.
 */
int regain_set(struct regain *g, bool map, struct error *err);

/*
 * Compare the files with their redundancy, if some have no checksum: LLNL's
 * library records none.  Collective.  ERROR_DAMAGED: they differ, and nothing
 * tells which is wrong.  If a file turned out to be unreadable, g->damaged is
 * set, and the result means nothing.
 */
int regain_compare(struct regain *g, struct error *err);

/*
 * The computation of regain_set() or regain_compare(), by the members of set
 * `set` of `p`.  Files that are read completely are verified in the same pass.
 * Collective over the members.  The result is that of this rank.
 */
int regain_build(struct regain *g, const struct plan *p, size_t set,
		 struct regain_builts *out, struct error *err);

/* The directory of this rank's files: with `map`, of its filemap. */
int regain_fd(const struct regain *g, bool map);

/* --- Files that get their names when they are complete --- */

/* Create a file; its name goes to *temp.  Returns a descriptor, or -1. */
int regain_create(struct regain *g, const char **temp, struct error *err);

/* Add `f`, whose name is copied. */
int regain_add_built(struct regain *g, struct regain_builts *out,
		     const struct regain_built *f, struct error *err);

/* Give all of them their names and attributes. */
int regain_name(struct regain *g, const struct regain_builts *b,
		struct error *err);

#endif /* SCR_REGAIN_IMPL_H */
