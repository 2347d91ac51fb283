/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ways.c - which ways there are to the nodes, which of them a node is asked by,
 * and what the failure of an attempt tells; programs in PATH, and the name of
 * this machine.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "hostlist.h"
#include "map.h"
#include "mem.h"
#include "remote/remote_impl.h"
#include "str.h"

/* --- Programs in PATH, and this machine --- */

/* Search path if PATH is unset, as in the shell. */
#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

bool
remote_look_up(const char *name, char *to)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/') != NULL)
		return (size_t)snprintf(to, PATH_MAX, "%s", name) < PATH_MAX &&
		       is_program(to);
	if (at == NULL)
		at = PATH_DEFAULT;
	for (size_t len = 0;; at += len + 1) {
		len = strcspn(at, ":");
		/* An empty entry is the working directory. */
		if ((size_t)snprintf(to, PATH_MAX, "%.*s/%s",
				     len > 0 ? (int)len : 1, len > 0 ? at : ".",
				     name) < PATH_MAX &&
		    is_program(to))
			return true;
		if (at[len] == '\0')
			return false;
	}
}

bool
remote_installed(const char *program)
{
	char path[PATH_MAX];

	return remote_look_up(program, path);
}

bool
remote_is_here(const char *name)
{
	char here[256] = "";
	size_t len = 0;

	if (str_eq(name, "localhost") || str_eq(name, "127.0.0.1") ||
	    str_eq(name, "::1"))
		return true;
	if (gethostname(here, sizeof(here) - 1) < 0 || here[0] == '\0')
		return false;
	if (strcasecmp(name, here) == 0)
		return true;
	/* One of the names may lack the domain, but two domains must be
	 * equal. */
	len = strcspn(here, ".");
	if (strcspn(name, ".") != len || strncasecmp(name, here, len) != 0)
		return false;
	return name[len] == '\0' || here[len] == '\0';
}

/* --- Names --- */

static const char *const kinds[REMOTE_KINDS] = { "auto", "pdsh", "ssh",
						 "srun", "flux", "mpiexec",
						 "local" };

const char *
remote_kind_name(enum remote_kind kind)
{
	return kinds[kind];
}

int
remote_choose(const char *name, struct remote_options *o, struct error *err)
{
	static const char *const ours[] = { "", "aprun", "jsrun", "lrun" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (name == NULL || strcmp(name, ours[i]) == 0)
			name = "auto";
	if (strcmp(name, "mpirun") == 0)
		name = "mpiexec";
	/* pdsh with srun is what srun does alone. */
	if (strcmp(name, "pdsh:exec") == 0)
		name = "srun";
	if (strcmp(name, "pdsh") == 0)
		name = "pdsh:ssh";
	if (str_starts(name, "pdsh:") && name[5] != '\0') {
		o->kind = REMOTE_PDSH;
		o->module = name + 5;
		return 0;
	}
	for (size_t i = 0; i < REMOTE_KINDS; i++)
		if (strcmp(name, kinds[i]) == 0) {
			o->kind = (enum remote_kind)i;
			return 0;
		}
	return error_set(err, ERROR_USAGE,
			 "%s: no way to run commands on nodes: expected auto, "
			 "pdsh, pdsh:MODULE, ssh, srun, flux, mpiexec or local",
			 name);
}

/* --- Choosing --- */

static void
add_way(struct remote_ways *w, enum remote_kind kind, const char *module)
{
	if (kind == REMOTE_PDSH && module == NULL)
		module = "ssh";
	w->list[w->count++] =
		(struct remote_way){ .kind = kind, .module = module };
}

/* Without --het-group srun reaches only the first component of a heterogeneous
 * job. */
static int
find_groups(struct remote_ways *w, struct error *err)
{
	const char *text = NULL;
	char name[64];

	for (size_t g = 0;; g++) {
		struct hostlist nodes = HOSTLIST_INIT;
		int rc = 0;

		snprintf(name, sizeof(name), "SLURM_JOB_NODELIST_HET_GROUP_%zu",
			 g);
		text = getenv(name);
		if (text == NULL)
			return 0;
		if (w->groups == NULL)
			w->groups = map_new();
		rc = hostlist_add(&nodes, text, err);
		for (size_t i = 0; i < nodes.count; i++)
			(void)map_put(w->groups,
				      arena_strdup(w->arena, nodes.names[i]),
				      g);
		hostlist_free(&nodes);
		if (rc < 0)
			return -1;
	}
}

int
remote_resolve(const struct hostlist *nodes, struct remote_options *o,
	       struct buf *said, struct error *err)
{
	struct remote_ways *w = mem_calloc(1, sizeof(*w));
	bool here = nodes->count > 0 && remote_is_here(nodes->names[0]);
	const char *why = "what is installed";

	remote_forget(o);
	o->ways = w;
	w->arena = arena_new();
	w->reached = map_new();
	w->tries = REMOTE_TRIES;
	if (find_groups(w, err) < 0)
		return -1;
	for (size_t i = 1; i < nodes->count && here; i++)
		here = strcmp(nodes->names[i], nodes->names[0]) == 0;
	if (o->kind != REMOTE_AUTO) {
		add_way(w, o->kind, o->module);
		why = "as asked";
	} else if (here) {
		add_way(w, REMOTE_LOCAL, NULL);
		why = "the only node is this machine";
	} else {
		if (o->around != REMOTE_AUTO) {
			why = "in a job of this resource manager";
			if (remote_installed(kinds[o->around]))
				add_way(w, o->around, NULL);
		}
		if (remote_installed("ssh"))
			add_way(w, REMOTE_SSH, NULL);
		if (w->count == 0 && remote_installed("mpiexec"))
			add_way(w, REMOTE_MPIEXEC, NULL);
	}
	if (w->count == 0)
		return error_set(
			err, ERROR_ABSENT,
			"no way to run commands on the nodes: none of "
			"ssh, srun, flux, mpiexec is usable "
			"here; install one, or name its place in PATH");
	o->kind = w->list[0].kind;
	o->module = w->list[0].module;
	if (said == NULL)
		return 0;
	buf_printf(said, "commands are run on nodes by %s",
		   remote_kind_name(o->kind));
	if (o->kind == REMOTE_PDSH)
		buf_printf(said, " with %s", o->module);
	if (w->count > 1)
		buf_printf(said, ", then by %s",
			   remote_kind_name(w->list[1].kind));
	buf_printf(said, " (%s)", why);
	return 0;
}

void
remote_forget(struct remote_options *o)
{
	if (o->ways == NULL)
		return;
	map_free(o->ways->reached);
	map_free(o->ways->groups);
	arena_free(o->ways->arena);
	mem_free(o->ways);
	o->ways = NULL;
}

/* --- The way of a node --- */

size_t
remote_way_first(const struct remote_run *run, const char *name)
{
	const struct map *m = run->known->reached;
	size_t at = m != NULL ? map_get(m, name) : MAP_NONE;

	at = at != MAP_NONE ? at : 0;
	return run->ways[at].usable ? at : (at + 1) % run->known->count;
}

void
remote_way_reached(struct remote_run *run, const struct remote_node *n)
{
	struct remote_ways *w = run->known;

	if (w->reached != NULL && (n->way > 0 || map_count(w->reached) > 0))
		(void)map_put(w->reached, arena_strdup(w->arena, n->name),
			      n->way);
}

bool
remote_way_next(struct remote_run *run, struct remote_node *n,
		enum remote_state state, const char *why)
{
	const char *was = remote_kind_name(run->ways[n->way].kind);
	const struct buf *err = &n->result->err;
	const size_t other = (n->way + 1) % run->known->count;

	if (err->len > 0 && strstr(err->data, "--overlap") != NULL)
		run->known->old_srun = true;
	if (state < n->sofar) {
		n->sofar = state;
		buf_clear(&n->sign);
		buf_printf(&n->sign, "%s: %s", was, why);
	}
	if (run->o->wary && (state == REMOTE_TIMEOUT || state == REMOTE_KILLED))
		return false;
	if (++n->tries < run->known->tries)
		return true;
	if (other == n->first || !run->ways[other].usable)
		return false;
	buf_printf(&n->before, "%s: %s; ", was, why);
	n->tries = 0;
	n->way = other;
	return true;
}

/* --- What a failure tells --- */

enum remote_state
remote_way_told(const char *words)
{
	/* The first row both of whose words occur. */
	static const struct {
		const char *words, *also;
		enum remote_state state;
	} told[] = {
		/* The launcher failed before it came to the node. */
		{ "No such rcmd module", "", REMOTE_NOT_STARTED },
		{ "slurm controller", "", REMOTE_NOT_STARTED },
		{ "Unable to create step", "", REMOTE_NOT_STARTED },
		{ "Invalid job id", "", REMOTE_NOT_STARTED },
		{ "Unable to confirm allocation", "", REMOTE_NOT_STARTED },
		{ "Could not resolve host", "", REMOTE_NOT_STARTED },
		{ "cannot fork", "", REMOTE_NOT_STARTED },
		{ "fork: ", "", REMOTE_NOT_STARTED },
		{ "Resource temporarily unavailable", "", REMOTE_NOT_STARTED },
		{ "--overlap", "", REMOTE_NOT_STARTED },
		/* ssh: nobody took the connection, "connect to host ..."; or it
		 * was there: "Connection to ..." */
		{ "connect", "timed out", REMOTE_DEAD },
		{ "connect", "No route to host", REMOTE_DEAD },
		{ "connect", "Host is down", REMOTE_DEAD },
		{ "Connection to", "timed out", REMOTE_REFUSED },
		{ "banner exchange", "", REMOTE_REFUSED },
		{ "Timeout, server", "", REMOTE_REFUSED },
		/* srun: its daemon there is silent, or was ended */
		{ "Communication connection failure", "", REMOTE_TIMEOUT },
		{ "Node not responding", "", REMOTE_TIMEOUT },
		{ "timed out", "", REMOTE_TIMEOUT },
		{ "timeout", "", REMOTE_TIMEOUT },
	};

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (strstr(words, told[i].words) != NULL &&
		    strstr(words, told[i].also) != NULL)
			return told[i].state;
	return REMOTE_REFUSED;
}
