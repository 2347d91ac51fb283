/* SPDX-License-Identifier: BSD-3-Clause */
/* resmgr.c - choose the resource manager, and pass queries to its table; for
 * the managers: run a command within a time limit, and parse its output. */
#include "site/resmgr.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "arena.h"
#include "conf.h"
#include "error.h"
#include "hostlist.h"
#include "io.h"
#include "mem.h"
#include "site/resmgr_impl.h"
#include "str.h"

/* Default of SCR_RESOURCE_MANAGER_TIMEOUT, in seconds. */
#define SECONDS 5

#define DECLARE(name) extern const struct resmgr_ops resmgr_##name;
RESMGR_MANAGERS(DECLARE)

#define ADDRESS(name) &resmgr_##name,
static const struct resmgr_ops *const managers[] = { RESMGR_MANAGERS(ADDRESS) };
#define COUNT (sizeof(managers) / sizeof(managers[0]))

static const struct resmgr_ops none = { .name = "none" };

/* --- Choosing the manager --- */

static const struct resmgr_ops *
by_name(const char *name, struct error *err)
{
	for (size_t i = 0; i <= COUNT; i++) {
		const struct resmgr_ops *m = i < COUNT ? managers[i] : &none;

		if (strcasecmp(name, m->name) == 0)
			return m;
	}
	return error_set_null(
		err, ERROR_USAGE,
		"resource manager \"%s\": unknown: expected auto|" RESMGR_NAMES,
		str_quoted(name));
}

/* The id of the job we run in, from the manager's variables, or NULL. */
static const char *
id_of(const struct resmgr_ops *m)
{
	const char *id = NULL;

	for (size_t i = 0; i < 2 && id == NULL && m->id_variables[i]; i++)
		id = resmgr_env(m->id_variables[i]);
	return id;
}

static enum resmgr_around
around(const struct resmgr_ops *m)
{
	if (m->around != NULL)
		return m->around();
	return id_of(m) != NULL ? RESMGR_INSIDE : RESMGR_OUTSIDE;
}

const char *
resmgr_installed(void)
{
	for (size_t i = 0; i < COUNT; i++)
		if (managers[i]->step_command != NULL &&
		    remote_installed(managers[i]->step_command))
			return managers[i]->name;
	return NULL;
}

struct resmgr *
resmgr_open(const struct conf *c, const char *name, struct error *err)
{
	const struct resmgr_ops *ops = &none;
	enum resmgr_around best = RESMGR_OUTSIDE;
	uint64_t seconds = SECONDS;
	bool named = false;
	struct resmgr *r = NULL;

	if (name == NULL && c != NULL)
		name = conf_get(c, "SCR_RESOURCE_MANAGER");
	named = name != NULL && strcasecmp(name, "auto") != 0;
	if (named)
		ops = by_name(name, err);
	/* The manager whose job we run in. */
	for (size_t i = 0; !named && i < COUNT; i++) {
		const enum resmgr_around is = around(managers[i]);

		if (is > best) {
			best = is;
			ops = managers[i];
		}
	}
	if (ops == NULL ||
	    (c != NULL && conf_u64(c, "SCR_RESOURCE_MANAGER_TIMEOUT", SECONDS,
				   &seconds, err) < 0))
		return NULL;
	r = mem_calloc(1, sizeof(*r));
	if (r != NULL) {
		r->ops = ops;
		r->named = named;
		/* With a time limit of 0 no command could answer. */
		r->seconds = seconds > 0 ? (double)seconds : SECONDS;
		r->id = id_of(ops);
		r->arena = arena_new();
	}
	if (r == NULL || r->arena == NULL)
		error_no_memory(err);
	else if (r->id != NULL || ops->find_id == NULL ||
		 ops->find_id(r, err) == 0)
		return r;
	resmgr_close(r);
	return NULL;
}

void
resmgr_close(struct resmgr *r)
{
	if (r == NULL)
		return;
	buf_free(&r->notice);
	buf_free(&r->out);
	arena_free(r->arena);
	mem_free(r);
}

/* --- Queries --- */

const char *
resmgr_name(const struct resmgr *r)
{
	return r->ops->name;
}

const char *
resmgr_job_id(const struct resmgr *r)
{
	return r->id;
}

enum remote_kind
resmgr_launcher(const struct resmgr *r)
{
	return around(r->ops) > RESMGR_OUTSIDE ? r->ops->launcher : REMOTE_AUTO;
}

int
resmgr_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	int rc = -1;

	if (r->ops->nodes == NULL)
		return error_set(
			err, ERROR_ABSENT,
			"no resource manager reports the nodes of the job");
	hostlist_free(out);
	if (r->ops->nodes(r, out, err) == 0)
		rc = hostlist_uniq(out, err);
	if (rc == 0 && out->count == 0)
		rc = error_set(err, ERROR_ABSENT, "%s: the job has no nodes",
			       r->ops->name);
	if (rc == 0)
		return 0;
	hostlist_free(out);
	/* Unreadable output of a manager is not a usage error. */
	if (err != NULL && err->kind == ERROR_USAGE)
		err->kind = ERROR_ABSENT;
	return -1;
}

int
resmgr_began(struct resmgr *r, struct hostlist *out, struct error *err)
{
	return r->ops->began != NULL ? r->ops->began(r, out, err) : 0;
}

int
resmgr_down(struct resmgr *r, const struct hostlist *nodes,
	    struct hostlist *out, struct error *err)
{
	struct hostlist down = HOSTLIST_INIT;
	int rc = 0;

	hostlist_free(out);
	if (r->ops->down == NULL || nodes->count == 0)
		return 0;
	rc = r->ops->down(r, nodes, &down, err);
	/* In the order of the caller's list, and only nodes in it. */
	if (rc == 0)
		rc = hostlist_add_list(out, nodes, err);
	if (rc == 0)
		rc = hostlist_both(out, &down, err);
	hostlist_free(&down);
	if (rc < 0)
		hostlist_free(out);
	return rc;
}

int
resmgr_end_time(struct resmgr *r, int64_t *epoch, struct error *err)
{
	*epoch = RESMGR_END_UNKNOWN;
	return r->ops->end_time != NULL ? r->ops->end_time(r, epoch, err) : 0;
}

const char *
resmgr_notice(const struct resmgr *r)
{
	return r->notice.len > 0 ? r->notice.data : NULL;
}

/* --- Other jobs --- */

/* Are these ids equal up to the first '.'? */
static bool
same_number(const char *a, const char *b)
{
	const size_t len = strcspn(a, ".");

	return len > 0 && len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

int
resmgr_runs(struct resmgr *r, const char *job_id)
{
	const struct resmgr_listing *const ours = &r->ops->jobs, *l = ours;
	const size_t noticed = r->notice.len;
	char *line = NULL;
	bool runs = false;

	/* If no manager was named, and we are in no job, a number is an id of
	 * the one that is installed. */
	if (r->ops == &none && !r->named && resmgr_is_number(job_id))
		for (size_t i = 0; i < COUNT && l == ours; i++)
			if (remote_installed(managers[i]->jobs.argv[0]))
				l = &managers[i]->jobs;
	if (l->argv[0] == NULL)
		return -1;
	if (resmgr_ask(r, l->argv, NULL) != 0) {
		/* That one which is only installed here does not work is no
		 * news. */
		if (l != ours && r->notice.len > noticed)
			r->notice.data[r->notice.len = noticed] = '\0';
		return -1;
	}
	while ((line = resmgr_line(r)) != NULL) {
		const char *word = NULL;
		bool is = false, ended = false;

		for (size_t i = 0; (word = resmgr_word(&line)) != NULL; i++) {
			if (i < l->ids)
				is = is ||
				     (l->number ? same_number(word, job_id)
						: str_eq(word, job_id));
			else if (i == l->state && l->ended != NULL)
				ended = strstr(l->ended,
					       str_printed(32, " %s ", word)) !=
					NULL;
		}
		runs = runs || (is && !ended);
	}
	return runs ? 1 : 0;
}

/* --- Steps --- */

void
resmgr_limit(struct resmgr *r, double seconds, bool (*stop)(void))
{
	r->seconds = seconds;
	r->stop = stop;
}

bool
resmgr_lists_steps(const struct resmgr *r)
{
	return r->ops->steps != NULL;
}

int
resmgr_step_check(const struct resmgr *r, const struct resmgr_job *job,
		  struct error *err)
{
	if (!resmgr_lists_steps(r))
		return error_set(err, ERROR_USAGE,
				 "no resource manager lists steps here");
	if (job->id == NULL || job->id[0] == '\0' || job->id[0] == '-')
		return error_set(err, ERROR_USAGE, "no job is named");
	return r->ops->check != NULL ? r->ops->check(job, err) : 0;
}

int
resmgr_steps(struct resmgr *r, const struct resmgr_job *job,
	     struct hostlist *out, struct error *err)
{
	return r->ops->steps(r, job, out, err);
}

bool
resmgr_own_by_time(const struct resmgr *r)
{
	return r->ops->own == NULL;
}

int
resmgr_own(struct resmgr *r, const struct resmgr_job *job, const char *mark,
	   const struct hostlist *before, struct hostlist *out,
	   struct error *err)
{
	if (r->ops->own != NULL)
		return r->ops->own(r, job, mark, out, err);
	if (resmgr_steps(r, job, out, err) < 0)
		return -1;
	return hostlist_minus(out, before, err);
}

const char *
resmgr_step_name(struct resmgr *r)
{
	return r->ops->step_name != NULL ? r->ops->step_name(r) : NULL;
}

int
resmgr_signal(struct resmgr *r, const struct resmgr_job *job,
	      const struct hostlist *steps, bool hard, struct error *err)
{
	const char *words[RESMGR_WORDS];
	size_t done = 0, n = 0;

	/* As many ids per call as the command line holds. */
	while (done < steps->count) {
		n = r->ops->proxy != NULL ? r->ops->proxy(job, words) : 0;
		for (size_t i = 0; r->ops->signal[hard][i] != NULL; i++)
			words[n++] = r->ops->signal[hard][i];
		while (n < RESMGR_WORDS - 1 && done < steps->count)
			words[n++] = steps->names[done++];
		words[n] = NULL;
		if (resmgr_run(r, words, err) < 0)
			return -1;
	}
	return 0;
}

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
resmgr_read_hosts(const struct resmgr *r, const char *variable,
		  struct hostlist *out, struct error *err)
{
	const char *path = resmgr_env(variable);
	struct buf data = BUF_INIT;
	char *rest = NULL, *line = NULL, *name = NULL;
	int rc = 0;

	if (path == NULL)
		return error_set(err, ERROR_ABSENT, "%s: %s is not set",
				 r->ops->name, variable);
	rc = io_read_file(AT_FDCWD, path, HOSTS_MAX, &data, err);
	rest = data.data;
	while (rc == 0 && (line = next_line(&rest)) != NULL) {
		name = resmgr_word(&line);
		if (name != NULL && hostlist_add_name(out, name, err) < 0)
			rc = error_wrap(err, "%s", path);
	}
	buf_free(&data);
	return rc < 0 ? error_wrap(err, "%s", r->ops->name) : 0;
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
resmgr_span(const char *text, uint64_t *seconds)
{
	static const uint64_t units[] = { 1, 60, 60 * 60, 24 * 60 * 60 };
	unsigned n[4] = { 0 };
	char more = 0;
	const int count = sscanf(text, "%9u:%9u:%9u:%9u%c", &n[0], &n[1], &n[2],
				 &n[3], &more);

	if (count < 2 || count > 4 || text[strspn(text, "0123456789:")] != '\0')
		return false;
	*seconds = 0;
	for (int i = 0; i < count; i++)
		*seconds += n[i] * units[count - 1 - i];
	return true;
}
