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
struct error;
struct map;

/* All lines of one parameter in one source. */
struct conf_key {
	const char *name;
	struct conf_group *groups;
	size_t count, cap;
};

/* The environment, or a file. */
struct conf_source {
	const char *name; /* for messages; NULL: not looked for */
	struct map *map;  /* name -> index in keys; NULL: the source is empty */
	struct conf_key *keys;
	size_t count, cap;
};

struct conf {
	struct arena *arena;
	struct conf_source sources[CONF_LEVELS];
	struct buf notice;
};

/* Add line `g` of `key`.  The caller has copied both to the arena.  -1: no
 * memory. */
int conf_add(struct conf *c, struct conf_source *s, const char *key,
	     const struct conf_group *g);

/* The entry of `key` in `s`, or NULL. */
const struct conf_key *conf_find(const struct conf_source *s, const char *key);

/*
 * Append the text from `s` up to `end` to `out`.  Environment variables $NAME
 * and ${NAME} are replaced by their values, and backslash sequences are decoded
 * if `escapes` is set.  A '$' that begins no variable is kept.  An unset
 * variable is replaced by nothing; *unset and *unset_len then give the name of
 * the first one (borrowed from s).  -1: no memory.
 */
int conf_expand(const char *s, const char *end, bool escapes, struct buf *out,
		const char **unset, size_t *unset_len);

/* The built-in value of `key`, or NULL. */
const char *conf_find_builtin(const char *key);

#endif /* CONF_IMPL_H */
