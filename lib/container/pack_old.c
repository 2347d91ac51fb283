/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_old.c - make a packed copy in the layout that SCR 1.1.8 reads:
 * PREFIX/scr.dataset.ID with containers, metadata and empty files
 * (container-format(5)).  The dataset itself is not changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "arena.h"
#include "container/container_impl.h"
#include "create.h"
#include "error.h"
#include "kvtree/kvtree.h"
#include "meta/dataset.h"
#include "meta/dataset_dir.h"
#include "meta/summary.h"
#include "path.h"

#define OLD_RANKS "rank2file.scr"

static int
make_dir(int at, const char *name, int *fd, struct error *err)
{
	if (create_dir(at, name, 0777, create_owner(at)) < 0 && errno != EEXIST)
		return error_sys(err, "%s: cannot make", name);
	*fd = path_open_beneath(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
				0, err);
	return *fd < 0 ? -1 : 0;
}

int
pack_old_open(struct packed *q, const struct packed *p, struct error *err)
{
	*q = *p;
	q->layout = 1;
	q->is_packed = false;
	q->base = OLD_RANKS;
	q->r2f.unused = 0; /* no generation is in use */
	q->root_fd = q->meta_fd = -1;
	q->root = arena_printf(p->arena, DATASET_DIR_FMT, p->id);
	q->dir = arena_printf(p->arena, DATASET_DIR_FMT "/" SEGMAP_DIR, p->id);
	if (p->is_packed)
		return error_set(err, ERROR_USAGE,
				 "%s: is packed already: unpack it first",
				 p->name);
	if (make_dir(p->prefix_fd, q->root, &q->root_fd, err) < 0 ||
	    make_dir(q->root_fd, SEGMAP_DIR, &q->meta_fd, err) < 0)
		return -1;
	if (faccessat(q->meta_fd, OLD_RANKS, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return error_sys(err, "%s", q->root);
	}
	return 0;
}

int
pack_old_finish(const struct packing *w, const struct packed *p,
		struct error *err)
{
	struct put *put = put_new(&(struct put_options){ .par = NULL }, NULL);
	struct put_what what = { .dirfd = w->p->root_fd };
	struct kvtree *to = kvtree_new(NULL);
	struct kvtree *desc = kvtree_put(to, "DSET", NULL);
	struct summary s;
	struct kvtree *from =
		summary_load(p->meta_fd, SUMMARY_FILE, NULL, &s, err);
	struct dataset d;
	int rc = from == NULL ? -1 : 0;

	/* The empty files: without segments, they must exist as files. */
	for (size_t i = 0; i < w->map.nfiles; i++) {
		what.path = w->map.files[i].path;
		what.attr = &w->map.files[i].attr;
		if (w->map.files[i].size == 0)
			(void)put_add(put, &what, NULL);
	}
	if (rc == 0)
		rc = put_commit(put, err);
	/* The descriptor is written as SCR 1.1.8 does: complete, without the
	 * flags. */
	if (rc == 0)
		rc = dataset_read(s.desc, &d, err);
	d.complete = 1;
	if (rc == 0)
		rc = dataset_write(desc, &d, err);
	kvtree_remove(desc, "FLAG_CKPT");
	kvtree_remove(desc, "FLAG_OUTPUT");
	if (rc < 0 || kvtree_set_u64(to, "COMPLETE", 1, err) < 0 ||
	    kvtree_set_u64(to, "VERSION", SUMMARY_VERSION, err) < 0 ||
	    kvtree_write_file(to, w->p->meta_fd, SUMMARY_FILE, err) < 0)
		rc = -1;
	put_free(put);
	kvtree_free(to);
	kvtree_free(from);
	return rc;
}
