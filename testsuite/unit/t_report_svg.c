/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_report_svg.c - containers as a line, a table and pictures.
 */
#include "ctrtest.h"
#include "report/picture.h"

/* --- For the terminal --- */

static void
text_small(void)
{
	struct opened o;
	struct buf b = BUF_INIT;

	small();
	must(truncate(ctr(1), 5) == 0);
	look_at(&o, NULL, false);
	report_containers_map(o.k, &plain, &b);
	is_str(b.data,
	       "  bytes by container (a full row: 10 B)\n"
	       "  ctr.0           ===========###############\n"
	       "  ctr.1           ########===##XXXXXXXXXXXXX  truncated\n"
	       "  ctr.2           ###########\n"
	       "                  # = one file, the next\n"
	       "                  X missing or wrong\n",
	       "a picture, with what is cut off");
	buf_clear(&b);
	report_containers_table(o.k, true, &b);
	is_str(b.data,
	       "  CONTAINER       SIZE     FILL  FILES  STATE\n"
	       "  .scr/ctr.0.scr  10 B  100.0 %      2  whole\n"
	       "  .scr/ctr.1.scr  10 B  100.0 %      3  truncated: 5 B, "
	       "not 10\n"
	       "  .scr/ctr.2.scr   4 B   40.0 %      1  whole\n",
	       "a table");
	close_it(&o);
	buf_free(&b);
}

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

static void
text_widths(void)
{
	struct style style = { .utf8 = true };
	struct opened o;
	struct buf b = BUF_INIT;
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
	ok(strstr(b.data, "ctr.1           \u00d7\n") != NULL,
	   "a cell at least");
	style.width = 0;
	style.color = true;
	buf_clear(&b);
	report_containers_map(o.k, &style, &b);
	ok(strstr(b.data, "\033[31m\u00d7\u00d7") != NULL, "damage is red");
	close_it(&o);
	buf_free(&b);
}

/* Many containers: equal neighbours share a row. */
static void
text_many(void)
{
	struct opened o;
	struct buf b = BUF_INIT;
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
	       "                  % several small ones   X missing or wrong\n",
	       "of a hundred containers");
	close_it(&o);
	buf_free(&b);
}

/* --- SVG: scr_inspect_containers.bats proves that it is XML --- */

/* The next `c`, or the end.  (A sanitizer makes each strchr() scan the whole
 * rest of the text.) */
static const char *
find(const char *s, char c)
{
	while (*s != '\0' && *s != c)
		s++;
	return s;
}

static size_t
count(const char *text, const char *what)
{
	const size_t len = strlen(what);
	size_t n = 0;

	for (text = find(text, *what); *text != '\0';
	     text = find(text + 1, *what))
		n += strncmp(text, what, len) == 0;
	return n;
}

/* A picture of the containers as they are now. */
static void
draw(struct buf *b, const char *what)
{
	struct condition h = { .id = 7 };
	struct opened o;

	look_at(&o, NULL, false);
	h.containers = o.k;
	buf_clear(b);
	is_int(report_svg(&h, b, NULL), 0, what);
	close_it(&o);
}

static void
svg_small(void)
{
	struct condition h = { .id = 7 };
	struct error err = ERROR_INIT;
	struct buf b = BUF_INIT;

	ok(report_svg(&h, &b, &err) < 0 && err.kind == ERROR_USAGE &&
		   says(&err, "it is not packed"),
	   "nothing to draw");
	small();
	draw(&b, "a whole dataset");
	is_int((int64_t)count(b.data, "<title>d/"), 6, "six stretches");
	ok(strstr(b.data, "<title>d/b&lt;&amp;\\xff&quot;&gt;\n"
			  "rank 0, 3 bytes from byte 6 of 9 at offset 0 of "
			  ".scr/ctr.1.scr</title>") != NULL,
	   "what each is");
	is_int((int64_t)count(b.data, "class=\"bad\" x=\"150."), 0,
	       "nothing is bad");
	buf_free(&b);
}

/* Paths with characters that XML forbids. */
static void
svg_names(void)
{
	static const char *const titles[] = {
		"<title>d/\xef\xbf\xbd\xef\xbf\xbd\n",
		"<title>d/\\x01\\x1b[2J]]&gt;\\xc2\\x85&lt;!--\n",
		"<title>d/\\xe2\\x80\\xae\xf0\x9f\x98\x80\\xed\\xa0\\x80\n",
	};
	char path[3000];
	struct buf b = BUF_INIT;
	struct segmap m;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	must(segmap_init(&m, 4, NULL) == 0);
	add_file(&m, 0, "d/\xef\xbf\xbe\xef\xbf\xbf", 4);
	add_file(&m, 0, "d/\x01\x1b[2J]]>\xc2\x85<!--", 4);
	add_file(&m, 0, "d/\xe2\x80\xae\xf0\x9f\x98\x80\xed\xa0\x80", 4);
	add_file(&m, 0, path, 4);
	store(&m, 10, 1, false);
	segmap_free(&m);
	draw(&b, "odd names");
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		ok(strstr(b.data, titles[i]) != NULL, titles[i]);
	is_int((int64_t)count(b.data, "...xxx"), 1, "a long one is cut");
	ok(b.len < 8000, "and takes little room");
	buf_free(&b);
}

/* With many files there are fewer rectangles, but they cover all bytes. */
static void
svg_many(void)
{
	static const struct {
		size_t nfiles, perrank;
		uint64_t size; /* of a container; files have 3 bytes */
		bool wrong;
		const char *merged, *what;
	} cases[] = {
		{ 19000, 100, 60000, false, NULL, "few: each by itself" },
		{ 30000, 1, 500, false, " files of ranks 0 to ",
		  "of a rank each: of several" },
		{ 50000, 1, 90000, true, " files of ranks 0 to ",
		  "every other one damaged" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t n = cases[i].nfiles, boxes = 0, cut = 0;
		struct buf b = BUF_INIT;
		struct segmap m;

		must(segmap_init(&m, n, NULL) == 0);
		for (size_t f = 0; f < n; f++)
			add_file(&m, (uint32_t)(f / cases[i].perrank),
				 fmt("d/%zu", f), 3);
		store(&m, cases[i].size, n / cases[i].perrank, cases[i].wrong);
		/* One row for each container, although there are many. */
		for (size_t c = 0; c < m.ncontainers; c += 2, cut++)
			must(truncate(ctr((int)c),
				      (off_t)m.containers[c].size - 1) == 0);
		segmap_free(&m);
		draw(&b, cases[i].what);
		boxes = count(b.data, "<title>");
		ok(boxes < 25000 && boxes > 100 &&
			   (cases[i].merged == NULL
				    ? count(b.data, " files of rank") == 0 &&
					      boxes > n
				    : count(b.data, cases[i].merged) > 0),
		   fmt("... %zu rectangles", boxes));
		ok(count(b.data, "missing or wrong</title>") >= cut,
		   "... damage is kept");
		buf_free(&b);
	}
}

static void
svg_saved(void)
{
	struct buf svg = BUF_INIT, got = BUF_INIT;
	const char *path = fmt("%s/x.svg", ctr_place);

	must(buf_add_str(&svg, "<svg/>") == 0);
	ok(picture_save(path, &svg, NULL) == 0, "saved");
	read_whole(path, &got);
	is_str(got.data, "<svg/>", "as it is");
	is_int(picture_save(ctr_place, &svg, NULL), -1, "not as a directory");
	buf_free(&svg);
	buf_free(&got);
}

int
main(void)
{
	text_small();
	text_widths();
	text_many();
	svg_small();
	svg_names();
	svg_many();
	svg_saved();
	remove_tree(ctr_place);
	return tap_done();
}
