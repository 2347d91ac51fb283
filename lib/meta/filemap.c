/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/filemap.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "kvtree/fields.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "path.h"
#include "str.h"

#define NAME_PREFIX "filemap_"

/* LLNL stores ranks as int. */
#define RANKS_LIMIT INT32_MAX

#define AT(member) .at = offsetof(struct filemap_file, member)
#define HAS(member) .has = offsetof(struct filemap_file, member)
#define OWNER HAS(attr.has_owner)
#define TIMES HAS(attr.has_times)
#define SECS_LIMIT UINT64_MAX /* as in attr.c */
#define NSEC_LIMIT UINT64_C(999999999)

/* The keys of META in the order of scr-dataset(5); the last ones are those of
 * struct attr. */
static const struct field fields[] = {
	{ "CRC", FIELD_CRC, AT(crc), UINT32_MAX, HAS(has_crc) },
	{ "RANKS", FIELD_I64, AT(ranks), RANKS_LIMIT },
	{ "ORIG", FIELD_TEXT, AT(orig) },
	{ "PATH", FIELD_TEXT, AT(dir) },
	{ "NAME", FIELD_TEXT, AT(name) },
	{ "SIZE", FIELD_U64, AT(attr.size), INT64_MAX, HAS(attr.has_size) },
	{ "COMPLETE", FIELD_FLAG, AT(complete) },
	{ "MODE", FIELD_U32, AT(attr.mode), UINT32_MAX, OWNER },
	{ "UID", FIELD_U32, AT(attr.uid), UINT32_MAX, OWNER },
	{ "GID", FIELD_U32, AT(attr.gid), UINT32_MAX, OWNER },
	{ "ATIME_SECS", FIELD_U64, AT(attr.atime.tv_sec), SECS_LIMIT, TIMES },
	{ "ATIME_NSECS", FIELD_U64, AT(attr.atime.tv_nsec), NSEC_LIMIT, TIMES,
	  .optional = true },
	{ "CTIME_SECS", FIELD_U64, AT(attr.ctime.tv_sec), SECS_LIMIT, TIMES,
	  .optional = true },
	{ "CTIME_NSECS", FIELD_U64, AT(attr.ctime.tv_nsec), NSEC_LIMIT, TIMES,
	  .optional = true },
	{ "MTIME_SECS", FIELD_U64, AT(attr.mtime.tv_sec), SECS_LIMIT, TIMES },
	{ "MTIME_NSECS", FIELD_U64, AT(attr.mtime.tv_nsec), NSEC_LIMIT, TIMES,
	  .optional = true },
};

#define NFIELDS (sizeof(fields) / sizeof(fields[0]))

/* Copy the strings into `arena`.  Share those that equal the previous
 * file's. */
static int
copy_strings(struct filemap_file *f, const struct filemap_file *before,
	     struct arena *arena)
{
	const char *base = NULL;

	f->cache_path = arena_strdup(arena, f->cache_path);
	if (f->cache_path == NULL)
		return -1;
	if (f->orig != NULL && (f->orig = arena_strdup(arena, f->orig)) == NULL)
		return -1;
	/* The base name usually equals that of the path in cache. */
	base = path_base(f->cache_path);
	if (f->name != NULL && strcmp(base, f->name) == 0)
		f->name = base;
	else if (f->name != NULL &&
		 (f->name = arena_strdup(arena, f->name)) == NULL)
		return -1;
	/* Most files of one rank share a directory. */
	if (f->dir == NULL)
		return 0;
	if (before != NULL && before->dir != NULL &&
	    strcmp(before->dir, f->dir) == 0)
		f->dir = before->dir;
	else
		f->dir = arena_strdup(arena, f->dir);
	return f->dir == NULL ? -1 : 0;
}

int
filemap_read(const struct kvtree *t, struct arena *arena, struct filemap *out,
	     struct error *err)
{
	const struct kvtree *table = kvtree_get(t, "FILE");
	const struct kvtree *prefix = kvtree_get(t, "PREFIX");
	const size_t known = (table != NULL) + (prefix != NULL);
	const struct kvtree *k = NULL;
	struct filemap_file *before = NULL;
	struct filemap_file *f = NULL;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	out->ranks = -1;
	/* A rank without files has an empty map (scr-dataset(5)).  A tree that
	 * has only other keys is not a filemap. */
	if (table == NULL && kvtree_count(t) > known)
		return value_bad(err, "FILE", "missing: not a filemap");
	if (prefix != NULL) {
		if (value_str(prefix, &out->prefix, err) < 0)
			return -1;
		out->prefix = arena_strdup(arena, out->prefix);
		if (out->prefix == NULL)
			return error_no_memory(err);
	}
	if (table == NULL)
		return 0;
	/* Read all files of the FILE table. */
	out->files =
		arena_alloc(arena, kvtree_count(table), sizeof(*out->files));
	if (out->files == NULL)
		return error_no_memory(err);
	kvtree_foreach (k, table) {
		f = &out->files[out->nfiles];
		/* path -> META -> keys.  Strings are borrowed so far. */
		f->cache_path = kvtree_key(k);
		f->ranks = -1;
		rc = fields_read(fields, NFIELDS, kvtree_get(k, "META"), f,
				 err);
		/* NAME must be a base name, so that it cannot leave its
		 * directory. */
		if (rc >= 0 && f->name != NULL &&
		    (f->name[0] == '\0' || strchr(f->name, '/') != NULL ||
		     str_eq(f->name, ".") || str_eq(f->name, "..")))
			rc = value_bad(err, f->name, "not a file name");
		if (rc < 0)
			return error_wrap(err, "%s", str_shown(f->cache_path));
		if (copy_strings(f, before, arena) < 0)
			return error_no_memory(err);
		if (f->ranks >= 0 && out->ranks >= 0 && f->ranks != out->ranks)
			return value_bad(err, "RANKS",
					 "files of one rank disagree");
		if (f->ranks >= 0)
			out->ranks = f->ranks;
		out->nfiles++;
		before = f;
	}
	return 0;
}

int
filemap_decode(const void *image, size_t len, struct arena *arena,
	       struct filemap *out, struct error *err)
{
	struct kvtree *t = kvtree_decode(image, len, NULL, err);
	int rc = t == NULL ? -1 : filemap_read(t, arena, out, err);

	kvtree_free(t);
	return rc;
}

int
filemap_add(struct kvtree *t, const struct filemap_file *f, struct error *err)
{
	struct kvtree *meta = kvtree_put(t, "FILE", err);

	meta = kvtree_put(meta, f->cache_path, err);
	return fields_write(fields, NFIELDS, kvtree_put(meta, "META", err), f,
			    err);
}

int64_t
filemap_name_rank(const char *name)
{
	return value_in_name(name, NAME_PREFIX, RANKS_LIMIT, "");
}

char *
filemap_name(char *to, size_t size, int64_t rank)
{
	snprintf(to, size, NAME_PREFIX "%" PRId64, rank);
	return to;
}
