/* SPDX-License-Identifier: BSD-3-Clause */
/* rank2file_each.c - the ranks of one part, one after the other. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvstream.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "mem.h"
#include "meta/rank2file.h"
#include "meta/rank2file_impl.h"
#include "path.h"

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

/* Read the part as a tree. */
static struct kvtree *
read_tree(int dirfd, const struct rank2file_part_at *part, struct error *err)
{
	struct buf raw = BUF_INIT;
	struct kvtree *t = NULL;
	const int fd = path_open_beneath(dirfd, part->name,
					 O_RDONLY | O_NONBLOCK, 0, err);

	if (fd < 0)
		return NULL;
	if (io_read_fd(fd, part->name, KVTREE_MAX_ENCODED, &raw, err) == 0) {
		if (part->offset > raw.len)
			error_set(err, ERROR_CORRUPT, "no offset %" PRIu64,
				  part->offset);
		else
			t = kvtree_decode(raw.data + part->offset,
					  raw.len - (size_t)part->offset, NULL,
					  err);
	}
	close(fd);
	buf_free(&raw);
	return t;
}

/* Load the part into memory. */
static int
load(int dirfd, const struct rank2file_part_at *part, struct each *e)
{
	const size_t nranks = e->visit->nranks;
	struct kvtree *t = read_tree(dirfd, part, e->err);
	struct rank2file all = { .nranks = nranks, .arena = arena_new() };
	uint64_t level = 0, said = 0;
	int rc = -1;

	if (all.arena != NULL)
		all.ranks = arena_alloc(all.arena, nranks, sizeof(*all.ranks));
	if (t != NULL && all.ranks == NULL)
		error_no_memory(e->err);
	else if (t != NULL && rank2file_read_level(t, &level, e->err) == 0)
		rc = level == 0 ? rank2file_read_part(&all, t, &said, e->err)
				: value_bad(e->err, "LEVEL",
					    "not one below the map's");
	for (size_t i = 0; rc == 0 && i < nranks; i++)
		if (all.ranks[i].present)
			rc = take(e, i, &all.ranks[i]);
	kvtree_free(t);
	rank2file_free(&all);
	return rc;
}

int
rank2file_each_rank(int dirfd, const struct rank2file_part_at *part,
		    const struct rank2file_visit *visit, struct error *err)
{
	struct error why = ERROR_INIT;
	struct each e = { .visit = visit, .err = &why };
	int rc = visit->whole ? load(dirfd, part, &e) : stream(dirfd, part, &e);

	if (rc >= 0)
		return rc;
	/* ABSENT is reserved for a missing top file. */
	if (!e.failed && why.kind == ERROR_ABSENT)
		why.kind = ERROR_CORRUPT;
	if (!e.failed && why.kind == ERROR_CORRUPT)
		return error_as(err, &why, "%s: %s", part->name, why.text);
	return error_pass(err, &why);
}
