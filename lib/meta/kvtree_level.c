/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kvtree_level.c - memory of a tree, and the children of one node.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include "mem.h"
#include "meta/kvtree_impl.h"

#define SLAB_MIN ((size_t)64 << 10)
#define SLAB_MAX ((size_t)8 << 20)
/* From here on the kernel is asked for huge pages: to fault in small ones
 * takes longer than to decode what is put there. */
#define SLAB_HUGE ((size_t)2 << 20)

/* Longer keys do not share a segment: at most a quarter of one is lost. */
#define KEY_SHARED (KVTREE_SEGMENT / 4)

#define TAG_REMOVED 1
#define SLOTS_MIN ((size_t)64)

/* --- Memory ----------------------------------------------------------- */

/* Start the next segment.  Blocks double, so a small tree stays small. */
static int
next_segment(struct kvtree_tree *tree)
{
	struct kvtree_slab *slab = NULL, **link = &tree->slabs;
	size_t size = SLAB_MIN, align = 0;

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
			align = size < SLAB_HUGE ? KVTREE_SEGMENT : SLAB_HUGE;
			slab->data = mem_aligned(align, size);
			if (slab->data == NULL) {
				mem_free(slab);
				return -1;
			}
			if (size >= SLAB_HUGE)
				(void)madvise(slab->data, size, MADV_HUGEPAGE);
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
	n->key = key != NULL ? copy_key(tree, key) : NULL;
	n->next = NULL;
	n->first = NULL;
	return key != NULL && n->key == NULL ? NULL : n;
}

void
kvtree_level_reset(struct kvtree_tree *tree, bool free_all)
{
	struct kvtree_slab *slab = NULL;
	struct kvtree_long *l = NULL;

	for (; tree->levels != NULL; tree->levels = tree->levels->older)
		mem_free(tree->levels->links);
	while ((l = tree->longs) != NULL) {
		tree->longs = l->older;
		mem_free(l);
	}
	buf_clear(&tree->image);
	tree->root = (struct kvtree){ .key = "" };
	tree->slab = NULL;
	tree->fresh = tree->end = NULL;
	tree->low = (char *)(tree + 1);
	tree->high = (char *)tree + KVTREE_SEGMENT;
	if (!free_all)
		return;
	buf_free(&tree->image);
	while ((slab = tree->slabs) != NULL) {
		tree->slabs = slab->next;
		mem_free(slab->data);
		mem_free(slab);
	}
	mem_free(tree);
}

/* --- Hash ------------------------------------------------------------- */

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

	for (; len >= 8; key += 7, len -= 7) {
		memcpy(&word, key, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		word &= UINT64_MAX >> 8;
#else
		word >>= 8;
#endif
		h = times(h + word, secret[0]);
	}
	for (word = 0; len > 0; len--)
		word = word << 8 | (unsigned char)*key++;
	return times(times(h + word, secret[0]), secret[1]);
}

/* Choose the secret of `tree` when its first index is made. */
static void
choose_secret(struct kvtree_tree *tree)
{
	struct timespec now = { 0 };
	int i = 0;

	if (tree->secret[0] != 0)
		return;
	if (getrandom(tree->secret, sizeof(tree->secret), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(tree->secret)) {
		/* Early in boot, or forbidden: at least not a constant. */
		clock_gettime(CLOCK_MONOTONIC, &now);
		tree->secret[0] =
			(uint64_t)now.tv_nsec << 24 ^ (uint64_t)(uintptr_t)tree;
		tree->secret[1] =
			times((uint64_t)now.tv_nsec + 1, tree->secret[0] >> 3);
	}
	for (i = 0; i < 2; i++)
		tree->secret[i] = tree->secret[i] % (PRIME - 1) + 1;
}

/* --- The index -------------------------------------------------------- */

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

/* The slot of the child `key`, or SIZE_MAX. */
static size_t
find_slot(const struct kvtree_level *level, const char *key, uint64_t hash)
{
	uint8_t tag = tag_of(hash);
	size_t i = hash & level->mask;

	for (; level->tags[i] != 0; i = (i + 1) & level->mask)
		if (level->tags[i] == tag &&
		    strcmp((*level->links[i])->key, key) == 0)
			return i;
	return SIZE_MAX;
}

static void
index_add(struct kvtree_level *level, struct kvtree **link, uint64_t hash)
{
	size_t i = hash & level->mask;

	while (level->tags[i] != 0)
		i = (i + 1) & level->mask;
	level->tags[i] = tag_of(hash);
	level->links[i] = link;
	level->used++;
}

/* Tell the index that another pointer leads to `n` now; NULL is ignored. */
static void
index_moved(struct kvtree_level *level, struct kvtree *n,
	    struct kvtree **old_link, struct kvtree **new_link)
{
	uint64_t hash = 0;
	size_t i = 0;

	if (n == NULL)
		return;
	hash = hash_in(level, n->key);
	for (i = hash & level->mask;
	     level->links[i] != old_link || level->tags[i] <= TAG_REMOVED;
	     i = (i + 1) & level->mask)
		;
	level->links[i] = new_link;
}

static void
index_fill(struct kvtree_level *level)
{
	struct kvtree **link = &level->first;

	memset(level->tags, 0, level->mask + 1);
	level->used = 0;
	for (; *link != NULL; link = &(*link)->next)
		index_add(level, link, hash_in(level, (*link)->key));
}

/* Give `level` slots for `room` children. */
static int
index_size(struct kvtree_level *level, size_t room)
{
	const size_t each = sizeof(*level->links) + sizeof(*level->tags);
	struct kvtree ***links = NULL;
	size_t slots = SLOTS_MIN;

	while (slots / 4 * 3 < room)
		slots *= 2;
	links = mem_alloc(slots, each);
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
	if (level->used + more <= (level->mask + 1) / 4 * 3)
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

/* --- Children --------------------------------------------------------- */

struct kvtree **
kvtree_level_find(const struct kvtree_level *level, const char *key,
		  uint64_t hash)
{
	size_t i = find_slot(level, key, hash);

	return i != SIZE_MAX ? level->links[i] : NULL;
}

struct kvtree **
kvtree_level_search(const struct kvtree *t, const char *key)
{
	const struct kvtree_level *level = kvtree_level_of(t);
	struct kvtree **link = NULL;

	if (level != NULL)
		return kvtree_level_find(level, key, hash_in(level, key));
	for (link = (struct kvtree **)&t->first; *link != NULL;
	     link = &(*link)->next)
		if (strcmp((*link)->key, key) == 0)
			return link;
	return NULL;
}

void
kvtree_level_push(struct kvtree_level *level, struct kvtree *n, uint64_t hash)
{
	n->next = NULL;
	*level->tail = n;
	index_add(level, level->tail, hash);
	level->tail = &n->next;
	level->count++;
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
	if (last || level->first == NULL) {
		kvtree_level_push(level, n, hash_in(level, n->key));
		return 0;
	}
	index_moved(level, level->first, &level->first, &n->next);
	n->next = level->first;
	level->first = n;
	index_add(level, &level->first, hash_in(level, n->key));
	level->count++;
	return 0;
}

void
kvtree_level_cut(struct kvtree *t, struct kvtree **link)
{
	struct kvtree_level *level = kvtree_level_of(t);
	struct kvtree *n = *link;

	if (level != NULL) {
		level->tags[find_slot(level, n->key, hash_in(level, n->key))] =
			TAG_REMOVED;
		index_moved(level, n->next, &n->next, link);
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
