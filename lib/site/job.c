/* SPDX-License-Identifier: BSD-3-Clause */
#include "site/job.h"

#include <ctype.h>
#include <fcntl.h>

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "conf.h"
#include "dir.h"

#include "error.h"
#include "fnv.h"
#include "io.h"

#include "meta/flush.h"
#include "num.h"

#include "path.h"

#include "site/jobfiles.h"
#include "site/resmgr.h"
#include "str.h"

/* The bytes of a name of a directory that are part of an id. */
#define ID_NAME 32

#define STEM "scr."

/* At most so many directories of other jobs are named. */
#define NAMED_MAX 5

/* --- User, id and prefix --- */

/* The value `given` by an option, else that of parameter `key`, or NULL; and
 * its source for messages. */
static const char *
choose(struct job *j, const char *given, const char *key, const char **from)
{
	const char *value = given != NULL ? given : conf_get(j->conf, key);

	*from = "given";
	if (given == NULL && value != NULL)
		*from = arena_printf(j->arena, "%s from %s", key,
				     conf_place(j->conf, key));
	if (*from == NULL) /* out of memory */
		*from = key;
	return value;
}

/*
 * Read the configuration.  The prefix is needed to find the user's file and
 * app.conf, but a file may set SCR_PREFIX.  If it does, the configuration is
 * read again with that prefix.
 */
static int
open_conf(struct job *j, const struct job_where *w, struct error *err)
{
	struct conf_where where = { .prefix = w->prefix,
				    .user_file = w->conf_file };
	struct conf *first = NULL;
	const char *source = NULL;

	j->conf = conf_open(&where, err);
	if (j->conf == NULL)
		return -1;
	source = conf_source(j->conf, "SCR_PREFIX");
	if (w->prefix != NULL || source == NULL ||
	    str_eq(source, "environment"))
		return 0;
	first = j->conf;
	where.prefix = conf_get(first, "SCR_PREFIX");
	if (str_eq(source, conf_file(first, CONF_USER)))
		where.user_file = source;
	j->conf = conf_open(&where, err);
	if (j->conf != NULL) {
		j->prefix = arena_strdup(j->arena, where.prefix);
		j->prefix_from =
			arena_printf(j->arena, "SCR_PREFIX from %s", source);
	}
	conf_close(first);
	return j->conf != NULL ? 0 : -1;
}

static int
find_prefix(struct job *j, const struct job_where *w, struct error *err)
{
	struct buf path = BUF_INIT, whole = BUF_INIT;
	struct error why = ERROR_INIT;
	char *end = NULL;
	bool found = false;

	/* It may be set by open_conf(). */
	if (j->prefix == NULL)
		j->prefix = choose(j, w->prefix, "SCR_PREFIX", &j->prefix_from);
	if (j->prefix == NULL) {
		j->prefix = ".";
		j->prefix_from = "working directory";
	}
	if (path_absolute(j->prefix, &whole, &why) == 0) {
		/* Its real path.  The last components may not exist yet: it
		 * stays the same when they are made. */
		for (end = whole.data + whole.len;
		     !found && end > whole.data;) {
			const char cut = *end;

			*end = '\0';
			found = path_real(whole.data, &path, NULL) == 0;
			*end = cut;
			while (!found && *--end != '/')
				;
		}
		if (!found || (str_eq(path.data, "/") && *end != '\0'))
			buf_clear(&path);
		buf_add_str(&path, end);
	} else if (why.kind != ERROR_NOMEM) {
		/* Without a working directory the path stays relative. */
		(void)path_normal(j->prefix, &path, NULL);
	}
	if (path.len > 0 && !path.failed)
		j->prefix_real = arena_strdup(j->arena, path.data);
	buf_free(&whole);
	buf_free(&path);
	return j->prefix_real == NULL ? error_no_memory(err) : 0;
}

/* The first of USER and LOGNAME that is set; else the name of the effective
 * user, or the user id.  NULL: no memory. */
static const char *
login_name(struct job *j)
{
	static const char *const names[] = { "USER", "LOGNAME" };
	struct passwd entry, *found = NULL;
	struct buf text = BUF_INIT;
	const char *name = NULL;

	for (size_t i = 0; i < 2; i++) {
		name = getenv(names[i]);
		j->user_from = names[i];
		if (name != NULL && *name != '\0')
			return name;
	}
	j->user_from = "account";
	/* Enough for a usual entry.  If it is not, the user id is used. */
	if (buf_reserve(&text, (size_t)16 << 10) < 0)
		return NULL;
	(void)getpwuid_r(geteuid(), &entry, text.data, text.cap, &found);
	if (found != NULL && found->pw_name[0] != '\0')
		name = arena_strdup(j->arena, found->pw_name);
	else
		name = arena_printf(j->arena, "%lu", (unsigned long)geteuid());
	buf_free(&text);
	return name;
}

/* Keep a value that becomes a component of a path.  NULL: no memory. */
static int
keep_part(struct job *j, const char *what, const char *value, const char *from,
	  const char **to, struct error *err)
{
	*to = value != NULL ? arena_strdup(j->arena, value) : NULL;
	if (*to == NULL)
		return error_no_memory(err);
	if (*value != '\0' && strchr(value, '/') == NULL &&
	    !str_eq(value, ".") && !str_eq(value, ".."))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "%s \"%s\" (%s): becomes part of a path, so it cannot "
			 "be empty, \".\", \"..\" or have a '/'",
			 what, str_quoted(value), from);
}

/* Find the id, and then the user. */
static int
find_identity(struct job *j, const struct job_where *w, struct error *err)
{
	struct jobfiles_owner owner = { .id = "" };
	const char *value = NULL;
	char name[ID_NAME + 1];
	size_t n = 0;

	if (w->by_flush)
		jobfiles_owner(j->prefix, &owner);
	value = choose(j, w->job_id, "SCR_JOB_ID", &j->id_from);
	if (value == NULL) {
		value = resmgr_job_id(j->rm);
		j->id_from = resmgr_name(j->rm);
	}
	if (value == NULL && owner.id[0] != '\0') {
		value = owner.id;
		j->id_from = FLUSH_FILE;
	}
	j->outside = value == NULL;
	if (j->outside) {
		/* "run7-1f2e3d4c5b6a7988", from the name of the prefix, for
		 * people, and from its path. */
		for (const char *p = path_base(j->prefix_real);
		     *p != '\0' && n < ID_NAME; p++)
			name[n++] = strchr("._-", *p) != NULL ||
						    isalnum((unsigned char)*p)
					    ? *p
					    : '_';
		name[n] = '\0';
		value = arena_printf(j->arena, "%s-%016" PRIx64,
				     n > 0 ? name : "root",
				     fnv_text(j->prefix_real));
		j->id_from = "not in a job: made of the prefix";
	}
	if (keep_part(j, "job id", value, j->id_from, &j->id, err) < 0)
		return -1;
	value = choose(j, w->user, "SCR_USER_NAME", &j->user_from);
	if (value == NULL && owner.user[0] != '\0' && str_eq(owner.id, j->id)) {
		value = owner.user;
		j->user_from = FLUSH_FILE;
	}
	if (value == NULL)
		value = login_name(j);
	return keep_part(j, "user", value, j->user_from, &j->user, err);
}

int
job_identity(struct conf *c, struct arena *a, const char **user,
	     const char **id, struct error *err)
{
	const struct job_where nothing = { .user = NULL };
	struct job j = { .conf = c,
			 .arena = a,
			 .rm = resmgr_open(c, NULL, err) };
	int rc = -1;

	if (j.rm != NULL && find_prefix(&j, &nothing, err) == 0)
		rc = find_identity(&j, &nothing, err);
	resmgr_close(j.rm);
	*user = j.user;
	*id = j.id;
	return rc;
}

/*
 * --- Directories ---
 *
 * SCR's library has a store for each STORE line, for SCR_CACHE_BASE and for
 * SCR_CNTL_BASE (scrkit.conf(5)).  Only the commands read the lines CNTLDIR,
 * CACHEDIR and CACHE, which also set the required size of a directory.
 */

/* A list of directories being built. */
struct dirs {
	struct job *j;
	struct job_cache *list;
	size_t count;
};

/* The entry of `base`, created if missing; in normal form, as in SCR's
 * library. */
static struct job_cache *
enter(struct dirs *d, const char *base, bool implied)
{
	struct job *j = d->j;

	base = path_normal_in(j->arena, "", base, NULL);
	for (size_t i = 0; i < d->count; i++)
		if (str_eq(d->list[i].base, base))
			return &d->list[i];
	d->list[d->count] = (struct job_cache){
		.base = base,
		.dir = arena_printf(j->arena, "%s%s%s/scr.%s", base,
				    str_ends(base, "/") ? "" : "/", j->user,
				    j->id),
		.implied = implied,
	};
	return &d->list[d->count++];
}

/* Is property `key` of the line equal to `word`? */
static bool
property_is(const struct conf_group *g, const char *key, const char *word)
{
	const char *value = conf_property(g, key);

	return value != NULL && str_eq(value, word);
}

/* Begin the list with a directory for each line of these keys that is not
 * disabled.  It has room for another. */
static void
start(struct dirs *d, struct job *j, const char *const *keys)
{
	const struct conf_group *g = NULL;
	size_t n = 1;

	for (const char *const *key = keys; *key != NULL; key++)
		n += conf_groups(j->conf, *key, &g);
	*d = (struct dirs){ .j = j };
	d->list = arena_alloc(j->arena, n, sizeof(*d->list));
	for (; *keys != NULL; keys++)
		for (n = conf_groups(j->conf, *keys, &g); n > 0; n--, g++) {
			const char *size = conf_property(g, "BYTES");
			struct error why = ERROR_INIT;
			struct job_cache *at = NULL;
			uint64_t bytes = 0;

			if (property_is(g, "ENABLED", "0"))
				continue;
			at = enter(d, g->value, false);
			if (size != NULL &&
			    num_bytes(size, UINT64_MAX, &bytes, &why) < 0)
				conf_complain(j->conf,
					      "%s=%s BYTES=%s: no size is "
					      "required",
					      *keys, g->value, why.text);
			if (bytes > at->bytes)
				at->bytes = bytes;
			at->per_node |= property_is(g, "VIEW", "GLOBAL");
			at->shared |= at->per_node ||
				      property_is(g, "GROUP", "WORLD");
		}
}

/* Move the entry of `base` to the front. */
static void
put_first(struct dirs *d, const char *base)
{
	struct job_cache *at = enter(d, base, false), first = *at;

	memmove(d->list + 1, d->list, (size_t)(at - d->list) * sizeof(*at));
	d->list[0] = first;
}

/* Fill in the control and cache directories.  All other members must be set. */
static void
find_dirs(struct job *j, const struct job_where *w)
{
	static const char *const of_cntl[] = { "CNTLDIR", NULL };
	static const char *const of_cache[] = { "STORE", "CACHE", "CACHEDIR",
						NULL };
	const char *base = conf_get(j->conf, "SCR_CNTL_BASE");
	bool set = conf_is_set(j->conf, "SCR_CNTL_BASE"), disabled = false;
	const struct conf_group *g = NULL;
	struct dirs d;

	start(&d, j, of_cntl);
	if (w->cntl_base != NULL || set)
		put_first(&d, w->cntl_base != NULL ? w->cntl_base : base);
	else
		(void)enter(&d, base, true);
	j->cntls = d.list;
	j->ncntls = w->cntl_base != NULL ? 1 : d.count;
	j->cntl_dir = d.list[0].dir;

	base = conf_get(j->conf, "SCR_CACHE_BASE");
	set = conf_is_set(j->conf, "SCR_CACHE_BASE");
	start(&d, j, of_cache);
	/* Does the first STORE line of this base disable it? */
	for (size_t i = conf_groups(j->conf, "STORE", &g); i-- > 0;)
		if (str_eq(g[i].value, base))
			disabled = property_is(&g[i], "ENABLED", "0");
	/* In place of SCR_CACHE_BASE: the lines of the configuration stay. */
	if (w->cache_base != NULL)
		put_first(&d, w->cache_base);
	else if (set || !disabled)
		(void)enter(&d, base, !set);
	j->caches = d.list;
	j->ncaches = d.count;
}

/* --- Opening --- */

int
job_open(struct job *j, const struct job_where *w, struct error *err)
{
	*j = (struct job){ .arena = arena_new(), .nodes_given = w->nodes };
	if (open_conf(j, w, err) == 0 && find_prefix(j, w, err) == 0)
		j->rm = resmgr_open(j->conf, w->resmgr, err);
	if (j->rm != NULL && find_identity(j, w, err) == 0) {
		find_dirs(j, w);
		return 0;
	}
	job_close(j);
	return -1;
}

void
job_close(struct job *j)
{
	hostlist_free(&j->nodes);
	resmgr_close(j->rm);
	conf_close(j->conf);
	arena_free(j->arena);
	*j = (struct job){ .prefix = NULL };
}

/* --- Nodes and time --- */

int
job_nodes(struct job *j, struct error *err)
{
	const char *text = NULL, *from = NULL;
	struct error why = ERROR_INIT;

	if (j->nodes_known)
		return 0;
	text = choose(j, j->nodes_given, "SCR_NODELIST", &from);
	if (text != NULL) {
		/* Set the nodes from the text of an option or parameter. */
		if (hostlist_add(&j->nodes, text, err) < 0 ||
		    hostlist_uniq(&j->nodes, err) < 0)
			return error_wrap(err, "nodes (%s)", from);
		if (j->nodes.count == 0)
			return error_set(err, ERROR_USAGE,
					 "nodes (%s): the list is empty", from);
		j->nodes_from = from;
	} else if (resmgr_nodes(j->rm, &j->nodes, &why) < 0) {
		return error_as(err, &why, "%s%s", why.text,
				why.kind == ERROR_ABSENT
					? "; SCR_NODELIST can name them"
					: "");
	} else {
		j->nodes_from = resmgr_name(j->rm);
	}
	j->nodes_known = true;
	j->present = j->nodes.count;
	return 0;
}

int
job_began(struct job *j, struct error *err)
{
	return job_nodes(j, err) < 0 ||
			       (str_eq(j->nodes_from, resmgr_name(j->rm)) &&
				(resmgr_began(j->rm, &j->nodes, err) < 0 ||
				 hostlist_uniq(&j->nodes, err) < 0))
		       ? -1
		       : 0;
}

int
job_end_time(struct job *j, int64_t *epoch, struct error *err)
{
	const struct conf *c = j->conf;

	if (conf_i64(c, "SCR_END_TIME", RESMGR_END_UNKNOWN, epoch, err) < 0)
		return -1;
	if (*epoch < RESMGR_END_NEVER)
		return error_set(
			err, ERROR_USAGE,
			"SCR_END_TIME from %s: %" PRId64
			" is not a time: expected seconds since 1970, 0 "
			"(unknown) or -1 (no limit)",
			conf_place(c, "SCR_END_TIME"), *epoch);
	/* A script that does not know the end sets 0: ask the resource
	 * manager. */
	if (*epoch != RESMGR_END_UNKNOWN)
		return 0;
	return resmgr_end_time(j->rm, epoch, err);
}

int
job_end_of(struct conf *c, int64_t *epoch, struct error *err)
{
	struct job j = { .conf = c, .rm = resmgr_open(c, NULL, err) };
	int rc = j.rm == NULL ? -1 : job_end_time(&j, epoch, err);

	resmgr_close(j.rm);
	return rc;
}

/* --- For messages --- */

/* "what: value (from)" */
static void
describe(struct buf *out, const char *what, const char *value, const char *from)
{
	buf_printf(out, "%s: %s (%s)\n", what, str_shown(value), from);
}

static void
describe_dirs(struct buf *out, const char *what, const struct job_cache *dirs,
	      size_t n)
{
	char from[128];

	for (size_t i = 0; i < n; i++) {
		snprintf(from, sizeof(from), "%s%s%s%s",
			 dirs[i].implied ? "built in" : "configured",
			 dirs[i].shared ? ", shared by all nodes" : "",
			 dirs[i].bytes > 0 ? ", at least " : "",
			 dirs[i].bytes > 0 ? str_size(dirs[i].bytes) : "");
		describe(out, what, dirs[i].dir, from);
	}
}

void
job_notice(const struct job *j, bool values, struct buf *out)
{
	const char *conf = conf_notice(j->conf), *rm = resmgr_notice(j->rm);

	buf_add_str(out, conf != NULL ? conf : "");
	buf_add_str(out, rm != NULL ? rm : "");
	if (!values)
		return;
	/* One line for each value and its source. */
	describe(out, "prefix", j->prefix_real, j->prefix_from);
	describe(out, "user", j->user, j->user_from);
	describe(out, "job id", j->id, j->id_from);
	buf_printf(out, "resource manager: %s\n", resmgr_name(j->rm));
	buf_printf(out, "configuration: %s, %s\n",
		   conf_file(j->conf, CONF_USER),
		   conf_file(j->conf, CONF_SYSTEM));
	describe_dirs(out, "control directory", j->cntls, j->ncntls);
	describe_dirs(out, "cache directory", j->caches, j->ncaches);
	if (j->nodes_known) {
		buf_printf(out, "nodes: %zu: ", j->nodes.count);
		(void)hostlist_text(&j->nodes, out, NULL);
		buf_printf(out, " (%s)\n", j->nodes_from);
	}
}

/* --- What other jobs have left in the caches of this node --- */

void
job_old_caches(const struct job *j, struct buf *out)
{
	for (size_t i = 0; i < j->ncaches; i++) {
		struct buf path = BUF_INIT, names = BUF_INIT;
		struct dir_walk w = { .dir = NULL };
		const char *name = NULL;
		uint64_t total = 0;
		size_t count = 0;
		int fd = -1, rc = -1;

		if (path_join(&path, j->caches[i].base, j->user, NULL) == 0)
			fd = dir_open(AT_FDCWD, path.data);
		if (fd >= 0)
			rc = dir_walk(&w, fd, path.data, NULL);
		while (rc == 0 && (name = dir_next(&w)) != NULL) {
			uint64_t bytes = 0;

			if (!str_starts(name, STEM) ||
			    str_eq(name + strlen(STEM), j->id) ||
			    io_tree_size(fd, name, &bytes, NULL) < 0 ||
			    bytes == 0)
				continue;
			total += bytes;
			if (count++ < NAMED_MAX)
				buf_printf(&names, "%s%s",
					   count > 1 ? ", " : "",
					   str_shown(name));
			else if (count == NAMED_MAX + 1)
				buf_add_str(&names, ", ...");
		}
		if (dir_done(&w, rc, NULL) == 0 && count > 0)
			buf_printf(out,
				   "%s: %zu %s of other jobs, %s (%s): if "
				   "these have ended, save them with --job-id "
				   "ID --clean, or delete them\n",
				   path.data, str_count(count, "cache"),
				   str_size(total), names.data);
		io_close(fd);
		buf_free(&names);
		buf_free(&path);
	}
}
