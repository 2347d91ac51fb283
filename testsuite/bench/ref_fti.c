/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_fti - the reference for rebuilds of FTI's level 3 in `make bench`: only
 * the reads, the arithmetic and the writes of data 2 and 3 of a group of four,
 * from data 0 and 1 and parity 0 and 1.  No metadata, no temporary files, no
 * error recovery.
 *
 *   ref_fti sums|sync|sums,sync THREADS OUT DATA0 DATA1 PARITY0 PARITY1
 *
 * With `sums`, the MD5 sums of the results are computed too, with `sync` they
 * are written to disk.  Results are OUT.2 and OUT.3.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "encode/cauchy.h"
#include "hash.h"

#define K 4
#define LOST 2
#define BLOCK ((size_t)256 << 10)

static struct cauchy *recipe;
static int in[K], out[LOST];
static off_t size; /* of the parity files */
static atomic_size_t next, summed;
static int sums;

static void
block(off_t off, unsigned char *memory)
{
	const size_t len =
		size - off < (off_t)BLOCK ? (size_t)(size - off) : BLOCK;
	void *from[K], *to[LOST];

	for (int k = 0; k < K; k++) {
		ssize_t n = 0;

		from[k] = memory + (size_t)k * BLOCK;
		n = pread(in[k], from[k], len, off);
		if (n < 0)
			die("read");
		memset((char *)from[k] + n, 0, BLOCK - (size_t)n);
	}
	for (int k = 0; k < LOST; k++)
		to[k] = memory + (size_t)(K + k) * BLOCK;
	cauchy_run(recipe, len + len % 2, from, to);
	for (int k = 0; k < LOST; k++)
		if (pwrite(out[k], to[k], len, off) != (ssize_t)len)
			die("write");
}

static void
sum(int fd, unsigned char *memory)
{
	struct hash *h = hash_new(HASH_MD5, NULL);
	unsigned char md5[HASH_MD5_SIZE];
	ssize_t n = 0;

	for (off_t off = 0; (n = pread(fd, memory, BLOCK, off)) > 0; off += n)
		hash_update(h, memory, (size_t)n);
	hash_sum(h, md5);
	hash_free(h);
}

static pthread_barrier_t written;

static void *
work(void *arg)
{
	unsigned char *memory = aligned_alloc(4096, (K + LOST) * BLOCK);
	const size_t count = ((size_t)size + BLOCK - 1) / BLOCK;
	size_t i = 0;

	while ((i = next++) < count)
		block((off_t)(i * BLOCK), memory);
	pthread_barrier_wait(&written);
	while (sums && (i = summed++) < LOST)
		sum(out[i], memory);
	free(memory);
	return arg;
}

int
main(int argc, char **argv)
{
	const bool lost[2 * K] = { [2] = true, [3] = true };
	unsigned threads = 0;
	struct stat st;

	if (argc != 8)
		return 2;
	sums = strstr(argv[1], "sums") != NULL;
	threads = (unsigned)strtoul(argv[2], NULL, 10);
	recipe = cauchy_new(K, lost, lost, NULL);
	for (int k = 0; k < K; k++) {
		in[k] = open(argv[4 + k], O_RDONLY);
		if (in[k] < 0 || fstat(in[k], &st) < 0)
			die(argv[4 + k]);
		size = st.st_size;
	}
	for (int k = 0; k < LOST; k++) {
		char name[4096];

		snprintf(name, sizeof(name), "%s.%d", argv[3], 2 + k);
		out[k] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0666);
		if (out[k] < 0)
			die(name);
	}
	pthread_barrier_init(&written, NULL, threads);
	in_threads(threads, work);
	for (int k = 0; k < LOST && strstr(argv[1], "sync") != NULL; k++)
		if (fsync(out[k]) < 0)
			die("fsync");
	return 0;
}
