/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * posix_check.c - the files of POSIX checkpoints against sizes and sums.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arena.h"
#include "error.h"
#include "fti/content.h"
#include "fti/dcp.h"
#include "fti/file.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "str.h"
#include "work.h"

/* Digits of the sum of a layer that FTI stores. */
#define LAYER_DIGITS 30

struct run {
	struct fti_posix_checked *files;
	bool data;
	const struct work *w;
};

__attribute__((format(printf, 4, 5))) static int
find(struct fti_posix_checked *c, enum fti_rule rule, struct error *err,
     const char *fmt, ...)
{
	struct fti_finding *n = arena_alloc(c->arena, 1, sizeof(*n));
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n == NULL)
		return error_no_memory(err);
	*n = (struct fti_finding){
		.rule = rule,
		.at = -1,
		.block = c->layer,
		.container = SIZE_MAX,
		.field = -1,
		.text = arena_strdup(c->arena, text),
	};
	*c->tail = n;
	c->tail = &n->next;
	c->nfindings++;
	c->verdict = FTI_DAMAGED;
	return n->text == NULL ? error_no_memory(err) : 0;
}

/* Compare a sum with the stored one, which is any text. */
static int
compare(struct fti_posix_checked *c, const char *key, const char *stored,
	const char *sum, struct error *err)
{
	char shown[2 * HASH_MD5_TEXT];

	if (stored == NULL)
		return find(c, FTI_RULE_SUM, err, "%s is missing", key);
	if (str_eq(stored, sum))
		return 0;
	return find(c, FTI_RULE_DATA, err, "%s is %s, but the data have %s",
		    key, str_printable(shown, sizeof(shown), stored), sum);
}

/* --- Sums.  They return 0; 1: one->why says why the bytes cannot be read; -1:
 * another error. --- */

/* One file. */
struct one {
	const struct run *r;
	struct fti_posix_checked *c;
	struct error why;
};

/* After a failure with one->why. */
static int
unread(const struct one *o, struct error *err)
{
	if (o->why.kind == ERROR_NOMEM || work_stopped(o->r->w))
		return error_pass(err, &o->why);
	return 1;
}

static int
check_sum(struct one *o, struct error *err)
{
	struct fti_posix_checked *c = o->c;
	struct hash *h = hash_new(HASH_MD5, &o->why);
	char sum[HASH_MD5_TEXT];
	int rc = h == NULL ? -1
			   : fti_source_sum(c->source, 0, c->source->size, h,
					    o->r->w, &o->why);

	if (rc == 0)
		rc = hash_text(h, sum, &o->why);
	hash_free(h);
	if (rc < 0)
		return unread(o, err);
	return compare(c, c->parity ? "rsed_checksum" : "ckpt_checksum",
		       c->parity ? c->file->parity_sum : c->file->sum, sum,
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

	if (fti_dcp_sum(d, layer, &sums, o->r->w, &o->why) < 0)
		return unread(o, err);
	sums.md5[LAYER_DIGITS] = sums.crc[LAYER_DIGITS] = '\0';
	snprintf(key, sizeof(key), "dcp_layer%zu_hash", layer);
	o->c->layer = layer;
	if (stored != NULL && str_eq(stored, sums.crc))
		return 0;
	return compare(o->c, key, stored, sums.md5, err);
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
	return find(o->c, FTI_RULE_STRUCTURE, err, "%s",
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
		o->c->layer = l;
		rc = fti_dcp_odd(d, l, &at, &o->why);
		if (rc > 0 && find(o->c, FTI_RULE_LABEL, err,
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
	int rc = fti_dcp_read(&d, o->c->file, o->c->source, &o->why);

	rc = rc < 0 ? judge(o, err) : check_blocks(o, &d, err);
	for (size_t l = 0; l < d.nlayers && rc == 0 && o->r->data; l++)
		rc = check_layer(o, &d, l, err);
	fti_dcp_fini(&d);
	return rc;
}

/* --- Files --- */

/* The variables of a file follow each other without gaps. */
static int
check_vars(struct fti_posix_checked *c, struct error *err)
{
	uint64_t end = 0;

	for (size_t i = 0; i < c->file->nvars; i++) {
		const struct fti_posix_var *v = &c->file->vars[i];

		if (v->at != end)
			return find(c, FTI_RULE_STRUCTURE, err,
				    "var%zu_pos is %" PRIu64
				    ", expected %" PRIu64,
				    i, v->at, end);
		end += v->size;
	}
	if (end == c->file->size)
		return 0;
	return find(c, FTI_RULE_STRUCTURE, err,
		    "ckpt_file_size is %" PRIu64
		    ", but the variables have %" PRIu64 " bytes",
		    c->file->size, end);
}

static int
check_size(struct fti_posix_checked *c, struct error *err)
{
	const uint64_t want = c->parity ? c->file->max_size : c->file->size;

	if (c->source->size == want)
		return 0;
	return find(c, FTI_RULE_STRUCTURE, err,
		    "has %" PRIu64 " bytes, expected %" PRIu64, c->source->size,
		    want);
}

static int
check_all(struct one *o, struct error *err)
{
	struct fti_posix_checked *c = o->c;
	int rc = check_size(c, err);

	if (rc == 0 && c->file->nlayers > 0)
		return check_layers(o, err);
	if (rc == 0 && !c->parity)
		rc = check_vars(c, err);
	return rc == 0 && o->r->data ? check_sum(o, err) : rc;
}

static int
check_file(void *arg, size_t i, unsigned worker, struct error *err)
{
	const struct run *r = arg;
	struct fti_posix_checked *c = &r->files[i];
	struct one o = { .r = r, .c = c };
	int rc = 0;

	(void)worker;
	c->verdict = FTI_INTACT;
	c->data_read = r->data;
	c->tail = &c->findings;
	c->layer = SIZE_MAX;
	c->arena = arena_new();
	if (c->arena == NULL)
		return error_no_memory(err);
	rc = check_all(&o, err);
	if (rc <= 0)
		return rc;
	c->verdict = FTI_UNREAD;
	c->unread = mem_strdup(o.why.text);
	return c->unread == NULL ? error_no_memory(err) : 0;
}

int
fti_posix_check(struct fti_posix_checked *files, size_t count, bool data,
		const struct work *w, struct error *err)
{
	struct run r = { .files = files, .data = data };
	uint64_t bytes = 0;

	r.w = work_or_default(w);
	for (size_t i = 0; i < count; i++)
		bytes += data ? files[i].source->size : 0;
	progress_phase(r.w->progress, "verifying", bytes);
	return par_for(r.w->par, count, 1, check_file, &r, err);
}

void
fti_posix_checked_fini(struct fti_posix_checked *c)
{
	arena_free(c->arena);
	mem_free(c->unread);
	c->arena = NULL;
	c->findings = NULL;
	c->nfindings = 0;
	c->unread = NULL;
}
