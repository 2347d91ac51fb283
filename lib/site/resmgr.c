/* SPDX-License-Identifier: BSD-3-Clause */
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
#include "num.h"
#include "site/resmgr_impl.h"
#include "str.h"

/* Seconds a command may take, unless SCR_RESOURCE_MANAGER_TIMEOUT says. */
#define SECONDS 5

/* A file of host names that is longer is none. */
#define HOSTS_MAX ((size_t)64 << 20)

static const struct resmgr_kind none = { .name = "none" };

/* --- What the kinds share --- */

const char *
resmgr_env(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : NULL;
}

void
resmgr_note(struct resmgr *r, const char *fmt, ...)
{
	char line[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* Without memory for it there is more to complain about. */
	(void)buf_printf(&r->notice, "%s: %s\n", r->kind->name, line);
}

char *
resmgr_line(char **p)
{
	char *line = *p, *end = NULL;

	if (line == NULL || *line == '\0')
		return NULL;
	end = strchrnul(line, '\n');
	*p = *end != '\0' ? end + 1 : end;
	*end = '\0';
	if (end > line && end[-1] == '\r')
		end[-1] = '\0';
	return line;
}

int
resmgr_read_hosts(const char *path, struct hostlist *out, struct error *err)
{
	struct buf data = BUF_INIT;
	char *p = NULL, *line = NULL;
	int rc = io_read_file(AT_FDCWD, path, HOSTS_MAX, &data, err);

	p = data.data;
	while (rc == 0 && (line = resmgr_line(&p)) != NULL) {
		line += strspn(line, " \t");
		line[strcspn(line, " \t")] = '\0';
		if (*line != '\0' && hostlist_add_name(out, line, err) < 0)
			rc = error_wrap(err, "%s", path);
	}
	buf_free(&data);
	return rc;
}

int
resmgr_add(struct resmgr *r, struct hostlist *out, const char *text,
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
resmgr_span(const char *text, uint64_t *seconds)
{
	static const uint64_t units[] = { 24 * 60 * 60, 60 * 60, 60, 1 };
	char part[16];
	uint64_t total = 0, n = 0;
	size_t len = 0, unit = 4;

	for (const char *p = text; *p != '\0'; p++)
		unit -= *p == ':' && unit > 0;
	/* Days, hours, minutes and seconds have three colons. */
	if (unit < 1 || unit > 3)
		return false;
	for (unit--; unit < 4; unit++, text += len + 1) {
		len = strcspn(text, ":");
		if (len == 0 || len >= sizeof(part))
			return false;
		memcpy(part, text, len);
		part[len] = '\0';
		if (num_u64(part, 0, UINT32_MAX, &n, NULL) < 0)
			return false;
		total += n * units[unit];
	}
	*seconds = total;
	return true;
}

/* --- Which one --- */

/* The names that users may give, in LLNL's spelling too. */
static const struct {
	const char *name;
	const struct resmgr_kind *kind;
} names[] = {
	{ "slurm", &resmgr_slurm }, { "lsf", &resmgr_lsf },
	{ "flux", &resmgr_flux },   { "pbs", &resmgr_pbs },
	{ "alps", &resmgr_pbs },    { "aprun", &resmgr_pbs },
	{ "none", &none },
};

static const struct resmgr_kind *
by_name(const char *name, const char *from, struct error *err)
{
	char quote[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(name, names[i].name) == 0)
			return names[i].kind;
	error_set(err, ERROR_USAGE,
		  "%s \"%s\": no such resource manager; known are slurm, lsf, "
		  "flux, pbs and none",
		  from, str_printable(quote, sizeof(quote), name));
	return NULL;
}

/*
 * By what is in the environment of the job.  Flux is asked first: it often runs
 * inside a job of another manager, never the other way round.  Without its
 * command it is no use, though, if there is another.
 */
static const struct resmgr_kind *
detect(void)
{
	const bool flux =
		resmgr_env("FLUX_URI") != NULL || resmgr_env("FLUX_JOB_ID");

	if (flux && resmgr_has("flux"))
		return &resmgr_flux;
	if (resmgr_env("SLURM_JOB_ID") != NULL || resmgr_env("SLURM_JOBID"))
		return &resmgr_slurm;
	if (resmgr_env("LSB_JOBID") != NULL)
		return &resmgr_lsf;
	if (resmgr_env("PBS_JOBID") != NULL)
		return &resmgr_pbs;
	return flux ? &resmgr_flux : &none;
}

static const struct resmgr_kind *
choose(const struct conf *c, const char *name, struct error *err)
{
	const char *from = "--resource-manager";

	if (name == NULL && c != NULL) {
		name = conf_get(c, "SCR_RESOURCE_MANAGER");
		from = "SCR_RESOURCE_MANAGER";
	}
	if (name == NULL || strcasecmp(name, "auto") == 0)
		return detect();
	return by_name(name, from, err);
}

struct resmgr *
resmgr_open(const struct conf *c, const char *name, struct error *err)
{
	const struct resmgr_kind *kind = choose(c, name, err);
	uint64_t seconds = SECONDS;
	struct resmgr *r = NULL;

	if (kind == NULL ||
	    (c != NULL && conf_u64(c, "SCR_RESOURCE_MANAGER_TIMEOUT", SECONDS,
				   &seconds, err) < 0))
		return NULL;
	r = mem_calloc(1, sizeof(*r));
	if (r != NULL) {
		r->kind = kind;
		/* None at all would know nothing. */
		r->seconds = seconds > 0 ? seconds : SECONDS;
		r->arena = arena_new();
	}
	if (r == NULL || r->arena == NULL) {
		error_no_memory(err);
	} else if (kind->open == NULL || kind->open(r, err) == 0) {
		return r;
	}
	resmgr_close(r);
	return NULL;
}

void
resmgr_close(struct resmgr *r)
{
	if (r == NULL)
		return;
	buf_free(&r->job);
	buf_free(&r->notice);
	arena_free(r->arena);
	mem_free(r);
}

/* --- Asking --- */

const char *
resmgr_name(const struct resmgr *r)
{
	return r->kind->name;
}

const char *
resmgr_job_id(const struct resmgr *r)
{
	return r->id;
}

/* Make `to` what `from` is, and leave an empty list there. */
static void
move(struct hostlist *to, struct hostlist *from)
{
	struct hostlist old = *to;

	*to = *from;
	*from = old;
}

int
resmgr_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	struct hostlist list = { .names = NULL };
	int rc = -1;

	if (r->kind->nodes == NULL)
		return error_set(err, ERROR_ABSENT,
				 "there is no resource manager that knows the "
				 "nodes of the job");
	if (hostlist_init(&list, err) < 0)
		return -1;
	if (r->kind->nodes(r, &list, err) < 0 || hostlist_uniq(&list, err) < 0)
		goto out;
	if (list.count == 0) {
		error_set(err, ERROR_ABSENT, "%s: the job has no nodes",
			  r->kind->name);
		goto out;
	}
	move(out, &list);
	rc = 0;
out:
	hostlist_free(&list);
	/* What a manager prints and nobody can read is not the user's fault. */
	if (rc < 0 && err != NULL && err->kind == ERROR_USAGE)
		err->kind = ERROR_ABSENT;
	return rc;
}

int
resmgr_down(struct resmgr *r, const struct hostlist *nodes,
	    struct hostlist *out, struct error *err)
{
	struct hostlist list = { .names = NULL }, down = { .names = NULL };
	int rc = -1;

	if (hostlist_init(&list, err) < 0 || hostlist_init(&down, err) < 0)
		goto out;
	if (r->kind->down != NULL && nodes->count > 0 &&
	    r->kind->down(r, nodes, &down, err) < 0)
		goto out;
	/* In the order of the caller's list, and no more than are in it. */
	if (down.count > 0 && (hostlist_add_list(&list, nodes, err) < 0 ||
			       hostlist_both(&list, &down, err) < 0))
		goto out;
	move(out, &list);
	rc = 0;
out:
	hostlist_free(&down);
	hostlist_free(&list);
	return rc;
}

int
resmgr_end_time(struct resmgr *r, int64_t *epoch, struct error *err)
{
	*epoch = RESMGR_END_UNKNOWN;
	if (r->kind->end_time == NULL)
		return 0;
	return r->kind->end_time(r, epoch, err);
}

const char *
resmgr_notice(const struct resmgr *r)
{
	return r->notice.len > 0 ? r->notice.data : NULL;
}
