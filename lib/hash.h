/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash.h - SHA-256 and MD5, by OpenSSL.  MD5 is for files of FTI, which
 * protects them by it; nothing of ours relies on MD5.
 */
#ifndef HASH_H
#define HASH_H

#include <stddef.h>

struct error;
struct hash; /* opaque: a running sum */

enum hash_type { HASH_SHA256, HASH_MD5 };

#define HASH_SHA256_SIZE 32 /* bytes of a sum */
#define HASH_MD5_SIZE 16
#define HASH_TEXT (2 * HASH_SHA256_SIZE + 1) /* as lower-case hex, with NUL */
#define HASH_MD5_TEXT (2 * HASH_MD5_SIZE + 1)

/* NULL: the crypto library lacks it, as MD5 in FIPS mode. */
struct hash *hash_new(enum hash_type type, struct error *err);
void hash_free(struct hash *h);
void hash_update(struct hash *h, const void *data, size_t len);

/* The sum of all data so far: its bytes, or as text.  Then `h` starts a new
 * sum. */
void hash_sum(struct hash *h, unsigned char *to);
void hash_text(struct hash *h, char *to);

/* The SHA-256 of these bytes, as text. */
int hash_bytes(const void *data, size_t len, char to[static HASH_TEXT],
	       struct error *err);

/* Make the sum so far of `to` that of `from`, of the same type. */
void hash_copy(struct hash *to, const struct hash *from);

/* Bytes as lower-case hex with NUL: 2 * len + 1 bytes.  Returns `to`. */
char *hash_hex(char *to, const unsigned char *sum, size_t len);

#endif /* HASH_H */
