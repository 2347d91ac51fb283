/* SPDX-License-Identifier: BSD-3-Clause */
#include "scratch.h"

#include <endian.h>

#include "archive/manifest.h"
#include "catalogue/catalogue.h"
#include "conf.h"
#include "encode/code.h"
#include "fti/ini.h"
#include "fti/posix.h"
#include "hash.h"
#include "map.h"
#include "meta/index.h"
#include "rescue/plan.h"
#include "transfer/put.h"
#include "transfer/stripe.h"

_Noreturn void
bail_out(const char *what)
{
	printf("Bail out! %s\n", what);
	fflush(stdout);
	abort();
}

void
must_be(bool good, const char *what)
{
	if (!good)
		bail_out(what);
}

void
become_nobody(void)
{
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		_exit(77);
}

bool
may_give(void)
{
	FILE *f = tmpfile();
	bool may = f != NULL && fchown(fileno(f), 1234, 4321) == 0;

	must(f != NULL && fclose(f) == 0);
	return may;
}

_Atomic int stop_after;

bool
is_stopped(void)
{
	return stop_after-- <= 0;
}

uint32_t
below(uint32_t n)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

char *
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

/* --- Variables --- */

/* Pointers, for the attribute cleanup. */
#define FREES(type, call) \
	void free_##type(struct type **p) \
	{ \
		call(*p); \
	}

FREES(arena, arena_free)
FREES(catalogue, catalogue_close)
FREES(conf, conf_close)
FREES(fti_ini, fti_ini_free)
FREES(fti_posix, fti_posix_free)
FREES(hash, hash_free)
FREES(index, index_free)
FREES(kvtree, kvtree_free)
FREES(manifest, manifest_free)
FREES(map, map_free)
FREES(par, par_free)
FREES(plan, plan_free)
FREES(put, put_free)
FREES(recipe, recipe_free)
FREES(stripe_cache, stripe_cache_free)

void
close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void
free_mem(void *p)
{
	mem_free(*(void **)p);
}

void
free_malloc(void *p)
{
	free(*(void **)p);
}

/* --- Files --- */

bool
exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

void
make_parents(const char *path)
{
	char dir[1024];

	for (const char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(p - path), path);
		(void)mkdir(dir, 0777);
	}
}

void
write_file(const char *path, const void *data, size_t len)
{
	auto_fd int fd = -1;

	make_parents(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	must(fd >= 0);
	must(io_pwrite(fd, path, data, len, 0, NULL) == 0);
}

void
write_text(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
}

void
read_whole(const char *path, struct buf *out)
{
	must(io_read_file(AT_FDCWD, path, (size_t)1 << 30, out, NULL) == 0);
}

bool
file_holds(const char *path, const void *data, size_t len)
{
	auto_buf b = BUF_INIT;
	return io_read_file(AT_FDCWD, path, (size_t)1 << 30, &b, NULL) == 0 &&
	       b.len == len && (len == 0 || memcmp(b.data, data, len) == 0);
}

void
flip(const char *path, long off)
{
	struct timespec times[2];
	unsigned char byte = 0;
	struct stat st;
	auto_fd int fd = open(path, O_RDWR | O_CLOEXEC);

	must(fd >= 0 && fstat(fd, &st) == 0);
	if (off < 0)
		off += st.st_size;
	must(pread(fd, &byte, 1, off) == 1);
	byte ^= 0x5a;
	must(pwrite(fd, &byte, 1, off) == 1);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	must(futimens(fd, times) == 0);
}

void
edit_tree(const char *path, void (*fn)(struct kvtree *t, void *arg), void *arg)
{
	auto_buf old = BUF_INIT, new = BUF_INIT;
	auto_kvtree *t = NULL;
	size_t used = 0;

	read_whole(path, &old);
	t = kvtree_decode(old.data, old.len, &used, NULL);
	must(t != NULL);
	fn(t, arg);
	must(kvtree_encode(t, &new, NULL) == 0);
	must(buf_add(&new, old.data + used, old.len - used) == 0);
	write_file(path, new.data, new.len);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void
remove_tree(const char *path)
{
	if (exists(path))
		must(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static struct {
	char path[160];
	pid_t of;
} scratches[100];
static size_t scratch_count;

static void
forget_scratches(void)
{
	for (size_t i = 0; i < scratch_count; i++)
		if (scratches[i].of == getpid())
			remove_tree(scratches[i].path);
}

void
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
	must(mkdtemp(root) != NULL && scratch_count < 100);
	must(scratch_count > 0 || atexit(forget_scratches) == 0);
	snprintf(scratches[scratch_count].path, 160, "%s", root);
	scratches[scratch_count++].of = getpid();
}

char scratch_root[96];

void
scratch_new(void)
{
	scratch_dir(scratch_root, sizeof(scratch_root));
}

int
scratch_fd(void)
{
	static int fd = -1;

	if (fd >= 0)
		close(fd);
	scratch_new();
	fd = open(scratch_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

char *
here(const char *format, ...)
{
	char rest[1024];
	va_list ap;

	va_start(ap, format);
	must(vsnprintf(rest, sizeof(rest), format, ap) < 1024);
	va_end(ap);
	return fmt("%s/%s", scratch_root, rest);
}

/* --- Files of a directory given by its descriptor --- */

void
put_file(int dir, const char *name, const char *text)
{
	auto_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("# cannot write %s\n", name);
}

bool
holds_at(int dir, const char *name, const char *text)
{
	char got[64] = "";
	auto_fd int fd = openat(dir, name, O_RDONLY);
	ssize_t n = read(fd, got, sizeof(got) - 1);

	return n == (ssize_t)strlen(text) && strcmp(got, text) == 0;
}

bool
exists_at(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int
mode_of(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0
		       ? (int)(st.st_mode & 07777)
		       : -1;
}

/* --- Errors --- */

struct error why = ERROR_INIT;

static void
forget_why(void)
{
	error_clear(&why);
}

__attribute__((constructor)) static void
forget_at_each(void)
{
	tap_before = forget_why;
}

int64_t
result_int(int64_t rc)
{
	return rc;
}

int64_t
result_pointer(const void *p)
{
	return p == NULL ? -1 : 0;
}

bool
says(const struct error *err, const char *words)
{
	if (strstr(err->text, words) != NULL)
		return true;
	printf("# \"%s\"\n# does not say \"%s\"\n", err->text, words);
	return false;
}

bool
failed_as(int64_t rc, const struct error *err, int how, const char *words)
{
	bool good = rc < 0 &&
		    (how < 0 ? err->errnum == -how : (int)err->kind == how);

	if (good)
		return words == NULL || says(err, words);
	printf("# returned %lld, kind %d, errno %d: %s\n", (long long)rc,
	       (int)err->kind, err->errnum, err->text);
	return false;
}

bool
fails_as(int rc, struct error *err, int how, const char *words)
{
	bool good = failed_as(rc, err, how, words);

	error_clear(err);
	return good;
}

void
link_by_anyone(const char *to, const char *path)
{
	const char *dir = fmt("%.*s", (int)(strrchr(path, '/') - path), path);

	must(symlink(to, path) == 0 && chmod(dir, 0777) == 0);
}

/* --- Failing allocations --- */

/* The allocation to fail after the n-th one.  Of many allocations most are of
 * the same places, for one rank or file after the other: a sample will do.  The
 * sanitizers see others than the plain build. */
static long
after(long n)
{
	return getenv("SCRKIT_SLOW") != NULL || n < 96 + SANITIZED
		       ? n + 1
		       : n + 1 + n / 32;
}

bool
nomem_next(struct nomem *m, long least, const char *what, const char *file,
	   int line)
{
	const long left = m->n < 0 ? 0 : mem_fail_after(-1);
	const bool bad = m->rc < 0 && m->err.kind != ERROR_NOMEM;

	if (bad)
		printf("# allocation %ld: %s\n", m->n, m->err.text);
	if (bad || m->n >= 100000 || (m->n >= 0 && m->rc == 0 && left > 0)) {
		tap_ok(!bad && m->n >= least, file, line, what);
		return false;
	}
	m->n = m->n < 0 ? 0 : after(m->n);
	return true;
}

bool
nomem_begin(struct nomem *m)
{
	error_clear(&m->err);
	mem_fail_after(m->n);
	return true;
}

/* --- Bytes --- */

int
bigend_add32(struct buf *b, uint32_t v)
{
	v = htobe32(v);
	return buf_add(b, &v, sizeof(v));
}

int
bigend_add64(struct buf *b, uint64_t v)
{
	v = htobe64(v);
	return buf_add(b, &v, sizeof(v));
}
