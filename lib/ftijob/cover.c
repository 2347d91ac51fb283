/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cover.c - write the files of a checkpoint for another level, and what
 * protects them.
 */
#include "ftijob/cover.h"

#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "encode/cauchy.h"
#include "error.h"
#include "fti/check.h"
#include "fti/content.h"
#include "fti/draft.h"
#include "fti/file.h"
#include "fti/ini.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "fti/write.h"
#include "ftijob/cover_impl.h"
#include "ftijob/recover.h"
#include "ftijob/renew.h"
#include "ftijob/tree.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "room.h"
#include "str.h"
#include "work.h"

/* --- The files of the ranks of a group --- */

struct member {
	const struct fti_protect_file *to;
	struct fti_source source;
	struct fti_checked checked; /* FTI-FF */
	struct fti_posix_checked posix;
	struct fti_content content;
	struct fti_draft draft;
};

struct group {
	const struct fti_protect *p;
	const struct work *w;
	struct member members[CAUCHY_MAX];
	size_t count; /* that are written */
};

static void
close_group(struct group *g)
{
	for (size_t i = 0; i < g->count; i++) {
		struct member *m = &g->members[i];

		fti_draft_fini(&m->draft);
		fti_content_fini(&m->content);
		fti_checked_fini(&m->checked);
		fti_posix_checked_fini(&m->posix);
		fti_file_free(m->checked.file);
		fti_source_close(&m->source);
	}
	memset(g->members, 0, sizeof(g->members));
	g->count = 0;
}

static int
open_member(struct group *g, const struct fti_protect_file *to,
	    struct error *err)
{
	const struct fti_protect *p = g->p;
	struct member *m = &g->members[g->count++];

	m->to = to;
	if (fti_source_open(&m->source, p->sets->tree->fd,
			    to->rank->parts[FTI_OWN].entry->path, err) < 0)
		return -1;
	m->posix = (struct fti_posix_checked){ .file = to->rank->posix,
					       .source = &m->source };
	m->checked.source = &m->source;
	if (p->from->posix)
		return 0;
	m->checked.file = fti_file_read(&m->source, p->from->layout, err);
	return m->checked.file == NULL ? -1 : 0;
}

/* Read all data, and compare them with their sums. */
static int
check(struct group *g, struct error *err)
{
	struct fti_posix_checked posix[CAUCHY_MAX];
	struct fti_checked files[CAUCHY_MAX];
	int rc = 0;

	for (size_t i = 0; i < g->count; i++) {
		files[i] = g->members[i].checked;
		posix[i] = g->members[i].posix;
	}
	rc = g->p->from->posix
		     ? fti_posix_check(posix, g->count, true, g->w, err)
		     : fti_check(files, g->count, true, g->w, err);
	for (size_t i = 0; i < g->count; i++) {
		g->members[i].checked = files[i];
		g->members[i].posix = posix[i];
	}
	return rc;
}

static int
describe_posix(struct member *m, struct error *err)
{
	if (m->posix.verdict != FTI_INTACT)
		return error_set(
			err,
			m->posix.unread != NULL ? ERROR_SYSTEM : ERROR_CORRUPT,
			"%s: %s", m->source.name,
			m->posix.unread != NULL ? m->posix.unread
						: m->posix.findings->text);
	if (fti_content_posix(&m->content, m->posix.file, &m->source, err) < 0)
		return -1;
	return fti_describe_posix(&m->draft, &m->content, err);
}

/* The size of the left partner's file, which FTI keeps as a copy. */
static int64_t
left_size(const struct fti_protect *p, const struct fti_rank *r)
{
	return (int64_t)cover_size(p, fti_set_neighbour(p->from, r, true));
}

static int
describe(struct group *g, struct member *m, struct error *err)
{
	const struct fti_protect *p = g->p;

	if (p->from->posix)
		return describe_posix(m, err);
	if (fti_describe_same(&m->draft, &m->checked, p->from->layout, err) < 0)
		return -1;
	m->draft.ckpt_id = p->from->id;
	m->draft.max_fs = -1;
	m->draft.pt_fs = -1;
	if (p->level == FTI_L3)
		m->draft.max_fs = (int64_t)cover_length(p, m->to->rank->group);
	else
		m->draft.pt_fs = left_size(p, m->to->rank);
	return 0;
}

static int
write_group(struct group *g, struct error *err)
{
	struct fti_job jobs[CAUCHY_MAX];
	int rc = check(g, err);

	for (size_t i = 0; i < g->count && rc == 0; i++) {
		struct member *m = &g->members[i];

		rc = describe(g, m, err);
		if (rc == 0)
			rc = fti_draft_plan(&m->draft, err);
		if (rc == 0 && m->draft.size != m->to->size)
			rc = error_set(err, ERROR_CORRUPT,
				       "%s: has another size than its metadata "
				       "say",
				       m->source.name);
		jobs[i] = (struct fti_job){
			.draft = &m->draft,
			.dirfd = g->p->sets->tree->fd,
			.path = m->to->path,
			.replace = m->to->replaces,
		};
	}
	return rc == 0 ? fti_write(jobs, g->count, g->w, err) : -1;
}

/* Group by group: the plan lists them so. */
static int
write_data(const struct fti_protect *p, const struct work *w, struct error *err)
{
	struct group *g = mem_calloc(1, sizeof(*g));
	int rc = g == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; i < p->count && rc == 0; i++) {
		const struct fti_protect_file *f = &p->files[i];
		const bool last =
			i + 1 == p->count || f[1].rank->group != f->rank->group;

		g->p = p;
		g->w = w;
		if (!f->redundancy)
			rc = open_member(g, f, err);
		if (rc == 0 && last && g->count > 0)
			rc = write_group(g, err);
		if (last || rc < 0)
			close_group(g);
	}
	mem_free(g);
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
	fd = path_open_parent(p->sets->tree->fd, path, true, 0777, &base, err);
	if (fd < 0)
		return -1;
	if (io_read_file(p->sets->tree->fd, e->path, FTI_INI_MAX, &text, err) ==
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
	const struct fti_entry *list = p->sets->tree->list;

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

static int
write_redundancy(const struct fti_protect *p, const struct work *w,
		 struct error *err)
{
	struct fti_rebuild r = { .count = 0 };
	struct fti_tree t = { .fd = -1 };
	struct fti_sets s = { .count = 0 };
	struct fti_set *set = NULL;
	int rc = fti_tree_open(&t, p->sets->tree->root, w, err);

	if (rc == 0)
		rc = fti_sets_open(&s, &t, &p->from->geometry, err);
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
	fti_tree_close(&t);
	return rc;
}

int
fti_protect_run(const struct fti_protect *p, const struct work *w,
		struct error *err)
{
	if (room_check(p->sets->tree->fd, p->bytes_written,
		       "the files that protect the checkpoint", err) < 0)
		return -1;
	if (work_or_default(w)->dry_run || p->count == 0)
		return 0;
	if (p->data > 0 && write_data(p, w, err) < 0)
		return -1;
	if (write_metadata(p, err) < 0)
		return -1;
	return write_redundancy(p, w, err);
}
