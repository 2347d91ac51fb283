/* SPDX-License-Identifier: BSD-3-Clause */
/* route_names.c - parameters, names that are routed, and where their files are
 * (route.h). */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "libc.h"
#include "map.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "preload/route_impl.h"
#include "str.h"

#define my route_state

LIBC_HOT_DATA _Atomic bool route_on;
LIBC_HOT_DATA uint32_t route_first[8];
_Thread_local bool route_inside;
struct route_state route_state = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- Messages --- */

void
route_say(const char *fmt, ...)
{
	const int was = errno;
	char line[4096];
	int n = snprintf(line, sizeof(line), "libscr_preload: ");
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	n = (int)strlen(line);
	line[n] = '\n';
	n = (int)write(STDERR_FILENO, line, (size_t)n + 1);
	errno = was;
}

/* --- Patterns --- */

/* Find the longest run of ordinary characters that every match of a valid
 * expression has: outside of brackets, and not optional.  With groups,
 * alternatives and classes of characters, none is sought. */
static void
find_literal(const char *re, char to[static ROUTE_LITERAL])
{
	size_t n = 0, longest = 0;

	to[0] = '\0';
	if (strpbrk(re, "(|{") != NULL || strstr(re, "[:") != NULL ||
	    strstr(re, "[=") != NULL || strstr(re, "[.") != NULL)
		return;
	for (const char *c = re;; c++) {
		const bool ends = strchr("[\\.^$*?+", *c) != NULL; /* or NUL */

		n += !ends;
		if (!ends)
			continue;
		n -= n > 0 && (*c == '*' || *c == '?');
		if (n > longest && n < ROUTE_LITERAL) {
			longest = n;
			memcpy(to, c - n - (c[0] == '*' || c[0] == '?'), n);
			to[n] = '\0';
		}
		n = 0;
		if (*c == '[')
			c += strcspn(c + 2 + (c[1] == '^'), "]") + 2 +
			     (c[1] == '^');
		else if (*c == '\\')
			c++;
		if (*c == '\0')
			return;
	}
}

/* Compile the expression `text`, which is borrowed.  ERROR_USAGE. */
static int
compile(struct pattern *p, const char *text, struct error *err)
{
	const int rc = regcomp(&p->re, text, REG_EXTENDED);
	char why[128];

	p->text = text;
	if (rc == 0) {
		unsigned char c = 0;

		find_literal(text, p->literal);
		c = (unsigned char)p->literal[0];
		if (p->literal[0] == '\0')
			memset(route_first, 0xff, sizeof(route_first));
		else
			route_first[c / 32] |= 1U << c % 32;
		return 0;
	}
	regerror(rc, &p->re, why, sizeof(why));
	return error_set(err, ERROR_USAGE, "\"%s\": %s", text, why);
}

/* The ranks of "LOW-HIGH:", and what follows; NULL: it does not begin so. */
static const char *
read_ranks(const char *text, int ranks, int range[static 2])
{
	for (int i = 0; i < 2; i++) {
		const size_t n = strcspn(text, i == 0 ? "-" : ":");
		char word[16];
		uint64_t value = (uint64_t)ranks - 1;

		if (text[n] == '\0' || n >= sizeof(word))
			return NULL;
		memcpy(word, text, n);
		word[n] = '\0';
		if (!str_eq(word, "N") &&
		    num_u64(word, 0, INT32_MAX - 1, &value, NULL) < 0)
			return NULL;
		range[i] = (int)value;
		text += n + 1;
	}
	return *text != '\0' ? text : NULL;
}

/* The first rank that is in none of the ranges; `ranks`: there is none. */
static int
uncovered(const char *text, char token, int ranks)
{
	int range[2], rank = 0;
	const char *at = text;

	while (at != NULL && rank < ranks) {
		const bool has = read_ranks(at, ranks, range) != NULL &&
				 range[0] <= rank && rank <= range[1];

		rank = has ? range[1] + 1 : rank;
		at = has ? text : strchr(at, token);
		at += at != NULL && !has;
	}
	return rank;
}

/*
 * Add the patterns of this rank in `text`: "LOW-HIGH:REGEX" one after the
 * other, `token` between them; N is the last rank.  ERROR_USAGE: one of them is
 * wrong, or a rank has none, which is the same on all ranks.  ERROR_NOMEM.
 */
static int
parse(const char *text, char token, struct error *err)
{
	const char stop[] = { token, '\0' };
	int rc = 0, range[2];

	for (const char *at = text; rc == 0 && *at != '\0';) {
		const size_t n = strcspn(at, stop);
		const char *re = read_ranks(at, my.is.ranks, range);
		struct pattern p = { .text = NULL };
		char *own = NULL;

		if (re == NULL || re >= at + n)
			return error_set(err, ERROR_USAGE,
					 "\"%.*s\": expected RANKS:REGEX, such "
					 "as 0-N:ckpt",
					 (int)n, at);
		own = mem_calloc((size_t)(at + n - re) + 1, 1);
		if (own == NULL)
			return error_no_memory(err);
		memcpy(own, re, (size_t)(at + n - re));
		/* Every rank finds the wrong one. */
		rc = compile(&p, own, err);
		if (rc == 0 && range[0] <= my.is.rank &&
		    my.is.rank <= range[1]) {
			if (!MEM_ROOM(my.patterns, my.npatterns,
				      my.patterns_cap))
				return error_no_memory(err);
			my.patterns[my.npatterns++] = p;
		} else {
			if (rc == 0)
				regfree(&p.re);
			mem_free(own);
		}
		at += n + (at[n] != '\0');
	}
	if (rc == 0 && uncovered(text, token, my.is.ranks) < my.is.ranks)
		rc = error_set(err, ERROR_USAGE,
			       "\"%s\": no pattern for rank %d of %d", text,
			       uncovered(text, token, my.is.ranks),
			       my.is.ranks);
	return rc;
}

/* --- Begin --- */

/* The value of a parameter, or of LLNL's for the same; NULL: none. */
static char *
config(const char *name, const char *llnl)
{
	char *value = (char *)my.scr.Config(name);

	if ((value == NULL || *value == '\0') && llnl != NULL) {
		mem_free(value);
		value = (char *)my.scr.Config(llnl);
	}
	if (value != NULL && *value == '\0') {
		mem_free(value);
		value = NULL;
	}
	return value;
}

int
route_begin(const struct route_scr *scr, struct route_rank is,
	    struct error *err)
{
	static const char *const names[] = { "SCR_INTERPOSE_PATTERN",
					     "SCR_INTERPOSE_DIR_PATTERN",
					     "SCR_INTERPOSE_TEMPORARY" };
	struct pattern *const lone[] = { NULL, &my.dir, &my.temporary };
	char *text[3], *token = NULL, *prefix = NULL;
	int rc = 0;

	my.scr = *scr;
	my.is = is;
	my.pid = getpid();
	my.first = pthread_self();
	text[0] = config(names[0], "SCR_CHECKPOINT_PATTERN");
	text[1] = config(names[1], "SCR_CHECKPOINT_DIR_PATTERN");
	text[2] = config(names[2], NULL);
	token = config("SCR_INTERPOSE_TOKEN", "SCR_CHECKPOINT_PATTERN_TOKEN");
	prefix = config("SCR_PREFIX", NULL);
	if (text[0] == NULL)
		rc = error_set(err, ERROR_USAGE,
			       "not set, or empty: set it, or SCR_INTERPOSE=0");
	for (size_t i = 0; i < 3 && rc == 0; i++) {
		if (i == 0)
			rc = parse(text[0], token != NULL ? *token : ',', err);
		else if (text[i] != NULL)
			rc = compile(lone[i], text[i], err);
		if (rc < 0)
			error_wrap(err, "%s", names[i]);
	}
	if (text[0] == NULL)
		error_wrap(err, "%s", names[0]);
	if (rc == 0)
		rc = path_absolute(prefix != NULL ? prefix : ".", &my.prefix,
				   err);
	if (rc == 0 && path_real(my.prefix.data, &my.real, NULL) < 0)
		buf_clear(&my.real);
	my.names = map_new();
	my.had = mem_calloc(my.npatterns + 1, sizeof(*my.had));
	if (rc == 0 && (my.names == NULL || my.had == NULL))
		rc = error_no_memory(err);
	mem_free(text[0]);
	mem_free(prefix);
	mem_free(token);
	return rc;
}

/* The part of an absolute path below the prefix, or NULL. */
static const char *
below_prefix(const char *path)
{
	const char *below = path_below(path, my.prefix.data);

	return below == NULL && my.real.len > 0 ? path_below(path, my.real.data)
						: below;
}

/* Note which files the restart has for this rank: SCR_Route_file() would give
 * it any whose last component is the same. */
static void
list_files(void)
{
	char name[ROUTE_PATH], key[ROUTE_PATH], to[ROUTE_PATH];
	int rank = 0;

	for (int i = 0; my.scr.Restart_files(i, &rank, name) == 0; i++) {
		const char *below = below_prefix(name);
		struct route_file *f = NULL;

		if (below == NULL ||
		    snprintf(key, sizeof(key), "%s/%s", my.prefix.data,
			     below) >= ROUTE_PATH)
			continue;
		if (i == 0)
			my.cached = my.scr.Route_file(name, to) != 0 ||
				    !str_eq(to, name);
		f = route_entry(key);
		if (f != NULL)
			f->ours = true;
		else
			route_unread(key, ENOMEM);
	}
}

void
route_start(void)
{
	int flag = 0;

	/* Here, and not when a file is read: then a program may ask for its
	 * files on some ranks only. */
	while (my.stage == IDLE) {
		if (my.scr.Have_restart(&flag, NULL) != 0) {
			if (my.is.rank == 0)
				route_say("no restart: nothing is routed, and "
					  "what the caches have stays");
			return;
		}
		if (flag == 0)
			break;
		if (my.scr.Start_restart(NULL) == 0)
			my.stage = RESTART;
		else
			(void)my.scr.Complete_restart(0);
	}
	if (my.stage == RESTART)
		list_files();
	atomic_store(&route_on, true);
}

/* --- Names --- */

bool
route_matches(const char *path)
{
	for (size_t i = 0; i < my.npatterns; i++)
		if (strstr(path, my.patterns[i].literal) != NULL)
			return true;
	return (my.dir.text != NULL && strstr(path, my.dir.literal) != NULL) ||
	       (my.temporary.text != NULL &&
		strstr(path, my.temporary.literal) != NULL);
}

/* The absolute normal form of a path; with links as the program has it. */
static int
absolute(int dir, const char *path, struct buf *out)
{
	char link[40], at[ROUTE_PATH];
	struct buf joined = BUF_INIT;
	ssize_t n = 0;
	int rc = 0;

	if (path[0] == '/' || dir == AT_FDCWD)
		return path_absolute(path, out, NULL);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, at, sizeof(at) - 1);
	if (n <= 0)
		return -1;
	at[n] = '\0';
	rc = path_join(&joined, at, path, NULL);
	if (rc == 0)
		rc = path_normal(joined.data, out, NULL);
	buf_free(&joined);
	return rc;
}

int
route_match(const struct pattern *all, size_t count, int dir, const char *path,
	    char key[static ROUTE_PATH])
{
	char name[ROUTE_PATH];
	const char *below = NULL;
	regmatch_t cut = { .rm_so = -1 };
	struct buf is = BUF_INIT;
	int found = -1;

	/* The name without what SCR_INTERPOSE_TEMPORARY finds in it. */
	if (my.temporary.text == NULL ||
	    regexec(&my.temporary.re, path, 1, &cut, 0) != 0 || cut.rm_so < 0)
		cut.rm_so = cut.rm_eo = 0;
	snprintf(name, sizeof(name), "%.*s%s", (int)cut.rm_so, path,
		 path + cut.rm_eo);
	for (size_t i = 0; i < count; i++)
		if ((found < 0 || (my.had[found] && !my.had[i])) &&
		    regexec(&all[i].re, name, 0, NULL, 0) == 0)
			found = (int)i;
	/* LLNL's SCR excepts names of its metadata. */
	if (found < 0 || str_ends(name, ".scr") || strlen(path) >= ROUTE_PATH)
		return -1;
	if (absolute(dir, name, &is) == 0)
		below = below_prefix(is.data);
	if (below == NULL && is.len > 0)
		found = snprintf(key, ROUTE_PATH, "%s", is.data) > 0 ? OUTSIDE
								     : -1;
	else if (below == NULL || *below == '\0' ||
		 path_below(below, ".scr") != NULL ||
		 snprintf(key, ROUTE_PATH, "%s/%s", my.prefix.data, below) >=
			 ROUTE_PATH)
		found = -1;
	buf_free(&is);
	return found;
}

struct route_file *
route_entry(const char *key)
{
	size_t i = map_get(my.names, key);
	struct route_file *f = NULL;

	if (i != MAP_NONE)
		return &my.files[i];
	if (!MEM_ROOM(my.files, my.count, my.cap))
		return NULL;
	f = &my.files[my.count];
	*f = (struct route_file){ .key = mem_strdup(key) };
	if (f->key == NULL || map_put(my.names, f->key, my.count) < 0) {
		mem_free((char *)f->key);
		return NULL;
	}
	my.count++;
	return f;
}

void
route_put(struct route_file *f, const char *place)
{
	mem_free((char *)f->place);
	f->place = place != NULL ? mem_strdup(place) : NULL;
}

struct route_file *
route_seek(const char *key)
{
	size_t i = map_get(my.names, key);
	char to[ROUTE_PATH];
	struct route_file *f = i != MAP_NONE ? &my.files[i] : NULL;

	if (f == NULL)
		return NULL;
	/* If it cannot be accessed, the path is set, too. */
	if (f->ours && f->place == NULL && my.stage == RESTART) {
		(void)my.scr.Route_file(key, to);
		route_put(f, to);
	}
	if (f->place == NULL)
		return NULL;
	/* The program gets the error, not an older file of the prefix. */
	return (f->ours && my.stage == RESTART) || access(f->place, F_OK) == 0
		       ? f
		       : NULL;
}

bool
route_gone(const char *key)
{
	const size_t i = map_get(my.names, key);
	const struct route_file *f = i != MAP_NONE ? &my.files[i] : NULL;

	return f != NULL && f->place != NULL &&
	       !(my.stage == OUTPUT && f->set == my.set) &&
	       !str_eq(f->place, key) && access(f->place, F_OK) != 0;
}

bool
route_enter(void)
{
	if (route_inside || getpid() != my.pid)
		return false;
	pthread_mutex_lock(&my.lock);
	route_inside = route_on;
	if (route_inside)
		return true;
	pthread_mutex_unlock(&my.lock);
	return false;
}

void
route_exit(void)
{
	route_inside = false;
	pthread_mutex_unlock(&my.lock);
}

int
route_look(struct route_look *is, int dir, const char *path)
{
	const int was = errno;
	const struct route_file *f = NULL;
	int what = 0;

	if (!route_enter())
		return 0;
	route_due();
	if (route_match(my.patterns, my.npatterns, dir, path, is->key) >= 0) {
		what = ROUTE_NAMED;
		if (route_gone(is->key))
			what |= ROUTE_GONE;
		f = route_seek(is->key);
		if (f != NULL)
			what |= ROUTE_HAD;
		if (f != NULL && my.stage == OUTPUT && f->set == my.set)
			what |= ROUTE_NOW;
	} else if (my.dir.text != NULL &&
		   route_match(&my.dir, 1, dir, path, is->key) >= 0 &&
		   faccessat(dir, path, F_OK, 0) != 0) {
		what = ROUTE_DIR;
	}
	snprintf(is->place, ROUTE_PATH, "%s",
		 f != NULL ? f->place : my.prefix.data);
	route_exit();
	errno = was;
	return what;
}

void
route_forget(const char *key)
{
	struct route_file *f = NULL;

	if (!route_enter())
		return;
	f = map_get(my.names, key) != MAP_NONE ? route_entry(key) : NULL;
	if (f != NULL) {
		route_put(f, NULL);
		f->ours = false;
	}
	route_exit();
}
