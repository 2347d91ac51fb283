/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_prove.c - what the checksum of a file proves if it differs, although
 * the data of all containers agree with their sums.
 *
 * Then either the stored checksum is damaged, or a field of a record that the
 * checksum depends on.  Some fields can be computed from others; if with these
 * the checksum is right, the file is as it was.  Else a container may lack
 * bytes, or belong to another variable, and nothing is proven.
 */
#include <string.h>

#include "error.h"
#include "fti/check.h"
#include "fti/check_impl.h"
#include "fti/file.h"
#include "fti/input.h"
#include "hash.h"
#include "mem.h"

/* Does it have content: bytes, or is it the only container of an empty
 * variable? */
static bool
has_content(const struct fti_container *k)
{
	return k->used > 0 || (k->has_content == 1 && k->part == 0);
}

/* The containers, with the fields that others determine; for mem_free(). */
static struct fti_container *
correct(const struct fti_file *f, struct error *err)
{
	struct fti_container *list =
		mem_calloc(f->ncontainers + 1, sizeof(*list));

	if (list == NULL)
		error_no_memory(err);
	for (size_t v = 0; list != NULL && v < f->nvars; v++) {
		uint64_t dptr = 0;
		int32_t part = 0;

		for (size_t i = f->vars[v].first; i != SIZE_MAX;
		     i = f->containers[i].next) {
			struct fti_container *k = &list[i];

			*k = f->containers[i].c;
			k->part = part++;
			k->dptr = dptr;
			k->has_content = has_content(k);
			dptr += (uint64_t)k->size;
		}
	}
	return list;
}

/* Write fields to a record, and leave the bytes between them. */
static void
patch(enum fti_layout l, enum fti_field first, enum fti_field last,
      const unsigned char *from, unsigned char *to)
{
	for (int f = (int)first; f <= (int)last; f++) {
		const struct fti_place *p = &fti_format(l)->fields[f];

		memcpy(to + p->at, from + p->at, p->size);
	}
}

/* Sum the record of a container, with the fields that it should have. */
static int
add_container(const struct fti_checked *c, size_t i,
	      const struct fti_container *k, struct hash *h, struct error *err)
{
	const struct fti_file *f = c->file;
	const size_t size = fti_format(f->layout)->container;
	unsigned char record[FTI_RECORD_MAX], right[FTI_RECORD_MAX];

	if (fti_source_read(c->source, record, size, f->containers[i].at, err) <
	    0)
		return -1;
	fti_container_write(f->layout, k, right);
	patch(f->layout, FTI_ID, FTI_CHUNK_HASH, right, record);
	return hash_update(h, record, size, err);
}

static int
add_block(const struct fti_checked *c, size_t b,
	  const struct fti_container *list, struct hash *h, struct error *err)
{
	const struct fti_file *f = c->file;
	const struct fti_format *format = fti_format(f->layout);
	const struct fti_file_block *block = &f->blocks[b];
	const size_t end =
		b + 1 < f->nblocks ? f->blocks[b + 1].first : f->ncontainers;
	unsigned char record[FTI_RECORD_MAX];
	struct fti_block right = block->b;
	uint64_t data = 0;

	for (size_t i = block->first; i < end; i++)
		data += (uint64_t)list[i].size;
	right.dbsize = (int64_t)(data + format->block +
				 (end - block->first) * format->container);
	fti_block_write(f->layout, &right, record);
	if (hash_update(h, record, format->block, err) < 0)
		return -1;
	for (size_t i = block->first; i < end; i++)
		if (add_container(c, i, &list[i], h, err) < 0)
			return -1;
	return fti_source_sum(c->source, block->start, data, h, NULL, err);
}

/* The checksum that the file should have. */
static int
right_checksum(const struct fti_checked *c, struct hash *h, char *to,
	       struct error *err)
{
	const struct fti_file *f = c->file;
	struct fti_container *list = correct(f, err);
	int rc = list == NULL ? -1 : 0;

	for (size_t b = 0; rc == 0 && f->layout == FTI_A && b < f->nblocks; b++)
		rc = add_block(c, b, list, h, err);
	for (size_t i = 0;
	     rc == 0 && fti_format(f->layout)->footer && i < f->ncontainers;
	     i++)
		if (list[i].has_content != 0)
			rc = hash_update(h, c->sums[i], HASH_MD5_SIZE, err);
	mem_free(list);
	if (rc == 0)
		rc = hash_text(h, to, err);
	/* That of B does not depend on the records. */
	if (rc == 0 && f->layout == FTI_B)
		hash_hex(to, c->whole, HASH_MD5_SIZE);
	return rc;
}

int
fti_prove(const struct fti_checked *c, struct hash *h, bool *proven,
	  struct error *err)
{
	const struct fti_file *f = c->file;
	struct fti_meta meta = f->meta;
	unsigned char record[FTI_META_MAX], sum[HASH_MD5_SIZE];
	char text[HASH_TEXT];
	struct error why = ERROR_INIT;

	*proven = false;
	if (!f->usable)
		return 0;
	if (right_checksum(c, h, text, &why) < 0) {
		/* A container may end behind the file. */
		if (why.kind == ERROR_CORRUPT)
			return hash_sum(h, sum, err);
		return error_pass(err, &why);
	}
	memcpy(meta.checksum, text, FTI_CHECKSUM_SIZE);
	fti_meta_write(f->layout, &meta, record);
	if (fti_meta_hash(f->layout, record, h, sum, err) < 0)
		return -1;
	*proven = memcmp(f->meta.checksum, text, HASH_MD5_TEXT) == 0 ||
		  memcmp(f->meta.hash, sum, HASH_MD5_SIZE) == 0;
	return 0;
}
