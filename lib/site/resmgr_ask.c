/* SPDX-License-Identifier: BSD-3-Clause */
/* resmgr_ask.c - shared by the resource managers: run a command within a time
 * limit, and parse its output. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "hostlist.h"
#include "io.h"
#include "site/resmgr_impl.h"
#include "str.h"

/* Bytes a command may print: 100,000 nodes with their states are some 5 MB. */
#define OUTPUT_MAX ((size_t)64 << 20)

/* A longer file is not a file of host names. */
#define HOSTS_MAX ((size_t)64 << 20)

/* --- The environment --- */

const char *
resmgr_env(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : NULL;
}

bool
resmgr_env_is(const char *name, const char *value)
{
	const char *is = resmgr_env(name);

	return is != NULL && str_eq(is, value);
}

/* Variables that change what the commands print. */
static const char *const unwanted[] = {
	"SLURM_TIME_FORMAT=",  "SINFO_", "SQUEUE_", "LC_", "LANG=", "LANGUAGE=",
	"PBS_DEFAULT_FORMAT=", NULL,
};

/* --- Commands --- */

/* The next line of *text, ended with NUL in place.  NULL: no more lines. */
static char *
next_line(char **text)
{
	return *text == NULL || **text == '\0' ? NULL : strsep(text, "\n");
}

int
resmgr_run(struct resmgr *r, const char *const *argv, struct error *err)
{
	const struct remote_options o = {
		.kind = REMOTE_LOCAL,
		.env = remote_environment(r->arena, unwanted,
					  arena_strdup(r->arena, "LC_ALL=C")),
		.limit = r->seconds,
		.keep = OUTPUT_MAX,
		.stop = r->stop,
	};
	const char *names[] = { "localhost" };
	const struct hostlist here = { .names = names, .count = 1 };
	struct remote_result is = { .status = -1 };
	const char *why = NULL;
	char *rest = NULL, *text = NULL;
	int rc = -1;

	buf_free(&r->out);
	r->rest = NULL;
	if (!remote_installed(argv[0]))
		return error_set(err, ERROR_ABSENT, "%s: not found in PATH",
				 argv[0]);
	if (o.env == NULL)
		return error_no_memory(err);
	rc = remote_run(&here, argv, &o, &is, err);
	/* Did it fail, print too much or time out?  If it failed, the last line
	 * that it wrote to stderr tells. */
	rest = is.err.data;
	while (is.status != 0 && (text = next_line(&rest)) != NULL)
		if (*text != '\0')
			why = text;
	if (is.state == REMOTE_TIMEOUT)
		why = "no answer in time";
	else if (is.state != REMOTE_DONE)
		why = is.why != NULL ? is.why : "cannot be run";
	else if (is.cut)
		why = "prints without end";
	if (rc == 0 && why != NULL)
		rc = error_set(err, ERROR_SYSTEM, "%s: %s", argv[0],
			       str_shown(why));
	else if (rc == 0 && is.status != 0)
		rc = error_set(err, ERROR_SYSTEM,
			       "%s: failed with exit status %d", argv[0],
			       is.status);
	if (rc == 0) {
		r->out = is.out;
		r->rest = r->out.data;
		is.out = (struct buf)BUF_INIT;
	}
	remote_result_free(&is);
	return rc;
}

char *
resmgr_line(struct resmgr *r)
{
	return next_line(&r->rest);
}

int
resmgr_ask(struct resmgr *r, const char *const *argv, struct error *err)
{
	struct error why = ERROR_INIT;

	if (resmgr_run(r, argv, &why) == 0)
		return 0;
	if (why.kind == ERROR_NOMEM)
		return error_no_memory(err);
	if (why.kind != ERROR_ABSENT)
		resmgr_note(r, "%s", why.text);
	return 1;
}

void
resmgr_note(struct resmgr *r, const char *fmt, ...)
{
	char line[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* Without memory the notice is lost; other calls will fail, too. */
	(void)buf_printf(&r->notice, "%s: %s\n", r->ops->name, line);
}

/* --- Parsing --- */

char *
resmgr_word(char **line)
{
	char *word = NULL;

	while (*line != NULL) {
		word = strsep(line, " \t\r");
		if (*word != '\0')
			return word;
	}
	return NULL;
}

int
resmgr_read_hosts(const char *path, struct hostlist *out, struct error *err)
{
	struct buf data = BUF_INIT;
	char *rest = NULL, *line = NULL, *name = NULL;
	int rc = io_read_file(AT_FDCWD, path, HOSTS_MAX, &data, err);

	rest = data.data;
	while (rc == 0 && (line = next_line(&rest)) != NULL) {
		name = resmgr_word(&line);
		if (name != NULL && hostlist_add_name(out, name, err) < 0)
			rc = error_wrap(err, "%s", path);
	}
	buf_free(&data);
	return rc;
}

int
resmgr_add(struct resmgr *r, const char *text, struct hostlist *out,
	   struct error *err)
{
	struct error why = ERROR_INIT;

	if (hostlist_add(out, text, &why) == 0)
		return 0;
	if (why.kind == ERROR_NOMEM)
		return error_no_memory(err);
	resmgr_note(r, "%s", why.text);
	return 0;
}

bool
resmgr_is_number(const char *s)
{
	return *s != '\0' && s[strspn(s, "0123456789")] == '\0';
}

bool
resmgr_same_number(const char *a, const char *b)
{
	const size_t len = strcspn(a, ".");

	return len > 0 && len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

bool
resmgr_span(const char *text, uint64_t *seconds)
{
	static const uint64_t units[] = { 1, 60, 60 * 60, 24 * 60 * 60 };
	unsigned n[4] = { 0 };
	const int count =
		sscanf(text, "%9u:%9u:%9u:%9u", &n[0], &n[1], &n[2], &n[3]);

	if (count < 2)
		return false;
	*seconds = 0;
	for (int i = 0; i < count; i++)
		*seconds += n[i] * units[count - 1 - i];
	return true;
}
