/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_pack - the reference for packing and unpacking: only the same reads,
 * checksums and writes.
 *
 *   ref_pack pack THREADS FILES OUT      the files of directory FILES, end to
 *                                        end, into OUT/data; their list in
 *                                        OUT/list
 *   ref_pack repeat THREADS FILES OUT    the same, then read OUT/data again
 *   ref_pack unpack THREADS OUT FILES    OUT/data into files of directory FILES
 *   ref_pack raw THREADS OUT             read OUT/data
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <isa-l.h>

#include "common.h"

#define BLOCK ((uint64_t)256 << 10)
#define UNIT ((uint64_t)4 << 20)

struct file {
	char name[256];
	uint64_t start, size;
};

static struct file *files;
static size_t nfiles;
static uint64_t total;
static int src = -1, dst = -1, data = -1;
static atomic_ullong next;
static atomic_uint sum;
static enum { PACK, UNPACK, READ_BACK, RAW } mode; /* RAW: no checksums */

static void
must(int good, const char *what)
{
	if (!good)
		die(what);
}

static void
list_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e = NULL;
	struct stat st;
	size_t cap = 0;

	must(d != NULL, dir);
	src = dirfd(d);
	while ((e = readdir(d)) != NULL) {
		if (fstatat(src, e->d_name, &st, 0) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (nfiles == cap) {
			cap = cap ? 2 * cap : 1024;
			files = realloc(files, cap * sizeof(*files));
			must(files != NULL, "memory");
		}
		snprintf(files[nfiles].name, 256, "%s", e->d_name);
		files[nfiles].start = total;
		files[nfiles].size = (uint64_t)st.st_size;
		total += files[nfiles++].size;
	}
}

/* The file that contains byte `off`. */
static size_t
find(uint64_t off)
{
	size_t lo = 0, hi = nfiles;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (files[mid].start <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Copy bytes from ... end - 1 between the files and OUT/data. */
static void
move(uint64_t from, uint64_t end, int out, unsigned char *block)
{
	for (size_t i = find(from); from < end; i++) {
		const struct file *f = &files[i];
		int fd = out ? openat(dst, f->name, O_WRONLY | O_CREAT, 0644)
			     : openat(src, f->name, O_RDONLY);
		uint64_t stop = f->start + f->size;

		must(fd >= 0, f->name);
		stop = stop < end ? stop : end;
		while (from < stop) {
			uint64_t n = stop - from < BLOCK ? stop - from : BLOCK;
			off_t at = (off_t)(from - f->start);

			must(pread(out ? data : fd, block, n,
				   out ? (off_t)from : at) == (ssize_t)n,
			     "read");
			sum ^= crc32_gzip_refl(0, block, n);
			must(pwrite(out ? fd : data, block, n,
				    out ? at : (off_t)from) == (ssize_t)n,
			     "write");
			from += n;
		}
		close(fd);
	}
}

static void
read_back(uint64_t from, uint64_t end, unsigned char *block)
{
	for (uint64_t n = 0; from < end; from += n) {
		n = end - from < BLOCK ? end - from : BLOCK;
		must(pread(data, block, n, (off_t)from) == (ssize_t)n, "read");
		if (mode != RAW)
			sum ^= crc32_gzip_refl(0, block, n);
	}
}

static void *
work(void *arg)
{
	unsigned char *block = aligned_alloc(4096, BLOCK);
	uint64_t from = 0;

	while ((from = next++ * UNIT) < total) {
		uint64_t end = from + UNIT < total ? from + UNIT : total;

		if (mode >= READ_BACK)
			read_back(from, end, block);
		else
			move(from, end, mode == UNPACK, block);
	}
	free(block);
	return arg;
}

static void
open_data(const char *dir, int flags)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/data", dir);
	data = open(path, flags, 0644);
	must(data >= 0, path);
}

static void
save_list(const char *dir)
{
	char path[4096];
	FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/list", dir);
	f = fopen(path, "w");
	must(f != NULL, path);
	must(fwrite(files, sizeof(*files), nfiles, f) == nfiles, path);
	fclose(f);
}

static void
load_list(const char *dir)
{
	char path[4096];
	struct stat st;
	FILE *f = NULL;

	snprintf(path, sizeof(path), "%s/list", dir);
	f = fopen(path, "r");
	must(f != NULL && fstat(fileno(f), &st) == 0, path);
	nfiles = (size_t)st.st_size / sizeof(*files);
	files = malloc((size_t)st.st_size + 1);
	must(fread(files, sizeof(*files), nfiles, f) == nfiles, path);
	fclose(f);
	total = nfiles ? files[nfiles - 1].start + files[nfiles - 1].size : 0;
}

int
main(int argc, char **argv)
{
	const char *verb = argc > 3 ? argv[1] : "";
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[2]) : 1;

	if (argc == 5 && strcmp(verb, "unpack") != 0) {
		list_dir(argv[3]);
		open_data(argv[4], O_RDWR | O_CREAT | O_TRUNC);
		in_threads(threads, work);
		save_list(argv[4]);
		next = 0;
		mode = READ_BACK;
		if (strcmp(verb, "repeat") == 0)
			in_threads(threads, work);
	} else if (argc >= 4) {
		mode = argc == 5 ? UNPACK : RAW;
		load_list(argv[3]);
		open_data(argv[3], O_RDONLY);
		if (mode == UNPACK)
			dst = open(argv[4], O_RDONLY | O_DIRECTORY);
		must(mode == RAW || dst >= 0, argv[4]);
		in_threads(threads, work);
	} else {
		fprintf(stderr, "usage: see the source\n");
		return 2;
	}
	printf("%zu files, sum %08x\n", nfiles, sum);
	return 0;
}
