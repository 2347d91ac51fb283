/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_write.c - the range writers: fill containers with bytes from anywhere,
 * as a layout (segmap_cut()) says, and read them again.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "container/container_impl.h"
#include "error.h"
#include "mem.h"
#include "progress.h"
#include "transfer/put.h"
#include "transfer/transfer.h"
#include "work.h"

struct attr
pack_attr(const struct segmap *files, const struct segmap *more)
{
	struct attr a = { .mode = 0666 };

	for (size_t i = 0; i < files->nfiles + more->nfiles; i++) {
		const size_t n = files->nfiles;
		const struct attr *f = i < n ? &files->files[i].attr
					     : &more->files[i - n].attr;

		if (!f->has_owner)
			continue;
		if (!a.has_owner) {
			a.uid = f->uid;
			a.gid = f->gid;
		}
		a.has_owner = true;
		a.mode &= f->mode;
		if (f->uid != a.uid)
			a.uid = geteuid();
		if (f->gid != a.gid)
			a.gid = getegid();
	}
	a.mode = (a.mode & 0666) | 0600;
	return a;
}

struct pack_writer
pack_writer(const struct packing *w, const struct segmap *m)
{
	return (struct pack_writer){
		.root_fd = w->p->root_fd,
		.attr = pack_attr(m, &w->hidden.map),
		.confirm = !w->po->keep,
		.arena = w->arena,
		.work = w->po->work,
	};
}

/* Write the containers, whose parts in `to` become those of new files, compare
 * the checksums of the files whose bytes have all been read, and record those
 * of the containers. */
static int
write_batch(const struct pack_writer *w, const struct pack_batch *b,
	    struct stripe *to, struct stripe_sum *sums, struct error *err)
{
	const struct put_options how = {
		.par = work_waiting(w->work, w->root_fd),
		.work = w->work,
	};
	const struct transfer_options t = {
		.work = w->work,
		.begin = b->begin,
		.sums = b->files,
		.sums_to = sums,
	};
	struct put_what what = {
		.dirfd = w->root_fd,
		.attr = &w->attr,
		.reread = true,
	};
	struct put *put = put_new(&how, err);
	int rc = put == NULL ? -1 : 0;

	for (size_t i = 0; i < to->nparts && rc == 0; i++) {
		what.path = to->parts[i].path;
		what.size = to->parts[i].len;
		to->parts[i].put = put_add(put, &what, err);
		rc = to->parts[i].put == NULL ? -1 : 0;
	}
	if (rc == 0)
		rc = transfer(&b->from, to, b->len, &t, err);
	for (size_t i = 0; i < b->map->nfiles && rc == 0; i++) {
		const struct segmap_file *f = &b->map->files[i];

		if (f->has_crc && f->size > 0 && b->files[i].seen == f->size &&
		    b->files[i].crc != f->crc)
			rc = segmap_wrong_sum(f, b->files[i].crc, err);
	}
	if (rc == 0)
		rc = put_commit(put, err);
	for (size_t i = b->first; i < b->end; i++) {
		b->map->containers[i].has_crc = true;
		b->map->containers[i].crc = sums[i].crc;
		to->parts[i - b->first].put = NULL;
		/* For the next look at it. */
		sums[i] = (struct stripe_sum){
			.size = b->map->containers[i].size,
		};
	}
	put_free(put);
	return rc;
}

int
pack_fill(const struct pack_writer *w, const struct pack_batch *b,
	  struct error *err)
{
	struct stripe_sum *sums =
		mem_calloc(b->map->ncontainers + 1, sizeof(*sums));
	const struct transfer_options again = {
		.work = w->work,
		.begin = b->begin,
		.sums = sums,
	};
	const struct segmap_container *c = b->map->containers;
	struct stripe ctrs = { 0, NULL }; /* the containers, end to end */
	uint64_t at = b->begin;
	int rc = -1;

	if (sums == NULL)
		return error_no_memory(err);
	if (stripe_room(&ctrs, w->arena, b->end - b->first, err) == 0) {
		for (size_t i = b->first; i < b->end; i++) {
			sums[i].size = c[i].size;
			ctrs.parts[ctrs.nparts++] = (struct stripe_part){
				.start = at,
				.len = c[i].size,
				.dirfd = w->root_fd,
				.path = c[i].name,
				.sum = i,
			};
			at += c[i].size;
		}
		rc = write_batch(w, b, &ctrs, sums, err);
	}
	/* If the originals are kept, a wrong container does no harm. */
	if (rc == 0 && w->confirm)
		rc = transfer(&ctrs, NULL, b->len, &again, err);
	for (size_t i = b->first; rc == 0 && w->confirm && i < b->end; i++)
		if (sums[i].seen != c[i].size || sums[i].crc != c[i].crc)
			rc = error_set(err, ERROR_CORRUPT,
				       "%s: the data read again differ from "
				       "the data written; the originals are "
				       "unchanged",
				       c[i].name);
	mem_free(sums);
	return rc;
}

struct stripe_sum *
pack_file_sums(const struct segmap *m, struct error *err)
{
	struct stripe_sum *sums = mem_calloc(m->nfiles + 1, sizeof(*sums));

	if (sums == NULL)
		error_no_memory(err);
	for (size_t i = 0; sums != NULL && i < m->nfiles; i++)
		sums[i].size = m->files[i].size;
	return sums;
}

int
pack_write(struct packing *w, struct segmap *m, int dirfd, struct error *err)
{
	struct pack_batch b = {
		.map = m,
		.end = m->ncontainers,
		.len = m->bytes,
		.files = pack_file_sums(m, err),
	};
	const struct pack_writer to = pack_writer(w, &w->map);
	int rc = -1;

	/* Before the originals are deleted, the containers are read again. */
	progress_phase(w->po->work->progress, "packing",
		       w->po->keep ? m->bytes : 2 * m->bytes);
	if (b.files == NULL ||
	    stripe_room(&b.from, w->arena, m->nfiles, err) < 0)
		goto out;
	for (size_t i = 0; i < m->nfiles; i++)
		if (m->files[i].size > 0)
			b.from.parts[b.from.nparts++] = (struct stripe_part){
				.start = m->files[i].start,
				.len = m->files[i].size,
				.dirfd = dirfd,
				.readable = m->files[i].attr.mode & S_IRUSR,
				.path = m->files[i].path,
				.sum = i,
			};
	rc = pack_fill(&to, &b, err);
	for (size_t i = 0; rc == 0 && i < m->nfiles; i++) {
		m->files[i].has_crc = true;
		m->files[i].crc = b.files[i].crc;
	}
out:
	mem_free(b.files);
	return rc;
}
