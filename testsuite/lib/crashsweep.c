/* SPDX-License-Identifier: BSD-3-Clause */
#include "crashsweep.h"

/* --- Every operation --- */

/* Read the number in a file, then remove the file. */
static unsigned long
read_count(const char *path)
{
	unsigned long count = 0;
	FILE *f = fopen(path, "r");

	if (f == NULL || fscanf(f, "%lu", &count) != 1)
		bail_out("the shim counted nothing");
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
	if (f == NULL || s->transfers == NULL)
		bail_out("no trace");
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%lu %63s", &number, what) == 2 &&
		    number <= s->count)
			s->transfers[number] = strstr(what, "write") != NULL ||
					       strstr(what, "copy") != NULL;
	fclose(f);
	unlink(path);
}

bool
measure(struct scene *s)
{
	char count[600], trace[600];
	struct fault f = { .count = count, .trace = trace, .kill_after = -1 };
	struct tree now;

	snprintf(count, sizeof(count), "%s/count", crash_dir);
	snprintf(trace, sizeof(trace), "%s/trace", crash_dir);
	s->before = tree_load(prefix);
	if (run_command(s->argv, &f) != 0) {
		show_run(s, &f, 1);
		return false;
	}
	s->count = read_count(count);
	read_trace(s, trace);
	s->after = tree_load(prefix);
	now = tree_load(prefix);
	tree_restore(prefix, &now, &s->before);
	tree_free(&now);
	f.reads = true;
	f.trace = NULL;
	if (run_command(s->argv, &f) != 0)
		return false;
	s->reads = read_count(count);
	return s->count > 0;
}

const struct mode modes[MODES] = {
	{ "killed before each operation",
	  { .kill_after = -1 },
	  .kills = true,
	  .quick = true },
	{ "killed in the middle of each write",
	  { .halve = true, .kill_after = -1 },
	  .fails = true,
	  .kills = true,
	  .transfers = true },
	{ "EIO at each operation",
	  { .error = "EIO", .kill_after = -1 },
	  .fails = true,
	  .quick = true },
	{ "ENOSPC at each operation",
	  { .error = "ENOSPC", .kill_after = -1 },
	  .fails = true },
	{ "the disk full from each operation on",
	  { .error = "ENOSPC", .sticky = true, .kill_after = -1 },
	  .fails = true },
	{ "each write cut short",
	  { .error = "ENOSPC", .halve = true, .kill_after = -1 },
	  .fails = true,
	  .transfers = true },
	{ "each write cut short, then a full disk",
	  { .error = "ENOSPC",
	    .halve = true,
	    .sticky = true,
	    .kill_after = -1 },
	  .fails = true,
	  .transfers = true,
	  .quick = true },
	{ "EIO at each operation, reads included",
	  { .error = "EIO", .reads = true, .kill_after = -1 },
	  .fails = true },
	{ "each read cut short",
	  { .error = "EIO", .reads = true, .halve = true, .kill_after = -1 },
	  .fails = true },
};

static void
sweep(struct scene *s, const struct mode *m)
{
	unsigned long count = m->fault.reads ? s->reads : s->count;
	unsigned runs = 0, bad = 0;
	char what[256];

	s->told = 0;
	for (unsigned long n = 1; n <= count; n++) {
		struct fault f = m->fault;

		if (m->transfers && !s->transfers[n])
			continue;
		/* A quick run tries every fifth operation. */
		if (!slow && n % 5 != 1)
			continue;
		if (m->fails)
			f.fail_at = n;
		if (m->kills)
			f.kill_at = n + m->fails;
		runs++;
		bad += !disturbed(s, &f, NULL);
	}
	snprintf(what, sizeof(what), "%s: %s: %u runs", s->name, m->what, runs);
	ok(bad == 0 && (runs > 0 || !slow), what);
	if (bad > 0)
		printf("# %u of %u runs ended badly\n", bad, runs);
}

/* --- Random moments --- */

static long
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Time of an undisturbed run: the median of five. */
static long
duration(struct scene *s)
{
	long times[5], t = 0;

	for (int i = 0; i < 5; i++) {
		struct tree now = tree_load(prefix);

		tree_restore(prefix, &now, &s->before);
		tree_free(&now);
		times[i] = now_us();
		(void)run_command(s->argv, NULL);
		times[i] = now_us() - times[i];
		for (int j = i; j > 0 && times[j - 1] > times[j]; j--) {
			t = times[j];
			times[j] = times[j - 1];
			times[j - 1] = t;
		}
	}
	return times[2];
}

void
random_kills(struct scene *s, unsigned kills, disturb_fn *disturb)
{
	unsigned tally[OUTCOMES] = { 0 }, bad = 0;
	unsigned seed = (unsigned)now_us();
	long time = duration(s);
	char what[256];

	s->told = 0;
	printf("# %s: seed %u, an undisturbed run takes %ld us\n", s->name,
	       seed, time);
	for (unsigned i = 0; i < kills; i++) {
		const struct fault f = {
			.kill_after = rand_r(&seed) % (time * 6 / 5 + 1),
		};

		bad += !disturb(s, &f, tally);
	}
	snprintf(what, sizeof(what), "%s: killed at %u random moments", s->name,
		 kills);
	ok(bad == 0, what);
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
	char full[4096];

	snprintf(full, sizeof(full), "%s/%s", golden ? golden : "", path);
	return golden != NULL && access(full, R_OK) == 0;
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

void
scene_fini(struct scene *s)
{
	tree_free(&s->before);
	tree_free(&s->after);
	mem_free(s->transfers);
}

void
play(struct scene *s, bool brief, unsigned kills)
{
	char what[256];

	if (!measure(s)) {
		snprintf(what, sizeof(what), "%s: undisturbed", s->name);
		ok(false, what);
		return;
	}
	for (size_t i = 0; i < MODES; i++)
		if (!brief || modes[i].quick)
			sweep(s, &modes[i]);
	if (kills > 0)
		random_kills(s, kills, disturbed);
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
	if (mkdtemp(crash_dir) == NULL)
		bail_out("no scratch directory");
	snprintf(prefix, sizeof(prefix), "%s/prefix", crash_dir);
	setenv("TZ", "UTC", 1);
	tests();
	remove_tree(crash_dir);
	return tap_done();
}
