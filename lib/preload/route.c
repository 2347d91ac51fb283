/* SPDX-License-Identifier: BSD-3-Clause */
/* route.c - the datasets of the program, and the descriptors of their files. */
#include "preload/route.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io.h"
#include "libc.h"
#include "mem.h"
#include "path.h"
#include "preload/route_impl.h"
#include "str.h"

#define my route_state
#define LOST (-2)	 /* for what a file had: it is gone */
#define FOR_CHECKPOINT 1 /* SCR_FLAG_CHECKPOINT */

_Atomic int route_fds[ROUTE_FDS];
LIBC_HOT_DATA _Atomic int route_count;

/* Change the entry of `fd`, and return what it was. */
static int
set_fd(int fd, int is)
{
	int was = 0;

	/* Never fewer than there are. */
	atomic_fetch_add(&route_count, is != 0);
	was = atomic_exchange(&route_fds[fd], is);
	atomic_fetch_sub(&route_count, was != 0);
	return was;
}

/* --- Checkpoints --- */

static void
end_restart(void)
{
	if (my.stage != RESTART)
		return;
	/* What could not be read is no verdict on the checkpoint. */
	(void)my.scr.Complete_restart(1);
	my.stage = IDLE;
}

static void
start(void)
{
	/* Know where they are, as libscr may soon remove them. */
	for (size_t i = 0; my.stage == RESTART && my.cached && i < my.count;
	     i++)
		(void)route_seek(my.files[i].key);
	end_restart();
	my.set++;
	my.failed = false;
	my.writers = 0;
	memset(my.had, 0, my.npatterns * sizeof(*my.had));
	my.stage =
		my.scr.Start_output(NULL, FOR_CHECKPOINT) == 0 ? OUTPUT : PAST;
	if (my.stage == PAST && my.is.rank == 0)
		route_say("a checkpoint is not routed: its files are written "
			  "where the program says");
}

static void
complete(void)
{
	if (my.stage == OUTPUT)
		(void)my.scr.Complete_output(!my.failed);
	my.stage = IDLE;
	my.due = false;
}

/* The first pattern that no file of this checkpoint matched, or NULL. */
static const char *
missing(void)
{
	for (size_t i = 0; i < my.npatterns; i++)
		if (!my.had[i])
			return my.patterns[i].text;
	return NULL;
}

/* May this thread call MPI? */
static bool
may_call(void)
{
	return my.is.threads || pthread_equal(pthread_self(), my.first);
}

/* If this checkpoint has all files, and they are closed, complete it. */
static void
finish(void)
{
	if (my.writers > 0 || missing() != NULL)
		return;
	if (may_call())
		complete();
	else
		my.due = true;
}

void
route_due(void)
{
	if (!my.due || !may_call())
		return;
	my.due = false;
	finish();
}

void
route_unread(const char *key, int error)
{
	SAY_ONCE(my.said_unread,
		 "rank %d: %s: %s: this file of the checkpoint cannot be read; "
		 "the checkpoint stays: run the job again",
		 my.is.rank, key, strerror(error));
}

static void
lost(const char *key)
{
	my.failed = true;
	SAY_ONCE(my.said_lost,
		 "rank %d: %s: what it had is gone from the caches: this "
		 "checkpoint is not valid: set SCR_CACHE_SIZE=2",
		 my.is.rank, key);
}

/* Copy what `from` has to the new file `to`. */
static int
copy(int from, const char *to)
{
	const size_t room = (size_t)1 << 20;
	char *data = mem_alloc(room, 1);
	struct stat is;
	ssize_t n = 1;
	off_t at = 0;
	int rc = -1, fd = -1;

	if (data != NULL && fstat(from, &is) == 0)
		fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			  is.st_mode & 07777);
	for (; fd >= 0 && n > 0; at += n) {
		n = pread(from, data, room, at);
		if (n > 0 &&
		    io_pwrite(fd, to, data, (size_t)n, (uint64_t)at, NULL) < 0)
			n = -1;
	}
	if (fd >= 0)
		rc = close(fd) == 0 && n == 0 ? 0 : -1;
	mem_free(data);
	return rc;
}

/* Is this descriptor none of the file `path`? */
static bool
differs(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) < 0 || stat(path, &b) < 0 ||
	       a.st_ino != b.st_ino || a.st_dev != b.st_dev;
}

/* Make the descriptor one of the file `to`, at the same position. */
static int
swap(int fd, const char *to)
{
	const int flags = fcntl(fd, F_GETFL), own = fcntl(fd, F_GETFD);
	const off_t at = lseek(fd, 0, SEEK_CUR);
	const int new = open(to, (flags & ~O_CREAT) | O_CLOEXEC);
	int rc = -1;

	if (new >= 0 && at >= 0 && lseek(new, at, SEEK_SET) == at)
		rc = dup3(new, fd, (own & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
	if (new >= 0)
		close(new);
	return rc < 0 ? -1 : 0;
}

/* Directories that the program thinks it has made. */
static void
make_parents(const char *path)
{
	char dir[ROUTE_PATH];

	snprintf(dir, sizeof(dir), "%.*s", (int)(path_base(path) - path), path);
	(void)io_make_dirs(dir, 0777, NULL);
}

/*
 * Get the file `key` a place in a checkpoint, which is begun if none is open.
 * What the file had is kept, if `keep` is a descriptor of it; LOST: it should
 * be, and is gone; -1: nothing.  NULL: it cannot be routed.
 */
static struct route_file *
place(const char *key, size_t pattern, int keep)
{
	const bool free = my.stage == IDLE || my.stage == RESTART;
	bool again = false;
	char to[ROUTE_PATH];
	struct route_file *f = NULL;

	f = route_entry(key);
	/* The program writes the next checkpoint, and this one has no file for
	 * one of the patterns. */
	again = !free && f != NULL && f->set == my.set && my.writers == 0 &&
		keep == -1 && missing() != NULL;
	if ((free || again || my.due) && !may_call()) {
		SAY_ONCE(my.said_thread,
			 "rank %d: %s: not routed: another thread than the "
			 "first one opens it, without MPI_THREAD_MULTIPLE",
			 my.is.rank, key);
		return NULL;
	}
	if (again) {
		SAY_ONCE(my.said_more,
			 "rank %d: %s: written again, and no file matched "
			 "\"%s\": the checkpoint before is completed without",
			 my.is.rank, key, missing());
		complete();
	}
	if (my.stage == IDLE || my.stage == RESTART)
		start();
	f = route_entry(key);
	if (f == NULL)
		return NULL;
	if (f->set == my.set)
		return f;
	f->set = my.set;
	f->pattern = pattern;
	my.had[pattern] = true;
	if (my.stage == PAST || my.scr.Route_file(key, to) != 0) {
		make_parents(key);
		snprintf(to, sizeof(to), "%s", key);
		if (my.stage == OUTPUT)
			route_say("rank %d: %s: not routed: this checkpoint is "
				  "not valid",
				  my.is.rank, key);
		my.failed = true;
	}
	if (keep == LOST)
		lost(key);
	if (keep >= 0 && differs(keep, to) && copy(keep, to) < 0)
		my.failed = true;
	route_put(f, to);
	return f;
}

/* Get the file `key` a place to be written, where it is `at` now, NULL if it is
 * not there. */
static struct route_file *
place_open(struct route_open *to, const char *key, size_t pattern,
	   const char *at, int flags)
{
	const bool trunc = (flags & O_TRUNC) != 0, gone = route_gone(key);
	struct route_file *f = route_entry(key);
	const unsigned was = f != NULL ? f->set : 0;
	int keep = -1;

	if (!trunc && !gone && at != NULL)
		keep = open(at, O_RDONLY | O_CLOEXEC);
	if (!trunc && keep < 0 && (gone || at != NULL))
		keep = LOST;
	f = place(key, pattern, keep);
	if (keep >= 0)
		close(keep);
	my.writers += f != NULL;
	to->fresh = f != NULL && was != my.set;
	return f;
}

bool
route_open(struct route_open *to, int dir, const char *path, int flags,
	   bool stream)
{
	const int was = errno;
	const int how = flags & O_ACCMODE;
	struct route_file *f = NULL;
	char key[ROUTE_PATH];
	const char *at = key;
	bool exists = false;
	int p = -1;

	if ((flags & (O_DIRECTORY | O_PATH)) != 0 || !route_enter())
		return false;
	route_due();
	p = route_match(my.patterns, my.npatterns, dir, path, key);
	f = p >= 0 ? route_seek(key) : NULL;
	if (p == OUTSIDE && how != O_RDONLY)
		SAY_ONCE(my.said_outside,
			 "rank %d: %s: not below SCR_PREFIX %s: not routed",
			 my.is.rank, key, my.prefix.data);
	if (p < 0) {
		route_exit();
		return false;
	}
	if (f != NULL)
		at = f->place;
	exists = access(at, F_OK) == 0;
	to->kind = how == O_RDONLY && (flags & O_TRUNC) == 0 ? READS : WRITES;
	/* These are the program's own errors: no checkpoint begins. */
	if (exists ? (flags & O_EXCL) != 0 && (flags & O_CREAT) != 0
		   : (flags & O_CREAT) == 0)
		to->kind = READS;
	/* Fortran opens so what it reads. */
	if (how == O_RDWR && (flags & (O_TRUNC | O_EXCL)) == 0 &&
	    (exists || f != NULL) && !stream &&
	    !(my.stage == OUTPUT && f != NULL && f->set == my.set))
		to->kind = LATER;
	if (to->kind != WRITES && f == NULL && exists &&
	    (flags & O_EXCL) == 0 && my.cached && my.stage == RESTART)
		SAY_ONCE(my.said_prefix,
			 "rank %d: %s: is read from the prefix: not a file of "
			 "the checkpoint in the caches",
			 my.is.rank, key);
	if (f != NULL && !exists && to->kind == LATER)
		route_unread(key, ENOENT);
	if (to->kind == LATER &&
	    (f != NULL || (f = route_entry(key)) != NULL)) {
		f->pattern = (size_t)p;
		f->lost = route_gone(key);
	}
	if (to->kind == WRITES) {
		f = place_open(to, key, (size_t)p,
			       exists || f != NULL ? at : NULL, flags);
		at = f != NULL ? f->place : NULL;
	}
	if (f != NULL && at != NULL) {
		snprintf(to->path, sizeof(to->path), "%s", at);
		to->file = (size_t)(f - my.files);
	}
	route_exit();
	errno = was;
	return f != NULL && at != NULL;
}

bool
route_own_error(int error)
{
	return error == EEXIST || error == EINTR || error == EMFILE ||
	       error == ENFILE || error == EAGAIN;
}

void
route_opened(const struct route_open *to, int fd)
{
	const int was = errno;
	struct route_file *f = NULL;
	struct stat is;

	if (!route_enter())
		return;
	f = &my.files[to->file];
	if (fd >= 0 && fd < ROUTE_FDS) {
		f->ino = fstat(fd, &is) == 0 ? is.st_ino : 0;
		set_fd(fd, (int)to->file * (KIND + 1) + to->kind);
	} else if (fd < 0 && route_own_error(was)) {
		/* As if the program had not called. */
		my.writers -= to->kind == WRITES;
		if (to->kind == WRITES && to->fresh) {
			f->set = 0;
			my.had[f->pattern] = false;
			if (access(f->place, F_OK) != 0)
				route_put(f, NULL);
		}
	} else if (to->kind == WRITES) {
		my.writers--;
		my.failed = true;
		route_say("rank %d: %s: %s: this checkpoint is not valid",
			  my.is.rank, to->path,
			  fd < 0 ? strerror(was) : "too many files");
		finish();
	} else if (my.stage == RESTART) {
		route_unread(f->key, was);
	}
	route_exit();
	errno = was;
}

/* --- Descriptors --- */

void
route_writing(int fd)
{
	const int was = errno, is = atomic_load(&route_fds[fd]);
	struct route_file *f = NULL;
	struct stat now;

	if ((is & KIND) != LATER || !route_enter())
		return;
	/* Another thread may have been first. */
	if (atomic_load(&route_fds[fd]) != is) {
		route_exit();
		return;
	}
	f = &my.files[is / (KIND + 1)];
	/* It may have been closed by a call that we do not see. */
	f = fstat(fd, &now) == 0 && now.st_ino == f->ino
		    ? place(f->key, f->pattern, fd)
		    : NULL;
	set_fd(fd, f != NULL ? (is & ~KIND) | WRITES : 0);
	my.writers += f != NULL;
	if (f != NULL && f->lost)
		lost(f->key);
	/* On the prefix, the file may be the same. */
	if (f != NULL && differs(fd, f->place) && swap(fd, f->place) < 0)
		my.failed = true;
	route_exit();
	errno = was;
}

void
route_failed(int fd)
{
	const int was = errno, is = route_fds[fd];
	/* Of the errors of reading some are the program's own. */
	const bool own = was == EBADF || was == EFAULT || was == EINVAL;

	if (was == EINTR || was == EAGAIN || ((is & KIND) != WRITES && own) ||
	    !route_enter())
		return;
	if ((is & KIND) == WRITES)
		my.failed = true;
	else
		route_unread(my.files[is / (KIND + 1)].key, was);
	route_exit();
	errno = was;
}

void
route_duped(int fd, int to)
{
	const int is = route_fds[fd];

	if (to < 0 || !route_enter())
		return;
	if (to < ROUTE_FDS) {
		set_fd(to, is);
		my.writers += (is & KIND) == WRITES;
	} else if ((is & KIND) != READS) {
		my.failed = true; /* its writes are not seen */
	}
	route_exit();
}

int
route_closing(int fd)
{
	/* The child of a vfork() shares the table. */
	return !route_inside && getpid() == my.pid ? set_fd(fd, 0) : 0;
}

void
route_closed(int was, bool failed)
{
	const int error = errno;

	if (was == 0 || !route_enter())
		return;
	route_due();
	my.failed |= failed && (was & KIND) == WRITES;
	if ((was & KIND) == WRITES && --my.writers == 0)
		finish();
	route_exit();
	errno = error;
}

void
route_lost(const char *key, bool needed)
{
	if (!route_enter())
		return;
	if (my.stage == OUTPUT && needed)
		lost(key);
	else
		route_say("rank %d: %s: renamed, but it is gone from the "
			  "caches: set SCR_CACHE_SIZE=2",
			  my.is.rank, key);
	route_exit();
}

/* --- End --- */

/* The program goes on to write the files of this checkpoint that it has not
 * closed: where it would without libscr, with the other ones beside them. */
static void
give_back(void)
{
	for (size_t i = 0; i < my.count; i++) {
		const struct route_file *f = &my.files[i];
		int fd = f->set == my.set && !str_eq(f->place, f->key)
				 ? open(f->place, O_RDONLY | O_CLOEXEC)
				 : -1;

		if (fd < 0)
			continue;
		make_parents(f->key);
		route_say("rank %d: %s: %s", my.is.rank, f->key,
			  copy(fd, f->key) < 0
				  ? strerror(errno)
				  : "a file of its checkpoint is open at "
				    "MPI_Finalize: copied there, not routed");
		close(fd);
	}
	for (int fd = 0; fd < ROUTE_FDS; fd++) {
		const int is = route_fds[fd];

		if ((is & KIND) == WRITES)
			(void)swap(fd, my.files[is / (KIND + 1)].key);
	}
	my.failed = true;
}

void
route_end(void)
{
	if (!route_enter()) {
		/* Nothing was routed. */
		if (!route_inside && getpid() == my.pid)
			(void)my.scr.Finalize();
		return;
	}
	route_due();
	end_restart();
	if (my.stage == OUTPUT && my.writers > 0)
		give_back();
	else if (my.stage == OUTPUT && missing() != NULL)
		route_say("rank %d: no file matched \"%s\": the checkpoint is "
			  "completed without",
			  my.is.rank, missing());
	complete();
	atomic_store(&route_on, false);
	route_exit();
	(void)my.scr.Finalize();
}
