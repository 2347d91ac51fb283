/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metadata of FTI's POSIX checkpoints, with a data file of 4096 bytes:
 * variables lie in the file; what was written and read again is the same.
 */
#include "fti/check.h"
#include "fti/file.h"
#include "ftibytes.h"
#include "fuzz_tree.h"

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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fti_posix *p = fti_posix_parse("fuzz", data, size, NULL);

	if (p == NULL)
		return 0;
	for (size_t i = 0; i < p->nfiles; i++)
		look_at_file(&p->files[i]);
	check_print(p);
	fti_posix_free(p);
	return 0;
}
