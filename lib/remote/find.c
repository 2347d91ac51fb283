/* SPDX-License-Identifier: BSD-3-Clause */
/* find.c - choose how to reach the nodes: programs in PATH, and the name of
 * this machine. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "hostlist.h"
#include "remote/remote_impl.h"
#include "str.h"

/* Search path if PATH is unset, as in the shell. */
#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

static bool
is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

/* Look up `name` in PATH and write its path to `to`, of PATH_MAX bytes.  False:
 * not found. */
static bool
look_up(const char *name, char *to)
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

	return look_up(program, path);
}

const char *
remote_find(const char *given, const char *name, struct arena *a,
	    struct error *err)
{
	const char *found = NULL;
	char path[PATH_MAX];

	if (given != NULL)
		name = given;
	if (!look_up(name, path)) {
		error_set(err, ERROR_ABSENT,
			  "%s: %s: install it, or choose another way to run "
			  "commands on the nodes",
			  name,
			  strchr(name, '/') != NULL ? "no such program"
						    : "not found in PATH");
		return NULL;
	}
	found = arena_strdup(a, path);
	if (found == NULL)
		error_no_memory(err);
	return found;
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

/* Is the program of this kind installed? */
static bool
usable(const struct remote_options *o, enum remote_kind kind)
{
	return remote_installed(o->programs[kind] != NULL ? o->programs[kind]
							  : kinds[kind]);
}

/* The kind for these nodes, and why.  REMOTE_AUTO: no kind is installed. */
static enum remote_kind
detect(const struct hostlist *nodes, const struct remote_options *o,
       const char **why)
{
	*why = "the only node is this machine";
	if (nodes->count > 0) {
		bool here = remote_is_here(nodes->names[0]);

		for (size_t i = 1; i < nodes->count && here; i++)
			here = strcmp(nodes->names[i], nodes->names[0]) == 0;
		if (here)
			return REMOTE_LOCAL;
	}
	*why = "pdsh and ssh are installed";
	if (usable(o, REMOTE_PDSH) && remote_installed("ssh"))
		return REMOTE_PDSH;
	*why = "the resource manager around us has it";
	if (o->around != REMOTE_AUTO && usable(o, o->around))
		return o->around;
	*why = "ssh is installed, and pdsh is not";
	if (usable(o, REMOTE_SSH))
		return REMOTE_SSH;
	*why = "neither ssh nor a resource manager's command is there";
	if (usable(o, REMOTE_MPIEXEC))
		return REMOTE_MPIEXEC;
	return REMOTE_AUTO;
}

int
remote_resolve(const struct hostlist *nodes, struct remote_options *o,
	       struct buf *said, struct error *err)
{
	const char *why = "as asked";
	const char *with = "ssh";
	enum remote_kind kind = o->kind;

	if (kind == REMOTE_AUTO) {
		kind = detect(nodes, o, &why);
		o->module = NULL;
	}
	if (kind == REMOTE_AUTO)
		return error_set(
			err, ERROR_ABSENT,
			"no way to run commands on the nodes: none of "
			"pdsh, ssh, srun, flux, mpiexec is usable "
			"here; install one, or name its place in PATH");
	if (o->module != NULL)
		with = str_eq(o->module, "exec") ? "srun" : o->module;
	if (said != NULL &&
	    buf_printf(said, "commands are run on nodes by %s%s%s (%s)",
		       remote_kind_name(kind),
		       kind == REMOTE_PDSH ? " with " : "",
		       kind == REMOTE_PDSH ? with : "", why) < 0)
		return error_no_memory(err);
	o->kind = kind;
	return 0;
}
