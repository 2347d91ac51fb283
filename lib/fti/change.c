/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/change.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fti/check.h"
#include "fti/draft.h"
#include "fti/file.h"
#include "fti/input.h"
#include "mem.h"
#include "str.h"

struct list {
	enum fti_layout layout;
	struct fti_change *list;
	size_t count, room;
};

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

/* Compare a record, which is at `where`: what the file has, and what it would
 * have. */
static void
compare(struct list *l, enum fti_record kind, const unsigned char *before,
	const unsigned char *after, const struct fti_change *where)
{
	const size_t size = fti_record_size(l->layout, kind);
	bool of_field[FTI_META_MAX] = { false };
	struct fti_change c;

	for (int f = fti_first_field[kind]; f < fti_first_field[kind + 1];
	     f++) {
		const struct fti_place *place =
			&fti_format(l->layout)->fields[f];

		memset(of_field + place->at, true, place->size);
		if (place->size == 0 ||
		    memcmp(before + place->at, after + place->at,
			   place->size) == 0)
			continue;
		c = *where;
		c.at += place->at;
		c.field = (enum fti_field)f;
		text_of(l, c.field, before, c.before, sizeof(c.before));
		text_of(l, c.field, after, c.after, sizeof(c.after));
		(void)MEM_ROOM(l->list, l->count, l->room);
		l->list[l->count++] = c;
	}
	/* Each run of bytes between fields that becomes 0. */
	for (size_t at = 0, end = 0; at < size; at = end + 1) {
		for (end = at; end < size && !of_field[end]; end++)
			;
		if (memcmp(before + at, after + at, end - at) == 0)
			continue;
		c = *where;
		c.at += at;
		/* At most 7 bytes. */
		hash_hex(c.before, before + at, end - at);
		hash_hex(c.after, after + at, end - at);
		(void)MEM_ROOM(l->list, l->count, l->room);
		l->list[l->count++] = c;
	}
}

int
fti_changes(const struct fti_checked *c, const struct fti_draft *d,
	    struct fti_change **list, size_t *count, struct error *err)
{
	const struct fti_format *format = fti_format(d->layout);
	unsigned char meta[FTI_META_MAX] = { 0 }, after_meta[FTI_META_MAX];
	struct list l = { .layout = d->layout };
	struct fti_change where = { .container = SIZE_MAX, .field = FTI_PAD };
	int rc = 0;

	for (size_t b = 0; rc == 0 && b < d->nblocks; b++) {
		const size_t size = fti_draft_records_size(d, b);
		unsigned char *before = mem_alloc(size, 1);
		unsigned char *after = mem_alloc(size, 1);
		size_t at = format->block;

		where.at = c->file->blocks[b].at;
		where.block = b;
		where.container = SIZE_MAX;
		rc = fti_source_read(c->source, before, size, where.at, err);
		fti_draft_records(d, b, after);
		if (rc == 0)
			compare(&l, FTI_BLOCK, before, after, &where);
		where.at += format->block;
		for (size_t i = d->blocks[b].first;
		     rc == 0 && i < fti_draft_block_end(d, b); i++) {
			where.container = i;
			compare(&l, FTI_CONTAINER, before + at, after + at,
				&where);
			where.at += format->container;
			at += format->container;
		}
		mem_free(before);
		mem_free(after);
	}
	where.at = c->file->meta_at;
	where.block = where.container = SIZE_MAX;
	if (rc == 0)
		rc = fti_source_read(c->source, meta,
				     (size_t)format->meta - c->file->cut,
				     where.at, err);
	if (rc == 0) {
		fti_record_write(d->layout, FTI_META, &d->meta, after_meta);
		compare(&l, FTI_META, meta, after_meta, &where);
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
