/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.c - verb bench of scr_store: how fast files are written in memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "report/table.h"
#include "site/tmpfs.h"
#include "store/file.h"
#include "store/past.h"
#include "store/tend.h"
#include "str.h"
#include "verbs.h"

#define PIECE ((size_t)4 << 20) /* of a write */
#define RUNS 3			/* of which the best counts */

/* To write a new file: without a store, with an empty pool, after populate,
 * with the pages of deleted files; and only to copy to mapped pages. */
enum way { PLAIN, COLD, FIRST, WARM, BARE, WAYS };

struct bench {
	const char *dir; /* the store */
	unsigned char *data;
	uint64_t size;
};

/* Write the file from the end of the pipe `go` on, and set the seconds that it
 * took.  Returns an exit status. */
static int
write_one(const struct bench *b, enum way way, int go, double *seconds)
{
	char path[STORE_PATH_MAX + 64], c = 0;
	unsigned char *map = NULL;
	int fd = -1, rc = 0;

	snprintf(path, sizeof(path), "%s/bench.%d", b->dir, getpid());
	if (way == BARE) {
		fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
		if (fd < 0 || ftruncate(fd, (off_t)b->size) < 0)
			return STATUS_FAILED;
		map = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   fd, 0);
		if (map == MAP_FAILED)
			return STATUS_FAILED;
		memset(map, 1, b->size);
	}
	if ((way != PLAIN && way != BARE && store_use(b->dir, NULL) < 0) ||
	    read(go, &c, 1) < 0)
		return STATUS_FAILED;
	*seconds = -clock_seconds();
	if (store_used())
		fd = store_create(AT_FDCWD, path, O_CREAT | O_WRONLY, 0600);
	if (fd < 0)
		fd = open(path, O_CREAT | O_WRONLY, 0600);
	for (uint64_t at = 0, n = 0; at < b->size && rc == 0; at += n) {
		n = b->size - at < PIECE ? b->size - at : PIECE;
		if (way == BARE)
			past_copy(map + at, b->data + at, n);
		else if (store_pwrite(fd, b->data + at, n, (off_t)at) !=
			 (ssize_t)n)
			rc = io_pwrite(fd, path, b->data + at, n, at, NULL);
	}
	store_closing(fd);
	io_close(fd);
	*seconds += clock_seconds();
	if (!store_unlink(AT_FDCWD, path))
		(void)unlink(path);
	return rc == 0 ? STATUS_OK : STATUS_FAILED;
}

/* Bytes in a second, by `processes` at once; negative: failed. */
static double
rate(const struct bench *b, enum way way, unsigned processes)
{
	double *seconds = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int go[2] = { -1, -1 }, status = 0;
	bool good = seconds != MAP_FAILED && pipe2(go, O_CLOEXEC) == 0;
	double sum = 0;

	for (unsigned i = 0; good && i < processes; i++) {
		const pid_t pid = fork();

		if (pid == 0) {
			close(go[1]);
			_exit(write_one(b, way, go[0], seconds + i));
		}
		good = pid > 0;
	}
	io_close(go[0]);
	usleep(20000); /* until they wait */
	io_close(go[1]);
	while (wait(&status) > 0 || errno == EINTR)
		good = good && status == 0;
	for (unsigned i = 0; good && i < processes; i++)
		sum += (double)b->size / seconds[i];
	if (seconds != MAP_FAILED)
		munmap(seconds, 4096);
	return good ? sum : -1;
}

/* --- The verb --- */

/* The best rates of all ways, in a store of their own. */
static int
measure(const struct bench *b, unsigned processes, double best[WAYS],
	struct error *err)
{
	const struct store_options o = { .pool = 2 * b->size * processes };
	struct tend_populate p = { .size = b->size, .count = processes };
	struct tend_done done = { .cleaned = 0 };
	struct store *s = NULL;
	int rc = mkdir(b->dir, 0700) < 0 ? error_sys(err, "%s", b->dir)
					 : store_make(b->dir, &o, err);

	s = rc == 0 ? store_open(b->dir, err) : NULL;
	rc = s == NULL ? -1 : tend_measure(s, err);
	for (int i = 0; i < WAYS * RUNS && rc == 0; i++) {
		const enum way w = (enum way)(i / RUNS);
		double is = 0;

		/* Nobody tends a cold store. */
		if (i == FIRST * RUNS)
			rc = tend_populate(s, &p, err);
		if (w == WARM && rc == 0)
			rc = tend_once(s, &done, err);
		is = rc == 0 ? rate(b, w, processes) : 0;
		best[w] = is > best[w] ? is : best[w];
		if (is < 0 || app_stop())
			rc = error_set(err, ERROR_SYSTEM, "%s: cannot write",
				       b->dir);
		i += w == FIRST ? RUNS - 1 : 0; /* there is only one first */
	}
	store_close(s);
	(void)io_remove_tree(AT_FDCWD, b->dir, NULL);
	return rc;
}

int
store_run_bench(const struct app_call *c)
{
	uint64_t sizes[] = { UINT64_C(64) << 20, UINT64_C(512) << 20 };
	const struct opt opts[] = {
		OPT_BYTES('s', "size", &sizes[1], "SIZE", STORE_FILE_LEAST,
			  UINT64_C(1) << 40,
			  "bytes of the larger file (default: 512 MiB)"),
		OPT_END,
	};
	char dir[STORE_PATH_MAX];
	struct bench b = { .dir = dir };
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	struct tmpfs fs = { .huge = "" };
	struct table t;
	int count = 0, rc = 0;
	char **args = store_start(c, opts, &count);
	const char *in = count > 0 ? args[0] : "/dev/shm";

	if (count > 1)
		app_usage("give one directory");
	snprintf(dir, sizeof(dir), "%s/.scr_store-bench.%d", in, getpid());
	b.data = mem_alloc(sizes[1], 1);
	memset(b.data, 2, sizes[1]);
	table_start(&t, ">FILE|>PROCESSES|>PLAIN|>COLD|>FIRST|>WARM|>BARE|");
	for (unsigned i = 0; i < 4 && rc == 0; i++) {
		double best[WAYS] = { 0 };

		b.size = sizes[i / 2] < sizes[1] ? sizes[i / 2] : sizes[1];
		rc = measure(&b, 1 + i % 2, best, &err);
		table_size(&t, b.size);
		table_cell(&t, "%u", 1 + i % 2);
		for (int w = 0; w < WAYS; w++)
			table_cell(&t, "%.2f", best[w] / 1e9);
		table_cell(&t, "%s",
			   best[WARM] < 1.05 * best[PLAIN] ? "plain is as fast"
							   : "");
	}
	mem_free(b.data);
	(void)tmpfs_of(in, &fs);
	table_end(&t, 0, &out);
	buf_printf(&out, "GB/s, best of %d; %s: huge=%s; copies by %s\n", RUNS,
		   str_shown(fs.point), fs.huge[0] != '\0' ? fs.huge : "never",
		   past_name());
	if (rc == 0)
		return app_print(&out);
	buf_free(&out);
	return app_report(STATUS_OK, &err);
}
