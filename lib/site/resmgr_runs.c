/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/resmgr_runs.h"

#include <stdbool.h>
#include <string.h>

#include "buf.h"
#include "site/resmgr.h"
#include "site/resmgr_impl.h"
#include "str.h"

/*
 * A command that lists all jobs: asked about one only, most of them fail in the
 * same way when it is gone and when nobody answers.  In each line some words
 * are ids, and one may be a state that means the job has ended.
 */
struct list_command {
	const char *manager;
	const char *argv[8];
	size_t ids;	   /* so many words at the start of a line are ids */
	size_t state;	   /* the word that is the state, from 0 on */
	const char *ended; /* this state: it does not run any more */
	bool number; /* ids are the same if they are up to the first '.' */
};

static const struct list_command commands[] = {
	{ "slurm", { "squeue", "-h", "-o", "%A %t" }, 1, 1, "CG", false },
	{ "lsf",
	  { "bjobs", "-u", "all", "-noheader", "-o", "jobid stat" },
	  1,
	  1,
	  "DONE",
	  false },
	/* We are in an instance of our own: the one above knows of the job. */
	{ "flux",
	  { "flux", "--parent", "jobs", "-A", "-n", "-o", "{id} {id.dec}" },
	  2,
	  2,
	  "",
	  false },
	{ "pbs", { "qstat" }, 1, 4, "C", true },
};

static bool
same_id(const char *a, const char *b, bool number)
{
	const size_t na = strcspn(a, "."), nb = strcspn(b, ".");

	if (!number)
		return str_eq(a, b);
	return na > 0 && na == nb && strncmp(a, b, na) == 0;
}

/* Does this line, which gets cut up, say that the job runs? */
static bool
line_runs(const struct list_command *c, char *line, const char *job_id)
{
	bool is = false;
	char *rest = line, *word = NULL;

	for (size_t i = 0; (word = strsep(&rest, " \t")) != NULL;) {
		if (word[0] == '\0')
			continue;
		if (i < c->ids && same_id(word, job_id, c->number))
			is = true;
		if (i >= c->ids && i == c->state && str_eq(word, c->ended))
			return false;
		i++;
	}
	return is;
}

int
resmgr_runs(struct resmgr *r, const char *job_id)
{
	const struct list_command *c = NULL;
	struct buf out = BUF_INIT;
	int runs = 0;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (str_eq(commands[i].manager, resmgr_name(r)))
			c = &commands[i];
	if (c == NULL || !resmgr_has(c->argv[0]) ||
	    resmgr_ask(r, c->argv, &out, NULL) != 0) {
		buf_free(&out);
		return -1;
	}
	for (char *p = out.data, *line = NULL;
	     p != NULL && (line = resmgr_line(&p)) != NULL && runs == 0;)
		runs = line_runs(c, line, job_id) ? 1 : 0;
	buf_free(&out);
	return runs;
}
