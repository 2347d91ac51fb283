/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file_impl.h - names of the files of a rank2file, shared by reader and
 * writer; a load in progress.  No other file includes it.
 */
#ifndef META_RANK2FILE_IMPL_H
#define META_RANK2FILE_IMPL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

/* SCR 1.1.8 puts a suffix after the numbers.  Its top file gives the names of
 * the parts relative to the dataset's directory (container-format(5)). */
#define RANK2FILE_OLD_SUFFIX ".scr"
#define RANK2FILE_OLD_DIR ".scr/"

/* `base` split: "rank2file", or stem "rank2file" and suffix ".scr". */
struct rank2file_base {
	const char *base;
	int stem;	    /* length of the stem */
	const char *suffix; /* "" or RANK2FILE_OLD_SUFFIX */
};

/* Split `base`, which is borrowed. */
struct rank2file_base rank2file_base_split(const char *base);

/* Write the name of part `writer` of level 0.  Returns `to`. */
#define RANK2FILE_NAME_SIZE 64
char *rank2file_part_name(const struct rank2file_base *b, uint64_t writer,
			  char to[static RANK2FILE_NAME_SIZE]);

/* FILE of part `name` in the top file, in `name` or in `to`. */
const char *rank2file_part_file(const struct rank2file_base *b,
				const char *name,
				char to[static RANK2FILE_NAME_SIZE]);

/* Is `name` the stem, ".L.W" and the suffix? */
bool rank2file_part_scan(const struct rank2file_base *b, const char *name,
			 uint64_t *level, uint64_t *writer);

struct kvtree;

/* Make the top file of a packed dataset again from its parts in directory
 * `dirfd`, or from packed.N.scr.  NULL: these do not contain enough. */
struct kvtree *rank2file_make_top(const struct rank2file_base *base, int dirfd);

/* Make the top file of a map without containers from all parts of level 0 that
 * can be read, whatever ranks they have.  NULL: there is none. */
struct kvtree *rank2file_make_plain_top(const struct rank2file_base *base,
					int dirfd);

/* Does the part have a file in containers?  If not, another program wrote the
 * map, and the dataset is not packed. */
bool rank2file_has_segments(const struct kvtree *part);

/* Is `top`, the second copy of a packed dataset's top file, left over?  It is
 * if another program has written a map since: parts of that are there. */
bool rank2file_is_left_over(const struct rank2file_base *base, int dirfd,
			    const struct kvtree *top);

/*
 * Make the image of part `name` from RANK2FILE_SPARE of packed.N.scr in
 * directory `dirfd`, or of the copy of that.  `list`: HIDDEN of the top file,
 * with the checksum that packed.N.scr must have; NULL: its own checksum
 * suffices.  -1: neither can be used.
 */
int rank2file_make_part(const struct rank2file_base *base, int dirfd,
			const char *name, const struct kvtree *list,
			struct buf *out);

struct arena;
struct error;
struct kvstream;
struct rank2file;
struct rank2file_filter;
struct rank2file_rank;

/* Add the ranks in the tree of a part to out->ranks.  Strings are borrowed from
 * the tree.  *said is its RANKS; 0: none. */
int rank2file_read_part(struct rank2file *out, const struct kvtree *part,
			uint64_t *said, struct error *err);

/* Where a part is read to. */
struct rank2file_reader {
	struct rank2file *out;
	struct arena *arena; /* for lists, segments and copied strings */
	/* One element per rank, all 0 at first: prevents two threads from
	 * writing the same rank, whatever the parts contain. */
	_Atomic unsigned char *claimed;
	const struct rank2file_filter *wanted; /* NULL: all files */
	/* If set, each rank is passed to it instead of being added to `out`,
	 * and `arena` is reset after each; -1 stops the scan. */
	int (*take)(void *arg, size_t rank, const struct rank2file_rank *r);
	void *arg;
};

/*
 * Read a part from its elements, if it has the plain form of all known writers:
 * known keys, each once, plain numbers.  Strings are borrowed from memory, but
 * copied from a file.  Return 0: done. 1: another form or invalid, and `out` is
 * unchanged; read it as a tree, which reports what is wrong. -1: out of memory,
 * or to->take returned -1.  *said as above.  Several threads may read parts at
 * once.
 */
int rank2file_scan(const struct rank2file_reader *to, struct kvstream *from,
		   uint64_t *said);

/* Are the paths of a rank unique?  Return 1 or 0, or -1: out of memory. */
int rank2file_distinct(const struct rank2file_rank *r);

/* --- A load in progress --- */

/* A part to be read. */
struct rank2file_part {
	const char *name;
	uint64_t offset;  /* of the kvtree in the file */
	const char *data; /* in an arena of `out`, as strings are borrowed from
			     it */
	size_t len;
	const char *body; /* its elements, see kvtree_body() */
	size_t body_len;
	/* Why it was not read, and the source that was read instead; NULL: it
	 * was. */
	const char *flaw, *instead;
	uint64_t said;	  /* its RANKS; 0: none */
	bool irregular;	  /* not in plain form: read it as a tree */
	bool lost;	  /* left out: see rank2file_load_left() */
	bool contradicts; /* the top file has another checksum of it */
};

/* Where the top file is from, best first. */
enum rank2file_source {
	RANK2FILE_TOP,
	RANK2FILE_TOP_COPY,
	RANK2FILE_TOP_MADE,  /* from the parts of a packed dataset */
	RANK2FILE_TOP_PLAIN, /* or of any other: rank2file_load_left() */
};

struct rank2file_loader {
	struct rank2file_base base;
	struct rank2file *out;
	size_t room; /* capacity of out->trees */
	bool top_is_part;
	enum rank2file_source source; /* of the top file: the first one to be
					  tried, then that which was read */
	bool doubt;  /* its copy is another one, or it contradicts the parts */
	bool differ; /* file and copy are two that can be read */
	struct rank2file_part *images; /* parts to read */
	size_t nimages, images_room;
	int dirfd;
	const struct rank2file_image *given;   /* instead of files; or NULL */
	struct map *by_name;		       /* of `given` */
	struct par *par;		       /* NULL: one thread */
	const struct rank2file_filter *wanted; /* NULL: all files */
	bool left;			       /* rank2file_load_left() */
	atomic_uchar *claimed; /* by rank: set if a part has the rank */
	struct map *seen;      /* names of all files read: each is read only
				  once, so a loop or fan-out cannot multiply the
				  work */
	struct buf raw;
	uint64_t bytes;	 /* size of all files */
	uint64_t nranks; /* RANKS of the top file */
};

/* Read the queued parts and fill in out->ranks. */
int rank2file_read_parts(struct rank2file_loader *l, struct error *err);

/* Set out->refused, unless it is set. */
int rank2file_refuse(struct rank2file *out, struct error *err, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));

/* LEVEL of a map or part. */
int rank2file_read_level(const struct kvtree *tree, uint64_t *out,
			 struct error *err);

/* The image `name` of those given; NULL: ERROR_ABSENT. */
const struct rank2file_image *rank2file_given(const struct rank2file_loader *l,
					      const char *name,
					      struct error *err);

/* Can a second copy help against this error? */
bool rank2file_is_damage(const struct error *why);

#endif /* META_RANK2FILE_IMPL_H */
