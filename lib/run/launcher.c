/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/launcher.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "error.h"
#include "hostlist.h"
#include "io.h"
#include "map.h"
#include "num.h"
#include "str.h"

/* Bytes of a host file that a user gives. */
#define HOSTS_MAX ((size_t)64 << 20)

/* What to do with the nodes. */
enum way {
	LEAVE_OUT, /* those that cannot be used, in an option */
	REQUIRE,   /* the same, as a constraint of flux */
	USE,	   /* those to use, in an option */
	USE_HOSTS, /* the same, in a host file, or in the user's list */
};

/* Names of options have no dashes and a blank on both sides. */
static const char slurm_flags[] =
	" E H I K O Q X Z h k l s u v V allocate bell contiguous "
	"debugger-test disable-status exact exclusive external-launcher "
	"get-user-env help hold immediate interactive kill-on-bad-exit label "
	"multi-prog nice no-allocate no-bell no-kill nvmps overcommit overlap "
	"oversubscribe preserve-env propagate pty quiet quit-on-interrupt "
	"reboot resv-ports send-libs share spread-job test-only unbuffered "
	"usage use-min-nodes verbose version whole x11 ";
static const char flux_flags[] =
	" h l u v x debug dry-run exclusive help label-io quiet unbuffered "
	"verbose wait watch ";
static const char jsm_flags[] = " V h i v help immediate version ";
static const char alps_flags[] = " T V b h q ss v help version ";
static const char mpi_flags[] =
	" V check_mpi cleanup d l grr h help info ilp64 nolocal q rr tv v "
	"verbose version allow-run-as-root bind-to-core bind-to-none "
	"bind-to-socket bycore bynode byslot bysocket continuous "
	"debug-daemons debug-devel disable-auto-cleanup "
	"disable-hostname-propagation disable-recovery disable-x "
	"display-allocation display-devel-map display-map do-not-launch "
	"do-not-resolve enable-recovery enable-x envall envnone genvall "
	"genvnone index-argv-by-rank leave-session-attached "
	"merge-stderr-to-stdout nooversubscribe novm oversubscribe pernode "
	"pmi-port prepend-rank print-all-exitcodes print-rank-map profile "
	"quiet report-bindings show-progress silent-abort skip-launch-node "
	"tag-output timestamp-output use-hwthread-cpus ";

/* Options with two words behind them, and some whose value is a program. */
static const char pairs[] = " env genv gmca mca omca pmixmca prtemca ";
static const char programs[] =
	" bcast launch-agent launcher-exec epilog prolog task-epilog "
	"task-prolog ";

static const struct launcher {
	const char *name;
	enum way way;
	bool clusters;	     /* as getopt(3): "-lu", "-n8" */
	const char *flags;   /* options without a value */
	const char *option;  /* that names nodes, in the same word after '=' */
	const char *aliases; /* its names */
} launchers[] = {
	{ "srun", LEAVE_OUT, true, slurm_flags, "--exclude=", " exclude x " },
	{ "jsrun", LEAVE_OUT, false, jsm_flags, "--exclude_hosts",
	  " exclude_hosts " },
	{ "lrun", LEAVE_OUT, false, jsm_flags,
	  "--exclude_hosts=", " exclude_hosts " },
	{ "flux", REQUIRE, true, flux_flags, "--requires=", " requires " },
	{ "aprun", USE, false, alps_flags, "-L", " L node-list " },
	{ "mpiexec", USE_HOSTS, false, mpi_flags, "-machinefile", NULL },
	{ "mpirun", USE_HOSTS, false, mpi_flags, "-machinefile", NULL },
	{ "mpiexec.hydra", USE_HOSTS, false, mpi_flags, "-machinefile", NULL },
	{ "orterun", USE_HOSTS, false, mpi_flags, "-machinefile", NULL },
	{ "prterun", USE_HOSTS, false, mpi_flags, "-machinefile", NULL },
};

/* Options of mpiexec with a host file, and with a list of hosts. */
static const char file_options[] =
	" f hostfile machine machinefile default-hostfile ";
static const char host_options[] =
	" f hostfile machine machinefile default-hostfile hosts host H ";

/* Options that count ranks (of jsrun: resource sets), and nodes. */
static const char rank_options[] = " n np ntasks nrs ";
static const char node_options[] = " N nodes ";

/* --- The words of a launcher --- */

enum word { OPTION, VALUE, PROGRAM, COLON };

struct line {
	const struct launcher *l; /* NULL: not known */
	const char *const *words;
	const enum word *kinds;
	size_t count;
	size_t first;	 /* the first word that can be an option */
	size_t sections; /* between colons */
};

static bool
is_in(const char *names, const char *name, size_t len)
{
	return len > 0 &&
	       strstr(names, str_printed(64, " %.*s ", (int)len, name)) != NULL;
}

/* The name of option `word`, of *len bytes, and *at: where in the word its
 * value begins; 0: it has none there.  Of a cluster, the last option is
 * meant. */
static const char *
name_in(const struct launcher *l, const char *word, size_t *len, size_t *at)
{
	const char *name = word + strspn(word, "-");
	const bool one = name == word + 1;

	while (one && l->clusters && name[1] != '\0' &&
	       is_in(l->flags, name, 1))
		name++;
	*len = strcspn(name, "=");
	*at = name[*len] == '=' ? (size_t)(name - word) + *len + 1 : 0;
	if (one && *len > 1 && (l->clusters || str_is_digit(name[1]))) {
		*len = 1;
		*at = (size_t)(name - word) + 1;
	}
	return name;
}

/* Tell the options of the launcher and their values from the programs and
 * theirs. */
static struct line
read_line(const char *const *words, struct arena *a)
{
	const char *slash = strrchr(words[0], '/');
	const char *name = slash != NULL ? slash + 1 : words[0];
	struct line c = { .words = words, .first = 1, .sections = 1 };
	enum word *kinds = NULL, last = OPTION;
	size_t values = 0;
	struct stat st;

	while (words[c.count] != NULL)
		c.count++;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (str_eq(name, launchers[i].name))
			c.l = &launchers[i];
	if (c.l != NULL && c.l->way == REQUIRE) {
		/* Only "flux run", once "flux mini run", has options of ours. */
		while (c.first < c.count && words[c.first][0] == '-')
			c.first++;
		if (c.first < c.count && str_eq(words[c.first], "mini"))
			c.first++;
		if (c.count <= c.first || !str_eq(words[c.first++], "run"))
			c.l = NULL;
	}
	c.kinds = kinds = arena_alloc(a, c.count + 1, sizeof(*kinds));
	for (size_t i = c.first; c.l != NULL && i < c.count; i++) {
		const char *word = words[i], *next = words[i + 1];
		size_t len = 0, at = 0;

		if (values > 0) {
			values--;
			kinds[i] = VALUE;
		} else if (str_eq(word, ":") && c.l->way != REQUIRE) {
			c.sections++;
			kinds[i] = last = COLON;
		} else if (last == PROGRAM || word[0] != '-' ||
			   str_eq(word, "--")) {
			kinds[i] = last = PROGRAM;
		} else {
			kinds[i] = last = OPTION;
			name = name_in(c.l, word, &len, &at);
			/* How many words behind it are its values?  An option
			 * that no table has takes one, unless that is the path
			 * of a program. */
			if (at > 0 || is_in(c.l->flags, name, len))
				continue;
			values = is_in(pairs, name, len)
					 ? 2
					 : next == NULL ||
						   is_in(programs, name, len) ||
						   strchr(next, '/') == NULL ||
						   access(next, X_OK) < 0 ||
						   stat(next, &st) < 0 ||
						   !S_ISREG(st.st_mode);
		}
	}
	return c;
}

/* The index of the word, behind the first `from`, that has the value of one of
 * the launcher's options `names`, and *at: where in it; `c->count`: none. */
static size_t
find_value(const struct line *c, size_t from, const char *names, size_t *at)
{
	for (size_t i = from; c->l != NULL && i < c->count; i++) {
		size_t len = 0;
		const char *name = name_in(c->l, c->words[i], &len, at);

		if (c->kinds[i] != OPTION || !is_in(names, name, len))
			continue;
		if (*at > 0)
			return i;
		if (i + 1 < c->count && c->kinds[i + 1] == VALUE)
			return i + 1;
	}
	return c->count;
}

uint64_t
run_launcher_ranks(const char *const *words)
{
	struct arena *a = arena_new();
	const struct line c = read_line(words, a);
	uint64_t ranks = 0;
	size_t at = 0;
	const size_t i = find_value(&c, c.first, rank_options, &at);

	if (i == c.count || c.sections > 1 ||
	    num_u64(words[i] + at, 1, UINT32_MAX, &ranks, NULL) < 0)
		ranks = 0;
	arena_free(a);
	return ranks;
}

/* Replace the number of an option that the user gives. */
static void
put_number(const struct line *c, const char **words, const char *names,
	   uint64_t number, struct arena *a)
{
	size_t at = 0;
	const size_t i = find_value(c, c->first, names, &at);

	if (i < c->count)
		words[i] = arena_printf(a, "%.*s%" PRIu64, (int)at, words[i],
					number);
}

/* --- Lists of hosts --- */

/* The next host of `*text`, ended by one of `ends`, and its name, which ends
 * before a ':' or blank ("node1:8", "node1 slots=8").  False: there is none. */
static bool
next_host(const char **text, const char *ends, size_t *len, size_t *name)
{
	for (;; *text += *len) {
		*text += strspn(*text, ends);
		*len = strcspn(*text, ends);
		*name = strcspn(*text, ": \t\r,\n");
		if (*len == 0)
			return false;
		if (*name > 0 && **text != '#')
			return true;
	}
}

/* The hosts that a value of mpiexec is or names, each ended by *ends. */
static int
read_hosts(const struct line *c, size_t i, size_t at, const char **ends,
	   struct buf *out, struct error *err)
{
	const char *value = c->words[i] + at;
	const char *word = c->words[at > 0 ? i : i - 1];
	bool file = false;

	buf_clear(out);
	word += strspn(word, "-");
	/* Is it the name of a host file, and not a list? */
	file = is_in(file_options, word, strcspn(word, "="));
	*ends = file ? "\n" : ",";
	return file ? io_read_file(AT_FDCWD, value, HOSTS_MAX, out, err)
		    : buf_add_str(out, value);
}

int
run_launcher_hosts(const char *const *words, struct hostlist *out,
		   struct error *err)
{
	struct arena *a = arena_new();
	const struct line c = read_line(words, a);
	const char *ends = NULL, *next = NULL;
	struct buf text = BUF_INIT;
	char one[HOSTLIST_NAME_MAX + 1];
	size_t len = 0, name = 0, at = 0;
	int rc = 0;

	if (c.l == NULL || c.l->way != USE_HOSTS)
		goto out;
	for (size_t i = c.first;
	     rc == 0 && (i = find_value(&c, i, host_options, &at)) < c.count;
	     i++) {
		rc = read_hosts(&c, i, at, &ends, &text, err);
		for (next = text.data; rc == 0 && next != NULL &&
				       next_host(&next, ends, &len, &name);
		     next += len) {
			snprintf(one, sizeof(one), "%.*s", (int)name, next);
			rc = hostlist_add_name(out, one, err);
		}
	}
	buf_free(&text);
	(void)hostlist_uniq(out, NULL);
out:
	arena_free(a);
	return rc;
}

/* --- The words to execute --- */

/* mpiexec: replace each list of hosts that the user gives by what is left of
 * it, and a host file by ours; if there is none, add ours. */
static int
name_hosts(const struct line *c, const char **argv, const struct run_nodes *n,
	   struct arena *a, struct error *err)
{
	struct buf given = BUF_INIT, text = BUF_INIT, file = BUF_INIT;
	struct map *use = hostlist_map(n->use, NULL);
	size_t i = c->first, at = 0, len = 0, name = 0;
	const char *ends = NULL, *next = NULL;
	bool any = false;
	int rc = 0;

	for (; rc == 0 && (i = find_value(c, i, host_options, &at)) < c->count;
	     i++) {
		any = true;
		buf_clear(&text);
		rc = read_hosts(c, i, at, &ends, &given, err);
		for (next = given.data; rc == 0 && next != NULL &&
					next_host(&next, ends, &len, &name);
		     next += len)
			if (map_get(use, arena_strndup(a, next, name)) !=
			    MAP_NONE)
				buf_printf(&text, "%.*s%c", (int)len, next,
					   ends[0]);
		if (rc == 0 && text.len == 0)
			rc = error_set(err, ERROR_ABSENT,
				       "%s: none of its nodes can be used",
				       c->words[i] + at);
		else if (rc == 0 && ends[0] == '\n' && file.len > 0)
			rc = error_set(err, ERROR_ABSENT,
				       "%s: a second host file; scr_run can "
				       "replace one",
				       c->words[i] + at);
		if (rc < 0)
			break;
		if (ends[0] == '\n')
			buf_add(&file, text.data, text.len);
		argv[i] = ends[0] == '\n'
				  ? arena_printf(a, "%.*s%s", (int)at,
						 c->words[i], n->hosts)
				  : arena_printf(a, "%.*s%.*s", (int)at,
						 c->words[i], (int)text.len - 1,
						 text.data);
	}
	if (!any) {
		(void)hostlist_plain(n->use, "\n", &file, NULL);
		buf_add_char(&file, '\n');
		memmove(argv + 3, argv + 1, c->count * sizeof(*argv));
		argv[1] = c->l->option;
		argv[2] = n->hosts;
	}
	if (rc == 0 && file.len > 0 && n->scr >= 0)
		rc = io_replace_lazy(n->scr, RUN_HOSTS, file.data, file.len,
				     0666, err);
	map_free(use);
	buf_free(&given);
	buf_free(&text);
	buf_free(&file);
	return rc;
}

/* Other launchers: extend the user's option in each section, or add one. */
static int
name_nodes(const struct line *c, const char **argv, const char *nodes,
	   struct arena *a, struct error *err)
{
	const enum way way = c->l->way;
	size_t to = c->first, from = c->first, at = 0;

	if (way == REQUIRE)
		nodes = arena_printf(a, "-host:%s", nodes);
	while (from < c->count) {
		size_t given = find_value(c, from, c->l->aliases, &at);
		size_t end = from;

		while (end < c->count && c->kinds[end] != COLON)
			end++;
		if (given >= end && str_ends(c->l->option, "=")) {
			argv[to++] =
				arena_printf(a, "%s%s", c->l->option, nodes);
		} else if (given >= end) {
			argv[to++] = c->l->option;
			argv[to++] = nodes;
		}
		for (; from < c->count && from <= end; from++) {
			const char *word = argv[to++] = c->words[from];

			if (from != given)
				continue;
			/* Only the launcher can read its own names of nodes,
			 * or those in a file. */
			if (way == USE ||
			    (way == LEAVE_OUT && strchr(word + at, '/')))
				return error_set(
					err, ERROR_ABSENT,
					"%s: nodes that scr_run cannot "
					"change: name those to use by "
					"--nodelist instead",
					word);
			argv[to - 1] =
				way == REQUIRE
					? arena_printf(a, "%.*s(%s) and %s",
						       (int)at, word, word + at,
						       nodes)
					: arena_printf(a, "%s,%s", word, nodes);
			given = find_value(c, from + 1, c->l->aliases, &at);
		}
	}
	argv[to] = NULL;
	return 0;
}

const char **
run_launcher_argv(const char *const *words, const struct run_nodes *n,
		  struct arena *a, struct error *err)
{
	struct line c = read_line(words, a);
	const char **changed = arena_alloc(a, c.count + 1, sizeof(*changed));
	const char **argv =
		arena_alloc(a, c.count + 2 * c.sections + 2, sizeof(*argv));
	struct hostlist out = HOSTLIST_INIT;
	struct buf text = BUF_INIT;
	int rc = 0;

	memcpy(changed, words, c.count * sizeof(*changed));
	c.words = changed;
	if (c.l != NULL && n->use->count < n->all->count && n->ranks > 0) {
		put_number(&c, changed, rank_options, n->ranks, a);
		if (c.l->way < USE)
			put_number(&c, changed, node_options, n->use->count, a);
	}
	memcpy(argv, changed, c.count * sizeof(*argv));
	if (c.l == NULL || n->use->count == n->all->count)
		return argv;
	if (c.l->way == USE_HOSTS)
		return name_hosts(&c, argv, n, a, err) < 0 ? NULL : argv;
	(void)hostlist_add_list(&out, c.l->way == USE ? n->use : n->all, NULL);
	if (c.l->way != USE)
		(void)hostlist_minus(&out, n->use, NULL);
	(void)hostlist_plain(&out, ",", &text, NULL);
	rc = name_nodes(&c, argv, arena_strdup(a, text.data), a, err);
	hostlist_free(&out);
	buf_free(&text);
	return rc < 0 ? NULL : argv;
}
