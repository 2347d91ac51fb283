/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing_impl.h - shared by the files of module flushing. */
#ifndef SCR_FLUSHING_IMPL_H
#define SCR_FLUSHING_IMPL_H

#include "scr/flushing.h"

#include <stddef.h>
#include <stdint.h>

#include "meta/attr.h"

struct arena;
struct dataset;
struct put;
struct put_file;
struct device;

struct flush_file {
	const char *from; /* absolute, in cache; with bypass on the prefix */
	const char *rel;  /* below the prefix */
	struct attr attr;
	bool has_crc; /* from the filemap, or computed during the copy */
	uint32_t crc;
	struct put_file *to;
};

struct flushing {
	struct run *run;
	const struct dataset *d;    /* of its struct held_set */
	const struct device *store; /* where it is */
	bool bypass;
	bool replaces; /* files on the prefix */
	int prefix_fd;
	struct arena *arena;
	struct put *put; /* NULL with bypass */
	size_t nfiles;
	struct flush_file *files;
};

#endif /* SCR_FLUSHING_IMPL_H */
