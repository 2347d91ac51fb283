/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostlist.h - lists of node names, as resource managers write them.
 *
 * A list is names separated by commas, blanks or newlines.  A name may hold
 * groups of numbers in brackets and then stands for all combinations, the last
 * group varying fastest:
 *
 *	n[1-3,7]            n1 n2 n3 n7
 *	n[08-10]-ib0        n08-ib0 n09-ib0 n10-ib0
 *	r[1-2]n[0-1],login  r1n0 r1n1 r2n0 r2n1 login
 *
 * The numbers of a range have at least as many digits as its first one, so
 * [8-10] is 8 9 10 and [08-10] is 08 09 10; a last number with fewer digits
 * than the first, or with more and a leading zero, is refused.
 *
 * A name is taken whole, whatever numbers are in it and wherever: any of
 * x1000c0s0b0n0, worker-a, vm, ip-10-0-0-1, node1.site.org, 10.0.0.1, fe80::1.
 * Its characters are letters, digits and ". - _ : % +", and the first is no
 * '-' (a command would take it for an option) and no '.'.
 *
 * Order and repetitions are kept by all that is not said to change them.
 * Ownership: the list owns its names; one handed out is valid until
 * hostlist_free().  Errors: on -1 the list is unchanged.  ERROR_USAGE gives the
 * place in the text, counted from 1, and the text there.
 */
#ifndef HOSTLIST_H
#define HOSTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct error;

#define HOSTLIST_MAX ((size_t)2 << 20)	       /* names in a list */
#define HOSTLIST_BYTES_MAX ((size_t)256 << 20) /* memory of all names */
#define HOSTLIST_NAME_MAX ((size_t)255)	       /* bytes of a name */
#define HOSTLIST_GROUPS ((size_t)16)	       /* brackets in a name */
#define HOSTLIST_DIGITS ((size_t)18)	       /* of a number in brackets */

struct hostlist {
	const char **names;
	size_t count, cap;
	struct arena *arena; /* holds the names */
};

/* Make *h an empty list for hostlist_free().  ERROR_NOMEM. */
int hostlist_init(struct hostlist *h, struct error *err);

/* A list that is all zero is fine, too. */
void hostlist_free(struct hostlist *h);

/* Add the names that `text` stands for; none if it is empty.  ERROR_USAGE also
 * where the list would pass one of the limits above. */
int hostlist_add(struct hostlist *h, const char *text, struct error *err);

/* Add one plain name, copied; ERROR_USAGE: this is no name. */
int hostlist_add_name(struct hostlist *h, const char *name, struct error *err);

/* Add all names of `other`.  With hostlist_uniq(): the union. */
int hostlist_add_list(struct hostlist *h, const struct hostlist *other,
		      struct error *err);

/*
 * Add to `out` a short text for the list.  hostlist_add() makes of it the very
 * same list: order, repetitions and zeros.
 */
int hostlist_text(const struct hostlist *h, struct buf *out, struct error *err);

/* Add to `out` every name, `sep` between them. */
int hostlist_plain(const struct hostlist *h, const char *sep, struct buf *out,
		   struct error *err);

/* Keep of each name the first. */
int hostlist_uniq(struct hostlist *h, struct error *err);

/* Keep the names that are not in `other`, or only those that are. */
int hostlist_minus(struct hostlist *h, const struct hostlist *other,
		   struct error *err);
int hostlist_both(struct hostlist *h, const struct hostlist *other,
		  struct error *err);

/* Is `name` in the list?  Looks at all of it: for many names use the above. */
bool hostlist_has(const struct hostlist *h, const char *name);

/* The n-th name from 1 on, for negative n from the end: -1 is the last.  NULL:
 * there is none. */
const char *hostlist_nth(const struct hostlist *h, int64_t n);

/* Keep the first n names, for negative n the last -n; all if there are not so
 * many. */
void hostlist_keep(struct hostlist *h, int64_t n);

#endif /* HOSTLIST_H */
