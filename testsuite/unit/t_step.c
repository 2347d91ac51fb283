/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_step.c - stopping steps: with mock commands for each manager, which keep
 * the "running" steps as files of a directory; and real processes.
 */
#include "site/step.h"

#include "scratch.h"

static char said[4096]; /* log of step_stop() */

static void
note(void *arg, const char *line)
{
	(void)arg;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n",
		 line);
}

/* What the last call did, or why not. */
static struct step_result did;

#define stops(w, n, k, what) \
	ok(step_stop((w), &did, &why) == 0 && did.found == (n) && \
		   did.killed == (k), \
	   (what))
#define cannot(w, how, words, what) \
	refuses(step_stop((w), &did, &why), (how), (words), (what))

/* --- Mock commands --- */

/*
 * A step is a file steps/ID.  Its contents are the signal that ends it: TERM,
 * KILL or none.  `signal` translates the names of the managers' commands.
 */
static const char head[] =
	"#!/bin/sh\n"
	"cd \"${0%/*}/..\" || exit 9\n"
	"echo \"${0##*/} $*\" >>calls\n"
	"end() { gone=; for id; do [ -e \"steps/$id\" ] || continue\n"
	"read -r how <\"steps/$id\"\n"
	"case $how in $sig | any) gone=\"$gone steps/$id\";; esac\n"
	"done; [ -z \"$gone\" ] || rm $gone; }\n";

static void
stand_in(const char *name, const char *script)
{
	const char *path = here("bin/%s", name);

	write_text(path, fmt("%s%s", head, script));
	must(chmod(path, 0755) == 0);
}

/* Let these steps "ID=SIGNAL ..." run; without a signal any ends a step. */
static void
steps(const char *list)
{
	char *rest = fmt("%s", list), *id = NULL, *ends = NULL;

	while ((ends = strsep(&rest, " ")) != NULL) {
		id = strsep(&ends, "=");
		write_text(here("steps/%s", id), ends ? ends : "any");
	}
}

static bool
is_step(const char *id)
{
	return exists(here("steps/%s", id));
}

static bool
called(const char *words)
{
	auto_buf b = BUF_INIT;
	bool yes = false;

	if (exists(here("calls"))) {
		read_whole(here("calls"), &b);
		yes = b.len > 0 && strstr(b.data, words) != NULL;
		if (!yes)
			printf("# calls:\n# %s\n", b.len > 0 ? b.data : "");
	}
	return yes;
}

/* A scratch directory with the commands of all managers. */
static void
fresh(void)
{
	static char path[1024], before[512];

	scratch_new();
	must(mkdir(here("steps"), 0777) == 0);
	stand_in("squeue", "[ ! -e over ] || { echo 'slurm_load_jobs error: "
			   "Invalid job id specified' >&2; exit 1; }\n"
			   "[ ! -e mute ] || exec sleep 60\n"
			   "[ \"$*\" = '-h -s -j 77 -o %i' ] || exit 8\n"
			   "ls steps\n");
	stand_in("scancel", "sig=${1#--signal=}; shift; end \"$@\"\n"
			    "[ ! -e complains ] || { echo 'scancel: error: "
			    "Kill job error' >&2; exit 1; }\n");
	stand_in("flux", "[ \"$1\" != proxy ] || shift 3\n"
			 "case $1 in\n"
			 "jobs) for i in $(ls steps); do echo \"$i "
			 "\xc6\x92x$i\"; done;;\n"
			 "job) sig=${3#--signal=SIG}; shift 3; end \"$@\";;\n"
			 "*) exit 8;; esac\n");
	stand_in("jslist", "echo '  ID  parent nrs state'; echo ======\n"
			   "for i in $(ls steps); do echo \"  $i  0  4  "
			   "Running\"; done\n"
			   "echo ' 99 0 4 Complete'\n");
	stand_in("jskill", "sig=TERM; [ \"$1\" != -s ] || { sig=$2; shift 2; "
			   "}\nend \"$@\"\n");
	if (before[0] == '\0')
		snprintf(before, sizeof(before), "%s", getenv("PATH"));
	snprintf(path, sizeof(path), "%s/bin:%s", scratch_root, before);
	setenv("PATH", path, 1);
	said[0] = '\0';
}

static struct step_where slurm = {
	.job = { .id = "77", .around = true },
	.grace = 0.15,
	.log = note,
};

static struct resmgr *
manager(const char *name)
{
	struct resmgr *m = resmgr_open(NULL, name, NULL);

	must(m != NULL);
	return m;
}

/* --- SLURM --- */

TEST(here)
{
	auto_mem char *before = mem_strdup(getenv("PATH"));

	fresh();
	is_str(resmgr_installed(), "slurm", "a manager by its commands");
	setenv("PATH", here("bin"), 1);
	remove(here("bin/squeue"));
	is_str(resmgr_installed(), "flux", "... the next");
	setenv("PATH", here("steps"), 1);
	is_str(resmgr_installed(), NULL, "... or none");
	setenv("PATH", before, 1);
}

TEST(slurm)
{
	fresh();
	stops(&slurm, 0, 0, "nothing runs");
	steps("77.0=TERM 77.1 77.batch 77.extern 77.interactive 77.3 177.3");
	setenv("SLURM_JOB_ID", "77", 1);
	setenv("SLURM_STEP_ID", "3", 1);
	stops(&slurm, 3, 0, "steps are stopped");
	ok(!is_step("77.0") && !is_step("77.1"), "... all");
	ok(is_step("77.batch") && is_step("77.extern") &&
		   is_step("77.interactive"),
	   "... but for the allocation");
	ok(is_step("77.3"), "... and our own");
	ok(called("scancel --signal=TERM 177.3 77.0 77.1"), "... by SIGTERM");
	is_str(said,
	       "stopping step 177.3\nstopping step 77.0\n"
	       "stopping step 77.1\n",
	       "... and told");
	unsetenv("SLURM_JOB_ID");
	unsetenv("SLURM_STEP_ID");
}

TEST(stubborn)
{
	struct step_where w = slurm;

	fresh();
	steps("77+1.0=KILL 77_4.1=TERM");
	w.dry_run = true;
	stops(&w, 2, 0, "a dry run stops nothing");
	w.dry_run = false;
	stops(&slurm, 2, 1, "who ignores SIGTERM is killed");
	ok(!is_step("77+1.0") && called("scancel --signal=KILL 77+1.0\n"),
	   "... it alone");
	steps("77.5=nothing");
	cannot(&slurm, ERROR_SYSTEM, "step 77.5: still runs",
	       "who survives that");
	steps("77.5=KILL");
	w.grace = 0;
	stops(&w, 1, 1, "without grace");
	fresh();
	for (int i = 0; i < 300; i++)
		steps(fmt("77.%d", i));
	stops(&slurm, 300, 0, "300 steps at once");
}

static bool
give_up(void)
{
	return true;
}

/* Trouble with the commands: a file changes what the mock ones do. */
TEST(silent)
{
	static const struct {
		const char *file, *steps;
		enum error_kind kind;
		const char *says;
	} cases[] = {
		{ "mute", "77.0=nothing", ERROR_SYSTEM, "squeue: " },
		{ "over", "77.0", ERROR_ABSENT,
		  "job 77: slurm has no record of it" },
		{ "complains", "77.0=nothing", ERROR_SYSTEM,
		  "step 77.0: still runs" },
		{ "complains", "77.0=nothing", ERROR_SYSTEM, "Kill job error" },
	};
	struct step_where w = slurm;

	w.answer = 0.3;
	for (size_t i = 0; i < COUNT(cases); i++) {
		fresh();
		steps(cases[i].steps);
		write_text(here("%s", cases[i].file), "");
		cannot(i == 0 ? &w : &slurm, cases[i].kind, cases[i].says,
		       cases[i].says);
	}
	/* Errors of scancel do not end the sequence. */
	steps("77.0=KILL 77.1=TERM");
	stops(&slurm, 2, 1, "scancel signals, and reports errors all the same");
	ok(!is_step("77.0") && !is_step("77.1"), "... both are stopped");
	steps("77.0=nothing");
	w.stop = give_up;
	cannot(&w, -EINTR, NULL, "the user gives up");
	remove(here("bin/squeue"));
	/* Or that of this machine, which knows no such job. */
	is_int(step_stop(&slurm, &did, &why), -1, "no squeue at all");
}

/* --- Flux and others --- */

TEST(flux)
{
	struct step_where w = slurm;

	fresh();
	w.manager = manager("flux");
	steps("11=TERM 12=KILL 13");
	cannot(&w, ERROR_USAGE, NULL, "outside of Flux");
	ok(is_step("11"), "... nothing is touched");
	w.job.around = false;
	setenv("FLUX_JOB_ID", "\xc6\x92x13", 1);
	stops(&w, 2, 1, "another job, and not ourselves");
	ok(is_step("13"), "... which stays");
	ok(called("flux proxy 77 flux jobs -n -f running -o {id.dec} {id.f58}"),
	   "... through its proxy");
	ok(called("flux proxy 77 flux job kill --signal=SIGTERM 11 12\n"),
	   "... with SIGTERM");
	unsetenv("FLUX_JOB_ID");
	fresh();
	setenv("FLUX_ENCLOSING_ID", "f77", 1);
	w.job.around = true;
	steps("11=TERM");
	stops(&w, 1, 0, "the job around us");
	ok(called("flux job kill --signal=SIGTERM 11\n") && !called("proxy"),
	   "... directly");
	unsetenv("FLUX_ENCLOSING_ID");
	resmgr_close(w.manager);
}

TEST(others)
{
	struct step_where w = slurm;

	fresh();
	w.manager = manager("lsf");
	steps("1=TERM 2=KILL");
	stops(&w, 2, 1, "steps of jsrun");
	ok(called("jskill 1 2\n") && called("jskill -s KILL 2\n"),
	   "... by jskill");
	w.job.around = false;
	cannot(&w, ERROR_USAGE, "job 77", "another job");
	setenv("LSB_JOBID", "77", 1);
	stops(&w, 0, 0, "unless it is this one");
	unsetenv("LSB_JOBID");
	resmgr_close(w.manager);
	w.manager = manager("pbs");
	cannot(&w, ERROR_USAGE, "lists steps", "PBS");
	resmgr_close(w.manager);
}

/* --- Processes --- */

/* Start a process group of two that ignore SIGTERM.  Returns its id when it is
 * ready; *life reads end-of-file when both have ended. */
static pid_t
group(int *life)
{
	int ends[2];
	char byte = 0;
	pid_t pid = -1;

	must(pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		signal(SIGTERM, SIG_IGN);
		if (fork() > 0 && write(ends[1], "x", 1) != 1)
			_exit(1);
		sleep(60);
		_exit(0);
	}
	close(ends[1]);
	must(pid > 0 && read(ends[0], &byte, 1) == 1);
	*life = ends[0];
	return pid;
}

TEST(process)
{
	struct step_where w = { .grace = 0.2, .log = note };
	const int64_t refused[] = { getpid(), getppid(), 1, INT64_C(1) << 40 };
	int status = 0, life = -1;
	char byte = 0;

	w.pid = group(&life);
	w.dry_run = true;
	stops(&w, 1, 0, "a dry run stops no process");
	w.dry_run = false;
	stops(&w, 1, 1, "a stubborn group");
	ok(waitpid((pid_t)w.pid, &status, 0) == w.pid && WIFSIGNALED(status) &&
		   WTERMSIG(status) == SIGKILL,
	   "... is killed");
	is_int(read(life, &byte, 1), 0, "... all of it");
	cannot(&w, ERROR_ABSENT, "no such process", "... once");
	close(life);
	/* Ourselves, who started us, init, and what is no process id. */
	for (size_t i = 0; i < COUNT(refused); i++) {
		w.pid = refused[i];
		is_error(step_check(&w, &why), &why, ERROR_USAGE, NULL,
			 fmt("process %zu is refused", i));
	}
}

TEST(check)
{
	static const struct {
		const char *id, *manager, *says;
	} cases[] = {
		{ NULL, "slurm", "no job" },
		{ "--all", "slurm", "no job is named" },
		{ "77", "none", "no resource manager" },
	};
	struct step_where w = slurm;

	is_int(step_check(&w, &why), 0, "SLURM and a job");
	each (c, cases) {
		w.job.id = c->id;
		w.manager = manager(c->manager);
		is_error(step_check(&w, &why), &why, ERROR_USAGE, c->says,
			 c->says);
		resmgr_close(w.manager);
	}
}

/* A process that does nothing but exec(2): at some moments it has no
 * environment. */
TEST(marked)
{
	const char *mark = "T_STEP_MARK=1", *path = here("again");
	char *const env[] = { fmt("%s", mark), NULL };
	struct rlimit old;
	size_t seen = 0;
	pid_t pid = 0;
	int fd = -1;

	write_text(path, "#!/bin/sh\nexec \"$0\"\n");
	must(chmod(path, 0755) == 0);
	is_int(step_signal_marked(mark, 0), 0, "nobody has the mark");
	pid = fork();
	if (pid == 0) {
		execle(path, path, (char *)NULL, env);
		_exit(9);
	}
	while (step_signal_marked(mark, 0) == 0)
		must(waitpid(pid, NULL, WNOHANG) == 0);
	for (int i = 0; i < 1000; i++)
		seen += step_signal_marked(mark, 0);
	is_int((int)seen, 1000, "seen at each look");
	is_int(step_signal_marked(mark, SIGKILL), 1, "and signalled");
	must(waitpid(pid, NULL, 0) == pid);
	is_int(step_signal_marked(mark, 0), 0, "ended");
	/* Descriptors for nothing, and for the list of processes only. */
	must(getrlimit(RLIMIT_NOFILE, &old) == 0);
	fd = dup(STDERR_FILENO);
	close(fd);
	for (int left = 0; left < 2; left++) {
		const struct rlimit few = {
			.rlim_cur = (rlim_t)(left == 0 ? 0 : fd + 1),
			.rlim_max = old.rlim_max,
		};

		must(setrlimit(RLIMIT_NOFILE, &few) == 0);
		is_int(step_signal_marked(mark, 0), -1,
		       "no look at them is no verdict");
	}
	must(setrlimit(RLIMIT_NOFILE, &old) == 0);
}

/* A process that cannot be looked at has not ended. */
TEST(unseen)
{
	struct step_where w = { .dry_run = true };
	struct rlimit old, none;
	struct step_result r;
	int rc = -1;
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	w.pid = pid;
	must(getrlimit(RLIMIT_NOFILE, &old) == 0);
	none = old;
	none.rlim_cur = 0;
	must(setrlimit(RLIMIT_NOFILE, &none) == 0);
	rc = step_stop(&w, &r, NULL);
	must(setrlimit(RLIMIT_NOFILE, &old) == 0);
	ok(rc == 0 && r.found == 1, "without descriptors it is still there");
	must(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
}

int
main(void)
{
	unsetenv("SLURM_JOB_ID");
	unsetenv("SLURM_STEP_ID");
	slurm.manager = manager("slurm");
	return tap_run();
}
