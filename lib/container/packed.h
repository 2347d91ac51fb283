/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed.h - one dataset on a prefix with its map of files: the place of each
 * file's bytes, in a file of its own or in containers.
 *
 * Two layouts (container-format(5)):
 *
 * - 3: metadata and containers below PREFIX/.scr/scr.dataset.ID, files below
 *   PREFIX;
 * - 1 (SCR 1.1.8): metadata in PREFIX/NAME/.scr, files and containers below
 *   PREFIX/NAME.
 */
#ifndef CONTAINER_PACKED_H
#define CONTAINER_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/hidden.h"
#include "container/segmap.h"
#include "meta/rank2file.h"
#include "transfer/stripe.h"

struct kvtree;
struct pathcache;
struct work;

struct packed {
	int layout;	  /* 3 or 1 */
	int64_t id;	  /* layout 1: 0 if unknown */
	const char *name; /* name for messages */
	const char *dir;  /* metadata directory, relative to the prefix */
	const char *root; /* containers' root, relative to the prefix */
	int prefix_fd;	  /* borrowed */
	int meta_fd;	  /* directory of rank2file and packed.* */
	int root_fd;	  /* names of containers are relative to it */
	int file_fd;	  /* paths of files are relative to it */
	const char *base; /* "rank2file" or "rank2file.scr" */
	bool is_packed;
	struct rank2file r2f; /* as read; owns the strings of `map` */
	struct segmap map;
	struct hidden hidden;
	/*
	 * The damage of a file of the map, or of packed metadata, and the
	 * source that was read instead: the map should be written again.  NULL:
	 * none.
	 */
	const char *flaw;
	struct arena *arena;
	int lock;
};

/* How a dataset is opened. */
struct packed_how {
	/* Lock it against changes by others until packed_close(). */
	bool lock;
	/* Of a packed one, read only the wanted files (or more), and with
	 * `attrs` their attributes.  Without this filter, all. */
	struct rank2file_filter files;
	bool attrs;
};

/* Place of a dataset: dataset `id`; or, if `old` is set, a directory of layout
 * 1.  Strings are borrowed for the call. */
struct packed_where {
	int prefix_fd;	  /* borrowed until packed_close() */
	int64_t id;	  /* layout 1: 0 if unknown */
	const char *name; /* name for messages; NULL: "dataset ID" */
	const char *old; /* directory, relative to the prefix; NULL: layout 3 */
};

/*
 * Open the dataset and read its map.  `how` NULL: all, without the lock.
 * ERROR_ABSENT: no such dataset, or no rank2file; ERROR_CORRUPT, ERROR_UNSAFE.
 * On error nothing is left to close, and only p->id is set.
 */
int packed_open(struct packed *p, const struct packed_where *where,
		const struct packed_how *how, const struct work *work,
		struct error *err);
void packed_close(struct packed *p);

/* rank2file in directory `meta_fd` cannot be read because of *why: was it the
 * map of existing containers?  Then *why becomes ERROR_LOST. */
bool packed_map_lost(int meta_fd, struct error *why);

/* The same of the directory of a dataset, in which that one is. */
bool packed_has_containers(int root_fd);

/* Read the map again after it was written. */
int packed_reload(struct packed *p, const struct work *work, struct error *err);

/*
 * Present a dataset of layout 1 in the form of layout 3, for a copy: paths of
 * files from the prefix, and .scr/scr.dataset.ID as p->dir.  A dataset of
 * layout 3 is not changed.  ERROR_USAGE: its id is unknown.
 */
int packed_renew(struct packed *p, struct error *err);

/* Is there a dataset in layout 1 in directory `name` of the prefix? */
bool packed_is_old(int prefix_fd, const char *name);

/* --- Files and containers as strings --- */

/*
 * Append the bytes of file `f` of `m`, in its segments or in a file of its own,
 * to a string with room for all parts.  `at` gives the offset in the string and
 * the checksum.  Returns their number.
 */
uint64_t packed_string(const struct packed *p, const struct segmap *m,
		       const struct segmap_file *f, struct stripe_part at,
		       struct stripe *out);

/* The same, if the segments add up to the size of the file: else
 * ERROR_CORRUPT. */
int packed_add(const struct packed *p, const struct segmap *m,
	       const struct segmap_file *f, struct stripe_part at,
	       struct stripe *out, struct error *err);

/* The bytes of one file as a string from 0, to be read, with checksum 0. */
int packed_file(const struct packed *p, const struct segmap *m,
		const struct segmap_file *f, struct arena *arena,
		struct stripe *out, struct error *err);

/* Set the size of a file from stat, if the map of an unpacked dataset lacks
 * it. */
int packed_measure(const struct packed *p, size_t file, struct error *err);

/* The attributes of a file: those packed, else those of the file itself.
 * `parents`: a cache of directories below p->file_fd, or NULL.  ERROR_DAMAGED:
 * missing, or of another size than recorded. */
int packed_attr(const struct packed *p, size_t file, struct pathcache *parents,
		struct attr *out, struct error *err);

/* Refuse a path at which a job cannot have a file (.scr, .scrconf):
 * ERROR_UNSAFE. */
int packed_refuse_place(const struct packed *p, size_t file, struct error *err);

/* --- Check --- */

/* What is wrong. */
enum packed_kind {
	PACKED_OTHER,
	PACKED_MAP,	/* the map: `finding` */
	PACKED_MISSING, /* a container */
	PACKED_TYPE,	/* it is no regular file */
	PACKED_SIZE,	/* it has `have` bytes */
	PACKED_FILE,
	PACKED_SUM, /* a checksum, or a file cannot be read */
};

struct packed_flaw {
	const char *text; /* one sentence, borrowed for the call */
	enum packed_kind kind;
	bool red;	  /* the indexes are those of hidden.map */
	size_t file;	  /* damaged file; SIZE_MAX: none */
	size_t container; /* index in the map; SIZE_MAX: none */
	const struct segmap_finding *finding;
	uint64_t have;
};

struct packed_health {
	size_t files, files_bad, containers, containers_bad;
	size_t hidden_bad;    /* damaged packed redundancy files */
	bool unfinished;      /* a rebuild was interrupted */
	bool map_damaged;     /* a file of the map: see packed.flaw */
	size_t map_flaws;     /* gaps, overlaps, wrong sums */
	size_t no_sum;	      /* files without a recorded checksum */
	uint64_t bytes, read; /* of all files; read for checksums */
	size_t unread; /* files that could not be read (no permission, I/O
			  error): unknown, not damaged */
	bool *bad;     /* damaged, by file of the map; NULL: unknown */
};

struct packed_look {
	const struct work *work;
	bool sums;	 /* compare every checksum */
	bool containers; /* only these: do not look at unpacked files */
	void (*flaw)(void *arg, const struct packed_flaw *f); /* or NULL */
	void *arg;
};

/*
 * Check the map, the sizes of containers and files, and, with `sums`, the
 * checksums, also of files that are not packed.  -1: the check could not be
 * made.  Call packed_health_free() also on failure.
 */
int packed_check(const struct packed *p, const struct packed_look *look,
		 struct packed_health *out, struct error *err);

/*
 * Refuse to read files with holes that an unfinished rebuild left.  Checks
 * `count` files from `first` on, if only[i] is set (NULL: all).  ERROR_DAMAGED.
 */
int packed_refuse_marked(const struct packed *p, size_t first, size_t count,
			 const bool *only, struct error *err);

/* Which bytes of the containers of `m` are there?  Sets `have` of each, `gone`
 * and `barred` of each segment. */
int packed_reach(int root_fd, struct segmap *m, const struct kvtree *marks,
		 struct error *err);

/* packed_reach() of the packed metadata files. */
int packed_reach_meta(struct packed *p, struct error *err);

/* Refuse to start reading files only[i] of `m` if a container is missing, lacks
 * some of their bytes, or cannot be opened: ERROR_DAMAGED with its remedy, or
 * why. */
int packed_refuse_short(const struct packed *p, const struct segmap *m,
			const bool *only, struct error *err);

/*
 * Call after reading from containers failed with *err.  If a container is
 * missing or too short, set *err to ERROR_DAMAGED with this reason and its
 * remedy.  Otherwise *err is not changed.  Returns -1.
 */
int packed_blame(const struct packed *p, struct error *err);

/* Refuse a dataset with lost packed metadata files, whose containers must not
 * be removed.  ERROR_DAMAGED. */
int packed_refuse_incomplete(const struct packed *p, struct error *err);

/* Describe the damage of a packed dataset's map, and its effect; `h` may be
 * NULL. false: no damage. */
bool packed_map_flaw(const struct rank2file *r, const struct hidden *h,
		     char *to, size_t size);

/* Is there a second copy of exactly this map?  Layout 1 needs none. */
bool packed_has_copy(const struct packed *p);

/* Did the check find no damage? */
bool packed_healthy(const struct packed_health *h);

void packed_health_free(struct packed_health *h);

#endif /* CONTAINER_PACKED_H */
