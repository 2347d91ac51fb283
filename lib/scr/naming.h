/* SPDX-License-Identifier: BSD-3-Clause */
/* naming.h - the paths that the application names, as paths on the prefix. */
#ifndef SCR_NAMING_H
#define SCR_NAMING_H

struct arena;
struct error;

struct naming {
	const char *prefix;
	const char *cwd;
	/* The prefix without links, if the working directory is not below it as
	 * it is named; or NULL. */
	const char *real;
};

/* Relative names are below the working directory of now.  The strings lie in
 * `a`.  ERROR_SYSTEM, ERROR_NOMEM. */
int naming_begin(struct naming *n, const char *prefix, struct arena *a,
		 struct error *err);

/* The normal path of `name` in `a`: below the prefix as it is named, whether
 * the name leads there through a link of the prefix or not.  NULL: an error. */
const char *naming_path(const struct naming *n, struct arena *a,
			const char *name, struct error *err);

#endif /* SCR_NAMING_H */
