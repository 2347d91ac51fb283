/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert_tree.c - convert all checkpoints below a directory.
 *
 * Only the files of ranks are converted.  Copies and parity would have to be
 * made from the new files; the fields that name their sizes are set, so that
 * they can be.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "fti.h"
#include "fti/draft.h"
#include "fti/ini.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "report/hint.h"
#include "str.h"

/* A checkpoint that is converted. */
struct part {
	struct fti_set *set;
	size_t first; /* item of its first rank */
	int64_t id;   /* -1: not known yet */
	bool moved;   /* differential: it becomes an ordinary one of L4 */
	uint64_t before, after; /* bytes */
	const char *from;	/* its form */
	struct fti_convert_notes notes;
	size_t sectors; /* number of its first metadata file */
};

/* The size that the file of a rank will have. */
struct item {
	struct part *part;
	struct fti_rank *rank;
	uint64_t size;
};

struct run {
	struct fti_convert *c;
	struct fti_sets sets;
	struct part *parts;
	size_t nparts;
	struct item *items;
	/* Metadata files, and copies of other ones. */
	struct fti_posix *sectors;
	struct buf **inis; /* their texts */
	size_t nsectors;
	struct fti_job *texts;
	struct buf *bufs;
	size_t ntexts;
	size_t unconverted; /* copies and parity */
	const char *root;   /* of the output, as its root is open */
	int rootfd;
};

/* --- Names --- */

/* The file `path` below the output. */
static void
place(struct run *run, const char *path, struct fti_job *job)
{
	struct fti_output *p = &run->c->out;

	job->dirfd = run->rootfd;
	job->path = arena_printf(p->arena, "%s%s", run->root, path);
	job->name = arena_printf(p->arena, "%s/%s", run->c->o.out, path);
	job->replace = run->c->o.replace;
}

/* Find the root of the output; it must not be in the tree that is read, which
 * must not be in it. */
static int
find_root(struct run *run, const char *dir, struct error *err)
{
	struct fti_output *p = &run->c->out;
	struct buf in = BUF_INIT, out = BUF_INIT;
	struct fti_job job = { .text = NULL };
	const char *probe = arena_printf(p->arena, "%s/x", run->c->o.out);
	char at[64];
	int rc = fti_output_place(p, probe, &job, err);

	if (rc < 0)
		return -1;
	run->rootfd = job.dirfd;
	run->root = arena_strndup(p->arena, job.path, strlen(job.path) - 1);
	snprintf(at, sizeof(at), "/proc/self/fd/%d", job.dirfd);
	if (path_real(dir, &in, err) < 0 || path_real(at, &out, err) < 0)
		rc = -1;
	buf_printf(&out, "/%s", run->root);
	if (rc == 0 && (path_below(out.data, in.data) != NULL ||
			path_below(in.data, out.data) != NULL))
		rc = error_set(err, ERROR_USAGE,
			       "%s: give another directory than %s for the "
			       "output, not in it nor above it",
			       run->c->o.out, dir);
	buf_free(&in);
	buf_free(&out);
	return rc;
}

/* The metadata file of a group, below the directory of Topology.fti. */
static const char *
name_sector(struct run *run, const struct part *p, size_t group)
{
	struct arena *arena = run->c->out.arena;
	const struct fti_tree *tree = &run->sets.tree;
	const char *exec = p->set->exec, *dir = NULL;
	const uint32_t size = p->set->geometry.node_size;
	const enum fti_level level = p->moved ? FTI_L4 : p->set->level;
	const struct fti_name name = {
		.kind = FTI_NAME_SECTOR,
		.sector = (uint32_t)(group / size),
		.rank = (uint32_t)(group % size),
	};

	for (size_t i = 0; dir == NULL && i < tree->count; i++)
		if (tree->list[i].name.kind == FTI_NAME_TOPOLOGY &&
		    str_eq(tree->list[i].exec, exec))
			dir = fti_tree_dir(arena, tree->list[i].path);
	if (dir == NULL)
		dir = exec[0] == '\0' ? "Meta"
				      : fti_tree_join(arena, "Meta", exec);
	dir = fti_tree_join(arena, dir, fti_levels[level].dir);
	if (level == FTI_ARCHIVE)
		dir = arena_printf(arena, "%s/Ckpt_%" PRIu32, dir, p->set->id);
	return fti_tree_join(arena, dir, fti_name_str(&name));
}

/* --- Files that describe the others --- */

/* Sections of the history, where io_mode is by 1000 larger than ckpt_io. */
#define HISTORY "checkpoint_id."

/* Edit the copy of the configuration, or of the history, for the new form. */
static int
edit_copy(const struct run *run, bool history, const char *path, struct buf *to,
	  struct error *err)
{
	const bool posix = run->c->form.posix;
	const struct fti_ini_value io = { "basic", "ckpt_io", posix ? "1" : "3",
					  false };
	struct fti_ini *ini = NULL;
	const char *section = NULL;
	bool moved = false; /* then no differential checkpoints are left */
	int rc = 0;

	if (!history)
		return fti_ini_set(to, &io, err);
	ini = fti_ini_parse(path, to->data, to->len, err);
	if (ini == NULL)
		return -1;
	for (size_t i = 0; i < run->nparts; i++)
		moved |= run->parts[i].moved;
	for (size_t k = 0;
	     rc == 0 && (section = fti_ini_section(ini, k)) != NULL; k++) {
		const struct fti_ini_value mode = { section, "io_mode",
						    posix ? "1001" : "1003",
						    false };
		const struct fti_ini_value no_dcp = { section, "is_dcp", "0",
						      false };

		if (!str_starts(section, HISTORY))
			continue;
		rc = fti_ini_set(to, &mode, err);
		if (rc == 0 && moved &&
		    fti_ini_get(ini, section, "is_dcp") != NULL)
			rc = fti_ini_set(to, &no_dcp, err);
	}
	fti_ini_free(ini);
	return rc;
}

/* Copy the files that describe the execution, so that they fit its new files:
 * its nodes, its configuration, its history. */
static int
add_copies(struct run *run, struct error *err)
{
	const struct fti_tree *tree = &run->sets.tree;

	for (size_t i = 0; i <= tree->count; i++) {
		const bool config = i == tree->count;
		const char *path = config ? tree->config : tree->list[i].path;
		const enum fti_name_kind kind =
			config ? FTI_NAME_OTHER : tree->list[i].name.kind;
		struct fti_job *job = &run->texts[run->ntexts];
		struct buf *to = &run->bufs[run->ntexts];

		if (path == NULL || (!config && kind != FTI_NAME_TOPOLOGY &&
				     kind != FTI_NAME_HISTORY))
			continue;
		run->ntexts++;
		job->text = to;
		place(run, path, job);
		if (io_read_file(tree->fd, path, FTI_INI_MAX, to, err) < 0 ||
		    (kind != FTI_NAME_TOPOLOGY &&
		     edit_copy(run, kind == FTI_NAME_HISTORY, path, to, err) <
			     0))
			return -1;
	}
	return 0;
}

/* --- What is converted --- */

/* "L4 checkpoint 3 of EXEC". */
static const char *
name_of(struct run *run, const struct fti_set *s, int64_t id)
{
	return arena_printf(run->c->out.arena, "%s%s%s, checkpoint %" PRId64,
			    s->exec, s->exec[0] != '\0' ? " " : "",
			    fti_levels[s->level].name, id);
}

/* Report why a checkpoint cannot be converted; nothing will be. */
static void
refuse_set(struct run *run, const struct fti_set *s, const char *why)
{
	struct fti_output *p = &run->c->out;
	char next[ERROR_TEXT_MAX];

	app_error("%s: %s", name_of(run, s, (int64_t)s->id), why);
	p->status = error_worse_status(p->status, STATUS_DAMAGED);
	if (p->next == NULL)
		p->next = arena_strdup(
			p->arena, report_command("scr_fti scan --checksums",
						 NULL, run->sets.tree.root,
						 next, sizeof(next)));
}

static void
add_part(struct run *run, struct fti_set *s)
{
	struct part *part = &run->parts[run->nparts];
	struct fti_output *p = &run->c->out;
	const bool posix = run->c->form.posix, dcp = s->level == FTI_DCP;
	char why[64];

	*part = (struct part){
		.set = s,
		.first = p->count,
		.id = dcp ? -1 : (int64_t)s->id,
		/* Differential files of layout B to F stay what they are in
		 * these layouts. */
		.moved = dcp && (posix || run->c->form.to == FTI_A || s->posix),
		.from = "",
	};
	run->nparts++;
	if (posix && (s->geometry.group_size == 0 || s->groups == 0)) {
		refuse_set(run, s,
			   "the size of its groups is not known, which have "
			   "the metadata of POSIX files (--node-size, "
			   "--group-size)");
		return;
	}
	for (size_t i = 0; i < s->nranks; i++) {
		struct fti_rank *r = &s->ranks[i];
		const struct fti_entry *e = r->parts[FTI_OWN].entry;
		struct fti_remake_item *it = &p->items[p->count];

		for (int k = FTI_COPY; k < FTI_PARTS; k++)
			run->unconverted += r->parts[k].entry != NULL;
		if (e == NULL) {
			snprintf(why, sizeof(why),
				 "rank %" PRIu32 " has no file", r->rank);
			refuse_set(run, s, why);
			return;
		}
		it->in = arena_printf(p->arena, "%s/%s", run->sets.tree.root,
				      e->path);

		it->in_dir = run->sets.tree.fd;
		it->in_name = e->path;
		place(run, e->path, &it->out);
		run->items[p->count++] = (struct item){ part, r, 0 };
		part->before += e->size;
	}
	/* The metadata files of POSIX files. */
	part->sectors = run->nsectors;
	for (size_t g = 0; posix && g < s->groups; g++, run->nsectors++) {
		struct fti_job *job = &run->texts[run->ntexts];
		struct fti_posix *sector = &run->sectors[run->nsectors];

		/* With heads, the first group of a sector has no ranks. */
		if (fti_set_member(s, (uint32_t)g, 0) == NULL)
			continue;
		place(run, name_sector(run, part, g), job);
		fti_posix_start(sector, 0, s->geometry.group_size);
		sector->name = job->name;
		run->inis[run->nsectors] = &run->bufs[run->ntexts];
		job->text = &run->bufs[run->ntexts++];
	}
}

static int
add_parts(struct run *run, struct error *err)
{
	const size_t sets = run->sets.count;
	const int64_t id = run->c->ckpt;
	size_t ranks = 0, groups = 0, texts = run->sets.tree.count + 1;

	for (size_t i = 0; i < sets; i++) {
		ranks += run->sets.list[i].nranks;
		groups += run->sets.list[i].groups;
	}
	texts += groups;
	run->parts = mem_calloc(sets + 1, sizeof(*run->parts));
	run->items = mem_calloc(ranks + 1, sizeof(*run->items));
	run->sectors = mem_calloc(groups + 1, sizeof(*run->sectors));
	run->inis = mem_calloc(groups + 1, sizeof(*run->inis));
	run->texts = mem_calloc(texts + 1, sizeof(*run->texts));
	run->bufs = mem_calloc(texts + 1, sizeof(*run->bufs));
	run->c->out.items = mem_calloc(ranks + 1, sizeof(*run->c->out.items));

	for (size_t i = 0; i < sets; i++) {
		struct fti_set *s = &run->sets.list[i];

		if (s->level != FTI_TMP && s->level != FTI_REPLICA &&
		    s->level != FTI_NO_LEVEL &&
		    (id < 0 || (int64_t)s->id == id))
			add_part(run, s);
	}
	if (run->nparts == 0)
		return error_set(err, ERROR_ABSENT,
				 "%s: no such checkpoint of FTI",
				 run->sets.tree.root);
	return add_copies(run, err);
}

/* --- The run --- */

static int
describe(void *arg, size_t i, const struct fti_rankfile *r, struct fti_draft *d,
	 struct error *err)
{
	struct run *run = arg;
	struct item *it = &run->items[i];
	struct part *p = it->part;
	struct fti_set *s = p->set;
	struct arena *arena = run->c->out.arena;
	struct fti_name name = { .kind = FTI_NAME_RANK,
				 .rank = it->rank->rank };
	const char *up = NULL;
	const struct fti_rank *left = NULL;
	uint64_t largest = 0;
	struct fti_convert_notes notes;

	if (fti_convert_describe(run->c, r, &run->c->out.items[i].attr, d,
				 &notes, err) < 0)
		return -1;
	/* All ranks must have the id of their names, or the same one. */
	if (p->id < 0)
		p->id = r->id;
	if (r->id != p->id)
		return error_set(err, ERROR_CORRUPT,
				 "%s: is of checkpoint %" PRId64
				 ", expected %" PRId64,
				 r->name, r->id, p->id);
	if (p->moved) {
		/* "Global/<exec>/dCP/": it becomes one of L4. */
		up = fti_tree_dir(arena, it->rank->parts[FTI_OWN].entry->path);
		up = fti_tree_join(arena, fti_tree_dir(arena, up),
				   fti_levels[FTI_L4].dir);
		name.id = (uint32_t)p->id;
		place(run, fti_tree_join(arena, up, fti_name_str(&name)),
		      &run->c->out.items[i].out);
	}
	p->notes.id |= notes.id;
	p->notes.time |= notes.time;
	/* Files of levels 2 and 3 name the sizes of others of their group. */
	if (d->raw || s->geometry.group_size < 2)
		return 0;
	left = fti_set_neighbour(s, it->rank, true);
	for (size_t k = p->first; k < p->first + s->nranks; k++) {
		const struct item *other = &run->items[k];

		if (other->rank->group == it->rank->group &&
		    other->size > largest)
			largest = other->size;
		if (other->rank == left && s->level == FTI_L2)
			d->pt_fs = (int64_t)other->size;
	}
	if (s->level == FTI_L3)
		d->max_fs = (int64_t)largest +
			    (fti_format(d->layout)->footer ? 8 : 0);
	return 0;
}

static int
planned(void *arg, size_t i, const struct fti_rankfile *r,
	const struct fti_draft *d, struct error *err)
{
	struct run *run = arg;
	struct item *it = &run->items[i];

	(void)err;
	it->size = d->size;
	it->part->after += d->size;
	it->part->from = fti_convert_form(r);
	return 0;
}

static void
written(void *arg, size_t i, const struct fti_draft *d)
{
	struct run *run = arg;
	const struct item *it = &run->items[i];
	struct fti_posix *s = NULL;

	if (!d->raw)
		return;
	s = &run->sectors[it->part->sectors + it->rank->group];
	s->id = (int32_t)d->ckpt_id;
	fti_posix_set(s, it->rank->member,
		      path_base(run->c->out.items[i].out.path), d);
}

static int
finish(void *arg, struct error *err)
{
	struct run *run = arg;

	for (size_t i = 0; i < run->nsectors; i++)
		if (run->inis[i] != NULL &&
		    fti_posix_finish(&run->sectors[i], run->sectors[i].name,
				     run->inis[i], err) < 0)
			return -1;
	return 0;
}

static void
total(void *arg, struct buf *out)
{
	struct run *run = arg;
	const char *done = run->c->o.dry_run ? "would be written" : "written";
	char next[ERROR_TEXT_MAX];

	for (size_t i = 0; i < run->nparts; i++) {
		const struct part *p = &run->parts[i];

		buf_printf(out,
			   "%s: %s -> %s, %zu %s, %" PRIu64 " -> %" PRIu64
			   " bytes%s\n",
			   str_shown(name_of(run, p->set, p->id)), p->from,
			   fti_convert_to(run->c),
			   str_count(p->set->nranks, "file"), p->before,
			   p->after, p->moved ? ", now at L4" : "");
		fti_convert_say(&p->notes, out);
	}
	buf_printf(out, "%s below %s\n", done, str_shown(run->c->o.out));
	if (run->unconverted == 0)
		return;
	buf_printf(out, "%zu %s of levels 2 and 3 %s not converted\n",
		   run->unconverted,
		   run->unconverted == 1 ? "copy or parity file"
					 : "copies and parity files",
		   run->unconverted == 1 ? "is" : "are");
	if (run->c->o.dry_run)
		return;
	run->c->out.next =
		arena_strdup(run->c->out.arena,
			     report_command("scr_fti rebuild", NULL,
					    run->c->o.out, next, sizeof(next)));
	app_next(next);
}

int
fti_convert_tree(struct fti_convert *c, const char *dir, struct error *err)
{
	struct run run = { .c = c, .rootfd = -1 };
	struct fti_output *p = &c->out;
	struct fti_remake m = {
		.describe = describe,
		.planned = planned,
		.written = written,
		.finish = finish,
		.arg = &run,
	};
	int status = STATUS_OK;

	if (fti_open_sets(&run.sets, dir, &c->geometry, &p->work, err) < 0 ||
	    find_root(&run, dir, err) < 0 || add_parts(&run, err) < 0) {
		status = app_report(STATUS_OK, err);
	} else if (p->status != STATUS_OK) {
		app_next(p->next);
		fti_output_answer(p, 1);
		status = p->status;
	} else {
		m.texts = run.texts;
		m.ntexts = run.ntexts;
		p->total = total;
		status = fti_output_run(p, &m);
	}
	for (size_t i = 0; i < run.nsectors; i++)
		fti_posix_fini(&run.sectors[i]);
	for (size_t i = 0; i < run.ntexts; i++)
		buf_free(&run.bufs[i]);
	mem_free(run.bufs);
	mem_free(run.texts);
	mem_free(run.inis);
	mem_free(run.sectors);
	mem_free(run.items);
	mem_free(run.parts);
	fti_sets_free(&run.sets);
	return status;
}
