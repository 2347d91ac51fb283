/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * buf.h - a growing array of bytes.
 *
 * data[len] is a NUL once something was added, so a buf of text is a C string.
 * On failure (-1, errno = ENOMEM) the bytes are unchanged and `failed` is set:
 * a caller that appends a text piece by piece may check once at the end, with
 * buf_check().
 */
#ifndef BUF_H
#define BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct error;

struct buf {
	char *data; /* NULL until something is added */
	size_t len;
	size_t cap;
	bool failed; /* an addition failed since the last buf_clear() */
};

#define BUF_INIT \
	{ \
		.data = NULL, .len = 0, .cap = 0, .failed = false \
	}

void buf_free(struct buf *b);  /* back to BUF_INIT */
void buf_clear(struct buf *b); /* len = 0, memory kept */

/* 0, or -1 with ERROR_NOMEM if b->failed. */
int buf_check(const struct buf *b, struct error *err);

/* Have both the same bytes? */
bool buf_equal(const struct buf *a, const struct buf *b);

/* Make room for `more` bytes beyond len. */
int buf_reserve(struct buf *b, size_t more);

int buf_add(struct buf *b, const void *data, size_t len);
int buf_add_str(struct buf *b, const char *s);
int buf_add_char(struct buf *b, char c);
int buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* BUF_H */
