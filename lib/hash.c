/* SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"

#include <openssl/evp.h>

#include "error.h"
#include "mem.h"

struct hash {
	EVP_MD_CTX *ctx;
};

static int
start(struct hash *h, struct error *err)
{
	if (EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) != 1)
		return error_set(
			err, ERROR_SYSTEM,
			"SHA-256: the crypto library does not have it");
	return 0;
}

struct hash *
hash_new(struct error *err)
{
	struct hash *h = mem_calloc(1, sizeof(*h));

	if (h != NULL)
		h->ctx = EVP_MD_CTX_new();
	if (h == NULL || h->ctx == NULL) {
		error_no_memory(err);
		goto fail;
	}
	if (start(h, err) < 0)
		goto fail;
	return h;
fail:
	hash_free(h);
	return NULL;
}

void
hash_free(struct hash *h)
{
	if (h == NULL)
		return;
	EVP_MD_CTX_free(h->ctx);
	mem_free(h);
}

int
hash_update(struct hash *h, const void *data, size_t len, struct error *err)
{
	if (EVP_DigestUpdate(h->ctx, data, len) != 1)
		return error_set(err, ERROR_SYSTEM,
				 "SHA-256: the crypto library failed");
	return 0;
}

int
hash_text(struct hash *h, char to[static HASH_TEXT], struct error *err)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[HASH_SIZE];
	size_t i = 0;

	if (EVP_DigestFinal_ex(h->ctx, sum, NULL) != 1)
		return error_set(err, ERROR_SYSTEM,
				 "SHA-256: the crypto library failed");
	for (i = 0; i < HASH_SIZE; i++) {
		to[2 * i] = digits[sum[i] >> 4];
		to[2 * i + 1] = digits[sum[i] & 15];
	}
	to[2 * HASH_SIZE] = '\0';
	return start(h, err);
}
