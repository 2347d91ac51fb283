/* SPDX-License-Identifier: BSD-3-Clause */
/* places.c - where the caches were looked for, and how many nodes have them. */
#include "buf.h"
#include "error.h"
#include "meta/flush.h"
#include "scavenge/nodecache.h"
#include "scavenge/scavenge_impl.h"
#include "site/job.h"
#include "site/jobfiles.h"
#include "str.h"

void
scavenge_count_places(struct scavenge *s, const struct nodecache *v)
{
	for (size_t i = 0; i < 1 + s->job->ncaches; i++)
		s->there[i] += i >= 63 || (v->there >> i & 1) != 0;
}

static bool
is_anywhere(const struct scavenge *s)
{
	for (size_t i = 0; i < 1 + s->job->ncaches; i++)
		if (s->there[i] > 0)
			return true;
	return false;
}

/*
 * Is a node among those that answered on which the job ran?  nodes.scr has the
 * number of nodes of its last run (0: unknown); the other nodes are spare.
 */
static bool
has_witness(const struct scavenge *s, size_t ran)
{
	const size_t all = s->job->nodes.count;

	return s->alive > 0 && (s->alive == all || s->alive + ran > all);
}

/* Is the job that wrote flush.scr another one than that we look for? */
static bool
is_another(const struct job *j, const struct jobfiles_owner *owner)
{
	return (owner->id[0] != '\0' && !str_eq(owner->id, j->id)) ||
	       (owner->user[0] != '\0' && !str_eq(owner->user, j->user));
}

int
scavenge_check_places(const struct scavenge *s, struct error *err)
{
	struct jobfiles_owner owner;
	int64_t ran = 0;
	const struct job *j = NULL;
	struct buf text = BUF_INIT;

	if (is_anywhere(s) || s->alive == 0 ||
	    (s->flush_known && s->others_listed == 0 &&
	     scavenge_status(s) == STATUS_OK))
		return 0;
	if (jobfiles_nodes(s->job->prefix, &ran, NULL) < 0 || ran < 0)
		ran = 0;
	jobfiles_owner(s->job->prefix, &owner);
	if (!s->flush_known ? ran == 0
			    : !has_witness(s, (size_t)ran) &&
				      !is_another(s->job, &owner))
		return 0;
	j = s->job;
	buf_printf(&text, "job %s of user %s: none of %zu nodes has %s", j->id,
		   j->user, s->alive, j->cntl_dir);
	for (size_t i = 0; i < j->ncaches; i++)
		if (!str_eq(j->caches[i].dir, j->cntl_dir))
			buf_printf(&text, ", %s", j->caches[i].dir);
	buf_add_str(&text, "; ");
	/* Which job left something, by the files on the prefix. */
	if (!s->flush_known)
		buf_add_str(&text, "a job has run here, but left no " FLUSH_FILE
				   ", which lists its datasets");
	else if (is_another(s->job, &owner) || owner.id[0] == '\0')
		buf_printf(&text,
			   FLUSH_FILE " lists datasets in the caches of job %s "
				      "of user %s",
			   owner.id[0] != '\0' ? owner.id : "(unknown)",
			   owner.user[0] != '\0' ? owner.user : "(unknown)");
	else
		buf_add_str(&text, FLUSH_FILE " lists datasets in its caches");
	if (buf_check(&text, err) == 0)
		error_set(err, ERROR_SYSTEM,
			  "%s: see --job-id, --user, --cntldir, --cachedir and "
			  "--nodes",
			  text.data);
	buf_free(&text);
	return -1;
}
