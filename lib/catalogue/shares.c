/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shares.c - which files several datasets name.
 *
 * The metadata of each dataset are read once, whatever the number of datasets
 * that are deleted.  The table holds hashes of the paths that these name, not
 * the paths: 16 bytes instead of a hundred.  If two paths had the same hash, a
 * file would stay that could have been deleted.
 */
#include <inttypes.h>

#include "catalogue/catalogue_impl.h"
#include "error.h"
#include "map.h"
#include "mem.h"
#include "meta/index.h"
#include "work.h"

#define SLOTS_MIN ((size_t)1024)

/* A path; hash 0: a free slot. */
struct slot {
	uint64_t hash;
	uint32_t left; /* datasets of this run that name it, not deleted yet */
	bool kept;     /* a dataset that stays names it */
};

/* Linear probing, at most 3/4 full. */
struct catalogue_shares {
	struct map *hasher; /* empty: has the secret of the hash */
	struct slot *slots;
	size_t mask, count;
};

/* --- The table --- */

void
catalogue_shares_free(struct catalogue_shares *s)
{
	if (s == NULL)
		return;
	map_free(s->hasher);
	mem_free(s->slots);
	mem_free(s);
}

struct catalogue_shares *
catalogue_shares_new(struct error *err)
{
	struct catalogue_shares *s = mem_calloc(1, sizeof(*s));

	if (s != NULL) {
		s->hasher = map_new();
		s->slots = mem_calloc(SLOTS_MIN, sizeof(*s->slots));
		s->mask = SLOTS_MIN - 1;
	}
	if (s != NULL && s->hasher != NULL && s->slots != NULL)
		return s;
	catalogue_shares_free(s);
	error_no_memory(err);
	return NULL;
}

/* The slot of a hash, or the free slot where it belongs. */
static struct slot *
slot_of(struct slot *slots, size_t mask, uint64_t hash)
{
	size_t i = (size_t)hash & mask;

	while (slots[i].hash != 0 && slots[i].hash != hash)
		i = (i + 1) & mask;
	return &slots[i];
}

static struct slot *
find(struct catalogue_shares *s, const char *path)
{
	uint64_t hash = map_hash(s->hasher, path);

	return slot_of(s->slots, s->mask, hash != 0 ? hash : 1);
}

static int
grow(struct catalogue_shares *s, struct error *err)
{
	size_t mask = 2 * s->mask + 1;
	struct slot *to = NULL;

	if (s->count < (s->mask + 1) / 4 * 3)
		return 0;
	to = mem_calloc(mask + 1, sizeof(*to));
	if (to == NULL)
		return error_no_memory(err);
	for (size_t i = 0; i <= s->mask; i++)
		if (s->slots[i].hash != 0)
			*slot_of(to, mask, s->slots[i].hash) = s->slots[i];
	mem_free(s->slots);
	s->slots = to;
	s->mask = mask;
	return 0;
}

/* --- Datasets that are deleted --- */

int
catalogue_shares_add(struct catalogue_shares *s,
		     const struct catalogue_claims *k, struct error *err)
{
	for (size_t i = 0; i < k->count; i++) {
		uint64_t hash = map_hash(s->hasher, k->list[i].path);
		struct slot *at = NULL;

		if (grow(s, err) < 0)
			return -1;
		hash = hash != 0 ? hash : 1;
		at = slot_of(s->slots, s->mask, hash);
		s->count += at->hash == 0;
		at->hash = hash;
		at->left++;
	}
	return 0;
}

void
catalogue_shares_take(struct catalogue_shares *s, struct catalogue_claims *k)
{
	for (size_t i = 0; i < k->count; i++) {
		struct slot *at = find(s, k->list[i].path);

		/* A path that was not there when the dataset was added may be
		 * anybody's. */
		if (at->hash == 0)
			k->list[i].shared = true;
		else
			k->list[i].shared =
				(at->left > 0 && --at->left > 0) || at->kept;
	}
}

/* --- Datasets that stay --- */

static int
mark(void *arg, const char *path, struct error *err)
{
	struct slot *at = path != NULL ? find(arg, path) : NULL;

	(void)err;
	if (at != NULL && at->hash != 0)
		at->kept = true;
	return 0;
}

/* Mark the files of a dataset, listed by its rank2file or filemaps. */
static int
mark_dataset(struct catalogue *c, const struct catalogue_dir *d,
	     const struct catalogue_options *o, struct catalogue_shares *s,
	     struct error *why)
{
	struct catalogue_names n;
	int rc = catalogue_names_read(c, d, false, o, &n, why);

	if (rc == 0)
		rc = catalogue_names_unknown(&n, why)
			     ? -1
			     : catalogue_names_each(&n, mark, s, NULL);
	catalogue_names_free(&n);
	return rc;
}

int
catalogue_shares_doubt(int64_t id, const struct index *ix,
		       const struct catalogue_options *o,
		       const struct error *why, struct error *err)
{
	struct index_entry e;

	if (!catalogue_is_verdict(why))
		return error_pass(err, why);
	if (ix != NULL && index_find_id(ix, id, &e, NULL) == 0 &&
	    index_entry_valid(&e))
		return error_set(err, ERROR_CORRUPT,
				 "dataset %" PRId64
				 ": cannot tell whether it shares files: %s; "
				 "--build or --drop it first",
				 id, why->text);
	work_say(&o->work,
		 "dataset %" PRId64 ": cannot tell whether it shares files: %s",
		 id, why->text);
	return 0;
}

int
catalogue_shares_mark(struct catalogue *c, int64_t id, const struct index *ix,
		      const struct catalogue_options *o,
		      struct catalogue_shares *s, struct error *err)
{
	struct catalogue_dir d = CATALOGUE_DIR_INIT;
	struct error why = ERROR_INIT;
	int rc = 0;

	if (s->count == 0)
		return 0;
	/* A dataset without a directory names no files. */
	rc = catalogue_dir_open(c, id, &d, &why);
	if (rc == 0)
		rc = mark_dataset(c, &d, o, s, &why);
	else if (why.kind == ERROR_ABSENT)
		rc = 0;
	catalogue_dir_close(&d);
	return rc < 0 ? catalogue_shares_doubt(id, ix, o, &why, err) : 0;
}
