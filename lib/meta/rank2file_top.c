/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rank2file_top.c - restore files of a packed dataset's map of which both
 * copies are lost: the top file from the parts, and a part from packed.N.scr.
 *
 * A part has the number of ranks and the places of its files.  The rest of the
 * top file follows from names: those of the parts, and of their packed
 * metadata, which have the same numbers.  Only sizes and checksums of
 * containers cannot be restored.  If all parts are lost, too, the packed
 * metadata have their tables.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "dir.h"
#include "io.h"
#include "kvtree/kvtree.h"
#include "meta/dataset_dir.h"
#include "meta/rank2file.h"
#include "meta/rank2file_impl.h"
#include "meta/summary.h"
#include "num.h"
#include "path.h"

struct topping {
	const struct rank2file_base *base;
	int dirfd;
	/* Numbers of all parts, or of all packed.N.scr. */
	struct numbers {
		uint64_t generation;
		/* there is one; they have different generations */
		bool any, mixed;
	} parts, spares;
	struct buf raw;
};

static void
note_number(struct numbers *n, uint64_t number)
{
	number %= RANK2FILE_PART_RANKS;
	n->mixed |= n->any && number != n->generation;
	n->any = true;
	n->generation = number;
}

/* Read file `name`, or else its second copy. */
static int
read_any(int dirfd, const char *name, struct buf *raw)
{
	char copy[NAME_MAX + 1];

	snprintf(copy, sizeof(copy), RANK2FILE_COPY "%s", name);
	return kvtree_read_sound(dirfd, name, raw, NULL) == 0
		       ? 0
		       : kvtree_read_sound(dirfd, copy, raw, NULL);
}

bool
rank2file_has_segments(const struct kvtree *part)
{
	const struct kvtree *rank = NULL, *file = NULL;

	kvtree_foreach (rank, kvtree_get(part, "RANK"))
		kvtree_foreach (file, kvtree_get(rank, "FILE"))
			if (kvtree_get(file, "SEG") != NULL)
				return true;
	return false;
}

bool
rank2file_is_left_over(const struct rank2file_base *base, int dirfd,
		       const struct kvtree *top)
{
	const struct kvtree *copies = kvtree_get2(top, "CTR", "COPY");
	struct buf raw = BUF_INIT;
	const char *name = NULL;
	bool others = false;
	struct dir_walk w;
	int rc = dir_walk(&w, dirfd, base->base, NULL);

	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		uint64_t level = 0, writer = 0;
		struct kvtree *part = NULL;

		if (!rank2file_part_scan(base, name, &level, &writer) ||
		    kvtree_get(copies, name) != NULL ||
		    read_any(dirfd, name, &raw) < 0)
			continue;
		part = kvtree_decode(raw.data, raw.len, NULL, NULL);
		others = others ||
			 (part != NULL && !rank2file_has_segments(part));
		kvtree_free(part);
	}
	rc = dir_done(&w, rc, NULL);
	buf_free(&raw);
	return rc == 0 && others;
}

/*
 * Find the generation of the parts.  Without parts, use that of packed.N.scr,
 * unless a summary was written since: another dataset may have replaced this
 * one.  In layout 1 the directory has the name of the dataset.
 */
static bool
find_generation(struct topping *t)
{
	char name[RANK2FILE_SPARE_NAME];
	struct stat map, summary;
	const char *entry = NULL;
	struct dir_walk w;
	int rc = dir_walk(&w, t->dirfd, t->base->base, NULL);

	while (rc == 0 && (entry = dir_next(&w)) != NULL) {
		char first[NAME_MAX + 1];
		uint64_t level = 0, writer = 0;
		int64_t spare = -1;

		(void)dataset_dir_is_copy(entry, first);
		spare = dataset_dir_packed(first);
		if (spare >= 0)
			note_number(&t->spares, (uint64_t)spare);
		if (!rank2file_part_scan(t->base, first, &level, &writer))
			continue;
		note_number(&t->parts, writer);
		t->parts.mixed |= level > 0;
	}
	if (dir_done(&w, rc, NULL) < 0)
		return false;
	if (t->parts.any)
		return !t->parts.mixed;
	t->parts = t->spares;
	snprintf(name, sizeof(name), RANK2FILE_SPARE_FMT, t->spares.generation);
	if (!t->spares.any || t->spares.mixed || *t->base->suffix != '\0')
		return t->spares.any && !t->spares.mixed;
	return path_stat_beneath(t->dirfd, name, &map, NULL) < 0 ||
	       path_stat_beneath(t->dirfd, SUMMARY_FILE, &summary, NULL) < 0 ||
	       summary.st_mtim.tv_sec <= map.st_mtim.tv_sec;
}

/* Read packed.N.scr `name`, or else its second copy, into t->raw: that whose
 * table is `part`, as another dataset's has another one.  Neither: t->raw is
 * empty. */
static void
read_own(struct topping *t, const char *name, const struct kvtree *part)
{
	char file[sizeof(RANK2FILE_COPY) + RANK2FILE_NAME_SIZE];
	struct buf is = BUF_INIT, own = BUF_INIT;
	bool same = false;

	if (kvtree_encode(part, &is, NULL) < 0)
		buf_clear(&is);
	for (int copy = 0; copy < 2 && !same; copy++) {
		const struct kvtree *spare = NULL;
		struct kvtree *all = NULL;

		snprintf(file, sizeof(file), "%s%s", copy ? RANK2FILE_COPY : "",
			 name);
		if (kvtree_read_sound(t->dirfd, file, &t->raw, NULL) < 0)
			continue;
		all = kvtree_decode(t->raw.data, t->raw.len, NULL, NULL);
		spare = kvtree_get(all, RANK2FILE_SPARE);
		buf_clear(&own);
		same = all != NULL && (spare == NULL ||
				       (kvtree_encode(spare, &own, NULL) == 0 &&
					buf_equal(&own, &is)));
		kvtree_free(all);
	}
	if (!same)
		buf_clear(&t->raw);
	buf_free(&is);
	buf_free(&own);
}

/* Add the part of the ranks from `first` on to the top file; *nranks becomes
 * the number of all ranks. */
static int
add_part(struct topping *t, struct kvtree *top, uint64_t first,
	 uint64_t *nranks, bool *packed)
{
	const uint64_t number = first + t->parts.generation;
	struct kvtree *ranks = kvtree_put(top, "RANK", NULL), *k = NULL;
	struct kvtree *ctr = kvtree_put(top, "CTR", NULL);
	struct kvtree *part = NULL;
	char name[RANK2FILE_NAME_SIZE], file[RANK2FILE_NAME_SIZE];
	int rc = -1;

	rank2file_part_name(t->base, number, name);
	if (read_any(t->dirfd, name, &t->raw) < 0 &&
	    rank2file_make_part(t->base, t->dirfd, name, NULL, &t->raw) < 0)
		return -1;
	rank2file_set_sum(kvtree_put(ctr, "COPY", NULL), name, &t->raw, NULL);
	part = kvtree_decode(t->raw.data, t->raw.len, NULL, NULL);
	rc = kvtree_u64(part, "RANKS", RANK2FILE_MAX_RANKS, nranks, NULL);
	k = kvtree_put(ranks, num_str(first), NULL);
	kvtree_set_u64(k, "OFFSET", 0, NULL);
	kvtree_set(k, "FILE", rank2file_part_file(t->base, name, file), NULL);
	*packed = *packed || rank2file_has_segments(part);
	/* An unreadable part may have had metadata files. */
	snprintf(name, sizeof(name), RANK2FILE_SPARE_FMT, number);
	if (rc == 0)
		read_own(t, name, part);
	kvtree_free(part);
	k = rank2file_set_sum(kvtree_put(ctr, "HIDDEN", NULL), name, &t->raw,
			      NULL);
	kvtree_set_u64(k, "META", 1, NULL);
	return rc;
}

/* Add what does not depend on the parts.  NULL: out of memory. */
static struct kvtree *
finish_top(struct kvtree *top, uint64_t nranks)
{
	kvtree_set_u64(top, "RANKS", nranks, NULL);
	kvtree_set_u64(top, "LEVEL", 1, NULL);
	return kvtree_checked(top, NULL);
}

struct kvtree *
rank2file_make_top(const struct rank2file_base *base, int dirfd)
{
	struct topping t = { .base = base, .dirfd = dirfd, .raw = BUF_INIT };
	uint64_t first = 0, nranks = 0;
	struct kvtree *top = NULL;
	bool packed = false;
	struct stat st;
	int rc = -1;

	/* Packed datasets of layout 3 have this directory. */
	if (*base->suffix == '\0' &&
	    (dir_stat(dirfd, SCR_DIR, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	     !S_ISDIR(st.st_mode)))
		return NULL;
	if (!find_generation(&t))
		return NULL;
	top = kvtree_new(NULL);
	rc = kvtree_check(top, NULL);
	for (; rc == 0 && (first == 0 || first < nranks);
	     first += RANK2FILE_PART_RANKS)
		rc = add_part(&t, top, first, &nranks, &packed);
	buf_free(&t.raw);
	if (rc == 0 && packed)
		return finish_top(top, nranks);
	kvtree_free(top);
	return NULL;
}

struct kvtree *
rank2file_make_plain_top(const struct rank2file_base *base, int dirfd)
{
	struct kvtree *top = NULL, *k = NULL;
	const char *name = NULL;
	uint64_t nranks = 0;
	bool mixed = false; /* two parts begin with the same rank */
	struct dir_walk w;
	int rc = 0;

	if (*base->suffix != '\0')
		return NULL;
	top = kvtree_new(NULL);
	rc = dir_walk(&w, dirfd, base->base, NULL);
	while (rc == 0 && (name = dir_next(&w)) != NULL) {
		uint64_t level = 0, writer = 0, n = 0;
		uint64_t first = RANK2FILE_MAX_RANKS;
		const struct kvtree *rank = NULL;
		struct kvtree *part = NULL;

		if (!rank2file_part_scan(base, name, &level, &writer) ||
		    level > 0)
			continue;
		/* Add the part, by the first of its ranks.  One that cannot be
		 * read is left out. */
		part = kvtree_read_beneath(dirfd, name, NULL, NULL);
		kvtree_foreach (rank, kvtree_get(part, "RANK")) {
			if (num_u64(kvtree_key(rank), 0,
				    RANK2FILE_MAX_RANKS - 1, &n, NULL) < 0)
				continue;
			first = n < first ? n : first;
			nranks = n >= nranks ? n + 1 : nranks;
		}
		if (kvtree_u64(part, "RANKS", RANK2FILE_MAX_RANKS, &n, NULL) ==
			    0 &&
		    n > nranks)
			nranks = n;
		kvtree_free(part);
		if (first == RANK2FILE_MAX_RANKS)
			continue;
		k = kvtree_put(top, "RANK", NULL);
		mixed |= kvtree_get(k, num_str(first)) != NULL;
		k = kvtree_put(k, num_str(first), NULL);
		kvtree_set_u64(k, "OFFSET", 0, NULL);
		kvtree_set(k, "FILE", name + base->stem, NULL);
	}
	if (dir_done(&w, rc, NULL) == 0 && nranks > 0 && !mixed)
		return finish_top(top, nranks);
	kvtree_free(top);
	return NULL;
}

/* --- A part, from the same tables in packed.N.scr --- */

/* Read file `name`, which must be sound, and have the checksum in `list`. */
static struct kvtree *
read_sound(int dirfd, const char *file, const char *name,
	   const struct kvtree *list)
{
	struct buf raw = BUF_INIT;
	struct kvtree *t = NULL;

	if (io_read_file(dirfd, file, KVTREE_MAX_ENCODED, &raw, NULL) == 0 &&
	    (list == NULL ||
	     rank2file_has_sum(kvtree_get(list, name), raw.data, raw.len)))
		t = kvtree_decode(raw.data, raw.len, NULL, NULL);
	buf_free(&raw);
	return t;
}

int
rank2file_make_part(const struct rank2file_base *base, int dirfd,
		    const char *name, const struct kvtree *list,
		    struct buf *out)
{
	char file[sizeof(RANK2FILE_COPY) + RANK2FILE_SPARE_NAME];
	const char *first = file + strlen(RANK2FILE_COPY);
	uint64_t level = 0, writer = 0;
	struct kvtree *t = NULL;
	int rc = -1;

	if (!rank2file_part_scan(base, name, &level, &writer) || level > 0)
		return -1;
	snprintf(file, sizeof(file), RANK2FILE_COPY RANK2FILE_SPARE_FMT,
		 writer);
	t = read_sound(dirfd, first, first, list);
	if (t == NULL)
		t = read_sound(dirfd, file, first, list);
	buf_clear(out);
	if (kvtree_get(t, RANK2FILE_SPARE) != NULL)
		rc = kvtree_encode(kvtree_get(t, RANK2FILE_SPARE), out, NULL);
	kvtree_free(t);
	return rc;
}
