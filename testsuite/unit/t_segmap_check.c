/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_segmap_check.c - flaws in a segment map, compared to a count of single
 * bytes; and sorting files by their segments.
 */
#include "maptest.h"

struct verdict {
	const struct segmap *m;
	struct buf text;
	int answer;
	unsigned char *gap, *overlap; /* for each byte of the only container */
	size_t sums;
};

static int
note(void *arg, const struct segmap_finding *f)
{
	struct verdict *v = arg;
	char text[1024];

	buf_printf(&v->text, "%s\n",
		   segmap_flaw_text(v->m, f, text, sizeof(text)));
	v->sums += f->flaw == SEGMAP_SUM;
	for (uint64_t b = f->off; v->gap != NULL && b < f->off + f->len; b++) {
		v->gap[b] |= f->flaw == SEGMAP_GAP;
		v->overlap[b] |= f->flaw == SEGMAP_OVERLAP;
	}
	return v->answer;
}

static int
ignore(void *arg, const struct segmap_finding *f)
{
	(void)arg;
	(void)f;
	return 0;
}

TEST(judging)
{
	static const struct {
		const char *table, *files, *findings;
	} cases[] = {
		{ "", "0 a 5 c 0+5\n1 b 3 c 5+3\n", "" },
		{ "FILE>c>SIZE>8\n", "1 b 3 c 5+3\n0 a 5 c 0+5\n", "" },
		{ "", "0 a 5 c 2+5\n", "c: bytes 0 to 1 belong to no file\n" },
		{ "", "0 a 5 c 0+5\n1 b 3 c 6+3\n",
		  "c: bytes 5 to 5 belong to no file\n" },
		{ "FILE>c>SIZE>9\n", "0 a 5 c 0+5\n",
		  "c: bytes 5 to 8 belong to no file\n" },
		{ "FILE>x>SIZE>9\nFILE>y>SIZE>0\nFILE>z\n", "0 a 5 c 0+5\n",
		  "x: bytes 0 to 8 belong to no file\n" },
		{ "MOVING>1\nFILE>c>SIZE>9\nFILE>x>SIZE>9\n", "0 a 5 c 1+5\n",
		  "" },
		{ "", "0 a 5 c 0+5\n1 b 5 c 3+5\n",
		  "c: bytes 3 to 4 belong to a and to b\n" },
		{ "", "0 a 9 c 0+9\n1 b 2 c 3+2\n2 d 3 c 4+3\n",
		  "c: bytes 3 to 4 belong to a and to b\n"
		  "c: bytes 4 to 6 belong to a and to d\n" },
		{ "", "0 a 5 c 0+5\n1 b 5 c 0+5\n",
		  "c: bytes 0 to 4 belong to a and to b\n" },
		{ "", "0 a 9 c 0+5 c 1+4\n",
		  "c: bytes 1 to 4 belong to a and to a\n" },
		{ "", "0 a 6 c 0+5\n1 b 5 d 0+5 d 5+1\n",
		  "a: 6 bytes long, its segments 5\n"
		  "b: 5 bytes long, its segments 6\n" },
		{ "FILE>c>SIZE>4\n", "0 a 5 c 0+5\n",
		  "c: a reaches 1 bytes beyond its recorded end\n" },
		{ "FILE>c>SIZE>0\n", "0 a 2 c 1+2\n",
		  "c: bytes 0 to 0 belong to no file\n"
		  "c: a reaches 3 bytes beyond its recorded end\n" },
		{ "", "0 a\x1b 5 c\x07 1+5\n",
		  "c\\x07: bytes 0 to 0 belong to no file\n" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct verdict v = { .text = BUF_INIT };
		struct source s;
		auto_segmap m;

		read_map(&m, cases[i].table, cases[i].files, &s);
		v.m = &m;
		is_int(segmap_check(&m, note, &v, NULL), 0, "judged");
		is_str(v.text.data ? v.text.data : "", cases[i].findings,
		       label(cases[i].findings));
		buf_clear(&v.text);
		v.answer = (int)i - 7;
		if (cases[i].findings[0] != '\0' && v.answer != 0)
			ok(segmap_check(&m, note, &v, NULL) == v.answer &&
				   strchr(v.text.data, '\n')[1] == '\0',
			   "the first answer ends it");
		buf_free(&v.text);
		source_fini(&s);
	}
}

/* Random segments in one container, compared to a count of its bytes. */
TEST(judging_random)
{
	enum { SPAN = 80 };
	bool good = true;

	for (int round = 0; round < 500; round++) {
		unsigned char gap[SPAN] = { 0 }, overlap[SPAN] = { 0 };
		unsigned count[SPAN] = { 0 }, end = 0;
		bool sized = below(2), damage = false;
		struct verdict v = { .gap = gap, .overlap = overlap };
		char *files = fmt("%s", "");
		struct source s;
		auto_segmap m;

		for (unsigned i = below(6); i > 0; i--) {
			unsigned off = below(SPAN / 2), len = 1 + below(20);

			files = fmt("%s%u f%u %u c %u+%u\n", files, i % RANKS,
				    i, len + (i == 3), off, len);
			v.sums -= i == 3;
			for (unsigned b = off; b < off + len; b++)
				count[b]++;
			end = off + len > end ? off + len : end;
		}
		if (sized && end < 60)
			end = 60;
		read_map(&m, sized ? "FILE>c>SIZE>60\n" : "", files, &s);
		v.m = &m;
		good &= segmap_check(&m, note, &v, NULL) == 0 && v.sums == 0;
		for (unsigned b = 0; b < SPAN; b++)
			damage |= gap[b] != (b < end && count[b] == 0) ||
				  overlap[b] != (count[b] > 1);
		if (damage)
			printf("# %s# %s", files, v.text.data);
		good &= !damage;
		buf_free(&v.text);
		source_fini(&s);
	}
	ok(good, "gaps and overlaps are those counted byte by byte");
}

/* A message is cut to the size of its buffer. */
TEST(flaw_room)
{
	const struct segmap_finding f = { .flaw = SEGMAP_OVERLAP,
					  .other = SIZE_MAX };
	bool good = true;
	struct source s;
	auto_segmap m;

	read_map(&m, "", "0 a 5 c 0+5\n", &s);
	for (size_t size = 1; size < 80; size++) {
		auto_mem char *to = mem_alloc(size, 1);

		memset(to, 'x', size);
		good &= segmap_flaw_text(&m, &f, to, size) == to &&
			memchr(to, '\0', size) != NULL;
	}
	ok(good, "a finding fits into any room");
	source_fini(&s);
}

TEST(sorting)
{
	static const char *const orders[] = {
		" end only a w b e0 x y", /* without the ranks */
		" a b w e0 x y end only",
	};
	size_t order[8];
	struct source s;
	auto_segmap m;

	/* By place; what has none stays in front of its neighbour. */
	read_map(
		&m, "",
		"1 y 1 ctr.10.scr 0+1\n1 e0 0\n1 x 5 ctr.9.scr 7+5\n"
		"1 w 5 ctr.9.scr 2+5\n1 end 0\n"
		"0 b 5 ctr.9.scr 5+1\n0 a 5 ctr.2.scr 9+1\n2 only 1 ctr.1.scr 0+1\n",
		&s);
	for (int ranks = 0; ranks < 2; ranks++) {
		char *names = fmt("%s", "");

		is_int(segmap_sort(&m, ranks, order, NULL), 0, "sorted");
		for (size_t i = 0; i < m.nfiles; i++)
			names = fmt("%s %s", names, m.files[order[i]].path);
		is_str(names, orders[ranks], "by place");
	}
	source_fini(&s);
}

/* Files of a rank listed in any order are sorted into the order of cutting. */
TEST(sorting_random)
{
	bool good = true;

	for (int round = 0; round < 50; round++) {
		struct segmap m, mixed;
		auto_mem size_t *order = NULL;
		size_t n = 1 + below(60);

		make_map(&m, 3, n, false);
		must(segmap_init(&mixed, n, NULL) == 0);
		order = mem_calloc(n, sizeof(*order));
		memcpy(mixed.files, m.files, n * sizeof(*m.files));
		mixed.nfiles = n;
		mixed.segs = m.segs;
		mixed.containers = m.containers;
		for (size_t i = 1; i < n; i++) {
			size_t k = i - below((uint32_t)i + 1);
			struct segmap_file f = mixed.files[i];

			if (mixed.files[k].rank != f.rank)
				continue;
			mixed.files[i] = mixed.files[k];
			mixed.files[k] = f;
		}
		must(segmap_sort(&mixed, true, order, NULL) == 0);
		for (size_t i = 0, k = 0; i < n; i++) {
			const struct segmap_file *f = &mixed.files[order[i]];

			if (f->nsegs == 0)
				continue;
			while (m.files[k].nsegs == 0)
				k++;
			good &= f->path == m.files[k++].path;
		}
		mixed.segs = NULL;
		mixed.containers = NULL;
		segmap_free(&mixed);
		segmap_free(&m);
	}
	ok(good, "files that were mixed up are sorted by place");
}

TEST(no_memory)
{
	auto_segmap m;

	make_map(&m, 2, 5, false);
	without_memory (x, 5, "no memory") {
		auto_free size_t *order = calloc(m.nfiles, sizeof(*order));

		x.rc = segmap_sort(&m, true, order, &x.err);
		if (x.rc == 0)
			x.rc = segmap_check(&m, ignore, NULL, &x.err);
	}
}
