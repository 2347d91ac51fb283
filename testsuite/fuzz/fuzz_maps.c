/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz_tree.h"
#include "jobtest.h"
#include "json.h"
#include "kvtree/kvstream.h"
#include "kvtree/value.h"
#include "map.h"
#include "maptest.h"
#include "meta/rank2file_impl.h"

/*
 * Decode any bytes.  A decoded tree must be the same after
 * encoding, respect the limit of depth, and survive printing, merging, sorting
 * and look-up.
 */

/* Every child is found by its key, and their number is the count. */
static void
look_up(const struct kvtree *t)
{
	const struct kvtree *n = NULL;
	size_t count = 0;

	kvtree_foreach (n, t) {
		fuzz_require(kvtree_get(t, kvtree_key(n)) == n);
		look_up(n);
		count++;
	}
	fuzz_require(kvtree_count(t) == count);
}

/* Check the properties of a decoded tree. */
static void
use(struct kvtree *t)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	auto_kvtree *u = NULL, *copy = kvtree_new(NULL);
	size_t used = 0;

	look_up(t);
	fuzz_require(kvtree_encode(t, &a, NULL) == 0);
	u = kvtree_decode(a.data, a.len, &used, NULL);
	fuzz_require(u != NULL && used == a.len);
	fuzz_require(kvtree_encode(u, &b, NULL) == 0);
	fuzz_require(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);

	/* A copy is equal, and merging it into the original adds nothing. */
	fuzz_require(kvtree_merge(copy, t, NULL) == 0);
	fuzz_require(kvtree_merge(t, copy, NULL) == 0);
	buf_clear(&b);
	fuzz_require(kvtree_encode(t, &b, NULL) == 0);
	fuzz_same(&a, &b);

	fuzz_require(kvtree_print(t, KVTREE_TREE, &b, NULL) == 0);
	fuzz_require(kvtree_print(t, KVTREE_KEYVAL, &b, NULL) == 0);
	json_free(kvtree_json(t));
	fuzz_require(kvtree_sort(t, NULL) == 0);
	look_up(t);
	while (kvtree_first(copy) != NULL)
		kvtree_remove(copy, kvtree_key(kvtree_first(copy)));
	fuzz_require(kvtree_count(copy) == 0);
	buf_free(&b);
}

/* Decode the bytes as a whole file with its header. */
static void
as_file(const uint8_t *data, size_t size)
{
	size_t used = 0;
	auto_kvtree *t = kvtree_decode(data, size, &used, NULL);

	if (t != NULL) {
		fuzz_require(used <= size);
		use(t);
	}
}

/* The same with size and checksum corrected, to reach the decoder of trees. */
static void
as_tree(const uint8_t *data, size_t size)
{
	auto_buf b = BUF_INIT;
	uint8_t *exact = NULL;
	size_t body = size > KVTREE_MIN_ENCODED ? size - 24 : 4;

	fuzz_require(bigend_add32(&b, 0x951fc3f5) == 0);
	fuzz_require(bigend_add32(&b, 0x00010001) == 0);
	fuzz_require(bigend_add64(&b, body + 24) == 0);
	fuzz_require(bigend_add32(&b, 1) == 0);
	if (size > KVTREE_MIN_ENCODED)
		fuzz_require(buf_add(&b, data + KVTREE_HEADER_SIZE, body) == 0);
	else
		fuzz_require(bigend_add32(&b, 0) == 0);
	fuzz_require(bigend_add32(&b, crc_update(0, b.data, b.len)) == 0);
	/* An exact allocation, so that reads beyond the image are detected. */
	exact = malloc(b.len);
	fuzz_require(exact != NULL);
	memcpy(exact, b.data, b.len);
	as_file(exact, b.len);
	free(exact);
}

FUZZ(kvtree)
{
	as_file(data, size);
	as_tree(data, size);
}

/*
 * A rank2file and its parts.  The input is a series of files: one byte selects
 * the name (bits 0-2), two give the length, then come the contents (see
 * fuzz_tree.h); an incomplete rest is ignored.  The files are loaded, built
 * into one part, and the part is compared.  Each file is also read as a part by
 * both readers: if the one without a tree accepts a file, the other must accept
 * it, too, with the same result.
 */

static const char *const names[8] = {
	"rank2file",	 "rank2file.0.0", "rank2file.0.1", "rank2file.0.2",
	"rank2file.1.0", "rank2file.1.2", "rank2file.scr", "rank2file.0.0.scr",
};

/* --- Two readers --- */

enum { PART_RANKS = 40 };

static void
start(struct rank2file *r)
{
	*r = (struct rank2file){ .nranks = PART_RANKS, .arena = arena_new() };
	r->ranks = arena_alloc(r->arena, PART_RANKS, sizeof(*r->ranks));
}

static void
compare_readers(const struct buf *image)
{
	_Atomic unsigned char claimed[PART_RANKS] = { 0 };
	struct rank2file a, b;
	size_t len = 0;
	const char *body = kvtree_body(image->data, image->len, &len, NULL);
	struct rank2file_reader to = {
		.out = &a,
		.claimed = claimed,
	};
	struct kvtree *t = NULL;
	uint64_t x = 0, y = 0;
	struct kvstream from;

	if (body == NULL)
		return;
	start(&a);
	start(&b);
	to.arena = a.arena;
	kvstream_memory(&from, body, len);
	if (rank2file_scan(&to, &from, &x) == 0) {
		t = kvtree_decode(image->data, image->len, NULL, NULL);
		fuzz_require(t != NULL &&
			     rank2file_read_part(&b, t, &y, NULL) == 0 &&
			     x == y);
	}
	/* A reader that fails must leave the ranks empty. */
	fuzz_require(same_job(&a, &b));
	for (size_t i = 0; i < PART_RANKS; i++)
		fuzz_require(!a.ranks[i].present ||
			     a.ranks[i].expected == b.ranks[i].expected);
	kvtree_free(t);
	rank2file_free(&a);
	rank2file_free(&b);
}

/* Write the files of the input. */
static void
unpack(int dirfd, const uint8_t *data, size_t size)
{
	auto_buf image = BUF_INIT;

	while (size >= 3) {
		size_t len = (size_t)data[1] << 8 | data[2];
		int fd = openat(dirfd, names[data[0] & 7],
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		data += 3;
		size -= 3;
		len = len < size ? len : size;
		fuzz_image(data, len, &image);
		compare_readers(&image);
		fuzz_require(fd >= 0 && write(fd, image.data, image.len) ==
						(ssize_t)image.len);
		close(fd);
		data += len;
		size -= len;
	}
}

static void
try_load(int dirfd, const char *base)
{
	struct rank2file r;
	struct buf image = BUF_INIT;
	struct kvtree *t = NULL;
	const struct kvtree *k = NULL;
	size_t ranks = 0, present = 0, i = 0;

	if (rank2file_load(dirfd, base, &r, NULL) < 0)
		return;
	fuzz_require(rank2file_encode_part(&r, 0, r.nranks, &image, NULL) == 0);
	t = kvtree_decode(image.data, image.len, NULL, NULL);
	fuzz_require(t != NULL);
	kvtree_foreach (k, kvtree_get(t, "RANK"))
		ranks++;
	for (i = 0; i < r.nranks; i++)
		present += r.ranks[i].present;
	fuzz_require(ranks == present);
	kvtree_free(t);
	buf_free(&image);
	rank2file_free(&r);
}

FUZZ(rank2file)
{
	const char *tmp = getenv("TMPDIR");
	char dir[4096];
	int dirfd = -1, i = 0;

	snprintf(dir, sizeof(dir), "%s/fuzzXXXXXX", tmp != NULL ? tmp : "/tmp");
	fuzz_require(mkdtemp(dir) != NULL);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fuzz_require(dirfd >= 0);
	unpack(dirfd, data, size);
	try_load(dirfd, "rank2file");
	try_load(dirfd, "rank2file.scr");
	for (i = 0; i < 8; i++)
		unlinkat(dirfd, names[i], 0);
	close(dirfd);
	rmdir(dir);
}

/*
 * A segment map.  The input is one part of a rank2file (fuzz_tree.h) together
 * with the table of containers, which normally is in the top file.  The map is
 * read, checked, sorted, and written as a rank2file that must give the same
 * map.
 */

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

FUZZ(segmap)
{
	struct kvtree *t = fuzz_tree(data, size);
	struct rank2file r = { .nranks = RANKS_MAX };
	struct map *by = NULL;
	struct segmap m;

	if (t == NULL)
		return;
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
}
