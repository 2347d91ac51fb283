/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * export.h - a dataset as one archive, and back.
 *
 * The archive holds what the prefix would hold if the dataset were not packed:
 * its files by their paths, and PREFIX/.scr/scr.dataset.ID/ with rank2file,
 * summary and, if wanted, filemaps and redundancy; last a manifest of SHA-256
 * sums.  So it can be unpacked with tar alone, in an empty directory or in a
 * prefix, and checked there with `sha256sum -c`.
 */
#ifndef CATALOGUE_EXPORT_H
#define CATALOGUE_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container/ark.h"
#include "container/packed.h"

/* In the directory of the dataset's metadata. */

struct catalogue;
struct catalogue_options;
struct work;
struct export_options {
	enum ark_filter filter;
	bool redundancy;  /* filemaps and redundancy files, too */
	unsigned threads; /* for compression */
	const struct work *work;
};

struct export_result {
	int64_t id;
	char name[1024];      /* import: of the dataset */
	size_t files, hidden; /* of users; of metadata */
	size_t same;	      /* import: were there already, and right */
	uint64_t bytes;	      /* of the users' files */
	uint64_t written;     /* export: bytes of the archive */
};

/*
 * Write dataset `p` as an archive to descriptor `fd`, which may be a pipe;
 * `name` is for messages.  Checksums are compared on the way: ERROR_DAMAGED,
 * and then the archive is of no use.  ERROR_USAGE: an archive cannot hold one
 * of the files; told before anything is written.
 */
int export_dataset(const struct packed *p, int fd, const char *name,
		   const struct export_options *eo, struct export_result *out,
		   struct error *err);

/* The same to a file, which gets its name when it is complete and on disk;
 * NULL or "-": standard output. */
int export_to(const struct packed *p, const char *file,
	      const struct export_options *eo, struct export_result *out,
	      struct error *err);

/*
 * Read an archive from `fd` into the prefix of `c`, compare it with its
 * manifest, and put the dataset into the index.  Nothing bears its final name
 * before all has been compared.  ERROR_CORRUPT, ERROR_UNSAFE: the archive is
 * no good; ERROR_SYSTEM with EEXIST: another file, or a dataset of that
 * number, is there (`force` replaces files and index entry).
 */
int import_dataset(struct catalogue *c, int fd, const char *name, bool force,
		   const struct catalogue_options *o, struct export_result *out,
		   struct error *err);

#endif /* CATALOGUE_EXPORT_H */
