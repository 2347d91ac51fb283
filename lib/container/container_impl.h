/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * container_impl.h - shared by packing, unpacking and repacking.
 *
 *   pack.c         pack()
 *   pack_write.c   fill containers
 *   pack_order.c   files to be packed, and metadata files, in their order
 *   pack_old.c     a copy for SCR 1.1.8
 *   pack_sweep.c   put a map in place; compare a file with its packed bytes
 *   unpack.c       unpack()
 *   repack.c       repack()
 */
#ifndef CONTAINER_CONTAINER_IMPL_H
#define CONTAINER_CONTAINER_IMPL_H

#include "container/pack.h"
#include "path.h"

struct packing {
	struct packed *p;
	/* --layout 1: the dataset that is copied */
	const struct packed *copied;
	const struct pack_options *po;
	struct pack_result *out;
	struct arena *arena;
	struct pathcache_pair *caches; /* directories of files, by thread */
	/* directories of files, of metadata */
	struct pathcache *parents, *meta;
	struct segmap map;	/* the new map */
	size_t *from;		/* by file of `map`: index in p->map */
	bool spread;		/* no two members of a set share a container */
	uint32_t *set;		/* the redundancy set of each rank; 0: none */
	struct hidden hidden;	/* metadata stored beside the map */
	struct stat *stats;	/* originals, by file of `map` */
	bool *shared;		/* originals to be kept, by file of the map */
	struct stat *red_stats; /* originals, by file of `hidden` */
	/* originals that were removed; those kept because they changed */
	_Atomic size_t removed, left;
};

/* Start to pack, unpack or repack `p`: all members before `map`, and *out with
 * the counts of its map.  Call pack_fini() also on failure. */
void pack_init(struct packing *w, struct packed *p,
	       const struct pack_options *po, struct pack_result *out);
void pack_fini(struct packing *w);

/* Make `map` with the files of p->map in the requested order; sets `from`,
 * `set`, `spread` and the groups of the files. */
int pack_sort(struct packing *w, struct error *err);

/* Judge the containers of `m`. */
enum pack_spare pack_judge(const struct packing *w, const struct segmap *m);

/* List the metadata files to be packed: hidden.map (cut at `size`),
 * red_stats. */
int pack_hidden_list(struct packing *w, uint64_t size, struct error *err);

/* Writes containers. */
struct pack_writer {
	int root_fd;	  /* names of containers are relative to it */
	struct attr attr; /* of each container: pack_attr() */
	bool confirm;	  /* read it again, and compare */
	struct arena *arena;
	const struct work *work;
};
struct pack_writer pack_writer(const struct packing *w, const struct segmap *m);

/* Some containers of a map, and the string of bytes that they get. */
struct pack_batch {
	struct segmap *map;
	size_t first, end;   /* containers first ... end - 1 */
	uint64_t begin, len; /* of them together, in `from` */
	struct stripe from;
	struct stripe_sum *files; /* of all files of the map: extended */
};

/* Write the containers of a batch, compare the checksums of the files that are
 * complete now, and record those of the containers. */
int pack_fill(const struct pack_writer *w, const struct pack_batch *b,
	      struct error *err);

/* The checksums of the files of `m`, all empty; to be freed by mem_free(). */
struct stripe_sum *pack_file_sums(const struct segmap *m, struct error *err);

/* Write all containers of `m` from its files below `dirfd`, and record all
 * checksums. */
int pack_write(struct packing *w, struct segmap *m, int dirfd,
	       struct error *err);

/* Write rank2file with the map and `h`; NULL: as unpacked.  `distinct`: each
 * path is known to occur once. */
int pack_switch(struct packed *p, const struct segmap *m,
		const struct hidden *h, bool distinct, struct error *err);

/* Remove containers that neither map (NULL: none) lists; *count (or NULL) is
 * increased by their number.  `dry_run`: only count. */
int pack_sweep(const struct packed *p, const struct segmap *data,
	       const struct segmap *red, bool dry_run, size_t *count,
	       struct error *err);

/* Remove leftovers of an interrupted run from the metadata directory: temporary
 * files, and parts of rank2file and packed.* that rank2file, as read, does not
 * list. */
int pack_sweep_parts(const struct packed *p, struct error *err);

/* Does the file at the path of `file` have the packed contents?  `meta`: it is
 * one of the metadata directory. */
int pack_compare(const struct packed *p, bool meta, size_t file,
		 const struct work *work, bool *same, struct error *err);

/* Describe what stat shows to be wrong with a container; "": nothing.  -1: stat
 * failed. */
#define PACKED_FLAW_TEXT 512
int packed_container_flaw(const struct packed *p,
			  const struct segmap_container *ctr,
			  struct packed_flaw *flaw,
			  char to[static PACKED_FLAW_TEXT], struct error *err);

/* Make the directory for a copy of `p` in the old layout.  Close q->meta_fd and
 * q->root_fd also on failure.  ERROR_SYSTEM with EEXIST: it has a dataset. */
int pack_old_open(struct packed *q, const struct packed *p, struct error *err);

/* Add the empty files and the summary of the copy. */
int pack_old_finish(const struct packing *w, const struct packed *p,
		    struct error *err);

#endif /* CONTAINER_CONTAINER_IMPL_H */
