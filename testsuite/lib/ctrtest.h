/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ctrtest.h - make packed datasets on disk and open them for checks.
 */
#ifndef CTRTEST_H
#define CTRTEST_H

#include "maptest.h"
#include "report/condition.h"
#include "report/containers.h"
#include "style.h"

#define DIR ".scr/scr.dataset.7"

extern const struct catalogue_options ctr_options;

/* Write containers of `size` bytes for the files of `m`, with all checksums.
 * `wrong`: every other file is recorded longer than its segments. */
void store(struct segmap *m, uint64_t size, size_t nranks, bool wrong);

/* Write four files of two ranks in three containers of ten bytes: aaaabbbbbb
 * bbbcdddddd dddd. */
void small(void);

/* The path of container `n`. */
char *ctr(int n);

/* An open dataset and its containers. */
struct opened {
	struct catalogue *c;
	struct containers *k;
	struct buf told;
};

/* Open the dataset below ctr_place and check its containers; for close_it(). */
void look_at(struct opened *o, const struct plan *plan, bool sums);
void close_it(struct opened *o);

/* One letter for each byte of each container: the last of the file's name,
 * upper case if the byte is bad, '.' if it belongs to no file. */
const char *letters(const struct containers *k);

/* The states of all containers: "whole truncated ...". */
const char *states(const struct containers *k);

/* A terminal without colours and special characters. */
extern const struct style plain;

#endif /* CTRTEST_H */
