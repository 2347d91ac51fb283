/* SPDX-License-Identifier: BSD-3-Clause */
/* All launchers that run commands on nodes, with the same faults. */
#include <pthread.h>

#include "remotetest.h"

/* Each launcher, with a node for each fault. */
static const struct way {
	const char *name; /* for remote_choose() */
	bool pdsh;
} ways[] = {
	{ "ssh", false },
	{ "pdsh", true },
	{ "srun", false },
	{ "mpiexec", false },
};

#define WAYS (COUNT(ways))

/* The nodes, and what comes of the command on each of them. */
static const struct {
	const char *node;
	enum remote_state state;
	int status;
	const char *why, *out;
} faults[] = {
	{ "ok1", REMOTE_DONE, 0, NULL, "I am ok1\n" },
	{ "status3", REMOTE_DONE, 3, NULL, "I am status3\n" },
	{ "refuse1", REMOTE_REFUSED, -1, "Connection refused", "" },
	{ "late1", REMOTE_DEAD, -1, "timed out", "" },
	{ "nologin1", REMOTE_REFUSED, -1, "This account is not available.",
	  NULL },
	{ "chatty1", REMOTE_DONE, 0, NULL, "I am chatty1\n" },
	{ "broken1", REMOTE_KILLED, -1, "cut off", NULL },
	{ "mute1", REMOTE_TIMEOUT, -1, "no answer within 3 s", "" },
	{ "half1", REMOTE_DONE, 0, NULL, "I am half1\nno newline" },
	{ "silent1", REMOTE_TIMEOUT, -1, "no output for 3 s",
	  "I am silent1\n" },
	{ "linger1", REMOTE_DONE, 0, NULL, "I am linger1\n" },
	{ "none1", REMOTE_DONE, 127, NULL, "I am none1\n" },
	{ "noisy1", REMOTE_DONE, 0, NULL, NULL },
};

#define FAULTS (COUNT(faults))
#define OK 0
#define REFUSE 2
#define BROKEN 6
#define NONE (FAULTS - 2)
#define NOISY (FAULTS - 1)

/* The command on each node. */
#define COMMAND \
	"echo \"I am $NODE\"; echo oh >&2\n" \
	"case $NODE in\n" \
	"status*) exit 3 ;;\n" \
	"broken*) printf 'half a li'; sleep 0.1; kill -9 $PPID ;;\n" \
	"half*) printf 'no newline' ;;\n" \
	"silent*) sleep 20 ;;\n" \
	"noisy*) head -c 200000 /dev/zero | tr '\\0' x; echo\n" \
	"	yes line | head -n 6000; echo end ;;\n" \
	"none*) exec /no/such/program ;;\n" \
	"esac"

struct heard {
	size_t lines[16];
	size_t longest;
	char last[16][64];
};

static void
hear(void *arg, size_t node, const char *text)
{
	struct heard *h = arg;

	if (strlen(text) > h->longest)
		h->longest = strlen(text);
	h->lines[node]++;
	snprintf(h->last[node], sizeof(h->last[node]), "%s", text);
}

static void
check_faults(const struct way *w, const struct scene_run *s,
	     const struct heard *h)
{
	const struct remote_result *r = s->r;

	for (size_t i = 0; i < FAULTS; i++) {
		ok(came(&r[i], faults[i].state, faults[i].status,
			faults[i].why),
		   faults[i].node);
		if (faults[i].out != NULL)
			is_str(out_of(&r[i]), faults[i].out, "... its output");
	}
	is_str(err_of(&r[OK]), "oh\n", "its stderr");
	ok(strstr(r[BROKEN].why, "closed by remote host") != NULL,
	   "it says so");
	ok(r[REFUSE].why[strlen(r[REFUSE].why) - 1] == 'd', "no return");
	ok(strstr(err_of(&r[NONE]), "not found") != NULL, "its shell says so");
	ok(r[NOISY].cut && r[NOISY].out.len == s->o.keep, "some is kept");
	is_str(h->last[NOISY], "end", "but every line is heard");
	/* (pdsh drops the part of a line after 128 KiB, and its newline.) */
	ok(h->lines[NOISY] == 6003 || (w->pdsh && h->lines[NOISY] == 6002),
	   "all of them");
	ok(s->seconds < 15, "none of it takes longer than its limits");
}

/* A launcher being tested. */
struct trial {
	struct scene_run s;
	struct heard h;
	pthread_t thread;
	bool started;
	int rc;
};

static void *
try_way(void *arg)
{
	struct trial *t = arg;
	const char *nodes = "";

	for (size_t i = 0; i < FAULTS; i++)
		nodes = fmt("%s,%s", nodes, faults[i].node);
	t->rc = run_line(&t->s, nodes, COMMAND);
	return NULL;
}

/* All launchers run at the same time, because most of the time is waiting. */
TEST(faults)
{
	static struct trial trials[WAYS];

	for (size_t i = 0; i < WAYS; i++) {
		struct trial *t = &trials[i];

		t->s.o =
			(struct remote_options){ .connect = 3,
						 .idle = 3,
						 .polite = 0.2,
						 .keep = 150000,
						 /* pdsh begins slowly */
						 .fanout = ways[i].pdsh ? 4 : 0,
						 .line = hear,
						 .arg = &t->h };
		must(remote_choose(ways[i].name, &t->s.o, NULL) == 0);
		if (ways[i].pdsh && !have_pdsh())
			continue;
		t->started = true;
		must(pthread_create(&t->thread, NULL, try_way, t) == 0);
	}
	for (size_t i = 0; i < WAYS; i++) {
		if (!trials[i].started) {
			skip(ways[i].name, "pdsh is not installed");
			continue;
		}
		must(pthread_join(trials[i].thread, NULL) == 0);
		is_int(trials[i].rc, 0, ways[i].name);
		check_faults(&ways[i], &trials[i].s, &trials[i].h);
	}
}

/* Names of all kinds through pdsh, one of them twice. */
static void
check_names(struct scene_run *s)
{
	is_int(run_line(s,
			"n1.site.org,n2.site.org,n1.site.org,n007,"
			"n2.other.org,10.0.0.1,10.0.0.2,fe80::1,x1000c0s0b0n0,"
			"n00000000000000000012",
			"echo $NODE"),
	       0, s->o.module != NULL ? s->o.module : "pdsh");
	for (size_t i = 0; i < s->nodes.count; i++)
		if (i != 7 && i != 9)
			is_str(out_of(&s->r[i]), fmt("%s\n", s->nodes.names[i]),
			       s->nodes.names[i]);
	ok(came(&s->r[7], REMOTE_NOT_STARTED, -1, "':'"), "one it cannot take");
	ok(came(&s->r[9], REMOTE_NOT_STARTED, -1, "zeros"), "and another");
}

/* Arguments of the pdsh processes. */
TEST(pdsh)
{
	struct scene_run s = { .o = { .kind = REMOTE_PDSH, .connect = 3 } };
	struct buf log = BUF_INIT;

	if (!have_pdsh()) {
		skip("pdsh", "it is not installed");
		return;
	}
	setenv("PDSH_SSH_ARGS_APPEND", "-oMine=1 -oMine=2", 1);
	for (int i = 0; i < 2; i++) {
		s.o.module = i == 0 ? NULL : "ssh";
		write_text(getenv("STUB_LOG"), "");
		check_names(&s);
		buf_clear(&log);
		read_whole(getenv("STUB_LOG"), &log);
		ok(strstr(log.data, "-oConnectTimeout=3") != NULL, "its limit");
		ok(strstr(log.data, "-oMine=2 -oBatchMode=yes") != NULL,
		   "options for ssh, and the user's before them");
	}
	unsetenv("PDSH_SSH_ARGS_APPEND");
	buf_free(&log);

	s.o.module = "nonsense";
	is_int(run_line(&s, "a,b", "echo"), 0, "a module that is not there");
	ok(came(&s.r[1], REMOTE_NOT_STARTED, -1, "nonsense"), "pdsh says so");
	s.o.module = NULL;
	remote_play("ssh", "#!/bin/sh\nexit 255\n");
	is_int(run_line(&s, "n1.site.org,n2", "echo"), 0, "no words of ssh");
	for (size_t i = 0; i < 2; i++) {
		ok(came(&s.r[i], s.r[i].state, -1, "exited with exit code"),
		   "those of pdsh are taken");
		ok(strchr(s.r[i].why, ':') == NULL, "... without the name");
	}
	remote_play("ssh", "#!/bin/sh\necho no account\nexec >&-\n"
			   "sleep 1\nexit 1\n");
	is_int(run_line(&s, "n1", "echo"), 0, "words of the login");
	is_str(s.r[0].why, "no account", "are preferred, though they are old");
	remote_play_no_more("ssh");
}

/* As many processes of pdsh at a time as there are by default. */
TEST(pdsh_fanout)
{
	struct scene_run s = { .o = { .kind = REMOTE_PDSH, .fanout = 64 } };

	if (!have_pdsh()) {
		skip("pdsh", "it is not installed");
		return;
	}
	is_int(run_line(&s, "n[1-64]", "echo $NODE; echo oh >&2"), 0, "all");
	for (size_t i = 0; i < s.nodes.count; i++) {
		ok(came(&s.r[i], REMOTE_DONE, 0, NULL), s.nodes.names[i]);
		is_str(out_of(&s.r[i]), fmt("%s\n", s.nodes.names[i]),
		       "... its output");
		is_str(err_of(&s.r[i]), "oh\n", "... its stderr");
	}
}

TEST(flux)
{
	struct scene_run s = { .o = { .kind = REMOTE_FLUX } };

	is_int(run_line(&s, "b2,head,elsewhere", "echo $NODE"), 0, "flux");
	is_str(out_of(&s.r[0]), "rank2\n", "its rank");
	is_str(out_of(&s.r[1]), "rank0\n", "and of another");
	ok(came(&s.r[2], REMOTE_NOT_STARTED, -1, "Flux"), "not of it");
	remote_play("flux", "#!/bin/sh\nexit 1\n");
	is_int(run_line(&s, "b2", "echo"), -1, "outside of Flux");
	remote_play_no_more("flux");
	ok(s.err.kind == ERROR_ABSENT && says(&s.err, "getattr hostlist"),
	   "it says so");
}

TEST(srun)
{
	struct scene_run s = {
		.o = { .kind = REMOTE_SRUN, .job_id = "77", .connect = 4.2 },
	};
	auto_buf log = BUF_INIT;

	write_text(getenv("STUB_LOG"), "");
	is_int(run_line(&s, "n1", "echo hi"), 0, "srun");
	is_str(out_of(&s.r[0]), "hi\n", "its output");
	read_whole(getenv("STUB_LOG"), &log);
	ok(strstr(log.data, " --immediate=5 --jobid=77 --nodelist=n1 ") != NULL,
	   "its options");
}

TEST(local)
{
	static const char *const words[] = { "printf", "<%s>\\n", "a  b",
					     "$HOME",  "it's",	  "",
					     NULL };
	static const char *const nothing[] = { "/no/such/program", NULL };
	static const char *const empty[] = { NULL };
	struct scene_run s = { .o = { .kind = REMOTE_LOCAL } };

	is_int(run_on(&s, "any,any,one", words), 0, "once a node");
	for (size_t i = 0; i < 3; i++)
		is_str(out_of(&s.r[i]), "<a  b>\n<$HOME>\n<it's>\n<>\n",
		       "without a shell");
	is_int(run_line(&s, "a", "cat; kill -9 $$"), 0, "a signal");
	ok(came(&s.r[0], REMOTE_KILLED, -1, "killed by signal 9"), "is told");
	is_int(run_on(&s, "a", nothing), 0, "no such program");
	/* (valgrind's fork does not report why exec failed.) */
	if (getenv("SCRKIT_VALGRIND") == NULL)
		ok(came(&s.r[0], REMOTE_NOT_STARTED, -1, "No such file"),
		   "is told");
	is_int(run_on(&s, "a", empty), -1, "no command");
	is_int(s.err.kind, ERROR_USAGE, "is misuse");
	is_int(run_on(&s, "", words), 0, "no nodes: nothing to do");
}

TEST(choose)
{
	static const struct {
		const char *name;
		enum remote_kind kind; /* REMOTE_KINDS: refused */
		const char *module;
	} names[] = {
		{ NULL, REMOTE_AUTO, NULL },
		{ "", REMOTE_AUTO, NULL },
		{ "auto", REMOTE_AUTO, NULL },
		{ "jsrun", REMOTE_AUTO, NULL },
		{ "pdsh", REMOTE_PDSH, "ssh" },
		{ "pdsh:exec", REMOTE_SRUN, NULL },
		{ "pdsh:rsh", REMOTE_PDSH, "rsh" },
		{ "ssh", REMOTE_SSH, NULL },
		{ "mpirun", REMOTE_MPIEXEC, NULL },
		{ "local", REMOTE_LOCAL, NULL },
		{ "rsh", REMOTE_KINDS, NULL },
		{ "pdsh:", REMOTE_KINDS, NULL },
		{ "sshd", REMOTE_KINDS, NULL },
		{ "SSH", REMOTE_KINDS, NULL },
	};

	each (n, names) {
		struct remote_options o = { .kind = REMOTE_KINDS };
		int rc = remote_choose(n->name, &o, &why);

		is_int(o.kind, n->kind, "the kind of a name");
		is_str(o.module, n->module, "... its module");
		ok(n->kind != REMOTE_KINDS
			   ? rc == 0
			   : rc < 0 && why.kind == ERROR_USAGE &&
				     says(&why, "pdsh:MODULE"),
		   "... or what there is");
	}
}

/* Make a PATH with only these programs, separated by blanks. */
static void
only(const char *programs)
{
	const char *dir = fmt("%s/only", remote_root);
	char *rest = fmt("%s", programs), *name = NULL;

	remove_tree(dir);
	must(mkdir(dir, 0777) == 0);
	while ((name = strtok_r(rest, " ", &rest)) != NULL) {
		write_text(fmt("%s/%s", dir, name), "#!/bin/sh\n");
		must(chmod(fmt("%s/%s", dir, name), 0755) == 0);
	}
	setenv("PATH", dir, 1);
}

#define AUTO REMOTE_AUTO
#define SRUN REMOTE_SRUN
#define FLUX REMOTE_FLUX

TEST(settle)
{
	static const struct {
		const char *nodes, *programs;
		enum remote_kind named, around, kind;
		const char *says;
	} cases[] = {
		{ "a,b", "pdsh ssh srun mpiexec", AUTO, SRUN, SRUN,
		  "by srun, then by ssh (in a job" },
		{ "a,b", "pdsh ssh srun", AUTO, AUTO, REMOTE_SSH,
		  "by ssh (what is installed)" },
		{ "a,b", "pdsh srun", AUTO, SRUN, SRUN, "by srun (" },
		{ "a,b", "ssh flux", AUTO, FLUX, FLUX, "by flux, then by ssh" },
		{ "a,b", "ssh", AUTO, FLUX, REMOTE_SSH, "by ssh (" },
		{ "a,b", "mpiexec pdsh", AUTO, AUTO, REMOTE_MPIEXEC,
		  "by mpiexec (" },
		{ "a,b", "pdsh ssh srun", REMOTE_PDSH, SRUN, REMOTE_PDSH,
		  "by pdsh with ssh (as asked)" },
		{ "localhost", "ssh", AUTO, AUTO, REMOTE_LOCAL,
		  "by local (the only node is this machine" },
		{ "localhost,localhost", "", AUTO, SRUN, REMOTE_LOCAL,
		  "this machine" },
		{ "localhost,b", "srun flux pdsh", AUTO, AUTO, AUTO, NULL },
	};
	const char *path = fmt("%s", getenv("PATH"));

	each (c, cases) {
		struct remote_options o = { .kind = c->named,
					    .around = c->around };
		auto_buf said = BUF_INIT;
		auto_hostlist h;
		int rc = -1;

		h = (struct hostlist)HOSTLIST_INIT;
		must(hostlist_add(&h, c->nodes, NULL) == 0);
		only(c->programs);
		rc = remote_resolve(&h, &o, &said, &why);
		is_int(o.kind, c->kind, "what is taken");
		if (c->kind == REMOTE_AUTO) {
			is_int(rc, -1, "no way to the nodes");
			ok(why.kind == ERROR_ABSENT && says(&why, "install"),
			   "what to do");
		} else {
			ok(rc == 0 && strstr(said.data, c->says) != NULL,
			   said.data);
		}
		remote_forget(&o);
	}
	setenv("PATH", path, 1);
}

TEST(absent)
{
	static const enum remote_kind kinds[] = { REMOTE_PDSH, REMOTE_SSH,
						  REMOTE_SRUN, REMOTE_FLUX,
						  REMOTE_MPIEXEC };
	const char *path = fmt("%s", getenv("PATH"));

	only("pdsh");
	for (size_t i = 0; i < 5; i++) {
		struct scene_run s = { .o = { .kind = kinds[i] } };

		is_int(run_line(&s, "a,b", "echo"), -1, "not installed");
		ok(s.err.kind == ERROR_ABSENT && says(&s.err, "PATH") &&
			   came(&s.r[1], REMOTE_NOT_STARTED, -1,
				"nothing was tried"),
		   "nothing was done");
	}
	setenv("PATH", path, 1);
}

TEST(here)
{
	char name[256] = "";

	must(gethostname(name, sizeof(name) - 1) == 0);
	ok(remote_is_here(name), "our name");
	ok(remote_is_here("localhost"), "localhost");
	if (strchr(name, '.') == NULL)
		ok(remote_is_here(fmt("%s.site.org", name)), "with a domain");
	ok(!remote_is_here(fmt("%sx", name)), "another");
	ok(!remote_is_here(""), "none");
}

int
main(void)
{
	remote_setup();
	return tap_run();
}
