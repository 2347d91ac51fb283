/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "meta/kvscan.h"
#include "meta/kvtree.h"
#include "meta/kvwrite.h"
#include "meta/value.h"

/* No file is larger, and the sum of two sizes does not wrap. */
#define SIZE_LIMIT ((uint64_t)INT64_MAX)
#define NSEC_LIMIT UINT64_C(999999999)

/* The keys found. */
enum {
	SEEN_SIZE = 1 << 0,
	SEEN_MODE = 1 << 1,
	SEEN_UID = 1 << 2,
	SEEN_GID = 1 << 3,
	SEEN_ATIME = 1 << 4,
	SEEN_MTIME = 1 << 5,
	SEEN_CTIME = 1 << 6,
	SEEN_OWNER = SEEN_MODE | SEEN_UID | SEEN_GID,
	SEEN_TIMES = SEEN_ATIME | SEEN_MTIME,
	NSECS = 3, /* bits from seconds to nanoseconds */
	SEEN_KEYS = 10,
};

/* Read xTIME_SECS or xTIME_NSECS into `to`.  Only the seconds set `bit`,
 * because nanoseconds alone are not a time. */
static int
take_time(const struct kvtree *child, struct timespec *to, unsigned bit,
	  unsigned *seen, struct error *err)
{
	const char *key = kvtree_key(child) + 1;
	uint64_t n = 0;

	if (strcmp(key, "TIME_SECS") == 0) {
		/* Written as unsigned long, so a time before 1970 wraps. */
		if (value_u64(child, UINT64_MAX, &n, err) < 0)
			return -1;
		to->tv_sec = (time_t)n;
		*seen |= bit;
		return 1;
	}
	if (strcmp(key, "TIME_NSECS") == 0) {
		if (value_u64(child, NSEC_LIMIT, &n, err) < 0)
			return -1;
		to->tv_nsec = (long)n;
		return 1;
	}
	return 0;
}

static int
take_u32(const struct kvtree *child, uint32_t *to, unsigned bit, unsigned *seen,
	 struct error *err)
{
	if (value_u32(child, UINT32_MAX, to, err) < 0)
		return -1;
	*seen |= bit;
	return 1;
}

int
attr_take(const struct kvtree *child, struct attr *a, unsigned *seen,
	  struct error *err)
{
	const char *key = kvtree_key(child);

	/* Switch on the first letter, as this runs for each key of each
	 * file. */
	switch (key[0]) {
	case 'A':
		return take_time(child, &a->atime, SEEN_ATIME, seen, err);
	case 'C':
		return key[1] == 'T' ? take_time(child, &a->ctime, SEEN_CTIME,
						 seen, err)
				     : 0;
	case 'G':
		return strcmp(key, "GID") == 0
			       ? take_u32(child, &a->gid, SEEN_GID, seen, err)
			       : 0;
	case 'M':
		if (strcmp(key, "MODE") == 0)
			return take_u32(child, &a->mode, SEEN_MODE, seen, err);
		return take_time(child, &a->mtime, SEEN_MTIME, seen, err);
	case 'S':
		if (strcmp(key, "SIZE") != 0)
			return 0;
		if (value_u64(child, SIZE_LIMIT, &a->size, err) < 0)
			return -1;
		*seen |= SEEN_SIZE;
		return 1;
	case 'U':
		return strcmp(key, "UID") == 0
			       ? take_u32(child, &a->uid, SEEN_UID, seen, err)
			       : 0;
	default:
		return 0;
	}
}

void
attr_settle(struct attr *a, unsigned seen)
{
	a->has_size = (seen & SEEN_SIZE) != 0;
	a->has_owner = (seen & SEEN_OWNER) == SEEN_OWNER;
	a->has_times = (seen & SEEN_TIMES) == SEEN_TIMES;
}

int
attr_read(const struct kvtree *t, struct attr *out, struct error *err)
{
	const struct kvtree *child = NULL;
	unsigned seen = 0;

	memset(out, 0, sizeof(*out));
	kvtree_foreach (child, t)
		if (attr_take(child, out, &seen, err) < 0)
			return -1;
	attr_settle(out, seen);
	return 0;
}

/* Return `bit` for seconds, or `bit` << NSECS for nanoseconds. */
static unsigned
scan_time(struct kvscan *s, struct timespec *to, unsigned bit)
{
	uint64_t n = 0;

	if (KVSCAN_ONE(s, "TIME_SECS")) {
		to->tv_sec = (time_t)kvscan_u64(s);
		return bit;
	}
	if (KVSCAN_ONE(s, "TIME_NSECS")) {
		n = kvscan_u64(s);
		to->tv_nsec = (long)n;
		if (n <= NSEC_LIMIT)
			return bit << NSECS;
	}
	s->odd = true;
	return 0;
}

static unsigned
scan_child(struct kvscan *s, struct attr *a)
{
	if (KVSCAN_ONE(s, "SIZE")) {
		a->size = kvscan_u64(s);
		return SEEN_SIZE;
	}
	if (KVSCAN_ONE(s, "MODE")) {
		a->mode = kvscan_u32(s);
		return SEEN_MODE;
	}
	if (KVSCAN_ONE(s, "UID")) {
		a->uid = kvscan_u32(s);
		return SEEN_UID;
	}
	if (KVSCAN_ONE(s, "GID")) {
		a->gid = kvscan_u32(s);
		return SEEN_GID;
	}
	switch (s->p < s->end ? *s->p++ : 0) {
	case 'A':
		return scan_time(s, &a->atime, SEEN_ATIME);
	case 'M':
		return scan_time(s, &a->mtime, SEEN_MTIME);
	case 'C':
		return scan_time(s, &a->ctime, SEEN_CTIME);
	default:
		s->odd = true;
		return 0;
	}
}

void
attr_scan(struct kvscan *s, struct attr *out)
{
	unsigned seen = 0;

	memset(out, 0, sizeof(*out));
	if (kvscan_count(s) != SEEN_KEYS)
		s->odd = true;
	for (int i = 0; i < SEEN_KEYS && !s->odd; i++)
		seen |= scan_child(s, out);
	/* All keys were found, and there are no more: none occurs twice. */
	if (seen != (1u << SEEN_KEYS) - 1)
		s->odd = true;
	attr_settle(out, seen);
}

/* Nanoseconds come before seconds: byte order of the keys. */
static int
write_time(struct kvtree *t, const char *nsecs, const char *secs,
	   const struct timespec *ts, struct error *err)
{
	if (kvtree_set_u64(t, nsecs, (uint64_t)ts->tv_nsec, err) < 0)
		return -1;
	return kvtree_set_u64(t, secs, (uint64_t)ts->tv_sec, err);
}

int
attr_write(struct kvtree *t, const struct attr *a, struct error *err)
{
	if (a->has_times &&
	    (write_time(t, "ATIME_NSECS", "ATIME_SECS", &a->atime, err) < 0 ||
	     write_time(t, "CTIME_NSECS", "CTIME_SECS", &a->ctime, err) < 0))
		return -1;
	if (a->has_owner && (kvtree_set_u64(t, "GID", a->gid, err) < 0 ||
			     kvtree_set_u64(t, "MODE", a->mode, err) < 0))
		return -1;
	if (a->has_times &&
	    write_time(t, "MTIME_NSECS", "MTIME_SECS", &a->mtime, err) < 0)
		return -1;
	if (a->has_size && kvtree_set_u64(t, "SIZE", a->size, err) < 0)
		return -1;
	if (a->has_owner && kvtree_set_u64(t, "UID", a->uid, err) < 0)
		return -1;
	return 0;
}

static uint32_t
put_time(struct kvwrite *w, const char *nsecs, const char *secs,
	 const struct timespec *ts)
{
	kvwrite_u64(w, nsecs, (uint64_t)ts->tv_nsec);
	kvwrite_u64(w, secs, (uint64_t)ts->tv_sec);
	return 2;
}

void
attr_put(struct kvwrite *w, size_t at, const struct attr *a)
{
	uint32_t n = 0;

	if (a->has_times) {
		n += put_time(w, "ATIME_NSECS", "ATIME_SECS", &a->atime);
		n += put_time(w, "CTIME_NSECS", "CTIME_SECS", &a->ctime);
	}
	if (a->has_owner) {
		kvwrite_u64(w, "GID", a->gid);
		kvwrite_u64(w, "MODE", a->mode);
		n += 2;
	}
	if (a->has_times)
		n += put_time(w, "MTIME_NSECS", "MTIME_SECS", &a->mtime);
	if (a->has_size) {
		kvwrite_u64(w, "SIZE", a->size);
		n++;
	}
	if (a->has_owner) {
		kvwrite_u64(w, "UID", a->uid);
		n++;
	}
	kvwrite_set_count(w, at, n);
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

/* Set owner and group of a file that has those of `is`, as far as permitted.
 * Return 1 if the file has both now, 0 if not.  An id unknown to the user
 * namespace (EINVAL) is no error, like EPERM. */
static int
apply_owner(const struct attr *a, int fd, const char *name,
	    const struct stat *is, struct error *err)
{
	if (is->st_uid == a->uid && is->st_gid == a->gid)
		return 1;
	if (fchown(fd, a->uid, a->gid) == 0)
		return 1;
	if (errno != EPERM && errno != EINVAL)
		return error_sys(err, "%s: cannot change the owner", name);
	/* A user may give a file to any of his own groups. */
	if (is->st_gid != a->gid && fchown(fd, (uid_t)-1, a->gid) == 0)
		return is->st_uid == a->uid;
	return 0;
}

static int
apply_access(const struct attr *a, int fd, const char *name,
	     const struct stat *is, struct error *err)
{
	mode_t mode = (mode_t)(a->mode & 07777);
	struct stat st;
	int owned = 0;

	if (is == NULL) {
		if (fstat(fd, &st) < 0)
			return error_sys(err, "%s: cannot stat", name);
		is = &st;
	}
	owned = apply_owner(a, fd, name, is, err);
	if (owned < 0)
		return -1;
	if (!owned)
		mode &= ~(mode_t)(S_ISUID | S_ISGID);
	/* Changing the owner clears set-id bits: they are set again. */
	if ((is->st_mode & 07777) == mode && (mode & 07000) == 0)
		return 0;
	if (fchmod(fd, mode) < 0)
		return error_sys(err, "%s: cannot change the mode", name);
	return 0;
}

int
attr_apply(const struct attr *a, int fd, const char *name,
	   const struct stat *is, struct error *err)
{
	const struct timespec times[2] = { a->atime, a->mtime };

	if (a->has_owner && apply_access(a, fd, name, is, err) < 0)
		return -1;
	if (a->has_times && futimens(fd, times) < 0)
		return error_sys(err, "%s: cannot set the times", name);
	return 0;
}
