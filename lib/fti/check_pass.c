/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_pass.c - the sums of an FTI-FF file whose bytes pass in order.
 */

#include "error.h"
#include "fti/check.h"
#include "fti/check_impl.h"
#include "fti/file.h"
#include "hash.h"
#include "mem.h"

struct fti_pass {
	struct fti_checked *c;
	struct hash *part;  /* of the container `next` */
	struct hash *whole; /* of the file; in C to F none */
	uint64_t whole_at;  /* A: where its sum begins */
	size_t next;
	uint64_t at; /* bytes that have passed */
};

struct fti_pass *
fti_pass_new(struct fti_checked *c, struct error *err)
{
	const struct fti_file *f = c->file;
	struct fti_pass *p = mem_calloc(1, sizeof(*p));

	if (p != NULL)
		c->sums = mem_calloc(f->ncontainers + 1, sizeof(*c->sums));
	if (p == NULL || c->sums == NULL) {
		mem_free(p);
		error_no_memory(err);
		return NULL;
	}
	p->c = c;
	p->whole_at = f->layout == FTI_A ? fti_format(FTI_A)->meta : 0;
	p->part = hash_new(HASH_MD5, err);
	if (p->part != NULL && !fti_format(f->layout)->footer)
		p->whole = hash_new(HASH_MD5, err);
	if (p->part != NULL &&
	    (p->whole != NULL || fti_format(f->layout)->footer))
		return p;
	fti_pass_free(p);
	return NULL;
}

void
fti_pass_free(struct fti_pass *p)
{
	if (p == NULL)
		return;
	hash_free(p->part);
	hash_free(p->whole);
	mem_free(p);
}

/* The bytes of the container among the `len` bytes at p->at: where they begin,
 * and their number. */
static size_t
overlap(const struct fti_pass *p, const struct fti_container *c, size_t len,
	size_t *from)
{
	const uint64_t begin = c->fptr > p->at ? c->fptr : p->at;
	uint64_t end = c->fptr + (uint64_t)c->used;

	end = end < p->at + len ? end : p->at + len;
	*from = (size_t)(begin - p->at);
	return end > begin ? (size_t)(end - begin) : 0;
}

int
fti_pass_add(struct fti_pass *p, const void *data, size_t len,
	     struct error *err)
{
	const struct fti_file *f = p->c->file;
	const unsigned char *bytes = data;
	size_t from = 0;

	if (f->layout == FTI_A && p->at + len > p->whole_at) {
		if (p->at < p->whole_at)
			from = (size_t)(p->whole_at - p->at);
		if (hash_update(p->whole, bytes + from, len - from, err) < 0)
			return -1;
	}
	for (; p->next < f->ncontainers; p->next++) {
		const struct fti_container *c = &f->containers[p->next].c;
		size_t n = 0;

		if (c->fptr >= p->at + len && c->used > 0)
			break;
		n = c->used > 0 ? overlap(p, c, len, &from) : 0;
		if (n > 0 &&
		    (hash_update(p->part, bytes + from, n, err) < 0 ||
		     (f->layout == FTI_B &&
		      hash_update(p->whole, bytes + from, n, err) < 0)))
			return -1;
		if (c->used > 0 && c->fptr + (uint64_t)c->used > p->at + len)
			break;
		if (hash_sum(p->part, p->c->sums[p->next], err) < 0)
			return -1;
	}
	p->at += len;
	return 0;
}

int
fti_pass_end(struct fti_pass *p, struct error *err)
{
	p->c->data_read = true;
	if (p->whole != NULL && hash_sum(p->whole, p->c->whole, err) < 0)
		return -1;
	return fti_judge(p->c, p->part, err);
}
