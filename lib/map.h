/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * map.h - hash table from strings to integers.
 *
 * Ownership: keys are borrowed and must outlive the map.  Expected cost of
 * each call does not grow with the number of keys, whatever keys an attacker
 * picks (the hash is keyed).
 */
#ifndef MAP_H
#define MAP_H

#include <stddef.h>
#include <stdint.h>

struct map; /* opaque */

#define MAP_NONE SIZE_MAX /* no such key; not allowed as a value */

/* NULL: ENOMEM.  It is then an empty map for map_get(), and map_put() fails. */
struct map *map_new(void);
void map_free(struct map *m);

/* Set key to value (< MAP_NONE), replacing an existing value.  -1: ENOMEM. */
int map_put(struct map *m, const char *key, size_t value);

/* The value of `key`, or MAP_NONE. */
size_t map_get(const struct map *m, const char *key);

size_t map_count(const struct map *m);

/* The hash of `key`, for tables that do not keep the keys.  Different keys have
 * the same hash with a probability of 2^-64. */
uint64_t map_hash(const struct map *m, const char *key);

#endif /* MAP_H */
