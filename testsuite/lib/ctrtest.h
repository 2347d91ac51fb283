/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ctrtest.h - packed datasets on disk, made to be looked at.
 */
#ifndef CTRTEST_H
#define CTRTEST_H

#include "maptest.h"
#include "report/condition.h"
#include "report/condition_text.h"
#include "report/containers.h"

#define DIR ".scr/scr.dataset.7"

extern char ctr_place[128];
extern const struct catalogue_options ctr_options;

/* --- Datasets --- */

/* Containers of `size` bytes for m's files, on disk, with all checksums.
 * `wrong`: every other file is longer than its segments. */
void store(struct segmap *m, uint64_t size, size_t nranks, bool wrong);

/* Four files of two ranks in three containers of ten bytes: aaaabbbbbb
 * bbbcdddddd dddd. */
void small(void);

/* The path of container `n`. */
char *ctr(int n);

/* An open dataset, looked at. */
struct opened {
	struct catalogue *c;
	struct containers *k;
	struct buf told;
};

/* Open the dataset below ctr_place and look at its containers; for
 * close_it(). */
void look_at(struct opened *o, const struct plan *plan, bool sums);
void close_it(struct opened *o);

/* A letter for each byte of each container: the file's last one, in capitals
 * where it is bad; '.': of no file. */
const char *letters(const struct containers *k);

/* "whole truncated ...": the states. */
const char *states(const struct containers *k);

/* A terminal without any finesse. */
extern const struct report_style plain;

#endif /* CTRTEST_H */
