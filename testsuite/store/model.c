/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model FILES THREADS OPERATIONS SEED - do random things with files in the
 * working directory, each thread with FILES of its own, and compare them with a
 * model in memory.  At the first difference the last operations of the thread
 * are printed, and the status is 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 5 << 20, POOL = 16 << 20, NAMES = 8, LOG = 60 };

struct file {
	char name[40];
	int fd, flags;
	unsigned char *bytes;
	size_t size, pos;
};

struct worker {
	pthread_t thread;
	unsigned me, r, files, named;
	long done, operations;
	struct file f[NAMES];
	char log[LOG][120];
};

static const unsigned char
	*pool; /* of random bytes, and where data come from */

static void
note(struct worker *w, const char *format, ...)
{
	va_list args;
	int n = snprintf(w->log[w->done % LOG], 20, "%ld: ", w->done);

	va_start(args, format);
	vsnprintf(w->log[w->done % LOG] + n, sizeof(w->log[0]) - (size_t)n,
		  format, args);
	va_end(args);
}

static void
must(struct worker *w, bool good, const char *what, long got, long expected)
{
	const int saved = errno;

	if (good)
		return;
	flockfile(stderr);
	for (long i = w->done < LOG ? 0 : w->done - LOG + 1; i <= w->done; i++)
		fprintf(stderr, "%s\n", w->log[i % LOG]);
	fprintf(stderr, "model: thread %u: %s: %ld, expected %ld (%s)\n", w->me,
		what, got, expected, strerror(saved));
	_exit(1);
}

static size_t
upto(struct worker *w, size_t n)
{
	return n == 0 ? 0 : (size_t)rand_r(&w->r) % n;
}

/* A number up to `most`, often one beside a border. */
static size_t
some(struct worker *w, size_t most)
{
	static const size_t borders[] = {
		0,	 64,	  4096,	   8192,    16384,   65536,
		1 << 18, 1 << 20, 2 << 20, 4 << 20, 6 << 20,
	};
	size_t n = 0;

	switch (upto(w, 4)) {
	case 0:
		n = upto(w, 200);
		break;
	case 1:
		n = borders[upto(w, 11)] + upto(w, 130);
		n -= n < 65 ? n : 65;
		break;
	case 2:
		n = upto(w, 300000);
		break;
	default:
		n = upto(w, most + 1);
		break;
	}
	return n > most ? upto(w, most + 1) : n;
}

static void
check(struct worker *w, const struct file *f, size_t from, size_t n)
{
	static __thread unsigned char is[MOST];
	struct stat st = { 0 };
	ssize_t got = 0;

	must(w, fstat(f->fd, &st) == 0 && (size_t)st.st_size == f->size, "size",
	     st.st_size, (long)f->size);
	if (from > f->size)
		from = f->size;
	got = pread(f->fd, is, n, (off_t)from);
	if (n > f->size - from)
		n = f->size - from;
	must(w, got == (ssize_t)n, "bytes read", got, (long)n);
	for (size_t i = 0; memcmp(is, f->bytes + from, n) != 0 && i < n; i++)
		must(w, is[i] == f->bytes[from + i], "byte", (long)(from + i),
		     f->bytes[from + i]);
}

static void
open_file(struct worker *w, struct file *f, int flags)
{
	f->fd = open(f->name, flags, 0600);
	must(w, f->fd >= 0, f->name, f->fd, 0);
	f->flags = flags;
	f->pos = 0;
	if ((flags & O_TRUNC) != 0)
		f->size = 0;
}

static void
create(struct worker *w, struct file *f)
{
	/* Names of a few patterns, each with its own history. */
	snprintf(f->name, sizeof(f->name), "%u.%c.%u", w->me, "xyz"[upto(w, 3)],
		 w -> named++);
	f->size = 0;
	open_file(w, f, O_CREAT | O_EXCL | O_RDWR);
}

static void
resize(struct file *f, size_t size)
{
	if (size > f->size)
		memset(f->bytes + f->size, 0, size - f->size);
	f->size = size;
}

/* The model's write. */
static void
wrote(struct file *f, size_t at, const void *data, size_t n)
{
	if (n == 0)
		return;
	if (at + n > f->size)
		resize(f, at + n);
	memcpy(f->bytes + at, data, n);
}

static void
write_some(struct worker *w, struct file *f, unsigned how)
{
	const bool at_end = (f->flags & O_APPEND) != 0;
	const size_t at = at_end ? f->size : how < 3 ? f->pos : some(w, MOST);
	const size_t n = some(w, MOST - at), k = some(w, n);
	const unsigned char *data = pool + upto(w, POOL - MOST);
	struct iovec v[2] = { { (void *)(uintptr_t)data, k },
			      { (void *)(uintptr_t)(data + k), n - k } };
	FILE *s = NULL;
	ssize_t got = -1;
	pid_t pid = -1;
	int st = 0;

	note(w, "%s: %zu bytes at %zu, way %u", f->name, n, at, how);
	switch (how) {
	case 0:
		got = write(f->fd, data, n);
		break;
	case 1:
		got = writev(f->fd, v, 2);
		break;
	case 2: /* a child moves the position */
		pid = fork();
		if (pid == 0)
			_exit(write(f->fd, data, n) != (ssize_t)n);
		got = waitpid(pid, &st, 0) == pid && st == 0 ? (ssize_t)n : -1;
		break;
	case 3:
		got = pwrite(f->fd, data, n, (off_t)at);
		break;
	case 4:
		got = pwritev(f->fd, v, 2, (off_t)at);
		break;
	default:
		s = fdopen(dup(f->fd), at_end ? "a" : "r+");
		must(w, s != NULL && fseek(s, (long)at, SEEK_SET) == 0, "fseek",
		     0, 0);
		got = (ssize_t)fwrite(data, 1, k, s);
		got += (ssize_t)fwrite(data + k, 1, n - k, s);
		must(w, ftell(s) == (long)(at + n), "ftell", ftell(s),
		     (long)(at + n));
		must(w, fclose(s) == 0, "fclose", 0, 0);
		/* The position is shared. */
		must(w, lseek(f->fd, (off_t)f->pos, SEEK_SET) >= 0, "lseek", 0,
		     0);
		break;
	}
	must(w, got == (ssize_t)n, "bytes written", got, (long)n);
	wrote(f, at, data, n);
	if (how < 3 && n > 0)
		f->pos = at + n;
	if (how < 3)
		must(w, lseek(f->fd, 0, SEEK_CUR) == (off_t)f->pos, "position",
		     lseek(f->fd, 0, SEEK_CUR), (long)f->pos);
	check(w, f, at < 100 ? 0 : at - 100, n + 200);
}

static void
map_some(struct worker *w, struct file *f)
{
	const size_t n = f->size, at = some(w, n), k = some(w, n - at);
	unsigned char *map = n == 0 ? NULL
				    : mmap(NULL, n, PROT_READ | PROT_WRITE,
					   MAP_SHARED, f->fd, 0);

	note(w, "%s: mapped, %zu bytes at %zu", f->name, k, at);
	if (n == 0)
		return;
	must(w, map != MAP_FAILED, "mmap", 0, 0);
	must(w, memcmp(map + at, f->bytes + at, k) == 0, "mapped bytes",
	     (long)at, (long)k);
	memcpy(map + at, pool + k, k);
	wrote(f, at, pool + k, k);
	munmap(map, n);
	check(w, f, at, k);
}

static void
allocate(struct worker *w, struct file *f)
{
	const size_t at = some(w, MOST - 1), n = some(w, MOST - at - 1) + 1;
	const int mode = (int[]){ 0, 1, 3 }[upto(w, 3)];

	note(w, "%s: fallocate %d, %zu bytes at %zu", f->name, mode, n, at);
	must(w, fallocate(f->fd, mode, (off_t)at, (off_t)n) == 0, "fallocate",
	     0, 0);
	if (mode == 0 && at + n > f->size)
		resize(f, at + n);
	if (mode == 3 && at < f->size)
		memset(f->bytes + at, 0, at + n > f->size ? f->size - at : n);
	check(w, f, at, n);
}

static void
copy_some(struct worker *w, struct file *f)
{
	struct file *from = &w->f[upto(w, w->files)];
	const size_t at = some(w, from->size), to = some(w, MOST);
	size_t n = some(w, from->size - at);
	loff_t a = (loff_t)at, b = (loff_t)to;
	ssize_t got = 0;

	n = n > MOST - to ? MOST - to : n;
	note(w, "%s: %zu bytes of %s at %zu to %zu", f->name, n, from->name, at,
	     to);
	if (from == f || (f->flags & O_APPEND) != 0 || n == 0)
		return;
	got = copy_file_range(from->fd, &a, f->fd, &b, n, 0);
	must(w, got == (ssize_t)n, "copy_file_range", got, (long)n);
	wrote(f, to, from->bytes + at, n);
	check(w, f, to, n);
}

static void
name_things(struct worker *w, struct file *f, unsigned how)
{
	struct file *to = &w->f[upto(w, w->files)];
	char old[40];
	int fd = -1;

	note(w, "%s: names, way %u, %s", f->name, how, to->name);
	switch (how) {
	case 0:
		must(w, unlink(f->name) == 0, "unlink", 0, 0);
		check(w, f, 0, MOST);
		must(w, close(f->fd) == 0, "close", 0, 0);
		create(w, f);
		break;
	case 1: /* closed first: its pages may be used again */
		must(w, close(f->fd) == 0, "close", 0, 0);
		must(w, unlink(f->name) == 0, "unlink", 0, 0);
		create(w, f);
		break;
	case 2: /* over another one */
		if (to == f)
			break;
		must(w, close(to->fd) == 0, "close", 0, 0);
		must(w, rename(f->name, to->name) == 0, "rename", 0, 0);
		strcpy(f->name, to->name);
		create(w, to);
		break;
	case 3:
		strcpy(old, f->name);
		snprintf(f->name, sizeof(f->name), "%u.l.%u", w->me,
			 w->named++);
		must(w, link(old, f->name) == 0, "link", 0, 0);
		must(w, unlink(old) == 0, "unlink", 0, 0);
		break;
	case 4:
		fd = dup(f->fd);
		must(w, close(f->fd) == 0 && fd >= 0, "dup", fd, 0);
		f->fd = fd;
		break;
	case 5: /* unknown to all */
		syscall(SYS_close, f->fd);
		open_file(w, f, O_RDWR);
		break;
	case 6:
		must(w, close(f->fd) == 0, "close", 0, 0);
		open_file(w, f, O_RDWR | (upto(w, 2) ? O_APPEND : O_TRUNC));
		break;
	default:
		must(w, close(f->fd) == 0, "close", 0, 0);
		open_file(w, f, O_RDWR);
		break;
	}
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	size_t n = 0;

	for (unsigned i = 0; i < w->files; i++) {
		w->f[i].bytes = malloc(MOST);
		create(w, &w->f[i]);
	}
	for (w->done = 0; w->done < w->operations; w->done++) {
		struct file *f = &w->f[upto(w, w->files)];
		const size_t what = upto(w, 40);

		if (what < 26) {
			/* A fork takes long. */
			write_some(w, f,
				   what % 6 == 2 && upto(w, 16) != 0
					   ? 0
					   : (unsigned)what % 6);
		} else if (what < 28) {
			map_some(w, f);
		} else if (what < 29) {
			allocate(w, f);
		} else if (what < 30) {
			copy_some(w, f);
		} else if (what < 33) {
			f->pos = some(w, MOST);
			note(w, "%s: position %zu", f->name, f->pos);
			must(w, lseek(f->fd, (off_t)f->pos, SEEK_SET) >= 0,
			     "lseek", 0, 0);
		} else if (what < 34) {
			n = some(w, MOST);
			note(w, "%s: size %zu", f->name, n);
			must(w, ftruncate(f->fd, (off_t)n) == 0, "ftruncate", 0,
			     0);
			resize(f, n);
			check(w, f, n < 5000 ? 0 : n - 5000, 10000);
		} else if (what < 35) {
			note(w, "%s: all of it", f->name);
			check(w, f, 0, MOST);
		} else {
			name_things(w, f, (unsigned)upto(w, 8));
		}
	}
	for (unsigned i = 0; i < w->files; i++) {
		note(w, "%s: at the end", w->f[i].name);
		check(w, &w->f[i], 0, MOST);
		close(w->f[i].fd);
		unlink(w->f[i].name);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	static struct worker w[8];
	unsigned char *p = malloc(POOL);
	unsigned r = 1;

	if (argc != 5 || p == NULL)
		return 2;
	for (size_t i = 0; i < POOL; i++)
		p[i] = (unsigned char)(rand_r(&r) >> 3);
	pool = p;
	for (int i = 0; i < atoi(argv[2]); i++) {
		w[i].me = (unsigned)i;
		w[i].r = (unsigned)(atoi(argv[4]) + i * 100003);
		w[i].files = (unsigned)atoi(argv[1]);
		w[i].operations = atol(argv[3]);
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	for (int i = 0; i < atoi(argv[2]); i++)
		pthread_join(w[i].thread, NULL);
	return 0;
}
