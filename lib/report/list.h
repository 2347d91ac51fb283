/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * list.h - the entries of an index as a table or as JSON.  No file is accessed.
 */
#ifndef REPORT_LIST_H
#define REPORT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/table.h"
#include "when.h"

struct buf;
struct catalogue;
struct error;
struct index;
struct index_entry;
struct json;

struct list_filter {
	bool valid;		    /* only valid ones */
	bool checkpoints, outputs;  /* only these kinds; if both are false,
				       all */
	const char *before, *after; /* stamps or prefixes of stamps: FLUSHED <
				       before and >= after; NULL: any */
};

/* Write the stamp of the time `text` (when.h) to `to`.  A span of time is that
 * long ago.  A time of day or a weekday that lies in the future is refused.
 * ERROR_USAGE. */
int list_time(const char *text, int64_t now, char to[static WHEN_TEXT],
	      struct error *err);

/* Each table has the columns of those before it. */
enum list_style {
	LIST_LLNL,   /* LLNL's format (kvtree(5)), byte for byte */
	LIST_WIDE,   /* also kind, files, size, and why an entry is not
			     valid */
	LIST_CHOSEN, /* those of columns_choose() */
	LIST_NAMES,  /* one name per line */
};

/* How a list looks; the default is LLNL's, newest first. */
struct list_look {
	enum list_style style;
	struct columns chosen; /* with LIST_CHOSEN; the order always */
	bool bytes;	       /* sizes in bytes */
};

extern const struct table_column list_columns[];

/* Append the list of the entries that match, sorted as look->chosen says:
 * unknown values come last, and among equal values newer datasets first.
 * Control characters in names are made printable. */
void list_text(const struct index *ix, const struct index_entry *entries,
	       size_t count, const struct list_filter *f,
	       const struct list_look *look, struct buf *out);

/* The same as JSON, with prefix, restart point and notice; of the look only the
 * order counts. */
struct json *list_json(const struct catalogue *c, const struct index *ix,
		       const struct index_entry *entries, size_t count,
		       const struct list_filter *f,
		       const struct list_look *look);

#endif /* REPORT_LIST_H */
