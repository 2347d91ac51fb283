/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A segment map.  The input is one part of a rank2file (fuzz_tree.h) together
 * with the table of containers, which normally is in the top file.  The map is
 * read, checked, sorted, and written as a rank2file that must give the same
 * map.
 */
#include "fuzz_tree.h"
#include "kvtree/value.h"
#include "map.h"
#include "maptest.h"

#define RANKS_MAX 64

/* Read the ranks of the part; those beyond RANKS_MAX are ignored. */
static bool
read_ranks(const struct kvtree *t, struct rank2file *r)
{
	const struct kvtree *k = NULL, *f = NULL;

	kvtree_foreach (k, kvtree_get(t, "RANK")) {
		const struct kvtree *list = kvtree_get(k, "FILE");
		struct rank2file_rank *to = NULL;
		uint64_t n = 0;

		if (!value_number(kvtree_key(k), RANKS_MAX - 1, &n) ||
		    list == NULL)
			continue;
		to = &r->ranks[n];
		to->present = true;
		to->files = arena_alloc(r->arena, kvtree_count(list) + 1,
					sizeof(*to->files));
		kvtree_foreach (f, list)
			if (rank2file_read_file(f, r->arena,
						&to->files[to->nfiles++],
						NULL) < 0)
				return false;
	}
	return true;
}

/* Check the promises of segmap.h for a map that was read. */
static void
check_sound(const struct segmap *m)
{
	uint64_t bytes = 0;
	size_t segs = 0;

	for (size_t i = 0; i < m->ncontainers; i++) {
		const char *name = m->containers[i].name;
		size_t len = strlen(name);

		fuzz_require(len > 0 && name[0] != '/' &&
			     name[len - 1] != '/' && strcmp(name, "..") != 0 &&
			     strncmp(name, "../", 3) != 0 &&
			     strstr(name, "/../") == NULL);
		fuzz_require(len < 3 || strcmp(name + len - 3, "/..") != 0);
		fuzz_require(m->containers[i].used <= INT64_MAX);
	}
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];

		fuzz_require(f->first == segs && f->start == bytes);
		fuzz_require(i == 0 || f->rank >= m->files[i - 1].rank);
		for (; segs < f->first + f->nsegs; segs++) {
			const struct segment *s = &m->segs[segs];

			fuzz_require(s->container < m->ncontainers &&
				     s->len > 0 && s->off <= INT64_MAX &&
				     s->off + s->len <=
					     m->containers[s->container].used);
			bytes += s->len;
		}
	}
	fuzz_require(segs == m->nsegs && bytes == m->bytes &&
		     bytes <= INT64_MAX);
}

/* A finding is one line of text, about an existing file or container. */
static int
look_at(void *arg, const struct segmap_finding *f)
{
	const struct segmap *m = arg;
	char text[1024];

	segmap_flaw_text(m, f, text, sizeof(text));
	fuzz_require(text[0] != '\0' && strpbrk(text, "\n\r\x1b") == NULL);
	fuzz_require(f->file < m->nfiles || f->file == SIZE_MAX);
	fuzz_require(f->other < m->nfiles || f->other == SIZE_MAX);
	if (f->flaw == SEGMAP_SUM)
		fuzz_require(f->len != m->files[f->file].size);
	else if (f->flaw != SEGMAP_TWIN)
		fuzz_require(f->container < m->ncontainers && f->len > 0 &&
			     f->off + f->len <= INT64_MAX);
	return 0;
}

/* Sorting keeps the files, rank by rank. */
static void
check_sort(const struct segmap *m)
{
	size_t *order = mem_calloc(m->nfiles + 1, sizeof(*order));
	bool *seen = mem_calloc(m->nfiles + 1, sizeof(*seen));

	fuzz_require(order != NULL && seen != NULL);
	fuzz_require(segmap_sort(m, true, order, NULL) == 0);
	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[order[i]];

		fuzz_require(f->rank == m->files[i].rank);
		/* A file with segments is identified by the first of them. */
		for (size_t k = 0; f->nsegs > 0 && k < m->nfiles; k++)
			if (m->files[k].nsegs > 0 &&
			    m->files[k].first == f->first) {
				fuzz_require(!seen[k]);
				seen[k] = true;
				break;
			}
	}
	for (size_t i = 0; i < m->nfiles; i++)
		fuzz_require(seen[i] == (m->files[i].nsegs > 0));
	mem_free(seen);
	mem_free(order);
}

/* Write the map and read it again: the number of containers. */
static size_t
write_again(const struct segmap *m, bool same)
{
	auto_rank2file w;
	auto_segmap again;
	size_t count = 0;

	fuzz_require(segmap_write(m, RANKS_MAX, false, &w, NULL) == 0);
	fuzz_require(segmap_read(&again, &w, NULL) == 0);
	fuzz_require(!same || same_map(m, &again));
	count = again.ncontainers;
	return count;
}

/* A map that was written and read again is the same, but for containers without
 * bytes and without a recorded size.  These get one here. */
static void
check_write(struct segmap *m)
{
	const size_t count = write_again(m, false);
	auto_rank2file w;
	size_t kept = 0;

	for (size_t i = 0; i < m->ncontainers; i++) {
		kept += m->containers[i].used > 0 || m->containers[i].has_size;
		m->containers[i].has_size |= m->containers[i].used == 0;
	}
	fuzz_require(count == kept);
	fuzz_require(write_again(m, true) == m->ncontainers);
	fuzz_require(segmap_write(m, RANKS_MAX, true, &w, NULL) == 0);
	fuzz_require(!segmap_is_packed(&w));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kvtree *t = fuzz_tree(data, size);
	struct rank2file r = { .nranks = RANKS_MAX };
	struct map *by = NULL;
	struct segmap m;

	if (t == NULL)
		return 0;
	r.arena = arena_new();
	r.ranks = arena_alloc(r.arena, RANKS_MAX, sizeof(*r.ranks));
	r.containers = kvtree_get(t, "CTR");
	if (read_ranks(t, &r) && segmap_read(&m, &r, NULL) == 0) {
		check_sound(&m);
		fuzz_require(segmap_check(&m, look_at, &m, NULL) == 0);
		check_sort(&m);
		check_write(&m);
		by = segmap_by_path(&m);
		fuzz_require(by != NULL && map_count(by) <= m.nfiles);
		map_free(by);
		segmap_free(&m);
	}
	rank2file_free(&r);
	kvtree_free(t);
	return 0;
}
