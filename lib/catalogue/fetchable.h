/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fetchable.h - would the library of SCR 3.1 fetch a dataset from the prefix,
 * and get the right bytes (formats.md, last section)?  The terms "whole" and
 * "saved" mean this.
 *
 * All of these must hold: the index entry is valid; summary.scr is complete,
 * and describes the dataset of the entry; rank2file and all of its parts can be
 * read, and have every rank; every file is present, regular, readable by its
 * owner, and has the recorded size.
 */
#ifndef CATALOGUE_FETCHABLE_H
#define CATALOGUE_FETCHABLE_H

#include <stdbool.h>

struct catalogue;
struct catalogue_options;
struct error;
struct index_entry;

struct fetchable {
	/*
	 * STATUS_OK: the library would fetch it.  STATUS_DAMAGED:
	 * catalogue_build() can repair it.  STATUS_LOST.  STATUS_FAILED:
	 * unknown, because something could not be read (no permission, I/O
	 * error).
	 */
	int status;
	/* The files are in containers: libscr fetches them, LLNL's library only
	 * after the dataset is unpacked. */
	bool packed;
	bool unsafe;	/* a path leaves the prefix */
	char why[1024]; /* the reason if status is not STATUS_OK */
};

/*
 * Check dataset e->id.  Of `e`, its index entry, the id is required; without a
 * descriptor (e->desc.id is 0), the entry is not judged.  Costs one stat for
 * each file, and reading its summary, rank2file and, if there are any,
 * filemaps.  With o->checksums the files are read, too. -1: no memory, or
 * stopped.
 */
int catalogue_fetchable(struct catalogue *c, const struct index_entry *e,
			const struct catalogue_options *o,
			struct fetchable *out, struct error *err);

/* Set *err to the reason, with a kind that gives the same status (ERROR_UNSAFE:
 * also if a path leaves the prefix).  Returns -1; 0 if the dataset can be
 * fetched, perhaps only by libscr. */
int fetchable_error(const struct fetchable *f, struct error *err);

#endif /* CATALOGUE_FETCHABLE_H */
