/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * deep.c - recompute the redundancy of every set and compare it.
 *
 * Where all is there, all redundancy is computed from the data and compared
 * with the redundancy on disk.  Where a piece is lost, what more is left than
 * is needed is computed from the rest.  If they differ, the scheme may identify
 * the wrong member.  If it cannot, recorded checksums may.
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

/* Is every piece of the set there? */
static bool
is_all_there(const struct plan_set *s)
{
	return s->opened && s->solution != NULL && s->verdict == SET_WHOLE &&
	       redset_is_redundant(s->type) && s->n > 0 && s->flaw == NULL;
}

/* Is it known which bytes of the set belong together?  A filemap that was
 * composed anew is not the one that its redundancy was made from. */
static bool
is_comparable(const struct plan *p, const struct plan_set *s)
{
	for (uint32_t m = 0; s->map && m < s->n; m++) {
		const struct plan_rank *r = plan_rank_of(p, &s->members[m]);

		if (r != NULL && r->composed)
			return false;
	}
	return s->opened && s->solution != NULL &&
	       redset_is_redundant(s->type) && s->n > 0 && s->flaw == NULL;
}

/* --- A block --- */

static int
check_block(void *arg, const struct compute_block *b, struct error *err)
{
	struct deep *d = arg;
	const struct plan_set *s = &d->p->sets[b->set];
	const struct solve_set set = plan_solve_of(s, NULL);
	const uint64_t start = b->job->from + b->off;
	struct deep_finding f = {
		.set = (uint32_t)b->set,
		.stripe = b->job->stripe,
		.source = b->job->in[0].member,
		.member = PLAN_NONE,
		.file = PLAN_NONE,
	};
	const struct solve_ref *who = NULL;
	unsigned char *differs = NULL;
	int rc = 0;

	/* Mark the positions that differ; the holder is the first member whose
	 * string does. */
	for (uint32_t i = b->job->nout; i-- > 0;) {
		const unsigned char *is = compute_string(b, b->job->nin + i);
		const unsigned char *must = compute_expected(b, i);

		if (memcmp(is, must, b->len) == 0)
			continue;
		if (differs == NULL)
			differs = mem_calloc(b->len, 1);
		if (differs == NULL)
			return error_no_memory(err);
		f.holder = b->job->out[i].member;
		for (size_t at = 0; at < b->len; at++)
			differs[at] |= is[at] != must[at];
	}
	if (differs == NULL)
		return 0;
	rc = scheme_of(s->type)->blame(&set, b, &who, err);
	/* Record the wrong bytes of the string; of data, for each file. */
	for (size_t at = 0; rc == 0 && at < b->len; at++) {
		uint64_t end = b->len;

		if (!differs[at])
			continue;
		f.first = start + at;
		f.bytes = 0;
		if (who != NULL)
			end = deep_blame(d, &f, b->job, who);
		end = end < b->len - at ? at + end : b->len;
		for (; at < end; at++) {
			f.bytes += differs[at];
			f.last = differs[at] ? start + at : f.last;
		}
		at--;
		rc = deep_found(d, &f, err);
	}
	mem_free(differs);
	return rc;
}

/* Record that a file of the set could not be read. -1:  *why is no read error,
 * or no memory. */
static int
note_unread(struct deep *d, uint32_t set, const struct error *why,
	    struct error *err)
{
	struct deep_result *out = d->out;
	struct deep_finding f = {
		.set = set,
		.member = PLAN_NONE,
		.file = PLAN_NONE,
	};
	bool old = false;
	int rc = 0;

	/* A missing or truncated file has changed since the plan. */
	if (why->kind != ERROR_SYSTEM || work_stopped(d->work))
		return error_pass(err, why);
	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < out->nfindings && !old; i++)
		old = out->findings[i].unread != NULL &&
		      str_eq(out->findings[i].unread, why->text);
	if (!old)
		f.unread = arena_strdup(d->p->arena, why->text);
	if (!old && (f.unread == NULL ||
		     !MEM_ROOM(out->findings, out->nfindings, d->findings_cap)))
		rc = error_no_memory(err);
	else if (!old)
		out->findings[out->nfindings++] = f;
	pthread_mutex_unlock(&d->lock);
	return rc;
}

/* For par_for(): compare the recorded checksums of the redundancy files of a
 * set, even if nothing else of it can be compared. */
static int
check_reds(void *arg, size_t set, unsigned worker, struct error *err)
{
	struct deep *d = arg;
	const struct plan_set *s = &d->p->sets[set];
	struct deep_finding f = {
		.set = (uint32_t)set,
		.in_body = true,
		.file = PLAN_NONE,
	};
	struct error why = ERROR_INIT;
	bool wrong = false;

	(void)worker;
	for (uint32_t m = 0; d->look[set] && s->opened && m < s->n; m++) {
		if (s->members[m].state != RED_PRESENT)
			continue;
		if (plan_check_red(d->p, &s->members[m], d->work, &wrong,
				   &why) < 0) {
			if (note_unread(d, f.set, &why, err) < 0)
				return -1;
			continue;
		}
		f.member = f.holder = f.stripe = m;
		if (wrong && deep_found(d, &f, err) < 0)
			return -1;
	}
	return 0;
}

static int
unreadable(void *arg, const struct compute_unread *what)
{
	return note_unread(arg, (uint32_t)what->set, what->why, NULL);
}

/* --- Work --- */

static int
prepare(struct deep *d, struct error *err)
{
	const size_t n = d->p->nsets + 1;

	d->sets = arena_alloc(d->arena, n, sizeof(*d->sets));
	d->solutions = arena_alloc(d->arena, n, sizeof(*d->solutions));
	d->by_file =
		arena_alloc(d->arena, d->p->nfiles + 1, sizeof(*d->by_file));
	if (d->sets == NULL || d->solutions == NULL || d->by_file == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < d->p->nsets; i++) {
		const struct plan_set *s = &d->p->sets[i];
		struct solve_member *m = NULL;
		struct plan_strings strings;
		struct solve_set left;

		d->sets[i].solution = &d->solutions[i];
		if (!d->look[i] || !is_comparable(d->p, s))
			continue;
		/* Make the jobs that compare what is left of the set. */
		m = arena_alloc(d->arena, s->n, sizeof(*m));
		if (m == NULL)
			return error_no_memory(err);
		left = plan_solve_of(s, m);
		for (uint32_t k = 0; k < s->n; k++) {
			m[k].body_lost =
				plan_body_lost(&s->members[k], s->salvage);
			if (plan_member_losses(d->p, s, &s->members[k],
					       d->arena, &m[k], err) < 0)
				return -1;
		}
		if (plan_strings(d->p, s, false, d->arena, &strings, err) < 0)
			return -1;
		d->sets[i].data = strings.data;
		d->sets[i].body = strings.body;
		if (solve_check(&left, d->where, &d->solutions[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Count what the first pass compares. */
static void
count_sets(const struct deep *d)
{
	for (size_t i = 0; i < d->p->nsets; i++) {
		const struct plan_set *s = &d->p->sets[i];
		const bool any = d->solutions[i].njobs > 0 || is_all_there(s);

		if (!d->look[i] || !redset_is_redundant(s->type))
			continue;
		d->out->sets_checked += any;
		d->out->sets_partly += any && !is_all_there(s);
		d->out->sets_skipped += !any;
		if (any && !is_all_there(s))
			d->out->bytes_read += compute_bytes(&d->sets[i], 1);
		/* Of a set that is all there, without the padding. */
		for (uint32_t m = 0; is_all_there(s) && m < s->n; m++)
			d->out->bytes_read += s->members[m].list.bytes +
					      s->members[m].red->body_size;
	}
}

static int
pass(struct deep *d, struct error *err)
{
	const struct compute_options o = {
		.work = d->work,
		.unreadable = unreadable,
		.compare = check_block,
		.arg = d,
	};
	int rc = -1;

	d->first = d->out->nfindings;
	d->arena = arena_new();
	if (prepare(d, err) == 0) {
		if (d->out->sets_checked + d->out->sets_skipped == 0)
			count_sets(d);
		progress_phase(d->work->progress, "comparing redundancy",
			       compute_bytes(d->sets, d->p->nsets));
		rc = compute(d->sets, d->p->nsets, &o, err);
	}
	if (rc == 0 && d->where == SOLVE_ALL)
		rc = par_for(work_waiting(d->work, d->p->places[0].meta_fd),
			     d->p->nsets, 0, check_reds, d, err);
	if (rc == 0)
		rc = deep_decide(d, err);
	/* Wrong members were located, but not at all positions that do not
	 * match.  What they do not explain is found again, if anything is left
	 * there to compare with.  Otherwise nothing tells whether the others
	 * are right, from which those would be computed: unless checksums prove
	 * the result, it stays unknown. */
	for (size_t i = 0; rc == 0 && i < d->nopen; i++) {
		const struct deep_finding *f = &d->open[i];
		const struct solve_job *j = NULL;
		uint64_t at = f->first;

		/* Was every position compared in this pass, by surplus
		 * strings? */
		while (at <= f->last && (j = deep_job(d, f, at)) != NULL)
			at = j->from + j->len;
		if (at <= f->last && !plan_can_prove(d->p, &d->p->sets[f->set]))
			rc = deep_found(d, f, err);
	}
	d->nopen = rc == 0 ? 0 : d->nopen;
	for (size_t i = 0; d->solutions != NULL && i < d->p->nsets; i++)
		solution_free(&d->solutions[i]);
	d->solutions = NULL;
	arena_free(d->arena);
	return rc;
}

/* Mark what a pass has found.  Returns 1 if something is to be compared again:
 * the rest of the sets with a wrong file. */
static int
mark_found(struct deep *d, struct error *err)
{
	struct deep_result *out = d->out;
	size_t kept = d->first;
	bool *files = NULL;
	int rc = 0;

	memset(d->look, false, d->p->nsets * sizeof(*d->look));
	for (size_t i = d->first; i < out->nfindings; i++) {
		const struct deep_finding *f = &out->findings[i];

		if (f->unread != NULL || !deep_is_located(f))
			continue;
		if (f->in_body &&
		    plan_mark_body(d->p, f->set, f->member, err) < 0)
			return -1;
		if (f->in_body)
			d->p->sets[f->set].members[f->member].found = true;
		d->look[f->set] = true;
		rc = 1;
	}
	if (rc == 1) {
		files = mem_calloc(d->p->nfiles + 1, sizeof(*files));
		if (files == NULL)
			return error_no_memory(err);
		for (size_t i = d->first; i < out->nfindings; i++) {
			const uint32_t at = out->findings[i].file;

			if (at == PLAN_NONE)
				continue;
			files[at] = true;
			d->p->files[at].found |=
				d->p->files[at].state == FILE_PRESENT;
		}
		if (plan_mark_all(d->p, files, FILE_WRONG_CRC, err) < 0)
			rc = -1;
		mem_free(files);
	}
	for (size_t i = d->first; rc >= 0 && i < out->nfindings; i++) {
		const struct deep_finding *f = &out->findings[i];

		if (f->unread != NULL || deep_is_located(f) ||
		    !d->look[f->set]) {
			out->findings[kept++] = *f;
		} else {
			if (!MEM_ROOM(d->open, d->nopen, d->open_cap))
				return error_no_memory(err);
			d->open[d->nopen++] = *f;
		}
	}
	out->nfindings = rc < 0 ? out->nfindings : kept;
	return rc;
}

/* Merge the findings of a file, and those of a set whose wrong member is
 * unknown; the first one stays. */
static int
merge_findings(struct deep *d, struct error *err)
{
	const size_t nsets = d->p->nsets;
	struct deep_result *out = d->out;
	size_t *first = mem_calloc(nsets + d->p->nfiles + 1, sizeof(*first));
	size_t kept = 0;

	if (first == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < out->nfindings; i++) {
		const struct deep_finding f = out->findings[i];
		size_t *same = NULL;

		if (f.file != PLAN_NONE)
			same = &first[nsets + f.file];
		else if (f.unread == NULL && f.member == PLAN_NONE &&
			 !scheme_of(d->p->sets[f.set].type)->apart)
			same = &first[f.set];
		if (same != NULL && *same > 0) {
			out->findings[*same - 1].bytes += f.bytes;
			continue;
		}
		out->findings[kept++] = f;
		if (same != NULL)
			*same = kept;
	}
	out->nfindings = kept;
	mem_free(first);
	return 0;
}

/* Compare the sets, and `mark` in the plan what is wrong. */
static int
run(struct deep *d, bool mark, struct error *err)
{
	const bool all = d->where == SOLVE_ALL;
	struct plan *p = d->p;
	bool any = all;
	int rc = 1;

	*d->out = (struct deep_result){ .nfindings = 0 };
	d->work = work_or_default(d->work);
	d->look = mem_calloc(p->nsets + 1, sizeof(*d->look));
	if (d->look == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < p->nsets; i++) {
		d->look[i] = all ? !p->sets[i].away
				 : (!p->sets[i].searched &&
				    p->sets[i].verdict != SET_WHOLE &&
				    !plan_leaves_set(p, &p->sets[i]));
		any = any || d->look[i];
	}
	pthread_mutex_init(&d->lock, NULL);
	while (any && rc > 0) {
		rc = pass(d, err);
		if (rc == 0 && mark)
			rc = mark_found(d, err);
	}
	rc = rc < 0 ? -1 : merge_findings(d, err);
	if (rc < 0)
		deep_free(d->out);
	for (size_t i = 0; mark && i < d->out->nfindings; i++) {
		struct deep_finding *f = &d->out->findings[i];
		struct plan_set *s = &p->sets[f->set];

		if (deep_is_located(f))
			continue;
		s->spare = 0;
		s->doubtful |= f->unread == NULL;
		f->provable = f->unread == NULL && f->member == PLAN_NONE &&
			      plan_can_prove(p, s);
		if (f->unread == NULL && !f->provable)
			p->undecided = s->undecided = true;
	}
	for (size_t i = 0; all && rc == 0 && i < p->nsets; i++)
		p->sets[i].searched = mark && is_comparable(p, &p->sets[i]);
	pthread_mutex_destroy(&d->lock);
	mem_free(d->open);
	mem_free(d->look);
	return rc;
}

int
deep_check(struct plan *p, const struct work *work, struct deep_result *out,
	   struct error *err)
{
	struct deep d = { .p = p, .work = work, .out = out };

	return run(&d, false, err);
}

int
deep_search(struct plan *p, const struct work *work, struct deep_result *out,
	    struct error *err)
{
	struct deep d = { .p = p, .work = work, .out = out };

	return run(&d, true, err);
}

int
deep_search_losses(struct plan *p, const struct work *work,
		   struct deep_result *out, struct error *err)
{
	struct deep d = {
		.p = p, .work = work, .out = out, .where = SOLVE_BESIDE_LOSSES
	};

	return run(&d, true, err);
}

/* Were the data of a rank compared with its redundancy?  Copies can be compared
 * one by one; they are at the right neighbours. */
static bool
is_compared(const struct plan *p, const struct plan_rank *r)
{
	const struct plan_set *s = &p->sets[r->data_set];

	if (!scheme_of(s->type)->apart)
		return is_all_there(s);
	for (uint32_t d = 1; is_comparable(p, s) && d <= s->failures; d++)
		if (s->members[(r->data_member + d) % s->n].state ==
		    RED_PRESENT)
			return true;
	return false;
}

/*
 * Set *at to the first file over which rank2file and the redundancy contradict
 * each other; nfiles: none.  Of look[], which rank2file calls wrong, it is one
 * whose set is whole and has no finding but of other files; of the others one
 * that the redundancy calls wrong.
 */
static int
find_contradicted(struct plan *p, const struct work *work, const bool *look,
		  size_t *at, struct error *err)
{
	struct deep_result r = { .nfindings = 0 };
	int rc = plan_mark_all(p, look, FILE_PRESENT, err);

	/* What is in doubt blames no file. */
	for (size_t i = 0; i < p->nfiles; i++)
		p->files[i].has_crc &= !look[i];
	if (rc == 0)
		rc = deep_check(p, work, &r, err);
	for (size_t i = 0; i < p->nfiles; i++)
		p->files[i].has_crc |= look[i];
	*at = p->nfiles;
	for (size_t f = 0; f < r.nfindings && *at == p->nfiles; f++) {
		const uint32_t file = r.findings[f].file;

		if (file != PLAN_NONE && !look[file] &&
		    p->files[file].record_crc)
			*at = file;
	}
	for (size_t i = 0; rc == 0 && i < p->nfiles && *at == p->nfiles; i++) {
		const struct plan_rank *of = &p->ranks[p->files[i].rank];
		const uint32_t set = of->data_set;
		bool agrees = look[i] && is_compared(p, of);
		uint32_t wrong = PLAN_NONE;

		/* With two failures, one wrong member is located without its
		 * checksum. */
		for (size_t f = 0; f < r.nfindings && agrees; f++) {
			const struct deep_finding *d = &r.findings[f];

			if (d->set != set ||
			    (scheme_of(p->sets[set].type)->apart &&
			     d->stripe != of->data_member))
				continue;
			agrees = p->sets[set].failures > 1 &&
				 d->file != PLAN_NONE && d->file != i &&
				 (wrong == PLAN_NONE || wrong == d->member);
			wrong = d->member;
		}
		*at = agrees ? i : p->nfiles;
	}
	deep_free(&r);
	return rc < 0 ? -1 : plan_mark_all(p, look, FILE_WRONG_CRC, err);
}

int
deep_doubt_record(struct plan *p, const struct work *work, const char **doubt,
		  struct error *err)
{
	bool *look = mem_calloc(p->nfiles + 1, sizeof(*look));
	size_t wrong = 0, right = 0, at = p->nfiles;
	int rc = look == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		look[i] = f->state == FILE_WRONG_CRC && f->record_crc;
		wrong += look[i];
		look[i] = look[i] && p->ranks[f->rank].data_set != PLAN_NONE;
		right += f->state == FILE_PRESENT && f->record_crc;
	}
	if (rc == 0 && wrong > 0)
		rc = find_contradicted(p, work, look, &at, err);
	/* An older rank2file is less rare than damage of each file, and not all
	 * that it calls wrong can be computed. */
	if (rc < 0 || wrong == 0 ||
	    (at == p->nfiles &&
	     (right > 0 || p->nfiles == 1 || p->verdict != SET_LOST)))
		goto out;
	if (at == p->nfiles)
		*doubt = "rank2file has other checksums of all files that "
			 "were read: it may be an older one";
	else
		*doubt = arena_printf(
			p->arena,
			look[at] ? "rank2file has another checksum of %s%s, "
				   "whose bytes agree with their redundancy: "
				   "one of the two is wrong"
				 : "rank2file has the checksum of %s%s, whose "
				   "bytes contradict their redundancy: one of "
				   "the two is wrong",
			str_shown(p->files[at].path),
			look[at] && wrong > 1 ? " and others" : "");
	rc = *doubt == NULL ? error_no_memory(err) : 0;
out:
	mem_free(look);
	return rc;
}
