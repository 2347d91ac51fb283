/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inifile.h - the lines of an ini file, by inih.
 *
 * inih finds the lines that set something.  It keeps one pair of a line, and
 * cuts a line after 199 bytes as it is usually built.  Lines of SCR have
 * several pairs, and values may be long.  So inih is given each line without
 * its indent, cut to what it can hold, and the caller parses the whole line.
 * The result does not depend on inih's build settings, which differ between
 * systems.
 */
#ifndef INIFILE_H
#define INIFILE_H

#include <stddef.h>

enum inifile_kind {
	INIFILE_PAIR,  /* begins with "key = value" */
	INIFILE_OTHER, /* neither that nor blank nor a comment, or a section */
	INIFILE_NUL,   /* has a NUL byte */
};

/* A line; `text` and `section` point into the bytes that were given. */
struct inifile_line {
	enum inifile_kind kind;
	size_t number;		/* from 1 */
	const char *text, *end; /* without indent and newline */
	const char *section;	/* the last "[name]", also of its own line */
	size_t section_len;
};

/*
 * Call fn(arg, line) for each line in order; comments and blank lines are left
 * out.  A byte order mark at the start is skipped.  If fn returns -1 no more
 * lines follow.  Returns -1 then, or if inih has no memory.
 */
int inifile_each(const void *data, size_t len,
		 int (*fn)(void *arg, const struct inifile_line *line),
		 void *arg);

/* Blanks: ' ', \t, \r, \f, \v.  The first other byte, or `end`. */
const char *inifile_skip_blanks(const char *p, const char *end);

#endif /* INIFILE_H */
