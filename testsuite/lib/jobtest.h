/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobtest.h - jobs for the tests of rank2file, and a directory for their files.
 */
#ifndef JOBTEST_H
#define JOBTEST_H

#include "meta/rank2file.h"
#include "metatest.h"

extern int dirfd_;

/* Write a tree, given as text for tree_of(). */
void put_job_file(const char *name, const char *text);

/* A job of `n` ranks: rank r has r modulo 3 files; ranks divisible by 5 are
 * absent. */
void make_job(struct rank2file *r, size_t n);

/* Are both equal in everything that make_job() sets? */
bool same_rank(const struct rank2file_rank *a, const struct rank2file_rank *b);
bool same_job(const struct rank2file *a, const struct rank2file *b);

/* A rank as text: "; NUMBER of FILES, PATH SIZE CRC <CONTAINER@OFFSET+LENGTH";
 * what a load of `base` gets: RANKS, those that are present, and why LLNL's
 * reader refuses it; or its error. */
const char *rank_text(size_t rank, const struct rank2file_rank *r);
const char *job_text(const char *base);

/* Check that `job` is loaded into `got` as it is stored. */
void is_kept(const char *base, const struct rank2file *job,
	     struct rank2file *got);

/* The names of all files, each with a space after it. */
const char *job_files(void);

/* Make the directory, or empty it. */
void job_enter(void);

#endif /* JOBTEST_H */
