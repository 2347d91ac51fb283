/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redset.h - redundancy files: their names, descriptors and headers
 * (formats.md 5).
 */
#ifndef META_REDSET_H
#define META_REDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"

struct arena;
struct error;
struct kvtree;

/* --- Types of redundancy --- */

/* What the body of a redundancy file holds. */
enum redset_body {
	REDSET_BODY_NONE,   /* nothing: sets of one member */
	REDSET_BODY_COPIES, /* the data of the left neighbours, end to end */
	REDSET_BODY_CHUNKS, /* check chunks, one for each failure; the header
			       has their size and the table of ranks */
};

struct redset_format {
	const char *name;  /* in descriptors: "XOR" */
	const char *word;  /* in file names: "xor" */
	const char *key;   /* of the failures in descriptors; NULL: none */
	uint32_t failures; /* survived, if there is no key */
	uint32_t limit;	   /* members and failures together; 0: none */
	enum redset_body body;
};

/*
 * The types: all that is special about their files is in the columns (those of
 * struct redset_format; the last one is a REDSET_BODY_).  What can be computed
 * with a type is its scheme_WORD in lib/rescue (rescue/scheme.h).
 */
#define REDSET_TYPES_REDUNDANT(X) \
	X(PARTNER, partner, "REPLICAS", 0, 0, COPIES), \
		X(XOR, xor, NULL, 1, 0, CHUNKS), \
		X(RS, rs, "CKSUM", 0, 256, CHUNKS)
#define REDSET_TYPES_ALL(X) \
	X(SINGLE, single, NULL, 0, 0, NONE), REDSET_TYPES_REDUNDANT(X)

#define REDSET_VALUE(NAME, ...) REDSET_##NAME
enum redset_type { REDSET_TYPES_ALL(REDSET_VALUE), REDSET_TYPES };
#undef REDSET_VALUE

const struct redset_format *redset_format(enum redset_type t);
const char *redset_type_name(enum redset_type t); /* "SINGLE" ... */

/* Does a set of this type keep anything beside the data? */
bool redset_is_redundant(enum redset_type t);

/* The type that file names call `word`; REDSET_TYPES: none. */
enum redset_type redset_type_of_word(const char *word);

#define REDSET_MAX_RANKS 100000000 /* no valid WRANKS is larger */

/* --- Names --- */

/*
 * <stem>.er.<rank>.redset
 * <stem>.er.<rank>.<type>.grp_<g>_of_<G>.mem_<m>_of_<n>.redset
 */

struct redset_name {
	bool map;	 /* stem "reddescmap": protects the filemaps */
	bool descriptor; /* the short form; what follows is then unset */
	uint32_t rank;	 /* world rank */
	enum redset_type type;
	uint32_t set, sets;	  /* 1-based number of the set, and how many */
	uint32_t member, members; /* 1-based member, and set size */
};

/*
 * Parse a file name, the whole of it; false if it is no such name (numbers
 * with leading zeros, m > n, g > G are none).  `stem`, if not NULL, receives
 * the length of the stem and any stem (e.g. "red.3") is accepted: bare redset
 * files; else only "reddesc.er" and "reddescmap.er" are.
 */
bool redset_name_parse(const char *name, struct redset_name *out, size_t *stem);

/* Write the name into `to`; `stem` NULL: "reddesc.er" / "reddescmap.er". */
char *redset_name_format(char *to, size_t size, const struct redset_name *n,
			 const char *stem);

/* --- Descriptor (5.1) and descriptor file (5.2) --- */

struct redset_desc {
	enum redset_type type;
	bool enabled;
	uint32_t set, sets;	  /* GROUP (0-based), GROUPS */
	uint32_t member, members; /* RANK (0-based), RANKS */
	uint32_t rank, ranks;	  /* WRANK, WRANKS */
	uint32_t failures; /* SINGLE 0, PARTNER REPLICAS, XOR 1, RS CKSUM */
};

/* From the children of a DESC node; ERROR_CORRUPT on anything out of range
 * (member >= members, n + k > limit, ...). */
int redset_desc_read(const struct kvtree *t, struct redset_desc *out,
		     struct error *err);
int redset_desc_write(struct kvtree *t, const struct redset_desc *d,
		      struct error *err);

/* Left neighbours whose lists a member keeps: 0, REPLICAS, 1 or k, never more
 * than members - 1. */
uint32_t redset_neighbours(const struct redset_desc *d);

/* The tree of <stem>.er.R.redset for member own.member from the descriptors
 * of the whole set (by member number; those of the neighbours are used). */
struct kvtree *redset_descriptor_build(const struct redset_desc *set,
				       uint32_t member, struct error *err);

/* --- Header (5.3) --- */

struct redset_file {
	const char *path; /* in cache, absolute: untrusted */
	struct attr attr; /* size always set */
};

struct redset_member {
	bool known; /* this header has the member's list */
	struct redset_desc desc;
	size_t nfiles;
	struct redset_file *files; /* in logical order (FILE 0, 1, ...) */
	uint64_t bytes;		   /* sum of the sizes, overflow checked */
};

struct redset_header {
	struct redset_desc desc; /* the owner's */
	uint64_t chunk;		 /* XOR, RS; else 0 */
	uint64_t size;		 /* bytes of the image: where the body starts */
	struct redset_member *members; /* desc.members of them */
	uint32_t *ranks; /* GROUP table: member -> world rank; NULL: none */
};

/*
 * Read the view of a header whose image had `image` bytes.  `owner` is the
 * 0-based member the file name gives, or UINT32_MAX: take RANK; the file name
 * wins where both are known (formats.md 13: rebuilt PARTNER headers have two
 * RANKs, rebuilt XOR ones a stale list too many).  All strings are copied into
 * `arena`.  Memory is bounded by the size of the file: counts that the tree
 * does not bear out are ERROR_CORRUPT.  (PARTNER headers do not tell how many
 * members there are but by their number: 65536 at most.)
 */
int redset_header_read(const struct kvtree *t, uint64_t image, uint32_t owner,
		       struct arena *arena, struct redset_header *out,
		       struct error *err);

/*
 * The header of member `owner`, keys sorted: bit for bit what LLNL's encoder
 * writes.  `members` (n of them) need the lists of the owner and its left
 * neighbours; `ranks` as above (XOR, RS).  ERROR_LOST: a list is not known.
 */
struct kvtree *redset_header_build(const struct redset_member *members,
				   const uint32_t *ranks, uint64_t chunk,
				   uint32_t owner, struct error *err);

/* Bytes of the body behind the header of `owner`: XOR chunk, RS k * chunk,
 * PARTNER the neighbours' bytes, SINGLE 0.  ERROR_LOST as above. */
int redset_body_size(const struct redset_member *members, uint64_t chunk,
		     uint32_t owner, uint64_t *out, struct error *err);

#endif /* META_REDSET_H */
