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
#include "site/memory.h"
#include "store/copy.h"
#include "store/file.h"
#include "store/tend.h"
#include "str.h"
#include "verbs.h"

#define PIECE ((size_t)4 << 20) /* of a write */
#define RUNS 3			/* of which the best counts */

enum way { SHM, PLAIN, COLD, FIRST, WARM, BARE, WAYS };

static const char *const way_names[WAYS] = {
	[SHM] = "write, new file, /dev/shm",
	[PLAIN] = "write, new file, here",
	[COLD] = "store, pool empty",
	[FIRST] = "store, after populate",
	[WARM] = "store, deleted files again",
	[BARE] = "copy to mapped pages",
};
static const char *const way_keys[WAYS] = { "shm",   "plain", "cold",
					    "first", "warm",  "bare" };

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

	snprintf(path, sizeof(path), "%s/%sbench.%d",
		 way == SHM ? "/dev/shm" : b->dir,
		 way == SHM ? "scr_store_" : "", getpid());
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
	if ((way == COLD || way == FIRST || way == WARM) &&
	    store_use(b->dir, NULL) < 0)
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
			copy_past(map + at, b->data + at, n);
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

/* Make an empty store, with `files` clean files, and keep the best rates of
 * the ways from `from` to `to` in it. */
static int
measure(const struct bench *b, enum way from, enum way to, unsigned files,
	unsigned processes, double best[WAYS], struct error *err)
{
	const struct store_options o = { .pool = 2 * b->size * processes };
	struct tend_done done = { .cleaned = 0 };
	struct store *s = NULL;
	uint64_t added = 0;
	int rc = io_remove_tree(AT_FDCWD, b->dir, err);

	if (rc == 0 && mkdir(b->dir, 0700) < 0)
		rc = error_sys(err, "%s", b->dir);
	if (rc == 0)
		rc = store_make(b->dir, &o, err);
	s = rc == 0 ? store_open(b->dir, err) : NULL;
	rc = s == NULL ? -1 : tend_measure(s, err);
	if (rc == 0 && files > 0)
		rc = tend_populate(s, b->size, files, NULL, NULL, &added, err);
	for (enum way w = from; rc == 0 && w <= to; w++) {
		const double is = rate(b, w, processes);

		if (is < 0)
			rc = error_set(err, ERROR_SYSTEM, "%s: cannot write",
				       b->dir);
		else if (w == WARM || tend_once(s, &done, err) == 0)
			best[w] = is > best[w] ? is : best[w];
		else
			rc = -1;
	}
	store_close(s);
	return rc;
}

int
store_run_bench(const struct store_call *c)
{
	uint64_t sizes[2] = { 0, UINT64_C(512) << 20 };
	const struct opt opts[] = {
		OPT_BYTES('s', "size", &sizes[0], "SIZE", STORE_FILE_LEAST,
			  UINT64_C(1) << 40,
			  "bytes of each file (default: 64 and 512 MiB)"),
		OPT_END,
	};
	char heads[256] = "GB/s", dir[STORE_PATH_MAX];
	double best[4][WAYS] = { { 0 } };
	struct json *j = NULL, *list = NULL;
	struct table t = { .arena = NULL };
	struct bench b = { .dir = dir };
	struct error err = ERROR_INIT;
	struct buf out = BUF_INIT;
	struct memory_fs fs = { .huge = "" };
	int count = 0, rc = 0, cells = 4;
	char **args = store_start(c, opts, &count);
	const char *in = count > 0 ? args[0] : "/dev/shm";

	if (count > 1)
		app_usage("give one directory");
	if (sizes[0] != 0)
		cells = 2;
	else
		sizes[0] = UINT64_C(64) << 20;
	snprintf(dir, sizeof(dir), "%s/.scr_store-bench.%d", in, getpid());
	b.data = mem_alloc(cells == 2 ? sizes[0] : sizes[1], 1);
	memset(b.data, 2, cells == 2 ? sizes[0] : sizes[1]);
	for (int i = 0; i < RUNS * cells && rc == 0 && !app_stop(); i++) {
		const unsigned processes = 1 + (unsigned)i % 2;
		double *is = best[i % cells];

		b.size = sizes[i % cells / 2];
		if (i < cells)
			snprintf(heads + strlen(heads),
				 sizeof(heads) - strlen(heads), "|>%s x %u",
				 str_size(b.size), processes);
		rc = measure(&b, SHM, COLD, 0, processes, is, &err);
		if (rc == 0)
			rc = measure(&b, FIRST, BARE, processes, processes, is,
				     &err);
	}
	mem_free(b.data);
	(void)io_remove_tree(AT_FDCWD, dir, NULL);
	if (rc < 0 || app_stop())
		return app_report(app_stop() ? STATUS_FAILED : STATUS_OK, &err);
	(void)memory_of(in, &fs);
	j = json_new_object();
	list = json_new_array();
	table_start(&t, heads);
	for (int w = 0; w < WAYS; w++) {
		table_cell(&t, "%s", way_names[w]);
		for (int i = 0; i < cells; i++)
			table_cell(&t, "%.2f", best[i][w] / 1e9);
	}
	table_end(&t, 0, &out);
	buf_printf(&out, "%s: huge=%s; copies by %s; best of %d\n",
		   str_shown(fs.point), fs.huge[0] != '\0' ? fs.huge : "never",
		   copy_name(), RUNS);
	for (int i = 0; i < cells; i++) {
		const double *is = best[i];
		const double plain = is[SHM] > is[PLAIN] ? is[SHM] : is[PLAIN];
		struct json *one = json_new_object();

		json_set_u64(one, "size", sizes[i / 2]);
		json_set_u64(one, "processes", 1 + (uint64_t)i % 2);
		for (int w = 0; w < WAYS; w++)
			json_set_real(one, way_keys[w], is[w]);
		json_push(list, one);
		if (is[FIRST] < 1.05 * plain && is[WARM] < 1.05 * plain)
			buf_printf(&out,
				   "%s by %d: a plain memory file system is as "
				   "fast\n",
				   str_size(sizes[i / 2]), 1 + i % 2);
	}
	json_set_str(j, "mount", fs.point);
	json_set_str(j, "huge", fs.huge);
	json_set_str(j, "copy", copy_name());
	json_set(j, "rates", list);
	if (app_json())
		app_answer(j);
	else
		(void)app_print(&out);
	buf_free(&out);
	return STATUS_OK;
}
