/* SPDX-License-Identifier: BSD-3-Clause */
/* past.h - copy memory past the cache: the destination is not read, and not
 * kept in the cache.  Faster than memcpy() if it is warm and large. */
#ifndef STORE_PAST_H
#define STORE_PAST_H

#include <stddef.h>

/* As memcpy(). */
void past_copy(void *to, const void *from, size_t n);

/* "avx512", "avx2", "sse2" or "memcpy". */
const char *past_name(void);

#endif /* STORE_PAST_H */
