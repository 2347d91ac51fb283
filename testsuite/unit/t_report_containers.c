/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_report_containers.c - the state of containers, compared to the known state
 * of each byte.
 */
#include "ctrtest.h"
#include "json.h"
#include "rescue/plan.h"

/* --- States --- */

static void
seen_whole(void)
{
	struct opened o;

	small();
	for (int sums = 0; sums < 2; sums++) {
		look_at(&o, NULL, sums == 1);
		is_str(states(o.k), "0: whole whole whole", "all is whole");
		is_str(letters(o.k), "aaaabbbbbb bbbcdddddd dddd ",
		       "and belongs to whom it should");
		is_int((int64_t)o.told.len, 0, "nothing is told");
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

static void
seen_damaged(void)
{
	small();
	must(unlink(ctr(1)) == 0 && mkdir(ctr(1), 0777) == 0);
	must(truncate(ctr(2), 9) == 0);
	seen(NULL, true, "2: whole not a file too long",
	     "aaaabbbbbb BBBCDDDDDD dddd ", "a directory, and a long one");
	remove_tree(fmt("%s/" DIR "/.scr", ctr_place));
	seen(NULL, false, "3: missing missing missing",
	     "AAAABBBBBB BBBCDDDDDD DDDD ", "all are gone");
}

/* Truncate each container to every length. */
static void
cut_anywhere(void)
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
static void
flipped_anywhere(void)
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
static void
asked_plan(void)
{
	struct plan_seg segs[2] = { { .len = 6 }, { .off = 0, .len = 4 } };
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
	is_int((int64_t)o.k->damaged, 0, "a plan of another map is not asked");
	close_it(&o);
}

/* Malformed maps. */
static void
wrong_maps(void)
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

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = ERROR_INIT;
		struct source s;
		struct opened o;
		int fd = -1;

		scratch_dir(ctr_place, sizeof(ctr_place));
		write_text(ctr(0), "sixby6");
		source_init(&s, cases[i].table, cases[i].files);
		fd = open(fmt("%s/" DIR, ctr_place), O_RDONLY | O_DIRECTORY);
		must(rank2file_store(fd, "rank2file", &s.r, NULL) == 0);
		close(fd);
		source_fini(&s);
		if (cases[i].states != NULL) {
			look_at(&o, NULL, false);
			is_str(states(o.k), cases[i].states,
			       label(cases[i].files));
			is_str(letters(o.k), cases[i].letters, "letters");
			close_it(&o);
			continue;
		}
		o.c = catalogue_open(ctr_place, NULL);
		ok(containers_open(o.c, "7", &ctr_options, &err) == NULL &&
			   err.kind == ERROR_UNSAFE,
		   "a name that leaves the directory is refused");
		catalogue_close(o.c);
	}
}

static int
everything(void *arg, struct error *err)
{
	const struct catalogue_options options = {
		.work = ctr_options.work,
		.checksums = true,
	};
	const struct containers_look look = {
		.o = &options,
		.all = true,
	};
	struct catalogue *c = catalogue_open(ctr_place, err);
	struct condition h = { .id = 7 };
	struct containers *k = NULL;
	struct buf b = BUF_INIT;
	int rc = -1;

	(void)arg;
	if (c != NULL)
		k = containers_open(c, "7", &ctr_options, err);
	h.containers = k;
	if (k != NULL && containers_look(k, &look, err) == 0) {
		report_containers_line(k, &b);
		report_containers_table(k, true, &b);
		report_containers_map(k, &plain, &b);
		rc = report_svg(&h, &b, err);
	}
	buf_free(&b);
	containers_free(k);
	catalogue_close(c);
	return rc;
}

static int
survey_all(void *arg, struct error *err)
{
	const struct report_choice choice = { .map = true,
					      .all_files = true,
					      .all_containers = true };
	static const struct catalogue_options sums = {
		.work = { .memory = 1 << 20 }, .checksums = true
	};
	struct condition h = { .id = 0 };
	struct overview *s = arg;
	struct buf b = BUF_INIT;
	int rc = condition_check(s, &s->entries[0], &sums, &h, err);

	if (rc == 0)
		rc = condition_check_containers(s, &sums, &h, err);
	if (rc == 0) {
		report_detail(&h, &choice, &b);
		json_free(condition_json(&h, true, true));
		rc = buf_check(&b, err);
	}
	condition_fini(&h);
	buf_free(&b);
	return rc;
}

static void
no_memory_left(void)
{
	struct condition h;
	struct overview s;

	small();
	flip(ctr(0), 0);
	must(truncate(ctr(2), 1) == 0);
	ok(fails_well(everything, NULL, NULL), "each allocation may fail");
	must(overview_init(&s, ctr_place, NULL) == 0);
	ok(fails_well(survey_all, NULL, &s), "those of a survey, too");
	ok(condition_check_old(&s, "nothing", &ctr_options, &h, NULL) < 0,
	   "no dataset of the old layout");
	condition_fini(&h);
	overview_fini(&s);
	containers_free(NULL);
}

int
main(void)
{
	seen_whole();
	seen_damaged();
	cut_anywhere();
	flipped_anywhere();
	asked_plan();
	wrong_maps();
	no_memory_left();
	remove_tree(ctr_place);
	return tap_done();
}
