/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redset_header.c - read the headers of redundancy files, scr-redset(5).  They
 * are untrusted: except for MEMBERS_FREE, memory is allocated for a count only
 * after the tree was found to have that many nodes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "kvtree/kvstream.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "meta/redset.h"
#include "num.h"

/*
 * Limit of the members of a PARTNER set.  Its header lists only the owner and
 * its neighbours, so the tree does not confirm the size of the set.  Sets have
 * one rank per failure group and are split to some 8 members (scr-redset(5));
 * no machine has more nodes than this limit.
 */
#define MEMBERS_FREE 65536

/* LLNL's restart leaves two owners in a PARTNER header, and one more each time
 * the header is rebuilt from such a header (scr-redset(5)). */
#define OWNERS_MAX 16

#define BYTES_LIMIT ((uint64_t)INT64_MAX)

/* Return the node DESC -> number, or NULL. */
static const struct kvtree *
member_node(const struct kvtree *t, uint32_t number)
{
	return kvtree_get2(t, "DESC", num_str(number));
}

/* Read the descriptor of member `number`; it is required. */
static int
read_desc(const struct kvtree *t, uint32_t number, struct redset_desc *out,
	  struct error *err)
{
	const struct kvtree *desc = kvtree_get(member_node(t, number), "DESC");

	if (desc == NULL)
		return error_set(err, ERROR_CORRUPT,
				 "no descriptor of member %" PRIu32,
				 number + 1);
	if (redset_desc_read(desc, out, err) < 0)
		return error_wrap(err, "member %" PRIu32, number + 1);
	if (out->member != number)
		return error_set(err, ERROR_CORRUPT,
				 "member %" PRIu32
				 ": its descriptor says %" PRIu32,
				 number + 1, out->member + 1);
	return 0;
}

/* Find the owner from RANK if the file name does not give it.  A rebuilt
 * PARTNER header also names its donor, but lacks the lists of the donor's left
 * neighbours. */
static int
find_owner(const struct kvtree *t, uint32_t *out, struct error *err)
{
	const struct kvtree *owners = value_need(t, "RANK", err), *k = NULL;
	size_t found = 0;

	if (owners == NULL)
		return -1;
	if (kvtree_count(owners) > OWNERS_MAX)
		return value_bad(err, "RANK", "too many values");
	if (kvtree_count(owners) == 1)
		return value_u32(owners, REDSET_MAX_RANKS - 1, out, err);
	kvtree_foreach (k, owners) {
		struct redset_desc desc = { .members = 0 };
		uint64_t n = 0;
		bool all = true;

		if (!value_number(kvtree_key(k), REDSET_MAX_RANKS - 1, &n))
			return value_bad(err, "RANK", "not a number");
		if (read_desc(t, (uint32_t)n, &desc, NULL) < 0)
			continue;
		for (uint32_t d = 1; d <= redset_neighbours(&desc); d++)
			all = all &&
			      member_node(t, redset_left(&desc, (uint32_t)n,
							 d)) != NULL;
		if (all) {
			*out = (uint32_t)n;
			found++;
		}
	}
	return found == 1 ? 0 : value_bad(err, "RANK", "not exactly one value");
}

/* Read GROUP, the world rank of each member, and CHUNK; this is limited so that
 * the size of n chunks does not overflow.  The table confirms the size of the
 * set, so read it before allocating the members. */
static int
read_chunks(const struct kvtree *t, struct redset_table *table,
	    struct redset_header *out, struct error *err)
{
	const struct kvtree *list = kvtree_get2(t, "GROUP", "RANK"), *k = NULL;
	const uint32_t n = out->desc.members;
	uint32_t *ranks = NULL, *sorted = NULL;

	if (!table->same) {
		if (list == NULL || kvtree_count(list) != n)
			return value_bad(err, "GROUP",
					 "not one entry for each member");
		ranks = arena_alloc(table->arena, n, sizeof(*ranks));
		sorted = arena_alloc(table->arena, n, sizeof(*sorted));
		if (ranks == NULL || sorted == NULL)
			return error_no_memory(err);
		/* The n keys differ and are below n, so every element is
		 * set. */
		kvtree_foreach (k, list) {
			uint64_t i = 0;

			if (!value_number(kvtree_key(k), n - 1, &i))
				return value_bad(
					err, kvtree_key(k),
					"in GROUP: no member of the set");
			if (value_u32(k, out->desc.ranks - 1, &ranks[i], err) <
			    0)
				return error_wrap(err, "GROUP");
		}
		memcpy(sorted, ranks, n * sizeof(*sorted));
		qsort(sorted, n, sizeof(*sorted), num_by_u32);
		for (uint32_t i = 1; i < n; i++)
			if (sorted[i] == sorted[i - 1])
				return value_bad(err, "GROUP",
						 "a rank occurs twice");
		table->ranks = ranks;
		table->n = n;
	}
	if (table->n != n)
		return value_bad(err, "GROUP", "not one entry for each member");
	for (uint32_t i = 0; i < n; i++)
		if (table->ranks[i] >= out->desc.ranks)
			return value_bad(err, "GROUP", "no rank of the job");
	out->ranks = table->ranks;
	k = value_need(t, "CHUNK", err);
	if (k == NULL || value_u64(k, BYTES_LIMIT / n, &out->chunk, err) < 0)
		return -1;
	return out->chunk > 0 ? 0 : value_bad(err, "CHUNK", "zero");
}

/* Read the file list of one member. */
static int
read_list(const struct kvtree *node, struct arena *arena,
	  struct redset_member *m, struct error *err)
{
	const struct kvtree *count = value_need(node, "FILES", err), *k = NULL;
	const struct kvtree *list = kvtree_get(node, "FILE");
	const uint64_t have = list == NULL ? 0 : kvtree_count(list);
	uint64_t n = 0;

	if (count == NULL || value_u64(count, have, &n, err) < 0)
		return -1;
	if (n != have)
		return value_bad(err, "FILES", "FILE has more entries");
	m->nfiles = have;
	m->files = arena_alloc(arena, have, sizeof(*m->files));
	if (m->files == NULL)
		return error_no_memory(err);
	/* The children of FILE: number -> path -> attributes. */
	kvtree_foreach (k, list) {
		const struct kvtree *file = kvtree_first(k);
		struct redset_file *to = NULL;

		if (!value_number(kvtree_key(k), m->nfiles - 1, &n))
			return value_bad(err, kvtree_key(k),
					 "not a file number");
		if (kvtree_count(k) != 1)
			return value_bad(err, kvtree_key(k),
					 "not exactly one path");
		to = &m->files[n];
		if (attr_read(file, &to->attr, err) < 0)
			return -1;
		if (!to->attr.has_size)
			return value_bad(err, kvtree_key(file), "no SIZE");
		to->path = arena_strdup(arena, kvtree_key(file));
		if (to->path == NULL)
			return error_no_memory(err);
		if (num_add(&m->bytes, to->attr.size) < 0 ||
		    m->bytes > BYTES_LIMIT)
			return value_bad(err, "FILE",
					 "sizes add up to no size");
	}
	return 0;
}

/* Read member `number` if the header has it, and check that it belongs to the
 * same set. */
static int
read_member(const struct kvtree *t, uint32_t number, struct arena *arena,
	    struct redset_header *out, struct error *err)
{
	const struct kvtree *node = member_node(t, number);
	struct redset_member *m = &out->members[number];
	const uint32_t data = out->desc.members - out->desc.failures;

	if (node == NULL)
		return 0;
	if (read_desc(t, number, &m->desc, err) < 0)
		return -1;
	if (m->desc.type != out->desc.type || m->desc.set != out->desc.set ||
	    m->desc.sets != out->desc.sets ||
	    m->desc.members != out->desc.members ||
	    m->desc.ranks != out->desc.ranks ||
	    m->desc.failures != out->desc.failures ||
	    (out->ranks != NULL && out->ranks[number] != m->desc.rank))
		return error_set(err, ERROR_CORRUPT,
				 "member %" PRIu32
				 ": its descriptor is that of another set",
				 number + 1);
	if (read_list(node, arena, m, err) < 0)
		return error_wrap(err, "member %" PRIu32, number + 1);
	if (out->chunk > 0 && m->bytes > out->chunk * data)
		return error_set(err, ERROR_CORRUPT,
				 "member %" PRIu32
				 ": its files are longer than its chunks",
				 number + 1);
	m->known = true;
	return 0;
}

static int
read_view(const struct kvtree *t, uint32_t owner, struct redset_table *table,
	  struct redset_header *out, struct error *err)
{
	uint32_t d = 0;
	bool coded = false;

	if (owner == UINT32_MAX && find_owner(t, &owner, err) < 0)
		return -1;
	if (read_desc(t, owner, &out->desc, err) < 0)
		return -1;
	coded = redset_format(out->desc.type)->body == REDSET_BODY_CHUNKS;
	if (coded && read_chunks(t, table, out, err) < 0)
		return -1;
	if (!coded && out->desc.members > MEMBERS_FREE)
		return value_bad(err, "RANKS", "no set is as large");
	out->members = arena_alloc(table->arena, out->desc.members,
				   sizeof(*out->members));
	if (out->members == NULL)
		return error_no_memory(err);
	/* Read only the neighbours: a rebuilt XOR header has a stale list. */
	for (d = 0; d <= redset_neighbours(&out->desc); d++)
		if (read_member(t, redset_left(&out->desc, owner, d),
				table->arena, out, err) < 0)
			return -1;
	return 0;
}

int
redset_header_read(const struct kvtree *t, uint64_t image, uint32_t owner,
		   struct arena *arena, struct redset_header *out,
		   struct error *err)
{
	struct redset_table table = { .arena = arena };

	*out = (struct redset_header){ .size = image };
	return read_view(t, owner, &table, out, err);
}

/* --- Headers of one set --- */

/* Find GROUP among the elements of a header.  False: it has none or two, or is
 * not in plain form. */
static bool
find_group(const struct redset_table *table, const char *body, size_t len,
	   struct kvscan *group)
{
	struct kvstream s;
	size_t seen = 0;

	kvstream_memory(&s, body, len);
	for (uint32_t n = kvscan_count(&s.in); n > 0 && !s.in.irregular; n--) {
		const unsigned char *start = s.in.p;
		bool is_group = KVSCAN_KEY(&s.in, "GROUP");

		s.in.p = start;
		if (!is_group || table->len == 0 ||
		    !kvscan_takes(&s.in, table->image, table->len)) {
			kvscan_key(&s.in);
			kvstream_skip(&s);
		}
		if (is_group)
			*group = (struct kvscan){ .p = start, .end = s.in.p };
		seen += is_group;
	}
	return seen == 1 && kvstream_good(&s);
}

/* Decode an image; without GROUP, if that is the same as in the last one. */
static struct kvtree *
decode(struct redset_table *table, const char *image, size_t len,
       struct error *err)
{
	size_t size = 0, group_len = 0;
	const char *body = kvtree_body(image, len, &size, err);
	struct kvscan group;

	table->same = false;
	if (body == NULL)
		return NULL;
	if (!find_group(table, body, size, &group))
		return kvtree_decode(image, len, NULL, err);
	group_len = (size_t)(group.end - group.p);
	table->same = table->ranks != NULL && group_len == table->len &&
		      memcmp(group.p, table->image, group_len) == 0;
	if (table->same)
		return kvtree_decode_without(image, len, group.p, group_len,
					     err);
	table->image =
		arena_strndup(table->arena, (const char *)group.p, group_len);
	table->len = table->image != NULL ? group_len : 0;
	table->ranks = NULL;
	return kvtree_decode(image, len, NULL, err);
}

int
redset_header_parse(struct redset_table *table, const void *image, size_t len,
		    uint32_t owner, struct redset_header *out,
		    struct error *err)
{
	struct kvtree *t = decode(table, image, len, err);
	int rc = -1;

	*out = (struct redset_header){ .size = t != NULL ? len : 0 };
	if (t != NULL)
		rc = read_view(t, owner, table, out, err);
	/* The header lists its neighbours, too: RANK identifies its owner. */
	if (rc == 0 && kvtree_get2(t, "RANK", num_str(owner)) == NULL)
		rc = error_set(err, ERROR_CORRUPT,
			       "its header is that of another member");
	kvtree_free(t);
	return rc;
}
