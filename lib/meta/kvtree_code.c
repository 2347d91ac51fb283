/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_code.c - the encoded form: formats.md 1.1 and 1.2.
 */
#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "crc.h"
#include "error.h"
#include "io.h"
#include "meta/kvtree_impl.h"

/* formats.md 1.1 */
#define MAGIC UINT32_C(0x951fc3f5)
#define TYPE_TREE 1
#define VERSION 1
#define FLAG_CRC UINT32_C(1)
#define CRC_SIZE 4
#define COUNT_SIZE 4

/* A NUL and a count: no element is shorter (formats.md 1.2). */
#define ELEMENT_MIN 5

/* Zero bytes behind an image, so that keys are scanned a word at a time. */
#define PAD 8

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

static char *
put_be(char *p, uint64_t v, size_t bytes)
{
	while (bytes-- > 0)
		*p++ = (char)(v >> (8 * bytes));
	return p;
}

static int
parse_header(const void *data, size_t len, struct header *h, struct error *err)
{
	const char *p = data;
	uint32_t magic = 0, kind = 0;
	uint64_t least = KVTREE_HEADER_SIZE + COUNT_SIZE;

	if (len == 0)
		return error_set(err, ERROR_CORRUPT,
				 "empty file: interrupted write");
	if (len >= 4 && (magic = get_be32(p)) != MAGIC)
		return error_set(err, ERROR_CORRUPT,
				 "not a kvtree file: magic 0x%08" PRIx32
				 " at byte 0",
				 magic);
	if (len < KVTREE_HEADER_SIZE)
		return error_set(err, ERROR_CORRUPT,
				 "header needs %d bytes, has %zu: truncated",
				 KVTREE_HEADER_SIZE, len);
	kind = get_be32(p + 4);
	if (kind >> 16 != TYPE_TREE)
		return error_set(err, ERROR_CORRUPT,
				 "type %" PRIu32 " at byte 4, expected %d",
				 kind >> 16, TYPE_TREE);
	if ((kind & 0xffff) != VERSION)
		return error_set(err, ERROR_CORRUPT,
				 "version %" PRIu32 " at byte 6, expected %d",
				 kind & 0xffff, VERSION);
	h->size = (uint64_t)get_be32(p + 8) << 32 | get_be32(p + 12);
	h->flags = get_be32(p + 16);
	if (h->flags & FLAG_CRC)
		least += CRC_SIZE;
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

/* --- Decoding --------------------------------------------------------- */

/* A node whose children are being read. */
struct frame {
	struct kvtree *node;
	struct kvtree_level *level; /* NULL: a plain list */
	struct kvtree **tail;	    /* of the list */
	uint64_t left;		    /* children still to come */
	uint64_t seen[4];	    /* of a list: a bit for each key */
};

struct decoder {
	struct kvtree_tree *tree;
	const char *image, *end; /* of the packed tree */
	struct error *err;
	struct frame frames[KVTREE_MAX_DEPTH];
};

static int
no_memory(struct error *err)
{
	return error_set(err, ERROR_NOMEM, "metadata tree: out of memory");
}

/* Length of a key; there is a NUL in the PAD behind the image. */
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

/* Eight bits of hash.  Keys of one list often begin or end alike, so both
 * ends are looked at. */
static inline unsigned int
key_bits(const char *key, size_t len)
{
	uint64_t a = 0, b = 0;

	memcpy(&a, key, sizeof(a));
	a = le64toh(a);
	if (len >= sizeof(b))
		memcpy(&b, key + len - sizeof(b), sizeof(b));
	else
		a &= ~(UINT64_MAX << 8 * len);
	a = (a ^ b << 21 ^ b >> 43) * UINT64_C(0xff51afd7ed558ccd);
	return (unsigned int)(a >> 56);
}

/* Has a list of this frame had the key, perhaps?  Remember it. */
static inline bool
maybe_seen(struct frame *f, const char *key, size_t len)
{
	unsigned int bits = key_bits(key, len);
	uint64_t *word = &f->seen[bits >> 6], bit = UINT64_C(1) << (bits & 63);
	bool seen = *word & bit;

	*word |= bit;
	return seen;
}

/* Make `f` the frame for `count` children of `n`. */
static int
open_frame(struct frame *f, struct kvtree *n, uint32_t count)
{
	size_t before = 0;

	f->node = n;
	f->left = count;
	f->level = kvtree_level_of(n);
	f->tail = &n->first;
	memset(f->seen, 0, sizeof(f->seen));
	if (f->level != NULL)
		return kvtree_level_reserve(f->level, count);
	/* It has children if its key was there twice. */
	for (; *f->tail != NULL; f->tail = &(*f->tail)->next) {
		maybe_seen(f, (*f->tail)->key, strlen((*f->tail)->key));
		before++;
	}
	if (before + count <= KVTREE_SMALL)
		return 0;
	if (kvtree_level_make(n, before + count) < 0)
		return -1;
	f->level = kvtree_level_of(n);
	return 0;
}

/* A node for `key`, which stays where it is. */
static inline struct kvtree *
new_node(struct kvtree_tree *tree, const char *key)
{
	struct kvtree *n = NULL;

	if ((size_t)(tree->high - tree->low) >= sizeof(*n)) {
		n = (struct kvtree *)(void *)tree->low;
		tree->low += sizeof(*n);
	} else {
		n = kvtree_level_room(tree, sizeof(*n));
		if (n == NULL)
			return NULL;
	}
	n->key = key;
	n->next = NULL;
	n->first = NULL;
	return n;
}

/* The child of f->node named `key`: a new one, or the first of that name. */
static inline struct kvtree *
add_child(struct decoder *d, struct frame *f, const char *key, size_t len)
{
	struct kvtree **link = NULL, *n = NULL;
	uint64_t hash = 0;
	size_t slot = 0;

	if (f->level != NULL) {
		hash = kvtree_level_hash(d->tree->secret, key, len);
		link = kvtree_level_find(f->level, key, hash, &slot);
		if (link != NULL)
			return *link;
		n = new_node(d->tree, key);
		if (n != NULL)
			kvtree_level_push(f->level, n, hash, slot);
		return n;
	}
	if (maybe_seen(f, key, len)) {
		link = kvtree_level_search(f->node, key);
		if (link != NULL)
			return *link;
	}
	n = new_node(d->tree, key);
	if (n != NULL) {
		*f->tail = n;
		f->tail = &n->next;
	}
	return n;
}

/* Move *p behind the key of an element and its count, and give both. */
static inline int
read_element(struct decoder *d, const char **p, size_t *len, uint32_t *count)
{
	const char *key = *p;

	*len = key_length(key);
	if (*len + ELEMENT_MIN > (size_t)(d->end - key))
		return error_set(d->err, ERROR_CORRUPT,
				 "key at byte %td leaves the image",
				 key - d->image);
	*count = get_be32(key + *len + 1);
	*p = key + *len + ELEMENT_MIN;
	return 0;
}

/*
 * Every element that a count promises needs ELEMENT_MIN bytes, so counts that
 * cannot be true are found before memory is taken for them, and what is taken
 * is bounded by the size of the image however they are nested.
 */
static inline int
check_count(struct decoder *d, const char *p, uint32_t count, uint64_t owed)
{
	if ((owed + count) * ELEMENT_MIN <= (uint64_t)(d->end - p))
		return 0;
	return error_set(d->err, ERROR_CORRUPT,
			 "count %" PRIu32 " at byte %td leaves the image",
			 count, p - COUNT_SIZE - d->image);
}

static int
too_deep(struct decoder *d, const char *p)
{
	return error_set(d->err, ERROR_CORRUPT,
			 "nested deeper than %d levels at byte %td",
			 KVTREE_MAX_DEPTH, p - d->image);
}

/* Read all elements; *pp is behind the first count, which is `count`. */
static int
read_elements(struct decoder *d, const char **pp, uint32_t count)
{
	const struct frame *last = &d->frames[KVTREE_MAX_DEPTH - 1];
	struct frame *f = d->frames;
	const char *p = *pp, *key = NULL;
	uint64_t owed = count; /* elements promised, in all frames */
	struct kvtree *n = NULL;
	size_t len = 0;

	if (open_frame(f, &d->tree->root, count) < 0)
		return no_memory(d->err);
	while (owed > 0) {
		while (f->left == 0)
			f--;
		key = p;
		if (read_element(d, &p, &len, &count) < 0)
			return -1;
		n = add_child(d, f, key, len);
		if (n == NULL)
			return no_memory(d->err);
		f->left--;
		owed--;
		/* Values: an only child without children needs no frame. */
		if (count == 1 && n->first == NULL) {
			if (check_count(d, p, count, owed) < 0)
				return -1;
			if (f == last)
				return too_deep(d, p);
			key = p;
			if (read_element(d, &p, &len, &count) < 0)
				return -1;
			n->first = new_node(d->tree, key);
			if (n->first == NULL)
				return no_memory(d->err);
			if (count == 0)
				continue;
			f++;
			f->left = 0;
			n = n->first;
		}
		if (count == 0)
			continue;
		if (check_count(d, p, count, owed) < 0)
			return -1;
		if (f == last)
			return too_deep(d, p);
		if (open_frame(++f, n, count) < 0)
			return no_memory(d->err);
		owed += count;
	}
	*pp = p;
	return 0;
}

static int
read_tree(struct kvtree_tree *tree, size_t end, struct error *err)
{
	struct decoder d;
	const char *p = tree->image.data + KVTREE_HEADER_SIZE;
	uint32_t count = get_be32(p);

	d.tree = tree;
	d.image = tree->image.data;
	d.end = d.image + end;
	d.err = err;
	p += COUNT_SIZE;
	if (check_count(&d, p, count, 0) < 0 ||
	    read_elements(&d, &p, count) < 0)
		return -1;
	if (p != d.end)
		return error_set(err, ERROR_CORRUPT,
				 "tree ends at byte %td, %td bytes follow "
				 "before the end of the image",
				 p - d.image, d.end - p);
	return 0;
}

/* Decode tree->image, whose PAD is in place. */
static int
decode_image(struct kvtree_tree *tree, const struct header *h,
	     struct error *err)
{
	const char *image = tree->image.data;
	size_t end = (size_t)h->size;
	uint32_t want = 0, got = 0;

	if (h->flags & FLAG_CRC) {
		end -= CRC_SIZE;
		want = get_be32(image + end);
		got = crc_update(0, image, end);
		if (want != got)
			return error_set(err, ERROR_CORRUPT,
					 "checksum mismatch: file says "
					 "0x%08" PRIx32
					 ", contents give 0x%08" PRIx32,
					 want, got);
	}
	return read_tree(tree, end, err);
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

int
kvtree_decode_into(struct kvtree *t, const void *data, size_t len, size_t *used,
		   struct error *err)
{
	struct kvtree_tree *tree = kvtree_tree_of(t);
	struct header h = { 0 };

	kvtree_clear(t);
	if (check_length(data, len, &h, err) < 0)
		return -1;
	if (buf_reserve(&tree->image, (size_t)h.size + PAD) < 0)
		return no_memory(err);
	memcpy(tree->image.data, data, (size_t)h.size);
	memset(tree->image.data + h.size, 0, PAD);
	if (decode_image(tree, &h, err) < 0) {
		kvtree_clear(t);
		return -1;
	}
	if (used != NULL)
		*used = (size_t)h.size;
	return 0;
}

struct kvtree *
kvtree_decode(const void *data, size_t len, size_t *used, struct error *err)
{
	struct kvtree *t = kvtree_new(err);

	if (t != NULL && kvtree_decode_into(t, data, len, used, err) < 0) {
		kvtree_free(t);
		t = NULL;
	}
	return t;
}

/* --- Encoding --------------------------------------------------------- */

size_t
kvtree_packed_size(const struct kvtree *t)
{
	struct kvtree_walk w;
	const struct kvtree *n = NULL;
	size_t size = COUNT_SIZE;

	kvtree_walk_start(&w, t);
	while ((n = kvtree_walk_next(&w)) != NULL)
		size += strlen(n->key) + 1 + COUNT_SIZE;
	return w.too_deep ? SIZE_MAX : size;
}

int
kvtree_encode(const struct kvtree *t, struct buf *out, struct error *err)
{
	const size_t frame = KVTREE_HEADER_SIZE + CRC_SIZE;
	size_t size = kvtree_packed_size(t), len = 0;
	struct kvtree_walk w;
	const struct kvtree *n = NULL;
	char *start = NULL, *p = NULL;

	if (size == SIZE_MAX)
		return error_set(err, ERROR_USAGE,
				 "nested deeper than %d levels",
				 KVTREE_MAX_DEPTH);
	if (size > KVTREE_MAX_ENCODED - frame)
		return error_set(err, ERROR_USAGE,
				 "metadata would take %zu bytes, at most %zu",
				 size, KVTREE_MAX_ENCODED - frame);
	size += frame;
	if (buf_reserve(out, size) < 0)
		return no_memory(err);
	start = p = out->data + out->len;
	p = put_be(p, MAGIC, 4);
	p = put_be(p, TYPE_TREE, 2);
	p = put_be(p, VERSION, 2);
	p = put_be(p, size, 8);
	p = put_be(p, FLAG_CRC, 4);
	p = put_be(p, kvtree_count(t), COUNT_SIZE);
	kvtree_walk_start(&w, t);
	while ((n = kvtree_walk_next(&w)) != NULL) {
		len = strlen(n->key) + 1;
		memcpy(p, n->key, len);
		p = put_be(p + len, kvtree_count(n), COUNT_SIZE);
	}
	p = put_be(p, crc_update(0, start, (size_t)(p - start)), CRC_SIZE);
	assert((size_t)(p - start) == size);
	*p = '\0';
	out->len += size;
	return 0;
}

/* --- Files ------------------------------------------------------------ */

int
kvtree_read_file_into(struct kvtree *t, int dirfd, const char *name,
		      struct buf *scratch, struct error *err)
{
	struct kvtree_tree *tree = kvtree_tree_of(t);
	struct header h = { 0 };
	struct buf old = BUF_INIT;
	int rc = -1;

	kvtree_clear(t);
	if (io_read_file(dirfd, name, KVTREE_MAX_ENCODED, scratch, err) < 0)
		return -1;
	if (check_length(scratch->data, scratch->len, &h, err) < 0)
		goto out;
	if (buf_reserve(scratch, PAD) < 0) {
		no_memory(err);
		goto out;
	}
	/* What was read becomes the image; no byte is copied. */
	memset(scratch->data + scratch->len, 0, PAD);
	old = tree->image;
	tree->image = *scratch;
	*scratch = old;
	buf_clear(scratch);
	rc = decode_image(tree, &h, err);
	if (rc < 0)
		kvtree_clear(t);
out:
	return rc < 0 ? error_wrap(err, "%s", name) : 0;
}

struct kvtree *
kvtree_read_file(int dirfd, const char *name, struct error *err)
{
	struct kvtree *t = kvtree_new(err);
	struct buf scratch = BUF_INIT;

	if (t != NULL &&
	    kvtree_read_file_into(t, dirfd, name, &scratch, err) < 0) {
		kvtree_free(t);
		t = NULL;
	}
	buf_free(&scratch);
	return t;
}

int
kvtree_write_file(const struct kvtree *t, int dirfd, const char *name,
		  struct error *err)
{
	struct buf image = BUF_INIT;
	int rc = kvtree_encode(t, &image, err);

	if (rc < 0)
		error_wrap(err, "%s", name);
	else
		rc = io_replace(dirfd, name, image.data, image.len, 0666, err);
	buf_free(&image);
	return rc;
}
