/* SPDX-License-Identifier: BSD-3-Clause */
#include "container/ark.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "container/ark_impl.h"
#include "path.h"
#include "str.h"

/* The size field of cpio (odc) has 11 octal digits, that of the others 63
 * bits as libarchive has it. */
#define CPIO_SIZE_MAX ((UINT64_C(1) << 33) - 1)

static const char *const formats[] = {
	[ARK_PAX] = "pax",
	[ARK_ZIP] = "zip",
	[ARK_7ZIP] = "7zip",
	[ARK_CPIO] = "cpio",
};

static const char *const filters[] = {
	[ARK_NONE] = "none",
	[ARK_GZIP] = "gzip",
	[ARK_XZ] = "xz",
	[ARK_ZSTD] = "zstd",
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The place of `text` in the list; -1: ERROR_USAGE, with the list. */
static int
place_of(const char *text, const char *what, const char *const *list,
	 size_t count, struct error *err)
{
	char quote[64], names[64] = "";
	size_t i = 0, len = 0;

	for (i = 0; i < count; i++)
		if (str_eq(text, list[i]))
			return (int)i;
	for (i = 0; i < count; i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len,
					"%s%s", i > 0 ? ", " : "", list[i]);
	return error_set(err, ERROR_USAGE, "\"%s\" is no %s: it is one of %s",
			 str_printable(quote, sizeof(quote), text), what,
			 names);
}

int
ark_format_parse(const char *text, enum ark_format *out, struct error *err)
{
	int at = place_of(text, "archive format", formats, COUNT(formats), err);

	if (at < 0)
		return -1;
	*out = (enum ark_format)at;
	return 0;
}

int
ark_filter_parse(const char *text, enum ark_filter *out, struct error *err)
{
	int at = place_of(text, "compression", filters, COUNT(filters), err);

	if (at < 0)
		return -1;
	*out = (enum ark_filter)at;
	return 0;
}

const char *
ark_format_name(enum ark_format format)
{
	return formats[format];
}

const char *
ark_filter_name(enum ark_filter filter)
{
	return filters[filter];
}

int
ark_check(enum ark_format format, enum ark_filter filter, struct error *err)
{
	if (format == ARK_ZIP && filter != ARK_NONE && filter != ARK_GZIP)
		return error_set(err, ERROR_USAGE,
				 "zip does not go with %s, only with none and "
				 "gzip (deflate)",
				 filters[filter]);
	if (format == ARK_7ZIP && filter == ARK_ZSTD)
		return error_set(err, ERROR_USAGE,
				 "7zip does not go with zstd, only with none, "
				 "gzip (deflate) and xz (LZMA)");
	return 0;
}

/* --- Names a format has no room for --- */

/*
 * Surrogates in pairs, encoded one by one (CESU-8): no UTF-8, but libarchive
 * takes it for a character and writes that, so another name.
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

/* The length of the UTF-8 character at `s` as RFC 3629 has it; 0: broken. */
static size_t
utf8_length(const unsigned char *s)
{
	size_t len = s[0] < 0x80   ? 1
		     : s[0] < 0xc2 ? 0
		     : s[0] < 0xe0 ? 2
		     : s[0] < 0xf0 ? 3
		     : s[0] < 0xf5 ? 4
				   : 0;

	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80) /* the final NUL ends here too */
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/*
 * Is it one of the marks that libarchive, when it reads, merges with the
 * character before them: accents of European scripts (U+0300-036F), marks of
 * kana (U+3099, U+309A), vowels and finals of Hangul?  Those of Indian scripts
 * are merged too, but after some characters only, and are everyday letters.
 */
static bool
is_merged(const unsigned char *s)
{
	return s[0] == 0xcc || (s[0] == 0xcd && s[1] < 0xb0) ||
	       (s[0] == 0xe3 && s[1] == 0x82 &&
		(s[2] == 0x99 || s[2] == 0x9a)) ||
	       (s[0] == 0xe1 && s[1] >= 0x85 && s[1] <= 0x87);
}

/* Why 7zip, which stores UTF-16, would not give the name back; or NULL. */
static const char *
wrong_in_utf16(const char *path)
{
	const unsigned char *s = (const unsigned char *)path;
	size_t len = 0;

	for (; *s != '\0'; s += len) {
		len = utf8_length(s);
		if (len == 0)
			return "the name is not UTF-8";
		if (is_merged(s))
			return "the name has accents apart from their letters";
	}
	return NULL;
}

int
ark_fits(enum ark_format format, const char *path, uint64_t size,
	 struct error *err)
{
	const char *wrong = NULL;

	if (!path_is_clean(path))
		return error_set(err, ERROR_UNSAFE,
				 "%s: not a clean relative path", path);
	if (size > (uint64_t)ARK_SIZE_MAX)
		return error_set(err, ERROR_USAGE,
				 "%s: %" PRIu64 " bytes: too large", path,
				 size);
	if (format == ARK_CPIO && size > CPIO_SIZE_MAX)
		return error_set(err, ERROR_USAGE,
				 "%s: %" PRIu64 " bytes: cpio holds files only "
				 "up to %" PRIu64,
				 path, size, CPIO_SIZE_MAX);
	if (format == ARK_CPIO && str_eq(path, "TRAILER!!!"))
		wrong = "the name is what ends an archive";
	if (format == ARK_PAX && has_surrogate_pair(path))
		wrong = "the name has surrogates, which is not UTF-8";
	if (format == ARK_7ZIP)
		wrong = wrong_in_utf16(path);
	if (format == ARK_ZIP && strchr(path, '\\') != NULL)
		wrong = "a backslash may be read as a slash";
	if (wrong == NULL)
		return 0;
	return error_set(err, ERROR_USAGE, "%s: %s cannot hold it: %s", path,
			 formats[format], wrong);
}

/* --- For both halves --- */

locale_t
ark_locale(bool utf8, struct error *err)
{
	static const char *const names[] = { "C.UTF-8", "en_US.UTF-8", "C" };
	locale_t got = (locale_t)0;
	size_t i = 0;

	for (i = utf8 ? 0 : 2; i < COUNT(names) && got == (locale_t)0; i++)
		got = newlocale(LC_CTYPE_MASK, names[i], (locale_t)0);
	if (got == (locale_t)0)
		error_set(err, ERROR_NOMEM, "archive: out of memory");
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
	/* As our own sentences look: no capital (but in ZIP), no line end. */
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

	/* A frame that tells nothing, as parallel compressors begin. */
	if (len >= 4 && (data[0] & 0xf0) == 0x50 &&
	    memcmp(data + 1, "\x2a\x4d\x18", 3) == 0)
		return ARK_SHAPE_ZSTD;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (len >= known[i].len &&
		    memcmp(data, known[i].magic, known[i].len) == 0)
			return known[i].shape;
	return ARK_SHAPE_OTHER;
}
