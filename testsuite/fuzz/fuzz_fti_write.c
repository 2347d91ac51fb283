/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing FTI-FF files from any bytes: what is proven becomes an intact file
 * with the same variables, in each layout and repaired; headers of NumPy files.
 */
#include "fti/change.h"
#include "fti/draft.h"
#include "fti/npy.h"
#include "ftibytes.h"
#include "ftitest.h"
#include "fuzz_tree.h"

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
	struct fti_change *list = NULL;
	size_t count = 0;
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
	if (fti_describe_repair(&d, c, NULL) == 0) {
		write_draft(&d, content);
		fuzz_require(fti_changes(c, &d, &list, &count, NULL) == 0);
	}
	mem_free(list);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
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
	return 0;
}
