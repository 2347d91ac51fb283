/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attr.h - size, mode, owner and times of a file as metadata records them
 * (keys of scr-dataset(5) and scr-redset(5): SIZE MODE UID GID ATIME_SECS ...).
 */
#ifndef META_ATTR_H
#define META_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "create.h"

struct error;
struct kvtree;

struct attr {
	uint64_t size;
	bool has_size;
	bool has_owner; /* mode, uid and gid are valid */
	bool has_times; /* atime and mtime are valid; ctime for rewriting */
	uint32_t mode;	/* st_mode with type bits, 0 if absent */
	uint32_t uid, gid;
	struct timespec atime, mtime, ctime;
};

/* Read from the children of `t`.  Absent attributes stay unset; a value that is
 * not a number in range is ERROR_CORRUPT. */
int attr_read(const struct kvtree *t, struct attr *out, struct error *err);

/* Write the attributes that are set as children of `t`, keys in byte order (as
 * in redset headers). */
int attr_write(struct kvtree *t, const struct attr *a, struct error *err);

/* Set all attributes from a stat(2) result. */
void attr_from_stat(struct attr *a, const struct stat *st);

/* Has the file kept its size, and the time of its last change?  A file system
 * may keep less than nanoseconds. */
bool attr_unchanged(const struct attr *a, const struct stat *st);

/*
 * Set the recorded mode and times of the open file `fd`. Metadata are
 * untrusted: set-id and sticky bits are left out, and the file gets `owner`
 * (create.h), never the recorded one.  A user who is not root gets the recorded
 * group, if he is a member of it.  `is` holds the owner and mode that the file
 * has (NULL: unknown); values that are already right are not set again.
 *
 * Returns 1 if the file system refuses any of them, with the reason in *err
 * (access lists rule it, or it has no modes): the dataset is whole without
 * them.
 */
int attr_apply(const struct attr *a, int fd, const char *name,
	       struct owner owner, const struct stat *is, struct error *err);

#endif /* META_ATTR_H */
