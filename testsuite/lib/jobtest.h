/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jobtest.h - jobs for tests of rank2file, and a directory for their files.
 */
#ifndef UNIT_JOBTEST_H
#define UNIT_JOBTEST_H

#include <errno.h>

#include "arena.h"
#include "meta/rank2file.h"
#include "metatest.h"
#include "scratch.h"

extern int dirfd_;

void put_job_file(const char *name, const char *text);
void drop(const char *name);

/* A job of `n` ranks: rank r has r modulo 3 files, those divisible by 5 are
 * not present. */
void make_job(struct rank2file *r, size_t n);
bool same_job(const struct rank2file *a, const struct rank2file *b);
void job_enter(void);
void job_leave(void);

#endif /* UNIT_JOBTEST_H */
