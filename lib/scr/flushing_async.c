/* SPDX-License-Identifier: BSD-3-Clause */
/* flushing_async.c - flushes in the background: their order, the thread that
 * makes the transfers, and its turn. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "lock.h"
#include "map.h"
#include "mem.h"
#include "scr/flushing.h"
#include "scr/flushing_impl.h"
#include "scr/held.h"
#include "scr/run.h"
#include "site/jobfiles.h"
#include "team/cores.h"
#include "team/say.h"
#include "transfer/put.h"

struct flights {
	struct run *run;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	/* Those that are not committed, in their order, which is the same on
	 * all ranks; the next one for the thread, or NULL. */
	struct flushing *first, *next;
	atomic_bool stop;
};

/* --- Turns --- */

/*
 * At most SCR_FLUSH_WIDTH ranks copy at a time.  The width is divided among the
 * nodes, whose ranks take turns by locks in the control directory.  If there
 * are more nodes than that, one rank of each takes turns with other nodes by
 * locks on the prefix.  Where a file system has no locks, nobody waits.
 */
struct turn {
	int dir[2], lock[2]; /* on the node, on the prefix */
};

static bool
stopped(void *arg)
{
	return atomic_load(&((struct flights *)arg)->stop);
}

/* Lock one of the first `n` numbers; if the rank has copied an `older` dataset
 * already, behind those that have not.  False: stopped. */
static bool
take_number(struct flights *l, int lock, uint32_t n, bool older)
{
	struct timespec wait = { .tv_nsec = older ? 400000000 : 5000000 };

	if (older)
		nanosleep(&wait, NULL);
	while (!stopped(l)) {
		for (uint32_t i = 0; i < n; i++)
			if (lock_shares_take(lock, i, i))
				return true;
		nanosleep(&wait, NULL);
		if (wait.tv_nsec < 250000000)
			wait.tv_nsec *= 2;
	}
	return false;
}

static bool
turn_take(struct flights *l, struct turn *t, bool older)
{
	const struct run *run = l->run;
	const uint32_t width = run->p.flush_width;
	const uint32_t *node = groups_find(&run->groups, GROUPS_NODE)->of;
	uint32_t index = 0, n = 0;
	bool mine = true;

	*t = (struct turn){ { -1, -1 }, { -1, -1 } };
	if (width >= run->world.size)
		return true;
	for (uint32_t i = 0; i < node[run->world.rank]; i++)
		index += node[i] == i;
	n = width / run->nodes + (index < width % run->nodes);
	t->dir[0] = dir_open(AT_FDCWD, run->stores.control->dir);
	if (t->dir[0] >= 0)
		t->lock[0] = lock_shares_open(t->dir[0], NULL, NULL);
	mine = take_number(l, t->lock[0], n > 0 ? n : 1, older);
	if (width >= run->nodes || !mine)
		return mine;
	t->dir[1] = jobfiles_open(run->p.prefix, false, NULL);
	if (t->dir[1] >= 0)
		t->lock[1] = lock_shares_open(t->dir[1], NULL, NULL);
	return take_number(l, t->lock[1], width, older);
}

/* --- The thread --- */

static void *
fly(void *arg)
{
	struct flights *l = arg;
	struct flushing *f = NULL;
	struct turn t;
	bool older = false;
	int rc = -1;

	/* The priority of this thread, and of those that it starts.  Where it
	 * shares a core with a rank, it would get next to nothing. */
	if (cores_enter(l->run->cores))
		(void)setpriority(PRIO_PROCESS, 0, 19);
	pthread_mutex_lock(&l->lock);
	while (!stopped(l)) {
		f = l->next;
		if (f == NULL) {
			pthread_cond_wait(&l->changed, &l->lock);
			continue;
		}
		older = f != l->first;
		pthread_mutex_unlock(&l->lock);
		if (turn_take(l, &t, older))
			rc = flushing_transfer(f, stopped, l, &f->why);
		else
			rc = error_set(&f->why, ERROR_SYSTEM, "interrupted");
		for (int i = 0; i < 2; i++) {
			lock_shares_close(t.dir[i], t.lock[i]);
			io_close(t.dir[i]);
		}
		pthread_mutex_lock(&l->lock);
		f->ended = rc < 0 ? -1 : 1;
		l->next = f->next;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

void
flushing_async_begin(struct run *run)
{
	struct flights *l = NULL;
	sigset_t all, old;
	bool runs = false;

	if (!run->p.flush_async)
		return;
	l = mem_calloc(1, sizeof(*l));
	if (l != NULL) {
		l->run = run;
		pthread_mutex_init(&l->lock, NULL);
		pthread_cond_init(&l->changed, NULL);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		runs = pthread_create(&l->thread, NULL, fly, l) == 0;
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	run->flights = runs ? l : NULL;
	if (!team_any(&run->world, !runs))
		return;
	say_warn_first("SCR_FLUSH_ASYNC: a rank has no thread for it: the job "
		       "waits for each flush");
	if (runs)
		flushing_async_end(run, false);
	else
		mem_free(l);
}

void
flushing_async_end(struct run *run, bool keep)
{
	struct flights *l = run->flights;

	run->flights = NULL;
	if (l == NULL)
		return;
	pthread_mutex_lock(&l->lock);
	atomic_store(&l->stop, true);
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	(void)pthread_join(l->thread, NULL);
	while (l->first != NULL) {
		struct flushing *f = l->first;

		l->first = f->next;
		if (keep && f->put != NULL)
			put_keep(f->put);
		flushing_free(f);
	}
	mem_free(l);
}

/* --- The flushes --- */

/* Send each path to its home, which is the same whatever rank writes it. */
static int
share_paths(struct flushing *f)
{
	struct team_path *list = NULL;

	if (f->shared)
		return 0;
	list = arena_alloc(f->arena, f->nfiles + 1, sizeof(*list));
	for (size_t i = 0; list != NULL && i < f->nfiles; i++)
		list[i].path = f->files[i].rel;
	if (team_homes(&f->run->world, list,
		       list == NULL ? -1 : (int64_t)f->nfiles, f->arena,
		       &f->homed, NULL) < 0)
		return -1;
	f->shared = true;
	return 0;
}

/* Add the paths with their home here; with `look`, are any in the map? */
static bool
match(const struct flushing *f, struct map *paths, bool look, int *rc)
{
	for (size_t i = 0; *rc == 0 && i < f->homed.count; i++) {
		const struct team_note *n = &f->homed.notes[i];
		const char *at = n->data, *end = at + n->len;

		for (; *rc == 0 && at < end; at += strlen(at) + 1)
			if (!look)
				*rc = map_put(paths, at, 0);
			else if (map_get(paths, at) != MAP_NONE)
				return true;
	}
	return false;
}

/* May a rank write a file that it, or another one, also writes in a flush that
 * is not committed?  If that cannot be known, it may. */
static bool
overlaps(const struct flights *l, struct flushing *f)
{
	struct map *paths = NULL;
	bool any = false;
	int rc = 0;

	/* Containers are in a directory of their dataset. */
	if (l->first == NULL || f->pack != NULL)
		return false;
	any = share_paths(f) < 0;
	paths = map_new();
	if (paths == NULL)
		rc = -1;
	else if (!any)
		(void)match(f, paths, false, &rc);
	for (struct flushing *o = l->first; o != NULL && !any; o = o->next) {
		any = share_paths(o) < 0 || match(o, paths, true, &rc);
		any = team_any(&l->run->world, any || rc < 0);
	}
	map_free(paths);
	return any;
}

bool
flushing_start(struct run *run, struct held_set *s, bool resume)
{
	struct flights *l = run->flights;
	struct error why = ERROR_INIT;
	struct flushing *f = NULL, **end = &l->first;

	s->flying = true;
	f = flushing_begin(run, s, resume, &why);
	if (f == NULL) {
		flushing_say(run, s->d.id, &why);
		return false;
	}
	/* Two of a name have the same temporary file. */
	if (overlaps(l, f))
		flushing_wait(run, INT64_MAX);
	pthread_mutex_lock(&l->lock);
	while (*end != NULL)
		end = &(*end)->next;
	*end = f;
	if (l->next == NULL)
		l->next = f;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return true;
}

/* Commit those up to dataset `id` whose transfers have ended on all ranks; with
 * `wait`, all up to that one. */
static void
settle(struct run *run, int64_t id, bool wait)
{
	struct flights *l = run->flights;
	uint64_t n = 0;

	if (l == NULL || l->first == NULL)
		return;
	pthread_mutex_lock(&l->lock);
	for (const struct flushing *f = l->first;
	     f != NULL && f->s->d.id <= id && (wait || f->ended != 0);
	     f = f->next, n++)
		while (f->ended == 0)
			pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
	for (n = team_least(&run->world, n); n > 0; n--) {
		struct error why = ERROR_INIT;
		struct flushing *f = l->first;
		int rc = f->ended < 0 ? -1 : 0;

		pthread_mutex_lock(&l->lock);
		l->first = f->next;
		pthread_mutex_unlock(&l->lock);
		id = f->s->d.id;
		if (rc < 0)
			error_pass(&why, &f->why);
		if (flushing_end(f, rc, &why) < 0)
			flushing_say(run, id, &why);
	}
}

void
flushing_look(struct run *run)
{
	settle(run, INT64_MAX, false);
}

void
flushing_wait(struct run *run, int64_t id)
{
	settle(run, id, true);
}
