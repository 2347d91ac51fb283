/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_judge.c - what the sums of an FTI-FF file prove.
 *
 * Two sums are over the data: each container has one, and so has the file.  If
 * only one of them is wrong, that sum is damaged and the data are good.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fti/check.h"
#include "fti/draft.h"
#include "fti/file.h"
#include "fti/input.h"
#include "hash.h"
#include "mem.h"
#include "num.h"

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

/*
 * The checksum of the file differs, although all containers agree with their
 * sums, or in A perhaps because of a damaged sum: is it known what is wrong?
 * *proven: with fields that can be computed from others the checksum is right,
 * or the stored one is damaged.
 */
static int
prove(const struct fti_checked *c, struct hash *h, bool *proven,
      struct error *err)
{
	const struct fti_file *f = c->file;
	struct fti_draft d;
	struct fti_meta meta = f->meta;
	unsigned char record[FTI_META_MAX], sum[HASH_MD5_SIZE];
	char text[HASH_TEXT];
	struct error why = ERROR_INIT;
	int rc = 0;

	*proven = false;
	if (!f->usable)
		return 0;
	rc = fti_describe_found(&d, c, &why);
	/* Only what the layout cannot hold is refused. */
	(void)fti_draft_plan(&d, NULL);
	/* A sums its records, too.  Bytes between fields are as they are. */
	for (size_t b = 0; rc == 0 && f->layout == FTI_A && b < f->nblocks;
	     b++) {
		const size_t len = fti_draft_records_size(&d, b);
		unsigned char *records = mem_alloc(len, 1);

		rc = fti_source_read(c->source, records, len, f->blocks[b].at,
				     &why);
		fti_draft_records(&d, b, records);
		hash_update(h, records, len);
		mem_free(records);
		if (rc == 0)
			rc = fti_source_sum(c->source, f->blocks[b].start,
					    d.blocks[b].dbsize - len, h, NULL,
					    &why);
	}
	for (size_t i = 0;
	     rc == 0 && fti_format(f->layout)->footer && i < f->ncontainers;
	     i++)
		if (d.containers[i].c.has_content != 0)
			hash_update(h, c->sums[i], HASH_MD5_SIZE);
	fti_draft_fini(&d);
	hash_text(h, text);
	/* A container may end behind the file. */
	if (rc < 0)
		return why.kind == ERROR_CORRUPT ? 0 : error_pass(err, &why);
	/* That of B does not depend on the records. */
	if (f->layout == FTI_B)
		hash_hex(text, c->whole, HASH_MD5_SIZE);
	memcpy(meta.checksum, text, FTI_CHECKSUM_SIZE);
	fti_record_write(f->layout, FTI_META, &meta, record);
	fti_meta_hash(f->layout, record, h, sum);
	*proven = memcmp(f->meta.checksum, text, HASH_MD5_TEXT) == 0 ||
		  memcmp(f->meta.hash, sum, HASH_MD5_SIZE) == 0;
	return 0;
}

/* A chunksize that is impossible, or 0: all lengths are tried if the container
 * has at most so many bytes. */
#define ALL_LENGTHS (1 << 20)

int
fti_check_length(const struct fti_checked *c,
		 const struct fti_file_container *of, int64_t *out,
		 const struct work *w, struct error *err)
{
	const struct fti_container *k = &of->c;
	const unsigned width =
		fti_format(c->file->layout)->fields[FTI_CHUNKSIZE].size;
	const bool all =
		(of->used <= 0 || of->used > k->size) && k->size <= ALL_LENGTHS;
	int64_t lengths[8 * 256];
	size_t count = 0;
	uint64_t at = 0;
	unsigned char sum[HASH_MD5_SIZE];
	struct hash *h = hash_new(HASH_MD5, err),
		    *part = hash_new(HASH_MD5, err);
	int rc = 0;

	lengths[count++] = k->size;
	for (unsigned i = 0; i < width * 256; i++) {
		uint64_t n = (uint64_t)of->used ^ (uint64_t)(i % 256)
							  << (i / 256 * 8);

		if (width < sizeof(n))
			n &= UINT32_MAX;
		if (i % 256 > 0 && n < (uint64_t)k->size)
			lengths[count++] = (int64_t)n;
	}
	qsort(lengths, count, sizeof(*lengths), num_by_id);
	count = all ? (size_t)k->size + 1 : count;
	for (size_t i = 0; rc == 0 && *out < 0 && i < count; i++) {
		const uint64_t end = all ? i : (uint64_t)lengths[i];

		rc = fti_source_sum(c->source, k->fptr + at, end - at, h, w,
				    err);
		at = end;
		hash_copy(part, h);
		hash_sum(part, sum);
		if (rc == 0 && memcmp(sum, k->hash, sizeof(sum)) == 0)
			*out = (int64_t)end;
	}
	hash_free(h);
	hash_free(part);
	return rc;
}

/* How the stored checksum of a file compares. */
enum match {
	MATCH_READER, /* as FTI computes it when it reads the file */
	MATCH_WRITER, /* only as FTI computes it when it writes the file */
	MATCH_NONE,
};

void
fti_checksum(const struct fti_file *f, unsigned char (*sums)[HASH_MD5_SIZE],
	     bool writer, struct hash *h, char *to)
{
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *c = &f->containers[i].c;

		/* An empty container has kept an old sum. */
		if (c->has_content != 0 || writer)
			hash_update(h, c->has_content != 0 ? sums[i] : c->hash,
				    HASH_MD5_SIZE);
	}
	hash_text(h, to);
}

/* Is the stored checksum this one?  One of which a part is damaged, as myHash
 * says, is it, too. */
static bool
is_checksum(const struct fti_file *f, const char *text)
{
	unsigned alike = 0;

	for (size_t i = 0; i < HASH_MD5_TEXT; i++)
		alike += f->meta.checksum[i] == text[i];
	return alike == HASH_MD5_TEXT ||
	       (!f->meta_good && alike >= FTI_DIGITS_ALIKE);
}

bool
fti_sums_agree(const unsigned char *a, const unsigned char *b)
{
	unsigned same = 0;

	for (unsigned i = 0; i < HASH_MD5_SIZE; i++)
		same += a[i] == b[i];
	return same >= HASH_MD5_SIZE / 2;
}

/* `proven`: as prove() says. */
static void
judge_checksum(struct fti_checked *c, enum match match, size_t wrong,
	       bool proven)
{
	struct fti_file *f = c->file;
	const struct fti_where where = FTI_META_FIELD(FTI_CHECKSUM);

	if (match == MATCH_READER || f->cut > 0 || (wrong > 0 && proven))
		return;
	if (match == MATCH_WRITER && f->empty > 0)
		fti_find(f, FTI_RULE_STALE, where,
			 "the checksum is over old sums of %zu emptied "
			 "containers; all data are intact",
			 f->empty);
	else if (f->kind == FTI_KIND_PARITY)
		fti_find(f, FTI_RULE_DATA, where,
			 "the parity differs from its checksum");
	else if (wrong > 0)
		fti_find(f, FTI_RULE_DATA, where,
			 "the data differ from the checksum of the file");
	else
		fti_find(f, proven ? FTI_RULE_META : FTI_RULE_DATA, where,
			 "the checksum of the file is wrong, although the data "
			 "of all containers agree with their sums%s",
			 proven ? ""
				: ": a size or id in the records may be wrong");
}

/* Compare the checksum of the file, and report containers whose data differ
 * from their sum. */
static int
compare(struct fti_checked *c, struct hash *h, struct error *err)
{
	struct fti_file *f = c->file;
	enum match match = MATCH_NONE;
	char text[HASH_TEXT];
	size_t wrong = 0;
	bool proven = false;

	if (f->kind == FTI_KIND_PARITY || !fti_format(f->layout)->footer) {
		hash_hex(text, c->whole, HASH_MD5_SIZE);
		/* Without the data it agrees as far as one knows. */
		if (!c->data_read || is_checksum(f, text))
			match = MATCH_READER;
	} else {
		for (int m = MATCH_WRITER; m >= MATCH_READER; m--) {
			fti_checksum(f, c->sums, m == MATCH_WRITER, h, text);
			if (is_checksum(f, text))
				match = (enum match)m;
		}
	}
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *k = &f->containers[i].c;

		wrong += k->used > 0 && !fti_sums_agree(k->hash, c->sums[i]);
	}
	/* That of A is over the sums, too. */
	if (match == MATCH_NONE && f->cut == 0 && f->kind == FTI_KIND_DATA &&
	    (wrong == 0 || f->layout == FTI_A) && prove(c, h, &proven, err) < 0)
		return -1;
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *k = &f->containers[i].c;
		const bool good = match != MATCH_NONE || proven;
		const bool part = fti_sums_agree(k->hash, c->sums[i]);

		if (k->used > 0 &&
		    memcmp(k->hash, c->sums[i], HASH_MD5_SIZE) != 0)
			fti_find(
				f, good || part ? FTI_RULE_SUM : FTI_RULE_DATA,
				FTI_CONTAINER_FIELD(i, FTI_CHUNK_HASH),
				good ? "its stored sum is damaged; the checksum "
				       "of the file proves the data (variable "
				       "%" PRId32 ")"
				: part ? "its stored sum is damaged; the rest of "
					 "it proves the data (variable "
					 "%" PRId32 ")"
				       : "its data differ from their sum "
					 "(variable %" PRId32 ")",
				k->id);
	}
	judge_checksum(c, match, wrong, proven);
	return 0;
}

int
fti_judge(struct fti_checked *c, struct hash *h, struct error *err)
{
	struct fti_file *f = c->file;
	const struct fti_file_container *k = NULL;

	c->verdict = c->unread != NULL ? FTI_UNREAD : FTI_FOREIGN;
	if (c->unread != NULL || f->kind == FTI_KIND_NONE)
		return 0;
	/* Without all records there is nothing to compare. */
	/* What no sum has disproved is not lost. */
	c->open = f->complete ? f->usable
			      : (int64_t)f->size == f->meta.ckpt_size ||
					(int64_t)f->size == f->meta.fs;
	if (f->complete)
		fti_file_check_lengths(f);
	if ((f->complete || f->kind == FTI_KIND_PARITY) &&
	    compare(c, h, err) < 0)
		return -1;
	c->data_good = f->usable || f->kind == FTI_KIND_PARITY;
	for (const struct fti_finding *n = f->findings; n != NULL; n = n->next)
		if (n->rule == FTI_RULE_DATA) {
			c->data_good = false;
			if (!c->data_read || n->field != FTI_CHUNK_HASH)
				continue;
			/* A sum over the wrong bytes disproves nothing. */
			k = &f->containers[n->container];
			c->open =
				c->open && !k->settled && k->used != k->c.used;
		}
	if (f->nfindings == 0 || f->worst == FTI_RULE_UNUSED)
		c->verdict = FTI_INTACT;
	else if (f->worst <= FTI_RULE_SUM && c->data_good)
		c->verdict = FTI_REFUSED;
	else
		c->verdict = FTI_DAMAGED;
	c->open = c->open && c->verdict == FTI_DAMAGED &&
		  f->kind == FTI_KIND_DATA;
	c->exact = c->verdict == FTI_INTACT ||
		   (c->verdict == FTI_REFUSED && f->worst <= FTI_RULE_STALE);
	return 0;
}

/* --- Proven files --- */

/* The finding that cannot be repaired, or NULL.  Sizes, offsets, flags and sums
 * are computed again. */
static const struct fti_finding *
worst_finding(const struct fti_file *f)
{
	const struct fti_finding *n = f->findings;

	while (n != NULL &&
	       (n->rule < FTI_RULE_DATA || n->rule == FTI_RULE_META ||
		n->rule == FTI_RULE_DERIVED))
		n = n->next;
	return n;
}

/* Do containers and records have the size of the file? */
static bool
has_size(const struct fti_file *f)
{
	const struct fti_format *format = fti_format(f->layout);
	const uint64_t size = format->meta + f->nblocks * format->block +
			      f->ncontainers * format->container + f->allocated;

	/* B leaves out empty containers at its end. */
	return size == f->size + f->cut ||
	       (f->layout == FTI_B && size > f->size &&
		(size == (uint64_t)f->meta.fs ||
		 size == (uint64_t)f->meta.ckpt_size));
}

bool
fti_repairable(const struct fti_checked *c)
{
	return c->posix == NULL && c->unread == NULL && c->data_good &&
	       c->file->kind == FTI_KIND_DATA &&
	       worst_finding(c->file) == NULL && has_size(c->file);
}

int
fti_proven(const struct fti_checked *c, struct error *err)
{
	const struct fti_file *f = c->file;
	const struct fti_finding *n = NULL;

	if (c->unread != NULL)
		return error_set(err, ERROR_SYSTEM, "%s", c->unread);
	if (f->kind == FTI_KIND_PARITY)
		return error_set(err, ERROR_CORRUPT,
				 "%s: is a parity file: it holds no variables",
				 f->name);
	if (c->data_read && fti_repairable(c))
		return 0;
	n = worst_finding(f);
	if (n != NULL)
		return error_set(err, ERROR_CORRUPT, "%s: %s", f->name,
				 n->text);
	if (!has_size(f))
		return error_set(err, ERROR_CORRUPT,
				 "%s: its containers and records do not have "
				 "its size",
				 f->name);
	n = f->findings;
	return error_set(err, ERROR_CORRUPT, "%s: its data are not proven%s%s",
			 f->name, n != NULL ? ": " : "",
			 n != NULL ? n->text : "");
}
