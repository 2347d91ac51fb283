/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scratch.h - what tests of things on disk share: a scratch directory, files
 * in it, damage to them, and memory that runs out.
 */
#ifndef UNIT_SCRATCH_H
#define UNIT_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "meta/kvtree.h"
#include "tap.h"

/* A test cannot go on: not what it is to test is broken, but itself. */
static inline void
scene_must(bool good, const char *what)
{
	if (good)
		return;
	printf("Bail out! %s\n", what);
	fflush(stdout);
	abort();
}
#define must(cond) scene_must((cond), #cond)

/* The same numbers in every run. */
static inline uint32_t
below(uint32_t n)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* One of many buffers in turn: good for the next 250 calls. */
__attribute__((format(printf, 1, 2))) static inline char *
fmt(const char *format, ...)
{
	static char texts[256][1024];
	static unsigned next;
	char *to = texts[next++ % 256];
	va_list ap;

	va_start(ap, format);
	must(vsnprintf(to, sizeof(texts[0]), format, ap) < 1024);
	va_end(ap);
	return to;
}

/* --- Files --- */

static inline bool
exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Make the directories above `path`. */
static inline void
make_parents(const char *path)
{
	char dir[1024];

	for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(p - path), path);
		(void)mkdir(dir, 0777);
	}
}

static inline void
write_file(const char *path, const void *data, size_t len)
{
	int fd = -1;

	make_parents(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	must(fd >= 0);
	must(io_pwrite(fd, path, data, len, 0, NULL) == 0);
	close(fd);
}

static inline void
write_text(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
}

static inline void
read_whole(const char *path, struct buf *out)
{
	must(io_read_file(AT_FDCWD, path, (size_t)1 << 30, out, NULL) == 0);
}

/* Damage the byte at `off`, from the end if negative; the time stays. */
static inline void
flip(const char *path, long off)
{
	struct timespec times[2];
	unsigned char byte = 0;
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	must(fd >= 0 && fstat(fd, &st) == 0);
	if (off < 0)
		off += st.st_size;
	must(pread(fd, &byte, 1, off) == 1);
	byte ^= 0x5a;
	must(pwrite(fd, &byte, 1, off) == 1);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	must(futimens(fd, times) == 0);
	close(fd);
}

/* Change the tree at the start of a file by fn(tree); what follows it (the
 * body of a redundancy file) stays. */
static inline void
edit_tree(const char *path, void (*fn)(struct kvtree *t, void *arg), void *arg)
{
	struct buf old = BUF_INIT, new = BUF_INIT;
	struct kvtree *t = NULL;
	size_t used = 0;

	read_whole(path, &old);
	t = kvtree_decode(old.data, old.len, &used, NULL);
	must(t != NULL);
	fn(t, arg);
	must(kvtree_encode(t, &new, NULL) == 0);
	must(buf_add(&new, old.data + used, old.len - used) == 0);
	write_file(path, new.data, new.len);
	kvtree_free(t);
	buf_free(&new);
	buf_free(&old);
}

static inline int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void
remove_tree(const char *path)
{
	if (exists(path))
		must(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

/* A directory of the test's own, made the first time, emptied after that. */
static inline void
scratch_dir(char *root, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	if (root[0] != '\0') {
		remove_tree(root);
		must(mkdir(root, 0777) == 0);
		return;
	}
	snprintf(root, size, "%s/scratch.XXXXXX",
		 tmp && strlen(tmp) < 64 ? tmp : "/tmp");
	must(mkdtemp(root) != NULL);
}

/* --- Errors --- */

/* Does the text hold these words? */
static inline bool
says(const struct error *err, const char *words)
{
	if (strstr(err->text, words) != NULL)
		return true;
	printf("# \"%s\"\n# does not say \"%s\"\n", err->text, words);
	return false;
}

/*
 * Call fn(arg) with its 1st, 2nd ... allocation and all later ones failing,
 * until it needs no more: true if each call reported that there is no memory,
 * or succeeded.  redo(arg), if not NULL, puts things right before each.
 */
static inline bool
fails_well(int (*fn)(void *arg, struct error *err), void (*redo)(void *arg),
	   void *arg)
{
	struct error err = ERROR_INIT;
	long left = 0;
	int rc = -1;

	for (long n = 0; n < 100000; n++) {
		if (redo != NULL)
			redo(arg);
		error_clear(&err);
		mem_fail_after(n);
		rc = fn(arg, &err);
		left = mem_fail_after(-1);
		if (rc == 0 && left > 0)
			return n > 1;
		if (rc < 0 && err.kind != ERROR_NOMEM) {
			printf("# allocation %ld: %s\n", n, err.text);
			return false;
		}
	}
	return false;
}

#endif /* UNIT_SCRATCH_H */
