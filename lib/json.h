/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - JSON values, by jansson: made, filled, printed, and read.
 *
 * A thin, allocation-forgiving layer: once an allocation failed, everything
 * that is added later is dropped and json_print() returns -1, so building a
 * document needs no check at each step.  Strings that are not valid UTF-8 are
 * kept readable: each bad byte becomes U+FFFD, and the exact bytes follow in
 * hexadecimal in a member of the same name with "_hex" appended.  A key that
 * is not valid UTF-8 gets the hexadecimal of all its bytes, "_hex_61ff", at
 * its end, so that two such keys never fall together; in an array there is no
 * room for the exact bytes.  Numbers above INT64_MAX, which jansson does not
 * hold, are strings of their digits.
 *
 * Ownership: json_set() and json_push() take over the value they are given,
 * in any case: fill it first, and do not touch it afterwards.  NULL is taken
 * for a value that could not be allocated.  Threads: one document, one thread.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct arena;
struct buf;
struct error;
struct json; /* opaque */

/* Containers; NULL: ENOMEM.  (jansson itself has json_object, json_array.) */
struct json *json_new_object(void);
struct json *json_new_array(void);

/* Free a document, or a value that was not yet given away. */
void json_free(struct json *j);

/* In an object. */
void json_set(struct json *obj, const char *key, struct json *value);
void json_set_str(struct json *obj, const char *key, const char *value);
void json_set_u64(struct json *obj, const char *key, uint64_t value);
void json_set_i64(struct json *obj, const char *key, int64_t value);
/* Six digits are printed. */
void json_set_real(struct json *obj, const char *key, double value);
void json_set_bool(struct json *obj, const char *key, bool value);
void json_set_null(struct json *obj, const char *key);

/* In an array. */
void json_push(struct json *arr, struct json *value);
void json_push_str(struct json *arr, const char *value);
void json_push_u64(struct json *arr, uint64_t value);

/* Print `j` indented by two blanks with a final newline, members in the order
 * they were set; and free it, also on failure. */
int json_print(struct json *j, FILE *to, struct error *err);

/* The same without blanks and newlines, appended to `out`; and freed. */
int json_line(struct json *j, struct buf *out, struct error *err);

/* --- Reading --- */

/*
 * The document in these untrusted bytes, for json_free(); or NULL:
 * ERROR_CORRUPT (also for a key that comes twice), ERROR_NOMEM.
 */
struct json *json_parse(const char *text, size_t len, struct error *err);

/* A value in a document that was parsed: borrowed from it. */
struct json_value; /* opaque */
const struct json_value *json_root(const struct json *j);

/* The member `key`; NULL: `v` is no object (NULL, say), it has none such, or
 * it is null. */
const struct json_value *json_get(const struct json_value *v, const char *key);

/* Elements of an array; NULL and whatever is no array have none. */
size_t json_count(const struct json_value *v);
const struct json_value *json_at(const struct json_value *v, size_t i);

/* The value of a member: false, and *out untouched, if there is none, or it is
 * of another type or out of range. */
bool json_get_i64(const struct json_value *v, const char *key, int64_t min,
		  int64_t max, int64_t *out);
bool json_get_u64(const struct json_value *v, const char *key, uint64_t max,
		  uint64_t *out);
bool json_get_bool(const struct json_value *v, const char *key, bool *out);

/*
 * A string with its exact bytes, as json_set_str() put it, copied into `a`;
 * *out is NULL where there is none, or null.  ERROR_CORRUPT: not a string, or
 * one with a NUL in it.
 */
int json_get_str(const struct json_value *v, const char *key, struct arena *a,
		 const char **out, struct error *err);

#endif /* JSON_H */
