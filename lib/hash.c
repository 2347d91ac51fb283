/* SPDX-License-Identifier: BSD-3-Clause */
#include "hash.h"

#include <openssl/evp.h>

#include "error.h"
#include "mem.h"

struct hash {
	enum hash_type type;
	EVP_MD_CTX *ctx;
};

static const char *
name(const struct hash *h)
{
	return h->type == HASH_MD5 ? "MD5" : "SHA-256";
}

static int
start(struct hash *h, struct error *err)
{
	const EVP_MD *md = h->type == HASH_MD5 ? EVP_md5() : EVP_sha256();

	if (EVP_DigestInit_ex(h->ctx, md, NULL) != 1)
		return error_set(err, ERROR_SYSTEM,
				 "%s: the crypto library does not have it",
				 name(h));
	return 0;
}

struct hash *
hash_new(enum hash_type type, struct error *err)
{
	struct hash *h = mem_calloc(1, sizeof(*h));

	if (h != NULL) {
		h->type = type;
		h->ctx = EVP_MD_CTX_new();
	}
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

static int
failed(const struct hash *h, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, "%s: the crypto library failed",
			 name(h));
}

int
hash_update(struct hash *h, const void *data, size_t len, struct error *err)
{
	return EVP_DigestUpdate(h->ctx, data, len) == 1 ? 0 : failed(h, err);
}

int
hash_sum(struct hash *h, unsigned char *to, struct error *err)
{
	if (EVP_DigestFinal_ex(h->ctx, to, NULL) != 1)
		return failed(h, err);
	return start(h, err);
}

int
hash_copy(struct hash *to, const struct hash *from, struct error *err)
{
	return EVP_MD_CTX_copy_ex(to->ctx, from->ctx) == 1 ? 0
							   : failed(to, err);
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

int
hash_text(struct hash *h, char *to, struct error *err)
{
	unsigned char sum[HASH_SHA256_SIZE];

	if (hash_sum(h, sum, err) < 0)
		return -1;
	hash_hex(to, sum,
		 h->type == HASH_MD5 ? HASH_MD5_SIZE : HASH_SHA256_SIZE);
	return 0;
}
