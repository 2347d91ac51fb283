/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/flow.h"

#include <mpi.h>
#include <stdbool.h>
#include <string.h>

#include "encode/code.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "team/source.h"
#include "team/team.h"

/* Messages in transit at a time, in each direction. */
#define LANES 4

/* Least and greatest bytes of a message. */
#define SLICE_LEAST ((uint64_t)4096)
#define SLICE_MOST ((uint64_t)64 << 20)

/* A piece of a data string, with its receivers or sender. */
struct piece {
	uint64_t off;  /* in its chunk; PARTNER: in the string */
	uint64_t at;   /* in the string */
	size_t len;    /* 0: nothing is sent */
	uint32_t peer; /* received: the sender */
	/* received: the check chunk or copy that it is for */
	unsigned block;
	const uint32_t *to; /* sent: the receivers, `failures` members */
};

/* Position of the next piece; all members count in the same order. */
struct cursor {
	uint64_t off;
	unsigned step, block;
};

/* A ring of messages, the oldest at `first`. */
struct ring {
	struct cursor cursor;
	bool ended; /* no more pieces */
	unsigned first, count;
	struct piece piece[LANES];
	char *data[LANES];
	MPI_Request *requests; /* `width` for each lane */
	unsigned width;
};

struct flow {
	struct flow_job j;
	struct code code;
	bool coded;	/* XOR, RS; else copies */
	uint32_t n, me; /* members */
	unsigned k;	/* check chunks, or copies */
	size_t slice;
	uint64_t end; /* of all cursors' `off` */
	/* Coded: by stripe, its k holders, by index of the check chunk; copies:
	 * the members that get mine. */
	uint32_t *holders;
	uint64_t *copy_at;	 /* copies: where each starts in the body */
	struct recipe **recipes; /* for each check chunk of mine */
	void **sums;		 /* for each, a slice of it */
	uint64_t summed;	 /* offset of the slices in `sums` */
	char *memory;
	MPI_Request *requests;
	struct ring in, out;
	int rc; /* -1: something failed here; *err has the first reason */
	struct error *err;
};

/* --- Pieces --- */

/* Bytes of the string of `member` from `at`, at most `most`. */
static size_t
within(const struct flow *f, uint32_t member, uint64_t at, uint64_t most)
{
	const uint64_t all = f->j.bytes[member];

	if (at >= all)
		return 0;
	return (size_t)(all - at < most ? all - at : most);
}

/* The piece of `member` in `stripe`, at `off` in the chunk. */
static struct piece
piece_of(const struct flow *f, uint32_t member, unsigned stripe, uint64_t off)
{
	const struct code_slot slot = code_slot(&f->code, member, stripe);
	const uint64_t left = f->j.chunk - off;
	struct piece p = { .off = off, .peer = member };

	if (slot.check)
		return p;
	p.at = slot.index * f->j.chunk + off;
	p.len = within(f, member, p.at, left < f->slice ? left : f->slice);
	return p;
}

/* The next piece of mine.  Coded: in step t it is that of stripe me + t. */
static struct piece
piece_out(const struct flow *f, const struct cursor *c)
{
	const unsigned stripe = (f->me + c->step) % f->n;
	struct piece p;

	if (!f->coded)
		return (struct piece){ .off = c->off,
				       .at = c->off,
				       .len = within(f, f->me, c->off,
						     f->slice),
				       .to = f->holders };
	p = piece_of(f, f->me, stripe, c->off);
	p.to = f->holders + (size_t)stripe * f->k;
	return p;
}

/* The piece that comes for check chunk, or copy, `block` of mine. */
static struct piece
piece_in(const struct flow *f, const struct cursor *c)
{
	const struct code_slot mine = { .check = true, .index = c->block };
	struct piece p;
	unsigned stripe = 0;
	uint32_t from = 0;

	if (f->coded) {
		stripe = code_stripe(&f->code, f->me, mine);
		from = (stripe + f->n - c->step) % f->n;
		p = piece_of(f, from, stripe, c->off);
	} else {
		from = (f->me + f->n - 1 - c->block % f->n) % f->n;
		p = (struct piece){ .off = c->off,
				    .at = c->off,
				    .len = within(f, from, c->off, f->slice),
				    .peer = from };
	}
	p.block = c->block;
	return p;
}

/* Take the next piece that has bytes.  false: there is none. */
static bool
next_piece(const struct flow *f, struct ring *r, bool in, struct piece *out)
{
	struct cursor *c = &r->cursor;
	const unsigned steps = f->coded ? f->n : 1;
	const unsigned blocks = in ? f->k : 1;

	for (; c->off < f->end; c->off += f->slice, c->step = 0)
		for (; c->step < steps; c->step++, c->block = 0)
			while (c->block < blocks) {
				*out = in ? piece_in(f, c) : piece_out(f, c);
				c->block++;
				if (out->len > 0)
					return true;
			}
	return false;
}

/* --- The body --- */

static void
write_body(struct flow *f, const void *data, size_t len, uint64_t at)
{
	if (f->rc == 0)
		f->rc = io_pwrite(f->j.fd, f->j.name, data, len, f->j.body + at,
				  f->err);
	if (f->rc == 0)
		io_write_behind(f->j.fd, f->j.body + at, len, false);
}

/* Write the sums of one slice, and start those of the next. */
static void
write_sums(struct flow *f)
{
	const uint64_t left = f->j.chunk - f->summed;
	const size_t len = left < f->slice ? (size_t)left : f->slice;

	for (unsigned i = 0; i < f->k; i++) {
		write_body(f, f->sums[i], len, i * f->j.chunk + f->summed);
		memset(f->sums[i], 0, len);
	}
	f->summed += f->slice;
}

/* --- Messages --- */

static unsigned
lane_of(const struct ring *r, unsigned i)
{
	return (r->first + i) % LANES;
}

/* Begin the next message of the ring, if there is one and a lane is free.  A
 * piece of this member that cannot be read is sent all the same, because other
 * members wait for it. */
static bool
begin(struct flow *f, struct ring *r)
{
	const struct team *t = f->j.members;
	const bool in = r == &f->in;
	const unsigned lane = lane_of(r, r->count);
	MPI_Request *requests = &r->requests[lane * r->width];
	struct piece *p = &r->piece[lane];
	char *data = r->data[lane];

	if (r->ended || r->count == LANES)
		return false;
	r->ended = !next_piece(f, r, in, p);
	if (r->ended)
		return true;
	if (!in && f->rc == 0)
		f->rc = source_read(f->j.source, p->at, data, p->len, f->err);
	if (!in && f->rc < 0)
		memset(data, 0, p->len);
	if (in)
		MPI_Irecv(data, (int)p->len, MPI_BYTE, (int)p->peer, TAG_PIECE,
			  t->comm, requests);
	for (unsigned i = 0; !in && i < f->k; i++)
		MPI_Isend(data, (int)p->len, MPI_BYTE, (int)p->to[i], TAG_PIECE,
			  t->comm, &requests[i]);
	r->count++;
	return true;
}

/* Remove the oldest message of the ring if it is complete: code or keep what
 * was received. */
static bool
finish(struct flow *f, struct ring *r)
{
	const unsigned lane = r->first;
	const struct piece *p = &r->piece[lane];
	const struct recipe *recipe = NULL;
	const unsigned char *at = NULL;
	int done = 1;

	if (r->count == 0)
		return false;
	for (unsigned i = 0; done && i < r->width; i++)
		MPI_Test(&r->requests[lane * r->width + i], &done,
			 MPI_STATUS_IGNORE);
	if (!done)
		return false;
	if (r == &f->in && f->coded) {
		while (f->summed < p->off)
			write_sums(f);
		recipe = f->recipes[p->block];
		/* Its place among the inputs. */
		at = memchr(recipe->in, (int)p->peer, recipe->nin);
		recipe_add(recipe, (unsigned)(at - recipe->in), p->len,
			   r->data[lane], &f->sums[p->block]);
	} else if (r == &f->in) {
		write_body(f, r->data[lane], p->len,
			   f->copy_at[p->block] + p->off);
	}
	r->first = lane_of(r, 1);
	r->count--;
	return true;
}

int
flow_run(struct flow *f, struct error *err)
{
	struct team_rest rest = { .polls = 0 };

	f->err = err;
	/* SINGLE reads for the checksums only. */
	f->out.ended = f->k == 0 && source_summed(f->j.source);
	while (!f->in.ended || !f->out.ended || f->in.count > 0 ||
	       f->out.count > 0) {
		bool moved = begin(f, &f->in);

		moved = begin(f, &f->out) || moved;
		moved = finish(f, &f->in) || moved;
		moved = finish(f, &f->out) || moved;
		team_rest(&rest, moved);
	}
	while (f->coded && f->summed < f->j.chunk)
		write_sums(f);
	return f->rc;
}

/* --- Making one --- */

/* Find the holders of the check chunks of all stripes, and the recipes for the
 * chunks of this member. */
static int
prepare_coded(struct flow *f, struct error *err)
{
	f->code = (struct code){ f->j.type == REDSET_RS ? CODE_RS : CODE_XOR,
				 f->n, f->k };
	if (code_check(&f->code, err) < 0)
		return -1;
	f->holders = mem_calloc((size_t)f->n * f->k, sizeof(*f->holders));
	f->recipes = mem_calloc(f->k, sizeof(struct recipe *));
	if (f->holders == NULL || f->recipes == NULL)
		return error_no_memory(err);
	for (uint32_t m = 0; m < f->n; m++)
		for (unsigned s = 0; s < f->n; s++) {
			const struct code_slot at = code_slot(&f->code, m, s);

			if (at.check)
				f->holders[s * f->k + at.index] = m;
		}
	for (unsigned i = 0; i < f->k; i++) {
		const struct code_slot slot = { .check = true, .index = i };
		const unsigned stripe = code_stripe(&f->code, f->me, slot);
		const unsigned char mine = (unsigned char)f->me;
		unsigned char in[CODE_MAX];
		struct recipe_members m = { in, 0, &mine, 1 };

		for (uint32_t q = 0; q < f->n; q++)
			if (!code_slot(&f->code, q, stripe).check)
				in[m.nin++] = (unsigned char)q;
		f->recipes[i] = recipe_from(&f->code, stripe, &m, err);
		if (f->recipes[i] == NULL)
			return -1;
	}
	return 0;
}

/* Allocate buffers.  Messages are smaller if many check chunks need memory. */
static int
prepare_memory(struct flow *f, struct error *err)
{
	const size_t sums = f->coded ? f->k : 0;
	uint64_t slice = f->j.buffer / (1 + sums / 8) / CODE_ALIGN * CODE_ALIGN;

	slice = slice < SLICE_LEAST ? SLICE_LEAST : slice;
	slice = slice > SLICE_MOST ? SLICE_MOST : slice;
	f->slice = (size_t)slice;
	/* Small files need less. */
	if (f->end < slice)
		f->slice = (size_t)((f->end + CODE_ALIGN) / CODE_ALIGN *
				    CODE_ALIGN);
	f->memory = mem_aligned(CODE_ALIGN, f->slice * (2 * LANES + sums));
	f->sums = mem_calloc(sums + 1, sizeof(void *));
	f->in.width = 1;
	f->out.width = f->k;
	f->requests =
		mem_alloc((size_t)LANES * (1 + f->k), sizeof(MPI_Request));
	if (f->memory == NULL || f->sums == NULL || f->requests == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < (size_t)LANES * (1 + f->k); i++)
		f->requests[i] = MPI_REQUEST_NULL;
	f->in.requests = f->requests;
	f->out.requests = f->requests + LANES;
	for (unsigned i = 0; i < LANES; i++) {
		f->in.data[i] = f->memory + i * f->slice;
		f->out.data[i] = f->memory + (LANES + i) * f->slice;
	}
	for (size_t i = 0; i < sums; i++) {
		f->sums[i] = f->memory + (2 * LANES + i) * f->slice;
		memset(f->sums[i], 0, f->slice);
	}
	return 0;
}

struct flow *
flow_new(const struct flow_job *j, struct error *err)
{
	struct flow *f = mem_calloc(1, sizeof(*f));
	int rc = 0;

	if (f == NULL)
		return error_no_memory_null(err);
	f->j = *j;
	f->n = j->members->size;
	f->me = j->members->rank;
	f->k = j->failures;
	f->coded = redset_format(j->type)->body == REDSET_BODY_CHUNKS;
	if (f->coded) {
		f->end = j->chunk;
		rc = prepare_coded(f, err);
	} else {
		for (uint32_t m = 0; m < f->n; m++)
			if (j->bytes[m] > f->end)
				f->end = j->bytes[m];
		/* The receivers of this member's copies, and the places of
		 * other members' copies in the body. */
		f->holders = mem_calloc((size_t)f->k + 1, sizeof(*f->holders));
		f->copy_at = mem_calloc((size_t)f->k + 1, sizeof(*f->copy_at));
		if (f->holders == NULL || f->copy_at == NULL)
			rc = error_no_memory(err);
		for (unsigned i = 0; rc == 0 && i < f->k && f->n > 0; i++) {
			const uint32_t left =
				(f->me + f->n - 1 - i % f->n) % f->n;

			f->holders[i] = (f->me + 1 + i) % f->n;
			f->copy_at[i + 1] = f->copy_at[i] + j->bytes[left];
		}
	}
	if (rc < 0 || prepare_memory(f, err) < 0) {
		flow_free(f);
		return NULL;
	}
	return f;
}

void
flow_free(struct flow *f)
{
	if (f == NULL)
		return;
	for (unsigned i = 0; f->recipes != NULL && i < f->k; i++)
		recipe_free(f->recipes[i]);
	mem_free(f->recipes);
	mem_free(f->holders);
	mem_free(f->copy_at);
	mem_free(f->sums);
	mem_free(f->memory);
	mem_free(f->requests);
	mem_free(f);
}
