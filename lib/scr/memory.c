/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "error.h"
#include "fast.h"
#include "mem.h"
#include "meta/dataset_dir.h"
#include "path.h"
#include "scr/held.h"
#include "scr/run.h"
#include "store/file.h"
#include "store/spill.h"
#include "store/tend.h"
#include "team/cores.h"
#include "team/say.h"

/* A function of libscr_preload.so: as store_use(), returns 0 or -1. */
#define PRELOAD_USE "scr_preload_use"

struct memory {
	struct store *store;
	const struct cores *cores;
	struct tend_populate pool; /* at the start */
	pthread_t thread;
	bool runs;
	atomic_bool stop, pause;
	struct error why; /* it ended */
};

/* --- Use --- */

/*
 * Recycle what libscr itself writes.  The application writes through the
 * kernel, if the library is not preloaded: it gains nothing from the pages of
 * its old files, and needs their room.  A spilled file goes with its link.
 */
static bool
recycle(int dirfd, const char *path)
{
	uint32_t rank = 0;
	struct stat is;

	return (dataset_dir_kind(path_base(path), &rank) ==
			DATASET_DIR_REDUNDANCY ||
		(fstatat(dirfd, path, &is, AT_SYMLINK_NOFOLLOW) == 0 &&
		 S_ISLNK(is.st_mode))) &&
	       store_unlink(dirfd, path);
}

static int (*preloaded(void))(const char *)
{
	void *f = dlsym(RTLD_DEFAULT, PRELOAD_USE);
	int (*use)(const char *) = NULL;

	memcpy(&use, &f, sizeof(use));
	return use;
}

static int
use_store(const char *dir, struct error *err)
{
	_Static_assert(FAST_KERNEL == STORE_KERNEL, "one value");
	static const struct fast files = { .create = store_create,
					   .pwrite = store_pwrite,
					   .make_room = store_make_room,
					   .closing = store_closing,
					   .unlink = recycle };

	/* The preloaded library sees the calls of libscr, too. */
	if (preloaded() != NULL)
		return preloaded()(dir) == 0
			       ? 0
			       : error_set(err, ERROR_SYSTEM,
					   "%s: not usable by the preloaded "
					   "library",
					   dir);
	if (store_use(dir, err) < 0)
		return -1;
	fast_files = &files;
	return 0;
}

/* --- Make --- */

static int
make_store(struct device *st, const char *dir, struct error *err)
{
	/* The metadata that libscr writes there. */
	static const char *const small[] = {
		".scrkit-0.tmp",
		"filemap_0",
		"reddesc.er.er",
		"reddescmap.er.er",
		"reddesc.er.shuffile",
		"reddescmap.er.shuffile",
		"reddesc.er.0.redset",
		"reddescmap.er.0.redset",
		"reddescmap.er.0.single.grp_1_of_1.mem_1_of_1.redset",
		"reddescmap.er.0.partner.grp_1_of_1.mem_1_of_1.redset",
		"reddescmap.er.0.xor.grp_1_of_1.mem_1_of_1.redset",
		"reddescmap.er.0.rs.grp_1_of_1.mem_1_of_1.redset",
		"reddesc.er.0.single.grp_1_of_1.mem_1_of_1.redset",
	};
	struct memory *m = mem_calloc(1, sizeof(*m));
	struct tend_done done = { .cleaned = 0 };
	struct error why = ERROR_INIT;

	if (m == NULL)
		return error_no_memory(err);
	st->tends = m;
	if (store_make(dir, &st->options, err) < 0 ||
	    (m->store = store_open(dir, err)) == NULL)
		return -1;
	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		store_expect(m->store, small[i], 0);
	if (tend_once(m->store, &done, &why) < 0 && why.errnum != EWOULDBLOCK)
		return error_pass(err, &why);
	return 0;
}

static void
free_memory(struct device *st)
{
	if (st->tends != NULL)
		store_close(st->tends->store);
	mem_free(st->tends);
	st->tends = NULL;
}

void
memory_begin(struct run *run)
{
	for (size_t i = 0; i < run->stores.count; i++) {
		struct device *st = &run->stores.list[i];
		struct error why = ERROR_INIT;
		const char *dir = NULL;
		int rc = 0;

		st->memory &= st->enabled;
		if (!st->memory)
			continue;
		dir = path_normal_in(run->arena, st->base, run->p.user, &why);
		rc = dir == NULL ? -1 : 0;
		if (rc == 0 && st->sharers.rank == 0)
			rc = make_store(st, dir, &why);
		rc = team_agree(&run->world, rc, &why);
		if (rc == 0)
			rc = team_agree(&run->world, use_store(dir, &why),
					&why);
		if (rc == 0)
			continue;
		say_warn_first("store %s: an ordinary cache: %s", st->base,
			       why.text);
		free_memory(st);
		st->memory = false;
	}
}

/* --- Tend --- */

/* Is it to end?  While the application writes, each question takes a tenth of a
 * second: no longer, as the thread may hold a lease of a file (spill.h). */
static bool
stopped(void *arg)
{
	const struct timespec wait = { .tv_nsec = 5000000 };
	struct memory *m = arg;

	for (int i = 0;
	     i < 20 && atomic_load(&m->pause) && !atomic_load(&m->stop); i++)
		(void)nanosleep(&wait, NULL);
	return atomic_load(&m->stop);
}

static void *
tend(void *arg)
{
	struct memory *m = arg;
	struct tend_done done = { .cleaned = 0 };
	struct store_status is;

	(void)cores_enter(m->cores);
	/* Until it was measured, or if nothing is gained, the kernel writes. */
	if (store_status(m->store, &is, &m->why) < 0 ||
	    (is.least == 0 && tend_measure(m->store, &m->why) < 0))
		return NULL;
	/* Of this thread only.  Not SCHED_IDLE: a thread that gets no core at
	 * all while it holds a lock of the kernel stops the others. */
	(void)setpriority(PRIO_PROCESS, 0, 19);
	if (tend_populate(m->store, &m->pool, &m->why) == 0)
		(void)tend_run(m->store, stopped, m, &done, &m->why);
	return NULL;
}

/* Choose how many files are added to the pool, and their size. */
static void
plan_pool(const struct run *run, const struct device *st)
{
	struct memory *m = st->tends;
	struct tend_populate p = { .stop = stopped, .arg = m };
	struct store_status is;
	struct store_options o;

	store_options(m->store, &o);
	p.count = 2 * (uint64_t)st->sharers.size;
	p.size = o.pool / p.count;
	for (size_t i = 0; i < run->held->count; i++) {
		const struct held_set *s = run->held->list[i];
		const uint64_t n = s->d.files > 0 ? (uint64_t)s->d.files : 0;

		if (s->store != st || s->bypass || n == 0)
			continue;
		p.count = (n + 2 * (uint64_t)run->world.size - 1) /
			  run->world.size * st->sharers.size;
		p.size = s->d.bytes / n;
	}
	if (preloaded() == NULL || p.size < STORE_FILE_LEAST ||
	    store_status(m->store, &is, NULL) < 0 ||
	    p.count < is.clean_files + is.dirty_files)
		p.count = 0;
	else
		p.count -= is.clean_files + is.dirty_files;
	m->pool = p;
}

void
memory_tend(struct run *run)
{
	sigset_t all, old;

	sigfillset(&all);
	for (size_t i = 0; i < run->stores.count; i++) {
		struct device *st = &run->stores.list[i];
		struct memory *m = st->tends;

		if (m == NULL)
			continue;
		m->cores = run->cores;
		plan_pool(run, st);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		m->runs = pthread_create(&m->thread, NULL, tend, m) == 0;
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (!m->runs)
			say_warn("store %s: no thread: deleted files keep "
				 "their memory",
				 st->base);
	}
}

void
memory_forget(const struct device *st, int fd, const char *name)
{
	spill_forget(store_dir(st->tends->store), fd, name);
}

void
memory_pause(struct run *run, bool pause)
{
	for (size_t i = 0; i < run->stores.count; i++)
		if (run->stores.list[i].tends != NULL)
			atomic_store(&run->stores.list[i].tends->pause, pause);
}

void
memory_end(struct run *run)
{
	for (size_t i = 0; i < run->stores.count; i++) {
		struct device *st = &run->stores.list[i];
		struct memory *m = st->tends;

		if (m != NULL && m->runs) {
			atomic_store(&m->stop, true);
			pthread_join(m->thread, NULL);
			if (m->why.kind != ERROR_NONE &&
			    m->why.errnum != EWOULDBLOCK)
				say_warn("store %s: %s", st->base, m->why.text);
		}
		free_memory(st);
	}
	if (fast_files != NULL)
		store_leave();
	fast_files = NULL;
}
