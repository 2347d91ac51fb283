/* SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"

#include <openssl/evp.h>
#include <stdbool.h>

#include "error.h"
#include "mem.h"

struct hash {
	enum hash_type type;
	EVP_MD_CTX *ctx;
};

/* Only memory can be missing for a sum that has begun. */
static void
must(bool done)
{
	if (!done)
		mem_missing();
}

static bool
start(struct hash *h)
{
	const EVP_MD *md = h->type == HASH_MD5 ? EVP_md5() : EVP_sha256();

	return EVP_DigestInit_ex(h->ctx, md, NULL) == 1;
}

struct hash *
hash_new(enum hash_type type, struct error *err)
{
	struct hash *h = mem_calloc(1, sizeof(*h));

	h->type = type;
	h->ctx = EVP_MD_CTX_new();
	must(h->ctx != NULL);
	if (start(h))
		return h;
	hash_free(h);
	return error_set_null(err, ERROR_SYSTEM,
			      "%s: the crypto library does not have it",
			      type == HASH_MD5 ? "MD5" : "SHA-256");
}

void
hash_free(struct hash *h)
{
	if (h == NULL)
		return;
	EVP_MD_CTX_free(h->ctx);
	mem_free(h);
}

void
hash_update(struct hash *h, const void *data, size_t len)
{
	must(EVP_DigestUpdate(h->ctx, data, len) == 1);
}

void
hash_sum(struct hash *h, unsigned char *to)
{
	must(EVP_DigestFinal_ex(h->ctx, to, NULL) == 1 && start(h));
}

void
hash_copy(struct hash *to, const struct hash *from)
{
	must(EVP_MD_CTX_copy_ex(to->ctx, from->ctx) == 1);
}

char *
hash_hex(char *to, const unsigned char *sum, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		to[2 * i] = digits[sum[i] >> 4];
		to[2 * i + 1] = digits[sum[i] & 15];
	}
	to[2 * len] = '\0';
	return to;
}

void
hash_text(struct hash *h, char *to)
{
	unsigned char sum[HASH_SHA256_SIZE];

	hash_sum(h, sum);
	hash_hex(to, sum,
		 h->type == HASH_MD5 ? HASH_MD5_SIZE : HASH_SHA256_SIZE);
}

int
hash_bytes(const void *data, size_t len, char to[static HASH_TEXT],
	   struct error *err)
{
	unsigned char sum[HASH_SHA256_SIZE];

	if (EVP_Digest(data, len, sum, NULL, EVP_sha256(), NULL) != 1)
		return error_set(err, ERROR_SYSTEM,
				 "SHA-256: the crypto library failed");
	hash_hex(to, sum, sizeof(sum));
	return 0;
}
