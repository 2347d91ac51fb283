/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layers of FTI's differential checkpoints.  The input is the metadata, a NUL
 * byte, and the file.
 */
#include "fti/check.h"
#include "fti/dcp.h"
#include "ftibytes.h"
#include "fuzz_tree.h"

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
look_at_file(const struct fti_posix_file *f, const struct fti_source *s)
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
	const size_t len = nul != NULL ? (size_t)(nul - data) : size;
	struct fti_posix *p = fti_posix_parse("fuzz", data, len, NULL);
	struct fti_source s;

	if (p == NULL)
		return 0;
	fti_source_memory(&s, nul != NULL ? nul + 1 : data,
			  nul != NULL ? size - len - 1 : 0, "fuzz");
	for (size_t i = 0; i < p->nfiles; i++)
		look_at_file(&p->files[i], &s);
	fti_posix_free(p);
	return 0;
}
