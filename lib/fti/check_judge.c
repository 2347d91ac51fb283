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
#include "fti/file.h"
#include "hash.h"

/* How the stored checksum of a file compares. */
enum match {
	MATCH_READER, /* as FTI computes it when it reads the file */
	MATCH_WRITER, /* only as FTI computes it when it writes the file */
	MATCH_NONE,
};

void
fti_checksum(const struct fti_checked *c, bool writer, struct hash *h, char *to)
{
	const struct fti_file *f = c->file;

	if (f->kind == FTI_KIND_PARITY || !fti_format(f->layout)->footer) {
		hash_hex(to, c->whole, HASH_MD5_SIZE);
		return;
	}
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *k = &f->containers[i].c;

		/* An empty container has kept an old sum. */
		if (k->has_content != 0 || writer)
			hash_update(h,
				    k->has_content != 0 ? c->sums[i] : k->hash,
				    HASH_MD5_SIZE);
	}
	hash_text(h, to);
}

/* Is only the checksum damaged?  With this one the sum over the metadata is
 * right. */
static bool
proves(const struct fti_file *f, const char *checksum, struct hash *h)
{
	struct fti_meta meta = f->meta;
	unsigned char record[FTI_META_MAX], sum[HASH_MD5_SIZE];

	memcpy(meta.checksum, checksum, FTI_CHECKSUM_SIZE);
	fti_record_write(f->layout, FTI_META, &meta, record);
	fti_meta_hash(f->layout, record, h, sum);
	return memcmp(f->meta.hash, sum, HASH_MD5_SIZE) == 0;
}

/* Compare the checksum of the file, and report containers whose data differ
 * from their sum. */
static void
compare(struct fti_checked *c, struct hash *h)
{
	struct fti_file *f = c->file;
	const struct fti_where where = FTI_META_FIELD(FTI_CHECKSUM);
	enum match match = MATCH_NONE;
	char text[HASH_TEXT];
	size_t wrong = 0;
	bool proven = false;

	for (int m = MATCH_WRITER; m >= MATCH_READER; m--) {
		fti_checksum(c, m == MATCH_WRITER, h, text);
		if (memcmp(f->meta.checksum, text, FTI_CHECKSUM_SIZE) == 0)
			match = (enum match)m;
	}
	/* Without the data it agrees as far as one knows. */
	if (!c->data_read &&
	    (f->kind == FTI_KIND_PARITY || !fti_format(f->layout)->footer))
		match = MATCH_READER;
	for (size_t i = 0; i < f->ncontainers; i++) {
		const struct fti_container *k = &f->containers[i].c;

		if (k->used == 0 ||
		    memcmp(k->hash, c->sums[i], HASH_MD5_SIZE) == 0)
			continue;
		wrong++;
		if (match != MATCH_NONE)
			fti_find(f, FTI_RULE_SUM,
				 FTI_CONTAINER_FIELD(i, FTI_CHUNK_HASH),
				 "its stored sum is damaged; the checksum of "
				 "the file proves the data (variable %" PRId32
				 ")",
				 k->id);
		else
			fti_find(f, FTI_RULE_DATA,
				 FTI_CONTAINER_FIELD(i, FTI_CHUNK_HASH),
				 "its data differ from their sum (variable "
				 "%" PRId32 ")",
				 k->id);
	}
	if (match == MATCH_WRITER && f->empty > 0) {
		fti_find(f, FTI_RULE_STALE, where,
			 "the checksum is over old sums of %zu emptied "
			 "containers; all data are intact",
			 f->empty);
	} else if (match == MATCH_NONE && f->kind == FTI_KIND_PARITY) {
		fti_find(f, FTI_RULE_DATA, where,
			 "the parity differs from its checksum");
	} else if (match == MATCH_NONE && wrong > 0) {
		fti_find(f, FTI_RULE_DATA, where,
			 "the data differ from the checksum of the file");
	} else if (match == MATCH_NONE) {
		proven = !f->meta_good && proves(f, text, h);
		fti_find(f, proven ? FTI_RULE_META : FTI_RULE_DATA, where,
			 "the checksum of the file is wrong, although the data "
			 "of all containers agree with their sums%s",
			 proven ? ""
				: ": a size or id in the records may be wrong");
	}
}

void
fti_judge(struct fti_checked *c, struct hash *h)
{
	struct fti_file *f = c->file;

	c->verdict = c->unread != NULL ? FTI_UNREAD : FTI_FOREIGN;
	if (c->unread != NULL)
		return;
	/* What no sum has disproved is not lost. */
	c->open = f->kind != FTI_KIND_PARITY && f->size > 0;
	if (f->kind == FTI_KIND_NONE)
		return;
	if (f->complete || f->kind == FTI_KIND_PARITY)
		compare(c, h);
	c->data_good = f->usable || f->kind == FTI_KIND_PARITY;
	for (const struct fti_finding *n = f->findings; n != NULL; n = n->next)
		if (n->rule == FTI_RULE_DATA) {
			const struct fti_container *k = NULL;

			c->data_good = false;
			if (!c->data_read || n->field != FTI_CHUNK_HASH)
				continue;
			/* In A, the checksum of the file is over this sum, too;
			 * and a sum over perhaps the wrong bytes disproves
			 * nothing. */
			k = &f->containers[n->container].c;
			c->open = c->open &&
				  (f->layout == FTI_A || k->used != k->size ||
				   f->worst == FTI_RULE_STRUCTURE);
		}
	if (f->nfindings == 0 || f->worst == FTI_RULE_UNUSED)
		c->verdict = FTI_INTACT;
	else if (f->worst <= FTI_RULE_SUM && c->data_good)
		c->verdict = FTI_REFUSED;
	else
		c->verdict = FTI_DAMAGED;
	c->open = c->open && c->verdict == FTI_DAMAGED;
	c->exact = c->verdict == FTI_INTACT ||
		   (c->verdict == FTI_REFUSED && f->worst <= FTI_RULE_STALE);
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

bool
fti_repairable(const struct fti_checked *c)
{
	return c->posix == NULL && c->unread == NULL && c->data_good &&
	       c->file->kind == FTI_KIND_DATA && worst_finding(c->file) == NULL;
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
	n = f->findings;
	return error_set(err, ERROR_CORRUPT, "%s: its data are not proven%s%s",
			 f->name, n != NULL ? ": " : "",
			 n != NULL ? n->text : "");
}
