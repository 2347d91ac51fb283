/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parity_impl.h - what the parts of parity share.
 */
#ifndef FTIJOB_PARITY_IMPL_H
#define FTIJOB_PARITY_IMPL_H

struct error;
struct fti_parity;

/* Find the last bytes of all members of a group of odd length; sizes are
 * known. */
int fti_parity_solve_tail(struct fti_parity *p, struct error *err);

#endif /* FTIJOB_PARITY_IMPL_H */
