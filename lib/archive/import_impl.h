/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_impl.h - shared by the import of an archive and that of pieces.
 */
#ifndef ARCHIVE_IMPORT_IMPL_H
#define ARCHIVE_IMPORT_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "archive/export.h"
#include "hash.h"
#include "meta/dataset_dir.h"
#include "transfer/put.h"

struct attr;
struct error;
struct rank2file_image;

/* A file of the archive. */
struct imported {
	const char *path;
	enum put_kind kind;
	enum dataset_dir_kind meta; /* FOREIGN: a file of the job */
	struct put_file *put;
	uint64_t size;
	char sum[HASH_TEXT];
};

/* Allow all metadata of one dataset, and files of a job: set the kinds of
 * f->path.  *id: of the dataset, or not positive: not known yet. */
int import_classify(struct imported *f, int64_t *id, struct error *err);

/*
 * Check that the list has exactly the files that the rank2file in the images
 * names.  ERROR_CORRUPT: a file is missing or has another size; ERROR_ABSENT:
 * no rank2file; ERROR_UNSAFE: rank2file does not name a file.
 */
int import_check_ranks(const struct imported *list, size_t count,
		       const struct rank2file_image *images, size_t nimages,
		       struct error *err);

/* Note a file of a piece that is in place now, with this sum and these
 * attributes. */
void import_note(struct import_seen *s, const char *path, const char *sum,
		 const struct attr *a);

#endif /* ARCHIVE_IMPORT_IMPL_H */
