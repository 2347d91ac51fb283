/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_check.c - read the files with a recorded checksum and verify it: data
 * files, and redundancy files in containers.
 */
#include <stdatomic.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "rescue/plan_impl.h"
#include "transfer/transfer.h"
#include "work.h"

struct check {
	const struct plan *p;
	struct stripe_sum *sums; /* by file */
	atomic_bool *unread;	 /* by file: an I/O error */
	struct stripe files;	 /* those to be read, one after the other */
	uint64_t len;		 /* of that string */
};

/* List the files to be read: those of look[], by file; unless `all`, only those
 * whose checksum can be compared. */
static int
list_files(struct check *c, bool *look, bool all, struct error *err)
{
	const struct plan *p = c->p;
	size_t n = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		n += plan_file_nparts(&p->files[i]);
	c->sums = mem_calloc(p->nfiles + 1, sizeof(*c->sums));
	c->unread = mem_calloc(p->nfiles + 1, sizeof(*c->unread));
	c->files.parts = mem_calloc(n + 1, sizeof(*c->files.parts));
	if (c->sums == NULL || c->unread == NULL || c->files.parts == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		look[i] &= all || (f->state == FILE_PRESENT && f->has_crc);
		if (!look[i])
			continue;
		c->sums[i].size = f->attr.size;
		c->files.nparts += plan_file_parts(
			p, i, c->len, i, &c->files.parts[c->files.nparts]);
		c->len += f->attr.size;
	}
	return 0;
}

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
	struct check c = { .p = p };
	struct transfer_options t = {
		.work = work,
		.unreadable = note_unreadable,
		.arg = &c,
	};
	int rc = list_files(&c, look, crcs != NULL, err);

	if (rc == 0) {
		t.sums = c.sums;
		progress_phase(work->progress, "comparing checksums", c.len);
		rc = transfer(&c.files, NULL, c.len, &t, err);
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
	return rc;
}

int
plan_check_red(const struct plan *p, const struct plan_member *m, bool *right,
	       bool *wrong, struct error *err)
{
	const struct plan_red *red = m->red;
	struct stripe_sum sum = { .size = plan_segs_size(red->segs,
							 red->nsegs) };
	const struct plan_span whole = {
		.dirfd = p->places[m->place].meta_fd,
		.len = sum.size,
	};
	const struct transfer_options t = { .sums = &sum };
	struct stripe s = { 0, NULL };
	struct error why = ERROR_INIT;
	int rc = 0;

	*right = *wrong = false;
	if (!red->has_crc || red->nsegs == 0 ||
	    !plan_segs_good(red->segs, red->nsegs))
		return 0;
	s.parts = mem_calloc(red->nsegs, sizeof(*s.parts));
	if (s.parts == NULL)
		return error_no_memory(err);
	s.nparts = plan_segs_parts(red->segs, red->nsegs, &whole, s.parts);
	*wrong = transfer(&s, NULL, sum.size, &t, &why) < 0;
	if (*wrong && !plan_blames_file(&why))
		rc = error_pass(err, &why);
	*wrong = *wrong || sum.crc != red->crc;
	*right = !*wrong;
	mem_free(s.parts);
	return rc;
}

bool
plan_can_prove(const struct plan *p, const struct plan_set *s)
{
	bool all = true, lost = true, bodies = false, any = false;

	for (uint32_t m = 0; m < s->n; m++) {
		const struct plan_member *pm = &s->members[m];

		bodies = bodies || pm->fate == FATE_REBUILD;
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
	return any && s->verdict == SET_REBUILDABLE && !s->map &&
	       (bodies ? all : lost);
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
		bool right = false;

		if (!is_packed_red(m))
			continue;
		if (work_go_on(w->work, err) < 0)
			return -1;
		if (plan_check_red(&w->p, m, &right, &red->wrong, &why) < 0) {
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

static int
mark_found(struct planner *w, struct error *err)
{
	const char *text = NULL;
	int rc = 0;

	for (uint32_t i = 0; i < w->p.nsets; i++)
		for (uint32_t m = 0; m < w->p.sets[i].n && rc == 0; m++) {
			struct plan_member *is = &w->p.sets[i].members[m];
			const struct solve_ref at = { m, true, 0 };

			if (is->red->wrong) {
				rc = plan_mark_body(&w->p, i, m, err);
				is->wrong_sum = true;
			} else if (is->red->unread)
				rc = plan_mark_unread(&w->p, i, &at, &text,
						      err);
		}
	return rc;
}

int
plan_check_reds(struct planner *w, struct error *err)
{
	uint64_t len = 0;

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
	return mark_found(w, err);
}
