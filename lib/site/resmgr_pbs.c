/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_pbs.c - PBS: the node file, pbsnodes and qstat; on a Cray, where the
 * node file names the nodes that run the scripts, what ALPS says.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "error.h"
#include "hostlist.h"
#include "num.h"
#include "site/resmgr_impl.h"
#include "str.h"

/* A node of a Cray is "nid" and its number in five digits. */
#define NID "nid"

static int
pbs_open(struct resmgr *r, struct error *err)
{
	(void)err;
	r->id = resmgr_env("PBS_JOBID");
	return 0;
}

static bool
below_alps(void)
{
	return resmgr_env("PBS_NUM_NODES") != NULL && resmgr_has("aprun");
}

/* Have each node print its number; a last line is aprun's own. */
static int
alps_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	const char *argv[] = {
		"aprun", "-n",	resmgr_env("PBS_NUM_NODES"), "-N",
		"1",	 "cat", "/proc/cray_xt/nid",	     NULL
	};
	struct buf text = BUF_INIT;
	char name[32], *p = NULL, *line = NULL;
	uint64_t nid = 0;
	int rc = resmgr_ask(r, argv, &text, err);

	p = text.data;
	while (rc == 0 && (line = resmgr_line(&p)) != NULL) {
		if (num_u64(line, 0, 9999999, &nid, NULL) < 0)
			continue;
		snprintf(name, sizeof(name), NID "%05d", (int)nid);
		rc = hostlist_add_name(out, name, err);
	}
	buf_free(&text);
	return rc;
}

static int
pbs_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	const char *path = resmgr_env("PBS_NODEFILE");
	int rc = 1;

	if (below_alps())
		rc = alps_nodes(r, out, err);
	if (rc < 0 || (rc == 0 && out->count > 0))
		return rc;
	if (path == NULL)
		return error_set(err, ERROR_ABSENT,
				 "pbs: PBS_NODEFILE is not set");
	if (resmgr_read_hosts(path, out, err) < 0)
		return error_wrap(err, "pbs");
	return 0;
}

/* xtprocadmin's table: NID, (HEX), NODENAME, TYPE, STATUS, MODE. */
static int
alps_down(struct resmgr *r, struct hostlist *out, struct error *err)
{
	const char *argv[] = { "xtprocadmin", NULL };
	struct buf text = BUF_INIT;
	char name[32], status[32], nid[16], *p = NULL, *line = NULL;
	uint64_t n = 0;
	int rc = resmgr_ask(r, argv, &text, err);

	p = text.data;
	while (rc == 0 && (line = resmgr_line(&p)) != NULL) {
		if (sscanf(line, "%15s %*s %*s %*s %31s", nid, status) != 2 ||
		    num_u64(nid, 0, 9999999, &n, NULL) < 0 ||
		    strstr(status, "down") == NULL)
			continue;
		snprintf(name, sizeof(name), NID "%05d", (int)n);
		rc = hostlist_add_name(out, name, err);
	}
	buf_free(&text);
	return rc;
}

/* `pbsnodes -l`: the nodes that are down or offline, and which of these. */
static int
pbs_down(struct resmgr *r, const struct hostlist *nodes, struct hostlist *out,
	 struct error *err)
{
	const char *argv[] = { "pbsnodes", "-l", NULL };
	struct buf text = BUF_INIT;
	char *p = NULL, *line = NULL, *state = NULL;
	int rc = 0;

	(void)nodes;
	if (below_alps())
		return alps_down(r, out, err) < 0 ? -1 : 0;
	rc = resmgr_ask(r, argv, &text, err);
	p = text.data;
	while (rc == 0 && (line = resmgr_line(&p)) != NULL) {
		line += strspn(line, " \t");
		state = line + strcspn(line, " \t");
		if (*state != '\0')
			*state++ = '\0';
		state += strspn(state, " \t");
		/* A remark may follow. */
		state[strcspn(state, " \t")] = '\0';
		if (strstr(state, "down") != NULL)
			rc = resmgr_add(r, out, line, err);
	}
	buf_free(&text);
	return rc < 0 ? -1 : 0;
}

/* What qstat -f says of the job, as far as it matters here. */
struct times {
	int64_t began;	      /* epoch; 0: unknown */
	uint64_t limit, used; /* seconds; 0: unknown */
};

static void
read_time(char *line, struct times *t)
{
	struct tm tm = { .tm_isdst = -1 };
	char *value = strstr(line, " = ");
	const char *rest = NULL;

	if (value == NULL)
		return;
	*value = '\0';
	value += 3;
	line += strspn(line, " \t");
	if (str_eq(line, "Resource_List.walltime")) {
		(void)resmgr_span(value, &t->limit);
	} else if (str_eq(line, "resources_used.walltime")) {
		(void)resmgr_span(value, &t->used);
	} else if (str_eq(line, "stime") || str_eq(line, "start_time")) {
		rest = strptime(value, "%a %b %d %H:%M:%S %Y", &tm);
		tm.tm_isdst = -1;
		if (rest != NULL)
			t->began = mktime(&tm);
	}
}

static int
pbs_end_time(struct resmgr *r, int64_t *epoch, struct error *err)
{
	const char *argv[] = { "qstat", "-f", r->id, NULL };
	struct times t = { .began = 0 };
	struct buf text = BUF_INIT;
	char *p = NULL, *line = NULL;
	int rc = 0;

	if (r->id == NULL)
		return 0;
	rc = resmgr_ask(r, argv, &text, err);
	p = text.data;
	while (rc == 0 && (line = resmgr_line(&p)) != NULL)
		read_time(line, &t);
	buf_free(&text);
	if (rc != 0 || t.limit == 0)
		return rc < 0 ? -1 : 0;
	if (t.began <= 0)
		t.began = time(NULL) - (int64_t)t.used;
	*epoch = t.began + (int64_t)t.limit;
	return 0;
}

const struct resmgr_kind resmgr_pbs = {
	.name = "pbs",
	.open = pbs_open,
	.nodes = pbs_nodes,
	.down = pbs_down,
	.end_time = pbs_end_time,
};
