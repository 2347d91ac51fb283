/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.c - verb bench of scr_store: how fast files are written in memory. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "error.h"
#include "io.h"
#include "json.h"
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
static const char *const way_names[WAYS] = { "plain", "cold", "first", "warm",
					     "bare" };

struct bench {
	const char *dir; /* the store */
	unsigned char *data;
	uint64_t size;
};

/* Write the file and set when[0], when[1].  Returns an exit status. */
static int
write_one(const struct bench *b, enum way way, int go, double when[2])
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
	if (way != PLAIN && way != BARE && store_use(b->dir, NULL) < 0)
		return STATUS_FAILED;
	if (read(go, &c, 1) < 0)
		return STATUS_FAILED;
	when[0] = clock_seconds();
	if (store_used())
		fd = store_create(AT_FDCWD, path, O_CREAT | O_EXCL | O_WRONLY,
				  0600);
	if (fd < 0)
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	for (uint64_t at = 0, n = 0; at < b->size && rc == 0; at += n) {
		n = b->size - at < PIECE ? b->size - at : PIECE;
		if (way == BARE)
			past_copy(map + at, b->data + at, n);
		else if (!store_write(fd, b->data + at, n))
			rc = io_pwrite(fd, path, b->data + at, n, at, NULL);
	}
	store_closing(fd);
	io_close(fd);
	when[1] = clock_seconds();
	if (way == BARE || !store_unlink(AT_FDCWD, path))
		(void)unlink(path);
	return rc == 0 ? STATUS_OK : STATUS_FAILED;
}

/* Bytes in a second, by `processes` at once; negative: failed. */
static double
rate(const struct bench *b, enum way way, unsigned processes)
{
	double *when = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double first = 0, last = 0;
	int go[2] = { -1, -1 }, status = 0;
	bool good = when != MAP_FAILED && pipe2(go, O_CLOEXEC) == 0;

	for (unsigned i = 0; good && i < processes; i++) {
		const pid_t pid = fork();

		if (pid == 0) {
			close(go[1]);
			_exit(write_one(b, way, go[0], when + 2 * i));
		}
		good = pid > 0;
	}
	io_close(go[0]);
	/* They begin at the end of the pipe; a moment, so that they wait. */
	usleep(20000);
	io_close(go[1]);
	while (wait(&status) > 0 || errno == EINTR)
		good = good && status == 0;
	for (unsigned i = 0; good && i < processes; i++) {
		first = i == 0 || when[2 * i] < first ? when[2 * i] : first;
		last = when[2 * i + 1] > last ? when[2 * i + 1] : last;
	}
	if (when != MAP_FAILED)
		munmap(when, 4096);
	return good && last > first
		       ? (double)b->size * processes / (last - first)
		       : -1;
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
store_run_bench(const struct store_call *c)
{
	uint64_t only = 0;
	const struct opt opts[] = {
		OPT_BYTES('s', "size", &only, "SIZE", STORE_FILE_LEAST,
			  UINT64_C(1) << 40,
			  "bytes of each file (default: 64 and 512 MiB)"),
		OPT_END,
	};
	const uint64_t sizes[] = { UINT64_C(64) << 20, UINT64_C(512) << 20 };
	char dir[STORE_PATH_MAX];
	struct json *j = NULL, *list = json_new_array();
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
	b.data = mem_alloc(only != 0 ? only : sizes[1], 1);
	memset(b.data, 2, only != 0 ? only : sizes[1]);
	table_start(&t, ">FILE|>PROCESSES|>PLAIN|>COLD|>FIRST|>WARM|>BARE|");
	for (unsigned i = 0; i < (only != 0 ? 2 : 4) && rc == 0; i++) {
		double best[WAYS] = { 0 };
		struct json *one = json_new_object();

		b.size = only != 0 ? only : sizes[i / 2];
		rc = measure(&b, 1 + i % 2, best, &err);
		table_size(&t, b.size);
		table_cell(&t, "%u", 1 + i % 2);
		json_set_u64(one, "size", b.size);
		json_set_u64(one, "processes", 1 + i % 2);
		for (int w = 0; w < WAYS; w++) {
			table_cell(&t, "%.2f", best[w] / 1e9);
			json_set_real(one, way_names[w], best[w]);
		}
		table_cell(&t, "%s",
			   best[WARM] < 1.05 * best[PLAIN] ? "plain is as fast"
							   : "");
		json_push(list, one);
	}
	mem_free(b.data);
	(void)tmpfs_of(in, &fs);
	table_end(&t, 0, &out);
	buf_printf(&out, "GB/s, best of %d; %s: huge=%s; copies by %s\n", RUNS,
		   str_shown(fs.point), fs.huge[0] != '\0' ? fs.huge : "never",
		   past_name());
	j = json_new_object();
	json_set_str(j, "mount", fs.point);
	json_set_known_str(j, "huge", fs.huge);
	json_set_str(j, "copy", past_name());
	json_set(j, "rates", list);
	app_answer(j);
	if (rc == 0 && !app_json())
		(void)app_print(&out);
	buf_free(&out);
	return app_report(STATUS_OK, &err);
}
