/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/copied.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "meta/kvtree.h"
#include "meta/kvwrite.h"
#include "meta/value.h"
#include "path.h"
#include "str.h"

#define NAME_PREFIX "copied_"
#define NAME_SUFFIX ".scr"

#define NSEC_MAX 999999999

/* Buffer size for a path in a message. */
#define PATH_SHOWN 512

enum {
	SEEN_SIZE = 1,
	SEEN_CRC = 2,
	SEEN_SECS = 4,
	SEEN_NSECS = 8,
	SEEN_ALL = 15,
};

static int
read_keys(const struct kvtree *t, struct copied_file *f, struct error *err)
{
	const struct kvtree *k = NULL;
	int64_t secs = 0, nsecs = 0;
	unsigned seen = 0;
	int rc = 0;

	kvtree_foreach (k, t) {
		const char *key = kvtree_key(k);

		if (strcmp(key, "SIZE") == 0) {
			rc = value_u64(k, INT64_MAX, &f->size, err);
			seen |= SEEN_SIZE;
		} else if (strcmp(key, "CRC") == 0) {
			rc = value_u32(k, UINT32_MAX, &f->crc, err);
			seen |= SEEN_CRC;
		} else if (strcmp(key, "MTIME_SECS") == 0) {
			rc = value_i64(k, INT64_MAX, &secs, err);
			seen |= SEEN_SECS;
		} else if (strcmp(key, "MTIME_NSECS") == 0) {
			rc = value_i64(k, NSEC_MAX, &nsecs, err);
			seen |= SEEN_NSECS;
		}
		if (rc < 0)
			return -1;
	}
	f->mtime.tv_sec = secs;
	f->mtime.tv_nsec = (long)nsecs;
	return seen == SEEN_ALL ? 0 : value_bad(err, "FILE", "keys missing");
}

int
copied_read(const struct kvtree *t, struct arena *arena, struct copied *out,
	    struct error *err)
{
	const struct kvtree *table = kvtree_get(t, "FILE"), *k = NULL;
	char shown[PATH_SHOWN];

	*out = (struct copied){ .nfiles = 0 };
	if (table == NULL)
		return kvtree_count(t) == 0 ? 0
					    : value_bad(err, "FILE", "missing");
	out->files =
		arena_alloc(arena, kvtree_count(table), sizeof(*out->files));
	if (out->files == NULL)
		return error_no_memory(err);
	kvtree_foreach (k, table) {
		struct copied_file *f = &out->files[out->nfiles];

		if (!path_is_clean(kvtree_key(k)))
			return value_bad(err, kvtree_key(k),
					 "not a path below the prefix");
		if (read_keys(k, f, err) < 0)
			return error_wrap(err, "%s",
					  str_printable(shown, sizeof(shown),
							kvtree_key(k)));
		f->path = arena_strdup(arena, kvtree_key(k));
		if (f->path == NULL)
			return error_no_memory(err);
		out->nfiles++;
	}
	return 0;
}

int
copied_encode(const struct copied *c, struct buf *out, struct error *err)
{
	struct kvwrite w;

	if (c->nfiles > UINT32_MAX)
		return error_set(err, ERROR_USAGE, "too many files in one map");
	kvtree_begin(&w, out, 1);
	kvwrite_key(&w, "FILE", (uint32_t)c->nfiles);
	for (size_t i = 0; i < c->nfiles; i++) {
		const struct copied_file *f = &c->files[i];
		/* Clamp times before 1970: such a file is copied again each
		 * time. */
		const time_t secs = f->mtime.tv_sec > 0 ? f->mtime.tv_sec : 0;

		kvwrite_key(&w, f->path, 4);
		kvwrite_u64(&w, "SIZE", f->size);
		kvwrite_crc(&w, "CRC", f->crc);
		kvwrite_u64(&w, "MTIME_SECS", (uint64_t)secs);
		kvwrite_u64(&w, "MTIME_NSECS", (uint64_t)f->mtime.tv_nsec);
	}
	return kvtree_seal(&w, err);
}

int64_t
copied_name_rank(const char *name)
{
	const size_t len = strlen(NAME_PREFIX);
	const char *end = NULL;
	uint64_t rank = 0;

	if (strncmp(name, NAME_PREFIX, len) != 0)
		return -1;
	end = value_scan(name + len, INT32_MAX, &rank);
	return end != NULL && strcmp(end, NAME_SUFFIX) == 0 ? (int64_t)rank
							    : -1;
}

char *
copied_name(char to[static COPIED_NAME_MAX], int64_t rank)
{
	snprintf(to, COPIED_NAME_MAX, NAME_PREFIX "%" PRId64 NAME_SUFFIX, rank);
	return to;
}
