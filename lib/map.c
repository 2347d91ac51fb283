/* SPDX-License-Identifier: BSD-3-Clause */
#include "map.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "mem.h"

#define SLOTS_MIN ((size_t)16)
#define ENTRIES_MAX ((size_t)UINT32_MAX - 1)

struct entry {
	const char *key;
	size_t value;
};

/*
 * `slots` is a table with linear probing, at most 3/4 full.  A slot holds the
 * index of its entry plus 1 (0: free) and 32 bits of the key's hash.  These
 * bits give the position in a table of any size, so growing reads no key.  They
 * also rule out nearly every wrong key, so a search compares one string.
 */
struct slot {
	uint32_t hash;
	uint32_t entry;
};

struct map {
	struct slot *slots;
	size_t mask; /* number of slots - 1; a power of two - 1 */
	struct entry *entries;
	size_t count, room; /* entries used and allocated */
	uint64_t secret[2];
};

static inline uint64_t
rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline void
sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson, Bernstein 2012): one round per word, three at the
 * end. */
uint64_t
map_hash(const struct map *m, const char *key)
{
	const uint64_t *secret = m->secret;
	const size_t len = strlen(key);
	uint64_t v[4] = {
		secret[0] ^ UINT64_C(0x736f6d6570736575),
		secret[1] ^ UINT64_C(0x646f72616e646f6d),
		secret[0] ^ UINT64_C(0x6c7967656e657261),
		secret[1] ^ UINT64_C(0x7465646279746573),
	};
	uint64_t word = 0, last = (uint64_t)len << 56;
	size_t i = 0;

	/* Host byte order is fine: no hash leaves the map. */
	for (; len - i >= 8; i += 8) {
		memcpy(&word, key + i, 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	word = 0;
	memcpy(&word, key + i, len - i);
	last ^= word;
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	sip_round(v);
	sip_round(v);
	sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct map *
map_new(void)
{
	struct map *m = mem_calloc(1, sizeof(*m));
	struct timespec now = { 0 };

	if (m == NULL)
		return NULL;
	m->slots = mem_calloc(SLOTS_MIN, sizeof(*m->slots));
	if (m->slots == NULL) {
		mem_free(m);
		return NULL;
	}
	m->mask = SLOTS_MIN - 1;
	/* As unpredictable as the system can provide. */
	if (getrandom(m->secret, sizeof(m->secret), GRND_NONBLOCK) ==
	    (ssize_t)sizeof(m->secret))
		return m;
	/* Early in boot, or forbidden: at least differ between runs. */
	clock_gettime(CLOCK_REALTIME, &now);
	m->secret[0] = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
	m->secret[1] = (uint64_t)(uintptr_t)m;
	return m;
}

void
map_free(struct map *m)
{
	if (m == NULL)
		return;
	mem_free(m->entries);
	mem_free(m->slots);
	mem_free(m);
}

/* The slot that holds `key`, or the free slot for it. */
static struct slot *
find(const struct map *m, const char *key, uint32_t hash)
{
	size_t i = hash & m->mask;
	struct slot *s = NULL;

	for (;; i = (i + 1) & m->mask) {
		s = &m->slots[i];
		if (s->entry == 0)
			return s;
		if (s->hash == hash &&
		    strcmp(m->entries[s->entry - 1].key, key) == 0)
			return s;
	}
}

static int
grow_slots(struct map *m)
{
	size_t old = m->mask + 1, i = 0, j = 0;
	struct slot *slots = mem_calloc(2 * old, sizeof(*slots));

	if (slots == NULL)
		return -1;
	for (i = 0; i < old; i++) {
		if (m->slots[i].entry == 0)
			continue;
		j = m->slots[i].hash & (2 * old - 1);
		while (slots[j].entry != 0)
			j = (j + 1) & (2 * old - 1);
		slots[j] = m->slots[i];
	}
	mem_free(m->slots);
	m->slots = slots;
	m->mask = 2 * old - 1;
	return 0;
}

int
map_put(struct map *m, const char *key, size_t value)
{
	uint32_t hash = 0;
	size_t mask = 0;
	struct slot *s = NULL;

	if (m == NULL) {
		errno = ENOMEM;
		return -1;
	}
	hash = (uint32_t)map_hash(m, key);
	mask = m->mask;
	s = find(m, key, hash);
	if (s->entry != 0) {
		m->entries[s->entry - 1].value = value;
		return 0;
	}
	if (m->count >= ENTRIES_MAX) {
		errno = ENOMEM;
		return -1;
	}
	if (!MEM_ROOM(m->entries, m->count, m->room) ||
	    (m->count + 1 > (m->mask + 1) / 4 * 3 && grow_slots(m) < 0))
		return -1;
	if (m->mask != mask) /* grown, so moved */
		s = find(m, key, hash);
	m->entries[m->count] = (struct entry){ .key = key, .value = value };
	s->hash = hash;
	s->entry = (uint32_t)++m->count;
	return 0;
}

size_t
map_get(const struct map *m, const char *key)
{
	const struct slot *s = NULL;

	if (m == NULL)
		return MAP_NONE;
	s = find(m, key, (uint32_t)map_hash(m, key));
	return s->entry != 0 ? m->entries[s->entry - 1].value : MAP_NONE;
}

size_t
map_count(const struct map *m)
{
	return m->count;
}
