/* SPDX-License-Identifier: BSD-3-Clause */
#include "scratch.h"

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

TEST(set)
{
	struct error err = ERROR_INIT;

	errno = EBADF;
	ok(err.kind == ERROR_NONE &&
		   error_set(&err, ERROR_CORRUPT, "%s: bad byte %d", "f", 7) ==
			   -1 &&
		   err.kind == ERROR_CORRUPT && err.errnum == 0,
	   "error_set() sets the kind, and no errnum");
	is_str(err.text, "f: bad byte 7", "error_set() formats");
	error_set(&err, ERROR_LOST, "%s, and more", err.text);
	is_str(err.text, "f: bad byte 7, and more",
	       "the old text may be an argument of the new");
	error_clear(&err);
	ok(err.kind == ERROR_NONE && err.text[0] == '\0', "error_clear()");
	ok(error_set(NULL, ERROR_LOST, "x") == -1 &&
		   error_sys(NULL, "x") == -1 && error_wrap(NULL, "x") == -1,
	   "without a struct");
	error_clear(NULL);
	is_int(errno, EBADF, "errno is kept");
}

TEST(sys)
{
	static const struct {
		int errnum;
		enum error_kind kind;
		bool unread; /* the content of a file is unknown then */
	} cases[] = {
		{ EIO, ERROR_SYSTEM, true },
		{ EBADMSG, ERROR_SYSTEM, true },
		{ EUCLEAN, ERROR_SYSTEM, true },
		{ ESTALE, ERROR_SYSTEM, true },
		{ EACCES, ERROR_SYSTEM, false },
		{ ENOENT, ERROR_ABSENT, false },
		{ ENOMEM, ERROR_NOMEM, false },
		{ ENOSPC, ERROR_SYSTEM, false },
	};
	struct error err = ERROR_INIT;

	each (c, cases) {
		const int e = errno = c->errnum;

		ok(error_sys(&err, "%s: cannot read", "f") == -1 &&
			   errno == e && err.kind == c->kind &&
			   err.errnum == (err.kind == ERROR_SYSTEM ? e : 0) &&
			   error_is_unread(&err) == c->unread,
		   err.text);
	}
	is_str(err.text, "f: cannot read: No space left on device",
	       "error_sys() adds the reason");
	is_int(error_wrap(&err, "rank %d", 3), -1, "error_wrap() is -1");
	is_str(err.text, "rank 3: f: cannot read: No space left on device",
	       "error_wrap() puts itself before the text");
	ok(err.kind == ERROR_SYSTEM && err.errnum == ENOSPC && errno == ENOSPC,
	   "error_wrap() keeps kind, errnum and errno");
	error_clear(&err);
	error_wrap(&err, "alone");
	is_str(err.text, "alone", "error_wrap() of nothing adds no colon");
}

TEST(long)
{
	static char a[LONG + 1], b[LONG + 1];
	struct error err = ERROR_INIT;

	errno = ENOSPC;
	error_sys(&err, "%s: cannot write", long_path(a, PATH_MAX - 1));
	is_int(strlen(err.text), ERROR_TEXT_MAX - 1, "it fills the room");
	ok(str_ends(err.text, "aaz: cannot write: No space left on device"),
	   "the end of the path and the reason stay");
	ok(strncmp(err.text, "/aaa", 4) == 0, "so does its start");
	ok(strstr(err.text, "a...a") != NULL, "dots are in its middle");

	error_set(&err, ERROR_UNSAFE, "%s: leads out of %s: why",
		  long_path(a, PATH_MAX - 1), long_path(b, PATH_MAX - 1));
	ok(strlen(err.text) < ERROR_TEXT_MAX, "two long paths fit");
	ok(strstr(err.text, "aaaz: leads out of /aaa") != NULL &&
		   str_ends(err.text, "aaaz: why"),
	   "both keep their ends, and all words stay");

	errno = EIO;
	error_sys(&err, "f: cannot read");
	error_wrap(&err, "%s", long_path(a, LONG));
	ok(str_ends(err.text, ": f: cannot read: Input/output error"),
	   "wrapping with a long path cuts the path");
	error_sys(&err, "%s: cannot open", long_path(a, PATH_MAX - 1));
	error_wrap(&err, "%s", long_path(b, PATH_MAX - 1));
	error_wrap(&err, "checkpoint 7");
	ok(strncmp(err.text, "checkpoint 7: /a", 16) == 0 &&
		   str_ends(err.text, "z: cannot open: Input/output error"),
	   "wrapping twice keeps both ends");

	errno = EIO;
	error_sys(&err, "%s", long_path(a, LONG));
	ok(str_ends(err.text, ": Input/output error"),
	   "the reason stays always");
	error_set(&err, ERROR_CORRUPT, "%s", a);
	ok(strlen(err.text) < ERROR_TEXT_MAX, "a sentence of one argument");
}

/* Every length around the limit, with and without a text before it. */
TEST(limit)
{
	static char a[LONG + 1];
	struct error err = ERROR_INIT;
	bool same = true, fits = true, reason = true;

	for (size_t len = 1000; len < 1100; len++) {
		error_set(&err, ERROR_LOST, "%s", long_path(a, len));
		if (len < ERROR_TEXT_MAX)
			same = same && strcmp(err.text, a) == 0;
		else
			fits = fits && strlen(err.text) == ERROR_TEXT_MAX - 1;
	}
	ok(same, "what fits is left alone");
	ok(fits, "what does not is cut as little as possible");
	for (size_t len = 900; len < 6000; len += 7) {
		long_path(a, len);
		for (size_t i = 9; i < len; i += 10)
			a[i] = ' ';
		errno = EIO;
		error_sys(&err, "%s", a);
		reason = reason && str_ends(err.text, ": Input/output error") &&
			 strlen(err.text) < ERROR_TEXT_MAX;
	}
	ok(reason, "the reason survives a path with spaces");
}

/* A character is never split: paths of 3-byte characters at each offset. */
TEST(utf8)
{
	static char a[6001];
	struct error err = ERROR_INIT;
	bool whole = true;

	for (size_t i = 0; i < 2000; i++)
		memcpy(a + 3 * i, "\xe2\x82\xac", 4);
	for (size_t shift = 0; shift < 4; shift++) {
		const char *p = err.text + shift;

		error_set(&err, ERROR_LOST, "%.*s%s: why", (int)shift, "xyz",
			  a);
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
	ok(strlen(err.text) > ERROR_TEXT_MAX - 10 &&
		   str_ends(err.text, ": why"),
	   "bytes that are no characters are cut like others");
}

TEST(status)
{
	static const int statuses[] = {
		[ERROR_NONE] = 0,   [ERROR_USAGE] = 2,	 [ERROR_ABSENT] = 1,
		[ERROR_SYSTEM] = 1, [ERROR_NOMEM] = 1,	 [ERROR_CORRUPT] = 1,
		[ERROR_UNSAFE] = 1, [ERROR_DAMAGED] = 3, [ERROR_LOST] = 4,
	};
	/* From good to bad. */
	static const int order[] = { STATUS_OK, STATUS_DAMAGED, STATUS_USAGE,
				     STATUS_FAILED, STATUS_LOST };
	bool right = true;

	for (int kind = 0; kind < 9; kind++)
		is_int(error_status((enum error_kind)kind), statuses[kind],
		       fmt("status of kind %d", kind));
	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 5; j++)
			right = right &&
				error_worse_status(order[i], order[j]) ==
					order[i > j ? i : j];
	ok(right, "the worse of two exit statuses, all pairs");
	is_int(error_worse_status(9, STATUS_USAGE), 9, "a foreign one: failed");
	is_int(error_worse_status(9, STATUS_LOST), STATUS_LOST,
	       "but is not worse than lost");
}

TEST(pass)
{
	struct error cause = ERROR_INIT, err = ERROR_INIT;

	errno = EDQUOT;
	error_sys(&cause, "a/b: cannot create");
	ok(fails_as(error_pass(&err, &cause), &err, -EDQUOT, cause.text),
	   "an error that is handed on keeps its errno and its sentence");
	ok(error_pass(NULL, &cause) == -1 && error_pass(&cause, &cause) == -1,
	   "or is for nobody, or for the same");
	is_error(error_as(&err, &cause, "%s/%s", "p", cause.text), &err,
		 -EDQUOT, "p/a/b: cannot create", "with another sentence");
	is_error(error_as(&cause, &cause, "p/%s", cause.text), &cause, -EDQUOT,
		 "p/a/b: cannot create", "also in place");
}
