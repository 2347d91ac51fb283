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
#include "rescue/part.h"
#include "rescue/plan.h"
#include "transfer/put.h"
#include "work.h"

#define ARGS 16

bool
share_join(struct share_nodes *n)
{
	launch_join(&n->launch);
	if (n->launch.role == LAUNCH_SURPLUS) {
		launch_leave(&n->launch);
		return true;
	}
	if (n->list == NULL)
		n->list = n->launch.nodes;
	return false;
}

int
share_crew(struct crew *c, const struct share_nodes *n, const char *prefix,
	   struct error *err)
{
	int rc = crew_open(c, n->list, n->remote, prefix, err);

	/* Nobody has asked for them: this process works alone. */
	if (rc < 0 && n->list == n->launch.nodes && err->kind == ERROR_ABSENT) {
		hostlist_free(&c->nodes);
		error_clear(err);
		rc = 0;
	}
	if (n->timeout > 0)
		c->remote.idle = (double)n->timeout;
	return rc;
}

int
share_open(struct share *s, const struct share_nodes *n, const char *prefix,
	   struct error *err)
{
	*s = (struct share){
		.reading = { .help = { -1, crew_transfer }, .crew = &s->crew },
	};
	return share_crew(&s->crew, n, prefix, err);
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
	if (s->look)
		argv[n++] = "--dry-run";
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
static bool
take_answer(void *arg, size_t from, const struct json_value *j)
{
	struct share *s = arg;
	uint64_t sets = 0;

	(void)from;
	rebuild_result_read(j, &s->rebuilt);
	if (json_get_u64(j, "set_count", SIZE_MAX, &sets))
		s->sets += sets;
	return true;
}

/* The state of sharing a plan out. */
struct sharing {
	struct share *s;
	struct catalogue *c;
	int64_t id;
	const struct catalogue_options *o;
	const char *const *argv;
	size_t nsets;
	bool *done;	/* by set */
	uint64_t *keys; /* by set: in the next plan it must be the same one */
};

/* One round.  *again: nodes were lost, and others are left. */
static int
share_round(struct sharing *g, const uint64_t *bytes, bool *again,
	    struct error *err)
{
	const struct crew_task task = {
		.argv = g->argv,
		.what = "on other nodes",
		.bytes = bytes,
		.count = g->nsets,
		.least = g->s->least_each,
		.digest = digest_of,
		.done = g->done,
		.work = &g->o->work,
		.answer = take_answer,
		.arg = g->s,
	};
	size_t lost = 0, failed = 0;
	int rc = crew_work(&g->s->crew, &task, &lost, &failed, err);

	*again = rc == 0 && lost > 0 && g->s->crew.nodes.count > 0;
	/* Also those that did not come to the end. */
	g->s->written = !g->s->look;
	g->s->complete = rc == 0;
	for (size_t i = 0; i < g->nsets; i++)
		g->s->complete &= bytes[i] == 0 || g->done[i];
	return rc;
}

/* If files were written, plan again: what is there now says what is left to
 * do. */
static int
plan_again(struct sharing *g, struct plan **plan, struct error *err)
{
	if (g->s->written) {
		plan_free(*plan);
		*plan = share_plan(g->c, g->id, g->s->build, g->o, err);
	}
	if (*plan == NULL)
		return -1;
	for (size_t i = 0; i < g->nsets; i++) {
		const bool same = (*plan)->nsets == g->nsets &&
				  plan_set_key(&(*plan)->sets[i]) == g->keys[i];

		/* An answer does not count until its files are there. */
		const bool there =
			same &&
			(g->s->look || (*plan)->sets[i].verdict == SET_WHOLE);

		g->s->complete = g->s->complete && (there || !g->done[i]);
		g->done[i] = g->done[i] && there;
	}
	if ((*plan)->nsets == g->nsets)
		plan_give_away(*plan, g->done);
	else
		g->s->complete = false;
	return 0;
}

static int
share_rounds(struct sharing *g, struct plan **plan, struct error *err)
{
	const bool looks = g->s->checksums || g->s->deep;
	uint64_t *bytes = NULL, total = 0;
	bool again = true, first = true;
	int rc = 0;

	while (rc == 0 && again && (*plan)->nsets == g->nsets) {
		bytes = plan_set_bytes(*plan, looks, err);
		if (bytes == NULL)
			return err->kind == ERROR_NONE ? 0 : -1;
		total = 0;
		for (size_t i = 0; i < g->nsets; i++)
			total += bytes[i];
		again = total > 0 && (!first || total >= g->s->least);
		if (!again && !first)
			g->s->complete = total == 0;
		first = false;
		g->s->plan = *plan;
		if (again) {
			rc = share_round(g, bytes, &again, err);
			if (rc == 0)
				rc = plan_again(g, plan, err);
		}
		mem_free(bytes);
	}
	return rc;
}

int
share_out(struct share *s, struct catalogue *c, int64_t id,
	  const struct catalogue_options *o, struct plan **plan,
	  struct error *err)
{
	struct arena *a = arena_new();
	const size_t n = (*plan)->nsets;
	struct sharing g = {
		.s = s,
		.c = c,
		.id = id,
		.o = o,
		.argv = worker(s, c, id, o, a),
		.nsets = n,
		.done = arena_alloc(a, n + 1, sizeof(*g.done)),
		.keys = arena_alloc(a, n + 1, sizeof(*g.keys)),
	};
	int rc = 0;

	s->complete = s->written = false;
	s->sets = 0;
	s->rebuilt = (struct rebuild_result){ .files = 0 };
	for (size_t i = 0; i < n; i++)
		g.keys[i] = plan_set_key(&(*plan)->sets[i]);
	if (s->crew.nodes.count > 0)
		rc = share_rounds(&g, plan, err);
	arena_free(a);
	return rc;
}

/* For struct put_guard: another dataset has one of the paths. */
static int
refuse_owned(void *arg, const struct put *p, struct error *err)
{
	const struct owners_guard *g = arg;
	const char **paths = mem_calloc(put_count(p) + 1, sizeof(*paths));
	bool *keep = mem_calloc(put_count(p) + 1, sizeof(*keep)), any = false;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < put_count(p); i++)
		if (put_what(put_at(p, i))->kind == PUT_FILE)
			paths[n++] = put_what(put_at(p, i))->path;
	rc = owners_keep(arg, paths, n, keep, err);
	for (size_t i = 0; i < n; i++)
		any = any || keep[i];
	if (rc == 0 && any)
		rc = error_set(err, ERROR_DAMAGED,
			       "dataset %lld: another dataset has files of the "
			       "same names",
			       (long long)g->id);
	mem_free(paths);
	mem_free(keep);
	return rc;
}

int
share_rebuild(struct catalogue *c, struct plan *p,
	      const struct catalogue_options *o, struct rebuild_result *r,
	      struct error *err)
{
	struct owners_guard owners = { .catalogue = c, .id = p->id, .o = o };
	const struct rebuild_options ro = {
		.work = &o->work,
		.guard = { refuse_owned, &owners, NULL },
		.unlocked = true,
	};

	if (rebuild(p, &ro, r, err) < 0)
		return -1;
	for (size_t i = 0; i < p->nsets; i++)
		if (!p->sets[i].away &&
		    (p->sets[i].verdict == SET_LOST || p->sets[i].unproved))
			return plan_error(p, err);
	return p->undecided || p->flaw != NULL
		       ? error_set(err, ERROR_DAMAGED,
				   "data and redundancy differ, and it is not "
				   "clear which is wrong")
		       : 0;
}

int
share_verify(void *share, struct catalogue *c, int64_t id,
	     const struct catalogue_options *o, struct plan **plan,
	     struct error *err)
{
	struct share *s = share;

	s->look = true;
	s->checksums = o->checksums;
	s->deep = o->deep;
	if (share_out(s, c, id, o, plan, err) < 0)
		return -1;
	return s->complete ? 1 + (int)s->sets : 0;
}

int
share_build(void *share, struct catalogue *c, int64_t id,
	    const struct catalogue_options *o, struct plan **plan,
	    struct error *err)
{
	struct share *s = share;

	/* What is to be recorded of all files is read by one process. */
	if (o->checksums)
		return 0;
	s->build = true;
	s->deep = o->deep || (o->compare && !plan_provable(*plan));
	if (share_out(s, c, id, o, plan, err) < 0)
		return -1;
	/* The sets that were done are compared again with the others. */
	if (s->written && s->deep && !s->complete) {
		plan_free(*plan);
		*plan = share_plan(c, id, true, o, err);
	}
	return *plan == NULL ? -1 : s->written;
}
