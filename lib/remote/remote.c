/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.c - run one command on many nodes: set up, start processes for waiting
 * nodes, up to the fanout, read from all of them, end those that exceed a
 * limit, and clean up.
 *
 * A node that times out frees its place at once.  A pdsh process therefore gets
 * only as many nodes as it serves at a time, so that no node waits inside pdsh
 * for dead ones.
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

/* Longest wait of epoll in seconds, and so the interval at which stop() is
 * polled; shorter if processes without a pidfd must be polled. */
#define TURN 0.1
#define TURN_ASK 0.01

/* Events per call. */
#define EVENTS 64

/* ssh and pdsh get half of their time limit in addition, at most this many
 * seconds, to report a time-out themselves. */
#define CONNECT_MORE 1.0

/* A pdsh process serves a quarter of the fanout. */
#define BATCH 4

/* --- Starting --- */

void
remote_queue(struct remote_run *run, struct remote_node *n)
{
	n->next = NULL;
	*run->tail = n;
	run->tail = &n->next;
}

/* Assign at most `max` of the nodes that are due to a process: the first one,
 * and others with the same way.  -1: no memory. */
static int
gather(struct remote_run *run, struct remote_proc *p, size_t max)
{
	struct remote_node **link = &run->queue, *n = NULL;
	const double now = clock_seconds();
	const char *no = NULL;

	while (p->count < max && (n = *link) != NULL && n->due <= now) {
		int fits = 1;

		if (p->way == NULL)
			p->way = &run->ways[n->way];
		no = remote_command_objection(run, p->way, n->name);
		if (p->way != &run->ways[n->way])
			fits = 0;
		else if (no == NULL && p->way->kind == REMOTE_PDSH)
			fits = remote_pdsh_label(p, n->name,
						 (size_t)(n - run->nodes));
		if (fits < 0)
			return -1;
		if (fits == 0) {
			link = &n->next;
			continue;
		}
		*link = n->next;
		if (*link == NULL)
			run->tail = link;
		if (no == NULL)
			p->nodes[p->count++] = (size_t)(n - run->nodes);
		else
			remote_node_end(run, n, REMOTE_NOT_STARTED, -1, "%s",
					no);
	}
	return 0;
}

/* The process was started: mark its nodes as started. */
static void
adopt(struct remote_run *run, struct remote_proc *p)
{
	const double now = clock_seconds();

	for (size_t i = 0; i < p->count; i++) {
		struct remote_node *n = &run->nodes[p->nodes[i]];

		n->phase = p->way->kind == REMOTE_LOCAL ? REMOTE_RUNNING
							: REMOTE_STARTING;
		n->start = n->last = now;
		n->proc = p;
	}
	p->open = p->count;
	p->next = run->procs;
	run->procs = p;
	run->nprocs++;
	run->waiting -= p->count;
	run->active += p->count;
}

/* Start a process for up to `max` nodes. */
static void
start(struct remote_run *run, size_t max)
{
	struct remote_proc *p = remote_proc_new(max);
	const char **argv = NULL;
	int rc = 0;

	if (p == NULL || gather(run, p, max) < 0) {
		run->failed = true;
		goto out;
	}
	if (p->count == 0)
		goto out;
	argv = remote_command_argv(run, p);
	if (argv == NULL) {
		run->failed = true;
		goto out;
	}
	rc = remote_proc_start(run, p, argv);
	if (rc == 0) {
		adopt(run, p);
		return;
	}
	/* Out of resources: wait until a running process ends. */
	run->short_of = run->procs != NULL && (rc == EMFILE || rc == ENFILE ||
					       rc == EAGAIN || rc == ENOMEM);
	if (run->short_of) {
		/* Put the nodes of a process that was not started back in
		 * front. */
		for (size_t i = p->count; i-- > 0;) {
			struct remote_node *n = &run->nodes[p->nodes[i]];

			if (run->queue == NULL)
				run->tail = &n->next;
			n->next = run->queue;
			run->queue = n;
		}
	}
	for (size_t i = 0; i < p->count && !run->short_of; i++)
		remote_node_end(run, &run->nodes[p->nodes[i]],
				REMOTE_NOT_STARTED, -1, "cannot start %s: %s",
				p->way->kind == REMOTE_LOCAL
					? run->argv[0]
					: remote_kind_name(p->way->kind),
				strerror(rc));
out:
	remote_proc_free(run, p);
}

/* --- Limits --- */

static void
give_up(struct remote_run *run, struct remote_node *n, const char *what,
	double seconds)
{
	n->proc->overdue = true;
	remote_node_end(run, n, REMOTE_TIMEOUT, -1, "%s %g s", what, seconds);
}

/* End the nodes that exceed a limit, and the processes all of whose nodes have
 * ended. */
static void
check_limits(struct remote_run *run, double now)
{
	const struct remote_options *o = run->o;
	const double half = o->connect / 2;

	for (struct remote_proc *p = run->procs; p != NULL; p = p->next) {
		const struct remote_way *way = p->way;
		const bool srun =
			way->module != NULL && strcmp(way->module, "exec") == 0;
		double connect = o->connect;

		if (way->kind == REMOTE_SSH ||
		    (way->kind == REMOTE_PDSH && !srun))
			connect += half < CONNECT_MORE ? half : CONNECT_MORE;
		for (size_t i = 0; i < p->count && p->open > 0; i++) {
			struct remote_node *n = &run->nodes[p->nodes[i]];

			if (n->proc != p || n->phase == REMOTE_ENDED)
				continue;
			if (o->limit > 0 && now - n->start > o->limit)
				give_up(run, n, "not done within", o->limit);
			else if (n->phase == REMOTE_STARTING &&
				 o->connect > 0) {
				if (now - n->start > connect)
					give_up(run, n, "no answer within",
						o->connect);
			} else if (o->idle > 0 && now - n->last > o->idle) {
				give_up(run, n, "no output for", o->idle);
			}
		}
		if (p->open == 0 && p->push_at <= 0)
			p->push_at = p->overdue ? now : now + REMOTE_GRACE;
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
		for (size_t i = 0; i < p->count; i++)
			if (run->nodes[p->nodes[i]].proc == p)
				run->nodes[p->nodes[i]].proc = NULL;
		remote_proc_free(run, p);
		run->nprocs--;
		run->short_of = false;
	}
}

static int
loop(struct remote_run *run, struct error *err)
{
	struct epoll_event events[EVENTS];
	double turn = TURN;
	int n = 0;

	while (run->waiting > 0 || run->procs != NULL) {
		if (!run->ending && run->o->stop != NULL && run->o->stop()) {
			run->stopped = true;
			end_all(run, "stopped");
		}
		if (!run->ending && run->failed)
			end_all(run, "out of memory");
		while (!run->ending && run->queue != NULL &&
		       run->queue->due <= clock_seconds() &&
		       run->active < run->fanout && !run->short_of &&
		       !run->failed && run->nprocs < 2 * (size_t)run->fanout) {
			size_t room = run->fanout - run->active;

			if (run->ways[run->queue->way].kind != REMOTE_PDSH)
				room = 1;
			else if (room > run->waiting)
				room = run->waiting;
			else if (run->active > 0 && room < run->fanout / BATCH)
				break;
			start(run, room);
		}
		turn = TURN;
		for (struct remote_proc *p = run->procs; p != NULL; p = p->next)
			if (p->pidfd < 0)
				turn = TURN_ASK;
		n = run->procs == NULL && run->queue == NULL
			    ? 0
			    : epoll_wait(run->epoll, events, EVENTS,
					 (int)(turn * 1000));
		for (int i = 0; i < n; i++)
			((struct remote_proc *)events[i].data.ptr)->ready =
				true;
		for (struct remote_proc *p = run->procs; p != NULL;
		     p = p->next) {
			if ((p->ready || p->pidfd < 0) && !p->exited)
				remote_proc_read(run, p);
			p->ready = false;
		}
		check_limits(run, clock_seconds());
		sweep(run);
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
find_ranks(struct remote_run *run, const struct remote_way *way,
	   struct error *err)
{
	const char *const argv[] = { way->program, "getattr", "hostlist",
				     NULL };
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
	run->buffer = mem_alloc(2, REMOTE_BUFFER);
	if (run->nodes == NULL || run->buffer == NULL)
		return error_no_memory(err);
	/* Prepare the ways; one that cannot be used is left out if there is
	 * another. */
	run->arena = arena_new();
	if (run->arena == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < run->known->count; i++) {
		struct remote_way *w = &run->ways[i];

		*w = run->known->list[i];
		w->usable = remote_command_init(run, w, err) == 0 &&
			    (w->kind != REMOTE_FLUX ||
			     find_ranks(run, w, err) == 0);
		if (!w->usable && err != NULL && err->kind == ERROR_NOMEM)
			return -1;
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
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run->epoll < 0)
		return error_sys(err, "cannot wait for processes");
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
		.epoll = -1,
		.known = o->ways,
		.once = { .list = { { .kind = o->kind, .module = o->module } },
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
	io_close(run.epoll);
	for (size_t i = 0; run.nodes != NULL && i < run.count; i++) {
		buf_free(&run.nodes[i].words);
		buf_free(&run.nodes[i].before);
		buf_free(&run.nodes[i].sign);
	}
	map_free(run.ranks);
	hostlist_free(&run.brokers);
	arena_free(run.arena);
	mem_free(run.buffer);
	mem_free(run.nodes);
	if (changed)
		sigaction(SIGCHLD, &before, NULL);
out:
	if (o->ways == NULL)
		remote_forget(&resolved);
	return rc;
}
