/* SPDX-License-Identifier: BSD-3-Clause */
#define TEAM_C
#include "team/team.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "clock.h"
#include "dir.h"
#include "error.h"
#include "fnv.h"
#include "kvtree/kvtree.h"
#include "mem.h"
#include "num.h"
#include "team/say.h"
#include "token.h"

/* Bytes of one broadcast. */
#define SHARE_STEP ((size_t)256 << 20)

/* Bytes sent together with their number. */
#define SHARE_FIRST 1000

/*
 * A waiting rank polls.  After some polls it yields its core between them,
 * because the rank that it waits for may need the core.  Later it sleeps, for a
 * part of its waiting time.  In nanoseconds.
 */
#define POLLS_FREE 64
#define YIELD_MOST 1e6
#define SLEEP_PART (1.0 / 32)
#define SLEEP_MOST 1e6

void
team_world(struct team *out)
{
	MPI_Request r;
	int rank = 0, size = 0;

	*out = (struct team)TEAM_INIT;
	MPI_Comm_idup(MPI_COMM_WORLD, &out->comm, &r);
	team_wait(&r, 1);
	MPI_Comm_rank(out->comm, &rank);
	MPI_Comm_size(out->comm, &size);
	out->rank = (uint32_t)rank;
	out->size = (uint32_t)size;
}

void
team_free(struct team *t)
{
	if (t->comm != MPI_COMM_NULL)
		MPI_Comm_free(&t->comm);
	*t = (struct team)TEAM_INIT;
}

void
team_part(const struct team *world, const uint32_t *ranks, uint32_t size,
	  struct team *out)
{
	MPI_Group all, part;

	*out = (struct team){ .size = size, .ranks = ranks };
	out->rank = team_member(out, world->rank);
	MPI_Comm_group(world->comm, &all);
	MPI_Group_incl(all, (int)size, (const int *)ranks, &part);
	MPI_Comm_create_group(world->comm, part, TAG_PART, &out->comm);
	MPI_Group_free(&part);
	MPI_Group_free(&all);
}

uint32_t
team_member(const struct team *t, uint32_t rank)
{
	const uint32_t *at = NULL;

	if (t->ranks == NULL)
		return rank;
	at = bsearch(&rank, t->ranks, t->size, sizeof(*at), num_by_u32);
	return at == NULL ? t->size : (uint32_t)(at - t->ranks);
}

/* --- Waiting --- */

void
team_rest(struct team_rest *r, bool moved)
{
	struct timespec t = { .tv_sec = 0 };
	double ns = 0;

	if (moved || r->polls == 0)
		*r = (struct team_rest){ .since = clock_seconds() };
	if (moved || ++r->polls < POLLS_FREE)
		return;
	ns = (clock_seconds() - r->since) * 1e9;
	if (ns < YIELD_MOST) {
		(void)sched_yield();
		return;
	}
	ns *= SLEEP_PART;
	t.tv_nsec = (long)(ns < SLEEP_MOST ? ns : SLEEP_MOST);
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

/* --- Collectives --- */

void
team_bytes(const struct team *t, uint32_t root, void *data, size_t len)
{
	MPI_Request r;

	MPI_Ibcast(data, (int)len, MPI_BYTE, (int)root, t->comm, &r);
	team_wait(&r, 1);
}

/* `op` over all members, in place. */
static void
reduce(const struct team *t, int64_t *values, int count, MPI_Op op)
{
	MPI_Request r;

	MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, op, t->comm,
		       &r);
	team_wait(&r, 1);
}

void
team_gather64(const struct team *t, uint64_t mine, uint64_t *all)
{
	MPI_Request r;

	MPI_Iallgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, t->comm,
		       &r);
	team_wait(&r, 1);
}

/* --- Agreement --- */

int
team_agree(const struct team *t, int rc, struct error *err)
{
	int64_t first = rc < 0 ? t->rank : t->size;
	struct error why = ERROR_INIT;

	reduce(t, &first, 1, MPI_MIN);
	if (first == t->size)
		return 0;
	if (first == t->rank && err != NULL)
		why = *err;
	team_bytes(t, (uint32_t)first, &why, sizeof(why));
	return error_pass(err, &why);
}

bool
team_any(const struct team *t, bool yes)
{
	return team_most(t, yes) != 0;
}

uint64_t
team_most(const struct team *t, uint64_t value)
{
	/* MPICH 4.0 compares unsigned numbers of 64 bits as signed ones: give
	 * it signed ones in the same order. */
	const uint64_t sign = (uint64_t)1 << 63;
	int64_t most = (int64_t)(value ^ sign);

	reduce(t, &most, 1, MPI_MAX);
	return (uint64_t)most ^ sign;
}

uint64_t
team_least(const struct team *t, uint64_t value)
{
	return ~team_most(t, ~value);
}

void
team_sum(const struct team *t, uint64_t *values, int count)
{
	reduce(t, (int64_t *)values, count, MPI_SUM);
}

void
team_before(const struct team *t, uint64_t *values, int count)
{
	MPI_Request r;

	MPI_Iexscan(MPI_IN_PLACE, values, count, MPI_UINT64_T, MPI_SUM, t->comm,
		    &r);
	team_wait(&r, 1);
	for (int i = 0; i < count && t->rank == 0; i++)
		values[i] = 0;
}

/* --- Bytes --- */

int
team_share(const struct team *t, uint32_t root, int rc, struct buf *b,
	   struct error *err)
{
	struct {
		uint64_t len;
		char data[SHARE_FIRST];
	} first = { .len = rc < 0 ? 0 : b->len };

	if (t->rank == root && first.len > 0 && first.len <= SHARE_FIRST)
		memcpy(first.data, b->data, first.len);
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

int
team_sees(const struct team *world, int dirfd, const char *use, bool *made,
	  bool *seen, struct error *err)
{
	struct token token = TOKEN_INIT;
	struct buf name = BUF_INIT;
	int rc = 0;

	if (world->rank == 0 && dirfd >= 0 &&
	    token_make(&token, dirfd, use) == 0 &&
	    buf_add_str(&name, token.name) < 0)
		rc = error_no_memory(err);
	rc = team_share(world, 0, rc, &name, err);
	*made = rc == 0 && name.len > 0;
	*seen = *made && dirfd >= 0 && dir_access(dirfd, name.data, F_OK) == 0;
	/* All have looked. */
	rc = team_agree(world, rc, err);
	token_end(&token);
	buf_free(&name);
	return rc;
}

/* Each rank passes its turn on to the rank `width` further. */
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
	MPI_Request r;

	if (width == 0 || width >= t->size - t->rank)
		return;
	MPI_Isend(NULL, 0, MPI_BYTE, (int)(t->rank + width), TAG_TURN, t->comm,
		  &r);
	team_wait(&r, 1);
}

/* --- Notes --- */

/*
 * Receive notes into *in.  A rank enters the barrier when all its notes were
 * received.  When all ranks have entered, no note is in transit.  A note that
 * cannot be received would block its sender for ever: end the job.
 */
static void
take_all(const struct team *t, MPI_Request *sent, size_t nsent, struct arena *a,
	 struct team_mail *in)
{
	MPI_Request barrier = MPI_REQUEST_NULL;
	bool entered = false;
	struct team_rest rest = { .polls = 0 };
	size_t next = 0, cap = 0;
	int done = 0, found = 0, len = 0;

	while (!done) {
		MPI_Message message;
		MPI_Status status;
		void *data = NULL;

		MPI_Improbe(MPI_ANY_SOURCE, TAG_NOTE, t->comm, &found, &message,
			    &status);
		if (found) {
			MPI_Get_count(&status, MPI_BYTE, &len);
			if (a != NULL && MEM_ROOM(in->notes, in->count, cap))
				data = arena_alloc(a, (size_t)len + 1, 1);
			if (data == NULL)
				say_abort("out of memory for a message of %d "
					  "bytes",
					  len);
			MPI_Mrecv(data, len, MPI_BYTE, &message,
				  MPI_STATUS_IGNORE);
			in->notes[in->count++] =
				(struct team_note){ (uint32_t)status.MPI_SOURCE,
						    data, (size_t)len };
		}
		team_rest(&rest, found);
		for (found = 1; found && next < nsent; next += (size_t)found)
			MPI_Test(&sent[next], &found, MPI_STATUS_IGNORE);
		if (found && !entered)
			MPI_Ibarrier(t->comm, &barrier);
		entered |= found;
		if (entered)
			MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
	}
}

int
team_notes(const struct team *t, int rc, const struct team_mail *out,
	   struct arena *a, struct team_mail *in, struct error *err)
{
	struct team_note *notes = NULL;
	MPI_Request *sent = NULL;
	size_t nsent = 0;

	*in = (struct team_mail){ .count = 0 };
	/*
	 * After a failure this rank sends nothing, and all ranks get the error
	 * at the end.  No rank leaves before that, so no note of the next
	 * exchange can arrive.
	 */
	if (rc == 0) {
		sent = mem_calloc(out->count + 1, sizeof(MPI_Request));
		if (sent == NULL)
			rc = error_no_memory(err);
		else
			nsent = out->count;
	}
	for (size_t i = 0; i < nsent; i++)
		MPI_Issend(out->notes[i].data, (int)out->notes[i].len, MPI_BYTE,
			   (int)out->notes[i].rank, TAG_NOTE, t->comm,
			   &sent[i]);
	take_all(t, sent, nsent, a, in);
	mem_free(sent);
	if (in->count > 0) {
		qsort(in->notes, in->count, sizeof(*in->notes), num_by_u32);
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

int
team_join(const struct team *t, int rc, struct buf *b, struct error *err)
{
	struct team_note note = { 0, b->data, b->len };
	const struct team_mail out = { b->len > 0, &note };
	struct team_mail in = { 0, NULL };
	struct arena *a = arena_new();

	if (rc == 0)
		rc = a == NULL ? error_no_memory(err) : buf_check(b, err);
	rc = team_notes(t, rc, &out, a, &in, err);
	if (rc == 0 && t->rank == 0) {
		buf_clear(b);
		for (size_t i = 0; i < in.count; i++)
			(void)buf_add(b, in.notes[i].data, in.notes[i].len);
		rc = buf_check(b, err);
	}
	arena_free(a);
	return team_share(t, 0, rc, b, err);
}

int
team_trees(const struct team *t, uint32_t to, int rc, struct kvtree **tree,
	   struct error *err)
{
	struct buf image = BUF_INIT;
	struct team_note note = { .rank = to };
	struct team_mail out = { 0, &note }, in = { 0, NULL };
	struct arena *a = arena_new();

	if (rc == 0)
		rc = a == NULL ? error_no_memory(err) : 0;
	if (rc == 0 && kvtree_count(*tree) > 0) {
		rc = kvtree_encode(*tree, &image, err);
		note.data = image.data;
		note.len = image.len;
		out.count = 1;
	}
	kvtree_free(*tree);
	*tree = NULL;
	rc = team_notes(t, rc, &out, a, &in, err);
	buf_free(&image);
	if (rc == 0)
		rc = (*tree = kvtree_new(err)) == NULL ? -1 : 0;
	for (size_t i = 0; rc == 0 && i < in.count; i++) {
		struct kvtree *one = kvtree_decode(in.notes[i].data,
						   in.notes[i].len, NULL, err);

		rc = one == NULL ? -1 : kvtree_merge(*tree, one, err);
		kvtree_free(one);
	}
	arena_free(a);
	return rc;
}

static int
by_home(const void *a, const void *b)
{
	const struct team_path *x = a, *y = b;

	if (x->home != y->home)
		return x->home < y->home ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

int
team_homes(const struct team *t, struct team_path *list, int64_t npaths,
	   struct arena *a, struct team_mail *in, struct error *err)
{
	const size_t count = npaths > 0 ? (size_t)npaths : 0;
	struct team_mail out = { 0, NULL };
	struct buf paths = BUF_INIT;
	int rc = npaths < 0 ? -1 : 0;

	if (rc == 0) {
		out.notes = arena_alloc(a, count, sizeof(*out.notes));
		rc = out.notes == NULL ? error_no_memory(err) : 0;
	}
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const uint64_t h = fnv_text(list[i].path);

		list[i].home = (uint32_t)((h ^ h >> 32) % t->size);
		list[i].number = i;
	}
	if (rc == 0 && count > 0)
		qsort(list, count, sizeof(*list), by_home);
	for (size_t i = 0; rc == 0 && i < count;) {
		struct team_note *n = &out.notes[out.count++];

		n->rank = list[i].home;
		buf_clear(&paths);
		for (; i < count && list[i].home == n->rank; i++)
			(void)buf_add(&paths, list[i].path,
				      strlen(list[i].path) + 1);
		n->len = paths.len;
		n->data = paths.failed
				  ? NULL
				  : arena_strndup(a, paths.data, paths.len);
		if (n->data == NULL)
			rc = error_no_memory(err);
	}
	buf_free(&paths);
	return team_notes(t, rc, &out, a, in, err);
}
