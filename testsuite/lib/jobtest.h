/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobtest.h - jobs for the tests of rank2file, and a directory for their files.
 */
#ifndef JOBTEST_H
#define JOBTEST_H

#include "meta/rank2file.h"
#include "metatest.h"

extern int dirfd_;

/* Write a tree, given as text for tree_of(); remove a file. */
void put_job_file(const char *name, const char *text);
void drop(const char *name);

/* A job of `n` ranks: rank r has r modulo 3 files; ranks divisible by 5 are
 * absent. */
void make_job(struct rank2file *r, size_t n);

/* Are both jobs equal in everything that make_job() sets? */
bool same_job(const struct rank2file *a, const struct rank2file *b);

/* Make and open the directory; close and remove it, which fails unless it is
 * empty. */
void job_enter(void);
void job_leave(void);

#endif /* JOBTEST_H */
