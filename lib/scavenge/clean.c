/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clean.c - what follows a save: datasets are packed into containers, and what
 * is whole on the prefix is removed from the caches.
 */
#include <inttypes.h>
#include <stdio.h>

#include "buf.h"
#include "catalogue/owners.h"
#include "clock.h"
#include "container/pack.h"
#include "error.h"
#include "json.h"
#include "mem.h"
#include "meta/index.h"
#include "num.h"
#include "scavenge/scavenge_impl.h"
#include "site/job.h"
#include "str.h"
#include "work.h"

static int
pack_one(struct scavenge *s, int64_t id, struct error *err)
{
	struct owners_guard owners = { s->prefix, id, .o = s->o->catalogue };
	const struct pack_options po = {
		.others = { owners_keep, &owners },
		.size = s->o->container_size,
		.redundancy = s->o->pack_redundancy,
		.work = s->work,
	};
	struct pack_result r;
	struct packed p;
	char word[WORD_ID_SIZE];
	int rc = -1;

	snprintf(word, sizeof(word), WORD_ID_FMT, id);
	if (catalogue_packed_open(s->prefix, word, true, s->o->catalogue, &p,
				  err) < 0)
		return -1;
	rc = pack(&p, &po, &r, err);
	packed_close(&p);
	return rc;
}

static void
try_pack(struct scavenge *s, int64_t id, int64_t restart)
{
	struct error why = ERROR_INIT;

	if (id == restart && !s->o->pack_current)
		work_detail(s->work,
			    "dataset %" PRId64
			    ": not packed: the next job restarts from it",
			    id);
	else if (pack_one(s, id, &why) < 0)
		work_say(s->work, "dataset %" PRId64 ": %s: not packed", id,
			 why.text);
}

void
scavenge_pack(struct scavenge *s, int64_t was)
{
	const double start = clock_seconds();
	const int64_t restart = catalogue_restart_point(s->prefix);

	for (size_t i = 0; i < s->plan.count; i++) {
		const struct salvage_dataset *d = &s->plan.datasets[i];

		/* With --id, do not touch other datasets. */
		if (d->done && (s->o->only == 0 || d->id == s->o->only))
			try_pack(s, d->id, restart);
		/* An older dataset was not verified, because this one is
		 * saved. */
		if (d->id == was && (d->done || d->looked))
			was = 0;
	}
	if (was > 0 && was != restart)
		try_pack(s, was, restart);
	s->seconds[SCAVENGE_PACK] += clock_seconds() - start;
}

/* Is the dataset whole on the prefix, and this very one?  The index is read
 * again. */
static int
is_whole(struct scavenge *s, const struct salvage_dataset *d, bool *whole,
	 struct error *err)
{
	struct index *ix = NULL;
	struct index_entry e;
	struct fetchable f;
	int rc = 0;

	*whole = false;
	if (d->created == 0)
		return 0;
	ix = catalogue_read(s->prefix, err);
	if (ix == NULL)
		return -1;
	if (index_find_id(ix, d->id, &e, NULL) == 0 && index_entry_valid(&e) &&
	    e.desc.created_us == (int64_t)d->created) {
		rc = catalogue_fetchable(s->prefix, &e, s->o->catalogue, &f,
					 err);
		*whole = rc == 0 && f.status == STATUS_OK;
	}
	index_free(ix);
	return rc;
}

/* Add up what the nodes have removed.  A node that failed is reported. */
static uint64_t
count_bytes(const struct scavenge *s, const struct scavenge_call *call)
{
	uint64_t total = 0;
	char why[512];

	for (size_t i = 0; i < call->hosts.count; i++) {
		const struct remote_result *r = &call->results[i];
		const char *text = r->out.data, *line = NULL;
		size_t len = 0;

		while ((line = str_line(&text, &len)) != NULL) {
			struct json_value *j =
				*line == '{' ? json_parse(line, len, NULL)
					     : NULL;
			uint64_t bytes = 0;

			if (j != NULL &&
			    json_get_u64(j, "cleaned", UINT64_MAX, &bytes))
				total += bytes;
			json_release(j);
		}
		if (r->state != REMOTE_DONE || r->status != STATUS_OK)
			work_say(s->work, "%s: its cache is not cleaned: %s",
				 call->hosts.names[i],
				 scavenge_reason(r, why, sizeof(why)));
	}
	return total;
}

static int
clean(struct scavenge *s, const struct salvage_dataset *d, uint64_t *bytes,
      struct error *err)
{
	struct scavenge_call call;
	char id[NUM_TEXT], created[NUM_TEXT];
	uint32_t *nodes = mem_calloc(s->job->nodes.count + 1, sizeof(*nodes));
	size_t count = 0;
	int rc = scavenge_call_init(&call, s, err);

	if (rc == 0 && nodes == NULL)
		rc = error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < s->job->nodes.count; i++)
		if (s->nodes[i].state == SCAVENGE_NODE_ALIVE)
			nodes[count++] = (uint32_t)i;
	if (rc == 0) {
		call.argv[call.argc++] = "--id";
		call.argv[call.argc++] = num_text(id, (uint64_t)d->id);
		call.argv[call.argc++] = "--clean";
		call.argv[call.argc++] = num_text(created, d->created);
		rc = scavenge_call_run(&call, s, nodes, count, err);
	}
	if (rc == 0)
		*bytes += count_bytes(s, &call);
	scavenge_call_end(&call);
	mem_free(nodes);
	return rc;
}

int
scavenge_clean(struct scavenge *s, struct error *err)
{
	struct buf gone = BUF_INIT, left = BUF_INIT;
	uint64_t bytes = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->plan.count; i++) {
		const struct salvage_dataset *d = &s->plan.datasets[i];
		const uint64_t before = bytes;
		bool whole = false;

		if (d->nranks == 0 || (s->o->only > 0 && d->id != s->o->only))
			continue;
		rc = is_whole(s, d, &whole, err);
		if (rc == 0 && whole)
			rc = clean(s, d, &bytes, err);
		/* Nodes that removed nothing say why. */
		if (!whole || bytes > before)
			buf_printf(whole ? &gone : &left, " %" PRId64, d->id);
	}
	if (rc == 0 && gone.len > 0)
		work_say(s->work, "datasets removed from the caches:%s: %s",
			 gone.data, str_size(bytes));
	if (rc == 0 && left.len > 0)
		work_say(s->work,
			 "datasets left in the caches, as not whole on the "
			 "prefix:%s",
			 left.data);
	buf_free(&gone);
	buf_free(&left);
	return rc;
}
