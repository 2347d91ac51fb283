/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * subject.h - find the one dataset that the command line names: by a word
 * (word.h) on a prefix, by its directories, or by redundancy files.
 */
#ifndef FIND_SUBJECT_H
#define FIND_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "find/locate.h"
#include "meta/redset.h"

enum subject_kind {
	SUBJECT_PREFIX, /* prefix, id */
	SUBJECT_CACHES, /* dirs, id */
	SUBJECT_FILES,	/* names in dir; prefix, if known */
};

struct arena;
struct catalogue;
struct catalogue_options;
struct error;
struct plan;
struct subject_lock; /* opaque */

struct subject {
	enum subject_kind kind;
	const char *prefix;
	int64_t id; /* -1: unknown */
	const char *const *dirs;
	size_t ndirs;
	const char *dir;
	const char **names;
	size_t nnames;
	bool map; /* the files protect filemaps */
	/* Private: */
	struct arena *arena;
	struct locate_caches caches;
	struct subject_lock *locks;
	size_t nlocks;
};

/* Find the dataset named by `count` arguments `args`.  Words are looked up in
 * `prefix`.  ERROR_ABSENT, with s->prefix set if the prefix was searched;
 * ERROR_USAGE: several datasets.  Call subject_fini() also on failure. */
int subject_find(struct subject *s, const char *prefix, const char *const *args,
		 size_t count, struct error *err);

/*
 * Find the dataset of redundancy files of one type, with the arguments of
 * LLNL's rebuild helpers: the first word may be "map" or the word of a type.
 * The files may be in the working directory or elsewhere.  If `prefix` is NULL
 * and the files are below PREFIX/.scr, derive it from their path.
 */
int subject_find_files(struct subject *s, const char *prefix,
		       enum redset_type type, const char *const *args,
		       size_t count, struct error *err);
void subject_fini(struct subject *s);

/* Lock the dataset until subject_fini(); wait while another process works on
 * it.  On a file system without locks, only write a message to o->log. */
int subject_lock(struct subject *s, const struct catalogue_options *o,
		 struct error *err);

/* Make a plan with all headers, and with PLAN_CHECKSUMS if `checksums`; `c`:
 * the prefix of a dataset that is there. ERROR_ABSENT: a dataset on a prefix
 * has nothing to rebuild it from. */
struct plan *subject_plan(const struct subject *s, struct catalogue *c,
			  bool checksums, const struct catalogue_options *o,
			  struct error *err);

/* After plan `p` was carried out for redundancy files given by the user: add
 * the rebuilt files to those given. */
void subject_add_rebuilt(struct subject *s, const struct plan *p);

#endif /* FIND_SUBJECT_H */
