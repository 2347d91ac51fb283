/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf_impl.h - what the parts of conf share.
 */
#ifndef CONF_IMPL_H
#define CONF_IMPL_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "conf.h"

struct arena;

/* Limit of all notices in bytes: a file of a million bad lines is not a
 * configuration file. */
#define CONF_NOTICE_MAX ((size_t)16 << 10)

/* The environment, or a file. */
struct conf_source {
	const char *name;	  /* for messages; NULL: not looked for */
	struct conf_group *lines; /* after conf_sort(): by key, then number */
	size_t count, cap;
	bool is_file; /* its lines have numbers */
};

struct conf {
	struct arena *arena; /* of all strings and pairs */
	struct conf_source sources[CONF_LEVELS];
	struct buf notice;
};

/* Add a line.  Its strings are borrowed.  -1: no memory. */
int conf_add(struct conf_source *s, const struct conf_group *g);

/* conf_place_of() a source and a line of it; 0: none. */
const char *conf_place_at(const char *source, size_t line,
			  char to[static CONF_PLACE_MAX]);

/* Sort the lines.  Due after the last conf_add(), before any look-up. */
void conf_sort(struct conf_source *s);

/*
 * Make one line of those of `key` with the same value, with a notice: of a
 * property that several of them set, the first counts, as in LLNL's library
 * (scrkit.conf(5)).  Due after conf_sort().  -1: no memory.
 */
int conf_merge(struct conf *c, struct conf_source *s, const char *key);

/*
 * Append the text from `s` up to `end` to `out`.  Environment variables $NAME
 * and ${NAME} are replaced by their values, and backslash sequences are decoded
 * if `escapes` is set.  A '$' that begins no variable is kept.  An unset
 * variable is replaced by nothing; *unset and *unset_len then give the name of
 * the first one (borrowed from s).  -1: no memory.
 */
int conf_expand(const char *s, const char *end, bool escapes, struct buf *out,
		const char **unset, size_t *unset_len);

#endif /* CONF_IMPL_H */
