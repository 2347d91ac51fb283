/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_find.c - open packed datasets by words, and determine what their
 * redundancy can repair.
 */
#include <inttypes.h>

#include "catalogue/catalogue_impl.h"
#include "container/packed.h"
#include "error.h"
#include "map.h"
#include "meta/dataset.h"
#include "meta/index.h"
#include "rescue/deep.h"
#include "rescue/plan.h"
#include "str.h"

bool
catalogue_in_containers(struct catalogue *c, int64_t id)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	const bool any = catalogue_dir_open(c, id, &d, NULL) == 0 &&
			 packed_has_containers(d.fd);

	catalogue_dir_close(&d);
	return any;
}

/* Is dataset `id` in a directory of its own?  In the index of SCR 1.1.8, the
 * name of a dataset is its directory. */
static bool
is_old(struct catalogue *c, int64_t id, const char *name)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	const bool has_dir = catalogue_dir_open(c, id, &d, NULL) == 0;

	catalogue_dir_close(&d);
	return !has_dir && name != NULL && packed_is_old(c->prefix_fd, name);
}

/* Find the dataset that `text` names: a word, or a directory of layout 1. */
static int
find(struct catalogue *c, const struct index *ix, const char *text,
     struct packed_where *where, struct error *err)
{
	struct error why = ERROR_INIT;
	struct index_entry e;
	struct word w;

	word_parse(text, &w);
	where->id = catalogue_resolve(c, ix, text, &why);
	if (where->id < 0 && why.kind != ERROR_ABSENT)
		return error_pass(err, &why);
	if (where->id > 0 && ix != NULL &&
	    index_find_id(ix, where->id, &e, NULL) == 0)
		where->name = e.name;
	if (w.name == NULL || !packed_is_old(c->prefix_fd, w.name)) {
		if (where->id < 0)
			return error_pass(err, &why);
		if (is_old(c, where->id, where->name))
			where->old = where->name;
		return 0;
	}
	/* A dataset that was adopted has current metadata, too. */
	if (where->id > 0 && where->name != NULL &&
	    str_eq(where->name, w.name) && !is_old(c, where->id, where->name))
		return 0;
	where->old = w.name;
	if (where->id == w.id && w.id > 0 &&
	    (where->name == NULL || !str_eq(where->name, w.name)))
		return error_set(err, ERROR_USAGE,
				 "%s: a number, and a directory of SCR 1.1.8: "
				 "give " WORD_ID_FMT " or " WORD_NAME "%s",
				 str_shown(text), w.id, str_shown(text));
	if (where->id < 0)
		where->id = 0;
	return 0;
}

int
catalogue_packed_open(struct catalogue *c, const char *word,
		      const struct packed_how *how,
		      const struct catalogue_options *o, struct packed *p,
		      struct error *err)
{
	struct packed_where where = { .prefix_fd = c->prefix_fd };
	struct error why = ERROR_INIT;
	struct index *read = NULL;
	const struct index *ix = catalogue_index(c, o, &read, &why);
	struct word w;
	int rc = -1;

	word_parse(word, &w);
	/* "id:N" means the same whatever the index contains. */
	if (ix == NULL && why.kind != ERROR_ABSENT && w.name != NULL)
		error_pass(err, &why);
	else
		rc = find(c, ix, word, &where, err);
	/* The index does not name it, but its summary may. */
	if (rc == 0 && where.id > 0 && where.name == NULL)
		where.name = catalogue_recorded_name(c, ix, where.id);
	if (where.name != NULL && !dataset_name_ok(where.name))
		where.name = NULL;
	if (rc == 0)
		rc = packed_open(p, &where, how, &o->work, err);
	index_free(read);
	return rc;
}

int
catalogue_packed_prove(struct catalogue *c, const struct packed *p, bool copied,
		       const struct catalogue_options *o, struct error *err)
{
	struct deep_result r = { .nfindings = 0 };
	struct plan *plan = NULL;
	int rc = 0;

	if (p->is_packed || p->layout == 1)
		return 0;
	if (catalogue_refuse_replaced(c, p->id, o, err) < 0)
		return -1;
	if (copied)
		plan = catalogue_plan(c, p->id, PLAN_HEADERS, o, NULL);
	if (plan != NULL && !plan_provable(plan))
		rc = deep_check(plan, &o->work, &r, err);
	if (rc == 0 && r.nfindings > 0) {
		deep_error(plan, &r.findings[0], err);
		error_wrap(err, "dataset %" PRId64, p->id);
		rc = error_remedy(
			err, r.findings[0].unread != NULL      ? REMEDY_NONE
			     : deep_is_located(&r.findings[0]) ? REMEDY_DEEP
							       : REMEDY_CHOOSE);
	}
	deep_free(&r);
	plan_free(plan);
	return rc;
}

int
catalogue_packed_outlook(struct catalogue *c, const struct packed *p,
			 const struct packed_health *h,
			 const struct catalogue_options *o, struct error *err)
{
	struct error why = ERROR_INIT;
	struct deep_result r = { .nfindings = 0 };
	struct plan *plan = NULL;
	struct map *by = NULL;
	int status = STATUS_LOST, rc = 0;
	bool data = false;

	/* An empty file has no data, whatever is in its place. */
	for (size_t i = 0; i < p->map.nfiles; i++)
		data = data || (h->bad[i] && !(p->map.files[i].has_size &&
					       p->map.files[i].size == 0));
	if (!data)
		return STATUS_DAMAGED; /* all data are present */
	if (p->layout == 3)
		plan = catalogue_plan(c, p->id, PLAN_HEADERS, o, &why);
	/* The bytes may be there, but where? */
	if (plan == NULL && h->map_flaws > 0)
		return STATUS_FAILED;
	if (why.kind != ERROR_NONE && why.kind != ERROR_ABSENT) {
		error_pass(err, &why);
		return error_status(why.kind);
	}
	by = plan == NULL ? NULL : segmap_by_path(&p->map);
	for (size_t i = 0; by != NULL && i < plan->nfiles && rc == 0; i++) {
		size_t at = map_get(by, plan->files[i].path);

		if (at != MAP_NONE && h->bad[at] &&
		    plan->files[i].state == FILE_PRESENT)
			rc = plan_mark(plan, i, FILE_WRONG_CRC, err);
	}
	map_free(by);
	/* What is promised was tried. */
	if (rc == 0 && o->checksums && plan != NULL &&
	    plan->verdict != SET_LOST)
		rc = rebuild_search(plan, true, true, &o->work, &r, err);
	if (rc < 0)
		status = error_status(err->kind);
	else if (plan != NULL)
		status = plan->verdict != SET_LOST && plan->flaw == NULL
				 ? STATUS_DAMAGED
				 : plan_status(plan);
	for (size_t i = 0; i < r.nfindings; i++) {
		deep_error(plan, &r.findings[i], &why);
		status = error_worse_status(status, error_status(why.kind));
	}
	deep_free(&r);
	plan_free(plan);
	return status;
}

void
catalogue_packed_judge(struct catalogue *c, const struct packed *p,
		       const struct catalogue_options *o, struct error *err)
{
	const struct error was = *err;
	struct error why = ERROR_INIT;
	struct plan *plan = NULL;
	bool lost = false;

	if (was.kind != ERROR_DAMAGED ||
	    (was.remedy != REMEDY_REBUILD && was.remedy != REMEDY_CHECKSUMS &&
	     was.remedy != REMEDY_VERIFY))
		return;
	/* Which file has the wrong checksum is in the sentence only. */
	if (p->layout == 3)
		plan = catalogue_plan(c, p->id,
				      PLAN_HEADERS |
					      (was.remedy == REMEDY_CHECKSUMS
						       ? PLAN_CHECKSUMS
						       : 0u),
				      o, &why);
	if (plan == NULL)
		lost = why.kind == ERROR_NONE || why.kind == ERROR_ABSENT;
	else
		lost = plan_status(plan) == STATUS_LOST;
	if (lost) {
		error_as(err, &was, "%s: no redundancy can restore it",
			 was.text);
		err->kind = ERROR_LOST;
	} else if (plan == NULL) {
		error_as(err, &why,
			 "%s: whether it can be repaired is "
			 "unknown: %s",
			 was.text, why.text);
	}
	plan_free(plan);
}

int64_t
catalogue_restart_point(struct catalogue *c)
{
	struct index *ix = catalogue_read(c, NULL);
	const char *current = ix != NULL ? index_current(ix) : NULL;
	struct index_entry e;
	int64_t newest[2];

	index_newest(ix, newest);
	if (current != NULL && index_find_name(ix, current, &e, NULL) == 0)
		newest[0] = e.id;
	index_free(ix);
	return newest[0];
}
