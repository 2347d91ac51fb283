/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_impl.h - what the parts of set share.
 */
#ifndef FTIJOB_SET_IMPL_H
#define FTIJOB_SET_IMPL_H

struct error;
struct fti_set;
struct fti_sets;
struct work;

/* Set aside files that are intact, but do not belong to the checkpoint, and
 * set set->conflict if it is not known which do. */
int fti_set_confront(struct fti_sets *s, struct fti_set *set,
		     const struct work *w, struct error *err);

/* Set state, reason and refusal by the states of the files. */
void fti_set_judge(const struct fti_sets *s, struct fti_set *set);

#endif /* FTIJOB_SET_IMPL_H */
