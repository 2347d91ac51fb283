/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contain.c - pack saved datasets into containers.
 */
#include <inttypes.h>
#include <stdio.h>

#include "catalogue/owners.h"
#include "clock.h"
#include "container/pack.h"
#include "error.h"
#include "scavenge/scavenge_impl.h"
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
