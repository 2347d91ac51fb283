/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_write.c - fill containers with bytes from anywhere, as a layout
 * (segmap_cut()) says, and read them again.
 */
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

/* Do the containers on disk have the checksums in `sums`? */
static int
confirm(const struct segmap *m, const struct stripe *containers,
	const struct stripe_sum *sums, const struct work *work,
	struct error *err)
{
	struct stripe_sum *is = mem_calloc(m->ncontainers + 1, sizeof(*is));
	const struct transfer_options t = { .work = work, .sums = is };
	int rc = 0;

	for (size_t i = 0; i < m->ncontainers; i++)
		is[i].size = m->containers[i].size;
	rc = transfer(containers, NULL, m->bytes, &t, err);
	for (size_t i = 0; rc == 0 && i < m->ncontainers; i++)
		if (is[i].seen != is[i].size || is[i].crc != sums[i].crc)
			rc = error_set(err, ERROR_CORRUPT,
				       "%s: the data read again differ from "
				       "the data written; the originals are "
				       "unchanged",
				       m->containers[i].name);
	mem_free(is);
	return rc;
}

int
pack_write(struct packing *w, struct segmap *m, const struct stripe *from,
	   struct error *err)
{
	const struct work *work = w->po->work;
	const struct attr attr = pack_attr(&w->map, &w->hidden.map);
	const struct put_options how = {
		.par = work_waiting(work, w->p->root_fd),
		.work = work,
	};
	struct put_what what = {
		.dirfd = w->p->root_fd,
		.attr = &attr,
		.reread = true,
	};
	struct stripe_sum *files = mem_calloc(m->nfiles + 1, sizeof(*files));
	struct stripe_sum *sums = mem_calloc(m->ncontainers + 1, sizeof(*sums));
	const struct transfer_options t = {
		.work = work,
		.sums = files,
		.sums_to = sums,
	};
	struct put *put = put_new(&how, NULL);
	struct stripe to = { 0, NULL }; /* the containers, end to end */
	uint64_t at = 0;
	int rc = 0;

	/* Before the originals are deleted, the containers are read again. */
	progress_phase(work->progress, "packing",
		       w->po->keep ? m->bytes : 2 * m->bytes);
	for (size_t i = 0; i < m->nfiles; i++)
		files[i].size = m->files[i].size;
	(void)stripe_room(&to, w->arena, m->ncontainers, NULL);
	for (size_t i = 0; i < m->ncontainers; i++) {
		const struct segmap_container *c = &m->containers[i];

		sums[i].size = what.size = c->size;
		what.path = c->name;
		to.parts[to.nparts++] = (struct stripe_part){
			.start = at,
			.len = c->size,
			.dirfd = w->p->root_fd,
			.path = c->name,
			.put = put_add(put, &what, NULL),
			.sum = i,
		};
		at += c->size;
	}
	rc = transfer(from, &to, m->bytes, &t, err);
	for (size_t i = 0; i < m->nfiles && rc == 0; i++) {
		struct segmap_file *f = &m->files[i];

		if (f->has_crc && f->size > 0 && files[i].crc != f->crc)
			rc = segmap_wrong_sum(f, files[i].crc, err);
		/* Bytes without a checksum may be wrong since they were
		 * packed. */
		if (rc == 0 && !w->p->is_packed) {
			f->has_crc = true;
			f->crc = files[i].crc;
		}
	}
	if (rc == 0)
		rc = put_commit(put, err);
	for (size_t i = 0; i < m->ncontainers; i++) {
		m->containers[i].has_crc = true;
		m->containers[i].crc = sums[i].crc;
		to.parts[i].put = NULL;
	}
	put_free(put);
	/* If the originals are kept, a wrong container does no harm. */
	if (rc == 0 && !w->po->keep)
		rc = confirm(m, &to, sums, work, err);
	mem_free(sums);
	mem_free(files);
	return rc;
}
