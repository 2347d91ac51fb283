/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "fti/layout.h"
#include "scratch.h"

static bool
same_fields(const struct fti_format *f, int first, int last, const void *a,
	    const void *b)
{
	bool same = true;

	for (int k = first; k <= last; k++)
		same = same && memcmp((const char *)a + f->fields[k].at,
				      (const char *)b + f->fields[k].at,
				      f->fields[k].size) == 0;
	return same;
}

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
	fti_record_read(l, FTI_META, was, &m);
	fti_record_write(l, FTI_META, &m, is);
	same = same_fields(f, FTI_CHECKSUM, FTI_TIMESTAMP, was, is);
	fti_record_read(l, FTI_BLOCK, was, &b);
	fti_record_write(l, FTI_BLOCK, &b, is);
	same = same && memcmp(was, is, f->block) == 0;
	fti_record_read(l, FTI_CONTAINER, was, &c);
	fti_record_write(l, FTI_CONTAINER, &c, is);
	same = same && same_fields(f, FTI_ID, FTI_CHUNK_HASH, was, is);
	ok(same, fmt("%s: records are the same after a round trip", f->letter));
}

static void
test_fields(void)
{
	unsigned char record[FTI_META_MAX] = { 0 };
	enum fti_layout l = FTI_A;

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
	ok(fti_layout_parse("e", &l, &why) == 0 && l == FTI_E, "a letter");
	refuses(fti_layout_parse("G", &l, &why), ERROR_USAGE, NULL,
		"another one");
	ok(fti_layout_parse("", &l, &why) < 0 &&
		   fti_layout_parse("AB", &l, &why) < 0,
	   "none, two");
}

int
main(void)
{
	for (int l = 0; l < FTI_LAYOUTS; l++)
		round_trip((enum fti_layout)l);
	test_fields();
	return tap_done();
}
