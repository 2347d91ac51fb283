/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evict FILE... - write files back and drop them from the page cache, so that
 * the next read comes from the device.  Prints the number of bytes.  With -r:
 * read the files in blocks of 1 MiB, to measure the bandwidth of the device.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	int from = argc > 1 && strcmp(argv[1], "-r") == 0 ? 2 : 1;
	static char block[1 << 20];
	unsigned long long bytes = 0;
	ssize_t got = 0;
	struct stat st;

	for (int i = from; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY);

		if (fd < 0 || fstat(fd, &st) < 0) {
			perror(argv[i]);
			return 1;
		}
		bytes += (unsigned long long)st.st_size;
		if (from == 2) {
			while ((got = read(fd, block, sizeof(block))) > 0)
				;
		} else if (fsync(fd) < 0 ||
			   posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) {
			perror(argv[i]);
			return 1;
		}
		close(fd);
	}
	printf("%llu\n", bytes);
	return got < 0;
}
