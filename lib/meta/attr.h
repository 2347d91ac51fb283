/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attr.h - size, mode, owner and times of a file as metadata records them
 * (keys of formats.md 4.2 and 5.3: SIZE MODE UID GID ATIME_SECS ...).
 */
#ifndef META_ATTR_H
#define META_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct error;
struct kvscan;
struct kvtree;
struct kvwrite;

struct attr {
	uint64_t size;
	bool has_size;
	bool has_owner; /* mode, uid and gid are valid */
	bool has_times; /* atime and mtime are valid; ctime for rewriting */
	uint32_t mode;	/* st_mode with type bits, 0 if absent */
	uint32_t uid, gid;
	struct timespec atime, mtime, ctime;
};

/* Read from the children of `t`; what is not there is left unset; what is
 * there but no number in range is ERROR_CORRUPT. */
int attr_read(const struct kvtree *t, struct attr *out, struct error *err);

/*
 * The same for callers that walk over the children themselves: take one child
 * (1: it was one of ours, 0: it was not, -1: error), collecting in *seen,
 * which starts as 0, what there was; then attr_settle().
 */
int attr_take(const struct kvtree *child, struct attr *a, unsigned *seen,
	      struct error *err);
void attr_settle(struct attr *a, unsigned seen);

/* The same from an image (kvscan.h): the number of children, and they.  Plain
 * is only what attr_write() makes of attributes all of which are set. */
void attr_scan(struct kvscan *s, struct attr *out);

/* Write all that is set as children of `t`, in byte order of the keys
 * (redset headers). */
int attr_write(struct kvtree *t, const struct attr *a, struct error *err);

/* The same to an image (kvwrite.h): the number of children, whose place is
 * `at`, and they. */
void attr_put(struct kvwrite *w, size_t at, const struct attr *a);

/* From a stat(2) result: everything set. */
void attr_from_stat(struct attr *a, const struct stat *st);

/*
 * Give the open file `fd` mode, owner and times (those that are set).  Set-id
 * bits are dropped when the owner cannot be set; failing to change the owner
 * because we are not root is no error.
 */
int attr_apply(const struct attr *a, int fd, const char *name,
	       struct error *err);

#endif /* META_ATTR_H */
