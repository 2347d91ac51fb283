/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "map.h"
#include "pace.h"
#include "path.h"
#include "store/names.h"
#include "store/offload.h"
#include "store/store_impl.h"
#include "str.h"

#define PASS 1.0     /* seconds of a call of spill_once() */
#define KEEP 5	     /* seconds for which a copy without a link is kept */
#define PART ".part" /* at the end of the name of a copy being made */

struct spiller {
	struct store *s;
	struct pace *pace;
	char dir[PATH_MAX]; /* of the copies */
	int fd;
	struct names names;
	struct map *links; /* copies that links lead to; NULL: not known */
	uint64_t spilled;  /* bytes of the copies */
	uint64_t removed;  /* copies */
};

/* Open the directory of the copies.  A new SPILL gets a new one. */
static int
open_spill(struct spiller *sp, struct error *err)
{
	const char *spill = sp->s->state->spill;
	char link[STORE_ROOM], back[PATH_MAX + 8];
	struct utsname host;
	struct stat is;
	int fd = -1;

	if (path_below(spill_dir(sp->s, sp->dir), spill) == NULL) {
		if (io_make_dirs(spill, 0700, err) < 0)
			return -1;
		snprintf(link, sizeof(link), "%s/" STORE_META "/spill",
			 sp->s->dir);
		snprintf(sp->dir, sizeof(sp->dir), "%s/%s-XXXXXX", spill,
			 uname(&host) == 0 ? host.nodename : "");
		if (mkdtemp(sp->dir) == NULL)
			return error_sys(err, "%s", sp->dir);
		(void)unlink(link);
		if (symlink(sp->dir, link) < 0)
			return error_sys(err, "%s", link);
		/* For people: whose copies they are. */
		snprintf(back, sizeof(back), "%s/.store", sp->dir);
		(void)symlink(sp->s->dir, back);
	}
	fd = dir_open_plain(AT_FDCWD, sp->dir);
	if (fd >= 0 && fstat(fd, &is) == 0 && is.st_uid == geteuid() &&
	    (is.st_mode & 077) == 0)
		return fd;
	if (fd < 0)
		/* Not ERROR_ABSENT: the store is there. */
		return error_set(err, ERROR_SYSTEM, "%s: spilled files: %s",
				 sp->dir, strerror(errno));
	close(fd);
	return error_set(err, ERROR_UNSAFE, "%s: not the user's alone",
			 sp->dir);
}

/* Add up the copies, and remove what an interrupted run left; if all links are
 * known, also what none leads to and nobody has open. */
static int
weigh(void *arg, const char *name, struct error *err)
{
	struct spiller *sp = arg;
	struct offload o = { .from = -1 };
	struct stat is;

	if (fstatat(sp->fd, name, &is, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0
				       : error_sys(err, "%s/%s", sp->dir, name);
	if (!S_ISREG(is.st_mode))
		return 0;
	if (str_ends(name, PART) ||
	    (sp->links != NULL && map_get(sp->links, name) == MAP_NONE &&
	     is.st_ctim.tv_sec + KEEP < time(NULL)))
		o.from =
			openat(sp->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (o.from >= 0 && offload_lease(&o, F_WRLCK) && o.leased &&
	    unlinkat(sp->fd, name, 0) == 0) {
		is.st_blocks = 0;
		sp->removed++;
	}
	io_close(o.from);
	sp->spilled += (uint64_t)is.st_blocks * 512;
	return 0;
}

/* Find the links, if none is moved at this time. */
static int
find_links(struct spiller *sp, time_t now, struct error *err)
{
	struct names again;
	int rc = names_list(sp->s, &again, err);
	const bool same = rc == 0 && again.seal == sp->names.seal &&
			  again.newest + 2 < now;

	names_free(&again);
	sp->links = same ? map_new() : NULL;
	if (!same)
		return rc;
	for (size_t i = 0; i < sp->names.count; i++) {
		const char *link = sp->names.list[i].link;

		link = link == NULL ? NULL : path_below(link, sp->dir);
		if (link != NULL && map_put(sp->links, link, 0) < 0)
			return error_no_memory(err);
	}
	return 0;
}

/* How many bytes have to be moved, if the files have `files` bytes?
 * UINT64_MAX: at most what is used. */
static uint64_t
excess(const struct store *s, uint64_t files)
{
	const uint64_t size = atomic_load(&s->state->size);
	const uint64_t pool = atomic_load(&s->state->pool);
	const uint64_t most = size > pool ? size - pool : 0;
	struct store_status st;
	uint64_t room = 0, used = 0;

	if (store_status(s, &st, NULL) < 0)
		return 0;
	room = st.free + st.clean + st.dirty;
	room = room < pool ? pool - room : 0;
	used = files < st.used ? files : st.used - st.clean - st.dirty;
	used = used > most ? used - most : 0;
	return used > room ? used : room;
}

/* --- Move --- */

/*
 * The link to the copy `to` takes the name `path`, and the file goes to dirty/.
 * Who looked up the name before that opens the file after it, and is seen a
 * moment later: if he wants to write, all is as before.  Returns as move().
 */
static int
swap(const struct spiller *sp, const char *path, const struct offload *o,
     const char *to, struct error *err)
{
	const struct timespec times[] = { o->is.st_atim, o->is.st_mtim };
	const struct timespec moment = { .tv_nsec = 10 * 1000 * 1000 };
	char name[64], link[STORE_ROOM], now[PATH_MAX] = "";
	struct stat is;

	store_dirty_name(name, sizeof(name));
	if (symlink(to, store_dirty_path(sp->s, name, link)) < 0)
		return error_sys(err, "%s", link);
	(void)utimensat(AT_FDCWD, link, times, AT_SYMLINK_NOFOLLOW);
	if (!offload_holds(o) || lstat(path, &is) < 0 ||
	    is.st_ino != o->is.st_ino ||
	    store_move(AT_FDCWD, link, AT_FDCWD, path, RENAME_EXCHANGE) < 0) {
		unlink(link);
		return 0;
	}
	(void)nanosleep(&moment, NULL);
	if (lstat(link, &is) == 0 && is.st_ino == o->is.st_ino &&
	    offload_holds(o)) {
		atomic_fetch_add(&sp->s->state->given, 1);
		return 1;
	}
	(void)readlink(path, now, sizeof(now) - 1);
	if (str_eq(now, to) &&
	    store_move(AT_FDCWD, link, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
		unlink(link);
	return 0;
}

/* Move a file.  Returns 1; 0: it stays, as it cannot be moved or somebody uses
 * it; or -1. */
static int
move(const struct spiller *sp, const struct name *n, struct error *err)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	const uint64_t bytes = (uint64_t)n->is.st_blocks * 512;
	char path[PATH_MAX], to[PATH_MAX], part[PATH_MAX + sizeof(PART)];
	struct offload o = { .pace = sp->pace, .name = n->path, .to = -1 };
	int rc = 0;

	/* One with holes would get larger. */
	if (!store_own(&n->is) || bytes < (uint64_t)n->is.st_size ||
	    n->is.st_size < (off_t)STORE_FILE_LEAST || !n->trusted)
		return 0;
	str_print(path, sizeof(path), "%s/%s", sp->s->dir, n->path);
	o.from = open(path, O_RDONLY | flags);
	if (o.from >= 0 && offload_lease(&o, F_WRLCK) && o.leased &&
	    o.is.st_ino == n->is.st_ino && o.is.st_dev == n->is.st_dev &&
	    store_own(&o.is) && names_slot(sp->s, o.is.st_ino) == NULL &&
	    spill_path(str_print(to, sizeof(to), "%s", sp->dir),
		       path_base(path))) {
		str_print(part, sizeof(part), "%s" PART, to);
		o.to = open(part, O_WRONLY | O_CREAT | O_EXCL | flags, 0600);
		rc = o.to < 0 ? error_sys(err, "%s", part) : offload(&o, err);
		if (rc == 1 && rename(part, to) < 0)
			rc = error_sys(err, "%s", to);
		if (rc == 1 && io_sync_dir(sp->fd, sp->dir, err) < 0)
			rc = -1;
		if (rc == 1)
			rc = swap(sp, path, &o, to, err);
		if (rc != 1 && unlink(part) < 0)
			unlink(to);
	}
	io_close(o.to);
	io_close(o.from);
	return rc;
}

static int
by_age(const void *a, const void *b)
{
	const struct timespec *x = &((const struct name *)a)->is.st_mtim;
	const struct timespec *y = &((const struct name *)b)->is.st_mtim;

	return x->tv_sec != y->tv_sec
		       ? (x->tv_sec < y->tv_sec ? -1 : 1)
		       : (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static int
move_all(struct spiller *sp, uint64_t *count, struct error *err)
{
	const double end = clock_seconds() + PASS;
	const uint64_t most = atomic_load(&sp->s->state->spill_size);
	struct pace *p = sp->pace;
	uint64_t left = excess(sp->s, sp->names.bytes);
	int rc = 0;

	if (sp->names.count > 0)
		qsort(sp->names.list, sp->names.count, sizeof(struct name),
		      by_age);
	for (size_t i = 0;
	     rc >= 0 && i < sp->names.count && left > 0 &&
	     clock_seconds() < end && (p->stop == NULL || !p->stop(p->arg));
	     i++) {
		const struct name *n = &sp->names.list[i];
		const uint64_t bytes = (uint64_t)n->is.st_blocks * 512;

		errno = ENOSPC;
		if (most != 0 && sp->spilled + bytes > most)
			return error_sys(err, "%s: limit of %s", sp->dir,
					 str_size(most));
		rc = move(sp, n, err);
		if (rc == 1) {
			++*count;
			sp->spilled += bytes;
			left -= bytes < left ? bytes : left;
		}
	}
	return rc < 0 ? -1 : 0;
}

static int
begin(struct spiller *sp, struct error *err)
{
	sp->fd = open_spill(sp, err);
	return sp->fd < 0 ? -1 : names_list(sp->s, &sp->names, err);
}

static void
end(struct spiller *sp)
{
	names_free(&sp->names);
	map_free(sp->links);
	io_close(sp->fd);
}

int
spill_once(struct store *s, struct pace *p, uint64_t *count, struct error *err)
{
	struct state *t = s->state;
	struct spiller sp = { .s = s, .pace = p };
	const uint64_t before = *count;
	const double start = clock_seconds();
	double rest = 0;
	int rc = -1, io = 0;

	if (t->spill[0] != '/' ||
	    start * 1000 < (double)atomic_load(&t->rest) ||
	    excess(s, UINT64_MAX) == 0)
		return 0;
	io = offload_class(OFFLOAD_IDLE);
	rc = begin(&sp, err);
	if (rc == 0)
		rc = dir_each(sp.fd, sp.dir, weigh, &sp, err);
	if (rc == 0)
		rc = move_all(&sp, count, err);
	/* If nothing could be moved: most of the time. */
	rest = rc < 0		 ? 1
	       : *count > before ? 0
				 : 20 * (clock_seconds() - start);
	atomic_store(&t->rest, (uint64_t)((clock_seconds() + rest) * 1000));
	end(&sp);
	(void)offload_class(io);
	return rc;
}

int
spill_sweep(struct store *s, uint64_t *count, struct error *err)
{
	struct spiller sp = { .s = s };
	int rc = 0;

	if (s->state->spill[0] != '/')
		return 0;
	rc = begin(&sp, err);
	if (rc == 0)
		rc = find_links(&sp, time(NULL), err);
	if (rc == 0 && sp.links == NULL)
		rc = error_set(
			err, ERROR_SYSTEM,
			"%s: names change there at this time, so not all "
			"links to %s are known: try again in some "
			"seconds",
			s->dir, sp.dir);
	if (rc == 0)
		rc = dir_each(sp.fd, sp.dir, weigh, &sp, err);
	*count += sp.removed;
	end(&sp);
	return rc;
}
