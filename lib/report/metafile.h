/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metafile.h - any one metadata file, to be shown: a kvtree, the header of a
 * redundancy file, or the log of a job.
 */
#ifndef REPORT_METAFILE_H
#define REPORT_METAFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

struct error;
struct json;
struct kvtree;

struct metafile {
	struct kvtree *tree; /* NULL: a log, whose text follows */
	struct buf text;
	bool redundancy;   /* a redundancy file: its body trails the tree */
	uint64_t image;	   /* bytes of the tree's image */
	uint64_t trailing; /* bytes behind it, not read */
};

struct metafile_options {
	bool tree;     /* all keys on lines of their own, else KEY = VALUE */
	bool sort;     /* keys by their bytes, else as they stand in the file */
	bool exact;    /* what LLNL's tools print, and nothing more */
	bool terminal; /* make control characters visible */
};

/* Read `path`; ERROR_CORRUPT: neither a kvtree nor a log.  For
 * metafile_fini(). */
int metafile_read(const char *path, struct metafile *out, struct error *err);
void metafile_fini(struct metafile *f);

/* As text (formats.md 12).  Sorting changes f->tree. */
int metafile_print(struct metafile *f, const struct metafile_options *o,
		   struct buf *out, struct error *err);

/* Members file, format, tree or lines, ...: see scr_inspect(1). */
struct json *metafile_json(const struct metafile *f, const char *path);

#endif /* REPORT_METAFILE_H */
