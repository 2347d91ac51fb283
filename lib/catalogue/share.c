/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.c - share the sets of a plan out.
 */
#include "catalogue/share.h"

#include "arena.h"
#include "catalogue/catalogue.h"
#include "catalogue/owners.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "rescue/plan.h"
#include "site/crew.h"
#include "work.h"

/* Before the first file is written: the owners of the paths are told. */
static int
tell_owners(struct catalogue *c, int64_t id, const struct catalogue_options *o,
	    const struct plan *p, struct error *err)
{
	struct owners_write w = { .id = id, .replace = o->replace };
	const char **paths = mem_calloc(p->nfiles + 1, sizeof(*paths));
	int rc = paths == NULL ? error_no_memory(err) : 0;

	w.paths = paths;
	for (size_t i = 0; rc == 0 && i < p->nfiles; i++)
		if (p->files[i].fate == FATE_REBUILD)
			paths[w.count++] = p->files[i].path;
	if (rc == 0)
		rc = owners_make_way(c, &w, o, err);
	mem_free(paths);
	return rc;
}

static const char *
digest_of(void *arg, size_t from, size_t to, struct arena *a, struct error *err)
{
	const struct share *s = arg;
	char digest[PLAN_DIGEST];

	return plan_digest(s->plan, from, to, digest, err) < 0
		       ? NULL
		       : arena_strdup(a, digest);
}

/* Add it up. */
static void
take_answer(void *arg, const struct json_value *j)
{
	struct share *s = arg;
	uint64_t sets = 0;

	rebuild_result_read(j, &s->rebuilt);
	if (json_get_u64(j, "set_count", SIZE_MAX, &sets))
		s->sets += sets;
	s->any = true;
}

/* One round.  *again: nodes were lost, and others are left. */
static int
share_round(struct share *s, const struct catalogue_options *o, bool *again,
	    struct error *err)
{
	uint64_t *bytes = plan_set_bytes(s->plan, s->checksums || s->deep, err);
	const struct crew_task task = {
		.argv = s->argv,
		.what = "on other nodes",
		.bytes = bytes,
		.count = s->plan->nsets,
		.digest = digest_of,
		.done = s->done,
		.work = &o->work,
		.answer = take_answer,
		.arg = s,
	};
	size_t lost = 0, failed = 0;
	uint64_t any = 0;
	int rc = bytes == NULL && err->kind != ERROR_NONE ? -1 : 0;

	*again = false;
	if (rc == 0 && bytes == NULL)
		work_say(&o->work,
			 "the other nodes cannot help: the files are in "
			 "containers, or it is not clear which are right");
	for (size_t i = 0; bytes != NULL && i < s->plan->nsets; i++)
		any |= bytes[i];
	if (any > 0) {
		rc = crew_work(s->crew, &task, &lost, &failed, err);
		*again = rc == 0 && lost > 0 && s->crew->nodes.count > 0;
	}
	mem_free(bytes);
	return rc;
}

int
share_out(struct share *s, struct catalogue *c, int64_t id, unsigned flags,
	  const struct catalogue_options *o, struct plan **plan,
	  struct error *err)
{
	const size_t nsets = (*plan)->nsets;
	bool again = true;
	int rc = tell_owners(c, id, o, *plan, err);

	s->done = mem_calloc(nsets + 1, sizeof(*s->done));
	if (rc == 0 && s->done == NULL)
		rc = error_no_memory(err);
	while (rc == 0 && again) {
		s->plan = *plan;
		rc = share_round(s, o, &again, err);
		/* What is there now says what is left to do. */
		plan_free(*plan);
		*plan = rc == 0 ? catalogue_plan(c, id, flags, o, err) : NULL;
		if (*plan == NULL)
			rc = -1;
		else if ((*plan)->nsets == nsets)
			plan_give_away(*plan, s->done);
	}
	mem_free(s->done);
	s->done = NULL;
	return rc;
}
