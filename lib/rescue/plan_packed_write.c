/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_packed_write.c - rebuilding files inside containers.
 *
 * The rebuild writes in place: the overwritten bytes are missing or wrong
 * anyway.  A mark on disk (DATASET_DIR_MARK) names the byte ranges that cannot
 * be trusted, from before the first byte is written until all bytes are on
 * disk.  So after an interruption a hole or half a file is never taken for
 * data:
 *
 *   FILE -> container -> offset -> LENGTH
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/dataset_dir.h"
#include "num.h"
#include "path.h"
#include "rescue/plan_packed_impl.h"

static int
mark_seg(struct kvtree *list, const struct segmap *m, const struct segment *s,
	 struct error *err)
{
	struct kvtree *t =
		kvtree_put(list, m->containers[s->container].name, err);

	t = kvtree_put(t, num_str(s->off), err);
	return t == NULL ? -1 : kvtree_set_u64(t, "LENGTH", s->len, err);
}

static int
mark_map(struct kvtree *list, const struct segmap *m, struct error *err)
{
	for (size_t i = 0; i < m->nsegs; i++)
		if (m->segs[i].gone && mark_seg(list, m, &m->segs[i], err) < 0)
			return -1;
	return 0;
}

/* Mark all missing segments, even those that belong to no file of the plan:
 * extending the container turns them into holes.  Returns the tree of marks,
 * with the list FILE; NULL on error. */
static struct kvtree *
mark_gone(const struct plan_packed *k, struct error *err)
{
	struct kvtree *t = kvtree_new(err), *list = NULL;

	if (t != NULL)
		list = kvtree_put(t, "FILE", err);
	if (list != NULL && mark_map(list, &k->map, err) == 0 &&
	    mark_map(list, &k->hidden.map, err) == 0)
		return t;
	kvtree_free(t);
	return NULL;
}

/* Take the segments of a file that is rebuilt inside containers: into the list
 * of marks; or without a list they are present from now on. */
static int
take_segs(struct kvtree *list, const struct segmap *m, struct segment *segs,
	  size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (list == NULL)
			segs[i].gone = false;
		else if (mark_seg(list, m, &segs[i], err) < 0)
			return -1;
	return 0;
}

/* The same for each such file; *count is their number. */
static int
take_rebuilt(const struct plan *p, struct kvtree *list, size_t *count,
	     struct error *err)
{
	const struct plan_packed *k = plan_containers(p);

	*count = 0;
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (f->nsegs == 0 || f->fate != FATE_REBUILD)
			continue;
		(*count)++;
		if (take_segs(list, &k->map, f->segs, f->nsegs, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t n = 0; n < p->sets[i].n; n++) {
			const struct plan_member *m = &p->sets[i].members[n];

			if (m->red->nsegs == 0 || m->fate != FATE_REBUILD)
				continue;
			(*count)++;
			/* Only the header of a salvaged body is written.  After
			 * an interruption the file is as damaged as before. */
			if (!plan_uses_body(&p->sets[i], m) &&
			    take_segs(list, &k->hidden.map, m->red->segs,
				      m->red->nsegs, err) < 0)
				return -1;
		}
	return 0;
}

/* Extend the containers to the sizes that their files need; with `look`, only
 * see whether that can be done. */
static int
lengthen(const struct plan *p, const struct segmap *m, bool look,
	 struct error *err)
{
	struct stat st;

	for (size_t i = 0; i < m->ncontainers; i++) {
		const struct segmap_container *c = &m->containers[i];
		uint64_t size =
			c->has_size && c->size > c->used ? c->size : c->used;
		int fd = -1, rc = 0;

		if (c->have >= size)
			continue;
		/* A container behind a link has its full length.  A shorter
		 * file there may be anything. */
		if (look &&
		    dir_stat(p->places[0].meta_fd, c->name, &st,
			     AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISLNK(st.st_mode))
			return error_set(err, ERROR_UNSAFE,
					 "%s: a symbolic link to what is not "
					 "the container, as it is too short: "
					 "put the container in its place, then "
					 "run this again",
					 c->name);
		if (look)
			continue;
		fd = path_open_beneath(p->places[0].meta_fd, c->name,
				       O_WRONLY | O_CREAT | O_NOFOLLOW, 0666,
				       err);
		if (fd < 0)
			return -1;
		if (ftruncate(fd, (off_t)size) < 0)
			rc = error_sys(err,
				       "%s: cannot make %" PRIu64 " bytes long",
				       c->name, size);
		close(fd);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int
plan_begin_packed(struct plan *p, bool *marked, struct error *err)
{
	struct plan_packed *k = plan_containers(p);
	const int dirfd = p->places[0].meta_fd;
	struct kvtree *t = NULL;
	size_t count = 0;
	int rc = 0;

	*marked = false;
	if (k == NULL)
		return 0;
	t = mark_gone(k, err);
	if (t == NULL)
		return -1;
	rc = take_rebuilt(p, kvtree_get(t, "FILE"), &count, err);
	if (rc < 0 || count == 0)
		goto out;
	if (lengthen(p, &k->map, true, err) < 0 ||
	    lengthen(p, &k->hidden.map, true, err) < 0)
		rc = -1;
	if (rc == 0)
		rc = kvtree_write_file(t, dirfd, DATASET_DIR_MARK, err);
	if (rc == 0 &&
	    create_dir(dirfd, SEGMAP_DIR, 0777, create_owner(dirfd)) < 0 &&
	    errno != EEXIST)
		rc = error_sys(err, "%s: cannot make", SEGMAP_DIR);
	if (rc == 0)
		rc = lengthen(p, &k->map, false, err);
	if (rc == 0)
		rc = lengthen(p, &k->hidden.map, false, err);
	*marked = rc == 0;
out:
	kvtree_free(t);
	return rc;
}

static int
sync_containers(const struct plan *p, const struct segmap *m, struct error *err)
{
	for (size_t i = 0; i < m->ncontainers; i++) {
		const char *name = m->containers[i].name;
		int fd = path_open_beneath(p->places[0].meta_fd, name, O_WRONLY,
					   0, err);
		int rc = fd < 0 ? -1 : io_fsync(fd, name, err);

		io_close(fd);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int
plan_end_packed(struct plan *p, struct error *err)
{
	struct plan_packed *k = plan_containers(p);
	const int dirfd = p->places[0].meta_fd;
	struct kvtree *t = NULL;
	size_t count = 0;
	int fd = -1, rc = 0;

	if (sync_containers(p, &k->map, err) < 0 ||
	    sync_containers(p, &k->hidden.map, err) < 0)
		return -1;
	fd = path_open_dir(p->places[0].meta_fd, SEGMAP_DIR, err);
	rc = fd < 0 ? -1 : io_sync_dir(fd, SEGMAP_DIR, err);
	io_close(fd);
	if (rc < 0 || take_rebuilt(p, NULL, &count, err) < 0)
		return -1;
	t = mark_gone(k, err);
	if (t == NULL)
		return -1;
	if (kvtree_count(kvtree_get(t, "FILE")) > 0)
		rc = kvtree_write_file(t, dirfd, DATASET_DIR_MARK, err);
	else
		rc = marks_remove(dirfd, err);
	kvtree_free(t);
	return rc;
}
