/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep.c - recompute the redundancy of every set and compare it.
 *
 * All redundancy is computed from the data, as if every redundancy file of the
 * set were lost, and compared with the redundancy on disk.  If they differ, the
 * scheme may identify the wrong member.  If it cannot, recorded checksums,
 * which are computed in the same pass, may identify the wrong file.
 */
#include "rescue/deep.h"

#include <string.h>

#include "arena.h"
#include "error.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "rescue/deep_impl.h"
#include "str.h"
#include "work.h"

bool
deep_can_check(const struct plan_set *s)
{
	return s->opened && s->solution != NULL && s->verdict == SET_WHOLE &&
	       redset_is_redundant(s->type) && s->n > 0 && s->flaw == NULL;
}

/* --- A block --- */

/* Returns the index of the first wrong job->out[], or nout. */
static uint32_t
first_wrong(const struct compute_block *b)
{
	const uint32_t nin = b->job->nin, nout = b->job->nout;
	uint32_t i = 0;

	while (i < nout && memcmp(compute_string(b, nin + i),
				  compute_expected(b, i), b->len) == 0)
		i++;
	return i;
}

/* Count the positions that differ, and find the first one. */
static void
count_wrong(const struct compute_block *b, struct deep_finding *f)
{
	for (size_t at = b->len; at-- > 0;) {
		bool differs = false;

		for (uint32_t i = 0; i < b->job->nout; i++) {
			const unsigned char *is =
				compute_string(b, b->job->nin + i);

			differs |= is[at] != compute_expected(b, i)[at];
		}
		f->bytes += differs;
		if (differs)
			f->first = at;
	}
}

static int
check_block(void *arg, const struct compute_block *b, struct error *err)
{
	struct deep *d = arg;
	const struct plan_set *s = &d->p->sets[b->set];
	const struct solve_set set = plan_solve_of(s, NULL);
	struct deep_finding f = {
		.set = (uint32_t)b->set,
		.stripe = b->job->stripe,
		.member = PLAN_NONE,
		.file = PLAN_NONE,
	};
	const struct solve_ref *who = NULL;
	const uint32_t wrong = first_wrong(b);

	if (wrong == b->job->nout)
		return 0;
	f.holder = b->job->out[wrong].member;
	count_wrong(b, &f);
	f.first += b->off;
	if (scheme_of(s->type)->blame(&set, b, &who, err) < 0)
		return -1;
	if (who != NULL)
		deep_blame(d, &f, who);
	return deep_found(d, &f, err);
}

static int
unreadable(void *arg, const struct compute_unread *what)
{
	return deep_unread(arg, (uint32_t)what->set, what->why, NULL);
}

/* --- Work --- */

/* Make the jobs that compute all redundancy of the set. */
static int
prepare_set(struct deep *d, uint32_t set, struct error *err)
{
	const struct plan_set *s = &d->p->sets[set];
	struct solve_member *m = arena_alloc(d->arena, s->n, sizeof(*m));
	const struct solve_set all = plan_solve_of(s, m);
	struct plan_strings strings;

	if (m == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < s->n; i++) {
		m[i].bytes = s->members[i].list.bytes;
		m[i].body_lost = true;
		d->out->bytes_read += m[i].bytes + s->members[i].red->body_size;
	}
	if (plan_strings(d->p, s, true, d->arena, &strings, err) < 0)
		return -1;
	d->sets[set].data = strings.data;
	d->sets[set].body = strings.body;
	return solve(&all, &d->solutions[set], err);
}

static int
prepare(struct deep *d, struct error *err)
{
	const size_t n = d->p->nsets + 1;

	d->sets = arena_alloc(d->arena, n, sizeof(*d->sets));
	d->solutions = arena_alloc(d->arena, n, sizeof(*d->solutions));
	d->bad_red = arena_alloc(d->arena, n, sizeof(*d->bad_red));
	d->sums = arena_alloc(d->arena, d->p->nfiles + 1, sizeof(*d->sums));
	if (d->sets == NULL || d->solutions == NULL || d->bad_red == NULL ||
	    d->sums == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < d->p->nfiles; i++)
		d->sums[i].size = d->p->files[i].attr.size;
	for (size_t i = 0; i < d->p->nsets; i++) {
		const struct plan_set *s = &d->p->sets[i];

		d->sets[i].solution = &d->solutions[i];
		if (!deep_can_check(s)) {
			d->out->sets_skipped += redset_is_redundant(s->type);
			continue;
		}
		d->out->sets_checked++;
		if (prepare_set(d, (uint32_t)i, err) < 0)
			return -1;
	}
	return 0;
}

static void
finish(struct deep *d)
{
	for (size_t i = 0; d->solutions != NULL && i < d->p->nsets; i++)
		solution_free(&d->solutions[i]);
	arena_free(d->arena);
	pthread_mutex_destroy(&d->lock);
}

int
deep_check(struct plan *p, const struct work *work, struct deep_result *out,
	   struct error *err)
{
	struct deep d = { .p = p, .out = out };
	struct compute_options o = {
		.work = work_or_default(work),
		.unreadable = unreadable,
		.compare = check_block,
		.arg = &d,
	};
	struct par *par = work_waiting(o.work, p->places[0].meta_fd);
	int rc = -1;

	*out = (struct deep_result){ .nfindings = 0 };
	d.arena = arena_new();
	if (d.arena == NULL)
		return error_no_memory(err);
	pthread_mutex_init(&d.lock, NULL);
	if (prepare(&d, err) == 0) {
		o.sums = d.sums;
		progress_phase(o.work->progress, "comparing redundancy",
			       compute_bytes(d.sets, p->nsets));
		rc = compute(d.sets, p->nsets, &o, err);
	}
	if (rc == 0)
		rc = par_for(par, p->nsets, 0, deep_check_reds, &d, err);
	for (size_t i = 0; rc == 0 && i < out->nfindings; i++)
		if (out->findings[i].member == PLAN_NONE &&
		    out->findings[i].unread == NULL)
			deep_decide(&d, &out->findings[i]);
	finish(&d);
	if (rc < 0)
		deep_free(out);
	return rc;
}

/* The first file of look[] whose set is whole and has no finding; nfiles: none.
 */
static size_t
first_agreed(const struct plan *p, const struct deep_result *r,
	     const bool *look)
{
	size_t i = 0;

	for (; i < p->nfiles; i++) {
		const uint32_t set = p->ranks[p->files[i].rank].data_set;
		bool agrees = look[i] && deep_can_check(&p->sets[set]);

		for (size_t f = 0; f < r->nfindings && agrees; f++)
			agrees = r->findings[f].set != set;
		if (agrees)
			break;
	}
	return i;
}

int
deep_doubt_record(struct plan *p, const struct work *work, struct error *err)
{
	bool *look = mem_calloc(p->nfiles + 1, sizeof(*look));
	struct deep_result r = { .nfindings = 0 };
	size_t n = 0, right = 0, at = 0;
	bool checked = false;
	int rc = look == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		look[i] = f->state == FILE_WRONG_CRC && f->record_crc;
		n += look[i];
		look[i] = look[i] && p->ranks[f->rank].data_set != PLAN_NONE;
		right += f->state == FILE_PRESENT && f->record_crc;
	}
	if (rc == 0 && n > 0) {
		rc = plan_mark_all(p, look, FILE_PRESENT, err);
		if (rc == 0)
			rc = deep_check(p, work, &r, err);
		for (size_t i = 0; rc == 0 && i < p->nfiles; i++)
			checked = checked ||
				  (look[i] &&
				   deep_can_check(
					   &p->sets[p->ranks[p->files[i].rank]
							    .data_set]));
		at = rc == 0 ? first_agreed(p, &r, look) : p->nfiles;
		if (rc == 0)
			rc = plan_mark_all(p, look, FILE_WRONG_CRC, err);
		deep_free(&r);
		/* An older rank2file is less rare than damage of each file. */
		if (rc == 0 &&
		    (at < p->nfiles || (n > 1 && right == 0 && !checked))) {
			const char *path =
				at < p->nfiles ? p->files[at].path : "";

			p->flaw_status = STATUS_FAILED;
			p->flaw = at == p->nfiles
					  ? "rank2file has other checksums of "
					    "all files that were read: it may "
					    "be an older one"
					  : arena_printf(
						    p->arena,
						    "rank2file has another "
						    "checksum of %s%s, whose "
						    "bytes agree with their "
						    "redundancy: one of the "
						    "two is wrong",
						    str_shown(path),
						    n > 1 ? " and others" : "");
			rc = p->flaw == NULL ? error_no_memory(err) : 0;
		}
	}
	mem_free(look);
	return rc;
}

int
deep_mark(struct plan *p, const struct deep_result *r, struct error *err)
{
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct deep_finding *f = &r->findings[i];

		if (!deep_is_located(f))
			continue;
		if ((f->in_body
			     ? plan_mark_body(p, f->set, f->member, err)
			     : plan_mark(p, f->file, FILE_WRONG_CRC, err)) < 0)
			return -1;
	}
	for (size_t i = 0; i < r->nfindings; i++)
		if (!deep_is_located(&r->findings[i]))
			p->sets[r->findings[i].set].spare = 0;
	return 0;
}
