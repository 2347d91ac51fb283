/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set.h - the checkpoints below a directory: the files of each, which of them
 * are good, what can be rebuilt, and whether FTI itself would restart from it
 * (fti-format(5)).
 *
 * A checkpoint is one id at one level of one execution.  Its ranks form groups:
 * member m of a group is on node m of a sector of group_size nodes.  At L2 the
 * right neighbour of a member has a copy of its file; at L3 each member has
 * parity, and any group_size of the files and parities of a group give all.
 *
 * Files are read in batches, so any number of ranks can be examined.
 */
#ifndef FTIJOB_SET_H
#define FTIJOB_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "fti/layout.h"
#include "fti/name.h"
#include "ftijob/tree.h"
#include "hash.h"

struct fti_posix;
struct fti_posix_file;

/* How the ranks lie on nodes.  0 and -1: not known. */
struct fti_geometry {
	uint32_t node_size;  /* ranks of a node, heads included */
	uint32_t group_size; /* nodes of a group */
	uint32_t nodes;
	int head; /* 1: the first rank of each node writes no files */
};

enum fti_state {
	FTI_STATE_GOOD,
	FTI_STATE_REFUSED, /* intact, but FTI refuses it */
	FTI_STATE_DAMAGED,
	FTI_STATE_MISSING,
	FTI_STATE_UNKNOWN, /* could not be read */
	FTI_STATE_FOREIGN, /* intact, but of another checkpoint than its name */
};

enum fti_part { FTI_OWN, FTI_COPY, FTI_PARITY, FTI_PARTS };

/* One file of a checkpoint: what it is evidence of. */
struct fti_part_file {
	const struct fti_entry *entry; /* NULL: missing */
	uint64_t at; /* where it begins in the file of all ranks */
	enum fti_state state;
	bool open; /* damaged, but nothing disproves its data */
	/* Level 3: no sum proves what repair would write, or none yet without
	 * data; then it refuses. */
	bool unproven;
	bool exact; /* it is as FTI wrote it: others can be computed from it */
	uint64_t size;	      /* in bytes */
	struct fti_meta meta; /* unless missing or damaged; FTI-FF */
	const char *problem;  /* the first, or NULL */
};

struct fti_rank {
	uint32_t rank; /* in the world; first: fti_set_rank() */
	uint32_t node, group, member;
	/* OWN and PARITY by its own number; COPY is the copy of its file, which
	 * is named after the right neighbour. */
	struct fti_part_file parts[FTI_PARTS];
	/* POSIX: what its files should be; NULL: not known. */
	const struct fti_posix_file *posix;
};

enum fti_set_state {
	FTI_SET_WHOLE,
	FTI_SET_REFUSED, /* all data are there, but FTI refuses some files */
	FTI_SET_REBUILDABLE,
	FTI_SET_LOST,
	FTI_SET_UNKNOWN, /* files or geometry could not be read */
};

struct fti_set {
	const char *exec;
	enum fti_level level;
	uint32_t id;
	bool posix; /* files without structure, described by sector files */
	bool layout_known, layout_guessed; /* guessed: by damaged files */
	enum fti_layout layout;
	struct fti_geometry geometry;
	struct fti_rank *ranks; /* ascending; of all that should have files */
	size_t nranks, groups;
	size_t found;	/* ranks with a file of their own */
	uint64_t bytes; /* of all files */
	/* Seconds since 1970: the newest record, or if records have no time,
	 * the newest file. */
	int64_t written;
	const struct fti_entry *whole; /* MPI-IO: the file of all ranks */
	bool flat; /* its files are in no directory of a level */
	/* After fti_set_keep(): the directories of all nodes; else NULL. */
	const char **dirs;
	/* By group: its data need not be read, as others have done that, and
	 * found all right; or NULL. */
	const bool *proven;
	/* FTI stops without its Topology.fti: it is there; or, unless its
	 * place is not known, where it is missing. */
	bool has_topology;
	const char *no_topology;
	/* A file left out, as a rank has another one; NULL: none. */
	const struct fti_entry *left_out;
	/* After fti_set_examine(). */
	bool data_read; /* else only records and sizes are proven */
	enum fti_set_state state;
	size_t bad;	      /* ranks without a good file of their own */
	size_t unprotected;   /* copies or parity files that are not good */
	bool stuck;	      /* fti_rebuild_try() has failed */
	const char *conflict; /* which files contradict each other, or NULL */
	const char *reason;   /* why it is not whole and protected, or NULL */
	const char *refusal;  /* why FTI would not restart from it, or NULL */
	size_t first, count;  /* entries of the tree */
	/* POSIX: entries, some of which are sector files of the level; the
	 * first problem with one, or NULL; ranks that none describes. */
	size_t metadata, nmetadata;
	const char *metadata_problem;
	size_t undescribed;
};

struct fti_sets {
	struct fti_tree tree;
	struct fti_set *list; /* by execution, level, id */
	size_t count, room;
	bool size_given;	 /* the user says how many ranks a node has */
	struct fti_posix **inis; /* metadata of the POSIX checkpoints */
	size_t ninis, room_inis;
	const char *meta_dir; /* of FTI, below the root; NULL: not known */
	struct arena *arena;
};

/*
 * Group the files below `root`.  `given`: what the user says of the geometry.
 * The rest is read from config.fti and Topology.fti if the tree has them, else
 * inferred from names and directories; then files of the last nodes may be
 * missing without a sign.  Errors are those of fti_tree_open().  Call
 * fti_sets_free() also after a failure.
 */
int fti_sets_open(struct fti_sets *s, const char *root,
		  const struct fti_geometry *given, const struct work *w,
		  struct error *err);
void fti_sets_free(struct fti_sets *s);

/*
 * For processes that share the work on a checkpoint: keep only its groups
 * `from` to `to`, before they are examined; and a digest of what their files
 * were found to be, by which two processes know that they see the same.
 */
void fti_set_keep(const struct fti_sets *s, struct fti_set *set, uint32_t from,
		  uint32_t to);
int fti_set_digest(const struct fti_sets *s, struct fti_set *set, uint32_t from,
		   uint32_t to, char digest[static HASH_TEXT],
		   struct error *err);

/* Read the files of a checkpoint, with `data` also their contents, compare them
 * with their partners, and judge it.  -1: stopped. */
int fti_set_examine(struct fti_sets *s, struct fti_set *set, bool data,
		    const struct work *w, struct error *err);

/* "whole", "rebuildable", "lost" ...; and the error that the state is,
 * ERROR_NONE: whole.  Its exit status (error_status()) is that of the state. */
struct fti_set_state_facts {
	const char *name;
	enum error_kind error;
};
extern const struct fti_set_state_facts fti_set_states[];

extern const char *const fti_state_names[]; /* "good", "damaged" ... */

/* Do the data of the file serve, whatever FTI says of it? */
bool fti_part_usable(const struct fti_part_file *p);

/* Do checkpoints of its level have such files? */
bool fti_set_has(const struct fti_set *set, enum fti_part part);

/* Are the groups of its ranks known? */
bool fti_set_is_grouped(const struct fti_set *set);

/* Does, or did, fti_set_examine() read the data of the group? */
bool fti_set_reads(const struct fti_set *set, uint32_t group);

/* Is it unknown, and will its data tell more? */
bool fti_set_asks_data(const struct fti_set *set);

/* The rank with this number, or NULL. */
struct fti_rank *fti_set_rank(struct fti_set *set, uint32_t rank);

/* The member to the left or right of `r` in its group, or NULL. */
struct fti_rank *fti_set_neighbour(struct fti_set *set,
				   const struct fti_rank *r, bool left);

/* The rank with this group and member, or NULL. */
struct fti_rank *fti_set_member(struct fti_set *set, uint32_t group,
				uint32_t member);

/* The directory of the files of each node, as FTI names it; NULL: not known.
 * All ranks' nodes have an element.  The list is for mem_free(). */
const char **fti_set_dirs(const struct fti_sets *s, struct fti_set *set);

/* The files that make up the checkpoint: those of its ranks, and of POSIX ones
 * their metadata.  `t` is the tree that it was found in.  For mem_free(). */
const struct fti_entry **fti_set_files(const struct fti_set *set,
				       const struct fti_tree *t, size_t *count);

/* The checkpoint of this execution that FTI would restart from: the first of
 * levels 1 to 4 that it accepts.  NULL: none. */
const struct fti_set *fti_sets_choice(const struct fti_sets *s,
				      const char *exec);

#endif /* FTIJOB_SET_H */
