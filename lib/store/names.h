/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h - all names in a store, except those of its own state. */
#ifndef STORE_NAMES_H
#define STORE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct arena;
struct error;
struct slot;
struct store;

struct name {
	const char *path; /* below the store */
	const char *link; /* where it leads; NULL: it is no link */
	struct stat is;	  /* lstat(2) */
	bool trusted;	  /* only the user may change its directory */
};

/*
 * Files and links.  If a name in any directory changes, `seal` does; `newest`
 * is the time of the last such change.  If two lists, one after the other, have
 * the same seal, each name was at its place when the second one was begun.
 */
struct names {
	struct arena *arena; /* of the texts */
	size_t count, cap;
	struct name *list;
	uint64_t bytes; /* of memory */
	uint64_t seal;
	time_t newest;
};

/* List them, to be freed by names_free() also after an error.  What vanishes
 * meanwhile, and what is on another file system, is left out. */
int names_list(const struct store *s, struct names *to, struct error *err);
void names_free(struct names *n);

/* The slot of a file that is being written, or was when its process died. NULL:
 * it has none. */
const struct slot *names_slot(const struct store *s, ino_t ino);

#endif /* STORE_NAMES_H */
