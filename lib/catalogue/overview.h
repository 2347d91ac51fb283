/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overview.h - all datasets of a prefix found in the index, in the metadata
 * directories or in flush.scr, with what is recorded about them.  Files of
 * datasets are not accessed, and nothing on disk is changed.
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

/* One dataset.  Strings are borrowed from the overview. */
struct overview_entry {
	int64_t id;	     /* num_by_id() */
	const char *name;    /* NULL: not recorded */
	struct dataset desc; /* from index, summary or flush.scr; id 0: none */
	bool indexed;	     /* the index has an entry, which sets: */
	bool valid, current;
	bool finished;	    /* COMPLETE is 1 */
	const char *reason; /* why the entry is not valid; "": valid */
	bool has_dir;	    /* PREFIX/.scr/scr.dataset.ID exists */
	bool in_cache, on_pfs, flushing; /* from flush.scr */
};

struct overview {
	struct catalogue *catalogue;
	bool any_name; /* the name in a summary counts, whatever else is wrong
			  with it */
	const struct index *skip; /* overview_collect() skips the datasets that
				     this index names; NULL: none */
	struct index *index;	  /* NULL: none */
	const char *no_index;	  /* why there is no index */
	bool unread;		  /* there may be one: it could not be read */
	bool remade; /* index.scr is damaged; this index was built from
				 the dataset directories */
	struct arena *arena;
	size_t count, cap;
	struct overview_entry *entries; /* sorted by id */
	struct kvtree *halt_tree;
	struct halt halt; /* valid if has_halt */
	bool has_halt;
	int64_t newest[2]; /* index_newest() */
	bool searched;	   /* set by the caller: see struct next_case */
	int64_t nodes;	   /* nodes of the last run; -1: unknown */
	struct buf notes;  /* messages about files that could not be read, one
			     per line */
};

/* Collect the datasets of the prefix directory `path`.  Call overview_fini()
 * also on failure. */
int overview_init(struct overview *s, const char *path, struct error *err);
void overview_fini(struct overview *s);

/* Add the datasets of the metadata directories and of flush.scr, for an
 * overview that has a catalogue and an arena. */
int overview_collect(struct overview *s, struct error *err);

/* The entry of dataset `id`; NULL: none. */
const struct overview_entry *overview_entry(const struct overview *s,
					    int64_t id);

/* Find the entry that the word `text` names.  NULL: as catalogue_resolve(). */
const struct overview_entry *overview_find(struct overview *s, const char *text,
					   struct error *err);

#endif /* CATALOGUE_OVERVIEW_H */
