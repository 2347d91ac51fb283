/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/check.h"

#include <string.h>

#include "error.h"
#include "fti/check_impl.h"
#include "fti/file.h"
#include "fti/input.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "work.h"

#define WHOLE SIZE_MAX /* as a container: the sum over the file */

struct task {
	struct fti_checked *c;
	size_t container;
	char *unread; /* why its bytes could not be read */
};

struct run {
	const struct work *w;
	struct task *tasks;
	size_t count, room;
	struct hash **hashes; /* of each worker */
	unsigned nworkers;
	uint64_t bytes;
};

const char *
fti_verdict_name(enum fti_verdict v)
{
	static const char *const names[] = {
		[FTI_INTACT] = "intact",
		[FTI_REFUSED] = "intact, but FTI refuses it",
		[FTI_DAMAGED] = "damaged",
		[FTI_FOREIGN] = "not an FTI-FF file",
		[FTI_UNREAD] = "unknown",
	};

	return names[v];
}

/* --- Sums --- */

/* Are the bytes in use a part of the file? */
static bool
is_inside(const struct fti_file *f, const struct fti_container *c)
{
	return c->used >= 0 && c->used <= c->size && c->fptr <= f->size &&
	       (uint64_t)c->used <= f->size - c->fptr;
}

/* Sum what the checksum of the whole file is over. */
static int
sum_whole(const struct fti_checked *c, struct hash *h, const struct work *w,
	  struct error *err)
{
	const struct fti_file *f = c->file;
	const uint64_t records = fti_format(FTI_A)->meta;
	int rc = 0;

	if (f->kind == FTI_KIND_PARITY)
		return fti_source_sum(c->source, 0, f->meta_at, h, w, err);
	if (f->layout == FTI_A)
		return fti_source_sum(c->source, records, f->size - records, h,
				      w, err);
	for (size_t i = 0; i < f->ncontainers && rc == 0; i++)
		if (is_inside(f, &f->containers[i].c))
			rc = fti_source_sum(c->source, f->containers[i].c.fptr,
					    (uint64_t)f->containers[i].c.used,
					    h, w, err);
	return rc;
}

static int
run_task(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct run *r = arg;
	struct hash *h = r->hashes[worker];
	struct task *t = &r->tasks[i];
	const bool whole = t->container == WHOLE;
	const struct fti_container *c =
		whole ? NULL : &t->c->file->containers[t->container].c;
	unsigned char drop[HASH_MD5_SIZE];
	struct error why = ERROR_INIT;
	int rc = 0;

	if (t->c->posix != NULL)
		return fti_check_posix(t->c, r->w, err);
	rc = whole ? sum_whole(t->c, h, r->w, &why)
		   : fti_source_sum(t->c->source, c->fptr, (uint64_t)c->used, h,
				    r->w, &why);

	if (rc == 0)
		return hash_sum(
			h, whole ? t->c->whole : t->c->sums[t->container], err);
	if (why.kind == ERROR_NOMEM || work_stopped(r->w))
		return error_pass(err, &why);
	t->unread = mem_strdup(why.text);
	return t->unread == NULL ? error_no_memory(err)
				 : hash_sum(h, drop, err);
}

/* --- The tasks --- */

static int
add_task(struct run *r, struct fti_checked *c, size_t container, uint64_t bytes)
{
	if (!MEM_ROOM(r->tasks, r->count, r->room))
		return -1;
	r->tasks[r->count++] = (struct task){ .c = c, .container = container };
	r->bytes += bytes;
	return 0;
}

/* Is there a sum over the data of the whole file? */
static bool
has_whole(const struct fti_file *f)
{
	return f->kind == FTI_KIND_PARITY ||
	       (f->kind == FTI_KIND_DATA && !fti_format(f->layout)->footer);
}

static int
add_tasks(struct run *r, struct fti_checked *c, struct error *err)
{
	const struct fti_file *f = c->file;
	int rc = 0;

	/* The longest task first. */
	if (has_whole(f))
		rc = add_task(r, c, WHOLE, f->size);
	for (size_t i = 0; i < f->ncontainers && rc == 0; i++)
		if (is_inside(f, &f->containers[i].c))
			rc = add_task(r, c, i,
				      (uint64_t)f->containers[i].c.used);
	return rc < 0 ? error_no_memory(err) : 0;
}

static int
start(struct run *r, struct error *err)
{
	r->nworkers = par_threads(r->w->par);
	r->hashes = mem_calloc(r->nworkers, sizeof(struct hash *));
	if (r->hashes == NULL)
		return error_no_memory(err);
	for (unsigned i = 0; i < r->nworkers; i++) {
		r->hashes[i] = hash_new(HASH_MD5, err);
		if (r->hashes[i] == NULL)
			return -1;
	}
	return 0;
}

/* Without `data` believe the stored sums. */
static int
add_file(struct run *r, struct fti_checked *c, bool data, struct error *err)
{
	const struct fti_file *f = c->file;

	c->data_read = data;
	if (c->posix != NULL) {
		c->file = fti_file_new(c->source, err);
		if (c->file == NULL)
			return -1;
		return add_task(r, c, WHOLE, data ? c->source->size : 0) < 0
			       ? error_no_memory(err)
			       : 0;
	}
	c->sums = mem_calloc(f->ncontainers + 1, sizeof(*c->sums));
	if (c->sums == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < f->ncontainers && !data; i++)
		memcpy(c->sums[i], f->containers[i].c.hash, HASH_MD5_SIZE);
	return data ? add_tasks(r, c, err) : 0;
}

int
fti_check(struct fti_checked *files, size_t count, bool data,
	  const struct work *w, struct error *err)
{
	struct run r = { .w = work_or_default(w) };
	struct hash *h = NULL;
	int rc = start(&r, err);

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = add_file(&r, &files[i], data, err);
	if (rc == 0 && r.count > 0) {
		progress_phase(r.w->progress, "verifying", r.bytes);
		rc = par_for(r.w->par, r.count, 0, run_task, &r, err);
	}
	for (size_t i = 0; i < r.count && rc == 0; i++) {
		struct task *t = &r.tasks[i];

		if (t->unread == NULL || t->c->unread != NULL)
			continue;
		t->c->unread = t->unread;
		t->unread = NULL;
	}
	h = rc == 0 ? hash_new(HASH_MD5, err) : NULL;
	if (h == NULL)
		rc = -1;
	for (size_t i = 0; i < count && rc == 0; i++)
		if (files[i].posix == NULL)
			rc = fti_judge(&files[i], h, err);
	hash_free(h);
	for (unsigned i = 0; r.hashes != NULL && i < r.nworkers; i++)
		hash_free(r.hashes[i]);
	for (size_t i = 0; i < r.count; i++)
		mem_free(r.tasks[i].unread);
	mem_free(r.hashes);
	mem_free(r.tasks);
	return rc;
}

void
fti_checked_fini(struct fti_checked *c)
{
	if (c->posix != NULL)
		fti_file_free(c->file);
	mem_free(c->sums);
	mem_free(c->unread);
	c->sums = NULL;
	c->unread = NULL;
}
