/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * create.h - create files and directories: nobody else does.
 *
 * If root works on the prefix of a user, what is created must belong to the
 * user, or the user's next job cannot replace it.  Everything new therefore
 * gets the owner and group of the prefix or cache that it lies in; elsewhere,
 * those of the directory that is given.  The files of other users than root are
 * their own in any case.
 */
#ifndef CREATE_H
#define CREATE_H

#include <stdbool.h>
#include <sys/types.h>

/* The owner of new files.  If `set` is false, they stay as they are created. */
struct owner {
	bool set;
	uid_t uid;
	gid_t gid;
};

/* The owner of what is created in or below `dirfd` (AT_FDCWD allowed).  In a
 * metadata directory (".scr", or one in it) it is the owner of the directory
 * that holds the outermost ".scr". */
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

/* May the open file, below `dirfd`, be changed?  A user can link a file of
 * somebody else into his prefix: root changes one with several names only if it
 * belongs to the owner of what is created there. */
bool create_may_change(int dirfd, int fd);

/* Give the open file to `owner`.  -1 with errno. */
int create_give(int fd, struct owner owner);

#endif /* CREATE_H */
