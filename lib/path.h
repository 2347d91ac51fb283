/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.h - normal forms of paths, and opening paths that cannot leave their
 * root.
 *
 * Paths in metadata are untrusted.  The `*_beneath` functions resolve a
 * relative path below an open directory.  "..", an absolute path and a symbolic
 * link that leads out are ERROR_UNSAFE, except for trusted links: owners spread
 * a prefix over file systems with them.
 *
 * A link is trusted if it and the directory that holds it belong to the owner
 * of the root, or to the superuser, and nobody else may write to that
 * directory.  If the owner is neither the superuser nor the caller, what is
 * opened has to belong to the owner, too: else a user could send root anywhere.
 *
 * They use openat2 with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS; then, for
 * links that lead out or without openat2, path_impl.h.
 */
#ifndef PATH_H
#define PATH_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct arena;
struct buf;
struct error;

/*
 * Is `rel` a clean relative path: not empty, not absolute, no empty, "." or
 * ".." component, no trailing slash, at most PATH_MAX - 1 bytes?
 */
bool path_is_clean(const char *rel);

/*
 * Write the textual normal form of `path` to `out`: multiple slashes and "."
 * are removed, and ".." removes the component before it (it is dropped above
 * "/", and kept at the start of a relative path).  The file system is not
 * accessed.  "" becomes ".".
 */
int path_normal(const char *path, struct buf *out, struct error *err);

/* If `path` lies below `root` (both in normal form): the rest of `path` without
 * a leading slash ("" if they are equal), borrowed from `path`.  Else NULL. */
const char *path_below(const char *path, const char *root);

/* Replace the contents of `out` by dir + "/" + name; an empty dir gives
 * `name`. */
int path_join(struct buf *out, const char *dir, const char *name,
	      struct error *err);

/* Write the normal form of `path`, which is absolute or below the working
 * directory, to `out`.  The path may be missing. */
int path_absolute(const char *path, struct buf *out, struct error *err);

/* The normal form of path_join(), allocated in `a`.  NULL: an error. */
const char *path_normal_in(struct arena *a, const char *dir, const char *name,
			   struct error *err);

/* The last component, borrowed ("a/b" -> "b"; without a slash the whole
 * path). */
const char *path_base(const char *path);

/* Is `path`, or a directory above it, a link to something that does not exist?
 * It may be on a file system that is not mounted.  The link, and where it
 * leads, go to `link` and `to`, of PATH_MAX bytes. */
bool path_dangles(int dirfd, const char *path, char *link, char *to);

/* Write the absolute normal form, with symbolic links resolved, to `out`. */
int path_real(const char *path, struct buf *out, struct error *err);

/* Do the file's modes let its owner read it, and search a directory?  That
 * decides for all: root sees what the job would. */
bool path_owner_reads(int fd);

/* Open rel beneath rootfd; `flags` as for open(2), O_CLOEXEC, O_NONBLOCK and
 * O_NOCTTY are added.  With O_CREAT a missing file is created (create.h).
 * What its owner may not read, nobody reads (path_owner_reads()).  Returns a
 * descriptor to close, or -1. */
int path_open_beneath(int rootfd, const char *rel, int flags, mode_t mode,
		      struct error *err);

/* The same of a directory, for reading. */
int path_open_dir(int rootfd, const char *rel, struct error *err);

/* Open the directory `rel` ("": the root) to remove files in it.  Only trusted
 * links that lead out are followed: another one may be a second name of files
 * that something else owns.  -1 with errno: ELOOP for such a link. */
int path_open_trusted(int rootfd, const char *rel);

/* stat(2) of rel beneath rootfd. */
int path_stat_beneath(int rootfd, const char *rel, struct stat *st,
		      struct error *err);

/*
 * Open the parent directory of `rel` (O_PATH | O_DIRECTORY).  If `make`,
 * missing directories are created with `mode` & ~umask.  *base is the last
 * component, borrowed from `rel`.  Returns a descriptor to close, or -1.
 */
int path_open_parent(int rootfd, const char *rel, bool make, mode_t mode,
		     const char **base, struct error *err);

/*
 * A cache of open parent directories, for long lists of files that share
 * directories. pathcache_parent() is path_open_parent() with make = false, but
 * the descriptor is borrowed (valid until the next call).  Threads: one cache,
 * one thread.
 */
struct pathcache; /* opaque */
struct pathcache *pathcache_new(int rootfd);
void pathcache_free(struct pathcache *c);
int pathcache_parent(struct pathcache *c, const char *rel, const char **base,
		     struct error *err);
/* path_stat_beneath() through the cache: one fstatat per file in a cached
 * directory.  A symbolic link is resolved by path_stat_beneath(). */
int pathcache_stat(struct pathcache *c, const char *rel, struct stat *st,
		   struct error *err);

/* The same of a link itself. */
int pathcache_lstat(struct pathcache *c, const char *rel, struct stat *st,
		    struct error *err);

/* Is `rel` certainly missing?  False means unknown.  For long lists of new
 * files: a directory is listed once, when two calls in a row concern it. */
bool pathcache_absent(struct pathcache *c, const char *rel);

/* pathcache_lstat() of a file that is probably missing.  Returns 1; or 0: it is
 * missing. */
int pathcache_look(struct pathcache *c, const char *rel, struct stat *st,
		   struct error *err);

/*
 * Small caches below two roots, such as files and metadata, for each of many
 * threads.  A third root replaces one of them. pathcache_pair_at() returns a
 * borrowed cache, valid until it is replaced, or NULL: ENOMEM.  Initialise to
 * all 0.
 */
struct pathcache_pair {
	struct pathcache *list[2];
	unsigned next;
};
struct pathcache *pathcache_pair_at(struct pathcache_pair *c, int rootfd);
void pathcache_pair_fini(struct pathcache_pair *c);

#endif /* PATH_H */
