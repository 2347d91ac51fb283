/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/rank2file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "map.h"
#include "mem.h"
#include "meta/dataset.h"
#include "meta/rank2file_impl.h"
#include "meta/summary.h"
#include "path.h"
#include "str.h"

/* Maximum level of a map, which bounds our recursion.  A level holds thousands
 * of parts, so three levels suffice for any machine. */
#define LEVEL_MAX 8

struct rank2file_base
rank2file_base_split(const char *base)
{
	const size_t len = strlen(base), cut = strlen(RANK2FILE_OLD_SUFFIX);
	const bool old = str_ends(base, RANK2FILE_OLD_SUFFIX) && len > cut;
	const size_t stem = old ? len - cut : len;

	return (struct rank2file_base){
		.base = base,
		.stem = (int)stem,
		.suffix = base + stem,
	};
}

char *
rank2file_part_name(const struct rank2file_base *b, uint64_t writer,
		    char to[static RANK2FILE_NAME_SIZE])
{
	snprintf(to, RANK2FILE_NAME_SIZE, "%.*s.0.%" PRIu64 "%s", b->stem,
		 b->base, writer, b->suffix);
	return to;
}

const char *
rank2file_part_file(const struct rank2file_base *b, const char *name,
		    char to[static RANK2FILE_NAME_SIZE])
{
	if (*b->suffix == '\0')
		return name + b->stem;
	snprintf(to, RANK2FILE_NAME_SIZE, RANK2FILE_OLD_DIR "%s", name);
	return to;
}

bool
rank2file_part_scan(const struct rank2file_base *b, const char *name,
		    uint64_t *level, uint64_t *writer)
{
	const char *tail = NULL;

	if (strncmp(name, b->base, (size_t)b->stem) != 0 ||
	    name[b->stem] != '.')
		return false;
	tail = value_scan(name + b->stem + 1, LEVEL_MAX, level);
	if (tail == NULL || *tail != '.')
		return false;
	tail = value_scan(tail + 1, RANK2FILE_MAX_RANKS, writer);
	return tail != NULL && strcmp(tail, b->suffix) == 0;
}

/* Make the file name of a part from the FILE value `file` in a map of level
 * `level`.  `file` is ".L.W" (the name without stem), or the complete name in
 * an SCR 1.1.8 file.  NULL: any other value, or out of memory. */
static const char *
part_name(struct rank2file_loader *l, const char *file, uint64_t level,
	  struct error *err)
{
	const struct rank2file_base *b = &l->base;
	const bool old = *b->suffix != '\0';
	const char *name = NULL;
	uint64_t at = 0, writer = 0;

	if (!old)
		name = arena_printf(l->out->arena, "%.*s%s", b->stem, b->base,
				    file);
	else if (str_starts(file, RANK2FILE_OLD_DIR))
		name = arena_strdup(l->out->arena,
				    file + strlen(RANK2FILE_OLD_DIR));
	else
		name = "";
	if (name == NULL)
		return error_no_memory_null(err);
	if (rank2file_part_scan(b, name, &at, &writer) && at + 1 == level)
		return name;
	value_bad(err, file, "not the name of a part");
	return NULL;
}

int
rank2file_read_level(const struct kvtree *tree, uint64_t *out,
		     struct error *err)
{
	const struct kvtree *k = value_need(tree, "LEVEL", err);

	return k == NULL ? -1 : value_u64(k, LEVEL_MAX, out, err);
}

/* The image `name` of those given. */
const struct rank2file_image *
rank2file_given(const struct rank2file_loader *l, const char *name,
		struct error *err)
{
	const size_t at = map_get(l->by_name, name);

	if (at != MAP_NONE)
		return &l->given[at];
	return error_set_null(err, ERROR_ABSENT, "%s: missing", name);
}

/* Read a whole file.  Refuse a symbolic link that leads out of the
 * directory. */
static int
read_bytes(const struct rank2file_loader *l, int dirfd, const char *name,
	   struct buf *out, struct error *err)
{
	const struct rank2file_image *im = NULL;

	if (l->given != NULL) {
		im = rank2file_given(l, name, err);
		buf_clear(out);
		return im == NULL ? -1
		       : buf_add(out, im->data, im->len) < 0
			       ? error_no_memory(err)
			       : 0;
	}
	return io_read_file(dirfd, name, KVTREE_MAX_ENCODED, out, err);
}

/* Record that file `name` is read.  Fail if it was read before. */
static int
see(struct rank2file_loader *l, const char *name, struct error *err)
{
	if (map_get(l->seen, name) != MAP_NONE)
		return error_set(err, ERROR_CORRUPT, "%s: named twice", name);
	return map_put(l->seen, name, 0) < 0 ? error_no_memory(err) : 0;
}

/* Read the tree at `offset` of a file; each file is read only once. */
static struct kvtree *
read_tree(struct rank2file_loader *l, int dirfd, const char *name,
	  uint64_t offset, struct error *err)
{
	struct kvtree *tree = NULL;

	if (see(l, name, err) < 0 ||
	    read_bytes(l, dirfd, name, &l->raw, err) < 0)
		return NULL;
	if (offset > l->raw.len)
		return error_set_null(err, ERROR_CORRUPT,
				      "%s: no offset %" PRIu64, name, offset);
	l->bytes += l->raw.len;
	tree = kvtree_decode(l->raw.data + offset, l->raw.len - (size_t)offset,
			     NULL, err);
	if (tree == NULL)
		error_wrap(err, "%s", name);
	return tree;
}

static int load_map(struct rank2file_loader *l, int dirfd,
		    const struct kvtree *map, uint64_t level,
		    struct error *err);

/* Read the part to which entry `k` of a map of level `level` points, and
 * everything below it. */
static int
load_part(struct rank2file_loader *l, int dirfd, const struct kvtree *k,
	  uint64_t level, struct error *err)
{
	const struct kvtree *file = value_need(k, "FILE", err);
	const struct kvtree *at = kvtree_get(k, "OFFSET");
	const char *value = NULL, *name = NULL;
	struct kvtree *tree = NULL;
	struct error why = ERROR_INIT;
	uint64_t offset = 0, below = 0;
	int rc = -1;

	if (file == NULL || value_str(file, &value, err) < 0 ||
	    (at != NULL && value_u64(at, INT64_MAX, &offset, err) < 0))
		return -1;
	name = part_name(l, value, level, err);
	if (name == NULL ||
	    (at == NULL &&
	     rank2file_refuse(l->out, err, "%s: the map has no OFFSET for it",
			      name) < 0))
		return -1;
	/* Level 0 is a part, not a map: it usually needs no tree.  All parts
	 * are read together, by several threads. */
	if (level == 1) {
		if (see(l, name, err) < 0)
			return -1;
		if (!MEM_ROOM(l->images, l->nimages, l->images_room))
			return error_no_memory(err);
		l->images[l->nimages++] = (struct rank2file_part){
			.name = name,
			.offset = offset,
		};
		return 0;
	}
	tree = read_tree(l, dirfd, name, offset, &why);
	if (tree == NULL) {
		/* ABSENT is reserved for a missing top file. */
		if (why.kind == ERROR_ABSENT)
			why.kind = ERROR_CORRUPT;
		return error_pass(err, &why);
	}
	if (rank2file_read_level(tree, &below, err) < 0)
		goto out;
	if (below + 1 != level) {
		value_bad(err, "LEVEL", "not one below the map's");
		goto out;
	}
	rc = load_map(l, dirfd, tree, below, err);
out:
	kvtree_free(tree);
	return rc < 0 ? error_wrap(err, "%s", name) : 0;
}

/* Read everything below a map of level `level` >= 1. */
static int
load_map(struct rank2file_loader *l, int dirfd, const struct kvtree *map,
	 uint64_t level, struct error *err)
{
	const struct kvtree *k = NULL;

	kvtree_foreach (k, kvtree_get(map, "RANK")) {
		struct error why = ERROR_INIT;

		if (load_part(l, dirfd, k, level, &why) == 0)
			continue;
		if (!l->left || why.errnum == EIO || !rank2file_is_damage(&why))
			return error_pass(err, &why);
		if (l->out->flaw == NULL)
			l->out->flaw = arena_strdup(l->out->arena, why.text);
	}
	return 0;
}

/* --- Second copies --- */

/* The top file of a packed dataset, its second copy, or that of all parts that
 * are there; `why`: what is wrong with the file itself. */
static struct kvtree *
read_source(struct rank2file_loader *l, struct error *why)
{
	const char *copy =
		arena_printf(l->out->arena, RANK2FILE_COPY "%s", l->base.base);
	struct kvtree *top = NULL;
	struct buf raw = BUF_INIT;

	switch (l->source) {
	case RANK2FILE_TOP:
		top = read_tree(l, l->dirfd, l->base.base, 0, why);
		/* Is there a second copy, and another one? */
		l->doubt = copy != NULL && l->given == NULL &&
			   kvtree_get2(top, "CTR", "COPY") != NULL &&
			   read_bytes(l, l->dirfd, copy, &raw, NULL) == 0 &&
			   !buf_equal(&raw, &l->raw);
		buf_free(&raw);
		return top;
	case RANK2FILE_TOP_COPY:
		l->out->instead = "its copy was read";
		if (copy == NULL || !rank2file_is_damage(why))
			return NULL;
		top = read_tree(l, l->dirfd, copy, 0, NULL);
		if (kvtree_get2(top, "CTR", "COPY") != NULL &&
		    (l->given != NULL ||
		     !rank2file_is_left_over(&l->base, l->dirfd, top)))
			return top;
		kvtree_free(top);
		return NULL;
	case RANK2FILE_TOP_MADE:
		l->out->instead = "its parts were read";
		return l->given == NULL && rank2file_is_damage(why)
			       ? rank2file_make_top(&l->base, l->dirfd)
			       : NULL;
	default:
		return l->left && why->errnum != EIO && rank2file_is_damage(why)
			       ? rank2file_make_plain_top(&l->base, l->dirfd)
			       : NULL;
	}
}

/* Read the top file and the maps, and queue the parts. */
static int
begin(struct rank2file_loader *l, const char *base, struct error *err)
{
	struct kvtree *top = NULL;
	const struct kvtree *ranks = NULL;
	struct error why = ERROR_INIT;
	uint64_t level = 0;
	int rc = -1;

	memset(l->out, 0, sizeof(*l->out));
	l->out->arena = arena_new();
	l->seen = map_new();
	l->base = rank2file_base_split(base);
	/* Read the top file, or what there is instead, from l->source on. */
	if (l->source != RANK2FILE_TOP)
		error_set(&why, ERROR_CORRUPT, "%s: not the map of its parts",
			  l->base.base);
	while ((top = read_source(l, &why)) == NULL &&
	       l->source < RANK2FILE_TOP_PLAIN)
		l->source++;
	if (top == NULL)
		return error_pass(err, &why);
	if (l->source != RANK2FILE_TOP)
		l->out->flaw = arena_strdup(l->out->arena, why.text);
	ranks = value_need(top, "RANKS", err);
	if (ranks != NULL &&
	    value_u64(ranks, RANK2FILE_MAX_RANKS, &l->nranks, err) == 0 &&
	    rank2file_read_level(top, &level, err) == 0)
		rc = 0;
	/* At level 0 the top file is the only part.  No known writer does
	 * this, but it is complete. */
	l->top_is_part = level == 0;
	if (rc == 0 && level > 0)
		rc = load_map(l, l->dirfd, top, level, err);
	l->out->containers = level > 0 ? kvtree_get(top, "CTR") : NULL;
	l->out->top = top;
	return rc < 0 ? error_wrap(err, "%s", l->base.base) : 0;
}

static void
end(struct rank2file_loader *l)
{
	mem_free(l->images);
	mem_free(l->claimed);
	buf_free(&l->raw);
	map_free(l->seen);
}

/* How many files of the map, and copies, have their checksum in the top
 * file?  Their paths count as one more, if they lie below a directory of the
 * dataset's name, as most do. */
static size_t
count_witnesses(const struct rank2file_loader *l)
{
	static const char *const tables[] = { "COPY", "HIDDEN" };
	char name[NAME_MAX + 1];
	struct summary s = { .desc = NULL };
	struct dataset d = { .name = NULL };
	struct kvtree *summary =
		summary_load(l->dirfd, SUMMARY_FILE, NULL, &s, NULL);
	const struct kvtree *k = NULL;
	struct buf raw = BUF_INIT;
	size_t i = 0, count = 0;

	while (i < l->out->nranks && l->out->ranks[i].nfiles == 0)
		i++;
	count = s.desc != NULL && dataset_read(s.desc, &d, NULL) == 0 &&
		d.name != NULL && i < l->out->nranks &&
		path_below(l->out->ranks[i].files[0].path, d.name) != NULL;
	kvtree_free(summary);
	for (int t = 0; t < 4; t++)
		kvtree_foreach (k,
				kvtree_get(l->out->containers, tables[t / 2])) {
			snprintf(name, sizeof(name), "%s%s",
				 t % 2 ? RANK2FILE_COPY : "", kvtree_key(k));
			count +=
				strchr(name, '/') == NULL &&
				io_read_file(l->dirfd, name, KVTREE_MAX_ENCODED,
					     &raw, NULL) == 0 &&
				rank2file_has_sum(k, raw.data, raw.len);
		}
	buf_free(&raw);
	return count;
}

static int
load(struct rank2file_loader *l, const char *base, struct error *err)
{
	struct rank2file other;
	struct rank2file_loader again = {
		.out = &other,
		.dirfd = l->dirfd,
		.par = l->par,
		.wanted = l->wanted,
	};
	unsigned *g = &l->out->unused;
	char name[RANK2FILE_NAME_SIZE];
	struct error why = ERROR_INIT;
	int rc = begin(l, base, &why);

	again.differ = l->differ = l->differ || l->doubt;
	if (rc == 0)
		rc = rank2file_read_parts(l, &why);
	/* Find a generation of which no part is among the files read.  LLNL's
	 * MPI writer may use any number: one for each MiB of a part. */
	for (uint64_t first = 0; rc == 0 && (first < l->nranks || first == 0) &&
				 *g < RANK2FILE_PART_RANKS - 1;) {
		rank2file_part_name(&l->base, first + *g, name);
		if (map_get(l->seen, name) == MAP_NONE) {
			first += RANK2FILE_PART_RANKS;
		} else {
			first = 0;
			(*g)++;
		}
	}
	/* Is the top file, or its copy, not that of the parts? */
	for (size_t i = 0; i < l->nimages; i++)
		l->doubt = l->doubt || l->images[i].contradicts;
	l->doubt = (l->doubt || why.kind == ERROR_LOST) && l->given == NULL &&
		   l->source < RANK2FILE_TOP_MADE;
	end(l);
	again.source = l->source + 1;
	if (l->doubt && load(&again, base, NULL) == 0) {
		/* A top file with an equal copy is not that of others. */
		if (rc < 0 ? l->differ || again.source == RANK2FILE_TOP_COPY
			   : count_witnesses(&again) > count_witnesses(l)) {
			rank2file_free(l->out);
			*l->out = other;
			l->source = again.source;
			return 0;
		}
		rank2file_free(&other);
	}
	if (rc == 0)
		return 0;
	rank2file_free(l->out);
	return error_pass(err, &why);
}

int
rank2file_load_some(int dirfd, const char *base, struct par *par,
		    const struct rank2file_filter *wanted,
		    struct rank2file *out, struct error *err)
{
	struct rank2file_loader l = {
		.out = out,
		.dirfd = dirfd,
		.par = par,
		.wanted = wanted,
	};

	return load(&l, base, err);
}

int
rank2file_load_left(int dirfd, struct rank2file *out, struct error *err)
{
	struct rank2file_loader l = {
		.out = out,
		.dirfd = dirfd,
		.left = true,
	};

	return load(&l, RANK2FILE_FILE, err);
}

int
rank2file_list(int dirfd, const char *base, struct arena *arena,
	       struct rank2file_parts *out, struct error *err)
{
	struct rank2file top = { .nranks = 0 };
	struct rank2file_loader l = {
		.out = &top,
		.dirfd = dirfd,
	};
	int rc = begin(&l, base, err);

	*out = (struct rank2file_parts){ .nranks = 0 };
	if (rc == 0) {
		/* The top file is a part itself, or names them. */
		out->nranks = (size_t)l.nranks;
		out->packed = top.containers != NULL || top.flaw != NULL;
		out->count = l.top_is_part ? 1 : l.nimages;
		out->parts =
			arena_alloc(arena, out->count, sizeof(*out->parts));
		rc = out->parts == NULL ? error_no_memory(err) : 0;
	}
	for (size_t i = 0; rc == 0 && i < out->count; i++) {
		struct rank2file_part_at *to = &out->parts[i];

		to->name = arena_strdup(
			arena, l.top_is_part ? l.base.base : l.images[i].name);
		if (!l.top_is_part)
			to->offset = l.images[i].offset;
		rc = to->name == NULL ? error_no_memory(err) : 0;
	}
	end(&l);
	if (rc == 0) {
		out->top = top.top;
		out->containers = top.containers;
		top.top = NULL;
	}
	rank2file_free(&top);
	return rc;
}

int
rank2file_load_images(const struct rank2file_image *images, size_t count,
		      const char *base, struct rank2file *out,
		      struct error *err)
{
	struct rank2file_loader l = {
		.out = out,
		.dirfd = -1,
		.given = images,
		.by_name = map_new(),
	};
	int rc = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < count && rc == 0; i++)
		if (map_put(l.by_name, images[i].name, i) < 0)
			rc = error_no_memory(err);
	if (rc == 0)
		rc = load(&l, base, err);
	map_free(l.by_name);
	return rc;
}

int
rank2file_load(int dirfd, const char *base, struct rank2file *out,
	       struct error *err)
{
	return rank2file_load_some(dirfd, base, NULL, NULL, out, err);
}

void
rank2file_free(struct rank2file *r)
{
	for (size_t i = 0; i < r->ntrees; i++)
		kvtree_free(r->trees[i]);
	mem_free(r->trees);
	for (size_t i = 0; i < r->narenas; i++)
		arena_free(r->arenas[i]);
	mem_free(r->arenas);
	kvtree_free(r->top);
	arena_free(r->arena);
	memset(r, 0, sizeof(*r));
}
