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
			 "pdsh, pdsh:exec, ssh, srun, flux, mpiexec or local",
			 name);
}

/* --- Choosing --- */

static void
add_way(struct remote_ways *w, enum remote_kind kind, const char *module)
{
	w->list[w->count++] =
		(struct remote_way){ .kind = kind, .module = module };
}

/* Fill in the ways to these nodes; return why these. */
static const char *
detect(struct remote_ways *w, const struct hostlist *nodes,
       const struct remote_options *o)
{
	const bool ssh = remote_installed("ssh");
	bool here = nodes->count > 0 && remote_is_here(nodes->names[0]);

	if (o->kind != REMOTE_AUTO) {
		add_way(w, o->kind, o->module);
		/* The same, if this pdsh has no module exec. */
		if (o->kind == REMOTE_PDSH && o->module == NULL)
			add_way(w, o->kind, "ssh");
		return "as asked";
	}
	for (size_t i = 1; i < nodes->count && here; i++)
		here = strcmp(nodes->names[i], nodes->names[0]) == 0;
	if (here) {
		add_way(w, REMOTE_LOCAL, NULL);
		return "the only node is this machine";
	}
	if (o->around != REMOTE_AUTO && remote_installed(kinds[o->around]))
		add_way(w, o->around, NULL);
	if (ssh && remote_installed("pdsh"))
		add_way(w, REMOTE_PDSH, NULL);
	if (ssh)
		add_way(w, REMOTE_SSH, NULL);
	if (w->count == 0 && remote_installed("mpiexec"))
		add_way(w, REMOTE_MPIEXEC, NULL);
	return o->around != REMOTE_AUTO ? "in a job of this resource manager"
					: "what is installed";
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
		bool good = true;
		int rc = 0;

		snprintf(name, sizeof(name), "SLURM_JOB_NODELIST_HET_GROUP_%zu",
			 g);
		text = getenv(name);
		if (text == NULL)
			return 0;
		if (w->groups == NULL)
			w->groups = map_new();
		good = w->groups != NULL;
		rc = good ? hostlist_add(&nodes, text, err) : 0;
		for (size_t i = 0; i < nodes.count && good; i++) {
			text = arena_strdup(w->arena, nodes.names[i]);
			good = text != NULL && map_put(w->groups, text, g) == 0;
		}
		hostlist_free(&nodes);
		if (rc < 0 || !good)
			return good ? -1 : error_no_memory(err);
	}
}

int
remote_resolve(const struct hostlist *nodes, struct remote_options *o,
	       struct buf *said, struct error *err)
{
	struct remote_ways *w = mem_calloc(1, sizeof(*w));
	const char *why = NULL;

	remote_forget(o);
	o->ways = w;
	if (w == NULL || (w->arena = arena_new()) == NULL ||
	    (w->reached = map_new()) == NULL)
		return error_no_memory(err);
	w->tries = REMOTE_TRIES;
	if (find_groups(w, err) < 0)
		return -1;
	why = detect(w, nodes, o);
	if (w->count == 0)
		return error_set(
			err, ERROR_ABSENT,
			"no way to run commands on the nodes: none of "
			"pdsh, ssh, srun, flux, mpiexec is usable "
			"here; install one, or name its place in PATH");
	o->kind = w->list[0].kind;
	o->module = w->list[0].module;
	if (said == NULL)
		return 0;
	buf_add_str(said, "commands are run on nodes by ");
	for (size_t i = 0; i < w->count; i++) {
		const struct remote_way *way = &w->list[i];
		const char *with = way->module == NULL		 ? "ssh"
				   : str_eq(way->module, "exec") ? "srun"
								 : way->module;

		/* The second pdsh is the same way. */
		if (i > 0 && way->kind == REMOTE_PDSH && way->module != NULL)
			continue;
		buf_printf(said, "%s%s", i > 0 ? ", then by " : "",
			   remote_kind_name(way->kind));
		if (way->kind == REMOTE_PDSH)
			buf_printf(said, " with %s", with);
	}
	buf_printf(said, " (%s)", why);
	return buf_check(said, err);
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

	for (at = at != MAP_NONE ? at : 0; at < run->known->count; at++)
		if (run->ways[at].usable)
			return at;
	for (at = 0; !run->ways[at].usable;)
		at++;
	return at;
}

void
remote_way_reached(struct remote_run *run, const struct remote_node *n)
{
	struct remote_ways *w = run->known;
	const char *name = NULL;

	if (w->reached == NULL || (n->way == 0 && map_count(w->reached) == 0))
		return;
	name = arena_strdup(w->arena, n->name);
	if (name == NULL || map_put(w->reached, name, n->way) < 0)
		run->failed = true;
}

static bool
is_by_ssh(const struct remote_way *w)
{
	return w->kind == REMOTE_SSH ||
	       (w->kind == REMOTE_PDSH &&
		(w->module == NULL || strcmp(w->module, "ssh") == 0));
}

bool
remote_way_next(struct remote_run *run, struct remote_node *n,
		enum remote_state state, const char *why)
{
	const struct remote_way *was = &run->ways[n->way];
	const struct buf *err = &n->result->err;
	size_t at = n->way;

	if (err->len > 0 && strstr(err->data, "--overlap") != NULL)
		run->known->old_srun = true;
	if (state < n->sofar) {
		n->sofar = state;
		buf_clear(&n->sign);
		buf_printf(&n->sign, "%s: %s", remote_kind_name(was->kind),
			   why);
	}
	if (++n->tries < run->known->tries)
		return true;
	n->ssh = n->ssh || (is_by_ssh(was) && state != REMOTE_NOT_STARTED);
	do {
		at = (at + 1) % run->known->count;
		if (at == n->first)
			return false;
		/* ssh by another name is no other way. */
	} while (!run->ways[at].usable ||
		 (n->ssh && is_by_ssh(&run->ways[at])));
	buf_printf(&n->before, "%s: %s; ", remote_kind_name(was->kind), why);
	n->tries = 0;
	n->way = at;
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
