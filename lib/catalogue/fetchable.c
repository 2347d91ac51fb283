/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fetchable.c - what the library of SCR 3.1 reads of a dataset before its
 * files: the index entry, the summary, rank2file.
 */
#include <inttypes.h>
#include <stdio.h>

#include "catalogue/catalogue_impl.h"
#include "container/segmap.h"
#include "map.h"
#include "meta/index.h"
#include "rescue/plan.h"
#include "str.h"
#include "work.h"

/* --- The index entry and the summary --- */

static int
flaw(struct error *why, const char *what, const char *text)
{
	return error_set(why, ERROR_CORRUPT, "%s: %s", what, text);
}

/* The file `what` cannot be used because of *why: a flaw, unless reading
 * failed. */
static int
unusable(struct error *why, const char *what, struct error *err)
{
	if (!catalogue_is_verdict(why))
		return error_pass(err, why);
	if (why->kind == ERROR_ABSENT)
		flaw(why, what, "missing");
	return 0;
}

static int
read_summary(struct catalogue_fetch *f, const struct catalogue_dir *d,
	     const struct index_entry *e, struct error *err)
{
	struct error *why = &f->no_summary;
	const struct dataset *s = &f->desc.view, *listed = &e->desc;
	const bool read = catalogue_read_summary(d, &f->desc, why) == 0;

	f->replaced = f->desc.replaced;
	/* Without room to mark the summary, it was removed. */
	if (f->replaced == 0 && f->desc.complete != 1 && e->complete == 0)
		f->replaced = e->replaced;
	if (!read)
		return unusable(why, SUMMARY_FILE, err);
	if (f->replaced > 0)
		return 0; /* judged when rank2file is read */
	if (f->desc.complete != 1)
		flaw(why, SUMMARY_FILE,
		     "does not say that the dataset is complete");
	else if (s->is_ckpt && s->ckpt_id < 0)
		flaw(why, SUMMARY_FILE, "has no number of the checkpoint");
	else if (listed->id == 0)
		return 0;
	/* Does the descriptor belong to the dataset of the entry? */
	else if (s->created_us >= 0 && listed->created_us >= 0 &&
		 s->created_us != listed->created_us)
		error_set(why, ERROR_CORRUPT,
			  SUMMARY_FILE ": describes another dataset with "
				       "number %" PRId64 " than the index: "
				       "created %s, not %s",
			  s->id, index_stamp_str(s->created_us / 1000000),
			  index_stamp_str(listed->created_us / 1000000));
	else if (s->name != NULL && e->name != NULL &&
		 !str_eq(s->name, e->name))
		error_set(why, ERROR_CORRUPT,
			  SUMMARY_FILE ": describes another dataset with "
				       "number %" PRId64 " than the index: "
				       "\"%s\", not \"%s\"",
			  s->id, str_shown(s->name), str_shown(e->name));
	return 0;
}

/* --- rank2file --- */

/* Another dataset has replaced files.  `proved`: checksums show which. */
static void
judge_replaced(struct catalogue_fetch *f, bool proved)
{
	if (f->replaced == 0)
		return;
	f->unproved = !proved;
	error_set(&f->no_summary, ERROR_CORRUPT,
		  SUMMARY_FILE ": dataset %" PRId64 " replaced its files%s",
		  f->replaced,
		  proved ? "; checksums can show which of its files are left"
			 : ", and no checksums show which of them are left");
}

int
catalogue_fetch_read(struct catalogue_fetch *f, const struct catalogue_dir *d,
		     const struct index_entry *e, const struct plan *p,
		     struct error *err)
{
	struct error *why = &f->no_ranks;

	*f = (struct catalogue_fetch){ .packed = false };
	if (read_summary(f, d, e, err) < 0)
		return -1;
	judge_replaced(f, false);
	if (p != NULL)
		f->ranks = plan_rank2file(p, why);
	else if (rank2file_load(d->fd, RANK2FILE_FILE, &f->own, why) == 0)
		f->ranks = &f->own;
	if (f->ranks == NULL)
		return unusable(why, RANK2FILE_FILE, err);
	f->packed = segmap_is_packed(f->ranks);
	/* Copies stand in for damaged files of a packed map. */
	if (f->ranks->flaw != NULL && !f->packed)
		error_set(why, ERROR_CORRUPT, "%s", f->ranks->flaw);
	for (size_t i = 0; i < f->ranks->nranks && why->kind == ERROR_NONE;
	     i++) {
		const struct rank2file_rank *k = &f->ranks->ranks[i];

		if (!k->present)
			error_set(why, ERROR_CORRUPT,
				  RANK2FILE_FILE ": has no entry for rank %zu "
						 "of %zu",
				  i, f->ranks->nranks);
		else if (k->expected > k->nfiles)
			error_set(why, ERROR_CORRUPT,
				  RANK2FILE_FILE ": names %zu of %" PRIu64
						 " files of rank %zu",
				  k->nfiles, k->expected, i);
	}
	return 0;
}

void
catalogue_fetch_spared(struct catalogue_fetch *f)
{
	error_set(&f->no_summary, ERROR_CORRUPT,
		  SUMMARY_FILE ": dataset %" PRId64
			       " was to replace its files, and replaced none",
		  f->replaced);
	f->replaced = 0;
	f->unproved = false;
}

void
catalogue_fetch_free(struct catalogue_fetch *f)
{
	rank2file_free(&f->own);
	catalogue_desc_free(&f->desc);
	f->ranks = NULL;
}

/* --- rank2file and filemaps --- */

static bool
same_file(const struct rank2file_file *a, const struct plan_file *b)
{
	return str_eq(a->path, b->path) &&
	       (!a->has_size || a->size == b->attr.size);
}

/* Do both name the same files?  They usually have the same order. -1: no
 * memory. */
static int
same_files(const struct rank2file_rank *r, const struct plan_file *files)
{
	struct map *by_path = NULL;
	size_t n = 0;

	while (n < r->nfiles && same_file(&r->files[n], &files[n]))
		n++;
	if (n == r->nfiles)
		return 1;
	by_path = map_new();
	for (size_t i = 0; i < r->nfiles; i++)
		if (map_put(by_path, files[i].path, i) < 0) {
			map_free(by_path);
			return -1;
		}
	for (n = 0; n < r->nfiles; n++) {
		size_t at = map_get(by_path, r->files[n].path);

		if (at == MAP_NONE || !same_file(&r->files[n], &files[at]))
			break;
	}
	map_free(by_path);
	return n == r->nfiles;
}

int
catalogue_fetch_match(struct catalogue_fetch *f, const struct plan *p,
		      struct error *err)
{
	struct error *why = &f->no_ranks;
	int same = 1;

	if (f->unproved && plan_sums_all(p))
		judge_replaced(f, true);
	if (p->older_summary && f->no_summary.kind == ERROR_NONE)
		flaw(&f->no_summary, SUMMARY_FILE,
		     "belongs to an older dataset, whose files were replaced");
	if (f->ranks == NULL || why->kind != ERROR_NONE || p->nranks <= 0)
		return 0;
	if (p->outdated) {
		flaw(why, RANK2FILE_FILE,
		     "belongs to an older dataset, whose files were replaced");
		return 0;
	}
	if (p->old_sums)
		flaw(why, RANK2FILE_FILE, "has the checksums of an older run");
	if (f->ranks->nranks != (size_t)p->nranks) {
		error_set(why, ERROR_CORRUPT,
			  RANK2FILE_FILE ": has %zu ranks, the filemaps have "
					 "%" PRId64,
			  f->ranks->nranks, p->nranks);
		return 0;
	}
	for (size_t i = 0; same > 0 && i < f->ranks->nranks; i++) {
		const struct rank2file_rank *r = &f->ranks->ranks[i];
		const struct plan_rank *k = &p->ranks[i];

		if (!k->map_known)
			continue;
		same = r->nfiles == k->nfiles
			       ? same_files(r, p->files + k->first_file)
			       : 0;
		if (same == 0)
			error_set(why, ERROR_CORRUPT,
				  RANK2FILE_FILE ": names other files of rank "
						 "%zu than its filemap",
				  i);
	}
	return same < 0 ? error_no_memory(err) : 0;
}

/* --- The verdict --- */

int
catalogue_fetchable(struct catalogue *c, const struct index_entry *e,
		    const struct catalogue_options *o, struct fetchable *out,
		    struct error *err)
{
	struct catalogue_options quick = *o;
	struct verify_result r = { .status = STATUS_OK };
	struct error why = ERROR_INIT;
	int rc = 0;

	quick.deep = quick.compare = false;
	rc = catalogue_verify(c, e, &quick, NULL, &r, &why);
	*out = r.fetch;
	if (rc == 0)
		return 0;
	if (why.kind == ERROR_NOMEM || work_stopped(&o->work))
		return error_pass(err, &why);
	out->status = why.kind == ERROR_LOST ? STATUS_LOST : STATUS_FAILED;
	out->unsafe = why.kind == ERROR_UNSAFE;
	snprintf(out->why, sizeof(out->why), "%s", why.text);
	return 0;
}

int
fetchable_error(const struct fetchable *f, struct error *err)
{
	if (f->status == STATUS_OK)
		return 0;
	return error_set(err,
			 f->unsafe		       ? ERROR_UNSAFE
			 : f->status == STATUS_DAMAGED ? ERROR_DAMAGED
			 : f->status == STATUS_LOST    ? ERROR_LOST
						       : ERROR_SYSTEM,
			 "%s", f->why);
}
