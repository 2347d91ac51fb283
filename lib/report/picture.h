/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * picture.h - one dataset as a picture: a page of HTML or an SVG, without
 * scripts and other files (scr_inspect --html, --svg); or the runs of a log.
 */
#ifndef REPORT_PICTURE_H
#define REPORT_PICTURE_H

struct buf;
struct condition;
struct error;
struct joblog;
struct overview;

/* Replace file `path` atomically; "-" is standard output.  ERROR_USAGE: not a
 * regular file. */
int picture_save(const char *path, const struct buf *text, struct error *err);

/*
 * Write pictures to files of these names, if they are not NULL.  The page has
 * state, next step, ranks by nodes, sets, what must not be lost next,
 * containers, timeline.  `s` is the prefix that the dataset is on; NULL: it is
 * in caches.
 */
int picture_write(const char *svg, const char *html, const struct condition *h,
		  const struct overview *s, struct error *err);

/* The page of the runs of job `id`, or of all (NULL), in the log of `of`, on
 * one axis of time; and a text.  The spans of `g` are sorted. */
int picture_runs(const char *html, struct joblog *g, const char *id,
		 const char *of, const struct buf *text, struct error *err);

#endif /* REPORT_PICTURE_H */
