/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.h - paths that cannot leave their root, and roots that have moved.
 *
 * Paths that come out of metadata are untrusted.  The `*_beneath` functions
 * resolve a relative path below an open directory: "..", an absolute path and
 * a symbolic link that leads out are ERROR_UNSAFE (openat2 RESOLVE_BENEATH |
 * RESOLVE_NO_MAGICLINKS; where the kernel has no openat2, a walk, component by
 * component, with O_NOFOLLOW that refuses every link).
 */
#ifndef PATH_H
#define PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct buf;
struct error;

/*
 * Is `rel` a clean relative path: not empty, not absolute, no empty, "." or
 * ".." component, no trailing slash, at most PATH_MAX - 1 bytes?
 */
bool path_is_clean(const char *rel);

/*
 * Write to `out` the textual normal form of `path`: multiple slashes and "."
 * go, ".." takes away the component before it (never above "/", kept at the
 * start of a relative path).  No file is looked at.  "" becomes ".".
 */
int path_normal(const char *path, struct buf *out, struct error *err);

/* If `path` (normal form) lies below `root` (normal form): the rest, without
 * a leading slash ("" where they are equal), borrowed from `path`; else
 * NULL. */
const char *path_below(const char *path, const char *root);

/* dir + "/" + name, replacing what `out` held; an empty dir gives `name`. */
int path_join(struct buf *out, const char *dir, const char *name,
	      struct error *err);

/* Last component, borrowed ("a/b" -> "b"; no slash: the whole). */
const char *path_base(const char *path);

/* Absolute normal form with symbolic links resolved, into `out`. */
int path_real(const char *path, struct buf *out, struct error *err);

/* open(2) of rel beneath rootfd; `flags` as open(2) (O_CLOEXEC is added). */
int path_open_beneath(int rootfd, const char *rel, int flags, mode_t mode,
		      struct error *err);

/* fstatat of rel beneath rootfd; follows only links that stay beneath. */
int path_stat_beneath(int rootfd, const char *rel, struct stat *st,
		      struct error *err);

/*
 * Open the directory that holds `rel` (O_PATH | O_DIRECTORY), making missing
 * ones with `mode` & ~umask if `make`.  *base borrows the last component from
 * `rel`.  Returns a descriptor to close, or -1.
 */
int path_open_parent(int rootfd, const char *rel, bool make, mode_t mode,
		     const char **base, struct error *err);

/* Is there nothing in the directory open as `fd`?  False, too, where it cannot
 * be read; its place in it moves. */
bool path_is_empty_dir(int fd);

/*
 * A cache of open parent directories, for long lists of files of which many
 * share a directory.  pathcache_parent() is path_open_parent() with
 * make = false, but the descriptor is borrowed (valid until the next call).
 * Threads: one cache, one thread.
 */
struct pathcache; /* opaque */
struct pathcache *pathcache_new(int rootfd);
void pathcache_free(struct pathcache *c);
int pathcache_parent(struct pathcache *c, const char *rel, const char **base,
		     struct error *err);
/* stat through the cache: one fstatat per file where the directory is known;
 * a symbolic link is then resolved by path_stat_beneath(). */
int pathcache_stat(struct pathcache *c, const char *rel, struct stat *st,
		   struct error *err);

/*
 * Is there certainly nothing at `rel`, its directory missing or empty?  False:
 * look for yourself.  A directory is read once, and only when it is asked about
 * twice in a row: for long lists of files to be made.
 */
bool pathcache_vacant(struct pathcache *c, const char *rel);

/*
 * Small caches below two roots, files and metadata, say, for each of many
 * threads: a third root takes the place of one.  Borrowed until then; NULL:
 * ENOMEM.  Start: all 0.
 */
struct pathcache_pair {
	struct pathcache *list[2];
	unsigned next;
};
struct pathcache *pathcache_pair_at(struct pathcache_pair *c, int rootfd);
void pathcache_pair_fini(struct pathcache_pair *c);

#endif /* PATH_H */
