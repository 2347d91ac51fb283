/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvstream.h - read the elements of a kvtree image (kvtree_body(); kvtree(5))
 * in one pass, without building a tree: for maps of millions of files; from
 * memory, or from a file a window at a time.
 *
 * A scanner accepts only the plain form that all known writers use.  On any
 * other input it sets `irregular`, which stays set; the values returned after
 * that are meaningless.  It never reads beyond `end`.  A caller that finds
 * `irregular` set reads the image as a tree instead, which also gives the error
 * messages, or, as for parts of a rank2file, calls it damaged.
 *
 * A caller calls kvstream_more() before each group of elements, which may have
 * KVSTREAM_NEED bytes together.  The call moves the window: strings that are
 * read from a file last only until then.
 */
#ifndef KVTREE_KVSTREAM_H
#define KVTREE_KVSTREAM_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- Elements in memory --- */

struct kvscan {
	const unsigned char *p, *end;
	size_t len; /* of the last key */
	bool irregular;
};

/* Read the number of elements that follow. */
static inline uint32_t
kvscan_count(struct kvscan *s)
{
	uint32_t n = 0;

	if (s->end - s->p < 4) {
		s->irregular = true;
		return 0;
	}
	memcpy(&n, s->p, 4);
	s->p += 4;
	return be32toh(n);
}

/* Expect no children. */
static inline void
kvscan_leaf(struct kvscan *s)
{
	if (kvscan_count(s) != 0)
		s->irregular = true;
}

/* Read the next key, borrowed from the image; s->len: its length. */
static inline const char *
kvscan_key(struct kvscan *s)
{
	const unsigned char *p = s->p;
	const unsigned char *nul = memchr(p, 0, (size_t)(s->end - p));

	if (nul == NULL) {
		s->irregular = true;
		s->len = 0;
		return "";
	}
	s->len = (size_t)(nul - p);
	s->p = nul + 1;
	return (const char *)p;
}

/* Consume `len` bytes if they are equal to `bytes`. */
static inline bool
kvscan_takes(struct kvscan *s, const void *bytes, size_t len)
{
	if ((size_t)(s->end - s->p) < len || memcmp(s->p, bytes, len) != 0)
		return false;
	s->p += len;
	return true;
}

/* Consume the next key if it is the literal `word`.  KVSCAN_ONE also expects
 * the count 1 behind it; the child follows. */
#define KVSCAN_KEY(s, word) kvscan_takes((s), word, sizeof(word))
#define KVSCAN_ONE(s, word) \
	kvscan_takes((s), word "\0\0\0\0\1", sizeof(word "\0\0\0\0\1") - 1)

/* Read a key that is a number below 10^18, without sign or leading zero. */
static inline uint64_t
kvscan_number(struct kvscan *s)
{
	const unsigned char *p = s->p, *first = p;
	uint64_t n = 0;

	while (p - first < 18 && p < s->end && (unsigned)(*p - '0') < 10)
		n = n * 10 + (uint64_t)(*p++ - '0');
	if (p == first || p == s->end || *p != '\0' ||
	    (*first == '0' && p > first + 1)) {
		s->irregular = true;
		return 0;
	}
	s->p = p + 1;
	return n;
}

/* Read a number that has no children, that is, a value. */
static inline uint64_t
kvscan_u64(struct kvscan *s)
{
	uint64_t n = kvscan_number(s);

	kvscan_leaf(s);
	return n;
}

static inline const char *
kvscan_text(struct kvscan *s)
{
	const char *text = kvscan_key(s);

	kvscan_leaf(s);
	return text;
}

/* Read a CRC, written as "0x1f" or "0". */
static inline uint32_t
kvscan_crc(struct kvscan *s)
{
	const char *text = kvscan_text(s);
	uint32_t n = 0;
	size_t i = 2;

	if (text[0] == '0' && text[1] == '\0')
		return 0;
	if (text[0] != '0' || text[1] != 'x') {
		s->irregular = true;
		return 0;
	}
	for (; i < 10; i++) {
		char c = text[i];

		if (c >= '0' && c <= '9')
			n = n << 4 | (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (uint32_t)(c - 'a' + 10);
		else
			break;
	}
	if (i == 2 || text[i] != '\0')
		s->irregular = true;
	return n;
}

/* --- Elements of a file, in a window --- */

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
