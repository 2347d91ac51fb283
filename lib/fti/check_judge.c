/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_judge.c - what the sums of an FTI-FF file prove.
 *
 * Two sums are over the data: each container has one, and so has the file.  If
 * only one of them is wrong, that sum is damaged and the data are good.
 */
#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "fti/check.h"
#include "fti/check_impl.h"
#include "fti/file.h"
#include "fti/input.h"
#include "hash.h"
#include "mem.h"

/*
 * --- Proofs ---
 *
 * What the checksum of a file proves if it differs, although the data of all
 * containers agree with their sums.  Then either the stored checksum is
 * damaged, or a field of a record that the checksum depends on.  Some fields
 * can be computed from others; if with these the checksum is right, the file is
 * as it was.  Else a container may lack bytes, or belong to another variable,
 * and nothing is proven.
 */

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

/*
 * The checksum of the file differs, although all containers agree with their
 * sums: is it known what is wrong?  *proven: with fields that can be computed
 * from others the checksum is right, or the stored one is damaged.
 */
static int
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

/* How the stored checksum of a file compares. */
enum match {
	MATCH_READER, /* as FTI computes it when it reads the file */
	MATCH_WRITER, /* only as FTI computes it when it writes the file */
	MATCH_NONE,
};

int
fti_reader_checksum(const struct fti_file *f,
		    unsigned char (*sums)[HASH_MD5_SIZE], struct hash *h,
		    char *to, struct error *err)
{
	for (size_t i = 0; i < f->ncontainers; i++)
		if (f->containers[i].c.has_content != 0 &&
		    hash_update(h, sums[i], HASH_MD5_SIZE, err) < 0)
			return -1;
	return hash_text(h, to, err);
}

/* The same over all containers; an empty one has kept an old sum. */
static int
writer_checksum(const struct fti_file *f, unsigned char (*sums)[HASH_MD5_SIZE],
		struct hash *h, char *to, struct error *err)
{
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *c = &f->containers[i].c;

		if (hash_update(h, c->has_content != 0 ? sums[i] : c->hash,
				HASH_MD5_SIZE, err) < 0)
			return -1;
	}
	return hash_text(h, to, err);
}

static bool
is_stored(const struct fti_file *f, const char *text)
{
	return memcmp(f->meta.checksum, text, HASH_MD5_TEXT) == 0;
}

static int
match_checksum(const struct fti_checked *c, struct hash *h, enum match *out,
	       struct error *err)
{
	const struct fti_file *f = c->file;
	char text[HASH_TEXT];

	*out = MATCH_NONE;
	if (f->kind == FTI_KIND_PARITY || !fti_format(f->layout)->footer) {
		hash_hex(text, c->whole, HASH_MD5_SIZE);
		/* Without the data it agrees as far as one knows. */
		if (!c->data_read || is_stored(f, text))
			*out = MATCH_READER;
		return 0;
	}
	if (fti_reader_checksum(f, c->sums, h, text, err) < 0)
		return -1;
	if (is_stored(f, text)) {
		*out = MATCH_READER;
		return 0;
	}
	if (writer_checksum(f, c->sums, h, text, err) < 0)
		return -1;
	if (is_stored(f, text))
		*out = MATCH_WRITER;
	return 0;
}

/* Report containers whose data differ from their sum.  Sets *wrong to their
 * number. */
static int
judge_containers(struct fti_checked *c, bool proven, size_t *wrong,
		 struct error *err)
{
	struct fti_file *f = c->file;
	int rc = 0;

	*wrong = 0;
	for (size_t i = 0; i < f->ncontainers && rc == 0; i++) {
		const struct fti_container *k = &f->containers[i].c;

		if (k->used <= 0 ||
		    memcmp(k->hash, c->sums[i], HASH_MD5_SIZE) == 0)
			continue;
		++*wrong;
		rc = fti_find(f, proven ? FTI_RULE_SUM : FTI_RULE_DATA,
			      FTI_CONTAINER_FIELD(i, FTI_CHUNK_HASH), err,
			      proven ? "container %zu: its stored sum is "
				       "damaged; the checksum of the file "
				       "proves the data (variable %" PRId32 ")"
				     : "container %zu: its data differ from "
				       "their sum (variable %" PRId32 ")",
			      i, k->id);
	}
	return rc;
}

/* The checksum is wrong, although no container differs from its sum. */
static int
judge_records(struct fti_checked *c, struct hash *h, struct error *err)
{
	const struct fti_where where = FTI_META_FIELD(FTI_CHECKSUM);
	bool proven = false;

	if (fti_prove(c, h, &proven, err) < 0)
		return -1;
	return proven ? fti_find(c->file, FTI_RULE_META, where, err,
				 "the checksum of the file is wrong, although "
				 "the data of all containers agree with their "
				 "sums")
		      : fti_find(c->file, FTI_RULE_DATA, where, err,
				 "the checksum of the file is wrong, although "
				 "the data of all containers agree with their "
				 "sums: a size or id in the records may be "
				 "wrong");
}

static int
judge_checksum(struct fti_checked *c, enum match match, size_t wrong,
	       struct hash *h, struct error *err)
{
	struct fti_file *f = c->file;
	const struct fti_where where = FTI_META_FIELD(FTI_CHECKSUM);

	if (match == MATCH_READER || f->cut > 0)
		return 0;
	if (match == MATCH_WRITER && f->empty > 0)
		return fti_find(f, FTI_RULE_STALE, where, err,
				"the checksum is over old sums of %zu emptied "
				"containers; all data are intact",
				f->empty);
	if (f->kind == FTI_KIND_PARITY)
		return fti_find(f, FTI_RULE_DATA, where, err,
				"the parity differs from its checksum");
	return wrong > 0 ? fti_find(f, FTI_RULE_DATA, where, err,
				    "the data differ from the checksum of the "
				    "file")
			 : judge_records(c, h, err);
}

int
fti_judge(struct fti_checked *c, struct hash *h, struct error *err)
{
	enum match match = MATCH_NONE;
	size_t wrong = 0;
	const struct fti_file *f = c->file;

	c->verdict = c->unread != NULL ? FTI_UNREAD : FTI_FOREIGN;
	if (c->unread != NULL || c->file->kind == FTI_KIND_NONE)
		return 0;
	/* Without all records there is nothing to compare. */
	if ((c->file->complete || c->file->kind == FTI_KIND_PARITY) &&
	    (match_checksum(c, h, &match, err) < 0 ||
	     judge_containers(c, match != MATCH_NONE, &wrong, err) < 0 ||
	     judge_checksum(c, match, wrong, h, err) < 0))
		return -1;
	c->data_good = f->usable || f->kind == FTI_KIND_PARITY;
	for (const struct fti_finding *n = f->findings; n != NULL; n = n->next)
		if (n->rule == FTI_RULE_DATA)
			c->data_good = false;
	if (f->nfindings == 0 || f->worst == FTI_RULE_UNUSED)
		c->verdict = FTI_INTACT;
	else if (f->worst <= FTI_RULE_SUM && c->data_good)
		c->verdict = FTI_REFUSED;
	else
		c->verdict = FTI_DAMAGED;
	c->exact = c->verdict == FTI_INTACT ||
		   (c->verdict == FTI_REFUSED && f->worst <= FTI_RULE_STALE);
	return 0;
}
