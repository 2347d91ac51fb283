/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/team.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "buf.h"
#include "clock.h"
#include "error.h"
#include "fnv.h"
#include "mem.h"
#include "scr/say.h"

/* Bytes of one broadcast. */
#define SHARE_STEP ((size_t)256 << 20)

/* Bytes that come with their number. */
#define SHARE_FIRST 1000

/* Polls before the first sleep, and how long the sleeps are, in nanoseconds. */
#define POLLS_FREE 64
#define SLEEP_LEAST 10000
#define SLEEP_MOST 1000000

#define TAG_TURN 3
#define TAG_NOTE 1

static void
know(struct team *t)
{
	int rank = 0, size = 0;

	MPI_Comm_rank(t->comm, &rank);
	MPI_Comm_size(t->comm, &size);
	t->rank = (uint32_t)rank;
	t->size = (uint32_t)size;
}

void
team_world(struct team *out)
{
	MPI_Comm_dup(MPI_COMM_WORLD, &out->comm);
	know(out);
}

void
team_split(const struct team *of, uint32_t color, struct team *out)
{
	*out = (struct team)TEAM_INIT;
	MPI_Comm_split(of->comm,
		       color == TEAM_NONE ? MPI_UNDEFINED : (int)color,
		       (int)of->rank, &out->comm);
	if (out->comm != MPI_COMM_NULL)
		know(out);
}

void
team_free(struct team *t)
{
	if (t->comm != MPI_COMM_NULL)
		MPI_Comm_free(&t->comm);
	*t = (struct team)TEAM_INIT;
}

uint32_t
team_home(const char *path, uint32_t ranks)
{
	const uint64_t h = fnv_text(path);

	return (uint32_t)((h ^ h >> 32) % ranks);
}

/* --- Waiting --- */

void
team_rest(struct team_rest *r, bool moved)
{
	struct timespec t = { .tv_nsec = SLEEP_MOST };
	double ns = 0;

	if (moved || r->polls == 0)
		*r = (struct team_rest){ .since = clock_seconds() };
	if (moved || ++r->polls < POLLS_FREE)
		return;
	ns = (clock_seconds() - r->since) * 1e9 / 8;
	if (ns < SLEEP_MOST)
		t.tv_nsec = ns > SLEEP_LEAST ? (long)ns : SLEEP_LEAST;
	(void)nanosleep(&t, NULL);
}

void
team_wait(MPI_Request *requests, int count)
{
	struct team_rest rest = { .polls = 0 };
	int done = 0;

	for (int i = 0; i < count; i += done) {
		MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
		team_rest(&rest, done);
	}
}

static void
reduce(const struct team *t, const void *mine, void *all, MPI_Datatype type,
       MPI_Op op)
{
	MPI_Request r;

	MPI_Iallreduce(mine, all, 1, type, op, t->comm, &r);
	team_wait(&r, 1);
}

void
team_bytes(const struct team *t, uint32_t root, void *data, size_t len)
{
	MPI_Request r;

	MPI_Ibcast(data, (int)len, MPI_BYTE, (int)root, t->comm, &r);
	team_wait(&r, 1);
}

void
team_gather(const struct team *t, const void *mine, size_t len, void *all)
{
	MPI_Request r;

	MPI_Iallgather(mine, (int)len, MPI_BYTE, all, (int)len, MPI_BYTE,
		       t->comm, &r);
	team_wait(&r, 1);
}

/* --- Agreement --- */

int
team_agree(const struct team *t, int rc, struct error *err)
{
	int mine = rc < 0 ? (int)t->rank : INT_MAX, first = INT_MAX;
	struct error why = ERROR_INIT;

	reduce(t, &mine, &first, MPI_INT, MPI_MIN);
	if (first == INT_MAX)
		return 0;
	if (mine == first && err != NULL)
		why = *err;
	team_bytes(t, (uint32_t)first, &why, sizeof(why));
	return error_pass(err, &why);
}

bool
team_any(const struct team *t, bool yes)
{
	int mine = yes, all = 0;

	reduce(t, &mine, &all, MPI_INT, MPI_LOR);
	return all != 0;
}

uint64_t
team_most(const struct team *t, uint64_t value)
{
	/* MPICH 4.0 compares unsigned numbers of 64 bits as signed ones: give
	 * it signed ones in the same order. */
	const uint64_t sign = (uint64_t)1 << 63;
	int64_t mine = (int64_t)(value ^ sign), all = 0;

	reduce(t, &mine, &all, MPI_INT64_T, MPI_MAX);
	return (uint64_t)all ^ sign;
}

uint64_t
team_least(const struct team *t, uint64_t value)
{
	return ~team_most(t, ~value);
}

void
team_sum(const struct team *t, uint64_t *values, int count)
{
	MPI_Request r;

	MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_UINT64_T, MPI_SUM,
		       t->comm, &r);
	team_wait(&r, 1);
}

/* --- Bytes --- */

int
team_share(const struct team *t, uint32_t root, struct buf *b,
	   struct error *err)
{
	struct {
		uint64_t len;
		char data[SHARE_FIRST];
	} first = { .len = b->len };
	int rc = 0;

	if (t->rank == root && b->len > 0 && b->len <= SHARE_FIRST)
		memcpy(first.data, b->data, b->len);
	team_bytes(t, root, &first, sizeof(first));
	if (t->rank != root) {
		buf_clear(b);
		if (buf_reserve(b, first.len + 1) < 0)
			rc = error_no_memory(err);
	}
	if (team_agree(t, rc, err) < 0)
		return -1;
	if (t->rank != root && first.len <= SHARE_FIRST)
		memcpy(b->data, first.data, first.len);
	for (uint64_t at = 0; first.len > SHARE_FIRST && at < first.len;
	     at += SHARE_STEP)
		team_bytes(t, root, b->data + at,
			   first.len - at < SHARE_STEP ? first.len - at
						       : SHARE_STEP);
	if (t->rank != root) {
		b->len = first.len;
		b->data[first.len] = '\0';
	}
	return 0;
}

bool
team_same(const struct team *t, const char *text)
{
	const uint64_t h = text == NULL ? 0 : fnv_text(text);

	return team_most(t, h) == team_least(t, h);
}

void
team_gather64(const struct team *t, uint64_t mine, uint64_t *all)
{
	team_gather(t, &mine, sizeof(mine), all);
}

/* Each rank hands its turn on to the rank that is `width` further. */
void
team_turn(const struct team *t, uint32_t width)
{
	MPI_Request r;

	if (width == 0 || t->rank < width)
		return;
	MPI_Irecv(NULL, 0, MPI_BYTE, (int)(t->rank - width), TAG_TURN, t->comm,
		  &r);
	team_wait(&r, 1);
}

void
team_turn_done(const struct team *t, uint32_t width)
{
	if (width > 0 && width < t->size - t->rank)
		MPI_Send(NULL, 0, MPI_BYTE, (int)(t->rank + width), TAG_TURN,
			 t->comm);
}

/* --- Notes --- */

struct receiving {
	struct arena *arena;
	struct team_mail *in;
	size_t cap;
};

/* Receive the note that was probed.  A note that cannot be taken would stop its
 * sender for ever: end the job. */
static void
receive(MPI_Message *message, const MPI_Status *status, struct receiving *r)
{
	struct team_note *n = NULL;
	void *data = NULL;
	int len = 0;

	MPI_Get_count(status, MPI_BYTE, &len);
	if (MEM_ROOM(r->in->notes, r->in->count, r->cap))
		data = arena_alloc(r->arena, (size_t)len + 1, 1);
	if (data == NULL)
		say_abort("out of memory for a note of %d bytes", len);
	MPI_Mrecv(data, len, MPI_BYTE, message, MPI_STATUS_IGNORE);
	n = &r->in->notes[r->in->count++];
	*n = (struct team_note){ (uint32_t)status->MPI_SOURCE, data,
				 (size_t)len };
}

static int
by_rank(const void *a, const void *b)
{
	const struct team_note *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* A rank whose notes were all taken enters the barrier; when all have, no note
 * is on its way. */
static void
take_all(const struct team *t, MPI_Request *sent, size_t nsent,
	 struct receiving *r)
{
	MPI_Request barrier = MPI_REQUEST_NULL;
	struct team_rest rest = { .polls = 0 };
	bool entered = false;
	size_t next = 0;
	int done = 0, found = 0;

	while (!done) {
		MPI_Message message;
		MPI_Status status;

		MPI_Improbe(MPI_ANY_SOURCE, TAG_NOTE, t->comm, &found, &message,
			    &status);
		if (found)
			receive(&message, &status, r);
		team_rest(&rest, found);
		if (entered) {
			MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
			continue;
		}
		for (found = 1; found && next < nsent; next += (size_t)found)
			MPI_Test(&sent[next], &found, MPI_STATUS_IGNORE);
		if (found) {
			MPI_Ibarrier(t->comm, &barrier);
			entered = true;
		}
	}
}

int
team_notes(const struct team *t, const struct team_mail *out, struct arena *a,
	   struct team_mail *in, struct error *err)
{
	struct receiving r = { .arena = a, .in = in };
	struct team_note *notes = NULL;
	MPI_Request *sent = mem_calloc(out->count + 1, sizeof(MPI_Request));
	int rc = sent == NULL ? error_no_memory(err) : 0;

	/* Without memory this rank sends nothing, and all learn it at the end.
	 * Nobody leaves before that: no note of the next exchange can come. */
	const size_t nsent = sent == NULL ? 0 : out->count;

	*in = (struct team_mail){ .count = 0 };
	for (size_t i = 0; i < nsent; i++)
		MPI_Issend(out->notes[i].data, (int)out->notes[i].len, MPI_BYTE,
			   (int)out->notes[i].rank, TAG_NOTE, t->comm,
			   &sent[i]);
	take_all(t, sent, nsent, &r);
	mem_free(sent);
	if (in->count > 0) {
		qsort(in->notes, in->count, sizeof(*in->notes), by_rank);
		notes = arena_alloc(a, in->count, sizeof(*notes));
		if (notes == NULL)
			rc = error_no_memory(err);
		else
			memcpy(notes, in->notes, in->count * sizeof(*notes));
	}
	mem_free(in->notes);
	in->notes = notes;
	return team_agree(t, rc, err);
}
