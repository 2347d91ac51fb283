/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "scratch.h"

#define ITEMS_MAX 5000
#define THREADS_MAX 8

static struct job {
	unsigned char seen[ITEMS_MAX]; /* number of calls for each item */
	size_t calls[THREADS_MAX];     /* for each worker, without a lock */
	pthread_t thread[THREADS_MAX];
	bool strayed; /* two threads had the same worker number */
	atomic_size_t total;
	size_t fail_at; /* this item and all after it fail */
	unsigned threads;
} job;

static int
work(void *arg, size_t i, unsigned worker, struct error *err)
{
	(void)arg;
	if (worker >= job.threads)
		return error_set(err, ERROR_LOST, "no such worker");
	if (job.calls[worker]++ == 0)
		job.thread[worker] = pthread_self();
	else if (!pthread_equal(job.thread[worker], pthread_self()))
		job.strayed = true;
	job.total++;
	if (i >= job.fail_at)
		return error_set(err, ERROR_CORRUPT, "item %zu", i);
	job.seen[i % ITEMS_MAX]++;
	return 0;
}

/* par_for(), with a new job of which items from `fail_at` on fail. */
static int
run(struct par *p, size_t count, size_t batch, size_t fail_at,
    struct error *err)
{
	memset(&job, 0, sizeof(job));
	job.threads = par_threads(p);
	job.fail_at = fail_at;
	return par_for(p, count, batch, work, NULL, err);
}

static bool
each_once(size_t count)
{
	for (size_t i = 0; i < ITEMS_MAX; i++)
		if (job.seen[i] != (i < count))
			return false;
	return !job.strayed;
}

/* 0: no pool, which is one thread. */
static const unsigned threads[] = { 0, 1, 2, 3, 8 };

TEST(all_items)
{
	static const size_t counts[] = { 0, 1, 2, 7, 100, ITEMS_MAX };
	static const size_t batches[] = { 0, 1, 3, 64, ITEMS_MAX, SIZE_MAX };

	for (size_t t = 0; t < 5; t++) {
		auto_par *p = threads[t] ? par_new(threads[t], NULL) : NULL;
		bool good = par_threads(p) == (threads[t] ? threads[t] : 1);

		for (size_t i = 0; i < 36; i++)
			good = good &&
			       run(p, counts[i / 6], batches[i % 6], SIZE_MAX,
				   NULL) == 0 &&
			       each_once(counts[i / 6]);
		ok(good, fmt("%u threads: each item once, whatever the batch; "
			     "a worker's number belongs to one",
			     threads[t]));
	}
}

TEST(errors)
{
	for (size_t t = 0; t < 5; t++) {
		auto_par *p = threads[t] ? par_new(threads[t], NULL) : NULL;
		struct error err = ERROR_INIT;
		unsigned long item = 0;
		char *end = NULL;

		ok(run(p, SIZE_MAX, 2, 40, &err) < 0 &&
			   err.kind == ERROR_CORRUPT &&
			   strncmp(err.text, "item ", 5) == 0,
		   "an item fails: its error comes out");
		item = strtoul(err.text + 5, &end, 10);
		ok(*end == '\0' && item >= 40 &&
			   item < (threads[t] < 2 ? 41 : 40 + 2 * THREADS_MAX),
		   "that of the first, if alone");
		ok(job.total <= 40 + job.threads, "and the others stop");
		is_int(run(p, SIZE_MAX, 0, 40, NULL), -1, "nobody asks why");

		error_clear(&err);
		ok(run(p, 100, 0, SIZE_MAX, &err) == 0 && each_once(100) &&
			   err.kind == ERROR_NONE,
		   "the pool works on as if nothing had happened");
	}
}

/* Number 0 fails. */
static int
check_top(void *arg, size_t i, unsigned worker, struct error *err)
{
	atomic_size_t *zeros = arg;

	(void)worker;
	if (i > 0)
		return 0;
	atomic_fetch_add(zeros, 1);
	return error_set(err, ERROR_CORRUPT, "0");
}

static int
check_mask(void *arg, size_t i, unsigned worker, struct error *err)
{
	atomic_uint *open = arg;
	sigset_t mask;

	(void)i;
	(void)err;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	if (worker > 0 &&
	    (!sigismember(&mask, SIGUSR1) || !sigismember(&mask, SIGINT)))
		atomic_fetch_add(open, 1);
	sched_yield();
	return 0;
}

TEST(misuse)
{
	struct par *p = par_new(0, NULL);
	atomic_size_t zeros = 0;
	atomic_uint open_masks = 0;
	sigset_t before, after;

	ok(par_threads(p) == 1 &&
		   par_for(p, 10, 0, check_mask, &open_masks, NULL) == 0,
	   "no thread at all means one");
	par_free(p);
	par_free(NULL);

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	p = par_new(4, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	is_int(sigismember(&after, SIGINT), sigismember(&before, SIGINT),
	       "the caller's signals stay as they were");
	ok(par_for(p, 1000, 0, check_mask, &open_masks, NULL) == 0 &&
		   open_masks == 0,
	   "the workers' signals are blocked");
	/* Each thread gets a share of the numbers; number 0 fails and ends all
	 * shares. */
	is_int(par_for(p, SIZE_MAX, SIZE_MAX, check_top, &zeros, NULL), -1,
	       "the greatest number in the greatest batches");
	is_int(zeros, 1, "does not wrap around");
	par_free(p);

	without_memory (m, 2, "a pool: two allocations") {
		struct par *two = par_new(2, &m.err);

		par_free(two);
		m.rc = two != NULL ? 0 : -1;
	}
	mem_fail_after(0);
	ok(par_cpus() >= 1, "without memory there still is a processor");
	mem_fail_after(-1);
}

/* Threads cannot be created.  Not as root, for whom the limit does not
 * apply. */
TEST(no_threads)
{
	const struct rlimit none = { 0, 0 };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		struct error err = ERROR_INIT;
		struct par *p = NULL;

		become_nobody();
		must(setrlimit(RLIMIT_NPROC, &none) == 0);
		p = par_new(4, &err);
		status = p == NULL || par_threads(p) != 1 ||
			 err.kind != ERROR_NONE;
		par_free(p);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip("no threads to be had", "cannot give up root's rights");
	else
		is_int(status, 0, "the calling thread works alone");
}

static const struct {
	const char *what;
	unsigned quota;
	const char *own;   /* /proc/self/cgroup */
	const char *files; /* below /sys/fs/cgroup: NAME=CONTENTS|... */
} groups[] = {
	{ "nothing", 0, NULL, "" },
	{ "2: no limit", 0, "0::/a\n", "a/cpu.max=max 100000\n" },
	{ "2: one and a half, rounded up", 2, "0::/a\n",
	  "a/cpu.max=150000 100000\n" },
	{ "2: a tenth", 1, "0::/a\n", "a/cpu.max=10000 100000\n" },
	{ "2: the group around it is tighter", 3, "0::/a/b/c\n",
	  "a/b/c/cpu.max=800000 100000\n|a/cpu.max=300000 100000\n" },
	{ "2: a container sees only its own", 4, "0::/outside/container\n",
	  "cpu.max=400000 100000\n" },
	{ "2: at the root", 4, "0::/\n", "cpu.max=400000 100000\n" },
	{ "2: beside 1", 5, "1:name=systemd:/x\n0::/a\n",
	  "unified/a/cpu.max=500000 100000\n" },
	{ "2: nonsense", 0, "0::/a\n", "a/cpu.max=many\n|cpu.max=5 0\n" },
	{ "1: no limit", 0, "3:cpu,cpuacct:/j\n",
	  "cpu,cpuacct/j/cpu.cfs_quota_us=-1\n|"
	  "cpu,cpuacct/j/cpu.cfs_period_us=100000\n" },
	{ "1: two", 2, "3:cpuacct,cpu:/j\n4:memory:/j\n",
	  "cpuacct,cpu/j/cpu.cfs_quota_us=200000\n|"
	  "cpuacct,cpu/j/cpu.cfs_period_us=100000\n|"
	  "memory/j/cpu.cfs_quota_us=100000\n|"
	  "memory/j/cpu.cfs_period_us=100000\n" },
	{ "1: at the place without the other controllers' names", 6,
	  "3:cpu,cpuacct:/j\n",
	  "cpu/cpu.cfs_quota_us=60000\n|cpu/cpu.cfs_period_us=10000\n" },
	{ "1: without a period", 0, "3:cpu:/j\n",
	  "cpu/cpu.cfs_quota_us=60000\n" },
	{ "only other controllers", 0, "3:cpuset,cpuacct:/\n",
	  "cpuset,cpuacct/cpu.max=1000 1000\n" },
	{ "lines that are none", 7, "\nx\n3:\n::\n0::/a",
	  "a/cpu.max=700000 100000" },
};

TEST(quota)
{
	char files[512], *rest = NULL;

	each (g, groups) {
		scratch_new();
		if (g->own != NULL)
			write_text(here("proc/self/cgroup"), g->own);
		snprintf(files, sizeof(files), "%s", g->files);
		for (char *f = strtok_r(files, "|", &rest); f != NULL;
		     f = strtok_r(NULL, "|", &rest)) {
			char *text = strchr(f, '=');

			*text++ = '\0';
			write_text(here("sys/fs/cgroup/%s", f), text);
		}
		is_int(par_quota(scratch_root), g->quota, g->what);
	}
}

TEST(cpus)
{
	unsigned cpus = par_cpus();
	cpu_set_t old, one;
	int cpu = 0;

	ok(cpus >= 1 && cpus <= (unsigned)sysconf(_SC_NPROCESSORS_CONF),
	   "not more processors than there are");
	if (sched_getaffinity(0, sizeof(old), &old) < 0) {
		skip("affinity to one processor", "more than 1024 of them");
		return;
	}
	while (!CPU_ISSET(cpu, &old))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	is_int(par_cpus(), 1, "affinity to one processor");
	sched_setaffinity(0, sizeof(old), &old);
}
