/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * posixtest.h - shared by tests of FTI's POSIX files: golden files, and what
 * their variables must hold.
 */
#ifndef POSIXTEST_H
#define POSIXTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fti_content;
struct fti_posix;

/* Change to the directory of FTI's golden data, or skip the test. */
bool posixtest_enter(const char *what);

/* The path of the file with this name below `dir` among `found` of metatest.h,
 * or NULL. */
const char *posixtest_path(const char *dir, const char *name);

/* Do the variables hold what EXPECTED.tsv of the set lists for this checkpoint
 * and rank?  Prints what differs.  With `some`, the content may lack variables.
 * Returns the number of variables that were compared, 0 if one differs. */
size_t posixtest_holds(const struct fti_content *c, const char *set,
		       uint32_t ckpt, uint32_t rank, bool some);

/* Is the metadata the same as the file when it is written? */
bool posixtest_prints(const struct fti_posix *p, const char *path);

#endif /* POSIXTEST_H */
