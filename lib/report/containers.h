/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers.h - the condition of the containers of a packed dataset, and its
 * report as a line, a table, JSON and pictures (scr_inspect(1)).
 */
#ifndef REPORT_CONTAINERS_H
#define REPORT_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/packed.h"

struct catalogue;
struct catalogue_options;
struct buf;
struct error;
struct json;
struct plan;
struct style;
struct verify_listener;
struct condition;

/* --- Condition --- */

enum container_state {
	CONTAINER_WHOLE,
	CONTAINER_MISSING,
	CONTAINER_TYPE,	  /* a directory, a device */
	CONTAINER_SHORT,  /* shorter than recorded */
	CONTAINER_LONG,	  /* longer than recorded */
	CONTAINER_MAP,	  /* its map is inconsistent */
	CONTAINER_UNDONE, /* a rebuild of some part is unfinished */
	CONTAINER_SUM,	  /* some bytes have a wrong checksum */
	CONTAINER_STATES
};

struct container {
	const char *name; /* ".scr/ctr.0.scr": untrusted */
	uint64_t size;	  /* recorded; else end of its last file */
	uint64_t have;	  /* bytes found */
	uint64_t used;	  /* bytes that belong to files */
	size_t files;	  /* files with bytes in it */
	size_t at;	  /* index in its map */
	bool redundancy;  /* holds redundancy, not data */
	enum container_state state;
};

/* One of the two maps, of data or of redundancy.  A segment that is damaged, or
 * in doubt, is `gone`. */
struct containers_part {
	struct segmap *map;
	size_t *pos; /* by container of the map: index in containers.list */
};

struct containers {
	struct packed packed;
	size_t count, damaged;
	/* of data, then of redundancy; each sorted by name */
	struct container *list;
	struct containers_part parts[2]; /* data, redundancy */
	bool looked;
	struct packed_health
		health; /* valid if flaws were heard; without `bad` */
};

/*
 * Open the containers of the dataset that `word` names; free them with
 * containers_free().  NULL and ERROR_ABSENT: not packed, or missing; other
 * errors as packed_open().
 */
struct containers *containers_open(struct catalogue *c, const char *word,
				   const struct catalogue_options *o,
				   struct error *err);
void containers_free(struct containers *k);

/*
 * Check the containers.  Files that `plan` (or NULL) has checked are not read
 * again; with o->checksums all bytes are read and compared.  `flaws` gets every
 * flaw, and k->health is filled in; NULL: only the states.  -1: the check could
 * not be made.
 */
int containers_look(struct containers *k, const struct plan *plan,
		    const struct catalogue_options *o,
		    const struct verify_listener *flaws, struct error *err);

/* "whole", "missing", "truncated" ... */
const char *container_state_name(enum container_state s);

/* --- Contents --- */

/* A range of a container that belongs to one file and is entirely good or
 * entirely bad. */
struct container_span {
	const struct segmap_file *file;
	size_t container;  /* index in containers.list */
	uint64_t off, len; /* in the container */
	uint64_t at;	   /* in the file */
	bool bad;	   /* missing or damaged */
};

/* Containers `first` ... `last` share a row of a picture. */
struct container_row {
	size_t first, last;
	bool section; /* the redundancy begins here */
};

/* What pictures of containers have in common. */
struct container_picture {
	const struct containers *k;
	struct container_span *spans; /* sorted by container, then offset */
	size_t *first; /* by container; with the end of the last one */
	struct container_row *rows;
	size_t shown, more; /* rows; containers in no row */
	uint64_t room;	    /* bytes of the largest container, at least 1 */
};

/*
 * List all ranges, and assign containers to at most `rows` rows: each has its
 * own row; or, if there are more than `alone`, neighbours of equal size that
 * are all whole or all missing share one.
 */
void container_picture(const struct containers *k, size_t alone, size_t rows,
		       struct container_picture *out);
void container_picture_free(struct container_picture *p);

/* --- As text --- */

/* "7 of 29.3 KiB, 189.2 KiB in 16 files; 2 damaged" as a labelled line; nothing
 * for NULL. */
void report_containers_head(const struct containers *k, struct buf *out);

/* A row for each container that is not whole; with `all`, for each. */
void report_containers_table(const struct containers *k, bool all,
			     struct buf *out);

/* Draw the bytes of the containers, a row for each. */
void report_containers_map(const struct containers *k,
			   const struct style *style, struct buf *out);

/* --- For programs --- */

void report_set_crc(struct json *j, uint32_t crc);

/* A file of the map with its segments, and which are damaged, if they were
 * checked; else `k` is NULL. */
struct json *report_packed_file_json(const struct segmap *m,
				     const struct segmap_file *f,
				     const struct containers *k);

/* Set the members documented in scr_inspect(1); `segments`: with those of all
 * files. */
void report_containers_json(const struct containers *k, bool segments,
			    struct json *to);

/*
 * Draw the containers as SVG, without scripts or external resources; `alone`:
 * not as a part of a page.  The picture has at most some 20,000 boxes: small
 * neighbours share one.
 */
void report_svg(const struct condition *h, bool alone, struct buf *out);

#endif /* REPORT_CONTAINERS_H */
