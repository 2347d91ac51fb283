/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/rank2file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "crc.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "meta/kvtree.h"
#include "meta/rank2file_impl.h"
#include "meta/value.h"
#include "par.h"
#include "path.h"
#include "str.h"

/* Maximum level of a map, which bounds our recursion.  A level holds thousands
 * of parts, so three levels suffice for any machine. */
#define LEVEL_MAX 8

/* An absent rank costs no bytes on disk, but it costs memory here.  Accept this
 * many ranks in any case, and more only in proportion to the file sizes. */
#define RANKS_FREE ((uint64_t)65536)

/* Size of the smallest entry of a rank: a digit, NUL and a count. */
#define RANK_BYTES 6

struct image {
	const char *name;
	uint64_t offset;  /* of the kvtree in the file */
	const char *data; /* in an arena of `out`, as strings are borrowed from
			     it */
	size_t len;
	const char *body; /* its elements, see kvtree_body() */
	size_t body_len;
	const char *flaw; /* why its copy was read; NULL: it was not */
	bool odd;	  /* not in plain form: read it as a tree */
};

/* A load in progress. */
struct loader {
	struct rank2file_base base;
	struct rank2file *out;
	size_t room; /* capacity of out->trees */
	bool top_is_part;
	bool top_copied;      /* the top file is a second copy */
	struct image *images; /* parts to read */
	size_t nimages, images_room;
	int dirfd;
	const struct rank2file_image *given; /* instead of files; or NULL */
	struct map *by_name;		     /* of `given` */
	struct par *par;		     /* NULL: one thread */
	atomic_uchar *claimed; /* by rank: set if a part has the rank */
	struct map *seen;      /* names of all files read: each is read only
				  once, so a loop or fan-out cannot multiply the
				  work */
	struct buf raw;
	uint64_t bytes;	 /* size of all files */
	uint64_t nranks; /* RANKS of the top file */
};

int
rank2file_base_split(struct rank2file_base *b, const char *base)
{
	const size_t len = strlen(base), cut = strlen(RANK2FILE_OLD_SUFFIX);

	b->base = base;
	b->suffix = "";
	buf_clear(&b->stem);
	if (str_ends(base, RANK2FILE_OLD_SUFFIX) && len > cut) {
		b->suffix = RANK2FILE_OLD_SUFFIX;
		return buf_add(&b->stem, base, len - cut);
	}
	return buf_add(&b->stem, base, len);
}

bool
rank2file_part_scan(const struct rank2file_base *b, const char *tail,
		    uint64_t *level, uint64_t *writer)
{
	tail = *tail == '.' ? value_scan(tail + 1, LEVEL_MAX, level) : NULL;
	if (tail == NULL || *tail != '.')
		return false;
	tail = value_scan(tail + 1, RANK2FILE_MAX_RANKS, writer);
	return tail != NULL && strcmp(tail, b->suffix) == 0;
}

/* Make the file name of a part from the FILE value `file` in a map of level
 * `level`.  `file` is ".L.W" (the name without stem), or the complete name in
 * an SCR 1.1.8 file.  NULL: any other value, or out of memory. */
static const char *
part_name(struct loader *l, const char *file, uint64_t level, struct error *err)
{
	const struct rank2file_base *b = &l->base;
	const size_t dir = strlen(RANK2FILE_OLD_DIR);
	const char *tail = file, *name = NULL;
	uint64_t at = 0, writer = 0;

	if (*b->suffix != '\0') {
		if (!str_starts(file, RANK2FILE_OLD_DIR) ||
		    !str_starts(file + dir, b->stem.data))
			goto bad;
		tail = file + dir + b->stem.len;
	}
	if (!rank2file_part_scan(b, tail, &at, &writer) || at + 1 != level)
		goto bad;
	name = arena_printf(l->out->arena, "%s%s", b->stem.data, tail);
	if (name == NULL)
		error_no_memory(err);
	return name;
bad:
	value_bad(err, file, "not the name of a part");
	return NULL;
}

/* Keep the tree of a part, and add its ranks.  Take over `tree`, also on
 * failure. */
static int
take_tree(struct loader *l, struct kvtree *tree, struct error *err)
{
	struct rank2file *out = l->out;

	if (!MEM_ROOM(out->trees, out->ntrees, l->room)) {
		kvtree_free(tree);
		return error_no_memory(err);
	}
	out->trees[out->ntrees++] = tree;
	return rank2file_read_part(out, tree, err);
}

static int
read_level(const struct kvtree *tree, uint64_t *out, struct error *err)
{
	const struct kvtree *k = kvtree_get(tree, "LEVEL");

	if (k == NULL)
		return value_bad(err, "LEVEL", "missing");
	return value_u64(k, LEVEL_MAX, out, err);
}

/* The image `name` of those given. */
static const struct rank2file_image *
given(const struct loader *l, const char *name, struct error *err)
{
	const size_t at = map_get(l->by_name, name);

	if (at != MAP_NONE)
		return &l->given[at];
	error_set(err, ERROR_ABSENT, "%s: missing", name);
	return NULL;
}

/* Read a whole file.  Refuse a symbolic link that leads out of the
 * directory. */
static int
read_bytes(const struct loader *l, int dirfd, const char *name, struct buf *out,
	   struct error *err)
{
	const struct rank2file_image *im = NULL;
	int fd = -1, rc = -1;

	if (l->given != NULL) {
		im = given(l, name, err);
		buf_clear(out);
		return im == NULL ? -1
		       : buf_add(out, im->data, im->len) < 0
			       ? error_no_memory(err)
			       : 0;
	}
	fd = path_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK, 0, err);
	if (fd < 0)
		return -1;
	rc = io_read_fd(fd, name, KVTREE_MAX_ENCODED, out, err);
	close(fd);
	return rc;
}

/* Record that file `name` is read.  Fail if it was read before. */
static int
see(struct loader *l, const char *name, struct error *err)
{
	if (map_get(l->seen, name) != MAP_NONE)
		return error_set(err, ERROR_CORRUPT, "%s: named twice", name);
	return map_put(l->seen, name, 0) < 0 ? error_no_memory(err) : 0;
}

static int
check_offset(struct loader *l, const char *name, uint64_t offset, size_t len,
	     struct error *err)
{
	if (offset > len)
		return error_set(err, ERROR_CORRUPT, "%s: no offset %" PRIu64,
				 name, offset);
	l->bytes += len;
	return 0;
}

/* Read the tree at `offset` of a file; each file is read only once. */
static struct kvtree *
read_tree(struct loader *l, int dirfd, const char *name, uint64_t offset,
	  struct error *err)
{
	struct kvtree *tree = NULL;

	if (see(l, name, err) < 0 ||
	    read_bytes(l, dirfd, name, &l->raw, err) < 0 ||
	    check_offset(l, name, offset, l->raw.len, err) < 0)
		return NULL;
	tree = kvtree_decode(l->raw.data + offset, l->raw.len - (size_t)offset,
			     NULL, err);
	if (tree == NULL)
		error_wrap(err, "%s", name);
	return tree;
}

/* Queue a part: all parts are read together, by several threads. */
static int
queue_part(struct loader *l, const char *name, uint64_t offset,
	   struct error *err)
{
	if (see(l, name, err) < 0)
		return -1;
	if (!MEM_ROOM(l->images, l->nimages, l->images_room))
		return error_no_memory(err);
	l->images[l->nimages++] = (struct image){
		.name = name,
		.offset = offset,
	};
	return 0;
}

static int load_map(struct loader *l, int dirfd, const struct kvtree *map,
		    uint64_t level, struct error *err);

/* Read the part to which entry `k` of a map of level `level` points, and
 * everything below it. */
static int
load_part(struct loader *l, int dirfd, const struct kvtree *k, uint64_t level,
	  struct error *err)
{
	const struct kvtree *file = kvtree_get(k, "FILE");
	const struct kvtree *at = kvtree_get(k, "OFFSET");
	const char *value = NULL, *name = NULL;
	struct kvtree *tree = NULL;
	struct error why = ERROR_INIT;
	uint64_t offset = 0, below = 0;
	int rc = -1;

	if (file == NULL)
		return value_bad(err, "FILE", "missing");
	if (value_str(file, &value, err) < 0 ||
	    (at != NULL && value_u64(at, INT64_MAX, &offset, err) < 0))
		return -1;
	name = part_name(l, value, level, err);
	if (name == NULL)
		return -1;
	/* Level 0 is a part, not a map: it usually needs no tree. */
	if (level == 1)
		return queue_part(l, name, offset, err);
	tree = read_tree(l, dirfd, name, offset, &why);
	if (tree == NULL) {
		/* ABSENT is reserved for a missing top file. */
		if (why.kind == ERROR_ABSENT)
			why.kind = ERROR_CORRUPT;
		return error_pass(err, &why);
	}
	if (read_level(tree, &below, err) < 0)
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
load_map(struct loader *l, int dirfd, const struct kvtree *map, uint64_t level,
	 struct error *err)
{
	const struct kvtree *k = NULL;

	kvtree_foreach (k, kvtree_get(map, "RANK"))
		if (load_part(l, dirfd, k, level, err) < 0)
			return -1;
	return 0;
}

/* --- Second copies --- */

/* Can a second copy help against this error? */
static bool
is_damage(const struct error *why)
{
	return why->kind == ERROR_CORRUPT || why->kind == ERROR_ABSENT ||
	       why->errnum == EIO;
}

/* Is `crc` the checksum of part `name` in the top file? */
static bool
is_recorded(const struct loader *l, const char *name, uint32_t crc)
{
	const struct kvtree *k = kvtree_get(
		kvtree_get2(l->out->containers, "COPY", name), "CRC");
	uint32_t want = 0;

	return k != NULL && value_u32(k, UINT32_MAX, &want, NULL) == 0 &&
	       want == crc;
}

/* Read the top file, or else its copy. */
static struct kvtree *
read_top(struct loader *l, int dirfd, struct error *err)
{
	struct error why = ERROR_INIT;
	struct kvtree *top = read_tree(l, dirfd, l->base.base, 0, &why);
	const char *name = NULL;

	if (top != NULL)
		return top;
	name = arena_printf(l->out->arena, RANK2FILE_COPY "%s", l->base.base);
	if (name != NULL && is_damage(&why))
		top = read_tree(l, dirfd, name, 0, NULL);
	if (kvtree_get2(top, "CTR", "COPY") == NULL) {
		kvtree_free(top);
		error_pass(err, &why);
		return NULL;
	}
	l->top_copied = true;
	l->out->flaw = arena_strdup(l->out->arena, why.text);
	return top;
}

/* Read the top file and the maps, and queue the parts. */
static int
load_all(struct loader *l, int dirfd, struct error *err)
{
	struct kvtree *top = read_top(l, dirfd, err);
	const struct kvtree *ranks = kvtree_get(top, "RANKS");
	uint64_t level = 0;
	int rc = -1;

	if (top == NULL)
		return -1;
	if (ranks == NULL)
		value_bad(err, "RANKS", "missing");
	else if (value_u64(ranks, RANK2FILE_MAX_RANKS, &l->nranks, err) == 0 &&
		 read_level(top, &level, err) == 0)
		rc = 0;
	/* At level 0 the top file is the only part.  No known writer does
	 * this, but it is complete. */
	l->top_is_part = level == 0;
	if (rc == 0 && level > 0)
		rc = load_map(l, dirfd, top, level, err);
	l->out->containers = level > 0 ? kvtree_get(top, "CTR") : NULL;
	l->out->top = top;
	return rc < 0 ? error_wrap(err, "%s", l->base.base) : 0;
}

/* --- Parts, read by several threads --- */

static void
fetch_image(const struct loader *l, struct image *im, const char *name,
	    struct arena *arena, struct error *err)
{
	const struct rank2file_image *from = NULL;
	int fd = -1;

	if (l->given != NULL) {
		from = given(l, name, err);
		if (from == NULL)
			return;
		im->len = from->len;
		im->data = arena_strndup(arena, from->data, from->len);
		if (im->data == NULL)
			error_no_memory(err);
		return;
	}
	fd = path_open_beneath(l->dirfd, name, O_RDONLY | O_NONBLOCK, 0,
			       err);
	if (fd < 0)
		return;
	im->data = io_read_arena(fd, name, KVTREE_MAX_ENCODED, arena,
				 &im->len, err);
	close(fd);
}

/* Read file `name` as part `im`, and check it. */
static int
read_one(const struct loader *l, struct image *im, const char *name,
	 struct arena *arena, struct error *err)
{
	im->data = NULL;
	fetch_image(l, im, name, arena, err);
	if (im->data == NULL)
		return -1;
	if (im->offset > im->len)
		return error_set(err, ERROR_CORRUPT, "%s: no offset %" PRIu64,
				 name, im->offset);
	im->body =
		kvtree_body(im->data + im->offset, im->len - (size_t)im->offset,
			    &im->body_len, err);
	return im->body == NULL ? error_wrap(err, "%s", name) : 0;
}

/* Read the second copy of part `im`, because of *why. */
static int
read_copy(const struct loader *l, struct image *im, struct arena *arena,
	  const struct error *why)
{
	const char *name = arena_printf(arena, RANK2FILE_COPY "%s", im->name);

	im->flaw = arena_strdup(arena, why->text);
	if (name == NULL || im->flaw == NULL || !is_damage(why) ||
	    kvtree_get(l->out->containers, "COPY") == NULL ||
	    read_one(l, im, name, arena, NULL) < 0)
		return -1;
	return is_recorded(l, im->name, crc_update(0, im->data, im->len)) ? 0
									  : -1;
}

static int
read_image(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct loader *l = arg;
	struct image *im = &l->images[i];
	struct arena *arena = l->out->arenas[worker];
	struct error why = ERROR_INIT;

	if (read_one(l, im, im->name, arena, &why) == 0) {
		/* A sound part of another map: another program has written
		 * it, and the copy of the top file is older. */
		if (l->top_copied &&
		    !is_recorded(l, im->name, crc_update(0, im->data, im->len)))
			return error_set(err, ERROR_CORRUPT, "%s",
					 l->out->flaw);
		return 0;
	}
	if (read_copy(l, im, arena, &why) == 0)
		return 0;
	/* ABSENT is reserved for a missing top file. */
	if (why.kind == ERROR_ABSENT)
		why.kind = ERROR_CORRUPT;
	return error_pass(err, &why);
}

static int
scan_image(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct loader *l = arg;
	struct image *im = &l->images[i];
	int rc = rank2file_scan(l->out, l->out->arenas[worker], l->claimed,
				im->body, im->body_len);

	im->odd = rc > 0;
	return rc < 0 ? error_no_memory(err) : 0;
}

static int
make_arenas(struct loader *l, struct error *err)
{
	struct rank2file *out = l->out;
	size_t n = par_threads(l->par);

	out->arenas = mem_calloc(n, sizeof(*out->arenas));
	if (out->arenas == NULL)
		return error_no_memory(err);
	for (; out->narenas < n; out->narenas++) {
		out->arenas[out->narenas] = arena_new();
		if (out->arenas[out->narenas] == NULL)
			return error_no_memory(err);
	}
	return 0;
}

/* Read a part as a tree, because it is not in plain form. */
static int
read_odd(struct loader *l, const struct image *im, struct error *err)
{
	struct kvtree *tree = kvtree_decode(
		im->data + im->offset, im->len - (size_t)im->offset, NULL, err);
	uint64_t level = 0;

	if (tree == NULL)
		return -1;
	if (read_level(tree, &level, err) < 0 ||
	    (level != 0 &&
	     value_bad(err, "LEVEL", "not one below the map's") < 0)) {
		kvtree_free(tree);
		return -1;
	}
	return take_tree(l, tree, err);
}

/* Add the ranks of all parts that were read to out->ranks.  Strings stay in the
 * contents of the files. */
static int
scan_images(struct loader *l, struct error *err)
{
	l->claimed = mem_calloc(l->out->nranks + 1, sizeof(*l->claimed));
	if (l->claimed == NULL)
		return error_no_memory(err);
	if (par_for(l->par, l->nimages, 0, scan_image, l, err) < 0)
		return -1;
	for (size_t i = 0; i < l->nimages; i++) {
		const struct image *im = &l->images[i];

		if (im->odd && read_odd(l, im, err) < 0)
			return error_wrap(err, "%s", im->name);
	}
	return 0;
}

/* Read the queued parts and fill in out->ranks. */
static int
make_view(struct loader *l, struct error *err)
{
	struct rank2file *out = l->out;
	size_t i = 0;

	if (make_arenas(l, err) < 0 ||
	    par_for(l->par, l->nimages, 0, read_image, l, err) < 0)
		return -1;
	for (i = 0; i < l->nimages; i++) {
		l->bytes += l->images[i].len;
		if (out->flaw == NULL)
			out->flaw = l->images[i].flaw;
	}
	if (l->nranks > RANKS_FREE && l->nranks > l->bytes / RANK_BYTES)
		return error_set(err, ERROR_CORRUPT,
				 "%s: %" PRIu64 " ranks in %" PRIu64 " bytes",
				 l->base.base, l->nranks, l->bytes);
	out->nranks = (size_t)l->nranks;
	out->ranks = arena_alloc(out->arena, out->nranks, sizeof(*out->ranks));
	if (out->ranks == NULL)
		return error_no_memory(err);
	memset(out->ranks, 0, out->nranks * sizeof(*out->ranks));
	if (l->top_is_part && rank2file_read_part(out, out->top, err) < 0)
		return error_wrap(err, "%s", l->base.base);
	return scan_images(l, err);
}

/* Is no part of this generation among the files read? */
static bool
is_unused(const struct loader *l, unsigned generation)
{
	char name[NAME_MAX + 1];
	uint64_t first = 0;
	int len = 0;

	for (; first < l->nranks || first == 0; first += RANK2FILE_PART_RANKS) {
		len = snprintf(name, sizeof(name), "%s.0.%" PRIu64 "%s",
			       l->base.stem.data, first + generation,
			       l->base.suffix);
		if (len >= (int)sizeof(name) ||
		    map_get(l->seen, name) != MAP_NONE)
			return false;
	}
	return true;
}

/* LLNL's MPI writer may use any number: one per MiB of a part. */
static void
find_unused(struct loader *l)
{
	unsigned *g = &l->out->unused;

	while (!is_unused(l, *g) && *g < RANK2FILE_PART_RANKS - 1)
		(*g)++;
}

static int
load(struct loader *l, const char *base, struct error *err)
{
	struct rank2file *out = l->out;
	int rc = -1;

	memset(out, 0, sizeof(*out));
	out->arena = arena_new();
	l->seen = map_new();
	if (out->arena == NULL || l->seen == NULL ||
	    rank2file_base_split(&l->base, base) < 0) {
		error_no_memory(err);
		goto out;
	}
	if (load_all(l, l->dirfd, err) < 0 || make_view(l, err) < 0)
		goto out;
	find_unused(l);
	rc = 0;
out:
	mem_free(l->images);
	mem_free(l->claimed);
	buf_free(&l->raw);
	buf_free(&l->base.stem);
	map_free(l->seen);
	if (rc < 0)
		rank2file_free(out);
	return rc;
}

int
rank2file_load_par(int dirfd, const char *base, struct par *par,
		   struct rank2file *out, struct error *err)
{
	struct loader l = {
		.out = out,
		.raw = BUF_INIT,
		.dirfd = dirfd,
		.par = par,
	};

	return load(&l, base, err);
}

int
rank2file_load_images(const struct rank2file_image *images, size_t count,
		      const char *base, struct rank2file *out,
		      struct error *err)
{
	struct loader l = {
		.out = out,
		.raw = BUF_INIT,
		.dirfd = -1,
		.given = images,
		.by_name = map_new(),
	};
	int rc = l.by_name == NULL ? error_no_memory(err) : 0;

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
	return rank2file_load_par(dirfd, base, NULL, out, err);
}

void
rank2file_free(struct rank2file *r)
{
	size_t i = 0;

	for (i = 0; i < r->ntrees; i++)
		kvtree_free(r->trees[i]);
	mem_free(r->trees);
	for (i = 0; i < r->narenas; i++)
		arena_free(r->arenas[i]);
	mem_free(r->arenas);
	kvtree_free(r->top);
	arena_free(r->arena);
	memset(r, 0, sizeof(*r));
}
