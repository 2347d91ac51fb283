/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing many checkpoint files from others: batches, files that change between
 * plan and writing, refusals, stops, lack of memory.
 */
#include "fti/draft.h"
#include "fti/write.h"
#include "ftitest.h"
#include "progress.h"
#include "puttest.h"

static unsigned char bytes[3000];

static const char *
in_of(size_t i)
{
	return here("in%zu", i);
}

static void
make_inputs(size_t count)
{
	struct fti_source s;
	const struct fti_raw raw = { 5, &s };

	fti_source_memory(&s, bytes, sizeof(bytes), "raw");
	for (size_t i = 0; i < count; i++)
		must(ftitest_pack(&raw, 1, 50, FTI_D, fmt("in%zu", i), NULL) ==
		     0);
}

struct test {
	size_t planned, refused, written;
	size_t skip;   /* nothing to write for this file */
	size_t change; /* this file changes after the plan */
	bool exists;   /* all outputs exist */
	/* Bytes of the phase in which the first file was described last. */
	const struct progress *progress;
	uint64_t phase;
};

static int
describe(void *arg, size_t i, const struct fti_rankfile *r, struct fti_draft *d,
	 struct error *err)
{
	struct test *t = arg;
	uint64_t done = 0;

	if (i == 0)
		progress_get(t->progress, &done, &t->phase);
	if (i == t->skip)
		return 1;
	if (fti_remake_proven(r, err) < 0 ||
	    fti_describe_compact(d, &r->content, 0, FTI_F, err) < 0)
		return -1;
	d->ckpt_id = 2;
	return 0;
}

static void
refused(void *arg, size_t i, const struct fti_rankfile *r, struct error *err)
{
	struct test *t = arg;

	(void)i;
	(void)r;
	must(t->exists && err->kind == ERROR_USAGE);
	t->refused++;
	error_clear(err);
}

static int
planned(void *arg, size_t i, const struct fti_rankfile *r,
	const struct fti_draft *d, struct error *err)
{
	struct test *t = arg;

	(void)err;
	must(r->checked.verdict == FTI_INTACT &&
	     (d->ncontainers == 1 || i == t->skip));
	if (i == t->change)
		flip(in_of(i), 100);
	t->planned++;
	return 0;
}

static void
written(void *arg, size_t i, const struct fti_draft *d)
{
	struct test *t = arg;

	must(i != t->skip && d->meta.checksum[0] != '\0');
	t->written++;
}

static struct buf text = BUF_INIT;

static int
finish(void *arg, struct error *err)
{
	(void)arg;
	buf_clear(&text);
	return buf_add_str(&text, "text\n") < 0 ? error_no_memory(err) : 0;
}

static int
run(struct test *t, size_t count, const struct work *w, struct error *err)
{
	auto_free struct fti_remake_item *items = calloc(count, sizeof(*items));
	char(*names)[2][128] = calloc(count, sizeof(*names));
	const struct fti_job note = { .text = &text,
				      .dirfd = puttest_fd,
				      .path = "note",
				      .name = "note" };
	struct fti_remake m = {
		.items = items,
		.count = count,
		.open = { .layout = FTI_LAYOUTS, .layer = FTI_DCP_LAST },
		.texts = &note,
		.ntexts = 1,
		.describe = describe,
		.refused = refused,
		.refused_arg = t,
		.planned = planned,
		.written = written,
		.finish = finish,
		.arg = t,
	};
	int rc = 0;

	must(items != NULL && names != NULL);
	for (size_t i = 0; i < count; i++) {
		snprintf(names[i][0], 128, "%s/in%zu", scratch_root, i);
		snprintf(names[i][1], 128, "out/%zu", i);
		items[i].in = names[i][0];
		items[i].out = (struct fti_job){ .dirfd = puttest_fd,
						 .path = names[i][1],
						 .name = names[i][1] };
	}
	m.open.metas = fti_metas_new();
	rc = fti_remake(&m, w, err);
	fti_metas_free(m.open.metas);
	free(names);
	return rc;
}

/* A test with new files. */
static struct test
new_test(size_t count)
{
	puttest_root_new();
	make_inputs(count);
	return (struct test){ .skip = SIZE_MAX, .change = SIZE_MAX };
}

static bool
are_good(size_t count, size_t but)
{
	bool good = true;

	for (size_t i = 0; good && i < count; i++) {
		struct ftitest t;

		if (i == but)
			continue;
		ftitest_open(&t, here("out/%zu", i));
		good = t.checked.verdict == FTI_INTACT &&
		       t.content.nvars == 1 &&
		       t.content.vars[0].size == sizeof(bytes);
		ftitest_close(&t);
	}
	return good;
}

/* --- Tests --- */

#define MANY 150 /* three batches */

TEST(many)
{
	struct test t = new_test(MANY);
	struct work w = { .dry_run = true };
	struct error err = ERROR_INIT;

	t.skip = 70;
	ok(run(&t, MANY, &w, NULL) == 0 && t.planned == MANY &&
		   t.written == 0 && puttest_count() == MANY,
	   "a dry run plans all, and writes nothing");
	t.planned = 0;
	ok(run(&t, MANY, NULL, &err) == 0 && t.planned == MANY &&
		   t.written == MANY - 1 && are_good(MANY, 70) &&
		   puttest_holds("note", "text\n"),
	   "three batches, without one file");
	if (err.kind != ERROR_NONE)
		printf("# %s\n", err.text);
	ok(puttest_count() == 2 * MANY, "no other files are left");
	t.exists = true;
	ok(run(&t, MANY, NULL, &err) < 0 && err.kind == ERROR_USAGE &&
		   says(&err, "note: exists already") && t.refused == MANY - 1,
	   "each output that exists is reported");
}

TEST(unchanged)
{
	struct test t = new_test(MANY);
	struct progress *p = progress_start("test", true, NULL);
	struct work w = { .progress = p };

	t.progress = p;
	/* The last files that were summed were the last that were planned. */
	ok(run(&t, MANY, &w, NULL) == 0 && t.phase == MANY % 64 * sizeof(bytes),
	   "files that are intact and have not changed are summed once");
	progress_end(p);
}

static void
test_changed(size_t at)
{
	struct test t = new_test(MANY);

	t.change = at;
	ok(run(&t, MANY, NULL, &why) < 0 && why.kind == ERROR_CORRUPT &&
		   says(&why, "changed after it was checked") &&
		   puttest_count() == MANY,
	   fmt("file %zu changes between plan and writing: nothing is "
	       "written",
	       at));
}

TEST(stop)
{
	const struct test new = new_test(3);
	struct work w = { .stop = is_stopped };
	bool untouched = true;
	int rc = -1;
	long n = 0;

	must(work_start(&w, 1, NULL) == 0);
	for (n = 0; rc < 0 && n < 1000; n++) {
		struct test t = new;

		stop_after = (int)n;
		rc = run(&t, 3, &w, &why);
		if (rc < 0)
			untouched &=
				why.errnum == EINTR && puttest_count() == 3;
	}
	work_end(&w);
	ok(n > 10 && untouched, "when stopped at any time, nothing is written");
	ok(rc == 0 && are_good(3, SIZE_MAX), "without a stop, all are");
}

TEST(changes)
{
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7);
	test_changed(0);
	test_changed(149);
	buf_free(&text);
}
