/* SPDX-License-Identifier: BSD-3-Clause */
/* make.c - verbs mount, rm and populate of scr_store. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "path.h"
#include "site/resmgr.h"
#include "site/tmpfs.h"
#include "store/spill.h"
#include "store/tend.h"
#include "str.h"
#include "verbs.h"

/* The first word of the line of a mount of ours. */
#define SOURCE "scr_store"
#define FSTAB SOURCE " %s tmpfs mode=1777,huge=%s 0 0"

/* --- The rights of the owner --- */

/* As root, take the rights of the owner of `dir`, which is no link. */
static int
take_rights(const char *dir, struct error *err)
{
	struct stat is;
	const int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const bool known = fd >= 0 && fstat(fd, &is) == 0;

	if (!known)
		error_sys(err, "%s", dir);
	io_close(fd);
	if (!known || geteuid() != 0 || is.st_uid == 0)
		return known ? 0 : -1;
	if (setgroups(0, NULL) < 0 || setegid(is.st_gid) < 0 ||
	    seteuid(is.st_uid) < 0)
		return error_sys(err, "cannot become user %lu",
				 (unsigned long)is.st_uid);
	return 0;
}

struct store *
store_entered(const char *dir, struct error *err)
{
	return take_rights(dir, err) < 0 ? NULL : store_open(dir, err);
}

void
store_left(struct store *s)
{
	store_close(s);
	if (getuid() == 0 && (seteuid(0) < 0 || setegid(0) < 0))
		abort();
}

/* --- mount --- */

int
store_check_job(const char *job, struct error *err)
{
	struct resmgr *rm =
		job[0] != '\0' ? resmgr_open(NULL, NULL, NULL) : NULL;
	const bool gone = rm != NULL && resmgr_runs(rm, job) == 0;

	resmgr_close(rm);
	return gone ? error_set(err, ERROR_USAGE, "--job: job %s does not run",
				job)
		    : 0;
}

int
store_set(const char *dir, const struct store_given *given, bool change,
	  struct error *err)
{
	/* One process at a time: ranks may make it together. */
	const int lock = mkdir(dir, 0700) == 0 || errno == EEXIST
				 ? dir_open(AT_FDCWD, dir)
				 : -1;
	struct store_options o = { .size = given->size,
				   .pool = given->pool,
				   .spill_size = given->spill_size,
				   .spill_rate = given->spill_rate };
	struct store *s = NULL;
	int rc = 0;

	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		rc = error_sys(err, "%s: cannot make or open it", dir);
	else if (!change)
		s = store_open(dir, NULL);
	snprintf(o.job, sizeof(o.job), "%s", given->job);
	snprintf(o.spill, sizeof(o.spill), "%s", given->spill);
	if (rc == 0 && s == NULL) {
		rc = store_make(dir, &o, err);
		s = rc == 0 ? store_open(dir, err) : NULL;
		rc = s != NULL ? tend_measure(s, err) : -1;
	}
	store_close(s);
	io_close(lock);
	return rc;
}

/* Mount a tmpfs with the largest pages that the kernel has.  1: not allowed. */
static int
mount_at(int fd, uint64_t size, const struct passwd *owner)
{
	const char *const huge[] = { tmpfs_best_huge(), "always", "never" };
	char options[256], path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < 3; i++) {
		snprintf(
			options, sizeof(options),
			size > 0
				? "mode=0700,uid=%u,gid=%u,huge=%s,size=%" PRIu64
				: "mode=0700,uid=%u,gid=%u,huge=%s",
			owner->pw_uid, owner->pw_gid, huge[i], size);
		if (mount(SOURCE, path, "tmpfs", MS_NOSUID | MS_NODEV,
			  options) == 0)
			return 0;
		if (errno != EINVAL)
			break;
	}
	return errno == EPERM ? 1 : -1;
}

/* Make `dir`, and mount at it if it is not one already.  Others may have a
 * directory, or a link, of that name. */
static int
make_place(const char *dir, uint64_t size, const struct passwd *owner,
	   struct error *err)
{
	const bool made = mkdir(dir, 0700) == 0;
	const int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct tmpfs fs;
	struct stat is;
	int rc = 0;

	if (fd < 0 || fstat(fd, &is) < 0 ||
	    (made &&
	     fchownat(fd, "", owner->pw_uid, owner->pw_gid, AT_EMPTY_PATH) < 0))
		rc = error_sys(err, "%s: cannot make it", dir);
	else if (!made && is.st_uid != owner->pw_uid && is.st_uid != geteuid())
		rc = error_set(err, ERROR_UNSAFE,
			       "%s: belongs to user %u: choose another name",
			       dir, is.st_uid);
	else if (!tmpfs_of(dir, &fs) ||
		 (!str_eq(fs.point, dir) && geteuid() == 0))
		rc = mount_at(fd, size, owner);
	if (rc < 0 && err->kind == ERROR_NONE)
		error_sys(err, "%s: cannot mount", dir);
	io_close(fd);
	if (rc == 1 && tmpfs_of(dir, &fs))
		rc = 0;
	if (rc != 0 && made)
		(void)rmdir(dir);
	return rc <= 0 ? rc
		       : error_set(err, ERROR_USAGE,
				   "%s: not in memory, and only root may mount "
				   "there: name a directory in /dev/shm, or "
				   "have this line in /etc/fstab: " FSTAB,
				   dir, dir, tmpfs_best_huge());
}

int
store_run_mount(const struct app_call *c)
{
	struct store_given given = { .job = "", .spill = "" };
	struct passwd self = { .pw_uid = geteuid(), .pw_gid = getegid() };
	const struct passwd *owner = &self;
	const char *user = NULL;
	const struct opt opts[] = {
		STORE_OPTIONS(given),
		OPT_STRING(0, "user", &user, "NAME", OPT_ANY,
			   "owner of what root mounts (default: root)"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	struct store_status st = { .page = 0 };
	struct buf dir = BUF_INIT;
	struct store *s = NULL;
	struct tmpfs fs;
	int count = 0;
	char **args = store_start(c, opts, &count);

	if (count != 1)
		app_usage("give one directory");
	if (user != NULL && (owner = getpwnam(user)) == NULL)
		app_usage("--user: no user %s", user);
	if (store_check_job(given.job, &err) == 0 &&
	    path_absolute(args[0], &dir, &err) == 0 &&
	    make_place(dir.data, given.size, owner, &err) == 0 &&
	    take_rights(dir.data, &err) == 0 &&
	    store_set(dir.data, &given, true, &err) == 0)
		s = store_open(dir.data, &err);
	if (s != NULL && store_status(s, &st, &err) == 0 && st.page != 0 &&
	    st.page < STORE_FILE_LEAST && tmpfs_of(dir.data, &fs))
		app_warn("%s: pages of %s: for huge ones have this line in "
			 "/etc/fstab: " FSTAB,
			 dir.data, str_size(st.page), fs.point,
			 tmpfs_best_huge());
	store_left(s);
	buf_free(&dir);
	return app_report(STATUS_OK, &err);
}

/* --- rm --- */

/* The files first, then their copies on the disk: what is interrupted is still
 * a store. */
static int
remove_files(const struct store *s, struct error *err)
{
	char spilled[PATH_MAX];
	const char *name = NULL, *dir = store_dir(s);
	struct dir_walk w;
	const int fd = dir_open_plain(AT_FDCWD, dir);
	int rc = fd < 0 ? error_sys(err, "%s", dir) : 0;

	if (rc == 0)
		rc = dir_walk(&w, fd, dir, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL)
		if (!str_eq(name, STORE_META))
			rc = io_remove_tree(fd, name, err);
	if (fd >= 0)
		rc = dir_done(&w, rc, err);
	if (rc == 0 && spill_dir(s, spilled)[0] != '\0')
		rc = io_remove_tree(AT_FDCWD, spilled, err);
	if (rc == 0)
		rc = io_remove_tree(fd, STORE_META, err);
	io_close(fd);
	return rc;
}

int
store_remove(const char *given, bool force, struct error *err)
{
	struct store *s = store_entered(given, err);
	const uid_t owner = geteuid();
	char dir[STORE_PATH_MAX];
	struct tmpfs fs;
	int rc = s == NULL ? -1 : 0, user = 0;

	if (rc == 0 && !force) {
		/* Root sees more than the owner. */
		user = seteuid(getuid()) < 0 ? 0 : tmpfs_user(store_dir(s));
		if (seteuid(owner) < 0)
			abort();
	}
	if (user != 0)
		rc = error_set(err, ERROR_USAGE,
			       "%s: in use by process %d: end it, or add "
			       "--force",
			       given, user);
	if (rc == 0) {
		snprintf(dir, sizeof(dir), "%s", store_dir(s));
		rc = remove_files(s, err);
	}
	/* A directory that somebody else made, or mounted, stays. */
	if (rc == 0)
		(void)rmdir(dir);
	store_left(s);
	if (rc == 0 && tmpfs_of(dir, &fs) && str_eq(fs.point, dir) &&
	    str_eq(fs.source, SOURCE)) {
		rc = umount2(dir, UMOUNT_NOFOLLOW | (force ? MNT_DETACH : 0));
		if (rc < 0)
			error_sys(err, "%s: empty, but cannot unmount", dir);
		else
			(void)rmdir(dir);
	}
	return rc;
}

int
store_run_rm(const struct app_call *c)
{
	bool force = false;
	const struct opt opts[] = {
		OPT_FLAG('f', "force", &force,
			 "although processes have files of it open"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	int count = 0, status = STATUS_OK;
	char **args = store_start(c, opts, &count);

	if (count == 0)
		app_usage("give the directory of a store");
	for (; *args != NULL; args++)
		if (store_remove(*args, force, &err) < 0)
			status = app_report(status, &err);
	return status;
}

/* --- populate --- */

int
store_run_populate(const struct app_call *c)
{
	struct tend_populate p = { .stop = store_stop };
	const struct opt opts[] = {
		OPT_BYTES(0, "file-size", &p.size, "SIZE", STORE_FILE_LEAST,
			  UINT64_C(1) << 50, "bytes of a file"),
		OPT_U64(0, "count", &p.count, "N", 1, 1000000,
			"number of files"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	int count = 0;
	char **args = store_start(c, opts, &count);

	if (count != 1 || p.size == 0 || p.count == 0)
		app_usage("give --file-size, --count and one directory");
	s = store_entered(args[0], &err);
	if (s != NULL && tend_populate(s, &p, &err) == 0 && p.added < p.count)
		error_set(&err, ERROR_SYSTEM,
			  "%s: room for %" PRIu64 " of %" PRIu64
			  " files: scr_store mount --pool SIZE %s makes more",
			  args[0], p.added, p.count, args[0]);
	store_left(s);
	return app_report(STATUS_OK, &err);
}
