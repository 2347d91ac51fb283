/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/attr.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "kvtree/fields.h"

/* No file is larger, and the sum of two sizes does not wrap. */
#define SIZE_LIMIT ((uint64_t)INT64_MAX)
#define NSEC_LIMIT UINT64_C(999999999)

#define AT(member) .at = offsetof(struct attr, member)
#define HAS(member) .has = offsetof(struct attr, member)
#define OWNER HAS(has_owner)
#define TIMES HAS(has_times)

/* In byte order of the keys.  Seconds are written as unsigned long, so a time
 * before 1970 wraps.  Nanoseconds alone are not a time. */
static const struct field fields[] = {
	{ "ATIME_NSECS", FIELD_U64, AT(atime.tv_nsec), NSEC_LIMIT, TIMES,
	  .optional = true },
	{ "ATIME_SECS", FIELD_U64, AT(atime.tv_sec), UINT64_MAX, TIMES },
	{ "CTIME_NSECS", FIELD_U64, AT(ctime.tv_nsec), NSEC_LIMIT, TIMES,
	  .optional = true },
	{ "CTIME_SECS", FIELD_U64, AT(ctime.tv_sec), UINT64_MAX, TIMES,
	  .optional = true },
	{ "GID", FIELD_U32, AT(gid), UINT32_MAX, OWNER },
	{ "MODE", FIELD_U32, AT(mode), UINT32_MAX, OWNER },
	{ "MTIME_NSECS", FIELD_U64, AT(mtime.tv_nsec), NSEC_LIMIT, TIMES,
	  .optional = true },
	{ "MTIME_SECS", FIELD_U64, AT(mtime.tv_sec), UINT64_MAX, TIMES },
	{ "SIZE", FIELD_U64, AT(size), SIZE_LIMIT, HAS(has_size) },
	{ "UID", FIELD_U32, AT(uid), UINT32_MAX, OWNER },
};

#define NFIELDS (sizeof(fields) / sizeof(fields[0]))

_Static_assert(sizeof(time_t) == 8 && sizeof(long) == 8, "times of 64 bits");

int
attr_read(const struct kvtree *t, struct attr *out, struct error *err)
{
	memset(out, 0, sizeof(*out));
	return fields_read(fields, NFIELDS, t, out, err) < 0 ? -1 : 0;
}

int
attr_write(struct kvtree *t, const struct attr *a, struct error *err)
{
	return fields_write(fields, NFIELDS, t, a, err);
}

void
attr_from_stat(struct attr *a, const struct stat *st)
{
	memset(a, 0, sizeof(*a));
	a->has_size = a->has_owner = a->has_times = true;
	a->size = (uint64_t)st->st_size;
	a->mode = st->st_mode;
	a->uid = st->st_uid;
	a->gid = st->st_gid;
	a->atime = st->st_atim;
	a->mtime = st->st_mtim;
	a->ctime = st->st_ctim;
}

bool
attr_unchanged(const struct attr *a, const struct stat *st)
{
	const struct timespec *is = &st->st_mtim;

	return (uint64_t)st->st_size == a->size &&
	       (!a->has_times ||
		(is->tv_sec == a->mtime.tv_sec &&
		 (is->tv_nsec == 0 ||
		  is->tv_nsec / 1000 == a->mtime.tv_nsec / 1000)));
}

/* The error of a value that cannot be set.  1: the file system refuses it. */
static int
refused(const char *name, const char *what, struct error *err)
{
	const bool refuses = errno == EPERM || errno == EOPNOTSUPP ||
			     errno == ENOSYS || errno == ENOTTY;

	error_sys(err, "%s: cannot %s", name, what);
	return refuses ? 1 : -1;
}

int
attr_apply(const struct attr *a, int fd, const char *name, struct owner owner,
	   const struct stat *is, struct error *err)
{
	const struct timespec times[2] = { a->atime, a->mtime };
	mode_t mode = (mode_t)(a->mode & 0777);
	struct stat st;
	int rc = 0;

	/* Set mode, and the owner, or else the recorded group. */
	if (a->has_owner) {
		if (is == NULL && fstat(fd, &st) < 0)
			return error_sys(err, "%s: cannot stat", name);
		is = is != NULL ? is : &st;
		/* A directory inherits the group of the one above, and the
		 * bit. */
		if (S_ISDIR(is->st_mode))
			mode |= is->st_mode & S_ISGID;
		if (owner.set &&
		    (is->st_uid != owner.uid || is->st_gid != owner.gid))
			rc = create_give(fd, owner);
		else if (!owner.set && is->st_gid != a->gid && geteuid() != 0)
			rc = fchown(fd, (uid_t)-1, a->gid);
		/* Another group than the user's (EPERM), or one that is unknown
		 * to the user namespace (EINVAL), is not reported. */
		rc = rc == 0 || errno == EPERM || errno == EINVAL
			     ? 0
			     : refused(name, "change the owner", err);
		if (rc >= 0 && (is->st_mode & 07777) != mode &&
		    fchmod(fd, mode) < 0)
			rc = refused(name, "change the mode", err);
	}
	if (rc < 0 || !a->has_times || futimens(fd, times) == 0)
		return rc;
	return refused(name, "set the times", err);
}
