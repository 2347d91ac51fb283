/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrapper of a job: every combination of facts and its decision, the exit
 * statuses, the words for each launcher, the watchdog, its record. */
#include "hostlist.h"
#include "run/decide.h"
#include "run/launcher.h"
#include "run/runfile.h"
#include "run/watch.h"
#include "scratch.h"

/* --- What next --- */

/* Must the program not be launched?  By a rule of its own, without an order. */
static bool
must_stop(const struct run_facts *f)
{
	return f->end == RUN_OK || f->end == RUN_NOT_STARTED ||
	       f->signal != 0 || f->late || f->halt != RUN_HALT_NONE ||
	       f->runs_left == 0 || f->futile >= 2 ||
	       (f->runs_left < 0 && f->fruitless >= 5) ||
	       (f->nodes_known && f->usable < f->needed);
}

/* The reason must be true. */
static bool
is_true(enum run_why reason, const struct run_facts *f)
{
	switch (reason) {
	case RUN_WHY_DONE:
		return f->end == RUN_OK;
	case RUN_WHY_SIGNAL:
		return f->signal != 0 && f->end != RUN_OK;
	case RUN_WHY_HALT:
		return f->halt == RUN_HALT_MET;
	case RUN_WHY_FINISHED:
		return f->halt == RUN_HALT_FINISHED;
	case RUN_WHY_LATE:
		return f->late;
	case RUN_WHY_CANNOT:
		return f->end == RUN_NOT_STARTED;
	case RUN_WHY_DAMAGED:
		return f->halt == RUN_HALT_UNKNOWN;
	case RUN_WHY_RUNS:
		return f->runs_left == 0;
	case RUN_WHY_FUTILE:
		return f->futile >= 2;
	case RUN_WHY_FRUITLESS:
		return f->runs_left == -1 && f->fruitless >= 5;
	case RUN_WHY_NODES:
		return f->nodes_known && f->usable < f->needed;
	case RUN_WHY_START:
		return f->end == RUN_NEVER;
	case RUN_WHY_AGAIN:
		return f->end != RUN_NEVER && f->end != RUN_OK;
	}
	return false;
}

TEST(every_combination)
{
	static const int signals[] = { 0, SIGTERM, SIGUSR1 };
	static const int64_t runs[] = { -1, 0, 2 };
	size_t wrong = 0, rows = 0, launched = 0;
	unsigned seen = 0;

	/* clang-format off */
	for (int end = RUN_NEVER; end <= RUN_STOPPED; end++)
	for (int s = 0; s < 3; s++)
	for (int late = 0; late < 2; late++)
	for (int halt = RUN_HALT_NONE; halt <= RUN_HALT_UNKNOWN; halt++)
	for (unsigned futile = 0; futile < 4; futile++)
	for (unsigned less = 0; less < 3; less++)
	for (int r = 0; r < 3; r++)
	for (size_t usable = 0; usable < 6; usable++) {
		const struct run_facts f = {
			.end = (enum run_end)end,
			.signal = signals[s],
			.late = late == 1,
			.halt = (enum run_halt)halt,
			.futile = futile,
			.fruitless = 3 + less,
			.runs_left = runs[r],
			.nodes_known = usable < 5,
			.usable = usable,
			.needed = 3,
		};
		const enum run_why reason = run_decide(&f);

		rows++;
		seen |= 1u << reason;
		launched += run_launches(reason);
		wrong += run_launches(reason) == must_stop(&f) ||
			 !is_true(reason, &f) || run_why_text(reason) == NULL;
	}
	/* clang-format on */
	is_int(wrong, 0, "each decision and its reason");
	is_int(rows, 6 * 3 * 2 * 4 * 4 * 3 * 3 * 6, "rows");
	is_int(seen, (1u << RUN_WHYS) - 1, "each reason was given");
	is_int(launched, 4 * 1 * 1 * 1 * 2 * (2 + 3) * 3, "rows that launch");
}

TEST(statuses)
{
	static const struct {
		struct {
			enum run_why why;
			enum run_end end;
			int status, signal, again;
		} is;
		int saved, status;
	} rows[] = {
		{ { RUN_WHY_DONE, RUN_OK, 0, 0, 75 }, STATUS_OK, 0 },
		{ { RUN_WHY_DONE, RUN_OK, 0, 0, 75 }, STATUS_DAMAGED, 122 },
		{ { RUN_WHY_DONE, RUN_OK, 0, 0, 75 }, STATUS_LOST, 121 },
		{ { RUN_WHY_DONE, RUN_OK, 0, 0, 75 }, STATUS_FAILED, 123 },
		{ { RUN_WHY_DONE, RUN_OK, 0, 0, 75 }, 143, 123 },
		{ { RUN_WHY_SIGNAL, RUN_STOPPED, 143, SIGTERM, 75 }, 0, 143 },
		{ { RUN_WHY_SIGNAL, RUN_STOPPED, 143, SIGTERM, 75 }, 4, 143 },
		{ { RUN_WHY_SIGNAL, RUN_STOPPED, 143, SIGUSR1, 75 }, 0, 75 },
		{ { RUN_WHY_SIGNAL, RUN_STOPPED, 143, SIGUSR1, 0 }, 0, 0 },
		{ { RUN_WHY_SIGNAL, RUN_STOPPED, 143, SIGUSR1, 75 }, 4, 121 },
		{ { RUN_WHY_SIGNAL, RUN_NEVER, 0, SIGINT, 0 }, 0, 130 },
		{ { RUN_WHY_HALT, RUN_FAILED, 137, 0, 0 }, 0, 0 },
		{ { RUN_WHY_HALT, RUN_FAILED, 137, 0, 75 }, 0, 75 },
		{ { RUN_WHY_HALT, RUN_NEVER, 0, 0, 75 }, 0, 0 },
		{ { RUN_WHY_HALT, RUN_OK, 0, 0, 75 }, 0, 75 },
		{ { RUN_WHY_HALT, RUN_OK, 0, 0, 75 }, 4, 121 },
		{ { RUN_WHY_LATE, RUN_NEVER, 0, 0, 75 }, 0, 75 },
		{ { RUN_WHY_HALT, RUN_FAILED, 137, 0, 75 }, 3, 122 },
		{ { RUN_WHY_LATE, RUN_STOPPED, 143, 0, 75 }, 0, 75 },
		{ { RUN_WHY_FINISHED, RUN_FAILED, 7, 0, 75 }, 0, 7 },
		{ { RUN_WHY_CANNOT, RUN_NOT_STARTED, 127, 0, 75 }, 0, 127 },
		{ { RUN_WHY_RUNS, RUN_FAILED, 7, 0, 75 }, 0, 7 },
		{ { RUN_WHY_RUNS, RUN_FAILED, 7, 0, 75 }, 4, 7 },
		{ { RUN_WHY_RUNS, RUN_HUNG, 143, 0, 75 }, 0, 124 },
		{ { RUN_WHY_FUTILE, RUN_FAILED, 1, 0, 75 }, 0, 1 },
		{ { RUN_WHY_NODES, RUN_FAILED, 1, 0, 75 }, 0, 1 },
		{ { RUN_WHY_NODES, RUN_NEVER, 0, 0, 75 }, 0, 125 },
		{ { RUN_WHY_DAMAGED, RUN_NEVER, 0, 0, 75 }, 0, 125 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct run_facts f = { .end = rows[i].is.end,
					     .signal = rows[i].is.signal };
		const int again = rows[i].is.again;
		const int is = run_status(rows[i].is.why, &f, rows[i].is.status,
					  again);

		is_int(run_status_saved(is, again, rows[i].saved),
		       rows[i].status, run_why_text(rows[i].is.why));
	}
}

/* --- Launchers --- */

/* The words for the nodes a, b, c of which `use` can be used, with blanks
 * between; hosts are in "H".  "!": an error. */
static const char *
words_for(const char *command, const char *use, uint64_t ranks, struct buf *out)
{
	auto_hostlist all = HOSTLIST_INIT, some = HOSTLIST_INIT;
	auto_arena *a = arena_new();
	char *copy = arena_strdup(a, command), *word = NULL;
	const char *words[32] = { NULL }, **argv = NULL;
	struct run_nodes n = { &all, &some, "H", open(".", O_RDONLY), ranks };

	for (size_t i = 0; (word = strsep(&copy, " ")) != NULL; i++)
		words[i] = word;
	must(hostlist_add(&all, "a,b,c", NULL) == 0 &&
	     hostlist_add(&some, use, NULL) == 0);
	argv = run_launcher_argv(words, &n, a, NULL);
	buf_clear(out);
	for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
		buf_printf(out, "%s%s", i > 0 ? " " : "", argv[i]);
	if (argv == NULL)
		buf_add_str(out, "!");
	close(n.scr);
	return out->data;
}

TEST(launchers)
{
	static const struct {
		const char *command, *use, *words, *hosts;
		uint64_t ranks;
	} rows[] = {
		{ "srun -n 4 app", "a,b,c", "srun -n 4 app", NULL, 0 },
		{ "srun -n 4 app", "a,c", "srun --exclude=b -n 4 app", NULL,
		  0 },
		{ "/opt/bin/srun app", "c", "/opt/bin/srun --exclude=a,b app",
		  NULL, 0 },
		{ "srun -n8 --exclude=x app -x y", "a,c",
		  "srun -n8 --exclude=x,b app -x y", NULL, 0 },
		{ "srun -lx x -x y app", "a,c", "srun -lx x,b -x y,b app", NULL,
		  0 },
		{ "srun -xy -n1 app : -n2 app x", "a,c",
		  "srun -xy,b -n1 app : --exclude=b -n2 app x", NULL, 0 },
		{ "srun -x /tmp/file app", "a,c", "!", NULL, 0 },
		{ "jsrun app", "a", "jsrun --exclude_hosts b,c app", NULL, 0 },
		{ "lrun app", "a,b", "lrun --exclude_hosts=c app", NULL, 0 },
		{ "flux run -n 2 app", "a,b",
		  "flux run --requires=-host:c -n 2 app", NULL, 0 },
		{ "flux mini run --requires=x app", "a,b",
		  "flux mini run --requires=(x) and -host:c app", NULL, 0 },
		{ "flux -v run app", "a,b",
		  "flux -v run --requires=-host:c app", NULL, 0 },
		{ "flux exec app", "a,b", "flux exec app", NULL, 0 },
		{ "aprun -L a,c app", "a,b", "!", NULL, 0 },
		{ "aprun -n 2 app", "a,b", "aprun -L a,b -n 2 app", NULL, 0 },
		{ "mpiexec -n 2 app", "a,c", "mpiexec -machinefile H -n 2 app",
		  "a\nc\n", 0 },
		{ "mpiexec -n 2 -hosts a,b:4,c:2 app x", "a,c",
		  "mpiexec -n 2 -hosts a,c:2 app x", NULL, 0 },
		{ "mpirun --hostfile given -n 2 app", "b,c",
		  "mpirun --hostfile H -n 2 app", "b:2\nc slots=3\n", 0 },
		{ "mpiexec -hosts=a,b:4 -genv X Y -l /bin/sh -hosts a,b", "a,c",
		  "mpiexec -hosts=a -genv X Y -l /bin/sh -hosts a,b", NULL, 0 },
		{ "mpirun --new /bin/sh -f none", "c",
		  "mpirun -machinefile H --new /bin/sh -f none", "c\n", 0 },
		{ "mpirun -launcher-exec /bin/sh -H c,a x -H a", "c",
		  "mpirun -launcher-exec /bin/sh -H c x -H a", NULL, 0 },
		{ "mpirun --host a,b x -f y : -host b,c -n 2 z", "b",
		  "mpirun --host b x -f y : -host b -n 2 z", NULL, 0 },
		{ "mpirun -host a x : -host b,c z", "b", "!", NULL, 0 },
		{ "mpirun --f=given x : -f given z", "b", "!", NULL, 0 },
		{ "mpiexec -n 2 -hosts a,b app", "c", "!", NULL, 0 },
		{ "mpirun -f none app", "b", "!", NULL, 0 },
		{ "sh -c x", "b", "sh -c x", NULL, 0 },
		{ "srun -N 3 -n 12 app -n 5", "a,c",
		  "srun --exclude=b -N 2 -n 8 app -n 5", NULL, 8 },
		{ "srun --ntasks=12 --nodes=3 app", "a,c",
		  "srun --exclude=b --ntasks=8 --nodes=2 app", NULL, 8 },
		{ "srun app -n 5", "a,c", "srun --exclude=b app -n 5", NULL,
		  8 },
		{ "flux run -N3 -n12 app", "a,b",
		  "flux run --requires=-host:c -N2 -n8 app", NULL, 8 },
		{ "aprun -n 12 -N 4 app", "a,b", "aprun -L a,b -n 8 -N 4 app",
		  NULL, 8 },
		{ "mpiexec -np 12 app", "a,c",
		  "mpiexec -machinefile H -np 8 app", "a\nc\n", 8 },
		{ "srun --nice app", "a", "srun --exclude=b,c --nice app", NULL,
		  8 },
		{ "sh -n 3", "b", "sh -n 3", NULL, 2 },
	};
	auto_buf out = BUF_INIT, hosts = BUF_INIT;

	scratch_new();
	must(chdir(scratch_root) == 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unlink(RUN_HOSTS);
		write_text("given", "a\n# b\nb:2\n\nc slots=3\n");
		is_str(words_for(rows[i].command, rows[i].use, rows[i].ranks,
				 &out),
		       rows[i].words, rows[i].command);
		if (rows[i].hosts == NULL)
			continue;
		buf_clear(&hosts);
		read_whole(RUN_HOSTS, &hosts);
		is_str(hosts.data, rows[i].hosts, "its host file");
	}
}

TEST(hosts_of_the_user)
{
	static const char *const list[] = { "mpiexec", "-hosts", "x:2,y,x",
					    "app", NULL };
	static const char *const file[] = { "mpirun", "-f", "given", "app",
					    NULL };
	static const char *const none[] = { "srun", "-f", "given", NULL };
	static const char *const app[] = { "mpirun", "-n",    "2", "app",
					   "-f",     "given", NULL };
	static const char *const two[] = { "mpirun", "--host=x", "app", ":",
					   "-H",     "y",	 "app", NULL };
	struct hostlist h = HOSTLIST_INIT;

	scratch_new();
	must(chdir(scratch_root) == 0);
	write_text("given", "a slots=2\n# b\nc:3\n");
	is_int(run_launcher_hosts(list, &h, NULL), 0, "a list");
	ok(h.count == 2 && str_eq(h.names[0], "x") && str_eq(h.names[1], "y"),
	   "each host once");
	hostlist_free(&h);
	is_int(run_launcher_hosts(file, &h, NULL), 0, "a file");
	ok(h.count == 2 && str_eq(h.names[1], "c"), "without comments");
	hostlist_free(&h);
	is_int(run_launcher_hosts(two, &h, NULL), 0, "two programs");
	ok(h.count == 2 && str_eq(h.names[1], "y"), "the hosts of both");
	hostlist_free(&h);
	ok(run_launcher_hosts(app, &h, NULL) == 0 && h.count == 0,
	   "an option of the program");
	ok(run_launcher_ranks(app) == 2 && run_launcher_ranks(two) == 0,
	   "ranks, if there is one program");
	ok(run_launcher_hosts(none, &h, NULL) == 0 && h.count == 0,
	   "srun's -f is no host file");
}

/* --- The watchdog --- */

TEST(watchdog)
{
	static const struct run_limits limits = { 10, 50, 20 };
	/* seconds, state of the flush file, flushing; hangs */
	static const struct {
		int at, state;
		bool flushing, hangs;
	} looks[] = {
		{ 5, 1, false, false },	 { 19, 1, false, false },
		{ 21, 1, false, true },	 { 22, 2, false, false },
		{ 31, 2, false, false }, { 33, 2, false, true },
		{ 34, 3, true, false },	 { 80, 3, true, false },
		{ 85, 3, true, true },	 { 90, 4, false, false },
		{ 101, 4, false, true },
	};
	struct run_progress p = { .state = 1 };
	struct run_watch w;

	run_watch_start(&w, &limits, &p, 0);
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		p.state = (uint64_t)looks[i].state;
		p.flushing = looks[i].flushing;
		is_int(run_watch_look(&w, &p, looks[i].at), looks[i].hangs,
		       "a look at the run");
	}
	run_watch_start(&w, &(struct run_limits){ 0 }, &p, 0);
	ok(!run_watch_look(&w, &p, 1e9), "without limits nothing hangs");
}

/* --- The record --- */

TEST(record)
{
	static const char *const words[] = { "srun", "-n", "a b",
					     "\xff", "",   NULL };
	const char *dead[] = { "dead" };
	struct run_record in = {
		.state = RUN_PAUSING,
		.job = "j 1",
		.host = "h",
		.pid = 7,
		.since = 9,
		.runs = 2,
		.left = -1,
		.argv = words,
		.reasons = dead,
		.mark = RUN_MARK "=h.7.9.0",
		.why = "because",
		.dataset = 5,
		.status = -1,
	};
	struct run_record out;
	auto_arena *a = arena_new();
	struct error err = ERROR_INIT;
	int scr = -1, one = -1, two = -1;

	scratch_new();
	must(chdir(scratch_root) == 0);
	scr = open(".", O_RDONLY);
	must(hostlist_add(&in.bad, "n1", NULL) == 0 &&
	     hostlist_add_name(&in.steps, "7+0.5", NULL) == 0);
	ok(run_record_read(scr, &out, a, &err) < 0 && err.kind == ERROR_ABSENT,
	   "no record");
	is_int(run_record_write(scr, &in, NULL), 0, "written");
	is_int(run_record_read(scr, &out, a, NULL), 0, "read");
	ok(out.state == in.state && str_eq(out.job, in.job) && out.pid == 7 &&
		   out.runs == 2 && out.left == -1 && out.dataset == 5,
	   "its facts");
	for (size_t i = 0; i < 5; i++)
		is_str(out.argv[i], words[i], "a word of the command");
	ok(out.argv[5] == NULL, "and no more");
	ok(out.bad.count == 1 && str_eq(out.bad.names[0], "n1") &&
		   str_eq(out.reasons[0], "dead"),
	   "the node that is not used");
	ok(str_eq(out.mark, in.mark) && out.steps.count == 1 &&
		   str_eq(out.steps.names[0], "7+0.5"),
	   "the step, and its mark");
	hostlist_free(&out.bad);
	hostlist_free(&out.steps);
	write_text(RUN_RECORD, "{\"state\":\"flying\",\"job_id\":\"x\"}");
	ok(run_record_read(scr, &out, a, &err) < 0 && err.kind == ERROR_CORRUPT,
	   "no record of ours");
	one = run_record_lock(scr, NULL);
	two = run_record_lock(scr, &err);
	ok(one >= 0 && two == -1 && err.kind == ERROR_SYSTEM,
	   "one wrapper at a time");
	close(one);
	close(scr);
	hostlist_free(&in.bad);
	hostlist_free(&in.steps);
	hostlist_free(&out.bad);
	hostlist_free(&out.steps);
}
