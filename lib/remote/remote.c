/* SPDX-License-Identifier: BSD-3-Clause */
/* remote.c - run one command on many nodes: set-up and clean-up. */
#include "remote/remote.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "arena.h"
#include "hostlist.h"
#include "io.h"
#include "map.h"
#include "mem.h"
#include "remote/remote_impl.h"

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
		rc = remote_loop(&run, err);
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
