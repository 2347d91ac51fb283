/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/redset.h"

#include <string.h>

#include "error.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "num.h"

/* Limit of sizes in bytes: that of file offsets. */
#define BYTES_LIMIT ((uint64_t)INT64_MAX)

static int
read_type(const struct kvtree *k, enum redset_type *out, struct error *err)
{
	const char *name = NULL;
	int type = 0;

	if (value_str(k, &name, err) < 0)
		return -1;
	for (type = 0; type < REDSET_TYPES; type++)
		if (strcmp(name, redset_type_name(type)) == 0) {
			*out = (enum redset_type)type;
			return 0;
		}
	return value_bad(err, name, "unknown type of redundancy");
}

/* Return what is inconsistent in the descriptor, or NULL. */
static const char *
desc_flaw(const struct redset_desc *d)
{
	const uint32_t limit = redset_format(d->type)->limit;

	if (d->set >= d->sets)
		return "GROUP is not below GROUPS";
	if (d->member >= d->members)
		return "RANK is not below RANKS";
	if (d->rank >= d->ranks)
		return "WRANK is not below WRANKS";
	if (d->members > d->ranks || d->sets > d->ranks)
		return "more members or sets than ranks";
	if (!redset_is_redundant(d->type))
		return d->members > 1 ? "several members, but no redundancy"
				      : NULL;
	if (d->members < 2)
		return "a set of one member";
	if (d->failures < 1 || d->failures >= d->members)
		return "as many redundant parts as members, or none";
	if (limit > 0 && (uint64_t)d->members + d->failures > limit)
		return "more members than the code allows";
	return NULL;
}

int
redset_desc_read(const struct kvtree *t, struct redset_desc *out,
		 struct error *err)
{
	const struct {
		const char *key;
		uint32_t *to;
	} numbers[] = {
		{ "GROUP", &out->set },	  { "GROUPS", &out->sets },
		{ "RANK", &out->member }, { "RANKS", &out->members },
		{ "WRANK", &out->rank },  { "WRANKS", &out->ranks },
	};
	const struct kvtree *k = kvtree_get(t, "TYPE");
	const struct redset_format *f = NULL;
	const char *flaw = NULL;
	size_t i = 0;

	memset(out, 0, sizeof(*out));
	if (k == NULL)
		return value_bad(err, "TYPE", "missing");
	if (read_type(k, &out->type, err) < 0)
		return -1;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		k = kvtree_get(t, numbers[i].key);
		if (k == NULL)
			return value_bad(err, numbers[i].key, "missing");
		if (value_u32(k, REDSET_MAX_RANKS, numbers[i].to, err) < 0)
			return -1;
	}
	k = kvtree_get(t, "ENABLED");
	if (k != NULL && value_flag(k, &out->enabled, err) < 0)
		return -1;
	f = redset_format(out->type);
	out->failures = f->failures;
	k = f->key != NULL ? kvtree_get(t, f->key) : NULL;
	if (f->key != NULL && k == NULL)
		return value_bad(err, f->key, "missing");
	if (k != NULL &&
	    value_u32(k, REDSET_MAX_RANKS, &out->failures, err) < 0)
		return -1;
	flaw = desc_flaw(out);
	return flaw == NULL ? 0 : value_bad(err, "descriptor", flaw);
}

int
redset_desc_write(struct kvtree *t, const struct redset_desc *d,
		  struct error *err)
{
	const struct redset_format *f = redset_format(d->type);

	if ((f->key != NULL &&
	     kvtree_set_u64(t, f->key, d->failures, err) < 0) ||
	    kvtree_set_u64(t, "ENABLED", d->enabled, err) < 0 ||
	    kvtree_set_u64(t, "GROUP", d->set, err) < 0 ||
	    kvtree_set_u64(t, "GROUPS", d->sets, err) < 0 ||
	    kvtree_set_u64(t, "RANK", d->member, err) < 0 ||
	    kvtree_set_u64(t, "RANKS", d->members, err) < 0 ||
	    kvtree_set(t, "TYPE", f->name, err) < 0 ||
	    kvtree_set_u64(t, "WRANK", d->rank, err) < 0 ||
	    kvtree_set_u64(t, "WRANKS", d->ranks, err) < 0)
		return -1;
	return 0;
}

uint32_t
redset_neighbours(const struct redset_desc *d)
{
	if (d->members == 0)
		return 0;
	return d->failures < d->members ? d->failures : d->members - 1;
}

uint32_t
redset_left(const struct redset_desc *d, uint32_t member, uint32_t steps)
{
	return member >= steps ? member - steps : member + (d->members - steps);
}

struct kvtree *
redset_descriptor_build(const struct redset_desc *set, uint32_t member,
			struct error *err)
{
	const uint32_t t = redset_neighbours(&set[member]);
	struct kvtree *tree = kvtree_new(err), *node = NULL;
	uint32_t d = 0;

	if (tree == NULL)
		return NULL;
	for (d = 0; d <= t; d++) {
		const struct redset_desc *one =
			&set[redset_left(&set[member], member, d)];

		node = kvtree_put(tree, num_str(one->rank), err);
		node = kvtree_put(node, "DESC", err);
		if (node == NULL || redset_desc_write(node, one, err) < 0)
			goto fail;
	}
	if (kvtree_sort(tree, err) < 0)
		goto fail;
	return tree;
fail:
	kvtree_free(tree);
	return NULL;
}

static int
not_known(const struct redset_desc *owner, uint32_t member, struct error *err)
{
	return error_set(err, ERROR_LOST,
			 "member %lu of set %lu: its list of files is lost",
			 (unsigned long)member + 1,
			 (unsigned long)owner->set + 1);
}

/* Add the list of one member to `table`, formats.md 5.3. */
static int
build_member(struct kvtree *table, uint32_t number,
	     const struct redset_member *m, struct error *err)
{
	struct kvtree *node = kvtree_put(table, num_str(number), err);
	struct kvtree *desc = kvtree_put(node, "DESC", err);
	struct kvtree *list = kvtree_put(node, "FILE", err), *file = NULL;

	if (desc == NULL || list == NULL ||
	    redset_desc_write(desc, &m->desc, err) < 0)
		return -1;
	for (size_t i = 0; i < m->nfiles; i++) {
		file = kvtree_put(list, num_str(i), err);
		file = kvtree_put(file, m->files[i].path, err);
		if (file == NULL ||
		    attr_write(file, &m->files[i].attr, err) < 0)
			return -1;
	}
	return kvtree_set_u64(node, "FILES", m->nfiles, err);
}

/* Add GROUP: the world rank of each member. */
static int
build_group(struct kvtree *tree, const uint32_t *ranks, uint32_t members,
	    struct error *err)
{
	struct kvtree *group = kvtree_put(tree, "GROUP", err);
	struct kvtree *table = kvtree_put(group, "RANK", err);

	if (table == NULL)
		return -1;
	for (uint32_t i = 0; i < members; i++)
		if (kvtree_set_u64(table, num_str(i), ranks[i], err) < 0)
			return -1;
	return kvtree_set_u64(group, "RANKS", members, err);
}

struct kvtree *
redset_header_build(const struct redset_member *members, const uint32_t *ranks,
		    uint64_t chunk, uint32_t owner, struct error *err)
{
	const struct redset_desc *own = &members[owner].desc;
	const bool coded = redset_format(own->type)->body == REDSET_BODY_CHUNKS;
	struct kvtree *tree = kvtree_new(err), *table = NULL;
	uint32_t d = 0, j = 0;

	if (tree == NULL)
		return NULL;
	if (!members[owner].known) {
		not_known(own, owner, err);
		goto fail;
	}
	if (coded && ranks == NULL) {
		error_set(err, ERROR_LOST,
			  "set %lu: its table of ranks is lost",
			  (unsigned long)own->set + 1);
		goto fail;
	}
	if (coded && (kvtree_set_u64(tree, "CHUNK", chunk, err) < 0 ||
		      build_group(tree, ranks, own->members, err) < 0))
		goto fail;
	table = kvtree_put(tree, "DESC", err);
	if (table == NULL || kvtree_set_u64(tree, "RANK", owner, err) < 0)
		goto fail;
	for (d = 0; d <= redset_neighbours(own); d++) {
		j = redset_left(own, owner, d);
		if (!members[j].known) {
			not_known(own, j, err);
			goto fail;
		}
		if (build_member(table, j, &members[j], err) < 0)
			goto fail;
	}
	if (kvtree_sort(tree, err) < 0)
		goto fail;
	return tree;
fail:
	kvtree_free(tree);
	return NULL;
}

int
redset_body_size(const struct redset_member *members, uint64_t chunk,
		 uint32_t owner, uint64_t *out, struct error *err)
{
	const struct redset_desc *own = &members[owner].desc;
	uint64_t size = 0;
	uint32_t d = 0, j = 0;

	if (!members[owner].known)
		return not_known(own, owner, err);
	switch (redset_format(own->type)->body) {
	case REDSET_BODY_CHUNKS:
		size = chunk;
		if (num_mul(&size, own->failures) < 0 || size > BYTES_LIMIT)
			goto too_large;
		break;
	case REDSET_BODY_COPIES:
		for (d = 1; d <= redset_neighbours(own); d++) {
			j = redset_left(own, owner, d);
			if (!members[j].known)
				return not_known(own, j, err);
			if (num_add(&size, members[j].bytes) < 0 ||
			    size > BYTES_LIMIT)
				goto too_large;
		}
		break;
	case REDSET_BODY_NONE:
		break;
	}
	*out = size;
	return 0;
too_large:
	return error_set(err, ERROR_CORRUPT,
			 "set %lu: more redundancy than a file can hold",
			 (unsigned long)own->set + 1);
}
