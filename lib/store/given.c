/* SPDX-License-Identifier: BSD-3-Clause */
/* given.c - files that are deleted, whose pages go to the pool (file.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "path.h"
#include "store/file.h"
#include "store/store_impl.h"

/* Is this a file whose pages are worth keeping?  Then it is opened, with a
 * lease, and `to` is a path for it in dirty/. */
static int
keep(struct store *s, int dir, const char *base, char to[STORE_ROOM])
{
	char name[40];
	struct stat is;
	uint64_t bytes = 0;
	int fd = -1;

	if (atomic_load(&store_counts()->locking) ||
	    fstatat(dir, base, &is, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !store_own(&is) || is.st_dev != s->dev)
		return -1;
	store_remember(s, store_pattern(base), (uint64_t)is.st_size);
	bytes = (uint64_t)is.st_blocks * 512;
	if (bytes < STORE_FILE_LEAST || (uint64_t)is.st_size > bytes ||
	    bytes > store_pool_room(s))
		return -1;
	/* For reading: no lease of the process itself is broken. */
	fd = openat(dir, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 &&
	    (!store_lease(fd) || fstat(fd, &is) < 0 || !store_own(&is))) {
		close(fd);
		return -1;
	}
	store_dirty_name(name, sizeof(name));
	store_dirty_path(s, name, to);
	return fd;
}

static bool
were_small(const char *path)
{
	const uint32_t pattern = store_pattern(path_base(path));
	const struct store *s = NULL;

	for (unsigned i = 0; (s = store_at(i)) != NULL; i++)
		if (store_earlier(s, pattern) >= STORE_FILE_LEAST)
			return false;
	return true;
}

/* Is the file too small for the pool?  Its name is remembered, if it is new. */
static bool
learn_small(const char *path, const struct stat *is, bool known)
{
	const uint32_t pattern = store_pattern(path_base(path));
	struct store *s = NULL;

	if ((uint64_t)is->st_blocks * 512 >= STORE_FILE_LEAST)
		return false;
	for (unsigned i = 0; !known && (s = store_at(i)) != NULL; i++)
		if (s->dev == is->st_dev &&
		    store_earlier(s, pattern) == UINT64_MAX)
			store_remember(s, pattern, (uint64_t)is->st_size);
	return true;
}

bool
store_unlink(int dirfd, const char *path)
{
	const int saved = errno;
	char base[NAME_MAX + 1], to[STORE_ROOM];
	struct store *s = NULL;
	struct stat is;
	int dir = -1, fd = -1;
	bool done = false, small = false;

	/* Of files that were small, an eighth is looked at. */
	small = were_small(path);
	if (!store_used() || !store_seems(dirfd, path) ||
	    (small && atomic_fetch_add(&store_counts()->small, 1) % 8 != 0) ||
	    fstatat(dirfd, path, &is, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(is.st_mode) || learn_small(path, &is, small)) {
		errno = saved;
		return false;
	}
	dir = store_enter(dirfd, path, base, &s);
	if (dir >= 0) {
		fd = keep(s, dir, base, to);
		if (fd >= 0) {
			done = store_move(dir, base, AT_FDCWD, to,
					  RENAME_NOREPLACE) == 0;
			close(fd);
		}
		if (done) {
			store_signal(s->state);
			atomic_fetch_add(&store_counts()->given, 1);
		}
		close(dir);
	}
	errno = saved;
	return done;
}

void
store_renaming(int dirfd, const char *path, struct store_kept *k)
{
	const int saved = errno;
	char base[NAME_MAX + 1];
	int dir = -1;

	*k = (struct store_kept){ .fd = -1 };
	if (!store_used())
		return;
	dir = store_enter(dirfd, path, base, &k->store);
	if (dir >= 0) {
		k->fd = keep(k->store, dir, base, k->path);
		if (k->fd >= 0 && linkat(dir, base, AT_FDCWD, k->path, 0) < 0) {
			close(k->fd);
			k->fd = -1;
		}
		close(dir);
	}
	errno = saved;
}

void
store_renamed(struct store_kept *k)
{
	const int saved = errno;
	struct stat is;

	if (k->fd >= 0) {
		/* If it still has its other name, it was not replaced. */
		if (fstat(k->fd, &is) == 0 && is.st_nlink == 1)
			store_signal(k->store->state);
		else
			(void)unlink(k->path);
		close(k->fd);
		k->fd = -1;
	}
	errno = saved;
}

/* Remove files that are not clean yet, of `n` bytes.  Returns their size. */
static uint64_t
drop_dirty(const struct store *s, size_t n)
{
	_Alignas(struct dirent64) char names[4096];
	char path[STORE_ROOM];
	uint64_t freed = 0;
	long got = 0;
	int dir = open(store_dirty_path(s, ".", path),
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* Not readdir(3), which allocates memory. */
	while (freed < n &&
	       (got = syscall(SYS_getdents64, dir, names, sizeof(names))) > 0)
		for (long at = 0; at < got && freed < n;) {
			const struct dirent64 *d = (void *)(names + at);
			struct stat is;

			at += d->d_reclen;
			if (d->d_name[0] != '.' &&
			    fstatat(dir, d->d_name, &is, AT_SYMLINK_NOFOLLOW) ==
				    0 &&
			    unlinkat(dir, d->d_name, 0) == 0)
				freed += (uint64_t)is.st_blocks * 512;
		}
	if (dir >= 0)
		close(dir);
	return freed;
}

bool
store_make_room(int fd, size_t n)
{
	const int saved = errno;
	uint64_t freed = 0;
	struct stat is;
	char path[STORE_ROOM];
	struct store *s = NULL;

	for (unsigned i = 0; (s = store_at(i)) != NULL; i++) {
		struct slot *l = NULL;

		if (fstat(fd, &is) < 0 || is.st_dev != s->dev)
			continue;
		freed += drop_dirty(s, n);
		while (freed < n && (l = store_claim(s, UINT64_MAX)) != NULL) {
			freed += atomic_load(&l->capacity);
			unlink(store_pool_path(
				s, (uint32_t)(l - s->state->slot), path));
			(void)store_slot_swap(s->state, l, SLOT_BUSY,
					      SLOT_EMPTY);
		}
	}
	errno = saved;
	return freed > 0;
}

void
store_locking(void)
{
	atomic_store(&store_counts()->locking, true);
}
