/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers.h - the condition of the containers of a packed dataset, and its
 * report as a line, a table, a map and JSON (scr_inspect(1)).
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
	bool bad;	   /* missing or damaged */
};

/*
 * List all ranges, sorted by container, then offset: those of container i are
 * from (*first)[i] to before (*first)[i + 1].  A segment that reaches beyond
 * the end of its container is split into the part found and the part missing.
 * Both for mem_free().
 */
struct container_span *containers_spans(const struct containers *k,
					size_t **first);

/* --- As text --- */

/* "7 of 29.3 KiB, 189.2 KiB in 16 files; 2 damaged" as a labelled line. */
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

#endif /* REPORT_CONTAINERS_H */
