/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ask.c - run scr_copy on the nodes; ask all of them what their caches hold;
 * where the caches were looked for, and how many nodes have them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "meta/flush.h"
#include "scavenge/nodecache.h"
#include "scavenge/scavenge_impl.h"
#include "site/job.h"
#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "str.h"

/* --- Directories of the job --- */

/* Is the job that wrote flush.scr another one than that we look for? */
static bool
is_another(const struct job *j, const struct jobfiles_owner *owner)
{
	return (owner->id[0] != '\0' && !str_eq(owner->id, j->id)) ||
	       (owner->user[0] != '\0' && !str_eq(owner->user, j->user));
}

int
scavenge_check_places(const struct scavenge *s, struct error *err)
{
	struct jobfiles_owner owner;
	const size_t all = s->job->nodes.count;
	int64_t ran = 0;
	bool anywhere = false;
	const struct job *j = NULL;
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < 1 + s->job->ncaches; i++)
		anywhere = anywhere || s->there[i] > 0;
	if (anywhere || s->alive == 0 ||
	    (s->flush_known && s->others_listed == 0 &&
	     scavenge_status(s) == STATUS_OK))
		return 0;
	if (jobfiles_nodes(s->job->prefix, &ran, NULL) < 0 || ran < 0)
		ran = 0;
	jobfiles_owner(s->job->prefix, &owner);
	/* Is a node among those that answered on which the job ran?  nodes.scr
	 * has the number of nodes of its last run (0: unknown); the other nodes
	 * are spare. */
	if (!s->flush_known
		    ? ran == 0
		    : s->alive != all && s->alive + (size_t)ran <= all &&
			      !is_another(s->job, &owner))
		return 0;
	j = s->job;
	buf_printf(&text, "job %s of user %s: none of %zu nodes has %s", j->id,
		   j->user, s->alive, j->cntl_dir);
	for (size_t i = 0; i < j->ncaches; i++)
		if (!str_eq(j->caches[i].dir, j->cntl_dir))
			buf_printf(&text, ", %s", j->caches[i].dir);
	buf_add_str(&text, "; ");
	/* Which job left something, by the files on the prefix. */
	if (!s->flush_known)
		buf_add_str(&text, "a job has run here, but left no " FLUSH_FILE
				   ", which lists its datasets");
	else if (is_another(s->job, &owner) || owner.id[0] == '\0')
		buf_printf(&text,
			   FLUSH_FILE " lists datasets in the caches of job %s "
				      "of user %s",
			   owner.id[0] != '\0' ? owner.id : "(unknown)",
			   owner.user[0] != '\0' ? owner.user : "(unknown)");
	else
		buf_add_str(&text, FLUSH_FILE " lists datasets in its caches");
	error_set(err, ERROR_SYSTEM,
		  "%s: see --job-id, --user, --cntldir, --cachedir and "
		  "--nodes",
		  text.data);
	buf_free(&text);
	return -1;
}

/* --- The state of a node --- */

/* Does the resource manager call the node down?  After each call it is asked
 * again, once. */
static int
ask_manager(struct scavenge *s, uint32_t node, bool *down, struct error *err)
{
	const struct hostlist *all = &s->job->nodes;
	struct hostlist list = HOSTLIST_INIT;
	int rc = 0;

	if (!s->manager_asked)
		rc = resmgr_down(s->job->rm, all, &list, err);
	/* They are in the order of all nodes. */
	for (size_t i = 0, k = 0;
	     rc == 0 && !s->manager_asked && i < all->count; i++) {
		s->nodes[i].down =
			k < list.count && str_eq(list.names[k], all->names[i]);
		k += s->nodes[i].down;
	}
	hostlist_free(&list);
	s->manager_asked = rc == 0;
	*down = rc == 0 && s->nodes[node].down;
	return rc;
}

/* The node may have datasets, or files of them, that nobody has seen. */
static void
hides(struct scavenge *s, uint32_t node)
{
	s->nodes[node].hides = true;
	s->hiding++;
	s->plan.hidden = true;
}

/* Set the state of a node that has no survey; `down`: the resource manager
 * calls it down.  Its cache is not used; it may have what is missing, unless it
 * is gone. */
static void
mark(struct scavenge *s, uint32_t node, enum scavenge_node_state state,
     bool down, const char *why)
{
	struct scavenge_node *n = &s->nodes[node];

	n->state = state;
	n->why = down ? arena_printf(s->arena, "%s calls it down; %s",
				     resmgr_name(s->job->rm), why)
		      : arena_strdup(s->arena, why);
	if (state == SCAVENGE_NODE_UNREACHABLE ||
	    state == SCAVENGE_NODE_INVALID)
		hides(s, node);
	else
		s->dead++;
	salvage_lose(&s->plan, node);
}

int
scavenge_unreached(struct scavenge *s, uint32_t node,
		   const struct remote_result *r, struct error *err)
{
	enum scavenge_node_state state = SCAVENGE_NODE_UNREACHABLE;
	bool down = false;

	/* Dead is only a node that nobody has heard, and that took no
	 * connection or is called down; what hangs or is silent may live, and
	 * so may what took a connection, refused, or printed something: the
	 * node, or something before it. */
	if (!r->begun && r->state != REMOTE_REFUSED) {
		if (r->state != REMOTE_DEAD &&
		    ask_manager(s, node, &down, err) < 0)
			return -1;
		if (down || r->state == REMOTE_DEAD)
			state = SCAVENGE_NODE_DEAD;
	}
	mark(s, node, state, down, r->why != NULL ? r->why : "does not answer");
	return 0;
}

/* --- Asking --- */

/*
 * The nodes to ask: *count numbers in *which.  Not those that the user calls
 * down, nor those that the resource manager has taken from the job and calls
 * down.
 */
static int
choose_nodes(struct scavenge *s, uint32_t **which, size_t *count,
	     struct error *err)
{
	const struct hostlist *all = &s->job->nodes;
	struct map *down = hostlist_map(s->o->down, NULL);
	struct hostlist list = HOSTLIST_INIT;
	struct buf text = BUF_INIT;
	int rc = 0;

	*which = arena_alloc(s->arena, all->count + 1, sizeof(**which));
	for (size_t i = 0; i < all->count && rc == 0; i++) {
		const bool user = map_get(down, all->names[i]) != MAP_NONE;
		const uint32_t node = (uint32_t)i;
		bool gone = false;

		s->nodes[i].name = all->names[i];
		if (!user && i >= s->job->present)
			rc = ask_manager(s, node, &gone, err);
		if (user) {
			mark(s, node, SCAVENGE_NODE_SKIPPED, false,
			     "Specified as down");
		} else if (!gone) {
			(*which)[(*count)++] = node;
		} else {
			mark(s, node, SCAVENGE_NODE_DEAD, true,
			     "it is no more in the job");
			scavenge_complain(s, node, "%s", s->nodes[i].why);
		}
	}
	s->manager_asked = false;
	(void)hostlist_add_list(&list, s->o->down, NULL);
	(void)hostlist_minus(&list, &s->job->nodes, NULL);
	(void)hostlist_text(&list, &text, NULL);
	if (rc == 0 && list.count > 0)
		work_say(s->work, "--down: %s: not among the nodes of the job",
			 text.data);
	buf_free(&text);
	hostlist_free(&list);
	map_free(down);
	return rc;
}

void
scavenge_complain(struct scavenge *s, uint32_t node, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	complaints_add(&s->complaints, s->nodes[node].name, text);
}

void
scavenge_report(struct scavenge *s)
{
	struct buf text = BUF_INIT;
	const char *rest = NULL, *line = NULL;
	size_t len = 0;

	complaints_take(&s->complaints, &text);
	rest = text.data;
	while ((line = str_line(&rest, &len)) != NULL)
		work_say(s->work, "%.*s", (int)len, line);
	buf_free(&text);
}

const char *
scavenge_reason(const struct remote_result *r, char *to, size_t size)
{
	if (r->err.len == 0)
		return r->why != NULL ? r->why : "failed";
	snprintf(to, size, "%.*s", (int)strcspn(r->err.data, "\n"),
		 r->err.data);
	return to;
}

/* The files of other nodes have shown that it belongs to another prefix. */
static bool
is_known_other(const struct scavenge *s, int64_t id, uint64_t created)
{
	const struct scavenge_other *o = s->others;

	while (o != NULL && (o->id != id || o->created != created))
		o = o->next;
	return o != NULL && created > 0;
}

static void
take_dataset(struct scavenge *s, uint32_t node,
	     const struct nodecache_dataset *v)
{
	struct error why = ERROR_INIT;
	enum jobfiles_origin of = JOBFILES_HERE;
	struct buf other = BUF_INIT;
	struct salvage_dataset *d = NULL;
	struct scavenge_other *o = NULL;

	/* The dataset of a job with another prefix is left alone; with
	 * --moved-from, the user has said that it is ours. */
	if (is_known_other(s, v->id, v->created))
		return;
	if (s->o->catalogue->moved_from == NULL)
		of = jobfiles_origin(s->job->prefix_real, v->place, &other);
	if (of == JOBFILES_ELSEWHERE) {
		scavenge_complain(s, node,
				  "dataset %" PRId64
				  ": not saved: it is of the prefix %s; "
				  "save it with that one (-p)",
				  v->id, other.data);
		buf_free(&other);
		/* Remember it, also for nodes that have no file of it, only
		 * metadata. */
		o = arena_alloc(s->arena, 1, sizeof(*o));
		*o = (struct scavenge_other){ v->id, v->created, s->others };
		s->others = o;
		d = salvage_find(&s->plan, v->id);
		if (d != NULL && is_known_other(s, d->id, d->created)) {
			salvage_leave(d);
			*d = s->plan.datasets[--s->plan.count];
		}
		return;
	}
	buf_free(&other);
	d = salvage_dataset(&s->plan, v, &why);
	if (d != NULL) {
		d->cached = true;
		d->stray = d->stray || of == JOBFILES_GONE;
	}
	if (v->problem != NULL)
		scavenge_complain(s, node, "dataset %" PRId64 ": %s", v->id,
				  v->problem);
	if (v->unread != NULL &&
	    (v->problem == NULL || !str_eq(v->problem, v->unread)))
		scavenge_complain(s, node, "dataset %" PRId64 ": %s", v->id,
				  v->unread);
	for (size_t i = 0; d != NULL && i < v->nranks; i++)
		if (salvage_found(&s->plan, d, node, &v->ranks[i], &why) < 0)
			d = NULL;
	/* An invalid answer of one node must not fail the scavenge. */
	if (d == NULL)
		scavenge_complain(s, node, "%s", why.text);
}

static void
take_survey(struct scavenge *s, uint32_t node, const struct remote_result *r)
{
	struct scavenge_node *n = &s->nodes[node];
	struct error why = ERROR_INIT;
	struct nodecache v;
	char text[512];

	if (nodecache_parse(&v, r->out.data == NULL ? "" : r->out.data,
			    r->out.len, &why) < 0) {
		nodecache_free(&v);
		mark(s, node, SCAVENGE_NODE_INVALID, false,
		     r->why != NULL || r->err.len > 0
			     ? scavenge_reason(r, text, sizeof(text))
			     : why.text);
		scavenge_complain(s, node, "%s", n->why);
		return;
	}
	n->state = SCAVENGE_NODE_ALIVE;
	n->host = arena_strdup(s->arena, v.host);
	s->alive++;
	for (size_t i = 0; i < 1 + s->job->ncaches; i++)
		s->there[i] += i >= 63 || (v.there >> i & 1) != 0;
	if (v.unread)
		hides(s, node);
	/* A spare node has no cache: not worth a line in the log. */
	if (v.problem != NULL && (v.unread || v.ndatasets > 0 ||
				  !str_ends(v.problem, strerror(ENOENT))))
		scavenge_complain(s, node, "%s", v.problem);
	for (size_t i = 0; i < v.ndatasets; i++)
		take_dataset(s, node, &v.datasets[i]);
	nodecache_free(&v);
}

void
scavenge_call_add(struct scavenge_call *c, const char *option,
		  const char *value)
{
	c->argv[c->argc++] = option;
	c->argv[c->argc++] = value;
}

void
scavenge_call_init(struct scavenge_call *c, struct scavenge *s)
{
	const struct job *j = s->job;
	const size_t max = 2 * j->ncaches + 5 + SCAVENGE_ARGS + 1;

	*c = (struct scavenge_call){ .remote = s->o->remote };
	c->remote.keep = c->remote.talk = NODECACHE_MAX;
	c->argv = arena_alloc(s->arena, max, sizeof(*c->argv));
	c->argv[c->argc++] = s->o->copy;
	scavenge_call_add(c, "--cntldir", j->cntl_dir);
	if (s->sees != NULL)
		scavenge_call_add(c, "--sees", s->sees);
	for (size_t i = 0; i < j->ncaches; i++)
		scavenge_call_add(c, "--cachedir", j->caches[i].dir);
}

int
scavenge_call_run(struct scavenge_call *c, struct scavenge *s,
		  const uint32_t *nodes, size_t count, struct error *err)
{
	s->manager_asked = false;
	for (size_t i = 0; i < count; i++)
		(void)hostlist_add_name(&c->hosts, s->nodes[nodes[i]].name,
					NULL);
	c->results = mem_calloc(count + 1, sizeof(*c->results));
	return count == 0 ? 0
			  : remote_run(&c->hosts, c->argv, &c->remote,
				       c->results, err);
}

void
scavenge_call_end(struct scavenge_call *c)
{
	remote_results_free(c->results, c->hosts.count);
	mem_free(c->results);
	hostlist_free(&c->hosts);
}

int
scavenge_ask(struct scavenge *s, struct error *err)
{
	struct scavenge_call call;
	uint32_t *nodes = NULL;
	size_t count = 0;
	int rc = choose_nodes(s, &nodes, &count, err);

	scavenge_call_init(&call, s);
	call.argv[call.argc++] = "--list";
	if (call.remote.limit <= 0)
		call.remote.limit = SCAVENGE_SECONDS;
	if (rc == 0)
		rc = scavenge_call_run(&call, s, nodes, count, err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct remote_result *r = &call.results[i];

		if (r->state == REMOTE_DONE) {
			take_survey(s, nodes[i], r);
			continue;
		}
		rc = scavenge_unreached(s, nodes[i], r, err);
		if (rc == 0)
			scavenge_complain(s, nodes[i], "%s",
					  s->nodes[nodes[i]].why);
	}
	if (rc == 0)
		scavenge_report(s);
	scavenge_call_end(&call);
	return rc;
}
