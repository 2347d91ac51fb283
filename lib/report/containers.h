/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers.h - how the containers of a packed dataset are, and that
 * as a line, a table, JSON and pictures (scr_inspect(1)).
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
struct report_style;
struct condition;

/* --- How they are --- */

enum container_state {
	CONTAINER_WHOLE,
	CONTAINER_MISSING,
	CONTAINER_TYPE,	  /* a directory, a device */
	CONTAINER_SHORT,  /* bytes of files are missing at its end */
	CONTAINER_LONG,	  /* longer than recorded */
	CONTAINER_MAP,	  /* the map lets files overlap, or reach beyond it */
	CONTAINER_UNDONE, /* a rebuild did not finish a part of it */
	CONTAINER_SUM,	  /* some of it has a wrong checksum */
	CONTAINER_STATES
};

struct container {
	const char *name; /* ".scr/ctr.0.scr": untrusted */
	uint64_t size;	  /* as recorded, or where its last file ends */
	uint64_t have;	  /* bytes that are there */
	uint64_t used;	  /* that belong to files */
	size_t files;	  /* that have bytes in it */
	size_t at;	  /* in its map */
	bool redundancy;  /* holds redundancy, not data */
	enum container_state state;
};

/* One of the two maps. */
struct containers_part {
	const struct segmap *map;
	size_t *pos; /* by container of the map: in containers.list */
	bool *bad;   /* by segment: its bytes are not those of the file, or
			there is no telling */
};

struct containers {
	struct packed packed;
	size_t count, damaged;
	struct container *list;		 /* of data, then of redundancy; each in
					    the order of their names */
	struct containers_part parts[2]; /* data, redundancy */
	bool looked;
	struct packed_health health; /* valid if it was asked for; no `bad` */
};

/*
 * Open the dataset that `what` names, for containers_free().  NULL and
 * ERROR_ABSENT where it is not packed, or not there; else as packed_open().
 */
struct containers *containers_open(struct catalogue *c, const char *what,
				   const struct catalogue_options *o,
				   struct error *err);
void containers_free(struct containers *k);

struct containers_look {
	const struct plan *plan; /* what that knows is not read again; NULL */
	const struct catalogue_options *o;
	bool sums; /* read everything and compare checksums */
	bool all;  /* give .health, and tell every flaw; else only those that
		      checksums bring to light */
	void (*tell)(void *arg, const char *what);
	void *arg;
};

/* See how the containers are.  -1: what keeps us from looking. */
int containers_look(struct containers *k, const struct containers_look *l,
		    struct error *err);

/* "whole", "missing", "truncated" ... */
const char *container_state_name(enum container_state s);

/* --- What is in them --- */

/* A stretch of a container that belongs to one file, all of it good or bad. */
struct container_span {
	const struct segmap_file *file;
	uint64_t off, len; /* in the container */
	uint64_t at;	   /* in the file */
	bool bad;	   /* not there, or wrong */
};

struct container_spans {
	struct container_span *spans; /* by container, then offset */
	size_t *first; /* by container; one more: where the last ends */
};

/* All stretches, for container_spans_free(), in any case. */
int container_spans(const struct containers *k, struct container_spans *out,
		    struct error *err);
void container_spans_free(struct container_spans *s);

/* Containers `first` ... `last` share a row of a picture. */
struct container_row {
	size_t first, last;
};

/*
 * The rows of a picture into rows[k->count]: one each, or where there are more
 * than `most` one for neighbours that are alike, whole or missing.  Returns
 * their number.
 */
size_t container_rows(const struct containers *k, size_t most,
		      struct container_row *rows);

/* "ctr.0", "ctr.3-17": what a row shows.  Returns `to`. */
char *container_row_name(const struct containers *k,
			 const struct container_row *r, char *to, size_t size);

/* "", "missing", "15 whole".  Returns `to`. */
char *container_row_state(const struct containers *k,
			  const struct container_row *r, char *to, size_t size);

/* --- As text --- */

/* "7 of 29.3 KiB, 189.2 KiB in 16 files; 2 damaged", no newline. */
void report_containers_line(const struct containers *k, struct buf *out);

/* The same as a labelled line; nothing for NULL. */
void report_containers_head(const struct containers *k, struct buf *out);

/* A row for each container that is not whole, or with `all` for each. */
void report_containers_table(const struct containers *k, bool all,
			     struct buf *out);

/* The bytes of the containers, drawn: a row for each. */
void report_containers_map(const struct containers *k,
			   const struct report_style *style, struct buf *out);

/* --- For programs --- */

/* Set the members that scr_inspect(1) names; `segments`: of all files, too. */
void report_containers_json(const struct containers *k, bool segments,
			    struct json *to);

/*
 * The picture as SVG, without scripts or anything from elsewhere.  However many
 * files there are, it has no more than some ten thousand rectangles: small
 * neighbours become one.  ERROR_USAGE: there are no containers.
 */
int report_svg(const struct condition *h, struct buf *out, struct error *err);

/* Put it into a file, all or nothing.  ERROR_USAGE: it is a device or so. */
int report_svg_save(const char *path, const struct buf *svg, struct error *err);

#endif /* REPORT_CONTAINERS_H */
