/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/tmpfs.h"

#include <fcntl.h>
#include <glob.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "buf.h"
#include "io.h"
#include "str.h"

#define MAPS_MAX ((size_t)64 << 20) /* bytes of a list of maps */

bool
tmpfs_of(const char *dir, struct tmpfs *to)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	char text[2 * PATH_MAX];
	const char *huge = NULL;
	struct stat is, root;
	struct mntent m;
	bool found = false;

	if (mounts == NULL)
		return false;
	if (stat(dir, &is) == 0)
		while (!found &&
		       getmntent_r(mounts, &m, text, sizeof(text)) != NULL)
			found = str_eq(m.mnt_type, "tmpfs") &&
				stat(m.mnt_dir, &root) == 0 &&
				root.st_dev == is.st_dev;
	if (found) {
		huge = hasmntopt(&m, "huge");
		huge = huge != NULL && huge[4] == '=' ? huge + 5 : "";
		snprintf(to->point, sizeof(to->point), "%s", m.mnt_dir);
		snprintf(to->source, sizeof(to->source), "%s", m.mnt_fsname);
		snprintf(to->huge, sizeof(to->huge), "%.*s",
			 (int)strcspn(huge, ","), huge);
	}
	endmntent(mounts);
	return found;
}

const char *
tmpfs_best_huge(void)
{
	int major = 0, minor = 0;
	struct utsname u;

	/* Before, pages behind the end of a file were not within its size. */
	if (uname(&u) < 0 || sscanf(u.release, "%d.%d", &major, &minor) != 2 ||
	    major < 6 || (major == 6 && minor < 12))
		return "always";
	return "within_size";
}

/* Is `dir` at `at`, whole?  An end of a line or a deleted file may follow. */
static bool
is_below(const char *at, const char *dir)
{
	const size_t len = strlen(dir);

	return strncmp(at, dir, len) == 0 && strchr("/ ", at[len]) != NULL;
}

int
tmpfs_user(const char *dir)
{
	char to[PATH_MAX];
	struct buf maps = BUF_INIT;
	const char *at = NULL;
	int user = 0, pid = 0;
	ssize_t n = 0;
	glob_t g;

	(void)glob("/proc/[0-9]*/fd/*", GLOB_NOSORT, NULL, &g);
	(void)glob("/proc/[0-9]*/cwd", GLOB_NOSORT | GLOB_APPEND, NULL, &g);
	(void)glob("/proc/[0-9]*/maps", GLOB_NOSORT | GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && user == 0; i++) {
		const char *path = g.gl_pathv[i];

		pid = (int)strtol(path + strlen("/proc/"), NULL, 10);
		if (pid == getpid())
			continue;
		n = readlink(path, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		if (is_below(to, dir))
			user = pid;
		else if (str_ends(path, "/maps") &&
			 io_read_file(AT_FDCWD, path, MAPS_MAX, &maps, NULL) ==
				 0)
			for (at = maps.len > 0 ? maps.data : NULL;
			     at != NULL && user == 0; at = strchr(at + 1, '/'))
				user = is_below(at, dir) ? pid : 0;
	}
	buf_free(&maps);
	globfree(&g);
	return user;
}
