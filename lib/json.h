/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - write JSON, and read it.
 *
 * Building a document needs no check at each step: once an allocation has
 * failed, json_print() returns -1.  A key is set once.
 *
 * In a string that is not valid UTF-8 each bad byte becomes U+FFFD, and a
 * second member, of the same name with "_hex" appended, holds the exact bytes
 * in hexadecimal.  (In an array the exact bytes are not kept.) A key that is
 * not valid UTF-8 gets "_hex_" and the hexadecimal of all its bytes appended
 * ("_hex_61ff"), so that two such keys never collide.  Numbers above INT64_MAX,
 * which many readers cannot hold (jansson refuses the document), are written as
 * INT64_MAX: only damaged metadata have such sizes.
 *
 * Ownership: json_set() and json_push() take the value, also on failure: fill
 * it first, and do not use it afterwards.  A NULL value counts as a failed
 * allocation.  Threads: one document, one thread.
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

/* A new container, for json_free() or to be given away.  NULL: ENOMEM. */
struct json *json_new_object(void);
struct json *json_new_array(void);

/* Free a document, or a value that was not given away. */
void json_free(struct json *j);

/* Set a member of an object.  A NULL string is null. */
void json_set(struct json *obj, const char *key, struct json *value);
/* NULL: null. */
void json_set_str(struct json *obj, const char *key, const char *value);
void json_set_u64(struct json *obj, const char *key, uint64_t value);
void json_set_i64(struct json *obj, const char *key, int64_t value);
/* Printed with six significant digits. */
void json_set_real(struct json *obj, const char *key, double value);
void json_set_bool(struct json *obj, const char *key, bool value);
void json_set_null(struct json *obj, const char *key);
/* Negative: null. */
void json_set_or_null(struct json *obj, const char *key, int64_t value);

/* The same, but nothing is set if the value is unknown: NULL or "", or a
 * negative number. */
void json_set_known_str(struct json *obj, const char *key, const char *value);
void json_set_known_i64(struct json *obj, const char *key, int64_t value);

/* A time in UTC, "2026-11-21T10:00:00Z", given in seconds or microseconds since
 * the epoch.  Negative: null. */
void json_set_time(struct json *obj, const char *key, int64_t secs);
void json_set_time_us(struct json *obj, const char *key, int64_t usecs);

/* Append the members of `more`, which is taken as by json_set(). */
void json_append(struct json *obj, struct json *more);

/* Append to an array. */
void json_push(struct json *arr, struct json *value);
void json_push_str(struct json *arr, const char *value);

/* Print `j` indented by two blanks, members in the order they were set, with a
 * final newline.  Frees `j`, also on failure. */
int json_print(struct json *j, FILE *to, struct error *err);

/* Append `j` to `out` without blanks and newlines.  Frees `j`, also on
 * failure. */
int json_line(struct json *j, struct buf *out, struct error *err);

/* --- Reading --- */

/* A parsed document, or a value in it, borrowed from it. */
struct json_value; /* opaque */

/* Parse `len` untrusted bytes.  Returns a document for json_release(), or NULL:
 * ERROR_CORRUPT (also for a repeated key), ERROR_NOMEM. */
struct json_value *json_parse(const char *text, size_t len, struct error *err);
void json_release(struct json_value *document);

/* The member `key`.  NULL: `v` is NULL or not an object, or the member is
 * missing or null. */
const struct json_value *json_get(const struct json_value *v, const char *key);

/* The number of elements of an array (0 for NULL and other values), and element
 * `i`. */
size_t json_count(const struct json_value *v);
const struct json_value *json_at(const struct json_value *v, size_t i);

/* Get the value of a member.  False, with *out unchanged: the member is
 * missing, of another type or out of range. */
bool json_get_i64(const struct json_value *v, const char *key, int64_t min,
		  int64_t max, int64_t *out);
bool json_get_u64(const struct json_value *v, const char *key, uint64_t max,
		  uint64_t *out);
bool json_get_bool(const struct json_value *v, const char *key, bool *out);

/*
 * Get a string with its exact bytes, as given to json_set_str(), copied into
 * `a`.  *out is NULL if the member is missing or null.  ERROR_CORRUPT: not a
 * string, or a string that contains NUL.
 */
int json_get_str(const struct json_value *v, const char *key, struct arena *a,
		 const char **out, struct error *err);

#endif /* JSON_H */
