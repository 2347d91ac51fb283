/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cover_plan.c - which files protect a checkpoint, and where FTI looks for
 * them.
 */
#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "fti/posix.h"
#include "ftijob/config.h"
#include "ftijob/cover_impl.h"
#include "ftijob/recover.h"
#include "mem.h"
#include "str.h"

/* --- Directories --- */

const char *
cover_beside(struct arena *a, const char *path, enum fti_level level)
{
	const char *dir = fti_tree_dir(a, path);

	if (dir != NULL)
		dir = fti_tree_dir(a, dir);
	return dir == NULL ? NULL
			   : arena_printf(a, "%s%s%s", dir,
					  dir[0] == '\0' ? "" : "/",
					  fti_level_dir(level));
}

/* Where FTI has its directories of levels 1 to 3, by its configuration. */
static int
read_base(const struct fti_protect *p, const char **base, bool *nodes,
	  struct error *err)
{
	const struct fti_tree *t = &p->sets->tree;
	struct buf dir = BUF_INIT;
	struct fti_config c;
	const char *at = NULL;
	int rc = 0;

	if (t->config == NULL)
		return error_set(err, ERROR_ABSENT,
				 "no config.fti says where the directories of "
				 "%s are",
				 fti_level_name(p->level));
	rc = fti_config_open(&c, t->fd, t->config, err);
	if (rc == 0 && c.ckpt_dir == NULL)
		rc = error_set(err, ERROR_ABSENT, "%s: no ckpt_dir", t->config);
	if (rc == 0)
		rc = fti_config_beneath(c.ckpt_dir, &dir, err);
	if (rc == 0) {
		at = c.ckpt_dir[0] == '/'
			     ? ""
			     : fti_tree_dir(p->sets->arena, t->config);
		*nodes = c.local_test > 0;
		*base = arena_printf(p->sets->arena, "%s%s%s", at,
				     at[0] == '\0' ? "" : "/", dir.data);
		rc = *base == NULL ? error_no_memory(err) : 0;
	}
	fti_config_close(&c);
	buf_free(&dir);
	return rc;
}

static int
dirs_by_config(struct fti_protect *p, struct error *err)
{
	struct arena *a = p->sets->arena;
	const char *base = NULL;
	bool nodes = false;

	if (read_base(p, &base, &nodes, err) < 0)
		return -1;
	for (uint32_t n = 0; n < p->from->geometry.nodes; n++) {
		p->dirs[n] =
			nodes ? arena_printf(a, "%s/node%" PRIu32 "/%s/%s",
					     base, n, p->from->exec,
					     fti_level_dir(p->level))
			      : arena_printf(a, "%s/%s/%s", base, p->from->exec,
					     fti_level_dir(p->level));
		if (p->dirs[n] == NULL)
			return error_no_memory(err);
	}
	return 0;
}

/* Find p->dirs, the directory for each node. */
static int
find_dirs(struct fti_protect *p, struct error *err)
{
	struct fti_set *set = p->from;

	p->dirs = mem_calloc(set->geometry.nodes + 1, sizeof(*p->dirs));
	if (p->dirs == NULL)
		return error_no_memory(err);
	if (set->level != FTI_L1)
		return dirs_by_config(p, err);
	for (size_t i = 0; i < set->nranks; i++) {
		const struct fti_rank *r = &set->ranks[i];
		const struct fti_entry *e = r->parts[FTI_OWN].entry;

		if (e == NULL || p->dirs[r->node] != NULL)
			continue;
		p->dirs[r->node] =
			cover_beside(p->sets->arena, e->path, p->level);
		if (p->dirs[r->node] == NULL)
			return error_no_memory(err);
	}
	return 0;
}

/* --- Sizes --- */

uint64_t
cover_size(const struct fti_protect *p, const struct fti_rank *r)
{
	return p->from->posix ? r->posix->size
			      : (uint64_t)r->parts[FTI_OWN].meta.fs;
}

uint64_t
cover_length(const struct fti_protect *p, uint32_t group)
{
	uint64_t max = 0;

	for (uint32_t m = 0; m < p->from->geometry.group_size; m++) {
		const uint64_t size =
			cover_size(p, fti_set_member(p->from, group, m));

		max = size > max ? size : max;
	}
	return max +
	       (!p->from->posix && fti_format(p->from->layout)->footer ? 8 : 0);
}

/* --- Files --- */

static int
add_file(struct fti_protect *p, const struct fti_rebuild_file *f, uint32_t node,
	 struct error *err)
{
	/* The same rank of the set at the level, if there is one. */
	struct fti_rank *r =
		p->there == NULL ? NULL : fti_set_rank(p->there, f->rank->rank);
	struct fti_rebuild_file *to = NULL;
	char name[FTI_NAME_MAX];

	if (r != NULL && r->parts[f->part].exact)
		return 0;
	if (!MEM_ROOM(p->files, p->count, p->room))
		return error_no_memory(err);
	to = &p->files[p->count++];
	*to = *f;
	to->replaces = r != NULL && r->parts[f->part].entry != NULL;
	fti_part_name(p->from, f->rank, f->part, name);
	to->path = to->replaces ? r->parts[f->part].entry->path
				: arena_printf(p->sets->arena, "%s/%s",
					       p->dirs[node], name);
	if (to->path == NULL)
		return error_no_memory(err);
	p->parts[f->part]++;
	p->bytes_written += f->size;
	if (f->part != FTI_PARITY)
		p->bytes_read += f->size;
	return 0;
}

static int
add_rank(struct fti_protect *p, struct fti_rank *r, uint64_t length,
	 struct error *err)
{
	const struct fti_rank *right = fti_set_neighbour(p->from, r, false);
	struct fti_rebuild_file f = {
		.rank = r,
		.part = FTI_OWN,
		.size = cover_size(p, r),
	};

	if (add_file(p, &f, r->node, err) < 0)
		return -1;
	f.part = p->level == FTI_L2 ? FTI_COPY : FTI_PARITY;
	if (p->level == FTI_L2)
		return add_file(p, &f, right->node, err);
	f.size = length;
	if (!p->from->posix)
		f.size += fti_format(p->from->layout)->meta;
	return add_file(p, &f, r->node, err);
}

static int
add_group(struct fti_protect *p, uint32_t group, struct error *err)
{
	const uint32_t k = p->from->geometry.group_size;
	const size_t before = p->parts[FTI_PARITY];
	const uint64_t length = cover_length(p, group);

	for (uint32_t m = 0; m < k; m++)
		if (add_rank(p, fti_set_member(p->from, group, m), length,
			     err) < 0)
			return -1;
	if (p->parts[FTI_PARITY] > before)
		p->bytes_read += k * length;
	return 0;
}

/* --- The checkpoint --- */

static int
check_from(const struct fti_set *from, enum fti_level level, struct error *err)
{
	const struct fti_geometry *g = &from->geometry;

	if (from->level != FTI_L1 && from->level != FTI_L4)
		return error_set(err, ERROR_USAGE,
				 "only checkpoints of L1 and L4 can be "
				 "protected");
	if (from->whole != NULL)
		return error_set(err, ERROR_USAGE,
				 "%s: one file of all ranks (MPI-IO) cannot be "
				 "protected",
				 from->whole->path);
	if (level != FTI_L2 && level != FTI_L3)
		return error_set(err, ERROR_USAGE,
				 "%s has neither copies nor parity",
				 fti_level_name(level));
	if (from->state == FTI_SET_LOST)
		return error_set(err, ERROR_LOST, "%s", from->reason);
	if (from->state != FTI_SET_WHOLE && from->state != FTI_SET_REFUSED)
		return error_set(err, ERROR_SYSTEM, "%s", from->reason);
	if (g->group_size < 2 || g->node_size == 0 || g->nodes == 0 ||
	    g->nodes % g->group_size != 0)
		return error_set(err, ERROR_SYSTEM,
				 "the size of nodes or groups is not known");
	return 0;
}

int
fti_protect_plan(struct fti_protect *p, struct fti_sets *s,
		 struct fti_set *from, enum fti_level level, struct error *err)
{
	int rc = 0;

	*p = (struct fti_protect){ .sets = s, .from = from, .level = level };
	if (check_from(from, level, err) < 0)
		return -1;
	/* FTI takes the first file of a level that it finds, of any id. */
	for (size_t i = 0; i < p->sets->count; i++) {
		struct fti_set *set = &p->sets->list[i];

		if (set->level != p->level || !str_eq(set->exec, p->from->exec))
			continue;
		if (set->id != p->from->id)
			return error_set(err, ERROR_USAGE,
					 "%s has checkpoint %" PRIu32
					 " already, and FTI could take files "
					 "of either",
					 fti_level_name(p->level), set->id);
		p->there = set;
	}
	if (find_dirs(p, err) < 0)
		return -1;
	for (uint32_t g = 0; g < from->groups && rc == 0; g++)
		if (fti_set_member(from, g, 0) != NULL)
			rc = add_group(p, g, err);
	return rc;
}

void
fti_protect_fini(struct fti_protect *p)
{
	mem_free(p->files);
	mem_free(p->dirs);
	p->files = NULL;
	p->dirs = NULL;
	p->count = 0;
}
