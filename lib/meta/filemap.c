/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/filemap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "meta/kvtree.h"
#include "meta/value.h"
#include "str.h"

#define NAME_PREFIX "filemap_"

/* Buffer size for a path in a message. */
#define PATH_SHOWN 512

/* LLNL stores ranks as int. */
#define RANKS_LIMIT INT32_MAX

/* Read NAME: a base name without '/', so it cannot leave its directory. */
static int
read_name(const struct kvtree *k, const char **out, struct error *err)
{
	if (value_str(k, out, err) < 0)
		return -1;
	if ((*out)[0] == '\0' || strchr(*out, '/') != NULL ||
	    ((*out)[0] == '.' &&
	     ((*out)[1] == '\0' || strcmp(*out, "..") == 0)))
		return value_bad(err, *out, "not a file name");
	return 0;
}

/* Read one key of META that attr_take() does not handle.  Strings are
 * borrowed. */
static int
read_key(const struct kvtree *k, struct filemap_file *f, struct error *err)
{
	const char *key = kvtree_key(k);

	switch (key[0]) {
	case 'C':
		if (strcmp(key, "COMPLETE") == 0)
			return value_flag(k, &f->complete, err);
		if (strcmp(key, "CRC") == 0) {
			f->has_crc = true;
			return value_u32(k, UINT32_MAX, &f->crc, err);
		}
		return 0;
	case 'N':
		return strcmp(key, "NAME") == 0 ? read_name(k, &f->name, err)
						: 0;
	case 'O':
		return strcmp(key, "ORIG") == 0 ? value_str(k, &f->orig, err)
						: 0;
	case 'P':
		return strcmp(key, "PATH") == 0 ? value_str(k, &f->dir, err)
						: 0;
	case 'R':
		return strcmp(key, "RANKS") == 0
			       ? value_i64(k, RANKS_LIMIT, &f->ranks, err)
			       : 0;
	default:
		return 0;
	}
}

/* Copy the strings into `arena`.  Share those that equal the previous
 * file's. */
static int
copy_strings(struct filemap_file *f, const struct filemap_file *before,
	     struct arena *arena)
{
	const char *path = f->cache_path, *base = NULL;

	f->cache_path = arena_strdup(arena, path);
	if (f->cache_path == NULL)
		return -1;
	if (f->orig != NULL) {
		f->orig = arena_strdup(arena, f->orig);
		if (f->orig == NULL)
			return -1;
	}
	if (f->name != NULL) {
		/* The base name usually equals that of the path in cache. */
		base = strrchr(f->cache_path, '/');
		base = base == NULL ? f->cache_path : base + 1;
		f->name = strcmp(base, f->name) == 0
				  ? base
				  : arena_strdup(arena, f->name);
		if (f->name == NULL)
			return -1;
	}
	if (f->dir != NULL) {
		/* Most files of one rank share a directory. */
		f->dir = before != NULL && before->dir != NULL &&
					 strcmp(before->dir, f->dir) == 0
				 ? before->dir
				 : arena_strdup(arena, f->dir);
		if (f->dir == NULL)
			return -1;
	}
	return 0;
}

/* Read child `k` of FILE: path -> META -> keys. */
static int
read_file(const struct kvtree *k, struct filemap_file *f, struct error *err)
{
	const struct kvtree *child = NULL;
	char shown[PATH_SHOWN];
	unsigned seen = 0;
	int taken = 0;

	f->cache_path = kvtree_key(k);
	f->ranks = -1;
	kvtree_foreach (child, kvtree_get(k, "META")) {
		taken = attr_take(child, &f->attr, &seen, err);
		if (taken == 0)
			taken = read_key(child, f, err);
		if (taken < 0)
			return error_wrap(err, "%s",
					  str_printable(shown, sizeof(shown),
							f->cache_path));
	}
	attr_settle(&f->attr, seen);
	return 0;
}

/* Read all files of the FILE table. */
static int
read_table(const struct kvtree *table, struct arena *arena, struct filemap *out,
	   struct error *err)
{
	const struct kvtree *k = NULL;
	struct filemap_file *before = NULL, *f = NULL;

	out->files =
		arena_alloc(arena, kvtree_count(table), sizeof(*out->files));
	if (out->files == NULL)
		return error_no_memory(err);
	kvtree_foreach (k, table) {
		f = &out->files[out->nfiles];
		if (read_file(k, f, err) < 0)
			return -1;
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
filemap_read(const struct kvtree *t, struct arena *arena, struct filemap *out,
	     struct error *err)
{
	const struct kvtree *table = kvtree_get(t, "FILE");
	const struct kvtree *prefix = kvtree_get(t, "PREFIX");
	const size_t known = (table != NULL) + (prefix != NULL);

	memset(out, 0, sizeof(*out));
	out->ranks = -1;
	/* A rank without files has an empty map (formats.md 4.2).  A tree that
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
	return table == NULL ? 0 : read_table(table, arena, out, err);
}

static int
write_str(struct kvtree *t, const char *key, const char *value,
	  struct error *err)
{
	return value == NULL ? 0 : kvtree_set(t, key, value, err);
}

static int
write_time(struct kvtree *t, const char *secs, const char *nsecs,
	   const struct timespec *ts, struct error *err)
{
	if (kvtree_set_u64(t, secs, (uint64_t)ts->tv_sec, err) < 0)
		return -1;
	return kvtree_set_u64(t, nsecs, (uint64_t)ts->tv_nsec, err);
}

/* Write the keys of META that redundancy headers have too, in filemap order. */
static int
write_attr(struct kvtree *t, const struct attr *a, struct error *err)
{
	if (a->has_owner && (kvtree_set_u64(t, "MODE", a->mode, err) < 0 ||
			     kvtree_set_u64(t, "UID", a->uid, err) < 0 ||
			     kvtree_set_u64(t, "GID", a->gid, err) < 0))
		return -1;
	if (a->has_times &&
	    (write_time(t, "ATIME_SECS", "ATIME_NSECS", &a->atime, err) < 0 ||
	     write_time(t, "CTIME_SECS", "CTIME_NSECS", &a->ctime, err) < 0 ||
	     write_time(t, "MTIME_SECS", "MTIME_NSECS", &a->mtime, err) < 0))
		return -1;
	return 0;
}

int
filemap_add(struct kvtree *t, const struct filemap_file *f, struct error *err)
{
	struct kvtree *meta = kvtree_put(t, "FILE", err);

	meta = meta == NULL ? NULL : kvtree_put(meta, f->cache_path, err);
	meta = meta == NULL ? NULL : kvtree_put(meta, "META", err);
	if (meta == NULL)
		return -1;
	/* Keys in the order of formats.md 4.2. */
	if ((f->has_crc && kvtree_set_crc(meta, "CRC", f->crc, err) < 0) ||
	    (f->ranks >= 0 &&
	     kvtree_set_i64(meta, "RANKS", f->ranks, err) < 0) ||
	    write_str(meta, "ORIG", f->orig, err) < 0 ||
	    write_str(meta, "PATH", f->dir, err) < 0 ||
	    write_str(meta, "NAME", f->name, err) < 0 ||
	    (f->attr.has_size &&
	     kvtree_set_u64(meta, "SIZE", f->attr.size, err) < 0) ||
	    kvtree_set_u64(meta, "COMPLETE", f->complete, err) < 0)
		return -1;
	return write_attr(meta, &f->attr, err);
}

int64_t
filemap_name_rank(const char *name)
{
	const size_t len = strlen(NAME_PREFIX);
	uint64_t rank = 0;

	if (strncmp(name, NAME_PREFIX, len) != 0 ||
	    !value_number(name + len, RANKS_LIMIT, &rank))
		return -1;
	return (int64_t)rank;
}

char *
filemap_name(char *to, size_t size, int64_t rank)
{
	snprintf(to, size, NAME_PREFIX "%" PRId64, rank);
	return to;
}
