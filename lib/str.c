/* SPDX-License-Identifier: BSD-3-Clause */
#include "str.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool
str_eq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

bool
str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool
str_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s), end = strlen(suffix);

	return len >= end && memcmp(s + len - end, suffix, end) == 0;
}

bool
str_glob(const char *s, const char *pattern)
{
	return fnmatch(pattern, s, 0) == 0;
}

size_t
str_decode(const char *text, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	size_t len = 0, i = 0;

	if (s[0] < 0x80) {
		*code = s[0];
		return 1;
	}
	len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
	if (len == 0 || s[0] > 0xf4)
		return 0;
	*code = s[0] & (0x7fu >> len);
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80) /* the final NUL ends here too */
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return len;
}

size_t
str_width(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

/* Is `code` a character that controls a terminal, breaks the line or reorders
 * the text after it: C0, DEL, C1, line separators, bidirectional controls? */
static bool
is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
	       code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

char *
str_printable(char *to, size_t size, const char *s)
{
	static const char known[] = "\n\t\\", letters[] = "nt\\";
	size_t len = 0, n = 0, used = 0;
	const char *from = NULL, *at = NULL;
	char escaped[5];
	uint32_t code = 0;

	for (; size > 0 && *s != '\0'; s += n, len += used) {
		n = used = str_decode(s, &code);
		from = s;
		if (n == 0 || is_control(code) || code == '\\') {
			n = 1; /* escape a long one byte by byte */
			at = strchr(known, *s);
			used = (size_t)(at != NULL
						? snprintf(escaped, 5, "\\%c",
							   letters[at - known])
						: snprintf(escaped, 5,
							   "\\x%02x",
							   (unsigned char)*s));
			from = escaped;
		}
		if (used >= size - len)
			break; /* never split a character or an escape */
		memcpy(to + len, from, used);
	}
	if (size > 0)
		to[len] = '\0';
	return to;
}

bool
str_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int
str_natural(const char *a, const char *b)
{
	const char *p = a, *q = b;
	size_t m = 0, n = 0;
	int order = 0;

	while (*p != '\0' || *q != '\0') {
		if (str_is_digit(*p) && str_is_digit(*q)) {
			/* Numbers of any length. */
			p += strspn(p, "0");
			q += strspn(q, "0");
			m = strspn(p, "0123456789");
			n = strspn(q, "0123456789");
			order = m != n ? (m < n ? -1 : 1) : memcmp(p, q, m);
			if (order != 0)
				return order;
			p += m;
			q += n;
			continue;
		}
		if (*p != *q)
			return (unsigned char)*p < (unsigned char)*q ? -1 : 1;
		p++;
		q++;
	}
	return strcmp(a, b); /* equal except for leading zeros */
}

const char *
str_line(const char **text, size_t *len)
{
	const char *line = *text;

	if (line == NULL || *line == '\0')
		return NULL;
	*len = strcspn(line, "\n");
	*text = line + *len + (line[*len] == '\n');
	return line;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t
str_distance(const char *a, size_t len, const char *b)
{
	size_t rows[3][STR_WORD_MAX + 1];
	const size_t width = strlen(b);

	if (len > STR_WORD_MAX || width > STR_WORD_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= width; k++)
		rows[0][k] = k;
	for (size_t i = 1; i <= len; i++) {
		size_t *row = rows[i % 3];
		const size_t *last = rows[(i - 1) % 3];
		const size_t *older = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t k = 1; k <= width; k++) {
			row[k] = least(least(last[k], row[k - 1]) + 1,
				       last[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				row[k] = least(row[k], older[k - 2] + 1);
		}
	}
	return rows[len % 3][width];
}

bool
str_is_nearer(const char *word, size_t len, const char *other, size_t *best)
{
	const size_t distance = str_distance(word, len, other);

	if (distance >= *best)
		return false;
	*best = distance;
	return true;
}

size_t
str_near_enough(size_t len)
{
	return len < 5 ? (len + 1) / 2 : 3;
}

const char *
str_meant(const char *word, const char *const *list)
{
	const size_t len = strlen(word);
	size_t best = str_near_enough(len);
	const char *found = NULL;

	for (; *list != NULL; list++)
		if (str_is_nearer(word, len, *list, &best))
			found = *list;
	return found;
}

char *
str_print(char *to, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to, size, fmt, ap);
	va_end(ap);
	return to;
}

char *
str_bytes(char *to, size_t size, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	uint64_t tenths = 0, whole = bytes;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(to, size, "%" PRIu64 " B", bytes);
		return to;
	}
	/* 1023.95 of a unit would be shown as 1024.0: use the next unit. */
	while (whole >= 1024 * 1024 || (whole * 10 + 512) / 1024 >= 10 * 1024) {
		whole /= 1024;
		i++;
	}
	tenths = (whole * 10 + 512) / 1024;
	snprintf(to, size, "%" PRIu64 ".%" PRIu64 " %ciB", tenths / 10,
		 tenths % 10, units[i]);
	return to;
}
