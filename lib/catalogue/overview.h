/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overview.h - every dataset of a prefix that the index, the directories of
 * metadata or flush.scr name, with what they say of it.  No file of a dataset
 * is looked at, and nothing on disk is changed.
 */
#ifndef CATALOGUE_OVERVIEW_H
#define CATALOGUE_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "meta/dataset.h"
#include "meta/haltfile.h"

struct arena;
struct catalogue;
struct error;
struct index;
struct kvtree;

/* One dataset; strings are borrowed from the survey. */
struct overview_entry {
	int64_t id;
	const char *name;    /* NULL: nowhere recorded */
	struct dataset desc; /* of index, summary or flush.scr; id 0: none */
	bool indexed;	     /* the index has it: */
	bool valid, current;
	bool finished;	    /* its COMPLETE is 1 */
	const char *reason; /* why it is not valid; "" */
	bool has_dir;	    /* PREFIX/.scr/scr.dataset.ID is there */
	bool in_cache, on_pfs, flushing; /* as flush.scr says */
};

struct overview {
	struct catalogue *catalogue;
	struct index *index;  /* NULL: none */
	const char *no_index; /* why not */
	bool remade;	      /* index.scr is damaged, this one is made from the
			dataset directories */
	struct arena *arena;
	size_t count;
	struct overview_entry *entries; /* by id */
	struct kvtree *halt_tree;
	struct halt halt; /* valid if has_halt */
	bool has_halt;
	int64_t nodes;	  /* of the last run; -1: not known */
	struct buf notes; /* lines: files that could not be read */
};

/* Look at prefix directory `path`.  For overview_fini(), in any case. */
int overview_init(struct overview *s, const char *path, struct error *err);
void overview_fini(struct overview *s);

/* The entry a user means by `text`, a name or a number; NULL: ERROR_ABSENT. */
const struct overview_entry *overview_find(const struct overview *s,
					   const char *text, struct error *err);

#endif /* CATALOGUE_OVERVIEW_H */
