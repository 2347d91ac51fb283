/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fields.h - records: structs whose members are keys with values in metadata.
 * A table of struct field describes a record; reading and writing follow it, so
 * a new key is one line of a table.
 */
#ifndef KVTREE_FIELDS_H
#define KVTREE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct kvtree;
struct kvwrite;

/* The type of a member. */
enum field_kind {
	FIELD_TEXT,  /* const char *, borrowed; NULL: not recorded */
	FIELD_I64,   /* int64_t, at least 0; below `least`: not recorded */
	FIELD_U64,   /* uint64_t, or another type of 64 bits */
	FIELD_U32,   /* uint32_t */
	FIELD_CRC,   /* uint32_t, written in hexadecimal */
	FIELD_FLAG,  /* bool */
	FIELD_TRUTH, /* int: 1, 0, -1: not recorded */
	FIELD_NODE,  /* const struct kvtree *: the key itself, borrowed; never
			written */
};

struct field {
	const char *key;
	enum field_kind kind;
	size_t at;     /* offset of the member in the record */
	uint64_t most; /* largest valid number */
	int64_t least;
	/* Offset of a bool in the record: true if all keys with the same `has`
	 * were found, except optional ones.  0: no such member. */
	size_t has;
	bool optional;
	const char *json; /* name of the member in JSON; NULL: not shown */
};

/* A table has at most this many fields. */
#define FIELDS_MAX 32

/*
 * Read the children of `t` into `record`.  Members whose keys are missing stay
 * as they are; unknown keys are ignored; `t` may be NULL.  Return the number of
 * keys found, or -1: ERROR_CORRUPT names the key.
 */
int fields_read(const struct field *fields, size_t n, const struct kvtree *t,
		void *record, struct error *err);

/* Is the member recorded, that is, would it be written? */
bool field_recorded(const struct field *f, const void *record);
void field_write(const struct field *f, struct kvtree *t, const void *record);

/* Write the members that are recorded as children of `t`, in the order of the
 * table. */
int fields_write(const struct field *fields, size_t n, struct kvtree *t,
		 const void *record, struct error *err);

/* Write `key` with the same children to an image (kvwrite.h). */
void fields_put(const struct field *fields, size_t n, struct kvwrite *w,
		const char *key, const void *record);

#endif /* KVTREE_FIELDS_H */
