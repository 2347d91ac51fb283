/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * setting.h - parse the text of SCR_Config(), and store its settings
 * (scrkit.conf(5)).  Pure.
 *
 *   KEY             query            KEY=VALUE              set
 *   KEY=            unset            P=V C1=V1 C2=V2        set properties of V
 *   P=V CHILD       query a property
 *
 * Words are separated by blanks; blanks may surround the first '=' of a pair.
 * A value ends at a blank and may contain '='.
 */
#ifndef SCR_SETTING_H
#define SCR_SETTING_H

#include <stddef.h>

struct arena;
struct buf;
struct error;
struct kvtree;

enum setting_kind {
	SETTING_NOTHING, /* an empty text */
	SETTING_QUERY,
	SETTING_SET,
	SETTING_UNSET,
};

struct setting_pair {
	const char *key, *value; /* key in upper case */
};

struct setting {
	enum setting_kind kind;
	const char *key, *value; /* value: SET, and QUERY of a property */
	const char *child;	 /* QUERY: the property, or NULL */
	size_t npairs;
	struct setting_pair *pairs; /* SET: properties */
};

/* Parse `text`; strings lie in `a`.  ERROR_USAGE, ERROR_NOMEM. */
int setting_parse(const char *text, struct arena *a, struct setting *out,
		  struct error *err);

/* Carry out a SET or UNSET; `s` has for each key its values, for each of these
 * its properties.  SET replaces the value of a key; a key that may have several
 * (conf_repeats()) gets another one. */
int settings_change(struct kvtree *s, const struct setting *is,
		    struct error *err);

/* Append all as lines of a configuration file: the contents of app.conf. */
int settings_text(const struct kvtree *s, struct buf *out);

#endif /* SCR_SETTING_H */
