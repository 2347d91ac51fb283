/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pack_replaced.c - packed metadata files that a rebuild has replaced.
 *
 * Redundancy over filemaps that is computed again has other bytes than before,
 * often more of them.  So it does not fit in its place in a container, and is
 * written to files, which take precedence.  This module removes the packed
 * files from the map; their bytes remain in the containers as gaps.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "container/container_impl.h"
#include "container/marks.h"
#include "dir.h"
#include "error.h"
#include "mem.h"
#include "work.h"

struct replaced {
	struct packed *p;
	const struct work *work;
	bool *gone;   /* by file of hidden: replaced */
	bool *lost;   /* by file of hidden.red: its bytes are missing */
	size_t count; /* in `gone` */
};

/* Does file `name` of the metadata directory replace a packed one? */
static int
look_at(void *arg, const char *name, struct error *err)
{
	struct replaced *r = arg;
	const struct packed *p = r->p;
	const struct hidden_file *f = hidden_find(&p->hidden, name);
	bool same = false;
	struct stat st;

	if (f == NULL ||
	    dir_stat(p->meta_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return 0;
	if ((f->tree != NULL || !r->lost[f->at]) &&
	    (uint64_t)st.st_size == f->attr.size &&
	    pack_compare_hidden(p, f, r->work, &same, err) < 0)
		return -1;
	r->gone[f - p->hidden.files] = !same;
	r->count += !same;
	return 0;
}

static int
find(struct replaced *r, struct error *err)
{
	const struct hidden *h = &r->p->hidden;

	r->gone = mem_calloc(h->nfiles + 1, sizeof(*r->gone));
	r->lost = mem_calloc(h->red.nfiles + 1, sizeof(*r->lost));
	if (r->gone == NULL || r->lost == NULL)
		return error_no_memory(err);
	if (packed_lost_redundancy(r->p, r->lost, err) < 0)
		return -1;
	return dir_each(r->p->meta_fd, r->p->dir, look_at, r, err);
}

/* Remove from the map: the replaced files, the checksums of their containers,
 * and containers without other files. */
static void
forget(const struct replaced *r)
{
	struct hidden *h = &r->p->hidden;
	struct segmap *m = &h->red;
	size_t kept = 0;

	for (size_t i = 0; i < m->ncontainers; i++)
		m->containers[i].used = 0;
	for (size_t i = 0; i < h->nfiles; i++) {
		const struct hidden_file f = h->files[i];
		const struct segmap_file *s =
			f.tree == NULL ? &m->files[f.at] : NULL;

		for (size_t k = 0; s != NULL && k < s->nsegs; k++) {
			const struct segment *seg = &m->segs[s->first + k];
			struct segmap_container *c =
				&m->containers[seg->container];

			if (r->gone[i])
				c->has_crc = false;
			else if (seg->off + seg->len > c->used)
				c->used = seg->off + seg->len;
		}
		if (!r->gone[i])
			h->files[kept++] = f;
	}
	h->nfiles = kept;
	for (size_t i = 0; i < m->ncontainers; i++)
		if (m->containers[i].used == 0)
			m->containers[i].has_size = false;
}

/* Remove the marks of a rebuild if they concern no file of the map. */
static int
remove_marks(const struct packed *p, struct error *err)
{
	struct marks marks = { .count = 0 };
	int rc = marks_load(&marks, p->meta_fd, err);

	if (rc == 0 && marks.count > 0 &&
	    !marks_any(&marks, &p->map, 0, p->map.nsegs) &&
	    !marks_any(&marks, &p->hidden.red, 0, p->hidden.red.nsegs))
		rc = marks_remove(p->meta_fd, err);
	marks_free(&marks);
	return rc;
}

int
pack_forget_replaced(struct packed *p, const struct work *work,
		     struct error *err)
{
	struct replaced r = { .p = p, .work = work };
	int rc = 0;

	/* Metadata that could not be read cannot be written again. */
	if (!p->is_packed || p->layout != 3 || p->hidden.incomplete)
		return 0;
	if (p->hidden.nfiles > 0)
		rc = find(&r, err);
	if (rc == 0 && r.count > 0) {
		forget(&r);
		rc = pack_switch(p, &p->map, &p->hidden, false, err);
		if (rc == 0)
			rc = packed_reload(p, work, err);
	}
	if (rc == 0)
		rc = remove_marks(p, err);
	mem_free(r.gone);
	mem_free(r.lost);
	return rc;
}
