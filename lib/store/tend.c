/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/tend.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "dir.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "pace.h"
#include "store/numa.h"
#include "store/spill.h"
#include "store/store_impl.h"

#define STEP ((uint64_t)64 << 20) /* bytes between two looks at stop() */
#define WAIT_NSEC 100000000

/* Files are opened to be changed, by an untrusted name. */
#define CHANGE (O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

struct tending {
	struct store *s;
	bool (*stop)(void *arg);
	void *arg;
	struct numa *numa;
	struct tend_done *done;
};

static bool
stopped(const struct tending *t)
{
	return t->stop != NULL && t->stop(t->arg);
}

/* One process at a time. */
static int
lock(const struct store *s, struct error *err)
{
	char path[STORE_ROOM];
	int fd = open(store_state_path(s, path), CHANGE);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
		error_sys(err, "%s", path);
		io_close(fd);
		return -1;
	}
	return fd;
}

static int
open_meta(const struct store *s, const char *name, struct error *err)
{
	char path[STORE_ROOM];
	int fd = -1;

	snprintf(path, sizeof(path), "%s/" STORE_META "/%s", s->dir, name);
	fd = dir_open_plain(AT_FDCWD, path);
	return fd < 0 ? error_sys(err, "%s", path) : fd;
}

/* --- Clean files --- */

/*
 * Give the file pages, `bytes` of them, behind its end.  The first call
 * allocates them; the second finds them there and clears them, so that later
 * nobody has to.
 */
static int
fill(const struct tending *t, int fd, uint64_t bytes, struct error *err)
{
	for (uint64_t at = 0; at < bytes; at += STEP) {
		const uint64_t n = bytes - at < STEP ? bytes - at : STEP;

		if (stopped(t))
			return error_set(err, ERROR_SYSTEM, "interrupted");
		for (int k = 0; k < 2; k++)
			if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at,
				      (off_t)n) < 0)
				return error_sys(err, "%s: cannot add pages",
						 t->s->dir);
	}
	return 0;
}

/* Make the open file, which nobody else has, one of size 0 as if it was new. */
static bool
wipe(int fd)
{
	char names[4096];
	const ssize_t n = flistxattr(fd, names, sizeof(names));

	if (n > 0)
		for (const char *p = names; p < names + n; p += strlen(p) + 1)
			(void)fremovexattr(fd, p);
	return ftruncate(fd, 0) == 0 && fchmod(fd, 0600) == 0 &&
	       store_plain(fd, fd);
}

/* The file `name` in dirty/, clean now, goes to an empty slot. */
static bool
to_pool(struct store *s, int dirty, const char *name, int fd, unsigned node)
{
	struct state *t = s->state;
	char path[STORE_ROOM];
	struct stat is;

	if (fstat(fd, &is) < 0)
		return false;
	for (uint32_t i = 0; i < STORE_SLOTS; i++) {
		struct slot *l = &t->slot[i];

		if (!store_slot_swap(t, l, SLOT_EMPTY, SLOT_BUSY))
			continue;
		atomic_store(&l->ino, is.st_ino);
		atomic_store(&l->capacity, (uint64_t)is.st_blocks * 512);
		atomic_store(&l->before, STORE_NO_WRITE);
		atomic_store(&l->writing, 0);
		l->node = node;
		if (store_move(dirty, name, AT_FDCWD,
			       store_pool_path(s, i, path),
			       RENAME_NOREPLACE) == 0)
			return store_slot_swap(t, l, SLOT_BUSY, SLOT_CLEAN);
		(void)store_slot_swap(t, l, SLOT_BUSY, SLOT_EMPTY);
	}
	return false;
}

/* The node with the fewest clean pages. */
static unsigned
poorest(const struct tending *t)
{
	uint64_t clean[STORE_NODES] = { 0 };
	unsigned best = 0;

	for (const struct slot *l = t->s->state->slot;
	     l < t->s->state->slot + STORE_SLOTS; l++)
		if (slot_is(l) == SLOT_CLEAN && l->node < STORE_NODES)
			clean[l->node] += atomic_load(&l->capacity);
	for (unsigned i = 1; i < numa_count(t->numa) && i < STORE_NODES; i++)
		if (clean[i] < clean[best])
			best = i;
	return best;
}

/*
 * A deleted file: clean it and add it to the pool.  Whoever has it open keeps
 * it, like any deleted file.  1: added, 0: removed; -1: interrupted.
 */
static int
launder(const struct tending *t, int dirty, const char *name)
{
	struct store *s = t->s;
	struct stat is;
	uint64_t bytes = 0;
	int fd = openat(dirty, name, CHANGE), rc = 0;

	if (fd >= 0 && fstat(fd, &is) == 0 && store_own(&is) &&
	    is.st_dev == s->dev && store_lease(fd)) {
		const unsigned node = numa_use(t->numa, poorest(t));

		bytes = (uint64_t)is.st_blocks * 512;
		if (bytes >= STORE_FILE_LEAST && bytes <= store_pool_room(s) &&
		    wipe(fd) && fill(t, fd, bytes, NULL) == 0)
			rc = to_pool(s, dirty, name, fd, node);
		else if (stopped(t))
			rc = -1;
		store_unlease(fd);
	}
	io_close(fd);
	if (rc == 0 && unlinkat(dirty, name, 0) < 0 && errno == EISDIR)
		(void)io_remove_tree(dirty, name, NULL);
	return rc;
}

static int
launder_all(const struct tending *t, struct error *err)
{
	int fd = open_meta(t->s, "dirty", err), rc = 0;
	const char *name = NULL;
	struct dir_walk w;

	if (fd < 0)
		return -1;
	if (dir_walk(&w, fd, t->s->dir, err) < 0) {
		close(fd);
		return -1;
	}
	while (rc >= 0 && (name = dir_next(&w)) != NULL) {
		/* A process is at work on it. */
		if (name[0] == '.' &&
		    kill((pid_t)strtol(name + 1, NULL, 10), 0) == 0)
			continue;
		rc = launder(t, fd, name);
		t->done->cleaned += rc == 1;
		t->done->dropped += rc == 0;
	}
	rc = dir_done(&w, 0, err);
	close(fd);
	return rc;
}

/* Files of the pool that are in no clean slot were left by killed processes:
 * they are cleaned again. */
static int
check_pool(const struct tending *t, struct error *err)
{
	struct state *st = t->s->state;
	int fd = open_meta(t->s, "pool", err);
	char to[STORE_ROOM], dirty[40], name[16];
	bool there[STORE_SLOTS] = { false };
	const char *entry = NULL;
	struct dir_walk w;

	if (fd < 0)
		return -1;
	if (dir_walk(&w, fd, t->s->dir, err) < 0) {
		close(fd);
		return -1;
	}
	while ((entry = dir_next(&w)) != NULL) {
		const unsigned long i = strtoul(entry, NULL, 10);

		snprintf(name, sizeof(name), "%lu", i);
		if (i < STORE_SLOTS && strcmp(name, entry) == 0) {
			struct slot *l = &st->slot[i];

			there[i] = true;
			if (slot_is(l) == SLOT_CLEAN ||
			    (slot_is(l) != SLOT_EMPTY && store_slot_lives(l)))
				continue;
		}
		store_dirty_name(dirty, sizeof(dirty));
		(void)store_move(fd, entry, AT_FDCWD,
				 store_dirty_path(t->s, dirty, to),
				 RENAME_NOREPLACE);
	}
	for (uint32_t i = 0; i < STORE_SLOTS; i++) {
		struct slot *l = &st->slot[i];

		/* A slot whose process died before the file left the pool, or
		 * whose file is gone. */
		if (slot_is(l) == SLOT_BUSY && !store_slot_lives(l))
			atomic_store(&l->word, SLOT_EMPTY);
		else if (slot_is(l) == SLOT_CLEAN && !there[i] &&
			 faccessat(AT_FDCWD, store_pool_path(t->s, i, to), F_OK,
				   AT_SYMLINK_NOFOLLOW) < 0)
			(void)store_slot_swap(st, l, SLOT_CLEAN, SLOT_EMPTY);
	}
	return dir_done(&w, (close(fd), 0), err);
}

/* --- Files that their processes left behind --- */

/* Set the file back to the data it has, and free its spare pages.  False:
 * somebody has it open. */
static bool
recover(const struct tending *t, struct slot *l, int dir, const char *name)
{
	int fd = openat(dir, name, CHANGE);
	uint64_t from = 0;
	struct stat is;
	bool done = false;

	if (fd >= 0 && fstat(fd, &is) == 0 &&
	    is.st_ino == atomic_load(&l->ino) && is.st_dev == t->s->dev &&
	    S_ISREG(is.st_mode) && store_lease(fd)) {
		const uint64_t before = atomic_load(&l->before);

		/* Whoever wrote behind the data since then made it a hole. */
		if (before != STORE_NO_WRITE && fstat(fd, &is) == 0 &&
		    (uint64_t)is.st_size <= atomic_load(&l->after) &&
		    before < (uint64_t)is.st_size &&
		    ftruncate(fd, (off_t)before) == 0)
			t->done->recovered++;
		from = fstat(fd, &is) < 0 ? UINT64_MAX
					  : STORE_ROUND((uint64_t)is.st_size);
		if (from < atomic_load(&l->capacity) &&
		    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      (off_t)from,
			      (off_t)(atomic_load(&l->capacity) - from)) == 0)
			t->done->trimmed++;
		store_remember(t->s, store_pattern(name), (uint64_t)is.st_size);
		store_unlease(fd);
		done = true;
	}
	io_close(fd);
	return done;
}

/* Look for the files of the `left` slots below `fd`, which is closed. */
static void
search(const struct tending *t, int fd, struct slot **left, size_t count,
       unsigned depth)
{
	const char *name = NULL;
	struct dir_walk w;
	struct stat is;

	if (fd < 0 || dir_walk(&w, fd, t->s->dir, NULL) < 0) {
		io_close(fd);
		return;
	}
	while ((name = dir_next(&w)) != NULL) {
		if (fstatat(fd, name, &is, AT_SYMLINK_NOFOLLOW) < 0 ||
		    is.st_dev != t->s->dev)
			continue;
		if (S_ISDIR(is.st_mode) && depth < 64 &&
		    strcmp(name, STORE_META) != 0)
			search(t, dir_open_plain(fd, name), left, count,
			       depth + 1);
		for (size_t i = 0; i < count && S_ISREG(is.st_mode); i++)
			if (left[i] != NULL &&
			    atomic_load(&left[i]->ino) == is.st_ino) {
				/* Found; in use, it stays as it is. */
				if (recover(t, left[i], fd, name))
					atomic_store(&left[i]->word,
						     SLOT_EMPTY);
				left[i] = NULL;
			}
	}
	(void)dir_done(&w, 0, NULL);
	close(fd);
}

static void
recover_all(const struct tending *t)
{
	struct state *st = t->s->state;
	struct slot *left[STORE_SLOTS];
	size_t count = 0;

	for (struct slot *l = st->slot; l < st->slot + STORE_SLOTS; l++)
		if (slot_is(l) == SLOT_TAKEN && !store_slot_lives(l))
			left[count++] = l;
	if (count == 0)
		return;
	search(t, dir_open_plain(AT_FDCWD, t->s->dir), left, count, 0);
	for (size_t i = 0; i < count; i++)
		if (left[i] != NULL) /* deleted */
			atomic_store(&left[i]->word, SLOT_EMPTY);
}

/* --- All of it --- */

static int
tend(const struct tending *t, struct error *err)
{
	struct pace pace = { .stop = t->stop, .arg = t->arg };
	const uint64_t before = t->done->spilled;

	recover_all(t);
	if (check_pool(t, err) < 0 || launder_all(t, err) < 0)
		return -1;
	pace.rate = atomic_load(&t->s->state->spill_rate);
	if (spill_once(t->s, &pace, &t->done->spilled, err) < 0)
		return -1;
	return t->done->spilled > before ? launder_all(t, err) : 0;
}

int
tend_once(struct store *s, struct tend_done *done, struct error *err)
{
	struct tending t = { .s = s, .done = done };
	int fd = lock(s, err), rc = -1;

	if (fd < 0)
		return -1;
	t.numa = numa_open();
	/* Look at everything now. */
	atomic_store(&s->state->rest, 0);
	rc = tend(&t, err);
	numa_close(t.numa);
	close(fd);
	return rc;
}

int
tend_run(struct store *s, bool (*stop)(void *arg), void *arg,
	 struct tend_done *done, struct error *err)
{
	const struct timespec wait = { .tv_nsec = WAIT_NSEC };
	struct tending t = { s, stop, arg, numa_open(), done };
	struct error why = ERROR_INIT;
	int fd = -1, rc = 0;

	while (!stopped(&t)) {
		const uint32_t given = atomic_load(&s->state->given);

		/* Somebody else may do it, and end before us. */
		if (fd < 0)
			fd = lock(s, NULL);
		if (fd >= 0 && tend(&t, &why) < 0 && rc == 0)
			rc = error_pass(err, &why);
		(void)syscall(SYS_futex, &s->state->given, FUTEX_WAIT, given,
			      &wait, NULL, 0);
	}
	io_close(fd);
	numa_close(t.numa);
	return rc;
}

int
tend_populate(struct store *s, struct tend_populate *p, struct error *err)
{
	const uint64_t size = STORE_ROUND(p->size);
	struct tending t = { s, p->stop, p->arg, numa_open(), NULL };
	int dirty = open_meta(s, "dirty", err), rc = dirty < 0 ? -1 : 0;
	char name[40];
	bool full = false;

	while (rc == 0 && !full && p->added < p->count && !stopped(&t)) {
		const unsigned node = numa_use(
			t.numa, (unsigned)(p->added % numa_count(t.numa)));
		int fd = -1;

		if (store_pool_room(s) < size)
			break;
		snprintf(name, sizeof(name), ".%d.%llu", getpid(),
			 (unsigned long long)p->added);
		fd = openat(dirty, name, CHANGE | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			rc = error_sys(err, "%s", s->dir);
		else
			rc = fill(&t, fd, size, err);
		full = rc == 0 && !to_pool(s, dirty, name, fd, node);
		p->added += rc == 0 && !full;
		if (fd >= 0 && (rc < 0 || full))
			(void)unlinkat(dirty, name, 0);
		io_close(fd);
	}
	if (rc < 0 && stopped(&t)) {
		error_clear(err);
		rc = 0;
	}
	io_close(dirty);
	numa_close(t.numa);
	return rc;
}

/* --- Measuring --- */

#define SAMPLE ((size_t)32 << 20)
#define TIMES 5
/* A mapped copy has to be faster by this. */
#define GAIN 0.95

/* The size of the pages that are mapped at `base`, as far as the kernel
 * says. */
static uint64_t
page_at(const void *base)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long from = 0, to = 0, huge = 0;
	char line[512];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%lx-%lx ", &from, &to) != 2 &&
		    from <= (uintptr_t)base && (uintptr_t)base < to &&
		    sscanf(line, "ShmemPmdMapped: %lu", &huge) == 1)
			break;
	if (f != NULL)
		(void)fclose(f);
	return huge > 0 ? STORE_HUGE : (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Of this thread alone: other programs run, too. */
static double
busy_seconds(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time to write the sample to a new file, in pieces; or to a clean one,
 * mapped. */
static double
time_writes(const struct tending *t, int fd, const unsigned char *data,
	    size_t piece, bool mapped)
{
	unsigned char *base = MAP_FAILED;
	bool ok = ftruncate(fd, 0) == 0;
	double time = 0;

	if (mapped && ok && fill(t, fd, SAMPLE, NULL) == 0)
		base = mmap(NULL, SAMPLE, PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, 0);
	ok = ok && mapped == (base != MAP_FAILED);
	time = busy_seconds();
	for (size_t at = 0; ok && at < SAMPLE; at += piece)
		ok = mapped ? store_put(fd, base, data + at, piece, (off_t)at)
			    : pwrite(fd, data + at, piece, (off_t)at) ==
				      (ssize_t)piece;
	time = busy_seconds() - time;
	if (base != MAP_FAILED) {
		atomic_store(&t->s->state->page, page_at(base));
		munmap(base, SAMPLE);
	}
	return ok ? time : 1e9;
}

/* Is a mapped copy in such pieces faster?  In turn, and the shortest times
 * count. */
static bool
gains(const struct tending *t, int fd, const unsigned char *data, size_t piece)
{
	double best[2] = { 1e9, 1e9 };

	for (int k = 0; k < 2 * TIMES; k++) {
		const double time = time_writes(t, fd, data, piece, k % 2 == 1);

		if (time < best[k % 2])
			best[k % 2] = time;
	}
	return best[1] < GAIN * best[0];
}

int
tend_measure(struct store *s, struct error *err)
{
	static const size_t pieces[] = {
		8 << 20, 1 << 20, 256 << 10, 64 << 10, 16 << 10,
	};
	const struct tending t = { .s = s };
	unsigned char *data = mem_aligned(STORE_HUGE, SAMPLE);
	uint32_t least = 0;
	char path[STORE_ROOM], name[16];
	int fd = -1;

	if (data == NULL)
		return error_no_memory(err);
	memset(data, 1, SAMPLE);
	snprintf(name, sizeof(name), ".%d", getpid());
	fd = open(store_dirty_path(s, name, path), CHANGE | O_CREAT, 0600);
	if (fd < 0) {
		mem_free(data);
		return error_sys(err, "%s", path);
	}
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		if (!gains(&t, fd, data, pieces[i]))
			break;
		least = (uint32_t)pieces[i];
	}
	atomic_store(&s->state->least, least);
	(void)unlink(path);
	close(fd);
	mem_free(data);
	return 0;
}
