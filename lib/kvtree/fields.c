/* SPDX-License-Identifier: BSD-3-Clause */
#include "kvtree/fields.h"

#include <assert.h>
#include <string.h>

#include "kvtree/kvtree.h"
#include "kvtree/kvwrite.h"
#include "kvtree/value.h"

/* A pointer to a member, by its type. */
union member {
	const char **text;
	int64_t *i64;
	uint64_t *u64;
	uint32_t *u32;
	bool *flag;
	int *truth;
	const struct kvtree **node;
	void *any;
};

static union member
member(const struct field *f, const void *record)
{
	return (union member){ .any = (char *)record + f->at };
}

static bool *
has_member(const struct field *f, const void *record)
{
	return (bool *)((char *)record + f->has);
}

static int
read_member(const struct field *f, const struct kvtree *k, void *record,
	    struct error *err)
{
	const union member m = member(f, record);
	bool truth = false;

	switch (f->kind) {
	case FIELD_TEXT:
		return value_str(k, m.text, err);
	case FIELD_I64:
	case FIELD_U64:
		return value_u64(k, f->most, m.u64, err);
	case FIELD_U32:
	case FIELD_CRC:
		return value_u32(k, (uint32_t)f->most, m.u32, err);
	case FIELD_FLAG:
		return value_flag(k, m.flag, err);
	case FIELD_TRUTH:
		if (value_flag(k, &truth, err) < 0)
			return -1;
		*m.truth = truth;
		return 0;
	case FIELD_NODE:
		*m.node = k;
	}
	return 0;
}

static void
set_has(const struct field *f, void *record)
{
	if (f->has != 0)
		*has_member(f, record) = true;
}

/* Find `key` from fields[*i] on: keys usually come in the order of the table,
 * and there may be millions of records.  False: no such field. */
static bool
find_field(const struct field *fields, size_t n, const char *key, size_t *i)
{
	for (size_t tried = 0; tried < n; tried++, ++*i) {
		if (*i == n)
			*i = 0;
		if (strcmp(key, fields[*i].key) == 0)
			return true;
	}
	return false;
}

int
fields_read(const struct field *fields, size_t n, const struct kvtree *t,
	    void *record, struct error *err)
{
	const struct kvtree *k = NULL;
	size_t i = 0;
	uint32_t seen = 0;
	uint32_t missing = 0;

	assert(n <= FIELDS_MAX);
	kvtree_foreach (k, t) {
		if (!find_field(fields, n, kvtree_key(k), &i))
			continue;
		if (read_member(&fields[i], k, record, err) < 0)
			return -1;
		set_has(&fields[i], record);
		seen |= UINT32_C(1) << i++;
	}
	/* Clear the members `has` that lack a key.  Bit i of `seen`: the key of
	 * fields[i] was found. */
	missing = ~seen & (uint32_t)((UINT64_C(1) << n) - 1);
	for (; missing != 0; missing &= missing - 1) {
		const struct field *f = &fields[__builtin_ctz(missing)];

		if (f->has != 0 && !f->optional)
			*has_member(f, record) = false;
	}
	return __builtin_popcount(seen);
}

bool
field_recorded(const struct field *f, const void *record)
{
	const union member m = member(f, record);

	if (f->has != 0)
		return *has_member(f, record);
	switch (f->kind) {
	case FIELD_TEXT:
		return *m.text != NULL;
	case FIELD_I64:
		return *m.i64 >= f->least;
	case FIELD_TRUTH:
		return *m.truth >= 0;
	default:
		return f->kind != FIELD_NODE;
	}
}

/* The number in a member that is not a text. */
static uint64_t
number_of(const struct field *f, const void *record)
{
	const union member m = member(f, record);

	switch (f->kind) {
	case FIELD_U32:
	case FIELD_CRC:
		return *m.u32;
	case FIELD_FLAG:
		return *m.flag;
	case FIELD_TRUTH:
		return (uint64_t)*m.truth;
	default:
		return *m.u64;
	}
}

void
field_write(const struct field *f, struct kvtree *t, const void *record)
{
	if (f->kind == FIELD_TEXT)
		kvtree_set(t, f->key, *member(f, record).text, NULL);
	else if (f->kind == FIELD_CRC)
		kvtree_set_crc(t, f->key, *member(f, record).u32, NULL);
	else
		kvtree_set_u64(t, f->key, number_of(f, record), NULL);
}

int
fields_write(const struct field *fields, size_t n, struct kvtree *t,
	     const void *record, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (field_recorded(&fields[i], record))
			field_write(&fields[i], t, record);
	return kvtree_check(t, err);
}

void
fields_put(const struct field *fields, size_t n, struct kvwrite *w,
	   const char *key, const void *record)
{
	const size_t at = kvwrite_key(w, key, 0);
	uint32_t count = 0;

	for (const struct field *f = fields; f < fields + n; f++) {
		if (!field_recorded(f, record))
			continue;
		count++;
		if (f->kind == FIELD_TEXT)
			kvwrite_text(w, f->key, *member(f, record).text);
		else if (f->kind == FIELD_CRC)
			kvwrite_crc(w, f->key, *member(f, record).u32);
		else
			kvwrite_u64(w, f->key, number_of(f, record));
	}
	kvwrite_set_count(w, at, count);
}
