/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rewind.h - make an older checkpoint the one that FTI restarts from
 * (fti-format(5)).
 *
 * FTI takes the first of levels 1 to 4 that has a checkpoint.  So what is at
 * lower levels than the selected one, or beside it, is hidden: renamed into a
 * directory scr_fti.hidden.N beside the directories of the levels, which FTI
 * does not know.  An archived checkpoint gets a place at level 4.  At last
 * failure and exec_id are set in config.fti; a copy of the old file stays
 * beside it.
 *
 * Before the first step all steps are written to the journal, a file
 * scr_fti.restart.N in the root directory.  A step that was done is recognized
 * by the names, so an interrupted run can be repeated or undone.  Nothing is
 * deleted but what was put in place, by fti_rewind_undo().
 *
 * Paths in a journal are untrusted, too: all stay beneath the root.
 */
#ifndef FTIJOB_REWIND_H
#define FTIJOB_REWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fti/name.h"

struct arena;
struct buf;
struct error;
struct fti_set;
struct fti_tree;
struct work;

enum fti_step_kind {
	FTI_STEP_HIDE, /* rename a directory or file */
	FTI_STEP_MAKE, /* make the directory `to`, for files to put */
	FTI_STEP_PUT,  /* link or copy a file */
};

struct fti_step {
	enum fti_step_kind kind;
	const char *from, *to; /* MAKE: from is NULL */
	bool dir;	       /* HIDE */
	uint64_t size; /* PUT: to recognize the file when it is undone */
	int64_t mtime; /* nanoseconds */
};

enum fti_rewind_state {
	FTI_REWIND_PLANNED,
	FTI_REWIND_BEGUN, /* interrupted, or failed */
	FTI_REWIND_DONE,
	FTI_REWIND_UNDOING,
};

struct fti_rewind {
	int fd;		  /* of the root, borrowed */
	const char *root; /* as given; for messages */
	unsigned number;  /* N: 1 or more */
	enum fti_rewind_state state;
	const char *exec;
	enum fti_level level; /* where FTI finds it in the end */
	uint32_t id;
	/* config.fti below the root, or NULL: there is none. */
	const char *config, *backup;
	bool outside; /* PUT: `from` is below another directory */
	struct fti_step *steps;
	size_t count, room;
	struct arena *arena;
};

/* Plan, as number N, to select this checkpoint of the tree, of level 1 to 4 or
 * archived.  `from`: the tree that it belongs to; another one than `t` gives a
 * checkpoint of L4.  ERROR_USAGE: the root is a directory of a level itself.
 * Call fti_rewind_free() also after a failure. */
int fti_rewind_plan(struct fti_rewind *r, unsigned number,
		    const struct fti_tree *t, const struct fti_set *set,
		    const struct fti_tree *from, struct error *err);

/* Read the newest journal.  Returns 1; 0: there is none, and r->number is that
 * of the first one; -1: also ERROR_CORRUPT. */
int fti_rewind_find(struct fti_rewind *r, int fd, const char *root,
		    struct error *err);

/* Parse the bytes of a journal into *r, which has a root, a number and an
 * arena.  ERROR_CORRUPT. */
int fti_rewind_parse(struct fti_rewind *r, const char *text, size_t len,
		     struct error *err);

/* Does config.fti already say so?  1, 0, or -1. */
int fti_rewind_config_ready(const struct fti_rewind *r, struct error *err);

/* Does FTI look for the checkpoint in the directory of `path`, a file of it, if
 * it uses the configuration?  1; 0: *expected is where it looks, or why that is
 * not known; -1. */
int fti_rewind_looks(const struct fti_rewind *r, const char *path,
		     struct buf *expected, struct error *err);

/* Carry out all steps that are not done yet.  `fromfd`: the directory of files
 * to put, -1: the root. */
int fti_rewind_apply(struct fti_rewind *r, int fromfd, const struct work *w,
		     struct error *err);

/* Undo all steps, and remove the journal.  ERROR_USAGE: files were changed
 * since, and nothing is undone. */
int fti_rewind_undo(struct fti_rewind *r, const struct work *w,
		    struct error *err);

/* If there is no journal: remove what a run left that was interrupted before
 * it had one. */
void fti_rewind_forget(const struct fti_rewind *r);

void fti_rewind_free(struct fti_rewind *r);

#endif /* FTIJOB_REWIND_H */
