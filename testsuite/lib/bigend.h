/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bigend.h - append big-endian integers, the byte order of kvtree files.
 */
#ifndef BIGEND_H
#define BIGEND_H

#include <stdint.h>

struct buf;

/* -1: out of memory. */
int bigend_add32(struct buf *b, uint32_t v);
int bigend_add64(struct buf *b, uint64_t v);

#endif /* BIGEND_H */
