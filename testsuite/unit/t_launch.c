/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * t_launch.c - which environments make a process of a launch, and PMI-1 with a
 * server that is the test.  With real launchers: cluster/crew.bats.
 */
#include "site/launch.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "scratch.h"

#define NAME "t_launch"
#define MOST 8

static void
clean(void)
{
	clearenv();
	scratch_new();
	must(mkdir(here("bin"), 0777) == 0);
	setenv("PATH", fmt("%s:/usr/bin:/bin", here("bin")), 1);
}

/* Set the variables of `text`: "NAME=VALUE NAME=VALUE". */
static void
set_all(const char *text)
{
	char *words = fmt("%s", text), *word = NULL, *value = NULL;

	while ((word = strsep(&words, " ")) != NULL)
		if ((value = strchr(word, '=')) != NULL) {
			*value = '\0';
			setenv(word, value + 1, 1);
		}
}

/* The role as a word, and the nodes. */
static const char *
joined(struct launch *l)
{
	static const char *const roles[] = { "alone", "first", "surplus" };

	launch_join(l);
	return fmt("%s%s%s", roles[l->role], l->nodes ? " " : "",
		   l->nodes ? l->nodes : "");
}

#define STEP \
	"SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 " \
	"SLURM_STEP_NODELIST=n[1-4] "

/* SLURM names the step; "": it does not answer. */
static void
named(const char *step)
{
	write_text(here("bin/squeue"),
		   fmt("#!/bin/sh\n[ \"$2$3\" = --format=%%j--steps=7.0 ] "
		       "&& [ -n '%s' ] && echo '%s'\n",
		       step, step));
	must(chmod(here("bin/squeue"), 0755) == 0);
}

TEST(slurm)
{
	static const struct {
		const char *set, *step, *is;
	} cases[] = {
		{ "SLURM_PROCID=0", NAME, "first n[1-4]" },
		{ "SLURM_PROCID=0", "sh", "alone" },
		{ "SLURM_PROCID=3", NAME, "surplus" },
		{ "SLURM_PROCID=3", "sh", "alone" },
		{ "SLURM_PROCID=3", "", "alone" },
		{ "SLURM_PROCID=4", NAME, "alone" },
		{ "SLURM_PROCID=", NAME, "alone" },
		{ "", NAME, "alone" },
		{ "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", NAME, "alone" },
		{ "SLURM_PROCID=0 SLURM_STEP_NODELIST=n1", NAME, "first" },
		{ "SLURM_PROCID=0 SLURM_STEP_NODELIST=n[", NAME, "alone" },
		{ "SLURM_PROCID=3 SLURM_HET_SIZE=2", NAME, "alone" },
		{ "SLURM_PROCID=3 SLURM_TASK_PID=1", NAME, "alone" },
		{ "SLURM_PROCID=3 SLURM_JOB_ID=", NAME, "alone" },
		{ "PMI_RANK=1 PMI_SIZE=2 PMI_FD=0 SLURM_TASK_PID=1", NAME,
		  "alone" },
	};

	each (c, cases) {
		struct launch l;

		clean();
		named(c->step);
		set_all(fmt(STEP "SLURM_TASK_PID=%ld %s", (long)getpid(),
			    c->set));
		is_str(joined(&l), c->is, c->set);
		launch_leave(&l);
	}
}

TEST(environment)
{
	struct launch l;

	clean();
	named(NAME);
	set_all(fmt(STEP
		    "SLURM_TASK_PID=%ld SLURM_PROCID=0 SLURM_CONF=c PMI_FD=9 "
		    "SLURM_LABELIO=1 SLURM_CPU_BIND=x SLURM_NTASKS=4 "
		    "OMPI_MCA_btl=self SLURM_JOB_NODELIST=n[1-9]",
		    (long)getpid()));
	launch_join(&l);
	ok(getenv("SLURM_JOB_ID") && getenv("SLURM_CONF") &&
		   getenv("SLURM_JOB_NODELIST") && getenv("OMPI_MCA_btl") &&
		   getenv("PATH"),
	   "the job's and the user's variables stay");
	ok(!getenv("SLURM_LABELIO") && !getenv("SLURM_CPU_BIND") &&
		   !getenv("SLURM_NTASKS") && !getenv("SLURM_PROCID") &&
		   !getenv("PMI_FD"),
	   "those of the launch go");
	launch_leave(&l);
}

/* --- With a parent that is a launcher's --- */

/* Run launch_join() in a child of a process of this name; returns what it
 * says. */
static const char *
below_one(const char *parent, const char *set)
{
	static char said[512];
	int out[2], status = 0;
	pid_t pid = 0;
	ssize_t n = 0;

	must(pipe(out) == 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_NAME, parent);
		if (fork() == 0) {
			struct launch l;

			set_all(set);
			dprintf(out[1], "%s", joined(&l));
			launch_leave(&l);
			_exit(0);
		}
		wait(&status);
		_exit(0);
	}
	close(out[1]);
	must(waitpid(pid, &status, 0) == pid);
	n = read(out[0], said, sizeof(said) - 1);
	close(out[0]);
	said[n > 0 ? n : 0] = '\0';
	return said;
}

TEST(no_server)
{
	static const struct {
		const char *parent, *set, *is;
	} cases[] = {
		{ "hydra_pmi_proxy", "PMI_RANK=1 PMI_SIZE=2 PMI_FD=0",
		  "alone" },
		{ "hydra_pmi_proxy", "PMI_RANK=1 PMI_SIZE=2", "alone" },
	};

	each (c, cases) {
		clean();
		setenv("PATH", here("bin"), 1);
		is_str(below_one(c->parent, c->set), c->is, c->set);
	}
}

/* The server of PMI-1, and what is odd about it or its processes. */
struct server {
	size_t n;
	const char *odd; /* a command to which it has another answer, with */
	const char *answer;
	size_t other; /* the process whose command is another one */
	int fds[MOST], out[MOST];
	char values[MOST][256];
	size_t barriers, in, finalized;
};

static void
serve_line(struct server *s, size_t i, const char *line)
{
	char text[600] = "cmd=finalize_ack\n";
	unsigned k = 0;
	char value[256];

	if (s->odd != NULL && strstr(line, s->odd) != NULL) {
		snprintf(text, sizeof(text), "%s\n", s->answer);
	} else if (str_starts(line, "cmd=init ")) {
		snprintf(text, sizeof(text), "cmd=response_to_init rc=0\n");
	} else if (str_starts(line, "cmd=get_appnum")) {
		snprintf(text, sizeof(text), "cmd=appnum appnum=0\n");
	} else if (str_starts(line, "cmd=get_my_kvsname")) {
		snprintf(text, sizeof(text), "cmd=my_kvsname kvsname=kvs_1\n");
	} else if (sscanf(line, "cmd=put kvsname=kvs_1 key=scr-%u value=%255s",
			  &k, value) == 2 &&
		   k == i) {
		/* Each is on its own node, but for the last two. */
		snprintf(s->values[i], sizeof(s->values[i]), "node%zu%s",
			 i < s->n - 1 ? i : i - 1, strchr(value, ','));
		snprintf(text, sizeof(text), "cmd=put_result rc=0\n");
	} else if (sscanf(line, "cmd=get kvsname=kvs_1 key=scr-%u", &k) == 1) {
		snprintf(text, sizeof(text), "cmd=get_result rc=0 value=%s\n",
			 s->values[k]);
	} else if (str_starts(line, "cmd=barrier_in")) {
		if (++s->in < s->n)
			return;
		s->in = 0;
		s->barriers++;
		for (size_t to = 0; to < s->n; to++)
			dprintf(s->fds[to], "cmd=barrier_out\n");
		return;
	} else if (str_starts(line, "cmd=finalize")) {
		s->finalized++;
	}
	dprintf(s->fds[i], "%s", text);
}

/* Let the processes join; returns what they say, with commas. */
static const char *
serve(struct server *s)
{
	struct pollfd p[MOST];
	char line[1024];
	const char *all = "";
	size_t open = s->n;

	prctl(PR_SET_NAME, "hydra_pmi_proxy");
	for (size_t i = 0; i < s->n; i++) {
		int pair[2], out[2];

		must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 &&
		     pipe(out) == 0);
		s->fds[i] = pair[0];
		s->out[i] = out[0];
		p[i] = (struct pollfd){ .fd = pair[0], .events = POLLIN };
		if (fork() == 0) {
			struct launch l;

			if (s->other == i)
				setenv("SCR_PREFIX", "/elsewhere", 1);
			set_all(fmt("PMI_RANK=%zu PMI_SIZE=%zu PMI_FD=%d", i,
				    s->n, pair[1]));
			for (size_t k = 0; k <= i; k++)
				close(s->fds[k]);
			dprintf(out[1], "%s", joined(&l));
			launch_leave(&l);
			_exit(0);
		}
		close(pair[1]);
		close(out[1]);
	}
	while (open > 0 && poll(p, s->n, 10000) > 0)
		for (size_t i = 0; i < s->n; i++) {
			const ssize_t n =
				p[i].revents == 0
					? 0
					: read(p[i].fd, line, sizeof(line) - 1);

			if (p[i].revents != 0 && n <= 0) {
				p[i].fd = -1;
				open--;
			} else if (n > 0) {
				line[n] = '\0';
				serve_line(s, i, line);
			}
		}
	is_int((long long)open, 0, "all end");
	for (size_t i = 0; i < s->n; i++) {
		ssize_t n = read(s->out[i], line, sizeof(line) - 1);

		line[n > 0 ? n : 0] = '\0';
		all = fmt("%s%s%s", all, i > 0 ? ", " : "", line);
		close(s->out[i]);
		close(s->fds[i]);
	}
	while (wait(NULL) > 0)
		;
	return all;
}

TEST(pmi)
{
	struct server s = { .n = 4, .other = MOST };

	clean();
	is_str(serve(&s), "first node[0-2], surplus, surplus, surplus",
	       "one is first, with each node once");
	ok(s.barriers == 1 && s.finalized == 4, "they leave in order");
	s = (struct server){ .n = 4, .other = 0 };
	is_str(serve(&s), "first, alone, alone, alone",
	       "another command in process 0: each is alone");
	s = (struct server){ .n = 4, .other = 2 };
	is_str(serve(&s), "first node[0-2], surplus, alone, surplus",
	       "in another one: that one is alone");
	ok(s.barriers == 1 && s.finalized == 4, "and leaves like all");
}

TEST(pmi_odd)
{
	static const struct {
		const char *odd, *answer, *is;
	} cases[] = {
		{ "cmd=init", "cmd=response_to_init rc=-1", "alone, alone" },
		{ "cmd=init", "cmd=response", "alone, alone" },
		{ "cmd=get_appnum", "cmd=what", "alone, alone" },
		{ "cmd=get_my_kvsname", "kvsname", "alone, alone" },
		{ "cmd=get kvsname", "cmd=get_result rc=-1 value=unknown",
		  "first, alone" },
		{ "cmd=get kvsname", "cmd=get_result rc=-1", "first, alone" },
		{ "cmd=get kvsname", "cmd=get_result value=-x,",
		  "first, alone" },
	};

	each (c, cases) {
		struct server s = { .n = 2,
				    .odd = c->odd,
				    .answer = c->answer,
				    .other = MOST };

		clean();
		is_str(serve(&s), c->is, c->answer);
	}
}
