/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables of two files compared, against a bare comparison; failures to write
 * variables.  Writing them: fti_extract.bats. */
#include "fti/compare.h"
#include "fti/draft.h"
#include "fti/write.h"
#include "ftitest.h"

#define SIZE ((size_t)9 << 20) /* more than two parts */

/* A content of variables that follow each other in memory. */
struct file {
	unsigned char *data;
	struct fti_source source;
	struct fti_content c;
};

static void
add(struct file *f, int32_t id, uint64_t at, uint64_t len)
{
	fti_content_add_var(&f->c, id);
	fti_content_add_piece(&f->c, at, len);
}

static void
make(struct file *f, const void *data, size_t len)
{
	*f = (struct file){ .data = mem_alloc(len + 1, 1) };
	must(f->data != NULL);
	memcpy(f->data, data, len);
	fti_source_memory(&f->source, f->data, len, "file");
	f->c.source = &f->source;
}

static void
unmake(struct file *f)
{
	fti_content_fini(&f->c);
	mem_free(f->data);
}

/* What the comparison said, as text. */
struct said {
	struct buf text;
	size_t ranges;
	int32_t skip; /* a variable; 0: none */
};

static bool
is_wanted(void *arg, int32_t id)
{
	return id != ((const struct said *)arg)->skip;
}

static void
take_range(void *arg, const struct fti_difference *d, const struct fti_range *r)
{
	struct said *s = arg;

	s->ranges++;
	must(d->ranges > 0 && r->len > 0);
	buf_printf(&s->text, "%" PRId32 ":%" PRIu64 "+%" PRIu64 " ", d->id,
		   r->off, r->len);
}

static void
take_variable(void *arg, const struct fti_difference *d)
{
	struct said *s = arg;

	buf_printf(&s->text, "%s%s%" PRId32 "=%" PRIu64 "/%" PRIu64 " ",
		   d->a != NULL ? "a" : "", d->b != NULL ? "b" : "", d->id,
		   d->bytes, d->ranges);
}

static int
compare(const struct file *a, const struct file *b, struct said *s,
	unsigned threads, struct error *err)
{
	const struct fti_compare_calls calls = { is_wanted, take_range,
						 take_variable, s };
	struct work w = { .par = threads > 1 ? par_new(threads, NULL) : NULL };
	const int rc = fti_compare(&a->c, &b->c, &calls, &w, err);

	par_free(w.par);
	return rc;
}

/* Is this said of the files, without the variable `skip`? */
static void
says_all(const struct file *a, const struct file *b, int32_t skip,
	 const char *want, const char *name)
{
	for (unsigned threads = 1; threads < 4; threads += 2) {
		struct said s = { .skip = skip };

		must(compare(a, b, &s, threads, NULL) == 0);
		is_str(s.text.data, want, name);
		buf_free(&s.text);
	}
}

TEST(small)
{
	static const char one[] = "abcdefghijklmnopqrstuvwxyz0123456789----"
				  "ABCDEFGHIJ";
	static const char two[] = "abXdefghijklmnopqrstuvwxY0123456789a----"
				  "ABCDEFGHIJ";
	struct file a, b;
	struct said s = { .skip = 0 };

	make(&a, one, 50);
	make(&b, two, 50);
	add(&a, 4, 0, 36);
	add(&a, 1, 40, 10);
	add(&a, 3, 5, 3);
	add(&a, 9, 5, 0);
	add(&b, 9, 5, 0);
	add(&b, 4, 0, 36);
	add(&b, 1, 40, 8);
	add(&b, -7, 0, 2);
	says_all(&a, &b, 0,
		 "b-7=0/0 ab1=0/0 a3=0/0 4:2+1 4:24+12 ab4=13/2 ab9=0/0 ",
		 "added, removed, changed, empty, another size");
	says_all(&a, &b, 4, "b-7=0/0 ab1=0/0 a3=0/0 ab9=0/0 ",
		 "only some variables");
	add(&b, 4, 0, 1);
	refuses(compare(&a, &b, &s, 1, &why), ERROR_CORRUPT,
		"variable 4 occurs twice", "an id twice");
	buf_free(&s.text);
	unmake(&a);
	unmake(&b);
}

/* The ranges as a bare comparison finds them. */
static void
bare(const unsigned char *a, const unsigned char *b, size_t n, struct buf *out)
{
	size_t begin = 0, end = 0, bytes = 0, ranges = 0;
	bool open = false;

	for (size_t i = 0; i <= n; i++) {
		if (open && (i == n || i - end > FTI_COMPARE_GAP)) {
			buf_printf(out, "1:%zu+%zu ", begin, end - begin);
			ranges++;
			open = false;
		}
		if (i == n || a[i] == b[i])
			continue;
		begin = open ? begin : i;
		open = true;
		end = i + 1;
		bytes++;
	}
	buf_printf(out, "ab1=%zu/%zu ", bytes, ranges);
}

TEST(random)
{
	auto_mem unsigned char *data = mem_calloc(SIZE, 1);
	struct file a, b;
	bool all = true;

	must(data != NULL);
	make(&a, data, SIZE);
	make(&b, data, SIZE);
	add(&a, 1, 0, SIZE);
	/* Other pieces. */
	fti_content_add_var(&b.c, 1);
	for (size_t at = 0, n = 0; at < SIZE; at += n) {
		n = below(1u << 18) + 1;
		n = n < SIZE - at ? n : SIZE - at;
		fti_content_add_piece(&b.c, at, n);
	}
	for (int round = 0; round < 12; round++) {
		struct said s = { .skip = 0 };
		auto_buf want = BUF_INIT;
		/* Around the ends of parts, too. */
		const size_t at = round % 3 == 0 ? ((size_t)4 << 20) - 20
						 : below(SIZE - 4096);

		for (uint32_t i = 0; i < 40; i++)
			b.data[at + below(200)] ^= 1;
		bare(a.data, b.data, SIZE, &want);
		must(compare(&a, &b, &s, 2, NULL) == 0);
		all = all && strcmp(want.data, s.text.data) == 0;
		buf_free(&s.text);
	}
	ok(all, "random changes, as a bare comparison finds them");
	unmake(&a);
	unmake(&b);
}

/* --- Files that are larger than memory --- */

#define HUGE ((uint64_t)5 << 30)
#define SPOT ((uint64_t)4 * 1024 * 1024 * 1024 + 12345)

static int
read_huge(const struct fti_source *s, void *to, size_t len, uint64_t off,
	  struct error *err)
{
	(void)err;
	memset(to, 7, len);
	if (s->arg != NULL && SPOT >= off && SPOT - off < len)
		((char *)to)[SPOT - off] = 8;
	return 0;
}

TEST(huge)
{
	struct said s = { .skip = 0 };
	struct file a, b;

	make(&a, "", 0);
	make(&b, "", 0);
	a.source.size = b.source.size = HUGE;
	a.source.read = b.source.read = read_huge;
	a.source.arg = NULL;
	add(&a, 1, 0, HUGE);
	add(&b, 1, 0, HUGE);
	must(compare(&a, &b, &s, 2, NULL) == 0);
	is_str(s.text.data, "1:4294979641+1 ab1=1/1 ", "a byte behind 4 GiB");
	buf_free(&s.text);
	unmake(&a);
	unmake(&b);
}

/* --- Failures --- */

TEST(failures)
{
	struct said s = { .skip = 0 };
	struct file a, b;

	make(&a, "abcd", 4);
	make(&b, "abXd", 4);
	add(&a, 1, 0, 4);
	add(&b, 1, 0, 4);

	a.source.size = 3;
	refuses(compare(&a, &b, &s, 1, &why), ERROR_CORRUPT, NULL,
		"a file became shorter");
	buf_free(&s.text);
	unmake(&a);
	unmake(&b);
}

/* --- Writing --- */

/* A variable of two pieces, in the wrong order in the file. */
static const char bytes[] = "world, hello ";

static void
two_pieces(struct fti_content *c, struct fti_source *s)
{
	*c = (struct fti_content){ .source = s };
	fti_source_memory(s, bytes, 13, "file");
	fti_content_add_var(c, 1);
	fti_content_add_piece(c, 7, 6);
	fti_content_add_piece(c, 0, 7);
	fti_content_add_var(c, 2);
}

TEST(write_shorter)
{
	auto_fti_content c;
	struct fti_source s;
	struct fti_draft d;
	const int fd = open("/dev/null", O_WRONLY);

	two_pieces(&c, &s);
	s.size = 12;
	fti_describe_bytes(&d, &c, &c.vars[0], 0, 13);
	refuses(fti_stream(&d, fd, NULL, &why), ERROR_CORRUPT, NULL,
		"a file that became shorter");
	fti_draft_fini(&d);
	close(fd);
}
