/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_impl.h - what the parts of set share.
 */
#ifndef FTIJOB_SET_IMPL_H
#define FTIJOB_SET_IMPL_H

#include <stdbool.h>

struct error;
struct fti_rank;
struct fti_set;
struct fti_sets;
struct work;

/* Is it a POSIX file that is not there, and nothing would prove a computed one:
 * its metadata have no checksum of it? */
bool fti_rank_lacks_sum(const struct fti_rank *r);

/* Set set->conflict if files contradict each other. */
int fti_set_confront(struct fti_sets *s, struct fti_set *set,
		     const struct work *w, struct error *err);

/* Set state, reason and refusal by the states of the files. */
void fti_set_judge(const struct fti_sets *s, struct fti_set *set);

#endif /* FTIJOB_SET_IMPL_H */
