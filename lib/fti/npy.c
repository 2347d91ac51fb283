/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

int
fti_npy_header(const struct fti_dtype *type, uint64_t size,
	       const struct fti_posix_var *v, struct buf *out,
	       struct error *err)
{
	const uint64_t count = size / type->size;
	uint32_t ndims = v == NULL ? 0 : v->ndims;
	uint64_t n = 1;
	bool over = false;
	struct buf text = BUF_INIT;
	size_t len = 0;
	unsigned char head[MAGIC_SIZE + 2] = MAGIC;

	if (size % type->size != 0)
		return error_set(err, ERROR_USAGE,
				 "%" PRIu64 " bytes are not a whole number of "
				 "elements of %s",
				 size, type->text);
	/* Dimensions that give another number of elements are left out. */
	for (uint32_t i = 0; i < ndims; i++)
		over |= __builtin_mul_overflow(n, v->dims[i], &n);
	if (over || n != count)
		ndims = 0;
	buf_printf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
		   type->text);
	if (ndims == 0)
		buf_printf(&text, "%" PRIu64, count);
	for (uint32_t i = 0; i < ndims; i++)
		buf_printf(&text, "%s%" PRIu64, i == 0 ? "" : ", ", v->dims[i]);
	buf_add_str(&text, ndims > 1 ? "), }" : ",), }");
	len = (sizeof(head) + text.len + ALIGN) / ALIGN * ALIGN - sizeof(head);
	while (text.len + 1 < len)
		buf_add_char(&text, ' ');
	buf_add_char(&text, '\n');
	head[MAGIC_SIZE] = (unsigned char)(len & 0xff);
	head[MAGIC_SIZE + 1] = (unsigned char)(len >> 8);
	buf_add(out, head, sizeof(head));
	buf_add(out, text.data, text.len);
	buf_free(&text);
	return 0;
}

/* --- Reading --- */

/* No header of plain arrays is larger. */
#define HEADER_MAX 65535

static int
bad(const struct fti_source *s, struct error *err)
{
	return error_set(err, ERROR_CORRUPT,
			 "%s: its header as a NumPy file is damaged", s->name);
}

/* The value of a key in the header, a dictionary of Python.  "": none. */
static const char *
value_of(const char *header, const char *key)
{
	const char *at = strstr(header, key);

	return at == NULL ? ""
			  : at + strlen(key) + strspn(at + strlen(key), " :");
}

/* Do the `size` bytes of elements fit the header? */
static int
check_header(const struct fti_source *s, const char *header, uint64_t size,
	     struct error *err)
{
	const char *descr = value_of(header, "'descr'");
	const char *shape = value_of(header, "'shape'"), *kind = NULL;
	char type[16] = "", *end = NULL;
	uint64_t bytes = 0, count = 1;
	size_t len = 0;

	if (descr[0] == '[')
		return error_set(err, ERROR_USAGE,
				 "%s: its elements are structures", s->name);
	if (descr[0] == '\'')
		len = strcspn(descr + 1, "'");
	if (len == 0 || len >= sizeof(type) || *shape++ != '(')
		return bad(s, err);
	/* The number of elements: "(3, 4)", "(3,)", "()". */
	for (; str_is_digit(*shape); shape = end + strspn(end, ", ")) {
		errno = 0;
		if (num_mul(&count, strtoull(shape, &end, 10)) < 0 ||
		    errno != 0)
			return bad(s, err);
	}
	if (*shape != ')')
		return bad(s, err);
	/* The bytes of each: "<f8", "|u1", "<U4", "<M8[ns]". */
	memcpy(type, descr + 1, len);
	kind = type + (strchr("<>|=", type[0]) != NULL);
	if (!str_is_digit(kind[0] == '\0' ? '\0' : kind[1]))
		return bad(s, err);
	if (strchr("biufcSaVUMm", kind[0]) == NULL)
		return error_set(err, ERROR_USAGE,
				 "%s: its elements are no plain numbers or "
				 "bytes (%s)",
				 s->name, type);
	bytes = strtoul(kind + 1, &end, 10);
	if (type[0] == '>' && bytes != 1)
		return error_set(err, ERROR_USAGE,
				 "%s: its elements are big-endian (%s)",
				 s->name, type);
	if ((*end != '\0' && kind[0] != 'M' && kind[0] != 'm') ||
	    (kind[0] == 'U' && num_mul(&bytes, 4) < 0))
		return bad(s, err);
	if (num_mul(&bytes, count) == 0 && bytes == size)
		return 0;
	return error_set(err, ERROR_CORRUPT,
			 "%s: has %" PRIu64 " bytes of elements, its header "
			 "says %" PRIu64 " of type %s",
			 s->name, size, count, type);
}

int
fti_npy_read(const struct fti_source *s, uint64_t *at, struct error *err)
{
	unsigned char start[NAME_SIZE + 6];
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
		return bad(s, err);
	header = mem_calloc(len + 1, 1);

	rc = fti_source_read(s, header, (size_t)len, begin, err);
	if (rc == 0)
		rc = check_header(s, header, s->size - begin - len, err);
	*at = begin + len;
	mem_free(header);
	return rc;
}
