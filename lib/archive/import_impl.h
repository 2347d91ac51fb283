/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * import_impl.h - what import.c (the archive) and import_ranks.c (the rank2file
 * in it) share.
 */
#ifndef ARCHIVE_IMPORT_IMPL_H
#define ARCHIVE_IMPORT_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "meta/dataset_dir.h"
#include "transfer/put.h"

struct error;

/* A file of the archive. */
struct imported {
	const char *path;
	enum put_kind kind;
	enum dataset_dir_kind meta; /* FOREIGN: a file of the job */
	struct put_file *put;
	uint64_t size;
	char sum[HASH_TEXT];
};

/* Check that the files of the archive are those that its rank2file names, so
 * that nothing else comes with it.  ERROR_CORRUPT: a file of it is missing or
 * of another size; ERROR_ABSENT: no rank2file; ERROR_UNSAFE: a file that it
 * does not name. */
int import_check_ranks(const struct imported *list, size_t count,
		       struct error *err);

#endif /* ARCHIVE_IMPORT_IMPL_H */
