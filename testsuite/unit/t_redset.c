/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/redset.h"

#include "metatest.h"

/* --- Descriptors ------------------------------------------------------ */

static const char rs_desc[] = "CKSUM>2\nENABLED>1\nGROUP>0\nGROUPS>2\n"
			      "RANK>1\nRANKS>4\nTYPE>RS\nWRANK>2\nWRANKS>8\n";

TEST(desc)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{ "CKSUM", "0" },     { "CKSUM", "4" },
		{ "CKSUM", "x" },     { "ENABLED", "2" },
		{ "GROUP", "2" },     { "GROUPS", "9" },
		{ "RANK", "4" },      { "RANK", "-1" },
		{ "RANKS", "9" },     { "RANKS", "1" },
		{ "TYPE", "rs" },     { "TYPE", "PARTNER" },
		{ "TYPE", "SINGLE" }, { "WRANK", "8" },
		{ "WRANKS", "3" },    { "WRANKS", "100000001" },
		{ "RANKS", "0" },     { "GROUPS", "0" },
	};
	static const struct {
		const char *type, *ranks, *replicas;
		int neighbours; /* -1: refused */
	} types[] = {
		{ "SINGLE", "1", NULL, 0 }, { "XOR", "1", NULL, -1 },
		{ "XOR", "2", NULL, 1 },    { "PARTNER", "2", NULL, -1 },
		{ "PARTNER", "2", "1", 1 }, { "PARTNER", "2", "2", -1 },
	};
	struct kvtree *t = tree_of(rs_desc), *copy = kvtree_new(NULL);
	struct redset_desc d;

	is_int(redset_desc_read(t, &d, NULL), 0, "a descriptor");
	ok(d.type == REDSET_RS && d.enabled && d.set == 0 && d.sets == 2 &&
		   d.member == 1 && d.members == 4 && d.rank == 2 &&
		   d.ranks == 8 && d.failures == 2,
	   "... all of it");
	is_int(redset_neighbours(&d), 2, "... neighbours");
	is_int(redset_desc_write(copy, &d, NULL), 0, "it is written");
	kvtree_sort(copy, NULL);
	ok(tree_same(copy, t, false), "... the same");
	each (b, bad) {
		tree_clear(copy);
		kvtree_merge(copy, t, NULL);
		kvtree_set(copy, b->key, b->value, NULL);
		ok(redset_desc_read(copy, &d, &why) < 0 &&
			   why.kind == ERROR_CORRUPT,
		   why.text);
	}
	/* The limit of the field: n + k <= 256. */
	kvtree_set(t, "WRANKS", "300", NULL);
	for (int n = 254; n <= 255; n++) {
		kvtree_set(t, "RANKS", fmt("%d", n), NULL);
		is_int(redset_desc_read(t, &d, NULL), 254 - n,
		       fmt("%d members and 2", n));
	}
	kvtree_free(copy);
	kvtree_free(t);

	t = tree_of("ENABLED>0\nGROUP>3\nGROUPS>8\nRANK>0\nWRANK>3\n"
		    "WRANKS>8\n");
	each (c, types) {
		kvtree_set(t, "TYPE", c->type, NULL);
		kvtree_set(t, "RANKS", c->ranks, NULL);
		if (c->replicas != NULL)
			kvtree_set(t, "REPLICAS", c->replicas, NULL);
		ok(redset_desc_read(t, &d, NULL) < 0
			   ? c->neighbours < 0
			   : !d.enabled && (int)redset_neighbours(&d) ==
						   c->neighbours,
		   c->type);
	}
	is_int(redset_desc_read(NULL, &d, NULL), -1, "no descriptor");
	d.failures = 9;
	d.members = 2;
	is_int(redset_neighbours(&d), 1, "never more than there are");
	d.members = 0;
	is_int(redset_neighbours(&d), 0, "... or none");
	kvtree_free(t);
}

/* --- Headers ---------------------------------------------------------- */

#define MEMBERS 4

/* A set of four members on ranks 1, 3, 5, 7.  File i of member m has
 * 1000 * m + i bytes; each member has two files, but member 2 has none. */
struct set {
	struct redset_member members[MEMBERS];
	struct redset_file files[MEMBERS][2];
	uint32_t ranks[MEMBERS];
	uint64_t chunk;
};

static void
make_set(struct set *s, enum redset_type type, uint32_t failures)
{
	static const char *const paths[MEMBERS][2] = {
		{ "/c/0.0", "/c/0.1" },
		{ "/c/1.0", "/c/1.1" },
		{ NULL, NULL },
		{ "/c/3.0", "/c/3.1" },
	};

	*s = (struct set){ .chunk = type == REDSET_XOR	? 2001
				    : type == REDSET_RS ? 3001
							: 0 };
	for (uint32_t m = 0; m < MEMBERS; m++) {
		struct redset_member *to = &s->members[m];

		s->ranks[m] = 2 * m + 1;
		to->known = true;
		to->desc =
			(struct redset_desc){ type,    true,	  1, 2,	      m,
					      MEMBERS, 2 * m + 1, 8, failures };
		to->nfiles = m == 2 ? 0 : 2;
		to->files = s->files[m];
		for (uint32_t i = 0; i < to->nfiles; i++) {
			s->files[m][i].path = paths[m][i];
			s->files[m][i].attr = (struct attr){
				.size = 1000 * m + i,
				.has_size = true,
				.has_owner = true,
				.mode = 0100644,
			};
			to->bytes += 1000 * m + i;
		}
	}
}

/* t_meta_golden builds the files of LLNL's sets; but with these ranks: "10" is
 * sorted before "8". */
TEST(descriptor_files)
{
	static const int order[] = { 2, 0, 1 }; /* 10, 8, 9 */
	struct redset_desc descs[MEMBERS];
	struct kvtree *t = NULL, *want = kvtree_new(NULL), *node = NULL;
	struct set s;

	make_set(&s, REDSET_RS, 2);
	for (uint32_t m = 0; m < MEMBERS; m++) {
		descs[m] = s.members[m].desc;
		descs[m].rank = 8 + m;
		descs[m].ranks = 20;
	}
	t = redset_descriptor_build(descs, 2, NULL);
	for (int i = 0; i < 3; i++) {
		node = kvtree_put(want, fmt("%d", 8 + order[i]), NULL);
		redset_desc_write(kvtree_put(node, "DESC", NULL),
				  &descs[order[i]], NULL);
		kvtree_sort(node, NULL);
	}
	ok(tree_same(t, want, false), "a descriptor file");
	kvtree_free(t);
	kvtree_free(want);
}

/* Read the header of the owner `name` (UINT32_MAX: any); it is that of
 * `member`, or is refused (-1). */
static void
reads(struct kvtree *t, uint32_t name, int member, const char *what)
{
	auto_arena *arena = arena_new();
	struct redset_header h;
	int rc = redset_header_read(t, 9, name, arena, &h, &why);

	if (member < 0)
		ok(rc < 0 && why.kind == ERROR_CORRUPT,
		   fmt("%s: %s", what, why.text));
	else
		ok(rc == 0 && (int)h.desc.member == member, what);
	ok(arena_bytes(arena) < 1 << 20, "... takes no memory");
}

/* A set rebuilt by LLNL's library during restart (formats.md 11). */
TEST(rebuilt)
{
	auto_arena *arena = arena_new();
	auto_kvtree *t = NULL, *other = NULL;
	struct redset_header h;
	struct set s;

	make_set(&s, REDSET_PARTNER, 1);
	t = redset_header_build(s.members, NULL, 0, 2, NULL);
	kvtree_put_first(kvtree_get(t, "RANK"), "1", NULL);
	reads(t, 2, 2, "PARTNER with two owners: the name's is taken");
	reads(t, UINT32_MAX, 2, "... the one whose neighbours are there");
	reads(t, 3, -1, "... a name that is neither");
	kvtree_set(t, "RANK", "1", NULL);
	reads(t, 2, 2, "the name wins over another owner");
	is_int(redset_header_read(t, 1, 1, arena, &h, NULL), 0,
	       "a member without its neighbour's list");
	ok(h.members[1].known && !h.members[0].known, "... is read in part");
	kvtree_free(t);

	make_set(&s, REDSET_XOR, 1);
	t = redset_header_build(s.members, s.ranks, s.chunk, 1, NULL);
	other = redset_header_build(s.members, s.ranks, s.chunk, 2, NULL);
	kvtree_merge(kvtree_get(t, "DESC"), kvtree_get(other, "DESC"), NULL);
	is_int(kvtree_count(kvtree_get(t, "DESC")), 3,
	       "XOR with a list too many");
	is_int(redset_header_read(t, 1, 1, arena, &h, NULL), 0, "... is read");
	ok(h.members[0].known && h.members[1].known && !h.members[2].known,
	   "... without it");
}

/* Remove the node "A>B>C". */
static void
drop(struct kvtree *t, const char *path)
{
	const char *end = NULL;

	for (; (end = strchr(path, '>')) != NULL; path = end + 1)
		t = kvtree_get(t, fmt("%.*s", (int)(end - path), path));
	must(kvtree_get(t, path) != NULL);
	kvtree_remove(t, path);
}

/* Each change of one value of a valid XOR header must be refused. */
TEST(hostile)
{
	static const struct {
		const char *what, *drop, *add;
	} bad[] = {
		{ "no CHUNK", "CHUNK", "" },
		{ "CHUNK zero", "CHUNK", "CHUNK>0\n" },
		{ "CHUNK that wraps", "CHUNK", "CHUNK>4611686018427387904\n" },
		{ "CHUNK too small", "CHUNK", "CHUNK>666\n" },
		{ "no GROUP", "GROUP", "" },
		{ "GROUP too small", "GROUP", "GROUP>RANK>0>1\n" },
		{ "a strange member", "GROUP>RANK>3", "GROUP>RANK>4>7\n" },
		{ "a rank twice", "GROUP>RANK>3", "GROUP>RANK>3>5\n" },
		{ "another rank", "GROUP>RANK>1>3", "GROUP>RANK>1>2\n" },
		{ "a rank not of the job", "GROUP>RANK>3", "GROUP>RANK>3>8\n" },
		{ "no RANK", "RANK", "" },
		{ "two owners", "RANK", "RANK>0\nRANK>2\n" },
		{ "no owner's list", "RANK", "RANK>3\n" },
		{ "no lists", "DESC", "" },
		{ "owner of another set", "DESC>1",
		  "DESC>1>DESC>TYPE>XOR\nDESC>1>FILES>0\n" },
		{ "neighbour without descriptor", "DESC>0",
		  "DESC>0>FILES>0\n" },
		{ "neighbour that says it is another", "DESC>0>DESC>RANK",
		  "DESC>0>DESC>RANK>2\n" },
		{ "neighbour of other sets", "DESC>0>DESC>GROUPS",
		  "DESC>0>DESC>GROUPS>3\n" },
	};
	/* Inconsistent lists in the owner's part of a PARTNER header. */
	static const struct {
		const char *what, *files, *list;
	} lists[] = {
		{ "fewer files than said", "3", "0>/a>SIZE>1\n1>/b>SIZE>1\n" },
		{ "more files than said", "1", "0>/a>SIZE>1\n1>/b>SIZE>1\n" },
		{ "a great many said", "100000000", "0>/a>SIZE>1\n" },
		{ "a gap", "2", "0>/a>SIZE>1\n2>/b>SIZE>1\n" },
		{ "no number", "1", "x>/a>SIZE>1\n" },
		{ "two paths", "1", "0>/a>SIZE>1\n0>/b>SIZE>1\n" },
		{ "no path", "1", "0\n" },
		{ "no size", "1", "0>/a>MODE>1\n" },
		{ "bad size", "1", "0>/a>SIZE>-1\n" },
		{ "sizes that wrap", "2",
		  "0>/a>SIZE>9223372036854775807\n"
		  "1>/b>SIZE>9223372036854775807\n" },
	};
	struct kvtree *t = NULL, *own = NULL;
	struct set s;

	make_set(&s, REDSET_XOR, 1);
	each (b, bad) {
		t = redset_header_build(s.members, s.ranks, s.chunk, 1, NULL);
		drop(t, b->drop);
		tree_add(t, b->add);
		reads(t, UINT32_MAX, -1, b->what);
		kvtree_free(t);
	}
	make_set(&s, REDSET_PARTNER, 1);
	each (l, lists) {
		t = redset_header_build(s.members, NULL, 0, 1, NULL);
		own = kvtree_get2(t, "DESC", "1");
		kvtree_remove(own, "FILE");
		tree_add(kvtree_put(own, "FILE", NULL), l->list);
		kvtree_set(own, "FILES", l->files, NULL);
		reads(t, 1, -1, l->what);
		kvtree_free(t);
	}
}

/* Memory is bounded for any claimed size of a set. */
TEST(huge)
{
	struct set s;
	auto_kvtree *t = NULL;

	make_set(&s, REDSET_PARTNER, 1);
	for (uint32_t m = 0; m < MEMBERS; m++) {
		s.members[m].desc.ranks = REDSET_MAX_RANKS;
		s.members[m].desc.members = REDSET_MAX_RANKS;
	}
	t = redset_header_build(s.members, NULL, 0, 1, NULL);
	reads(t, 1, -1, "PARTNER of 10^8 members");
	kvtree_free(t);
	for (uint32_t m = 0; m < MEMBERS; m++)
		s.members[m].desc.type = REDSET_XOR;
	t = redset_header_build(s.members, NULL, 0, 1, &why);
	ok(t == NULL && why.kind == ERROR_LOST, why.text);
	for (uint32_t m = 0; m < MEMBERS; m++)
		s.members[m].desc.members = MEMBERS;
	t = redset_header_build(s.members, s.ranks, 9999, 1, NULL);
	kvtree_set(kvtree_get2(kvtree_get(t, "DESC"), "1", "DESC"), "RANKS",
		   "100000000", NULL);
	reads(t, 1, -1, "XOR of 10^8 members");
}

TEST(lost)
{
	struct set s;
	uint64_t body = 0;

	make_set(&s, REDSET_PARTNER, 2);
	ok(redset_body_size(s.members, 0, 3, &body, NULL) == 0 && body == 2001,
	   "the body is as large as the data of two neighbours");
	s.members[3].known = false;
	for (uint32_t owner = 1; owner < 4; owner += 2) {
		ok(redset_header_build(s.members, NULL, 0, owner, &why) ==
				   NULL &&
			   why.kind == ERROR_LOST,
		   why.text);
		refuses(redset_body_size(s.members, 0, owner, &body, &why),
			ERROR_LOST, NULL, "its body's size is lost too");
	}
	s.members[3].known = true;
	s.members[3].bytes = s.members[0].bytes = INT64_MAX;
	refuses(redset_body_size(s.members, 0, 1, &body, &why), ERROR_CORRUPT,
		NULL, "a body too large");
	make_set(&s, REDSET_SINGLE, 0);
	ok(redset_body_size(s.members, 0, 1, &body, NULL) == 0 && body == 0,
	   "SINGLE has no body");
	make_set(&s, REDSET_RS, 3);
	ok(redset_body_size(s.members, 100, 1, &body, NULL) == 0 && body == 300,
	   "... as three chunks");
	refuses(redset_body_size(s.members, UINT64_MAX / 2, 1, &body, &why),
		ERROR_CORRUPT, NULL, "chunks too large");
}

/* --- Damage ----------------------------------------------------------- */

TEST(damage)
{
	auto_kvtree *t = NULL;
	struct set s;

	make_set(&s, REDSET_RS, 2);
	t = redset_header_build(s.members, s.ranks, s.chunk, 1, NULL);
	without_memory (m, 2, "no memory to read") {
		auto_arena *arena = arena_new();
		struct redset_header h;

		m.rc = arena == NULL ? error_no_memory(&m.err)
				     : redset_header_read(t, 9, UINT32_MAX,
							  arena, &h, &m.err);
	}
	without_memory (m, 2, "no memory to build") {
		struct redset_desc descs[MEMBERS];
		auto_kvtree *d = NULL, *head = NULL;

		for (uint32_t i = 0; i < MEMBERS; i++)
			descs[i] = s.members[i].desc;
		d = redset_descriptor_build(descs, 0, &m.err);
		if (d != NULL)
			head = redset_header_build(s.members, s.ranks, s.chunk,
						   0, &m.err);
		m.rc = head == NULL ? -1 : 0;
	}
}
