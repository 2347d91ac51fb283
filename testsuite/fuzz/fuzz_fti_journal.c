/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal of a restart: whatever it says, all paths stay below the root,
 * and what is renamed goes to directories of our own.
 */
#include "ftijob/rewind.h"
#include "fuzz_tree.h"

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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
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
	return 0;
}
