/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed.h - one dataset on a prefix with its map of files: where the bytes of
 * each file are, whether in a file of its own or in containers.
 *
 * Two layouts (containers.md 1):
 *   3  metadata and containers' root PREFIX/.scr/scr.dataset.ID, files below
 *      PREFIX;
 *   1  (SCR 1.1.8) metadata PREFIX/NAME/.scr, files and containers below
 *      PREFIX/NAME.
 */
#ifndef CONTAINER_PACKED_H
#define CONTAINER_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "container/hidden.h"
#include "container/segmap.h"
#include "meta/rank2file.h"
#include "transfer/stripe.h"

struct par;
struct pathcache;
struct work;

/* Stretches of containers that a rebuild is writing: in the directory of the
 * metadata. */

struct packed {
	int layout;	  /* 3 or 1 */
	int64_t id;	  /* layout 1: 0 where nothing tells */
	const char *name; /* as the user knows it */
	const char *dir;  /* of the metadata, from the prefix (messages) */
	const char *root; /* of the containers, from the prefix */
	int prefix_fd;	  /* borrowed */
	int meta_fd;	  /* where rank2file and packed.* are */
	int root_fd;	  /* containers' names start here */
	int file_fd;	  /* and the paths of files here */
	const char *base; /* "rank2file" or "rank2file.scr" */
	bool is_packed;
	struct rank2file r2f; /* as read; strings of all else are from here */
	struct segmap map;
	struct hidden hidden;
	struct arena *arena;
	int lock;
};

/* Where a dataset is; as dataset `id` or, with `old`, in a directory of layout
 * 1.  Strings are borrowed for the call. */
struct packed_where {
	int prefix_fd;	  /* borrowed until packed_close() */
	int64_t id;	  /* layout 1: 0 where nothing tells */
	const char *name; /* as the user knows it; NULL: by its directory */
	const char *old;  /* the directory, from the prefix; NULL: layout 3 */
};

/*
 * Open the dataset and read its map.  `lock`: keep others from changing it
 * until packed_close().  ERROR_ABSENT: no such dataset, or it has no rank2file;
 * ERROR_CORRUPT, ERROR_UNSAFE.
 */
int packed_open(struct packed *p, const struct packed_where *where, bool lock,
		const struct work *work, struct error *err);
void packed_close(struct packed *p);

/* Is there a dataset in layout 1 in directory `name` of the prefix? */
bool packed_is_old(int prefix_fd, const char *name);

/* --- Files and containers as strings --- */

/*
 * The string of all packed files, in the coordinates of segmap_file.start: as
 * containers (parts numbered for sums by container), and as their files (by
 * file; those for which `use` is false are left out, NULL: none is).  Parts go
 * to `arena`.
 */
int packed_containers(const struct packed *p, const struct segmap *m,
		      bool create, struct arena *arena, struct stripe *out,
		      struct error *err);
int packed_files(const struct segmap *m, int dirfd, const bool *use,
		 struct arena *arena, struct stripe *out, struct error *err);

/* The same as packed_files(), but what is written is only summed up. */
int packed_sinks(const struct segmap *m, struct arena *arena,
		 struct stripe *out, struct error *err);

/* The map of a dataset that is not packed may not know the size of a file: then
 * it is put in, from the file. */
int packed_measure(const struct packed *p, size_t file, struct error *err);

/* The attributes of a file: as they were packed, or as the file has them, which
 * is found with the help of `parents`, a cache below p->file_fd (or NULL).
 * ERROR_DAMAGED: it is missing, or of another size than recorded. */
int packed_attr(const struct packed *p, size_t file, struct pathcache *parents,
		struct attr *out, struct error *err);

/* The bytes of one file alone, to be read; from 0. */
int packed_file(const struct packed *p, size_t file, struct arena *arena,
		struct stripe *out, struct error *err);

/* The bytes of a packed file of the metadata directory that is no tree. */
int packed_hidden(const struct packed *p, const struct hidden_file *f,
		  struct arena *arena, struct stripe *out, struct error *err);

/* --- How it is --- */

struct packed_flaw {
	const char *text; /* one sentence, borrowed for the call */
	size_t file;	  /* that is damaged by it; SIZE_MAX: none */
	size_t container; /* of the map; SIZE_MAX: none */
	const char *name; /* of the container, also of metadata; NULL: none */
};

struct packed_health {
	size_t files, files_bad, containers, containers_bad;
	size_t hidden_bad;    /* packed redundancy files */
	bool unfinished;      /* a rebuild was interrupted */
	size_t map_flaws;     /* gaps, overlaps, wrong sums */
	size_t no_sum;	      /* files without a recorded checksum */
	uint64_t bytes, read; /* of files; and read to compare them */
	bool *bad;	      /* by file of the map; NULL: not looked at */
};

struct packed_look {
	const struct work *work;
	bool sums; /* compare every checksum */
	void (*flaw)(void *arg, const struct packed_flaw *f); /* or NULL */
	void *arg;
};

/*
 * Check the map, the sizes of containers and, if wanted, checksums, also of
 * files that are not packed.  packed_health_free() in any case.
 */
int packed_check(const struct packed *p, const struct packed_look *look,
		 struct packed_health *out, struct error *err);

/* ERROR_DAMAGED: a rebuild in place was interrupted, so some bytes may be
 * holes; they must not be moved, for its mark says where they are. */
int packed_refuse_marked(const struct packed *p, struct error *err);

/* Is nothing wrong? */
bool packed_healthy(const struct packed_health *h);

void packed_health_free(struct packed_health *h);

#endif /* CONTAINER_PACKED_H */
