/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dirtest.h - what tests of the lowest floor do with files of a directory
 * that is known by its descriptor.  Tests further up have scratch.h.
 */
#ifndef UNIT_DIRTEST_H
#define UNIT_DIRTEST_H

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For nftw(): remove a whole tree. */
static inline int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void
put_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("# cannot write %s\n", name);
	close(fd);
}

/* Does the file hold `text`, and nothing else? */
static inline bool
holds(int dir, const char *name, const char *text)
{
	char got[64] = "";
	int fd = openat(dir, name, O_RDONLY);
	ssize_t n = read(fd, got, sizeof(got) - 1);

	close(fd);
	return n == (ssize_t)strlen(text) && strcmp(got, text) == 0;
}

static inline bool
exists(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline int
mode_of(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0
		       ? (int)(st.st_mode & 07777)
		       : -1;
}

#endif /* UNIT_DIRTEST_H */
