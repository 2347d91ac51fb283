/* SPDX-License-Identifier: BSD-3-Clause */
#include "team/source.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "crc.h"
#include "error.h"
#include "mem.h"
#include "nomem.h"
#include "tap.h"
#include "team/redundancy.h"

#define FILES 70 /* more than are kept open */

static char names[FILES][32];
static struct redundancy_file files[FILES];
static char all[FILES * FILES];
static size_t total;

/* File i has i bytes, every fifth none. */
static void
make_files(void)
{
	for (size_t i = 0; i < FILES; i++) {
		const size_t len = i % 5 == 0 ? 0 : i;
		FILE *f = NULL;

		snprintf(names[i], sizeof(names[i]), "file.%zu", i);
		f = fopen(names[i], "w");
		for (size_t k = 0; k < len; k++)
			all[total + k] = (char)(i * 31 + k * 7);
		fwrite(all + total, 1, len, f);
		fclose(f);
		files[i].path = names[i];
		files[i].attr.size = len;
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

static void
test_order(void)
{
	static const size_t steps[] = { 1, 7, 64, 1000, sizeof(all) };
	struct source s;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		for (int back = 0; back < 2; back++) {
			char what[64];

			snprintf(what, sizeof(what), "pieces of %zu%s",
				 steps[i], back ? ", backwards" : "");
			ok(source_open(&s, files, FILES, NULL) == 0 &&
				   source_bytes(&s) == total &&
				   reads(&s, steps[i], back != 0),
			   what);
			source_close(&s);
		}
}

static void
test_errors(void)
{
	struct error err = ERROR_INIT;
	struct source s;
	char data[256];

	ok(source_open(&s, files, 0, &err) == 0 && source_bytes(&s) == 0 &&
		   source_read(&s, 0, data, 0, &err) == 0,
	   "no files");
	source_close(&s);
	(void)source_open(&s, files, FILES, &err);
	is_int(truncate(names[8], 3), 0, "a file gets shorter");
	is_int(source_read(&s, 0, data, 40, &err), -1, "... it is not read");
	is_int(err.kind, ERROR_CORRUPT, err.text);
	unlink(names[9]);
	is_int(source_read(&s, 28, data, 20, &err), -1, "a file that is gone");
	source_close(&s);
	mem_fail_after(0);
	is_int(source_open(&s, files, FILES, &err), -1, "no memory");
	mem_fail_after(-1);
	is_int(err.kind, ERROR_NOMEM, err.text);
	source_close(&s);
}

int
main(void)
{
	const char *dir = getenv("TMPDIR");

	if (dir == NULL || chdir(dir) < 0)
		return 1;
	make_files();
	test_order();
	test_errors();
	for (size_t i = 0; i < FILES; i++)
		unlink(names[i]);
	return tap_done();
}
