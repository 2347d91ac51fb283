/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank2file and its parts.  The input is a row of files: one byte that
 * chooses the name (bits 0-2), two for the length, and the contents (formats
 * of fuzz_tree.h); what is left over at the end is not looked at.  They are
 * loaded, built into one part, and the part is compared.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz_tree.h"
#include "meta/rank2file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[8] = {
	"rank2file",	 "rank2file.0.0", "rank2file.0.1", "rank2file.0.2",
	"rank2file.1.0", "rank2file.1.2", "rank2file.scr", "rank2file.0.0.scr",
};

/* Write the files of the input. */
static void
unpack(int dirfd, const uint8_t *data, size_t size)
{
	struct buf image = BUF_INIT;

	while (size >= 3) {
		size_t len = (size_t)data[1] << 8 | data[2];
		int fd = openat(dirfd, names[data[0] & 7],
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		data += 3;
		size -= 3;
		len = len < size ? len : size;
		fuzz_image(data, len, &image);
		fuzz_require(fd >= 0 && write(fd, image.data, image.len) ==
						(ssize_t)image.len);
		close(fd);
		data += len;
		size -= len;
	}
	buf_free(&image);
}

static void
try_load(int dirfd, const char *base)
{
	struct rank2file r;
	struct kvtree *t = NULL;
	const struct kvtree *k = NULL;
	size_t ranks = 0, present = 0, i = 0;

	if (rank2file_load(dirfd, base, &r, NULL) < 0)
		return;
	t = rank2file_build_part(&r, 0, r.nranks, NULL);
	fuzz_require(t != NULL);
	kvtree_foreach (k, kvtree_get(t, "RANK"))
		ranks++;
	for (i = 0; i < r.nranks; i++)
		present += r.ranks[i].present;
	fuzz_require(ranks == present);
	kvtree_free(t);
	rank2file_free(&r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *tmp = getenv("TMPDIR");
	char dir[4096];
	int dirfd = -1, i = 0;

	snprintf(dir, sizeof(dir), "%s/fuzzXXXXXX", tmp != NULL ? tmp : "/tmp");
	fuzz_require(mkdtemp(dir) != NULL);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fuzz_require(dirfd >= 0);
	unpack(dirfd, data, size);
	try_load(dirfd, "rank2file");
	try_load(dirfd, "rank2file.scr");
	for (i = 0; i < 8; i++)
		unlinkat(dirfd, names[i], 0);
	close(dirfd);
	rmdir(dir);
	return 0;
}
