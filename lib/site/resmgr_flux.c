/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resmgr_flux.c - Flux: the resources of the instance we are in.
 */
#include <string.h>
#include <time.h>

#include "arena.h"
#include "error.h"
#include "hostlist.h"
#include "num.h"
#include "site/resmgr_impl.h"
#include "str.h"

/* The first word that a command prints, or "" (*word is kept); 1: no answer. */
static int
ask_word(struct resmgr *r, const char *const *argv, const char **word,
	 struct error *err)
{
	struct buf text = BUF_INIT;
	const char *p = NULL;
	int rc = resmgr_ask(r, argv, &text, err);

	*word = "";
	if (rc == 0 && text.len > 0) {
		p = text.data + strspn(text.data, " \t\n");
		*word = arena_strndup(r->arena, p, strcspn(p, " \t\r\n"));
		if (*word == NULL)
			rc = error_no_memory(err);
	}
	buf_free(&text);
	return rc;
}

/* A batch script has no FLUX_JOB_ID; its instance knows. */
static int
flux_open(struct resmgr *r, struct error *err)
{
	const char *argv[] = { "flux", "getattr", "jobid", NULL };
	const char *id = NULL;

	r->id = resmgr_env("FLUX_JOB_ID");
	if (r->id != NULL)
		return 0;
	if (ask_word(r, argv, &id, err) < 0)
		return -1;
	r->id = *id != '\0' ? id : NULL;
	return 0;
}

/* Add the nodes in `state`; 1: no answer. */
static int
list(struct resmgr *r, const char *state, struct hostlist *out,
     struct error *err)
{
	const char *argv[] = { "flux",	     "resource", "list", "-n", "-o",
			       "{nodelist}", "-s",	 state,	 NULL };
	struct buf text = BUF_INIT;
	int rc = resmgr_ask(r, argv, &text, err);

	if (rc == 0 && text.len > 0)
		rc = resmgr_add(r, out, text.data, err);
	buf_free(&text);
	return rc;
}

static int
flux_nodes(struct resmgr *r, struct hostlist *out, struct error *err)
{
	int rc = list(r, "all", out, err);

	if (rc <= 0)
		return rc;
	return error_set(err, ERROR_ABSENT,
			 "flux: `flux resource list' does not answer");
}

static int
flux_down(struct resmgr *r, const struct hostlist *nodes, struct hostlist *out,
	  struct error *err)
{
	(void)nodes;
	return list(r, "down", out, err) < 0 ? -1 : 0;
}

/* Seconds, or "inf". */
static int
flux_end_time(struct resmgr *r, int64_t *epoch, struct error *err)
{
	const char *argv[] = { "flux", "job", "timeleft", NULL };
	const char *word = NULL;
	int64_t seconds = 0;
	int rc = ask_word(r, argv, &word, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (str_starts(word, "inf"))
		*epoch = RESMGR_END_NEVER;
	else if (num_i64(word, 0, INT32_MAX, &seconds, NULL) == 0)
		*epoch = time(NULL) + seconds;
	return 0;
}

const struct resmgr_kind resmgr_flux = {
	.name = "flux",
	.open = flux_open,
	.nodes = flux_nodes,
	.down = flux_down,
	.end_time = flux_end_time,
};
