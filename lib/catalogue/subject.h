/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * subject.h - the one dataset a user means: by name or number on a prefix, by
 * its directory or directories, or by redundancy files given by hand.
 */
#ifndef CATALOGUE_SUBJECT_H
#define CATALOGUE_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalogue/locate.h"
#include "meta/redset.h"

enum subject_kind {
	SUBJECT_PREFIX, /* prefix, id */
	SUBJECT_CACHES, /* dirs, id */
	SUBJECT_FILES,	/* names in dir; prefix if it is known */
};

struct arena;
struct catalogue_options;
struct error;
struct plan;
struct subject_lock; /* opaque */

struct subject {
	enum subject_kind kind;
	const char *prefix;
	int64_t id; /* -1: not known */
	const char *const *dirs;
	size_t ndirs;
	const char *dir;
	const char **names;
	size_t nnames;
	bool map; /* the files protect filemaps */
	/* Private. */
	struct arena *arena;
	struct locate_caches caches;
	struct subject_lock *locks;
	size_t nlocks;
};

/*
 * Find what `count` arguments `args` mean; `prefix` is where names and numbers
 * are looked up.  ERROR_ABSENT, ERROR_USAGE (several datasets).  For
 * subject_fini(), in any case.
 */
int subject_find(struct subject *s, const char *prefix, const char *const *args,
		 size_t count, struct error *err);

/*
 * The same for redundancy files of one type, as LLNL's rebuild helpers take
 * them: the first word may be "map", or the word of a type.  They may lie
 * in the working directory or another.  `prefix` NULL: found out from where
 * they lie, if that is below PREFIX/.scr.
 */
int subject_find_files(struct subject *s, const char *prefix,
		       enum redset_type type, const char *const *args,
		       size_t count, struct error *err);
void subject_fini(struct subject *s);

/*
 * Wait until nobody else works on the dataset, and keep others away until
 * subject_fini().  On a file system without locks: a word to o->log.
 */
int subject_lock(struct subject *s, const struct catalogue_options *o,
		 struct error *err);

/* Plan with all headers, and PLAN_CHECKSUMS if `checksums`. */
struct plan *subject_plan(const struct subject *s, bool checksums,
			  const struct catalogue_options *o, struct error *err);

/* After plan `p` of redundancy files given by hand was carried out: take the
 * files it has made for given as well. */
int subject_add_rebuilt(struct subject *s, const struct plan *p,
			struct error *err);

#endif /* CATALOGUE_SUBJECT_H */
