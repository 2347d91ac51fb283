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
#include "hash.h"

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
