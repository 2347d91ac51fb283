/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FTI-FF files: any bytes are read and judged; the variables of a file that is
 * usable can be read, and lie in the file.
 */
#include "fti/check.h"
#include "fti/file.h"
#include "ftibytes.h"
#include "fuzz_tree.h"

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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fti_source s;

	fti_source_memory(&s, data, size, "fuzz");
	for (int l = 0; l <= FTI_LAYOUTS; l++)
		look_at(&s, (enum fti_layout)l, l == FTI_LAYOUTS);
	return 0;
}
