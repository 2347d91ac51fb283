/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>

#include "error.h"
#include "tap.h"

#define LONG 20000

/* A path of `len` bytes: /aaa...z, with a NUL behind it. */
static const char *
long_path(char *to, size_t len)
{
	memset(to, 'a', len);
	to[0] = '/';
	to[len - 1] = 'z';
	to[len] = '\0';
	return to;
}

static bool
ends(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len >= n && strcmp(s + len - n, end) == 0;
}

static void
test_set(void)
{
	struct error err = ERROR_INIT;

	is_int(err.kind, ERROR_NONE, "starts without an error");
	errno = EBADF;
	is_int(error_set(&err, ERROR_CORRUPT, "%s: bad byte %d", "f", 7), -1,
	       "error_set() is -1");
	is_int(errno, EBADF, "error_set() keeps errno");
	is_int(err.kind, ERROR_CORRUPT, "error_set() sets the kind");
	is_int(err.errnum, 0, "error_set() sets no errnum");
	is_str(err.text, "f: bad byte 7", "error_set() formats");
	error_set(&err, ERROR_LOST, "%s, and more", err.text);
	is_str(err.text, "f: bad byte 7, and more",
	       "the old text may be an argument of the new");
	error_clear(&err);
	is_int(err.kind, ERROR_NONE, "error_clear() clears the kind");
	is_str(err.text, "", "error_clear() clears the text");
	errno = EBADF;
	is_int(error_set(NULL, ERROR_LOST, "x"), -1, "set of NULL");
	is_int(error_sys(NULL, "x"), -1, "sys of NULL");
	is_int(error_wrap(NULL, "x"), -1, "wrap of NULL");
	error_clear(NULL);
	is_int(errno, EBADF, "errno is kept without a struct");
}

/* Which errors leave the content of a file unknown? */
static void
test_unread(void)
{
	static const int io[] = { EIO, EBADMSG, EUCLEAN, ESTALE };
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < sizeof(io) / sizeof(*io); i++) {
		errno = io[i];
		error_sys(&err, "f");
		ok(error_is_unread(&err), err.text);
	}
	errno = EACCES;
	error_sys(&err, "f");
	ok(!error_is_unread(&err), "EACCES is no I/O error");
}

static void
test_sys(void)
{
	struct error err = ERROR_INIT;

	errno = EIO;
	is_int(error_sys(&err, "%s: cannot read", "f"), -1,
	       "error_sys() is -1");
	is_int(errno, EIO, "error_sys() keeps errno");
	is_int(err.kind, ERROR_SYSTEM, "EIO is ERROR_SYSTEM");
	is_int(err.errnum, EIO, "errnum is EIO");
	is_str(err.text, "f: cannot read: Input/output error",
	       "error_sys() adds the reason");
	errno = ENOENT;
	error_sys(&err, "f");
	is_int(err.kind, ERROR_ABSENT, "ENOENT is ERROR_ABSENT");
	is_int(err.errnum, 0, "which has no errnum");
	errno = ENOMEM;
	error_sys(&err, "f");
	is_int(err.kind, ERROR_NOMEM, "ENOMEM is ERROR_NOMEM");
	errno = ENOSPC;
	error_sys(&err, "f");
	is_int(error_wrap(&err, "rank %d", 3), -1, "error_wrap() is -1");
	is_str(err.text, "rank 3: f: No space left on device",
	       "error_wrap() puts itself before the text");
	is_int(err.kind, ERROR_SYSTEM, "error_wrap() keeps the kind");
	is_int(err.errnum, ENOSPC, "error_wrap() keeps errnum");
	is_int(errno, ENOSPC, "error_wrap() keeps errno");
	error_clear(&err);
	error_wrap(&err, "alone");
	is_str(err.text, "alone", "error_wrap() of nothing adds no colon");
}

static void
test_long(void)
{
	static char a[LONG + 1], b[LONG + 1];
	struct error err = ERROR_INIT;

	errno = ENOSPC;
	error_sys(&err, "%s: cannot write", long_path(a, PATH_MAX - 1));
	is_int((int64_t)strlen(err.text), ERROR_TEXT_MAX - 1,
	       "a long path fills the room");
	ok(ends(err.text, "aaz: cannot write: No space left on device"),
	   "the end of the path and the reason stay");
	ok(strncmp(err.text, "/aaa", 4) == 0, "so does its start");
	ok(strstr(err.text, "a...a") != NULL, "dots are in its middle");

	error_set(&err, ERROR_UNSAFE, "%s: leads out of %s: why",
		  long_path(a, PATH_MAX - 1), long_path(b, PATH_MAX - 1));
	ok(strlen(err.text) < ERROR_TEXT_MAX, "two long paths fit");
	ok(strstr(err.text, "aaaz: leads out of /aaa") != NULL &&
		   ends(err.text, "aaaz: why"),
	   "both keep their ends, and all words stay");

	errno = EIO;
	error_sys(&err, "f: cannot read");
	error_wrap(&err, "%s", long_path(a, LONG));
	ok(ends(err.text, ": f: cannot read: Input/output error"),
	   "wrapping with a long path cuts the path");
	error_sys(&err, "%s: cannot open", long_path(a, PATH_MAX - 1));
	error_wrap(&err, "%s", long_path(b, PATH_MAX - 1));
	error_wrap(&err, "checkpoint 7");
	ok(strncmp(err.text, "checkpoint 7: /a", 16) == 0 &&
		   ends(err.text, "z: cannot open: Input/output error"),
	   "wrapping twice keeps both ends");

	errno = EIO;
	error_sys(&err, "%s", long_path(a, LONG));
	ok(ends(err.text, ": Input/output error"),
	   "the reason survives any argument");
	error_set(&err, ERROR_CORRUPT, "%.*s: longer than %% a key", LONG, a);
	ok(ends(err.text, "aaa... a key"),
	   "so does the end of the sentence itself");
	error_set(&err, ERROR_CORRUPT, "%s", a);
	ok(strlen(err.text) < ERROR_TEXT_MAX, "a sentence of one argument");
}

/* Every length around the limit, with and without a text before it. */
static void
test_limit(void)
{
	static char a[LONG + 1];
	struct error err = ERROR_INIT;
	bool same = true, fits = true, reason = true;
	size_t len = 0, i = 0;

	for (len = 1000; len < 1100; len++) {
		error_set(&err, ERROR_LOST, "%s", long_path(a, len));
		if (len < ERROR_TEXT_MAX)
			same = same && strcmp(err.text, a) == 0;
		else
			fits = fits && strlen(err.text) == ERROR_TEXT_MAX - 1;
	}
	ok(same, "what fits is left alone");
	ok(fits, "what does not is cut as little as possible");
	for (len = 900; len < 6000; len += 7) {
		long_path(a, len);
		for (i = 9; i < len; i += 10)
			a[i] = ' ';
		errno = EIO;
		error_sys(&err, "%s", a);
		reason = reason && ends(err.text, ": Input/output error") &&
			 strlen(err.text) < ERROR_TEXT_MAX;
	}
	ok(reason, "the reason survives a path with spaces");
}

/* A character is never split: paths of 3-byte characters at each offset. */
static void
test_utf8(void)
{
	static char a[6001];
	struct error err = ERROR_INIT;
	bool whole = true;
	size_t i = 0, shift = 0;
	const char *p = NULL;

	for (i = 0; i < 2000; i++)
		memcpy(a + 3 * i, "\xe2\x82\xac", 4);
	for (shift = 0; shift < 4; shift++) {
		error_set(&err, ERROR_LOST, "%.*s%s: why", (int)shift, "xyz",
			  a);
		p = err.text + shift;
		while (strncmp(p, "\xe2\x82\xac", 3) == 0)
			p += 3;
		whole = whole && strncmp(p, "...\xe2", 4) == 0;
		for (p += 3; strncmp(p, "\xe2\x82\xac", 3) == 0;)
			p += 3;
		whole = whole && strcmp(p, ": why") == 0;
	}
	ok(whole, "no UTF-8 character is cut in two");
	memset(a, 0x80, 6000);
	error_set(&err, ERROR_LOST, "%s: why", a);
	ok(strlen(err.text) > ERROR_TEXT_MAX - 10 && ends(err.text, ": why"),
	   "bytes that are no characters are cut like others");
}

static void
test_status(void)
{
	/* From good to bad. */
	static const int order[] = { STATUS_OK, STATUS_DAMAGED, STATUS_USAGE,
				     STATUS_FAILED, STATUS_LOST };
	bool right = true;
	int i = 0, j = 0;

	is_int(error_status(ERROR_NONE), 0, "no error: 0");
	is_int(error_status(ERROR_USAGE), 2, "usage: 2");
	is_int(error_status(ERROR_ABSENT), 1, "absent: 1");
	is_int(error_status(ERROR_SYSTEM), 1, "system: 1");
	is_int(error_status(ERROR_NOMEM), 1, "no memory: 1");
	is_int(error_status(ERROR_CORRUPT), 1, "corrupt: 1");
	is_int(error_status(ERROR_UNSAFE), 1, "unsafe: 1");
	is_int(error_status(ERROR_DAMAGED), 3, "damaged: 3");
	is_int(error_status(ERROR_LOST), 4, "lost: 4");
	for (i = 0; i < 5; i++)
		for (j = 0; j < 5; j++)
			right = right &&
				error_worse_status(order[i], order[j]) ==
					order[i > j ? i : j];
	ok(right, "the worse of two exit statuses, all pairs");
	is_int(error_worse_status(9, STATUS_USAGE), 9,
	       "a foreign status counts as failed");
	is_int(error_worse_status(9, STATUS_LOST), STATUS_LOST,
	       "but is not worse than lost");
}

static void
test_pass(void)
{
	struct error cause = ERROR_INIT, err = ERROR_INIT;

	errno = EDQUOT;
	error_sys(&cause, "a/b: cannot create");
	is_int(error_pass(&err, &cause), -1, "an error that is handed on");
	is_int(err.kind, ERROR_SYSTEM, "keeps its kind,");
	is_int(err.errnum, EDQUOT, "its errno");
	is_str(err.text, cause.text, "and its sentence");
	is_int(error_pass(NULL, &cause), -1, "or is for nobody");
	is_int(error_pass(&cause, &cause), -1, "or for the same");
	error_clear(&err);
	is_int(error_as(&err, &cause, "%s/%s", "p", cause.text), -1,
	       "with a sentence of its own");
	is_int(err.errnum, EDQUOT, "it keeps errno");
	ok(strncmp(err.text, "p/a/b: cannot create", 20) == 0, "and says so");
	error_as(&cause, &cause, "p/%s", cause.text);
	is_int(cause.errnum, EDQUOT, "also in place");
}

int
main(void)
{
	test_set();
	test_sys();
	test_unread();
	test_long();
	test_limit();
	test_utf8();
	test_pass();
	test_status();
	return tap_done();
}
