/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.c - share the sets of a plan out.
 */
#include "catalogue/share.h"

#include "arena.h"
#include "buf.h"
#include "catalogue/catalogue_impl.h"
#include "catalogue/owners.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "path.h"
#include "rescue/plan.h"
#include "work.h"

#define ARGS 16

int
share_open(struct share *s, const struct share_nodes *n, const char *prefix,
	   struct error *err)
{
	int rc = -1;

	*s = (struct share){ .jobs = 0 };
	rc = crew_open(&s->crew, n->list, n->remote, prefix, err);
	if (n->timeout > 0)
		s->crew.remote.idle = (double)n->timeout;
	return rc;
}

void
share_close(struct share *s)
{
	crew_close(&s->crew);
}

struct plan *
share_plan(struct catalogue *c, int64_t id, bool build,
	   const struct catalogue_options *o, struct error *err)
{
	return build ? catalogue_build_plan(c, id, o, err)
		     : catalogue_plan(c, id,
				      o->deep ? PLAN_HEADERS : PLAN_SCHEMES, o,
				      err);
}

/* The command of a worker, in `a`, without its part. */
static const char **
worker(const struct share *s, const struct catalogue *c, int64_t id,
       const struct catalogue_options *o, struct arena *a)
{
	const char **argv = arena_alloc(a, ARGS, sizeof(*argv));
	struct buf prefix = BUF_INIT;
	size_t n = 0;

	argv[n++] = s->program;
	argv[n++] = path_real(c->path, &prefix, NULL) == 0
			    ? arena_printf(a, "--prefix=%s", prefix.data)
			    : arena_printf(a, "--prefix=%s", c->path);
	argv[n++] = arena_printf(a, "id:%lld", (long long)id);
	if (s->partial)
		argv[n++] = "--partial";
	if (s->checksums)
		argv[n++] = "--checksums";
	if (o->deep)
		argv[n++] = "--deep";
	if (s->build)
		argv[n++] = "--" SHARE_BUILD;
	if (s->build && o->compare)
		argv[n++] = "--" SHARE_COMPARE;
	if (s->jobs > 0)
		argv[n++] = arena_printf(a, "--jobs=%llu",
					 (unsigned long long)s->jobs);
	if (o->work.memory > 0)
		argv[n++] = arena_printf(a, "--memory=%llu",
					 (unsigned long long)o->work.memory);
	if (o->moved_from != NULL)
		argv[n++] = arena_printf(a, "--moved-from=%s", o->moved_from);
	buf_free(&prefix);
	return argv;
}

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
share_round(struct share *s, const char *const *argv,
	    const struct catalogue_options *o, bool *again, struct error *err)
{
	uint64_t *bytes = plan_set_bytes(s->plan, s->checksums || s->deep, err);
	const struct crew_task task = {
		.argv = argv,
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
		rc = crew_work(&s->crew, &task, &lost, &failed, err);
		*again = rc == 0 && lost > 0 && s->crew.nodes.count > 0;
	}
	mem_free(bytes);
	return rc;
}

int
share_out(struct share *s, struct catalogue *c, int64_t id,
	  const struct catalogue_options *o, struct plan **plan,
	  struct error *err)
{
	const size_t nsets = (*plan)->nsets;
	struct arena *a = NULL;
	const char **argv = NULL;
	bool again = true;
	int rc = 0;

	if ((*plan)->bytes < s->least || s->crew.nodes.count == 0)
		return 0;
	a = arena_new();
	argv = worker(s, c, id, o, a);
	s->done = mem_calloc(nsets + 1, sizeof(*s->done));
	rc = tell_owners(c, id, o, *plan, err);
	while (rc == 0 && again) {
		s->plan = *plan;
		rc = share_round(s, argv, o, &again, err);
		/* What is there now says what is left to do. */
		plan_free(*plan);
		*plan = rc == 0 ? share_plan(c, id, s->build, o, err) : NULL;
		if (*plan == NULL)
			rc = -1;
		else if ((*plan)->nsets == nsets)
			plan_give_away(*plan, s->done);
	}
	mem_free(s->done);
	s->done = NULL;
	arena_free(a);
	return rc;
}

int
share_build(void *share, struct catalogue *c, int64_t id,
	    const struct catalogue_options *o, struct plan **plan,
	    struct error *err)
{
	struct share *s = share;

	/* What is to be recorded of all files is read by one process. */
	if (o->work.dry_run || o->checksums || (*plan)->flaw != NULL)
		return 0;
	s->build = true;
	s->deep = o->deep || (o->compare && !plan_provable(*plan));
	s->rebuilt = (struct rebuild_result){ .files = 0 };
	if (share_out(s, c, id, o, plan, err) < 0)
		return -1;
	return rebuild_wrote(&s->rebuilt);
}
