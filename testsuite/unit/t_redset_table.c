/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of redundancy files, and their headers, parsed with a table of ranks
 * that they share. */
#include "meta/redset.h"
#include "metatest.h"

/* --- Names --- */

TEST(good_names)
{
	static const struct {
		const char *name;
		const char *stem; /* if any is allowed, else NULL */
		const char *parts;
	} names[] = {
		{ "reddesc.er.12.xor.grp_3_of_4.mem_2_of_8.redset", NULL,
		  "rank 12, XOR 3/4 2/8" },
		{ "reddesc.er.12.xor.grp_3_of_4.mem_2_of_8.redset",
		  "reddesc.er", "rank 12, XOR 3/4 2/8" },
		{ "reddescmap.er.0.redset", NULL, "map, rank 0" },
		{ "reddescmap.er.0.redset", "reddescmap.er", "map, rank 0" },
		{ "red.3.7.rs.grp_1_of_1.mem_1_of_4.redset", "red.3",
		  "rank 7, RS 1/1 1/4" },
		{ "red.3.7.redset", "red.3", "rank 7" },
		{ "a.1.single.grp_2_of_4.mem_1_of_1.redset", "a",
		  "rank 1, SINGLE 2/4 1/1" },
		{ "a.1.partner.grp_2_of_4.mem_1_of_2.redset", "a",
		  "rank 1, PARTNER 2/4 1/2" },
	};

	each (t, names) {
		const char *stem = t->stem, *parts = NULL;
		struct redset_name n;
		char again[256];
		size_t len = 0;

		ok(redset_name_parse(t->name, &n, stem ? &len : NULL) &&
			   (stem == NULL || len == strlen(stem)),
		   t->name);
		parts = fmt("%srank %u", n.map ? "map, " : "", n.rank);
		if (!n.descriptor)
			parts = fmt("%s, %s %u/%u %u/%u", parts,
				    redset_type_name(n.type), n.set, n.sets,
				    n.member, n.members);
		is_str(parts, t->parts, "... all of it");
		is_str(redset_name_format(again, sizeof(again), &n, stem),
		       t->name, "... and back");
	}
}

TEST(bad_names)
{
	static const char *const bad[] = {
		"",
		"reddesc.er",
		"reddesc.er.",
		"reddesc.er.redset",
		"reddesc.er.er",
		"reddesc.er.shuffile",
		"reddesc.er.1.redset.bak",
		"reddesc.er.01.redset",
		"reddesc.er.-1.redset",
		"reddesc.er.100000001.redset",
		"reddesc.er.99999999999999999999.redset",
		"reddesc.er.1.xor.grp_1_of_1.mem_2_of_4.redset.tmp",
		"reddesc.er.1.xor.grp_1_of_1.mem_2_of_4",
		"reddesc.er.1.XOR.grp_1_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xo.grp_1_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xorgrp_1_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xor.grp_01_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xor.grp_0_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xor.grp_2_of_1.mem_2_of_4.redset",
		"reddesc.er.1.xor.grp_1_of_1.mem_5_of_4.redset",
		"reddesc.er.1.xor.grp_1_of_1.mem_0_of_4.redset",
		"reddesc.er.1.xor.grp_1_of_1.mem_1_of_0.redset",
		"reddesc.er.1.xor.grp_1.mem_1_of_4.redset",
		"reddesc.er.1.xor.mem_1_of_4.grp_1_of_1.redset",
		"reddesc.er.1..grp_1_of_1.mem_2_of_4.redset",
	};
	static const char whole[] =
		"reddesc.er.12.xor.grp_3_of_4.mem_2_of_8.redset";
	struct redset_name n;
	char text[256], again[256];
	size_t i = 0, stem = 0, wrong = 0;

	for (i = 0; i < COUNT(bad); i++) {
		ok(!redset_name_parse(bad[i], &n, NULL), label(bad[i]));
		ok(!redset_name_parse(bad[i], &n, &stem), "... with any stem");
	}
	ok(!redset_name_parse("old_reddesc.er.1.redset", &n, NULL) &&
		   !redset_name_parse("red.1.redset", &n, NULL),
	   "other stems, if they are none requested");
	ok(!redset_name_parse("a/red.1.redset", &n, &stem), "a path");
	ok(!redset_name_parse(".1.redset", &n, &stem), "no stem");
	for (i = 0; i < sizeof(whole) - 1; i++) {
		snprintf(text, sizeof(text), "%.*s", (int)i, whole);
		wrong += redset_name_parse(text, &n, NULL) ||
			 redset_name_parse(text, &n, &stem);
	}
	is_int(wrong, 0, "no beginning of a name is one");
	for (i = 0; i < 8 * (sizeof(whole) - 1); i++) {
		memcpy(text, whole, sizeof(whole));
		text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
		if (redset_name_parse(text, &n, NULL))
			wrong += strcmp(redset_name_format(again, sizeof(again),
							   &n, NULL),
					text) != 0;
	}
	is_int(wrong, 0, "changed names are refused, or new ones");
}

/* --- Headers --- */

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
