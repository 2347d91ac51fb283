/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing FTI-FF files: every golden data file ($SCRKIT_GOLDEN) is converted to
 * each layout and back, compacted, and packed again from its variables; all
 * results are intact and hold the variables that are expected.
 */
#include "fti/draft.h"
#include "ftibytes.h"
#include "ftitest.h"
#include "puttest.h"

#define OUTPUTS (FTI_LAYOUTS + 3) /* and compact, with room, pack */
#define COMPACT FTI_LAYOUTS
#define ROOM (FTI_LAYOUTS + 1)
#define PACK (FTI_LAYOUTS + 2)

static struct work work;
static struct arena *arena; /* what a set of files needs */

/* The path of an output of golden file `i`. */
static const char *
path_of(size_t i, unsigned output, bool back)
{
	return here("%zu.%u%s", i, output, back ? ".back" : "");
}

static struct fti_job *jobs;
static size_t njobs;

static struct fti_draft *
add(const char *path)
{
	struct fti_draft *d = arena_alloc(arena, 1, sizeof(*d));

	jobs[njobs++] = (struct fti_job){
		.draft = d,
		.dirfd = puttest_fd,
		.path = arena_strdup(arena, strrchr(path, '/') + 1),
	};
	must(d != NULL);
	return d;
}

static void
write_all(const char *what)
{
	struct error err = ERROR_INIT;

	ok(fti_write(jobs, njobs, &work, &err) == 0, what);
	if (err.kind != ERROR_NONE)
		printf("# %s\n", err.text);
	while (njobs > 0)
		fti_draft_fini(jobs[--njobs].draft);
}

/* --- One golden file --- */

struct item {
	const struct ftitest_golden *golden;
	size_t i;
	struct ftitest from, outputs[OUTPUTS];
};

static void
describe_pack(struct item *it, struct fti_draft *d)
{
	const struct fti_content *c = &it->from.content;
	struct fti_source *sources =
		arena_alloc(arena, c->nvars, sizeof(*sources));
	struct fti_raw *raw = arena_alloc(arena, c->nvars, sizeof(*raw));

	for (size_t i = 0; i < c->nvars; i++) {
		const size_t size = (size_t)c->vars[i].size;
		void *bytes = arena_alloc(arena, size + 1, 1);

		must(fti_content_read(c, &c->vars[i], bytes, size, 0, NULL) ==
		     0);
		fti_source_memory(&sources[i], bytes, size, "raw");
		raw[i] = (struct fti_raw){ c->vars[i].id, &sources[i] };
	}
	must(fti_describe_pack(d, raw, c->nvars, 0, FTI_F, NULL) == 0);
}

static void
describe_all(struct item *it)
{
	const enum fti_layout own = it->from.checked.file->layout;

	for (unsigned l = 0; l < OUTPUTS; l++) {
		struct fti_draft *d = add(path_of(it->i, l, false));
		int rc = 0;

		if (l < FTI_LAYOUTS)
			rc = fti_describe_same(d, &it->from.checked,
					       (enum fti_layout)l, NULL);
		else if (l == PACK)
			describe_pack(it, d);
		else
			rc = fti_describe_compact(d, &it->from.content,
						  l == ROOM ? 25 : 0, own,
						  NULL);
		must(rc == 0);
		d->ckpt_id = it->golden->ckpt;
		if (l >= FTI_LAYOUTS)
			d->timestamp = it->from.checked.file->meta.timestamp;
	}
}

/* Is it intact, of this layout and checkpoint, with the right variables? */
static bool
is_good(const struct ftitest *t, const struct item *it, enum fti_layout want)
{
	const struct fti_file *f = t->checked.file;
	size_t count = 0;
	const bool good = t->checked.verdict == FTI_INTACT &&
			  f->layout == want && f->nfindings == 0 &&
			  (!fti_has(want, FTI_CKPT_ID) ||
			   f->meta.ckpt_id == it->golden->ckpt) &&
			  ftitest_holds(&t->content, it->golden, &count) &&
			  count == t->content.nvars &&
			  count == ftitest_vars(it->golden);

	if (!good)
		printf("# %s from %s: %s: %s\n", t->path, it->golden->path,
		       fti_verdict_name(t->checked.verdict),
		       f->findings != NULL ? f->findings->text : "");
	return good;
}

/* Have the files the same containers? */
static bool
same_containers(const struct fti_file *a, const struct fti_file *b)
{
	bool same =
		a->nblocks == b->nblocks && a->ncontainers == b->ncontainers;

	for (size_t i = 0; same && i < a->ncontainers; i++) {
		const struct fti_file_container *x = &a->containers[i];
		const struct fti_file_container *y = &b->containers[i];

		same = x->block == y->block && x->c.id == y->c.id &&
		       x->c.part == y->c.part && x->c.dptr == y->c.dptr &&
		       x->c.used == y->c.used && x->c.size == y->c.size &&
		       x->c.has_content == y->c.has_content;
	}
	return same;
}

/* A file written in its own layout has the bytes of the original, if that has
 * neither an empty container, which has an old sum there, nor bytes left in
 * unused room.  Bytes between the fields of A are not defined. */
static bool
same_bytes(const struct item *it)
{
	const struct fti_file *f = it->from.checked.file;
	auto_buf a = BUF_INIT, b = BUF_INIT;
	bool same = true;

	if (f->empty > 0 || f->live < f->allocated || f->layout == FTI_A)
		return true;
	read_whole(it->from.path, &a);
	read_whole(path_of(it->i, f->layout, false), &b);
	same = a.len == b.len;
	if (same) /* the last byte of the metadata is not used */
		a.data[f->meta_at + fti_format(f->layout)->meta - 1] = 0;
	return same && memcmp(a.data, b.data, a.len) == 0;
}

/* --- All files of a set --- */

enum check { CONVERTED, SAME, BYTES, BACK, COMPACTED, ROOMY, PACKED, CHECKS };
static const char *const checks[CHECKS] = { "intact in each layout",
					    "with the same containers",
					    "its own layout has the same bytes",
					    "converted back",
					    "compacted",
					    "compacted with room",
					    "packed" };

static void
check_outputs(struct item *it, bool *good_all)
{
	const struct fti_file *from = it->from.checked.file;
	const struct fti_file *f = NULL;

	for (unsigned l = 0; l < OUTPUTS; l++) {
		const enum fti_layout want = l < FTI_LAYOUTS
						     ? (enum fti_layout)l
					     : l == PACK ? FTI_F
							 : from->layout;
		bool good = false;

		ftitest_open(&it->outputs[l], path_of(it->i, l, false));
		good = is_good(&it->outputs[l], it, want);
		f = it->outputs[l].checked.file;
		if (l < FTI_LAYOUTS) {
			good_all[CONVERTED] &= good;
			good_all[SAME] &= same_containers(from, f);
		} else if (l == COMPACT) {
			good_all[COMPACTED] &= good &&
					       f->live == f->allocated &&
					       f->live == from->live;
		} else if (l == ROOM) {
			good_all[ROOMY] &=
				good && f->allocated == f->live * 5 / 4;
		} else {
			good_all[PACKED] &= good && f->live == from->live;
		}
	}
	good_all[BYTES] &= same_bytes(it);
}

/* Convert each output back to the layout of the original. */
static void
describe_back(struct item *it)
{
	for (unsigned l = 0; l < FTI_LAYOUTS; l++) {
		struct fti_draft *d = add(path_of(it->i, l, true));

		must(fti_describe_same(d, &it->outputs[l].checked,
				       it->from.checked.file->layout,
				       NULL) == 0);
		d->ckpt_id = it->golden->ckpt;
	}
}

static void
check_back(struct item *it, bool *good_all)
{
	for (unsigned l = 0; l < FTI_LAYOUTS; l++) {
		struct ftitest t;

		ftitest_open(&t, path_of(it->i, l, true));
		good_all[BACK] &=
			is_good(&t, it, it->from.checked.file->layout) &&
			same_containers(it->from.checked.file, t.checked.file);
		ftitest_close(&t);
	}
}

static void
test_set(const struct ftitest_golden *g, size_t count)
{
	struct item *items = NULL;
	bool good[CHECKS] = { true, true, true, true, true, true, true };
	const char *set = strrchr(g->set, '/') + 1;

	arena = arena_new();
	items = arena_alloc(arena, count, sizeof(*items));
	jobs = arena_alloc(arena, count * OUTPUTS, sizeof(*jobs));
	must(items != NULL && jobs != NULL);
	puttest_root_new();
	for (size_t i = 0; i < count; i++) {
		items[i].golden = &g[i];
		items[i].i = i;
		ftitest_open(&items[i].from, g[i].path);
		describe_all(&items[i]);
	}
	write_all(fmt("%s: %zu files are written", set, count));
	for (size_t i = 0; i < count; i++) {
		check_outputs(&items[i], good);
		describe_back(&items[i]);
	}
	write_all(fmt("%s: and back", set));
	for (size_t i = 0; i < count; i++) {
		check_back(&items[i], good);
		for (unsigned l = 0; l < OUTPUTS; l++)
			ftitest_close(&items[i].outputs[l]);
		ftitest_close(&items[i].from);
	}
	arena_free(arena);
	for (int i = 0; i < CHECKS; i++)
		ok(good[i], fmt("%s: %s", set, checks[i]));
}

int
main(void)
{
	struct ftitest_golden *list = NULL;
	const size_t count = ftitest_list(&list);
	size_t from = 0;

	puttest_root_new();
	must(work_start(&work, 4, NULL) == 0);
	if (count == 0)
		skip("golden files", "no golden data of FTI");
	for (size_t i = 1; i <= count; i++)
		if (i == count || strcmp(list[i].set, list[from].set) != 0) {
			test_set(&list[from], i - from);
			from = i;
		}
	ftitest_free(list, count);
	work_end(&work);
	return tap_done();
}
