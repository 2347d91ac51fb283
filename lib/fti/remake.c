/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/write.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "arena.h"
#include "error.h"
#include "fti/draft.h"
#include "fti/file.h"
#include "map.h"
#include "mem.h"
#include "work.h"

/* Files that are open at the same time. */
#define BATCH 64

struct run {
	struct fti_remake *m;
	const struct work *w;
	struct fti_writer *writer;
	/* The current batch. */
	struct fti_rankfile files[BATCH];
	size_t items[BATCH]; /* of the files */
	size_t count;
	/* By the number of the item in the batch: the writer keeps pointers. */
	struct fti_draft drafts[BATCH];
	bool again; /* all files are planned */
	size_t refused;
	size_t next; /* file of the writer */
	struct map *inputs;
	struct arena *arena;
};

/* --- Open --- */

static const char *
key_of(struct run *r, const struct stat *st)
{
	return arena_printf(r->arena, "%ju:%ju", (uintmax_t)st->st_dev,
			    (uintmax_t)st->st_ino);
}

static void
close_batch(struct run *r)
{
	for (size_t k = 0; k < r->count; k++) {
		fti_draft_fini(&r->drafts[r->items[k] % BATCH]);
		fti_rankfile_close(&r->files[k]);
	}
	r->count = 0;
}

/* Report an error of one file, after which others can still be looked at. */
static int
refuse(struct run *r, size_t i, const struct fti_rankfile *file,
       struct error *why, struct error *err)
{
	if (r->again || (why->kind == ERROR_SYSTEM && why->errnum == EINTR))
		return error_pass(err, why);
	r->refused++;
	r->m->items[i].refused = true;
	r->m->refused(r->m->refused_arg, i, file, why);
	return 0;
}

static int
open_batch(struct run *r, size_t first, size_t end, struct error *err)
{
	bool same = r->again; /* all are as they were when they were planned */

	for (size_t i = first; i < end; i++) {
		struct fti_remake_item *it = &r->m->items[i];
		struct fti_rankfile *f = &r->files[r->count];
		struct fti_rankfile_options o = r->m->open;
		struct attr now = { .size = 0 };
		struct error why = ERROR_INIT;

		if (r->again && it->skipped)
			continue;
		o.dirfd = it->in_dir;
		o.below = it->in_name;
		o.posix = it->posix;
		if (fti_rankfile_open(f, it->in, &o, &why) < 0) {
			fti_rankfile_close(f);
			if (refuse(r, i, NULL, &why, err) < 0)
				return -1;
			continue;
		}
		r->items[r->count++] = i;
		/* Keep what the file is; later, compare. */
		attr_from_stat(&now, &f->own.st);
		same = same && it->intact &&
		       map_get(r->inputs, key_of(r, &f->own.st)) != MAP_NONE &&
		       now.size == it->attr.size &&
		       now.ctime.tv_sec == it->attr.ctime.tv_sec &&
		       now.ctime.tv_nsec == it->attr.ctime.tv_nsec;
		if (!r->again) {
			it->attr = now;
			map_put(r->inputs, key_of(r, &f->own.st), 0);
		}
	}
	if (fti_rankfiles_check(r->files, r->count, !same, r->w, err) < 0)
		return -1;
	/* Their sums were compared, and no byte has changed. */
	for (size_t k = 0; k < r->count && same; k++)
		r->files[k].checked.data_read = r->files[k].checked.data_good =
			true;
	return 0;
}

/* --- Plan --- */

int
fti_remake_proven(const struct fti_rankfile *r, struct error *err)
{
	const struct fti_finding *n = r->checked.file->findings;

	if (r->form == FTI_FORM_FF)
		return fti_proven(&r->checked, err);
	if (r->checked.unread != NULL)
		return error_set(err, ERROR_SYSTEM, "%s", r->checked.unread);
	if (r->parity)
		return error_set(err, ERROR_CORRUPT,
				 "%s: is a parity file: it holds no variables",
				 r->name);
	if (r->unusable != NULL)
		return error_set(err, ERROR_CORRUPT, "%s", r->unusable);
	if (r->lacks)
		return error_set(err, ERROR_CORRUPT,
				 "%s: the sizes of some variables are not "
				 "recorded for this layer",
				 r->name);
	if (r->form != FTI_FORM_UNKNOWN && r->checked.data_read &&
	    r->checked.data_good)
		return 0;
	return error_set(err, ERROR_CORRUPT, "%s: %s", r->name,
			 n != NULL ? n->text : "its data are not proven");
}

static int
write_batch(struct run *r, struct error *err)
{
	struct fti_remake *m = r->m;
	size_t n = 0;

	for (size_t k = 0; k < r->count; k++) {
		const size_t i = r->items[k];
		struct fti_draft *d = &r->drafts[i % BATCH];
		struct error why = ERROR_INIT;
		int rc = 0;

		fti_draft_fini(d);
		if (m->items[i].skipped)
			continue;
		n++;
		rc = m->describe(m->arg, i, &r->files[k], d, &why);
		if (rc < 0 && why.kind != ERROR_CORRUPT)
			return error_pass(err, &why);
		if (rc != 0)
			return error_set(err, ERROR_CORRUPT,
					 "%s: changed after it was checked",
					 m->items[i].in);
	}
	if (fti_writer_run(r->writer, r->next, n, err) < 0)
		return -1;
	r->next += n;
	for (size_t k = 0; k < r->count && m->written != NULL; k++)
		if (!m->items[r->items[k]].skipped)
			m->written(m->arg, r->items[k],
				   &r->drafts[r->items[k] % BATCH]);
	return 0;
}

static int
plan_all(struct run *r, struct error *err)
{
	const struct fti_remake *m = r->m;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < m->count; i += BATCH) {
		const size_t end = m->count - i < BATCH ? m->count : i + BATCH;

		close_batch(r);
		rc = open_batch(r, i, end, err);
		for (size_t k = 0; rc == 0 && k < r->count; k++) {
			const size_t n = r->items[k];
			struct fti_draft *d = &r->drafts[n % BATCH];
			struct fti_remake_item *it = &m->items[n];
			const struct fti_rankfile *f = &r->files[k];
			struct fti_job job;
			struct error why = ERROR_INIT;

			/* Describe the file, and add it to the plan. */
			rc = m->describe(m->arg, n, f, d, &why);
			job = it->out;
			job.draft = d;
			job.attr = it->fresh ? NULL : &it->attr;
			it->planned = true;
			it->intact = f->checked.verdict == FTI_INTACT;
			it->skipped = rc > 0;
			if (rc == 0)
				rc = fti_writer_add(r->writer, &job, &why);
			it->size = d->size;
			rc = rc < 0 ? refuse(r, n, f, &why, err)
				    : m->planned(m->arg, n, f, d, err);
		}
	}
	for (size_t i = 0; rc == 0 && i < m->ntexts; i++)
		rc = fti_writer_add(r->writer, &m->texts[i], err);
	if (rc < 0 || r->refused > 0)
		return rc;
	/* No file that is read may be replaced, except by its own new form. */
	for (size_t i = 0; i < m->count; i++) {
		const struct fti_remake_item *it = &m->items[i];
		struct stat st;

		if (!it->in_place && !it->skipped && it->out.replace &&
		    fstatat(it->out.dirfd, it->out.path, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 &&
		    map_get(r->inputs, key_of(r, &st)) != MAP_NONE)
			return error_set(err, ERROR_USAGE,
					 "%s: is one of the files to read",
					 it->out.name);
	}
	return fti_writer_room(r->writer, err);
}

static int
write_all(struct run *r, struct error *err)
{
	const struct fti_remake *m = r->m;
	int rc = 0;

	r->again = true;
	for (size_t i = 0; rc == 0 && i < m->count; i += BATCH) {
		const size_t end = m->count - i < BATCH ? m->count : i + BATCH;

		if (m->count > BATCH) {
			close_batch(r);
			rc = open_batch(r, i, end, err);
		}
		if (rc == 0)
			rc = write_batch(r, err);
	}
	if (rc == 0 && m->finish != NULL)
		rc = m->finish(m->arg, err);
	if (rc == 0 && m->ntexts > 0)
		rc = fti_writer_run(r->writer, r->next, m->ntexts, err);
	return rc == 0 ? fti_writer_commit(r->writer, err) : rc;
}

int
fti_remake(struct fti_remake *m, const struct work *w, struct error *err)
{
	struct run *r = mem_calloc(1, sizeof(*r));
	int rc = 0;

	r->m = m;
	r->w = work_or_default(w);
	r->writer = fti_writer_new(r->w);
	r->arena = arena_new();
	r->inputs = map_new();
	rc = plan_all(r, err);
	if (rc == 0 && r->refused == 0 && !r->w->dry_run)
		rc = write_all(r, err);
	if (rc == 0 && r->refused > 0)
		rc = 1;
	close_batch(r);
	fti_writer_free(r->writer);
	map_free(r->inputs);
	arena_free(r->arena);
	mem_free(r);
	return rc;
}
