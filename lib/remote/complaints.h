/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * complaints.h - what is wrong with nodes, as few lines: nodes with the same
 * text share one, "node[1-3000]: TEXT".
 *
 * Texts are the same also if they differ in the names and IPv4 addresses of
 * their nodes.  A line of several such nodes has NODE and ADDRESS instead.
 */
#ifndef REMOTE_COMPLAINTS_H
#define REMOTE_COMPLAINTS_H

#include <stddef.h>

struct arena;
struct buf;
struct map;

/* All zero: none. */
struct complaints {
	struct complaint *list; /* in the order of the first of each */
	size_t count, cap;
	struct map *texts;
	struct arena *arena;
};

/* Add a text, without newline.  Both strings are copied. */
void complaints_add(struct complaints *c, const char *node, const char *text);

/* Append the lines to `out`, and free the complaints: there are none again. */
void complaints_take(struct complaints *c, struct buf *out);

void complaints_free(struct complaints *c);

#endif /* REMOTE_COMPLAINTS_H */
