/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c - JSON values on jansson; the only file that uses jansson. */
#include "json.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "mem.h"

/* A container that is not part of another one yet.  Afterwards jansson owns its
 * value. */
struct json {
	json_t *value;
	bool failed; /* an addition failed */
};

/* Significant digits of a real number. */
#define REAL_DIGITS JSON_REAL_PRECISION(6)

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD in UTF-8 */

static void *
alloc_bytes(size_t size)
{
	return mem_alloc(1, size);
}

static void
use_mem(void)
{
	json_set_alloc_funcs(alloc_bytes, mem_free);
}

static struct json *
wrap(json_t *value)
{
	struct json *j = NULL;

	if (value == NULL)
		return NULL;
	j = mem_calloc(1, sizeof(*j));
	if (j == NULL) {
		json_decref(value);
		return NULL;
	}
	j->value = value;
	return j;
}

/* jansson has one allocator per process, which must be set before its first
 * use.  Every constructor of this module calls this function. */
static void
init_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, use_mem);
}

struct json *
json_new_object(void)
{
	init_once();
	return wrap(json_object());
}

struct json *
json_new_array(void)
{
	init_once();
	return wrap(json_array());
}

void
json_free(struct json *j)
{
	if (j == NULL)
		return;
	json_decref(j->value);
	mem_free(j);
}

/* Mark the document as incomplete, so that it is not printed. */
static void
fail(struct json *j)
{
	if (j != NULL)
		j->failed = true;
}

/* The length of the valid UTF-8 sequence at the start of `s` (ended by NUL), or
 * 0.  Overlong forms, surrogates and values beyond U+10FFFF are invalid:
 * jansson refuses to print them. */
static size_t
utf8_len(const unsigned char *s)
{
	static const struct {
		unsigned char first, last; /* of the first byte */
		unsigned char low, high;   /* of the second byte */
		unsigned char len;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t i, k;

	if (s[0] < 0x80)
		return 1;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (s[0] < forms[i].first || s[0] > forms[i].last)
			continue;
		if (s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (k = 2; k < forms[i].len; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].len;
	}
	return 0;
}

static bool
is_utf8(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;

	while (*p != '\0') {
		size_t len = utf8_len(p);

		if (len == 0)
			return false;
		p += len;
	}
	return true;
}

static int
add_replaced(struct buf *out, const char *s)
{
	while (*s != '\0') {
		size_t len = utf8_len((const unsigned char *)s);
		int rc = len == 0 ? buf_add_str(out, replacement)
				  : buf_add(out, s, len);

		if (rc < 0)
			return -1;
		s += len == 0 ? 1 : len;
	}
	return 0;
}

static int
add_hex(struct buf *out, const char *s)
{
	static const char digits[] = "0123456789abcdef";

	for (; *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (buf_add_char(out, digits[c >> 4]) < 0 ||
		    buf_add_char(out, digits[c & 15]) < 0)
			return -1;
	}
	return 0;
}

/* A JSON string of `s`, bad bytes replaced; JSON null for NULL. */
static json_t *
string_value(const char *s)
{
	struct buf text = BUF_INIT;
	json_t *value = NULL;

	if (s == NULL)
		return json_null();
	if (is_utf8(s))
		return json_string_nocheck(s);
	if (add_replaced(&text, s) == 0)
		value = json_stringn_nocheck(text.data, text.len);
	buf_free(&text);
	return value;
}

/* A JSON string of the bytes of `s` in hexadecimal. */
static json_t *
hex_value(const char *s)
{
	struct buf text = BUF_INIT;
	json_t *value = NULL;

	if (add_hex(&text, s) == 0)
		value = json_stringn_nocheck(text.data, text.len);
	buf_free(&text);
	return value;
}

static json_t *
u64_value(uint64_t v)
{
	char digits[24];

	if (v <= INT64_MAX)
		return json_integer((json_int_t)v);
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
	return json_string_nocheck(digits);
}

/* The name of a member: key, the hexadecimal suffix if key is not UTF-8, and
 * `suffix`.  NULL: ENOMEM. */
static const char *
member_name(struct buf *name, const char *key, const char *suffix)
{
	bool good = is_utf8(key);

	if (good && suffix[0] == '\0')
		return key;
	if (add_replaced(name, key) < 0)
		return NULL;
	if (!good && (buf_add_str(name, "_hex_") < 0 || add_hex(name, key) < 0))
		return NULL;
	return buf_add_str(name, suffix) < 0 ? NULL : name->data;
}

/* Set member key + suffix of obj.  Takes the reference to `value`, also on
 * failure. */
static void
put(struct json *obj, const char *key, const char *suffix, json_t *value)
{
	struct buf storage = BUF_INIT;
	const char *name = NULL;

	if (obj == NULL || obj->failed || value == NULL) {
		json_decref(value);
		fail(obj);
		return;
	}
	assert(json_is_object(obj->value));
	name = member_name(&storage, key, suffix);
	if (name == NULL) {
		json_decref(value);
		fail(obj);
	} else if (json_object_set_new_nocheck(obj->value, name, value) < 0) {
		fail(obj);
	}
	buf_free(&storage);
}

static void
push(struct json *arr, json_t *value)
{
	if (arr == NULL || arr->failed || value == NULL) {
		json_decref(value);
		fail(arr);
		return;
	}
	assert(json_is_array(arr->value));
	if (json_array_append_new(arr->value, value) < 0)
		fail(arr);
}

/* Free `j` and return its value, or NULL if `j` is incomplete. */
static json_t *
unwrap(struct json *j)
{
	json_t *value = NULL;

	if (j != NULL && !j->failed)
		value = json_incref(j->value);
	json_free(j);
	return value;
}

void
json_set(struct json *obj, const char *key, struct json *value)
{
	assert(obj == NULL || obj != value);
	put(obj, key, "", unwrap(value));
}

void
json_set_str(struct json *obj, const char *key, const char *value)
{
	put(obj, key, "", string_value(value));
	if (value != NULL && !is_utf8(value))
		put(obj, key, "_hex", hex_value(value));
}

void
json_set_u64(struct json *obj, const char *key, uint64_t value)
{
	put(obj, key, "", u64_value(value));
}

void
json_set_i64(struct json *obj, const char *key, int64_t value)
{
	put(obj, key, "", json_integer(value));
}

void
json_set_real(struct json *obj, const char *key, double value)
{
	put(obj, key, "", json_real(value));
}

void
json_set_bool(struct json *obj, const char *key, bool value)
{
	put(obj, key, "", json_boolean(value));
}

void
json_set_null(struct json *obj, const char *key)
{
	put(obj, key, "", json_null());
}

void
json_push(struct json *arr, struct json *value)
{
	assert(arr == NULL || arr != value);
	push(arr, unwrap(value));
}

void
json_push_str(struct json *arr, const char *value)
{
	push(arr, string_value(value));
}

void
json_push_u64(struct json *arr, uint64_t value)
{
	push(arr, u64_value(value));
}

int
json_print(struct json *j, FILE *to, struct error *err)
{
	int rc = -1;

	if (j == NULL || j->failed) {
		error_no_memory(err);
		goto out;
	}
	/* jansson writes piece by piece, without a copy of the document. */
	if (json_dumpf(j->value, to, JSON_INDENT(2) | REAL_DIGITS) == 0 &&
	    putc('\n', to) != EOF)
		rc = 0;
	else if (ferror(to))
		error_sys(err, "JSON output: cannot write");
	else
		error_no_memory(err);
out:
	json_free(j);
	return rc;
}

static int
add_piece(const char *piece, size_t len, void *out)
{
	return buf_add(out, piece, len);
}

int
json_line(struct json *j, struct buf *out, struct error *err)
{
	const size_t before = out->len;
	int rc = -1;

	if (j != NULL && !j->failed)
		rc = json_dump_callback(j->value, add_piece, out,
					JSON_COMPACT | REAL_DIGITS);
	if (rc < 0) {
		out->len = before;
		error_no_memory(err);
	}
	json_free(j);
	return rc;
}

/* --- Reading --- */

struct json *
json_parse(const char *text, size_t len, struct error *err)
{
	json_error_t why;
	json_t *value = NULL;
	struct json *j = NULL;

	init_once();
	errno = 0;
	value = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	/* jansson reports a failed allocation as a syntax error; the errno set
	 * by mem.c tells them apart. */
	if (value == NULL && errno == ENOMEM)
		error_no_memory(err);
	else if (value == NULL)
		error_set(err, ERROR_CORRUPT, "JSON: byte %d: %s", why.position,
			  why.text);
	else if ((j = wrap(value)) == NULL)
		error_no_memory(err);
	return j;
}

/* struct json_value is jansson's json_t under another name. */
static const struct json_value *
value_of(const json_t *v)
{
	return v == NULL || json_is_null(v) ? NULL : (const void *)v;
}

static const json_t *
own(const struct json_value *v)
{
	return (const void *)v;
}

const struct json_value *
json_root(const struct json *j)
{
	return value_of(j->value);
}

const struct json_value *
json_get(const struct json_value *v, const char *key)
{
	return value_of(json_object_get(own(v), key));
}

size_t
json_count(const struct json_value *v)
{
	return json_array_size(own(v));
}

const struct json_value *
json_at(const struct json_value *v, size_t i)
{
	return value_of(json_array_get(own(v), i));
}

bool
json_get_i64(const struct json_value *v, const char *key, int64_t min,
	     int64_t max, int64_t *out)
{
	const json_t *n = own(json_get(v, key));
	json_int_t i = json_integer_value(n);

	if (!json_is_integer(n) || i < min || i > max)
		return false;
	*out = i;
	return true;
}

bool
json_get_u64(const struct json_value *v, const char *key, uint64_t max,
	     uint64_t *out)
{
	int64_t i = 0;

	if (!json_get_i64(v, key, 0, max > INT64_MAX ? INT64_MAX : (int64_t)max,
			  &i))
		return false;
	*out = (uint64_t)i;
	return true;
}

bool
json_get_bool(const struct json_value *v, const char *key, bool *out)
{
	const json_t *b = own(json_get(v, key));

	if (!json_is_boolean(b))
		return false;
	*out = json_is_true(b);
	return true;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undo hex_value(), in place.  False: hex_value() cannot have made `text`. */
static bool
from_hex(char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high < 0 || low < 0 || high + low == 0)
			return false;
		text[i / 2] = (char)(high << 4 | low);
	}
	text[len / 2] = '\0';
	return true;
}

int
json_get_str(const struct json_value *v, const char *key, struct arena *a,
	     const char **out, struct error *err)
{
	const json_t *s = own(json_get(v, key)), *hex = NULL;
	struct buf name = BUF_INIT;
	char *text = NULL;

	*out = NULL;
	if (s == NULL)
		return 0;
	if (buf_add_str(&name, key) == 0 && buf_add_str(&name, "_hex") == 0) {
		hex = own(json_get(v, name.data));
		s = hex != NULL ? hex : s;
		text = arena_strdup(a, json_is_string(s) ? json_string_value(s)
							 : "");
	}
	buf_free(&name);
	if (text == NULL)
		return error_no_memory(err);
	if (!json_is_string(s) || strlen(text) != json_string_length(s) ||
	    (hex != NULL && !from_hex(text)))
		return error_set(err, ERROR_CORRUPT, "JSON: %s: not a text",
				 key);
	*out = text;
	return 0;
}
