/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_write.c - write containers, and read them again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "container/container_impl.h"
#include "create.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "path.h"
#include "progress.h"
#include "str.h"
#include "transfer/put.h"
#include "transfer/transfer.h"
#include "work.h"

#define SHOWN_MAX 512

int
pack_make_dir(const struct packed *p, struct error *err)
{
	if (create_dir(p->root_fd, SEGMAP_DIR, 0777,
		       create_owner(p->root_fd)) == 0)
		return io_sync_dir(p->root_fd, p->root, err);
	if (errno != EEXIST)
		return error_sys(err, "%s/%s: cannot make", p->root,
				 SEGMAP_DIR);
	return 0;
}

/*
 * Choose mode and owner of the containers: only users who may access all files
 * may access the containers; the owner is that of all files, if it is the same.
 */
static void
find_access(const struct hidden *h, struct attr *a)
{
	*a = (struct attr){ .mode = 0666 };
	for (size_t i = 0; i < h->nattrs + h->nfiles; i++) {
		const struct attr *f = i < h->nattrs
					       ? &h->attrs[i]
					       : &h->files[i - h->nattrs].attr;

		if (!f->has_owner)
			continue;
		if (!a->has_owner) {
			a->uid = f->uid;
			a->gid = f->gid;
		}
		a->has_owner = true;
		a->mode &= f->mode;
		if (f->uid != a->uid)
			a->uid = geteuid();
		if (f->gid != a->gid)
			a->gid = getegid();
	}
	a->mode = (a->mode & 0666) | 0600;
}

struct put *
pack_put(const struct packing *w, const struct segmap *m, struct stripe *to,
	 struct error *err)
{
	const struct put_options how = {
		.par = work_waiting(w->po->work, w->p->root_fd),
	};
	struct put *put = put_new(&how, err);
	struct attr *a = arena_alloc(w->arena, 1, sizeof(*a));
	struct put_what what = {
		.dirfd = w->p->root_fd,
		.attr = a,
		.reread = true,
	};

	if (put == NULL || a == NULL) {
		put_free(put);
		error_no_memory(err);
		return NULL;
	}
	find_access(&w->hidden, a);
	for (size_t i = 0; i < to->nparts; i++) {
		const struct segmap_container *c =
			&m->containers[to->parts[i].sum];

		what.path = c->name;
		what.size = c->size;
		to->parts[i].put = put_add(put, &what, err);
		if (to->parts[i].put == NULL) {
			put_free(put);
			return NULL;
		}
	}
	return put;
}

/* Compare the new checksums with the recorded ones, and record them. */
static int
take_sums(struct packing *w, struct segmap *m, struct error *err)
{
	for (size_t i = 0; i < m->nfiles; i++) {
		struct segmap_file *f = &m->files[i];
		uint32_t crc = w->sums.files[i].crc;

		if (f->has_crc && f->size > 0 && f->crc != crc)
			return segmap_wrong_sum(f, crc, err);
		f->has_crc = true;
		f->crc = f->size > 0 ? crc : 0;
	}
	for (size_t i = 0; i < m->ncontainers; i++) {
		m->containers[i].has_crc = true;
		m->containers[i].crc = w->sums.containers[i].crc;
	}
	return 0;
}

/* Read the containers again, and compare their checksums. */
static int
confirm(struct packing *w, const struct segmap *m, struct error *err)
{
	struct transfer_options t = { .work = w->po->work };
	struct stripe from = { 0, NULL };

	packed_sums_fini(&w->sums);
	if (packed_sums_init(m, &w->sums, err) < 0 ||
	    packed_containers(w->p, m, w->arena, &from, err) < 0)
		return -1;
	progress_expect(t.work->progress, m->bytes);
	t.sums = w->sums.containers;
	if (transfer(&from, NULL, m->bytes, &t, err) < 0)
		return -1;
	for (size_t i = 0; i < m->ncontainers; i++)
		if (w->sums.containers[i].seen != m->containers[i].size ||
		    w->sums.containers[i].crc != m->containers[i].crc)
			return error_set(err, ERROR_CORRUPT,
					 "%s: what was read again is not what "
					 "was written; the originals are "
					 "untouched",
					 m->containers[i].name);
	return 0;
}

int
pack_write(struct packing *w, struct segmap *m, int dirfd, struct error *err)
{
	struct transfer_options t = { .work = w->po->work };
	struct stripe from = { 0, NULL }, to = { 0, NULL };
	struct put *put = NULL;
	int rc = -1;

	packed_sums_fini(&w->sums);
	if (packed_sums_init(m, &w->sums, err) < 0 ||
	    packed_files(m, dirfd, w->arena, &from, err) < 0 ||
	    packed_containers(w->p, m, w->arena, &to, err) < 0)
		return -1;
	put = pack_put(w, m, &to, err);
	if (put == NULL)
		return -1;
	progress_expect(t.work->progress, m->bytes);
	t.sums = w->sums.segments;
	if (transfer(&from, &to, m->bytes, &t, err) == 0) {
		packed_sums_combine(m, &w->sums);
		if (take_sums(w, m, err) == 0)
			rc = put_commit(put, err);
	}
	put_free(put);
	/* If the originals are kept, a wrong container does no harm: skip the
	 * second reading. */
	return rc < 0 ? -1 : w->po->keep ? 0 : confirm(w, m, err);
}
