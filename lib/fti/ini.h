/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ini.h - FTI's ini files: the configuration, and the metadata of POSIX files
 * (fti-format(5) and scr_fti(1)).
 *
 * The grammar is that of FTI's parser: "[section]", "key = value", comments
 * from '#' or ';' on, quotes around a value that has these.  Sections and keys
 * are the same in upper and lower case; if a key is set twice, the last one
 * counts.  Lines that FTI's parser would not understand are ignored.
 *
 * Ownership: strings belong to the struct fti_ini.  Threads: any number may
 * read it.
 */
#ifndef FTI_INI_H
#define FTI_INI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;
struct fti_ini; /* opaque */

/* No valid file is larger: 31 ranks with some thousand variables each. */
#define FTI_INI_MAX ((size_t)64 << 20)

/* Longest section and key together. */
#define FTI_INI_KEY_MAX 128

/* Read the file `path` below `dirfd` (io_open_read()), or bytes; `name` is for
 * messages, and copied.  NULL: ERROR_CORRUPT for a file that is
 * too large, or a reading error. */
struct fti_ini *fti_ini_read(int dirfd, const char *path, struct error *err);
struct fti_ini *fti_ini_parse(const char *name, const void *data, size_t len,
			      struct error *err);
void fti_ini_free(struct fti_ini *ini); /* NULL is ignored */

const char *fti_ini_name(const struct fti_ini *ini);

/* Section `i` of those with keys, in the order of the file and in lower case,
 * or NULL. */
const char *fti_ini_section(const struct fti_ini *ini, size_t i);

/* The value, or NULL. */
const char *fti_ini_get(const struct fti_ini *ini, const char *section,
			const char *key);

/* A value that must be there: ERROR_CORRUPT names file, section and key.  The
 * number must be whole and in min..max. */
int fti_ini_text(const struct fti_ini *ini, const char *section,
		 const char *key, const char **out, struct error *err);
struct fti_ini_range {
	int64_t min, max;
};
int fti_ini_number(const struct fti_ini *ini, const char *section,
		   const char *key, struct fti_ini_range range, int64_t *out,
		   struct error *err);

/* Can FTI's parser read this value back?  It may have no line ends, quotes,
 * '#', ';', or blanks at its ends. */
bool fti_ini_can_hold(const char *value);

/* Append a line as FTI writes it. */
void fti_ini_add(struct buf *out, const char *key, const char *value);

/*
 * Set a key in the text of a file, all other bytes of which stay.  A missing
 * key is added after the last line of its section, a missing section at the
 * end.  After a failure the text is as before.  ERROR_USAGE:
 * fti_ini_can_hold() is false.
 */
struct fti_ini_value {
	const char *section, *key, *value;
	bool alone; /* what follows in its line is no comment, and goes */
};
int fti_ini_set(struct buf *text, const struct fti_ini_value *v,
		struct error *err);

#endif /* FTI_INI_H */
