/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fti/layout.h"
#include "fti/name.h"
#include "scratch.h"
#include "tap.h"

/* --- Records --- */

/* All records of a layout, filled with bytes that differ, are the same after
 * they were read and written, but for bytes of no field. */
static void
round_trip(enum fti_layout l)
{
	const struct fti_format *f = fti_format(l);
	unsigned char was[FTI_META_MAX], is[FTI_META_MAX];
	struct fti_meta m;
	struct fti_block b;
	struct fti_container c;
	bool same = true;

	for (unsigned i = 0; i < sizeof(was); i++)
		was[i] = (unsigned char)(7 * i + 1);
	fti_meta_read(l, was, &m);
	fti_meta_write(l, &m, is);
	for (int k = FTI_CHECKSUM; k <= FTI_TIMESTAMP; k++)
		same = same &&
		       memcmp(was + f->fields[k].at, is + f->fields[k].at,
			      f->fields[k].size) == 0;
	fti_block_read(l, was, &b);
	fti_block_write(l, &b, is);
	same = same && memcmp(was, is, f->block) == 0;
	fti_container_read(l, was, &c);
	fti_container_write(l, &c, is);
	for (int k = FTI_ID; k <= FTI_CHUNK_HASH; k++)
		same = same &&
		       memcmp(was + f->fields[k].at, is + f->fields[k].at,
			      f->fields[k].size) == 0;
	ok(same, fmt("%s: records are the same after a round trip", f->letter));
}

static void
test_fields(void)
{
	unsigned char record[FTI_META_MAX] = { 0 };
	enum fti_layout l = FTI_A;
	struct error err = ERROR_INIT;

	memset(record, 0xff, sizeof(record));
	is_int(fti_get(FTI_F, FTI_MAX_FS, record), -1, "a negative size");
	is_int(fti_get(FTI_E, FTI_MAX_FS, record), -1, "also of 32 bits");
	is_int(fti_get(FTI_F, FTI_TIMESTAMP, record), UINT32_MAX,
	       "a time is not negative");
	is_int(fti_get(FTI_A, FTI_CKPT_ID, record), -1, "a field that is not");
	ok(!fti_has(FTI_A, FTI_CKPT_ID) && fti_has(FTI_B, FTI_HASCKPT),
	   "which layout has which");
	ok(fti_fits(FTI_E, FTI_FS, INT32_MAX) &&
		   !fti_fits(FTI_E, FTI_FS, (uint64_t)INT32_MAX + 1) &&
		   fti_fits(FTI_F, FTI_FS, (uint64_t)INT32_MAX + 1),
	   "what fits");
	ok(fti_layout_parse("e", &l, &err) == 0 && l == FTI_E, "a letter");
	ok(fti_layout_parse("G", &l, &err) < 0 && err.kind == ERROR_USAGE,
	   "another one");
	ok(fti_layout_parse("", &l, &err) < 0 &&
		   fti_layout_parse("AB", &l, &err) < 0,
	   "none, two");
}

/* --- Names --- */

static void
test_names(void)
{
	static const char *const good[] = {
		"Ckpt3-Rank0.fti",   "Ckpt12-Pcof345.fti",
		"Ckpt1-RSed7.fti",   "dCPFile-Rank2.fti",
		"dcp-id0-rank1.fti", "sector0-group11.fti",
		"Topology.fti",	     "Checkpoint.fti",
	};
	static const char *const bad[] = {
		"",
		"Ckpt3-Rank0.ft",
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
	char text[FTI_NAME_MAX];
	struct fti_name n;
	uint32_t node = 0;
	bool all = true;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		n = fti_name_parse(good[i]);
		all = all && n.kind != FTI_NAME_OTHER &&
		      strcmp(fti_name_format(&n, text), good[i]) == 0;
	}
	ok(all, "names, and back");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		all = all && fti_name_parse(bad[i]).kind == FTI_NAME_OTHER;
	ok(all, "others");
	n = fti_name_parse("Ckpt12-Pcof345.fti");
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
	for (int l = 0; l < FTI_LAYOUTS; l++)
		round_trip((enum fti_layout)l);
	test_fields();
	test_names();
	return tap_done();
}
