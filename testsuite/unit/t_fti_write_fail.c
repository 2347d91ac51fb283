/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing FTI-FF files from made-up variables: limits of layouts, large files;
 * and failures: stops, changed files, lack of memory.
 */
#include "fti/draft.h"
#include "ftitest.h"
#include "puttest.h"

#define VARS 3

static unsigned char bytes[VARS][600000];
static struct fti_source sources[VARS];
static struct fti_raw raw[VARS];

static void
make_vars(void)
{
	static const uint64_t sizes[VARS] = { sizeof(bytes[0]), 0, 5000 };

	for (size_t i = 0; i < VARS; i++) {
		for (size_t k = 0; k < sizeof(bytes[i]); k++)
			bytes[i][k] = (unsigned char)(k * (i + 3) >> 3);
		fti_source_memory(&sources[i], bytes[i], sizes[i], "raw");
		raw[i] = (struct fti_raw){ (int32_t)(10 * i), &sources[i] };
	}
}

static int
pack(const char *name, enum fti_layout layout, unsigned room, struct error *err)
{
	return ftitest_pack(raw, VARS, room, layout, name, err);
}

/* The file that was opened last. */
static struct ftitest t;

static void
close_it(void)
{
	if (t.path != NULL)
		ftitest_close(&t);
	t.path = NULL;
}

static void
open_it(const char *name)
{
	close_it();
	ftitest_open(&t, here("%s", name));
}

static bool
holds_vars(const struct fti_content *c)
{
	auto_mem unsigned char *got = mem_alloc(sizeof(bytes[0]), 1);
	bool same = c->nvars == VARS;

	must(got != NULL);
	for (size_t i = 0; same && i < VARS; i++) {
		const size_t size = (size_t)sources[i].size;

		same = c->vars[i].id == raw[i].id && c->vars[i].size == size &&
		       fti_content_read(c, &c->vars[i], got, size, 0, NULL) ==
			       0 &&
		       memcmp(got, bytes[i], size) == 0;
	}
	return same;
}

/* One of the variables has no bytes: it keeps its container, and the checksum
 * is over the sum of it. */
TEST(layouts)
{
	for (int l = 0; l < FTI_LAYOUTS; l++)
		for (unsigned room = 0; room <= 50; room += 50) {
			const char *name = fmt("%d-%u", l, room);

			must(pack(name, (enum fti_layout)l, room, NULL) == 0);
			open_it(name);
			ok(t.checked.verdict == FTI_INTACT &&
				   t.checked.file->nfindings == 0 &&
				   (int)t.checked.file->layout == l,
			   fmt("layout %d, room %u: intact", l, room));
			ok(holds_vars(&t.content), "with all variables");
		}
}

/* --- Limits --- */

static int
read_zeros(const struct fti_source *s, void *to, size_t len, uint64_t off,
	   struct error *err)
{
	(void)s;
	(void)off;
	(void)err;
	memset(to, 0, len);
	return 0;
}

/* Plan a file with one variable of `size` bytes. */
static enum error_kind
plan_one(uint64_t size, enum fti_layout layout, int64_t id, const char *words)
{
	const struct fti_source big = {
		.size = size, .name = "big", .read = read_zeros, .fd = -1
	};
	const struct fti_raw one = { 1, &big };
	struct fti_draft d;
	struct error err = ERROR_INIT;

	if (fti_describe_pack(&d, &one, 1, 0, layout, &err) == 0) {
		d.ckpt_id = id;
		(void)fti_draft_plan(&d, &err);
	}
	fti_draft_fini(&d);
	if (words != NULL && !says(&err, words))
		printf("# %s\n", err.text);
	return words == NULL || says(&err, words) ? err.kind : ERROR_NONE;
}

TEST(limits)
{
	const uint64_t records = 82 + 8 + 50, max = INT32_MAX - records;
	struct fti_raw twice[2] = { raw[0], raw[0] };
	struct fti_draft d;

	ok(plan_one(max, FTI_E, 1, NULL) == ERROR_NONE,
	   "the largest file of E is possible");
	ok(plan_one(max + 1, FTI_E, 1,
		    "up to 2147483647, but it would be "
		    "2147483648") == ERROR_USAGE,
	   "a larger one is not, and the limit is named");
	for (int l = 0; l < FTI_LAYOUTS; l++)
		ok(l == FTI_E || plan_one(max * 4, (enum fti_layout)l, 1,
					  NULL) == ERROR_NONE,
		   "other layouts hold 8 GiB");
	ok(plan_one(INT64_MAX - 10, FTI_F, 1, "too large") == ERROR_USAGE &&
		   plan_one(UINT64_MAX, FTI_A, 1, "too large") == ERROR_USAGE,
	   "sizes that overflow");
	ok(plan_one(4, FTI_F, -1, "id of the checkpoint") == ERROR_USAGE &&
		   plan_one(4, FTI_A, -1, NULL) == ERROR_NONE,
	   "an id that is not known, only A and B do without");
	refuses(fti_describe_pack(&d, twice, 2, 0, FTI_F, &why), ERROR_USAGE,
		"given twice", "the same variable twice");
	fti_draft_fini(&d);
	ok(fti_describe_pack(&d, raw, 0, 0, FTI_F, &why) == 0 &&
		   fti_draft_plan(&d, &why) < 0 && why.kind == ERROR_USAGE,
	   "no variable");
	fti_draft_fini(&d);
	ok(pack("none", FTI_F, UINT32_MAX, &why) == 0 ||
		   why.kind == ERROR_SYSTEM,
	   "a lot of room");
}

/* Containers behind the first 4 GiB of a file, with holes before them. */
TEST(large)
{
	for (int l = 0; l < FTI_LAYOUTS; l++) {
		const char *name = fmt("large%d", l);

		/* A and B sum all zeros: that takes time. */
		if (l == FTI_A || l == FTI_E ||
		    (l == FTI_B && getenv("SCRKIT_SLOW") == NULL))
			continue;
		must(pack(name, (enum fti_layout)l, 800000, NULL) == 0);
		open_it(name);
		ok(t.checked.verdict == FTI_INTACT && holds_vars(&t.content) &&
			   t.source.size > UINT64_C(1) << 32,
		   fmt("layout %d: more than 4 GiB", l));
	}
}

/* --- Failures --- */

/* The bytes of the file "from". */
static struct buf from;

static void
start(void)
{
	puttest_root_new();
	must(pack("from", FTI_F, 10, NULL) == 0);
	open_it("from");
	read_whole(t.path, &from);
}

/* Convert "from" in place to layout A, and to B beside it. */
static int
convert(const struct work *w, struct error *err)
{
	auto_fti_draft a, b = { .nown = 0 };
	const struct fti_job jobs[] = {
		{ .draft = &a,
		  .dirfd = puttest_fd,
		  .path = "from",
		  .replace = true },
		{ .draft = &b, .dirfd = puttest_fd, .path = "to/b" },
	};
	int rc = fti_describe_same(&a, &t.checked, FTI_A, err);

	if (rc == 0)
		rc = fti_describe_repair(&b, &t.checked, err);
	if (rc == 0)
		rc = fti_write(jobs, 2, w, err);
	return rc;
}

/* Has "from" its bytes, and is it alone? */
static bool
is_untouched(void)
{
	return file_holds(here("from"), from.data, from.len) &&
	       puttest_count() == 1;
}

TEST(stop)
{
	struct work w = { .stop = is_stopped };
	bool untouched = true;
	long n = 0;
	int rc = -1;

	must(work_start(&w, 1, NULL) == 0);
	start();
	for (n = 0; rc < 0 && n < 1000; n++) {
		stop_after = (int)n;
		rc = convert(&w, &why);
		if (rc < 0)
			untouched &= why.errnum == EINTR && is_untouched();
	}
	ok(n > 15 && untouched,
	   "when stopped at any time, all files are as before");
	ok(rc == 0 && puttest_count() == 2, "without a stop, all are written");
	open_it("from");
	ok(holds_vars(&t.content) &&
		   t.checked.file->containers[1].c.has_content == 1,
	   "the variable without bytes keeps its container");
	work_end(&w);

	start();
	w = (struct work){ .dry_run = true };
	ok(convert(&w, NULL) == 0 && is_untouched(),
	   "a dry run writes nothing");
}

TEST(changed)
{
	static const char *const says_so[] = { "changed after it was checked",
					       "differ from their sum" };

	start();
	flip(t.path, 300000);
	read_whole(t.path, &from);
	for (int i = 0; i < 2; i++) {
		ok(convert(NULL, &why) < 0 && why.kind == ERROR_CORRUPT &&
			   says(&why, says_so[i]) && is_untouched(),
		   fmt("a damaged file is not converted: %s", says_so[i]));
		open_it("from");
	}
}

int
main(void)
{
	make_vars();
	puttest_root_new();
	return tap_run();
}
