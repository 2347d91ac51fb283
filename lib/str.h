/* SPDX-License-Identifier: BSD-3-Clause */
/* str.h - small helpers for strings. */
#ifndef STR_H
#define STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool str_eq(const char *a, const char *b);
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* 0 to 9, in any locale. */
bool str_is_digit(char c);

/*
 * Decode the UTF-8 character at `s` (RFC 3629: shortest form, no surrogates,
 * up to U+10FFFF).  Returns its length, or 0 if it is broken.
 */
size_t str_decode(const char *s, uint32_t *code);

/* Columns of the `len` bytes at `s`: each character of UTF-8 counts as one. */
size_t str_width(const char *s, size_t len);

/* Does `s` match the shell pattern (fnmatch, no flags)? */
bool str_glob(const char *s, const char *pattern);

/*
 * Write a printable form of `s` to `to` (`size` bytes, always ended with NUL):
 * control characters, DEL and broken UTF-8 become \n, \t, \xHH; a backslash
 * becomes \\. So no file name can break a line of output or control the
 * terminal.  Returns `to`.
 */
char *str_printable(char *to, size_t size, const char *s);

/* The same as an argument of printf, valid until the end of the block: long
 * enough for a path, or only the start of a text, such as a wrong value. */
#define STR_SHOWN 4200
#define STR_QUOTED 80
#define str_shown(s) str_printable((char[STR_SHOWN]){ 0 }, STR_SHOWN, s)
#define str_quoted(s) str_printable((char[STR_QUOTED]){ 0 }, STR_QUOTED, s)

/*
 * qsort() order for version-like names: runs of digits compare as numbers,
 * the rest as bytes ("ckpt.9" before "ckpt.10").
 */
int str_natural(const char *a, const char *b);

/* Bytes to insert, remove or replace, and neighbours to swap, to turn the first
 * `len` bytes of `a` into `b` (optimal string alignment).  SIZE_MAX if one of
 * them is longer than STR_WORD_MAX. */
#define STR_WORD_MAX 48
size_t str_distance(const char *a, size_t len, const char *b);

/* Is `other` nearer to the first `len` bytes of `word` than *best, which then
 * becomes their distance?  Start with str_near_enough(len): up to two bytes
 * differ, in a short word half of them. */
bool str_is_nearer(const char *word, size_t len, const char *other,
		   size_t *best);
size_t str_near_enough(size_t len);

/* The word of `list`, which ends with NULL, of which `word` may be a
 * misspelling.  NULL: none. */
const char *str_meant(const char *word, const char *const *list);

/* Write `bytes` for people, such as "1.5 GiB" or "512 B".  Returns `to`. */
char *str_bytes(char *to, size_t size, uint64_t bytes);

/* The same as an argument of printf, valid until the end of the block. */
#define str_size(bytes) str_bytes((char[32]){ 0 }, 32, bytes)

/* printf() into `to`, cut to `size` bytes.  Returns `to`. */
char *str_print(char *to, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same as an argument of a function, valid until the end of the block. */
#define str_printed(size, ...) str_print((char[size]){ 0 }, size, __VA_ARGS__)

/* Return the next line of *text, *len bytes without the newline, and move *text
 * behind it.  NULL: no more lines, or *text is NULL. */
const char *str_line(const char **text, size_t *len);

/* The word for a count: str_plural(1, "file") "file", else "files". */
#define str_plural(n, word) ((n) == 1 ? word : word "s")

/* Number and word, as two arguments for "%zu %s". */
#define str_count(n, word) (n), str_plural(n, word)

#endif /* STR_H */
