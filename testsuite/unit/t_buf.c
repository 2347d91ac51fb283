/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "scratch.h"

TEST(add)
{
	struct buf b = BUF_INIT;

	buf_clear(&b);
	ok(b.data == NULL, "an empty buf has no memory, also if cleared");
	buf_free(&b);
	is_int(buf_add(&b, NULL, 0), 0, "nothing can be added");
	is_str(b.data, "", "which makes it an empty string");
	ok(buf_add_str(&b, "one") == 0 && buf_add_char(&b, ' ') == 0 &&
		   buf_printf(&b, "%d", 2) == 0 && buf_add(&b, "\0x", 2) == 0,
	   "texts, characters, bytes");
	is_mem(b.data, "one 2\0x", 8, "all is there, with a NUL behind it");
	is_int(b.len, 7, "len does not count that NUL");
	buf_clear(&b);
	is_str(b.data, "", "buf_clear() makes it an empty string");
	ok(b.cap > 0, "and keeps the memory");
	buf_free(&b);
	ok(b.data == NULL && b.len == 0 && b.cap == 0,
	   "buf_free(): back to start");
}

/* Append one byte at a time, and texts of every length. */
TEST(growth)
{
	struct buf b = BUF_INIT;
	char text[1000];
	bool good = true;
	size_t grown = 0, cap = 0;

	for (size_t i = 0; i < 100000; i++) {
		good = good && buf_add_char(&b, (char)('a' + i % 26)) == 0 &&
		       b.data[b.len] == '\0';
		grown += b.cap != cap;
		cap = b.cap;
	}
	for (size_t i = 0; i < 100000; i++)
		good = good && b.data[i] == (char)('a' + i % 26);
	ok(good && b.len == 100000, "100000 bytes, one by one");
	ok(grown < 20, "take few allocations");
	buf_free(&b);
	for (size_t len = 0; len < sizeof(text); len++) {
		memset(text, 'x', len);
		text[len] = '\0';
		good = good && buf_add_str(&b, "<") == 0 &&
		       buf_printf(&b, "%s>", text) == 0 &&
		       strlen(b.data) == b.len && b.len == len + 2 &&
		       strcmp(b.data + 1 + len, ">") == 0;
		buf_free(&b);
	}
	ok(good, "buf_printf() of every length");
}

TEST(reserve)
{
	auto_buf b = BUF_INIT;
	char *data = NULL;

	is_int(buf_reserve(&b, 1000), 0, "buf_reserve()");
	is_str(b.data, "", "leaves a string");
	ok(b.cap == 1001, "gets what was asked for and a NUL");
	data = b.data;
	memset(b.data, 'x', 1000);
	b.len = 1000;
	b.data[1000] = '\0';
	ok(buf_reserve(&b, 0) == 0 && b.data == data, "no more: nothing moves");
	ok(buf_reserve(&b, 1) == 0 && b.cap >= 2002, "one more: it doubles");
	for (size_t i = 0; i < 2; i++) {
		errno = 0;
		ok(buf_reserve(&b, SIZE_MAX - 1000 * i) == -1 &&
			   errno == ENOMEM,
		   "the largest; a sum that wraps");
	}
	is_int(strlen(b.data), 1000, "and the buf is unchanged");
}

TEST(nomem)
{
	auto_buf b = BUF_INIT;
	char text[200] = "";

	memset(text, 'x', sizeof(text) - 1);
	mem_fail_after(0);
	errno = 0;
	ok(buf_add_char(&b, 'x') == -1 && errno == ENOMEM &&
		   buf_printf(&b, "x") == -1,
	   "no memory for the first byte, nor for a text");
	ok(b.data == NULL && b.cap == 0, "and the buf is unchanged");
	refuses(buf_check(&b, &why), ERROR_NOMEM, NULL,
		"but for what buf_check() tells");
	buf_clear(&b);
	is_int(buf_check(&b, NULL), 0, "until it is cleared");
	mem_fail_after(1);
	is_int(buf_add_str(&b, "begin"), 0, "memory for some bytes");
	is_int(buf_add_str(&b, text), -1, "none for more");
	is_int(buf_printf(&b, "%s", text), -1, "none for a text");
	is_str(b.data, "begin", "the string is unchanged");
	is_int(b.len, 5, "and its length");
	is_int(buf_add_str(&b, "!"), 0, "what needs no memory succeeds");
	mem_fail_after(-1);
	ok(buf_printf(&b, "%s", text) == 0 && b.len == 5 + 1 + 199,
	   "all is well with memory");
}
