/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * page.h - an answer as a page of HTML: one file with the JSON that --json
 * prints, and the script that draws it, share/report.js.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "buf.h"

struct error;
struct json;

/* What a page shows: two subjects, and that there are more. */
struct page_title {
	struct buf text;
	unsigned count;
};

/* Add a subject. */
void page_title(struct page_title *t, const char *subject);

/*
 * Replace file `path` by the page, atomically; "-" is standard output.
 * `command` made the page, of `title`.  `answer` is taken, also on failure.
 * `text` is the report for readers without scripts.  ERROR_USAGE: not a regular
 * file.
 */
int page_write(const char *path, const char *command, const char *title,
	       struct json *answer, const struct buf *text, struct error *err);

#endif /* REPORT_PAGE_H */
