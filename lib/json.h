/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json.h - JSON values, by jansson: made, filled, printed.
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
#include <stdint.h>
#include <stdio.h>

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
void json_set_bool(struct json *obj, const char *key, bool value);
void json_set_null(struct json *obj, const char *key);

/* In an array. */
void json_push(struct json *arr, struct json *value);
void json_push_str(struct json *arr, const char *value);
void json_push_u64(struct json *arr, uint64_t value);

/* Print `j` indented by two blanks with a final newline, members in the order
 * they were set; and free it, also on failure. */
int json_print(struct json *j, FILE *to, struct error *err);

#endif /* JSON_H */
