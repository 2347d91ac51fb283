/* SPDX-License-Identifier: BSD-3-Clause */
/* lists_note.c - files in a note. */
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "meta/attr.h"
#include "meta/rank2file.h"
#include "scr/lists.h"
#include "team/team.h"

struct line {
	uint64_t size, nsegs;
	uint32_t crc;
	bool has_size, has_crc;
	bool has_attr; /* the attributes follow, as add_attrs() sets them */
};

struct place {
	uint64_t off, len;
};

void
lists_add(struct buf *b, const struct rank2file_file *f, const struct attr *a)
{
	struct line l;

	memset(&l, 0, sizeof(l));
	l.size = f->size;
	l.crc = f->crc;
	l.has_size = f->has_size;
	l.has_crc = f->has_crc;
	l.nsegs = f->nsegs;
	l.has_attr = a != NULL;
	(void)buf_add(b, &l, sizeof(l));
	if (a != NULL)
		(void)buf_add(b, a, sizeof(*a));
	(void)buf_add(b, f->path, strlen(f->path) + 1);
	for (size_t i = 0; i < f->nsegs; i++) {
		const struct rank2file_seg *s = &f->segs[i];
		const struct place p = { s->off, s->len };

		(void)buf_add(b, &p, sizeof(p));
		(void)buf_add(b, s->file, strlen(s->file) + 1);
	}
}

const void *
lists_attr(const char *at)
{
	return at + sizeof(struct line);
}

void
lists_take(const char **at, struct rank2file_file *f, struct attr *a)
{
	struct line l;

	memcpy(&l, *at, sizeof(l));
	*at += sizeof(l);
	if (l.has_attr && a != NULL)
		memcpy(a, *at, sizeof(*a));
	*at += l.has_attr ? sizeof(*a) : 0;
	*f = (struct rank2file_file){ .path = *at,
				      .has_size = l.has_size,
				      .has_crc = l.has_crc,
				      .size = l.size,
				      .crc = l.crc,
				      .nsegs = l.nsegs };
	*at = f->path + strlen(f->path) + 1;
	for (size_t i = 0; i < f->nsegs; i++) {
		*at += sizeof(struct place);
		*at += strlen(*at) + 1;
	}
}

int
lists_segs(struct rank2file_file *f, struct arena *a, struct error *err)
{
	struct rank2file_seg *segs = arena_alloc(a, f->nsegs, sizeof(*segs));
	const char *at = f->path + strlen(f->path) + 1;
	struct place p;

	if (segs == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i < f->nsegs; i++) {
		memcpy(&p, at, sizeof(p));
		at += sizeof(p);
		segs[i] = (struct rank2file_seg){ at, p.off, p.len };
		at += strlen(at) + 1;
	}
	f->segs = segs;
	return 0;
}

size_t
lists_count(const struct team_note *n)
{
	const char *at = n->data, *end = at + n->len;
	struct rank2file_file f;
	size_t count = 0;

	for (; at < end; count++)
		lists_take(&at, &f, NULL);
	return count;
}
