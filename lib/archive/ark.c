/* SPDX-License-Identifier: BSD-3-Clause */
#include "archive/ark.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "archive/ark_impl.h"
#include "path.h"
#include "str.h"

static const char *const filters[] = {
	[ARK_NONE] = "none",
	[ARK_GZIP] = "gzip",
	[ARK_XZ] = "xz",
	[ARK_ZSTD] = "zstd",
};

#define FILTERS (sizeof(filters) / sizeof(filters[0]))

int
ark_filter_parse(const char *text, enum ark_filter *out, struct error *err)
{
	for (size_t i = 0; i < FILTERS; i++)
		if (str_eq(text, filters[i])) {
			*out = (enum ark_filter)i;
			return 0;
		}
	return error_set(
		err, ERROR_USAGE,
		"\"%s\": unknown compression, expected none, gzip, xz or zstd",
		str_quoted(text));
}

const char *
ark_filter_name(enum ark_filter filter)
{
	return filters[filter];
}

/*
 * A surrogate pair encoded as two characters (CESU-8) is not UTF-8, but
 * libarchive would convert it to one character, and so change the name.
 */
static bool
has_surrogate_pair(const char *path)
{
	const unsigned char *s = (const unsigned char *)path;

	for (; *s != '\0'; s++)
		if (s[0] == 0xed && (s[1] & 0xf0) == 0xa0 && s[2] != '\0' &&
		    s[3] == 0xed && (s[4] & 0xf0) == 0xb0)
			return true;
	return false;
}

int
ark_fits(const char *path, uint64_t size, struct error *err)
{
	if (!path_is_clean(path))
		return error_set(err, ERROR_UNSAFE,
				 "%s: not a clean relative path", path);
	if (size > (uint64_t)ARK_SIZE_MAX)
		return error_set(err, ERROR_USAGE,
				 "%s: %" PRIu64 " bytes: too large", path,
				 size);
	if (has_surrogate_pair(path))
		return error_set(err, ERROR_USAGE,
				 "%s: an archive cannot hold it: the name has "
				 "surrogates, which is not UTF-8",
				 path);
	return 0;
}

/* --- Shared by reading and writing --- */

locale_t
ark_locale(bool utf8, struct error *err)
{
	static const char *const names[] = { "C.UTF-8", "en_US.UTF-8", "C" };
	locale_t got = (locale_t)0;
	size_t i = 0;

	for (i = utf8 ? 0 : 2;
	     i < sizeof(names) / sizeof(names[0]) && got == (locale_t)0; i++)
		got = newlocale(LC_CTYPE_MASK, names[i], (locale_t)0);
	if (got == (locale_t)0)
		error_no_memory(err);
	return got;
}

int
ark_failed(struct error *err, enum error_kind kind, const char *name,
	   const char *path, struct ark_reason why)
{
	char text[256];
	size_t len = 0;

	if (why.errnum == ENOMEM) {
		kind = ERROR_NOMEM;
		why.text = "out of memory";
	}
	snprintf(text, sizeof(text), "%s",
		 why.text != NULL ? why.text : "unreadable");
	/* Like our messages: first letter in lower case (except in ZIP), no
	 * newline. */
	for (len = strlen(text); len > 0 && text[len - 1] == '\n'; len--)
		text[len - 1] = '\0';
	if (islower((unsigned char)text[0] ? (unsigned char)text[1] : 0))
		text[0] = (char)tolower((unsigned char)text[0]);
	return error_set(err, kind, "%s: %s%s%s", name, path ? path : "",
			 path ? ": " : "", text);
}

enum ark_shape
ark_shape(const unsigned char *data, size_t len)
{
	static const struct {
		enum ark_shape shape;
		size_t len;
		const char *magic;
	} known[] = {
		{ ARK_SHAPE_7ZIP, 6, "7z\xbc\xaf\x27\x1c" },
		{ ARK_SHAPE_ZIP, 4, "PK\003\004" },
		{ ARK_SHAPE_GZIP, 2, "\x1f\x8b" },
		{ ARK_SHAPE_XZ, 6, "\xfd\x37zXZ\0" },
		{ ARK_SHAPE_ZSTD, 4, "\x28\xb5\x2f\xfd" },
	};

	/* An empty skippable frame: parallel compressors begin with one. */
	if (len >= 4 && (data[0] & 0xf0) == 0x50 &&
	    memcmp(data + 1, "\x2a\x4d\x18", 3) == 0)
		return ARK_SHAPE_ZSTD;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (len >= known[i].len &&
		    memcmp(data, known[i].magic, known[i].len) == 0)
			return known[i].shape;
	return ARK_SHAPE_OTHER;
}
