/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replay.c - main() for a fuzz target without a fuzzer: runs the target on each
 * given file, or each file of the given directories, and prints TAP.  A target
 * that does not crash passes.
 *
 * Every file is tried whole, cut at each byte, and with each bit flipped, in an
 * exact allocation; of large files some TRIES of each, spread evenly.
 */
#include "fuzz_tree.h"

#define TRIES 800

/* Run the target on the first `size` bytes of `data`. */
static void
try(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size > 0 ? size : 1);

	if (exact == NULL)
		abort();
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static void
replay_file(const char *path, size_t size)
{
	uint8_t *data = malloc(size > 0 ? size : 1);
	FILE *f = fopen(path, "rb");
	size_t got = 0;

	if (data == NULL || f == NULL) {
		ok(false, path);
		printf("# %s\n", strerror(errno));
	} else {
		got = fread(data, 1, size, f);
		try(data, got);
		for (size_t at = 0; at < got; at += 1 + got / TRIES)
			try(data, at);
		for (size_t at = 0; at < 8 * got; at += 8 * got / TRIES | 1) {
			data[at / 8] ^= (uint8_t)(1 << at % 8);
			try(data, got);
			data[at / 8] ^= (uint8_t)(1 << at % 8);
		}
		ok(got == size, path);
	}
	if (f != NULL)
		fclose(f);
	free(data);
}

static int
visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void
replay(const char *path)
{
	struct dirent **entries = NULL;
	struct stat st;
	char below[4096];
	int n = 0;

	if (stat(path, &st) < 0) {
		ok(false, path);
		printf("# %s\n", strerror(errno));
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		replay_file(path, (size_t)st.st_size);
		return;
	}
	n = scandir(path, &entries, visible, alphasort);
	ok(n > 0, "the corpus has files");
	for (int i = 0; i < n; i++) {
		snprintf(below, sizeof(below), "%s/%s", path,
			 entries[i]->d_name);
		replay(below);
		free(entries[i]);
	}
	free(entries);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	return tap_done();
}
