/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild.c - carry out a plan: compute the contents of the files to write,
 * verify checksums, commit.
 */
#include "rescue/rebuild.h"

#include "arena.h"
#include "container/pack.h"
#include "error.h"
#include "mem.h"
#include "progress.h"
#include "rescue/deep.h"
#include "rescue/rebuild_impl.h"
#include "room.h"
#include "scheme/compute.h"
#include "transfer/put.h"
#include "transfer/stripe.h"
#include "work.h"

/* Each round marks at least one more file as damaged or unreadable.  A dataset
 * with this number of damaged files has a broken disk, not flipped bits. */
#define REBUILD_ROUNDS 64

bool
rebuild_wants(const struct rebuild_run *r, const struct plan_set *s)
{
	if (s->solution == NULL || s->verdict == SET_WHOLE ||
	    (s->unproved && !r->o.unproved))
		return false;
	return s->verdict == SET_REBUILDABLE || r->o.partial;
}

/* --- Contents --- */

/* Note a file that cannot be read because of an I/O error; any thread. */
static int
note_unread(void *arg, const struct compute_unread *what)
{
	struct rebuild_run *r = arg;

	if (!error_is_unread(what->why))
		return -1;
	pthread_mutex_lock(&r->lock);
	r->unread[r->nunread++] =
		(struct rebuild_unread){ r->of[what->set], what->at };
	pthread_mutex_unlock(&r->lock);
	return 0;
}

/* Report that `n` files are computed again although they may be right; `first`
 * is the reason for one of them. */
static void
report_unread(const struct rebuild_run *r, const char *first, size_t n)
{
	if (n == 1)
		work_say(r->work, "%s: treated as lost", first);
	else if (n > 1)
		work_say(r->work, "%s: treated as lost, and %zu more like it",
			 first, n - 1);
}

/* Mark the files that could not be read, and report them.  Returns their
 * number, or -1. */
static long
mark_unread(struct rebuild_run *r, struct error *err)
{
	const char *first = NULL, *text = NULL;
	size_t count = 0;

	for (size_t i = 0; i < r->nunread; i++) {
		const struct rebuild_unread *u = &r->unread[i];

		/* A body that is copied can be an input, too. */
		if (u->at.body &&
		    r->p->sets[u->set].members[u->at.member].state ==
			    RED_DAMAGED)
			continue;
		if (plan_mark_unread(r->p, u->set, &u->at, &text, err) < 0)
			return -1;
		if (count++ == 0)
			first = text;
		else
			work_detail(r->work, "%s", text);
	}
	if (r->p->verdict != SET_LOST || r->o.partial)
		report_unread(r, first, count);
	return (long)r->nunread;
}

static void
report_bodies(const struct rebuild_run *r)
{
	for (size_t i = 0; i < r->p->nsets; i++) {
		const struct plan_set *s = &r->p->sets[i];

		for (uint32_t m = 0; rebuild_wants(r, s) && m < s->n; m++)
			if (plan_uses_body(s, &s->members[m]))
				(s->unproved ? work_say : work_detail)(
					r->work,
					"%s: header was damaged and is "
					"rewritten; its contents were used, %s",
					s->members[m].name,
					s->unproved
						? "which nothing confirms: "
						  "what was computed from them "
						  "is unknown"
						: "which checksums confirm");
	}
}

/* Report the suppositions with which the results have their checksums. */
static void
report_guesses(struct rebuild_run *r)
{
	for (size_t i = 0; i < r->nguesses; i++) {
		const struct rebuild_guess *g = &r->guesses[i];
		const struct plan_member *m =
			&r->p->sets[g->set].members[g->at.member];
		uint64_t off = g->at.off;

		if (!g->active)
			continue;
		r->result->crc_wrong += !g->at.body;
		work_detail(r->work,
			    "%s: its contents are damaged: the checksums are "
			    "right without it",
			    g->at.body ? m->name
				       : plan_member_file(r->p, m,
							  plan_file_at(m, &off))
						 ->path);
	}
}

/* --- Rounds --- */

static int
write_header(struct rebuild_run *r, const struct plan_red *red,
	     struct stripe_cache *c, struct error *err)
{
	const struct solve_range header = { 0, red->header_size };
	struct stripe s;

	if (plan_red_string(r->p, red, &header, r->arena, &s, err) < 0)
		return -1;
	return stripe_write(&s, c, 0, red->header, red->header_size, err);
}

/* Write the headers of packed redundancy files. */
static int
write_headers(struct rebuild_run *r, struct error *err)
{
	struct stripe_cache *c = stripe_cache_new(1, true, NULL);
	int rc = c == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; i < r->p->nsets; i++) {
		const struct plan_set *s = &r->p->sets[i];

		for (uint32_t k = 0; rebuild_wants(r, s) && k < s->n; k++) {
			const struct plan_member *m = &s->members[k];

			if (rc == 0 && m->red->nsegs > 0 &&
			    m->fate == FATE_REBUILD)
				rc = write_header(r, m->red, c, err);
		}
	}
	stripe_cache_free(c);
	return rc;
}

static void
count_results(struct rebuild_run *r)
{
	size_t *const counts[PUT_KINDS] = {
		[PUT_FILE] = &r->result->files,
		[PUT_DESCRIPTOR] = &r->result->descriptors,
		[PUT_REDUNDANCY] = &r->result->redundancy,
		[PUT_MAP] = &r->result->maps,
	};

	r->result->files += r->in_place.files;
	r->result->redundancy += r->in_place.redundancy;
	r->result->bytes_written = r->p->bytes_written;
	for (size_t i = 0; i < put_count(r->put); i++)
		(*counts[put_what(put_at(r->put, i))->kind])++;
}

/* One attempt.  Returns 1 if a file turned out to be damaged or unreadable: the
 * plan has changed, and the caller tries again. */
static int
attempt(struct rebuild_run *r, struct error *err)
{
	const struct compute_options co = {
		.work = r->work,
		.sums = r->sums,
		.new_sums = r->new_sums,
		.unreadable = note_unread,
		.arg = r,
	};
	bool marked = false;
	long bad = 0;

	if (!r->trial && put_check_room(r->put, "the rebuilt files", err) < 0)
		return -1;
	if (r->work->dry_run) {
		r->result->bytes_read = r->p->bytes_read;
		count_results(r);
		return 0;
	}
	if ((!r->trial && (plan_begin_packed(r->p, &marked, err) < 0 ||
			   write_headers(r, err) < 0)) ||
	    compute(r->sets, r->nsets, &co, err) < 0)
		return -1;
	r->result->bytes_read += r->p->bytes_read;
	bad = r->nunread > 0 ? mark_unread(r, err) : rebuild_check_sums(r, err);
	if (bad != 0)
		return bad < 0 ? -1 : 1;
	if (r->trial)
		return 0;
	if (put_commit(r->put, err) < 0 ||
	    (marked && plan_end_packed(r->p, err) < 0))
		return -1;
	report_bodies(r);
	report_guesses(r);
	count_results(r);
	return 0;
}

static int
round_once(struct rebuild_run *r, struct error *err)
{
	int rc = -1;

	r->arena = arena_new();
	r->nsets = r->nunread = 0;
	r->in_place = (struct rebuild_result){ .files = 0 };
	r->put = put_new(
		&(struct put_options){
			.par = work_waiting(r->work, r->p->places[0].meta_fd),
			.guard = r->o.guard,
			.work = r->work },
		err);
	if (r->arena == NULL || r->put == NULL) {
		put_free(r->put);
		arena_free(r->arena);
		return error_no_memory(err);
	}
	if (rebuild_list_targets(r, err) == 0) {
		progress_phase(r->work->progress, "rebuilding",
			       compute_bytes(r->sets, r->nsets));
		rc = attempt(r, err);
	}
	put_free(r->put);
	arena_free(r->arena);
	return rc;
}

static bool
any_present(const struct plan_seg *segs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!segs[i].gone)
			return true;
	return false;
}

/* Are bytes in containers replaced that are there?  They may be right, until
 * checksums prove those that are computed.  (Other files are written beside the
 * old ones.) */
static bool
is_contested(const struct rebuild_run *r)
{
	const struct plan *p = r->p;
	bool any = false;

	for (size_t i = 0; !any && i < p->nfiles; i++)
		any = p->files[i].fate == FATE_REBUILD &&
		      any_present(p->files[i].segs, p->files[i].nsegs);
	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t m = 0; !any && m < p->sets[i].n; m++) {
			const struct plan_member *is = &p->sets[i].members[m];

			any = is->fate == FATE_REBUILD &&
			      any_present(is->red->segs, is->red->nsegs);
		}
	return any && !r->work->dry_run;
}

/* Try it before anything is replaced in its place. */
static int
try_and_do(struct rebuild_run *r, struct error *err)
{
	const struct rebuild_result before = *r->result;
	int rc = 0;

	r->trial = is_contested(r);
	if (r->trial) {
		rc = round_once(r, err);
		r->trial = false;
		if (rc != 0)
			return rc;
		*r->result = before;
	}
	return round_once(r, err);
}

/*
 * Where something is lost, more may be left than is needed: compare it first.
 * Returns 1 if files turned out to be damaged: the plan has changed.
 */
static int
compare_rest(struct rebuild_run *r, struct error *err)
{
	struct deep_result found;
	int rc = 0;

	if (r->work->dry_run)
		return 0;
	if (deep_search_losses(r->p, r->work, &found, err) < 0)
		return -1;
	for (size_t i = 0; rc >= 0 && i < found.nfindings; i++) {
		struct error why = ERROR_INIT;

		/* What needs an unreadable file, finds it. */
		if (found.findings[i].unread != NULL ||
		    found.findings[i].provable)
			continue;
		if (rebuild_supposes(r, found.findings[i].set)) {
			rc = rebuild_suppose(r, found.findings[i].set, err);
			break;
		}
		rc = 1;
		r->result->crc_wrong += found.findings[i].file != PLAN_NONE;
		deep_error(r->p, &found.findings[i], &why);
		if (deep_is_located(&found.findings[i]))
			work_detail(r->work, "%s", why.text);
		else
			rc = error_as(err, &why, "dataset %lld: %s",
				      (long long)r->p->id, why.text);
		if (rc < 0) {
			r->result->undecided = true;
			error_remedy(err, REMEDY_CHOOSE);
		}
	}
	deep_free(&found);
	return rc;
}

int
rebuild_finish(const struct plan *p, const struct work *work, struct error *err)
{
	const struct packed_where where = {
		.prefix_fd = p->places[0].root_fd,
		.id = p->id,
	};
	struct packed packed;
	int rc = 0;

	if (!p->packed)
		return 0;
	/* The caller has locked the dataset. */
	if (packed_open(&packed, &where, false, work, err) < 0)
		return -1;
	rc = pack_forget_replaced(&packed, work, err);
	packed_close(&packed);
	return rc;
}

int
rebuild(struct plan *p, const struct rebuild_options *o,
	struct rebuild_result *result, struct error *err)
{
	struct rebuild_result scratch = { .files = 0 };
	struct rebuild_run r = { .p = p };
	/* Data that turn out to be lost only now end it. */
	const bool lost = plan_data_status(p) == STATUS_LOST;
	int rc = 1;

	if (o != NULL)
		r.o = *o;
	r.result = result ? result : &scratch;
	*r.result = scratch;
	r.work = work_or_default(o != NULL ? o->work : NULL);
	pthread_mutex_init(&r.lock, NULL);
	if (p->verdict == SET_REBUILDABLE || r.o.partial)
		report_unread(&r, p->first_unread, p->unread);
	for (int i = 0; rc == 1 && i < REBUILD_ROUNDS; i++) {
		if (p->flaw != NULL ||
		    (p->verdict == SET_LOST
			     ? !r.o.partial ||
				       (!lost && !r.o.unproved &&
					plan_data_status(p) == STATUS_LOST)
			     : p->barred > 0 ||
				       (p->unproved != NULL && !r.o.unproved)))
			rc = plan_error(p, err);
		else if (plan_status(p) == STATUS_OK)
			rc = 0;
		else if ((rc = compare_rest(&r, err)) == 0)
			rc = try_and_do(&r, err);
	}
	mem_free(r.guesses);
	if (rc == 0 && !r.work->dry_run)
		rc = rebuild_finish(p, r.work, err);
	pthread_mutex_destroy(&r.lock);
	if (rc < 0)
		room_explain(p->places[0].meta_fd, 0, err);
	if (rc == 1)
		rc = error_set(err, ERROR_CORRUPT,
			       "dataset %lld: too many damaged files",
			       (long long)p->id);
	return rc;
}
