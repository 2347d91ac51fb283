/* SPDX-License-Identifier: BSD-3-Clause */
/* par.c - a pool of POSIX threads that share the iterations of a loop. */
#include "par.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "mem.h"
#include "str.h"

/* More processors than any kernel supports. */
#define CPUS_MAX ((size_t)1 << 20)

/* Stack of a worker, in bytes. */
#define STACK_SIZE ((size_t)2 << 20)

struct worker {
	struct par *pool;
	pthread_t thread;
	unsigned number; /* from 1: 0 is the thread that calls par_for() */
};

struct par {
	unsigned threads;	/* including the caller */
	unsigned started;	/* workers to be joined */
	struct worker *workers; /* threads - 1 */
	void (*begin)(void *arg, unsigned worker);
	void *begin_arg;

	pthread_mutex_t lock; /* guards all members down to `error` */
	pthread_cond_t work;  /* `round` or `quit` changed */
	pthread_cond_t idle;  /* `busy` became 0 */
	uint64_t round;	      /* counts the calls of par_for() */
	unsigned busy;	      /* workers that have not finished this round */
	bool quit;
	bool failed;	    /* in this round */
	struct error error; /* of the call that failed first */

	/* The loop of this round: set before it starts, under the lock. */
	size_t count, batch;
	int (*fn)(void *arg, size_t i, unsigned worker, struct error *err);
	void *arg;

	atomic_size_t next; /* the first number not taken yet */
	atomic_bool stop;   /* a call has failed */
};

/* Take the next numbers, *from ... *to - 1.  False: none left. */
static bool
take(struct par *p, size_t *from, size_t *to)
{
	size_t i = atomic_load_explicit(&p->next, memory_order_relaxed);

	/* Not a plain addition, which might wrap around SIZE_MAX. */
	do {
		if (i >= p->count)
			return false;
		*from = i;
		*to = p->count - i < p->batch ? p->count : i + p->batch;
	} while (!atomic_compare_exchange_weak_explicit(
		&p->next, &i, *to, memory_order_relaxed, memory_order_relaxed));
	return true;
}

/* One thread's share of a round. */
static void
run(struct par *p, unsigned number)
{
	struct error err = ERROR_INIT;
	size_t i, to;

	while (take(p, &i, &to)) {
		for (; i < to; i++) {
			if (atomic_load_explicit(&p->stop,
						 memory_order_relaxed))
				return;
			if (p->fn(p->arg, i, number, &err) < 0) {
				pthread_mutex_lock(&p->lock);
				if (!p->failed)
					p->error = err;
				p->failed = true;
				pthread_mutex_unlock(&p->lock);
				atomic_store_explicit(&p->stop, true,
						      memory_order_relaxed);
				return;
			}
		}
	}
}

static void *
worker_main(void *arg)
{
	struct worker *w = arg;
	struct par *p = w->pool;
	uint64_t round = 0;

	if (p->begin != NULL)
		p->begin(p->begin_arg, w->number);
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->round == round && !p->quit)
			pthread_cond_wait(&p->work, &p->lock);
		if (p->quit)
			break;
		round = p->round;
		pthread_mutex_unlock(&p->lock);
		run(p, w->number);
		pthread_mutex_lock(&p->lock);
		if (--p->busy == 0)
			pthread_cond_signal(&p->idle);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct par *
par_new(unsigned threads, struct error *err)
{
	return par_new_begin(threads, NULL, NULL, err);
}

struct par *
par_new_begin(unsigned threads, void (*begin)(void *arg, unsigned worker),
	      void *arg, struct error *err)
{
	struct par *p = mem_calloc(1, sizeof(*p));
	pthread_attr_t attr;
	sigset_t all, old;
	int rc = 0;

	if (p == NULL)
		return error_no_memory_null(err);
	p->threads = threads > 0 ? threads : 1;
	p->begin = begin;
	p->begin_arg = arg;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->idle, NULL);
	if (p->threads == 1)
		return p;
	p->workers = mem_calloc(p->threads - 1, sizeof(*p->workers));
	if (p->workers == NULL) {
		error_no_memory(err);
		goto fail;
	}
	/* Start the workers with all signals blocked, so that signals go to the
	 * thread that handles them.  Their stacks are small: with 64 of the
	 * usual size little would be left of a batch job's limit of address
	 * space. */
	rc = pthread_attr_init(&attr);
	if (rc == 0)
		rc = pthread_attr_setstacksize(&attr, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (p->started < p->threads - 1 && rc == 0) {
		struct worker *w = &p->workers[p->started];

		*w = (struct worker){ .pool = p, .number = p->started + 1 };
		rc = pthread_create(&w->thread, &attr, worker_main, w);
		p->started += rc == 0;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	/* A limit of processes: those that there are do the work. */
	if (rc == EAGAIN)
		p->threads = p->started + 1;
	if (rc == 0 || rc == EAGAIN)
		return p;
	errno = rc;
	error_sys(err, "cannot start thread %u of %u", p->started + 1,
		  p->threads);
fail:
	par_free(p);
	return NULL;
}

void
par_free(struct par *p)
{
	unsigned i;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->quit = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (i = 0; i < p->started; i++)
		pthread_join(p->workers[i].thread, NULL);
	pthread_cond_destroy(&p->idle);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	mem_free(p->workers);
	mem_free(p);
}

unsigned
par_threads(const struct par *p)
{
	return p != NULL ? p->threads : 1;
}

int
par_for(struct par *p, size_t count, size_t batch,
	int (*fn)(void *arg, size_t i, unsigned worker, struct error *err),
	void *arg, struct error *err)
{
	const bool alone = par_threads(p) == 1 || count <= 1;
	const size_t share = count / par_threads(p);

	if (p == NULL) {
		for (size_t i = 0; i < count; i++)
			if (fn(arg, i, 0, err) < 0)
				return -1;
		return 0;
	}
	pthread_mutex_lock(&p->lock);
	p->count = count;
	p->batch = batch < share ? batch : share;
	p->batch = p->batch > 0 ? p->batch : 1;
	p->fn = fn;
	p->arg = arg;
	p->failed = false;
	atomic_store_explicit(&p->next, 0, memory_order_relaxed);
	atomic_store_explicit(&p->stop, false, memory_order_relaxed);
	if (!alone) { /* else no other thread is needed */
		p->busy = p->threads - 1;
		p->round++;
		pthread_cond_broadcast(&p->work);
	}
	pthread_mutex_unlock(&p->lock);

	run(p, 0);

	pthread_mutex_lock(&p->lock);
	while (p->busy > 0)
		pthread_cond_wait(&p->idle, &p->lock);
	pthread_mutex_unlock(&p->lock);
	if (!p->failed)
		return 0;
	return error_pass(err, &p->error);
}

/* Read one number or two from the file dir/name.  -1: it cannot be opened. */
static int
read_numbers(const char *dir, const char *name, long long *a, long long *b)
{
	char path[8192];
	const int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = NULL;

	if (n >= 0 && (size_t)n < sizeof(path))
		file = fopen(path, "re");
	if (file == NULL)
		return -1;
	(void)!fscanf(file, "%lld %lld", a, b);
	fclose(file);
	return 0;
}

/* The smaller of two limits; 0 means no limit. */
static unsigned
tighter(unsigned a, unsigned b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

/*
 * The smallest quota of the group `path` below `mount` and of all its parents,
 * in processors rounded up; 0: none.  In a container `path` is often the path
 * outside, which is not visible.  Only `mount` is visible then, and it is the
 * container's group.
 *
 * Version 2 of control groups has "QUOTA PERIOD" or "max PERIOD" (no quota) in
 * cpu.max.  Version 1 has two files, and the quota -1 means none.
 */
static unsigned
tree_quota(const char *mount, const char *path)
{
	char dir[8192];
	size_t top = strlen(mount);
	unsigned quota = 0;
	int n = snprintf(dir, sizeof(dir), "%s%s", mount, path);

	if (n < 0 || (size_t)n >= sizeof(dir))
		return 0;
	for (;;) {
		long long q = 0, t = 0, none = 0;
		char *slash = strrchr(dir, '/');

		if (read_numbers(dir, "cpu.max", &q, &t) < 0) {
			(void)read_numbers(dir, "cpu.cfs_quota_us", &q, &none);
			(void)read_numbers(dir, "cpu.cfs_period_us", &t, &none);
		}
		q = q > 0 && t > 0 ? (q - 1) / t + 1 : 0;
		quota = tighter(quota, q < 1 << 30 ? (unsigned)q : 0);
		if (slash == NULL || (size_t)(slash - dir) < top)
			return quota;
		*slash = '\0';
	}
}

/* The quota for one line of /proc/self/cgroup: "NUMBER:CONTROLLERS:PATH",
 * without controllers for version 2. */
static unsigned
line_quota(const char *root, char *line)
{
	char mount[4096];
	unsigned quota;
	char *list = strchr(line, ':'), *path = NULL;

	if (list != NULL)
		path = strchr(++list, ':');
	if (path == NULL)
		return 0;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (str_eq(path, "/"))
		*path = '\0';
	/* A list of controllers such as "cpu,cpuacct". */
	snprintf(mount, sizeof(mount), ",%s,", list);
	if (list[0] != '\0' && strstr(mount, ",cpu,") == NULL)
		return 0;
	snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup%s%s", root,
		 list[0] != '\0' ? "/" : "", list);
	quota = tree_quota(mount, path);
	/* If both versions are in use, version 2 is mounted at "unified".
	 * "cpu" is a link that some containers lack. */
	snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/%s", root,
		 list[0] != '\0' ? "cpu" : "unified");
	return tighter(quota, tree_quota(mount, path));
}

unsigned
par_quota(const char *root)
{
	char line[4352]; /* PATH_MAX and the fields before the path */
	unsigned quota = 0;
	FILE *file = NULL;

	snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
	file = fopen(line, "re");
	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL)
		quota = tighter(quota, line_quota(root, line));
	fclose(file);
	return quota;
}

unsigned
par_cpus(void)
{
	long online = 0;
	int cpus = 0, rc = -1;

	/* Those in our affinity mask.  The kernel rejects a set with fewer bits
	 * than it has processors. */
	errno = EINVAL;
	for (size_t n = 1024; n <= CPUS_MAX && rc < 0 && errno == EINVAL;
	     n *= 2) {
		size_t size = CPU_ALLOC_SIZE(n);
		cpu_set_t *set = mem_calloc(1, size);

		if (set == NULL)
			break;
		rc = sched_getaffinity(0, size, set);
		if (rc == 0)
			cpus = CPU_COUNT_S(size, set);
		mem_free(set);
	}
	if (cpus == 0) {
		online = sysconf(_SC_NPROCESSORS_ONLN);
		cpus = online > 0 ? (int)online : 1;
	}
	return tighter((unsigned)cpus, par_quota(""));
}
