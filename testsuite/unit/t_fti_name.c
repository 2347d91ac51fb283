/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of FTI's files, whole and bounded, whatever the bytes; records in all
 * layouts; headers of NumPy's files; where files of archives belong. */
#include "fti/layout.h"
#include "fti/name.h"
#include "fti/npy.h"
#include "fti/posix.h"
#include "ftijob/archive.h"
#include "scratch.h"

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

TEST(parts)
{
	struct fti_name n = fti_name_parse("Ckpt12-Pcof345.fti");
	uint32_t node = 0;

	ok(n.kind == FTI_NAME_COPY && n.id == 12 && n.rank == 345,
	   "id and rank");
	n = fti_name_parse("sector5-group6.fti");
	ok(n.sector == 5 && n.rank == 6, "sector and group");
	ok(fti_level_parse("l3") == FTI_L3 &&
		   fti_level_parse("L3") == FTI_NO_LEVEL &&
		   fti_level_of("l2/f") == FTI_L2 &&
		   fti_level_of("/l1/e/l4//f") == FTI_NO_LEVEL &&
		   fti_level_of("/e/l4/f") == FTI_L4 &&
		   fti_level_of("/f") == FTI_NO_LEVEL &&
		   fti_level_of("l2") == FTI_NO_LEVEL &&
		   fti_level_parse(fti_levels[FTI_ARCHIVE].dir) == FTI_ARCHIVE,
	   "directories of levels");
	ok(fti_name_node("node17", &node) && node == 17 &&
		   !fti_name_node("node", &node) &&
		   !fti_name_node("node017", &node),
	   "directories of nodes");
}

TEST(names)
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
}

/* --- Layouts --- */

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

TEST(layouts)
{
	unsigned char record[FTI_META_MAX] = { 0 };
	enum fti_layout l = FTI_A;

	for (int i = 0; i < FTI_LAYOUTS; i++)
		round_trip((enum fti_layout)i);
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

/* --- NumPy --- */

TEST(npy_parse)
{
	static const struct {
		const char *text, *is;
		uint32_t size;
	} good[] = {
		{ "f8", "<f8", 8 },    { "<f8", "<f8", 8 },
		{ ">i4", ">i4", 4 },   { "=u2", "<u2", 2 },
		{ "u1", "|u1", 1 },    { "|i1", "|i1", 1 },
		{ "c16", "<c16", 16 }, { "V24", "|V24", 24 },
		{ "S5", "|S5", 5 },    { "b1", "|b1", 1 },
		{ "f16", "<f16", 16 },
	};
	static const char *const bad[] = {
		"",  "f",  "8",	  "f3", "i16", "u0",	 "x8",	    "f8 ",
		"<", "<<", "f-8", "b2", "V0",  "V65536", "float64", "i4'",
	};

	each (g, good) {
		struct fti_dtype t;

		ok(fti_dtype_parse(g->text, &t, NULL) == 0 &&
			   strcmp(t.text, g->is) == 0 && t.size == g->size,
		   g->text);
	}
	each (b, bad) {
		struct fti_dtype t;

		refuses(fti_dtype_parse(*b, &t, &why), ERROR_USAGE, NULL, *b);
	}
}

TEST(npy_recorded)
{
	static const struct {
		int32_t type, size;
		const char *is;
	} cases[] = {
		{ 0, 1, "|i1" },    { 1, 2, "<i2" }, { 2, 4, "<i4" },
		{ 3, 8, "<i8" },    { 4, 1, "|u1" }, { 7, 8, "<u8" },
		{ 8, 4, "<f4" },    { 9, 8, "<f8" }, { 10, 16, "<f16" },
		{ 11, 24, "|V24" }, { 2, 3, "|V3" }, { -1, 4, "|V4" },
		{ 2, -1, "|u1" },   { 2, 0, "|u1" }, { 9, 70000, "|u1" },
	};
	struct fti_dtype t;

	each (c, cases) {
		const struct fti_posix_var v = { .type = c->type,
						 .type_size = c->size };

		fti_dtype_recorded(&v, &t);
		is_str(t.text, c->is, "a recorded type");
	}
	fti_dtype_recorded(NULL, &t);
	is_str(t.text, "|u1", "none is recorded");
}

TEST(npy_header)
{
	uint64_t dims[] = { 3, 4, 5 };
	struct fti_posix_var v = { .ndims = 3, .dims = dims };
	struct fti_dtype t;
	auto_buf out = BUF_INIT;

	must(fti_dtype_parse("f8", &t, NULL) == 0);
	must(fti_npy_header(&t, 480, &v, &out, NULL) == 0);
	ok(out.len == 128 &&
		   memcmp(out.data, "\x93NUMPY\x01\x00\x76\x00", 10) == 0 &&
		   out.data[127] == '\n' &&
		   strstr(out.data + 10,
			  "{'descr': '<f8', 'fortran_order': False, "
			  "'shape': (3, 4, 5), }") == out.data + 10,
	   "three dimensions");
	buf_clear(&out);
	must(fti_npy_header(&t, 488, &v, &out, NULL) == 0);
	ok(strstr(out.data + 10, "'shape': (61,), }") != NULL,
	   "dimensions that do not fit");
	buf_clear(&out);
	v.ndims = 1;
	must(fti_npy_header(&t, 24, &v, &out, NULL) == 0);
	ok(strstr(out.data + 10, "'shape': (3,), }") != NULL, "one dimension");
	buf_clear(&out);
	must(fti_npy_header(&t, 0, NULL, &out, NULL) == 0);
	ok(strstr(out.data + 10, "'shape': (0,), }") != NULL, "no bytes");
	dims[0] = UINT64_MAX;
	v.ndims = 3;
	buf_clear(&out);
	must(fti_npy_header(&t, 8, &v, &out, NULL) == 0);
	ok(strstr(out.data + 10, "'shape': (1,), }") != NULL,
	   "dimensions that overflow");
	refuses(fti_npy_header(&t, 9, NULL, &out, &why), ERROR_USAGE, NULL,
		"half an element");
}

/* Any number of dimensions: the data begin at a multiple of 64. */
TEST(npy_align)
{
	uint64_t dims[64];
	bool all = true;

	for (uint32_t n = 0; n <= 64; n++) {
		struct fti_posix_var v = { .ndims = n, .dims = dims };
		struct fti_dtype t;
		auto_buf out = BUF_INIT;
		size_t len = 0;

		for (uint32_t i = 0; i < n; i++)
			dims[i] = 1;
		must(fti_dtype_parse("u1", &t, NULL) == 0);
		must(fti_npy_header(&t, 1, &v, &out, NULL) == 0);
		len = (unsigned char)out.data[8] +
		      256u * (unsigned char)out.data[9];
		all = all && out.len % 64 == 0 && out.len == len + 10 &&
		      out.data[out.len - 1] == '\n' &&
		      memchr(out.data + 10, '\n', len - 1) == NULL;
	}
	ok(all, "data are aligned");
}

/* --- Archives --- */

static const char *const homes[][2] = {
	/* our archive, below the directory, or the directory of a job */
	{ "fti_archive/e/Ckpt_4/Global/e/l4/Ckpt4-Rank0.fti",
	  "Global/e/l4/Ckpt4-Rank0.fti" },
	{ "job/fti_archive/e/Ckpt_4/Meta/e/l4/sector0-group0.fti",
	  "job/Meta/e/l4/sector0-group0.fti" },
	/* elsewhere, and one checkpoint alone */
	{ "e/Ckpt_12/Global/e/l4/Ckpt12-Rank0.fti",
	  "Global/e/l4/Ckpt12-Rank0.fti" },
	{ "Ckpt_4/Global/e/l4/Ckpt4-Rank0.fti", "Global/e/l4/Ckpt4-Rank0.fti" },
	/* FTI's own */
	{ "Global/e/l4_archive/Ckpt1-Rank0.fti",
	  "Global/e/l4/Ckpt1-Rank0.fti" },
	{ "Meta/e/l4_archive/Ckpt_1/sector0-group0.fti",
	  "Meta/e/l4/sector0-group0.fti" },
	/* a backup */
	{ "Global/e/l4/Ckpt1-Rank0.fti", "Global/e/l4/Ckpt1-Rank0.fti" },
	/* no number */
	{ "Ckpt_x/l4/Ckpt1-Rank0.fti", "Ckpt_x/l4/Ckpt1-Rank0.fti" },
	{ "Ckpt_04/l4/Ckpt1-Rank0.fti", "Ckpt_04/l4/Ckpt1-Rank0.fti" },
};

TEST(homes)
{
	auto_arena *a = arena_new();

	for (size_t i = 0; i < COUNT(homes); i++) {
		const char *home = fti_archive_home(homes[i][0], a);

		ok(home != NULL && str_eq(home, homes[i][1]),
		   fmt("%s: %s", homes[i][0], home));
	}
}
