/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.c - run one command on many nodes: set up, start processes for waiting
 * nodes, up to the fanout, read from all of them, end those that exceed a
 * limit, and clean up.  A node that times out frees its place at once, though
 * its process may end later.
 */
#include "remote/remote.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "arena.h"
#include "clock.h"
#include "hostlist.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "remote/remote_impl.h"

/* Processes that are started in a row. */
#define STARTS 64

/* ssh and pdsh get half of their time limit in addition, at most this many
 * seconds, to report a time-out themselves. */
#define CONNECT_MORE 1.0

/* --- Starting --- */

void
remote_queue(struct remote_run *run, struct remote_node *n)
{
	n->next = NULL;
	*run->tail = n;
	run->tail = &n->next;
}

/* Start a process for the first node that waits. */
static void
start(struct remote_run *run)
{
	struct remote_node *n = run->queue;
	const struct remote_way *way = &run->ways[n->way];
	const char *no = remote_command_objection(run, way, n->name);
	const int rc = no == NULL ? remote_proc_start(run, n) : 0;

	/* Out of resources: wait until a running process ends. */
	run->short_of = run->procs != NULL && (rc == EMFILE || rc == ENFILE ||
					       rc == EAGAIN || rc == ENOMEM);
	if (run->short_of || run->failed)
		return;
	run->queue = n->next;
	if (run->queue == NULL)
		run->tail = &run->queue;
	if (no != NULL) {
		remote_node_end(run, n, REMOTE_NOT_STARTED, -1, "%s", no);
		return;
	}
	if (rc != 0) {
		remote_node_end(
			run, n, REMOTE_NOT_STARTED, -1, "cannot start %s: %s",
			way->kind == REMOTE_LOCAL ? run->argv[0]
						  : remote_kind_name(way->kind),
			strerror(rc));
		return;
	}
	n->phase = way->kind == REMOTE_LOCAL ? REMOTE_RUNNING : REMOTE_STARTING;
	n->start = n->last = clock_seconds();
	run->waiting--;
	run->active++;
}

/* --- Limits --- */

static void
give_up(struct remote_run *run, struct remote_node *n, const char *what,
	double seconds)
{
	n->proc->overdue = true;
	remote_node_end(run, n, REMOTE_TIMEOUT, -1, "%s %g s", what, seconds);
}

/* End the nodes that exceed a limit, and the processes whose node has ended. */
static void
check_limits(struct remote_run *run, double now)
{
	const struct remote_options *o = run->o;
	const double half = o->connect / 2;

	for (struct remote_proc *p = run->procs; p != NULL; p = p->next) {
		struct remote_node *n = p->node;
		double connect = o->connect;

		if (p->way->kind == REMOTE_SSH || p->way->kind == REMOTE_PDSH)
			connect += half < CONNECT_MORE ? half : CONNECT_MORE;
		if (n->proc != p || n->phase == REMOTE_ENDED) {
			if (p->push_at <= 0)
				p->push_at =
					p->overdue ? now : now + REMOTE_GRACE;
		} else if (o->limit > 0 && now - n->start > o->limit) {
			give_up(run, n, "not done within", o->limit);
		} else if (n->phase == REMOTE_STARTING && o->connect > 0) {
			if (now - n->start > connect)
				give_up(run, n, "no answer within", o->connect);
		} else if (o->idle > 0 && now - n->last > o->idle) {
			give_up(run, n, "no output for", o->idle);
		}
		remote_proc_push(run, p, now);
	}
}

/* Start no more processes, and end those that run. */
static void
end_all(struct remote_run *run, const char *why)
{
	const double now = clock_seconds();

	run->ending = true;
	run->queue = NULL;
	for (size_t i = 0; i < run->count; i++) {
		struct remote_node *n = &run->nodes[i];
		const bool waits = n->phase == REMOTE_WAITING;

		remote_node_end(run, n,
				waits ? REMOTE_NOT_STARTED : REMOTE_KILLED, -1,
				"%s", why);
	}
	for (struct remote_proc *p = run->procs; p != NULL; p = p->next)
		if (p->pushed == 0)
			p->push_at = now;
}

/* --- The loop --- */

/* Free the processes that have ended. */
static void
sweep(struct remote_run *run)
{
	struct remote_proc **link = &run->procs;

	while (*link != NULL) {
		struct remote_proc *p = *link;

		if (!p->exited) {
			link = &p->next;
			continue;
		}
		*link = p->next;
		if (p->node->proc == p)
			p->node->proc = NULL;
		remote_proc_free(run, p);
		run->nprocs--;
		run->short_of = false;
	}
}

static bool
may_start(const struct remote_run *run)
{
	return !run->ending && run->queue != NULL &&
	       run->queue->due <= clock_seconds() &&
	       run->active < run->fanout && !run->short_of && !run->failed &&
	       run->nprocs < 2 * (size_t)run->fanout;
}

static int
loop(struct remote_run *run, struct error *err)
{
	double now = 0;

	while (run->waiting > 0 || run->procs != NULL) {
		if (!run->ending && run->o->stop != NULL && run->o->stop()) {
			run->stopped = true;
			end_all(run, "stopped");
		}
		if (!run->ending && run->failed)
			end_all(run, "out of memory");
		/* Between starts, hear those that run. */
		for (int i = 0; i < STARTS && may_start(run); i++)
			start(run);
		if (may_start(run))
			run->look = 0;
		remote_proc_wait(run);
		now = clock_seconds();
		if (remote_proc_look(run, now)) {
			check_limits(run, now);
			sweep(run);
		}
	}
	if (run->failed)
		return error_no_memory(err);
	if (run->stopped) {
		errno = EINTR;
		return error_sys(err, "commands on the nodes were stopped");
	}
	return 0;
}

/* --- Runs --- */

/* Time limit of the query for the nodes of Flux, in seconds. */
#define FLUX_ANSWER 10.0

void
remote_result_free(struct remote_result *r)
{
	buf_free(&r->out);
	buf_free(&r->err);
	buf_free(&r->text);
	memset(r, 0, sizeof(*r));
}

void
remote_results_free(struct remote_result *r, size_t count)
{
	for (size_t i = 0; r != NULL && i < count; i++)
		remote_result_free(&r[i]);
}

/* Flux addresses nodes by rank; of several brokers on a node the first is used.
 * The broker's attribute `hostlist` maps ranks to names
 * (flux-broker-attributes(7)). */
static int
find_ranks(struct remote_run *run, struct error *err)
{
	const char *const argv[] = { "flux", "getattr", "hostlist", NULL };
	const struct remote_options o = { .kind = REMOTE_LOCAL,
					  .limit = FLUX_ANSWER,
					  .stop = run->o->stop };
	const char *here[] = { "localhost" };
	const struct hostlist one = { .names = here, .count = 1 };
	struct remote_result r = { .state = REMOTE_DONE };
	int rc = remote_run(&one, argv, &o, &r, err);

	if (rc == 0 && (r.state != REMOTE_DONE || r.status != 0))
		rc = error_set(err, ERROR_ABSENT,
			       "flux getattr hostlist: %s: not inside an "
			       "instance of Flux?",
			       r.why != NULL ? r.why : "failed");
	else if (rc == 0 && r.out.len > 0 &&
		 hostlist_add(&run->brokers, r.out.data, err) < 0)
		rc = error_wrap(err, "flux getattr hostlist");
	if (rc == 0)
		run->ranks = hostlist_map(&run->brokers, err);
	remote_result_free(&r);
	return run->ranks != NULL ? 0 : -1;
}

static int
init(struct remote_run *run, const struct hostlist *nodes,
     struct remote_result *results, struct error *err)
{
	const unsigned fanout = run->o->fanout;
	bool any = false;

	run->fanout = fanout == 0 ? REMOTE_FANOUT : fanout;
	if (run->fanout > REMOTE_FANOUT_MAX)
		run->fanout = REMOTE_FANOUT_MAX;
	run->keep = run->o->keep > 0 ? run->o->keep : REMOTE_KEEP;
	run->talk = run->o->talk > 0 ? run->o->talk : 4 * run->keep;
	run->polite = run->o->polite > 0 ? run->o->polite : REMOTE_POLITE;
	run->nodes = mem_calloc(nodes->count, sizeof(*run->nodes));
	run->buffer = mem_alloc(1, REMOTE_BUFFER);
	run->arena = arena_new();
	run->scratch = arena_new();
	if (run->nodes == NULL || run->buffer == NULL || run->arena == NULL ||
	    run->scratch == NULL)
		return error_no_memory(err);
	run->events = epoll_create1(EPOLL_CLOEXEC);
	if (run->events < 0)
		return error_sys(err, "commands on the nodes: no epoll");
	/* Prepare the ways; one that cannot be used is left out if there is
	 * another. */
	for (size_t i = 0; i < run->known->count; i++) {
		struct remote_way *w = &run->ways[i];

		*w = run->known->list[i];
		w->usable =
			remote_command_init(run, w, err) == 0 &&
			(w->kind != REMOTE_FLUX || find_ranks(run, err) == 0);
		any = any || w->usable;
	}
	if (!any)
		return -1;
	error_clear(err);
	run->count = run->waiting = nodes->count;
	run->tail = &run->queue;
	for (size_t i = 0; i < nodes->count; i++) {
		struct remote_node *n = &run->nodes[i];

		n->name = nodes->names[i];
		n->result = &results[i];
		n->sofar = REMOTE_NOT_STARTED;
		n->way = n->first = remote_way_first(run, n->name);
		remote_queue(run, n);
	}
	return 0;
}

int
remote_run(const struct hostlist *nodes, const char *const *argv,
	   const struct remote_options *o, struct remote_result *results,
	   struct error *err)
{
	struct remote_options resolved = *o;
	struct remote_run run = {
		.o = &resolved,
		.argv = argv,
		.events = -1,
		.known = o->ways,
		.once = { .list = { { .kind = o->kind,
				      .module = o->module != NULL ? o->module
								  : "ssh" } },
			  .count = 1,
			  .tries = 1 },
	};
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	struct sigaction before;
	bool changed = false;
	int rc = -1;

	for (size_t i = 0; i < nodes->count; i++)
		results[i] = (struct remote_result){
			.state = REMOTE_NOT_STARTED,
			.status = -1,
			.why = "nothing was tried",
		};
	if (argv[0] == NULL)
		return error_set(err, ERROR_USAGE, "no command to run");
	if (nodes->count == 0)
		return 0;
	if (run.known == NULL && o->kind != REMOTE_AUTO) {
		run.known = &run.once;
	} else if (run.known == NULL) {
		if (remote_resolve(nodes, &resolved, NULL, err) < 0)
			goto out;
		run.known = resolved.ways;
	}
	/* Some batch systems start jobs with SIGCHLD ignored.  The kernel then
	 * discards the exit status of children, so set it to its default. */
	changed = sigaction(SIGCHLD, NULL, &before) == 0 &&
		  (before.sa_handler == SIG_IGN ||
		   (before.sa_flags & SA_NOCLDWAIT) != 0) &&
		  sigaction(SIGCHLD, &usual, NULL) == 0;
	if (init(&run, nodes, results, err) == 0)
		rc = loop(&run, err);
	for (size_t i = 0; run.nodes != NULL && i < run.count; i++) {
		buf_free(&run.nodes[i].words);
		buf_free(&run.nodes[i].before);
		buf_free(&run.nodes[i].sign);
	}
	io_close(run.events);
	map_free(run.ranks);
	hostlist_free(&run.brokers);
	arena_free(run.arena);
	arena_free(run.scratch);
	mem_free(run.buffer);
	mem_free(run.nodes);
	if (changed)
		sigaction(SIGCHLD, &before, NULL);
out:
	if (o->ways == NULL)
		remote_forget(&resolved);
	return rc;
}
