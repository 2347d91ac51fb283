/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file_parts.c - the parts of a rank2file, read by several threads.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvstream.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "mem.h"
#include "meta/rank2file.h"
#include "meta/rank2file_impl.h"
#include "par.h"
#include "path.h"

/* An absent rank costs no bytes on disk, but it costs memory here.  Accept this
 * many ranks in any case, and more only in proportion to the file sizes. */
#define RANKS_FREE ((uint64_t)65536)

/* Size of the smallest entry of a rank: a digit, NUL and a count. */
#define RANK_BYTES 6

int
rank2file_refuse(struct rank2file *out, struct error *err, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list ap;

	if (out->refused != NULL)
		return 0;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	out->refused = arena_strdup(out->arena, text);
	return out->refused == NULL ? error_no_memory(err) : 0;
}

/* Can a second copy help against this error? */
bool
rank2file_is_damage(const struct error *why)
{
	return why->kind == ERROR_CORRUPT || why->kind == ERROR_ABSENT ||
	       why->errnum == EIO;
}

/* Does the top file have the checksum of part `im`? */
static bool
is_recorded(const struct rank2file_loader *l, const struct rank2file_part *im)
{
	return rank2file_has_sum(
		kvtree_get2(l->out->containers, "COPY", im->name), im->data,
		im->len);
}

/* Read file `name` as part `im`, and check it. */
static int
read_one(const struct rank2file_loader *l, struct rank2file_part *im,
	 const char *name, struct arena *arena, struct error *err)
{
	const struct rank2file_image *from = NULL;
	int fd = -1;

	im->data = NULL;
	if (l->given != NULL) {
		from = rank2file_given(l, name, err);
		if (from == NULL)
			return -1;
		im->len = from->len;
		im->data = arena_strndup(arena, from->data, from->len);
		if (im->data == NULL)
			return error_no_memory(err);
	} else {
		fd = io_open_read(l->dirfd, name, err);
		if (fd < 0)
			return -1;
		im->data = io_read_arena(fd, name, KVTREE_MAX_ENCODED, arena,
					 &im->len, err);
		close(fd);
		if (im->data == NULL)
			return -1;
	}
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
read_copy(const struct rank2file_loader *l, struct rank2file_part *im,
	  struct arena *arena, const struct error *why)
{
	const char *name = arena_printf(arena, RANK2FILE_COPY "%s", im->name);

	im->flaw = arena_strdup(arena, why->text);
	im->instead = "its copy was read";
	if (name == NULL || im->flaw == NULL ||
	    kvtree_get(l->out->containers, "COPY") == NULL ||
	    read_one(l, im, name, arena, NULL) < 0)
		return -1;
	return is_recorded(l, im) ? 0 : -1;
}

/* Read the tables of part `im` in packed.N.scr. */
static int
read_spare(const struct rank2file_loader *l, struct rank2file_part *im,
	   struct arena *arena, const struct error *why)
{
	const struct kvtree *list = kvtree_get(l->out->containers, "HIDDEN");
	struct buf image = BUF_INIT;
	int rc = -1;

	im->flaw = arena_strdup(arena, why->text);
	im->instead = "packed.N.scr was read";
	if (im->flaw != NULL && l->given == NULL && im->offset == 0 &&
	    list != NULL &&
	    rank2file_make_part(&l->base, l->dirfd, im->name, list, &image) ==
		    0) {
		im->len = image.len;
		im->data = arena_strndup(arena, image.data, image.len);
		im->body = im->data == NULL ? NULL
					    : kvtree_body(im->data, im->len,
							  &im->body_len, NULL);
		rc = im->body == NULL ? -1 : 0;
	}
	buf_free(&image);
	return rc;
}

static int
read_image(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct rank2file_loader *l = arg;
	struct rank2file_part *im = &l->images[i];
	struct arena *arena = l->out->arenas[worker];
	struct error why = ERROR_INIT;
	struct rank2file_part own;
	struct kvtree *part = NULL;
	bool packed = false;

	if (read_one(l, im, im->name, arena, &why) == 0) {
		if (kvtree_get2(l->out->containers, "COPY", im->name) == NULL ||
		    is_recorded(l, im))
			return 0;
		/* A sound part of another map.  Without containers: another
		 * program has written it, and the copy of the top file is
		 * older. */
		if (l->source == RANK2FILE_TOP_COPY) {
			part = kvtree_decode(im->data, im->len, NULL, NULL);
			packed = rank2file_has_segments(part);
			kvtree_free(part);
			if (!packed)
				return error_set(err, ERROR_CORRUPT, "%s",
						 l->out->flaw);
		}
		own = *im;
		error_set(&why, ERROR_CORRUPT,
			  "%s: not the part that %s records", im->name,
			  l->base.base);
		if (read_copy(l, im, arena, &why) < 0 &&
		    read_spare(l, im, arena, &why) < 0)
			*im = own;
		im->contradicts = true;
		return 0;
	}
	if (rank2file_is_damage(&why) && (read_copy(l, im, arena, &why) == 0 ||
					  read_spare(l, im, arena, &why) == 0))
		return 0;
	if (l->left && why.errnum != EIO && rank2file_is_damage(&why)) {
		im->flaw = arena_strdup(arena, why.text);
		im->instead = "the other parts were read";
		im->lost = true;
		return im->flaw == NULL ? error_no_memory(err) : 0;
	}
	/* ABSENT is reserved for a missing top file. */
	if (why.kind == ERROR_ABSENT)
		why.kind = ERROR_CORRUPT;
	if (why.kind != ERROR_CORRUPT || l->out->containers == NULL)
		return error_pass(err, &why);
	why.kind = ERROR_LOST;
	return error_as(
		err, &why,
		"%s: lost with its copy and packed.N.scr, which record where "
		"these files lie in the containers: restore "
		"one of them from a backup",
		why.text);
}

/* Only the size: scan_image() reads the part. */
static int
measure_image(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct rank2file_loader *l = arg;
	struct rank2file_part *im = &l->images[i];
	struct stat st;

	(void)worker;
	(void)err; /* is reported by scan_image() */
	if (path_stat_beneath(l->dirfd, im->name, &st, NULL) == 0)
		im->len = (size_t)st.st_size;
	return 0;
}

static int
scan_image(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct rank2file_loader *l = arg;
	struct rank2file_part *im = &l->images[i];
	const struct rank2file_reader to = {
		.out = l->out,
		.arena = l->out->arenas[worker],
		.claimed = l->claimed,
		.wanted = l->wanted,
	};
	struct kvstream from;
	int rc = 1;

	/* Try to read the part without keeping its image. */
	if (l->wanted != NULL && im->offset == 0 &&
	    kvstream_open(&from, l->dirfd, im->name) == 0) {
		rc = rank2file_scan(&to, &from, &im->said);
		kvstream_close(&from);
	}
	if (im->lost)
		return 0;
	if (rc > 0) {
		if (im->data == NULL && read_image(l, i, worker, err) < 0)
			return -1;
		kvstream_memory(&from, im->body, im->body_len);
		rc = rank2file_scan(&to, &from, &im->said);
	}
	im->irregular = rc > 0;
	return rc < 0 ? error_no_memory(err) : 0;
}

/* Read a part as a tree, because it is not in plain form. */
static int
read_irregular(struct rank2file_loader *l, struct rank2file_part *im,
	       struct error *err)
{
	struct kvtree *tree = kvtree_decode(
		im->data + im->offset, im->len - (size_t)im->offset, NULL, err);
	uint64_t level = 0;
	struct rank2file *out = NULL;

	if (tree == NULL)
		return -1;
	if (rank2file_read_level(tree, &level, err) < 0 ||
	    (level != 0 &&
	     value_bad(err, "LEVEL", "not one below the map's") < 0)) {
		kvtree_free(tree);
		return -1;
	}
	/* Keep the tree of a part, and add its ranks.  Take over `tree`, also
	 * on failure. */
	out = l->out;
	if (!MEM_ROOM(out->trees, out->ntrees, l->room)) {
		kvtree_free(tree);
		return error_no_memory(err);
	}
	out->trees[out->ntrees++] = tree;
	return rank2file_read_part(out, tree, &im->said, err);
}

int
rank2file_read_parts(struct rank2file_loader *l, struct error *err)
{
	struct rank2file *out = l->out;
	uint64_t said = 0;
	size_t n = 0;

	/* Without CTR, the entries of all files tell whether it is packed. */
	if (out->containers == NULL || l->source == RANK2FILE_TOP_COPY)
		l->wanted = NULL;
	out->partial = l->wanted != NULL;
	n = par_threads(l->par);
	out->arenas = mem_calloc(n, sizeof(*out->arenas));
	if (out->arenas == NULL)
		return error_no_memory(err);
	for (; out->narenas < n; out->narenas++)
		out->arenas[out->narenas] = arena_new();
	if ((!out->partial || l->nranks > RANKS_FREE) &&
	    par_for(l->par, l->nimages, 0,
		    out->partial ? measure_image : read_image, l, err) < 0)
		return -1;
	for (size_t i = 0; i < l->nimages; i++)
		l->bytes += l->images[i].len;
	if (l->nranks > RANKS_FREE && l->nranks > l->bytes / RANK_BYTES)
		return error_set(err, ERROR_CORRUPT,
				 "%s: %" PRIu64 " ranks in %" PRIu64 " bytes",
				 l->base.base, l->nranks, l->bytes);
	out->nranks = (size_t)l->nranks;
	out->ranks = arena_alloc(out->arena, out->nranks, sizeof(*out->ranks));
	if (out->ranks == NULL)
		return error_no_memory(err);
	memset(out->ranks, 0, out->nranks * sizeof(*out->ranks));
	if (l->top_is_part &&
	    (rank2file_refuse(out, err, "%s: a part, not a map of parts",
			      l->base.base) < 0 ||
	     rank2file_read_part(out, out->top, &said, err) < 0))
		return error_wrap(err, "%s", l->base.base);
	/* Add the ranks of all parts.  Strings stay in the contents of the
	 * files. */
	l->claimed = mem_calloc(out->nranks + 1, sizeof(*l->claimed));
	if (l->claimed == NULL)
		return error_no_memory(err);
	if (par_for(l->par, l->nimages, 0, scan_image, l, err) < 0)
		return -1;
	for (size_t i = 0; i < l->nimages; i++) {
		struct rank2file_part *im = &l->images[i];

		if (out->flaw == NULL) {
			out->flaw = im->flaw;
			out->instead = im->instead;
		}
		if (im->irregular && read_irregular(l, im, err) < 0)
			return error_wrap(err, "%s", im->name);
		/* LLNL's MPI reader compares RANKS of each part with the size
		 * of its job. */
		if (!im->lost && im->said != l->nranks &&
		    rank2file_refuse(out, err,
				     "%s: says that the job had %" PRIu64
				     " ranks, not %" PRIu64,
				     im->name, im->said, l->nranks) < 0)
			return -1;
	}
	return 0;
}

/* --- The ranks of one part, one after the other --- */

struct each {
	const struct rank2file_visit *visit;
	struct error *err;
	bool failed; /* take() has failed */
};

static int
take(void *arg, size_t rank, const struct rank2file_rank *r)
{
	struct each *e = arg;

	e->failed = e->visit->take(e->visit->arg, rank, r, e->err) < 0;
	return e->failed ? -1 : 0;
}

/* Read the part in a window. */
static int
stream(int dirfd, const struct rank2file_part_at *part, struct each *e)
{
	const size_t nranks = e->visit->nranks;
	struct rank2file all = { .nranks = nranks };
	struct rank2file_reader to = {
		.out = &all, .arena = arena_new(), .take = take, .arg = e
	};
	struct kvstream from;
	uint64_t said = 0;
	int rc = 1;

	to.claimed = mem_calloc(nranks + 1, sizeof(*to.claimed));
	if (to.claimed == NULL) {
		rc = error_no_memory(e->err);
	} else if (part->offset == 0 &&
		   kvstream_open(&from, dirfd, part->name) == 0) {
		rc = rank2file_scan(&to, &from, &said);
		kvstream_close(&from);
		if (rc < 0 && !e->failed)
			error_no_memory(e->err);
	}
	mem_free(to.claimed);
	arena_free(to.arena);
	return rc;
}

/* Load the part into memory. */
static int
load(int dirfd, const struct rank2file_part_at *part, struct each *e)
{
	struct rank2file all = { .arena = arena_new(),
				 .containers = e->visit->containers };
	struct rank2file_part image = { .name = part->name,
					.offset = part->offset };
	struct rank2file_loader l = {
		.out = &all,
		.images = &image,
		.nimages = 1,
		.dirfd = dirfd,
		.base = rank2file_base_split(RANK2FILE_FILE),
		.nranks = e->visit->nranks,
		/* The other parts, of unknown size, have ranks, too. */
		.bytes = UINT64_MAX / 2,
	};
	int rc = rank2file_read_parts(&l, e->err);

	for (size_t i = 0; rc == 0 && i < all.nranks; i++)
		if (all.ranks[i].present)
			rc = take(e, i, &all.ranks[i]);
	mem_free(l.claimed);
	rank2file_free(&all);
	return rc;
}

int
rank2file_each_rank(int dirfd, const struct rank2file_part_at *part,
		    const struct rank2file_visit *visit, struct error *err)
{
	struct each e = { .visit = visit, .err = err };

	return visit->whole ? load(dirfd, part, &e) : stream(dirfd, part, &e);
}
