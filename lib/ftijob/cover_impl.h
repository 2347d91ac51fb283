/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cover_impl.h - what the parts of cover share.
 */
#ifndef FTIJOB_COVER_IMPL_H
#define FTIJOB_COVER_IMPL_H

#include "ftijob/cover.h"

struct arena;

/* The directory of the level, beside that of another level with file `path`.
 * NULL: no memory. */
const char *cover_beside(struct arena *a, const char *path,
			 enum fti_level level);

/* Bytes of parity of the group, without its record; at L3. */
uint64_t cover_length(const struct fti_protect *p, uint32_t group);

/* The bytes that the file of a rank has at its new level. */
uint64_t cover_size(const struct fti_protect *p, const struct fti_rank *r);

#endif /* FTIJOB_COVER_IMPL_H */
