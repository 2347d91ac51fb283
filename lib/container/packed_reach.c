/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_reach.c - can the bytes of files be read from their containers?  Some
 * containers may be missing or cut, and an interrupted rebuild leaves bytes
 * half written.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "container/container_impl.h"
#include "container/marks.h"
#include "container/packed.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "path.h"
#include "str.h"

int
packed_refuse_marked(const struct packed *p, size_t first, size_t count,
		     const bool *only, struct error *err)
{
	struct kvtree *marks = NULL;
	int rc = p->layout == 3 ? marks_load(&marks, p->meta_fd, err) : 0;

	for (size_t i = first; marks != NULL && rc == 0 && i < first + count;
	     i++) {
		const struct segmap_file *f = &p->map.files[i];

		if ((only != NULL && !only[i]) ||
		    !marks_any(marks, &p->map, f->first, f->nsegs))
			continue;
		rc = error_set_remedy(
			err, REMEDY_REBUILD, ERROR_DAMAGED,
			"%s: %s: its rebuild was interrupted: run the rebuild "
			"again first",
			p->name, str_shown(f->path));
	}
	kvtree_free(marks);
	return rc;
}

/* --- Missing bytes --- */

int
packed_container_flaw(const struct packed *p,
		      const struct segmap_container *ctr,
		      struct packed_flaw *flaw,
		      char to[static PACKED_FLAW_TEXT], struct error *err)
{
	struct error why = ERROR_INIT;
	struct stat st;

	flaw->have = 0;
	to[0] = '\0';
	if (path_stat_beneath(p->root_fd, ctr->name, &st, &why) < 0) {
		if (why.kind != ERROR_ABSENT && why.errnum != ENOTDIR)
			return error_as(err, &why, "%s: %s", p->root, why.text);
		flaw->kind = PACKED_MISSING;
		snprintf(to, PACKED_FLAW_TEXT, "missing");
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		flaw->kind = PACKED_TYPE;
		snprintf(to, PACKED_FLAW_TEXT, "not a regular file");
		return 0;
	}
	flaw->kind = PACKED_SIZE;
	flaw->have = (uint64_t)st.st_size;
	if (flaw->have < ctr->used)
		snprintf(to, PACKED_FLAW_TEXT,
			 "%" PRIu64 " bytes long, its files need %" PRIu64,
			 flaw->have, ctr->used);
	else if (ctr->has_size && flaw->have != ctr->size)
		snprintf(to, PACKED_FLAW_TEXT,
			 "%" PRIu64 " bytes long, recorded are %" PRIu64,
			 flaw->have, ctr->size);
	return 0;
}

int
packed_reach(int root_fd, struct segmap *m, const struct kvtree *marks,
	     struct error *err)
{
	bool *barred = mem_calloc(m->ncontainers + 1, sizeof(*barred));
	struct stat st;
	int rc = barred == NULL ? error_no_memory(err) : 0;

	for (size_t i = 0; rc == 0 && i < m->ncontainers; i++) {
		struct segmap_container *c = &m->containers[i];
		struct error why = ERROR_INIT;

		c->have = 0;
		if (path_stat_beneath(root_fd, c->name, &st, &why) == 0) {
			if (S_ISREG(st.st_mode))
				c->have = (uint64_t)st.st_size;
			barred[i] = (st.st_mode & S_IRUSR) == 0;
		} else if (why.kind != ERROR_ABSENT && why.errnum != ENOTDIR) {
			rc = error_pass(err, &why);
		}
	}
	for (size_t i = 0; rc == 0 && i < m->nsegs; i++) {
		struct segment *s = &m->segs[i];
		const struct segmap_container *c = &m->containers[s->container];

		s->barred = barred[s->container];
		s->gone =
			s->off + s->len > c->have || marks_any(marks, m, i, 1);
	}
	mem_free(barred);
	return rc;
}

int
packed_reach_meta(struct packed *p, struct error *err)
{
	struct kvtree *marks = NULL;
	int rc = p->layout == 3 ? marks_load(&marks, p->meta_fd, err) : 0;

	if (rc == 0 && packed_reach(p->root_fd, &p->hidden.map, marks, err) < 0)
		rc = error_wrap(err, "%s", p->root);
	kvtree_free(marks);
	return rc;
}

/* Fail if container `c` lacks some of its first `need` bytes, or cannot be
 * opened. */
static int
check_reach(const struct packed *p, const struct segmap_container *c,
	    uint64_t need, struct error *err)
{
	struct packed_flaw flaw;
	char text[PACKED_FLAW_TEXT];
	int fd = -1;

	if (packed_container_flaw(p, c, &flaw, text, err) < 0)
		return -1;
	if (text[0] != '\0' && flaw.have < need)
		return error_set_remedy(err, REMEDY_REBUILD, ERROR_DAMAGED,
					"%s: %s: %s", p->name, c->name, text);
	fd = path_open_beneath(p->root_fd, c->name, O_RDONLY | O_NONBLOCK, 0,
			       err);
	io_close(fd);
	return fd < 0 ? -1 : 0;
}

int
packed_refuse_short(const struct packed *p, const struct segmap *m,
		    const bool *only, struct error *err)
{
	uint64_t *need = mem_calloc(m->ncontainers + 1, sizeof(*need));
	int rc = 0;

	if (need == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];

		for (size_t k = 0; only[i] && k < f->nsegs; k++) {
			const struct segment *s = &m->segs[f->first + k];

			if (s->off + s->len > need[s->container])
				need[s->container] = s->off + s->len;
		}
	}
	for (size_t i = 0; i < m->ncontainers && rc == 0; i++)
		if (need[i] > 0)
			rc = check_reach(p, &m->containers[i], need[i], err);
	mem_free(need);
	return rc;
}

/* Does a container of `m` lack bytes of its files?  Then set *err to it. */
static bool
blame(const struct packed *p, const struct segmap *m, struct error *err)
{
	struct error why = ERROR_INIT;

	for (size_t i = 0; i < m->ncontainers; i++)
		if (check_reach(p, &m->containers[i], m->containers[i].used,
				&why) < 0 &&
		    why.kind == ERROR_DAMAGED) {
			error_pass(err, &why);
			return true;
		}
	return false;
}

int
packed_blame(const struct packed *p, struct error *err)
{
	if (err != NULL &&
	    (err->kind == ERROR_ABSENT || err->kind == ERROR_CORRUPT ||
	     err->kind == ERROR_SYSTEM) &&
	    !blame(p, &p->map, err))
		(void)blame(p, &p->hidden.map, err);
	return -1;
}

int
packed_refuse_incomplete(const struct packed *p, struct error *err)
{
	return p->hidden.incomplete ? error_set(err, ERROR_DAMAGED, "%s: %s",
						p->name, p->flaw)
				    : 0;
}
