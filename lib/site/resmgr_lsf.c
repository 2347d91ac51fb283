/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_lsf.c - LSF: the host file for the nodes, bjobs for the time left.
 * Which nodes are down it does not tell.
 */
#include <string.h>
#include <time.h>

#include "error.h"
#include "hostlist.h"
#include "site/resmgr_impl.h"
#include "str.h"

static int
lsf_open(struct resmgr *r, struct error *err)
{
	(void)err;
	r->id = resmgr_env("LSB_JOBID");
	return 0;
}

/*
 * A line of the file is a slot, and the first is the launch node: it runs the
 * batch script, and none of the job.  Where LSF has no launch nodes the first
 * is a node like the others, which has as many slots as they have; so it stays
 * if it is there again.
 */
static int
lsf_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	const char *path = resmgr_env("LSB_DJOB_HOSTFILE");
	bool again = false;

	(void)r;
	if (path == NULL)
		return error_set(err, ERROR_ABSENT,
				 "lsf: LSB_DJOB_HOSTFILE is not set");
	if (resmgr_read_hosts(path, out, err) < 0)
		return error_wrap(err, "lsf");
	for (size_t i = 1; i < out->count && !again; i++)
		again = str_eq(out->names[i], out->names[0]);
	if (!again && out->count > 1)
		hostlist_keep(out, -(int64_t)(out->count - 1));
	return 0;
}

/* bjobs prints hours, minutes and a letter: "1:30 L"; "-": no limit. */
static int
lsf_end_time(struct resmgr *r, int64_t *epoch, struct error *err)
{
	const char *argv[] = { "bjobs",	    "-noheader", "-o",
			       "time_left", r->id,	 NULL };
	struct buf text = BUF_INIT;
	char *p = NULL, *line = NULL;
	uint64_t minutes = 0;
	int rc = 0;

	if (r->id == NULL)
		return 0;
	rc = resmgr_ask(r, argv, &text, err);
	p = text.data;
	while (rc == 0 && (line = resmgr_line(&p)) != NULL) {
		line += strspn(line, " \t");
		line[strcspn(line, " \t")] = '\0';
		if (str_eq(line, "-"))
			*epoch = RESMGR_END_NEVER;
		/* As minutes and seconds, one unit too small. */
		else if (resmgr_span(line, &minutes))
			*epoch = time(NULL) + (int64_t)(minutes * 60);
	}
	buf_free(&text);
	return rc < 0 ? -1 : 0;
}

const struct resmgr_kind resmgr_lsf = {
	.name = "lsf",
	.open = lsf_open,
	.nodes = lsf_nodes,
	.end_time = lsf_end_time,
};
