/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rebuild_targets.c - the files that a rebuild writes, and the strings that go
 * into them.
 */
#include <inttypes.h>

#include "arena.h"
#include "error.h"
#include "mem.h"
#include "rescue/rebuild_impl.h"
#include "scheme/compute.h"
#include "transfer/put.h"
#include "transfer/stripe.h"

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
		struct stripe_part *parts = out->parts + out->nparts;
		const size_t n = plan_file_parts(
			r->p, index, at, f->has_crc ? index : STRIPE_NO_SUM,
			parts);

		/* Without a checksum, only what is missing is written. */
		for (size_t i = 0; i < n; i++)
			if (r->trial || (!f->has_crc && !f->segs[i].gone &&
					 f->state == FILE_MISSING))
				parts[i].path = NULL;
		r->in_place.files++;
		out->nparts += n;
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
data_targets(struct rebuild_run *r, const struct plan_member *m,
	     struct stripe *out, struct error *err)
{
	uint64_t at = 0;

	if (stripe_room(out, r->arena, plan_data_room(r->p, m), err) < 0)
		return -1;
	for (size_t i = 0; m->files != NULL && i < m->list.nfiles; i++) {
		uint32_t f = m->files[i];

		if (f != PLAN_NONE && r->p->files[f].fate == FATE_REBUILD &&
		    file_target(r, f, at, out, err) < 0)
			return -1;
		at += m->list.files[i].attr.size;
	}
	return 0;
}

/* Make the string for the body of a packed redundancy file.  The header is
 * written by write_headers(). */
static int
packed_body_target(struct rebuild_run *r, const struct plan_member *m,
		   struct stripe *out, struct error *err)
{
	const uint64_t size = plan_segs_size(m->red->segs, m->red->nsegs);
	const struct solve_range body = {
		m->red->header_size,
		m->red->header_size + m->red->body_size,
	};

	if (size != body.to)
		return error_set(err, ERROR_CORRUPT,
				 "%s: packed as %" PRIu64 " bytes, but it has "
				 "%" PRIu64 ": unpack the dataset first",
				 m->name, size, body.to);
	r->in_place.redundancy++;
	return plan_red_string(r->p, m->red, &body, r->arena, out, err);
}

static int
body_target(struct rebuild_run *r, const struct plan_member *m,
	    struct stripe *out, struct error *err)
{
	const struct place *pl = &r->p->places[m->place];
	struct put_file *to = NULL;
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
	if (m->red->nsegs > 0)
		return packed_body_target(r, m, out, err);
	b.size = m->red->header_size + m->red->body_size;
	to = put_add(r->put, &b, err);
	if (to == NULL)
		return -1;
	if (stripe_room(out, r->arena, 1, err) < 0)
		return -1;
	if (b.size > m->red->header_size) {
		out->parts[0] = (struct stripe_part){
			.len = b.size - m->red->header_size,
			.put = to,
			.off = m->red->header_size,
			.sum = STRIPE_NO_SUM,
		};
		out->nparts = 1;
	}
	if (plan_writes_descriptor(m) && put_add(r->put, &d, err) == NULL)
		return -1;
	return 0;
}

static int
map_target(struct rebuild_run *r, const struct plan_member *m,
	   struct error *err)
{
	const struct plan_rank *pr = plan_rank_of(r->p, m);
	struct put_what t = { .kind = PUT_MAP };

	if (pr == NULL || pr->map.fate != FATE_REBUILD || pr->map.image == NULL)
		return 0;
	t.dirfd = r->p->places[pr->map.place].meta_fd;
	t.path = pr->map.name;
	t.size = pr->map.image_size;
	t.image = pr->map.image;
	t.image_size = pr->map.image_size;
	t.attr = &m->list.files[0].attr;
	return put_add(r->put, &t, err) == NULL ? -1 : 0;
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

		/* Lost filemaps were computed while the plan was made. */
		if ((s->map ? r->trial ? 0 : map_target(r, m, err)
			    : data_targets(r, m, &to[i], err)) < 0 ||
		    body_target(r, m, &to_body[i], err) < 0)
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

int
rebuild_list_targets(struct rebuild_run *r, struct error *err)
{
	/* With the copies of its bodies, a set is there twice. */
	const size_t n = 2 * r->p->nsets + 1;

	r->sets = arena_alloc(r->arena, n, sizeof(*r->sets));
	r->of = arena_alloc(r->arena, n, sizeof(*r->of));
	r->unread = arena_alloc(r->arena, n, sizeof(*r->unread));
	if (r->sets == NULL || r->of == NULL || r->unread == NULL)
		return error_no_memory(err);
	for (uint32_t i = 0; i < r->p->nsets; i++)
		if (rebuild_wants(r, &r->p->sets[i]) &&
		    set_targets(r, i, err) < 0)
			return -1;
	return rebuild_make_sums(r, err);
}
