/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/change.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "fti/check.h"
#include "fti/draft.h"
#include "fti/file.h"
#include "fti/input.h"
#include "mem.h"
#include "str.h"

/* A record: what the file has, and what it would have. */
struct pair {
	enum fti_field first, last; /* its fields */
	const unsigned char *before, *after;
	size_t size;
	uint64_t at;
	size_t block, container;
};

struct list {
	enum fti_layout layout;
	struct fti_change *list;
	size_t count, room;
};

static struct fti_change *
add(struct list *l, const struct pair *p, enum fti_field field, size_t at,
    struct error *err)
{
	if (!MEM_ROOM(l->list, l->count, l->room)) {
		error_no_memory(err);
		return NULL;
	}
	l->list[l->count] = (struct fti_change){
		.at = p->at + at,
		.block = p->block,
		.container = p->container,
		.field = field,
	};
	return &l->list[l->count++];
}

static void
text_of(const struct list *l, enum fti_field field, const unsigned char *record,
	char *to, size_t size)
{
	const struct fti_place *place = &fti_format(l->layout)->fields[field];
	char sum[FTI_CHECKSUM_SIZE + 1] = "";

	if (field == FTI_CHECKSUM) {
		memcpy(sum, record + place->at, place->size);
		str_printable(to, size, sum);
	} else if (field == FTI_HASH || field == FTI_CHUNK_HASH) {
		hash_hex(to, record + place->at, HASH_MD5_SIZE);
	} else {
		snprintf(to, size, "%" PRId64,
			 fti_get(l->layout, field, record));
	}
}

static bool
is_in_field(const struct list *l, const struct pair *p, size_t at)
{
	for (int f = (int)p->first; f <= (int)p->last; f++) {
		const struct fti_place *place =
			&fti_format(l->layout)->fields[f];

		if (at >= place->at && at < (size_t)place->at + place->size)
			return true;
	}
	return false;
}

static int
compare(struct list *l, const struct pair *p, struct error *err)
{
	const struct fti_format *format = fti_format(l->layout);

	for (int f = (int)p->first; f <= (int)p->last; f++) {
		const struct fti_place *place = &format->fields[f];
		struct fti_change *c = NULL;

		if (place->size == 0 ||
		    memcmp(p->before + place->at, p->after + place->at,
			   place->size) == 0)
			continue;
		c = add(l, p, (enum fti_field)f, place->at, err);
		if (c == NULL)
			return -1;
		text_of(l, c->field, p->before, c->before, sizeof(c->before));
		text_of(l, c->field, p->after, c->after, sizeof(c->after));
	}
	/* Each run of bytes between fields that becomes 0. */
	for (size_t at = 0, end = 0; at < p->size; at = end + 1) {
		struct fti_change *c = NULL;

		for (end = at; end < p->size && !is_in_field(l, p, end); end++)
			;
		if (memcmp(p->before + at, p->after + at, end - at) == 0)
			continue;
		c = add(l, p, FTI_PAD, at, err);
		if (c == NULL)
			return -1;
		/* At most 7 bytes. */
		hash_hex(c->before, p->before + at, end - at);
		hash_hex(c->after, p->after + at, end - at);
	}
	return 0;
}

static int
compare_block(struct list *l, const struct fti_checked *c,
	      const struct fti_draft *d, size_t b, struct error *err)
{
	const struct fti_format *format = fti_format(l->layout);
	const size_t size = fti_draft_records_size(d, b);
	const size_t end = fti_draft_block_end(d, b);
	unsigned char *before = mem_alloc(size, 1), *after = mem_alloc(size, 1);
	struct pair p = {
		.first = FTI_NUMVARS,
		.last = FTI_DBSIZE,
		.before = before,
		.after = after,
		.size = format->block,
		.at = c->file->blocks[b].at,
		.block = b,
		.container = SIZE_MAX,
	};
	int rc = before == NULL || after == NULL ? error_no_memory(err) : 0;

	if (rc == 0)
		rc = fti_source_read(c->source, before, size, p.at, err);
	if (rc == 0) {
		fti_draft_records(d, b, after);
		rc = compare(l, &p, err);
	}
	p.first = FTI_ID;
	p.last = FTI_CHUNK_HASH;
	for (size_t i = d->blocks[b].first; rc == 0 && i < end; i++) {
		p.before += p.size;
		p.after += p.size;
		p.at += p.size;
		p.size = format->container;
		p.container = i;
		rc = compare(l, &p, err);
	}
	mem_free(before);
	mem_free(after);
	return rc;
}

int
fti_changes(const struct fti_checked *c, const struct fti_draft *d,
	    struct fti_change **list, size_t *count, struct error *err)
{
	unsigned char before[FTI_META_MAX] = { 0 }, after[FTI_META_MAX];
	struct list l = { .layout = d->layout };
	const struct pair meta = {
		.first = FTI_CHECKSUM,
		.last = FTI_TIMESTAMP,
		.before = before,
		.after = after,
		.size = fti_format(d->layout)->meta,
		.at = c->file->meta_at,
		.block = SIZE_MAX,
		.container = SIZE_MAX,
	};
	int rc = 0;

	for (size_t b = 0; rc == 0 && b < d->nblocks; b++)
		rc = compare_block(&l, c, d, b, err);
	if (rc == 0)
		rc = fti_source_read(c->source, before,
				     (size_t)meta.size - c->file->cut, meta.at,
				     err);
	if (rc == 0) {
		fti_meta_write(d->layout, &d->meta, after);
		rc = compare(&l, &meta, err);
	}
	*list = l.list;
	*count = l.count;
	return rc;
}

bool
fti_changes_matter(const struct fti_change *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].field != FTI_PAD && list[i].field != FTI_CHECKSUM &&
		    list[i].field != FTI_HASH)
			return true;
	return false;
}
