/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_redset_table.c - headers of one set, read one after another: the table of
 * ranks is parsed once if all have the same, and never believed if not.
 */
#include "arena.h"
#include "meta/redset.h"
#include "metatest.h"

#define MOST 255

struct set {
	uint32_t n;
	struct redset_member members[MOST];
	uint32_t ranks[MOST];
	struct buf images[MOST];
};

/* Encode the header of a member, after `change`. */
static void
encode(struct set *s, uint32_t m, void (*change)(struct kvtree *t))
{
	auto_kvtree *t = redset_header_build(s->members, s->ranks, 10, m, NULL);

	must(t != NULL);
	if (change != NULL)
		change(t);
	buf_clear(&s->images[m]);
	must(kvtree_encode(t, &s->images[m], NULL) == 0);
}

static void
make(struct set *s, uint32_t n)
{
	*s = (struct set){ .n = n };
	for (uint32_t m = 0; m < n; m++) {
		s->ranks[m] = 2 * m + 1;
		s->members[m] = (struct redset_member){
			.known = true,
			.desc = { .type = REDSET_XOR,
				  .enabled = true,
				  .sets = 1,
				  .member = m,
				  .members = n,
				  .rank = 2 * m + 1,
				  .ranks = 2 * n,
				  .failures = 1 },
		};
	}
	for (uint32_t m = 0; m < n; m++)
		encode(s, m, NULL);
}

static void
drop_set(struct set *s)
{
	for (uint32_t m = 0; m < s->n; m++)
		buf_free(&s->images[m]);
}

static int
parse(struct redset_table *t, const struct set *s, uint32_t m,
      struct redset_header *h, struct error *err)
{
	return redset_header_parse(t, s->images[m].data, s->images[m].len, m, h,
				   err);
}

static bool
is_header(const struct redset_header *h, const struct set *s, uint32_t m)
{
	return h->size == s->images[m].len && h->chunk == 10 &&
	       h->desc.member == m && h->members[m].known &&
	       memcmp(h->ranks, s->ranks, s->n * sizeof(*s->ranks)) == 0;
}

/* Every header after the first uses the table of the first. */
static void
parsed_once(uint32_t n)
{
	struct redset_table t = { .arena = arena_new() };
	const uint32_t *first = NULL;
	struct redset_header h;
	uint32_t right = 0, tables = 0;
	struct set s;

	make(&s, n);
	for (uint32_t m = 0; m < n; m++) {
		right +=
			parse(&t, &s, m, &h, NULL) == 0 && is_header(&h, &s, m);
		tables += h.ranks != first;
		first = h.ranks;
	}
	is_int(right, n, fmt("%u headers are read", n));
	is_int(tables, 1, "... one table of ranks");
	arena_free(t.arena);
	drop_set(&s);
}

static void
swap_ranks(struct kvtree *t)
{
	struct kvtree *list = kvtree_get2(t, "GROUP", "RANK");

	must(kvtree_set(list, "6", "15", NULL) == 0 &&
	     kvtree_set(list, "7", "13", NULL) == 0);
}

static void
no_group(struct kvtree *t)
{
	kvtree_remove(t, "GROUP");
}

static void
twice(struct kvtree *t)
{
	struct kvtree *list = kvtree_get2(t, "GROUP", "RANK");

	must(kvtree_set(list, "7", "13", NULL) == 0);
}

static void
smaller(struct kvtree *t)
{
	struct kvtree *desc = kvtree_get2(kvtree_get(t, "DESC"), "3", "DESC");

	must(kvtree_set(desc, "WRANKS", "9", NULL) == 0);
}

/* One header differs from the others.  It is read after none, one and two of
 * them. */
static void
differs(void (*change)(struct kvtree *t), const char *what, const char *words)
{
	for (uint32_t before = 0; before < 3; before++) {
		struct redset_table t = { .arena = arena_new() };
		struct redset_header h;
		struct set s;
		int rc = -1;

		make(&s, 8);
		for (uint32_t m = 0; m < before; m++)
			must(parse(&t, &s, m, &h, NULL) == 0);
		encode(&s, 3, change);
		rc = parse(&t, &s, 3, &h, &why);
		if (words == NULL)
			ok(rc == 0 && h.ranks[6] == 15 && h.ranks[7] == 13,
			   fmt("%s after %u", what, before));
		else
			ok(rc < 0 && says(&why, words) && h.size > 0,
			   fmt("%s after %u: %s", what, before, why.text));
		ok(parse(&t, &s, 4, &h, NULL) == 0 && is_header(&h, &s, 4),
		   "... the next is read");
		arena_free(t.arena);
		drop_set(&s);
	}
}

TEST(damaged)
{
	struct redset_table t = { .arena = arena_new() };
	struct redset_header h;
	uint32_t good = 0;
	struct set s;

	make(&s, 4);
	must(parse(&t, &s, 0, &h, NULL) == 0);
	for (size_t i = 0; i < s.images[1].len; i++) {
		s.images[1].data[i] ^= 1;
		good += parse(&t, &s, 1, &h, NULL) == 0 || h.size > 0;
		s.images[1].data[i] ^= 1;
	}
	is_int(good, 0, "no flipped byte goes unseen");
	for (size_t len = s.images[1].len; len-- > 0;)
		good += redset_header_parse(&t, s.images[1].data, len, 1, &h,
					    NULL) == 0;
	is_int(good, 0, "nor a lost one");
	ok(redset_header_parse(&t, s.images[1].data, s.images[1].len, 3, &h,
			       NULL) < 0,
	   "the header of another member");
	arena_free(t.arena);
	drop_set(&s);
}

TEST(tables)
{
	struct set s;

	parsed_once(2);
	parsed_once(8);
	parsed_once(MOST);
	differs(swap_ranks, "another table", NULL);
	differs(no_group, "no table", "GROUP");
	differs(twice, "a rank twice", "a rank occurs twice");
	differs(smaller, "a smaller job", "GROUP");
	make(&s, 8);
	without_memory (m, 6, "no memory") {
		struct redset_table t = { .arena = arena_new() };
		struct redset_header h;

		m.rc = t.arena == NULL ? error_no_memory(&m.err) : 0;
		for (uint32_t i = 0; i < 2 && m.rc == 0; i++)
			m.rc = parse(&t, &s, i, &h, &m.err);
		arena_free(t.arena);
	}
	drop_set(&s);
}
