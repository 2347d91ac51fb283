/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheme.h - the redundancy schemes: which data can be computed from which,
 * which are lost, and how to explain it.  The table has an entry scheme_WORD
 * for each line of REDSET_TYPES_ALL (meta/redset.h), in a file scheme_*.c.  To
 * add a scheme, add the line and the file: all other code calls the functions
 * of the entry.
 *
 * Pure functions, except that solve(), explain() and blame() allocate.
 */
#ifndef SCHEME_SCHEME_H
#define SCHEME_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/redset.h"

struct arena;
struct compute_block;
struct error;
struct solve_ref;
struct solve_set;
struct solving;

/* A set that is lost: of its `members`, the `count` named in `ranks` ("0 2")
 * lack files; it tolerates `failures`. */
struct scheme_loss {
	const char *ranks;
	size_t count;
	uint32_t members, failures;
	enum redset_type type;
};

struct scheme {
	/* Printed before the number of failures in reports if that number is at
	 * least `label_from`.  NULL: reports do not show the number. */
	const char *label;
	uint32_t label_from;
	/* The redundancy of each member's data is independent of other members'
	 * data: an original and its copies can be compared without the rest of
	 * the set. */
	bool apart;

	/* Add jobs and lost ranges to w->out, or with w->check the jobs of
	 * solve_check().  Returns 0, or -1 on error. */
	int (*solve)(struct solving *w, struct error *err);

	/* Number of further whole members that the set can lose without losing
	 * data, whichever members these are. */
	uint32_t (*spare)(const struct solve_set *set);

	/* One clause that explains why a set is lost, allocated from `a`.
	 * NULL: no memory. */
	const char *(*explain)(struct arena *a, const struct scheme_loss *l);

	/* Chunk size in bytes if the longest data string of a member has
	 * `longest` bytes.  Returns 0, or -1 with ERROR_CORRUPT: the code does
	 * not support this number of members and failures.  NULL function:
	 * redundancy of this type is only read, never made. */
	int (*chunk)(const struct solve_set *set, uint64_t longest,
		     uint64_t *chunk, struct error *err);

	/* Limit of members plus failures of a set; 0: only that of all sets. */
	uint32_t most;

	/* Find the wrong string in a block whose redundancy does not match its
	 * data.  *who stays NULL if more than one string could be wrong.
	 * s->member is not used.  Returns 0, or -1 on error.  NULL function:
	 * the scheme computes nothing. */
	int (*blame)(const struct solve_set *s, const struct compute_block *b,
		     const struct solve_ref **who, struct error *err);
};

const struct scheme *scheme_of(enum redset_type type);

/* Write the words of all schemes that can be made (see chunk) to `to`, as
 * "xor|rs".  Returns `to`. */
char *scheme_made_words(char *to, size_t size);

#endif /* SCHEME_SCHEME_H */
