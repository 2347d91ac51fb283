/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * create.h - the only module that creates files and directories.
 *
 * If root works on the prefix of a user, new files must belong to the user, or
 * the user's next job cannot replace them.  Each new file therefore gets the
 * owner and group of the prefix or cache that contains it; outside of these,
 * those of the given directory.  Only root can give files away, so other users
 * keep what they create.
 */
#ifndef CREATE_H
#define CREATE_H

#include <stdbool.h>
#include <sys/types.h>

/* The owner of new files.  If `set` is false, their owner is not changed. */
struct owner {
	bool set;
	uid_t uid;
	gid_t gid;
};

/*
 * Return the owner of new files in or below `dirfd` (AT_FDCWD allowed).  In a
 * metadata directory (".scr", or one in it) this is the owner of the directory
 * that holds the outermost ".scr".
 */
struct owner create_owner(int dirfd);

/*
 * Create the file `name` in `dirfd` with `mode` & ~umask, and open it; `flags`
 * as for open(2), with O_CREAT, O_EXCL, O_NOFOLLOW and O_CLOEXEC added.
 * Returns a descriptor to close, or -1 with errno: EEXIST if anything has that
 * name.
 */
int create_file(int dirfd, const char *name, int flags, mode_t mode,
		struct owner owner);

/* Create the directory `name` in `dirfd` with `mode` & ~umask.  -1 with errno:
 * EEXIST if anything has that name. */
int create_dir(int dirfd, const char *name, mode_t mode, struct owner owner);

/* The same for a path that the user chose. */
int create_dir_path(const char *path, mode_t mode);

/*
 * May the open file, below `dirfd`, be changed?  A user can link another user's
 * file into the prefix.  So root changes a file with several links only if the
 * file belongs to create_owner() of `dirfd`.
 */
bool create_may_change(int dirfd, int fd);

/* Give the open file to `owner`.  -1 with errno. */
int create_give(int fd, struct owner owner);

#endif /* CREATE_H */
