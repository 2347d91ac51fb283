/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheme.h - the redundancy schemes: what can be computed from what, what is
 * lost, and how to say so.  The table has an entry scheme_WORD for each line of
 * REDSET_TYPES_ALL (meta/redset.h), in a file scheme_*.c.  To add a scheme, add
 * the line and the file; everybody else asks the entry.
 *
 * Pure functions, except that solve() and explain() allocate.
 */
#ifndef RESCUE_SCHEME_H
#define RESCUE_SCHEME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/redset.h"

struct arena;
struct deep_block;
struct error;
struct solve_ref;
struct solve_set;
struct solving;

/* What names and sizes alone tell of a set. */
struct scheme_seats {
	uint32_t members, failures;
	const bool *present; /* by member: its redundancy file is present */
	const bool *whole;   /* by member: so is all that the set protects */
};

struct scheme {
	/* What stands before the number of failures in reports, from so many
	 * failures on; NULL: reports do not show the number. */
	const char *label;
	uint32_t label_from;
	/* Are each member's data kept apart from those of others, so that each
	 * pair of original and copy agrees or differs by itself? */
	bool apart;

	/* Add jobs and losses to w->out. */
	int (*solve)(struct solving *w, struct error *err);

	/* How many more whole members the set could lose, whichever they are,
	 * without losing data. */
	uint32_t (*spare)(const struct solve_set *set);

	/* At least how many of the members that are not whole cannot come
	 * back?  0 if it depends on more than `s` says. */
	uint32_t (*beyond)(const struct scheme_seats *s);

	/* Why a set that survives `failures` is lost, in one clause: `ranks` is
	 * the text of the `n` ranks that lack something.  NULL: no memory. */
	const char *(*explain)(struct arena *a, const char *ranks, size_t n,
			       uint32_t failures);

	/* Size of the chunks if `longest` bytes are the longest data of a
	 * member; ERROR_CORRUPT: no such set.  NULL: redundancy of this kind is
	 * not made for data that have none. */
	int (*chunk)(const struct solve_set *set, uint64_t longest,
		     uint64_t *chunk, struct error *err);

	/* In a block whose bytes do not add up, find the only string that can
	 * be wrong; *who stays NULL if several could be.  NULL function: the
	 * scheme computes nothing. */
	int (*blame)(const struct deep_block *b, const struct solve_ref **who,
		     struct error *err);
};

const struct scheme *scheme_of(enum redset_type type);

/* The words of all schemes that can be made (see chunk), as "xor|rs". */
char *scheme_made_words(char *to, size_t size);

#endif /* RESCUE_SCHEME_H */
