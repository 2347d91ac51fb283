/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of containers, compared to the known state of each byte; a line, a
 * table and a map of it.
 */
#include "ctrtest.h"
#include "rescue/plan.h"

/* --- States --- */

TEST(seen_whole)
{
	struct opened o;

	small();
	for (int sums = 0; sums < 2; sums++) {
		look_at(&o, NULL, sums == 1);
		is_str(states(o.k), "0: whole whole whole", "all is whole");
		is_str(letters(o.k), "aaaabbbbbb bbbcdddddd dddd ",
		       "and belongs to whom it should");
		is_int(o.told.len, 0, "nothing is told");
		ok(o.k->list[1].files == 3 && o.k->list[1].used == 10,
		   "files of the second, and their bytes");
		close_it(&o);
	}
}

/* What is seen, with a plan or with checksums. */
static void
seen(const struct plan *p, bool sums, const char *want_states,
     const char *want_letters, const char *what)
{
	struct opened o;

	look_at(&o, p, sums);
	is_str(states(o.k), want_states, what);
	is_str(letters(o.k), want_letters, "... and its bytes");
	close_it(&o);
}

/* Truncate each container to every length. */
TEST(cut_anywhere)
{
	static const char whole[] = "aaaabbbbbb bbbcdddddd dddd ";
	bool good = true;

	for (int n = 0; n < 3; n++) {
		for (int len = 0; len < (n < 2 ? 10 : 4); len++) {
			char want[sizeof(whole)];
			struct opened o;

			small();
			must(truncate(ctr(n), len) == 0);
			memcpy(want, whole, sizeof(whole));
			for (int i = n * 11 + len; want[i] != ' '; i++)
				want[i] = (char)(want[i] - 32);
			look_at(&o, NULL, false);
			good &= strcmp(letters(o.k), want) == 0 &&
				o.k->list[n].state == CONTAINER_SHORT &&
				o.k->list[n].have == (uint64_t)len &&
				o.k->damaged == 1;
			close_it(&o);
		}
	}
	ok(good, "cut at any length: the bytes behind are bad");
}

/* Flip every byte of every container. */
TEST(flipped_anywhere)
{
	static const char whole[] = "aaaabbbbbb bbbcdddddd dddd ";
	bool good = true, quiet = true, told = true;

	small();
	for (int at = 0; whole[at] != '\0'; at++) {
		int n = at / 11;
		char want[sizeof(whole)];
		struct opened o;

		if (whole[at] == ' ')
			continue;
		memcpy(want, whole, sizeof(whole));
		/* The file's segments in other containers have good
		 * checksums. */
		for (int i = n * 11; want[i] != ' '; i++)
			if (whole[i] == whole[at])
				want[i] = (char)(want[i] - 32);
		flip(ctr(n), at % 11);
		look_at(&o, NULL, false);
		quiet &= strcmp(letters(o.k), whole) == 0 && o.k->damaged == 0;
		close_it(&o);
		look_at(&o, NULL, true);
		good &= strcmp(letters(o.k), want) == 0 &&
			o.k->list[n].state == CONTAINER_SUM &&
			o.k->damaged == 1;
		told &= o.told.len > 0 &&
			strstr(o.told.data, "checksum is") != NULL;
		close_it(&o);
		flip(ctr(n), at % 11);
	}
	ok(quiet, "a flipped byte does not show without checksums");
	ok(good, "with checksums the file has it in that container");
	ok(told, "and it is told");
}

/* The plan's knowledge: segments of d/d that are missing, or its wrong
 * checksum. */
TEST(asked_plan)
{
	struct segment segs[2] = { { .len = 6 }, { .off = 0, .len = 4 } };
	struct plan_file file = {
		.rank = 1,
		.path = "d/d",
		.nsegs = 2,
		.segs = segs,
	};
	struct plan p = { .nfiles = 1, .files = &file };
	struct opened o;

	small();
	seen(&p, false, "0: whole whole whole", "aaaabbbbbb bbbcdddddd dddd ",
	     "a plan that finds nothing");
	segs[1].gone = true;
	seen(&p, false, "1: whole whole half rebuilt",
	     "aaaabbbbbb bbbcdddddd DDDD ",
	     "a stretch that was not rebuilt to its end");
	segs[1].gone = false;
	file.state = FILE_WRONG_CRC;
	look_at(&o, &p, false);
	is_str(letters(o.k), "aaaabbbbbb bbbcDDDDDD DDDD ", "in either");
	close_it(&o);
	flip(ctr(2), 0);
	seen(&p, true, "1: whole whole wrong checksum",
	     "aaaabbbbbb bbbcdddddd DDDD ",
	     "unless those of the containers tell");
	file.nsegs = 1;
	file.state = FILE_WRONG_CRC;
	look_at(&o, &p, false);
	is_int(o.k->damaged, 0, "a plan of another map is not asked");
	close_it(&o);
}

/* Malformed maps. */
TEST(wrong_maps)
{
	static const struct {
		const char *table, *files, *states, *letters;
	} cases[] = {
		{ "", "0 d/a 4 .scr/ctr.0.scr 0+4\n1 d/b 4 .scr/ctr.0.scr 2+4",
		  "1: wrong map", "AABBBB " },
		{ "", "0 d/a 9 .scr/ctr.0.scr 0+6\n", "0: whole", "AAAAAA " },
		{ "", "0 d/a 4 .scr/ctr.0.scr 2+4\n", "0: whole", "..aaaa " },
		{ "FILE>.scr/ctr.0.scr>SIZE>6\n", "0 d/a 9 .scr/ctr.0.scr 0+9",
		  "1: truncated", "AAAAAA " },
		{ "FILE>.scr/ctr.9.scr>SIZE>0\n", "0 d/a 6 .scr/ctr.0.scr 0+6",
		  "1: whole missing", "aaaaaa  " },
		{ "", "0 d/a 1 ../x/ctr.0.scr 0+1\n", NULL, NULL },
	};

	each (t, cases) {
		struct source s;
		struct opened o;
		int fd = -1;

		scratch_new();
		write_text(ctr(0), "sixby6");
		source_init(&s, t->table, t->files);
		fd = open(here(DIR), O_RDONLY | O_DIRECTORY);
		must(rank2file_store(fd, "rank2file", &s.r, NULL) == 0);
		close(fd);
		source_fini(&s);
		if (t->states != NULL) {
			look_at(&o, NULL, false);
			is_str(states(o.k), t->states, label(t->files));
			is_str(letters(o.k), t->letters, "letters");
			close_it(&o);
			continue;
		}
		o.c = catalogue_open(scratch_root, NULL);
		refuses(containers_open(o.c, "7", &ctr_options, &why),
			ERROR_UNSAFE, NULL,
			"a name that leaves the directory is refused");
		catalogue_close(o.c);
	}
}

/* --- For the terminal --- */

/* No line is wider than the terminal, however narrow. */
static bool
fits(const char *text, unsigned width)
{
	unsigned column = 0;

	for (; *text != '\0'; text++) {
		if (*text == '\n')
			column = 0;
		else if (((unsigned char)*text & 0xc0) != 0x80)
			column++;
		if (column > width)
			return false;
	}
	return true;
}

TEST(text_widths)
{
	struct style style = { .utf8 = true };
	struct opened o;
	auto_buf b = BUF_INIT;
	bool good = true;

	small();
	must(unlink(ctr(1)) == 0);
	look_at(&o, NULL, false);
	for (style.width = 42; style.width < 200; style.width++) {
		buf_clear(&b);
		report_containers_map(o.k, &style, &b);
		good &= fits(b.data, style.width);
	}
	ok(good, "no line is wider than the terminal");
	style.width = 1;
	buf_clear(&b);
	report_containers_map(o.k, &style, &b);
	ok(strstr(b.data, "ctr.1           \u00d7  missing\n") != NULL,
	   "a cell at least");
	style.width = 0;
	style.color = true;
	buf_clear(&b);
	report_containers_map(o.k, &style, &b);
	ok(strstr(b.data, "\033[31m\u00d7\u00d7") != NULL, "damage is red");
	close_it(&o);
}

/* Many containers: equal neighbours share a row. */
TEST(text_many)
{
	struct opened o;
	auto_buf b = BUF_INIT;
	struct segmap m;

	must(segmap_init(&m, 1, NULL) == 0);
	add_file(&m, 0, "d/a", 995);
	store(&m, 10, 1, false);
	segmap_free(&m);
	for (int i = 20; i < 30; i++)
		must(unlink(ctr(i)) == 0);
	must(truncate(ctr(50), 3) == 0);
	look_at(&o, NULL, false);
	report_containers_map(o.k, &plain, &b);
	ok(!b.failed, "a picture");
	is_str(b.data,
	       "  bytes by container (a full row: 10 B)\n"
	       "  ctr.0-19        %%%%%%%%%%%%%%%%%%%%%%%%%%  20 whole\n"
	       "  ctr.20-29       XXXXXXXXXXXXXXXXXXXXXXXXXX  10 missing\n"
	       "  ctr.30-49       %%%%%%%%%%%%%%%%%%%%%%%%%%  20 whole\n"
	       "  ctr.50          ========XXXXXXXXXXXXXXXXXX  truncated\n"
	       "  ctr.51-98       %%%%%%%%%%%%%%%%%%%%%%%%%%  48 whole\n"
	       "  ctr.99          =============\n"
	       "                  # = one file, the next\n"
	       "                  % several small ones\n"
	       "                  X missing or wrong\n",
	       "of a hundred containers");
	close_it(&o);
}
