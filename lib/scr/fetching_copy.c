/* SPDX-License-Identifier: BSD-3-Clause */
/* fetching_copy.c - copy files from the prefix, or out of containers, into the
 * cache. */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "meta/attr.h"
#include "meta/rank2file.h"
#include "par.h"
#include "path.h"
#include "scr/fetching.h"
#include "scr/lists.h"
#include "scr/run.h"
#include "str.h"
#include "team/cores.h"
#include "transfer/pump.h"
#include "transfer/stripe.h"

enum fetch_verdict
fetching_blame(const struct error *err)
{
	if (err->kind == ERROR_NOMEM)
		return FETCH_BROKEN;
	return err->kind == ERROR_ABSENT || err->kind == ERROR_DAMAGED ||
			       err->kind == ERROR_CORRUPT
		       ? FETCH_BAD
		       : FETCH_REFUSED;
}

/* A file on the prefix, or in containers. */
struct source {
	const char *name; /* for messages */
	struct attr attr; /* of its copy */
	bool packed;
	struct stripe bytes; /* its segments, if it is packed */
};

struct copying {
	const struct run *run;
	const struct lists *list;
	const char *const *to;
	int prefix;
	struct source *from; /* by file */
};

/* Find the bytes of each file.  An empty file of a packed dataset needs none.
 */
static int
find_sources(struct copying *c, struct arena *a, struct error *err)
{
	const struct lists *l = c->list;
	const char *path = NULL, *last = NULL;

	c->from = arena_alloc(a, l->count + 1, sizeof(*c->from));
	if (c->from == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < l->count; i++) {
		const struct rank2file_file *f = &l->files[i];
		struct source *s = &c->from[i];
		struct stripe_part part = { .dirfd = c->prefix,
					    .sum = STRIPE_NO_SUM };

		*s = (struct source){
			.name = f->path,
			.packed = f->nsegs > 0 ||
				  (l->packed && f->has_size && f->size == 0),
			.attr = l->attrs[i],
		};
		if (stripe_room(&s->bytes, a, f->nsegs, err) < 0)
			return -1;
		for (size_t k = 0; k < f->nsegs; k++) {
			if (last == NULL || !str_eq(last, f->segs[k].file))
				path = arena_printf(a, "%s/%s", l->root,
						    f->segs[k].file);
			last = f->segs[k].file;
			part.path = path;
			part.off = f->segs[k].off;
			part.len = f->segs[k].len;
			if (path == NULL)
				return error_no_memory(err);
			stripe_add(&s->bytes, &part);
			part.start += part.len;
		}
		if (f->nsegs > 0)
			s->name = arena_printf(
				a, "%s (in %s%s%s)", f->path,
				s->bytes.parts[0].path,
				s->bytes.nparts > 1 ? " to " : "",
				s->bytes.nparts > 1 ? path_base(path) : "");
		if (s->name == NULL)
			return error_no_memory(err);
	}
	return 0;
}

static uint64_t
file_size(void *arg, size_t i)
{
	const struct rank2file_file *f =
		&((struct copying *)arg)->list->files[i];

	return f->has_size ? f->size : 0;
}

static int
open_file(void *arg, size_t i, struct pump *p, struct error *err)
{
	struct copying *c = arg;
	struct rank2file_file *f = &c->list->files[i];
	struct source *s = &c->from[i];
	struct buf own = BUF_INIT;
	bool away = false;
	struct stat st;
	int rc = 0;

	*p = (struct pump){
		.from = -1,
		.stripe = s->packed ? &s->bytes : NULL,
		.name = s->name,
		.size = f->size,
		.to = -1,
		.to_name = c->to != NULL ? c->to[i] : s->name,
		.has_crc = f->has_crc,
		.crc = f->crc,
	};
	if (!s->packed) {
		p->from =
			path_open_beneath(c->prefix, f->path, O_RDONLY, 0, err);
		if (p->from < 0)
			return 0;
		if (fstat(p->from, &st) < 0)
			rc = error_sys(err, "%s", f->path);
		else if (!S_ISREG(st.st_mode))
			rc = error_set(err, ERROR_DAMAGED,
				       "%s: not a regular file", f->path);
		else if (f->has_size && f->size != (uint64_t)st.st_size)
			rc = error_set(err, ERROR_DAMAGED,
				       "%s: has %" PRIu64
				       " bytes, expected %" PRIu64,
				       f->path, (uint64_t)st.st_size, f->size);
		if (rc < 0) {
			close(p->from);
			return 0;
		}
		attr_from_stat(&s->attr, &st);
		p->size = f->size = s->attr.size;
	}
	if (rc == 0 && c->to != NULL) {
		rc = path_join(&own, c->run->p.prefix, f->path, err);
		away = rc == 0 && strcmp(own.data, c->to[i]) != 0;
		buf_free(&own);
	}
	if (away) {
		/* Nobody else reads it before its mode is known. */
		p->to = io_open(
			AT_FDCWD, c->to[i], O_WRONLY | O_CREAT | O_TRUNC,
			c->run->p.copy_metadata && s->attr.has_owner ? 0600
								     : 0666,
			err);
		rc = p->to < 0 ? -1 : 0;
	} else if (!p->has_crc && !s->packed) {
		p->size = 0; /* in its own place: nothing to compare */
	}
	if (rc < 0)
		io_close(p->from);
	return rc < 0 ? -1 : 1;
}

/* The new file in cache gets mode and times of the one on the prefix, or those
 * that were packed, unless the configuration or the device refuses. */
static int
close_file(void *arg, size_t i, const struct pump *p, int rc, struct error *err)
{
	struct copying *c = arg;
	struct rank2file_file *f = &c->list->files[i];

	(void)err;
	if (rc == 1 && (p->to >= 0 || p->has_crc)) {
		f->has_crc = true;
		f->crc = p->crc;
	}
	if (rc == 1 && p->to >= 0 && c->run->p.copy_metadata)
		(void)attr_apply(&c->from[i].attr, p->to, f->path,
				 (struct owner){ .set = false }, NULL, NULL);
	io_close(p->to);
	io_close(p->from);
	return rc;
}

enum fetch_verdict
fetching_copy(const struct run *run, const struct device *store,
	      struct arena *a, const struct lists *list, const char *const *to,
	      struct error *err)
{
	struct copying c = {
		.run = run,
		.list = list,
		.to = to,
		.prefix = dir_open(AT_FDCWD, run->p.prefix),
	};
	struct pump_list l = {
		.count = list->count,
		.size = file_size,
		.open = open_file,
		.close = close_file,
		.arg = &c,
	};
	int rc = -1;

	if (c.prefix < 0) {
		error_sys(err, "%s", run->p.prefix);
	} else if (find_sources(&c, a, err) == 0) {
		l.par = store->threads ? cores_pool(run->cores) : NULL;
		rc = pump_each(&l, err);
		par_free(l.par);
	}
	io_close(c.prefix);
	return rc == 1	 ? FETCH_DONE
	       : rc == 0 ? fetching_blame(err)
			 : FETCH_BROKEN;
}
