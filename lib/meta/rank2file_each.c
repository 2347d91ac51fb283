/* SPDX-License-Identifier: BSD-3-Clause */
/* rank2file_each.c - the ranks of one part, one after the other. */
#include "arena.h"
#include "error.h"
#include "kvtree/kvstream.h"
#include "mem.h"
#include "meta/rank2file.h"
#include "meta/rank2file_impl.h"

struct each {
	const struct rank2file_visit *visit;
	struct error *err;
	bool failed; /* take() has failed */
};

static int
take(void *arg, size_t rank, const struct rank2file_rank *r)
{
	struct each *e = arg;

	e->failed = e->visit->take(e->visit->arg, rank, r, e->err) < 0;
	return e->failed ? -1 : 0;
}

/* Read the part in a window. */
static int
stream(int dirfd, const struct rank2file_part_at *part, struct each *e)
{
	const size_t nranks = e->visit->nranks;
	struct rank2file all = { .nranks = nranks };
	struct rank2file_reader to = {
		.out = &all, .arena = arena_new(), .take = take, .arg = e
	};
	struct kvstream from;
	uint64_t said = 0;
	int rc = 1;

	to.claimed = mem_calloc(nranks + 1, sizeof(*to.claimed));
	if (to.arena == NULL || to.claimed == NULL) {
		rc = error_no_memory(e->err);
	} else if (part->offset == 0 &&
		   kvstream_open(&from, dirfd, part->name) == 0) {
		rc = rank2file_scan(&to, &from, &said);
		kvstream_close(&from);
		if (rc < 0 && !e->failed)
			error_no_memory(e->err);
	}
	mem_free(to.claimed);
	arena_free(to.arena);
	return rc;
}

/* Load the part into memory. */
static int
load(int dirfd, const struct rank2file_part_at *part, struct each *e)
{
	struct rank2file all = { .arena = arena_new() };
	struct rank2file_part image = { .name = part->name,
					.offset = part->offset };
	struct rank2file_loader l = {
		.out = &all,
		.images = &image,
		.nimages = 1,
		.dirfd = dirfd,
		.nranks = e->visit->nranks,
		/* The other parts, of unknown size, have ranks, too. */
		.bytes = UINT64_MAX / 2,
	};
	int rc = all.arena == NULL ? error_no_memory(e->err)
				   : rank2file_read_parts(&l, e->err);

	for (size_t i = 0; rc == 0 && i < all.nranks; i++)
		if (all.ranks[i].present)
			rc = take(e, i, &all.ranks[i]);
	mem_free(l.claimed);
	rank2file_free(&all);
	return rc;
}

int
rank2file_each_rank(int dirfd, const struct rank2file_part_at *part,
		    const struct rank2file_visit *visit, struct error *err)
{
	struct each e = { .visit = visit, .err = err };

	return visit->whole ? load(dirfd, part, &e) : stream(dirfd, part, &e);
}
