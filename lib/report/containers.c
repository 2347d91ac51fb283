/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * containers.c - the condition of containers, from their map, their sizes, a
 * plan and, on request, checksums; and their JSON.
 */
#include "report/containers.h"

#include <inttypes.h>
#include <stdlib.h>

#include "catalogue/catalogue.h"
#include "error.h"
#include "json.h"
#include "map.h"
#include "mem.h"
#include "meta/redset.h"
#include "rescue/plan.h"
#include "str.h"

#define DATA 0
#define REDUNDANCY 1

const char *
container_state_name(enum container_state s)
{
	static const char *const names[CONTAINER_STATES] = {
		[CONTAINER_WHOLE] = "whole",
		[CONTAINER_MISSING] = "missing",
		[CONTAINER_TYPE] = "not a file",
		[CONTAINER_SHORT] = "truncated",
		[CONTAINER_LONG] = "too long",
		[CONTAINER_MAP] = "wrong map",
		[CONTAINER_UNDONE] = "half rebuilt",
		[CONTAINER_SUM] = "wrong checksum",
	};

	return names[s];
}

/* --- The list --- */

static int
by_name(const void *a, const void *b)
{
	const struct container *x = a, *y = b;

	return str_natural(x->name, y->name);
}

/* The list's entry for a container of a map. */
static struct container *
listed(const struct containers *k, const struct containers_part *part,
       size_t container)
{
	return &k->list[part->pos[container]];
}

/* List the containers of a map from `first` on. */
static void
list_part(struct containers *k, int which, size_t first)
{
	struct containers_part *part = &k->parts[which];
	const struct segmap *m = part->map;

	for (size_t i = 0; i < m->ncontainers; i++) {
		const struct segmap_container *c = &m->containers[i];

		k->list[first + i] = (struct container){
			.name = c->name,
			.size = c->has_size ? c->size : c->used,
			.have = c->has_size ? c->size : c->used,
			.used = c->bytes,
			.files = c->files,
			.at = i,
			.redundancy = which == REDUNDANCY,
		};
	}
	/* Maps are not sorted by name. */
	qsort(k->list + first, m->ncontainers, sizeof(*k->list), by_name);
	for (size_t i = 0; i < m->ncontainers; i++)
		part->pos[k->list[first + i].at] = first + i;
}

struct containers *
containers_open(struct catalogue *c, const char *word,
		const struct catalogue_options *o, struct error *err)
{
	struct containers *k = mem_calloc(1, sizeof(*k));
	struct segmap *red = &k->packed.hidden.map;
	struct segmap *const maps[2] = { &k->packed.map, red };
	struct redset_name name;

	if (catalogue_packed_open(c, word, NULL, o, &k->packed, err) < 0) {
		mem_free(k);
		return NULL;
	}
	if (!k->packed.is_packed) {
		containers_free(k);
		return error_set_null(err, ERROR_ABSENT, "%s: not packed",
				      word);
	}
	for (int i = 0; i < 2; i++) {
		struct containers_part *part = &k->parts[i];
		size_t n = maps[i]->ncontainers;

		part->map = maps[i];
		part->pos = mem_calloc(n + 1, sizeof(*part->pos));
		k->count += n;
	}
	k->list = mem_calloc(k->count + 1, sizeof(*k->list));
	/* Only the name of a redundancy file gives its rank. */
	for (size_t i = 0; i < red->nfiles; i++)
		if (redset_name_parse(red->files[i].path, &name, NULL))
			red->files[i].rank = name.rank;
	list_part(k, DATA, 0);
	list_part(k, REDUNDANCY, maps[DATA]->ncontainers);
	return k;
}

void
containers_free(struct containers *k)
{
	if (k == NULL)
		return;
	packed_close(&k->packed);
	for (int i = 0; i < 2; i++)
		mem_free(k->parts[i].pos);
	mem_free(k->list);
	mem_free(k);
}

/* --- Check --- */

struct looking {
	struct containers *k;
	const struct plan *plan;
	const struct catalogue_options *o;
	const struct verify_listener *flaws;
	bool summed;   /* all bytes were read */
	bool *bad_sum; /* by file: its checksum is wrong */
};

static void
spoil(struct container *c, enum container_state s)
{
	if (c->state == CONTAINER_WHOLE)
		c->state = s;
}

static void
spoil_file(struct containers_part *part, size_t file)
{
	const struct segmap_file *f = &part->map->files[file];

	for (size_t s = f->first; s < f->first + f->nsegs; s++)
		part->map->segs[s].gone = true;
}

static void
note_flaw(void *arg, const struct packed_flaw *f)
{
	struct looking *l = arg;
	struct containers_part *part = &l->k->parts[f->red ? REDUNDANCY : DATA];
	const struct segmap_finding *map = f->finding;
	struct container *c = f->container != SIZE_MAX
				      ? listed(l->k, part, f->container)
				      : NULL;
	bool shown = l->flaws != NULL;

	switch (f->kind) {
	case PACKED_MAP:
		/* Bytes that belong to no file do no harm. */
		if (map->flaw == SEGMAP_GAP)
			break;
		if (map->flaw != SEGMAP_SUM && map->flaw != SEGMAP_TWIN)
			spoil(listed(l->k, part, map->container),
			      CONTAINER_MAP);
		if (map->file != SIZE_MAX)
			spoil_file(part, map->file);
		if (map->other != SIZE_MAX)
			spoil_file(part, map->other);
		break;
	case PACKED_MISSING:
	case PACKED_TYPE:
	case PACKED_SIZE:
		if (c == NULL)
			break;
		c->have = f->have;
		c->state = f->kind == PACKED_MISSING ? CONTAINER_MISSING
			   : f->kind == PACKED_TYPE  ? CONTAINER_TYPE
			   : c->have > c->size	     ? CONTAINER_LONG
						     : CONTAINER_SHORT;
		break;
	case PACKED_SUM:
		/* Of the data, and of what was right until now. */
		shown = !f->red && (f->file != SIZE_MAX ||
				    (c != NULL && c->state == CONTAINER_WHOLE));
		if (shown && f->file != SIZE_MAX)
			l->bad_sum[f->file] = true;
		else if (shown)
			c->state = CONTAINER_SUM;
		break;
	default:
		break;
	}
	if (shown && l->flaws != NULL)
		l->flaws->tell(l->flaws->arg, f->text);
}

/* Take over the plan's findings: packed redundancy files that are damaged,
 * segments that a rebuild left unfinished, and files with wrong checksums.
 * Returns the number of these. */
static size_t
ask_plan(struct looking *l)
{
	struct containers_part *part = &l->k->parts[REDUNDANCY];
	const struct segmap *m = part->map;
	const struct plan *p = l->plan;
	struct map *by = NULL;
	size_t wrong = 0;

	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t k = 0; k < p->sets[i].n; k++) {
			const struct plan_member *is = &p->sets[i].members[k];
			const struct segmap_file *f =
				is->wrong_sum
					? hidden_find(&l->k->packed.hidden,
						      is->name)
					: NULL;

			if (f == NULL)
				continue;
			spoil_file(part, (size_t)(f - m->files));
			for (size_t s = f->first; s < f->first + f->nsegs; s++)
				spoil(listed(l->k, part, m->segs[s].container),
				      CONTAINER_SUM);
		}
	part = &l->k->parts[DATA];
	m = part->map;
	by = segmap_by_path(m);
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];
		size_t at = map_get(by, f->path);

		if (at == MAP_NONE || f->nsegs != m->files[at].nsegs)
			continue;
		if (f->state == FILE_WRONG_CRC) {
			l->bad_sum[at] = true;
			wrong++;
		}
		for (size_t s = 0; s < f->nsegs; s++) {
			const size_t n = m->files[at].first + s;
			const struct segment *seg = &m->segs[n];
			struct container *c =
				listed(l->k, part, seg->container);

			if (!f->segs[s].gone || seg->off + seg->len > c->have)
				continue;
			part->map->segs[n].gone = true;
			spoil(c, CONTAINER_UNDONE);
		}
	}
	map_free(by);
	return wrong;
}

static int
check(struct looking *l, bool sums, struct error *err)
{
	const struct packed_look look = {
		.work = &l->o->work,
		.sums = sums,
		.containers = !sums && l->flaws == NULL,
		.flaw = note_flaw,
		.arg = l,
	};
	int rc = packed_check(&l->k->packed, &look, &l->k->health, err);

	packed_health_free(&l->k->health);
	l->summed = sums;
	return rc;
}

/* The checksum of a file does not show which of its segments is wrong.  Mark
 * all of them, except those in containers whose own checksum is right. */
static void
blame(struct looking *l)
{
	struct containers_part *part = &l->k->parts[DATA];
	struct segmap *m = part->map;
	/* By container: */
	bool *explained = mem_calloc(m->ncontainers + 1, sizeof(bool));
	bool *good = mem_calloc(m->ncontainers + 1, sizeof(bool));

	for (size_t i = 0; i < m->ncontainers; i++)
		good[i] = l->summed && m->containers[i].has_crc &&
			  listed(l->k, part, i)->state == CONTAINER_WHOLE;
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];

		for (size_t s = f->first; s < f->first + f->nsegs; s++) {
			uint32_t at = m->segs[s].container;

			explained[at] |= m->segs[s].gone || l->bad_sum[i];
			if (!l->bad_sum[i] || good[at])
				continue;
			m->segs[s].gone = true;
			spoil(listed(l->k, part, at), CONTAINER_SUM);
		}
	}
	/* A damaged container without a known damaged file, for example because
	 * files have no checksums: each of its segments is in doubt. */
	for (size_t s = 0; s < m->nsegs; s++) {
		uint32_t at = m->segs[s].container;

		if (listed(l->k, part, at)->state == CONTAINER_SUM &&
		    !explained[at])
			m->segs[s].gone = true;
	}
	mem_free(explained);
	mem_free(good);
}

int
containers_look(struct containers *k, const struct plan *plan,
		const struct catalogue_options *o,
		const struct verify_listener *flaws, struct error *err)
{
	const bool planned = plan != NULL, sums = o->checksums;
	struct looking l = {
		.k = k,
		.plan = plan,
		.o = o,
		.flaws = flaws,
		.bad_sum = mem_calloc(k->packed.map.nfiles + 1, sizeof(bool)),
	};
	int rc = check(&l, sums && !planned, err);

	/* A plan with checksums has read all files: read them again only to
	 * locate the damage. */
	if (rc == 0 && planned && ask_plan(&l) > 0 && sums)
		rc = check(&l, true, err);
	if (rc == 0)
		blame(&l);
	mem_free(l.bad_sum);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < k->count; i++)
		k->damaged += k->list[i].state != CONTAINER_WHOLE;
	k->looked = true;
	return 0;
}

/* --- Contents --- */

static int
by_place(const void *a, const void *b)
{
	const struct container_span *x = a, *y = b;

	if (x->container != y->container)
		return x->container < y->container ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->len < y->len ? -1 : x->len > y->len;
}

struct container_span *
containers_spans(const struct containers *k, size_t **first)
{
	struct container_span *spans = mem_calloc(
		2 * (k->parts[0].map->nsegs + k->parts[1].map->nsegs) + 1,
		sizeof(*spans));
	size_t n = 0, s = 0;

	for (int i = 0; i < 2; i++) {
		const struct containers_part *part = &k->parts[i];
		const struct segmap *m = part->map;

		for (size_t f = 0; f < m->nfiles; f++)
			for (s = m->files[f].first;
			     s < m->files[f].first + m->files[f].nsegs; s++) {
				const struct segment *seg = &m->segs[s];
				const uint64_t have =
					listed(k, part, seg->container)->have;
				const bool cut = have > seg->off &&
						 have < seg->off + seg->len;
				struct container_span span = {
					.file = &m->files[f],
					.container = part->pos[seg->container],
					.off = seg->off,
					.len = cut ? have - seg->off : seg->len,
					.bad = seg->gone || have <= seg->off,
				};

				spans[n++] = span;
				if (!cut)
					continue;
				span.off = have;
				span.len = seg->len - span.len;
				span.bad = true;
				spans[n++] = span;
			}
	}
	qsort(spans, n, sizeof(*spans), by_place);
	*first = mem_calloc(k->count + 1, sizeof(**first));
	for (size_t i = 0, at = 0; i < k->count; i++) {
		while (at < n && spans[at].container == i)
			at++;
		(*first)[i + 1] = at;
	}
	return spans;
}

/* --- JSON --- */

void
report_set_crc(struct json *j, uint32_t crc)
{
	json_set_str(j, "crc32", str_printed(16, "0x%08" PRIx32, crc));
}

struct json *
report_packed_file_json(const struct segmap *m, const struct segmap_file *f,
			const struct containers *k)
{
	const struct containers_part *data = k != NULL ? &k->parts[DATA] : NULL;
	struct json *j = json_new_object(), *list = json_new_array();

	json_set_str(j, "path", f->path);
	json_set_u64(j, "rank", f->rank);
	if (f->has_size || f->nsegs > 0)
		json_set_u64(j, "size", f->size);
	if (f->has_crc)
		report_set_crc(j, f->crc);
	for (size_t i = f->first; i < f->first + f->nsegs; i++) {
		const struct segment *s = &m->segs[i];
		struct json *e = json_new_object();

		json_set_str(e, "container", m->containers[s->container].name);
		json_set_u64(e, "offset", s->off);
		json_set_u64(e, "length", s->len);
		if (k != NULL &&
		    (s->gone ||
		     s->off + s->len > listed(k, data, s->container)->have))
			json_set_bool(e, "damaged", true);
		json_push(list, e);
	}
	json_set(j, "segments", list);
	return j;
}

void
report_containers_json(const struct containers *k, bool segments,
		       struct json *to)
{
	const struct packed *p = &k->packed;
	struct json *list = json_new_array(), *files = NULL;

	json_set_i64(to, "layout", p->layout);
	if (p->map.container_size > 0)
		json_set_u64(to, "container_size", p->map.container_size);
	json_set_u64(to, "packed_bytes", p->map.bytes);
	json_set_u64(to, "packed_metadata_file_count", p->hidden.map.nfiles);
	json_set_bool(to, "moving", p->map.moving);
	for (size_t i = 0; i < k->count; i++) {
		const struct container *c = &k->list[i];
		struct json *j = json_new_object();

		json_set_str(j, "name", c->name);
		json_set_str(j, "holds", c->redundancy ? "redundancy" : "data");
		json_set_u64(j, "size", c->size);
		if (c->state != CONTAINER_MISSING && c->state != CONTAINER_TYPE)
			json_set_u64(j, "found_size", c->have);
		json_set_u64(j, "used_bytes", c->used);
		json_set_u64(j, "file_count", c->files);
		json_set_str(j, "state", container_state_name(c->state));
		json_push(list, j);
	}
	json_set(to, "containers", list);
	if (!segments)
		return;
	files = json_new_array();
	for (size_t i = 0; i < p->map.nfiles; i++)
		json_push(files, report_packed_file_json(&p->map,
							 &p->map.files[i], k));
	json_set(to, "packed_files", files);
}
