/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing FTI-FF files: every golden data file ($SCRKIT_GOLDEN) is converted to
 * each layout and back, compacted, and packed again from its variables; all
 * results are intact and hold the variables that are expected.
 */
#include <inttypes.h>

#include "fti/draft.h"
#include "fti/write.h"
#include "ftibytes.h"
#include "ftitest.h"
#include "par.h"
#include "puttest.h"
#include "work.h"

#define OUTPUTS (FTI_LAYOUTS + 3) /* and compact, with room, pack */
#define COMPACT FTI_LAYOUTS
#define ROOM (FTI_LAYOUTS + 1)
#define PACK (FTI_LAYOUTS + 2)

static struct work work;

/* The path of an output of golden file `i`. */
static const char *
name_of(size_t i, unsigned output, bool back)
{
	return fmt("%zu.%u%s", i, output, back ? ".back" : "");
}

static const char *
path_of(size_t i, unsigned output, bool back)
{
	return fmt("%s/%s", puttest_root, name_of(i, output, back));
}

/* Jobs whose drafts and paths are freed after writing. */
struct batch {
	struct fti_job *jobs;
	size_t count, room;
};

static struct fti_draft *
add(struct batch *b, const char *name)
{
	struct fti_draft *d = mem_calloc(1, sizeof(*d));

	must(MEM_ROOM(b->jobs, b->count, b->room));
	b->jobs[b->count] = (struct fti_job){ .draft = d,
					      .dirfd = puttest_fd,
					      .path = mem_strdup(name) };
	must(d != NULL && b->jobs[b->count].path != NULL);
	b->count++;
	return d;
}

static void
write_batch(struct batch *b, const char *what)
{
	struct error err = ERROR_INIT;

	ok(fti_write(b->jobs, b->count, &work, &err) == 0, what);
	if (err.kind != ERROR_NONE)
		printf("# %s\n", err.text);
	for (size_t i = 0; i < b->count; i++) {
		fti_draft_fini(b->jobs[i].draft);
		mem_free(b->jobs[i].draft);
		mem_free((void *)(uintptr_t)b->jobs[i].path);
	}
	mem_free(b->jobs);
	*b = (struct batch){ NULL, 0, 0 };
}

/* --- One golden file --- */

struct item {
	const struct ftitest_golden *golden;
	size_t i;
	struct ftitest from, outputs[OUTPUTS];
	/* For PACK. */
	struct fti_content_var *vars;
	struct fti_source *sources;
	struct fti_raw *raw;
	void **bytes;
};

static void
describe_pack(struct item *it, struct fti_draft *d)
{
	const struct fti_content *c = &it->from.content;

	it->sources = mem_calloc(c->nvars, sizeof(*it->sources));
	it->raw = mem_calloc(c->nvars, sizeof(*it->raw));
	it->bytes = mem_calloc(c->nvars, sizeof(*it->bytes));
	must(it->sources != NULL && it->raw != NULL && it->bytes != NULL);
	for (size_t i = 0; i < c->nvars; i++) {
		const size_t size = (size_t)c->vars[i].size;

		it->bytes[i] = mem_alloc(size + 1, 1);
		must(it->bytes[i] != NULL &&
		     fti_content_read(c, &c->vars[i], it->bytes[i], size, 0,
				      NULL) == 0);
		fti_source_memory(&it->sources[i], it->bytes[i], size, "raw");
		it->raw[i] = (struct fti_raw){ c->vars[i].id, &it->sources[i] };
	}
	must(fti_describe_pack(d, it->raw, c->nvars, 0, FTI_F, NULL) == 0);
}

static void
free_pack(struct item *it)
{
	for (size_t i = 0; i < it->from.content.nvars; i++)
		mem_free(it->bytes[i]);
	mem_free(it->bytes);
	mem_free(it->raw);
	mem_free(it->sources);
}

static void
describe_all(struct item *it, struct batch *b)
{
	const enum fti_layout own = it->from.checked.file->layout;

	for (unsigned l = 0; l < OUTPUTS; l++) {
		struct fti_draft *d = add(b, name_of(it->i, l, false));
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
	struct buf a = BUF_INIT, b = BUF_INIT;
	bool same = true;

	if (f->empty > 0 || f->live < f->allocated || f->layout == FTI_A)
		return true;
	read_whole(it->from.path, &a);
	read_whole(path_of(it->i, f->layout, false), &b);
	same = a.len == b.len;
	if (same) /* the last byte of the metadata is not used */
		a.data[f->meta_at + fti_format(f->layout)->meta - 1] = 0;
	same = same && memcmp(a.data, b.data, a.len) == 0;
	buf_free(&a);
	buf_free(&b);
	return same;
}

/* --- All files of a set --- */

struct result {
	bool converted, compact, room, pack, same, back, bytes;
};

static void
check_outputs(struct item *it, struct result *r)
{
	const struct fti_file *from = it->from.checked.file;
	const struct fti_file *f = NULL;

	for (unsigned l = 0; l < OUTPUTS; l++) {
		const enum fti_layout want = l < FTI_LAYOUTS
						     ? (enum fti_layout)l
					     : l == PACK ? FTI_F
							 : from->layout;
		bool good = false;

		ftitest_open(&it->outputs[l], path_of(it->i, l, false),
			     FTI_LAYOUTS);
		good = is_good(&it->outputs[l], it, want);
		f = it->outputs[l].checked.file;
		if (l < FTI_LAYOUTS) {
			r->converted &= good;
			r->same &= same_containers(from, f);
		} else if (l == COMPACT) {
			r->compact &= good && f->live == f->allocated &&
				      f->live == from->live;
		} else if (l == ROOM) {
			r->room &= good && f->allocated == f->live * 5 / 4;
		} else {
			r->pack &= good && f->live == from->live;
		}
	}
	r->bytes &= same_bytes(it);
}

/* Convert each output back to the layout of the original. */
static void
describe_back(struct item *it, struct batch *b)
{
	for (unsigned l = 0; l < FTI_LAYOUTS; l++) {
		struct fti_draft *d = add(b, name_of(it->i, l, true));

		must(fti_describe_same(d, &it->outputs[l].checked,
				       it->from.checked.file->layout,
				       NULL) == 0);
		d->ckpt_id = it->golden->ckpt;
	}
}

static void
check_back(struct item *it, struct result *r)
{
	for (unsigned l = 0; l < FTI_LAYOUTS; l++) {
		struct ftitest t;

		ftitest_open(&t, path_of(it->i, l, true), FTI_LAYOUTS);
		r->back &=
			is_good(&t, it, it->from.checked.file->layout) &&
			same_containers(it->from.checked.file, t.checked.file);
		ftitest_close(&t);
	}
}

static void
test_set(const struct ftitest_golden *g, size_t count)
{
	struct item *items = mem_calloc(count, sizeof(*items));
	struct result r = { true, true, true, true, true, true, true };
	const char *set = strrchr(g->set, '/') + 1;
	struct batch b = { NULL, 0, 0 };

	must(items != NULL);
	puttest_root_new();
	for (size_t i = 0; i < count; i++) {
		items[i].golden = &g[i];
		items[i].i = i;
		ftitest_open(&items[i].from, g[i].path, FTI_LAYOUTS);
		describe_all(&items[i], &b);
	}
	write_batch(&b, fmt("%s: %zu files are written", set, count));
	for (size_t i = 0; i < count; i++) {
		check_outputs(&items[i], &r);
		describe_back(&items[i], &b);
	}
	write_batch(&b, fmt("%s: and back", set));
	for (size_t i = 0; i < count; i++) {
		check_back(&items[i], &r);
		free_pack(&items[i]);
		for (unsigned l = 0; l < OUTPUTS; l++)
			ftitest_close(&items[i].outputs[l]);
		ftitest_close(&items[i].from);
	}
	mem_free(items);
	ok(r.converted, fmt("%s: intact in each layout", set));
	ok(r.same, fmt("%s: with the same containers", set));
	ok(r.bytes, fmt("%s: its own layout has the same bytes", set));
	ok(r.back, fmt("%s: converted back", set));
	ok(r.compact, fmt("%s: compacted", set));
	ok(r.room, fmt("%s: compacted with room", set));
	ok(r.pack, fmt("%s: packed", set));
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
	remove_tree(puttest_root);
	return tap_done();
}
