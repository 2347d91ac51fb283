/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/copied.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "arena.h"
#include "dir.h"
#include "error.h"
#include "kvtree/fields.h"
#include "kvtree/kvtree.h"
#include "kvtree/kvwrite.h"
#include "kvtree/value.h"
#include "path.h"
#include "str.h"

#define NAME_PREFIX "copied_"
#define NAME_SUFFIX ".scr"

#define DESC "DSETDESC"

#define NSEC_MAX 999999999

#define AT(member) .at = offsetof(struct copied_file, member)

static const struct field fields[] = {
	{ "SIZE", FIELD_U64, AT(size), INT64_MAX },
	{ "CRC", FIELD_CRC, AT(crc), UINT32_MAX },
	{ "MTIME_SECS", FIELD_U64, AT(mtime.tv_sec), INT64_MAX },
	{ "MTIME_NSECS", FIELD_U64, AT(mtime.tv_nsec), NSEC_MAX },
};

#define NFIELDS (sizeof(fields) / sizeof(fields[0]))

int
copied_read(const struct kvtree *t, struct arena *arena, struct copied *out,
	    struct error *err)
{
	const struct kvtree *table = kvtree_get(t, "FILE"), *k = NULL;
	int found = 0;

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
		found = fields_read(fields, NFIELDS, k, f, err);
		if (found >= 0 && found < (int)NFIELDS)
			found = value_bad(err, "FILE", "keys missing");
		if (found < 0)
			return error_wrap(err, "%s", str_shown(kvtree_key(k)));
		f->path = arena_strdup(arena, kvtree_key(k));
		if (f->path == NULL)
			return error_no_memory(err);
		out->nfiles++;
	}
	return 0;
}

int
copied_each_desc(int fd, const char *what,
		 int (*fn)(void *arg, const struct kvtree *desc,
			   struct error *err),
		 void *arg, struct error *err)
{
	const char *name = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, fd, what, err);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		const struct kvtree *desc = NULL;
		struct error why = ERROR_INIT;
		struct kvtree *t = NULL;

		if (copied_name_rank(name) < 0)
			continue;
		t = kvtree_read_file(fd, name, &why);
		desc = kvtree_get(t, DESC);
		if (desc != NULL)
			rc = fn(arg, desc, err);
		kvtree_free(t);
		if (why.kind == ERROR_NOMEM)
			rc = error_no_memory(err);
	}
	return dir_done(&w, rc, err);
}

int
copied_encode(const struct copied *c, const struct kvtree *desc,
	      struct buf *out, struct error *err)
{
	struct kvwrite w;

	if (c->nfiles > UINT32_MAX)
		return error_set(err, ERROR_USAGE, "too many files in one map");
	kvtree_begin(&w, out, desc != NULL ? 2 : 1);
	if (desc != NULL)
		kvtree_put_tree(&w, DESC, desc);
	kvwrite_key(&w, "FILE", (uint32_t)c->nfiles);
	for (size_t i = 0; i < c->nfiles; i++) {
		struct copied_file f = c->files[i];

		/* Clamp times before 1970: such a file is copied again each
		 * time. */
		if (f.mtime.tv_sec < 0)
			f.mtime.tv_sec = 0;
		fields_put(fields, NFIELDS, &w, f.path, &f);
	}
	return kvtree_seal(&w, err);
}

int64_t
copied_name_rank(const char *name)
{
	return value_in_name(name, NAME_PREFIX, INT32_MAX, NAME_SUFFIX);
}

char *
copied_name(char to[static COPIED_NAME_MAX], int64_t rank)
{
	snprintf(to, COPIED_NAME_MAX, NAME_PREFIX "%" PRId64 NAME_SUFFIX, rank);
	return to;
}
