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

/*
 * Check that the archive has exactly the files that its rank2file names.
 * ERROR_CORRUPT: a file is missing or has another size; ERROR_ABSENT: no
 * rank2file; ERROR_UNSAFE: rank2file does not name a file.
 */
int import_check_ranks(const struct imported *list, size_t count,
		       struct error *err);

#endif /* ARCHIVE_IMPORT_IMPL_H */
