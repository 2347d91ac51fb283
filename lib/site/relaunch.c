/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/relaunch.h"

#include <inttypes.h>

#include "buf.h"
#include "conf.h"
#include "error.h"
#include "hostlist.h"
#include "site/halt.h"
#include "site/job.h"
#include "site/jobfiles.h"

/* Are there enough nodes that are not down?  A run needs as many as the caller
 * says, or SCR_MIN_NODES, or as many as the last one; else all. */
static int
check_nodes(struct job *j, const struct relaunch *r, bool *stop,
	    struct buf *lines, struct error *err)
{
	struct error why = ERROR_INIT;
	struct hostlist left = HOSTLIST_INIT;
	uint64_t needed = r->min_nodes;
	int64_t last = 0;
	int rc = 0;

	if (job_nodes(j, &why) < 0) {
		/* Outside of a job the nodes are unknown.  That is fine if the
		 * caller set no condition on them. */
		if (why.kind == ERROR_ABSENT && r->down == NULL &&
		    r->min_nodes == 0)
			return 0;
		return error_pass(err, &why);
	}
	if (hostlist_add_list(&left, &j->nodes, err) < 0 ||
	    (r->down != NULL && hostlist_minus(&left, r->down, err) < 0) ||
	    (needed == 0 &&
	     conf_u64(j->conf, "SCR_MIN_NODES", 0, &needed, err) < 0))
		rc = -1;
	if (rc == 0 && needed == 0) {
		if (jobfiles_nodes(j->prefix, &last, &why) < 0 &&
		    why.kind != ERROR_ABSENT)
			rc = error_pass(err, &why);
		needed = last > 0 ? (uint64_t)last : j->nodes.count;
	}
	if (rc == 0 && left.count < needed) {
		*stop = true;
		if (buf_printf(lines,
			       "nodes_remaining=%zu < nodes_needed=%" PRIu64
			       "\n",
			       left.count, needed) < 0)
			rc = error_no_memory(err);
	}
	hostlist_free(&left);
	return rc;
}

int
relaunch_check(struct job *j, const struct relaunch *r, bool *stop,
	       struct buf *lines, struct error *err)
{
	const size_t start = lines->len;

	*stop = false;
	if (halt_check(j->prefix, j->conf, r->now, stop, lines, err) < 0)
		return -1;
	/* Only reasons to stop are reported: drop "CONTINUE RUN" lines. */
	if (!*stop && lines->data != NULL)
		lines->data[lines->len = start] = '\0';
	if (check_nodes(j, r, stop, lines, err) < 0)
		return -1;
	if (r->runs == 0) {
		*stop = true;
		if (buf_add_str(lines, "runs_remaining=0\n") < 0)
			return error_no_memory(err);
	}
	return 0;
}
