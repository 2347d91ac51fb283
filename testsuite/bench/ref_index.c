/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_index - the reference for listing an index: read the file, verify its
 * checksum, walk the bytes once, and print a line for each checkpoint in the
 * order of the file.  No tree, no look-up, no error handling.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common.h"

static void
skip_tree(void)
{
	for (uint32_t n = count(); n > 0; n--) {
		key();
		skip_tree();
	}
}

/* The only child of a key: its value. */
static const char *
value(void)
{
	const char *v = "";

	for (uint32_t n = count(); n > 0; n--) {
		v = key();
		skip_tree();
	}
	return v;
}

static void
descriptor(const char **name, bool *ckpt)
{
	for (uint32_t n = count(); n > 0; n--) {
		const char *k = key();

		if (strcmp(k, "NAME") == 0)
			*name = value();
		else if (strcmp(k, "FLAG_CKPT") == 0)
			*ckpt = value()[0] == '1';
		else
			skip_tree();
	}
}

static void
dataset(const char *id)
{
	const char *name = "", *flushed = "", *complete = "", *failed = "";
	bool ckpt = false;

	for (uint32_t n = count(); n > 0; n--) {
		const char *k = key();

		if (strcmp(k, "DSET") == 0)
			descriptor(&name, &ckpt);
		else if (strcmp(k, "FLUSHED") == 0)
			flushed = value();
		else if (strcmp(k, "COMPLETE") == 0)
			complete = value();
		else if (strcmp(k, "FAILED") == 0)
			failed = value();
		else
			skip_tree();
	}
	if (ckpt)
		printf("%4s %s %-19s     %s\n", id,
		       complete[0] == '1' && !failed[0] ? "YES  " : "NO   ",
		       flushed, name);
}

int
main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	read_tree(AT_FDCWD, argv[1]);
	puts("DSET VALID FLUSHED             CUR NAME");
	for (uint32_t n = count(); n > 0; n--) {
		bool dsets = strcmp(key(), "DSET") == 0;

		if (!dsets) {
			skip_tree();
			continue;
		}
		for (uint32_t m = count(); m > 0; m--) {
			const char *id = key();

			dataset(id);
		}
	}
	return 0;
}
