/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * taken.c - the files that this process took from the pool, and how they are
 * written (file.h).
 *
 * A descriptor does not say which file it is; fstat(2) does, at each call.  So
 * no call that we do not see can mislead us: it costs speed at most.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mem.h"
#include "path.h"
#include "store/file.h"
#include "store/spill.h"
#include "store/store_impl.h"

#define TAKEN 256

/* A file, mapped.  `users` is one more than the threads that use the mapping;
 * 0: the entry is free, -2: being changed. */
struct taken {
	_Atomic int users;
	_Atomic bool going; /* the last user unmaps it */
	_Atomic int opens;
	pid_t pid; /* that took it */
	dev_t dev;
	ino_t ino;
	unsigned char *base;
	uint64_t capacity;
	uint32_t pattern;
	struct store *store;
	struct slot *slot;
};

/* All that this process knows.  Signal handlers use it, and the child of a
 * vfork() shares it; there is no lock. */
static struct {
	_Atomic unsigned taken; /* entries in use */
	_Atomic unsigned top;	/* and all are below this one */
	struct taken list[TAKEN];
	struct file_counts counts;
} here;

struct file_counts *
store_counts(void)
{
	return &here.counts;
}

/* --- Entries --- */

static void
release(struct taken *t)
{
	atomic_fetch_sub(&t->users, 1);
}

/* The entry of the file `is`, for release(), or NULL. */
static struct taken *
acquire(const struct stat *is)
{
	const unsigned top = atomic_load(&here.top);

	for (struct taken *t = here.list; t < here.list + top; t++) {
		int users = atomic_load(&t->users);

		if (users < 1 || t->ino != is->st_ino || t->dev != is->st_dev ||
		    t->pid != getpid())
			continue;
		while (users >= 1 && !atomic_compare_exchange_weak(
					     &t->users, &users, users + 1))
			continue;
		if (users < 1)
			continue;
		if (t->ino == is->st_ino && t->dev == is->st_dev)
			return t;
		release(t);
	}
	return NULL;
}

static struct taken *
acquire_fd(int fd, struct stat *is)
{
	return atomic_load_explicit(&here.taken, memory_order_relaxed) > 0 &&
			       fstat(fd, is) == 0 && S_ISREG(is->st_mode)
		       ? acquire(is)
		       : NULL;
}

/* --- Create --- */

struct slot *
store_claim(struct store *s, uint64_t size)
{
	struct state *t = s->state;
	unsigned cpu = 0, node = 0;

	(void)syscall(SYS_getcpu, &cpu, &node, NULL);
	for (;;) {
		struct slot *best = NULL;
		uint64_t score = 0;

		for (struct slot *l = t->slot; l < t->slot + STORE_SLOTS; l++) {
			const uint64_t c = atomic_load(&l->capacity);
			uint64_t points = 0;

			if (slot_is(l) != SLOT_CLEAN)
				continue;
			/* Large enough, and the smallest of these; else the
			 * largest one. */
			points = c < size || size == UINT64_MAX
					 ? c
					 : UINT64_MAX / 2 - c;
			points = points / 2 +
				 (l->node == node ? UINT64_MAX / 2 : 0);
			if (best == NULL || points > score) {
				best = l;
				score = points;
			}
		}
		if (best == NULL)
			return NULL;
		if (store_slot_swap(t, best, SLOT_CLEAN, SLOT_BUSY))
			return best;
	}
}

/* A free entry for the file, mapped.  NULL: none. */
static struct taken *
map(struct store *s, struct slot *l, const char *path)
{
	const uint64_t capacity = atomic_load(&l->capacity);
	struct taken *t = here.list;
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	void *base = MAP_FAILED;
	struct stat is;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &is) == 0 && store_own(&is) && is.st_size == 0 &&
	    is.st_dev == s->dev && capacity > 0 &&
	    (uint64_t)is.st_blocks * 512 >= capacity)
		base = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, 0);
	close(fd);
	if (base == MAP_FAILED)
		return NULL;
	/* A child would keep the file in use; it writes by the kernel. */
	(void)madvise(base, capacity, MADV_DONTFORK);
	for (; t < here.list + TAKEN; t++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&t->users, &none, -2))
			break;
	}
	if (t == here.list + TAKEN) {
		munmap(base, capacity);
		return NULL;
	}
	if (atomic_load(&here.top) <= t - here.list)
		atomic_store(&here.top, (unsigned)(t - here.list) + 1);
	t->opens = 1;
	t->pid = getpid();
	t->dev = is.st_dev;
	t->ino = is.st_ino;
	t->base = base;
	t->capacity = capacity;
	t->store = s;
	t->slot = l;
	return t;
}

/* Give the pool file the mode and the group that a new file in `dir` would
 * have.  The kernel knows them: umask, setgid, default ACLs (of which we give
 * none). */
static int
as_new(int fd, const struct taken *t, int dir, mode_t mode)
{
	int like = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	struct stat is, new;
	int rc = -1;

	if (like >= 0 && fstat(like, &new) == 0 && fstat(fd, &is) == 0 &&
	    is.st_ino == t->ino && store_plain(like, fd) &&
	    (is.st_gid == new.st_gid ||
	     fchown(fd, (uid_t)-1, new.st_gid) == 0) &&
	    fchmod(fd, new.st_mode & 07777) == 0)
		rc = futimens(fd, NULL);
	if (like >= 0)
		close(like);
	return rc;
}

/* The lowest free number for the user's descriptor. */
static int
lowest(int fd, int flags)
{
	const int how = (flags & O_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD;
	int low = fcntl(fd, how, 0);

	if (low < 0)
		return fd;
	close(low < fd ? fd : low);
	return low < fd ? low : fd;
}

/* Take slot `l` for the new file `base` in `dir`. */
static int
take(struct store *s, struct slot *l, int dir, const char *base, int flags,
     mode_t mode)
{
	struct state *st = s->state;
	char path[STORE_ROOM];
	struct taken *t = NULL;
	int fd = -1;

	store_pool_path(s, (uint32_t)(l - st->slot), path);
	t = map(s, l, path);
	if (t != NULL) {
		fd = open(path, flags & ~(O_CREAT | O_EXCL | O_TRUNC));
		atomic_store(&l->ino, t->ino);
		atomic_store(&l->before, STORE_NO_WRITE);
		atomic_store(&l->writing, 0);
		(void)store_slot_swap(st, l, SLOT_BUSY, SLOT_TAKEN);
	}
	if (fd >= 0 && as_new(fd, t, dir, mode) == 0 &&
	    store_move(AT_FDCWD, path, dir, base, RENAME_NOREPLACE) == 0) {
		t->pattern = store_pattern(base);
		atomic_fetch_add(&here.taken, 1);
		atomic_store(&t->users, 1);
		atomic_fetch_add(&here.counts.taken, 1);
		return fd;
	}
	/* The name exists, or this is no clean file: whoever tends the store
	 * looks. */
	if (fd >= 0)
		close(fd);
	if (t == NULL) {
		store_slot_orphan(st, l);
		return -1;
	}
	munmap(t->base, t->capacity);
	t->ino = 0;
	atomic_store(&t->users, 0);
	(void)store_slot_swap(st, l, SLOT_TAKEN, SLOT_CLEAN);
	return -1;
}

/* Is a file of the pool there, or a disk, and a large file to be expected?
 * Most files are small, and get their answer here. */
static bool
worthwhile(const char *path)
{
	const uint32_t pattern = store_pattern(path_base(path));
	const struct store *s = NULL;

	for (unsigned i = 0; (s = store_at(i)) != NULL; i++)
		if ((atomic_load(&s->state->clean) > 0 ||
		     s->state->spill[0] == '/') &&
		    store_earlier(s, pattern) >= STORE_FILE_LEAST)
			return true;
	return false;
}

int
store_create(int dirfd, const char *path, int flags, mode_t mode)
{
	char base[NAME_MAX + 1];
	struct store *s = NULL;
	struct slot *l = NULL;
	uint64_t size = 0;
	int dir = -1, fd = -1, saved = 0;

	if ((flags & O_CREAT) == 0 || (flags & O_ACCMODE) == O_RDONLY ||
	    (flags & (O_PATH | O_DIRECTORY | O_DIRECT | O_APPEND)) != 0 ||
	    !store_seems(dirfd, path) || !worthwhile(path))
		return -1;
	saved = errno;
	dir = store_enter(dirfd, path, base, &s);
	if (dir >= 0) {
		size = store_earlier(s, store_pattern(base));
		if (size >= STORE_FILE_LEAST &&
		    faccessat(dir, base, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
		    errno == ENOENT) {
			if (spill_wants(s, size))
				fd = spill_create(s, dir, base, flags, mode);
			else
				l = store_claim(s, size);
		}
		if (l != NULL)
			fd = take(s, l, dir, base, flags, mode);
		close(dir);
		if (fd >= 0)
			fd = lowest(fd, flags);
	}
	errno = saved;
	return fd;
}

/* --- Write --- */

/* Is a mapped copy of `n` bytes faster in this store; in one of them (NULL)? */
static bool
pays(const struct store *s, size_t n)
{
	uint32_t least = s != NULL ? atomic_load(&s->state->least) : 0;
	bool any = least != 0 && n >= least;

	for (unsigned i = 0; s == NULL && !any && store_at(i) != NULL; i++)
		any = pays(store_at(i), n);
	return any;
}

/* May bytes be written through the mapping up to `end`, for all that can be
 * known? */
static bool
may_map(const struct taken *t, int fd, const struct stat *is, uint64_t end)
{
	const int flags = fcntl(fd, F_GETFL);
	struct rlimit most;

	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
	       (flags & O_APPEND) == 0 && end <= t->capacity &&
	       /* nobody made holes */
	       (uint64_t)is->st_blocks * 512 >= t->capacity &&
	       getrlimit(RLIMIT_FSIZE, &most) == 0 &&
	       (most.rlim_cur == RLIM_INFINITY || end <= most.rlim_cur);
}

/* Write the pieces at `off`.  Returns as write(2). */
static ssize_t
put_all(struct taken *t, int fd, const struct iovec *v, int count, off_t off)
{
	ssize_t done = 0, one = 0;

	for (int i = 0; i < count; i++, off += one, done += one) {
		const size_t n = v[i].iov_len;

		one = (ssize_t)n;
		if (pays(t->store, n) &&
		    store_put(fd, t->base, v[i].iov_base, n, off))
			atomic_fetch_add(&here.counts.bytes, n);
		else if (n > 0)
			one = pwrite(fd, v[i].iov_base, n, off);
		if (one < 0)
			return done > 0 ? done : -1;
		if ((size_t)one < n)
			return done + one;
	}
	atomic_fetch_add(&here.counts.writes, 1);
	return done;
}

/*
 * Nothing of this process comes in between, as within a system call: no signal
 * handler, which could jump away, and no cancellation.
 */
static ssize_t
write_mapped(struct taken *t, int fd, const struct iovec *v, int count,
	     off_t off, uint64_t end)
{
	struct slot *l = t->slot;
	sigset_t all, were;
	ssize_t done = 0;
	uint32_t none = 0;
	bool grows = false;
	struct stat is;
	int cancel = 0;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	(void)pthread_sigmask(SIG_BLOCK, &all, &were);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	/* The slot records one write that makes the file larger; a size from
	 * before the slot is ours would be that before another write. */
	if (!atomic_compare_exchange_strong(&l->writing, &none, 1)) {
		done = pwritev(fd, v, count, off);
	} else {
		grows = fstat(fd, &is) == 0 && end > (uint64_t)is.st_size;
		if (grows) {
			atomic_store(&l->after, end);
			/* What others write between the two stays. */
			atomic_store(&l->before,
				     off > is.st_size ? (uint64_t)off
						      : (uint64_t)is.st_size);
		} else {
			atomic_store(&l->writing, 0);
		}
		done = put_all(t, fd, v, count, off);
		if (grows) {
			atomic_store(&l->before, STORE_NO_WRITE);
			atomic_store(&l->writing, 0);
		}
	}
	(void)pthread_setcancelstate(cancel, &cancel);
	(void)pthread_sigmask(SIG_SETMASK, &were, NULL);
	return done;
}

/* At `off`, or at the position, which is moved (-1). */
static ssize_t
write_at(int fd, const struct iovec *v, int count, off_t off)
{
	const int saved = errno;
	const bool moves = off < 0;
	ssize_t done = STORE_KERNEL;
	struct taken *t = NULL;
	size_t n = 0, most = 0;
	struct stat is;

	for (int i = 0; i < count; i++) {
		most = v[i].iov_len > most ? v[i].iov_len : most;
		if (__builtin_add_overflow(n, v[i].iov_len, &n))
			return STORE_KERNEL;
	}
	if (!pays(NULL, most) || n > INT32_MAX ||
	    (t = acquire_fd(fd, &is)) == NULL)
		return STORE_KERNEL;
	if (moves)
		off = lseek(fd, 0, SEEK_CUR);
	if (pays(t->store, most) && off >= 0 && off <= INT64_MAX - INT32_MAX &&
	    may_map(t, fd, &is, (uint64_t)off + n)) {
		/* Another thread or process may write at the same position: who
		 * moves it first owns the bytes, and has to write them. */
		if (moves)
			off = lseek(fd, (off_t)n, SEEK_CUR) - (off_t)n;
		errno = saved;
		done = (uint64_t)off + n <= t->capacity
			       ? write_mapped(t, fd, v, count, off,
					      (uint64_t)off + n)
			       : pwritev(fd, v, count, off);
		if (moves && done < (ssize_t)n)
			(void)lseek(fd, (done < 0 ? 0 : done) - (off_t)n,
				    SEEK_CUR);
	}
	release(t);
	if (done == STORE_KERNEL)
		errno = saved;
	return done;
}

ssize_t
store_write(int fd, const void *data, size_t n)
{
	const struct iovec v = { (void *)(uintptr_t)data, n };

	return n < STORE_WRITE_LEAST ? STORE_KERNEL : write_at(fd, &v, 1, -1);
}

ssize_t
store_pwrite(int fd, const void *data, size_t n, off_t off)
{
	const struct iovec v = { (void *)(uintptr_t)data, n };

	return off < 0 ? STORE_KERNEL : write_at(fd, &v, 1, off);
}

ssize_t
store_writev(int fd, const struct iovec *v, int count)
{
	return count <= 0 || count > IOV_MAX || here.taken == 0
		       ? STORE_KERNEL
		       : write_at(fd, v, count, -1);
}

bool
store_has(int fd, size_t n)
{
	const int saved = errno;
	struct stat is;
	struct taken *t = n < STORE_STREAM ? NULL : acquire_fd(fd, &is);

	if (t != NULL)
		release(t);
	errno = saved;
	return t != NULL;
}

/* --- Close --- */

void
store_duped(int fd)
{
	const int saved = errno;
	struct stat is;
	struct taken *t = acquire_fd(fd, &is);

	if (t != NULL) {
		atomic_fetch_add(&t->opens, 1);
		release(t);
	}
	errno = saved;
}

/*
 * The process gives the file back: `fd` is its last descriptor that we know of,
 * or -1.  Other processes may have the same one, and write: spare pages are
 * left to tend_once(), which can know that all have closed it.
 */
static void
finish(struct taken *t, int fd)
{
	struct state *st = t->store->state;
	uint32_t guesses = atomic_load(&st->guesses);
	bool spare = true;
	struct stat is;

	if (fd >= 0 && fstat(fd, &is) == 0) {
		if (is.st_size < (off_t)STORE_FILE_LEAST && guesses > 0)
			(void)atomic_compare_exchange_strong(
				&st->guesses, &guesses, guesses - 1);
		store_remember(t->store, t->pattern, (uint64_t)is.st_size);
		spare = STORE_ROUND((uint64_t)is.st_size) < t->capacity;
	}
	atomic_store(&t->slot->before, STORE_NO_WRITE);
	/* Nobody gets a lease of a file that is mapped. */
	munmap(t->base, t->capacity);
	if (spare || !store_slot_swap(st, t->slot, SLOT_TAKEN, SLOT_EMPTY))
		store_slot_orphan(st, t->slot);
	t->ino = 0;
	atomic_fetch_sub(&here.taken, 1);
	atomic_store(&t->users, 0);
}

/* Give back the entry, which its caller acquired, unless a write runs. */
static void
give_back(struct taken *t, int fd)
{
	int one = 2;

	if (atomic_compare_exchange_strong(&t->users, &one, -2))
		finish(t, fd);
	else
		release(t);
}

void
store_closing(int fd)
{
	struct taken *t = NULL;
	struct stat is;
	int saved = 0;

	if (atomic_load_explicit(&here.taken, memory_order_relaxed) == 0)
		return;
	saved = errno;
	t = acquire_fd(fd, &is);
	if (t != NULL && atomic_fetch_sub(&t->opens, 1) > 1)
		release(t);
	else if (t != NULL)
		give_back(t, fd);
	errno = saved;
}

void
store_drop(int fd)
{
	const int saved = errno;
	struct stat is;
	struct taken *t = acquire_fd(fd, &is);

	if (t != NULL)
		give_back(t, -1);
	errno = saved;
}

void
store_leave(void)
{
	const int saved = errno;

	for (struct taken *t = here.list;
	     atomic_load(&here.taken) > 0 && t < here.list + TAKEN; t++) {
		int none = 1;

		if (atomic_load(&t->users) == 1 && t->pid == getpid() &&
		    atomic_compare_exchange_strong(&t->users, &none, -2))
			finish(t, -1);
	}
	errno = saved;
}
