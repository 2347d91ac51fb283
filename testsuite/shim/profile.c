/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile.c - preloaded into a command: files behave as on another file system.
 * Environment:
 *
 *   PROFILE=NAME        one of those below
 *   PROFILE_PATH=TEXT   only on a path that contains TEXT
 *   PROFILE_FILE=PATH   append a line "PROFILE CALL PATH" for each call changed
 *
 *   noflock   Lustre without its option flock: no locks
 *   acl-only  a file set with access lists alone, or CIFS: modes, owners and
 *             times cannot be set
 *   quota     over quota, which is noticed when a file is written back
 *   eio       a disk fails when a file is written back
 *   quota-close  over quota, which is noticed when a file is closed
 *   fuse      no sync of directories, and another error than that of nfs
 *   stale     each name answers ESTALE once
 *   short-io  reads and writes end early
 *   nfs       no sync of directories, times in whole seconds, an open file that
 *             is removed gets another name until it is closed, a directory
 *             gives names twice
 *
 * A further fault is a line in `rules`.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "calls.h"
#include "openat2.h"

enum when { ALWAYS, ONCE, ON_DIR, ON_FILE, ON_WRITTEN };

static const struct rule {
	const char *profile;
	enum kind kind;
	int error;
	enum when when;
} rules[] = {
	{ "noflock", KIND_lock, ENOSYS, ALWAYS },
	{ "acl-only", KIND_chmod, EPERM, ALWAYS },
	{ "acl-only", KIND_chown, EPERM, ALWAYS },
	{ "acl-only", KIND_times, EPERM, ALWAYS },
	{ "quota", KIND_sync, EDQUOT, ON_FILE },
	{ "eio", KIND_sync, EIO, ON_FILE },
	{ "stale", KIND_open, ESTALE, ONCE },
	{ "stale", KIND_stat, ESTALE, ONCE },
	{ "nfs", KIND_sync, EINVAL, ON_DIR },
	{ "fuse", KIND_sync, ENOSYS, ON_DIR },
	{ "quota-close", KIND_close, EDQUOT, ON_WRITTEN },
};

/* --- Which file --- */

/* Before glibc 2.33 fstat() is not in the library. */
static int
real_fstat(int fd, struct stat *st)
{
	return (int)REAL(syscall)(SYS_fstat, fd, st);
}

static bool
is_profile(const char *name)
{
	const char *is = getenv("PROFILE");

	return is != NULL && strcmp(is, name) == 0;
}

/* Set path[2 * PATH_MAX] to the path of `name` below `fd` (NULL: of fd itself).
 * Does it count? */
static bool
find_path(int fd, const char *name, char *path)
{
	const char *only = getenv("PROFILE_PATH");

	calls_path(path, fd, name);
	return only != NULL && strstr(path, only) != NULL;
}

static void
report(const char *call, const char *path)
{
	const char *to = getenv("PROFILE_FILE");
	char line[3 * PATH_MAX];
	int fd = to == NULL
			 ? -1
			 : REAL(open)(to, O_WRONLY | O_CREAT | O_APPEND, 0666);

	if (fd < 0)
		return;
	snprintf(line, sizeof(line), "%s %s %s\n", getenv("PROFILE"), call,
		 path);
	(void)!REAL(write)(fd, line, strlen(line));
	REAL(close)(fd);
}

/* Is this the first call on the path?  Many paths share an answer. */
static bool
is_first(const char *path)
{
	static unsigned char seen[1 << 16];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	unsigned hash = 5381;
	bool first = false;

	for (; *path != '\0'; path++)
		hash = hash * 33 + (unsigned char)*path;
	pthread_mutex_lock(&lock);
	first = seen[hash % sizeof(seen)] == 0;
	seen[hash % sizeof(seen)] = 1;
	pthread_mutex_unlock(&lock);
	return first;
}

static bool
is_dir(int fd)
{
	struct stat st;

	return real_fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Is it open for writing? */
static bool
is_written(int fd)
{
	const int flags = REAL(fcntl)(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/* Does the call fail?  Then errno is set. */
static bool
fails(enum kind kind, const char *call, int fd, const char *name)
{
	char path[2 * PATH_MAX];
	const int saved = errno;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *r = &rules[i];

		if (r->kind != kind || !is_profile(r->profile) ||
		    !find_path(fd, name, path) ||
		    (r->when == ONCE && (name == NULL || !is_first(path))) ||
		    (r->when == ON_DIR &&
		     (!is_dir(fd) || strcmp(call, "syncfs") == 0)) ||
		    (r->when == ON_FILE && is_dir(fd)) ||
		    (r->when == ON_WRITTEN && !is_written(fd)))
			continue;
		report(call, path);
		errno = r->error;
		return true;
	}
	errno = saved;
	return false;
}

/* --- Behaviour --- */

static size_t
shortened(int fd, size_t len)
{
	char path[2 * PATH_MAX];

	if (len < 2 || !is_profile("short-io") || !find_path(fd, NULL, path))
		return len;
	report("short", path);
	return len - len / 3;
}

/* Is the file of `st` open in this process as another descriptor than `but`? */
static bool
is_open(const struct stat *st, int but)
{
	struct stat is;

	for (int fd = 0; fd < 1024; fd++)
		if (fd != but && real_fstat(fd, &is) == 0 &&
		    is.st_dev == st->st_dev && is.st_ino == st->st_ino)
			return true;
	return false;
}

/* Removing a file that is open: it gets another name.  Returns whether that was
 * done. */
static bool
hides(int dir, const char *name, int flags)
{
	char path[2 * PATH_MAX], to[64];
	struct stat st;
	const int saved = errno;
	bool done = false;

	if (is_profile("nfs") && (flags & AT_REMOVEDIR) == 0 &&
	    find_path(dir, name, path) &&
	    REAL(syscall)(SYS_newfstatat, dir, name, &st,
			  AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && is_open(&st, -1) &&
	    strstr(path, "/.nfs") == NULL) {
		char *slash = strrchr(path, '/');

		snprintf(to, sizeof(to), "/.nfs%016lx",
			 (unsigned long)st.st_ino);
		report("unlink", path);
		*slash = '\0';
		strcat(path, to);
		done = REAL(renameat)(dir, name, AT_FDCWD, path) == 0;
	}
	errno = saved;
	return done;
}

int
close(int fd)
{
	char path[2 * PATH_MAX] = "";
	struct stat st;
	bool hidden = is_profile("nfs") && find_path(fd, NULL, path) &&
		      strstr(path, "/.nfs") != NULL &&
		      real_fstat(fd, &st) == 0 && !is_open(&st, fd);
	const bool failed = fails(KIND_close, "close", fd, NULL);
	const int saved = errno, rc = REAL(close)(fd);

	if (hidden)
		(void)REAL(unlink)(path);
	if (failed)
		errno = saved;
	return failed ? -1 : rc;
}

/* --- The calls --- */

#define WRAP(type, name, params, args, kind, fd, path) \
	type name params \
	{ \
		if (fails(KIND_##kind, #name, fd, path)) \
			return -1; \
		return REAL(name) args; \
	}

#define SHORT(type, name, params, args, kind, fd, path) \
	type name params \
	{ \
		len = shortened(fd, len); \
		return REAL(name) args; \
	}

#define OPENS(name, params, args, fd) \
	int name params \
	{ \
		const mode_t mode = MODE_AFTER(flags); \
\
		if (fails(KIND_open, #name, fd, path)) \
			return -1; \
		return REAL(name) args; \
	}

/* These have functions of their own below. */
int real_unlink(const char *path);
int real_unlinkat(int dir, const char *path, int flags);
int real_futimens(int fd, const struct timespec times[2]);
#define unlink real_unlink
#define unlinkat real_unlinkat
#define futimens real_futimens
CALLS_OPEN(OPENS)
CALLS_READ(SHORT)
CALLS_PREAD(SHORT)
CALLS_WRITE(SHORT)
CALLS_PLAIN(WRAP)
#undef unlink
#undef unlinkat
#undef futimens

int
unlinkat(int dir, const char *path, int flags)
{
	return hides(dir, path, flags) ? 0 : REAL(unlinkat)(dir, path, flags);
}

int
unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int
futimens(int fd, const struct timespec times[2])
{
	struct timespec whole[2];

	if (fails(KIND_times, "futimens", fd, NULL))
		return -1;
	for (int i = 0; times != NULL && i < 2; i++) {
		whole[i] = times[i];
		if (is_profile("nfs") && whole[i].tv_nsec < 1000000000)
			whole[i].tv_nsec = 0;
	}
	return REAL(futimens)(fd, times != NULL ? whole : NULL);
}

/* Locks of ranges. */
int
fcntl(int fd, int command, ...)
{
	va_list ap;
	void *argument = NULL;

	va_start(ap, command);
	argument = va_arg(ap, void *);
	va_end(ap);
	if ((command == F_OFD_SETLK || command == F_OFD_SETLKW ||
	     command == F_SETLK || command == F_SETLKW) &&
	    fails(KIND_lock, "fcntl", fd, NULL))
		return -1;
	return REAL(fcntl)(fd, command, argument);
}

int
fcntl64(int fd, int command, ...)
{
	va_list ap;
	void *argument = NULL;

	va_start(ap, command);
	argument = va_arg(ap, void *);
	va_end(ap);
	return fcntl(fd, command, argument);
}

/* The C library has no wrapper for openat2. */
long
syscall(long number, ...)
{
	long a[6];

	SYSCALL_ARGUMENTS(number, a);
	if (number == SYS_openat2 &&
	    fails(KIND_open, "openat2", (int)a[0], (const char *)a[1]))
		return -1;
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Every third name comes twice. */
struct dirent *
readdir(DIR *dir)
{
	static __thread struct dirent last;
	static __thread DIR *again;
	static __thread unsigned count;
	char path[2 * PATH_MAX];
	struct dirent *de = NULL;

	if (again == dir) {
		again = NULL;
		return &last;
	}
	de = REAL(readdir)(dir);
	if (de != NULL && is_profile("nfs") && ++count % 3 == 0 &&
	    find_path(dirfd(dir), NULL, path)) {
		memcpy(&last, de, sizeof(last));
		again = dir;
		report("readdir", de->d_name);
	}
	return de;
}

struct dirent64 *
readdir64(DIR *dir)
{
	return (struct dirent64 *)readdir(dir);
}
