/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_code.c - decode the on-disk form: kvtree(5).
 */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "crc.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree_impl.h"

/* The shortest element is a NUL and a count (kvtree(5)). */
#define ELEMENT_MIN 5

/* Zero bytes after an image, so that a word can be read at any key. */
#define PAD IO_SPARE

struct header {
	uint64_t size;
	uint32_t flags;
};

static uint32_t
get_be32(const char *p)
{
	uint32_t v = 0;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static int
parse_header(const void *data, size_t len, struct header *h, struct error *err)
{
	const char *p = data;
	uint32_t magic = 0, kind = 0;
	uint64_t least = KVTREE_HEADER_SIZE + KVTREE_COUNT_SIZE;

	if (len == 0)
		return error_set(err, ERROR_CORRUPT,
				 "empty file: interrupted write");
	if (len >= 4 && (magic = get_be32(p)) != KVTREE_MAGIC)
		return error_set(err, ERROR_CORRUPT,
				 "not a kvtree file: magic 0x%08" PRIx32
				 " at byte 0",
				 magic);
	if (len < KVTREE_HEADER_SIZE)
		return error_set(err, ERROR_CORRUPT,
				 "header needs %d bytes, has %zu: truncated",
				 KVTREE_HEADER_SIZE, len);
	kind = get_be32(p + 4);
	if (kind >> 16 != KVTREE_TYPE_TREE)
		return error_set(err, ERROR_CORRUPT,
				 "type %" PRIu32 " at byte 4, expected %d",
				 kind >> 16, KVTREE_TYPE_TREE);
	if ((kind & 0xffff) != KVTREE_VERSION)
		return error_set(err, ERROR_CORRUPT,
				 "version %" PRIu32 " at byte 6, expected %d",
				 kind & 0xffff, KVTREE_VERSION);
	h->size = (uint64_t)get_be32(p + 8) << 32 | get_be32(p + 12);
	h->flags = get_be32(p + 16);
	if (h->flags & KVTREE_FLAG_CRC)
		least += KVTREE_CRC_SIZE;
	if (h->size < least)
		return error_set(err, ERROR_CORRUPT,
				 "size %" PRIu64 " at byte 8 is too small, "
				 "at least %" PRIu64,
				 h->size, least);
	if (h->size > KVTREE_MAX_ENCODED)
		return error_set(err, ERROR_CORRUPT,
				 "size %" PRIu64 " at byte 8 is too large, "
				 "at most %zu",
				 h->size, KVTREE_MAX_ENCODED);
	return 0;
}

int
kvtree_peek(const void *data, size_t len, size_t *size, struct error *err)
{
	struct header h = { 0 };

	if (parse_header(data, len, &h, err) < 0)
		return -1;
	*size = (size_t)h.size;
	return 0;
}

bool
kvtree_has_crc(const void *header)
{
	return (get_be32((const char *)header + 16) & KVTREE_FLAG_CRC) != 0;
}

/* --- Decode --- */

/* A node whose children are being read. */
struct frame {
	struct kvtree *node;
	struct kvtree_level *level; /* NULL: a plain list */
	struct kvtree **tail;	    /* of the list */
	uint64_t left;		    /* children still to come */
	uint64_t seen[4];	    /* list only: Bloom filter of the keys */
	/* Level only: the previous key, and the order of the keys so far. */
	const char *before;
	size_t before_len;
	enum { ANY, RISING, FALLING, NONE } order;
};

struct decoder {
	struct kvtree_tree *tree;
	const char *p, *end; /* the rest of the packed tree */
	uint64_t pending;    /* elements announced by counts, but not yet
				read */
};

/* Length of a key.  The PAD after the image guarantees a NUL. */
static inline size_t
key_length(const char *key)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	const char *p = key;
	uint64_t w = 0;

	for (;; p += sizeof(w)) {
		memcpy(&w, p, sizeof(w));
		w = le64toh(w);
		w = (w - ones) & ~w & ones << 7; /* first zero byte: 0x80 */
		if (w != 0)
			break;
	}
	return (size_t)(p - key) + (size_t)(__builtin_ctzll(w) >> 3);
}

/* May the list already have the key?  Also add the key to the filter, by a hash
 * of eight bits.  Keys of one list often share their beginning or their end, so
 * use both ends. */
static inline bool
maybe_seen(struct frame *f, const char *key, size_t len)
{
	uint64_t a = 0, b = 0, *word = NULL, bit = 0;
	bool seen = false;

	memcpy(&a, key, sizeof(a));
	a = le64toh(a);
	if (len >= sizeof(b))
		memcpy(&b, key + len - sizeof(b), sizeof(b));
	else
		a &= ~(UINT64_MAX << 8 * len);
	a = (a ^ b << 21 ^ b >> 43) * UINT64_C(0xff51afd7ed558ccd);
	word = &f->seen[a >> 62];
	bit = UINT64_C(1) << (a >> 56 & 63);
	seen = *word & bit;
	*word |= bit;
	return seen;
}

/* Initialize `f` for `count` children of `n`. */
static int
open_frame(struct frame *f, struct kvtree *n, uint32_t count)
{
	size_t before = 0;

	*f = (struct frame){
		.node = n,
		.left = count,
		.level = kvtree_level_of(n),
		.tail = &n->first,
	};
	/* `n` already has children if its key occurred before. */
	if (f->level == NULL)
		for (; *f->tail != NULL; f->tail = &(*f->tail)->next) {
			maybe_seen(f, (*f->tail)->key, strlen((*f->tail)->key));
			before++;
		}
	if (f->level == NULL && before + count > KVTREE_SMALL) {
		f->level = kvtree_level_make(n);
		if (f->level == NULL)
			return -1;
	}
	if (f->level != NULL && f->level->count > 0)
		f->order = NONE;
	return 0;
}

/* May the level already have the key?  Not while the keys are strictly
 * ascending or strictly descending (by length, then by bytes).  Files with a
 * key per dataset or rank usually are. */
static inline bool
out_of_order(struct frame *f, const char *key, size_t len)
{
	const char *before = f->before;
	int by = len > f->before_len ? 1 : -1;

	if (f->order == NONE)
		return true;
	if (before != NULL && len == f->before_len)
		by = memcmp(key, before, len);
	f->before = key;
	f->before_len = len;
	if (before == NULL)
		return false;
	if (f->order == ANY && by != 0)
		f->order = by > 0 ? RISING : FALLING;
	if (by == 0 || f->order != (by > 0 ? RISING : FALLING))
		f->order = NONE;
	return f->order == NONE;
}

/* Make a node for `key`, which is not copied. */
static inline struct kvtree *
new_node(struct decoder *d, const char *key)
{
	struct kvtree *n = kvtree_level_room(d->tree, sizeof(*n));

	if (n != NULL)
		*n = (struct kvtree){ .key = key };
	return n;
}

/* Return the child of f->node named `key`; make it if it is missing. */
static inline struct kvtree *
add_child(struct decoder *d, struct frame *f, const char *key, size_t len)
{
	struct kvtree **link = NULL, *n = NULL;

	if (f->level != NULL ? out_of_order(f, key, len)
			     : maybe_seen(f, key, len)) {
		link = kvtree_level_search(f->node, key);
		if (link != NULL)
			return *link;
	}
	n = new_node(d, key);
	if (n == NULL)
		return NULL;
	if (f->level != NULL)
		return kvtree_level_add(f->node, n, true) < 0 ? NULL : n;
	*f->tail = n;
	f->tail = &n->next;
	return n;
}

/* Read a key and the count after it. */
static inline bool
read_element(struct decoder *d, const char **key, size_t *len, uint32_t *count)
{
	*key = d->p;
	*len = key_length(d->p);
	if (*len + ELEMENT_MIN > (size_t)(d->end - d->p))
		return false;
	d->p += *len + ELEMENT_MIN;
	*count = get_be32(d->p - KVTREE_COUNT_SIZE);
	return true;
}

/*
 * Check a count against the remaining bytes: each pending element needs
 * ELEMENT_MIN bytes.  This bounds the memory used by the size of the image,
 * however the counts are nested.
 */
static inline bool
believe(struct decoder *d, uint32_t count)
{
	d->pending += count;
	return d->pending * ELEMENT_MIN <= (uint64_t)(d->end - d->p);
}

enum verdict { GOOD, BAD_KEY, BAD_COUNT, TOO_DEEP, NO_MEMORY };

/* Read all elements.  *at is set to the start of a bad element, or to the end
 * of the last one. */
static enum verdict
read_elements(struct kvtree_tree *tree, const char *end, const char **at)
{
	struct frame frames[KVTREE_MAX_DEPTH], *f = frames;
	struct frame *last = &frames[KVTREE_MAX_DEPTH - 1];
	struct decoder d = { .tree = tree, .end = end };
	struct kvtree *n = &tree->root;
	uint32_t count = 0;
	size_t len = 0;

	*at = tree->image.data + KVTREE_HEADER_SIZE;
	count = get_be32(*at);
	d.p = *at + KVTREE_COUNT_SIZE;
	if (!believe(&d, count))
		return BAD_COUNT;
	if (open_frame(f, n, count) < 0)
		return NO_MEMORY;
	while (d.pending > 0) {
		while (f->left == 0)
			f--;
		if (!read_element(&d, at, &len, &count))
			return BAD_KEY;
		n = add_child(&d, f, *at, len);
		if (n == NULL)
			return NO_MEMORY;
		f->left--;
		d.pending--;
		/* A value, that is an only child without children, needs no
		 * frame. */
		if (count == 1 && n->first == NULL) {
			if (f == last)
				return TOO_DEEP;
			if (!read_element(&d, at, &len, &count))
				return BAD_KEY;
			n->first = new_node(&d, *at);
			n = n->first;
			if (n == NULL)
				return NO_MEMORY;
			if (count == 0)
				continue;
			f++;
			f->left = 0;
		}
		if (count == 0)
			continue;
		if (!believe(&d, count))
			return BAD_COUNT;
		if (f == last)
			return TOO_DEEP;
		if (open_frame(++f, n, count) < 0)
			return NO_MEMORY;
	}
	*at = d.p;
	return GOOD;
}

static int
read_tree(struct kvtree_tree *tree, const char *end, struct error *err)
{
	const char *image = tree->image.data, *at = NULL;
	enum verdict verdict = read_elements(tree, end, &at);

	if (verdict == GOOD && at == end)
		return 0;
	if (verdict == NO_MEMORY)
		return error_no_memory(err);
	if (verdict == GOOD)
		return error_set(err, ERROR_CORRUPT,
				 "tree ends at byte %td, %td bytes follow "
				 "before the end of the image",
				 at - image, end - at);
	if (verdict == BAD_KEY)
		return error_set(err, ERROR_CORRUPT,
				 "key at byte %td leaves the image",
				 at - image);
	/* The bad count is after the key. */
	if (at != image + KVTREE_HEADER_SIZE)
		at += strlen(at) + 1;
	if (verdict == BAD_COUNT)
		return error_set(err, ERROR_CORRUPT,
				 "count %" PRIu32
				 " at byte %td leaves the image",
				 get_be32(at), at - image);
	return error_set(err, ERROR_CORRUPT,
			 "nested deeper than %d levels at byte %td",
			 KVTREE_MAX_DEPTH, at - image);
}

/* Verify the checksum of an image of h->size bytes.  Return the offset of the
 * end of its elements, or 0 on a mismatch. */
static size_t
check_sum(const char *image, const struct header *h, struct error *err)
{
	size_t end = (size_t)h->size;
	uint32_t want = 0, got = 0;

	if (h->flags & KVTREE_FLAG_CRC) {
		end -= KVTREE_CRC_SIZE;
		want = get_be32(image + end);
		got = crc_update(0, image, end);
		if (want != got) {
			error_set(err, ERROR_CORRUPT,
				  "checksum mismatch: file says 0x%08" PRIx32
				  ", contents give 0x%08" PRIx32,
				  want, got);
			return 0;
		}
	}
	return end;
}

static int
check_length(const void *data, size_t len, struct header *h, struct error *err)
{
	if (parse_header(data, len, h, err) < 0)
		return -1;
	if (h->size > len)
		return error_set(err, ERROR_CORRUPT,
				 "needs %" PRIu64 " bytes, has %zu: truncated",
				 h->size, len);
	return 0;
}

const char *
kvtree_body(const void *data, size_t len, size_t *body, struct error *err)
{
	struct header h = { 0 };
	size_t end = 0;

	if (check_length(data, len, &h, err) < 0)
		return NULL;
	end = check_sum(data, &h, err);
	if (end == 0)
		return NULL;
	*body = end - KVTREE_HEADER_SIZE;
	return (const char *)data + KVTREE_HEADER_SIZE;
}

struct kvtree *
kvtree_decode(const void *data, size_t len, size_t *used, struct error *err)
{
	struct kvtree *t = NULL;
	struct buf raw = BUF_INIT;
	struct header h = { 0 };

	if (check_length(data, len, &h, err) < 0)
		return NULL;
	if (buf_reserve(&raw, (size_t)h.size + PAD) < 0 ||
	    buf_add(&raw, data, (size_t)h.size) < 0)
		error_no_memory(err);
	else
		t = kvtree_decode_buf(&raw, err);
	buf_free(&raw);
	if (t != NULL && used != NULL)
		*used = (size_t)h.size;
	return t;
}

struct kvtree *
kvtree_decode_without(const void *data, size_t len, const void *from,
		      size_t cut, struct error *err)
{
	const size_t before = (size_t)((const char *)from - (const char *)data);
	struct kvtree *t = kvtree_new(err);
	struct kvtree_tree *tree = t != NULL ? kvtree_tree_of(t) : NULL;
	struct header h = { 0 };
	char *image = NULL;
	size_t end = 0;
	uint32_t count = 0;

	if (t == NULL || check_length(data, len, &h, err) < 0)
		goto fail;
	end = (size_t)h.size -
	      (h.flags & KVTREE_FLAG_CRC ? KVTREE_CRC_SIZE : 0);
	if (buf_reserve(&tree->image, end - cut + PAD) < 0) {
		error_no_memory(err);
		goto fail;
	}
	image = tree->image.data;
	memcpy(image, data, before);
	memcpy(image + before, (const char *)from + cut, end - before - cut);
	memset(image + end - cut, 0, PAD);
	count = htobe32(get_be32(image + KVTREE_HEADER_SIZE) - 1);
	memcpy(image + KVTREE_HEADER_SIZE, &count, sizeof(count));
	if (read_tree(tree, image + end - cut, err) == 0)
		return t;
fail:
	kvtree_free(t);
	return NULL;
}

struct kvtree *
kvtree_decode_buf(struct buf *raw, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	struct kvtree_tree *tree = t != NULL ? kvtree_tree_of(t) : NULL;
	struct header h = { 0 };
	size_t end = 0;

	if (t == NULL || check_length(raw->data, raw->len, &h, err) < 0)
		goto fail;
	if (buf_reserve(raw, PAD) < 0) {
		error_no_memory(err);
		goto fail;
	}
	memset(raw->data + raw->len, 0, PAD);
	tree->image = *raw;
	*raw = (struct buf)BUF_INIT;
	end = check_sum(tree->image.data, &h, err);
	if (end > 0 && read_tree(tree, tree->image.data + end, err) == 0)
		return t;
fail:
	kvtree_free(t);
	return NULL;
}
