/* SPDX-License-Identifier: BSD-3-Clause */
#define ERROR_C
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "libc.h"

/* A sentence with two paths of PATH_MAX and some words fits before it is
 * cut down to ERROR_TEXT_MAX.  A longer one loses its end. */
#define WORK_MAX 16384

/* A word is not cut shorter than this, so that it stays recognisable. */
#define WORD_MIN 40

#define DOTS "..."
#define DOTS_LEN (sizeof(DOTS) - 1)

static bool
is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/*
 * Shorten `text` by at least `drop` bytes: replace bytes of text[start..end) by
 * dots.  `quarters`/4 of the bytes kept of this range stay before the dots.  No
 * UTF-8 character is split.  Returns the new length.
 */
static size_t
cut(char *text, size_t len, size_t start, size_t end, size_t drop,
    size_t quarters)
{
	size_t stay = 0, from = 0, to = 0;
	int i = 0;

	drop += DOTS_LEN;
	if (drop > end - start)
		drop = end - start;
	stay = end - start - drop;
	from = start + stay / 4 * quarters;
	to = from + drop;
	for (i = 0; i < 3 && from > start && is_continuation(text[from]); i++)
		from--;
	for (i = 0; i < 3 && to < end && is_continuation(text[to]); i++)
		to++;
	memcpy(text + from, DOTS, DOTS_LEN);
	memmove(text + from + DOTS_LEN, text + to, len - to + 1);
	return len - (to - from) + DOTS_LEN;
}

/*
 * Cut `text` to fit ERROR_TEXT_MAX.  The longest word, in an overlong message
 * a path, loses its middle first, at most half of the word at a time, so that
 * two long paths are cut alike.  If no word is long, the sentence itself loses
 * its middle; most of what is kept is its end, which holds the reason.
 */
static void
fit(char *text)
{
	size_t len = strlen(text), start = 0, word = 0, drop = 0;

	while (len >= ERROR_TEXT_MAX) {
		drop = len - (ERROR_TEXT_MAX - 1);
		word = 0;
		for (size_t i = 0; i < len;) {
			const size_t n = strcspn(text + i, " \t\n");

			if (n > word) {
				start = i;
				word = n;
			}
			i += n;
			i += strspn(text + i, " \t\n");
		}
		if (word < 2 * WORD_MIN) {
			len = cut(text, len, 0, len, drop, 1);
			continue;
		}
		if (drop > word / 2)
			drop = word / 2;
		len = cut(text, len, start, start + word, drop, 2);
	}
}

/* Set err->text to the formatted sentence, and ": " and `reason` unless that is
 * empty.  Either may hold err->text. */
__attribute__((format(printf, 2, 0))) static void
compose(struct error *err, const char *fmt, va_list ap, const char *reason)
{
	char work[WORK_MAX + ERROR_TEXT_MAX];
	size_t len = 0;

	if (vsnprintf(work, WORK_MAX, fmt, ap) < 0)
		snprintf(work, WORK_MAX, "%s", fmt);
	len = strlen(work);
	snprintf(work + len, sizeof(work) - len, "%s%s",
		 len > 0 && reason[0] != '\0' ? ": " : "", reason);
	fit(work);
	memcpy(err->text, work, strlen(work) + 1);
}

__attribute__((format(printf, 3, 0))) static void
set(struct error *err, enum error_kind kind, const char *fmt, va_list ap)
{
	const int saved = errno;

	if (err != NULL) {
		compose(err, fmt, ap, "");
		err->kind = kind;
		err->errnum = 0;
		err->remedy = REMEDY_NONE;
	}
	errno = saved;
}

int
error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set(err, kind, fmt, ap);
	va_end(ap);
	return -1;
}

int
error_sys(struct error *err, const char *fmt, ...)
{
	char text[256];
	const char *reason = text;
	int saved = errno;
	va_list ap;

	if (err == NULL)
		return -1;
	/* What the error number means, and what to do if that is always the
	 * same.  The strerror_r() of glibc returns the text; that of POSIX
	 * fills the buffer. */
	if (saved == EMFILE)
		reason = "Too many open files: raise the limit (ulimit -n)";
	else
#if LIBC_GLIBC(2, 0)
		reason = strerror_r(saved, text, sizeof(text));
#else
		reason = strerror_r(saved, text, sizeof(text)) == 0
				 ? text
				 : "unknown error";
#endif
	va_start(ap, fmt);
	compose(err, fmt, ap, reason);
	va_end(ap);
	err->kind = saved == ENOENT   ? ERROR_ABSENT
		    : saved == ENOMEM ? ERROR_NOMEM
				      : ERROR_SYSTEM;
	err->errnum = err->kind == ERROR_SYSTEM ? saved : 0;
	err->remedy = REMEDY_NONE;
	errno = saved;
	return -1;
}

int
error_wrap(struct error *err, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (err == NULL)
		return -1;
	va_start(ap, fmt);
	compose(err, fmt, ap, err->text);
	va_end(ap);
	errno = saved;
	return -1;
}

int
error_pass(struct error *err, const struct error *cause)
{
	if (err != NULL && err != cause)
		*err = *cause;
	return -1;
}

int
error_as(struct error *err, const struct error *cause, const char *fmt, ...)
{
	const enum error_remedy remedy = cause->remedy;
	const int errnum = cause->errnum;
	va_list ap;

	va_start(ap, fmt);
	set(err, cause->kind, fmt, ap);
	va_end(ap);
	if (err != NULL)
		err->errnum = errnum;
	return error_remedy(err, remedy);
}

int
error_remedy(struct error *err, enum error_remedy remedy)
{
	if (err != NULL)
		err->remedy = remedy;
	return -1;
}

int
error_no_memory(struct error *err)
{
	return error_set(err, ERROR_NOMEM, "out of memory");
}

void
error_clear(struct error *err)
{
	if (err == NULL)
		return;
	err->kind = ERROR_NONE;
	err->errnum = 0;
	err->remedy = REMEDY_NONE;
	err->text[0] = '\0';
}

bool
error_may_pass(const struct error *e)
{
	switch (e->kind == ERROR_SYSTEM ? e->errnum : 0) {
	case EAGAIN:
	case EBUSY:
	case EDQUOT:
	case EINTR:
	case EMFILE:
	case ENFILE:
	case ENOSPC:
	case EROFS:
	case ETIMEDOUT:
		return true;
	default:
		return error_is_unread(e);
	}
}

bool
error_is_unread(const struct error *e)
{
	return e->kind == ERROR_SYSTEM &&
	       (e->errnum == EIO || e->errnum == EBADMSG ||
		e->errnum == EUCLEAN || e->errnum == ESTALE);
}

int
error_status(enum error_kind kind)
{
	switch (kind) {
	case ERROR_NONE:
		return STATUS_OK;
	case ERROR_USAGE:
		return STATUS_USAGE;
	case ERROR_DAMAGED:
		return STATUS_DAMAGED;
	case ERROR_LOST:
		return STATUS_LOST;
	case ERROR_ABSENT:
	case ERROR_SYSTEM:
	case ERROR_NOMEM:
	case ERROR_CORRUPT:
	case ERROR_UNSAFE:
		break;
	}
	return STATUS_FAILED;
}

static int
severity(int status)
{
	static const int rising[] = { STATUS_OK, STATUS_DAMAGED, STATUS_USAGE,
				      STATUS_FAILED, STATUS_LOST };

	for (int i = 0; i < 5; i++)
		if (status == rising[i])
			return i;
	return 3; /* unknown values: as STATUS_FAILED */
}

int
error_worse_status(int a, int b)
{
	return severity(a) >= severity(b) ? a : b;
}
