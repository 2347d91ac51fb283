/* SPDX-License-Identifier: BSD-3-Clause */
#include "rescue/recorded.h"

#include <stdatomic.h>
#include <string.h>

#include "error.h"
#include "meta/filemap.h"
#include "par.h"
#include "path.h"

int
recorded_show(struct recorded *r, const struct filemap_file *f,
	      struct error *err)
{
	const bool first = r->last == NULL;
	const char *dir = NULL;
	size_t i = 0, cut = 0;

	/* The number of files is unknown in advance.  When the sample is full,
	 * every second file is dropped, and only half as many files are sampled
	 * from then on. */
	r->step = r->step == 0 ? 1 : r->step;
	if (r->seen % r->step == 0) {
		if (r->count == RECORDED_SAMPLE) {
			r->count /= 2;
			r->step *= 2;
			for (size_t k = 0; k < r->count; k++)
				r->sample[k] = r->sample[2 * k];
		}
		r->sample[r->count++] = f;
	}
	r->seen++;
	/* Most files have the same directory as the previous one. */
	if (!first && strcmp(r->last, f->dir) == 0)
		return 0;
	if (path_normal(f->dir, &r->dir, err) < 0)
		return -1;
	if (first && buf_add(&r->common, r->dir.data, r->dir.len) < 0)
		return error_no_memory(err);
	r->last = f->dir;
	dir = r->dir.data;
	/* Shorten `common` to the leading path components that it shares. */
	while (i < r->common.len && r->common.data[i] == dir[i] &&
	       dir[i] != '\0') {
		i++;
		if ((i == r->common.len || r->common.data[i] == '/') &&
		    (dir[i] == '/' || dir[i] == '\0'))
			cut = i;
	}
	r->common.len = cut;
	r->common.data[cut] = '\0';
	return 0;
}

void
recorded_free(struct recorded *r)
{
	buf_free(&r->common);
	buf_free(&r->dir);
	*r = (struct recorded){ .seen = 0 };
}

/* One root that is tried. */
struct trial {
	const struct recorded *r;
	const struct recorded_search *s;
	const char *root;
	atomic_size_t hits; /* files of the sample that are found */
};

static int
try_file(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct trial *t = arg;
	const struct filemap_file *f = t->r->sample[i];
	struct buf full = BUF_INIT, norm = BUF_INIT;
	const char *rel = NULL;
	int is = 0;

	(void)worker;
	if (path_join(&full, f->dir, f->name, err) < 0 ||
	    path_normal(full.data, &norm, err) < 0)
		is = -1;
	else
		rel = path_below(norm.data, t->root);
	if (rel != NULL && path_is_clean(rel))
		is = t->s->here(t->s->arg, rel, f, err);
	t->hits += is > 0;
	buf_free(&norm);
	buf_free(&full);
	return is < 0 ? -1 : 0;
}

int
recorded_hits(const struct recorded *r, const struct recorded_search *s,
	      const char *root, size_t *hits, struct error *err)
{
	struct trial t = { .r = r, .s = s, .root = root };
	int rc = par_for(s->par, r->count, 0, try_file, &t, err);

	*hits = t.hits;
	return rc;
}

int
recorded_infer(const struct recorded *r, const struct recorded_search *s,
	       struct recorded_guess *best, struct error *err)
{
	struct buf path = BUF_INIT;
	size_t now = 0;
	int rc = 0;

	best->hits = 0;
	best->tie = false;
	buf_clear(&best->root);
	if (r->count == 0)
		return 0;
	if (buf_add(&path, r->common.data, r->common.len) < 0)
		rc = error_no_memory(err);
	while (rc == 0 && path.len > 1 && path.data[0] == '/') {
		rc = recorded_hits(r, s, path.data, &now, err);
		if (rc < 0)
			break;
		if (now > best->hits) {
			buf_clear(&best->root);
			if (buf_add(&best->root, path.data, path.len) < 0)
				rc = error_no_memory(err);
			best->tie = false;
			best->hits = now;
		} else if (now == best->hits && now > 0) {
			best->tie = true;
		}
		path.len = (size_t)(strrchr(path.data, '/') - path.data);
		path.data[path.len] = '\0';
	}
	buf_free(&path);
	return rc;
}
