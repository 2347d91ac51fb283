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

#include "container/marks.h"
#include "container/segmap.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/dataset_dir.h"
#include "num.h"
#include "path.h"
#include "rescue/plan_impl.h"

/* The marks, with the list FILE: all segments in doubt, and all missing ones,
 * even those that belong to no file of the plan: extending the container turns
 * them into holes.  NULL: an error. */
static struct kvtree *
make_marks(const struct plan_packed *k, struct error *err)
{
	const struct segmap *const maps[] = { &k->map, &k->hidden.map };
	struct kvtree *t = kvtree_new(err);
	struct kvtree *list = kvtree_put(t, "FILE", err);
	int rc = list == NULL ? -1 : 0;

	for (size_t n = 0; n < 2; n++)
		for (size_t i = 0; rc == 0 && i < maps[n]->nsegs; i++) {
			const struct segment *s = &maps[n]->segs[i];
			struct kvtree *of = NULL;

			if (!s->gone && !s->doubt)
				continue;
			of = kvtree_put(list,
					maps[n]->containers[s->container].name,
					err);
			of = kvtree_put(of, num_str(s->off), err);
			rc = of == NULL ? -1
					: kvtree_set_u64(of, "LENGTH", s->len,
							 err);
		}
	if (rc == 0)
		return t;
	kvtree_free(t);
	return NULL;
}

/* The segments of a file that is rebuilt inside containers are in doubt; or
 * afterwards they are present. */
static void
take_segs(bool done, struct segment *segs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		segs[i].doubt = !done;
		segs[i].gone = segs[i].gone && !done;
	}
}

/* The same for each such file.  Returns their number. */
static size_t
take_rebuilt(const struct plan *p, bool done)
{
	struct plan_packed *k = plan_containers(p);
	size_t count = 0;

	/* An earlier attempt may have had others. */
	for (size_t i = 0; i < k->map.nsegs; i++)
		k->map.segs[i].doubt = false;
	for (size_t i = 0; i < k->hidden.map.nsegs; i++)
		k->hidden.map.segs[i].doubt = false;
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct plan_file *f = &p->files[i];

		if (f->nsegs == 0 || f->fate != FATE_REBUILD)
			continue;
		count++;
		take_segs(done, f->segs, f->nsegs);
	}
	for (size_t i = 0; i < p->nsets; i++)
		for (uint32_t n = 0; n < p->sets[i].n; n++) {
			const struct plan_member *m = &p->sets[i].members[n];

			if (m->red->nsegs == 0 || m->fate != FATE_REBUILD)
				continue;
			count++;
			/* Only the header of a salvaged body is written.  After
			 * an interruption the file is as damaged as before. */
			if (!plan_uses_body(&p->sets[i], m))
				take_segs(done, m->red->segs, m->red->nsegs);
		}
	return count;
}

/* Extend the containers to the sizes that their files need; with `look`, only
 * see whether that can be done. */
static int
lengthen(const struct plan *p, bool look, struct error *err)
{
	const struct plan_packed *k = plan_containers(p);
	const size_t n = k->map.ncontainers;
	struct stat st;

	for (size_t i = 0; i < n + k->hidden.map.ncontainers; i++) {
		const struct segmap_container *c =
			i < n ? &k->map.containers[i]
			      : &k->hidden.map.containers[i - n];
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
	int rc = -1;

	*marked = false;
	if (k == NULL || take_rebuilt(p, false) == 0)
		return 0;
	t = make_marks(k, err);
	if (t == NULL || lengthen(p, true, err) < 0 ||
	    kvtree_write_file(t, dirfd, DATASET_DIR_MARK, err) < 0)
		goto out;
	if (create_dir(dirfd, SEGMAP_DIR, 0777, create_owner(dirfd)) < 0 &&
	    errno != EEXIST)
		error_sys(err, "%s: cannot make", SEGMAP_DIR);
	else
		rc = lengthen(p, false, err);
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
	int fd = -1, rc = -1;

	if (sync_containers(p, &k->map, err) < 0 ||
	    sync_containers(p, &k->hidden.map, err) < 0)
		return -1;
	fd = path_open_dir(dirfd, SEGMAP_DIR, err);
	rc = fd < 0 ? -1 : io_sync_dir(fd, SEGMAP_DIR, err);
	io_close(fd);
	if (rc < 0)
		return -1;
	(void)take_rebuilt(p, true);
	t = make_marks(k, err);
	if (t == NULL)
		return -1;
	if (kvtree_count(kvtree_get(t, "FILE")) > 0)
		rc = kvtree_write_file(t, dirfd, DATASET_DIR_MARK, err);
	else
		rc = marks_remove(dirfd, err);
	kvtree_free(t);
	return rc;
}
