/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/npy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "fti/posix.h"
#include "num.h"

#define MAGIC "\x93NUMPY\x01"
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
