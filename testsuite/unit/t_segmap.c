/* SPDX-License-Identifier: BSD-3-Clause */
/* Segment maps: cutting, untrusted input, round trips, maps of SCR 1.1.8. */
#include "map.h"
#include "maptest.h"

/* Is each byte of each file in the right place, counted one by one? */
static bool
bytes_right(const struct segmap *m, uint64_t size)
{
	uint64_t at = 0;

	for (size_t i = 0; i < m->nfiles; i++) {
		const struct segmap_file *f = &m->files[i];
		uint64_t done = 0;

		if (f->start != at || !f->has_size)
			return false;
		for (size_t k = 0; k < f->nsegs; k++) {
			const struct segment *s = &m->segs[f->first + k];

			if (s->len == 0 || s->off + s->len > size)
				return false;
			for (uint64_t b = 0; b < s->len; b++, at++)
				if (s->container != at / size ||
				    s->off + b != at % size)
					return false;
			done += s->len;
		}
		if (done != f->size)
			return false;
	}
	return at == m->bytes;
}

static int
no_finding(void *arg, const struct segmap_finding *f)
{
	char text[1024];

	printf("# %s\n", segmap_flaw_text(arg, f, text, sizeof(text)));
	return -1;
}

TEST(cut_random)
{
	bool good = true, whole = true, fits = true;

	for (int round = 0; round < 300; round++) {
		uint64_t size = 1 + below(40), sum = 0;
		size_t n = below(12), first = below(3) * 9;
		auto_segmap m;

		must(segmap_init(&m, n, NULL) == 0);
		for (size_t i = 0; i < n; i++) {
			uint64_t len = below(4) == 0   ? 0
				       : below(3) == 0 ? size * below(4)
						       : below(100);

			add_file(&m, 0, fmt("%zu", i), len);
			sum += len;
		}
		good &= segmap_cut(&m, "red", size, first * size, NULL) == 0 &&
			bytes_right(&m, size) && m.bytes == sum &&
			m.container_size == size;
		whole &= segmap_check(&m, no_finding, &m, NULL) == 0;
		fits &= m.ncontainers == (sum + size - 1) / size;
		for (size_t i = 0; i < m.ncontainers; i++) {
			const struct segmap_container *c = &m.containers[i];
			bool last = i + 1 == m.ncontainers;

			fits &= strcmp(c->name, fmt(".scr/red.%zu.scr",
						    first + i)) == 0 &&
				c->has_size && c->used == c->size &&
				c->size == (last ? sum - i * size : size);
		}
	}
	ok(good, "each byte of any files lies where it should");
	ok(fits, "the containers are filled, but for the last");
	ok(whole, "such maps are whole");
}

TEST(cut_limits)
{
	static const struct {
		uint64_t a, b, size;
		enum error_kind kind;
		const char *what;
	} cases[] = {
		{ INT64_MAX, 0, (uint64_t)1 << 62, ERROR_NONE, "2^63 - 1" },
		{ 5, 6, UINT64_MAX, ERROR_NONE, "no limit to speak of" },
		{ INT64_MAX, 1, (uint64_t)1 << 62, ERROR_CORRUPT, "2^63" },
		{ UINT64_MAX, 1, 1 << 30, ERROR_CORRUPT, "a sum that wraps" },
		{ SEGMAP_CONTAINERS_MAX, 1, 1, ERROR_USAGE, "many" },
		{ INT64_MAX, 0, 1, ERROR_USAGE, "very many" },
	};

	each (c, cases) {
		struct error err = ERROR_INIT;
		auto_segmap m;
		int rc = 0;

		must(segmap_init(&m, 2, NULL) == 0);
		add_file(&m, 0, "a", c->a);
		add_file(&m, 0, "b", c->b);
		rc = segmap_cut(&m, SEGMAP_DATA, c->size, 0, &err);
		is_int(rc, c->kind == ERROR_NONE ? 0 : -1, c->what);
		is_int(err.kind, c->kind, err.text);
	}
}

#define MAX63 "9223372036854775807"

TEST(reading)
{
	static const struct {
		const char *table, *files, *text;
		bool packed;
	} cases[] = {
		{ "SIZE>100\nMOVING>1\nFILE>c>SIZE>7\nFILE>c>CRC>0xff\nFILE>e\n",
		  "3 z 5 c 0+5\n1 b - d 5+5 c 5+2\n1 a 0\n1 n -\n0 q 9\n",
		  "size 100 bytes 12 segs 3 moving\nc: 7 of 7 crc ff\ne: 0\n"
		  "d: 10\n0 q at 0 size 9\n1 b at 0 size 7 d 5+5 c 5+2\n"
		  "1 a at 7 size 0\n1 n at 7\n3 z at 7 size 5 c 0+5\n",
		  true },
		{ "", "0 a 5\n0 b -\n",
		  "size 0 bytes 0 segs 0\n0 a at 0 size 5\n0 b at 0\n", false },
		{ "", "0 a - c 9223372036854775806+1\n",
		  "size 0 bytes 1 segs 1\nc: " MAX63
		  "\n0 a at 0 size 1 c 9223372036854775806+1\n",
		  true },
	};

	each (c, cases) {
		struct source s;
		auto_segmap m;

		read_map(&m, c->table, c->files, &s);
		is_str(map_text(&m), c->text, "a map, rank after rank");
		is_int(segmap_is_packed(&s.r), c->packed, "... packed");
		source_fini(&s);
	}
}

TEST(refused)
{
	static const struct {
		const char *table, *files, *says;
		enum error_kind kind;
	} bad[] = {
		{ "", "2 f 5 a/b 0+2 ../c 0+3",
		  "rank 2, f, segment 1:", ERROR_UNSAFE },
		{ "", "0 f 5 ../c 0+5", "container ../c:", ERROR_UNSAFE },
		{ "", "0 f 5 /c 0+5", "container /c:", ERROR_UNSAFE },
		{ "", "0 f 5 .scr/../../c 0+5", "/../", ERROR_UNSAFE },
		{ "", "0 f 5 .scr/.. 0+5", ".scr/..", ERROR_UNSAFE },
		{ "", "0 f 5 a//c 0+5", "a//c", ERROR_UNSAFE },
		{ "", "0 f 5 . 0+5", "container .:", ERROR_UNSAFE },
		{ "", "0 f 5 c/ 0+5", "c/", ERROR_UNSAFE },
		{ "", "0 f\x1b[2J 5 \x1b[2J/../c 0+5",
		  "rank 0, f\\x1b[2J, segment 0: container \\x1b[2J/../c",
		  ERROR_UNSAFE },
		{ "", "0 f 5 c 0+5 c 5+0", "rank 0, f, segment 1: of no bytes",
		  ERROR_CORRUPT },
		{ "", "0 f 5 c " MAX63 "+1",
		  "rank 0, f, segment 0: beyond 2^63", ERROR_CORRUPT },
		{ "", "0 f 5 c 1+" MAX63, "beyond 2^63", ERROR_CORRUPT },
		{ "", "0 e 1 c 0+1\n3 f 5 c 0+" MAX63,
		  "rank 3, f, segment 0: more than 2^63 bytes", ERROR_CORRUPT },
		{ "FILE>../c>SIZE>5\n", "",
		  "CTR: container ../c:", ERROR_UNSAFE },
		{ "FILE>>SIZE>5\n", "", "CTR: container", ERROR_UNSAFE },
		{ "SIZE>x\n", "", "CTR: SIZE:", ERROR_CORRUPT },
		{ "SIZE>1\nSIZE>2\n", "", "CTR: SIZE:", ERROR_CORRUPT },
		{ "FILE>c>SIZE>9223372036854775808\n", "",
		  "CTR: SIZE:", ERROR_CORRUPT },
		{ "FILE>c>SIZE\n", "", "CTR: SIZE:", ERROR_CORRUPT },
		{ "FILE>c>CRC>0x100000000\n", "", "CTR: CRC:", ERROR_CORRUPT },
	};

	each (b, bad) {
		struct source s;
		struct segmap m;

		source_init(&s, b->table, b->files);
		ok(segmap_read(&m, &s.r, &why) < 0 && why.kind == b->kind &&
			   m.arena == NULL && says(&why, b->says) &&
			   m.segs == NULL,
		   label(why.text));
		source_fini(&s);
	}
}

/* Is each file of `b` in `a`, with the same segments? */
static bool
same_files(const struct segmap *a, const struct segmap *b)
{
	auto_map *by = segmap_by_path(a);
	bool same = a->nfiles == b->nfiles && a->bytes == b->bytes;

	for (size_t i = 0; same && i < b->nfiles; i++) {
		size_t at = map_get(by, b->files[i].path);

		same = at != MAP_NONE &&
		       a->files[at].rank == b->files[i].rank &&
		       a->files[at].size == b->files[i].size &&
		       strcmp(segs_text(a, at), segs_text(b, i)) == 0;
	}
	return same;
}

/* Cut, write, store, load and read: is the map the same? */
static void
round_trip(size_t nranks, size_t nfiles, bool mixed, const char *base,
	   unsigned generation)
{
	auto_rank2file w, r;
	auto_segmap m, got;

	map_enter();
	make_map(&m, nranks, nfiles, mixed);
	m.moving = generation > 0;
	must(segmap_write(&m, nranks, false, &w, NULL) == 0);
	w.generation = generation;
	must(rank2file_store(map_dir, base, &w, NULL) == 0);
	must_be(rank2file_load(map_dir, base, &r, &why) == 0, why.text);
	is_int(segmap_read(&got, &r, &why), 0, "what was written is read");
	ok(r.nranks == nranks && segmap_is_packed(&r) &&
		   (mixed ? same_files(&m, &got) : same_map(&m, &got)),
	   fmt("and the same: %zu ranks, %zu files", nranks, nfiles));
	rank2file_free(&w);
	must(segmap_write(&got, nranks, true, &w, NULL) == 0);
	ok(!segmap_is_packed(&w) && w.containers == NULL &&
		   w.ranks[0].nfiles == r.ranks[0].nfiles,
	   "plain is without segments, and has all files");
}

TEST(writing)
{
	struct kvtree *t = kvtree_new(NULL);
	auto_rank2file w;
	struct source s;
	auto_segmap m;

	must(segmap_init(&m, 1, NULL) == 0);
	add_file(&m, 3, "a", 5);
	must(segmap_cut(&m, "ctr", 3, 24, NULL) == 0);
	ok(segmap_write(&m, 3, false, &w, &why) < 0 &&
		   why.kind == ERROR_CORRUPT && says(&why, "no rank 3") &&
		   w.arena == NULL,
	   "a file of no rank is refused");
	is_int(segmap_write_file(&m, 0, t, NULL), 0, "one entry");
	is_str(kvtree_value(kvtree_get2(t, "SEG", "1"), "FILE"),
	       ".scr/ctr.9.scr", "has its segments");
	is_str(kvtree_value(t, "SIZE"), "5", "and size");
	kvtree_free(t);
	segmap_free(&m);
	read_map(&m, "", "0 a - c 0+5 c 5+2\n0 b -\n", &s);
	must(segmap_write(&m, RANKS, false, &w, NULL) == 0);
	ok(w.ranks[0].files[0].has_size && w.ranks[0].files[0].size == 7 &&
		   !w.ranks[0].files[1].has_size,
	   "a size is written where segments tell it");
	source_fini(&s);
}

TEST(by_path)
{
	struct source s;
	auto_segmap m;
	auto_map *by = NULL;

	read_map(&m, "", "0 b 1\n1 a 2\n2 a 3\n", &s);
	by = segmap_by_path(&m);
	is_int(map_get(by, "a"), 1, "the first of several");
	ok(map_get(by, "c") == MAP_NONE, "none that is not there");
	source_fini(&s);
}

/* --- SCR 1.1.8 --- */

/* Is each container as long as the map needs?  The project's selection has
 * none of them. */
static bool
containers_fit(const struct segmap *m, int dirfd)
{
	size_t fit = 0, there = 0;
	struct stat st;

	for (size_t i = 0; i < m->ncontainers; i++) {
		const struct segmap_container *c = &m->containers[i];

		if (fstatat(dirfd, c->name, &st, 0) < 0)
			continue;
		there++;
		fit += (uint64_t)st.st_size == c->used;
	}
	return fit == there && (there == 0 || there == m->ncontainers);
}

static void
golden(const char *name, uint64_t size, size_t nfiles, size_t ncontainers)
{
	const char *dir = fmt("containers/%s/scr.dataset.1", name);
	auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_fd int meta =
		openat(fd, ".scr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_kvtree *theirs = NULL, *ours = NULL;
	struct buf image = BUF_INIT;
	auto_segmap m, cut;
	auto_rank2file r, w;
	size_t *order = NULL;

	must_be(rank2file_load(meta, "rank2file.scr", &r, &why) == 0, why.text);
	is_int(segmap_read(&m, &r, &why), 0, name);
	ok(m.nfiles == nfiles && m.ncontainers == ncontainers, "... all of it");
	is_int(segmap_check(&m, no_finding, &m, &why), 0, "... is whole");
	must(segmap_init(&cut, m.nfiles, NULL) == 0);
	order = mem_calloc(m.nfiles + 1, sizeof(*order));
	must(segmap_sort(&m, true, order, NULL) == 0);
	for (; cut.nfiles < m.nfiles; cut.nfiles++)
		cut.files[cut.nfiles] = m.files[order[cut.nfiles]];
	mem_free(order);
	must(segmap_cut(&cut, SEGMAP_DATA, size, 0, NULL) == 0);
	ok(same_files(&cut, &m), "... and where we would put it");
	ok(containers_fit(&m, fd), "... as long as its containers");
	must(segmap_write(&m, r.nranks, false, &w, NULL) == 0);
	w.uncounted = true;
	theirs = kvtree_read_file(meta, "rank2file.0.0.scr", NULL);
	must(rank2file_encode_part(&w, 0, w.nranks, &image, NULL) == 0);
	ours = kvtree_decode(image.data, image.len, NULL, NULL);
	buf_free(&image);
	ok(theirs != NULL && tree_same(ours, theirs, true),
	   "... what we write is what they did, but for the order of keys");
}

/* One file with a hundred thousand segments, and as many files of one
 * segment. */
TEST(large)
{
	enum { N = 100000 };
	auto_rank2file w;
	auto_segmap m, got;
	auto_mem size_t *order = mem_calloc(N + 1, sizeof(*order));

	must(segmap_init(&m, N + 1, NULL) == 0);
	add_file(&m, 0, "long", N);
	for (size_t i = 0; i < N; i++)
		add_file(&m, 1, arena_printf(m.arena, "f%zu", i), 1);
	must(segmap_cut(&m, SEGMAP_DATA, 1, 0, NULL) == 0);
	must(segmap_write(&m, 2, false, &w, NULL) == 0);
	is_int(segmap_read(&got, &w, &why), 0, "200000 segments");
	ok(got.nsegs == 2 * N && got.ncontainers == 2 * N &&
		   got.files[N].start == 2 * N - 1 &&
		   segmap_check(&got, no_finding, &got, NULL) == 0,
	   "... of 200000 containers");
	ok(segmap_sort(&got, true, order, NULL) == 0 &&
		   strcmp(got.files[order[N]].path, "f99999") == 0,
	   "... are sorted");
}

TEST(no_memory)
{
	auto_segmap m;

	make_map(&m, RANKS, 30, true);
	without_memory (x, 19, "no memory") {
		auto_map *by = segmap_by_path(&m);
		auto_kvtree *t = kvtree_new(&x.err);
		auto_rank2file w = { .nranks = 0 };
		auto_segmap got = { .nfiles = 0 }, cut = { .nfiles = 0 };

		x.rc = by == NULL ? error_no_memory(&x.err) : 0;
		if (t == NULL || x.rc < 0 ||
		    segmap_write_file(&m, 0, t, &x.err) < 0 ||
		    segmap_write(&m, RANKS, false, &w, &x.err) < 0 ||
		    segmap_read(&got, &w, &x.err) < 0 ||
		    segmap_init(&cut, 4, &x.err) < 0) {
			x.rc = -1;
			continue;
		}
		while (cut.nfiles < 4)
			cut.files[cut.nfiles++] = (struct segmap_file){
				.path = "f",
				.size = 1000,
			};
		x.rc = segmap_cut(&cut, SEGMAP_DATA, 7, 0, &x.err);
	}
}

TEST(round_trips)
{
	round_trip(1, 1, false, "rank2file", 0);
	round_trip(6, 40, false, "rank2file", 1);
	round_trip(6, 40, true, "rank2file.scr", 0);
	round_trip(8195, 400, false, "rank2file", 8191);
	round_trip(20000, 200, true, "rank2file.scr", 5);
	if (!golden_enter("segment maps of SCR 1.1.8"))
		return;
	golden("many", 100000, 10, 10);
	/* The example of containers.md 1. */
	golden("seed_example", 300000, 3, 6);
}
