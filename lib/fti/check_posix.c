/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_posix.c - the files of POSIX checkpoints against sizes and sums.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "fti/check.h"
#include "fti/check_impl.h"
#include "fti/content.h"
#include "fti/dcp.h"
#include "fti/file.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "mem.h"
#include "str.h"
#include "work.h"

/* Digits of the sum of a layer that FTI stores. */
#define LAYER_DIGITS 30

/* One file. */
struct one {
	struct fti_checked *c;
	const struct work *w;
	struct fti_where where; /* of findings */
	struct error why;	/* why the bytes cannot be read */
};

/* So many digits of sums of different bytes are never the same. */
#define DIGITS_ALIKE 24

bool
fti_sums_alike(const char *a, const char *b)
{
	const size_t len = strlen(a);
	unsigned same = 0;

	/* Behind a damaged end of its line more may follow. */
	for (size_t i = 0; i < len && strlen(b) >= len; i++)
		same += a[i] == b[i];
	return same >= DIGITS_ALIKE;
}

/* Compare a sum with the stored one, which is any text. */
static int
compare(const struct one *o, const char *key, const char *stored,
	const char *sum, struct error *err)
{
	char shown[2 * HASH_MD5_TEXT];

	if (stored == NULL)
		return fti_find(o->c->file, FTI_RULE_DATA, o->where, err,
				"%s is missing", key);
	if (str_eq(stored, sum))
		return 0;
	if (fti_sums_alike(sum, stored)) {
		memcpy(o->c->right_sum, sum, strlen(sum) + 1);
		return fti_find(o->c->file, FTI_RULE_SUM, o->where, err,
				"%s is damaged: %s, and the data have %s", key,
				str_printable(shown, sizeof(shown), stored),
				sum);
	}
	return fti_find(o->c->file, FTI_RULE_DATA, o->where, err,
			"%s is %s, but the data have %s", key,
			str_printable(shown, sizeof(shown), stored), sum);
}

/* --- Sums.  They return 0; 1: one->why says why the bytes cannot be read; -1:
 * another error. --- */

/* After a failure with one->why. */
static int
unread(const struct one *o, struct error *err)
{
	if (o->why.kind == ERROR_NOMEM || work_stopped(o->w))
		return error_pass(err, &o->why);
	return 1;
}

static int
check_sum(struct one *o, struct error *err)
{
	const struct fti_checked *c = o->c;
	struct hash *h = hash_new(HASH_MD5, &o->why);
	char sum[HASH_MD5_TEXT];
	int rc = h == NULL ? -1
			   : fti_source_sum(c->source, 0, c->source->size, h,
					    o->w, &o->why);

	if (rc == 0)
		rc = hash_text(h, sum, &o->why);
	hash_free(h);
	if (rc < 0)
		return unread(o, err);
	return compare(o, c->parity ? "rsed_checksum" : "ckpt_checksum",
		       c->parity ? c->posix->parity_sum : c->posix->sum, sum,
		       err);
}

/* Compare one layer, in the way of dcp_mode 1 and 2. */
static int
check_layer(struct one *o, const struct fti_dcp *d, size_t layer,
	    struct error *err)
{
	const char *stored = d->file->layers[layer].sum;
	struct fti_dcp_sums sums;
	char key[64];

	if (fti_dcp_sum(d, layer, &sums, o->w, &o->why) < 0)
		return unread(o, err);
	sums.md5[LAYER_DIGITS] = sums.crc[LAYER_DIGITS] = '\0';
	snprintf(key, sizeof(key), "dcp_layer%zu_hash", layer);
	o->where.block = layer;
	if (stored != NULL && str_eq(stored, sums.crc))
		return 0;
	return compare(o, key, stored, sums.md5, err);
}

/* The reason without "name: ".  A long name was cut. */
static const char *
without_name(const struct error *e, const char *name)
{
	const size_t len = strlen(name);

	return str_starts(e->text, name) && str_starts(e->text + len, ": ")
		       ? e->text + len + 2
		       : e->text;
}

/* After a failure with one->why: a finding, if the file is damaged. */
static int
judge(struct one *o, struct error *err)
{
	if (o->why.kind != ERROR_CORRUPT)
		return unread(o, err);
	return fti_find(o->c->file, FTI_RULE_STRUCTURE, o->where, err, "%s",
			without_name(&o->why, o->c->source->name));
}

/* Each block of the newest state must be in a layer, and numbers of blocks must
 * be in order. */
static int
check_blocks(struct one *o, const struct fti_dcp *d, struct error *err)
{
	struct fti_content content;
	uint64_t at = 0;
	int rc = fti_content_dcp(&content, d, FTI_DCP_LAST, &o->why);

	fti_content_fini(&content);
	for (size_t l = 1; l < d->nlayers && rc == 0; l++) {
		o->where.block = l;
		rc = fti_dcp_odd(d, l, &at, &o->why);
		if (rc > 0 &&
		    fti_find(o->c->file, FTI_RULE_LABEL, o->where, err,
			     "layer %zu: number of the block at byte "
			     "%" PRIu64 " is out of order",
			     l, at) < 0)
			return -1;
		rc = rc < 0 ? -1 : 0;
	}
	return rc < 0 ? judge(o, err) : 0;
}

static int
check_layers(struct one *o, struct error *err)
{
	struct fti_dcp d;
	int rc = fti_dcp_read(&d, o->c->posix, o->c->source, &o->why);

	rc = rc < 0 ? judge(o, err) : check_blocks(o, &d, err);
	for (size_t l = 0; l < d.nlayers && rc == 0 && o->c->data_read; l++)
		rc = check_layer(o, &d, l, err);
	fti_dcp_fini(&d);
	return rc;
}

/* --- Files --- */

/* The variables of a file follow each other without gaps. */
static int
check_vars(const struct one *o, struct error *err)
{
	const struct fti_posix_file *f = o->c->posix;
	uint64_t end = 0;

	for (size_t i = 0; i < f->nvars; i++) {
		const struct fti_posix_var *v = &f->vars[i];

		if (v->at != end)
			return fti_find(
				o->c->file, FTI_RULE_STRUCTURE, o->where, err,
				"var%zu_pos is %" PRIu64 ", expected %" PRIu64,
				i, v->at, end);
		end += v->size;
	}
	if (end == f->size)
		return 0;
	return fti_find(o->c->file, FTI_RULE_STRUCTURE, o->where, err,
			"ckpt_file_size is %" PRIu64
			", but the variables have %" PRIu64 " bytes",
			f->size, end);
}

static int
check_size(const struct one *o, struct error *err)
{
	const struct fti_checked *c = o->c;
	const uint64_t want = c->parity ? c->posix->max_size : c->posix->size;

	if (c->source->size == want)
		return 0;
	return fti_find(c->file, FTI_RULE_STRUCTURE, o->where, err,
			"has %" PRIu64 " bytes, expected %" PRIu64,
			c->source->size, want);
}

/* The sum decides whether a file of another size, or other variables, is
 * damaged, or its metadata are. */
static int
check_plain(struct one *o, struct error *err)
{
	struct fti_checked *c = o->c;
	int rc = c->parity ? 0 : check_vars(o, err);
	const bool vars_good = c->file->nfindings == 0;
	bool size_good = false, sum_good = true;

	if (rc == 0)
		rc = check_size(o, err);
	size_good = c->file->nfindings == !vars_good;
	if (rc == 0 && (c->data_read || !size_good)) {
		rc = check_sum(o, err);
		for (const struct fti_finding *n = c->file->findings; n != NULL;
		     n = n->next)
			sum_good = sum_good && n->rule != FTI_RULE_DATA;
	}
	c->exact = rc == 0 && sum_good;
	c->data_good = c->exact && vars_good;
	return rc;
}

int
fti_check_posix(struct fti_checked *c, const struct work *w, struct error *err)
{
	struct one o = { .c = c, .w = w, .where = FTI_FILE_ITSELF };
	const bool layers = c->posix->nlayers > 0;
	int rc = 0;

	if (layers)
		rc = check_size(&o, err);
	if (layers && rc == 0)
		rc = check_layers(&o, err);
	else if (!layers)
		rc = check_plain(&o, err);
	if (rc < 0)
		return -1;
	if (layers)
		c->exact = c->data_good = rc == 0 && c->file->nfindings == 0;
	c->verdict = rc > 0		       ? FTI_UNREAD
		     : c->file->nfindings == 0 ? FTI_INTACT
		     : c->exact		       ? FTI_REFUSED
					       : FTI_DAMAGED;
	if (rc > 0)
		c->unread = mem_strdup(o.why.text);
	return rc > 0 && c->unread == NULL ? error_no_memory(err) : 0;
}
