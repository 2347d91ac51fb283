/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostlist.h - lists of node names, as resource managers write them.
 *
 * A list is names separated by commas, blanks or newlines.  A name may contain
 * groups of numbers in brackets.  Such a name expands to all combinations, the
 * last group varying fastest:
 *
 *	n[1-3,7]            n1 n2 n3 n7
 *	n[08-10]-ib0        n08-ib0 n09-ib0 n10-ib0
 *	r[1-2]n[0-1],login  r1n0 r1n1 r2n0 r2n1 login
 *
 * The first number of a range gives the minimum number of digits, so [8-10] is
 * 8 9 10 and [08-10] is 08 09 10.  A last number with fewer digits than the
 * first, or with more digits and a leading zero, is rejected.
 *
 * Numbers in a name have no meaning outside brackets; all of these are names:
 * x1000c0s0b0n0, worker-a, vm, ip-10-0-0-1, node1.site.org, 10.0.0.1, fe80::1.
 * A name consists of letters, digits and ".  - _ : % +".  It must not begin
 * with '-' (a command would take it for an option) or '.'.
 *
 * A function keeps order and repetitions unless its comment says otherwise.
 * Ownership: the list owns its names; a name is valid until hostlist_free().
 * Errors: on -1 the list is unchanged.  The sentence of ERROR_USAGE gives the
 * position in the text, counted from 1, and the text there.
 */
#ifndef HOSTLIST_H
#define HOSTLIST_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct error;
struct map;

#define HOSTLIST_MAX ((size_t)2 << 20)	       /* names in a list */
#define HOSTLIST_BYTES_MAX ((size_t)256 << 20) /* memory of all names */
#define HOSTLIST_NAME_MAX ((size_t)255)	       /* bytes of a name */
#define HOSTLIST_GROUPS ((size_t)16)	       /* brackets in a name */
#define HOSTLIST_DIGITS ((size_t)18)	       /* of a number in brackets */

struct hostlist {
	const char **names;
	size_t count, cap;
	struct arena *arena; /* holds the names; NULL until one is added */
};

/* An empty list. */
#define HOSTLIST_INIT \
	{ \
		.names = NULL, .count = 0, .cap = 0, .arena = NULL \
	}

/* Free the names: the list is empty again. */
void hostlist_free(struct hostlist *h);

/* Add the names that `text` expands to, none if it is empty.  ERROR_USAGE also
 * if the list would exceed one of the limits above. */
int hostlist_add(struct hostlist *h, const char *text, struct error *err);

/* Add a copy of one plain name.  ERROR_USAGE: invalid name. */
int hostlist_add_name(struct hostlist *h, const char *name, struct error *err);

/* Add all names of `other`.  Followed by hostlist_uniq(), this is the union. */
int hostlist_add_list(struct hostlist *h, const struct hostlist *other,
		      struct error *err);

/* Append the list in compressed form to `out`. hostlist_add() of that text
 * gives the same list, with order, repetitions and leading zeros. */
int hostlist_text(const struct hostlist *h, struct buf *out, struct error *err);

/* Append all names to `out`, separated by `sep`. */
int hostlist_plain(const struct hostlist *h, const char *sep, struct buf *out,
		   struct error *err);

/* A map from each name to its first position, for map_free().  It borrows the
 * names.  NULL: ERROR_NOMEM. */
struct map *hostlist_map(const struct hostlist *h, struct error *err);

/* Remove repetitions; the first occurrence of each name stays. */
int hostlist_uniq(struct hostlist *h, struct error *err);

/* Keep the names that are not in `other`, or only those that are. */
int hostlist_minus(struct hostlist *h, const struct hostlist *other,
		   struct error *err);
int hostlist_both(struct hostlist *h, const struct hostlist *other,
		  struct error *err);

/* The n-th name, counted from 1; for negative n from the end (-1: the last).
 * NULL: no such name. */
const char *hostlist_nth(const struct hostlist *h, int64_t n);

/* Keep the first n names, or for negative n the last -n.  A shorter list is
 * unchanged. */
void hostlist_keep(struct hostlist *h, int64_t n);

#endif /* HOSTLIST_H */
