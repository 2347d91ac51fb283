/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"

#include "encode/code.h"

static struct code
world_code(const struct world *w)
{
	return (struct code){
		.type = w->type == REDSET_RS ? CODE_RS : CODE_XOR,
		.n = w->n,
		.k = w->k,
	};
}

/* Multiplication by repeated doubling, without tables or library code. */
static unsigned char
times(unsigned a, unsigned b)
{
	unsigned r = 0;

	for (; b; b >>= 1, a = a << 1 ^ (a & 0x80 ? 0x11d : 0))
		r ^= b & 1 ? a : 0;
	return (unsigned char)r;
}

/* The body of a member: copies of the data of its left neighbours. */
static void
copy_neighbours(struct world *w, unsigned m)
{
	unsigned char *to = w->s[m].body;

	for (unsigned d = 1; d <= w->k; d++) {
		unsigned x = (m + w->n - d) % w->n;

		memcpy(to, w->s[x].data, w->member[x].bytes);
		to += w->member[x].bytes;
	}
}

/* ... or its chunks of parity. */
static void
encode(struct world *w, unsigned m)
{
	const struct code c = world_code(w);

	for (unsigned row = 0; row < w->k; row++) {
		unsigned s =
			code_stripe(&c, m, (struct code_slot){ true, row });
		unsigned char *to = w->s[m].body + row * w->chunk;
		bool lost[CODE_MAX] = { false };
		auto_recipe *r = NULL;

		lost[m] = true;
		r = recipe_new(&c, s, lost, NULL);
		for (unsigned k = 0; k < r->nin; k++) {
			unsigned j = r->in[k];
			uint64_t at = code_slot(&c, j, s).index * w->chunk;

			for (uint64_t i = 0; i < w->chunk; i++)
				if (at + i < w->member[j].bytes)
					to[i] ^= times(w->s[j].data[at + i],
						       r->matrix[k]);
		}
	}
}

void
world_end(struct world *w)
{
	solution_free(&w->solution);
	arena_free(w->arena);
	memset(w, 0, sizeof(*w));
}

void
world_make(struct world *w, enum redset_type type, unsigned n, unsigned k,
	   uint64_t all)
{
	uint64_t longest = 0;

	world_end(w);
	w->type = type;
	w->n = n;
	w->k = k;
	w->arena = arena_new();
	w->s = arena_alloc(w->arena, n, sizeof(*w->s));
	w->member = arena_alloc(w->arena, n, sizeof(*w->member));
	w->d = arena_alloc(w->arena, 4 * n, sizeof(*w->d));
	w->b = w->d + n;
	w->od = w->b + n;
	w->ob = w->od + n;
	for (unsigned m = 0; m < n; m++) {
		uint64_t bytes = all ? all : below(5) ? below(900) : 0;

		if (bytes > longest)
			longest = bytes;
		w->s[m].data = arena_alloc(w->arena, bytes + 1, 1);
		for (uint64_t i = 0; i < bytes; i++)
			w->s[m].data[i] = (unsigned char)below(256);
		w->member[m].bytes = bytes;
		w->member[m].lost = w->s[m].lost;
	}
	if (type != REDSET_PARTNER) {
		const struct code c = world_code(w);

		w->chunk = code_chunk_size(&c, longest);
	}
	for (unsigned m = 0; m < n; m++) {
		struct solve_member *to = &w->member[m];
		struct string *s = &w->s[m];

		to->body = k * w->chunk;
		for (unsigned d = 1; type == REDSET_PARTNER && d <= k; d++)
			to->body += w->member[(m + n - d) % n].bytes;
		s->body = arena_alloc(w->arena, to->body + 1, 1);
		if (type == REDSET_PARTNER)
			copy_neighbours(w, m);
		else
			encode(w, m);
		s->left = arena_alloc(w->arena, to->bytes + 1, 1);
		s->left_body = arena_alloc(w->arena, to->body + 1, 1);
		memcpy(s->left, s->data, to->bytes);
		memcpy(s->left_body, s->body, to->body);
	}
}

void
world_lose(struct world *w, unsigned m, uint64_t from, uint64_t to)
{
	struct solve_member *sm = &w->member[m];

	if (to > sm->bytes)
		to = sm->bytes;
	if (from >= to)
		return;
	w->s[m].lost[sm->nlost++] = (struct solve_range){ from, to };
	memset(w->s[m].left + from, 0xEE, to - from);
}

void
world_lose_body(struct world *w, unsigned m)
{
	w->member[m].body_lost = true;
	memset(w->s[m].left_body, 0xEE, w->member[m].body);
}

void
world_lose_member(struct world *w, unsigned m)
{
	world_lose(w, m, 0, w->member[m].bytes);
	world_lose_body(w, m);
}

static void
part(struct stripe *s, struct stripe_part *p, uint64_t start, uint64_t len,
     unsigned char *mem)
{
	s->parts = p;
	if (len > 0)
		p[s->nparts++] = (struct stripe_part){
			.start = start,
			.len = len,
			.mem = mem,
			.sum = STRIPE_NO_SUM,
		};
}

/* Strings to read from the remaining bytes, and to write the lost ones. */
static void
strings(struct world *w)
{
	for (unsigned m = 0; m < w->n; m++) {
		const struct solve_member *sm = &w->member[m];
		struct string *s = &w->s[m];
		uint64_t at = 0;

		for (size_t i = 0; i <= sm->nlost; i++) {
			bool last = i == sm->nlost;
			uint64_t to = last ? sm->bytes : s->lost[i].from;

			part(&w->d[m], s->parts, at, to - at, s->left + at);
			if (last)
				break;
			at = s->lost[i].to;
			part(&w->od[m], s->new_parts, to, at - to,
			     s->left + to);
		}
		part(sm->body_lost ? &w->ob[m] : &w->b[m], &s->body_part, 0,
		     sm->body, s->left_body);
	}
}

struct solve_set
world_set(const struct world *w)
{
	return (struct solve_set){
		.type = w->type,
		.n = w->n,
		.failures = w->k,
		.chunk = w->chunk,
		.member = w->member,
	};
}

struct compute_set
world_solved(struct world *w)
{
	const struct solve_set set = world_set(w);

	must(solve(&set, &w->solution, NULL) == 0);
	strings(w);
	return (struct compute_set){ &w->solution, w->d, w->b, w->od, w->ob };
}

bool
world_came_back(struct world *w)
{
	bool good = true;

	for (size_t i = 0; i < w->solution.nlost; i++) {
		const struct solve_lost *l = &w->solution.lost[i];
		const struct string *s = &w->s[l->member];
		const uint64_t size = l->body ? w->member[l->member].body
					      : w->member[l->member].bytes;
		const uint64_t from = l->range.from;
		const uint64_t to = l->range.to < size ? l->range.to : size;

		if (from < to)
			memcpy((l->body ? s->left_body : s->left) + from,
			       (l->body ? s->body : s->data) + from, to - from);
	}
	for (unsigned m = 0; m < w->n; m++)
		good &= memcmp(w->s[m].left, w->s[m].data,
			       w->member[m].bytes) == 0 &&
			memcmp(w->s[m].left_body, w->s[m].body,
			       w->member[m].body) == 0;
	return good;
}
