/* SPDX-License-Identifier: BSD-3-Clause */
/* make.c - verbs mount, rm and populate of scr_store. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "json.h"
#include "path.h"
#include "site/memory.h"
#include "site/resmgr.h"
#include "store/tend.h"
#include "str.h"
#include "verbs.h"

/* The first word of the line of a mount of ours. */
#define SOURCE "scr_store"

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

static void
give_back_rights(void)
{
	if (getuid() == 0 && (seteuid(0) < 0 || setegid(0) < 0))
		abort();
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
	give_back_rights();
}

/* --- mount --- */

int
store_set(const char *dir, const struct store_given *given, struct error *err)
{
	/* One process at a time: ranks may make it together. */
	const int lock = dir_open(AT_FDCWD, dir);
	struct store_options o = { .size = 0 };
	struct store *s = NULL;
	bool made = false;
	int rc = lock < 0 || flock(lock, LOCK_EX) < 0
			 ? error_sys(err, "%s", dir)
			 : 0;

	s = rc == 0 ? store_open(dir, NULL) : NULL;
	made = s == NULL;
	if (s != NULL)
		store_options(s, &o);
	store_close(s);
	o.size = given->size != 0 ? given->size : o.size;
	o.pool = given->pool != 0 ? given->pool : o.pool;
	o.spill_size =
		given->spill_size != 0 ? given->spill_size : o.spill_size;
	if ((given->job != NULL && strlen(given->job) >= sizeof(o.job)) ||
	    (given->spill != NULL && strlen(given->spill) >= sizeof(o.spill)))
		rc = error_set(err, ERROR_USAGE,
			       "--job or --spill: the text is too long");
	if (given->job != NULL)
		snprintf(o.job, sizeof(o.job), "%s", given->job);
	if (given->spill != NULL)
		snprintf(o.spill, sizeof(o.spill), "%s", given->spill);
	if (rc == 0)
		rc = store_make(dir, &o, err);
	s = rc == 0 && made ? store_open(dir, err) : NULL;
	if (s != NULL)
		rc = tend_measure(s, err);
	store_close(s);
	io_close(lock);
	return rc;
}

/* Mount a tmpfs with the largest pages that the kernel has.  1: not allowed. */
static int
mount_at(const char *dir, uint64_t size, const struct passwd *owner,
	 struct error *err)
{
	static const char *const huge[] = { ",huge=always", ",huge=within_size",
					    "" };
	char options[256], bytes[64] = "";
	int rc = -1;

	if (size > 0)
		snprintf(bytes, sizeof(bytes), ",size=%" PRIu64, size);
	for (size_t i = 0; i < 3 && rc < 0; i++) {
		snprintf(options, sizeof(options),
			 "mode=0700,uid=%u,gid=%u%s%s", owner->pw_uid,
			 owner->pw_gid, bytes, huge[i]);
		rc = mount(SOURCE, dir, "tmpfs", MS_NOSUID | MS_NODEV, options);
		if (rc < 0 && errno == EPERM)
			return 1;
		if (rc < 0 && errno != EINVAL)
			break;
	}
	return rc < 0 ? error_sys(err, "%s: cannot mount", dir) : 0;
}

/* A job that has ended would take the store with it. */
static int
check_job(const char *id, struct error *err)
{
	struct resmgr *r = id != NULL ? resmgr_open(NULL, NULL, err) : NULL;
	const int runs = r != NULL ? resmgr_runs(r, id) : 1;

	resmgr_close(r);
	return runs == 0 ? error_set(err, ERROR_USAGE,
				     "--job: job %s does not run", id)
			 : 0;
}

/* Make `dir`, and mount at it if it is not one already. */
static int
make_place(const char *dir, const struct store_given *given, struct error *err)
{
	struct passwd self = { .pw_uid = geteuid(), .pw_gid = getegid() };
	const struct passwd *owner =
		given->user == NULL ? &self : getpwnam(given->user);
	struct memory_fs fs;
	struct stat is;
	bool made = false;
	int rc = 0;

	if (owner == NULL)
		return error_set(err, ERROR_USAGE, "--user: no user %s",
				 str_shown(given->user));
	made = lstat(dir, &is) < 0;
	if (made && (io_make_dirs(dir, 0700, err) < 0 ||
		     lchown(dir, owner->pw_uid, owner->pw_gid) < 0))
		return error_sys(err, "%s: cannot make it", dir);
	if (memory_of(dir, &fs) && (str_eq(fs.point, dir) || geteuid() != 0))
		return 0;
	rc = mount_at(dir, given->size, owner, err);
	if (rc == 1 && memory_of(dir, &fs))
		return 0;
	if (rc != 0 && made)
		(void)rmdir(dir);
	return rc == 1 ? error_set(err, ERROR_USAGE,
				   "%s: not in memory, and only root may mount "
				   "there: name a directory in /dev/shm, or "
				   "have this line in /etc/fstab: " SOURCE
				   " %s tmpfs mode=1777,huge=always 0 0",
				   dir, dir)
		       : rc;
}

int
store_run_mount(const struct store_call *c)
{
	struct store_given given = { .size = 0 };
	const struct opt opts[] = {
		STORE_OPTIONS(given),
		OPT_STRING(0, "user", &given.user, "NAME", OPT_ANY,
			   "owner of what root mounts (default: the caller)"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	struct store_status st = { .page = 0 };
	struct buf dir = BUF_INIT;
	struct store *s = NULL;
	struct memory_fs fs;
	int count = 0, rc = 0;
	char **args = store_start(c, opts, &count);

	if (count != 1)
		app_usage("give one directory");
	rc = check_job(given.job, &err);
	if (rc == 0)
		rc = path_absolute(args[0], &dir, &err);
	if (rc == 0)
		rc = make_place(dir.data, &given, &err);
	if (rc == 0)
		rc = take_rights(dir.data, &err);
	if (rc == 0)
		rc = store_set(dir.data, &given, &err);
	s = rc == 0 ? store_open(dir.data, &err) : NULL;
	rc = s != NULL ? store_status(s, &st, &err) : -1;
	store_left(s);
	if (rc == 0 && st.page < (2 << 20) && memory_of(dir.data, &fs))
		app_warn("%s: pages of %s: huge ones need the mount option "
			 "huge=always: in /etc/fstab: %s %s tmpfs "
			 "mode=1777,huge=always 0 0",
			 dir.data, str_size(st.page), SOURCE, fs.point);
	if (rc == 0 && app_json()) {
		struct json *j = json_new_object();

		json_set_str(j, "store", dir.data);
		json_set_u64(j, "page", st.page);
		app_answer(j);
	}
	buf_free(&dir);
	return app_report(STATUS_OK, &err);
}

/* --- rm --- */

/* Remove the files on the disk to which links in `name` lead. */
static int
remove_spilled(int dirfd, const char *name, const char *spill,
	       struct error *err)
{
	char to[STORE_PATH_MAX];
	const ssize_t n = readlinkat(dirfd, name, to, sizeof(to) - 1);
	const char *entry = NULL;
	struct dir_walk w;
	int fd = -1, rc = 0;

	if (n > 0) {
		to[n] = '\0';
		if (path_below(to, spill) != NULL && unlink(to) < 0 &&
		    errno != ENOENT)
			return error_sys(err, "%s: cannot remove", to);
		return 0;
	}
	fd = dir_open_plain(dirfd, name);
	if (fd < 0)
		return errno == ENOTDIR || errno == ENOENT
			       ? 0
			       : error_sys(err, "%s: cannot read", name);
	rc = dir_walk(&w, fd, name, err);
	while (rc == 0 && (entry = dir_next(&w)) != NULL)
		rc = remove_spilled(fd, entry, spill, err);
	rc = dir_done(&w, rc, err);
	close(fd);
	return rc;
}

/* The files first: what is interrupted is still a store. */
static int
remove_files(const char *dir, const char *spill, struct error *err)
{
	const char *name = NULL;
	struct dir_walk w;
	const int fd = dir_open_plain(AT_FDCWD, dir);
	int rc = fd < 0 ? error_sys(err, "%s", dir) : 0;

	if (rc == 0 && spill[0] != '\0')
		rc = remove_spilled(AT_FDCWD, dir, spill, err);
	if (rc == 0)
		rc = dir_walk(&w, fd, dir, err);
	while (rc == 0 && (name = dir_next(&w)) != NULL)
		if (!str_eq(name, STORE_META))
			rc = io_remove_tree(fd, name, err);
	if (fd >= 0)
		rc = dir_done(&w, rc, err);
	if (rc == 0)
		rc = io_remove_tree(fd, STORE_META, err);
	io_close(fd);
	return rc;
}

int
store_remove(const char *given, bool force, struct error *err)
{
	struct store_options o;
	struct memory_fs fs;
	char dir[STORE_PATH_MAX];
	struct store *s = store_entered(given, err);
	int rc = s != NULL ? 0 : -1, user = 0;

	if (rc == 0) {
		snprintf(dir, sizeof(dir), "%s", store_dir(s));
		store_options(s, &o);
	}
	store_left(s);
	user = rc == 0 && !force ? memory_user(dir) : 0;
	if (user != 0)
		return error_set(err, ERROR_USAGE,
				 "%s: in use by process %d: end it, or add "
				 "--force",
				 dir, user);
	if (rc == 0)
		rc = take_rights(dir, err);
	if (rc == 0)
		rc = remove_files(dir, o.spill, err);
	/* A directory that somebody else made, or mounted, stays. */
	if (rc == 0)
		(void)rmdir(dir);
	give_back_rights();
	if (rc == 0 && memory_of(dir, &fs) && str_eq(fs.point, dir) &&
	    str_eq(fs.source, SOURCE)) {
		if (umount2(dir, UMOUNT_NOFOLLOW | (force ? MNT_DETACH : 0)) <
		    0)
			return error_sys(err, "%s: empty, but cannot unmount",
					 dir);
		(void)rmdir(dir);
	}
	return rc;
}

int
store_run_rm(const struct store_call *c)
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

static bool
stop(void *unused)
{
	(void)unused;
	return app_stop();
}

int
store_run_populate(const struct store_call *c)
{
	uint64_t size = 0, files = 0, added = 0;
	const struct opt opts[] = {
		OPT_BYTES(0, "file-size", &size, "SIZE", STORE_FILE_LEAST,
			  UINT64_C(1) << 50, "bytes of a file"),
		OPT_U64(0, "count", &files, "N", 1, 1000000, "number of files"),
		OPT_END,
	};
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	int count = 0;
	char **args = store_start(c, opts, &count);

	if (count != 1 || size == 0 || files == 0)
		app_usage("give --file-size, --count and one directory");
	s = store_entered(args[0], &err);
	if (s != NULL &&
	    tend_populate(s, size, files, stop, NULL, &added, &err) == 0 &&
	    added < files)
		error_set(&err, ERROR_SYSTEM,
			  "%s: %" PRIu64 " of %" PRIu64 " files fit: a larger "
			  "pool: scr_store mount --pool SIZE %s",
			  args[0], added, files, args[0]);
	store_left(s);
	return app_report(STATUS_OK, &err);
}
