/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/npy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "mem.h"
#include "num.h"
#include "str.h"

#define MAGIC "\x93NUMPY\x01"
#define NAME_SIZE 6  /* of it, without the version */
#define MAGIC_SIZE 8 /* with the minor version, 0 */
#define ALIGN 64     /* data begin at a multiple of it */

/* Longest element. */
#define SIZE_MOST 65535

/* --- Types --- */

/* Does NumPy have this kind with so many bytes? */
static bool
is_type(char kind, uint64_t size)
{
	switch (kind) {
	case 'b':
		return size == 1;
	case 'i':
	case 'u':
		return size == 1 || size == 2 || size == 4 || size == 8;
	case 'f':
		return size == 2 || size == 4 || size == 8 || size == 12 ||
		       size == 16;
	case 'c':
		return size == 8 || size == 16 || size == 24 || size == 32;
	default: /* bytes, and what only the application knows */
		return (kind == 'S' || kind == 'V') && size > 0;
	}
}

static void
set_type(struct fti_dtype *out, char order, char kind, uint32_t size)
{
	if (size == 1 || kind == 'S' || kind == 'V')
		order = '|';
	snprintf(out->text, sizeof(out->text), "%c%c%" PRIu32, order, kind,
		 size);
	out->size = size;
}

int
fti_dtype_parse(const char *text, struct fti_dtype *out, struct error *err)
{
	const char *at = text;
	char order = '<';
	uint64_t size = 0;

	if (*at != '\0' && strchr("<>=|", *at) != NULL)
		order = *at++;
	if (order == '=' || order == '|')
		order = '<';
	if (*at == '\0' || num_u64(at + 1, 1, SIZE_MOST, &size, NULL) < 0 ||
	    !is_type(*at, size))
		return error_set(err, ERROR_USAGE,
				 "%s: not a type of NumPy such as f8, <i4 or "
				 "u1",
				 text);
	set_type(out, order, *at, (uint32_t)size);
	return 0;
}

void
fti_dtype_recorded(const struct fti_posix_var *v, struct fti_dtype *out)
{
	/* FTI numbers its own types in this order: char, short, int, long, the
	 * same unsigned, float, double, long double. */
	static const char kinds[] = "iiiiuuuufff";

	if (v == NULL || v->type_size < 1 || v->type_size > SIZE_MOST)
		set_type(out, '|', 'u', 1);
	else if (v->type >= 0 && (size_t)v->type < strlen(kinds) &&
		 is_type(kinds[v->type], (uint64_t)v->type_size))
		set_type(out, '<', kinds[v->type], (uint32_t)v->type_size);
	else
		set_type(out, '|', 'V', (uint32_t)v->type_size);
}

/* --- The header --- */

/* Do the dimensions give this number of elements? */
static bool
dims_fit(const struct fti_posix_var *v, uint64_t count)
{
	uint64_t n = 1;

	if (v == NULL || v->ndims == 0)
		return false;
	for (uint32_t i = 0; i < v->ndims; i++)
		if (__builtin_mul_overflow(n, v->dims[i], &n))
			return false;
	return n == count;
}

int
fti_npy_header(const struct fti_dtype *type, uint64_t size,
	       const struct fti_posix_var *v, struct buf *out,
	       struct error *err)
{
	const uint64_t count = size / type->size;
	const uint32_t ndims = dims_fit(v, count) ? v->ndims : 0;
	struct buf text = BUF_INIT;
	size_t len = 0;
	unsigned char head[MAGIC_SIZE + 2] = MAGIC;

	if (size % type->size != 0)
		return error_set(err, ERROR_USAGE,
				 "%" PRIu64 " bytes are not a whole number of "
				 "elements of %s",
				 size, type->text);
	buf_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
		   type->text);
	if (ndims == 0)
		buf_printf(&text, "%" PRIu64, count);
	for (uint32_t i = 0; i < ndims; i++)
		buf_printf(&text, "%s%" PRIu64, i == 0 ? "" : ", ", v->dims[i]);
	buf_add_str(&text, ndims > 1 ? "), }" : ",), }");
	len = (sizeof(head) + text.len + ALIGN) / ALIGN * ALIGN - sizeof(head);
	while (!text.failed && text.len + 1 < len)
		buf_add_char(&text, ' ');
	buf_add_char(&text, '\n');
	head[MAGIC_SIZE] = (unsigned char)(len & 0xff);
	head[MAGIC_SIZE + 1] = (unsigned char)(len >> 8);
	buf_add(out, head, sizeof(head));
	buf_add(out, text.data, text.len);
	if (text.failed)
		out->failed = true;
	buf_free(&text);
	return buf_check(out, err);
}

/* --- Reading --- */

/* No header of plain arrays is larger. */
#define HEADER_MAX 65535

/* The header: a dictionary of Python, as text. */
struct text {
	const char *at, *name;
	char type[16];
	uint64_t count; /* of elements */
	bool has_type, has_shape;
};

static int
bad(const struct text *t, struct error *err)
{
	return error_set(err, ERROR_CORRUPT,
			 "%s: its header as a NumPy file is damaged", t->name);
}

static void
skip_blanks(struct text *t)
{
	t->at += strspn(t->at, " \t\n");
}

static bool
take(struct text *t, char c)
{
	skip_blanks(t);
	if (*t->at != c)
		return false;
	t->at++;
	return true;
}

/* A string in quotes, `size` bytes at most.  False: there is none. */
static bool
take_string(struct text *t, char *to, size_t size)
{
	const char *end = NULL;
	char quote = '\'';

	skip_blanks(t);
	quote = *t->at == '"' ? '"' : '\'';
	if (!take(t, quote))
		return false;
	end = strchr(t->at, quote);
	if (end == NULL || (size_t)(end - t->at) >= size)
		return false;
	memcpy(to, t->at, (size_t)(end - t->at));
	to[end - t->at] = '\0';
	t->at = end + 1;
	return true;
}

/* "(3, 4)", "(3,)", "()". */
static bool
take_shape(struct text *t)
{
	char digits[NUM_TEXT];

	t->count = 1;
	if (!take(t, '('))
		return false;
	while (!take(t, ')')) {
		const size_t len = strspn(t->at, "0123456789");
		uint64_t n = 0;

		if (len == 0 || len >= sizeof(digits))
			return false;
		memcpy(digits, t->at, len);
		digits[len] = '\0';
		t->at += len;
		if (num_u64(digits, 0, UINT64_MAX, &n, NULL) < 0 ||
		    num_mul(&t->count, n) < 0)
			return false;
		if (!take(t, ',') && *t->at != ')')
			return false;
	}
	t->has_shape = true;
	return true;
}

static bool
take_word(struct text *t)
{
	static const char *const words[] = { "True", "False" };

	skip_blanks(t);
	for (size_t i = 0; i < 2; i++)
		if (str_starts(t->at, words[i])) {
			t->at += strlen(words[i]);
			return true;
		}
	return false;
}

static int
take_value(struct text *t, const char *key, struct error *err)
{
	if (str_eq(key, "descr")) {
		skip_blanks(t);
		if (*t->at == '[')
			return error_set(err, ERROR_USAGE,
					 "%s: its elements are structures",
					 t->name);
		t->has_type = take_string(t, t->type, sizeof(t->type));
		return t->has_type ? 0 : bad(t, err);
	}
	if (str_eq(key, "shape"))
		return take_shape(t) ? 0 : bad(t, err);
	return str_eq(key, "fortran_order") && take_word(t) ? 0 : bad(t, err);
}

static int
parse(struct text *t, struct error *err)
{
	char key[32];

	if (!take(t, '{'))
		return bad(t, err);
	while (!take(t, '}')) {
		if (!take_string(t, key, sizeof(key)) || !take(t, ':'))
			return bad(t, err);
		if (take_value(t, key, err) < 0)
			return -1;
		skip_blanks(t);
		if (!take(t, ',') && *t->at != '}')
			return bad(t, err);
	}
	skip_blanks(t);
	return *t->at == '\0' && t->has_type && t->has_shape ? 0 : bad(t, err);
}

/* The bytes of an element: "<f8", "|u1", "<U4", "<M8[ns]". */
static int
element_size(const struct text *t, uint64_t *size, struct error *err)
{
	const char *type = t->type;
	const bool order = strchr("<>|=", type[0]) != NULL;
	const char kind = type[order ? 1 : 0];
	char digits[sizeof(t->type)];
	size_t len = 0;

	if (type[0] == '\0' || kind == '\0')
		return bad(t, err);
	type += order ? 2 : 1;
	len = strspn(type, "0123456789");
	memcpy(digits, type, len);
	digits[len] = '\0';
	if (strchr("biufcSaVUMm", kind) == NULL)
		return error_set(err, ERROR_USAGE,
				 "%s: its elements are no plain numbers or "
				 "bytes (%s)",
				 t->name, t->type);
	if (t->type[0] == '>' && !str_eq(digits, "1"))
		return error_set(err, ERROR_USAGE,
				 "%s: its elements are big-endian (%s)",
				 t->name, t->type);
	if (num_u64(digits, 0, UINT32_MAX, size, NULL) < 0 ||
	    (type[len] != '\0' && kind != 'M' && kind != 'm'))
		return bad(t, err);
	if (kind == 'U')
		*size *= 4;
	return 0;
}

static int
check_size(const struct text *t, uint64_t size, struct error *err)
{
	uint64_t bytes = 0;

	if (element_size(t, &bytes, err) < 0)
		return -1;
	if (num_mul(&bytes, t->count) == 0 && bytes == size)
		return 0;
	return error_set(err, ERROR_CORRUPT,
			 "%s: has %" PRIu64 " bytes of elements, its header "
			 "says %" PRIu64 " of type %s",
			 t->name, size, t->count, t->type);
}

int
fti_npy_read(const struct fti_source *s, uint64_t *at, struct error *err)
{
	unsigned char start[NAME_SIZE + 6];
	struct text t = { .name = s->name };
	char *header = NULL;
	uint64_t len = 0, begin = NAME_SIZE + 4;
	int rc = 0;

	if (s->size < sizeof(start) ||
	    fti_source_read(s, start, sizeof(start), 0, err) < 0 ||
	    memcmp(start, MAGIC, NAME_SIZE) != 0 || start[6] < 1 ||
	    start[6] > 3)
		return error_set(err, ERROR_CORRUPT,
				 "%s: not a NumPy file (.npy)", s->name);
	len = start[8] | (uint64_t)start[9] << 8;
	if (start[6] > 1) {
		len |= (uint64_t)start[10] << 16 | (uint64_t)start[11] << 24;
		begin += 2;
	}
	if (len > HEADER_MAX || len > s->size - begin)
		return bad(&t, err);
	header = mem_calloc(len + 1, 1);
	if (header == NULL)
		return error_no_memory(err);
	t.at = header;
	rc = fti_source_read(s, header, (size_t)len, begin, err);
	if (rc == 0)
		rc = parse(&t, err);
	if (rc == 0)
		rc = check_size(&t, s->size - begin - len, err);
	*at = begin + len;
	mem_free(header);
	return rc;
}
