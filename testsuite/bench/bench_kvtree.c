/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_kvtree.c - time to process metadata.  Prints lines
 *
 *	NAME <TAB> SECONDS <TAB> REMARK
 *	NAME <TAB> RATIO <TAB> REMARK		(names that end in -ratio)
 *
 * "bare" is the minimal reader of the same bytes: one pass that finds the end
 * of each key and verifies the checksum.  Ratios are medians of pairs that run
 * in turn.  The -aa- line is bare against bare and shows the noise of this
 * machine.
 *
 *	bench_kvtree DIR
 *
 * DIR/.scr/index.scr is the index of 100,000 datasets that is read; scratch
 * files go to DIR.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "common.h"
#include "crc.h"
#include "error.h"
#include "io.h"
#include "kvtree/kvtree.h"

#define ENTRIES 1000000
#define SMALL_FILES 16000
#define PAIRS 5

static struct error err = ERROR_INIT;

/* Keeps the compiler from optimizing the work away. */
static volatile uint64_t sink;

static void
check(int good)
{
	if (good)
		return;
	fprintf(stderr, "bench_kvtree: %s\n", err.text);
	exit(1);
}

static void
report(const char *name, double value, const char *remark)
{
	printf("%s\t%.4f\t%s\n", name, value, remark);
	fflush(stdout);
}

/* --- One level --- */

static void
bench_level(int dirfd)
{
	struct kvtree *t = kvtree_new(&err);
	char key[32];
	double start = now();
	int i = 0;

	check(t != NULL);
	for (i = 0; i < ENTRIES; i++) {
		snprintf(key, sizeof(key), "rank_%d.ckpt", i);
		check(kvtree_put(t, key, &err) != NULL);
	}
	report("kvtree-put-1e6", now() - start, "make one level");
	start = now();
	check(kvtree_write_file(t, dirfd, "level.kv", &err) == 0);
	report("kvtree-write-1e6", now() - start, "encode and write it");
	kvtree_free(t);

	start = now();
	t = kvtree_read_file(dirfd, "level.kv", &err);
	check(t != NULL);
	report("kvtree-read-1e6", now() - start, "read it");
	start = now();
	for (i = 0; i < ENTRIES; i++) {
		snprintf(key, sizeof(key), "rank_%d.ckpt", i);
		sink += kvtree_get(t, key) != NULL;
	}
	report("kvtree-get-1e6", now() - start, "look up each key");
	start = now();
	check(kvtree_sort(t, &err) == 0);
	report("kvtree-sort-1e6", now() - start, "sort it");
	start = now();
	kvtree_free(t);
	report("kvtree-free-1e6", now() - start, "free it");
	unlinkat(dirfd, "level.kv", 0);
}

/* --- An index --- */

static uint64_t
bare_walk(const char *data, size_t len)
{
	const char *p = data + KVTREE_HEADER_SIZE;
	uint32_t count = 0;
	uint64_t owed = 0, keys = 0;

	memcpy(&count, p, 4);
	p += 4;
	for (owed = ntohl(count); owed > 0; owed = owed - 1 + ntohl(count)) {
		p += strlen(p) + 1;
		memcpy(&count, p, 4);
		p += 4;
		keys++;
	}
	return keys + crc_update(0, data, len - 4) + (uint64_t)(p - data);
}

/* Four ways to read an index. */
enum way { BARE_MEMORY, OURS_MEMORY, BARE_FILE, OURS_FILE };

static double
time_way(enum way way, int dirfd, const struct buf *image)
{
	struct kvtree *t = NULL;
	struct buf raw = BUF_INIT;
	double start = now(), took = 0;

	switch (way) {
	case BARE_MEMORY:
		sink += bare_walk(image->data, image->len);
		break;
	case OURS_MEMORY:
		t = kvtree_decode(image->data, image->len, NULL, &err);
		break;
	case BARE_FILE:
		check(io_read_file(dirfd, "index.kv", KVTREE_MAX_ENCODED, &raw,
				   &err) == 0);
		sink += bare_walk(raw.data, raw.len);
		break;
	case OURS_FILE:
		t = kvtree_read_file(dirfd, "index.kv", &err);
		break;
	}
	took = now() - start;
	check(t != NULL || way == BARE_MEMORY || way == BARE_FILE);
	kvtree_free(t);
	buf_free(&raw);
	return took;
}

/* Median of a[i] / b[i]; the two run in turn. */
static void
compare(const char *name, enum way a, enum way b, int dirfd,
	const struct buf *image)
{
	double ratio[PAIRS], x = 0, y = 0;
	char remark[80];
	int i = 0;

	for (i = 0; i < PAIRS; i++) {
		x = time_way(a, dirfd, image);
		y = time_way(b, dirfd, image);
		ratio[i] = x / y;
	}
	median(ratio, PAIRS);
	snprintf(remark, sizeof(remark), "%.3f..%.3f; last: %.1f / %.1f ms",
		 ratio[0], ratio[PAIRS - 1], 1e3 * x, 1e3 * y);
	report(name, ratio[PAIRS / 2], remark);
}

static void
bench_index(int dirfd)
{
	struct buf image = BUF_INIT;
	struct kvtree *t = kvtree_read_file(dirfd, ".scr/index.scr", &err);
	double start = now();

	check(t != NULL);
	check(kvtree_write_file(t, dirfd, "index.kv", &err) == 0);
	report("kvtree-write-index", now() - start, "encode and write it");
	kvtree_free(t);
	check(io_read_file(dirfd, "index.kv", KVTREE_MAX_ENCODED, &image,
			   &err) == 0);
	report("kvtree-index-size", 1e-6 * (double)image.len, "MB");
	compare("kvtree-index-aa-ratio", BARE_MEMORY, BARE_MEMORY, dirfd,
		&image);
	compare("kvtree-index-memory-ratio", OURS_MEMORY, BARE_MEMORY, dirfd,
		&image);
	compare("kvtree-index-file-ratio", OURS_FILE, BARE_FILE, dirfd, &image);
	unlinkat(dirfd, "index.kv", 0);
	buf_free(&image);
}

/* --- Many small files --- */

static void
bench_small(int dirfd)
{
	struct kvtree *t = kvtree_read_file(dirfd, ".scr/index.scr", &err);
	struct kvtree *u = NULL;
	struct buf raw = BUF_INIT;
	double start = 0;
	int i = 0;

	check(t != NULL &&
	      kvtree_write_file(kvtree_first(kvtree_get(t, "DSET")), dirfd,
				"small.kv", &err) == 0);
	start = now();
	for (i = 0; i < SMALL_FILES; i++)
		check(io_read_file(dirfd, "small.kv", KVTREE_MAX_ENCODED, &raw,
				   &err) == 0);
	report("kvtree-small-bare", now() - start, "16,000 reads, no decode");
	start = now();
	for (i = 0; i < SMALL_FILES; i++) {
		u = kvtree_read_file(dirfd, "small.kv", &err);
		check(u != NULL);
		kvtree_free(u);
	}
	report("kvtree-small", now() - start, "16,000 reads");
	unlinkat(dirfd, "small.kv", 0);
	buf_free(&raw);
	kvtree_free(t);
}

int
main(int argc, char **argv)
{
	const int dirfd = argc > 1 ? open(argv[1], O_DIRECTORY) : -1;

	if (dirfd < 0)
		return 2;
	bench_level(dirfd);
	bench_index(dirfd);
	bench_small(dirfd);
	return 0;
}
