/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * style.h - how text looks on a terminal: characters, colours, folded lines.  A
 * pipe gets plain text.
 */
#ifndef STYLE_H
#define STYLE_H

#include <stdbool.h>

struct buf;

struct style {
	bool utf8, color;
	unsigned width; /* columns of the terminal; 0: no limit */
};

/* The style for descriptor `fd`, by TERM, NO_COLOR, the size of the terminal
 * and the locale, whose LC_CTYPE is set. */
struct style style_of(int fd);

/* Is descriptor `fd` a terminal that can draw over a line? */
bool style_can_draw(int fd);

/*
 * Colour the first word of each line that names a state, such as "whole" in a
 * column of its own, and fold lines of several columns at the width; the rest
 * of such a line begins below its last column.  Commands ("next: ...") and
 * lines with escape sequences are not folded.  Returns 0, or -1: a failure that
 * `text` remembers.
 */
int style_dress(const struct style *s, struct buf *text);

#endif /* STYLE_H */
