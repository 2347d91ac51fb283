/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sums.c - checksums for a plan, from rank2file.
 *
 * LLNL's filemaps have no checksums (formats.md 4.2).  Ours are recorded in
 * rank2file, where LLNL's readers only use the paths.
 */
#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "str.h"

/* All files in `old` that have a checksum, by path. */
struct old_sums {
	struct map *by_path;
	const struct rank2file_file **files;
	size_t count;
};

static int
collect(const struct rank2file *old, struct old_sums *out, struct error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < old->nranks; i++)
		for (size_t k = 0; k < old->ranks[i].nfiles; k++)
			n += old->ranks[i].files[k].has_crc;
	if (n == 0)
		return 0;
	out->files = mem_alloc(n, sizeof(*out->files));
	out->by_path = map_new();
	if (out->files == NULL || out->by_path == NULL)
		goto no_memory;
	for (size_t i = 0; i < old->nranks; i++) {
		for (size_t k = 0; k < old->ranks[i].nfiles; k++) {
			const struct rank2file_file *f =
				&old->ranks[i].files[k];

			if (!f->has_crc)
				continue;
			if (map_put(out->by_path, f->path, out->count) < 0)
				goto no_memory;
			out->files[out->count++] = f;
		}
	}
	return 0;
no_memory:
	return error_no_memory(err);
}

/* Set the recorded checksum in plan file `f`. */
static void
carry(const struct old_sums *old, struct plan_file *f,
      struct catalogue_sum *sum)
{
	const struct rank2file_file *r = NULL;
	size_t at = f->path == NULL ? MAP_NONE : map_get(old->by_path, f->path);

	if (at == MAP_NONE)
		return;
	r = old->files[at];
	/* With another size, the checksum is that of an older file. */
	if (r->has_size && r->size != f->attr.size)
		return;
	if (f->has_crc && f->crc != r->crc)
		return; /* the filemap takes precedence: the job wrote it */
	sum->known = true;
	sum->carried = !f->has_crc;
	sum->crc = r->crc;
	f->has_crc = true;
	f->crc = r->crc;
}

int
catalogue_sums_init(struct catalogue_sums *s, struct plan *p,
		    const struct rank2file *old, struct error *err)
{
	struct old_sums from = { .by_path = NULL };
	int rc = 0;

	s->list = mem_calloc(p->nfiles > 0 ? p->nfiles : 1, sizeof(*s->list));
	if (s->list == NULL)
		return error_no_memory(err);
	if (old != NULL)
		rc = collect(old, &from, err);
	for (size_t i = 0; rc == 0 && from.count > 0 && i < p->nfiles; i++)
		carry(&from, &p->files[i], &s->list[i]);
	map_free(from.by_path);
	mem_free(from.files);
	if (rc < 0)
		catalogue_sums_fini(s);
	return rc;
}

void
catalogue_sums_fini(struct catalogue_sums *s)
{
	mem_free(s->list);
	s->list = NULL;
}

/* --- Read files --- */

/* Files of a plan to be read. */
struct reading {
	struct catalogue_files files;
	size_t *which; /* files.list[i] is plan file which[i] */
};

static int
reading_init(struct reading *r, size_t max, struct error *err)
{
	if (max == 0)
		max = 1;
	r->files.count = 0;
	r->files.list = mem_calloc(max, sizeof(*r->files.list));
	r->which = mem_calloc(max, sizeof(*r->which));
	if (r->files.list != NULL && r->which != NULL)
		return 0;
	return error_no_memory(err);
}

static void
reading_fini(struct reading *r)
{
	catalogue_files_free(&r->files);
	mem_free(r->which);
}

static void
reading_add(struct reading *r, const struct plan *p, size_t i)
{
	const struct plan_file *f = &p->files[i];

	r->which[r->files.count] = i;
	r->files.list[r->files.count++] = (struct catalogue_file){
		.path = f->path,
		.rank = f->rank,
		.has_size = f->attr.has_size,
		.size = f->attr.size,
		.has_crc = f->has_crc,
		.crc = f->crc,
	};
}

static void
note(struct catalogue_sums *s, size_t at, uint32_t crc)
{
	s->list[at].known = true;
	s->list[at].crc = crc;
}

int
catalogue_sums_read(struct catalogue *c, struct plan *p,
		    struct catalogue_sums *s, enum catalogue_want want,
		    const struct catalogue_options *o, struct error *err)
{
	struct reading r;
	int rc = reading_init(&r, p->nfiles, err);

	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		/* Packed files got their checksums when they were packed. */
		if (f->state != FILE_PRESENT || f->nsegs > 0)
			continue;
		if (s->list[i].carried ||
		    (want == CATALOGUE_ALL && !f->has_crc))
			reading_add(&r, p, i);
		else if (f->has_crc) /* compared already, by the plan */
			note(s, i, f->crc);
	}
	if (rc == 0 && r.files.count > 0)
		rc = catalogue_files_check(c, &r.files, true, o, err);
	for (size_t i = 0; rc == 0 && i < r.files.count; i++) {
		const struct catalogue_file *f = &r.files.list[i];

		if (f->state == FILE_PRESENT)
			note(s, r.which[i], f->found_crc);
		else
			rc = plan_mark(p, r.which[i], f->state, err);
	}
	reading_fini(&r);
	return rc;
}

int
catalogue_sums_again(struct catalogue *c, struct plan *p,
		     struct catalogue_sums *s, const bool *rebuilt,
		     const struct catalogue_options *o, struct error *err)
{
	struct reading r;
	char text[ERROR_TEXT_MAX / 2];
	int rc = reading_init(&r, p->nfiles, err);

	for (size_t i = 0; rc == 0 && i < p->nfiles; i++)
		if (rebuilt[i] && p->files[i].nsegs == 0)
			reading_add(&r, p, i);
	if (rc == 0 && r.files.count > 0)
		rc = catalogue_files_check(c, &r.files, true, o, err);
	for (size_t i = 0; rc == 0 && i < r.files.count; i++) {
		const struct catalogue_file *f = &r.files.list[i];

		if (f->state == FILE_PRESENT)
			note(s, r.which[i], f->found_crc);
		else
			rc = error_set(
				err, ERROR_DAMAGED,
				"%s: so it was rebuilt: the redundancy "
				"or what is recorded of it is wrong",
				catalogue_file_problem(f, text, sizeof(text)));
	}
	reading_fini(&r);
	return rc;
}
