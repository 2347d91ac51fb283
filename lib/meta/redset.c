/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/redset.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "kvtree/fields.h"
#include "kvtree/kvtree.h"
#include "kvtree/value.h"
#include "num.h"

/* Limit of sizes in bytes: that of file offsets. */
#define BYTES_LIMIT ((uint64_t)INT64_MAX)

#define AT(member) .at = offsetof(struct redset_desc, member)

/* The keys of a descriptor that do not depend on its type. */
static const struct field fields[] = {
	{ "ENABLED", FIELD_FLAG, AT(enabled) },
	{ "GROUP", FIELD_U32, AT(set), REDSET_MAX_RANKS },
	{ "GROUPS", FIELD_U32, AT(sets), REDSET_MAX_RANKS },
	{ "RANK", FIELD_U32, AT(member), REDSET_MAX_RANKS },
	{ "RANKS", FIELD_U32, AT(members), REDSET_MAX_RANKS },
	{ "WRANK", FIELD_U32, AT(rank), REDSET_MAX_RANKS },
	{ "WRANKS", FIELD_U32, AT(ranks), REDSET_MAX_RANKS },
};

#define NFIELDS (sizeof(fields) / sizeof(fields[0]))

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
	const struct kvtree *k = value_need(t, "TYPE", err);
	const struct redset_format *f = NULL;
	const char *flaw = NULL, *name = NULL;
	int type = 0;

	memset(out, 0, sizeof(*out));
	if (k == NULL || value_str(k, &name, err) < 0)
		return -1;
	while (type < REDSET_TYPES && strcmp(name, redset_type_name(type)) != 0)
		type++;
	if (type == REDSET_TYPES)
		return value_bad(err, name, "unknown type of redundancy");
	out->type = (enum redset_type)type;
	for (size_t i = 0; i < NFIELDS; i++)
		if (fields[i].kind == FIELD_U32 &&
		    value_need(t, fields[i].key, err) == NULL)
			return -1;
	if (fields_read(fields, NFIELDS, t, out, err) < 0)
		return -1;
	f = redset_format(out->type);
	out->failures = f->failures;
	k = f->key != NULL ? value_need(t, f->key, err) : NULL;
	if (f->key != NULL && (k == NULL || value_u32(k, REDSET_MAX_RANKS,
						      &out->failures, err) < 0))
		return -1;
	flaw = desc_flaw(out);
	return flaw == NULL ? 0 : value_bad(err, "descriptor", flaw);
}

int
redset_desc_write(struct kvtree *t, const struct redset_desc *d,
		  struct error *err)
{
	const struct redset_format *f = redset_format(d->type);

	if (f->key != NULL)
		kvtree_set_u64(t, f->key, d->failures, err);
	kvtree_set(t, "TYPE", f->name, err);
	return fields_write(fields, NFIELDS, t, d, err);
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
	struct kvtree *tree = kvtree_new(err), *node = NULL;

	for (uint32_t d = 0; d <= redset_neighbours(&set[member]); d++) {
		const struct redset_desc *one =
			&set[redset_left(&set[member], member, d)];

		node = kvtree_put(tree, num_str(one->rank), err);
		redset_desc_write(kvtree_put(node, "DESC", err), one, err);
	}
	kvtree_sort(tree, err);
	return kvtree_checked(tree, err);
}

static int
not_known(const struct redset_desc *owner, uint32_t member, struct error *err)
{
	return error_set(err, ERROR_LOST,
			 "member %lu of set %lu: its list of files is lost",
			 (unsigned long)member + 1,
			 (unsigned long)owner->set + 1);
}

struct kvtree *
redset_header_build(const struct redset_member *members, const uint32_t *ranks,
		    uint64_t chunk, uint32_t owner, struct error *err)
{
	const struct redset_desc *own = &members[owner].desc;
	const bool coded = redset_format(own->type)->body == REDSET_BODY_CHUNKS;
	const uint32_t left = redset_neighbours(own);
	struct kvtree *tree = NULL, *table = NULL, *group = NULL;
	uint32_t j = owner;

	for (uint32_t d = 0; d <= left; d++) {
		j = redset_left(own, owner, d);
		if (!members[j].known) {
			not_known(own, j, err);
			return NULL;
		}
		if (coded && ranks == NULL)
			return error_set_null(
				err, ERROR_LOST,
				"set %lu: its table of ranks is lost",
				(unsigned long)own->set + 1);
	}
	tree = kvtree_new(err);
	if (coded) {
		kvtree_set_u64(tree, "CHUNK", chunk, err);
		group = kvtree_put(tree, "GROUP", err);
		kvtree_set_u64(group, "RANKS", own->members, err);
		table = kvtree_put(group, "RANK", err);
		for (uint32_t i = 0; i < own->members; i++)
			kvtree_set_u64(table, num_str(i), ranks[i], err);
	}
	table = kvtree_put(tree, "DESC", err);
	kvtree_set_u64(tree, "RANK", owner, err);
	for (uint32_t d = 0; d <= left; d++) {
		const struct redset_member *m =
			&members[j = redset_left(own, owner, d)];
		struct kvtree *node = kvtree_put(table, num_str(j), NULL);
		struct kvtree *list = kvtree_put(node, "FILE", NULL);

		/* The list of a member, scr-redset(5). */
		redset_desc_write(kvtree_put(node, "DESC", NULL), &m->desc,
				  NULL);
		for (size_t i = 0; i < m->nfiles; i++)
			attr_write(
				kvtree_put(kvtree_put(list, num_str(i), NULL),
					   m->files[i].path, NULL),
				&m->files[i].attr, NULL);
		kvtree_set_u64(node, "FILES", m->nfiles, NULL);
	}
	kvtree_sort(tree, err);
	return kvtree_checked(tree, err);
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

/* --- Types and names --- */

#define SUFFIX ".redset"

#define STEM_DATA "reddesc.er"
#define STEM_MAP "reddescmap.er"

#define FORMAT(NAME, word, key, failures, limit, body) \
	{ \
#NAME, #word, key, failures, limit, REDSET_BODY_##body \
	}
static const struct redset_format formats[] = { REDSET_TYPES_ALL(FORMAT) };
#undef FORMAT

const struct redset_format *
redset_format(enum redset_type t)
{
	return &formats[t];
}

const char *
redset_type_name(enum redset_type t)
{
	return formats[t].name;
}

bool
redset_is_redundant(enum redset_type t)
{
	return formats[t].body != REDSET_BODY_NONE;
}

enum redset_type
redset_type_of_word(const char *word)
{
	int t = 0;

	while (t < REDSET_TYPES && strcmp(word, formats[t].word) != 0)
		t++;
	return (enum redset_type)t;
}

/* Return the text after `word` if `s` starts with it, else NULL; `s` may be
 * NULL. */
static const char *
after(const char *s, const char *word)
{
	const size_t len = strlen(word);

	return s != NULL && strncmp(s, word, len) == 0 ? s + len : NULL;
}

/* Scan a number of at least `min`; `s` may be NULL. */
static const char *
number(const char *s, uint64_t min, uint32_t *out)
{
	uint64_t n = 0;

	s = s == NULL ? NULL : value_scan(s, REDSET_MAX_RANKS, &n);
	if (s == NULL || n < min)
		return NULL;
	*out = (uint32_t)n;
	return s;
}

/* Scan "<word><n>_of_<total>" with 1 <= n <= total. */
static const char *
n_of(const char *s, const char *word, uint32_t *n, uint32_t *total)
{
	s = number(after(s, word), 1, n);
	s = number(after(s, "_of_"), 1, total);
	return s != NULL && *n <= *total ? s : NULL;
}

/* Parse exactly the text after the stem and its dot: "<rank>.redset" or
 * "<rank>.<type>.grp_<g>_of_<G>.mem_<m>_of_<n>.redset". */
static bool
parse_tail(const char *s, struct redset_name *out)
{
	const char *end = NULL;
	int type = 0;

	memset(out, 0, sizeof(*out));
	end = number(s, 0, &out->rank);
	if (end == NULL)
		return false;
	if (strcmp(end, SUFFIX) == 0) {
		out->descriptor = true;
		return true;
	}
	if (*end != '.')
		return false;
	s = end + 1;
	for (type = 0; type < REDSET_TYPES; type++) {
		end = after(s, formats[type].word);
		if (end != NULL && *end == '.')
			break;
	}
	if (type == REDSET_TYPES)
		return false;
	out->type = (enum redset_type)type;
	s = n_of(end, ".grp_", &out->set, &out->sets);
	s = n_of(s, ".mem_", &out->member, &out->members);
	return s != NULL && strcmp(s, SUFFIX) == 0;
}

bool
redset_name_parse(const char *name, struct redset_name *out, size_t *stem)
{
	const char *tail = after(name, STEM_DATA ".");
	const bool map = tail == NULL;

	if (stem != NULL && strchr(name, '/') != NULL)
		return false;
	/* Any stem ends at the last dot after which the tail is valid.  So
	 * "red.3.7.redset" is rank 7 of stem "red.3". */
	for (size_t i = strlen(name); stem != NULL && i-- > 1;)
		if (name[i] == '.' && parse_tail(name + i + 1, out)) {
			*stem = i;
			out->map = i == strlen(STEM_MAP) &&
				   memcmp(name, STEM_MAP, i) == 0;
			return true;
		}
	if (map)
		tail = after(name, STEM_MAP ".");
	if (stem != NULL || tail == NULL || !parse_tail(tail, out))
		return false;
	out->map = map;
	return true;
}

char *
redset_name_format(char *to, size_t size, const struct redset_name *n,
		   const char *stem)
{
	if (stem == NULL)
		stem = n->map ? STEM_MAP : STEM_DATA;
	if (n->descriptor)
		snprintf(to, size, "%s.%" PRIu32 SUFFIX, stem, n->rank);
	else
		snprintf(to, size,
			 "%s.%" PRIu32 ".%s.grp_%" PRIu32 "_of_%" PRIu32
			 ".mem_%" PRIu32 "_of_%" PRIu32 SUFFIX,
			 stem, n->rank, formats[n->type].word, n->set, n->sets,
			 n->member, n->members);
	return to;
}
