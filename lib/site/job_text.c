/* SPDX-License-Identifier: BSD-3-Clause */
/* job_text.c - describe a job for messages. */
#include <stdio.h>

#include "buf.h"
#include "conf.h"
#include "site/job.h"
#include "site/resmgr.h"
#include "str.h"

/* Bytes of a value that are quoted in a message. */
#define QUOTE_MAX 256

int
job_notice(const struct job *j, struct buf *out)
{
	const char *conf = conf_notice(j->conf), *rm = resmgr_notice(j->rm);

	if (conf != NULL && buf_add_str(out, conf) < 0)
		return -1;
	return rm != NULL ? buf_add_str(out, rm) : 0;
}

/* "what: value (from)" */
static int
describe(struct buf *out, const char *what, const char *value, const char *from)
{
	char quote[QUOTE_MAX];

	return buf_printf(out, "%s: %s (%s)\n", what,
			  str_printable(quote, sizeof(quote), value), from);
}

static int
describe_dirs(struct buf *out, const char *what, const struct job_cache *dirs,
	      size_t n)
{
	char size[32], from[128];

	for (size_t i = 0; i < n; i++) {
		snprintf(from, sizeof(from), "%s%s%s%s",
			 dirs[i].implied ? "built in" : "configured",
			 dirs[i].shared ? ", shared by all nodes" : "",
			 dirs[i].bytes > 0 ? ", at least " : "",
			 dirs[i].bytes > 0
				 ? str_bytes(size, sizeof(size), dirs[i].bytes)
				 : "");
		if (describe(out, what, dirs[i].dir, from) < 0)
			return -1;
	}
	return 0;
}

static int
describe_nodes(struct buf *out, const struct job *j)
{
	struct buf text = BUF_INIT;
	int rc = -1;

	if (hostlist_text(&j->nodes, &text, NULL) == 0 &&
	    buf_printf(out, "nodes: %zu: %s (%s)\n", j->nodes.count,
		       text.len > 0 ? text.data : "", j->nodes_from) == 0)
		rc = 0;
	buf_free(&text);
	return rc;
}

int
job_describe(const struct job *j, struct buf *out)
{
	if (describe(out, "prefix", j->prefix_real, j->prefix_from) < 0 ||
	    describe(out, "user", j->user, j->user_from) < 0 ||
	    describe(out, "job id", j->id, j->id_from) < 0 ||
	    buf_printf(out, "resource manager: %s\n", resmgr_name(j->rm)) < 0 ||
	    buf_printf(out, "configuration: %s, %s\n",
		       conf_file(j->conf, CONF_USER),
		       conf_file(j->conf, CONF_SYSTEM)) < 0 ||
	    describe_dirs(out, "control directory", j->cntls, j->ncntls) < 0 ||
	    describe_dirs(out, "cache directory", j->caches, j->ncaches) < 0)
		return -1;
	return j->nodes_known ? describe_nodes(out, j) : 0;
}
