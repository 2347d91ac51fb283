/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.h - the structure of an FTI-FF file: its records, its variables, and
 * what is wrong with them (fti-format(5)).
 *
 * Input is untrusted.  Reading succeeds for any bytes: problems become
 * findings, and fti_file tells how far the records can be used.  No data are
 * read; check.h compares them with their sums.
 *
 * Ownership: everything belongs to the struct fti_file.  Threads: any number
 * may read it.
 */
#ifndef FTI_FILE_H
#define FTI_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fti/layout.h"

struct arena;
struct fti_source;

/* What a finding breaks.  The order is that of severity. */
enum fti_rule {
	FTI_RULE_STALE, /* the data are intact, but FTI would refuse the file:
			   its checksum is over sums of emptied containers */
	FTI_RULE_SUM, /* a stored sum is damaged; another one proves the data */
	FTI_RULE_LABEL, /* a field that no sum protects differs from the name or
			   from other files */
	FTI_RULE_DATA,	/* data differ from their sum */
	FTI_RULE_META,	/* the metadata record differs from its sum */
	FTI_RULE_DERIVED,   /* a size, offset or flag; others tell its value */
	FTI_RULE_STRUCTURE, /* records contradict each other */
	FTI_RULE_FORMAT,    /* no layout fits */
};

struct fti_finding {
	enum fti_rule rule;
	/* Where the field is: its offset in the file, and -1 for fields that
	 * are no part of a record. */
	int64_t at;
	size_t block, container; /* SIZE_MAX: of none */
	int field;		 /* enum fti_field, or -1 */
	const char *text;	 /* what is wrong, without the file's name */
	struct fti_finding *next;
};

enum fti_kind {
	FTI_KIND_DATA,	 /* a checkpoint of a rank, or the copy of one */
	FTI_KIND_PARITY, /* a body of parity and a metadata record (RSed) */
	FTI_KIND_NONE,	 /* no FTI-FF file */
};

struct fti_file_block {
	struct fti_block b;
	uint64_t at;  /* offset of its record */
	size_t first; /* number of its first container in the file */
};

/* Its number, offsets and flags are those that the order of the records tells,
 * whatever its own record says; bytes in use that are impossible are 0. */
struct fti_file_container {
	struct fti_container c;
	bool emptied; /* its own record says that it has no content */
	uint64_t at;  /* offset of its record */
	size_t block; /* number of its block */
	size_t next;  /* the next container of the variable, or SIZE_MAX */
};

/* A variable: its containers in order. */
struct fti_var {
	int32_t id;
	size_t first, last; /* containers; the others follow by `next` */
	size_t parts;	    /* their number */
	uint64_t size;	    /* bytes in use */
	uint64_t room;	    /* bytes reserved */
};

struct fti_file {
	const char *name;
	uint64_t size; /* of the file in bytes */
	enum fti_kind kind;
	enum fti_layout layout; /* unless kind is NONE */
	bool meta_good;		/* myHash is right */
	bool usable;		/* structure is consistent: data can be read */
	uint64_t meta_at;	/* offset of the metadata record */
	struct fti_meta meta;
	struct fti_file_block *blocks;
	size_t nblocks;
	struct fti_file_container *containers;
	size_t ncontainers;
	struct fti_var *vars; /* in the order of their first containers */
	size_t nvars;
	uint64_t live;	    /* bytes in use */
	uint64_t allocated; /* bytes reserved */
	size_t empty;	    /* containers without content */
	struct fti_finding
		*findings; /* in the order in which they were found */
	size_t nfindings;
	enum fti_rule worst;
	/* For the module only. */
	bool complete; /* the records end where they should ... */
	uint64_t end;  /* ... and the file, with containers that B leaves out */
	size_t room_blocks, room_containers;
	struct arena *arena;
	struct fti_finding **tail;
};

/* A file without records, which only holds findings: of POSIX files. */
struct fti_file *fti_file_new(const struct fti_source *s);

/*
 * Read the structure.  `layout`: expect this one (a file of C and of D can look
 * alike to the end), or FTI_LAYOUTS to find it.  NULL: the file cannot be read.
 * The result is for fti_file_free().
 */
struct fti_file *fti_file_read(const struct fti_source *s,
			       enum fti_layout layout, struct error *err);
void fti_file_free(struct fti_file *f);

/* Add a finding.  Its text is formatted; the number of the container, or of the
 * block with the field, comes first. */
struct fti_where {
	size_t block, container;
	int field;
};
#define FTI_FILE_ITSELF ((struct fti_where){ SIZE_MAX, SIZE_MAX, -1 })
#define FTI_META_FIELD(f) ((struct fti_where){ SIZE_MAX, SIZE_MAX, f })
#define FTI_BLOCK_FIELD(b, f) ((struct fti_where){ b, SIZE_MAX, f })
#define FTI_CONTAINER_FIELD(c, f) ((struct fti_where){ SIZE_MAX, c, f })
void fti_find(struct fti_file *f, enum fti_rule rule, struct fti_where where,
	      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif /* FTI_FILE_H */
