/* SPDX-License-Identifier: BSD-3-Clause */
#include "crashsweep.h"

#include <sched.h>

#include "clock.h"

/* --- Every operation --- */

/* Read the number in a file, then remove the file. */
static unsigned long
read_count(const char *path)
{
	unsigned long count = 0;
	FILE *f = fopen(path, "r");

	must(f != NULL && fscanf(f, "%lu", &count) == 1);
	fclose(f);
	unlink(path);
	return count;
}

/* Read from the trace which operations transfer bytes. */
static void
read_trace(struct scene *s, const char *path)
{
	unsigned long number = 0;
	char line[9000], what[64];
	FILE *f = fopen(path, "r");

	s->transfers = mem_calloc(s->count + 1, 1);
	must(f != NULL && s->transfers != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%lu %63s", &number, what) == 2 &&
		    number <= s->count)
			s->transfers[number] = strstr(what, "write") != NULL ||
					       strstr(what, "copy") != NULL;
	fclose(f);
	unlink(path);
}

bool
measure(struct scene *s, bool every)
{
	struct fault f = { .count = "count", .reads = true };
	bool good = true;

	s->before = tree_load(prefix);
	s->begin = scene_load(s);
	if (every) {
		if (run_command(s->command, &f) != 0)
			return false;
		s->reads = read_count(f.count);
		set_back(s);
	}
	f.reads = false;
	f.trace = "trace";
	if (run_command(s->command, &f) != 0) {
		show_run(s, &f, 1);
		return false;
	}
	s->count = read_count(f.count);
	read_trace(s, f.trace);
	s->after = tree_load(prefix);
	s->done = scene_load(s);
	if (s->rules != NULL)
		good = s->rules->whole(s) &&
		       run_command(s->again ? s->again : s->command, NULL) == 0;
	s->end = scene_load(s);
	if (s->again != NULL)
		good = good && s->rules->whole(s);
	else
		good = same_state(s, &s->end, &s->done, true, false) && good;
	return good && s->count > 0;
}

enum { FAILS = 1, KILLS = 2, TRANSFERS = 4, QUICK = 8 };

static const struct mode {
	const char *what;
	int how; /* QUICK: part of a quick run */
	struct fault fault;
} modes[] = {
	{ "killed before each operation", KILLS | QUICK, { 0 } },
	{ "killed in the middle of each write",
	  FAILS | KILLS | TRANSFERS,
	  { .halve = true } },
	{ "EIO at each operation", FAILS | QUICK, { .error = "EIO" } },
	{ "ENOSPC at each operation", FAILS, { .error = "ENOSPC" } },
	{ "the disk full from each operation on",
	  FAILS,
	  { .error = "ENOSPC", .sticky = true } },
	{ "each write cut short",
	  FAILS | TRANSFERS,
	  { .error = "ENOSPC", .halve = true } },
	{ "each write cut short, then a full disk",
	  FAILS | TRANSFERS | QUICK,
	  { .error = "ENOSPC", .halve = true, .sticky = true } },
	{ "EIO at each operation, reads included",
	  FAILS,
	  { .error = "EIO", .reads = true } },
	{ "each read cut short",
	  FAILS,
	  { .error = "EIO", .reads = true, .halve = true } },
};

/* In a quick run of each mode `few` operations, which differ between sweeps. */
static void
sweep(struct scene *s, const struct mode *m, unsigned few)
{
	static unsigned long sweeps;
	unsigned long count = m->fault.reads ? s->reads : s->count;
	unsigned long step = slow ? 1 : count / (SANITIZED ? few / 3 : few) + 1;
	unsigned long most = step <= count ? step : 1;
	unsigned long first = m->how & TRANSFERS ? 0 : sweeps++ * 7 % most;
	unsigned runs = 0, bad = 0;

	s->told = 0;
	if (first >= count) /* of a step of count + 1 */
		first = 0;
	for (unsigned long n = first + 1; n <= count; n += step) {
		struct fault f = m->fault;

		while (m->how & TRANSFERS && n <= count && !s->transfers[n])
			n++;
		if (n > count)
			break;
		if (m->how & FAILS)
			f.fail_at = n;
		if (m->how & KILLS)
			f.kill_at = n + (m->how & FAILS);
		runs++;
		bad += !disturbed(s, &f, NULL);
	}
	ok(bad == 0 && runs > 0,
	   fmt("%s: %s: %u runs", s->name, m->what, runs));
	if (bad > 0)
		printf("# %u of %u runs ended badly\n", bad, runs);
}

/* --- Random moments --- */

static long
now_us(void)
{
	return (long)(clock_seconds() * 1e6);
}

/* Time of an undisturbed run. */
static long
duration(struct scene *s)
{
	long time = 0;

	for (int i = 0; i < 5; i++) {
		set_back(s);
		time -= now_us();
		(void)run_command(s->command, NULL);
		time += now_us();
	}
	return time / 5;
}

void
random_kills(struct scene *s, unsigned kills)
{
	unsigned tally[OUTCOMES] = { 0 }, bad = 0;
	unsigned seed = (unsigned)now_us();
	long time = duration(s);

	s->told = 0;
	printf("# %s: seed %u, an undisturbed run takes %ld us\n", s->name,
	       seed, time);
	for (unsigned i = 0; i < kills; i++) {
		const struct fault f = {
			.kill_after = rand_r(&seed) % (time * 6 / 5 + 1) + 1,
		};

		bad += !disturbed(s, &f, tally);
	}
	ok(bad == 0, fmt("%s: killed at %u random moments", s->name, kills));
	printf("# %u ended badly; when killed %u had made no file, %u some, %u "
	       "were done\n",
	       bad, tally[NOTHING], tally[PARTLY], tally[DONE]);
}

/* --- Initial state --- */

bool
system_is_ok(const char *command)
{
	int status = system(command);

	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool
have_golden(const char *path)
{
	const char *golden = getenv("SCRKIT_GOLDEN");

	return golden != NULL && access(fmt("%s/%s", golden, path), R_OK) == 0;
}

bool
start_with(const char *format, const char *from)
{
	char command[4096];

	remove_tree(prefix);
	if (from != NULL)
		snprintf(command, sizeof(command),
			 "cp -R '%s/%s' '%s' && chmod -R u+w '%s'",
			 getenv("SCRKIT_GOLDEN"), from, prefix, prefix);
	else
		snprintf(command, sizeof(command), format, getenv("GEN"),
			 prefix);
	return system_is_ok(command);
}

/* --- Scenes --- */

void
scene_fini(struct scene *s)
{
	struct tree *trees[] = { &s->before, &s->after, &s->begin, &s->done,
				 &s->end };

	each (t, trees)
		tree_free(*t);
	mem_free(s->transfers);
}

/* Restrict the process to one processor, and so to one thread, so that
 * operations come in the same order in every run.  `all` restores the old
 * set. */
static void
one_thread(const cpu_set_t *all)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), all != NULL ? all : &one);
}

void
play(struct scene *s, unsigned few, bool all, unsigned kills)
{
	bool every = slow && (all || slower);
	cpu_set_t cpus;

	(void)sched_getaffinity(0, sizeof(cpus), &cpus);
	if (s->rules != NULL)
		one_thread(NULL);
	if (ok(measure(s, every), fmt("%s: undisturbed", s->name)))
		each (m, modes)
			if (every || m->how & QUICK)
				sweep(s, m, few);
	one_thread(&cpus);
	if (slow && kills > 0)
		random_kills(s, kills);
	scene_fini(s);
}

int
crash_main(void (*tests)(void))
{
	const char *tmp = getenv("TMPDIR");

	slow = getenv("SCRKIT_SLOW") != NULL && !SANITIZED;
	slower = slow && str_eq(getenv("SCRKIT_SLOW"), "2");
	if (getenv("BIN") == NULL || getenv("SHIM") == NULL ||
	    getenv("GEN") == NULL) {
		skip("crashes", "BIN, GEN and SHIM are not set");
		return tap_done();
	}
	/* Thousands of fsync() calls are faster in memory. */
	if (access("/dev/shm", W_OK) == 0)
		tmp = "/dev/shm";
	snprintf(crash_dir, sizeof(crash_dir), "%s/t_crash.XXXXXX",
		 tmp != NULL ? tmp : "/tmp");
	must(mkdtemp(crash_dir) != NULL);
	must(chdir(crash_dir) == 0);
	snprintf(prefix, sizeof(prefix), "%s/prefix", crash_dir);
	setenv("SCR_PREFIX", prefix, 1);
	setenv("TZ", "UTC", 1);
	tests();
	remove_tree(crash_dir);
	return tap_done();
}
