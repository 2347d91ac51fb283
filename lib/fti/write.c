/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "error.h"
#include "fti/content.h"
#include "fti/draft.h"
#include "fti/input.h"
#include "hash.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "room.h"
#include "transfer/put.h"
#include "work.h"

/* Bytes at a time: they stay in the cache of a core until they are summed and
 * written.  Blocks end at pages, so that the kernel copies whole ones. */
#define STEP ((size_t)256 << 10)
#define PAGE ((size_t)4096)

struct file {
	const struct fti_job *job;
	struct put_file *put;
	atomic_size_t left; /* containers that are not written yet */
};

struct task {
	struct file *file;
	size_t container;
};

struct worker {
	struct hash *hash;
	unsigned char *buf;
};

struct run {
	const struct work *w;
	struct put *put;
	struct file *files;
	struct task *tasks;
	size_t count; /* of tasks */
	struct worker *workers;
	unsigned nworkers;
	uint64_t bytes, room;
};

/* --- Bytes --- */

/* Sum the bytes in use of a container.  With `fd` also write them. */
static int
pass(const struct run *r, struct worker *w, const struct file *f, size_t i,
     int fd, struct error *err)
{
	const struct fti_draft_container *c = &f->job->draft->containers[i];
	uint64_t done = 0;

	while (done < (uint64_t)c->c.used) {
		const uint64_t left = (uint64_t)c->c.used - done;
		const uint64_t at = c->c.fptr + done;
		size_t n = STEP - (size_t)(at % PAGE);

		n = left < n ? (size_t)left : n;
		if (work_go_on(r->w, err) < 0 ||
		    fti_content_read(c->content, c->var, w->buf, n,
				     c->c.dptr + done, err) < 0 ||
		    hash_update(w->hash, w->buf, n, err) < 0 ||
		    (fd >= 0 && put_pwrite(f->put, fd, w->buf, n, at, err) < 0))
			return -1;
		progress_add(r->w->progress, n);
		done += n;
	}
	return 0;
}

static int
add_zeros(struct worker *w, uint64_t len, struct error *err)
{
	memset(w->buf, 0, len < STEP ? (size_t)len : STEP);
	while (len > 0) {
		const size_t n = len < STEP ? (size_t)len : STEP;

		if (hash_update(w->hash, w->buf, n, err) < 0)
			return -1;
		len -= n;
	}
	return 0;
}

/* --- The end of a file --- */

/* Write the records of each block, and in A sum them with the containers. */
static int
end_blocks(const struct run *r, struct worker *w, const struct file *f, int fd,
	   struct error *err)
{
	const struct fti_draft *d = f->job->draft;
	const bool all = !d->raw && d->layout == FTI_A;
	const bool data = d->raw || !fti_format(d->layout)->footer;
	int rc = 0;

	for (size_t b = 0; b < d->nblocks && rc == 0; b++) {
		const size_t len = fti_draft_records_size(d, b);
		unsigned char *records = mem_alloc(len + 1, 1);

		if (records == NULL)
			return error_no_memory(err);
		if (!d->raw) {
			fti_draft_records(d, b, records);
			rc = put_pwrite(f->put, fd, records, len,
					d->blocks[b].at, err);
		}
		if (rc == 0 && all)
			rc = hash_update(w->hash, records, len, err);
		mem_free(records);
		for (size_t i = d->blocks[b].first;
		     data && rc == 0 && i < fti_draft_block_end(d, b); i++) {
			const struct fti_container *c = &d->containers[i].c;

			rc = pass(r, w, f, i, -1, err);
			if (rc == 0 && all)
				rc = add_zeros(w, (uint64_t)(c->size - c->used),
					       err);
		}
	}
	return rc;
}

/* The checksum of the file, after end_blocks(). */
static int
end_checksum(struct worker *w, const struct fti_draft *d, char *to,
	     struct error *err)
{
	const bool sums = !d->raw && fti_format(d->layout)->footer;

	for (size_t i = 0; sums && i < d->ncontainers; i++)
		if (d->containers[i].c.has_content != 0 &&
		    hash_update(w->hash, d->containers[i].c.hash, HASH_MD5_SIZE,
				err) < 0)
			return -1;
	return hash_text(w->hash, to, err);
}

/* Write the metadata.  A file that would end in a hole gets its last byte. */
static int
end_meta(const struct fti_draft *d, struct put_file *put, int fd,
	 struct error *err)
{
	const struct fti_format *format = NULL;
	const struct fti_container *last = NULL;
	unsigned char record[FTI_META_MAX];

	if (!d->raw) {
		format = fti_format(d->layout);
		fti_meta_write(d->layout, &d->meta, record);
		if (put_pwrite(put, fd, record, format->meta,
			       format->footer ? d->size - format->meta : 0,
			       err) < 0)
			return -1;
		if (format->footer)
			return 0;
	}
	last = d->ncontainers > 0 ? &d->containers[d->ncontainers - 1].c : NULL;
	return last == NULL || last->used == last->size
		       ? 0
		       : put_pwrite(put, fd, "", 1, d->size - 1, err);
}

/* All containers are written. */
static int
end_file(const struct run *r, struct worker *w, struct file *f,
	 struct error *err)
{
	struct fti_draft *d = f->job->draft;
	char checksum[HASH_TEXT];
	const int fd = put_open(f->put, err);

	if (fd < 0 || end_blocks(r, w, f, fd, err) < 0 ||
	    end_checksum(w, d, checksum, err) < 0 ||
	    fti_draft_meta(d, checksum, w->hash, err) < 0 ||
	    end_meta(d, f->put, fd, err) < 0)
		return -1;
	return put_wrote(f->put, d->size, err);
}

/* --- A container --- */

static int
write_container(const struct run *r, struct worker *w, const struct task *t,
		struct error *err)
{
	struct file *f = t->file;
	struct fti_draft_container *c =
		&f->job->draft->containers[t->container];
	const bool empty = c->c.used == 0;
	const int fd = empty ? -1 : put_open(f->put, err);

	if ((fd < 0 && !empty) || pass(r, w, f, t->container, fd, err) < 0 ||
	    hash_sum(w->hash, c->c.hash, err) < 0)
		return -1;
	if (c->expected != NULL &&
	    memcmp(c->expected, c->c.hash, HASH_MD5_SIZE) != 0)
		return error_set(err, ERROR_CORRUPT,
				 "%s: variable %" PRId32
				 " changed after it was checked",
				 c->content->source->name, c->c.id);
	/* end_file() counts the bytes: only then is the file full. */
	return empty ? 0 : put_wrote(f->put, 0, err);
}

static int
run_task(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct run *r = arg;
	const struct task *t = &r->tasks[i];
	struct worker *w = &r->workers[worker];

	if (work_go_on(r->w, err) < 0 ||
	    (t->container != SIZE_MAX && write_container(r, w, t, err) < 0))
		return -1;
	if (atomic_fetch_sub(&t->file->left, 1) > 1)
		return 0;
	return end_file(r, w, t->file, err);
}

/* --- All files --- */

static int
check_name(const struct fti_job *j, struct error *err)
{
	struct stat st;

	if (fstatat(j->dirfd, j->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_sys(err, "%s: cannot stat", j->path);
	if (!j->replace)
		return error_set(err, ERROR_USAGE, "%s: exists already",
				 j->path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_USAGE, "%s: is not a regular file",
				 j->path);
	return 0;
}

static int
plan(struct run *r, const struct fti_job *jobs, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct fti_draft *d = jobs[i].draft;
		const bool twice = d->raw || !fti_format(d->layout)->footer;

		if (fti_draft_plan(d, err) < 0)
			return error_wrap(err, "%s", jobs[i].path);
		if (check_name(&jobs[i], err) < 0)
			return -1;
		r->count += d->ncontainers > 0 ? d->ncontainers : 1;
		r->bytes += twice ? 2 * d->live : d->live;
		r->room += d->live + d->meta_size;
	}
	return 0;
}

static int
add_file(struct run *r, size_t i, const struct fti_job *j, size_t *tasks,
	 struct error *err)
{
	const struct put_what what = {
		.kind = PUT_FILE,
		.dirfd = j->dirfd,
		.path = j->path,
		.size = j->draft->size,
		.attr = j->attr,
		.replaces = j->replace,
	};
	const size_t n = j->draft->ncontainers;
	struct file *f = &r->files[i];

	f->job = j;
	f->put = put_add(r->put, &what, err);
	atomic_init(&f->left, n > 0 ? n : 1);
	if (f->put == NULL)
		return -1;
	if (n == 0)
		r->tasks[(*tasks)++] = (struct task){ f, SIZE_MAX };
	for (size_t k = 0; k < n; k++)
		r->tasks[(*tasks)++] = (struct task){ f, k };
	return 0;
}

static int
start(struct run *r, const struct fti_job *jobs, size_t count,
      struct error *err)
{
	const struct put_options o = { .par = r->w->par, .work = r->w };
	size_t tasks = 0;

	r->nworkers = par_threads(r->w->par);
	r->workers = mem_calloc(r->nworkers, sizeof(*r->workers));
	r->files = mem_calloc(count + 1, sizeof(*r->files));
	r->tasks = mem_calloc(r->count + 1, sizeof(*r->tasks));
	if (r->workers == NULL || r->files == NULL || r->tasks == NULL)
		return error_no_memory(err);
	r->put = put_new(&o, err);
	if (r->put == NULL)
		return -1;
	for (unsigned i = 0; i < r->nworkers; i++) {
		r->workers[i].hash = hash_new(HASH_MD5, err);
		if (r->workers[i].hash == NULL)
			return -1;
		r->workers[i].buf = mem_aligned(PAGE, STEP);
		if (r->workers[i].buf == NULL)
			return error_no_memory(err);
	}
	for (size_t i = 0; i < count; i++)
		if (add_file(r, i, &jobs[i], &tasks, err) < 0)
			return -1;
	return put_clear(r->put, err);
}

static void
end(struct run *r)
{
	put_free(r->put);
	for (unsigned i = 0; r->workers != NULL && i < r->nworkers; i++) {
		hash_free(r->workers[i].hash);
		mem_free(r->workers[i].buf);
	}
	mem_free(r->workers);
	mem_free(r->files);
	mem_free(r->tasks);
}

int
fti_write(const struct fti_job *jobs, size_t count, const struct work *w,
	  struct error *err)
{
	struct run r = { .w = work_or_default(w) };
	int rc = plan(&r, jobs, count, err);

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = room_check(jobs[i].dirfd, r.room, "the files", err);
	if (rc < 0 || r.w->dry_run)
		return rc;
	rc = start(&r, jobs, count, err);
	if (rc == 0) {
		progress_phase(r.w->progress, "writing", r.bytes);
		rc = par_for(r.w->par, r.count, 0, run_task, &r, err);
	}
	if (rc == 0)
		rc = work_go_on(r.w, err);
	if (rc == 0)
		rc = put_commit(r.put, err);
	if (rc < 0 && count > 0)
		(void)room_explain(jobs[0].dirfd, r.room, err);
	end(&r);
	return rc;
}
