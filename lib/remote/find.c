/* SPDX-License-Identifier: BSD-3-Clause */
/* find.c - programs in PATH, and the name of this machine. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
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
remote_find(const char *name, struct arena *a, struct error *err)
{
	const char *found = NULL;
	char path[PATH_MAX];

	if (!look_up(name, path)) {
		error_set(
			err, ERROR_ABSENT,
			"%s: not found in PATH: install it, or choose another "
			"way to run commands on the nodes",
			name);
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
