/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_check.c - read the files with a recorded checksum and verify it: data
 * files, and redundancy files in containers.  Files that turn out to be damaged
 * or unreadable when the plan is already made: their sets are solved again.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "container/segmap.h"
#include "error.h"
#include "mem.h"
#include "par.h"
#include "path.h"
#include "progress.h"
#include "rescue/part.h"
#include "rescue/plan_impl.h"
#include "str.h"
#include "transfer/transfer.h"
#include "work.h"

struct check {
	struct stripe_sum *sums; /* by file */
	atomic_bool *unread;	 /* by file: an I/O error */
	struct stripe files;	 /* those to be read, one after the other */
	uint64_t len;		 /* of that string */
};

/* The checksum of a file that cannot be read completely covers fewer bytes than
 * its size, so the file counts as wrong. */
static int
note_unreadable(void *arg, const struct stripe_part *part,
		const struct error *why)
{
	struct check *c = arg;

	if (error_is_unread(why))
		c->unread[part->sum] = true;
	else if (!plan_blames_file(why))
		return -1;
	return 0;
}

int
plan_check_files(struct plan *p, const struct work *work, bool *look,
		 uint32_t *crcs, struct error *err)
{
	struct check c = { .len = 0 };
	struct transfer_options t = {
		.work = work,
		.unreadable = note_unreadable,
		.arg = &c,
	};
	size_t parts = 1;
	int rc = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		parts += plan_file_nparts(&p->files[i]);
	c.sums = mem_calloc(p->nfiles + 1, sizeof(*c.sums));
	c.unread = mem_calloc(p->nfiles + 1, sizeof(*c.unread));
	c.files.parts = mem_calloc(parts, sizeof(*c.files.parts));
	if (c.sums == NULL || c.unread == NULL || c.files.parts == NULL)
		rc = error_no_memory(err);
	/* Without `crcs`, only those whose checksum can be compared. */
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		look[i] &= crcs != NULL ||
			   (f->state == FILE_PRESENT && f->has_crc);
		if (!look[i])
			continue;
		c.sums[i].size = f->attr.size;
		plan_file_parts(p, i, c.len, i, &c.files);
		c.len += f->attr.size;
	}
	if (rc == 0) {
		t.sums = c.sums;
		progress_phase(work->progress, "comparing checksums", c.len);
		if (work->help != NULL)
			work->help->dirfd = p->places[0].meta_fd;
		rc = transfer(&c.files, NULL, c.len, &t, err);
		if (work->help != NULL)
			work->help->dirfd = -1;
	}
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		struct plan_file *f = &p->files[i];

		if (crcs != NULL && look[i])
			crcs[i] = c.sums[i].crc;
		look[i] = look[i] && (c.sums[i].seen != f->attr.size ||
				      (f->has_crc && c.sums[i].crc != f->crc));
		f->unread = f->unread || c.unread[i];
	}
	mem_free(c.unread);
	mem_free(c.sums);
	mem_free(c.files.parts);
	return rc;
}

enum file_age
plan_age_of(const struct stat *st, const struct attr *recorded)
{
	if (!recorded->has_times)
		return AGE_UNKNOWN;
	/* Not all file systems keep more than whole seconds. */
	if (st->st_mtim.tv_sec + 1 < recorded->mtime.tv_sec)
		return AGE_OLDER;
	return st->st_mtim.tv_sec > recorded->mtime.tv_sec ? AGE_LATER
							   : AGE_SAME;
}

enum file_age
plan_file_age(const struct plan *p, const struct plan_file *f)
{
	struct stat st;

	return f->packed || path_stat_beneath(p->places[f->place].root_fd,
					      f->path, &st, NULL) < 0
		       ? AGE_UNKNOWN
		       : plan_age_of(&st, &f->attr);
}

/* A job writes all filemaps of a dataset within this time, in seconds. */
#define RUN_MAX 3600

/* The checksums in a filemap are wrong, its file is later, and the filemap is
 * much older than another, whose file is right: it may be that of an older
 * run. */
static int
doubt_maps(struct planner *w, struct error *err)
{
	const struct plan_file *wrong = NULL, *right = NULL;

	for (size_t i = 0; i < w->p.nfiles && w->record != NULL; i++) {
		const struct plan_file *f = &w->p.files[i];
		const uint32_t set = w->p.ranks[f->rank].data_set;

		if (f->nsegs > 0 || f->record_crc || !f->has_crc ||
		    (set != PLAN_NONE &&
		     redset_is_redundant(w->p.sets[set].type)))
			continue;
		if (f->state == FILE_WRONG_CRC && wrong == NULL &&
		    plan_file_age(&w->p, f) == AGE_LATER)
			wrong = f;
		else if (f->state == FILE_PRESENT && right == NULL &&
			 plan_file_age(&w->p, f) == AGE_SAME)
			right = f;
	}
	if (wrong == NULL || right == NULL || w->p.flaw != NULL ||
	    wrong->attr.mtime.tv_sec + RUN_MAX > right->attr.mtime.tv_sec)
		return 0;
	return plan_set_flaw(
		&w->p, STATUS_FAILED,
		arena_printf(w->p.arena,
			     "%s has another checksum than filemap_%" PRIu32
			     " says, and is later: one of the two is that of "
			     "another run",
			     str_shown(wrong->path), wrong->rank),
		err);
}

int
plan_check_all(struct planner *w, struct error *err)
{
	bool *look = mem_alloc(w->p.nfiles + 1, sizeof(*look));
	int rc = -1;

	if (look == NULL)
		return error_no_memory(err);
	memset(look, true, w->p.nfiles);
	rc = plan_check_files(&w->p, w->work, look, NULL, err);
	for (size_t i = 0; rc == 0 && i < w->p.nfiles; i++)
		if (look[i])
			w->p.files[i].state = w->p.files[i].unread
						      ? FILE_UNREAD
						      : FILE_WRONG_CRC;
	mem_free(look);
	return rc < 0 ? -1 : doubt_maps(w, err);
}

/* Files in no set are the part of who shares the others out. */
static bool
is_away(const struct plan *p, const struct plan_file *f)
{
	const uint32_t set = p->ranks[f->rank].data_set;

	return set == PLAN_NONE ? p->part : p->sets[set].away;
}

int
plan_check_kept(struct plan *p, const struct work *work, struct error *err)
{
	bool *look = mem_calloc(p->nfiles + 1, sizeof(*look));
	bool *unread = mem_calloc(p->nfiles + 1, sizeof(*unread));
	int rc = look == NULL || unread == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; rc == 0 && i < p->nfiles; i++)
		look[i] = !is_away(p, &p->files[i]);
	if (rc == 0)
		rc = plan_check_files(p, work, look, NULL, err);
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		unread[i] = look[i] && p->files[i].unread;
		look[i] = look[i] && !unread[i];
	}
	if (rc == 0)
		rc = plan_mark_all(p, look, FILE_WRONG_CRC, err);
	if (rc == 0)
		rc = plan_mark_all(p, unread, FILE_UNREAD, err);
	mem_free(look);
	mem_free(unread);
	return rc < 0 ? -1 : doubt_maps((struct planner *)p, err);
}

int
plan_check_red(const struct plan *p, const struct plan_member *m,
	       const struct work *work, bool *wrong, struct error *err)
{
	const struct plan_red *red = m->red;
	const uint64_t size = plan_segs_size(red->segs, red->nsegs);
	const struct solve_range whole = { 0, size };
	struct stripe_sum sum = { .size = size };
	const struct work alone = { .pace = work->pace, .stop = work->stop };
	const struct transfer_options t = { .work = &alone, .sums = &sum };
	struct stripe s = { 0, NULL };
	struct error why = ERROR_INIT;
	struct arena *arena = NULL;
	int rc = 0;

	*wrong = false;
	if (!red->has_crc || red->nsegs == 0 ||
	    segmap_gone(red->segs, red->nsegs))
		return 0;
	arena = arena_new();
	rc = plan_red_string(p, m, &whole, arena, &s, err);
	for (size_t i = 0; i < s.nparts; i++)
		s.parts[i].sum = 0;
	*wrong = rc == 0 && transfer(&s, NULL, size, &t, &why) < 0;
	if (*wrong && !plan_blames_file(&why))
		rc = error_pass(err, &why);
	*wrong = *wrong || sum.crc != red->crc;
	arena_free(arena);
	return rc;
}

bool
plan_can_prove(const struct plan *p, const struct plan_set *s)
{
	bool all = true, lost = true, bodies = false, any = false;

	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_member *pm = &s->members[m];

		bodies = bodies || pm->fate == FATE_REBUILD;
		/* Filemaps have checksums of their own. */
		if (s->map) {
			const struct plan_rank *r = plan_rank_of(p, pm);

			all = all && r != NULL && r->map_known &&
			      !r->composed && !r->doubted;
			any = any || (r != NULL && r->map.fate == FATE_REBUILD);
			continue;
		}
		for (size_t i = 0; i < pm->list.nfiles; i++) {
			const struct plan_file *f = plan_member_file(p, pm, i);
			const bool sure = f != NULL && plan_file_provable(f);

			all = all && sure;
			if (f == NULL || f->fate == FATE_KEEP)
				continue;
			lost = lost && sure;
			any = any || f->attr.size > 0;
		}
	}
	/* Redundancy has no checksum: it is computed from proven data. */
	return any && s->verdict == SET_REBUILDABLE &&
	       (bodies || s->map ? all : lost);
}

bool
plan_leaves_set(const struct plan *p, const struct plan_set *s)
{
	if (s->away || !s->undecided)
		return s->away;
	/* Are data of the set, or filemaps, computed? */
	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_member *pm = &s->members[m];
		const struct plan_rank *pr = plan_rank_of(p, pm);

		if (s->map && pr != NULL && pr->map.fate != FATE_KEEP)
			return false;
		for (size_t i = 0; !s->map && i < pm->list.nfiles; i++) {
			const struct plan_file *f = plan_member_file(p, pm, i);

			if (f == NULL || f->fate != FATE_KEEP)
				return false;
		}
	}
	return true;
}

/* --- Packed redundancy files --- */

static bool
is_packed_red(const struct plan_member *m)
{
	return m->red->nsegs > 0 && m->red->has_crc &&
	       (m->state == RED_PRESENT || m->state == RED_UNCHECKED);
}

static int
check_set(void *arg, size_t set, unsigned worker, struct error *err)
{
	const struct planner *w = arg;
	const struct plan_set *s = &w->p.sets[set];

	(void)worker;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];
		struct plan_red *red = m->red;
		struct error why = ERROR_INIT;

		if (!is_packed_red(m))
			continue;
		if (work_go_on(w->work, err) < 0)
			return -1;
		if (plan_check_red(&w->p, m, w->work, &red->wrong, &why) < 0) {
			red->wrong = false;
			red->unread = error_is_unread(&why);
			if (!red->unread)
				return error_pass(err, &why);
		}
		progress_add(w->work->progress,
			     plan_segs_size(red->segs, red->nsegs));
	}
	return 0;
}

int
plan_check_reds(struct planner *w, struct error *err)
{
	const char *text = NULL;
	uint64_t len = 0;
	int rc = 0;

	for (size_t i = 0; i < w->p.nsets; i++)
		for (uint32_t m = 0; m < w->p.sets[i].n; m++) {
			const struct plan_member *is = &w->p.sets[i].members[m];

			if (is_packed_red(is))
				len += plan_segs_size(is->red->segs,
						      is->red->nsegs);
		}
	if (len == 0)
		return 0;
	progress_phase(w->work->progress, "comparing checksums of redundancy",
		       len);
	if (par_for(w->par, w->p.nsets, 1, check_set, w, err) < 0)
		return -1;
	for (uint32_t i = 0; i < w->p.nsets; i++)
		for (uint32_t m = 0; m < w->p.sets[i].n && rc == 0; m++) {
			struct plan_member *is = &w->p.sets[i].members[m];
			const struct solve_ref at = { m, true, 0 };

			if (is->red->wrong) {
				rc = plan_mark_body(&w->p, i, m, err);
				is->wrong_sum = true;
			} else if (is->red->unread) {
				rc = plan_mark_unread(&w->p, i, &at, &text,
						      err);
			}
		}
	return rc;
}

/* --- What turns out to be damaged --- */

const char *
plan_unread_text(const struct plan *p, const char *path)
{
	return plan_or_brief(
		arena_printf(p->arena, "%s: cannot be read (I/O error)", path),
		path);
}

/* Open a set that was not opened while the plan was made, because one of its
 * files has turned out to be damaged. */
static int
reopen_set(struct planner *w, uint32_t set, struct error *err)
{
	struct plan_set *s = &w->p.sets[set];

	if (plan_open_set(w, s, w->p.arena, err) < 0)
		return -1;
	if (s->foreign)
		s->flaw = "its redundancy files belong to another dataset";
	return plan_join_set(w, set, err);
}

/* Solve the set of a file again, whose state has changed. */
static int
solve_again(struct planner *w, size_t file, struct error *err)
{
	const uint32_t set = w->p.ranks[w->p.files[file].rank].data_set;

	if (set == PLAN_NONE)
		return 0;
	if (!w->p.sets[set].opened && reopen_set(w, set, err) < 0)
		return -1;
	return plan_solve_set(w, &w->p.sets[set], w->p.arena, err);
}

static int
mark_body(struct planner *w, struct plan_set *s, uint32_t member,
	  const char *problem, bool unread, struct error *err)
{
	s->members[member].state = RED_DAMAGED;
	s->members[member].problem = problem;
	s->members[member].unread = unread;
	if (plan_make_header(w, s, member, w->p.arena, err) < 0)
		return -1;
	return plan_solve_set(w, s, w->p.arena, err);
}

int
plan_mark(struct plan *p, size_t file, enum file_state state, struct error *err)
{
	struct planner *w = (struct planner *)p;

	p->files[file].state = state;
	if (solve_again(w, file, err) < 0)
		return -1;
	plan_finish(w);
	return 0;
}

int
plan_mark_all(struct plan *p, const bool *look, enum file_state state,
	      struct error *err)
{
	struct planner *w = (struct planner *)p;

	for (size_t i = 0; i < p->nfiles; i++)
		if (look[i])
			p->files[i].state = state;
	/* Once for the files of a rank, which have adjacent numbers. */
	for (size_t i = 0, last = SIZE_MAX; i < p->nfiles; i++) {
		if (!look[i] || (last != SIZE_MAX &&
				 p->files[last].rank == p->files[i].rank))
			continue;
		if (solve_again(w, i, err) < 0)
			return -1;
		last = i;
	}
	plan_finish(w);
	return 0;
}

int
plan_mark_body(struct plan *p, uint32_t set, uint32_t member, struct error *err)
{
	struct planner *w = (struct planner *)p;
	struct plan_set *s = &p->sets[set];

	if ((!s->opened && reopen_set(w, set, err) < 0) ||
	    mark_body(w, s, member, "its contents are damaged", false, err) < 0)
		return -1;
	plan_finish(w);
	return 0;
}

/* --- Unreadable files --- */

size_t
plan_file_at(const struct plan_member *m, uint64_t *at)
{
	size_t i = 0;

	for (; i < m->list.nfiles && *at >= m->list.files[i].attr.size; i++)
		*at -= m->list.files[i].attr.size;
	return i;
}

int
plan_mark_at(struct planner *w, struct plan_set *s, const struct solve_ref *at,
	     const char **text, struct error *err)
{
	struct plan_member *m = &s->members[at->member];
	struct plan_rank *r = NULL;
	uint64_t off = at->off;
	size_t file = 0;

	if (at->body) {
		*text = plan_unread_text(&w->p, m->name);
		return mark_body(w, s, at->member, *text, true, err);
	}
	if (s->map) {
		r = &w->p.ranks[m->rank];
		*text = plan_unread_text(&w->p, r->map.name);
		r->map_known = false;
		r->map.unread = true;
		r->map.why = *text;
		return plan_solve_set(w, s, w->p.arena, err);
	}
	file = m->files[plan_file_at(m, &off)];
	*text = plan_unread_text(&w->p, w->p.files[file].path);
	w->p.files[file].state = FILE_UNREAD;
	return solve_again(w, file, err);
}

int
plan_suppose(struct plan *p, uint32_t set, const struct solve_ref *at,
	     bool wrong, struct error *err)
{
	struct plan_member *m = &p->sets[set].members[at->member];
	uint64_t off = at->off;

	if (at->body && wrong)
		return plan_mark_body(p, set, at->member, err);
	if (!at->body)
		return plan_mark(p, m->files[plan_file_at(m, &off)],
				 wrong ? FILE_WRONG_CRC : FILE_PRESENT, err);
	m->state = RED_PRESENT;
	m->problem = NULL;
	if (plan_solve_set((struct planner *)p, &p->sets[set], p->arena, err) <
	    0)
		return -1;
	plan_finish((struct planner *)p);
	return 0;
}

int
plan_mark_unread(struct plan *p, uint32_t set, const struct solve_ref *at,
		 const char **text, struct error *err)
{
	struct planner *w = (struct planner *)p;
	struct plan_set *s = &p->sets[set];

	if (plan_mark_at(w, s, at, text, err) < 0 ||
	    (s->map && plan_restore_set(w, s, err) < 0))
		return -1;
	plan_finish(w);
	return 0;
}
