/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * add.c - scr_index --add: index a dataset by the name in its summary.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "mem.h"
#include "meta/index.h"
#include "meta/kvtree.h"
#include "meta/summary.h"
#include "str.h"

/* Buffer size for a name in a message. */
#define SHOWN_MAX 256

/* --- Find the dataset --- */

struct search {
	struct catalogue *c;
	const char *name;
	int64_t found;	     /* id; -1: none yet */
	char hits[256];	     /* ids found, for a message */
	size_t nhits, nread; /* summaries with the name; readable summaries */
};

static int
look_at(struct search *s, int64_t id, struct error *err)
{
	struct error why = ERROR_INIT;
	struct summary sum;
	struct kvtree *tree = catalogue_summary(s->c, id, &sum, NULL, &why);
	const char *bears = NULL;
	size_t len = strlen(s->hits);

	if (tree == NULL) /* skip it, as its name is unknown */
		return why.kind == ERROR_NOMEM ? error_pass(err, &why) : 0;
	s->nread++;
	bears = kvtree_value(sum.desc, "NAME");
	if (bears != NULL && str_eq(bears, s->name)) {
		s->found = id;
		s->nhits++;
		snprintf(s->hits + len, sizeof(s->hits) - len, " %" PRId64, id);
	}
	kvtree_free(tree);
	return 0;
}

/* Find the dataset with the name; there must be exactly one. */
static int
find(struct search *s, struct error *err)
{
	char shown[SHOWN_MAX];
	size_t count = 0;
	int64_t *ids = catalogue_dirs(s->c, &count, err);
	int rc = count == (size_t)-1 ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = look_at(s, ids[i], err);
	mem_free(ids);
	if (rc < 0)
		return -1;
	str_printable(shown, sizeof(shown), s->name);
	if (s->nhits == 0)
		return error_set(err, ERROR_ABSENT,
				 "%s: none of %zu %s in %s/.scr bears this "
				 "name; a dataset without one needs --build ID",
				 shown, s->nread,
				 s->nread == 1 ? "summary" : "summaries",
				 s->c->path);
	if (s->nhits > 1)
		return error_set(err, ERROR_CORRUPT,
				 "%s: several datasets bear this name:%s; "
				 "choose one with --build ID",
				 shown, s->hits);
	return 0;
}

/* --- Check and add it --- */

/* Can the library fetch it? */
static int
check(struct catalogue *c, const struct catalogue_dir *d,
      const struct catalogue_options *o, struct error *err)
{
	const struct index_entry none = { .id = d->id, .complete = -1 };
	struct fetchable f;

	if (catalogue_fetchable(c, &none, o, &f, err) < 0)
		return -1;
	if (fetchable_error(&f, err) == 0)
		return 0;
	return error_wrap(err, "%s: not added, %s --build %" PRId64, d->name,
			  f.status == STATUS_DAMAGED ? "mended by" : "try",
			  d->id);
}

static int
add(struct catalogue *c, const struct catalogue_dir *d,
    const struct catalogue_options *o, struct error *err)
{
	struct catalogue_desc desc = { .tree = NULL };
	int complete = -1, rc = -1;

	if (catalogue_read_summary(d, &desc, &complete, err) < 0)
		return error_wrap(err, "%s", d->name);
	if (complete != 1)
		error_set(err, ERROR_DAMAGED,
			  "%s: its summary does not say that it is complete; "
			  "--build %" PRId64 " can tell",
			  d->name, d->id);
	else if (catalogue_check_given_up(d, &desc, err) == 0 &&
		 check(c, d, o, err) == 0)
		rc = catalogue_record_entry(c, &desc, NULL, true, o, err);
	catalogue_desc_free(&desc);
	return rc;
}

int
catalogue_add(struct catalogue *c, const char *name,
	      const struct catalogue_options *o, int64_t *id, struct error *err)
{
	struct search s = { .c = c, .name = name, .found = -1 };
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	int rc = -1;

	*id = -1;
	if (find(&s, err) == 0 &&
	    catalogue_dir_open(c, s.found, &d, err) == 0 &&
	    catalogue_dir_lock(c, &d, o, err) == 0) {
		*id = s.found;
		rc = add(c, &d, o, err);
	}
	catalogue_dir_close(&d);
	return rc;
}
