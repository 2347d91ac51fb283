/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/varfile.h"

#include "fti/content.h"
#include "fti/write.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "room.h"
#include "stream.h"
#include "transfer/put.h"
#include "work.h"

/* Bytes at a time, and of a task. */
#define STEP ((size_t)1 << 20)
#define TASK (64 * (uint64_t)STEP)
#define PAGE ((size_t)4096)

struct run {
	const struct fti_varfile *list;
	const struct work *w;
	struct put *put;
	/* The first task of each file, and the number of all at the end. */
	size_t *first, count;
	unsigned char *memory; /* STEP bytes for each worker */
	uint64_t bytes;
};

static int
run_task(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct run *r = arg;
	const struct fti_varfile *x = NULL;
	struct put_file *to = NULL;
	unsigned char *buf = r->memory + worker * STEP;
	uint64_t begin = 0, end = 0;
	size_t low = 0, high = r->count, n = 0;
	int fd = -1;

	/* Its file is the last one that begins with `i` or before: empty ones
	 * have no task. */
	while (high - low > 1) {
		const size_t mid = low + (high - low) / 2;

		if (r->first[mid] <= i)
			low = mid;
		else
			high = mid;
	}
	x = &r->list[low];
	to = put_at(r->put, low);
	begin = (i - r->first[low]) * TASK;
	end = x->len - begin < TASK ? x->len : begin + TASK;
	fd = put_open(to, err);
	if (fd < 0)
		return -1;
	for (uint64_t at = begin; at < end; at += n) {
		/* Up to the end of a page of the file: zeros become holes. */
		n = STEP - (size_t)((x->head_size + at) % PAGE);
		n = end - at < n ? (size_t)(end - at) : n;
		if (work_go_on(r->w, err) < 0 ||
		    fti_content_read(x->content, x->var, buf, n, x->off + at,
				     err) < 0 ||
		    put_pwrite(to, fd, buf, n, x->head_size + at, err) < 0)
			return -1;
		progress_add(r->w->progress, n);
	}
	return put_wrote(to, end - begin, err);
}

int
fti_varfiles_write(int dirfd, const struct fti_varfile *list, size_t count,
		   bool replace, const struct work *w, struct error *err)
{
	struct run r = { .list = list,
			 .count = count,
			 .w = work_or_default(w) };
	const struct put_options o = { .par = r.w->par, .work = r.w };
	int rc = 0;

	r.first = mem_calloc(count + 1, sizeof(*r.first));
	r.put = put_new(&o, NULL);
	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct fti_varfile *x = &list[i];
		const struct put_what what = {
			.kind = PUT_FILE,
			.dirfd = dirfd,
			.path = x->path,
			.size = x->head_size + x->len,
			.image = x->head,
			.image_size = x->head_size,
			.replaces = replace,
		};

		rc = fti_check_output(dirfd, x->path, x->path, replace, err);
		r.first[i + 1] =
			r.first[i] + (size_t)((x->len + TASK - 1) / TASK);
		r.bytes += x->head_size + x->len;
		put_add(r.put, &what, NULL);
	}
	if (rc == 0)
		rc = room_check(dirfd, r.bytes, "the files", err);
	if (rc == 0 && !r.w->dry_run) {
		r.memory = mem_aligned(PAGE, par_threads(r.w->par) * STEP);
		rc = put_clear(r.put, err);
		if (rc == 0)
			progress_phase(r.w->progress, "writing", r.bytes);
		if (rc < 0 ||
		    par_for(r.w->par, r.first[count], 0, run_task, &r, err) <
			    0 ||
		    work_go_on(r.w, err) < 0 || put_commit(r.put, err) < 0)
			rc = room_explain(dirfd, r.bytes, err);
	}
	put_free(r.put);
	mem_free(r.memory);
	mem_free(r.first);
	return rc;
}

/* --- To a descriptor --- */

int
fti_varfile_stream(int fd, const struct fti_varfile *x, const struct work *w,
		   struct error *err)
{
	unsigned char *buf = mem_aligned(PAGE, STEP);
	const struct work *work = work_or_default(w);
	int rc = 0;
	size_t n = 0;

	progress_phase(work->progress, "writing", x->len);
	if (x->head_size > 0)
		rc = stream_put(fd, x->head, x->head_size, work->stop, err);
	for (uint64_t at = 0; at < x->len && rc == 0; at += n) {
		n = x->len - at < STEP ? (size_t)(x->len - at) : STEP;
		rc = work_go_on(work, err) < 0 ||
				     fti_content_read(x->content, x->var, buf,
						      n, x->off + at, err) < 0
			     ? -1
			     : stream_put(fd, buf, n, work->stop, err);
		progress_add(work->progress, n);
	}
	mem_free(buf);
	return rc < 0 ? -1 : 0;
}
