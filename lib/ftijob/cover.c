/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cover.c - write the files of a checkpoint for another level, and what
 * protects them.
 */
#include "ftijob/cover.h"

#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "encode/cauchy.h"
#include "error.h"
#include "fti/draft.h"
#include "fti/ini.h"
#include "fti/remake.h"
#include "ftijob/cover_impl.h"
#include "io.h"
#include "path.h"
#include "room.h"
#include "str.h"
#include "work.h"

/* --- The files of the ranks of a group --- */

struct group {
	const struct fti_protect *p;
	const struct fti_rebuild_file *to[CAUCHY_MAX];
	struct fti_remake_item items[CAUCHY_MAX];
	size_t count;	  /* that are written */
	struct error why; /* of the first file that is refused */
};

static void
add_member(struct group *g, const struct fti_rebuild_file *to)
{
	const struct fti_tree *t = &g->p->sets->tree;
	const char *from = to->rank->parts[FTI_OWN].entry->path;

	g->to[g->count] = to;
	g->items[g->count++] = (struct fti_remake_item){
		.in = from,
		.in_dir = t->fd,
		.in_name = from,
		.posix = to->rank->posix,
		.fresh = true,
		.out = {
			.dirfd = t->fd,
			.path = to->path,
			.name = to->path,
			.replace = to->replaces,
		},
	};
}

static int
describe(void *arg, size_t i, const struct fti_rankfile *r, struct fti_draft *d,
	 struct error *err)
{
	const struct group *g = arg;
	const struct fti_protect *p = g->p;
	const struct fti_rank *rank = g->to[i]->rank;

	if (p->from->posix)
		return fti_remake_proven(r, err) < 0
			       ? -1
			       : fti_describe_posix(d, &r->content, err);
	if (fti_describe_same(d, &r->checked, p->from->layout, err) < 0)
		return -1;
	d->ckpt_id = p->from->id;
	d->max_fs = -1;
	d->pt_fs = -1;
	if (p->level == FTI_L3)
		d->max_fs = (int64_t)cover_length(p, rank->group);
	else /* the size of the left partner's file, which is kept as a copy */
		d->pt_fs = (int64_t)cover_size(
			p, fti_set_neighbour(p->from, rank, true));
	return 0;
}

static int
planned(void *arg, size_t i, const struct fti_rankfile *r,
	const struct fti_draft *d, struct error *err)
{
	const struct group *g = arg;

	return d->size == g->to[i]->size
		       ? 0
		       : error_set(err, ERROR_CORRUPT,
				   "%s: has another size than its metadata say",
				   r->name);
}

static void
refused(void *arg, size_t i, const struct fti_rankfile *r, struct error *err)
{
	struct group *g = arg;

	(void)i;
	(void)r;
	if (g->why.kind == ERROR_NONE)
		g->why = *err;
}

static int
write_group(struct group *g, const struct work *w, struct error *err)
{
	struct fti_remake m = {
		.items = g->items,
		.count = g->count,
		.open = { .known = true, .layout = g->p->from->layout },
		.describe = describe,
		.refused = refused,
		.refused_arg = g,
		.planned = planned,
		.arg = g,
	};
	const int rc = fti_remake(&m, w, err);

	return rc > 0 ? error_pass(err, &g->why) : rc;
}

/* Group by group: the plan lists them so. */
static int
write_data(const struct fti_protect *p, const struct work *w, struct error *err)
{
	struct group g = { .p = p };
	int rc = 0;

	for (size_t i = 0; i < p->count && rc == 0; i++) {
		const struct fti_rebuild_file *f = &p->files[i];
		const bool last =
			i + 1 == p->count || f[1].rank->group != f->rank->group;

		if (f->part == FTI_OWN)
			add_member(&g, f);
		if (last && g.count > 0) {
			rc = write_group(&g, w, err);
			g.count = 0;
		}
	}
	return rc;
}

/* --- Metadata of POSIX files --- */

/* The sector files of another level are the same, but for the checksums of
 * parity, which the rebuild adds. */
static int
copy_metadata(const struct fti_protect *p, const struct fti_entry *e,
	      struct error *err)
{
	struct arena *a = p->sets->arena;
	const char *dir = cover_beside(a, e->path, p->level), *base = NULL;
	const char *path = NULL;
	struct buf text = BUF_INIT;
	int rc = -1, fd = -1;

	if (dir != NULL)
		path = arena_printf(a, "%s/%s", dir, path_base(e->path));
	if (path == NULL)
		return error_no_memory(err);
	fd = path_open_parent(p->sets->tree.fd, path, true, 0777, &base, err);
	if (fd < 0)
		return -1;
	if (io_read_file(p->sets->tree.fd, e->path, FTI_INI_MAX, &text, err) ==
	    0)
		rc = io_replace(fd, base, text.data, text.len, 0666, err);
	close(fd);
	buf_free(&text);
	return rc;
}

static int
write_metadata(const struct fti_protect *p, struct error *err)
{
	const struct fti_set *from = p->from;
	const struct fti_entry *list = p->sets->tree.list;

	if (!from->posix || (p->there != NULL && p->there->undescribed == 0))
		return 0;
	for (size_t i = 0; i < from->nmetadata; i++) {
		const struct fti_entry *e = &list[from->metadata + i];

		if (e->name.kind == FTI_NAME_SECTOR &&
		    copy_metadata(p, e, err) < 0)
			return -1;
	}
	return 0;
}

/* --- Copies and parity --- */

static struct fti_set *
find_set(struct fti_sets *s, const struct fti_protect *p)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].level == p->level &&
		    s->list[i].id == p->from->id &&
		    str_eq(s->list[i].exec, p->from->exec))
			return &s->list[i];
	return NULL;
}

int
fti_protect_run(const struct fti_protect *p, const struct work *w,
		struct error *err)
{
	struct fti_rebuild r = { .count = 0 };
	struct fti_sets s;
	struct fti_set *set = NULL;
	int rc = 0;

	if (room_check(p->sets->tree.fd, p->bytes_written,
		       "the files that protect the checkpoint", err) < 0)
		return -1;
	if (work_or_default(w)->dry_run || p->count == 0)
		return 0;
	if (p->parts[FTI_OWN] > 0 && write_data(p, w, err) < 0)
		return -1;
	if (write_metadata(p, err) < 0)
		return -1;
	rc = fti_sets_open(&s, p->sets->tree.root, &p->from->geometry, w, err);
	if (rc == 0)
		set = find_set(&s, p);
	if (rc == 0 && set == NULL)
		rc = error_set(err, ERROR_ABSENT,
			       "the files that were written are not found");
	if (rc == 0)
		rc = fti_set_examine(&s, set, false, w, err);
	if (rc == 0)
		rc = fti_rebuild_plan(&r, &s, set, w, err);
	if (rc == 0)
		rc = fti_rebuild_run(&r, w, err);
	fti_rebuild_fini(&r);
	fti_sets_free(&s);
	return rc;
}
