/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * name.h - the names of FTI's files and directories (fti-format(5)).
 *
 * Pure functions.  Numbers are decimal without leading zeros; any other name is
 * of no kind.
 */
#ifndef FTI_NAME_H
#define FTI_NAME_H

#include <stdbool.h>
#include <stdint.h>

enum fti_name_kind {
	FTI_NAME_OTHER,
	FTI_NAME_RANK,	   /* Ckpt<id>-Rank<r>.fti: the checkpoint of a rank */
	FTI_NAME_COPY,	   /* Ckpt<id>-Pcof<r>.fti: the copy of another one */
	FTI_NAME_PARITY,   /* Ckpt<id>-RSed<r>.fti */
	FTI_NAME_DCP,	   /* dCPFile-Rank<r>.fti: differential, FTI-FF */
	FTI_NAME_LAYERS,   /* dcp-id<n>-rank<r>.fti: differential, POSIX */
	FTI_NAME_MPIIO,	   /* Ckpt<id>-mpiio.fti: those of all ranks, one after
			      the other; described as POSIX files */
	FTI_NAME_SECTOR,   /* sector<s>-group<g>.fti: metadata of POSIX files */
	FTI_NAME_TOPOLOGY, /* Topology.fti */
	FTI_NAME_HISTORY,  /* Checkpoint.fti */
};

struct fti_name {
	enum fti_name_kind kind;
	uint32_t id;   /* of the checkpoint, or the n of LAYERS */
	uint32_t rank; /* or the group of SECTOR */
	uint32_t sector;
};

/* Longest name that fti_name_format() writes, with NUL. */
#define FTI_NAME_MAX 64

/* What the base name `name` is. */
struct fti_name fti_name_parse(const char *name);

/* Write the name.  Returns `to`. */
char *fti_name_format(const struct fti_name *n, char to[static FTI_NAME_MAX]);

/* The same as an argument of a function, valid until the end of the block. */
#define fti_name_str(n) fti_name_format(n, (char[FTI_NAME_MAX]){ 0 })

/* Does a file of this kind hold the variables of a rank?  Is it such a file, or
 * a copy or parity of one? */
bool fti_name_is_data(enum fti_name_kind k);
bool fti_name_is_of_rank(enum fti_name_kind k);

/* Directories that hold checkpoints. */
enum fti_level {
	FTI_L1 = 1,
	FTI_L2,
	FTI_L3,
	FTI_L4,
	FTI_DCP,     /* dCP */
	FTI_ARCHIVE, /* l4_archive */
	FTI_REPLICA, /* lL4Dir: the local copy of L4 that a head makes */
	FTI_TMP,     /* unfinished */
	FTI_NO_LEVEL,
};

/* The level of a directory by its name, and of a file by that of its
 * directory. */
enum fti_level fti_level_parse(const char *name);
enum fti_level fti_level_of(const char *path);

/* The name of its directory; for people: "L1" ... "L4", "dCP", "archive" ... */
struct fti_level_names {
	const char *dir, *name;
};
extern const struct fti_level_names fti_levels[FTI_NO_LEVEL];

/* Names of directories and files of our own below those of FTI start like this.
 * What is in such a directory is out of FTI's sight, and out of ours. */
#define FTI_OURS "scr_fti."

/* The directory of checkpoints that were archived (archive.h), and what each of
 * them is in: FTI's own archive calls directories of metadata so, too. */
#define FTI_ARCHIVE_DIR "fti_archive"
#define FTI_ARCHIVED "Ckpt_"

/* The id of a directory Ckpt_<id>, else 0. */
uint32_t fti_name_archived(const char *name);

/* Is it node<k>? */
bool fti_name_node(const char *name, uint32_t *node);

#endif /* FTI_NAME_H */
