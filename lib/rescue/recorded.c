/* SPDX-License-Identifier: BSD-3-Clause */
#include "rescue/recorded.h"

#include <string.h>

#include "error.h"
#include "meta/filemap.h"
#include "path.h"

/* Shorten `common` to the leading path components that it shares with `dir`. */
static void
cut_common(struct buf *common, const char *dir)
{
	size_t i = 0, cut = 0;

	while (i < common->len && common->data[i] == dir[i] && dir[i] != '\0') {
		i++;
		if ((i == common->len || common->data[i] == '/') &&
		    (dir[i] == '/' || dir[i] == '\0'))
			cut = i;
	}
	common->len = cut;
	common->data[cut] = '\0';
}

/* The number of files is unknown in advance.  When the sample is full, every
 * second file is dropped, and only half as many files are sampled from then
 * on. */
static void
take(struct recorded *r, const struct filemap_file *f)
{
	if (r->step == 0)
		r->step = 1;
	if (r->seen % r->step != 0)
		return;
	if (r->count == RECORDED_SAMPLE) {
		r->count /= 2;
		r->step *= 2;
		for (size_t i = 0; i < r->count; i++)
			r->sample[i] = r->sample[2 * i];
	}
	r->sample[r->count++] = f;
}

int
recorded_show(struct recorded *r, const struct filemap_file *f,
	      struct error *err)
{
	const bool first = r->last == NULL;

	take(r, f);
	r->seen++;
	/* Most files have the same directory as the previous one. */
	if (!first && strcmp(r->last, f->dir) == 0)
		return 0;
	if (path_normal(f->dir, &r->dir, err) < 0)
		return -1;
	if (first && buf_add(&r->common, r->dir.data, r->dir.len) < 0)
		return error_no_memory(err);
	r->last = f->dir;
	cut_common(&r->common, r->dir.data);
	return 0;
}

void
recorded_free(struct recorded *r)
{
	buf_free(&r->common);
	buf_free(&r->dir);
	*r = (struct recorded){ .seen = 0 };
}

/* Count the files of the sample that are found if the prefix was `root`. */
static int
count_hits(const struct recorded *r, const char *root, recorded_here *here,
	   void *arg, size_t *hits, struct error *err)
{
	struct buf full = BUF_INIT, norm = BUF_INIT;
	int rc = 0;

	*hits = 0;
	for (size_t i = 0; i < r->count && rc == 0; i++) {
		const struct filemap_file *f = r->sample[i];
		const char *rel = NULL;
		int is = 0;

		rc = path_join(&full, f->dir, f->name, err);
		if (rc == 0)
			rc = path_normal(full.data, &norm, err);
		if (rc < 0)
			break;
		rel = path_below(norm.data, root);
		if (rel != NULL && path_is_clean(rel))
			is = here(arg, rel, f, err);
		if (is < 0)
			rc = -1;
		*hits += is > 0;
	}
	buf_free(&norm);
	buf_free(&full);
	return rc;
}

int
recorded_infer(const struct recorded *r, recorded_here *here, void *arg,
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
		rc = count_hits(r, path.data, here, arg, &now, err);
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
