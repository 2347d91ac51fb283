/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * redset.h - redundancy files: their names, descriptors and headers
 * (scr-redset(5)).
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

/* Contents of the body of a redundancy file. */
enum redset_body {
	REDSET_BODY_NONE,   /* nothing: sets of one member */
	REDSET_BODY_COPIES, /* the data of the left neighbours, concatenated */
	REDSET_BODY_CHUNKS, /* check chunks, one per failure; the header has the
			       chunk size and the table of ranks */
};

struct redset_format {
	const char *name;  /* in descriptors: "XOR" */
	const char *word;  /* in file names: "xor" */
	const char *key;   /* key of `failures` in descriptors; NULL: none */
	uint32_t failures; /* failures tolerated if there is no key */
	uint32_t limit;	   /* of members plus failures; 0: none */
	enum redset_body body;
};

/* The redundancy types and the format of their files.  The columns are the
 * members of struct redset_format; the last one is a REDSET_BODY_.  The coding
 * of a type is its scheme_WORD in lib/scheme (scheme/scheme.h). */
/* clang-format off */
#define REDSET_TYPES_REDUNDANT(X) \
	X(PARTNER, partner, "REPLICAS", 0, 0, COPIES), \
	X(XOR, xor, NULL, 1, 0, CHUNKS), \
	X(RS, rs, "CKSUM", 0, 256, CHUNKS)
#define REDSET_TYPES_ALL(X) \
	X(SINGLE, single, NULL, 0, 0, NONE), \
	REDSET_TYPES_REDUNDANT(X)
/* clang-format on */

#define REDSET_VALUE(NAME, ...) REDSET_##NAME
enum redset_type { REDSET_TYPES_ALL(REDSET_VALUE), REDSET_TYPES };
#undef REDSET_VALUE

const struct redset_format *redset_format(enum redset_type t);
const char *redset_type_name(enum redset_type t); /* "SINGLE" ... */

/* Does a set of this type store anything besides the data? */
bool redset_is_redundant(enum redset_type t);

/* The type of `word` in a file name; REDSET_TYPES: unknown. */
enum redset_type redset_type_of_word(const char *word);

#define REDSET_MAX_RANKS 100000000 /* no valid WRANKS is larger */

/* --- Names --- */

/*
 * <stem>.er.<rank>.redset
 * <stem>.er.<rank>.<type>.grp_<g>_of_<G>.mem_<m>_of_<n>.redset
 */

struct redset_name {
	bool map;	 /* stem "reddescmap": protects the filemaps */
	bool descriptor; /* short form; the members below are unset */
	uint32_t rank;	 /* world rank */
	enum redset_type type;
	uint32_t set, sets;	  /* number of the set, from 1; number of
				     sets */
	uint32_t member, members; /* number of the member, from 1; set size */
};

/*
 * Parse a complete file name.  Return false if it does not match exactly:
 * numbers with leading zeros, m > n and g > G do not.  If `stem` is not NULL,
 * it receives the length of the stem, and any stem (e.g. "red.3") is accepted,
 * for bare redset files.  Otherwise only "reddesc.er" and "reddescmap.er" are
 * accepted.
 */
bool redset_name_parse(const char *name, struct redset_name *out, size_t *stem);

/* Write the name into `to`, and return `to`.  If `stem` is NULL, use
 * "reddesc.er" or "reddescmap.er". */
char *redset_name_format(char *to, size_t size, const struct redset_name *n,
			 const char *stem);

/* --- Descriptor (5.1) and descriptor file (5.2) --- */

struct redset_desc {
	enum redset_type type;
	bool enabled;
	uint32_t set, sets;	  /* GROUP (from 0), GROUPS */
	uint32_t member, members; /* RANK (from 0), RANKS */
	uint32_t rank, ranks;	  /* WRANK, WRANKS */
	uint32_t failures; /* SINGLE: 0, PARTNER: REPLICAS, XOR: 1, RS: CKSUM */
};

/* Read from the children of a DESC node.  ERROR_CORRUPT: any value out of range
 * (member >= members, n + k > limit, ...). */
int redset_desc_read(const struct kvtree *t, struct redset_desc *out,
		     struct error *err);
int redset_desc_write(struct kvtree *t, const struct redset_desc *d,
		      struct error *err);

/* Number of left neighbours whose file lists a member stores: 0, REPLICAS, 1 or
 * k, at most members - 1. */
uint32_t redset_neighbours(const struct redset_desc *d);

/* The member `steps` to the left of `member`, cyclically. */
uint32_t redset_left(const struct redset_desc *d, uint32_t member,
		     uint32_t steps);

/* Build the tree of <stem>.er.R.redset of one member.  `set` holds the
 * descriptors of the whole set in order of members; only those of the member
 * and its left neighbours are used.  For kvtree_free(); NULL: error. */
struct kvtree *redset_descriptor_build(const struct redset_desc *set,
				       uint32_t member, struct error *err);

/* --- Header (5.3) --- */

struct redset_file {
	const char *path; /* absolute path in cache: untrusted */
	struct attr attr; /* size is always set */
};

struct redset_member {
	bool known; /* the header contains this member's list */
	struct redset_desc desc;
	size_t nfiles;
	struct redset_file *files; /* in order of FILE 0, 1, ... */
	uint64_t bytes;		   /* sum of the sizes, checked for overflow */
};

struct redset_header {
	struct redset_desc desc; /* the descriptor of the owner */
	uint64_t chunk;		 /* XOR, RS; else 0 */
	uint64_t size;		 /* bytes of the header's image: offset of the
				    body */
	struct redset_member *members; /* array of desc.members */
	const uint32_t *ranks; /* GROUP table: world rank of each member; NULL:
				  none */
};

/*
 * Read the view of a header whose image has `image` bytes.  `owner` is the
 * 0-based member from the file name, or UINT32_MAX: use RANK.  The file name
 * takes precedence, because rebuilt PARTNER headers have two RANKs, and rebuilt
 * XOR headers have a stale list (scr-redset(5)).  All strings are copied into
 * `arena`.
 *
 * Memory is bounded by the size of the file: a count that exceeds the tree is
 * ERROR_CORRUPT.  Only PARTNER headers do not list all members; their number is
 * limited to 65536.
 */
int redset_header_read(const struct kvtree *t, uint64_t image, uint32_t owner,
		       struct arena *arena, struct redset_header *out,
		       struct error *err);

/*
 * The GROUP table of the last header that had one.  Headers of a set mostly
 * have the same bytes there, which need not be parsed for each member.
 * Initially only the arena is set.
 */
struct redset_table {
	struct arena *arena;
	const char *image; /* the bytes of GROUP; NULL: none */
	size_t len;
	const uint32_t *ranks; /* the ranks in these bytes; NULL: not valid */
	uint32_t n;
	bool same; /* the current header has the same */
};

/*
 * Decode an image and read the view of the header, for which `owner` must be a
 * value of RANK.  If the image cannot be decoded, out->size is 0.  Memory is
 * that of the table, which must be used for one set only.
 */
int redset_header_parse(struct redset_table *table, const void *image,
			size_t len, uint32_t owner, struct redset_header *out,
			struct error *err);

/*
 * Build the header of member `owner` with sorted keys, byte for byte as LLNL's
 * encoder writes it.  `members` (n of them) must have the lists of the owner
 * and its left neighbours; `ranks` is the GROUP table (XOR, RS).  For
 * kvtree_free(); NULL: ERROR_LOST (a list or the table is unknown),
 * ERROR_NOMEM.
 */
struct kvtree *redset_header_build(const struct redset_member *members,
				   const uint32_t *ranks, uint64_t chunk,
				   uint32_t owner, struct error *err);

/* Size in bytes of the body behind the header of `owner`: XOR chunk, RS k *
 * chunk, PARTNER the neighbours' bytes, SINGLE 0.  ERROR_LOST as above. */
int redset_body_size(const struct redset_member *members, uint64_t chunk,
		     uint32_t owner, uint64_t *out, struct error *err);

#endif /* META_REDSET_H */
