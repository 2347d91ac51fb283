/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spill.h - move files of a store to a disk, when its memory gets short.
 *
 * The files may use the size of the store less that of its pool, which is kept
 * for new files.  If they use more, whole files go to the disk, those that were
 * changed longest ago first: files of STORE_FILE_LEAST bytes or more, without
 * holes, with one name, that nobody has open.  A file is copied and synced, and
 * a lease makes wait who opens it.  Then, in one step, a symbolic link to the
 * copy takes its name, and it goes to dirty/, for the pool.
 *
 * The copies are in a directory of the store's own, SPILL/HOST-XXXXXX, to which
 * STORE/.scrkit-store/spill leads.  They outlive their links: a program may
 * have copied a link, or moved it out of the store (mv, cp -a).  They are
 * removed by spill_forget(), before libscr deletes its files, and by
 * spill_sweep(), if the user asks for it.
 */
#ifndef STORE_SPILL_H
#define STORE_SPILL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct error;
struct pace;
struct store;

/*
 * Move files for about a second, or until there is room or p->stop() says so.
 * Adds their number to *count.  Without SPILL there is nothing to do.  After an
 * error, the files that were not moved are as before.  Not by two threads or
 * processes at once: tend_once() sees to that.
 */
int spill_once(struct store *s, struct pace *p, uint64_t *count,
	       struct error *err);

/* Remove copies to which no link in the store leads, some seconds old, which
 * nobody has open.  Adds their number to *count. */
int spill_sweep(struct store *s, uint64_t *count, struct error *err);

/* Is there no room in memory for a new file of `size` bytes (UINT64_MAX:
 * unknown), but on a disk? */
bool spill_wants(const struct store *s, uint64_t size);

/*
 * open(2) of a new file that has no room in memory: it is on the disk from its
 * first byte on, and `base` in the directory `dir` is a link to it.  Returns a
 * descriptor, or -1 with errno.  Signal handlers may call it.
 */
int spill_create(const struct store *s, int dir, const char *base, int flags,
		 mode_t mode);

/* Write the path of the directory of the copies to `to`; "": there is none. */
char *spill_dir(const struct store *s, char to[static PATH_MAX]);
/* Append the name of a new copy of `base` to such a path.  False: there is
 * none, or it is too long. */
bool spill_path(char to[static PATH_MAX], const char *base);

/* Remove the copies to which links in `name` below `dirfd` lead, a directory of
 * the caller's own store `dir` that will be deleted.  Without this, they are
 * removed when the store is tended. */
void spill_forget(const char *dir, int dirfd, const char *name);

/* May a file be spilled in this directory?  In others our commands would not
 * follow the link (path.h). */
bool spill_trusts(const struct stat *dir);

#endif /* STORE_SPILL_H */
