/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash.h - SHA-256, by OpenSSL.
 */
#ifndef HASH_H
#define HASH_H

#include <stddef.h>

struct error;
struct hash; /* opaque: a running sum */

#define HASH_SIZE 32		      /* bytes of a sum */
#define HASH_TEXT (2 * HASH_SIZE + 1) /* as lower-case hex, with NUL */

struct hash *hash_new(struct error *err);
void hash_free(struct hash *h);
int hash_update(struct hash *h, const void *data, size_t len,
		struct error *err);

/* The sum of all data so far, as text.  Then `h` starts a new sum. */
int hash_text(struct hash *h, char to[static HASH_TEXT], struct error *err);

#endif /* HASH_H */
