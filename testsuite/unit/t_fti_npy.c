/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of NumPy's files: types, shapes. */
#include "fti/npy.h"

#include "fti/posix.h"
#include "scratch.h"

TEST(parse)
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

TEST(recorded)
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

TEST(header)
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
TEST(align)
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

TEST(no_memory)
{
	without_memory (m, 2, "each allocation fails") {
		auto_buf out = BUF_INIT;
		struct fti_dtype t = { .text = "|u1", .size = 1 };

		m.rc = fti_npy_header(&t, 100, NULL, &out, &m.err);
	}
}
