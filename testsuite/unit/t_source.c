/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/source.h"

#include "scratch.h"
#include "team/redundancy.h"

#define FILES 70 /* more than are kept open */

static char names[FILES][128];
static struct redundancy_file files[FILES];
static char all[FILES * FILES];
static size_t total;

/* File i has i bytes, every fifth none. */
TEST(make_files)
{
	scratch_new();
	for (size_t i = 0; i < FILES; i++) {
		const size_t len = i % 5 == 0 ? 0 : i;

		for (size_t k = 0; k < len; k++)
			all[total + k] = (char)(i * 31 + k * 7);
		snprintf(names[i], sizeof(names[i]), "%s/file.%zu",
			 scratch_root, i);
		files[i].path = names[i];
		files[i].attr.size = len;
		write_file(files[i].path, all + total, len);
		total += len;
	}
}

/* Read the string in pieces of `step`, the last one first if `back`. */
static bool
reads(struct source *s, size_t step, bool back)
{
	const size_t pieces = (total + step - 1) / step;
	char data[sizeof(all)];
	size_t at = 0;

	for (size_t i = 0; i < pieces; i++) {
		const size_t from = (back ? pieces - 1 - i : i) * step;
		const size_t len = total - from < step ? total - from : step;

		if (source_read(s, from, data + from, len, NULL) < 0)
			return false;
	}
	if (memcmp(data, all, total) != 0)
		return false;
	for (size_t i = 0; i < FILES; at += files[i++].attr.size)
		if (files[i].crc != crc_update(0, all + at, files[i].attr.size))
			return false;
	return true;
}

TEST(order)
{
	static const size_t steps[] = { 1, 7, 64, 1000, sizeof(all) };
	struct source s;

	each (t, steps)
		for (int back = 0; back < 2; back++) {
			ok(source_open(&s, files, FILES, NULL) == 0 &&
				   source_bytes(&s) == total &&
				   reads(&s, *t, back != 0),
			   fmt("pieces of %zu%s", *t,
			       back ? ", backwards" : ""));
			source_close(&s);
		}
}

TEST(errors)
{
	struct source s;
	char data[256];

	ok(source_open(&s, files, 0, &why) == 0 && source_bytes(&s) == 0 &&
		   source_read(&s, 0, data, 0, &why) == 0,
	   "no files");
	source_close(&s);
	must(source_open(&s, files, FILES, NULL) == 0 &&
	     truncate(files[8].path, 3) == 0 && unlink(files[9].path) == 0);
	refuses(source_read(&s, 0, data, 40, &why), ERROR_CORRUPT, "file.8",
		"a file that got shorter");
	refuses(source_read(&s, 31, data, 9, &why), ERROR_ABSENT, "file.9",
		"a file that is gone");
	source_close(&s);
	mem_fail_after(0);
	refuses(source_open(&s, files, FILES, &why), ERROR_NOMEM, NULL,
		"no memory");
	mem_fail_after(-1);
	source_close(&s);
}
