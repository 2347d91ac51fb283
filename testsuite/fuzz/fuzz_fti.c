/* SPDX-License-Identifier: BSD-3-Clause */
#include "fti/draft.h"
#include "fti/ini.h"
#include "fti/npy.h"
#include "fti/posix.h"
#include "ftijob/rewind.h"
#include "ftijob/tree.h"
#include "ftitest.h"
#include "fuzz_tree.h"

/* Layers of FTI's differential checkpoints.  The input is the metadata, a NUL
 * byte, and the file. */

/* The pieces of each variable have its size, and lie in the file. */
static void
check_sound(const struct fti_content *c)
{
	for (size_t i = 0; i < c->nvars; i++) {
		const struct fti_content_var *v = &c->vars[i];
		uint64_t size = 0;

		fuzz_require(v->first + v->count <= c->npieces);
		for (size_t k = v->first; k < v->first + v->count; k++) {
			const struct fti_piece *p = &c->pieces[k];

			fuzz_require(p->len > 0 && p->off == size &&
				     p->at <= c->source->size &&
				     p->len <= c->source->size - p->at);
			size += p->len;
		}
		fuzz_require(size == v->size);
	}
}

static void
look_at_layers(const struct fti_posix_file *f, const struct fti_source *s)
{
	struct fti_checked checked = { .posix = f, .source = s };
	struct fti_content c;
	struct fti_dcp d;

	fuzz_require(fti_check(&checked, 1, true, NULL, NULL) == 0);
	if (fti_dcp_read(&d, f, s, NULL) == 0) {
		for (size_t l = 0; l < d.nlayers && l < 8; l++) {
			if (fti_content_dcp(&c, &d, l, NULL) >= 0)
				check_sound(&c);
			fti_content_fini(&c);
		}
	} else {
		fuzz_require(checked.verdict != FTI_INTACT || f->nlayers == 0);
	}
	fti_dcp_fini(&d);
	fti_checked_fini(&checked);
}

FUZZ(fti_dcp)
{
	const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
	const size_t len = nul != NULL ? (size_t)(nul - data) : size;
	struct fti_posix *p = fti_posix_parse("fuzz", data, len, NULL);
	struct fti_source s;

	if (p == NULL)
		return;
	fti_source_memory(&s, nul != NULL ? nul + 1 : data,
			  nul != NULL ? size - len - 1 : 0, "fuzz");
	for (size_t i = 0; i < p->nfiles; i++)
		look_at_layers(&p->files[i], &s);
	fti_posix_free(p);
}

/* FTI-FF files: any bytes are read and judged; the variables of a file that is
 * usable can be read, and lie in the file. */

static void
check_content(const struct fti_file *f, const struct fti_source *s)
{
	auto_fti_content c;

	if (fti_content_file(&c, f, s, NULL) == 0) {
		fuzz_require(c.nvars == f->nvars);
		for (size_t i = 0; i < c.nvars; i++) {
			char last = 0;

			fuzz_require(c.vars[i].size == f->vars[i].size);
			if (c.vars[i].size > 0)
				fuzz_require(
					fti_content_read(&c, &c.vars[i], &last,
							 1, c.vars[i].size - 1,
							 NULL) == 0);
		}
	}
}

/* A finding is one line of text about an existing record. */
static void
check_findings(const struct fti_file *f)
{
	size_t n = 0;

	for (const struct fti_finding *x = f->findings; x != NULL;
	     x = x->next, n++) {
		fuzz_require(x->text[0] != '\0' &&
			     strpbrk(x->text, "\n\r\x1b") == NULL);
		fuzz_require(x->rule <= f->worst);
		fuzz_require(x->at < 0 || (uint64_t)x->at < f->size);
		fuzz_require(x->block == SIZE_MAX || x->block < f->nblocks);
		fuzz_require(x->container == SIZE_MAX ||
			     x->container < f->ncontainers);
	}
	fuzz_require(n == f->nfindings);
}

static void
look_at(const struct fti_source *s, enum fti_layout layout, bool data)
{
	struct fti_checked c = { .source = s };

	c.file = fti_file_read(s, layout, NULL);
	fuzz_require(c.file != NULL);
	fuzz_require(fti_check(&c, 1, data, NULL, NULL) == 0);
	check_findings(c.file);
	if (c.verdict == FTI_INTACT)
		fuzz_require(c.file->kind != FTI_KIND_NONE &&
			     c.file->meta_good);
	check_content(c.file, s);
	fti_checked_fini(&c);
	fti_file_free(c.file);
}

FUZZ(fti_file)
{
	struct fti_source s;

	fti_source_memory(&s, data, size, "fuzz");
	for (int l = 0; l <= FTI_LAYOUTS; l++)
		look_at(&s, (enum fti_layout)l, l == FTI_LAYOUTS);
}

/* FTI's ini files: any bytes can be read; an edit changes the one value and
 * nothing else. */

static struct fti_ini *
parse(const void *data, size_t size)
{
	struct fti_ini *ini = fti_ini_parse("fuzz", data, size, NULL);

	fuzz_require(ini != NULL);
	return ini;
}

/* Is the key the same before and after an edit of another one? */
static void
compare(const struct fti_ini *a, const struct fti_ini *b, const char *section,
	const char *key)
{
	const char *x = fti_ini_get(a, section, key);
	const char *y = fti_ini_get(b, section, key);

	fuzz_require((x == NULL) == (y == NULL) && (x == NULL || str_eq(x, y)));
}

/* `v` is set; the bytes before and after the edit are those of the input. */
static void
check_edit(const struct fti_ini *was, const uint8_t *data, size_t size,
	   const struct fti_ini_value *v)
{
	auto_buf out = BUF_INIT;
	auto_fti_ini *is = NULL;
	size_t head = 0, tail = 0;

	fuzz_require(buf_add(&out, data, size) == 0 &&
		     fti_ini_set(&out, v, NULL) == 0);
	is = parse(out.data, out.len);
	fuzz_require(str_eq(fti_ini_get(is, v->section, v->key), v->value));
	compare(was, is, "basic", "node_size");
	compare(was, is, "0", "ckpt_file_name");
	while (head < size && head < out.len &&
	       data[head] == (uint8_t)out.data[head])
		head++;
	while (tail < size - head && tail < out.len - head &&
	       data[size - 1 - tail] == (uint8_t)out.data[out.len - 1 - tail])
		tail++;
	/* What differs is one value, or a new line: section, key and value. */
	fuzz_require(out.len - head - tail <= 80);
}

FUZZ(fti_ini)
{
	const struct fti_ini_value set = { "restart", "failure", "3", false };
	struct fti_ini *ini = parse(data, size);
	struct fti_config c;
	auto_buf path = BUF_INIT;

	for (size_t i = 0; fti_ini_section(ini, i) != NULL; i++)
		fuzz_require(strchr(fti_ini_section(ini, i), '\n') == NULL);
	check_edit(ini, data, size, &set);
	if (fti_config_take(&c, ini, NULL) == 0) {
		fuzz_require(c.group_size <= 31 && c.node_size != 0);
		if (c.ckpt_dir != NULL &&
		    fti_config_beneath(c.ckpt_dir, &path, NULL) == 0)
			fuzz_require(str_eq(path.data, ".") ||
				     path_is_clean(path.data));
	}
	fti_config_close(&c);
}

/* The journal of a restart: whatever it says, all paths stay below the root,
 * and what is renamed goes to directories of our own. */

static void
check(const struct fti_rewind *r)
{
	fuzz_require(path_is_clean(r->exec) && strchr(r->exec, '/') == NULL);
	fuzz_require(r->level >= FTI_L1 && r->level <= FTI_L4);
	fuzz_require(r->config == NULL || path_is_clean(r->config));
	fuzz_require((r->config == NULL) == (r->backup == NULL));
	for (size_t i = 0; i < r->count; i++) {
		const struct fti_step *s = &r->steps[i];
		const bool own = strstr(s->to, FTI_OURS "hidden.1/") != NULL;

		fuzz_require(path_is_clean(s->to));
		fuzz_require((s->from == NULL) == (s->kind == FTI_STEP_MAKE));
		fuzz_require(s->from == NULL || path_is_clean(s->from));
		fuzz_require(own || s->kind != FTI_STEP_HIDE);
		fuzz_require(s->size <= INT64_MAX);
	}
}

FUZZ(fti_journal)
{
	struct fti_rewind r = {
		.fd = -1,
		.root = "fuzz",
		.number = 1,
		.arena = arena_new(),
	};

	fuzz_require(r.arena != NULL);
	if (fti_rewind_parse(&r, (const char *)data, size, NULL) == 0)
		check(&r);
	fti_rewind_free(&r);
}

/* Metadata of FTI's POSIX checkpoints, with a data file of 4096 bytes:
 * variables lie in the file; what was written and read again is the same. */

static const char zeros[4096];

static void
look_at_file(const struct fti_posix_file *f)
{
	struct fti_checked checked[2] = { { .posix = f },
					  { .posix = f, .parity = true } };
	auto_fti_content c;
	struct fti_source s;

	fti_source_memory(&s, zeros, sizeof(zeros), "fuzz");
	checked[0].source = checked[1].source = &s;
	fuzz_require(fti_check(checked, 2, true, NULL, NULL) == 0);
	fuzz_require(checked[0].verdict == FTI_INTACT ||
		     checked[0].file->nfindings > 0);
	fti_checked_fini(&checked[0]);
	fti_checked_fini(&checked[1]);
	if (fti_content_posix(&c, f, &s, NULL) == 0) {
		char last = 0;

		for (size_t i = 0; i < c.nvars; i++)
			if (c.vars[i].size > 0)
				fuzz_require(
					fti_content_read(&c, &c.vars[i], &last,
							 1, c.vars[i].size - 1,
							 NULL) == 0);
	}
}

/* What is written by us is read as the same. */
static void
check_print(const struct fti_posix *p)
{
	struct buf one = BUF_INIT, two = BUF_INIT;
	auto_fti_posix *again = NULL;

	if (fti_posix_print(p, &one, NULL) == 0) {
		again = fti_posix_parse("fuzz", one.data, one.len, NULL);
		fuzz_require(again != NULL && again->nfiles == p->nfiles &&
			     fti_posix_print(again, &two, NULL) == 0);
		fuzz_same(&one, &two);
	}
	buf_free(&one);
}

FUZZ(fti_posix)
{
	struct fti_posix *p = fti_posix_parse("fuzz", data, size, NULL);

	if (p == NULL)
		return;
	for (size_t i = 0; i < p->nfiles; i++)
		look_at_file(&p->files[i]);
	check_print(p);
	fti_posix_free(p);
}

/* Writing FTI-FF files from any bytes: what is proven becomes an intact file
 * with the same variables, in each layout and repaired; headers of NumPy
 * files. */

/* Larger files, with reserved bytes, are only planned. */
#define LARGEST ((uint64_t)1 << 20)

static bool
same_vars(const struct fti_content *a, const struct fti_content *b)
{
	char x[256], y[256];

	if (a->nvars != b->nvars)
		return false;
	for (size_t i = 0; i < a->nvars; i++) {
		const struct fti_content_var *v = &a->vars[i];
		const struct fti_content_var *w = fti_content_var(b, v->id);

		if (w == NULL || w->size != v->size)
			return false;
		for (uint64_t at = 0; at < v->size; at += sizeof(x)) {
			const size_t n = v->size - at < sizeof(x)
						 ? (size_t)(v->size - at)
						 : sizeof(x);

			fuzz_require(
				fti_content_read(a, v, x, n, at, NULL) == 0 &&
				fti_content_read(b, w, y, n, at, NULL) == 0);
			if (memcmp(x, y, n) != 0)
				return false;
		}
	}
	return true;
}

static void
check_image(const struct buf *image, enum fti_layout layout,
	    const struct fti_content *want)
{
	struct fti_source s;
	struct fti_checked c = { .source = &s };
	struct fti_content content;

	fti_source_memory(&s, image->data, image->len, "image");
	c.file = fti_file_read(&s, layout, NULL);
	fuzz_require(c.file != NULL && fti_check(&c, 1, true, NULL, NULL) == 0);
	fuzz_require(c.verdict == FTI_INTACT && c.file->layout == layout);
	fuzz_require(fti_content_file(&content, c.file, &s, NULL) == 0);
	fuzz_require(same_vars(want, &content));
	fti_content_fini(&content);
	fti_checked_fini(&c);
	fti_file_free(c.file);
}

static void
write_draft(struct fti_draft *d, const struct fti_content *want)
{
	auto_buf image = BUF_INIT;

	if (d->ckpt_id < 0)
		d->ckpt_id = 1;
	if (fti_draft_plan(d, NULL) == 0 && d->size <= LARGEST) {
		ftitest_image(d, &image);
		check_image(&image, d->layout, want);
	}
}

static void
write_all(const struct fti_checked *c, const struct fti_content *content)
{
	auto_fti_draft d;

	for (int l = 0; l < FTI_LAYOUTS; l++) {
		if (fti_describe_same(&d, c, (enum fti_layout)l, NULL) == 0)
			write_draft(&d, content);
		fti_draft_fini(&d);
		if (fti_describe_compact(&d, content, 10, (enum fti_layout)l,
					 NULL) == 0)
			write_draft(&d, content);
		fti_draft_fini(&d);
	}
	if (fti_describe_repair(&d, c, NULL) == 0)
		write_draft(&d, content);
}

FUZZ(fti_write)
{
	struct fti_source s;
	struct fti_checked c = { .source = &s };
	struct fti_content content;
	uint64_t at = 0;

	fti_source_memory(&s, data, size, "fuzz");
	if (fti_npy_read(&s, &at, NULL) == 0)
		fuzz_require(at <= size);
	c.file = fti_file_read(&s, FTI_LAYOUTS, NULL);
	fuzz_require(c.file != NULL && fti_check(&c, 1, true, NULL, NULL) == 0);
	if (fti_proven(&c, NULL) == 0) {
		fuzz_require(fti_content_file(&content, c.file, &s, NULL) == 0);
		write_all(&c, &content);
		fti_content_fini(&content);
	} else {
		auto_fti_draft d;

		fuzz_require(fti_describe_repair(&d, &c, NULL) < 0);
	}
	fti_checked_fini(&c);
	fti_file_free(c.file);
}
