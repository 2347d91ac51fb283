/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_scan - the reference for `scr_index --build` of a whole dataset: read
 * every filemap and stat every file in it.
 *
 *   ref_scan DATASET-DIRECTORY OLD-PREFIX NEW-PREFIX
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common.h"

static size_t files, bad;
static const char *from, *to;

/* Walk FILE -> path -> META -> key -> value in one pass. */
static void
file(void)
{
	const char *dir = "", *name = "", *size = "";
	char path[8192];
	struct stat st;

	for (uint32_t n = count(); n > 0; n--) {
		key();
		for (uint32_t m = count(); m > 0; m--) {
			const char *k = key(), *v = NULL;

			count();
			v = key();
			count();
			if (strcmp(k, "PATH") == 0)
				dir = v;
			else if (strcmp(k, "NAME") == 0)
				name = v;
			else if (strcmp(k, "SIZE") == 0)
				size = v;
		}
	}
	if (strncmp(dir, from, strlen(from)) == 0)
		snprintf(path, sizeof(path), "%s%s/%s", to, dir + strlen(from),
			 name);
	else
		snprintf(path, sizeof(path), "%s/%s", dir, name);
	files++;
	if (stat(path, &st) < 0 ||
	    (uint64_t)st.st_size != strtoull(size, NULL, 10))
		bad++;
}

static void
filemap(int dirfd, const char *name)
{
	read_tree(dirfd, name);
	for (uint32_t n = count(); n > 0; n--) {
		key();
		for (uint32_t m = count(); m > 0; m--) {
			key();
			file();
		}
	}
}

int
main(int argc, char **argv)
{
	DIR *dir = argc > 3 ? opendir(argv[1]) : NULL;
	struct dirent *de = NULL;

	if (dir == NULL)
		return 1;
	from = argv[2];
	to = argv[3];
	while ((de = readdir(dir)) != NULL)
		if (strncmp(de->d_name, "filemap_", 8) == 0)
			filemap(dirfd(dir), de->d_name);
	printf("%zu files, %zu bad\n", files, bad);
	return bad > 0;
}
