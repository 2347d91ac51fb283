/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dataset.h - the dataset descriptor (scr-dataset(5)) that is embedded in
 * index, summary, flush file and cache index.
 */
#ifndef META_DATASET_H
#define META_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;
struct json;
struct kvtree;

#define DATASET_ID_MAX 2147483647 /* LLNL reads ids as int */

struct dataset {
	int64_t id;	  /* > 0; 0: not recorded */
	const char *name; /* NULL: not recorded */
	bool is_ckpt, is_output;
	int64_t ckpt_id;    /* -1: none */
	int64_t created_us; /* microseconds since the epoch; -1: unknown */
	const char *user, *job_name, *job_id, *cluster; /* NULL: not recorded */
	int64_t files;	/* -1: not recorded (output not completed) */
	uint64_t bytes; /* valid if files >= 0 */
	int complete;	/* 1, 0, -1: not recorded */
};

/* Read the descriptor whose keys are the children of `t`.  If `t` is NULL,
 * there is no descriptor, and id becomes 0.  Strings are borrowed from `t`.
 * ERROR_CORRUPT names the key. */
int dataset_read(const struct kvtree *t, struct dataset *out,
		 struct error *err);

/* The time of creation in a descriptor; 0: unknown, or no valid descriptor. */
int64_t dataset_created(const struct kvtree *t);

/* Write as children of `t` in the order of LLNL's library (ID, NAME, FLAG_CKPT,
 * ...).  Members that are not recorded are left out. */
int dataset_write(struct kvtree *t, const struct dataset *d, struct error *err);

/* Copy a record and its strings, into `a`. */
int dataset_copy(struct dataset *to, const struct dataset *from,
		 struct arena *a, struct error *err);

/* Is the name usable: not empty, at most 1023 bytes, no control characters?
 * (Names with '/' or blanks are legal.) */
bool dataset_name_ok(const char *name);

/* Do two records of one number contradict each other in what they both have,
 * name or time of creation?  Numbers begin again with each prefix. */
bool dataset_differs(const struct dataset *a, const struct dataset *b);

/* Add members id, name, checkpoint, output, created, ... to a JSON object. */
void dataset_json(const struct dataset *d, struct json *obj);

/*
 * Read all entries of `table`, whose keys are dataset ids.  Return an array for
 * mem_free() of *count elements of `size` bytes, in ascending order of ids.
 * Each element begins with the id (int64_t); `read` fills it.  If the table is
 * empty, return NULL with *count 0.  On failure, return NULL with *count
 * SIZE_MAX: ERROR_CORRUPT, ERROR_NOMEM.
 */
void *dataset_table(const struct kvtree *table, size_t size,
		    int (*read)(const struct kvtree *entry, int64_t id,
				void *out, struct error *err),
		    size_t *count, struct error *err);

#endif /* META_DATASET_H */
