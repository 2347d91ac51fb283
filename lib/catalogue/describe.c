/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * describe.c - the descriptor of a dataset: the one that rescue/descriptor.c
 * chooses.  Without any, compose it from the event log, the paths of the files,
 * and the totals of the plan.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/flush.h"
#include "meta/index.h"
#include "meta/log.h"
#include "meta/summary.h"
#include "path.h"
#include "rescue/descriptor.h"
#include "rescue/plan.h"
#include "str.h"
#include "work.h"

#define LOG_FILE "log"

/* Maximum length of a user's or job's name in a path. */
#define PART_MAX 256

void
catalogue_desc_free(struct catalogue_desc *d)
{
	kvtree_free(d->tree);
	d->tree = NULL;
}

int
catalogue_desc_make(struct catalogue_desc *out, const struct dataset *d,
		    struct error *err)
{
	out->tree = kvtree_new(err);
	if (dataset_write(out->tree, d, err) == 0 &&
	    dataset_read(out->tree, &out->view, err) == 0)
		return 0;
	catalogue_desc_free(out);
	return -1;
}

/* --- Existing descriptors --- */

/* Copy the descriptor `from` with the keys in the order of LLNL's library,
 * which begins with ID.  `scr_index --build` writes a summary in reverse order
 * (scr-dataset(5)), so without this each build would reverse it again. */
static struct kvtree *
copy_desc(const struct kvtree *from, struct error *err)
{
	const struct kvtree *k = NULL, *last = NULL;
	struct kvtree *to = kvtree_new(err), *sub = NULL;
	bool backwards = false;

	kvtree_foreach (k, from)
		last = k;
	backwards = last != NULL && str_eq(kvtree_key(last), "ID") &&
		    !str_eq(kvtree_key(kvtree_first(from)), "ID");
	kvtree_foreach (k, from) {
		sub = backwards ? kvtree_put_first(to, kvtree_key(k), err)
				: kvtree_put(to, kvtree_key(k), err);
		kvtree_merge(sub, k, err);
	}
	return kvtree_checked(to, err);
}

/* Copy the descriptor `from` if it is that of dataset `id`, else ERROR_CORRUPT.
 * If it has no name, use `name` (may be NULL). */
static int
adopt(const struct kvtree *from, int64_t id, const char *name,
      struct catalogue_desc *out, struct error *err)
{
	struct dataset view;

	if (descriptor_read(from, id, name, &view, err) < 0)
		return -1;
	if (view.name == NULL)
		return error_set(err, ERROR_CORRUPT,
				 "the descriptor has no NAME");
	out->tree = copy_desc(from, err);
	if (out->tree == NULL)
		return -1;
	if ((kvtree_get(out->tree, "NAME") == NULL &&
	     kvtree_set(out->tree, "NAME", name, err) < 0) ||
	    dataset_read(out->tree, &out->view, err) < 0) {
		catalogue_desc_free(out);
		return -1;
	}
	return 0;
}

bool
catalogue_in_cache(struct catalogue *c, int64_t id)
{
	struct kvtree *tree =
		c->scr_fd < 0 ? NULL
			      : kvtree_read_beneath(c->scr_fd, FLUSH_FILE, NULL,
						    NULL);
	struct flush_entry e;
	const bool cached = tree != NULL &&
			    flush_find(tree, id, &e, NULL) == 0 && e.in_cache;

	kvtree_free(tree);
	return cached;
}

int
catalogue_read_summary(const struct catalogue_dir *d,
		       struct catalogue_desc *out, struct error *err)
{
	struct kvtree *tree =
		kvtree_read_beneath(d->fd, SUMMARY_FILE, NULL, err);
	struct summary s;
	int rc = -1;

	out->complete = -1;
	out->replaced = 0;
	if (tree == NULL)
		return -1;
	rc = summary_read(tree, &s, err);
	if (rc == 0)
		out->replaced = s.replaced;
	if (rc == 0 && s.desc == NULL)
		rc = error_set(err, ERROR_CORRUPT, "no descriptor");
	if (rc == 0)
		rc = adopt(s.desc, d->id, NULL, out, err);
	if (rc == 0)
		out->complete = s.complete;
	kvtree_free(tree);
	return rc < 0 ? error_wrap(err, "%s", SUMMARY_FILE) : 0;
}

/* --- Compose a descriptor --- */

struct traces {
	char user[PART_MAX], job[PART_MAX]; /* "": unknown */
	char name[1024];		    /* from the log; "": unknown */
	bool same_job, is_ckpt;
};

/* Copy the component of `path` that ends before `end` into `to`.  Return its
 * start, or NULL. */
static const char *
component_before(const char *path, const char *end, char *to, size_t size)
{
	const char *start = end;
	size_t len = 0;

	while (start > path && start[-1] != '/')
		start--;
	len = (size_t)(end - start);
	if (len == 0 || len >= size)
		return NULL;
	memcpy(to, start, len);
	to[len] = '\0';
	return start;
}

/* Take user and job from a path in the cache (scr-dataset(5)):
 * .../USER/scr.JOBID/[node.N/]scr.dataset.ID/... */
static bool
read_cache_path(const char *path, const char *dir, struct traces *t)
{
	char part[PART_MAX], user[PART_MAX], needle[DATASET_DIR_NAME + 2];
	const char *at = NULL;

	snprintf(needle, sizeof(needle), "/%s/", dir);
	at = strstr(path, needle);
	if (at != NULL)
		at = component_before(path, at, part, sizeof(part));
	if (at != NULL && at > path && str_starts(part, "node."))
		at = component_before(path, at - 1, part, sizeof(part));
	if (at == NULL || at == path || !str_starts(part, "scr.") ||
	    component_before(path, at - 1, user, sizeof(user)) == NULL ||
	    !dataset_name_ok(user) || !dataset_name_ok(part + 4))
		return false;
	snprintf(t->user, sizeof(t->user), "%s", user);
	snprintf(t->job, sizeof(t->job), "%s", part + 4);
	return true;
}

/* Look for a cache path in the filemaps, else in the redundancy headers.  In
 * bypass mode only the filemaps were in the cache, not the files. */
static void
trace_paths(const struct plan *p, const char *dir, struct traces *t)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].cache_path != NULL &&
		    read_cache_path(p->files[i].cache_path, dir, t))
			return;
	for (size_t i = 0; i < p->nsets; i++) {
		const struct plan_set *s = &p->sets[i];

		for (uint32_t m = 0; s->opened && m < s->n; m++) {
			const struct redset_member *r = &s->members[m].list;

			if (r->known && r->nfiles > 0 &&
			    read_cache_path(r->files[0].path, dir, t))
				return;
		}
	}
}

/* Take kind and name from an event such as CHECKPOINT_START or OUTPUT_END.
 * Treat an unreadable log as an empty one. */
static void
trace_log(struct catalogue *c, int64_t id, struct traces *t)
{
	int fd = path_open_beneath(c->scr_fd, LOG_FILE, O_RDONLY | O_NONBLOCK,
				   0, NULL);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	char line[LOG_LINE_MAX + 2];
	bool whole = true;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		const size_t len = strcspn(line, "\n");
		const bool start = whole;
		bool ckpt = false, same_job = false;
		struct log_line l;

		/* A longer line is not part of a log, nor is its rest.  Few
		 * lines of a long log belong to one dataset, so test cheaply
		 * before parsing. */
		whole = line[len] == '\n';
		line[len] = '\0';
		if (!start || !whole || strstr(line, ", dset=") == NULL ||
		    log_parse(line, &l, NULL) < 0 || l.dataset != id ||
		    l.event == NULL || l.name == NULL)
			continue;
		ckpt = str_starts(l.event, "CHECKPOINT_");
		/* Ids start again from 1 when a prefix is cleaned.  So prefer a
		 * line of the same job, then the later line. */
		same_job = l.job_id != NULL && str_eq(l.job_id, t->job);
		if ((!ckpt && !str_starts(l.event, "OUTPUT_")) ||
		    !dataset_name_ok(l.name) || (t->same_job && !same_job))
			continue;
		t->same_job = same_job;
		t->is_ckpt = ckpt;
		snprintf(t->name, sizeof(t->name), "%s", l.name);
	}
	if (f != NULL)
		fclose(f);
	else
		io_close(fd);
}

/* Find the top-level directory common to all files.  If it is a valid name, use
 * it: most applications name it like the dataset. */
static bool
common_dir(const struct plan *p, char *to, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < p->nfiles; i++) {
		const char *path = p->files[i].path;
		size_t n = path != NULL ? strcspn(path, "/") : 0;

		if (n == 0 || path[n] != '/' || n >= size ||
		    (len > 0 && (n != len || memcmp(path, to, n) != 0)))
			return false;
		memcpy(to, path, n);
		to[n] = '\0';
		len = n;
	}
	return len > 0 && dataset_name_ok(to);
}

static int
compose(struct catalogue *c, const struct catalogue_dir *d,
	const struct index *ix, const struct plan *p,
	struct catalogue_desc *out, struct error *err)
{
	struct traces t = { .is_ckpt = true };
	int64_t first = -1; /* earliest ctime, in microseconds */
	struct index_entry e;
	struct dataset v;

	trace_paths(p, d->name, &t);
	trace_log(c, d->id, &t);
	if (t.name[0] == '\0' && !common_dir(p, t.name, sizeof(t.name)))
		t.name[0] = '\0';
	/* Reusing the name of another dataset would remove its index entry. */
	if (t.name[0] == '\0' ||
	    (ix != NULL && index_find_name(ix, t.name, &e, NULL) == 0 &&
	     e.id != d->id))
		snprintf(t.name, sizeof(t.name), "%s", d->name);
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct attr *a = &p->files[i].attr;
		int64_t at = 0;

		if (!a->has_times || a->ctime.tv_sec <= 0 ||
		    a->ctime.tv_sec > INT64_MAX / 2000000)
			continue;
		at = (int64_t)a->ctime.tv_sec * 1000000 +
		     a->ctime.tv_nsec / 1000;
		if (first < 0 || at < first)
			first = at;
	}
	v = (struct dataset){
		.id = d->id,
		.name = t.name,
		.is_ckpt = t.is_ckpt,
		.is_output = !t.is_ckpt,
		/* LLNL's fetch requires a number (scr-dataset(5)), and the real
		 * one is unknown. */
		.ckpt_id = t.is_ckpt ? d->id : -1,
		.created_us = first,
		.user = t.user[0] != '\0' ? t.user : NULL,
		.job_id = t.job[0] != '\0' ? t.job : NULL,
		.files = (int64_t)p->nfiles,
		.bytes = p->bytes,
		.complete = 1,
	};
	out->composed = true;
	return catalogue_desc_make(out, &v, err);
}

/* --- Search the sources --- */

/* Report a source that is there, but not used: *why, or else it has no name. */
static void
report_unused(const struct catalogue_options *o, enum descriptor_source from,
	      const struct error *why)
{
	static const char *const names[] = {
		[DESCRIPTOR_FLUSH] = FLUSH_FILE ": ",
		[DESCRIPTOR_COPIED] = "",
		[DESCRIPTOR_SUMMARY] = SUMMARY_FILE ": ",
		[DESCRIPTOR_ENTRY] = INDEX_FILE ": ",
	};

	if (why->kind != ERROR_ABSENT)
		work_say(&o->work, "%s%s: not used", names[from],
			 why->kind != ERROR_NONE
				 ? why->text
				 : "the descriptor has no NAME");
}

int
catalogue_describe(const struct catalogue_sources *from,
		   struct catalogue_desc *out, struct error *err)
{
	const struct catalogue_dir *dir = from->dir;
	const struct plan *p = from->plan;
	const struct descriptors *d = plan_descriptors(p);
	/* The plan may have found files of a later dataset. */
	const int chosen = (int)(p->older_summary ? d->later : d->chosen);
	struct error why = ERROR_INIT;

	*out = (struct catalogue_desc){ .tree = NULL };
	for (int i = 0; i < DESCRIPTOR_SOURCES && i != chosen; i++)
		if (d->from[i].desc == NULL || d->from[i].view.name == NULL)
			report_unused(from->o, i, &d->from[i].why);
	if (chosen != DESCRIPTOR_SOURCES) {
		if (adopt(d->from[chosen].desc, dir->id,
			  d->from[chosen].view.name, out, &why) == 0)
			return 0;
		if (!catalogue_is_verdict(&why))
			return error_pass(err, &why);
		report_unused(from->o, chosen, &why);
	}
	return compose(from->c, dir, from->ix, p, out, err);
}
