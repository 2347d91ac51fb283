/* SPDX-License-Identifier: BSD-3-Clause */
#include "scr/stores.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena.h"
#include "buf.h"
#include "clock.h"
#include "conf.h"
#include "create.h"
#include "dir.h"
#include "error.h"
#include "io.h"
#include "mem.h"
#include "num.h"
#include "path.h"
#include "scr/run.h"
#include "str.h"
#include "team/say.h"

/* Of a directory that the user's group may enter. */
#define STORE_MODE 0770

#define THREADS "PTHREAD" /* of SCR_FLUSH_TYPE */

/* Disable a store. */
static void
disable(struct device *st, const char *why)
{
	st->enabled = false;
	say_warn_first("store %s: not used: %s", st->base, why);
}

/* --- From the configuration --- */

/* A value that does not parse is replaced by its default. */
static void
complain(int rc, const struct error *why)
{
	if (rc < 0)
		say_warn_first("%s: the default is used", why->text);
}

/* Add a store for `base` that has no line.  An existing one is returned as it
 * is. */
static struct device *
add(struct run *run, const char *base, uint64_t count, struct error *err)
{
	struct stores *s = &run->stores;
	struct device *st = NULL;

	base = path_normal_in(run->arena, "", base, err);
	if (base == NULL)
		return NULL;
	for (size_t i = 0; i < s->count; i++)
		if (str_eq(s->list[i].base, base))
			return &s->list[i];
	st = &s->list[s->count++];
	*st = (struct device){
		.base = base,
		.group = groups_find(&run->groups, GROUPS_NODE),
		.count = count,
		.enabled = true,
		.mkdir = true,
		.threads = strcasecmp(run->p.flush_type, THREADS) == 0,
		.sharers = TEAM_INIT,
	};
	return st;
}

/* TYPE=MEMORY and what belongs to it. */
static int
add_memory(struct run *run, const struct conf_group *line, struct device *st,
	   struct error *err)
{
	const char *type = conf_property(line, "TYPE");
	const char *spill = conf_property(line, "SPILL");
	const struct {
		const char *key;
		uint64_t *to;
	} sizes[] = { { "SIZE", &st->options.size },
		      { "POOL", &st->options.pool } };
	struct error why = ERROR_INIT;

	st->memory = type != NULL && strcasecmp(type, "MEMORY") == 0;
	if (type != NULL && !st->memory)
		complain(error_set(&why, ERROR_USAGE,
				   "STORE=%s: TYPE: \"%s\": expected MEMORY",
				   line->value, type),
			 &why);
	if (!st->memory)
		return 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *text = conf_property(line, sizes[i].key);

		if (text != NULL &&
		    num_bytes(text, UINT64_MAX, sizes[i].to, &why) < 0)
			complain(error_wrap(&why, "STORE=%s: %s", line->value,
					    sizes[i].key),
				 &why);
	}
	if (spill == NULL)
		return 0;
	st->spill = path_normal_in(run->arena, "", spill, err);
	if (st->spill == NULL)
		return -1;
	if (snprintf(st->options.spill, sizeof(st->options.spill), "%s/%s",
		     st->spill, run->p.user) >= STORE_PATH_MAX)
		return error_set(err, ERROR_USAGE,
				 "STORE=%s: SPILL is too long", line->value);
	return 0;
}

/* The values of a line are the same on all ranks; rank 0 reports errors. */
static int
add_line(struct run *run, const struct conf_group *line, struct error *err)
{
	const char *group = conf_property(line, "GROUP");
	const char *view = conf_property(line, "VIEW");
	const char *flush = conf_property(line, "FLUSH");
	const size_t before = run->stores.count;
	struct error why = ERROR_INIT;
	union conf_value v;
	struct device *st = add(run, line->value, run->p.cache_size, err);

	if (st == NULL)
		return -1;
	if (run->stores.count == before) {
		say_warn_first("STORE=%s: a second line of this store is "
			       "ignored",
			       line->value);
		return 0;
	}
	complain(conf_property_u64(line, "COUNT", st->count, &st->count, &why),
		 &why);
	complain(conf_property_bool(line, "MKDIR", true, &st->mkdir, &why),
		 &why);
	complain(conf_property_bool(line, "ENABLED", true, &st->enabled, &why),
		 &why);
	if (flush != NULL) {
		if (conf_parse(conf_param("SCR_FLUSH_TYPE"), flush, &v, &why) ==
		    0)
			st->threads = strcasecmp(v.text, THREADS) == 0;
		else
			complain(error_wrap(&why, "STORE=%s: FLUSH",
					    line->value),
				 &why);
	}
	if (add_memory(run, line, st, err) < 0)
		return -1;
	st->global = view != NULL && strcasecmp(view, "GLOBAL") == 0;
	if (view != NULL && !st->global && strcasecmp(view, "PRIVATE") != 0)
		complain(error_set(&why, ERROR_USAGE,
				   "STORE=%s: VIEW: \"%s\": expected PRIVATE "
				   "or GLOBAL",
				   line->value, view),
			 &why);
	if (group != NULL) {
		/* A disabled store has a group, too. */
		st->group = groups_find(&run->groups, group);
		if (st->group == NULL) {
			st->group = groups_find(&run->groups, GROUPS_NODE);
			if (st->enabled)
				disable(st, "no such GROUP");
		}
	}
	if (st->enabled && st->base[0] != '/')
		disable(st, "not an absolute path");
	if (st->enabled && st->global && !st->mkdir)
		disable(st, "VIEW=GLOBAL needs MKDIR=1");
	return 0;
}

/* --- The number of a node --- */

/* The number of the host among all hosts in the order of their names: the same
 * in the next run on the same nodes.  Collective. */
static int
node_number(const struct run *run, uint32_t *number, struct error *err)
{
	struct buf hosts = BUF_INIT;
	const char *at = NULL;
	int rc = 0;

	if (run->node.rank == 0 &&
	    buf_add(&hosts, run->host, strlen(run->host) + 1) < 0)
		rc = error_no_memory(err);
	rc = team_join(&run->world, rc, &hosts, err);
	*number = 0;
	for (at = hosts.data; rc == 0 && at < hosts.data + hosts.len;
	     at += strlen(at) + 1)
		*number += strcmp(at, run->host) < 0;
	buf_free(&hosts);
	return rc;
}

/* --- Directories --- */

/*
 * Open the directory `name` in `dirfd`, made with `mode`, unless it is 0. In a
 * directory that all users may write to, another user may have created it: a
 * link or a directory of another user is refused.
 */
static int
enter(int dirfd, const char *name, mode_t mode, struct error *err)
{
	struct stat is;
	int fd = -1;

	if (mode != 0 &&
	    create_dir(dirfd, name, mode, create_owner(dirfd)) < 0 &&
	    errno != EEXIST)
		return error_sys(err, "%s: cannot be made", name);
	fd = dir_open_plain(dirfd, name);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return error_set(err, ERROR_UNSAFE,
				 "%s: a link or a file, expected a directory",
				 name);
	if (fd < 0 || fstat(fd, &is) < 0) {
		error_sys(err, "%s: cannot open", name);
	} else if (geteuid() != 0 && is.st_uid != geteuid()) {
		error_set(err, ERROR_UNSAFE, "%s: belongs to user %lu", name,
			  (unsigned long)is.st_uid);
	} else {
		return fd;
	}
	io_close(fd);
	return -1;
}

/* Open `dir`, which is below `base`, component by component, made if the device
 * says so. */
static int
enter_all(const struct device *st, const char *base, const char *dir,
	  struct error *err)
{
	const mode_t mode = !st->mkdir	 ? 0
			    : st->memory ? STORES_MEMORY_MODE
					 : STORE_MODE;
	const char *at = path_below(dir, base);
	int fd = -1;

	if (st->mkdir && io_make_dirs(base, STORE_MODE, err) < 0)
		return -1;
	fd = dir_open(AT_FDCWD, base);
	if (fd < 0)
		return error_sys(err, "%s: cannot open", base);
	while (*at != '\0') {
		char name[NAME_MAX + 1];
		const size_t n = strcspn(at, "/");
		const int up = fd;

		if (n >= sizeof(name)) {
			close(fd);
			return error_set(err, ERROR_USAGE,
					 "%s: name is too long", at);
		}
		memcpy(name, at, n);
		name[n] = '\0';
		fd = enter(up, name, mode, err);
		close(up);
		if (fd < 0)
			return error_wrap(err, "%s", dir);
		at += n + (at[n] == '/');
	}
	return fd;
}

/* Make the teams and the directory of an enabled store. */
static int
prepare(struct device *st, struct run *run, uint32_t node, struct error *err)
{
	const struct group *who =
		st->global ? groups_find(&run->groups, GROUPS_NODE) : st->group;
	struct error why = ERROR_INIT;
	int fd = -1, rc = 0;

	st->dir = arena_printf(run->arena, "%s/%s/scr.%s",
			       st->base[1] == '\0' ? "" : st->base, run->p.user,
			       run->p.job_id);
	if (st->dir != NULL && st->global)
		st->dir = arena_printf(run->arena, "%s/node.%u", st->dir, node);
	if (team_agree(&run->world, st->dir == NULL ? error_no_memory(err) : 0,
		       err) < 0 ||
	    groups_team(who, &run->world, run->arena, &st->sharers, err) < 0)
		return -1;
	/* One rank makes the directory. */
	if (st->sharers.rank == 0) {
		fd = enter_all(st, st->base, st->dir, &why);
		if (fd >= 0 && st->spill != NULL) {
			close(fd);
			fd = enter_all(st, st->spill, st->options.spill, &why);
		}
		rc = fd < 0 ? error_wrap(&why, "%s", run->host) : 0;
		io_close(fd);
	}
	if (team_agree(&run->world, rc, &why) < 0)
		disable(st, why.text);
	return 0;
}

/* If nodes see one directory where each should have its own, they replace each
 * other's files: the first rank of each other directory looks for a file of
 * rank 0, whose name no other run has. */
static int
check_private(const struct stores *s, const struct run *run, struct error *err)
{
	const char *name =
		str_printed(25, "%x.%llx", (unsigned)getpid(),
			    (unsigned long long)(clock_seconds() * 1e6));

	for (size_t i = 0; i < s->count; i++) {
		const struct device *st = &s->list[i];
		bool made = false, seen = false;
		int fd = -1, rc = 0;

		if (!st->enabled)
			continue;
		if (st->sharers.rank == 0)
			fd = dir_open(AT_FDCWD, st->dir);
		rc = team_sees(&run->world, fd, name, &made, &seen, err);
		io_close(fd);
		if (rc < 0)
			return -1;
		if (team_any(&run->world, seen && run->world.rank != 0))
			return error_set(err, ERROR_USAGE,
					 "%s: other nodes see the directory of "
					 "%s, but each needs its own: set in "
					 "%s/.scrconf: STORE=%s VIEW=GLOBAL",
					 st->base, run->host, run->p.prefix,
					 st->base);
	}
	return 0;
}

int
stores_make(struct run *run, struct error *err)
{
	const char *jobs = arena_printf(run->arena, "%s/scr.%s", run->p.user,
					run->p.job_id);
	struct stores *s = &run->stores;
	const struct conf_group *lines = NULL;
	const size_t n = conf_groups(run->conf, "STORE", &lines);
	bool global = false;
	uint32_t node = 0;
	int rc = 0;

	*s = (struct stores){ .list = mem_calloc(n + 2, sizeof(*s->list)) };
	if (s->list == NULL)
		rc = error_no_memory(err);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = add_line(run, &lines[i], err);
	if (rc == 0 &&
	    add(run, run->p.cache_base, run->p.cache_size, err) == NULL)
		rc = -1;
	if (rc == 0) {
		s->control = add(run, run->p.cntl_base, 0, err);
		rc = s->control == NULL ? -1 : 0;
	}
	rc = team_agree(&run->world, rc, err);
	if (rc == 0) {
		if (jobs == NULL)
			rc = error_no_memory(err);
		else if (!path_is_clean(jobs))
			rc = error_set(err, ERROR_USAGE,
				       "user \"%s\" and job \"%s\": not usable "
				       "as names of directories",
				       run->p.user, run->p.job_id);
		rc = team_agree(&run->world, rc, err);
	}
	for (size_t i = 0; rc == 0 && i < s->count; i++)
		global |= s->list[i].enabled && s->list[i].global;
	if (rc == 0 && global)
		rc = node_number(run, &node, err);
	for (size_t i = 0; rc == 0 && i < s->count; i++)
		if (s->list[i].enabled)
			rc = prepare(&s->list[i], run, node, err);
	if (rc == 0 && run->nodes > 1)
		rc = check_private(s, run, err);
	if (rc == 0 && !s->control->enabled)
		rc = error_set(err, ERROR_USAGE,
			       "%s: no control directory can be made here: set "
			       "SCR_CNTL_BASE to storage of the nodes",
			       s->control->base);
	if (rc < 0)
		stores_free(s);
	return rc;
}

void
stores_free(struct stores *s)
{
	for (size_t i = 0; i < s->count; i++)
		team_free(&s->list[i].sharers);
	mem_free(s->list);
	*s = (struct stores){ .count = 0 };
}

struct device *
stores_find(const struct stores *s, const char *path)
{
	struct device *best = NULL;

	for (size_t i = 0; i < s->count; i++)
		if (path_below(path, s->list[i].base) != NULL &&
		    (best == NULL ||
		     strlen(s->list[i].base) > strlen(best->base)))
			best = &s->list[i];
	return best;
}
