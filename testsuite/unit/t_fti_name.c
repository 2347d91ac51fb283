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

/* Names of no kind. */
static const char *const others[] = {
	"Ckpt3-Rank0.fti~",
	"Ckpt-Rank0.fti",
	"Ckpt03-Rank0.fti",
	"Ckpt3-Rank.fti",
	"Ckpt-1-Rank0.fti",
	"ckpt3-rank0.fti",
	"node0",
	"Ckpt2147483648-Rank0.fti",
	"Ckpt99999999999999999999999-Rank0.fti",
};

static void
test_parts(void)
{
	struct fti_name n = fti_name_parse("Ckpt12-Pcof345.fti");
	uint32_t node = 0;

	ok(n.kind == FTI_NAME_COPY && n.id == 12 && n.rank == 345,
	   "id and rank");
	n = fti_name_parse("sector5-group6.fti");
	ok(n.sector == 5 && n.rank == 6, "sector and group");
	ok(fti_level_parse("l3") == FTI_L3 &&
		   fti_level_parse("L3") == FTI_NO_LEVEL &&
		   fti_level_parse(fti_level_dir(FTI_ARCHIVE)) == FTI_ARCHIVE,
	   "directories of levels");
	ok(fti_name_node("node17", &node) && node == 17 &&
		   !fti_name_node("node", &node) &&
		   !fti_name_node("node017", &node),
	   "directories of nodes");
}

int
main(void)
{
	char text[128];

	each (t, names) {
		const size_t len = strlen(*t);
		bool cut = true, changed = true;

		for (size_t n = 0; n < len; n++) {
			snprintf(text, sizeof(text), "%.*s", (int)n, *t);
			cut = cut &&
			      fti_name_parse(text).kind == FTI_NAME_OTHER;
		}
		for (size_t n = 0; n < 255 * len; n++) {
			strcpy(text, *t);
			text[n / 255] ^= (char)(n % 255 + 1);
			changed = changed && holds(text);
		}
		ok(fti_name_parse(*t).kind != FTI_NAME_OTHER && holds(*t), *t);
		ok(cut, fmt("%s: each truncation", *t));
		ok(changed, fmt("%s: each changed byte", *t));
	}
	each (o, others)
		ok(fti_name_parse(*o).kind == FTI_NAME_OTHER, *o);
	test_parts();
	return tap_done();
}
