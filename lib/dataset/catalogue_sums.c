/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalogue_sums.c - checksums recorded in rank2file, for a plan.
 *
 * LLNL's filemaps have none (formats.md 4.2); ours go into rank2file, which
 * LLNL's readers look into for paths only.
 */
#include "dataset/catalogue_impl.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "str.h"

/* All files of `old` with a checksum, by path. */
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
	return error_set(err, ERROR_NOMEM, "out of memory");
}

/* Tell plan file `f` of the checksum that is recorded for it. */
static void
carry(const struct old_sums *old, struct plan_file *f,
      struct catalogue_sum *sum)
{
	const struct rank2file_file *r = NULL;
	size_t at = f->path == NULL ? MAP_NONE : map_get(old->by_path, f->path);

	if (at == MAP_NONE)
		return;
	r = old->files[at];
	/* Sums of another generation of the file are worth nothing. */
	if (r->has_size && r->size != f->attr.size)
		return;
	if (f->has_crc && f->crc != r->crc)
		return; /* the filemap is nearer to the job */
	sum->known = true;
	sum->carried = !f->has_crc;
	sum->crc = r->crc;
	f->has_crc = true;
	f->crc = r->crc;
}

struct catalogue_sum *
catalogue_sums_new(struct plan *p, const struct rank2file *old,
		   struct error *err)
{
	struct catalogue_sum *sums = NULL;
	struct old_sums from = { .by_path = NULL };

	sums = mem_calloc(p->nfiles > 0 ? p->nfiles : 1, sizeof(*sums));
	if (sums == NULL) {
		error_set(err, ERROR_NOMEM, "out of memory");
		return NULL;
	}
	if (old != NULL && collect(old, &from, err) < 0) {
		mem_free(sums);
		sums = NULL;
	} else if (from.count > 0) {
		for (size_t i = 0; i < p->nfiles; i++)
			carry(&from, &p->files[i], &sums[i]);
	}
	map_free(from.by_path);
	mem_free(from.files);
	return sums;
}

/* --- Reading ------------------------------------------------------------------- */

struct reading {
	struct catalogue_files files;
	size_t *which; /* files.list[i] is plan file which[i] */
};

/* Which files have to be read. */
static int
choose(const struct plan *p, const struct catalogue_sum *sums,
       const bool *rebuilt, struct reading *r, struct error *err)
{
	r->files.list = mem_calloc(p->nfiles > 0 ? p->nfiles : 1,
				   sizeof(*r->files.list));
	r->which = mem_calloc(p->nfiles > 0 ? p->nfiles : 1,
			      sizeof(*r->which));
	if (r->files.list == NULL || r->which == NULL)
		return error_set(err, ERROR_NOMEM, "out of memory");
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (rebuilt != NULL
			    ? !rebuilt[i]
			    : f->state != FILE_PRESENT ||
				      (f->has_crc && !sums[i].carried))
			continue;
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
	return 0;
}

/* Note what was found of one file. */
static int
note(struct plan *p, struct catalogue_sum *sums, size_t at,
     const struct catalogue_file *f, bool rebuilt, struct error *err)
{
	char text[ERROR_TEXT_MAX / 2];

	if (f->state != FILE_PRESENT && rebuilt)
		return error_set(err, ERROR_DAMAGED,
				 "%s: so it was rebuilt, the redundancy or the "
				 "recorded checksum is wrong",
				 catalogue_file_problem(f, text,
							sizeof(text)));
	if (f->state != FILE_PRESENT)
		return plan_mark(p, at, f->state, err);
	sums[at].known = true;
	sums[at].crc = f->found_crc;
	return 0;
}

int
catalogue_sums_read(struct catalogue *c, struct plan *p,
		    struct catalogue_sum *sums, const bool *rebuilt,
		    const struct catalogue_options *o, struct error *err)
{
	struct reading r = { .which = NULL };
	int rc = choose(p, sums, rebuilt, &r, err);

	if (rc == 0 && r.files.count > 0)
		rc = catalogue_files_check(c, &r.files, true, o, err);
	for (size_t i = 0; rc == 0 && i < r.files.count; i++)
		rc = note(p, sums, r.which[i], &r.files.list[i],
			  rebuilt != NULL, err);
	/* What the plan has compared may be recorded as well. */
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++) {
		if (p->files[i].has_crc) {
			sums[i].known = true;
			sums[i].crc = p->files[i].crc;
		}
	}
	catalogue_files_free(&r.files);
	mem_free(r.which);
	return rc;
}
