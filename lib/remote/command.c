/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * command.c - the command line of each program that runs a command on a node.
 *
 * All kinds except the local one run the command below a /bin/sh on the node,
 * which prints a marker before it and another with the exit status after it.
 * This shell gets the command as separate arguments, so it does not interpret
 * them. ssh and pdsh pass one line to the login shell, which may be any shell:
 * quoted() writes arguments such that shells of sh's and csh's families and
 * fish read them alike.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "hostlist.h"
#include "map.h"
#include "remote/remote_impl.h"
#include "str.h"

/* $0 is the marker. */
#define SCRIPT "echo \"$0+\"; \"$@\" </dev/null; echo \"$0$?\""

/* Override the user's configuration of ssh: no prompts, no endless wait for a
 * dead node, and no connection shared with a process that may hang. */
#define SSH_OPTIONS \
	"-oBatchMode=yes", "-oServerAliveInterval=2", \
		"-oServerAliveCountMax=2", "-oControlMaster=no", \
		"-oControlPath=none"

/* For pdsh's own module ssh. */
#define PDSH_SSH \
	"-oBatchMode=yes -oServerAliveInterval=2 -oServerAliveCountMax=2 " \
	"-oControlMaster=no -oControlPath=none"
#define PDSH_SSH_VARIABLE "PDSH_SSH_ARGS_APPEND"

/* Descriptors that pdsh needs for a node, with a margin. */
#define PDSH_FILES "256"

/* Most digits of a number with a leading zero that pdsh keeps, with a
 * margin. */
#define PDSH_DIGITS 12

/* Most words before the command. */
#define WORDS 32

/* --- Quoting --- */

/* Append one word, quoted if need be.  The plain characters are not special in
 * any shell.  Inside single quotes only these three characters are special in
 * some shell; outside, a backslash escapes them in all shells.  Each '%' is
 * doubled for pdsh, which replaces %h and the like by names. */
static void
quoted(struct buf *b, const struct remote_way *way, const char *s)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_./:,+-@";

	if (s[0] != '\0' && s[strspn(s, plain)] == '\0') {
		buf_add_str(b, s);
		return;
	}
	buf_add_char(b, '\'');
	for (; *s != '\0'; s++) {
		const bool special = *s == '\'' || *s == '\\' || *s == '!';

		if (special)
			buf_add_str(b, "'\\");
		if (*s == '%' && way->kind == REMOTE_PDSH)
			buf_add_char(b, '%');
		buf_add_char(b, *s);
		if (special)
			buf_add_char(b, '\'');
	}
	buf_add_char(b, '\'');
}

/* --- Preparing --- */

char **
remote_environment(struct arena *a, const char *const *without, char *more)
{
	size_t n = 0, count = 0;
	char **to = NULL;

	while (environ != NULL && environ[n] != NULL)
		n++;
	to = arena_alloc(a, n + 2, sizeof(*to));
	if (to == NULL || more == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		bool stays = true;

		for (const char *const *w = without; *w != NULL; w++)
			stays = stays && !str_starts(environ[i], *w);
		if (stays)
			to[count++] = environ[i];
	}
	to[count] = more;
	return to;
}

/* For a login shell: the command as one line. */
static void
make_line(struct remote_run *run, struct remote_way *way)
{
	struct buf b = BUF_INIT;

	buf_add_str(&b, "exec /bin/sh -c ");
	quoted(&b, way, SCRIPT);
	buf_add_char(&b, ' ');
	quoted(&b, way, run->token);
	for (size_t i = 0; run->argv[i] != NULL; i++) {
		buf_add_char(&b, ' ');
		quoted(&b, way, run->argv[i]);
	}
	way->line = arena_strndup(run->arena, b.data, b.len);
	buf_free(&b);
}

int
remote_command_init(struct remote_run *run, struct remote_way *way,
		    struct error *err)
{
	static const char *const without[] = { PDSH_SSH_VARIABLE "=", NULL };
	const bool ssh = way->kind == REMOTE_PDSH && str_eq(way->module, "ssh");
	const char *const programs[] = { remote_kind_name(way->kind),
					 ssh ? "ssh" : NULL };
	const char *had = getenv(PDSH_SSH_VARIABLE);
	uint64_t random = 0;

	if (way->kind == REMOTE_LOCAL) {
		way->env = run->o->env;
		return 0;
	}
	for (size_t i = 0; i < 2; i++)
		if (programs[i] != NULL && !remote_installed(programs[i]))
			return error_set(
				err, ERROR_ABSENT,
				"%s: not found in PATH: install it, or choose "
				"another way to run commands on the nodes",
				programs[i]);
	if (run->token[0] == '\0') {
		/* A random marker, which no command prints by chance. */
		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) !=
		    sizeof(random))
			random = (uint64_t)(clock_seconds() * 1e9) *
				 0x9e3779b97f4a7c15u;
		snprintf(run->token, REMOTE_TOKEN,
			 "@scr-%016llx:", (unsigned long long)random);
	}
	if (way->kind == REMOTE_SSH || way->kind == REMOTE_PDSH)
		make_line(run, way);
	/* Our environment plus the ssh options, in a variable that pdsh
	 * reads. */
	if (way->kind == REMOTE_PDSH)
		way->env = remote_environment(
			run->arena, without,
			arena_printf(run->arena, "%s=%s%s%s", PDSH_SSH_VARIABLE,
				     had ? had : "", had ? " " : "", PDSH_SSH));
	return 0;
}

/* --- Command lines --- */

/* A command line being built; its list has room for all words. */
struct words {
	const char **list;
	size_t count;
	struct arena *arena;
};

static void
add(struct words *w, const char *word)
{
	w->list[w->count++] = word;
}

static void
add_all(struct words *w, const char *const *words)
{
	for (; *words != NULL; words++)
		add(w, *words);
}

/* Add these words, none of them NULL. */
#define ADD(w, ...) add_all(w, (const char *const[]){ __VA_ARGS__, NULL })

/* Whole seconds, at least 1, for programs that accept no fractions. */
static unsigned long
whole(double seconds)
{
	const unsigned long n =
		seconds < 1e8 ? (unsigned long)seconds : 100000000ul;

	return n < 1 || (double)n < seconds ? n + 1 : n;
}

/* srun's options: share the node with the application's step (before SLURM
 * 20.11 it does so unasked), fail rather than wait for resources, no MPI, no
 * stdin. */
static void
add_srun(struct words *w, const struct remote_run *run, const char *node)
{
	const struct map *groups = run->known->groups;

	ADD(w, "srun", "--nodes=1", "--ntasks=1", "--mpi=none", "--input=none");
	if (!run->known->old_srun)
		add(w, "--overlap");
	if (run->o->connect > 0)
		add(w, arena_printf(w->arena, "--immediate=%lu",
				    whole(run->o->connect)));
	if (run->o->job_id != NULL)
		add(w, arena_printf(w->arena, "--jobid=%s", run->o->job_id));
	else if (groups != NULL && map_get(groups, node) != MAP_NONE)
		add(w, arena_printf(w->arena, "--het-group=%zu",
				    map_get(groups, node)));
	add(w, arena_printf(w->arena, "--nodelist=%s", node));
}

/*
 * Add pdsh.  For each command pdsh closes every possible descriptor, open or
 * not.  With a limit of a million this takes longer than the command.  So its
 * limit is lowered to its needs, with a margin.
 */
static void
add_pdsh(struct words *w, const struct remote_run *run, const char *module,
	 const char *node)
{
	ADD(w, "/bin/sh", "-c", "ulimit -Sn $0 2>/dev/null; exec \"$@\"",
	    PDSH_FILES, "pdsh", "-S", "-N", "-R", module);
	if (run->o->connect > 0)
		ADD(w, "-t",
		    arena_printf(w->arena, "%lu", whole(run->o->connect)));
	/* We enforce the limit ourselves.  This is a fallback in case we are
	 * killed. */
	if (run->o->limit > 0)
		ADD(w, "-u",
		    arena_printf(w->arena, "%lu", whole(run->o->limit) + 10));
	ADD(w, "-w", node);
}

const char **
remote_command_argv(const struct remote_run *run, const struct remote_way *way,
		    const struct remote_node *n)
{
	const char *node = n->name;
	const char *more =
		run->o->more != NULL ? run->o->more[n - run->nodes] : NULL;
	struct words w = { .arena = run->scratch };
	struct buf line = BUF_INIT;
	size_t argc = 0;

	while (run->argv[argc] != NULL)
		argc++;
	arena_reset(run->scratch);
	w.list = arena_alloc(w.arena, WORDS + argc + 2, sizeof(*w.list));
	if (w.list == NULL)
		return NULL;
	switch (way->kind) {
	case REMOTE_PDSH:
		add_pdsh(&w, run, way->module, node);
		break;
	case REMOTE_SSH:
		ADD(&w, "ssh", SSH_OPTIONS, "-n", "-x", "-a", "-T");
		if (run->o->connect > 0)
			add(&w, arena_printf(w.arena, "-oConnectTimeout=%lu",
					     whole(run->o->connect)));
		ADD(&w, "--", node);
		break;
	case REMOTE_SRUN:
		add_srun(&w, run, node);
		break;
	case REMOTE_FLUX:
		ADD(&w, "flux", "exec", "--noinput", "--rank",
		    arena_printf(w.arena, "%zu", map_get(run->ranks, node)));
		break;
	case REMOTE_MPIEXEC:
		ADD(&w, "mpiexec", "-n", "1", "-host", node);
		break;
	default:
		break;
	}
	/* The command, for a login shell, for our shell, or for none. */
	if (way->line != NULL) {
		buf_add_str(&line, way->line);
		if (more != NULL) {
			buf_add_char(&line, ' ');
			quoted(&line, way, more);
		}
		add(&w, arena_strndup(w.arena, line.data, line.len));
		buf_free(&line);
		return w.list[w.count - 1] != NULL ? w.list : NULL;
	}
	if (way->kind != REMOTE_LOCAL)
		ADD(&w, "/bin/sh", "-c", SCRIPT, run->token);
	add_all(&w, run->argv);
	add(&w, more);
	return w.list;
}

const char *
remote_command_objection(const struct remote_run *run,
			 const struct remote_way *way, const char *name)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_.:%+-";
	const size_t len = strlen(name);
	size_t n = 0;

	if (way->kind == REMOTE_LOCAL)
		return NULL;
	if (len == 0 || len > HOSTLIST_NAME_MAX || name[0] == '-' ||
	    name[strspn(name, plain)] != '\0')
		return "not the name of a host";
	/* In pdsh ':' follows the name of a module, and '%' begins a
	 * substitution.  In mpiexec ':' precedes a count. */
	if (way->kind == REMOTE_PDSH && strpbrk(name, ":%") != NULL)
		return "pdsh takes no names with ':' or '%'";
	for (const char *p = name; way->kind == REMOTE_PDSH && *p != '\0';
	     p += n > 0 ? n : 1) {
		n = strspn(p, "0123456789");
		if (*p == '0' && n > PDSH_DIGITS)
			return "pdsh takes no names with so many zeros";
	}
	if (way->kind == REMOTE_MPIEXEC && strchr(name, ':') != NULL)
		return "mpiexec takes no names with ':'";
	if (way->kind == REMOTE_FLUX && map_get(run->ranks, name) == MAP_NONE)
		return "no node of this instance of Flux";
	return NULL;
}
