/* SPDX-License-Identifier: BSD-3-Clause */
#include "rescue/listed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "container/segmap.h"
#include "error.h"
#include "mem.h"
#include "meta/dataset.h"
#include "meta/rank2file.h"
#include "par.h"
#include "path.h"
#include "progress.h"
#include "str.h"
#include "transfer/transfer.h"
#include "work.h"

/* Number of files per work item of stat. */
#define STAT_BATCH 64

/* Buffer size for a path in a message. */
#define SHOWN_MAX 512

int
listed_from(const struct rank2file *r, int dirfd, struct listed *out,
	    struct error *err)
{
	const bool packed = segmap_is_packed(r);
	size_t n = 0;

	out->count = 0;
	out->dirfd = dirfd;
	for (size_t i = 0; i < r->nranks; i++)
		n += r->ranks[i].nfiles;
	out->list = mem_calloc(n > 0 ? n : 1, sizeof(*out->list));
	if (out->list == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < r->nranks; i++) {
		for (size_t k = 0; k < r->ranks[i].nfiles; k++) {
			const struct rank2file_file *f = &r->ranks[i].files[k];

			out->list[out->count++] = (struct listed_file){
				.path = f->path,
				.rank = (uint32_t)i,
				.has_size = f->has_size,
				.has_crc = f->has_crc,
				.may_lack =
					packed && f->has_size && f->size == 0,
				.size = f->size,
				.crc = f->crc,
				.nsegs = f->nsegs,
				.segs = f->segs,
			};
		}
	}
	return 0;
}

void
listed_free(struct listed *f)
{
	mem_free(f->list);
	f->list = NULL;
	f->count = 0;
}

/* --- Check --- */

struct worker {
	struct pathcache *cache;
	/* The container looked up last.  The next file is usually in the same
	 * one. */
	const char *container;
	uint64_t size;
};

struct checker {
	struct listed_file *list;
	int prefix_fd;
	int dirfd; /* of containers */
	struct worker *workers;
	const struct work *work;
};

/* Set the state of the file that follows from an error.  Return -1 for errors
 * that do not concern the file itself (EIO, EACCES, no memory). */
static int
state_of_error(struct listed_file *f, struct error *why, struct error *err)
{
	if (why->kind == ERROR_ABSENT || why->errnum == ENOTDIR) {
		f->state = FILE_MISSING;
		return 0;
	}
	if (why->kind == ERROR_UNSAFE || why->errnum == ENAMETOOLONG) {
		f->state = FILE_WRONG_TYPE;
		f->unsafe = true;
		return 0;
	}
	return error_pass(err, why);
}

/* Look up the size of a container in w->size; 0: it is missing. */
static int
container_size(struct checker *k, const char *name, struct worker *w,
	       struct error *err)
{
	struct error why = ERROR_INIT;
	struct stat st;

	if (w->container != NULL && str_eq(w->container, name))
		return 0;
	w->container = name;
	w->size = 0;
	if (path_stat_beneath(k->dirfd, name, &st, &why) == 0) {
		if (S_ISREG(st.st_mode))
			w->size = (uint64_t)st.st_size;
		return 0;
	}
	if (why.kind == ERROR_ABSENT || why.kind == ERROR_UNSAFE ||
	    why.errnum == ENOTDIR)
		return 0;
	return error_pass(err, &why);
}

/* Check that all segments of a packed file lie within their containers. */
static int
stat_packed(struct checker *k, struct listed_file *f, struct worker *w,
	    struct error *err)
{
	f->found_size = 0;
	f->state = FILE_PRESENT;
	for (size_t i = 0; i < f->nsegs; i++) {
		const struct rank2file_seg *s = &f->segs[i];

		if (container_size(k, s->file, w, err) < 0)
			return -1;
		if (s->len > w->size || s->off > w->size - s->len)
			f->state = FILE_MISSING;
		f->found_size += s->len;
	}
	if (f->has_size && f->size != f->found_size)
		f->state = FILE_WRONG_SIZE;
	return 0;
}

static int
stat_one(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct checker *k = arg;
	struct listed_file *f = &k->list[i];
	struct error why = ERROR_INIT;
	struct stat st;

	if (f->nsegs > 0)
		return stat_packed(k, f, &k->workers[worker], err);
	if (pathcache_stat(k->workers[worker].cache, f->path, &st, &why) < 0) {
		if (f->may_lack && why.kind == ERROR_ABSENT) {
			f->state = FILE_PRESENT;
			return 0;
		}
		return state_of_error(f, &why, err);
	}
	f->may_lack = false;
	f->found_size = (uint64_t)st.st_size;
	f->unreadable = (st.st_mode & S_IRUSR) == 0;
	f->state = file_state_of(&st, f->has_size ? &f->size : NULL);
	return 0;
}

/* The files to be summed, one after the other. */
struct summing {
	struct checker *k;
	struct stripe files;
	struct stripe_sum *sums; /* by file */
	uint64_t len;
};

static void
add_range(struct summing *s, int dirfd, const struct rank2file_seg *at,
	  size_t file)
{
	if (at->len == 0)
		return;
	s->files.parts[s->files.nparts++] = (struct stripe_part){
		.start = s->len,
		.len = at->len,
		.dirfd = dirfd,
		.path = at->file,
		.off = at->off,
		.sum = file,
		.sum_off = s->sums[file].size,
	};
	s->sums[file].size += at->len;
	s->len += at->len;
}

static int
list_files(struct summing *s, size_t count, struct error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += 1 + s->k->list[i].nsegs;
	s->sums = mem_calloc(count + 1, sizeof(*s->sums));
	s->files.parts = mem_calloc(n + 1, sizeof(*s->files.parts));
	if (s->sums == NULL || s->files.parts == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		struct listed_file *f = &s->k->list[i];
		const struct rank2file_seg whole = { f->path, 0,
						     f->found_size };

		f->summed = !f->may_lack && f->state == FILE_PRESENT;
		if (!f->summed)
			continue;
		if (f->nsegs == 0)
			add_range(s, s->k->prefix_fd, &whole, i);
		for (size_t g = 0; g < f->nsegs; g++)
			add_range(s, s->k->dirfd, &f->segs[g], i);
	}
	return 0;
}

/* Read the files that are there, and compare their checksums. */
static int
sum_files(struct checker *k, size_t count, struct error *err)
{
	struct summing s = { .k = k };
	struct transfer_options t = { .work = k->work };
	int rc = list_files(&s, count, err);

	if (rc == 0) {
		t.sums = s.sums;
		progress_phase(k->work->progress, "comparing checksums", s.len);
		rc = transfer(&s.files, NULL, s.len, &t, err);
	}
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct listed_file *f = &k->list[i];

		if (!f->summed)
			continue;
		f->found_crc = s.sums[i].crc;
		if (f->has_crc && f->crc != f->found_crc)
			f->state = FILE_WRONG_CRC;
	}
	mem_free(s.sums);
	mem_free(s.files.parts);
	return rc;
}

int
listed_check(int prefix_fd, struct listed *f, bool sum, const struct work *work,
	     struct error *err)
{
	struct checker k = {
		.list = f->list,
		.prefix_fd = prefix_fd,
		.dirfd = f->dirfd,
		.work = work,
	};
	const unsigned n = par_threads(work->par);
	int rc = 0;

	k.workers = mem_calloc(n, sizeof(*k.workers));
	if (k.workers == NULL)
		return error_no_memory(err);
	for (unsigned i = 0; i < n; i++) {
		struct worker *w = &k.workers[i];

		w->cache = pathcache_new(prefix_fd);
		if (w->cache == NULL)
			rc = error_no_memory(err);
	}
	if (rc == 0)
		rc = par_for(work->par, f->count, STAT_BATCH, stat_one, &k,
			     err);
	for (unsigned i = 0; i < n; i++)
		pathcache_free(k.workers[i].cache);
	mem_free(k.workers);
	return rc == 0 && sum ? sum_files(&k, f->count, err) : rc;
}

/* --- Results --- */

const char *
listed_problem(const struct listed_file *f, char *to, size_t size)
{
	char path[SHOWN_MAX];

	str_printable(path, sizeof(path), f->path);
	if (f->unsafe)
		snprintf(to, size,
			 "%s: not a path below the prefix, or a link leads out "
			 "of it (rank %" PRIu32 ")",
			 path, f->rank);
	else if (f->state == FILE_WRONG_SIZE)
		snprintf(to, size,
			 "%s: %" PRIu64 " bytes, should be %" PRIu64
			 " (rank %" PRIu32 ")",
			 path, f->found_size, f->size, f->rank);
	else if (f->state == FILE_PRESENT && f->unreadable)
		snprintf(to, size,
			 "%s: its mode does not let its owner read it (rank "
			 "%" PRIu32 ")",
			 path, f->rank);
	else
		snprintf(to, size, "%s: %s (rank %" PRIu32 ")", path,
			 file_state_name(f->state), f->rank);
	return to;
}

void
listed_tally(const struct listed *f, struct listed_tally *t)
{
	*t = (struct listed_tally){ .files = f->count };
	for (size_t i = 0; i < f->count; i++) {
		const struct listed_file *e = &f->list[i];

		if (e->state != FILE_PRESENT) {
			t->unsafe = t->unsafe || e->unsafe;
			if (t->bad++ == 0)
				t->first = e;
			continue;
		}
		t->bytes += e->found_size;
		t->unchecked += !e->has_size;
		t->summed += e->summed && e->has_crc;
		t->summed_bytes += e->summed && e->has_crc ? e->found_size : 0;
	}
}

/* Check that all ranks have an entry. */
static int
all_ranks(const struct rank2file *r, struct error *err)
{
	for (size_t i = 0; i < r->nranks; i++)
		if (!r->ranks[i].present)
			return error_set(err, ERROR_LOST,
					 "rank2file has no entry for rank %zu "
					 "of %zu",
					 i, r->nranks);
	return 0;
}

/* Check the totals against the descriptor, unless all sizes are recorded. */
static int
adds_up(const struct listed_tally *t, const struct dataset *view, bool must,
	struct error *err)
{
	bool known = view != NULL && view->files >= 0;

	if (t->unchecked == 0)
		return 0; /* each file was compared individually */
	if (!known)
		return must ? error_set(err, ERROR_LOST,
					"nothing records the size of its "
					"files, so they cannot be checked")
			    : 0;
	if ((uint64_t)view->files != t->files)
		return must ? error_set(err, ERROR_LOST,
					"rank2file names %zu files, the "
					"descriptor counts %" PRId64,
					t->files, view->files)
			    : 0;
	if (view->bytes != t->bytes)
		return error_set(err, ERROR_LOST,
				 "its %zu %s add up to %" PRIu64
				 " bytes, the descriptor says %" PRIu64
				 ": one was cut or overwritten",
				 str_count(t->files, "file"), t->bytes,
				 view->bytes);
	return 0;
}

int
listed_whole(const struct rank2file *r, const struct listed_tally *t,
	     const struct dataset *view, bool must_add_up, struct error *err)
{
	char text[ERROR_TEXT_MAX / 2];

	if (all_ranks(r, err) < 0)
		return -1;
	if (t->bad > 0)
		return error_set(err, t->unsafe ? ERROR_UNSAFE : ERROR_LOST,
				 "%zu of %zu %s missing or wrong, the first: "
				 "%s",
				 t->bad, str_count(t->files, "file"),
				 listed_problem(t->first, text, sizeof(text)));
	return adds_up(t, view, must_add_up, err);
}

bool
listed_all_summed(const struct rank2file *r)
{
	for (size_t i = 0; i < r->nranks; i++)
		for (size_t k = 0; k < r->ranks[i].nfiles; k++) {
			const struct rank2file_file *f = &r->ranks[i].files[k];

			if (f->nsegs == 0 && !f->has_crc)
				return false;
		}
	return true;
}
