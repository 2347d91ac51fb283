/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c - write JSON as text; read it with jansson, which no other file
 * uses. */
#include "json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "mem.h"
#include "str.h"

/* An object or array that is not part of another one yet. */
struct json {
	/* Its text without blanks and without the closing bracket.  `failed`:
	 * an addition failed. */
	struct buf text;
};

/* --- Strings --- */

static void
add_hex(struct buf *out, const char *s)
{
	for (; *s != '\0'; s++)
		buf_printf(out, "%02x", (unsigned char)*s);
}

/* Append the characters of `s`, bad bytes replaced.  Returns whether it is
 * valid UTF-8. */
static bool
add_text(struct buf *out, const char *s)
{
	static const char special[] = "\"\\\b\f\n\r\t";
	static const char letters[] = "\"\\bfnrt";
	bool good = true;
	uint32_t code = 0;

	while (*s != '\0') {
		const size_t len = str_decode(s, &code);
		const char *at = strchr(special, *s);

		if (at != NULL)
			buf_printf(out, "\\%c", letters[at - special]);
		else if (len == 1 && code < 0x20)
			buf_printf(out, "\\u%04X", (unsigned)code);
		else if (len > 0)
			buf_add(out, s, len);
		else
			buf_add_str(out, "\xef\xbf\xbd"); /* U+FFFD */
		good = good && len > 0;
		s += len > 0 ? len : 1;
	}
	return good;
}

/* --- Building --- */

static struct json *
new_value(char bracket)
{
	struct json *j = mem_calloc(1, sizeof(*j));

	if (j != NULL)
		buf_add_char(&j->text, bracket);
	return j;
}

struct json *
json_new_object(void)
{
	return new_value('{');
}

struct json *
json_new_array(void)
{
	return new_value('[');
}

void
json_free(struct json *j)
{
	if (j == NULL)
		return;
	buf_free(&j->text);
	mem_free(j);
}

/* Begin an element of an array (`key` is NULL), or member key + suffix of an
 * object. */
static void
begin(struct buf *out, const char *key, const char *suffix)
{
	if (out->len > 1)
		buf_add_char(out, ',');
	if (key == NULL)
		return;
	buf_add_char(out, '"');
	if (!add_text(out, key)) {
		buf_add_str(out, "_hex_");
		add_hex(out, key);
	}
	buf_add_str(out, suffix);
	buf_add_str(out, "\":");
}

/* Add a member, or an element if `key` is NULL; `text` is JSON. */
static void
add(struct json *j, const char *key, const char *text)
{
	if (j == NULL)
		return;
	begin(&j->text, key, "");
	buf_add_str(&j->text, text);
}

void
json_set_str(struct json *j, const char *key, const char *value)
{
	bool good = true;

	if (j == NULL)
		return;
	if (value == NULL) {
		add(j, key, "null");
		return;
	}
	begin(&j->text, key, "");
	buf_add_char(&j->text, '"');
	good = add_text(&j->text, value);
	buf_add_char(&j->text, '"');
	if (good || key == NULL)
		return;
	begin(&j->text, key, "_hex");
	buf_add_char(&j->text, '"');
	add_hex(&j->text, value);
	buf_add_char(&j->text, '"');
}

/* Append the closing bracket. */
static int
finish(struct json *j, struct error *err)
{
	if (j == NULL)
		return error_no_memory(err);
	if (j->text.len > 0)
		buf_add_char(&j->text, j->text.data[0] == '{' ? '}' : ']');
	return buf_check(&j->text, err);
}

void
json_set(struct json *obj, const char *key, struct json *value)
{
	assert(obj == NULL || obj != value);
	if (finish(value, NULL) == 0)
		add(obj, key, value->text.data);
	else if (obj != NULL)
		obj->text.failed = true;
	json_free(value);
}

void
json_set_known_str(struct json *obj, const char *key, const char *value)
{
	if (value != NULL && value[0] != '\0')
		json_set_str(obj, key, value);
}

void
json_set_known_i64(struct json *obj, const char *key, int64_t value)
{
	if (value >= 0)
		json_set_i64(obj, key, value);
}

void
json_set_or_null(struct json *obj, const char *key, int64_t value)
{
	if (value < 0)
		json_set_null(obj, key);
	else
		json_set_i64(obj, key, value);
}

void
json_set_i64(struct json *obj, const char *key, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	add(obj, key, text);
}

void
json_set_u64(struct json *obj, const char *key, uint64_t value)
{
	json_set_i64(obj, key, value < INT64_MAX ? (int64_t)value : INT64_MAX);
}

void
json_set_real(struct json *obj, const char *key, double value)
{
	char text[32];
	const size_t len = (size_t)snprintf(text, sizeof(text), "%.6g", value);

	/* Readers take a number without a decimal point for an integer. */
	if (strcspn(text, ".e") == len)
		snprintf(text + len, sizeof(text) - len, ".0");
	add(obj, key, text);
}

void
json_set_bool(struct json *obj, const char *key, bool value)
{
	add(obj, key, value ? "true" : "false");
}

void
json_set_null(struct json *obj, const char *key)
{
	add(obj, key, "null");
}

/* `frac`: of a second, with its point; or "".  Negative `secs`: null. */
static void
set_time(struct json *obj, const char *key, int64_t secs, const char *frac)
{
	const time_t at = (time_t)secs;
	char text[64], full[80];
	struct tm tm;

	if (secs < 0 || gmtime_r(&at, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
		json_set_null(obj, key);
		return;
	}
	snprintf(full, sizeof(full), "%s%sZ", text, frac);
	json_set_str(obj, key, full);
}

void
json_set_time(struct json *obj, const char *key, int64_t secs)
{
	set_time(obj, key, secs, "");
}

void
json_set_time_us(struct json *obj, const char *key, int64_t usecs)
{
	char frac[16];

	snprintf(frac, sizeof(frac), ".%06d", (int)(usecs % 1000000));
	set_time(obj, key, usecs < 0 ? -1 : usecs / 1000000, frac);
}

void
json_append(struct json *obj, struct json *more)
{
	if (obj != NULL && (more == NULL || more->text.failed))
		obj->text.failed = true;
	else if (obj != NULL && more->text.len > 1)
		add(obj, NULL, more->text.data + 1);
	json_free(more);
}

void
json_push(struct json *arr, struct json *value)
{
	json_set(arr, NULL, value);
}

void
json_push_str(struct json *arr, const char *value)
{
	json_set_str(arr, NULL, value);
}

/* --- Printing --- */

static void
new_line(FILE *to, int depth)
{
	fprintf(to, "\n%*s", 2 * depth, "");
}

int
json_print(struct json *j, FILE *to, struct error *err)
{
	int depth = 0, rc = finish(j, err);
	const char *text = rc == 0 ? j->text.data : "";

	for (size_t n = 1; *text != '\0' && !ferror(to); text += n) {
		const bool opens = *text == '{' || *text == '[';

		n = 1;
		if (*text == '"') { /* a string, with its quotes */
			while (text[n] != '"')
				n += text[n] == '\\' ? 2 : 1;
			n++;
		}
		/* '}' is two behind '{', and ']' two behind '['. */
		if (opens && text[1] == *text + 2)
			n = 2;
		else if (*text == '}' || *text == ']')
			new_line(to, --depth);
		fwrite(text, 1, n, to);
		if ((opens && n == 1) || *text == ',')
			new_line(to, depth += opens);
		else if (*text == ':')
			putc(' ', to);
	}
	if (rc == 0) {
		putc('\n', to);
		/* A reader that has closed the pipe is no failure
		 * (app_finish()). */
		if (ferror(to) && errno != EPIPE)
			rc = error_sys(err, "JSON output: cannot write");
	}
	json_free(j);
	return rc;
}

int
json_line(struct json *j, struct buf *out, struct error *err)
{
	int rc = finish(j, err);

	if (rc == 0 && buf_add(out, j->text.data, j->text.len) < 0)
		rc = error_no_memory(err);
	json_free(j);
	return rc;
}

/* --- Reading --- */

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

struct json_value *
json_parse(const char *text, size_t len, struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	json_error_t why;
	json_t *value = NULL;

	/* jansson has one allocator per process, which must be set before its
	 * first use. */
	pthread_once(&once, use_mem);
	errno = 0;
	value = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	/* jansson reports a failed allocation as a syntax error; the errno set
	 * by mem.c tells them apart. */
	if (value == NULL && errno == ENOMEM)
		error_no_memory(err);
	else if (value == NULL)
		error_set(err, ERROR_CORRUPT, "JSON: byte %d: %s", why.position,
			  why.text);
	return (void *)value;
}

void
json_release(struct json_value *v)
{
	json_decref((void *)v);
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

/* Undo add_hex(), in place.  False: add_hex() cannot have made `text`. */
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
