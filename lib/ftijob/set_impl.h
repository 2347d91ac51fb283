/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_impl.h - what the parts of set share.
 */
#ifndef FTIJOB_SET_IMPL_H
#define FTIJOB_SET_IMPL_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct fti_part_file;
struct fti_set;
struct fti_sets;
struct work;

/* Files that are open at the same time. */
#define FTI_BATCH 64

/* Set the problem of a file.  -1: no memory. */
int fti_set_problem(struct fti_sets *s, struct fti_part_file *to,
		    const char *text, struct error *err);

/* Read the files of a POSIX checkpoint, with `data` also their contents, and
 * set their states. */
int fti_set_read_posix(struct fti_sets *s, struct fti_set *set, bool data,
		       const struct work *w, struct error *err);

/* Set state, reason and refusal by the states of the files. */
int fti_set_judge(struct fti_sets *s, struct fti_set *set, struct error *err);

#endif /* FTIJOB_SET_IMPL_H */
