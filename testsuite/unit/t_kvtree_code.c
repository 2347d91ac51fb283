/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encoded trees (formats.md 1.1, 1.2): round trips, damage, duplicate keys.
 */
#include "metatest.h"

/* formats.md 1.2: NODES = 4. */
static const unsigned char nodes[] = {
	0x95, 0x1f, 0xc3, 0xf5, 0,   1, 0, 1, 0, 0,   0,    0,	  0,	0,    0,
	0x2c, 0,    0,	  0,	1,   0, 0, 0, 1, 'N', 'O',  'D',  'E',	'S',  0,
	0,    0,    0,	  1,	'4', 0, 0, 0, 0, 0,   0xcb, 0x4f, 0x2f, 0xc1,
};

/* formats.md 1.1: the smallest file. */
static const unsigned char empty[] = {
	0x95, 0x1f, 0xc3, 0xf5, 0, 1, 0, 1, 0, 0, 0,	0,    0,    0,
	0,    0x1c, 0,	  0,	0, 1, 0, 0, 0, 0, 0x02, 0x14, 0x9a, 0x0e,
};

static void
put_be32(char *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

/* Correct size and checksum of an image. */
static void
fix(struct buf *b)
{
	put_be32(b->data + 12, (uint32_t)b->len);
	put_be32(b->data + b->len - 4, crc_update(0, b->data, b->len - 4));
}

/* Make an image of this packed tree. */
static void
wrap(struct buf *b, const void *tree, size_t len)
{
	buf_clear(b);
	buf_add(b, empty, KVTREE_HEADER_SIZE);
	buf_add(b, tree, len);
	bigend_add32(b, 0);
	fix(b);
}

/* Decode; the error message, or "" on success. */
static const char *
complaint(const void *data, size_t len)
{
	static struct error err;
	auto_kvtree *t = NULL;
	/* An exact allocation, so that the sanitizer detects overruns. */
	auto_free char *exact = malloc(len > 0 ? len : 1);

	if (exact == NULL)
		abort();
	if (len > 0)
		memcpy(exact, data, len);
	error_clear(&err);
	t = kvtree_decode(exact, len, NULL, &err);
	if (t == NULL && err.kind != ERROR_CORRUPT)
		error_set(&err, ERROR_SYSTEM, "unexpected kind of error");
	return err.text;
}

/* --- Whole images --- */

TEST(known)
{
	struct kvtree *t = kvtree_decode(nodes, sizeof(nodes), NULL, NULL);
	size_t used = 0, size = 0;
	char longer[sizeof(nodes) + 9] = { 0 };

	is_str(kvtree_value(t, "NODES"), "4", "the example of the format");
	ok(tree_is(t, nodes, sizeof(nodes)), "is encoded bit for bit");
	kvtree_free(t);
	t = kvtree_decode(empty, sizeof(empty), &used, NULL);
	ok(t != NULL && kvtree_first(t) == NULL && used == 28, "the empty one");
	ok(tree_is(t, empty, sizeof(empty)), "is encoded bit for bit");
	kvtree_free(t);
	memcpy(longer, nodes, sizeof(nodes));
	t = kvtree_decode(longer, sizeof(longer), &used, NULL);
	ok(t != NULL && used == sizeof(nodes), "bytes behind are left alone");
	kvtree_free(t);
	ok(kvtree_peek(nodes, KVTREE_HEADER_SIZE, &size, NULL) == 0 &&
		   size == sizeof(nodes),
	   "peek needs the header only");
	ok(kvtree_peek(nodes, KVTREE_HEADER_SIZE - 1, &size, NULL) < 0,
	   "but all of it");
}

/* Levels of all sizes around the threshold of the index. */
TEST(round_trips)
{
	struct kvtree *t = kvtree_new(NULL), *u = NULL, *n = NULL;
	auto_buf b = BUF_INIT;
	const char *key = "";

	for (int count = 0; count < 5000; count += count < 40 ? 1 : 977) {
		tree_clear(t);
		n = kvtree_put(kvtree_put(t, "top", NULL), "below", NULL);
		for (int i = 0; i < count; i++) {
			key = fmt("%.*s%d", i % 23, "a common start of keys",
				  i);
			kvtree_set(n, key, key, NULL);
		}
		buf_clear(&b);
		kvtree_encode(t, &b, NULL);
		u = kvtree_decode(b.data, b.len, NULL, NULL);
		n = kvtree_get2(u, "top", "below");
		ok(tree_is(u, b.data, b.len) &&
			   kvtree_count(n) == (size_t)count &&
			   (count == 0 || kvtree_value(n, key) != NULL) &&
			   kvtree_get(n, "no such") == NULL,
		   fmt("round trip, level of %d", count));
		kvtree_free(u);
	}
	kvtree_free(t);
}

TEST(part)
{
	auto_kvtree *t = kvtree_decode(nodes, sizeof(nodes), NULL, NULL);
	auto_buf b = BUF_INIT;

	buf_add_str(&b, "text");
	ok(kvtree_encode(t, &b, NULL) == 0 && b.len == 4 + sizeof(nodes) &&
		   memcmp(b.data + 4, nodes, sizeof(nodes)) == 0,
	   "encode appends");
	buf_clear(&b);
	kvtree_encode(kvtree_get(t, "NODES"), &b, NULL);
	kvtree_free(t);
	t = kvtree_decode(b.data, b.len, NULL, NULL);
	ok(kvtree_get(t, "4") != NULL && kvtree_count(t) == 1, "or a part");
}

/* --- Damaged images --- */

/* A small tree with all features. */
static void
sample(struct buf *b)
{
	auto_kvtree *t = tree_of("A>1\nB>x\nB>y>z\nlonger key/with slash>\n"
				 "L>1\nL>2\nL>3\nL>4\nL>5\nL>6\nL>7\nL>8\n"
				 "L>9\nL>10\nL>11\nL>12\nL>13\nL>14\nL>15\n"
				 "L>16\nL>17\nL>18\nEND\n");

	buf_clear(b);
	kvtree_encode(t, b, NULL);
}

TEST(truncated)
{
	auto_buf b = BUF_INIT, c = BUF_INIT;
	bool good = true;

	sample(&b);
	for (size_t len = 0; len < b.len; len++)
		good = good && *complaint(b.data, len) != '\0';
	ok(good, "no truncated image is decoded");
	for (size_t len = KVTREE_HEADER_SIZE; len < b.len - 4; len++) {
		wrap(&c, b.data + KVTREE_HEADER_SIZE, len - KVTREE_HEADER_SIZE);
		good = good && *complaint(c.data, c.len) != '\0';
	}
	ok(good, "nor a truncated tree with a checksum");
	is_str(complaint(NULL, 0), "empty file: interrupted write", "empty");
}

TEST(flipped)
{
	auto_buf b = BUF_INIT, c = BUF_INIT;
	struct kvtree *t = NULL;
	bool good = true, same = true, all = getenv("SCRKIT_SLOW") != NULL;
	size_t at = 0, decoded = 0;

	sample(&b);
	for (at = 0; at < b.len; at++) {
		b.data[at] = (char)(b.data[at] ^ 0x10);
		/* The decoder ignores unknown flags. */
		good = good && (*complaint(b.data, b.len) != '\0' ||
				(at >= 16 && at < 20));
		b.data[at] = (char)(b.data[at] ^ 0x10);
	}
	ok(good, "no image with a flipped bit is decoded");
	for (at = 20; at < b.len - 4; at++)
		for (int flip = 1; flip < 256;
		     flip = all ? flip + 1 : 2 * flip) {
			buf_clear(&c);
			buf_add(&c, b.data, b.len);
			c.data[at] = (char)(c.data[at] ^ flip);
			fix(&c);
			t = kvtree_decode(c.data, c.len, NULL, NULL);
			if (t == NULL)
				continue;
			decoded++;
			same = same && !tree_is(t, b.data, b.len);
			kvtree_free(t);
		}
	ok(decoded > 200, "with the checksum put right, many are");
	ok(same, "and are something else");
}

/* Header fields by offset, and their error messages; the checksum is right. */
static const struct {
	size_t at;
	uint32_t value;
	const char *says;
} headers[] = {
	{ 0, 0x941fc3f5, "not a kvtree file: magic 0x941fc3f5 at byte 0" },
	{ 4, 0x00020001, "type 2 at byte 4, expected 1" },
	{ 4, 0x00010000, "version 0 at byte 6, expected 1" },
	{ 8, 1, "size 4294967340 at byte 8 is too large, at most 1073741824" },
	{ 12, 0, "size 0 at byte 8 is too small, at least 28" },
	{ 12, 27, "size 27 at byte 8 is too small, at least 28" },
	{ 12, 45, "needs 45 bytes, has 44: truncated" },
	{ 16, 0xffffffff, "" },
	{ 16, 2,
	  "tree ends at byte 40, 4 bytes follow before the end of the "
	  "image" },
	{ 20, 4000000000, "count 4000000000 at byte 20 leaves the image" },
	{ 20, 2, "key at byte 40 leaves the image" },
	{ 20, 0,
	  "tree ends at byte 24, 16 bytes follow before the end of the "
	  "image" },
	{ 30, 2, "count 2 at byte 30 leaves the image" },
	{ 36, 1, "count 1 at byte 36 leaves the image" },
	{ 32, 0x41414141, "count 16705 at byte 30 leaves the image" },
};

TEST(sentences)
{
	char b[sizeof(nodes)];

	each (h, headers) {
		memcpy(b, nodes, sizeof(b));
		put_be32(b + h->at, h->value);
		put_be32(b + 40, crc_update(0, b, 40));
		is_str(complaint(b, sizeof(b)), h->says,
		       *h->says ? h->says : "unknown flags");
	}
	memcpy(b, nodes, sizeof(b));
	b[40] = 0;
	is_str(complaint(b, sizeof(b)),
	       "checksum mismatch: file says 0x004f2fc1, contents give "
	       "0xcb4f2fc1",
	       "checksum mismatch");
	is_str(complaint(nodes, 10), "header needs 20 bytes, has 10: truncated",
	       "short header");
	memcpy(b, nodes, sizeof(b));
	b[19] = 0;
	b[15] = 40;
	is_str(complaint(b, 40), "", "no checksum, none expected");
	b[15] = 20;
	is_str(complaint(b, 20), "size 20 at byte 8 is too small, at least 24",
	       "... no tree");
}

TEST(keys)
{
	auto_buf b = BUF_INIT, tree = BUF_INIT;
	bool good = true;

	/* Every length of a last key, with and without its NUL. */
	for (size_t len = 0; len < 40; len++) {
		buf_clear(&tree);
		bigend_add32(&tree, 1);
		buf_add(&tree, "0123456789abcdefghijklmnopqrstuvwxyzABCDEF",
			len);
		buf_add(&tree, "", 1);
		bigend_add32(&tree, 0);
		wrap(&b, tree.data, tree.len);
		good = good && *complaint(b.data, b.len) == '\0';
		memset(b.data + 24 + len, 'x', 5);
		fix(&b);
		good = good && strcmp(complaint(b.data, b.len),
				      "key at byte 24 leaves the image") == 0;
	}
	ok(good, "keys without end are found at all lengths");
}

/* Write a random tree with keys from `names`, most of them twice or more, and
 * build in `t` the tree that decoding must give. */
static void
random_tree(struct buf *out, struct kvtree *t, uint32_t names, int depth)
{
	uint32_t count = depth == 0 || below(3) == 0 ? 0 : below(2 * names);
	struct kvtree *n = NULL;
	char key[32];

	bigend_add32(out, count);
	while (count-- > 0) {
		snprintf(key, sizeof(key), "%s%u", depth % 2 ? "rank " : "",
			 (unsigned int)below(names));
		n = kvtree_put(t, key, NULL);
		buf_add(out, key, strlen(key) + 1);
		random_tree(out, n, names, depth - 1);
	}
}

TEST(twice)
{
	static const uint32_t alphabets[] = { 1, 2, 5, 8, 12, 20, 40 };
	auto_buf tree = BUF_INIT, image = BUF_INIT, want = BUF_INIT;
	struct kvtree *t = NULL, *model = NULL;

	each (a, alphabets) {
		bool good = true;

		for (int round = 0; round < 60 && good; round++) {
			model = kvtree_new(NULL);
			buf_clear(&tree);
			buf_clear(&want);
			random_tree(&tree, model, *a, *a > 12 ? 2 : 4);
			wrap(&image, tree.data, tree.len);
			kvtree_encode(model, &want, NULL);
			t = kvtree_decode(image.data, image.len, NULL, NULL);
			good = tree_is(t, want.data, want.len);
			kvtree_free(t);
			kvtree_free(model);
		}
		ok(good, fmt("merged, keys out of %u", *a));
	}
}

/* `levels` levels, each with a second key except `lean` of them. */
static void
deep(struct buf *b, int levels, int lean)
{
	auto_buf tree = BUF_INIT;

	for (int i = levels; i > 0; i--) {
		bigend_add32(&tree, i > lean ? 2 : 1);
		buf_add(&tree, "d", 2);
	}
	bigend_add32(&tree, 0);
	for (int i = lean; i < levels; i++) {
		buf_add(&tree, "e", 2);
		bigend_add32(&tree, 0);
	}
	wrap(b, tree.data, tree.len);
}

TEST(depth)
{
	static const char deeper[] =
		"nested deeper than 256 levels at byte 1556";
	static const struct {
		int levels, lean;
		const char *says;
	} cases[] = {
		{ KVTREE_MAX_DEPTH, KVTREE_MAX_DEPTH, "" },
		{ KVTREE_MAX_DEPTH + 1, KVTREE_MAX_DEPTH + 1, deeper },
		{ 1000000, 1000000, deeper },
		{ KVTREE_MAX_DEPTH, 0, "" },
		{ KVTREE_MAX_DEPTH + 1, 0, deeper },
		{ KVTREE_MAX_DEPTH + 2, 1, deeper },
	};
	auto_buf b = BUF_INIT;

	each (c, cases) {
		deep(&b, c->levels, c->lean);
		is_str(complaint(b.data, b.len), c->says,
		       fmt("%d levels, %d of one key", c->levels, c->lean));
	}
}

/* Nested counts, each plausible alone, but not all together.  A decoder that
 * believed them all would allocate 256 times the size of the image. */
TEST(promises)
{
	auto_buf tree = BUF_INIT, b = BUF_INIT;
	char filler[5000] = { 0 };

	for (int i = 0; i < 200; i++) {
		bigend_add32(&tree, 900);
		buf_add(&tree, "d", 2);
	}
	buf_add(&tree, filler, sizeof(filler));
	wrap(&b, tree.data, tree.len);
	is_str(complaint(b.data, b.len),
	       "count 900 at byte 26 leaves the image",
	       "promises are added up");
}

static void
decode_without_memory(const struct buf *b, const char *what)
{
	without_memory (m, 5, what) {
		auto_kvtree *t = kvtree_decode(b->data, b->len, NULL, &m.err);

		m.rc = t != NULL ? 0 : -1;
	}
}

TEST(memory)
{
	auto_kvtree *t = kvtree_new(NULL);
	auto_buf b = BUF_INIT, tree = BUF_INIT;

	for (int i = 0; i < 5000; i++)
		kvtree_set(t, fmt("key %d", i), "1", NULL);
	kvtree_encode(t, &b, NULL);
	decode_without_memory(&b, "decode survives ENOMEM");
	without_memory (m, 1, "encode does") {
		auto_buf image = BUF_INIT;

		m.rc = kvtree_encode(t, &image, &m.err);
		if (m.rc < 0 && image.len > 0)
			error_set(&m.err, ERROR_CORRUPT, "half an image");
	}
	/* With the last key duplicated, decoding starts over. */
	buf_clear(&tree);
	bigend_add32(&tree, 5001);
	buf_add(&tree, b.data + 24, b.len - 28);
	buf_add(&tree, "key 4999", 9);
	bigend_add32(&tree, 0);
	wrap(&b, tree.data, tree.len);
	decode_without_memory(&b, "decode of keys twice does");
}
