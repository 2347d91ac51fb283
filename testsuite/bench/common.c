/* SPDX-License-Identifier: BSD-3-Clause */
#include "common.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <isa-l.h>

const unsigned char *p;

void
die(const char *what)
{
	perror(what);
	exit(1);
}

void
in_threads(unsigned threads, void *(*work)(void *))
{
	pthread_t t[64];

	for (unsigned i = 1; i < threads && i < 64; i++)
		pthread_create(&t[i], NULL, work, NULL);
	work(NULL);
	for (unsigned i = 1; i < threads && i < 64; i++)
		pthread_join(t[i], NULL);
}

uint32_t
count(void)
{
	uint32_t n = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
		     (uint32_t)p[2] << 8 | p[3];

	p += 4;
	return n;
}

const char *
key(void)
{
	const char *k = (const char *)p;

	p += strlen(k) + 1;
	return k;
}

void
read_tree(int dirfd, const char *name)
{
	static unsigned char *data;
	static size_t cap;
	int fd = openat(dirfd, name, O_RDONLY);
	size_t size = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		die(name);
	size = (size_t)st.st_size;
	if (size > cap) {
		cap = 2 * size;
		data = realloc(data, cap);
	}
	if (data == NULL || read(fd, data, size) != (ssize_t)size)
		die(name);
	close(fd);
	p = data + size - 4;
	if (crc32_gzip_refl(0, data, size - 4) != count())
		die(name);
	p = data + 20;
}
