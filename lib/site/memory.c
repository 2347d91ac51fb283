/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/memory.h"

#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "dir.h"
#include "io.h"
#include "store/store.h"
#include "str.h"

/* Memory file systems looked at, and bytes of a list of maps. */
#define MOUNTS_MAX 256
#define MAPS_MAX ((size_t)64 << 20)

/* The next tmpfs, and its root; false: no more. */
static bool
next_tmpfs(FILE *mounts, struct mntent *m, char text[static 2 * PATH_MAX],
	   struct stat *root)
{
	while (getmntent_r(mounts, m, text, 2 * PATH_MAX) != NULL)
		if (str_eq(m->mnt_type, "tmpfs") && stat(m->mnt_dir, root) == 0)
			return true;
	return false;
}

bool
memory_of(const char *dir, struct memory_fs *to)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	char text[2 * PATH_MAX];
	struct mntent m;
	struct stat is, root;
	bool found = false;

	if (mounts == NULL)
		return false;
	if (stat(dir, &is) == 0)
		while (!found && next_tmpfs(mounts, &m, text, &root))
			found = root.st_dev == is.st_dev;
	if (found) {
		const char *huge = hasmntopt(&m, "huge");

		snprintf(to->point, sizeof(to->point), "%s", m.mnt_dir);
		snprintf(to->source, sizeof(to->source), "%s", m.mnt_fsname);
		huge = huge != NULL && huge[4] == '=' ? huge + 5 : "";
		snprintf(to->huge, sizeof(to->huge), "%.*s",
			 (int)strcspn(huge, ","), huge);
	}
	endmntent(mounts);
	return found;
}

/* --- Stores --- */

struct search {
	void (*found)(void *arg, const char *dir);
	void *arg;
	dev_t dev;
};

static void
look_in(const struct search *s, int fd, const char *path, int deeper)
{
	const char *name = NULL;
	struct dir_walk w;
	struct stat is;
	char below[PATH_MAX];
	int rc = 0;

	if (fd < 0)
		return;
	if (fstat(fd, &is) < 0 || is.st_dev != s->dev)
		deeper = 0;
	else if (fstatat(fd, STORE_META, &is, AT_SYMLINK_NOFOLLOW) == 0 &&
		 S_ISDIR(is.st_mode))
		s->found(s->arg, path);
	rc = deeper > 0 ? dir_walk(&w, fd, path, NULL) : -1;
	while (rc == 0 && (name = dir_next(&w)) != NULL)
		if (!str_eq(name, STORE_META) &&
		    (size_t)snprintf(below, sizeof(below), "%s/%s", path,
				     name) < sizeof(below))
			look_in(s, dir_open_plain(fd, name), below, deeper - 1);
	if (deeper > 0)
		(void)dir_done(&w, rc, NULL);
	close(fd);
}

void
memory_stores(void (*found)(void *arg, const char *dir), void *arg)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct search s = { .found = found, .arg = arg };
	char text[2 * PATH_MAX];
	dev_t seen[MOUNTS_MAX];
	size_t count = 0, i = 0;
	struct mntent m;
	struct stat root;

	while (mounts != NULL && count < MOUNTS_MAX &&
	       next_tmpfs(mounts, &m, text, &root)) {
		for (i = 0; i < count && seen[i] != root.st_dev; i++)
			;
		if (i < count)
			continue; /* the same at another place */
		seen[count++] = s.dev = root.st_dev;
		look_in(&s, dir_open(AT_FDCWD, m.mnt_dir), m.mnt_dir, 2);
	}
	if (mounts != NULL)
		endmntent(mounts);
}

/* --- Who uses one --- */

static bool
leads_below(int dirfd, const char *name, const char *dir, size_t len)
{
	char to[PATH_MAX];
	const ssize_t n = readlinkat(dirfd, name, to, sizeof(to) - 1);

	to[n > 0 ? n : 0] = '\0';
	return strncmp(to, dir, len) == 0 && strchr("/ ", to[len]) != NULL;
}

static bool
maps_below(int proc, const char *dir, size_t len)
{
	struct buf maps = BUF_INIT;
	const char *at = NULL;
	bool found = false;

	if (io_read_file(proc, "maps", MAPS_MAX, &maps, NULL) == 0)
		at = maps.data;
	while (!found && at != NULL && (at = strstr(at, dir)) != NULL) {
		found = at[-1] == ' ' && at[len] == '/';
		at += len;
	}
	buf_free(&maps);
	return found;
}

int
memory_user(const char *dir)
{
	const size_t len = strlen(dir);
	const int all = dir_open(AT_FDCWD, "/proc");
	const char *pid = NULL, *name = NULL;
	struct dir_walk w, f;
	int user = 0, rc = 0;

	rc = all < 0 ? -1 : dir_walk(&w, all, "/proc", NULL);
	while (rc == 0 && user == 0 && (pid = dir_next(&w)) != NULL) {
		const int is = atoi(pid);
		const int proc =
			is > 0 && is != getpid() ? dir_open(all, pid) : -1;
		const int fds = proc < 0 ? -1 : dir_open(proc, "fd");
		bool uses = proc >= 0 && (leads_below(proc, "cwd", dir, len) ||
					  maps_below(proc, dir, len));

		if (fds >= 0 && dir_walk(&f, fds, pid, NULL) == 0) {
			while (!uses && (name = dir_next(&f)) != NULL)
				uses = leads_below(fds, name, dir, len);
			(void)dir_done(&f, 0, NULL);
		}
		user = uses ? is : 0;
		io_close(fds);
		io_close(proc);
	}
	if (rc == 0)
		(void)dir_done(&w, rc, NULL);
	io_close(all);
	return user;
}
