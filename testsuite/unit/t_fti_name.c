/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of FTI's files: whole and bounded, whatever the bytes. */
#include "fti/name.h"

#include "scratch.h"
#include "str.h"

static const char *const names[] = {
	"Ckpt3-Rank0.fti",
	"Ckpt12-Pcof345.fti",
	"Ckpt1-RSed7.fti",
	"dCPFile-Rank2.fti",
	"dcp-id0-rank1.fti",
	"sector1-group11.fti",
	"Ckpt2147483647-Rank2147483647.fti",
	"Topology.fti",
	"Checkpoint.fti",
};

/* A name of no kind, or one that is the same when it is written again. */
static bool
holds(const char *name)
{
	const struct fti_name n = fti_name_parse(name);
	char text[FTI_NAME_MAX];

	return n.kind == FTI_NAME_OTHER ||
	       (str_eq(fti_name_format(&n, text), name) && n.id <= INT32_MAX &&
		n.rank <= INT32_MAX && n.sector <= INT32_MAX);
}

int
main(void)
{
	char text[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const size_t len = strlen(names[i]);
		bool cut = true, changed = true;

		for (size_t n = 0; n < len; n++) {
			snprintf(text, sizeof(text), "%.*s", (int)n, names[i]);
			cut = cut &&
			      fti_name_parse(text).kind == FTI_NAME_OTHER;
		}
		for (size_t n = 0; n < 255 * len; n++) {
			strcpy(text, names[i]);
			text[n / 255] ^= (char)(n % 255 + 1);
			changed = changed && holds(text);
		}
		ok(fti_name_parse(names[i]).kind != FTI_NAME_OTHER &&
			   holds(names[i]),
		   names[i]);
		ok(cut, fmt("%s: each truncation", names[i]));
		ok(changed, fmt("%s: each changed byte", names[i]));
	}
	return tap_done();
}
