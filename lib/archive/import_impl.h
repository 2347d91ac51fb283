/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_impl.h - shared by reading archives and placing their files.
 */
#ifndef ARCHIVE_IMPORT_IMPL_H
#define ARCHIVE_IMPORT_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "archive/export.h"
#include "hash.h"
#include "meta/attr.h"
#include "meta/dataset_dir.h"
#include "transfer/put.h"

struct ark_in;
struct arena;
struct catalogue;
struct catalogue_options;
struct error;
struct manifest;
struct map;
struct pathcache;

/* A file is read in steps of this size. */
#define IMPORT_STEP ((size_t)1 << 20)

/* A file of the dataset. */
struct imported {
	const char *path;
	enum put_kind kind;
	enum dataset_dir_kind meta; /* FOREIGN: a file of the job */
	struct put_file *put;	    /* NULL: not of this call */
	uint64_t size;
	/* What has the name on the prefix: no regular file; perhaps the same
	 * file; it is. */
	bool odd, perhaps, same;
	char sum[HASH_TEXT];
};

struct import {
	struct catalogue *c;
	const struct catalogue_options *o;
	struct export_result out;
	struct hash *hash;
	unsigned char *block; /* IMPORT_STEP bytes */
	struct arena *arena;
	struct put *put;
	struct pathcache *parents; /* of existing files */
	/* Files: those that were read, in the order of `put`, then those that
	 * are on the prefix. */
	struct imported *list;
	size_t count, cap;
	struct map *by_path;
	struct manifest *manifest; /* of all files */
	struct {
		const char *path;
		struct attr attr;
	} * dirs; /* of the archives */
	size_t ndirs, dirs_cap;
	bool made_scr;
	/* The archive that is read. */
	struct ark_in *ark;
	bool begun;
	size_t first;	      /* of `list` */
	uint64_t piece;	      /* its number */
	const char *own_name; /* of a piece: of its manifest; else NULL */
	struct manifest *own;
	/* Of pieces: which are given; the name of the last one, or NULL. */
	bool *given;
	const char *last;
	/* The dataset may be called whole now; files are not what they were;
	 * the dataset that has the number is another one. */
	bool known, changes, renew;
	bool done;
	bool part; /* this is a node */
	/* What nodes have imported, and which pieces; NULL: none was asked. */
	struct import_sum nodes;
	bool asked; /* some were reached, or may have been */
	bool *did;
	uint64_t *sizes; /* by line of the manifest; NULL: not confirmed */
};

/* Allow all metadata of one dataset, and files of a job: set the kinds of
 * f->path.  *id: of the dataset, or not positive: not known yet. */
int import_classify(struct imported *f, int64_t *id, struct error *err);

/* Has the manifest the file, with this checksum? */
int import_compare(const struct manifest *m, const struct imported *f,
		   struct error *err);

/* struct put_guard: other owners of the paths, and another dataset with this
 * number, are not called whole any more; if nothing was replaced, they are. */
int import_make_way(void *import, const struct put *p, struct error *err);
void import_take_back(void *import);

#endif /* ARCHIVE_IMPORT_IMPL_H */
