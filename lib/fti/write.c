/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "fti/draft.h"
#include "fti/input.h"
#include "hash.h"
#include "map.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "room.h"
#include "stream.h"
#include "transfer/put.h"
#include "work.h"

/* Bytes at a time: they stay in the cache of a core until they are summed and
 * written.  Blocks end at pages, so that the kernel copies whole ones. */
#define STEP ((size_t)256 << 10)
#define PAGE ((size_t)4096)

struct file {
	struct fti_job job;
	struct put_file *put;
};

/* The sums of a thread: of a container, and of the file. */
struct sums {
	struct hash *container, *file;
	unsigned char *buf; /* of STEP bytes */
};

struct fti_writer {
	const struct work *w;
	struct put *put;
	struct file *files;
	size_t count, room_files;
	size_t first;	   /* of the current batch */
	struct map *names; /* that files will have */
	struct arena *arena;
	struct sums *sums; /* of each worker */
	unsigned nworkers;
	unsigned char *memory; /* STEP bytes for each worker */
	uint64_t bytes, room;  /* of all that is planned */
};

/* --- A file --- */

/* Sum the bytes in use of a container, by the sums that are not NULL.  With
 * `fd`, which may be -1, also write them. */
static int
pass(const struct fti_writer *r, const struct file *f, size_t i, int fd,
     const struct sums *sums, struct error *err)
{
	const struct fti_draft_container *c = &f->job.draft->containers[i];
	unsigned char *buf = sums->buf;
	uint64_t done = 0;

	while (done < (uint64_t)c->c.used) {
		const uint64_t left = (uint64_t)c->c.used - done;
		const uint64_t at = c->c.fptr + done;
		size_t n = STEP - (size_t)(at % PAGE);

		n = left < n ? (size_t)left : n;
		if (work_go_on(r->w, err) < 0 ||
		    fti_content_read(c->content, c->var, buf, n,
				     c->c.dptr + done, err) < 0 ||
		    (fd >= 0 && put_pwrite(f->put, fd, buf, n, at, err) < 0))
			return -1;
		if (sums->container != NULL)
			hash_update(sums->container, buf, n);
		if (sums->file != NULL)
			hash_update(sums->file, buf, n);
		work_moved(r->w, n);
		done += n;
	}
	return 0;
}
/* Write a file, or the text that is one. */
static int
write_file(void *arg, size_t number, unsigned worker, struct error *err)
{
	const struct fti_writer *r = arg;
	struct file *f = &r->files[r->first + number];
	struct fti_draft *d = f->job.draft;
	const struct buf *text = f->job.text;
	const struct sums *sums = &r->sums[worker];
	unsigned char *buf = r->memory + worker * STEP;
	const struct fti_format *format = NULL;
	bool footer = false, all = false;
	struct sums of = { .buf = buf };
	const struct fti_container *last = NULL;
	unsigned char record[FTI_META_MAX];
	char checksum[HASH_TEXT];
	int fd = -1;

	if (work_go_on(r->w, err) < 0)
		return -1;
	if (text != NULL)
		return put_write(f->put, text->data, text->len, 0, err);
	fd = put_open(f->put, err);
	if (fd < 0)
		return -1;
	format = d->raw ? NULL : fti_format(d->layout);
	footer = format != NULL && format->footer;
	all = format != NULL && d->layout == FTI_A;
	if (!d->plain)
		of.container = sums->container;
	if (!d->plain && !footer && !all)
		of.file = sums->file;
	for (size_t i = 0; i < d->ncontainers; i++) {
		struct fti_draft_container *c = &d->containers[i];

		if (pass(r, f, i, fd, &of, err) < 0)
			return -1;
		last = &c->c;
		if (d->plain)
			continue;
		hash_sum(sums->container, c->c.hash);
		if (c->expected != NULL &&
		    memcmp(c->expected, c->c.hash, HASH_MD5_SIZE) != 0)
			return error_set(err, ERROR_CORRUPT,
					 "%s: variable %" PRId32
					 " changed after it was checked",
					 c->content->source->name, c->c.id);
		if (footer && c->c.has_content != 0)
			hash_update(sums->file, c->c.hash, HASH_MD5_SIZE);
	}
	/* Write the records of each block; the sum of A is over them and what
	 * follows them. */
	of = (struct sums){ .file = sums->file, .buf = buf };
	for (size_t b = 0; format != NULL && b < d->nblocks; b++) {
		const size_t len = fti_draft_records_size(d, b);
		unsigned char *records = mem_alloc(len, 1);
		int rc = 0;

		fti_draft_records(d, b, records);
		rc = put_pwrite(f->put, fd, records, len, d->blocks[b].at, err);
		if (all)
			hash_update(sums->file, records, len);
		mem_free(records);
		for (size_t i = d->blocks[b].first;
		     rc == 0 && all && i < fti_draft_block_end(d, b); i++) {
			const struct fti_container *c = &d->containers[i].c;
			uint64_t left = (uint64_t)(c->size - c->used);

			rc = pass(r, f, i, -1, &of, err);
			/* The bytes that are not in use are zeros. */
			memset(buf, 0, left < STEP ? (size_t)left : STEP);
			for (size_t n = 0; left > 0; left -= n) {
				n = left < STEP ? (size_t)left : STEP;
				hash_update(sums->file, buf, n);
			}
		}
		if (rc < 0)
			return -1;
	}
	hash_text(sums->file, checksum);
	fti_draft_meta(d, checksum, sums->container);
	if (format != NULL) {
		fti_record_write(d->layout, FTI_META, &d->meta, record);
		if (put_pwrite(f->put, fd, record, format->meta,
			       footer ? d->size - format->meta : 0, err) < 0)
			return -1;
	}
	/* A file that would end in a hole gets its last byte. */
	if (!footer && last != NULL && last->used != last->size &&
	    put_pwrite(f->put, fd, "", 1, d->size - 1, err) < 0)
		return -1;
	return put_wrote(f->put, d->size, err);
}

/* --- All files --- */

static const char *
name_of(const struct fti_job *j)
{
	return j->name != NULL ? j->name : j->path;
}

/* May a file get the name?  ERROR_USAGE: something else has it, or a file that
 * is not replaced. */
static int
check_name(int dirfd, const char *path, const char *name, bool replace,
	   struct error *err)
{
	struct stat st;

	if (fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_sys(err, "%s: cannot stat", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_USAGE, "%s: is not a regular file",
				 name);
	return replace ? 0
		       : error_set(err, ERROR_USAGE, "%s: exists already",
				   name);
}

int
fti_writer_add(struct fti_writer *r, const struct fti_job *j, struct error *err)
{
	const struct fti_draft *d = j->draft;
	const struct put_what what = {
		.kind = j->text != NULL ? PUT_DESCRIPTOR : PUT_FILE,
		.dirfd = j->dirfd,
		.path = j->path,
		.attr = j->attr,
		.image = d == NULL ? NULL : d->head,
		.image_size = d == NULL ? 0 : d->head_size,
		.replaces = j->replace,
	};
	struct file *f = NULL;
	const char *key = NULL;

	if (d != NULL && fti_draft_plan(j->draft, err) < 0)
		return error_wrap(err, "%s", name_of(j));
	(void)MEM_ROOM(r->files, r->count, r->room_files);
	f = &r->files[r->count];
	*f = (struct file){ .job = *j };
	/* Tell the engine the name, if it is free, and given once; nothing is
	 * written. */
	key = arena_printf(r->arena, "%d:%s", j->dirfd, j->path);
	if (map_get(r->names, key) != MAP_NONE)
		return error_set(err, ERROR_USAGE,
				 "%s: two files would get this name",
				 name_of(j));
	map_put(r->names, key, r->count);
	if (check_name(j->dirfd, j->path, name_of(j), j->replace, err) < 0)
		return -1;
	f->put = put_add(r->put, &what, NULL);
	r->count++;
	if (d == NULL)
		return 0;
	/* The sum of A takes a second reading. */
	r->bytes += d->live * (!d->raw && d->layout == FTI_A ? 2 : 1);
	r->room += d->live + d->meta_size;
	return 0;
}

struct fti_writer *
fti_writer_new(const struct work *w)
{
	struct fti_writer *r = mem_calloc(1, sizeof(*r));
	/* Nobody locks the directory of an output. */
	struct put_options o = { .unlocked = true };

	r->w = work_or_default(w);
	o.par = r->w->par;
	o.work = r->w;
	r->arena = arena_new();
	r->names = map_new();
	r->put = put_new(&o, NULL);
	return r;
}

int
fti_writer_room(const struct fti_writer *r, struct error *err)
{
	for (size_t i = 0; i < r->count; i++)
		if ((i == 0 ||
		     r->files[i].job.dirfd != r->files[i - 1].job.dirfd) &&
		    room_check(r->files[i].job.dirfd, r->room, "the files",
			       err) < 0)
			return -1;
	return 0;
}

int
fti_writer_run(struct fti_writer *r, size_t first, size_t count,
	       struct error *err)
{
	int rc = 0;

	/* Before the first batch. */
	if (r->nworkers == 0) {
		if (fti_writer_room(r, err) < 0)
			return -1;
		r->nworkers = par_threads(r->w->par);
		r->sums = mem_calloc(r->nworkers, sizeof(*r->sums));
		r->memory = mem_aligned(PAGE, r->nworkers * STEP);
		for (unsigned i = 0; i < r->nworkers; i++)
			r->sums[i] =
				(struct sums){ hash_new(HASH_MD5, err),
					       hash_new(HASH_MD5, err), NULL };
		progress_phase(r->w->progress, "writing", r->bytes);
		rc = put_clear(r->put, err);
	}
	for (size_t i = first; rc == 0 && i < first + count; i++) {
		const struct fti_job *j = &r->files[i].job;

		if (j->text == NULL)
			rc = fti_draft_plan(j->draft, err);
		put_what(r->files[i].put)->size =
			j->text == NULL ? j->draft->size : j->text->len;
	}
	r->first = first;
	if (rc == 0)
		rc = par_for(r->w->par, count, 0, write_file, r, err);
	if (rc < 0 && r->count > 0)
		(void)room_explain(r->files[0].job.dirfd, r->room, err);
	return rc;
}

int
fti_writer_commit(struct fti_writer *r, struct error *err)
{
	int rc = work_go_on(r->w, err);

	if (rc == 0)
		rc = put_commit(r->put, err);
	if (rc < 0 && r->count > 0)
		(void)room_explain(r->files[0].job.dirfd, r->room, err);
	return rc;
}

void
fti_writer_free(struct fti_writer *r)
{
	if (r == NULL)
		return;
	put_free(r->put);
	for (unsigned i = 0; i < r->nworkers; i++) {
		hash_free(r->sums[i].container);
		hash_free(r->sums[i].file);
	}
	mem_free(r->memory);
	map_free(r->names);
	arena_free(r->arena);
	mem_free(r->sums);
	mem_free(r->files);
	mem_free(r);
}

int
fti_stream(const struct fti_draft *d, int fd, const struct work *w,
	   struct error *err)
{
	unsigned char *buf = mem_aligned(PAGE, STEP);
	const struct work *work = work_or_default(w);
	int rc = 0;

	progress_phase(work->progress, "writing", d->live);
	if (d->head_size > 0)
		rc = stream_put(fd, d->head, d->head_size, work->stop, err);
	for (size_t i = 0; i < d->ncontainers; i++) {
		const struct fti_draft_container *c = &d->containers[i];
		const uint64_t used = (uint64_t)c->c.used;
		size_t n = 0;

		for (uint64_t at = 0; at < used && rc == 0; at += n) {
			n = used - at < STEP ? (size_t)(used - at) : STEP;
			rc = work_go_on(work, err) < 0 ||
					     fti_content_read(
						     c->content, c->var, buf, n,
						     c->c.dptr + at, err) < 0
				     ? -1
				     : stream_put(fd, buf, n, work->stop, err);
			work_moved(work, n);
		}
	}
	mem_free(buf);
	return rc < 0 ? -1 : 0;
}
