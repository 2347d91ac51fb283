/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crew.c - cut a list of pieces into parts, have them done, and see what became
 * of them.
 */
#include "site/crew.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "conf.h"
#include "error.h"
#include "json.h"
#include "kvtree/value.h"
#include "mem.h"
#include "path.h"
#include "progress.h"
#include "remote/complaints.h"
#include "site/resmgr.h"
#include "str.h"
#include "work.h"

#define CONNECT_SECONDS 10
/* A worker prints a line every second. */
#define IDLE_SECONDS 30
#define LINE_MAX_BYTES ((size_t)4 << 10)

static void
set_limits(struct crew *c)
{
	c->remote.limit = 0;
	c->remote.keep = LINE_MAX_BYTES;
	c->remote.talk = SIZE_MAX;
	/* All at once. */
	c->remote.fanout = REMOTE_FANOUT_MAX;
}

int
crew_open(struct crew *c, const char *nodes, const char *remote,
	  const char *prefix, struct error *err)
{
	const struct conf_where where = { .prefix = prefix };
	struct conf *conf = conf_open(&where, err);
	struct resmgr *rm = NULL;
	int rc = -1;

	*c = (struct crew){ .nodes = HOSTLIST_INIT };
	if (conf != NULL)
		rm = resmgr_open(conf, NULL, err);
	if (rm != NULL && hostlist_add(&c->nodes, nodes, err) < 0) {
		error_wrap(err, "%s", nodes);
	} else if (rm != NULL && hostlist_uniq(&c->nodes, err) == 0) {
		if (remote == NULL)
			remote = conf_get(conf, "SCR_REMOTE");
		c->name = mem_strdup(remote != NULL ? remote : "");
		rc = remote_choose(c->name, &c->remote, err);
	}
	if (rc == 0 && c->nodes.count == 0)
		rc = error_set(err, ERROR_USAGE, "an empty list of nodes");
	c->remote.connect = CONNECT_SECONDS;
	c->remote.idle = IDLE_SECONDS;
	set_limits(c);
	if (rc == 0)
		c->remote.around = resmgr_launcher(rm);
	if (rc == 0)
		rc = remote_resolve(&c->nodes, &c->remote, NULL, err);
	resmgr_close(rm);
	conf_close(conf);
	return rc;
}

void
crew_close(struct crew *c)
{
	if (!c->borrowed)
		remote_forget(&c->remote);
	hostlist_free(&c->nodes);
	mem_free((void *)c->name);
	*c = (struct crew){ .nodes = HOSTLIST_INIT };
}

void
crew_take(struct crew *c, const struct remote_options *o)
{
	*c = (struct crew){ .nodes = HOSTLIST_INIT,
			    .remote = *o,
			    .borrowed = true };
	set_limits(c);
}

/* Each piece goes to the node in whose share of the bytes its middle lies. */
void
crew_cut(const struct crew_task *t, size_t n, size_t *from, size_t *to)
{
	long double total = 0, before = 0;

	for (size_t i = 0; i < t->count; i++)
		total += (long double)t->bytes[i];
	for (size_t k = 0; k < n; k++) {
		from[k] = 1;
		to[k] = 0;
	}
	for (size_t i = 0; i < t->count; i++) {
		const long double bytes = (long double)t->bytes[i];
		size_t k = 0;

		if (t->bytes[i] == 0)
			continue;
		k = (size_t)((before + bytes / 2) / total * (long double)n);
		k = k < n ? k : n - 1;
		if (from[k] > to[k])
			from[k] = i;
		to[k] = i;
		before += bytes;
	}
}

/* The nodes of a round. */
struct round {
	const struct crew_task *task;
	struct round_node {
		uint64_t done; /* bytes */
		struct json_value *answer;
	} * nodes;
};

static void
take_line(void *arg, size_t node, const char *line)
{
	static const char word[] = "progress ";
	struct round *r = arg;
	struct round_node *n = &r->nodes[node];
	uint64_t done = 0;

	if (*line == '{') {
		json_release(n->answer);
		n->answer = json_parse(line, strlen(line), NULL);
	} else if (str_starts(line, word) &&
		   value_scan(line + strlen(word), UINT64_MAX, &done) != NULL &&
		   done > n->done) {
		progress_add(r->task->work->progress, done - n->done);
		n->done = done;
	}
}

/* What the node said, without the name of its command; or that it was lost, or
 * did not do its part. */
static void
complain(struct complaints *c, const char *node, const char *program,
	 const struct remote_result *r, bool did)
{
	const char *text = r->err.data, *line = NULL;
	char name[64], said[1024] = "";
	size_t len = 0;

	if (r->state != REMOTE_DONE) {
		snprintf(said, sizeof(said),
			 "%s: others do what is left of its part, or this node",
			 r->why != NULL ? r->why : "no answer");
		complaints_add(c, node, said);
		return;
	}
	snprintf(name, sizeof(name), "%s: ", path_base(program));
	while ((line = str_line(&text, &len)) != NULL) {
		const size_t skip = str_starts(line, name) ? strlen(name) : 0;

		if (said[0] != '\0')
			complaints_add(c, node, said);
		snprintf(said, sizeof(said), "%.*s", (int)(len - skip),
			 line + skip);
	}
	len = strlen(said);
	if (!did)
		snprintf(said + len, sizeof(said) - len, "%s%s",
			 len > 0 ? ": " : "",
			 r->status == STATUS_OK
				 ? "gave another answer than it should; its "
				   "part is done here"
				 : "its part is done here");
	complaints_add(c, node, said);
}

/* The command of each of `nodes` nodes, in `a`: the rate is shared out. */
static const char *const *
worker(const struct crew_task *t, size_t nodes, struct arena *a)
{
	const uint64_t rate = t->work->rate;
	const char **argv = NULL;
	size_t n = 0;

	while (t->argv[n] != NULL)
		n++;
	argv = arena_alloc(a, n + 2, sizeof(*argv));
	memcpy(argv, t->argv, n * sizeof(*argv));
	if (rate > 0)
		argv[n] = arena_printf(a, "--" WORK_RATE "=%" PRIu64,
				       rate / nodes);
	return argv;
}

int
crew_work(struct crew *c, const struct crew_task *t, size_t *lost,
	  size_t *failed, struct error *err)
{
	const size_t n = c->nodes.count;
	const uint64_t rate = t->work->rate;
	struct hostlist used = HOSTLIST_INIT, left = HOSTLIST_INIT;
	struct complaints complaints = { .count = 0 };
	struct remote_options o = c->remote;
	struct remote_result *r = mem_calloc(n, sizeof(*r));
	struct arena *a = arena_new();
	size_t *from = arena_alloc(a, n, sizeof(*from));
	size_t *to = arena_alloc(a, n, sizeof(*to));
	const char **more = arena_alloc(a, n, sizeof(*more));
	struct round round = { t, mem_calloc(n, sizeof(*round.nodes)) };
	struct buf text = BUF_INIT;
	uint64_t total = 0;
	size_t parts = n;
	int rc = 0;

	*lost = *failed = 0;
	for (size_t i = 0; i < t->count; i++)
		total += t->bytes[i];
	parts = t->least > 0 && total / t->least < n ? total / t->least + 1 : n;
	if (rate > 0 && rate / WORK_RATE_LEAST < parts)
		parts = rate / WORK_RATE_LEAST;
	crew_cut(t, parts, from, to);
	for (size_t i = parts; i < n; i++)
		from[i] = 1;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const char *digest = t->same;

		if (from[i] > to[i])
			continue;
		if (t->digest != NULL)
			digest = t->digest(t->arg, from[i], to[i], a, err);
		if (digest == NULL) {
			rc = -1;
			break;
		}
		more[used.count] = arena_printf(a, "--" CREW_PART "=%zu-%zu:%s",
						from[i], to[i], digest);
		(void)hostlist_add_name(&used, c->nodes.names[i], NULL);
	}
	work_detail(t->work, "%s, on %zu %s", str_size(total),
		    str_count(used.count, "node"));
	if (t->what != NULL)
		progress_phase(t->work->progress, t->what, total);
	o.more = more;
	o.wary = t->wary;
	o.line = take_line;
	o.arg = &round;
	o.stop = t->work->stop;
	if (rc == 0 && used.count > 0)
		rc = remote_run(&used, worker(t, used.count, a), &o, r, err);
	for (size_t i = 0, k = 0; rc == 0 && i < n; i++) {
		const char *name = c->nodes.names[i];
		bool reached = true;

		if (from[i] <= to[i]) {
			const struct round_node *is = &round.nodes[k];
			uint64_t bytes = 0;
			bool did = false;

			reached = r[k].state == REMOTE_DONE;
			did = reached && r[k].status == STATUS_OK &&
			      is->answer != NULL &&
			      t->answer(t->arg, from[i], is->answer);
			if (r[k].err.len > 0 || !did)
				complain(&complaints, name, t->argv[0], &r[k],
					 did);
			for (size_t j = from[i]; did && j <= to[i]; j++) {
				bytes += t->bytes[j];
				if (t->done != NULL)
					t->done[j] |= t->bytes[j] > 0;
			}
			/* What it said last, and what does not count. */
			progress_add(t->work->progress, bytes - is->done);
			*lost += !reached;
			*failed += reached && !did;
			k++;
		}
		if (reached)
			(void)hostlist_add_name(&left, name, NULL);
	}
	complaints_take(&complaints, &text);
	if (text.len > 0)
		work_say_lines(t->work, text.data);
	if (rc == 0) {
		hostlist_free(&c->nodes);
		c->nodes = left;
	} else {
		hostlist_free(&left);
	}
	for (size_t i = 0; i < n; i++)
		json_release(round.nodes[i].answer);
	mem_free(round.nodes);
	remote_results_free(r, used.count);
	buf_free(&text);
	hostlist_free(&used);
	arena_free(a);
	mem_free(r);
	return rc;
}

bool
crew_part(const char *text, struct crew_part *out)
{
	uint64_t first = 0, last = 0;
	const char *rest = value_scan(text, SIZE_MAX - 1, &first);

	if (rest == NULL || *rest != '-' ||
	    (rest = value_scan(rest + 1, SIZE_MAX - 1, &last)) == NULL ||
	    *rest != ':' || last < first)
		return false;
	*out = (struct crew_part){ (size_t)first, (size_t)last, rest + 1 };
	return true;
}
