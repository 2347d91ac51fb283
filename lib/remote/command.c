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

/*
 * The command of pdsh's module exec; $0 is the program.  If the connection is
 * lost within a line, pdsh prints the line without newline, and the next line
 * of another node would be joined to it.  So a newline is added on failure.
 * The user's options for pdsh's ssh are kept.
 */
#define WRAP(options) "\"$0\" " options "\"$@\" || { s=$?; echo; exit $s; }"
#define WRAP_SSH WRAP("$PDSH_SSH_ARGS_APPEND ")

/* For pdsh's own module ssh. */
#define PDSH_SSH \
	"-oBatchMode=yes -oServerAliveInterval=2 -oServerAliveCountMax=2 " \
	"-oControlMaster=no -oControlPath=none"
#define PDSH_SSH_VARIABLE "PDSH_SSH_ARGS_APPEND"

/* Descriptors that pdsh needs for n nodes. */
#define PDSH_FILES(n) (8 * (n) + 128)

/* Words before the command, and bytes of a list of nodes in one of them. */
#define WORDS 32
#define LIST_BYTES ((size_t)32 << 10)

/* Most digits of a number with a leading zero that pdsh keeps, with a
 * margin. */
#define PDSH_DIGITS 12

/* --- Quoting --- */

/* Append one word, quoted if need be.  The plain characters are not special in
 * any shell.  Inside single quotes only these three characters are special in
 * some shell; outside, a backslash escapes them in all shells. */
static void
quoted(struct buf *b, const char *s)
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
		buf_add_char(b, *s);
		if (special)
			buf_add_char(b, '\'');
	}
	buf_add_char(b, '\'');
}

/* --- Preparing --- */

/* The command as one line for a login shell. */
static int
make_line(struct remote_run *run, struct remote_way *way)
{
	struct buf b = BUF_INIT, line = BUF_INIT;

	buf_add_str(&b, "exec /bin/sh -c ");
	quoted(&b, SCRIPT);
	buf_add_char(&b, ' ');
	quoted(&b, run->token);
	for (size_t i = 0; run->argv[i] != NULL; i++) {
		buf_add_char(&b, ' ');
		quoted(&b, run->argv[i]);
	}
	/* Double each '%': pdsh replaces %h and the like by names. */
	for (size_t i = 0; !b.failed && i < b.len; i++) {
		buf_add_char(&line, b.data[i]);
		if (way->kind == REMOTE_PDSH && b.data[i] == '%')
			buf_add_char(&line, '%');
	}
	if (!b.failed && !line.failed)
		way->line = arena_strndup(run->arena, line.data, line.len);
	buf_free(&b);
	buf_free(&line);
	return way->line != NULL ? 0 : -1;
}

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

/* Set the programs, which are looked for in PATH. */
static int
find_programs(struct remote_way *way, struct error *err)
{
	const char *needed[2] = { NULL, NULL };

	if (way->kind == REMOTE_LOCAL)
		return 0;
	needed[0] = way->program = remote_kind_name(way->kind);
	if (way->kind == REMOTE_PDSH && way->module == NULL)
		needed[1] = way->inner = "ssh";
	else if (way->kind == REMOTE_PDSH && str_eq(way->module, "exec"))
		needed[1] = way->inner = "srun";
	else if (way->kind == REMOTE_PDSH && str_eq(way->module, "ssh"))
		needed[1] = "ssh";
	for (size_t i = 0; i < 2; i++)
		if (needed[i] != NULL && !remote_installed(needed[i]))
			return error_set(
				err, ERROR_ABSENT,
				"%s: not found in PATH: install it, or choose "
				"another way to run commands on the nodes",
				needed[i]);
	return 0;
}

int
remote_command_init(struct remote_run *run, struct remote_way *way,
		    struct error *err)
{
	static const char *const without[] = { PDSH_SSH_VARIABLE "=", NULL };
	const char *had = getenv(PDSH_SSH_VARIABLE);
	uint64_t random = 0;

	if (find_programs(way, err) < 0)
		return -1;
	if (way->kind == REMOTE_LOCAL)
		way->env = run->o->env;
	if (run->token[0] == '\0') {
		/* A random marker, which no command prints by chance. */
		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) !=
		    sizeof(random))
			random = (uint64_t)(clock_seconds() * 1e9) *
				 0x9e3779b97f4a7c15u;
		snprintf(run->token, REMOTE_TOKEN,
			 "@scr-%016llx:", (unsigned long long)random);
	}
	if (make_line(run, way) < 0)
		return error_no_memory(err);
	if (way->kind != REMOTE_PDSH || way->inner != NULL)
		return 0;
	/* Our environment plus the ssh options, in a variable that pdsh
	 * reads. */
	way->env = remote_environment(
		run->arena, without,
		arena_printf(run->arena, "%s=%s%s%s", PDSH_SSH_VARIABLE,
			     had ? had : "", had ? " " : "", PDSH_SSH));
	return way->env != NULL ? 0 : error_no_memory(err);
}

/* --- Command lines --- */

/* A command line being built.  `bad`: it is full, or out of memory. */
struct words {
	const char **list;
	size_t count, room;
	struct arena *arena;
	bool bad;
};

static void
add(struct words *w, const char *word)
{
	if (word == NULL || w->count + 1 >= w->room)
		w->bad = true;
	else
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

/* Add our shell and the command for it, as words. */
static void
add_command(struct words *w, const struct remote_run *run)
{
	ADD(w, "/bin/sh", "-c", SCRIPT, run->token);
	add_all(w, run->argv);
}

/* srun's options: share the node with the application's step (before SLURM
 * 20.11 it does so unasked), fail rather than wait for resources, no MPI, no
 * stdin. */
static void
add_srun(struct words *w, const struct remote_run *run, const char *program,
	 const char *node)
{
	const struct map *groups = run->known->groups;

	ADD(w, program, "--nodes=1", "--ntasks=1", "--mpi=none",
	    "--input=none");
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

static void
add_ssh(struct words *w, const struct remote_run *run,
	const struct remote_way *way, const char *program, const char *node)
{
	ADD(w, program, SSH_OPTIONS, "-n", "-x", "-a", "-T");
	if (run->o->connect > 0)
		add(w, arena_printf(w->arena, "-oConnectTimeout=%lu",
				    whole(run->o->connect)));
	ADD(w, "--", node, way->line);
}

/*
 * Add pdsh.  For each command pdsh closes every possible descriptor, open or
 * not.  With a limit of a million this takes longer than the command.  So its
 * limit is lowered to its needs, with a margin.
 */
static void
add_pdsh(struct words *w, const struct remote_run *run,
	 const struct remote_proc *p)
{
	const struct remote_way *way = p->way;
	struct buf b = BUF_INIT;

	ADD(w, "/bin/sh", "-c", "ulimit -Sn $0 2>/dev/null; exec \"$@\"");
	add(w, arena_printf(w->arena, "%zu", PDSH_FILES(p->count)));
	ADD(w, way->program, "-S", "-R",
	    way->inner != NULL ? "exec" : way->module, "-f");
	add(w, arena_printf(w->arena, "%zu", p->count));
	/* The module exec does not connect, and rejects -t. */
	if (run->o->connect > 0 && way->inner == NULL) {
		add(w, "-t");
		add(w, arena_printf(w->arena, "%lu", whole(run->o->connect)));
	}
	/* We enforce the limit ourselves.  This is a fallback in case we are
	 * killed. */
	if (run->o->limit > 0) {
		add(w, "-u");
		add(w,
		    arena_printf(w->arena, "%lu", whole(run->o->limit) + 10));
	}
	/* Repeat -w as needed: the length of an argument is limited. */
	for (size_t i = 0; i < p->count; i++) {
		const char *name = run->nodes[p->nodes[i]].name;

		if (b.len > 0)
			buf_add_char(&b, ',');
		buf_add_str(&b, name);
		w->bad = w->bad || b.failed;
		if (b.len > LIST_BYTES || i + 1 == p->count) {
			add(w, "-w");
			add(w, arena_strndup(w->arena, b.data, b.len));
			buf_clear(&b);
		}
	}
	buf_free(&b);
	if (way->inner == NULL) {
		add(w, way->line);
		return;
	}
	ADD(w, "/bin/sh", "-c", way->module == NULL ? WRAP_SSH : WRAP(""));
	if (way->module == NULL) {
		add_ssh(w, run, way, way->inner, "%h");
	} else {
		add_srun(w, run, way->inner, "%h");
		/* As one line: pdsh stops at an empty word. */
		ADD(w, "/bin/sh", "-c", way->line);
	}
}

const char **
remote_command_argv(const struct remote_run *run, const struct remote_proc *p)
{
	const char *node = run->nodes[p->nodes[0]].name;
	const struct remote_way *way = p->way;
	struct words w = { .arena = p->arena, .room = WORDS };

	while (run->argv[w.room - WORDS] != NULL)
		w.room++;
	w.room += p->count * (HOSTLIST_NAME_MAX + 1) / LIST_BYTES * 2 + 2;
	w.list = arena_alloc(p->arena, w.room, sizeof(*w.list));
	if (w.list == NULL)
		return NULL;
	switch (way->kind) {
	case REMOTE_PDSH:
		add_pdsh(&w, run, p);
		break;
	case REMOTE_SSH:
		add_ssh(&w, run, way, way->program, node);
		break;
	case REMOTE_SRUN:
		add_srun(&w, run, way->program, node);
		add_command(&w, run);
		break;
	case REMOTE_FLUX:
		ADD(&w, way->program, "exec", "--noinput", "--rank");
		add(&w,
		    arena_printf(p->arena, "%zu", map_get(run->ranks, node)));
		add_command(&w, run);
		break;
	case REMOTE_MPIEXEC:
		ADD(&w, way->program, "-n", "1", "-host", node);
		add_command(&w, run);
		break;
	default:
		add_all(&w, run->argv);
		break;
	}
	return w.bad ? NULL : w.list;
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
