/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "fti/file.h"
#include "fti/input.h"
#include "fti/posix.h"
#include "mem.h"
#include "par.h"
#include "progress.h"
#include "str.h"
#include "work.h"

const char *const fti_verdict_names[] = {
	[FTI_INTACT] = "intact",   [FTI_REFUSED] = "intact, but FTI refuses it",
	[FTI_DAMAGED] = "damaged", [FTI_FOREIGN] = "not an FTI-FF file",
	[FTI_UNREAD] = "unknown",
};

/* --- POSIX --- */

/* Digits of the sum of a layer that FTI stores. */
#define LAYER_DIGITS 30

/* A POSIX file. */
struct one {
	struct fti_checked *c;
	const struct work *w;
	struct fti_where where; /* of findings */
	struct error why;	/* why the bytes cannot be read */
};

/* Do two sums in text differ so little that one of them is damaged, and both
 * are of the same bytes? */
static bool
sums_alike(const char *a, const char *b)
{
	const size_t x = strlen(a), y = strlen(b);
	unsigned start = 0, end = 0;

	/* In a damaged line more may stand before it or behind it, or it is
	 * cut. */
	for (size_t i = 0; i < x && i < y; i++) {
		start += a[i] == b[i];
		end += a[x - 1 - i] == b[y - 1 - i];
	}
	return start >= FTI_DIGITS_ALIKE || end >= FTI_DIGITS_ALIKE;
}

/* Compare a sum with the stored one, which is any text. */
static void
compare(const struct one *o, const char *key, const char *stored,
	const char *sum)
{
	if (stored == NULL) {
		fti_find(o->c->file, FTI_RULE_DATA, o->where, "%s is missing",
			 key);
	} else if (sums_alike(sum, stored) && !str_eq(stored, sum)) {
		fti_find(o->c->file, FTI_RULE_SUM, o->where,
			 "%s is damaged: %s, and the data have %s", key,
			 str_quoted(stored), sum);
	} else if (!str_eq(stored, sum)) {
		fti_find(o->c->file, FTI_RULE_DATA, o->where,
			 "%s is %s, but the data have %s", key,
			 str_quoted(stored), sum);
	}
}

static void
check_size(const struct one *o, uint64_t want)
{
	if (o->c->source->size != want)
		fti_find(o->c->file, FTI_RULE_STRUCTURE, o->where,
			 "has %" PRIu64 " bytes, expected %" PRIu64,
			 o->c->source->size, want);
}

/* --- Sums.  They return 0; 1: one->why says why the bytes cannot be read; -1:
 * another error. --- */

/* After a failure with one->why. */
static int
unread(const struct one *o, struct error *err)
{
	return work_stopped(o->w) ? error_pass(err, &o->why) : 1;
}

/* The sum of a layer is made as dcp_mode 1 or 2 makes it. */
static int
check_layers(struct one *o, struct error *err)
{
	const struct fti_posix_file *f = o->c->posix;
	struct fti_content content = { .source = NULL };
	struct fti_dcp d;
	struct fti_dcp_sums sums;
	const char *name = o->c->source->name, *text = NULL;
	char key[64];
	int rc = fti_dcp_read(&d, f, o->c->source, &o->why);

	/* Each block of the newest state must be in a layer, and numbers of
	 * blocks must be in order. */
	if (rc == 0)
		rc = fti_content_dcp(&content, &d, FTI_DCP_LAST, &o->why);
	fti_content_fini(&content);
	for (size_t l = 1; l < d.nlayers && rc == 0; l++) {
		o->where.block = l;
		if (d.layers[l].odd > 0)
			fti_find(o->c->file, FTI_RULE_LABEL, o->where,
				 "layer %zu: number of the block at byte "
				 "%" PRIu64 " is out of order",
				 l, d.layers[l].odd);
	}
	if (rc < 0 && o->why.kind != ERROR_CORRUPT) {
		rc = unread(o, err);
	} else if (rc < 0) {
		/* A finding: the file is damaged.  A long name was cut. */
		text = o->why.text;
		if (str_starts(text, name) &&
		    str_starts(text + strlen(name), ": "))
			text += strlen(name) + 2;
		fti_find(o->c->file, FTI_RULE_STRUCTURE, o->where, "%s", text);
		rc = 0;
	}
	for (size_t l = 0; l < d.nlayers && rc == 0 && o->c->data_read; l++) {
		if (fti_dcp_sum(&d, l, &sums, o->w, &o->why) < 0) {
			rc = unread(o, err);
			break;
		}
		sums.md5[LAYER_DIGITS] = sums.crc[LAYER_DIGITS] = '\0';
		snprintf(key, sizeof(key), "dcp_layer%zu_hash", l);
		o->where.block = l;
		if (f->layers[l].sum == NULL ||
		    !str_eq(f->layers[l].sum, sums.crc))
			compare(o, key, f->layers[l].sum, sums.md5);
	}
	fti_dcp_fini(&d);
	return rc;
}

/* The variables of a file follow each other without gaps.  The sum decides
 * whether a file of another size, or other variables, is damaged, or its
 * metadata are. */
static int
check_plain(struct one *o, struct error *err)
{
	struct fti_checked *c = o->c;
	const struct fti_posix_file *f = c->posix;
	const uint64_t want = c->parity ? f->max_size : f->size;
	uint64_t end = 0;
	size_t i = 0;
	bool good = true;

	for (; !c->parity && i < f->nvars && f->vars[i].at == end; i++)
		end += f->vars[i].size;
	if (!c->parity && i < f->nvars)
		fti_find(c->file, FTI_RULE_STRUCTURE, o->where,
			 "var%zu_pos is %" PRIu64 ", expected %" PRIu64, i,
			 f->vars[i].at, end);
	else if (!c->parity && end != f->size)
		fti_find(c->file, FTI_RULE_STRUCTURE, o->where,
			 "ckpt_file_size is %" PRIu64
			 ", but the variables have %" PRIu64 " bytes",
			 f->size, end);
	check_size(o, want);
	if (c->data_read || c->source->size != want) {
		struct hash *h = hash_new(HASH_MD5, NULL);
		const int rc = fti_source_sum(c->source, 0, c->source->size, h,
					      o->w, &o->why);

		hash_text(h, c->sum);
		hash_free(h);
		if (rc < 0)
			return unread(o, err);
		compare(o, c->parity ? "rsed_checksum" : "ckpt_checksum",
			c->parity ? f->parity_sum : f->sum, c->sum);
		for (const struct fti_finding *n = c->file->findings; n != NULL;
		     n = n->next)
			good = good && n->rule != FTI_RULE_DATA;
	}
	c->exact = good;
	c->data_good = good &&
		       (c->parity || (i == f->nvars && end == c->source->size));
	return 0;
}

static int
check_posix(struct fti_checked *c, const struct work *w, struct error *err)
{
	struct one o = { .c = c, .w = w, .where = FTI_FILE_ITSELF };
	int rc = 0;

	if (c->posix->nlayers == 0) {
		rc = check_plain(&o, err);
	} else {
		check_size(&o, c->parity ? c->posix->max_size : c->posix->size);
		rc = check_layers(&o, err);
		c->exact = c->data_good = rc == 0 && c->file->nfindings == 0;
	}
	if (rc < 0)
		return -1;
	c->verdict = rc > 0		       ? FTI_UNREAD
		     : c->file->nfindings == 0 ? FTI_INTACT
		     : c->exact		       ? FTI_REFUSED
					       : FTI_DAMAGED;
	if (rc > 0)
		c->unread = mem_strdup(o.why.text);
	return 0;
}

/*
 * --- FTI-FF ---
 *
 * Two sums are over the data: each container has one, and so has the file.  If
 * only one of them is wrong, that sum is damaged and the data are good.
 */

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
compare_ff(struct fti_checked *c, struct hash *h)
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

/* Compare the sums of a file with the stored ones: findings, verdict. */
static void
judge(struct fti_checked *c, struct hash *h)
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
		compare_ff(c, h);
	c->data_good = f->usable || f->kind == FTI_KIND_PARITY;
	for (const struct fti_finding *n = f->findings; n != NULL; n = n->next)
		if (n->rule == FTI_RULE_DATA) {
			const struct fti_file_container *k = NULL;

			c->data_good = false;
			if (!c->data_read || n->field != FTI_CHUNK_HASH)
				continue;
			/* In A, the checksum of the file is over this sum, too;
			 * and a sum over perhaps the wrong bytes disproves
			 * nothing: chunksize may be wrong. */
			k = &f->containers[n->container];
			c->open =
				c->open && (f->layout == FTI_A || k->emptied ||
					    k->c.used != k->c.size ||
					    f->worst == FTI_RULE_STRUCTURE);
		}
	if (f->nfindings == 0)
		c->verdict = FTI_INTACT;
	else if (f->worst <= FTI_RULE_SUM && c->data_good)
		c->verdict = FTI_REFUSED;
	else
		c->verdict = FTI_DAMAGED;
	c->open = c->open && c->verdict == FTI_DAMAGED;
	c->exact = c->verdict == FTI_INTACT ||
		   (c->verdict == FTI_REFUSED && f->worst <= FTI_RULE_STALE);
}

/* --- Many files --- */

#define WHOLE SIZE_MAX /* as a container: the sum over the file */

struct task {
	struct fti_checked *c;
	size_t container;
	char *unread; /* why its bytes could not be read */
};

struct run {
	const struct work *w;
	struct task *tasks;
	size_t count, room;
	struct hash **hashes; /* of each worker */
	uint64_t bytes;
};

/* Sum what the checksum of the whole file is over. */
static int
sum_whole(const struct fti_checked *c, struct hash *h, const struct work *w,
	  struct error *err)
{
	const struct fti_file *f = c->file;
	const uint64_t records = fti_format(FTI_A)->meta;
	int rc = 0;

	if (f->kind == FTI_KIND_PARITY)
		return fti_source_sum(c->source, 0, f->meta_at, h, w, err);
	if (f->layout == FTI_A)
		return fti_source_sum(c->source, records, f->size - records, h,
				      w, err);
	for (size_t i = 0; i < f->ncontainers && rc == 0; i++)
		rc = fti_source_sum(c->source, f->containers[i].c.fptr,
				    (uint64_t)f->containers[i].c.used, h, w,
				    err);
	return rc;
}

static int
run_task(void *arg, size_t i, unsigned worker, struct error *err)
{
	struct run *r = arg;
	struct hash *h = r->hashes[worker];
	struct task *t = &r->tasks[i];
	const bool whole = t->container == WHOLE;
	unsigned char drop[HASH_MD5_SIZE];
	struct error why = ERROR_INIT;
	int rc = 0;

	if (t->c->posix != NULL)
		return check_posix(t->c, r->w, err);
	if (whole) {
		rc = sum_whole(t->c, h, r->w, &why);
	} else {
		const struct fti_container *c =
			&t->c->file->containers[t->container].c;

		rc = fti_source_sum(t->c->source, c->fptr, (uint64_t)c->used, h,
				    r->w, &why);
	}
	if (rc < 0 && work_stopped(r->w))
		return error_pass(err, &why);
	hash_sum(h, rc < 0  ? drop
		    : whole ? t->c->whole
			    : t->c->sums[t->container]);
	if (rc < 0)
		t->unread = mem_strdup(why.text);
	return 0;
}

static void
add_task(struct run *r, struct fti_checked *c, size_t container, uint64_t bytes)
{
	(void)MEM_ROOM(r->tasks, r->count, r->room);
	r->tasks[r->count++] = (struct task){ .c = c, .container = container };
	r->bytes += bytes;
}

/* Without `data` believe the stored sums. */
static void
add_file(struct run *r, struct fti_checked *c, bool data)
{
	const struct fti_file *f = c->file;

	c->data_read = data;
	if (c->posix != NULL) {
		c->file = fti_file_new(c->source);
		add_task(r, c, WHOLE, data ? c->source->size : 0);
		return;
	}
	c->sums = mem_calloc(f->ncontainers + 1, sizeof(*c->sums));
	/* The longest task, that of a sum over the whole file, first. */
	if (data && (f->kind == FTI_KIND_PARITY ||
		     (f->complete && !fti_format(f->layout)->footer)))
		add_task(r, c, WHOLE, f->size);
	/* Without all records there is nothing to compare. */
	for (size_t i = 0; f->complete && i < f->ncontainers; i++)
		if (data)
			add_task(r, c, i, (uint64_t)f->containers[i].c.used);
		else
			memcpy(c->sums[i], f->containers[i].c.hash,
			       HASH_MD5_SIZE);
}

int
fti_check(struct fti_checked *files, size_t count, bool data,
	  const struct work *w, struct error *err)
{
	struct run r = { .w = work_or_default(w) };
	const unsigned nworkers = par_threads(r.w->par);
	struct hash *h = hash_new(HASH_MD5, err);
	int rc = 0;

	r.hashes = mem_calloc(nworkers, sizeof(struct hash *));
	for (unsigned i = 0; i < nworkers; i++)
		r.hashes[i] = hash_new(HASH_MD5, err);
	for (size_t i = 0; i < count; i++)
		add_file(&r, &files[i], data);
	if (r.count > 0) {
		progress_phase(r.w->progress, "verifying", r.bytes);
		rc = par_for(r.w->par, r.count, 0, run_task, &r, err);
	}
	for (size_t i = 0; i < r.count; i++) {
		struct task *t = &r.tasks[i];

		if (t->unread != NULL && t->c->unread == NULL)
			t->c->unread = t->unread;
		else
			mem_free(t->unread);
	}
	for (size_t i = 0; i < count && rc == 0; i++)
		if (files[i].posix == NULL)
			judge(&files[i], h);
	hash_free(h);
	for (unsigned i = 0; i < nworkers; i++)
		hash_free(r.hashes[i]);
	mem_free(r.hashes);
	mem_free(r.tasks);
	return rc;
}

void
fti_checked_fini(struct fti_checked *c)
{
	if (c->posix != NULL)
		fti_file_free(c->file);
	mem_free(c->sums);
	mem_free(c->unread);
	c->sums = NULL;
	c->unread = NULL;
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
