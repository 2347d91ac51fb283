/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_level.c - memory of a tree, and the children of one node.
 */
#include <endian.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include "mem.h"
#include "meta/kvtree_impl.h"

#define SLAB_MIN ((size_t)64 << 10)
#define SLAB_MAX ((size_t)8 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

/* Longer keys do not share a segment: at most a quarter of one is lost. */
#define KEY_SHARED (KVTREE_SEGMENT / 4)

#define TAG_FREE 0
#define TAG_REMOVED 1
#define SLOTS_MIN ((size_t)64)

/* --- Memory --- */

/* A block of many pages: fewer of them, if the kernel can.  To fault in small
 * ones takes longer than to decode what is put there. */
static void *
large_block(size_t size)
{
	void *p = NULL;

	if (size < HUGE_PAGE)
		return mem_aligned(KVTREE_SEGMENT, size);
	p = mem_aligned(HUGE_PAGE, size);
	if (p != NULL)
		(void)madvise(p, size, MADV_HUGEPAGE);
	return p;
}

int
kvtree_level_buf(struct buf *b, size_t more)
{
	uintptr_t from = 0, to = 0; /* the huge pages that fit in */

	if (buf_reserve(b, more) < 0)
		return -1;
	from = ((uintptr_t)b->data + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	to = ((uintptr_t)b->data + b->cap) & ~(HUGE_PAGE - 1);
	if (from < to)
		(void)madvise((void *)from, to - from, MADV_HUGEPAGE);
	return 0;
}

/* Start the next segment.  Blocks double, so a small tree stays small. */
static int
next_segment(struct kvtree_tree *tree)
{
	struct kvtree_slab *slab = NULL, **link = &tree->slabs;
	size_t size = SLAB_MIN;

	if (tree->fresh == tree->end) {
		if (tree->slab != NULL)
			link = &tree->slab->next;
		if (tree->slab != NULL && tree->slab->size < SLAB_MAX)
			size = 2 * tree->slab->size;
		else if (tree->slab != NULL)
			size = SLAB_MAX;
		slab = *link; /* kept by an earlier kvtree_clear() */
		if (slab == NULL) {
			slab = mem_alloc(1, sizeof(*slab));
			if (slab == NULL)
				return -1;
			slab->data = large_block(size);
			if (slab->data == NULL) {
				mem_free(slab);
				return -1;
			}
			slab->size = size;
			slab->next = NULL;
			*link = slab;
		}
		tree->slab = slab;
		tree->fresh = slab->data;
		tree->end = slab->data + slab->size;
	}
	*(struct kvtree_tree **)(void *)tree->fresh = tree;
	tree->low = tree->fresh + sizeof(struct kvtree_tree *);
	tree->fresh += KVTREE_SEGMENT;
	tree->high = tree->fresh;
	return 0;
}

void *
kvtree_level_room(struct kvtree_tree *tree, size_t size)
{
	char *p = NULL;

	if ((size_t)(tree->high - tree->low) < size && next_segment(tree) < 0)
		return NULL;
	p = tree->low;
	tree->low += size;
	return p;
}

/* A copy of `key`. */
static const char *
copy_key(struct kvtree_tree *tree, const char *key)
{
	size_t size = strlen(key) + 1;
	struct kvtree_long *l = NULL;

	if (size > KEY_SHARED) {
		l = size < SIZE_MAX - sizeof(*l)
			    ? mem_alloc(1, sizeof(*l) + size)
			    : NULL;
		if (l == NULL)
			return NULL;
		l->older = tree->longs;
		tree->longs = l;
		return memcpy(l->text, key, size);
	}
	if ((size_t)(tree->high - tree->low) < size && next_segment(tree) < 0)
		return NULL;
	tree->high -= size;
	return memcpy(tree->high, key, size);
}

struct kvtree *
kvtree_level_node(struct kvtree_tree *tree, const char *key)
{
	struct kvtree *n = kvtree_level_room(tree, sizeof(*n));

	if (n == NULL)
		return NULL;
	n->key = copy_key(tree, key);
	n->next = NULL;
	n->first = NULL;
	return n->key != NULL ? n : NULL;
}

void
kvtree_level_reset(struct kvtree_tree *tree, enum kvtree_reset how)
{
	struct kvtree_slab *slab = NULL;
	struct kvtree_long *l = NULL;

	for (; tree->levels != NULL; tree->levels = tree->levels->older)
		mem_free(tree->levels->links);
	while ((l = tree->longs) != NULL) {
		tree->longs = l->older;
		mem_free(l);
	}
	if (how != KVTREE_KEEP_IMAGE)
		buf_clear(&tree->image);
	tree->root = (struct kvtree){ .key = "" };
	tree->slab = NULL;
	tree->fresh = tree->end = NULL;
	tree->low = (char *)(tree + 1);
	tree->high = (char *)tree + KVTREE_SEGMENT;
	if (how != KVTREE_FREE)
		return;
	buf_free(&tree->image);
	while ((slab = tree->slabs) != NULL) {
		tree->slabs = slab->next;
		mem_free(slab->data);
		mem_free(slab);
	}
	mem_free(tree);
}

/* --- Hash --- */

#define PRIME ((UINT64_C(1) << 61) - 1)

/* A number < 2^62 that is a * b modulo PRIME; a, b < 2^62. */
static uint64_t
times(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);

	return sum >= PRIME ? sum - PRIME : sum;
}

/*
 * The key, seven bytes a digit, as a polynomial at a secret point modulo a
 * prime (Carter and Wegman 1979): two keys that somebody chose without
 * knowing the point collide as rarely as two random ones.
 */
uint64_t
kvtree_level_hash(const uint64_t secret[2], const char *key, size_t len)
{
	uint64_t h = len, word = 0;
	uint32_t half = 0;

	for (; len >= 8; key += 7, len -= 7) {
		memcpy(&word, key, 8);
		h = times(h + (le64toh(word) & UINT64_MAX >> 8), secret[0]);
	}
	/* 0 to 7 bytes, in steps that need no loop. */
	word = 0;
	if (len >= 4) {
		memcpy(&half, key + len - 4, 4);
		word = (uint64_t)le32toh(half) >> 8 * (8 - len) << 32;
		memcpy(&half, key, 4);
		word |= le32toh(half);
	} else if (len > 0) {
		word = (uint64_t)(unsigned char)key[0] << 16 |
		       (uint64_t)(unsigned char)key[len / 2] << 8 |
		       (unsigned char)key[len - 1];
	}
	return times(times(h + word, secret[0]), secret[1]);
}

/* Choose the secret of `tree` when its first index is made. */
static void
choose_secret(struct kvtree_tree *tree)
{
	uint64_t *secret = tree->secret;
	struct timespec now = { 0 };

	if (secret[0] != 0)
		return;
	if (getrandom(secret, sizeof(tree->secret), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(tree->secret)) {
		/* Early in boot, or forbidden: at least not a constant. */
		clock_gettime(CLOCK_MONOTONIC, &now);
		secret[0] = (uint64_t)now.tv_nsec << 32 ^ (uintptr_t)tree;
		secret[1] = (uint64_t)now.tv_nsec ^ (uintptr_t)&now;
	}
	secret[0] = secret[0] % (PRIME - 1) + 1;
	secret[1] = secret[1] % (PRIME - 1) + 1;
}

/* --- The index --- */

/*
 * Slots are searched in groups of eight whose tags are compared at once.  So
 * a search almost never takes a branch that depends on data not yet in the
 * cache, and decoding goes on while the memory is on its way.
 */
#define GROUP ((size_t)8)
#define EACH_TAG UINT64_C(0x0101010101010101)

static uint8_t
tag_of(uint64_t hash)
{
	return (uint8_t)(hash >> 53) | 0x80;
}

static uint64_t
hash_in(const struct kvtree_level *level, const char *key)
{
	return kvtree_level_hash(level->secret, key, strlen(key));
}

static uint64_t
load_tags(const struct kvtree_level *level, size_t group)
{
	uint64_t tags = 0;

	memcpy(&tags, level->tags + group, sizeof(tags));
	return le64toh(tags);
}

/* 0x80 in the bytes of `v` that are zero.  Bytes above the lowest zero one
 * may be reported wrongly. */
static uint64_t
zero_bytes(uint64_t v)
{
	return (v - EACH_TAG) & ~v & EACH_TAG << 7;
}

static size_t
lowest(uint64_t bytes)
{
	return (size_t)__builtin_ctzll(bytes) >> 3;
}

/* The slot of the child `key`; or SIZE_MAX, and in *gap where it belongs.
 * There always is a gap. */
static size_t
find_slot(const struct kvtree_level *level, const char *key, uint64_t hash,
	  size_t *gap)
{
	const uint64_t wanted = EACH_TAG * tag_of(hash);
	size_t group = hash * GROUP & level->mask, i = 0;
	uint64_t tags = 0, hits = 0;

	for (;; group = (group + GROUP) & level->mask) {
		tags = load_tags(level, group);
		hits = zero_bytes(tags ^ wanted);
		for (; hits != 0; hits &= hits - 1) {
			i = group + lowest(hits);
			if (level->tags[i] == tag_of(hash) &&
			    strcmp((*level->links[i])->key, key) == 0)
				return i;
		}
		hits = zero_bytes(tags);
		if (hits != 0) {
			*gap = group + lowest(hits);
			return SIZE_MAX;
		}
	}
}

void
kvtree_level_prefetch(const struct kvtree_level *level, uint64_t hash)
{
	size_t group = hash * GROUP & level->mask;

	__builtin_prefetch(level->tags + group);
	__builtin_prefetch(level->links + group, 1);
}

bool
kvtree_level_enter(struct kvtree_level *level, struct kvtree **link,
		   uint64_t hash)
{
	size_t gap = 0;

	if (find_slot(level, (*link)->key, hash, &gap) != SIZE_MAX)
		return false;
	level->tags[gap] = tag_of(hash);
	level->links[gap] = link;
	level->used++;
	return true;
}

/* Tell the index that another pointer leads to `n`; NULL is ignored. */
static void
index_moved(struct kvtree_level *level, const struct kvtree *n,
	    struct kvtree **old_link, struct kvtree **new_link)
{
	size_t i = 0;

	if (n == NULL)
		return;
	i = hash_in(level, n->key) * GROUP & level->mask;
	while (level->tags[i] <= TAG_REMOVED || level->links[i] != old_link)
		i = (i + 1) & level->mask;
	level->links[i] = new_link;
}

/* Take `n` out; *link leads to it, and to its successor from now on. */
static void
index_remove(struct kvtree_level *level, const struct kvtree *n,
	     struct kvtree **link)
{
	size_t i = hash_in(level, n->key) * GROUP & level->mask;

	while (level->tags[i] <= TAG_REMOVED || level->links[i] != link)
		i = (i + 1) & level->mask;
	/* No search has ever gone past a group with a free slot. */
	if (zero_bytes(load_tags(level, i & ~(GROUP - 1))) != 0) {
		level->tags[i] = TAG_FREE;
		level->used--;
	} else {
		level->tags[i] = TAG_REMOVED;
	}
	index_moved(level, n->next, (struct kvtree **)&n->next, link);
}

static void
index_fill(struct kvtree_level *level)
{
	struct kvtree **link = &level->first;

	memset(level->tags, TAG_FREE, level->mask + 1);
	level->used = 0;
	for (; *link != NULL; link = &(*link)->next)
		kvtree_level_enter(level, link, hash_in(level, (*link)->key));
}

/* Give `level` slots for `room` children: no more than half are used. */
static int
index_size(struct kvtree_level *level, size_t room)
{
	const size_t each = sizeof(*level->links) + sizeof(*level->tags);
	struct kvtree ***links = NULL;
	size_t slots = SLOTS_MIN;

	while (slots / 2 < room)
		slots *= 2;
	links = large_block(slots * each);
	if (links == NULL)
		return -1;
	mem_free(level->links);
	level->links = links;
	level->tags = (uint8_t *)(links + slots);
	level->mask = slots - 1;
	index_fill(level);
	return 0;
}

int
kvtree_level_reserve(struct kvtree_level *level, size_t more)
{
	if (level->used + more <= (level->mask + 1) / 2)
		return 0;
	/* Half as many again: removing and adding in turn stays cheap. */
	return index_size(level, level->count + level->count / 2 + more);
}

int
kvtree_level_make(struct kvtree *t, size_t room)
{
	struct kvtree_tree *tree = kvtree_tree_of(t);
	struct kvtree_level *level = kvtree_level_room(tree, sizeof(*level));
	struct kvtree **link = NULL;

	if (level == NULL)
		return -1;
	choose_secret(tree);
	*level = (struct kvtree_level){
		.first = t->first,
		.secret = tree->secret,
		.older = tree->levels,
	};
	if (index_size(level, room) < 0)
		return -1;
	for (link = &level->first; *link != NULL; link = &(*link)->next)
		level->count++;
	level->tail = link;
	tree->levels = level;
	t->first = (struct kvtree *)((uintptr_t)level + 1);
	return 0;
}

/* --- Children --- */

struct kvtree **
kvtree_level_search(const struct kvtree *t, const char *key)
{
	const struct kvtree_level *level = kvtree_level_of(t);
	struct kvtree **link = (struct kvtree **)&t->first;
	size_t i = 0, gap = 0;

	if (level != NULL) {
		i = find_slot(level, key, hash_in(level, key), &gap);
		return i != SIZE_MAX ? level->links[i] : NULL;
	}
	for (; *link != NULL; link = &(*link)->next)
		if (strcmp((*link)->key, key) == 0)
			return link;
	return NULL;
}

struct kvtree **
kvtree_level_append(struct kvtree_level *level, struct kvtree *n)
{
	struct kvtree **link = level->tail;

	n->next = NULL;
	*link = n;
	level->tail = &n->next;
	level->count++;
	return link;
}

int
kvtree_level_add(struct kvtree *t, struct kvtree *n, bool last)
{
	struct kvtree_level *level = kvtree_level_of(t);
	struct kvtree **link = NULL;
	size_t count = 0;

	if (level == NULL) {
		for (link = &t->first; *link != NULL; link = &(*link)->next)
			count++;
		if (count < KVTREE_SMALL) {
			if (!last)
				link = &t->first;
			n->next = *link;
			*link = n;
			return 0;
		}
		if (kvtree_level_make(t, count + 1) < 0)
			return -1;
		level = kvtree_level_of(t);
	}
	if (kvtree_level_reserve(level, 1) < 0)
		return -1;
	link = last ? level->tail : &level->first;
	index_moved(level, *link, link, &n->next);
	n->next = *link;
	*link = n;
	if (level->tail == link)
		level->tail = &n->next;
	kvtree_level_enter(level, link, hash_in(level, n->key));
	level->count++;
	return 0;
}

void
kvtree_level_cut(struct kvtree *t, struct kvtree **link)
{
	struct kvtree_level *level = kvtree_level_of(t);
	struct kvtree *n = *link;

	if (level != NULL) {
		index_remove(level, n, link);
		if (level->tail == &n->next)
			level->tail = link;
		level->count--;
	}
	*link = n->next;
}

void
kvtree_level_relink(struct kvtree *t, struct kvtree *n)
{
	struct kvtree_level *level = kvtree_level_of(t);

	if (level == NULL) {
		t->first = n;
		return;
	}
	level->first = n;
	index_fill(level);
	level->tail = &level->first;
	while (*level->tail != NULL)
		level->tail = &(*level->tail)->next;
}

void
kvtree_level_drop(struct kvtree *t)
{
	struct kvtree_level *level = kvtree_level_of(t);

	if (level == NULL) {
		t->first = NULL;
		return;
	}
	level->first = NULL;
	level->tail = &level->first;
	level->count = 0;
	index_fill(level);
}
