/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/launcher.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

enum style {
	WORD_BEFORE, /* the option, and the nodes as the next word */
	JOINED,	     /* the option and the nodes in one word */
	HOST_FILE,   /* mpiexec */
};

static const struct launcher {
	const char *name;
	bool use; /* takes the nodes to use, not those to leave out */
	enum style style;
	const char *option;
	const char *after; /* a word that stays before the option; NULL */
} launchers[] = {
	{ "srun", false, WORD_BEFORE, "--exclude", NULL },
	{ "jsrun", false, WORD_BEFORE, "--exclude_hosts", NULL },
	{ "lrun", false, JOINED, "--exclude_hosts=", NULL },
	{ "flux", false, JOINED, "--requires=-host:", "run" },
	{ "aprun", true, WORD_BEFORE, "-L", NULL },
	{ "mpiexec", true, HOST_FILE, "-machinefile", NULL },
	{ "mpirun", true, HOST_FILE, "-machinefile", NULL },
	{ "mpiexec.hydra", true, HOST_FILE, "-machinefile", NULL },
	{ "orterun", true, HOST_FILE, "-machinefile", NULL },
	{ "prterun", true, HOST_FILE, "-machinefile", NULL },
};

/* Options of mpiexec with a host file, and with a list of hosts. */
static const char *const file_options[] = {
	"-f",		"-hostfile",	 "--hostfile",
	"-machinefile", "--machinefile", "-default-hostfile",
};
static const char *const list_options[] = { "-hosts", "-host", "--host", "-H" };

/* Options that count ranks (of jsrun: resource sets), and nodes. */
static const char *const rank_options[] = { "-n", "-np", "--np", "--ntasks",
					    "--nrs" };
static const char *const node_options[] = { "-N", "--nodes" };

static const struct launcher *
find(const char *word)
{
	const char *slash = strrchr(word, '/');
	const char *name = slash != NULL ? slash + 1 : word;

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (str_eq(name, launchers[i].name))
			return &launchers[i];
	return NULL;
}

static bool
is_one_of(const char *word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(word, list[i]))
			return true;
	return false;
}
#define IS_ONE_OF(word, list) \
	is_one_of(word, list, sizeof(list) / sizeof((list)[0]))

/* The index of the word that has the number of an option, as "-n 8", "-n8" or
 * "--ntasks=8", and *at: where in it; 0: there is none. */
static size_t
find_number(const char *const *words, const char *const *list, size_t count,
	    size_t *at, uint64_t *number)
{
	for (size_t i = 1; words[i] != NULL; i++)
		for (size_t k = 0; k < count; k++) {
			const size_t len = strlen(list[k]);
			const bool next = str_eq(words[i], list[k]);
			const char *word = next ? words[i + 1] : words[i];

			if (!str_starts(words[i], list[k]) || word == NULL)
				continue;
			*at = next ? 0 : len + (word[len] == '=');
			if (num_u64(word + *at, 1, UINT32_MAX, number, NULL) ==
			    0)
				return i + next;
		}
	return 0;
}

/* Replace that number. */
static int
put_number(const char **words, const char *const *list, size_t count,
	   uint64_t number, struct arena *a, struct error *err)
{
	uint64_t was = 0;
	size_t at = 0;
	const size_t i = find_number(words, list, count, &at, &was);

	if (i == 0)
		return 0;
	words[i] = arena_printf(a, "%.*s%" PRIu64, (int)at, words[i], number);
	return words[i] != NULL ? 0 : error_no_memory(err);
}
#define FIND_NUMBER(words, list, at, number) \
	find_number(words, list, sizeof(list) / sizeof((list)[0]), at, number)
#define PUT_NUMBER(words, list, number, a, err) \
	put_number(words, list, sizeof(list) / sizeof((list)[0]), number, a, \
		   err)

uint64_t
run_launcher_ranks(const char *const *words)
{
	uint64_t ranks = 0;
	size_t at = 0;

	return find(words[0]) != NULL &&
			       FIND_NUMBER(words, rank_options, &at, &ranks) > 0
		       ? ranks
		       : 0;
}

/* The index of the word of mpiexec that names hosts, or the file of them
 * (*file), behind its option; 0: none does. */
static size_t
find_hosts(const char *const *words, bool *file)
{
	/* Every word is looked at: which of them are values of other options,
	 * and which is the program, only the launcher knows. */
	for (size_t i = 1; words[i] != NULL && words[i + 1] != NULL; i++) {
		*file = IS_ONE_OF(words[i], file_options);
		if (*file || IS_ONE_OF(words[i], list_options))
			return i + 1;
	}
	return 0;
}

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

/* The text that words[at] names or is. */
static int
read_hosts(const char *word, bool file, struct buf *out, struct error *err)
{
	if (file)
		return io_read_file(AT_FDCWD, word, HOSTS_MAX, out, err);
	return buf_add_str(out, word) < 0 ? error_no_memory(err) : 0;
}

int
run_launcher_hosts(const char *const *words, struct hostlist *out,
		   struct error *err)
{
	const struct launcher *l = find(words[0]);
	struct buf text = BUF_INIT;
	char one[HOSTLIST_NAME_MAX + 1];
	size_t len = 0, name = 0;
	bool file = false;
	const size_t at = l != NULL && l->style == HOST_FILE
				  ? find_hosts(words, &file)
				  : 0;
	const char *next = NULL;
	int rc = 0;

	if (at > 0)
		rc = read_hosts(words[at], file, &text, err);
	for (next = text.data; rc == 0 && next != NULL &&
			       next_host(&next, file ? "\n" : ",", &len, &name);
	     next += len) {
		snprintf(one, sizeof(one), "%.*s", (int)name, next);
		rc = hostlist_add_name(out, one, err);
	}
	buf_free(&text);
	return rc < 0 ? rc : hostlist_uniq(out, err);
}

/* mpiexec: replace the hosts that the user gives, or add a host file. */
static int
name_hosts(const char **argv, size_t count, const struct launcher *l,
	   const struct run_nodes *n, struct arena *a, struct error *err)
{
	struct buf given = BUF_INIT, text = BUF_INIT;
	struct map *use = hostlist_map(n->use, err);
	size_t len = 0, name = 0;
	bool file = true;
	const size_t at = find_hosts(argv, &file);
	const char *next = NULL;
	int rc = -1;

	if (use == NULL ||
	    (at > 0 && read_hosts(argv[at], file, &given, err) < 0))
		goto out;
	for (next = given.data;
	     next != NULL && next_host(&next, file ? "\n" : ",", &len, &name);
	     next += len) {
		const char *host = arena_strndup(a, next, name);

		if (host != NULL && map_get(use, host) != MAP_NONE)
			buf_printf(&text, "%.*s%c", (int)len, next,
				   file ? '\n' : ',');
	}
	if (at == 0 && (hostlist_plain(n->use, "\n", &text, err) < 0 ||
			buf_add_char(&text, '\n') < 0))
		goto out;
	if (buf_check(&text, err) < 0)
		goto out;
	if (text.len == 0) {
		error_set(err, ERROR_USAGE, "%s: none of its nodes can be used",
			  argv[at]);
		goto out;
	}
	if (at == 0) {
		memmove(argv + 3, argv + 1, count * sizeof(*argv));
		argv[1] = l->option;
		argv[2] = n->hosts;
	} else if (file) {
		argv[at] = n->hosts;
	} else {
		argv[at] = arena_strndup(a, text.data, text.len - 1);
	}
	if (at > 0 && !file)
		rc = argv[at] != NULL ? 0 : error_no_memory(err);
	else
		rc = n->scr < 0 ? 0
				: io_replace_lazy(n->scr, RUN_HOSTS, text.data,
						  text.len, 0666, err);
out:
	map_free(use);
	buf_free(&given);
	buf_free(&text);
	return rc;
}

const char **
run_launcher_argv(const char *const *words, const struct run_nodes *n,
		  struct arena *a, struct error *err)
{
	const struct launcher *l = find(words[0]);
	struct hostlist out = HOSTLIST_INIT;
	struct buf text = BUF_INIT;
	const char **argv = NULL;
	size_t count = 0, at = 1;
	const char *list = NULL;

	while (words[count] != NULL)
		count++;
	argv = arena_alloc(a, count + 4, sizeof(*argv));
	if (argv == NULL)
		return error_no_memory_null(err);
	memcpy(argv, words, count * sizeof(*argv));
	if (l == NULL || n->use->count == n->all->count)
		return argv;
	if (n->ranks > 0 &&
	    (PUT_NUMBER(argv, rank_options, n->ranks, a, err) < 0 ||
	     (!l->use &&
	      PUT_NUMBER(argv, node_options, n->use->count, a, err) < 0)))
		return NULL;
	if (l->style == HOST_FILE)
		return name_hosts(argv, count, l, n, a, err) == 0 ? argv : NULL;
	if (hostlist_add_list(&out, l->use ? n->use : n->all, err) < 0 ||
	    (!l->use && hostlist_minus(&out, n->use, err) < 0) ||
	    hostlist_plain(&out, ",", &text, err) < 0)
		goto out;
	if (l->after != NULL && argv[1] != NULL && str_eq(argv[1], l->after))
		at = 2;
	memmove(argv + at + 2, argv + at, (count - at) * sizeof(*argv));
	argv[at] = l->option;
	list = argv[at + 1] = arena_strdup(a, text.data);
	if (l->style == JOINED) {
		list = arena_printf(a, "%s%s", l->option, text.data);
		argv[at] = list;
		memmove(argv + at + 1, argv + at + 2,
			(count - at + 1) * sizeof(*argv));
	}
	if (list == NULL)
		error_no_memory(err);
out:
	hostlist_free(&out);
	buf_free(&text);
	return list != NULL ? argv : NULL;
}
