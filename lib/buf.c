/* SPDX-License-Identifier: BSD-3-Clause */
#include "buf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "mem.h"

#define CAP_MIN ((size_t)64)

void
buf_free(struct buf *b)
{
	mem_free(b->data);
	*b = (struct buf)BUF_INIT;
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data != NULL)
		b->data[0] = '\0';
}

bool
buf_equal(const struct buf *a, const struct buf *b)
{
	return a->len == b->len &&
	       (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

int
buf_check(const struct buf *b, struct error *err)
{
	return b->failed ? error_no_memory(err) : 0;
}

static int
fail(struct buf *b)
{
	b->failed = true;
	errno = ENOMEM;
	return -1;
}

int
buf_reserve(struct buf *b, size_t more)
{
	size_t need = 0, cap = 0;
	char *data = NULL;

	if (more < b->cap - b->len) /* one more than `more`, for the NUL */
		return 0;
	if (__builtin_add_overflow(b->len, more, &need) || ++need == 0)
		return fail(b);
	/* Doubling makes n additions cost O(n).  A large first request gets
	 * exactly what it asks for. */
	if (!__builtin_mul_overflow(b->cap, 2, &cap) && cap > need)
		need = cap;
	if (need < CAP_MIN)
		need = CAP_MIN;
	data = mem_realloc(b->data, need, 1);
	if (data == NULL)
		return fail(b);
	data[b->len] = '\0';
	b->data = data;
	b->cap = need;
	return 0;
}

int
buf_add(struct buf *b, const void *data, size_t len)
{
	if (buf_reserve(b, len) < 0)
		return -1;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int
buf_add_str(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int
buf_add_char(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int
buf_printf(struct buf *b, const char *fmt, ...)
{
	size_t room = b->cap - b->len;
	va_list ap;
	int n = 0;

	va_start(ap, fmt);
	n = vsnprintf(b->data != NULL ? b->data + b->len : NULL, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < room) {
		b->len += (size_t)n;
		return 0;
	}
	if (b->data != NULL)
		b->data[b->len] = '\0';
	if (n < 0) /* longer than INT_MAX */
		return fail(b);
	if (buf_reserve(b, (size_t)n) < 0)
		return -1;
	va_start(ap, fmt);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}
