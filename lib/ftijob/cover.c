/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cover.c - which files protect a checkpoint, where FTI looks for them, and
 * writing them.
 */
#include "ftijob/renew.h"

#include <inttypes.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "fti/draft.h"
#include "fti/ini.h"
#include "fti/posix.h"
#include "fti/write.h"
#include "ftijob/recover.h"
#include "ftijob/tree.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "room.h"
#include "str.h"
#include "work.h"

/* --- Directories --- */

/* The directory of the level, beside that of another level with file `path`. */
static const char *
beside(struct arena *a, const char *path, enum fti_level level)
{
	return fti_tree_join(a, fti_tree_dir(a, fti_tree_dir(a, path)),
			     fti_levels[level].dir);
}

/* Where FTI has the directories of the level, by its configuration: p->dirs. */
static int
dirs_by_config(struct fti_rebuild *p, struct error *err)
{
	const struct fti_tree *t = &p->sets->tree;
	struct arena *a = p->sets->arena;
	const char *level = fti_levels[p->level].dir;
	struct buf dir = BUF_INIT;
	struct fti_config c;
	int rc = 0;

	if (t->config == NULL)
		return error_set(err, ERROR_ABSENT,
				 "no config.fti says where the directories of "
				 "%s are",
				 fti_levels[p->level].name);
	rc = fti_config_open(&c, t->fd, t->config, err);
	if (rc == 0 && c.ckpt_dir == NULL)
		rc = error_set(err, ERROR_ABSENT, "%s: no ckpt_dir", t->config);
	if (rc == 0)
		rc = fti_config_dir(t->root, t->config, c.ckpt_dir, &dir, err);
	for (uint32_t n = 0; rc == 0 && n < p->set->geometry.nodes; n++)
		p->dirs[n] =
			c.local_test > 0
				? arena_printf(a, "%s/node%" PRIu32 "/%s/%s",
					       dir.data, n, p->set->exec, level)
				: arena_printf(a, "%s/%s/%s", dir.data,
					       p->set->exec, level);
	fti_config_close(&c);
	buf_free(&dir);
	return rc;
}

/* --- Sizes --- */

/* The bytes that the file of a rank has at its new level. */
static uint64_t
size_of(const struct fti_rebuild *p, const struct fti_rank *r)
{
	return p->set->posix ? r->posix->size
			     : (uint64_t)r->parts[FTI_OWN].meta.fs;
}

/* Bytes of parity of the group, without its record; at L3. */
static uint64_t
length_of(const struct fti_rebuild *p, uint32_t group)
{
	uint64_t max = 0;

	for (uint32_t m = 0; m < p->set->geometry.group_size; m++) {
		const uint64_t size =
			size_of(p, fti_set_member(p->set, group, m));

		max = size > max ? size : max;
	}
	return max +
	       (!p->set->posix && fti_format(p->set->layout)->footer ? 8 : 0);
}

/* --- Files --- */

static void
add_file(struct fti_rebuild *p, const struct fti_rebuild_file *f, uint32_t node)
{
	/* The same rank of the set at the level, if there is one. */
	struct fti_rank *r =
		p->there == NULL ? NULL : fti_set_rank(p->there, f->rank->rank);
	struct fti_rebuild_file *to = NULL;

	if (r != NULL && r->parts[f->part].exact)
		return;
	(void)MEM_ROOM(p->files, p->count, p->room);
	to = &p->files[p->count++];
	*to = *f;
	to->replaces = r != NULL && r->parts[f->part].entry != NULL;
	to->path =
		to->replaces
			? r->parts[f->part].entry->path
			: arena_printf(p->sets->arena, "%s/%s", p->dirs[node],
				       fti_part_str(p->set, f->rank, f->part));

	p->parts[f->part]++;
	p->bytes_written += f->size;
	if (f->part != FTI_PARITY)
		p->bytes_read += f->size;
}

static void
add_group(struct fti_rebuild *p, uint32_t group)
{
	const uint32_t k = p->set->geometry.group_size;
	const size_t before = p->parts[FTI_PARITY];
	const uint64_t length = length_of(p, group);
	const bool copied = p->level == FTI_L2;

	for (uint32_t m = 0; m < k; m++) {
		struct fti_rank *r = fti_set_member(p->set, group, m);
		struct fti_rebuild_file f = {
			.rank = r,
			.part = FTI_OWN,
			.size = size_of(p, r),
		};

		add_file(p, &f, r->node);
		f.part = copied ? FTI_COPY : FTI_PARITY;
		if (!copied)
			f.size = length;
		if (!copied && !p->set->posix)
			f.size += fti_format(p->set->layout)->meta;
		add_file(p, &f,
			 copied ? fti_set_neighbour(p->set, r, false)->node
				: r->node);
	}
	if (p->parts[FTI_PARITY] > before)
		p->bytes_read += k * length;
}

/* --- The checkpoint --- */

int
fti_protect_plan(struct fti_rebuild *p, struct fti_sets *s,
		 struct fti_set *from, enum fti_level level, struct error *err)
{
	const struct fti_geometry *g = &from->geometry;
	struct buf real = BUF_INIT;
	const char *in = NULL;
	int rc = 0;

	*p = (struct fti_rebuild){ .sets = s, .set = from, .level = level };
	if (from->whole != NULL)
		return error_set(err, ERROR_USAGE,
				 "%s: one file of all ranks (MPI-IO) cannot be "
				 "protected",
				 from->whole->path);
	if (g->group_size < 2 || g->node_size == 0 || g->nodes == 0 ||
	    g->nodes % g->group_size != 0)
		return error_set(err, ERROR_SYSTEM,
				 "the size of nodes or groups is not known: "
				 "--node-size and --group-size tell it");
	p->dirs = mem_calloc(g->nodes + 1, sizeof(*p->dirs));
	if (from->level != FTI_L1 && dirs_by_config(p, err) < 0)
		return -1;
	for (size_t i = 0; from->level == FTI_L1 && i < from->nranks; i++) {
		const struct fti_rank *r = &from->ranks[i];
		const struct fti_entry *e = r->parts[FTI_OWN].entry;

		if (e != NULL && p->dirs[r->node] == NULL)
			p->dirs[r->node] = beside(s->arena, e->path, level);
	}
	/* The execution of a flat copy has no name: the directory does in which
	 * that of the level is. */
	p->exec = from->exec;
	for (size_t i = 0; in == NULL && i < g->nodes; i++)
		in = p->dirs[i];
	if (from->flat && in != NULL) {
		in = fti_tree_dir(s->arena, in);
		if (in[0] == '\0')
			rc = path_real(s->tree.root, &real, err);
		if (rc < 0)
			return -1;
		p->exec = arena_strdup(
			s->arena, path_base(in[0] == '\0' ? real.data : in));
		buf_free(&real);
	}
	/* FTI takes the first file of a level that it finds, of any id. */
	for (size_t i = 0; i < s->count; i++) {
		struct fti_set *set = &s->list[i];

		if (set->level != level || !str_eq(set->exec, p->exec))
			continue;
		if (set->id != from->id)
			return error_set(err, ERROR_USAGE,
					 "%s has checkpoint %" PRIu32
					 " already, and FTI could take files "
					 "of either",
					 fti_levels[level].name, set->id);
		p->there = set;
	}
	for (uint32_t k = 0; k < from->groups; k++)
		if (fti_set_member(from, k, 0) != NULL)
			add_group(p, k);
	return 0;
}

/* --- The files of the ranks --- */

struct writing {
	const struct fti_rebuild *p;
	const struct fti_rebuild_file **to; /* of each that is written */
	struct error why; /* of the first file that is refused */
};

static int
describe(void *arg, size_t i, const struct fti_rankfile *r, struct fti_draft *d,
	 struct error *err)
{
	const struct writing *g = arg;
	const struct fti_rebuild *p = g->p;
	const struct fti_rank *rank = g->to[i]->rank;

	if (p->set->posix)
		return fti_remake_proven(r, err) < 0
			       ? -1
			       : fti_describe_posix(d, &r->content, err);
	if (fti_describe_same(d, &r->checked, p->set->layout, err) < 0)
		return -1;
	d->ckpt_id = p->set->id;
	d->max_fs = -1;
	d->pt_fs = -1;
	if (p->level == FTI_L3)
		d->max_fs = (int64_t)length_of(p, rank->group);
	else /* the size of the left partner's file, which is kept as a copy */
		d->pt_fs = (int64_t)size_of(
			p, fti_set_neighbour(p->set, rank, true));
	return 0;
}

static int
planned(void *arg, size_t i, const struct fti_rankfile *r,
	const struct fti_draft *d, struct error *err)
{
	const struct writing *g = arg;

	return d->size == g->to[i]->size
		       ? 0
		       : error_set(err, ERROR_CORRUPT,
				   "%s: has another size than its metadata say",
				   r->name);
}

static void
refused(void *arg, size_t i, const struct fti_rankfile *r, struct error *err)
{
	struct writing *g = arg;

	(void)i;
	(void)r;
	if (g->why.kind == ERROR_NONE)
		g->why = *err;
}

/* Write the files of the ranks. */
static int
write_data(const struct fti_rebuild *p, const struct work *w, struct error *err)
{
	const int fd = p->sets->tree.fd;
	struct writing g = {
		.p = p,
		.to = mem_calloc(p->count + 1,
				 sizeof(const struct fti_rebuild_file *)),
	};
	struct fti_remake m = {
		.items = mem_calloc(p->count + 1, sizeof(*m.items)),
		.open = { .known = true, .layout = p->set->layout },
		.describe = describe,
		.refused = refused,
		.refused_arg = &g,
		.planned = planned,
		.arg = &g,
	};
	int rc = 0;

	for (size_t i = 0; i < p->count; i++) {
		const struct fti_rebuild_file *f = &p->files[i];
		const char *from = f->rank->parts[FTI_OWN].entry->path;

		if (f->part != FTI_OWN)
			continue;
		g.to[m.count] = f;
		m.items[m.count++] = (struct fti_remake_item){
			.in = from,
			.in_dir = fd,
			.in_name = from,
			.posix = f->rank->posix,
			.fresh = true,
			.out = {
				.dirfd = fd,
				.path = f->path,
				.name = f->path,
				.replace = f->replaces,
			},
		};
	}
	rc = fti_remake(&m, w, err);
	if (rc > 0)
		rc = error_pass(err, &g.why);
	mem_free(m.items);
	mem_free(g.to);
	return rc;
}

int
fti_protect_run(const struct fti_rebuild *p, const struct work *w,
		struct error *err)
{
	const struct fti_set *from = p->set;
	const struct fti_tree *t = &p->sets->tree;
	const bool lacks =
		from->posix && (p->there == NULL || p->there->undescribed > 0);
	struct arena *a = p->sets->arena;
	struct fti_rebuild r = { .count = 0 };
	struct fti_sets s;
	struct fti_set *set = NULL;
	struct buf text = BUF_INIT;
	int rc = 0;

	if (room_check(t->fd, p->bytes_written,
		       "the files that protect the checkpoint", err) < 0)
		return -1;
	if (work_or_default(w)->dry_run || p->count == 0)
		return 0;
	if (p->parts[FTI_OWN] > 0 && write_data(p, w, err) < 0)
		return -1;
	/* The sector files of another level are the same, but for the checksums
	 * of parity, which the rebuild adds. */
	for (size_t i = 0; rc == 0 && lacks && i < from->nmetadata; i++) {
		const struct fti_entry *e = &t->list[from->metadata + i];
		const char *base = NULL;
		int fd = -1;

		if (e->name.kind != FTI_NAME_SECTOR)
			continue;
		fd = path_open_parent(t->fd,
				      arena_printf(a, "%s/%s",
						   beside(a, e->path, p->level),
						   path_base(e->path)),
				      true, 0777, &base, err);
		rc = fd < 0 ? -1
			    : io_read_file(t->fd, e->path, FTI_INI_MAX, &text,
					   err);
		if (rc == 0)
			rc = io_replace(fd, base, text.data, text.len, 0666,
					err);
		io_close(fd);
	}
	buf_free(&text);
	if (rc < 0)
		return -1;
	rc = fti_sets_open(&s, t->root, &from->geometry, w, err);
	for (size_t i = 0; rc == 0 && set == NULL && i < s.count; i++)
		if (s.list[i].level == p->level && s.list[i].id == from->id &&
		    str_eq(s.list[i].exec, p->exec))
			set = &s.list[i];
	if (rc == 0 && set == NULL)
		rc = error_set(err, ERROR_ABSENT,
			       "the files that were written are not found");
	if (rc < 0 || fti_set_examine(&s, set, false, w, err) < 0 ||
	    fti_rebuild_plan(&r, &s, set, w, err) < 0 ||
	    fti_rebuild_run(&r, w, err) < 0)
		rc = -1;
	fti_rebuild_fini(&r);
	fti_sets_free(&s);
	return rc;
}
