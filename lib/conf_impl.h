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
	const char *name; /* for people */
	struct map *map;  /* name -> place in keys; NULL: the source is empty */
	struct conf_key *keys;
	size_t count, cap;
};

enum {
	CONF_ENVIRONMENT,
	CONF_USER,
	CONF_APP,
	CONF_SYSTEM,
	CONF_SOURCES, /* how many there are: the built-in values are no table */
};

struct conf {
	struct arena *arena;
	struct conf_source sources[CONF_SOURCES];
	const char *user_file, *system_file;
	struct buf notice;
};

/* Add a line of `key` (both copied to the arena by the caller).  -1: no
 * memory. */
int conf_add(struct conf *c, struct conf_source *s, const char *key,
	     const struct conf_group *g);

/* The entry of `key` in `s`, or NULL. */
const struct conf_key *conf_find(const struct conf_source *s, const char *key);

/* Read `len` bytes of a file that s->name names. */
int conf_read(struct conf *c, struct conf_source *s, const char *data,
	      size_t len, struct error *err);

/*
 * Add to `out` the text from `s` up to `end`, with the environment's $NAME and
 * ${NAME} in place, and with `escapes` also backslash sequences.  What only
 * looks like a variable stays as it is.  An unset variable stands for nothing;
 * *unset and *unset_len then name the first (borrowed from s).  -1: no memory.
 */
int conf_expand(const char *s, const char *end, bool escapes, struct buf *out,
		const char **unset, size_t *unset_len);

/* The built-in value of `key`, or NULL. */
const char *conf_find_builtin(const char *key);

#endif /* CONF_IMPL_H */
