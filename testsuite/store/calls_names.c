/* SPDX-License-Identifier: BSD-3-Clause */
/* calls_names.c - names, directories, attributes and times of files. */
#include <dirent.h>
#include <ftw.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <utime.h>

#include "calls.h"

/* A closed file. */
static void
file(const char *path, int seed)
{
	close(made(path, seed, BIG));
}

CASE(renames, true)
{
	int fd = made("a.tmp", 1, BIG), old = -1;

	R(rename("a.tmp", "a"));
	R(write(fd, data(2, BIG), BIG));
	look("a");
	file("b", 3);
	R(rename("b", "a")); /* which is open */
	R(write(fd, data(4, BIG), BIG));
	look_at(fd, "replaced");
	look("a");
	R(close(fd));
	file("c", 5);
	R(rename("c", "a")); /* nobody has it open */
	look("a");
	R(rename("a", "a"));
	look("a");
	R(link("a", "twin"));
	R(rename("a", "twin"));
	R(renameat(AT_FDCWD, "twin", AT_FDCWD, "a"));
	look("a");
	look("twin");
	file("d", 6);
	R(rename("d", "twin")); /* `a` keeps its bytes */
	look("a");
	look("twin");
	R(rename("missing", "a"));
	R(rename("a", "missing/a"));
	R(mkdir("dir", 0755));
	R(rename("a", "dir"));
	R(rename("dir", "a"));
	R(rename("a", "dir/a"));
	R(rename("dir", "moved"));
	look("moved/a");
	R(rename("moved/a", "a/"));
	R(rename("moved", "moved/in"));
	R(symlink("twin", "link"));
	R(rename("moved/a", "link")); /* not what it leads to */
	look("link");
	look("twin");
	file("x", 7);
	file("y", 8);
	R(renameat2(AT_FDCWD, "x", AT_FDCWD, "y", RENAME_NOREPLACE));
	R(renameat2(AT_FDCWD, "x", AT_FDCWD, "y", RENAME_EXCHANGE));
	look("x");
	look("y");
	R(renameat2(AT_FDCWD, "x", AT_FDCWD, "z", RENAME_NOREPLACE));
	R(renameat2(AT_FDCWD, "z", AT_FDCWD, "y", RENAME_EXCHANGE | 1));
	R(renameat2(AT_FDCWD, "z", AT_FDCWD, "y", 0));
	look("y");
	R(renameat2(AT_FDCWD, "y", AT_FDCWD, "w", 64));
	R(renameat2(AT_FDCWD, "y", AT_FDCWD, "w", RENAME_WHITEOUT));
	look("w");
	R(syscall(SYS_rename, "w", "twin"));
	look("twin");
	old = FD(open("twin", O_RDONLY));
	file("e", 9);
	R(rename("e", "twin"));
	look_at(old, "still read");
	/* Out of this file system, and the parent written to meanwhile. */
	R(rename("twin", "/proc/twin"));
	look("twin");
}

CASE(unlinks, true)
{
	char name[64];
	int fd = made("a", 1, BIG), other = open("a", O_RDONLY);
	char *map = NULL;

	R(unlink("a"));
	R(write(fd, data(2, BIG), BIG));
	look_at(fd, "unlinked, written");
	look_at(other, "for reading");
	R(close(fd));
	look_at(other, "after close");
	file("a", 3);
	look_at(other, "after another");
	R(unlinkat(AT_FDCWD, "a", 0));
	look("a");
	file("b", 4);
	R(link("b", "b2"));
	R(unlink("b"));
	look("b2");
	R(remove("b2"));
	R(unlink("b2"));
	R(symlink("c", "link"));
	file("c", 5);
	R(unlink("link"));
	look("c");
	R(unlink("c/"));
	R(mkdir("dir", 0755));
	R(unlink("dir"));
	R(unlinkat(AT_FDCWD, "dir", AT_REMOVEDIR));
	R(unlinkat(AT_FDCWD, "c", AT_REMOVEDIR));
	R(unlinkat(AT_FDCWD, "c", 0x4000));
	/* A mapping is all that is left of it. */
	fd = open("c", O_RDWR);
	map = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	R(unlink("c"));
	file("d", 6);
	file("e", 7);
	R(memcmp(map, data(5, BIG), BIG));
	memset(map, 'x', BIG);
	look("d");
	look("e");
	/* From a file without a name. */
	fd = open(".", O_TMPFILE | O_RDWR, 0644);
	R(write(fd, data(9, BIG), BIG));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	R(linkat(AT_FDCWD, name, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
	R(write(fd, data(10, BIG), BIG));
	look("named");
	R(unlink("named"));
	R(write(fd, data(11, BIG), BIG));
	look_at(fd, "again");
	syscall(SYS_unlink, "f");
	look("f");
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "many.%d", i);
		fd = made(name, i, i % 50 == 0 ? BIG : SMALL);
	}
	look("many.299");
	look("many.250");
}

CASE(links, true)
{
	int fd = made("a", 1, BIG);
	char to[64];

	R(link("a", "b"));
	R(linkat(AT_FDCWD, "a", AT_FDCWD, "c", 0));
	R(link("a", "b"));
	R(write(fd, data(2, BIG), BIG));
	look("c");
	R(unlink("a"));
	R(write(fd, data(3, BIG), BIG));
	R(symlink("b", "s"));
	R(readlink("s", to, sizeof(to)));
	R(readlink("b", to, sizeof(to)));
	close(FD(open("s", O_WRONLY | O_CREAT, 0600)));
	FD(open("s", O_WRONLY | O_NOFOLLOW));
	look("s");
	look("b");
	FD(creat("a", 0600));
	look("a");
	P(realpath("s", NULL));
	P(realpath("missing", NULL));
}

static int
walk_one(const char *path, const struct stat *is, int type, struct FTW *at)
{
	if (type == FTW_F)
		say("%s %ld %d", path, (long)is->st_size, at->level);
	return 0;
}

CASE(directories, true)
{
	char text[PATH_MAX], far[300];
	struct dirent **list = NULL;
	glob_t found = { 0 };
	int dir = -1, fd = -1;
	DIR *d = NULL;

	R(mkdir("dir", 0777));
	R(mkdir("dir", 0777));
	R(mkdirat(AT_FDCWD, "dir/sub", 0700));
	file("dir/file", 1);
	R(rmdir("dir")); /* not empty */
	FD(open("missing/file", O_CREAT | O_RDWR, 0644));
	memset(far, 'd', 200);
	far[200] = '\0';
	R(mkdir(far, 0755));
	memset(far, 'd', 256);
	far[256] = '\0';
	R(mkdir(far, 0755));
	dir = open("dir", O_RDONLY | O_DIRECTORY);
	R(fchdir(dir));
	fd = made("relative", 2, BIG);
	R(chdir("sub"));
	file("../up", 3);
	R(chdir("../.."));
	look("dir/up");
	look_at(fd, "relative");
	snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	R(readlink(text, far, sizeof(far)) > 20);
	R(symlink("dir", "by.link"));
	file("by.link/through", 4);
	look("dir/through");
	R(rename("dir", "moved"));
	FD(openat(dir, "behind", O_CREAT | O_RDWR, 0644));
	R(write(fd, data(5, BIG), BIG));
	R(nftw("moved", walk_one, 5, FTW_PHYS));
	R(glob("moved/*", 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc; i++)
		say("%s", found.gl_pathv[i]);
	R(scandir("moved", &list, NULL, alphasort));
	d = fdopendir(dup(dir));
	rewinddir(d);
	R(readdir(d) != NULL);
	R(dirfd(d) != dir);
	R(closedir(d));
	d = opendir(".");
	R(telldir(d) >= 0);
	R(closedir(d));
	R(unlinkat(dir, "relative", 0));
	R(openat(dir, "relative", O_RDWR));
	R(renameat(dir, "up", AT_FDCWD, "up"));
	R(statvfs("up", &(struct statvfs){ 0 }));
	R(mknod("node", S_IFREG | 0600, 0));
	fd = FD(open("node", O_WRONLY | O_CREAT, 0644));
	R(write(fd, data(6, BIG), BIG));
	look("node");
	R(mkdir("gone", 0755));
	R(chdir("gone"));
	R(rmdir("../gone"));
	FD(open("file", O_CREAT | O_RDWR, 0644));
}

CASE(attributes, true)
{
	int fd = made("a", 1, BIG);
	char to[100];

	R(chmod("a", 0400));
	R(write(fd, data(2, BIG), BIG));
	R(fchmod(fd, 04755));
	R(write(fd, data(3, BIG), BIG));
	look("a");
	R(fchmodat(AT_FDCWD, "a", 0, 0));
	R(chown("a", 1234, 4321));
	R(write(fd, data(4, BIG), BIG));
	R(fchown(fd, 0, (gid_t)-1));
	R(lchown("a", (uid_t)-1, 77));
	look("a");
	R(fsetxattr(fd, "user.name", "value", 5, 0));
	R(setxattr("a", "user.name", "other", 5, XATTR_CREATE));
	R(setxattr("a", "trusted.name", "other", 5, 0));
	R(write(fd, data(5, BIG), BIG));
	R(fgetxattr(fd, "user.name", to, sizeof(to)));
	R(listxattr("a", to, sizeof(to)));
	R(removexattr("a", "user.name"));
	R(access("a", R_OK));
	R(faccessat(AT_FDCWD, "a", W_OK, 0));
	R(euidaccess("a", X_OK));
	R(close(fd));
	look("a");
	/* Nothing of it is seen in the next file. */
	R(unlink("a"));
	fd = made("a", 6, BIG);
	R(flistxattr(fd, to, sizeof(to)));
	look("a");
	R(mkdir("acl", 0755));
	R(setxattr("acl", "system.posix_acl_default",
		   "\2\0\0\0\1\0\7\0\377\377\377\377\4\0\0\0\377\377\377\377"
		   "\40\0\0\0\377\377\377\377",
		   28, 0));
	file("acl/file", 7);
	look("acl/file");
	R(listxattr("acl/file", to, sizeof(to)));
}

CASE(owners, false)
{
	R(chmod(".", 0777));
	R(seteuid(65534));
	file("theirs", 1);
	look("theirs");
	R(chmod(".", 0755));
	R(unlink("theirs"));
	R(seteuid(0));
	file("ours", 2);
	R(chown("ours", 65534, 65534));
	look("ours");
	R(unlink("ours"));
	R(setegid(4711));
	file("group", 3);
	look("group");
	R(chmod(".", 0755));
	R(seteuid(65534));
	FD(open("refused", O_CREAT | O_RDWR, 0644));
	R(unlink("group"));
	R(rename("group", "taken"));
	look("group");
}

/* --- Times --- */

static struct timespec now;

static bool
before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* What is not older than the last call, and remember the time. */
static void
moved(const char *path, const char *what)
{
	static const struct timespec tick = { 0, 12000000 };
	struct stat is;

	R(stat(path, &is));
	say("%s: %s %s %s", what, before(&is.st_atim, &now) ? "-" : "atime",
	    before(&is.st_mtim, &now) ? "-" : "mtime",
	    before(&is.st_ctim, &now) ? "-" : "ctime");
	nanosleep(&tick, NULL); /* longer than a tick of the kernel */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
}

CASE(times, true)
{
	const struct timespec set[2] = { { 1000000000, 111 },
					 { 1100000000, 222 } };
	struct stat is;
	int fd = -1;

	moved(".", "begin");
	fd = open("a", O_CREAT | O_WRONLY, 0644);
	moved("a", "create");
	moved(".", "of the directory");
	R(write(fd, data(1, BIG), BIG));
	moved("a", "write");
	R(pwrite(fd, data(1, BIG), BIG, 0));
	moved("a", "write within");
	R(fchmod(fd, 0600));
	moved("a", "chmod");
	R(futimens(fd, set));
	R(close(fd)); /* does not change them, nor free what is needed */
	R(stat("a", &is));
	say("%ld %ld %ld %ld", is.st_atim.tv_sec, is.st_atim.tv_nsec,
	    is.st_mtim.tv_sec, is.st_mtim.tv_nsec);
	moved("a", "futimens, close");
	R(rename("a", "b"));
	moved("b", "rename");
	moved(".", "of the directory");
	R(utimensat(AT_FDCWD, "b", set, 0));
	R(utimes("b", NULL));
	R(utime("b", &(struct utimbuf){ 5, 6 }));
	R(stat("b", &is));
	say("%ld %ld", is.st_atim.tv_sec, is.st_mtim.tv_sec);
	R(unlink("b"));
	moved(".", "unlink");
	close(open("empty", O_CREAT | O_WRONLY, 0644));
	moved("empty", "create, close");
	R(creat("empty", 0644) >= 0);
	moved("empty", "creat of an empty one");
	fd = made("kept", 1, BIG);
	now = (struct timespec){ 0, 0 };
	moved("kept", "begin");
	R(close(fd));
	moved("kept", "close");
}

/* --- A name is never missing while files are renamed over it --- */

static _Atomic bool over;
static _Atomic long missing, wrong;

static void *
observe(void *arg)
{
	struct stat is;

	while (!atomic_load(&over)) {
		missing += syscall(SYS_newfstatat, AT_FDCWD, arg, &is, 0) < 0;
		wrong += is.st_size != BIG;
	}
	return arg;
}

CASE(renames_seen, true)
{
	char name[] = "target";
	pthread_t t;

	file("target", 0);
	pthread_create(&t, NULL, observe, name);
	for (int i = 0; i < 30; i++) {
		file("next", i);
		if (rename("next", "target") < 0)
			say("%s", strerror(errno));
	}
	atomic_store(&over, true);
	pthread_join(t, NULL);
	say("missing %ld, wrong size %ld", missing, wrong);
	look("target");
}
