/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metafile.h - read and show any metadata file: a kvtree, the header of a
 * redundancy file, or the log of a job.
 */
#ifndef REPORT_METAFILE_H
#define REPORT_METAFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

struct error;
struct json;
struct kvtree;

struct metafile {
	struct kvtree *tree; /* NULL: a log, in `text` */
	struct buf text;
	bool redundancy;   /* a redundancy file: its body follows the tree */
	uint64_t image;	   /* bytes of the tree's image */
	uint64_t trailing; /* bytes after the image, not read */
};

struct metafile_options {
	bool tree; /* each key on a line of its own, else KEY = VALUE */
	/* sort keys by their bytes, else keep the order of the file */
	bool sort;
	bool exact;    /* print exactly what LLNL's tools print */
	bool terminal; /* make control characters visible */
};

/* Read `path`.  ERROR_CORRUPT: neither a kvtree nor a log.  On success, free
 * *out with metafile_fini(); on failure it is empty. */
int metafile_read(const char *path, struct metafile *out, struct error *err);
void metafile_fini(struct metafile *f);

/* As text (kvtree(5)).  Sorting changes f->tree. */
int metafile_print(struct metafile *f, const struct metafile_options *o,
		   struct buf *out, struct error *err);

/* Members file, format, tree or lines, ...: see scr_inspect(1). */
struct json *metafile_json(const struct metafile *f, const char *path);

#endif /* REPORT_METAFILE_H */
