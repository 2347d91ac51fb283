/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvstream.h - read the elements of a kvtree file (kvscan.h) a window at a
 * time, in one pass: for readers that need a few of millions of entries, in
 * little memory.
 *
 * A caller calls kvstream_more() before each group of elements, which may have
 * KVSTREAM_NEED bytes together.  The call moves the window: strings that are
 * read from a file last only until then.
 */
#ifndef KVTREE_KVSTREAM_H
#define KVTREE_KVSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kvtree/kvscan.h"

#define KVSTREAM_NEED ((size_t)16 << 10)

struct kvstream {
	struct kvscan in;      /* the window */
	uint64_t left;	       /* bytes of elements behind the window */
	int fd;		       /* -1: no file; the window is all there is */
	uint64_t off;	       /* of the next byte to read */
	uint32_t crc;	       /* of all bytes read so far */
	unsigned char *buffer; /* of the window */
};

/* Read elements from memory (kvtree_body()). */
void kvstream_memory(struct kvstream *s, const char *body, size_t len);

/*
 * Read the elements of a file. -1: the file cannot be opened or read, has no
 * checksum, or is not one whole image.  Then read it as a tree, which reports
 * the reason.
 */
int kvstream_open(struct kvstream *s, int dirfd, const char *name);
void kvstream_close(struct kvstream *s);

/* Were all elements read, and in plain form?  Only this call compares the
 * checksum of a file: if it returns false, discard everything read before. */
bool kvstream_good(struct kvstream *s);

void kvstream_fill(struct kvstream *s);

static inline size_t
kvstream_left(const struct kvstream *s)
{
	return (size_t)(s->in.end - s->in.p) + (size_t)s->left;
}

static inline void
kvstream_more(struct kvstream *s)
{
	if (s->left > 0 && (size_t)(s->in.end - s->in.p) < KVSTREAM_NEED)
		kvstream_fill(s);
}

/* Skip the children of the last key, and all below them. */
static inline void
kvstream_skip(struct kvstream *s)
{
	for (uint64_t n = kvscan_count(&s->in); n > 0 && !s->in.irregular;
	     n--) {
		kvstream_more(s);
		kvscan_key(&s->in);
		n += kvscan_count(&s->in);
	}
}

#endif /* KVTREE_KVSTREAM_H */
