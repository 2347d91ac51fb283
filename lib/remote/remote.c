/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * remote.c - run one command on many nodes: what is set up for it, and put
 * back afterwards.
 */
#include "remote/remote.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "hostlist.h"
#include "mem.h"
#include "remote/remote_impl.h"

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

/* Where SIGCHLD is ignored, as some batch systems start jobs, the kernel throws
 * away how children end.  Was it changed? */
static bool
mind_children(struct sigaction *before)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };

	if (sigaction(SIGCHLD, NULL, before) < 0 ||
	    (before->sa_handler != SIG_IGN &&
	     (before->sa_flags & SA_NOCLDWAIT) == 0))
		return false;
	return sigaction(SIGCHLD, &usual, NULL) == 0;
}

static int
init(struct remote_run *run, const struct hostlist *nodes,
     struct remote_result *results, struct error *err)
{
	const unsigned fanout = run->o->fanout;

	run->kind = run->o->kind;
	run->fanout = fanout == 0 ? REMOTE_FANOUT : fanout;
	if (run->fanout > REMOTE_FANOUT_MAX)
		run->fanout = REMOTE_FANOUT_MAX;
	run->keep = run->o->keep > 0 ? run->o->keep : REMOTE_KEEP;
	run->polite = run->o->polite > 0 ? run->o->polite : REMOTE_POLITE;
	run->nodes = mem_calloc(nodes->count, sizeof(*run->nodes));
	run->buffer = mem_alloc(2, REMOTE_BUFFER);
	if (run->nodes == NULL || run->buffer == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < nodes->count; i++) {
		run->nodes[i].name = nodes->names[i];
		run->nodes[i].result = &results[i];
	}
	run->count = run->waiting = nodes->count;
	if (remote_command_init(run, err) < 0)
		return -1;
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run->epoll < 0)
		return error_sys(err, "cannot wait for processes");
	return 0;
}

static void
fini(struct remote_run *run)
{
	if (run->epoll >= 0)
		close(run->epoll);
	for (size_t i = 0; run->nodes != NULL && i < run->count; i++)
		buf_free(&run->nodes[i].words);
	remote_command_fini(run);
	mem_free(run->buffer);
	mem_free(run->nodes);
}

int
remote_run(const struct hostlist *nodes, const char *const *argv,
	   const struct remote_options *o, struct remote_result *results,
	   struct error *err)
{
	struct remote_options settled = *o;
	struct remote_run run = { .o = &settled, .argv = argv, .epoll = -1 };
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
	if (remote_settle(nodes, &settled, NULL, err) < 0)
		return -1;
	changed = mind_children(&before);
	if (init(&run, nodes, results, err) == 0)
		rc = remote_loop(&run, err);
	fini(&run);
	if (changed)
		sigaction(SIGCHLD, &before, NULL);
	return rc;
}
