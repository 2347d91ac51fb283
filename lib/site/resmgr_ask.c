/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_ask.c - ask a command of the resource manager, and do not wait for it
 * longer than it is worth.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "error.h"
#include "hostlist.h"
#include "remote/remote.h"
#include "site/resmgr_impl.h"
#include "str.h"

/* Variables that change what the commands print. */
static bool
unwanted(const char *variable)
{
	static const char *const names[] = { "SLURM_TIME_FORMAT=",
					     "SINFO_",
					     "SQUEUE_",
					     "LC_",
					     "LANG=",
					     "LANGUAGE=",
					     "PBS_DEFAULT_FORMAT=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_starts(variable, names[i]))
			return true;
	return false;
}

/* `argv` without those in its environment, in r's arena; NULL: no memory. */
static const char **
in_clean_environment(struct resmgr *r, const char *const *argv)
{
	size_t count = 0, n = 0;
	const char **to = NULL;

	for (size_t i = 0; environ != NULL && environ[i] != NULL; i++)
		count += unwanted(environ[i]);
	for (size_t i = 0; argv[i] != NULL; i++)
		count++;
	to = arena_alloc(r->arena, 2 * count + 3, sizeof(*to));
	if (to == NULL)
		return NULL;
	to[n++] = "env";
	for (size_t i = 0; environ != NULL && environ[i] != NULL; i++) {
		if (!unwanted(environ[i]))
			continue;
		to[n++] = "-u";
		to[n] = arena_strndup(r->arena, environ[i],
				      strcspn(environ[i], "="));
		if (to[n++] == NULL)
			return NULL;
	}
	to[n++] = "LC_ALL=C";
	for (size_t i = 0; argv[i] != NULL; i++)
		to[n++] = argv[i];
	to[n] = NULL;
	return to;
}

/* Why there is no answer to be used; NULL: there is one. */
static const char *
objection(const struct remote_result *result)
{
	if (result->cut)
		return "prints without end";
	if (result->state == REMOTE_TIMEOUT)
		return "no answer in time";
	if (result->state != REMOTE_DONE)
		return "cannot be run";
	return result->status != 0 ? "failed" : NULL;
}

int
resmgr_ask(struct resmgr *r, const char *const *argv, struct buf *out,
	   struct error *err)
{
	const struct remote_options o = {
		.kind = REMOTE_LOCAL,
		.limit = (double)r->seconds,
		.keep = RESMGR_OUTPUT_MAX,
	};
	const char **clean = in_clean_environment(r, argv), *why = NULL;
	struct remote_result result = { .status = -1 };
	struct hostlist here = { .count = 0 };
	int rc = -1;

	buf_clear(out);
	if (!resmgr_has(argv[0]))
		return 1;
	if (clean == NULL)
		return error_no_memory(err);
	if (hostlist_init(&here, err) < 0)
		return -1;
	if (hostlist_add_name(&here, "localhost", err) < 0 ||
	    remote_run(&here, clean, &o, &result, err) < 0)
		goto out;
	why = objection(&result);
	rc = why != NULL ? 1 : 0;
	if (rc == 0 && buf_add(out, result.out.data, result.out.len) < 0)
		rc = error_no_memory(err);
	if (rc == 1)
		resmgr_note(r, "%s: %s", argv[0], why);
out:
	remote_result_free(&result);
	hostlist_free(&here);
	return rc;
}

bool
resmgr_has(const char *command)
{
	const char *path = getenv("PATH"), *end = NULL;
	char file[PATH_MAX];
	struct stat st;
	size_t len = 0, name = strlen(command);

	for (; path != NULL; path = *end == ':' ? end + 1 : NULL) {
		end = strchrnul(path, ':');
		len = (size_t)(end - path);
		if (len == 0 || len + name + 2 > sizeof(file))
			continue;
		memcpy(file, path, len);
		file[len] = '/';
		memcpy(file + len + 1, command, name + 1);
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(file, X_OK) == 0)
			return true;
	}
	return false;
}
