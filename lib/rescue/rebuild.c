/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild.c - carry out a plan: list the files to write, and the strings that
 * go into them; compute their contents, verify checksums, commit.
 */
#include "rescue/rebuild.h"

#include <inttypes.h>

#include "arena.h"
#include "container/pack.h"
#include "container/segmap.h"
#include "error.h"
#include "mem.h"
#include "progress.h"
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
	return !plan_leaves_set(r->p, s) && s->solution != NULL &&
	       s->verdict != SET_WHOLE &&
	       (!s->unproved || r->o.extent == REBUILD_UNPROVED);
}

/* May the plan, which may have changed, be carried out? */
static bool
allowed(const struct rebuild_run *r)
{
	const struct plan *p = r->p;

	if (p->flaw != NULL)
		return false;
	if (p->verdict == SET_LOST)
		return r->o.extent != REBUILD_ALL ||
		       plan_data_status(p) == STATUS_DAMAGED;
	return p->barred == 0 &&
	       (p->unproved == NULL || r->o.extent == REBUILD_UNPROVED);
}

/* --- The files to write --- */

/* Add a lost data file to the files to write, and to its member's string. */
static int
file_target(struct rebuild_run *r, uint32_t index, uint64_t at,
	    struct stripe *out, struct error *err)
{
	const struct plan_file *f = &r->p->files[index];
	const struct place *pl = &r->p->places[f->place];
	const struct put_what what = {
		.kind = PUT_FILE,
		.dirfd = pl->root_fd,
		.path = f->path,
		.size = f->attr.size,
		.attr = &f->attr,
		.replaces = f->state != FILE_MISSING,
	};
	struct put_file *to = NULL;

	if (f->nsegs > 0) { /* in place */
		struct stripe_part *part = out->parts + out->nparts;

		plan_file_parts(r->p, index, at,
				f->has_crc ? index : STRIPE_NO_SUM, out);
		/* Without a checksum, only what is missing is written. */
		for (size_t i = 0; part < out->parts + out->nparts; i++, part++)
			if (r->trial || (!f->has_crc && !f->segs[i].gone &&
					 f->state == FILE_MISSING))
				part->path = NULL;
		r->in_place.files++;
		return 0;
	}
	if (!r->trial) {
		to = put_add(r->put, &what, err);
		if (to == NULL)
			return -1;
	}
	if (f->attr.size == 0)
		return 0;
	out->parts[out->nparts++] = (struct stripe_part){
		.start = at,
		.len = f->attr.size,
		.put = to,
		.sum = f->has_crc ? index : STRIPE_NO_SUM,
	};
	return 0;
}

static int
body_target(struct rebuild_run *r, const struct plan_member *m,
	    struct stripe *out, struct error *err)
{
	const struct place *pl = &r->p->places[m->place];
	const struct solve_range body = {
		m->red->header_size,
		m->red->header_size + m->red->body_size,
	};
	struct put_file *to = NULL;
	uint64_t size = 0;
	struct put_what d = {
		.kind = PUT_DESCRIPTOR,
		.dirfd = pl->meta_fd,
		.path = m->red->descriptor.name,
		.size = m->red->descriptor.image_size,
		.image = m->red->descriptor.image,
		.image_size = m->red->descriptor.image_size,
	};
	struct put_what b = {
		.kind = PUT_REDUNDANCY,
		.dirfd = pl->meta_fd,
		.path = m->name,
		.image = m->red->header,
		.image_size = m->red->header_size,
	};

	if (m->fate != FATE_REBUILD || m->name == NULL || r->trial)
		return 0;
	b.size = body.to;
	if (m->red->nsegs > 0) { /* write_headers() writes its header */
		size = plan_segs_size(m->red->segs, m->red->nsegs);
		if (size != body.to)
			return error_set(err, ERROR_CORRUPT,
					 "%s: packed as %" PRIu64
					 " bytes, but it has %" PRIu64
					 ": unpack the dataset first",
					 m->name, size, body.to);
		r->in_place.redundancy++;
		return plan_red_string(r->p, m, &body, r->arena, out, err);
	}
	to = put_add(r->put, &b, err);
	if (to == NULL)
		return -1;
	if (stripe_room(out, r->arena, 1, err) < 0)
		return -1;
	if (body.to > body.from) {
		out->parts[0] = (struct stripe_part){
			.len = body.to - body.from,
			.put = to,
			.off = body.from,
			.sum = STRIPE_NO_SUM,
		};
		out->nparts = 1;
	}
	if (plan_writes_descriptor(m) && put_add(r->put, &d, err) == NULL)
		return -1;
	return 0;
}

/* Add jobs that copy the bodies behind damaged headers to new files; `c` has
 * the strings of the set. */
static int
add_copies(struct rebuild_run *r, uint32_t index, const struct compute_set *c,
	   struct error *err)
{
	const struct plan_set *s = &r->p->sets[index];
	struct solution *copies = arena_alloc(r->arena, 1, sizeof(*copies));
	struct solve_ref *at = arena_alloc(r->arena, s->n, sizeof(*at));

	if (copies != NULL)
		copies->jobs =
			arena_alloc(r->arena, s->n, sizeof(*copies->jobs));
	if (copies == NULL || copies->jobs == NULL || at == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < s->n; i++) {
		if (!plan_copies_body(s, &s->members[i]))
			continue;
		at[i] = (struct solve_ref){ i, true, 0 };
		copies->jobs[copies->njobs++] = (struct solve_job){
			.len = s->members[i].red->body_size,
			.nin = 1,
			.nout = 1,
			.in = &at[i],
			.out = &at[i],
		};
	}
	r->of[r->nsets] = index;
	r->sets[r->nsets] = *c;
	r->sets[r->nsets++].solution = copies;
	return 0;
}

static int
set_targets(struct rebuild_run *r, uint32_t index, struct error *err)
{
	const struct plan_set *s = &r->p->sets[index];
	struct compute_set *c = &r->sets[r->nsets];
	struct stripe *to = NULL, *to_body = NULL;
	struct plan_strings have;

	to = arena_alloc(r->arena, s->n, sizeof(*to));
	to_body = arena_alloc(r->arena, s->n, sizeof(*to_body));
	if (to == NULL || to_body == NULL)
		return error_no_memory(err);
	if (plan_strings(r->p, s, true, r->arena, &have, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct plan_member *m = &s->members[i];

		const struct plan_rank *pr = plan_rank_of(r->p, m);
		uint64_t at = 0;

		if (!s->map && stripe_room(&to[i], r->arena,
					   plan_data_room(r->p, m), err) < 0)
			return -1;
		for (size_t k = 0;
		     !s->map && m->files != NULL && k < m->list.nfiles; k++) {
			const uint32_t f = m->files[k];

			if (f != PLAN_NONE &&
			    r->p->files[f].fate == FATE_REBUILD &&
			    file_target(r, f, at, &to[i], err) < 0)
				return -1;
			at += m->list.files[k].attr.size;
		}
		/* Lost filemaps were computed while the plan was made. */
		if (s->map && !r->trial && pr != NULL &&
		    pr->map.fate == FATE_REBUILD && pr->map.image != NULL &&
		    put_add(r->put,
			    &(struct put_what){
				    .kind = PUT_MAP,
				    .dirfd =
					    r->p->places[pr->map.place].meta_fd,
				    .path = pr->map.name,
				    .size = pr->map.image_size,
				    .image = pr->map.image,
				    .image_size = pr->map.image_size,
				    .attr = &m->list.files[0].attr,
			    },
			    err) == NULL)
			return -1;
		if (body_target(r, m, &to_body[i], err) < 0)
			return -1;
	}
	*c = (struct compute_set){
		.solution = s->solution,
		.data = have.data,
		.body = have.body,
		.new_data = to,
		.new_body = to_body,
	};
	r->of[r->nsets++] = index;
	return s->salvage ? add_copies(r, index, c, err) : 0;
}

/* List the files to write, and what to compute for them. */
static int
list_targets(struct rebuild_run *r, struct error *err)
{
	/* With the copies of its bodies, a set is there twice. */
	const size_t n = 2 * r->p->nsets + 1;
	bool any = false; /* checksums are recorded */

	r->sets = arena_alloc(r->arena, n, sizeof(*r->sets));
	r->of = arena_alloc(r->arena, n, sizeof(*r->of));
	r->unread = arena_alloc(r->arena, n, sizeof(*r->unread));
	if (r->sets == NULL || r->of == NULL || r->unread == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < r->p->nsets; i++)
		if (rebuild_wants(r, &r->p->sets[i]) &&
		    set_targets(r, i, err) < 0)
			return -1;
	for (size_t i = 0; i < r->p->nfiles && !any; i++)
		any = r->p->files[i].has_crc;
	if (!any)
		return 0;
	r->sums = arena_alloc(r->arena, r->p->nfiles, sizeof(*r->sums));
	r->new_sums = arena_alloc(r->arena, r->p->nfiles, sizeof(*r->new_sums));
	r->look = arena_alloc(r->arena, r->p->nfiles, sizeof(*r->look));
	if (r->sums == NULL || r->new_sums == NULL || r->look == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < r->p->nfiles; i++)
		r->sums[i].size = r->new_sums[i].size =
			r->p->files[i].attr.size;
	return 0;
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
		(struct rebuild_input){ r->of[what->set], what->at, true };
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
		const struct rebuild_input *u = &r->unread[i];

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
	report_unread(r, first, count);
	return (long)r->nunread;
}

/* Report the bodies behind damaged headers that were used, and the suppositions
 * with which the results have their checksums. */
static void
report_doubts(struct rebuild_run *r)
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
	for (size_t i = 0; i < r->nguesses; i++) {
		const struct rebuild_input *g = &r->guesses[i];
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

/* Write the headers of packed redundancy files. */
static int
write_headers(struct rebuild_run *r, struct error *err)
{
	struct stripe_cache *c = stripe_cache_new(1, true, NULL);
	struct stripe string;
	int rc = c == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; i < r->p->nsets; i++) {
		const struct plan_set *s = &r->p->sets[i];

		for (uint32_t k = 0; rebuild_wants(r, s) && k < s->n; k++) {
			const struct plan_member *m = &s->members[k];

			const struct solve_range header = {
				0, m->red->header_size
			};

			if (rc < 0 || m->red->nsegs == 0 ||
			    m->fate != FATE_REBUILD)
				continue;
			rc = plan_red_string(r->p, m, &header, r->arena,
					     &string, err);
			if (rc == 0)
				rc = stripe_write(&string, c, 0, m->red->header,
						  m->red->header_size, err);
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
	if (r->work->dry_run && !r->trial) {
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
	report_doubts(r);
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
			.unlocked = r->o.unlocked,
			.work = r->work },
		err);
	if (r->put != NULL && list_targets(r, err) == 0) {
		progress_phase(r->work->progress, "rebuilding",
			       compute_bytes(r->sets, r->nsets));
		rc = attempt(r, err);
	}
	put_free(r->put);
	arena_free(r->arena);
	return rc;
}

/* Try it before anything is replaced in its place. */
static int
try_and_do(struct rebuild_run *r, struct error *err)
{
	const struct rebuild_result before = *r->result;
	const struct plan *p = r->p;
	bool any = false;
	int rc = 0;

	r->trial = r->o.trial;
	if (r->trial)
		return round_once(r, err);
	/* Bytes in containers may be right, until checksums prove those that
	 * are computed.  (Other files are written beside the old ones.) */
	for (size_t i = 0; i < p->nfiles; i++)
		for (size_t k = 0; !any && k < p->files[i].nsegs; k++)
			any = p->files[i].fate == FATE_REBUILD &&
			      !p->files[i].segs[k].gone;
	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t m = 0; !any && m < p->sets[i].n; m++) {
			const struct plan_member *is = &p->sets[i].members[m];

			for (size_t k = 0; !any && k < is->red->nsegs; k++)
				any = is->fate == FATE_REBUILD &&
				      !is->red->segs[k].gone;
		}
	r->trial = any && !r->work->dry_run;
	if (r->trial) {
		rc = round_once(r, err);
		r->trial = false;
		if (rc != 0)
			return rc;
		*r->result = before;
	}
	return round_once(r, err);
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
	if (packed_open(&packed, &where, NULL, work, err) < 0)
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
	int rc = 1;

	r.o = o != NULL ? *o : r.o;
	r.result = result ? result : &scratch;
	*r.result = scratch;
	r.work = work_or_default(o != NULL ? o->work : NULL);
	pthread_mutex_init(&r.lock, NULL);
	if (p->verdict != SET_WHOLE && allowed(&r))
		report_unread(&r, p->first_unread, p->unread);
	for (int i = 0; rc == 1 && i < REBUILD_ROUNDS; i++) {
		if (!allowed(&r))
			rc = plan_error(p, err);
		else if (plan_status(p) == STATUS_OK)
			rc = 0;
		else if ((rc = rebuild_compare_rest(&r, err)) == 0)
			rc = try_and_do(&r, err);
	}
	mem_free(r.guesses);
	if (rc == 0 && !r.work->dry_run && !r.o.trial)
		rc = rebuild_finish(p, r.work, err);
	pthread_mutex_destroy(&r.lock);
	if (rc < 0) {
		rebuild_doubt(&r, err);
		room_explain(p->places[0].meta_fd, 0, err);
	}
	return rc <= 0 ? rc
		       : error_set(err, ERROR_CORRUPT,
				   "dataset %lld: too many damaged files",
				   (long long)p->id);
}
