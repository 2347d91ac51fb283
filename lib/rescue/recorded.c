/* SPDX-License-Identifier: BSD-3-Clause */
#include "rescue/recorded.h"

#include <string.h>

#include "error.h"
#include "meta/filemap.h"
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

int
recorded_fits(const struct recorded *r, const char *root, recorded_here *here,
	      void *arg, struct error *err)
{
	struct buf full = BUF_INIT, norm = BUF_INIT;
	int is = 0;

	for (size_t i = 0; i < r->count && is == 0; i++) {
		const struct filemap_file *f = r->sample[i];
		const char *rel = NULL;

		if (path_join(&full, f->dir, f->name, err) < 0 ||
		    path_normal(full.data, &norm, err) < 0)
			is = -1;
		else
			rel = path_below(norm.data, root);
		if (rel != NULL && path_is_clean(rel))
			is = here(arg, rel, f, err);
	}
	buf_free(&norm);
	buf_free(&full);
	return is;
}

int
recorded_infer(const struct recorded *r, recorded_here *here, void *arg,
	       struct buf *root, struct error *err)
{
	struct buf path = BUF_INIT;
	int found = 0, fits = 0;

	buf_clear(root);
	if (r->count > 0 && buf_add(&path, r->common.data, r->common.len) < 0)
		found = error_no_memory(err);
	while (found >= 0 && path.len > 1 && path.data[0] == '/') {
		fits = recorded_fits(r, path.data, here, arg, err);
		if (fits > 0 && found == 0 &&
		    buf_add(root, path.data, path.len) < 0)
			fits = error_no_memory(err);
		found = fits < 0 ? -1 : found + fits;
		path.len = (size_t)(strrchr(path.data, '/') - path.data);
		path.data[path.len] = '\0';
	}
	buf_free(&path);
	return found;
}
