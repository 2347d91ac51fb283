/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * container_impl.h - what packing, unpacking and repacking share.  Private to
 * lib/dataset/pack*.c and unpack.c.
 *
 *   pack.c         pack()
 *   pack_write.c   containers filled
 *   pack_order.c   in which order files are packed
 *   pack_hidden.c  filemaps, descriptors, redundancy files
 *   pack_compare.c is that file what is packed?
 *   pack_old.c     a copy for SCR 1.1.8
 *   pack_sweep.c   what nothing names any more
 *   unpack.c       unpack()
 *   repack.c       repack()
 */
#ifndef CONTAINER_CONTAINER_IMPL_H
#define CONTAINER_CONTAINER_IMPL_H

#include "container/pack.h"

struct put;
struct stripe;

struct packing {
	struct packed *p;
	const struct packed *copied; /* --layout 1: the dataset itself */
	const struct pack_options *po;
	struct pack_result *out;
	struct arena *arena;
	struct pathcache **caches;	  /* of files, by thread */
	struct pathcache *parents, *meta; /* of files, of metadata */
	struct segmap map;		  /* the new one */
	size_t *from;		/* by file of it: which file of p->map it is */
	bool distinct;		/* no path is in it twice, for certain */
	struct hidden hidden;	/* and what stands beside it */
	struct stat *stats;	/* of the originals, by file of `map` */
	struct stat *red_stats; /* by file of `hidden` */
	struct stripe_sum *file_sums, *container_sums; /* of the last pass */
};

void pack_fini(struct packing *w);

/* Put map.files in the order asked for, and hidden.attrs, if there are any,
 * with them; sets `from`. */
int pack_sort(struct packing *w, struct error *err);

/* List the metadata files to be packed: hidden.files, hidden.red (cut at
 * `size`), red_stats. */
int pack_hidden_list(struct packing *w, uint64_t size, struct error *err);

/* Fill the containers of `m` from its files beneath `dirfd`, and confirm. */
int pack_write(struct packing *w, struct segmap *m, int dirfd,
	       struct error *err);
/* The directory of the containers; in layout 1 that of the metadata. */
int pack_make_dir(const struct packed *p, struct error *err);

/*
 * An engine to write the containers of `m` with: put_free() it after
 * put_commit(); `to`, which leads to the containers by part.sum, then leads to
 * its files.
 */
struct put *pack_put(const struct packing *w, const struct segmap *m,
		     struct stripe *to, struct error *err);

/* Record w->map and w->hidden; `plain`: as files again. */
int pack_switch(struct packing *w, bool plain, struct error *err);

/* Remove containers that neither map names; *count (or NULL) is raised. */
int pack_sweep(const struct packed *p, const struct segmap *data,
	       const struct segmap *red, size_t *count, struct error *err);

/* Remove from the metadata's directory parts of rank2file and packed.* that
 * rank2file, as it was read, does not list, and temporary files: of one who
 * was killed, and whose work may never be taken up again. */
int pack_sweep_parts(const struct packed *p, struct error *err);

/* And the temporary file of a user's one. */
int pack_sweep_temp(const struct packed *p, const char *path,
		    struct error *err);

bool pack_same_file(const struct stat *a, const struct stat *b);

/* Has the file at the path of `file` the contents that are packed? */
int pack_compare(const struct packed *p, size_t file, const struct work *work,
		 bool *same, struct error *err);

/* The same for a packed file of the metadata directory. */
int pack_compare_hidden(const struct packed *p, const struct hidden_file *f,
			const struct work *work, bool *same, struct error *err);

/* The directory for a copy of `p` in the old layout; pack_old_close() in any
 * case.  ERROR_SYSTEM, EEXIST: there is one. */
int pack_old_open(struct packed *q, const struct packed *p, struct error *err);
void pack_old_close(struct packed *q);

/* Its empty files and its summary. */
int pack_old_finish(const struct packing *w, const struct packed *p,
		    struct error *err);

#endif /* CONTAINER_CONTAINER_IMPL_H */
