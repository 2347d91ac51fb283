/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Archives as import reads them: no crash, bounded memory, clean paths, and no
 * endless loop.  7zip archives are excluded, because their directory can make
 * libarchive allocate gigabytes (ark.h).
 */
#include <sys/mman.h>

#include "archive/ark.h"
#include "fuzz_tree.h"

/* Unpacking more of one input finds nothing new. */
#define READ_MAX ((size_t)8 << 20)

static void
read_all(struct ark_in *in)
{
	static char block[65536];
	struct ark_entry e;
	size_t got = 0, total = 0;

	while (total < READ_MAX && ark_in_next(in, &e, NULL) > 0) {
		fuzz_require(path_is_clean(e.path));
		fuzz_require(e.kind == ARK_FILE || e.kind == ARK_DIR);
		total += 512;
		while (e.kind == ARK_FILE && total < READ_MAX &&
		       ark_in_read(in, block, sizeof(block), &got, NULL) == 0 &&
		       got > 0)
			total += got;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ark_in *in = NULL;
	int fd = -1;

	if (size >= 2 && data[0] == '7' && data[1] == 'z')
		return 0;
	fd = memfd_create("archive", MFD_CLOEXEC);
	fuzz_require(fd >= 0);
	fuzz_require(write(fd, data, size) == (ssize_t)size);
	fuzz_require(lseek(fd, 0, SEEK_SET) == 0);
	in = ark_in_new(fd, "archive", NULL, NULL);
	if (in != NULL)
		read_all(in);
	ark_in_free(in);
	close(fd);
	return 0;
}
