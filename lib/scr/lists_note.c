/* SPDX-License-Identifier: BSD-3-Clause */
/* lists_note.c - files of a list as the bytes of a note (lists.h). */
#include <string.h>

#include "arena.h"
#include "buf.h"
#include "meta/attr.h"
#include "meta/rank2file.h"
#include "scr/lists.h"
#include "team/team.h"

/* Its pointers mean nothing to the receiver. */
struct line {
	struct rank2file_file f;
	bool has_attr; /* the attributes follow, as add_attrs() sets them */
};

void
lists_add(struct buf *b, const struct rank2file_file *f, const struct attr *a)
{
	struct line l;

	memset(&l, 0, sizeof(l));
	l.f = *f;
	l.has_attr = a != NULL;
	(void)buf_add(b, &l, sizeof(l));
	if (a != NULL)
		(void)buf_add(b, a, sizeof(*a));
	(void)buf_add(b, f->path, strlen(f->path) + 1);
	for (size_t i = 0; i < f->nsegs; i++) {
		const struct rank2file_seg *s = &f->segs[i];

		(void)buf_add(b, s, sizeof(*s));
		(void)buf_add(b, s->file, strlen(s->file) + 1);
	}
}

const char *
lists_take(const char *at, struct rank2file_file *f, struct attr *a,
	   struct arena *arena)
{
	struct rank2file_seg *segs = NULL, s;
	struct line l;

	memcpy(&l, at, sizeof(l));
	at += sizeof(l);
	if (l.has_attr && a != NULL)
		memcpy(a, at, sizeof(*a));
	at += l.has_attr ? sizeof(*a) : 0;
	*f = l.f;
	f->path = at;
	f->node = NULL;
	at += strlen(at) + 1;
	if (arena != NULL &&
	    (segs = arena_alloc(arena, f->nsegs, sizeof(*segs))) == NULL)
		return NULL;
	for (size_t i = 0; i < f->nsegs; i++) {
		memcpy(&s, at, sizeof(s));
		at += sizeof(s);
		s.file = at;
		if (segs != NULL)
			segs[i] = s;
		at += strlen(at) + 1;
	}
	f->segs = segs;
	return at;
}

char *
lists_attr(char *at)
{
	return at + sizeof(struct line);
}

size_t
lists_count(const struct team_note *n)
{
	const char *at = n->data, *end = at + n->len;
	struct rank2file_file f;
	size_t count = 0;

	for (; at < end; count++)
		at = lists_take(at, &f, NULL, NULL);
	return count;
}
