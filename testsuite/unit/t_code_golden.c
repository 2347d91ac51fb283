/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The codes compared to redundancy files written by LLNL's programs
 * ($SCRKIT_GOLDEN): checks computed from the data equal the bodies of the files
 * byte by byte, and lost members are restored.
 */
#include "encode/code.h"

#include <fts.h>
#include <stdlib.h>
#include <unistd.h>

#include "error.h"
#include "tap.h"

#define MEMBERS_MAX 32

/* --- A minimal reader of kvtree images (formats.md 1.1, 1.2) --- */

struct span {
	const unsigned char *p, *end; /* p: at the count of a packed tree */
};

static uint64_t
big_endian(const unsigned char *p, int bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | *p++;
	return v;
}

/* The tree below the key at `p`; {NULL} if it exceeds the image. */
static struct span
below(const unsigned char *p, const unsigned char *end)
{
	const unsigned char *nul = memchr(p, 0, (size_t)(end - p));

	if (nul == NULL || end - nul < 5)
		return (struct span){ NULL, NULL };
	return (struct span){ nul + 1, end };
}

/* The end of the tree, or NULL. */
static const unsigned char *
tree_end(struct span t)
{
	const unsigned char *p = t.p + 4;

	for (uint64_t n = big_endian(t.p, 4); n > 0; n--) {
		struct span child = below(p, t.end);

		p = child.p != NULL ? tree_end(child) : NULL;
		if (p == NULL)
			return NULL;
	}
	return p;
}

/* The child with this key, or {NULL}. */
static struct span
child(struct span t, const char *key)
{
	const unsigned char *p = t.p != NULL ? t.p + 4 : NULL;

	for (uint64_t n = p != NULL ? big_endian(t.p, 4) : 0; n > 0; n--) {
		struct span c = below(p, t.end);

		if (c.p == NULL || strcmp((const char *)p, key) == 0)
			return c;
		p = tree_end(c);
		if (p == NULL)
			break;
	}
	return (struct span){ NULL, NULL };
}

/* The key of the first child, or "". */
static const char *
value(struct span t, const char *key)
{
	struct span c = child(t, key);

	return c.p != NULL && big_endian(c.p, 4) > 0 ? (const char *)c.p + 4
						     : "";
}

static uint64_t
number(struct span t, const char *key)
{
	return strtoull(value(t, key), NULL, 10);
}

/* --- Members --- */

struct member {
	uint64_t group;
	unsigned rank; /* in its set */
	struct code code;
	uint64_t chunk;
	unsigned char *data; /* files end to end, padded to whole chunks */
	uint64_t len;	     /* of the files */
	unsigned char *file, *body; /* the redundancy file and its body */
	uint64_t body_len;
};

struct found {
	unsigned count;
	struct member member[MEMBERS_MAX];
};

/* Read a whole file; for free(), or NULL. */
static unsigned char *
read_all(const char *path, uint64_t *len)
{
	FILE *f = fopen(path, "rb");
	unsigned char *p = NULL;
	long size = 0;

	if (f == NULL)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0) {
		rewind(f);
		p = malloc((size_t)size + 1);
	}
	if (p != NULL && fread(p, 1, (size_t)size, f) != (size_t)size) {
		free(p);
		p = NULL;
	}
	fclose(f);
	*len = (uint64_t)size;
	return p;
}

/* Append to the data the file with the last component of `recorded`, which is
 * beside the redundancy file or one directory up (formats.md 2). */
static bool
append(struct member *m, const char *dir, const char *recorded)
{
	const char *name = strrchr(recorded, '/');
	char path[8192];
	uint64_t len = 0;
	unsigned char *bytes = NULL;

	name = name != NULL ? name + 1 : recorded;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	bytes = read_all(path, &len);
	if (bytes == NULL) {
		snprintf(path, sizeof(path), "%s/../%s", dir, name);
		bytes = read_all(path, &len);
	}
	if (bytes != NULL) {
		m->data = realloc(m->data, m->len + len + 1);
		if (m->data == NULL)
			abort();
		memcpy(m->data + m->len, bytes, len);
		m->len += len;
	} else {
		printf("# no file %s\n", path);
	}
	free(bytes);
	return bytes != NULL;
}

/* Read the files in the order of the header, and pad them (formats.md 5.3). */
static bool
take_data(struct member *m, struct span own, const char *dir)
{
	uint64_t padded = m->chunk * code_data_chunks(&m->code);

	for (uint64_t i = 0; i < number(own, "FILES"); i++) {
		char index[24];

		snprintf(index, sizeof(index), "%llu", (unsigned long long)i);
		if (!append(m, dir, value(child(own, "FILE"), index)))
			return false;
	}
	if (m->len > padded)
		return false;
	m->data = realloc(m->data, padded);
	if (m->data == NULL)
		abort();
	memset(m->data + m->len, 0, padded - m->len);
	return true;
}

static bool
take_member(struct member *m, const char *path)
{
	uint64_t size = 0, image = 0;
	struct span top = { NULL, NULL }, own = { NULL, NULL };
	struct span desc = { NULL, NULL };
	char dir[4096];

	m->file = read_all(path, &size);
	if (m->file == NULL || size < 28)
		return false;
	image = big_endian(m->file + 8, 8);
	if (image < 28 || image > size)
		return false;
	top = (struct span){ m->file + 20, m->file + image - 4 };
	own = child(child(top, "DESC"), value(top, "RANK"));
	desc = child(own, "DESC");
	m->rank = (unsigned)number(top, "RANK");
	m->chunk = number(top, "CHUNK");
	m->group = number(desc, "GROUP");
	m->code.n = (unsigned)number(desc, "RANKS");
	m->code.type = CODE_XOR;
	m->code.k = 1;
	if (strcmp(value(desc, "TYPE"), "RS") == 0) {
		m->code.type = CODE_RS;
		m->code.k = (unsigned)number(desc, "CKSUM");
	}
	m->body = m->file + image;
	m->body_len = size - image;
	if (code_check(&m->code, NULL) < 0 || m->code.n > MEMBERS_MAX ||
	    m->rank >= m->code.n)
		return false;
	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	return take_data(m, own, dir);
}

static bool
is_redundancy_file(const char *name)
{
	return strncmp(name, "red", 3) == 0 &&
	       strncmp(name, "reddescmap.", 11) != 0 &&
	       (strstr(name, ".xor.grp_") != NULL ||
		strstr(name, ".rs.grp_") != NULL);
}

/* Find all redundancy files below `dir`, and read their data. */
static bool
find(char *dir, struct found *f)
{
	char *const roots[] = { dir, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	bool good = walk != NULL;

	f->count = 0;
	for (FTSENT *e = NULL; good && (e = fts_read(walk)) != NULL;) {
		if (e->fts_info != FTS_F || !is_redundancy_file(e->fts_name))
			continue;
		good = f->count < MEMBERS_MAX;
		if (good) {
			struct member *m = &f->member[f->count++];

			memset(m, 0, sizeof(*m));
			good = take_member(m, e->fts_path);
			if (!good)
				printf("# unusable: %s\n", e->fts_path);
		}
	}
	if (walk != NULL)
		fts_close(walk);
	return good;
}

static void
found_free(struct found *f)
{
	for (unsigned i = 0; i < f->count; i++) {
		free(f->member[i].data);
		free(f->member[i].file);
	}
}

/* --- Sets --- */

struct set {
	struct code code;
	uint64_t chunk;
	const struct member *member[MEMBERS_MAX];
};

/* Collect the set `group`, if it is whole and has the right sizes. */
static bool
gather(const struct found *f, uint64_t group, struct set *s)
{
	uint64_t longest = 0;
	unsigned members = 0;

	memset(s, 0, sizeof(*s));
	for (unsigned i = 0; i < f->count; i++) {
		const struct member *m = &f->member[i];

		if (m->group != group)
			continue;
		if (s->member[m->rank] != NULL ||
		    m->body_len != m->chunk * m->code.k)
			return false;
		if (m->len > longest)
			longest = m->len;
		s->member[m->rank] = m;
		s->code = m->code;
		s->chunk = m->chunk;
		members++;
	}
	return members > 0 && members == s->code.n &&
	       s->chunk == code_chunk_size(&s->code, longest);
}

/* A member's chunk in a stripe. */
static unsigned char *
chunk_of(const struct set *s, unsigned member, unsigned stripe)
{
	struct code_slot slot = code_slot(&s->code, member, stripe);
	const struct member *m = s->member[member];

	return (slot.check ? m->body : m->data) + slot.index * s->chunk;
}

/* Are the lost chunks of the stripe computed as they are in the files? */
static bool
same(const struct set *s, unsigned stripe, const bool *lost)
{
	struct recipe *r = recipe_new(&s->code, stripe, lost, NULL);
	void *in[MEMBERS_MAX], *out[MEMBERS_MAX];
	bool right = r != NULL;

	for (unsigned i = 0; right && i < r->nin; i++)
		in[i] = chunk_of(s, r->in[i], stripe);
	for (unsigned i = 0; right && i < r->nout; i++)
		if ((out[i] = calloc(1, s->chunk)) == NULL)
			abort();
	if (right)
		recipe_run(r, s->chunk, in, out);
	for (unsigned i = 0; r != NULL && i < r->nout; i++) {
		right &= memcmp(out[i], chunk_of(s, r->out[i], stripe),
				s->chunk) == 0;
		free(out[i]);
	}
	recipe_free(r);
	return right;
}

static void
check_set(const struct set *s, const char *name)
{
	unsigned wrong_checks = 0, wrong_repairs = 0;
	char what[256];

	for (unsigned stripe = 0; stripe < s->code.n; stripe++) {
		bool lost[CODE_MAX] = { false };

		for (unsigned m = 0; m < s->code.n; m++)
			lost[m] = code_slot(&s->code, m, stripe).check;
		wrong_checks += !same(s, stripe, lost);
		for (unsigned first = 0; first < s->code.n; first++) {
			memset(lost, 0, sizeof(lost));
			for (unsigned i = 0; i < s->code.k; i++)
				lost[(first + i) % s->code.n] = true;
			wrong_repairs += !same(s, stripe, lost);
		}
	}
	snprintf(what, sizeof(what), "%s: checks are those of the files", name);
	is_int(wrong_checks, 0, what);
	snprintf(what, sizeof(what), "%s: lost members come back", name);
	is_int(wrong_repairs, 0, what);
}

static void
test_case(const char *root, const char *name, unsigned sets)
{
	struct found f;
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/scr3/%s", root, name);
	if (access(dir, R_OK) < 0) {
		skip(name, "not among the golden data");
		return;
	}
	if (!ok(find(dir, &f), name)) {
		found_free(&f);
		return;
	}
	for (unsigned group = 0; group < sets; group++) {
		struct set s;
		char what[128];

		snprintf(what, sizeof(what), "%s, set %u", name, group);
		if (ok(gather(&f, group, &s), what))
			check_set(&s, what);
	}
	found_free(&f);
}

int
main(void)
{
	static const struct {
		const char *name;
		unsigned sets;
	} t[] = {
		{ "redset_rs/n4_k1", 1 },      { "redset_rs/n4_k2", 1 },
		{ "redset_rs/n4_k3", 1 },      { "redset_rs/n5_k1", 1 },
		{ "redset_rs/n5_k2", 1 },      { "redset_rs/n5_k3", 1 },
		{ "redset_rs/n8_k1", 1 },      { "redset_rs/n8_k2", 1 },
		{ "redset_rs/n8_k3", 1 },      { "xor_4/cache", 1 },
		{ "xor_8/cache", 1 },	       { "xor_4_uneven/cache", 1 },
		{ "xor_4_allempty/cache", 1 }, { "xor_7_set3/cache", 2 },
		{ "xor_8n4/cache", 2 },	       { "rs2_4/cache", 1 },
		{ "rs2_4_uneven/cache", 1 },   { "rs2_8n4/cache", 2 },
		{ "rs3_4/cache", 1 },	       { "rs3_8/cache", 1 },
	};
	const char *root = getenv("SCRKIT_GOLDEN");

	if (root == NULL || *root == '\0') {
		skip("codes against LLNL's files", "SCRKIT_GOLDEN is not set");
		return tap_done();
	}
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		test_case(root, t[i].name, t[i].sets);
	return tap_done();
}
